// SPDX-License-Identifier: Apache-2.0
//
// Links parsed PTX modules into a program: one table of functions and one of variables, in which
// every symbol of every module finds its definition. Visible names are shared by all modules,
// others belong to their module. Knows nothing of code beyond which functions have their address
// taken. Called by exec/ (through ir.h) and by the builder (ir_program_*_of).
#define HASH_FUNCTION HASH_OAT // the default falls through in a switch, clang warns
#define HASH_NONFATAL_OOM 1
#define uthash_nonfatal_oom(element) ((element)->oom = true)
#include <uthash.h>

#include "ir_program.h"

#include <string.h>

enum strength { STRENGTH_EXTERN, STRENGTH_COMMON, STRENGTH_WEAK, STRENGTH_STRONG };

struct by_name {
    const char *name;
    uint32_t function, variable; // index + 1, 0 = none
    bool oom;
    UT_hash_handle hh;
};

struct by_symbol { // ptx_function * or ptx_variable *
    const void *key;
    uint32_t index;
    bool oom;
    UT_hash_handle hh;
};

struct ir_names {
    struct by_name *names;
    struct by_symbol *symbols;
    uint32_t function_capacity, variable_capacity;
    enum strength *function_strength, *variable_strength;
    bool *address_taken; // by function
    uint32_t strength_capacity[2];
};

struct linker {
    struct ir_program *program;
    struct ir_names *names;
    struct ir_error *error;
    uint32_t unit;
};

static int fail(struct linker *l, uint32_t line, const char *message, const char *name)
{
    memset(l->error, 0, sizeof *l->error);
    l->error->unit = l->unit;
    l->error->line = line;
    snprintf(l->error->message, sizeof l->error->message, "%s%s%s", message,
             name != NULL ? " " : "", name != NULL ? name : "");
    return -1;
}

// Grows an arena array; NULL when out of memory.
static void *grow(struct ptx_arena *arena, void *array, uint32_t *capacity, uint32_t count,
                  size_t size)
{
    if (count < *capacity) {
        return array;
    }
    uint32_t wanted = *capacity < 8 ? 16 : 2 * *capacity;
    void *bigger = ptx_arena_alloc(arena, wanted * size);
    if (bigger != NULL) {
        if (count > 0) {
            memcpy(bigger, array, count * size);
        }
        *capacity = wanted;
    }
    return bigger;
}

static struct by_name *name_entry(struct linker *l, const char *name)
{
    struct by_name *entry;
    HASH_FIND_STR(l->names->names, name, entry);
    if (entry == NULL) {
        entry = ptx_arena_alloc(l->program->arena, sizeof *entry);
        if (entry != NULL) {
            entry->name = name;
            HASH_ADD_KEYPTR(hh, l->names->names, name, strlen(name), entry);
            if (entry->oom) {
                return NULL;
            }
        }
    }
    return entry;
}

static int bind(struct linker *l, const void *key, uint32_t index)
{
    struct by_symbol *entry = ptx_arena_alloc(l->program->arena, sizeof *entry);
    if (entry == NULL) {
        return fail(l, 0, "out of memory", NULL);
    }
    entry->key = key;
    entry->index = index;
    HASH_ADD_PTR(l->names->symbols, key, entry);
    return entry->oom ? fail(l, 0, "out of memory", NULL) : 0;
}

static enum strength strength_of(enum ptx_linkage linkage, bool defined)
{
    if (!defined) {
        return STRENGTH_EXTERN;
    }
    switch (linkage) {
    case PTX_LINK_EXTERN:
        return STRENGTH_EXTERN;
    case PTX_LINK_COMMON:
        return STRENGTH_COMMON;
    case PTX_LINK_WEAK:
        return STRENGTH_WEAK;
    default:
        return STRENGTH_STRONG;
    }
}

// ---------------------------------------------------------------- functions

static int add_function(struct linker *l, const struct ptx_function *ptx)
{
    struct ir_program *program = l->program;
    struct ir_names *names = l->names;
    enum strength strength = strength_of(ptx->linkage, ptx->has_body);
    bool own = ptx->linkage == PTX_LINK_LOCAL && ptx->has_body;
    const char *name = ptx->symbol->name;
    struct by_name *entry = NULL;
    if (!own) {
        entry = name_entry(l, name);
        if (entry == NULL) {
            return fail(l, 0, "out of memory", NULL);
        }
        if (entry->function != 0) {
            uint32_t index = entry->function - 1;
            if (strength > names->function_strength[index]) {
                names->function_strength[index] = strength;
                program->functions[index] = (struct ir_program_function){name, ptx, l->unit};
            } else if (strength == STRENGTH_STRONG) {
                return fail(l, ptx->line, "more than one definition of function", name);
            }
            return bind(l, ptx, index);
        }
    }
    uint32_t index = program->function_count;
    struct ir_program_function *functions = grow(
        program->arena, program->functions, &names->function_capacity, index, sizeof *functions);
    enum strength *strengths = grow(program->arena, names->function_strength,
                                    &names->strength_capacity[0], index, sizeof *strengths);
    if (functions == NULL || strengths == NULL) {
        return fail(l, 0, "out of memory", NULL);
    }
    program->functions = functions;
    names->function_strength = strengths;
    program->functions[index] = (struct ir_program_function){name, ptx, l->unit};
    strengths[index] = strength;
    program->function_count++;
    if (entry != NULL) {
        entry->function = index + 1;
    }
    return bind(l, ptx, index);
}

