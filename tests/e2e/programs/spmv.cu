// SPDX-License-Identifier: Apache-2.0
//
// Sparse matrix times vector in CSR form: one thread per row, and one warp per row with shuffles.
#include "e2e.h"

__global__ void spmv_scalar(const int *rows, const int *cols, const float *values, const float *x,
                            float *y, int n)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < n) {
        float sum = 0;
        for (int i = rows[row]; i < rows[row + 1]; i++) {
            sum += values[i] * __ldg(&x[cols[i]]);
        }
        y[row] = sum;
    }
}

__global__ void spmv_warp(const int *rows, const int *cols, const float *values, const float *x,
                          float *y, int n)
{
    int row = (blockIdx.x * blockDim.x + threadIdx.x) / warpSize, lane = threadIdx.x % warpSize;
    if (row >= n) {
        return; // whole warps leave together
    }
    float sum = 0;
    for (int i = rows[row] + lane; i < rows[row + 1]; i += warpSize) {
        sum += values[i] * x[cols[i]];
    }
    for (int step = warpSize / 2; step > 0; step /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, step);
    }
    if (lane == 0) {
        y[row] = sum;
    }
}

int main()
{
    const int n = 301;
    Random random(14);
    std::vector<int> rows{0}, cols;
    std::vector<float> values, x(n), want(n);
    for (auto &v : x) {
        v = random.uniform(-1, 1);
    }
    for (int i = 0; i < n; i++) {
        double sum = 0;
        int count = i % 7 == 0 ? 0 : random.below(90); // some rows are empty
        for (int j = 0; j < count; j++) {
            cols.push_back(random.below(n));
            values.push_back(random.uniform(-1, 1));
            sum += (double)values.back() * x[cols.back()];
        }
        rows.push_back((int)cols.size());
        want[i] = (float)sum;
    }
    Device<int> dr(rows), dc(cols);
    Device<float> dv(values), dx(x), dy(n);
    dy.fill(0xff);
    spmv_scalar<<<(n + 63) / 64, 64>>>(dr, dc, dv, dx, dy, n);
    CHECK_LAUNCH();
    expect_near(dy.get(), want, 1e-5);
    dy.fill(0xff);
    spmv_warp<<<(n * 32 + 127) / 128, 128>>>(dr, dc, dv, dx, dy, n);
    CHECK_LAUNCH();
    expect_near(dy.get(), want, 1e-5);
    return pass();
}
