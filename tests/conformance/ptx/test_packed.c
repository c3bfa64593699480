// SPDX-License-Identifier: Apache-2.0
//
// Packed and mixed forms that newer PTX added: comparisons of two halves, 16-bit integer pairs,
// f32 pairs, sums of f32 and halves, three-operand minima, cvt with .relu and .satfinite, and the
// approximations of halves. test_half.c holds the arithmetic of single halves.
#include <fenv.h>

#include "half.h"
#include "semantics.h"
#include "../conformance.h"

TestSuite(packed, .timeout = 240);

#define LOW(v) ((v)&0xffff)
#define HIGH(v) ((v) >> 16 & 0xffff)

static double half(uint64_t bits)
{
    return (double)format_decode(format_f16, LOW(bits));
}

static double bfloat(uint64_t bits)
{
    return as_f32(LOW(bits) << 16);
}

static uint64_t both(bool high, bool low, uint64_t yes)
{
    return (high ? yes << 16 : 0) | (low ? yes : 0);
}

// A number of half `yes` in each half for which the comparison of a and b holds.
#define EACH(value, relation, yes) \
    both(value(HIGH(a)) relation value(HIGH(b)), value(LOW(a)) relation value(LOW(b)), yes)

#define COMPARE(X)                                                                                 \
    X(set_lt_f16x2, "XX", 'r', 0, "set.lt.f16x2.f16x2 %rd, %ra, %rb;", EACH(half, <, 0x3c00))      \
    X(set_neu_f16x2, "XX", 'r', 0, "set.neu.f16x2.f16x2 %rd, %ra, %rb;", EACH(half, !=, 0x3c00))   \
    X(set_ge_mask_f16x2, "XX", 'r', 0, "set.ge.u32.f16x2 %rd, %ra, %rb;", EACH(half, >=, 0xffff))  \
    X(set_eq_f16, "xx", 'h', 0, "set.eq.f16.f16 %hd, %ha, %hb;", half(a) == half(b) ? 0x3c00 : 0)  \
    X(set_gtu_u32_f16, "xx", 'r', 0, "set.gtu.u32.f16 %rd, %ha, %hb;",                             \
      half(a) <= half(b) ? 0 : 0xffffffff)                                                         \
    X(set_lt_bf16x2, "BB", 'r', 0, "set.lt.bf16x2.bf16x2 %rd, %ra, %rb;", EACH(bfloat, <, 0x3f80)) \
    X(set_eq_mask_bf16x2, "BB", 'r', 0, "set.eq.u32.bf16x2 %rd, %ra, %rb;",                        \
      EACH(bfloat, ==, 0xffff))                                                                    \
    X(set_le_bf16, "bb", 'h', 0, "set.le.bf16.bf16 %hd, %ha, %hb;",                                \
      bfloat(a) <= bfloat(b) ? 0x3f80 : 0)                                                         \
    X(setp_ge_bf16, "bb", 'p', 0, "setp.ge.bf16 %pd, %ha, %hb;", bfloat(a) >= bfloat(b))           \
    X(setp_bf16x2, "BB", 'r', 0,                                                                   \
      "setp.gt.bf16x2 %p0|%p1, %ra, %rb; selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 2, 0, %p1;"        \
      " or.b32 %rd, %r0, %r1;",                                                                    \
      (bfloat(a) > bfloat(b)) | (bfloat(HIGH(a)) > bfloat(HIGH(b))) << 1)                          \
    X(setp_and_f16x2, "XXp", 'r', 0,                                                               \
      "setp.le.and.f16x2 %p0|%p1, %ra, %rb, %pc; selp.u32 %r0, 1, 0, %p0;"                         \
      " selp.u32 %r1, 2, 0, %p1; or.b32 %rd, %r0, %r1;",                                           \
      (c & 1) * ((half(a) <= half(b)) | (half(HIGH(a)) <= half(HIGH(b))) << 1))                    \
    X(lop3_and, "rrp", 'r', 0,                                                                     \
      "lop3.and.b32 %r0|%p0, %ra, %rb, %ra, 0x3c, %pc; selp.u32 %r1, 0x5555, 0, %p0;"              \
      " xor.b32 %rd, %r0, %r1;",                                                                   \
      U32(a ^ b) ^ (U32(a ^ b) != 0 && (c & 1) ? 0x5555 : 0))

COMPARE(OP_ORACLE)
static const struct op compare_rows[] = {COMPARE(OP_ROW)};

Test(packed, comparison)
{
    run_ops(compare_rows, LENGTH(compare_rows));
}

