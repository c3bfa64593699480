// SPDX-License-Identifier: Apache-2.0
//
// The conversion helper against the processor's own conversions and, for f16 and the smaller
// formats, against a search for the nearest value.
#include <criterion/criterion.h>

#include <fenv.h>
#include <math.h>
#include <string.h>

#include "backends/cpu/jit/helpers.h"

TestSuite(jit_helpers, .timeout = 60);

static uint64_t convert(enum ir_type to, enum ir_type from, enum ir_round round, uint32_t flags,
                        uint64_t bits)
{
    return jit_helper_cvt(bits, 0, 0, jit_cvt_mode(to, from, round, flags));
}

static uint32_t f32_bits(float f)
{
    uint32_t b;
    memcpy(&b, &f, 4);
    return b;
}

static float f32_value(uint32_t b)
{
    float f;
    memcpy(&f, &b, 4);
    return f;
}

static uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state ^ *state >> 15;
}

// Value of a small format by its definition.
static double small_value(uint32_t bits, unsigned exponent_bits, unsigned fraction_bits, int bias)
{
    uint32_t exponent = bits >> fraction_bits & ((1u << exponent_bits) - 1);
    double fraction = (double)(bits & ((1u << fraction_bits) - 1)) / (1u << fraction_bits);
    double v =
        exponent == 0 ? ldexp(fraction, 1 - bias) : ldexp(1 + fraction, (int)exponent - bias);
    return bits >> (exponent_bits + fraction_bits) & 1 ? -v : v;
}

Test(jit_helpers, half_to_float_is_exact)
{
    for (uint32_t i = 0; i < 0x10000; i++) {
        uint32_t got = (uint32_t)convert(IR_F32, IR_F16, IR_RN, 0, i);
        if ((i & 0x7c00) != 0x7c00) {
            cr_assert(got == f32_bits((float)small_value(i, 5, 10, 15)), "%04x: %08x", i, got);
        } else if ((i & 0x3ff) == 0) {
            cr_assert(got == (i == 0x7c00 ? 0x7f800000 : 0xff800000), "%04x: %08x", i, got);
        } else {
            cr_assert(isnan(f32_value(got)), "%04x: %08x", i, got);
        }
    }
}

// The nearest half by bisection; beyond the largest one the next power of two stands for infinity.
static uint32_t nearest_half(float f)
{
    double x = fabs((double)f);
    uint32_t low = 0, high = 0x7c00;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        *(small_value(middle, 5, 10, 15) <= x ? &low : &high) = middle;
    }
    double below = x - small_value(low, 5, 10, 15);
    double above = (high == 0x7c00 ? 65536 : small_value(high, 5, 10, 15)) - x;
    uint32_t h = below < above || (below == above && low % 2 == 0) ? low : high;
    return h | (signbit(f) ? 0x8000 : 0);
}

Test(jit_helpers, float_to_half_nearest)
{
    uint32_t state = 1;
    for (uint32_t i = 0; i < 1000000; i++) {
        // Exponents around the half range, where the cases are.
        uint32_t b = next_random(&state);
        b = (b & 0x807fffffu) | (100u + (b >> 23) % 45u) << 23;
        b = i % 3 == 0 ? b & 0xfffff000u : b;
        uint32_t want = nearest_half(f32_value(b));
        uint32_t got = (uint32_t)convert(IR_F16, IR_F32, IR_RN, 0, b);
        cr_assert(got == want, "%08x: %04x, not %04x", b, got, want);
    }
}

static float double_to_float(double d, int mode)
{
    volatile double v = d;
    fesetround(mode);
    volatile float f = (float)v;
    fesetround(FE_TONEAREST);
    return f;
}

