// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files of ir/ only: the builder's state, its small vocabulary for emitting
// operations, and the prototypes of the passes. A failure inside a build is ir_fail, which leaves
// by longjmp to ir_unit_create; all memory is in the unit's arena or the scratch arena, so nothing
// leaks.
#pragma once

#include <setjmp.h>

#include "ir.h"

// ---------------------------------------------------------------- pointer map (arena, no deletion)

struct ir_map {
    const void **keys;
    uint32_t *values;
    uint32_t count, capacity;
};

struct ir_build;
void ir_map_put(struct ir_build *b, struct ir_map *map, const void *key, uint32_t value);
bool ir_map_get(const struct ir_map *map, const void *key, uint32_t *ret_value);

// ---------------------------------------------------------------- builder

// Where a variable or parameter of a PTX function instance lives.
struct ir_place {
    enum ir_space space; // SLOT, PARAM_ENTRY, ARGUMENT or RETURN
    uint32_t index;      // slot
    uint32_t offset;     // in the block
    uint64_t size;
};

// One PTX function being built: the function itself, or a call that is inlined into it.
struct ir_instance {
    const struct ptx_function *ptx;
    uint32_t unit;
    uint32_t program_index;
    uint32_t *registers;      // value + 1 by PTX register index; 0 = not used yet
    struct ir_block **labels; // by label index
    struct ir_map variables;  // struct ptx_variable * -> place
    struct ir_place *places;
    uint32_t place_count, place_capacity;
    struct ir_block *leave; // inlined: where `ret` goes; NULL: a real return
    uint32_t carry;         // value + 1 of CC.CF, 0 = not used yet
    struct ir_instance *outer;
    const struct ir_loc *site; // inlined: of the call, or NULL
};

// What is known of a program function while a unit is built.
struct ir_callee {
    uint32_t position; // in unit->functions + 1; 0 = not called without inlining
    uint32_t *callees; // direct calls, program indices
    uint32_t callee_count;
    uint64_t size;       // statements with everything that would be inlined
    uint32_t order, low; // Tarjan
    bool visited, on_stack, cyclic, may_suspend;
};

struct ir_build {
    jmp_buf leave;
    struct ir_error *error;
    const struct ir_program *program;
    struct ir_unit *unit;
    struct ptx_arena *arena;   // of the unit
    struct ptx_arena *scratch; // dies with the build
    uint32_t function_capacity;
    struct ir_callee *callees; // by program function
    uint32_t *tarjan;
    uint32_t tarjan_count, tarjan_order;
    struct ir_map shared; // program variable (as pointer) -> 1: reachable

    // function being built or passed
    struct ir_function *fn;
    struct ir_block *block; // where operations go; NULL after a terminator
    struct ir_block **block_tail;
    uint32_t slot_capacity;
    uint64_t inlined; // statements so far
    uint32_t site;    // suspension points numbered so far, in the unit
    struct ir_instance *scope;

    // instruction being built
    const struct ptx_statement *statement;
    const struct ir_instance *statement_scope; // what it belongs to
    const struct ptx_instruction *in;
    struct { // the last ir_loc_now
        const struct ptx_loc *ptx;
        const struct ir_instance *scope;
        const struct ir_loc *loc;
    } known;
    uint32_t used;           // bits of modifiers that were looked at
    struct ir_operand guard; // predicate of a guarded operation built as select, or NONE
};

// Records the message with the current statement's line and text; does not return.
void ir_fail(struct ir_build *b, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));
void *ir_new(struct ir_build *b, size_t size);         // unit arena, zeroed
void *ir_new_scratch(struct ir_build *b, size_t size); // scratch arena, zeroed
// Array of `count` elements copied into twice the capacity when full.
void *ir_grow(struct ir_build *b, void *array, uint32_t *capacity, uint32_t count, size_t size);

// ---- ir_emit.c: values, blocks, operations
static inline struct ir_operand ir_none(void)
{
    return (struct ir_operand){.kind = IR_NONE};
}
static inline struct ir_operand ir_undef(void)
{
    return (struct ir_operand){.kind = IR_UNDEF};
}
static inline struct ir_operand ir_constant(uint64_t bits)
{
    return (struct ir_operand){.kind = IR_CONSTANT, .bits = bits};
}
static inline struct ir_operand ir_use(uint32_t value)
{
    return (struct ir_operand){.kind = IR_VALUE, .value = value};
}
uint32_t ir_value_new(struct ir_build *b, enum ir_type storage, const char *name);
void ir_value_like(struct ir_function *fn, uint32_t value, uint32_t model); // kind, stride, root
struct ir_block *ir_block_new(struct ir_build *b);               // not yet in the list
void ir_block_start(struct ir_build *b, struct ir_block *block); // append; falls through into it
struct ir_inst *ir_inst_new(struct ir_build *b, enum ir_op op, enum ir_type type,
                            unsigned dst_count, unsigned src_count);
struct ir_inst *ir_append(struct ir_build *b, enum ir_op op, enum ir_type type, unsigned dst_count,
                          unsigned src_count); // at the end of the current block
