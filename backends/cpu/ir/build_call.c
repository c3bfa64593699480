// SPDX-License-Identifier: Apache-2.0
//
// Control flow and calls: branches, inlining of direct calls, argument blocks of the others,
// indirect calls, CUDA's external functions, parameters of functions, return and exit.
#include "ir_internal.h"

#include <string.h>

#include "../kernel_abi.h"
#include "ir_program.h"

enum {
    INLINE_LIMIT = 60000,   // statements of a function with everything inlined that may suspend
    INLINE_PLAIN = 12000,   // the same, when callees without suspension points are inlined
    INLINE_ALWAYS = 200,    // statements of a callee that is worth it up to INLINE_LIMIT
    CALL_DEPTH_LIMIT = 500, // nesting of analysed calls
    BLOCK_LIMIT = 65536,    // bytes of a parameter block (entries: 32764)
};

// ---------------------------------------------------------------- parameter blocks

static uint32_t align_up(uint32_t value, uint32_t align)
{
    return align > 1 ? (value + align - 1) / align * align : value;
}

void ir_layout_block(const struct ptx_variable *list, struct ir_param *params, uint32_t *ret_size)
{
    uint32_t size = 0;
    for (const struct ptx_variable *v = list; v != NULL; v = v->next) {
        uint32_t bytes = (uint32_t)v->size;
        uint32_t align = v->align;
        if (v->space == PTX_SPACE_REG && bytes == 0) {
            bytes = 1; // a predicate
        }
        if (align == 0) {
            align = bytes == 0 ? 1 : bytes;
        }
        size = align_up(size, align);
        if (params != NULL) {
            *params++ = (struct ir_param){.offset = size, .size = bytes, .align = align};
        }
        size += bytes;
    }
    *ret_size = size;
}

static uint32_t list_length(const struct ptx_variable *list)
{
    uint32_t count = 0;
    for (; list != NULL; list = list->next) {
        count++;
    }
    return count;
}

static struct ir_param *layout(struct ir_build *b, const struct ptx_variable *list,
                               uint32_t *ret_count, uint32_t *ret_size)
{
    *ret_count = list_length(list);
    uint64_t bytes = 0;
    for (const struct ptx_variable *v = list; v != NULL; v = v->next) {
        bytes += v->size + v->align;
        if (bytes > BLOCK_LIMIT) {
            ir_fail(b, "parameters of more than %d bytes", BLOCK_LIMIT);
        }
    }
    struct ir_param *params = ir_new(b, (*ret_count + 1) * sizeof *params);
    ir_layout_block(list, params, ret_size);
    return params;
}

void ir_bind_formals(struct ir_build *b)
{
    struct ir_function *fn = b->fn;
    const struct ptx_function *ptx = b->scope->ptx;
    fn->params = layout(b, ptx->params, &fn->param_count, &fn->params_size);
    fn->returns = layout(b, ptx->returns, &fn->return_count, &fn->return_size);
    const struct ir_param *param = fn->params;
    for (const struct ptx_variable *v = ptx->params; v != NULL; v = v->next, param++) {
        ir_place_set(b, b->scope, v,
                     (struct ir_place){.space = fn->is_entry ? IR_PARAM_ENTRY : IR_ARGUMENT,
                                       .offset = param->offset,
                                       .size = param->size});
    }
    param = fn->returns;
    for (const struct ptx_variable *v = ptx->returns; v != NULL; v = v->next, param++) {
        ir_place_set(
            b, b->scope, v,
            (struct ir_place){.space = IR_RETURN, .offset = param->offset, .size = param->size});
    }
}

static struct ir_address address_of(const struct ir_place *place)
{
    return (struct ir_address){
        .space = place->space, .index = place->index, .offset = place->offset};
}

static enum ir_type memory_type(enum ir_type storage)
{
    return storage == IR_I1 ? IR_I8 : storage;
}

