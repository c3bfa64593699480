// SPDX-License-Identifier: Apache-2.0
//
// Streams as the application sees them: created ones, the legacy default stream of each device and
// the per-thread default streams, all counted objects behind handles. Whoever enqueues work goes
// through irt_stream_enter and irt_stream_leave, which keep CUDA's rules of implicit
// synchronisation (order.h) and are the only ones to touch the order lock.
//
//     struct irt_stream *stream;
//     cudaError_t e = irt_stream_enter(handle, &stream);
//     if (e) {
//         return e;
//     }
//     e = irt_backend()->copy(stream->backend, &copy);
//     return irt_stream_leave(stream, e);        // or irt_stream_leave_wait: a synchronous call
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "shim/graph/capture.h"
#include "shim/core/depend.h"
#include "shim/core/device.h"

// The range that cudaDeviceGetStreamPriorityRange reports; lower numbers are more urgent.
enum { IRT_PRIORITY_LEAST = 0, IRT_PRIORITY_GREATEST = -5 };

enum irt_stream_kind {
    IRT_STREAM_CREATED,    // cudaStreamCreate…
    IRT_STREAM_LEGACY,     // one per device
    IRT_STREAM_PER_THREAD, // one per thread and device
    IRT_STREAM_INTERNAL,   // of an execution context; no handle of the application
};

// Attributes that are kept for the application only (stream_attribute.c).
struct irt_stream_hints {
    struct cudaAccessPolicyWindow window;
    enum cudaSynchronizationPolicy policy; // 0: never set
    cudaLaunchMemSyncDomainMap map;
    cudaLaunchMemSyncDomain domain;
};

// Whether the members are in range (stream_attribute.c). Source: cudaAccessPolicyWindow.
bool irt_access_window_is_valid(const struct cudaAccessPolicyWindow *window,
                                const struct cudaDeviceProp *prop);

struct irt_stream {
    // Constant after creation.
    void *handle; // in the table of streams, also for the default streams
    struct irt_device *device;
    struct irtb_stream *backend;
    enum irt_stream_kind kind;
    unsigned flags;              // cudaStreamNonBlocking or 0
    _Atomic int priority;        // clamped; changed under the lock of stream_attribute.c
    unsigned long long id;       // unique for the life of the process
    struct irt_context *context; // the green context that it was created in, referenced; or NULL
    bool ordered;                // takes part in the order with the legacy stream: all but the
                                 // non-blocking ones
    _Atomic bool detached;       // its green context was destroyed
    // Guarded by the device's order lock (order.c).
    struct irtb_event *marker; // created when first needed
    uint64_t seen;             // the last operation of the legacy stream this one is ordered after
    bool dirty;                // has work that the legacy stream has not been ordered after
    struct irt_stream *dirty_next, *dirty_previous;
    struct irt_view view; // depend.h
    // Guarded by the lock of stream_attribute.c.
    struct irt_stream_hints hints;
    struct irt_stream_capture capture; // capture.h
};

// The stream of a handle with one more reference. cudaStreamLegacy and 0 mean the legacy stream,
// cudaStreamPerThread that of the calling thread, both of the current device, created when first
// asked for. cudaErrorInvalidResourceHandle for anything that is no live stream,
// cudaErrorStreamDetached (917) for one whose green context is gone. Any thread, no ranked lock
// above IRT_RANK_DEVICE held.
cudaError_t irt_stream_get(cudaStream_t handle, struct irt_stream **ret_stream);

// A stream of an execution context, for cudaExecutionCtxStreamCreate (`ret_handle` is the
// application's) and for the context itself (`internal`). Priorities are clamped.
struct irt_context;
cudaError_t irt_stream_create_in(struct irt_context *context, unsigned flags, int priority,
                                 bool internal, cudaStream_t *ret_handle);

// Calls `visit` with every live stream but internal ones, each with a reference held during the
// call. Streams that are created meanwhile may be missed. `visit` may block and take locks.
void irt_stream_each(void (*visit)(struct irt_stream *stream, void *argument), void *argument);

// Drops the reference of irt_stream_get. The last one destroys the stream (its queued work still
// completes).
void irt_stream_put(struct irt_stream *stream);

// irt_stream_get, then the implicit waits that an operation enqueued now needs. Until
// irt_stream_leave the calling thread may only enqueue operations of the backend on this stream: no
// waiting, no callback, no other stream's enter. On error nothing is held.
cudaError_t irt_stream_enter(cudaStream_t handle, struct irt_stream **ret_stream);

// The same for a stream that the caller holds already; irt_stream_end keeps that reference.
cudaError_t irt_stream_begin(struct irt_stream *stream);
void irt_stream_end(struct irt_stream *stream);

// Ends irt_stream_enter and drops the reference. Returns `error`, the result of the enqueueing.
cudaError_t irt_stream_leave(struct irt_stream *stream, cudaError_t error);

// The same, and waits for the stream's work when `error` is success; returns the device's fault.
cudaError_t irt_stream_leave_wait(struct irt_stream *stream, cudaError_t error);

// Waits for all work of the stream; for the legacy stream also for that of every stream ordered
// with it. Returns the device's fault. Blocks; no lock held.
cudaError_t irt_stream_wait(struct irt_stream *stream);

// cudaSuccess, cudaErrorNotReady or the device's fault; of the same work as irt_stream_wait.
cudaError_t irt_stream_poll(struct irt_stream *stream);

// True while the calling thread runs a host function or callback of a stream: irt_api_enter then
// answers cudaErrorNotPermitted (800). One load.
bool irt_stream_in_host_function(void);

// Calls a function of the application like that. No lock held.
void irt_run_host_function(void (*function)(void *), void *argument);

// cudaDeviceReset: makes every stream of the device invalid, the default streams too (they come
// back at their next use). All work has ended.
void irt_stream_reset_device(struct irt_device *device);
