// SPDX-License-Identifier: Apache-2.0
//
// The PTX parser's entry: module directives, function headers, debug sections, clean-up; and the
// small helpers that all parser files share. Declarations are in ptx_decl.c, bodies in ptx_body.c.
// Out of memory and nesting without bound leave by longjmp to ptx_parse; all memory then hangs on
// the arena, the hash tables and the growing arrays of struct ptx_parser, which ptx_parse frees.
#include "ptx_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

// ---------------------------------------------------------------- helpers

void ptx_next(struct ptx_parser *p)
{
    ptx_lex(&p->lexer, &p->token);
}

struct ptx_token ptx_peek(const struct ptx_parser *p)
{
    struct ptx_lexer lexer = p->lexer;
    struct ptx_token token;
    ptx_lex(&lexer, &token);
    return token;
}

void ptx_error_at(struct ptx_parser *p, const struct ptx_token *token, const char *format, ...)
{
    char message[200];
    va_list arguments;
    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started in the line before
    vsnprintf(message, sizeof(message), format, arguments);
    va_end(arguments);
    ptx_diag_add(p->diagnostics, p->end, token, "%s", message);
    if (p->diagnostics->total >= PTX_MAX_ERRORS) {
        longjmp(p->fatal, 1);
    }
}

bool ptx_expected(struct ptx_parser *p, const char *what)
{
    const struct ptx_token *token = &p->token;
    int size = (int)(token->length < 60 ? token->length : 60);
    if (token->kind == PTX_TOK_END) {
        ptx_error_at(p, token, "expected %s before the end of the text", what);
    } else if (token->kind == PTX_TOK_BAD) {
        ptx_error_at(p, token, "%s: '%.*s'", token->bad, size, token->start);
    } else {
        ptx_error_at(p, token, "expected %s before '%.*s'", what, size, token->start);
    }
    return false;
}

bool ptx_is_punct(const struct ptx_parser *p, int punct)
{
    return p->token.kind == PTX_TOK_PUNCT && p->token.punct == punct;
}

bool ptx_is_dot(const struct ptx_parser *p, const char *word)
{
    size_t size = strlen(word);
    return p->token.kind == PTX_TOK_DOT && p->token.length == size + 1 &&
           memcmp(p->token.start + 1, word, size) == 0;
}

bool ptx_accept(struct ptx_parser *p, int punct)
{
    bool same = ptx_is_punct(p, punct);
    if (same) {
        ptx_next(p);
    }
    return same;
}

bool ptx_accept_dot(struct ptx_parser *p, const char *word)
{
    bool same = ptx_is_dot(p, word);
    if (same) {
        ptx_next(p);
    }
    return same;
}

bool ptx_expect(struct ptx_parser *p, int punct)
{
    char what[4] = {'\'', (char)punct, '\'', '\0'};
    return ptx_accept(p, punct) || ptx_expected(p, what);
}

void ptx_nest(struct ptx_parser *p)
{
    if (++p->nesting > PTX_MAX_DEPTH) {
        ptx_error_at(p, &p->token, "nested too deeply");
        longjmp(p->fatal, 1);
    }
}

void ptx_unnest(struct ptx_parser *p)
{
    p->nesting--;
}

// ---------------------------------------------------------------- module directives

static bool parse_version(struct ptx_parser *p)
{
    struct ptx_token token = p->token;
    const char *end = token.start + token.length;
    const char *at = token.start;
    unsigned parts[2] = {0, 0};
    for (unsigned i = 0; i < 2; i++, at++) {
        for (; at < end && *at >= '0' && *at <= '9' && parts[i] < 1000; at++) {
            parts[i] = parts[i] * 10 + (unsigned)(*at - '0');
        }
        if (i == 0 && (at >= end || *at != '.')) {
            break;
        }
    }
    if (token.kind != PTX_TOK_F64 || at != end + 1 || parts[0] == 0) {
        return ptx_expected(p, "a version like 8.5");
    }
    p->module->version_major = parts[0];
    p->module->version_minor = parts[1];
    ptx_next(p);
    return true;
}

static bool parse_target(struct ptx_parser *p)
{
    bool first = p->module->target == NULL;
    do {
        struct ptx_token token = p->token;
        if (token.kind != PTX_TOK_IDENT) {
            return ptx_expected(p, "a target like sm_80");
        }
        if (token.length > 3 && memcmp(token.start, "sm_", 3) == 0) {
            unsigned sm = 0;
            for (uint32_t i = 3; i < token.length && i < 8; i++) {
                char c = token.start[i];
                sm = c >= '0' && c <= '9' ? sm * 10 + (unsigned)(c - '0') : sm;
            }
            if (first) {
                p->module->target = ptx_new_text(p, token.start, token.length);
                p->module->sm = sm;
            }
        } else if (token.length == 5 && memcmp(token.start, "debug", 5) == 0) {
            p->module->debug = true;
        } else if (token.length == 14 && memcmp(token.start, "map_f64_to_f32", 14) == 0) {
            ptx_error_at(p, &token, "target map_f64_to_f32 is not supported");
        } // texmode_unified, texmode_independent: how texture instructions are written
        ptx_next(p);
    } while (ptx_accept(p, ','));
    return p->module->target != NULL || ptx_expected(p, "a target like sm_80");
}

