// SPDX-License-Identifier: Apache-2.0
//
// Changing an instantiated graph: one node, or all from another graph. Launches that are enqueued
// keep what they had. Source: CUDA Runtime API, "Graph Management".
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/graph/graph_api.h"
#include "shim/graph/graph_exec.h"
#include "shim/dispatch/backend.h"

// ---- one node ----

static struct irt_exec_node *find_locked(const struct irt_exec *exec, cudaGraphNode_t handle)
{
    struct irt_node *node;
    return irt_node_find_locked(handle, &node) ? NULL : irt_exec_list_find(&exec->list, node->id);
}

// A copy of what the exec has for a node of that type, to be released.
static cudaError_t parameters_of(const struct irt_exec *exec, cudaGraphNode_t handle,
                                 enum cudaGraphNodeType type, struct irt_params *ret_params)
{
    *ret_params = (struct irt_params){.type = cudaGraphNodeTypeEmpty};
    irt_mutex_lock(&irt_graph_lock);
    const struct irt_exec_node *owner = find_locked(exec, handle);
    cudaError_t error =
        owner && owner->node->params.type == type ? cudaSuccess : cudaErrorInvalidValue;
    if (!error && type == cudaGraphNodeTypeKernel) {
        error = irt_params_copy(&owner->node->params, false, ret_params);
    }
    irt_mutex_unlock(&irt_graph_lock);
    return error;
}

static bool is_line(const struct irt_copy_params *copy)
{
    return copy->box.width && copy->box.height == 1 && copy->box.depth == 1;
}

// cudaGraphExecMemcpyNodeSetParams: "both operands must be 1-dimensional".
static bool may_replace(const struct irt_params *old, const struct irt_params *new,
                        unsigned long long flags)
{
    if (old->type == cudaGraphNodeTypeMemcpy && (!is_line(&old->copy) || !is_line(&new->copy))) {
        return false;
    }
    return irt_exec_check_params(old, new, flags) == cudaGraphExecUpdateSuccess;
}

// exec->lock is held. Exchanges the parameters; they are the caller's to release in any case.
static cudaError_t exchange(struct irt_exec *exec, cudaGraphNode_t handle,
                            struct irt_params *params)
{
    irt_mutex_lock(&irt_graph_lock);
    struct irt_exec_node *owner = find_locked(exec, handle);
    cudaError_t error = cudaErrorInvalidValue;
    if (owner && owner->node->params.type == params->type &&
        may_replace(&owner->node->params, params, exec->flags)) {
        error = irt_node_exchange_locked(owner->node, params);
        if (!error) {
            error = irt_exec_refresh(exec, owner->index);
            if (error) {
                (void)irt_node_exchange_locked(owner->node, params); // as it was
            }
        }
    }
    irt_mutex_unlock(&irt_graph_lock);
    return error;
}

static cudaError_t set_made(struct irt_exec *exec, cudaGraphNode_t node, struct irt_params *params)
{
    irt_mutex_lock(&exec->lock);
    cudaError_t error = exchange(exec, node, params);
    irt_mutex_unlock(&exec->lock);
    irt_params_release(params);
    return error;
}

static cudaError_t set_child(struct irt_exec *exec, cudaGraphNode_t node, cudaGraph_t child);

cudaError_t irt_exec_set_given(cudaGraphExec_t handle, cudaGraphNode_t node,
                               const struct cudaGraphNodeParams *given)
{
    struct irt_params like;
    struct irt_params params;
    struct irt_exec *exec = irt_exec_get(handle);
    if (!exec) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error;
    switch (given->type) {
    case cudaGraphNodeTypeGraph:
        error = set_child(exec, node, given->graph.graph);
        break;
    case cudaGraphNodeTypeMemAlloc:
    case cudaGraphNodeTypeMemFree:
    case cudaGraphNodeTypeConditional:
        error = cudaErrorNotSupported;
        break;
    default:
        irt_mutex_lock(&exec->lock);
        error = parameters_of(exec, node, given->type, &like);
        irt_mutex_unlock(&exec->lock);
        if (!error) {
            bool kernel = given->type == cudaGraphNodeTypeKernel;
            error = irt_params_make(given, kernel ? &like.kernel : NULL, &params);
        }
        irt_params_release(&like);
        if (!error) {
            error = set_made(exec, node, &params);
        }
    }
    irt_exec_put(exec);
    return error;
}

cudaError_t irt_core_cudaGraphExecNodeSetParams(cudaGraphExec_t graphExec, cudaGraphNode_t node,
                                                struct cudaGraphNodeParams *nodeParams)
{
    return nodeParams ? irt_exec_set_given(graphExec, node, nodeParams) : cudaErrorInvalidValue;
}