static int16_t least(uint64_t a, uint64_t b)
{
    return S16(a) < S16(b) ? S16(a) : S16(b);
}

static int16_t most(uint64_t a, uint64_t b)
{
    return S16(a) > S16(b) ? S16(a) : S16(b);
}

static uint16_t u_most(uint64_t a, uint64_t b)
{
    return U16(a) > U16(b) ? U16(a) : U16(b);
}

static uint64_t words(int64_t high, int64_t low)
{
    return U32(U16(high)) << 16 | U16(low);
}

#define PAIRS(X)                                                                            \
    X(add_u16x2, "rr", 'r', 0, "add.u16x2 %rd, %ra, %rb;", words(HIGH(a) + HIGH(b), a + b)) \
    X(add_s16x2, "rr", 'r', 0, "add.s16x2 %rd, %ra, %rb;", words(HIGH(a) + HIGH(b), a + b)) \
    X(min_s16x2, "rr", 'r', 0, "min.s16x2 %rd, %ra, %rb;",                                  \
      words(least(a >> 16, b >> 16), least(a, b)))                                          \
    X(max_u16x2, "rr", 'r', 0, "max.u16x2 %rd, %ra, %rb;",                                  \
      words(u_most(a >> 16, b >> 16), u_most(a, b)))                                        \
    X(max_relu_s16x2, "rr", 'r', 0, "max.relu.s16x2 %rd, %ra, %rb;",                        \
      words(most(U16(most(a >> 16, b >> 16)), 0), most(U16(most(a, b)), 0)))                \
    X(min_relu_s16x2, "rr", 'r', 0, "min.relu.s16x2 %rd, %ra, %rb;",                        \
      words(most(U16(least(a >> 16, b >> 16)), 0), most(U16(least(a, b)), 0)))

PAIRS(OP_ORACLE)
static const struct op pair_rows[] = {PAIRS(OP_ROW)};

Test(packed, integer_pairs)
{
    run_ops(pair_rows, LENGTH(pair_rows));
}

// x * y + z in one rounding of the given direction; volatile keeps it between the two calls.
static float rounded_fma(volatile float x, volatile float y, volatile float z, int mode)
{
    int old = fegetround();
    fesetround(mode);
    volatile float result = fmaf(x, y, z);
    fesetround(old);
    return result;
}

static float rounded_add(volatile float x, volatile float y, int mode)
{
    int old = fegetround();
    fesetround(mode);
    volatile float result = x + y;
    fesetround(old);
    return result;
}

static float rounded_mul(volatile float x, volatile float y, int mode)
{
    int old = fegetround();
    fesetround(mode);
    volatile float result = x * y;
    fesetround(old);
    return result;
}

static float lesser(float x, float y, bool nan)
{
    if (isnan(x) || isnan(y)) {
        return nan || (isnan(x) && isnan(y)) ? NAN : isnan(x) ? y : x;
    }
    return x < y || (x == y && signbit(x)) ? x : y;
}

static float larger(float x, float y)
{
    return -lesser(-x, -y, false);
}

