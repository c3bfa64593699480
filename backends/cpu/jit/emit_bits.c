// SPDX-License-Identifier: Apache-2.0
//
// Logic, shifts and bit-field operations (PTX ISA 9.7.8 and the bit operations of 9.7.1). Shift
// amounts clamp at the width as PTX says; LLVM's shifts by too much are never executed.
#include "emit.h"

#include "helpers.h"

static LLVMValueRef in_range(struct emit *e, LLVMValueRef amount, unsigned bits)
{
    return LLVMBuildICmp(e->b, LLVMIntULT, amount, emit_int(e, emit_width(amount), bits), "");
}

// v << n, v >> n with n of 32 bits, any amount.
static LLVMValueRef shift(struct emit *e, LLVMValueRef v, LLVMValueRef n, bool left, bool arith)
{
    unsigned bits = emit_width(v);
    LLVMValueRef ok = in_range(e, n, bits);
    LLVMValueRef last = emit_int(e, 32, bits - 1);
    LLVMValueRef safe = emit_resize(e, emit_select(e, ok, n, last), bits, false);
    if (arith) {
        return LLVMBuildAShr(e->b, v, safe, "");
    }
    LLVMValueRef r = left ? LLVMBuildShl(e->b, v, safe, "") : LLVMBuildLShr(e->b, v, safe, "");
    return emit_select(e, ok, r, emit_int(e, bits, 0));
}

static LLVMValueRef low_mask(struct emit *e, unsigned bits, LLVMValueRef count)
{
    LLVMValueRef all = emit_int(e, bits, UINT64_MAX);
    return LLVMBuildNot(e->b, shift(e, all, count, true, false), "");
}

// Two-input function of b and c given by four bits (bit index = 2 * b + c).
static LLVMValueRef two_input(struct emit *e, unsigned table, LLVMValueRef b, LLVMValueRef c)
{
    unsigned bits = emit_width(b);
    LLVMBuilderRef x = e->b;
    switch (table & 15) {
    case 0x0:
        return emit_int(e, bits, 0);
    case 0x1:
        return LLVMBuildNot(x, LLVMBuildOr(x, b, c, ""), "");
    case 0x2:
        return LLVMBuildAnd(x, LLVMBuildNot(x, b, ""), c, "");
    case 0x3:
        return LLVMBuildNot(x, b, "");
    case 0x4:
        return LLVMBuildAnd(x, b, LLVMBuildNot(x, c, ""), "");
    case 0x5:
        return LLVMBuildNot(x, c, "");
    case 0x6:
        return LLVMBuildXor(x, b, c, "");
    case 0x7:
        return LLVMBuildNot(x, LLVMBuildAnd(x, b, c, ""), "");
    case 0x8:
        return LLVMBuildAnd(x, b, c, "");
    case 0x9:
        return LLVMBuildNot(x, LLVMBuildXor(x, b, c, ""), "");
    case 0xa:
        return c;
    case 0xb:
        return LLVMBuildOr(x, LLVMBuildNot(x, b, ""), c, "");
    case 0xc:
        return b;
    case 0xd:
        return LLVMBuildOr(x, b, LLVMBuildNot(x, c, ""), "");
    case 0xe:
        return LLVMBuildOr(x, b, c, "");
    default:
        return emit_int(e, bits, UINT64_MAX);
    }
}

static void lop3(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    LLVMValueRef a = emit_get(e, &inst->src[0], bits);
    LLVMValueRef b = emit_get(e, &inst->src[1], bits);
    LLVMValueRef c = emit_get(e, &inst->src[2], bits);
    unsigned table = (unsigned)inst->offset & 0xff;
    unsigned when0 = table & 15, when1 = table >> 4;
    LLVMValueRef f0 = two_input(e, when0, b, c);
    LLVMValueRef r;
    if (when0 == when1) {
        r = f0;
    } else if (when0 == (~when1 & 15)) {
        r = LLVMBuildXor(e->b, a, f0, "");
    } else {
        LLVMValueRef f1 = two_input(e, when1, b, c);
        r = LLVMBuildOr(e->b, LLVMBuildAnd(e->b, a, f1, ""),
                        LLVMBuildAnd(e->b, LLVMBuildNot(e->b, a, ""), f0, ""), "");
    }
    emit_set(e, inst, 0, r);
}

static LLVMValueRef funnel(struct emit *e, const struct ir_inst *inst, bool left)
{
    LLVMValueRef a = emit_get(e, &inst->src[0], 32);
    LLVMValueRef b = emit_get(e, &inst->src[1], 32);
    LLVMValueRef c = emit_get(e, &inst->src[2], 32);
    // The intrinsics take the amount modulo 32.
    LLVMValueRef r = emit_intrinsic(e, left ? "llvm.fshl" : "llvm.fshr", e->i32, b, a, c);
    if (!(inst->flags & IR_FLAG_WRAP)) {
        r = emit_select(e, in_range(e, c, 32), r, left ? a : b);
    }
    return r;
}

