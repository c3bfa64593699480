// SPDX-License-Identifier: Apache-2.0
//
// Capture sequences: beginning and ending them, the nodes that the work of their streams becomes,
// forks and joins through events, invalidation. capture_api.c has the functions of the API.
#include "shim/graph/capture.h"

#include <stdlib.h>
#include <string.h>

#include "shim/graph/capture_sequence.h"
#include "shim/core/event.h"
#include "shim/graph/graph.h"
#include "shim/graph/node_kernel.h"
#include "shim/core/stream.h"
#include "shim/util/tls.h"

enum { DEVICE_MAX = 64 }; // as in order.c

_Atomic unsigned irt_capture_live;
static _Atomic unsigned blocking[DEVICE_MAX]; // capturing blocking streams, by ordinal
static struct irt_capture *sequences;         // all of them; irt_graph_lock

// ---- threads ----

static IRT_TLS_HOT int thread_mode; // enum cudaStreamCaptureMode
static IRT_TLS_HOT unsigned thread_number;

unsigned irt_capture_thread(void)
{
    static _Atomic unsigned next;
    if (!thread_number) {
        thread_number = atomic_fetch_add_explicit(&next, 1, memory_order_relaxed) + 1;
    }
    return thread_number;
}

enum cudaStreamCaptureMode irt_capture_exchange_mode(enum cudaStreamCaptureMode mode)
{
    int old = thread_mode;
    thread_mode = (int)mode;
    return (enum cudaStreamCaptureMode)old;
}

// ---- sets ----

void irt_capture_set_clear(struct irt_capture_set *set)
{
    free(set->nodes);
    free(set->edges);
    *set = (struct irt_capture_set){.nodes = NULL};
}

static bool reserve(struct irt_capture_set *set, size_t count)
{
    if (count <= set->capacity) {
        return true;
    }
    size_t capacity = set->capacity ? set->capacity : 4;
    while (capacity < count) {
        capacity *= 2;
    }
    cudaGraphNode_t *nodes = realloc(set->nodes, capacity * sizeof *nodes);
    if (nodes) {
        set->nodes = nodes;
    }
    cudaGraphEdgeData *edges = realloc(set->edges, capacity * sizeof *edges);
    if (edges) {
        set->edges = edges;
    }
    if (!nodes || !edges) {
        return false;
    }
    set->capacity = capacity;
    return true;
}

bool irt_capture_set_add(struct irt_capture_set *set, const cudaGraphNode_t *nodes,
                         const cudaGraphEdgeData *edges, size_t count)
{
    static const cudaGraphEdgeData plain;
    if (!reserve(set, set->count + count)) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const cudaGraphEdgeData *edge = edges ? &edges[i] : &plain;
        size_t j = 0;
        while (j < set->count &&
               !(set->nodes[j] == nodes[i] && memcmp(&set->edges[j], edge, sizeof *edge) == 0)) {
            j++;
        }
        if (j == set->count) {
            set->nodes[j] = nodes[i];
            set->edges[j] = *edge;
            set->count++;
        }
    }
    return true;
}

bool irt_capture_set_assign(struct irt_capture_set *set, const struct irt_capture_set *from)
{
    set->count = 0;
    return irt_capture_set_add(set, from->nodes, from->edges, from->count);
}

// ---- sequences; the lock is held ----

struct irt_capture *irt_capture_of_locked(const struct irt_stream *stream)
{
    return atomic_load_explicit(&stream->capture.capture, memory_order_relaxed);
}

static struct irt_capture *find_locked(uint64_t id)
{
    struct irt_capture *c = sequences;
    while (c && c->id != id) {
        c = c->next;
    }
    return c;
}

void irt_capture_join_locked(struct irt_capture *capture, struct irt_stream *stream)
{
    stream->capture.next = capture->streams;
    capture->streams = stream;
    atomic_store_explicit(&stream->capture.capture, capture, memory_order_release);
    if (stream->ordered) {
        atomic_fetch_add(&blocking[stream->device->ordinal], 1);
    }
}

static void leave_locked(struct irt_stream *stream)
{
    atomic_store_explicit(&stream->capture.capture, NULL, memory_order_release);
    irt_capture_set_clear(&stream->capture.set);
    stream->capture.next = NULL;
    if (stream->ordered) {
        atomic_fetch_sub(&blocking[stream->device->ordinal], 1);
    }
}

