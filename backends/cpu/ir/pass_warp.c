// SPDX-License-Identifier: Apache-2.0
//
// Pass warp: from a function of one lane to one that runs fn->lanes lanes in step. Only uniform
// branches remain; lanes that part wait in the masks of their blocks (pass_warp.h), and definitions
// keep the lanes of others where these need them (execution.md 4.2). Each block is there twice: for
// all lanes, without masks and with nobody pending, and for some of them. Phis become copies on
// edges; pass ssa makes new ones.
#include "pass_warp.h"

#include <string.h>

enum { MAX_MADE = 40000, MAX_CLONED = 6000 }; // blocks made; operations that are cloned

struct warp {
    struct ir_build *b;
    struct ir_function *fn;
    struct ir_divergence d;
    struct ir_block **full, **masked; // by old number
    uint32_t *pending;                // by old number: value that holds the mask
    uint32_t current;                 // value: lanes that execute the block
    uint64_t *waited;                 // blocks that are in some frontier
    struct ir_block *list;            // of all blocks made
    uint32_t made;
    bool clones;
    // while a block is copied
    const struct ir_block *from;
    bool all;                 // the copy for all lanes
    struct ir_operand inside; // predicate of the lanes, made when first asked for
};

// ---------------------------------------------------------------- vocabulary

static struct ir_block *new_block(struct warp *w)
{
    struct ir_block *block = ir_block_new(w->b);
    if (++w->made > MAX_MADE) {
        ir_fail(w->b, "warp form: too many blocks");
    }
    block->next = w->list;
    w->list = block;
    return block;
}

static uint32_t new_value(struct warp *w, enum ir_type storage, enum ir_kind kind)
{
    uint32_t value = ir_value_new(w->b, storage, NULL);
    w->fn->values[value].kind = (uint8_t)kind;
    return value;
}

static struct ir_inst *append(struct warp *w, enum ir_op op, enum ir_type type, uint32_t dst,
                              unsigned sources)
{
    struct ir_inst *inst = ir_append(w->b, op, type, 1, sources);
    inst->dst[0] = dst;
    if (w->from != NULL) {
        ir_same_place(inst, w->from->last);
    }
    return inst;
}

static uint32_t full_mask(const struct warp *w)
{
    return UINT32_MAX >> (32 - w->fn->lanes);
}

static struct ir_operand every_lane(const struct warp *w)
{
    return ir_constant(full_mask(w));
}

static void assign(struct warp *w, uint32_t value, struct ir_operand operand)
{
    append(w, IR_mov, w->fn->values[value].type, value, 1)->src[0] = operand;
}

// Uniform I32 (or I1) arithmetic on masks.
static struct ir_operand binary(struct warp *w, enum ir_op op, struct ir_operand x,
                                struct ir_operand y)
{
    struct ir_inst *inst = append(w, op, IR_I32, new_value(w, IR_I32, IR_UNIFORM), 2);
    inst->src[0] = x;
    inst->src[1] = y;
    return ir_use(inst->dst[0]);
}

static struct ir_operand test(struct warp *w, enum ir_compare compare, struct ir_operand x,
                              uint32_t y)
{
    struct ir_inst *inst = append(w, IR_setp, IR_I32, new_value(w, IR_I1, IR_UNIFORM), 2);
    inst->compare = compare;
    inst->src[0] = x;
    inst->src[1] = ir_constant(y);
    return ir_use(inst->dst[0]);
}

static struct ir_operand lanes_of(struct warp *w, struct ir_operand predicate)
{
    struct ir_inst *inst = append(w, IR_lanes, IR_I32, new_value(w, IR_I32, IR_UNIFORM), 2);
    inst->src[0] = predicate;
    inst->src[1] = w->all ? every_lane(w) : ir_use(w->current);
    return ir_use(inst->dst[0]);
}

static struct ir_operand in_lanes(struct warp *w, struct ir_operand mask)
{
    struct ir_inst *inst = append(w, IR_in_lanes, IR_I1, new_value(w, IR_I1, IR_VARYING), 1);
    inst->src[0] = mask;
    return ir_use(inst->dst[0]);
}

