// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of the PTX front end only: tokens, the parser's state, names and scopes,
// instruction forms, constant expressions. Nothing outside backends/cpu/ptx includes it.
#pragma once

#include "ptx.h"

#include <setjmp.h>

// A failed allocation must not end the process: uthash reports it through the element instead.
#define HASH_NONFATAL_OOM 1
// NOLINTNEXTLINE(readability-identifier-naming): the name that uthash asks for
#define uthash_nonfatal_oom(element) ((element)->oom = true)
#include <uthash.h>

enum {
    PTX_MAX_SCOPES = 64,    // nested { } in a body
    PTX_MAX_DEPTH = 200,    // nested expressions and initialisers
    PTX_MAX_ELEMENTS = 512, // of one vector, list or bracket
    PTX_MAX_ERRORS = 10000, // then the parser gives up
    PTX_MAX_FORMS = 6,      // operand shapes that one set of modifiers allows
    PTX_MAX_PHRASE = 256,   // bytes of opcode with modifiers
    PTX_MAX_DIMS = 8,       // of an array, vectors count as one
};
#define PTX_MAX_SIZE (UINT64_C(1) << 40) // bytes of a variable

// ---------------------------------------------------------------- ptx_lex.c

enum ptx_token_kind {
    PTX_TOK_END,
    PTX_TOK_IDENT,  // identifier, also %r1, $L__BB0_1, _
    PTX_TOK_DOT,    // .word, .word::word
    PTX_TOK_INT,    // value, is_unsigned
    PTX_TOK_F32,    // 0fXXXXXXXX: value = bits
    PTX_TOK_F64,    // 0dXXXXXXXXXXXXXXXX or a decimal literal: value = bits
    PTX_TOK_STRING, // start/length without the quotes
    PTX_TOK_PUNCT,  // punct; two characters: first | second << 8
    PTX_TOK_BAD,    // start/length: what could not be read; `bad` says why
};

struct ptx_token {
    enum ptx_token_kind kind;
    int punct;
    bool is_unsigned;
    bool first_on_line;
    uint32_t line, length;
    const char *start;
    const char *line_start;
    const char *bad;
    uint64_t value;
};

struct ptx_lexer {
    const char *at, *end, *line_start;
    const char *token_line; // line_start of the last token
    uint32_t line;
};

#define PTX_PUNCT2(a, b) ((a) | (b) << 8)

// Reads one token. Never reads at or behind lexer->end. Numbers too big for 64 bits, broken
// literals, unclosed comments and strings are BAD tokens.
void ptx_lex(struct ptx_lexer *lexer, struct ptx_token *ret_token);
// Bytes of the run of [A-Za-z0-9_$] or "::" at text: the rest of an opcode phrase.
size_t ptx_lex_word(const char *text, const char *end);

// ---------------------------------------------------------------- ptx_diag.c

