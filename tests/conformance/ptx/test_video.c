// SPDX-License-Identifier: Apache-2.0
//
// Video instructions of PTX ISA chapters "Scalar Video Instructions" and "SIMD Video Instructions":
// selection and extension of parts, saturation, secondary operations and merging.
#include "semantics.h"
#include "../conformance.h"

TestSuite(video, .timeout = 240);

// Parts of a word, zero- or sign-extended.
#define UB(v, i) ((int64_t)(uint8_t)((v) >> 8 * (i)))
#define SB(v, i) ((int64_t)(int8_t)((v) >> 8 * (i)))
#define UH(v, i) ((int64_t)(uint16_t)((v) >> 16 * (i)))
#define SH(v, i) ((int64_t)(int16_t)((v) >> 16 * (i)))
#define UW(v) ((int64_t)(uint32_t)(v))
#define SW(v) ((int64_t)(int32_t)(v))

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
    return v < low ? low : v > high ? high : v;
}

#define SAT_S32(v) clamp(v, INT32_MIN, INT32_MAX)
#define SAT_U32(v) clamp(v, 0, UINT32_MAX)
#define SAT_S16(v) clamp(v, INT16_MIN, INT16_MAX)
#define SAT_U16(v) clamp(v, 0, UINT16_MAX)
#define SAT_S8(v) clamp(v, INT8_MIN, INT8_MAX)
#define SAT_U8(v) clamp(v, 0, UINT8_MAX)

static uint32_t merge_byte(int64_t v, int index, uint64_t c)
{
    uint32_t mask = 0xffu << 8 * index;
    return (U32(v) << 8 * index & mask) | (U32(c) & ~mask);
}

static uint32_t merge_half(int64_t v, int index, uint64_t c)
{
    uint32_t mask = 0xffffu << 16 * index;
    return (U32(v) << 16 * index & mask) | (U32(c) & ~mask);
}

static int64_t lesser(int64_t x, int64_t y)
{
    return x < y ? x : y;
}

static int64_t greater(int64_t x, int64_t y)
{
    return x > y ? x : y;
}

static int64_t distance(int64_t x, int64_t y)
{
    return x < y ? y - x : x - y;
}

// The amount is unsigned; clamp stops at 32, wrap takes five bits.
static int64_t amount(uint64_t b, bool wrap)
{
    return wrap ? (int64_t)(b & 31) : lesser(UW(b), 32);
}

static int64_t shifted_left(int64_t v, int64_t by)
{
    return (int64_t)((uint64_t)v << by);
}

