// SPDX-License-Identifier: Apache-2.0
//
// Kernels as objects: handles, names, parameters and attributes. Everything acts on the current
// device. Source: CUDA Runtime API, "Execution Control".
#include "api_rules.h"
#include "irt_core.h"
#include "shim/core/module.h"
#include "shim/dispatch/backend.h"

cudaError_t irt_core_cudaGetKernel(cudaKernel_t *kernelPtr, const void *entryFuncAddr)
{
    struct irt_kernel *kernel;
    if (!kernelPtr) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_kernel_get(entryFuncAddr, &kernel);
    if (!e) {
        *kernelPtr = irt_kernel_handle(kernel);
        irt_kernel_put(kernel);
    }
    return e;
}

cudaError_t irt_core___cudaGetKernel(cudaKernel_t *kernel, const void *hostFun)
{
    return irt_core_cudaGetKernel(kernel, hostFun);
}

// A cudaFunction_t is the same handle: it can be launched and asked like a cudaKernel_t.
cudaError_t irt_core_cudaGetFuncBySymbol(cudaFunction_t *functionPtr, const void *symbolPtr)
{
    cudaKernel_t kernel;
    if (!functionPtr) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_core_cudaGetKernel(&kernel, symbolPtr);
    if (!e) {
        *functionPtr = (cudaFunction_t)(void *)kernel;
    }
    return e;
}

cudaError_t irt_core_cudaFuncGetName(const char **name, const void *func)
{
    struct irt_kernel *kernel;
    if (!name) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_kernel_get(func, &kernel);
    if (!e) {
        *name = irt_kernel_name(kernel);
        irt_kernel_put(kernel);
    }
    return e;
}

cudaError_t irt_core_cudaFuncGetParamCount(const void *func, size_t *paramCount)
{
    struct irt_kernel *kernel;
    struct irt_loaded *loaded;
    if (!paramCount) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_kernel_get_loaded(func, &kernel, &loaded);
    if (!e) {
        *paramCount = loaded->info.parameter_count;
        irt_kernel_put(kernel);
    }
    return e;
}

cudaError_t irt_core_cudaFuncGetParamInfo(const void *func, size_t paramIndex, size_t *paramOffset,
                                          size_t *paramSize)
{
    struct irt_kernel *kernel;
    struct irt_loaded *loaded;
    if (!paramOffset) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_kernel_get_loaded(func, &kernel, &loaded);
    if (e) {
        return e;
    }
    struct irtb_parameter parameter;
    e = paramIndex < loaded->info.parameter_count
            ? irt_backend()->function_parameter(loaded->function, (unsigned)paramIndex, &parameter)
            : cudaErrorInvalidValue;
    if (!e) {
        *paramOffset = parameter.offset;
        if (paramSize) {
            *paramSize = parameter.size;
        }
    }
    irt_kernel_put(kernel);
    return e;
}

cudaError_t irt_core_cudaFuncGetAttributes(struct cudaFuncAttributes *attr, const void *func)
{
    struct irt_kernel *kernel;
    struct irt_loaded *loaded;
    if (!attr) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_kernel_get_loaded(func, &kernel, &loaded);
    if (e) {
        return e;
    }
    struct irtb_function_info info; // asked anew: attributes can be set
    e = irt_backend()->function_info(loaded->function, &info);
    if (!e) {
        irt_kernel_limit(kernel, &info);
        *attr = info.attributes;
    }
    irt_kernel_put(kernel);
    return e;
}

