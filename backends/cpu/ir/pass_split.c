// SPDX-License-Identifier: Apache-2.0
//
// From suspension points to a resumable state machine: pass split cuts blocks there, pass liveness
// finds what is live where a thread resumes. pass_frame.c then saves and loads it.
#include "ir_internal.h"

#include "../kernel_abi.h"

#include <string.h>

// ---------------------------------------------------------------- split

// How a suspending operation becomes a request. Sources go to a, b, c, mask (-1: none).
static const struct {
    uint8_t kind, inner;
    int8_t a, b, c, mask;
} requests[IR_OP_COUNT] = {
    [IR_barrier] = {EXEC_REQ_BARRIER, 0, -1, -1, -1, -1}, // filled by barrier_request
    [IR_warp_sync] = {EXEC_REQ_WARP_SYNC, 0, -1, -1, -1, 0},
    [IR_shfl] = {EXEC_REQ_SHFL, 0, 0, 1, 2, 3},
    [IR_vote] = {EXEC_REQ_VOTE, 0, 0, -1, -1, 1},
    [IR_match] = {EXEC_REQ_MATCH, 0, 0, -1, -1, 1},
    [IR_redux] = {EXEC_REQ_REDUX, 0, 0, -1, -1, 1},
    [IR_elect] = {EXEC_REQ_ELECT, 0, -1, -1, -1, 0},
    [IR_activemask] = {EXEC_REQ_ACTIVEMASK, 0, -1, -1, -1, -1},
    [IR_shfl_old] = {EXEC_REQ_CONVERGED, EXEC_REQ_SHFL, 0, 1, 2, -1},
    [IR_vote_old] = {EXEC_REQ_CONVERGED, EXEC_REQ_VOTE, 0, -1, -1, -1},
    [IR_yield] = {EXEC_REQ_YIELD, 0, -1, -1, -1, -1},
    [IR_nanosleep] = {EXEC_REQ_NANOSLEEP, 0, 0, -1, -1, -1},
};

static struct ir_operand source(const struct ir_inst *inst, int n)
{
    return n < 0 ? ir_none() : inst->src[n];
}

static struct ir_inst *make_request(struct ir_build *b, const struct ir_inst *op, uint32_t site)
{
    struct ir_inst *request = ir_inst_new(b, IR_request, IR_I32, 0, 4);
    request->sub = requests[op->op].kind;
    request->vector = requests[op->op].inner;
    request->index = op->sub;
    request->site = site;
    ir_same_place(request, op);
    request->src[0] = source(op, requests[op->op].a);
    request->src[1] = source(op, requests[op->op].b);
    request->src[2] = source(op, requests[op->op].c);
    request->src[3] = source(op, requests[op->op].mask);
    if (requests[op->op].a >= 0) {
        request->type = ir_op_source_type(op, (unsigned)requests[op->op].a);
    }
    if (op->op == IR_match) { // width in bits
        request->src[1] = ir_constant(ir_bits(op->type));
    }
    if (op->op == IR_barrier) {
        bool masked = (op->flags & IR_FLAG_MASKED) != 0; // warp form
        struct ir_operand mask = masked ? op->src[op->src_count - 1] : ir_none();
        request->src[0] = op->src[0];
        request->src[1] = op->src[1];
        request->src[3] = mask;
        if (op->src_count > 2u + masked) {
            request->src[2] = masked ? ir_op2(b, IR_lanes, IR_I32, 0, op->src[2], mask)
                                     : ir_resize(b, op->src[2], IR_I1, IR_I32, false);
            if (masked) {
                b->fn->values[request->src[2].value].kind = IR_UNIFORM;
            }
        }
    }
    return request;
}

// Moves everything behind `inst` (exclusive) into a new block that the list has behind `block`.
static struct ir_block *cut_behind(struct ir_build *b, struct ir_block *block, struct ir_inst *inst)
{
    struct ir_block *rest = ir_block_new(b);
    rest->next = block->next;
    block->next = rest;
    rest->first = inst->next;
    rest->last = inst->next != NULL ? block->last : NULL;
    if (inst->next != NULL) {
        inst->next->prev = NULL;
    }
    inst->next = NULL;
    block->last = inst;
    rest->succs = block->succs;
    rest->succ_count = block->succ_count;
    for (uint32_t i = 0; i < rest->succ_count; i++) { // phis there know the block by its edge
        struct ir_block *to = rest->succs[i];
        for (uint32_t n = 0; n < to->pred_count; n++) {
            to->preds[n] = to->preds[n] == block ? rest : to->preds[n];
        }
    }
    rest->resume = ++b->fn->resume_count;
    rest->depth = block->depth;
    return rest;
}

static struct ir_block *split_request(struct ir_build *b, struct ir_block *block,
                                      struct ir_inst *op, uint32_t site)
{
    struct ir_block *rest = cut_behind(b, block, op);
    ir_remove(block, op);
    b->block = block; // an operand may need a conversion first
    struct ir_inst *request = make_request(b, op, site);
    ir_insert_before(block, NULL, request);
    struct ir_inst *suspend = ir_inst_new(b, IR_suspend, IR_VOID, 0, 0);
    suspend->index = rest->resume;
    suspend->target[0] = rest;
    ir_same_place(suspend, op);
    ir_insert_before(block, NULL, suspend);
    if (op->dst_count > 0) {
        struct ir_inst *result =
            ir_inst_new(b, IR_request_result, b->fn->values[op->dst[0]].type, op->dst_count, 0);
        memcpy(result->dst, op->dst, op->dst_count * sizeof *op->dst);
        ir_same_place(result, op);
        ir_insert_before(rest, rest->first, result);
    }
    return rest;
}