#define ADDITIVE(X)                                                                                \
    X(vadd_s32, "rr", 'r', 0, "vadd.s32.s32.s32 %rd, %ra, %rb;", U32(a + b))                       \
    X(vadd_mixed_sat, "rr", 'r', 0, "vadd.s32.u32.s32.sat %rd, %ra, %rb;",                         \
      U32(SAT_S32(UW(a) + SW(b))))                                                                 \
    X(vadd_u32_sat, "rr", 'r', 0, "vadd.u32.u32.u32.sat %rd, %ra, %rb;",                           \
      U32(SAT_U32(UW(a) + UW(b))))                                                                 \
    X(vadd_u32_of_signed_sat, "rr", 'r', 0, "vadd.u32.s32.s32.sat %rd, %ra, %rb;",                 \
      U32(SAT_U32(SW(a) + SW(b))))                                                                 \
    X(vadd_byte_half, "rr", 'r', 0, "vadd.s32.s32.u32 %rd, %ra.b3, %rb.h1;",                       \
      U32(SB(a, 3) + UH(b, 1)))                                                                    \
    X(vadd_b1_b2, "rr", 'r', 0, "vadd.u32.u32.u32 %rd, %ra.b1, %rb.b2;", U32(UB(a, 1) + UB(b, 2))) \
    X(vadd_add, "rrr", 'r', 0, "vadd.s32.s32.s32.add %rd, %ra.h0, %rb.h1, %rc;",                   \
      U32(SH(a, 0) + SH(b, 1) + SW(c)))                                                            \
    X(vadd_sat_min, "rrr", 'r', 0, "vadd.s32.s32.s32.sat.min %rd, %ra, %rb, %rc;",                 \
      U32(lesser(SAT_S32(SW(a) + SW(b)), SW(c))))                                                  \
    X(vadd_sat_max_u, "rrr", 'r', 0, "vadd.u32.u32.u32.sat.max %rd, %ra, %rb, %rc;",               \
      U32(greater(SAT_U32(UW(a) + UW(b)), UW(c))))                                                 \
    X(vadd_merge_b0, "rrr", 'r', 0, "vadd.s32.s32.s32 %rd.b0, %ra, %rb, %rc;",                     \
      merge_byte(SW(a) + SW(b), 0, c))                                                             \
    X(vadd_merge_b2_sat, "rrr", 'r', 0, "vadd.s32.s32.s32.sat %rd.b2, %ra.b0, %rb.b1, %rc;",       \
      merge_byte(SAT_S8(SB(a, 0) + SB(b, 1)), 2, c))                                               \
    X(vadd_merge_b3_usat, "rrr", 'r', 0, "vadd.u32.s32.s32.sat %rd.b3, %ra, %rb, %rc;",            \
      merge_byte(SAT_U8(SW(a) + SW(b)), 3, c))                                                     \
    X(vadd_merge_h1_sat, "rrr", 'r', 0, "vadd.u32.u32.s32.sat %rd.h1, %ra.h0, %rb.h1, %rc;",       \
      merge_half(SAT_U16(UH(a, 0) + SH(b, 1)), 1, c))                                              \
    X(vsub_s32, "rr", 'r', 0, "vsub.s32.s32.s32 %rd, %ra, %rb;", U32(a - b))                       \
    X(vsub_u32_sat, "rr", 'r', 0, "vsub.u32.u32.u32.sat %rd, %ra, %rb;",                           \
      U32(SAT_U32(UW(a) - UW(b))))                                                                 \
    X(vsub_s32_of_unsigned_sat, "rr", 'r', 0, "vsub.s32.u32.u32.sat %rd, %ra, %rb;",               \
      U32(SAT_S32(UW(a) - UW(b))))                                                                 \
    X(vsub_b0_h0, "rr", 'r', 0, "vsub.s32.u32.s32 %rd, %ra.b0, %rb.h0;", U32(UB(a, 0) - SH(b, 0))) \
    X(vsub_add, "rrr", 'r', 0, "vsub.s32.u32.u32.add %rd, %ra.b2, %rb.b3, %rc;",                   \
      U32(UB(a, 2) - UB(b, 3) + SW(c)))                                                            \
    X(vsub_merge_h0_sat, "rrr", 'r', 0, "vsub.s32.s32.u32.sat %rd.h0, %ra, %rb, %rc;",             \
      merge_half(SAT_S16(SW(a) - UW(b)), 0, c))                                                    \
    X(vabsdiff_s32, "rr", 'r', 0, "vabsdiff.s32.s32.s32 %rd, %ra, %rb;",                           \
      U32(distance(SW(a), SW(b))))                                                                 \
    X(vabsdiff_s32_sat, "rr", 'r', 0, "vabsdiff.s32.s32.s32.sat %rd, %ra, %rb;",                   \
      U32(SAT_S32(distance(SW(a), SW(b)))))                                                        \
    X(vabsdiff_u32, "rr", 'r', 0, "vabsdiff.u32.u32.u32 %rd, %ra, %rb;",                           \
      U32(distance(UW(a), UW(b))))                                                                 \
    X(vabsdiff_mixed_sat, "rr", 'r', 0, "vabsdiff.u32.u32.s32.sat %rd, %ra, %rb;",                 \
      U32(SAT_U32(distance(UW(a), SW(b)))))                                                        \
    X(vabsdiff_add, "rrr", 'r', 0, "vabsdiff.u32.u32.u32.add %rd, %ra.b1, %rb.b1, %rc;",           \
      U32(distance(UB(a, 1), UB(b, 1)) + UW(c)))                                                   \
    X(vmin_s32, "rr", 'r', 0, "vmin.s32.s32.s32 %rd, %ra, %rb;", U32(lesser(SW(a), SW(b))))        \
    X(vmin_mixed_sat, "rr", 'r', 0, "vmin.u32.u32.s32.sat %rd, %ra, %rb;",                         \
      U32(SAT_U32(lesser(UW(a), SW(b)))))                                                          \
    X(vmin_add, "rrr", 'r', 0, "vmin.s32.s32.s32.add %rd, %ra.h1, %rb.b0, %rc;",                   \
      U32(lesser(SH(a, 1), SB(b, 0)) + SW(c)))                                                     \
    X(vmax_u32, "rr", 'r', 0, "vmax.u32.u32.u32 %rd, %ra, %rb;", U32(greater(UW(a), UW(b))))       \
    X(vmax_mixed_sat, "rr", 'r', 0, "vmax.s32.u32.s32.sat %rd, %ra, %rb;",                         \
      U32(SAT_S32(greater(UW(a), SW(b)))))                                                         \
    X(vmax_min, "rrr", 'r', 0, "vmax.s32.s32.s32.min %rd, %ra, %rb, %rc;",                         \
      U32(lesser(greater(SW(a), SW(b)), SW(c))))                                                   \
    X(vmax_max_u, "rrr", 'r', 0, "vmax.u32.u32.u32.max %rd, %ra.h0, %rb.h1, %rc;",                 \
      U32(greater(greater(UH(a, 0), UH(b, 1)), UW(c))))                                            \
    X(vmax_merge_b1, "rrr", 'r', 0, "vmax.s32.s32.s32 %rd.b1, %ra.b2, %rb.b3, %rc;",               \
      merge_byte(greater(SB(a, 2), SB(b, 3)), 1, c))

