// SPDX-License-Identifier: Apache-2.0
//
// Devices of the driver API: the runtime's, by the same numbers. Source: CUDA Driver API, "Device
// Management".
#include <stdio.h>
#include <string.h>

#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/dispatch/backend.h"
#include "shim/driver/driver.h"

cudaError_t irt_driver_device(CUdevice number, struct irt_device **ret_device)
{
    struct irt_device *device = irt_device_at(number);
    if (!device) {
        return cudaErrorInvalidDevice;
    }
    *ret_device = device;
    return cudaSuccess;
}

cudaError_t irt_driver_cuDeviceGet(CUdevice *device, int ordinal)
{
    struct irt_device *found;
    if (!device) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(ordinal, &found);
    if (!e) {
        *device = ordinal;
    }
    return e;
}

cudaError_t irt_driver_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    struct irt_device *device;
    if (!name || len <= 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(dev, &device);
    if (!e) {
        snprintf(name, (size_t)len, "%s", device->info.prop.name);
    }
    return e;
}

cudaError_t irt_driver_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    struct irt_device *device;
    if (!uuid) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(dev, &device);
    if (!e) {
        memcpy(uuid, &device->info.prop.uuid, sizeof *uuid);
    }
    return e;
}

cudaError_t irt_driver_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return irt_driver_cuDeviceGetUuid_v2(uuid, dev);
}

// "Returns identification information of the device on Windows": there is none elsewhere.
cudaError_t irt_driver_cuDeviceGetLuid(char *luid, unsigned int *deviceNodeMask, CUdevice dev)
{
    (void)luid, (void)deviceNodeMask, (void)dev;
    return cudaErrorNotSupported;
}

cudaError_t irt_driver_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    struct irt_device *device;
    if (!bytes) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(dev, &device);
    if (!e) {
        *bytes = device->info.prop.totalGlobalMem;
    }
    return e;
}

// Attributes that only the driver API names; the others are the runtime's, by the same numbers.
static bool own_attribute(CUdevice_attribute attribute, int *ret_value)
{
    const struct irtb_backend *backend = irt_backend();
    switch ((int)attribute) {
    case CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED:
        *ret_value = backend->virtual_reserve != NULL && backend->shared_create != NULL;
        return true;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
    case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR:
        *ret_value = backend->stream_wait_value != NULL;
        return true;
    case CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED:
        *ret_value = irt_device_arch(irt_device_current()) >= 90;
        return true;
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_HANDLE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GENERIC_COMPRESSION_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_FABRIC_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS:
    case CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_ALGORITHM_MASK:
    case CU_DEVICE_ATTRIBUTE_MEM_DECOMPRESS_MAXIMUM_LENGTH:
    case CU_DEVICE_ATTRIBUTE_HOST_NUMA_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED:
    case CU_DEVICE_ATTRIBUTE_HOST_ALLOC_DMA_BUF_SUPPORTED:
        *ret_value = 0;
        return true;
    default:
        return false;
    }
}

cudaError_t irt_driver_cuDeviceGetAttribute(int *pi, CUdevice_attribute attrib, CUdevice dev)
{
    struct irt_device *device;
    if (!pi) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(dev, &device);
    if (e || own_attribute(attrib, pi)) {
        return e;
    }
    return irt_core_cudaDeviceGetAttribute(pi, (enum cudaDeviceAttr)attrib, dev);
}

cudaError_t irt_driver_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    struct irt_device *device;
    if (!major || !minor) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(dev, &device);
    if (!e) {
        *major = device->info.prop.major;
        *minor = device->info.prop.minor;
    }
    return e;
}

// Contexts cannot be bound to a part of the multiprocessors.
cudaError_t irt_driver_cuDeviceGetExecAffinitySupport(int *pi, CUexecAffinityType type,
                                                      CUdevice dev)
{
    struct irt_device *device;
    if (!pi || (unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(dev, &device);
    if (!e) {
        *pi = 0;
    }
    return e;
}
