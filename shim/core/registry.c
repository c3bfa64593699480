// SPDX-License-Identifier: Apache-2.0
//
// Who registered what: modules, kernels and variables by the address of their host twin, from any
// thread, before main and from plug-ins that come and go. Nothing here needs a backend; a look-up
// of a kernel takes the lock only when the thread has not just seen the same one.
// Callers: the stubs that nvcc generates. Source: facts/launch.md 1, 2.
#include "shim/core/registry.h"

#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/error.h"
#include "shim/core/memory.h"
#include "shim/core/perthread.h"
#include "shim/image/texref.h"
#include "shim/dispatch/backend.h"
#include "shim/util/handle.h"
#include "shim/util/log.h"
#include "shim/util/process.h"

static void close_kernel(void *object);

static struct irt_handle_table handles = IRT_HANDLE_TABLE(IRT_HANDLE_KERNEL, close_kernel);

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_REGISTRY); // guards the three tables
static struct irt_module *modules;
static struct irt_kernel *kernels;
static struct irt_variable *variables;
// Grows whenever a host address may name another kernel than before.
static _Atomic uint64_t version = 1;
static _Atomic unsigned next_number = 1;

// ---- lifetime ----

void irt_module_ref(struct irt_module *module)
{
    atomic_fetch_add_explicit(&module->references, 1, memory_order_relaxed);
}

