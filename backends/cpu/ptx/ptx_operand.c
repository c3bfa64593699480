// SPDX-License-Identifier: Apache-2.0
//
// Operands of instructions (PTX ISA 6): registers, constants, addresses, vectors, pairs, texture
// addresses, lists. Reads what is written; which kinds an instruction takes is decided afterwards
// by ptx_phrase_match. Nesting is bounded by the grammar: bracket > vector > scalar.
#include "ptx_internal.h"

#include <string.h>

static bool word_is(const struct ptx_token *token, const char *word)
{
    size_t size = strlen(word);
    return token->length == size && memcmp(token->start, word, size) == 0;
}

static int component_index(char c)
{
    static const char letters[] = "xyzwrgba";
    const char *found = memchr(letters, c, sizeof(letters) - 1);
    return found != NULL ? (int)(found - letters) % 4 : -1;
}

// .x .y .z .w or .r .g .b .a; -1 for anything else.
static int component_of(const struct ptx_token *token)
{
    return token->kind == PTX_TOK_DOT && token->length == 2 ? component_index(token->start[1]) : -1;
}

// Video selectors and masks: .b0 … .b3, .h0, .h1, .h10, .b3210 with other digits.
static bool parse_lanes(struct ptx_parser *p, struct ptx_operand *operand)
{
    const struct ptx_token *token = &p->token;
    unsigned count = token->length - 2;
    char kind = token->start[1]; // a '.' has at least one character behind it
    bool good = token->length > 2 && (kind == 'b' || kind == 'h') && count <= 4;
    for (unsigned i = 0; good && i < count; i++) {
        char c = token->start[2 + i];
        good = c >= '0' && c <= '7';
        operand->lanes = (uint16_t)(operand->lanes << 4 | (unsigned)(c - '0'));
    }
    if (!good) {
        return ptx_expected(p, "a byte or half selector");
    }
    operand->lane_kind = kind;
    operand->lane_count = (uint8_t)count;
    ptx_next(p);
    return true;
}

static bool is_storage(const struct ptx_symbol *symbol)
{
    return symbol->kind == PTX_SYMBOL_VARIABLE || symbol->kind == PTX_SYMBOL_PARAMETER;
}

// name[constant] is the address of an element, ISA 6.4.2.
static bool parse_index(struct ptx_parser *p, const struct ptx_symbol *symbol, uint64_t *ret_offset)
{
    uint64_t index;
    ptx_next(p);
    if (!ptx_expression_integer(p, &index) || !ptx_expect(p, ']')) {
        return false;
    }
    *ret_offset = index * ptx_type_size(symbol->type) * symbol->vector;
    return true;
}

static bool parse_symbol(struct ptx_parser *p, const struct ptx_op_row *row,
                         struct ptx_symbol *symbol, struct ptx_operand *operand)
{
    operand->kind = PTX_OPERAND_SYMBOL;
    operand->symbol = symbol;
    if (p->token.kind == PTX_TOK_DOT && symbol->kind == PTX_SYMBOL_REGISTER) {
        if ((row->flags & PTX_FLAG_VIDEO) != 0) {
            return parse_lanes(p, operand);
        }
        int component = component_of(&p->token);
        if (symbol->vector == 1 || component < 0 || component >= symbol->vector) {
            return ptx_expected(p, symbol->vector > 1 ? "a component of the vector" : "','");
        }
        operand->kind = PTX_OPERAND_COMPONENT;
        operand->component = (uint8_t)component;
        ptx_next(p);
        return true;
    }
    if (is_storage(symbol) && ptx_is_punct(p, '[')) {
        operand->kind = PTX_OPERAND_SYMBOL_OFFSET;
        return parse_index(p, symbol, &operand->integer);
    }
    if (ptx_is_punct(p, '+') || ptx_is_punct(p, '-')) { // ptxas takes registers here, too
        operand->kind = PTX_OPERAND_SYMBOL_OFFSET;
        return ptx_expression_offset(p, &operand->integer);
    }
    return true;
}

static bool parse_sreg(struct ptx_parser *p, enum ptx_sreg sreg, struct ptx_operand *operand)
{
    operand->kind = PTX_OPERAND_SREG;
    operand->sreg = (uint16_t)sreg;
    unsigned components = ptx_sreg_components(sreg);
    if (p->token.kind == PTX_TOK_DOT) {
        int component = component_of(&p->token);
        if (components == 1 || component < 0 || strchr("xyzw", p->token.start[1]) == NULL) {
            return ptx_expected(p, components > 1 ? ".x, .y, .z or .w" : "','");
        }
        operand->component = (uint8_t)component;
        ptx_next(p);
    } else if (components > 1) {
        operand->component = PTX_COMPONENT_ALL;
    }
    return true;
}

