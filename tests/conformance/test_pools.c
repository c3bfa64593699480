// SPDX-License-Identifier: Apache-2.0
//
// Memory pools: stream order and reuse, attributes, places, access, and sharing between processes.
#include "conformance.h"
#include "processes.h"

#include <unistd.h>

TestSuite(pools, .timeout = 120, .init = kernels_register);

enum { SIZE = 1 << 20 };

static cudaMemPool_t make_pool(enum cudaMemAllocationHandleType types, int device)
{
    struct cudaMemPoolProps props;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.handleTypes = types;
    props.location.type = cudaMemLocationTypeDevice;
    props.location.id = device;
    cudaMemPool_t pool = NULL;
    OK(cudaMemPoolCreate(&pool, &props));
    return pool;
}

static void set(cudaMemPool_t pool, enum cudaMemPoolAttr attribute, int value)
{
    OK(cudaMemPoolSetAttribute(pool, attribute, &value));
}

static unsigned long long wide(cudaMemPool_t pool, enum cudaMemPoolAttr attribute)
{
    unsigned long long value = 0;
    OK(cudaMemPoolGetAttribute(pool, attribute, &value));
    return value;
}

static int first_of(const void *memory)
{
    int value = -1;
    OK(cudaMemcpy(&value, memory, sizeof value, cudaMemcpyDefault));
    return value;
}

// ---- reuse ----

// A stream that is busy until the flag is set.
struct busy {
    cudaStream_t stream;
    int *flag, *out;
};

static struct busy make_busy(void)
{
    struct busy busy;
    OK(cudaStreamCreateWithFlags(&busy.stream, cudaStreamNonBlocking));
    OK(cudaHostAlloc((void **)&busy.flag, 2 * sizeof(int), cudaHostAllocMapped));
    busy.out = busy.flag + 1;
    *busy.flag = 0;
    return busy;
}

static void begin_work(struct busy *busy)
{
    void *arguments[] = {&busy->flag, &busy->out};
    OK(kernel_launch(KERNEL_WAIT_FLAG, 1, 1, arguments, 0, busy->stream));
}

static void end_work(struct busy *busy)
{
    __atomic_store_n(busy->flag, 1, __ATOMIC_SEQ_CST);
    OK(cudaStreamSynchronize(busy->stream));
}

static void drop_busy(struct busy *busy)
{
    OK(cudaStreamDestroy(busy->stream));
    OK(cudaFreeHost(busy->flag));
}

static void *allocate(cudaMemPool_t pool, cudaStream_t stream)
{
    void *memory = NULL;
    OK(cudaMallocFromPoolAsync(&memory, SIZE, pool, stream));
    return memory;
}

KERNEL_TEST(pools, same_stream_reuses_at_once)
{
    struct busy busy = make_busy();
    cudaMemPool_t pool = make_pool(cudaMemHandleTypeNone, 0);
    begin_work(&busy);
    void *first = allocate(pool, busy.stream);
    OK(cudaFreeAsync(first, busy.stream));
    void *second = allocate(pool, busy.stream);
    cr_assert(first == second);
    OK(cudaFreeAsync(second, busy.stream));
    end_work(&busy);
    OK(cudaMemPoolDestroy(pool));
    drop_busy(&busy);
}