static bool parse_address_size(struct ptx_parser *p)
{
    if (p->token.kind != PTX_TOK_INT || (p->token.value != 32 && p->token.value != 64)) {
        return ptx_expected(p, "32 or 64");
    }
    p->module->address_size = (unsigned)p->token.value;
    ptx_next(p);
    return true;
}

// .alias name, function ;
static bool parse_alias(struct ptx_parser *p)
{
    struct ptx_function *functions[2];
    for (unsigned i = 0; i < 2; i++) {
        struct ptx_token token = p->token;
        if (token.kind != PTX_TOK_IDENT) {
            return ptx_expected(p, "the name of a function");
        }
        struct ptx_symbol *symbol = ptx_symbol_find(p, token.start, token.length);
        if (symbol == NULL || symbol->kind != PTX_SYMBOL_FUNCTION) {
            ptx_error_at(p, &token, "'%.*s' is no function",
                         (int)(token.length < 100 ? token.length : 100), token.start);
            return false;
        }
        functions[i] = symbol->function;
        ptx_next(p);
        if (!ptx_expect(p, i == 0 ? ',' : ';')) {
            return false;
        }
    }
    functions[0]->alias = functions[1];
    return true;
}

// ---------------------------------------------------------------- functions

// n [, n [, n]] into values[most]; what is not written is 1.
static bool numbers(struct ptx_parser *p, unsigned most, uint32_t *values)
{
    bool more = true;
    for (unsigned i = 0; i < most; i++) {
        struct ptx_token token = p->token;
        uint64_t value = 1;
        more = more && (i == 0 || ptx_accept(p, ','));
        if (more && !ptx_expression_integer(p, &value)) {
            return false;
        }
        if (value > UINT32_MAX) {
            ptx_error_at(p, &token, "number too large");
            return false;
        }
        values[i] = (uint32_t)value;
    }
    return true;
}

static bool parse_tuning(struct ptx_parser *p, struct ptx_function *function)
{
    const struct {
        const char *word;
        unsigned most;
        uint32_t *values;
    } rows[] = {
        {"maxntid", 3, function->maxntid},
        {"reqntid", 3, function->reqntid},
        {"reqnctapercluster", 3, function->reqnctapercluster},
        {"maxclusterrank", 1, &function->maxclusterrank},
        {"maxnreg", 1, &function->maxnreg},
        {"minnctapersm", 1, &function->minnctapersm},
        {"maxnctapersm", 1, &function->minnctapersm}, // old name
        {"abi_preserve", 1, NULL},                    // register allocation, no meaning here
        {"abi_preserve_control", 1, NULL},
    };
    uint32_t ignored[3];
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (ptx_accept_dot(p, rows[i].word)) {
            return numbers(p, rows[i].most, rows[i].values != NULL ? rows[i].values : ignored);
        }
    }
    if (ptx_accept_dot(p, "noreturn")) {
        function->noreturn = true;
        return true;
    }
    if (ptx_accept_dot(p, "explicitcluster")) {
        function->explicit_cluster = true;
        return true;
    }
    if (ptx_accept_dot(p, "blocksareclusters")) {
        function->blocks_are_clusters = true;
        return true;
    }
    if (ptx_accept_dot(p, "pragma")) {
        return ptx_parse_pragma(p);
    }
    return ptx_expected(p, "'{' or ';'");
}

static bool same_list(const struct ptx_variable *a, const struct ptx_variable *b)
{
    while (a != NULL && b != NULL && a->type == b->type && a->size == b->size &&
           a->symbol->vector == b->symbol->vector) {
        a = a->next;
        b = b->next;
    }
    return a == NULL && b == NULL;
}

