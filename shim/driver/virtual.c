// SPDX-License-Identifier: Apache-2.0
//
// The functions of virtual memory management. Physical memory lives until its handle is released
// and nothing maps it any more. Everything here is guarded by one lock: these calls are rare.
// Source: CUDA Driver API, "Virtual Memory Management".
#include "shim/driver/virtual.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/core/memory.h"
#include "shim/dispatch/backend.h"
#include "shim/driver/driver.h"
#include "shim/util/handle.h"
#include "shim/util/interval.h"
#include "shim/util/lock.h"

enum { DEVICES_MAX = 64 };

#define GRANULARITY IRTB_VIRTUAL_GRANULARITY

struct physical {
    struct irt_device *device;
    size_t size;
    int fd;
    bool imported;              // counted by the process that made it
    CUmemAllocationProp prop;   // as the application gave them
    void *handle;               // lock; NULL once it was released
    unsigned handle_references; // lock; cuMemCreate and cuMemRetainAllocationHandle
    unsigned references;        // lock; the handle and each mapping
};

struct reservation {
    struct irt_interval interval; // first
    unsigned mappings;
};

struct mapping {
    struct irt_interval interval; // first
    struct reservation *reservation;
    struct physical *physical;
    unsigned char access[DEVICES_MAX]; // CUmemAccess_flags by ordinal
};

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_MODULE);
static struct irt_interval_set reservations; // lock
static struct irt_interval_set mappings;     // lock
static struct irt_handle_table handles = IRT_HANDLE_TABLE(IRT_HANDLE_PHYSICAL, NULL);

static cudaError_t supported(void)
{
    return irt_backend()->virtual_reserve && irt_backend()->physical_create
               ? cudaSuccess
               : irt_unsupported("virtual memory management (cuMem…)");
}

static bool aligned(uint64_t value)
{
    return value % GRANULARITY == 0;
}

static struct mapping *mapping_at(CUdeviceptr address)
{
    return (struct mapping *)irt_interval_find(&mappings, (uintptr_t)address);
}

// ---- physical memory ----

static void unref_locked(struct physical *physical)
{
    if (--physical->references) {
        return;
    }
    close(physical->fd);
    if (!physical->imported) {
        irt_backend()->physical_release(physical->device->id, physical->size);
    }
    free(physical);
}

// Opens a handle for memory that has none; it counts as one reference.
static cudaError_t open_handle_locked(struct physical *physical)
{
    physical->handle = irt_handle_open(&handles, physical);
    if (!physical->handle) {
        return cudaErrorMemoryAllocation;
    }
    physical->handle_references = 1;
    physical->references++;
    return cudaSuccess;
}

// The memory behind a handle, or NULL. The lock is held, so that it stays.
static struct physical *physical_locked(CUmemGenericAllocationHandle handle)
{
    void *key = (void *)(uintptr_t)handle;
    struct physical *physical = irt_handle_get(&handles, key);
    if (physical) {
        irt_handle_put(&handles, key);
    }
    return physical;
}

static cudaError_t check_properties(const CUmemAllocationProp *prop, struct irt_device **ret_device)
{
    if (!prop || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED || prop->win32HandleMetaData ||
        prop->location.type == CU_MEM_LOCATION_TYPE_INVALID) {
        return cudaErrorInvalidValue;
    }
    if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        irt_unsupported("cuMemCreate of host memory");
        return cudaErrorNotSupported;
    }
    if ((unsigned)prop->requestedHandleTypes &
        ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        irt_unsupported("cuMemCreate for handles that are no file descriptors");
        return cudaErrorNotSupported;
    }
    return irt_driver_device(prop->location.id, ret_device);
}