static void blend(struct warp *w, uint32_t value, struct ir_operand fresh, struct ir_operand inside)
{
    struct ir_inst *inst = append(w, IR_select, w->fn->values[value].type, value, 3);
    inst->src[0] = fresh;
    inst->src[1] = ir_use(value);
    inst->src[2] = inside;
}

// ---------------------------------------------------------------- operands

static const struct ir_value *value_of(const struct warp *w, const struct ir_operand *operand)
{
    return operand->kind == IR_VALUE ? &w->fn->values[operand->value] : NULL;
}

static bool rooted(const struct warp *w, const struct ir_operand *operand)
{
    const struct ir_value *v = value_of(w, operand);
    return v != NULL && v->kind == IR_AFFINE && v->root != 0;
}

// The operand for a use in all lanes, as a vector.
static struct ir_operand in_each_lane(struct warp *w, struct ir_operand operand)
{
    if (operand.kind == IR_UNDEF) {
        return ir_constant(0);
    }
    if (!rooted(w, &operand)) {
        return operand;
    }
    const struct ir_value v = *value_of(w, &operand);
    struct ir_inst *inst = append(w, IR_spread, IR_I64, new_value(w, IR_I64, IR_VARYING), 2);
    inst->src[0] = operand;
    inst->src[1] = ir_use(v.root - 1);
    inst->site = (uint32_t)v.multiple;
    inst->flags = v.root_signed ? IR_FLAG_SRC_SIGNED : 0;
    return ir_use(inst->dst[0]);
}

// ---------------------------------------------------------------- operations

// Operations for which it matters which lanes execute them.
static bool takes_mask(const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_ld:
    case IR_st:
    case IR_atom:
    case IR_malloc:
    case IR_free:
    case IR_trap:
    case IR_assertfail:
        return true;
    default:
        return (ir_op_properties(inst->op) & IR_SUSPENDS) != 0;
    }
}

static bool has_address(const struct ir_inst *inst)
{
    return (inst->op == IR_ld && inst->src_count > 0) ||
           (inst->op == IR_st && inst->src_count > inst->vector);
}

// Accesses that are made for all lanes at once test the wrapping of their address themselves.
static bool keeps_root(const struct warp *w, const struct ir_inst *inst)
{
    if (!has_address(inst) || !rooted(w, &inst->src[0]) || inst->order != IR_WEAK) {
        return false;
    }
    int64_t bytes = inst->vector * (int64_t)(ir_bits(inst->type) / 8);
    return inst->op == IR_ld || inst->vector <= 1 || value_of(w, &inst->src[0])->stride == bytes;
}

static struct ir_inst *copy_inst(struct warp *w, const struct ir_inst *inst)
{
    bool address = keeps_root(w, inst);
    bool mask = takes_mask(inst) && !(w->all && (inst->op == IR_ld || inst->op == IR_st));
    bool scalar = inst->dst_count > 0; // computed on bases
    for (unsigned i = 0; i < inst->dst_count; i++) {
        uint32_t value = inst->dst[i];
        if (w->d.blended[value]) {
            value = new_value(w, w->fn->values[value].type, IR_KIND_UNKNOWN);
            ir_result_kind(w->fn, inst, i, value);
        }
        scalar &= w->fn->values[value].kind != IR_VARYING;
    }
    struct ir_operand sources[IR_MAX_SRC + 2];
    for (unsigned i = 0; i < inst->src_count; i++) {
        bool direct = scalar || (i == 0 && address);
        sources[i] = inst->src[i].kind == IR_UNDEF ? ir_constant(0)
                     : direct                      ? inst->src[i]
                                                   : in_each_lane(w, inst->src[i]);
    }
    unsigned count = inst->src_count;
    struct ir_inst *copy =
        ir_inst_new(w->b, inst->op, inst->type, inst->dst_count, count + address + mask);
    uint32_t *dst = copy->dst;
    struct ir_operand *src = copy->src;
    *copy = *inst;
    copy->dst = dst;
    copy->src = src;
    copy->prev = copy->next = NULL;
    memcpy(copy->dst, inst->dst, inst->dst_count * sizeof *copy->dst);
    memcpy(copy->src, sources, count * sizeof *copy->src);
    if (address) {
        const struct ir_value *v = value_of(w, &inst->src[0]);
        copy->src[count++] = ir_use(v->root - 1);
        copy->site = (uint32_t)v->multiple;
        copy->flags |= IR_FLAG_ROOTED | (v->root_signed ? IR_FLAG_SRC_SIGNED : 0);
    }
    if (mask) {
        copy->src[count++] = w->all ? every_lane(w) : ir_use(w->current);
        copy->flags |= IR_FLAG_MASKED;
    }
    copy->src_count = (uint8_t)count;
    ir_insert_before(w->b->block, NULL, copy);
    return copy;
}

