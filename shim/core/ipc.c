// SPDX-License-Identifier: Apache-2.0
//
// The functions cudaIpc…: handles that other processes can open. What makes memory common is the
// backend's; here are the handles, the count of openings and the rules.
// Source: CUDA Runtime API, "Device Management", the functions cudaIpc….
#include "shim/core/ipc.h"

#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/core/device.h"
#include "shim/core/event.h"
#include "shim/core/memory.h"
#include "shim/dispatch/backend.h"

enum { KIND_MEMORY = 1, KIND_EVENT = 2 };

static const char magic[4] = "IRT\1";

struct handle {
    char magic[4];
    uint32_t kind;
    uint64_t device; // number made of its UUID, the same in every process
    struct irtb_share share;
    uint64_t check; // of all bytes before
};

_Static_assert(sizeof(struct handle) == sizeof(cudaIpcMemHandle_t), "fits exactly");
_Static_assert(sizeof(struct handle) == sizeof(cudaIpcEventHandle_t), "fits exactly");

// Handles that are open, with the memory they are mapped at.
struct opened {
    struct irtb_share share;
    void *ptr;
    unsigned count;
    struct opened *next;
};

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_DEVICE);
static struct opened *all; // guarded by lock

static uint64_t hash(const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    uint64_t value = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < size; i++) {
        value = (value ^ at[i]) * UINT64_C(1099511628211);
    }
    return value;
}

static uint64_t device_number(const struct irt_device *device)
{
    return hash(device->info.prop.uuid.bytes, sizeof device->info.prop.uuid.bytes);
}

static void pack(void *ret_handle, uint32_t kind, const struct irt_device *device,
                 const struct irtb_share *share)
{
    struct handle handle = {.kind = kind, .device = device_number(device), .share = *share};
    memcpy(handle.magic, magic, sizeof magic);
    handle.check = hash(&handle, offsetof(struct handle, check));
    memcpy(ret_handle, &handle, sizeof handle);
}

// False when the bytes are no handle of that kind.
static bool unpack(const void *bytes, uint32_t kind, struct handle *ret_handle)
{
    memcpy(ret_handle, bytes, sizeof *ret_handle);
    return memcmp(ret_handle->magic, magic, sizeof magic) == 0 && ret_handle->kind == kind &&
           ret_handle->check == hash(ret_handle, offsetof(struct handle, check));
}

// The device that memory lies on, if this process sees it, else the current one.
static struct irt_device *device_of(const struct handle *handle)
{
    for (int i = 0; i < irt_device_count(); i++) {
        if (device_number(irt_device_at(i)) == handle->device) {
            return irt_device_at(i);
        }
    }
    return irt_device_current();
}

// ---- memory ----

cudaError_t irt_core_cudaIpcGetMemHandle(cudaIpcMemHandle_t *handle, void *devPtr)
{
    struct irt_memory memory;
    if (!handle || !devPtr || !irt_memory_find(devPtr, &memory) ||
        memory.type != IRT_MEMORY_DEVICE) {
        return cudaErrorInvalidValue;
    }
    if (!irt_backend()->memory_export) {
        return irt_unsupported("cudaIpcGetMemHandle");
    }
    // An address inside an allocation names the allocation, as with CUDA: opening it gives the
    // start, and the processes tell each other the offset.
    struct irtb_share share;
    cudaError_t error =
        irt_backend()->memory_export(memory.device->id, memory.start, memory.size, &share);
    if (!error) {
        pack(handle, KIND_MEMORY, memory.device, &share);
    }
    return error;
}

static struct opened *find_locked(const struct irtb_share *share)
{
    struct opened *opened = all;
    while (opened && memcmp(&opened->share, share, sizeof *share) != 0) {
        opened = opened->next;
    }
    return opened;
}

// Maps the memory of a handle that is not open and notes it.
static cudaError_t open_locked(const struct handle *handle, void **ret_ptr)
{
    struct opened *opened = calloc(1, sizeof *opened);
    struct irt_memory memory = {
        .type = IRT_MEMORY_SHARED, .device = device_of(handle), .flags = IRT_SHARED_IPC};
    if (!opened) {
        return cudaErrorMemoryAllocation;
    }
    const struct irtb_backend *backend = irt_backend();
    cudaError_t error =
        backend->memory_import(memory.device->id, &handle->share, &memory.start, &memory.size);
    if (!error) {
        memory.device_start = memory.start;
        error = irt_memory_add(&memory);
        if (error) {
            backend->shared_unmap(memory.device->id, memory.start, memory.size, false);
        }
    }
    if (error) {
        free(opened);
        return error;
    }
    *opened = (struct opened){.share = handle->share, .ptr = memory.start, .count = 1, .next = all};
    all = opened;
    *ret_ptr = memory.start;
    return cudaSuccess;
}

