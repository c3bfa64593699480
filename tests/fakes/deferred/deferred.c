// SPDX-License-Identifier: Apache-2.0
//
// A backend for tests of the shim: no operation is done before somebody waits for it, on the thread
// that waits. So what a call leaves undone shows without any timing, and what it has waited for is
// done. Checks the rules of backends/backend.h as it goes and counts violations, which tests read
// with deferred_violations(). Two devices of 64 MiB; no modules, no launches. Not for programs.
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"

enum { DEVICES = 2, ALLOCATIONS = 4096, BUDGET = 64 << 20 };

struct irtb_event {
    struct irtb_event *next_destroyed;
    struct irtb_stream *stream; // of the last record
    unsigned long long recorded, done;
    int device;
    bool timing;
};

enum operation { OPERATION_COPY, OPERATION_FILL, OPERATION_HOST, OPERATION_RECORD, OPERATION_WAIT };

struct work {
    struct work *next;
    enum operation operation;
    struct irtb_copy copy;
    struct irtb_fill fill;
    void (*function)(void *);
    void *argument;
    bool always;
    struct irtb_event *event;
    struct irtb_stream *where; // WAIT: of the record that is waited for
    unsigned long long number;
};

struct irtb_stream {
    struct irtb_stream *next;
    struct work *first, **last;
    int device;
    bool dead;
};

struct allocation {
    char *start;
    size_t size;
    int device;
    enum irtb_memory_kind kind;
};

// Recursive: a host function of a test may wait for nothing, but freeing works from there.
static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static const struct irtb_host *host;
static struct irtb_stream *streams;
static struct allocation allocations[ALLOCATIONS];
static size_t used[DEVICES];
static struct irtb_event *destroyed; // may still be waited for: kept
static unsigned violations;
static cudaError_t fault_next; // what the next copy ends with, for tests of sticky errors

__attribute__((visibility("default"))) unsigned deferred_violations(void);
__attribute__((visibility("default"))) void deferred_fail_next_copy(cudaError_t error);
__attribute__((visibility("default"))) unsigned deferred_allocations(void);

unsigned deferred_violations(void)
{
    return violations;
}

void deferred_fail_next_copy(cudaError_t error)
{
    fault_next = error;
}

unsigned deferred_allocations(void)
{
    unsigned count = 0;
    for (int i = 0; i < ALLOCATIONS; i++) {
        count += allocations[i].start != NULL;
    }
    return count;
}

