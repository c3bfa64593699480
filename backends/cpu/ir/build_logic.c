// SPDX-License-Identifier: Apache-2.0
//
// Logic, shifts, bit fields, comparison and selection.
#include "ir_internal.h"

static uint32_t sign_flag(struct ir_build *b, enum ptx_type type)
{
    return ir_reading(b, type).sign ? IR_FLAG_SIGNED : 0;
}

void ir_build_bits(struct ir_build *b) // popc clz brev
{
    enum ir_op op = ir_rule(b->in->opcode)->op;
    enum ptx_type type = ir_type_at(b, 0);
    struct ir_operand result = ir_op1(b, op, ir_reading(b, type).type, 0, ir_src(b, 1, type));
    ir_dst(b, 0, op == IR_brev ? type : PTX_U32, result);
}

void ir_build_bfind(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    uint32_t flags = sign_flag(b, type) | (ir_mod(b, PTX_MOD_shiftamt) ? IR_FLAG_SHIFTAMT : 0);
    ir_dst(b, 0, PTX_U32, ir_op1(b, IR_bfind, ir_reading(b, type).type, flags, ir_src(b, 1, type)));
}

void ir_build_fns(struct ir_build *b)
{
    ir_dst(b, 0, PTX_B32,
           ir_op3(b, IR_fns, IR_I32, 0, ir_src(b, 1, PTX_B32), ir_src(b, 2, PTX_B32),
                  ir_src(b, 3, PTX_S32)));
}

void ir_build_bfe_bfi(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    enum ir_type own = ir_reading(b, type).type;
    if (b->in->opcode == PTX_OP_bfe) {
        ir_dst(b, 0, type,
               ir_op3(b, IR_bfe, own, sign_flag(b, type), ir_src(b, 1, type), ir_src(b, 2, PTX_U32),
                      ir_src(b, 3, PTX_U32)));
        return;
    }
    struct ir_operand sources[4] = {ir_src(b, 1, type), ir_src(b, 2, type), ir_src(b, 3, PTX_U32),
                                    ir_src(b, 4, PTX_U32)};
    struct ir_inst *inst = ir_append(b, IR_bfi, own, 1, 4);
    for (unsigned i = 0; i < 4; i++) {
        inst->src[i] = sources[i];
    }
    ir_dst(b, 0, type, ir_use(ir_result(b, inst, 0)));
}

void ir_build_mask_op(struct ir_build *b) // bmsk szext
{
    enum ptx_type type = ir_type_at(b, 0);
    uint32_t flags = sign_flag(b, type) | (ir_mod(b, PTX_MOD_wrap) ? IR_FLAG_WRAP : 0);
    ir_mod(b, PTX_MOD_clamp);
    ir_dst(b, 0, type,
           ir_op2(b, ir_rule(b->in->opcode)->op, IR_I32, flags, ir_src(b, 1, type),
                  ir_src(b, 2, PTX_U32)));
}

void ir_build_logic(struct ir_build *b)
{
    enum ir_op op = ir_rule(b->in->opcode)->op;
    enum ptx_type type = ir_type_at(b, 0);
    enum ir_type own = ir_reading(b, type).type;
    struct ir_operand x = ir_src(b, 1, type);
    ir_dst(b, 0, type,
           op == IR_not ? ir_op1(b, op, own, 0, x) : ir_op2(b, op, own, 0, x, ir_src(b, 2, type)));
}

void ir_build_cnot(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    enum ir_type own = ir_reading(b, type).type;
    struct ir_operand zero = ir_setp(b, IR_EQ, own, 0, ir_src(b, 1, type), ir_constant(0));
    ir_dst(b, 0, type, ir_resize(b, zero, IR_I1, own, false));
}

void ir_build_shift(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    ir_dst(b, 0, type,
           ir_op2(b, ir_rule(b->in->opcode)->op, ir_reading(b, type).type, sign_flag(b, type),
                  ir_src(b, 1, type), ir_src(b, 2, PTX_U32)));
}

void ir_build_shf(struct ir_build *b)
{
    enum ir_op op = ir_mod(b, PTX_MOD_l) ? IR_shf_l : IR_shf_r;
    ir_mod(b, PTX_MOD_r);
    uint32_t flags = ir_mod(b, PTX_MOD_wrap) ? IR_FLAG_WRAP : 0;
    ir_mod(b, PTX_MOD_clamp);
    ir_dst(b, 0, PTX_B32,
           ir_op3(b, op, IR_I32, flags, ir_src(b, 1, PTX_B32), ir_src(b, 2, PTX_B32),
                  ir_src(b, 3, PTX_U32)));
}

