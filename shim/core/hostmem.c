// SPDX-License-Identifier: Apache-2.0
//
// Page-locked host memory: allocated by CUDA (cudaHostAlloc, cudaMallocHost) or registered by the
// application (cudaHostRegister), and its addresses on the device.
#include <stdint.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/core/device.h"
#include "shim/core/memory.h"
#include "shim/dispatch/backend.h"

cudaError_t irt_core_cudaHostAlloc(void **pHost, size_t size, unsigned int flags)
{
    const unsigned known = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
    if (!pHost || (flags & ~known) != 0) {
        return cudaErrorInvalidValue;
    }
    if (size == 0) {
        *pHost = NULL;
        return cudaSuccess;
    }
    return irt_memory_allocate(IRT_MEMORY_HOST, IRTB_MEMORY_HOST, size, flags, pHost);
}

cudaError_t irt_core_cudaMallocHost(void **ptr, size_t size)
{
    return irt_core_cudaHostAlloc(ptr, size, cudaHostAllocDefault);
}

// Takes the allocation of that type that starts at `ptr` out of the map, waits for work that may
// use it and gives it back.
static cudaError_t free_exact(void *ptr, enum irt_memory_type type, cudaError_t unknown)
{
    struct irt_memory memory;
    if (!irt_memory_find(ptr, &memory) || memory.start != ptr || memory.type != type ||
        memory.block || !irt_memory_remove(ptr, &memory)) {
        return unknown;
    }
    cudaError_t fault = irt_memory_drain(&memory);
    cudaError_t error = irt_memory_release(&memory);
    return fault ? fault : error;
}

cudaError_t irt_core_cudaFreeHost(void *ptr)
{
    return ptr ? free_exact(ptr, IRT_MEMORY_HOST, cudaErrorInvalidValue) : cudaSuccess;
}

cudaError_t irt_core_cudaHostRegister(void *ptr, size_t size, unsigned int flags)
{
    const unsigned known = cudaHostRegisterPortable | cudaHostRegisterMapped |
                           cudaHostRegisterIoMemory | cudaHostRegisterReadOnly;
    struct irt_device *device = irt_device_current();
    struct irt_memory memory;
    if (!ptr || size == 0 || size - 1 > UINTPTR_MAX - (uintptr_t)ptr || (flags & ~known) != 0) {
        return cudaErrorInvalidValue;
    }
    if (irt_memory_overlap(ptr, size, &memory)) {
        bool host = memory.type == IRT_MEMORY_HOST || memory.type == IRT_MEMORY_REGISTERED;
        return host ? cudaErrorHostMemoryAlreadyRegistered : cudaErrorInvalidValue;
    }
    const struct cudaDeviceProp *prop = &device->info.prop;
    if (!prop->hostRegisterSupported) {
        return irt_unsupported("cudaHostRegister");
    }
    if ((flags & cudaHostRegisterReadOnly) && !prop->hostRegisterReadOnlySupported) {
        return irt_unsupported("cudaHostRegister with cudaHostRegisterReadOnly");
    }
    void *device_ptr;
    cudaError_t error = irt_backend()->host_register(device->id, ptr, size, flags, &device_ptr);
    if (error) {
        return error;
    }
    memory = (struct irt_memory){.start = ptr,
                                 .size = size,
                                 .type = IRT_MEMORY_REGISTERED,
                                 .device = device,
                                 .flags = flags,
                                 .device_start = device_ptr};
    error = irt_memory_add(&memory);
    if (error) {
        irt_memory_release(&memory);
        // Only another thread can have registered the range since the check above.
        return error == cudaErrorInvalidValue ? cudaErrorHostMemoryAlreadyRegistered : error;
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaHostUnregister(void *ptr)
{
    return ptr ? free_exact(ptr, IRT_MEMORY_REGISTERED, cudaErrorHostMemoryNotRegistered)
               : cudaErrorInvalidValue;
}

// The page-locked allocation that holds `ptr`; false for every other address.
static bool find_host(const void *ptr, struct irt_memory *ret_memory)
{
    return irt_memory_find(ptr, ret_memory) &&
           (ret_memory->type == IRT_MEMORY_HOST || ret_memory->type == IRT_MEMORY_REGISTERED);
}

cudaError_t irt_core_cudaHostGetDevicePointer(void **pDevice, void *pHost, unsigned int flags)
{
    struct irt_memory memory;
    if (!pDevice || !pHost || flags != 0 || !find_host(pHost, &memory)) {
        return cudaErrorInvalidValue;
    }
    if (!irt_device_current()->info.prop.canMapHostMemory) {
        return irt_unsupported("cudaHostGetDevicePointer");
    }
    *pDevice = (char *)memory.device_start + ((uintptr_t)pHost - (uintptr_t)memory.start);
    return cudaSuccess;
}

cudaError_t irt_core_cudaHostGetFlags(unsigned int *pFlags, void *pHost)
{
    struct irt_memory memory;
    if (!pFlags || !pHost || !find_host(pHost, &memory)) {
        return cudaErrorInvalidValue;
    }
    *pFlags = memory.flags;
    return cudaSuccess;
}
