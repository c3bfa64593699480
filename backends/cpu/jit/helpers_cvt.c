// SPDX-License-Identifier: Apache-2.0
//
// Exact conversion of one number between any two of the IR's number types: unpacked into sign,
// 64-bit mantissa and exponent, rounded once. The reference for what emit_cvt.c emits inline, and
// the implementation of everything that it does not (directed rounding, tf32, fp8 and smaller,
// .satfinite).
#include "helpers.h"

#include <stdbool.h>

// A floating-point format. Values are mantissa of `precision` bits with implicit leading one.
struct format {
    unsigned precision, exponent_bits, shift; // shift: unused low bits of the pattern (tf32)
    int bias;
    bool infinity;     // all-ones exponent means infinity and NaN
    uint64_t max, nan; // largest finite pattern, canonical NaN (without sign)
};

static const struct format *format_of(enum ir_type type)
{
    static const struct format formats[IR_TYPE_COUNT] = {
        [IR_F16] = {11, 5, 0, 15, true, 0x7bff, 0x7fff},
        [IR_BF16] = {8, 8, 0, 127, true, 0x7f7f, 0x7fff},
        [IR_F32] = {24, 8, 0, 127, true, 0x7f7fffff, 0x7fffffff},
        [IR_F64] = {53, 11, 0, 1023, true, 0x7fefffffffffffff, 0x7fffffffffffffff},
        [IR_TF32] = {11, 8, 13, 127, true, 0x7f7fe000, 0x7fffffff},
        [IR_E4M3] = {4, 4, 0, 7, false, 0x7e, 0x7f},
        [IR_E5M2] = {3, 5, 0, 15, true, 0x7b, 0x7f},
        // No NaN in these: it becomes the largest positive number.
        [IR_E2M1] = {2, 2, 0, 1, false, 0x07, 0x07},
        [IR_E2M3] = {4, 2, 0, 1, false, 0x1f, 0x1f},
        [IR_E3M2] = {3, 3, 0, 3, false, 0x1f, 0x1f},
    };
    return formats[type].precision != 0 ? &formats[type] : NULL;
}

// value = (-1)^sign * mantissa * 2^exponent, unless nan or infinite. `bit`: position of the sign.
struct number {
    bool sign, nan, infinite;
    uint64_t mantissa;
    int exponent;
};

static unsigned sign_bit(const struct format *f)
{
    return f->exponent_bits + f->precision - 1 + f->shift;
}

static struct number unpack_float(const struct format *f, enum ir_type type, uint64_t bits)
{
    unsigned low = f->precision - 1 + f->shift;
    uint64_t fraction = bits & ((UINT64_C(1) << low) - 1);
    unsigned exponent = (unsigned)(bits >> low) & ((1u << f->exponent_bits) - 1);
    unsigned top = (1u << f->exponent_bits) - 1;
    struct number n = {.sign = bits >> sign_bit(f) & 1};
    if (f->infinity && exponent == top) {
        n.nan = fraction != 0;
        n.infinite = fraction == 0;
    } else if (type == IR_E4M3 && (bits & 0x7f) == 0x7f) {
        n.nan = true;
    }
    bool normal = exponent != 0;
    n.mantissa = fraction | (normal ? UINT64_C(1) << low : 0);
    n.exponent = (normal ? (int)exponent : 1) - f->bias - (int)low;
    return n;
}

static struct number unpack_int(unsigned bits, bool sign, uint64_t value)
{
    struct number n = {0};
    if (bits < 64) {
        value &= (UINT64_C(1) << bits) - 1;
    }
    if (sign && bits < 64 && (value >> (bits - 1) & 1)) {
        value |= ~((UINT64_C(1) << bits) - 1);
    }
    n.sign = sign && (value >> 63);
    n.mantissa = n.sign ? 0 - value : value;
    return n;
}

// mantissa / 2^drop rounded to an integer; drop may be negative (no rounding) or huge.
static uint64_t round_mantissa(uint64_t mantissa, int drop, bool sign, enum ir_round round)
{
    if (drop <= 0) {
        return drop <= -64 ? 0 : mantissa << -drop;
    }
    uint64_t kept = drop >= 64 ? 0 : mantissa >> drop;
    uint64_t rest = drop >= 64 ? mantissa : mantissa & ((UINT64_C(1) << drop) - 1);
    if (rest == 0) {
        return kept;
    }
    // Compare the rest with half of the last place.
    int order; // -1 below, 0 tie, 1 above
    if (drop > 64) {
        order = -1;
    } else {
        uint64_t half = UINT64_C(1) << (drop - 1);
        order = rest < half ? -1 : rest > half;
    }
    switch (round) {
    case IR_RZ:
    case IR_RZI:
        return kept;
    case IR_RM:
    case IR_RMI:
        return kept + (sign ? 1 : 0);
    case IR_RP:
    case IR_RPI:
        return kept + (sign ? 0 : 1);
    case IR_RNA:
        return kept + (order >= 0 ? 1 : 0);
    default:
        return kept + (order > 0 || (order == 0 && (kept & 1)) ? 1 : 0);
    }
}

static unsigned bit_length(uint64_t v)
{
    return v == 0 ? 0 : 64 - (unsigned)__builtin_clzll(v);
}

static bool away(bool sign, enum ir_round round)
{
    return round == IR_RN || round == IR_RNA || round >= IR_RNI || (round == IR_RM && sign) ||
           (round == IR_RP && !sign);
}

