// SPDX-License-Identifier: Apache-2.0
//
// atom and red (PTX ISA 9.7.13). In shared memory a plain load, operation and store: a block is run
// by one OS thread at a time. Elsewhere a native atomic instruction where there is one, else a
// compare-and-swap loop. Floating-point additions round to nearest even and keep subnormals.
#include "emit.h"

static LLVMValueRef add_float(struct emit *e, enum ir_type type, LLVMValueRef old, LLVMValueRef b)
{
    if (type == IR_F32 || type == IR_F64) {
        LLVMTypeRef number = type == IR_F32 ? e->f32 : e->f64;
        LLVMValueRef sum = LLVMBuildFAdd(e->b, LLVMBuildBitCast(e->b, old, number, ""),
                                         LLVMBuildBitCast(e->b, b, number, ""), "");
        LLVMValueRef bits = LLVMBuildBitCast(e->b, sum, LLVMTypeOf(old), "");
        if (type == IR_F32) {
            LLVMValueRef nan = LLVMBuildFCmp(e->b, LLVMRealUNO, sum, sum, "");
            bits = emit_select(e, nan, emit_int(e, 32, 0x7fffffff), bits);
        }
        return bits;
    }
    bool pair = type == IR_F16X2 || type == IR_BF16X2;
    enum ir_type half = type == IR_F16 || type == IR_F16X2 ? IR_F16 : IR_BF16;
    unsigned width = emit_width(old);
    LLVMValueRef whole = emit_int(e, width, 0);
    for (unsigned h = 0; h < (pair ? 2u : 1u); h++) {
        LLVMValueRef shift = emit_int(e, width, 16u * h), v[2] = {old, b};
        for (unsigned i = 0; i < 2; i++) {
            v[i] = emit_resize(e, LLVMBuildLShr(e->b, v[i], shift, ""), 16, false);
            v[i] = emit_half_to_float(e, v[i], half);
        }
        LLVMValueRef sum = emit_float_to_half(e, LLVMBuildFAdd(e->b, v[0], v[1], ""), half);
        sum = LLVMBuildShl(e->b, emit_resize(e, sum, width, false), shift, "");
        whole = LLVMBuildOr(e->b, whole, sum, "");
    }
    return whole;
}

// The half formats compare exactly as floats; NaN loses against a number.
static LLVMValueRef min_max_float(struct emit *e, enum ir_type type, bool max, LLVMValueRef old,
                                  LLVMValueRef b)
{
    unsigned part = type == IR_F64 ? 64 : type == IR_F32 ? 32 : 16, width = emit_width(old);
    enum ir_type half = type == IR_F16 || type == IR_F16X2 ? IR_F16 : IR_BF16;
    LLVMValueRef whole = emit_int(e, width, 0);
    for (unsigned h = 0; h < width / part; h++) {
        LLVMValueRef shift = emit_int(e, width, (uint64_t)part * h), v[2] = {old, b};
        for (unsigned i = 0; i < 2; i++) {
            v[i] = emit_resize(e, LLVMBuildLShr(e->b, v[i], shift, ""), part, false);
            v[i] = part == 16 ? emit_half_to_float(e, v[i], half)
                              : LLVMBuildBitCast(e->b, v[i], part == 64 ? e->f64 : e->f32, "");
        }
        LLVMValueRef r = emit_min_max(e, v[0], v[1], max, false);
        r = part == 16 ? emit_float_to_half(e, r, half)
                       : LLVMBuildBitCast(e->b, r, emit_int_type(e, part), "");
        r = LLVMBuildShl(e->b, emit_resize(e, r, width, false), shift, "");
        whole = LLVMBuildOr(e->b, whole, r, "");
    }
    return whole;
}

static bool is_float(enum ir_type type)
{
    return emit_is_float(type) || type == IR_F16X2 || type == IR_BF16X2;
}

