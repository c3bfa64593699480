// SPDX-License-Identifier: Apache-2.0
//
// Constant expressions (PTX ISA 4.5): integers of 64 bits, signed or unsigned, and doubles, with
// C's operators and precedence, casts (.s64) and (.u64), and WARP_SZ. Symbols are not part of them:
// the callers handle symbol + constant.
#include "ptx_internal.h"

#include <string.h>

enum { WARP_SIZE = 32, STRENGTH_PRODUCT = 10 };

static struct ptx_constant integer(uint64_t value, bool is_unsigned)
{
    return (struct ptx_constant){is_unsigned ? PTX_CONST_U64 : PTX_CONST_S64, value};
}

static struct ptx_constant real(double value)
{
    struct ptx_constant constant = {PTX_CONST_F64, 0};
    memcpy(&constant.bits, &value, sizeof(value));
    return constant;
}

static bool is_real(struct ptx_constant value)
{
    return value.kind == PTX_CONST_F32 || value.kind == PTX_CONST_F64;
}

static double as_real(struct ptx_constant value)
{
    double wide;
    float narrow;
    uint32_t low = (uint32_t)value.bits;
    switch (value.kind) {
    case PTX_CONST_F64:
        memcpy(&wide, &value.bits, sizeof(wide));
        return wide;
    case PTX_CONST_F32:
        memcpy(&narrow, &low, sizeof(narrow));
        return (double)narrow;
    case PTX_CONST_U64:
        return (double)value.bits;
    default:
        return (double)(int64_t)value.bits;
    }
}

static bool truth(struct ptx_constant value)
{
    return is_real(value) ? as_real(value) != 0.0 : value.bits != 0;
}

uint64_t ptx_constant_as(struct ptx_constant value, enum ptx_type type)
{
    uint64_t bits = value.bits;
    bool wide = type == PTX_F64 || (type == PTX_B64 && is_real(value));
    bool narrow = type == PTX_F32 || (type == PTX_B32 && value.kind == PTX_CONST_F64);
    if (wide && value.kind != PTX_CONST_F64) {
        bits = real(as_real(value)).bits;
    } else if (narrow && value.kind != PTX_CONST_F32) {
        float number = (float)as_real(value);
        uint32_t low;
        memcpy(&low, &number, sizeof(low));
        bits = low;
    }
    unsigned size = ptx_type_size(type);
    return size > 0 && size < 8 ? bits & ((UINT64_C(1) << size * 8) - 1) : bits;
}

static bool primary(struct ptx_parser *p, struct ptx_constant *ret_value)
{
    struct ptx_token token = p->token;
    switch (token.kind) {
    case PTX_TOK_INT:
        // A literal that does not fit s64 is unsigned (ISA 4.5.1).
        *ret_value = integer(token.value, token.is_unsigned || token.value > INT64_MAX);
        break;
    case PTX_TOK_F32:
        *ret_value = (struct ptx_constant){PTX_CONST_F32, token.value};
        break;
    case PTX_TOK_F64:
        *ret_value = (struct ptx_constant){PTX_CONST_F64, token.value};
        break;
    case PTX_TOK_IDENT:
        if (token.length != 7 || memcmp(token.start, "WARP_SZ", 7) != 0) {
            return ptx_expected(p, "a constant");
        }
        *ret_value = integer(WARP_SIZE, false);
        break;
    default:
        return ptx_expected(p, "a constant");
    }
    ptx_next(p);
    return true;
}

static bool cast_or_group(struct ptx_parser *p, struct ptx_constant *ret_value)
{
    ptx_next(p);
    bool to_signed = ptx_is_dot(p, "s64"), to_unsigned = ptx_is_dot(p, "u64");
    if (to_signed || to_unsigned) {
        struct ptx_token token = p->token;
        ptx_next(p);
        if (!ptx_expect(p, ')') || !ptx_expression_unary(p, ret_value)) {
            return false;
        }
        if (is_real(*ret_value)) {
            ptx_error_at(p, &token, "cast of a floating-point constant");
            return false;
        }
        ret_value->kind = to_unsigned ? PTX_CONST_U64 : PTX_CONST_S64;
        return true;
    }
    return ptx_expression(p, ret_value) && ptx_expect(p, ')');
}

