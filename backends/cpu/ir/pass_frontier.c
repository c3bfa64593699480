// SPDX-License-Identifier: Apache-2.0
//
// For pass_uniform.c: the order of blocks, thread frontiers for a given set of branches at which
// lanes part, liveness, and which values pending lanes need. See pass_warp.h.
#include "pass_warp.h"

#include <string.h>

// ---------------------------------------------------------------- order of blocks

struct ordering {
    uint64_t *bodies; // by head: set of blocks, of heads only
    bool *head;
    bool *placed;
};

static void loop_body(struct ir_divergence *d, uint64_t *body, uint32_t head, uint32_t latch,
                      uint32_t *work)
{
    uint32_t todo = 0;
    ir_set_add(body, head);
    if (!ir_set_has(body, latch)) {
        ir_set_add(body, latch);
        work[todo++] = latch;
    }
    while (todo > 0) {
        const struct ir_block *block = d->blocks[work[--todo]];
        for (uint32_t i = 0; i < block->pred_count; i++) {
            uint32_t pred = block->preds[i]->number;
            if (pred > head && !ir_set_has(body, pred)) { // numbers are a reverse post-order
                ir_set_add(body, pred);
                work[todo++] = pred;
            }
        }
    }
}

static bool is_ready(const struct ordering *o, const struct ir_block *block)
{
    for (uint32_t i = 0; i < block->pred_count; i++) {
        if (block->preds[i]->number < block->number && !o->placed[block->preds[i]->number]) {
            return false;
        }
    }
    return true;
}

// The next block: ready, in the innermost loop that is not complete.
static uint32_t next_block(struct ir_divergence *d, const struct ordering *o,
                           const uint64_t *inside)
{
    uint32_t fallback = UINT32_MAX;
    for (uint32_t n = 0; n < d->block_count; n++) {
        if (o->placed[n] || (inside != NULL && !ir_set_has(inside, n))) {
            continue;
        }
        if (is_ready(o, d->blocks[n])) {
            return n;
        }
        fallback = fallback == UINT32_MAX ? n : fallback;
    }
    return fallback;
}

// Topological, the blocks of a loop together, so that lanes that leave a loop wait for the others.
void ir_order_blocks(struct ir_build *b, struct ir_divergence *d)
{
    uint32_t count = d->block_count;
    struct ordering o = {0};
    o.bodies = ir_new_scratch(b, (size_t)count * d->words * sizeof *o.bodies);
    o.head = ir_new_scratch(b, count * sizeof *o.head);
    o.placed = ir_new_scratch(b, count * sizeof *o.placed);
    uint32_t *work = ir_new_scratch(b, (count + 1) * sizeof *work);
    uint32_t *open = ir_new_scratch(b, (count + 1) * sizeof *open), depth = 0;
    for (uint32_t n = 0; n < count; n++) {
        for (uint32_t i = 0; i < d->blocks[n]->succ_count; i++) {
            uint32_t to = d->blocks[n]->succs[i]->number;
            if (to <= n) {
                o.head[to] = true;
                loop_body(d, o.bodies + (size_t)to * d->words, to, n, work);
            }
        }
    }
    for (uint32_t at = 0; at < count; at++) {
        uint32_t n = UINT32_MAX;
        while (depth > 0) {
            n = next_block(d, &o, o.bodies + (size_t)open[depth - 1] * d->words);
            if (n != UINT32_MAX) {
                break;
            }
            depth--;
        }
        n = n == UINT32_MAX ? next_block(d, &o, NULL) : n;
        o.placed[n] = true;
        d->priority[n] = at;
        d->order[at] = n;
        if (o.head[n]) {
            open[depth++] = n;
        }
    }
}

// ---------------------------------------------------------------- thread frontiers

// `candidates` may be pending when a block has ended; `last` is the highest position that can be
// chosen. True when a frontier grew.
static bool spread_frontier(struct ir_divergence *d, const uint64_t *candidates, uint32_t last)
{
    bool grew = false;
    for (uint32_t at = 0; at <= last; at++) {
        uint32_t n = d->order[at];
        if (!ir_set_has(candidates, n)) {
            continue;
        }
        uint64_t *to = d->frontier + (size_t)n * d->words;
        for (uint32_t i = 0; i < d->words; i++) {
            for (uint64_t left = candidates[i] & ~to[i]; left != 0; left &= left - 1) {
                uint32_t x = i * 64 + (uint32_t)__builtin_ctzll(left);
                if (d->priority[x] > at) {
                    ir_set_add(to, x);
                    grew = true;
                }
            }
        }
    }
    return grew;
}

