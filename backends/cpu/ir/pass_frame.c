// SPDX-License-Identifier: Apache-2.0
//
// Pass frame: saves the values that are live where a thread resumes and loads them there. Values
// that are cheap to make again (special registers, parameters, addresses) are made again instead.
// Values that several suspension points need have a place of their own and are saved once, where
// they are defined; the others share the rest of the frame and are saved at each point. Also pass
// loops, which says how often each place runs.
#include "ir_internal.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 4, PINNED_BYTES = 768, LARGEST = 256 }; // bytes; I64 of 32 lanes

// ---------------------------------------------------------------- loops

static int by_head(const void *a, const void *b)
{
    const struct ir_block *const *x = a, *const *y = b;
    return (x[1]->number > y[1]->number) - (x[1]->number < y[1]->number);
}

// Counts the block into the loop, once, and puts it on the list of blocks to go on from.
static uint32_t enter(struct ir_block *block, uint32_t *mark, uint32_t loop, struct ir_block **work,
                      uint32_t todo)
{
    if (mark[block->number] != loop) {
        mark[block->number] = loop;
        block->depth += block->depth < MAX_DEPTH;
        work[todo++] = block;
    }
    return todo;
}

void ir_pass_loops(struct ir_build *b)
{
    struct ir_function *fn = b->fn;
    struct ir_dominators dom;
    if (ir_dominators(fn, b->scratch, &dom) != 0) {
        ir_fail(b, "out of memory");
    }
    struct ir_block **edges = NULL; // pairs latch, head
    uint32_t count = 0, capacity = 0;
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        block->depth = 0;
        for (uint32_t i = 0; i < block->succ_count; i++) {
            if (ir_dominates(&dom, block->succs[i]->number, block->number)) {
                edges = ir_grow(b, edges, &capacity, count, 2 * sizeof(struct ir_block *));
                edges[2 * count] = block;
                edges[2 * count++ + 1] = block->succs[i];
            }
        }
    }
    if (count == 0) {
        return;
    }
    qsort(edges, count, 2 * sizeof(struct ir_block *), by_head);
    uint32_t *mark = ir_new_scratch(b, (fn->block_count + 1) * sizeof *mark);
    struct ir_block **work = ir_new_scratch(b, (fn->block_count + 1) * sizeof(struct ir_block *));
    for (uint32_t i = 0; i < count; i++) {
        struct ir_block *head = edges[2 * i + 1];
        uint32_t todo = 0, loop = head->number + 1;
        if (mark[head->number] != loop) {
            mark[head->number] = loop;
            head->depth += head->depth < MAX_DEPTH;
        }
        todo = enter(edges[2 * i], mark, loop, work, todo);
        while (todo > 0) {
            const struct ir_block *block = work[--todo];
            for (uint32_t n = 0; n < block->pred_count; n++) {
                todo = enter(block->preds[n], mark, loop, work, todo);
            }
        }
    }
}

// ---------------------------------------------------------------- what is made again

// Made again rather than saved: no operands, always the same result in one thread.
static bool is_cheap(const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_symbol:
    case IR_slot:
    case IR_function:
    case IR_param_address:
        return true;
    case IR_ld:
        return inst->space == IR_PARAM_ENTRY && inst->src_count == 0 && inst->order == IR_WEAK &&
               inst->dst_count == 1;
    case IR_sreg:
        switch (inst->index) {
        case PTX_SREG_tid:
        case PTX_SREG_ntid:
        case PTX_SREG_ctaid:
        case PTX_SREG_nctaid:
        case PTX_SREG_laneid:
        case PTX_SREG_warpid:
        case PTX_SREG_lanemask_eq:
        case PTX_SREG_lanemask_lt:
        case PTX_SREG_lanemask_le:
        case PTX_SREG_lanemask_gt:
        case PTX_SREG_lanemask_ge:
            return true;
        default:
            return false;
        }
    default:
        return false;
    }
}

