// SPDX-License-Identifier: Apache-2.0
//
// The objects behind cudaStream_t: table of handles, default streams of devices and threads, and
// the API functions on streams but for host functions (host_func.c). The order between streams is
// kept by order.c. Source: CUDA Runtime API, "Stream Management".
#include "shim/core/stream.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "irt_core.h"
#include "shim/core/context.h"
#include "shim/core/memory.h"
#include "shim/core/order.h"
#include "shim/core/perthread.h"
#include "shim/dispatch/backend.h"
#include "shim/util/handle.h"

enum { DEVICE_MAX = 64 }; // as in order.c

static void destroy(void *object);

static struct irt_handle_table streams = IRT_HANDLE_TABLE(IRT_HANDLE_STREAM, destroy);
static void *_Atomic legacy_handles[DEVICE_MAX]; // by ordinal; replaced when no longer live
static _Atomic unsigned long long next_id = 1;

static void destroy(void *object)
{
    struct irt_stream *stream = object;
    irt_capture_forget_stream(stream);
    if (stream->ordered) {
        irt_order_remove(stream);
    }
    irt_backend()->stream_destroy(stream->backend);
    if (stream->context) {
        irt_context_put(stream->context);
    }
    free(stream);
}

// A new stream with the one reference of its open handle.
static cudaError_t create(struct irt_device *device, enum irt_stream_kind kind, unsigned flags,
                          int priority, struct irt_context *context, void **ret_handle)
{
    struct irt_stream *stream = calloc(1, sizeof(*stream));
    if (!stream) {
        return cudaErrorMemoryAllocation;
    }
    stream->device = device;
    stream->kind = kind;
    stream->flags = flags;
    stream->priority = priority;
    stream->hints.map.remote = 1; // CUDA's default: each domain is its own
    stream->ordered = !(flags & cudaStreamNonBlocking);
    stream->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
    cudaError_t e = irt_backend()->stream_create(device->id, priority, &stream->backend);
    if (e) {
        free(stream);
        return e;
    }
    if (context && context->green) {
        irt_context_ref(context);
        stream->context = context;
        if (context->partition) {
            irt_backend()->stream_join_partition(stream->backend, context->partition);
        }
    }
    e = kind == IRT_STREAM_INTERNAL ? cudaSuccess : irt_context_gate(device, stream);
    void *handle = e ? NULL : irt_handle_open(&streams, stream);
    if (!handle) {
        destroy(stream);
        return e ? e : cudaErrorMemoryAllocation;
    }
    stream->handle = handle;
    irt_device_activate(device);
    *ret_handle = handle;
    return cudaSuccess;
}

static cudaError_t get_legacy(struct irt_device *device, struct irt_stream **ret_stream)
{
    void *_Atomic *place = &legacy_handles[device->ordinal];
    for (;;) {
        void *handle = atomic_load_explicit(place, memory_order_acquire);
        struct irt_stream *stream = handle ? irt_handle_get(&streams, handle) : NULL;
        if (stream) {
            *ret_stream = stream;
            return cudaSuccess;
        }
        void *made;
        cudaError_t e = create(device, IRT_STREAM_LEGACY, 0, 0, NULL, &made);
        if (e) {
            return e;
        }
        if (!atomic_compare_exchange_strong(place, &handle, made)) {
            irt_handle_close(&streams, made); // another thread was faster
        }
    }
}

static cudaError_t get_per_thread(struct irt_device *device, struct irt_stream **ret_stream)
{
    struct irt_thread *thread = irt_thread();
    if (!thread->streams) {
        irt_thread_watch(thread);
        thread->streams = calloc((size_t)irt_device_count(), sizeof(*thread->streams));
        if (!thread->streams) {
            return cudaErrorMemoryAllocation;
        }
    }
    void **place = &thread->streams[device->ordinal];
    struct irt_stream *stream = *place ? irt_handle_get(&streams, *place) : NULL;
    if (!stream) { // the first use, or the device was reset
        cudaError_t e = create(device, IRT_STREAM_PER_THREAD, 0, 0, NULL, place);
        if (e) {
            return e;
        }
        stream = irt_handle_get(&streams, *place);
        if (!stream) {
            return cudaErrorInvalidResourceHandle; // another thread resets the device
        }
    }
    *ret_stream = stream;
    return cudaSuccess;
}

void irt_stream_thread_end(struct irt_thread *thread)
{
    for (int i = 0; thread->streams && i < irt_device_count(); i++) {
        if (thread->streams[i]) {
            irt_handle_close(&streams, thread->streams[i]);
        }
    }
}