static struct ir_operand inside(struct warp *w)
{
    if (w->inside.kind == IR_NONE) {
        w->inside = in_lanes(w, ir_use(w->current));
    }
    return w->inside;
}

static void copy_operation(struct warp *w, const struct ir_inst *inst)
{
    struct ir_inst *copy = copy_inst(w, inst);
    uint32_t fresh[IR_MAX_DST];
    const uint64_t *kept = w->d.kept + (size_t)w->from->number * w->d.value_words;
    for (unsigned i = 0; i < inst->dst_count; i++) {
        fresh[i] = UINT32_MAX;
        if (w->d.blended[inst->dst[i]]) {
            fresh[i] = new_value(w, w->fn->values[inst->dst[i]].type, IR_KIND_UNKNOWN);
            ir_result_kind(w->fn, inst, i, fresh[i]);
            copy->dst[i] = fresh[i];
        }
    }
    for (unsigned i = 0; i < inst->dst_count; i++) {
        if (fresh[i] == UINT32_MAX) {
            continue;
        }
        struct ir_operand value = in_each_lane(w, ir_use(fresh[i]));
        if (!w->all && ir_set_has(kept, inst->dst[i])) {
            blend(w, inst->dst[i], value, inside(w));
        } else {
            assign(w, inst->dst[i], value);
        }
    }
}

// ---------------------------------------------------------------- edges

struct edge_copy {
    uint32_t value; // phi
    uint32_t fresh; // what it becomes
    bool keep;      // in other lanes than those of the edge
};

// Reads the operands of the phis on an edge; appends to copies.
static unsigned read_phis(struct warp *w, const struct ir_block *to, struct edge_copy *copies)
{
    unsigned count = 0;
    for (const struct ir_inst *phi = to->first; phi != NULL && phi->op == IR_phi; phi = phi->next) {
        uint32_t pred = 0;
        while (to->preds[pred] != w->from) {
            pred++;
        }
        uint32_t value = phi->dst[0];
        struct ir_operand operand = phi->phi[pred];
        if (w->fn->values[value].kind == IR_VARYING || operand.kind == IR_UNDEF) {
            operand = in_each_lane(w, operand);
        }
        uint32_t fresh = new_value(w, w->fn->values[value].type, IR_UNIFORM);
        if (operand.kind == IR_VALUE) {
            ir_value_like(w->fn, fresh, operand.value);
        }
        assign(w, fresh, operand);
        copies[count++] =
            (struct edge_copy){value, fresh, !w->all && ir_edge_keeps(&w->d, w->from, to, value)};
    }
    return count;
}

static unsigned phi_count(const struct ir_block *block)
{
    unsigned count = 0;
    for (const struct ir_inst *phi = block->first; phi != NULL && phi->op == IR_phi;
         phi = phi->next) {
        count++;
    }
    return count;
}

// `mask` is that of the lanes that take the edge.
static void write_phis(struct warp *w, const struct edge_copy *copies, unsigned count,
                       struct ir_operand mask)
{
    struct ir_operand predicate = ir_none();
    for (unsigned i = 0; i < count; i++) {
        if (!copies[i].keep) {
            assign(w, copies[i].value, ir_use(copies[i].fresh));
            continue;
        }
        predicate = predicate.kind == IR_NONE ? in_lanes(w, mask) : predicate;
        blend(w, copies[i].value, ir_use(copies[i].fresh), predicate);
    }
}