void irt_capture_begin_locked(struct irt_capture *capture)
{
    static uint64_t next_id;
    capture->id = ++next_id;
    capture->thread = irt_capture_thread();
    capture->graph->capture = capture;
    capture->next = sequences;
    sequences = capture;
    irt_capture_join_locked(capture, capture->origin);
    atomic_fetch_add(&irt_capture_live, 1);
}

void irt_capture_end_locked(struct irt_capture *capture)
{
    struct irt_capture **link = &sequences;
    while (*link != capture) {
        link = &(*link)->next;
    }
    *link = capture->next;
    while (capture->streams) {
        struct irt_stream *stream = capture->streams;
        capture->streams = stream->capture.next;
        leave_locked(stream);
    }
    capture->graph->capture = NULL;
    atomic_fetch_sub(&irt_capture_live, 1);
}

static void invalidate_locked(struct irt_capture *capture)
{
    capture->invalidated = true;
}

static void invalidate_of_locked(struct irt_stream *stream)
{
    struct irt_capture *capture = irt_capture_of_locked(stream);
    if (capture) {
        invalidate_locked(capture);
    }
}

static bool all_marked(const struct irt_capture_set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        struct irt_node *node;
        if (irt_node_find_locked(set->nodes[i], &node) == cudaSuccess && !node->mark) {
            return false;
        }
    }
    return true;
}

// Whether every node that a stream of the sequence would depend on next is one that the origin's
// next node would depend on, directly or not.
static cudaError_t check_joined_locked(struct irt_capture *capture)
{
    struct irt_graph *graph = capture->graph;
    struct irt_node **stack = malloc((graph->node_count + 1) * sizeof *stack);
    size_t depth = 0;
    if (!stack) {
        return cudaErrorMemoryAllocation;
    }
    for (struct irt_node *n = graph->first; n; n = n->next) {
        n->mark = 0;
    }
    const struct irt_capture_set *set = &capture->origin->capture.set;
    struct irt_node *node;
    for (size_t i = 0; i < set->count; i++) {
        if (irt_node_find_locked(set->nodes[i], &node) == cudaSuccess && !node->mark) {
            node->mark = 1;
            stack[depth++] = node;
        }
    }
    while (depth) {
        const struct irt_edges *in = &stack[--depth]->in;
        for (size_t i = 0; i < in->count; i++) {
            if (!in->list[i].node->mark) {
                in->list[i].node->mark = 1;
                stack[depth++] = in->list[i].node;
            }
        }
    }
    free(stack);
    bool joined = all_marked(&capture->left);
    for (struct irt_stream *s = capture->streams; s && joined; s = s->capture.next) {
        joined = all_marked(&s->capture.set);
    }
    return joined ? cudaSuccess : cudaErrorStreamCaptureUnjoined;
}

cudaError_t irt_capture_check_end_locked(struct irt_capture *capture)
{
    if (capture->invalidated) {
        return cudaErrorStreamCaptureInvalidated;
    }
    // A replay must meet every node.
    return capture->expected ? cudaErrorInvalidValue : check_joined_locked(capture);
}

// The sequence of a stream that captured a moment ago, ready for a new node.
static cudaError_t active_locked(struct irt_stream *stream, struct irt_capture **ret_capture)
{
    struct irt_capture *capture = irt_capture_of_locked(stream);
    if (!capture || capture->invalidated) {
        return cudaErrorStreamCaptureInvalidated;
    }
    *ret_capture = capture;
    return cudaSuccess;
}

// ---- asking ----

bool irt_capture_find(cudaStream_t handle, struct irt_stream **ret_stream)
{
    struct irt_stream *stream;
    if (irt_stream_get(handle, &stream)) {
        return false; // the caller's own look-up tells
    }
    if (!atomic_load_explicit(&stream->capture.capture, memory_order_acquire)) {
        irt_stream_put(stream);
        return false;
    }
    *ret_stream = stream;
    return true;
}

cudaError_t irt_capture_forbid_stream(struct irt_stream *stream)
{
    cudaError_t error = cudaSuccess;
    irt_mutex_lock(&irt_graph_lock);
    struct irt_capture *capture = irt_capture_of_locked(stream);
    if (capture) {
        error = capture->invalidated ? cudaErrorStreamCaptureInvalidated
                                     : cudaErrorStreamCaptureUnsupported;
        invalidate_locked(capture);
    } else if (stream->kind == IRT_STREAM_LEGACY && irt_capture_blocks_legacy_of(stream->device)) {
        error = cudaErrorStreamCaptureImplicit;
        for (struct irt_capture *c = sequences; c; c = c->next) {
            for (struct irt_stream *s = c->streams; s; s = s->capture.next) {
                if (s->ordered && s->device == stream->device) {
                    invalidate_locked(c);
                }
            }
        }
    }
    irt_mutex_unlock(&irt_graph_lock);
    return error;
}

