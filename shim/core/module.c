// SPDX-License-Identifier: Apache-2.0
//
// The code of registered modules: chooses and unpacks the PTX of a fat binary at the first use,
// loads it on a device when a kernel or variable is first used there, and shares the storage of
// managed variables between devices. Who registered what is registry.c's.
#include "shim/core/module.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "shim/core/api_rules.h"
#include "shim/core/memory.h"
#include "shim/core/registry.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/provide/wrap.h"
#include "shim/util/log.h"
#include "shim/util/process.h"

// Set when exit() reaches the handler of the module that was loaded last, hence before any of the
// handlers that unregister modules: nothing may be waited for then.
static _Atomic bool exiting;

static void note_exit(void)
{
    atomic_store(&exiting, true);
}

// ---- choice of the code ----

// File that registered the module, for messages.
static const char *file_name(const struct irt_module *module)
{
    Dl_info info;
    if (!dladdr(module->wrapper, &info) || !info.dli_fname) {
        return "unknown file";
    }
    const char *slash = strrchr(info.dli_fname, '/');
    return slash ? slash + 1 : info.dli_fname;
}

static cudaError_t choose_code(struct irt_module *module, const struct irt_device *device)
{
    const struct irt_code_origin origin = {
        .name = file_name(module), .number = module->number, .arch = irt_device_arch(device)};
    return irt_code_from_wrapper(module->wrapper, &origin, &module->code);
}

// ---- loading ----

static cudaError_t add_variable(struct irt_variable *variable, struct irt_device *device,
                                struct irtb_module *code)
{
    void *ptr;
    size_t size;
    bool managed;
    if (irt_backend()->module_variable(code, variable->name, &ptr, &size, &managed)) {
        return cudaSuccess; // the compiler dropped it; asking for it fails then
    }
    if (variable->managed && variable->managed_storage) {
        return irt_backend()->module_bind_variable(code, variable->name, variable->managed_storage);
    }
    if (variable->managed) {
        variable->managed_storage = ptr;
        variable->module->managed_owner = device;
        if (variable->host) {
            *(void **)variable->host = ptr;
        }
    }
    if (size) {
        cudaError_t e = irt_memory_add(&(struct irt_memory){
            .start = ptr,
            .size = size,
            .type = variable->managed ? IRT_MEMORY_MANAGED_VARIABLE : IRT_MEMORY_VARIABLE,
            .device = device,
            .device_start = ptr,
        });
        if (e) {
            IRT_LOG("module", IRT_LOG_DEBUG, "variable %s is not in the map of memory",
                    variable->name);
        }
    }
    return cudaSuccess;
}

static void forget_variables(struct irt_module *module, struct irt_device *device,
                             struct irtb_module *code)
{
    for (struct irt_variable *v = module->variables; v; v = v->next) {
        void *ptr;
        size_t size;
        bool managed;
        if (irt_backend()->module_variable(code, v->name, &ptr, &size, &managed)) {
            continue;
        }
        struct irt_memory memory;
        if (v->managed && module->managed_owner != device) {
            continue; // the storage is another device's
        }
        if (irt_memory_find(ptr, &memory) && memory.start == ptr && memory.device == device) {
            irt_memory_remove(ptr, NULL);
        }
        if (v->managed) {
            v->managed_storage = NULL;
        }
    }
    if (module->managed_owner == device) {
        module->managed_owner = NULL;
    }
}

static cudaError_t load_locked(struct irt_module *module, struct irt_device *device,
                               struct irtb_module **ret_code)
{
    if (!module->chosen) {
        module->choice_error = choose_code(module, device);
        module->chosen = true;
    }
    // Without PTX there can still be kernels of a provider.
    if (module->choice_error &&
        (module->choice_error != cudaErrorNoKernelImageForDevice || !irt_provide_kernels())) {
        return module->choice_error;
    }
    struct irtb_module *code;
    cudaError_t e =
        irt_backend()->module_load(device->id, module->code.units, module->code.count, &code);
    if (e) {
        return e;
    }
    for (struct irt_variable *v = module->variables; v && !e; v = v->next) {
        e = add_variable(v, device, code);
    }
    if (e) {
        forget_variables(module, device, code);
        irt_backend()->module_unload(code);
        return e;
    }
    irt_device_activate(device);
    *ret_code = code;
    return cudaSuccess;
}

