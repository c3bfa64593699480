// SPDX-License-Identifier: Apache-2.0
//
// What may change in an instantiated graph: nodes pair by pair, and whole graphs whose nodes are
// paired in the order of their creation. Source: CUDA Runtime API, cudaGraphExecUpdate.
#include <string.h>

#include "shim/graph/graph_exec.h"
#include "shim/core/memory.h"

static const struct irt_device *owner_of(const void *address)
{
    struct irt_memory memory;
    return irt_memory_find(address, &memory) ? memory.device : NULL;
}

static enum cudaGraphExecUpdateResult
check_kernel(const struct irt_params *old, const struct irt_params *new, unsigned long long flags)
{
    if (old->device != new->device) {
        return cudaGraphExecUpdateErrorUnsupportedFunctionChange;
    }
    if (old->kernel.cooperative != new->kernel.cooperative ||
        ((flags & cudaGraphInstantiateFlagUseNodePriority) &&
         old->kernel.priority != new->kernel.priority)) {
        return cudaGraphExecUpdateErrorAttributesChanged;
    }
    return cudaGraphExecUpdateSuccess;
}

static enum cudaGraphExecUpdateResult check_copy(const struct irt_copy_params *old,
                                                 const struct irt_copy_params *new)
{
    bool same =
        old->box.dst_device == new->box.dst_device && old->box.src_device == new->box.src_device;
    for (int i = 0; i < 2; i++) {
        same = same && (old->arrays[i] == NULL) == (new->arrays[i] == NULL);
    }
    return same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorParametersChanged;
}

static enum cudaGraphExecUpdateResult check_fill(const struct irtb_fill *old,
                                                 const struct irtb_fill *new)
{
    bool rows = old->height > 1 || new->height > 1;
    bool same = owner_of(old->dst) == owner_of(new->dst);
    if (rows) { // only the address and the value may be others
        same = same && old->width == new->width && old->height == new->height &&
               old->element_size == new->element_size && old->pitch == new->pitch;
    }
    return same ? cudaGraphExecUpdateSuccess : cudaGraphExecUpdateErrorParametersChanged;
}

static enum cudaGraphExecUpdateResult check_conditional(const struct irt_conditional_params *old,
                                                        const struct irt_conditional_params *new)
{
    return old->handle == new->handle && old->type == new->type && old->count == new->count
               ? cudaGraphExecUpdateSuccess
               : cudaGraphExecUpdateErrorParametersChanged;
}

enum cudaGraphExecUpdateResult irt_exec_check_params(const struct irt_params *old,
                                                     const struct irt_params *new,
                                                     unsigned long long flags)
{
    switch (old->type) {
    case cudaGraphNodeTypeKernel:
        return check_kernel(old, new, flags);
    case cudaGraphNodeTypeMemcpy:
        return check_copy(&old->copy, &new->copy);
    case cudaGraphNodeTypeMemset:
        return check_fill(&old->fill.box, &new->fill.box);
    case cudaGraphNodeTypeConditional:
        return check_conditional(&old->conditional, &new->conditional);
    case cudaGraphNodeTypeMemAlloc: // its address cannot move
        return old->alloc.given.dptr == new->alloc.given.dptr
                   ? cudaGraphExecUpdateSuccess
                   : cudaGraphExecUpdateErrorNotSupported;
    case cudaGraphNodeTypeMemFree:
        return old->free == new->free ? cudaGraphExecUpdateSuccess
                                      : cudaGraphExecUpdateErrorNotSupported;
    default:
        return cudaGraphExecUpdateSuccess;
    }
}

// ---- whole graphs ----

static bool differ(struct irt_exec_mismatch *mismatch, enum cudaGraphExecUpdateResult result,
                   const struct irt_node *node, const struct irt_node *from)
{
    *mismatch = (struct irt_exec_mismatch){.result = result, .node = node, .from = from};
    return false;
}

static void number(struct irt_graph *graph)
{
    size_t i = 0;
    for (struct irt_node *node = graph->first; node; node = node->next) {
        node->mark = i++;
    }
}

static bool check_edges(const struct irt_node *old, const struct irt_node *new,
                        struct irt_exec_mismatch *mismatch)
{
    if (old->in.count != new->in.count) {
        return differ(mismatch, cudaGraphExecUpdateErrorTopologyChanged, new, NULL);
    }
    for (size_t i = 0; i < new->in.count; i++) {
        const struct irt_edge *a = &old->in.list[i];
        const struct irt_edge *b = &new->in.list[i];
        if (a->node->mark != b->node->mark || memcmp(&a->data, &b->data, sizeof a->data) != 0) {
            return differ(mismatch, cudaGraphExecUpdateErrorTopologyChanged, new, b->node);
        }
    }
    return true;
}

static bool check_node(const struct irt_node *old, const struct irt_node *new,
                       unsigned long long flags, struct irt_exec_mismatch *mismatch)
{
    if (old->params.type != new->params.type) {
        return differ(mismatch, cudaGraphExecUpdateErrorNodeTypeChanged, new, NULL);
    }
    enum cudaGraphExecUpdateResult result =
        irt_exec_check_params(&old->params, &new->params, flags);
    if (result) {
        return differ(mismatch, result, new, NULL);
    }
    if (old->params.type == cudaGraphNodeTypeGraph) {
        return irt_exec_check_graphs_locked(old->params.child, new->params.child, flags, mismatch);
    }
    bool same = true;
    if (old->params.type == cudaGraphNodeTypeConditional) {
        for (unsigned i = 0; i < old->params.conditional.count && same; i++) {
            same = irt_exec_check_graphs_locked(old->params.conditional.bodies[i],
                                                new->params.conditional.bodies[i], flags, mismatch);
        }
    }
    return same;
}

bool irt_exec_check_graphs_locked(struct irt_graph *old, struct irt_graph *new,
                                  unsigned long long flags, struct irt_exec_mismatch *ret_mismatch)
{
    if (old->node_count != new->node_count) {
        return differ(ret_mismatch, cudaGraphExecUpdateErrorTopologyChanged, NULL, NULL);
    }
    number(old);
    number(new);
    const struct irt_node *a = old->first;
    for (const struct irt_node *b = new->first; b; a = a->next, b = b->next) {
        if (!check_edges(a, b, ret_mismatch)) {
            return false;
        }
    }
    a = old->first;
    for (const struct irt_node *b = new->first; b; a = a->next, b = b->next) {
        if (!check_node(a, b, flags, ret_mismatch)) {
            return false;
        }
    }
    return true;
}

void irt_exec_adopt_locked(struct irt_graph *old, struct irt_graph *new)
{
    struct irt_node *a = old->first;
    for (struct irt_node *b = new->first; b; a = a->next, b = b->next) {
        b->origin = a->origin;
        if (b->params.type == cudaGraphNodeTypeGraph) {
            irt_exec_adopt_locked(a->params.child, b->params.child);
        }
        for (unsigned i = 0;
             b->params.type == cudaGraphNodeTypeConditional && i < b->params.conditional.count;
             i++) {
            irt_exec_adopt_locked(a->params.conditional.bodies[i], b->params.conditional.bodies[i]);
        }
    }
}
