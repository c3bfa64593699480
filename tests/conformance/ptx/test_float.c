// SPDX-License-Identifier: Apache-2.0
//
// Floating-point arithmetic of PTX (f32, f64) with every rounding mode, .ftz, .sat and the NaN
// rules, against C in the same rounding mode. Built with -frounding-math -ffp-contract=off.
#include <fenv.h>

#include "semantics.h"
#include "../conformance.h"

TestSuite(floats, .timeout = 240);

// The operation in rounding mode `mode`; volatile keeps it between the two fesetround calls.
#define ROUNDED(type, mode, expression)       \
    __extension__({                           \
        int old_ = fegetround();              \
        fesetround(mode);                     \
        volatile type result_ = (expression); \
        fesetround(old_);                     \
        result_;                              \
    })

#define BINARY(name, type, op)                                   \
    static type name(volatile type x, volatile type y, int mode) \
    {                                                            \
        return ROUNDED(type, mode, x op y);                      \
    }
BINARY(add32, float, +)
BINARY(sub32, float, -)
BINARY(mul32, float, *)
BINARY(div32, float, /)
BINARY(add64, double, +)
BINARY(sub64, double, -)
BINARY(mul64, double, *)
BINARY(div64, double, /)

static float fma32(volatile float x, volatile float y, volatile float z, int mode)
{
    return ROUNDED(float, mode, fmaf(x, y, z));
}

static double fma64(volatile double x, volatile double y, volatile double z, int mode)
{
    return ROUNDED(double, mode, fma(x, y, z));
}

static float sqrt32(volatile float x, int mode)
{
    return ROUNDED(float, mode, sqrtf(x));
}

static double sqrt64(volatile double x, int mode)
{
    return ROUNDED(double, mode, sqrt(x));
}

static float saturate(float v)
{
    return isnan(v) ? 0 : v < 0 ? 0 : v > 1 ? 1 : v == 0 ? 0 : v;
}

static float min32(float x, float y, bool nan)
{
    if (isnan(x) || isnan(y)) {
        return nan || (isnan(x) && isnan(y)) ? NAN : isnan(x) ? y : x;
    }
    return x < y || (x == y && signbit(x)) ? x : y; // -0.0 < +0.0
}

static float max32(float x, float y, bool nan)
{
    if (isnan(x) || isnan(y)) {
        return nan || (isnan(x) && isnan(y)) ? NAN : isnan(x) ? y : x;
    }
    return x > y || (x == y && !signbit(x)) ? x : y;
}

static double min64(double x, double y)
{
    if (isnan(x) || isnan(y)) {
        return isnan(x) && isnan(y) ? (double)NAN : isnan(x) ? y : x;
    }
    return x < y || (x == y && signbit(x)) ? x : y;
}

static double max64(double x, double y)
{
    if (isnan(x) || isnan(y)) {
        return isnan(x) && isnan(y) ? (double)NAN : isnan(x) ? y : x;
    }
    return x > y || (x == y && !signbit(x)) ? x : y;
}

static float xorsign(float magnitude, uint64_t a, uint64_t b)
{
    return isnan(magnitude) ? magnitude
                            : as_f32(f32_bits(fabsf(magnitude)) | ((a ^ b) & 0x80000000));
}

#define F as_f32
#define D as_f64
#define R32 f32_bits
#define R64 f64_bits

