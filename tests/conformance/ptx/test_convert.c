// SPDX-License-Identifier: Apache-2.0
//
// cvt in every direction, rounding and saturation, against exact oracles.
#include "half.h"
#include "semantics.h"
#include "../conformance.h"

TestSuite(conversions, .timeout = 240);

static const struct format format_f64 = {11, 52, true};

// Integer from float: rounds in `direction`, clamps to the range, NaN as the ISA says (0 for
// everything up to 32 bits and the sign-less pattern for 64 bits).
static uint64_t to_integer(exact value, enum direction direction, unsigned bits, bool is_signed)
{
    uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    exact low = is_signed ? -exact_power((int)bits - 1) : 0;
    exact high = exact_power((int)bits - is_signed) - 1;
    if (value != value) {
        return bits == 64 ? 1ull << 63 : 0;
    }
    bool negative = value < 0;
    exact magnitude = negative ? -value : value;
    exact whole;
    if (magnitude >= exact_power(63)) {
        whole = magnitude;
    } else {
        uint64_t below = (uint64_t)magnitude;
        exact rest = magnitude - (exact)below;
        bool up = direction == NEAREST_EVEN
                      ? rest > (exact)0.5 || (rest == (exact)0.5 && (below & 1))
                  : direction == DOWNWARD ? negative && rest > 0
                  : direction == UPWARD   ? !negative && rest > 0
                                          : false;
        whole = (exact)(below + up);
    }
    exact result = negative ? -whole : whole;
    result = result < low ? low : result > high ? high : result;
    if (result < 0) {
        return (0 - (uint64_t)-result) & mask;
    }
    return (uint64_t)result & mask;
}

// Float from float: keeps the sign of zero.
static uint64_t to_float(struct format to, struct format from, uint64_t bits, enum direction d,
                         bool finite)
{
    bool sign = bits >> (from.exponent_bits + from.mantissa_bits) & 1;
    return format_encode(to, format_decode(from, bits), d, finite, sign);
}

static uint64_t sat_float(struct format to, struct format from, uint64_t bits, enum direction d)
{
    exact value = format_decode(from, bits);
    if (value != value || value <= 0) {
        return 0;
    }
    return format_encode(to, value > 1 ? 1 : value, d, false, false);
}

// Round to an integer, still a float (cvt.rni.f32.f32).
static uint64_t whole32(float v, int how)
{
    float r = how == 0 ? nearbyintf(v) : how == 1 ? truncf(v) : how == 2 ? floorf(v) : ceilf(v);
    return f32_bits(r);
}

static uint64_t whole64(double v, int how)
{
    double r = how == 0 ? nearbyint(v) : how == 1 ? trunc(v) : how == 2 ? floor(v) : ceil(v);
    return f64_bits(r);
}

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

static exact f32_exact(uint64_t a)
{
    return format_decode(format_f32, U32(a));
}

static exact f64_exact(uint64_t a)
{
    return format_decode(format_f64, a);
}

static exact flushed(uint64_t a)
{
    return format_decode(format_f32, f32_bits(flush(as_f32(a))));
}

