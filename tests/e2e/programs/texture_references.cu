// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface references, which CUDA 12 removed: module variables bound by the host to
// linear memory, pitched memory, arrays and mipmapped arrays. Built with nvcc 11 only.
#include "e2e.h"

texture<float, cudaTextureType1D, cudaReadModeElementType> linear_texture;
texture<float, cudaTextureType2D, cudaReadModeElementType> plane;
texture<uchar4, cudaTextureType2D, cudaReadModeNormalizedFloat> colors;
texture<float, cudaTextureType3D, cudaReadModeElementType> volume;
static texture<int, cudaTextureType2DLayered, cudaReadModeElementType> layered;
surface<void, cudaSurfaceType2D> target;

__global__ void read_linear(float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = tex1Dfetch(linear_texture, n - 1 - i);
    }
}

__global__ void read_plane(float *out)
{
    int x = threadIdx.x, y = blockIdx.x;
    out[y * blockDim.x + x] = tex2D(plane, x + 0.5f, y + 0.5f);
}

__global__ void read_others(float4 *color, float *voxel, int *layer)
{
    int i = threadIdx.x;
    color[i] = tex2D(colors, (i + 0.5f) / 8, 0.5f);
    voxel[i] = tex3D(volume, i % 2 + 0.5f, i / 2 % 2 + 0.5f, i / 4 + 0.5f);
    layer[i] = tex2DLayered(layered, i % 2 + 0.5f, 0.5f, i / 2);
}

__global__ void write_target()
{
    surf2Dwrite(threadIdx.x + 10 * blockIdx.x, target, threadIdx.x * 4, blockIdx.x);
}

template <typename T>
static cudaArray_t make_array(const std::vector<T> &data, int width, int height, int depth,
                              unsigned flags)
{
    cudaArray_t array;
    cudaChannelFormatDesc format = cudaCreateChannelDesc<T>();
    CHECK(cudaMalloc3DArray(&array, &format, make_cudaExtent(width, height, depth), flags));
    cudaMemcpy3DParms copy = {};
    copy.srcPtr = make_cudaPitchedPtr((void *)data.data(), width * sizeof(T), width, height);
    copy.dstArray = array;
    copy.extent = make_cudaExtent(width, height, depth ? depth : 1);
    copy.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&copy));
    return array;
}

int main()
{
    const int n = 100;
    std::vector<float> data(n), want(n);
    for (int i = 0; i < n; i++) {
        data[i] = i * 0.5f;
        want[n - 1 - i] = data[i];
    }
    Device<float> memory(data), out(n);
    size_t offset = 1;
    CHECK(cudaBindTexture(&offset, linear_texture, memory.p, n * sizeof(float)));
    EXPECT(offset == 0);
    read_linear<<<2, 64>>>(out, n);
    CHECK_LAUNCH();
    expect_equal(out.get(), want);
    CHECK(cudaUnbindTexture(linear_texture));

    // The same reference over pitched memory and then over an array.
    const int width = 10, height = 10;
    void *rows;
    size_t pitch;
    CHECK(cudaMallocPitch(&rows, &pitch, width * sizeof(float), height));
    CHECK(cudaMemcpy2D(rows, pitch, data.data(), width * sizeof(float), width * sizeof(float),
                       height, cudaMemcpyHostToDevice));
    CHECK(cudaBindTexture2D(&offset, plane, rows, width, height, pitch));
    read_plane<<<height, width>>>(out);
    CHECK_LAUNCH();
    expect_equal(out.get(), data);
    std::vector<float> other(data.rbegin(), data.rend());
    cudaArray_t array = make_array(other, width, height, 0, 0);
    plane.filterMode = cudaFilterModeLinear; // at the centres of texels it changes nothing
    CHECK(cudaBindTextureToArray(plane, array));
    read_plane<<<height, width>>>(out);
    CHECK_LAUNCH();
    expect_equal(out.get(), other);

    std::vector<uchar4> pixels(8);
    std::vector<float> voxels(8);
    std::vector<int> cells(8);
    for (int i = 0; i < 8; i++) {
        pixels[i] = make_uchar4(i, 255 - i, 0, 255);
        voxels[i] = 3.0f * i;
        cells[i] = -i;
    }
    colors.normalized = 1;
    CHECK(cudaBindTextureToArray(colors, make_array(pixels, 8, 1, 0, 0)));
    CHECK(cudaBindTextureToArray(volume, make_array(voxels, 2, 2, 2, 0)));
    CHECK(cudaBindTextureToArray(layered, make_array(cells, 2, 1, 4, cudaArrayLayered)));
    Device<float4> color(8);
    Device<float> voxel(8);
    Device<int> layer(8);
    read_others<<<1, 8>>>(color, voxel, layer);
    CHECK_LAUNCH();
    std::vector<float4> got = color.get();
    for (int i = 0; i < 8; i++) {
        EXPECT(got[i].x == i / 255.0f && got[i].y == (255 - i) / 255.0f && got[i].w == 1);
    }
    expect_equal(voxel.get(), voxels);
    expect_equal(layer.get(), cells);

    std::vector<int> zero(4 * 3);
    cudaArray_t written = make_array(zero, 4, 3, 0, cudaArraySurfaceLoadStore);
    CHECK(cudaBindSurfaceToArray(target, written));
    write_target<<<3, 4>>>();
    CHECK_LAUNCH();
    CHECK(cudaMemcpy2DFromArray(zero.data(), 16, written, 0, 0, 16, 3, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 12; i++) {
        EXPECT(zero[i] == i % 4 + 10 * (i / 4));
    }
    return pass();
}
