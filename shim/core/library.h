// SPDX-License-Identifier: Apache-2.0
//
// Libraries: device code that the program loads itself, as counted objects behind handles
// (cudaLibrary_t, which is CUlibrary). What is in one is a module of module.h. Callers: the
// cudaLibrary functions in library.c and the driver functions in shim/driver.
#pragma once

#include "shim/core/jit_options.h"
#include "shim/core/module.h"

struct irt_library;

// Where the code comes from: one of the two.
struct irt_library_source {
    const void *code; // in memory, without a size
    const char *file; // path
};

// Loads the code for the current device and answers the application's JIT options, also on failure.
// Errors: 1 (no code), 200 (damaged), 209 (machine code only), 218 (PTX that does not parse), 222
// (… of a version that is newer than this), 301 (no such file), 2. Hold no lock.
cudaError_t irt_library_load(const struct irt_library_source *source,
                             const struct irt_jit_options *options, cudaLibrary_t *ret_library);

// The whole file, malloc'ed (one byte at least). cudaErrorFileNotFound (301) when it cannot be read,
// 200 when it is too large for code.
cudaError_t irt_library_read_file(const char *path, char **ret_data, size_t *ret_size);

// Ends a handle: kernels' handles become invalid, the code is unloaded when the work that uses it
// has ended (waits for it). cudaErrorInvalidResourceHandle.
cudaError_t irt_library_unload(cudaLibrary_t handle);

// The library of a live handle with one more reference; cudaErrorInvalidResourceHandle.
cudaError_t irt_library_get(cudaLibrary_t handle, struct irt_library **ret_library);
void irt_library_put(struct irt_library *library);
struct irt_module *irt_library_module(const struct irt_library *library);

// The handle of the library whose module that is, NULL for a registered module. A live handle when
// the caller holds a kernel of it.
cudaLibrary_t irt_library_of(const struct irt_module *module);
