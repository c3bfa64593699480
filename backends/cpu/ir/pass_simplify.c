// SPDX-License-Identifier: Apache-2.0
//
// Pass simplify: copies, constants, branches on constants and dead code, on SSA form. Small on
// purpose: LLVM does the rest; what matters here is that frames and the analysis of loops see no
// copies and no dead values.
#include "ir_internal.h"

#include <string.h>

enum { MAX_ROUNDS = 8 };

struct simplify {
    struct ir_build *b;
    struct ir_operand *map; // value -> what it is replaced by, or NONE
    bool changed, cut;      // something was replaced; an edge went away
};

static struct ir_operand resolve(struct simplify *s, struct ir_operand operand)
{
    while (operand.kind == IR_VALUE && s->map[operand.value].kind != IR_NONE) {
        operand = s->map[operand.value];
    }
    return operand;
}

static bool same(struct ir_operand a, struct ir_operand b)
{
    if (a.kind != b.kind) {
        return false;
    }
    return a.kind == IR_VALUE      ? a.value == b.value
           : a.kind == IR_CONSTANT ? a.bits == b.bits
                                   : true;
}

static bool is_constant(struct ir_operand x, uint64_t bits)
{
    return x.kind == IR_CONSTANT && x.bits == bits;
}

static int64_t as_signed(uint64_t bits, enum ir_type storage)
{
    unsigned shift = 64 - ir_bits(storage);
    return ir_bits(storage) >= 64 ? (int64_t)bits : (int64_t)(bits << shift) >> shift;
}

// ---------------------------------------------------------------- folding

static bool compare(enum ir_compare how, uint64_t x, uint64_t y, int64_t sx, int64_t sy, bool sign,
                    bool *ret)
{
    int order = sign ? (sx > sy) - (sx < sy) : (x > y) - (x < y);
    switch (how) {
    case IR_EQ:
        *ret = order == 0;
        return true;
    case IR_NE:
        *ret = order != 0;
        return true;
    case IR_LT:
        *ret = order < 0;
        return true;
    case IR_LE:
        *ret = order <= 0;
        return true;
    case IR_GT:
        *ret = order > 0;
        return true;
    case IR_GE:
        *ret = order >= 0;
        return true;
    default:
        return false;
    }
}

// Integer operation on two constants of a storage type; false when it is not folded.
static bool fold_binary(const struct ir_inst *inst, uint64_t x, uint64_t y, uint64_t *ret)
{
    enum ir_type type = inst->type;
    bool sign = (inst->flags & IR_FLAG_SIGNED) != 0, truth;
    uint64_t mask = ir_mask(type);
    x &= mask;
    switch (inst->op) {
    case IR_add:
        *ret = x + y;
        break;
    case IR_sub:
        *ret = x - y;
        break;
    case IR_mul:
        if ((inst->flags & IR_FLAG_HI) != 0) {
            return false;
        }
        *ret = x * y;
        break;
    case IR_and:
        *ret = x & y;
        break;
    case IR_or:
        *ret = x | y;
        break;
    case IR_xor:
        *ret = x ^ y;
        break;
    case IR_shl:
        *ret = (y & UINT32_MAX) >= ir_bits(type) ? 0 : x << y;
        break;
    case IR_shr: {
        uint64_t by = (y & UINT32_MAX) >= ir_bits(type) ? ir_bits(type) - 1 : y;
        if (sign) {
            *ret = (uint64_t)(as_signed(x, type) >> by);
        } else {
            *ret = by != y ? 0 : x >> by;
        }
        break;
    }
    case IR_setp:
        y &= mask;
        if (!compare(inst->compare, x, y, as_signed(x, type), as_signed(y, type), sign, &truth)) {
            return false;
        }
        *ret = truth;
        return true;
    default:
        return false;
    }
    *ret &= mask;
    return true;
}

static bool plain_integer(const struct ir_inst *inst)
{
    return inst->type >= IR_I1 && inst->type <= IR_I64 && inst->dst_count == 1 &&
           inst->src_count == 2 && (inst->flags & (IR_FLAG_SAT | IR_FLAG_CC_IN)) == 0;
}

static struct ir_operand fold_integer(const struct ir_inst *inst)
{
    struct ir_operand x = inst->src[0], y = inst->src[1];
    uint64_t bits;
    if (x.kind == IR_CONSTANT && y.kind == IR_CONSTANT &&
        fold_binary(inst, x.bits, y.bits, &bits)) {
        return ir_constant(bits);
    }
    uint64_t ones = ir_mask(inst->type);
    switch (inst->op) {
    case IR_add:
    case IR_or:
    case IR_xor:
        if (is_constant(x, 0)) {
            return y;
        }
        return is_constant(y, 0) ? x : ir_none();
    case IR_sub:
    case IR_shl:
    case IR_shr:
        return is_constant(y, 0) ? x : ir_none();
    case IR_mul:
        if ((inst->flags & IR_FLAG_HI) != 0) {
            return ir_none();
        }
        return is_constant(y, 1) ? x : is_constant(x, 1) ? y : ir_none();
    case IR_and:
        if (is_constant(x, 0) || is_constant(y, 0)) {
            return ir_constant(0);
        }
        return is_constant(y, ones) ? x : is_constant(x, ones) ? y : ir_none();
    default:
        return ir_none();
    }
}

