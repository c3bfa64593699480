// SPDX-License-Identifier: Apache-2.0
//
// Operands and results of IR operations in LLVM form, and small builders that every family uses.
// A value lives as bits (integer) or as a number (float/double); the other form is made on demand
// right behind the definition, so that both dominate all uses.
#include "emit.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void emit_fail(struct emit *e, const struct ir_inst *inst, const char *format, ...)
{
    if (e->failed) {
        return;
    }
    e->failed = true;
    int used = 0;
    if (inst != NULL) {
        const struct ir_program *program = e->unit->program;
        const char *unit = program != NULL && inst->unit < program->module_count
                               ? program->modules[inst->unit]->name
                               : "ptx";
        used = snprintf(e->message, e->message_size, "%s:%u: %s: ", unit, inst->line,
                        ir_op_name(inst->op));
    }
    if (used < 0 || (size_t)used >= e->message_size) {
        return;
    }
    va_list ap;
    va_start(ap, format);
    vsnprintf(e->message + used, e->message_size - (size_t)used, format, ap);
    va_end(ap);
}

LLVMTypeRef emit_int_type(struct emit *e, unsigned bits)
{
    switch (bits) {
    case 1:
        return e->i1;
    case 8:
        return e->i8;
    case 16:
        return e->i16;
    case 32:
        return e->i32;
    case 64:
        return e->i64;
    case 128:
        return e->i128;
    default: {
        LLVMTypeRef type = LLVMIntTypeInContext(e->cx, bits);
        return e->vector ? LLVMVectorType(type, e->lanes) : type;
    }
    }
}

LLVMValueRef emit_int(struct emit *e, unsigned bits, uint64_t value)
{
    if (bits < 64) {
        value &= (UINT64_C(1) << bits) - 1;
    }
    LLVMTypeRef type = emit_int_type(e, bits);
    if (!e->vector) {
        return LLVMConstInt(type, value, false);
    }
    LLVMValueRef all[EMIT_LANES];
    for (unsigned i = 0; i < e->lanes; i++) {
        all[i] = LLVMConstInt(LLVMGetElementType(type), value, false);
    }
    return LLVMConstVector(all, e->lanes);
}

LLVMValueRef emit_f32(struct emit *e, double value)
{
    return LLVMConstReal(e->f32, value);
}

LLVMValueRef emit_f64(struct emit *e, double value)
{
    return LLVMConstReal(e->f64, value);
}

unsigned emit_width(LLVMValueRef value)
{
    LLVMTypeRef type = LLVMTypeOf(value);
    return LLVMGetIntTypeWidth(LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type)
                                                                           : type);
}

LLVMValueRef emit_cast(struct emit *e, LLVMValueRef value, LLVMTypeRef type)
{
    return LLVMTypeOf(value) == type ? value : LLVMBuildBitCast(e->b, value, type, "");
}

LLVMValueRef emit_resize(struct emit *e, LLVMValueRef value, unsigned bits, bool sign)
{
    unsigned width = emit_width(value);
    if (width == bits) {
        return value;
    }
    if (width > bits) {
        return LLVMBuildTrunc(e->b, value, emit_int_type(e, bits), "");
    }
    return sign ? LLVMBuildSExt(e->b, value, emit_int_type(e, bits), "")
                : LLVMBuildZExt(e->b, value, emit_int_type(e, bits), "");
}

LLVMValueRef emit_select(struct emit *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildSelect(e->b, c, a, b, "");
}

LLVMBasicBlockRef emit_block(struct emit *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->cx, e->llvm_fn, name);
}

LLVMValueRef emit_intrinsic(struct emit *e, const char *name, LLVMTypeRef type, LLVMValueRef a,
                            LLVMValueRef b, LLVMValueRef c)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, &type, type != NULL ? 1 : 0);
    LLVMTypeRef fn_type = LLVMIntrinsicGetType(e->cx, id, &type, type != NULL ? 1 : 0);
    LLVMValueRef args[3] = {a, b, c};
    unsigned count = a == NULL ? 0 : b == NULL ? 1 : c == NULL ? 2 : 3;
    return LLVMBuildCall2(e->b, fn_type, fn, args, count, "");
}

