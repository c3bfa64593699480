// SPDX-License-Identifier: Apache-2.0
//
// See wrap.h. Here: modules and functions, and waiting, which must report the errors of host
// kernels. launch.c makes the launches, graph.c the nodes of graphs.
#include "shim/provide/wrap.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/provide/inside.h"
#include "shim/util/log.h"

struct irt_provide irt_provided;

// ---- modules ----

static size_t rounded(size_t size)
{
    return size ? size : 1;
}

// Storage of a variable, made when it is first asked for. Caller holds the module's lock.
static cudaError_t make_variable(struct irtb_module *module, size_t index)
{
    const struct irt_ptx_variable *variable = &module->contents.variables[index];
    const struct irtb_backend *inner = irt_provided.inner;
    if (!variable->known || variable->managed) {
        irt_notice("variable %s: %s on the %s backend", variable->name,
                   variable->managed ? "__managed__ variables are not possible"
                                     : "its initial value cannot be read",
                   inner->name);
        return cudaErrorNotSupported;
    }
    void *ptr;
    cudaError_t e =
        inner->memory_alloc(module->device, IRTB_MEMORY_DEVICE, rounded(variable->size), 0, &ptr);
    if (e) {
        return e;
    }
    struct irtb_stream *stream = NULL;
    e = inner->stream_create(module->device, 0, &stream);
    if (!e) {
        const struct irtb_copy copy = {.dst = ptr,
                                       .src = variable->value,
                                       .width = variable->size,
                                       .height = 1,
                                       .depth = 1,
                                       .dst_device = module->device,
                                       .src_device = -1,
                                       .kind = cudaMemcpyHostToDevice};
        e = inner->copy(stream, &copy);
        e = e ? e : inner->stream_synchronize(stream);
        inner->stream_destroy(stream);
    }
    if (e) {
        inner->memory_free(module->device, IRTB_MEMORY_DEVICE, ptr);
        return e;
    }
    module->storage[index] = ptr;
    return cudaSuccess;
}

static cudaError_t own_variable(struct irtb_module *module, const char *name, void **ret_ptr,
                                size_t *ret_size)
{
    cudaError_t e = cudaErrorSymbolNotFound;
    pthread_mutex_lock(&module->lock);
    for (size_t i = 0; i < module->contents.variable_count && module->storage; i++) {
        if (strcmp(module->contents.variables[i].name, name) == 0) {
            e = module->storage[i] ? cudaSuccess : make_variable(module, i);
            if (!e) {
                *ret_ptr = module->storage[i];
                *ret_size = module->contents.variables[i].size;
            }
            break;
        }
    }
    pthread_mutex_unlock(&module->lock);
    return e;
}

static void module_unload(struct irtb_module *module)
{
    const struct irtb_backend *inner = irt_provided.inner;
    if (module->inner) {
        inner->module_unload(module->inner);
    }
    for (size_t i = 0; module->storage && i < module->contents.variable_count; i++) {
        if (module->storage[i]) {
            inner->memory_free(module->device, IRTB_MEMORY_DEVICE, module->storage[i]);
        }
    }
    for (struct irtb_function *f = module->functions, *next; f; f = next) {
        next = f->next;
        free(f->parameters);
        free(f->name);
        free(f);
    }
    irt_ptx_free(&module->contents);
    free(module->storage);
    pthread_mutex_destroy(&module->lock);
    free(module);
}

// Whether a provider has one of the kernels.
static bool has_provided(const struct irtb_module *module)
{
    for (size_t i = 0; i < module->contents.kernel_count && irt_provided.kernels; i++) {
        struct infinirt_kernel entry;
        if (irt_provider_find(module->contents.kernels[i].name, irt_provided.inner->name,
                              module->device, &entry)) {
            return true;
        }
    }
    return false;
}

