// SPDX-License-Identifier: Apache-2.0
//
// Integer arithmetic of PTX ISA chapter "Integer Arithmetic Instructions", extended precision and
// dot products, against C.
#include "semantics.h"
#include "../conformance.h"

TestSuite(integer, .timeout = 240);

__extension__ typedef __int128 i128;
__extension__ typedef unsigned __int128 u128;

static int64_t clamp32(int64_t v)
{
    return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : v;
}

static int64_t s24(uint64_t v)
{
    return (int32_t)(U32(v) << 8) >> 8;
}

static uint64_t open_result(void)
{
    op_any();
    return 0;
}

static int64_t magnitude(int64_t v)
{
    return v < 0 ? -v : v;
}

static int32_t dot4(uint64_t a, uint64_t b, int32_t c, bool signed_a, bool signed_b)
{
    uint32_t sum = U32(c);
    for (int i = 0; i < 4; i++) {
        int32_t x = signed_a ? (int8_t)(a >> 8 * i) : (uint8_t)(a >> 8 * i);
        int32_t y = signed_b ? (int8_t)(b >> 8 * i) : (uint8_t)(b >> 8 * i);
        sum += (uint32_t)(x * y);
    }
    return S32(sum);
}

static int32_t dot2(uint64_t a, uint64_t b, int32_t c, bool signed_a, bool signed_b, int high)
{
    uint32_t sum = U32(c);
    for (int i = 0; i < 2; i++) {
        int32_t x = signed_a ? (int16_t)(a >> 16 * i) : (uint16_t)(a >> 16 * i);
        int32_t y =
            signed_b ? (int8_t)(b >> 8 * (i + 2 * high)) : (uint8_t)(b >> 8 * (i + 2 * high));
        sum += (uint32_t)(x * y);
    }
    return S32(sum);
}

