// SPDX-License-Identifier: Apache-2.0
//
// Bodies of functions: scopes, labels, guards, instructions, calls and .pragma. Every error is
// recovered at the end of its statement, so that one run reports several.
#include "ptx_internal.h"

#include <string.h>

void ptx_append_statement(struct ptx_parser *p, struct ptx_statement *statement,
                          const struct ptx_token *token)
{
    statement->line = token->line;
    statement->column = (uint32_t)(token->start - token->line_start) + 1;
    statement->loc = p->loc;
    *p->tail = statement;
    p->tail = &statement->next;
}

// ---------------------------------------------------------------- opcode phrases

// The current token is the opcode. Collects it and its modifiers and moves behind them.
static bool collect_phrase(struct ptx_parser *p, char text[PTX_MAX_PHRASE], size_t *ret_size)
{
    struct ptx_token token = p->token;
    // Modifiers usually follow without blanks: take them without making tokens.
    const char *at = p->lexer.at;
    while (at < p->end && *at == '.') {
        size_t size = ptx_lex_word(at + 1, p->end);
        if (size == 0) {
            break;
        }
        at += 1 + size;
    }
    size_t size = (size_t)(at - token.start);
    bool fits = size < PTX_MAX_PHRASE;
    if (fits) {
        memcpy(text, token.start, size);
    }
    p->lexer.at = at;
    ptx_next(p);
    while (p->token.kind == PTX_TOK_DOT) {
        fits = fits && size + p->token.length < PTX_MAX_PHRASE;
        if (fits) {
            memcpy(text + size, p->token.start, p->token.length);
            size += p->token.length;
        }
        ptx_next(p);
    }
    if (!fits) {
        ptx_error_at(p, &token, "instruction with too many modifiers");
        return false;
    }
    text[size] = '\0';
    *ret_size = size;
    return true;
}

static const struct ptx_phrase *find_phrase(struct ptx_parser *p)
{
    char text[PTX_MAX_PHRASE], error[200];
    size_t size;
    struct ptx_token token = p->token;
    struct ptx_phrase *phrase, parsed;
    if (!collect_phrase(p, text, &size)) {
        return NULL;
    }
    HASH_FIND(hh, p->phrases, text, size, phrase);
    if (phrase != NULL) {
        return phrase;
    }
    if (ptx_phrase_parse(text, size, &parsed, error) != 0) {
        ptx_error_at(p, &token, "%s", error);
        return NULL;
    }
    phrase = ptx_new(p, sizeof(*phrase));
    *phrase = parsed;
    phrase->text = ptx_new_text(p, text, size);
    HASH_ADD_KEYPTR(hh, p->phrases, phrase->text, size, phrase);
    if (phrase->oom) {
        ptx_error_at(p, &token, "out of memory");
        longjmp(p->fatal, 1);
    }
    return phrase;
}

// ---------------------------------------------------------------- instructions

// ld and st with .vN need N elements, without it one; {%r1} is %r1 where a vector has no meaning.
static bool check_vector(struct ptx_parser *p, const struct ptx_token *token,
                         const struct ptx_phrase *phrase, char letter, struct ptx_operand *operand)
{
    bool memory = (ptx_op_row(phrase->opcode)->flags & PTX_FLAG_UNWRAP) != 0;
    bool place = letter == 'R' || letter == 'A';
    bool vector = operand->kind == PTX_OPERAND_VECTOR;
    if (vector && operand->count == 1 && (!place || (memory && phrase->vector == 1))) {
        struct ptx_operand element = operand->elements[0];
        *operand = element;
        return true;
    }
    if (!place || !memory || phrase->opcode == PTX_OP_mov) {
        return true;
    }
    unsigned bytes = phrase->vector * ptx_type_size(phrase->types[0]);
    if (bytes > 32 || (bytes > 16 && phrase->vector < 4) || (phrase->vector == 8 && bytes < 32)) {
        ptx_error_at(p, token, "'%.100s': no such vector in memory", phrase->text);
        return false;
    }
    unsigned written = vector                                ? operand->count
                       : operand->kind == PTX_OPERAND_SYMBOL ? operand->symbol->vector
                                                             : 1;
    if (written != phrase->vector) {
        ptx_error_at(p, token, "'%.100s' takes %u value%s, not %u", phrase->text, phrase->vector,
                     phrase->vector == 1 ? "" : "s", written);
        return false;
    }
    return true;
}

