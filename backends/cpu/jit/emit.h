// SPDX-License-Identifier: Apache-2.0
//
// Shared state of the emitter (emit_*.c): IR unit -> one LLVM module. Each emit_*.c file handles a
// family of operations and defines one `bool emit_<family>(e, inst)` that returns false when the
// operation is not one of its own. A failure (something that this version does not compile) is
// recorded once by emit_fail and ends the compilation; emission may go on with undefined values.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <llvm-c/Core.h>

#include "../ir/ir.h"
#include "../kernel_abi.h"

// An IR value in LLVM form: its bit pattern, its floating-point form, or both (each is made from
// the other when first asked for). `dirty`: a NaN in `raw` may have any payload, so the bits are
// made with the canonical NaN (PTX hardware returns 0x7fffffff; x86 would return 0xffc00000).
struct emit_value {
    LLVMValueRef bits, raw;
    bool dirty;
    enum ir_type phi_type; // IR_F32/IR_F64: a phi that is kept in floating-point form
};

enum { EMIT_CTX_FIELDS = 48 };

// What an LLVM function may return to its caller (called functions; entries use exec_status).
enum { EMIT_RETURNED = 0, EMIT_SUSPENDED = 1, EMIT_EXITED = 2 };

// Bytes of host stack that the calls of one CUDA thread may use.
enum { EMIT_STACK_LIMIT = 256 * 1024 };
// Bytes of thread->frame and thread->local added when functions that suspend are recursive.
enum { EMIT_RECURSION = 32 * 1024 };
enum {
    EMIT_THREAD_PARAMS = 6,
    EMIT_BODY_FIELDS = 13,
    EMIT_BODY_PARAMS = EMIT_THREAD_PARAMS + EMIT_BODY_FIELDS,
    EMIT_FUNC_PARAMS = 11,
    EMIT_LANES = 32 // of the warp form, at most
};

// The types that code of one lane, or of each lane of a warp, is made of.
struct emit_types {
    LLVMTypeRef i1, i8, i16, i32, i64, i128, f16, f32, f64;
};

struct emit {
    const struct ir_unit *unit;
    bool f16c_host, outline_masked; // see struct emit_options
    LLVMContextRef cx;
    LLVMModuleRef module;
    LLVMBuilderRef b;  // where code goes
    LLVMBuilderRef pb; // prologue of the current function: values that hold for all of it
    LLVMTypeRef i1, i8, i16, i32, i64, i128, f16, f32, f64; // those of the mode
    LLVMTypeRef ptr, void_type;
    // Warp form: in vector mode the types above are vectors of `lanes`, constants are splats, and
    // operands are spread over the lanes, so that the families make code for 32 lanes.
    unsigned lanes; // 0 in the one-lane form
    bool vector;
    bool serial; // one lane after the other: operands are only those of the instruction
    struct emit_types modes[2]; // of one lane, of 32
    LLVMTypeRef helper_type;          // i64 (i64, i64, i64, i64)
    LLVMTypeRef body_type, func_type; // entry bodies, called functions
    unsigned md_invariant, md_range;
    LLVMValueRef *functions;           // by position in unit->functions
    uint64_t frame_total, local_total; // bytes of thread->frame and thread->local

    // Current function.
    const struct ir_function *fn;
    LLVMValueRef llvm_fn;
    LLVMValueRef ctx, thread, linear, tid[3];
    LLVMValueRef args, rets;   // called functions
    LLVMValueRef frame, local; // suspending functions: their parts of thread->frame, ->local
    LLVMValueRef stack_base;   // i64, for the depth check and isspacep.local
    LLVMValueRef fields[EMIT_CTX_FIELDS];
    uint32_t field_offsets[EMIT_CTX_FIELDS];
    unsigned field_count;
    struct emit_value *values;
    LLVMValueRef *slots;
    LLVMBasicBlockRef *blocks, *block_ends; // by block number

    struct emit_debug *debug; // NULL: the kernel's PTX tells no lines

    bool failed;
    char *message;
    size_t message_size;
};