// ---------------------------------------------------------------- variables

static enum ir_space variable_space(enum ptx_space space)
{
    switch (space) {
    case PTX_SPACE_CONST:
        return IR_CONST;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CTA:
    case PTX_SPACE_SHARED_CLUSTER:
        return IR_SHARED;
    case PTX_SPACE_GLOBAL:
        return IR_GLOBAL;
    default:
        return IR_GENERIC; // .local, .tex, references: no storage in the program
    }
}

static int add_variable(struct linker *l, const struct ptx_variable *ptx)
{
    struct ir_program *program = l->program;
    struct ir_names *names = l->names;
    enum ir_space space = variable_space(ptx->space);
    if (space == IR_GENERIC) {
        return 0; // an error where it is used
    }
    // Dynamic shared arrays ("extern .shared name[]") have no definition to find.
    bool dynamic = space == IR_SHARED && ptx->unsized;
    enum strength strength = strength_of(ptx->linkage, true);
    const char *name = ptx->symbol->name;
    struct by_name *entry = NULL;
    if (ptx->linkage != PTX_LINK_LOCAL && !dynamic) {
        entry = name_entry(l, name);
        if (entry == NULL) {
            return fail(l, 0, "out of memory", NULL);
        }
        if (entry->variable != 0) {
            uint32_t index = entry->variable - 1;
            struct ir_variable *old = &program->variables[index];
            bool bigger = strength == STRENGTH_COMMON &&
                          names->variable_strength[index] == STRENGTH_COMMON &&
                          ptx->size > old->ptx->size;
            if (strength > names->variable_strength[index] || bigger) {
                names->variable_strength[index] = strength;
                *old = (struct ir_variable){name, ptx, l->unit, space};
            } else if (strength == STRENGTH_STRONG) {
                return fail(l, ptx->line, "more than one definition of variable", name);
            }
            return bind(l, ptx, index);
        }
    }
    uint32_t index = program->variable_count;
    struct ir_variable *variables = grow(program->arena, program->variables,
                                         &names->variable_capacity, index, sizeof *variables);
    enum strength *strengths = grow(program->arena, names->variable_strength,
                                    &names->strength_capacity[1], index, sizeof *strengths);
    if (variables == NULL || strengths == NULL) {
        return fail(l, 0, "out of memory", NULL);
    }
    program->variables = variables;
    names->variable_strength = strengths;
    variables[index] = (struct ir_variable){name, ptx, l->unit, space};
    strengths[index] = strength;
    program->variable_count++;
    if (entry != NULL) {
        entry->variable = index + 1;
    }
    return bind(l, ptx, index);
}

// ---------------------------------------------------------------- addresses of functions

static void take_address(struct linker *l, const struct ptx_symbol *symbol)
{
    if (symbol != NULL && symbol->kind == PTX_SYMBOL_FUNCTION) {
        uint32_t index = ir_program_function_of(l->program, symbol->function);
        if (index != UINT32_MAX) {
            l->names->address_taken[index] = true;
        }
    }
}

static void scan_operand(struct linker *l, const struct ptx_operand *operand)
{
    take_address(l, operand->symbol);
    for (unsigned i = 0; operand->elements != NULL && i < operand->count; i++) {
        take_address(l, operand->elements[i].symbol);
    }
}

static void scan_body(struct linker *l, const struct ptx_function *function)
{
    for (const struct ptx_statement *s = function->body; s != NULL; s = s->next) {
        if (s->kind != PTX_STMT_INSTRUCTION) {
            continue;
        }
        const struct ptx_instruction *in = s->instruction;
        for (unsigned i = 0; i < in->operand_count; i++) {
            if (in->opcode == PTX_OP_call && i == 1) {
                continue; // the callee
            }
            scan_operand(l, &in->operands[i]);
        }
    }
}

static int add_body_variables(struct linker *l, const struct ptx_function *function)
{
    for (const struct ptx_statement *s = function->body; s != NULL; s = s->next) {
        if (s->kind == PTX_STMT_VARIABLE && variable_space(s->variable->space) != IR_GENERIC &&
            add_variable(l, s->variable) != 0) {
            return -1;
        }
    }
    return 0;
}