cudaError_t irt_module_load(struct irt_module *module, struct irt_device *device,
                            struct irtb_module **ret_code)
{
    irt_mutex_lock(&module->lock);
    if (!module->devices) {
        module->devices = calloc((size_t)irt_device_count(), sizeof(*module->devices));
        // After the program's own handler, hence called before it.
        if (!module->devices || atexit(note_exit) != 0) {
            free(module->devices);
            module->devices = NULL;
            irt_mutex_unlock(&module->lock);
            return cudaErrorMemoryAllocation;
        }
    }
    struct irt_module_device *at = &module->devices[device->ordinal];
    cudaError_t e = at->error;
    if (!e && !at->code) {
        e = load_locked(module, device, &at->code);
        if (e != cudaErrorMemoryAllocation) {
            at->error = e;
        }
    }
    if (!e) {
        *ret_code = at->code;
    }
    irt_mutex_unlock(&module->lock);
    return e;
}

cudaError_t irt_module_init_managed(struct irt_module *module, struct irt_device *device)
{
    struct irtb_module *code;
    cudaError_t e = irt_module_load(module, device, &code);
    if (!e) {
        return cudaSuccess;
    }
    // The program reads through the pointers without asking.
    irt_mutex_lock(&module->lock);
    for (struct irt_variable *v = module->variables; v; v = v->next) {
        void **pointer = v->managed ? (void **)v->host : NULL; // NULL: of a library
        if (pointer && !*pointer) {
            irt_log("module", IRT_LOG_ERROR,
                    "managed variable %s reads as zero: its module cannot be loaded", v->name);
            *pointer = calloc(1, v->size ? v->size : 1);
        }
    }
    irt_mutex_unlock(&module->lock);
    return e;
}

// ---- contents ----

static cudaError_t list_kernels(struct irt_module *module, struct irtb_module *code)
{
    const char *name;
    struct irt_kernel **end = &module->kernels;
    for (size_t i = 0; (name = irt_backend()->module_function_name(code, i)) != NULL; i++) {
        size_t size = strlen(name) + 1;
        struct irt_kernel *kernel = calloc(1, sizeof(*kernel) + size);
        if (!kernel) {
            return cudaErrorMemoryAllocation;
        }
        kernel->module = module;
        memcpy(kernel->name, name, size);
        *end = kernel;
        end = &kernel->next;
    }
    return cudaSuccess;
}

static cudaError_t list_variables(struct irt_module *module, struct irtb_module *code)
{
    const char *name;
    for (size_t i = 0; (name = irt_backend()->module_variable_name(code, i)) != NULL; i++) {
        size_t size = strlen(name) + 1;
        struct irt_variable *variable = calloc(1, sizeof(*variable) + size);
        void *ptr;
        if (!variable) {
            return cudaErrorMemoryAllocation;
        }
        variable->module = module;
        memcpy(variable->name, name, size);
        variable->next = module->variables;
        module->variables = variable;
        cudaError_t e =
            irt_backend()->module_variable(code, name, &ptr, &variable->size, &variable->managed);
        if (e) {
            return e;
        }
    }
    return cudaSuccess;
}

cudaError_t irt_module_list(struct irt_module *module, struct irt_device *device,
                            struct irtb_module *code)
{
    if (!irt_backend()->module_function_name || !irt_backend()->module_variable_name) {
        return irt_unsupported("code loaded by hand (cudaLibraryLoadData)");
    }
    cudaError_t e = list_kernels(module, code);
    if (!e) {
        e = list_variables(module, code);
    }
    // Loading put no variable into the map of memory: none was known then.
    for (struct irt_variable *v = module->variables; v && !e; v = v->next) {
        e = add_variable(v, device, code);
    }
    return e;
}