// Only what has an effect of its own can be switched off.
static bool can_disable(const struct irt_exec_node *owner)
{
    switch (owner->node->params.type) {
    case cudaGraphNodeTypeKernel:
    case cudaGraphNodeTypeMemcpy:
    case cudaGraphNodeTypeMemset:
        return true;
    default:
        return false;
    }
}

cudaError_t irt_core_cudaGraphNodeSetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                             unsigned int isEnabled)
{
    struct irt_exec *exec = irt_exec_get(hGraphExec);
    if (!exec) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&exec->lock);
    irt_mutex_lock(&irt_graph_lock);
    struct irt_exec_node *owner = find_locked(exec, hNode);
    cudaError_t error = owner && can_disable(owner) ? cudaSuccess : cudaErrorInvalidValue;
    if (!error && owner->disabled != !isEnabled) {
        owner->disabled = !isEnabled;
        error = irt_exec_refresh(exec, owner->index);
    }
    irt_mutex_unlock(&irt_graph_lock);
    irt_mutex_unlock(&exec->lock);
    irt_exec_put(exec);
    return error;
}

cudaError_t irt_core_cudaGraphNodeGetEnabled(cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
                                             unsigned int *isEnabled)
{
    struct irt_exec *exec = irt_exec_get(hGraphExec);
    if (!exec) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&exec->lock);
    irt_mutex_lock(&irt_graph_lock);
    const struct irt_exec_node *owner = find_locked(exec, hNode);
    cudaError_t error =
        owner && can_disable(owner) && isEnabled ? cudaSuccess : cudaErrorInvalidValue;
    if (!error) {
        *isEnabled = !owner->disabled;
    }
    irt_mutex_unlock(&irt_graph_lock);
    irt_mutex_unlock(&exec->lock);
    irt_exec_put(exec);
    return error;
}

// ---- whole graphs ----

// Moves what the old list knows of nodes to the new one; both are in the same order.
static void inherit(const struct irt_exec_list *old, struct irt_exec_list *new)
{
    for (size_t i = 0; i < new->count; i++) {
        struct irt_exec_node *owner = &new->owners[i];
        owner->updated = owner->origin == old->owners[i].origin ? 0 : owner->origin;
        owner->origin = old->owners[i].origin;
        owner->disabled = old->owners[i].disabled;
        new->nodes[i].disabled = owner->disabled;
    }
    irt_exec_list_sort(new);
}

// Hands every node and condition of a new list to the backend.
static cudaError_t replace_all(struct irt_exec *exec, const struct irt_exec_list *list)
{
    const struct irtb_backend *backend = irt_backend();
    cudaError_t error = cudaSuccess;
    for (size_t i = 0; i < list->count && exec->native && !error; i++) {
        error = backend->graph_update(exec->native, i, &list->nodes[i]);
    }
    for (size_t i = 0; i < list->condition_count && exec->native && !error; i++) {
        error = backend->graph_set_default(exec->native, i, &list->conditions[i]);
    }
    return error;
}

// Puts `fresh`, which matches the exec's clone, in its place; on an error nothing has changed.
// exec->lock and irt_graph_lock are held.
static cudaError_t put_in_place_locked(struct irt_exec *exec, struct irt_graph *fresh)
{
    struct irt_exec_list list;
    cudaError_t error = irt_exec_list_make_locked(fresh, &list);
    if (error) {
        return error;
    }
    if (list.count != exec->list.count || list.condition_count != exec->list.condition_count) {
        irt_exec_list_free(&list);
        return cudaErrorGraphExecUpdateFailure;
    }
    inherit(&exec->list, &list);
    error = replace_all(exec, &list);
    if (error) {
        (void)replace_all(exec, &exec->list); // as it was
        irt_exec_list_free(&list);
        return error;
    }
    irt_exec_adopt_locked(exec->clone, fresh);
    irt_exec_list_free(&exec->list);
    exec->list = list;
    irt_graph_close_locked(exec->clone);
    return cudaSuccess;
}

static void close_graph(struct irt_graph *graph)
{
    irt_mutex_lock(&irt_graph_lock);
    irt_graph_close_locked(graph);
    irt_mutex_unlock(&irt_graph_lock);
    irt_graph_release(graph);
}

struct search {
    uint64_t id;
    cudaGraphNode_t found;
};

static void match_id(struct irt_node *node, void *context)
{
    struct search *search = context;
    if (node->id == search->id) {
        search->found = node->handle;
    }
}

// The handle of the node of `graph` that a node of its clone comes from.
static cudaGraphNode_t source_of_locked(struct irt_graph *graph, const struct irt_node *node)
{
    struct search search = {.id = node ? node->origin : 0};
    if (node) {
        irt_graph_each_locked(graph, match_id, &search);
    }
    return search.found;
}

