// SPDX-License-Identifier: Apache-2.0
//
// cudaLibrary*: loading code by hand from memory and from files, and what is in it. Source: CUDA
// Runtime API, "Library Management".
#include "shim/core/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/core/code.h"
#include "shim/dispatch/backend.h"
#include "shim/dispatch/entry.h"
#include "shim/util/env.h"
#include "shim/util/handle.h"
#include "shim/util/log.h"

enum { WHY_SIZE = 2048, FILE_MAX = 1 << 30 };

struct irt_library {
    void *handle;
    struct irt_module *module;
};

static void destroy(void *object);

static struct irt_handle_table handles = IRT_HANDLE_TABLE(IRT_HANDLE_LIBRARY, destroy);

static void destroy(void *object)
{
    struct irt_library *library = object;
    irt_module_close(library->module);
    free(library);
}

cudaError_t irt_library_get(cudaLibrary_t handle, struct irt_library **ret_library)
{
    struct irt_library *library = irt_handle_get(&handles, handle);
    if (!library) {
        return cudaErrorInvalidResourceHandle;
    }
    *ret_library = library;
    return cudaSuccess;
}

void irt_library_put(struct irt_library *library)
{
    irt_handle_put(&handles, library->handle);
}

struct irt_module *irt_library_module(const struct irt_library *library)
{
    return library->module;
}

struct search {
    const struct irt_module *module;
    cudaLibrary_t found;
};

static void compare(void *handle, void *object, void *context)
{
    const struct irt_library *library = object;
    struct search *search = context;
    if (library->module == search->module) {
        search->found = handle;
    }
}

cudaLibrary_t irt_library_of(const struct irt_module *module)
{
    struct search search = {.module = module};
    irt_handle_each(&handles, compare, &search);
    return search.found;
}

// ---- loading ----

cudaError_t irt_library_read_file(const char *path, char **ret_data, size_t *ret_size)
{
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0 || fstat(fd, &status) || !S_ISREG(status.st_mode)) {
        int reason = fd < 0 ? errno : EINVAL;
        if (fd >= 0) {
            close(fd);
        }
        irt_log("module", IRT_LOG_ERROR, "%s cannot be read: %s", path, strerror(reason));
        return cudaErrorFileNotFound;
    }
    cudaError_t e = cudaSuccess;
    if (status.st_size > FILE_MAX) {
        irt_log("module", IRT_LOG_ERROR, "%s is too large for device code", path);
        e = cudaErrorInvalidKernelImage;
    }
    size_t size = e ? 0 : (size_t)status.st_size;
    char *data = e ? NULL : malloc(size + 1);
    if (!e && !data) {
        e = cudaErrorMemoryAllocation;
    }
    size_t done = 0;
    while (!e && done < size) {
        ssize_t n = read(fd, data + done, size - done);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break; // shorter than it was: what is there is judged
        }
        done += (size_t)n;
    }
    close(fd);
    if (e) {
        free(data);
        return e;
    }
    *ret_data = data;
    *ret_size = done;
    return cudaSuccess;
}

static cudaError_t read_source(const struct irt_library_source *source,
                               const struct irt_code_origin *origin, struct irt_code *ret_code)
{
    char *data;
    size_t size;
    if (source->code) {
        return irt_code_from_memory(source->code, origin, ret_code);
    }
    cudaError_t e = irt_library_read_file(source->file, &data, &size);
    if (!e) {
        e = irt_code_from_bytes(data, size, origin, ret_code);
        free(data);
    }
    return e;
}

// The newest PTX that a driver of our version knows: CUDA 13.5 came with PTX 9.5.
static unsigned newest_ptx(void)
{
    int version = irt_fronts[IRT_FRONT_COUNT - 1].version;
    return (unsigned)((version / 1000 - 4) * 10 + version % 1000 / 10);
}