cudaError_t irt_core_cudaIpcOpenMemHandle(void **devPtr, cudaIpcMemHandle_t bytes,
                                          unsigned int flags)
{
    struct handle handle;
    if (!devPtr || flags != cudaIpcMemLazyEnablePeerAccess ||
        !unpack(&bytes, KIND_MEMORY, &handle)) {
        return cudaErrorInvalidValue;
    }
    if (!irt_backend()->memory_import) {
        return irt_unsupported("cudaIpcOpenMemHandle");
    }
    cudaError_t error = cudaSuccess;
    irt_mutex_lock(&lock);
    struct opened *opened = find_locked(&handle.share);
    if (opened) {
        opened->count++;
        *devPtr = opened->ptr;
    } else {
        error = open_locked(&handle, devPtr);
    }
    irt_mutex_unlock(&lock);
    return error;
}

// Takes one opening of the memory at `start` back, or all of them. True: that was the last.
static bool close_locked(const void *start, bool every, bool *ret_found)
{
    for (struct opened **place = &all; *place; place = &(*place)->next) {
        struct opened *opened = *place;
        if (opened->ptr == start) {
            *ret_found = true;
            if (!every && --opened->count > 0) {
                return false;
            }
            *place = opened->next;
            free(opened);
            return true;
        }
    }
    *ret_found = false;
    return false;
}

void irt_ipc_forget(const void *start)
{
    bool found;
    irt_mutex_lock(&lock);
    close_locked(start, true, &found);
    irt_mutex_unlock(&lock);
}

cudaError_t irt_core_cudaIpcCloseMemHandle(void *devPtr)
{
    struct irt_memory memory;
    bool found;
    irt_mutex_lock(&lock);
    // Out of the map in the same step, so that nobody opens it again meanwhile.
    bool last = close_locked(devPtr, false, &found) && irt_memory_remove(devPtr, &memory);
    irt_mutex_unlock(&lock);
    if (!found) {
        return cudaErrorInvalidValue;
    }
    if (!last) {
        return cudaSuccess;
    }
    // Any device may use it: opening enables peer access.
    cudaError_t fault = cudaSuccess;
    for (int i = 0; i < irt_device_count(); i++) {
        cudaError_t error = irt_device_drain(irt_device_at(i));
        fault = fault ? fault : error;
    }
    cudaError_t error = irt_memory_release(&memory);
    return fault ? fault : error;
}

// ---- events ----

cudaError_t irt_core_cudaIpcGetEventHandle(cudaIpcEventHandle_t *handle, cudaEvent_t event)
{
    struct irt_event *found;
    if (!handle) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_event_get(event, &found);
    if (error) {
        return error;
    }
    struct irtb_share share;
    if (!(found->flags & cudaEventInterprocess)) {
        error = cudaErrorInvalidResourceHandle;
    } else if (!irt_backend()->event_export) {
        error = irt_unsupported("cudaIpcGetEventHandle");
    } else {
        error = irt_backend()->event_export(found->backend, &share);
    }
    if (!error) {
        pack(handle, KIND_EVENT, found->device, &share);
    }
    irt_event_put(found);
    return error;
}

cudaError_t irt_core_cudaIpcOpenEventHandle(cudaEvent_t *event, cudaIpcEventHandle_t bytes)
{
    struct handle handle;
    struct irt_device *device = irt_device_current();
    if (!event || !unpack(&bytes, KIND_EVENT, &handle)) {
        return cudaErrorInvalidValue;
    }
    if (!irt_backend()->event_import) {
        return irt_unsupported("cudaIpcOpenEventHandle");
    }
    struct irtb_event *imported;
    cudaError_t error = irt_backend()->event_import(device->id, &handle.share, &imported);
    return error ? error
                 : irt_event_adopt(device, cudaEventDisableTiming | cudaEventInterprocess, imported,
                                   event);
}
