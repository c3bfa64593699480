// SPDX-License-Identifier: Apache-2.0
//
// Objects of the driver API: tensor maps, graphs, pools, arrays and textures, external memory.
#include "driver_functions.h"

TestSuite(driver_objects, .timeout = 60, .data = NEEDS("driver"));

#if CUDART_VERSION >= 12000
// ---- tensor maps ----

DRIVER(cuTensorMapEncodeTiled, 12000)
DRIVER(cuTensorMapEncodeIm2col, 12000)
DRIVER(cuTensorMapReplaceAddress, 12000)

// A valid description, of which a test changes one thing.
struct tiled {
    CUtensorMapDataType type;
    cuuint32_t rank;
    void *address;
    cuuint64_t dim[5], strides[4];
    cuuint32_t box[5], steps[5];
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

static const struct tiled good = {
    .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    .rank = 2,
    .address = (void *)(uintptr_t)0x10000,
    .dim = {128, 64, 4, 4, 4},
    .strides = {512, 512 * 64, 512 * 64 * 4, 512 * 64 * 16},
    .box = {32, 32, 1, 1, 1},
    .steps = {1, 1, 1, 1, 1},
};

static CUresult encode(CUtensorMap *map, const struct tiled *t)
{
    return get_cuTensorMapEncodeTiled()(map, t->type, t->rank, t->address, t->dim, t->strides,
                                        t->box, t->steps, t->interleave, t->swizzle, t->promotion,
                                        t->fill);
}

Test(driver_objects, tensor_maps)
{
    _Alignas(128) unsigned char room[2 * sizeof(CUtensorMap)];
    CUtensorMap *map = (CUtensorMap *)room;
    struct tiled t = good;
    CU_OK(encode(map, &t));
    for (cuuint32_t rank = 1; rank <= 5; rank++) {
        t.rank = rank;
        CU_OK(encode(map, &t));
    }
    CU_OK(get_cuTensorMapReplaceAddress()(map, (void *)(uintptr_t)0x20000));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuTensorMapReplaceAddress()(map, (void *)(uintptr_t)0x20004));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, encode(NULL, &good));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, encode((CUtensorMap *)(room + 8), &good));
#define WRONG(change_)                                               \
    do {                                                             \
        t = good;                                                    \
        change_;                                                     \
        expect(CUDA_ERROR_INVALID_VALUE, encode(map, &t), #change_); \
    } while (0)
    WRONG(t.rank = 0);
    WRONG(t.rank = 6);
    WRONG(t.type = (CUtensorMapDataType)77);
    WRONG(t.address = (void *)(uintptr_t)0x10008);
    WRONG(t.address = NULL);
    WRONG(t.dim[1] = 0);
    WRONG(t.dim[0] = ((cuuint64_t)1 << 32) + 1);
    WRONG(t.strides[0] = 500);
    WRONG(t.strides[0] = (cuuint64_t)1 << 40);
    WRONG(t.box[0] = 0);
    WRONG(t.box[1] = 257);
    WRONG(t.box[0] = 3); // 12 bytes
    WRONG(t.steps[1] = 0);
    WRONG(t.steps[1] = 9);
    WRONG(t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B); // rank 2
    WRONG(t.interleave = (CUtensorMapInterleave)3);
    WRONG(t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B); // the box is 128 bytes wide
    WRONG(t.swizzle = (CUtensorMapSwizzle)70);
    WRONG(t.promotion = (CUtensorMapL2promotion)4);
    WRONG(t.fill = (CUtensorMapFloatOOBfill)2);
    WRONG((t.type = CU_TENSOR_MAP_DATA_TYPE_INT32,
           t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA));
    t = good;
    t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    CU_OK(encode(map, &t));
}

