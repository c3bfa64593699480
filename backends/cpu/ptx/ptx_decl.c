// SPDX-License-Identifier: Apache-2.0
//
// Declarations of the PTX parser (ISA 5.4, 11.3): registers, variables of all spaces, parameter
// lists, call prototypes and target lists. Module and body both come here.
#include "ptx_internal.h"

#include <string.h>

struct declaration {
    enum ptx_space space;
    enum ptx_linkage linkage;
    enum ptx_type type;
    uint8_t vector;
    uint32_t align;
    bool managed, is_pointer;
};

static bool parse_align(struct ptx_parser *p, uint32_t *ret_align)
{
    struct ptx_token token = p->token;
    uint64_t value;
    if (!ptx_expression_integer(p, &value)) {
        return false;
    }
    if (value == 0 || value > 1u << 30 || (value & (value - 1)) != 0) {
        ptx_error_at(p, &token, "alignment must be a power of two");
        return false;
    }
    *ret_align = (uint32_t)value;
    return true;
}

bool ptx_parse_attribute(struct ptx_parser *p, bool *ret_managed)
{
    if (!ptx_expect(p, '(')) {
        return false;
    }
    do {
        if (ptx_accept_dot(p, "managed")) {
            *ret_managed = true;
        } else if (ptx_accept_dot(p, "unified")) { // a key for tools, no meaning at run time
            uint64_t key;
            if (!ptx_expect(p, '(') || !ptx_expression_integer(p, &key) || !ptx_expect(p, ',') ||
                !ptx_expression_integer(p, &key) || !ptx_expect(p, ')')) {
                return false;
            }
        } else {
            return ptx_expected(p, ".managed or .unified");
        }
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ')');
}

bool ptx_parse_linkage(struct ptx_parser *p, enum ptx_linkage *linkage)
{
    static const struct {
        const char *word;
        enum ptx_linkage linkage;
    } rows[] = {
        {"extern", PTX_LINK_EXTERN},
        {"visible", PTX_LINK_VISIBLE},
        {"weak", PTX_LINK_WEAK},
        {"common", PTX_LINK_COMMON},
    };
    bool any = false;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]);) {
        struct ptx_token token = p->token;
        if (!ptx_accept_dot(p, rows[i].word)) {
            i++;
            continue;
        }
        if (any) { // two words contradict each other
            ptx_error_at(p, &token, "second linkage '.%s'", rows[i].word);
            return false;
        }
        *linkage = rows[i].linkage;
        any = true;
        i = 0;
    }
    return true;
}

static bool parse_pointer(struct ptx_parser *p, struct declaration *declaration)
{
    uint32_t align;
    declaration->is_pointer = true;
    if (p->token.kind == PTX_TOK_DOT) {
        enum ptx_space space = ptx_space_find(p->token.start + 1, p->token.length - 1);
        if (space == PTX_SPACE_GLOBAL || space == PTX_SPACE_CONST || space == PTX_SPACE_LOCAL ||
            space == PTX_SPACE_SHARED) {
            ptx_next(p);
        }
    }
    return !ptx_accept_dot(p, "align") || parse_align(p, &align);
}

// Bytes of a variable of the type; an opaque one is a slot for a 64-bit object.
static unsigned storage_size(enum ptx_type type)
{
    bool opaque = type == PTX_TEXREF || type == PTX_SAMPLERREF || type == PTX_SURFREF;
    return opaque ? 8 : ptx_type_size(type);
}

static bool storage_type(enum ptx_type type, enum ptx_space space)
{
    if (type == PTX_PRED) {
        return space == PTX_SPACE_REG;
    }
    if (type == PTX_TEXREF || type == PTX_SAMPLERREF || type == PTX_SURFREF) {
        return space != PTX_SPACE_REG;
    }
    return (type >= PTX_S8 && type <= PTX_B128) || (type >= PTX_F16 && type <= PTX_F32X2);
}

