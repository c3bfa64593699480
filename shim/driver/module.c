// SPDX-License-Identifier: Apache-2.0
//
// Modules, libraries, kernels and the linker of the driver API. A library is the runtime's
// (shim/core/library.h); a module is a library bound to the device it was loaded on. Source: CUDA
// Driver API, "Module Management", "Library Management".
#include "shim/driver/module.h"

#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/core/code.h"
#include "shim/core/library.h"
#include "shim/driver/driver.h"
#include "shim/util/env.h"
#include "shim/util/handle.h"

struct module {
    void *handle;
    cudaLibrary_t library;
    struct irt_device *device;
    bool own; // unloading the module unloads the library
};

static void destroy_module(void *object)
{
    struct module *module = object;
    if (module->own) {
        irt_library_unload(module->library);
    }
    free(module);
}

static struct irt_handle_table modules = IRT_HANDLE_TABLE(IRT_HANDLE_MODULE, destroy_module);

// ---- modules ----

// A module of a library on the current device.
static cudaError_t open_module(cudaLibrary_t library, bool own, CUmodule *ret_module)
{
    struct module *module = calloc(1, sizeof *module);
    if (module) {
        *module = (struct module){.library = library, .device = irt_device_current(), .own = own};
        module->handle = irt_handle_open(&modules, module);
    }
    if (!module || !module->handle) {
        free(module);
        return cudaErrorMemoryAllocation;
    }
    *ret_module = module->handle;
    return cudaSuccess;
}

static cudaError_t load(const struct irt_library_source *source, unsigned int count,
                        CUjit_option *options, void **values, CUmodule *ret_module)
{
    struct irt_jit_options jit;
    cudaLibrary_t library;
    if (!ret_module || (!source->code && !source->file)) {
        return cudaErrorInvalidValue;
    }
    // The numbers of both enumerations are the same (shim/core/jit_options.h).
    cudaError_t e = irt_jit_options_read(count, (const enum cudaJitOption *)options, values, &jit);
    if (!e) {
        e = irt_library_load(source, &jit, &library);
    }
    if (e) {
        return e;
    }
    e = open_module(library, true, ret_module);
    if (e) {
        irt_library_unload(library);
    }
    return e;
}

cudaError_t irt_driver_cuModuleLoad(CUmodule *module, const char *fname)
{
    return load(&(struct irt_library_source){.file = fname}, 0, NULL, NULL, module);
}

cudaError_t irt_driver_cuModuleLoadData(CUmodule *module, const void *image)
{
    return load(&(struct irt_library_source){.code = image}, 0, NULL, NULL, module);
}

cudaError_t irt_driver_cuModuleLoadDataEx(CUmodule *module, const void *image,
                                          unsigned int numOptions, CUjit_option *options,
                                          void **optionValues)
{
    return load(&(struct irt_library_source){.code = image}, numOptions, options, optionValues,
                module);
}

cudaError_t irt_driver_cuModuleLoadFatBinary(CUmodule *module, const void *fatCubin)
{
    return load(&(struct irt_library_source){.code = fatCubin}, 0, NULL, NULL, module);
}

