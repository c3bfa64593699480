// SPDX-License-Identifier: Apache-2.0
//
// Passes and analyses of the graph itself: order (reverse post-order, unreachable blocks removed,
// predecessors and successors, operands of phis kept in step) and dominators.
#include "ir_internal.h"

#include <string.h>

// Successors of a block's terminator. A suspended thread goes on in target[0] of `suspend`, but no
// edge leads there; `resumes` asks for it.
static uint32_t successor_count(const struct ir_block *block)
{
    const struct ir_inst *last = block->last;
    if (last == NULL) {
        return 0;
    }
    switch (last->op) {
    case IR_br:
        return 1;
    case IR_cbr:
        return 2;
    case IR_brx:
        return last->target_count;
    default:
        return 0;
    }
}

static struct ir_block *successor(const struct ir_block *block, uint32_t n)
{
    return block->last->op == IR_brx ? block->last->targets[n] : block->last->target[n];
}

struct visit {
    struct ir_block *block;
    uint32_t next;
};

static struct ir_block *next_child(struct visit *v)
{
    const struct ir_inst *last = v->block->last;
    if (last != NULL && last->op == IR_suspend) {
        return v->next++ == 0 ? last->target[0] : NULL;
    }
    // Last successor first: the first one (taken branch) then comes last in post-order, so loop
    // bodies stay together behind their heads.
    uint32_t count = successor_count(v->block);
    return v->next < count ? successor(v->block, count - ++v->next) : NULL;
}

static void forget_numbers(struct ir_block *block)
{
    for (; block != NULL; block = block->next) {
        block->number = UINT32_MAX;
    }
}

// Operands of phis follow the new list of predecessors.
static void remap_phis(struct ir_build *b, struct ir_block *block, struct ir_block **old,
                       uint32_t old_count)
{
    for (struct ir_inst *inst = block->first; inst != NULL && inst->op == IR_phi;
         inst = inst->next) {
        struct ir_operand *operands = ir_new(b, (block->pred_count + 1) * sizeof *operands);
        for (uint32_t i = 0; i < block->pred_count; i++) {
            for (uint32_t n = 0; n < old_count; n++) {
                if (old[n] == block->preds[i]) {
                    operands[i] = inst->phi[n];
                    break;
                }
            }
        }
        inst->phi = operands;
    }
}

void ir_pass_order(struct ir_build *b)
{
    struct ir_function *fn = b->fn;
    uint32_t capacity = 0, depth = 0, count = 0, post_capacity = 0;
    struct visit *stack = NULL;
    struct ir_block **post = NULL;
    forget_numbers(fn->blocks);
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        struct ir_inst *last = block->last;
        if (last != NULL && last->op == IR_cbr && last->target[0] == last->target[1]) {
            last->op = IR_br;
            last->src_count = 0;
        }
    }
    stack = ir_grow(b, stack, &capacity, 0, sizeof *stack);
    fn->blocks->number = 0;
    stack[depth++] = (struct visit){fn->blocks, 0};
    while (depth > 0) {
        struct visit *top = &stack[depth - 1];
        struct ir_block *child = next_child(top);
        if (child != NULL) {
            if (child->number == UINT32_MAX) {
                child->number = 0;
                stack = ir_grow(b, stack, &capacity, depth, sizeof *stack);
                stack[depth++] = (struct visit){child, 0};
            }
            continue;
        }
        post = ir_grow(b, post, &post_capacity, count, sizeof(struct ir_block *));
        post[count++] = top->block;
        depth--;
    }
    // Link and number in reverse, count edges.
    uint32_t *preds = ir_new_scratch(b, (count + 1) * sizeof *preds);
    fn->block_count = count;
    for (uint32_t i = 0; i < count; i++) {
        struct ir_block *block = post[count - 1 - i];
        block->number = i;
        block->next = i + 1 < count ? post[count - 2 - i] : NULL;
        block->succ_count = successor_count(block);
    }
    fn->blocks = post[count - 1];
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        block->succs = ir_new(b, (block->succ_count + 1) * sizeof(struct ir_block *));
        for (uint32_t i = 0; i < block->succ_count; i++) {
            block->succs[i] = successor(block, i);
            preds[block->succs[i]->number]++;
        }
    }
    struct ir_block ***old = ir_new_scratch(b, (count + 1) * sizeof *old);
    uint32_t *old_counts = ir_new_scratch(b, (count + 1) * sizeof *old_counts);
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        old[block->number] = block->preds;
        old_counts[block->number] = block->pred_count;
        block->preds = ir_new(b, (preds[block->number] + 1) * sizeof(struct ir_block *));
        block->pred_count = 0;
    }
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (uint32_t i = 0; i < block->succ_count; i++) {
            struct ir_block *to = block->succs[i];
            to->preds[to->pred_count++] = block;
        }
    }
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        if (block->first != NULL && block->first->op == IR_phi) {
            remap_phis(b, block, old[block->number], old_counts[block->number]);
        }
    }
}

