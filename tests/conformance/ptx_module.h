// SPDX-License-Identifier: Apache-2.0
//
// Kernels given as PTX text, registered through the hidden interface of libcudart exactly as
// nvcc's host code does (a version 1 wrapper around a fat binary with one uncompressed PTX entry),
// so that tests in plain C can launch kernels on any backend without nvcc.
#pragma once

#include <stddef.h>

struct ptx_module;

// A fat binary with `text` (.target sm_80) as its one entry, malloc'ed; NULL when out of memory.
unsigned char *ptx_image(const char *text, size_t *ret_size);

// Registers `text` (.target sm_80) with the kernels `names`. The text is copied; names must live
// on. NULL when out of memory.
struct ptx_module *ptx_module_register(const char *text, const char *const *names, size_t count);
// The key that stands for the host stub of kernel `index`.
const void *ptx_module_stub(const struct ptx_module *module, size_t index);
// Registers a __device__ (or __constant__) variable under the key `host`.
void ptx_module_variable(struct ptx_module *module, void *host, const char *name, size_t size,
                         int constant);
// What __cudaRegisterFatBinary returned, to register other things.
void **ptx_module_handle(const struct ptx_module *module);
// Ends the registration of kernels and variables; call it once, before the first launch.
void ptx_module_end(struct ptx_module *module);
void ptx_module_unregister(struct ptx_module *module);
