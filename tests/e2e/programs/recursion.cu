// SPDX-License-Identifier: Apache-2.0
//
// Recursive device functions: single, double and mutual recursion, depths that differ by lane, and
// a quicksort that recurses on both halves.
#include <algorithm>

#include "e2e.h"

__device__ __noinline__ unsigned fibonacci(unsigned n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

__device__ __noinline__ unsigned ackermann(unsigned m, unsigned n)
{
    if (m == 0) {
        return n + 1;
    }
    return ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

__device__ __noinline__ bool odd(unsigned n);
__device__ __noinline__ bool even(unsigned n)
{
    return n == 0 ? true : odd(n - 1);
}
__device__ __noinline__ bool odd(unsigned n)
{
    return n == 0 ? false : even(n - 1);
}

__device__ __noinline__ void quicksort(int *data, int low, int high)
{
    if (low >= high) {
        return;
    }
    int pivot = data[(low + high) / 2], i = low, j = high;
    while (i <= j) {
        while (data[i] < pivot) {
            i++;
        }
        while (data[j] > pivot) {
            j--;
        }
        if (i <= j) {
            int t = data[i];
            data[i++] = data[j];
            data[j--] = t;
        }
    }
    quicksort(data, low, j);
    quicksort(data, i, high);
}

__global__ void numbers(unsigned *out)
{
    unsigned i = threadIdx.x;
    out[i] = fibonacci(i % 14) * 1000000 + ackermann(i % 3, i % 4) * 10 + (even(i) ? 1 : 0);
}

__global__ void sort_rows(int *data, int length)
{
    quicksort(data + threadIdx.x * length, 0, length - 1);
}

static unsigned host_fibonacci(unsigned n)
{
    return n < 2 ? n : host_fibonacci(n - 1) + host_fibonacci(n - 2);
}

static unsigned host_ackermann(unsigned m, unsigned n)
{
    return m == 0 ? n + 1 : m == 1 ? n + 2 : 2 * n + 3;
}

int main()
{
    CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 16 * 1024));
    size_t stack = 0;
    CHECK(cudaDeviceGetLimit(&stack, cudaLimitStackSize));
    EXPECT(stack >= 16 * 1024);
    Device<unsigned> out(64);
    numbers<<<1, 64>>>(out);
    CHECK_LAUNCH();
    std::vector<unsigned> got = out.get();
    for (unsigned i = 0; i < 64; i++) {
        EXPECT(got[i] == host_fibonacci(i % 14) * 1000000 + host_ackermann(i % 3, i % 4) * 10 +
                             (i % 2 == 0 ? 1 : 0));
    }
    const int rows = 20, length = 60;
    Random random(15);
    std::vector<int> data(rows * length);
    for (auto &x : data) {
        x = random.below(1000);
    }
    Device<int> d(data);
    sort_rows<<<1, rows>>>(d, length);
    CHECK_LAUNCH();
    for (int r = 0; r < rows; r++) {
        std::sort(data.begin() + r * length, data.begin() + (r + 1) * length);
    }
    expect_equal(d.get(), data);
    return pass();
}