void ir_build_prmt(struct ir_build *b)
{
    static const enum ptx_modifier modes[] = {PTX_MOD_f4e, PTX_MOD_b4e, PTX_MOD_rc8,
                                              PTX_MOD_ecl, PTX_MOD_ecr, PTX_MOD_rc16};
    unsigned mode = 0;
    for (unsigned i = 0; i < sizeof modes / sizeof modes[0]; i++) {
        mode = ir_mod(b, modes[i]) ? i + 1 : mode;
    }
    struct ir_operand result = ir_op3(b, IR_prmt, IR_I32, 0, ir_src(b, 1, PTX_B32),
                                      ir_src(b, 2, PTX_B32), ir_src(b, 3, PTX_B32));
    b->block->last->sub = (uint8_t)mode;
    ir_dst(b, 0, PTX_B32, result);
}

// The destination d or d|p: element n of a pair, or the operand itself for n = 0.
static const struct ptx_operand *half(const struct ptx_operand *operand, unsigned n)
{
    static const struct ptx_operand none = {.kind = PTX_OPERAND_NONE};
    if (operand->kind != PTX_OPERAND_PAIR) {
        return n == 0 ? operand : &none;
    }
    return n < operand->count ? &operand->elements[n] : &none;
}

void ir_build_lop3(struct ir_build *b)
{
    const struct ptx_operand *table = ir_operand_at(b, 4);
    if (table->kind != PTX_OPERAND_IMM_INT) {
        ir_fail(b, "the table of lop3 is no constant");
    }
    struct ir_operand result = ir_op3(b, IR_lop3, IR_I32, 0, ir_src(b, 1, PTX_B32),
                                      ir_src(b, 2, PTX_B32), ir_src(b, 3, PTX_B32));
    b->block->last->offset = (int64_t)(table->integer & 0xff);
    enum ir_op op = ir_mod(b, PTX_MOD_or) ? IR_or : ir_mod(b, PTX_MOD_and) ? IR_and : IR_OP_INVALID;
    if (op == IR_OP_INVALID) {
        ir_dst(b, 0, PTX_B32, result);
        return;
    }
    struct ir_operand p =
        ir_op2(b, op, IR_I1, 0, ir_setp(b, IR_NE, IR_I32, 0, result, ir_constant(0)),
               ir_src(b, 5, PTX_PRED));
    ir_write(b, half(ir_operand_at(b, 0), 0), PTX_B32, result);
    ir_write(b, half(ir_operand_at(b, 0), 1), PTX_PRED, p);
}

// ---------------------------------------------------------------- comparison

// The comparison that is written. lo ls hi hs are the unsigned lt le gt ge; `lo` and `hi` are also
// halves of products, so they are asked for here only.
static enum ir_compare compare_of(struct ir_build *b, uint32_t *flags)
{
    static const struct {
        enum ptx_modifier modifier;
        enum ir_compare compare;
        bool is_unsigned;
    } table[] = {
        {PTX_MOD_eq, IR_EQ, 0},   {PTX_MOD_ne, IR_NE, 0},   {PTX_MOD_lt, IR_LT, 0},
        {PTX_MOD_le, IR_LE, 0},   {PTX_MOD_gt, IR_GT, 0},   {PTX_MOD_ge, IR_GE, 0},
        {PTX_MOD_lo, IR_LT, 1},   {PTX_MOD_ls, IR_LE, 1},   {PTX_MOD_hi, IR_GT, 1},
        {PTX_MOD_hs, IR_GE, 1},   {PTX_MOD_equ, IR_EQU, 0}, {PTX_MOD_neu, IR_NEU, 0},
        {PTX_MOD_ltu, IR_LTU, 0}, {PTX_MOD_leu, IR_LEU, 0}, {PTX_MOD_gtu, IR_GTU, 0},
        {PTX_MOD_geu, IR_GEU, 0}, {PTX_MOD_num, IR_NUM, 0}, {PTX_MOD_nan, IR_NAN, 0},
    };
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (ir_mod(b, table[i].modifier)) {
            if (table[i].is_unsigned) {
                *flags &= ~(uint32_t)IR_FLAG_SIGNED;
            }
            return table[i].compare;
        }
    }
    ir_fail(b, "no comparison is written");
}