const struct ir_loc *ir_loc_now(struct ir_build *b); // of the current statement, or NULL
// The operation replaces, or belongs to, one of another place.
static inline void ir_same_place(struct ir_inst *inst, const struct ir_inst *other)
{
    inst->line = other->line;
    inst->unit = other->unit;
    inst->loc = other->loc;
}
void ir_insert_before(struct ir_block *block, struct ir_inst *where, struct ir_inst *inst);
void ir_insert_first(struct ir_block *block, struct ir_inst *inst); // behind the phis
void ir_remove(struct ir_block *block, struct ir_inst *inst);
uint32_t ir_result(struct ir_build *b, struct ir_inst *inst, unsigned n); // fresh value for dst n
struct ir_operand ir_op1(struct ir_build *b, enum ir_op op, enum ir_type type, uint32_t flags,
                         struct ir_operand x);
struct ir_operand ir_op2(struct ir_build *b, enum ir_op op, enum ir_type type, uint32_t flags,
                         struct ir_operand x, struct ir_operand y);
struct ir_operand ir_op3(struct ir_build *b, enum ir_op op, enum ir_type type, uint32_t flags,
                         struct ir_operand x, struct ir_operand y, struct ir_operand z);
struct ir_operand ir_setp(struct ir_build *b, enum ir_compare compare, enum ir_type type,
                          uint32_t flags, struct ir_operand x, struct ir_operand y);
// Between integer widths (storage types): truncates or extends.
struct ir_operand ir_resize(struct ir_build *b, struct ir_operand x, enum ir_type from,
                            enum ir_type to, bool sign);
void ir_pack_parts(struct ir_build *b, struct ir_operand x, enum ir_type storage, unsigned count,
                   struct ir_operand *ret_parts); // unpack
struct ir_operand ir_pack(struct ir_build *b, enum ir_type storage, unsigned count,
                          const struct ir_operand *parts);
void ir_br(struct ir_build *b, struct ir_block *target);
void ir_cbr(struct ir_build *b, struct ir_operand condition, struct ir_block *yes,
            struct ir_block *no);
void ir_trap(struct ir_build *b, const char *text);
enum ir_type ir_int(unsigned bits);
uint64_t ir_mask(enum ir_type storage);
bool ir_is_float(enum ir_type type);
unsigned ir_op_destinations(enum ir_op op); // 255: varies
unsigned ir_op_sources(enum ir_op op);
bool ir_suspends(const struct ir_function *fn, const struct ir_inst *inst); // pipeline.c
bool ir_removable(const struct ir_inst *inst); // may go when its results are unused

// ---- build.c: operands of PTX instructions
// How a PTX type is read: one number, or `lanes` numbers of type `type`.
struct ir_reading {
    enum ir_type type, storage; // storage of the whole
    bool sign;
    unsigned lanes;
};
struct ir_reading ir_reading(struct ir_build *b, enum ptx_type type);
bool ir_mod(struct ir_build *b, enum ptx_modifier modifier); // written? (marks it as looked at)
// The first of the 0-terminated list that is written, else `otherwise`.
enum ptx_modifier ir_mod_of(struct ir_build *b, const enum ptx_modifier *list,
                            enum ptx_modifier otherwise);
const struct ptx_operand *ir_operand_at(struct ir_build *b, unsigned n);
struct ir_operand ir_read(struct ir_build *b, const struct ptx_operand *operand,
                          enum ptx_type type);
struct ir_operand ir_src(struct ir_build *b, unsigned n, enum ptx_type type); // operand n
void ir_write(struct ir_build *b, const struct ptx_operand *operand, enum ptx_type type,
              struct ir_operand value);
void ir_dst(struct ir_build *b, unsigned n, enum ptx_type type, struct ir_operand value);
void ir_assign(struct ir_build *b, uint32_t target, struct ir_operand value);
bool ir_is_sink(const struct ptx_operand *operand);
struct ir_instance *ir_scope_new(struct ir_build *b, const struct ptx_function *ptx, uint32_t unit,
                                 uint32_t program_index);
uint32_t ir_register(struct ir_build *b, const struct ptx_symbol *symbol, unsigned component);
uint32_t ir_slot_new(struct ir_build *b, const char *name, uint64_t size, uint32_t align);
void ir_place_set(struct ir_build *b, struct ir_instance *scope,
                  const struct ptx_variable *variable, struct ir_place place);
bool ir_place_find(const struct ir_instance *scope, const struct ptx_variable *variable,
                   struct ir_place *ret_place);
void ir_build_body(struct ir_build *b); // statements of b->scope
void ir_build_function(struct ir_build *b, struct ir_function *fn);
struct ir_block *ir_label(struct ir_build *b, const struct ptx_symbol *symbol);
uint32_t ir_carry(struct ir_build *b);

// ---- build_arith.c: shared by families
enum ir_round ir_rounding(struct ir_build *b); // .rn .rz .rm .rp, else RN
uint32_t ir_flags(struct ir_build *b);         // .ftz .sat
enum ptx_type ir_type_at(struct ir_build *b, unsigned n);

