// SPDX-License-Identifier: Apache-2.0
//
// Pass spin: finds loops whose exit depends on what other threads do (a value that an atomic or a
// volatile, relaxed or acquire load brought) and puts a yield on their back-edges, so that the
// threads that they wait for run. Runs on SSA form. Errs on the side of yielding.
#include "ir_internal.h"

#include <string.h>

struct loops {
    struct ir_build *b;
    struct ir_dominators dom;
    uint32_t *in_loop; // by block: loop number + 1
    uint32_t *tainted; // by value: loop number + 1
    struct ir_block **body;
    uint32_t body_count, loop;
    bool callee_sources;
};

static bool is_source(const struct ir_inst *inst)
{
    return (inst->op == IR_atom && inst->dst_count > 0) ||
           (inst->op == IR_ld && inst->order != IR_WEAK);
}

static bool has_sources(const struct ir_function *fn)
{
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            if (is_source(inst)) {
                return true;
            }
        }
    }
    return false;
}

// Blocks that reach the latch without passing the head.
static void collect_body(struct loops *l, struct ir_block *head, struct ir_block *latch)
{
    uint32_t mark = l->loop + 1, at = 0;
    l->body_count = 0;
    l->in_loop[head->number] = mark;
    l->body[l->body_count++] = head;
    if (l->in_loop[latch->number] != mark) {
        l->in_loop[latch->number] = mark;
        l->body[l->body_count++] = latch;
    }
    for (at = 1; at < l->body_count; at++) {
        const struct ir_block *block = l->body[at];
        for (uint32_t i = 0; i < block->pred_count; i++) {
            struct ir_block *pred = block->preds[i];
            if (l->in_loop[pred->number] != mark) {
                l->in_loop[pred->number] = mark;
                l->body[l->body_count++] = pred;
            }
        }
    }
}

static bool private_space(enum ir_space space)
{
    return space == IR_SLOT || space == IR_LOCAL || space == IR_GENERIC;
}

static bool is_tainted(const struct loops *l, const struct ir_operand *operand)
{
    return operand->kind == IR_VALUE && l->tainted[operand->value] == l->loop + 1;
}

struct taint {
    bool memory;   // tainted values were stored where weak loads may find them
    bool branches; // a branch in the loop depends on them: so may every phi
    bool fenced;   // weak loads may be polls
    bool changed;
};

static void taint_inst(struct loops *l, const struct ir_block *block, const struct ir_inst *inst,
                       struct taint *t)
{
    bool tainted = is_source(inst) || (inst->op == IR_phi && t->branches) ||
                   (inst->op == IR_ld && (t->fenced || (t->memory && private_space(inst->space))));
    for (unsigned i = 0; i < inst->src_count && !tainted; i++) {
        tainted = is_tainted(l, &inst->src[i]);
    }
    for (uint32_t i = 0; inst->op == IR_phi && i < block->pred_count && !tainted; i++) {
        tainted = is_tainted(l, &inst->phi[i]);
    }
    if ((inst->op == IR_call || inst->op == IR_call_indirect) && l->callee_sources) {
        t->changed |= !t->memory;
        t->memory = true;
    }
    if (!tainted) {
        return;
    }
    if (inst->op == IR_st && private_space(inst->space)) {
        t->changed |= !t->memory;
        t->memory = true;
    }
    if (inst->op == IR_cbr || inst->op == IR_brx) {
        t->changed |= !t->branches;
        t->branches = true;
    }
    for (unsigned i = 0; i < inst->dst_count; i++) {
        if (l->tainted[inst->dst[i]] != l->loop + 1) {
            l->tainted[inst->dst[i]] = l->loop + 1;
            t->changed = true;
        }
    }
}

