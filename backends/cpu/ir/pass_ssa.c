// SPDX-License-Identifier: Apache-2.0
//
// Pass ssa: gives every value one definition that dominates its uses. Works on any graph, also on
// one that is partly in this form (after frame loads were added), so it runs before and after the
// splitting at suspension points. Values that are fine already are left alone; the others get phis
// at the iterated dominance frontiers of their definitions where they are live.
#include "ir_internal.h"

#include <string.h>

struct list {
    uint32_t *items;
    uint32_t count, capacity;
};

struct ssa {
    struct ir_build *b;
    struct ir_dominators dom;
    uint32_t values, blocks;  // at the start
    struct list *definitions; // blocks that define a value (each once)
    struct list *exposed;     // blocks at whose head a value is needed
    struct list *frontier;    // by block
    uint32_t *stamp;          // value -> block + 1 of the last definition seen
    bool *rename;
    uint32_t *current; // value -> renamed value + 1
    struct list undo;  // pairs (value, previous)
};

static void push(struct ssa *s, struct list *list, uint32_t item)
{
    if (list->count == list->capacity) {
        uint32_t wanted = list->capacity == 0 ? 2 : 2 * list->capacity;
        uint32_t *bigger = ir_new_scratch(s->b, wanted * sizeof *bigger);
        if (list->count > 0) {
            memcpy(bigger, list->items, list->count * sizeof *bigger);
        }
        list->items = bigger;
        list->capacity = wanted;
    }
    list->items[list->count++] = item;
}

static void push_once(struct ssa *s, struct list *list, uint32_t item)
{
    if (list->count == 0 || list->items[list->count - 1] != item) {
        push(s, list, item);
    }
}

// ---------------------------------------------------------------- what is defined and used where

static void use(struct ssa *s, const struct ir_operand *operand, uint32_t block)
{
    if (operand->kind == IR_VALUE && s->stamp[operand->value] != block + 1) {
        push_once(s, &s->exposed[operand->value], block);
    }
}

static void scan_block(struct ssa *s, const struct ir_block *block)
{
    uint32_t number = block->number;
    for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
        for (unsigned i = 0; i < inst->src_count; i++) {
            use(s, &inst->src[i], number);
        }
        for (unsigned i = 0; i < inst->dst_count; i++) {
            uint32_t value = inst->dst[i];
            if (s->stamp[value] == number + 1) {
                s->rename[value] = true; // twice in one block
            }
            s->stamp[value] = number + 1;
            push_once(s, &s->definitions[value], number);
        }
    }
    // A phi uses its operand at the end of the predecessor.
    for (uint32_t n = 0; n < block->succ_count; n++) {
        const struct ir_block *to = block->succs[n];
        for (const struct ir_inst *phi = to->first; phi != NULL && phi->op == IR_phi;
             phi = phi->next) {
            for (uint32_t i = 0; i < to->pred_count; i++) {
                if (to->preds[i] == block) {
                    use(s, &phi->phi[i], number);
                }
            }
        }
    }
}

static bool well_formed(const struct ssa *s, uint32_t value)
{
    const struct list *definitions = &s->definitions[value];
    if (s->rename[value] || definitions->count > 1) {
        return false;
    }
    for (uint32_t i = 0; i < s->exposed[value].count; i++) {
        if (definitions->count == 0 || definitions->items[0] == s->exposed[value].items[i] ||
            !ir_dominates(&s->dom, definitions->items[0], s->exposed[value].items[i])) {
            return false;
        }
    }
    return true;
}

// ---------------------------------------------------------------- phis

static void find_frontiers(struct ssa *s)
{
    for (uint32_t n = 0; n < s->blocks; n++) {
        const struct ir_block *block = s->dom.blocks[n];
        bool root = n == 0 || block->resume != 0;
        if (block->pred_count + root < 2) {
            continue;
        }
        for (uint32_t i = 0; i < block->pred_count; i++) {
            uint32_t runner = block->preds[i]->number;
            while (runner != s->dom.idom[n] && runner != s->blocks) {
                push_once(s, &s->frontier[runner], n);
                runner = s->dom.idom[runner];
            }
        }
    }
}

// Marks with value + 1 the blocks at whose head the value is live.
static void mark_live(struct ssa *s, uint32_t value, uint32_t *live, const uint32_t *defined,
                      struct list *work)
{
    work->count = 0;
    for (uint32_t i = 0; i < s->exposed[value].count; i++) {
        uint32_t block = s->exposed[value].items[i];
        if (live[block] != value + 1) {
            live[block] = value + 1;
            push(s, work, block);
        }
    }
    while (work->count > 0) {
        const struct ir_block *block = s->dom.blocks[work->items[--work->count]];
        for (uint32_t i = 0; i < block->pred_count; i++) {
            uint32_t pred = block->preds[i]->number;
            if (live[pred] != value + 1 && defined[pred] != value + 1) {
                live[pred] = value + 1;
                push(s, work, pred);
            }
        }
    }
}

static void add_phi(struct ssa *s, uint32_t value, uint32_t number)
{
    struct ir_build *b = s->b;
    struct ir_block *block = s->dom.blocks[number];
    enum ir_type type = b->fn->values[value].type;
    struct ir_inst *phi = ir_inst_new(b, IR_phi, type, 1, 0);
    phi->dst[0] = value;
    phi->index = value + 1; // the value it stands for, until renamed
    phi->phi = ir_new(b, (block->pred_count + 1) * sizeof *phi->phi);
    for (uint32_t i = 0; i < block->pred_count; i++) {
        phi->phi[i] = ir_undef();
    }
    ir_insert_before(block, block->first, phi);
}

