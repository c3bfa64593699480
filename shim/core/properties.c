// SPDX-License-Identifier: Apache-2.0
//
// What devices say about themselves: properties, the attributes (a table over the same members, so
// that both always agree), the choice of a device by properties, PCI addresses.
#include <ctype.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/device.h"
#include "shim/dispatch/backend.h"

// Where an attribute's value is: a member of irtb_device_info, or a constant.
struct attribute {
    int number;
    int constant; // when size is 0
    unsigned short offset;
    unsigned short size; // of the member, 4 or 8 bytes
};

#define MEMBER(number_, member_)                                                                   \
    {                                                                                              \
        .number = (number_), .offset = (unsigned short)offsetof(struct irtb_device_info, member_), \
        .size = (unsigned short)sizeof(((struct irtb_device_info *)0)->member_)                    \
    }
#define CONSTANT(number_, value_)                 \
    {                                             \
        .number = (number_), .constant = (value_) \
    }

// Ordered by number; one row a line.
// clang-format off
static const struct attribute attributes[] = {
    MEMBER(cudaDevAttrMaxThreadsPerBlock, prop.maxThreadsPerBlock),
    MEMBER(cudaDevAttrMaxBlockDimX, prop.maxThreadsDim[0]),
    MEMBER(cudaDevAttrMaxBlockDimY, prop.maxThreadsDim[1]),
    MEMBER(cudaDevAttrMaxBlockDimZ, prop.maxThreadsDim[2]),
    MEMBER(cudaDevAttrMaxGridDimX, prop.maxGridSize[0]),
    MEMBER(cudaDevAttrMaxGridDimY, prop.maxGridSize[1]),
    MEMBER(cudaDevAttrMaxGridDimZ, prop.maxGridSize[2]),
    MEMBER(cudaDevAttrMaxSharedMemoryPerBlock, prop.sharedMemPerBlock),
    MEMBER(cudaDevAttrTotalConstantMemory, prop.totalConstMem),
    MEMBER(cudaDevAttrWarpSize, prop.warpSize),
    MEMBER(cudaDevAttrMaxPitch, prop.memPitch),
    MEMBER(cudaDevAttrMaxRegistersPerBlock, prop.regsPerBlock),
    MEMBER(cudaDevAttrClockRate, clock_rate_khz),
    MEMBER(cudaDevAttrTextureAlignment, prop.textureAlignment),
    MEMBER(cudaDevAttrGpuOverlap, gpu_overlap),
    MEMBER(cudaDevAttrMultiProcessorCount, prop.multiProcessorCount),
    MEMBER(cudaDevAttrKernelExecTimeout, kernel_exec_timeout),
    MEMBER(cudaDevAttrIntegrated, prop.integrated),
    MEMBER(cudaDevAttrCanMapHostMemory, prop.canMapHostMemory),
    MEMBER(cudaDevAttrComputeMode, compute_mode),
    MEMBER(cudaDevAttrMaxTexture1DWidth, prop.maxTexture1D),
    MEMBER(cudaDevAttrMaxTexture2DWidth, prop.maxTexture2D[0]),
    MEMBER(cudaDevAttrMaxTexture2DHeight, prop.maxTexture2D[1]),
    MEMBER(cudaDevAttrMaxTexture3DWidth, prop.maxTexture3D[0]),
    MEMBER(cudaDevAttrMaxTexture3DHeight, prop.maxTexture3D[1]),
    MEMBER(cudaDevAttrMaxTexture3DDepth, prop.maxTexture3D[2]),
    MEMBER(cudaDevAttrMaxTexture2DLayeredWidth, prop.maxTexture2DLayered[0]),
    MEMBER(cudaDevAttrMaxTexture2DLayeredHeight, prop.maxTexture2DLayered[1]),
    MEMBER(cudaDevAttrMaxTexture2DLayeredLayers, prop.maxTexture2DLayered[2]),
    MEMBER(cudaDevAttrSurfaceAlignment, prop.surfaceAlignment),
    MEMBER(cudaDevAttrConcurrentKernels, prop.concurrentKernels),
    MEMBER(cudaDevAttrEccEnabled, prop.ECCEnabled),
    MEMBER(cudaDevAttrPciBusId, prop.pciBusID),
    MEMBER(cudaDevAttrPciDeviceId, prop.pciDeviceID),
    MEMBER(cudaDevAttrTccDriver, prop.tccDriver),
    MEMBER(cudaDevAttrMemoryClockRate, memory_clock_rate_khz),
    MEMBER(cudaDevAttrGlobalMemoryBusWidth, prop.memoryBusWidth),
    MEMBER(cudaDevAttrL2CacheSize, prop.l2CacheSize),
    MEMBER(cudaDevAttrMaxThreadsPerMultiProcessor, prop.maxThreadsPerMultiProcessor),
    MEMBER(cudaDevAttrAsyncEngineCount, prop.asyncEngineCount),
    MEMBER(cudaDevAttrUnifiedAddressing, prop.unifiedAddressing),
    MEMBER(cudaDevAttrMaxTexture1DLayeredWidth, prop.maxTexture1DLayered[0]),
    MEMBER(cudaDevAttrMaxTexture1DLayeredLayers, prop.maxTexture1DLayered[1]),
    CONSTANT(44, 0), // without a name here; CUDA answers it: 2D texture gather
    MEMBER(cudaDevAttrMaxTexture2DGatherWidth, prop.maxTexture2DGather[0]),
    MEMBER(cudaDevAttrMaxTexture2DGatherHeight, prop.maxTexture2DGather[1]),
    MEMBER(cudaDevAttrMaxTexture3DWidthAlt, prop.maxTexture3DAlt[0]),
    MEMBER(cudaDevAttrMaxTexture3DHeightAlt, prop.maxTexture3DAlt[1]),
    MEMBER(cudaDevAttrMaxTexture3DDepthAlt, prop.maxTexture3DAlt[2]),
    MEMBER(cudaDevAttrPciDomainId, prop.pciDomainID),
    MEMBER(cudaDevAttrTexturePitchAlignment, prop.texturePitchAlignment),
    MEMBER(cudaDevAttrMaxTextureCubemapWidth, prop.maxTextureCubemap),
    MEMBER(cudaDevAttrMaxTextureCubemapLayeredWidth, prop.maxTextureCubemapLayered[0]),
    MEMBER(cudaDevAttrMaxTextureCubemapLayeredLayers, prop.maxTextureCubemapLayered[1]),
    MEMBER(cudaDevAttrMaxSurface1DWidth, prop.maxSurface1D),
    MEMBER(cudaDevAttrMaxSurface2DWidth, prop.maxSurface2D[0]),
    MEMBER(cudaDevAttrMaxSurface2DHeight, prop.maxSurface2D[1]),
    MEMBER(cudaDevAttrMaxSurface3DWidth, prop.maxSurface3D[0]),
    MEMBER(cudaDevAttrMaxSurface3DHeight, prop.maxSurface3D[1]),
    MEMBER(cudaDevAttrMaxSurface3DDepth, prop.maxSurface3D[2]),
    MEMBER(cudaDevAttrMaxSurface1DLayeredWidth, prop.maxSurface1DLayered[0]),
    MEMBER(cudaDevAttrMaxSurface1DLayeredLayers, prop.maxSurface1DLayered[1]),
    MEMBER(cudaDevAttrMaxSurface2DLayeredWidth, prop.maxSurface2DLayered[0]),
    MEMBER(cudaDevAttrMaxSurface2DLayeredHeight, prop.maxSurface2DLayered[1]),
    MEMBER(cudaDevAttrMaxSurface2DLayeredLayers, prop.maxSurface2DLayered[2]),
    MEMBER(cudaDevAttrMaxSurfaceCubemapWidth, prop.maxSurfaceCubemap),
    MEMBER(cudaDevAttrMaxSurfaceCubemapLayeredWidth, prop.maxSurfaceCubemapLayered[0]),
    MEMBER(cudaDevAttrMaxSurfaceCubemapLayeredLayers, prop.maxSurfaceCubemapLayered[1]),
    CONSTANT(cudaDevAttrMaxTexture1DLinearWidth, 1 << 28),
    MEMBER(cudaDevAttrMaxTexture2DLinearWidth, prop.maxTexture2DLinear[0]),
    MEMBER(cudaDevAttrMaxTexture2DLinearHeight, prop.maxTexture2DLinear[1]),
    MEMBER(cudaDevAttrMaxTexture2DLinearPitch, prop.maxTexture2DLinear[2]),
    MEMBER(cudaDevAttrMaxTexture2DMipmappedWidth, prop.maxTexture2DMipmap[0]),
    MEMBER(cudaDevAttrMaxTexture2DMipmappedHeight, prop.maxTexture2DMipmap[1]),
    MEMBER(cudaDevAttrComputeCapabilityMajor, prop.major),
    MEMBER(cudaDevAttrComputeCapabilityMinor, prop.minor),
    MEMBER(cudaDevAttrMaxTexture1DMipmappedWidth, prop.maxTexture1DMipmap),
    MEMBER(cudaDevAttrStreamPrioritiesSupported, prop.streamPrioritiesSupported),
    MEMBER(cudaDevAttrGlobalL1CacheSupported, prop.globalL1CacheSupported),
    MEMBER(cudaDevAttrLocalL1CacheSupported, prop.localL1CacheSupported),
    MEMBER(cudaDevAttrMaxSharedMemoryPerMultiprocessor, prop.sharedMemPerMultiprocessor),
    MEMBER(cudaDevAttrMaxRegistersPerMultiprocessor, prop.regsPerMultiprocessor),
    MEMBER(cudaDevAttrManagedMemory, prop.managedMemory),
    MEMBER(cudaDevAttrIsMultiGpuBoard, prop.isMultiGpuBoard),
    MEMBER(cudaDevAttrMultiGpuBoardGroupID, prop.multiGpuBoardGroupID),
    MEMBER(cudaDevAttrHostNativeAtomicSupported, prop.hostNativeAtomicSupported),
    MEMBER(cudaDevAttrSingleToDoublePrecisionPerfRatio, single_to_double_perf_ratio),
    MEMBER(cudaDevAttrPageableMemoryAccess, prop.pageableMemoryAccess),
    MEMBER(cudaDevAttrConcurrentManagedAccess, prop.concurrentManagedAccess),
    MEMBER(cudaDevAttrComputePreemptionSupported, prop.computePreemptionSupported),
    MEMBER(cudaDevAttrCanUseHostPointerForRegisteredMem, prop.canUseHostPointerForRegisteredMem),
    CONSTANT(cudaDevAttrReserved92, 0),
    CONSTANT(cudaDevAttrReserved93, 0),
    CONSTANT(cudaDevAttrReserved94, 0),
    MEMBER(cudaDevAttrCooperativeLaunch, prop.cooperativeLaunch),
    MEMBER(cudaDevAttrReserved96, prop.cooperativeLaunch), // until 12: on several devices
    MEMBER(cudaDevAttrMaxSharedMemoryPerBlockOptin, prop.sharedMemPerBlockOptin),
    MEMBER(cudaDevAttrCanFlushRemoteWrites, can_flush_remote_writes),
    MEMBER(cudaDevAttrHostRegisterSupported, prop.hostRegisterSupported),
    MEMBER(cudaDevAttrPageableMemoryAccessUsesHostPageTables,
           prop.pageableMemoryAccessUsesHostPageTables),
    MEMBER(cudaDevAttrDirectManagedMemAccessFromHost, prop.directManagedMemAccessFromHost),
    MEMBER(cudaDevAttrMaxBlocksPerMultiprocessor, prop.maxBlocksPerMultiProcessor),
    MEMBER(cudaDevAttrMaxPersistingL2CacheSize, prop.persistingL2CacheMaxSize),
    MEMBER(cudaDevAttrMaxAccessPolicyWindowSize, prop.accessPolicyMaxWindowSize),
    MEMBER(cudaDevAttrReservedSharedMemoryPerBlock, prop.reservedSharedMemPerBlock),
    MEMBER(cudaDevAttrSparseCudaArraySupported, prop.sparseCudaArraySupported),
    MEMBER(cudaDevAttrHostRegisterReadOnlySupported, prop.hostRegisterReadOnlySupported),
    MEMBER(cudaDevAttrTimelineSemaphoreInteropSupported, prop.timelineSemaphoreInteropSupported),
    MEMBER(cudaDevAttrMemoryPoolsSupported, prop.memoryPoolsSupported),
    MEMBER(cudaDevAttrGPUDirectRDMASupported, prop.gpuDirectRDMASupported),
    MEMBER(cudaDevAttrGPUDirectRDMAFlushWritesOptions, prop.gpuDirectRDMAFlushWritesOptions),
    MEMBER(cudaDevAttrGPUDirectRDMAWritesOrdering, prop.gpuDirectRDMAWritesOrdering),
    MEMBER(cudaDevAttrMemoryPoolSupportedHandleTypes, prop.memoryPoolSupportedHandleTypes),
    MEMBER(cudaDevAttrClusterLaunch, prop.clusterLaunch),
    MEMBER(cudaDevAttrDeferredMappingCudaArraySupported, prop.deferredMappingCudaArraySupported),
    CONSTANT(cudaDevAttrReserved122, 0),
    CONSTANT(cudaDevAttrReserved123, 0),
    CONSTANT(cudaDevAttrReserved124, 0),
    MEMBER(cudaDevAttrIpcEventSupport, prop.ipcEventSupported),
    CONSTANT(cudaDevAttrMemSyncDomainCount, 1),
    CONSTANT(cudaDevAttrReserved127, 0),
    CONSTANT(cudaDevAttrReserved128, 0),
    CONSTANT(cudaDevAttrReserved129, 0),
    MEMBER(cudaDevAttrNumaConfig, prop.deviceNumaConfig),
    MEMBER(cudaDevAttrNumaId, prop.deviceNumaId),
    CONSTANT(cudaDevAttrReserved132, 0),
    MEMBER(cudaDevAttrMpsEnabled, prop.mpsEnabled),
    MEMBER(cudaDevAttrHostNumaId, prop.hostNumaId),
    CONSTANT(cudaDevAttrD3D12CigSupported, 0),
    CONSTANT(cudaDevAttrVulkanCigSupported, 0),
    MEMBER(cudaDevAttrGpuPciDeviceId, prop.gpuPciDeviceID),
    MEMBER(cudaDevAttrGpuPciSubsystemId, prop.gpuPciSubsystemID),
    CONSTANT(cudaDevAttrReserved141, 0),
    CONSTANT(cudaDevAttrHostNumaMemoryPoolsSupported, 1),
    MEMBER(cudaDevAttrHostNumaMultinodeIpcSupported, prop.hostNumaMultinodeIpcSupported),
    CONSTANT(cudaDevAttrHostMemoryPoolsSupported, 1),
    CONSTANT(cudaDevAttrReserved145, 0),
    CONSTANT(cudaDevAttrOnlyPartialHostNativeAtomicSupported, 0),
    // After CUDA 13.0, whose headers we may be built with.
    CONSTANT(148, 0),                         // atomic reductions in batched memory operations
    CONSTANT(149, 1),                         // number of locality domains
    CONSTANT(150, 0),                         // oversized shared memory per block
    CONSTANT(151, 0),                         // CIG streams
    MEMBER(157, prop.multiProcessorCount),    // multiprocessors of a locality domain
    CONSTANT(160, INT_MAX),                   // no distinction of large tensor maps
};
// clang-format on

