// SPDX-License-Identifier: Apache-2.0
//
// The functions that begin, end and look at stream capture. The mechanism is in capture.c.
// Source: CUDA Runtime API, "Stream Management".
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/graph/capture_sequence.h"
#include "shim/graph/graph.h"
#include "shim/core/stream.h"

static bool mode_is_valid(enum cudaStreamCaptureMode mode)
{
    return (unsigned)mode <= cudaStreamCaptureModeRelaxed;
}

cudaError_t irt_core_cudaThreadExchangeStreamCaptureMode(enum cudaStreamCaptureMode *mode)
{
    if (!mode || !mode_is_valid(*mode)) {
        return cudaErrorInvalidValue;
    }
    *mode = irt_capture_exchange_mode(*mode);
    return cudaSuccess;
}

// ---- beginning ----

cudaError_t irt_capture_origin(cudaStream_t handle, enum cudaStreamCaptureMode mode,
                               struct irt_stream **ret_stream)
{
    if (!mode_is_valid(mode)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_stream_get(handle, ret_stream);
    if (!error && (*ret_stream)->kind == IRT_STREAM_LEGACY) {
        irt_stream_put(*ret_stream);
        error = cudaErrorStreamCaptureUnsupported;
    }
    return error;
}

cudaError_t irt_core_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
    struct irt_stream *origin;
    cudaError_t error = irt_capture_origin(stream, mode, &origin);
    if (error) {
        return error;
    }
    struct irt_graph *graph = NULL;
    struct irt_capture *capture = calloc(1, sizeof *capture);
    error = capture ? irt_graph_new(true, &graph) : cudaErrorMemoryAllocation;
    if (!error) {
        *capture =
            (struct irt_capture){.graph = graph, .own_graph = true, .mode = mode, .origin = origin};
        irt_mutex_lock(&irt_graph_lock);
        if (irt_capture_of_locked(origin)) {
            error = cudaErrorIllegalState;
        } else {
            irt_capture_begin_locked(capture);
        }
        irt_mutex_unlock(&irt_graph_lock);
        if (error) {
            irt_capture_discard(capture);
        }
    } else {
        free(capture);
    }
    irt_stream_put(origin);
    return error;
}

// Whether `count` nodes, of which some may be NULL, all belong to the graph.
static cudaError_t check_nodes_locked(const struct irt_graph *graph, const cudaGraphNode_t *nodes,
                                      size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct irt_node *node;
        if (irt_node_find_locked(nodes[i], &node) || node->graph != graph) {
            return cudaErrorInvalidValue;
        }
    }
    return cudaSuccess;
}

static cudaError_t begin_to_graph_locked(struct irt_capture *capture, cudaGraph_t graph,
                                         const cudaGraphNode_t *dependencies,
                                         const cudaGraphEdgeData *data, size_t count)
{
    cudaError_t error = irt_graph_find_locked(graph, &capture->graph);
    if (!error) {
        error = check_nodes_locked(capture->graph, dependencies, count);
    }
    if (error) {
        return error;
    }
    if (irt_capture_of_locked(capture->origin) || capture->graph->capture) {
        return cudaErrorIllegalState;
    }
    struct irt_capture_set *set = &capture->origin->capture.set;
    set->count = 0;
    if (!irt_capture_set_add(set, dependencies, data, count)) {
        return cudaErrorMemoryAllocation;
    }
    irt_capture_begin_locked(capture);
    return cudaSuccess;
}

cudaError_t irt_core_cudaStreamBeginCaptureToGraph(cudaStream_t stream, cudaGraph_t graph,
                                                   const cudaGraphNode_t *dependencies,
                                                   const cudaGraphEdgeData *dependencyData,
                                                   size_t numDependencies,
                                                   enum cudaStreamCaptureMode mode)
{
    struct irt_stream *origin;
    if (numDependencies && !dependencies) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_capture_origin(stream, mode, &origin);
    if (error) {
        return error;
    }
    struct irt_capture *capture = calloc(1, sizeof *capture);
    if (capture) {
        capture->mode = mode;
        capture->origin = origin;
        irt_mutex_lock(&irt_graph_lock);
        error =
            begin_to_graph_locked(capture, graph, dependencies, dependencyData, numDependencies);
        irt_mutex_unlock(&irt_graph_lock);
        if (error) {
            free(capture);
        }
    } else {
        error = cudaErrorMemoryAllocation;
    }
    irt_stream_put(origin);
    return error;
}

// ---- ending ----

// Takes the sequence of its origin to an end. On an error it may go on (then *ret_capture is NULL).
static cudaError_t end_locked(struct irt_stream *stream, struct irt_capture **ret_capture)
{
    struct irt_capture *capture = irt_capture_of_locked(stream);
    *ret_capture = NULL;
    if (!capture) {
        return cudaErrorIllegalState;
    }
    if (capture->origin != stream) {
        capture->invalidated = true;
        return cudaErrorStreamCaptureUnmatched;
    }
    if (capture->mode != cudaStreamCaptureModeRelaxed && capture->thread != irt_capture_thread()) {
        return cudaErrorStreamCaptureWrongThread;
    }
    cudaError_t error = irt_capture_check_end_locked(capture);
    irt_capture_end_locked(capture);
    *ret_capture = capture;
    return error;
}

