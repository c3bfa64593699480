// SPDX-License-Identifier: Apache-2.0
//
// A barrier inside a condition that is true for all threads, and one where whole warps stay out
// because they have left.
#include "e2e.h"

__global__ void inside(int *a, int n)
{
    int idx = threadIdx.x;
    if (idx <= n) {
        __syncthreads();
        a[idx] = 1;
    }
}

__global__ void by_block(int *a, const int *use_barrier)
{
    __shared__ int s[64];
    int t = threadIdx.x;
    s[t] = t;
    int other = 63 - t;
    if (use_barrier[blockIdx.x]) { // the same for the whole block
        __syncthreads();
        t = s[other];
    }
    a[blockIdx.x * 64 + threadIdx.x] = t;
}

int main()
{
    const int n = 100;
    Device<int> a(n);
    a.fill(0);
    inside<<<1, n>>>(a, n);
    CHECK_LAUNCH();
    expect_equal(a.get(), std::vector<int>(n, 1));
    Device<int> b(128), use(std::vector<int>{0, 1});
    by_block<<<2, 64>>>(b, use);
    CHECK_LAUNCH();
    std::vector<int> got = b.get();
    for (int i = 0; i < 64; i++) {
        EXPECT(got[i] == i && got[64 + i] == 63 - i);
    }
    return pass();
}
