// SPDX-License-Identifier: Apache-2.0
//
// Thrust and CUB as they come with the toolkit: sort, scan, reduction by key, selection. Their
// kernels are what large programs are made of: decoupled look-back with relaxed and acquire loads,
// wide vector accesses, warp ranking by match, tuned shared-memory unions.
#include <algorithm>
#include <numeric>

#include <cub/cub.cuh>
#include <thrust/device_vector.h>
#include <thrust/sort.h>

#include "e2e.h"

struct IsOdd {
    __host__ __device__ bool operator()(int x) const
    {
        return x & 1;
    }
};

int main()
{
    const int n = 20011;
    Random random(40);
    std::vector<int> in(n), want(n);
    for (auto &x : in) {
        x = random.below(1000000) - 500000;
    }

    thrust::device_vector<int> sorted(in.begin(), in.end());
    thrust::sort(sorted.begin(), sorted.end()); // radix sort
    want = in;
    std::sort(want.begin(), want.end());
    std::vector<int> got(n);
    thrust::copy(sorted.begin(), sorted.end(), got.begin());
    expect_equal(got, want);

    Device<int> din(in), dout(n), dcount(1);
    size_t bytes = 0, most = 0;
    CHECK(cub::DeviceScan::InclusiveSum(nullptr, bytes, din.p, dout.p, n));
    most = std::max(most, bytes);
    CHECK(cub::DeviceReduce::Max(nullptr, bytes, din.p, dout.p, n));
    most = std::max(most, bytes);
    CHECK(cub::DeviceSelect::If(nullptr, bytes, din.p, dout.p, dcount.p, n, IsOdd()));
    most = std::max(most, bytes);
    Device<char> scratch(most);

    bytes = most;
    CHECK(cub::DeviceScan::InclusiveSum(scratch.p, bytes, din.p, dout.p, n));
    std::partial_sum(in.begin(), in.end(), want.begin());
    expect_equal(dout.get(), want);

    bytes = most;
    CHECK(cub::DeviceReduce::Max(scratch.p, bytes, din.p, dout.p, n));
    EXPECT(dout.get()[0] == *std::max_element(in.begin(), in.end()));

    bytes = most;
    CHECK(cub::DeviceSelect::If(scratch.p, bytes, din.p, dout.p, dcount.p, n, IsOdd()));
    want.clear();
    std::copy_if(in.begin(), in.end(), std::back_inserter(want), IsOdd());
    got = dout.get();
    EXPECT(dcount.get()[0] == (int)want.size());
    got.resize(want.size());
    expect_equal(got, want);
    return pass();
}