static bool apply_unary(struct ptx_parser *p, const struct ptx_token *token,
                        struct ptx_constant *value)
{
    switch (token->punct) {
    case '-':
        if (value->kind == PTX_CONST_F32) {
            value->bits ^= UINT64_C(1) << 31;
        } else if (value->kind == PTX_CONST_F64) {
            value->bits ^= UINT64_C(1) << 63;
        } else {
            value->bits = 0 - value->bits;
            // -9223372036854775808 is one number, although its digits alone exceed s64.
            bool least = value->bits == UINT64_C(1) << 63;
            value->kind = least ? PTX_CONST_S64 : value->kind;
        }
        return true;
    case '!':
        *value = integer(!truth(*value), false);
        return true;
    case '~':
        if (is_real(*value)) {
            ptx_error_at(p, token, "'~' of a floating-point constant");
            return false;
        }
        value->bits = ~value->bits;
        return true;
    default:
        return true;
    }
}

static bool unary(struct ptx_parser *p, struct ptx_constant *ret_value)
{
    struct ptx_token token = p->token;
    if (token.kind != PTX_TOK_PUNCT) {
        return primary(p, ret_value);
    }
    if (token.punct == '(') {
        return cast_or_group(p, ret_value);
    }
    if (token.punct != '-' && token.punct != '+' && token.punct != '!' && token.punct != '~') {
        return ptx_expected(p, "a constant");
    }
    ptx_next(p);
    return ptx_expression_unary(p, ret_value) && apply_unary(p, &token, ret_value);
}

bool ptx_expression_unary(struct ptx_parser *p, struct ptx_constant *ret_value)
{
    ptx_nest(p);
    bool good = unary(p, ret_value);
    ptx_unnest(p);
    return good;
}

// Binding strength of a binary operator, 0 for other tokens.
static int strength(const struct ptx_parser *p)
{
    if (p->token.kind != PTX_TOK_PUNCT) {
        return 0;
    }
    switch (p->token.punct) {
    case PTX_PUNCT2('|', '|'):
        return 1;
    case PTX_PUNCT2('&', '&'):
        return 2;
    case '|':
        return 3;
    case '^':
        return 4;
    case '&':
        return 5;
    case PTX_PUNCT2('=', '='):
    case PTX_PUNCT2('!', '='):
        return 6;
    case '<':
    case '>':
    case PTX_PUNCT2('<', '='):
    case PTX_PUNCT2('>', '='):
        return 7;
    case PTX_PUNCT2('<', '<'):
    case PTX_PUNCT2('>', '>'):
        return 8;
    case '+':
    case '-':
        return 9;
    case '*':
    case '/':
    case '%':
        return STRENGTH_PRODUCT;
    default:
        return 0;
    }
}

static bool apply_real(int punct, double a, double b, struct ptx_constant *ret_value)
{
    switch (punct) {
    case '+':
        *ret_value = real(a + b);
        return true;
    case '-':
        *ret_value = real(a - b);
        return true;
    case '*':
        *ret_value = real(a * b);
        return true;
    case '/':
        *ret_value = real(a / b);
        return true;
    case '<':
        *ret_value = integer(a < b, false);
        return true;
    case '>':
        *ret_value = integer(a > b, false);
        return true;
    case PTX_PUNCT2('<', '='):
        *ret_value = integer(a <= b, false);
        return true;
    case PTX_PUNCT2('>', '='):
        *ret_value = integer(a >= b, false);
        return true;
    case PTX_PUNCT2('=', '='):
        *ret_value = integer(a == b, false);
        return true;
    case PTX_PUNCT2('!', '='):
        *ret_value = integer(a != b, false);
        return true;
    default:
        return false;
    }
}

static uint64_t divide(int punct, uint64_t a, uint64_t b, bool is_unsigned)
{
    if (is_unsigned) {
        return punct == '/' ? a / b : a % b;
    }
    if (b == UINT64_MAX) { // -1: INT64_MIN / -1 overflows
        return punct == '/' ? 0 - a : 0;
    }
    int64_t x = (int64_t)a, y = (int64_t)b;
    return (uint64_t)(punct == '/' ? x / y : x % y);
}

static uint64_t shift_right(uint64_t a, uint64_t by, bool is_unsigned)
{
    uint64_t sign = !is_unsigned && (int64_t)a < 0 ? UINT64_MAX : 0;
    if (by >= 64) {
        return sign;
    }
    return by == 0 ? a : a >> by | sign << (64 - by);
}

