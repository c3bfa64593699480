// SPDX-License-Identifier: Apache-2.0
//
// Random and edge numbers against independent oracles: inline conversions against the exact helper,
// half precision against exact sums rounded once, approximate functions against libm within the
// documented errors.
#include <criterion/criterion.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "backends/cpu/jit/helpers.h"

TestSuite(jit_numbers, .timeout = 90);

enum { COUNT = 20000 };

static uint32_t state = 12345;

static uint64_t next_random(void)
{
    uint64_t v = 0;
    for (int i = 0; i < 4; i++) {
        state = state * 1664525u + 1013904223u;
        v = v << 16 | state >> 16;
    }
    return v;
}

// Patterns that reach every exponent, with edges in front.
static uint64_t sample(size_t i, unsigned bits)
{
    static const uint64_t edges[] = {0,
                                     1,
                                     UINT64_MAX,
                                     0x7c00,
                                     0x7c01,
                                     0x3c00,
                                     0x8000,
                                     0x7f80,
                                     0x80,
                                     0x3f800000,
                                     0x7f800000,
                                     0x7f800001,
                                     0xff800000,
                                     0x00800000,
                                     0x007fffff,
                                     0x80000000,
                                     0x7fffffff,
                                     0x4f000000,
                                     0x4effffff,
                                     0xcf000000,
                                     0x5f000000,
                                     0x7ff0000000000000,
                                     0x7ff0000000000001,
                                     0x8000000000000000,
                                     0x3ff0000000000000,
                                     0x43e0000000000000,
                                     0x41dfffffffc00000};
    uint64_t v = i < sizeof(edges) / sizeof(edges[0]) ? edges[i] : next_random();
    if (i % 4 == 3) {
        // Small magnitudes as integers, short mantissas as floats.
        v = bits == 64 && i % 8 == 3 ? v & UINT64_C(0xfffffffff0000000) : v >> (v % bits);
    }
    return bits == 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

struct kind {
    const char *name, *storage;
    enum ir_type type;
    uint32_t sign; // 1: signed integer, 0: unsigned or float
    unsigned bits;
};

static const struct kind kinds[] = {
    {"s16", "b16", IR_I16, 1, 16}, {"u16", "b16", IR_I16, 0, 16},   {"s32", "b32", IR_I32, 1, 32},
    {"u32", "b32", IR_I32, 0, 32}, {"s64", "b64", IR_I64, 1, 64},   {"u64", "b64", IR_I64, 0, 64},
    {"f16", "b16", IR_F16, 0, 16}, {"bf16", "b16", IR_BF16, 0, 16}, {"f32", "b32", IR_F32, 0, 32},
    {"f64", "b64", IR_F64, 0, 64},
};

static bool is_float(const struct kind *k)
{
    return k->type >= IR_F16;
}

static bool is_nan(uint64_t bits, enum ir_type type)
{
    switch (type) {
    case IR_F16:
        return (bits & 0x7fff) > 0x7c00;
    case IR_BF16:
        return (bits & 0x7fff) > 0x7f80;
    case IR_F32:
        return (bits & 0x7fffffff) > 0x7f800000;
    case IR_F64:
        return (bits & INT64_MAX) > 0x7ff0000000000000;
    default:
        return false;
    }
}

static void check_conversion(const struct kind *to, const struct kind *from, const char *modifier,
                             enum ir_round round, uint32_t flags)
{
    static uint64_t in[COUNT], out[COUNT];
    unsigned char *source = (unsigned char *)in, *result = (unsigned char *)out;
    unsigned from_bytes = from->bits / 8, to_bytes = to->bits / 8;
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t v = sample(i, from->bits);
        memcpy(source + i * from_bytes, &v, from_bytes);
    }
    char body[80];
    snprintf(body, sizeof(body), "cvt%s.%s.%s d, a;", modifier, to->name, from->name);
    struct harness_op op = {.a = from->storage, .d = to->storage, .body = body};
    cr_assert(harness_map(&op, COUNT, source, NULL, NULL, result, NULL) == 0, "%s: %s", body,
              harness_message());
    flags |= (to->sign ? IR_FLAG_SIGNED : 0) | (from->sign ? IR_FLAG_SRC_SIGNED : 0);
    for (size_t i = 0; i < COUNT; i++) {
        uint64_t v = 0, got = 0;
        memcpy(&v, source + i * from_bytes, from_bytes);
        memcpy(&got, result + i * to_bytes, to_bytes);
        uint64_t want = jit_helper_cvt(v, 0, 0, jit_cvt_mode(to->type, from->type, round, flags));
        bool same = got == want || (is_nan(got, to->type) && is_nan(want, to->type));
        cr_assert(same, "%s of %" PRIx64 ": %" PRIx64 ", not %" PRIx64, body, v, got, want);
    }
}

