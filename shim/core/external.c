// SPDX-License-Identifier: Apache-2.0
//
// External memory: descriptors imported as objects, and buffers mapped onto them. A mapped buffer
// is memory of the kind IRT_MEMORY_SHARED and outlives the object. Source: CUDA Runtime API,
// "External Resource Interoperability".
#include "shim/core/external.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/image/array.h"
#include "shim/core/memory.h"
#include "shim/dispatch/backend.h"
#include "shim/util/handle.h"

struct external_memory {
    int fd;
    uint64_t size;
};

static void destroy(void *object)
{
    struct external_memory *memory = object;
    close(memory->fd);
    free(memory);
}

static struct irt_handle_table memories = IRT_HANDLE_TABLE(IRT_HANDLE_EXTERNAL_MEMORY, destroy);

static cudaError_t check_type(enum cudaExternalMemoryHandleType type)
{
    switch (type) {
    case cudaExternalMemoryHandleTypeOpaqueFd:
        return cudaSuccess;
    case cudaExternalMemoryHandleTypeOpaqueWin32:
    case cudaExternalMemoryHandleTypeOpaqueWin32Kmt:
        return irt_unsupported("cudaImportExternalMemory of a Win32 handle");
    case cudaExternalMemoryHandleTypeD3D12Heap:
    case cudaExternalMemoryHandleTypeD3D12Resource:
    case cudaExternalMemoryHandleTypeD3D11Resource:
    case cudaExternalMemoryHandleTypeD3D11ResourceKmt:
        return irt_unsupported("cudaImportExternalMemory of a Direct3D handle");
    case cudaExternalMemoryHandleTypeNvSciBuf:
        return irt_unsupported("cudaImportExternalMemory of an NvSciBuf object");
    }
    return cudaErrorInvalidValue;
}

// Whether the descriptor is memory of at least that size. The mapping is tried with one byte.
static cudaError_t check_descriptor(int fd, uint64_t size)
{
    off_t end = lseek(fd, 0, SEEK_END); // also tells the size of a dma-buf
    if (end < 0) {
        return cudaErrorInvalidResourceHandle;
    }
    if (size == 0 || size > (uint64_t)end) {
        return cudaErrorInvalidValue;
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaImportExternalMemory(cudaExternalMemory_t *extMem,
                                              const struct cudaExternalMemoryHandleDesc *desc)
{
    if (!extMem || !desc || (desc->flags & ~(unsigned)cudaExternalMemoryDedicated) != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = check_type(desc->type);
    if (!error && !irt_backend()->shared_map) {
        error = irt_unsupported("cudaImportExternalMemory");
    }
    if (!error) {
        error = check_descriptor(desc->handle.fd, desc->size);
    }
    if (error) {
        return error;
    }
    // A look at the first byte shows whether it can be mapped at all.
    int device = irt_device_current()->id;
    void *probe;
    if (irt_backend()->shared_map(device, desc->handle.fd, 0, 1, false, &probe)) {
        return cudaErrorOperatingSystem;
    }
    irt_backend()->shared_unmap(device, probe, 1, false);
    struct external_memory *memory = calloc(1, sizeof *memory);
    void *handle = NULL;
    if (memory) {
        *memory = (struct external_memory){.fd = desc->handle.fd, .size = desc->size};
        handle = irt_handle_open(&memories, memory);
    }
    if (!handle) {
        free(memory); // the descriptor is still the caller's
        return cudaErrorMemoryAllocation;
    }
    *extMem = handle;
    return cudaSuccess;
}

static cudaError_t map_buffer(const struct external_memory *from, uint64_t offset, uint64_t size,
                              void **ret_ptr)
{
    struct irt_memory memory = {.size = size,
                                .type = IRT_MEMORY_SHARED,
                                .device = irt_device_current(),
                                .flags = IRT_SHARED_EXTERNAL};
    const struct irtb_backend *backend = irt_backend();
    cudaError_t error =
        backend->shared_map(memory.device->id, from->fd, offset, size, false, &memory.start);
    if (error) {
        return error;
    }
    memory.device_start = memory.start;
    error = irt_memory_add(&memory);
    if (error) {
        backend->shared_unmap(memory.device->id, memory.start, memory.size, false);
        return error;
    }
    *ret_ptr = memory.start;
    return cudaSuccess;
}

cudaError_t
irt_core_cudaExternalMemoryGetMappedBuffer(void **devPtr, cudaExternalMemory_t extMem,
                                           const struct cudaExternalMemoryBufferDesc *bufferDesc)
{
    if (!devPtr || !bufferDesc || bufferDesc->flags != 0) {
        return cudaErrorInvalidValue;
    }
    struct external_memory *memory = irt_handle_get(&memories, extMem);
    if (!memory) {
        return cudaErrorInvalidResourceHandle;
    }
    cudaError_t error = cudaErrorInvalidValue;
    if (bufferDesc->size > 0 && bufferDesc->size <= memory->size &&
        bufferDesc->offset <= memory->size - bufferDesc->size) {
        error = map_buffer(memory, bufferDesc->offset, bufferDesc->size, devPtr);
    }
    irt_handle_put(&memories, extMem);
    return error;
}

cudaError_t irt_core_cudaExternalMemoryGetMappedMipmappedArray(
    cudaMipmappedArray_t *mipmap, cudaExternalMemory_t extMem,
    const struct cudaExternalMemoryMipmappedArrayDesc *mipmapDesc)
{
    if (!mipmap || !mipmapDesc) {
        return cudaErrorInvalidValue;
    }
    if (!irt_backend()->array_create) {
        return irt_unsupported("cudaExternalMemoryGetMappedMipmappedArray");
    }
    struct external_memory *memory = irt_handle_get(&memories, extMem);
    if (!memory) {
        return cudaErrorInvalidResourceHandle;
    }
    cudaError_t error = cudaErrorInvalidValue;
    if (mipmapDesc->offset < memory->size) {
        struct irtb_array_desc place = {.external = true,
                                        .fd = memory->fd,
                                        .fd_offset = mipmapDesc->offset,
                                        .fd_size = memory->size - mipmapDesc->offset};
        error = irt_mipmap_create_on(&place, &mipmapDesc->formatDesc, mipmapDesc->extent,
                                     mipmapDesc->numLevels, mipmapDesc->flags, mipmap);
    }
    irt_handle_put(&memories, extMem);
    return error;
}

cudaError_t irt_core_cudaDestroyExternalMemory(cudaExternalMemory_t extMem)
{
    return irt_handle_close(&memories, extMem) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t irt_core_cudaDeviceGetNvSciSyncAttributes(void *nvSciSyncAttrList, int device,
                                                      int flags)
{
    const int known = cudaNvSciSyncAttrSignal | cudaNvSciSyncAttrWait;
    if (!nvSciSyncAttrList || flags == 0 || (flags & ~known) != 0) {
        return cudaErrorInvalidValue;
    }
    return irt_device_at(device) ? irt_unsupported("cudaDeviceGetNvSciSyncAttributes")
                                 : cudaErrorInvalidDevice;
}
