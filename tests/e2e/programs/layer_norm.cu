// SPDX-License-Identifier: Apache-2.0
//
// Layer normalisation: float4 read-only loads with warp shuffles, against the plain form.
#include "e2e.h"

constexpr int width = 256;

__global__ void vectorised(const float4 *__restrict__ in, float4 *__restrict__ out)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    float4 v[2];
    float sum = 0;
    for (int i = 0; i < 2; i++) {
        v[i] = __ldg(&in[row * (width / 4) + i * 32 + lane]);
        sum += v[i].x + v[i].y + v[i].z + v[i].w;
    }
    for (int step = 16; step > 0; step /= 2) {
        sum += __shfl_xor_sync(0xffffffffu, sum, step);
    }
    float mean = __shfl_sync(0xffffffffu, sum, 0) * __frcp_rn((float)width), square = 0;
    for (int i = 0; i < 2; i++) {
        v[i].x -= mean;
        v[i].y -= mean;
        v[i].z -= mean;
        v[i].w -= mean;
        square += v[i].x * v[i].x + v[i].y * v[i].y + v[i].z * v[i].z + v[i].w * v[i].w;
    }
    for (int step = 16; step > 0; step /= 2) {
        square += __shfl_xor_sync(0xffffffffu, square, step);
    }
    float scale = rsqrtf(square / width + 1e-5f);
    for (int i = 0; i < 2; i++) {
        v[i].x *= scale;
        v[i].y *= scale;
        v[i].z *= scale;
        v[i].w *= scale;
        out[row * (width / 4) + i * 32 + lane] = v[i];
    }
}

__global__ void plain(const float *in, float *out)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0, square = 0;
    for (int i = 0; i < width; i++) {
        sum += in[row * width + i];
    }
    float mean = sum / width;
    for (int i = 0; i < width; i++) {
        float d = in[row * width + i] - mean;
        square += d * d;
    }
    for (int i = 0; i < width; i++) {
        out[row * width + i] = (in[row * width + i] - mean) / sqrtf(square / width + 1e-5f);
    }
}

int main()
{
    const int rows = 32;
    Random random(30);
    std::vector<float> in(rows * width), want(rows * width);
    for (int r = 0; r < rows; r++) {
        double sum = 0, square = 0;
        for (int i = 0; i < width; i++) {
            in[r * width + i] = random.uniform(-3, 3) + r;
            sum += in[r * width + i];
        }
        for (int i = 0; i < width; i++) {
            double d = in[r * width + i] - sum / width;
            square += d * d;
        }
        for (int i = 0; i < width; i++) {
            want[r * width + i] =
                (float)((in[r * width + i] - sum / width) / std::sqrt(square / width + 1e-5));
        }
    }
    Device<float> din(in), a(rows * width), b(rows * width);
    vectorised<<<rows / 4, 128>>>((const float4 *)din.p, (float4 *)a.p);
    plain<<<1, rows>>>(din, b);
    CHECK_LAUNCH();
    expect_near(a.get(), want, 2e-5);
    expect_near(b.get(), want, 2e-5);
    return pass();
}
