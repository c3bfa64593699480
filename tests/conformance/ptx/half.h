// SPDX-License-Identifier: Apache-2.0
//
// Small floating-point formats for the oracles: exact decoding, and rounding of an exact value to a
// format in any direction. Values are of 128-bit floating point, in which every sum and product that the tests
// need is exact, so that nothing is rounded twice.
#pragma once

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#if LDBL_MANT_DIG == 113 // AArch64
typedef long double exact;
#else
__extension__ typedef __float128 exact;
#endif

enum direction { NEAREST_EVEN, TOWARD_ZERO, DOWNWARD, UPWARD, NEAREST_AWAY };

struct format {
    int exponent_bits, mantissa_bits;
    bool infinities; // false: e4m3 (only NaN at the top), true: IEEE-like
};
static const struct format format_f16 = {5, 10, true}, format_bf16 = {8, 7, true},
                           format_f32 = {8, 23, true}, format_e5m2 = {5, 2, true},
                           format_e4m3 = {4, 3, false}, format_tf32 = {8, 10, true};

static inline exact exact_power(int exponent)
{
    exact result = 1, factor = exponent < 0 ? (exact)0.5 : (exact)2;
    for (int n = exponent < 0 ? -exponent : exponent; n > 0; n >>= 1) {
        if (n & 1) {
            result *= factor;
        }
        factor *= factor;
    }
    return result;
}

static inline int format_bias(struct format f)
{
    return (1 << (f.exponent_bits - 1)) - 1;
}

static inline bool format_is_nan(struct format f, uint64_t bits)
{
    uint64_t exponent = bits >> f.mantissa_bits & ((1u << f.exponent_bits) - 1);
    uint64_t mantissa = bits & ((1ull << f.mantissa_bits) - 1);
    bool top = exponent == (1u << f.exponent_bits) - 1;
    return f.infinities ? top && mantissa != 0 : top && mantissa == (1ull << f.mantissa_bits) - 1;
}

// NaN and infinities come out as such; callers treat NaN first.
static inline exact format_decode(struct format f, uint64_t bits)
{
    int exponent = (int)(bits >> f.mantissa_bits & ((1u << f.exponent_bits) - 1));
    uint64_t mantissa = bits & ((1ull << f.mantissa_bits) - 1);
    bool negative = bits >> (f.exponent_bits + f.mantissa_bits) & 1;
    exact value;
    if (format_is_nan(f, bits)) {
        value = (exact)__builtin_nan("");
    } else if (f.infinities && exponent == (1 << f.exponent_bits) - 1) {
        value = (exact)__builtin_inf();
    } else if (exponent == 0) {
        value = (exact)mantissa * exact_power(1 - format_bias(f) - f.mantissa_bits);
    } else {
        value = (exact)(mantissa | 1ull << f.mantissa_bits) *
                exact_power(exponent - format_bias(f) - f.mantissa_bits);
    }
    return negative ? -value : value;
}

static inline uint64_t format_nan(struct format f)
{
    return (1ull << (f.exponent_bits + f.mantissa_bits)) - 1;
}

static inline uint64_t format_largest(struct format f)
{
    uint64_t top = ((1ull << f.exponent_bits) - 1) << f.mantissa_bits;
    return f.infinities ? top - 1 : (top | ((1ull << f.mantissa_bits) - 2));
}

// The pattern of `value` in the format; overflow becomes infinity, or the largest finite value with
// `finite` (.satfinite) and in the directions that round toward it. `zero_sign` is the sign of
// zero.
static inline uint64_t format_encode(struct format f, exact value, enum direction direction,
                                     bool finite, bool zero_sign)
{
    if (value != value) {
        return format_nan(f);
    }
    bool negative = value < 0 || (value == 0 && zero_sign);
    uint64_t sign = (uint64_t)negative << (f.exponent_bits + f.mantissa_bits);
    exact magnitude = negative ? -value : value;
    uint64_t largest = format_largest(f);
    uint64_t infinity = f.infinities ? largest + 1 : format_nan(f);
    if (magnitude > exact_power(2000)) { // infinity: no finite value of a double is as large
        return sign | (finite ? largest : infinity);
    }
    // Find the spacing at this magnitude, scale to an integer, round.
    int smallest = 1 - format_bias(f), exponent = smallest;
    if (magnitude >= exact_power(smallest)) {
        exponent = ilogb((double)magnitude);
        if (magnitude < exact_power(exponent)) { // the cast rounded up to a power of two
            exponent--;
        }
    }
    exact scaled = magnitude * exact_power(f.mantissa_bits - exponent);
    uint64_t below = scaled >= (exact)0x1p62 ? UINT64_MAX >> 1 : (uint64_t)scaled;
    exact rest = scaled - (exact)below;
    bool up;
    switch (direction) {
    case NEAREST_EVEN:
        up = rest > (exact)0.5 || (rest == (exact)0.5 && (below & 1));
        break;
    case NEAREST_AWAY:
        up = rest >= (exact)0.5;
        break;
    case DOWNWARD:
        up = negative && rest > 0;
        break;
    case UPWARD:
        up = !negative && rest > 0;
        break;
    default:
        up = false;
        break;
    }
    // The integer's leading bit carries into the exponent by itself.
    uint64_t bits = ((uint64_t)(exponent + format_bias(f) - 1) << f.mantissa_bits) + below + up;
    if (bits > largest || exponent > format_bias(f) + 1) {
        bool toward = direction == TOWARD_ZERO || (direction == DOWNWARD && !negative) ||
                      (direction == UPWARD && negative);
        bits = finite || toward ? largest : infinity;
    }
    return sign | bits;
}