#define INTEGERS(X)                                                                               \
    X(s32_s8, "r", 'r', 0, "cvt.s32.s8 %rd, %ra;", U32((int8_t)a))                                \
    X(u32_u8, "r", 'r', 0, "cvt.u32.u8 %rd, %ra;", (uint8_t)a)                                    \
    X(s32_s16, "h", 'r', 0, "cvt.s32.s16 %rd, %ha;", U32(S16(a)))                                 \
    X(u32_u16, "h", 'r', 0, "cvt.u32.u16 %rd, %ha;", U16(a))                                      \
    X(s64_s32, "r", 'l', 0, "cvt.s64.s32 %ld, %ra;", (int64_t)S32(a))                             \
    X(u64_u32, "r", 'l', 0, "cvt.u64.u32 %ld, %ra;", U32(a))                                      \
    X(u16_u32, "r", 'h', 0, "cvt.u16.u32 %hd, %ra;", U16(a))                                      \
    X(u32_u64, "l", 'r', 0, "cvt.u32.u64 %rd, %la;", U32(a))                                      \
    X(s16_s8, "h", 'h', 0, "cvt.s16.s8 %hd, %ha;", U16((int8_t)a))                                \
    X(s8_s32, "r", 'r', 0, "cvt.s8.s32 %rd, %ra;", U32((int8_t)a))                                \
    X(u8_u32, "r", 'r', 0, "cvt.u8.u32 %rd, %ra;", (uint8_t)a)                                    \
    X(sat_s8_s32, "r", 'r', 0, "cvt.sat.s8.s32 %rd, %ra;", U32(clamp(S32(a), -128, 127)))         \
    X(sat_u8_s32, "r", 'r', 0, "cvt.sat.u8.s32 %rd, %ra;", U32(clamp(S32(a), 0, 255)))            \
    X(sat_u8_u32, "r", 'r', 0, "cvt.sat.u8.u32 %rd, %ra;", U32(a) > 255 ? 255 : U32(a))           \
    X(sat_s16_s64, "l", 'h', 0, "cvt.sat.s16.s64 %hd, %la;", U16(clamp(S64(a), -32768, 32767)))   \
    X(sat_u32_s64, "l", 'r', 0, "cvt.sat.u32.s64 %rd, %la;", U32(clamp(S64(a), 0, 0xffffffffll))) \
    X(sat_u32_s32, "r", 'r', 0, "cvt.sat.u32.s32 %rd, %ra;", S32(a) < 0 ? 0 : U32(a))             \
    X(sat_s32_u32, "r", 'r', 0, "cvt.sat.s32.u32 %rd, %ra;",                                      \
      U32(a) > INT32_MAX ? INT32_MAX : U32(a))                                                    \
    X(sat_s32_u64, "l", 'r', 0, "cvt.sat.s32.u64 %rd, %la;", a > INT32_MAX ? INT32_MAX : a)

INTEGERS(OP_ORACLE)
static const struct op integers[] = {INTEGERS(OP_ROW)};

Test(conversions, between_integers)
{
    run_ops(integers, LENGTH(integers));
}

