// SPDX-License-Identifier: Apache-2.0
//
// Radix-2 FFT of 256 points per block in shared memory with sincospif, against a direct sum.
#include "e2e.h"

constexpr int n = 256;

__global__ void fft(const float2 *in, float2 *out)
{
    __shared__ float2 s[n];
    int t = threadIdx.x;
    const float2 *row = in + blockIdx.x * n;
    for (int i = t; i < n; i += n / 2) {
        s[__brev(i) >> 24] = row[i];
    }
    for (int half = 1; half < n; half *= 2) {
        __syncthreads();
        int position = t & (half - 1), low = 2 * (t - position) + position;
        float wr, wi;
        sincospif(-(float)position / half, &wi, &wr);
        float2 a = s[low], b = s[low + half];
        float2 m = make_float2(b.x * wr - b.y * wi, b.x * wi + b.y * wr);
        s[low] = make_float2(a.x + m.x, a.y + m.y);
        s[low + half] = make_float2(a.x - m.x, a.y - m.y);
    }
    __syncthreads();
    for (int i = t; i < n; i += n / 2) {
        out[blockIdx.x * n + i] = s[i];
    }
}

int main()
{
    const int rows = 3;
    Random random(26);
    std::vector<float2> in(rows * n);
    for (auto &x : in) {
        x = make_float2(random.uniform(-1, 1), random.uniform(-1, 1));
    }
    Device<float2> din(in), dout(rows * n);
    fft<<<rows, n / 2>>>(din, dout);
    CHECK_LAUNCH();
    std::vector<float2> got = dout.get();
    const double pi = std::acos(-1.0);
    for (int r = 0; r < rows; r++) {
        for (int k = 0; k < n; k++) {
            double re = 0, im = 0;
            for (int i = 0; i < n; i++) {
                double angle = -2 * pi * ((i * k) % n) / n, c = std::cos(angle),
                       s = std::sin(angle);
                float2 x = in[r * n + i];
                re += x.x * c - x.y * s;
                im += x.x * s + x.y * c;
            }
            EXPECT(std::fabs(got[r * n + k].x - re) < 2e-4 &&
                   std::fabs(got[r * n + k].y - im) < 2e-4);
        }
    }
    return pass();
}