static cudaError_t module_load(int device, const struct irtb_code_unit *units, size_t count,
                               struct irtb_module **ret_module)
{
    const struct irtb_backend *inner = irt_provided.inner;
    struct irtb_module *module = calloc(1, sizeof *module);
    if (!module) {
        return cudaErrorMemoryAllocation;
    }
    pthread_mutex_init(&module->lock, NULL);
    module->device = device;
    bool read = true;
    for (size_t i = 0; i < count; i++) {
        read &= irt_ptx_scan(units[i].text, &module->contents);
    }
    if (!count) {
        module->error = cudaErrorNoKernelImageForDevice;
    } else if (inner->module_load) {
        // What does not parse there can still have kernels that a provider brings.
        module->error = inner->module_load(device, units, count, &module->inner);
    } else if (read) {
        module->storage = calloc(module->contents.variable_count + 1, sizeof *module->storage);
        module->error = module->storage ? cudaSuccess : cudaErrorMemoryAllocation;
    } else {
        module->error = cudaErrorInvalidPtx;
    }
    if (module->error == cudaErrorMemoryAllocation ||
        (module->error && count && !has_provided(module))) {
        cudaError_t e = module->error;
        module->inner = NULL;
        module_unload(module);
        return e;
    }
    *ret_module = module;
    return cudaSuccess;
}

// Layout of the parameters: the provider's word, else the PTX's.
static bool lay_out(struct irtb_function *f, const struct irt_ptx_kernel *kernel)
{
    const struct infinirt_kernel *entry = &f->entry;
    bool own = f->provided && entry->parameter_sizes;
    f->parameter_count = own ? entry->parameter_count : kernel ? kernel->parameter_count : 0;
    f->parameters = calloc(f->parameter_count + 1, sizeof *f->parameters);
    if (!f->parameters) {
        return false;
    }
    for (unsigned i = 0; i < f->parameter_count; i++) {
        struct irtb_parameter *p = &f->parameters[i];
        if (own) {
            size_t size = entry->parameter_sizes[i];
            p->size = size;
            p->align = size >= 16 ? 16 : size >= 8 ? 8 : size >= 4 ? 4 : size >= 2 ? 2 : 1;
            p->offset = (f->packed_size + p->align - 1) / p->align * p->align;
        } else {
            *p = (struct irtb_parameter){kernel->parameters[i].offset, kernel->parameters[i].size,
                                         kernel->parameters[i].align};
        }
        f->packed_size = p->offset + p->size;
    }
    if (kernel) {
        memcpy(f->required_block, kernel->required_block, sizeof f->required_block);
        memcpy(f->max_block, kernel->max_block, sizeof f->max_block);
    }
    return true;
}

static cudaError_t make_function(struct irtb_module *module, const char *name,
                                 struct irtb_function **ret_function)
{
    const struct irtb_backend *inner = irt_provided.inner;
    const struct irt_ptx_kernel *kernel = NULL;
    for (size_t i = 0; i < module->contents.kernel_count && !kernel; i++) {
        if (strcmp(module->contents.kernels[i].name, name) == 0) {
            kernel = &module->contents.kernels[i];
        }
    }
    struct irtb_function *f = calloc(1, sizeof *f);
    if (!f || !(f->name = strdup(name))) {
        free(f);
        return cudaErrorMemoryAllocation;
    }
    f->module = module;
    f->provided =
        irt_provided.kernels && irt_provider_find(name, inner->name, module->device, &f->entry);
    cudaError_t e =
        f->provided || kernel || inner->module_load ? cudaSuccess : cudaErrorInvalidDeviceFunction;
    if (!e && !f->provided && (inner->module_load || module->error)) {
        e = module->error ? module->error : inner->module_function(module->inner, name, &f->inner);
    }
    if (!e && f->provided && f->entry.kind != INFINIRT_HOST &&
        !(f->entry.kind == INFINIRT_ENQUEUE ? (void *)inner->stream_native
                                            : (void *)inner->vendor_launch)) {
        irt_notice("kernel %s: the %s backend has no kernels or streams of a vendor; its provider "
                   "must be of kind INFINIRT_HOST",
                   name, inner->name);
        e = cudaErrorNotSupported;
    }
    if (!e && !lay_out(f, kernel)) {
        e = cudaErrorMemoryAllocation;
    }
    if (e) {
        free(f->parameters);
        free(f->name);
        free(f);
        return e;
    }
    f->next = module->functions;
    module->functions = f;
    if (f->provided) {
        IRT_LOG("provide", IRT_LOG_INFO, "kernel %s is a provider's", name);
    }
    *ret_function = f;
    return cudaSuccess;
}

static cudaError_t module_function(struct irtb_module *module, const char *name,
                                   struct irtb_function **ret_function)
{
    cudaError_t e = cudaSuccess;
    pthread_mutex_lock(&module->lock);
    struct irtb_function *f = module->functions;
    while (f && strcmp(f->name, name) != 0) {
        f = f->next;
    }
    if (f) {
        *ret_function = f;
    } else {
        e = make_function(module, name, ret_function);
    }
    pthread_mutex_unlock(&module->lock);
    return e;
}