static struct ir_operand fold_cvt(struct simplify *s, const struct ir_inst *inst)
{
    bool integers = inst->type <= IR_I64 && inst->type2 <= IR_I64;
    if (!integers || (inst->flags & IR_FLAG_SAT) != 0) {
        return ir_none();
    }
    if (inst->type == inst->type2) {
        return inst->src[0];
    }
    if (inst->src[0].kind == IR_CONSTANT) {
        uint64_t bits = inst->src[0].bits & ir_mask(inst->type2);
        if ((inst->flags & IR_FLAG_SRC_SIGNED) != 0) {
            bits = (uint64_t)as_signed(bits, inst->type2);
        }
        return ir_constant(bits & ir_mask(inst->type));
    }
    // Truncation of an extension from the same width is the value itself.
    if (inst->src[0].kind == IR_VALUE) {
        const struct ir_inst *def = s->b->fn->values[inst->src[0].value].def;
        if (def != NULL && def->op == IR_cvt && def->type == inst->type2 &&
            def->type2 == inst->type && ir_bits(def->type) > ir_bits(def->type2) &&
            def->type <= IR_I64 && def->type2 >= IR_I1 && (def->flags & IR_FLAG_SAT) == 0 &&
            inst->type != IR_I1) {
            return resolve(s, def->src[0]);
        }
    }
    return ir_none();
}

static struct ir_operand fold_phi(struct simplify *s, const struct ir_block *block,
                                  const struct ir_inst *phi)
{
    struct ir_operand only = ir_none();
    for (uint32_t i = 0; i < block->pred_count; i++) {
        struct ir_operand x = resolve(s, phi->phi[i]);
        if (x.kind == IR_VALUE && x.value == phi->dst[0]) {
            continue;
        }
        if (only.kind == IR_NONE) {
            only = x;
        } else if (!same(only, x)) {
            return ir_none();
        }
    }
    return only.kind == IR_NONE ? ir_undef() : only;
}

static const struct ir_inst *def_of(struct simplify *s, struct ir_operand x)
{
    return x.kind == IR_VALUE ? s->b->fn->values[x.value].def : NULL;
}

// unpack of a pack of as many parts: the parts themselves.
static bool fold_unpack(struct simplify *s, const struct ir_inst *inst)
{
    const struct ir_inst *def = def_of(s, inst->src[0]);
    if (def == NULL || def->op != IR_pack || def->src_count != inst->dst_count) {
        return false;
    }
    for (unsigned i = 0; i < inst->dst_count; i++) {
        s->map[inst->dst[i]] = resolve(s, def->src[i]);
    }
    return true;
}

static struct ir_operand fold(struct simplify *s, const struct ir_block *block,
                              const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_mov:
        return inst->src[0];
    case IR_phi:
        return fold_phi(s, block, inst);
    case IR_select:
        if (inst->src[2].kind == IR_CONSTANT) {
            return inst->src[inst->src[2].bits != 0 ? 0 : 1];
        }
        return same(inst->src[0], inst->src[1]) ? inst->src[0] : ir_none();
    case IR_not:
        return inst->src[0].kind == IR_CONSTANT && inst->type <= IR_I64
                   ? ir_constant(~inst->src[0].bits & ir_mask(inst->type))
                   : ir_none();
    case IR_cvt:
        return fold_cvt(s, inst);
    case IR_pack: {
        const struct ir_inst *def = def_of(s, inst->src[0]);
        if (def == NULL || def->op != IR_unpack || def->dst_count != inst->src_count) {
            return ir_none();
        }
        for (unsigned i = 0; i < inst->src_count; i++) {
            if (inst->src[i].kind != IR_VALUE || inst->src[i].value != def->dst[i]) {
                return ir_none();
            }
        }
        return resolve(s, def->src[0]);
    }
    default:
        return plain_integer(inst) ? fold_integer(inst) : ir_none();
    }
}

// An address that is a slot or a slot plus a constant: access the slot itself.
static void fold_address(struct simplify *s, struct ir_inst *inst)
{
    bool memory = inst->op == IR_ld || inst->op == IR_st;
    bool has_base = inst->op == IR_ld ? inst->src_count == 1 : inst->src_count > inst->vector;
    if (!memory || !has_base || (inst->space != IR_LOCAL && inst->space != IR_GENERIC)) {
        return;
    }
    int64_t offset = inst->offset;
    const struct ir_inst *def = def_of(s, inst->src[0]);
    while (def != NULL && def->op == IR_add && def->type == IR_I64 && def->src_count == 2 &&
           def->dst_count == 1 && def->src[1].kind == IR_CONSTANT) {
        offset += (int64_t)def->src[1].bits;
        def = def_of(s, resolve(s, def->src[0]));
    }
    if (def == NULL || def->op != IR_slot) {
        return;
    }
    inst->space = IR_SLOT;
    inst->index = def->index;
    inst->offset = offset + def->offset;
    inst->src++;
    inst->src_count--;
    s->changed = true;
}

