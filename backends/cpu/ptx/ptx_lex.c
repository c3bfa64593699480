// SPDX-License-Identifier: Apache-2.0
//
// Lexer of PTX (ISA 4.1-4.5): one token at a time from text that need not end in NUL. It skips
// blanks, comments and the line markers of a C preprocessor; what it cannot read becomes a BAD
// token, so that the parser reports it in the one way errors are reported.
#include "ptx_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CLASS_BLANK = 1, CLASS_WORD = 2, CLASS_DIGIT = 4, CLASS_START = 8 };

static const uint8_t classes[256] = {
    ['\t'] = CLASS_BLANK,
    ['\r'] = CLASS_BLANK,
    [' '] = CLASS_BLANK,
    ['\f'] = CLASS_BLANK,
    ['\v'] = CLASS_BLANK,
    ['0' ... '9'] = CLASS_WORD | CLASS_DIGIT,
    ['a' ... 'z'] = CLASS_WORD | CLASS_START,
    ['A' ... 'Z'] = CLASS_WORD | CLASS_START,
    ['_'] = CLASS_WORD | CLASS_START,
    ['$'] = CLASS_WORD | CLASS_START,
    ['%'] = CLASS_START,
};

static bool is(char c, unsigned class)
{
    return (classes[(unsigned char)c] & class) != 0;
}

// The character `ahead` of the lexer, NUL behind the end.
static char char_at(const struct ptx_lexer *lexer, size_t ahead)
{
    static const char nul;
    return *((size_t)(lexer->end - lexer->at) > ahead ? lexer->at + ahead : &nul);
}

size_t ptx_lex_word(const char *text, const char *end)
{
    const char *at = text;
    for (;;) {
        while (at < end && is(*at, CLASS_WORD)) {
            at++;
        }
        if (end - at > 2 && at[0] == ':' && at[1] == ':' && is(at[2], CLASS_WORD)) {
            at += 2;
            continue;
        }
        return (size_t)(at - text);
    }
}

static void new_line(struct ptx_lexer *lexer)
{
    lexer->line++;
    lexer->line_start = lexer->at;
}

static void bad(struct ptx_token *token, const struct ptx_lexer *lexer, const char *why)
{
    token->kind = PTX_TOK_BAD;
    token->bad = why;
    token->length = (uint32_t)(lexer->at - token->start);
}

static bool rest_of_line(struct ptx_lexer *lexer)
{
    const char *stop = memchr(lexer->at, '\n', (size_t)(lexer->end - lexer->at));
    lexer->at = stop != NULL ? stop : lexer->end;
    return true;
}

// '#' as the first character of a line: "# 12 …" or "#line …" are positions, which we do not use.
static bool skip_line_marker(struct ptx_lexer *lexer)
{
    const char *at = lexer->at + 1;
    if (lexer->token_line == lexer->line_start) {
        return false;
    }
    while (at < lexer->end && is(*at, CLASS_BLANK)) {
        at++;
    }
    bool marker = (at < lexer->end && is(*at, CLASS_DIGIT)) ||
                  (lexer->end - at > 4 && memcmp(at, "line", 4) == 0);
    return marker && rest_of_line(lexer);
}

// Moves to the next token. False: an unclosed comment starts at lexer->at.
static bool skip_blanks(struct ptx_lexer *lexer)
{
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        char next = char_at(lexer, 1);
        if (is(c, CLASS_BLANK)) {
            lexer->at++;
        } else if (c == '\n') {
            lexer->at++;
            new_line(lexer);
        } else if (c == '/' && next == '/') {
            rest_of_line(lexer);
        } else if (c == '/' && next == '*') {
            struct ptx_lexer start = *lexer;
            for (lexer->at += 2;; lexer->at++) {
                if (lexer->end - lexer->at < 2) {
                    *lexer = start;
                    return false;
                }
                if (lexer->at[0] == '*' && lexer->at[1] == '/') {
                    break;
                }
                if (*lexer->at == '\n') {
                    lexer->line++;
                    lexer->line_start = lexer->at + 1;
                }
            }
            lexer->at += 2;
        } else if (c != '#' || !skip_line_marker(lexer)) {
            return true;
        }
    }
    return true;
}

static int digit_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    if (c >= 'a' && c <= 'f') {
        return c - 'a' + 10;
    }
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : 99;
}

// Digits of the base at lexer->at; false when there are none or they exceed 64 bits.
static bool digits(struct ptx_lexer *lexer, unsigned base, uint64_t *ret_value, size_t *ret_count)
{
    uint64_t value = 0;
    const char *start = lexer->at;
    bool fits = true;
    while (lexer->at < lexer->end && (unsigned)digit_value(*lexer->at) < base) {
        fits = fits && !__builtin_mul_overflow(value, base, &value) &&
               !__builtin_add_overflow(value, (uint64_t)digit_value(*lexer->at), &value);
        lexer->at++;
    }
    *ret_value = value;
    *ret_count = (size_t)(lexer->at - start);
    return fits && lexer->at > start;
}

