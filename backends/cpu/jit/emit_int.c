// SPDX-License-Identifier: Apache-2.0
//
// Integer arithmetic (PTX ISA 9.7.1, 9.7.2): add to dp4a, with carry chains and saturation.
// Floating-point forms of the same operations are in emit_float.c.
#include "emit.h"

static LLVMValueRef multiply_high(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool sign)
{
    unsigned bits = emit_width(a);
    LLVMValueRef product = LLVMBuildMul(e->b, emit_resize(e, a, 2 * bits, sign),
                                        emit_resize(e, b, 2 * bits, sign), "");
    return emit_resize(e, LLVMBuildLShr(e->b, product, emit_int(e, 2 * bits, bits), ""), bits,
                       false);
}

static LLVMValueRef saturating(struct emit *e, bool subtract, LLVMValueRef a, LLVMValueRef b)
{
    return emit_intrinsic(e, subtract ? "llvm.ssub.sat" : "llvm.sadd.sat", LLVMTypeOf(a), a, b,
                          NULL);
}

// a + b + carry or a - b - borrow, in a wider type whose extra bits hold the carry.
static void add_with_carry(struct emit *e, const struct ir_inst *inst, LLVMValueRef a,
                           LLVMValueRef b, bool subtract)
{
    unsigned bits = emit_width(a);
    if (!(inst->flags & (IR_FLAG_CC_OUT | IR_FLAG_CC_IN))) {
        emit_set(e, inst, 0,
                 subtract ? LLVMBuildSub(e->b, a, b, "") : LLVMBuildAdd(e->b, a, b, ""));
        return;
    }
    const char *name = subtract ? "llvm.usub.with.overflow" : "llvm.uadd.with.overflow";
    LLVMValueRef pair = emit_intrinsic(e, name, LLVMTypeOf(a), a, b, NULL);
    LLVMValueRef sum = LLVMBuildExtractValue(e->b, pair, 0, "");
    LLVMValueRef out = LLVMBuildExtractValue(e->b, pair, 1, "");
    if (inst->flags & IR_FLAG_CC_IN) {
        LLVMValueRef in =
            emit_resize(e, emit_get(e, &inst->src[inst->src_count - 1], 1), bits, false);
        pair = emit_intrinsic(e, name, LLVMTypeOf(a), sum, in, NULL);
        sum = LLVMBuildExtractValue(e->b, pair, 0, "");
        out = LLVMBuildOr(e->b, out, LLVMBuildExtractValue(e->b, pair, 1, ""), "");
    }
    emit_set(e, inst, 0, sum);
    if (inst->flags & IR_FLAG_CC_OUT) {
        emit_set(e, inst, 1, out);
    }
}

static LLVMValueRef divide(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool sign, bool rem)
{
    unsigned bits = emit_width(a);
    LLVMValueRef zero = LLVMBuildICmp(e->b, LLVMIntEQ, b, emit_int(e, bits, 0), "");
    LLVMValueRef r;
    if (sign) {
        LLVMValueRef minus1 = LLVMBuildICmp(e->b, LLVMIntEQ, b, emit_int(e, bits, UINT64_MAX), "");
        LLVMValueRef special = LLVMBuildOr(e->b, zero, minus1, "");
        LLVMValueRef safe = emit_select(e, special, emit_int(e, bits, 1), b);
        r = rem ? LLVMBuildSRem(e->b, a, safe, "") : LLVMBuildSDiv(e->b, a, safe, "");
        r = emit_select(e, minus1, rem ? emit_int(e, bits, 0) : LLVMBuildNeg(e->b, a, ""), r);
    } else {
        LLVMValueRef safe = emit_select(e, zero, emit_int(e, bits, 1), b);
        r = rem ? LLVMBuildURem(e->b, a, safe, "") : LLVMBuildUDiv(e->b, a, safe, "");
    }
    return emit_select(e, zero, rem ? a : emit_int(e, bits, UINT64_MAX), r);
}