void ir_load_formals(struct ir_build *b)
{
    for (const struct ptx_variable *v = b->scope->ptx->params; v != NULL; v = v->next) {
        struct ir_place place;
        if (v->space != PTX_SPACE_REG || !ir_place_find(b->scope, v, &place)) {
            continue;
        }
        uint32_t target = ir_register(b, v->symbol, 0);
        enum ir_type storage = b->fn->values[target].type;
        struct ir_address address = address_of(&place);
        struct ir_inst *inst = ir_load(b, &address, memory_type(storage), 1);
        ir_assign(b, target,
                  ir_resize(b, ir_use(inst->dst[0]), memory_type(storage), storage, false));
    }
}

// ---------------------------------------------------------------- branches, return, exit

void ir_build_bra(struct ir_build *b)
{
    struct ir_block *target = ir_label(b, ir_operand_at(b, 0)->symbol);
    ir_mod(b, PTX_MOD_uni);
    if (b->in->guard == NULL) {
        ir_br(b, target);
        return;
    }
    struct ir_block *next = ir_block_new(b);
    uint32_t guard = ir_register(b, b->in->guard, 0);
    if (b->fn->values[guard].type != IR_I1) {
        ir_fail(b, "guard %s is no predicate", b->in->guard->name);
    }
    bool negated = b->in->guard_negated;
    ir_cbr(b, ir_use(guard), negated ? next : target, negated ? target : next);
    ir_block_start(b, next);
}

void ir_build_brx(struct ir_build *b)
{
    const struct ptx_symbol *list = ir_operand_at(b, 1)->symbol;
    ir_mod(b, PTX_MOD_idx);
    if (list == NULL || list->kind != PTX_SYMBOL_PROTOTYPE ||
        list->prototype->kind != PTX_PROTO_BRANCHTARGETS || list->prototype->target_count == 0) {
        ir_fail(b, "brx.idx without a list of .branchtargets");
    }
    const struct ptx_prototype *targets = list->prototype;
    struct ir_operand index = ir_src(b, 0, PTX_U32);
    struct ir_inst *inst = ir_append(b, IR_brx, IR_VOID, 0, 1);
    inst->src[0] = index;
    inst->target_count = (uint32_t)targets->target_count;
    inst->targets = ir_new(b, targets->target_count * sizeof *inst->targets);
    b->block = NULL;
    struct ir_map seen = {0};
    for (size_t i = 0; i < targets->target_count; i++) {
        struct ir_block *target = ir_label(b, targets->targets[i]);
        uint32_t before;
        if (ir_map_get(&seen, target, &before)) { // edges of the graph are unique
            struct ir_block *between = ir_block_new(b);
            ir_block_start(b, between);
            ir_br(b, target);
            target = between;
        } else {
            ir_map_put(b, &seen, target, 1);
        }
        inst->targets[i] = target;
    }
}

void ir_build_ret(struct ir_build *b)
{
    struct ir_instance *scope = b->scope;
    for (const struct ptx_variable *v = scope->ptx->returns; v != NULL; v = v->next) {
        struct ir_place place;
        if (v->space != PTX_SPACE_REG || !ir_place_find(scope, v, &place)) {
            continue;
        }
        uint32_t value = ir_register(b, v->symbol, 0);
        enum ir_type storage = b->fn->values[value].type;
        struct ir_operand x = ir_resize(b, ir_use(value), storage, memory_type(storage), false);
        struct ir_address address = address_of(&place);
        ir_store(b, &address, memory_type(storage), 1, &x);
    }
    if (scope->leave != NULL) {
        ir_br(b, scope->leave);
        return;
    }
    ir_append(b, IR_ret, IR_VOID, 0, 0);
    b->block = NULL;
}

void ir_build_exit(struct ir_build *b)
{
    ir_append(b, IR_exit, IR_VOID, 0, 0);
    b->block = NULL;
}

void ir_build_trap(struct ir_build *b)
{
    ir_trap(b, b->in->opcode == PTX_OP_brkpt ? "brkpt" : "trap");
}