#define FROM_FLOAT(X)                                                                            \
    X(rni_s32_f32, "f", 'r', 0, "cvt.rni.s32.f32 %rd, %ra;",                                     \
      to_integer(f32_exact(a), NEAREST_EVEN, 32, 1))                                             \
    X(rzi_s32_f32, "f", 'r', 0, "cvt.rzi.s32.f32 %rd, %ra;",                                     \
      to_integer(f32_exact(a), TOWARD_ZERO, 32, 1))                                              \
    X(rmi_s32_f32, "f", 'r', 0, "cvt.rmi.s32.f32 %rd, %ra;",                                     \
      to_integer(f32_exact(a), DOWNWARD, 32, 1))                                                 \
    X(rpi_s32_f32, "f", 'r', 0, "cvt.rpi.s32.f32 %rd, %ra;",                                     \
      to_integer(f32_exact(a), UPWARD, 32, 1))                                                   \
    X(rmi_ftz_s32_f32, "f", 'r', 0, "cvt.rmi.ftz.s32.f32 %rd, %ra;",                             \
      to_integer(flushed(a), DOWNWARD, 32, 1))                                                   \
    X(rzi_u32_f32, "f", 'r', 0, "cvt.rzi.u32.f32 %rd, %ra;",                                     \
      to_integer(f32_exact(a), TOWARD_ZERO, 32, 0))                                              \
    X(rpi_u32_f32, "f", 'r', 0, "cvt.rpi.u32.f32 %rd, %ra;",                                     \
      to_integer(f32_exact(a), UPWARD, 32, 0))                                                   \
    X(rzi_s16_f32, "f", 'h', 0, "cvt.rzi.s16.f32 %hd, %ra;",                                     \
      to_integer(f32_exact(a), TOWARD_ZERO, 16, 1))                                              \
    X(rzi_u16_f32, "f", 'h', 0, "cvt.rzi.u16.f32 %hd, %ra;",                                     \
      to_integer(f32_exact(a), TOWARD_ZERO, 16, 0))                                              \
    X(rni_u8_f32, "f", 'r', 0, "cvt.rni.u8.f32 %rd, %ra;",                                       \
      to_integer(f32_exact(a), NEAREST_EVEN, 8, 0))                                              \
    X(rzi_s64_f32, "f", 'l', 0, "cvt.rzi.s64.f32 %ld, %ra;",                                     \
      to_integer(f32_exact(a), TOWARD_ZERO, 64, 1))                                              \
    X(rzi_u64_f32, "f", 'l', 0, "cvt.rzi.u64.f32 %ld, %ra;",                                     \
      to_integer(f32_exact(a), TOWARD_ZERO, 64, 0))                                              \
    X(rzi_s32_f64, "d", 'r', 0, "cvt.rzi.s32.f64 %rd, %la;",                                     \
      isnan(as_f64(a)) ? 0x80000000 : to_integer(f64_exact(a), TOWARD_ZERO, 32, 1))              \
    X(rni_s64_f64, "d", 'l', 0, "cvt.rni.s64.f64 %ld, %la;",                                     \
      to_integer(f64_exact(a), NEAREST_EVEN, 64, 1))                                             \
    X(rmi_u32_f64, "d", 'r', 0, "cvt.rmi.u32.f64 %rd, %la;",                                     \
      isnan(as_f64(a)) ? 0x80000000 : to_integer(f64_exact(a), DOWNWARD, 32, 0))                 \
    X(rpi_u64_f64, "d", 'l', 0, "cvt.rpi.u64.f64 %ld, %la;",                                     \
      to_integer(f64_exact(a), UPWARD, 64, 0))                                                   \
    X(rzi_s32_f16, "x", 'r', 0, "cvt.rzi.s32.f16 %rd, %ha;",                                     \
      to_integer(format_decode(format_f16, a), TOWARD_ZERO, 32, 1))                              \
    X(rni_u16_f16, "x", 'h', 0, "cvt.rni.u16.f16 %hd, %ha;",                                     \
      to_integer(format_decode(format_f16, a), NEAREST_EVEN, 16, 0))                             \
    X(rni_f32, "f", 'r', 'f', "cvt.rni.f32.f32 %rd, %ra;", whole32(as_f32(a), 0))                \
    X(rzi_f32, "f", 'r', 'f', "cvt.rzi.f32.f32 %rd, %ra;", whole32(as_f32(a), 1))                \
    X(rmi_f32, "f", 'r', 'f', "cvt.rmi.f32.f32 %rd, %ra;", whole32(as_f32(a), 2))                \
    X(rpi_f32, "f", 'r', 'f', "cvt.rpi.f32.f32 %rd, %ra;", whole32(as_f32(a), 3))                \
    X(rpi_ftz_f32, "f", 'r', 'f', "cvt.rpi.ftz.f32.f32 %rd, %ra;", whole32(flush(as_f32(a)), 3)) \
    X(rni_f64, "d", 'l', 'd', "cvt.rni.f64.f64 %ld, %la;", whole64(as_f64(a), 0))                \
    X(rmi_f64, "d", 'l', 'd', "cvt.rmi.f64.f64 %ld, %la;", whole64(as_f64(a), 2))                \
    X(sat_f32_f32, "f", 'r', 0, "cvt.sat.f32.f32 %rd, %ra;",                                     \
      sat_float(format_f32, format_f32, U32(a), NEAREST_EVEN))

FROM_FLOAT(OP_ORACLE)
static const struct op from_float[] = {FROM_FLOAT(OP_ROW)};

Test(conversions, from_floats)
{
    run_ops(from_float, LENGTH(from_float));
}

static uint64_t from_s(struct format to, int64_t v, enum direction d)
{
    return format_encode(to, (exact)v, d, false, false);
}

static uint64_t from_u(struct format to, uint64_t v, enum direction d)
{
    return format_encode(to, (exact)v, d, false, false);
}