#define ARITH32(X)                                                                                \
    X(add_f32, "ff", 'r', 'f', "add.f32 %rd, %ra, %rb;", R32(add32(F(a), F(b), FE_TONEAREST)))    \
    X(add_rz, "ff", 'r', 'f', "add.rz.f32 %rd, %ra, %rb;", R32(add32(F(a), F(b), FE_TOWARDZERO))) \
    X(add_rm, "ff", 'r', 'f', "add.rm.f32 %rd, %ra, %rb;", R32(add32(F(a), F(b), FE_DOWNWARD)))   \
    X(add_rp, "ff", 'r', 'f', "add.rp.f32 %rd, %ra, %rb;", R32(add32(F(a), F(b), FE_UPWARD)))     \
    X(add_ftz, "ff", 'r', 'f', "add.ftz.f32 %rd, %ra, %rb;",                                      \
      R32(flush(add32(flush(F(a)), flush(F(b)), FE_TONEAREST))))                                  \
    X(add_sat, "ff", 'r', 'f', "add.sat.f32 %rd, %ra, %rb;",                                      \
      R32(saturate(add32(F(a), F(b), FE_TONEAREST))))                                             \
    X(sub_f32, "ff", 'r', 'f', "sub.rn.f32 %rd, %ra, %rb;", R32(sub32(F(a), F(b), FE_TONEAREST))) \
    X(sub_rz, "ff", 'r', 'f', "sub.rz.f32 %rd, %ra, %rb;", R32(sub32(F(a), F(b), FE_TOWARDZERO))) \
    X(sub_rm, "ff", 'r', 'f', "sub.rm.f32 %rd, %ra, %rb;", R32(sub32(F(a), F(b), FE_DOWNWARD)))   \
    X(sub_ftz_sat, "ff", 'r', 'f', "sub.ftz.sat.f32 %rd, %ra, %rb;",                              \
      R32(saturate(flush(sub32(flush(F(a)), flush(F(b)), FE_TONEAREST)))))                        \
    X(mul_f32, "ff", 'r', 'f', "mul.f32 %rd, %ra, %rb;", R32(mul32(F(a), F(b), FE_TONEAREST)))    \
    X(mul_rz, "ff", 'r', 'f', "mul.rz.f32 %rd, %ra, %rb;", R32(mul32(F(a), F(b), FE_TOWARDZERO))) \
    X(mul_rm, "ff", 'r', 'f', "mul.rm.f32 %rd, %ra, %rb;", R32(mul32(F(a), F(b), FE_DOWNWARD)))   \
    X(mul_rp, "ff", 'r', 'f', "mul.rp.f32 %rd, %ra, %rb;", R32(mul32(F(a), F(b), FE_UPWARD)))     \
    X(mul_ftz, "ff", 'r', 'f', "mul.ftz.f32 %rd, %ra, %rb;",                                      \
      R32(flush(mul32(flush(F(a)), flush(F(b)), FE_TONEAREST))))                                  \
    X(fma_rn, "fff", 'r', 'f', "fma.rn.f32 %rd, %ra, %rb, %rc;",                                  \
      R32(fma32(F(a), F(b), F(c), FE_TONEAREST)))                                                 \
    X(fma_rz, "fff", 'r', 'f', "fma.rz.f32 %rd, %ra, %rb, %rc;",                                  \
      R32(fma32(F(a), F(b), F(c), FE_TOWARDZERO)))                                                \
    X(fma_rm, "fff", 'r', 'f', "fma.rm.f32 %rd, %ra, %rb, %rc;",                                  \
      R32(fma32(F(a), F(b), F(c), FE_DOWNWARD)))                                                  \
    X(fma_rp, "fff", 'r', 'f', "fma.rp.f32 %rd, %ra, %rb, %rc;",                                  \
      R32(fma32(F(a), F(b), F(c), FE_UPWARD)))                                                    \
    X(fma_ftz, "fff", 'r', 'f', "fma.rn.ftz.f32 %rd, %ra, %rb, %rc;",                             \
      R32(flush(fma32(flush(F(a)), flush(F(b)), flush(F(c)), FE_TONEAREST))))                     \
    X(fma_sat, "fff", 'r', 'f', "fma.rn.sat.f32 %rd, %ra, %rb, %rc;",                             \
      R32(saturate(fma32(F(a), F(b), F(c), FE_TONEAREST))))                                       \
    X(mad_rn, "fff", 'r', 'f', "mad.rn.f32 %rd, %ra, %rb, %rc;",                                  \
      R32(fma32(F(a), F(b), F(c), FE_TONEAREST)))                                                 \
    X(div_rn, "ff", 'r', 'f', "div.rn.f32 %rd, %ra, %rb;", R32(div32(F(a), F(b), FE_TONEAREST)))  \
    X(div_rz, "ff", 'r', 'f', "div.rz.f32 %rd, %ra, %rb;", R32(div32(F(a), F(b), FE_TOWARDZERO))) \
    X(div_rm, "ff", 'r', 'f', "div.rm.f32 %rd, %ra, %rb;", R32(div32(F(a), F(b), FE_DOWNWARD)))   \
    X(div_rp, "ff", 'r', 'f', "div.rp.f32 %rd, %ra, %rb;", R32(div32(F(a), F(b), FE_UPWARD)))     \
    X(div_ftz, "ff", 'r', 'f', "div.rn.ftz.f32 %rd, %ra, %rb;",                                   \
      R32(flush(div32(flush(F(a)), flush(F(b)), FE_TONEAREST))))                                  \
    X(rcp_rn, "f", 'r', 'f', "rcp.rn.f32 %rd, %ra;", R32(div32(1, F(a), FE_TONEAREST)))           \
    X(rcp_rz, "f", 'r', 'f', "rcp.rz.f32 %rd, %ra;", R32(div32(1, F(a), FE_TOWARDZERO)))          \
    X(rcp_rm, "f", 'r', 'f', "rcp.rm.f32 %rd, %ra;", R32(div32(1, F(a), FE_DOWNWARD)))            \
    X(rcp_rp, "f", 'r', 'f', "rcp.rp.f32 %rd, %ra;", R32(div32(1, F(a), FE_UPWARD)))              \
    X(rcp_ftz, "f", 'r', 'f', "rcp.rn.ftz.f32 %rd, %ra;",                                         \
      R32(flush(div32(1, flush(F(a)), FE_TONEAREST))))                                            \
    X(sqrt_rn, "f", 'r', 'f', "sqrt.rn.f32 %rd, %ra;", R32(sqrt32(F(a), FE_TONEAREST)))           \
    X(sqrt_rz, "f", 'r', 'f', "sqrt.rz.f32 %rd, %ra;", R32(sqrt32(F(a), FE_TOWARDZERO)))          \
    X(sqrt_rm, "f", 'r', 'f', "sqrt.rm.f32 %rd, %ra;", R32(sqrt32(F(a), FE_DOWNWARD)))            \
    X(sqrt_rp, "f", 'r', 'f', "sqrt.rp.f32 %rd, %ra;", R32(sqrt32(F(a), FE_UPWARD)))              \
    X(sqrt_ftz, "f", 'r', 'f', "sqrt.rn.ftz.f32 %rd, %ra;",                                       \
      R32(sqrt32(flush(F(a)), FE_TONEAREST)))                                                     \
    X(abs_f32, "f", 'r', 'f', "abs.f32 %rd, %ra;", U32(a) & 0x7fffffff)                           \
    X(abs_ftz, "f", 'r', 'f', "abs.ftz.f32 %rd, %ra;", R32(fabsf(flush(F(a)))))                   \
    X(neg_f32, "f", 'r', 'f', "neg.f32 %rd, %ra;", U32(a) ^ 0x80000000)                           \
    X(neg_ftz, "f", 'r', 'f', "neg.ftz.f32 %rd, %ra;", R32(-flush(F(a))))                         \
    X(min_f32, "ff", 'r', 'f', "min.f32 %rd, %ra, %rb;", R32(min32(F(a), F(b), 0)))               \
    X(max_f32, "ff", 'r', 'f', "max.f32 %rd, %ra, %rb;", R32(max32(F(a), F(b), 0)))               \
    X(min_ftz, "ff", 'r', 'f', "min.ftz.f32 %rd, %ra, %rb;",                                      \
      R32(min32(flush(F(a)), flush(F(b)), 0)))                                                    \
    X(min_nan, "ff", 'r', 'f', "min.NaN.f32 %rd, %ra, %rb;", R32(min32(F(a), F(b), 1)))           \
    X(max_nan, "ff", 'r', 'f', "max.NaN.f32 %rd, %ra, %rb;", R32(max32(F(a), F(b), 1)))           \
    X(max_ftz_nan, "ff", 'r', 'f', "max.ftz.NaN.f32 %rd, %ra, %rb;",                              \
      R32(max32(flush(F(a)), flush(F(b)), 1)))                                                    \
    X(min_xorsign, "ff", 'r', 'f', "min.xorsign.abs.f32 %rd, %ra, %rb;",                          \
      R32(xorsign(min32(fabsf(F(a)), fabsf(F(b)), 0), a, b)))                                     \
    X(max_xorsign, "ff", 'r', 'f', "max.NaN.xorsign.abs.f32 %rd, %ra, %rb;",                      \
      R32(xorsign(max32(fabsf(F(a)), fabsf(F(b)), 1), a, b)))                                     \
    X(copysign_f32, "ff", 'r', 'f', "copysign.f32 %rd, %ra, %rb;",                                \
      (U32(b) & 0x7fffffff) | (U32(a) & 0x80000000))                                              \
    X(nan_is_canonical, "ff", 'r', 0,                                                             \
      "add.f32 %r0, %ra, %rb; setp.nan.f32 %p0, %r0, %r0;"                                        \
      " selp.b32 %rd, %r0, 0x7fffffff, %p0;",                                                     \
      0x7fffffff)

