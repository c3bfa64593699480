// SPDX-License-Identifier: Apache-2.0
//
// cvt, mov and addresses: conversion of single and packed numbers, cvt.pack, packing and unpacking
// moves, cvta, isspacep.
#include "ir_internal.h"

// ---------------------------------------------------------------- cvt

static enum ir_round cvt_round(struct ir_build *b, bool to_int, bool from_int)
{
    static const struct {
        enum ptx_modifier modifier;
        enum ir_round round;
    } table[] = {
        {PTX_MOD_rn, IR_RN},   {PTX_MOD_rz, IR_RZ},   {PTX_MOD_rm, IR_RM},
        {PTX_MOD_rp, IR_RP},   {PTX_MOD_rna, IR_RNA}, {PTX_MOD_rni, IR_RNI},
        {PTX_MOD_rzi, IR_RZI}, {PTX_MOD_rmi, IR_RMI}, {PTX_MOD_rpi, IR_RPI},
    };
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (ir_mod(b, table[i].modifier)) {
            return table[i].round;
        }
    }
    return to_int && !from_int ? IR_RZI : IR_RN;
}

static struct ir_operand convert(struct ir_build *b, enum ir_type to, enum ir_type from,
                                 uint32_t flags, enum ir_round round, struct ir_operand x)
{
    struct ir_operand result = ir_op1(b, IR_cvt, to, flags, x);
    b->block->last->type2 = from;
    b->block->last->round = round;
    return result;
}

// Elements of packed numbers of less than 8 bits lie without gaps.
static unsigned element_bits(enum ir_type type)
{
    return type == IR_E2M1 ? 4 : ir_bits(type);
}

static struct ir_operand pack_pair(struct ir_build *b, struct ir_reading to, struct ir_operand low,
                                   struct ir_operand high)
{
    if (element_bits(to.type) == 4) {
        high = ir_op2(b, IR_shl, IR_I8, 0, high, ir_constant(4));
        return ir_op2(b, IR_or, IR_I8, 0, ir_op2(b, IR_and, IR_I8, 0, low, ir_constant(15)), high);
    }
    return ir_pack(b, to.storage, 2, (struct ir_operand[]){low, high});
}

static void unpack_pair(struct ir_build *b, struct ir_reading from, struct ir_operand x,
                        struct ir_operand ret[2])
{
    if (element_bits(from.type) == 4) {
        ret[0] = ir_op2(b, IR_and, IR_I8, 0, x, ir_constant(15));
        ret[1] = ir_op2(b, IR_shr, IR_I8, 0, x, ir_constant(4));
        return;
    }
    ir_pack_parts(b, x, from.storage, 2, ret);
}

// cvt.pack: saturates two s32 into halves (or quarters … of d, with c shifted up).
static void build_cvt_pack(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    unsigned bits;
    bool sign;
    switch (type) {
    case PTX_U16:
    case PTX_S16:
        bits = 16;
        sign = type == PTX_S16;
        break;
    case PTX_U8:
    case PTX_S8:
        bits = 8;
        sign = type == PTX_S8;
        break;
    case PTX_U4:
    case PTX_S4:
        bits = 4;
        sign = type == PTX_S4;
        break;
    case PTX_U2:
    case PTX_S2:
        bits = 2;
        sign = type == PTX_S2;
        break;
    default:
        ir_fail(b, "cvt.pack to .%s is not compiled by this version", ptx_type_name(type));
    }
    ir_mod(b, PTX_MOD_sat);
    uint32_t mask = (1u << bits) - 1u;
    uint32_t highest = sign ? mask >> 1 : mask, lowest = sign ? ~highest : 0;
    struct ir_operand parts[2];
    for (unsigned i = 0; i < 2; i++) {
        struct ir_operand x = ir_src(b, i + 1, PTX_S32);
        x = ir_op2(b, IR_max, IR_I32, IR_FLAG_SIGNED, x, ir_constant(lowest));
        x = ir_op2(b, IR_min, IR_I32, IR_FLAG_SIGNED, x, ir_constant(highest));
        parts[i] = ir_op2(b, IR_and, IR_I32, 0, x, ir_constant(mask));
    }
    struct ir_operand high = ir_op2(b, IR_shl, IR_I32, 0, parts[0], ir_constant(bits));
    struct ir_operand result = ir_op2(b, IR_or, IR_I32, 0, high, parts[1]);
    if (ir_operand_at(b, 3)->kind != PTX_OPERAND_NONE) {
        struct ir_operand c =
            ir_op2(b, IR_shl, IR_I32, 0, ir_src(b, 3, PTX_B32), ir_constant(2 * bits));
        result = ir_op2(b, IR_or, IR_I32, 0, result, c);
    }
    ir_dst(b, 0, PTX_B32, result);
}

