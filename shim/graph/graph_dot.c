// SPDX-License-Identifier: Apache-2.0
//
// cudaGraphDebugDotPrint: a graph as text in the DOT language of Graphviz. The text is made in
// memory with the lock held and written to the file afterwards. A node is named by the numbers of
// its graph and its own, as cudaGraphGetId and cudaGraphNodeGetLocalId tell them; graphs inside are
// clusters.
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "irt_core.h"
#include "shim/graph/graph.h"

enum {
    KNOWN_FLAGS = cudaGraphDebugDotFlagsVerbose | cudaGraphDebugDotFlagsKernelNodeParams |
                  cudaGraphDebugDotFlagsMemcpyNodeParams | cudaGraphDebugDotFlagsMemsetNodeParams |
                  cudaGraphDebugDotFlagsHostNodeParams | cudaGraphDebugDotFlagsEventNodeParams |
                  cudaGraphDebugDotFlagsExtSemasSignalNodeParams |
                  cudaGraphDebugDotFlagsExtSemasWaitNodeParams |
                  cudaGraphDebugDotFlagsKernelNodeAttributes | cudaGraphDebugDotFlagsHandles |
                  cudaGraphDebugDotFlagsConditionalNodeParams |
                  1 << 16, // …MemcpyBatchNodeParams of CUDA 13.5
};

struct printer {
    FILE *out;
    unsigned flags;
};

static bool wants(const struct printer *p, unsigned flag)
{
    return p->flags & (flag | cudaGraphDebugDotFlagsVerbose);
}

// The characters that end a label or a field of a record.
static void print_escaped(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '"' || *text == '\\' || *text == '{' || *text == '}' || *text == '|' ||
            *text == '<' || *text == '>') {
            fputc('\\', out);
        }
        fputc(*text, out);
    }
}

static const char *kind_name(enum cudaMemcpyKind kind)
{
    static const char *const names[] = {"HtoH", "HtoD", "DtoH", "DtoD", "Default"};
    return (unsigned)kind <= cudaMemcpyDefault ? names[kind] : "?";
}

static const char *type_name(enum cudaGraphNodeType type)
{
    switch ((int)type) {
    case cudaGraphNodeTypeKernel:
        return "KERNEL";
    case cudaGraphNodeTypeMemcpy:
        return "MEMCPY";
    case cudaGraphNodeTypeMemset:
        return "MEMSET";
    case cudaGraphNodeTypeHost:
        return "HOST";
    case cudaGraphNodeTypeGraph:
        return "GRAPH";
    case cudaGraphNodeTypeEmpty:
        return "EMPTY";
    case cudaGraphNodeTypeWaitEvent:
        return "EVENT_WAIT";
    case cudaGraphNodeTypeEventRecord:
        return "EVENT_RECORD";
    case cudaGraphNodeTypeExtSemaphoreSignal:
        return "EXT_SEMAS_SIGNAL";
    case cudaGraphNodeTypeExtSemaphoreWait:
        return "EXT_SEMAS_WAIT";
    case cudaGraphNodeTypeMemAlloc:
        return "MEM_ALLOC";
    case cudaGraphNodeTypeMemFree:
        return "MEM_FREE";
    case cudaGraphNodeTypeConditional:
        return "CONDITIONAL";
    default:
        return "?";
    }
}

// ---- fields of a node's label, each as "\n| {name | value}" ----

static void print_kernel(const struct printer *p, const struct irt_kernel_params *k)
{
    fprintf(p->out, "\\n");
    print_escaped(p->out, irt_kernel_name(k->kernel));
    if (wants(p, cudaGraphDebugDotFlagsKernelNodeParams)) {
        fprintf(p->out, "|{grid|{%u,%u,%u}}|{block|{%u,%u,%u}}|{dynamic shared|{%u}}", k->grid.x,
                k->grid.y, k->grid.z, k->block.x, k->block.y, k->block.z, k->shared);
        fprintf(p->out, "|{arguments|{%u in %zu bytes}}", k->argument_count, k->packed_size);
    }
    if (wants(p, cudaGraphDebugDotFlagsKernelNodeAttributes)) {
        fprintf(p->out, "|{cooperative|{%d}}|{priority|{%d}}|{cluster|{%u,%u,%u}}", k->cooperative,
                k->priority, k->cluster.x, k->cluster.y, k->cluster.z);
        for (unsigned i = 0; i < k->attribute_count; i++) {
            if (k->attributes[i].id == cudaLaunchAttributeAccessPolicyWindow) {
                const struct cudaAccessPolicyWindow *w = &k->attributes[i].val.accessPolicyWindow;
                fprintf(p->out, "|{access policy window|{%p, %zu bytes, %g, %d, %d}}", w->base_ptr,
                        w->num_bytes, (double)w->hitRatio, (int)w->hitProp, (int)w->missProp);
            }
        }
    }
    if (wants(p, cudaGraphDebugDotFlagsHandles)) {
        fprintf(p->out, "|{function|{%p}}", k->func);
    }
}

