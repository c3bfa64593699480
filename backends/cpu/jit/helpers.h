// SPDX-License-Identifier: Apache-2.0
//
// Slow exact operations in C that compiled code calls through exec_runtime.helpers (helpers.def).
// All are pure; any thread; none fails. The mode words that emit_*.c
// pass are made here, so that emitter and helper cannot disagree.
#pragma once

#include <stdint.h>

#include "../ir/ir.h"

enum jit_helper {
#define JIT_HELPER(name) JIT_HELPER_##name,
#include "helpers.def"
#undef JIT_HELPER
    JIT_HELPER_COUNT
};

#define JIT_HELPER(name) \
    uint64_t jit_helper_##name(uint64_t a, uint64_t b, uint64_t c, uint64_t mode);
#include "helpers.def"
#undef JIT_HELPER

enum jit_round_op { JIT_ROUND_ADD, JIT_ROUND_MUL, JIT_ROUND_FMA, JIT_ROUND_DIV, JIT_ROUND_SQRT };

static inline uint64_t jit_round_mode(enum jit_round_op op, enum ir_round round)
{
    return (uint64_t)op | (uint64_t)round << 8;
}

// Conversion of one element: destination and source type (I8..I64 with the signed flags, floats),
// rounding, flags (IR_FLAG_SIGNED, SRC_SIGNED, FTZ, SAT, SATFINITE, RELU).
static inline uint64_t jit_cvt_mode(enum ir_type to, enum ir_type from, enum ir_round round,
                                    uint32_t flags)
{
    return (uint64_t)to | (uint64_t)from << 8 | (uint64_t)round << 16 | (uint64_t)flags << 32;
}
