// SPDX-License-Identifier: Apache-2.0
//
// PTX function -> CFG: walks the statements, keeps registers, labels and places of variables, and
// gives every instruction to the builder that build_table.c names. Guards are here: an operation
// without effects is computed always and selected, others are branched around.
#include "ir_internal.h"

#include <string.h>

#include "ir_program.h"

// ---------------------------------------------------------------- types and modifiers

static const struct {
    uint8_t type, storage, sign, lanes;
} readings[] = {
    [PTX_S8] = {IR_I8, IR_I8, 1, 1},          [PTX_S16] = {IR_I16, IR_I16, 1, 1},
    [PTX_S32] = {IR_I32, IR_I32, 1, 1},       [PTX_S64] = {IR_I64, IR_I64, 1, 1},
    [PTX_U8] = {IR_I8, IR_I8, 0, 1},          [PTX_U16] = {IR_I16, IR_I16, 0, 1},
    [PTX_U32] = {IR_I32, IR_I32, 0, 1},       [PTX_U64] = {IR_I64, IR_I64, 0, 1},
    [PTX_B8] = {IR_I8, IR_I8, 0, 1},          [PTX_B16] = {IR_I16, IR_I16, 0, 1},
    [PTX_B32] = {IR_I32, IR_I32, 0, 1},       [PTX_B64] = {IR_I64, IR_I64, 0, 1},
    [PTX_B128] = {IR_I128, IR_I128, 0, 1},    [PTX_F16] = {IR_F16, IR_I16, 0, 1},
    [PTX_F16X2] = {IR_F16, IR_I32, 0, 2},     [PTX_BF16] = {IR_BF16, IR_I16, 0, 1},
    [PTX_BF16X2] = {IR_BF16, IR_I32, 0, 2},   [PTX_F32] = {IR_F32, IR_I32, 0, 1},
    [PTX_F64] = {IR_F64, IR_I64, 0, 1},       [PTX_F32X2] = {IR_F32, IR_I64, 0, 2},
    [PTX_TF32] = {IR_TF32, IR_I32, 0, 1},     [PTX_E4M3X2] = {IR_E4M3, IR_I16, 0, 2},
    [PTX_E5M2X2] = {IR_E5M2, IR_I16, 0, 2},   [PTX_E2M1X2] = {IR_E2M1, IR_I8, 0, 2},
    [PTX_E2M3X2] = {IR_E2M3, IR_I16, 0, 2},   [PTX_E3M2X2] = {IR_E3M2, IR_I16, 0, 2},
    [PTX_UE8M0X2] = {IR_UE8M0, IR_I16, 0, 2}, [PTX_PRED] = {IR_I1, IR_I1, 0, 1},
    [PTX_S16X2] = {IR_I16, IR_I32, 1, 2},     [PTX_U16X2] = {IR_I16, IR_I32, 0, 2},
    [PTX_U8X4] = {IR_I8, IR_I32, 0, 4},       [PTX_S8X4] = {IR_I8, IR_I32, 1, 4},
};

struct ir_reading ir_reading(struct ir_build *b, enum ptx_type type)
{
    if ((size_t)type >= sizeof readings / sizeof readings[0] || readings[type].lanes == 0) {
        ir_fail(b, "type .%s is not compiled by this version", ptx_type_name(type));
    }
    return (struct ir_reading){.type = (enum ir_type)readings[type].type,
                               .storage = (enum ir_type)readings[type].storage,
                               .sign = readings[type].sign,
                               .lanes = readings[type].lanes};
}

bool ir_mod(struct ir_build *b, enum ptx_modifier modifier)
{
    bool found = false;
    for (unsigned i = 0; i < b->in->modifier_count; i++) {
        if (b->in->modifiers[i] == modifier) {
            b->used |= 1u << i;
            found = true;
        }
    }
    return found;
}

enum ptx_modifier ir_mod_of(struct ir_build *b, const enum ptx_modifier *list,
                            enum ptx_modifier otherwise)
{
    for (; *list != PTX_MOD_INVALID; list++) {
        if (ir_mod(b, *list)) {
            return *list;
        }
    }
    return otherwise;
}

// ---------------------------------------------------------------- registers and places

