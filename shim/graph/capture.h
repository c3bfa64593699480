// SPDX-License-Identifier: Apache-2.0
//
// Stream capture: sequences that turn the work of streams into nodes of a graph. A capturing stream
// refuses whatever is not made for capture: irt_stream_begin, irt_stream_enter, irt_stream_wait and
// irt_stream_poll answer 900 for it and invalidate the sequence. Operations that can be captured
// ask first and hand over what they have resolved:
//
//     if (irt_capture_enter(handle, &stream)) {
//         return irt_capture_copy(stream, &box);     // takes the reference
//     }
//
// That question costs one load while nothing captures anywhere. irt_graph_lock guards all state.
// Source: CUDA Runtime API, "Stream Management", cudaThreadExchangeStreamCaptureMode; CUDA C++
// Programming Guide, "Creating a Graph Using Stream Capture" (prohibited and unhandled operations).
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "irt_fn.h"
#include "backends/backend.h"

struct irt_capture; // one sequence
struct irt_device;
struct irt_event;
struct irt_kernel;
struct irt_launch_request;
struct irt_loaded;
struct irt_params;
struct irt_stream;

// Nodes that something depends on; handles, so that nodes may be destroyed meanwhile.
struct irt_capture_set {
    cudaGraphNode_t *nodes;
    cudaGraphEdgeData *edges;
    size_t count, capacity;
};

// What every stream has.
struct irt_stream_capture {
    struct irt_capture *_Atomic capture; // NULL: it does not capture
    struct irt_capture_set set;          // what its next node depends on
    struct irt_stream *next;             // of the sequence
};

// What every event has.
struct irt_event_capture {
    _Atomic uint64_t id; // of the sequence in which it was last recorded; 0: a real record, or none
    struct irt_capture_set set;
};

// Sequences that have begun and not ended, in the whole process.
extern _Atomic unsigned irt_capture_live;

bool irt_capture_find(cudaStream_t handle, struct irt_stream **ret_stream);

// True when the stream of the handle captures (or did until it was invalidated); then with a
// reference that the irt_capture_… operation below takes. Any thread, no ranked lock held.
static inline bool irt_capture_enter(cudaStream_t handle, struct irt_stream **ret_stream)
{
    return atomic_load_explicit(&irt_capture_live, memory_order_acquire) &&
           irt_capture_find(handle, ret_stream);
}

cudaError_t irt_capture_forbid_stream(struct irt_stream *stream);

// Whether work may be enqueued in, or waited for on, a stream: cudaErrorStreamCaptureUnsupported
// (900) when it captures, 901 when that was invalidated, 906 for the legacy stream while a blocking
// stream of its device captures. What it refuses is invalidated. No ranked lock held.
static inline cudaError_t irt_capture_check_stream(struct irt_stream *stream)
{
    return atomic_load_explicit(&irt_capture_live, memory_order_acquire)
               ? irt_capture_forbid_stream(stream)
               : cudaSuccess;
}

cudaError_t irt_capture_forbid_call(enum irt_fn fn);

// Whether a function may be called: 900 for one that is unsafe for sequences under way, by the
// modes of the sequences and of the thread, or that waits for a device with a capturing stream.
static inline cudaError_t irt_capture_check_call(enum irt_fn fn)
{
    return atomic_load_explicit(&irt_capture_live, memory_order_acquire)
               ? irt_capture_forbid_call(fn)
               : cudaSuccess;
}

// ---- operations of a capturing stream; each takes the reference ----
// Errors: 901 when the sequence is invalidated; whatever fails here invalidates it.
cudaError_t irt_capture_copy(struct irt_stream *stream, const struct irtb_copy *box);
cudaError_t irt_capture_fill(struct irt_stream *stream, const struct irtb_fill *box);
cudaError_t irt_capture_host(struct irt_stream *stream, cudaHostFn_t function, void *argument,
                             unsigned sync_mode);
cudaError_t irt_capture_alloc(struct irt_stream *stream, const struct cudaMemPoolProps *props,
                              size_t size, void **ret_ptr);
cudaError_t irt_capture_free(struct irt_stream *stream, void *ptr);
// Any node; takes the parameters, too.
cudaError_t irt_capture_params(struct irt_stream *stream, struct irt_params *params);
// Refuses by 900.
cudaError_t irt_capture_refuse(struct irt_stream *stream);

// The launch of a checked kernel, and the events that are recorded behind it. Keeps the reference.
cudaError_t irt_capture_launch(struct irt_stream *stream, struct irt_kernel *kernel,
                               struct irt_loaded *loaded, const struct irt_launch_request *request,
                               struct irt_event *const *events);

// ---- events ----
// cudaEventRecord and cudaStreamWaitEvent for a stream that captures, or (wait) for an event that
// was last recorded in a sequence; `external`: as nodes. Keep the references.
cudaError_t irt_capture_record(struct irt_stream *stream, struct irt_event *event, bool external);
cudaError_t irt_capture_wait(struct irt_stream *stream, struct irt_event *event, bool external);
// For query, synchronise and elapsed: 907 when the event was last recorded in a sequence.
cudaError_t irt_capture_check_event(struct irt_event *event);
// The event or stream goes away.
void irt_capture_forget_event(struct irt_event *event);
void irt_capture_forget_stream(struct irt_stream *stream);
