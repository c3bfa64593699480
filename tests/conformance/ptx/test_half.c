// SPDX-License-Identifier: Apache-2.0
//
// f16, bf16 and packed arithmetic of PTX: one rounding per operation, NaN rules, .ftz, .sat, .relu.
#include "half.h"
#include "semantics.h"
#include "../conformance.h"

TestSuite(halves, .timeout = 240);

static exact h(uint64_t bits)
{
    return format_decode(format_f16, bits & 0xffff);
}

static exact bf(uint64_t bits)
{
    return format_decode(format_bf16, bits & 0xffff);
}

static bool sign16(uint64_t bits)
{
    return bits >> 15 & 1;
}

// Sign of an exact zero sum: negative only when both terms are negative zeros.
static bool zero_sum(bool x, bool y)
{
    return x && y;
}

static uint64_t encode(struct format f, exact v, bool zero)
{
    return format_encode(f, v, NEAREST_EVEN, false, zero);
}

static uint64_t h_add(uint64_t a, uint64_t b)
{
    return encode(format_f16, h(a) + h(b), zero_sum(sign16(a), sign16(b)));
}

static uint64_t h_sub(uint64_t a, uint64_t b)
{
    return h_add(a, b ^ 0x8000);
}

static uint64_t h_mul(uint64_t a, uint64_t b)
{
    return encode(format_f16, h(a) * h(b), sign16(a) ^ sign16(b));
}

static uint64_t h_fma(uint64_t a, uint64_t b, uint64_t c)
{
    return encode(format_f16, h(a) * h(b) + h(c), zero_sum(sign16(a) ^ sign16(b), sign16(c)));
}

// bf16 spans 2^-133 .. 2^128: a product plus a term may need more than the 113 bits of `exact`.
// A term that is more than 2^100 smaller than the other only decides the direction of a tie, which
// a nudge far below the last place represents.
static uint64_t b_fma(uint64_t a, uint64_t b, uint64_t c)
{
    exact product = bf(a) * bf(b), term = bf(c);
    exact p = product < 0 ? -product : product, t = term < 0 ? -term : term;
    if (p == p && t == t && p > 0 && t > 0 && p < exact_power(130) && t < exact_power(130)) {
        if (p > t * exact_power(60)) {
            term = (term < 0 ? -1 : 1) * p * exact_power(-60);
        } else if (t > p * exact_power(60)) {
            product = (product < 0 ? -1 : 1) * t * exact_power(-60);
        }
    }
    return encode(format_bf16, product + term, zero_sum(sign16(a) ^ sign16(b), sign16(c)));
}

static uint64_t b_add(uint64_t a, uint64_t b)
{
    return b_fma(a, 0x3f80, b);
}

static uint64_t b_mul(uint64_t a, uint64_t b)
{
    return encode(format_bf16, bf(a) * bf(b), sign16(a) ^ sign16(b));
}

static uint64_t h_flush(uint64_t bits)
{
    return (bits & 0x7c00) == 0 ? bits & 0x8000 : bits & 0xffff;
}

static uint64_t h_saturate(uint64_t bits)
{
    exact v = h(bits);
    return v != v || v <= 0 ? 0 : v > 1 ? 0x3c00 : bits;
}

static uint64_t h_relu(uint64_t bits)
{
    return format_is_nan(format_f16, bits) ? 0x7fff : sign16(bits) ? 0 : bits;
}

static uint64_t small_min(struct format f, uint64_t a, uint64_t b, bool nan, bool is_max)
{
    a &= 0xffff;
    b &= 0xffff;
    bool nan_a = format_is_nan(f, a), nan_b = format_is_nan(f, b);
    if (nan_a || nan_b) {
        return nan || (nan_a && nan_b) ? 0x7fff : nan_a ? b : a;
    }
    exact x = format_decode(f, a), y = format_decode(f, b);
    bool less = x < y || (x == y && sign16(a));
    return less != is_max ? a : b;
}