static bool parse_constant(struct ptx_parser *p, struct ptx_operand *operand)
{
    struct ptx_constant value;
    if (!ptx_expression(p, &value)) {
        return false;
    }
    operand->integer = value.bits;
    operand->is_unsigned = value.kind == PTX_CONST_U64;
    operand->kind = value.kind == PTX_CONST_F32   ? PTX_OPERAND_IMM_F32
                    : value.kind == PTX_CONST_F64 ? PTX_OPERAND_IMM_F64
                                                  : PTX_OPERAND_IMM_INT;
    return true;
}

static bool parse_name(struct ptx_parser *p, const struct ptx_op_row *row,
                       struct ptx_operand *operand)
{
    struct ptx_token token = p->token;
    if (word_is(&token, "_")) {
        operand->kind = PTX_OPERAND_SINK;
        ptx_next(p);
        return true;
    }
    struct ptx_symbol *symbol = ptx_symbol_find(p, token.start, token.length);
    if (symbol != NULL) {
        ptx_next(p);
        return parse_symbol(p, row, symbol, operand);
    }
    if (word_is(&token, "WARP_SZ")) {
        return parse_constant(p, operand);
    }
    enum ptx_sreg sreg =
        token.start[0] == '%' ? ptx_sreg_find(token.start + 1, token.length - 1) : PTX_SREG_INVALID;
    if (sreg == PTX_SREG_INVALID) {
        ptx_error_at(p, &token, "unknown name '%.*s'",
                     (int)(token.length < 100 ? token.length : 100), token.start);
        return false;
    }
    ptx_next(p);
    return parse_sreg(p, sreg, operand);
}

static bool parse_scalar(struct ptx_parser *p, const struct ptx_op_row *row,
                         struct ptx_operand *ret_operand)
{
    struct ptx_operand operand = {0};
    bool name = p->token.kind == PTX_TOK_IDENT;
    if (ptx_is_punct(p, '!') || ptx_is_punct(p, '-')) {
        struct ptx_token ahead = ptx_peek(p);
        bool minus = ptx_is_punct(p, '-');
        name = ahead.kind == PTX_TOK_IDENT && !word_is(&ahead, "WARP_SZ");
        if (name && (!minus || (row->flags & PTX_FLAG_VIDEO) != 0)) {
            operand.negated = !minus;
            operand.minus = minus;
            ptx_next(p);
        } else if (name) {
            return ptx_expected(p, "an operand");
        }
    }
    if (!(name ? parse_name(p, row, &operand) : parse_constant(p, &operand))) {
        return false;
    }
    *ret_operand = operand;
    return true;
}

static void push(struct ptx_parser *p, const struct ptx_operand *operand)
{
    p->elements =
        ptx_grow(p, p->elements, &p->element_capacity, p->element_count + 1, sizeof(*p->elements));
    p->elements[p->element_count++] = *operand;
}

// Takes the operands pushed since `mark` as elements of *operand.
static void pop_elements(struct ptx_parser *p, size_t mark, struct ptx_operand *operand)
{
    size_t count = p->element_count - mark;
    operand->count = (uint16_t)count;
    if (count > 0) {
        operand->elements = ptx_new(p, count * sizeof(struct ptx_operand));
        memcpy(operand->elements, &p->elements[mark], count * sizeof(struct ptx_operand));
    }
    p->element_count = mark;
}

// Scalars up to `close`, which is consumed; the current token is the opening one.
static bool parse_sequence(struct ptx_parser *p, const struct ptx_op_row *row, int close,
                           struct ptx_operand *operand)
{
    size_t mark = p->element_count;
    ptx_next(p);
    while (!ptx_is_punct(p, close)) {
        struct ptx_operand element;
        if (!parse_scalar(p, row, &element)) {
            return false;
        }
        push(p, &element);
        if (p->element_count - mark > PTX_MAX_ELEMENTS) {
            ptx_error_at(p, &p->token, "more than %d elements", PTX_MAX_ELEMENTS);
            return false;
        }
        if (!ptx_accept(p, ',') && !ptx_is_punct(p, close)) {
            return ptx_expected(p, close == '}' ? "',' or '}'" : "',' or ')'");
        }
    }
    ptx_next(p);
    pop_elements(p, mark, operand);
    return true;
}

