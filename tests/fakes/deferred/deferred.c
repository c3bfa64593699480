// SPDX-License-Identifier: Apache-2.0
//
// Devices, memory, copies and fills of the deferred backend, and its table; see deferred.h. The
// queues are in queue.c, modules and launches in modules.c.
#include "deferred.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "modules.h"
#include "queue.h"
#include "backends/backend.h"

enum { DEVICES = 2, ALLOCATIONS = 4096, BUDGET = 64 << 20 };

struct allocation {
    char *start;
    size_t size;
    int device;
    enum irtb_memory_kind kind;
};

static const struct irtb_host *host;
static struct allocation allocations[ALLOCATIONS];
static size_t used[DEVICES];
static unsigned violations;
static cudaError_t fault_next; // what the next copy ends with, for tests of sticky errors

__attribute__((visibility("default"))) unsigned deferred_violations(void)
{
    return violations;
}

__attribute__((visibility("default"))) void deferred_fail_next_copy(cudaError_t error)
{
    fault_next = error;
}

__attribute__((visibility("default"))) unsigned deferred_allocations(void)
{
    unsigned count = 0;
    for (int i = 0; i < ALLOCATIONS; i++) {
        count += allocations[i].start != NULL;
    }
    return count;
}

void deferred_violation(const char *what)
{
    violations++;
    host->log("deferred", 0, "contract violation: %s", what);
}

// ---- devices ----

static cudaError_t init(const struct irtb_host *from, char *ret_why, size_t why_size)
{
    host = from;
    const char *wanted = getenv("DEFERRED_FAILS");
    if (wanted) {
        snprintf(ret_why, why_size, "%s", wanted);
        return cudaErrorInitializationError;
    }
    return cudaSuccess;
}

static cudaError_t device_count(int *ret_count)
{
    *ret_count = DEVICES;
    return cudaSuccess;
}

static cudaError_t device_info(int device, struct irtb_device_info *ret_info)
{
    memset(ret_info, 0, sizeof *ret_info);
    struct cudaDeviceProp *prop = &ret_info->prop;
    snprintf(prop->name, sizeof prop->name, "deferred %d", device);
    memset(prop->uuid.bytes, 0xa0 + device, sizeof prop->uuid.bytes);
    prop->totalGlobalMem = BUDGET;
    prop->memPitch = 0x7fffffff;
    prop->major = 8;
    prop->warpSize = 32;
    prop->pciBusID = 1 + device;
    prop->managedMemory = 1;
    prop->concurrentManagedAccess = 1;
    prop->pageableMemoryAccess = 1;
    prop->canMapHostMemory = 1;
    prop->hostRegisterSupported = 1;
    prop->maxThreadsPerBlock = 1024;
    memcpy(prop->maxThreadsDim, (const int[3]){1024, 1024, 64}, sizeof prop->maxThreadsDim);
    memcpy(prop->maxGridSize, (const int[3]){2147483647, 65535, 65535}, sizeof prop->maxGridSize);
    prop->sharedMemPerBlock = 48 << 10;
    prop->sharedMemPerBlockOptin = 99 << 10;
    prop->cooperativeLaunch = 1;
    prop->multiProcessorCount = 2;
    return cudaSuccess;
}

static cudaError_t get_limit(int device, enum cudaLimit limit, size_t *ret_value)
{
    (void)device;
    *ret_value = 1024u * (1u + (unsigned)limit);
    return cudaSuccess;
}

static cudaError_t set_limit(int device, enum cudaLimit limit, size_t value)
{
    (void)device;
    (void)limit;
    (void)value;
    return cudaSuccess;
}

static cudaError_t memory_info(int device, size_t *ret_free, size_t *ret_total)
{
    *ret_free = BUDGET - used[device];
    *ret_total = BUDGET;
    return cudaSuccess;
}

static cudaError_t can_access_peer(int device, int peer, int *ret_can)
{
    *ret_can = device != peer;
    return cudaSuccess;
}

static cudaError_t change_peer(int device, int peer)
{
    return device == peer ? cudaErrorInvalidDevice : cudaSuccess;
}

