// SPDX-License-Identifier: Apache-2.0
//
// Surface objects: reads and writes in every dimension with byte coordinates, layers and cube
// faces, boundary modes, a texture over what a surface wrote, and an access out of bounds, which is
// an error of the kernel.
#include "e2e.h"

static cudaArray_t make_array(cudaChannelFormatDesc format, int width, int height, int depth,
                              unsigned flags)
{
    cudaArray_t array;
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth),
                            flags | cudaArraySurfaceLoadStore));
    return array;
}

static cudaSurfaceObject_t surface_of(cudaArray_t array)
{
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaSurfaceObject_t object = 0;
    CHECK(cudaCreateSurfaceObject(&object, &resource));
    return object;
}

template <typename T>
static std::vector<T> contents(cudaArray_t array, int width, int height, int depth)
{
    std::vector<T> data((size_t)width * height * depth);
    cudaMemcpy3DParms copy = {};
    copy.srcArray = array;
    copy.dstPtr = make_cudaPitchedPtr(data.data(), width * sizeof(T), width, height);
    copy.extent = make_cudaExtent(width, height, depth);
    copy.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&copy));
    return data;
}

__global__ void write_all(cudaSurfaceObject_t one, cudaSurfaceObject_t two,
                          cudaSurfaceObject_t three, cudaSurfaceObject_t one_layered,
                          cudaSurfaceObject_t two_layered, cudaSurfaceObject_t cube)
{
    int x = threadIdx.x, y = threadIdx.y, z = threadIdx.z;
    if (y == 0 && z == 0) {
        surf1Dwrite<short>((short)(x + 1), one, x * 2);
    }
    if (z == 0) {
        surf2Dwrite<float4>(make_float4(x, y, x + y, x * y), two, x * 16, y);
    }
    surf3Dwrite<int2>(make_int2(x + 10 * y + 100 * z, -x), three, x * 8, y, z);
    if (y == 0) {
        surf1DLayeredwrite<unsigned char>((unsigned char)(16 * z + x), one_layered, x, z);
    }
    surf2DLayeredwrite<float>(x + 10 * y + 100 * z, two_layered, x * 4, y, z);
    if (x < 4) {
        surfCubemapwrite<int>(x + 10 * y + 100 * z, cube, x * 4, y, z);
        surfCubemapwrite<int>(x + 10 * y + 100 * (z + 3), cube, x * 4, y, z + 3);
    }
}

static void writes()
{
    cudaArray_t a = make_array(cudaCreateChannelDesc<short>(), 8, 0, 0, 0);
    cudaArray_t b = make_array(cudaCreateChannelDesc<float4>(), 8, 4, 0, 0);
    cudaArray_t c = make_array(cudaCreateChannelDesc<int2>(), 8, 4, 3, 0);
    cudaArray_t d = make_array(cudaCreateChannelDesc<unsigned char>(), 8, 0, 3, cudaArrayLayered);
    cudaArray_t e = make_array(cudaCreateChannelDesc<float>(), 8, 4, 3, cudaArrayLayered);
    cudaArray_t f = make_array(cudaCreateChannelDesc<int>(), 4, 4, 6, cudaArrayCubemap);
    write_all<<<1, dim3(8, 4, 3)>>>(surface_of(a), surface_of(b), surface_of(c), surface_of(d),
                                    surface_of(e), surface_of(f));
    CHECK_LAUNCH();
    std::vector<short> one = contents<short>(a, 8, 1, 1);
    std::vector<float4> two = contents<float4>(b, 8, 4, 1);
    std::vector<int2> three = contents<int2>(c, 8, 4, 3);
    std::vector<unsigned char> one_layered = contents<unsigned char>(d, 8, 1, 3);
    std::vector<float> two_layered = contents<float>(e, 8, 4, 3);
    std::vector<int> cube = contents<int>(f, 4, 4, 6);
    for (int i = 0; i < 8 * 4 * 3; i++) {
        int x = i % 8, y = i / 8 % 4, z = i / 32;
        EXPECT(one[x] == x + 1);
        EXPECT(two[y * 8 + x].z == x + y && two[y * 8 + x].w == x * y);
        EXPECT(three[i].x == x + 10 * y + 100 * z && three[i].y == -x);
        EXPECT(one_layered[z * 8 + x] == 16 * z + x);
        EXPECT(two_layered[i] == x + 10 * y + 100 * z);
    }
    for (int i = 0; i < 4 * 4 * 6; i++) {
        EXPECT(cube[i] == i % 4 + 10 * (i / 4 % 4) + 100 * (i / 16));
    }
    for (cudaArray_t array : {a, b, c, d, e, f}) {
        CHECK(cudaFreeArray(array));
    }
}