cudaError_t irt_driver_cuModuleUnload(CUmodule hmod)
{
    struct module *module = irt_handle_get(&modules, hmod);
    if (!module) {
        return cudaErrorInvalidResourceHandle;
    }
    bool own = module->own;
    irt_handle_put(&modules, hmod);
    if (!own) {
        return cudaErrorNotPermitted; // of cuLibraryGetModule: goes with its library
    }
    return irt_handle_close(&modules, hmod) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

// Calls one of the library functions with the module's library, its device being current.
#define WITH_MODULE(handle_, library_, expression_)                    \
    ({                                                                 \
        struct module *with_ = irt_handle_get(&modules, (handle_));    \
        cudaError_t with_error_ = cudaErrorInvalidResourceHandle;      \
        if (with_) {                                                   \
            cudaLibrary_t library_ = with_->library;                   \
            with_error_ = IRT_ON_DEVICE(with_->device, (expression_)); \
            irt_handle_put(&modules, (handle_));                       \
        }                                                              \
        with_error_;                                                   \
    })

cudaError_t irt_driver_cuModuleGetFunction(CUfunction *hfunc, CUmodule hmod, const char *name)
{
    return WITH_MODULE(hmod, library,
                       irt_core_cudaLibraryGetKernel((cudaKernel_t *)(void *)hfunc, library, name));
}

cudaError_t irt_driver_cuModuleGetFunctionCount(unsigned int *count, CUmodule hmod)
{
    return WITH_MODULE(hmod, library, irt_core_cudaLibraryGetKernelCount(count, library));
}

cudaError_t irt_driver_cuModuleEnumerateFunctions(CUfunction *functions, unsigned int numFunctions,
                                                  CUmodule mod)
{
    return WITH_MODULE(mod, library,
                       irt_core_cudaLibraryEnumerateKernels((cudaKernel_t *)(void *)functions,
                                                            numFunctions, library));
}

cudaError_t irt_driver_cuModuleGetGlobal_v2(CUdeviceptr *dptr, size_t *bytes, CUmodule hmod,
                                            const char *name)
{
    return WITH_MODULE(hmod, library,
                       irt_core_cudaLibraryGetGlobal((void **)dptr, bytes, library, name));
}

cudaError_t irt_driver_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    const char *value = irt_env("CUDA_MODULE_LOADING");
    if (!mode) {
        return cudaErrorInvalidValue;
    }
    *mode = value && strcmp(value, "EAGER") == 0 ? CU_MODULE_EAGER_LOADING : CU_MODULE_LAZY_LOADING;
    return cudaSuccess;
}

// ---- libraries ----

static void close_of_library(void *handle, void *object, void *context)
{
    const struct module *module = object;
    if (!module->own && module->library == context) {
        irt_handle_close(&modules, handle);
    }
}

cudaError_t irt_driver_cuLibraryUnload(CUlibrary library)
{
    irt_handle_each(&modules, close_of_library, library);
    return irt_library_unload(library);
}

struct search {
    cudaLibrary_t library;
    struct irt_device *device;
    void *found;
};

static void compare_module(void *handle, void *object, void *context)
{
    const struct module *module = object;
    struct search *search = context;
    if (module->library == search->library && module->device == search->device) {
        search->found = handle;
    }
}

// The same module at every call for a device.
static cudaError_t module_of_library(CUlibrary library, CUmodule *ret_module)
{
    struct search search = {library, irt_device_current(), NULL};
    irt_handle_each(&modules, compare_module, &search);
    if (!search.found) {
        return open_module(library, false, ret_module);
    }
    *ret_module = search.found;
    return cudaSuccess;
}

cudaError_t irt_driver_cuLibraryGetModule(CUmodule *pMod, CUlibrary library)
{
    struct irt_library *object;
    if (!pMod) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_library_get(library, &object);
    if (!e) {
        e = module_of_library(library, pMod);
        irt_library_put(object);
    }
    return e;
}

// ---- kernels: one handle stands for kernel and function ----

