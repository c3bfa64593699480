// SPDX-License-Identifier: Apache-2.0
//
// The functions of stream-ordered allocation and of memory pools: of device memory, of page-locked
// host memory and of managed memory. Attributes are in pool_attribute.c, sharing between processes
// in pool_share.c.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/graph/graph_memory.h"
#include "shim/core/memory.h"
#include "shim/core/pool.h"
#include "shim/dispatch/backend.h"
#include "shim/util/log.h"

// ---- allocating and freeing ----

// As a node of the graph that the stream captures; takes both references. The memory of graphs is
// always that of a device.
static cudaError_t allocate_captured(void **ptr, size_t size, struct irt_pool *pool,
                                     struct irt_stream *stream)
{
    bool usable = !pool || (pool->place.kind == IRTB_MEMORY_DEVICE && !pool->imported);
    struct cudaMemPoolProps props = {
        .allocType = cudaMemAllocationTypePinned,
        .location = {.type = cudaMemLocationTypeDevice,
                     .id = pool ? pool->device->ordinal : stream->device->ordinal}};
    if (pool) {
        irt_pool_put(pool);
    }
    return usable && size ? irt_capture_alloc(stream, &props, size, ptr)
                          : irt_capture_refuse(stream);
}

// From `pool`, whose reference it takes, or (NULL) from the current one of the stream's device.
static cudaError_t allocate(void **ptr, size_t size, struct irt_pool *pool, cudaStream_t handle)
{
    struct irt_stream *stream;
    if (irt_capture_enter(handle, &stream)) {
        return allocate_captured(ptr, size, pool, stream);
    }
    cudaError_t error = irt_stream_get(handle, &stream);
    if (!error) {
        error = irt_capture_check_stream(stream); // of a legacy stream
        if (error) {
            irt_stream_put(stream);
        }
    }
    if (error) {
        if (pool) {
            irt_pool_put(pool);
        }
        return error;
    }
    struct irt_pool_place place = irt_pool_device_place(stream->device);
    struct irt_pool *from = pool ? pool : irt_pool_current(&place);
    if (size == 0 && !(from && from->imported)) {
        *ptr = NULL;
    } else if (!from) {
        error = cudaErrorMemoryAllocation;
    } else if (from->imported) {
        error = cudaErrorInvalidValue; // "do not support creating new allocations"
    } else {
        error = irt_pool_alloc(from, stream, size, ptr);
        from = error ? from : NULL; // the block keeps the reference
    }
    if (from) {
        irt_pool_put(from);
    }
    irt_stream_put(stream);
    return error;
}

cudaError_t irt_core_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    return devPtr ? allocate(devPtr, size, NULL, hStream) : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaMallocFromPoolAsync(void **ptr, size_t size, cudaMemPool_t memPool,
                                             cudaStream_t stream)
{
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!ptr || !pool) {
        if (pool) {
            irt_pool_put(pool);
        }
        return cudaErrorInvalidValue;
    }
    return allocate(ptr, size, pool, stream);
}

static void release_in_stream(void *argument)
{
    struct irt_memory *memory = argument;
    cudaError_t error = irt_memory_release(memory);
    if (error) {
        IRT_LOG("pool", IRT_LOG_WARN, "freeing %zu bytes in stream order: error %d", memory->size,
                (int)error);
    }
    free(memory);
}

// Memory of cudaMalloc may be freed in stream order as well; it does not come back to a pool.
static cudaError_t free_plain(const struct irt_memory *memory, struct irt_stream *stream)
{
    struct irt_memory *copy = malloc(sizeof *copy);
    if (!copy) {
        return cudaErrorMemoryAllocation;
    }
    *copy = *memory;
    cudaError_t error = irt_backend()->host_func(stream->backend, release_in_stream, copy, true);
    if (error) {
        free(copy);
    }
    return error;
}

static bool is_for_free_async(const struct irt_memory *memory)
{
    return memory->block || memory->type == IRT_MEMORY_DEVICE ||
           (memory->type == IRT_MEMORY_SHARED && memory->flags == IRT_SHARED_POOL);
}

