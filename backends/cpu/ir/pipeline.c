// SPDX-License-Identifier: Apache-2.0
//
// The unit of an entry: building it and everything it reaches, the visible list of passes, and the
// layout of slots, shared memory and frames. Entry points ir_unit_create and ir_unit_destroy.
#include "ir_internal.h"

#include <stdlib.h>
#include <string.h>

#include "ir_program.h"

enum { LOCAL_LIMIT = 512 * 1024 }; // bytes of local memory that CUDA allows a thread

// ---------------------------------------------------------------- layout

static uint64_t align_up(uint64_t value, uint64_t align)
{
    return align > 1 ? (value + align - 1) / align * align : value;
}

static int by_variable(const void *a, const void *b)
{
    uint32_t x = ((const struct ir_shared *)a)->variable,
             y = ((const struct ir_shared *)b)->variable;
    return (x > y) - (x < y);
}

// Offsets of the reachable shared variables, in the order of the program's table.
static void layout_shared(struct ir_build *b)
{
    struct ir_unit *unit = b->unit;
    const struct ir_map *map = &b->shared;
    unit->shared = ir_new(b, (map->count + 1) * sizeof *unit->shared);
    for (uint32_t i = 0; i < map->capacity; i++) {
        if (map->keys[i] != NULL) {
            unit->shared[unit->shared_count++].variable = map->values[i];
        }
    }
    if (unit->shared_count > 0) {
        qsort(unit->shared, unit->shared_count, sizeof *unit->shared, by_variable);
    }
    uint64_t size = 0;
    unit->dynamic_shared_align = 16;
    for (uint32_t i = 0; i < unit->shared_count; i++) {
        const struct ptx_variable *v = b->program->variables[unit->shared[i].variable].ptx;
        if (v->unsized) {
            unit->uses_dynamic_shared = true;
            if (v->align > unit->dynamic_shared_align) {
                unit->dynamic_shared_align = v->align;
            }
            continue;
        }
        size = align_up(size, v->align);
        unit->shared[i].offset = (uint32_t)size;
        size += v->size;
        if (size > INT32_MAX) {
            ir_fail(b, "shared variables of more than 2 GiB");
        }
    }
    unit->static_shared = (uint32_t)size;
    unit->dynamic_shared_offset = (uint32_t)align_up(size, unit->dynamic_shared_align);
    for (uint32_t i = 0; i < unit->shared_count; i++) {
        if (b->program->variables[unit->shared[i].variable].ptx->unsized) {
            unit->shared[i].offset = unit->dynamic_shared_offset;
        }
    }
}

// Addresses of shared variables are known now: constants.
static void resolve_shared(struct ir_build *b)
{
    struct ir_map offsets = {0};
    if (b->unit->uses_cluster) {
        return; // the window begins at an address that only the block knows
    }
    for (uint32_t i = 0; i < b->unit->shared_count; i++) {
        const struct ir_shared *shared = &b->unit->shared[i];
        ir_map_put(b, &offsets, &b->program->variables[shared->variable], shared->offset);
    }
    for (struct ir_block *block = b->fn->blocks; block != NULL; block = block->next) {
        struct ir_inst *next;
        for (struct ir_inst *inst = block->first; inst != NULL; inst = next) {
            next = inst->next;
            uint32_t offset;
            if (inst->op != IR_symbol ||
                !ir_map_get(&offsets, &b->program->variables[inst->index], &offset)) {
                continue;
            }
            struct ir_inst *mov = ir_inst_new(b, IR_mov, inst->type, 1, 1);
            mov->src[0] = ir_constant((offset + (uint64_t)inst->offset) & ir_mask(inst->type));
            mov->dst[0] = inst->dst[0];
            ir_same_place(mov, inst);
            ir_insert_before(block, inst, mov);
            ir_remove(block, inst);
        }
    }
}

static void layout_slots(struct ir_function *fn)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < fn->slot_count; i++) {
        size = align_up(size, fn->slots[i].align);
        fn->slots[i].offset = size;
        size += fn->slots[i].size;
    }
    fn->slots_size = align_up(size, 16);
}

// ---------------------------------------------------------------- along calls

typedef void (*call_visitor)(struct ir_build *b, const struct ir_inst *call, uint32_t target,
                             void *data);

static void each_call(struct ir_build *b, const struct ir_function *fn, call_visitor visit,
                      void *data)
{
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            if (inst->op == IR_call) {
                visit(b, inst, inst->index, data);
            }
            for (uint32_t i = 0; inst->op == IR_call_indirect && i < inst->call->target_count;
                 i++) {
                visit(b, inst, inst->call->targets[i], data);
            }
        }
    }
}

static void note_suspension(struct ir_build *b, const struct ir_inst *call, uint32_t target,
                            void *data)
{
    call->call->suspends |= b->unit->functions[target]->suspends;
    *(bool *)data |= call->call->suspends;
}

// In the warp form only barriers are suspension points: warp operations are code.
bool ir_suspends(const struct ir_function *fn, const struct ir_inst *inst)
{
    return fn->lanes == 0 ? (ir_op_properties(inst->op) & IR_SUSPENDS) != 0
                          : inst->op == IR_barrier;
}