cudaError_t irt_driver_cuKernelGetFunction(CUfunction *pFunc, CUkernel kernel)
{
    struct irt_kernel *object;
    if (!pFunc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_kernel(kernel, &object);
    if (!e) {
        *pFunc = (CUfunction)(void *)kernel;
        irt_kernel_put(object);
    }
    return e;
}

static cudaError_t library_of(const void *kernel, cudaLibrary_t *ret_library)
{
    struct irt_kernel *object;
    cudaError_t e = irt_driver_kernel(kernel, &object);
    if (e) {
        return e;
    }
    *ret_library = irt_library_of(irt_kernel_module(object));
    irt_kernel_put(object);
    return *ret_library ? cudaSuccess : cudaErrorNotSupported; // of the program itself
}

cudaError_t irt_driver_cuKernelGetLibrary(CUlibrary *pLib, CUkernel kernel)
{
    return pLib ? library_of(kernel, pLib) : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuFuncGetModule(CUmodule *hmod, CUfunction hfunc)
{
    cudaLibrary_t library;
    if (!hmod) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = library_of(hfunc, &library);
    return e ? e : module_of_library(library, hmod);
}

// ---- the linker ----

// PTX goes in, an image of all texts comes out (shim/core/code.h); it is linked and compiled when a
// module is loaded from it.
struct link {
    char **texts; // NUL-terminated
    size_t count;
    void *image; // given out by cuLinkComplete
    struct irt_jit_options options;
};

static void destroy_link(void *object)
{
    struct link *state = object;
    for (size_t i = 0; i < state->count; i++) {
        free(state->texts[i]);
    }
    free(state->texts);
    free(state->image);
    free(state);
}

static struct irt_handle_table links = IRT_HANDLE_TABLE(IRT_HANDLE_LINK, destroy_link);

cudaError_t irt_driver_cuLinkCreate_v2(unsigned int numOptions, CUjit_option *options,
                                       void **optionValues, CUlinkState *stateOut)
{
    struct irt_jit_options jit;
    if (!stateOut) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e =
        irt_jit_options_read(numOptions, (const enum cudaJitOption *)options, optionValues, &jit);
    if (e) {
        return e;
    }
    struct link *state = calloc(1, sizeof *state);
    void *handle = NULL;
    if (state) {
        state->options = jit;
        handle = irt_handle_open(&links, state);
    }
    if (!handle) {
        free(state);
        return cudaErrorMemoryAllocation;
    }
    *stateOut = handle;
    return cudaSuccess;
}

static cudaError_t add_input(struct link *state, CUjitInputType type, const void *data, size_t size)
{
    if ((unsigned)type >= CU_JIT_NUM_INPUT_TYPES || !data || !size) {
        return cudaErrorInvalidValue;
    }
    if (type != CU_JIT_INPUT_PTX) {
        irt_unsupported("cuLinkAddData with anything but PTX");
        return type == CU_JIT_INPUT_NVVM ? cudaErrorNotSupported : cudaErrorNoKernelImageForDevice;
    }
    char **grown = realloc(state->texts, (state->count + 1) * sizeof *grown);
    char *text = strndup(data, size);
    if (grown) {
        state->texts = grown;
    }
    if (!grown || !text) {
        free(text);
        return cudaErrorMemoryAllocation;
    }
    state->texts[state->count++] = text;
    return cudaSuccess;
}

cudaError_t irt_driver_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data,
                                        size_t size, const char *name, unsigned int numOptions,
                                        CUjit_option *options, void **optionValues)
{
    struct irt_jit_options jit;
    (void)name;
    cudaError_t e =
        irt_jit_options_read(numOptions, (const enum cudaJitOption *)options, optionValues, &jit);
    struct link *object = e ? NULL : irt_handle_get(&links, state);
    if (!object) {
        return e ? e : cudaErrorInvalidResourceHandle;
    }
    e = add_input(object, type, data, size);
    irt_handle_put(&links, state);
    return e;
}

cudaError_t irt_driver_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path,
                                        unsigned int numOptions, CUjit_option *options,
                                        void **optionValues)
{
    char *data;
    size_t size;
    if (!path) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_library_read_file(path, &data, &size);
    if (!e) {
        e = irt_driver_cuLinkAddData_v2(state, type, data, size, path, numOptions, options,
                                        optionValues);
        free(data);
    }
    return e;
}

// Joins the texts and loads them once for their errors, which belong here.
static cudaError_t complete(struct link *state, void **ret_image, size_t *ret_size)
{
    cudaLibrary_t library;
    if (!state->count || state->image) {
        return cudaErrorInvalidValue;
    }
    state->image = irt_code_join(state->texts, state->count, ret_size);
    if (!state->image) {
        return cudaErrorMemoryAllocation;
    }
    cudaError_t e = irt_library_load(&(struct irt_library_source){.code = state->image},
                                     &state->options, &library);
    if (!e) {
        irt_library_unload(library);
        *ret_image = state->image;
    }
    return e;
}

cudaError_t irt_driver_cuLinkComplete(CUlinkState state, void **cubinOut, size_t *sizeOut)
{
    size_t size;
    struct link *object = irt_handle_get(&links, state);
    if (!object) {
        return cudaErrorInvalidResourceHandle;
    }
    cudaError_t e = cubinOut ? complete(object, cubinOut, &size) : cudaErrorInvalidValue;
    irt_handle_put(&links, state);
    if (!e && sizeOut) {
        *sizeOut = size;
    }
    return e;
}

cudaError_t irt_driver_cuLinkDestroy(CUlinkState state)
{
    return irt_handle_close(&links, state) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}
