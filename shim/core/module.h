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

// The mangled name; lives as long as the kernel.
const char *irt_kernel_name(const struct irt_kernel *kernel);

// The handle that cudaGetKernel and cudaGetFuncBySymbol give out; the same at every call.
cudaKernel_t irt_kernel_handle(const struct irt_kernel *kernel);

// Whether `func` is the address of a live registered host function (and not a handle).
bool irt_kernel_is_host_function(const void *func);

// A kernel on one device. Lives as long as the module is loaded there.
struct irt_loaded {
    struct irtb_function *function;
    struct irtb_function_info
        info; // as asked at loading; its dynamic shared maximum may have changed
    _Atomic int dynamic_shared_max; // bytes that a launch may ask for now
    _Atomic int compiled; // 0: not yet asked; else 1 + the cudaError_t of function_compile
};

// The kernel on `device`; loads the module there when needed. Errors: 209 without usable PTX (one
// line says what is inside), 218, 222, 98 when the module has no such entry.
cudaError_t irt_kernel_load(struct irt_kernel *kernel, struct irt_device *device,
                            struct irt_loaded **ret_loaded);

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

// cudaDeviceReset, before the backend's reset: unloads every module from the device; kernels and
// variables load again, with their initial values, at the next use. All work has ended.
void irt_module_reset_device(struct irt_device *device);

// cudaDeviceReset, after the backend's reset: gives managed variables that lost their storage a new
// one at once, since the program reads them without asking.
void irt_module_restore_managed(struct irt_device *device);
