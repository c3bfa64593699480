// SPDX-License-Identifier: Apache-2.0
//
// Threads that have left do not hold up a barrier: 100 threads, all above a limit gone; and a loop
// that one thread after the other leaves.
#include "e2e.h"

__global__ void leave(int *out)
{
    __shared__ int s[16];
    int t = threadIdx.x;
    if (t > 10) {
        return;
    }
    s[t] = t * 2;
    __syncthreads();
    out[t] = s[10 - t];
}

__global__ void one_by_one(int *out)
{
    __shared__ int rounds;
    int t = threadIdx.x;
    if (t == 0) {
        rounds = 0;
    }
    __syncthreads();
    for (int i = 0; i <= t; i++) {
        __syncthreads();
        if (t == (int)blockDim.x - 1) {
            rounds++;
        }
        __syncthreads();
        if (i == t) {
            out[t] = rounds;
            return;
        }
    }
}

int main()
{
    Device<int> out(100);
    out.fill(0);
    leave<<<1, 100>>>(out);
    CHECK_LAUNCH();
    std::vector<int> got = out.get();
    for (int i = 0; i < 100; i++) {
        EXPECT(got[i] == (i <= 10 ? 2 * (10 - i) : 0));
    }
    one_by_one<<<1, 70>>>(out);
    CHECK_LAUNCH();
    got = out.get();
    for (int i = 0; i < 70; i++) {
        EXPECT(got[i] == i + 1);
    }
    return pass();
}
