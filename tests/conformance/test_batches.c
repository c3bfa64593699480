// SPDX-License-Identifier: Apache-2.0
//
// Copies with attributes (12.8 and later), batches of prefetches and discards, where memory is, and
// the queries about atomic operations and notifications that came with them.
#include "conformance.h"

TestSuite(batches, .timeout = 60);

#if CUDART_VERSION >= 12080

// One call for both signatures; `fail` stays as it is where the function does not report it.
static cudaError_t copy_batch(void **dsts, void **srcs, size_t *sizes, size_t count,
                              struct cudaMemcpyAttributes *attributes, size_t *indices,
                              size_t attribute_count, size_t *fail, cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
    (void)fail;
    return cudaMemcpyBatchAsync((void *const *)dsts, (const void *const *)srcs, sizes, count,
                                attributes, indices, attribute_count, stream);
#else
    return cudaMemcpyBatchAsync(dsts, srcs, sizes, count, attributes, indices, attribute_count,
                                fail, stream);
#endif
}

static cudaError_t copy_batch_3d(size_t count, struct cudaMemcpy3DBatchOp *ops, size_t *fail,
                                 unsigned long long flags, cudaStream_t stream)
{
#if CUDART_VERSION >= 13000
    (void)fail;
    return cudaMemcpy3DBatchAsync(count, ops, flags, stream);
#else
    return cudaMemcpy3DBatchAsync(count, ops, fail, flags, stream);
#endif
}

static void expect_fail(size_t got, size_t wanted)
{
#if CUDART_VERSION < 13000
    cr_assert(got == wanted, "failIdx is %zu, expected %zu", got, wanted);
#else
    (void)got, (void)wanted;
#endif
}

Test(batches, every_order_of_source_access)
{
    enum { COUNT = 6, SIZE = 5000 };
    static unsigned char in[COUNT][SIZE], out[COUNT][SIZE];
    cudaStream_t stream;
    void *device[COUNT], *srcs[COUNT], *back[COUNT];
    size_t sizes[COUNT], fail = 7;
    struct cudaMemcpyAttributes attributes[3] = {
        {.srcAccessOrder = cudaMemcpySrcAccessOrderStream},
        {.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall,
         .flags = cudaMemcpyFlagPreferOverlapWithCompute},
        {.srcAccessOrder = cudaMemcpySrcAccessOrderAny}};
    size_t indices[3] = {0, 2, 3};
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < COUNT; i++) {
        sizes[i] = i == 4 ? 0 : (size_t)(SIZE - 1 - i);
        OK(cudaMalloc(&device[i], SIZE));
        for (int j = 0; j < SIZE; j++) {
            in[i][j] = (unsigned char)(i * 31 + j);
        }
        srcs[i] = in[i];
        back[i] = out[i];
    }
    OK(copy_batch(device, srcs, sizes, COUNT, attributes, indices, 3, &fail, stream));
    expect_fail(fail, SIZE_MAX);
    OK(copy_batch(back, device, sizes, COUNT, attributes, indices, 1, &fail, stream));
    OK(cudaStreamSynchronize(stream));
    for (int i = 0; i < COUNT; i++) {
        cr_assert(memcmp(in[i], out[i], sizes[i]) == 0, "copy %d", i);
        cr_assert(out[i][sizes[i]] == 0, "copy %d is too long", i);
        OK(cudaFree(device[i]));
    }
    OK(cudaStreamDestroy(stream));
}

// Holds a stream until `flag` is set.
static void CUDART_CB hold(void *flag)
{
    while (*(volatile int *)flag == 0) {
    }
}

Test(batches, sources_are_read_when_the_order_says)
{
    cudaStream_t stream;
    volatile int flag = 0;
    int source[2] = {1, 1}, back[2] = {0, 0};
    void *device[2], *srcs[2] = {&source[0], &source[1]};
    size_t sizes[2] = {sizeof(int), sizeof(int)}, fail;
    struct cudaMemcpyAttributes attributes[2] = {
        {.srcAccessOrder = cudaMemcpySrcAccessOrderStream},
        {.srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall}};
    size_t indices[2] = {0, 1};
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&device[0], sizeof(int)));
    OK(cudaMalloc(&device[1], sizeof(int)));
    OK(cudaLaunchHostFunc(stream, hold, (void *)&flag));
    OK(copy_batch(device, srcs, sizes, 2, attributes, indices, 2, &fail, stream));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    source[0] = source[1] = 2;
    flag = 1;
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&back[0], device[0], sizeof(int), cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(&back[1], device[1], sizeof(int), cudaMemcpyDeviceToHost));
    cr_assert(back[0] == 2, "read in stream order: %d", back[0]);
    cr_assert(back[1] == 1, "read during the call: %d", back[1]);
}

