// SPDX-License-Identifier: Apache-2.0
//
// Functions and kernels of the driver API: attributes, occupancy, launches. A CUfunction is a
// cudaKernel_t of the runtime. Source: CUDA Driver API, "Execution Control", "Occupancy".
#include <stdlib.h>

#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/core/launch.h"
#include "shim/dispatch/backend.h"
#include "shim/driver/driver.h"
#include "shim/driver/module.h"

cudaError_t irt_driver_kernel(const void *handle, struct irt_kernel **ret_kernel)
{
    if (irt_kernel_is_host_function(handle)) {
        return cudaErrorInvalidResourceHandle;
    }
    cudaError_t e = irt_kernel_get(handle, ret_kernel);
    return e == cudaErrorInvalidDeviceFunction ? cudaErrorInvalidResourceHandle : e;
}

// Calls a function of the runtime that takes a function or a handle, only with handles.
static cudaError_t check_handle(const void *handle)
{
    struct irt_kernel *kernel;
    cudaError_t e = irt_driver_kernel(handle, &kernel);
    if (!e) {
        irt_kernel_put(kernel);
    }
    return e;
}

#define WITH_FUNCTION(handle_, expression_)        \
    ({                                             \
        cudaError_t with_ = check_handle(handle_); \
        with_ ? with_ : (expression_);             \
    })

// ---- attributes ----

static cudaError_t attribute_of(const struct cudaFuncAttributes *a, CUfunction_attribute attribute,
                                int *ret_value)
{
    switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *ret_value = a->maxThreadsPerBlock;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *ret_value = (int)a->sharedSizeBytes;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *ret_value = (int)a->constSizeBytes;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *ret_value = (int)a->localSizeBytes;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *ret_value = a->numRegs;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *ret_value = a->ptxVersion;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *ret_value = a->binaryVersion;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
        *ret_value = a->cacheModeCA;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *ret_value = a->maxDynamicSharedSizeBytes;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *ret_value = a->preferredShmemCarveout;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *ret_value = a->clusterDimMustBeSet;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
        *ret_value = a->requiredClusterWidth;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
        *ret_value = a->requiredClusterHeight;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *ret_value = a->requiredClusterDepth;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        *ret_value = a->nonPortableClusterSizeAllowed;
        return cudaSuccess;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *ret_value = a->clusterSchedulingPolicyPreference;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t irt_driver_cuFuncGetAttribute(int *pi, CUfunction_attribute attrib, CUfunction hfunc)
{
    struct cudaFuncAttributes attributes;
    if (!pi) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e =
        WITH_FUNCTION(hfunc, irt_core_cudaFuncGetAttributes(&attributes, (const void *)hfunc));
    return e ? e : attribute_of(&attributes, attrib, pi);
}

cudaError_t irt_driver_cuFuncSetAttribute(CUfunction hfunc, CUfunction_attribute attrib, int value)
{
    return WITH_FUNCTION(hfunc, irt_core_cudaFuncSetAttribute(
                                    (const void *)hfunc, (enum cudaFuncAttribute)attrib, value));
}

cudaError_t irt_driver_cuKernelGetAttribute(int *pi, CUfunction_attribute attrib, CUkernel kernel,
                                            CUdevice dev)
{
    struct irt_device *device;
    cudaError_t e = irt_driver_device(dev, &device);
    return e ? e
             : IRT_ON_DEVICE(device,
                             irt_driver_cuFuncGetAttribute(pi, attrib, (CUfunction)(void *)kernel));
}

cudaError_t irt_driver_cuKernelSetAttribute(CUfunction_attribute attrib, int val, CUkernel kernel,
                                            CUdevice dev)
{
    return irt_core_cudaKernelSetAttributeForDevice(kernel, (enum cudaFuncAttribute)attrib, val,
                                                    dev);
}

// Preferences without effect here, as in the runtime's function.c: only the arguments are checked.
static cudaError_t check_preference(const void *handle, unsigned value, unsigned last)
{
    cudaError_t e = check_handle(handle);
    return e ? e : value <= last ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuFuncSetCacheConfig(CUfunction hfunc, CUfunc_cache config)
{
    return check_preference(hfunc, config, CU_FUNC_CACHE_PREFER_EQUAL);
}

cudaError_t irt_driver_cuFuncSetSharedMemConfig(CUfunction hfunc, CUsharedconfig config)
{
    return check_preference(hfunc, config, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
}

cudaError_t irt_driver_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    struct irt_device *device;
    cudaError_t e = irt_driver_device(dev, &device);
    return e ? e : check_preference(kernel, config, CU_FUNC_CACHE_PREFER_EQUAL);
}

cudaError_t irt_driver_cuFuncGetName(const char **name, CUfunction hfunc)
{
    return WITH_FUNCTION(hfunc, irt_core_cudaFuncGetName(name, (const void *)hfunc));
}

cudaError_t irt_driver_cuKernelGetName(const char **name, CUkernel hfunc)
{
    return WITH_FUNCTION(hfunc, irt_core_cudaFuncGetName(name, (const void *)hfunc));
}

cudaError_t irt_driver_cuFuncGetParamInfo(CUfunction func, size_t paramIndex, size_t *paramOffset,
                                          size_t *paramSize)
{
    return WITH_FUNCTION(func, irt_core_cudaFuncGetParamInfo((const void *)func, paramIndex,
                                                             paramOffset, paramSize));
}

cudaError_t irt_driver_cuKernelGetParamInfo(CUkernel kernel, size_t paramIndex, size_t *paramOffset,
                                            size_t *paramSize)
{
    return irt_driver_cuFuncGetParamInfo((CUfunction)(void *)kernel, paramIndex, paramOffset,
                                         paramSize);
}

cudaError_t irt_driver_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction hfunc)
{
    struct irt_kernel *kernel;
    if (!state) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_kernel(hfunc, &kernel);
    if (!e) {
        *state = irt_kernel_is_loaded(kernel, irt_device_current())
                     ? CU_FUNCTION_LOADING_STATE_LOADED
                     : CU_FUNCTION_LOADING_STATE_UNLOADED;
        irt_kernel_put(kernel);
    }
    return e;
}

cudaError_t irt_driver_cuFuncLoad(CUfunction hfunc)
{
    struct irt_kernel *kernel;
    struct irt_loaded *loaded;
    cudaError_t e = irt_driver_kernel(hfunc, &kernel);
    if (e) {
        return e;
    }
    e = irt_kernel_load(kernel, irt_device_current(), &loaded);
    if (!e) {
        e = irt_kernel_compile(loaded);
    }
    irt_kernel_put(kernel);
    return e;
}

// ---- occupancy ----

cudaError_t irt_driver_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, CUfunction func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    return WITH_FUNCTION(func,
                         irt_core_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
                             numBlocks, (const void *)func, blockSize, dynamicSMemSize, flags));
}