static struct ir_inst *clone(struct ir_build *b, const struct ir_inst *inst)
{
    struct ir_inst *copy = ir_inst_new(b, inst->op, inst->type, inst->dst_count, 0);
    uint32_t *dst = copy->dst;
    struct ir_operand *src = copy->src;
    *copy = *inst;
    copy->dst = dst;
    copy->src = src;
    copy->prev = copy->next = NULL;
    memcpy(copy->dst, inst->dst, inst->dst_count * sizeof *inst->dst);
    return copy;
}

// ---------------------------------------------------------------- pinned values

enum { NOT_PINNED = UINT32_MAX };

struct frame {
    struct ir_build *b;
    struct ir_block **home; // value -> block of its definition
    uint32_t *pinned;       // value -> offset of its own place, or NOT_PINNED
    uint32_t shared;        // where the shared rest begins
};

struct candidate {
    uint32_t value;
    int64_t benefit;
};

static unsigned bytes_of(const struct ir_function *fn, uint32_t value)
{
    const struct ir_value *v = &fn->values[value];
    unsigned bits = ir_bits(v->type);
    if (fn->lanes != 0 && v->kind == IR_VARYING) {
        bits = v->type == IR_I1 ? 32 : bits * fn->lanes; // predicates as a mask
    }
    return (bits + 7) / 8;
}

static int by_benefit(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    if (x->benefit != y->benefit) {
        return x->benefit < y->benefit ? 1 : -1;
    }
    return (x->value > y->value) - (x->value < y->value);
}

static bool is_made_again(const struct ir_function *fn, uint32_t value)
{
    return fn->values[value].def != NULL && is_cheap(fn->values[value].def);
}

// A save behind the definition.
static void pin(struct frame *f, uint32_t value, uint32_t offset)
{
    struct ir_function *fn = f->b->fn;
    struct ir_inst *save = ir_inst_new(f->b, IR_frame_save, fn->values[value].type, 0, 1);
    struct ir_inst *def = fn->values[value].def;
    save->src[0] = ir_use(value);
    save->offset = offset;
    f->pinned[value] = offset;
    if (def->op == IR_phi) {
        ir_insert_first(f->home[value], save);
    } else {
        ir_insert_before(f->home[value], def->next, save);
    }
}

static void choose_pinned(struct frame *f)
{
    struct ir_function *fn = f->b->fn;
    struct candidate *all = NULL;
    uint32_t count = 0, capacity = 0;
    int64_t *benefit = ir_new_scratch(f->b, (fn->value_count + 1) * sizeof *benefit);
    uint32_t *index = ir_new_scratch(f->b, (fn->value_count + 1) * sizeof *index);
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (uint32_t i = 0; i < block->live_in_count; i++) {
            uint32_t value = block->live_in[i];
            if (is_made_again(fn, value) || fn->values[value].def == NULL) {
                continue;
            }
            if (index[value] == 0) {
                all = ir_grow(f->b, all, &capacity, count, sizeof *all);
                all[count++].value = value;
                index[value] = count;
            }
            benefit[value] += INT64_C(1) << (3 * block->depth);
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        all[i].benefit = benefit[all[i].value] - (INT64_C(1) << (3 * f->home[all[i].value]->depth));
    }
    if (count > 0) {
        qsort(all, count, sizeof *all, by_benefit);
    }
    uint32_t taken = 0, size = 0;
    while (taken < count && all[taken].benefit > 0 &&
           size + bytes_of(fn, all[taken].value) <= PINNED_BYTES * (fn->lanes != 0 ? fn->lanes : 1)) {
        size += bytes_of(fn, all[taken++].value);
    }
    for (unsigned width = LARGEST; width > 0; width /= 2) { // large first: no gaps
        for (uint32_t i = 0; i < taken; i++) {
            if (bytes_of(fn, all[i].value) == width) {
                pin(f, all[i].value, f->shared);
                f->shared += width;
            }
        }
    }
}

