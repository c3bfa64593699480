// SPDX-License-Identifier: Apache-2.0
//
// Device count and choice, properties against attributes, limits, flags, PCI ids, peers, reset.
#include "conformance.h"

TestSuite(devices, .timeout = 30);

Test(devices, count_set_get)
{
    int device = -1;
    int count = device_count();
    cr_assert(count > 0);
    OK(cudaGetDevice(&device));
    cr_assert(device == 0);
    for (int i = 0; i < count; i++) {
        OK(cudaSetDevice(i));
        OK(cudaGetDevice(&device));
        cr_assert(device == i);
    }
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(count));
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(-1));
    OK(cudaGetDevice(&device));
    cr_assert(device == count - 1);
    EXPECT(cudaErrorInvalidValue, cudaGetDeviceCount(NULL));
    EXPECT(cudaErrorInvalidValue, cudaGetDevice(NULL));
}

static void *current_device(void *result)
{
    if (cudaGetDevice(result) != cudaSuccess) {
        *(int *)result = -1;
    }
    return NULL;
}

Test(devices, current_device_belongs_to_the_thread)
{
    pthread_t thread;
    int seen = -1;
    OK(cudaSetDevice(device_count() - 1));
    cr_assert(pthread_create(&thread, NULL, current_device, &seen) == 0);
    cr_assert(pthread_join(thread, NULL) == 0);
    cr_assert(seen == 0, "a new thread starts with device %d", seen);
}

Test(devices, properties_agree_with_attributes)
{
    struct cudaDeviceProp p;
    for (int device = 0; device < device_count(); device++) {
        memset(&p, 0x5a, sizeof p);
        OK(cudaGetDeviceProperties(&p, device));
        const struct {
            enum cudaDeviceAttr attribute;
            long long value;
            const char *name;
        } rows[] = {
#define ROW(attribute, member) {attribute, (long long)p.member, #member}
            ROW(cudaDevAttrMaxThreadsPerBlock, maxThreadsPerBlock),
            ROW(cudaDevAttrMaxBlockDimX, maxThreadsDim[0]),
            ROW(cudaDevAttrMaxBlockDimY, maxThreadsDim[1]),
            ROW(cudaDevAttrMaxBlockDimZ, maxThreadsDim[2]),
            ROW(cudaDevAttrMaxGridDimX, maxGridSize[0]),
            ROW(cudaDevAttrMaxGridDimY, maxGridSize[1]),
            ROW(cudaDevAttrMaxGridDimZ, maxGridSize[2]),
            ROW(cudaDevAttrMaxSharedMemoryPerBlock, sharedMemPerBlock),
            ROW(cudaDevAttrTotalConstantMemory, totalConstMem),
            ROW(cudaDevAttrWarpSize, warpSize),
            ROW(cudaDevAttrMaxPitch, memPitch),
            ROW(cudaDevAttrMaxRegistersPerBlock, regsPerBlock),
            ROW(cudaDevAttrTextureAlignment, textureAlignment),
            ROW(cudaDevAttrMultiProcessorCount, multiProcessorCount),
            ROW(cudaDevAttrIntegrated, integrated),
            ROW(cudaDevAttrCanMapHostMemory, canMapHostMemory),
            ROW(cudaDevAttrConcurrentKernels, concurrentKernels),
            ROW(cudaDevAttrEccEnabled, ECCEnabled),
            ROW(cudaDevAttrPciBusId, pciBusID),
            ROW(cudaDevAttrPciDeviceId, pciDeviceID),
            ROW(cudaDevAttrPciDomainId, pciDomainID),
            ROW(cudaDevAttrGlobalMemoryBusWidth, memoryBusWidth),
            ROW(cudaDevAttrL2CacheSize, l2CacheSize),
            ROW(cudaDevAttrMaxThreadsPerMultiProcessor, maxThreadsPerMultiProcessor),
            ROW(cudaDevAttrAsyncEngineCount, asyncEngineCount),
            ROW(cudaDevAttrUnifiedAddressing, unifiedAddressing),
            ROW(cudaDevAttrComputeCapabilityMajor, major),
            ROW(cudaDevAttrComputeCapabilityMinor, minor),
            ROW(cudaDevAttrStreamPrioritiesSupported, streamPrioritiesSupported),
            ROW(cudaDevAttrMaxSharedMemoryPerMultiprocessor, sharedMemPerMultiprocessor),
            ROW(cudaDevAttrMaxRegistersPerMultiprocessor, regsPerMultiprocessor),
            ROW(cudaDevAttrManagedMemory, managedMemory),
            ROW(cudaDevAttrPageableMemoryAccess, pageableMemoryAccess),
            ROW(cudaDevAttrConcurrentManagedAccess, concurrentManagedAccess),
            ROW(cudaDevAttrCooperativeLaunch, cooperativeLaunch),
            ROW(cudaDevAttrMaxSharedMemoryPerBlockOptin, sharedMemPerBlockOptin),
            ROW(cudaDevAttrMaxBlocksPerMultiprocessor, maxBlocksPerMultiProcessor),
#undef ROW
        };
        for (size_t i = 0; i < LENGTH(rows); i++) {
            int value = -1;
            OK(cudaDeviceGetAttribute(&value, rows[i].attribute, device));
            cr_assert(value == rows[i].value, "%s: attribute %d, property %lld", rows[i].name,
                      value, rows[i].value);
        }
        cr_assert(p.warpSize == 32 && p.major >= 5 && p.multiProcessorCount > 0);
        cr_assert(p.totalGlobalMem > 0 && p.maxThreadsPerBlock >= 512);
        cr_assert(memchr(p.name, 0, sizeof p.name) && p.name[0]);
        size_t free_bytes = 0, total = 0;
        OK(cudaSetDevice(device));
        OK(cudaMemGetInfo(&free_bytes, &total));
        cr_assert(total == p.totalGlobalMem && free_bytes <= total);
    }
    EXPECT(cudaErrorInvalidDevice, cudaGetDeviceProperties(&p, device_count()));
    EXPECT(cudaErrorInvalidValue, cudaGetDeviceProperties(NULL, 0));
}

