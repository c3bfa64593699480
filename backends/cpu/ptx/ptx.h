// SPDX-License-Identifier: Apache-2.0
//
// Syntax tree of PTX and the parser that makes it (PTX ISA 1.0 to 9.x as emitted by nvcc 11, 12, 13
// and clang, and hand-written). The tree says what is written, resolved to names and modifiers, and
// keeps the line of every node; it knows nothing of CFGs or LLVM. ir/ reads it. All nodes live in
// one arena per module and are freed together by ptx_module_destroy.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

// ---------------------------------------------------------------- words

enum ptx_space {
    PTX_SPACE_NONE, // generic, or not written
    PTX_SPACE_REG, PTX_SPACE_SREG, PTX_SPACE_CONST, PTX_SPACE_GLOBAL, PTX_SPACE_LOCAL,
    PTX_SPACE_PARAM, PTX_SPACE_PARAM_ENTRY, PTX_SPACE_PARAM_FUNC,
    PTX_SPACE_SHARED, PTX_SPACE_SHARED_CTA, PTX_SPACE_SHARED_CLUSTER, PTX_SPACE_TEX,
};

enum ptx_type {
    PTX_TYPE_NONE,
    PTX_S8, PTX_S16, PTX_S32, PTX_S64,
    PTX_U8, PTX_U16, PTX_U32, PTX_U64,
    PTX_B8, PTX_B16, PTX_B32, PTX_B64, PTX_B128, PTX_B1,
    PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_F32, PTX_F64, PTX_F32X2, PTX_TF32,
    PTX_E4M3, PTX_E5M2, PTX_E4M3X2, PTX_E5M2X2, PTX_E2M1X2, PTX_E2M3X2, PTX_E3M2X2, PTX_UE8M0X2,
    PTX_PRED,
    PTX_S4, PTX_U4,
    PTX_S16X2, PTX_U16X2, PTX_U8X4, PTX_S8X4,
    PTX_TEXREF, PTX_SAMPLERREF, PTX_SURFREF,
    PTX_S2, PTX_U2,
    PTX_E4M3X4, PTX_E5M2X4, PTX_E2M1X4, PTX_E2M3X4, PTX_E3M2X4,
    PTX_E2M1, PTX_E2M3, PTX_E3M2, PTX_UE8M0, PTX_UE4M3,
};

// Bytes of one value of the type; 0 for predicates, opaque and sub-byte types.
unsigned ptx_type_size(enum ptx_type type);
const char *ptx_type_name(enum ptx_type type); // "u32", …

// Opcodes: first word of an instruction ("add", "cp", "mbarrier", "wmma" …). One row each in
// ptx_ops.def: PTX_OP(enum_suffix, "text", operand-form, flags). PTX_OP_addc, PTX_OP_ld …
enum ptx_opcode {
    PTX_OP_INVALID,
#define PTX_OP(id, ...) PTX_OP_##id,
#include "ptx_ops.def"
#undef PTX_OP
    PTX_OP_COUNT
};
const char *ptx_opcode_name(enum ptx_opcode opcode);

// Modifiers that are neither types nor state spaces: rounding, comparison, cache, scope, shape …
// One row each in ptx_mods.def: PTX_MOD(enum_suffix, "text"). PTX_MOD_rn, PTX_MOD_ftz, PTX_MOD_eq.
enum ptx_modifier {
    PTX_MOD_INVALID,
#define PTX_MOD(id, ...) PTX_MOD_##id,
#include "ptx_mods.def"
#undef PTX_MOD
    PTX_MOD_COUNT
};
const char *ptx_modifier_name(enum ptx_modifier modifier);

// ---------------------------------------------------------------- operands

