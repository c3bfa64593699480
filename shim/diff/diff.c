// SPDX-License-Identifier: Apache-2.0
//
// See diff.h: the table of operations. work.c has copies, fills and launches; here: devices,
// memory, streams, events, modules.
#include "shim/diff/diff.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "shim/diff/inside.h"
#include "shim/diff/work.h"
#include "shim/util/log.h"

struct irt_diff_state irt_diff_state;
pthread_mutex_t irt_diff_lock = PTHREAD_MUTEX_INITIALIZER;
static struct irtb_backend table;
static bool twins; // both sides are one backend: what concerns a device is done once

#define A irt_diff_state.side[DIFF_A].backend
#define B irt_diff_state.side[DIFF_B].backend

struct irtb_event {
    struct irtb_event *side[2];
};

// ---- devices ----

static void at_exit(void)
{
    if (A->at_exit) {
        A->at_exit();
    }
    if (!twins && B->at_exit) {
        B->at_exit();
    }
}

static cudaError_t device_synchronize(int device)
{
    cudaError_t e = A->device_synchronize(device);
    if (!twins) {
        irt_diff_tell("cudaDeviceSynchronize", B->device_synchronize(device));
    }
    return e;
}

static cudaError_t device_reset(int device)
{
    pthread_mutex_lock(&irt_diff_lock);
    irt_diff_drop_streams(device);
    cudaError_t e = A->device_reset(device);
    if (!twins) {
        irt_diff_tell("cudaDeviceReset", B->device_reset(device));
    }
    pthread_mutex_unlock(&irt_diff_lock);
    return e;
}

static cudaError_t device_set_limit(int device, enum cudaLimit limit, size_t value)
{
    cudaError_t e = A->device_set_limit(device, limit, value);
    if (!e && !twins) {
        irt_diff_tell("cudaDeviceSetLimit", B->device_set_limit(device, limit, value));
    }
    return e;
}

static cudaError_t device_enable_peer(int device, int peer)
{
    cudaError_t e = A->device_enable_peer(device, peer);
    if (!e && !twins) {
        irt_diff_tell("cudaDeviceEnablePeerAccess", B->device_enable_peer(device, peer));
    }
    return e;
}

static cudaError_t device_disable_peer(int device, int peer)
{
    cudaError_t e = A->device_disable_peer(device, peer);
    if (!e && !twins) {
        irt_diff_tell("cudaDeviceDisablePeerAccess", B->device_disable_peer(device, peer));
    }
    return e;
}

// ---- memory ----

static cudaError_t memory_alloc(int device, enum irtb_memory_kind kind, size_t size, unsigned flags,
                                void **ret_ptr)
{
    void *a, *b;
    cudaError_t e = A->memory_alloc(device, kind, size, flags, &a);
    if (e) {
        return e;
    }
    e = B->memory_alloc(device, kind, size, flags, &b);
    if (e) {
        irt_notice("diff: %s has no memory for the shadow of %zu bytes",
                   irt_diff_state.side[DIFF_B].name, size);
        A->memory_free(device, kind, a);
        return e;
    }
    const struct irt_diff_memory memory = {.a = a,
                                           .b = b,
                                           .size = size,
                                           .device = device,
                                           .host = kind != IRTB_MEMORY_DEVICE,
                                           .kind = kind};
    pthread_mutex_lock(&irt_diff_lock);
    e = irt_diff_remember(&memory) ? irt_diff_clear(&memory) : cudaErrorMemoryAllocation;
    if (e) {
        irt_diff_forget(a);
    }
    pthread_mutex_unlock(&irt_diff_lock);
    if (e) {
        A->memory_free(device, kind, a);
        B->memory_free(device, kind, b);
        return e;
    }
    *ret_ptr = a;
    return cudaSuccess;
}

// Forgets the memory that starts at `a`; its shadow, or NULL.
static void *forget(const void *a, int *ret_device)
{
    void *b = NULL;
    pthread_mutex_lock(&irt_diff_lock);
    struct irt_diff_memory *m = irt_diff_find(a);
    if (m && m->a == a) {
        b = m->b;
        *ret_device = m->device;
        irt_diff_forget(a);
    }
    pthread_mutex_unlock(&irt_diff_lock);
    return b;
}

static cudaError_t memory_free(int device, enum irtb_memory_kind kind, void *ptr)
{
    int where = device;
    void *b = forget(ptr, &where);
    if (b) {
        B->memory_free(device, kind, b);
    }
    return A->memory_free(device, kind, ptr);
}

