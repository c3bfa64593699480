// SPDX-License-Identifier: Apache-2.0
//
// __half and __nv_bfloat16: conversions, arithmetic, comparisons, packed forms, against rounding by
// the host's own code.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "e2e.h"

__global__ void half_math(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    __half x = __float2half_rn(a[i]), y = __float2half_rn(b[i]);
    float *o = out + i * 8;
    o[0] = __half2float(x);
    o[1] = __half2float(__hadd(x, y));
    o[2] = __half2float(__hmul(x, y));
    o[3] = __half2float(__hfma(x, y, x));
    __half2 v = __hadd2(__halves2half2(x, y), __halves2half2(y, y));
    o[4] = __low2float(v) - __high2float(v);
    o[5] = __hlt(x, y) ? 1.0f : 0.0f;
    o[6] = (float)__half2int_rz(x);
    o[7] = __half2float(__hneg(x));
}

__global__ void bfloat_math(const float *a, const float *b, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    __nv_bfloat16 x = __float2bfloat16_rn(a[i]), y = __float2bfloat16_rn(b[i]);
    float *o = out + i * 4;
    o[0] = __bfloat162float(x);
    o[1] = __bfloat162float(__hadd(x, y));
    o[2] = __bfloat162float(__hmul(x, y));
    o[3] = __hgt(x, y) ? 1.0f : 0.0f;
}

// Rounds to `bits` of mantissa (with the hidden one) and, for half, its subnormals; all values here
// are far from overflow.
static double round_to(double x, int bits, int min_exponent)
{
    if (x == 0) {
        return x;
    }
    int e;
    std::frexp(x, &e);
    int ulp = (e < min_exponent ? min_exponent : e) - bits;
    return std::ldexp(std::nearbyint(std::ldexp(x, -ulp)), ulp);
}

int main()
{
    const int n = 600;
    Random random(22);
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; i++) {
        float scale = i % 3 == 0 ? 1e-3f : i % 3 == 1 ? 1.0f : 50.0f;
        a[i] = random.uniform(-scale, scale);
        b[i] = random.uniform(-scale, scale);
    }
    Device<float> da(a), db(b), half(n * 8), bf(n * 4);
    half_math<<<(n + 127) / 128, 128>>>(da, db, half, n);
    bfloat_math<<<(n + 127) / 128, 128>>>(da, db, bf, n);
    CHECK_LAUNCH();
    std::vector<float> h = half.get(), f = bf.get();
    auto rh = [](double x) { return round_to(x, 11, -13); };
    auto rb = [](double x) { return round_to(x, 8, -125); };
    for (int i = 0; i < n; i++) {
        double x = rh(a[i]), y = rh(b[i]);
        EXPECT(h[i * 8] == x);
        EXPECT(h[i * 8 + 1] == rh(x + y));
        EXPECT(h[i * 8 + 2] == rh(x * y));
        EXPECT(h[i * 8 + 3] == rh(x * y + x));
        EXPECT(h[i * 8 + 4] == (float)rh(x + y) - (float)rh(y + y));
        EXPECT(h[i * 8 + 5] == (x < y ? 1.0f : 0.0f));
        EXPECT(h[i * 8 + 6] == (float)(int)x);
        EXPECT(h[i * 8 + 7] == -x);
        x = rb(a[i]);
        y = rb(b[i]);
        EXPECT(f[i * 4] == x);
        EXPECT(f[i * 4 + 1] == rb(x + y));
        EXPECT(f[i * 4 + 2] == rb(x * y));
        EXPECT(f[i * 4 + 3] == (x > y ? 1.0f : 0.0f));
    }
    return pass();
}
