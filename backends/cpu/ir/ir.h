// SPDX-License-Identifier: Apache-2.0
//
// Typed control-flow graph between the PTX tree and the code generator. A *program* is one or more
// parsed PTX units linked together (names resolved across units, variables laid out); a *unit* is
// what is compiled at once: one entry and every function it can reach. ir/ builds it, checks it and
// runs the one visible list of passes (pipeline.c); jit/ turns it into LLVM IR. No LLVM here.
//
// Values are bit patterns of storage types (IR_I1 … IR_I128); each operation says how it reads them
// (`type`). Before pass `ssa` a value may have several definitions (a PTX register); after it,
// exactly one, with IR_phi at the heads of blocks.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../ptx/ptx.h"

// ---------------------------------------------------------------- types and small enums

enum ir_type {
    IR_VOID,
    IR_I1, IR_I8, IR_I16, IR_I32, IR_I64, IR_I128, // storage types
    // How an operation reads its operands; signedness is in the operation or IR_FLAG_SIGNED.
    IR_F16, IR_BF16, IR_F32, IR_F64,
    IR_F16X2, IR_BF16X2,                           // packed in I32; only in atom
    IR_TF32,                                       // in I32; only as type of cvt
    IR_E4M3, IR_E5M2, IR_E2M1, IR_E2M3, IR_E3M2, IR_UE8M0, // in I8 (low bits); only in cvt
    IR_TYPE_COUNT
};
enum ir_type ir_storage(enum ir_type type); // IR_F32 -> IR_I32, …
unsigned ir_bits(enum ir_type type);

enum ir_round { IR_RN, IR_RZ, IR_RM, IR_RP, IR_RNA, IR_RS,
                IR_RNI, IR_RZI, IR_RMI, IR_RPI };

// setp/set/slct comparisons. Unordered float forms are true when an operand is NaN.
enum ir_compare {
    IR_EQ, IR_NE, IR_LT, IR_LE, IR_GT, IR_GE, IR_LO, IR_LS, IR_HI, IR_HS,
    IR_EQU, IR_NEU, IR_LTU, IR_LEU, IR_GTU, IR_GEU, IR_NUM, IR_NAN,
};

// Address spaces. GENERIC, GLOBAL, CONST and LOCAL addresses are host addresses; SHARED addresses
// are byte offsets in the block's window. The others are blocks without an address operand unless
// src[0] is there (then it is a byte offset into the block, I64):
enum ir_space { IR_GENERIC, IR_GLOBAL, IR_CONST, IR_SHARED, IR_LOCAL,
                IR_PARAM_ENTRY, // parameter block of the entry
                IR_ARGUMENT,    // argument block that the caller passed (called functions)
                IR_RETURN,      // return block that the caller passed (called functions)
                IR_SLOT };      // slot `index` of this function

enum ir_order { IR_WEAK, IR_VOLATILE, IR_RELAXED, IR_ACQUIRE, IR_RELEASE, IR_ACQ_REL, IR_SEQ_CST };
enum ir_scope { IR_SCOPE_CTA, IR_SCOPE_CLUSTER, IR_SCOPE_GPU, IR_SCOPE_SYS };

enum ir_atomic { IR_ATOM_ADD, IR_ATOM_MIN, IR_ATOM_MAX, IR_ATOM_AND, IR_ATOM_OR, IR_ATOM_XOR,
                 IR_ATOM_EXCH, IR_ATOM_CAS, IR_ATOM_INC, IR_ATOM_DEC };