static bool apply_integer(int punct, uint64_t a, uint64_t b, bool is_unsigned,
                          struct ptx_constant *ret_value)
{
    bool less = is_unsigned ? a < b : (int64_t)a < (int64_t)b;
    switch (punct) {
    case '+':
        *ret_value = integer(a + b, is_unsigned);
        return true;
    case '-':
        *ret_value = integer(a - b, is_unsigned);
        return true;
    case '*':
        *ret_value = integer(a * b, is_unsigned);
        return true;
    case '/':
    case '%':
        if (b != 0) {
            *ret_value = integer(divide(punct, a, b, is_unsigned), is_unsigned);
        }
        return b != 0;
    case '&':
        *ret_value = integer(a & b, is_unsigned);
        return true;
    case '|':
        *ret_value = integer(a | b, is_unsigned);
        return true;
    case '^':
        *ret_value = integer(a ^ b, is_unsigned);
        return true;
    case '<':
        *ret_value = integer(less, false);
        return true;
    case '>':
        *ret_value = integer(!less && a != b, false);
        return true;
    case PTX_PUNCT2('<', '='):
        *ret_value = integer(less || a == b, false);
        return true;
    case PTX_PUNCT2('>', '='):
        *ret_value = integer(!less, false);
        return true;
    case PTX_PUNCT2('=', '='):
        *ret_value = integer(a == b, false);
        return true;
    default: // !=
        *ret_value = integer(a != b, false);
        return true;
    }
}

static bool apply_binary(struct ptx_parser *p, const struct ptx_token *token, struct ptx_constant a,
                         struct ptx_constant b, struct ptx_constant *ret_value)
{
    bool good = true;
    bool is_unsigned = a.kind == PTX_CONST_U64 || b.kind == PTX_CONST_U64;
    switch (token->punct) {
    case PTX_PUNCT2('|', '|'):
        *ret_value = integer(truth(a) || truth(b), false);
        break;
    case PTX_PUNCT2('&', '&'):
        *ret_value = integer(truth(a) && truth(b), false);
        break;
    default:
        if (is_real(a) || is_real(b)) {
            good = apply_real(token->punct, as_real(a), as_real(b), ret_value);
        } else if (token->punct == PTX_PUNCT2('<', '<')) { // has the type of the left side
            *ret_value = integer(b.bits < 64 ? a.bits << b.bits : 0, a.kind == PTX_CONST_U64);
        } else if (token->punct == PTX_PUNCT2('>', '>')) {
            is_unsigned = a.kind == PTX_CONST_U64;
            *ret_value = integer(shift_right(a.bits, b.bits, is_unsigned), is_unsigned);
        } else {
            good = apply_integer(token->punct, a.bits, b.bits, is_unsigned, ret_value);
        }
    }
    if (!good) {
        ptx_error_at(p, token, "constant expression has no value");
    }
    return good;
}

static bool binary(struct ptx_parser *p, int least, struct ptx_constant *ret_value)
{
    struct ptx_constant left = {0};
    ptx_nest(p);
    bool good = ptx_expression_unary(p, &left);
    for (int level = strength(p); good && level >= least; level = strength(p)) {
        struct ptx_token token = p->token;
        struct ptx_constant right = {0};
        ptx_next(p);
        good = binary(p, level + 1, &right) && apply_binary(p, &token, left, right, &left);
    }
    ptx_unnest(p);
    if (good) {
        *ret_value = left;
    }
    return good;
}

bool ptx_expression(struct ptx_parser *p, struct ptx_constant *ret_value)
{
    struct ptx_constant value = {0}, yes = {0}, no = {0};
    if (!binary(p, 1, &value)) {
        return false;
    }
    if (ptx_accept(p, '?')) {
        ptx_nest(p);
        bool good = ptx_expression(p, &yes) && ptx_expect(p, ':') && ptx_expression(p, &no);
        ptx_unnest(p);
        if (!good) {
            return false;
        }
        value = truth(value) ? yes : no;
    }
    *ret_value = value;
    return true;
}

bool ptx_expression_offset(struct ptx_parser *p, uint64_t *ret_value)
{
    uint64_t sum = 0;
    while (ptx_is_punct(p, '+') || ptx_is_punct(p, '-')) {
        struct ptx_token token = p->token;
        struct ptx_constant term = {0};
        ptx_next(p);
        if (!binary(p, STRENGTH_PRODUCT, &term)) {
            return false;
        }
        if (is_real(term)) {
            ptx_error_at(p, &token, "expected an integer constant");
            return false;
        }
        sum = token.punct == '-' ? sum - term.bits : sum + term.bits;
    }
    *ret_value = sum;
    return true;
}

bool ptx_expression_integer(struct ptx_parser *p, uint64_t *ret_value)
{
    struct ptx_token token = p->token;
    struct ptx_constant value = {0};
    if (!ptx_expression(p, &value)) {
        return false;
    }
    if (is_real(value)) {
        ptx_error_at(p, &token, "expected an integer constant");
        return false;
    }
    *ret_value = value.bits;
    return true;
}