#define ARITHMETIC(X)                                                                              \
    X(add_s16, "hh", 'h', 0, "add.s16 %hd, %ha, %hb;", U16(a + b))                                 \
    X(add_u32, "rr", 'r', 0, "add.u32 %rd, %ra, %rb;", U32(a + b))                                 \
    X(add_s64, "ll", 'l', 0, "add.s64 %ld, %la, %lb;", a + b)                                      \
    X(add_sat, "rr", 'r', 0, "add.sat.s32 %rd, %ra, %rb;", U32(clamp32((int64_t)S32(a) + S32(b)))) \
    X(sub_u16, "hh", 'h', 0, "sub.u16 %hd, %ha, %hb;", U16(a - b))                                 \
    X(sub_s32, "rr", 'r', 0, "sub.s32 %rd, %ra, %rb;", U32(a - b))                                 \
    X(sub_u64, "ll", 'l', 0, "sub.u64 %ld, %la, %lb;", a - b)                                      \
    X(sub_sat, "rr", 'r', 0, "sub.sat.s32 %rd, %ra, %rb;", U32(clamp32((int64_t)S32(a) - S32(b)))) \
    X(mul_lo_s16, "hh", 'h', 0, "mul.lo.s16 %hd, %ha, %hb;", U16((int)S16(a) * S16(b)))            \
    X(mul_hi_s16, "hh", 'h', 0, "mul.hi.s16 %hd, %ha, %hb;", U16(((int)S16(a) * S16(b)) >> 16))    \
    X(mul_hi_u16, "hh", 'h', 0, "mul.hi.u16 %hd, %ha, %hb;", (U32(U16(a)) * U16(b)) >> 16)         \
    X(mul_wide_s16, "hh", 'r', 0, "mul.wide.s16 %rd, %ha, %hb;", U32((int)S16(a) * S16(b)))        \
    X(mul_wide_u16, "hh", 'r', 0, "mul.wide.u16 %rd, %ha, %hb;", U32(U16(a)) * U16(b))             \
    X(mul_lo_s32, "rr", 'r', 0, "mul.lo.s32 %rd, %ra, %rb;", U32(a *b))                            \
    X(mul_hi_s32, "rr", 'r', 0, "mul.hi.s32 %rd, %ra, %rb;",                                       \
      U32(((int64_t)S32(a) * S32(b)) >> 32))                                                       \
    X(mul_hi_u32, "rr", 'r', 0, "mul.hi.u32 %rd, %ra, %rb;", (U64(U32(a)) * U32(b)) >> 32)         \
    X(mul_wide_s32, "rr", 'l', 0, "mul.wide.s32 %ld, %ra, %rb;", (int64_t)S32(a) * S32(b))         \
    X(mul_wide_u32, "rr", 'l', 0, "mul.wide.u32 %ld, %ra, %rb;", U64(U32(a)) * U32(b))             \
    X(mul_lo_u64, "ll", 'l', 0, "mul.lo.u64 %ld, %la, %lb;", a *b)                                 \
    X(mul_hi_s64, "ll", 'l', 0, "mul.hi.s64 %ld, %la, %lb;", ((i128)S64(a) * S64(b)) >> 64)        \
    X(mul_hi_u64, "ll", 'l', 0, "mul.hi.u64 %ld, %la, %lb;", ((u128)a * b) >> 64)                  \
    X(mad_lo_s16, "hhh", 'h', 0, "mad.lo.s16 %hd, %ha, %hb, %hc;",                                 \
      U16((int)S16(a) * S16(b) + S16(c)))                                                          \
    X(mad_lo_s32, "rrr", 'r', 0, "mad.lo.s32 %rd, %ra, %rb, %rc;", U32(a *b + c))                  \
    X(mad_hi_s32, "rrr", 'r', 0, "mad.hi.s32 %rd, %ra, %rb, %rc;",                                 \
      U32((U64((int64_t)S32(a) * S32(b)) >> 32) + c))                                              \
    X(mad_hi_u32, "rrr", 'r', 0, "mad.hi.u32 %rd, %ra, %rb, %rc;",                                 \
      U32(((U64(U32(a)) * U32(b)) >> 32) + c))                                                     \
    X(mad_hi_sat, "rrr", 'r', 0, "mad.hi.sat.s32 %rd, %ra, %rb, %rc;",                             \
      U32(clamp32((((int64_t)S32(a) * S32(b)) >> 32) + S32(c))))                                   \
    X(mad_wide_s16, "hhr", 'r', 0, "mad.wide.s16 %rd, %ha, %hb, %rc;",                             \
      U32(U32((int)S16(a) * S16(b)) + c))                                                          \
    X(mad_wide_s32, "rrl", 'l', 0, "mad.wide.s32 %ld, %ra, %rb, %lc;",                             \
      U64((int64_t)S32(a) * S32(b)) + c)                                                           \
    X(mad_wide_u32, "rrl", 'l', 0, "mad.wide.u32 %ld, %ra, %rb, %lc;", U64(U32(a)) * U32(b) + c)   \
    X(mad_lo_s64, "lll", 'l', 0, "mad.lo.s64 %ld, %la, %lb, %lc;", a *b + c)                       \
    X(mad_hi_u64, "lll", 'l', 0, "mad.hi.u64 %ld, %la, %lb, %lc;",                                 \
      (uint64_t)(((u128)a * b) >> 64) + c)                                                         \
    X(mul24_lo_s32, "rr", 'r', 0, "mul24.lo.s32 %rd, %ra, %rb;", U32(s24(a) * s24(b)))             \
    X(mul24_hi_s32, "rr", 'r', 0, "mul24.hi.s32 %rd, %ra, %rb;", U32((s24(a) * s24(b)) >> 16))     \
    X(mul24_lo_u32, "rr", 'r', 0, "mul24.lo.u32 %rd, %ra, %rb;",                                   \
      U32((a & 0xffffff) * (b & 0xffffff)))                                                        \
    X(mul24_hi_u32, "rr", 'r', 0, "mul24.hi.u32 %rd, %ra, %rb;",                                   \
      U32(((a & 0xffffff) * (b & 0xffffff)) >> 16))                                                \
    X(mad24_lo_s32, "rrr", 'r', 0, "mad24.lo.s32 %rd, %ra, %rb, %rc;",                             \
      U32(U64(s24(a) * s24(b)) + c))                                                               \
    X(mad24_hi_sat, "rrr", 'r', 0, "mad24.hi.sat.s32 %rd, %ra, %rb, %rc;",                         \
      U32(clamp32((s24(a) * s24(b) >> 16) + S32(c))))                                              \
    X(div_s16, "hh", 'h', 0, "div.s16 %hd, %ha, %hb;",                                             \
      S16(b) == 0 ? open_result() : U16(S16(a) / S16(b)))                                          \
    X(div_u16, "hh", 'h', 0, "div.u16 %hd, %ha, %hb;",                                             \
      U16(b) == 0 ? open_result() : U64(U16(a) / U16(b)))                                          \
    X(div_s32, "rr", 'r', 0, "div.s32 %rd, %ra, %rb;",                                             \
      S32(b) == 0 ? open_result() : U32((int64_t)S32(a) / S32(b)))                                 \
    X(div_u32, "rr", 'r', 0, "div.u32 %rd, %ra, %rb;",                                             \
      U32(b) == 0 ? open_result() : U64(U32(a) / U32(b)))                                          \
    X(div_s64, "ll", 'l', 0, "div.s64 %ld, %la, %lb;",                                             \
      b == 0 ? open_result() : (uint64_t)((i128)S64(a) / S64(b)))                                  \
    X(div_u64, "ll", 'l', 0, "div.u64 %ld, %la, %lb;", b == 0 ? open_result() : a / b)             \
    X(rem_s16, "hh", 'h', 0, "rem.s16 %hd, %ha, %hb;",                                             \
      S16(b) == 0 ? open_result() : U16(S16(a) % S16(b)))                                          \
    X(rem_s32, "rr", 'r', 0, "rem.s32 %rd, %ra, %rb;",                                             \
      S32(b) == 0 ? open_result() : U32((int64_t)S32(a) % S32(b)))                                 \
    X(rem_u32, "rr", 'r', 0, "rem.u32 %rd, %ra, %rb;",                                             \
      U32(b) == 0 ? open_result() : U64(U32(a) % U32(b)))                                          \
    X(rem_s64, "ll", 'l', 0, "rem.s64 %ld, %la, %lb;",                                             \
      b == 0 ? open_result() : (uint64_t)((i128)S64(a) % S64(b)))                                  \
    X(rem_u64, "ll", 'l', 0, "rem.u64 %ld, %la, %lb;", b == 0 ? open_result() : a % b)             \
    X(abs_s16, "h", 'h', 0, "abs.s16 %hd, %ha;", U16(magnitude(S16(a))))                           \
    X(abs_s32, "r", 'r', 0, "abs.s32 %rd, %ra;", U32(magnitude(S32(a))))                           \
    X(abs_s64, "l", 'l', 0, "abs.s64 %ld, %la;", S64(a) < 0 ? 0 - a : a)                           \
    X(neg_s16, "h", 'h', 0, "neg.s16 %hd, %ha;", U16(0 - a))                                       \
    X(neg_s32, "r", 'r', 0, "neg.s32 %rd, %ra;", U32(0 - a))                                       \
    X(neg_s64, "l", 'l', 0, "neg.s64 %ld, %la;", 0 - a)                                            \
    X(min_s16, "hh", 'h', 0, "min.s16 %hd, %ha, %hb;", U16(S16(a) < S16(b) ? a : b))               \
    X(min_u32, "rr", 'r', 0, "min.u32 %rd, %ra, %rb;", U32(a) < U32(b) ? U32(a) : U32(b))          \
    X(min_s32, "rr", 'r', 0, "min.s32 %rd, %ra, %rb;", U32(S32(a) < S32(b) ? a : b))               \
    X(min_s64, "ll", 'l', 0, "min.s64 %ld, %la, %lb;", S64(a) < S64(b) ? a : b)                    \
    X(max_u16, "hh", 'h', 0, "max.u16 %hd, %ha, %hb;", U16(a) > U16(b) ? U16(a) : U16(b))          \
    X(max_s32, "rr", 'r', 0, "max.s32 %rd, %ra, %rb;", U32(S32(a) > S32(b) ? a : b))               \
    X(max_u64, "ll", 'l', 0, "max.u64 %ld, %la, %lb;", a > b ? a : b)                              \
    X(min_s32_relu, "rr", 'r', 0, "min.relu.s32 %rd, %ra, %rb;",                                   \
      U32(S32(a) < S32(b) ? (S32(a) < 0 ? 0 : a) : (S32(b) < 0 ? 0 : b)))                          \
    X(sad_s16, "hhh", 'h', 0, "sad.s16 %hd, %ha, %hb, %hc;",                                       \
      U16(U64(magnitude((int64_t)S16(a) - S16(b))) + c))                                           \
    X(sad_u32, "rrr", 'r', 0, "sad.u32 %rd, %ra, %rb, %rc;",                                       \
      U32((U32(a) > U32(b) ? a - b : b - a) + c))                                                  \
    X(sad_s32, "rrr", 'r', 0, "sad.s32 %rd, %ra, %rb, %rc;",                                       \
      U32(U64(magnitude((int64_t)S32(a) - S32(b))) + c))                                           \
    X(sad_s64, "lll", 'l', 0, "sad.s64 %ld, %la, %lb, %lc;",                                       \
      (S64(a) < S64(b) ? b - a : a - b) + c)                                                       \
    X(sad_u64, "lll", 'l', 0, "sad.u64 %ld, %la, %lb, %lc;", (a < b ? b - a : a - b) + c)

