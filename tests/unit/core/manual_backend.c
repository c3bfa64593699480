// SPDX-License-Identifier: Apache-2.0
//
// See manual_backend.h. One mutex guards everything; host functions run without it. Nothing is ever
// freed but queues that have run empty, so that mistakes of the shim cannot hide behind reuse.
#include "manual_backend.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"

enum { DEVICES = 2, VARIABLES = 8 };

struct record {
    bool done;
    struct op *op; // where it was queued, for precedes()
};

struct op {
    void (*function)(void *);
    void *argument;
    struct record *record; // recorded here
    struct record *wait;   // waited for here
    struct op *next;
    struct op *before; // the one before in the stream, also when that has run
    bool done;
    unsigned mark;
};

struct irtb_stream {
    int device;
    struct op *first, *last;
    struct op *latest; // the last one ever queued
    struct irtb_stream *next;
};

struct irtb_event {
    struct record *record;
};

struct irtb_module {
    char *text;
    int device;
    struct variable {
        char name[64];
        int storage;
        void *bound;
        bool managed;
    } variables[VARIABLES];
};

struct irtb_function {
    char name[64];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct irtb_stream *streams;
static size_t queued, module_count, launch_count;
static unsigned mark;
static const char *last_launched = "", *last_unit = "";

// ---- queues ----

static cudaError_t enqueue(struct irtb_stream *stream, struct op op)
{
    struct op *own = malloc(sizeof(*own));
    *own = op;
    pthread_mutex_lock(&lock);
    own->before = stream->latest;
    stream->latest = own;
    if (own->record) {
        own->record->op = own;
    }
    if (stream->last) {
        stream->last->next = own;
    } else {
        stream->first = own;
    }
    stream->last = own;
    queued++;
    pthread_mutex_unlock(&lock);
    return cudaSuccess;
}

static bool can_run(const struct irtb_stream *stream)
{
    return stream->first && !(stream->first->wait && !stream->first->wait->done);
}

static bool run_one(unsigned choice)
{
    pthread_mutex_lock(&lock);
    unsigned free_to_run = 0;
    for (struct irtb_stream *s = streams; s; s = s->next) {
        free_to_run += can_run(s);
    }
    struct op *op = NULL;
    if (free_to_run) {
        unsigned skip = choice % free_to_run;
        struct irtb_stream *s = streams;
        while (!can_run(s) || skip-- > 0) {
            s = s->next;
        }
        op = s->first;
        if (!op->function) { // events take effect at once, functions when they have returned
            s->first = op->next;
            s->last = s->first ? s->last : NULL;
        } else {
            pthread_mutex_unlock(&lock);
            op->function(op->argument);
            pthread_mutex_lock(&lock);
            s->first = op->next;
            s->last = s->first ? s->last : NULL;
        }
        op->done = true;
        if (op->record) {
            op->record->done = true;
        }
        queued--;
    }
    pthread_mutex_unlock(&lock);
    return op != NULL;
}

// Whether `target` is reached from `op` backwards over queues and waits.
static bool reaches(struct op *op, const struct op *target)
{
    while (op && op != target && op->mark != mark) {
        op->mark = mark;
        if (op->wait && op->wait->op && reaches(op->wait->op, target)) {
            return true;
        }
        op = op->before;
    }
    return op == target;
}

static struct op *find(const void *argument)
{
    for (struct irtb_stream *s = streams; s; s = s->next) {
        for (struct op *op = s->first; op; op = op->next) {
            if (op->function && *(void *const *)op->argument == argument) {
                return op;
            }
        }
    }
    return NULL;
}

static bool precedes(const void *before, const void *after)
{
    pthread_mutex_lock(&lock);
    struct op *first = find(before), *second = find(after);
    mark++;
    bool result = first && second && first != second && reaches(second, first);
    pthread_mutex_unlock(&lock);
    return result;
}

static size_t pending(void)
{
    return queued;
}

static size_t modules(void)
{
    return module_count;
}

static size_t launches(void)
{
    return launch_count;
}

static const char *last_kernel(void)
{
    return last_launched;
}

static const char *last_text(void)
{
    return last_unit;
}

__attribute__((visibility("default"))) const struct manual_control manual_control = {
    run_one, pending, precedes, modules, launches, last_kernel, last_text};

// ---- backend ----

static cudaError_t init(const struct irtb_host *host, char *ret_why, size_t why_size)
{
    return cudaSuccess;
}

static cudaError_t device_count(int *ret_count)
{
    *ret_count = DEVICES;
    return cudaSuccess;
}

static cudaError_t device_info(int device, struct irtb_device_info *ret_info)
{
    struct irtb_device_info info = {
        .prop = {.name = "manual",
                 .major = 8,
                 .maxThreadsPerBlock = 1024,
                 .maxThreadsDim = {1024, 1024, 64},
                 .maxGridSize = {2147483647, 65535, 65535},
                 .sharedMemPerBlock = 48 << 10,
                 .sharedMemPerBlockOptin = 99 << 10,
                 .cooperativeLaunch = 1,
                 .multiProcessorCount = 2},
    };
    info.prop.pciBusID = device + 1;
    *ret_info = info;
    return cudaSuccess;
}

static cudaError_t stream_query(struct irtb_stream *stream)
{
    pthread_mutex_lock(&lock);
    bool busy = stream->first != NULL;
    pthread_mutex_unlock(&lock);
    return busy ? cudaErrorNotReady : cudaSuccess;
}

static cudaError_t stream_synchronize(struct irtb_stream *stream)
{
    while (stream_query(stream) == cudaErrorNotReady) {
        if (!run_one(0)) {
            return cudaErrorUnknown; // a cycle: nothing can ever run
        }
    }
    return cudaSuccess;
}

static cudaError_t device_synchronize(int device)
{
    while (pending() > 0) {
        if (!run_one(0)) {
            return cudaErrorUnknown;
        }
    }
    return cudaSuccess;
}

static cudaError_t device_reset(int device)
{
    return cudaSuccess;
}

static cudaError_t memory_alloc(int device, enum irtb_memory_kind kind, size_t size, unsigned flags,
                                void **ret_ptr)
{
    *ret_ptr = aligned_alloc(512, (size + 511) & ~(size_t)511);
    return *ret_ptr ? cudaSuccess : cudaErrorMemoryAllocation;
}

static cudaError_t memory_free(int device, enum irtb_memory_kind kind, void *ptr)
{
    free(ptr);
    return cudaSuccess;
}

static cudaError_t stream_create(int device, int priority, struct irtb_stream **ret_stream)
{
    struct irtb_stream *stream = calloc(1, sizeof(*stream));
    stream->device = device;
    pthread_mutex_lock(&lock);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&lock);
    *ret_stream = stream;
    return cudaSuccess;
}

