// SPDX-License-Identifier: Apache-2.0
//
// The builder's vocabulary: memory, errors, values, blocks and appending operations. Used by the
// build_*.c files and the passes.
#include "ir_internal.h"

#include <stdarg.h>
#include <string.h>

// ---------------------------------------------------------------- memory and errors

// Copies line `line` of the text, trimmed.
static void copy_line(const char *text, uint32_t line, char *out, size_t size)
{
    out[0] = '\0';
    if (text == NULL || line == 0) {
        return;
    }
    for (uint32_t at = 1; at < line; at++) {
        text = strchr(text, '\n');
        if (text == NULL) {
            return;
        }
        text++;
    }
    while (*text == ' ' || *text == '\t') {
        text++;
    }
    size_t length = strcspn(text, "\r\n");
    if (length >= size) {
        length = size - 1;
    }
    memcpy(out, text, length);
    out[length] = '\0';
}

void ir_fail(struct ir_build *b, const char *format, ...)
{
    struct ir_error *error = b->error;
    memset(error, 0, sizeof *error);
    va_list ap;
    va_start(ap, format);
    vsnprintf(error->message, sizeof error->message, format, ap);
    va_end(ap);
    if (b->scope != NULL) {
        error->unit = b->scope->unit;
        if (b->statement != NULL) {
            error->line = b->statement->line;
            copy_line(b->program->modules[error->unit]->text, error->line, error->text,
                      sizeof error->text);
        }
    }
    longjmp(b->leave, 1);
}

void *ir_new(struct ir_build *b, size_t size)
{
    void *memory = ptx_arena_alloc(b->arena, size);
    if (memory == NULL) {
        ir_fail(b, "out of memory");
    }
    return memory;
}

void *ir_new_scratch(struct ir_build *b, size_t size)
{
    void *memory = ptx_arena_alloc(b->scratch, size);
    if (memory == NULL) {
        ir_fail(b, "out of memory");
    }
    return memory;
}

void *ir_grow(struct ir_build *b, void *array, uint32_t *capacity, uint32_t count, size_t size)
{
    if (count < *capacity) {
        return array;
    }
    uint32_t wanted = *capacity < 8 ? 16 : 2 * *capacity;
    void *bigger = ir_new(b, wanted * size);
    if (count > 0) {
        memcpy(bigger, array, count * size);
    }
    *capacity = wanted;
    return bigger;
}

// ---------------------------------------------------------------- pointer map