cudaError_t irt_driver_cuMemGetAllocationGranularity(size_t *granularity,
                                                     const CUmemAllocationProp *prop,
                                                     CUmemAllocationGranularity_flags option)
{
    struct irt_device *device;
    if (!granularity || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM &&
                         option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = supported();
    if (!e) {
        e = check_properties(prop, &device);
    }
    if (!e) {
        *granularity = GRANULARITY;
    }
    return e;
}

// A handle for `fd`, which is taken over in any case.
static cudaError_t new_physical(const struct physical *like, CUmemGenericAllocationHandle *ret)
{
    struct physical *physical = malloc(sizeof *physical);
    cudaError_t e = cudaErrorMemoryAllocation;
    if (physical) {
        *physical = *like;
        irt_mutex_lock(&lock);
        e = open_handle_locked(physical);
        irt_mutex_unlock(&lock);
    }
    if (e) {
        close(like->fd);
        if (!like->imported) {
            irt_backend()->physical_release(like->device->id, like->size);
        }
        free(physical);
        return e;
    }
    *ret = (uintptr_t)physical->handle;
    return cudaSuccess;
}

cudaError_t irt_driver_cuMemCreate(CUmemGenericAllocationHandle *handle, size_t size,
                                   const CUmemAllocationProp *prop, unsigned long long flags)
{
    struct physical physical = {.size = size};
    if (!handle || !size || !aligned(size) || flags) {
        return cudaErrorInvalidValue;
    }
    struct irt_device *device;
    cudaError_t e = supported();
    if (!e) {
        e = check_properties(prop, &device);
    }
    if (e) {
        return e;
    }
    e = irt_backend()->physical_create(device->id, size, &physical.fd);
    if (e) {
        return e;
    }
    irt_device_activate(device);
    physical.device = device;
    physical.prop = *prop;
    physical.prop.allocFlags.compressionType = CU_MEM_ALLOCATION_COMP_NONE; // a wish, not granted
    return new_physical(&physical, handle);
}

cudaError_t irt_driver_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    irt_mutex_lock(&lock);
    struct physical *physical = physical_locked(handle);
    if (physical && --physical->handle_references == 0) {
        irt_handle_close(&handles, physical->handle);
        physical->handle = NULL;
        unref_locked(physical);
    }
    irt_mutex_unlock(&lock);
    return physical ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *handle, void *addr)
{
    if (!handle) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = cudaSuccess;
    irt_mutex_lock(&lock);
    struct mapping *mapping = mapping_at((uintptr_t)addr);
    if (!mapping) {
        e = cudaErrorInvalidValue;
    } else if (mapping->physical->handle) {
        mapping->physical->handle_references++;
    } else {
        e = open_handle_locked(mapping->physical);
    }
    if (!e) {
        *handle = (uintptr_t)mapping->physical->handle;
    }
    irt_mutex_unlock(&lock);
    return e;
}

cudaError_t irt_driver_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *prop,
                                                              CUmemGenericAllocationHandle handle)
{
    if (!prop) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&lock);
    const struct physical *physical = physical_locked(handle);
    if (physical) {
        *prop = physical->prop;
    }
    irt_mutex_unlock(&lock);
    return physical ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuMemExportToShareableHandle(void *shareableHandle,
                                                    CUmemGenericAllocationHandle handle,
                                                    CUmemAllocationHandleType handleType,
                                                    unsigned long long flags)
{
    if (!shareableHandle || flags) {
        return cudaErrorInvalidValue;
    }
    if (handleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        return irt_unsupported("cuMemExportToShareableHandle to anything but a file descriptor");
    }
    int fd = -1;
    irt_mutex_lock(&lock);
    const struct physical *physical = physical_locked(handle);
    bool asked = physical && (physical->prop.requestedHandleTypes & handleType);
    if (asked) {
        fd = fcntl(physical->fd, F_DUPFD_CLOEXEC, 0);
    }
    irt_mutex_unlock(&lock);
    if (!asked) {
        return cudaErrorInvalidValue;
    }
    if (fd < 0) {
        return cudaErrorMemoryAllocation;
    }
    *(int *)shareableHandle = fd;
    return cudaSuccess;
}

cudaError_t irt_driver_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *handle,
                                                      void *osHandle,
                                                      CUmemAllocationHandleType shHandleType)
{
    int device;
    int given = (int)(intptr_t)osHandle;
    struct physical physical = {.imported = true};
    if (!handle || given < 0 || (intptr_t)osHandle != given) {
        return cudaErrorInvalidValue;
    }
    if (shHandleType != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) {
        return irt_unsupported("cuMemImportFromShareableHandle of anything but a file descriptor");
    }
    cudaError_t e = supported();
    if (!e) {
        e = irt_backend()->physical_import(given, &device, &physical.size);
    }
    if (e) {
        return e;
    }
    physical.device = irt_device_of_backend(device);
    if (!physical.device) {
        return cudaErrorInvalidDevice;
    }
    physical.fd = fcntl(given, F_DUPFD_CLOEXEC, 0);
    if (physical.fd < 0) {
        return cudaErrorMemoryAllocation;
    }
    physical.prop = (CUmemAllocationProp){
        .type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = physical.device->ordinal},
    };
    return new_physical(&physical, handle);
}

// ---- addresses ----