static void place_phis(struct ssa *s)
{
    uint32_t *live = ir_new_scratch(s->b, (s->blocks + 1) * sizeof *live);
    uint32_t *defined = ir_new_scratch(s->b, (s->blocks + 1) * sizeof *defined);
    uint32_t *placed = ir_new_scratch(s->b, (s->blocks + 1) * sizeof *placed);
    struct list work = {0};
    for (uint32_t value = 0; value < s->values; value++) {
        s->rename[value] = !well_formed(s, value);
        if (!s->rename[value] || s->exposed[value].count == 0) {
            continue;
        }
        const struct list *definitions = &s->definitions[value];
        for (uint32_t i = 0; i < definitions->count; i++) {
            defined[definitions->items[i]] = value + 1;
        }
        mark_live(s, value, live, defined, &work);
        work.count = 0;
        for (uint32_t i = 0; i < definitions->count; i++) {
            push(s, &work, definitions->items[i]);
        }
        while (work.count > 0) {
            const struct list *frontier = &s->frontier[work.items[--work.count]];
            for (uint32_t i = 0; i < frontier->count; i++) {
                uint32_t block = frontier->items[i];
                if (placed[block] != value + 1 && live[block] == value + 1) {
                    placed[block] = value + 1;
                    add_phi(s, value, block);
                    if (defined[block] != value + 1) {
                        push(s, &work, block);
                    }
                }
            }
        }
    }
}

// ---------------------------------------------------------------- renaming

static void define(struct ssa *s, uint32_t *value)
{
    uint32_t old = *value;
    if (old >= s->values || !s->rename[old]) {
        return;
    }
    const struct ir_value *source = &s->b->fn->values[old];
    uint32_t fresh = ir_value_new(s->b, source->type, source->name);
    ir_value_like(s->b->fn, fresh, old);
    push(s, &s->undo, old);
    push(s, &s->undo, s->current[old]);
    s->current[old] = fresh + 1;
    *value = fresh;
}

static void replace(struct ssa *s, struct ir_operand *operand)
{
    if (operand->kind != IR_VALUE || operand->value >= s->values || !s->rename[operand->value]) {
        return;
    }
    uint32_t current = s->current[operand->value];
    *operand = current == 0 ? ir_undef() : ir_use(current - 1);
}

static void fill_phis(struct ssa *s, const struct ir_block *block)
{
    for (uint32_t n = 0; n < block->succ_count; n++) {
        const struct ir_block *to = block->succs[n];
        for (uint32_t i = 0; i < to->pred_count; i++) {
            if (to->preds[i] != block) {
                continue;
            }
            for (const struct ir_inst *phi = to->first; phi != NULL && phi->op == IR_phi;
                 phi = phi->next) {
                if (phi->index != 0) {
                    phi->phi[i] = ir_use(phi->index - 1);
                }
                replace(s, &phi->phi[i]);
            }
        }
    }
}

static void rename_block(struct ssa *s, struct ir_block *block)
{
    for (struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
        for (unsigned i = 0; i < inst->src_count; i++) {
            replace(s, &inst->src[i]);
        }
        for (unsigned i = 0; i < inst->dst_count; i++) {
            define(s, &inst->dst[i]);
        }
    }
    fill_phis(s, block);
}

static void unwind(struct ssa *s, uint32_t mark)
{
    while (s->undo.count > mark) {
        s->undo.count -= 2;
        s->current[s->undo.items[s->undo.count]] = s->undo.items[s->undo.count + 1];
    }
}

static void rename_all(struct ssa *s)
{
    struct list path = {0}; // pairs (block, mark of undo)
    for (uint32_t i = 0; i < s->blocks; i++) {
        uint32_t number = s->dom.order[i];
        while (path.count > 0 && !ir_dominates(&s->dom, path.items[path.count - 2], number)) {
            unwind(s, path.items[path.count - 1]);
            path.count -= 2;
        }
        push(s, &path, number);
        push(s, &path, s->undo.count);
        rename_block(s, s->dom.blocks[number]);
    }
}

void ir_pass_ssa(struct ir_build *b)
{
    struct ir_function *fn = b->fn;
    struct ssa s = {.b = b, .values = fn->value_count, .blocks = fn->block_count};
    if (ir_dominators(fn, b->scratch, &s.dom) != 0) {
        ir_fail(b, "out of memory");
    }
    s.definitions = ir_new_scratch(b, (s.values + 1) * sizeof *s.definitions);
    s.exposed = ir_new_scratch(b, (s.values + 1) * sizeof *s.exposed);
    s.frontier = ir_new_scratch(b, (s.blocks + 1) * sizeof *s.frontier);
    s.stamp = ir_new_scratch(b, (s.values + 1) * sizeof *s.stamp);
    s.rename = ir_new_scratch(b, (s.values + 1) * sizeof *s.rename);
    s.current = ir_new_scratch(b, (s.values + 1) * sizeof *s.current);
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        scan_block(&s, block);
    }
    find_frontiers(&s);
    place_phis(&s);
    rename_all(&s);
    for (struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (struct ir_inst *phi = block->first; phi != NULL && phi->op == IR_phi;
             phi = phi->next) {
            phi->index = 0;
        }
    }
    fn->ssa = true;
}
