// SPDX-License-Identifier: Apache-2.0
//
// Floating-point arithmetic (PTX ISA 9.7.3 to 9.7.5) of f32, f64, f16 and bf16. Round-to-nearest
// is emitted inline without any fast-math flag; directed rounding calls a helper. Half formats
// compute in float (or double) such that one rounding remains.
#include "emit.h"

#include "helpers.h"

bool emit_is_float(enum ir_type type)
{
    switch (type) {
    case IR_F16:
    case IR_BF16:
    case IR_F32:
    case IR_F64:
        return true;
    default:
        return false;
    }
}

LLVMValueRef emit_flush(struct emit *e, LLVMValueRef number)
{
    if (LLVMTypeOf(number) != e->f32) {
        return number;
    }
    LLVMValueRef bits = LLVMBuildBitCast(e->b, number, e->i32, "");
    LLVMValueRef exponent = LLVMBuildAnd(e->b, bits, emit_int(e, 32, 0x7f800000), "");
    LLVMValueRef small = LLVMBuildICmp(e->b, LLVMIntEQ, exponent, emit_int(e, 32, 0), "");
    LLVMValueRef zero = LLVMBuildAnd(e->b, bits, emit_int(e, 32, 0x80000000), "");
    return LLVMBuildBitCast(e->b, emit_select(e, small, zero, bits), e->f32, "");
}

// Flush of a number that stands for a value of `type` (f16 has a larger smallest normal).
LLVMValueRef emit_flush_as(struct emit *e, LLVMValueRef number, enum ir_type type)
{
    if (type != IR_F16) {
        return type == IR_F64 ? number : emit_flush(e, number);
    }
    LLVMValueRef a = emit_intrinsic(e, "llvm.fabs", e->f32, number, NULL, NULL);
    LLVMValueRef small = LLVMBuildFCmp(e->b, LLVMRealOLT, a, emit_f32(e, 0x1p-14), "");
    LLVMValueRef zero = emit_intrinsic(e, "llvm.copysign", e->f32, emit_f32(e, 0), number, NULL);
    return emit_select(e, small, zero, number);
}

LLVMValueRef emit_saturate(struct emit *e, LLVMValueRef number)
{
    LLVMTypeRef type = LLVMTypeOf(number);
    LLVMValueRef zero = LLVMConstReal(type, 0), one = LLVMConstReal(type, 1);
    LLVMValueRef below = LLVMBuildFCmp(e->b, LLVMRealOLT, number, one, "");
    LLVMValueRef positive = LLVMBuildFCmp(e->b, LLVMRealOGT, number, zero, "");
    return emit_select(e, positive, emit_select(e, below, number, one), zero);
}

LLVMValueRef emit_relu(struct emit *e, LLVMValueRef number)
{
    LLVMValueRef zero = LLVMConstReal(LLVMTypeOf(number), 0);
    LLVMValueRef keep = LLVMBuildFCmp(e->b, LLVMRealUGT, number, zero, "");
    return emit_select(e, keep, number, zero);
}

LLVMValueRef emit_min_max(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool max, bool nan)
{
    LLVMValueRef r =
        emit_intrinsic(e, max ? "llvm.maximum" : "llvm.minimum", LLVMTypeOf(a), a, b, NULL);
    if (!nan) {
        r = emit_select(e, LLVMBuildFCmp(e->b, LLVMRealUNO, b, b, ""), a, r);
        r = emit_select(e, LLVMBuildFCmp(e->b, LLVMRealUNO, a, a, ""), b, r);
    }
    return r;
}

static LLVMValueRef xor_sign(struct emit *e, LLVMValueRef a, LLVMValueRef b, LLVMValueRef r)
{
    LLVMTypeRef type = LLVMTypeOf(a);
    LLVMTypeRef bits = type == e->f64 ? e->i64 : e->i32;
    LLVMValueRef x = LLVMBuildXor(e->b, LLVMBuildBitCast(e->b, a, bits, ""),
                                  LLVMBuildBitCast(e->b, b, bits, ""), "");
    return emit_intrinsic(e, "llvm.copysign", type, r, LLVMBuildBitCast(e->b, x, type, ""), NULL);
}

static LLVMValueRef float_min_max(struct emit *e, const struct ir_inst *inst, LLVMValueRef *v,
                                  bool max)
{
    bool nan = (inst->flags & IR_FLAG_NAN) != 0;
    bool absolute = (inst->flags & (IR_FLAG_ABS | IR_FLAG_XORSIGN)) != 0;
    LLVMValueRef in[2] = {v[0], v[1]};
    for (unsigned i = 0; absolute && i < 2; i++) {
        in[i] = emit_intrinsic(e, "llvm.fabs", LLVMTypeOf(v[i]), v[i], NULL, NULL);
    }
    LLVMValueRef r = emit_min_max(e, in[0], in[1], max, nan);
    return (inst->flags & IR_FLAG_XORSIGN) ? xor_sign(e, v[0], v[1], r) : r;
}