cudaError_t irt_stream_get(cudaStream_t handle, struct irt_stream **ret_stream)
{
    if (handle == NULL || handle == cudaStreamLegacy) {
        return get_legacy(irt_device_current(), ret_stream);
    }
    if (handle == cudaStreamPerThread) {
        return get_per_thread(irt_device_current(), ret_stream);
    }
    struct irt_stream *stream = irt_handle_get(&streams, handle);
    if (!stream) {
        return cudaErrorInvalidResourceHandle;
    }
    if (atomic_load_explicit(&stream->detached, memory_order_relaxed)) {
        irt_handle_put(&streams, handle);
        return (cudaError_t)IRT_ERROR_STREAM_DETACHED;
    }
    *ret_stream = stream;
    return cudaSuccess;
}

void irt_stream_put(struct irt_stream *stream)
{
    irt_handle_put(&streams, stream->handle);
}

cudaError_t irt_stream_begin(struct irt_stream *stream)
{
    cudaError_t e = irt_capture_check_stream(stream);
    return e ? e : irt_order_begin(stream);
}

void irt_stream_end(struct irt_stream *stream)
{
    irt_order_end(stream);
}

cudaError_t irt_stream_enter(cudaStream_t handle, struct irt_stream **ret_stream)
{
    struct irt_stream *stream;
    cudaError_t e = irt_stream_get(handle, &stream);
    if (e) {
        return e;
    }
    e = irt_stream_begin(stream);
    if (e) {
        irt_stream_put(stream);
        return e;
    }
    *ret_stream = stream;
    return cudaSuccess;
}

cudaError_t irt_stream_leave(struct irt_stream *stream, cudaError_t error)
{
    irt_order_end(stream);
    irt_stream_put(stream);
    return error;
}

cudaError_t irt_stream_leave_wait(struct irt_stream *stream, cudaError_t error)
{
    irt_order_end(stream);
    if (!error) {
        error = irt_backend()->stream_synchronize(stream->backend);
    }
    if (!error) {
        error = irt_device_error(stream->device);
    }
    irt_stream_put(stream);
    return error;
}

cudaError_t irt_stream_wait(struct irt_stream *stream)
{
    cudaError_t e = irt_capture_check_stream(stream);
    if (!e && stream->kind == IRT_STREAM_LEGACY) {
        e = irt_order_join(stream);
    }
    if (!e) {
        e = irt_backend()->stream_synchronize(stream->backend);
    }
    return e ? e : irt_device_error(stream->device);
}

cudaError_t irt_stream_poll(struct irt_stream *stream)
{
    cudaError_t e = irt_capture_check_stream(stream);
    if (!e) {
        e = irt_backend()->stream_query(stream->backend);
    }
    if (!e && stream->kind == IRT_STREAM_LEGACY) {
        e = irt_order_poll(stream);
    }
    return e ? e : irt_device_error(stream->device);
}

struct visitor {
    void (*visit)(struct irt_stream *stream, void *argument);
    void *argument;
};

static void visit_one(void *handle, void *object, void *context)
{
    (void)handle;
    const struct visitor *visitor = context;
    struct irt_stream *stream = object;
    if (stream->kind != IRT_STREAM_INTERNAL) {
        visitor->visit(stream, visitor->argument);
    }
}

void irt_stream_each(void (*visit)(struct irt_stream *stream, void *argument), void *argument)
{
    struct visitor visitor = {visit, argument};
    irt_handle_each(&streams, visit_one, &visitor);
}

static void close_on_device(void *handle, void *object, void *context)
{
    struct irt_stream *stream = object;
    if (stream->device == context) {
        irt_handle_close(&streams, handle);
    }
}

void irt_stream_reset_device(struct irt_device *device)
{
    irt_handle_each(&streams, close_on_device, device);
    irt_order_reset(device);
}

// ---- API ----

static int clamped(int priority)
{
    return priority > IRT_PRIORITY_LEAST      ? IRT_PRIORITY_LEAST
           : priority < IRT_PRIORITY_GREATEST ? IRT_PRIORITY_GREATEST
                                              : priority;
}

cudaError_t irt_stream_create_in(struct irt_context *context, unsigned flags, int priority,
                                 bool internal, cudaStream_t *ret_handle)
{
    // The default of a green context is a stream that does not wait for the legacy one.
    unsigned own = context->green || internal ? cudaStreamNonBlocking : flags;
    void *handle;
    cudaError_t e = create(context->device, internal ? IRT_STREAM_INTERNAL : IRT_STREAM_CREATED,
                           own, clamped(priority), internal ? NULL : context, &handle);
    if (!e) {
        *ret_handle = handle;
    }
    return e;
}