static bool parse_vector(struct ptx_parser *p, const struct ptx_op_row *row,
                         struct ptx_operand *operand)
{
    struct ptx_token token = p->token;
    operand->kind = PTX_OPERAND_VECTOR;
    if (!parse_sequence(p, row, '}', operand)) {
        return false;
    }
    if (operand->count == 0) {
        ptx_error_at(p, &token, "empty vector");
        return false;
    }
    return true;
}

bool ptx_parse_list(struct ptx_parser *p, const struct ptx_op_row *row,
                    struct ptx_operand *ret_operand)
{
    *ret_operand = (struct ptx_operand){.kind = PTX_OPERAND_LIST};
    return parse_sequence(p, row, ')', ret_operand);
}

// Turns the scalar in [ ] into the base and offset of an address.
static bool make_address(struct ptx_parser *p, const struct ptx_token *token,
                         struct ptx_operand *operand)
{
    bool symbolic = operand->kind == PTX_OPERAND_SYMBOL;
    bool offset = operand->kind == PTX_OPERAND_SYMBOL_OFFSET;
    bool constant = operand->kind == PTX_OPERAND_IMM_INT;
    bool object = symbolic || offset
                      ? is_storage(operand->symbol) || operand->symbol->kind == PTX_SYMBOL_REGISTER
                      : constant;
    if (!object || operand->negated || operand->minus) {
        ptx_error_at(p, token, "not an address");
        return false;
    }
    operand->kind = PTX_OPERAND_ADDRESS;
    operand->is_unsigned = false;
    if (offset && (ptx_is_punct(p, '+') || ptx_is_punct(p, '-'))) { // name[i]+4
        uint64_t more;
        if (!ptx_expression_offset(p, &more)) {
            return false;
        }
        operand->integer += more;
    }
    return true;
}

static bool parse_bracket(struct ptx_parser *p, const struct ptx_op_row *row, bool *unified,
                          struct ptx_operand *operand)
{
    size_t mark = p->element_count;
    struct ptx_operand element;
    ptx_next(p);
    struct ptx_token token = p->token;
    if (!parse_scalar(p, row, &element)) {
        return false;
    }
    if (!ptx_is_punct(p, ',')) {
        *operand = element;
        if (!make_address(p, &token, operand) || !ptx_expect(p, ']')) {
            return false;
        }
        if ((row->flags & PTX_FLAG_UNIFIED) != 0 && ptx_accept_dot(p, "unified")) {
            *unified = true;
        }
        return true;
    }
    operand->kind = PTX_OPERAND_TEXADDR;
    push(p, &element);
    while (ptx_accept(p, ',')) {
        element = (struct ptx_operand){0};
        bool good =
            ptx_is_punct(p, '{') ? parse_vector(p, row, &element) : parse_scalar(p, row, &element);
        if (!good) {
            return false;
        }
        push(p, &element);
        if (p->element_count - mark > PTX_MAX_ELEMENTS) {
            ptx_error_at(p, &p->token, "more than %d elements", PTX_MAX_ELEMENTS);
            return false;
        }
    }
    pop_elements(p, mark, operand);
    return ptx_expect(p, ']');
}

// first|second
static bool parse_pair(struct ptx_parser *p, const struct ptx_op_row *row,
                       struct ptx_operand *operand)
{
    size_t mark = p->element_count;
    struct ptx_operand second;
    ptx_next(p);
    if (!parse_scalar(p, row, &second)) {
        return false;
    }
    push(p, operand);
    push(p, &second);
    *operand = (struct ptx_operand){.kind = PTX_OPERAND_PAIR};
    pop_elements(p, mark, operand);
    return true;
}

bool ptx_parse_operand(struct ptx_parser *p, const struct ptx_op_row *row, bool label,
                       bool *unified, struct ptx_operand *ret_operand)
{
    struct ptx_operand operand = {0};
    if (label && p->token.kind == PTX_TOK_IDENT) {
        operand.kind = PTX_OPERAND_SYMBOL;
        *ret_operand = operand;
        ptx_next(p);
        return true;
    }
    bool good;
    if (ptx_is_punct(p, '[')) {
        good = parse_bracket(p, row, unified, &operand);
    } else if (ptx_is_punct(p, '{')) {
        good = parse_vector(p, row, &operand);
    } else {
        good = parse_scalar(p, row, &operand);
    }
    if (good && ptx_is_punct(p, '|')) {
        good = parse_pair(p, row, &operand);
    }
    if (good) {
        *ret_operand = operand;
    }
    return good;
}