static cudaError_t host_register(int device, void *ptr, size_t size, unsigned flags,
                                 void **ret_device_ptr)
{
    void *seen, *b;
    cudaError_t e = A->host_register(device, ptr, size, flags, &seen);
    if (e) {
        return e;
    }
    e = seen == ptr ? B->memory_alloc(device, IRTB_MEMORY_HOST, size, 0, &b)
                    : cudaErrorNotSupported;
    if (!e) {
        pthread_mutex_lock(&irt_diff_lock);
        bool known = irt_diff_remember(&(struct irt_diff_memory){.a = ptr,
                                                                 .b = b,
                                                                 .size = size,
                                                                 .device = device,
                                                                 .host = true,
                                                                 .kind = IRTB_MEMORY_HOST});
        pthread_mutex_unlock(&irt_diff_lock);
        if (!known) {
            B->memory_free(device, IRTB_MEMORY_HOST, b);
            e = cudaErrorMemoryAllocation;
        }
    }
    if (e) {
        A->host_unregister(device, ptr);
        return e;
    }
    *ret_device_ptr = seen;
    return cudaSuccess;
}

static cudaError_t host_unregister(int device, void *ptr)
{
    int where = device;
    void *b = forget(ptr, &where);
    if (b) {
        B->memory_free(where, IRTB_MEMORY_HOST, b);
    }
    return A->host_unregister(device, ptr);
}

// ---- streams and events ----

static cudaError_t stream_create(int device, int priority, struct irtb_stream **ret_stream)
{
    struct irtb_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        return cudaErrorMemoryAllocation;
    }
    stream->device = device;
    cudaError_t e = A->stream_create(device, priority, &stream->side[DIFF_A]);
    if (!e) {
        e = B->stream_create(device, priority, &stream->side[DIFF_B]);
        if (e) {
            A->stream_destroy(stream->side[DIFF_A]);
        }
    }
    if (e) {
        free(stream);
        return e;
    }
    *ret_stream = stream;
    return cudaSuccess;
}

static void stream_set_priority(struct irtb_stream *stream, int priority)
{
    A->stream_set_priority(stream->side[DIFF_A], priority);
}

static void stream_destroy(struct irtb_stream *stream)
{
    A->stream_destroy(stream->side[DIFF_A]);
    B->stream_destroy(stream->side[DIFF_B]);
    free(stream);
}

static cudaError_t stream_query(struct irtb_stream *stream)
{
    return A->stream_query(stream->side[DIFF_A]);
}

static cudaError_t stream_synchronize(struct irtb_stream *stream)
{
    return A->stream_synchronize(stream->side[DIFF_A]); // B's work is done at once
}

static cudaError_t event_create(int device, bool timing, bool blocking, struct irtb_event **ret)
{
    struct irtb_event *event = calloc(1, sizeof *event);
    if (!event) {
        return cudaErrorMemoryAllocation;
    }
    cudaError_t e = A->event_create(device, timing, blocking, &event->side[DIFF_A]);
    if (!e) {
        e = B->event_create(device, timing, blocking, &event->side[DIFF_B]);
        if (e) {
            A->event_destroy(event->side[DIFF_A]);
        }
    }
    if (e) {
        free(event);
        return e;
    }
    *ret = event;
    return cudaSuccess;
}

static void event_destroy(struct irtb_event *event)
{
    A->event_destroy(event->side[DIFF_A]);
    B->event_destroy(event->side[DIFF_B]);
    free(event);
}

// An operation on a stream and an event that is not expected to fail on one side only.
static cudaError_t on_both(cudaError_t (*of_a)(struct irtb_stream *, struct irtb_event *),
                           cudaError_t (*of_b)(struct irtb_stream *, struct irtb_event *),
                           struct irtb_stream *stream, struct irtb_event *event, const char *what)
{
    pthread_mutex_lock(&irt_diff_lock);
    irt_diff_state.calls++;
    cudaError_t e = of_a(stream->side[DIFF_A], event->side[DIFF_A]);
    if (!irt_diff_state.over) {
        cudaError_t b = of_b(stream->side[DIFF_B], event->side[DIFF_B]);
        if (e != b) {
            irt_diff_report_result(&(struct irt_diff_call){.what = what}, e, b);
        }
    }
    pthread_mutex_unlock(&irt_diff_lock);
    return e;
}

static cudaError_t record_a(struct irtb_stream *stream, struct irtb_event *event)
{
    return A->event_record(event, stream);
}

static cudaError_t record_b(struct irtb_stream *stream, struct irtb_event *event)
{
    return B->event_record(event, stream);
}