static void cross(struct warp *w, const struct ir_block *to)
{
    struct edge_copy *copies = ir_new_scratch(w->b, (phi_count(to) + 1u) * sizeof *copies);
    unsigned count = read_phis(w, to, copies);
    write_phis(w, copies, count, w->all ? every_lane(w) : ir_use(w->current));
}

// Goes to the block with the lowest priority in `set` that has lanes. When `certain`, one has.
static void dispatch(struct warp *w, const uint64_t *set, uint32_t last, bool certain)
{
    struct warp *const x = w;
    struct ir_block *here = w->b->block;
    for (uint32_t at = 0; at <= last; at++) {
        uint32_t n = w->d.order[at];
        if (!ir_set_has(set, n)) {
            continue;
        }
        struct ir_block *enter = new_block(w);
        w->b->block = here;
        bool only = certain && at == last;
        struct ir_block *rest = only ? NULL : new_block(w);
        if (only) {
            ir_br(w->b, enter);
        } else {
            ir_cbr(w->b, test(x, IR_NE, ir_use(w->pending[n]), 0), enter, rest);
        }
        w->b->block = enter;
        assign(w, w->current, ir_use(w->pending[n]));
        assign(w, w->pending[n], ir_constant(0));
        ir_br(w->b, w->masked[n]);
        here = rest;
    }
    w->b->block = here;
}

static void leave(struct warp *w)
{
    ir_append(w->b, IR_ret, IR_VOID, 0, 0);
    w->b->block = NULL;
}

// All lanes that execute the block end.
static void finish(struct warp *w)
{
    if (!w->all) {
        dispatch(w, ir_frontier(&w->d, w->from->number), w->d.block_count - 1, false);
    }
    leave(w);
}

// All lanes that execute the block go to `to`.
static void go(struct warp *w, const struct ir_block *to)
{
    if (w->d.leaves[to->number]) {
        finish(w);
        return;
    }
    cross(w, to);
    if (w->all) {
        ir_br(w->b, w->full[to->number]);
        return;
    }
    const uint64_t *frontier = ir_frontier(&w->d, w->from->number);
    bool lower = false, there = ir_set_has(frontier, to->number);
    for (uint32_t at = 0; at < w->d.priority[to->number]; at++) {
        lower |= ir_set_has(frontier, w->d.order[at]);
    }
    uint32_t pending = w->pending[to->number];
    if (!lower) {
        if (there) {
            assign(w, w->current, binary(w, IR_or, ir_use(w->current), ir_use(pending)));
            assign(w, pending, ir_constant(0));
        }
        ir_br(w->b, w->masked[to->number]);
        return;
    }
    assign(w, pending,
           there ? binary(w, IR_or, ir_use(pending), ir_use(w->current)) : ir_use(w->current));
    uint64_t *set = ir_new_scratch(w->b, w->d.words * sizeof *set);
    memcpy(set, frontier, w->d.words * sizeof *set);
    ir_set_add(set, to->number);
    dispatch(w, set, w->d.priority[to->number], true);
}

