// SPDX-License-Identifier: Apache-2.0
//
// What programs register before main and from plug-ins: modules (fat binaries), kernels and
// variables, found by the address of their host twin. Registering only records; the code is chosen,
// unpacked and loaded per device when a kernel or variable of the module is first used there.
// registry.c keeps the records, module.c loads. Callers: launch, function, occupancy and symbol
// functions.
#pragma once

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
cudaError_t irt_kernel_handle(struct irt_kernel *kernel, cudaKernel_t *ret_handle);

// The kernel's function on `device`; loads the module there when needed. Errors: 209 without usable
// PTX (one line says what is inside), 218, 222, 98 when the module has no such entry.
cudaError_t irt_kernel_on(struct irt_kernel *kernel, struct irt_device *device,
                          struct irtb_function **ret_function);

// The same with what function_info says of it, asked once per device. The pointer lives as long as
// the module is loaded there.
cudaError_t irt_kernel_info(struct irt_kernel *kernel, struct irt_device *device,
                            struct irtb_function **ret_function,
                            const struct irtb_function_info **ret_info);

// The variable that `symbol` names (address of a registered host variable, or of a managed variable
// itself) on `device`; loads the module there when needed. The storage is in the map of memory.h.
// cudaErrorInvalidSymbol (13) for anything else.
cudaError_t irt_symbol_find(const void *symbol, struct irt_device *device, void **ret_ptr,
                            size_t *ret_size);

// cudaDeviceReset: unloads every module from the device; kernels and variables load again (with
// their initial values) at the next use. All work has ended.
void irt_module_reset_device(struct irt_device *device);