// Captured, a batch is a copy after the other.
Test(batches, captured)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    int *in, *out, device_value = 0;
    void *device[2], *pinned[2], *back[2];
    size_t sizes[2] = {sizeof(int), sizeof(int)}, index = 0, fail;
    struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&in, 2 * sizeof(int)));
    OK(cudaMallocHost((void **)&out, 2 * sizeof(int)));
    for (int i = 0; i < 2; i++) {
        OK(cudaMalloc(&device[i], sizeof(int)));
        OK(cudaMemset(device[i], 0, sizeof(int)));
        pinned[i] = in + i;
        back[i] = out + i;
        in[i] = out[i] = 0;
    }
    OK(cudaDeviceSynchronize());
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    OK(copy_batch(device, pinned, sizes, 2, &attributes, &index, 1, &fail, stream));
    OK(copy_batch(back, device, sizes, 2, &attributes, &index, 1, &fail, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaMemcpy(&device_value, device[0], sizeof(int), cudaMemcpyDeviceToHost));
    cr_assert(device_value == 0, "nothing has run");
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    in[0] = 11;
    in[1] = 12;
    OK(cudaGraphLaunch(exec, stream));
    OK(cudaStreamSynchronize(stream));
    cr_assert(out[0] == 11 && out[1] == 12, "%d %d", out[0], out[1]);
}

Test(batches, errors_and_nothing_done)
{
    enum { SIZE = 64 };
    cudaStream_t stream;
    char in[SIZE] = "new", out[SIZE] = "";
    void *device, *other;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMalloc(&device, SIZE));
    OK(cudaMalloc(&other, SIZE));
    OK(cudaMemset(device, 'o', SIZE));
    void *dsts[3] = {device, other, device}, *srcs[3] = {in, in, in};
    size_t sizes[3] = {SIZE, SIZE, SIZE}, indices[3] = {0, 1, 2}, fail = 3;
    struct cudaMemcpyAttributes good[3], bad[3];
    for (int i = 0; i < 3; i++) {
        good[i] = (struct cudaMemcpyAttributes){.srcAccessOrder = cudaMemcpySrcAccessOrderAny};
    }
    const cudaError_t invalid = cudaErrorInvalidValue;

    EXPECT(invalid, copy_batch(NULL, srcs, sizes, 2, good, indices, 1, &fail, stream));
    expect_fail(fail, SIZE_MAX);
    EXPECT(invalid, copy_batch(dsts, NULL, sizes, 2, good, indices, 1, &fail, stream));
    EXPECT(invalid, copy_batch(dsts, srcs, NULL, 2, good, indices, 1, &fail, stream));
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 0, good, indices, 1, &fail, stream));
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 2, NULL, indices, 1, &fail, stream));
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 2, good, NULL, 1, &fail, stream));
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 2, good, indices, 0, &fail, stream));
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 2, good, indices, 3, &fail, stream));
    size_t late[] = {1, 2}, falling[] = {0, 2, 1}, far[] = {0, 3};
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 3, good, late, 2, &fail, stream));
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 3, good, falling, 3, &fail, stream));
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 3, good, far, 2, &fail, stream));
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 3, good, indices, 3, &fail, 0));
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 3, good, indices, 3, &fail, cudaStreamLegacy));
    EXPECT(cudaErrorInvalidResourceHandle,
           copy_batch(dsts, srcs, sizes, 3, good, indices, 3, &fail, (cudaStream_t)(void *)0x1234));
    OK(copy_batch(dsts, srcs, sizes, 0 + 1, good, indices, 1, NULL, cudaStreamPerThread));
    OK(cudaStreamSynchronize(cudaStreamPerThread));
    OK(cudaMemset(device, 'o', SIZE));

    // A bad copy: none of the batch is done.
    const struct {
        enum cudaMemcpySrcAccessOrder order;
        unsigned flags;
    } attributes[] = {{cudaMemcpySrcAccessOrderInvalid, 0},
                      {(enum cudaMemcpySrcAccessOrder)4, 0},
                      {cudaMemcpySrcAccessOrderAny, 2}};
    for (size_t i = 0; i < LENGTH(attributes); i++) {
        memcpy(bad, good, sizeof bad);
        bad[1].srcAccessOrder = attributes[i].order;
        bad[1].flags = attributes[i].flags;
        EXPECT(invalid, copy_batch(dsts, srcs, sizes, 3, bad, indices, 3, &fail, stream));
        expect_fail(fail, 1);
    }
    dsts[2] = NULL;
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 3, good, indices, 3, &fail, stream));
    expect_fail(fail, 2);
    dsts[2] = device;
    sizes[2] = (size_t)1 << 40; // out of the allocation
    EXPECT(invalid, copy_batch(dsts, srcs, sizes, 3, good, indices, 3, &fail, stream));
    expect_fail(fail, 2);
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(out, device, SIZE, cudaMemcpyDeviceToHost));
    cr_assert(out[0] == 'o' && out[SIZE - 1] == 'o', "a refused batch has copied");
}

