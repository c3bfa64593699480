// SPDX-License-Identifier: Apache-2.0
//
// Video instructions, scalar and SIMD, as sequences of 64-bit arithmetic: parts are selected and
// extended to 64 bits, combined exactly, saturated, then merged into or combined with c. Source:
// PTX ISA 9.7.17 and 9.7.18, whose pseudo-code this follows.
#include "ir_internal.h"

static struct ir_operand op64(struct ir_build *b, enum ir_op op, uint32_t flags,
                              struct ir_operand x, struct ir_operand y)
{
    return ir_op2(b, op, IR_I64, flags, x, y);
}

static struct ir_operand clamp64(struct ir_build *b, struct ir_operand x, int64_t low, int64_t high)
{
    x = op64(b, IR_max, IR_FLAG_SIGNED, x, ir_constant((uint64_t)low));
    return op64(b, IR_min, IR_FLAG_SIGNED, x, ir_constant((uint64_t)high));
}

// Bits `at` … `at + bits - 1` of a 32-bit operand, extended to 64 bits.
static struct ir_operand part(struct ir_build *b, struct ir_operand x, unsigned at, unsigned bits,
                              bool sign)
{
    if (at + bits < 32) {
        x = ir_op2(b, IR_shl, IR_I32, 0, x, ir_constant(32 - at - bits));
    }
    if (bits < 32) {
        x = ir_op2(b, IR_shr, IR_I32, sign ? IR_FLAG_SIGNED : 0, x, ir_constant(32 - bits));
    }
    return ir_resize(b, x, IR_I32, IR_I64, sign);
}

static unsigned lane_bits(const struct ptx_operand *operand)
{
    return operand->lane_kind == 'b' ? 8 : operand->lane_kind == 'h' ? 16 : 32;
}

static struct ir_operand selected(struct ir_build *b, unsigned n, enum ptx_type type)
{
    const struct ptx_operand *operand = ir_operand_at(b, n);
    unsigned bits = lane_bits(operand);
    unsigned at = bits == 32 ? 0 : (operand->lanes & (32u / bits - 1u)) * bits;
    return part(b, ir_src(b, n, PTX_B32), at, bits, type == PTX_S32);
}

static enum ir_compare comparison(struct ir_build *b)
{
    return ir_mod(b, PTX_MOD_eq)   ? IR_EQ
           : ir_mod(b, PTX_MOD_ne) ? IR_NE
           : ir_mod(b, PTX_MOD_lt) ? IR_LT
           : ir_mod(b, PTX_MOD_le) ? IR_LE
           : ir_mod(b, PTX_MOD_gt) ? IR_GT
                                   : (ir_mod(b, PTX_MOD_ge), IR_GE);
}

// The exact result of the base operation on extended parts.
static struct ir_operand combine(struct ir_build *b, enum ir_op op, struct ir_operand x,
                                 struct ir_operand y, enum ir_compare compare)
{
    uint32_t s = IR_FLAG_SIGNED;
    switch (op) {
    case IR_abs: // vabsdiff
        return op64(b, IR_sub, 0, op64(b, IR_max, s, x, y), op64(b, IR_min, s, x, y));
    case IR_setp:
        return ir_resize(b, ir_setp(b, compare, IR_I64, s, x, y), IR_I1, IR_I64, false);
    case IR_shr: { // vavrg: half of the sum, rounded away from zero
        struct ir_operand sum = op64(b, IR_add, 0, x, y);
        struct ir_operand positive = ir_setp(b, IR_GE, IR_I64, s, sum, ir_constant(0));
        sum = op64(b, IR_add, 0, sum, ir_resize(b, positive, IR_I1, IR_I64, false));
        return op64(b, IR_shr, s, sum, ir_constant(1));
    }
    default:
        return op64(b, op, s, x, y);
    }
}

static struct ir_operand saturate(struct ir_build *b, struct ir_operand x, unsigned bits, bool sign)
{
    int64_t high = (int64_t)((UINT64_C(1) << (sign ? bits - 1 : bits)) - 1);
    return clamp64(b, x, sign ? -high - 1 : 0, high);
}

