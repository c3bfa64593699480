// SPDX-License-Identifier: Apache-2.0
//
// What concerns all streams of an execution context at once: waiting for them, recording an event
// behind them, letting them wait for an event. The device's context means every stream of the
// device. Source: CUDA Runtime API 13.1, cudaExecutionCtxRecordEvent and cudaExecutionCtxWaitEvent.
#include <stdatomic.h>
#include <stddef.h>

#include "irt_core.h"
#include "shim/graph/capture.h"
#include "shim/core/context.h"
#include "shim/core/event.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"

// A walk over the streams of a context.
struct walk {
    const struct irt_context *context;
    struct irt_stream *target; // record: waits for all
    struct irt_event *event;   // wait: what all wait for
    cudaError_t error;         // the first one
};

static bool concerns(const struct walk *walk, const struct irt_stream *stream)
{
    return !walk->error && (walk->context->green ? stream->context == walk->context
                                                 : stream->device == walk->context->device);
}

static void check_one(struct irt_stream *stream, void *argument)
{
    struct walk *walk = argument;
    if (concerns(walk, stream)) {
        walk->error = irt_capture_check_stream(stream);
    }
}

// cudaErrorStreamCaptureUnsupported when a stream of the context captures, which ends that.
static cudaError_t check_streams(const struct irt_context *context)
{
    struct walk walk = {.context = context};
    irt_stream_each(check_one, &walk);
    return walk.error ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

// Lets later work of `to` wait for what `from` holds now.
static cudaError_t link_streams(struct irt_stream *from, struct irt_stream *to)
{
    const struct irtb_backend *backend = irt_backend();
    struct irtb_event *event;
    cudaError_t e = backend->event_create(from->device->id, false, false, &event);
    if (e) {
        return e;
    }
    e = irt_stream_begin(from);
    if (!e) {
        e = backend->event_record(event, from->backend);
        irt_stream_end(from);
    }
    if (!e) {
        e = irt_stream_begin(to);
    }
    if (!e) {
        e = backend->stream_wait_event(to->backend, event);
        irt_stream_end(to);
    }
    backend->event_destroy(event);
    return e;
}

// ---- gates ----

// The gate of a context, created if need be. It is lost with a reset of the device.
static cudaError_t get_gate(struct irt_context *context, struct irt_stream **ret_gate)
{
    for (;;) {
        void *handle = atomic_load(&context->gate);
        if (handle && irt_stream_get(handle, ret_gate) == cudaSuccess) {
            return cudaSuccess;
        }
        cudaStream_t made;
        cudaError_t e = irt_stream_create_in(context, 0, 0, true, &made);
        if (e) {
            return e;
        }
        if (!atomic_compare_exchange_strong(&context->gate, &handle, (void *)made)) {
            irt_core_cudaStreamDestroy(made); // another thread was faster
        }
    }
}

static cudaError_t wait_behind(struct irt_context *context, struct irt_stream *stream)
{
    void *handle = context ? atomic_load_explicit(&context->gate, memory_order_acquire) : NULL;
    struct irt_stream *gate;
    if (!handle || irt_stream_get(handle, &gate) != cudaSuccess) {
        return cudaSuccess;
    }
    cudaError_t e = irt_backend()->stream_query(gate->backend);
    e = e == cudaErrorNotReady ? link_streams(gate, stream) : e;
    irt_stream_put(gate);
    return e;
}

cudaError_t irt_context_gate(struct irt_device *device, struct irt_stream *stream)
{
    cudaError_t e = wait_behind(irt_context_of_device(device), stream);
    return e ? e : wait_behind(stream->context, stream);
}

// ---- API ----

static void synchronize(struct irt_stream *stream, void *argument)
{
    struct walk *walk = argument;
    if (concerns(walk, stream)) {
        walk->error = irt_stream_wait(stream);
    }
}

cudaError_t irt_core_cudaExecutionCtxSynchronize(cudaExecutionContext_t ctx)
{
    struct irt_context *context = irt_context_get(ctx);
    if (!context) {
        return cudaErrorInvalidValue;
    }
    struct walk walk = {.context = context};
    if (context->green) {
        irt_stream_each(synchronize, &walk);
    } else {
        walk.error = irt_device_drain(context->device);
    }
    irt_context_put(context);
    return walk.error;
}

static void gather(struct irt_stream *stream, void *argument)
{
    struct walk *walk = argument;
    if (concerns(walk, stream)) {
        walk->error = link_streams(stream, walk->target);
    }
}

// The event is recorded in a stream of its own that waits for all others.
static cudaError_t record(struct irt_context *context, struct irt_event *event)
{
    cudaStream_t handle;
    struct walk walk = {.context = context};
    if (event->device != context->device) {
        return cudaErrorInvalidResourceHandle;
    }
    cudaError_t e = check_streams(context);
    if (!e) {
        e = irt_stream_create_in(context, 0, 0, true, &handle);
    }
    if (!e) {
        e = irt_stream_get(handle, &walk.target);
    }
    if (e) {
        return e;
    }
    irt_stream_each(gather, &walk);
    e = walk.error ? walk.error : irt_stream_begin(walk.target);
    if (!e) {
        e = irt_event_record(event, walk.target);
        irt_stream_end(walk.target);
    }
    irt_core_cudaStreamDestroy(handle); // what is queued still happens
    irt_stream_put(walk.target);
    return e;
}

cudaError_t irt_core_cudaExecutionCtxRecordEvent(cudaExecutionContext_t ctx, cudaEvent_t event)
{
    struct irt_context *context = irt_context_get(ctx);
    if (!context) {
        return cudaErrorInvalidResourceHandle;
    }
    struct irt_event *found;
    cudaError_t e = irt_event_get(event, &found);
    if (!e) {
        e = record(context, found);
        irt_event_put(found);
    }
    irt_context_put(context);
    return e;
}

static cudaError_t wait_event(struct irt_stream *stream, const struct irt_event *event)
{
    cudaError_t e = irt_stream_begin(stream);
    if (!e) {
        e = irt_backend()->stream_wait_event(stream->backend, event->backend);
        irt_stream_end(stream);
    }
    return e;
}

static void hold_back(struct irt_stream *stream, void *argument)
{
    struct walk *walk = argument;
    if (concerns(walk, stream)) {
        walk->error = wait_event(stream, walk->event);
    }
}

cudaError_t irt_core_cudaExecutionCtxWaitEvent(cudaExecutionContext_t ctx, cudaEvent_t event)
{
    struct irt_context *context = irt_context_get(ctx);
    if (!context) {
        return cudaErrorInvalidResourceHandle;
    }
    struct walk walk = {.context = context};
    walk.error = irt_event_get(event, &walk.event);
    if (!walk.error && irt_capture_check_event(walk.event) != cudaSuccess) {
        walk.error = cudaErrorStreamCaptureUnsupported; // the event is part of a sequence
    } else if (!walk.error) {
        walk.error = check_streams(context);
    }
    if (!walk.error) {
        struct irt_stream *gate; // first, for streams that are created meanwhile
        walk.error = get_gate(context, &gate);
        if (!walk.error) {
            walk.error = wait_event(gate, walk.event);
            irt_stream_put(gate);
        }
        irt_stream_each(hold_back, &walk);
    }
    if (walk.event) {
        irt_event_put(walk.event);
    }
    irt_context_put(context);
    return walk.error;
}
