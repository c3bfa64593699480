// SPDX-License-Identifier: Apache-2.0
//
// Helper table, directed rounding of f32 and f64 arithmetic, and fns. Directed rounding switches
// the processor's rounding mode around one volatile operation; nothing else runs in between.
#include "helpers.h"

#include <fenv.h>
#include <math.h>
#include <string.h>
#if defined(__x86_64__) || defined(__i386__)
#include <xmmintrin.h>
#endif

#include "jit.h"

static void *const table[JIT_HELPER_COUNT] = {
#define JIT_HELPER(name) [JIT_HELPER_##name] = (void *)jit_helper_##name,
#include "helpers.def"
#undef JIT_HELPER
};

void *const *jit_helpers(void)
{
    return table;
}

#if defined(__x86_64__) || defined(__i386__)
static unsigned enter_rounding(enum ir_round round)
{
    unsigned old = _mm_getcsr();
    unsigned mode = round == IR_RM   ? _MM_ROUND_DOWN
                    : round == IR_RP ? _MM_ROUND_UP
                    : round == IR_RZ ? _MM_ROUND_TOWARD_ZERO
                                     : _MM_ROUND_NEAREST;
    _mm_setcsr((old & ~(unsigned)_MM_ROUND_MASK) | mode);
    return old;
}

static void leave_rounding(unsigned old)
{
    _mm_setcsr(old);
}
#else
static unsigned enter_rounding(enum ir_round round)
{
    int old = fegetround();
    fesetround(round == IR_RM   ? FE_DOWNWARD
               : round == IR_RP ? FE_UPWARD
               : round == IR_RZ ? FE_TOWARDZERO
                                : FE_TONEAREST);
    return (unsigned)old;
}

static void leave_rounding(unsigned old)
{
    fesetround((int)old);
}
#endif

#define DEFINE_ROUND(name, type, bits, fma_function, sqrt_function, canonical)    \
    uint64_t jit_helper_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t mode) \
    {                                                                             \
        bits pattern[3] = {(bits)a, (bits)b, (bits)c};                            \
        type number[3];                                                           \
        memcpy(number, pattern, sizeof(number));                                  \
        volatile type x = number[0], y = number[1], z = number[2], r = 0;         \
        unsigned old = enter_rounding((enum ir_round)(mode >> 8 & 0xff));         \
        switch ((enum jit_round_op)(mode & 0xff)) {                               \
        case JIT_ROUND_ADD:                                                       \
            r = x + y;                                                            \
            break;                                                                \
        case JIT_ROUND_MUL:                                                       \
            r = x * y;                                                            \
            break;                                                                \
        case JIT_ROUND_FMA:                                                       \
            r = fma_function(x, y, z);                                            \
            break;                                                                \
        case JIT_ROUND_DIV:                                                       \
            r = x / y;                                                            \
            break;                                                                \
        case JIT_ROUND_SQRT:                                                      \
            r = sqrt_function(x);                                                 \
            break;                                                                \
        }                                                                         \
        leave_rounding(old);                                                      \
        type result = r;                                                          \
        bits out;                                                                 \
        memcpy(&out, &result, sizeof(out));                                       \
        return isnan(result) ? (canonical) : out;                                 \
    }

DEFINE_ROUND(round32, float, uint32_t, fmaf, sqrtf, UINT32_C(0x7fffffff))
DEFINE_ROUND(round64, double, uint64_t, fma, sqrt, out)

uint64_t jit_helper_fns(uint64_t mask, uint64_t base, uint64_t offset, uint64_t mode)
{
    (void)mode;
    int32_t n = (int32_t)(uint32_t)offset;
    uint32_t bits = (uint32_t)mask;
    int64_t at = (int64_t)(uint32_t)base;
    if (n == 0) {
        return at < 32 && (bits >> at & 1) ? (uint64_t)at : UINT32_MAX;
    }
    int step = n > 0 ? 1 : -1;
    int64_t left = (n > 0 ? (int64_t)n : -(int64_t)n) - 1;
    for (; at >= 0 && at < 32; at += step) {
        if ((bits >> at & 1) && left-- == 0) {
            return (uint64_t)at;
        }
    }
    return UINT32_MAX;
}
