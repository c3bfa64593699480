// SPDX-License-Identifier: Apache-2.0
//
// Functions of whole graphs and of nodes whatever their type: creating, cloning, destroying, edges,
// cudaGraphAddNode and its kin, conditional handles. Lists of graphs are in graph_query.c,
// functions for one type of node in node_api.c. Source: CUDA Runtime API, "Graph Management".
#include "shim/graph/graph_api.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"

// ---- graphs ----

cudaError_t irt_core_cudaGraphCreate(cudaGraph_t *pGraph, unsigned int flags)
{
    if (!pGraph || flags) {
        return cudaErrorInvalidValue;
    }
    struct irt_graph *graph;
    cudaError_t e = irt_graph_new(true, &graph);
    if (!e) {
        *pGraph = graph->handle;
    }
    return e;
}

cudaError_t irt_core_cudaGraphDestroy(cudaGraph_t handle)
{
    struct irt_graph *graph;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(handle, &graph);
    if (!e && (graph->owner || graph->capture)) {
        e = cudaErrorInvalidValue; // a node's; "all operations other than destroy" while it grows
    }
    if (!e) {
        irt_graph_close_locked(graph);
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (!e) {
        irt_graph_release(graph);
    }
    return e;
}

cudaError_t irt_core_cudaGraphClone(cudaGraph_t *pGraphClone, cudaGraph_t originalGraph)
{
    if (!pGraphClone) {
        return cudaErrorInvalidValue;
    }
    struct irt_graph *graph;
    cudaError_t e = irt_graph_clone(originalGraph, true, &graph);
    if (!e) {
        *pGraphClone = graph->handle;
    }
    return e;
}

struct search {
    uint64_t origin;
    struct irt_node *found;
};

static void match_origin(struct irt_node *node, void *context)
{
    struct search *search = context;
    if (node->origin == search->origin) {
        search->found = node;
    }
}

cudaError_t irt_core_cudaGraphNodeFindInClone(cudaGraphNode_t *pNode, cudaGraphNode_t originalNode,
                                              cudaGraph_t clonedGraph)
{
    struct irt_graph *graph;
    struct irt_node *original;
    if (!pNode) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(clonedGraph, &graph);
    if (!e) {
        e = irt_node_find_locked(originalNode, &original);
    }
    if (!e) {
        struct search search = {.origin = original->id};
        irt_graph_each_locked(graph, match_origin, &search);
        if (search.found) {
            *pNode = search.found->handle;
        } else {
            e = cudaErrorInvalidValue;
        }
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

// ---- lists of nodes from the application ----

cudaError_t irt_nodes_read_locked(const cudaGraphNode_t *handles, size_t count,
                                  struct irt_node ***ret_nodes)
{
    *ret_nodes = NULL;
    if (!count) {
        return cudaSuccess;
    }
    if (!handles || count > SIZE_MAX / sizeof(struct irt_node *)) {
        return cudaErrorInvalidValue;
    }
    // Of garbage counts the first handles are looked at before memory is asked for.
    struct irt_node *node;
    for (size_t i = 0; i < count; i++) {
        cudaError_t e = irt_node_find_locked(handles[i], &node);
        if (e) {
            return e;
        }
    }
    struct irt_node **nodes = malloc(count * sizeof(struct irt_node *));
    if (!nodes) {
        return cudaErrorMemoryAllocation;
    }
    for (size_t i = 0; i < count; i++) {
        irt_node_find_locked(handles[i], &nodes[i]);
    }
    *ret_nodes = nodes;
    return cudaSuccess;
}

// ---- adding nodes ----

cudaError_t irt_graph_add_params(cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                 const cudaGraphEdgeData *data, size_t count,
                                 struct irt_params *params, cudaGraphNode_t *ret_node)
{
    struct irt_graph *g;
    struct irt_node **nodes = NULL;
    struct irt_node *made;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(graph, &g);
    if (!e) {
        e = irt_nodes_read_locked(dependencies, count, &nodes);
    }
    if (!e) {
        e = irt_graph_add_locked(g, nodes, data, count, params, &made);
    }
    if (!e) {
        *ret_node = made->handle;
    }
    irt_mutex_unlock(&irt_graph_lock);
    free(nodes);
    if (e) {
        irt_params_release(params);
    }
    return e;
}

// Whether `graph` is inside `other` or the same.
static bool is_inside(const struct irt_graph *graph, const struct irt_graph *other)
{
    for (;;) {
        if (graph == other) {
            return true;
        }
        if (!graph->owner) {
            return false;
        }
        graph = graph->owner->graph;
    }
}

// A child graph node whose graph is not copied but handed over (CUDA 12.9).
static cudaError_t add_moved(cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                             const cudaGraphEdgeData *data, size_t count, cudaGraph_t child,
                             cudaGraphNode_t *ret_node)
{
    struct irt_graph *g, *c;
    struct irt_node **nodes = NULL;
    struct irt_node *made;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(graph, &g);
    if (!e) {
        e = irt_graph_find_locked(child, &c);
    }
    if (!e && (c->owner || c->capture || c->exec_count || is_inside(g, c) ||
               irt_graph_has_type_locked(c, cudaGraphNodeTypeConditional))) {
        e = cudaErrorInvalidValue;
    }
    if (!e) {
        e = irt_nodes_read_locked(dependencies, count, &nodes);
    }
    if (!e) {
        struct irt_params params = {
            .type = cudaGraphNodeTypeGraph, .device = irt_device_current(), .child = c};
        e = irt_graph_add_locked(g, nodes, data, count, &params, &made);
    }
    if (!e) {
        c->moved = true;
        *ret_node = made->handle;
    }
    irt_mutex_unlock(&irt_graph_lock);
    free(nodes);
    return e;
}

// What cudaGraphAddNode tells through its parameters: the address of an allocation, the bodies of a
// conditional node. Those are the node's, so that they are written before anybody can destroy it.
static void tell(const struct irt_params *params, struct cudaGraphNodeParams *given)
{
    if (params->type == cudaGraphNodeTypeMemAlloc) {
        given->alloc.dptr = params->alloc.given.dptr;
    } else if (params->type == cudaGraphNodeTypeConditional) {
        given->conditional.phGraph_out = params->conditional.handles;
    }
}

cudaError_t irt_graph_add_given(cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                const cudaGraphEdgeData *data, size_t count,
                                struct cudaGraphNodeParams *given, cudaGraphNode_t *ret_node)
{
    enum { MOVE = 1 }; // cudaGraphChildGraphOwnershipMove
    struct irt_params params;
    if (!ret_node || !given) {
        return cudaErrorInvalidValue;
    }
    if (given->type == cudaGraphNodeTypeGraph) {
        int ownership;
        memcpy(&ownership, (const char *)&given->graph + sizeof(void *), sizeof(ownership));
        if (ownership == MOVE) {
            return add_moved(graph, dependencies, data, count, given->graph.graph, ret_node);
        }
    }
    struct cudaGraphNodeParams plain = *given;
    if (given->type == cudaGraphNodeTypeMemAlloc) {
        plain.alloc.dptr = NULL;
    }
    cudaError_t e = irt_params_make(&plain, NULL, &params);
    if (e) {
        return e;
    }
    const struct irt_params made = params;
    e = irt_graph_add_params(graph, dependencies, data, count, &params, ret_node);
    if (!e) {
        tell(&made, given);
    }
    return e;
}

cudaError_t irt_core_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                      const cudaGraphNode_t *pDependencies,
                                      const cudaGraphEdgeData *dependencyData,
                                      size_t numDependencies,
                                      struct cudaGraphNodeParams *nodeParams)
{
    return irt_graph_add_given(graph, pDependencies, dependencyData, numDependencies, nodeParams,
                               pGraphNode);
}

// ---- parameters of nodes ----

cudaError_t irt_node_get_given(cudaGraphNode_t handle, int type, struct cudaGraphNodeParams *ret)
{
    struct irt_node *node;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_node_find_locked(handle, &node);
    if (!e && type >= 0 && (int)node->params.type != type) {
        e = cudaErrorInvalidValue;
    }
    if (!e) {
        irt_node_describe_locked(node, ret);
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

// A copy of the attributes of a kernel node, in parameters to be released.
static cudaError_t attributes_of(cudaGraphNode_t handle, enum cudaGraphNodeType type,
                                 struct irt_params *ret_params)
{
    struct irt_node *node;
    *ret_params = (struct irt_params){.type = cudaGraphNodeTypeEmpty};
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_node_find_locked(handle, &node);
    if (!e && node->params.type != type) {
        e = cudaErrorInvalidValue;
    }
    if (!e && type == cudaGraphNodeTypeKernel) {
        e = irt_params_copy(&node->params, false, ret_params);
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_node_set_given(cudaGraphNode_t handle, const struct cudaGraphNodeParams *given)
{
    struct irt_params like;
    struct irt_params params;
    cudaError_t e = attributes_of(handle, given->type, &like);
    if (!e &&
        (given->type == cudaGraphNodeTypeMemAlloc || given->type == cudaGraphNodeTypeMemFree ||
         given->type == cudaGraphNodeTypeConditional)) {
        e = cudaErrorNotSupported;
    }
    if (!e) {
        bool kernel = given->type == cudaGraphNodeTypeKernel;
        e = irt_params_make(given, kernel ? &like.kernel : NULL, &params);
    }
    irt_params_release(&like);
    if (!e) {
        e = irt_node_set_params(handle, &params);
    }
    return e;
}

cudaError_t irt_node_set_params(cudaGraphNode_t handle, struct irt_params *params)
{
    struct irt_node *node;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_node_find_locked(handle, &node);
    if (!e) {
        e = irt_node_exchange_locked(node, params);
    }
    irt_mutex_unlock(&irt_graph_lock);
    irt_params_release(params);
    return e;
}

cudaError_t irt_core_cudaGraphNodeSetParams(cudaGraphNode_t node,
                                            struct cudaGraphNodeParams *nodeParams)
{
    return nodeParams ? irt_node_set_given(node, nodeParams) : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaGraphNodeGetParams(cudaGraphNode_t node,
                                            struct cudaGraphNodeParams *nodeParams)
{
    return nodeParams ? irt_node_get_given(node, -1, nodeParams) : cudaErrorInvalidValue;
}

// ---- removing nodes, edges ----

// "Nodes and edges of the graph cannot be deleted" where memory is allocated or freed.
static cudaError_t check_removal(struct irt_graph *graph)
{
    const struct irt_graph *outer = graph;
    while (outer->owner) {
        outer = outer->owner->graph;
    }
    return outer->capture || graph->capture || irt_graph_has_memory_locked(outer)
               ? cudaErrorInvalidValue
               : cudaSuccess;
}

cudaError_t irt_core_cudaGraphDestroyNode(cudaGraphNode_t handle)
{
    struct irt_node *node;
    struct irt_params params = {.type = cudaGraphNodeTypeEmpty};
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_node_find_locked(handle, &node);
    if (!e) {
        e = check_removal(node->graph);
    }
    if (!e) {
        irt_node_remove_locked(node, &params);
    }
    irt_mutex_unlock(&irt_graph_lock);
    irt_params_release(&params);
    return e;
}

static cudaError_t change_edges(cudaGraph_t graph, const cudaGraphNode_t *from,
                                const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                size_t count, bool add)
{
    struct irt_graph *g;
    struct irt_node **starts = NULL;
    struct irt_node **ends = NULL;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(graph, &g);
    if (!e) {
        e = irt_nodes_read_locked(from, count, &starts);
    }
    if (!e) {
        e = irt_nodes_read_locked(to, count, &ends);
    }
    if (!e && !add && count) {
        e = check_removal(g);
    }
    if (!e) {
        e = (add ? irt_graph_connect_locked : irt_graph_disconnect_locked)(g, starts, ends, data,
                                                                           count);
    }
    irt_mutex_unlock(&irt_graph_lock);
    free(starts);
    free(ends);
    return e;
}

cudaError_t irt_core_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                              const cudaGraphNode_t *to,
                                              const cudaGraphEdgeData *edgeData,
                                              size_t numDependencies)
{
    return change_edges(graph, from, to, edgeData, numDependencies, true);
}

cudaError_t irt_core_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                 const cudaGraphNode_t *to,
                                                 const cudaGraphEdgeData *edgeData,
                                                 size_t numDependencies)
{
    return change_edges(graph, from, to, edgeData, numDependencies, false);
}

// ---- conditional handles ----

static cudaError_t new_condition(cudaGraph_t graph, unsigned value, unsigned flags,
                                 cudaGraphConditionalHandle *ret_handle)
{
    static cudaGraphConditionalHandle last; // guarded by the lock
    struct irt_graph *g;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(graph, &g);
    if (!e) {
        struct irt_condition *list =
            realloc(g->conditions, (g->condition_count + 1) * sizeof(*list));
        if (list) {
            g->conditions = list;
            list[g->condition_count++] = (struct irt_condition){
                .handle = ++last, .value = value, .assign = flags == cudaGraphCondAssignDefault};
            *ret_handle = last;
        } else {
            e = cudaErrorMemoryAllocation;
        }
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle *handle_out,
                                                      cudaGraph_t graph,
                                                      unsigned int defaultLaunchValue,
                                                      unsigned int flags)
{
    if (!handle_out || (flags & ~(unsigned)cudaGraphCondAssignDefault)) {
        return cudaErrorInvalidValue;
    }
    return new_condition(graph, defaultLaunchValue, flags, handle_out);
}

cudaError_t irt_core_cudaGraphConditionalHandleCreate_v2(cudaGraphConditionalHandle *handle_out,
                                                         cudaGraph_t graph,
                                                         cudaExecutionContext_t ctx,
                                                         unsigned int defaultLaunchValue,
                                                         unsigned int flags)
{
    struct irt_device *device;
    cudaError_t e = irt_params_context(ctx, &device);
    return e ? e
             : irt_core_cudaGraphConditionalHandleCreate(handle_out, graph, defaultLaunchValue,
                                                         flags);
}