ADDITIVE(OP_ORACLE)
static const struct op additive_rows[] = {ADDITIVE(OP_ROW)};

Test(video, scalar_arithmetic)
{
    run_ops(additive_rows, LENGTH(additive_rows));
}

// vmad: the product and the sum are exact; `.po` and negation as the ISA describes them.
__extension__ typedef __int128 wide;

static uint64_t mad(wide product, wide c, int scale, bool saturate, bool is_signed)
{
    wide v = (product + c) >> scale;
    wide low = is_signed ? INT32_MIN : 0, high = is_signed ? INT32_MAX : UINT32_MAX;
    if (saturate) {
        v = v < low ? low : v > high ? high : v;
    }
    return U32((uint64_t)v);
}

#define OTHER(X)                                                                             \
    X(vshl_clamp, "rs", 'r', 0, "vshl.u32.u32.u32.clamp %rd, %ra, %rb;",                     \
      U32(shifted_left(UW(a), amount(b, false))))                                            \
    X(vshl_wrap, "rs", 'r', 0, "vshl.s32.s32.u32.wrap %rd, %ra, %rb;",                       \
      U32(shifted_left(SW(a), amount(b, true))))                                             \
    X(vshl_byte_wrap, "rs", 'r', 0, "vshl.u32.u32.u32.wrap %rd, %ra.b1, %rb.b0;",            \
      U32(shifted_left(UB(a, 1), UB(b, 0) & 31)))                                            \
    X(vshr_clamp, "rs", 'r', 0, "vshr.u32.u32.u32.clamp %rd, %ra, %rb;",                     \
      U32(UW(a) >> amount(b, false)))                                                        \
    X(vshr_signed_clamp, "rs", 'r', 0, "vshr.s32.s32.u32.clamp %rd, %ra, %rb;",              \
      U32(SW(a) >> amount(b, false)))                                                        \
    X(vshr_wrap, "rs", 'r', 0, "vshr.s32.s32.u32.wrap %rd, %ra, %rb;",                       \
      U32(SW(a) >> amount(b, true)))                                                         \
    X(vshr_sat, "rs", 'r', 0, "vshr.u32.s32.u32.sat.clamp %rd, %ra, %rb;",                   \
      U32(SAT_U32(SW(a) >> amount(b, false))))                                               \
    X(vshr_add, "rsr", 'r', 0, "vshr.u32.u32.u32.wrap.add %rd, %ra.h1, %rb, %rc;",           \
      U32((UH(a, 1) >> amount(b, true)) + UW(c)))                                            \
    X(vshr_merge, "rsr", 'r', 0, "vshr.s32.s32.u32.sat.clamp %rd.b2, %ra, %rb, %rc;",        \
      merge_byte(SAT_S8(SW(a) >> amount(b, false)), 2, c))                                   \
    X(vmad_u, "rrr", 'r', 0, "vmad.u32.u32.u32 %rd, %ra, %rb, %rc;",                         \
      mad((wide)UW(a) * UW(b), UW(c), 0, false, false))                                      \
    X(vmad_u_sat, "rrr", 'r', 0, "vmad.u32.u32.u32.sat %rd, %ra, %rb, %rc;",                 \
      mad((wide)UW(a) * UW(b), UW(c), 0, true, false))                                       \
    X(vmad_s_sat, "rrr", 'r', 0, "vmad.s32.s32.s32.sat %rd, %ra, %rb, %rc;",                 \
      mad((wide)SW(a) * SW(b), SW(c), 0, true, true))                                        \
    X(vmad_mixed_sat, "rrr", 'r', 0, "vmad.s32.u32.s32.sat %rd, %ra, %rb, %rc;",             \
      mad((wide)UW(a) * SW(b), SW(c), 0, true, true))                                        \
    X(vmad_shr7, "rrr", 'r', 0, "vmad.u32.u32.u32.shr7 %rd, %ra.h0, %rb.h0, %rc;",           \
      mad((wide)UH(a, 0) * UH(b, 0), UW(c), 7, false, false))                                \
    X(vmad_shr15_sat, "rrr", 'r', 0, "vmad.s32.s32.s32.sat.shr15 %rd, %ra, %rb, %rc;",       \
      mad((wide)SW(a) * SW(b), SW(c), 15, true, true))                                       \
    X(vmad_bytes, "rrr", 'r', 0, "vmad.s32.s32.u32 %rd, %ra.b2, %rb.b1, %rc;",               \
      mad((wide)SB(a, 2) * UB(b, 1), SW(c), 0, false, true))                                 \
    X(vmad_po, "rrr", 'r', 0, "vmad.u32.u32.u32.po %rd, %ra.h0, %rb.h1, %rc;",               \
      mad((wide)UH(a, 0) * UH(b, 1), (wide)UW(c) + 1, 0, false, false))                      \
    X(vmad_negated, "rrr", 'r', 0, "vmad.s32.s32.s32.sat %rd, -%ra, %rb, %rc;",              \
      mad(-((wide)SW(a) * SW(b)), SW(c), 0, true, true))                                     \
    X(vmad_minus_c, "rrr", 'r', 0, "vmad.s32.s32.s32 %rd, %ra, %rb, -%rc;",                  \
      mad((wide)SW(a) * SW(b), -(wide)SW(c), 0, false, true))                                \
    X(vset_lt_s, "rr", 'r', 0, "vset.s32.s32.lt %rd, %ra, %rb;", SW(a) < SW(b))              \
    X(vset_ge_mixed, "rr", 'r', 0, "vset.u32.s32.ge %rd, %ra, %rb;", UW(a) >= SW(b))         \
    X(vset_eq_b, "rr", 'r', 0, "vset.u32.u32.eq %rd, %ra.b0, %rb.b3;", UB(a, 0) == UB(b, 3)) \
    X(vset_ne_add, "rrr", 'r', 0, "vset.u32.u32.ne.add %rd, %ra, %rb, %rc;",                 \
      U32((UW(a) != UW(b)) + UW(c)))                                                         \
    X(vset_gt_max, "rrr", 'r', 0, "vset.s32.s32.gt.max %rd, %ra.h0, %rb.h1, %rc;",           \
      U32(greater(SH(a, 0) > SH(b, 1), UW(c))))                                              \
    X(vset_le_merge, "rrr", 'r', 0, "vset.u32.u32.le %rd.h1, %ra, %rb, %rc;",                \
      merge_half(UW(a) <= UW(b), 1, c))

