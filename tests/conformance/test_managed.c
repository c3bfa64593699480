// SPDX-License-Identifier: Apache-2.0
//
// Managed memory: the host and kernels at the same time, association with streams, advice,
// prefetching and the attributes of ranges, in the forms of every major.
#include "conformance.h"

#include <time.h>

TestSuite(managed, .timeout = 60, .init = kernels_register);

enum { SIZE = 64 << 10, PAGE = 4096 };

static void *make(size_t size)
{
    void *memory = NULL;
    OK(cudaMallocManaged(&memory, size, cudaMemAttachGlobal));
    return memory;
}

// A place by the number that releases before 13 use: a device or cudaCpuDeviceId.
static cudaError_t advise(const void *memory, size_t size, enum cudaMemoryAdvise advice, int device)
{
#if CUDART_VERSION >= 13000
    struct cudaMemLocation location = {
        .type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
        .id = device};
    return cudaMemAdvise(memory, size, advice, location);
#else
    return cudaMemAdvise(memory, size, advice, device);
#endif
}

static cudaError_t prefetch(const void *memory, size_t size, int device, cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
    struct cudaMemLocation location = {
        .type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice,
        .id = device};
    return cudaMemPrefetchAsync(memory, size, location, 0, stream);
#else
    return cudaMemPrefetchAsync(memory, size, device, stream);
#endif
}

static int attribute(enum cudaMemRangeAttribute which, const void *memory, size_t size)
{
    int value = 12345;
    OK(cudaMemRangeGetAttribute(&value, sizeof value, which, memory, size));
    return value;
}

Test(managed, host_and_kernel_at_the_same_time, .data = NEEDS("kernels managed"))
{
    int *memory = make(SIZE);
    int *flag = memory, *out = memory + 2000;
    *flag = 0;
    *out = 0;
    void *arguments[] = {&flag, &out};
    OK(kernel_launch(KERNEL_WAIT_FLAG, 1, 1, arguments, 0, NULL));
    for (int i = 1000; i < 1500; i++) { // the same allocation, while the kernel reads
        memory[i] = i;
    }
    EXPECT(cudaErrorNotReady, cudaStreamQuery(NULL));
    __atomic_store_n(flag, 5, __ATOMIC_SEQ_CST);
    while (__atomic_load_n(out, __ATOMIC_SEQ_CST) != 5) { // seen without any call
        struct timespec moment = {.tv_nsec = 100000};
        nanosleep(&moment, NULL);
    }
    OK(cudaDeviceSynchronize());
    cr_assert(memory[1499] == 1499);
    OK(cudaFree(memory));
}

Test(managed, association_with_streams, .data = NEEDS("managed"))
{
    cudaStream_t stream;
    char *memory = make(SIZE), *host = NULL, *device = NULL;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc((void **)&device, SIZE));
    OK(cudaMallocHost((void **)&host, SIZE));
    OK(cudaStreamAttachMemAsync(stream, memory, 0, cudaMemAttachSingle));
    OK(cudaStreamAttachMemAsync(stream, memory, SIZE, cudaMemAttachHost));
    OK(cudaStreamAttachMemAsync(stream, memory, 0, cudaMemAttachGlobal));
    OK(cudaStreamSynchronize(stream));
    memory[0] = 1;
    EXPECT(cudaErrorInvalidValue, cudaStreamAttachMemAsync(stream, NULL, 0, cudaMemAttachGlobal));
    EXPECT(cudaErrorInvalidValue, cudaStreamAttachMemAsync(stream, memory, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaStreamAttachMemAsync(stream, memory, 0, 8));
    EXPECT(cudaErrorInvalidValue,
           cudaStreamAttachMemAsync(stream, memory, SIZE / 2, cudaMemAttachGlobal)); // not a part
    EXPECT(cudaErrorInvalidValue,
           cudaStreamAttachMemAsync(stream, memory + PAGE, 0, cudaMemAttachGlobal));
    EXPECT(cudaErrorInvalidValue, cudaStreamAttachMemAsync(stream, device, 0, cudaMemAttachGlobal));
    EXPECT(cudaErrorInvalidValue, cudaStreamAttachMemAsync(NULL, memory, 0, cudaMemAttachSingle));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaStreamAttachMemAsync((cudaStream_t)0x1230, memory, 0, cudaMemAttachGlobal));
    OK(cudaMallocManaged((void **)&host, SIZE, cudaMemAttachHost));
    host[5] = 5;
    OK(cudaFree(host));
    OK(cudaFree(device));
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(stream));
}

