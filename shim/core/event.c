// SPDX-License-Identifier: Apache-2.0
//
// The objects behind cudaEvent_t and the API functions on them. An event belongs to the device that
// was current when it was made and is recorded in streams of that device only; waiting for it works
// from everywhere. Source: CUDA Runtime API, "Event Management".
#include "shim/core/event.h"

#include <stdlib.h>

#include "irt_core.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/util/handle.h"

static void destroy(void *object);

static struct irt_handle_table events = IRT_HANDLE_TABLE(IRT_HANDLE_EVENT, destroy);

static void destroy(void *object)
{
    struct irt_event *event = object;
    irt_capture_forget_event(event);
    irt_backend()->event_destroy(event->backend);
    free(event);
}

cudaError_t irt_event_get(cudaEvent_t handle, struct irt_event **ret_event)
{
    struct irt_event *event = irt_handle_get(&events, handle);
    if (!event) {
        return cudaErrorInvalidResourceHandle;
    }
    *ret_event = event;
    return cudaSuccess;
}

void irt_event_ref(struct irt_event *event)
{
    irt_handle_ref(&events, event->handle);
}

void irt_event_put(struct irt_event *event)
{
    irt_handle_put(&events, event->handle);
}

static void close_on_device(void *handle, void *object, void *context)
{
    struct irt_event *event = object;
    if (event->device == context) {
        irt_handle_close(&events, handle);
    }
}

void irt_event_reset_device(struct irt_device *device)
{
    irt_handle_each(&events, close_on_device, device);
}

cudaError_t irt_event_record(struct irt_event *event, struct irt_stream *stream)
{
    struct irt_crossing crossing = irt_depend_record_begin(&event->point, stream);
    cudaError_t e = irt_backend()->event_record(event->backend, stream->backend);
    irt_depend_record_end(&event->point, &crossing);
    if (!e) {
        atomic_store_explicit(&event->recorded, true, memory_order_release);
        atomic_store_explicit(&event->capture.id, 0, memory_order_release);
    }
    return e;
}

void irt_event_note_record(struct irt_event *event, struct irt_stream *stream)
{
    irt_depend_forget(&event->point);
    atomic_store_explicit(&event->recorded, true, memory_order_release);
    atomic_store_explicit(&event->capture.id, 0, memory_order_release);
}

cudaError_t irt_event_adopt(struct irt_device *device, unsigned flags, struct irtb_event *backend,
                            cudaEvent_t *ret_event)
{
    struct irt_event *made = calloc(1, sizeof(*made));
    if (!made) {
        irt_backend()->event_destroy(backend);
        return cudaErrorMemoryAllocation;
    }
    made->device = device;
    made->flags = flags;
    made->backend = backend;
    void *handle = irt_handle_open(&events, made);
    if (!handle) {
        destroy(made);
        return cudaErrorMemoryAllocation;
    }
    made->handle = handle;
    *ret_event = handle;
    return cudaSuccess;
}

// ---- API ----

cudaError_t irt_core_cudaEventCreateWithFlags(cudaEvent_t *event, unsigned int flags)
{
    const unsigned known = cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess;
    if (!event || (flags & ~known) ||
        ((flags & cudaEventInterprocess) && !(flags & cudaEventDisableTiming))) {
        return cudaErrorInvalidValue;
    }
    struct irt_device *device = irt_device_current();
    struct irtb_event *backend;
    cudaError_t e = irt_backend()->event_create(device->id, !(flags & cudaEventDisableTiming),
                                                (flags & cudaEventBlockingSync) != 0, &backend);
    return e ? e : irt_event_adopt(device, flags, backend, event);
}

cudaError_t irt_core_cudaEventCreate(cudaEvent_t *event)
{
    return irt_core_cudaEventCreateWithFlags(event, cudaEventDefault);
}