enum ir_flag {
    IR_FLAG_SIGNED = 1 << 0,   // integers are signed
    IR_FLAG_SRC_SIGNED = 1 << 1, // cvt: source integer is signed (SIGNED: destination)
    IR_FLAG_FTZ = 1 << 2,
    IR_FLAG_SAT = 1 << 3,      // .sat
    IR_FLAG_APPROX = 1 << 4,   // .approx
    IR_FLAG_FULL = 1 << 5,     // div.full
    IR_FLAG_NAN = 1 << 6,      // .NaN of min/max
    IR_FLAG_XORSIGN = 1 << 7,  // .xorsign.abs
    IR_FLAG_ABS = 1 << 8,      // .abs of min/max/redux
    IR_FLAG_RELU = 1 << 9,
    IR_FLAG_CC_OUT = 1 << 10,  // writes the carry flag (second destination, I1)
    IR_FLAG_CC_IN = 1 << 11,   // reads the carry flag (last source, I1)
    IR_FLAG_SHIFTAMT = 1 << 12, // bfind.shiftamt
    IR_FLAG_WRAP = 1 << 13,    // shf.wrap, bmsk.wrap (else clamp)
    IR_FLAG_OOB = 1 << 14,
    IR_FLAG_NOFTZ = 1 << 15,
    IR_FLAG_UNIFORM = 1 << 16, // bra.uni
    IR_FLAG_ALIGNED = 1 << 17, // .aligned
    IR_FLAG_SATFINITE = 1 << 18,
    IR_FLAG_HI = 1 << 19,      // mul.hi / mad.hi / dp2a.hi
    // Warp form only (pass_warp.c):
    IR_FLAG_MASKED = 1 << 20,  // the last source (I32) is the mask of the lanes that execute it
    IR_FLAG_ROOTED = 1 << 21,  // the source before that is what its address was converted from;
                               // `site` and SRC_SIGNED as in struct ir_value
};

// ---------------------------------------------------------------- operations

// One row each in ir_ops.def: IR_OP(id, "text", destinations, sources, properties).
enum ir_op_property {
    IR_PURE = 1,       // no effect besides its destinations; may be removed, merged, speculated
    IR_READS = 2,      // reads memory
    IR_WRITES = 4,     // writes memory or has another effect
    IR_TERMINATOR = 8, // last of its block
    IR_SUSPENDS = 16,  // a suspension point of the thread (barrier, warp operation, yield)
};
enum ir_op {
    IR_OP_INVALID,
#define IR_OP(id, ...) IR_##id,
#include "ir_ops.def"
#undef IR_OP
    IR_OP_COUNT
};
const char *ir_op_name(enum ir_op op);
unsigned ir_op_properties(enum ir_op op);
// The storage type that the operation has at a destination or source (IR_VOID: any).
struct ir_inst;
enum ir_type ir_op_source_type(const struct ir_inst *inst, unsigned source);
enum ir_type ir_op_destination_type(const struct ir_inst *inst, unsigned destination);

// Operands are strictly typed: the storage type of a VALUE is exactly ir_storage of the type that
// the operation reads at that place (ir_op_source_type); a CONSTANT is a pattern of that width.
struct ir_operand {
    enum { IR_NONE, IR_VALUE, IR_CONSTANT, IR_UNDEF } kind;
    uint32_t value;      // VALUE: index into function->values
    uint64_t bits;       // CONSTANT: low 64 bits (zero-extended pattern of the storage type)
};

enum { IR_MAX_DST = 16, IR_MAX_SRC = 20 };

// Operands of call and call_indirect. Blocks are packed as ir_function->params / ->returns say.
struct ir_call {
    uint32_t argument_slot, return_slot; // slots of the caller that hold the packed blocks;
                                         // UINT32_MAX when there is none
    uint32_t argument_size, return_size;
    uint32_t *targets;         // call_indirect: what it may reach, positions in unit->functions;
    uint32_t target_count;     // any other address is a trap
    bool suspends;             // a target may suspend: see call_prepare in ir_ops.def
};

// Where an operation comes from in the source (.loc), for debuggers and messages.
struct ir_loc {
    const char *file;
    uint32_t line, column;
    const char *function;           // name (mangled) of the inlined function that it is in; NULL:
                                    // not known, or that of the unit
    const struct ir_loc *inlined_at; // where that was inlined, or NULL
};

