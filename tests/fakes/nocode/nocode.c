// SPDX-License-Identifier: Apache-2.0
//
// The cpu backend (NOCODE_INNER: its module) as if it were a vendor's: it runs no CUDA code, its
// streams have a vendor's handle, and it launches kernels by a vendor's handle, which is the
// address of a function here. For tests of providers; proves nothing about a vendor.
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"

static struct irtb_backend table;
static const struct irtb_backend *inner;

// What a handle of this vendor points to.
typedef void vendor_kernel(const struct irtb_vendor_launch *launch);

static void *stream_native(struct irtb_stream *stream)
{
    return stream;
}

static cudaError_t vendor_launch(struct irtb_stream *stream,
                                 const struct irtb_vendor_launch *launch)
{
    vendor_kernel *kernel;
    *(void **)&kernel = launch->handle;
    cudaError_t e = inner->stream_synchronize(stream);
    if (!e) {
        kernel(launch);
    }
    return e;
}

__attribute__((visibility("default"))) const struct irtb_backend *irtb_backend_entry(void)
{
    const char *path = getenv("NOCODE_INNER");
    void *module = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    const struct irtb_backend *(*entry)(void);
    *(void **)&entry = module ? dlsym(module, "irtb_backend_entry") : NULL;
    if (!entry) {
        return NULL;
    }
    inner = entry();
    table = *inner;
    table.module_load = NULL;
    table.module_unload = NULL;
    table.module_function = NULL;
    table.module_variable = NULL;
    table.module_bind_variable = NULL;
    table.module_function_name = NULL;
    table.module_variable_name = NULL;
    table.failure_text = NULL;
    table.function_info = NULL;
    table.function_parameter = NULL;
    table.function_set_attribute = NULL;
    table.function_occupancy = NULL;
    table.function_compile = NULL;
    table.launch = NULL;
    table.stream_native = stream_native;
    table.vendor_launch = vendor_launch;
    return &table;
}