static cudaError_t event_record(struct irtb_event *event, struct irtb_stream *stream)
{
    return on_both(record_a, record_b, stream, event, "record of an event");
}

static cudaError_t stream_wait_event(struct irtb_stream *stream, struct irtb_event *event)
{
    return on_both(A->stream_wait_event, B->stream_wait_event, stream, event, "wait for an event");
}

static cudaError_t event_query(struct irtb_event *event)
{
    return A->event_query(event->side[DIFF_A]);
}

static cudaError_t event_synchronize(struct irtb_event *event)
{
    return A->event_synchronize(event->side[DIFF_A]);
}

static cudaError_t event_elapsed(struct irtb_event *start, struct irtb_event *end, double *ret_ms)
{
    return A->event_elapsed(start->side[DIFF_A], end->side[DIFF_A], ret_ms);
}

// ---- modules ----

// Makes B's storage of a variable the shadow of A's. Caller holds the lock.
static void pair_variable(struct irtb_module *module, const char *name)
{
    void *a, *b;
    size_t size, size_b;
    bool managed, managed_b;
    if (!module->side[DIFF_B] ||
        A->module_variable(module->side[DIFF_A], name, &a, &size, &managed) || !size ||
        irt_diff_find(a)) {
        return;
    }
    if (B->module_variable(module->side[DIFF_B], name, &b, &size_b, &managed_b) || size != size_b ||
        !irt_diff_remember(&(struct irt_diff_memory){.a = a,
                                                     .b = b,
                                                     .size = size,
                                                     .device = module->device,
                                                     .host = managed,
                                                     .owner = module})) {
        irt_notice("diff: variable %s is not compared: %s has none of its size", name,
                   irt_diff_state.side[DIFF_B].name);
    }
}

static cudaError_t module_load(int device, const struct irtb_code_unit *units, size_t count,
                               struct irtb_module **ret_module)
{
    struct irtb_module *module = count ? calloc(1, sizeof *module) : NULL;
    if (!module) {
        return count ? cudaErrorMemoryAllocation : cudaErrorNoKernelImageForDevice;
    }
    *module = (struct irtb_module){.units = units, .count = count, .device = device};
    cudaError_t e = A->module_load(device, units, count, &module->side[DIFF_A]);
    if (e) {
        free(module);
        return e;
    }
    e = B->module_load(device, units, count, &module->side[DIFF_B]);
    if (e) {
        irt_notice("diff: %s cannot load %s (error %d): its kernels are not compared",
                   irt_diff_state.side[DIFF_B].name, count ? units[0].name : "a module", (int)e);
        module->side[DIFF_B] = NULL;
    }
    const char *name;
    pthread_mutex_lock(&irt_diff_lock);
    for (size_t i = 0; A->module_variable_name &&
                       (name = A->module_variable_name(module->side[DIFF_A], i)) != NULL;
         i++) {
        pair_variable(module, name);
    }
    pthread_mutex_unlock(&irt_diff_lock);
    *ret_module = module;
    return cudaSuccess;
}

static void module_unload(struct irtb_module *module)
{
    pthread_mutex_lock(&irt_diff_lock);
    irt_diff_forget_owner(module);
    pthread_mutex_unlock(&irt_diff_lock);
    A->module_unload(module->side[DIFF_A]);
    if (module->side[DIFF_B]) {
        B->module_unload(module->side[DIFF_B]);
    }
    for (struct irtb_function *f = module->functions, *next; f; f = next) {
        next = f->next;
        free(f);
    }
    free(module);
}

static cudaError_t module_function(struct irtb_module *module, const char *name,
                                   struct irtb_function **ret_function)
{
    struct irtb_function *f = calloc(1, sizeof *f + strlen(name) + 1);
    if (!f) {
        return cudaErrorMemoryAllocation;
    }
    strcpy(f->name, name);
    f->module = module;
    cudaError_t e = A->module_function(module->side[DIFF_A], name, &f->side[DIFF_A]);
    if (e) {
        free(f);
        return e;
    }
    if (!module->side[DIFF_B] || B->module_function(module->side[DIFF_B], name, &f->side[DIFF_B])) {
        f->side[DIFF_B] = NULL;
    }
    pthread_mutex_lock(&irt_diff_lock);
    f->next = module->functions;
    module->functions = f;
    pthread_mutex_unlock(&irt_diff_lock);
    *ret_function = f;
    return cudaSuccess;
}