static bool is_name(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_SYMBOL || operand->kind == PTX_OPERAND_SINK;
}

// call (returns), callee, (arguments), prototype: fills the four operands.
static bool parse_call(struct ptx_parser *p, const struct ptx_op_row *row,
                       struct ptx_operand operands[4])
{
    bool unified;
    if (ptx_is_punct(p, '(')) {
        if (!ptx_parse_list(p, row, &operands[0]) || !ptx_expect(p, ',')) {
            return false;
        }
    }
    struct ptx_token token = p->token;
    if (!ptx_parse_operand(p, row, false, &unified, &operands[1])) {
        return false;
    }
    const struct ptx_operand *callee = &operands[1];
    if (callee->kind != PTX_OPERAND_SYMBOL || callee->negated ||
        (callee->symbol->kind != PTX_SYMBOL_FUNCTION &&
         callee->symbol->kind != PTX_SYMBOL_REGISTER)) {
        ptx_error_at(p, &token, "call of what is neither a function nor a register");
        return false;
    }
    bool comma = ptx_accept(p, ',');
    if (comma && ptx_is_punct(p, '(')) {
        if (!ptx_parse_list(p, row, &operands[2])) {
            return false;
        }
        comma = ptx_accept(p, ',');
    }
    if (comma) {
        token = p->token;
        if (!ptx_parse_operand(p, row, false, &unified, &operands[3])) {
            return false;
        }
        if (!is_name(&operands[3]) || operands[3].kind == PTX_OPERAND_SINK ||
            (operands[3].symbol->kind != PTX_SYMBOL_PROTOTYPE &&
             operands[3].symbol->kind != PTX_SYMBOL_VARIABLE)) {
            ptx_error_at(p, &token, "expected a prototype or a list of targets");
            return false;
        }
    }
    if (callee->symbol->kind == PTX_SYMBOL_REGISTER && operands[3].kind == PTX_OPERAND_NONE) {
        ptx_error_at(p, &token, "indirect call without a prototype");
        return false;
    }
    return true;
}

static bool is_label_place(const struct ptx_phrase *phrase, unsigned place)
{
    const char *form = phrase->operands[0];
    return place < strlen(form) && form[place] == 'l';
}

struct operands {
    struct ptx_operand items[PTX_MAX_OPERANDS];
    unsigned count, places;
    struct ptx_token label;
    bool unified;
};

static bool parse_operands(struct ptx_parser *p, const struct ptx_token *token,
                           const struct ptx_phrase *phrase, struct operands *operands)
{
    const struct ptx_op_row *row = ptx_op_row(phrase->opcode);
    char letters[PTX_MAX_OPERANDS], error[200];
    if ((row->flags & PTX_FLAG_CALL) != 0) {
        operands->count = operands->places = 4;
        return parse_call(p, row, operands->items) &&
               (ptx_is_punct(p, ';') || ptx_expected(p, "',' or ';'"));
    }
    while (!ptx_is_punct(p, ';') || operands->count > 0) {
        if (operands->count == PTX_MAX_OPERANDS) {
            ptx_error_at(p, &p->token, "more than %d operands", PTX_MAX_OPERANDS);
            return false;
        }
        bool label = is_label_place(phrase, operands->count);
        if (label) {
            operands->label = p->token;
        }
        if (!ptx_parse_operand(p, row, label, &operands->unified,
                               &operands->items[operands->count])) {
            return false;
        }
        operands->count++;
        if (!ptx_accept(p, ',')) {
            break;
        }
    }
    if (!ptx_is_punct(p, ';')) {
        return ptx_expected(p, "',' or ';'");
    }
    if (ptx_phrase_match(phrase, operands->items, operands->count, letters, &operands->places,
                         error) != 0) {
        ptx_error_at(p, token, "%s", error);
        return false;
    }
    for (unsigned i = 0; i < operands->count; i++) {
        if (letters[i] != '*' && !check_vector(p, token, phrase, letters[i], &operands->items[i])) {
            return false;
        }
    }
    return true;
}