static struct cudaMemcpy3DOperand pointer(void *ptr, size_t row, size_t rows)
{
    struct cudaMemcpy3DOperand operand;
    memset(&operand, 0, sizeof operand);
    operand.type = cudaMemcpyOperandTypePointer;
    operand.op.ptr.ptr = ptr;
    operand.op.ptr.rowLength = row;
    operand.op.ptr.layerHeight = rows;
    return operand;
}

Test(batches, boxes_of_pointers)
{
    enum { W = 5, H = 4, D = 3, ROW = 9, ROWS = 6 };
    static unsigned char in[D][ROWS][ROW], out[D][H][W];
    cudaStream_t stream;
    void *device;
    size_t fail = 1;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc(&device, (size_t)W * H * D));
    for (int i = 0; i < D * ROWS * ROW; i++) {
        (&in[0][0][0])[i] = (unsigned char)(i * 11 + 1);
    }
    struct cudaMemcpy3DBatchOp ops[2] = {
        {.src = pointer(in, ROW, ROWS),
         .dst = pointer(device, 0, 0),
         .extent = {W, H, D},
         .srcAccessOrder = cudaMemcpySrcAccessOrderDuringApiCall},
        {.src = pointer(device, W, H),
         .dst = pointer(out, 0, 0),
         .extent = {W, H, D},
         .srcAccessOrder = cudaMemcpySrcAccessOrderStream},
    };
    OK(copy_batch_3d(1, &ops[0], &fail, 0, stream));
    expect_fail(fail, SIZE_MAX);
    OK(copy_batch_3d(1, &ops[1], NULL, 0, stream));
    OK(cudaStreamSynchronize(stream));
    for (int z = 0; z < D; z++) {
        for (int y = 0; y < H; y++) {
            cr_assert(memcmp(in[z][y], out[z][y], W) == 0, "row %d of slice %d", y, z);
        }
    }

    const cudaError_t invalid = cudaErrorInvalidValue;
    EXPECT(invalid, copy_batch_3d(0, ops, &fail, 0, stream));
    EXPECT(invalid, copy_batch_3d(2, NULL, &fail, 0, stream));
    EXPECT(invalid, copy_batch_3d(2, ops, &fail, 1, stream));
    EXPECT(invalid, copy_batch_3d(2, ops, &fail, 0, 0));
    expect_fail(fail, SIZE_MAX);
    EXPECT(cudaErrorInvalidResourceHandle,
           copy_batch_3d(2, ops, &fail, 0, (cudaStream_t)(void *)0x1234));
    for (int bad = 0; bad < 8; bad++) {
        struct cudaMemcpy3DBatchOp broken[2] = {ops[0], ops[1]};
        struct cudaMemcpy3DBatchOp *op = &broken[1];
        switch (bad) {
        case 0:
            op->extent.width = 0;
            break;
        case 1:
            op->extent.depth = 0;
            break;
        case 2:
            op->src.op.ptr.rowLength = W - 1;
            break;
        case 3:
            op->dst.op.ptr.layerHeight = H - 1;
            break;
        case 4:
            op->src.type = (enum cudaMemcpy3DOperandType)7;
            break;
        case 5:
            op->dst.op.ptr.ptr = NULL;
            break;
        case 6:
            op->srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
            break;
        default:
            op->extent.height = 1000; // out of the allocation
            op->src.op.ptr.layerHeight = 1000;
            break;
        }
        EXPECT(invalid, copy_batch_3d(2, broken, &fail, 0, stream));
        expect_fail(fail, 1);
    }
}

