// SPDX-License-Identifier: Apache-2.0
//
// The functions of stream-ordered allocation and memory pools. Pools are of device memory; host and
// NUMA pools, managed pools and sharing between processes answer 801.
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/core/memory.h"
#include "shim/core/pool.h"
#include "shim/dispatch/backend.h"
#include "shim/util/log.h"

// ---- allocating and freeing ----

// From `pool`, or from the current one of the stream's device.
static cudaError_t allocate(void **ptr, size_t size, struct irt_pool *pool, cudaStream_t handle)
{
    struct irt_stream *stream;
    cudaError_t error = irt_stream_get(handle, &stream);
    if (error) {
        return error;
    }
    struct irt_pool *from = pool ? pool : irt_pool_current(stream->device);
    if (size == 0) {
        *ptr = NULL;
    } else if (!from) {
        error = cudaErrorMemoryAllocation;
    } else {
        error = irt_pool_alloc(from, stream, size, ptr);
    }
    if (from && !pool) {
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
    cudaError_t error = allocate(ptr, size, pool, stream);
    irt_pool_put(pool);
    return error;
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

cudaError_t irt_core_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    struct irt_memory memory;
    struct irt_stream *stream;
    if (!devPtr) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_stream_enter(hStream, &stream);
    if (error) {
        return error;
    }
    if (!irt_memory_find(devPtr, &memory) || memory.start != devPtr ||
        (memory.type != IRT_MEMORY_POOL && memory.type != IRT_MEMORY_DEVICE) ||
        !irt_memory_remove(devPtr, &memory)) {
        return irt_stream_leave(stream, cudaErrorInvalidValue);
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
    return found ? answer_pool(irt_pool_default(found), memPool) : cudaErrorInvalidDevice;
}

cudaError_t irt_core_cudaDeviceGetMemPool(cudaMemPool_t *memPool, int device)
{
    struct irt_device *found = irt_device_at(device);
    if (!memPool) {
        return cudaErrorInvalidValue;
    }
    return found ? answer_pool(irt_pool_current(found), memPool) : cudaErrorInvalidDevice;
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
    cudaError_t error = pool->device == found ? cudaSuccess : cudaErrorInvalidDevice;
    if (!error) {
        irt_pool_set_current(pool);
    }
    irt_pool_put(pool);
    return error;
}

// The device that a location of pinned memory names. 801 for places where pools do not exist yet.
static cudaError_t location_device(const struct cudaMemLocation *location,
                                   enum cudaMemAllocationType type, const char *function,
                                   struct irt_device **ret_device)
{
    if (type == cudaMemAllocationTypeManaged ||
        (type == cudaMemAllocationTypePinned && location->type > cudaMemLocationTypeDevice &&
         location->type <= cudaMemLocationTypeHostNuma)) {
        (void)irt_unsupported(function);
        return cudaErrorNotSupported;
    }
    if (type != cudaMemAllocationTypePinned || location->type != cudaMemLocationTypeDevice) {
        return cudaErrorInvalidValue;
    }
    struct irt_device *device = irt_device_at(location->id);
    if (!device) {
        return cudaErrorInvalidDevice;
    }
    *ret_device = device;
    return cudaSuccess;
}

cudaError_t irt_core_cudaMemGetDefaultMemPool(cudaMemPool_t *memPool,
                                              struct cudaMemLocation *location,
                                              enum cudaMemAllocationType type)
{
    struct irt_device *device = NULL;
    if (!memPool || !location) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = location_device(
        location, type, "cudaMemGetDefaultMemPool for other than device memory", &device);
    return error ? error : answer_pool(irt_pool_default(device), memPool);
}

cudaError_t irt_core_cudaMemGetMemPool(cudaMemPool_t *memPool, struct cudaMemLocation *location,
                                       enum cudaMemAllocationType type)
{
    struct irt_device *device = NULL;
    if (!memPool || !location) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error =
        location_device(location, type, "cudaMemGetMemPool for other than device memory", &device);
    return error ? error : answer_pool(irt_pool_current(device), memPool);
}

cudaError_t irt_core_cudaMemSetMemPool(struct cudaMemLocation *location,
                                       enum cudaMemAllocationType type, cudaMemPool_t memPool)
{
    struct irt_device *device = NULL;
    if (!location) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error =
        location_device(location, type, "cudaMemSetMemPool for other than device memory", &device);
    return error ? error : irt_core_cudaDeviceSetMemPool(device->ordinal, memPool);
}

// ---- pools as objects ----

cudaError_t irt_core_cudaMemPoolCreate(cudaMemPool_t *memPool,
                                       const struct cudaMemPoolProps *poolProps)
{
    static const unsigned char zeros[sizeof poolProps->reserved];
    struct irt_device *device = NULL;
    if (!memPool || !poolProps || poolProps->win32SecurityAttributes || poolProps->usage != 0 ||
        memcmp(poolProps->reserved, zeros, sizeof zeros) != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = location_device(&poolProps->location, poolProps->allocType,
                                        "cudaMemPoolCreate for other than device memory", &device);
    if (error) {
        return error;
    }
    if (poolProps->handleTypes != cudaMemHandleTypeNone) {
        return irt_unsupported("cudaMemPoolCreate with a handle type");
    }
    struct irt_pool *pool = irt_pool_create(device, poolProps->maxSize, false);
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

// Attributes that came after CUDA 13.0, whose headers we may be built with. All read-only.
enum {
    ATTRIBUTE_ALLOCATION_TYPE = 0x9,
    ATTRIBUTE_EXPORT_HANDLE_TYPES = 0xa,
    ATTRIBUTE_LOCATION_ID = 0xb,
    ATTRIBUTE_LOCATION_TYPE = 0xc,
    ATTRIBUTE_MAX_POOL_SIZE = 0xd,
    ATTRIBUTE_HW_DECOMPRESS_ENABLED = 0xe,
    ATTRIBUTE_LOCALITY_DOMAIN_ID = 0xf,
};

// Sets an attribute; the caller holds the lock. High-water marks can only be reset to zero.
static cudaError_t set_attribute_locked(struct irt_pool *pool, int attr, const void *value)
{
    int number = 0;
    uint64_t wide = 0;
    bool is_int = attr <= cudaMemPoolReuseAllowInternalDependencies;
    memcpy(is_int ? (void *)&number : (void *)&wide, value, is_int ? sizeof number : sizeof wide);
    switch (attr) {
    case cudaMemPoolReuseFollowEventDependencies:
        pool->follow_events = number != 0;
        return cudaSuccess;
    case cudaMemPoolReuseAllowOpportunistic:
        pool->opportunistic = number != 0;
        return cudaSuccess;
    case cudaMemPoolReuseAllowInternalDependencies:
        pool->internal_dependencies = number != 0;
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        pool->threshold = wide;
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
        pool->reserved_high = wide == 0 ? pool->reserved : pool->reserved_high;
        return wide == 0 ? cudaSuccess : cudaErrorInvalidValue;
    case cudaMemPoolAttrUsedMemHigh:
        pool->used_high = wide == 0 ? pool->used : pool->used_high;
        return wide == 0 ? cudaSuccess : cudaErrorInvalidValue;
    default: // read-only or unknown
        return cudaErrorInvalidValue;
    }
}

// Whether the value of the attribute has 64 bits; all others have 32.
static bool is_wide(int attr)
{
    return (attr >= cudaMemPoolAttrReleaseThreshold && attr <= cudaMemPoolAttrUsedMemHigh) ||
           attr == ATTRIBUTE_MAX_POOL_SIZE;
}

cudaError_t irt_core_cudaMemPoolSetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                             void *value)
{
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool || !value) {
        if (pool) {
            irt_pool_put(pool);
        }
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&pool->lock);
    cudaError_t error = set_attribute_locked(pool, (int)attr, value);
    irt_mutex_unlock(&pool->lock);
    irt_pool_put(pool);
    return error;
}

static cudaError_t get_attribute_locked(const struct irt_pool *pool, int attr, uint64_t *ret_value)
{
    switch (attr) {
    case cudaMemPoolReuseFollowEventDependencies:
        *ret_value = (uint64_t)pool->follow_events;
        return cudaSuccess;
    case cudaMemPoolReuseAllowOpportunistic:
        *ret_value = (uint64_t)pool->opportunistic;
        return cudaSuccess;
    case cudaMemPoolReuseAllowInternalDependencies:
        *ret_value = (uint64_t)pool->internal_dependencies;
        return cudaSuccess;
    case cudaMemPoolAttrReleaseThreshold:
        *ret_value = pool->threshold;
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemCurrent:
        *ret_value = pool->reserved;
        return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
        *ret_value = pool->reserved_high;
        return cudaSuccess;
    case cudaMemPoolAttrUsedMemCurrent:
        *ret_value = pool->used;
        return cudaSuccess;
    case cudaMemPoolAttrUsedMemHigh:
        *ret_value = pool->used_high;
        return cudaSuccess;
    case ATTRIBUTE_ALLOCATION_TYPE:
        *ret_value = cudaMemAllocationTypePinned;
        return cudaSuccess;
    case ATTRIBUTE_EXPORT_HANDLE_TYPES:
        *ret_value = cudaMemHandleTypeNone;
        return cudaSuccess;
    case ATTRIBUTE_LOCATION_ID:
        *ret_value = (uint64_t)pool->device->ordinal;
        return cudaSuccess;
    case ATTRIBUTE_LOCATION_TYPE:
        *ret_value = cudaMemLocationTypeDevice;
        return cudaSuccess;
    case ATTRIBUTE_MAX_POOL_SIZE:
        *ret_value = pool->max_size;
        return cudaSuccess;
    case ATTRIBUTE_HW_DECOMPRESS_ENABLED:
        *ret_value = 0;
        return cudaSuccess;
    case ATTRIBUTE_LOCALITY_DOMAIN_ID:
        *ret_value = UINT32_MAX; // -1: none
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t irt_core_cudaMemPoolGetAttribute(cudaMemPool_t memPool, enum cudaMemPoolAttr attr,
                                             void *value)
{
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool || !value) {
        if (pool) {
            irt_pool_put(pool);
        }
        return cudaErrorInvalidValue;
    }
    if (attr == cudaMemPoolAttrReservedMemCurrent) {
        irt_pool_trim_device(pool->device, false);
    }
    irt_mutex_lock(&pool->lock);
    uint64_t wide = 0;
    cudaError_t error = get_attribute_locked(pool, (int)attr, &wide);
    irt_mutex_unlock(&pool->lock);
    irt_pool_put(pool);
    if (!error) {
        uint32_t narrow = (uint32_t)wide;
        memcpy(value, is_wide((int)attr) ? (void *)&wide : (void *)&narrow,
               is_wide((int)attr) ? sizeof wide : sizeof narrow);
    }
    return error;
}

// One descriptor; nothing is changed unless all of a call are valid.
static cudaError_t check_access(const struct irt_pool *pool, const struct cudaMemAccessDesc *desc)
{
    const struct irt_device *device = irt_device_at(desc->location.id);
    if (desc->location.type != cudaMemLocationTypeDevice || !device ||
        (desc->flags != cudaMemAccessFlagsProtNone && desc->flags != cudaMemAccessFlagsProtRead &&
         desc->flags != cudaMemAccessFlagsProtReadWrite)) {
        return cudaErrorInvalidValue;
    }
    if (device == pool->device) {
        return desc->flags == cudaMemAccessFlagsProtReadWrite ? cudaSuccess : cudaErrorInvalidValue;
    }
    int can = 0;
    cudaError_t error = irt_backend()->device_can_access_peer(device->id, pool->device->id, &can);
    return error || can ? error : cudaErrorInvalidDevice;
}

cudaError_t irt_core_cudaMemPoolSetAccess(cudaMemPool_t memPool,
                                          const struct cudaMemAccessDesc *descList, size_t count)
{
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = count > 0 && !descList ? cudaErrorInvalidValue : cudaSuccess;
    for (size_t i = 0; i < count && !error; i++) {
        error = check_access(pool, &descList[i]);
    }
    irt_mutex_lock(&pool->lock);
    for (size_t i = 0; i < count && !error; i++) {
        pool->access[descList[i].location.id] = (unsigned char)descList[i].flags;
    }
    irt_mutex_unlock(&pool->lock);
    irt_pool_put(pool);
    return error;
}

cudaError_t irt_core_cudaMemPoolGetAccess(enum cudaMemAccessFlags *flags, cudaMemPool_t memPool,
                                          struct cudaMemLocation *location)
{
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = cudaErrorInvalidValue;
    if (flags && location && location->type == cudaMemLocationTypeDevice &&
        irt_device_at(location->id)) {
        irt_mutex_lock(&pool->lock);
        *flags = (enum cudaMemAccessFlags)pool->access[location->id];
        irt_mutex_unlock(&pool->lock);
        error = cudaSuccess;
    }
    irt_pool_put(pool);
    return error;
}
