// SPDX-License-Identifier: Apache-2.0
//
// 16 of 256 threads do the work around a shared cell that is reset, conditionally written and read
// back across two barriers, a hundred times.
#include "e2e.h"

__global__ void cell(const int *pick, int *failures)
{
    __shared__ int winner;
    int t = threadIdx.x;
    for (int round = 0; round < 100; round++) {
        if (t == 0) {
            winner = -1;
        }
        __syncthreads();
        if (t < 16 && t == pick[round]) {
            winner = t;
        }
        __syncthreads();
        if (t < 16 && winner != pick[round]) {
            atomicAdd(failures, 1);
        }
        __syncthreads();
    }
}

__global__ void two_of_four(int *out)
{
    __shared__ int s[2];
    if (threadIdx.x < 2) {
        s[threadIdx.x] = threadIdx.x + 1;
    }
    __syncthreads();
    out[threadIdx.x * 2] = s[0];
    out[threadIdx.x * 2 + 1] = s[1];
}

int main()
{
    Random random(20);
    std::vector<int> pick(100);
    for (auto &p : pick) {
        p = random.below(16);
    }
    Device<int> dp(pick), failures(1), out(8);
    failures.fill(0);
    cell<<<3, 256>>>(dp, failures);
    two_of_four<<<1, 4>>>(out);
    CHECK_LAUNCH();
    EXPECT(failures.get()[0] == 0);
    expect_equal(out.get(), std::vector<int>{1, 2, 1, 2, 1, 2, 1, 2});
    return pass();
}