// a * b + c of bf16 or f16 operands as a float that rounds correctly to the half format: the
// product is exact in double; the sum is made odd when it was not exact.
static LLVMValueRef half_fma(struct emit *e, LLVMValueRef *v, enum ir_type type)
{
    LLVMValueRef d[3];
    for (unsigned i = 0; i < 3; i++) {
        d[i] = LLVMBuildFPExt(e->b, v[i], e->f64, "");
    }
    LLVMValueRef p = LLVMBuildFMul(e->b, d[0], d[1], "");
    LLVMValueRef s = LLVMBuildFAdd(e->b, p, d[2], "");
    if (type == IR_BF16) {
        // Exact error of the sum (two-sum); bf16's exponent range is wider than double's mantissa.
        LLVMValueRef t = LLVMBuildFSub(e->b, s, p, "");
        LLVMValueRef error =
            LLVMBuildFAdd(e->b, LLVMBuildFSub(e->b, p, LLVMBuildFSub(e->b, s, t, ""), ""),
                          LLVMBuildFSub(e->b, d[2], t, ""), "");
        LLVMValueRef bits = LLVMBuildBitCast(e->b, s, e->i64, "");
        LLVMValueRef sign = LLVMBuildXor(e->b, LLVMBuildBitCast(e->b, error, e->i64, ""), bits, "");
        LLVMValueRef below = LLVMBuildLShr(e->b, sign, emit_int(e, 64, 63), "");
        LLVMValueRef odd =
            LLVMBuildOr(e->b, LLVMBuildSub(e->b, bits, below, ""), emit_int(e, 64, 1), "");
        // Ordered: an infinite or NaN sum has a NaN error and stays as it is.
        LLVMValueRef inexact = LLVMBuildFCmp(e->b, LLVMRealONE, error, emit_f64(e, 0), "");
        s = LLVMBuildBitCast(e->b, emit_select(e, inexact, odd, bits), e->f64, "");
    }
    return emit_round_odd(e, s);
}

static bool directed(const struct ir_inst *inst)
{
    return inst->round == IR_RZ || inst->round == IR_RM || inst->round == IR_RP;
}

static LLVMValueRef with_rounding(struct emit *e, const struct ir_inst *inst, enum ir_type type,
                                  enum jit_round_op op, LLVMValueRef a, LLVMValueRef b,
                                  LLVMValueRef c)
{
    bool wide = type == IR_F64;
    LLVMTypeRef bits = wide ? e->i64 : e->i32;
    LLVMValueRef v[3] = {a, b, c};
    for (unsigned i = 0; i < 3; i++) {
        v[i] = v[i] == NULL ? NULL : LLVMBuildBitCast(e->b, v[i], bits, "");
    }
    LLVMValueRef r = emit_helper(e, wide ? JIT_HELPER_round64 : JIT_HELPER_round32, v[0], v[1],
                                 v[2], jit_round_mode(op, inst->round));
    return LLVMBuildBitCast(e->b, emit_resize(e, r, wide ? 64 : 32, false), wide ? e->f64 : e->f32,
                            "");
}