OTHER(OP_ORACLE)
static const struct op other_rows[] = {OTHER(OP_ROW)};

Test(video, scalar_shift_multiply_compare)
{
    run_ops(other_rows, LENGTH(other_rows));
}

enum lanes_op { ADD, SUB, AVERAGE, ABSDIFF, MIN, MAX, EQ, NE, LT, LE, GT, GE };

// One SIMD instruction of `lanes` elements. Selectors hold one nibble per element, element 0 in the
// lowest: .h10 is 0x10, .b7654 is 0x7654. `mask` has one bit per element.
struct lanes {
    int lanes;
    enum lanes_op op;
    bool dst_signed, a_signed, b_signed;
    unsigned a_select, b_select;
    bool saturate, accumulate;
    unsigned mask;
};

static int64_t lane(const struct lanes *s, uint64_t a, uint64_t b, unsigned index, bool is_signed)
{
    uint64_t pair = U64(U32(b)) << 32 | U32(a);
    if (s->lanes == 2) {
        return is_signed ? SH(pair, index) : UH(pair, index);
    }
    return is_signed ? SB(pair, index) : UB(pair, index);
}

static int64_t lane_result(const struct lanes *s, int64_t x, int64_t y)
{
    int64_t v = 0;
    switch (s->op) {
    case ADD:
        v = x + y;
        break;
    case SUB:
        v = x - y;
        break;
    case AVERAGE: // the nearest integer, ties away from zero
        v = (x + y + (x + y >= 0)) >> 1;
        break;
    case ABSDIFF:
        v = distance(x, y);
        break;
    case MIN:
        v = lesser(x, y);
        break;
    case MAX:
        v = greater(x, y);
        break;
    case EQ:
        return x == y;
    case NE:
        return x != y;
    case LT:
        return x < y;
    case LE:
        return x <= y;
    case GT:
        return x > y;
    case GE:
        return x >= y;
    }
    if (s->saturate && s->lanes == 2) {
        v = s->dst_signed ? SAT_S16(v) : SAT_U16(v);
    } else if (s->saturate) {
        v = s->dst_signed ? SAT_S8(v) : SAT_U8(v);
    }
    return v;
}