// Puts a scalar result (64 bits) into d: merged into c at d's selector, or combined with c.
static void finish(struct ir_build *b, struct ir_operand x, bool sign)
{
    const struct ptx_operand *destination = ir_operand_at(b, 0);
    struct ir_operand result = ir_resize(b, x, IR_I64, IR_I32, false);
    unsigned bits = lane_bits(destination);
    uint32_t s = sign ? IR_FLAG_SIGNED : 0;
    if (bits < 32) {
        unsigned at = (destination->lanes & (32u / bits - 1u)) * bits;
        uint32_t mask = (uint32_t)((UINT64_C(1) << bits) - 1);
        struct ir_operand low = ir_op2(b, IR_and, IR_I32, 0, result, ir_constant(mask));
        struct ir_operand rest = ir_op2(b, IR_and, IR_I32, 0, ir_src(b, 3, PTX_B32),
                                        ir_constant((uint32_t) ~(mask << at)));
        result =
            ir_op2(b, IR_or, IR_I32, 0, rest, ir_op2(b, IR_shl, IR_I32, 0, low, ir_constant(at)));
    } else if (ir_mod(b, PTX_MOD_add)) {
        result = ir_op2(b, IR_add, IR_I32, 0, result, ir_src(b, 3, PTX_B32));
    } else if (ir_mod(b, PTX_MOD_min)) {
        result = ir_op2(b, IR_min, IR_I32, s, result, ir_src(b, 3, PTX_B32));
    } else if (ir_mod(b, PTX_MOD_max)) {
        result = ir_op2(b, IR_max, IR_I32, s, result, ir_src(b, 3, PTX_B32));
    }
    struct ptx_operand plain = *destination;
    plain.lane_kind = 0;
    ir_write(b, &plain, PTX_B32, result);
}

static void build_vmad(struct ir_build *b)
{
    enum ptx_type types[2] = {ir_type_at(b, 1), ir_type_at(b, 2)};
    bool negate = ir_operand_at(b, 1)->minus != ir_operand_at(b, 2)->minus;
    bool negate_c = ir_operand_at(b, 3)->minus, po = ir_mod(b, PTX_MOD_po);
    bool sign = types[0] == PTX_S32 || types[1] == PTX_S32 || negate || negate_c;
    struct ir_operand product =
        op64(b, IR_mul, 0, selected(b, 1, types[0]), selected(b, 2, types[1]));
    struct ir_operand c = ir_src(b, 3, PTX_B32);
    if (!po && negate) {
        product = ir_op1(b, IR_neg, IR_I64, 0, product);
    } else if (!po && negate_c) {
        c = ir_op1(b, IR_neg, IR_I32, 0, c);
    }
    struct ir_operand sum = op64(b, IR_add, 0, product, ir_resize(b, c, IR_I32, IR_I64, sign));
    if (po) {
        sum = op64(b, IR_add, 0, sum, ir_constant(1));
    }
    unsigned scale = ir_mod(b, PTX_MOD_shr7) ? 7 : ir_mod(b, PTX_MOD_shr15) ? 15 : 0;
    if (scale != 0) {
        sum = op64(b, IR_shr, sign ? IR_FLAG_SIGNED : 0, sum, ir_constant(scale));
    }
    if (ir_mod(b, PTX_MOD_sat)) {
        sum = sign ? saturate(b, sum, 32, true) : op64(b, IR_min, 0, sum, ir_constant(UINT32_MAX));
    }
    ir_dst(b, 0, PTX_B32, ir_resize(b, sum, IR_I64, IR_I32, false));
}

void ir_build_video(struct ir_build *b)
{
    enum ptx_opcode opcode = b->in->opcode;
    if (opcode == PTX_OP_vmad) {
        build_vmad(b);
        return;
    }
    // vset has no type of the destination: it is unsigned.
    bool set = opcode == PTX_OP_vset, shift = opcode == PTX_OP_vshl || opcode == PTX_OP_vshr;
    bool sign = !set && ir_type_at(b, 0) == PTX_S32;
    struct ir_operand x = selected(b, 1, ir_type_at(b, set ? 0 : 1));
    struct ir_operand y = selected(b, 2, ir_type_at(b, set ? 1 : 2));
    enum ir_compare compare = set ? comparison(b) : IR_EQ;
    struct ir_operand result;
    if (shift) {
        struct ir_operand by = ir_resize(b, y, IR_I64, IR_I32, false);
        by = ir_mod(b, PTX_MOD_wrap)
                 ? ir_op2(b, IR_and, IR_I32, 0, by, ir_constant(31))
                 : (ir_mod(b, PTX_MOD_clamp), ir_op2(b, IR_min, IR_I32, 0, by, ir_constant(32)));
        result = op64(b, ir_rule(opcode)->op, IR_FLAG_SIGNED, x, by);
    } else {
        result = combine(b, ir_rule(opcode)->op, x, y, compare);
    }
    if (ir_mod(b, PTX_MOD_sat)) {
        result = saturate(b, result, lane_bits(ir_operand_at(b, 0)), sign);
    }
    finish(b, result, sign);
}