cudaError_t irt_driver_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, CUfunction func,
                                                                   int blockSize,
                                                                   size_t dynamicSMemSize)
{
    return irt_driver_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, func, blockSize, dynamicSMemSize, CU_OCCUPANCY_DEFAULT);
}

cudaError_t irt_driver_cuOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                               CUfunction func, int numBlocks,
                                                               int blockSize)
{
    return WITH_FUNCTION(func, irt_core_cudaOccupancyAvailableDynamicSMemPerBlock(
                                   dynamicSmemSize, (const void *)func, numBlocks, blockSize));
}

// The block size with the most threads on a multiprocessor; of several the largest.
static cudaError_t best_block_size(CUfunction func, CUoccupancyB2DSize size_of, size_t shared,
                                   int limit, int *ret_size, int *ret_blocks)
{
    const struct cudaDeviceProp *prop = &irt_device_current()->info.prop;
    int most = 0;
    for (int size = limit; size > 0; size = (size - 1) / prop->warpSize * prop->warpSize) {
        int blocks;
        cudaError_t e = irt_core_cudaOccupancyMaxActiveBlocksPerMultiprocessor(
            &blocks, (const void *)func, size, size_of ? size_of(size) : shared);
        if (e) {
            return e;
        }
        if (blocks * size > most) {
            most = blocks * size;
            *ret_size = size;
            *ret_blocks = blocks;
        }
        if (most >= prop->maxThreadsPerMultiProcessor) {
            break;
        }
    }
    return most ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuOccupancyMaxPotentialBlockSizeWithFlags(
    int *minGridSize, int *blockSize, CUfunction func,
    CUoccupancyB2DSize blockSizeToDynamicSMemSize, size_t dynamicSMemSize, int blockSizeLimit,
    unsigned int flags)
{
    struct cudaFuncAttributes attributes;
    int size = 0;
    int blocks = 0;
    if (!minGridSize || !blockSize || blockSizeLimit < 0 ||
        flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e =
        WITH_FUNCTION(func, irt_core_cudaFuncGetAttributes(&attributes, (const void *)func));
    if (e) {
        return e;
    }
    int limit = attributes.maxThreadsPerBlock;
    if (blockSizeLimit && blockSizeLimit < limit) {
        limit = blockSizeLimit;
    }
    e = best_block_size(func, blockSizeToDynamicSMemSize, dynamicSMemSize, limit, &size, &blocks);
    if (!e) {
        *blockSize = size;
        *minGridSize = blocks * irt_device_current()->info.prop.multiProcessorCount;
    }
    return e;
}

cudaError_t
irt_driver_cuOccupancyMaxPotentialBlockSize(int *minGridSize, int *blockSize, CUfunction func,
                                            CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                            size_t dynamicSMemSize, int blockSizeLimit)
{
    return irt_driver_cuOccupancyMaxPotentialBlockSizeWithFlags(
        minGridSize, blockSize, func, blockSizeToDynamicSMemSize, dynamicSMemSize, blockSizeLimit,
        CU_OCCUPANCY_DEFAULT);
}

// ---- launches ----

// Arguments as one packed buffer (CU_LAUNCH_PARAM_BUFFER_POINTER).
struct packed {
    char *buffer;
    size_t size;
};

static cudaError_t read_extra(void **extra, struct packed *ret_packed)
{
    struct packed packed = {NULL, 0};
    bool sized = false;
    for (size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
        if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
            packed.buffer = extra[i + 1];
        } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[i + 1]) {
            packed.size = *(size_t *)extra[i + 1];
            sized = true;
        } else {
            return cudaErrorInvalidValue;
        }
    }
    if (!packed.buffer || !sized) {
        return cudaErrorInvalidValue;
    }
    *ret_packed = packed;
    return cudaSuccess;
}

