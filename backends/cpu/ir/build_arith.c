// SPDX-License-Identifier: Apache-2.0
//
// Integer and floating-point arithmetic: add to tanh. Packed types are unpacked, computed number
// by number and packed again; multiply-add of integers is a multiplication and an addition.
#include "ir_internal.h"

#include <string.h>

enum ir_round ir_rounding(struct ir_build *b)
{
    return ir_mod(b, PTX_MOD_rz)   ? IR_RZ
           : ir_mod(b, PTX_MOD_rm) ? IR_RM
           : ir_mod(b, PTX_MOD_rp) ? IR_RP
                                   : (ir_mod(b, PTX_MOD_rn), IR_RN);
}

uint32_t ir_flags(struct ir_build *b)
{
    return (ir_mod(b, PTX_MOD_ftz) ? IR_FLAG_FTZ : 0) | (ir_mod(b, PTX_MOD_sat) ? IR_FLAG_SAT : 0);
}

enum ptx_type ir_type_at(struct ir_build *b, unsigned n)
{
    return n < b->in->type_count ? b->in->types[n] : PTX_TYPE_NONE;
}

// One operation on numbers of a type, as it is repeated for every lane.
struct lane_op {
    enum ir_op op;
    enum ir_type type;
    uint32_t flags;
    enum ir_round round;
    bool relu; // integers: negative results become 0
};

static struct ir_operand lane(struct ir_build *b, const struct lane_op *how, unsigned count,
                              const struct ir_operand *sources)
{
    bool integer_sat = (how->flags & IR_FLAG_SAT) != 0 && !ir_is_float(how->type);
    if (integer_sat && (how->flags & IR_FLAG_SIGNED) == 0) { // min(x, ~y) + y, max(x, y) - y
        struct ir_operand x = sources[0], y = sources[1];
        x = how->op == IR_add
                ? ir_op2(b, IR_min, how->type, 0, x, ir_op1(b, IR_not, how->type, 0, y))
                : ir_op2(b, IR_max, how->type, 0, x, y);
        return ir_op2(b, how->op, how->type, 0, x, y);
    }
    // min and max take three sources since PTX 8.8.
    bool fold = count == 3 && (how->op == IR_min || how->op == IR_max);
    unsigned first = fold ? 2 : count;
    struct ir_inst *inst = ir_append(b, how->op, how->type, 1, first);
    memcpy(inst->src, sources, first * sizeof *sources);
    inst->flags = how->flags;
    inst->round = how->round;
    struct ir_operand result = ir_use(ir_result(b, inst, 0));
    if (fold) {
        result = ir_op2(b, how->op, how->type, how->flags, result, sources[2]);
    }
    if (how->relu) {
        result = ir_op2(b, IR_max, how->type, IR_FLAG_SIGNED, result, ir_constant(0));
    }
    return result;
}

// Computes operand 0 from the next `count` operands, all of PTX type `type`.
static void compute(struct ir_build *b, struct lane_op how, enum ptx_type type, unsigned count)
{
    struct ir_reading reading = ir_reading(b, type);
    struct ir_operand sources[3];
    how.type = reading.type;
    for (unsigned i = 0; i < count; i++) {
        sources[i] = ir_src(b, i + 1, type);
    }
    if (reading.lanes == 1) {
        ir_dst(b, 0, type, lane(b, &how, count, sources));
        return;
    }
    struct ir_operand parts[3][4], results[4];
    for (unsigned i = 0; i < count; i++) {
        ir_pack_parts(b, sources[i], reading.storage, reading.lanes, parts[i]);
    }
    for (unsigned n = 0; n < reading.lanes; n++) {
        for (unsigned i = 0; i < count; i++) {
            sources[i] = parts[i][n];
        }
        results[n] = lane(b, &how, count, sources);
    }
    ir_dst(b, 0, type, ir_pack(b, reading.storage, reading.lanes, results));
}

static uint32_t sign_flag(struct ir_build *b, enum ptx_type type)
{
    return ir_reading(b, type).sign ? IR_FLAG_SIGNED : 0;
}

// Last step of an instruction with a carry chain: result = x op y [op carry], carry out.
static void with_carry(struct ir_build *b, enum ir_op op, enum ptx_type type, struct ir_operand x,
                       struct ir_operand y, bool in, bool out)
{
    struct ir_inst *inst = ir_append(b, op, ir_reading(b, type).type, out ? 2 : 1, in ? 3 : 2);
    inst->src[0] = x;
    inst->src[1] = y;
    if (in) {
        inst->src[2] = ir_use(ir_carry(b));
        inst->flags |= IR_FLAG_CC_IN;
    }
    struct ir_operand result = ir_use(ir_result(b, inst, 0));
    if (out) {
        inst->flags |= IR_FLAG_CC_OUT;
        ir_assign(b, ir_carry(b), ir_use(ir_result(b, inst, 1)));
    }
    ir_dst(b, 0, type, result);
}

static struct ir_operand to_f32(struct ir_build *b, unsigned n, enum ptx_type type)
{
    struct ir_operand x = ir_src(b, n, type);
    struct ir_operand result = ir_op1(b, IR_cvt, IR_F32, 0, x);
    b->block->last->type2 = ir_reading(b, type).type;
    return result;
}

