// SPDX-License-Identifier: Apache-2.0
//
// Stream-ordered allocation and pools on the deferred backend: which memory may be used again when,
// what is waited for, what goes back, attributes, and the life of pools.
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) EXPECT(cudaSuccess, call)
#define EXPECT(code, call)                                             \
    do {                                                               \
        cudaError_t got_ = (call);                                     \
        cr_assert(got_ == (code), "%s answered %d", #call, (int)got_); \
    } while (0)

enum { SIZE = 100000, BIG = 40 << 20 };

static cudaStream_t one, two; // non-blocking
static cudaMemPool_t pool;    // the default one
static unsigned (*violations)(void);
static unsigned (*allocations)(void);

static void prepare(void)
{
    OK(cudaStreamCreateWithFlags(&one, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&two, cudaStreamNonBlocking));
    OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    char path[1024];
    snprintf(path, sizeof path, "%s/libirt-cpu.so", getenv("INFINIRT_BACKEND_PATH"));
    void *fake = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    cr_assert(fake != NULL);
    *(void **)&violations = dlsym(fake, "deferred_violations");
    *(void **)&allocations = dlsym(fake, "deferred_allocations");
}

static void check(void)
{
    cr_assert(violations() == 0, "the backend saw %u violations", violations());
}

TestSuite(pool, .timeout = 20, .init = prepare, .fini = check);

static uint64_t attribute(cudaMemPool_t of, enum cudaMemPoolAttr which)
{
    uint64_t value = 77;
    OK(cudaMemPoolGetAttribute(of, which, &value));
    return value;
}

Test(pool, the_same_stream_reuses_at_once)
{
    void *a, *b, *c;
    OK(cudaMallocAsync(&a, SIZE, one));
    OK(cudaMemsetAsync(a, 1, SIZE, one));
    OK(cudaFreeAsync(a, one));
    OK(cudaMallocAsync(&b, SIZE - 100, one)); // the same size class
    cr_assert(b == a && cudaStreamQuery(one) == cudaErrorNotReady);
    OK(cudaMallocAsync(&c, SIZE, one));
    cr_assert(c != b);
    EXPECT(cudaErrorInvalidValue, cudaMemset(b, 0, SIZE)); // longer than asked for
    OK(cudaFreeAsync(b, one));
    OK(cudaFreeAsync(c, one));
}

Test(pool, another_stream_reuses_after_completion)
{
    void *a, *b, *c;
    OK(cudaMallocAsync(&a, SIZE, one));
    OK(cudaMemsetAsync(a, 1, SIZE, one));
    OK(cudaFreeAsync(a, one));
    OK(cudaMallocAsync(&b, SIZE, two));
    cr_assert(b != a);
    OK(cudaStreamSynchronize(one));
    OK(cudaMallocAsync(&c, SIZE, two));
    cr_assert(c == a);
    OK(cudaFreeAsync(b, two));
    OK(cudaFreeAsync(c, two));
}

Test(pool, opportunistic_reuse_can_be_switched_off)
{
    void *a, *b;
    int off = 0, value = 9;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &off));
    OK(cudaMemPoolGetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &value));
    cr_assert(value == 0);
    OK(cudaMallocAsync(&a, SIZE, one));
    OK(cudaMemsetAsync(a, 1, SIZE, one));
    OK(cudaFreeAsync(a, one));
    OK(cudaStreamSynchronize(one));
    OK(cudaMallocAsync(&b, SIZE, two));
    cr_assert(b != a);
    OK(cudaFreeAsync(b, two));
}

// Memory that another stream has yet to leave is taken with a wait between the streams.
Test(pool, short_memory_makes_dependencies)
{
    char *a, *b, *seen;
    OK(cudaMallocHost((void **)&seen, 1));
    OK(cudaMallocAsync((void **)&a, BIG, one));
    OK(cudaMemsetAsync(a, 0x11, 1, one));
    OK(cudaMemcpyAsync(seen, a, 1, cudaMemcpyDeviceToHost, one));
    OK(cudaFreeAsync(a, one));
    OK(cudaMallocAsync((void **)&b, BIG, two));
    cr_assert(b == a && *seen != 0x11, "the host did not wait");
    OK(cudaMemsetAsync(b, 0x22, 1, two));
    OK(cudaStreamSynchronize(two));
    cr_assert(*seen == 0x11, "the first stream's work came before the second's");
    OK(cudaFreeAsync(b, two));
}

