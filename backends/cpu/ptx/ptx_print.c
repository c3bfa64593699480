// SPDX-License-Identifier: Apache-2.0
//
// Writes a module as PTX that parses back to the same tree: dump switch and tests. Nested scopes
// are flat in the tree, so names that would clash get a suffix; arrays of several dimensions
// become one-dimensional; comments, pragmas and debug sections are gone, but for names of inlined
// functions.
#include "ptx_internal.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct claim {
    const struct ptx_symbol *symbol;
    const char *name;
    bool oom;
    UT_hash_handle by_name, by_symbol;
};

struct printer {
    FILE *file;
    struct ptx_arena *arena;
    struct claim *module_names;                // uthash by_name
    struct claim *local_names, *local_symbols; // uthash by_name, by_symbol
    const struct ptx_loc *loc;
    struct inlined *inlined; // functions named by .loc
};

// Its label in .debug_str has the number.
struct inlined {
    const char *function;
    unsigned number;
    struct inlined *next;
};

// ---------------------------------------------------------------- names

static bool name_taken(const struct printer *pr, const char *name)
{
    struct claim *found;
    size_t size = strlen(name);
    HASH_FIND(by_name, pr->local_names, name, size, found);
    if (found == NULL) {
        HASH_FIND(by_name, pr->module_names, name, size, found);
    }
    return found != NULL;
}

// The name under which the symbol is printed; unique in the function. Without memory: as written.
static const char *claim_local(struct printer *pr, const struct ptx_symbol *symbol)
{
    struct claim *claim;
    HASH_FIND(by_symbol, pr->local_symbols, &symbol, sizeof(const struct ptx_symbol *), claim);
    if (claim != NULL) {
        return claim->name;
    }
    size_t capacity = strlen(symbol->name) + 24;
    char *name = ptx_arena_alloc(pr->arena, capacity);
    claim = ptx_arena_alloc(pr->arena, sizeof(*claim));
    if (name == NULL || claim == NULL) {
        return symbol->name;
    }
    snprintf(name, capacity, "%s", symbol->name);
    for (unsigned i = 1; name_taken(pr, name); i++) {
        snprintf(name, capacity, "%s__%u", symbol->name, i);
    }
    claim->symbol = symbol;
    claim->name = name;
    HASH_ADD_KEYPTR(by_name, pr->local_names, claim->name, strlen(name), claim);
    HASH_ADD(by_symbol, pr->local_symbols, symbol, sizeof(const struct ptx_symbol *), claim);
    return name;
}

static const char *name_of(struct printer *pr, const struct ptx_symbol *symbol)
{
    if (symbol == NULL) {
        return "?";
    }
    struct claim *claim = NULL;
    if (pr->local_symbols != NULL) {
        HASH_FIND(by_symbol, pr->local_symbols, &symbol, sizeof(const struct ptx_symbol *), claim);
    }
    return claim != NULL ? claim->name : symbol->name;
}

static void claim_module(struct printer *pr, const struct ptx_symbol *symbol)
{
    struct claim *claim = ptx_arena_alloc(pr->arena, sizeof(*claim));
    if (claim != NULL) {
        claim->symbol = symbol;
        claim->name = symbol->name;
        HASH_ADD_KEYPTR(by_name, pr->module_names, claim->name, strlen(claim->name), claim);
    }
}

// ---------------------------------------------------------------- operands

static void print_operand(struct printer *pr, const struct ptx_operand *operand);

static void print_elements(struct printer *pr, const struct ptx_operand *operand,
                           const char *between)
{
    for (unsigned i = 0; i < operand->count; i++) {
        fputs(i > 0 ? between : "", pr->file);
        print_operand(pr, &operand->elements[i]);
    }
}

static void print_lanes(struct printer *pr, const struct ptx_operand *operand)
{
    if (operand->lane_kind == 0) {
        return;
    }
    fprintf(pr->file, ".%c", operand->lane_kind);
    for (unsigned i = operand->lane_count; i > 0; i--) {
        fprintf(pr->file, "%u", operand->lanes >> 4 * (i - 1) & 15u);
    }
}

static void print_address(struct printer *pr, const struct ptx_operand *operand)
{
    if (operand->symbol == NULL) {
        fprintf(pr->file, "[%" PRId64 "]", (int64_t)operand->integer);
    } else if (operand->integer == 0) {
        fprintf(pr->file, "[%s]", name_of(pr, operand->symbol));
    } else {
        fprintf(pr->file, "[%s+%" PRId64 "]", name_of(pr, operand->symbol),
                (int64_t)operand->integer);
    }
}