static cudaError_t check_attribute(const struct irt_loaded *loaded,
                                   const struct cudaDeviceProp *prop, enum cudaFuncAttribute attr,
                                   int value)
{
    switch (attr) {
    case cudaFuncAttributeMaxDynamicSharedMemorySize:
        return value >= 0 && (size_t)value + loaded->info.attributes.sharedSizeBytes <=
                                 prop->sharedMemPerBlockOptin
                   ? cudaSuccess
                   : cudaErrorInvalidValue;
    case cudaFuncAttributePreferredSharedMemoryCarveout:
        return value >= cudaSharedmemCarveoutDefault && value <= cudaSharedmemCarveoutMaxShared
                   ? cudaSuccess
                   : cudaErrorInvalidValue;
    case cudaFuncAttributeRequiredClusterWidth:
    case cudaFuncAttributeRequiredClusterHeight:
    case cudaFuncAttributeRequiredClusterDepth:
        if (loaded->info.required_cluster[0]) {
            return cudaErrorNotPermitted;
        }
        if (value > 1 && !prop->clusterLaunch) {
            return irt_unsupported("a required cluster size");
        }
        return value >= 0 ? cudaSuccess : cudaErrorInvalidValue;
    case cudaFuncAttributeNonPortableClusterSizeAllowed:
        return value == 0 || value == 1 ? cudaSuccess : cudaErrorInvalidValue;
    case cudaFuncAttributeClusterSchedulingPolicyPreference:
        return value >= cudaClusterSchedulingPolicyDefault &&
                       value <= cudaClusterSchedulingPolicyLoadBalancing
                   ? cudaSuccess
                   : cudaErrorInvalidValue;
    default: // cudaFuncAttributeClusterDimMustBeSet can be read only
        return cudaErrorInvalidValue;
    }
}

static cudaError_t set_attribute(struct irt_kernel *kernel, struct irt_device *device,
                                 enum cudaFuncAttribute attr, int value)
{
    struct irt_loaded *loaded;
    cudaError_t e = irt_kernel_load(kernel, device, &loaded);
    if (!e) {
        e = check_attribute(loaded, &device->info.prop, attr, value);
    }
    if (!e) {
        e = irt_backend()->function_set_attribute(loaded->function, attr, value);
    }
    if (!e && attr == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        atomic_store_explicit(&loaded->dynamic_shared_max, value, memory_order_relaxed);
    }
    if (!e && attr >= cudaFuncAttributeRequiredClusterWidth &&
        attr <= cudaFuncAttributeRequiredClusterDepth) {
        atomic_store_explicit(&loaded->cluster[attr - cudaFuncAttributeRequiredClusterWidth], value,
                              memory_order_relaxed);
    }
    return e;
}

cudaError_t irt_core_cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value)
{
    struct irt_kernel *kernel;
    cudaError_t e = irt_kernel_get(func, &kernel);
    if (!e) {
        e = set_attribute(kernel, irt_device_current(), attr, value);
        irt_kernel_put(kernel);
    }
    return e;
}

cudaError_t irt_core_cudaKernelSetAttributeForDevice(cudaKernel_t kernel,
                                                     enum cudaFuncAttribute attr, int value,
                                                     int device)
{
    struct irt_kernel *object;
    struct irt_device *on = irt_device_at(device);
    if (!on) {
        return cudaErrorInvalidDevice;
    }
    if (irt_kernel_is_host_function((const void *)kernel)) {
        return cudaErrorInvalidResourceHandle; // only handles count here
    }
    cudaError_t e = irt_kernel_get((const void *)kernel, &object);
    if (e) {
        return cudaErrorInvalidResourceHandle;
    }
    e = set_attribute(object, on, attr, value);
    irt_kernel_put(object);
    return e;
}

// A preference between cache and shared memory, or a width of banks, has no effect where a device
// has neither; only the arguments are checked. A cudaKernel_t is not accepted by these two.
static cudaError_t check_preference(const void *func, int value, int last)
{
    if (!irt_kernel_is_host_function(func)) {
        return cudaErrorInvalidDeviceFunction;
    }
    return value >= 0 && value <= last ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaFuncSetCacheConfig(const void *func, enum cudaFuncCache cacheConfig)
{
    return check_preference(func, (int)cacheConfig, cudaFuncCachePreferEqual);
}

cudaError_t irt_core_cudaFuncSetSharedMemConfig(const void *func, enum cudaSharedMemConfig config)
{
    return check_preference(func, (int)config, cudaSharedMemBankSizeEightByte);
}