// ---- memory ----

static struct allocation *find(const void *ptr)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        struct allocation *a = &allocations[i];
        if (a->start && (const char *)ptr >= a->start && (const char *)ptr < a->start + a->size) {
            return a;
        }
    }
    return NULL;
}

static cudaError_t memory_alloc(int device, enum irtb_memory_kind kind, size_t size, unsigned flags,
                                void **ret_ptr)
{
    (void)flags;
    struct allocation *slot = NULL;
    pthread_mutex_lock(&deferred_lock);
    for (int i = 0; i < ALLOCATIONS && !slot; i++) {
        slot = allocations[i].start ? NULL : &allocations[i];
    }
    bool fits = slot && size <= BUDGET && used[device] + size <= BUDGET;
    char *start = fits ? aligned_alloc(4096, (size + 4095) & ~(size_t)4095) : NULL;
    if (start) {
        memset(start, 0xcc, size);
        *slot = (struct allocation){.start = start, .size = size, .device = device, .kind = kind};
        used[device] += size;
        *ret_ptr = start;
    }
    if (size == 0) {
        deferred_violation("allocation of no bytes");
    }
    pthread_mutex_unlock(&deferred_lock);
    return start ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t memory_free(int device, enum irtb_memory_kind kind, void *ptr)
{
    pthread_mutex_lock(&deferred_lock);
    struct allocation *a = find(ptr);
    if (!a || a->start != ptr || a->device != device || a->kind != kind) {
        deferred_violation("free of what was not allocated so");
    } else {
        memset(a->start, 0xdd, a->size);
        free(a->start);
        used[device] -= a->size;
        a->start = NULL;
    }
    pthread_mutex_unlock(&deferred_lock);
    return cudaSuccess;
}

static cudaError_t host_register(int device, void *ptr, size_t size, unsigned flags,
                                 void **ret_device_ptr)
{
    (void)device;
    (void)size;
    (void)flags;
    *ret_device_ptr = ptr;
    return cudaSuccess;
}

static cudaError_t host_unregister(int device, void *ptr)
{
    (void)device;
    return ptr ? cudaSuccess : cudaErrorInvalidValue;
}

// ---- doing the work ----

static void check_side(const void *ptr, int device)
{
    const struct allocation *a = find(ptr);
    bool on_device = a && a->kind != IRTB_MEMORY_HOST;
    if (device >= 0 && (!on_device || a->device != device)) {
        deferred_violation("copy names a device that does not own the memory");
    } else if (device < 0 && on_device && a->kind == IRTB_MEMORY_DEVICE) {
        deferred_violation("copy takes device memory for host memory");
    }
}

static void do_copy(const struct irtb_copy *c, int device)
{
    check_side(c->dst, c->dst_device);
    check_side(c->src, c->src_device);
    if (fault_next) {
        host->device_lost(device, fault_next);
        fault_next = cudaSuccess;
        return;
    }
    for (size_t z = 0; z < c->depth; z++) {
        for (size_t y = 0; y < c->height; y++) {
            memmove((char *)c->dst + z * c->dst_slice + y * c->dst_pitch,
                    (const char *)c->src + z * c->src_slice + y * c->src_pitch, c->width);
        }
    }
}

static void do_fill(const struct irtb_fill *f)
{
    for (size_t z = 0; z < f->depth; z++) {
        for (size_t y = 0; y < f->height; y++) {
            memset((char *)f->dst + z * f->slice + y * f->pitch, (int)f->value, f->width);
        }
    }
}

static cudaError_t device_reset(int device)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (allocations[i].start && allocations[i].device == device) {
            deferred_violation("memory left at reset");
        }
    }
    return cudaSuccess;
}

// ---- work ----

// An operation; begins with what deferred_control.precedes looks for.
struct work {
    void *user;
    int device;
    struct irtb_copy copy;
    struct irtb_fill fill;
    void (*function)(void *);
    void *argument;
};