// The node of a function declared before, or a new one.
static struct ptx_function *function_node(struct ptx_parser *p, const struct ptx_token *name,
                                          bool is_entry, bool *ret_known)
{
    struct ptx_symbol *symbol = ptx_symbol_find_here(p, name->start, name->length);
    if (symbol != NULL && symbol->kind == PTX_SYMBOL_FUNCTION &&
        symbol->function->is_entry == is_entry) {
        *ret_known = true;
        return symbol->function;
    }
    *ret_known = false;
    symbol = ptx_symbol_new(p, PTX_SYMBOL_FUNCTION, name);
    struct ptx_function *function = ptx_new(p, sizeof(*function));
    symbol->function = function;
    symbol->index = p->symbol_index++;
    function->symbol = symbol;
    function->is_entry = is_entry;
    function->line = name->line;
    *p->functions_tail = function;
    p->functions_tail = &function->next;
    return function;
}

static void finish_function(struct ptx_parser *p, struct ptx_function *function)
{
    if (function->register_count > 0) {
        size_t size = function->register_count * sizeof(struct ptx_symbol *);
        function->registers = ptx_new(p, size);
        memcpy(function->registers, p->registers, size);
    }
}

// What a header says, before it is known whether the function was declared before.
struct header {
    struct ptx_token name;
    struct ptx_variable *returns, *params;
    unsigned return_count, param_count;
};

static bool parse_header(struct ptx_parser *p, bool is_entry, struct header *header)
{
    bool managed;
    if (ptx_accept_dot(p, "attribute") && !ptx_parse_attribute(p, &managed)) {
        return false;
    }
    if (!is_entry && ptx_is_punct(p, '(') &&
        !ptx_parse_parameters(p, true, &header->returns, &header->return_count)) {
        return false;
    }
    header->name = p->token;
    if (p->token.kind != PTX_TOK_IDENT) {
        return ptx_expected(p, "the name of a function");
    }
    ptx_next(p);
    return !ptx_is_punct(p, '(') ||
           ptx_parse_parameters(p, true, &header->params, &header->param_count);
}

// Binds the name in module scope while the parameters' scope is open.
static struct ptx_function *declare(struct ptx_parser *p, const struct header *header,
                                    bool is_entry, enum ptx_linkage linkage)
{
    unsigned depth = p->depth;
    p->depth = 0;
    bool known;
    struct ptx_function *function = function_node(p, &header->name, is_entry, &known);
    p->depth = depth;
    if (known && (!same_list(function->params, header->params) ||
                  !same_list(function->returns, header->returns))) {
        ptx_error_at(p, &header->name, "'%.100s' was declared with other parameters",
                     function->symbol->name);
    }
    if (!function->has_body) {
        function->linkage = linkage;
    }
    return function;
}

static bool parse_function(struct ptx_parser *p, enum ptx_linkage linkage)
{
    struct ptx_function scratch = {0}; // counts the registers of the header
    struct header header = {0};
    bool is_entry = ptx_accept_dot(p, "entry");
    if (!is_entry) {
        ptx_next(p);
    }
    p->function = &scratch;
    ptx_scope_enter(p, &p->token);
    bool good = parse_header(p, is_entry, &header);
    struct ptx_function *function = good ? declare(p, &header, is_entry, linkage) : NULL;
    while (good && !ptx_is_punct(p, '{') && !ptx_is_punct(p, ';')) {
        good = parse_tuning(p, function);
    }
    bool body = good && ptx_is_punct(p, '{');
    if (good && (body || !function->has_body)) {
        function->returns = header.returns;
        function->params = header.params;
        function->return_count = header.return_count;
        function->param_count = header.param_count;
    }
    if (body) {
        if (function->has_body) {
            ptx_error_at(p, &header.name, "'%.100s' is defined twice", function->symbol->name);
        }
        function->has_body = true;
        function->line = header.name.line;
        function->body = NULL;
        function->register_count = scratch.register_count;
        function->label_count = 0;
        p->function = function;
        p->tail = &function->body;
        good = ptx_parse_body(p);
        finish_function(p, function);
    } else if (good) {
        ptx_next(p);
    }
    ptx_scope_leave(p);
    p->function = NULL;
    ptx_loc_leave(p);
    return good;
}

// ---------------------------------------------------------------- module

// *braces: what failed has a { } of its own.
static bool parse_module_directive(struct ptx_parser *p, bool *braces)
{
    static const struct {
        const char *word;
        bool (*parse)(struct ptx_parser *p);
    } rows[] = {
        {"version", parse_version},           {"target", parse_target},
        {"address_size", parse_address_size}, {"file", ptx_parse_file},
        {"section", ptx_parse_section},       {"alias", parse_alias},
        {"pragma", ptx_parse_pragma},         {"loc", ptx_parse_loc},
    };
    enum ptx_linkage linkage = PTX_LINK_LOCAL;
    struct ptx_token first = p->token;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (ptx_accept_dot(p, rows[i].word)) {
            *braces = rows[i].parse == ptx_parse_section;
            return rows[i].parse(p);
        }
    }
    if (!ptx_parse_linkage(p, &linkage)) {
        return false;
    }
    if (p->module->version_major == 0 || p->module->target == NULL) {
        ptx_error_at(p, &first, "expected .version and .target first");
        p->module->version_major = 1; // said once
        p->module->target = "";
    }
    if (ptx_is_dot(p, "entry") || ptx_is_dot(p, "func")) {
        *braces = true;
        return parse_function(p, linkage);
    }
    if (ptx_is_variable_start(p)) {
        return ptx_parse_variables(p, linkage);
    }
    return ptx_expected(p, "a directive");
}