void ir_build_cvt(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0), type2 = ir_type_at(b, 1);
    if (ir_mod(b, PTX_MOD_pack)) {
        build_cvt_pack(b);
        return;
    }
    struct ir_reading to = ir_reading(b, type), from = ir_reading(b, type2);
    bool to_int = !ir_is_float(to.type) && to.type <= IR_I128;
    bool from_int = !ir_is_float(from.type) && from.type <= IR_I128;
    uint32_t flags =
        ir_flags(b) | (to.sign ? IR_FLAG_SIGNED : 0) | (from.sign ? IR_FLAG_SRC_SIGNED : 0);
    flags |= ir_mod(b, PTX_MOD_satfinite) ? IR_FLAG_SATFINITE : 0;
    flags |= ir_mod(b, PTX_MOD_relu) ? IR_FLAG_RELU : 0;
    enum ir_round round = cvt_round(b, to_int, from_int);
    if (to.lanes == 1 && from.lanes == 1) {
        struct ir_operand x = ir_src(b, 1, type2);
        if (to_int && from_int && (flags & IR_FLAG_SAT) == 0) {
            ir_dst(b, 0, type, ir_resize(b, x, from.storage, to.storage, from.sign));
            return;
        }
        ir_dst(b, 0, type, convert(b, to.type, from.type, flags, round, x));
        return;
    }
    struct ir_operand x[2]; // low, high
    if (from.lanes == 1) {  // two numbers: the first operand is the upper half
        x[1] = ir_src(b, 1, type2);
        x[0] = ir_src(b, 2, type2);
    } else {
        unpack_pair(b, from, ir_src(b, 1, type2), x);
    }
    for (unsigned i = 0; i < 2; i++) {
        x[i] = convert(b, to.type, from.type, flags, round, x[i]);
    }
    struct ir_operand result = pack_pair(b, to, x[0], x[1]);
    const struct ptx_operand *destination = ir_operand_at(b, 0);
    enum ptx_type as = to.storage == IR_I8 ? PTX_B8 : to.storage == IR_I16 ? PTX_B16 : PTX_B32;
    ir_write(b, destination, as, result);
}

// ---------------------------------------------------------------- mov

// mov of several registers into one ({…} as source) or of one into several.
static void mov_pack(struct ir_build *b, enum ptx_type type, const struct ptx_operand *source)
{
    struct ir_reading reading = ir_reading(b, type);
    struct ir_operand parts[16];
    unsigned width = source->count == 0 ? 0 : ir_bits(reading.storage) / source->count;
    static const enum ptx_type types[] = {
        [8] = PTX_B8, [16] = PTX_B16, [32] = PTX_B32, [64] = PTX_B64};
    if (width < 8 || width > 64 || ir_int(width) == IR_VOID || types[width] == PTX_TYPE_NONE ||
        width * source->count != ir_bits(reading.storage)) {
        ir_fail(b, "%u registers do not make a value of type .%s", source->count,
                ptx_type_name(type));
    }
    for (unsigned i = 0; i < source->count; i++) {
        parts[i] = ir_read(b, &source->elements[i], types[width]);
    }
    ir_dst(b, 0, type, ir_pack(b, reading.storage, source->count, parts));
}

static void mov_unpack(struct ir_build *b, enum ptx_type type,
                       const struct ptx_operand *destination)
{
    struct ir_reading reading = ir_reading(b, type);
    unsigned width = destination->count == 0 ? 0 : ir_bits(reading.storage) / destination->count;
    static const enum ptx_type types[] = {
        [8] = PTX_B8, [16] = PTX_B16, [32] = PTX_B32, [64] = PTX_B64};
    if (width < 8 || width > 64 || ir_int(width) == IR_VOID || types[width] == PTX_TYPE_NONE ||
        width * destination->count != ir_bits(reading.storage)) {
        ir_fail(b, "a value of type .%s does not fill %u registers", ptx_type_name(type),
                destination->count);
    }
    struct ir_operand parts[16];
    ir_pack_parts(b, ir_src(b, 1, type), reading.storage, destination->count, parts);
    for (unsigned i = 0; i < destination->count; i++) {
        ir_write(b, &destination->elements[i], types[width], parts[i]);
    }
}