// ---------------------------------------------------------------- who calls whom

static uint64_t statement_count(const struct ptx_function *function)
{
    uint64_t count = 0;
    for (const struct ptx_statement *s = function->body; s != NULL; s = s->next) {
        count++;
    }
    return count;
}

static const struct ptx_symbol *callee_of(const struct ptx_statement *s)
{
    if (s->kind != PTX_STMT_INSTRUCTION || s->instruction->opcode != PTX_OP_call ||
        s->instruction->operand_count < 2) {
        return NULL;
    }
    const struct ptx_symbol *symbol = s->instruction->operands[1].symbol;
    return symbol != NULL && symbol->kind == PTX_SYMBOL_FUNCTION ? symbol : NULL;
}

static bool opcode_may_suspend(enum ptx_opcode opcode)
{
    switch (opcode) {
    case PTX_OP_bar:
    case PTX_OP_barrier:
    case PTX_OP_shfl:
    case PTX_OP_vote:
    case PTX_OP_match:
    case PTX_OP_redux:
    case PTX_OP_elect:
    case PTX_OP_activemask:
    case PTX_OP_nanosleep:
    case PTX_OP_atom:
    case PTX_OP_mbarrier:
        return true;
    default:
        return false;
    }
}

// The function of the device runtime that a PTX name stands for, or EXEC_DEVICE_API_COUNT.
static enum exec_device_api device_api(const char *name)
{
    static const char *const names[] = {
#define DEVICE_API(name) #name,
#include "../device_api.def"
#undef DEVICE_API
    };
    static const char new_prefix[] = "__cudaCDP2", old_prefix[] = "cuda", suffix[] = "_ptsz";
    if (strncmp(name, new_prefix, sizeof new_prefix - 1) == 0) {
        name += sizeof new_prefix - 1;
    } else if (strncmp(name, old_prefix, sizeof old_prefix - 1) == 0) {
        name += sizeof old_prefix - 1;
    } else {
        return EXEC_DEVICE_API_COUNT;
    }
    for (unsigned i = 0; i < EXEC_DEVICE_API_COUNT; i++) {
        size_t length = strlen(names[i]);
        if (strncmp(name, names[i], length) == 0 &&
            (name[length] == '\0' || strcmp(name + length, suffix) == 0)) {
            return (enum exec_device_api)i;
        }
    }
    return EXEC_DEVICE_API_COUNT;
}

static void collect_callees(struct ir_build *b, struct ir_callee *info,
                            const struct ptx_function *function)
{
    uint32_t count = 0;
    for (const struct ptx_statement *s = function->body; s != NULL; s = s->next) {
        count += callee_of(s) != NULL;
        info->may_suspend |=
            s->kind == PTX_STMT_INSTRUCTION && opcode_may_suspend(s->instruction->opcode);
    }
    info->callees = ir_new_scratch(b, (count + 1) * sizeof *info->callees);
    for (const struct ptx_statement *s = function->body; s != NULL; s = s->next) {
        const struct ptx_symbol *symbol = callee_of(s);
        uint32_t index =
            symbol == NULL ? UINT32_MAX : ir_program_function_of(b->program, symbol->function);
        if (index != UINT32_MAX && b->program->functions[index].ptx->has_body &&
            device_api(symbol->name) == EXEC_DEVICE_API_COUNT) {
            info->callees[info->callee_count++] = index;
        }
    }
}

// May the callee be inlined into a function that has `size` statements so far? Inlined suspension
// points spare a frame stack, so functions with some are inlined longer than others.
static bool fits(uint64_t size, const struct ir_callee *callee)
{
    bool wanted = callee->may_suspend || callee->size <= INLINE_ALWAYS;
    return size + callee->size <= (wanted ? INLINE_LIMIT : INLINE_PLAIN);
}