Test(pool, short_memory_gives_cached_blocks_back)
{
    void *a, *b, *c;
    OK(cudaMallocAsync(&a, BIG, one));
    OK(cudaMemsetAsync(a, 0x11, 1, one));
    OK(cudaFreeAsync(a, one));
    OK(cudaMallocAsync(&b, BIG / 2 + BIG / 4, two)); // another class: the pending block must go
    OK(cudaFreeAsync(b, two));
    OK(cudaMalloc(&c, BIG)); // cudaMalloc, too, takes what the pool keeps
    OK(cudaFree(c));
    EXPECT(cudaErrorMemoryAllocation, cudaMallocAsync(&a, (size_t)1 << 40, one));
    EXPECT(cudaErrorMemoryAllocation, cudaMallocAsync(&a, SIZE_MAX, one));
}

Test(pool, accounts)
{
    void *a, *b;
    uint64_t zero = 0, one_byte = 1, threshold = UINT64_MAX;
    size_t before, during, after, total;
    OK(cudaMemGetInfo(&before, &total));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
    OK(cudaMallocAsync(&a, SIZE, one));
    OK(cudaMallocAsync(&b, SIZE, one));
    uint64_t used = attribute(pool, cudaMemPoolAttrUsedMemCurrent);
    cr_assert(used >= 2 * SIZE && used <= 3 * SIZE);
    cr_assert(attribute(pool, cudaMemPoolAttrReservedMemCurrent) >= used);
    OK(cudaFreeAsync(a, one));
    OK(cudaFreeAsync(b, one));
    OK(cudaStreamSynchronize(one));
    cr_assert(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
    cr_assert(attribute(pool, cudaMemPoolAttrUsedMemHigh) == used);
    cr_assert(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == used, "kept by the threshold");
    OK(cudaMemGetInfo(&during, &total));
    cr_assert(during == before - used);
    OK(cudaMemPoolTrimTo(pool, used / 2));
    cr_assert(attribute(pool, cudaMemPoolAttrReservedMemCurrent) == used / 2);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &zero));
    OK(cudaMemGetInfo(&after, &total));
    cr_assert(after == before && attribute(pool, cudaMemPoolAttrReservedMemCurrent) == 0);
    cr_assert(attribute(pool, cudaMemPoolAttrReservedMemHigh) == used);
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemHigh, &zero));
    cr_assert(attribute(pool, cudaMemPoolAttrReservedMemHigh) == 0);
    EXPECT(cudaErrorInvalidValue,
           cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one_byte));
    EXPECT(cudaErrorInvalidValue,
           cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &zero));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, 0x40, &zero));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolGetAttribute(pool, 0x40, &zero));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolGetAttribute(NULL, cudaMemPoolAttrUsedMemHigh, &zero));
}

static cudaMemPool_t create(int device, size_t max_size)
{
    struct cudaMemPoolProps props;
    cudaMemPool_t made = NULL;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    props.maxSize = max_size;
    OK(cudaMemPoolCreate(&made, &props));
    return made;
}

Test(pool, life_of_a_pool)
{
    void *a, *b;
    cudaMemPool_t mine = create(0, 1 << 20), current = NULL;
    unsigned before = allocations();
    cr_assert(attribute(mine, 0xd) == 1 << 20, "the largest size, asked for as CUDA 13.1 does");
    int location[2] = {77, 77};
    OK(cudaMemPoolGetAttribute(mine, 0xb, location));
    cr_assert(location[0] == 0 && location[1] == 77, "32 bits are written");
    OK(cudaMallocFromPoolAsync(&a, SIZE, mine, one));
    EXPECT(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&b, 1 << 20, mine, one));
    OK(cudaDeviceSetMemPool(0, mine));
    OK(cudaDeviceGetMemPool(&current, 0));
    cr_assert(current == mine);
    OK(cudaMallocAsync(&b, SIZE, one));
    cr_assert(attribute(mine, cudaMemPoolAttrUsedMemCurrent) >= 2 * SIZE);
    cr_assert(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
    OK(cudaMemsetAsync(b, 1, SIZE, one));
    OK(cudaFreeAsync(b, one));
    OK(cudaMemPoolDestroy(mine));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolDestroy(mine));
    EXPECT(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&b, SIZE, mine, one));
    OK(cudaDeviceGetMemPool(&current, 0));
    cr_assert(current == pool, "the default pool is current again");
    OK(cudaMemsetAsync(a, 1, SIZE, one)); // still the application's
    OK(cudaFreeAsync(a, one));
    OK(cudaStreamSynchronize(one));
    size_t free_bytes, total;
    OK(cudaMemGetInfo(&free_bytes, &total));
    cr_assert(allocations() == before, "%u allocations left", allocations() - before);
    EXPECT(cudaErrorInvalidValue, cudaMemPoolDestroy(pool));
}