// ---------------------------------------------------------------- saves and loads

struct point {
    struct ir_block *from, *to;
    struct ir_inst *save_at; // saves go before it, in `from`
    struct ir_inst *load_at; // loads go before it (NULL: at the end), in `to`
    uint32_t offset;         // next free byte of the shared rest
};

static void save_and_load(struct frame *f, struct point *p, uint32_t value, bool early)
{
    struct ir_build *b = f->b;
    enum ir_type type = b->fn->values[value].type;
    struct ir_inst *load;
    if (is_made_again(b->fn, value)) {
        load = clone(b, b->fn->values[value].def);
    } else {
        uint32_t offset = f->pinned[value];
        if (offset == NOT_PINNED) {
            unsigned bytes = bytes_of(b->fn, value);
            offset = (p->offset + bytes - 1) / bytes * bytes;
            p->offset = offset + bytes;
            struct ir_inst *save = ir_inst_new(b, IR_frame_save, type, 0, 1);
            save->src[0] = ir_use(value);
            save->offset = offset;
            ir_insert_before(p->from, p->save_at, save);
        }
        load = ir_inst_new(b, IR_frame_load, type, 1, 0);
        load->dst[0] = value;
        load->offset = offset;
    }
    ir_insert_before(p->to, early ? p->to->first : p->load_at, load);
}

static void fill_point(struct frame *f, struct ir_block *from, struct ir_block *to)
{
    struct ir_function *fn = f->b->fn;
    struct point p = {.from = from, .to = to, .offset = f->shared};
    struct ir_inst *call = to->first != NULL && to->first->call != NULL ? to->first : NULL;
    p.save_at = call != NULL ? from->last->prev : from->last; // before call_prepare, or suspend
    if (call == NULL && from->last->prev != NULL && from->last->prev->op == IR_request) {
        p.save_at = from->last->prev;
    }
    p.load_at = to->first;
    if (p.load_at != NULL && (p.load_at->op == IR_request_result || call != NULL)) {
        p.load_at = p.load_at->next;
    }
    // Behind a result that is pinned stands its save: loads may come before it, as they are of
    // other values.
    uint32_t address = call != NULL && call->src_count > 0 && call->src[0].kind == IR_VALUE
                           ? call->src[0].value
                           : UINT32_MAX; // of an indirect call: needed to make the call again
    if (address != UINT32_MAX) {
        save_and_load(f, &p, address, true);
    }
    for (unsigned width = LARGEST; width > 0; width /= 2) {
        for (uint32_t i = 0; i < to->live_in_count; i++) {
            uint32_t value = to->live_in[i];
            if (bytes_of(fn, value) == width && value != address) {
                save_and_load(f, &p, value, false);
            }
        }
    }
    uint32_t size = (p.offset + 15u) / 16 * 16;
    fn->frame_size = size > fn->frame_size ? size : fn->frame_size;
}

void ir_pass_frame(struct ir_build *b)
{
    struct ir_function *fn = b->fn;
    struct frame f = {.b = b, .shared = fn->is_entry ? 0 : 16};
    fn->frame_size = f.shared;
    f.home = ir_new_scratch(b, (fn->value_count + 1) * sizeof(struct ir_block *));
    f.pinned = ir_new_scratch(b, (fn->value_count + 1) * sizeof *f.pinned);
    memset(f.pinned, 0xff, (fn->value_count + 1) * sizeof *f.pinned);
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            for (unsigned i = 0; i < inst->dst_count; i++) {
                fn->values[inst->dst[i]].def = inst;
                f.home[inst->dst[i]] = block;
            }
        }
    }
    choose_pinned(&f);
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        if (block->last->op == IR_suspend) {
            fill_point(&f, block, block->last->target[0]);
        } else if (block->last->prev != NULL && block->last->prev->op == IR_call_prepare) {
            fill_point(&f, block, block->succs[0]);
        }
    }
}
