// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface references, which CUDA 12 dropped: of every dimension, in namespaces and
// static, bound to linear and pitched memory, arrays and mipmapped arrays, rebound between
// launches.
#pragma nv_diag_suppress 1215 // deprecated: that is what is tested
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#include "e2e.h"

texture<float, 1, cudaReadModeElementType> list;
texture<float, 2, cudaReadModeElementType> image;
texture<uchar4, 2, cudaReadModeNormalizedFloat> bytes;
texture<float, cudaTextureType2DLayered> layers;
texture<float, cudaTextureTypeCubemap> cube;
texture<float, 2> mipmap;
texture<float, 2> unused;
static texture<int, 1> numbers;
namespace space
{
texture<float, 3> volume;
namespace
{
surface<void, cudaSurfaceType2D> target;
}
} // namespace space

__global__ void read_list(float *out, int n, int offset)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = tex1Dfetch(list, i + offset);
    }
}

__global__ void read_numbers(int *out)
{
    out[threadIdx.x] = tex1Dfetch(numbers, threadIdx.x);
}

__global__ void read_image(float *out, float dx)
{
    out[blockIdx.x * blockDim.x + threadIdx.x] =
        tex2D(image, threadIdx.x + 0.5f + dx, blockIdx.x + 0.5f);
}

__global__ void read_bytes(float4 *out)
{
    out[threadIdx.x] = tex2D(bytes, threadIdx.x + 0.5f, 0.5f);
}

__global__ void read_volume(float *out)
{
    int i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[i] = tex3D(space::volume, threadIdx.x + 0.5f, threadIdx.y + 0.5f, threadIdx.z + 0.5f);
}

__global__ void read_layers(float *out)
{
    int i = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    out[i] = tex2DLayered(layers, threadIdx.x + 0.5f, threadIdx.y + 0.5f, threadIdx.z);
}

__global__ void read_cube(float *out)
{
    out[0] = texCubemap(cube, 1.0f, 0.0f, 0.0f);
    out[1] = texCubemap(cube, 0.0f, 0.0f, -1.0f);
}

__global__ void read_mipmap(float *out)
{
    out[0] = tex2DLod(mipmap, 0.5f, 0.5f, 0.0f);
    out[1] = tex2DLod(mipmap, 0.5f, 0.5f, 1.0f);
    out[2] = tex2DLod(mipmap, 0.5f, 0.5f, 0.5f);
}

__global__ void write_surface()
{
    surf2Dwrite((float)(blockIdx.x * 100 + threadIdx.x), space::target, threadIdx.x * 4,
                blockIdx.x);
}

static void linear_memory(const std::vector<float> &host)
{
    const int n = (int)host.size();
    Device<float> in(host), out(n);
    size_t offset = 99;
    CHECK(cudaBindTexture(&offset, list, in, n * sizeof(float)));
    EXPECT(offset == 0);
    read_list<<<(n + 255) / 256, 256>>>(out, n, 0);
    CHECK_LAUNCH();
    expect_equal(out.get(), host);
    // A start that is not aligned.
    CHECK(cudaBindTexture(&offset, list, in + 5));
    EXPECT(offset == 20);
    read_list<<<(n + 255) / 256, 256>>>(out, n - 5, (int)(offset / sizeof(float)));
    CHECK_LAUNCH();
    std::vector<float> got = out.get();
    for (int i = 0; i < n - 5; i++) {
        EXPECT(got[i] == host[i + 5]);
    }
    CHECK(cudaUnbindTexture(list));
    std::vector<int> small = {3, -1, 4, -1, 5, -9, 2, -6};
    Device<int> values(small), read(8);
    CHECK(cudaBindTexture(nullptr, numbers, values, 32));
    read_numbers<<<1, 8>>>(read);
    CHECK_LAUNCH();
    expect_equal(read.get(), small);
}

static void images(const std::vector<float> &host)
{
    enum { W = 20, H = 10 };
    std::vector<float> plain(host.begin(), host.begin() + W * H), want(W * H);
    Device<float> out(W * H);
    cudaArray_t array;
    CHECK(cudaMallocArray(&array, &image.channelDesc, W, H));
    CHECK(cudaMemcpyToArray(array, 0, 0, plain.data(), W * H * 4, cudaMemcpyHostToDevice));
    CHECK(cudaBindTextureToArray(image, array));
    read_image<<<H, W>>>(out, 0.0f);
    CHECK_LAUNCH();
    expect_equal(out.get(), plain);
    image.filterMode = cudaFilterModeLinear;
    image.addressMode[0] = image.addressMode[1] = cudaAddressModeClamp;
    CHECK(cudaBindTextureToArray(image, array));
    read_image<<<H, W>>>(out, 0.5f);
    CHECK_LAUNCH();
    for (int i = 0; i < W * H; i++) {
        want[i] = i % W == W - 1 ? plain[i] : (plain[i] + plain[i + 1]) / 2;
    }
    expect_near(out.get(), want, 1e-5);
    // A launch keeps what was bound when it was made.
    char *pitched;
    size_t pitch;
    CHECK(cudaMallocPitch(&pitched, &pitch, W * 4, H));
    CHECK(cudaMemset2D(pitched, pitch, 0, W * 4, H));
    image.filterMode = cudaFilterModePoint;
    CHECK(cudaBindTextureToArray(image, array));
    read_image<<<H, W>>>(out, 0.0f);
    CHECK(cudaBindTexture2D(nullptr, image, pitched, W, H, pitch));
    CHECK_LAUNCH();
    expect_equal(out.get(), plain);
    read_image<<<H, W>>>(out, 0.0f);
    CHECK_LAUNCH();
    expect_equal(out.get(), std::vector<float>(W * H, 0.0f));
    CHECK(cudaUnbindTexture(image));
    CHECK(cudaFree(pitched));
    CHECK(cudaFreeArray(array));

    std::vector<uchar4> colours(8);
    for (int i = 0; i < 8; i++) {
        colours[i] = make_uchar4(i, 2 * i, 255, 0);
    }
    CHECK(cudaMallocArray(&array, &bytes.channelDesc, 8, 1));
    CHECK(cudaMemcpyToArray(array, 0, 0, colours.data(), 32, cudaMemcpyHostToDevice));
    CHECK(cudaBindTextureToArray(bytes, array));
    Device<float4> read(8);
    read_bytes<<<1, 8>>>(read);
    CHECK_LAUNCH();
    std::vector<float4> got = read.get();
    for (int i = 0; i < 8; i++) {
        EXPECT(near(got[i].x, i / 255.0, 1e-6) && near(got[i].y, 2 * i / 255.0, 1e-6));
        EXPECT(got[i].z == 1 && got[i].w == 0);
    }
    CHECK(cudaFreeArray(array));
}