Test(devices, every_attribute_answers)
{
    int value;
    for (int attribute = 1; attribute < cudaDevAttrMax; attribute++) {
        cudaError_t error = cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)attribute, 0);
        cr_assert(error == cudaSuccess || (error == cudaErrorInvalidValue && attribute >= 92),
                  "attribute %d: %s", attribute, cudaGetErrorName(error));
    }
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)9999, 0));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetAttribute(&value, (enum cudaDeviceAttr)0, 0));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetAttribute(NULL, cudaDevAttrWarpSize, 0));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, 99));
}

Test(devices, choose)
{
    struct cudaDeviceProp p;
    int device = -1;
    memset(&p, 0, sizeof p);
    OK(cudaChooseDevice(&device, &p));
    cr_assert(device >= 0 && device < device_count());
    EXPECT(cudaErrorInvalidValue, cudaChooseDevice(NULL, &p));
    EXPECT(cudaErrorInvalidValue, cudaChooseDevice(&device, NULL));
}

Test(devices, pci_bus_id)
{
    char id[32];
    for (int i = 0; i < device_count(); i++) {
        int device = -1;
        OK(cudaDeviceGetPCIBusId(id, sizeof id, i));
        OK(cudaDeviceGetByPCIBusId(&device, id));
        cr_assert(device == i, "%s is device %d, not %d", id, device, i);
    }
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetPCIBusId(NULL, 32, 0));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetPCIBusId(id, sizeof id, 99));
    int device;
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetByPCIBusId(&device, "nonsense"));
}

Test(devices, limits)
{
    size_t value = 0, again = 0;
    OK(cudaDeviceGetLimit(&value, cudaLimitStackSize));
    cr_assert(value >= 1024);
    OK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
    OK(cudaDeviceGetLimit(&again, cudaLimitStackSize));
    cr_assert(again >= 4096);
    OK(cudaDeviceGetLimit(&value, cudaLimitPrintfFifoSize));
    OK(cudaDeviceGetLimit(&value, cudaLimitMallocHeapSize));
    cr_assert(value >= 1u << 20);
    OK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 64u << 20));
    OK(cudaDeviceGetLimit(&again, cudaLimitMallocHeapSize));
    cr_assert(again >= 64u << 20);
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetLimit(NULL, cudaLimitStackSize));
    cudaError_t error = cudaDeviceGetLimit(&value, (enum cudaLimit)77);
    cr_assert(error == cudaErrorUnsupportedLimit || error == cudaErrorInvalidValue);
}

Test(devices, flags)
{
    unsigned flags = 0;
    OK(cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync));
    OK(cudaGetDeviceFlags(&flags));
    cr_assert((flags & cudaDeviceScheduleMask) == cudaDeviceScheduleBlockingSync, "flags 0x%x",
              flags);
    EXPECT(cudaErrorInvalidValue, cudaSetDeviceFlags(0x8000));
    EXPECT(cudaErrorInvalidValue,
           cudaSetDeviceFlags(cudaDeviceScheduleSpin | cudaDeviceScheduleYield));
    EXPECT(cudaErrorInvalidValue, cudaGetDeviceFlags(NULL));
}