ARITHMETIC(OP_ORACLE)
static const struct op arithmetic[] = {ARITHMETIC(OP_ROW)};

Test(integer, arithmetic)
{
    run_ops(arithmetic, LENGTH(arithmetic));
}

#define CARRY(X)                                                                      \
    X(add_cc_out, "rr", 'r', 0, "add.cc.u32 %r0, %ra, %rb; addc.u32 %rd, 0, 0;",      \
      (U64(U32(a)) + U32(b)) >> 32)                                                   \
    X(add_cc_64, "ll", 'l', 0,                                                        \
      "mov.b64 {%r0, %r1}, %la; mov.b64 {%r2, %r3}, %lb; add.cc.u32 %r4, %r0, %r2;"   \
      " addc.u32 %r5, %r1, %r3; mov.b64 %ld, {%r4, %r5};",                            \
      a + b)                                                                          \
    X(add_cc_96, "lll", 'r', 0,                                                       \
      "mov.b64 {%r0, %r1}, %la; mov.b64 {%r2, %r3}, %lb; add.cc.u32 %r4, %r0, %r2;"   \
      " addc.cc.u32 %r5, %r1, %r3; addc.u32 %rd, %rc, 0;",                            \
      U32((uint64_t)(((u128)a + b) >> 64) + c))                                       \
    X(add_cc_u64, "ll", 'l', 0, "add.cc.u64 %l0, %la, %lb; addc.u64 %ld, 0, 0;",      \
      (uint64_t)(((u128)a + b) >> 64))                                                \
    X(sub_cc_64, "ll", 'l', 0,                                                        \
      "mov.b64 {%r0, %r1}, %la; mov.b64 {%r2, %r3}, %lb; sub.cc.u32 %r4, %r0, %r2;"   \
      " subc.u32 %r5, %r1, %r3; mov.b64 %ld, {%r4, %r5};",                            \
      a - b)                                                                          \
    X(sub_cc_96, "lll", 'r', 0,                                                       \
      "mov.b64 {%r0, %r1}, %la; mov.b64 {%r2, %r3}, %lb; sub.cc.u32 %r4, %r0, %r2;"   \
      " subc.cc.u32 %r5, %r1, %r3; subc.u32 %rd, %rc, 0;",                            \
      U32(c - (a < b)))                                                               \
    X(mad_cc_64, "llr", 'l', 0,                                                       \
      "cvt.u32.u64 %r0, %la; cvt.u32.u64 %r1, %lb; mad.lo.cc.u32 %r2, %r0, %r1, %rc;" \
      " madc.hi.u32 %r3, %r0, %r1, 0; mov.b64 %ld, {%r2, %r3};",                      \
      U64(U32(a)) * U32(b) + U32(c))                                                  \
    X(carry_survives_other_code, "rr", 'r', 0,                                        \
      "add.cc.u32 %r0, %ra, %rb; xor.b32 %r1, %ra, %rb; add.u32 %r1, %r1, 5;"         \
      " addc.u32 %rd, %r1, 1;",                                                       \
      U32((U32(a) ^ U32(b)) + 6 + ((U64(U32(a)) + U32(b)) >> 32)))

