// SPDX-License-Identifier: Apache-2.0
//
// Work-efficient scan with bank-conflict padding: barriers in an up-sweep and a down-sweep loop.
#include "e2e.h"

#define PAD(i) ((i) + ((i) >> 5))

__global__ void scan(const float *in, float *out, int n)
{
    extern __shared__ float temp[];
    int t = threadIdx.x, offset = 1;
    int a = t, b = t + n / 2;
    temp[PAD(a)] = in[a];
    temp[PAD(b)] = in[b];
    for (int d = n >> 1; d > 0; d >>= 1) {
        __syncthreads();
        if (t < d) {
            int i = offset * (2 * t + 1) - 1, j = offset * (2 * t + 2) - 1;
            temp[PAD(j)] += temp[PAD(i)];
        }
        offset *= 2;
    }
    if (t == 0) {
        temp[PAD(n - 1)] = 0;
    }
    for (int d = 1; d < n; d *= 2) {
        offset >>= 1;
        __syncthreads();
        if (t < d) {
            int i = offset * (2 * t + 1) - 1, j = offset * (2 * t + 2) - 1;
            float value = temp[PAD(i)];
            temp[PAD(i)] = temp[PAD(j)];
            temp[PAD(j)] += value;
        }
    }
    __syncthreads();
    out[a] = temp[PAD(a)];
    out[b] = temp[PAD(b)];
}

int main()
{
    const int n = 512;
    std::vector<float> in(n), want(n);
    float sum = 0;
    for (int i = 0; i < n; i++) {
        in[i] = (float)(i % 10); // small integers: exact in any order
        want[i] = sum;
        sum += in[i];
    }
    Device<float> din(in), dout(n);
    scan<<<1, n / 2, PAD(n) * sizeof(float)>>>(din, dout, n);
    CHECK_LAUNCH();
    expect_equal(dout.get(), want);
    return pass();
}
