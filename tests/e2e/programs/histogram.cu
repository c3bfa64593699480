// SPDX-License-Identifier: Apache-2.0
//
// 256-bin histogram of bytes: per-block shared bins, then global atomics.
#include "e2e.h"

__global__ void histogram(const uint8_t *data, size_t n, unsigned *bins)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        atomicAdd(&local[data[i]], 1);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

int main()
{
    const size_t n = 50021;
    Random random(10);
    std::vector<uint8_t> data(n);
    std::vector<unsigned> want(256);
    for (auto &x : data) {
        x = (uint8_t)(random.below(16) * random.below(17));
        want[x]++;
    }
    Device<uint8_t> d(data);
    Device<unsigned> bins(256);
    bins.fill(0);
    histogram<<<6, 256>>>(d, n, bins);
    CHECK_LAUNCH();
    expect_equal(bins.get(), want);
    return pass();
}