// Loads and says why not in `why`.
static cudaError_t load_module(const struct irt_library_source *source,
                               const struct irt_jit_options *options, char *why,
                               struct irt_module **ret_module)
{
    struct irt_device *device = irt_device_current();
    const char *slash = source->file ? strrchr(source->file, '/') : NULL;
    const char *name = slash ? slash + 1 : source->file;
    const struct irt_code_origin origin = {
        .name = name ? name : "loaded code",
        .number = irt_module_number(),
        .arch = irt_device_arch(device),
        .why = why,
        .why_size = WHY_SIZE,
    };
    struct irt_code code;
    cudaError_t e = read_source(source, &origin, &code);
    if (e) {
        return e;
    }
    unsigned version = irt_code_ptx_version(&code);
    e = irt_module_create(&code, origin.number, &options->limits, device, ret_module);
    if (e && irt_backend()->failure_text) {
        snprintf(why, WHY_SIZE, "%s", irt_backend()->failure_text());
    }
    return e == cudaErrorInvalidPtx && version > newest_ptx() ? cudaErrorUnsupportedPtxVersion : e;
}

// CUDA_MODULE_LOADING=EAGER: all devices get the code and all kernels are compiled at once. What
// cannot be compiled fails at its launch, as with lazy loading.
static void load_eagerly(struct irt_module *module)
{
    const char *mode = irt_env("CUDA_MODULE_LOADING");
    if (!mode || strcmp(mode, "EAGER") != 0) {
        return;
    }
    unsigned count = irt_module_kernels(module, NULL, 0);
    cudaKernel_t *list = calloc(count ? count : 1, sizeof(cudaKernel_t));
    if (!list) {
        return; // it loads later
    }
    irt_module_kernels(module, list, count);
    for (unsigned i = 0; i < count; i++) {
        struct irt_kernel *kernel;
        struct irt_loaded *loaded;
        if (irt_kernel_get((const void *)list[i], &kernel)) {
            continue;
        }
        for (int d = 0; d < irt_device_count(); d++) {
            if (!irt_kernel_load(kernel, irt_device_at(d), &loaded)) {
                irt_kernel_compile(loaded);
            }
        }
        irt_kernel_put(kernel);
    }
    free(list);
}

cudaError_t irt_library_load(const struct irt_library_source *source,
                             const struct irt_jit_options *options, cudaLibrary_t *ret_library)
{
    char why[WHY_SIZE] = "";
    char info[128] = "";
    struct timespec start;
    struct timespec end;
    struct irt_module *module;
    clock_gettime(CLOCK_MONOTONIC, &start);
    cudaError_t e = load_module(source, options, why, &module);
    if (!e) {
        load_eagerly(module);
        snprintf(info, sizeof info, "infinirt: loaded %u kernels; each is compiled when first used",
                 irt_module_kernels(module, NULL, 0));
    }
    clock_gettime(CLOCK_MONOTONIC, &end);
    irt_jit_options_answer(options, info, why,
                           (float)(end.tv_sec - start.tv_sec) * 1e3f +
                               (float)(end.tv_nsec - start.tv_nsec) * 1e-6f);
    if (e) {
        return e;
    }
    struct irt_library *library = calloc(1, sizeof *library);
    void *handle = NULL;
    if (library) {
        library->module = module;
        handle = irt_handle_open(&handles, library);
    }
    if (!handle) {
        free(library);
        irt_module_close(module);
        return cudaErrorMemoryAllocation;
    }
    library->handle = handle;
    *ret_library = handle;
    return cudaSuccess;
}