#define PAIR(f, a, b) (f((a) >> 16 & 0xffff, (b) >> 16 & 0xffff) << 16 | f((a)&0xffff, (b)&0xffff))
#define TRIPLE(f, a, b, c)                                                 \
    (f((a) >> 16 & 0xffff, (b) >> 16 & 0xffff, (c) >> 16 & 0xffff) << 16 | \
     f((a)&0xffff, (b)&0xffff, (c)&0xffff))

static uint64_t h_min(uint64_t a, uint64_t b)
{
    return small_min(format_f16, a, b, false, false);
}

#define HALF(X)                                                                               \
    X(add_f16, "xx", 'h', 'x', "add.f16 %hd, %ha, %hb;", h_add(a, b))                         \
    X(add_rn_f16, "xx", 'h', 'x', "add.rn.f16 %hd, %ha, %hb;", h_add(a, b))                   \
    X(add_ftz_f16, "xx", 'h', 'x', "add.ftz.f16 %hd, %ha, %hb;",                              \
      h_flush(h_add(h_flush(a), h_flush(b))))                                                 \
    X(add_sat_f16, "xx", 'h', 'x', "add.sat.f16 %hd, %ha, %hb;", h_saturate(h_add(a, b)))     \
    X(sub_f16, "xx", 'h', 'x', "sub.f16 %hd, %ha, %hb;", h_sub(a, b))                         \
    X(mul_f16, "xx", 'h', 'x', "mul.f16 %hd, %ha, %hb;", h_mul(a, b))                         \
    X(fma_f16, "xxx", 'h', 'x', "fma.rn.f16 %hd, %ha, %hb, %hc;", h_fma(a, b, c))             \
    X(fma_relu_f16, "xxx", 'h', 'x', "fma.rn.relu.f16 %hd, %ha, %hb, %hc;",                   \
      h_relu(h_fma(a, b, c)))                                                                 \
    X(fma_sat_f16, "xxx", 'h', 'x', "fma.rn.sat.f16 %hd, %ha, %hb, %hc;",                     \
      h_saturate(h_fma(a, b, c)))                                                             \
    X(neg_f16, "x", 'h', 'x', "neg.f16 %hd, %ha;", U16(a ^ 0x8000))                           \
    X(abs_f16, "x", 'h', 'x', "abs.f16 %hd, %ha;", a & 0x7fff)                                \
    X(min_f16, "xx", 'h', 'x', "min.f16 %hd, %ha, %hb;", h_min(a, b))                         \
    X(max_f16, "xx", 'h', 'x', "max.f16 %hd, %ha, %hb;", small_min(format_f16, a, b, 0, 1))   \
    X(max_nan_f16, "xx", 'h', 'x', "max.NaN.f16 %hd, %ha, %hb;",                              \
      small_min(format_f16, a, b, 1, 1))                                                      \
    X(nan_pattern_f16, "xx", 'h', 0,                                                          \
      "max.NaN.f16 %h0, %ha, %hb; testp.notanumber.f32 %p0, %ra; cvt.f32.f16 %r0, %h0;"       \
      " setp.nan.f32 %p1, %r0, %r0; selp.b16 %hd, %h0, 0x7fff, %p1;",                         \
      0x7fff)                                                                                 \
    X(setp_lt_f16, "xx", 'p', 0, "setp.lt.f16 %pd, %ha, %hb;", h(a) < h(b))                   \
    X(setp_neu_f16, "xx", 'p', 0, "setp.neu.f16 %pd, %ha, %hb;", h(a) != h(b))                \
    X(add_f16x2, "XX", 'r', 'X', "add.f16x2 %rd, %ra, %rb;", PAIR(h_add, a, b))               \
    X(sub_f16x2, "XX", 'r', 'X', "sub.f16x2 %rd, %ra, %rb;", PAIR(h_sub, a, b))               \
    X(mul_f16x2, "XX", 'r', 'X', "mul.f16x2 %rd, %ra, %rb;", PAIR(h_mul, a, b))               \
    X(fma_f16x2, "XXX", 'r', 'X', "fma.rn.f16x2 %rd, %ra, %rb, %rc;", TRIPLE(h_fma, a, b, c)) \
    X(min_f16x2, "XX", 'r', 'X', "min.f16x2 %rd, %ra, %rb;", PAIR(h_min, a, b))               \
    X(neg_f16x2, "X", 'r', 'X', "neg.f16x2 %rd, %ra;", U32(a) ^ 0x80008000)                   \
    X(setp_f16x2, "XX", 'r', 0,                                                               \
      "setp.lt.f16x2 %p0|%p1, %ra, %rb; selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 2, 0, %p1;"    \
      " or.b32 %rd, %r0, %r1;",                                                               \
      (h(a) < h(b)) | (h(a >> 16) < h(b >> 16)) << 1)