static bool body_can_spin(struct loops *l)
{
    struct taint t = {.changed = true};
    bool any = l->callee_sources;
    for (uint32_t n = 0; n < l->body_count; n++) {
        for (const struct ir_inst *inst = l->body[n]->first; inst != NULL; inst = inst->next) {
            any |= is_source(inst) || inst->op == IR_fence;
            t.fenced |= inst->op == IR_fence || inst->op == IR_nanosleep;
        }
    }
    if (!any && !t.fenced) {
        return false;
    }
    while (t.changed) {
        t.changed = false;
        for (uint32_t n = 0; n < l->body_count; n++) {
            for (const struct ir_inst *inst = l->body[n]->first; inst != NULL; inst = inst->next) {
                taint_inst(l, l->body[n], inst, &t);
            }
        }
    }
    bool exits = false;
    for (uint32_t n = 0; n < l->body_count; n++) {
        const struct ir_block *block = l->body[n];
        bool tainted = block->last->src_count > 0 && is_tainted(l, &block->last->src[0]);
        for (uint32_t i = 0; i < block->succ_count; i++) {
            bool leaves = l->in_loop[block->succs[i]->number] != l->loop + 1;
            exits |= leaves;
            if (leaves && tainted) {
                return true;
            }
        }
        exits |= block->succ_count == 0;
    }
    return !exits && t.branches; // never left by an edge: only by a trap or exit inside
}

// A block on the edge latch -> head that yields.
static void add_yield(struct ir_build *b, struct ir_block *latch, struct ir_block *head)
{
    struct ir_block *block = ir_block_new(b);
    struct ir_inst *last = latch->last;
    block->next = b->fn->blocks->next;
    b->fn->blocks->next = block;
    b->block = block;
    ir_same_place(ir_append(b, IR_yield, IR_VOID, 0, 0), last);
    ir_br(b, head);
    for (unsigned i = 0; i < 2; i++) {
        last->target[i] = last->target[i] == head ? block : last->target[i];
    }
    for (uint32_t i = 0; i < last->target_count; i++) {
        last->targets[i] = last->targets[i] == head ? block : last->targets[i];
    }
    for (uint32_t i = 0; i < head->pred_count; i++) {
        head->preds[i] = head->preds[i] == latch ? block : head->preds[i];
    }
}

struct edge {
    struct ir_block *latch, *head;
};

void ir_pass_spin(struct ir_build *b)
{
    struct ir_function *fn = b->fn;
    struct loops l = {.b = b};
    bool any = has_sources(fn);
    for (uint32_t i = 0; i < b->unit->function_count; i++) {
        l.callee_sources |= i > 0 && has_sources(b->unit->functions[i]);
    }
    for (const struct ir_block *block = fn->blocks; block != NULL && !any; block = block->next) {
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            any |= inst->op == IR_fence || inst->op == IR_nanosleep ||
                   ((inst->op == IR_call || inst->op == IR_call_indirect) && l.callee_sources);
        }
    }
    if (!any) {
        return;
    }
    if (ir_dominators(fn, b->scratch, &l.dom) != 0) {
        ir_fail(b, "out of memory");
    }
    l.in_loop = ir_new_scratch(b, (fn->block_count + 1) * sizeof *l.in_loop);
    l.body = ir_new_scratch(b, (fn->block_count + 1) * sizeof(struct ir_block *));
    l.tainted = ir_new_scratch(b, (fn->value_count + 1) * sizeof *l.tainted);
    struct edge *edges = NULL;
    uint32_t edge_count = 0, capacity = 0;
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (uint32_t i = 0; i < block->succ_count; i++) {
            struct ir_block *head = block->succs[i];
            if (head->number > block->number) {
                continue;
            }
            collect_body(&l, head, block);
            if (body_can_spin(&l)) {
                head->spin = true;
                edges = ir_grow(b, edges, &capacity, edge_count, sizeof *edges);
                edges[edge_count++] = (struct edge){block, head};
            }
            l.loop++;
        }
    }
    for (uint32_t i = 0; i < edge_count; i++) {
        add_yield(b, edges[i].latch, edges[i].head);
        b->unit->can_spin = true;
    }
    if (edge_count > 0) {
        ir_pass_order(b);
    }
}
