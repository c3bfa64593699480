// SPDX-License-Identifier: Apache-2.0
//
// The life of instantiated graphs and their launches. See graph_exec.h. Source: CUDA Runtime API,
// "Graph Management".
#include "shim/graph/graph_exec.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/graph/capture.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/util/handle.h"

static void destroy(void *object);
static struct irt_handle_table execs = IRT_HANDLE_TABLE(IRT_HANDLE_EXEC, destroy);

struct irt_exec *irt_exec_get(cudaGraphExec_t handle)
{
    return irt_handle_get(&execs, handle);
}

void irt_exec_put(struct irt_exec *exec)
{
    irt_handle_put(&execs, exec->handle);
}

// ---- end of life ----

static void close_graph(struct irt_graph *graph)
{
    irt_mutex_lock(&irt_graph_lock);
    irt_graph_close_locked(graph);
    irt_mutex_unlock(&irt_graph_lock);
    irt_graph_release(graph);
}

// No launch uses the exec any more.
static void end(void *argument)
{
    struct irt_exec *exec = argument;
    close_graph(exec->clone);
    irt_mutex_destroy(&exec->lock);
    free(exec);
}

static void uncount(const struct irt_exec *exec)
{
    struct irt_graph *graph;
    if (exec->counted) {
        irt_mutex_lock(&irt_graph_lock);
        if (irt_graph_find_locked(exec->counted, &graph) == cudaSuccess) {
            graph->exec_count--;
        }
        irt_mutex_unlock(&irt_graph_lock);
    }
}

static void destroy(void *object)
{
    struct irt_exec *exec = object;
    uncount(exec);
    irt_exec_list_free(&exec->list);
    if (exec->native) {
        struct irtb_graph *native = exec->native;
        exec->notice = (struct irtb_notice){.function = end, .argument = exec};
        irt_backend()->graph_notify(native, &exec->notice);
        irt_backend()->graph_destroy(native);
        return;
    }
    if (exec->marker) {
        irt_backend()->event_synchronize(exec->marker);
        irt_backend()->event_destroy(exec->marker);
    }
    end(exec);
}

struct retired {
    struct irtb_notice notice;
    struct irt_graph *graph;
};

static void release_retired(void *argument)
{
    struct retired *retired = argument;
    irt_graph_release(retired->graph);
    free(retired);
}

void irt_exec_retire(struct irt_exec *exec, struct irt_graph *closed)
{
    struct retired *retired = exec->native ? malloc(sizeof *retired) : NULL;
    if (retired) {
        *retired = (struct retired){.graph = closed};
        retired->notice.function = release_retired;
        retired->notice.argument = retired;
        irt_backend()->graph_notify(exec->native, &retired->notice);
        return;
    }
    if (exec->marker) {
        irt_backend()->event_synchronize(exec->marker);
    }
    irt_graph_release(closed);
}

cudaError_t irt_exec_refresh(struct irt_exec *exec, size_t index)
{
    const struct irt_exec_node *owner = &exec->list.owners[index];
    struct irtb_graph_node *node = &exec->list.nodes[index];
    struct irtb_graph_node made;
    cudaError_t error = irt_exec_node_compile(owner, &made);
    if (error) {
        return error;
    }
    if (made.kind >= IRTB_GRAPH_IF) {
        made.conditional = node->conditional;
    }
    if (exec->native) {
        error = irt_backend()->graph_update(exec->native, index, &made);
    }
    if (!error) {
        *node = made;
    }
    return error;
}

// ---- instantiating ----

static const unsigned long long known_flags =
    cudaGraphInstantiateFlagAutoFreeOnLaunch | cudaGraphInstantiateFlagUpload |
    cudaGraphInstantiateFlagDeviceLaunch | cudaGraphInstantiateFlagUseNodePriority;

// What an instantiation answers besides its error.
struct outcome {
    cudaGraphInstantiateResult result;
    cudaGraphNode_t node;
};

static cudaError_t offend(struct outcome *outcome, cudaGraphInstantiateResult result,
                          const struct irt_node *node, cudaError_t error)
{
    outcome->result = result;
    outcome->node = node ? node->handle : NULL;
    return error;
}

struct device_launch_check {
    struct outcome *outcome;
    struct irt_device *device;
    size_t count; // kernels, copies, fills
    cudaError_t error;
};

static bool is_host_copy(const struct irtb_copy *box)
{
    return box->dst_device < 0 && box->src_device < 0;
}