CARRY(OP_ORACLE)
static const struct op carry[] = {CARRY(OP_ROW)};

Test(integer, carry_chains)
{
    run_ops(carry, LENGTH(carry));
}

#define DOT(X)                                                                                   \
    X(dp4a_ss, "rrr", 'r', 0, "dp4a.s32.s32 %rd, %ra, %rb, %rc;", U32(dot4(a, b, S32(c), 1, 1))) \
    X(dp4a_uu, "rrr", 'r', 0, "dp4a.u32.u32 %rd, %ra, %rb, %rc;", U32(dot4(a, b, S32(c), 0, 0))) \
    X(dp4a_su, "rrr", 'r', 0, "dp4a.s32.u32 %rd, %ra, %rb, %rc;", U32(dot4(a, b, S32(c), 1, 0))) \
    X(dp4a_us, "rrr", 'r', 0, "dp4a.u32.s32 %rd, %ra, %rb, %rc;", U32(dot4(a, b, S32(c), 0, 1))) \
    X(dp2a_lo, "rrr", 'r', 0, "dp2a.lo.s32.s32 %rd, %ra, %rb, %rc;",                             \
      U32(dot2(a, b, S32(c), 1, 1, 0)))                                                          \
    X(dp2a_hi, "rrr", 'r', 0, "dp2a.hi.u32.s32 %rd, %ra, %rb, %rc;",                             \
      U32(dot2(a, b, S32(c), 0, 1, 1)))                                                          \
    X(dp2a_hi_uu, "rrr", 'r', 0, "dp2a.hi.u32.u32 %rd, %ra, %rb, %rc;",                          \
      U32(dot2(a, b, S32(c), 0, 0, 1)))