static LLVMValueRef permute(struct emit *e, const struct ir_inst *inst)
{
    // Selectors of the modes with a fixed pattern, by the low two bits of c.
    static const uint16_t patterns[7][4] = {
        {0, 0, 0, 0},
        {0x3210, 0x4321, 0x5432, 0x6543}, // f4e
        {0x5670, 0x6701, 0x7012, 0x0123}, // b4e
        {0x0000, 0x1111, 0x2222, 0x3333}, // rc8
        {0x3210, 0x3211, 0x3222, 0x3333}, // ecl
        {0x0000, 0x1110, 0x2210, 0x3210}, // ecr
        {0x1010, 0x3232, 0x1010, 0x3232}, // rc16
    };
    LLVMValueRef a = emit_get(e, &inst->src[0], 32);
    LLVMValueRef b = emit_get(e, &inst->src[1], 32);
    LLVMValueRef c = emit_get(e, &inst->src[2], 32);
    LLVMValueRef v =
        LLVMBuildOr(e->b, emit_resize(e, a, 64, false),
                    LLVMBuildShl(e->b, emit_resize(e, b, 64, false), emit_int(e, 64, 32), ""), "");
    if (inst->sub != 0) {
        const uint16_t *p = patterns[inst->sub < 7 ? inst->sub : 0];
        LLVMValueRef low = LLVMBuildAnd(e->b, c, emit_int(e, 32, 3), "");
        c = emit_int(e, 32, p[0]);
        for (unsigned i = 1; i < 4; i++) {
            LLVMValueRef is = LLVMBuildICmp(e->b, LLVMIntEQ, low, emit_int(e, 32, i), "");
            c = emit_select(e, is, emit_int(e, 32, p[i]), c);
        }
    }
    LLVMValueRef r = emit_int(e, 32, 0);
    for (unsigned i = 0; i < 4; i++) {
        LLVMValueRef nibble = LLVMBuildLShr(e->b, c, emit_int(e, 32, 4 * i), "");
        LLVMValueRef at = LLVMBuildShl(e->b, LLVMBuildAnd(e->b, nibble, emit_int(e, 32, 7), ""),
                                       emit_int(e, 32, 3), "");
        LLVMValueRef byte =
            emit_resize(e, LLVMBuildLShr(e->b, v, emit_resize(e, at, 64, false), ""), 8, false);
        if (inst->sub == 0) {
            LLVMValueRef msb =
                LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildAnd(e->b, nibble, emit_int(e, 32, 8), ""),
                              emit_int(e, 32, 0), "");
            byte = emit_select(e, msb, LLVMBuildAShr(e->b, byte, emit_int(e, 8, 7), ""), byte);
        }
        LLVMValueRef wide =
            LLVMBuildShl(e->b, emit_resize(e, byte, 32, false), emit_int(e, 32, 8 * i), "");
        r = LLVMBuildOr(e->b, r, wide, "");
    }
    return r;
}

static LLVMValueRef byte_of(struct emit *e, const struct ir_operand *operand)
{
    return LLVMBuildAnd(e->b, emit_get(e, operand, 32), emit_int(e, 32, 0xff), "");
}

static LLVMValueRef extract_field(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    LLVMValueRef a = emit_get(e, &inst->src[0], bits);
    LLVMValueRef pos = byte_of(e, &inst->src[1]);
    LLVMValueRef len = byte_of(e, &inst->src[2]);
    if (!(inst->flags & IR_FLAG_SIGNED)) {
        LLVMValueRef t = shift(e, a, pos, false, false);
        return LLVMBuildAnd(e->b, t, low_mask(e, bits, len), "");
    }
    LLVMValueRef t = shift(e, a, pos, false, true);
    LLVMValueRef unused = LLVMBuildSub(e->b, emit_int(e, 32, bits), len, "");
    unused = emit_select(e, in_range(e, len, bits), unused, emit_int(e, 32, 0));
    LLVMValueRef empty = LLVMBuildICmp(e->b, LLVMIntEQ, len, emit_int(e, 32, 0), "");
    // len 0 would shift by the width; the select at the end drops that result.
    LLVMValueRef n = emit_resize(e, emit_select(e, empty, emit_int(e, 32, 0), unused), bits, false);
    t = LLVMBuildAShr(e->b, LLVMBuildShl(e->b, t, n, ""), n, "");
    return emit_select(e, empty, emit_int(e, bits, 0), t);
}

static LLVMValueRef insert_field(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    LLVMValueRef a = emit_get(e, &inst->src[0], bits);
    LLVMValueRef b = emit_get(e, &inst->src[1], bits);
    LLVMValueRef pos = byte_of(e, &inst->src[2]);
    LLVMValueRef len = byte_of(e, &inst->src[3]);
    LLVMValueRef mask = shift(e, low_mask(e, bits, len), pos, true, false);
    LLVMValueRef field = shift(e, a, pos, true, false);
    return LLVMBuildOr(e->b, LLVMBuildAnd(e->b, field, mask, ""),
                       LLVMBuildAnd(e->b, b, LLVMBuildNot(e->b, mask, ""), ""), "");
}

