// SPDX-License-Identifier: Apache-2.0
//
// Execution contexts as objects: creation, queries, streams in them, synchronisation. Events of
// contexts are in context_event.c. Source: CUDA Runtime API 13.1, "Execution Context Management".
#include "shim/core/context.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "irt_core.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/util/handle.h"

enum {
    DEVICE_MAX = 64, // as in order.c
    QUEUES = 8,      // CUDA_DEVICE_MAX_CONNECTIONS
};

static void destroy(void *object);

static struct irt_handle_table contexts = IRT_HANDLE_TABLE(IRT_HANDLE_CONTEXT, destroy);
static void *_Atomic device_contexts[DEVICE_MAX]; // handle by ordinal; never closed
static _Atomic unsigned long long next_id = 1;

static void destroy(void *object)
{
    struct irt_context *context = object;
    if (context->partition) {
        irt_backend()->partition_destroy(context->partition);
    }
    void *gate = atomic_load(&context->gate);
    if (gate) {
        irt_core_cudaStreamDestroy(gate);
    }
    free(context);
}

struct irt_context *irt_context_get(cudaExecutionContext_t handle)
{
    return irt_handle_get(&contexts, handle);
}

void irt_context_ref(struct irt_context *context)
{
    irt_handle_ref(&contexts, context->handle);
}

void irt_context_put(struct irt_context *context)
{
    irt_handle_put(&contexts, context->handle);
}

struct irt_resources irt_device_resources(const struct irt_device *device)
{
    return (struct irt_resources){.device = device->ordinal,
                                  .count = (unsigned)device->info.prop.multiProcessorCount,
                                  .queues = QUEUES,
                                  .scope = cudaDevWorkqueueConfigScopeDeviceCtx};
}

static cudaError_t create(struct irt_device *device, bool green,
                          const struct irt_resources *resources, void **ret_handle)
{
    struct irt_context *context = calloc(1, sizeof *context);
    if (!context) {
        return cudaErrorMemoryAllocation;
    }
    context->device = device;
    context->green = green;
    context->id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed);
    context->resources = *resources;
    cudaError_t e = cudaSuccess;
    if (green && irt_backend()->partition_create) {
        e = irt_backend()->partition_create(device->id, resources->count, &context->partition);
    }
    void *handle = e ? NULL : irt_handle_open(&contexts, context);
    if (!handle) {
        destroy(context);
        return e ? e : cudaErrorMemoryAllocation;
    }
    context->handle = handle;
    *ret_handle = handle;
    return cudaSuccess;
}

struct irt_context *irt_context_of_device(const struct irt_device *device)
{
    void *handle = atomic_load_explicit(&device_contexts[device->ordinal], memory_order_acquire);
    struct irt_context *context = handle ? irt_handle_get(&contexts, handle) : NULL;
    if (context) {
        irt_handle_put(&contexts, handle); // its own reference stays
    }
    return context;
}

static void close_on_device(void *handle, void *object, void *argument)
{
    const struct irt_context *context = object;
    if (context->green && context->device == argument) {
        irt_handle_close(&contexts, handle);
    }
}

void irt_context_reset_device(struct irt_device *device)
{
    irt_handle_each(&contexts, close_on_device, device);
}

// ---- API: devices and resources ----

cudaError_t irt_core_cudaDeviceGetExecutionCtx(cudaExecutionContext_t *ctx, int device)
{
    struct irt_device *d = irt_device_at(device);
    if (!ctx) {
        return cudaErrorInvalidValue;
    }
    if (!d) {
        return cudaErrorInvalidDevice;
    }
    void *_Atomic *place = &device_contexts[d->ordinal];
    void *handle = atomic_load(place);
    if (!handle) {
        struct irt_resources resources = irt_device_resources(d);
        void *made;
        cudaError_t e = create(d, false, &resources, &made);
        if (e) {
            return e;
        }
        if (atomic_compare_exchange_strong(place, &handle, made)) {
            handle = made;
        } else {
            irt_handle_close(&contexts, made); // another thread was faster
        }
    }
    *ctx = handle;
    return cudaSuccess;
}