static uint64_t simd(struct lanes s, uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t result = s.accumulate ? U32(c) : 0;
    for (int i = 0; i < s.lanes; i++) {
        int64_t x = lane(&s, a, b, s.a_select >> 4 * i & 7, s.a_signed);
        int64_t y = lane(&s, a, b, s.b_select >> 4 * i & 7, s.b_signed);
        int64_t v = lane_result(&s, x, y);
        bool chosen = s.mask >> i & 1;
        int width = 32 / s.lanes;
        uint32_t ones = (1u << width) - 1;
        if (s.accumulate) {
            result += chosen ? U32(v) : 0;
        } else {
            result |= (chosen ? U32(v) & ones : U32(c) >> width * i & ones) << width * i;
        }
    }
    return result;
}

#define S2(...) simd((struct lanes){2, __VA_ARGS__}, a, b, c)
#define S4(...) simd((struct lanes){4, __VA_ARGS__}, a, b, c)

// op, then: d a b signed, selectors, saturate, accumulate, mask
#define TWO(X)                                                                         \
    X(vadd2, "rrr", 'r', 0, "vadd2.s32.s32.s32 %rd, %ra, %rb, %rc;",                   \
      S2(ADD, 1, 1, 1, 0x10, 0x32, 0, 0, 3))                                           \
    X(vadd2_sat, "rrr", 'r', 0, "vadd2.s32.s32.s32.sat %rd, %ra, %rb, %rc;",           \
      S2(ADD, 1, 1, 1, 0x10, 0x32, 1, 0, 3))                                           \
    X(vadd2_usat, "rrr", 'r', 0, "vadd2.u32.u32.s32.sat %rd, %ra, %rb, %rc;",          \
      S2(ADD, 0, 0, 1, 0x10, 0x32, 1, 0, 3))                                           \
    X(vadd2_select, "rrr", 'r', 0, "vadd2.u32.u32.u32 %rd.h1, %ra.h31, %rb.h02, %rc;", \
      S2(ADD, 0, 0, 0, 0x31, 0x02, 0, 0, 2))                                           \
    X(vadd2_h0, "rrr", 'r', 0, "vadd2.u32.u32.u32 %rd.h0, %ra, %rb, %rc;",             \
      S2(ADD, 0, 0, 0, 0x10, 0x32, 0, 0, 1))                                           \
    X(vadd2_add, "rrr", 'r', 0, "vadd2.s32.s32.s32.add %rd, %ra, %rb, %rc;",           \
      S2(ADD, 1, 1, 1, 0x10, 0x32, 0, 1, 3))                                           \
    X(vsub2_sat, "rrr", 'r', 0, "vsub2.u32.u32.u32.sat %rd, %ra, %rb, %rc;",           \
      S2(SUB, 0, 0, 0, 0x10, 0x32, 1, 0, 3))                                           \
    X(vsub2_add, "rrr", 'r', 0, "vsub2.s32.u32.u32.add %rd.h1, %ra, %rb, %rc;",        \
      S2(SUB, 1, 0, 0, 0x10, 0x32, 0, 1, 2))                                           \
    X(vavrg2_s, "rrr", 'r', 0, "vavrg2.s32.s32.s32 %rd, %ra, %rb, %rc;",               \
      S2(AVERAGE, 1, 1, 1, 0x10, 0x32, 0, 0, 3))                                       \
    X(vavrg2_u, "rrr", 'r', 0, "vavrg2.u32.u32.u32 %rd, %ra, %rb, %rc;",               \
      S2(AVERAGE, 0, 0, 0, 0x10, 0x32, 0, 0, 3))                                       \
    X(vabsdiff2_u, "rrr", 'r', 0, "vabsdiff2.u32.u32.u32 %rd, %ra, %rb, %rc;",         \
      S2(ABSDIFF, 0, 0, 0, 0x10, 0x32, 0, 0, 3))                                       \
    X(vabsdiff2_s_sat, "rrr", 'r', 0, "vabsdiff2.s32.s32.s32.sat %rd, %ra, %rb, %rc;", \
      S2(ABSDIFF, 1, 1, 1, 0x10, 0x32, 1, 0, 3))                                       \
    X(vabsdiff2_add, "rrr", 'r', 0, "vabsdiff2.u32.u32.u32.add %rd, %ra, %rb, %rc;",   \
      S2(ABSDIFF, 0, 0, 0, 0x10, 0x32, 0, 1, 3))                                       \
    X(vmin2_s, "rrr", 'r', 0, "vmin2.s32.s32.s32 %rd, %ra, %rb, %rc;",                 \
      S2(MIN, 1, 1, 1, 0x10, 0x32, 0, 0, 3))                                           \
    X(vmax2_mixed_sat, "rrr", 'r', 0, "vmax2.s32.u32.s32.sat %rd, %ra, %rb, %rc;",     \
      S2(MAX, 1, 0, 1, 0x10, 0x32, 1, 0, 3))                                           \
    X(vset2_lt, "rrr", 'r', 0, "vset2.s32.s32.lt %rd, %ra, %rb, %rc;",                 \
      S2(LT, 0, 1, 1, 0x10, 0x32, 0, 0, 3))                                            \
    X(vset2_ne_mask, "rrr", 'r', 0, "vset2.u32.u32.ne %rd.h0, %ra, %rb, %rc;",         \
      S2(NE, 0, 0, 0, 0x10, 0x32, 0, 0, 1))                                            \
    X(vset2_ge_add, "rrr", 'r', 0, "vset2.u32.s32.ge.add %rd, %ra, %rb, %rc;",         \
      S2(GE, 0, 0, 1, 0x10, 0x32, 0, 1, 3))