ARITH32(OP_ORACLE)
static const struct op arith32[] = {ARITH32(OP_ROW)};

Test(floats, f32)
{
    run_ops(arith32, LENGTH(arith32));
}

#define ARITH64(X)                                                                                 \
    X(add_f64, "dd", 'l', 'd', "add.f64 %ld, %la, %lb;", R64(add64(D(a), D(b), FE_TONEAREST)))     \
    X(add_rz64, "dd", 'l', 'd', "add.rz.f64 %ld, %la, %lb;",                                       \
      R64(add64(D(a), D(b), FE_TOWARDZERO)))                                                       \
    X(add_rm64, "dd", 'l', 'd', "add.rm.f64 %ld, %la, %lb;", R64(add64(D(a), D(b), FE_DOWNWARD)))  \
    X(add_rp64, "dd", 'l', 'd', "add.rp.f64 %ld, %la, %lb;", R64(add64(D(a), D(b), FE_UPWARD)))    \
    X(sub_f64, "dd", 'l', 'd', "sub.f64 %ld, %la, %lb;", R64(sub64(D(a), D(b), FE_TONEAREST)))     \
    X(sub_rp64, "dd", 'l', 'd', "sub.rp.f64 %ld, %la, %lb;", R64(sub64(D(a), D(b), FE_UPWARD)))    \
    X(mul_f64, "dd", 'l', 'd', "mul.f64 %ld, %la, %lb;", R64(mul64(D(a), D(b), FE_TONEAREST)))     \
    X(mul_rz64, "dd", 'l', 'd', "mul.rz.f64 %ld, %la, %lb;",                                       \
      R64(mul64(D(a), D(b), FE_TOWARDZERO)))                                                       \
    X(mul_rm64, "dd", 'l', 'd', "mul.rm.f64 %ld, %la, %lb;", R64(mul64(D(a), D(b), FE_DOWNWARD)))  \
    X(mul_rp64, "dd", 'l', 'd', "mul.rp.f64 %ld, %la, %lb;", R64(mul64(D(a), D(b), FE_UPWARD)))    \
    X(fma_rn64, "ddd", 'l', 'd', "fma.rn.f64 %ld, %la, %lb, %lc;",                                 \
      R64(fma64(D(a), D(b), D(c), FE_TONEAREST)))                                                  \
    X(fma_rz64, "ddd", 'l', 'd', "fma.rz.f64 %ld, %la, %lb, %lc;",                                 \
      R64(fma64(D(a), D(b), D(c), FE_TOWARDZERO)))                                                 \
    X(fma_rm64, "ddd", 'l', 'd', "fma.rm.f64 %ld, %la, %lb, %lc;",                                 \
      R64(fma64(D(a), D(b), D(c), FE_DOWNWARD)))                                                   \
    X(div_rn64, "dd", 'l', 'd', "div.rn.f64 %ld, %la, %lb;", R64(div64(D(a), D(b), FE_TONEAREST))) \
    X(div_rp64, "dd", 'l', 'd', "div.rp.f64 %ld, %la, %lb;", R64(div64(D(a), D(b), FE_UPWARD)))    \
    X(div_rz64, "dd", 'l', 'd', "div.rz.f64 %ld, %la, %lb;",                                       \
      R64(div64(D(a), D(b), FE_TOWARDZERO)))                                                       \
    X(rcp_rn64, "d", 'l', 'd', "rcp.rn.f64 %ld, %la;", R64(div64(1, D(a), FE_TONEAREST)))          \
    X(rcp_rm64, "d", 'l', 'd', "rcp.rm.f64 %ld, %la;", R64(div64(1, D(a), FE_DOWNWARD)))           \
    X(sqrt_rn64, "d", 'l', 'd', "sqrt.rn.f64 %ld, %la;", R64(sqrt64(D(a), FE_TONEAREST)))          \
    X(sqrt_rp64, "d", 'l', 'd', "sqrt.rp.f64 %ld, %la;", R64(sqrt64(D(a), FE_UPWARD)))             \
    X(abs_f64, "d", 'l', 'd', "abs.f64 %ld, %la;", a &INT64_MAX)                                   \
    X(neg_f64, "d", 'l', 'd', "neg.f64 %ld, %la;", a ^ (1ull << 63))                               \
    X(min_f64, "dd", 'l', 'd', "min.f64 %ld, %la, %lb;", R64(min64(D(a), D(b))))                   \
    X(max_f64, "dd", 'l', 'd', "max.f64 %ld, %la, %lb;", R64(max64(D(a), D(b))))                   \
    X(copysign_f64, "dd", 'l', 'd', "copysign.f64 %ld, %la, %lb;",                                 \
      (b & INT64_MAX) | (a & (1ull << 63)))