static void stream_destroy(struct irtb_stream *stream)
{
}

static cudaError_t event_create(int device, bool timing, bool blocking, struct irtb_event **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return cudaSuccess;
}

static void event_destroy(struct irtb_event *event)
{
    event->record = NULL;
}

static cudaError_t event_record(struct irtb_event *event, struct irtb_stream *stream)
{
    struct record *record = calloc(1, sizeof(*record));
    event->record = record;
    return enqueue(stream, (struct op){.record = record});
}

static cudaError_t event_query(struct irtb_event *event)
{
    return event->record && !event->record->done ? cudaErrorNotReady : cudaSuccess;
}

static cudaError_t event_synchronize(struct irtb_event *event)
{
    while (event_query(event) == cudaErrorNotReady) {
        if (!run_one(0)) {
            return cudaErrorUnknown;
        }
    }
    return cudaSuccess;
}

static cudaError_t event_elapsed(struct irtb_event *start, struct irtb_event *end, double *ret_ms)
{
    *ret_ms = 1.0;
    return cudaSuccess;
}

static cudaError_t stream_wait_event(struct irtb_stream *stream, struct irtb_event *event)
{
    return event->record ? enqueue(stream, (struct op){.wait = event->record}) : cudaSuccess;
}

// The shim passes a function and argument of its own; its argument begins with what find() looks
// for only if the shim put it there, so the tests' functions get a box of their own.
struct call {
    void *user;
    void (*function)(void *);
    void *argument;
};

static void run_call(void *argument)
{
    struct call *call = argument;
    call->function(call->argument);
}

static cudaError_t host_func(struct irtb_stream *stream, void (*function)(void *), void *argument,
                             bool always)
{
    struct call *call = malloc(sizeof(*call));
    // The test's argument is the last pointer of the shim's record (shim/core/host_func.c).
    *call = (struct call){((void **)argument)[4], function, argument};
    return enqueue(stream, (struct op){.function = run_call, .argument = call});
}

static void run_nothing(void *argument)
{
}

static cudaError_t launch(struct irtb_stream *stream, const struct irtb_launch *l)
{
    static void *const none;
    launch_count++;
    last_launched = l->function->name;
    return enqueue(stream, (struct op){.function = run_nothing, .argument = (void *)&none});
}