cudaError_t irt_module_variable(struct irt_module *module, const char *name, bool managed,
                                struct irt_device *device, void **ret_ptr, size_t *ret_size)
{
    const struct irt_variable *variable = module->variables;
    while (variable && strcmp(variable->name, name) != 0) {
        variable = variable->next;
    }
    if (!variable || (managed && !variable->managed)) {
        return cudaErrorSymbolNotFound;
    }
    struct irtb_module *code;
    cudaError_t e = irt_module_load(module, device, &code);
    bool is_managed;
    return e ? e : irt_backend()->module_variable(code, name, ret_ptr, ret_size, &is_managed);
}

// ---- kernels ----

void irt_kernel_limit(const struct irt_kernel *kernel, struct irtb_function_info *info)
{
    const struct irt_module_limits *limits = &kernel->module->limits;
    bool said = info->max_block[0] || info->required_block[0];
    if (limits->max_threads && (!said || limits->override)) {
        info->max_block[0] = limits->max_threads;
        info->max_block[1] = info->max_block[2] = 1;
        if (limits->max_threads < (unsigned)info->attributes.maxThreadsPerBlock) {
            info->attributes.maxThreadsPerBlock = (int)limits->max_threads;
        }
    }
}

static cudaError_t load_kernel(struct irt_kernel *kernel, struct irtb_module *code,
                               struct irt_loaded **ret_loaded)
{
    const struct irtb_backend *backend = irt_backend();
    struct irt_loaded *loaded = calloc(1, sizeof(*loaded));
    if (!loaded) {
        return cudaErrorMemoryAllocation;
    }
    cudaError_t e = backend->module_function(code, kernel->name, &loaded->function);
    if (!e) {
        e = backend->function_info(loaded->function, &loaded->info);
    }
    if (e) {
        free(loaded);
        return e;
    }
    irt_kernel_limit(kernel, &loaded->info);
    atomic_init(&loaded->dynamic_shared_max, loaded->info.attributes.maxDynamicSharedSizeBytes);
    *ret_loaded = loaded;
    return cudaSuccess;
}

// The place of the device in the kernel's list; NULL without memory. Caller holds the module's
// lock.
static struct irt_loaded *_Atomic *loaded_place_locked(struct irt_kernel *kernel,
                                                       const struct irt_device *device)
{
    struct irt_loaded *_Atomic *list = atomic_load_explicit(&kernel->loaded, memory_order_relaxed);
    if (!list) {
        list = calloc((size_t)irt_device_count(), sizeof(*list));
        if (!list) {
            return NULL;
        }
        atomic_store_explicit(&kernel->loaded, list, memory_order_release);
    }
    return &list[device->ordinal];
}

cudaError_t irt_kernel_load(struct irt_kernel *kernel, struct irt_device *device,
                            struct irt_loaded **ret_loaded)
{
    struct irt_loaded *_Atomic *list = atomic_load_explicit(&kernel->loaded, memory_order_acquire);
    struct irt_loaded *loaded =
        list ? atomic_load_explicit(&list[device->ordinal], memory_order_acquire) : NULL;
    if (loaded) {
        *ret_loaded = loaded;
        return cudaSuccess;
    }
    struct irtb_module *code;
    cudaError_t e = irt_module_load(kernel->module, device, &code);
    if (e) {
        return e;
    }
    struct irt_loaded *mine;
    e = load_kernel(kernel, code, &mine); // may compile: no lock
    if (e) {
        return e;
    }
    irt_mutex_lock(&kernel->module->lock);
    struct irt_loaded *_Atomic *place = loaded_place_locked(kernel, device);
    loaded = place ? atomic_load_explicit(place, memory_order_relaxed) : NULL;
    if (place && !loaded) {
        atomic_store_explicit(place, mine, memory_order_release);
        loaded = mine;
    }
    irt_mutex_unlock(&kernel->module->lock);
    if (loaded != mine) {
        free(mine); // another thread was faster, or there is no memory
    }
    if (!loaded) {
        return cudaErrorMemoryAllocation;
    }
    *ret_loaded = loaded;
    return cudaSuccess;
}