static LLVMValueRef int_min_max(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool max, bool sign)
{
    const char *name =
        max ? (sign ? "llvm.smax" : "llvm.umax") : (sign ? "llvm.smin" : "llvm.umin");
    return emit_intrinsic(e, name, LLVMTypeOf(a), a, b, NULL);
}

static LLVMValueRef part(struct emit *e, LLVMValueRef v, unsigned bits, unsigned index, bool sign)
{
    v = LLVMBuildLShr(e->b, v, emit_int(e, 32, (uint64_t)bits * index), "");
    return emit_resize(e, emit_resize(e, v, bits, false), 32, sign);
}

static LLVMValueRef dot(struct emit *e, const struct ir_inst *inst, bool four)
{
    bool sign_a = (inst->flags & IR_FLAG_SIGNED) != 0;
    bool sign_b = (inst->flags & IR_FLAG_SRC_SIGNED) != 0;
    LLVMValueRef a = emit_get(e, &inst->src[0], 32);
    LLVMValueRef b = emit_get(e, &inst->src[1], 32);
    LLVMValueRef sum = emit_get(e, &inst->src[2], 32);
    for (unsigned i = 0; i < (four ? 4u : 2u); i++) {
        unsigned byte = four ? i : i + ((inst->flags & IR_FLAG_HI) ? 2u : 0u);
        LLVMValueRef x = part(e, a, four ? 8 : 16, i, sign_a);
        LLVMValueRef y = part(e, b, 8, byte, sign_b);
        sum = LLVMBuildAdd(e->b, sum, LLVMBuildMul(e->b, x, y, ""), "");
    }
    return sum;
}

bool emit_integer(struct emit *e, const struct ir_inst *inst)
{
    if (emit_is_float(inst->type)) {
        return false;
    }
    bool sign = (inst->flags & IR_FLAG_SIGNED) != 0;
    unsigned bits = ir_bits(inst->type);
    LLVMValueRef a = NULL, b = NULL, r;
    switch (inst->op) {
    case IR_add:
    case IR_sub:
    case IR_mul:
    case IR_mul_wide:
    case IR_div:
    case IR_rem:
    case IR_min:
    case IR_max:
        b = emit_get(e, &inst->src[1], bits);
        a = emit_get(e, &inst->src[0], bits);
        break;
    case IR_abs:
    case IR_neg:
        a = emit_get(e, &inst->src[0], bits);
        break;
    default:
        break;
    }
    switch (inst->op) {
    case IR_add:
    case IR_sub:
        if (!(inst->flags & IR_FLAG_SAT)) {
            add_with_carry(e, inst, a, b, inst->op == IR_sub);
            return true;
        }
        r = saturating(e, inst->op == IR_sub, a, b);
        break;
    case IR_mul:
        r = (inst->flags & IR_FLAG_HI) ? multiply_high(e, a, b, sign)
                                       : LLVMBuildMul(e->b, a, b, "");
        break;
    case IR_mul_wide:
        // The product of two extended halves cannot overflow.
        a = emit_resize(e, a, 2 * bits, sign);
        b = emit_resize(e, b, 2 * bits, sign);
        r = sign ? LLVMBuildNSWMul(e->b, a, b, "") : LLVMBuildNUWMul(e->b, a, b, "");
        break;
    case IR_div:
    case IR_rem:
        r = divide(e, a, b, sign, inst->op == IR_rem);
        break;
    case IR_abs:
        r = emit_select(e, LLVMBuildICmp(e->b, LLVMIntSLT, a, emit_int(e, bits, 0), ""),
                        LLVMBuildNeg(e->b, a, ""), a);
        break;
    case IR_neg:
        r = LLVMBuildNeg(e->b, a, "");
        break;
    case IR_min:
        r = int_min_max(e, a, b, false, sign);
        break;
    case IR_max:
        r = int_min_max(e, a, b, true, sign);
        break;
    case IR_dp4a:
        r = dot(e, inst, true);
        break;
    case IR_dp2a:
        r = dot(e, inst, false);
        break;
    default:
        return false;
    }
    emit_set(e, inst, 0, r);
    return true;
}