Test(jit_helpers, double_to_float_all_roundings)
{
    static const struct {
        enum ir_round round;
        int mode;
    } modes[] = {
        {IR_RN, FE_TONEAREST}, {IR_RZ, FE_TOWARDZERO}, {IR_RM, FE_DOWNWARD}, {IR_RP, FE_UPWARD}};
    uint32_t state = 7;
    for (uint32_t i = 0; i < 400000; i++) {
        uint64_t b = (uint64_t)next_random(&state) << 32 | next_random(&state);
        uint64_t exponent = 1023 - 160 + next_random(&state) % 300;
        b = (b & UINT64_C(0x800fffffffffffff)) | exponent << 52;
        b = i % 2 ? b & UINT64_C(0xffffffffe0000000) : b;
        double d;
        memcpy(&d, &b, 8);
        for (unsigned m = 0; m < 4; m++) {
            uint32_t got = (uint32_t)convert(IR_F32, IR_F64, modes[m].round, 0, b);
            uint32_t want = f32_bits(double_to_float(d, modes[m].mode));
            cr_assert(got == want, "%a mode %u: %08x, not %08x", d, m, got, want);
        }
    }
}

Test(jit_helpers, integers_to_float_all_roundings)
{
    uint32_t state = 3;
    for (uint32_t i = 0; i < 300000; i++) {
        uint64_t b = (uint64_t)next_random(&state) << 32 | next_random(&state);
        b >>= next_random(&state) % 64;
        static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
        for (unsigned m = 0; m < 4; m++) {
            volatile int64_t v = (int64_t)b;
            fesetround(modes[m]);
            volatile float f = (float)v;
            volatile double d = (double)v;
            fesetround(FE_TONEAREST);
            float wf = f;
            double wd = d;
            uint64_t want;
            memcpy(&want, &wd, 8);
            cr_assert(convert(IR_F32, IR_I64, (enum ir_round)m, IR_FLAG_SRC_SIGNED, b) ==
                      f32_bits(wf));
            cr_assert(convert(IR_F64, IR_I64, (enum ir_round)m, IR_FLAG_SRC_SIGNED, b) == want);
        }
    }
}

static void check_small(enum ir_type type, unsigned exponent_bits, unsigned fraction_bits, int bias,
                        uint32_t max)
{
    uint32_t state = 11;
    double largest = small_value(max, exponent_bits, fraction_bits, bias);
    for (uint32_t i = 0; i < 200000; i++) {
        uint32_t b = next_random(&state);
        b = (b & 0x807fffffu) | (127u - 22u + (b >> 23) % 44u) << 23;
        b = i % 2 ? b & 0xfff00000u : b;
        double x = fabs((double)f32_value(b)), best = INFINITY;
        uint32_t want = 0;
        for (uint32_t k = 0; k <= max; k++) {
            double distance = fabs(small_value(k, exponent_bits, fraction_bits, bias) - x);
            if (distance < best || (distance == best && k % 2 == 0)) {
                best = distance;
                want = k;
            }
        }
        want = x > largest ? max : want;
        want |= b >> 31 << (exponent_bits + fraction_bits);
        uint32_t got = (uint32_t)convert(type, IR_F32, IR_RN, IR_FLAG_SATFINITE, b);
        cr_assert(got == want, "%a -> %02x, not %02x", (double)f32_value(b), got, want);
    }
}

Test(jit_helpers, small_formats)
{
    check_small(IR_E4M3, 4, 3, 7, 0x7e);
    check_small(IR_E5M2, 5, 2, 15, 0x7b);
    check_small(IR_E2M1, 2, 1, 1, 7);
    check_small(IR_E2M3, 2, 3, 1, 0x1f);
    check_small(IR_E3M2, 3, 2, 3, 0x1f);
    cr_expect(convert(IR_E4M3, IR_F32, IR_RN, 0, 0x7fc00000) == 0x7f);
    cr_expect(convert(IR_E5M2, IR_F32, IR_RN, 0, 0xff800000) == 0xfb);
    cr_expect(convert(IR_F16, IR_E4M3, IR_RN, 0, 0x7f) == 0x7fff);
    cr_expect(convert(IR_UE8M0, IR_F32, IR_RP, 0, 0x3f800001) == 128);
    cr_expect(convert(IR_BF16, IR_UE8M0, IR_RN, 0, 127) == 0x3f80);
}