// ---------------------------------------------------------------- dominators

static uint32_t intersect(const uint32_t *idom, uint32_t root, uint32_t a, uint32_t b)
{
    // Numbers are a reverse post-order, the virtual root is above all.
    while (a != b) {
        if (a == root || b == root) {
            return root;
        }
        while (a != root && (b == root ? false : a > b)) {
            a = idom[a];
        }
        while (b != root && (a == root ? false : b > a)) {
            b = idom[b];
        }
    }
    return a;
}

// Walks the tree: children lists by counting sort, numbers in pre- and post-order.
static int number_tree(struct ptx_arena *arena, uint32_t count, struct ir_dominators *d)
{
    uint32_t *first = ptx_arena_alloc(arena, (count + 2) * sizeof *first);
    uint32_t *next = ptx_arena_alloc(arena, (count + 1) * sizeof *next);
    uint32_t *stack = ptx_arena_alloc(arena, (count + 2) * sizeof *stack);
    d->pre = ptx_arena_alloc(arena, (count + 1) * sizeof *d->pre);
    d->post = ptx_arena_alloc(arena, (count + 1) * sizeof *d->post);
    d->order = ptx_arena_alloc(arena, (count + 1) * sizeof *d->order);
    if (first == NULL || next == NULL || stack == NULL || d->pre == NULL || d->post == NULL ||
        d->order == NULL) {
        return -1;
    }
    for (uint32_t i = count; i-- > 0;) { // index + 1; 0 ends a list
        next[i] = first[d->idom[i]];
        first[d->idom[i]] = i + 1;
    }
    uint32_t depth = 0, clock = 0, at = 0;
    stack[depth++] = count;
    d->pre[count] = clock++;
    while (depth > 0) {
        uint32_t top = stack[depth - 1], child = first[top];
        if (child != 0) {
            first[top] = next[child - 1];
            stack[depth++] = child - 1;
            d->pre[child - 1] = clock++;
            d->order[at++] = child - 1;
        } else {
            d->post[top] = clock++;
            depth--;
        }
    }
    return 0;
}

int ir_dominators(const struct ir_function *fn, struct ptx_arena *arena, struct ir_dominators *d)
{
    uint32_t count = fn->block_count, root = count;
    memset(d, 0, sizeof *d);
    d->idom = ptx_arena_alloc(arena, (count + 1) * sizeof *d->idom);
    d->blocks = ptx_arena_alloc(arena, (count + 1) * sizeof(struct ir_block *));
    if (d->idom == NULL || d->blocks == NULL) {
        return -1;
    }
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        d->idom[block->number] = UINT32_MAX;
        d->blocks[block->number] = block;
    }
    d->idom[root] = root;
    for (bool changed = true; changed;) {
        changed = false;
        for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
            uint32_t idom = block->number == 0 || block->resume != 0 ? root : UINT32_MAX;
            for (uint32_t i = 0; i < block->pred_count && idom != root; i++) {
                uint32_t pred = block->preds[i]->number;
                if (d->idom[pred] != UINT32_MAX) {
                    idom = idom == UINT32_MAX ? pred : intersect(d->idom, root, idom, pred);
                }
            }
            if (idom != d->idom[block->number]) {
                d->idom[block->number] = idom;
                changed = true;
            }
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (d->idom[i] == UINT32_MAX) {
            d->idom[i] = root; // unreachable; pass `order` leaves none
        }
    }
    return number_tree(arena, count, d);
}

bool ir_dominates(const struct ir_dominators *d, uint32_t a, uint32_t b)
{
    return d->pre[a] <= d->pre[b] && d->post[a] >= d->post[b];
}
