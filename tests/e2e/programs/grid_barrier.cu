// SPDX-License-Identifier: Apache-2.0
//
// A hand-made barrier over the whole grid: atomicAdd and spinning, as many blocks as the occupancy
// calculator reports to be resident. Blocks that run one after the other would hang.
// e2e-forms: lane warp
#include "e2e.h"

__device__ unsigned arrived;
__device__ volatile unsigned generation;

__device__ void grid_wait(unsigned blocks)
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned now = generation;
        __threadfence();
        if (atomicAdd(&arrived, 1) == blocks - 1) {
            arrived = 0;
            __threadfence();
            generation = now + 1;
        } else {
            while (generation == now) {
            }
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void shift(int *a, int *b, int n, int rounds)
{
    int *from = a, *to = b;
    for (int r = 0; r < rounds; r++) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
            to[i] = from[(i + 1) % n] + 1;
        }
        grid_wait(gridDim.x);
        int *t = from;
        from = to;
        to = t;
    }
}

int main()
{
    int per_sm = 0, sms = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, shift, 64, 0));
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    EXPECT(per_sm >= 1 && sms >= 1);
    int blocks = per_sm * sms > 8 ? 8 : per_sm * sms;
    const int n = 1000, rounds = 6;
    std::vector<int> a(n), want(n);
    for (int i = 0; i < n; i++) {
        a[i] = i * 5;
    }
    for (int i = 0; i < n; i++) {
        want[i] = (i + rounds) % n * 5 + rounds;
    }
    Device<int> da(a), db(n);
    shift<<<blocks, 64>>>(da, db, n, rounds);
    CHECK_LAUNCH();
    expect_equal(da.get(), want);
    return pass();
}
