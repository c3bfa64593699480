// SPDX-License-Identifier: Apache-2.0
//
// Warp-aggregated increment through coalesced_threads(): the filter pattern; order is free, the
// set of results is not.
#include <algorithm>

#include <cooperative_groups.h>

#include "e2e.h"

namespace cg = cooperative_groups;

__device__ int aggregated_increment(int *counter, int *bad)
{
    cg::coalesced_group g = cg::coalesced_threads();
    if (g.size() < 1 || g.thread_rank() >= g.size()) {
        atomicAdd(bad, 1);
    }
    int base = 0;
    if (g.thread_rank() == 0) {
        base = atomicAdd(counter, (int)g.size());
    }
    return g.shfl(base, 0) + (int)g.thread_rank();
}

__global__ void filter(const int *in, int *out, int *counter, int *bad, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] % 3 == 0) {
        out[aggregated_increment(counter, bad)] = in[i];
    }
}

int main()
{
    const int n = 3001;
    Random random(17);
    std::vector<int> in(n), want;
    for (auto &x : in) {
        x = random.below(100000);
        if (x % 3 == 0) {
            want.push_back(x);
        }
    }
    Device<int> din(in), dout(n), counter(1), bad(1);
    counter.fill(0);
    bad.fill(0);
    filter<<<(n + 127) / 128, 128>>>(din, dout, counter, bad, n);
    CHECK_LAUNCH();
    EXPECT(counter.get()[0] == (int)want.size());
    EXPECT(bad.get()[0] == 0);
    std::vector<int> got = dout.get();
    got.resize(want.size());
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    expect_equal(got, want);
    return pass();
}