// Tarjan's algorithm: which functions are part of a cycle of direct calls, and how large each is
// with its callees.
static void analyse(struct ir_build *b, uint32_t index, unsigned depth)
{
    struct ir_callee *info = &b->callees[index];
    if (depth > CALL_DEPTH_LIMIT) {
        ir_fail(b, "calls of functions are nested too deep");
    }
    info->visited = info->on_stack = true;
    info->order = info->low = ++b->tarjan_order;
    b->tarjan[b->tarjan_count++] = index;
    collect_callees(b, info, b->program->functions[index].ptx);
    info->size = statement_count(b->program->functions[index].ptx);
    for (uint32_t i = 0; i < info->callee_count; i++) {
        struct ir_callee *callee = &b->callees[info->callees[i]];
        if (!callee->visited) {
            analyse(b, info->callees[i], depth + 1);
            info->low = callee->low < info->low ? callee->low : info->low;
        } else if (callee->on_stack) {
            info->low = callee->order < info->low ? callee->order : info->low;
        }
        info->cyclic |= info->callees[i] == index;
    }
    if (info->low == info->order) {
        uint32_t first = b->tarjan_count;
        do {
            first--;
        } while (b->tarjan[first] != index);
        bool several = b->tarjan_count - first > 1;
        for (uint32_t i = first; i < b->tarjan_count; i++) {
            struct ir_callee *member = &b->callees[b->tarjan[i]];
            member->on_stack = false;
            member->cyclic |= several;
        }
        b->tarjan_count = first;
    }
    for (uint32_t i = 0; i < info->callee_count; i++) {
        const struct ir_callee *callee = &b->callees[info->callees[i]];
        info->may_suspend |= callee->may_suspend;
        if (!callee->cyclic && !callee->on_stack && fits(info->size, callee)) {
            info->size += callee->size;
        }
    }
}

void ir_analyse_calls(struct ir_build *b, uint32_t program_function)
{
    if (!b->callees[program_function].visited) {
        analyse(b, program_function, 0);
    }
}

uint32_t ir_unit_function(struct ir_build *b, uint32_t program_function)
{
    struct ir_callee *info = &b->callees[program_function];
    if (info->position != 0) {
        return info->position - 1;
    }
    struct ir_unit *unit = b->unit;
    ir_analyse_calls(b, program_function);
    unit->functions = ir_grow(b, unit->functions, &b->function_capacity, unit->function_count,
                              sizeof *unit->functions);
    struct ir_function *fn = ir_new(b, sizeof *fn);
    fn->name = b->program->functions[program_function].name;
    fn->program_index = program_function;
    fn->recursive = info->cyclic;
    fn->address_taken = ir_program_address_taken(b->program, program_function);
    unit->functions[unit->function_count] = fn;
    info->position = ++unit->function_count;
    return info->position - 1;
}

// ---------------------------------------------------------------- arguments

static unsigned list_count(const struct ptx_operand *list)
{
    return list->kind == PTX_OPERAND_LIST ? list->count : list->kind == PTX_OPERAND_NONE ? 0 : 1;
}

static const struct ptx_operand *list_item(const struct ptx_operand *list, unsigned n)
{
    return list->kind == PTX_OPERAND_LIST ? &list->elements[n] : list;
}

// The place of an actual .param variable; false when the actual is a register or a constant.
static bool actual_place(struct ir_build *b, const struct ptx_operand *actual,
                         struct ir_place *ret_place)
{
    if (actual->kind != PTX_OPERAND_SYMBOL || (actual->symbol->kind != PTX_SYMBOL_VARIABLE &&
                                               actual->symbol->kind != PTX_SYMBOL_PARAMETER)) {
        return false;
    }
    return ir_place_find(b->scope, actual->symbol->variable, ret_place);
}

// The PTX type under which a formal's value travels when the actual is a register or constant.
static enum ptx_type formal_type(struct ir_build *b, const struct ptx_variable *formal)
{
    if (formal->is_array) {
        ir_fail(b, "parameter %s is an array, its argument is none", formal->symbol->name);
    }
    return formal->type;
}

