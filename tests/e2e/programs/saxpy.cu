// SPDX-License-Identifier: Apache-2.0
//
// y = a*x + y with a grid-stride loop, in float and in double: fma is exact to one rounding.
#include "e2e.h"

template <typename T> __global__ void axpy(int n, T a, const T *x, T *y)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
        y[i] = a * x[i] + y[i];
    }
}

template <typename T> void test(T a, int n)
{
    Random random(7);
    std::vector<T> x(n), y(n), want(n);
    for (int i = 0; i < n; i++) {
        x[i] = (T)random.uniform(-2, 2);
        y[i] = (T)random.uniform(-2, 2);
        want[i] = std::fma(a, x[i], y[i]);
    }
    Device<T> dx(x), dy(y);
    axpy<T><<<5, 96>>>(n, a, dx, dy);
    CHECK_LAUNCH();
    expect_equal(dy.get(), want);
}

int main()
{
    test<float>(1.7f, 4099);
    test<double>(-0.3, 1023);
    return pass();
}