// One element of the operation; NULL when the operation is not floating-point arithmetic.
static LLVMValueRef compute(struct emit *e, const struct ir_inst *inst, enum ir_type type,
                            LLVMValueRef *v)
{
    bool half = type == IR_F16 || type == IR_BF16;
    bool slow = directed(inst);
    if (slow && half) {
        emit_fail(e, inst, "directed rounding of half precision is not compiled by this version");
        slow = false;
    }
    LLVMTypeRef number = type == IR_F64 ? e->f64 : e->f32;
    switch (inst->op) {
    case IR_add:
        return slow ? with_rounding(e, inst, type, JIT_ROUND_ADD, v[0], v[1], NULL)
                    : LLVMBuildFAdd(e->b, v[0], v[1], "");
    case IR_sub:
        return slow ? with_rounding(e, inst, type, JIT_ROUND_ADD, v[0],
                                    LLVMBuildFNeg(e->b, v[1], ""), NULL)
                    : LLVMBuildFSub(e->b, v[0], v[1], "");
    case IR_mul:
        return slow ? with_rounding(e, inst, type, JIT_ROUND_MUL, v[0], v[1], NULL)
                    : LLVMBuildFMul(e->b, v[0], v[1], "");
    case IR_fma:
        if (inst->flags & IR_FLAG_OOB) {
            emit_fail(e, inst, "modifier .oob is not compiled by this version");
        }
        if (half) {
            return half_fma(e, v, type);
        }
        return slow ? with_rounding(e, inst, type, JIT_ROUND_FMA, v[0], v[1], v[2])
                    : emit_intrinsic(e, "llvm.fma", number, v[0], v[1], v[2]);
    case IR_div:
        if (slow) {
            return with_rounding(e, inst, type, JIT_ROUND_DIV, v[0], v[1], NULL);
        }
        if ((inst->flags & IR_FLAG_APPROX) && type == IR_F32) {
            // a * (1 / b), where 1 / b flushes to zero for |b| above 2^126 (PTX ISA, div).
            LLVMValueRef q = LLVMBuildFDiv(e->b, v[0], v[1], "");
            LLVMValueRef b = emit_intrinsic(e, "llvm.fabs", number, v[1], NULL, NULL);
            LLVMValueRef huge = LLVMBuildFCmp(e->b, LLVMRealOGT, b, emit_f32(e, 0x1p126), "");
            LLVMValueRef zero =
                emit_intrinsic(e, "llvm.copysign", number, emit_f32(e, 0), v[1], NULL);
            return emit_select(e, huge, LLVMBuildFMul(e->b, v[0], zero, ""), q);
        }
        return LLVMBuildFDiv(e->b, v[0], v[1], "");
    case IR_rcp:
        return slow ? with_rounding(e, inst, type, JIT_ROUND_DIV, LLVMConstReal(number, 1), v[0],
                                    NULL)
                    : LLVMBuildFDiv(e->b, LLVMConstReal(number, 1), v[0], "");
    case IR_sqrt:
        return slow ? with_rounding(e, inst, type, JIT_ROUND_SQRT, v[0], NULL, NULL)
                    : emit_intrinsic(e, "llvm.sqrt", number, v[0], NULL, NULL);
    case IR_abs:
        return emit_intrinsic(e, "llvm.fabs", number, v[0], NULL, NULL);
    case IR_neg:
        return LLVMBuildFNeg(e->b, v[0], "");
    case IR_min:
        return float_min_max(e, inst, v, false);
    case IR_max:
        return float_min_max(e, inst, v, true);
    default:
        return NULL;
    }
}

static LLVMValueRef element(struct emit *e, const struct ir_inst *inst, enum ir_type type,
                            LLVMValueRef *v)
{
    bool ftz = (inst->flags & IR_FLAG_FTZ) != 0;
    for (unsigned i = 0; ftz && i < 3; i++) {
        v[i] = v[i] == NULL ? NULL : emit_flush_as(e, v[i], type);
    }
    LLVMValueRef r = compute(e, inst, type, v);
    if (r == NULL) {
        return NULL;
    }
    if (inst->flags & IR_FLAG_SAT) {
        r = emit_saturate(e, r);
    }
    if (inst->flags & IR_FLAG_RELU) {
        r = emit_relu(e, r);
    }
    if (ftz && type == IR_F16) {
        // Flush what is subnormal after the rounding to half.
        r = emit_half_to_float(e, emit_float_to_half(e, r, type), type);
    }
    return ftz ? emit_flush_as(e, r, type) : r;
}

bool emit_float(struct emit *e, const struct ir_inst *inst)
{
    if (!emit_is_float(inst->type)) {
        return false;
    }
    bool sign_only = inst->op == IR_abs || inst->op == IR_neg;
    bool half = inst->type == IR_F16 || inst->type == IR_BF16;
    switch (inst->op) {
    case IR_add:
    case IR_sub:
    case IR_mul:
    case IR_fma:
    case IR_div:
    case IR_rcp:
    case IR_sqrt:
    case IR_abs:
    case IR_neg:
    case IR_min:
    case IR_max:
        break;
    default:
        return false;
    }
    if (inst->op == IR_rcp && inst->type == IR_F64 && (inst->flags & IR_FLAG_APPROX)) {
        return false; // emit_approx.c
    }
    if (sign_only && half && !(inst->flags & IR_FLAG_FTZ)) {
        LLVMValueRef a = emit_get(e, &inst->src[0], 16);
        emit_set(e, inst, 0,
                 inst->op == IR_abs ? LLVMBuildAnd(e->b, a, emit_int(e, 16, 0x7fff), "")
                                    : LLVMBuildXor(e->b, a, emit_int(e, 16, 0x8000), ""));
        return true;
    }
    LLVMValueRef v[3] = {NULL, NULL, NULL};
    for (unsigned i = 0; i < inst->src_count && i < 3; i++) {
        v[i] = emit_get_float(e, &inst->src[i], inst->type);
    }
    emit_set_float(e, inst, element(e, inst, inst->type, v), inst->type);
    return true;
}