struct ir_inst {
    enum ir_op op;
    enum ir_type type;       // how operands are read / what is computed; memory: element type
    enum ir_type type2;      // cvt: source type; mul wide: none; others as ir_ops.def says
    uint32_t flags;          // enum ir_flag
    enum ir_round round;
    enum ir_compare compare;
    enum ir_space space;
    enum ir_order order;
    enum ir_scope scope;
    uint8_t sub;             // as ir_ops.def says: ir_atomic, exec_shfl_op, sreg component …
    uint8_t vector;          // elements of a memory operation (1, 2, 4, 8, 16)
    uint8_t dst_count, src_count;
    uint32_t *dst;           // values
    struct ir_operand *src;
    int64_t offset;          // memory: byte offset added to the address
    uint32_t index;          // symbol, function, slot, sreg number … as the op says
    uint32_t site;           // suspension: unique number within the unit
    uint32_t line;           // PTX line, for messages
    uint32_t unit;           // which PTX unit `line` belongs to
    const struct ir_loc *loc; // or NULL
    struct ir_block *target[2];    // br: [0]; cbr: taken, else
    struct ir_block **targets;     // brx: table (index = src[0])
    uint32_t target_count;
    struct ir_operand *phi;        // phi: one per predecessor, in order of block->preds
    struct ir_call *call;          // call, call_indirect
    const char *text;              // trap: reason, or NULL
    struct ir_inst *prev, *next;
};

// What the lanes of a warp have in a value (pass_uniform.c): all the same, base + lane * stride
// (modulo the width), or anything. UNKNOWN: not looked at, and in the one-lane form.
enum ir_kind { IR_KIND_UNKNOWN, IR_UNIFORM, IR_AFFINE, IR_VARYING };

struct ir_value {
    enum ir_type type;       // storage type
    struct ir_inst *def;     // after ssa
    const char *name;        // PTX register it came from, or NULL; not unique
    // Warp form. An affine I64 value that was made from an affine I32 value (`root` - 1) by an
    // extension is base + lane * stride + multiple * (what the wrapping of the I32 value in some
    // lane adds to its extension): zero where no lane of it wraps.
    uint8_t kind;            // enum ir_kind
    bool root_signed;        // the extension was of the sign
    int32_t multiple;
    uint32_t root;           // value + 1, or 0
    int64_t stride;
};

struct ir_block {
    uint32_t number;         // dense, reverse post-order after pass `order`
    struct ir_inst *first, *last;
    struct ir_block **preds, **succs;
    uint32_t pred_count, succ_count;
    uint32_t resume;         // resume state number when a thread re-enters here; 0 otherwise
    bool spin;               // head of a loop that can spin (its back-edges yield)
    uint8_t depth;           // loops around it, before `split` (pass `loops`)
    uint32_t *live_in;       // values live at the head, unordered; valid after pass `liveness`
    uint32_t live_in_count;
    struct ir_block *next;
};

// Stack object of a function: a .local variable, a .param variable of a call site or a formal.
struct ir_slot {
    const char *name;
    uint64_t size;
    uint32_t align;
    uint64_t offset;         // in the thread's local memory when the function is resumable
};

struct ir_param {
    uint32_t offset, size, align; // in the packed block
};

struct ir_function {
    const char *name;
    uint32_t program_index;       // in program->functions
    bool is_entry, suspends, recursive, address_taken;
    struct ir_block *blocks;      // first is the entry block; list through next
    uint32_t block_count;
    struct ir_value *values;
    uint32_t value_count, value_capacity;
    struct ir_slot *slots;
    uint32_t slot_count;
    uint64_t slots_size;          // bytes of all slots, laid out (multiple of 16)
    struct ir_param *params;      // formal parameters, packed in order at natural alignment
    uint32_t param_count;
    uint32_t params_size;
    struct ir_param *returns;     // the same for the return block
    uint32_t return_count;
    uint32_t return_size;
    uint32_t resume_count;        // resume states are 1..resume_count
    uint32_t frame_size;          // bytes of the frame (multiple of 16). Called functions: the
                                  // state word (u32) is at offset 0, saved registers start at 16;
                                  // the callee's frame starts at the caller's frame + frame_size
    const char *unbuildable;      // reached only by pointer and not compilable: the body is a trap
    bool ssa;
    const struct ir_loc *loc;     // of its first line; NULL: its PTX tells no lines
    uint32_t lanes;               // 0: one-lane form; else what pass warp makes run in step
};