#define TO_FLOAT(X)                                                                              \
    X(rn_f32_s32, "r", 'r', 0, "cvt.rn.f32.s32 %rd, %ra;",                                       \
      from_s(format_f32, S32(a), NEAREST_EVEN))                                                  \
    X(rz_f32_s32, "r", 'r', 0, "cvt.rz.f32.s32 %rd, %ra;",                                       \
      from_s(format_f32, S32(a), TOWARD_ZERO))                                                   \
    X(rm_f32_s32, "r", 'r', 0, "cvt.rm.f32.s32 %rd, %ra;", from_s(format_f32, S32(a), DOWNWARD)) \
    X(rp_f32_u32, "r", 'r', 0, "cvt.rp.f32.u32 %rd, %ra;", from_u(format_f32, U32(a), UPWARD))   \
    X(rn_f32_u32, "r", 'r', 0, "cvt.rn.f32.u32 %rd, %ra;",                                       \
      from_u(format_f32, U32(a), NEAREST_EVEN))                                                  \
    X(rn_f32_s64, "l", 'r', 0, "cvt.rn.f32.s64 %rd, %la;",                                       \
      from_s(format_f32, S64(a), NEAREST_EVEN))                                                  \
    X(rz_f32_u64, "l", 'r', 0, "cvt.rz.f32.u64 %rd, %la;", from_u(format_f32, a, TOWARD_ZERO))   \
    X(rn_f32_u64, "l", 'r', 0, "cvt.rn.f32.u64 %rd, %la;", from_u(format_f32, a, NEAREST_EVEN))  \
    X(rn_f32_u8, "r", 'r', 0, "cvt.rn.f32.u8 %rd, %ra;",                                         \
      from_u(format_f32, (uint8_t)a, NEAREST_EVEN))                                              \
    X(rn_f32_s16, "h", 'r', 0, "cvt.rn.f32.s16 %rd, %ha;",                                       \
      from_s(format_f32, S16(a), NEAREST_EVEN))                                                  \
    X(rn_f64_s32, "r", 'l', 0, "cvt.rn.f64.s32 %ld, %ra;",                                       \
      from_s(format_f64, S32(a), NEAREST_EVEN))                                                  \
    X(rn_f64_s64, "l", 'l', 0, "cvt.rn.f64.s64 %ld, %la;",                                       \
      from_s(format_f64, S64(a), NEAREST_EVEN))                                                  \
    X(rm_f64_s64, "l", 'l', 0, "cvt.rm.f64.s64 %ld, %la;", from_s(format_f64, S64(a), DOWNWARD)) \
    X(rp_f64_u64, "l", 'l', 0, "cvt.rp.f64.u64 %ld, %la;", from_u(format_f64, a, UPWARD))        \
    X(rn_f16_s32, "r", 'h', 0, "cvt.rn.f16.s32 %hd, %ra;",                                       \
      from_s(format_f16, S32(a), NEAREST_EVEN))                                                  \
    X(rz_f16_u16, "h", 'h', 0, "cvt.rz.f16.u16 %hd, %ha;",                                       \
      from_u(format_f16, U16(a), TOWARD_ZERO))                                                   \
    X(rn_f16_s64, "l", 'h', 0, "cvt.rn.f16.s64 %hd, %la;",                                       \
      from_s(format_f16, S64(a), NEAREST_EVEN))                                                  \
    X(rn_f32_f64, "d", 'r', 'f', "cvt.rn.f32.f64 %rd, %la;",                                     \
      to_float(format_f32, format_f64, a, NEAREST_EVEN, 0))                                      \
    X(rz_f32_f64, "d", 'r', 'f', "cvt.rz.f32.f64 %rd, %la;",                                     \
      to_float(format_f32, format_f64, a, TOWARD_ZERO, 0))                                       \
    X(rm_f32_f64, "d", 'r', 'f', "cvt.rm.f32.f64 %rd, %la;",                                     \
      to_float(format_f32, format_f64, a, DOWNWARD, 0))                                          \
    X(rp_f32_f64, "d", 'r', 'f', "cvt.rp.f32.f64 %rd, %la;",                                     \
      to_float(format_f32, format_f64, a, UPWARD, 0))                                            \
    X(rn_ftz_f32_f64, "d", 'r', 'f', "cvt.rn.ftz.f32.f64 %rd, %la;",                             \
      f32_bits(flush(as_f32(to_float(format_f32, format_f64, a, NEAREST_EVEN, 0)))))             \
    X(rn_sat_f32_f64, "d", 'r', 'f', "cvt.rn.sat.f32.f64 %rd, %la;",                             \
      sat_float(format_f32, format_f64, a, NEAREST_EVEN))                                        \
    X(f64_f32, "f", 'l', 'd', "cvt.f64.f32 %ld, %ra;",                                           \
      to_float(format_f64, format_f32, U32(a), NEAREST_EVEN, 0))                                 \
    X(ftz_f64_f32, "f", 'l', 'd', "cvt.ftz.f64.f32 %ld, %ra;",                                   \
      to_float(format_f64, format_f32, f32_bits(flush(as_f32(a))), NEAREST_EVEN, 0))             \
    X(rn_f16_f32, "f", 'h', 'x', "cvt.rn.f16.f32 %hd, %ra;",                                     \
      to_float(format_f16, format_f32, U32(a), NEAREST_EVEN, 0))                                 \
    X(rz_f16_f32, "f", 'h', 'x', "cvt.rz.f16.f32 %hd, %ra;",                                     \
      to_float(format_f16, format_f32, U32(a), TOWARD_ZERO, 0))                                  \
    X(rm_f16_f32, "f", 'h', 'x', "cvt.rm.f16.f32 %hd, %ra;",                                     \
      to_float(format_f16, format_f32, U32(a), DOWNWARD, 0))                                     \
    X(rp_f16_f64, "d", 'h', 'x', "cvt.rp.f16.f64 %hd, %la;",                                     \
      to_float(format_f16, format_f64, a, UPWARD, 0))                                            \
    X(rn_f16_f64, "d", 'h', 'x', "cvt.rn.f16.f64 %hd, %la;",                                     \
      to_float(format_f16, format_f64, a, NEAREST_EVEN, 0))                                      \
    X(f32_f16, "x", 'r', 'f', "cvt.f32.f16 %rd, %ha;",                                           \
      to_float(format_f32, format_f16, U16(a), NEAREST_EVEN, 0))                                 \
    X(f64_f16, "x", 'l', 'd', "cvt.f64.f16 %ld, %ha;",                                           \
      to_float(format_f64, format_f16, U16(a), NEAREST_EVEN, 0))                                 \
    X(rn_bf16_f32, "f", 'h', 'b', "cvt.rn.bf16.f32 %hd, %ra;",                                   \
      to_float(format_bf16, format_f32, U32(a), NEAREST_EVEN, 0))                                \
    X(rz_bf16_f32, "f", 'h', 'b', "cvt.rz.bf16.f32 %hd, %ra;",                                   \
      to_float(format_bf16, format_f32, U32(a), TOWARD_ZERO, 0))                                 \
    X(rn_relu_bf16_f32, "f", 'h', 'b', "cvt.rn.relu.bf16.f32 %hd, %ra;",                         \
      !isnan(as_f32(a)) && signbit(as_f32(a))                                                    \
          ? 0                                                                                    \
          : to_float(format_bf16, format_f32, U32(a), NEAREST_EVEN, 0))                          \
    X(f32_bf16, "b", 'r', 'f', "cvt.f32.bf16 %rd, %ha;", U32(a << 16))                           \
    X(rn_f16x2_f32, "ff", 'r', 'X', "cvt.rn.f16x2.f32 %rd, %ra, %rb;",                           \
      to_float(format_f16, format_f32, U32(a), NEAREST_EVEN, 0) << 16 |                          \
          to_float(format_f16, format_f32, U32(b), NEAREST_EVEN, 0))                             \
    X(rn_bf16x2_f32, "ff", 'r', 'B', "cvt.rn.bf16x2.f32 %rd, %ra, %rb;",                         \
      to_float(format_bf16, format_f32, U32(a), NEAREST_EVEN, 0) << 16 |                         \
          to_float(format_bf16, format_f32, U32(b), NEAREST_EVEN, 0))                            \
    X(rna_tf32, "f", 'r', 'f', "cvt.rna.tf32.f32 %rd, %ra;",                                     \
      to_float(format_tf32, format_f32, U32(a), NEAREST_AWAY, 0) << 13)                          \
    X(e4m3x2_f32, "ff", 'h', 0, "cvt.rn.satfinite.e4m3x2.f32 %hd, %ra, %rb;",                    \
      to_float(format_e4m3, format_f32, U32(a), NEAREST_EVEN, 1) << 8 |                          \
          to_float(format_e4m3, format_f32, U32(b), NEAREST_EVEN, 1))                            \
    X(e5m2x2_f32, "ff", 'h', 0, "cvt.rn.satfinite.e5m2x2.f32 %hd, %ra, %rb;",                    \
      to_float(format_e5m2, format_f32, U32(a), NEAREST_EVEN, 1) << 8 |                          \
          to_float(format_e5m2, format_f32, U32(b), NEAREST_EVEN, 1))                            \
    X(f16x2_e4m3x2, "h", 'r', 'X', "cvt.rn.f16x2.e4m3x2 %rd, %ha;",                              \
      to_float(format_f16, format_e4m3, a >> 8 & 0xff, NEAREST_EVEN, 0) << 16 |                  \
          to_float(format_f16, format_e4m3, a & 0xff, NEAREST_EVEN, 0))                          \
    X(f16x2_e5m2x2, "h", 'r', 'X', "cvt.rn.f16x2.e5m2x2 %rd, %ha;",                              \
      to_float(format_f16, format_e5m2, a >> 8 & 0xff, NEAREST_EVEN, 0) << 16 |                  \
          to_float(format_f16, format_e5m2, a & 0xff, NEAREST_EVEN, 0))                          \
    X(e4m3x2_f16x2, "X", 'h', 0, "cvt.rn.satfinite.e4m3x2.f16x2 %hd, %ra;",                      \
      to_float(format_e4m3, format_f16, a >> 16 & 0xffff, NEAREST_EVEN, 1) << 8 |                \
          to_float(format_e4m3, format_f16, a & 0xffff, NEAREST_EVEN, 1))