KERNEL_TEST(pools, other_streams_reuse_by_policy)
{
    // For every combination of the policies: whether a block that a busy stream freed comes back in
    // another stream, without and with a dependency, and after the free was reached.
    for (int policy = 0; policy < 4; policy++) {
        bool follow = policy & 1, opportunistic = policy & 2;
        for (int depends = 0; depends < 3; depends++) { // no, by one event, through a third stream
            struct busy busy = make_busy();
            cudaStream_t other, third;
            cudaEvent_t event, second;
            cudaMemPool_t pool = make_pool(cudaMemHandleTypeNone, 0);
            set(pool, cudaMemPoolReuseFollowEventDependencies, follow);
            set(pool, cudaMemPoolReuseAllowOpportunistic, opportunistic);
            OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
            OK(cudaStreamCreateWithFlags(&third, cudaStreamNonBlocking));
            OK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
            OK(cudaEventCreateWithFlags(&second, cudaEventDisableTiming));
            OK(cudaEventRecord(event, busy.stream)); // too early to matter
            OK(cudaStreamWaitEvent(other, event, 0));
            begin_work(&busy);
            void *first = allocate(pool, busy.stream);
            OK(cudaFreeAsync(first, busy.stream));
            if (depends == 1) {
                OK(cudaEventRecord(event, busy.stream));
                OK(cudaStreamWaitEvent(other, event, 0));
            } else if (depends == 2) {
                OK(cudaEventRecord(event, busy.stream));
                OK(cudaStreamWaitEvent(third, event, 0));
                OK(cudaEventRecord(second, third));
                OK(cudaStreamWaitEvent(other, second, 0));
            }
            void *now = allocate(pool, other);
            cr_assert((now == first) == (follow && depends), "policy %d, dependency %d", policy,
                      depends);
            OK(cudaFreeAsync(now, other));
            end_work(&busy);
            OK(cudaStreamSynchronize(other));
            OK(cudaStreamSynchronize(third));
            // Nothing orders `third` after the last free of either block.
            void *later = allocate(pool, third);
            cr_assert((later == first || later == now) == opportunistic, "policy %d, dependency %d",
                      policy, depends);
            OK(cudaFreeAsync(later, third));
            OK(cudaMemPoolDestroy(pool));
            OK(cudaStreamSynchronize(third));
            OK(cudaEventDestroy(event));
            OK(cudaEventDestroy(second));
            OK(cudaStreamDestroy(other));
            OK(cudaStreamDestroy(third));
            drop_busy(&busy);
        }
    }
}

Test(pools, the_legacy_stream_is_a_dependency)
{
    cudaStream_t first, second;
    cudaMemPool_t pool = make_pool(cudaMemHandleTypeNone, 0);
    set(pool, cudaMemPoolReuseAllowOpportunistic, 0);
    OK(cudaStreamCreate(&first));
    OK(cudaStreamCreate(&second));
    void *memory = allocate(pool, first);
    OK(cudaFreeAsync(memory, first));
    void *apart = allocate(pool, second);
    cr_assert(apart != memory, "nothing orders the two streams");
    OK(cudaMemsetAsync(apart, 0, 16, cudaStreamLegacy)); // after `first`, before `second`
    OK(cudaMemsetAsync(apart, 0, 16, second));
    void *again = allocate(pool, second);
    cr_assert(again == memory);
    OK(cudaFreeAsync(again, second));
    OK(cudaFreeAsync(apart, second));
    OK(cudaDeviceSynchronize());
    OK(cudaStreamDestroy(first));
    OK(cudaStreamDestroy(second));
    OK(cudaMemPoolDestroy(pool));
}

#if CUDART_VERSION >= 12020 // maxSize
KERNEL_TEST(pools, a_full_pool_adds_dependencies_if_it_may)
{
    for (int allowed = 0; allowed < 2; allowed++) {
        struct busy busy = make_busy();
        struct cudaMemPoolProps props;
        memset(&props, 0, sizeof props);
        props.allocType = cudaMemAllocationTypePinned;
        props.location.type = cudaMemLocationTypeDevice;
        props.maxSize = SIZE;
        cudaMemPool_t pool = NULL;
        cudaStream_t other;
        OK(cudaMemPoolCreate(&pool, &props));
        set(pool, cudaMemPoolReuseAllowInternalDependencies, allowed);
        OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
        void *first = allocate(pool, busy.stream), *second = NULL;
        EXPECT(cudaErrorMemoryAllocation, cudaMallocFromPoolAsync(&second, SIZE, pool, other));
        if (allowed) {
            begin_work(&busy);
            OK(cudaFreeAsync(first, busy.stream));
            second = allocate(pool, other);
            cr_assert(second == first);
            EXPECT(cudaErrorNotReady, cudaStreamQuery(other)); // waits for the free
            end_work(&busy);
            OK(cudaStreamSynchronize(other));
            first = second;
        }
        OK(cudaFreeAsync(first, other));
        OK(cudaStreamSynchronize(other));
        OK(cudaMemPoolDestroy(pool));
        OK(cudaStreamDestroy(other));
        drop_busy(&busy);
    }
}
#endif