static void copy_in(struct ir_build *b, const struct ptx_operand *actual,
                    const struct ptx_variable *formal, struct ir_place to)
{
    struct ir_place from;
    struct ir_address target = address_of(&to);
    if (!actual_place(b, actual, &from)) {
        enum ptx_type type = formal_type(b, formal);
        enum ir_type storage = ir_reading(b, type).storage;
        struct ir_operand x =
            ir_resize(b, ir_read(b, actual, type), storage, memory_type(storage), false);
        ir_store(b, &target, memory_type(storage), 1, &x);
        return;
    }
    enum ir_type scalar = ir_int(8 * (unsigned)to.size);
    if (from.size < to.size) {
        ir_fail(b, "the argument of parameter %s is too small", formal->symbol->name);
    }
    if (!formal->is_array && scalar != IR_VOID) {
        struct ir_address source = address_of(&from);
        struct ir_operand x = ir_use(ir_load(b, &source, scalar, 1)->dst[0]);
        ir_store(b, &target, scalar, 1, &x);
        return;
    }
    if (from.space != IR_SLOT || to.space != IR_SLOT) {
        ir_fail(b, "this form of structure argument is not compiled");
    }
    struct ir_inst *inst = ir_append(b, IR_slot_copy, IR_VOID, 0, 0);
    inst->index = to.index;
    inst->offset = to.offset;
    inst->site = from.index;
    inst->target_count = (uint32_t)to.size;
}

static void copy_out(struct ir_build *b, const struct ptx_operand *actual,
                     const struct ptx_variable *formal, struct ir_place from)
{
    struct ir_place to;
    struct ir_address source = address_of(&from);
    if (ir_is_sink(actual)) {
        return;
    }
    if (!actual_place(b, actual, &to)) {
        enum ptx_type type = formal_type(b, formal);
        enum ir_type storage = ir_reading(b, type).storage;
        struct ir_inst *inst = ir_load(b, &source, memory_type(storage), 1);
        ir_write(b, actual, type,
                 ir_resize(b, ir_use(inst->dst[0]), memory_type(storage), storage, false));
        return;
    }
    if (to.size < from.size) {
        ir_fail(b, "the variable for result %s is too small", formal->symbol->name);
    }
    struct ir_address target = address_of(&to);
    enum ir_type scalar = ir_int(8 * (unsigned)from.size);
    if (!formal->is_array && scalar != IR_VOID) {
        struct ir_operand x = ir_use(ir_load(b, &source, scalar, 1)->dst[0]);
        ir_store(b, &target, scalar, 1, &x);
        return;
    }
    for (uint64_t at = 0; at < from.size;) { // any size and alignment
        unsigned step = from.size - at >= 8 ? 8 : from.size - at >= 4 ? 4 : 1;
        struct ir_operand x = ir_use(ir_load(b, &source, ir_int(8 * step), 1)->dst[0]);
        ir_store(b, &target, ir_int(8 * step), 1, &x);
        source.offset += step;
        target.offset += step;
        at += step;
    }
}

static void check_counts(struct ir_build *b, const struct ptx_variable *params,
                         const struct ptx_variable *returns, const char *name)
{
    if (list_count(ir_operand_at(b, 2)) != list_length(params) ||
        list_count(ir_operand_at(b, 0)) != list_length(returns)) {
        ir_fail(b, "call of %s with other parameters than its declaration", name);
    }
}

// ---------------------------------------------------------------- inlining