uint32_t ir_register(struct ir_build *b, const struct ptx_symbol *symbol, unsigned component)
{
    struct ir_instance *scope = b->scope;
    unsigned width = symbol->vector > 1 ? symbol->vector : 1;
    if (symbol->index >= scope->ptx->register_count || component >= width) {
        ir_fail(b, "register %s has no component %u", symbol->name, component);
    }
    uint32_t *entry = &scope->registers[symbol->index];
    if (*entry == 0) {
        enum ir_type storage = ir_reading(b, symbol->type).storage;
        *entry = ir_value_new(b, storage, symbol->name) + 1;
        for (unsigned i = 1; i < width; i++) {
            ir_value_new(b, storage, symbol->name);
        }
    }
    return *entry - 1 + component;
}

uint32_t ir_carry(struct ir_build *b)
{
    if (b->scope->carry == 0) {
        b->scope->carry = ir_value_new(b, IR_I1, "CC.CF") + 1;
    }
    return b->scope->carry - 1;
}

uint32_t ir_slot_new(struct ir_build *b, const char *name, uint64_t size, uint32_t align)
{
    struct ir_function *fn = b->fn;
    fn->slots = ir_grow(b, fn->slots, &b->slot_capacity, fn->slot_count, sizeof *fn->slots);
    fn->slots[fn->slot_count] =
        (struct ir_slot){.name = name, .size = size, .align = align == 0 ? 1 : align};
    return fn->slot_count++;
}

void ir_place_set(struct ir_build *b, struct ir_instance *scope,
                  const struct ptx_variable *variable, struct ir_place place)
{
    scope->places = ir_grow(b, scope->places, &scope->place_capacity, scope->place_count,
                            sizeof *scope->places);
    scope->places[scope->place_count] = place;
    ir_map_put(b, &scope->variables, variable, scope->place_count++);
}

bool ir_place_find(const struct ir_instance *scope, const struct ptx_variable *variable,
                   struct ir_place *ret_place)
{
    uint32_t at;
    if (!ir_map_get(&scope->variables, variable, &at)) {
        return false;
    }
    *ret_place = scope->places[at];
    return true;
}

struct ir_instance *ir_scope_new(struct ir_build *b, const struct ptx_function *ptx, uint32_t unit,
                                 uint32_t program_index)
{
    struct ir_instance *scope = ir_new_scratch(b, sizeof *scope);
    scope->ptx = ptx;
    scope->unit = unit;
    scope->program_index = program_index;
    scope->registers = ir_new_scratch(b, (ptx->register_count + 1) * sizeof *scope->registers);
    scope->labels = ir_new_scratch(b, (ptx->label_count + 1) * sizeof(struct ir_block *));
    return scope;
}

struct ir_block *ir_label(struct ir_build *b, const struct ptx_symbol *symbol)
{
    if (symbol == NULL || symbol->kind != PTX_SYMBOL_LABEL ||
        symbol->index >= b->scope->ptx->label_count) {
        ir_fail(b, "not a label of this function: %s", symbol != NULL ? symbol->name : "?");
    }
    struct ir_block **entry = &b->scope->labels[symbol->index];
    if (*entry == NULL) {
        *entry = ir_block_new(b);
    }
    return *entry;
}

// ---------------------------------------------------------------- operands

const struct ptx_operand *ir_operand_at(struct ir_build *b, unsigned n)
{
    static const struct ptx_operand none = {.kind = PTX_OPERAND_NONE};
    return n < b->in->operand_count ? &b->in->operands[n] : &none;
}

bool ir_is_sink(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_SINK || operand->kind == PTX_OPERAND_NONE;
}

