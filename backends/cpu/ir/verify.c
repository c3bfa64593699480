// SPDX-License-Identifier: Apache-2.0
//
// Checks of a unit against ir_ops.def: operand counts and storage types, terminators, edges, and on
// SSA form one definition for each value that dominates its uses. Runs after every pass in debug
// builds and in the tests.
#include "ir_internal.h"

#include <stdarg.h>
#include <string.h>

struct verify {
    const struct ir_function *fn;
    struct ir_error *error;
    const struct ir_inst *inst;
    struct ir_dominators dom;
    uint32_t *block_of; // value -> block + 1
    uint32_t *position; // value -> position of its definition in the block
};

static int wrong(struct verify *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int wrong(struct verify *v, const char *format, ...)
{
    memset(v->error, 0, sizeof *v->error);
    int used = 0;
    if (v->inst != NULL) {
        v->error->line = v->inst->line;
        v->error->unit = v->inst->unit;
        used =
            snprintf(v->error->message, sizeof v->error->message, "%s: ", ir_op_name(v->inst->op));
    }
    va_list ap;
    va_start(ap, format);
    vsnprintf(v->error->message + used, sizeof v->error->message - (size_t)used, format, ap);
    va_end(ap);
    return -1;
}

static int check_operand(struct verify *v, const struct ir_operand *operand, enum ir_type type,
                         unsigned n)
{
    if (operand->kind == IR_NONE) {
        return v->inst->op == IR_request ? 0 : wrong(v, "source %u is missing", n);
    }
    if (operand->kind != IR_VALUE) {
        return 0;
    }
    if (operand->value >= v->fn->value_count) {
        return wrong(v, "source %u is no value", n);
    }
    if (type != IR_VOID && v->fn->values[operand->value].type != type) {
        return wrong(v, "source %u has %u bits, not %u", n,
                     ir_bits(v->fn->values[operand->value].type), ir_bits(type));
    }
    return 0;
}

static int check_inst(struct verify *v, const struct ir_block *block)
{
    const struct ir_inst *inst = v->inst;
    if (inst->op <= IR_OP_INVALID || inst->op >= IR_OP_COUNT) {
        return wrong(v, "no operation");
    }
    unsigned destinations = ir_op_destinations(inst->op), sources = ir_op_sources(inst->op);
    bool widened = (inst->flags & (IR_FLAG_MASKED | IR_FLAG_ROOTED)) != 0; // sources appended
    sources = widened ? 255 : sources;
    if ((destinations != 255 && destinations != inst->dst_count) ||
        (sources != 255 && sources != inst->src_count)) {
        return wrong(v, "%u destinations and %u sources", inst->dst_count, inst->src_count);
    }
    bool terminator = (ir_op_properties(inst->op) & IR_TERMINATOR) != 0;
    if (terminator != (inst == block->last)) {
        return wrong(v, terminator ? "a terminator inside a block" : "a block without terminator");
    }
    for (unsigned i = 0; i < inst->src_count; i++) {
        if (check_operand(v, &inst->src[i], widened ? IR_VOID : ir_op_source_type(inst, i), i) !=
            0) {
            return -1;
        }
    }
    for (unsigned i = 0; i < inst->dst_count; i++) {
        if (inst->dst[i] >= v->fn->value_count) {
            return wrong(v, "destination %u is no value", i);
        }
        enum ir_type type = ir_op_destination_type(inst, i);
        if (type != IR_VOID && type != v->fn->values[inst->dst[i]].type) {
            return wrong(v, "destination %u has %u bits, not %u", i,
                         ir_bits(v->fn->values[inst->dst[i]].type), ir_bits(type));
        }
    }
    if (inst->op == IR_phi && inst->prev != NULL && inst->prev->op != IR_phi) {
        return wrong(v, "not at the head of its block");
    }
    for (uint32_t i = 0; inst->op == IR_phi && i < block->pred_count; i++) {
        if (check_operand(v, &inst->phi[i], ir_storage(inst->type), i) != 0) {
            return -1;
        }
    }
    if (inst->op == IR_select && inst->src[2].kind == IR_NONE) {
        return wrong(v, "no predicate");
    }
    return 0;
}

static int check_edges(struct verify *v, const struct ir_block *block)
{
    for (uint32_t i = 0; i < block->succ_count; i++) {
        const struct ir_block *to = block->succs[i];
        bool known = false;
        for (uint32_t n = 0; n < to->pred_count; n++) {
            known |= to->preds[n] == block;
        }
        if (!known) {
            return wrong(v, "edge b%u -> b%u is not in both lists", block->number, to->number);
        }
    }
    return 0;
}

static int check_dominance(struct verify *v, const struct ir_operand *operand, uint32_t block,
                           uint32_t at)
{
    if (operand->kind != IR_VALUE) {
        return 0;
    }
    uint32_t home = v->block_of[operand->value];
    if (home == 0) {
        return wrong(v, "value v%u has no definition", operand->value);
    }
    home--;
    if (home == block ? v->position[operand->value] >= at : !ir_dominates(&v->dom, home, block)) {
        return wrong(v, "definition of v%u does not dominate its use", operand->value);
    }
    return 0;
}

static int check_ssa(struct verify *v, struct ptx_arena *arena)
{
    const struct ir_function *fn = v->fn;
    v->block_of = ptx_arena_alloc(arena, (fn->value_count + 1) * sizeof *v->block_of);
    v->position = ptx_arena_alloc(arena, (fn->value_count + 1) * sizeof *v->position);
    if (v->block_of == NULL || v->position == NULL || ir_dominators(fn, arena, &v->dom) != 0) {
        return wrong(v, "out of memory");
    }
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        uint32_t at = 0;
        for (v->inst = block->first; v->inst != NULL; v->inst = v->inst->next, at++) {
            for (unsigned i = 0; i < v->inst->dst_count; i++) {
                if (v->block_of[v->inst->dst[i]] != 0) {
                    return wrong(v, "second definition of v%u", v->inst->dst[i]);
                }
                v->block_of[v->inst->dst[i]] = block->number + 1;
                v->position[v->inst->dst[i]] = at;
            }
        }
    }
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        uint32_t at = 0;
        for (v->inst = block->first; v->inst != NULL; v->inst = v->inst->next, at++) {
            for (unsigned i = 0; i < v->inst->src_count; i++) {
                if (check_dominance(v, &v->inst->src[i], block->number, at) != 0) {
                    return -1;
                }
            }
            for (uint32_t i = 0; v->inst->op == IR_phi && i < block->pred_count; i++) {
                if (check_dominance(v, &v->inst->phi[i], block->preds[i]->number, UINT32_MAX) !=
                    0) {
                    return -1;
                }
            }
        }
    }
    return 0;
}

int ir_verify_function(const struct ir_unit *unit, const struct ir_function *fn,
                       struct ir_error *ret_error)
{
    struct verify v = {.fn = fn, .error = ret_error};
    (void)unit;
    uint32_t number = 0;
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        v.inst = NULL;
        if (block->number != number++) {
            return wrong(&v, "blocks are not numbered in order");
        }
        if (block->last == NULL) {
            return wrong(&v, "block b%u is empty", block->number);
        }
        if (check_edges(&v, block) != 0) {
            return -1;
        }
        for (v.inst = block->first; v.inst != NULL; v.inst = v.inst->next) {
            if (check_inst(&v, block) != 0) {
                return -1;
            }
        }
    }
    if (!fn->ssa) {
        return 0;
    }
    struct ptx_arena *arena = ptx_arena_create();
    v.inst = NULL;
    int result = arena == NULL ? wrong(&v, "out of memory") : check_ssa(&v, arena);
    ptx_arena_destroy(arena);
    return result;
}

int ir_verify(const struct ir_unit *unit, struct ir_error *ret_error)
{
    for (uint32_t i = 0; i < unit->function_count; i++) {
        if (ir_verify_function(unit, unit->functions[i], ret_error) != 0) {
            return -1;
        }
    }
    return 0;
}
