// SPDX-License-Identifier: Apache-2.0
//
// Black-Scholes prices: expf, logf, sqrtf, erfcf, and the fast intrinsics beside them.
#include "e2e.h"

__device__ float cdf(float x)
{
    return 0.5f * erfcf(-x * 0.70710678f);
}

__global__ void price(const float *s, const float *k, const float *t, float r, float v, float *call,
                      float *put, float *fast, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float root = sqrtf(t[i]);
    float d1 = (logf(s[i] / k[i]) + (r + 0.5f * v * v) * t[i]) / (v * root), d2 = d1 - v * root;
    float discount = expf(-r * t[i]);
    call[i] = s[i] * cdf(d1) - k[i] * discount * cdf(d2);
    put[i] = k[i] * discount * cdf(-d2) - s[i] * cdf(-d1);
    fast[i] = __expf(-r * t[i]) + __logf(s[i]) + __fdividef(s[i], k[i]) + __powf(s[i], 0.5f);
}

int main()
{
    const int n = 1000;
    const float r = 0.02f, v = 0.3f;
    Random random(13);
    std::vector<float> s(n), k(n), t(n);
    for (int i = 0; i < n; i++) {
        s[i] = random.uniform(5, 30);
        k[i] = random.uniform(1, 100);
        t[i] = random.uniform(0.25f, 10);
    }
    Device<float> ds(s), dk(k), dt(t), dc(n), dp(n), df(n);
    price<<<(n + 127) / 128, 128>>>(ds, dk, dt, r, v, dc, dp, df, n);
    CHECK_LAUNCH();
    std::vector<float> call = dc.get(), put = dp.get(), fast = df.get();
    for (int i = 0; i < n; i++) {
        double S = s[i], K = k[i], T = t[i], R = r, V = v;
        double d1 = (std::log(S / K) + (R + 0.5 * V * V) * T) / (V * std::sqrt(T));
        double d2 = d1 - V * std::sqrt(T), e = std::exp(-R * T);
        double n1 = 0.5 * std::erfc(-d1 / std::sqrt(2.0)),
               n2 = 0.5 * std::erfc(-d2 / std::sqrt(2.0));
        double c = S * n1 - K * e * n2;
        EXPECT(near(call[i], c, 2e-4));
        EXPECT(near(put[i], c - S + K * e, 2e-4)); // put-call parity
        EXPECT(near(fast[i], e + std::log(S) + S / K + std::sqrt(S), 1e-4));
    }
    return pass();
}