cudaError_t irt_core_cudaEventDestroy(cudaEvent_t event)
{
    return irt_handle_close(&events, event) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

static cudaError_t record(struct irt_event *event, struct irt_stream *stream, bool external)
{
    if (stream->device != event->device) {
        return cudaErrorInvalidResourceHandle;
    }
    if (atomic_load_explicit(&stream->capture.capture, memory_order_acquire)) {
        return irt_capture_record(stream, event, external);
    }
    if (external) { // "This flag is invalid outside of stream capture"
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_stream_begin(stream);
    if (!error) {
        error = irt_event_record(event, stream);
        irt_stream_end(stream);
    }
    return error;
}

cudaError_t irt_core_cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream,
                                              unsigned int flags)
{
    if (flags != cudaEventRecordDefault && flags != cudaEventRecordExternal) {
        return cudaErrorInvalidValue;
    }
    struct irt_event *e;
    cudaError_t error = irt_event_get(event, &e);
    if (error) {
        return error;
    }
    struct irt_stream *s;
    error = irt_stream_get(stream, &s);
    if (!error) {
        error = record(e, s, flags == cudaEventRecordExternal);
        irt_stream_put(s);
    }
    irt_event_put(e);
    return error;
}

cudaError_t irt_core_cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
    return irt_core_cudaEventRecordWithFlags(event, stream, cudaEventRecordDefault);
}

cudaError_t irt_core_cudaEventQuery(cudaEvent_t event)
{
    struct irt_event *e;
    cudaError_t error = irt_event_get(event, &e);
    if (error) {
        return error;
    }
    error = irt_capture_check_event(e);
    if (!error) {
        error = irt_backend()->event_query(e->backend);
    }
    if (!error) {
        error = irt_device_error(e->device);
    }
    irt_event_put(e);
    return error;
}

cudaError_t irt_core_cudaEventSynchronize(cudaEvent_t event)
{
    struct irt_event *e;
    cudaError_t error = irt_event_get(event, &e);
    if (error) {
        return error;
    }
    error = irt_capture_check_event(e);
    if (!error) {
        error = irt_backend()->event_synchronize(e->backend);
    }
    if (!error) {
        error = irt_device_error(e->device);
    }
    irt_event_put(e);
    return error;
}

static cudaError_t elapsed(struct irt_event *start, struct irt_event *end, double *ret_ms)
{
    struct irt_event *const both[] = {start, end};
    for (int i = 0; i < 2; i++) {
        cudaError_t e = irt_capture_check_event(both[i]);
        if (e) {
            return e;
        }
        if ((both[i]->flags & cudaEventDisableTiming) ||
            !atomic_load_explicit(&both[i]->recorded, memory_order_acquire)) {
            return cudaErrorInvalidResourceHandle;
        }
    }
    if (start->device != end->device) {
        return cudaErrorInvalidResourceHandle;
    }
    for (int i = 0; i < 2; i++) {
        cudaError_t e = irt_backend()->event_query(both[i]->backend);
        if (e) {
            return e;
        }
    }
    return irt_backend()->event_elapsed(start->backend, end->backend, ret_ms);
}

cudaError_t irt_core_cudaEventElapsedTime(float *ms, cudaEvent_t start, cudaEvent_t end)
{
    if (!ms) {
        return cudaErrorInvalidValue;
    }
    struct irt_event *first, *second;
    cudaError_t e = irt_event_get(start, &first);
    if (e) {
        return e;
    }
    e = irt_event_get(end, &second);
    if (!e) {
        double value;
        e = elapsed(first, second, &value);
        if (!e) {
            *ms = (float)value;
        }
        irt_event_put(second);
    }
    irt_event_put(first);
    return e;
}

static cudaError_t wait_for(struct irt_stream *stream, struct irt_event *event, bool external)
{
    bool captures = atomic_load_explicit(&stream->capture.capture, memory_order_acquire) != NULL;
    if (external && !captures) {
        return cudaErrorInvalidValue;
    }
    if (captures || atomic_load_explicit(&event->capture.id, memory_order_acquire)) {
        return irt_capture_wait(stream, event, external);
    }
    cudaError_t error = irt_stream_begin(stream);
    if (!error) {
        struct irt_crossing crossing = irt_depend_wait_begin(&event->point);
        error = irt_backend()->stream_wait_event(stream->backend, event->backend);
        if (!error && !(event->flags & cudaEventInterprocess)) {
            irt_depend_wait_end(&event->point, &crossing, stream);
        }
        irt_stream_end(stream);
    }
    return error;
}

cudaError_t irt_core_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned int flags)
{
    if (flags != cudaEventWaitDefault && flags != cudaEventWaitExternal) {
        return cudaErrorInvalidValue;
    }
    struct irt_event *e;
    cudaError_t error = irt_event_get(event, &e);
    if (error) {
        return error;
    }
    struct irt_stream *s;
    error = irt_stream_get(stream, &s);
    if (!error) {
        error = wait_for(s, e, flags == cudaEventWaitExternal);
        irt_stream_put(s);
    }
    irt_event_put(e);
    return error;
}