static void tell_locked(cudaGraph_t handle, const struct irt_exec_mismatch *mismatch,
                        cudaGraphExecUpdateResultInfo *info)
{
    struct irt_graph *graph;
    info->result = mismatch->result;
    if (irt_graph_find_locked(handle, &graph) == cudaSuccess) {
        info->errorNode = source_of_locked(graph, mismatch->node);
        info->errorFromNode = source_of_locked(graph, mismatch->from);
    }
}

// Takes `fresh` over in any case. exec->lock is held.
static cudaError_t update(struct irt_exec *exec, cudaGraph_t graph, struct irt_graph *fresh,
                          cudaGraphExecUpdateResultInfo *info)
{
    struct irt_exec_mismatch mismatch;
    struct irt_graph *old = NULL;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t error = cudaErrorGraphExecUpdateFailure;
    if (irt_exec_check_graphs_locked(exec->clone, fresh, exec->flags, &mismatch)) {
        old = exec->clone;
        error = put_in_place_locked(exec, fresh);
        info->result = error ? cudaGraphExecUpdateError : cudaGraphExecUpdateSuccess;
    } else {
        tell_locked(graph, &mismatch, info);
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (error) {
        close_graph(fresh);
    } else {
        exec->clone = fresh;
        irt_exec_retire(exec, old);
    }
    return error;
}

cudaError_t irt_core_cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                         cudaGraphExecUpdateResultInfo *resultInfo)
{
    cudaGraphExecUpdateResultInfo info = {.result = cudaGraphExecUpdateError};
    struct irt_graph *fresh;
    struct irt_exec *exec = irt_exec_get(hGraphExec);
    cudaError_t error = exec && resultInfo ? cudaSuccess : cudaErrorInvalidValue;
    if (!error) {
        error = irt_graph_clone(hGraph, false, &fresh);
    }
    if (!error) {
        irt_mutex_lock(&exec->lock);
        error = update(exec, hGraph, fresh, &info);
        irt_mutex_unlock(&exec->lock);
    }
    if (resultInfo) {
        *resultInfo = info;
    }
    if (exec) {
        irt_exec_put(exec);
    }
    return error;
}

// ---- a child graph ----

static void match_child(struct irt_node *node, void *context)
{
    struct {
        uint64_t id;
        struct irt_node *found;
    } *search = context;
    if (node->origin == search->id && node->params.type == cudaGraphNodeTypeGraph) {
        search->found = node;
    }
}

// The exec with another child: the whole clone is copied, its child exchanged, and the copy put in
// the place of the old one.
static cudaError_t with_child_locked(struct irt_exec *exec, cudaGraphNode_t handle,
                                     struct irt_params *child, struct irt_graph **ret_fresh)
{
    struct {
        uint64_t id;
        struct irt_node *found;
    } search = {.found = NULL};
    struct irt_node *node;
    struct irt_exec_mismatch mismatch;
    if (irt_node_find_locked(handle, &node)) {
        return cudaErrorInvalidValue;
    }
    search.id = node->id;
    irt_graph_each_locked(exec->clone, match_child, &search);
    if (!search.found || !irt_exec_check_graphs_locked(search.found->params.child, child->child,
                                                       exec->flags, &mismatch)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_graph_copy_locked(exec->clone, false, ret_fresh);
    if (!error) {
        irt_exec_adopt_locked(exec->clone, *ret_fresh);
        search.found = NULL;
        irt_graph_each_locked(*ret_fresh, match_child, &search);
        error = irt_node_exchange_locked(search.found, child);
    }
    return error;
}

static cudaError_t set_child(struct irt_exec *exec, cudaGraphNode_t node, cudaGraph_t child)
{
    struct irt_graph *copy;
    struct irt_graph *fresh = NULL;
    struct irt_graph *old = NULL;
    struct irt_params params;
    cudaError_t error = irt_graph_clone(child, false, &copy);
    if (error) {
        return error;
    }
    error = irt_params_from_child(irt_device_current(), copy, &params);
    if (error) {
        close_graph(copy);
        return error;
    }
    irt_mutex_lock(&exec->lock);
    irt_mutex_lock(&irt_graph_lock);
    error = with_child_locked(exec, node, &params, &fresh);
    if (!error) {
        old = exec->clone;
        error = put_in_place_locked(exec, fresh);
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (!error) {
        exec->clone = fresh;
        irt_exec_retire(exec, old);
    }
    irt_mutex_unlock(&exec->lock);
    if (error && fresh) {
        close_graph(fresh);
    }
    irt_params_release(&params);
    return error;
}