static void violation(const char *what)
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
    pthread_mutex_lock(&lock);
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
        violation("allocation of no bytes");
    }
    pthread_mutex_unlock(&lock);
    return start ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t memory_free(int device, enum irtb_memory_kind kind, void *ptr)
{
    pthread_mutex_lock(&lock);
    struct allocation *a = find(ptr);
    if (!a || a->start != ptr || a->device != device || a->kind != kind) {
        violation("free of what was not allocated so");
    } else {
        memset(a->start, 0xdd, a->size);
        free(a->start);
        used[device] -= a->size;
        a->start = NULL;
    }
    pthread_mutex_unlock(&lock);
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
        violation("copy names a device that does not own the memory");
    } else if (device < 0 && on_device && a->kind == IRTB_MEMORY_DEVICE) {
        violation("copy takes device memory for host memory");
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

static bool step(struct irtb_stream *stream);

static void run_until(struct irtb_event *event, struct irtb_stream *where,
                      unsigned long long number)
{
    while (event->done < number && step(where)) {
    }
}

// Does the first operation of the stream; false when there is none.
static bool step(struct irtb_stream *stream)
{
    struct work *work = stream->first;
    if (!work) {
        return false;
    }
    stream->first = work->next;
    if (!stream->first) {
        stream->last = &stream->first;
    }
    switch (work->operation) {
    case OPERATION_COPY:
        do_copy(&work->copy, stream->device);
        break;
    case OPERATION_FILL:
        do_fill(&work->fill);
        break;
    case OPERATION_HOST:
        work->function(work->argument);
        break;
    case OPERATION_RECORD:
        work->event->done = work->number;
        break;
    case OPERATION_WAIT:
        run_until(work->event, work->where, work->number);
        break;
    }
    free(work);
    return true;
}

static void run_all(struct irtb_stream *stream)
{
    while (step(stream)) {
    }
}

static cudaError_t enqueue(struct irtb_stream *stream, const struct work *what)
{
    struct work *work = malloc(sizeof *work);
    if (!work) {
        return cudaErrorMemoryAllocation;
    }
    *work = *what;
    work->next = NULL;
    pthread_mutex_lock(&lock);
    if (stream->dead) {
        violation("work for a destroyed stream");
    }
    *stream->last = work;
    stream->last = &work->next;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

static cudaError_t device_synchronize(int device)
{
    pthread_mutex_lock(&lock);
    for (struct irtb_stream *s = streams; s; s = s->next) {
        if (s->device == device) {
            run_all(s);
        }
    }
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

static cudaError_t device_reset(int device)
{
    for (int i = 0; i < ALLOCATIONS; i++) {
        if (allocations[i].start && allocations[i].device == device) {
            violation("memory left at reset");
        }
    }
    return cudaSuccess;
}

// ---- streams and events ----

static cudaError_t stream_create(int device, int priority, struct irtb_stream **ret_stream)
{
    (void)priority;
    struct irtb_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        return cudaErrorMemoryAllocation;
    }
    stream->device = device;
    stream->last = &stream->first;
    pthread_mutex_lock(&lock);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&lock);
    *ret_stream = stream;
    return cudaSuccess;
}

static void stream_destroy(struct irtb_stream *stream)
{
    stream->dead = true; // its work is still done when the device is waited for
}

static cudaError_t stream_query(struct irtb_stream *stream)
{
    return stream->first ? cudaErrorNotReady : cudaSuccess;
}

static cudaError_t stream_synchronize(struct irtb_stream *stream)
{
    pthread_mutex_lock(&lock);
    run_all(stream);
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

static cudaError_t event_create(int device, bool timing, bool blocking, struct irtb_event **ret)
{
    (void)blocking;
    struct irtb_event *event = calloc(1, sizeof *event);
    if (!event) {
        return cudaErrorMemoryAllocation;
    }
    event->device = device;
    event->timing = timing;
    *ret = event;
    return cudaSuccess;
}

static void event_destroy(struct irtb_event *event)
{
    pthread_mutex_lock(&lock);
    event->next_destroyed = destroyed;
    destroyed = event;
    pthread_mutex_unlock(&lock);
}

static cudaError_t event_record(struct irtb_event *event, struct irtb_stream *stream)
{
    event->stream = stream;
    struct work work = {.operation = OPERATION_RECORD, .event = event, .number = ++event->recorded};
    return enqueue(stream, &work);
}

static cudaError_t event_query(struct irtb_event *event)
{
    return event->done < event->recorded ? cudaErrorNotReady : cudaSuccess;
}

static cudaError_t event_synchronize(struct irtb_event *event)
{
    pthread_mutex_lock(&lock);
    run_until(event, event->stream, event->recorded);
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

static cudaError_t event_elapsed(struct irtb_event *start, struct irtb_event *end, double *ret_ms)
{
    *ret_ms = start->timing && end->timing ? 1 : 0;
    return cudaSuccess;
}

static cudaError_t stream_wait_event(struct irtb_stream *stream, struct irtb_event *event)
{
    struct work work = {.operation = OPERATION_WAIT,
                        .event = event,
                        .where = event->stream,
                        .number = event->recorded};
    return event->recorded > event->done ? enqueue(stream, &work) : cudaSuccess;
}

// ---- work ----

static cudaError_t copy(struct irtb_stream *stream, const struct irtb_copy *what)
{
    if (what->kind == cudaMemcpyDefault || what->width == 0 || what->height == 0 ||
        what->depth == 0 ||
        (what->height > 1 && (what->dst_pitch < what->width || what->src_pitch < what->width))) {
        violation("copy is not normalised");
    }
    struct work work = {.operation = OPERATION_COPY, .copy = *what};
    return enqueue(stream, &work);
}

static cudaError_t fill(struct irtb_stream *stream, const struct irtb_fill *what)
{
    if (what->element_size != 1 || what->width == 0 || what->height == 0 || what->depth == 0) {
        violation("fill is not normalised");
    }
    struct work work = {.operation = OPERATION_FILL, .fill = *what};
    return enqueue(stream, &work);
}

static cudaError_t host_func(struct irtb_stream *stream, void (*function)(void *), void *argument,
                             bool always)
{
    struct work work = {
        .operation = OPERATION_HOST, .function = function, .argument = argument, .always = always};
    return enqueue(stream, &work);
}

static const struct irtb_backend backend = {
    .abi_version = IRTB_ABI_VERSION,
    .struct_size = sizeof(struct irtb_backend),
    .name = "deferred",
    .init = init,
    .device_count = device_count,
    .device_info = device_info,
    .device_synchronize = device_synchronize,
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
    .stream_create = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
    .stream_wait_event = stream_wait_event,
    .copy = copy,
    .fill = fill,
    .host_func = host_func,
};

__attribute__((visibility("default"))) const struct irtb_backend *irtb_backend_entry(void)
{
    return &backend;
}