// Behind the next ';', or, in a function or section, behind its closing brace.
static void recover_module(struct ptx_parser *p, bool braces)
{
    unsigned open = 0;
    p->nesting = 0;
    p->element_count = 0;
    for (bool end = false; !end && p->token.kind != PTX_TOK_END; ptx_next(p)) {
        if (ptx_is_punct(p, ';')) {
            end = open == 0;
        } else if (braces && ptx_is_punct(p, '{')) {
            open++;
        } else if (braces && ptx_is_punct(p, '}')) {
            end = open <= 1;
            open--;
        }
    }
}

static void parse_module(struct ptx_parser *p)
{
    ptx_next(p);
    while (p->token.kind != PTX_TOK_END) {
        bool braces = false;
        if (p->token.kind == PTX_TOK_DOT ? !parse_module_directive(p, &braces)
                                         : !ptx_expected(p, "a directive")) {
            recover_module(p, braces);
        }
    }
    if (p->module->version_major == 0 || p->module->target == NULL) {
        ptx_error_at(p, &p->token, "no .version or no .target");
    }
    ptx_loc_finish(p);
}

static int parse(struct ptx_parser *p)
{
    p->functions_tail = &p->module->functions;
    p->variables_tail = &p->module->variables;
    if (setjmp(p->fatal) == 0) {
        parse_module(p);
    }
    HASH_CLEAR(hh, p->names);
    HASH_CLEAR(hh, p->phrases);
    free(p->registers);
    free(p->inits);
    free(p->elements);
    ptx_loc_free(p);
    return p->diagnostics->total == 0 ? 0 : -1;
}

int ptx_parse(const char *text, size_t size, const char *name, struct ptx_module **ret_module,
              struct ptx_diagnostics *ret_diagnostics)
{
    const char *nul = memchr(text, '\0', size);
    const char *end = nul != NULL ? nul : text + size;
    const struct ptx_token start = {.line = 1, .start = text, .line_start = text};
    *ret_diagnostics = (struct ptx_diagnostics){.count = 0};
    if ((size_t)(end - text) > INT32_MAX) {
        ptx_diag_add(ret_diagnostics, text, &start, "text of more than 2 GiB");
        return -1;
    }
    struct ptx_parser *p = calloc(1, sizeof(*p));
    struct ptx_arena *arena = ptx_arena_create();
    struct ptx_module *module = arena != NULL ? ptx_arena_alloc(arena, sizeof(*module)) : NULL;
    if (p == NULL || module == NULL) {
        ptx_diag_add(ret_diagnostics, end, &start, "out of memory");
        free(p);
        ptx_arena_destroy(arena);
        return -1;
    }
    *module = (struct ptx_module){.name = name, .text = text, .address_size = 32, .arena = arena};
    *p = (struct ptx_parser){
        .lexer = {.at = text, .end = end, .line_start = text, .line = 1},
        .token = start,
        .text = text,
        .end = end,
        .module = module,
        .diagnostics = ret_diagnostics,
    };
    int r = parse(p);
    free(p);
    if (r != 0) {
        ptx_module_destroy(module);
        return r;
    }
    *ret_module = module;
    return 0;
}

// ---------------------------------------------------------------- tree

struct ptx_module *ptx_module_destroy(struct ptx_module *module)
{
    if (module != NULL) {
        ptx_arena_destroy(module->arena);
    }
    return NULL;
}

bool ptx_has(const struct ptx_instruction *instruction, enum ptx_modifier modifier)
{
    for (unsigned i = 0; i < instruction->modifier_count; i++) {
        if (instruction->modifiers[i] == modifier) {
            return true;
        }
    }
    return false;
}

struct ptx_function *ptx_find_function(const struct ptx_module *module, const char *name)
{
    struct ptx_function *function = module->functions;
    while (function != NULL && strcmp(function->symbol->name, name) != 0) {
        function = function->next;
    }
    return function;
}

struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name)
{
    struct ptx_variable *variable = module->variables;
    while (variable != NULL && strcmp(variable->symbol->name, name) != 0) {
        variable = variable->next;
    }
    return variable;
}
