// SPDX-License-Identifier: Apache-2.0
//
// Comparisons (PTX ISA 9.7.6): setp and testp. Ordered comparisons are false
// and unordered ones true when an operand is NaN; also `ne` is ordered.
#include "emit.h"

static LLVMValueRef compare_int(struct emit *e, const struct ir_inst *inst, LLVMValueRef a,
                                LLVMValueRef b)
{
    bool sign = (inst->flags & IR_FLAG_SIGNED) != 0;
    LLVMIntPredicate p;
    switch (inst->compare) {
    case IR_EQ:
    case IR_EQU:
        p = LLVMIntEQ;
        break;
    case IR_NE:
    case IR_NEU:
        p = LLVMIntNE;
        break;
    case IR_LT:
        p = sign ? LLVMIntSLT : LLVMIntULT;
        break;
    case IR_LE:
        p = sign ? LLVMIntSLE : LLVMIntULE;
        break;
    case IR_GT:
        p = sign ? LLVMIntSGT : LLVMIntUGT;
        break;
    case IR_GE:
        p = sign ? LLVMIntSGE : LLVMIntUGE;
        break;
    default:
        emit_fail(e, inst, "comparison is not one of integers");
        return emit_int(e, 1, 0);
    }
    return LLVMBuildICmp(e->b, p, a, b, "");
}

static LLVMValueRef compare_float(struct emit *e, const struct ir_inst *inst, LLVMValueRef a,
                                  LLVMValueRef b)
{
    static const struct {
        enum ir_compare compare;
        LLVMRealPredicate predicate;
    } table[] = {
        {IR_EQ, LLVMRealOEQ},  {IR_NE, LLVMRealONE},  {IR_LT, LLVMRealOLT},  {IR_LE, LLVMRealOLE},
        {IR_GT, LLVMRealOGT},  {IR_GE, LLVMRealOGE},  {IR_EQU, LLVMRealUEQ}, {IR_NEU, LLVMRealUNE},
        {IR_LTU, LLVMRealULT}, {IR_LEU, LLVMRealULE}, {IR_GTU, LLVMRealUGT}, {IR_GEU, LLVMRealUGE},
        {IR_NUM, LLVMRealORD}, {IR_NAN, LLVMRealUNO},
    };
    for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
        if (table[i].compare == inst->compare) {
            return LLVMBuildFCmp(e->b, table[i].predicate, a, b, "");
        }
    }
    emit_fail(e, inst, "comparison is not one of floating-point numbers");
    return emit_int(e, 1, 0);
}

static LLVMValueRef compare(struct emit *e, const struct ir_inst *inst)
{
    enum ir_type type = inst->type;
    if (!emit_is_float(type)) {
        unsigned bits = ir_bits(type);
        return compare_int(e, inst, emit_get(e, &inst->src[0], bits),
                           emit_get(e, &inst->src[1], bits));
    }
    LLVMValueRef v[2];
    for (unsigned i = 0; i < 2; i++) {
        v[i] = emit_get_float(e, &inst->src[i], type);
        if (inst->flags & IR_FLAG_FTZ) {
            v[i] = emit_flush_as(e, v[i], type);
        }
    }
    return compare_float(e, inst, v[0], v[1]);
}

static LLVMValueRef test_property(struct emit *e, const struct ir_inst *inst)
{
    bool wide = inst->type == IR_F64;
    unsigned bits = wide ? 64 : 32;
    uint64_t infinity = wide ? UINT64_C(0x7ff0000000000000) : 0x7f800000u;
    uint64_t smallest = wide ? UINT64_C(0x0010000000000000) : 0x00800000u;
    LLVMValueRef a = emit_get(e, &inst->src[0], bits);
    a = LLVMBuildAnd(e->b, a, emit_int(e, bits, UINT64_MAX >> (65 - bits)), "");
    LLVMValueRef inf = emit_int(e, bits, infinity), min = emit_int(e, bits, smallest);
    LLVMValueRef zero = emit_int(e, bits, 0);
    switch (inst->sub) {
    case 0:
        return LLVMBuildICmp(e->b, LLVMIntULT, a, inf, "");
    case 1:
        return LLVMBuildICmp(e->b, LLVMIntEQ, a, inf, "");
    case 2:
        return LLVMBuildICmp(e->b, LLVMIntULE, a, inf, "");
    case 3:
        return LLVMBuildICmp(e->b, LLVMIntUGT, a, inf, "");
    case 4: // zeros count as normal
        return LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntULT, a, inf, ""),
                            LLVMBuildOr(e->b, LLVMBuildICmp(e->b, LLVMIntUGE, a, min, ""),
                                        LLVMBuildICmp(e->b, LLVMIntEQ, a, zero, ""), ""),
                            "");
    default:
        return LLVMBuildAnd(e->b, LLVMBuildICmp(e->b, LLVMIntNE, a, zero, ""),
                            LLVMBuildICmp(e->b, LLVMIntULT, a, min, ""), "");
    }
}

bool emit_compare(struct emit *e, const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_setp:
        emit_set(e, inst, 0, compare(e, inst));
        return true;
    case IR_testp:
        emit_set(e, inst, 0, test_property(e, inst));
        return true;
    default:
        return false;
    }
}