enum ptx_operand_kind {
    PTX_OPERAND_NONE,
    PTX_OPERAND_SYMBOL,    // register, variable, function, label or parameter: `symbol`
    PTX_OPERAND_IMM_INT,   // `integer` (64-bit pattern; `is_unsigned` when U suffix)
    PTX_OPERAND_IMM_F32,   // `integer` = bits of 0fXXXXXXXX
    PTX_OPERAND_IMM_F64,   // `integer` = bits of 0dXXXXXXXXXXXXXXXX or of a decimal float literal
    PTX_OPERAND_SREG,      // special register `sreg`, component in `component`
    PTX_OPERAND_ADDRESS,   // [base + offset]: `symbol` or NULL (absolute), `integer` = offset
    PTX_OPERAND_VECTOR,    // { a, b, … }: `elements`, `count`
    PTX_OPERAND_COMPONENT, // %v.x: `symbol`, `component` (0..3 for x..w / r,g,b,a)
    PTX_OPERAND_SINK,      // _
    PTX_OPERAND_PAIR,      // p|q (setp, shfl, match, vote destinations): elements[0], elements[1]
    PTX_OPERAND_TEXADDR,   // [tex, {coords}] / [tex, sampler, {coords}] / surface: elements
    PTX_OPERAND_LIST,      // ( a, b, … ) of call
    PTX_OPERAND_SYMBOL_OFFSET, // sym+imm as a value (mov.u64 %rd, var+8); also register+imm, the sum,
                               // which ptxas takes wherever a source register may stand
};

enum { PTX_COMPONENT_ALL = 255 };

struct ptx_operand {
    enum ptx_operand_kind kind;
    bool negated;                 // !p as a source operand
    bool is_unsigned;
    bool minus;                   // -a of vmad
    uint8_t component;            // SREG: PTX_COMPONENT_ALL = the whole vector (%tid)
    uint16_t count;               // of elements
    uint16_t sreg;                // enum ptx_sreg
    char lane_kind;               // video selector or mask: 'b' bytes, 'h' halves, 0 = none written
    uint8_t lane_count;           // digits written: a.h1 = 1, a.b7610 = 4
    uint16_t lanes;               // 4 bits each, the last digit written lowest: .h32 = 0x32
    uint64_t integer;
    struct ptx_symbol *symbol;    // resolved in scope; never NULL for SYMBOL
    struct ptx_operand *elements;
};

// Special registers (%tid, %laneid, %clock64 …). One row each in ptx_sregs.def:
// PTX_SREG(enum_suffix, "text without %", type, components).
enum ptx_sreg {
    PTX_SREG_INVALID,
#define PTX_SREG(id, ...) PTX_SREG_##id,
#include "ptx_sregs.def"
#undef PTX_SREG
    PTX_SREG_COUNT
};
const char *ptx_sreg_name(enum ptx_sreg sreg);
enum ptx_type ptx_sreg_type(enum ptx_sreg sreg);

// ---------------------------------------------------------------- symbols

enum ptx_symbol_kind {
    PTX_SYMBOL_REGISTER,  // .reg; also a formal .reg parameter of a function (its ptx_variable has
                          // space REG), for which `variable` is set
    PTX_SYMBOL_VARIABLE,  // .global .const .shared .local, and .param inside a body
    PTX_SYMBOL_PARAMETER, // formal parameter of an entry or function (input or return)
    PTX_SYMBOL_FUNCTION,
    PTX_SYMBOL_LABEL,
    PTX_SYMBOL_PROTOTYPE, // .callprototype / .calltargets / .branchtargets label
};

enum ptx_linkage { PTX_LINK_LOCAL, PTX_LINK_EXTERN, PTX_LINK_VISIBLE, PTX_LINK_WEAK, PTX_LINK_COMMON };

struct ptx_symbol {
    enum ptx_symbol_kind kind;
    const char *name;
    uint32_t line;
    uint32_t index;               // registers: dense number inside their function, from 0;
                                  // labels: dense number inside their function; parameters: place
                                  // in their list; variables (also those in bodies) and functions:
                                  // unique, in the order of the module
    enum ptx_type type;           // of a register, variable element or parameter element
    enum ptx_space space;
    uint8_t vector;               // 1, 2 or 4 (.v2 .v4 registers and variables); 1 normally
    union {
        struct ptx_variable *variable;   // VARIABLE, PARAMETER; REGISTER: NULL or its parameter
        struct ptx_function *function;   // FUNCTION
        struct ptx_prototype *prototype; // PROTOTYPE
        struct ptx_statement *label;     // LABEL: its statement (NULL while undefined)
    };
};