cudaError_t irt_driver_cuMemAddressReserve(CUdeviceptr *ptr, size_t size, size_t alignment,
                                           CUdeviceptr addr, unsigned long long flags)
{
    void *start;
    if (!ptr || !size || !aligned(size) || (alignment & (alignment - 1)) || flags) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = supported();
    if (e) {
        return e;
    }
    struct reservation *reservation = calloc(1, sizeof *reservation);
    if (!reservation) {
        return cudaErrorMemoryAllocation;
    }
    e = irt_backend()->virtual_reserve((void *)(uintptr_t)addr, size,
                                       alignment > GRANULARITY ? alignment : GRANULARITY, &start);
    if (e) {
        free(reservation);
        return e;
    }
    reservation->interval.start = (uintptr_t)start;
    reservation->interval.size = size;
    irt_mutex_lock(&lock);
    irt_interval_insert(&reservations, &reservation->interval); // the backend gives no range twice
    irt_mutex_unlock(&lock);
    *ptr = (uintptr_t)start;
    return cudaSuccess;
}

cudaError_t irt_driver_cuMemAddressFree(CUdeviceptr ptr, size_t size)
{
    irt_mutex_lock(&lock);
    struct reservation *reservation =
        (struct reservation *)irt_interval_find(&reservations, (uintptr_t)ptr);
    bool whole = reservation && reservation->interval.start == ptr &&
                 reservation->interval.size == size && !reservation->mappings;
    if (whole) {
        irt_interval_remove(&reservations, &reservation->interval);
        irt_backend()->virtual_free((void *)(uintptr_t)ptr, size);
        free(reservation);
    }
    irt_mutex_unlock(&lock);
    return whole ? cudaSuccess : cudaErrorInvalidValue;
}

// ---- mappings ----