// Puts the builder behind the definition of `value` and returns the old place. Constants stay where
// they are (what is built from them folds); arguments are there from the prologue on.
static LLVMBasicBlockRef move_behind(struct emit *e, LLVMValueRef value)
{
    LLVMBasicBlockRef old = LLVMGetInsertBlock(e->b);
    if (LLVMIsAArgument(value) != NULL) {
        LLVMPositionBuilderAtEnd(e->b, LLVMGetInsertBlock(e->pb));
        return old;
    }
    if (LLVMIsAInstruction(value) == NULL) {
        return old;
    }
    LLVMValueRef next = LLVMGetNextInstruction(value);
    while (next != NULL && LLVMIsAPHINode(next) != NULL) {
        next = LLVMGetNextInstruction(next);
    }
    if (next != NULL) {
        LLVMPositionBuilderBefore(e->b, next);
    } else {
        LLVMPositionBuilderAtEnd(e->b, LLVMGetInstructionParent(value));
    }
    return old;
}

// All callers build at the end of an open block, except phi operands (before a terminator).
static void move_back(struct emit *e, LLVMBasicBlockRef old)
{
    LLVMValueRef terminator = LLVMGetBasicBlockTerminator(old);
    if (terminator != NULL) {
        LLVMPositionBuilderBefore(e->b, terminator);
    } else {
        LLVMPositionBuilderAtEnd(e->b, old);
    }
}

LLVMValueRef emit_value_bits(struct emit *e, uint32_t value)
{
    struct emit_value *v = &e->values[value];
    if (e->vector && e->fn->values[value].kind != IR_VARYING) {
        return warp_spread(e, value);
    }
    if (v->bits != NULL) {
        return v->bits;
    }
    unsigned width = ir_bits(e->fn->values[value].type);
    if (v->raw == NULL) {
        return LLVMGetUndef(emit_int_type(e, width));
    }
    LLVMBasicBlockRef old = move_behind(e, v->raw);
    LLVMValueRef bits = emit_cast(e, v->raw, emit_int_type(e, width));
    if (v->dirty && width == 32) {
        LLVMValueRef nan = LLVMBuildFCmp(e->b, LLVMRealUNO, v->raw, v->raw, "");
        bits = emit_select(e, nan, emit_int(e, 32, 0x7fffffff), bits);
    }
    v->bits = bits;
    move_back(e, old);
    return bits;
}

LLVMValueRef emit_value_raw(struct emit *e, uint32_t value, enum ir_type type)
{
    struct emit_value *v = &e->values[value];
    LLVMTypeRef want = type == IR_F64 ? e->f64 : e->f32;
    if (e->vector && e->fn->values[value].kind == IR_UNIFORM && v->raw != NULL &&
        LLVMTypeOf(v->raw) == (type == IR_F64 ? e->modes[0].f64 : e->modes[0].f32)) {
        return warp_splat(e, v->raw);
    }
    if (e->vector && e->fn->values[value].kind != IR_VARYING) {
        LLVMValueRef spread = emit_resize(e, warp_spread(e, value), type == IR_F64 ? 64 : 32, false);
        return LLVMBuildBitCast(e->b, spread, want, "");
    }
    if (v->raw != NULL && LLVMTypeOf(v->raw) == want) {
        return v->raw;
    }
    LLVMValueRef bits = emit_value_bits(e, value);
    if (emit_width(bits) != (type == IR_F64 ? 64u : 32u)) {
        return LLVMBuildBitCast(e->b, emit_resize(e, bits, type == IR_F64 ? 64 : 32, false), want,
                                "");
    }
    LLVMBasicBlockRef old = move_behind(e, bits);
    LLVMValueRef raw = LLVMBuildBitCast(e->b, bits, want, "");
    move_back(e, old);
    if (v->raw == NULL) {
        v->raw = raw;
        v->dirty = false;
    }
    return raw;
}