// One element of an initialiser, in memory order.
struct ptx_init {
    uint64_t offset;              // bytes from the start of the variable
    uint8_t size;                 // bytes of this element
    uint8_t mask_shift;           // mask(addr) initialisers 0xFF(sym), 0xFF00(sym)…: byte number, else 0
    bool masked;
    bool generic;                 // generic(sym): generic address of a symbol
    uint64_t value;               // bits; with `symbol`: byte offset added to its address
    struct ptx_symbol *symbol;    // address of a variable or function, or NULL
};

struct ptx_variable {
    struct ptx_symbol *symbol;
    enum ptx_linkage linkage;
    enum ptx_space space;
    enum ptx_type type;           // element type
    uint32_t align;               // bytes; natural alignment when not written
    uint64_t size;                // bytes in all (opaque types: 8 each); 0 for extern arrays of unknown size (name[])
    bool is_array, unsized;       // unsized: name[] (dynamic shared memory when .extern .shared)
    bool managed;                 // .attribute(.managed)
    bool is_pointer;              // parameter with .ptr
    struct ptx_init *init;        // elements that are not zero
    size_t init_count;            // adjacent constants may be merged up to 8 bytes
    const char *opaque_init;      // text of a .texref/.samplerref initialiser { … }, or NULL
    uint32_t line;
    struct ptx_variable *next;
};

// ---------------------------------------------------------------- code

enum { PTX_MAX_OPERANDS = 12, PTX_MAX_TYPES = 5, PTX_MAX_MODIFIERS = 12 };

struct ptx_instruction {
    enum ptx_opcode opcode;
    const char *text;             // opcode and modifiers as written: "ld.global.v4.f32"
    uint8_t operand_count, type_count, modifier_count;
    uint8_t vector;               // .v2 .v4 .v8 of ld/st/tex: 1, 2, 4, 8
    bool guard_negated;
    struct ptx_symbol *guard;     // predicate register of @p / @!p, or NULL
    enum ptx_space space;         // first state space written (.global, .shared …)
    enum ptx_space space2;        // second (cvta.to.X: PTX_MOD_to; cp.async.shared.global)
    const enum ptx_type *types;         // in the order written; [PTX_MAX_TYPES], NONE after the end
    const enum ptx_modifier *modifiers; // in the order written, without types and spaces;
                                        // [PTX_MAX_MODIFIERS], INVALID after the end
    struct ptx_operand *operands;       // destination first, as written; optional operands that
                                        // the form allows but are missing follow as NONE
    // call: operands = return list (LIST or NONE), callee SYMBOL (function or register),
    // argument list (LIST or NONE), prototype/targets SYMBOL or NONE.
};

// Is the modifier written on the instruction?
bool ptx_has(const struct ptx_instruction *instruction, enum ptx_modifier modifier);

// Signature of an indirect call.
struct ptx_prototype {
    struct ptx_symbol *symbol;
    enum { PTX_PROTO_CALL, PTX_PROTO_CALLTARGETS, PTX_PROTO_BRANCHTARGETS } kind;
    struct ptx_variable *returns;   // list through next
    struct ptx_variable *params;
    struct ptx_symbol **targets;    // calltargets: functions; branchtargets: labels
    size_t target_count;
    bool noreturn;
};

enum ptx_statement_kind {
    PTX_STMT_INSTRUCTION,
    PTX_STMT_LABEL,
    PTX_STMT_VARIABLE,   // .local/.shared/.param/.global declared inside the body
};

