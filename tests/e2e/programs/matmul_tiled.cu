// SPDX-License-Identifier: Apache-2.0
//
// Matrix product through shared tiles: barriers inside a loop, guarded loads, padded tile rows.
#include "e2e.h"

constexpr int tile = 16;

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    __shared__ float ta[tile][tile + 1], tb[tile][tile + 1];
    int row = blockIdx.y * tile + threadIdx.y, col = blockIdx.x * tile + threadIdx.x;
    float sum = 0.0f;
    for (int t = 0; t < (k + tile - 1) / tile; t++) {
        int ka = t * tile + threadIdx.x, kb = t * tile + threadIdx.y;
        ta[threadIdx.y][threadIdx.x] = row < m && ka < k ? a[row * k + ka] : 0.0f;
        tb[threadIdx.y][threadIdx.x] = kb < k && col < n ? b[kb * n + col] : 0.0f;
        __syncthreads();
#pragma unroll
        for (int i = 0; i < tile; i++) {
            sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
        }
        __syncthreads();
    }
    if (row < m && col < n) {
        c[row * n + col] = sum;
    }
}

int main()
{
    const int m = 70, n = 53, k = 61;
    Random random(4);
    std::vector<float> a(m * k), b(k * n), want(m * n);
    for (auto &x : a) {
        x = random.uniform(-1, 1);
    }
    for (auto &x : b) {
        x = random.uniform(-1, 1);
    }
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            double sum = 0;
            for (int l = 0; l < k; l++) {
                sum += (double)a[i * k + l] * b[l * n + j];
            }
            want[i * n + j] = (float)sum;
        }
    }
    Device<float> da(a), db(b), dc(m * n);
    matmul<<<dim3((n + tile - 1) / tile, (m + tile - 1) / tile), dim3(tile, tile)>>>(da, db, dc, m,
                                                                                     n, k);
    CHECK_LAUNCH();
    expect_near(dc.get(), want, 1e-5);
    return pass();
}