cudaError_t irt_library_unload(cudaLibrary_t handle)
{
    return irt_handle_close(&handles, handle) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

// ---- API ----

// Unified functions and data would need code of the host that kernels can call: no device here
// offers it (cudaDeviceProp.unifiedFunctionPointers), so the tables are only checked.
static cudaError_t check_table(const struct cudalibraryHostUniversalFunctionAndDataTable *table)
{
    return table && (table->functionTable || !table->functionWindowSize) &&
                   (table->dataTable || !table->dataWindowSize)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

static cudaError_t check_options(unsigned count, const enum cudaLibraryOption *options,
                                 void **values, bool file)
{
    if (count && (!options || !values)) {
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < count; i++) {
        cudaError_t e = cudaErrorInvalidValue;
        if (options[i] == cudaLibraryHostUniversalFunctionAndDataTable) {
            e = check_table(values[i]);
        } else if (options[i] == cudaLibraryBinaryIsPreserved && !file) {
            e = cudaSuccess; // a hint: the texts are unpacked copies anyway
        }
        if (e) {
            return e;
        }
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaLibraryLoadData(cudaLibrary_t *library, const void *code,
                                         enum cudaJitOption *jitOptions, void **jitOptionsValues,
                                         unsigned int numJitOptions,
                                         enum cudaLibraryOption *libraryOptions,
                                         void **libraryOptionValues, unsigned int numLibraryOptions)
{
    struct irt_jit_options options;
    if (!library || !code) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_jit_options_read(numJitOptions, jitOptions, jitOptionsValues, &options);
    if (!e) {
        e = check_options(numLibraryOptions, libraryOptions, libraryOptionValues, false);
    }
    return e ? e : irt_library_load(&(struct irt_library_source){.code = code}, &options, library);
}

cudaError_t irt_core_cudaLibraryLoadFromFile(cudaLibrary_t *library, const char *fileName,
                                             enum cudaJitOption *jitOptions,
                                             void **jitOptionsValues, unsigned int numJitOptions,
                                             enum cudaLibraryOption *libraryOptions,
                                             void **libraryOptionValues,
                                             unsigned int numLibraryOptions)
{
    struct irt_jit_options options;
    if (!library || !fileName) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_jit_options_read(numJitOptions, jitOptions, jitOptionsValues, &options);
    if (!e) {
        e = check_options(numLibraryOptions, libraryOptions, libraryOptionValues, true);
    }
    return e ? e
             : irt_library_load(&(struct irt_library_source){.file = fileName}, &options, library);
}

cudaError_t irt_core_cudaLibraryUnload(cudaLibrary_t library)
{
    return irt_library_unload(library);
}

cudaError_t irt_core_cudaLibraryGetKernel(cudaKernel_t *pKernel, cudaLibrary_t library,
                                          const char *name)
{
    struct irt_library *object;
    if (!pKernel || !name) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_library_get(library, &object);
    if (!e) {
        e = irt_module_kernel(object->module, name, pKernel);
        irt_library_put(object);
    }
    return e;
}

static cudaError_t get_variable(void **dptr, size_t *bytes, cudaLibrary_t library, const char *name,
                                bool managed)
{
    struct irt_library *object;
    void *ptr;
    size_t size;
    if ((!dptr && !bytes) || !name) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_library_get(library, &object);
    if (e) {
        return e;
    }
    e = irt_module_variable(object->module, name, managed, irt_device_current(), &ptr, &size);
    irt_library_put(object);
    if (e) {
        return e;
    }
    if (dptr) {
        *dptr = ptr;
    }
    if (bytes) {
        *bytes = size;
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaLibraryGetGlobal(void **dptr, size_t *bytes, cudaLibrary_t library,
                                          const char *name)
{
    return get_variable(dptr, bytes, library, name, false);
}

cudaError_t irt_core_cudaLibraryGetManaged(void **dptr, size_t *bytes, cudaLibrary_t library,
                                           const char *name)
{
    return get_variable(dptr, bytes, library, name, true);
}

// "If there is no device with attribute unifiedFunctionPointers present in the system, the call may
// return cudaErrorSymbolNotFound."
cudaError_t irt_core_cudaLibraryGetUnifiedFunction(void **fptr, cudaLibrary_t library,
                                                   const char *symbol)
{
    struct irt_library *object;
    if (!fptr || !symbol) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_library_get(library, &object);
    if (!e) {
        irt_library_put(object);
        e = cudaErrorSymbolNotFound;
    }
    return e;
}

cudaError_t irt_core_cudaLibraryGetKernelCount(unsigned int *count, cudaLibrary_t lib)
{
    struct irt_library *object;
    if (!count) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_library_get(lib, &object);
    if (!e) {
        *count = irt_module_kernels(object->module, NULL, 0);
        irt_library_put(object);
    }
    return e;
}

cudaError_t irt_core_cudaLibraryEnumerateKernels(cudaKernel_t *kernels, unsigned int numKernels,
                                                 cudaLibrary_t lib)
{
    struct irt_library *object;
    if (!kernels) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_library_get(lib, &object);
    if (!e) {
        irt_module_kernels(object->module, kernels, numKernels);
        irt_library_put(object);
    }
    return e;
}