cudaError_t irt_core_cudaStreamCreateWithPriority(cudaStream_t *pStream, unsigned int flags,
                                                  int priority)
{
    if (!pStream || (flags & ~(unsigned)cudaStreamNonBlocking)) {
        return cudaErrorInvalidValue;
    }
    void *handle;
    cudaError_t e =
        create(irt_device_current(), IRT_STREAM_CREATED, flags, clamped(priority), NULL, &handle);
    if (!e) {
        *pStream = handle;
    }
    return e;
}

cudaError_t irt_core_cudaStreamCreateWithFlags(cudaStream_t *pStream, unsigned int flags)
{
    return irt_core_cudaStreamCreateWithPriority(pStream, flags, 0);
}

cudaError_t irt_core_cudaStreamCreate(cudaStream_t *pStream)
{
    return irt_core_cudaStreamCreateWithPriority(pStream, cudaStreamDefault, 0);
}

// Either pointer may be NULL.
cudaError_t irt_core_cudaDeviceGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    if (leastPriority) {
        *leastPriority = IRT_PRIORITY_LEAST;
    }
    if (greatestPriority) {
        *greatestPriority = IRT_PRIORITY_GREATEST;
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaStreamDestroy(cudaStream_t stream)
{
    // The default streams have other handles and cannot be destroyed.
    return irt_handle_close(&streams, stream) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t irt_core_cudaStreamSynchronize(cudaStream_t stream)
{
    struct irt_stream *s;
    cudaError_t e = irt_stream_get(stream, &s);
    if (!e) {
        e = irt_stream_wait(s);
        irt_stream_put(s);
    }
    return e;
}

cudaError_t irt_core_cudaStreamQuery(cudaStream_t stream)
{
    struct irt_stream *s;
    cudaError_t e = irt_stream_get(stream, &s);
    if (!e) {
        e = irt_stream_poll(s);
        irt_stream_put(s);
    }
    return e;
}

cudaError_t irt_core_cudaStreamGetPriority(cudaStream_t hStream, int *priority)
{
    struct irt_stream *s;
    if (!priority) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_stream_get(hStream, &s);
    if (!e) {
        *priority = s->priority;
        irt_stream_put(s);
    }
    return e;
}

cudaError_t irt_core_cudaStreamGetFlags(cudaStream_t hStream, unsigned int *flags)
{
    struct irt_stream *s;
    if (!flags) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_stream_get(hStream, &s);
    if (!e) {
        *flags = s->flags;
        irt_stream_put(s);
    }
    return e;
}

cudaError_t irt_core_cudaStreamGetId(cudaStream_t hStream, unsigned long long *streamId)
{
    struct irt_stream *s;
    if (!streamId) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_stream_get(hStream, &s);
    if (!e) {
        *streamId = s->id;
        irt_stream_put(s);
    }
    return e;
}

cudaError_t irt_core_cudaStreamGetDevice(cudaStream_t hStream, int *device)
{
    struct irt_stream *s;
    if (!device) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_stream_get(hStream, &s);
    if (!e) {
        *device = s->device->ordinal;
        irt_stream_put(s);
    }
    return e;
}

// Managed memory is coherent for host and devices at all times, so an association changes nothing
// that could be observed; what CUDA forbids is still refused.
cudaError_t irt_core_cudaStreamAttachMemAsync(cudaStream_t stream, void *devPtr, size_t length,
                                              unsigned int flags)
{
    struct irt_stream *s;
    cudaError_t e = irt_stream_get(stream, &s);
    if (e) {
        return e;
    }
    e = irt_capture_check_stream(s);
    bool shared_stream = s->kind == IRT_STREAM_LEGACY;
    bool pageable = s->device->info.prop.pageableMemoryAccess != 0;
    irt_stream_put(s);
    if (e) {
        return e;
    }

    bool single = flags == cudaMemAttachSingle;
    if ((!single && flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) ||
        (single && shared_stream) || !devPtr) {
        return cudaErrorInvalidValue;
    }
    struct irt_memory memory;
    if (!irt_memory_find(devPtr, &memory)) {
        return pageable && length ? cudaSuccess : cudaErrorInvalidValue;
    }
    bool managed = memory.type == IRT_MEMORY_MANAGED || memory.type == IRT_MEMORY_MANAGED_VARIABLE;
    bool whole = memory.start == devPtr && (!length || length == memory.size);
    return managed && whole ? cudaSuccess : cudaErrorInvalidValue;
}

// No backend keeps lines in a cache longer than others, so there is nothing to reset.
cudaError_t irt_core_cudaCtxResetPersistingL2Cache(void)
{
    return cudaSuccess;
}
