// SPDX-License-Identifier: Apache-2.0
//
// Kernels instantiated from templates: types, constants, functors, a class with operators.
#include "e2e.h"

template <typename T> struct Complex {
    T re, im;
    __host__ __device__ Complex operator*(Complex o) const
    {
        return {re * o.re - im * o.im, re * o.im + im * o.re};
    }
    __host__ __device__ bool operator==(Complex o) const
    {
        return re == o.re && im == o.im;
    }
};

struct Add {
    template <typename T> __host__ __device__ T operator()(T a, T b) const
    {
        return a + b;
    }
};

struct Scale {
    int factor;
    template <typename T> __host__ __device__ T operator()(T a, T b) const
    {
        return (T)(a * (T)factor - b);
    }
};

template <typename T, int per_thread, typename F>
__global__ void combine(const T *a, const T *b, T *c, F f, int n)
{
#pragma unroll
    for (int j = 0; j < per_thread; j++) {
        int i = (blockIdx.x * per_thread + j) * blockDim.x + threadIdx.x;
        if (i < n) {
            c[i] = f(a[i], b[i]);
        }
    }
}

template <typename T> __global__ void power(Complex<T> *z, int n, int e)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        Complex<T> r{1, 0};
        for (int j = 0; j < e; j++) {
            r = r * z[i];
        }
        z[i] = r;
    }
}

template <typename T, int per_thread, typename F> void test(F f)
{
    const int n = 1000;
    std::vector<T> a(n), b(n), want(n);
    for (int i = 0; i < n; i++) {
        a[i] = (T)(i % 100);
        b[i] = (T)(i % 7);
        want[i] = f(a[i], b[i]);
    }
    Device<T> da(a), db(b), dc(n);
    int span = 64 * per_thread;
    combine<T, per_thread>
        <<<(n + span - 1) / span, 64>>>((const T *)da, (const T *)db, (T *)dc, f, n);
    CHECK_LAUNCH();
    expect_equal(dc.get(), want);
}

int main()
{
    test<int, 1>(Add());
    test<double, 4>(Add());
    test<float, 2>(Scale{3});
    test<long long, 3>(Scale{-2});
    test<unsigned char, 2>(Add());
    test<short, 1>(Scale{5});
    std::vector<Complex<int>> z;
    for (int i = 0; i < 40; i++) {
        z.push_back({i % 5 - 2, i % 3 - 1});
    }
    Device<Complex<int>> d(z);
    power<<<2, 32>>>((Complex<int> *)d, (int)z.size(), 6);
    CHECK_LAUNCH();
    std::vector<Complex<int>> got = d.get();
    for (size_t i = 0; i < z.size(); i++) {
        Complex<int> r{1, 0};
        for (int j = 0; j < 6; j++) {
            r = r * z[i];
        }
        EXPECT(got[i] == r);
    }
    return pass();
}