static cudaError_t map_locked(struct mapping *mapping, size_t offset,
                              CUmemGenericAllocationHandle handle)
{
    const uintptr_t start = mapping->interval.start;
    const size_t size = mapping->interval.size;
    struct physical *physical = physical_locked(handle);
    struct reservation *reservation = (struct reservation *)irt_interval_find(&reservations, start);
    if (!physical || !reservation || offset > physical->size || size > physical->size - offset ||
        size > reservation->interval.size - (start - reservation->interval.start) ||
        irt_interval_overlap(&mappings, start, size)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_backend()->virtual_map((void *)start, size, physical->fd, offset);
    if (e) {
        return e;
    }
    e = irt_memory_add(&(struct irt_memory){.start = (void *)start,
                                            .size = size,
                                            .type = IRT_MEMORY_VIRTUAL,
                                            .device = physical->device,
                                            .device_start = (void *)start});
    if (e) {
        irt_backend()->virtual_unmap((void *)start, size);
        return e;
    }
    mapping->physical = physical;
    mapping->reservation = reservation;
    physical->references++;
    reservation->mappings++;
    irt_interval_insert(&mappings, &mapping->interval);
    return cudaSuccess;
}

cudaError_t irt_driver_cuMemMap(CUdeviceptr ptr, size_t size, size_t offset,
                                CUmemGenericAllocationHandle handle, unsigned long long flags)
{
    if (!ptr || !size || !aligned(ptr) || !aligned(size) || !aligned(offset) || flags ||
        size > UINTPTR_MAX - ptr) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = supported();
    if (e) {
        return e;
    }
    struct mapping *mapping = calloc(1, sizeof *mapping);
    if (!mapping) {
        return cudaErrorMemoryAllocation;
    }
    mapping->interval.start = (uintptr_t)ptr;
    mapping->interval.size = size;
    irt_mutex_lock(&lock);
    e = map_locked(mapping, offset, handle);
    irt_mutex_unlock(&lock);
    if (e) {
        free(mapping);
    }
    return e;
}

// Whether the range consists of whole mappings without a gap.
static bool whole_locked(CUdeviceptr ptr, size_t size)
{
    uintptr_t at = (uintptr_t)ptr;
    const uintptr_t end = at + size;
    while (at < end) {
        const struct mapping *mapping = mapping_at(at);
        if (!mapping || mapping->interval.start != at) {
            return false;
        }
        at += mapping->interval.size;
    }
    return at == end;
}

static bool range_is_sane(CUdeviceptr ptr, size_t size)
{
    return ptr && size && aligned(ptr) && aligned(size) && size <= UINTPTR_MAX - ptr;
}

static cudaError_t unmap_one_locked(struct mapping *mapping)
{
    void *start = (void *)mapping->interval.start;
    cudaError_t e = irt_backend()->virtual_unmap(start, mapping->interval.size);
    if (e) {
        return e;
    }
    irt_memory_remove(start, NULL);
    irt_interval_remove(&mappings, &mapping->interval);
    mapping->reservation->mappings--;
    unref_locked(mapping->physical);
    free(mapping);
    return cudaSuccess;
}

// Waits for the work of every device that may access one of the mappings.
static cudaError_t drain(CUdeviceptr ptr, size_t size)
{
    bool wait[DEVICES_MAX] = {false};
    irt_mutex_lock(&lock);
    for (uintptr_t at = (uintptr_t)ptr; at < ptr + size;) {
        const struct mapping *mapping = mapping_at(at);
        if (!mapping) {
            break;
        }
        for (int i = 0; i < irt_device_count(); i++) {
            wait[i] = wait[i] || mapping->access[i];
        }
        at = mapping->interval.start + mapping->interval.size;
    }
    irt_mutex_unlock(&lock);
    cudaError_t first = cudaSuccess;
    for (int i = 0; i < irt_device_count(); i++) {
        cudaError_t e = wait[i] ? irt_device_drain(irt_device_at(i)) : cudaSuccess;
        first = first ? first : e;
    }
    return first;
}

cudaError_t irt_driver_cuMemUnmap(CUdeviceptr ptr, size_t size)
{
    if (!range_is_sane(ptr, size)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t fault = drain(ptr, size);
    irt_mutex_lock(&lock);
    cudaError_t e = whole_locked(ptr, size) ? cudaSuccess : cudaErrorInvalidValue;
    for (uintptr_t at = (uintptr_t)ptr; !e && at < ptr + size;) {
        struct mapping *mapping = mapping_at(at);
        at += mapping->interval.size;
        e = unmap_one_locked(mapping);
    }
    irt_mutex_unlock(&lock);
    return e ? e : fault;
}

// ---- access ----

static cudaError_t check_access(const CUmemAccessDesc *desc)
{
    struct irt_device *device;
    if (desc->flags != CU_MEM_ACCESS_FLAGS_PROT_NONE &&
        desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READ &&
        desc->flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE) {
        return cudaErrorInvalidValue;
    }
    if (desc->location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return desc->location.type == CU_MEM_LOCATION_TYPE_INVALID
                   ? cudaErrorInvalidValue
                   : irt_unsupported("cuMemSetAccess for the host");
    }
    return irt_driver_device(desc->location.id, &device);
}

// There is one address space: what one device may do, the processor lets all of them do.
static cudaError_t protect_locked(const struct mapping *mapping)
{
    unsigned all = 0;
    for (int i = 0; i < DEVICES_MAX; i++) {
        all |= mapping->access[i];
    }
    return irt_backend()->virtual_protect((void *)mapping->interval.start, mapping->interval.size,
                                          all & CU_MEM_ACCESS_FLAGS_PROT_READ,
                                          all == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

cudaError_t irt_driver_cuMemSetAccess(CUdeviceptr ptr, size_t size, const CUmemAccessDesc *desc,
                                      size_t count)
{
    if (!range_is_sane(ptr, size) || !desc || !count) {
        return cudaErrorInvalidValue;
    }
    for (size_t i = 0; i < count; i++) {
        cudaError_t e = check_access(&desc[i]);
        if (e) {
            return e;
        }
    }
    irt_mutex_lock(&lock);
    cudaError_t e = whole_locked(ptr, size) ? cudaSuccess : cudaErrorInvalidValue;
    for (uintptr_t at = (uintptr_t)ptr; !e && at < ptr + size;) {
        struct mapping *mapping = mapping_at(at);
        for (size_t i = 0; i < count; i++) {
            mapping->access[desc[i].location.id] = (unsigned char)desc[i].flags;
        }
        e = protect_locked(mapping);
        at += mapping->interval.size;
    }
    irt_mutex_unlock(&lock);
    return e;
}

unsigned irt_virtual_access(CUdeviceptr address, const struct irt_device *device)
{
    irt_mutex_lock(&lock);
    const struct mapping *mapping = mapping_at(address);
    unsigned access = mapping ? mapping->access[device->ordinal] : 0;
    irt_mutex_unlock(&lock);
    return access;
}

cudaError_t irt_driver_cuMemGetAccess(unsigned long long *flags, const CUmemLocation *location,
                                      CUdeviceptr ptr)
{
    struct irt_device *device;
    if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(location->id, &device);
    if (e) {
        return e;
    }
    irt_mutex_lock(&lock);
    const struct mapping *mapping = mapping_at(ptr);
    if (mapping) {
        *flags = mapping->access[device->ordinal];
    }
    irt_mutex_unlock(&lock);
    return mapping ? cudaSuccess : cudaErrorInvalidValue;
}

bool irt_virtual_find(CUdeviceptr address, struct irt_virtual_info *ret_info)
{
    irt_mutex_lock(&lock);
    const struct irt_interval *found = irt_interval_find(&reservations, (uintptr_t)address);
    if (found) {
        const struct mapping *mapping = mapping_at(address);
        *ret_info = (struct irt_virtual_info){
            .reserved = (void *)found->start,
            .reserved_size = found->size,
            .handle_types = mapping ? mapping->physical->prop.requestedHandleTypes : 0,
        };
    }
    irt_mutex_unlock(&lock);
    return found != NULL;
}