bool irt_capture_blocks_legacy_of(const struct irt_device *device)
{
    return atomic_load(&blocking[device->ordinal]) != 0;
}

bool irt_capture_forbid_device(const struct irt_device *device)
{
    bool found = false;
    irt_mutex_lock(&irt_graph_lock);
    for (struct irt_capture *c = sequences; c; c = c->next) {
        for (struct irt_stream *s = c->streams; s; s = s->capture.next) {
            if (s->device == device) {
                invalidate_locked(c);
                found = true;
            }
        }
    }
    irt_mutex_unlock(&irt_graph_lock);
    return found;
}

bool irt_capture_forbid_unsafe(void)
{
    bool found = false;
    if (thread_mode == cudaStreamCaptureModeRelaxed) {
        return false;
    }
    irt_mutex_lock(&irt_graph_lock);
    for (struct irt_capture *c = sequences; c; c = c->next) {
        bool own = c->thread == irt_capture_thread();
        if ((own && c->mode != cudaStreamCaptureModeRelaxed) ||
            (!own && c->mode == cudaStreamCaptureModeGlobal &&
             thread_mode == cudaStreamCaptureModeGlobal)) {
            invalidate_locked(c);
            found = true;
        }
    }
    irt_mutex_unlock(&irt_graph_lock);
    return found;
}

// ---- nodes ----

// Finds the nodes that the next node of the stream depends on. The arrays are the caller's.
static cudaError_t dependencies_locked(const struct irt_stream *stream,
                                       struct irt_node ***ret_nodes, size_t *ret_count)
{
    const struct irt_capture_set *set = &stream->capture.set;
    struct irt_node **nodes = malloc((set->count + 1) * sizeof *nodes);
    if (!nodes) {
        return cudaErrorMemoryAllocation;
    }
    for (size_t i = 0; i < set->count; i++) {
        if (irt_node_find_locked(set->nodes[i], &nodes[i])) {
            free(nodes);
            return cudaErrorStreamCaptureInvalidated; // destroyed by the application
        }
    }
    *ret_nodes = nodes;
    *ret_count = set->count;
    return cudaSuccess;
}

// Adds a node behind what the stream depends on; it becomes the one thing to depend on.
static cudaError_t append_locked(struct irt_stream *stream, struct irt_params *params)
{
    struct irt_capture *capture;
    cudaError_t error = active_locked(stream, &capture);
    if (error) {
        return error;
    }
    if (capture->replay) {
        error = irt_capture_replay_locked(stream, params);
        if (error) {
            invalidate_of_locked(stream);
        }
        return error;
    }
    struct irt_node **nodes = NULL;
    struct irt_node *node = NULL;
    size_t count = 0;
    error = dependencies_locked(stream, &nodes, &count);
    if (!error) {
        error = irt_graph_add_locked(capture->graph, nodes, stream->capture.set.edges, count,
                                     params, &node);
    }
    free(nodes);
    if (!error) {
        stream->capture.set.count = 0;
        if (!irt_capture_set_add(&stream->capture.set, &node->handle, NULL, 1)) {
            error = cudaErrorMemoryAllocation;
        }
    }
    if (error) {
        invalidate_locked(capture);
    }
    return error;
}

static void invalidate(struct irt_stream *stream)
{
    irt_mutex_lock(&irt_graph_lock);
    invalidate_of_locked(stream);
    irt_mutex_unlock(&irt_graph_lock);
}

// The end of an operation whose parameters were made with `error`; keeps the stream's reference.
static cudaError_t finish(struct irt_stream *stream, cudaError_t error, struct irt_params *params)
{
    if (error) {
        invalidate(stream);
        return error;
    }
    irt_mutex_lock(&irt_graph_lock);
    error = append_locked(stream, params);
    irt_mutex_unlock(&irt_graph_lock);
    irt_params_release(params);
    return error;
}

cudaError_t irt_capture_params(struct irt_stream *stream, struct irt_params *params)
{
    cudaError_t error = finish(stream, cudaSuccess, params);
    irt_stream_put(stream);
    return error;
}