static cudaError_t module_variable(struct irtb_module *module, const char *name, void **ret_ptr,
                                   size_t *ret_size, bool *ret_managed)
{
    cudaError_t e = A->module_variable(module->side[DIFF_A], name, ret_ptr, ret_size, ret_managed);
    if (!e) {
        pthread_mutex_lock(&irt_diff_lock);
        pair_variable(module, name);
        pthread_mutex_unlock(&irt_diff_lock);
    }
    return e;
}

static cudaError_t module_bind_variable(struct irtb_module *module, const char *name, void *ptr)
{
    cudaError_t e = A->module_bind_variable(module->side[DIFF_A], name, ptr);
    if (!e && module->side[DIFF_B]) {
        pthread_mutex_lock(&irt_diff_lock);
        void *b = irt_diff_translate(ptr);
        pthread_mutex_unlock(&irt_diff_lock);
        irt_diff_tell("a managed variable", B->module_bind_variable(module->side[DIFF_B], name, b));
    }
    return e;
}

static const char *module_function_name(struct irtb_module *module, size_t index)
{
    return A->module_function_name(module->side[DIFF_A], index);
}

static const char *module_variable_name(struct irtb_module *module, size_t index)
{
    return A->module_variable_name(module->side[DIFF_A], index);
}

static cudaError_t function_info(struct irtb_function *f, struct irtb_function_info *ret)
{
    return A->function_info(f->side[DIFF_A], ret);
}

static cudaError_t function_parameter(struct irtb_function *f, unsigned index,
                                      struct irtb_parameter *ret_parameter)
{
    return A->function_parameter(f->side[DIFF_A], index, ret_parameter);
}

static cudaError_t function_set_attribute(struct irtb_function *f, enum cudaFuncAttribute attribute,
                                          int value)
{
    cudaError_t e = A->function_set_attribute(f->side[DIFF_A], attribute, value);
    if (!e && f->side[DIFF_B]) {
        irt_diff_tell("cudaFuncSetAttribute",
                      B->function_set_attribute(f->side[DIFF_B], attribute, value));
    }
    return e;
}

static cudaError_t function_occupancy(struct irtb_function *f, int block_size,
                                      size_t dynamic_shared, int *ret_blocks)
{
    return A->function_occupancy(f->side[DIFF_A], block_size, dynamic_shared, ret_blocks);
}

static cudaError_t function_compile(struct irtb_function *f)
{
    return A->function_compile ? A->function_compile(f->side[DIFF_A]) : cudaSuccess;
}

// ---- the table ----

// What is not in the table is not compared, and the shim answers 801 or does without.
static void fill_table(void)
{
    table = (struct irtb_backend){
        .abi_version = IRTB_ABI_VERSION,
        .struct_size = sizeof table,
        .name = "diff",
        .init = A->init,
        .at_exit = at_exit,
        .device_count = A->device_count,
        .device_info = A->device_info,
        .device_synchronize = device_synchronize,
        .device_reset = device_reset,
        .device_get_limit = A->device_get_limit,
        .device_set_limit = device_set_limit,
        .device_memory_info = A->device_memory_info,
        .device_can_access_peer = A->device_can_access_peer,
        .device_enable_peer = A->device_enable_peer ? device_enable_peer : NULL,
        .device_disable_peer = A->device_disable_peer ? device_disable_peer : NULL,
        .memory_alloc = memory_alloc,
        .memory_free = memory_free,
        .host_register = A->host_register ? host_register : NULL,
        .host_unregister = A->host_unregister ? host_unregister : NULL,
        .stream_create = stream_create,
        .stream_set_priority = A->stream_set_priority ? stream_set_priority : NULL,
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
        .copy = irt_diff_copy,
        .fill = irt_diff_fill,
        .host_func = irt_diff_host_func,
        .launch = irt_diff_launch,
        .module_load = module_load,
        .module_unload = module_unload,
        .module_function = module_function,
        .module_variable = module_variable,
        .module_bind_variable = module_bind_variable,
        .module_function_name = A->module_function_name ? module_function_name : NULL,
        .module_variable_name = A->module_variable_name ? module_variable_name : NULL,
        .failure_text = A->failure_text,
        .function_info = function_info,
        .function_parameter = function_parameter,
        .function_set_attribute = function_set_attribute,
        .function_occupancy = function_occupancy,
        .function_compile = function_compile,
    };
}

const struct irtb_backend *irt_diff(const struct irt_diff_side *a, const struct irt_diff_side *b)
{
    irt_diff_state.side[DIFF_A] = *a;
    irt_diff_state.side[DIFF_B] = *b;
    twins = A->device_reset == B->device_reset;
    fill_table();
    return &table;
}