bool irt_kernel_is_loaded(const struct irt_kernel *kernel, const struct irt_device *device)
{
    struct irt_loaded *_Atomic *list = atomic_load_explicit(&kernel->loaded, memory_order_acquire);
    return list && atomic_load_explicit(&list[device->ordinal], memory_order_acquire);
}

cudaError_t irt_kernel_get_loaded(const void *func, struct irt_kernel **ret_kernel,
                                  struct irt_loaded **ret_loaded)
{
    struct irt_kernel *kernel;
    cudaError_t e = irt_kernel_get(func, &kernel);
    if (e) {
        return e;
    }
    e = irt_kernel_load(kernel, irt_device_current(), ret_loaded);
    if (e) {
        irt_kernel_put(kernel);
        return e;
    }
    *ret_kernel = kernel;
    return cudaSuccess;
}

cudaError_t irt_kernel_compile(struct irt_loaded *loaded)
{
    int known = atomic_load_explicit(&loaded->compiled, memory_order_acquire);
    if (known) {
        return (cudaError_t)(known - 1);
    }
    const struct irtb_backend *backend = irt_backend();
    cudaError_t e =
        backend->function_compile ? backend->function_compile(loaded->function) : cudaSuccess;
    if (e != cudaErrorMemoryAllocation) {
        atomic_store_explicit(&loaded->compiled, (int)e + 1, memory_order_release);
    }
    return e;
}

// ---- unloading ----

static void unload_locked(struct irt_module *module, struct irt_device *device)
{
    struct irt_module_device *at = &module->devices[device->ordinal];
    at->error = cudaSuccess;
    if (!at->code) {
        return;
    }
    for (struct irt_kernel *k = module->kernels; k; k = k->next) {
        struct irt_loaded *_Atomic *list = atomic_load_explicit(&k->loaded, memory_order_acquire);
        if (list) {
            free(atomic_exchange(&list[device->ordinal], NULL));
        }
    }
    forget_variables(module, device, at->code);
    irt_backend()->module_unload(at->code);
    at->code = NULL;
}

bool irt_module_may_wait(void)
{
    return !atomic_load(&exiting) && irt_process_state() == IRT_PROCESS_RUNNING &&
           !irt_stream_in_host_function();
}

void irt_module_discard(struct irt_module *module)
{
    bool alive = irt_module_may_wait(); // else the code stays
    for (int i = 0; module->devices && i < irt_device_count() && alive; i++) {
        struct irt_device *device = irt_device_at(i);
        if (module->devices[i].code) {
            irt_device_drain(device); // a launch may still be queued; its fault is not ours
            irt_mutex_lock(&module->lock);
            unload_locked(module, device);
            irt_mutex_unlock(&module->lock);
        }
    }
    for (struct irt_kernel *k = module->kernels; k; k = k->next) {
        free(atomic_load(&k->loaded));
    }
    if (alive || !module->devices) {
        irt_code_free(&module->code); // else code that still runs may refer to the texts
    }
    free(module->devices);
}

static void reset_one(struct irt_module *module, void *context)
{
    struct irt_device *device = context;
    irt_mutex_lock(&module->lock);
    bool lost_storage = module->managed_owner == device;
    if (module->devices) {
        unload_locked(module, device);
    }
    irt_mutex_unlock(&module->lock);
    // The other devices use storage that is gone now: they load again, too.
    for (int i = 0; lost_storage && i < irt_device_count(); i++) {
        struct irt_device *other = irt_device_at(i);
        if (other != device && module->devices[i].code) {
            irt_device_drain(other);
            irt_mutex_lock(&module->lock);
            unload_locked(module, other);
            irt_mutex_unlock(&module->lock);
        }
    }
}

void irt_module_reset_device(struct irt_device *device)
{
    irt_module_each(reset_one, device);
}

static void restore_one(struct irt_module *module, void *context)
{
    for (struct irt_variable *v = module->variables; v; v = v->next) {
        if (v->managed && v->host && !v->managed_storage && *(void **)v->host) {
            irt_module_init_managed(module, context);
            return;
        }
    }
}

void irt_module_restore_managed(struct irt_device *device)
{
    irt_module_each(restore_one, device);
}