cudaError_t irt_provide_variable(struct irtb_module *module, const char *name, void **ret_ptr,
                                 size_t *ret_size, bool *ret_managed)
{
    if (module->inner) {
        return irt_provided.inner->module_variable(module->inner, name, ret_ptr, ret_size,
                                                   ret_managed);
    }
    *ret_managed = false;
    return own_variable(module, name, ret_ptr, ret_size);
}

static cudaError_t module_bind_variable(struct irtb_module *module, const char *name, void *ptr)
{
    return module->inner ? irt_provided.inner->module_bind_variable(module->inner, name, ptr)
                         : cudaErrorNotSupported;
}

static const char *module_function_name(struct irtb_module *module, size_t index)
{
    if (module->inner) {
        return irt_provided.inner->module_function_name(module->inner, index);
    }
    return index < module->contents.kernel_count ? module->contents.kernels[index].name : NULL;
}

static const char *module_variable_name(struct irtb_module *module, size_t index)
{
    if (module->inner) {
        return irt_provided.inner->module_variable_name(module->inner, index);
    }
    return index < module->contents.variable_count ? module->contents.variables[index].name : NULL;
}

static const char *failure_text(void)
{
    return irt_provided.inner->failure_text ? irt_provided.inner->failure_text() : "";
}

// ---- functions ----

static cudaError_t function_info(struct irtb_function *f, struct irtb_function_info *ret)
{
    const struct irtb_backend *inner = irt_provided.inner;
    if (f->inner) {
        return inner->function_info(f->inner, ret);
    }
    struct irtb_device_info device;
    cudaError_t e = inner->device_info(f->module->device, &device);
    if (e) {
        return e;
    }
    *ret = (struct irtb_function_info){
        .attributes = {.maxThreadsPerBlock = device.prop.maxThreadsPerBlock,
                       .ptxVersion = device.prop.major * 10 + device.prop.minor,
                       .binaryVersion = device.prop.major * 10 + device.prop.minor,
                       .maxDynamicSharedSizeBytes = (int)device.prop.sharedMemPerBlock,
                       .preferredShmemCarveout = -1},
        .parameter_count = f->parameter_count,
    };
    if (f->dynamic_shared_max > 0) {
        ret->attributes.maxDynamicSharedSizeBytes = f->dynamic_shared_max;
    }
    const uint32_t *max = f->max_block;
    uint32_t most = max[0] * (max[1] ? max[1] : 1) * (max[2] ? max[2] : 1);
    if (most && most < (uint32_t)device.prop.maxThreadsPerBlock) {
        ret->attributes.maxThreadsPerBlock = (int)most;
    }
    memcpy(ret->required_block, f->required_block, sizeof f->required_block);
    memcpy(ret->max_block, f->max_block, sizeof f->max_block);
    return cudaSuccess;
}

static cudaError_t function_parameter(struct irtb_function *f, unsigned index,
                                      struct irtb_parameter *ret_parameter)
{
    if (f->inner) {
        return irt_provided.inner->function_parameter(f->inner, index, ret_parameter);
    }
    if (index >= f->parameter_count) {
        return cudaErrorInvalidValue;
    }
    *ret_parameter = f->parameters[index];
    return cudaSuccess;
}

static cudaError_t function_set_attribute(struct irtb_function *f, enum cudaFuncAttribute attribute,
                                          int value)
{
    const struct irtb_backend *inner = irt_provided.inner;
    if (f->inner) {
        return inner->function_set_attribute(f->inner, attribute, value);
    }
    if (attribute == cudaFuncAttributePreferredSharedMemoryCarveout) {
        return value < -1 || value > 100 ? cudaErrorInvalidValue : cudaSuccess; // a hint
    }
    if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) {
        irt_notice("kernel %s is a provider's: function attribute %d cannot be set", f->name,
                   (int)attribute);
        return cudaErrorNotSupported;
    }
    struct irtb_device_info device;
    cudaError_t e = inner->device_info(f->module->device, &device);
    if (!e && (value < 0 || value > device.max_dynamic_shared_optin)) {
        e = cudaErrorInvalidValue;
    }
    if (!e) {
        f->dynamic_shared_max = value;
    }
    return e;
}