static struct cudaMemcpy3DOperand in_array(cudaArray_t array, size_t x, size_t y, size_t z)
{
    struct cudaMemcpy3DOperand operand;
    memset(&operand, 0, sizeof operand);
    operand.type = cudaMemcpyOperandTypeArray;
    operand.op.array.array = array;
    operand.op.array.offset.x = x;
    operand.op.array.offset.y = y;
    operand.op.array.offset.z = z;
    return operand;
}

// Sizes and offsets count elements once an array takes part.
Test(batches, boxes_of_arrays, .data = NEEDS("arrays"))
{
    enum { W = 6, H = 5, D = 2, ROW = 8 };
    static int in[D][H][ROW], out[D][H][W];
    struct cudaChannelFormatDesc desc =
        cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindSigned);
    struct cudaChannelFormatDesc other =
        cudaCreateChannelDesc(8, 0, 0, 0, cudaChannelFormatKindSigned);
    struct cudaExtent size = {W + 1, H + 1, D + 1};
    cudaArray_t a, b, bytes;
    cudaStream_t stream;
    size_t fail = 0;
    OK(cudaStreamCreate(&stream));
    OK(cudaMalloc3DArray(&a, &desc, size, cudaArrayDefault));
    OK(cudaMalloc3DArray(&b, &desc, size, cudaArrayDefault));
    OK(cudaMalloc3DArray(&bytes, &other, size, cudaArrayDefault));
    for (int i = 0; i < D * H * ROW; i++) {
        (&in[0][0][0])[i] = i * 1001;
    }
    const struct cudaExtent extent = {W, H, D};
    struct cudaMemcpy3DBatchOp ops[3] = {
        {.src = pointer(in, ROW, 0), .dst = in_array(a, 1, 1, 1), .extent = extent},
        {.src = in_array(a, 1, 1, 1), .dst = in_array(b, 0, 0, 0), .extent = extent},
        {.src = in_array(b, 0, 0, 0), .dst = pointer(out, 0, 0), .extent = extent}};
    for (int i = 0; i < 3; i++) {
        ops[i].srcAccessOrder = cudaMemcpySrcAccessOrderStream;
        OK(copy_batch_3d(1, &ops[i], &fail, 0, stream));
    }
    OK(cudaStreamSynchronize(stream));
    for (int z = 0; z < D; z++) {
        for (int y = 0; y < H; y++) {
            cr_assert(memcmp(in[z][y], out[z][y], sizeof out[z][y]) == 0, "row %d of %d", y, z);
        }
    }
    struct cudaMemcpy3DBatchOp bad = ops[1];
    bad.dst = in_array(bytes, 0, 0, 0); // elements of another size
    EXPECT(cudaErrorInvalidValue, copy_batch_3d(1, &bad, &fail, 0, stream));
    expect_fail(fail, 0);
    bad = ops[1];
    bad.dst = in_array(b, 2, 0, 0); // out of the array
    EXPECT(cudaErrorInvalidValue, copy_batch_3d(1, &bad, &fail, 0, stream));
    bad.dst = in_array((cudaArray_t)(void *)0x1234, 0, 0, 0);
    EXPECT(cudaErrorInvalidValue, copy_batch_3d(1, &bad, &fail, 0, stream));
    bad.dst = in_array(NULL, 0, 0, 0);
    EXPECT(cudaErrorInvalidValue, copy_batch_3d(1, &bad, &fail, 0, stream));
}
#endif