TWO(OP_ORACLE)
static const struct op two_rows[] = {TWO(OP_ROW)};

Test(video, two_halves)
{
    run_ops(two_rows, LENGTH(two_rows));
}

#define FOUR(X)                                                                             \
    X(vadd4, "rrr", 'r', 0, "vadd4.u32.u32.u32 %rd, %ra, %rb, %rc;",                        \
      S4(ADD, 0, 0, 0, 0x3210, 0x7654, 0, 0, 15))                                           \
    X(vadd4_sat, "rrr", 'r', 0, "vadd4.s32.s32.s32.sat %rd, %ra, %rb, %rc;",                \
      S4(ADD, 1, 1, 1, 0x3210, 0x7654, 1, 0, 15))                                           \
    X(vadd4_usat, "rrr", 'r', 0, "vadd4.u32.u32.u32.sat %rd, %ra, %rb, %rc;",               \
      S4(ADD, 0, 0, 0, 0x3210, 0x7654, 1, 0, 15))                                           \
    X(vadd4_select, "rrr", 'r', 0, "vadd4.u32.u32.u32 %rd.b20, %ra.b7150, %rb.b0263, %rc;", \
      S4(ADD, 0, 0, 0, 0x7150, 0x0263, 0, 0, 5))                                            \
    X(vadd4_add, "rrr", 'r', 0, "vadd4.s32.s32.s32.add %rd.b310, %ra, %rb, %rc;",           \
      S4(ADD, 1, 1, 1, 0x3210, 0x7654, 0, 1, 11))                                           \
    X(vsub4_sat, "rrr", 'r', 0, "vsub4.s32.u32.u32.sat %rd, %ra, %rb, %rc;",                \
      S4(SUB, 1, 0, 0, 0x3210, 0x7654, 1, 0, 15))                                           \
    X(vsub4_mask, "rrr", 'r', 0, "vsub4.u32.u32.u32 %rd.b3, %ra, %rb, %rc;",                \
      S4(SUB, 0, 0, 0, 0x3210, 0x7654, 0, 0, 8))                                            \
    X(vavrg4_s, "rrr", 'r', 0, "vavrg4.s32.s32.s32 %rd, %ra, %rb, %rc;",                    \
      S4(AVERAGE, 1, 1, 1, 0x3210, 0x7654, 0, 0, 15))                                       \
    X(vavrg4_u, "rrr", 'r', 0, "vavrg4.u32.u32.u32 %rd, %ra, %rb, %rc;",                    \
      S4(AVERAGE, 0, 0, 0, 0x3210, 0x7654, 0, 0, 15))                                       \
    X(vabsdiff4_u, "rrr", 'r', 0, "vabsdiff4.u32.u32.u32 %rd, %ra, %rb, %rc;",              \
      S4(ABSDIFF, 0, 0, 0, 0x3210, 0x7654, 0, 0, 15))                                       \
    X(vabsdiff4_s_sat, "rrr", 'r', 0, "vabsdiff4.s32.s32.s32.sat %rd, %ra, %rb, %rc;",      \
      S4(ABSDIFF, 1, 1, 1, 0x3210, 0x7654, 1, 0, 15))                                       \
    X(vabsdiff4_add, "rrr", 'r', 0, "vabsdiff4.u32.u32.u32.add %rd, %ra, %rb, %rc;",        \
      S4(ABSDIFF, 0, 0, 0, 0x3210, 0x7654, 0, 1, 15))                                       \
    X(vmin4_u, "rrr", 'r', 0, "vmin4.u32.u32.u32 %rd, %ra, %rb, %rc;",                      \
      S4(MIN, 0, 0, 0, 0x3210, 0x7654, 0, 0, 15))                                           \
    X(vmax4_s, "rrr", 'r', 0, "vmax4.s32.s32.s32 %rd, %ra, %rb, %rc;",                      \
      S4(MAX, 1, 1, 1, 0x3210, 0x7654, 0, 0, 15))                                           \
    X(vset4_gt, "rrr", 'r', 0, "vset4.s32.s32.gt %rd, %ra, %rb, %rc;",                      \
      S4(GT, 0, 1, 1, 0x3210, 0x7654, 0, 0, 15))                                            \
    X(vset4_le_mask, "rrr", 'r', 0, "vset4.u32.u32.le %rd.b21, %ra, %rb, %rc;",             \
      S4(LE, 0, 0, 0, 0x3210, 0x7654, 0, 0, 6))                                             \
    X(vset4_eq_add, "rrr", 'r', 0, "vset4.u32.u32.eq.add %rd, %ra, %rb, %rc;",              \
      S4(EQ, 0, 0, 0, 0x3210, 0x7654, 0, 1, 15))

FOUR(OP_ORACLE)
static const struct op four_rows[] = {FOUR(OP_ROW)};

Test(video, four_bytes)
{
    run_ops(four_rows, LENGTH(four_rows));
}