cudaError_t irt_core_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    struct irt_memory memory;
    struct irt_stream *stream;
    if (!devPtr) {
        return cudaErrorInvalidValue;
    }
    if (irt_capture_enter(hStream, &stream)) {
        return irt_capture_free(stream, devPtr);
    }
    cudaError_t error = irt_stream_enter(hStream, &stream);
    if (error) {
        return error;
    }
    if (!irt_memory_take(devPtr, is_for_free_async, &memory)) {
        bool gone;
        error = cudaErrorInvalidValue;
        if (irt_graph_memory_free(devPtr, &error, &gone, &memory) && gone) {
            error = free_plain(&memory, stream);
        }
        return irt_stream_leave(stream, error);
    }
    error = memory.block ? irt_pool_free(memory.block, stream) : free_plain(&memory, stream);
    if (error) {
        irt_memory_add(&memory); // nothing happened: the application still owns it
    }
    return irt_stream_leave(stream, error);
}

// ---- pools of devices ----

// What `ret_pool` gets is a handle; the reference that came with the pool goes back.
static cudaError_t answer_pool(struct irt_pool *pool, cudaMemPool_t *ret_pool)
{
    if (!pool) {
        return cudaErrorMemoryAllocation;
    }
    *ret_pool = pool->handle;
    irt_pool_put(pool);
    return cudaSuccess;
}

cudaError_t irt_core_cudaDeviceGetDefaultMemPool(cudaMemPool_t *memPool, int device)
{
    struct irt_device *found = irt_device_at(device);
    if (!memPool) {
        return cudaErrorInvalidValue;
    }
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    struct irt_pool_place place = irt_pool_device_place(found);
    return answer_pool(irt_pool_default(&place), memPool);
}

cudaError_t irt_core_cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    struct irt_device *found = irt_device_at(device);
    if (!memPool) {
        return cudaErrorInvalidValue;
    }
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    struct irt_pool_place place = irt_pool_device_place(found);
    return answer_pool(irt_pool_current(&place), memPool);
}

cudaError_t irt_core_cudaDeviceSetMemPool(int device, cudaMemPool_t memPool)
{
    struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = cudaSuccess;
    if (pool->place.kind != IRTB_MEMORY_DEVICE || pool->imported) {
        error = cudaErrorInvalidValue;
    } else if (pool->device != found) {
        error = cudaErrorInvalidDevice;
    } else if (!irt_pool_set_current(pool)) {
        error = cudaErrorMemoryAllocation;
    }
    irt_pool_put(pool);
    return error;
}

static bool numa_node_exists(int node)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d", node);
    return node == 0 || (node > 0 && access(path, F_OK) == 0);
}

// The place that a location and a type of allocation mean. CUDA Runtime API, cudaMemPoolCreate and
// cudaMemGetDefaultMemPool.
static cudaError_t find_place(const struct cudaMemLocation *location,
                              enum cudaMemAllocationType type, struct irt_pool_place *ret_place)
{
    bool managed = type == cudaMemAllocationTypeManaged;
    if (!managed && type != cudaMemAllocationTypePinned) {
        return cudaErrorInvalidValue;
    }
    struct irt_pool_place place = {.kind = managed ? IRTB_MEMORY_MANAGED : IRTB_MEMORY_HOST,
                                   .location = *location,
                                   .device = irt_device_at(0)};
    switch (location->type) {
    case cudaMemLocationTypeDevice:
        place.device = irt_device_at(location->id);
        if (!place.device) {
            return cudaErrorInvalidDevice;
        }
        place.kind = managed ? IRTB_MEMORY_MANAGED : IRTB_MEMORY_DEVICE;
        break;
    case cudaMemLocationTypeHostNuma:
        if (!numa_node_exists(location->id)) {
            return cudaErrorInvalidValue;
        }
        break;
    case cudaMemLocationTypeHost:
        place.location.id = 0;
        break;
    case cudaMemLocationTypeNone:
        if (!managed) {
            return cudaErrorInvalidValue;
        }
        place.location.id = 0;
        break;
    default: // the node of this thread, and types that came later
        return cudaErrorInvalidValue;
    }
    *ret_place = place;
    return cudaSuccess;
}