// Element n of a vector operand, a vector register or a vector of special registers.
static bool vector_element(const struct ptx_operand *operand, unsigned n,
                           struct ptx_operand *ret_element)
{
    *ret_element = *operand;
    switch (operand->kind) {
    case PTX_OPERAND_VECTOR:
        if (n >= operand->count) {
            return false;
        }
        *ret_element = operand->elements[n];
        return true;
    case PTX_OPERAND_SYMBOL:
        ret_element->kind = PTX_OPERAND_COMPONENT;
        ret_element->component = (uint8_t)n;
        return operand->symbol->kind == PTX_SYMBOL_REGISTER && operand->symbol->vector > n;
    case PTX_OPERAND_SREG:
        ret_element->component = (uint8_t)n;
        return operand->component == PTX_COMPONENT_ALL && n < 4;
    default:
        return false;
    }
}

static void mov_vector(struct ir_build *b, enum ptx_type type, unsigned count)
{
    enum ir_type storage = ir_reading(b, type).storage;
    struct ir_operand values[8];
    struct ptx_operand element;
    for (unsigned i = 0; i < count; i++) {
        if (!vector_element(ir_operand_at(b, 1), i, &element)) {
            ir_fail(b, "the source has no element %u", i);
        }
        // Copies: the elements of the destination may be sources too.
        values[i] = ir_op1(b, IR_mov, storage, 0, ir_read(b, &element, type));
    }
    for (unsigned i = 0; i < count; i++) {
        if (!vector_element(ir_operand_at(b, 0), i, &element)) {
            ir_fail(b, "the destination has no element %u", i);
        }
        ir_write(b, &element, type, values[i]);
    }
}

void ir_build_mov(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    const struct ptx_operand *destination = ir_operand_at(b, 0), *source = ir_operand_at(b, 1);
    if (b->in->vector > 1) {
        mov_vector(b, type, b->in->vector);
    } else if (source->kind == PTX_OPERAND_VECTOR && destination->kind != PTX_OPERAND_VECTOR) {
        mov_pack(b, type, source);
    } else if (destination->kind == PTX_OPERAND_VECTOR && source->kind != PTX_OPERAND_VECTOR) {
        mov_unpack(b, type, destination);
    } else {
        ir_dst(b, 0, type, ir_src(b, 1, type));
    }
}

// ---------------------------------------------------------------- addresses

void ir_build_cvta(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    bool to = ir_mod(b, PTX_MOD_to);
    enum ptx_space written = b->in->space != PTX_SPACE_NONE ? b->in->space : b->in->space2;
    enum ir_space space = ir_space_of(b, written);
    if (type == PTX_U32 && space != IR_SHARED) {
        ir_fail(b, "generic addresses of 32 bits are not compiled");
    }
    struct ir_operand x = ir_src(b, 1, type);
    if (space == IR_SHARED) { // all others are host addresses already
        x = ir_op1(b, to ? IR_cvta_to : IR_cvta, ir_reading(b, type).type, 0, x);
        b->block->last->space = IR_SHARED;
    }
    ir_dst(b, 0, type, x);
}

void ir_build_isspacep(struct ir_build *b)
{
    const struct ptx_operand *source = ir_operand_at(b, 1);
    enum ptx_space written = b->in->space;
    enum ir_space space = written == PTX_SPACE_PARAM || written == PTX_SPACE_PARAM_ENTRY
                              ? IR_PARAM_ENTRY
                              : ir_space_of(b, written);
    if (source->kind == PTX_OPERAND_SYMBOL && source->symbol->kind == PTX_SYMBOL_REGISTER &&
        ptx_type_size(source->symbol->type) < 8) {
        ir_fail(b, "generic addresses of 32 bits are not compiled");
    }
    struct ir_operand result = ir_op1(b, IR_isspacep, IR_I64, 0, ir_src(b, 1, PTX_U64));
    b->block->last->space = space;
    ir_dst(b, 0, PTX_PRED, result);
}