static cudaError_t enqueue(struct irtb_stream *stream, void (*run)(void *), struct work work)
{
    struct work *own = malloc(sizeof *own);
    if (!own) {
        return cudaErrorMemoryAllocation;
    }
    *own = work;
    own->device = deferred_stream_device(stream);
    return deferred_enqueue(stream, run, own);
}

static void run_copy(void *argument)
{
    const struct work *work = argument;
    do_copy(&work->copy, work->device);
}

static void run_fill(void *argument)
{
    const struct work *work = argument;
    do_fill(&work->fill);
}

static void run_host(void *argument)
{
    const struct work *work = argument;
    work->function(work->argument);
}

static cudaError_t copy(struct irtb_stream *stream, const struct irtb_copy *what)
{
    if (what->kind == cudaMemcpyDefault || what->width == 0 || what->height == 0 ||
        what->depth == 0 ||
        (what->height > 1 && (what->dst_pitch < what->width || what->src_pitch < what->width))) {
        deferred_violation("copy is not normalised");
    }
    return enqueue(stream, run_copy, (struct work){.copy = *what});
}

static cudaError_t fill(struct irtb_stream *stream, const struct irtb_fill *what)
{
    if (what->element_size != 1 || what->width == 0 || what->height == 0 || what->depth == 0) {
        deferred_violation("fill is not normalised");
    }
    return enqueue(stream, run_fill, (struct work){.fill = *what});
}

// The argument of a test's function is the last pointer of the shim's record
// (shim/core/host_func.c); other records may be smaller.
static void *user_of(void *argument)
{
    enum { USER_DATA = 4 };
    bool large = argument && malloc_usable_size(argument) >= (USER_DATA + 1) * sizeof(void *);
    return large ? ((void **)argument)[USER_DATA] : NULL;
}

static cudaError_t host_func(struct irtb_stream *stream, void (*function)(void *), void *argument,
                             bool always)
{
    (void)always;
    return enqueue(
        stream, run_host,
        (struct work){.user = user_of(argument), .function = function, .argument = argument});
}

__attribute__((visibility("default"))) const struct deferred_control deferred_control = {
    .run_one = deferred_run_one,
    .pending = deferred_pending,
    .precedes = deferred_precedes,
    .modules = deferred_modules,
    .launches = deferred_launches,
    .last_kernel = deferred_last_kernel,
    .last_text = deferred_last_text,
};

static const struct irtb_backend backend = {
    .abi_version = IRTB_ABI_VERSION,
    .struct_size = sizeof(struct irtb_backend),
    .name = "deferred",
    .init = init,
    .device_count = device_count,
    .device_info = device_info,
    .device_synchronize = deferred_device_synchronize,
    .device_reset = device_reset,
    .device_get_limit = get_limit,
    .device_set_limit = set_limit,
    .device_memory_info = memory_info,
    .device_can_access_peer = can_access_peer,
    .device_enable_peer = change_peer,
    .device_disable_peer = change_peer,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
    .host_register = host_register,
    .host_unregister = host_unregister,
    .stream_create = deferred_stream_create,
    .stream_destroy = deferred_stream_destroy,
    .stream_query = deferred_stream_query,
    .stream_synchronize = deferred_stream_synchronize,
    .event_create = deferred_event_create,
    .event_destroy = deferred_event_destroy,
    .event_record = deferred_event_record,
    .event_query = deferred_event_query,
    .event_synchronize = deferred_event_synchronize,
    .event_elapsed = deferred_event_elapsed,
    .stream_wait_event = deferred_stream_wait_event,
    .copy = copy,
    .fill = fill,
    .host_func = host_func,
    .launch = deferred_launch,
    .module_load = deferred_module_load,
    .module_unload = deferred_module_unload,
    .module_function = deferred_module_function,
    .module_variable = deferred_module_variable,
    .module_bind_variable = deferred_module_bind_variable,
    .function_info = deferred_function_info,
    .function_set_attribute = deferred_function_set_attribute,
    .function_occupancy = deferred_function_occupancy,
};

__attribute__((visibility("default"))) const struct irtb_backend *irtb_backend_entry(void)
{
    return &backend;
}