// ---- emit_value.c: operands, results, small builders
void emit_fail(struct emit *e, const struct ir_inst *inst, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
LLVMTypeRef emit_int_type(struct emit *e, unsigned bits);
LLVMValueRef emit_int(struct emit *e, unsigned bits, uint64_t value); // constant, truncated
LLVMValueRef emit_f32(struct emit *e, double value);
LLVMValueRef emit_f64(struct emit *e, double value);
// Operand as an integer of ir_bits(type) bits (truncated or zero-extended from its storage).
LLVMValueRef emit_get(struct emit *e, const struct ir_operand *operand, unsigned bits);
// Operand as a number: IR_F32 -> float, IR_F64 -> double, IR_F16 and IR_BF16 -> float (exact).
LLVMValueRef emit_get_float(struct emit *e, const struct ir_operand *operand, enum ir_type type);
// Result `n` of inst as bits of its storage type.
void emit_set(struct emit *e, const struct ir_inst *inst, unsigned n, LLVMValueRef bits);
// Result 0 as a number; F16/BF16 take a float that is rounded to nearest even.
void emit_set_float(struct emit *e, const struct ir_inst *inst, LLVMValueRef number,
                    enum ir_type type);
void emit_set_raw(struct emit *e, uint32_t value, LLVMValueRef number, bool dirty);
LLVMValueRef emit_value_bits(struct emit *e, uint32_t value);
LLVMValueRef emit_value_raw(struct emit *e, uint32_t value, enum ir_type type);
// Number <-> bits of a small float without rounding questions left (input float).
LLVMValueRef emit_half_to_float(struct emit *e, LLVMValueRef bits16, enum ir_type type);
LLVMValueRef emit_float_to_half(struct emit *e, LLVMValueRef number, enum ir_type type);
// double -> float rounded to odd: a following rounding to a shorter format is then correct.
LLVMValueRef emit_round_odd(struct emit *e, LLVMValueRef number);
LLVMValueRef emit_intrinsic(struct emit *e, const char *name, LLVMTypeRef type, LLVMValueRef a,
                            LLVMValueRef b, LLVMValueRef c);
LLVMValueRef emit_cast(struct emit *e, LLVMValueRef value, LLVMTypeRef type); // bitcast
LLVMValueRef emit_resize(struct emit *e, LLVMValueRef value, unsigned bits, bool sign);
LLVMValueRef emit_select(struct emit *e, LLVMValueRef c, LLVMValueRef a, LLVMValueRef b);
LLVMBasicBlockRef emit_block(struct emit *e, const char *name);
unsigned emit_width(LLVMValueRef value); // bits of an integer value

// ---- emit_context.c: the running thread and block
// Field of exec_ctx, loaded once in the prologue (fields do not change while a block runs).
LLVMValueRef emit_ctx(struct emit *e, size_t offset, LLVMTypeRef type);
LLVMValueRef emit_runtime(struct emit *e, size_t offset); // function pointer of exec_runtime
// Load of memory that does not change while the kernel runs (parameters, symbol table).
LLVMValueRef emit_invariant_load(struct emit *e, LLVMTypeRef type, LLVMValueRef at, unsigned align);
// Call of helpers[index] (helpers.def), a pure function; operands are widened to i64 with zeros,
// NULL is 0.
LLVMValueRef emit_helper(struct emit *e, unsigned index, LLVMValueRef a, LLVMValueRef b,
                         LLVMValueRef c, uint64_t mode);
LLVMValueRef emit_helper_call(struct emit *e, LLVMValueRef fn, LLVMValueRef *args); // 4 of i64
void emit_trap(struct emit *e, const char *reason); // call of rt->trap, then unreachable
LLVMValueRef emit_global_text(struct emit *e, const char *text);
LLVMValueRef emit_gep(struct emit *e, LLVMValueRef base, uint64_t offset);
LLVMValueRef emit_load(struct emit *e, LLVMTypeRef type, LLVMValueRef base, uint64_t offset,
                       unsigned align);
LLVMValueRef emit_store(struct emit *e, LLVMValueRef value, LLVMValueRef base, uint64_t offset,
                        unsigned align);
void emit_set_attribute(struct emit *e, LLVMValueRef fn, unsigned index, const char *name,
                        uint64_t value);
void emit_set_string_attribute(struct emit *e, LLVMValueRef fn, const char *name,
                               const char *value);
bool emit_sreg(struct emit *e, const struct ir_inst *inst);

// ---- warp form. warp.c: modes, values of 32 lanes; warp_memory.c; warp_masked.c;
// warp_ops.c
void warp_init_types(struct emit *e);
bool warp_mode(struct emit *e, bool vector); // returns the old mode
bool warp_is_varying(const struct emit *e, const struct ir_operand *operand);
// Bits of a value that the lanes have in common (or of lane 0, affine), spread over the lanes.
LLVMValueRef warp_spread(struct emit *e, uint32_t value);
LLVMValueRef warp_splat(struct emit *e, LLVMValueRef scalar);
LLVMValueRef warp_steps(struct emit *e, unsigned bits, int64_t stride); // 0, stride, 2 * stride …
LLVMValueRef warp_mask_bits(struct emit *e, LLVMValueRef predicates); // <32 x i1> -> i32
LLVMValueRef warp_mask_lanes(struct emit *e, LLVMValueRef bits);      // i32 -> <32 x i1>
// For a masked instruction: the mask (scalar i32), and whether it is known to be all lanes.
LLVMValueRef warp_mask(struct emit *e, const struct ir_inst *inst, bool *ret_all);
// Performs the operation for one lane after the other of the mask, by the families of one lane.
void warp_serial(struct emit *e, const struct ir_inst *inst, LLVMValueRef mask);
// The same for one lane of the mask only, the highest.
void warp_last_lane(struct emit *e, const struct ir_inst *inst, LLVMValueRef mask);
void warp_instruction(struct emit *e, const struct ir_inst *inst);
LLVMValueRef warp_helper(struct emit *e, LLVMValueRef fn, LLVMValueRef *args);
// Masked access of a vector at one address, or of each element at its own (`at` a vector).
// Elements of lanes that are missing read as 0.
LLVMValueRef warp_masked_load(struct emit *e, LLVMTypeRef vector, LLVMValueRef at, unsigned align,
                              LLVMValueRef mask);
void warp_masked_store(struct emit *e, LLVMValueRef value, LLVMValueRef at, unsigned align,
                       LLVMValueRef mask);
bool warp_memory(struct emit *e, const struct ir_inst *inst);
bool warp_operation(struct emit *e, const struct ir_inst *inst);
void emit_one(struct emit *e, const struct ir_inst *inst); // emit.c: one operation by its family

// ---- families
bool emit_integer(struct emit *e, const struct ir_inst *inst); // emit_int.c
bool emit_bits(struct emit *e, const struct ir_inst *inst);    // emit_bits.c
bool emit_float(struct emit *e, const struct ir_inst *inst);   // emit_float.c
bool emit_approx(struct emit *e, const struct ir_inst *inst);  // emit_approx.c
bool emit_compare(struct emit *e, const struct ir_inst *inst); // emit_compare.c
bool emit_convert(struct emit *e, const struct ir_inst *inst); // emit_cvt.c
bool emit_memory(struct emit *e, const struct ir_inst *inst);  // emit_mem.c
bool emit_atomic(struct emit *e, const struct ir_inst *inst);  // emit_atomic.c
bool emit_call(struct emit *e, const struct ir_inst *inst);    // emit_call.c
bool emit_texture(struct emit *e, const struct ir_inst *inst); // emit_texture.c
bool emit_cluster(struct emit *e, const struct ir_inst *inst); // emit_cluster.c

// Where the block's window begins in the shared address space (emit_cluster.c).
LLVMValueRef emit_shared_origin(struct emit *e, unsigned bits);

// emit_float.c, for atomics and conversions: flush subnormal float/double keeping the sign;
// arithmetic on two numbers of a type as the PTX instruction does it (round to nearest even).
LLVMValueRef emit_flush(struct emit *e, LLVMValueRef number);
// The same for a float that stands for a value of `type` (f16 has a larger smallest normal).
LLVMValueRef emit_flush_as(struct emit *e, LLVMValueRef number, enum ir_type type);
LLVMValueRef emit_saturate(struct emit *e, LLVMValueRef number);
LLVMValueRef emit_relu(struct emit *e, LLVMValueRef number); // negative -> +0, NaN stays
LLVMValueRef emit_min_max(struct emit *e, LLVMValueRef a, LLVMValueRef b, bool max, bool nan);
bool emit_is_float(enum ir_type type);

// emit_mem.c: pointer to address `operand` (NULL: none) + inst->offset in the space of inst.
LLVMValueRef emit_address(struct emit *e, const struct ir_inst *inst,
                          const struct ir_operand *operand);
LLVMValueRef emit_shared_pointer(struct emit *e, LLVMValueRef offset); // scalar, of a window offset
LLVMTypeRef emit_element_type(struct emit *e, enum ir_type type);      // of memory
unsigned emit_element_align(const struct ir_inst *inst);
LLVMValueRef emit_block_pointer(struct emit *e, enum ir_space space); // PARAM_ENTRY …
LLVMValueRef emit_stack_used(struct emit *e); // bytes of host stack since the entry, i64

// ---- emit_debug.c: positions in the source. All but `begin` do nothing without e->debug.
void emit_debug_begin(struct emit *e);
// The builders are at the start of `llvm_fn`, which debuggers are to call `name` (mangled).
void emit_debug_function(struct emit *e, LLVMValueRef llvm_fn, const struct ir_function *fn,
                         const char *name);
// What e->b makes from now on belongs to the operation (NULL: to none).
void emit_debug_at(struct emit *e, const struct ir_inst *inst);
void emit_debug_end(struct emit *e); // the module is complete, or given up

// ---- emit.c
struct emit_options {
    bool f16c;           // the host converts halves (else integer sequences are emitted)
    bool outline_masked; // masked accesses are functions of the module (warp_masked.c)
};
struct emit_result {
    bool has_block;
    uint32_t frame_size; // bytes of thread->frame
    uint64_t local_size; // bytes of thread->local
    size_t instructions; // LLVM instructions, for the choice of the pipeline
};
// Makes the module of a unit: function "thread", and "block" when nothing suspends. 0, or -1 with
// one line in message. The caller disposes of module and context.
int emit_unit(const struct ir_unit *unit, const struct emit_options *options, LLVMContextRef cx,
              LLVMModuleRef module, struct emit_result *ret_result, char *message,
              size_t message_size);