Test(pools, counters_and_trimming)
{
    cudaMemPool_t pool = make_pool(cudaMemHandleTypeNone, 0);
    unsigned long long keep = ~0ull, zero = 0, one = 1;
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    void *a = allocate(pool, NULL), *b = allocate(pool, NULL);
    cr_assert(wide(pool, cudaMemPoolAttrUsedMemCurrent) == 2 * SIZE);
    cr_assert(wide(pool, cudaMemPoolAttrReservedMemCurrent) == 2 * SIZE);
    OK(cudaFreeAsync(a, NULL));
    OK(cudaStreamSynchronize(NULL));
    cr_assert(wide(pool, cudaMemPoolAttrUsedMemCurrent) == SIZE);
    cr_assert(wide(pool, cudaMemPoolAttrReservedMemCurrent) == 2 * SIZE);
    cr_assert(wide(pool, cudaMemPoolAttrUsedMemHigh) == 2 * SIZE);
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &one));
    OK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrUsedMemHigh, &zero));
    cr_assert(wide(pool, cudaMemPoolAttrUsedMemHigh) == SIZE);
    OK(cudaMemPoolTrimTo(pool, 2 * SIZE));
    cr_assert(wide(pool, cudaMemPoolAttrReservedMemCurrent) == 2 * SIZE);
    OK(cudaMemPoolTrimTo(pool, 0));
    cr_assert(wide(pool, cudaMemPoolAttrReservedMemCurrent) == SIZE); // `b` is in use
    OK(cudaFree(b));
    OK(cudaMemPoolTrimTo(pool, 0));
    cr_assert(wide(pool, cudaMemPoolAttrReservedMemCurrent) == 0);
    EXPECT(cudaErrorInvalidValue,
           cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReservedMemCurrent, &zero));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAttribute(pool, (enum cudaMemPoolAttr)99, &zero));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolGetAttribute(pool, (enum cudaMemPoolAttr)99, &zero));
    EXPECT(cudaErrorInvalidValue,
           cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, NULL));
    EXPECT(cudaErrorInvalidValue,
           cudaMemPoolGetAttribute(NULL, cudaMemPoolAttrUsedMemCurrent, &zero));
    OK(cudaMemPoolDestroy(pool));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolDestroy(pool));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolTrimTo(pool, 0));
}

Test(pools, allocation_errors)
{
    void *memory = NULL;
    cudaMemPool_t pool = make_pool(cudaMemHandleTypeNone, 0), standard = NULL;
    EXPECT(cudaErrorInvalidValue, cudaMallocAsync(NULL, 16, NULL));
    EXPECT(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&memory, 16, NULL, NULL));
    EXPECT(cudaErrorInvalidValue, cudaMallocFromPoolAsync(NULL, 16, pool, NULL));
    EXPECT(cudaErrorMemoryAllocation, cudaMallocAsync(&memory, (size_t)1 << 50, NULL));
    EXPECT(cudaErrorMemoryAllocation, cudaMallocAsync(&memory, SIZE_MAX, NULL));
    EXPECT(cudaErrorInvalidValue, cudaFreeAsync(NULL, NULL));
    EXPECT(cudaErrorInvalidValue, cudaFreeAsync(&memory, NULL));
    OK(cudaMallocAsync(&memory, 512, NULL));
    EXPECT(cudaErrorInvalidValue, cudaFreeAsync((char *)memory + 256, NULL));
    EXPECT(cudaErrorInvalidValue, cudaFreeHost(memory));
    OK(cudaFreeAsync(memory, NULL));
    EXPECT(cudaErrorInvalidValue, cudaFreeAsync(memory, NULL));
    OK(cudaDeviceGetDefaultMemPool(&standard, 0));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolDestroy(standard));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetDefaultMemPool(&standard, 99));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetMemPool(&standard, -1));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetMemPool(NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaDeviceSetMemPool(0, NULL));
    OK(cudaDeviceSetMemPool(0, pool));
    cudaMemPool_t current = NULL;
    OK(cudaDeviceGetMemPool(&current, 0));
    cr_assert(current == pool);
    OK(cudaMemPoolDestroy(pool)); // the default pool is current again
    OK(cudaDeviceGetMemPool(&current, 0));
    cr_assert(current == standard);
}