static cudaError_t function_occupancy(struct irtb_function *f, int block_size,
                                      size_t dynamic_shared, int *ret_blocks)
{
    const struct irtb_backend *inner = irt_provided.inner;
    if (f->inner) {
        return inner->function_occupancy(f->inner, block_size, dynamic_shared, ret_blocks);
    }
    struct irtb_device_info device;
    cudaError_t e = inner->device_info(f->module->device, &device);
    if (e) {
        return e;
    }
    const struct cudaDeviceProp *prop = &device.prop;
    int blocks = block_size <= 0 || block_size > prop->maxThreadsPerBlock
                     ? 0
                     : prop->maxThreadsPerMultiProcessor / block_size;
    if (blocks > prop->maxBlocksPerMultiProcessor && prop->maxBlocksPerMultiProcessor > 0) {
        blocks = prop->maxBlocksPerMultiProcessor;
    }
    size_t fit =
        dynamic_shared ? prop->sharedMemPerMultiprocessor / dynamic_shared : (size_t)blocks;
    *ret_blocks = fit < (size_t)blocks ? (int)fit : blocks;
    return cudaSuccess;
}

static cudaError_t function_compile(struct irtb_function *f)
{
    const struct irtb_backend *inner = irt_provided.inner;
    if (f->provided) {
        return cudaSuccess;
    }
    if (f->inner) {
        return inner->function_compile ? inner->function_compile(f->inner) : cudaSuccess;
    }
    irt_notice("kernel %s: the %s backend cannot run CUDA code and no provider has this kernel "
               "(INFINIRT_KERNELS, infinirt.h)",
               f->name, inner->name);
    return cudaErrorNoKernelImageForDevice;
}

// ---- waiting: errors of host kernels ----

// Streams and events by their device; looked at only when a kernel has failed.
static struct owner {
    const void *object;
    int device;
} * owners;
static size_t owner_count, owner_capacity;
static pthread_mutex_t owner_lock = PTHREAD_MUTEX_INITIALIZER;

static bool add_owner(const void *object, int device)
{
    pthread_mutex_lock(&owner_lock);
    if (owner_count == owner_capacity) {
        size_t capacity = owner_capacity ? owner_capacity * 2 : 64;
        struct owner *list = realloc(owners, capacity * sizeof *list);
        if (list) {
            owners = list;
            owner_capacity = capacity;
        }
    }
    bool room = owner_count < owner_capacity;
    if (room) {
        owners[owner_count++] = (struct owner){object, device};
    }
    pthread_mutex_unlock(&owner_lock);
    return room;
}

static void remove_owner(const void *object)
{
    pthread_mutex_lock(&owner_lock);
    for (size_t i = owner_count; i-- > 0;) {
        if (owners[i].object == object) {
            owners[i] = owners[--owner_count];
            break;
        }
    }
    pthread_mutex_unlock(&owner_lock);
}

static int device_of(const void *object)
{
    int device = -1;
    pthread_mutex_lock(&owner_lock);
    for (size_t i = owner_count; i-- > 0 && device < 0;) {
        device = owners[i].object == object ? owners[i].device : -1;
    }
    pthread_mutex_unlock(&owner_lock);
    return device;
}

static cudaError_t failure_of(int device)
{
    return device >= 0 && device < IRT_PROVIDE_DEVICES
               ? (cudaError_t)atomic_load_explicit(&irt_provided.failed[device],
                                                   memory_order_acquire)
               : cudaSuccess;
}

// What waiting for `object` answers when the backend answered `e`.
static cudaError_t answer(const void *object, cudaError_t e)
{
    return e || !atomic_load_explicit(&irt_provided.any_failed, memory_order_acquire)
               ? e
               : failure_of(device_of(object));
}

cudaError_t irt_provide_device_of(const struct irtb_stream *stream, int *ret_device)
{
    int device = device_of(stream);
    if (device < 0) {
        return cudaErrorInvalidResourceHandle;
    }
    *ret_device = device;
    return cudaSuccess;
}

static cudaError_t stream_create(int device, int priority, struct irtb_stream **ret_stream)
{
    const struct irtb_backend *inner = irt_provided.inner;
    cudaError_t e = inner->stream_create(device, priority, ret_stream);
    if (!e && !add_owner(*ret_stream, device)) {
        inner->stream_destroy(*ret_stream);
        e = cudaErrorMemoryAllocation;
    }
    return e;
}