static uint64_t pack_float(const struct format *f, enum ir_type type, struct number n,
                           enum ir_round round, uint32_t flags)
{
    bool small = type >= IR_E4M3; // always .satfinite
    bool finite = small || (flags & IR_FLAG_SATFINITE) != 0;
    if ((flags & IR_FLAG_RELU) && n.sign && !n.nan) {
        n = (struct number){0};
    }
    if (n.nan) {
        return f->nan;
    }
    uint64_t sign = (uint64_t)n.sign << sign_bit(f);
    unsigned low = f->precision - 1 + f->shift;
    uint64_t infinity = (uint64_t)((1u << f->exponent_bits) - 1) << low;
    if (n.infinite) {
        return sign | (finite ? f->max : infinity);
    }
    if (n.mantissa == 0) {
        return sign;
    }
    int length = (int)bit_length(n.mantissa);
    int top = n.exponent + length - 1; // floor(log2(value))
    int least = 1 - f->bias;           // exponent of the smallest normal
    int last = (top < least ? least : top) - (int)(f->precision - 1); // weight of the last place
    uint64_t m = round_mantissa(n.mantissa, last - n.exponent, n.sign, round);
    // Adding the fraction to the exponent field carries into it when the rounding overflows.
    int field = last - (least - (int)(f->precision - 1)); // 0: subnormal or first binade
    uint64_t bits = m + ((uint64_t)field << (f->precision - 1));
    bits <<= f->shift;
    if (bits > f->max) {
        bits = finite ? f->max : away(n.sign, round) ? infinity : f->max;
    }
    return sign | bits;
}

// Power of two that scales a block: |value| rounded to 2^(e - 127), rz or rp; NaN is 255.
static uint64_t pack_scale(struct number n, enum ir_round round)
{
    if (n.nan) {
        return 0xff;
    }
    if (n.infinite) {
        return 0xfe;
    }
    if (n.mantissa == 0) {
        return 0;
    }
    int top = n.exponent + (int)bit_length(n.mantissa) - 1;
    bool exact = (n.mantissa & (n.mantissa - 1)) == 0;
    int e = top + (!exact && round == IR_RP ? 1 : 0) + 127;
    return e < 0 ? 0 : e > 254 ? 254 : (uint64_t)e;
}

static uint64_t pack_int(unsigned bits, bool to_sign, bool wide_source, struct number n,
                         enum ir_round round)
{
    if (n.nan) {
        return wide_source || bits == 64 ? UINT64_C(1) << (bits - 1) : 0;
    }
    uint64_t limit = to_sign      ? (UINT64_C(1) << (bits - 1)) - (n.sign ? 0 : 1)
                     : n.sign     ? 0
                     : bits == 64 ? UINT64_MAX
                                  : (UINT64_C(1) << bits) - 1;
    bool huge = n.infinite || (n.mantissa != 0 && n.exponent + (int)bit_length(n.mantissa) > 64);
    uint64_t m = huge ? UINT64_MAX : round_mantissa(n.mantissa, -n.exponent, n.sign, round);
    m = m > limit ? limit : m;
    uint64_t value = n.sign ? 0 - m : m;
    return bits == 64 ? value : value & ((UINT64_C(1) << bits) - 1);
}

static bool is_subnormal(const struct format *f, uint64_t bits)
{
    return (bits >> (f->precision - 1 + f->shift) & ((1u << f->exponent_bits) - 1)) == 0;
}

// Clamps to [0, 1], NaN to 0, in the pattern of a format.
static uint64_t saturate(const struct format *f, uint64_t bits)
{
    uint64_t one = (uint64_t)f->bias << (f->precision - 1 + f->shift);
    uint64_t infinity = (uint64_t)((1u << f->exponent_bits) - 1) << (f->precision - 1 + f->shift);
    if ((bits >> sign_bit(f) & 1) || bits > infinity) {
        return 0;
    }
    return bits > one ? one : bits;
}

uint64_t jit_helper_cvt(uint64_t a, uint64_t b, uint64_t c, uint64_t mode)
{
    (void)b;
    (void)c;
    enum ir_type to = (enum ir_type)(mode & 0xff), from = (enum ir_type)(mode >> 8 & 0xff);
    enum ir_round round = (enum ir_round)(mode >> 16 & 0xff);
    uint32_t flags = (uint32_t)(mode >> 32);
    const struct format *source = format_of(from), *target = format_of(to);
    struct number n;
    if (source != NULL) {
        bool flush = from == IR_F32 && (flags & IR_FLAG_FTZ) && is_subnormal(source, a);
        n = unpack_float(source, from, flush ? a & 0x80000000u : a);
    } else if (from == IR_UE8M0) {
        n = (struct number){
            .nan = (a & 0xff) == 0xff, .mantissa = 1, .exponent = (int)(a & 0xff) - 127};
    } else {
        n = unpack_int(ir_bits(from), (flags & IR_FLAG_SRC_SIGNED) != 0, a);
    }
    if (to == IR_UE8M0) {
        return pack_scale(n, round);
    }
    if (target == NULL) {
        return pack_int(ir_bits(to), (flags & IR_FLAG_SIGNED) != 0, from == IR_F64, n, round);
    }
    uint64_t bits = pack_float(target, to, n, round, flags);
    if (to == IR_F32 && (flags & IR_FLAG_FTZ) && is_subnormal(target, bits)) {
        bits &= 0x80000000u;
    }
    return (flags & IR_FLAG_SAT) ? saturate(target, bits) : bits;
}