// New contents of the memory cell.
static LLVMValueRef combine(struct emit *e, const struct ir_inst *inst, LLVMValueRef old,
                            LLVMValueRef b, LLVMValueRef c)
{
    bool sign = (inst->flags & IR_FLAG_SIGNED) != 0;
    unsigned bits = emit_width(old);
    LLVMValueRef one = emit_int(e, bits, 1), zero = emit_int(e, bits, 0);
    switch ((enum ir_atomic)inst->sub) {
    case IR_ATOM_ADD:
        return is_float(inst->type) ? add_float(e, inst->type, old, b)
                                    : LLVMBuildAdd(e->b, old, b, "");
    case IR_ATOM_MIN:
    case IR_ATOM_MAX: {
        bool max = inst->sub == IR_ATOM_MAX;
        if (is_float(inst->type)) {
            return min_max_float(e, inst->type, max, old, b);
        }
        LLVMIntPredicate p =
            max ? (sign ? LLVMIntSGT : LLVMIntUGT) : (sign ? LLVMIntSLT : LLVMIntULT);
        return emit_select(e, LLVMBuildICmp(e->b, p, old, b, ""), old, b);
    }
    case IR_ATOM_AND:
        return LLVMBuildAnd(e->b, old, b, "");
    case IR_ATOM_OR:
        return LLVMBuildOr(e->b, old, b, "");
    case IR_ATOM_XOR:
        return LLVMBuildXor(e->b, old, b, "");
    case IR_ATOM_EXCH:
        return b;
    case IR_ATOM_CAS:
        return emit_select(e, LLVMBuildICmp(e->b, LLVMIntEQ, old, b, ""), c, old);
    case IR_ATOM_INC:
        return emit_select(e, LLVMBuildICmp(e->b, LLVMIntUGE, old, b, ""), zero,
                           LLVMBuildAdd(e->b, old, one, ""));
    case IR_ATOM_DEC: {
        LLVMValueRef wrap = LLVMBuildOr(e->b, LLVMBuildICmp(e->b, LLVMIntEQ, old, zero, ""),
                                        LLVMBuildICmp(e->b, LLVMIntUGT, old, b, ""), "");
        return emit_select(e, wrap, b, LLVMBuildSub(e->b, old, one, ""));
    }
    }
    emit_fail(e, inst, "unknown atomic operation");
    return old;
}

static bool native_operation(const struct ir_inst *inst, LLVMAtomicRMWBinOp *ret_op)
{
    bool sign = (inst->flags & IR_FLAG_SIGNED) != 0;
    unsigned bits = ir_bits(inst->type);
    if (bits > 64 || (is_float(inst->type) && inst->sub != IR_ATOM_EXCH)) {
        return false;
    }
    switch ((enum ir_atomic)inst->sub) {
    case IR_ATOM_ADD:
        *ret_op = LLVMAtomicRMWBinOpAdd;
        return true;
    case IR_ATOM_MIN:
        *ret_op = sign ? LLVMAtomicRMWBinOpMin : LLVMAtomicRMWBinOpUMin;
        return true;
    case IR_ATOM_MAX:
        *ret_op = sign ? LLVMAtomicRMWBinOpMax : LLVMAtomicRMWBinOpUMax;
        return true;
    case IR_ATOM_AND:
        *ret_op = LLVMAtomicRMWBinOpAnd;
        return true;
    case IR_ATOM_OR:
        *ret_op = LLVMAtomicRMWBinOpOr;
        return true;
    case IR_ATOM_XOR:
        *ret_op = LLVMAtomicRMWBinOpXor;
        return true;
    case IR_ATOM_EXCH:
        *ret_op = LLVMAtomicRMWBinOpXchg;
        return true;
    case IR_ATOM_INC:
        *ret_op = LLVMAtomicRMWBinOpUIncWrap;
        return true;
    case IR_ATOM_DEC:
        *ret_op = LLVMAtomicRMWBinOpUDecWrap;
        return true;
    default:
        return false;
    }
}