// .align, .attribute, .ptr, vector and type words, in any order.
static bool parse_words(struct ptx_parser *p, struct declaration *declaration)
{
    declaration->vector = 1;
    while (p->token.kind == PTX_TOK_DOT) {
        struct ptx_token token = p->token;
        enum ptx_type type = ptx_type_find(token.start + 1, token.length - 1);
        unsigned vector = ptx_vector_find(token.start + 1, token.length - 1);
        ptx_next(p);
        bool align = token.length == 6 && memcmp(token.start, ".align", 6) == 0;
        bool ptr = token.length == 4 && memcmp(token.start, ".ptr", 4) == 0;
        bool attribute = token.length == 10 && memcmp(token.start, ".attribute", 10) == 0;
        if (type != PTX_TYPE_NONE && declaration->type == PTX_TYPE_NONE &&
            storage_type(type, declaration->space)) {
            declaration->type = type;
        } else if (vector != 0 && declaration->vector == 1) {
            declaration->vector = (uint8_t)vector;
        } else if (align && declaration->align == 0) {
            if (!parse_align(p, &declaration->align)) {
                return false;
            }
        } else if (attribute) {
            if (!ptx_parse_attribute(p, &declaration->managed)) {
                return false;
            }
        } else if (ptr && declaration->space == PTX_SPACE_PARAM) {
            if (!parse_pointer(p, declaration)) {
                return false;
            }
        } else {
            ptx_error_at(p, &token, "unexpected '%.*s' in a declaration",
                         (int)(token.length < 100 ? token.length : 100), token.start);
            return false;
        }
    }
    if (declaration->type == PTX_TYPE_NONE) {
        return ptx_expected(p, "a type");
    }
    return true;
}

