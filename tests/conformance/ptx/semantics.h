// SPDX-License-Identifier: Apache-2.0
//
// Table-driven tests of what PTX instructions compute: each row is PTX code on three inputs, the
// kinds of its inputs and an oracle in plain C written from the PTX ISA. run_ops() makes one module
// of all rows, launches each on edge values (all combinations), and random values, and compares.
// Everything goes through the public API, so the same rows hold a real GPU to the same oracle.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Inputs arrive as 64-bit patterns; a row's code sees them as %ha %ra %la (16, 32, 64 bits) and the
// predicate %pa (lowest bit), likewise b and c. It writes %hd, %rd, %ld or %pd. Scratch registers:
// %h0..%h9, %r0..%r9, %l0..%l9, %p0..%p9.
struct op {
    const char *name;
    const char *inputs; // one letter per input: h r l integers of 16, 32, 64 bits; x f16, b bf16,
                        // f f32, d f64; s shift amount; p predicate; y byte; X f16x2, B bf16x2;
                        // g f32 of moderate size; t f32 in [-2 pi, 2 pi]
    char result;        // h r l p: register that holds the result; X, B: r compared as halves
    const char *code;
    uint64_t (*oracle)(uint64_t a, uint64_t b, uint64_t c);
    // How results compare: 0 all bits; 'f' 'd' 'x' 'b': floats, every NaN equals every NaN; with
    // `relative` or `absolute` not zero the value may be off by the larger of the two.
    char compare;
    double relative, absolute;
};

void run_ops(const struct op *ops, size_t count);

// An oracle calls this when PTX leaves the result open for these inputs.
void op_any(void);

// Row helpers: OPS(X) lists X(name, inputs, result, compare, code, expression of a, b, c).
#define OP_ORACLE(name, inputs, result, compare, code, ...)           \
    static uint64_t oracle_##name(uint64_t a, uint64_t b, uint64_t c) \
    {                                                                 \
        (void)a;                                                      \
        (void)b;                                                      \
        (void)c;                                                      \
        return (uint64_t)(__VA_ARGS__);                               \
    }
#define OP_ROW(name, inputs, result, compare, code, ...) \
    {#name, inputs, result, code, oracle_##name, compare, 0, 0},

#define U16(v) ((uint16_t)(v))
#define S16(v) ((int16_t)(v))
#define U32(v) ((uint32_t)(v))
#define S32(v) ((int32_t)(v))
#define U64(v) ((uint64_t)(v))
#define S64(v) ((int64_t)(v))

static inline float as_f32(uint64_t bits)
{
    uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return value;
}

static inline uint64_t f32_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double as_f64(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t f64_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

// Subnormal single-precision values become zero of the same sign (.ftz).
static inline float flush(float value)
{
    return fpclassify(value) == FP_SUBNORMAL ? copysignf(0, value) : value;
}