cudaError_t irt_core_cudaMemGetDefaultMemPool(cudaMemPool_t *memPool,
                                              struct cudaMemLocation *location,
                                              enum cudaMemAllocationType type)
{
    struct irt_pool_place place;
    if (!memPool || !location) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = find_place(location, type, &place);
    return error ? error : answer_pool(irt_pool_default(&place), memPool);
}

cudaError_t irt_core_cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                       enum cudaMemAllocationType type)
{
    struct irt_pool_place place;
    if (!memPool || !location) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = find_place(location, type, &place);
    return error ? error : answer_pool(irt_pool_current(&place), memPool);
}

cudaError_t irt_core_cudaMemSetMemPool(struct cudaMemLocation *location,
                                       enum cudaMemAllocationType type, cudaMemPool_t memPool)
{
    struct irt_pool_place place;
    if (!location) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = find_place(location, type, &place);
    if (error) {
        return error;
    }
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool) {
        return cudaErrorInvalidValue;
    }
    if (pool->imported || pool->place.kind != place.kind ||
        pool->place.location.type != place.location.type ||
        pool->place.location.id != place.location.id) {
        error = cudaErrorInvalidValue;
    } else if (!irt_pool_set_current(pool)) {
        error = cudaErrorMemoryAllocation;
    }
    irt_pool_put(pool);
    return error;
}

// ---- pools as objects ----

// What a pool of that place can be exported as.
static cudaError_t check_handle_types(const struct irt_pool_place *place, unsigned types)
{
    const unsigned known = cudaMemHandleTypePosixFileDescriptor | cudaMemHandleTypeWin32 |
                           cudaMemHandleTypeWin32Kmt | cudaMemHandleTypeFabric;
    if (types == cudaMemHandleTypeNone) {
        return cudaSuccess;
    }
    if ((types & ~known) != 0 || place->location.type == cudaMemLocationTypeHost) {
        return cudaErrorInvalidValue;
    }
    if (types != cudaMemHandleTypePosixFileDescriptor) {
        return irt_unsupported("cudaMemPoolCreate with a handle type that is no file descriptor");
    }
    if (place->kind != IRTB_MEMORY_DEVICE || !irt_backend()->shared_create) {
        return irt_unsupported("cudaMemPoolCreate with a handle type for other than device memory");
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaMemPoolCreate(cudaMemPool_t *memPool,
                                       const struct cudaMemPoolProps *poolProps)
{
    static const unsigned char zeros[sizeof poolProps->reserved];
    struct irt_pool_place place;
    if (!memPool || !poolProps || poolProps->win32SecurityAttributes || poolProps->usage != 0 ||
        memcmp(poolProps->reserved, zeros, sizeof zeros) != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = find_place(&poolProps->location, poolProps->allocType, &place);
    if (!error) {
        error = check_handle_types(&place, (unsigned)poolProps->handleTypes);
    }
    if (error) {
        return error;
    }
    if (poolProps->handleTypes != cudaMemHandleTypeNone) {
        return irt_pool_create_shared(&place, poolProps->maxSize, memPool);
    }
    struct irt_pool *pool = irt_pool_create(&place, poolProps->maxSize, -1);
    if (!pool) {
        return cudaErrorMemoryAllocation;
    }
    *memPool = pool->handle;
    return cudaSuccess;
}

cudaError_t irt_core_cudaMemPoolDestroy(cudaMemPool_t memPool)
{
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error =
        pool->is_default || !irt_pool_close(memPool) ? cudaErrorInvalidValue : cudaSuccess;
    irt_pool_put(pool);
    return error;
}

cudaError_t irt_core_cudaMemPoolTrimTo(cudaMemPool_t memPool, size_t minBytesToKeep)
{
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool) {
        return cudaErrorInvalidValue;
    }
    irt_pool_trim(pool, minBytesToKeep);
    irt_pool_put(pool);
    return cudaSuccess;
}