// Gives the formals of the inlined function the places of the actuals, or slots of their own when
// an actual is a register, a constant or is given twice.
static void bind_inlined(struct ir_build *b, struct ir_instance *inner,
                         const struct ptx_variable *formals, const struct ptx_operand *actuals,
                         bool results)
{
    unsigned n = 0;
    for (const struct ptx_variable *v = formals; v != NULL; v = v->next, n++) {
        const struct ptx_operand *actual = list_item(actuals, n);
        struct ir_param param;
        uint32_t size;
        struct ptx_variable alone = *v;
        alone.next = NULL;
        ir_layout_block(&alone, &param, &size);
        struct ir_place place;
        bool twice = false;
        bool own = !actual_place(b, actual, &place) || place.size < param.size;
        for (uint32_t i = 0; !own && i < inner->place_count; i++) {
            twice |= inner->places[i].space == place.space &&
                     inner->places[i].index == place.index &&
                     inner->places[i].offset == place.offset;
        }
        if (own || twice) {
            place = (struct ir_place){.space = IR_SLOT,
                                      .size = param.size,
                                      .index =
                                          ir_slot_new(b, v->symbol->name, param.size, param.align)};
            if (!results) {
                copy_in(b, actual, v, place);
            }
        }
        ir_place_set(b, inner, v, place);
    }
}

static void build_inline(struct ir_build *b, uint32_t callee)
{
    const struct ir_program_function *function = &b->program->functions[callee];
    struct ir_instance *outer = b->scope;
    struct ir_instance *inner = ir_scope_new(b, function->ptx, function->unit, callee);
    check_counts(b, function->ptx->params, function->ptx->returns, function->name);
    const struct ptx_operand *actuals = ir_operand_at(b, 2), *results = ir_operand_at(b, 0);
    bind_inlined(b, inner, function->ptx->params, actuals, false);
    bind_inlined(b, inner, function->ptx->returns, results, true);
    inner->leave = ir_block_new(b);
    inner->outer = outer;
    inner->site = ir_loc_now(b);
    uint32_t used = b->used;
    b->scope = inner;
    ir_load_formals(b);
    ir_build_body(b);
    b->scope = outer;
    b->used = used;
    ir_block_start(b, inner->leave);
    unsigned n = 0;
    for (const struct ptx_variable *v = function->ptx->returns; v != NULL; v = v->next, n++) {
        struct ir_place place, actual;
        const struct ptx_operand *result = list_item(results, n);
        ir_place_find(inner, v, &place);
        if (!actual_place(b, result, &actual) || actual.space != place.space ||
            actual.index != place.index || actual.offset != place.offset) {
            copy_out(b, result, v, place);
        }
    }
    if (function->ptx->noreturn) {
        ir_append(b, IR_unreachable, IR_VOID, 0, 0);
        b->block = NULL;
    }
}

// ---------------------------------------------------------------- calls that stay calls

static struct ir_inst *build_block_call(struct ir_build *b, enum ir_op op, unsigned sources,
                                        const struct ptx_variable *params,
                                        const struct ptx_variable *returns)
{
    struct ir_call *call = ir_new(b, sizeof *call);
    uint32_t count;
    struct ir_param *in = layout(b, params, &count, &call->argument_size);
    struct ir_param *out = layout(b, returns, &count, &call->return_size);
    const struct ptx_operand *actuals = ir_operand_at(b, 2), *results = ir_operand_at(b, 0);
    call->argument_slot = call->return_slot = UINT32_MAX;
    if (call->argument_size > 0) {
        call->argument_slot = ir_slot_new(b, "arguments", call->argument_size, 16);
    }
    if (call->return_size > 0) {
        call->return_slot = ir_slot_new(b, "results", call->return_size, 16);
    }
    unsigned n = 0;
    for (const struct ptx_variable *v = params; v != NULL; v = v->next, n++) {
        copy_in(b, list_item(actuals, n), v,
                (struct ir_place){.space = IR_SLOT,
                                  .index = call->argument_slot,
                                  .offset = in[n].offset,
                                  .size = in[n].size});
    }
    struct ir_inst *inst = ir_append(b, op, IR_VOID, 0, sources);
    inst->call = call;
    n = 0;
    for (const struct ptx_variable *v = returns; v != NULL; v = v->next, n++) {
        copy_out(b, list_item(results, n), v,
                 (struct ir_place){.space = IR_SLOT,
                                   .index = call->return_slot,
                                   .offset = out[n].offset,
                                   .size = out[n].size});
    }
    return inst;
}