#if CUDART_VERSION >= 13020
Test(batches, one_copy_with_attributes)
{
    char in[16] = "attributes", out[16] = "";
    void *device;
    struct cudaMemcpyAttributes attributes = {.srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    OK(cudaMalloc(&device, sizeof in));
    OK(cudaMemcpyWithAttributesAsync(device, in, sizeof in, &attributes, 0));
    struct cudaMemcpy3DBatchOp op = {.src = pointer(device, 0, 0),
                                     .dst = pointer(out, 0, 0),
                                     .extent = {sizeof in, 1, 1},
                                     .srcAccessOrder = cudaMemcpySrcAccessOrderStream};
    OK(cudaMemcpy3DWithAttributesAsync(&op, 0, 0));
    OK(cudaStreamSynchronize(0));
    cr_assert(memcmp(in, out, sizeof in) == 0);
    EXPECT(cudaErrorInvalidValue, cudaMemcpyWithAttributesAsync(device, in, 4, NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaMemcpyWithAttributesAsync(NULL, in, 4, &attributes, 0));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3DWithAttributesAsync(NULL, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3DWithAttributesAsync(&op, 1, 0));
    attributes.srcAccessOrder = cudaMemcpySrcAccessOrderInvalid;
    EXPECT(cudaErrorInvalidValue, cudaMemcpyWithAttributesAsync(device, in, 4, &attributes, 0));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaMemcpy3DWithAttributesAsync(&op, 0, (cudaStream_t)(void *)0x1234));
}
#endif

#if CUDART_VERSION >= 13000
static int last_prefetch(const void *ptr, size_t size, enum cudaMemRangeAttribute attribute)
{
    int value = -77;
    OK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, ptr, size));
    return value;
}

Test(batches, prefetch_and_discard)
{
    enum { COUNT = 3, SIZE = 1 << 16 };
    void *ptrs[COUNT];
    size_t sizes[COUNT], indices[2] = {0, 2};
    struct cudaMemLocation places[2] = {{.type = cudaMemLocationTypeDevice, .id = 0},
                                        {.type = cudaMemLocationTypeHost}};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    for (int i = 0; i < COUNT; i++) {
        OK(cudaMallocManaged(&ptrs[i], SIZE, cudaMemAttachGlobal));
        memset(ptrs[i], i + 1, SIZE);
        sizes[i] = SIZE;
    }
    OK(cudaMemPrefetchBatchAsync(ptrs, sizes, COUNT, places, indices, 2, 0, stream));
    OK(cudaStreamSynchronize(stream));
    const enum cudaMemRangeAttribute type = cudaMemRangeAttributeLastPrefetchLocationType;
    cr_assert(last_prefetch(ptrs[1], SIZE, type) == cudaMemLocationTypeDevice);
    cr_assert(last_prefetch(ptrs[2], SIZE, type) == cudaMemLocationTypeHost);
    cr_assert(((char *)ptrs[1])[SIZE - 1] == 2);
    OK(cudaMemDiscardBatchAsync(ptrs, sizes, COUNT, 0, stream));
    OK(cudaMemDiscardAndPrefetchBatchAsync(ptrs, sizes, COUNT, &places[0], indices, 1, 0, stream));
    OK(cudaStreamSynchronize(stream));
    cr_assert(last_prefetch(ptrs[2], SIZE, type) == cudaMemLocationTypeDevice);

    const cudaError_t invalid = cudaErrorInvalidValue;
    EXPECT(invalid, cudaMemPrefetchBatchAsync(NULL, sizes, 1, places, indices, 1, 0, stream));
    EXPECT(invalid, cudaMemPrefetchBatchAsync(ptrs, NULL, 1, places, indices, 1, 0, stream));
    EXPECT(invalid, cudaMemPrefetchBatchAsync(ptrs, sizes, 0, places, indices, 1, 0, stream));
    EXPECT(invalid, cudaMemPrefetchBatchAsync(ptrs, sizes, 1, NULL, indices, 1, 0, stream));
    EXPECT(invalid, cudaMemPrefetchBatchAsync(ptrs, sizes, 1, places, NULL, 1, 0, stream));
    EXPECT(invalid, cudaMemPrefetchBatchAsync(ptrs, sizes, 1, places, indices, 0, 0, stream));
    EXPECT(invalid, cudaMemPrefetchBatchAsync(ptrs, sizes, 1, places, indices, 2, 0, stream));
    EXPECT(invalid, cudaMemPrefetchBatchAsync(ptrs, sizes, 1, places, indices, 1, 1, stream));
    EXPECT(invalid, cudaMemPrefetchBatchAsync(ptrs, sizes, 1, places, indices, 1, 0, 0));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaMemPrefetchBatchAsync(ptrs, sizes, 1, places, indices, 1, 0,
                                     (cudaStream_t)(void *)0x1234));
    struct cudaMemLocation nowhere = {.type = cudaMemLocationTypeDevice, .id = 99};
    EXPECT(cudaErrorInvalidDevice,
           cudaMemPrefetchBatchAsync(ptrs, sizes, 1, &nowhere, indices, 1, 0, stream));
    EXPECT(invalid, cudaMemDiscardBatchAsync(NULL, sizes, 1, 0, stream));
    EXPECT(invalid, cudaMemDiscardBatchAsync(ptrs, sizes, 1, 1, stream));
    EXPECT(invalid, cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, 0));
    EXPECT(invalid,
           cudaMemDiscardAndPrefetchBatchAsync(ptrs, sizes, 1, places, NULL, 1, 0, stream));

    // A stream that captures refuses what a graph cannot hold.
    cudaGraph_t graph;
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    EXPECT(cudaErrorStreamCaptureUnsupported, cudaMemDiscardBatchAsync(ptrs, sizes, 1, 0, stream));
    EXPECT(cudaErrorStreamCaptureInvalidated, cudaStreamEndCapture(stream, &graph));

    // Device memory is no managed memory; the batch changes nothing.
    void *device;
    OK(cudaMalloc(&device, SIZE));
    void *mixed[2] = {ptrs[0], device};
    EXPECT(invalid, cudaMemDiscardBatchAsync(mixed, sizes, 2, 0, stream));
    EXPECT(invalid, cudaMemPrefetchBatchAsync(mixed, sizes, 2, &places[1], indices, 1, 0, stream));
    cr_assert(last_prefetch(ptrs[0], SIZE, type) == cudaMemLocationTypeDevice);
}

