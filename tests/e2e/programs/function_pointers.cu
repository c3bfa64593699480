// SPDX-License-Identifier: Apache-2.0
//
// Device function pointers: from a device table, from a device variable read by the host, as a
// kernel argument; lanes of one warp call different functions.
#include "e2e.h"

typedef int (*Operation)(int, int);

__device__ __noinline__ int op_add(int a, int b)
{
    return a + b;
}
__device__ __noinline__ int op_sub(int a, int b)
{
    return a - b;
}
__device__ __noinline__ int op_mul(int a, int b)
{
    return a * b;
}
__device__ __noinline__ int op_gcd(int a, int b)
{
    while (b != 0) {
        int t = a % b;
        a = b;
        b = t;
    }
    return a;
}

__device__ Operation table[4] = {op_add, op_sub, op_mul, op_gcd};
__device__ Operation chosen = op_mul;

__global__ void from_table(int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = table[i % 4](i, 12);
    }
}

__global__ void from_argument(Operation f, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        out[i] = f(i, 3);
    }
}

static int gcd(int a, int b)
{
    return b == 0 ? a : gcd(b, a % b);
}

int main()
{
    const int n = 200;
    std::vector<int> want(n);
    for (int i = 0; i < n; i++) {
        int all[4] = {i + 12, i - 12, i * 12, gcd(i, 12)};
        want[i] = all[i % 4];
    }
    Device<int> d(n);
    from_table<<<4, 64>>>(d, n);
    CHECK_LAUNCH();
    expect_equal(d.get(), want);

    Operation f = nullptr;
    CHECK(cudaMemcpyFromSymbol(&f, chosen, sizeof(f)));
    EXPECT(f != nullptr);
    from_argument<<<4, 64>>>(f, d, n);
    CHECK_LAUNCH();
    for (int i = 0; i < n; i++) {
        want[i] = i * 3;
    }
    expect_equal(d.get(), want);
    return pass();
}