static bool same_layout(const struct ptx_variable *a, const struct ptx_variable *other)
{
    for (; a != NULL && other != NULL; a = a->next, other = other->next) {
        if (a->size != other->size) {
            return false;
        }
    }
    return a == NULL && other == NULL;
}

// Every function with the prototype's parameters whose address is taken in the program: a pointer
// may come from memory that another kernel wrote.
static void indirect_targets(struct ir_build *b, struct ir_call *call,
                             const struct ptx_variable *params, const struct ptx_variable *returns)
{
    const struct ir_program *program = b->program;
    uint32_t capacity = 0;
    for (uint32_t i = 0; i < program->function_count; i++) {
        const struct ptx_function *ptx = program->functions[i].ptx;
        if (!ir_program_address_taken(program, i) || !ptx->has_body || ptx->is_entry ||
            !same_layout(ptx->params, params) || !same_layout(ptx->returns, returns)) {
            continue;
        }
        call->targets =
            ir_grow(b, call->targets, &capacity, call->target_count, sizeof *call->targets);
        call->targets[call->target_count++] = ir_unit_function(b, i);
    }
}

static void build_indirect(struct ir_build *b)
{
    const struct ptx_symbol *list = ir_operand_at(b, 3)->symbol;
    if (list == NULL || list->kind != PTX_SYMBOL_PROTOTYPE ||
        list->prototype->kind == PTX_PROTO_BRANCHTARGETS) {
        ir_fail(b, "indirect call without .callprototype or .calltargets");
    }
    const struct ptx_prototype *prototype = list->prototype;
    const struct ptx_variable *params = prototype->params, *returns = prototype->returns;
    bool listed = prototype->kind == PTX_PROTO_CALLTARGETS;
    if (listed) {
        if (prototype->target_count == 0 || prototype->targets[0]->kind != PTX_SYMBOL_FUNCTION) {
            ir_fail(b, ".calltargets names no function");
        }
        params = prototype->targets[0]->function->params;
        returns = prototype->targets[0]->function->returns;
    }
    check_counts(b, params, returns, "a function pointer");
    struct ir_operand address = ir_src(b, 1, PTX_U64);
    uint32_t held = ir_value_new(b, IR_I64, NULL); // copying the arguments cannot change it
    struct ir_inst *mov = ir_append(b, IR_mov, IR_I64, 1, 1);
    mov->src[0] = address;
    mov->dst[0] = held;
    struct ir_inst *inst = build_block_call(b, IR_call_indirect, 1, params, returns);
    inst->src[0] = ir_use(held);
    b->unit->uses_indirect = true;
    if (!listed) {
        indirect_targets(b, inst->call, params, returns);
        return;
    }
    inst->call->targets = ir_new(b, prototype->target_count * sizeof *inst->call->targets);
    for (size_t i = 0; i < prototype->target_count; i++) {
        uint32_t index = ir_program_function_of(b->program, prototype->targets[i]->function);
        if (index == UINT32_MAX || !b->program->functions[index].ptx->has_body) {
            ir_fail(b, "function %s is called and defined nowhere", prototype->targets[i]->name);
        }
        inst->call->targets[inst->call->target_count++] = ir_unit_function(b, index);
    }
}

// ---------------------------------------------------------------- functions of the CUDA runtime

static struct ir_operand argument(struct ir_build *b, unsigned n, enum ptx_type type)
{
    const struct ptx_operand *list = ir_operand_at(b, 2);
    if (n >= list_count(list)) {
        ir_fail(b, "argument %u is missing", n);
    }
    const struct ptx_operand *actual = list_item(list, n);
    struct ir_place place;
    if (!actual_place(b, actual, &place)) {
        return ir_read(b, actual, type);
    }
    struct ir_address address = address_of(&place);
    return ir_use(ir_load(b, &address, ir_reading(b, type).storage, 1)->dst[0]);
}