static cudaError_t module_load(int device, const struct irtb_code_unit *units, size_t count,
                               struct irtb_module **ret_module)
{
    struct irtb_module *module = calloc(1, sizeof(*module));
    module->device = device;
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += units[i].size;
    }
    module->text = calloc(1, size);
    for (size_t i = 0; i < count; i++) {
        strcat(module->text, units[i].text);
    }
    last_unit = strdup(module->text);
    size_t n = 0;
    for (const char *p = module->text; n < VARIABLES && (p = strstr(p, ".global ")); n++) {
        p += strlen(".global ");
        struct variable *v = &module->variables[n];
        v->managed = strncmp(p, "managed ", 8) == 0;
        sscanf(p + (v->managed ? 8 : 0), "%63[a-z_0-9] = %d", v->name, &v->storage);
        v->bound = &v->storage;
    }
    module_count++;
    *ret_module = module;
    return cudaSuccess;
}

static void module_unload(struct irtb_module *module)
{
    module_count--;
}

static cudaError_t module_function(struct irtb_module *module, const char *name,
                                   struct irtb_function **ret_function)
{
    char entry[96];
    snprintf(entry, sizeof(entry), ".entry %s(", name);
    if (!strstr(module->text, entry)) {
        return cudaErrorInvalidDeviceFunction;
    }
    struct irtb_function *function = calloc(1, sizeof(*function));
    snprintf(function->name, sizeof(function->name), "%s", name);
    *ret_function = function;
    return cudaSuccess;
}

static struct variable *find_variable(struct irtb_module *module, const char *name)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        if (strcmp(module->variables[i].name, name) == 0) {
            return &module->variables[i];
        }
    }
    return NULL;
}

static cudaError_t module_variable(struct irtb_module *module, const char *name, void **ret_ptr,
                                   size_t *ret_size, bool *ret_managed)
{
    struct variable *v = find_variable(module, name);
    if (!v) {
        return cudaErrorSymbolNotFound;
    }
    *ret_ptr = v->bound;
    *ret_size = sizeof(v->storage);
    *ret_managed = v->managed;
    return cudaSuccess;
}

static cudaError_t module_bind_variable(struct irtb_module *module, const char *name, void *ptr)
{
    struct variable *v = find_variable(module, name);
    if (!v) {
        return cudaErrorSymbolNotFound;
    }
    v->bound = ptr;
    return cudaSuccess;
}

static cudaError_t function_info(struct irtb_function *function, struct irtb_function_info *ret)
{
    *ret = (struct irtb_function_info){
        .attributes = {.maxThreadsPerBlock = 1024, .maxDynamicSharedSizeBytes = 48 << 10}};
    return cudaSuccess;
}

static cudaError_t function_set_attribute(struct irtb_function *function,
                                          enum cudaFuncAttribute attribute, int value)
{
    return cudaSuccess;
}

// 16 blocks at most, 100 KiB of shared memory.
static cudaError_t function_occupancy(struct irtb_function *function, int block_size,
                                      size_t dynamic_shared, int *ret_blocks)
{
    int by_threads = 2048 / block_size, by_shared = 16;
    if (dynamic_shared) {
        by_shared = (int)((100 << 10) / dynamic_shared);
    }
    int blocks = by_threads < by_shared ? by_threads : by_shared;
    *ret_blocks = blocks < 16 ? blocks : 16;
    return cudaSuccess;
}

static cudaError_t copy(struct irtb_stream *stream, const struct irtb_copy *c)
{
    memcpy(c->dst, c->src, c->width); // rows are not needed by these tests
    return cudaSuccess;
}

static const struct irtb_backend backend = {
    .abi_version = IRTB_ABI_VERSION,
    .struct_size = sizeof(struct irtb_backend),
    .name = "cpu",
    .init = init,
    .device_count = device_count,
    .device_info = device_info,
    .device_synchronize = device_synchronize,
    .device_reset = device_reset,
    .memory_alloc = memory_alloc,
    .memory_free = memory_free,
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
    .host_func = host_func,
    .launch = launch,
    .module_load = module_load,
    .module_unload = module_unload,
    .module_function = module_function,
    .module_variable = module_variable,
    .module_bind_variable = module_bind_variable,
    .function_info = function_info,
    .function_set_attribute = function_set_attribute,
    .function_occupancy = function_occupancy,
};

__attribute__((visibility("default"))) const struct irtb_backend *irtb_backend_entry(void)
{
    return &backend;
}