// ---------------------------------------------------------------- SIMD

// Lane `i` of a SIMD source: its selector names parts of the pair {b, a}.
static struct ir_operand simd_part(struct ir_build *b, const struct ptx_operand *operand,
                                   unsigned i, unsigned lanes, unsigned otherwise,
                                   const struct ir_operand sources[2], enum ptx_type type)
{
    unsigned bits = 32 / lanes, from = otherwise + i;
    if (operand->lane_kind != 0) {
        from = operand->lanes >> (4 * i) & 15u;
    }
    return part(b, sources[from / lanes & 1], from % lanes * bits, bits, type == PTX_S32);
}

void ir_build_video_simd(struct ir_build *b)
{
    enum ptx_opcode opcode = b->in->opcode;
    const struct ptx_operand *destination = ir_operand_at(b, 0);
    bool set = opcode == PTX_OP_vset2 || opcode == PTX_OP_vset4;
    unsigned lanes = opcode == PTX_OP_vadd4 || opcode == PTX_OP_vsub4 || opcode == PTX_OP_vavrg4 ||
                             opcode == PTX_OP_vabsdiff4 || opcode == PTX_OP_vmin4 ||
                             opcode == PTX_OP_vmax4 || opcode == PTX_OP_vset4
                         ? 4
                         : 2;
    unsigned bits = 32 / lanes, mask = (1u << lanes) - 1u;
    if (destination->lane_kind != 0) {
        mask = 0;
        for (unsigned i = 0; i < destination->lane_count; i++) {
            mask |= 1u << (destination->lanes >> (4 * i) & 3u);
        }
    }
    bool sign = !set && ir_type_at(b, 0) == PTX_S32;
    enum ptx_type types[2] = {ir_type_at(b, set ? 0 : 1), ir_type_at(b, set ? 1 : 2)};
    bool add = ir_mod(b, PTX_MOD_add), sat = ir_mod(b, PTX_MOD_sat);
    enum ir_compare compare = set ? comparison(b) : IR_EQ;
    struct ir_operand sources[2] = {ir_src(b, 1, PTX_B32), ir_src(b, 2, PTX_B32)};
    struct ir_operand result = ir_src(b, 3, PTX_B32); // c: start of the sum, or lanes not computed
    for (unsigned i = 0; i < lanes; i++) {
        if ((mask >> i & 1) == 0) {
            continue;
        }
        struct ir_operand x = simd_part(b, ir_operand_at(b, 1), i, lanes, 0, sources, types[0]);
        struct ir_operand y = simd_part(b, ir_operand_at(b, 2), i, lanes, lanes, sources, types[1]);
        x = combine(b, ir_rule(opcode)->op, x, y, compare);
        if (sat) {
            x = saturate(b, x, bits, sign);
        }
        x = ir_resize(b, x, IR_I64, IR_I32, false);
        if (add) {
            result = ir_op2(b, IR_add, IR_I32, 0, result, x);
            continue;
        }
        uint32_t field = (uint32_t)((UINT64_C(1) << bits) - 1);
        x = ir_op2(b, IR_and, IR_I32, 0, x, ir_constant(field));
        x = ir_op2(b, IR_shl, IR_I32, 0, x, ir_constant(i * bits));
        result =
            ir_op2(b, IR_and, IR_I32, 0, result, ir_constant((uint32_t) ~(field << (i * bits))));
        result = ir_op2(b, IR_or, IR_I32, 0, result, x);
    }
    struct ptx_operand plain = *destination;
    plain.lane_kind = 0;
    ir_write(b, &plain, PTX_B32, result);
}