LLVMValueRef emit_get(struct emit *e, const struct ir_operand *operand, unsigned bits)
{
    switch (operand->kind) {
    case IR_VALUE:
        return emit_resize(e, emit_value_bits(e, operand->value), bits, false);
    case IR_CONSTANT:
        return emit_int(e, bits, operand->bits);
    default:
        // An undefined register: any value will do, but the same one everywhere.
        return emit_int(e, bits, 0);
    }
}

LLVMValueRef emit_get_float(struct emit *e, const struct ir_operand *operand, enum ir_type type)
{
    if (type == IR_F32 || type == IR_F64) {
        if (operand->kind == IR_VALUE) {
            return emit_value_raw(e, operand->value, type);
        }
        return LLVMBuildBitCast(e->b, emit_get(e, operand, ir_bits(type)),
                                type == IR_F64 ? e->f64 : e->f32, "");
    }
    return emit_half_to_float(e, emit_get(e, operand, 16), type);
}

void emit_set(struct emit *e, const struct ir_inst *inst, unsigned n, LLVMValueRef bits)
{
    if (n >= inst->dst_count) {
        return;
    }
    uint32_t value = inst->dst[n];
    e->values[value].bits = emit_resize(e, bits, ir_bits(e->fn->values[value].type), false);
    e->values[value].raw = NULL;
}

void emit_set_raw(struct emit *e, uint32_t value, LLVMValueRef number, bool dirty)
{
    unsigned width = LLVMTypeOf(number) == e->f64 ? 64 : 32;
    if (ir_bits(e->fn->values[value].type) != width) {
        LLVMValueRef bits = emit_cast(e, number, emit_int_type(e, width));
        e->values[value].bits = emit_resize(e, bits, ir_bits(e->fn->values[value].type), false);
        return;
    }
    e->values[value].bits = NULL;
    e->values[value].raw = number;
    e->values[value].dirty = dirty;
}

void emit_set_float(struct emit *e, const struct ir_inst *inst, LLVMValueRef number,
                    enum ir_type type)
{
    if (inst->dst_count == 0) {
        return;
    }
    if (type == IR_F32 || type == IR_F64) {
        emit_set_raw(e, inst->dst[0], number, type == IR_F32);
    } else {
        emit_set(e, inst, 0, emit_float_to_half(e, number, type));
    }
}

LLVMValueRef emit_half_to_float(struct emit *e, LLVMValueRef bits16, enum ir_type type)
{
    if (type == IR_BF16) {
        LLVMValueRef wide = LLVMBuildZExt(e->b, bits16, e->i32, "");
        wide = LLVMBuildShl(e->b, wide, emit_int(e, 32, 16), "");
        return LLVMBuildBitCast(e->b, wide, e->f32, "");
    }
    if (e->f16c_host) {
        LLVMValueRef half = LLVMBuildBitCast(e->b, bits16, e->f16, "");
        return LLVMBuildFPExt(e->b, half, e->f32, "");
    }
    // Without F16C: shift the fields into place and scale, which is exact also for subnormals.
    LLVMValueRef w = LLVMBuildZExt(e->b, bits16, e->i32, "");
    LLVMValueRef sign = LLVMBuildShl(e->b, LLVMBuildAnd(e->b, w, emit_int(e, 32, 0x8000), ""),
                                     emit_int(e, 32, 16), "");
    LLVMValueRef body = LLVMBuildShl(e->b, LLVMBuildAnd(e->b, w, emit_int(e, 32, 0x7fff), ""),
                                     emit_int(e, 32, 13), "");
    LLVMValueRef scaled =
        LLVMBuildFMul(e->b, LLVMBuildBitCast(e->b, body, e->f32, ""), emit_f32(e, 0x1p112), "");
    LLVMValueRef special = LLVMBuildICmp(e->b, LLVMIntUGE, body, emit_int(e, 32, 0x0f800000), "");
    LLVMValueRef bits = LLVMBuildBitCast(e->b, scaled, e->i32, "");
    bits = emit_select(e, special, LLVMBuildOr(e->b, body, emit_int(e, 32, 0x7f800000), ""), bits);
    return LLVMBuildBitCast(e->b, LLVMBuildOr(e->b, bits, sign, ""), e->f32, "");
}