static void add_unified(struct ptx_parser *p, struct ptx_instruction *instruction)
{
    enum ptx_modifier *modifiers = ptx_new(p, PTX_MAX_MODIFIERS * sizeof(*modifiers));
    memcpy(modifiers, instruction->modifiers, instruction->modifier_count * sizeof(*modifiers));
    modifiers[instruction->modifier_count++] = PTX_MOD_unified; // ld has fewer than the maximum
    instruction->modifiers = modifiers;
}

static struct ptx_instruction *make_instruction(struct ptx_parser *p,
                                                const struct ptx_phrase *phrase,
                                                const struct operands *operands)
{
    struct ptx_instruction *instruction = ptx_new(p, sizeof(*instruction));
    instruction->opcode = phrase->opcode;
    instruction->text = phrase->text;
    instruction->type_count = phrase->type_count;
    instruction->modifier_count = phrase->modifier_count;
    instruction->vector = phrase->vector;
    instruction->space = phrase->space;
    instruction->space2 = phrase->space2;
    instruction->types = phrase->types;
    instruction->modifiers = phrase->modifiers;
    instruction->operand_count = (uint8_t)operands->count;
    if (operands->places > 0) {
        instruction->operands = ptx_new(p, operands->places * sizeof(struct ptx_operand));
        memcpy(instruction->operands, operands->items,
               operands->count * sizeof(struct ptx_operand));
    }
    for (unsigned i = 0; i < operands->count; i++) {
        if (is_label_place(phrase, i)) {
            ptx_reference_add(p, &instruction->operands[i].symbol, &operands->label,
                              phrase->opcode == PTX_OP_brx);
        }
    }
    if (operands->unified) {
        add_unified(p, instruction);
    }
    return instruction;
}

// @p or @!p
static bool parse_guard(struct ptx_parser *p, struct ptx_symbol **guard, bool *negated)
{
    ptx_next(p);
    *negated = ptx_accept(p, '!');
    struct ptx_token token = p->token;
    if (token.kind != PTX_TOK_IDENT) {
        return ptx_expected(p, "a predicate register");
    }
    struct ptx_symbol *symbol = ptx_symbol_find(p, token.start, token.length);
    if (symbol == NULL || symbol->kind != PTX_SYMBOL_REGISTER || symbol->type != PTX_PRED) {
        ptx_error_at(p, &token, "'%.*s' is no predicate register",
                     (int)(token.length < 100 ? token.length : 100), token.start);
        return false;
    }
    ptx_next(p);
    *guard = symbol;
    return true;
}

static bool parse_instruction(struct ptx_parser *p)
{
    struct ptx_token first = p->token;
    struct ptx_symbol *guard = NULL;
    bool negated = false;
    if (ptx_is_punct(p, '@') && !parse_guard(p, &guard, &negated)) {
        return false;
    }
    struct ptx_token token = p->token;
    if (token.kind != PTX_TOK_IDENT) {
        return ptx_expected(p, "an instruction");
    }
    const struct ptx_phrase *phrase = find_phrase(p);
    struct operands operands = {.count = 0};
    if (phrase == NULL || !parse_operands(p, &token, phrase, &operands)) {
        return false;
    }
    struct ptx_statement *statement = ptx_new(p, sizeof(*statement));
    statement->kind = PTX_STMT_INSTRUCTION;
    statement->instruction = make_instruction(p, phrase, &operands);
    statement->instruction->guard = guard;
    statement->instruction->guard_negated = negated;
    ptx_append_statement(p, statement, &first);
    ptx_next(p);
    return true;
}

// ---------------------------------------------------------------- statements