Test(jit_numbers, inline_conversions_agree_with_the_helper)
{
    enum { KINDS = sizeof(kinds) / sizeof(kinds[0]) };
    for (unsigned t = 0; t < KINDS; t++) {
        for (unsigned f = 0; f < KINDS; f++) {
            const struct kind *to = &kinds[t], *from = &kinds[f];
            if (!is_float(from) && is_float(to)) {
                check_conversion(to, from, ".rn", IR_RN, 0);
            } else if (is_float(from) && !is_float(to)) {
                check_conversion(to, from, ".rzi", IR_RZI, 0);
                check_conversion(to, from, ".rni", IR_RNI, 0);
                check_conversion(to, from, ".rmi", IR_RMI, 0);
            } else if (is_float(from) && is_float(to) && from->bits > to->bits) {
                check_conversion(to, from, ".rn", IR_RN, 0);
            } else if (is_float(from) && is_float(to) && from->bits < to->bits) {
                check_conversion(to, from, "", IR_RN, 0);
            }
        }
    }
    check_conversion(&kinds[8], &kinds[9], ".rn.ftz", IR_RN, IR_FLAG_FTZ);
    check_conversion(&kinds[8], &kinds[9], ".rn.sat", IR_RN, IR_FLAG_SAT);
}

// The helper rounds an exact double once; sums and products of halves are made exact here first.
static uint16_t round_half(enum ir_type type, double exact)
{
    uint64_t bits;
    memcpy(&bits, &exact, 8);
    return (uint16_t)jit_helper_cvt(bits, 0, 0, jit_cvt_mode(type, IR_F64, IR_RN, 0));
}

static double half_value(enum ir_type type, uint16_t h)
{
    uint64_t bits = jit_helper_cvt(h, 0, 0, jit_cvt_mode(IR_F64, type, IR_RN, 0));
    double d;
    memcpy(&d, &bits, 8);
    return d;
}

static void check_half(const char *name, enum ir_type type)
{
    static uint16_t a[COUNT], b[COUNT], c[COUNT], d[COUNT];
    for (size_t i = 0; i < COUNT; i++) {
        a[i] = (uint16_t)sample(i, 16);
        b[i] = (uint16_t)sample(i < 30 ? (i * 7) % 30 : i, 16);
        // Often of the size of the product, so that bits cancel and ties appear.
        double p = half_value(type, a[i]) * half_value(type, b[i]);
        c[i] = i % 2 ? round_half(type, -p) : (uint16_t)sample(i, 16);
    }
    for (unsigned n = 0; n < 3; n++) {
        char body[80];
        snprintf(body, sizeof(body), n == 2 ? "fma.rn.%s d, a, b, c;" : "%2$s.%1$s d, a, b;", name,
                 n == 0 ? "add" : "mul");
        struct harness_op op = {"b16", "b16", "b16", "b16", NULL, body};
        cr_assert(harness_map(&op, COUNT, a, b, c, d, NULL) == 0, "%s", harness_message());
        for (size_t i = 0; i < COUNT; i++) {
            double x = half_value(type, a[i]), y = half_value(type, b[i]);
            double z = half_value(type, c[i]);
            // long double has 64 bits: enough for every sum and product, but not for every fma.
            long double exact = n == 0 ? (long double)x + y : (long double)x * y;
            if (n == 2) {
                long double sum = exact + z;
                if (isfinite((double)sum) && (sum - exact != z || sum - z != exact)) {
                    continue;
                }
                exact = sum;
            }
            // Rounding to odd in double keeps what the final rounding needs.
            double near = (double)exact;
            uint64_t bits;
            memcpy(&bits, &near, 8);
            if (isfinite(near) && (long double)near != exact) {
                bits -= fabsl((long double)near) > fabsl(exact);
                bits |= 1;
            }
            memcpy(&near, &bits, 8);
            uint16_t want = round_half(type, near);
            cr_assert(d[i] == want || (is_nan(d[i], type) && is_nan(want, type)),
                      "%s of %04x %04x %04x: %04x, not %04x", body, a[i], b[i], c[i], d[i], want);
        }
    }
}