// Where code comes from (.loc).
struct ptx_loc {
    uint32_t file;                      // number of its .file (ptx_file.index)
    uint32_t line, column;              // line 0: nowhere
    const char *function;               // name (mangled) of the function that was inlined there, or
                                        // NULL: not known, or the function that the code is in
    const struct ptx_loc *inlined_at;   // where it was inlined, or NULL
};

struct ptx_statement {
    enum ptx_statement_kind kind;
    uint32_t line, column;          // in the PTX text, from 1
    const struct ptx_loc *loc;      // last .loc, or NULL
    union {
        struct ptx_instruction *instruction;
        struct ptx_symbol *label;
        struct ptx_variable *variable;
    };
    struct ptx_statement *next;
};

struct ptx_function {
    struct ptx_symbol *symbol;
    enum ptx_linkage linkage;
    bool is_entry, has_body, noreturn;
    struct ptx_variable *returns;     // .func ( … ) list through next
    struct ptx_variable *params;
    unsigned param_count, return_count;
    struct ptx_statement *body;       // nested { } scopes flattened; names resolved per scope
    struct ptx_symbol **registers;    // by index
    uint32_t register_count, label_count;
    uint32_t maxntid[3], reqntid[3], reqnctapercluster[3], maxclusterrank; // 0 when absent
    uint32_t maxnreg, minnctapersm;
    bool explicit_cluster, blocks_are_clusters;
    struct ptx_function *alias;     // .alias: the function that this name stands for, or NULL
    uint32_t line;
    struct ptx_function *next;
};

struct ptx_file {
    uint32_t index;
    const char *name;
};

struct ptx_module {
    unsigned version_major, version_minor;  // .version
    const char *target;                     // "sm_80" (first word of .target)
    unsigned sm;                            // 80
    bool debug;                             // .target …, debug
    unsigned address_size;                  // 32 or 64
    struct ptx_function *functions;         // in order, declarations merged into definitions
    struct ptx_variable *variables;         // module scope, in order
    struct ptx_file *files;
    size_t file_count;
    const char *name;                       // as given to ptx_parse, for messages
    const char *text;                       // borrowed; must outlive the module
    struct ptx_arena *arena;
};

// ---------------------------------------------------------------- parsing

enum { PTX_MAX_DIAGNOSTICS = 20 };

struct ptx_diagnostic {
    uint32_t line, column;
    char message[200];     // lower case, without position, e.g. "unknown modifier '.foo' of 'add'"
    char text[120];        // the source line, trimmed
};

struct ptx_diagnostics {
    struct ptx_diagnostic items[PTX_MAX_DIAGNOSTICS];
    size_t count;          // kept
    size_t total;          // found (may exceed count)
};

// Parses `size` bytes of `text` (NUL-terminated at text[size]; an earlier NUL ends it). `name` is
// used in messages and borrowed. Returns 0 and the module, or -1 with at least one diagnostic
// (syntax, unknown names, out of memory). An instruction whose opcode or modifiers are unknown is
// an error with its line and text. Bounded by the input: never reads outside, recursion limited.
// Any thread; no global state.
int ptx_parse(const char *text, size_t size, const char *name, struct ptx_module **ret_module,
              struct ptx_diagnostics *ret_diagnostics);
struct ptx_module *ptx_module_destroy(struct ptx_module *module); // NULL ok; returns NULL

// Writes the module as PTX that parses back to the same tree (dump switch `ptx`, tests).
void ptx_print(FILE *file, const struct ptx_module *module);
void ptx_print_instruction(FILE *file, const struct ptx_instruction *instruction);

struct ptx_function *ptx_find_function(const struct ptx_module *module, const char *name);
struct ptx_variable *ptx_find_variable(const struct ptx_module *module, const char *name);

// Arena for nodes; also used by ir/ for its own module. Alloc returns zeroed memory or NULL.
struct ptx_arena *ptx_arena_create(void);
void *ptx_arena_alloc(struct ptx_arena *arena, size_t size);
char *ptx_arena_strndup(struct ptx_arena *arena, const char *text, size_t size);
struct ptx_arena *ptx_arena_destroy(struct ptx_arena *arena);