Test(pools, properties_that_there_are_not)
{
    struct cudaMemPoolProps props, good;
    cudaMemPool_t pool = NULL;
    memset(&good, 0, sizeof good);
    good.allocType = cudaMemAllocationTypePinned;
    good.location.type = cudaMemLocationTypeDevice;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(NULL, &good));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, NULL));
    props = good;
    props.allocType = (enum cudaMemAllocationType)0;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props = good;
    props.location.id = 99;
    EXPECT(cudaErrorInvalidDevice, cudaMemPoolCreate(&pool, &props));
    props = good;
    props.location.type = (enum cudaMemLocationType)77;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props = good;
    props.reserved[sizeof props.reserved - 1] = 1;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props = good;
    props.handleTypes = (enum cudaMemAllocationHandleType)0x40;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props));
    props.handleTypes = cudaMemHandleTypeWin32;
    EXPECT(cudaErrorNotSupported, cudaMemPoolCreate(&pool, &props));
    cr_assert(pool == NULL);
}

// ---- access ----

Test(pools, access_of_devices)
{
    if (device_count() < 2) {
        cr_skip_test("one device");
    }
    cudaMemPool_t pool = make_pool(cudaMemHandleTypeNone, 0);
    struct cudaMemLocation here, there;
    enum cudaMemAccessFlags flags;
    memset(&here, 0, sizeof here);
    here.type = cudaMemLocationTypeDevice;
    there = here;
    there.id = 1;
    OK(cudaMemPoolGetAccess(&flags, pool, &here));
    cr_assert(flags == cudaMemAccessFlagsProtReadWrite);
    OK(cudaMemPoolGetAccess(&flags, pool, &there));
    cr_assert(flags == cudaMemAccessFlagsProtNone);
    struct cudaMemAccessDesc list[2] = {
        {.location = there, .flags = cudaMemAccessFlagsProtReadWrite},
        {.location = here, .flags = cudaMemAccessFlagsProtNone}};
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAccess(pool, list, 2)); // not the owner's
    OK(cudaMemPoolGetAccess(&flags, pool, &there));
    cr_assert(flags == cudaMemAccessFlagsProtNone, "nothing happened");
    OK(cudaMemPoolSetAccess(pool, list, 1));
    OK(cudaMemPoolGetAccess(&flags, pool, &there));
    cr_assert(flags == cudaMemAccessFlagsProtReadWrite);
    list[0].flags = cudaMemAccessFlagsProtNone;
    OK(cudaMemPoolSetAccess(pool, list, 1));
    OK(cudaMemPoolGetAccess(&flags, pool, &there));
    cr_assert(flags == cudaMemAccessFlagsProtNone);
    list[0].location.id = 99;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAccess(pool, list, 1));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAccess(pool, NULL, 1));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolSetAccess(NULL, list, 1));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolGetAccess(NULL, pool, &here));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolGetAccess(&flags, pool, NULL));
    // Copies between devices need no access.
    int value = 31;
    void *from = allocate(pool, NULL), *to = NULL;
    OK(cudaMemcpy(from, &value, sizeof value, cudaMemcpyHostToDevice));
    OK(cudaSetDevice(1));
    OK(cudaMalloc(&to, SIZE));
    OK(cudaMemcpyPeer(to, 1, from, 0, sizeof value));
    cr_assert(first_of(to) == 31);
    OK(cudaFree(to));
    OK(cudaSetDevice(0));
    OK(cudaFreeAsync(from, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaMemPoolDestroy(pool));
}

// ---- places ----