static struct ir_block *split_call(struct ir_build *b, struct ir_block *block, struct ir_inst *call)
{
    struct ir_inst *prepare = ir_inst_new(b, IR_call_prepare, IR_VOID, 0, 0);
    ir_same_place(prepare, call);
    ir_insert_before(block, call, prepare);
    struct ir_block *rest = cut_behind(b, block, prepare);
    prepare->index = rest->resume;
    b->block = block;
    ir_br(b, rest);
    return rest;
}

void ir_pass_split(struct ir_build *b)
{
    for (struct ir_block *block = b->fn->blocks; block != NULL; block = block->next) {
        struct ir_inst *next;
        struct ir_inst *inst = block->first;
        if (block->resume != 0 && inst != NULL && inst->call != NULL) {
            inst = inst->next; // a call that was split before
        }
        for (; inst != NULL; inst = next) {
            next = inst->next;
            b->fn->ssa = false; // a resumed thread has no values before its frame is loaded
            if (ir_suspends(b->fn, inst)) {
                split_request(b, block, inst, ++b->site);
                break; // goes on in the new block
            }
            if (inst->call != NULL && inst->call->suspends) {
                split_call(b, block, inst);
                break;
            }
        }
    }
    ir_pass_order(b);
}

// ---------------------------------------------------------------- liveness

struct liveness {
    struct ir_build *b;
    struct ir_block **blocks;    // by number
    struct ir_block **suspended; // by number of the resuming block: the suspending one
    uint32_t *defined;           // by value: block + 1
    uint32_t **exposed;          // by value: blocks at whose head it is needed
    uint32_t *exposed_count, *exposed_capacity;
    uint32_t *capacity; // by block: of live_in
    uint32_t *mark;     // by block: value + 1
};

static void expose(struct liveness *l, const struct ir_operand *operand, uint32_t block)
{
    if (operand->kind != IR_VALUE || l->defined[operand->value] == block + 1) {
        return;
    }
    uint32_t value = operand->value, count = l->exposed_count[value];
    if (count > 0 && l->exposed[value][count - 1] == block) {
        return;
    }
    l->exposed[value] =
        ir_grow(l->b, l->exposed[value], &l->exposed_capacity[value], count, sizeof **l->exposed);
    l->exposed[value][l->exposed_count[value]++] = block;
}

static void expose_block(struct liveness *l, const struct ir_block *block)
{
    for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
        for (unsigned i = 0; i < inst->src_count; i++) {
            expose(l, &inst->src[i], block->number);
        }
    }
    for (uint32_t n = 0; n < block->succ_count; n++) {
        const struct ir_block *to = block->succs[n];
        for (const struct ir_inst *phi = to->first; phi != NULL && phi->op == IR_phi;
             phi = phi->next) {
            for (uint32_t i = 0; i < to->pred_count; i++) {
                if (to->preds[i] == block) {
                    expose(l, &phi->phi[i], block->number);
                }
            }
        }
    }
}

static void make_live(struct liveness *l, uint32_t value, uint32_t number, uint32_t *work,
                      uint32_t *count)
{
    if (l->mark[number] == value + 1) {
        return;
    }
    l->mark[number] = value + 1;
    work[(*count)++] = number;
    struct ir_block *block = l->blocks[number];
    if (block->resume != 0) {
        block->live_in = ir_grow(l->b, block->live_in, &l->capacity[number], block->live_in_count,
                                 sizeof *block->live_in);
        block->live_in[block->live_in_count++] = value;
    }
}

void ir_pass_liveness(struct ir_build *b)
{
    struct ir_function *fn = b->fn;
    uint32_t values = fn->value_count, blocks = fn->block_count;
    struct liveness l = {.b = b};
    l.blocks = ir_new_scratch(b, (blocks + 1) * sizeof(struct ir_block *));
    l.suspended = ir_new_scratch(b, (blocks + 1) * sizeof(struct ir_block *));
    l.defined = ir_new_scratch(b, (values + 1) * sizeof *l.defined);
    l.exposed = ir_new_scratch(b, (values + 1) * sizeof(uint32_t *));
    l.exposed_count = ir_new_scratch(b, (values + 1) * sizeof *l.exposed_count);
    l.exposed_capacity = ir_new_scratch(b, (values + 1) * sizeof *l.exposed_capacity);
    l.capacity = ir_new_scratch(b, (blocks + 1) * sizeof *l.capacity);
    l.mark = ir_new_scratch(b, (blocks + 1) * sizeof *l.mark);
    uint32_t *work = ir_new_scratch(b, (blocks + 1) * sizeof *work);
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        l.blocks[block->number] = block;
        block->live_in_count = 0;
        block->live_in = NULL;
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            for (unsigned i = 0; i < inst->dst_count; i++) {
                l.defined[inst->dst[i]] = block->number + 1;
            }
        }
    }
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        if (block->last->op == IR_suspend) {
            l.suspended[block->last->target[0]->number] = block;
        }
        expose_block(&l, block);
    }
    for (uint32_t value = 0; value < values; value++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < l.exposed_count[value]; i++) {
            make_live(&l, value, l.exposed[value][i], work, &count);
        }
        while (count > 0) {
            const struct ir_block *block = l.blocks[work[--count]];
            const struct ir_block *from = l.suspended[block->number];
            if (from != NULL && l.defined[value] != from->number + 1) {
                make_live(&l, value, from->number, work, &count);
            }
            for (uint32_t i = 0; i < block->pred_count; i++) {
                if (l.defined[value] != block->preds[i]->number + 1) {
                    make_live(&l, value, block->preds[i]->number, work, &count);
                }
            }
        }
    }
}