static void print_copy_side(FILE *out, const char *name, const void *address, cudaArray_t array,
                            const struct cudaPos *pos, const struct cudaPitchedPtr *ptr)
{
    fprintf(out, "|{%s|{%p, %s %p, position %zu,%zu,%zu, pitch %zu, size %zu,%zu}}", name, address,
            array ? "array" : "pointer", array ? (void *)array : ptr->ptr, pos->x, pos->y, pos->z,
            ptr->pitch, ptr->xsize, ptr->ysize);
}

static void print_copy(const struct printer *p, const struct irt_copy_params *c)
{
    fprintf(p->out, "\\n%s", kind_name(c->box.kind));
    if (wants(p, cudaGraphDebugDotFlagsMemcpyNodeParams)) {
        const struct cudaMemcpy3DParms *g = &c->given;
        print_copy_side(p->out, "source", c->box.src, g->srcArray, &g->srcPos, &g->srcPtr);
        print_copy_side(p->out, "destination", c->box.dst, g->dstArray, &g->dstPos, &g->dstPtr);
        fprintf(p->out, "|{extent|{%zu,%zu,%zu}}", g->extent.width, g->extent.height,
                g->extent.depth);
    }
}

static void print_fill(const struct printer *p, const struct cudaMemsetParams *f)
{
    if (wants(p, cudaGraphDebugDotFlagsMemsetNodeParams)) {
        fprintf(p->out,
                "|{destination|{%p}}|{value|{%u}}|{element size|{%u}}|{width|{%zu}}|{height|{%zu}}"
                "|{pitch|{%zu}}",
                f->dst, f->value, f->elementSize, f->width, f->height, f->pitch);
    }
}

static void print_conditional(const struct printer *p, const struct irt_conditional_params *c)
{
    static const char *const types[] = {"IF", "WHILE", "SWITCH"};
    fprintf(p->out, "\\n%s", types[c->type]);
    if (wants(p, cudaGraphDebugDotFlagsConditionalNodeParams)) {
        fprintf(p->out, "|{handle|{%llu}}|{bodies|{", c->handle);
        for (unsigned i = 0; i < c->count; i++) {
            fprintf(p->out, "%sgraph_%u", i ? "," : "", c->bodies[i]->id);
        }
        fprintf(p->out, "}}");
    }
}

static void print_details(const struct printer *p, const struct irt_params *params)
{
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        print_kernel(p, &params->kernel);
        break;
    case cudaGraphNodeTypeMemcpy:
        print_copy(p, &params->copy);
        break;
    case cudaGraphNodeTypeMemset:
        print_fill(p, &params->fill.given);
        break;
    case cudaGraphNodeTypeHost:
        if (wants(p, cudaGraphDebugDotFlagsHostNodeParams)) {
            fprintf(p->out, "|{function|{0x%" PRIxPTR "}}|{user data|{%p}}",
                    (uintptr_t)params->host.function, params->host.argument);
        }
        break;
    case cudaGraphNodeTypeGraph:
        fprintf(p->out, "\\ngraph_%u", params->child->id);
        break;
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        if (wants(p, cudaGraphDebugDotFlagsEventNodeParams)) {
            fprintf(p->out, "|{event|{%p}}", params->event->handle);
        }
        break;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait: {
        bool signal = params->type == cudaGraphNodeTypeExtSemaphoreSignal;
        if (wants(p, signal ? cudaGraphDebugDotFlagsExtSemasSignalNodeParams
                            : cudaGraphDebugDotFlagsExtSemasWaitNodeParams)) {
            fprintf(p->out, "|{semaphores|{%u}}", params->fence.count);
        }
        break;
    }
    case cudaGraphNodeTypeMemAlloc:
        if (p->flags & cudaGraphDebugDotFlagsVerbose) {
            fprintf(p->out, "|{address|{%p}}|{bytes|{%zu}}|{device|{%d}}", params->alloc.given.dptr,
                    params->alloc.given.bytesize, params->device->ordinal);
        }
        break;
    case cudaGraphNodeTypeMemFree:
        if (p->flags & cudaGraphDebugDotFlagsVerbose) {
            fprintf(p->out, "|{address|{%p}}", params->free);
        }
        break;
    case cudaGraphNodeTypeConditional:
        print_conditional(p, &params->conditional);
        break;
    default:
        break;
    }
}