Test(batches, host_atomic_capabilities)
{
    enum cudaAtomicOperation operations[] = {cudaAtomicOperationIntegerAdd, cudaAtomicOperationCAS,
                                             cudaAtomicOperationFloatMax};
    unsigned masks[3] = {7, 7, 7};
    int native = 0;
    OK(cudaDeviceGetAttribute(&native, cudaDevAttrHostNativeAtomicSupported, 0));
    OK(cudaDeviceGetHostAtomicCapabilities(masks, operations, 3, 0));
    cr_assert(((masks[0] & cudaAtomicCapabilityScalar32) != 0) == (native != 0));
    cr_assert(((masks[1] & cudaAtomicCapabilityScalar64) != 0) == (native != 0));
    cr_assert(!(masks[1] & cudaAtomicCapabilityReduction), "red has no cas");
    EXPECT(cudaErrorInvalidDevice,
           cudaDeviceGetHostAtomicCapabilities(masks, operations, 3, device_count()));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetHostAtomicCapabilities(masks, operations, 3, -1));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetHostAtomicCapabilities(NULL, operations, 3, 0));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetHostAtomicCapabilities(masks, NULL, 3, 0));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetHostAtomicCapabilities(masks, operations, 0, 0));
    operations[2] = (enum cudaAtomicOperation)13;
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetHostAtomicCapabilities(masks, operations, 3, 0));
}
#endif