cudaError_t irt_capture_copy(struct irt_stream *stream, const struct irtb_copy *box)
{
    struct irt_params params;
    cudaError_t error = irt_params_from_copy(stream->device, box, &params);
    error = finish(stream, error, &params);
    irt_stream_put(stream);
    return error;
}

cudaError_t irt_capture_fill(struct irt_stream *stream, const struct irtb_fill *box)
{
    struct irt_params params;
    cudaError_t error = irt_params_from_fill(stream->device, box, &params);
    error = finish(stream, error, &params);
    irt_stream_put(stream);
    return error;
}

cudaError_t irt_capture_host(struct irt_stream *stream, cudaHostFn_t function, void *argument,
                             unsigned sync_mode)
{
    struct irt_params params;
    cudaError_t error =
        irt_params_from_host(stream->device, function, argument, sync_mode, &params);
    error = finish(stream, error, &params);
    irt_stream_put(stream);
    return error;
}

// The address of the allocation node that the stream has just captured.
static cudaError_t allocated(struct irt_stream *stream, void **ret_ptr)
{
    const struct irt_node *node = NULL;
    struct irt_node *found;
    irt_mutex_lock(&irt_graph_lock);
    const struct irt_capture_set *set = &stream->capture.set;
    if (set->count == 1 && irt_node_find_locked(set->nodes[0], &found) == cudaSuccess) {
        node = found;
    }
    bool ours = node && node->params.type == cudaGraphNodeTypeMemAlloc;
    if (ours) {
        *ret_ptr = node->params.alloc.given.dptr;
    }
    irt_mutex_unlock(&irt_graph_lock);
    return ours ? cudaSuccess : cudaErrorStreamCaptureInvalidated; // another thread interfered
}

cudaError_t irt_capture_alloc(struct irt_stream *stream, const struct cudaMemPoolProps *props,
                              size_t size, void **ret_ptr)
{
    struct irt_params params;
    cudaError_t error = irt_params_from_alloc(stream->device, props, size, &params);
    error = finish(stream, error, &params);
    if (!error) {
        error = allocated(stream, ret_ptr);
    }
    irt_stream_put(stream);
    return error;
}

cudaError_t irt_capture_free(struct irt_stream *stream, void *ptr)
{
    struct irt_params params;
    cudaError_t error = irt_params_from_free(stream->device, ptr, &params);
    error = finish(stream, error, &params);
    irt_stream_put(stream);
    return error;
}

cudaError_t irt_capture_refuse(struct irt_stream *stream)
{
    cudaError_t error = irt_capture_forbid_stream(stream);
    irt_stream_put(stream);
    return error ? error : cudaErrorStreamCaptureUnsupported;
}

// ---- events ----

static cudaError_t record_locked(struct irt_stream *stream, struct irt_event *event)
{
    struct irt_capture *capture;
    cudaError_t error = active_locked(stream, &capture);
    if (!error && !irt_capture_set_assign(&event->capture.set, &stream->capture.set)) {
        error = cudaErrorMemoryAllocation;
        invalidate_locked(capture);
    }
    if (!error) {
        atomic_store_explicit(&event->capture.id, capture->id, memory_order_release);
    }
    return error;
}

cudaError_t irt_capture_launch(struct irt_stream *stream, struct irt_kernel *kernel,
                               struct irt_loaded *loaded, const struct irt_launch_request *request,
                               struct irt_event *const *events)
{
    struct irt_params params;
    cudaError_t error = irt_params_from_launch(kernel, loaded, stream->device, request, &params);
    if (!error && stream->priority) { // "copied from stream priority during stream capture"
        cudaLaunchAttributeValue value = {.priority = stream->priority};
        error = irt_kernel_attribute_set(&params, cudaLaunchAttributePriority, &value);
        if (error) {
            irt_params_release(&params);
        }
    }
    error = finish(stream, error, &params);
    for (int i = 0; i < request->event_count && !error; i++) {
        irt_mutex_lock(&irt_graph_lock);
        error = record_locked(stream, events[i]);
        irt_mutex_unlock(&irt_graph_lock);
    }
    return error;
}

static cudaError_t event_node(struct irt_stream *stream, bool record, struct irt_event *event)
{
    struct irt_params params;
    cudaError_t error = irt_params_from_event(stream->device, record, event, &params);
    return finish(stream, error, &params);
}