#define F as_f32
#define R f32_bits
#define PACKED "mov.b64 %l0, {%ra, %rb}; mov.b64 %l1, {%rb, %rc}; "
#define FIRST " mov.b64 {%rd, %r9}, %l2;"
#define SECOND " mov.b64 {%r9, %rd}, %l2;"
#define SINGLE(X)                                                                                 \
    X(add_f32x2_low, "fff", 'r', 'f', PACKED "add.rn.f32x2 %l2, %l0, %l1;" FIRST, R(F(a) + F(b))) \
    X(add_f32x2_high, "fff", 'r', 'f', PACKED "add.rz.f32x2 %l2, %l0, %l1;" SECOND,               \
      R(rounded_add(F(b), F(c), FE_TOWARDZERO)))                                                  \
    X(sub_f32x2, "fff", 'r', 'f', PACKED "sub.rp.f32x2 %l2, %l0, %l1;" FIRST,                     \
      R(rounded_add(F(a), -F(b), FE_UPWARD)))                                                     \
    X(mul_f32x2, "fff", 'r', 'f', PACKED "mul.rm.f32x2 %l2, %l0, %l1;" SECOND,                    \
      R(rounded_mul(F(b), F(c), FE_DOWNWARD)))                                                    \
    X(mul_ftz_f32x2, "fff", 'r', 'f', PACKED "mul.ftz.f32x2 %l2, %l0, %l1;" FIRST,                \
      R(flush(flush(F(a)) * flush(F(b)))))                                                        \
    X(fma_f32x2, "fff", 'r', 'f', PACKED "fma.rn.f32x2 %l2, %l0, %l1, %l0;" FIRST,                \
      R(rounded_fma(F(a), F(b), F(a), FE_TONEAREST)))                                             \
    X(fma_rz_f32x2, "fff", 'r', 'f', PACKED "fma.rz.f32x2 %l2, %l0, %l1, %l1;" SECOND,            \
      R(rounded_fma(F(b), F(c), F(c), FE_TOWARDZERO)))                                            \
    X(add_f32_f16, "xf", 'r', 'f', "add.f32.f16 %rd, %ha, %rb;", R((float)half(a) + F(b)))        \
    X(sub_f32_bf16, "bf", 'r', 'f', "sub.rz.f32.bf16 %rd, %ha, %rb;",                             \
      R(rounded_add((float)bfloat(a), -F(b), FE_TOWARDZERO)))                                     \
    X(fma_f32_f16, "xxf", 'r', 'f', "fma.rn.f32.f16 %rd, %ha, %hb, %rc;",                         \
      R(rounded_fma((float)half(a), (float)half(b), F(c), FE_TONEAREST)))                         \
    X(fma_f32_bf16, "bbf", 'r', 'f', "fma.rp.f32.bf16 %rd, %ha, %hb, %rc;",                       \
      R(rounded_fma((float)bfloat(a), (float)bfloat(b), F(c), FE_UPWARD)))                        \
    X(min3_f32, "fff", 'r', 'f', "min.f32 %rd, %ra, %rb, %rc;",                                   \
      R(lesser(lesser(F(a), F(b), false), F(c), false)))                                          \
    X(min3_nan_f32, "fff", 'r', 'f', "min.NaN.f32 %rd, %ra, %rb, %rc;",                           \
      R(lesser(lesser(F(a), F(b), true), F(c), true)))                                            \
    X(max3_f32, "fff", 'r', 'f', "max.f32 %rd, %ra, %rb, %rc;",                                   \
      R(larger(larger(F(a), F(b)), F(c))))                                                        \
    X(max3_ftz_f32, "fff", 'r', 'f', "max.ftz.f32 %rd, %ra, %rb, %rc;",                           \
      R(larger(larger(flush(F(a)), flush(F(b))), flush(F(c)))))                                   \
    X(max3_abs_f32, "fff", 'r', 'f', "max.abs.f32 %rd, %ra, %rb, %rc;",                           \
      R(larger(larger(fabsf(F(a)), fabsf(F(b))), fabsf(F(c)))))

SINGLE(OP_ORACLE)
static const struct op single_rows[] = {SINGLE(OP_ROW)};

Test(packed, single_precision)
{
    run_ops(single_rows, LENGTH(single_rows));
}

// cvt from f32: negative values and -0 become +0 with `relu`, values beyond the range the largest
// with `finite`; NaN becomes the canonical NaN of the format in both cases.
static uint64_t short_of(struct format to, uint64_t bits, enum direction d, bool relu, bool finite)
{
    exact value = format_decode(format_f32, U32(bits));
    bool negative = U32(bits) >> 31;
    if (value != value) {
        return format_nan(to);
    }
    return relu && negative ? 0 : format_encode(to, value, d, finite, negative);
}

// Both inputs of a packed conversion: a becomes the high half.
#define TWO_OF(f, d, relu, finite) \
    (short_of(f, a, d, relu, finite) << 16 | short_of(f, b, d, relu, finite))