#if CUDART_VERSION >= 13000
Test(pools, pools_of_every_place, .data = NEEDS("kernels managed"))
{
    static const struct {
        enum cudaMemLocationType location;
        enum cudaMemAllocationType type;
        enum cudaMemoryType memory;
    } cases[] = {
        {cudaMemLocationTypeDevice, cudaMemAllocationTypePinned, cudaMemoryTypeDevice},
        {cudaMemLocationTypeHost, cudaMemAllocationTypePinned, cudaMemoryTypeHost},
        {cudaMemLocationTypeHostNuma, cudaMemAllocationTypePinned, cudaMemoryTypeHost},
        {cudaMemLocationTypeDevice, cudaMemAllocationTypeManaged, cudaMemoryTypeManaged},
        {cudaMemLocationTypeHost, cudaMemAllocationTypeManaged, cudaMemoryTypeManaged},
        {cudaMemLocationTypeHostNuma, cudaMemAllocationTypeManaged, cudaMemoryTypeManaged},
        {cudaMemLocationTypeNone, cudaMemAllocationTypeManaged, cudaMemoryTypeManaged},
    };
    cudaMemPool_t seen[LENGTH(cases)];
    for (size_t i = 0; i < LENGTH(cases); i++) {
        struct cudaMemLocation location = {.type = cases[i].location};
        cudaMemPool_t standard = NULL, current = NULL, own = NULL;
        OK(cudaMemGetDefaultMemPool(&standard, &location, cases[i].type));
        OK(cudaMemGetMemPool(&current, &location, cases[i].type));
        cr_assert(standard && standard == current, "case %zu", i);
        seen[i] = standard;
        for (size_t j = 0; j < i; j++) {
            cr_assert(seen[j] != standard);
        }
        struct cudaMemPoolProps props = {.allocType = cases[i].type, .location = location};
        OK(cudaMemPoolCreate(&own, &props));
        OK(cudaMemSetMemPool(&location, cases[i].type, own));
        OK(cudaMemGetMemPool(&current, &location, cases[i].type));
        cr_assert(current == own);
        OK(cudaMemGetDefaultMemPool(&current, &location, cases[i].type));
        cr_assert(current == standard);
        // What comes out of it.
        int *memory = NULL, value = 12, n = 100;
        OK(cudaMallocFromPoolAsync((void **)&memory, SIZE, own, NULL));
        struct cudaPointerAttributes attributes;
        OK(cudaPointerGetAttributes(&attributes, memory));
        cr_assert(attributes.type == cases[i].memory, "case %zu: type %d", i, (int)attributes.type);
        void *arguments[] = {&memory, &value, &n};
        OK(kernel_launch(KERNEL_FILL, 1, 128, arguments, 0, NULL));
        OK(cudaDeviceSynchronize());
        cr_assert(first_of(memory) == 12);
        if (cases[i].memory != cudaMemoryTypeDevice) {
            cr_assert(memory[99] == 12, "the host reads it");
        }
        EXPECT(cudaErrorInvalidValue, cudaFreeHost(memory));
        OK(cudaFreeAsync(memory, NULL));
        EXPECT(cudaErrorInvalidValue, cudaFreeAsync(memory, NULL));
        int *again = NULL;
        OK(cudaMallocFromPoolAsync((void **)&again, SIZE, own, NULL));
        cr_assert(again == memory);
        OK(cudaFree(again));
        // A pool of one place is not the current one of another.
        struct cudaMemLocation wrong = {.type = cudaMemLocationTypeDevice, .id = 1};
        if (device_count() > 1) {
            EXPECT(i == 0 ? cudaErrorInvalidValue : cudaErrorInvalidValue,
                   cudaMemSetMemPool(&wrong, cases[i].type, own));
        }
        if (i > 0) {
            EXPECT(cudaErrorInvalidValue, cudaDeviceSetMemPool(0, own));
        }
        OK(cudaMemPoolDestroy(own));
        OK(cudaMemGetMemPool(&current, &location, cases[i].type));
        cr_assert(current == standard);
        EXPECT(cudaErrorInvalidValue, cudaMemPoolDestroy(standard));
    }
    cudaMemPool_t pool, by_device;
    struct cudaMemLocation location = {.type = cudaMemLocationTypeDevice};
    OK(cudaDeviceGetDefaultMemPool(&by_device, 0));
    cr_assert(seen[0] == by_device);
    EXPECT(cudaErrorInvalidValue, cudaMemGetMemPool(NULL, &location, cudaMemAllocationTypePinned));
    EXPECT(cudaErrorInvalidValue, cudaMemGetMemPool(&pool, NULL, cudaMemAllocationTypePinned));
    EXPECT(cudaErrorInvalidValue,
           cudaMemGetMemPool(&pool, &location, cudaMemAllocationTypeInvalid));
    location.type = cudaMemLocationTypeNone;
    EXPECT(cudaErrorInvalidValue, cudaMemGetMemPool(&pool, &location, cudaMemAllocationTypePinned));
    location.type = cudaMemLocationTypeHostNumaCurrent;
    EXPECT(cudaErrorInvalidValue, cudaMemGetMemPool(&pool, &location, cudaMemAllocationTypePinned));
    location = (struct cudaMemLocation){.type = cudaMemLocationTypeHostNuma, .id = 4000};
    EXPECT(cudaErrorInvalidValue, cudaMemGetMemPool(&pool, &location, cudaMemAllocationTypePinned));
    struct cudaMemPoolProps props = {.allocType = cudaMemAllocationTypePinned,
                                     .handleTypes = cudaMemHandleTypePosixFileDescriptor,
                                     .location = {.type = cudaMemLocationTypeHost}};
    EXPECT(cudaErrorInvalidValue, cudaMemPoolCreate(&pool, &props)); // "must be 0"
}
#endif