__global__ void bounds(cudaSurfaceObject_t s, int *out)
{
    int x = (int)threadIdx.x - 2;
    surf2Dwrite<int>(100 + x, s, x * 4, 1, cudaBoundaryModeZero);
    out[2 * threadIdx.x] = surf2Dread<int>(s, x * 4, 9, cudaBoundaryModeClamp);
    out[2 * threadIdx.x + 1] = surf2Dread<int>(s, x * 4, 1, cudaBoundaryModeZero);
}

static void boundary_modes()
{
    cudaArray_t array = make_array(cudaCreateChannelDesc<int>(), 4, 2, 0, 0);
    cudaSurfaceObject_t s = surface_of(array);
    Device<int> out(16);
    bounds<<<1, 8>>>(s, out);
    bounds<<<1, 8>>>(s, out); // now all of the row is written
    CHECK_LAUNCH();
    std::vector<int> got = out.get();
    for (int i = 0; i < 8; i++) {
        int x = i - 2, near = x < 0 ? 0 : x > 3 ? 3 : x;
        EXPECT(got[2 * i] == 100 + near);
        EXPECT(got[2 * i + 1] == (x < 0 || x > 3 ? 0 : 100 + x));
    }
    CHECK(cudaDestroySurfaceObject(s));
    CHECK(cudaFreeArray(array));
}

__global__ void produce(cudaSurfaceObject_t s)
{
    surf2Dwrite<uchar4>(make_uchar4(threadIdx.x, blockIdx.x, 0, 255), s, threadIdx.x * 4,
                        blockIdx.x);
}

__global__ void consume(cudaTextureObject_t t, float4 *out)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] =
        tex2D<float4>(t, (threadIdx.x + 0.5f) / blockDim.x, (blockIdx.x + 0.5f) / gridDim.x);
}

static void texture_over_surface()
{
    const int width = 64, height = 16;
    cudaArray_t array = make_array(cudaCreateChannelDesc<uchar4>(), width, height, 0, 0);
    cudaResourceDesc resource = {};
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    cudaTextureDesc desc = {};
    desc.readMode = cudaReadModeNormalizedFloat;
    desc.normalizedCoords = 1;
    desc.filterMode = cudaFilterModeLinear;
    cudaTextureObject_t t;
    CHECK(cudaCreateTextureObject(&t, &resource, &desc, nullptr));
    Device<float4> out(width * height);
    produce<<<height, width>>>(surface_of(array));
    consume<<<height, width>>>(t, out);
    CHECK_LAUNCH();
    std::vector<float4> got = out.get();
    for (int i = 0; i < width * height; i++) {
        EXPECT(near(got[i].x, i % width / 255.0, 1e-6) && near(got[i].y, i / width / 255.0, 1e-6));
        EXPECT(got[i].w == 1);
    }
    CHECK(cudaDestroyTextureObject(t));
    CHECK(cudaFreeArray(array));
}

__global__ void outside(cudaSurfaceObject_t s)
{
    surf2Dwrite<int>(1, s, 4 * 4, 0); // the default is cudaBoundaryModeTrap
}

static void trap()
{
    cudaArray_t array = make_array(cudaCreateChannelDesc<int>(), 4, 2, 0, 0);
    outside<<<1, 1>>>(surface_of(array));
    EXPECT(cudaDeviceSynchronize() != cudaSuccess);
}

int main()
{
    writes();
    boundary_modes();
    texture_over_surface();
    trap();
    return pass();
}
