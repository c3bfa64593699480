// SPDX-License-Identifier: Apache-2.0
//
// Recapture: a sequence that meets the nodes of an existing graph again, in the order of their
// creation, and gives them its parameters. What does not fit ends it. Source: CUDA Runtime
// API 13.3, cudaStreamBeginRecaptureToGraph.
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/graph/capture_sequence.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_exec.h"
#include "shim/core/stream.h"

static bool same_dim(dim3 a, dim3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static bool same_kernel(const struct irt_kernel_params *a, const struct irt_kernel_params *b)
{
    return a->loaded == b->loaded && same_dim(a->grid, b->grid) && same_dim(a->block, b->block) &&
           same_dim(a->cluster, b->cluster) && a->shared == b->shared &&
           a->cooperative == b->cooperative && a->packed_size == b->packed_size &&
           (!a->packed_size || memcmp(a->packed, b->packed, a->packed_size) == 0);
}

static bool same_copy(const struct irtb_copy *a, const struct irtb_copy *b)
{
    return a->dst == b->dst && a->src == b->src && a->width == b->width && a->height == b->height &&
           a->depth == b->depth && a->dst_pitch == b->dst_pitch && a->src_pitch == b->src_pitch &&
           a->dst_slice == b->dst_slice && a->src_slice == b->src_slice;
}

static bool same_fill(const struct irtb_fill *a, const struct irtb_fill *b)
{
    return a->dst == b->dst && a->value == b->value && a->element_size == b->element_size &&
           a->width == b->width && a->height == b->height && a->depth == b->depth &&
           a->pitch == b->pitch && a->slice == b->slice;
}

// Of two nodes of one type. Child graphs always count as different.
static bool same_params(const struct irt_params *a, const struct irt_params *b)
{
    switch (a->type) {
    case cudaGraphNodeTypeKernel:
        return same_kernel(&a->kernel, &b->kernel);
    case cudaGraphNodeTypeMemcpy:
        return same_copy(&a->copy.box, &b->copy.box);
    case cudaGraphNodeTypeMemset:
        return same_fill(&a->fill.box, &b->fill.box);
    case cudaGraphNodeTypeHost:
        return a->host.function == b->host.function && a->host.argument == b->host.argument;
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        return a->event == b->event;
    case cudaGraphNodeTypeMemAlloc: // the address is the node's own
        return a->alloc.given.bytesize == b->alloc.given.bytesize && a->device == b->device;
    case cudaGraphNodeTypeMemFree:
        return a->free == b->free;
    case cudaGraphNodeTypeEmpty:
        return true;
    default:
        return false;
    }
}

static bool same_dependencies(const struct irt_node *node, const struct irt_capture_set *set)
{
    if (node->in.count != set->count) {
        return false;
    }
    for (size_t i = 0; i < set->count; i++) {
        const struct irt_edge *edge = &node->in.list[i];
        if (edge->node->handle != set->nodes[i] ||
            memcmp(&edge->data, &set->edges[i], sizeof edge->data) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_memory(const struct irt_params *params)
{
    return params->type == cudaGraphNodeTypeMemAlloc || params->type == cudaGraphNodeTypeMemFree;
}

// The node that has to come next, if the operation fits it.
static cudaError_t match_locked(const struct irt_capture *capture, const struct irt_stream *stream,
                                const struct irt_params *params, struct irt_node **ret_node)
{
    struct irt_node *node;
    if (irt_node_find_locked(capture->expected, &node) || node->params.type != params->type ||
        !same_dependencies(node, &stream->capture.set) ||
        (is_memory(params) && !same_params(&node->params, params))) {
        return cudaErrorInvalidValue;
    }
    *ret_node = node;
    return cudaSuccess;
}

// Tells the application about other parameters. The lock is held, but not during the call.
static cudaError_t tell(const struct irt_capture *capture, struct irt_node *node,
                        const struct irt_params *params)
{
    struct cudaGraphNodeParams before;
    struct cudaGraphNodeParams after;
    struct irt_node other = {.params = *params};
    cudaGraphNode_t handle = node->handle;
    cudaGraphRecaptureCallback_t callback = capture->callback;
    void *data = capture->callback_data;
    enum cudaGraphRecaptureStatus status = irt_exec_check_params(&node->params, params, 0)
                                               ? cudaGraphRecaptureIneligibleForUpdate
                                               : cudaGraphRecaptureEligibleForUpdate;
    irt_node_describe_locked(node, &before);
    irt_node_describe_locked(&other, &after);
    irt_mutex_unlock(&irt_graph_lock);
    cudaError_t error = callback(data, handle, &before, &after, status);
    irt_mutex_lock(&irt_graph_lock);
    return error;
}

cudaError_t irt_capture_replay_locked(struct irt_stream *stream, struct irt_params *params)
{
    struct irt_capture *capture = irt_capture_of_locked(stream);
    struct irt_node *node;
    cudaError_t error = match_locked(capture, stream, params, &node);
    bool same = !error && same_params(&node->params, params);
    if (!error && !same && capture->callback) {
        error = tell(capture, node, params);
        capture = irt_capture_of_locked(stream); // anything may have happened meanwhile
        if (!error) {
            error = capture ? match_locked(capture, stream, params, &node)
                            : cudaErrorStreamCaptureInvalidated;
        }
    }
    if (!error && !same) {
        error = irt_node_exchange_locked(node, params);
    }
    if (!error) {
        stream->capture.set.count = 0;
        if (!irt_capture_set_add(&stream->capture.set, &node->handle, NULL, 1)) {
            error = cudaErrorMemoryAllocation;
        }
        capture->expected = node->next ? node->next->handle : NULL;
    }
    return error;
}

static cudaError_t begin_locked(struct irt_capture *capture, cudaGraph_t graph,
                                struct irt_object_reference **ret_objects, size_t *ret_count)
{
    cudaError_t error = irt_graph_find_locked(graph, &capture->graph);
    if (error) {
        return error;
    }
    struct irt_graph *found = capture->graph;
    if (irt_capture_of_locked(capture->origin) || found->capture) {
        return cudaErrorIllegalState;
    }
    capture->expected = found->first ? found->first->handle : NULL;
    *ret_objects = found->objects; // "will be released prior to the recapture"
    *ret_count = found->object_count;
    found->objects = NULL;
    found->object_count = 0;
    irt_capture_begin_locked(capture);
    return cudaSuccess;
}

cudaError_t
irt_core_cudaStreamBeginRecaptureToGraph(cudaStream_t stream, enum cudaStreamCaptureMode mode,
                                         cudaGraph_t graph,
                                         struct cudaGraphRecaptureCallbackData *callbackData)
{
    struct irt_stream *origin;
    struct irt_object_reference *objects = NULL;
    size_t count = 0;
    cudaError_t error = irt_capture_origin(stream, mode, &origin);
    if (error) {
        return error;
    }
    struct irt_capture *capture = calloc(1, sizeof *capture);
    if (capture) {
        capture->mode = mode;
        capture->origin = origin;
        capture->replay = true;
        capture->callback = callbackData ? callbackData->callbackFunc : NULL;
        capture->callback_data = callbackData ? callbackData->userData : NULL;
        irt_mutex_lock(&irt_graph_lock);
        error = begin_locked(capture, graph, &objects, &count);
        irt_mutex_unlock(&irt_graph_lock);
        if (error) {
            free(capture);
        }
    } else {
        error = cudaErrorMemoryAllocation;
    }
    for (size_t i = 0; i < count; i++) {
        irt_user_object_unref(objects[i].object, objects[i].count);
    }
    free(objects);
    irt_stream_put(origin);
    return error;
}