TO_FLOAT(OP_ORACLE)
static const struct op to_floats[] = {TO_FLOAT(OP_ROW)};

Test(conversions, to_floats)
{
    run_ops(to_floats, LENGTH(to_floats));
}

static int64_t half_word(int64_t v, int bits, bool is_signed)
{
    return is_signed ? clamp(v, -(1ll << (bits - 1)), (1ll << (bits - 1)) - 1)
                     : clamp(v, 0, (1ll << bits) - 1);
}

#define PACK(X)                                                                  \
    X(pack_s16_s32, "rr", 'r', 0, "cvt.pack.sat.s16.s32 %rd, %ra, %rb;",         \
      U32(U32(half_word(S32(a), 16, 1)) << 16 | U16(half_word(S32(b), 16, 1))))  \
    X(pack_u16_s32, "rr", 'r', 0, "cvt.pack.sat.u16.s32 %rd, %ra, %rb;",         \
      U32(U32(half_word(S32(a), 16, 0)) << 16 | U16(half_word(S32(b), 16, 0))))  \
    X(pack_s8_s32, "rrr", 'r', 0, "cvt.pack.sat.s8.s32.b32 %rd, %ra, %rb, %rc;", \
      U32(c << 16 | (U32(half_word(S32(a), 8, 1)) & 0xff) << 8 |                 \
          (U32(half_word(S32(b), 8, 1)) & 0xff)))                                \
    X(pack_u8_s32, "rrr", 'r', 0, "cvt.pack.sat.u8.s32.b32 %rd, %ra, %rb, %rc;", \
      U32(c << 16 | U32(half_word(S32(a), 8, 0)) << 8 | U32(half_word(S32(b), 8, 0))))

PACK(OP_ORACLE)
static const struct op pack[] = {PACK(OP_ROW)};

Test(conversions, pack)
{
    run_ops(pack, LENGTH(pack));
}
