// SPDX-License-Identifier: Apache-2.0
//
// Dynamic shared memory: several arrays in one block, static beside it, the 48 KiB opt-in, limits.
#include <algorithm>

#include "e2e.h"

extern __shared__ unsigned char raw[];

__global__ void reverse(const double *in, double *out, int n)
{
    __shared__ int guard[4];
    double *values = (double *)raw;
    short *indices = (short *)(values + n);
    int t = threadIdx.x;
    if (t < 4) {
        guard[t] = t * 11;
    }
    values[t] = in[t];
    indices[t] = (short)(n - 1 - t);
    __syncthreads();
    out[t] = values[indices[t]] + guard[t % 4];
}

__global__ void fill(unsigned *sum, int words)
{
    unsigned *w = (unsigned *)raw;
    for (int i = threadIdx.x; i < words; i += blockDim.x) {
        w[i] = i * 3u;
    }
    __syncthreads();
    unsigned total = 0;
    for (int i = threadIdx.x; i < words; i += blockDim.x) {
        total += w[words - 1 - i];
    }
    atomicAdd(sum, total);
}

int main()
{
    const int n = 200;
    std::vector<double> in(n), want(n);
    for (int i = 0; i < n; i++) {
        in[i] = i * 1.5;
        want[n - 1 - i] = in[i] + (n - 1 - i) % 4 * 11;
    }
    Device<double> din(in), dout(n);
    reverse<<<1, n, (sizeof(double) + sizeof(short)) * n>>>(din, dout, n);
    CHECK_LAUNCH();
    expect_equal(dout.get(), want);

    Device<unsigned> sum(1);
    const int big = 64 * 1024, words = big / 4;
    fill<<<1, 128, big>>>(sum, words); // more than 48 KiB needs the attribute
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CHECK(cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, big));
    sum.fill(0);
    fill<<<2, 128, big>>>(sum, words);
    CHECK_LAUNCH();
    unsigned total = 0;
    for (int i = 0; i < words; i++) {
        total += i * 3u;
    }
    EXPECT(sum.get()[0] == 2 * total);
    cudaFuncAttributes attributes;
    CHECK(cudaFuncGetAttributes(&attributes, reverse));
    EXPECT(attributes.sharedSizeBytes == 16);
    CHECK(cudaFuncGetAttributes(&attributes, fill));
    EXPECT(attributes.maxDynamicSharedSizeBytes == big);
    return pass();
}
