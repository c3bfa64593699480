// SPDX-License-Identifier: Apache-2.0
//
// A shared array, a barrier and shuffles after a divergent branch, with one and with two exits:
// both shapes must give the same sums.
#include "e2e.h"

template <bool two_exits> __global__ void sum(const int *in, int *out, int n)
{
    __shared__ int warp_sums[32];
    int i = threadIdx.x, lane = i % 32, warp = i / 32;
    int value = 0;
    if (i < n) {
        value = in[i];
    }
    for (int step = 16; step > 0; step /= 2) {
        value += __shfl_down_sync(0xffffffffu, value, step);
    }
    if (lane == 0) {
        warp_sums[warp] = value;
    }
    __syncthreads();
    value = i < blockDim.x / 32 ? warp_sums[lane] : 0;
    if (two_exits) {
        if (warp != 0) {
            return;
        }
        for (int step = 16; step > 0; step /= 2) {
            value += __shfl_down_sync(0xffffffffu, value, step);
        }
        if (lane != 0) {
            return;
        }
        *out = value;
    } else {
        if (warp == 0) {
            for (int step = 16; step > 0; step /= 2) {
                value += __shfl_down_sync(0xffffffffu, value, step);
            }
        }
        if (i == 0) {
            *out = value;
        }
    }
}

int main()
{
    const int n = 777;
    std::vector<int> in(n);
    int want = 0;
    for (int i = 0; i < n; i++) {
        want += in[i] = i * i - 300;
    }
    Device<int> din(in), out(2);
    sum<false><<<1, 1024>>>(din, out, n);
    sum<true><<<1, 1024>>>(din, out + 1, n);
    CHECK_LAUNCH();
    EXPECT(out.get()[0] == want && out.get()[1] == want);
    return pass();
}