Test(pool, devices_and_access)
{
    cudaMemPool_t other = create(1, 0);
    struct cudaMemAccessDesc access = {.location.type = cudaMemLocationTypeDevice,
                                       .flags = cudaMemAccessFlagsProtReadWrite};
    enum cudaMemAccessFlags flags = 7;
    void *p;
    access.location.id = 0;
    EXPECT(cudaErrorInvalidDevice, cudaDeviceSetMemPool(0, other));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceSetMemPool(2, other));
    OK(cudaMemPoolGetAccess(&flags, other, &access.location));
    cr_assert(flags == cudaMemAccessFlagsProtNone);
    OK(cudaMemPoolSetAccess(other, &access, 1));
    OK(cudaMemPoolGetAccess(&flags, other, &access.location));
    cr_assert(flags == cudaMemAccessFlagsProtReadWrite);
    access.location.id = 1;
    access.flags = cudaMemAccessFlagsProtNone;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAccess(other, &access, 1));
    access.location.id = 5;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAccess(other, &access, 1));
    // Memory of device 1 for a stream of device 0, then for one of device 1.
    struct cudaPointerAttributes attributes;
    OK(cudaMallocFromPoolAsync(&p, SIZE, other, one));
    OK(cudaPointerGetAttributes(&attributes, p));
    cr_assert(attributes.device == 1 && attributes.type == cudaMemoryTypeDevice);
    OK(cudaMemsetAsync(p, 1, SIZE, one));
    OK(cudaFreeAsync(p, one));
    cudaStream_t there;
    OK(cudaSetDevice(1));
    OK(cudaStreamCreateWithFlags(&there, cudaStreamNonBlocking));
    OK(cudaMallocFromPoolAsync(&p, SIZE, other, there));
    OK(cudaMemsetAsync(p, 1, SIZE, there));
    OK(cudaFreeAsync(p, there));
    OK(cudaDeviceSynchronize());
    OK(cudaMemPoolDestroy(other));
}

Test(pool, wrong_properties)
{
    struct cudaMemPoolProps props;
    cudaMemPool_t made;
    memset(&props, 0, sizeof props);
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&made, &props));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&made, NULL));
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(NULL, &props));
    props.location.id = 2;
    EXPECT(cudaErrorInvalidDevice, cudaMemPoolCreate(&made, &props));
    props.location.id = 0;
    props.reserved[3] = 1;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&made, &props));
    props.reserved[3] = 0;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    EXPECT(cudaErrorNotSupported, cudaMemPoolCreate(&made, &props));
}

Test(pool, reset)
{
    void *a, *b;
    OK(cudaMallocAsync(&a, SIZE, one));
    OK(cudaMallocAsync(&b, SIZE, one));
    OK(cudaFreeAsync(b, one));
    OK(cudaDeviceReset());
    cr_assert(allocations() == 0, "%u left", allocations());
    EXPECT(cudaErrorInvalidValue, cudaFree(a));
    cudaMemPool_t again = NULL;
    OK(cudaDeviceGetDefaultMemPool(&again, 0));
    OK(cudaMallocAsync(&a, SIZE, 0));
    OK(cudaFreeAsync(a, 0));
}

Test(pool, plain_memory_in_stream_order_and_the_reverse)
{
    char *a, *seen;
    unsigned before = allocations();
    OK(cudaMallocHost((void **)&seen, 1));
    OK(cudaMalloc((void **)&a, SIZE));
    OK(cudaMemsetAsync(a, 0x11, SIZE, one));
    OK(cudaMemcpyAsync(seen, a, 1, cudaMemcpyDeviceToHost, one));
    OK(cudaFreeAsync(a, one));
    EXPECT(cudaErrorInvalidValue, cudaFree(a));
    OK(cudaStreamSynchronize(one));
    cr_assert(*seen == 0x11 && allocations() == before + 1);
    OK(cudaMallocAsync((void **)&a, SIZE, one));
    OK(cudaStreamSynchronize(one));
    OK(cudaFree(a));
    cr_assert(attribute(pool, cudaMemPoolAttrUsedMemCurrent) == 0);
    EXPECT(cudaErrorInvalidValue, cudaFreeAsync(seen, one));
    EXPECT(cudaErrorInvalidResourceHandle, cudaMallocAsync((void **)&a, 16, (cudaStream_t)&a));
}