// ---- several processes ----

// Gets a pool by file descriptor, then pointers; adds one and frees in each of both ways.
ROLE(user)
{
    kernels_register();
    struct message m = process_receive();
    CHECK(m.fd >= 0);
    cudaMemPool_t pool = NULL;
    void *handle = (void *)(uintptr_t)m.fd;
    CHECK_OK(cudaMemPoolImportFromShareableHandle(&pool, handle,
                                                  cudaMemHandleTypePosixFileDescriptor, 0));
    close(m.fd);
    void *own = NULL;
    CHECK_CODE(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&own, 16, pool, NULL));
    CHECK_CODE(cudaErrorInvalidValue, cudaMallocFromPoolAsync(&own, 0, pool, NULL));
    CHECK_CODE(cudaErrorInvalidValue, cudaDeviceSetMemPool(0, pool));
    int fd = -1;
    CHECK_CODE(cudaErrorInvalidValue, cudaMemPoolExportToShareableHandle(
                                          &fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    CHECK(fd == -1);
    for (int turn = 0;; turn++) {
        m = process_receive();
        struct cudaMemPoolPtrExportData data, wrong;
        if (m.size != sizeof data) {
            break;
        }
        memcpy(&data, m.bytes, sizeof data);
        int *memory = NULL, n = SIZE / (int)sizeof(int);
        wrong = data;
        wrong.reserved[20] ^= 1;
        CHECK_CODE(cudaErrorInvalidValue, cudaMemPoolImportPointer((void **)&memory, pool, &wrong));
        CHECK_OK(cudaMemPoolImportPointer((void **)&memory, pool, &data));
        struct cudaPointerAttributes attributes;
        CHECK_OK(cudaPointerGetAttributes(&attributes, memory));
        CHECK(attributes.type == cudaMemoryTypeDevice);
        void *arguments[] = {&memory, &n};
        CHECK_OK(kernel_launch(KERNEL_ADD_ONE, SIZE / 4 / 256, 256, arguments, 0, NULL));
        CHECK_CODE(cudaErrorInvalidValue, cudaMemPoolExportPointer(&wrong, memory));
        CHECK_CODE(cudaErrorInvalidValue, cudaIpcCloseMemHandle(memory));
        if (turn % 2) {
            CHECK_OK(cudaFreeAsync(memory, NULL));
            CHECK_OK(cudaStreamSynchronize(NULL));
        } else {
            CHECK_OK(cudaDeviceSynchronize());
            CHECK_OK(cudaFree(memory));
        }
        CHECK_CODE(cudaErrorInvalidValue, cudaFree(memory));
        process_answer("done", 4);
    }
    CHECK_OK(cudaMemPoolDestroy(pool));
}

Test(pools, sharing_with_another_process, .data = NEEDS("kernels pool_sharing"))
{
    cudaMemPool_t pool = make_pool(cudaMemHandleTypePosixFileDescriptor, 0);
    size_t before = 0, total = 0, after = 0;
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, NULL)); // loads the module's variables
    OK(cudaMemGetInfo(&before, &total));
    struct process child = process_start("user");
    int fd = -1;
    OK(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor, 0));
    process_send(&child, "pool", 4, fd);
    close(fd);
    int *memory[4];
    for (size_t i = 0; i < LENGTH(memory); i++) {
        memory[i] = allocate(pool, NULL);
        int value = 100 * (int)i, n = SIZE / (int)sizeof(int);
        void *arguments[] = {&memory[i], &value, &n};
        OK(kernel_launch(KERNEL_FILL, SIZE / 4 / 256, 256, arguments, 0, NULL));
    }
    OK(cudaDeviceSynchronize());
    for (size_t i = 0; i < LENGTH(memory); i++) {
        struct cudaMemPoolPtrExportData data;
        OK(cudaMemPoolExportPointer(&data, memory[i]));
        process_send(&child, &data, sizeof data, -1);
        process_hear(&child);
        cr_assert(first_of(memory[i]) == 100 * (int)i + 1);
        cr_assert(first_of(memory[i] + SIZE / 4 - 1) == 100 * (int)i + 1);
    }
    process_send(&child, "end", 3, -1);
    process_finish(&child);
    for (size_t i = 0; i < LENGTH(memory); i++) {
        OK(cudaFreeAsync(memory[i], NULL));
    }
    OK(cudaDeviceSynchronize());
    OK(cudaMemPoolTrimTo(pool, 0));
    OK(cudaMemGetInfo(&after, &total));
    cr_assert(before == after, "%zu, then %zu", before, after);
    OK(cudaMemPoolDestroy(pool));
}

