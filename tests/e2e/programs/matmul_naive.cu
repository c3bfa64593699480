// SPDX-License-Identifier: Apache-2.0
//
// Matrix product, one thread per element, sizes that are no multiple of the block.
#include "e2e.h"

__global__ void matmul(const float *a, const float *b, float *c, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    int col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || col >= n) {
        return;
    }
    float sum = 0.0f;
    for (int i = 0; i < k; i++) {
        sum += a[row * k + i] * b[i * n + col];
    }
    c[row * n + col] = sum;
}

int main()
{
    const int m = 67, n = 45, k = 83;
    Random random(3);
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
    matmul<<<dim3((n + 15) / 16, (m + 7) / 8), dim3(16, 8)>>>(da, db, dc, m, n, k);
    CHECK_LAUNCH();
    expect_near(dc.get(), want, 1e-5);
    return pass();
}