static void print_operand(struct printer *pr, const struct ptx_operand *operand)
{
    fputs(operand->negated ? "!" : operand->minus ? "-" : "", pr->file);
    switch (operand->kind) {
    case PTX_OPERAND_NONE:
    case PTX_OPERAND_SINK:
        fputc('_', pr->file);
        break;
    case PTX_OPERAND_SYMBOL:
        fputs(name_of(pr, operand->symbol), pr->file);
        print_lanes(pr, operand);
        break;
    case PTX_OPERAND_IMM_INT:
        if (operand->is_unsigned) {
            fprintf(pr->file, "%" PRIu64 "U", operand->integer);
        } else {
            fprintf(pr->file, "%" PRId64, (int64_t)operand->integer);
        }
        break;
    case PTX_OPERAND_IMM_F32:
        fprintf(pr->file, "0f%08" PRIX32, (uint32_t)operand->integer);
        break;
    case PTX_OPERAND_IMM_F64:
        fprintf(pr->file, "0d%016" PRIX64, operand->integer);
        break;
    case PTX_OPERAND_SREG:
        fprintf(pr->file, "%%%s", ptx_sreg_name((enum ptx_sreg)operand->sreg));
        if (ptx_sreg_components((enum ptx_sreg)operand->sreg) > 1 && operand->component < 4) {
            fprintf(pr->file, ".%c", "xyzw"[operand->component]);
        }
        break;
    case PTX_OPERAND_ADDRESS:
        print_address(pr, operand);
        break;
    case PTX_OPERAND_VECTOR:
        fputc('{', pr->file);
        print_elements(pr, operand, ", ");
        fputc('}', pr->file);
        break;
    case PTX_OPERAND_COMPONENT:
        fprintf(pr->file, "%s.%c", name_of(pr, operand->symbol), "xyzw"[operand->component & 3]);
        break;
    case PTX_OPERAND_PAIR:
        print_elements(pr, operand, "|");
        break;
    case PTX_OPERAND_TEXADDR:
        fputc('[', pr->file);
        print_elements(pr, operand, ", ");
        fputc(']', pr->file);
        break;
    case PTX_OPERAND_LIST:
        fputc('(', pr->file);
        print_elements(pr, operand, ", ");
        fputc(')', pr->file);
        break;
    case PTX_OPERAND_SYMBOL_OFFSET:
        fprintf(pr->file, "%s+%" PRId64, name_of(pr, operand->symbol), (int64_t)operand->integer);
        break;
    }
}

static void print_instruction(struct printer *pr, const struct ptx_instruction *instruction)
{
    if (instruction->guard != NULL) {
        fprintf(pr->file, "@%s%s ", instruction->guard_negated ? "!" : "",
                name_of(pr, instruction->guard));
    }
    fputs(instruction->text, pr->file);
    bool call = instruction->opcode == PTX_OP_call;
    const char *between = " ";
    for (unsigned i = 0; i < instruction->operand_count; i++) {
        if (call && instruction->operands[i].kind == PTX_OPERAND_NONE) {
            continue;
        }
        fputs(between, pr->file);
        print_operand(pr, &instruction->operands[i]);
        if (instruction->operands[i].kind == PTX_OPERAND_ADDRESS &&
            ptx_has(instruction, PTX_MOD_unified)) {
            fputs(".unified", pr->file);
        }
        between = ", ";
    }
    fputc(';', pr->file);
}

void ptx_print_instruction(FILE *file, const struct ptx_instruction *instruction)
{
    struct printer pr = {.file = file};
    print_instruction(&pr, instruction);
}

// ---------------------------------------------------------------- variables

static const char *linkage_word(enum ptx_linkage linkage)
{
    static const char *const words[] = {"", ".extern ", ".visible ", ".weak ", ".common "};
    return words[linkage];
}

