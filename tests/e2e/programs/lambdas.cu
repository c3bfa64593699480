// SPDX-License-Identifier: Apache-2.0
//
// Extended lambdas as kernel arguments, captures by value, a lambda that calls another.
#include "e2e.h"

template <typename F> __global__ void for_each(int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        f(i);
    }
}

template <typename F> void run(int n, F f)
{
    for_each<<<(n + 31) / 32, 32>>>(n, f);
    CHECK_LAUNCH();
}

int main()
{
    const int n = 70;
    Device<double> d(n);
    double *p = d, scale = 2.5;
    auto square = [] __device__(int x) { return x * x; };
    run(n, [=] __device__(int i) { p[i] = scale * square(i); });
    run(n, [=] __device__(int i) { p[i] += i % 2 ? 1 : -1; });
    std::vector<double> got = d.get();
    for (int i = 0; i < n; i++) {
        EXPECT(got[i] == 2.5 * i * i + (i % 2 ? 1 : -1));
    }
    return pass();
}