ARITH64(OP_ORACLE)
static const struct op arith64[] = {ARITH64(OP_ROW)};

Test(floats, f64)
{
    run_ops(arith64, LENGTH(arith64));
}

#define UNORDERED (isnan(F(a)) || isnan(F(b)))
#define TESTS(X)                                                                                 \
    X(eq, "ff", 'p', 0, "setp.eq.f32 %pd, %ra, %rb;", F(a) == F(b))                              \
    X(ne, "ff", 'p', 0, "setp.ne.f32 %pd, %ra, %rb;", !UNORDERED && F(a) != F(b))                \
    X(lt, "ff", 'p', 0, "setp.lt.f32 %pd, %ra, %rb;", F(a) < F(b))                               \
    X(le, "ff", 'p', 0, "setp.le.f32 %pd, %ra, %rb;", F(a) <= F(b))                              \
    X(gt, "ff", 'p', 0, "setp.gt.f32 %pd, %ra, %rb;", F(a) > F(b))                               \
    X(ge, "ff", 'p', 0, "setp.ge.f32 %pd, %ra, %rb;", F(a) >= F(b))                              \
    X(equ, "ff", 'p', 0, "setp.equ.f32 %pd, %ra, %rb;", UNORDERED || F(a) == F(b))               \
    X(neu, "ff", 'p', 0, "setp.neu.f32 %pd, %ra, %rb;", F(a) != F(b))                            \
    X(ltu, "ff", 'p', 0, "setp.ltu.f32 %pd, %ra, %rb;", !(F(a) >= F(b)))                         \
    X(leu, "ff", 'p', 0, "setp.leu.f32 %pd, %ra, %rb;", !(F(a) > F(b)))                          \
    X(gtu, "ff", 'p', 0, "setp.gtu.f32 %pd, %ra, %rb;", !(F(a) <= F(b)))                         \
    X(geu, "ff", 'p', 0, "setp.geu.f32 %pd, %ra, %rb;", !(F(a) < F(b)))                          \
    X(num, "ff", 'p', 0, "setp.num.f32 %pd, %ra, %rb;", !UNORDERED)                              \
    X(nan, "ff", 'p', 0, "setp.nan.f32 %pd, %ra, %rb;", UNORDERED)                               \
    X(lt_ftz, "ff", 'p', 0, "setp.lt.ftz.f32 %pd, %ra, %rb;", flush(F(a)) < flush(F(b)))         \
    X(eq_f64, "dd", 'p', 0, "setp.eq.f64 %pd, %la, %lb;", D(a) == D(b))                          \
    X(ltu_f64, "dd", 'p', 0, "setp.ltu.f64 %pd, %la, %lb;", !(D(a) >= D(b)))                     \
    X(gt_f64, "dd", 'p', 0, "setp.gt.f64 %pd, %la, %lb;", D(a) > D(b))                           \
    X(set_f32_f32, "ff", 'r', 0, "set.lt.f32.f32 %rd, %ra, %rb;", F(a) < F(b) ? 0x3f800000 : 0)  \
    X(set_u32_f64, "dd", 'r', 0, "set.geu.u32.f64 %rd, %la, %lb;", D(a) < D(b) ? 0 : 0xffffffff) \
    X(testp_finite, "f", 'p', 0, "testp.finite.f32 %pd, %ra;", isfinite(F(a)))                   \
    X(testp_infinite, "f", 'p', 0, "testp.infinite.f32 %pd, %ra;", !!isinf(F(a)))                \
    X(testp_number, "f", 'p', 0, "testp.number.f32 %pd, %ra;", !isnan(F(a)))                     \
    X(testp_nan, "f", 'p', 0, "testp.notanumber.f32 %pd, %ra;", !!isnan(F(a)))                   \
    X(testp_normal, "f", 'p', 0, "testp.normal.f32 %pd, %ra;", isnormal(F(a)) || F(a) == 0)      \
    X(testp_subnormal, "f", 'p', 0, "testp.subnormal.f32 %pd, %ra;",                             \
      fpclassify(F(a)) == FP_SUBNORMAL)                                                          \
    X(testp_f64, "d", 'p', 0, "testp.subnormal.f64 %pd, %la;", fpclassify(D(a)) == FP_SUBNORMAL)