static int link_all(struct linker *l)
{
    struct ir_program *program = l->program;
    for (l->unit = 0; l->unit < program->module_count; l->unit++) {
        const struct ptx_module *module = program->modules[l->unit];
        if (module->address_size != 64) {
            return fail(l, 0, "only .address_size 64 is compiled, not that of", module->name);
        }
        for (const struct ptx_variable *v = module->variables; v != NULL; v = v->next) {
            if (add_variable(l, v) != 0) {
                return -1;
            }
        }
        for (const struct ptx_function *f = module->functions; f != NULL; f = f->next) {
            if (add_function(l, f) != 0 || add_body_variables(l, f) != 0) {
                return -1;
            }
        }
    }
    l->names->address_taken =
        ptx_arena_alloc(program->arena, (program->function_count + 1) * sizeof(bool));
    if (l->names->address_taken == NULL) {
        return fail(l, 0, "out of memory", NULL);
    }
    for (uint32_t i = 0; i < program->variable_count; i++) {
        const struct ptx_variable *v = program->variables[i].ptx;
        for (size_t n = 0; n < v->init_count; n++) {
            take_address(l, v->init[n].symbol);
        }
    }
    for (uint32_t i = 0; i < program->function_count; i++) {
        scan_body(l, program->functions[i].ptx);
    }
    return 0;
}

// ---------------------------------------------------------------- interface

int ir_program_create(const struct ptx_module *const *modules, size_t count,
                      struct ir_program **ret_program, struct ir_error *ret_error)
{
    memset(ret_error, 0, sizeof *ret_error);
    struct ptx_arena *arena = ptx_arena_create();
    struct ir_program *program = arena == NULL ? NULL : ptx_arena_alloc(arena, sizeof *program);
    const struct ptx_module **copy =
        program == NULL ? NULL : ptx_arena_alloc(arena, (count + 1) * sizeof *copy);
    struct ir_names *names = copy == NULL ? NULL : ptx_arena_alloc(arena, sizeof *names);
    if (names == NULL) {
        ptx_arena_destroy(arena);
        snprintf(ret_error->message, sizeof ret_error->message, "out of memory");
        return -1;
    }
    for (size_t i = 0; i < count; i++) {
        copy[i] = modules[i];
    }
    program->modules = copy;
    program->module_count = count;
    program->arena = arena;
    program->names = names;
    struct linker linker = {.program = program, .names = names, .error = ret_error};
    if (link_all(&linker) != 0) {
        ir_program_destroy(program);
        return -1;
    }
    *ret_program = program;
    return 0;
}

struct ir_program *ir_program_destroy(struct ir_program *program)
{
    if (program != NULL) {
        struct ir_names *names = program->names;
        HASH_CLEAR(hh, names->names);
        HASH_CLEAR(hh, names->symbols);
        ptx_arena_destroy(program->arena);
    }
    return NULL;
}

static uint32_t find(const struct ir_program *program, const char *name, bool function)
{
    const struct ir_names *names = program->names;
    struct by_name *entry;
    HASH_FIND_STR(names->names, name, entry);
    if (entry != NULL && (function ? entry->function : entry->variable) != 0) {
        return (function ? entry->function : entry->variable) - 1;
    }
    // Names that are not visible: the first module that has one.
    uint32_t count = function ? program->function_count : program->variable_count;
    for (uint32_t i = 0; i < count; i++) {
        if (strcmp(function ? program->functions[i].name : program->variables[i].name, name) == 0) {
            return i;
        }
    }
    return UINT32_MAX;
}

uint32_t ir_program_find_function(const struct ir_program *program, const char *name)
{
    return find(program, name, true);
}

uint32_t ir_program_find_variable(const struct ir_program *program, const char *name)
{
    return find(program, name, false);
}

static uint32_t find_symbol(const struct ir_program *program, const void *key)
{
    const struct ir_names *names = program->names;
    struct by_symbol *entry;
    HASH_FIND_PTR(names->symbols, &key, entry);
    return entry == NULL ? UINT32_MAX : entry->index;
}

uint32_t ir_program_function_of(const struct ir_program *program,
                                const struct ptx_function *function)
{
    return find_symbol(program, function);
}

uint32_t ir_program_variable_of(const struct ir_program *program,
                                const struct ptx_variable *variable)
{
    return find_symbol(program, variable);
}

bool ir_program_address_taken(const struct ir_program *program, uint32_t function)
{
    const struct ir_names *names = program->names;
    return names->address_taken[function];
}

bool ir_program_variable_defined(const struct ir_program *program, uint32_t variable)
{
    const struct ir_names *names = program->names;
    return names->variable_strength[variable] != STRENGTH_EXTERN;
}

int ir_entry_params(const struct ir_program *program, uint32_t function,
                    struct ir_param **ret_params, uint32_t *ret_count, uint32_t *ret_size)
{
    if (function >= program->function_count || !program->functions[function].ptx->is_entry) {
        return -1;
    }
    const struct ptx_variable *list = program->functions[function].ptx->params;
    uint32_t count = 0, size = 0;
    uint64_t bytes = 0;
    for (const struct ptx_variable *v = list; v != NULL; v = v->next) {
        bytes += v->size + v->align;
        count++;
    }
    if (bytes > UINT16_MAX + 1u) { // CUDA allows 32764
        return -1;
    }
    struct ir_param *params = calloc(count + 1, sizeof *params);
    if (params == NULL) {
        return -1;
    }
    ir_layout_block(list, params, &size);
    *ret_params = params;
    *ret_count = count;
    *ret_size = size;
    return 0;
}