// A function suspends when it has a suspension point or calls one that suspends.
static void propagate_suspension(struct ir_build *b)
{
    struct ir_unit *unit = b->unit;
    for (uint32_t i = 0; i < unit->function_count; i++) {
        struct ir_function *fn = unit->functions[i];
        for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
            for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
                fn->suspends |= ir_suspends(fn, inst);
            }
        }
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t i = 0; i < unit->function_count; i++) {
            struct ir_function *fn = unit->functions[i];
            bool suspends = fn->suspends;
            each_call(b, fn, note_suspension, &suspends);
            changed |= suspends != fn->suspends;
            fn->suspends = suspends;
        }
    }
}

struct depth {
    uint64_t local, frame;
    enum { UNKNOWN, OPEN, KNOWN } state;
};

struct deepest {
    struct depth *all;
    uint64_t local, frame;
    unsigned nesting;
};

static void measure(struct ir_build *b, uint32_t position, struct deepest *d);

static void measure_target(struct ir_build *b, const struct ir_inst *call, uint32_t target,
                           void *data)
{
    struct deepest *outer = data;
    (void)call;
    if (outer->all[target].state == OPEN) { // a cycle
        b->unit->recursive = true;
        b->unit->functions[target]->recursive = true;
        return;
    }
    struct deepest inner = {.all = outer->all, .nesting = outer->nesting + 1};
    if (inner.nesting > 1000) {
        ir_fail(b, "calls of functions are nested too deep");
    }
    measure(b, target, &inner);
    outer->local = inner.all[target].local > outer->local ? inner.all[target].local : outer->local;
    outer->frame = inner.all[target].frame > outer->frame ? inner.all[target].frame : outer->frame;
}

static void measure(struct ir_build *b, uint32_t position, struct deepest *d)
{
    struct depth *depth = &d->all[position];
    const struct ir_function *fn = b->unit->functions[position];
    if (depth->state == KNOWN) {
        return;
    }
    depth->state = OPEN;
    each_call(b, fn, measure_target, d);
    uint64_t lanes = fn->lanes == 0 ? 1 : fn->lanes;
    depth->local = d->local + (fn->suspends ? fn->slots_size * lanes : 0);
    depth->frame = d->frame + fn->frame_size;
    depth->state = KNOWN;
}

static void measure_unit(struct ir_build *b)
{
    struct deepest d = {0};
    d.all = ir_new_scratch(b, (b->unit->function_count + 1) * sizeof *d.all);
    measure(b, 0, &d);
    b->unit->local_size = d.all[0].local;
    b->unit->frame_size = (uint32_t)d.all[0].frame;
}

// ---------------------------------------------------------------- passes

typedef void (*pass)(struct ir_build *b);

// The list of passes: per function, in this order. Between the stages whole-unit facts are found:
// offsets of shared variables before the first, which functions suspend before the third.
static const struct {
    const char *name;
    pass run;
    unsigned stage;
} passes[] = {
    {"order", ir_pass_order, 1},       {"promote", ir_pass_promote, 1},
    {"shared", resolve_shared, 1},     {"ssa", ir_pass_ssa, 1},
    {"simplify", ir_pass_simplify, 1}, {"promote", ir_pass_promote, 1},
    {"ssa", ir_pass_ssa, 1},           {"simplify", ir_pass_simplify, 1},
    {"spin", ir_pass_spin, 2},         {"loops", ir_pass_loops, 3},
    {"split", ir_pass_split, 3},       {"liveness", ir_pass_liveness, 3},
    {"frame", ir_pass_frame, 3},       {"ssa", ir_pass_ssa, 3},
    {"simplify", ir_pass_simplify, 3},
};

static void verify(struct ir_build *b, const char *name)
{
#ifndef NDEBUG
    struct ir_error error;
    if (ir_verify_function(b->unit, b->fn, &error) != 0) {
        b->scope = NULL;
        ir_fail(b, "internal error after pass %s in %s: %s", name, b->fn->name, error.message);
    }
#else
    (void)b;
    (void)name;
#endif
}

static void run_stage(struct ir_build *b, unsigned stage)
{
    for (uint32_t i = 0; i < b->unit->function_count; i++) {
        b->fn = b->unit->functions[i];
        b->slot_capacity = b->fn->slot_count;
        if (stage == 3 && !b->fn->suspends) {
            continue;
        }
        for (size_t n = 0; n < sizeof passes / sizeof passes[0]; n++) {
            bool useful = b->fn->lanes == 0 || passes[n].run != ir_pass_simplify;
            if (passes[n].stage == stage && useful) {
                passes[n].run(b);
                verify(b, passes[n].name);
            }
        }
    }
}

static bool try_build(struct ir_build *b, struct ir_function *fn)
{
    jmp_buf outer;
    memcpy(outer, b->leave, sizeof outer);
    if (setjmp(b->leave) != 0) {
        memcpy(b->leave, outer, sizeof outer);
        return false;
    }
    ir_build_function(b, fn);
    memcpy(b->leave, outer, sizeof outer);
    return true;
}