static void check_for_device(struct irt_node *node, void *context)
{
    struct device_launch_check *check = context;
    const struct irt_params *params = &node->params;
    if (check->error || params->type == cudaGraphNodeTypeGraph) {
        return;
    }
    bool allowed = params->type == cudaGraphNodeTypeKernel ||
                   params->type == cudaGraphNodeTypeMemset ||
                   (params->type == cudaGraphNodeTypeMemcpy && !params->copy.arrays[0] &&
                    !params->copy.arrays[1] && !is_host_copy(&params->copy.box));
    if (!allowed) {
        check->error = offend(check->outcome, cudaGraphInstantiateNodeOperationNotSupported, node,
                              cudaErrorNotSupported);
    } else if (check->device && check->device != params->device) {
        check->error = offend(check->outcome, cudaGraphInstantiateMultipleDevicesNotSupported, node,
                              cudaErrorNotSupported);
    }
    check->device = params->device;
    check->count++;
}

struct condition_check {
    struct outcome *outcome;
    cudaError_t error;
};

static bool has_unused_condition(const struct irt_graph *graph)
{
    for (size_t i = 0; i < graph->condition_count; i++) {
        if (!graph->conditions[i].used) {
            return true;
        }
    }
    return false;
}

static void check_conditions(struct irt_node *node, void *context)
{
    struct condition_check *check = context;
    const struct irt_params *params = &node->params;
    bool unused = params->type == cudaGraphNodeTypeGraph && has_unused_condition(params->child);
    for (unsigned i = 0;
         params->type == cudaGraphNodeTypeConditional && !unused && i < params->conditional.count;
         i++) {
        unused = has_unused_condition(params->conditional.bodies[i]);
    }
    if (unused && !check->error) {
        check->error = offend(check->outcome, cudaGraphInstantiateConditionalHandleUnused, NULL,
                              cudaErrorInvalidValue);
    }
}

// What the application's graph must obey to be instantiated.
static cudaError_t check_graph_locked(struct irt_graph *graph, unsigned long long flags,
                                      struct outcome *outcome)
{
    struct condition_check conditions = {.outcome = outcome};
    if (has_unused_condition(graph)) {
        return offend(outcome, cudaGraphInstantiateConditionalHandleUnused, NULL,
                      cudaErrorInvalidValue);
    }
    irt_graph_each_locked(graph, check_conditions, &conditions);
    if (conditions.error) {
        return conditions.error;
    }
    if (graph->exec_count && irt_graph_has_memory_locked(graph)) {
        return cudaErrorNotSupported; // one exec at a time
    }
    if (flags & cudaGraphInstantiateFlagDeviceLaunch) {
        struct device_launch_check check = {.outcome = outcome};
        irt_graph_each_locked(graph, check_for_device, &check);
        if (!check.error && !check.count) {
            check.error =
                offend(outcome, cudaGraphInstantiateInvalidStructure, NULL, cudaErrorInvalidValue);
        }
        return check.error;
    }
    return cudaSuccess;
}

static cudaError_t make_native(struct irt_exec *exec)
{
    const struct irtb_backend *backend = irt_backend();
    const struct irt_exec_list *list = &exec->list;
    if (backend->graph_create) {
        struct irtb_graph_desc desc = {.nodes = list->nodes,
                                       .node_count = list->count,
                                       .conditions = list->conditions,
                                       .condition_count = list->condition_count};
        return backend->graph_create(&desc, &exec->native);
    }
    for (size_t i = 0; i < list->count; i++) {
        if (list->nodes[i].kind >= IRTB_GRAPH_IF) {
            return irt_unsupported("a conditional node of a graph");
        }
    }
    return cudaSuccess;
}

// Takes the clone over, also when it fails.
static cudaError_t make_exec(struct irt_graph *clone, unsigned long long flags,
                             struct irt_exec **ret_exec)
{
    static _Atomic unsigned next_id;
    struct irt_exec *exec = calloc(1, sizeof *exec);
    if (!exec) {
        close_graph(clone);
        return cudaErrorMemoryAllocation;
    }
    irt_mutex_init(&exec->lock, IRT_RANK_EXEC);
    exec->clone = clone;
    exec->flags = flags;
    exec->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed) + 1;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t error = irt_exec_list_make_locked(clone, &exec->list);
    irt_mutex_unlock(&irt_graph_lock);
    if (!error) {
        error = make_native(exec);
    }
    if (error) {
        destroy(exec);
        return error;
    }
    *ret_exec = exec;
    return cudaSuccess;
}