TESTS(OP_ORACLE)
static const struct op tests[] = {TESTS(OP_ROW)};

Test(floats, comparison)
{
    run_ops(tests, LENGTH(tests));
}

// Approximations: the errors that the PTX ISA documents for each.
static uint64_t o_rcp(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32((float)(1.0 / (double)F(a)));
}

static uint64_t o_rcp_ftz(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32(flush((float)(1.0 / (double)flush(F(a)))));
}

static uint64_t o_sqrt(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32((float)sqrt((double)F(a)));
}

static uint64_t o_rsqrt(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32((float)(1.0 / sqrt((double)F(a))));
}

static uint64_t o_rsqrt64(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R64(1.0 / sqrt(D(a)));
}

static uint64_t o_div(uint64_t a, uint64_t b, uint64_t c)
{
    (void)c;
    double magnitude = fabs((double)F(b));
    // div.approx and div.full promise 2 ulp for 2^-126 <= |b| <= 2^126; beyond is open.
    if (magnitude != 0 && !isinf(magnitude) && (magnitude < 0x1p-126 || magnitude > 0x1p126)) {
        op_any();
    }
    double quotient = (double)F(a) / (double)F(b);
    if (quotient != 0 && fabs(quotient) < 0x1p-126) {
        op_any();
    }
    return R32((float)quotient);
}