Test(managed, advice_is_kept_per_range, .data = NEEDS("managed"))
{
    char *memory = make(SIZE);
    cr_assert(attribute(cudaMemRangeAttributeReadMostly, memory, SIZE) == 0);
    cr_assert(attribute(cudaMemRangeAttributePreferredLocation, memory, SIZE) ==
              cudaInvalidDeviceId);
    cr_assert(attribute(cudaMemRangeAttributeLastPrefetchLocation, memory, SIZE) ==
              cudaInvalidDeviceId);
    // A part in the middle.
    OK(advise(memory + 2 * PAGE, 4 * PAGE, cudaMemAdviseSetReadMostly, 0));
    cr_assert(attribute(cudaMemRangeAttributeReadMostly, memory + 2 * PAGE, 4 * PAGE) == 1);
    cr_assert(attribute(cudaMemRangeAttributeReadMostly, memory + 2 * PAGE, 5 * PAGE) == 0);
    cr_assert(attribute(cudaMemRangeAttributeReadMostly, memory, SIZE) == 0);
    OK(advise(memory + 3 * PAGE, PAGE, cudaMemAdviseUnsetReadMostly, 0));
    cr_assert(attribute(cudaMemRangeAttributeReadMostly, memory + 2 * PAGE, 4 * PAGE) == 0);
    cr_assert(attribute(cudaMemRangeAttributeReadMostly, memory + 2 * PAGE, PAGE) == 1);
    // Preferred location.
    OK(advise(memory, SIZE, cudaMemAdviseSetPreferredLocation, 0));
    cr_assert(attribute(cudaMemRangeAttributePreferredLocation, memory, SIZE) == 0);
    OK(advise(memory, PAGE, cudaMemAdviseSetPreferredLocation, cudaCpuDeviceId));
    cr_assert(attribute(cudaMemRangeAttributePreferredLocation, memory, PAGE) == cudaCpuDeviceId);
    cr_assert(attribute(cudaMemRangeAttributePreferredLocation, memory, SIZE) ==
              cudaInvalidDeviceId);
    OK(advise(memory, SIZE, cudaMemAdviseUnsetPreferredLocation, 0));
    // Accessed by.
    int list[4];
    OK(advise(memory, SIZE, cudaMemAdviseSetAccessedBy, 0));
    OK(advise(memory, SIZE, cudaMemAdviseSetAccessedBy, cudaCpuDeviceId));
    OK(cudaMemRangeGetAttribute(list, sizeof list, cudaMemRangeAttributeAccessedBy, memory, SIZE));
    cr_assert(list[0] == 0 && list[1] == cudaCpuDeviceId && list[2] == cudaInvalidDeviceId &&
              list[3] == cudaInvalidDeviceId);
    OK(advise(memory, SIZE, cudaMemAdviseUnsetAccessedBy, 0));
    OK(cudaMemRangeGetAttribute(list, sizeof list, cudaMemRangeAttributeAccessedBy, memory, SIZE));
    cr_assert(list[0] == cudaCpuDeviceId && list[1] == cudaInvalidDeviceId);
    // Advice belongs to the allocation and goes with it.
    OK(advise(memory, SIZE, cudaMemAdviseSetReadMostly, 0));
    OK(cudaFree(memory));
    char *next = make(SIZE);
    cr_assert(attribute(cudaMemRangeAttributeReadMostly, next, SIZE) == 0);
    OK(cudaFree(next));
}

