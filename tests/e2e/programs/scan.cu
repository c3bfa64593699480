// SPDX-License-Identifier: Apache-2.0
//
// Inclusive scan of an array of any length: block scans, scan of the block sums, addition.
#include "e2e.h"

constexpr int block = 128;

__global__ void scan_blocks(const unsigned *in, unsigned *out, unsigned *sums, int n)
{
    __shared__ unsigned buffer[2][block];
    int i = blockIdx.x * block + threadIdx.x, from = 0;
    buffer[0][threadIdx.x] = i < n ? in[i] : 0;
    __syncthreads();
    for (int step = 1; step < block; step *= 2) {
        unsigned value = buffer[from][threadIdx.x];
        if ((int)threadIdx.x >= step) {
            value += buffer[from][threadIdx.x - step];
        }
        buffer[1 - from][threadIdx.x] = value;
        from = 1 - from;
        __syncthreads();
    }
    if (i < n) {
        out[i] = buffer[from][threadIdx.x];
    }
    if (sums != nullptr && threadIdx.x == block - 1) {
        sums[blockIdx.x] = buffer[from][threadIdx.x];
    }
}

__global__ void add_offsets(unsigned *out, const unsigned *sums, int n)
{
    int i = blockIdx.x * block + threadIdx.x;
    if (blockIdx.x > 0 && i < n) {
        out[i] += sums[blockIdx.x - 1];
    }
}

int main()
{
    const int n = block * 90 + 17, blocks = (n + block - 1) / block;
    static_assert((block * 90 + 17 + block - 1) / block <= block, "one level of sums");
    Random random(6);
    std::vector<unsigned> in(n), want(n);
    unsigned sum = 0;
    for (int i = 0; i < n; i++) {
        in[i] = (unsigned)random.next();
        want[i] = sum += in[i];
    }
    Device<unsigned> din(in), dout(n), sums(blocks);
    scan_blocks<<<blocks, block>>>(din, dout, sums, n);
    scan_blocks<<<1, block>>>(sums, sums, nullptr, blocks);
    add_offsets<<<blocks, block>>>(dout, sums, n);
    CHECK_LAUNCH();
    expect_equal(dout.get(), want);
    return pass();
}