// From the space on, without initialiser and end. `name` "_" keeps the size.
static void print_declarator(struct printer *pr, const struct ptx_variable *variable,
                             const char *name)
{
    unsigned size = ptx_type_size(variable->type) * variable->symbol->vector;
    fprintf(pr->file, ".%s", ptx_space_name(variable->space));
    if (variable->managed) {
        fputs(" .attribute(.managed)", pr->file);
    }
    if (variable->space != PTX_SPACE_REG) {
        fprintf(pr->file, " .align %" PRIu32, variable->align);
    }
    if (variable->symbol->vector > 1) {
        fprintf(pr->file, " .v%u", variable->symbol->vector);
    }
    fprintf(pr->file, " .%s%s %s", ptx_type_name(variable->type),
            variable->is_pointer ? " .ptr" : "", name);
    if (variable->unsized) {
        fputs("[]", pr->file);
    } else if (variable->is_array) {
        fprintf(pr->file, "[%" PRIu64 "]", size > 0 ? variable->size / size : 1);
    }
}

static void print_bits(struct printer *pr, enum ptx_type type, uint64_t bits)
{
    if (type == PTX_F32) {
        fprintf(pr->file, "0f%08" PRIX32, (uint32_t)bits);
    } else if (type == PTX_F64) {
        fprintf(pr->file, "0d%016" PRIX64, bits);
    } else {
        fprintf(pr->file, "%" PRIu64, bits);
    }
}

static void print_init_symbol(struct printer *pr, const struct ptx_init *init)
{
    if (init->masked) {
        fprintf(pr->file, "0x%" PRIX64 "(", UINT64_C(0xFF) << 8 * init->mask_shift);
    }
    fprintf(pr->file, init->generic ? "generic(%s)" : "%s", init->symbol->name);
    if (init->value != 0) {
        fprintf(pr->file, "+%" PRId64, (int64_t)init->value);
    }
    fputs(init->masked ? ")" : "", pr->file);
}

static void print_initialiser(struct printer *pr, const struct ptx_variable *variable)
{
    unsigned size = ptx_type_size(variable->type);
    uint64_t at = 0;
    const char *between = " = {";
    for (size_t i = 0; i < variable->init_count; i++) {
        const struct ptx_init *init = &variable->init[i];
        for (; at < init->offset; at += size, between = ", ") {
            fprintf(pr->file, "%s0", between);
        }
        uint64_t end = init->offset + init->size;
        for (unsigned shift = 0; at < end; at += size, shift += 8 * size, between = ", ") {
            fputs(between, pr->file);
            if (init->symbol != NULL) {
                print_init_symbol(pr, init);
            } else {
                uint64_t mask = size < 8 ? (UINT64_C(1) << 8 * size) - 1 : UINT64_MAX;
                print_bits(pr, variable->type, init->value >> shift & mask);
            }
        }
    }
    fputc('}', pr->file);
}

static void print_variable(struct printer *pr, const struct ptx_variable *variable,
                           const char *name)
{
    fputs(linkage_word(variable->linkage), pr->file);
    print_declarator(pr, variable, name);
    if (variable->opaque_init != NULL) {
        fprintf(pr->file, " = %s", variable->opaque_init);
    } else if (variable->init_count > 0) {
        print_initialiser(pr, variable);
    }
    fputs(";\n", pr->file);
}

// A variable whose address an earlier variable holds must be known before.
static void print_forward(struct printer *pr, const struct ptx_variable *variable)
{
    for (size_t i = 0; i < variable->init_count; i++) {
        const struct ptx_symbol *symbol = variable->init[i].symbol;
        if (symbol != NULL && symbol->kind == PTX_SYMBOL_VARIABLE &&
            symbol->index > variable->symbol->index) {
            fputs(".extern ", pr->file);
            print_declarator(pr, symbol->variable, symbol->name);
            fputs(";\n", pr->file);
        }
    }
}

// ---------------------------------------------------------------- functions

static void print_parameters(struct printer *pr, const struct ptx_variable *list)
{
    fputc('(', pr->file);
    for (const struct ptx_variable *at = list; at != NULL; at = at->next) {
        print_declarator(pr, at, claim_local(pr, at->symbol));
        fputs(at->next != NULL ? ", " : "", pr->file);
    }
    fputc(')', pr->file);
}

static void print_numbers(struct printer *pr, const char *word, const uint32_t *values,
                          unsigned count)
{
    if (values[0] == 0) {
        return;
    }
    fprintf(pr->file, "\n.%s %" PRIu32, word, values[0]);
    for (unsigned i = 1; i < count; i++) {
        fprintf(pr->file, ", %" PRIu32, values[i]);
    }
}