static cudaArray_t filled(const std::vector<float> &host, cudaExtent extent, unsigned flags)
{
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMalloc3DArray(&array, &format, extent, flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr =
        make_cudaPitchedPtr((void *)host.data(), extent.width * 4, extent.width, extent.height);
    copy.dstArray = array;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

static void solids(const std::vector<float> &host)
{
    std::vector<float> first(host.begin(), host.begin() + 60);
    Device<float> out(60);
    cudaArray_t solid = filled(host, make_cudaExtent(5, 4, 3), 0);
    cudaArray_t stack = filled(host, make_cudaExtent(5, 4, 3), cudaArrayLayered);
    cudaArray_t faces = filled(host, make_cudaExtent(2, 2, 6), cudaArrayCubemap);
    CHECK(cudaBindTextureToArray(space::volume, solid));
    CHECK(cudaBindTextureToArray(layers, stack));
    CHECK(cudaBindTextureToArray(cube, faces));
    read_volume<<<1, dim3(5, 4, 3)>>>(out);
    CHECK_LAUNCH();
    expect_equal(out.get(), first);
    out.fill(0);
    read_layers<<<1, dim3(5, 4, 3)>>>(out);
    CHECK_LAUNCH();
    expect_equal(out.get(), first);
    read_cube<<<1, 1>>>(out);
    CHECK_LAUNCH();
    EXPECT(out.get()[0] >= host[0] && out.get()[0] <= host[3] && out.get()[1] >= host[20]);
    CHECK(cudaFreeArray(solid));
    CHECK(cudaFreeArray(stack));
    CHECK(cudaFreeArray(faces));

    cudaMipmappedArray_t levels;
    cudaArray_t level;
    const float fine[4] = {1, 1, 1, 1}, coarse = 9;
    CHECK(cudaMallocMipmappedArray(&levels, &mipmap.channelDesc, make_cudaExtent(2, 2, 0), 2));
    CHECK(cudaGetMipmappedArrayLevel(&level, levels, 0));
    CHECK(cudaMemcpyToArray(level, 0, 0, fine, 16, cudaMemcpyHostToDevice));
    CHECK(cudaGetMipmappedArrayLevel(&level, levels, 1));
    CHECK(cudaMemcpyToArray(level, 0, 0, &coarse, 4, cudaMemcpyHostToDevice));
    mipmap.normalized = true;
    mipmap.mipmapFilterMode = cudaFilterModeLinear;
    mipmap.maxMipmapLevelClamp = 1;
    CHECK(cudaBindTextureToMipmappedArray(mipmap, levels, mipmap.channelDesc));
    read_mipmap<<<1, 1>>>(out);
    CHECK_LAUNCH();
    std::vector<float> got = out.get();
    EXPECT(got[0] == 1 && got[1] == 9 && near(got[2], 5, 0.01));
    CHECK(cudaFreeMipmappedArray(levels));
}

static void surfaces()
{
    enum { W = 20, H = 10 };
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<float>();
    CHECK(cudaMallocArray(&array, &format, W, H, cudaArraySurfaceLoadStore));
    CHECK(cudaBindSurfaceToArray(space::target, array));
    write_surface<<<H, W>>>();
    CHECK_LAUNCH();
    float got[H][W];
    CHECK(cudaMemcpyFromArray(got, array, 0, 0, sizeof(got), cudaMemcpyDeviceToHost));
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            EXPECT(got[y][x] == y * 100 + x);
        }
    }
    CHECK(cudaBindTextureToArray(unused, array));
    CHECK(cudaUnbindTexture(unused));
    CHECK(cudaFreeArray(array));
}

int main()
{
    std::vector<float> host(1000);
    for (size_t i = 0; i < host.size(); i++) {
        host[i] = i * 1.5f;
    }
    linear_memory(host);
    images(host);
    solids(host);
    surfaces();
    CHECK(cudaDeviceReset());
    linear_memory(host); // everything is bound again
    return pass();
}