LLVMValueRef emit_float_to_half(struct emit *e, LLVMValueRef number, enum ir_type type)
{
    LLVMValueRef nan = LLVMBuildFCmp(e->b, LLVMRealUNO, number, number, "");
    LLVMValueRef bits;
    if (type == IR_BF16) {
        LLVMValueRef w = LLVMBuildBitCast(e->b, number, e->i32, "");
        LLVMValueRef odd = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, w, emit_int(e, 32, 16), ""),
                                        emit_int(e, 32, 1), "");
        w = LLVMBuildAdd(e->b, w, LLVMBuildAdd(e->b, odd, emit_int(e, 32, 0x7fff), ""), "");
        w = LLVMBuildLShr(e->b, w, emit_int(e, 32, 16), "");
        bits = LLVMBuildTrunc(e->b, w, e->i16, "");
    } else if (e->f16c_host) {
        LLVMValueRef half = LLVMBuildFPTrunc(e->b, number, e->f16, "");
        bits = LLVMBuildBitCast(e->b, half, e->i16, "");
    } else {
        // |x| < 2^-14: adding 0.5 rounds at the half's fixed last place; else add-and-carry.
        LLVMValueRef w = LLVMBuildBitCast(e->b, number, e->i32, "");
        LLVMValueRef sign = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, w, emit_int(e, 32, 16), ""),
                                         emit_int(e, 32, 0x8000), "");
        LLVMValueRef a = LLVMBuildAnd(e->b, w, emit_int(e, 32, 0x7fffffff), "");
        LLVMValueRef small =
            LLVMBuildFAdd(e->b, LLVMBuildBitCast(e->b, a, e->f32, ""), emit_f32(e, 0.5), "");
        small = LLVMBuildSub(e->b, LLVMBuildBitCast(e->b, small, e->i32, ""),
                             emit_int(e, 32, 0x3f000000), "");
        LLVMValueRef odd = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, a, emit_int(e, 32, 13), ""),
                                        emit_int(e, 32, 1), "");
        LLVMValueRef big =
            LLVMBuildAdd(e->b, a, LLVMBuildAdd(e->b, odd, emit_int(e, 32, 0xc8000fffu), ""), "");
        big = LLVMBuildLShr(e->b, big, emit_int(e, 32, 13), "");
        LLVMValueRef huge = LLVMBuildICmp(e->b, LLVMIntUGE, a, emit_int(e, 32, 0x477ff000), "");
        big = emit_select(e, huge, emit_int(e, 32, 0x7c00), big);
        LLVMValueRef is_small = LLVMBuildICmp(e->b, LLVMIntULT, a, emit_int(e, 32, 0x38800000), "");
        w = LLVMBuildOr(e->b, emit_select(e, is_small, small, big), sign, "");
        bits = LLVMBuildTrunc(e->b, w, e->i16, "");
    }
    return emit_select(e, nan, emit_int(e, 16, 0x7fff), bits);
}

LLVMValueRef emit_round_odd(struct emit *e, LLVMValueRef number)
{
    LLVMValueRef f = LLVMBuildFPTrunc(e->b, number, e->f32, "");
    LLVMValueRef back = LLVMBuildFPExt(e->b, f, e->f64, "");
    LLVMValueRef abs_back = emit_intrinsic(e, "llvm.fabs", e->f64, back, NULL, NULL);
    LLVMValueRef abs_number = emit_intrinsic(e, "llvm.fabs", e->f64, number, NULL, NULL);
    LLVMValueRef inexact = LLVMBuildFCmp(e->b, LLVMRealONE, back, number, "");
    LLVMValueRef above = LLVMBuildFCmp(e->b, LLVMRealOGT, abs_back, abs_number, "");
    LLVMValueRef bits = LLVMBuildBitCast(e->b, f, e->i32, "");
    LLVMValueRef odd = LLVMBuildSub(e->b, bits, LLVMBuildZExt(e->b, above, e->i32, ""), "");
    odd = LLVMBuildOr(e->b, odd, emit_int(e, 32, 1), "");
    return LLVMBuildBitCast(e->b, emit_select(e, inexact, odd, bits), e->f32, "");
}