Test(pools, sharing_errors, .data = NEEDS("pool_sharing"))
{
    cudaMemPool_t pool = make_pool(cudaMemHandleTypePosixFileDescriptor, 0), imported = NULL,
                  plain = make_pool(cudaMemHandleTypeNone, 0);
    const enum cudaMemAllocationHandleType file = cudaMemHandleTypePosixFileDescriptor;
    struct cudaMemPoolPtrExportData data;
    int fd = -1;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolExportToShareableHandle(NULL, pool, file, 0));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolExportToShareableHandle(&fd, NULL, file, 0));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolExportToShareableHandle(&fd, pool, file, 1));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolExportToShareableHandle(&fd, plain, file, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypeNone, 0));
    EXPECT(cudaErrorNotSupported,
           cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypeWin32, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaMemPoolImportFromShareableHandle(&imported, (void *)(uintptr_t)0x7fffff, file, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaMemPoolImportFromShareableHandle(&imported, (void *)(intptr_t)-1, file, 0));
    int pipes[2];
    cr_assert(pipe(pipes) == 0);
    EXPECT(cudaErrorInvalidValue,
           cudaMemPoolImportFromShareableHandle(&imported, (void *)(uintptr_t)pipes[0], file, 0));
    OK(cudaMemPoolExportToShareableHandle(&fd, pool, file, 0));
    void *handle = (void *)(uintptr_t)fd;
    EXPECT(cudaErrorInvalidValue, cudaMemPoolImportFromShareableHandle(NULL, handle, file, 0));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolImportFromShareableHandle(&imported, handle, file, 4));
    EXPECT(cudaErrorNotSupported,
           cudaMemPoolImportFromShareableHandle(&imported, handle, cudaMemHandleTypeWin32Kmt, 0));
    OK(cudaMemPoolImportFromShareableHandle(&imported, handle, file, 0)); // this process's own
    close(fd);
    void *memory = allocate(pool, NULL), *other = allocate(plain, NULL), *mapped = NULL;
    OK(cudaMemset(memory, 8, SIZE));
    OK(cudaMemPoolExportPointer(&data, memory));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolExportPointer(NULL, memory));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolExportPointer(&data, NULL));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolExportPointer(&data, other));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolExportPointer(&data, (char *)memory + 4096));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolImportPointer(NULL, imported, &data));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolImportPointer(&mapped, imported, NULL));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolImportPointer(&mapped, pool, &data));
    EXPECT(cudaErrorInvalidValue, cudaMemPoolImportPointer(&mapped, NULL, &data));
    OK(cudaMemPoolImportPointer(&mapped, imported, &data));
    cr_assert(mapped != memory && first_of(mapped) == 0x08080808);
    OK(cudaMemPoolDestroy(imported));
    cr_assert(first_of(mapped) == 0x08080808, "mapped memory outlives the pool");
    OK(cudaFree(mapped));
    OK(cudaFreeAsync(memory, NULL));
    OK(cudaFreeAsync(other, NULL));
    OK(cudaDeviceSynchronize());
    OK(cudaMemPoolDestroy(pool));
    OK(cudaMemPoolDestroy(plain));
    close(pipes[0]);
    close(pipes[1]);
}

PLAY_ROLES()
