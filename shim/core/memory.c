// SPDX-License-Identifier: Apache-2.0
//
// Allocating and freeing device and managed memory, memory information, pointer attributes.
// Page-locked host memory is in hostmem.c, stream-ordered memory in pool.c and pool_api.c.
#include "shim/core/memory.h"

#include <stdint.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/graph/graph_memory.h"
#include "shim/core/pool.h"
#include "shim/dispatch/backend.h"

enum { PITCH_ALIGNMENT = 512 };

// Whether work of `device` may use memory of `owner` without saying so.
static bool may_use(struct irt_device *device, const struct irt_device *owner)
{
    irt_mutex_lock(&device->lock);
    bool peer = device->peers >> owner->ordinal & 1;
    irt_mutex_unlock(&device->lock);
    return device == owner || peer;
}

cudaError_t irt_memory_drain(const struct irt_memory *memory)
{
    bool everybody = !irt_memory_on_device(memory);
    cudaError_t first = cudaSuccess;
    for (int i = 0; i < irt_device_count(); i++) {
        struct irt_device *device = irt_device_at(i);
        if (everybody || may_use(device, memory->device)) {
            cudaError_t error = irt_device_drain(device);
            first = first ? first : error;
        }
    }
    return first;
}

cudaError_t irt_memory_allocate(enum irt_memory_type type, enum irtb_memory_kind kind, size_t size,
                                unsigned flags, void **ret_ptr)
{
    struct irt_device *device = irt_device_current();
    if (size > PTRDIFF_MAX) {
        return cudaErrorMemoryAllocation;
    }
    void *ptr;
    cudaError_t error = irt_backend()->memory_alloc(device->id, kind, size, flags, &ptr);
    if (error == cudaErrorMemoryAllocation) {
        irt_pool_trim_device(device, true); // what pools keep may be enough
        error = irt_backend()->memory_alloc(device->id, kind, size, flags, &ptr);
    }
    if (error) {
        return error;
    }
    struct irt_memory memory = {.start = ptr,
                                .size = size,
                                .type = type,
                                .device = device,
                                .flags = flags,
                                .device_start = ptr};
    error = irt_memory_add(&memory);
    if (error) {
        irt_memory_release(&memory);
        return error;
    }
    irt_device_activate(device);
    *ret_ptr = ptr;
    return cudaSuccess;
}

cudaError_t irt_core_cudaMalloc(void **devPtr, size_t size)
{
    if (!devPtr) {
        return cudaErrorInvalidValue;
    }
    if (size == 0) {
        *devPtr = NULL;
        return cudaSuccess;
    }
    return irt_memory_allocate(IRT_MEMORY_DEVICE, IRTB_MEMORY_DEVICE, size, 0, devPtr);
}

// Rows of `width` bytes, padded. False when the sizes overflow.
static bool pitched_size(size_t width, size_t height, size_t depth, size_t *ret_pitch,
                         size_t *ret_size)
{
    size_t padded;
    size_t slice;
    if (__builtin_add_overflow(width, PITCH_ALIGNMENT - 1, &padded)) {
        return false;
    }
    *ret_pitch = padded & ~(size_t)(PITCH_ALIGNMENT - 1);
    return !__builtin_mul_overflow(*ret_pitch, height, &slice) &&
           !__builtin_mul_overflow(slice, depth, ret_size);
}

static cudaError_t allocate_pitched(size_t width, size_t height, size_t depth, void **ret_ptr,
                                    size_t *ret_pitch)
{
    size_t pitch;
    size_t size;
    if (!pitched_size(width, height, depth, &pitch, &size)) {
        return cudaErrorMemoryAllocation;
    }
    if (size == 0) {
        *ret_ptr = NULL;
        *ret_pitch = pitch;
        return cudaSuccess;
    }
    cudaError_t error =
        irt_memory_allocate(IRT_MEMORY_DEVICE, IRTB_MEMORY_DEVICE, size, 0, ret_ptr);
    if (!error) {
        *ret_pitch = pitch;
    }
    return error;
}

cudaError_t irt_core_cudaMallocPitch(void **devPtr, size_t *pitch, size_t width, size_t height)
{
    if (!devPtr || !pitch) {
        return cudaErrorInvalidValue;
    }
    return allocate_pitched(width, height, 1, devPtr, pitch);
}

cudaError_t irt_core_cudaMalloc3D(struct cudaPitchedPtr *pitchedDevPtr, struct cudaExtent extent)
{
    if (!pitchedDevPtr) {
        return cudaErrorInvalidValue;
    }
    void *ptr;
    size_t pitch;
    cudaError_t error = allocate_pitched(extent.width, extent.height, extent.depth, &ptr, &pitch);
    if (!error) {
        *pitchedDevPtr = (struct cudaPitchedPtr){
            .ptr = ptr, .pitch = pitch, .xsize = extent.width, .ysize = extent.height};
    }
    return error;
}

