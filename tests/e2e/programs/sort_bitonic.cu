// SPDX-License-Identifier: Apache-2.0
//
// Bitonic sort: shared memory for the small strides, one launch per large stride.
#include <algorithm>

#include "e2e.h"

constexpr unsigned chunk = 256;

__device__ void exchange(int &a, int &b, bool ascending)
{
    if ((a > b) == ascending) {
        int t = a;
        a = b;
        b = t;
    }
}

__global__ void sort_local(int *data, unsigned size, unsigned first)
{
    __shared__ int s[chunk];
    unsigned base = blockIdx.x * chunk, t = threadIdx.x;
    s[t] = data[base + t];
    s[t + chunk / 2] = data[base + t + chunk / 2];
    for (unsigned length = size; length <= (first ? chunk : size); length *= 2) {
        for (unsigned stride = min(length, chunk) / 2; stride > 0; stride /= 2) {
            __syncthreads();
            unsigned low = 2 * t - (t & (stride - 1));
            bool ascending = ((base + low) & length) == 0;
            exchange(s[low], s[low + stride], ascending);
        }
    }
    __syncthreads();
    data[base + t] = s[t];
    data[base + t + chunk / 2] = s[t + chunk / 2];
}

__global__ void merge_step(int *data, unsigned length, unsigned stride)
{
    unsigned t = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned low = 2 * t - (t & (stride - 1));
    exchange(data[low], data[low + stride], (low & length) == 0);
}

int main()
{
    const unsigned n = 4096;
    Random random(8);
    std::vector<int> data(n);
    for (auto &x : data) {
        x = (int)(uint32_t)random.next();
    }
    Device<int> d(data);
    sort_local<<<n / chunk, chunk / 2>>>(d, 2, 1);
    for (unsigned length = 2 * chunk; length <= n; length *= 2) {
        for (unsigned stride = length / 2; stride >= chunk; stride /= 2) {
            merge_step<<<n / 2 / 128, 128>>>(d, length, stride);
        }
        sort_local<<<n / chunk, chunk / 2>>>(d, length, 0);
    }
    CHECK_LAUNCH();
    std::sort(data.begin(), data.end());
    expect_equal(d.get(), data);
    return pass();
}