static enum ir_op bool_op(struct ir_build *b)
{
    return ir_mod(b, PTX_MOD_and)   ? IR_and
           : ir_mod(b, PTX_MOD_or)  ? IR_or
           : ir_mod(b, PTX_MOD_xor) ? IR_xor
                                    : IR_OP_INVALID;
}

// Compares operands 1 and 2 of PTX type `type`; one predicate for each lane. Returns the lanes.
static unsigned compare(struct ir_build *b, enum ptx_type type, struct ir_operand ret[2])
{
    struct ir_reading reading = ir_reading(b, type);
    uint32_t flags = ir_flags(b) | (reading.sign ? IR_FLAG_SIGNED : 0);
    enum ir_compare how = compare_of(b, &flags);
    struct ir_operand x = ir_src(b, 1, type), y = ir_src(b, 2, type);
    if (reading.lanes == 1) {
        ret[0] = ir_setp(b, how, reading.type, flags, x, y);
        return 1;
    }
    struct ir_operand xs[4], ys[4];
    ir_pack_parts(b, x, reading.storage, reading.lanes, xs);
    ir_pack_parts(b, y, reading.storage, reading.lanes, ys);
    for (unsigned i = 0; i < 2; i++) {
        ret[i] = ir_setp(b, how, reading.type, flags, xs[i], ys[i]);
    }
    return 2;
}

void ir_build_setp(struct ir_build *b)
{
    struct ir_operand result[2];
    unsigned lanes = compare(b, ir_type_at(b, 0), result);
    const struct ptx_operand *destination = ir_operand_at(b, 0);
    enum ir_op op = bool_op(b);
    struct ir_operand c = op != IR_OP_INVALID ? ir_src(b, 3, PTX_PRED) : ir_none();
    bool second = destination->kind == PTX_OPERAND_PAIR && !ir_is_sink(half(destination, 1));
    if (lanes == 1 && second) { // the second is made from the complement
        result[1] = ir_op1(b, IR_not, IR_I1, 0, result[0]);
    }
    for (unsigned i = 0; op != IR_OP_INVALID && i < (second ? 2u : 1u); i++) {
        result[i] = ir_op2(b, op, IR_I1, 0, result[i], c);
    }
    if (second) { // both are computed before the first is written: it may be a source
        ir_write(b, half(destination, 1), PTX_PRED, result[1]);
    }
    ir_write(b, half(destination, 0), PTX_PRED, result[0]);
}

void ir_build_set(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    struct ir_operand result[2];
    unsigned lanes = compare(b, ir_type_at(b, 1), result);
    enum ir_op op = bool_op(b);
    struct ir_operand c = op != IR_OP_INVALID ? ir_src(b, 3, PTX_PRED) : ir_none();
    struct ir_reading reading = ir_reading(b, type);
    unsigned width = ir_bits(reading.storage) / lanes;
    enum ir_type part = ir_int(width);
    uint64_t yes = ir_mask(part);
    switch (reading.type) {
    case IR_F32:
        yes = 0x3f800000;
        break;
    case IR_F16:
        yes = 0x3c00;
        break;
    case IR_BF16:
        yes = 0x3f80;
        break;
    default:
        break;
    }
    struct ir_operand parts[2];
    for (unsigned i = 0; i < lanes; i++) {
        struct ir_operand p =
            op != IR_OP_INVALID ? ir_op2(b, op, IR_I1, 0, result[i], c) : result[i];
        parts[i] = ir_op3(b, IR_select, part, 0, ir_constant(yes), ir_constant(0), p);
    }
    ir_dst(b, 0, type, lanes == 1 ? parts[0] : ir_pack(b, reading.storage, lanes, parts));
}

void ir_build_selp(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    ir_dst(b, 0, type,
           ir_op3(b, IR_select, ir_reading(b, type).storage, 0, ir_src(b, 1, type),
                  ir_src(b, 2, type), ir_src(b, 3, PTX_PRED)));
}

void ir_build_slct(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0), by = ir_type_at(b, 1);
    struct ir_reading reading = ir_reading(b, by);
    // Not less than zero; an unordered f32 takes the second.
    struct ir_operand p =
        ir_setp(b, IR_GE, reading.type, ir_flags(b) | (reading.sign ? IR_FLAG_SIGNED : 0),
                ir_src(b, 3, by), ir_constant(0));
    ir_dst(b, 0, type,
           ir_op3(b, IR_select, ir_reading(b, type).storage, 0, ir_src(b, 1, type),
                  ir_src(b, 2, type), p));
}
