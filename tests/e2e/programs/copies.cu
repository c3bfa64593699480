// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in one, two and three dimensions, all directions, pitched memory, default kind.
#include "e2e.h"

__global__ void touch(unsigned char *p, size_t pitch, int w, int h)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y;
    if (x < w && y < h) {
        p[y * pitch + x] += 1;
    }
}

int main()
{
    const int w = 100, h = 30, d = 5;
    std::vector<unsigned char> host(w * h), back(w * h, 0);
    for (int i = 0; i < w * h; i++) {
        host[i] = (unsigned char)(i * 7);
    }
    unsigned char *p;
    size_t pitch = 0;
    CHECK(cudaMallocPitch((void **)&p, &pitch, w, h));
    EXPECT(pitch >= w);
    CHECK(cudaMemcpy2D(p, pitch, host.data(), w, w, h, cudaMemcpyHostToDevice));
    touch<<<dim3(4, h), 32>>>(p, pitch, w, h);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy2D(back.data(), w, p, pitch, w, h, cudaMemcpyDefault));
    for (int i = 0; i < w * h; i++) {
        EXPECT(back[i] == (unsigned char)(host[i] + 1));
    }
    CHECK(cudaMemset2D(p + 3, pitch, 0xab, 10, 4));
    CHECK(cudaMemcpy2DAsync(back.data(), w, p, pitch, w, h, cudaMemcpyDeviceToHost, 0));
    CHECK(cudaStreamSynchronize(0));
    for (int y = 0; y < h; y++) {
        for (int x = 0; x < w; x++) {
            bool filled = y < 4 && x >= 3 && x < 13;
            EXPECT(back[y * w + x] == (filled ? 0xab : (unsigned char)(host[y * w + x] + 1)));
        }
    }
    EXPECT_ERROR(cudaMemcpy2D(p, w - 1, host.data(), w, w, h, cudaMemcpyHostToDevice),
                 cudaErrorInvalidPitchValue);
    (void)cudaGetLastError();
    CHECK(cudaFree(p));

    cudaPitchedPtr box;
    cudaExtent extent = make_cudaExtent(w, h, d);
    CHECK(cudaMalloc3D(&box, extent));
    CHECK(cudaMemset3D(box, 0x11, extent));
    std::vector<unsigned char> volume(w * h * d), result(w * h * d);
    for (size_t i = 0; i < volume.size(); i++) {
        volume[i] = (unsigned char)(i * 13 + 1);
    }
    cudaMemcpy3DParms parameters = {};
    parameters.srcPtr = make_cudaPitchedPtr(volume.data(), w, w, h);
    parameters.dstPtr = box;
    parameters.srcPos = make_cudaPos(1, 2, 1);
    parameters.dstPos = make_cudaPos(4, 5, 2);
    parameters.extent = make_cudaExtent(20, 10, 3);
    parameters.kind = cudaMemcpyHostToDevice;
    CHECK(cudaMemcpy3D(&parameters));
    parameters = {};
    parameters.srcPtr = box;
    parameters.dstPtr = make_cudaPitchedPtr(result.data(), w, w, h);
    parameters.extent = extent;
    parameters.kind = cudaMemcpyDeviceToHost;
    CHECK(cudaMemcpy3D(&parameters));
    for (int z = 0; z < d; z++) {
        for (int y = 0; y < h; y++) {
            for (int x = 0; x < w; x++) {
                bool copied = x >= 4 && x < 24 && y >= 5 && y < 15 && z >= 2 && z < 5;
                int want = copied ? volume[((z - 1) * h + y - 3) * w + x - 3] : 0x11;
                EXPECT(result[(z * h + y) * w + x] == want);
            }
        }
    }
    CHECK(cudaFree(box.ptr));

    int *a, *b;
    CHECK(cudaMalloc((void **)&a, 4000));
    CHECK(cudaMalloc((void **)&b, 4000));
    CHECK(cudaMemset(a, 0x01, 4000));
    CHECK(cudaMemcpyAsync(b, a, 4000, cudaMemcpyDeviceToDevice, 0));
    int value[2] = {0, 0};
    CHECK(cudaMemcpy(value, b + 998, 8, cudaMemcpyDeviceToHost));
    EXPECT(value[0] == 0x01010101 && value[1] == 0x01010101);
    int x = 5, y = 0;
    CHECK(cudaMemcpy(&y, &x, sizeof(x), cudaMemcpyHostToHost));
    EXPECT(y == 5);
    CHECK(cudaMemcpy(a, b, 0, cudaMemcpyDeviceToDevice));
    EXPECT_ERROR(cudaMemcpy(a, b, 4, (cudaMemcpyKind)9), cudaErrorInvalidMemcpyDirection);
    CHECK(cudaFree(a));
    CHECK(cudaFree(b));
    return pass();
}