// ---- graphs ----

static void print_node_name(FILE *out, const struct irt_node *node)
{
    fprintf(out, "\"graph_%u_node_%u\"", node->graph->id, node->local_id);
}

static void print_node(const struct printer *p, const struct irt_node *node)
{
    print_node_name(p->out, node);
    fprintf(p->out, " [shape=\"record\" label=\"{%u %s", node->local_id,
            type_name(node->params.type));
    print_details(p, &node->params);
    if (wants(p, cudaGraphDebugDotFlagsHandles)) {
        fprintf(p->out, "|{node handle|{%p}}", (void *)node->handle);
    }
    fprintf(p->out, "}\"];\n");
}

static void print_edge(FILE *out, const struct irt_node *from, const struct irt_edge *edge)
{
    print_node_name(out, from);
    fprintf(out, " -> ");
    print_node_name(out, edge->node);
    if (edge->data.type || edge->data.from_port) {
        fprintf(out, " [style=\"dashed\" label=\"port %u, type %u\"]", edge->data.from_port,
                edge->data.type);
    }
    fprintf(out, ";\n");
}

static void print_graph(const struct printer *p, const struct irt_graph *graph)
{
    fprintf(p->out, "subgraph \"cluster_%u\" {\nlabel=\"graph_%u\"; style=\"dashed\";\n", graph->id,
            graph->id);
    for (const struct irt_node *n = graph->first; n; n = n->next) {
        print_node(p, n);
        if (n->params.type == cudaGraphNodeTypeGraph) {
            print_graph(p, n->params.child);
        }
        if (n->params.type == cudaGraphNodeTypeConditional) {
            for (unsigned i = 0; i < n->params.conditional.count; i++) {
                print_graph(p, n->params.conditional.bodies[i]);
            }
        }
    }
    for (const struct irt_node *n = graph->first; n; n = n->next) {
        for (size_t i = 0; i < n->out.count; i++) {
            print_edge(p->out, n, &n->out.list[i]);
        }
    }
    fprintf(p->out, "}\n");
}

static cudaError_t write_file(const char *path, const char *text, size_t size)
{
    FILE *file = fopen(path, "w");
    if (!file) {
        return cudaErrorOperatingSystem;
    }
    bool good = fwrite(text, 1, size, file) == size;
    return fclose(file) == 0 && good ? cudaSuccess : cudaErrorOperatingSystem;
}

cudaError_t irt_core_cudaGraphDebugDotPrint(cudaGraph_t handle, const char *path,
                                            unsigned int flags)
{
    struct irt_graph *graph;
    char *text = NULL;
    size_t size = 0;
    if (!path || (flags & ~(unsigned)KNOWN_FLAGS)) {
        return cudaErrorInvalidValue;
    }
    struct printer p = {.out = open_memstream(&text, &size), .flags = flags};
    if (!p.out) {
        return cudaErrorMemoryAllocation;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(handle, &graph);
    if (!e) {
        fprintf(p.out, "digraph dot {\n");
        print_graph(&p, graph);
        fprintf(p.out, "}\n");
    }
    irt_mutex_unlock(&irt_graph_lock);
    bool good = !ferror(p.out);
    good = fclose(p.out) == 0 && good;
    if (!e) {
        e = good ? write_file(path, text, size) : cudaErrorMemoryAllocation;
    }
    free(text);
    return e;
}