static void stream_destroy(struct irtb_stream *stream)
{
    remove_owner(stream);
    irt_provided.inner->stream_destroy(stream);
}

static cudaError_t stream_query(struct irtb_stream *stream)
{
    return answer(stream, irt_provided.inner->stream_query(stream));
}

static cudaError_t stream_synchronize(struct irtb_stream *stream)
{
    return answer(stream, irt_provided.inner->stream_synchronize(stream));
}

static cudaError_t device_synchronize(int device)
{
    cudaError_t e = irt_provided.inner->device_synchronize(device);
    return e ? e : failure_of(device);
}

static cudaError_t event_create(int device, bool timing, bool blocking, struct irtb_event **ret)
{
    const struct irtb_backend *inner = irt_provided.inner;
    cudaError_t e = inner->event_create(device, timing, blocking, ret);
    if (!e && !add_owner(*ret, device)) {
        inner->event_destroy(*ret);
        e = cudaErrorMemoryAllocation;
    }
    return e;
}

static void event_destroy(struct irtb_event *event)
{
    remove_owner(event);
    irt_provided.inner->event_destroy(event);
}

static cudaError_t event_query(struct irtb_event *event)
{
    return answer(event, irt_provided.inner->event_query(event));
}

static cudaError_t event_synchronize(struct irtb_event *event)
{
    return answer(event, irt_provided.inner->event_synchronize(event));
}

// ---- the table ----

static void put_modules(struct irtb_backend *table)
{
    table->module_load = module_load;
    table->module_unload = module_unload;
    table->module_function = module_function;
    table->module_variable = irt_provide_variable;
    table->module_bind_variable = module_bind_variable;
    if (!irt_provided.inner->module_load || irt_provided.inner->module_function_name) {
        table->module_function_name = module_function_name;
        table->module_variable_name = module_variable_name;
    }
    table->failure_text = failure_text;
    table->function_info = function_info;
    table->function_parameter = function_parameter;
    table->function_set_attribute = function_set_attribute;
    table->function_occupancy = function_occupancy;
    table->function_compile = function_compile;
    table->launch = irt_provide_launch;
}

static void put_waits(struct irtb_backend *table)
{
    table->stream_create = stream_create;
    table->stream_destroy = stream_destroy;
    table->stream_query = stream_query;
    table->stream_synchronize = stream_synchronize;
    table->device_synchronize = device_synchronize;
    table->event_create = event_create;
    table->event_destroy = event_destroy;
    table->event_query = event_query;
    table->event_synchronize = event_synchronize;
}

static void put_graphs(struct irtb_backend *table)
{
    if (irt_provided.inner->module_load && table->graph_create) {
        irt_provide_put_graphs(table);
        return;
    }
    // A graph of the vendor cannot hold what a provider enqueues: nodes go one by one.
    table->graph_create = NULL;
    table->graph_update = NULL;
    table->graph_set_default = NULL;
    table->graph_launch = NULL;
    table->graph_publish = NULL;
    table->graph_notify = NULL;
    table->graph_destroy = NULL;
}

bool irt_provide_kernels(void)
{
    return irt_provided.kernels;
}

const struct irtb_backend *irt_provide(const struct irtb_backend *inner,
                                       const struct irtb_host *host, const char *kernels,
                                       char *ret_why, size_t why_size)
{
    kernels = kernels && kernels[0] ? kernels : NULL;
    if (inner->api_open || (!kernels && inner->module_load)) {
        if (kernels && inner->api_open) {
            snprintf(ret_why, why_size,
                     "INFINIRT_KERNELS: the %s backend hands launches to the vendor's runtime as "
                     "they are; its kernels cannot be replaced",
                     inner->name);
            return NULL;
        }
        return inner;
    }
    if (irt_provided.inner) {
        snprintf(ret_why, why_size, "only one of two compared backends can need providers");
        return NULL;
    }
    char why[192];
    if (kernels && !irt_providers_open(kernels, why, sizeof why)) {
        snprintf(ret_why, why_size, "INFINIRT_KERNELS: %s", why);
        return NULL;
    }
    irt_provided.inner = inner;
    irt_provided.host = host;
    irt_provided.kernels = kernels != NULL;
    irt_provided.table = *inner;
    put_modules(&irt_provided.table);
    if (kernels) {
        put_waits(&irt_provided.table);
        put_graphs(&irt_provided.table);
    }
    return &irt_provided.table;
}