static uint64_t float_bits(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

// A floating-point literal where `type` is read: converted when the type is the other float, its
// pattern otherwise.
static struct ir_operand read_literal(struct ir_build *b, const struct ptx_operand *operand,
                                      enum ptx_type type, struct ir_reading reading)
{
    bool single = operand->kind == PTX_OPERAND_IMM_F32;
    if (single && type == PTX_F64) {
        uint32_t pattern = (uint32_t)operand->integer;
        float narrow;
        memcpy(&narrow, &pattern, sizeof narrow);
        double wide = (double)narrow;
        uint64_t bits;
        memcpy(&bits, &wide, sizeof bits);
        return ir_constant(bits);
    }
    if (!single && reading.storage == IR_I32) { // decimal literals are doubles
        double wide;
        memcpy(&wide, &operand->integer, sizeof wide);
        return ir_constant(float_bits((float)wide));
    }
    if (ir_bits(reading.storage) != (single ? 32 : 64)) {
        ir_fail(b, "floating-point literal as an operand of type .%s", ptx_type_name(type));
    }
    return ir_constant(operand->integer & ir_mask(reading.storage));
}

static struct ir_operand read_sreg(struct ir_build *b, const struct ptx_operand *operand,
                                   enum ir_type storage)
{
    enum ir_type own = ir_reading(b, ptx_sreg_type((enum ptx_sreg)operand->sreg)).storage;
    if (operand->component == PTX_COMPONENT_ALL) {
        ir_fail(b, "a whole vector of special registers is read only by mov.v4");
    }
    if ((operand->sreg == PTX_SREG_ctaid || operand->sreg == PTX_SREG_tid ||
         operand->sreg == PTX_SREG_ntid || operand->sreg == PTX_SREG_nctaid) &&
        operand->component == 3) {
        return ir_constant(operand->sreg == PTX_SREG_ntid || operand->sreg == PTX_SREG_nctaid);
    }
    struct ir_inst *inst = ir_append(b, IR_sreg, own, 1, 0);
    inst->index = operand->sreg;
    inst->sub = operand->component;
    return ir_resize(b, ir_use(ir_result(b, inst, 0)), own, storage, false);
}

struct ir_operand ir_read(struct ir_build *b, const struct ptx_operand *operand, enum ptx_type type)
{
    struct ir_reading reading = ir_reading(b, type);
    struct ir_operand result;
    switch (operand->kind) {
    case PTX_OPERAND_SYMBOL:
    case PTX_OPERAND_COMPONENT:
        if (operand->symbol->kind == PTX_SYMBOL_REGISTER) {
            uint32_t value =
                ir_register(b, operand->symbol,
                            operand->kind == PTX_OPERAND_COMPONENT ? operand->component : 0);
            enum ir_type own = b->fn->values[value].type;
            if ((own == IR_I1) != (reading.storage == IR_I1)) {
                ir_fail(b, "register %s of type .%s as an operand of type .%s",
                        operand->symbol->name, ptx_type_name(operand->symbol->type),
                        ptx_type_name(type));
            }
            result = ir_resize(b, ir_use(value), own, reading.storage, false);
            break;
        }
        result =
            ir_resize(b, ir_symbol_address(b, operand->symbol, 0), IR_I64, reading.storage, false);
        break;
    case PTX_OPERAND_SYMBOL_OFFSET:
        if (operand->symbol->kind == PTX_SYMBOL_REGISTER) { // %r1+4: a sum, as ptxas takes it
            struct ptx_operand plain = *operand;
            plain.kind = PTX_OPERAND_SYMBOL;
            result = ir_op2(b, IR_add, reading.storage, 0, ir_read(b, &plain, type),
                            ir_constant(operand->integer & ir_mask(reading.storage)));
            break;
        }
        result = ir_resize(b, ir_symbol_address(b, operand->symbol, (int64_t)operand->integer),
                           IR_I64, reading.storage, false);
        break;
    case PTX_OPERAND_IMM_INT:
        if (ir_is_float(reading.type) && reading.lanes == 1 && operand->integer != 0) {
            ir_fail(b, "integer literal as an operand of type .%s", ptx_type_name(type));
        }
        if (reading.storage == IR_I1) {
            result = ir_constant(operand->integer != 0);
        } else if (reading.storage == IR_I128 && (operand->integer >> 63) != 0) {
            ir_fail(b, "negative literal as an operand of 128 bits");
        } else {
            result = ir_constant(operand->integer & ir_mask(reading.storage));
        }
        break;
    case PTX_OPERAND_IMM_F32:
    case PTX_OPERAND_IMM_F64:
        result = read_literal(b, operand, type, reading);
        break;
    case PTX_OPERAND_SREG:
        result = read_sreg(b, operand, reading.storage);
        break;
    default:
        ir_fail(b, "this form of operand is not compiled by this version");
    }
    if (operand->negated) {
        if (reading.storage != IR_I1) {
            ir_fail(b, "! before an operand that is no predicate");
        }
        result = ir_op1(b, IR_not, IR_I1, 0, result);
    }
    return result;
}

struct ir_operand ir_src(struct ir_build *b, unsigned n, enum ptx_type type)
{
    return ir_read(b, ir_operand_at(b, n), type);
}

// Gives the value to a register. A temporary that the last operation just made becomes the
// register itself; under a guard the old value is kept where the guard is false.
void ir_assign(struct ir_build *b, uint32_t target, struct ir_operand value)
{
    enum ir_type storage = b->fn->values[target].type;
    if (b->guard.kind != IR_NONE) {
        struct ir_inst *inst = ir_append(b, IR_select, storage, 1, 3);
        inst->src[0] = value;
        inst->src[1] = ir_use(target);
        inst->src[2] = b->guard;
        inst->dst[0] = target;
        return;
    }
    struct ir_inst *last = b->block != NULL ? b->block->last : NULL;
    if (value.kind == IR_VALUE && last != NULL && b->fn->values[value.value].name == NULL) {
        for (unsigned i = 0; i < last->dst_count; i++) {
            if (last->dst[i] == value.value) {
                last->dst[i] = target;
                return;
            }
        }
    }
    struct ir_inst *inst = ir_append(b, IR_mov, storage, 1, 1);
    inst->src[0] = value;
    inst->dst[0] = target;
}

void ir_write(struct ir_build *b, const struct ptx_operand *operand, enum ptx_type type,
              struct ir_operand value)
{
    if (ir_is_sink(operand)) {
        return;
    }
    if ((operand->kind != PTX_OPERAND_SYMBOL && operand->kind != PTX_OPERAND_COMPONENT) ||
        operand->symbol->kind != PTX_SYMBOL_REGISTER) {
        ir_fail(b, "the destination is no register");
    }
    struct ir_reading reading = ir_reading(b, type);
    uint32_t target = ir_register(b, operand->symbol,
                                  operand->kind == PTX_OPERAND_COMPONENT ? operand->component : 0);
    enum ir_type storage = b->fn->values[target].type;
    if ((storage == IR_I1) != (reading.storage == IR_I1)) {
        ir_fail(b, "register %s of type .%s as a destination of type .%s", operand->symbol->name,
                ptx_type_name(operand->symbol->type), ptx_type_name(type));
    }
    ir_assign(b, target, ir_resize(b, value, reading.storage, storage, reading.sign));
}

void ir_dst(struct ir_build *b, unsigned n, enum ptx_type type, struct ir_operand value)
{
    ir_write(b, ir_operand_at(b, n), type, value);
}

// ---------------------------------------------------------------- statements

static void check_modifiers(struct ir_build *b)
{
    // Words that say how the hardware may do it, not what is computed.
    static const enum ptx_modifier hints[] = {PTX_MOD_ca,
                                              PTX_MOD_cg,
                                              PTX_MOD_cs,
                                              PTX_MOD_lu,
                                              PTX_MOD_cv,
                                              PTX_MOD_wb,
                                              PTX_MOD_wt,
                                              PTX_MOD_L1_evict_normal,
                                              PTX_MOD_L1_evict_unchanged,
                                              PTX_MOD_L1_evict_first,
                                              PTX_MOD_L1_evict_last,
                                              PTX_MOD_L1_no_allocate,
                                              PTX_MOD_L2_evict_normal,
                                              PTX_MOD_L2_evict_first,
                                              PTX_MOD_L2_evict_last,
                                              PTX_MOD_L2_cache_hint,
                                              PTX_MOD_L2_64B,
                                              PTX_MOD_L2_128B,
                                              PTX_MOD_L2_256B,
                                              PTX_MOD_uni,
                                              PTX_MOD_aligned,
                                              PTX_MOD_nc,
                                              PTX_MOD_weak,
                                              PTX_MOD_unified,
                                              PTX_MOD_cta,
                                              PTX_MOD_sync,
                                              PTX_MOD_INVALID};
    uint32_t all = (1u << b->in->modifier_count) - 1u;
    if ((b->used & all) == all) {
        return;
    }
    for (unsigned i = 0; hints[i] != PTX_MOD_INVALID; i++) {
        ir_mod(b, hints[i]);
    }
    for (unsigned i = 0; i < b->in->modifier_count; i++) {
        if ((b->used >> i & 1) == 0) {
            ir_fail(b, "modifier '.%s' of '%s' is not compiled by this version",
                    ptx_modifier_name(b->in->modifiers[i]), ptx_opcode_name(b->in->opcode));
        }
    }
}

static struct ir_operand read_guard(struct ir_build *b, bool *ret_negated)
{
    const struct ptx_instruction *in = b->in;
    uint32_t value = ir_register(b, in->guard, 0);
    if (b->fn->values[value].type != IR_I1) {
        ir_fail(b, "guard %s is no predicate", in->guard->name);
    }
    *ret_negated = in->guard_negated;
    return ir_use(value);
}

static void build_instruction(struct ir_build *b)
{
    const struct ptx_instruction *in = b->in;
    const struct ir_rule *rule = ir_rule(in->opcode);
    if (rule->build == NULL) {
        ir_fail(b, "instruction '%s' is not compiled by this version", ptx_opcode_name(in->opcode));
    }
    b->used = 0;
    b->guard = ir_none();
    if (in->guard == NULL || in->opcode == PTX_OP_bra) {
        rule->build(b);
        check_modifiers(b);
        return;
    }
    bool negated;
    struct ir_operand guard = read_guard(b, &negated);
    bool branch =
        rule->branch && !(in->opcode == PTX_OP_ld &&
                          (in->space == PTX_SPACE_PARAM || in->space == PTX_SPACE_PARAM_ENTRY));
    if (!branch) {
        // With two predicates as destinations the first could overwrite the guard of the second.
        b->guard = negated ? ir_op1(b, IR_not, IR_I1, 0, guard)
                   : ir_operand_at(b, 0)->kind == PTX_OPERAND_PAIR
                       ? ir_op1(b, IR_mov, IR_I1, 0, guard)
                       : guard;
        rule->build(b);
        b->guard = ir_none();
        check_modifiers(b);
        return;
    }
    struct ir_block *body = ir_block_new(b), *join = ir_block_new(b);
    ir_cbr(b, guard, negated ? join : body, negated ? body : join);
    ir_block_start(b, body);
    rule->build(b);
    check_modifiers(b);
    ir_block_start(b, join);
}

static void build_variable(struct ir_build *b, const struct ptx_variable *variable)
{
    switch (variable->space) {
    case PTX_SPACE_LOCAL:
    case PTX_SPACE_PARAM:
    case PTX_SPACE_PARAM_FUNC: {
        uint32_t slot = ir_slot_new(b, variable->symbol->name, variable->size, variable->align);
        ir_place_set(b, b->scope, variable,
                     (struct ir_place){.space = IR_SLOT, .index = slot, .size = variable->size});
        return;
    }
    case PTX_SPACE_GLOBAL:
    case PTX_SPACE_CONST:
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CTA:
        return; // in the program's table
    default:
        ir_fail(b, "variable %s of this state space is not compiled inside a body",
                variable->symbol->name);
    }
}

void ir_build_body(struct ir_build *b)
{
    const struct ptx_statement *outer = b->statement;
    const struct ir_instance *outer_scope = b->statement_scope;
    b->statement_scope = b->scope;
    for (const struct ptx_statement *s = b->scope->ptx->body; s != NULL; s = s->next) {
        b->statement = s;
        switch (s->kind) {
        case PTX_STMT_LABEL:
            ir_block_start(b, ir_label(b, s->label));
            break;
        case PTX_STMT_VARIABLE:
            build_variable(b, s->variable);
            break;
        case PTX_STMT_INSTRUCTION:
            b->in = s->instruction;
            build_instruction(b);
            break;
        }
    }
    if (b->block != NULL) { // the end of a body returns
        ir_build_ret(b);
    }
    b->statement = outer;
    b->statement_scope = outer_scope;
    b->in = outer != NULL && outer->kind == PTX_STMT_INSTRUCTION ? outer->instruction : NULL;
}

// Of the function that is being built, or NULL.
static const struct ir_loc *first_line(struct ir_build *b)
{
    const struct ptx_statement *s = b->scope->ptx->body;
    while (s != NULL && (s->loc == NULL || s->loc->inlined_at != NULL || s->loc->line == 0)) {
        s = s->next;
    }
    b->statement = s;
    b->statement_scope = b->scope;
    const struct ir_loc *loc = ir_loc_now(b);
    b->statement = NULL;
    b->statement_scope = NULL;
    return loc;
}

void ir_build_function(struct ir_build *b, struct ir_function *fn)
{
    const struct ir_program_function *source = &b->program->functions[fn->program_index];
    b->fn = fn;
    b->block = NULL;
    b->block_tail = &fn->blocks;
    b->slot_capacity = 0;
    b->inlined = 0;
    b->statement = NULL;
    b->statement_scope = NULL;
    b->known.scope = NULL; // its memory may be used again
    b->scope = ir_scope_new(b, source->ptx, source->unit, fn->program_index);
    fn->loc = first_line(b);
    ir_bind_formals(b);
    ir_block_start(b, ir_block_new(b));
    ir_load_formals(b);
    ir_build_body(b);
    b->scope = NULL;
    b->statement = NULL;
}