// ---- build_memory.c
struct ir_address {
    enum ir_space space;
    bool has_base;
    struct ir_operand base;
    enum ir_type base_type;
    uint32_t index;
    int64_t offset;
};
struct ir_address ir_address(struct ir_build *b, const struct ptx_operand *operand,
                             enum ptx_space space);
// Address of a variable, function or parameter as a value of type I64.
struct ir_operand ir_symbol_address(struct ir_build *b, const struct ptx_symbol *symbol,
                                    int64_t offset);
enum ir_space ir_space_of(struct ir_build *b, enum ptx_space space);
struct ir_inst *ir_load(struct ir_build *b, const struct ir_address *address, enum ir_type type,
                        unsigned vector); // dst fresh values
struct ir_inst *ir_store(struct ir_build *b, const struct ir_address *address, enum ir_type type,
                         unsigned vector, const struct ir_operand *values);

// ---- build_call.c
void ir_analyse_calls(struct ir_build *b, uint32_t program_function);
uint32_t ir_unit_function(struct ir_build *b, uint32_t program_function); // position
void ir_layout_block(const struct ptx_variable *list, struct ir_param *params,
                     uint32_t *ret_size); // params may be NULL
void ir_bind_formals(struct ir_build *b); // of a called function that is not inlined
void ir_load_formals(struct ir_build *b); // .reg formals
void ir_build_ret(struct ir_build *b);

// ---- build_texture.c
bool ir_is_opaque(enum ptx_type type); // .texref .samplerref .surfref
// The object that an opaque variable or parameter holds now (I64).
struct ir_operand ir_image_object(struct ir_build *b, const struct ptx_symbol *symbol);

// Builders of instruction families, by opcode in build_table.c.
typedef void (*ir_builder)(struct ir_build *b);
struct ir_rule {
    ir_builder build;
    enum ir_op op;
    bool branch; // a guard becomes control flow (the operation has effects)
};
const struct ir_rule *ir_rule(enum ptx_opcode opcode);

#define IR_BUILDERS(X)                                                                             \
    X(arith)                                                                                       \
    X(addsub) X(mul) X(mad) X(mul24) X(sad) X(minmax) X(bits) X(dp) X(logic) X(shift) X(shf)       \
        X(prmt) X(bfe_bfi) X(lop3) X(cnot) X(setp) X(set) X(selp) X(slct) X(testp) X(copysign)     \
            X(approx) X(fma) X(cvt) X(mov) X(cvta) X(isspacep) X(ld) X(st) X(atom) X(fence)        \
            X(mapa) X(getctarank)                                                                  \
                X(nothing) X(createpolicy) X(bra) X(brx) X(call) X(ret) X(exit) X(trap) X(bar)     \
                    X(shfl) X(vote) X(match) X(redux) X(elect) X(activemask) X(nanosleep) X(stack) \
                        X(video) X(video_simd) X(cp) X(mbarrier) X(bfind) X(mask_op) X(fns)     \
                            X(tex) X(tld4) X(image_query) X(istypep) X(suld) X(sust) X(sured)
#define IR_BUILDER(name) void ir_build_##name(struct ir_build *b);
IR_BUILDERS(IR_BUILDER)
#undef IR_BUILDER
void ir_build_cluster_barrier(struct ir_build *b); // barrier.cluster (build_cluster.c)

// ---------------------------------------------------------------- passes (pipeline.c lists them)

void ir_pass_order(struct ir_build *b);    // reverse post-order, no unreachable blocks, edges
void ir_pass_promote(struct ir_build *b);  // slots whose address is not taken become values
void ir_pass_ssa(struct ir_build *b);      // one definition for each value
void ir_pass_simplify(struct ir_build *b); // folding, copies, dead code
void ir_pass_spin(struct ir_build *b);     // yields on the back-edges of loops that can spin
void ir_pass_loops(struct ir_build *b);    // depth of blocks
void ir_pass_split(struct ir_build *b);    // cuts blocks at suspension points
void ir_pass_liveness(struct ir_build *b); // live_in of blocks
void ir_pass_frame(struct ir_build *b);    // saves and loads around suspensions
void ir_pass_warp(struct ir_build *b);     // 32 lanes in step (warp form only)

// Immediate dominators by block number (number of the root's own: itself; a virtual root above
// the entry and all resume blocks has the number block_count).
struct ir_dominators {
    uint32_t *idom, *pre, *post; // pre/post: numbers of the dominator tree walk
    uint32_t *order;             // blocks in pre-order of the tree (without the virtual root)
    struct ir_block **blocks;    // by number
};
int ir_dominators(const struct ir_function *fn, struct ptx_arena *arena,
                  struct ir_dominators *ret_dominators);
bool ir_dominates(const struct ir_dominators *dominators, uint32_t a, uint32_t b);
int ir_verify_function(const struct ir_unit *unit, const struct ir_function *fn,
                       struct ir_error *ret_error);