void irt_module_unref(struct irt_module *module)
{
    if (atomic_fetch_sub_explicit(&module->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    irt_module_discard(module);
    while (module->kernels) {
        struct irt_kernel *kernel = module->kernels;
        module->kernels = kernel->next;
        free(kernel);
    }
    while (module->variables) {
        struct irt_variable *variable = module->variables;
        module->variables = variable->next;
        free(variable);
    }
    irt_mutex_destroy(&module->lock);
    free(module);
}

static void close_kernel(void *object)
{
    struct irt_kernel *kernel = object;
    irt_module_unref(kernel->module);
}

void irt_module_each(void (*visit)(struct irt_module *module, void *context), void *context)
{
    irt_mutex_lock(&lock);
    unsigned count = HASH_COUNT(modules);
    struct irt_module **list = count ? malloc(count * sizeof(struct irt_module *)) : NULL;
    if (!list) {
        count = 0;
    }
    unsigned filled = 0;
    for (struct irt_module *m = modules; m && filled < count; m = m->hh.next) {
        irt_module_ref(m);
        list[filled++] = m;
    }
    irt_mutex_unlock(&lock);
    for (unsigned i = 0; i < filled; i++) {
        visit(list[i], context);
        irt_module_unref(list[i]);
    }
    free(list);
}

// The module that a registration function was given, or NULL. Caller holds the lock.
static struct irt_module *module_locked(void *const *handle)
{
    const void *key = handle;
    struct irt_module *module = NULL;
    HASH_FIND_PTR(modules, &key, module);
    return module;
}

unsigned irt_module_number(void)
{
    return atomic_fetch_add_explicit(&next_number, 1, memory_order_relaxed);
}

// A module without anything in it, with one reference. NULL without memory.
static struct irt_module *module_new(unsigned number)
{
    struct irt_module *module = calloc(1, sizeof(*module));
    if (module) {
        module->number = number;
        atomic_init(&module->references, 1);
        irt_mutex_init(&module->lock, IRT_RANK_MODULE);
        module->self = module;
    }
    return module;
}

// Puts the module on the list of all. False without memory.
static bool module_enlist(struct irt_module *module)
{
    irt_mutex_lock(&lock);
    HASH_ADD_PTR(modules, self, module);
    bool added = module->hh.tbl != NULL;
    irt_mutex_unlock(&lock);
    return added;
}

// ---- registration ----

void **irt_core___cudaRegisterFatBinary(void *fatCubin)
{
    struct irt_module *module = module_new(irt_module_number());
    if (module) {
        module->wrapper = fatCubin;
        if (module_enlist(module)) {
            return (void **)module;
        }
        irt_module_unref(module);
    }
    irt_log("module", IRT_LOG_ERROR, "no memory to register a module");
    return NULL;
}

// NOLINTBEGIN(readability-non-const-parameter): the prototypes are NVIDIA's

// Everything was recorded already; the call only marks the end.
void irt_core___cudaRegisterFatBinaryEnd(void **fatCubinHandle)
{
    (void)fatCubinHandle;
}

void irt_core___cudaRegisterFunction(void **fatCubinHandle, const char *hostFun, char *deviceFun,
                                     const char *deviceName, int thread_limit, uint3 *tid,
                                     uint3 *bid, dim3 *bDim, dim3 *gDim, int *wSize)
{
    // The name comes twice, the rest is always -1 and NULL: bounds are in the PTX.
    (void)deviceFun, (void)thread_limit, (void)tid, (void)bid, (void)bDim, (void)gDim, (void)wSize;
    if (!hostFun || !deviceName) {
        return;
    }
    size_t size = strlen(deviceName) + 1;
    struct irt_kernel *kernel = calloc(1, sizeof(*kernel) + size);
    if (!kernel) {
        irt_log("module", IRT_LOG_ERROR, "no memory to register kernel %s", deviceName);
        return;
    }
    kernel->host = hostFun;
    memcpy(kernel->name, deviceName, size);
    irt_mutex_lock(&lock);
    struct irt_module *module = module_locked(fatCubinHandle);
    if (module) {
        kernel->module = module;
        HASH_FIND_PTR(kernels, &kernel->host, kernel->older);
        if (kernel->older) {
            HASH_DEL(kernels, kernel->older);
        }
        HASH_ADD_PTR(kernels, host, kernel);
        kernel->next = module->kernels;
        module->kernels = kernel;
        atomic_fetch_add_explicit(&version, 1, memory_order_release);
    }
    irt_mutex_unlock(&lock);
    if (!module) {
        free(kernel);
    }
}

static void register_variable(void **handle, const void *host, const char *name, size_t bytes,
                              bool managed)
{
    if (!host || !name) {
        return;
    }
    size_t size = strlen(name) + 1;
    struct irt_variable *variable = calloc(1, sizeof(*variable) + size);
    if (!variable) {
        irt_log("module", IRT_LOG_ERROR, "no memory to register variable %s", name);
        return;
    }
    variable->host = host;
    variable->size = bytes;
    variable->managed = managed;
    memcpy(variable->name, name, size);
    irt_mutex_lock(&lock);
    struct irt_module *module = module_locked(handle);
    if (module) {
        variable->module = module;
        HASH_FIND_PTR(variables, &variable->host, variable->older);
        if (variable->older) {
            HASH_DEL(variables, variable->older);
        }
        HASH_ADD_PTR(variables, host, variable);
        variable->next = module->variables;
        module->variables = variable;
    }
    irt_mutex_unlock(&lock);
    if (!module) {
        free(variable);
    }
}

void irt_core___cudaRegisterVar(void **fatCubinHandle, char *hostVar, char *deviceAddress,
                                const char *deviceName, int ext, size_t size, int constant,
                                int global)
{
    (void)deviceAddress, (void)ext, (void)constant, (void)global;
    register_variable(fatCubinHandle, hostVar, deviceName, size, false);
}

void irt_core___cudaRegisterManagedVar(void **fatCubinHandle, void **hostVarPtrAddress,
                                       char *deviceAddress, const char *deviceName, int ext,
                                       size_t size, int constant, int global)
{
    (void)deviceAddress, (void)ext, (void)constant, (void)global;
    register_variable(fatCubinHandle, hostVarPtrAddress, deviceName, size, true);
}

// NOLINTEND(readability-non-const-parameter)

void irt_core___cudaRegisterHostVar(void **fatCubinHandle, const char *deviceName, char *hostVar,
                                    size_t size)
{
    register_variable(fatCubinHandle, hostVar, deviceName, size, false);
}

char irt_core___cudaInitModule(void **fatCubinHandle)
{
    irt_mutex_lock(&lock);
    struct irt_module *module = module_locked(fatCubinHandle);
    if (module) {
        irt_module_ref(module);
    }
    irt_mutex_unlock(&lock);
    if (!module) {
        return 0;
    }
    cudaError_t e = irt_process_state() == IRT_PROCESS_RUNNING ? irt_backend_require()
                                                               : cudaErrorInitializationError;
    if (!e) {
        e = irt_module_init_managed(module, irt_device_current());
    }
    irt_module_unref(module);
    if (e) {
        irt_error_set_last(e);
    }
    return (char)(e == cudaSuccess);
}

// Takes a kernel out of the table; an older one of the same address comes back.
static void withdraw_kernel(struct irt_kernel *kernel)
{
    struct irt_kernel *newest = NULL;
    HASH_FIND_PTR(kernels, &kernel->host, newest);
    if (newest == kernel) {
        HASH_DEL(kernels, kernel); // NOLINT(clang-analyzer-core.NullDereference): uthash
        if (kernel->older) {
            HASH_ADD_PTR(kernels, host, kernel->older);
        }
        return;
    }
    while (newest && newest->older != kernel) {
        newest = newest->older;
    }
    if (newest) {
        newest->older = kernel->older;
    }
}

static void withdraw_variable(struct irt_variable *variable)
{
    struct irt_variable *newest = NULL;
    HASH_FIND_PTR(variables, &variable->host, newest);
    if (newest == variable) {
        HASH_DEL(variables, variable); // NOLINT(clang-analyzer-core.NullDereference): uthash
        if (variable->older) {
            HASH_ADD_PTR(variables, host, variable->older);
        }
        return;
    }
    while (newest && newest->older != variable) {
        newest = newest->older;
    }
    if (newest) {
        newest->older = variable->older;
    }
}

// The kernel's handle, opened when it has none yet; NULL without memory. The module is not closed.
static void *open_handle_locked(struct irt_kernel *kernel)
{
    if (!kernel->handle) {
        irt_module_ref(kernel->module);
        kernel->handle = irt_handle_open(&handles, kernel);
        if (!kernel->handle) {
            irt_module_unref(kernel->module); // not the last one
        }
    }
    return kernel->handle;
}

// Of a module that look-ups do not find any more, so that no new handle is opened meanwhile.
static void close_handles(struct irt_module *module)
{
    for (struct irt_kernel *k = module->kernels; k; k = k->next) {
        if (k->handle) {
            irt_handle_close(&handles, k->handle);
        }
    }
}

void irt_core___cudaUnregisterFatBinary(void **fatCubinHandle)
{
    irt_mutex_lock(&lock);
    struct irt_module *module = module_locked(fatCubinHandle);
    if (module) {
        HASH_DEL(modules, module);
        for (struct irt_kernel *k = module->kernels; k; k = k->next) {
            withdraw_kernel(k);
        }
        for (struct irt_variable *v = module->variables; v; v = v->next) {
            withdraw_variable(v);
        }
        atomic_fetch_add_explicit(&version, 1, memory_order_release);
    }
    irt_mutex_unlock(&lock);
    if (!module) {
        return;
    }
    irt_texref_forget(fatCubinHandle);
    close_handles(module);
    irt_module_unref(module);
}

// ---- code loaded by hand ----

cudaError_t irt_module_create(struct irt_code *code, unsigned number,
                              const struct irt_module_limits *limits, struct irt_device *device,
                              struct irt_module **ret_module)
{
    struct irt_module *module = module_new(number);
    if (!module) {
        irt_code_free(code);
        return cudaErrorMemoryAllocation;
    }
    module->code = *code;
    *code = (struct irt_code){NULL, 0};
    module->chosen = true;
    module->limits = *limits;
    struct irtb_module *loaded;
    cudaError_t e = irt_module_load(module, device, &loaded);
    if (!e) {
        e = irt_module_list(module, device, loaded);
    }
    if (!e && !module_enlist(module)) {
        e = cudaErrorMemoryAllocation;
    }
    if (e) {
        irt_module_unref(module);
        return e;
    }
    *ret_module = module;
    return cudaSuccess;
}

void irt_module_close(struct irt_module *module)
{
    irt_mutex_lock(&lock);
    HASH_DEL(modules, module);
    irt_mutex_unlock(&lock);
    close_handles(module);
    irt_module_unref(module);
}

unsigned irt_module_kernels(struct irt_module *module, cudaKernel_t *ret_kernels, unsigned count)
{
    unsigned number = 0;
    irt_mutex_lock(&lock);
    for (struct irt_kernel *k = module->kernels; k; k = k->next) {
        if (ret_kernels && number < count) {
            ret_kernels[number] = open_handle_locked(k);
        }
        number++;
    }
    irt_mutex_unlock(&lock);
    return number;
}

cudaError_t irt_module_kernel(struct irt_module *module, const char *name, cudaKernel_t *ret_kernel)
{
    struct irt_kernel *kernel = module->kernels;
    while (kernel && strcmp(kernel->name, name) != 0) {
        kernel = kernel->next;
    }
    if (!kernel) {
        return cudaErrorSymbolNotFound;
    }
    irt_mutex_lock(&lock);
    void *handle = open_handle_locked(kernel);
    irt_mutex_unlock(&lock);
    if (!handle) {
        return cudaErrorMemoryAllocation;
    }
    *ret_kernel = handle;
    return cudaSuccess;
}

struct irt_module *irt_kernel_module(const struct irt_kernel *kernel)
{
    return kernel->module;
}

// ---- look-up ----

static struct irt_kernel_cache_line *cache_line(struct irt_thread *thread, const void *host)
{
    uintptr_t address = (uintptr_t)host;
    return &thread->cache[(address >> 4 ^ address >> 9) % IRT_KERNEL_CACHE_LINES];
}

static struct irt_kernel *get_by_host(const void *host)
{
    struct irt_thread *thread = irt_thread();
    struct irt_kernel_cache_line *line = cache_line(thread, host);
    uint64_t now = atomic_load_explicit(&version, memory_order_acquire);
    if (line->host == host && thread->cache_version == now) {
        struct irt_kernel *kernel = irt_handle_get(&handles, line->handle);
        if (kernel) {
            return kernel;
        }
    }
    struct irt_kernel *kernel = NULL;
    irt_mutex_lock(&lock);
    now = atomic_load_explicit(&version, memory_order_relaxed);
    HASH_FIND_PTR(kernels, &host, kernel);
    if (kernel) {
        kernel = irt_handle_get(&handles, open_handle_locked(kernel));
    }
    irt_mutex_unlock(&lock);
    if (kernel) {
        if (thread->cache_version != now) {
            memset(thread->cache, 0, sizeof(thread->cache));
            thread->cache_version = now;
        }
        *line = (struct irt_kernel_cache_line){host, kernel->handle};
    }
    return kernel;
}

cudaError_t irt_kernel_get(const void *func, struct irt_kernel **ret_kernel)
{
    // No handle is a valid address, so the order of the two questions does not matter.
    struct irt_kernel *kernel = irt_handle_get(&handles, func);
    if (!kernel && func) {
        kernel = get_by_host(func);
    }
    if (!kernel) {
        return cudaErrorInvalidDeviceFunction;
    }
    *ret_kernel = kernel;
    return cudaSuccess;
}

bool irt_kernel_is_host_function(const void *func)
{
    struct irt_kernel *kernel = NULL;
    irt_mutex_lock(&lock);
    HASH_FIND_PTR(kernels, &func, kernel);
    irt_mutex_unlock(&lock);
    return kernel != NULL;
}

void irt_kernel_ref(struct irt_kernel *kernel)
{
    irt_handle_ref(&handles, kernel->handle);
}

void irt_kernel_put(struct irt_kernel *kernel)
{
    irt_handle_put(&handles, kernel->handle);
}

const char *irt_kernel_name(const struct irt_kernel *kernel)
{
    return kernel->name;
}

cudaKernel_t irt_kernel_handle(const struct irt_kernel *kernel)
{
    return kernel->handle;
}

const void *irt_kernel_function(const struct irt_kernel *kernel)
{
    return kernel->host ? kernel->host : kernel->handle;
}

// A managed variable is named by its storage, which is what the program sees under its name.
static cudaError_t find_managed(const void *symbol, void **ret_ptr, size_t *ret_size)
{
    struct irt_memory memory;
    if (!irt_memory_find(symbol, &memory) || memory.type != IRT_MEMORY_MANAGED_VARIABLE ||
        memory.start != symbol) {
        return cudaErrorInvalidSymbol;
    }
    *ret_ptr = memory.start;
    *ret_size = memory.size;
    return cudaSuccess;
}

cudaError_t irt_symbol_find(const void *symbol, struct irt_device *device, void **ret_ptr,
                            size_t *ret_size)
{
    struct irt_variable *variable = NULL;
    if (!symbol) {
        return cudaErrorInvalidSymbol;
    }
    irt_mutex_lock(&lock);
    HASH_FIND_PTR(variables, &symbol, variable);
    if (variable) {
        irt_module_ref(variable->module);
    }
    irt_mutex_unlock(&lock);
    if (!variable) {
        return find_managed(symbol, ret_ptr, ret_size);
    }
    struct irt_module *module = variable->module;
    struct irtb_module *code;
    cudaError_t e = irt_module_load(module, device, &code);
    if (!e) {
        void *ptr;
        size_t size;
        bool managed;
        e = irt_backend()->module_variable(code, variable->name, &ptr, &size, &managed);
        if (e) {
            e = cudaErrorInvalidSymbol;
        } else {
            *ret_ptr = ptr;
            *ret_size = variable->size ? variable->size : size;
        }
    }
    irt_module_unref(module);
    return e;
}