cudaError_t irt_core_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
    if (!prop) {
        return cudaErrorInvalidValue;
    }
    const struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    *prop = found->info.prop;
    return cudaSuccess;
}

static int attribute_value(const struct attribute *attribute, const struct irtb_device_info *info)
{
    const char *member = (const char *)info + attribute->offset;
    if (attribute->size == 0) {
        return attribute->constant;
    }
    if (attribute->size == sizeof(int)) {
        int value;
        memcpy(&value, member, sizeof value);
        return value;
    }
    size_t wide;
    memcpy(&wide, member, sizeof wide);
    return wide > INT_MAX ? INT_MAX : (int)wide;
}

cudaError_t irt_core_cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int device)
{
    if (!value) {
        return cudaErrorInvalidValue;
    }
    const struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    size_t low = 0;
    size_t high = sizeof attributes / sizeof *attributes;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (attributes[middle].number < (int)attr) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == sizeof attributes / sizeof *attributes || attributes[low].number != (int)attr) {
        return cudaErrorInvalidValue;
    }
    *value = attribute_value(&attributes[low], &found->info);
    return cudaSuccess;
}

// How many of the wishes in `wanted` (members that are not 0) the device fulfils.
static int count_matches(const struct cudaDeviceProp *wanted, const struct cudaDeviceProp *has)
{
    int matches = 0;
    bool newer =
        has->major > wanted->major || (has->major == wanted->major && has->minor >= wanted->minor);
    matches += wanted->major > 0 && newer ? 8 : 0;
    matches += wanted->name[0] != '\0' && strncmp(wanted->name, has->name, sizeof has->name) == 0;
#define AT_LEAST(member) matches += wanted->member > 0 && has->member >= wanted->member
    AT_LEAST(totalGlobalMem);
    AT_LEAST(sharedMemPerBlock);
    AT_LEAST(regsPerBlock);
    AT_LEAST(memPitch);
    AT_LEAST(maxThreadsPerBlock);
    AT_LEAST(totalConstMem);
    AT_LEAST(multiProcessorCount);
    AT_LEAST(textureAlignment);
    AT_LEAST(canMapHostMemory);
    AT_LEAST(concurrentKernels);
    AT_LEAST(asyncEngineCount);
    AT_LEAST(unifiedAddressing);
    AT_LEAST(managedMemory);
    AT_LEAST(cooperativeLaunch);
    AT_LEAST(memoryPoolsSupported);
#undef AT_LEAST
    return matches;
}