void ir_build_addsub(struct ir_build *b)
{
    enum ir_op op = ir_rule(b->in->opcode)->op;
    enum ptx_type type = ir_type_at(b, 0);
    bool in = b->in->opcode == PTX_OP_addc || b->in->opcode == PTX_OP_subc;
    bool out = ir_mod(b, PTX_MOD_cc);
    if (in || out) {
        with_carry(b, op, type, ir_src(b, 1, type), ir_src(b, 2, type), in, out);
        return;
    }
    struct lane_op how = {
        .op = op, .flags = ir_flags(b) | sign_flag(b, type), .round = ir_rounding(b)};
    if (b->in->type_count == 2) { // f32 from f16/bf16 and f32
        how.type = IR_F32;
        struct ir_operand sources[2] = {to_f32(b, 1, ir_type_at(b, 1)), ir_src(b, 2, type)};
        ir_dst(b, 0, type, lane(b, &how, 2, sources));
        return;
    }
    compute(b, how, type, 2);
}

void ir_build_arith(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    struct lane_op how = {.op = ir_rule(b->in->opcode)->op,
                          .flags = ir_flags(b) | sign_flag(b, type),
                          .round = ir_rounding(b)};
    how.flags |= ir_mod(b, PTX_MOD_approx) ? IR_FLAG_APPROX : 0;
    how.flags |= ir_mod(b, PTX_MOD_full) ? IR_FLAG_FULL : 0;
    bool unary = how.op == IR_abs || how.op == IR_neg;
    bool rounded = ir_mod(b, PTX_MOD_rn) || how.round != IR_RN;
    if (how.op == IR_div && type == PTX_F32 && !rounded && (how.flags & IR_FLAG_APPROX) == 0) {
        how.flags |= IR_FLAG_FULL; // written, or PTX before 1.4: div.f32 without rounding
    }
    compute(b, how, type, unary ? 1 : 2);
}

void ir_build_approx(struct ir_build *b)
{
    struct lane_op how = {
        .op = ir_rule(b->in->opcode)->op, .flags = ir_flags(b), .round = ir_rounding(b)};
    how.flags |= ir_mod(b, PTX_MOD_approx) ? IR_FLAG_APPROX : 0;
    compute(b, how, ir_type_at(b, 0), 1);
}

void ir_build_fma(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    struct lane_op how = {.op = IR_fma, .flags = ir_flags(b), .round = ir_rounding(b)};
    how.flags |= ir_mod(b, PTX_MOD_relu) ? IR_FLAG_RELU : 0;
    how.flags |= ir_mod(b, PTX_MOD_oob) ? IR_FLAG_OOB : 0;
    if (b->in->type_count == 2) {
        how.type = IR_F32;
        enum ptx_type half = ir_type_at(b, 1);
        struct ir_operand sources[3] = {to_f32(b, 1, half), to_f32(b, 2, half), ir_src(b, 3, type)};
        ir_dst(b, 0, type, lane(b, &how, 3, sources));
        return;
    }
    compute(b, how, type, 3);
}

void ir_build_minmax(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    struct lane_op how = {.op = ir_rule(b->in->opcode)->op,
                          .flags = ir_flags(b) | sign_flag(b, type)};
    how.flags |= ir_mod(b, PTX_MOD_NaN) ? IR_FLAG_NAN : 0;
    how.flags |= ir_mod(b, PTX_MOD_xorsign) ? IR_FLAG_XORSIGN : 0;
    how.flags |= ir_mod(b, PTX_MOD_abs) ? IR_FLAG_ABS : 0;
    how.relu = ir_mod(b, PTX_MOD_relu);
    compute(b, how, type, ir_operand_at(b, 3)->kind == PTX_OPERAND_NONE ? 2 : 3);
}

static enum ptx_type wide_type(struct ir_build *b, enum ptx_type type)
{
    switch (type) {
    case PTX_U16:
        return PTX_U32;
    case PTX_S16:
        return PTX_S32;
    case PTX_U32:
        return PTX_U64;
    case PTX_S32:
        return PTX_S64;
    default:
        ir_fail(b, ".wide of type .%s", ptx_type_name(type));
    }
}

void ir_build_mul(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    struct ir_reading reading = ir_reading(b, type);
    if (ir_mod(b, PTX_MOD_wide)) {
        struct ir_operand product = ir_op2(b, IR_mul_wide, reading.type, sign_flag(b, type),
                                           ir_src(b, 1, type), ir_src(b, 2, type));
        ir_dst(b, 0, wide_type(b, type), product);
        return;
    }
    struct lane_op how = {
        .op = IR_mul, .flags = ir_flags(b) | sign_flag(b, type), .round = ir_rounding(b)};
    how.flags |= ir_mod(b, PTX_MOD_hi) ? IR_FLAG_HI : 0;
    ir_mod(b, PTX_MOD_lo);
    compute(b, how, type, 2);
}