Test(managed, prefetching, .data = NEEDS("managed"))
{
    cudaStream_t stream;
    char *memory = make(SIZE);
    OK(cudaStreamCreate(&stream));
    memset(memory, 3, SIZE);
    OK(prefetch(memory, SIZE, 0, stream));
    cr_assert(attribute(cudaMemRangeAttributeLastPrefetchLocation, memory, SIZE) == 0);
    OK(prefetch(memory, PAGE, cudaCpuDeviceId, stream));
    cr_assert(attribute(cudaMemRangeAttributeLastPrefetchLocation, memory, PAGE) ==
              cudaCpuDeviceId);
    cr_assert(attribute(cudaMemRangeAttributeLastPrefetchLocation, memory, SIZE) ==
              cudaInvalidDeviceId);
    OK(cudaStreamSynchronize(stream));
    cr_assert(memory[0] == 3 && memory[SIZE - 1] == 3);
#if CUDART_VERSION >= 12020
    void *data[2];
    int type = -1, id = -1;
    size_t sizes[2] = {sizeof type, sizeof id};
    enum cudaMemRangeAttribute both[2] = {cudaMemRangeAttributeLastPrefetchLocationType,
                                          cudaMemRangeAttributeLastPrefetchLocationId};
    data[0] = &type;
    data[1] = &id;
    OK(cudaMemRangeGetAttributes(data, sizes, both, 2, memory + PAGE, PAGE));
    cr_assert(type == cudaMemLocationTypeDevice && id == 0);
    EXPECT(cudaErrorInvalidValue, cudaMemRangeGetAttributes(data, sizes, both, 0, memory, PAGE));
    EXPECT(cudaErrorInvalidValue, cudaMemRangeGetAttributes(NULL, sizes, both, 2, memory, PAGE));
    EXPECT(cudaErrorInvalidValue, cudaMemRangeGetAttributes(data, NULL, both, 2, memory, PAGE));
    EXPECT(cudaErrorInvalidValue, cudaMemRangeGetAttributes(data, sizes, NULL, 2, memory, PAGE));
#endif
#if CUDART_VERSION >= 12020 && CUDART_VERSION < 13000
    struct cudaMemLocation location = {.type = cudaMemLocationTypeHost};
    OK(cudaMemPrefetchAsync_v2(memory, SIZE, location, 0, stream));
    cr_assert(attribute(cudaMemRangeAttributeLastPrefetchLocation, memory, SIZE) ==
              cudaCpuDeviceId);
    EXPECT(cudaErrorInvalidValue, cudaMemPrefetchAsync_v2(memory, SIZE, location, 1, stream));
    OK(cudaMemAdvise_v2(memory, SIZE, cudaMemAdviseSetPreferredLocation, location));
    cr_assert(attribute(cudaMemRangeAttributePreferredLocation, memory, SIZE) == cudaCpuDeviceId);
#endif
    OK(cudaFree(memory));
    OK(cudaStreamDestroy(stream));
}

Test(managed, errors, .data = NEEDS("managed"))
{
    char *memory = make(SIZE), *device = NULL, *host = NULL;
    int value = 7;
    OK(cudaMalloc((void **)&device, SIZE));
    OK(cudaMallocHost((void **)&host, SIZE));
    EXPECT(cudaErrorInvalidValue, advise(NULL, SIZE, cudaMemAdviseSetReadMostly, 0));
    EXPECT(cudaErrorInvalidValue, advise(memory, 0, cudaMemAdviseSetReadMostly, 0));
    EXPECT(cudaErrorInvalidValue, advise(memory, 2 * SIZE, cudaMemAdviseSetReadMostly, 0));
    EXPECT(cudaErrorInvalidValue, advise(memory, SIZE, (enum cudaMemoryAdvise)0, 0));
    EXPECT(cudaErrorInvalidValue, advise(memory, SIZE, (enum cudaMemoryAdvise)99, 0));
    EXPECT(cudaErrorInvalidDevice, advise(memory, SIZE, cudaMemAdviseSetPreferredLocation, 99));
    EXPECT(cudaErrorInvalidValue, advise(device, SIZE, cudaMemAdviseSetReadMostly, 0));
    EXPECT(cudaErrorInvalidValue, prefetch(device, SIZE, 0, NULL));
    EXPECT(cudaErrorInvalidValue, prefetch(memory, 0, 0, NULL));
    EXPECT(cudaErrorInvalidValue, prefetch(memory, SIZE + PAGE, 0, NULL));
    EXPECT(cudaErrorInvalidValue, prefetch(NULL, SIZE, 0, NULL));
    EXPECT(cudaErrorInvalidDevice, prefetch(memory, SIZE, 99, NULL));
    EXPECT(cudaErrorInvalidResourceHandle, prefetch(memory, SIZE, 0, (cudaStream_t)0x1230));
    const enum cudaMemRangeAttribute which = cudaMemRangeAttributeReadMostly;
    EXPECT(cudaErrorInvalidValue, cudaMemRangeGetAttribute(NULL, 4, which, memory, SIZE));
    EXPECT(cudaErrorInvalidValue, cudaMemRangeGetAttribute(&value, 8, which, memory, SIZE));
    EXPECT(cudaErrorInvalidValue, cudaMemRangeGetAttribute(&value, 4, which, device, SIZE));
    EXPECT(cudaErrorInvalidValue, cudaMemRangeGetAttribute(&value, 4, which, memory, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaMemRangeGetAttribute(&value, 4, (enum cudaMemRangeAttribute)99, memory, SIZE));
    EXPECT(cudaErrorInvalidValue,
           cudaMemRangeGetAttribute(&value, 3, cudaMemRangeAttributeAccessedBy, memory, SIZE));
    cr_assert(value == 7);
    OK(cudaFree(memory));
    OK(cudaFree(device));
    OK(cudaFreeHost(host));
}