static uint64_t o_ex2(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32((float)exp2((double)F(a)));
}

static uint64_t o_ex2_ftz(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32(flush((float)exp2((double)flush(F(a)))));
}

static uint64_t o_lg2(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32((float)log2((double)F(a)));
}

static uint64_t o_sin(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32((float)sin((double)F(a)));
}

static uint64_t o_cos(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32((float)cos((double)F(a)));
}

static uint64_t o_tanh(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return R32((float)tanh((double)F(a)));
}

static const struct op approximate[] = {
    {"rcp_approx", "f", 'r', "rcp.approx.f32 %rd, %ra;", o_rcp, 'f', 0x1p-22, 0x1p-148},
    {"rcp_approx_ftz", "f", 'r', "rcp.approx.ftz.f32 %rd, %ra;", o_rcp_ftz, 'f', 0x1p-22, 0x1p-126},
    {"sqrt_approx", "f", 'r', "sqrt.approx.f32 %rd, %ra;", o_sqrt, 'f', 0x1p-22, 0},
    {"rsqrt_approx", "f", 'r', "rsqrt.approx.f32 %rd, %ra;", o_rsqrt, 'f', 0x1p-22, 0},
    {"rsqrt_approx_f64", "d", 'l', "rsqrt.approx.f64 %ld, %la;", o_rsqrt64, 'd', 0x1p-20, 0},
    {"div_approx", "ff", 'r', "div.approx.f32 %rd, %ra, %rb;", o_div, 'f', 0x1p-21, 0x1p-126},
    {"div_full", "ff", 'r', "div.full.f32 %rd, %ra, %rb;", o_div, 'f', 0x1p-21, 0x1p-126},
    {"ex2_approx", "f", 'r', "ex2.approx.f32 %rd, %ra;", o_ex2, 'f', 0x1p-21, 0x1p-148},
    {"ex2_approx_g", "g", 'r', "ex2.approx.f32 %rd, %ra;", o_ex2, 'f', 0x1p-21, 0x1p-148},
    {"ex2_approx_ftz", "g", 'r', "ex2.approx.ftz.f32 %rd, %ra;", o_ex2_ftz, 'f', 0x1p-21, 0x1p-125},
    {"lg2_approx", "f", 'r', "lg2.approx.f32 %rd, %ra;", o_lg2, 'f', 0x1p-22, 0x1p-22},
    {"sin_approx", "t", 'r', "sin.approx.f32 %rd, %ra;", o_sin, 'f', 0, 0x1p-20},
    {"cos_approx", "t", 'r', "cos.approx.f32 %rd, %ra;", o_cos, 'f', 0, 0x1p-20},
    {"sin_approx_wide", "g", 'r', "sin.approx.f32 %rd, %ra;", o_sin, 'f', 0, 0x1p-14},
    {"cos_approx_wide", "g", 'r', "cos.approx.f32 %rd, %ra;", o_cos, 'f', 0, 0x1p-14},
    {"tanh_approx", "f", 'r', "tanh.approx.f32 %rd, %ra;", o_tanh, 'f', 0x1p-10, 0},
    {"tanh_approx_t", "t", 'r', "tanh.approx.f32 %rd, %ra;", o_tanh, 'f', 0x1p-10, 0},
};