HALF(OP_ORACLE)
static const struct op half_rows[] = {HALF(OP_ROW)};

Test(halves, f16)
{
    run_ops(half_rows, LENGTH(half_rows));
}

#define BFLOAT(X)                                                                              \
    X(add_bf16, "bb", 'h', 'b', "add.rn.bf16 %hd, %ha, %hb;", b_add(a, b))                     \
    X(sub_bf16, "bb", 'h', 'b', "sub.rn.bf16 %hd, %ha, %hb;", b_add(a, b ^ 0x8000))            \
    X(mul_bf16, "bb", 'h', 'b', "mul.rn.bf16 %hd, %ha, %hb;", b_mul(a, b))                     \
    X(fma_bf16, "bbb", 'h', 'b', "fma.rn.bf16 %hd, %ha, %hb, %hc;", b_fma(a, b, c))            \
    X(neg_bf16, "b", 'h', 'b', "neg.bf16 %hd, %ha;", U16(a ^ 0x8000))                          \
    X(abs_bf16, "b", 'h', 'b', "abs.bf16 %hd, %ha;", a & 0x7fff)                               \
    X(min_bf16, "bb", 'h', 'b', "min.bf16 %hd, %ha, %hb;", small_min(format_bf16, a, b, 0, 0)) \
    X(max_nan_bf16, "bb", 'h', 'b', "max.NaN.bf16 %hd, %ha, %hb;",                             \
      small_min(format_bf16, a, b, 1, 1))                                                      \
    X(add_bf16x2, "BB", 'r', 'B', "add.rn.bf16x2 %rd, %ra, %rb;", PAIR(b_add, a, b))           \
    X(fma_bf16x2, "BBB", 'r', 'B', "fma.rn.bf16x2 %rd, %ra, %rb, %rc;", TRIPLE(b_fma, a, b, c))

BFLOAT(OP_ORACLE)
static const struct op bfloat_rows[] = {BFLOAT(OP_ROW)};

Test(halves, bf16)
{
    run_ops(bfloat_rows, LENGTH(bfloat_rows));
}

static uint64_t o_ex2(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    exact v = h(a);
    return format_encode(
        format_f16, v > 100 || v < -100 ? (v > 0 ? (exact)1e30 : (exact)0) : (exact)exp2((double)v),
        NEAREST_EVEN, false, false);
}

static uint64_t o_tanh(uint64_t a, uint64_t b, uint64_t c)
{
    (void)b, (void)c;
    return format_encode(format_f16, (exact)tanh((double)h(a)), NEAREST_EVEN, false, sign16(a));
}

static const struct op approximate[] = {
    {"ex2_f16", "x", 'h', "ex2.approx.f16 %hd, %ha;", o_ex2, 'x', 0x1p-9, 0x1p-23},
    {"tanh_f16", "x", 'h', "tanh.approx.f16 %hd, %ha;", o_tanh, 'x', 0x1p-9, 0x1p-23},
};

Test(halves, approximate)
{
    run_ops(approximate, LENGTH(approximate));
}