bool ptx_parse_registers(struct ptx_parser *p)
{
    struct declaration declaration = {.space = PTX_SPACE_REG};
    ptx_next(p);
    if (!parse_words(p, &declaration)) {
        return false;
    }
    if (p->function == NULL) {
        ptx_error_at(p, &p->token, ".reg outside a function");
        return false;
    }
    do {
        struct ptx_token name = p->token;
        if (name.kind != PTX_TOK_IDENT) {
            return ptx_expected(p, "the name of a register");
        }
        ptx_next(p);
        if (!ptx_accept(p, '<')) {
            ptx_register_new(p, &name, declaration.type, declaration.vector);
            continue;
        }
        struct ptx_constant count;
        if (!ptx_expression_unary(p, &count) || !ptx_expect(p, '>')) {
            return false;
        }
        if (count.kind > PTX_CONST_U64 || count.bits > UINT32_MAX) {
            ptx_error_at(p, &name, "bad number of registers");
            return false;
        }
        ptx_register_range(p, &name, count.bits, declaration.type, declaration.vector);
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

static enum ptx_space variable_space(const struct ptx_parser *p)
{
    if (p->token.kind != PTX_TOK_DOT) {
        return PTX_SPACE_NONE;
    }
    switch (ptx_space_find(p->token.start + 1, p->token.length - 1)) {
    case PTX_SPACE_GLOBAL:
        return PTX_SPACE_GLOBAL;
    case PTX_SPACE_CONST:
        return PTX_SPACE_CONST;
    case PTX_SPACE_LOCAL:
        return PTX_SPACE_LOCAL;
    case PTX_SPACE_PARAM:
        return PTX_SPACE_PARAM;
    case PTX_SPACE_SHARED:
        return PTX_SPACE_SHARED;
    case PTX_SPACE_TEX:
        return PTX_SPACE_TEX;
    default:
        return PTX_SPACE_NONE;
    }
}

bool ptx_is_variable_start(const struct ptx_parser *p)
{
    return variable_space(p) != PTX_SPACE_NONE;
}

// [n][m]… after the name. dims[0] is 0 for [].
static bool parse_dims(struct ptx_parser *p, struct ptx_variable *variable,
                       uint64_t dims[PTX_MAX_DIMS], unsigned *dim_count)
{
    uint64_t elements = 1, bytes = storage_size(variable->type);
    while (ptx_is_punct(p, '[')) {
        struct ptx_token token = p->token;
        uint64_t size = 0;
        ptx_next(p);
        variable->is_array = true;
        if (ptx_is_punct(p, ']') && *dim_count == 0) {
            variable->unsized = true;
        } else {
            if (!ptx_expression_integer(p, &size)) {
                return false;
            }
            // A parameter of size 0 stands for an empty struct.
            bool zero = size == 0 && variable->space != PTX_SPACE_PARAM;
            if (size > PTX_MAX_SIZE || *dim_count == PTX_MAX_DIMS - 1 || zero) {
                ptx_error_at(p, &token, "bad array size");
                return false;
            }
            elements *= size;
        }
        if (elements > PTX_MAX_SIZE) {
            ptx_error_at(p, &token, "bad array size");
            return false;
        }
        dims[(*dim_count)++] = size;
        if (!ptx_expect(p, ']')) {
            return false;
        }
    }
    if (variable->symbol->vector > 1) {
        elements *= variable->symbol->vector;
        dims[(*dim_count)++] = variable->symbol->vector;
    }
    variable->size = variable->unsized ? 0 : elements * bytes;
    if (variable->size > PTX_MAX_SIZE) {
        ptx_error_at(p, &p->token, "'%.100s' is too large", variable->symbol->name);
        return false;
    }
    return true;
}

static struct ptx_variable *variable_new(struct ptx_parser *p,
                                         const struct declaration *declaration,
                                         struct ptx_symbol *symbol, uint32_t line)
{
    struct ptx_variable *variable = ptx_new(p, sizeof(*variable));
    unsigned natural = ptx_type_size(declaration->type) * declaration->vector;
    variable->symbol = symbol;
    variable->linkage = declaration->linkage;
    variable->space = declaration->space;
    variable->type = declaration->type;
    variable->align = declaration->align != 0 ? declaration->align : natural != 0 ? natural : 8;
    variable->managed = declaration->managed;
    variable->is_pointer = declaration->is_pointer;
    variable->line = line;
    symbol->type = declaration->type;
    symbol->space = declaration->space;
    symbol->vector = declaration->vector;
    symbol->variable = variable;
    return variable;
}

static bool replaceable(const struct ptx_variable *old, const struct declaration *declaration)
{
    bool either = old->linkage == PTX_LINK_EXTERN || declaration->linkage == PTX_LINK_EXTERN ||
                  old->linkage == PTX_LINK_WEAK || old->linkage == PTX_LINK_COMMON;
    return either && old->space == declaration->space && old->type == declaration->type &&
           old->symbol->vector == declaration->vector;
}

// A module-scope name declared before as .extern: the two are one variable.
static struct ptx_variable *redeclared(struct ptx_parser *p, const struct declaration *declaration,
                                       const struct ptx_token *name)
{
    struct ptx_symbol *symbol = ptx_symbol_find_here(p, name->start, name->length);
    bool module = p->function == NULL && symbol != NULL && symbol->kind == PTX_SYMBOL_VARIABLE;
    return module && replaceable(symbol->variable, declaration) ? symbol->variable : NULL;
}

static void append_variable(struct ptx_parser *p, struct ptx_variable *variable,
                            const struct ptx_token *token)
{
    variable->symbol->index = p->symbol_index++;
    if (p->function == NULL) {
        *p->variables_tail = variable;
        p->variables_tail = &variable->next;
        return;
    }
    struct ptx_statement *statement = ptx_new(p, sizeof(*statement));
    statement->kind = PTX_STMT_VARIABLE;
    statement->variable = variable;
    ptx_append_statement(p, statement, token);
}

// Takes what the definition says into the node that the earlier declaration made.
static void merge(struct ptx_variable *old, const struct ptx_variable *new)
{
    if (new->linkage == PTX_LINK_EXTERN) {
        return;
    }
    struct ptx_variable *next = old->next;
    struct ptx_symbol *symbol = old->symbol;
    *old = *new;
    old->next = next;
    old->symbol = symbol;
    symbol->line = new->line;
}

static bool parse_declarator(struct ptx_parser *p, const struct declaration *declaration)
{
    struct ptx_token name = p->token;
    uint64_t dims[PTX_MAX_DIMS];
    unsigned dim_count = 0;
    if (name.kind != PTX_TOK_IDENT) {
        return ptx_expected(p, "the name of a variable");
    }
    ptx_next(p);
    struct ptx_variable *old = redeclared(p, declaration, &name);
    struct ptx_symbol *symbol =
        old == NULL ? ptx_symbol_new(p, PTX_SYMBOL_VARIABLE, &name) : ptx_new(p, sizeof(*symbol));
    if (old != NULL) {
        *symbol = *old->symbol;
    }
    struct ptx_variable *variable = variable_new(p, declaration, symbol, name.line);
    if (!parse_dims(p, variable, dims, &dim_count)) {
        return false;
    }
    if (ptx_accept(p, '=') && !ptx_parse_initialiser(p, variable, dims, dim_count)) {
        return false;
    }
    if (variable->unsized && declaration->linkage != PTX_LINK_EXTERN &&
        declaration->space != PTX_SPACE_PARAM) {
        ptx_error_at(p, &name, "'%.100s' has no size", symbol->name);
        return false;
    }
    if (old != NULL) {
        merge(old, variable);
    } else {
        append_variable(p, variable, &name);
    }
    return true;
}

bool ptx_parse_variables(struct ptx_parser *p, enum ptx_linkage linkage)
{
    struct declaration declaration = {.space = variable_space(p), .linkage = linkage};
    struct ptx_token token = p->token;
    ptx_next(p);
    if (!parse_words(p, &declaration)) {
        return false;
    }
    if (p->function == NULL && declaration.space == PTX_SPACE_PARAM) {
        ptx_error_at(p, &token, ".param outside a function");
        return false;
    }
    do {
        if (!parse_declarator(p, &declaration)) {
            return false;
        }
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

// ---------------------------------------------------------------- parameters, prototypes

// NULL after a diagnostic.
static struct ptx_variable *parse_parameter(struct ptx_parser *p, bool formal)
{
    struct declaration declaration = {.space = PTX_SPACE_PARAM};
    uint64_t dims[PTX_MAX_DIMS];
    unsigned dim_count = 0;
    if (ptx_accept_dot(p, "reg")) {
        declaration.space = PTX_SPACE_REG;
    } else if (!ptx_accept_dot(p, "param")) {
        ptx_expected(p, ".param");
        return NULL;
    }
    if (!parse_words(p, &declaration)) {
        return NULL;
    }
    struct ptx_token name = p->token;
    if (name.kind != PTX_TOK_IDENT) {
        ptx_expected(p, "the name of a parameter");
        return NULL;
    }
    ptx_next(p);
    struct ptx_symbol *symbol;
    if (!formal) {
        symbol = ptx_new(p, sizeof(*symbol));
        symbol->kind = PTX_SYMBOL_PARAMETER;
        symbol->name = ptx_new_text(p, name.start, name.length);
        symbol->line = name.line;
    } else if (declaration.space == PTX_SPACE_REG) {
        symbol = ptx_register_new(p, &name, declaration.type, declaration.vector);
    } else {
        symbol = ptx_symbol_new(p, PTX_SYMBOL_PARAMETER, &name);
    }
    struct ptx_variable *variable = variable_new(p, &declaration, symbol, name.line);
    return parse_dims(p, variable, dims, &dim_count) ? variable : NULL;
}

bool ptx_parse_parameters(struct ptx_parser *p, bool formal, struct ptx_variable **ret_list,
                          unsigned *ret_count)
{
    struct ptx_variable *list = NULL, **tail = &list;
    unsigned count = 0;
    ptx_next(p);
    while (!ptx_is_punct(p, ')')) {
        struct ptx_variable *variable = parse_parameter(p, formal);
        if (variable == NULL) {
            return false;
        }
        if (variable->symbol->kind == PTX_SYMBOL_PARAMETER) {
            variable->symbol->index = count;
        }
        *tail = variable;
        tail = &variable->next;
        count++;
        if (!ptx_accept(p, ',') && !ptx_is_punct(p, ')')) {
            return ptx_expected(p, "',' or ')'");
        }
    }
    ptx_next(p);
    *ret_list = list;
    *ret_count = count;
    return true;
}

static bool parse_signature(struct ptx_parser *p, struct ptx_prototype *prototype)
{
    unsigned count;
    uint64_t number;
    if (ptx_is_punct(p, '(') && !ptx_parse_parameters(p, false, &prototype->returns, &count)) {
        return false;
    }
    if (p->token.kind != PTX_TOK_IDENT) {
        return ptx_expected(p, "'_'");
    }
    ptx_next(p);
    if (ptx_is_punct(p, '(') && !ptx_parse_parameters(p, false, &prototype->params, &count)) {
        return false;
    }
    while (p->token.kind == PTX_TOK_DOT) {
        if (ptx_accept_dot(p, "noreturn")) {
            prototype->noreturn = true;
        } else if (ptx_accept_dot(p, "abi_preserve") || ptx_accept_dot(p, "abi_preserve_control")) {
            if (!ptx_expression_integer(p, &number)) { // register allocation, no meaning here
                return false;
            }
        } else {
            return ptx_expected(p, "';'");
        }
    }
    return true;
}

static bool parse_targets(struct ptx_parser *p, struct ptx_prototype *prototype)
{
    struct target {
        struct target *next;
        struct ptx_token name;
    } *first = NULL, **tail = &first;
    do {
        if (p->token.kind != PTX_TOK_IDENT) {
            return ptx_expected(p, "a name");
        }
        struct target *target = ptx_new(p, sizeof(*target));
        target->name = p->token;
        *tail = target;
        tail = &target->next;
        prototype->target_count++;
        ptx_next(p);
    } while (ptx_accept(p, ','));
    prototype->targets = ptx_new(p, prototype->target_count * sizeof(struct ptx_symbol *));
    size_t i = 0;
    for (struct target *at = first; at != NULL; at = at->next, i++) {
        if (prototype->kind == PTX_PROTO_BRANCHTARGETS) {
            ptx_reference_add(p, &prototype->targets[i], &at->name, false);
            continue;
        }
        struct ptx_symbol *symbol = ptx_symbol_find(p, at->name.start, at->name.length);
        if (symbol == NULL || symbol->kind != PTX_SYMBOL_FUNCTION) {
            ptx_error_at(p, &at->name, "'%.*s' is no function",
                         (int)(at->name.length < 100 ? at->name.length : 100), at->name.start);
            return true; // reported; the rest of the statement is sound
        }
        prototype->targets[i] = symbol;
    }
    return true;
}

bool ptx_parse_prototype(struct ptx_parser *p, const struct ptx_token *label)
{
    struct ptx_symbol *symbol = ptx_symbol_new(p, PTX_SYMBOL_PROTOTYPE, label);
    struct ptx_prototype *prototype = ptx_new(p, sizeof(*prototype));
    symbol->prototype = prototype;
    prototype->symbol = symbol;
    bool good;
    if (ptx_accept_dot(p, "callprototype")) {
        prototype->kind = PTX_PROTO_CALL;
        good = parse_signature(p, prototype);
    } else {
        prototype->kind =
            ptx_is_dot(p, "calltargets") ? PTX_PROTO_CALLTARGETS : PTX_PROTO_BRANCHTARGETS;
        ptx_next(p);
        good = parse_targets(p, prototype);
    }
    return good && ptx_expect(p, ';');
}