#define SHORT(X)                                                                    \
    X(relu_f16, "f", 'h', 0, "cvt.rn.relu.f16.f32 %hd, %ra;",                       \
      short_of(format_f16, a, NEAREST_EVEN, true, false))                           \
    X(finite_f16, "f", 'h', 0, "cvt.rn.satfinite.f16.f32 %hd, %ra;",                \
      short_of(format_f16, a, NEAREST_EVEN, false, true))                           \
    X(relu_finite_f16, "f", 'h', 0, "cvt.rz.relu.satfinite.f16.f32 %hd, %ra;",      \
      short_of(format_f16, a, TOWARD_ZERO, true, true))                             \
    X(finite_bf16, "f", 'h', 0, "cvt.rn.satfinite.bf16.f32 %hd, %ra;",              \
      short_of(format_bf16, a, NEAREST_EVEN, false, true))                          \
    X(relu_f16x2, "ff", 'r', 0, "cvt.rz.relu.f16x2.f32 %rd, %ra, %rb;",             \
      TWO_OF(format_f16, TOWARD_ZERO, true, false))                                 \
    X(finite_f16x2, "ff", 'r', 0, "cvt.rn.satfinite.f16x2.f32 %rd, %ra, %rb;",      \
      TWO_OF(format_f16, NEAREST_EVEN, false, true))                                \
    X(relu_bf16x2, "ff", 'r', 0, "cvt.rn.relu.bf16x2.f32 %rd, %ra, %rb;",           \
      TWO_OF(format_bf16, NEAREST_EVEN, true, false))                               \
    X(rz_bf16x2, "ff", 'r', 'B', "cvt.rz.bf16x2.f32 %rd, %ra, %rb;",                \
      TWO_OF(format_bf16, TOWARD_ZERO, false, false))                               \
    X(relu_e4m3x2, "ff", 'h', 0, "cvt.rn.satfinite.relu.e4m3x2.f32 %hd, %ra, %rb;", \
      short_of(format_e4m3, a, NEAREST_EVEN, true, true) << 8 |                     \
          short_of(format_e4m3, b, NEAREST_EVEN, true, true))                       \
    X(rn_tf32, "f", 'r', 'f', "cvt.rn.tf32.f32 %rd, %ra;",                          \
      short_of(format_tf32, a, NEAREST_EVEN, false, false) << 13)                   \
    X(rz_relu_tf32, "f", 'r', 'f', "cvt.rz.relu.tf32.f32 %rd, %ra;",                \
      short_of(format_tf32, a, TOWARD_ZERO, true, false) << 13)                     \
    X(bf16_of_f16, "x", 'h', 'b', "cvt.rn.bf16.f16 %hd, %ha;",                      \
      short_of(format_bf16, R((float)half(a)), NEAREST_EVEN, false, false))         \
    X(f16_of_bf16, "b", 'h', 'x', "cvt.rz.f16.bf16 %hd, %ha;",                      \
      short_of(format_f16, a << 16, TOWARD_ZERO, false, false))                     \
    X(bf16_of_s32, "r", 'h', 0, "cvt.rn.bf16.s32 %hd, %ra;",                        \
      format_encode(format_bf16, (exact)S32(a), NEAREST_EVEN, false, false))

SHORT(OP_ORACLE)
static const struct op short_rows[] = {SHORT(OP_ROW)};

Test(packed, conversions)
{
    run_ops(short_rows, LENGTH(short_rows));
}

static uint64_t o_ex2_bf16(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    float x = flush(as_f32(LOW(a) << 16));
    exact value = isnan(x) ? (exact)x : (exact)exp2(fmax(fmin((double)x, 1000), -1000));
    uint64_t bits = format_encode(format_bf16, value, NEAREST_EVEN, false, false);
    return (bits & 0x7f80) == 0 ? 0 : bits;
}

static uint64_t o_tanh_bf16(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return format_encode(format_bf16, (exact)tanh(bfloat(a)), NEAREST_EVEN, false, a >> 15 & 1);
}

static uint64_t o_ex2_high(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    double x = half(HIGH(a));
    return format_encode(format_f16, isnan(x) ? (exact)x : (exact)exp2(fmax(fmin(x, 100), -100)),
                         NEAREST_EVEN, false, false);
}

static uint64_t o_tanh_high(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return format_encode(format_f16, (exact)tanh(half(HIGH(a))), NEAREST_EVEN, false, a >> 31 & 1);
}

// Bounds: PTX ISA, "Half Precision Floating Point Instructions".
static const struct op approximate[] = {
    {"ex2_bf16", "b", 'h', "ex2.approx.ftz.bf16 %hd, %ha;", o_ex2_bf16, 'b', 0x1p-7, 0x1p-126},
    {"tanh_bf16", "b", 'h', "tanh.approx.bf16 %hd, %ha;", o_tanh_bf16, 'b', 0, 0x1p-8},
    {"ex2_f16x2", "X", 'h', "ex2.approx.f16x2 %r0, %ra; mov.b32 {%h0, %hd}, %r0;", o_ex2_high, 'x',
     0x1p-9, 0x1p-23},
    {"tanh_f16x2", "X", 'h', "tanh.approx.f16x2 %r0, %ra; mov.b32 {%h0, %hd}, %r0;", o_tanh_high,
     'x', 0, 0x1p-10},
};

Test(packed, approximate)
{
    run_ops(approximate, LENGTH(approximate));
}
