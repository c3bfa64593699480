// SPDX-License-Identifier: Apache-2.0
//
// Single precision functions and intrinsics with a rounding mode; error bounds of the CUDA manual.
#include <cfenv>

#include "e2e.h"

constexpr int functions = 12;

__global__ void evaluate(const float *in, float *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    float x = in[i], *o = out + i * functions;
    o[0] = sinf(x);
    o[1] = cosf(x);
    o[2] = expf(x);
    o[3] = logf(fabsf(x));
    o[4] = powf(fabsf(x), 0.37f);
    o[5] = atanf(x);
    o[6] = rsqrtf(fabsf(x));
    o[7] = sqrtf(fabsf(x));
    o[8] = 1.0f / x;
    o[9] = tanhf(x);
    o[10] = exp2f(x);
    o[11] = fmodf(x, 0.3f);
}

__global__ void rounding(float a, float b, float *out)
{
    out[0] = __fadd_rn(a, b);
    out[1] = __fadd_rz(a, b);
    out[2] = __fadd_ru(a, b);
    out[3] = __fadd_rd(a, b);
    out[4] = __fmul_ru(a, b);
    out[5] = __fmul_rd(a, b);
    out[6] = __fdiv_ru(a, b);
    out[7] = __fdiv_rd(a, b);
    out[8] = __fsqrt_ru(a);
    out[9] = __fsqrt_rz(a);
    out[10] = __fmaf_ru(a, b, a);
    out[11] = __fmaf_rd(a, b, a);
    out[12] = __saturatef(a);
    out[13] = __saturatef(-a);
    out[14] = (float)__float2int_ru(a * 10) + 100 * (float)__float2int_rd(a * 10);
    out[15] = __int2float_rz(16777219);
}

static float with_mode(int mode, int what, volatile float a, volatile float b)
{
    std::fesetround(mode);
    volatile float r = what == 0   ? a + b
                       : what == 1 ? a * b
                       : what == 2 ? a / b
                       : what == 3 ? std::sqrt(a)
                                   : std::fma(a, b, a);
    std::fesetround(FE_TONEAREST);
    return r;
}

int main()
{
    const int n = 500;
    Random random(24);
    std::vector<float> in(n);
    for (auto &x : in) {
        x = random.uniform(-20, 20);
    }
    Device<float> din(in), dout(n * functions), dr(16);
    evaluate<<<(n + 63) / 64, 64>>>(din, dout, n);
    const float a = 1.1f, b = 3.3e-5f;
    rounding<<<1, 1>>>(a, b, dr);
    CHECK_LAUNCH();
    std::vector<float> got = dout.get(), r = dr.get();
    const double ulps[functions] = {2, 2, 2, 1, 4, 2, 2, 0, 0, 2, 2, 0};
    for (int i = 0; i < n; i++) {
        double x = in[i];
        const double want[functions] = {std::sin(x),
                                        std::cos(x),
                                        std::exp(x),
                                        std::log(std::fabs(x)),
                                        std::pow(std::fabs(x), (double)0.37f),
                                        std::atan(x),
                                        1 / std::sqrt(std::fabs(x)),
                                        std::sqrt(std::fabs(x)),
                                        1 / x,
                                        std::tanh(x),
                                        std::exp2(x),
                                        (double)std::fmod(in[i], 0.3f)};
        for (int j = 0; j < functions; j++) {
            // Half an ulp more than the manual's bound, for the rounding of the reference itself.
            float w = (float)want[j];
            double ulp = (double)std::nextafter(std::fabs(w), INFINITY) - std::fabs(w);
            if (std::fabs(got[i * functions + j] - want[j]) > (ulps[j] + 0.51) * ulp) {
                FAIL("function %d of %.9g: got %.9g, want %.9g", j, x,
                     (double)got[i * functions + j], want[j]);
            }
        }
    }
    const float want[16] = {a + b,
                            with_mode(FE_TOWARDZERO, 0, a, b),
                            with_mode(FE_UPWARD, 0, a, b),
                            with_mode(FE_DOWNWARD, 0, a, b),
                            with_mode(FE_UPWARD, 1, a, b),
                            with_mode(FE_DOWNWARD, 1, a, b),
                            with_mode(FE_UPWARD, 2, a, b),
                            with_mode(FE_DOWNWARD, 2, a, b),
                            with_mode(FE_UPWARD, 3, a, b),
                            with_mode(FE_TOWARDZERO, 3, a, b),
                            with_mode(FE_UPWARD, 4, a, b),
                            with_mode(FE_DOWNWARD, 4, a, b),
                            1.0f,
                            0.0f,
                            11 + 100 * 11.0f,
                            16777218.0f};
    for (int i = 0; i < 16; i++) {
        if (r[i] != want[i]) {
            FAIL("rounding %d: got %.9g, want %.9g", i, (double)r[i], (double)want[i]);
        }
    }
    return pass();
}
