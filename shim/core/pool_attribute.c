// SPDX-License-Identifier: Apache-2.0
//
// Attributes of memory pools and the access of devices to them.
#include <string.h>

#include "irt_core.h"
#include "shim/core/pool.h"
#include "shim/dispatch/backend.h"

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
        *ret_value = pool->place.kind == IRTB_MEMORY_MANAGED ? cudaMemAllocationTypeManaged
                                                             : cudaMemAllocationTypePinned;
        return cudaSuccess;
    case ATTRIBUTE_EXPORT_HANDLE_TYPES:
        *ret_value = pool->fd < 0 ? cudaMemHandleTypeNone : cudaMemHandleTypePosixFileDescriptor;
        return cudaSuccess;
    case ATTRIBUTE_LOCATION_ID:
        *ret_value = (uint64_t)pool->place.location.id;
        return cudaSuccess;
    case ATTRIBUTE_LOCATION_TYPE:
        *ret_value = pool->place.location.type;
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

// Whether the location is the host; its access to host and managed pools cannot be changed.
static bool is_host(const struct cudaMemLocation *location)
{
    return location->type == cudaMemLocationTypeHost ||
           location->type == cudaMemLocationTypeHostNuma ||
           location->type == cudaMemLocationTypeHostNumaCurrent;
}

// One descriptor; nothing is changed unless all of a call are valid.
static cudaError_t check_access(const struct irt_pool *pool, const struct cudaMemAccessDesc *desc)
{
    if (desc->flags != cudaMemAccessFlagsProtNone && desc->flags != cudaMemAccessFlagsProtRead &&
        desc->flags != cudaMemAccessFlagsProtReadWrite) {
        return cudaErrorInvalidValue;
    }
    bool all = desc->flags == cudaMemAccessFlagsProtReadWrite;
    if (is_host(&desc->location)) {
        return pool->place.kind != IRTB_MEMORY_DEVICE && all ? cudaSuccess : cudaErrorInvalidValue;
    }
    const struct irt_device *device = irt_device_at(desc->location.id);
    if (desc->location.type != cudaMemLocationTypeDevice || !device) {
        return cudaErrorInvalidValue;
    }
    if (pool->place.kind != IRTB_MEMORY_DEVICE) {
        return cudaSuccess;
    }
    if (device == pool->device) { // the owner's access cannot be taken away
        return all ? cudaSuccess : cudaErrorInvalidValue;
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
        if (descList[i].location.type == cudaMemLocationTypeDevice) {
            pool->access[descList[i].location.id] = (unsigned char)descList[i].flags;
        }
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
    } else if (flags && location && is_host(location)) {
        *flags = pool->place.kind == IRTB_MEMORY_DEVICE ? cudaMemAccessFlagsProtNone
                                                        : cudaMemAccessFlagsProtReadWrite;
        error = cudaSuccess;
    }
    irt_pool_put(pool);
    return error;
}
