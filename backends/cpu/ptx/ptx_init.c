// SPDX-License-Identifier: Apache-2.0
//
// Initialisers of module-scope variables (PTX ISA 5.4.4): nested lists, constants, addresses of
// variables and functions, generic(address), byte masks of addresses. Called by ptx_decl.c after
// '='. Zero elements are not stored, so large zero tables cost nothing.
#include "ptx_internal.h"

#include <string.h>

struct filler {
    struct ptx_variable *variable;
    const uint64_t *dims;
    unsigned dim_count;
    uint64_t total; // elements; UINT64_MAX while unsized
    unsigned element_size;
};

static void store(struct ptx_parser *p, const struct ptx_init *init)
{
    struct ptx_init *last = p->init_count > 0 ? &p->inits[p->init_count - 1] : NULL;
    if (init->symbol == NULL && init->value == 0) {
        return;
    }
    if (last != NULL && last->symbol == NULL && init->symbol == NULL &&
        last->offset + last->size == init->offset && last->size + init->size <= 8) {
        last->value |= init->value << 8 * last->size;
        last->size = (uint8_t)(last->size + init->size);
        return;
    }
    p->inits = ptx_grow(p, p->inits, &p->init_capacity, p->init_count + 1, sizeof(*p->inits));
    p->inits[p->init_count++] = *init;
}

static bool is_word(const struct ptx_token *token, const char *word)
{
    size_t size = strlen(word);
    return token->kind == PTX_TOK_IDENT && token->length == size &&
           memcmp(token->start, word, size) == 0;
}

static bool symbol_name(struct ptx_parser *p, struct ptx_init *init)
{
    struct ptx_token token = p->token;
    if (token.kind != PTX_TOK_IDENT) {
        return ptx_expected(p, "the name of a variable or function");
    }
    struct ptx_symbol *symbol = ptx_symbol_find(p, token.start, token.length);
    if (symbol == NULL ||
        (symbol->kind != PTX_SYMBOL_VARIABLE && symbol->kind != PTX_SYMBOL_FUNCTION)) {
        ptx_error_at(p, &token, "'%.*s' is no variable or function",
                     (int)(token.length < 100 ? token.length : 100), token.start);
        return false;
    }
    init->symbol = symbol;
    ptx_next(p);
    return true;
}

// sym, sym + constant, generic(sym), generic(sym) + constant
static bool address(struct ptx_parser *p, struct ptx_init *init)
{
    struct ptx_token ahead = ptx_peek(p);
    if (is_word(&p->token, "generic") && ahead.kind == PTX_TOK_PUNCT && ahead.punct == '(') {
        ptx_next(p);
        ptx_next(p);
        init->generic = true;
        if (!symbol_name(p, init) || !ptx_expect(p, ')')) {
            return false;
        }
    } else if (!symbol_name(p, init)) {
        return false;
    }
    return ptx_expression_offset(p, &init->value);
}

// 0xFF(address), 0xFF00(address), …: one byte of the address
static bool masked_address(struct ptx_parser *p, struct ptx_init *init)
{
    struct ptx_token token = p->token;
    unsigned shift = 0;
    while (shift < 7 && token.value != UINT64_C(0xFF) << 8 * shift) {
        shift++;
    }
    if (token.value != UINT64_C(0xFF) << 8 * shift || init->size != 1) {
        ptx_error_at(p, &token, "mask of an address must select one byte for a .b8 or .u8 element");
        return false;
    }
    ptx_next(p);
    ptx_next(p);
    init->masked = true;
    init->mask_shift = (uint8_t)shift;
    return address(p, init) && ptx_expect(p, ')');
}

static bool constant_fits(struct ptx_parser *p, const struct ptx_token *token,
                          struct ptx_constant value, enum ptx_type type)
{
    bool integer = value.kind == PTX_CONST_S64 || value.kind == PTX_CONST_U64;
    if (integer || type == PTX_F32 || type == PTX_F64 || type == PTX_B32 || type == PTX_B64) {
        return true;
    }
    ptx_error_at(p, token, "floating-point constant for a .%s element", ptx_type_name(type));
    return false;
}