#if CUDART_VERSION >= 13040
Test(batches, where_memory_is)
{
    enum { SIZE = 4 << 20 };
    char *managed;
    struct cudaMemLocation places[5];
    memset(places, 0x5a, sizeof places);
    OK(cudaMallocManaged((void **)&managed, SIZE, cudaMemAttachGlobal));
    memset(managed, 1, SIZE);
    struct cudaMemLocation device = {.type = cudaMemLocationTypeDevice, .id = 0};
    OK(cudaMemPrefetchAsync(managed, SIZE / 2, device, 0, 0));
    OK(cudaMemGetLocationInfo(managed, SIZE, SIZE / 4, 4096, places));
    cr_assert(places[0].type == cudaMemLocationTypeDevice && places[1].id == 0);
    cr_assert(places[2].type == cudaMemLocationTypeHost);
    cr_assert(places[3].type == cudaMemLocationTypeHost);
    cr_assert((int)places[4].type == 0x5a5a5a5a, "written past the last region");
    OK(cudaMemGetLocationInfo(managed, SIZE, SIZE, 0, places));
    const cudaError_t invalid = cudaErrorInvalidValue;
    EXPECT(invalid, cudaMemGetLocationInfo(NULL, SIZE, SIZE, 0, places));
    EXPECT(invalid, cudaMemGetLocationInfo(managed, 0, SIZE, 0, places));
    EXPECT(invalid, cudaMemGetLocationInfo(managed, SIZE, 0, 0, places));
    EXPECT(invalid, cudaMemGetLocationInfo(managed, SIZE, SIZE + 1, 0, places));
    EXPECT(invalid, cudaMemGetLocationInfo(managed, SIZE, 64, 128, places));
    EXPECT(invalid, cudaMemGetLocationInfo(managed, SIZE, SIZE, 0, NULL));
    EXPECT(invalid, cudaMemGetLocationInfo(managed, SIZE + 1, SIZE, 0, places));
    void *pinned;
    OK(cudaMallocHost(&pinned, 4096));
    EXPECT(invalid, cudaMemGetLocationInfo(pinned, 4096, 4096, 0, places));
    static char own[8192];
    own[0] = own[4096] = 1;
    OK(cudaMemGetLocationInfo(own, sizeof own, sizeof own, 0, places));
    cr_assert(places[0].type == cudaMemLocationTypeHost);
}
#endif

#if CUDART_VERSION >= 12040
static void notified(cudaAsyncNotificationInfo_t *info, void *data,
                     cudaAsyncCallbackHandle_t handle)
{
    (void)info, (void)data, (void)handle;
}

Test(batches, notifications_are_registered)
{
    cudaAsyncCallbackHandle_t one, two;
    OK(cudaDeviceRegisterAsyncNotification(0, notified, NULL, &one));
    OK(cudaDeviceRegisterAsyncNotification(0, notified, NULL, &two));
    cr_assert(one != two);
    EXPECT(cudaErrorInvalidDevice,
           cudaDeviceRegisterAsyncNotification(device_count(), notified, NULL, &one));
    EXPECT(cudaErrorInvalidValue, cudaDeviceRegisterAsyncNotification(0, NULL, NULL, &one));
    EXPECT(cudaErrorInvalidValue, cudaDeviceRegisterAsyncNotification(0, notified, NULL, NULL));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceUnregisterAsyncNotification(-1, one));
    EXPECT(cudaErrorInvalidValue, cudaDeviceUnregisterAsyncNotification(device_count() - 1, one));
    EXPECT(cudaErrorInvalidValue, cudaDeviceUnregisterAsyncNotification(0, NULL));
    OK(cudaDeviceUnregisterAsyncNotification(0, one));
    EXPECT(cudaErrorInvalidValue, cudaDeviceUnregisterAsyncNotification(0, one));
    OK(cudaDeviceUnregisterAsyncNotification(0, two));
}
#endif

Test(batches, flush_of_remote_writes)
{
    int options = 0;
    OK(cudaDeviceGetAttribute(&options, cudaDevAttrGPUDirectRDMAFlushWritesOptions, 0));
    const enum cudaFlushGPUDirectRDMAWritesTarget here =
        cudaFlushGPUDirectRDMAWritesTargetCurrentDevice;
    EXPECT(options & cudaFlushGPUDirectRDMAWritesOptionHost ? cudaSuccess : cudaErrorNotSupported,
           cudaDeviceFlushGPUDirectRDMAWrites(here, cudaFlushGPUDirectRDMAWritesToOwner));
    EXPECT(cudaErrorInvalidValue,
           cudaDeviceFlushGPUDirectRDMAWrites(here, (enum cudaFlushGPUDirectRDMAWritesScope)3));
    EXPECT(cudaErrorInvalidValue,
           cudaDeviceFlushGPUDirectRDMAWrites((enum cudaFlushGPUDirectRDMAWritesTarget)1,
                                              cudaFlushGPUDirectRDMAWritesToAllDevices));
}