static void result(struct ir_build *b, enum ptx_type type, struct ir_operand value)
{
    const struct ptx_operand *list = ir_operand_at(b, 0);
    if (list_count(list) == 0) {
        return;
    }
    const struct ptx_operand *actual = list_item(list, 0);
    struct ir_place place;
    if (!actual_place(b, actual, &place)) {
        ir_write(b, actual, type, value);
        return;
    }
    struct ir_address address = address_of(&place);
    ir_store(b, &address, ir_reading(b, type).storage, 1, &value);
}

static bool build_external(struct ir_build *b, const char *name)
{
    if (strcmp(name, "vprintf") == 0) {
        struct ir_operand format = argument(b, 0, PTX_U64), arguments = argument(b, 1, PTX_U64);
        result(b, PTX_B32, ir_op2(b, IR_vprintf, IR_I32, 0, format, arguments));
        b->unit->uses_printf = true;
    } else if (strcmp(name, "malloc") == 0) {
        result(b, PTX_B64, ir_op1(b, IR_malloc, IR_I64, 0, argument(b, 0, PTX_U64)));
        b->unit->uses_malloc = true;
    } else if (strcmp(name, "free") == 0) {
        struct ir_operand pointer = argument(b, 0, PTX_U64);
        ir_append(b, IR_free, IR_VOID, 0, 1)->src[0] = pointer;
        b->unit->uses_malloc = true;
    } else if (strcmp(name, "__assertfail") == 0) {
        struct ir_operand sources[4] = {argument(b, 0, PTX_U64), argument(b, 1, PTX_U64),
                                        argument(b, 2, PTX_U32), argument(b, 3, PTX_U64)};
        struct ir_inst *inst = ir_append(b, IR_assertfail, IR_VOID, 0, 4);
        memcpy(inst->src, sources, sizeof sources);
        ir_append(b, IR_unreachable, IR_VOID, 0, 0);
        b->block = NULL;
    } else {
        return false;
    }
    return true;
}

void ir_build_call(struct ir_build *b)
{
    ir_mod(b, PTX_MOD_uni);
    const struct ptx_symbol *symbol = ir_operand_at(b, 1)->symbol;
    if (symbol == NULL || symbol->kind != PTX_SYMBOL_FUNCTION) {
        build_indirect(b);
        return;
    }
    enum exec_device_api api = device_api(symbol->name);
    if (api != EXEC_DEVICE_API_COUNT) {
        const struct ptx_variable *params = symbol->function->params;
        const struct ptx_variable *returns = symbol->function->returns;
        check_counts(b, params, returns, symbol->name);
        build_block_call(b, IR_device_call, 0, params, returns)->index = api;
        b->unit->uses_malloc |= api == EXEC_DEVICE_Malloc || api == EXEC_DEVICE_Free;
        return;
    }
    uint32_t index = ir_program_function_of(b->program, symbol->function);
    const struct ir_program_function *function =
        index == UINT32_MAX ? NULL : &b->program->functions[index];
    if (function == NULL || !function->ptx->has_body) {
        if (!build_external(b, symbol->name)) {
            ir_fail(b, "function %s is called and defined nowhere", symbol->name);
        }
        return;
    }
    if (function->ptx->is_entry) {
        ir_fail(b, "a call of the kernel %s", symbol->name);
    }
    const struct ir_callee *info = &b->callees[index];
    unsigned depth = 0;
    for (const struct ir_instance *s = b->scope; s != NULL; s = s->outer) {
        depth++;
    }
    if (!info->cyclic && fits(b->inlined, info) && depth < CALL_DEPTH_LIMIT) {
        b->inlined += info->size;
        build_inline(b, index);
        return;
    }
    check_counts(b, function->ptx->params, function->ptx->returns, function->name);
    uint32_t position = ir_unit_function(b, index);
    struct ir_inst *inst =
        build_block_call(b, IR_call, 0, function->ptx->params, function->ptx->returns);
    inst->index = position;
}