cudaError_t irt_core_cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
    if (!device || !prop) {
        return cudaErrorInvalidValue;
    }
    int best = 0;
    int most = -1;
    for (int i = 0; i < irt_device_count(); i++) {
        int matches = count_matches(prop, &irt_device_at(i)->info.prop);
        if (matches > most) {
            most = matches;
            best = i;
        }
    }
    *device = best;
    return cudaSuccess;
}

cudaError_t irt_core_cudaDeviceGetPCIBusId(char *pciBusId, int len, int device)
{
    if (!pciBusId || len < 13) {
        return cudaErrorInvalidValue;
    }
    const struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    const struct cudaDeviceProp *prop = &found->info.prop;
    snprintf(pciBusId, (size_t)len, "%04X:%02X:%02X.0", (unsigned)prop->pciDomainID,
             (unsigned)prop->pciBusID, (unsigned)prop->pciDeviceID);
    return cudaSuccess;
}

// [domain]:[bus]:[device].[function], [domain]:[bus]:[device] or [bus]:[device].[function], all
// hexadecimal.
static bool parse_pci(const char *text, unsigned long *ret_domain, unsigned long *ret_bus,
                      unsigned long *ret_device)
{
    unsigned long numbers[3];
    int count = 0;
    for (;;) {
        char *end;
        if (!isxdigit((unsigned char)text[0]) || count == 3) {
            return false;
        }
        numbers[count++] = strtoul(text, &end, 16);
        text = end;
        if (text[0] != ':') {
            break;
        }
        text++;
    }
    bool function = text[0] == '.' && isxdigit((unsigned char)text[1]) && text[2] == '\0';
    if ((text[0] != '\0' && !function) || count < 2 || (count == 2 && !function)) {
        return false;
    }
    *ret_domain = count == 3 ? numbers[0] : 0;
    *ret_bus = numbers[count - 2];
    *ret_device = numbers[count - 1];
    return true;
}

cudaError_t irt_core_cudaDeviceGetByPCIBusId(int *device, const char *pciBusId)
{
    unsigned long domain;
    unsigned long bus;
    unsigned long slot;
    if (!device || !pciBusId || !parse_pci(pciBusId, &domain, &bus, &slot)) {
        return cudaErrorInvalidValue;
    }
    for (int i = 0; i < irt_device_count(); i++) {
        const struct cudaDeviceProp *prop = &irt_device_at(i)->info.prop;
        if ((unsigned long)prop->pciDomainID == domain && (unsigned long)prop->pciBusID == bus &&
            (unsigned long)prop->pciDeviceID == slot) {
            *device = i;
            return cudaSuccess;
        }
    }
    return cudaErrorInvalidDevice;
}