static LLVMValueRef count_zeros(struct emit *e, LLVMValueRef v)
{
    LLVMValueRef defined = LLVMConstInt(e->modes[0].i1, 0, false); // also of zero
    LLVMValueRef r = emit_intrinsic(e, "llvm.ctlz", LLVMTypeOf(v), v, defined, NULL);
    return emit_resize(e, r, 32, false);
}

static LLVMValueRef find_bit(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    LLVMValueRef a = emit_get(e, &inst->src[0], bits);
    if (inst->flags & IR_FLAG_SIGNED) {
        LLVMValueRef sign = LLVMBuildAShr(e->b, a, emit_int(e, bits, bits - 1), "");
        a = LLVMBuildXor(e->b, a, sign, "");
    }
    LLVMValueRef zeros = count_zeros(e, a);
    LLVMValueRef none = LLVMBuildICmp(e->b, LLVMIntEQ, a, emit_int(e, bits, 0), "");
    LLVMValueRef r = (inst->flags & IR_FLAG_SHIFTAMT)
                         ? zeros
                         : LLVMBuildSub(e->b, emit_int(e, 32, bits - 1), zeros, "");
    return emit_select(e, none, emit_int(e, 32, UINT32_MAX), r);
}

static LLVMValueRef mask_operand(struct emit *e, const struct ir_inst *inst, unsigned n)
{
    LLVMValueRef v = emit_get(e, &inst->src[n], 32);
    return (inst->flags & IR_FLAG_WRAP) ? LLVMBuildAnd(e->b, v, emit_int(e, 32, 31), "") : v;
}

static LLVMValueRef extend(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef a = emit_get(e, &inst->src[0], 32);
    LLVMValueRef n = mask_operand(e, inst, 1);
    LLVMValueRef low = LLVMBuildAnd(e->b, a, low_mask(e, 32, n), "");
    if (!(inst->flags & IR_FLAG_SIGNED)) {
        return low;
    }
    // Sign bit is bit n - 1; n = 0 leaves nothing, n >= 32 everything.
    LLVMValueRef sign =
        shift(e, emit_int(e, 32, 1), LLVMBuildSub(e->b, n, emit_int(e, 32, 1), ""), true, false);
    return LLVMBuildSub(e->b, LLVMBuildXor(e->b, low, sign, ""), sign, "");
}

bool emit_bits(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    bool sign = (inst->flags & IR_FLAG_SIGNED) != 0;
    LLVMValueRef r;
    switch (inst->op) {
    case IR_and:
        r = LLVMBuildAnd(e->b, emit_get(e, &inst->src[0], bits), emit_get(e, &inst->src[1], bits),
                         "");
        break;
    case IR_or:
        r = LLVMBuildOr(e->b, emit_get(e, &inst->src[0], bits), emit_get(e, &inst->src[1], bits),
                        "");
        break;
    case IR_xor:
        r = LLVMBuildXor(e->b, emit_get(e, &inst->src[0], bits), emit_get(e, &inst->src[1], bits),
                         "");
        break;
    case IR_not:
        r = LLVMBuildNot(e->b, emit_get(e, &inst->src[0], bits), "");
        break;
    case IR_lop3:
        lop3(e, inst);
        return true;
    case IR_shl:
    case IR_shr:
        r = shift(e, emit_get(e, &inst->src[0], bits), emit_get(e, &inst->src[1], 32),
                  inst->op == IR_shl, inst->op == IR_shr && sign);
        break;
    case IR_shf_l:
        r = funnel(e, inst, true);
        break;
    case IR_shf_r:
        r = funnel(e, inst, false);
        break;
    case IR_prmt:
        r = permute(e, inst);
        break;
    case IR_bfe:
        r = extract_field(e, inst);
        break;
    case IR_bfi:
        r = insert_field(e, inst);
        break;
    case IR_bfind:
        r = find_bit(e, inst);
        break;
    case IR_bmsk:
        r = shift(e, low_mask(e, 32, mask_operand(e, inst, 1)), mask_operand(e, inst, 0), true,
                  false);
        break;
    case IR_szext:
        r = extend(e, inst);
        break;
    case IR_brev: {
        LLVMValueRef v = emit_get(e, &inst->src[0], bits);
        r = emit_intrinsic(e, "llvm.bitreverse", LLVMTypeOf(v), v, NULL, NULL);
        break;
    }
    case IR_clz:
        r = count_zeros(e, emit_get(e, &inst->src[0], bits));
        break;
    case IR_popc: {
        LLVMValueRef v = emit_get(e, &inst->src[0], bits);
        r = emit_resize(e, emit_intrinsic(e, "llvm.ctpop", LLVMTypeOf(v), v, NULL, NULL), 32,
                        false);
        break;
    }
    case IR_fns:
        r = emit_helper(e, JIT_HELPER_fns, emit_get(e, &inst->src[0], 32),
                        emit_get(e, &inst->src[1], 32), emit_get(e, &inst->src[2], 32), 0);
        r = emit_resize(e, r, 32, false);
        break;
    default:
        return false;
    }
    emit_set(e, inst, 0, r);
    return true;
}
