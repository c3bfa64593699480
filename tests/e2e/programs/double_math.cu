// SPDX-License-Identifier: Apache-2.0
//
// Double precision functions of libdevice, each within CUDA's documented error (2 ulp and more).
#include "e2e.h"

constexpr int functions = 16;

__global__ void evaluate(const double *in, double *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    double x = in[i], *o = out + i * functions;
    o[0] = sin(x);
    o[1] = cos(x);
    o[2] = tan(x);
    o[3] = exp(x * 0.1);
    o[4] = log(fabs(x) + 1e-3);
    o[5] = sqrt(fabs(x));
    o[6] = cbrt(x);
    o[7] = atan2(x, 2.0);
    o[8] = pow(fabs(x), 1.7);
    o[9] = tanh(x);
    o[10] = erf(x);
    o[11] = hypot(x, 3.0);
    o[12] = fmod(x, 0.7);
    o[13] = rint(x) + floor(x) * 10 + ceil(x) * 100 + trunc(x) * 1000;
    o[14] = 1.0 / x;
    o[15] = lgamma(fabs(x) + 0.5);
}

int main()
{
    const int n = 400;
    Random random(23);
    std::vector<double> in(n);
    for (int i = 0; i < n; i++) {
        in[i] = i < 4 ? i - 1.5 : (double)random.uniform(-30, 30) * (i % 5 == 0 ? 100 : 1);
    }
    Device<double> din(in), dout(n * functions);
    evaluate<<<(n + 63) / 64, 64>>>(din, dout, n);
    CHECK_LAUNCH();
    std::vector<double> got = dout.get();
    for (int i = 0; i < n; i++) {
        double x = in[i];
        const double want[functions] = {std::sin(x),
                                        std::cos(x),
                                        std::tan(x),
                                        std::exp(x * 0.1),
                                        std::log(std::fabs(x) + 1e-3),
                                        std::sqrt(std::fabs(x)),
                                        std::cbrt(x),
                                        std::atan2(x, 2.0),
                                        std::pow(std::fabs(x), 1.7),
                                        std::tanh(x),
                                        std::erf(x),
                                        std::hypot(x, 3.0),
                                        std::fmod(x, 0.7),
                                        std::rint(x) + std::floor(x) * 10 + std::ceil(x) * 100 +
                                            std::trunc(x) * 1000,
                                        1.0 / x,
                                        std::lgamma(std::fabs(x) + 0.5)};
        for (int j = 0; j < functions; j++) {
            double g = got[i * functions + j], tolerance = j == 15 ? 1e-13 : 2e-15;
            bool exact = j == 5 || j == 12 || j == 13 || j == 14;
            if (exact ? g != want[j]
                      : std::fabs(g - want[j]) > tolerance * std::fabs(want[j]) + 1e-300) {
                FAIL("function %d of %.17g: got %.17g, want %.17g", j, x, g, want[j]);
            }
        }
    }
    return pass();
}