// The decimal literal from token->start on: digits, point, exponent.
static bool lex_decimal_float(struct ptx_lexer *lexer, struct ptx_token *token)
{
    char copy[400];
    const char *at = lexer->at;
    if (at < lexer->end && *at == '.') {
        at++;
        while (at < lexer->end && is(*at, CLASS_DIGIT)) {
            at++;
        }
    }
    if (at < lexer->end && (*at == 'e' || *at == 'E')) {
        const char *exponent = at + 1;
        if (exponent < lexer->end && (*exponent == '+' || *exponent == '-')) {
            exponent++;
        }
        if (exponent < lexer->end && is(*exponent, CLASS_DIGIT)) {
            while (exponent < lexer->end && is(*exponent, CLASS_DIGIT)) {
                exponent++;
            }
            at = exponent;
        }
    }
    if (at == lexer->at) {
        return false;
    }
    lexer->at = at;
    size_t size = (size_t)(at - token->start);
    if (size >= sizeof(copy)) {
        bad(token, lexer, "number too long");
        return true;
    }
    memcpy(copy, token->start, size);
    copy[size] = '\0';
    double value = strtod(copy, NULL);
    token->kind = PTX_TOK_F64;
    memcpy(&token->value, &value, sizeof(value));
    return true;
}

static void lex_number(struct ptx_lexer *lexer, struct ptx_token *token)
{
    char prefix = char_at(lexer, 1);
    if (char_at(lexer, 0) != '0') {
        prefix = '\0';
    }
    size_t count;
    bool good;
    token->kind = PTX_TOK_INT;
    if (prefix == 'f' || prefix == 'F' || prefix == 'd' || prefix == 'D') {
        bool single = prefix == 'f' || prefix == 'F';
        lexer->at += 2;
        good = digits(lexer, 16, &token->value, &count) && count == (single ? 8 : 16);
        token->kind = single ? PTX_TOK_F32 : PTX_TOK_F64;
    } else if (prefix == 'x' || prefix == 'X') {
        lexer->at += 2;
        good = digits(lexer, 16, &token->value, &count);
    } else if (prefix == 'b' || prefix == 'B') {
        lexer->at += 2;
        good = digits(lexer, 2, &token->value, &count);
    } else {
        // A leading 0 means octal, unless the literal turns out to be a decimal float (08.5).
        good = digits(lexer, 10, &token->value, &count);
        if (lex_decimal_float(lexer, token)) {
            good = token->kind == PTX_TOK_F64;
        } else if (*token->start == '0' && count > 1) {
            lexer->at = token->start;
            good = digits(lexer, 8, &token->value, &count);
        }
    }
    if (token->kind == PTX_TOK_INT && lexer->at < lexer->end && *lexer->at == 'U') {
        token->is_unsigned = true;
        lexer->at++;
    }
    if (!good || (lexer->at < lexer->end && is(*lexer->at, CLASS_WORD))) {
        lexer->at += ptx_lex_word(lexer->at, lexer->end);
        bad(token, lexer, token->kind == PTX_TOK_BAD ? token->bad : "bad number");
    }
}

static void lex_string(struct ptx_lexer *lexer, struct ptx_token *token)
{
    const char *at = lexer->at + 1;
    while (at < lexer->end && *at != '"' && *at != '\n') {
        at += *at == '\\' && lexer->end - at > 1 && at[1] != '\n' ? 2 : 1;
    }
    if (at >= lexer->end || *at != '"') {
        lexer->at = at;
        bad(token, lexer, "string without end");
        return;
    }
    token->kind = PTX_TOK_STRING;
    token->start = lexer->at + 1;
    token->length = (uint32_t)(at - token->start);
    lexer->at = at + 1;
}

static void lex_punct(struct ptx_lexer *lexer, struct ptx_token *token)
{
    static const char pairs[][3] = {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"};
    char c = *lexer->at;
    if (strchr("()[]{}<>,;:=+-*/%&|^~!?@", c) == NULL || c == '\0') {
        lexer->at++;
        bad(token, lexer, "unexpected character");
        return;
    }
    token->kind = PTX_TOK_PUNCT;
    token->punct = (unsigned char)c;
    lexer->at++;
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        if (lexer->at < lexer->end && c == pairs[i][0] && *lexer->at == pairs[i][1]) {
            token->punct = PTX_PUNCT2(c, *lexer->at);
            lexer->at++;
            return;
        }
    }
}

void ptx_lex(struct ptx_lexer *lexer, struct ptx_token *ret_token)
{
    bool closed = skip_blanks(lexer);
    struct ptx_token token = {
        .kind = PTX_TOK_END,
        .line = lexer->line,
        .start = lexer->at,
        .line_start = lexer->line_start,
        .first_on_line = lexer->token_line != lexer->line_start,
    };
    lexer->token_line = lexer->line_start;
    char c = char_at(lexer, 0);
    if (!closed) {
        lexer->at = lexer->end;
        bad(&token, lexer, "comment without end");
    } else if (lexer->at == lexer->end) {
        token.kind = PTX_TOK_END;
    } else if (is(c, CLASS_START) &&
               (c != '%' || (lexer->end - lexer->at > 1 && is(lexer->at[1], CLASS_WORD)))) {
        token.kind = PTX_TOK_IDENT;
        lexer->at++;
        while (lexer->at < lexer->end && is(*lexer->at, CLASS_WORD)) {
            lexer->at++;
        }
    } else if (is(c, CLASS_DIGIT)) {
        lex_number(lexer, &token);
    } else if (c == '.') {
        size_t size = ptx_lex_word(lexer->at + 1, lexer->end);
        lexer->at += size + 1;
        token.kind = PTX_TOK_DOT;
        if (size == 0) {
            bad(&token, lexer, "expected a word after '.'");
        }
    } else if (c == '"') {
        lex_string(lexer, &token);
    } else {
        lex_punct(lexer, &token);
    }
    if (token.kind != PTX_TOK_STRING) {
        token.length = (uint32_t)(lexer->at - token.start);
    }
    *ret_token = token;
}