static cudaError_t instantiate(cudaGraphExec_t *ret_exec, cudaGraph_t graph,
                               unsigned long long flags, struct outcome *outcome)
{
    struct irt_graph *found;
    struct irt_graph *clone;
    struct irt_exec *exec;
    *outcome = (struct outcome){.result = cudaGraphInstantiateError};
    if (!ret_exec || (flags & ~known_flags) ||
        ((flags & cudaGraphInstantiateFlagDeviceLaunch) &&
         (flags & cudaGraphInstantiateFlagAutoFreeOnLaunch))) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t error = irt_graph_find_locked(graph, &found);
    if (!error) {
        error = check_graph_locked(found, flags, outcome);
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (!error) {
        error = irt_graph_clone(graph, false, &clone);
    }
    if (!error) {
        error = make_exec(clone, flags, &exec);
    }
    if (error) {
        return error;
    }
    exec->handle = irt_handle_open(&execs, exec);
    if (!exec->handle) {
        destroy(exec);
        return cudaErrorMemoryAllocation;
    }
    irt_mutex_lock(&irt_graph_lock);
    if (exec->list.memory_count && irt_graph_find_locked(graph, &found) == cudaSuccess) {
        found->exec_count++;
        exec->counted = graph;
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (flags & cudaGraphInstantiateFlagDeviceLaunch) {
        error = irt_backend()->graph_publish && exec->native
                    ? irt_backend()->graph_publish(exec->native, (uint64_t)(uintptr_t)exec->handle)
                    : irt_unsupported("cudaGraphInstantiateFlagDeviceLaunch");
        if (error) {
            irt_handle_close(&execs, exec->handle);
            return error;
        }
    }
    outcome->result = cudaGraphInstantiateSuccess;
    *ret_exec = exec->handle;
    return cudaSuccess;
}

// cudaGraphInstantiateFlagUpload needs the stream that only …WithParams has.
cudaError_t irt_core_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                          unsigned long long flags)
{
    struct outcome outcome;
    return flags & cudaGraphInstantiateFlagUpload ? cudaErrorInvalidValue
                                                  : instantiate(pGraphExec, graph, flags, &outcome);
}

cudaError_t irt_core_cudaGraphInstantiateWithFlags(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                   unsigned long long flags)
{
    return irt_core_cudaGraphInstantiate(pGraphExec, graph, flags);
}

cudaError_t irt_core_cudaGraphInstantiateWithParams(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                                    cudaGraphInstantiateParams *instantiateParams,
                                                    cudaStream_t default_stream)
{
    struct outcome outcome;
    struct irt_stream *stream = NULL;
    if (!instantiateParams) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = cudaSuccess;
    if (instantiateParams->flags & cudaGraphInstantiateFlagUpload) {
        cudaStream_t handle = instantiateParams->uploadStream;
        error = irt_stream_get(handle ? handle : default_stream, &stream);
    }
    if (error) {
        instantiateParams->result_out = cudaGraphInstantiateError;
        instantiateParams->errNode_out = NULL;
        return error;
    }
    error = instantiate(pGraphExec, graph, instantiateParams->flags, &outcome);
    instantiateParams->result_out = outcome.result;
    instantiateParams->errNode_out = outcome.node;
    if (stream) {
        irt_stream_put(stream);
    }
    return error;
}

// ---- launching ----

struct launch {
    struct irt_exec *exec;
    struct irt_stream *stream;
};

struct host_node {
    void (*function)(void *);
    void *argument;
};

static void run_host(void *argument)
{
    struct host_node node = *(struct host_node *)argument;
    free(argument);
    irt_run_host_function(node.function, node.argument);
}

static cudaError_t enqueue_host(struct irtb_stream *stream, const struct irtb_graph_node *node)
{
    struct host_node *own = malloc(sizeof *own);
    if (!own) {
        return cudaErrorMemoryAllocation;
    }
    *own = (struct host_node){.function = node->host.function, .argument = node->host.argument};
    cudaError_t error = irt_backend()->host_func(stream, run_host, own, false);
    if (error) {
        free(own);
    }
    return error;
}

static cudaError_t enqueue_node(struct irtb_stream *stream, const struct irtb_graph_node *node)
{
    const struct irtb_backend *backend = irt_backend();
    if (node->disabled) {
        return cudaSuccess;
    }
    switch (node->kind) {
    case IRTB_GRAPH_LAUNCH:
        return backend->launch(stream, &node->launch);
    case IRTB_GRAPH_COPY:
        return backend->copy(stream, &node->copy);
    case IRTB_GRAPH_FILL:
        return backend->fill(stream, &node->fill);
    case IRTB_GRAPH_HOST:
        return enqueue_host(stream, node);
    case IRTB_GRAPH_RECORD:
        return backend->event_record(node->event, stream);
    case IRTB_GRAPH_WAIT:
        return backend->stream_wait_event(stream, node->event);
    default:
        return cudaSuccess;
    }
}

// A backend without graphs: every node by itself, behind the launch before.
static cudaError_t enqueue_nodes(struct irt_exec *exec, struct irt_stream *stream)
{
    const struct irtb_backend *backend = irt_backend();
    cudaError_t error = cudaSuccess;
    if (!exec->marker) {
        error = backend->event_create(stream->device->id, false, false, &exec->marker);
    } else if (exec->last != stream->id) {
        error = backend->stream_wait_event(stream->backend, exec->marker);
    }
    for (size_t i = 0; i < exec->list.count && !error; i++) {
        error = enqueue_node(stream->backend, &exec->list.nodes[i]);
    }
    exec->last = stream->id;
    return error ? error : backend->event_record(exec->marker, stream->backend);
}

static cudaError_t enqueue(void *context)
{
    const struct launch *launch = context;
    if (launch->exec->native) {
        return irt_backend()->graph_launch(launch->exec->native, launch->stream->backend);
    }
    return enqueue_nodes(launch->exec, launch->stream);
}

// Called between irt_stream_enter and irt_stream_leave, with exec->lock held.
static cudaError_t launch_in(struct irt_exec *exec, struct irt_stream *stream)
{
    const struct irt_exec_list *list = &exec->list;
    struct launch launch = {.exec = exec, .stream = stream};
    cudaError_t error;
    if (list->memory_count) {
        error = irt_graph_memory_launch(
            exec, (exec->flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0, list->memory,
            list->memory_count, enqueue, &launch);
    } else {
        error = enqueue(&launch);
    }
    return error;
}

// The events that the launch will record, as irt_event_record leaves them.
static void note_records(const struct irt_exec *exec, struct irt_stream *stream)
{
    for (size_t i = 0; i < exec->list.record_count; i++) {
        irt_event_note_record(exec->list.owners[exec->list.records[i]].node->params.event, stream);
    }
}

// Takes the stream's reference.
static cudaError_t launch_captured(struct irt_exec *exec, struct irt_stream *stream)
{
    struct irt_graph *copy = NULL;
    struct irt_params params;
    irt_mutex_lock(&exec->lock);
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t error = irt_graph_copy_locked(exec->clone, true, &copy);
    irt_mutex_unlock(&irt_graph_lock);
    irt_mutex_unlock(&exec->lock);
    if (!error) {
        error = irt_params_from_child(stream->device, copy, &params);
    }
    if (error) {
        if (copy) {
            close_graph(copy);
        }
        irt_stream_put(stream);
        return error;
    }
    return irt_capture_params(stream, &params);
}

cudaError_t irt_core_cudaGraphLaunch(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    struct irt_stream *s;
    struct irt_exec *exec = irt_exec_get(graphExec);
    if (!exec) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error;
    if (irt_capture_enter(stream, &s)) {
        error = launch_captured(exec, s);
        irt_exec_put(exec);
        return error;
    }
    irt_mutex_lock(&exec->lock);
    error = irt_stream_enter(stream, &s);
    if (!error) {
        note_records(exec, s);
        error = irt_stream_leave(s, launch_in(exec, s));
    }
    irt_mutex_unlock(&exec->lock);
    irt_exec_put(exec);
    return error;
}

// Everything that a launch needs is made at instantiation; what is left is the answer for a stream
// or an exec that does not exist.
cudaError_t irt_core_cudaGraphUpload(cudaGraphExec_t graphExec, cudaStream_t stream)
{
    struct irt_stream *s;
    struct irt_exec *exec = irt_exec_get(graphExec);
    if (!exec) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_stream_enter(stream, &s);
    if (!error) {
        error = irt_stream_leave(s, cudaSuccess);
    }
    irt_exec_put(exec);
    return error;
}

static void close_on_device(void *handle, void *object, void *context)
{
    struct irt_exec *exec = object;
    bool found = false;
    irt_mutex_lock(&exec->lock);
    for (size_t i = 0; i < exec->list.count && !found; i++) {
        found = exec->list.owners[i].node->params.device == context;
    }
    irt_mutex_unlock(&exec->lock);
    if (found) {
        irt_handle_close(&execs, handle);
    }
}

void irt_exec_reset_device(struct irt_device *device)
{
    irt_handle_each(&execs, close_on_device, device);
}

cudaError_t irt_core_cudaGraphExecDestroy(cudaGraphExec_t graphExec)
{
    return irt_handle_close(&execs, graphExec) ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaGraphExecGetFlags(cudaGraphExec_t graphExec, unsigned long long *flags)
{
    struct irt_exec *exec = irt_exec_get(graphExec);
    if (!exec) {
        return cudaErrorInvalidValue;
    }
    if (flags) {
        *flags = exec->flags;
    }
    irt_exec_put(exec);
    return flags ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaGraphExecGetId(cudaGraphExec_t hGraphExec, unsigned int *graphID)
{
    struct irt_exec *exec = irt_exec_get(hGraphExec);
    if (!exec) {
        return cudaErrorInvalidValue;
    }
    if (graphID) {
        *graphID = exec->id;
    }
    irt_exec_put(exec);
    return graphID ? cudaSuccess : cudaErrorInvalidValue;
}