cudaError_t irt_core_cudaDeviceGetDevResource(int device, cudaDevResource *resource,
                                              enum cudaDevResourceType type)
{
    const struct irt_device *d = irt_device_at(device);
    if (!d) {
        return cudaErrorInvalidDevice;
    }
    if (!resource) {
        return cudaErrorInvalidValue;
    }
    struct irt_resources resources = irt_device_resources(d);
    return irt_resource_describe(&resources, type, resource);
}

cudaError_t irt_core_cudaExecutionCtxGetDevResource(cudaExecutionContext_t ctx,
                                                    cudaDevResource *resource,
                                                    enum cudaDevResourceType type)
{
    struct irt_context *context = irt_context_get(ctx);
    cudaError_t e = cudaErrorInvalidValue;
    if (context) {
        if (resource) {
            e = irt_resource_describe(&context->resources, type, resource);
        }
        irt_context_put(context);
    }
    return e;
}

cudaError_t irt_core_cudaStreamGetDevResource(cudaStream_t hStream, cudaDevResource *resource,
                                              enum cudaDevResourceType type)
{
    struct irt_stream *stream;
    if (!resource) {
        return cudaErrorInvalidValue;
    }
    if (type != cudaDevResourceTypeSm) {
        return cudaErrorInvalidResourceType;
    }
    cudaError_t e = irt_stream_get(hStream, &stream);
    if (!e) {
        struct irt_resources resources =
            stream->context ? stream->context->resources : irt_device_resources(stream->device);
        e = irt_resource_describe(&resources, type, resource);
        irt_stream_put(stream);
    }
    return e;
}

// ---- API: contexts ----

cudaError_t irt_core_cudaGreenCtxCreate(cudaExecutionContext_t *phCtx, cudaDevResourceDesc_t desc,
                                        int device, unsigned int flags)
{
    struct irt_device *d = irt_device_at(device);
    struct irt_resources resources;
    if (!phCtx || flags != 0 || !irt_resource_of_desc(desc, &resources)) {
        return cudaErrorInvalidValue;
    }
    if (!d || resources.device != d->ordinal) {
        return cudaErrorInvalidDevice;
    }
    void *handle;
    cudaError_t e = create(d, true, &resources, &handle);
    if (!e) {
        *phCtx = handle;
    }
    return e;
}

static void detach(struct irt_stream *stream, void *context)
{
    if (stream->context == context) {
        atomic_store(&stream->detached, true);
    }
}

cudaError_t irt_core_cudaExecutionCtxDestroy(cudaExecutionContext_t ctx)
{
    struct irt_context *context = irt_context_get(ctx);
    if (!context) {
        return cudaErrorInvalidValue;
    }
    bool closed = context->green && irt_handle_close(&contexts, ctx);
    if (closed) {
        irt_stream_each(detach, context);
    }
    irt_context_put(context);
    return closed ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaExecutionCtxGetDevice(int *device, cudaExecutionContext_t ctx)
{
    struct irt_context *context = irt_context_get(ctx);
    if (!context) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = cudaErrorInvalidValue;
    if (device) {
        *device = context->device->ordinal;
        e = cudaSuccess;
    }
    irt_context_put(context);
    return e;
}

cudaError_t irt_core_cudaExecutionCtxGetId(cudaExecutionContext_t ctx, unsigned long long *ctxId)
{
    struct irt_context *context = irt_context_get(ctx);
    if (!context) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = cudaErrorInvalidValue;
    if (ctxId) {
        *ctxId = context->id;
        e = cudaSuccess;
    }
    irt_context_put(context);
    return e;
}

cudaError_t irt_core_cudaExecutionCtxStreamCreate(cudaStream_t *phStream,
                                                  cudaExecutionContext_t ctx, unsigned int flags,
                                                  int priority)
{
    if (!phStream || (flags & ~(unsigned)cudaStreamNonBlocking)) {
        return cudaErrorInvalidValue;
    }
    struct irt_context *context = irt_context_get(ctx);
    if (!context) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_stream_create_in(context, flags, priority, false, phStream);
    irt_context_put(context);
    return e;
}