DOT(OP_ORACLE)
static const struct op dot[] = {DOT(OP_ROW)};

Test(integer, dot_products)
{
    run_ops(dot, LENGTH(dot));
}

#define COMPARE(X)                                                                                 \
    X(setp_eq_s32, "rr", 'p', 0, "setp.eq.s32 %pd, %ra, %rb;", U32(a) == U32(b))                   \
    X(setp_ne_b64, "ll", 'p', 0, "setp.ne.b64 %pd, %la, %lb;", a != b)                             \
    X(setp_lt_s16, "hh", 'p', 0, "setp.lt.s16 %pd, %ha, %hb;", S16(a) < S16(b))                    \
    X(setp_lt_u16, "hh", 'p', 0, "setp.lt.u16 %pd, %ha, %hb;", U16(a) < U16(b))                    \
    X(setp_lt_s32, "rr", 'p', 0, "setp.lt.s32 %pd, %ra, %rb;", S32(a) < S32(b))                    \
    X(setp_le_u32, "rr", 'p', 0, "setp.le.u32 %pd, %ra, %rb;", U32(a) <= U32(b))                   \
    X(setp_gt_s64, "ll", 'p', 0, "setp.gt.s64 %pd, %la, %lb;", S64(a) > S64(b))                    \
    X(setp_ge_u64, "ll", 'p', 0, "setp.ge.u64 %pd, %la, %lb;", a >= b)                             \
    X(setp_lo_u32, "rr", 'p', 0, "setp.lo.u32 %pd, %ra, %rb;", U32(a) < U32(b))                    \
    X(setp_ls_u32, "rr", 'p', 0, "setp.ls.u32 %pd, %ra, %rb;", U32(a) <= U32(b))                   \
    X(setp_hi_u64, "ll", 'p', 0, "setp.hi.u64 %pd, %la, %lb;", a > b)                              \
    X(setp_hs_u16, "hh", 'p', 0, "setp.hs.u16 %pd, %ha, %hb;", U16(a) >= U16(b))                   \
    X(setp_and, "rrp", 'p', 0, "setp.lt.and.s32 %pd, %ra, %rb, %pc;", S32(a) < S32(b) && (c & 1))  \
    X(setp_or_not, "rrp", 'p', 0, "setp.lt.or.s32 %pd, %ra, %rb, !%pc;",                           \
      S32(a) < S32(b) || !(c & 1))                                                                 \
    X(setp_xor, "rrp", 'p', 0, "setp.ge.xor.u32 %pd, %ra, %rb, %pc;",                              \
      (U32(a) >= U32(b)) ^ (c & 1))                                                                \
    X(setp_both, "rr", 'r', 0,                                                                     \
      "setp.lt.s32 %p0|%p1, %ra, %rb; selp.u32 %r0, 1, 0, %p0; selp.u32 %r1, 2, 0, %p1;"           \
      " or.b32 %rd, %r0, %r1;",                                                                    \
      S32(a) < S32(b) ? 1 : 2)                                                                     \
    X(setp_both_and, "rrp", 'r', 0,                                                                \
      "setp.lt.and.s32 %p0|%p1, %ra, %rb, %pc; selp.u32 %r0, 1, 0, %p0;"                           \
      " selp.u32 %r1, 2, 0, %p1; or.b32 %rd, %r0, %r1;",                                           \
      (S32(a) < S32(b) && (c & 1) ? 1 : 0) | (!(S32(a) < S32(b)) && (c & 1) ? 2 : 0))              \
    X(set_u32, "rr", 'r', 0, "set.gt.u32.s32 %rd, %ra, %rb;", S32(a) > S32(b) ? 0xffffffff : 0)    \
    X(set_f32, "rr", 'r', 0, "set.le.f32.u32 %rd, %ra, %rb;", U32(a) <= U32(b) ? 0x3f800000 : 0)   \
    X(set_and, "rrp", 'r', 0, "set.eq.and.s32.s32 %rd, %ra, %rb, %pc;",                            \
      U32(a) == U32(b) && (c & 1) ? 0xffffffff : 0)                                                \
    X(selp_b32, "rrp", 'r', 0, "selp.b32 %rd, %ra, %rb, %pc;", U32(c & 1 ? a : b))                 \
    X(selp_b64, "llp", 'l', 0, "selp.b64 %ld, %la, %lb, %pc;", c & 1 ? a : b)                      \
    X(selp_b16, "hhp", 'h', 0, "selp.b16 %hd, %ha, %hb, %pc;", U16(c & 1 ? a : b))                 \
    X(slct_s32, "rrr", 'r', 0, "slct.b32.s32 %rd, %ra, %rb, %rc;", U32(S32(c) >= 0 ? a : b))       \
    X(slct_f32, "llf", 'l', 0, "slct.b64.f32 %ld, %la, %lb, %rc;", as_f32(c) >= 0 ? a : b)         \
    X(slct_ftz, "rrf", 'r', 0, "slct.ftz.u32.f32 %rd, %ra, %rb, %rc;",                             \
      U32(flush(as_f32(c)) >= 0 ? a : b))                                                          \
    X(guard, "rrp", 'r', 0, "mov.u32 %rd, %ra; @%pc mov.u32 %rd, %rb;", U32(c & 1 ? b : a))        \
    X(guard_not, "rrp", 'r', 0, "mov.u32 %rd, %ra; @!%pc add.u32 %rd, %rd, %rb;",                  \
      U32(c & 1 ? a : a + b))                                                                      \
    X(predicates, "ppp", 'p', 0,                                                                   \
      "and.pred %p0, %pa, %pb; or.pred %p1, %p0, %pc; xor.pred %p2, %p1, %pa; not.pred %pd, %p2;", \
      !((((a & b) | c) ^ a) & 1))                                                                  \
    X(mov_predicate, "p", 'p', 0, "mov.pred %pd, %pa;", a & 1)

COMPARE(OP_ORACLE)
static const struct op compare[] = {COMPARE(OP_ROW)};

Test(integer, comparison_and_selection)
{
    run_ops(compare, LENGTH(compare));
}
