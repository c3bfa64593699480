// SPDX-License-Identifier: Apache-2.0
//
// Memory pools of several processes. All memory of a pool that can be shared lies in one object of
// the backend (shared_create); the file descriptor of that object is what cudaMemPoolExportTo-
// ShareableHandle gives away. The object begins with a header; a pointer is exported as an offset
// in the object with the object's random number. Nothing of it has a name in a file system.
// Source: CUDA Runtime API, "Stream Ordered Memory Allocator".
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/core/memory.h"
#include "shim/core/pool.h"
#include "shim/dispatch/backend.h"

static const char magic[8] = "IRTpool";

// At the start of the object.
struct header {
    char magic[8];
    uint64_t nonce;
    cudaUUID_t device;
};

// What cudaMemPoolPtrExportData holds.
struct pointer {
    char magic[8];
    uint64_t nonce, offset, size, check;
};

_Static_assert(sizeof(struct pointer) <= sizeof(struct cudaMemPoolPtrExportData), "fits");

static uint64_t check_of(const struct pointer *pointer)
{
    return pointer->nonce ^ pointer->offset * UINT64_C(0x9e3779b97f4a7c15) ^ ~pointer->size;
}

cudaError_t irt_pool_create_shared(const struct irt_pool_place *place, size_t max_size,
                                   cudaMemPool_t *ret_pool)
{
    int fd;
    cudaError_t error = irt_backend()->shared_create(place->device->id, &fd);
    if (error) {
        return error;
    }
    struct header header = {.device = place->device->info.prop.uuid};
    memcpy(header.magic, magic, sizeof magic);
    struct irt_pool *pool = NULL;
    if (getrandom(&header.nonce, sizeof header.nonce, 0) == sizeof header.nonce &&
        pwrite(fd, &header, sizeof header, 0) == sizeof header) {
        pool = irt_pool_create(place, max_size, fd);
    }
    if (!pool) {
        close(fd);
        return cudaErrorMemoryAllocation;
    }
    pool->nonce = header.nonce;
    *ret_pool = pool->handle;
    return cudaSuccess;
}

// 801 by name for handles of other systems; cudaErrorInvalidValue for what is no type.
static cudaError_t check_type(enum cudaMemAllocationHandleType type, const char *function)
{
    switch (type) {
    case cudaMemHandleTypePosixFileDescriptor:
        return cudaSuccess;
    case cudaMemHandleTypeWin32:
    case cudaMemHandleTypeWin32Kmt:
    case cudaMemHandleTypeFabric:
        return irt_unsupported(function);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t irt_core_cudaMemPoolExportToShareableHandle(void *shareableHandle,
                                                        cudaMemPool_t memPool,
                                                        enum cudaMemAllocationHandleType handleType,
                                                        unsigned int flags)
{
    if (!shareableHandle || flags != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = check_type(
        handleType, "cudaMemPoolExportToShareableHandle to other than a file descriptor");
    if (error) {
        return error;
    }
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool) {
        return cudaErrorInvalidValue;
    }
    error = cudaErrorInvalidValue; // not made for it, or another process's
    if (pool->fd >= 0 && !pool->imported) {
        int fd = fcntl(pool->fd, F_DUPFD_CLOEXEC, 0);
        error = fd < 0 ? cudaErrorOperatingSystem : cudaSuccess;
        if (!error) {
            memcpy(shareableHandle, &fd, sizeof fd);
        }
    }
    irt_pool_put(pool);
    return error;
}

static struct irt_device *device_of(const cudaUUID_t *uuid)
{
    for (int i = 0; i < irt_device_count(); i++) {
        struct irt_device *device = irt_device_at(i);
        if (memcmp(&device->info.prop.uuid, uuid, sizeof *uuid) == 0) {
            return device;
        }
    }
    return irt_device_current();
}

cudaError_t
irt_core_cudaMemPoolImportFromShareableHandle(cudaMemPool_t *memPool, void *shareableHandle,
                                              enum cudaMemAllocationHandleType handleType,
                                              unsigned int flags)
{
    if (!memPool || flags != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = check_type(
        handleType, "cudaMemPoolImportFromShareableHandle from other than a file descriptor");
    if (error) {
        return error;
    }
    if (!irt_backend()->shared_map) {
        return irt_unsupported("cudaMemPoolImportFromShareableHandle");
    }
    // The number of the descriptor itself is what the pointer holds; it stays the caller's.
    uintptr_t number = (uintptr_t)shareableHandle;
    int fd = number <= INT32_MAX ? fcntl((int)number, F_DUPFD_CLOEXEC, 0) : -1;
    struct header header;
    if (fd < 0 || pread(fd, &header, sizeof header, 0) != sizeof header ||
        memcmp(header.magic, magic, sizeof magic) != 0) {
        if (fd >= 0) {
            close(fd);
        }
        return cudaErrorInvalidValue;
    }
    struct irt_pool_place place = irt_pool_device_place(device_of(&header.device));
    struct irt_pool *pool = irt_pool_create(&place, 0, fd);
    if (!pool) {
        close(fd);
        return cudaErrorMemoryAllocation;
    }
    pool->imported = true;
    pool->nonce = header.nonce;
    *memPool = pool->handle;
    return cudaSuccess;
}

cudaError_t irt_core_cudaMemPoolExportPointer(struct cudaMemPoolPtrExportData *exportData,
                                              void *ptr)
{
    struct irt_memory memory;
    if (!exportData || !ptr || !irt_memory_find(ptr, &memory) || memory.start != ptr ||
        !memory.block || memory.block->pool->fd < 0) {
        return cudaErrorInvalidValue;
    }
    struct pointer pointer = {
        .nonce = memory.block->pool->nonce, .offset = memory.block->offset, .size = memory.size};
    memcpy(pointer.magic, magic, sizeof magic);
    pointer.check = check_of(&pointer);
    memset(exportData, 0, sizeof *exportData);
    memcpy(exportData, &pointer, sizeof pointer);
    return cudaSuccess;
}

cudaError_t irt_core_cudaMemPoolImportPointer(void **ptr, cudaMemPool_t memPool,
                                              struct cudaMemPoolPtrExportData *exportData)
{
    struct pointer pointer;
    if (!ptr || !exportData) {
        return cudaErrorInvalidValue;
    }
    struct irt_pool *pool = irt_pool_get(memPool);
    if (!pool) {
        return cudaErrorInvalidValue;
    }
    memcpy(&pointer, exportData, sizeof pointer);
    cudaError_t error = cudaErrorInvalidValue;
    if (pool->imported && memcmp(pointer.magic, magic, sizeof magic) == 0 &&
        pointer.check == check_of(&pointer) && pointer.nonce == pool->nonce) {
        struct irt_memory memory = {.size = pointer.size,
                                    .type = IRT_MEMORY_SHARED,
                                    .device = pool->device,
                                    .flags = IRT_SHARED_POOL};
        const struct irtb_backend *backend = irt_backend();
        error = backend->shared_map(pool->device->id, pool->fd, pointer.offset, pointer.size, false,
                                    &memory.start);
        if (!error) {
            memory.device_start = memory.start;
            error = irt_memory_add(&memory);
            if (error) {
                backend->shared_unmap(pool->device->id, memory.start, memory.size, false);
            } else {
                *ptr = memory.start;
            }
        }
    }
    irt_pool_put(pool);
    return error;
}