Test(driver_objects, tensor_maps_of_columns)
{
    _Alignas(128) CUtensorMap map;
    int lower[] = {-1, -1}, upper[] = {-1, -1};
    CU_OK(get_cuTensorMapEncodeIm2col()(&map, good.type, 4, good.address, good.dim, good.strides,
                                        lower, upper, 32, 64, good.steps, 0, 0, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuTensorMapEncodeIm2col()(&map, good.type, 2, good.address, good.dim,
                                            good.strides, lower, upper, 32, 64, good.steps, 0, 0, 0,
                                            0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuTensorMapEncodeIm2col()(&map, good.type, 4, good.address, good.dim,
                                            good.strides, lower, upper, 32, 1025, good.steps, 0, 0,
                                            0, 0));
    lower[0] = -129;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuTensorMapEncodeIm2col()(&map, good.type, 4, good.address, good.dim,
                                            good.strides, lower, upper, 32, 64, good.steps, 0, 0, 0,
                                            0));
}
#endif

// ---- graphs ----

DRIVER(cuStreamIsCapturing, 10000)
DRIVER(cuStreamEndCapture, 10000)
DRIVER(cuStreamBeginCapture, 10010)
DRIVER(cuGraphInstantiateWithFlags, 11040)
DRIVER(cuGraphLaunch, 10000)
DRIVER(cuGraphExecDestroy, 10000)
DRIVER(cuGraphDestroy, 10000)
DRIVER(cuGraphGetNodes, 10000)
DRIVER(cuGraphCreate, 10000)
DRIVER(cuGraphAddMemsetNode, 10000)

Test(driver_objects, captured_and_built_graphs)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode node = NULL;
    CUdeviceptr ptr = 0;
    cudaStream_t stream;
    size_t count = 0;
    OK(cudaStreamCreate(&stream));
    CU_OK(get_cuMemAlloc()(&ptr, 64));
    CU_OK(get_cuStreamBeginCapture()(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CU_OK(get_cuStreamIsCapturing()(stream, &status));
    cr_assert(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CU_OK(get_cuMemsetD32Async()(ptr, 5, 1, stream));
    CU_OK(get_cuStreamEndCapture()(stream, &graph));
    CU_OK(get_cuGraphGetNodes()(graph, NULL, &count));
    cr_assert(count == 1);
    CU_OK(get_cuGraphInstantiateWithFlags()(&exec, graph, 0));
    CU_OK(get_cuMemsetD32()(ptr, 0, 1));
    CU_OK(get_cuGraphLaunch()(exec, stream));
    OK(cudaStreamSynchronize(stream));
    cr_assert(read_back(ptr) == 5);
    CU_OK(get_cuGraphExecDestroy()(exec));
    CU_OK(get_cuGraphDestroy()(graph));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuGraphDestroy()(graph));
    CUDA_MEMSET_NODE_PARAMS params = {
        .dst = ptr, .value = 9, .elementSize = 4, .width = 1, .height = 1};
    CU_OK(get_cuGraphCreate()(&graph, 0));
    CU_OK(get_cuGraphAddMemsetNode()(&node, graph, NULL, 0, &params, NULL));
    CU_OK(get_cuGraphInstantiateWithFlags()(&exec, graph, 0));
    CU_OK(get_cuGraphLaunch()(exec, stream));
    OK(cudaStreamSynchronize(stream));
    cr_assert(read_back(ptr) == 9);
    // Values as signals are not captured; asking for it ends the capture.
    CU_OK(get_cuStreamBeginCapture()(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CU_EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, get_cuStreamWriteValue32()(stream, ptr, 1, 0));
    CU_EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, get_cuStreamEndCapture()(stream, &graph));
}

Test(driver_objects, pools)
{
    CUdeviceptr ptr = 0;
    CUmemoryPool pool = NULL;
    cudaError_t error;
    void *alloc = find("cuMemAllocAsync", &error), *take = find("cuMemFreeAsync", &error);
    void *get = find("cuDeviceGetDefaultMemPool", &error);
    CU_OK(((PFN_cuDeviceGetDefaultMemPool_v11020)get)(&pool, 0));
    CU_OK(((PFN_cuMemAllocAsync_v11020)alloc)(&ptr, 256, NULL));
    CUmemoryPool of = NULL;
    CU_OK(get_cuPointerGetAttribute()(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, ptr));
    cr_assert(of == pool);
    CU_OK(((PFN_cuMemFreeAsync_v11020)take)(ptr, NULL));
    OK(cudaDeviceSynchronize());
}

#if CUDART_VERSION >= 13000
DRIVER(cuMemGetDefaultMemPool, 13000)
DRIVER(cuMemGetMemPool, 13000)
DRIVER(cuMemSetMemPool, 13000)
DRIVER(cuDeviceGetDefaultMemPool, 11020)
DRIVER(cuMemcpyBatchAsync, 13000)

Test(driver_objects, pools_by_location)
{
    CUmemoryPool pool = NULL, other = NULL;
    CUmemLocation here = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
    CUmemLocation nowhere = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 99};
    CU_OK(get_cuDeviceGetDefaultMemPool()(&pool, 0));
    CU_OK(get_cuMemGetDefaultMemPool()(&other, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    cr_assert(pool == other);
    CU_OK(get_cuMemGetMemPool()(&other, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    cr_assert(pool == other);
    CU_OK(get_cuMemSetMemPool()(&here, CU_MEM_ALLOCATION_TYPE_PINNED, pool));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuMemGetMemPool()(NULL, &here, CU_MEM_ALLOCATION_TYPE_PINNED));
    CUresult got = get_cuMemGetMemPool()(&other, &nowhere, CU_MEM_ALLOCATION_TYPE_PINNED);
    cr_assert(got == CUDA_ERROR_INVALID_DEVICE || got == CUDA_ERROR_INVALID_VALUE);
}

Test(driver_objects, batches_of_copies)
{
    unsigned values[2] = {11, 22}, back[2] = {0, 0};
    CUdeviceptr memory = 0;
    CU_OK(get_cuMemAlloc()(&memory, sizeof(values)));
    CUdeviceptr from[2] = {(CUdeviceptr)&values[0], (CUdeviceptr)&values[1]};
    CUdeviceptr to[2] = {memory + 4, memory},
                out[2] = {(CUdeviceptr)&back[0], (CUdeviceptr)&back[1]};
    size_t sizes[2] = {4, 4}, first = 0;
    CUmemcpyAttributes attributes = {.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM};
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    CU_OK(get_cuMemcpyBatchAsync()(to, from, sizes, 2, &attributes, &first, 1, stream));
    OK(cudaStreamSynchronize(stream));
    CUdeviceptr sources[2] = {memory, memory + 4};
    CU_OK(get_cuMemcpyBatchAsync()(out, sources, sizes, 2, &attributes, &first, 1, stream));
    OK(cudaStreamSynchronize(stream));
    cr_assert(back[0] == 22 && back[1] == 11);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuMemcpyBatchAsync()(NULL, from, sizes, 2, &attributes, &first, 1, stream));
    OK(cudaStreamDestroy(stream));
    CU_OK(get_cuMemFree()(memory));
}
#endif

// ---- arrays and textures ----

DRIVER(cuArrayCreate, 3020)
DRIVER(cuArray3DCreate, 3020)
DRIVER(cuArray3DGetDescriptor, 3020)
DRIVER(cuArrayDestroy, 2000)
DRIVER(cuMemcpy3D, 3020)
DRIVER(cuMemcpyHtoA, 3020)
DRIVER(cuMemcpyAtoH, 3020)
DRIVER(cuTexObjectCreate, 5000)
DRIVER(cuTexObjectDestroy, 5000)

static const char reader[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry read(.param .u64 t, .param .u64 p) {\n"
    "  .reg .u64 %rd<2>; .reg .f32 %f<8>;\n"
    "  ld.param.u64 %rd0, [t]; ld.param.u64 %rd1, [p];\n"
    "  mov.f32 %f4, 0f3FC00000; mov.f32 %f5, 0f40200000;\n" // (1.5, 2.5): column 1, row 2
    "  tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f4, %f5}];\n"
    "  st.global.f32 [%rd1], %f0; ret; }\n";

Test(driver_objects, arrays_and_textures, .data = NEEDS("ptx textures"))
{
    enum { W = 8, H = 4 };
    CUarray array = NULL;
    CUDA_ARRAY_DESCRIPTOR flat = {
        .Width = W, .Height = H, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUDA_ARRAY3D_DESCRIPTOR got;
    CUtexObject texture = 0;
    CUmodule module = NULL;
    CUfunction read = NULL;
    CUdeviceptr out = 0;
    float host[H][W], back[H][W], value = 0;
    for (int i = 0; i < W * H; i++) {
        host[i / W][i % W] = (float)i;
    }
    OK(cudaFree(NULL));
    CU_OK(get_cuArrayCreate()(&array, &flat));
    CU_OK(get_cuArray3DGetDescriptor()(&got, array));
    cr_assert(got.Width == W && got.Height == H && got.Depth == 0 &&
              got.Format == CU_AD_FORMAT_FLOAT && got.NumChannels == 1);
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = host,
                        .srcPitch = sizeof host[0],
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = sizeof host[0],
                        .Height = H};
    CU_OK(get_cuMemcpy2D()(&in));
    in.dstXInBytes = 2; // not a whole element
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemcpy2D()(&in));
    memset(back, 0, sizeof back);
    CUDA_MEMCPY3D part = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = array,
                          .srcXInBytes = 4,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .dstPitch = sizeof back[0],
                          .WidthInBytes = 8,
                          .Height = 2,
                          .Depth = 1};
    CU_OK(get_cuMemcpy3D()(&part));
    cr_assert(back[0][0] == 9 && back[0][1] == 10 && back[1][0] == 17 && back[2][0] == 0);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    resource.res.array.hArray = array;
    CUDA_TEXTURE_DESC desc = {.filterMode = CU_TR_FILTER_MODE_POINT};
    CU_OK(get_cuTexObjectCreate()(&texture, &resource, &desc, NULL));
    CU_OK(get_cuModuleLoadData()(&module, reader));
    CU_OK(get_cuModuleGetFunction()(&read, module, "read"));
    CU_OK(get_cuMemAlloc()(&out, 4));
    void *params[] = {&texture, &out};
    CU_OK(get_cuLaunchKernel()(read, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CU_OK(get_cuMemcpyDtoH()(&value, out, 4));
    cr_assert(value == 2 * W + 1, "%g", (double)value);
    CU_OK(get_cuTexObjectDestroy()(texture));
    CU_OK(get_cuArrayDestroy()(array));
    CU_EXPECT(CUDA_ERROR_INVALID_HANDLE, get_cuArrayDestroy()(array));
    flat.Height = 0; // one row
    CU_OK(get_cuArrayCreate()(&array, &flat));
    CU_OK(get_cuMemcpyHtoA()(array, 8, host, 8));
    CU_OK(get_cuMemcpyAtoH()(back, array, 12, 4));
    cr_assert(back[0][0] == 1);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemcpyAtoH()(back, array, 8, sizeof host[0]));
    CU_OK(get_cuArrayDestroy()(array));
    flat.NumChannels = 3;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuArrayCreate()(&array, &flat));
    CUDA_ARRAY3D_DESCRIPTOR deep = {.Width = 4,
                                    .Height = 4,
                                    .Format = CU_AD_FORMAT_FLOAT,
                                    .NumChannels = 1,
                                    .Flags = CUDA_ARRAY3D_DEPTH_TEXTURE};
    CU_EXPECT(CUDA_ERROR_NOT_SUPPORTED, get_cuArray3DCreate()(&array, &deep));
}