// A function that only a pointer can reach, and that cannot be compiled, traps when it is called.
static void build_or_trap(struct ir_build *b, struct ir_function *fn)
{
    if (try_build(b, fn)) {
        return;
    }
    size_t size = sizeof b->error->message + 32;
    char *text = ir_new(b, size);
    snprintf(text, size, "line %u: %s", b->error->line, b->error->message);
    fn->unbuildable = text;
    fn->slot_count = 0;
    fn->blocks = NULL;
    fn->block_count = 0;
    b->scope = NULL;
    b->statement = NULL;
    b->in = NULL;
    b->fn = fn;
    b->block = NULL;
    b->block_tail = &fn->blocks;
    b->guard = ir_none();
    ir_block_start(b, ir_block_new(b));
    ir_trap(b, text);
}

static void make_warp_form(struct ir_build *b, uint32_t lanes)
{
    const struct ir_unit *unit = b->unit;
    if (unit->function_count > 1) {
        ir_fail(b, "warp form: calls of functions");
    }
    if (unit->can_spin) {
        ir_fail(b, "warp form: a loop that can spin");
    }
    if (unit->uses_cluster) {
        ir_fail(b, "warp form: shared memory of other blocks");
    }
    b->fn = unit->functions[0];
    b->fn->lanes = lanes;
    ir_pass_warp(b);
    verify(b, "warp");
}

static void build_unit(struct ir_build *b, uint32_t entry, uint32_t lanes)
{
    ir_analyse_calls(b, entry);
    ir_unit_function(b, entry);
    b->unit->functions[0]->is_entry = true;
    ir_build_function(b, b->unit->functions[0]);
    for (uint32_t i = 1; i < b->unit->function_count; i++) { // the list grows
        if (b->unit->functions[i]->address_taken) {
            build_or_trap(b, b->unit->functions[i]);
        } else {
            ir_build_function(b, b->unit->functions[i]);
        }
    }
    b->statement = NULL;
    layout_shared(b);
    run_stage(b, 1);
    run_stage(b, 2);
    if (lanes > 1) {
        make_warp_form(b, lanes);
    }
    propagate_suspension(b);
    run_stage(b, 3);
    for (uint32_t i = 0; i < b->unit->function_count; i++) {
        layout_slots(b->unit->functions[i]);
        if (b->unit->functions[i]->slots_size > LOCAL_LIMIT) {
            ir_fail(b, "local variables of more than 512 KiB in %s", b->unit->functions[i]->name);
        }
    }
    measure_unit(b);
}

// ---------------------------------------------------------------- interface

static int unit_create(const struct ir_program *program, uint32_t entry, uint32_t lanes,
                       struct ir_unit **ret_unit, struct ir_error *ret_error)
{
    memset(ret_error, 0, sizeof *ret_error);
    if (entry >= program->function_count || !program->functions[entry].ptx->is_entry ||
        !program->functions[entry].ptx->has_body) {
        snprintf(ret_error->message, sizeof ret_error->message, "no such kernel");
        return -1;
    }
    struct ptx_arena *arena = ptx_arena_create(), *scratch = ptx_arena_create();
    struct ir_build *b = scratch != NULL ? ptx_arena_alloc(scratch, sizeof *b) : NULL;
    if (arena == NULL || b == NULL) {
        ptx_arena_destroy(arena);
        ptx_arena_destroy(scratch);
        snprintf(ret_error->message, sizeof ret_error->message, "out of memory");
        return -1;
    }
    b->error = ret_error;
    b->program = program;
    b->arena = arena;
    b->scratch = scratch;
    if (setjmp(b->leave) != 0) {
        ptx_arena_destroy(arena);
        ptx_arena_destroy(scratch);
        return -1;
    }
    b->unit = ir_new(b, sizeof *b->unit);
    b->unit->program = program;
    b->unit->arena = arena;
    b->callees = ir_new_scratch(b, (program->function_count + 1) * sizeof *b->callees);
    b->tarjan = ir_new_scratch(b, (program->function_count + 1) * sizeof *b->tarjan);
    build_unit(b, entry, lanes);
    *ret_unit = b->unit;
    memset(ret_error, 0, sizeof *ret_error);
    ptx_arena_destroy(scratch);
    return 0;
}

int ir_unit_create(const struct ir_program *program, uint32_t entry, struct ir_unit **ret_unit,
                   struct ir_error *ret_error)
{
    return unit_create(program, entry, 1, ret_unit, ret_error);
}

int ir_unit_create_warp(const struct ir_program *program, uint32_t entry, uint32_t lanes,
                        struct ir_unit **ret_unit, struct ir_error *ret_error)
{
    return unit_create(program, entry, lanes, ret_unit, ret_error);
}

struct ir_unit *ir_unit_destroy(struct ir_unit *unit)
{
    if (unit != NULL) {
        ptx_arena_destroy(unit->arena);
    }
    return NULL;
}