Test(devices, peers, .data = NEEDS("peers"))
{
    int can = -1;
    int count = device_count();
    OK(cudaDeviceCanAccessPeer(&can, 0, 0));
    cr_assert(can == 0, "a device is no peer of itself");
    EXPECT(cudaErrorInvalidDevice, cudaDeviceCanAccessPeer(&can, 0, count));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceEnablePeerAccess(0, 0));
    if (count < 2) {
        return;
    }
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    if (!can) {
        return;
    }
    EXPECT(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
    EXPECT(cudaErrorInvalidValue, cudaDeviceEnablePeerAccess(1, 1));
    OK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT(cudaErrorPeerAccessAlreadyEnabled, cudaDeviceEnablePeerAccess(1, 0));
    OK(cudaDeviceDisablePeerAccess(1));
    EXPECT(cudaErrorPeerAccessNotEnabled, cudaDeviceDisablePeerAccess(1));
}

Test(devices, links_between_devices, .data = NEEDS("peers"))
{
    int value = -1;
    const int last = device_count();
    EXPECT(cudaErrorInvalidDevice,
           cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, last));
    EXPECT(cudaErrorInvalidDevice,
           cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, -1, 0));
    EXPECT(cudaErrorInvalidDevice,
           cudaDeviceGetP2PAttribute(&value, cudaDevP2PAttrAccessSupported, 0, 0));
    if (last < 2) {
        return;
    }
    EXPECT(cudaErrorInvalidValue,
           cudaDeviceGetP2PAttribute(NULL, cudaDevP2PAttrAccessSupported, 0, 1));
    EXPECT(cudaErrorInvalidValue,
           cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)0, 0, 1));
    EXPECT(cudaErrorInvalidValue,
           cudaDeviceGetP2PAttribute(&value, (enum cudaDeviceP2PAttr)99, 0, 1));
    int can = -1, supported = -1, rank = -1, atomics = -1;
    OK(cudaDeviceCanAccessPeer(&can, 0, 1));
    OK(cudaDeviceGetP2PAttribute(&supported, cudaDevP2PAttrAccessSupported, 0, 1));
    OK(cudaDeviceGetP2PAttribute(&rank, cudaDevP2PAttrPerformanceRank, 0, 1));
    OK(cudaDeviceGetP2PAttribute(&atomics, cudaDevP2PAttrNativeAtomicSupported, 0, 1));
    cr_assert(supported == can && rank >= 0 && (atomics == 0 || can));
#if CUDART_VERSION >= 13000
    const enum cudaAtomicOperation operations[2] = {cudaAtomicOperationIntegerAdd,
                                                    cudaAtomicOperationCAS},
                                   wrong = (enum cudaAtomicOperation)99;
    unsigned masks[2] = {77, 77};
    EXPECT(cudaErrorInvalidDevice,
           cudaDeviceGetP2PAtomicCapabilities(masks, operations, 2, 0, last));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetP2PAtomicCapabilities(masks, operations, 2, 1, 1));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetP2PAtomicCapabilities(NULL, operations, 2, 0, 1));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetP2PAtomicCapabilities(masks, NULL, 2, 0, 1));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetP2PAtomicCapabilities(masks, operations, 0, 0, 1));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetP2PAtomicCapabilities(masks, &wrong, 1, 0, 1));
    cr_assert(masks[0] == 77);
    OK(cudaDeviceGetP2PAtomicCapabilities(masks, operations, 2, 0, 1));
    cr_assert((masks[0] != 0) == (atomics != 0) && (masks[1] != 0) == (atomics != 0));
#endif
}

Test(devices, reset_frees_everything)
{
    size_t before = 0, held = 0, after = 0, total = 0;
    void *p = NULL;
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMalloc(&p, 8u << 20));
    OK(cudaMemGetInfo(&held, &total));
    cr_assert(held + (8u << 20) <= before);
    OK(cudaDeviceReset());
    OK(cudaMemGetInfo(&after, &total));
    cr_assert(after >= before, "free before %zu, after reset %zu", before, after);
    EXPECT(cudaErrorInvalidValue, cudaFree(p));
    OK(cudaMalloc(&p, 16));
    OK(cudaFree(p));
}

Test(devices, cache_and_shared_configuration_are_hints)
{
    enum cudaFuncCache cache;
    OK(cudaDeviceSetCacheConfig(cudaFuncCachePreferL1));
    OK(cudaDeviceGetCacheConfig(&cache));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetCacheConfig(NULL));
    EXPECT(cudaErrorInvalidValue, cudaDeviceSetCacheConfig((enum cudaFuncCache)17));
}
