// SPDX-License-Identifier: Apache-2.0
//
// The code of registered modules: chooses and unpacks the PTX of a fat binary at the first use,
// loads it on a device when a kernel or variable is first used there, and shares the storage of
// managed variables between devices. Who registered what is registry.c's.
#include "shim/core/module.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/core/memory.h"
#include "shim/core/registry.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
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

static unsigned arch_of(const struct irt_device *device)
{
    const struct cudaDeviceProp *prop = &device->info.prop;
    return (unsigned)(prop->major * 10 + prop->minor);
}

static void report_no_ptx(const struct irt_module *module, const struct irt_fatbin *fatbin,
                          unsigned arch)
{
    char inside[512];
    irt_fatbin_describe(fatbin, inside, sizeof(inside));
    irt_log("module", IRT_LOG_ERROR,
            "%s: its fat binary holds no PTX that could be compiled here, only: %s; rebuild it "
            "with PTX, for example nvcc -gencode arch=compute_%u,code=compute_%u",
            file_name(module), inside, arch, arch);
}

// Unpacks one entry as the next unit of the module.
static cudaError_t add_unit(struct irt_module *module, const struct irt_fatbin_entry *entry)
{
    char *text;
    size_t size;
    enum irt_fatbin_result result = irt_fatbin_text(entry, &text, &size);
    if (result == IRT_FATBIN_NO_MEMORY) {
        return cudaErrorMemoryAllocation;
    }
    if (result != IRT_FATBIN_OK) {
        irt_log("module", IRT_LOG_ERROR, "%s: PTX for compute_%u: %s", file_name(module),
                entry->arch, irt_fatbin_result_text(result));
        return cudaErrorInvalidKernelImage;
    }
    struct irtb_code_unit *grown =
        realloc(module->units, (module->unit_count + 1) * sizeof(*grown));
    char *name = NULL;
    if (grown) {
        module->units = grown;
        if (asprintf(&name, "%s, module %u, unit %zu (compute_%u%.*s)", file_name(module),
                     module->number, module->unit_count, entry->arch, entry->variant != 0,
                     &entry->variant) < 0) {
            name = NULL;
        }
    }
    if (!name) {
        free(text);
        return cudaErrorMemoryAllocation;
    }
    module->units[module->unit_count++] =
        (struct irtb_code_unit){.text = text, .size = size, .name = name};
    return cudaSuccess;
}

static cudaError_t malformed(const struct irt_module *module, enum irt_fatbin_result result)
{
    irt_log("module", IRT_LOG_ERROR, "%s: fat binary: %s", file_name(module),
            irt_fatbin_result_text(result));
    return cudaErrorInvalidKernelImage;
}

// The unit of one fat binary. `optional`: one that is empty adds nothing and is no error.
static cudaError_t add_fatbin(struct irt_module *module, const void *data, unsigned arch,
                              bool optional)
{
    struct irt_fatbin fatbin;
    struct irt_fatbin_entry entry;
    enum irt_fatbin_result result = irt_fatbin_open_registered(data, &fatbin);
    if (result != IRT_FATBIN_OK) {
        return malformed(module, result);
    }
    if (optional && fatbin.next == fatbin.end) {
        return cudaSuccess;
    }
    result = irt_fatbin_choose(&fatbin, arch, &entry);
    if (result == IRT_FATBIN_NO_PTX) {
        report_no_ptx(module, &fatbin, arch);
        return cudaErrorNoKernelImageForDevice;
    }
    return result == IRT_FATBIN_OK ? add_unit(module, &entry) : malformed(module, result);
}

// Code linked from several translation units (-rdc): a whole text if there is one, else the units.
static cudaError_t add_linked(struct irt_module *module, unsigned arch)
{
    const struct irt_fatbin_wrapper *wrapper = module->wrapper;
    struct irt_fatbin whole;
    struct irt_fatbin_entry entry;
    if (irt_fatbin_open_registered(wrapper->data, &whole) == IRT_FATBIN_OK &&
        irt_fatbin_choose(&whole, arch, &entry) == IRT_FATBIN_OK) {
        return add_unit(module, &entry);
    }
    for (size_t i = 0; wrapper->linked[i]; i++) {
        cudaError_t e = add_fatbin(module, wrapper->linked[i], arch, true);
        if (e) {
            return e;
        }
    }
    return module->unit_count ? cudaSuccess : add_fatbin(module, wrapper->data, arch, false);
}

static cudaError_t choose_units(struct irt_module *module, unsigned arch)
{
    const struct irt_fatbin_wrapper *wrapper = module->wrapper;
    if (!wrapper || wrapper->magic != IRT_FATBIN_WRAPPER_MAGIC ||
        (wrapper->version != 1 && wrapper->version != 2)) {
        irt_log("module", IRT_LOG_ERROR, "module %u: what was registered is no fat binary",
                module->number);
        return cudaErrorInvalidKernelImage;
    }
    return wrapper->version == 2 && wrapper->linked
               ? add_linked(module, arch)
               : add_fatbin(module, wrapper->data, arch, false);
}

static void drop_units(struct irt_module *module)
{
    for (size_t i = 0; i < module->unit_count; i++) {
        free((void *)module->units[i].text);
        free((void *)module->units[i].name);
    }
    free(module->units);
    module->units = NULL;
    module->unit_count = 0;
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
        *(void **)variable->host = ptr;
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
        module->choice_error = choose_units(module, arch_of(device));
        module->chosen = true;
    }
    if (module->choice_error) {
        return module->choice_error;
    }
    struct irtb_module *code;
    cudaError_t e =
        irt_backend()->module_load(device->id, module->units, module->unit_count, &code);
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
        void **pointer = v->managed ? (void **)v->host : NULL;
        if (pointer && !*pointer) {
            irt_log("module", IRT_LOG_ERROR,
                    "managed variable %s reads as zero: its module cannot be loaded", v->name);
            *pointer = calloc(1, v->size ? v->size : 1);
        }
    }
    irt_mutex_unlock(&module->lock);
    return e;
}

// ---- kernels ----

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

void irt_module_discard(struct irt_module *module)
{
    // Where nothing may be waited for, the code stays: at exit, in a fork child, and in a host
    // function, which the work that would be waited for stands behind.
    bool alive = !atomic_load(&exiting) && irt_process_state() == IRT_PROCESS_RUNNING &&
                 !irt_stream_in_host_function();
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
        drop_units(module); // else code that still runs may refer to the texts
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
        if (v->managed && !v->managed_storage && *(void **)v->host) {
            irt_module_init_managed(module, context);
            return;
        }
    }
}

void irt_module_restore_managed(struct irt_device *device)
{
    irt_module_each(restore_one, device);
}
