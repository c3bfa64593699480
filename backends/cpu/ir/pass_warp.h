// SPDX-License-Identifier: Apache-2.0
//
// Between pass_uniform.c, which finds out what 32 lanes in step have in common and where they part,
// and pass_warp.c, which makes one function of them.
//
// Thread frontiers: blocks have priorities; where lanes part, the block with the lowest one runs
// first and the other lanes are *pending* at theirs. TF(b) is the set of blocks at which lanes may
// be pending while b runs. Wherever lanes meet again they are merged, because nothing above runs
// while lower blocks have lanes.
#pragma once

#include "ir_internal.h"

struct ir_divergence {
    struct ir_block **blocks; // by number
    uint32_t block_count;
    uint32_t *priority;   // by number: position in the order
    uint32_t *order;      // by position: number
    uint32_t words;       // of a set of blocks
    uint64_t *frontier;   // by number: TF
    bool *divergent;      // by number: lanes part at the end of the block
    bool *leaves;         // by number: nothing but the end of the thread; lanes that go there
                          // are gone at once and never pending
    uint32_t value_words; // of a set of values
    uint64_t *live_in;    // by number: values (and phis) needed at the head
    uint64_t *kept;       // by number: values that lanes pending while the block runs need, so
                          // that definitions must not touch those lanes
    uint64_t *scratch;    // a set of values
    bool *blended;        // by value: some definition has to keep lanes of others
};

static inline bool ir_set_has(const uint64_t *set, uint32_t item)
{
    return (set[item / 64] >> (item % 64) & 1) != 0;
}

static inline void ir_set_add(uint64_t *set, uint32_t item)
{
    set[item / 64] |= UINT64_C(1) << (item % 64);
}

static inline const uint64_t *ir_frontier(const struct ir_divergence *d, uint32_t block)
{
    return d->frontier + (size_t)block * d->words;
}

static inline bool ir_converged(const struct ir_divergence *d, uint32_t block)
{
    const uint64_t *set = ir_frontier(d, block);
    uint64_t any = 0;
    for (uint32_t i = 0; i < d->words; i++) {
        any |= set[i];
    }
    return any == 0;
}

// Sets kind, stride and root of every value of b->fn (SSA form, before pass split) and returns the
// divergence. Leaves by ir_fail with the reason when the warp form cannot do the function.
void ir_uniformity(struct ir_build *b, struct ir_divergence *ret);

// ---- pass_frontier.c, each from what those before it left in *d
// priority, order: topological, the blocks of a loop together, so that lanes that leave a loop wait
// for the others.
void ir_order_blocks(struct ir_build *b, struct ir_divergence *d);
void ir_find_frontiers(struct ir_build *b, struct ir_divergence *d); // from divergent; only grow
void ir_find_liveness(struct ir_build *b, struct ir_divergence *d);  // live_in, roots included
void ir_find_kept(struct ir_build *b, struct ir_divergence *d);

// Whether lanes pending while `from` ends in an edge to `to` need the value of phi `value` of `to`.
bool ir_edge_keeps(const struct ir_divergence *d, const struct ir_block *from,
                   const struct ir_block *to, uint32_t value);

// Gives `value` the kind that result `n` of inst has among the lanes that execute it.
void ir_result_kind(struct ir_function *fn, const struct ir_inst *inst, unsigned n, uint32_t value);

// Bytes of local memory of one lane (slots, rounded): the distance from lane to lane.
uint64_t ir_lane_local(const struct ir_function *fn);