void ir_find_frontiers(struct ir_build *b, struct ir_divergence *d)
{
    uint64_t *set = ir_new_scratch(b, d->words * sizeof *set);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t at = 0; at < d->block_count; at++) {
            uint32_t n = d->order[at];
            const struct ir_block *block = d->blocks[n];
            const uint64_t *tf = ir_frontier(d, n);
            memcpy(set, tf, d->words * sizeof *set);
            if (block->succ_count == 0) {
                changed |= spread_frontier(d, set, d->block_count - 1);
            }
            uint32_t last = 0;
            for (uint32_t i = 0; i < block->succ_count; i++) {
                uint32_t to = block->succs[i]->number, reach = d->priority[to];
                if (d->leaves[to]) {
                    reach = d->block_count - 1; // then any other may be the next
                } else {
                    ir_set_add(set, to);
                }
                if (d->divergent[n]) {
                    last = reach > last ? reach : last;
                } else {
                    changed |= spread_frontier(d, set, reach);
                    memcpy(set, tf, d->words * sizeof *set);
                }
            }
            if (d->divergent[n]) {
                changed |= spread_frontier(d, set, last);
            }
        }
    }
}

// ---------------------------------------------------------------- liveness

// The value itself and what its extension came from.
static void need(const struct ir_function *fn, uint64_t *set, uint32_t value)
{
    ir_set_add(set, value);
    const struct ir_value *v = &fn->values[value];
    if (v->kind == IR_AFFINE && v->root != 0) {
        ir_set_add(set, v->root - 1);
    }
}

static void live_out(struct ir_build *b, struct ir_divergence *d, const struct ir_block *block,
                     uint64_t *set)
{
    memset(set, 0, d->value_words * sizeof *set);
    for (uint32_t i = 0; i < block->succ_count; i++) {
        const struct ir_block *to = block->succs[i];
        const uint64_t *in = d->live_in + (size_t)to->number * d->value_words;
        for (uint32_t w = 0; w < d->value_words; w++) {
            set[w] |= in[w];
        }
    }
    for (uint32_t i = 0; i < block->succ_count; i++) {
        const struct ir_block *to = block->succs[i];
        for (const struct ir_inst *phi = to->first; phi != NULL && phi->op == IR_phi;
             phi = phi->next) {
            bool elsewhere = false; // needed at another successor, not only set on this edge
            for (uint32_t k = 0; k < block->succ_count; k++) {
                elsewhere |=
                    block->succs[k] != to &&
                    ir_set_has(d->live_in + (size_t)block->succs[k]->number * d->value_words,
                               phi->dst[0]);
            }
            if (!elsewhere) {
                set[phi->dst[0] / 64] &= ~(UINT64_C(1) << (phi->dst[0] % 64));
            }
        }
    }
    for (uint32_t i = 0; i < block->succ_count; i++) {
        const struct ir_block *to = block->succs[i];
        for (const struct ir_inst *phi = to->first; phi != NULL && phi->op == IR_phi;
             phi = phi->next) {
            for (uint32_t k = 0; k < to->pred_count; k++) {
                if (to->preds[k] == block && phi->phi[k].kind == IR_VALUE) {
                    need(b->fn, set, phi->phi[k].value);
                }
            }
        }
    }
}

void ir_find_liveness(struct ir_build *b, struct ir_divergence *d)
{
    memset(d->live_in, 0, (size_t)d->block_count * d->value_words * sizeof *d->live_in);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = d->block_count; n-- > 0;) {
            const struct ir_block *block = d->blocks[n];
            live_out(b, d, block, d->scratch);
            for (const struct ir_inst *inst = block->last; inst != NULL; inst = inst->prev) {
                for (unsigned i = 0; i < inst->dst_count; i++) {
                    d->scratch[inst->dst[i] / 64] &= ~(UINT64_C(1) << (inst->dst[i] % 64));
                }
                for (unsigned i = 0; i < inst->src_count; i++) {
                    if (inst->src[i].kind == IR_VALUE) {
                        need(b->fn, d->scratch, inst->src[i].value);
                    }
                }
            }
            for (const struct ir_inst *phi = block->first; phi != NULL && phi->op == IR_phi;
                 phi = phi->next) {
                need(b->fn, d->scratch, phi->dst[0]);
            }
            uint64_t *in = d->live_in + (size_t)n * d->value_words;
            for (uint32_t w = 0; w < d->value_words; w++) {
                changed |= (d->scratch[w] & ~in[w]) != 0;
                in[w] |= d->scratch[w];
            }
        }
    }
}

void ir_find_kept(struct ir_build *b, struct ir_divergence *d)
{
    memset(d->kept, 0, (size_t)d->block_count * d->value_words * sizeof *d->kept);
    for (uint32_t n = 0; n < d->block_count; n++) {
        uint64_t *kept = d->kept + (size_t)n * d->value_words;
        for (uint32_t x = 0; x < d->block_count; x++) {
            if (!ir_set_has(ir_frontier(d, n), x)) {
                continue;
            }
            const uint64_t *in = d->live_in + (size_t)x * d->value_words;
            for (uint32_t w = 0; w < d->value_words; w++) {
                kept[w] |= in[w];
            }
        }
    }
}

bool ir_edge_keeps(const struct ir_divergence *d, const struct ir_block *from,
                   const struct ir_block *to, uint32_t value)
{
    if (ir_set_has(d->kept + (size_t)from->number * d->value_words, value)) {
        return true;
    }
    for (uint32_t i = 0; d->divergent[from->number] && i < from->succ_count; i++) {
        const struct ir_block *other = from->succs[i];
        if (other != to && ir_set_has(d->live_in + (size_t)other->number * d->value_words, value)) {
            return true;
        }
    }
    return false;
}
