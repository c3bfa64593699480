// SPDX-License-Identifier: Apache-2.0
//
// Graphs of a backend that runs CUDA code, with kernels that are a provider's: their nodes become
// host functions, all other nodes are handed on.
#include <stdlib.h>
#include <string.h>

#include "shim/provide/inside.h"
#include "shim/util/log.h"

// A node's call; older ones stay while launches may use them.
struct kept {
    struct kept *next;
    struct irt_provide_call *call;
};

struct irtb_graph {
    struct irtb_graph *inner;
    unsigned char *hosted; // per node: it is a host function for a kernel
    struct kept *calls;    // changed by one thread at a time, as graph_update is called
    struct irtb_notice notice;
};

static void run(void (*function)(void *), void *argument)
{
    function(argument);
}

// The node as the backend gets it.
static cudaError_t convert(const struct irtb_graph_node *node, struct irtb_graph_node *ret,
                           struct irtb_graph *graph)
{
    *ret = *node;
    if (node->kind != IRTB_GRAPH_LAUNCH) {
        return cudaSuccess;
    }
    struct irtb_function *f = node->launch.function;
    if (f->inner) {
        ret->launch.function = f->inner;
        return cudaSuccess;
    }
    struct kept *kept = malloc(sizeof *kept);
    struct irt_provide_call *call = kept ? irt_provide_call_make(&node->launch) : NULL;
    if (!call) {
        free(kept);
        return cudaErrorMemoryAllocation;
    }
    *kept = (struct kept){graph->calls, call};
    graph->calls = kept;
    ret->kind = IRTB_GRAPH_HOST;
    ret->host.run = run;
    ret->host.function = irt_provide_call_run;
    ret->host.argument = call;
    return cudaSuccess;
}

static void release(void *argument)
{
    struct irtb_graph *graph = argument;
    for (struct kept *k = graph->calls, *next; k; k = next) {
        next = k->next;
        free(k->call);
        free(k);
    }
    free(graph->hosted);
    free(graph);
}

static cudaError_t graph_create(const struct irtb_graph_desc *desc, struct irtb_graph **ret_graph)
{
    struct irtb_graph *graph = calloc(1, sizeof *graph);
    struct irtb_graph_node *nodes = calloc(desc->node_count + 1, sizeof *nodes);
    if (graph) {
        graph->hosted = calloc(desc->node_count + 1, 1);
    }
    cudaError_t e = graph && nodes && graph->hosted ? cudaSuccess : cudaErrorMemoryAllocation;
    for (size_t i = 0; i < desc->node_count && !e; i++) {
        e = convert(&desc->nodes[i], &nodes[i], graph);
        graph->hosted[i] = nodes[i].kind != desc->nodes[i].kind;
    }
    if (!e) {
        struct irtb_graph_desc own = *desc;
        own.nodes = nodes;
        e = irt_provided.inner->graph_create(&own, &graph->inner);
    }
    free(nodes);
    if (e) {
        if (graph) {
            release(graph);
        }
        return e;
    }
    *ret_graph = graph;
    return cudaSuccess;
}

static cudaError_t graph_update(struct irtb_graph *graph, size_t index,
                                const struct irtb_graph_node *node)
{
    struct irtb_graph_node own;
    cudaError_t e = convert(node, &own, graph);
    if (!e && (own.kind != node->kind) != graph->hosted[index]) {
        irt_notice("a kernel node of an executable graph changes between a provider's kernel and "
                   "another one: not supported");
        e = cudaErrorNotSupported;
    }
    return e ? e : irt_provided.inner->graph_update(graph->inner, index, &own);
}

static cudaError_t graph_set_default(struct irtb_graph *graph, size_t index,
                                     const struct irtb_graph_condition *condition)
{
    return irt_provided.inner->graph_set_default(graph->inner, index, condition);
}

static cudaError_t graph_launch(struct irtb_graph *graph, struct irtb_stream *stream)
{
    return irt_provided.inner->graph_launch(graph->inner, stream);
}

static cudaError_t graph_publish(struct irtb_graph *graph, uint64_t handle)
{
    return graph->calls ? cudaErrorNotSupported
                        : irt_provided.inner->graph_publish(graph->inner, handle);
}

static void graph_notify(struct irtb_graph *graph, struct irtb_notice *notice)
{
    irt_provided.inner->graph_notify(graph->inner, notice);
}

static void graph_destroy(struct irtb_graph *graph)
{
    struct irtb_graph *inner = graph->inner;
    graph->notice = (struct irtb_notice){.function = release, .argument = graph};
    irt_provided.inner->graph_notify(inner, &graph->notice); // may release now
    irt_provided.inner->graph_destroy(inner);
}

void irt_provide_put_graphs(struct irtb_backend *table)
{
    table->graph_create = graph_create;
    table->graph_update = graph_update;
    table->graph_set_default = graph_set_default;
    table->graph_launch = graph_launch;
    table->graph_publish = table->graph_publish ? graph_publish : NULL;
    table->graph_notify = graph_notify;
    table->graph_destroy = graph_destroy;
}