static LLVMAtomicOrdering ordering(enum ir_order order)
{
    switch (order) {
    case IR_ACQUIRE:
        return LLVMAtomicOrderingAcquire;
    case IR_RELEASE:
        return LLVMAtomicOrderingRelease;
    case IR_ACQ_REL:
        return LLVMAtomicOrderingAcquireRelease;
    case IR_SEQ_CST:
        return LLVMAtomicOrderingSequentiallyConsistent;
    default:
        return LLVMAtomicOrderingMonotonic;
    }
}

static LLVMAtomicOrdering failure_ordering(LLVMAtomicOrdering order)
{
    switch (order) {
    case LLVMAtomicOrderingAcquireRelease:
        return LLVMAtomicOrderingAcquire;
    case LLVMAtomicOrderingRelease:
        return LLVMAtomicOrderingMonotonic;
    default:
        return order;
    }
}

static LLVMValueRef exchange(struct emit *e, LLVMValueRef at, LLVMValueRef expected,
                             LLVMValueRef desired, LLVMAtomicOrdering order)
{
    LLVMValueRef pair =
        LLVMBuildAtomicCmpXchg(e->b, at, expected, desired, order, failure_ordering(order), false);
    LLVMSetAlignment(pair, emit_width(expected) / 8);
    return pair;
}

static LLVMValueRef swap_loop(struct emit *e, const struct ir_inst *inst, LLVMValueRef at,
                              LLVMValueRef b, LLVMValueRef c)
{
    LLVMTypeRef type = LLVMTypeOf(b);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b);
    LLVMBasicBlockRef loop = emit_block(e, "cas"), done = emit_block(e, "cas.done");
    // A first guess may be any value; a torn or stale one only costs a round.
    LLVMValueRef guess = emit_load(e, type, at, 0, emit_width(b) / 8);
    LLVMSetVolatile(guess, true);
    LLVMBuildBr(e->b, loop);
    LLVMPositionBuilderAtEnd(e->b, loop);
    LLVMValueRef old = LLVMBuildPhi(e->b, type, "");
    LLVMValueRef next = combine(e, inst, old, b, c);
    LLVMValueRef pair = exchange(e, at, old, next, ordering(inst->order));
    LLVMValueRef seen = LLVMBuildExtractValue(e->b, pair, 0, "");
    LLVMValueRef ok = LLVMBuildExtractValue(e->b, pair, 1, "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b);
    LLVMBuildCondBr(e->b, ok, done, loop);
    LLVMValueRef values[2] = {guess, seen};
    LLVMBasicBlockRef blocks[2] = {before, end};
    LLVMAddIncoming(old, values, blocks, 2);
    LLVMPositionBuilderAtEnd(e->b, done);
    return old;
}

static LLVMValueRef atomic(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    unsigned values = inst->sub == IR_ATOM_CAS ? 2 : 1, first = inst->src_count - values;
    LLVMValueRef at = emit_address(e, inst, first > 0 ? &inst->src[0] : NULL);
    LLVMValueRef b = emit_get(e, &inst->src[first], bits);
    LLVMValueRef c = values == 2 ? emit_get(e, &inst->src[first + 1], bits) : NULL;
    if (inst->space == IR_SHARED) {
        LLVMValueRef old = emit_load(e, emit_int_type(e, bits), at, 0, bits / 8);
        emit_store(e, combine(e, inst, old, b, c), at, 0, bits / 8);
        return old;
    }
    LLVMAtomicRMWBinOp op;
    if (inst->sub == IR_ATOM_CAS) {
        return LLVMBuildExtractValue(e->b, exchange(e, at, b, c, ordering(inst->order)), 0, "");
    }
    if (native_operation(inst, &op)) {
        LLVMValueRef r = LLVMBuildAtomicRMW(e->b, op, at, b, ordering(inst->order), false);
        LLVMSetAlignment(r, bits / 8);
        return r;
    }
    return swap_loop(e, inst, at, b, c);
}

bool emit_atomic(struct emit *e, const struct ir_inst *inst)
{
    if (inst->op != IR_atom) {
        return false;
    }
    emit_set(e, inst, 0, atomic(e, inst));
    return true;
}