Test(jit_numbers, half_arithmetic_rounds_once)
{
    check_half("f16", IR_F16);
    check_half("bf16", IR_BF16);
}

static double sine(double x)
{
    return sin(x);
}

static double reciprocal(double x)
{
    return 1 / x;
}

static double reciprocal_root(double x)
{
    return 1 / sqrt(x);
}

Test(jit_numbers, approximate_functions_within_bounds)
{
    // Bounds of PTX ISA 9.7.3: relative unless absolute is set.
    static const struct {
        const char *body;
        double (*exact)(double);
        double low, high, bound;
        bool absolute;
    } rows[] = {
        {"sin.approx.f32 d, a;", sine, -6.28, 6.28, 0x1p-20, true},
        {"cos.approx.f32 d, a;", cos, -6.28, 6.28, 0x1p-20, true},
        {"sin.approx.f32 d, a;", sine, -314, 314, 0x1p-14, true},
        {"ex2.approx.f32 d, a;", exp2, -120, 120, 0x1p-22, false},
        {"lg2.approx.f32 d, a;", log2, 0.5, 2, 0x1p-22, true},
        {"lg2.approx.f32 d, a;", log2, 2, 1e38, 0x1p-22, false},
        {"tanh.approx.f32 d, a;", tanh, -12, 12, 0x1p-11, false},
        {"rcp.approx.f32 d, a;", reciprocal, 1e-30, 1e30, 0x1p-23, false},
        {"rsqrt.approx.f32 d, a;", reciprocal_root, 1e-30, 1e30, 0x1p-22, false},
        {"sqrt.approx.f32 d, a;", sqrt, 1e-30, 1e30, 0x1p-23, false},
    };
    static float in[COUNT], out[COUNT];
    for (size_t r = 0; r < sizeof(rows) / sizeof(rows[0]); r++) {
        for (size_t i = 0; i < COUNT; i++) {
            double t = (double)(next_random() >> 11) * 0x1p-53;
            bool wide = rows[r].low > 0 && rows[r].high / rows[r].low > 100;
            in[i] = (float)(wide ? rows[r].low * pow(rows[r].high / rows[r].low, t)
                                 : rows[r].low + t * (rows[r].high - rows[r].low));
        }
        struct harness_op op = {.a = "b32", .d = "b32", .body = rows[r].body};
        cr_assert(harness_map(&op, COUNT, in, NULL, NULL, out, NULL) == 0, "%s", harness_message());
        for (size_t i = 0; i < COUNT; i++) {
            double want = rows[r].exact((double)in[i]), error = fabs((double)out[i] - want);
            error = rows[r].absolute ? error : error / fabs(want);
            cr_assert(error <= rows[r].bound, "%s of %a: %a, not %a", rows[r].body, (double)in[i],
                      (double)out[i], want);
        }
    }
}
