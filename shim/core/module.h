// SPDX-License-Identifier: Apache-2.0
//
// What programs register before main and from plug-ins: modules (fat binaries), kernels and
// variables, found by the address of their host twin. Registering only records; the code is chosen,
// unpacked and loaded per device when a kernel or variable of the module is first used there.
// registry.c keeps the records, module.c loads. Callers: launch, function, occupancy and symbol
// functions.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "shim/core/device.h"

struct irt_module; // one __cudaRegisterFatBinary
struct irt_kernel; // one __cudaRegisterFunction; lives as long as its module is referenced

// The kernel that `func` names: the address of a registered host function (of several registrations
// the last live one), else a cudaKernel_t or cudaFunction_t given out before. Takes a reference on
// its module, dropped by irt_kernel_put. cudaErrorInvalidDeviceFunction for anything else.
cudaError_t irt_kernel_get(const void *func, struct irt_kernel **ret_kernel);
void irt_kernel_put(struct irt_kernel *kernel);
void irt_kernel_ref(struct irt_kernel *kernel); // one more, for who holds one

// The mangled name; lives as long as the kernel.
const char *irt_kernel_name(const struct irt_kernel *kernel);

// The handle that cudaGetKernel and cudaGetFuncBySymbol give out; the same at every call.
cudaKernel_t irt_kernel_handle(const struct irt_kernel *kernel);

// What the application calls the kernel by: the address of its host function, else the handle.
const void *irt_kernel_function(const struct irt_kernel *kernel);

// Whether `func` is the address of a live registered host function (and not a handle).
bool irt_kernel_is_host_function(const void *func);

// A kernel on one device. Lives as long as the module is loaded there.
struct irt_loaded {
    struct irtb_function *function;
    struct irtb_function_info
        info; // as asked at loading; its dynamic shared maximum may have changed
    _Atomic int dynamic_shared_max; // bytes that a launch may ask for now
    _Atomic int cluster[3];         // cudaFuncAttributeRequiredCluster…; 0: not set
    _Atomic int compiled; // 0: not yet asked; else 1 + the cudaError_t of function_compile
};

// The kernel on `device`; loads the module there when needed. Errors: 209 without usable PTX (one
// line says what is inside), 218, 222, 98 when the module has no such entry.
cudaError_t irt_kernel_load(struct irt_kernel *kernel, struct irt_device *device,
                            struct irt_loaded **ret_loaded);

// Puts what the loader of the kernel's module said about launches into what the backend says.
void irt_kernel_limit(const struct irt_kernel *kernel, struct irtb_function_info *info);

// Whether the kernel was loaded on the device already.
bool irt_kernel_is_loaded(const struct irt_kernel *kernel, const struct irt_device *device);

// irt_kernel_get and irt_kernel_load on the current device; the caller puts the kernel on success.
cudaError_t irt_kernel_get_loaded(const void *func, struct irt_kernel **ret_kernel,
                                  struct irt_loaded **ret_loaded);

// Makes sure that the code is compiled, so that its errors come before anything is enqueued.
cudaError_t irt_kernel_compile(struct irt_loaded *loaded);

// The variable that `symbol` names (address of a registered host variable, or of a managed variable
// itself) on `device`; loads the module there when needed. The storage is in the map of memory.h.
// cudaErrorInvalidSymbol (13) for anything else.
cudaError_t irt_symbol_find(const void *symbol, struct irt_device *device, void **ret_ptr,
                            size_t *ret_size);

// Bytes [offset, offset+count) of a variable on the current device (symbol.c). 13;
// cudaErrorInvalidValue when there are not so many.
cudaError_t irt_symbol_range(const void *symbol, size_t count, size_t offset, char **ret_start);

// cudaErrorInvalidMemcpyDirection for a kind that cannot copy to (or from) a variable.
cudaError_t irt_symbol_check_kind(enum cudaMemcpyKind kind, bool to_symbol);

// Whether what goes away with a module may wait for work: not at exit, in a fork child, and in a
// host function, which the work that would be waited for stands behind.
bool irt_module_may_wait(void);

// ---- code that the program loads by hand (library.c, shim/driver/module.c) ----

struct irt_code;

// What the loader says about launches of a module's kernels.
struct irt_module_limits {
    unsigned max_threads; // per block, 0: as the code says
    bool override;        // max_threads counts even where the code says something else
};

// A number for messages, unique in the process.
unsigned irt_module_number(void);

// A module that nobody registered, from `code`, which is taken over in any case. Loaded on `device`
// at once, which checks the code, and on other devices when it is first used there. One reference,
// dropped by irt_module_close. Errors: those of irtb_backend.module_load, 801 when the backend
// cannot list what is in a module.
cudaError_t irt_module_create(struct irt_code *code, unsigned number,
                              const struct irt_module_limits *limits, struct irt_device *device,
                              struct irt_module **ret_module);

// Makes the handles of the module's kernels invalid and drops the reference. Waits for the work of
// every device that it is loaded on, when this was the last one. Hold no lock.
void irt_module_close(struct irt_module *module);

// The handles of the first `count` kernels, in the order of the code; returns how many the module
// has. `ret_kernels` may be NULL. A handle is NULL when there is no memory for it.
unsigned irt_module_kernels(struct irt_module *module, cudaKernel_t *ret_kernels, unsigned count);

// The handle of the kernel with that name; cudaErrorSymbolNotFound (500).
cudaError_t irt_module_kernel(struct irt_module *module, const char *name,
                              cudaKernel_t *ret_kernel);

// The variable with that name on `device`, loading the module there when needed; the storage is in
// the map of memory.h. cudaErrorSymbolNotFound (500), also when `managed` is set and it is not.
cudaError_t irt_module_variable(struct irt_module *module, const char *name, bool managed,
                                struct irt_device *device, void **ret_ptr, size_t *ret_size);

// The module that a kernel is of.
struct irt_module *irt_kernel_module(const struct irt_kernel *kernel);

// cudaDeviceReset, before the backend's reset: unloads every module from the device; kernels and
// variables load again, with their initial values, at the next use. All work has ended.
void irt_module_reset_device(struct irt_device *device);

// cudaDeviceReset, after the backend's reset: gives managed variables that lost their storage a new
// one at once, since the program reads them without asking.
void irt_module_restore_managed(struct irt_device *device);
