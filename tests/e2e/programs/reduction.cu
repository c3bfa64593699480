// SPDX-License-Identifier: Apache-2.0
//
// Sum and maximum: shared tree, warp shuffles, one atomic per block.
#include "e2e.h"

__global__ void reduce(const int *in, int n, unsigned long long *sum, int *maximum)
{
    __shared__ int shared_sum[256];
    __shared__ int warp_max[8];
    int s = 0, m = INT32_MIN;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        s += in[i];
        m = max(m, in[i]);
    }
    shared_sum[threadIdx.x] = s;
    __syncthreads();
    for (int half = 128; half > 0; half /= 2) {
        if ((int)threadIdx.x < half) {
            shared_sum[threadIdx.x] += shared_sum[threadIdx.x + half];
        }
        __syncthreads();
    }
    for (int step = 16; step > 0; step /= 2) {
        m = max(m, __shfl_xor_sync(0xffffffffu, m, step));
    }
    if (threadIdx.x % 32 == 0) {
        warp_max[threadIdx.x / 32] = m;
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        m = threadIdx.x < 8 ? warp_max[threadIdx.x] : INT32_MIN;
        for (int step = 4; step > 0; step /= 2) {
            m = max(m, __shfl_down_sync(0xffffffffu, m, step));
        }
    }
    if (threadIdx.x == 0) {
        atomicAdd(sum, (unsigned long long)(long long)shared_sum[0]);
        atomicMax(maximum, m);
    }
}

int main()
{
    const int n = 30011;
    Random random(5);
    std::vector<int> in(n);
    for (auto &x : in) {
        x = random.below(20001) - 10000;
    }
    const int want_max = 123456;
    in[n - 1] = want_max; // in the partial tail
    long long want = 0;
    for (int x : in) {
        want += x;
    }
    Device<int> din(in), dmax(std::vector<int>{INT32_MIN});
    Device<unsigned long long> dsum(1);
    dsum.fill(0);
    reduce<<<7, 256>>>(din, n, dsum, dmax);
    CHECK_LAUNCH();
    EXPECT((long long)dsum.get()[0] == want);
    EXPECT(dmax.get()[0] == want_max);
    return pass();
}