cudaError_t irt_capture_record(struct irt_stream *stream, struct irt_event *event, bool external)
{
    if (external) {
        return event_node(stream, true, event);
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t error = record_locked(stream, event);
    irt_mutex_unlock(&irt_graph_lock);
    return error;
}

// A capturing stream waits for an event that was not last recorded in its own sequence.
static cudaError_t foreign_locked(struct irt_capture *own, const struct irt_event *event,
                                  uint64_t id)
{
    struct irt_capture *other = id ? find_locked(id) : NULL;
    if (other) {
        invalidate_locked(own);
        invalidate_locked(other);
        return cudaErrorStreamCaptureMerge;
    }
    if (!id && !atomic_load_explicit(&event->recorded, memory_order_acquire)) {
        return cudaSuccess; // never recorded: there is nothing to wait for
    }
    invalidate_locked(own);
    return cudaErrorStreamCaptureIsolation;
}

static cudaError_t wait_locked(struct irt_stream *stream, struct irt_event *event)
{
    uint64_t id = atomic_load_explicit(&event->capture.id, memory_order_acquire);
    struct irt_capture *own = irt_capture_of_locked(stream);
    if (own && own->invalidated) {
        return cudaErrorStreamCaptureInvalidated;
    }
    if (own && own->id != id) {
        return foreign_locked(own, event, id);
    }
    struct irt_capture *capture = find_locked(id);
    if (!capture) {
        return cudaErrorCapturedEvent; // its sequence has ended
    }
    if (capture->invalidated) {
        return cudaErrorStreamCaptureInvalidated;
    }
    if (stream->kind == IRT_STREAM_LEGACY) {
        invalidate_locked(capture);
        return cudaErrorStreamCaptureImplicit;
    }
    if (!own) {
        irt_capture_join_locked(capture, stream);
    }
    const struct irt_capture_set *set = &event->capture.set;
    if (!irt_capture_set_add(&stream->capture.set, set->nodes, set->edges, set->count)) {
        invalidate_locked(capture);
        return cudaErrorMemoryAllocation;
    }
    return cudaSuccess;
}

cudaError_t irt_capture_wait(struct irt_stream *stream, struct irt_event *event, bool external)
{
    if (external) {
        return event_node(stream, false, event);
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t error = wait_locked(stream, event);
    irt_mutex_unlock(&irt_graph_lock);
    return error;
}

cudaError_t irt_capture_check_event(struct irt_event *event)
{
    uint64_t id = atomic_load_explicit(&event->capture.id, memory_order_acquire);
    if (!id) {
        return cudaSuccess;
    }
    irt_mutex_lock(&irt_graph_lock);
    struct irt_capture *capture = find_locked(id);
    if (capture) {
        invalidate_locked(capture);
    }
    irt_mutex_unlock(&irt_graph_lock);
    return cudaErrorCapturedEvent;
}

void irt_capture_forget_event(struct irt_event *event)
{
    irt_capture_set_clear(&event->capture.set); // nobody else has the event any more
}

void irt_capture_forget_stream(struct irt_stream *stream)
{
    struct irt_capture *ended = NULL;
    if (!atomic_load_explicit(&stream->capture.capture, memory_order_acquire)) {
        irt_capture_set_clear(&stream->capture.set);
        return;
    }
    irt_mutex_lock(&irt_graph_lock);
    struct irt_capture *capture = irt_capture_of_locked(stream);
    if (capture && capture->origin == stream) { // nobody can end it any more
        irt_capture_end_locked(capture);
        ended = capture;
    } else if (capture) {
        struct irt_stream **link = &capture->streams;
        while (*link != stream) {
            link = &(*link)->capture.next;
        }
        *link = stream->capture.next;
        const struct irt_capture_set *set = &stream->capture.set;
        if (!irt_capture_set_add(&capture->left, set->nodes, set->edges, set->count)) {
            invalidate_locked(capture);
        }
        leave_locked(stream);
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (ended) {
        irt_capture_discard(ended);
    }
}

void irt_capture_discard(struct irt_capture *capture)
{
    if (capture->own_graph) {
        irt_mutex_lock(&irt_graph_lock);
        irt_graph_close_locked(capture->graph);
        irt_mutex_unlock(&irt_graph_lock);
        irt_graph_release(capture->graph);
    }
    irt_capture_set_clear(&capture->left);
    free(capture);
}