static void print_header(struct printer *pr, const struct ptx_function *function)
{
    fprintf(pr->file, "%s%s ", linkage_word(function->linkage),
            function->is_entry ? ".entry" : ".func");
    if (function->returns != NULL) {
        print_parameters(pr, function->returns);
        fputc(' ', pr->file);
    }
    fputs(function->symbol->name, pr->file);
    print_parameters(pr, function->params);
    print_numbers(pr, "maxntid", function->maxntid, 3);
    print_numbers(pr, "reqntid", function->reqntid, 3);
    print_numbers(pr, "reqnctapercluster", function->reqnctapercluster, 3);
    print_numbers(pr, "maxclusterrank", &function->maxclusterrank, 1);
    print_numbers(pr, "maxnreg", &function->maxnreg, 1);
    print_numbers(pr, "minnctapersm", &function->minnctapersm, 1);
    fputs(function->noreturn ? "\n.noreturn" : "", pr->file);
    fputs(function->explicit_cluster ? "\n.explicitcluster" : "", pr->file);
    fputs(function->blocks_are_clusters ? "\n.blocksareclusters" : "", pr->file);
}

static void print_prototype(struct printer *pr, const struct ptx_symbol *symbol)
{
    static const char *const words[] = {".callprototype", ".calltargets", ".branchtargets"};
    const struct ptx_prototype *prototype = symbol->prototype;
    struct claim *claim;
    HASH_FIND(by_symbol, pr->local_symbols, &symbol, sizeof(const struct ptx_symbol *), claim);
    if (claim != NULL) {
        return;
    }
    fprintf(pr->file, "%s: %s ", claim_local(pr, symbol), words[prototype->kind]);
    for (size_t i = 0; i < prototype->target_count; i++) {
        fprintf(pr->file, "%s%s", i > 0 ? ", " : "", name_of(pr, prototype->targets[i]));
    }
    if (prototype->kind == PTX_PROTO_CALL) {
        for (unsigned side = 0; side < 2; side++) {
            fputs(side == 0 ? "(" : " _ (", pr->file);
            const struct ptx_variable *at = side == 0 ? prototype->returns : prototype->params;
            for (; at != NULL; at = at->next) {
                print_declarator(pr, at, at->symbol->name);
                fputs(at->next != NULL ? ", " : "", pr->file);
            }
            fputc(')', pr->file);
        }
        fputs(prototype->noreturn ? " .noreturn" : "", pr->file);
    }
    fputs(";\n", pr->file);
}

// Names and declarations of everything that the body uses, in the order of the tree.
static void print_declarations(struct printer *pr, const struct ptx_function *function)
{
    for (uint32_t i = 0; i < function->register_count; i++) {
        const struct ptx_symbol *symbol = function->registers[i];
        if (symbol->variable != NULL) { // a parameter
            continue;
        }
        fputs(".reg", pr->file);
        if (symbol->vector > 1) {
            fprintf(pr->file, " .v%u", symbol->vector);
        }
        fprintf(pr->file, " .%s %s;\n", ptx_type_name(symbol->type), claim_local(pr, symbol));
    }
    for (const struct ptx_statement *at = function->body; at != NULL; at = at->next) {
        if (at->kind == PTX_STMT_LABEL) {
            claim_local(pr, at->label);
        } else if (at->kind == PTX_STMT_VARIABLE) {
            claim_local(pr, at->variable->symbol);
        }
    }
    for (const struct ptx_statement *at = function->body; at != NULL; at = at->next) {
        for (unsigned i = 0; at->kind == PTX_STMT_INSTRUCTION && i < at->instruction->operand_count;
             i++) {
            const struct ptx_operand *operand = &at->instruction->operands[i];
            if (operand->kind == PTX_OPERAND_SYMBOL && operand->symbol != NULL &&
                operand->symbol->kind == PTX_SYMBOL_PROTOTYPE) {
                print_prototype(pr, operand->symbol);
            }
        }
    }
}

static const struct inlined *claim_inlined(struct printer *pr, const char *function)
{
    struct inlined *at = pr->inlined;
    while (at != NULL && strcmp(at->function, function) != 0) {
        at = at->next;
    }
    if (at == NULL && (at = ptx_arena_alloc(pr->arena, sizeof(*at))) != NULL) {
        at->function = function;
        at->number = pr->inlined != NULL ? pr->inlined->number + 1 : 0;
        at->next = pr->inlined;
        pr->inlined = at;
    }
    return at;
}