static bool element(struct ptx_parser *p, const struct filler *filler, uint64_t position)
{
    struct ptx_init init = {0};
    struct ptx_token token = p->token;
    if (position >= filler->total) {
        ptx_error_at(p, &token, "more elements than '%.100s' has", filler->variable->symbol->name);
        return false;
    }
    init.offset = position * filler->element_size;
    init.size = (uint8_t)(filler->element_size < 8 ? filler->element_size : 8);
    bool good;
    if (token.kind == PTX_TOK_IDENT && !is_word(&token, "WARP_SZ")) {
        good = address(p, &init);
        if (good && init.size < 4) {
            ptx_error_at(p, &token, "address in an element of %u bytes", init.size);
            good = false;
        }
    } else {
        struct ptx_token ahead = token.kind == PTX_TOK_INT ? ptx_peek(p) : token;
        if (token.kind == PTX_TOK_INT && ahead.kind == PTX_TOK_PUNCT && ahead.punct == '(') {
            good = masked_address(p, &init);
        } else {
            struct ptx_constant value;
            good = ptx_expression(p, &value);
            init.value = good ? ptx_constant_as(value, filler->variable->type) : 0;
            good = good && constant_fits(p, &token, value, filler->variable->type);
        }
    }
    if (good) {
        store(p, &init);
    }
    return good;
}

// List for dimension `level`, elements from `*position` on; moves *position behind what it fills.
static bool list(struct ptx_parser *p, const struct filler *filler, unsigned level,
                 uint64_t *position)
{
    uint64_t part = 1; // elements of one entry of this level
    if (level >= filler->dim_count) {
        ptx_error_at(p, &p->token, "more braces than '%.100s' has dimensions",
                     filler->variable->symbol->name);
        return false;
    }
    for (unsigned i = level + 1; i < filler->dim_count; i++) {
        part *= filler->dims[i];
    }
    uint64_t start = *position;
    ptx_nest(p);
    ptx_next(p);
    while (!ptx_is_punct(p, '}')) {
        bool good;
        if (ptx_is_punct(p, '{')) {
            uint64_t inner = *position;
            good = list(p, filler, level + 1, &inner);
            *position += part;
        } else {
            good = element(p, filler, *position);
            *position += 1;
        }
        if (!good) {
            return false;
        }
        if (*position > PTX_MAX_SIZE) {
            ptx_error_at(p, &p->token, "'%.100s' is too large", filler->variable->symbol->name);
            return false;
        }
        if (!ptx_accept(p, ',') && !ptx_is_punct(p, '}')) {
            return ptx_expected(p, "',' or '}'");
        }
    }
    ptx_next(p);
    ptx_unnest(p);
    uint64_t limit =
        filler->total == UINT64_MAX && level == 0 ? UINT64_MAX : part * filler->dims[level];
    if (*position - start > limit) {
        ptx_error_at(p, &p->token, "more elements than '%.100s' has",
                     filler->variable->symbol->name);
        return false;
    }
    return true;
}

// { addr_mode_0 = wrap, filter_mode = nearest } of .texref and .samplerref: kept as text.
static bool opaque(struct ptx_parser *p, struct ptx_variable *variable)
{
    const char *start = p->token.start;
    if (!ptx_is_punct(p, '{')) {
        return ptx_expected(p, "'{'");
    }
    while (!ptx_is_punct(p, '}')) {
        ptx_next(p);
        if (p->token.kind == PTX_TOK_END || ptx_is_punct(p, ';') || ptx_is_punct(p, '{')) {
            return ptx_expected(p, "'}'");
        }
    }
    variable->opaque_init = ptx_new_text(p, start, (size_t)(p->token.start + 1 - start));
    ptx_next(p);
    return true;
}

bool ptx_parse_initialiser(struct ptx_parser *p, struct ptx_variable *variable,
                           const uint64_t *dims, unsigned dim_count)
{
    static const uint64_t one = 1; // braces around one scalar are allowed
    dims = dim_count > 0 ? dims : &one;
    dim_count = dim_count > 0 ? dim_count : 1;
    struct filler filler = {variable, dims, dim_count, 1, ptx_type_size(variable->type)};
    uint64_t position = 0;
    if (filler.element_size == 0) {
        return opaque(p, variable);
    }
    if (variable->space != PTX_SPACE_GLOBAL && variable->space != PTX_SPACE_CONST) {
        ptx_error_at(p, &p->token, "initialiser of a .%s variable",
                     ptx_space_name(variable->space));
        return false;
    }
    for (unsigned i = 0; i < dim_count; i++) {
        filler.total *= dims[i];
    }
    if (variable->unsized) {
        filler.total = UINT64_MAX;
    }
    p->init_count = 0;
    bool good = ptx_is_punct(p, '{') ? list(p, &filler, 0, &position) : element(p, &filler, 0);
    if (!good) {
        return false;
    }
    if (variable->unsized) {
        uint64_t part = 1;
        for (unsigned i = 1; i < dim_count; i++) {
            part *= dims[i];
        }
        variable->size = (position + part - 1) / part * part * filler.element_size;
        variable->unsized = false;
    }
    size_t size = p->init_count * sizeof(*p->inits);
    if (size > 0) {
        variable->init = ptx_new(p, size);
        memcpy(variable->init, p->inits, size);
    }
    variable->init_count = p->init_count;
    return true;
}