cudaError_t irt_core_cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *pGraph)
{
    struct irt_stream *origin;
    struct irt_capture *capture;
    cudaGraph_t handle = NULL;
    cudaError_t error = irt_stream_get(stream, &origin);
    if (error) {
        return error;
    }
    irt_mutex_lock(&irt_graph_lock);
    error = end_locked(origin, &capture);
    if (capture && !error) {
        handle = capture->graph->handle;
        capture->own_graph = capture->own_graph && !pGraph; // nobody will ever know it
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (capture) {
        irt_capture_discard(capture);
    }
    if (pGraph) {
        *pGraph = handle;
    }
    irt_stream_put(origin);
    return error;
}

// ---- looking ----

// The stream of a question; 906 when it is a legacy stream that cannot be used now.
static cudaError_t stream_to_ask(cudaStream_t handle, struct irt_stream **ret_stream)
{
    cudaError_t error = irt_stream_get(handle, ret_stream);
    if (!error && (*ret_stream)->kind == IRT_STREAM_LEGACY &&
        irt_capture_blocks_legacy_of((*ret_stream)->device)) {
        irt_stream_put(*ret_stream);
        error = cudaErrorStreamCaptureImplicit;
    }
    return error;
}

static enum cudaStreamCaptureStatus status_of(const struct irt_capture *capture)
{
    if (!capture) {
        return cudaStreamCaptureStatusNone;
    }
    return capture->invalidated ? cudaStreamCaptureStatusInvalidated
                                : cudaStreamCaptureStatusActive;
}

cudaError_t irt_core_cudaStreamIsCapturing(cudaStream_t stream,
                                           enum cudaStreamCaptureStatus *pCaptureStatus)
{
    struct irt_stream *s;
    if (!pCaptureStatus) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = stream_to_ask(stream, &s);
    if (!error) {
        enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
        if (atomic_load_explicit(&s->capture.capture, memory_order_acquire)) {
            irt_mutex_lock(&irt_graph_lock);
            status = status_of(irt_capture_of_locked(s));
            irt_mutex_unlock(&irt_graph_lock);
        }
        *pCaptureStatus = status;
        irt_stream_put(s);
    }
    return error;
}

static bool has_edge_data(const struct irt_capture_set *set)
{
    static const cudaGraphEdgeData plain;
    for (size_t i = 0; i < set->count; i++) {
        if (memcmp(&set->edges[i], &plain, sizeof plain) != 0) {
            return true;
        }
    }
    return false;
}

cudaError_t irt_core_cudaStreamGetCaptureInfo(cudaStream_t stream,
                                              enum cudaStreamCaptureStatus *captureStatus_out,
                                              unsigned long long *id_out, cudaGraph_t *graph_out,
                                              const cudaGraphNode_t **dependencies_out,
                                              const cudaGraphEdgeData **edgeData_out,
                                              size_t *numDependencies_out)
{
    struct irt_stream *s;
    if (!captureStatus_out || (edgeData_out && !dependencies_out)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = stream_to_ask(stream, &s);
    if (error) {
        return error;
    }
    irt_mutex_lock(&irt_graph_lock);
    const struct irt_capture *capture = irt_capture_of_locked(s);
    const struct irt_capture_set *set = &s->capture.set;
    enum cudaStreamCaptureStatus status = status_of(capture);
    if (status == cudaStreamCaptureStatusActive) {
        if (dependencies_out && !edgeData_out && has_edge_data(set)) {
            error = cudaErrorLossyQuery;
        } else {
            if (id_out) {
                *id_out = capture->id;
            }
            if (graph_out) {
                *graph_out = capture->graph->handle;
            }
            if (dependencies_out) {
                *dependencies_out = set->nodes;
            }
            if (edgeData_out) {
                *edgeData_out = set->edges;
            }
            if (numDependencies_out) {
                *numDependencies_out = set->count;
            }
        }
    }
    if (!error) {
        *captureStatus_out = status;
    }
    irt_mutex_unlock(&irt_graph_lock);
    irt_stream_put(s);
    return error;
}

// ---- changing what the next node depends on ----

static cudaError_t update_locked(struct irt_stream *stream, const cudaGraphNode_t *nodes,
                                 const cudaGraphEdgeData *data, size_t count, unsigned flags)
{
    const struct irt_capture *capture = irt_capture_of_locked(stream);
    if (!capture) {
        return cudaErrorIllegalState;
    }
    if (capture->invalidated) {
        return cudaErrorStreamCaptureInvalidated;
    }
    cudaError_t error = check_nodes_locked(capture->graph, nodes, count);
    if (error) {
        return error;
    }
    struct irt_capture_set made = {.nodes = NULL};
    bool ok = (flags == cudaStreamSetCaptureDependencies ||
               irt_capture_set_assign(&made, &stream->capture.set)) &&
              irt_capture_set_add(&made, nodes, data, count);
    if (!ok) {
        irt_capture_set_clear(&made);
        return cudaErrorMemoryAllocation;
    }
    irt_capture_set_clear(&stream->capture.set);
    stream->capture.set = made;
    return cudaSuccess;
}

cudaError_t irt_core_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                         cudaGraphNode_t *dependencies,
                                                         const cudaGraphEdgeData *dependencyData,
                                                         size_t numDependencies, unsigned int flags)
{
    struct irt_stream *s;
    if ((numDependencies && !dependencies) || flags > cudaStreamSetCaptureDependencies) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_stream_get(stream, &s);
    if (error) {
        return error;
    }
    irt_mutex_lock(&irt_graph_lock);
    error = update_locked(s, dependencies, dependencyData, numDependencies, flags);
    irt_mutex_unlock(&irt_graph_lock);
    irt_stream_put(s);
    return error;
}