// A variable of the program in .global or .const (indexed by exec_ctx.symbols) or .shared.
struct ir_variable {
    const char *name;
    const struct ptx_variable *ptx;  // definition: size, alignment, initialiser
    uint32_t unit;
    enum ir_space space;
};

struct ir_program_function {
    const char *name;
    const struct ptx_function *ptx;  // definition, or declaration when external
    uint32_t unit;
};

struct ir_program {
    const struct ptx_module *const *modules;
    size_t module_count;
    struct ir_variable *variables;
    uint32_t variable_count;
    struct ir_program_function *functions;
    uint32_t function_count;
    struct ptx_arena *arena;
    void *names;                     // hash tables, private to program.c
};

// Shared variables of a unit, laid out in its block's window.
struct ir_shared {
    uint32_t variable;               // index into program->variables
    uint32_t offset;
};

struct ir_unit {
    const struct ir_program *program;
    struct ir_function **functions;  // [0] is the entry; others are called without inlining
    uint32_t function_count;
    struct ir_shared *shared;
    uint32_t shared_count;
    uint32_t static_shared;          // bytes of static shared variables
    uint32_t dynamic_shared_offset;  // where extern .shared arrays start (aligned)
    uint32_t dynamic_shared_align;
    // Sums along the deepest chain of calls, every function counted once (so not enough when
    // `recursive`): slots of functions that suspend, and frames.
    uint64_t local_size;
    uint32_t frame_size;
    bool uses_dynamic_shared, uses_printf, uses_malloc, recursive, can_spin, uses_indirect;
    bool uses_cluster; // addresses in the shared memory of other blocks
    struct ptx_arena *arena;
};

// A message with its place; `line` is of PTX unit `unit`, 0 when none.
struct ir_error {
    uint32_t unit, line;
    char message[240];  // "instruction 'wgmma.mma_async…' is not compiled by this version"
    char text[120];     // the PTX line
};

// ---------------------------------------------------------------- interface

// Links parsed modules: one table of variables and functions; a strong definition wins over weak,
// extern declarations resolve; duplicate strong or missing definitions are errors (missing ones
// only when used). Modules are borrowed.
int ir_program_create(const struct ptx_module *const *modules, size_t count,
                      struct ir_program **ret_program, struct ir_error *ret_error);
struct ir_program *ir_program_destroy(struct ir_program *program);
// Index or UINT32_MAX.
uint32_t ir_program_find_function(const struct ir_program *program, const char *name);
uint32_t ir_program_find_variable(const struct ir_program *program, const char *name);

// The value that a PTX function address has: never a real code address, the same on every device
// and in every kernel of the program: IR_FUNCTION_ADDRESS(program function index).
#define IR_FUNCTION_ADDRESS(index) (0x7F10000000000000ull + 16ull * ((uint64_t)(index) + 1u))

// Parameters of an entry, from its declaration (no code is built).
int ir_entry_params(const struct ir_program *program, uint32_t function,
                    struct ir_param **ret_params /* malloc */, uint32_t *ret_count,
                    uint32_t *ret_size);

// Builds the unit of an entry and runs the pipeline. 0, or -1 with the place and the reason: an
// instruction that is parsed but not compiled, a missing definition, a type error.
int ir_unit_create(const struct ir_program *program, uint32_t entry, struct ir_unit **ret_unit,
                   struct ir_error *ret_error);
// The same in the warp form: one function that runs `lanes` (32, 16, 8) threads in step, for blocks
// of one row, or with rows of a multiple of the lanes; less than 32 only for kernels without warp
// operations. -1 also when the kernel has something that the form does not do; the message says
// what ("warp form: …"), and the one-lane form is to be used.
int ir_unit_create_warp(const struct ir_program *program, uint32_t entry, uint32_t lanes,
                        struct ir_unit **ret_unit, struct ir_error *ret_error);
struct ir_unit *ir_unit_destroy(struct ir_unit *unit);

// Printable form (dump switch `ir`), and the checks that run after every pass in debug builds:
// types and counts against ir_ops.def, targets, SSA dominance. Returns 0 or -1 with a message.
void ir_print(FILE *file, const struct ir_unit *unit);
int ir_verify(const struct ir_unit *unit, struct ir_error *ret_error);
