// SPDX-License-Identifier: Apache-2.0
//
// Matrix transpose through a padded shared tile, each thread moving four elements.
#include "e2e.h"

__global__ void transpose(const double *in, double *out, int rows, int cols)
{
    __shared__ double tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (x < cols && y + i < rows) {
            tile[threadIdx.y + i][threadIdx.x] = in[(y + i) * cols + x];
        }
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int i = 0; i < 32; i += 8) {
        if (x < rows && y + i < cols) {
            out[(y + i) * rows + x] = tile[threadIdx.x][threadIdx.y + i];
        }
    }
}

int main()
{
    const int rows = 101, cols = 77;
    std::vector<double> in(rows * cols), want(rows * cols);
    for (int i = 0; i < rows; i++) {
        for (int j = 0; j < cols; j++) {
            want[j * rows + i] = in[i * cols + j] = i * 1000.0 + j;
        }
    }
    Device<double> din(in), dout(rows * cols);
    transpose<<<dim3((cols + 31) / 32, (rows + 31) / 32), dim3(32, 8)>>>(din, dout, rows, cols);
    CHECK_LAUNCH();
    expect_equal(dout.get(), want);
    return pass();
}