// Behind the .loc that its inlined_at refers to.
static void print_loc(struct printer *pr, const struct ptx_loc *loc)
{
    if (loc == NULL || loc == pr->loc) {
        return;
    }
    print_loc(pr, loc->inlined_at);
    fprintf(pr->file, ".loc %" PRIu32 " %" PRIu32 " %" PRIu32, loc->file, loc->line, loc->column);
    const struct inlined *name = loc->function != NULL ? claim_inlined(pr, loc->function) : NULL;
    if (name != NULL) {
        fprintf(pr->file, ", function_name $L__inlined%u", name->number);
    }
    const struct ptx_loc *outer = loc->inlined_at;
    if (outer != NULL) {
        fprintf(pr->file, ", inlined_at %" PRIu32 " %" PRIu32 " %" PRIu32, outer->file, outer->line,
                outer->column);
    }
    fputc('\n', pr->file);
    pr->loc = loc;
}

// The names that .loc refers to.
static void print_strings(struct printer *pr)
{
    if (pr->inlined == NULL) {
        return;
    }
    fputs(".section .debug_str\n{\n", pr->file);
    for (const struct inlined *at = pr->inlined; at != NULL; at = at->next) {
        fprintf(pr->file, "$L__inlined%u:\n.b8 ", at->number);
        for (const char *c = at->function; *c != '\0'; c++) {
            fprintf(pr->file, "%u,", (unsigned char)*c);
        }
        fputs("0\n", pr->file);
    }
    fputs("}\n", pr->file);
}

static void print_statement(struct printer *pr, const struct ptx_statement *statement)
{
    print_loc(pr, statement->loc);
    switch (statement->kind) {
    case PTX_STMT_INSTRUCTION:
        fputc('\t', pr->file);
        print_instruction(pr, statement->instruction);
        fputc('\n', pr->file);
        break;
    case PTX_STMT_LABEL:
        fprintf(pr->file, "%s:\n", name_of(pr, statement->label));
        break;
    case PTX_STMT_VARIABLE:
        print_variable(pr, statement->variable, name_of(pr, statement->variable->symbol));
        break;
    }
}

static void forget_locals(struct printer *pr)
{
    HASH_CLEAR(by_symbol, pr->local_symbols);
    HASH_CLEAR(by_name, pr->local_names);
}

static void print_function(struct printer *pr, const struct ptx_function *function, bool body)
{
    print_header(pr, function);
    if (!body) {
        fputs(";\n", pr->file);
        forget_locals(pr);
        return;
    }
    fputs("\n{\n", pr->file);
    print_declarations(pr, function);
    pr->loc = NULL;
    for (const struct ptx_statement *at = function->body; at != NULL; at = at->next) {
        print_statement(pr, at);
    }
    fputs("}\n", pr->file);
    forget_locals(pr);
}

void ptx_print(FILE *file, const struct ptx_module *module)
{
    struct printer pr = {.file = file, .arena = ptx_arena_create()};
    if (pr.arena == NULL) {
        fputs("// out of memory\n", file);
        return;
    }
    fprintf(file, ".version %u.%u\n.target %s%s\n.address_size %u\n", module->version_major,
            module->version_minor, module->target, module->debug ? ", debug" : "",
            module->address_size);
    for (size_t i = 0; i < module->file_count; i++) {
        fprintf(file, ".file %" PRIu32 " \"%s\"\n", module->files[i].index, module->files[i].name);
    }
    for (const struct ptx_variable *at = module->variables; at != NULL; at = at->next) {
        claim_module(&pr, at->symbol);
    }
    for (const struct ptx_function *at = module->functions; at != NULL; at = at->next) {
        claim_module(&pr, at->symbol);
    }
    for (const struct ptx_function *at = module->functions; at != NULL; at = at->next) {
        print_function(&pr, at, false);
    }
    for (const struct ptx_variable *at = module->variables; at != NULL; at = at->next) {
        print_forward(&pr, at);
        print_variable(&pr, at, at->symbol->name);
    }
    for (const struct ptx_function *at = module->functions; at != NULL; at = at->next) {
        if (at->has_body) {
            print_function(&pr, at, true);
        }
        if (at->alias != NULL) {
            fprintf(file, ".alias %s, %s;\n", at->symbol->name, at->alias->symbol->name);
        }
    }
    print_strings(&pr);
    HASH_CLEAR(by_name, pr.module_names);
    ptx_arena_destroy(pr.arena);
}