// Is the current name followed by ':'?
static bool is_label(const struct ptx_parser *p)
{
    const char *at = p->lexer.at;
    while (at < p->end && (*at == ' ' || *at == '\t' || *at == '\n' || *at == '\r')) {
        at++;
    }
    if (at < p->end && *at == '/') {
        struct ptx_token ahead = ptx_peek(p);
        return ahead.kind == PTX_TOK_PUNCT && ahead.punct == ':';
    }
    return at < p->end && *at == ':';
}

static bool parse_label(struct ptx_parser *p)
{
    struct ptx_token token = p->token;
    ptx_next(p);
    ptx_next(p);
    if (ptx_is_dot(p, "callprototype") || ptx_is_dot(p, "calltargets") ||
        ptx_is_dot(p, "branchtargets")) {
        return ptx_parse_prototype(p, &token);
    }
    struct ptx_statement *statement = ptx_new(p, sizeof(*statement));
    struct ptx_symbol *symbol = ptx_symbol_new(p, PTX_SYMBOL_LABEL, &token);
    symbol->index = p->function->label_count++;
    symbol->label = statement;
    statement->kind = PTX_STMT_LABEL;
    statement->label = symbol;
    ptx_append_statement(p, statement, &token);
    return true;
}

bool ptx_parse_pragma(struct ptx_parser *p)
{
    do { // all known pragmas are hints for ptxas; unknown ones are ignored by definition
        if (p->token.kind != PTX_TOK_STRING) {
            return ptx_expected(p, "a string");
        }
        ptx_next(p);
    } while (ptx_accept(p, ','));
    return ptx_expect(p, ';');
}

static bool parse_directive(struct ptx_parser *p)
{
    enum ptx_linkage linkage = PTX_LINK_LOCAL;
    if (ptx_is_dot(p, "reg")) {
        return ptx_parse_registers(p);
    }
    if (ptx_accept_dot(p, "loc")) {
        return ptx_parse_loc(p);
    }
    if (ptx_accept_dot(p, "pragma")) {
        return ptx_parse_pragma(p);
    }
    if (!ptx_parse_linkage(p, &linkage)) {
        return false;
    }
    if (ptx_is_variable_start(p)) {
        return ptx_parse_variables(p, linkage);
    }
    return ptx_expected(p, "a statement");
}

static bool parse_statement(struct ptx_parser *p)
{
    switch (p->token.kind) {
    case PTX_TOK_DOT:
        return parse_directive(p);
    case PTX_TOK_IDENT:
        return is_label(p) ? parse_label(p) : parse_instruction(p);
    case PTX_TOK_PUNCT:
        if (p->token.punct == '@') {
            return parse_instruction(p);
        }
        if (p->token.punct == ';') {
            ptx_next(p);
            return true;
        }
        return ptx_expected(p, "a statement");
    default:
        return ptx_expected(p, "a statement");
    }
}

// Behind the next ';', or before a '}' that begins a line.
static void recover(struct ptx_parser *p)
{
    p->nesting = 0;
    p->element_count = 0;
    while (p->token.kind != PTX_TOK_END) {
        if (ptx_accept(p, ';')) {
            return;
        }
        if (ptx_is_punct(p, '}') && p->token.first_on_line) {
            return;
        }
        ptx_next(p);
    }
}

bool ptx_parse_body(struct ptx_parser *p)
{
    unsigned outside = p->depth;
    ptx_scope_enter(p, &p->token);
    ptx_next(p);
    while (p->depth > outside) {
        if (p->token.kind == PTX_TOK_END) {
            ptx_expected(p, "'}'");
            while (p->depth > outside) {
                ptx_scope_leave(p);
            }
            return false;
        }
        if (ptx_is_punct(p, '{')) {
            ptx_scope_enter(p, &p->token);
            ptx_next(p);
        } else if (ptx_is_punct(p, '}')) {
            ptx_scope_leave(p);
            ptx_next(p);
        } else if (!parse_statement(p)) {
            recover(p);
        }
    }
    return true;
}