// Lanes part: those in `taken` to the first target, those in `rest` to the other.
static void part(struct warp *w, struct ir_operand taken, struct ir_operand rest)
{
    const struct ir_block *to[2] = {w->from->last->target[0], w->from->last->target[1]};
    const struct ir_operand masks[2] = {taken, rest};
    const uint64_t *frontier = ir_frontier(&w->d, w->from->number);
    struct edge_copy *copies[2];
    unsigned counts[2];
    bool all = w->all, certain = true;
    w->all = false; // from here on some lanes only
    for (unsigned i = 0; i < 2; i++) {
        copies[i] = ir_new_scratch(w->b, (phi_count(to[i]) + 1u) * sizeof **copies);
        counts[i] = read_phis(w, to[i], copies[i]);
    }
    uint64_t *set = ir_new_scratch(w->b, w->d.words * sizeof *set);
    memcpy(set, frontier, w->d.words * sizeof *set);
    uint32_t last = 0;
    for (unsigned i = 0; i < 2; i++) {
        uint32_t n = to[i]->number;
        if (w->d.leaves[n]) {
            certain = false;
            continue;
        }
        write_phis(w, copies[i], counts[i], masks[i]);
        bool there = !all && ir_set_has(frontier, n);
        assign(w, w->pending[n],
               there ? binary(w, IR_or, ir_use(w->pending[n]), masks[i]) : masks[i]);
        ir_set_add(set, n);
        last = w->d.priority[n] > last ? w->d.priority[n] : last;
    }
    if (all) { // nobody was pending; saying so keeps the masks out of the copies for all lanes
        for (uint32_t n = 0; n < w->d.block_count; n++) {
            if (ir_set_has(w->waited, n) && n != to[0]->number && n != to[1]->number) {
                assign(w, w->pending[n], ir_constant(0));
            }
        }
        memset(set, 0, w->d.words * sizeof *set);
        for (unsigned i = 0; i < 2; i++) {
            if (!w->d.leaves[to[i]->number]) {
                ir_set_add(set, to[i]->number);
            }
        }
    }
    dispatch(w, set, certain ? last : w->d.block_count - 1, certain);
    if (!certain) {
        leave(w);
    }
    w->all = all;
}

static void branch(struct warp *w, const struct ir_inst *inst)
{
    struct ir_block *to[2] = {new_block(w), new_block(w)}, *here = w->b->block;
    if (!w->d.divergent[w->from->number]) {
        ir_cbr(w->b, inst->src[0].kind == IR_UNDEF ? ir_constant(0) : inst->src[0], to[0], to[1]);
        for (unsigned i = 0; i < 2; i++) {
            w->b->block = to[i];
            go(w, inst->target[i]);
        }
        return;
    }
    struct ir_operand taken = lanes_of(w, inst->src[0]);
    if (w->all) {
        struct ir_block *some = new_block(w), *parted = new_block(w);
        w->b->block = here;
        ir_cbr(w->b, test(w, IR_EQ, taken, full_mask(w)), to[0], some);
        w->b->block = some;
        ir_cbr(w->b, test(w, IR_EQ, taken, 0), to[1], parted);
        for (unsigned i = 0; i < 2; i++) {
            w->b->block = to[i];
            go(w, inst->target[i]);
        }
        w->b->block = parted;
        part(w, taken, binary(w, IR_xor, taken, every_lane(w)));
        return;
    }
    part(w, taken, binary(w, IR_xor, taken, ir_use(w->current)));
}

static void branch_table(struct warp *w, const struct ir_inst *inst)
{
    struct ir_inst *copy = copy_inst(w, inst);
    copy->targets = ir_new(w->b, (inst->target_count + 1) * sizeof(struct ir_block *));
    w->b->block = NULL;
    for (uint32_t i = 0; i < inst->target_count; i++) {
        copy->targets[i] = new_block(w);
    }
    for (uint32_t i = 0; i < inst->target_count; i++) {
        w->b->block = copy->targets[i];
        go(w, inst->targets[i]);
    }
}

static void terminate(struct warp *w, const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_br:
        go(w, inst->target[0]);
        break;
    case IR_cbr:
        branch(w, inst);
        break;
    case IR_brx:
        branch_table(w, inst);
        break;
    case IR_unreachable:
        ir_append(w->b, IR_unreachable, IR_VOID, 0, 0);
        w->b->block = NULL;
        break;
    default: // ret, exit
        finish(w);
        break;
    }
}

// ---------------------------------------------------------------- blocks

static bool is_prologue(const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_symbol:
    case IR_slot:
    case IR_function:
    case IR_param_address:
        return true;
    case IR_ld:
        return inst->space == IR_PARAM_ENTRY && inst->src_count == 0 && inst->order == IR_WEAK;
    case IR_sreg:
        return inst->index == PTX_SREG_tid || inst->index == PTX_SREG_ntid ||
               inst->index == PTX_SREG_ctaid || inst->index == PTX_SREG_nctaid ||
               inst->index == PTX_SREG_laneid;
    default:
        return false;
    }
}