// One pointer per parameter into the buffer, malloc'ed.
static cudaError_t unpack(struct irt_kernel *kernel, const struct packed *packed,
                          void ***ret_arguments)
{
    struct irt_loaded *loaded;
    cudaError_t e = irt_kernel_load(kernel, irt_device_current(), &loaded);
    if (e) {
        return e;
    }
    unsigned count = loaded->info.parameter_count;
    void **arguments = calloc(count + 1, sizeof *arguments);
    if (!arguments) {
        return cudaErrorMemoryAllocation;
    }
    for (unsigned i = 0; i < count && !e; i++) {
        struct irtb_parameter parameter;
        e = irt_backend()->function_parameter(loaded->function, i, &parameter);
        if (!e && parameter.offset + parameter.size > packed->size) {
            e = cudaErrorInvalidValue;
        }
        arguments[i] = e ? NULL : packed->buffer + parameter.offset;
    }
    if (e) {
        free(arguments);
        return e;
    }
    *ret_arguments = arguments;
    return cudaSuccess;
}

static cudaError_t launch(CUfunction f, struct irt_launch_request *request, void **params,
                          void **extra)
{
    struct irt_kernel *kernel;
    struct packed packed;
    if (params && extra) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_kernel(f, &kernel);
    if (e) {
        return e;
    }
    void **unpacked = NULL;
    if (extra) {
        e = read_extra(extra, &packed);
        if (!e) {
            e = unpack(kernel, &packed, &unpacked);
        }
    }
    if (!e) {
        request->arguments = extra ? unpacked : params;
        e = irt_launch(kernel, request);
    }
    free(unpacked);
    irt_kernel_put(kernel);
    return e;
}

cudaError_t irt_driver_cuLaunchKernel(CUfunction f, unsigned int gridDimX, unsigned int gridDimY,
                                      unsigned int gridDimZ, unsigned int blockDimX,
                                      unsigned int blockDimY, unsigned int blockDimZ,
                                      unsigned int sharedMemBytes, CUstream hStream,
                                      void **kernelParams, void **extra)
{
    return launch(f,
                  &(struct irt_launch_request){.grid = {gridDimX, gridDimY, gridDimZ},
                                               .block = {blockDimX, blockDimY, blockDimZ},
                                               .cluster = {1, 1, 1},
                                               .shared = sharedMemBytes,
                                               .stream = hStream},
                  kernelParams, extra);
}

cudaError_t irt_driver_cuLaunchCooperativeKernel(CUfunction f, unsigned int gridDimX,
                                                 unsigned int gridDimY, unsigned int gridDimZ,
                                                 unsigned int blockDimX, unsigned int blockDimY,
                                                 unsigned int blockDimZ,
                                                 unsigned int sharedMemBytes, CUstream hStream,
                                                 void **kernelParams)
{
    return launch(f,
                  &(struct irt_launch_request){.grid = {gridDimX, gridDimY, gridDimZ},
                                               .block = {blockDimX, blockDimY, blockDimZ},
                                               .cluster = {1, 1, 1},
                                               .shared = sharedMemBytes,
                                               .stream = hStream,
                                               .cooperative = true},
                  kernelParams, NULL);
}

// The attributes of both APIs have the same numbers and layout.
_Static_assert(sizeof(CUlaunchAttribute) == sizeof(cudaLaunchAttribute), "launch attribute");

cudaError_t irt_driver_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction f,
                                        void **kernelParams, void **extra,
                                        cudaStream_t default_stream)
{
    if (!config) {
        return cudaErrorInvalidValue;
    }
    const cudaLaunchConfig_t same = {
        .gridDim = {config->gridDimX, config->gridDimY, config->gridDimZ},
        .blockDim = {config->blockDimX, config->blockDimY, config->blockDimZ},
        .dynamicSmemBytes = config->sharedMemBytes,
        .stream = config->hStream ? config->hStream : default_stream,
        .attrs = (cudaLaunchAttribute *)config->attrs,
        .numAttrs = config->numAttrs,
    };
    struct irt_launch_request request = {
        .grid = same.gridDim,
        .block = same.blockDim,
        .cluster = {1, 1, 1},
        .shared = same.dynamicSmemBytes,
        .stream = same.stream,
    };
    cudaError_t e = irt_launch_attributes(&same, &request);
    return e ? e : launch(f, &request, kernelParams, extra);
}