// Adds a diagnostic at the token; keeps the first PTX_MAX_DIAGNOSTICS, counts all.
void ptx_diag_add(struct ptx_diagnostics *diagnostics, const char *end,
                  const struct ptx_token *token, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

// ---------------------------------------------------------------- ptx_types.c

enum {
    PTX_FLAG_TERMINATOR = 1,
    PTX_FLAG_CALL = 2,
    PTX_FLAG_VIDEO = 4,
    PTX_FLAG_UNIFIED = 8,
    PTX_FLAG_UNWRAP = 16
};

// One allowed shape of an opcode: see the head of ptx_ops.def.
struct ptx_form {
    const char *modifiers, *operands;
};

struct ptx_op_row {
    const char *name;
    unsigned flags;
    const struct ptx_form *forms;
    size_t form_count;
};

const struct ptx_op_row *ptx_op_row(enum ptx_opcode opcode); // opcode > INVALID
// Words of length `size`; 0 (…_INVALID, …_NONE) when unknown.
enum ptx_opcode ptx_opcode_find(const char *word, size_t size);
enum ptx_modifier ptx_modifier_find(const char *word, size_t size);
enum ptx_type ptx_type_find(const char *word, size_t size);
enum ptx_space ptx_space_find(const char *word, size_t size);
unsigned ptx_vector_find(const char *word, size_t size);    // "v4" -> 4
enum ptx_sreg ptx_sreg_find(const char *word, size_t size); // without %
unsigned ptx_sreg_components(enum ptx_sreg sreg);
const char *ptx_space_name(enum ptx_space space); // "shared::cta"

// ---------------------------------------------------------------- ptx_forms.c

// An opcode with modifiers, looked up once for each text ("ld.global.nc.v4.f32") of a module.
struct ptx_phrase {
    const char *text;
    bool oom;
    enum ptx_opcode opcode;
    uint8_t type_count, modifier_count, vector;
    enum ptx_space space, space2;
    enum ptx_type types[PTX_MAX_TYPES];
    enum ptx_modifier modifiers[PTX_MAX_MODIFIERS];
    unsigned form_count;
    const char *operands[PTX_MAX_FORMS]; // of the forms that the modifiers fit
    UT_hash_handle hh;
};

// Fills *phrase from "opcode.word.word" (size bytes). Returns 0, or -1 and a message without
// position in error[200].
int ptx_phrase_parse(const char *text, size_t size, struct ptx_phrase *phrase, char error[200]);
// Which of the phrase's shapes has room for the operands? Returns its letters aligned to the
// operands (letters[i] for operand i) and the number of operand places, or -1 and a message.
int ptx_phrase_match(const struct ptx_phrase *phrase, const struct ptx_operand *operands,
                     unsigned count, char letters[PTX_MAX_OPERANDS], unsigned *ret_places,
                     char error[200]);

// ---------------------------------------------------------------- ptx_scope.c

struct ptx_range;

// One meaning of a name in one scope. `range`: came from, or is, a declaration like %r<12>.
struct ptx_binding {
    struct ptx_symbol *symbol; // NULL: this binding is the prefix of a range
    struct ptx_range *range;
    unsigned depth;
    struct ptx_name *name;
    struct ptx_binding *outer; // meaning in the enclosing scope
    struct ptx_binding *next_in_scope;
};

struct ptx_name {
    const char *text;
    bool oom;
    struct ptx_binding *binding; // innermost meaning as a plain name
    struct ptx_binding *prefix;  // innermost meaning as the prefix of a range
    UT_hash_handle hh;
};

struct ptx_range {
    uint64_t count;
    enum ptx_type type;
    uint8_t vector;
    uint32_t line;
};

// A label (or target list) used, to be resolved when its scope ends.
struct ptx_reference {
    struct ptx_symbol **slot;
    struct ptx_name *name;
    struct ptx_token token;
    bool target_list;
    struct ptx_reference *next;
};

struct ptx_scope {
    struct ptx_binding *bindings;
    struct ptx_reference *references;
    bool has_ranges;
};

struct ptx_parser {
    struct ptx_lexer lexer;
    struct ptx_token token; // next one
    const char *text, *end;
    struct ptx_module *module;
    struct ptx_diagnostics *diagnostics;
    struct ptx_name *names;     // uthash
    struct ptx_phrase *phrases; // uthash
    struct ptx_binding *free_bindings;
    struct ptx_reference *free_references;
    struct ptx_scope scopes[PTX_MAX_SCOPES + 2]; // 0 module, 1 parameters, 2… bodies
    unsigned depth;                              // current scope
    unsigned nesting;                            // recursion
    struct ptx_function *function;               // whose parameters or body are being read, or NULL
    struct ptx_statement **tail;                 // of its body
    struct ptx_function **functions_tail;
    struct ptx_variable **variables_tail;
    struct ptx_symbol **registers; // of the function, growing
    size_t register_capacity;
    struct ptx_init *inits; // of one initialiser, growing
    size_t init_count, init_capacity;
    struct ptx_operand *elements; // stack of operands under construction
    size_t element_count, element_capacity;
    struct ptx_file *files;
    size_t file_count, file_capacity;
    const struct ptx_loc *loc;         // last .loc of the function
    struct ptx_position *positions;    // uthash: the last .loc of each position of the function
    struct ptx_loc_name *loc_names;    // that wait for the end of the module
    struct ptx_debug_label *labels;    // uthash, of section .debug_str
    char *strings;                     // of section .debug_str, growing
    size_t string_count, string_capacity;
    uint32_t symbol_index; // of the next module-scope symbol
    jmp_buf fatal;         // out of memory, nesting too deep: cannot go on
};

// Memory of the module's arena; does not return on failure.
void *ptx_new(struct ptx_parser *p, size_t size);
const char *ptx_new_text(struct ptx_parser *p, const char *text, size_t size);
// Grows a malloc'ed array of elements of `size` bytes so that `count` fit; does not return on
// failure.
void *ptx_grow(struct ptx_parser *p, void *array, size_t *capacity, size_t count, size_t size);

struct ptx_name *ptx_name_intern(struct ptx_parser *p, const char *text, size_t size);
void ptx_scope_enter(struct ptx_parser *p, const struct ptx_token *token);
// Resolves the labels of the scope, or hands them to the enclosing one.
void ptx_scope_leave(struct ptx_parser *p);
// Makes a symbol and binds it in the current scope; an error (and still a symbol) when the name is
// taken there.
struct ptx_symbol *ptx_symbol_new(struct ptx_parser *p, enum ptx_symbol_kind kind,
                                  const struct ptx_token *token);
// .reg: one register, or (count > 0) the range name0 … name(count-1), made when first used.
struct ptx_symbol *ptx_register_new(struct ptx_parser *p, const struct ptx_token *token,
                                    enum ptx_type type, uint8_t vector);
void ptx_register_range(struct ptx_parser *p, const struct ptx_token *token, uint64_t count,
                        enum ptx_type type, uint8_t vector);
// What the name means here, or NULL.
struct ptx_symbol *ptx_symbol_find(struct ptx_parser *p, const char *text, size_t size);
// The symbol of the current scope only, or NULL.
struct ptx_symbol *ptx_symbol_find_here(struct ptx_parser *p, const char *text, size_t size);
void ptx_reference_add(struct ptx_parser *p, struct ptx_symbol **slot,
                       const struct ptx_token *token, bool target_list);

// ---------------------------------------------------------------- ptx_expr.c

enum ptx_constant_kind { PTX_CONST_S64, PTX_CONST_U64, PTX_CONST_F32, PTX_CONST_F64 };

struct ptx_constant {
    enum ptx_constant_kind kind;
    uint64_t bits;
};

// Constant expression of PTX ISA 4.5 at the current token. False after a diagnostic.
bool ptx_expression(struct ptx_parser *p, struct ptx_constant *ret_value);
// The same without binary operators.
bool ptx_expression_unary(struct ptx_parser *p, struct ptx_constant *ret_value);
bool ptx_expression_integer(struct ptx_parser *p, uint64_t *ret_value); // integers only
// What follows a symbol or register: any number of + term, - term; 0 when there is none.
bool ptx_expression_offset(struct ptx_parser *p, uint64_t *ret_value);
// Bits of the value as an element of `type`.
uint64_t ptx_constant_as(struct ptx_constant value, enum ptx_type type);

// ---------------------------------------------------------------- parser helpers (ptx_parse.c)

void ptx_next(struct ptx_parser *p);
struct ptx_token ptx_peek(const struct ptx_parser *p); // token after the current one
void ptx_error_at(struct ptx_parser *p, const struct ptx_token *token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
// "expected X before 'token'" at the current token; always false.
bool ptx_expected(struct ptx_parser *p, const char *what);
bool ptx_is_punct(const struct ptx_parser *p, int punct);
bool ptx_is_dot(const struct ptx_parser *p, const char *word); // word without the dot
bool ptx_accept(struct ptx_parser *p, int punct);
bool ptx_accept_dot(struct ptx_parser *p, const char *word);
bool ptx_expect(struct ptx_parser *p, int punct);
// Does not return when the recursion is too deep.
void ptx_nest(struct ptx_parser *p);
void ptx_unnest(struct ptx_parser *p);

// ---------------------------------------------------------------- ptx_decl.c

// Variables after their linkage words: .global … ; appends to the module or the body. False after
// a diagnostic, not recovered.
bool ptx_parse_variables(struct ptx_parser *p, enum ptx_linkage linkage);
// ( .param …, … ) with the current token at '('. `formal`: bind the names.
bool ptx_parse_parameters(struct ptx_parser *p, bool formal, struct ptx_variable **ret_list,
                          unsigned *ret_count);
bool ptx_is_variable_start(const struct ptx_parser *p); // .global .const .shared .local .param .tex
bool ptx_parse_registers(struct ptx_parser *p);
bool ptx_parse_linkage(struct ptx_parser *p, enum ptx_linkage *linkage); // any number of words
bool ptx_parse_attribute(struct ptx_parser *p, bool *ret_managed); // after the word .attribute
// label : .callprototype / .calltargets / .branchtargets with the current token at the directive.
bool ptx_parse_prototype(struct ptx_parser *p, const struct ptx_token *label);

// ---------------------------------------------------------------- ptx_init.c

// Initialiser after '='. Fills init, init_count and, when unsized, the size of *variable.
// `dims`: array bounds, dims[0] may be 0 when unsized.
bool ptx_parse_initialiser(struct ptx_parser *p, struct ptx_variable *variable,
                           const uint64_t *dims, unsigned dim_count);

// ---------------------------------------------------------------- ptx_operand.c, ptx_body.c

// One operand. `label`: take a name as it stands, symbol stays NULL (the caller adds a reference).
// Sets *unified when .unified follows an address.
bool ptx_parse_operand(struct ptx_parser *p, const struct ptx_op_row *row, bool label,
                       bool *unified, struct ptx_operand *ret_operand);
// ( a, b, … ) of a call with the current token at '('.
bool ptx_parse_list(struct ptx_parser *p, const struct ptx_op_row *row,
                    struct ptx_operand *ret_operand);
// Body with the current token at '{'. Errors inside are recovered; false when it does not end.
bool ptx_parse_body(struct ptx_parser *p);
bool ptx_parse_pragma(struct ptx_parser *p); // after .pragma
void ptx_append_statement(struct ptx_parser *p, struct ptx_statement *statement,
                          const struct ptx_token *token);

// ---------------------------------------------------------------- ptx_loc.c

bool ptx_parse_file(struct ptx_parser *p);    // after .file
bool ptx_parse_section(struct ptx_parser *p); // after .section
bool ptx_parse_loc(struct ptx_parser *p);     // after .loc
void ptx_loc_leave(struct ptx_parser *p);     // end of a function
void ptx_loc_finish(struct ptx_parser *p);    // end of the module: files, names of functions
void ptx_loc_free(struct ptx_parser *p);      // what is not in the arena