cudaError_t irt_core_cudaMallocManaged(void **devPtr, size_t size, unsigned int flags)
{
    if (!devPtr || size == 0 || (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost)) {
        return cudaErrorInvalidValue;
    }
    if (!irt_device_current()->info.prop.managedMemory) {
        return irt_unsupported("cudaMallocManaged");
    }
    return irt_memory_allocate(IRT_MEMORY_MANAGED, IRTB_MEMORY_MANAGED, size, flags, devPtr);
}

static bool is_for_free(const struct irt_memory *memory)
{
    switch (memory->type) {
    case IRT_MEMORY_DEVICE:
    case IRT_MEMORY_POOL:
    case IRT_MEMORY_MANAGED:
        return true;
    case IRT_MEMORY_SHARED:
        return memory->flags != IRT_SHARED_IPC;
    default:
        return memory->block != NULL;
    }
}

// What a graph has allocated and not freed.
static cudaError_t free_graph_memory(const struct irt_memory *memory)
{
    cudaError_t error;
    bool gone;
    struct irt_memory taken;
    cudaError_t fault = irt_memory_drain(memory);
    if (!irt_graph_memory_free(memory->start, &error, &gone, &taken)) {
        return cudaErrorInvalidValue;
    }
    if (gone) {
        error = irt_memory_release(&taken);
    }
    return fault ? fault : error;
}

cudaError_t irt_core_cudaFree(void *devPtr)
{
    struct irt_memory memory;
    if (!devPtr) {
        irt_device_activate(irt_device_current()); // what programs call cudaFree(0) for
        return cudaSuccess;
    }
    if (!irt_memory_find(devPtr, &memory) || memory.start != devPtr) {
        return cudaErrorInvalidValue;
    }
    if (memory.type == IRT_MEMORY_GRAPH) {
        return free_graph_memory(&memory);
    }
    if (!is_for_free(&memory)) {
        return cudaErrorInvalidValue;
    }
    if (!irt_memory_remove(devPtr, &memory)) {
        return cudaErrorInvalidValue; // another thread was faster
    }
    // "This API will not perform any implicit synchronization when the pointer was allocated with
    // cudaMallocAsync."
    cudaError_t fault = memory.block ? cudaSuccess : irt_memory_drain(&memory);
    cudaError_t error = irt_memory_release(&memory);
    return fault ? fault : error;
}

cudaError_t irt_core_cudaMemGetInfo(size_t *free, size_t *total)
{
    size_t free_bytes;
    size_t total_bytes;
    irt_pool_trim_device(irt_device_current(), false);
    cudaError_t error =
        irt_backend()->device_memory_info(irt_device_current()->id, &free_bytes, &total_bytes);
    if (error) {
        return error;
    }
    if (free) {
        *free = free_bytes;
    }
    if (total) {
        *total = total_bytes;
    }
    return cudaSuccess;
}

static enum cudaMemoryType attribute_type(const struct irt_memory *memory)
{
    switch (memory->type) {
    case IRT_MEMORY_DEVICE:
    case IRT_MEMORY_POOL:
    case IRT_MEMORY_VARIABLE:
    case IRT_MEMORY_ARRAY:
    case IRT_MEMORY_VIRTUAL:
    case IRT_MEMORY_GRAPH:
    case IRT_MEMORY_SHARED:
        return cudaMemoryTypeDevice;
    case IRT_MEMORY_HOST:
    case IRT_MEMORY_REGISTERED:
        return cudaMemoryTypeHost;
    case IRT_MEMORY_MANAGED:
    case IRT_MEMORY_MANAGED_VARIABLE:
        return cudaMemoryTypeManaged;
    }
    return cudaMemoryTypeUnregistered;
}

cudaError_t irt_core_cudaPointerGetAttributes(struct cudaPointerAttributes *attributes,
                                              const void *ptr)
{
    struct irt_memory memory;
    if (!attributes) {
        return cudaErrorInvalidValue;
    }
    void *address = (void *)ptr;
    if (!irt_memory_find(ptr, &memory)) {
        // Any other address counts as ordinary host memory (since CUDA 11); nobody looks at it, so
        // no device address is promised either.
        *attributes = (struct cudaPointerAttributes){.type = cudaMemoryTypeUnregistered,
                                                     .device = cudaInvalidDeviceId,
                                                     .hostPointer = address};
        return cudaSuccess;
    }
    // The address may be the host's or, where the two differ, the device's.
    bool host_side = (uintptr_t)ptr - (uintptr_t)memory.start < memory.size;
    size_t offset = (uintptr_t)ptr - (uintptr_t)(host_side ? memory.start : memory.device_start);
    *attributes = (struct cudaPointerAttributes){
        .type = attribute_type(&memory),
        .device = memory.device->ordinal,
        .devicePointer = (char *)memory.device_start + offset,
        .hostPointer = irt_memory_on_device(&memory) ? NULL : (char *)memory.start + offset};
    return cudaSuccess;
}