static bool simplify_branch(struct ir_inst *inst)
{
    if (inst->op != IR_cbr || inst->src[0].kind != IR_CONSTANT) {
        return false;
    }
    inst->target[0] = inst->target[inst->src[0].bits != 0 ? 0 : 1];
    inst->op = IR_br;
    inst->src_count = 0;
    return true;
}

static void round_once(struct simplify *s)
{
    for (struct ir_block *block = s->b->fn->blocks; block != NULL; block = block->next) {
        struct ir_inst *next;
        for (struct ir_inst *inst = block->first; inst != NULL; inst = next) {
            next = inst->next;
            for (unsigned i = 0; i < inst->src_count; i++) {
                inst->src[i] = resolve(s, inst->src[i]);
            }
            if (simplify_branch(inst)) {
                s->cut = true;
                continue;
            }
            fold_address(s, inst);
            bool gone = inst->op == IR_unpack && fold_unpack(s, inst);
            if (!gone && inst->dst_count == 1) {
                struct ir_operand by = fold(s, block, inst);
                if (by.kind != IR_NONE && !(by.kind == IR_VALUE && by.value == inst->dst[0])) {
                    s->map[inst->dst[0]] = by;
                    gone = true;
                }
            }
            if (gone) {
                ir_remove(block, inst);
                s->changed = true;
            }
        }
    }
}

static void resolve_phis(struct simplify *s)
{
    for (struct ir_block *block = s->b->fn->blocks; block != NULL; block = block->next) {
        for (struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            for (unsigned i = 0; i < inst->src_count; i++) {
                inst->src[i] = resolve(s, inst->src[i]);
            }
            for (uint32_t i = 0; inst->op == IR_phi && i < block->pred_count; i++) {
                inst->phi[i] = resolve(s, inst->phi[i]);
            }
        }
    }
}

// ---------------------------------------------------------------- dead code

static void need(struct ir_function *fn, bool *needed, uint32_t *work, uint32_t *count,
                 struct ir_operand operand)
{
    if (operand.kind == IR_VALUE && !needed[operand.value]) {
        needed[operand.value] = true;
        if (fn->values[operand.value].def != NULL) {
            work[(*count)++] = operand.value;
        }
    }
}

static void remove_dead(struct simplify *s, struct ir_block **block_of)
{
    struct ir_function *fn = s->b->fn;
    bool *needed = ir_new_scratch(s->b, fn->value_count + 1);
    uint32_t *work = ir_new_scratch(s->b, (fn->value_count + 1) * sizeof *work), count = 0;
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            for (unsigned i = 0; i < inst->dst_count; i++) {
                fn->values[inst->dst[i]].def = inst;
                block_of[inst->dst[i]] = block;
            }
        }
    }
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            for (unsigned i = 0; i < inst->src_count && !ir_removable(inst); i++) {
                need(fn, needed, work, &count, inst->src[i]);
            }
        }
    }
    while (count > 0) {
        uint32_t value = work[--count];
        const struct ir_inst *def = fn->values[value].def;
        for (unsigned i = 0; i < def->src_count; i++) {
            need(fn, needed, work, &count, def->src[i]);
        }
        for (uint32_t i = 0; def->op == IR_phi && i < block_of[value]->pred_count; i++) {
            need(fn, needed, work, &count, def->phi[i]);
        }
    }
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        struct ir_inst *next;
        for (struct ir_inst *inst = block->first; inst != NULL; inst = next) {
            next = inst->next;
            bool used = !ir_removable(inst);
            for (unsigned i = 0; i < inst->dst_count; i++) {
                used |= needed[inst->dst[i]];
            }
            if (!used) {
                ir_remove(block, inst);
            }
        }
    }
}

static void set_definitions(struct ir_function *fn)
{
    for (uint32_t i = 0; i < fn->value_count; i++) {
        fn->values[i].def = NULL;
    }
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            for (unsigned i = 0; i < inst->dst_count; i++) {
                fn->values[inst->dst[i]].def = inst;
            }
        }
    }
}

void ir_pass_simplify(struct ir_build *b)
{
    struct ir_function *fn = b->fn;
    struct simplify s = {.b = b};
    s.map = ir_new_scratch(b, (fn->value_count + 1) * sizeof *s.map);
    s.changed = true;
    set_definitions(fn);
    for (unsigned round = 0; s.changed && round < MAX_ROUNDS; round++) {
        s.changed = s.cut = false;
        round_once(&s);
        resolve_phis(&s);
        if (s.cut) {
            ir_pass_order(b);
            s.changed = true;
        }
    }
    remove_dead(&s, ir_new_scratch(b, (fn->value_count + 1) * sizeof(struct ir_block *)));
    set_definitions(fn);
}