void ir_build_mad(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    struct ir_reading reading = ir_reading(b, type);
    if (ir_is_float(reading.type)) {
        ir_build_fma(b);
        return;
    }
    uint32_t sign = sign_flag(b, type);
    if (ir_mod(b, PTX_MOD_wide)) {
        enum ptx_type wide = wide_type(b, type);
        struct ir_operand product =
            ir_op2(b, IR_mul_wide, reading.type, sign, ir_src(b, 1, type), ir_src(b, 2, type));
        ir_dst(b, 0, wide,
               ir_op2(b, IR_add, ir_reading(b, wide).type, 0, product, ir_src(b, 3, wide)));
        return;
    }
    bool high = ir_mod(b, PTX_MOD_hi);
    ir_mod(b, PTX_MOD_lo);
    struct ir_operand product = ir_op2(b, IR_mul, reading.type, sign | (high ? IR_FLAG_HI : 0),
                                       ir_src(b, 1, type), ir_src(b, 2, type));
    bool in = b->in->opcode == PTX_OP_madc, out = ir_mod(b, PTX_MOD_cc);
    if (in || out) {
        with_carry(b, IR_add, type, product, ir_src(b, 3, type), in, out);
        return;
    }
    ir_dst(b, 0, type,
           ir_op2(b, IR_add, reading.type, sign | ir_flags(b), product, ir_src(b, 3, type)));
}

// The low 24 bits of operand n, extended to 64.
static struct ir_operand low24(struct ir_build *b, unsigned n, enum ptx_type type, uint32_t sign)
{
    struct ir_operand x = ir_op2(b, IR_shl, IR_I32, 0, ir_src(b, n, type), ir_constant(8));
    x = ir_op2(b, IR_shr, IR_I32, sign, x, ir_constant(8));
    return ir_resize(b, x, IR_I32, IR_I64, sign != 0);
}

void ir_build_mul24(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    uint32_t sign = sign_flag(b, type);
    struct ir_operand product =
        ir_op2(b, IR_mul, IR_I64, sign, low24(b, 1, type, sign), low24(b, 2, type, sign));
    if (ir_mod(b, PTX_MOD_hi)) { // bits 16 to 47 of the product
        product = ir_op2(b, IR_shr, IR_I64, sign, product, ir_constant(16));
    }
    ir_mod(b, PTX_MOD_lo);
    product = ir_resize(b, product, IR_I64, IR_I32, false);
    if (b->in->opcode == PTX_OP_mad24) {
        product = ir_op2(b, IR_add, IR_I32, sign | ir_flags(b), product, ir_src(b, 3, type));
    }
    ir_dst(b, 0, type, product);
}

void ir_build_sad(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    enum ir_type own = ir_reading(b, type).type;
    uint32_t sign = sign_flag(b, type);
    struct ir_operand x = ir_src(b, 1, type), y = ir_src(b, 2, type);
    struct ir_operand difference = ir_op2(b, IR_sub, own, 0, ir_op2(b, IR_max, own, sign, x, y),
                                          ir_op2(b, IR_min, own, sign, x, y));
    ir_dst(b, 0, type, ir_op2(b, IR_add, own, 0, difference, ir_src(b, 3, type)));
}

void ir_build_dp(struct ir_build *b)
{
    uint32_t flags = sign_flag(b, ir_type_at(b, 0));
    flags |= ir_reading(b, ir_type_at(b, 1)).sign ? IR_FLAG_SRC_SIGNED : 0;
    flags |= ir_mod(b, PTX_MOD_hi) ? IR_FLAG_HI : 0;
    ir_mod(b, PTX_MOD_lo);
    ir_dst(b, 0, PTX_B32,
           ir_op3(b, ir_rule(b->in->opcode)->op, IR_I32, flags, ir_src(b, 1, PTX_B32),
                  ir_src(b, 2, PTX_B32), ir_src(b, 3, PTX_B32)));
}

void ir_build_testp(struct ir_build *b)
{
    static const enum ptx_modifier tests[] = {PTX_MOD_finite, PTX_MOD_infinite,
                                              PTX_MOD_number, PTX_MOD_notanumber,
                                              PTX_MOD_normal, PTX_MOD_subnormal};
    enum ptx_type type = ir_type_at(b, 0);
    struct ir_operand result = ir_op1(b, IR_testp, ir_reading(b, type).type, 0, ir_src(b, 1, type));
    struct ir_inst *inst = b->block->last;
    for (unsigned i = 0; i < sizeof tests / sizeof tests[0]; i++) {
        if (ir_mod(b, tests[i])) {
            inst->sub = (uint8_t)i;
        }
    }
    ir_dst(b, 0, PTX_PRED, result);
}

void ir_build_copysign(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    enum ir_type storage = ir_reading(b, type).storage;
    uint64_t sign = UINT64_C(1) << (ir_bits(storage) - 1);
    struct ir_operand high = ir_op2(b, IR_and, storage, 0, ir_src(b, 1, type), ir_constant(sign));
    struct ir_operand low =
        ir_op2(b, IR_and, storage, 0, ir_src(b, 2, type), ir_constant(~sign & ir_mask(storage)));
    ir_dst(b, 0, type, ir_op2(b, IR_or, storage, 0, high, low));
}