static void copy_block(struct warp *w, const struct ir_block *from, bool all)
{
    w->from = from;
    w->all = all;
    w->inside = ir_none();
    w->b->block = all ? w->full[from->number] : w->masked[from->number];
    if (!all && w->clones && ir_converged(&w->d, from->number)) {
        struct ir_block *some = new_block(w), *every = new_block(w), *here = w->b->block;
        w->b->block = here;
        ir_cbr(w->b, test(w, IR_EQ, ir_use(w->current), full_mask(w)), every, some);
        w->b->block = every;
        ir_br(w->b, w->full[from->number]);
        w->b->block = some;
    }
    for (const struct ir_inst *inst = from->first; inst != from->last; inst = inst->next) {
        if (inst->op == IR_phi ||
            (from->number == 0 && is_prologue(inst) && !w->d.blended[inst->dst[0]])) {
            continue;
        }
        copy_operation(w, inst);
    }
    terminate(w, from->last);
}

static void make_prologue(struct warp *w, struct ir_block *prologue)
{
    w->from = w->d.blocks[0];
    w->all = true;
    w->b->block = prologue;
    for (const struct ir_inst *inst = w->from->first; inst != w->from->last; inst = inst->next) {
        if (is_prologue(inst) && !w->d.blended[inst->dst[0]]) {
            copy_operation(w, inst);
        }
    }
    append(w, IR_start_mask, IR_I32, w->current, 0);
    for (uint32_t n = 0; n < w->d.block_count; n++) {
        if (ir_set_has(w->waited, n)) {
            assign(w, w->pending[n], ir_constant(0));
        }
    }
    if (w->clones) {
        ir_cbr(w->b, test(w, IR_EQ, ir_use(w->current), full_mask(w)), w->full[0], w->masked[0]);
    } else {
        ir_br(w->b, w->masked[0]);
    }
}

static size_t operations(const struct ir_function *fn)
{
    size_t count = 0;
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            count++;
        }
    }
    return count;
}

void ir_pass_warp(struct ir_build *b)
{
    struct warp w = {.b = b, .fn = b->fn};
    ir_uniformity(b, &w.d);
    uint32_t count = w.d.block_count;
    w.clones = operations(w.fn) <= MAX_CLONED;
    w.full = ir_new_scratch(b, (count + 1) * sizeof(struct ir_block *));
    w.masked = ir_new_scratch(b, (count + 1) * sizeof(struct ir_block *));
    w.pending = ir_new_scratch(b, (count + 1) * sizeof *w.pending);
    w.waited = ir_new_scratch(b, w.d.words * sizeof *w.waited);
    for (uint32_t i = 0; i < count * w.d.words; i++) {
        w.waited[i % w.d.words] |= w.d.frontier[i];
    }
    w.current = new_value(&w, IR_I32, IR_UNIFORM);
    struct ir_block *prologue = NULL;
    for (uint32_t n = 0; n < count; n++) {
        w.pending[n] = new_value(&w, IR_I32, IR_UNIFORM);
        w.full[n] = w.clones ? new_block(&w) : NULL;
        w.masked[n] = new_block(&w);
    }
    for (uint32_t n = 0; n < count; n++) {
        if (w.clones) {
            copy_block(&w, w.d.blocks[n], true);
        }
        copy_block(&w, w.d.blocks[n], false);
    }
    prologue = ir_block_new(b);
    make_prologue(&w, prologue);
    prologue->next = w.list;
    w.fn->blocks = prologue;
    w.fn->ssa = false;
    ir_pass_order(b);
    ir_pass_ssa(b);
    for (struct ir_block *block = w.fn->blocks; block != NULL; block = block->next) {
        for (struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            for (unsigned i = 0; i < inst->dst_count; i++) {
                w.fn->values[inst->dst[i]].def = inst;
            }
        }
    }
}