static uint32_t map_slot(const struct ir_map *map, const void *key)
{
    uint32_t at = (uint32_t)(((uintptr_t)key >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 32);
    for (at &= map->capacity - 1; map->keys[at] != NULL && map->keys[at] != key;
         at = (at + 1) & (map->capacity - 1)) {
    }
    return at;
}

void ir_map_put(struct ir_build *b, struct ir_map *map, const void *key, uint32_t value)
{
    if (2 * (map->count + 1) > map->capacity) {
        struct ir_map bigger = {.capacity = map->capacity == 0 ? 16 : 2 * map->capacity};
        bigger.keys = ir_new_scratch(b, bigger.capacity * sizeof *bigger.keys);
        bigger.values = ir_new_scratch(b, bigger.capacity * sizeof *bigger.values);
        for (uint32_t i = 0; i < map->capacity; i++) {
            if (map->keys[i] != NULL) {
                uint32_t at = map_slot(&bigger, map->keys[i]);
                bigger.keys[at] = map->keys[i];
                bigger.values[at] = map->values[i];
            }
        }
        bigger.count = map->count;
        *map = bigger;
    }
    uint32_t at = map_slot(map, key);
    if (map->keys[at] == NULL) {
        map->count++;
    }
    map->keys[at] = key;
    map->values[at] = value;
}

bool ir_map_get(const struct ir_map *map, const void *key, uint32_t *ret_value)
{
    if (map->capacity == 0) {
        return false;
    }
    uint32_t at = map_slot(map, key);
    if (map->keys[at] == NULL) {
        return false;
    }
    *ret_value = map->values[at];
    return true;
}

// ---------------------------------------------------------------- values and blocks

uint32_t ir_value_new(struct ir_build *b, enum ir_type storage, const char *name)
{
    struct ir_function *fn = b->fn;
    fn->values = ir_grow(b, fn->values, &fn->value_capacity, fn->value_count, sizeof *fn->values);
    fn->values[fn->value_count] = (struct ir_value){.type = storage, .name = name};
    return fn->value_count++;
}

void ir_value_like(struct ir_function *fn, uint32_t value, uint32_t model)
{
    struct ir_value *v = &fn->values[value];
    const struct ir_value *m = &fn->values[model];
    v->kind = m->kind;
    v->root_signed = m->root_signed;
    v->multiple = m->multiple;
    v->root = m->root;
    v->stride = m->stride;
}

struct ir_block *ir_block_new(struct ir_build *b)
{
    return ir_new(b, sizeof(struct ir_block));
}

void ir_block_start(struct ir_build *b, struct ir_block *block)
{
    if (b->block != NULL) {
        ir_br(b, block);
    }
    block->number = b->fn->block_count++;
    *b->block_tail = block;
    b->block_tail = &block->next;
    b->block = block;
}

// ---------------------------------------------------------------- operations

static const char *file_name(const struct ptx_module *module, uint32_t index)
{
    for (size_t i = 0; i < module->file_count; i++) {
        if (module->files[i].index == index) {
            return module->files[i].name;
        }
    }
    return "?";
}

static const struct ir_loc *make_loc(struct ir_build *b, const struct ptx_loc *ptx,
                                     const struct ir_instance *scope)
{
    if (ptx == NULL) {
        return scope->site;
    }
    struct ir_loc *loc = ir_new(b, sizeof *loc);
    loc->file = file_name(b->program->modules[scope->unit], ptx->file);
    loc->line = ptx->line;
    loc->column = ptx->column;
    loc->function = ptx->inlined_at != NULL ? ptx->function
                    : scope->outer != NULL  ? scope->ptx->symbol->name
                                            : NULL;
    loc->inlined_at = ptx->inlined_at != NULL ? make_loc(b, ptx->inlined_at, scope) : scope->site;
    return loc;
}

const struct ir_loc *ir_loc_now(struct ir_build *b)
{
    const struct ptx_loc *ptx = b->statement != NULL ? b->statement->loc : NULL;
    const struct ir_instance *scope = b->statement_scope;
    if (scope == NULL || (ptx == NULL && scope->site == NULL)) {
        return NULL;
    }
    if (ptx != b->known.ptx || scope != b->known.scope) {
        b->known.loc = make_loc(b, ptx, scope);
        b->known.ptx = ptx;
        b->known.scope = scope;
    }
    return b->known.loc;
}

struct ir_inst *ir_inst_new(struct ir_build *b, enum ir_op op, enum ir_type type,
                            unsigned dst_count, unsigned src_count)
{
    struct ir_inst *inst =
        ir_new(b, sizeof *inst + src_count * sizeof *inst->src + dst_count * sizeof *inst->dst);
    inst->op = op;
    inst->type = type;
    inst->vector = 1;
    inst->dst_count = (uint8_t)dst_count;
    inst->src_count = (uint8_t)src_count;
    inst->src = (struct ir_operand *)(inst + 1);
    inst->dst = (uint32_t *)(inst->src + src_count);
    if (b->statement != NULL) {
        inst->line = b->statement->line;
        inst->loc = ir_loc_now(b);
    }
    if (b->scope != NULL) {
        inst->unit = b->scope->unit;
    }
    return inst;
}

static void link_last(struct ir_block *block, struct ir_inst *inst)
{
    inst->prev = block->last;
    inst->next = NULL;
    if (block->last != NULL) {
        block->last->next = inst;
    } else {
        block->first = inst;
    }
    block->last = inst;
}

struct ir_inst *ir_append(struct ir_build *b, enum ir_op op, enum ir_type type, unsigned dst_count,
                          unsigned src_count)
{
    if (b->block == NULL) { // code behind a terminator: unreachable, removed by pass `order`
        ir_block_start(b, ir_block_new(b));
    }
    struct ir_inst *inst = ir_inst_new(b, op, type, dst_count, src_count);
    link_last(b->block, inst);
    return inst;
}

void ir_insert_before(struct ir_block *block, struct ir_inst *where, struct ir_inst *inst)
{
    if (where == NULL) {
        link_last(block, inst);
        return;
    }
    inst->next = where;
    inst->prev = where->prev;
    if (where->prev != NULL) {
        where->prev->next = inst;
    } else {
        block->first = inst;
    }
    where->prev = inst;
}

void ir_insert_first(struct ir_block *block, struct ir_inst *inst)
{
    struct ir_inst *where = block->first;
    while (where != NULL && where->op == IR_phi) {
        where = where->next;
    }
    ir_insert_before(block, where, inst);
}

void ir_remove(struct ir_block *block, struct ir_inst *inst)
{
    if (inst->prev != NULL) {
        inst->prev->next = inst->next;
    } else {
        block->first = inst->next;
    }
    if (inst->next != NULL) {
        inst->next->prev = inst->prev;
    } else {
        block->last = inst->prev;
    }
}

uint32_t ir_result(struct ir_build *b, struct ir_inst *inst, unsigned n)
{
    inst->dst[n] = ir_value_new(b, ir_op_destination_type(inst, n), NULL);
    return inst->dst[n];
}

static struct ir_operand finish(struct ir_build *b, struct ir_inst *inst, uint32_t flags)
{
    inst->flags = flags;
    return ir_use(ir_result(b, inst, 0));
}

struct ir_operand ir_op1(struct ir_build *b, enum ir_op op, enum ir_type type, uint32_t flags,
                         struct ir_operand x)
{
    struct ir_inst *inst = ir_append(b, op, type, 1, 1);
    inst->src[0] = x;
    return finish(b, inst, flags);
}

struct ir_operand ir_op2(struct ir_build *b, enum ir_op op, enum ir_type type, uint32_t flags,
                         struct ir_operand x, struct ir_operand y)
{
    struct ir_inst *inst = ir_append(b, op, type, 1, 2);
    inst->src[0] = x;
    inst->src[1] = y;
    return finish(b, inst, flags);
}

struct ir_operand ir_op3(struct ir_build *b, enum ir_op op, enum ir_type type, uint32_t flags,
                         struct ir_operand x, struct ir_operand y, struct ir_operand z)
{
    struct ir_inst *inst = ir_append(b, op, type, 1, 3);
    inst->src[0] = x;
    inst->src[1] = y;
    inst->src[2] = z;
    return finish(b, inst, flags);
}

struct ir_operand ir_setp(struct ir_build *b, enum ir_compare compare, enum ir_type type,
                          uint32_t flags, struct ir_operand x, struct ir_operand y)
{
    struct ir_operand result = ir_op2(b, IR_setp, type, flags, x, y);
    b->block->last->compare = compare;
    return result;
}

struct ir_operand ir_resize(struct ir_build *b, struct ir_operand x, enum ir_type from,
                            enum ir_type to, bool sign)
{
    if (from == to || x.kind == IR_UNDEF) {
        return x;
    }
    if (x.kind == IR_CONSTANT && to != IR_I128) {
        uint64_t bits = x.bits & ir_mask(from);
        unsigned width = ir_bits(from);
        if (sign && width < 64 && (bits >> (width - 1) & 1) != 0) {
            bits |= ~ir_mask(from);
        }
        return ir_constant(bits & ir_mask(to));
    }
    struct ir_operand result =
        ir_op1(b, IR_cvt, to, sign ? IR_FLAG_SRC_SIGNED | IR_FLAG_SIGNED : 0, x);
    b->block->last->type2 = from;
    return result;
}

void ir_pack_parts(struct ir_build *b, struct ir_operand x, enum ir_type storage, unsigned count,
                   struct ir_operand *ret_parts)
{
    struct ir_inst *inst = ir_append(b, IR_unpack, storage, count, 1);
    inst->src[0] = x;
    for (unsigned i = 0; i < count; i++) {
        ret_parts[i] = ir_use(ir_result(b, inst, i));
    }
}

struct ir_operand ir_pack(struct ir_build *b, enum ir_type storage, unsigned count,
                          const struct ir_operand *parts)
{
    struct ir_inst *inst = ir_append(b, IR_pack, storage, 1, count);
    memcpy(inst->src, parts, count * sizeof *parts);
    return ir_use(ir_result(b, inst, 0));
}

void ir_br(struct ir_build *b, struct ir_block *target)
{
    ir_append(b, IR_br, IR_VOID, 0, 0)->target[0] = target;
    b->block = NULL;
}

void ir_cbr(struct ir_build *b, struct ir_operand condition, struct ir_block *yes,
            struct ir_block *no)
{
    struct ir_inst *inst = ir_append(b, IR_cbr, IR_VOID, 0, 1);
    inst->src[0] = condition;
    inst->target[0] = yes;
    inst->target[1] = no;
    b->block = NULL;
}

void ir_trap(struct ir_build *b, const char *text)
{
    ir_append(b, IR_trap, IR_VOID, 0, 0)->text = text;
    ir_append(b, IR_unreachable, IR_VOID, 0, 0);
    b->block = NULL;
}