Test(floats, approximate)
{
    run_ops(approximate, LENGTH(approximate));
}

// Special values of the approximations are exact.
static uint64_t o_rsqrt64_ftz(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    double v = D(a & ~0xffffffffull);
    if (v == 0 || fpclassify(v) == FP_SUBNORMAL) {
        return R64(copysign(INFINITY, v));
    }
    return R64(1.0 / sqrt(v)) & ~0xffffffffull;
}

static uint64_t o_rcp64_ftz(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    double v = D(a & ~0xffffffffull);
    if (fpclassify(v) == FP_SUBNORMAL) {
        v = copysign(0, v);
    }
    double result = 1.0 / v;
    if (fpclassify(result) == FP_SUBNORMAL) {
        result = copysign(0, result);
    }
    return R64(result) & ~0xffffffffull;
}

static uint64_t zero(uint64_t a, uint64_t b, uint64_t c)
{
    (void)a, (void)b, (void)c;
    return 0;
}

static const struct op double_approximate[] = {
    {"rsqrt_ftz64", "d", 'l', "rsqrt.approx.ftz.f64 %ld, %la;", o_rsqrt64_ftz, 'd', 0x1p-19, 0},
    {"rcp_ftz64", "d", 'l', "rcp.approx.ftz.f64 %ld, %la;", o_rcp64_ftz, 'd', 0x1p-19, 0},
    {"rcp_ftz64_low_bits", "d", 'r',
     "rcp.approx.ftz.f64 %l0, %la; cvt.u32.u64 %r0, %l0; testp.notanumber.f64 %p0, %l0;"
     " selp.b32 %rd, 0, %r0, %p0;",
     zero, 0, 0, 0},
};

Test(floats, double_approximate)
{
    run_ops(double_approximate, LENGTH(double_approximate));
}
