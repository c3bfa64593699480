// SPDX-License-Identifier: Apache-2.0
//
// cvt (PTX ISA 9.7.9.21): one number from type2 to type. Integers, and floats rounded to nearest
// or to an integer, are inline; directed rounding, fp8 and smaller, tf32 and .satfinite go to a
// helper that computes exactly in integers.
#include "emit.h"

#include "helpers.h"

static bool is_int(enum ir_type type)
{
    return type >= IR_I1 && type <= IR_I128;
}

static LLVMValueRef int_to_int(struct emit *e, const struct ir_inst *inst)
{
    unsigned from = ir_bits(inst->type2), to = ir_bits(inst->type);
    bool from_sign = (inst->flags & IR_FLAG_SRC_SIGNED) != 0;
    bool to_sign = (inst->flags & IR_FLAG_SIGNED) != 0;
    LLVMValueRef v = emit_get(e, &inst->src[0], from);
    if (inst->flags & IR_FLAG_SAT) {
        // Largest destination value, when the source can exceed it.
        unsigned to_magnitude = to_sign ? to - 1 : to, from_magnitude = from_sign ? from - 1 : from;
        LLVMTypeRef type = LLVMTypeOf(v);
        if (from_sign && !to_sign) {
            v = emit_intrinsic(e, "llvm.smax", type, v, emit_int(e, from, 0), NULL);
        } else if (from_sign && to < from) {
            LLVMValueRef low = emit_int(e, from, ~((UINT64_C(1) << (to - 1)) - 1));
            v = emit_intrinsic(e, "llvm.smax", type, v, low, NULL);
        }
        if (to_magnitude < from_magnitude) {
            LLVMValueRef high = emit_int(e, from, (UINT64_C(1) << to_magnitude) - 1);
            v = emit_intrinsic(e, from_sign ? "llvm.smin" : "llvm.umin", type, v, high, NULL);
        }
    }
    return emit_resize(e, v, to, from_sign);
}

// Rounding to an integral value; RN and absent modifiers keep the number.
static LLVMValueRef to_integral(struct emit *e, LLVMValueRef v, enum ir_round round)
{
    const char *name = round == IR_RNI   ? "llvm.roundeven"
                       : round == IR_RZI ? "llvm.trunc"
                       : round == IR_RMI ? "llvm.floor"
                       : round == IR_RPI ? "llvm.ceil"
                                         : NULL;
    return name == NULL ? v : emit_intrinsic(e, name, LLVMTypeOf(v), v, NULL, NULL);
}

static LLVMValueRef float_to_int(struct emit *e, const struct ir_inst *inst)
{
    unsigned to = ir_bits(inst->type);
    LLVMValueRef v = emit_get_float(e, &inst->src[0], inst->type2);
    if (inst->flags & IR_FLAG_FTZ) {
        v = emit_flush(e, v);
    }
    if (inst->round != IR_RZI) {
        v = to_integral(e, v, inst->round);
    }
    const char *name = (inst->flags & IR_FLAG_SIGNED) ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    LLVMTypeRef types[2] = {emit_int_type(e, to), LLVMTypeOf(v)};
    unsigned id = LLVMLookupIntrinsicID(name, 15);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, types, 2);
    LLVMValueRef r = LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->cx, id, types, 2), fn, &v, 1, "");
    if (inst->type2 == IR_F64 || to == 64) {
        // NaN becomes 0, but only the sign bit when either side is 64 bits wide.
        LLVMValueRef nan = LLVMBuildFCmp(e->b, LLVMRealUNO, v, v, "");
        r = emit_select(e, nan, emit_int(e, to, UINT64_C(1) << (to - 1)), r);
    }
    return r;
}

static bool nearest(enum ir_round round)
{
    return round == IR_RN || round >= IR_RNI;
}

static bool needs_helper(const struct ir_inst *inst)
{
    enum ir_type to = inst->type, from = inst->type2;
    if (inst->flags & IR_FLAG_SATFINITE) {
        return true;
    }
    if (!is_int(to) && !emit_is_float(to)) {
        return true;
    }
    if (!is_int(from) && !emit_is_float(from)) {
        return true;
    }
    if (is_int(from)) {
        bool half = to == IR_F16 || to == IR_BF16;
        return !nearest(inst->round) || (half && ir_bits(from) > 32);
    }
    // Directed rounding matters only when the destination is narrower.
    return !is_int(to) && !nearest(inst->round) && ir_bits(to) <= ir_bits(from) && to != from;
}

static void through_helper(struct emit *e, const struct ir_inst *inst)
{
    if (inst->round == IR_RS) {
        emit_fail(e, inst, "stochastic rounding is not compiled by this version");
        return;
    }
    LLVMValueRef v = emit_get(e, &inst->src[0], ir_bits(inst->type2));
    LLVMValueRef r = emit_helper(e, JIT_HELPER_cvt, v, NULL, NULL,
                                 jit_cvt_mode(inst->type, inst->type2, inst->round, inst->flags));
    emit_set(e, inst, 0, emit_resize(e, r, ir_bits(ir_storage(inst->type)), false));
}

static LLVMValueRef int_to_float(struct emit *e, const struct ir_inst *inst)
{
    bool sign = (inst->flags & IR_FLAG_SRC_SIGNED) != 0;
    bool half = inst->type == IR_F16 || inst->type == IR_BF16;
    LLVMTypeRef type = half || inst->type == IR_F64 ? e->f64 : e->f32;
    LLVMValueRef v = emit_get(e, &inst->src[0], ir_bits(inst->type2));
    v = sign ? LLVMBuildSIToFP(e->b, v, type, "") : LLVMBuildUIToFP(e->b, v, type, "");
    return half ? emit_round_odd(e, v) : v;
}

static LLVMValueRef float_to_float(struct emit *e, const struct ir_inst *inst)
{
    bool ftz = (inst->flags & IR_FLAG_FTZ) != 0;
    LLVMValueRef v = emit_get_float(e, &inst->src[0], inst->type2);
    if (ftz && inst->type2 == IR_F32) {
        v = emit_flush(e, v);
    }
    v = to_integral(e, v, inst->round);
    bool wide = LLVMTypeOf(v) == e->f64;
    if (inst->type == IR_F64) {
        v = wide ? v : LLVMBuildFPExt(e->b, v, e->f64, "");
    } else if (wide) {
        v = inst->type == IR_F32 ? LLVMBuildFPTrunc(e->b, v, e->f32, "") : emit_round_odd(e, v);
    }
    return ftz && inst->type == IR_F32 ? emit_flush(e, v) : v;
}

bool emit_convert(struct emit *e, const struct ir_inst *inst)
{
    if (inst->op != IR_cvt) {
        return false;
    }
    if (needs_helper(inst)) {
        through_helper(e, inst);
        return true;
    }
    if (is_int(inst->type)) {
        emit_set(e, inst, 0, is_int(inst->type2) ? int_to_int(e, inst) : float_to_int(e, inst));
        return true;
    }
    LLVMValueRef v = is_int(inst->type2) ? int_to_float(e, inst) : float_to_float(e, inst);
    if (inst->flags & IR_FLAG_SAT) {
        v = emit_saturate(e, v);
    }
    if (inst->flags & IR_FLAG_RELU) {
        v = emit_relu(e, v);
    }
    emit_set_float(e, inst, v, inst->type);
    return true;
}
