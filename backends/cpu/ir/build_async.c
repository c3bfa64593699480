// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous copies and mbarrier objects in one-lane form. A cp.async is done at once, so waiting
// for it is an ordering question only. An mbarrier is a 64-bit word in shared memory that only
// threads of its block touch, one at a time, so plain loads and stores update it:
//   bits 0-19 arrivals still pending, 20-39 arrivals expected in a phase, 40-60 bytes still
//   expected (signed), 61-63 number of the phase modulo 8.
// A wait compares the phase in the word with the phase of its token or parity.
#include "ir_internal.h"

enum { EXPECTED_SHIFT = 20, BYTES_SHIFT = 40, PHASE_SHIFT = 61, COUNT_BITS = 20, BYTES_BITS = 21 };

static struct ir_operand add64(struct ir_build *b, struct ir_operand x, struct ir_operand y)
{
    return ir_op2(b, IR_add, IR_I64, 0, x, y);
}

static struct ir_operand shift(struct ir_build *b, enum ir_op op, struct ir_operand x, unsigned by)
{
    return ir_op2(b, op, IR_I64, 0, x, ir_constant(by));
}

static struct ir_operand field(struct ir_build *b, struct ir_operand state, unsigned at,
                               unsigned bits)
{
    struct ir_operand x = at == 0 ? state : shift(b, IR_shr, state, at);
    return ir_op2(b, IR_and, IR_I64, 0, x, ir_constant((UINT64_C(1) << bits) - 1));
}

static struct ir_operand load_state(struct ir_build *b, const struct ir_address *address)
{
    struct ir_inst *inst = ir_load(b, address, IR_I64, 1);
    inst->order = IR_VOLATILE;
    return ir_use(inst->dst[0]);
}

static void store_state(struct ir_build *b, const struct ir_address *address,
                        struct ir_operand state)
{
    ir_store(b, address, IR_I64, 1, &state)->order = IR_VOLATILE;
}

// Next phase when nothing is pending any more: arrivals = expected, phase + 1 (wraps at the top).
static struct ir_operand complete(struct ir_build *b, struct ir_operand state)
{
    struct ir_operand bytes = field(b, state, BYTES_SHIFT, BYTES_BITS);
    struct ir_operand open = ir_op2(b, IR_or, IR_I64, 0, field(b, state, 0, COUNT_BITS), bytes);
    struct ir_operand done = ir_setp(b, IR_EQ, IR_I64, 0, open, ir_constant(0));
    struct ir_operand next = add64(b, state, field(b, state, EXPECTED_SHIFT, COUNT_BITS));
    next = add64(b, next, ir_constant(UINT64_C(1) << PHASE_SHIFT));
    return ir_op3(b, IR_select, IR_I64, 0, next, state, done);
}

static struct ir_operand count_operand(struct ir_build *b, unsigned n)
{
    if (ir_operand_at(b, n)->kind == PTX_OPERAND_NONE) {
        return ir_constant(1);
    }
    return ir_resize(b, ir_src(b, n, PTX_U32), IR_I32, IR_I64, false);
}

// Adds to the bytes field without a carry into the phase.
static struct ir_operand add_bytes(struct ir_build *b, struct ir_operand state,
                                   struct ir_operand bytes, enum ir_op op)
{
    struct ir_operand old = field(b, state, BYTES_SHIFT, BYTES_BITS);
    struct ir_operand sum = field(b, ir_op2(b, op, IR_I64, 0, old, bytes), 0, BYTES_BITS);
    uint64_t mask = ((UINT64_C(1) << BYTES_BITS) - 1) << BYTES_SHIFT;
    struct ir_operand rest = ir_op2(b, IR_and, IR_I64, 0, state, ir_constant(~mask));
    return ir_op2(b, IR_or, IR_I64, 0, rest, shift(b, IR_shl, sum, BYTES_SHIFT));
}

static struct ir_address barrier_address(struct ir_build *b, unsigned n)
{
    return ir_address(b, ir_operand_at(b, n), b->in->space);
}

static void build_arrive(struct ir_build *b, bool drop)
{
    bool expect = ir_mod(b, PTX_MOD_expect_tx);
    ir_mod(b, PTX_MOD_noComplete); // the program promises that this does not end the phase
    struct ir_address address = barrier_address(b, 1);
    struct ir_operand second = count_operand(b, 2);
    struct ir_operand old = load_state(b, &address), state = old;
    struct ir_operand count = expect ? ir_constant(1) : second;
    if (expect) {
        state = add_bytes(b, state, second, IR_add);
    }
    state = ir_op2(b, IR_sub, IR_I64, 0, state, count);
    if (drop) {
        state = ir_op2(b, IR_sub, IR_I64, 0, state, shift(b, IR_shl, count, EXPECTED_SHIFT));
    }
    store_state(b, &address, complete(b, state));
    ir_dst(b, 0, PTX_B64, old);
}

static void build_wait(struct ir_build *b)
{
    struct ir_address address = barrier_address(b, 1);
    struct ir_operand state = load_state(b, &address);
    struct ir_operand phase = shift(b, IR_shr, state, PHASE_SHIFT), done;
    if (ir_mod(b, PTX_MOD_parity)) { // is the phase with this parity over?
        struct ir_operand parity = ir_resize(b, ir_src(b, 2, PTX_U32), IR_I32, IR_I64, false);
        struct ir_operand differs = ir_op2(
            b, IR_and, IR_I64, 0, ir_op2(b, IR_xor, IR_I64, 0, phase, parity), ir_constant(1));
        done = ir_setp(b, IR_NE, IR_I64, 0, differs, ir_constant(0));
    } else {
        struct ir_operand token = shift(b, IR_shr, ir_src(b, 2, PTX_B64), PHASE_SHIFT);
        done = ir_setp(b, IR_NE, IR_I64, 0, phase, token);
    }
    ir_dst(b, 0, PTX_PRED, done);
}

void ir_build_mbarrier(struct ir_build *b)
{
    static const enum ptx_modifier orders[] = {PTX_MOD_release, PTX_MOD_relaxed, PTX_MOD_acquire,
                                               PTX_MOD_cta,     PTX_MOD_cluster, PTX_MOD_INVALID};
    for (unsigned i = 0; orders[i] != PTX_MOD_INVALID; i++) {
        ir_mod(b, orders[i]); // threads of one block run one at a time
    }
    if (ir_mod(b, PTX_MOD_init)) {
        struct ir_address address = barrier_address(b, 0);
        struct ir_operand count = count_operand(b, 1);
        struct ir_operand state = add64(b, count, shift(b, IR_shl, count, EXPECTED_SHIFT));
        store_state(b, &address, state);
    } else if (ir_mod(b, PTX_MOD_inval)) {
        struct ir_address address = barrier_address(b, 0);
        store_state(b, &address, ir_constant(0));
    } else if (ir_mod(b, PTX_MOD_arrive)) {
        build_arrive(b, false);
    } else if (ir_mod(b, PTX_MOD_arrive_drop)) {
        build_arrive(b, true);
    } else if (ir_mod(b, PTX_MOD_expect_tx) || ir_mod(b, PTX_MOD_complete_tx)) {
        bool expect = ir_mod(b, PTX_MOD_expect_tx);
        ir_mod(b, PTX_MOD_complete_tx);
        struct ir_address address = barrier_address(b, 0);
        struct ir_operand bytes = count_operand(b, 1);
        struct ir_operand state =
            add_bytes(b, load_state(b, &address), bytes, expect ? IR_add : IR_sub);
        store_state(b, &address, expect ? state : complete(b, state));
    } else if (ir_mod(b, PTX_MOD_test_wait) || ir_mod(b, PTX_MOD_try_wait)) {
        build_wait(b);
    } else if (ir_mod(b, PTX_MOD_pending_count)) {
        struct ir_operand count = field(b, ir_src(b, 1, PTX_B64), 0, COUNT_BITS);
        ir_dst(b, 0, PTX_U32, ir_resize(b, count, IR_I64, IR_I32, false));
    } else {
        ir_fail(b, "this form of mbarrier is not compiled by this version");
    }
}

// ---------------------------------------------------------------- cp.async

// Copies `size` bytes, of which only the first `valid` are read; the others become zero.
static void copy_partial(struct ir_build *b, const struct ir_address *to,
                         const struct ir_address *from, unsigned size, struct ir_operand valid)
{
    for (unsigned i = 0; i < size; i++) {
        struct ir_address source = *from, target = *to;
        source.offset += i;
        target.offset += i;
        struct ir_block *read = ir_block_new(b), *zero = ir_block_new(b), *join = ir_block_new(b);
        struct ir_operand in = ir_setp(b, IR_GT, IR_I32, 0, valid, ir_constant(i));
        ir_cbr(b, in, read, zero);
        ir_block_start(b, read);
        struct ir_operand x = ir_use(ir_load(b, &source, IR_I8, 1)->dst[0]);
        ir_store(b, &target, IR_I8, 1, &x);
        ir_br(b, join);
        ir_block_start(b, zero);
        x = ir_constant(0);
        ir_store(b, &target, IR_I8, 1, &x);
        ir_block_start(b, join);
    }
}

static void copy_whole(struct ir_build *b, const struct ir_address *to,
                       const struct ir_address *from, unsigned size)
{
    enum ir_type type = size == 4 ? IR_I32 : IR_I64;
    unsigned vector = size == 16 ? 2 : 1;
    struct ir_inst *load = ir_load(b, from, type, vector);
    struct ir_operand values[2];
    for (unsigned i = 0; i < vector; i++) {
        values[i] = ir_use(load->dst[i]);
    }
    ir_store(b, to, type, vector, values);
}

static bool is_policy(const struct ptx_operand *operand)
{
    return operand->kind == PTX_OPERAND_SYMBOL && operand->symbol->kind == PTX_SYMBOL_REGISTER &&
           ptx_type_size(operand->symbol->type) == 8;
}

static void build_copy(struct ir_build *b)
{
    struct ir_address to = ir_address(b, ir_operand_at(b, 0), PTX_SPACE_SHARED);
    struct ir_address from = ir_address(b, ir_operand_at(b, 1), PTX_SPACE_GLOBAL);
    const struct ptx_operand *size = ir_operand_at(b, 2), *third = ir_operand_at(b, 3);
    ir_mod(b, PTX_MOD_ca);
    ir_mod(b, PTX_MOD_cg);
    if (size->kind != PTX_OPERAND_IMM_INT ||
        (size->integer != 4 && size->integer != 8 && size->integer != 16)) {
        ir_fail(b, "cp.async of a size that is not 4, 8 or 16");
    }
    unsigned bytes = (unsigned)size->integer;
    if (third->kind == PTX_OPERAND_NONE || is_policy(third)) {
        copy_whole(b, &to, &from, bytes);
        return;
    }
    // A predicate says "ignore the source", a number how many bytes of it are read.
    bool ignore = third->kind == PTX_OPERAND_SYMBOL && third->symbol->kind == PTX_SYMBOL_REGISTER &&
                  third->symbol->type == PTX_PRED;
    struct ir_operand valid = ignore ? ir_op3(b, IR_select, IR_I32, 0, ir_constant(0),
                                              ir_constant(bytes), ir_src(b, 3, PTX_PRED))
                                     : ir_src(b, 3, PTX_U32);
    struct ir_block *whole = ir_block_new(b), *part = ir_block_new(b), *join = ir_block_new(b);
    ir_cbr(b, ir_setp(b, IR_GE, IR_I32, 0, valid, ir_constant(bytes)), whole, part);
    ir_block_start(b, whole);
    copy_whole(b, &to, &from, bytes);
    ir_br(b, join);
    ir_block_start(b, part);
    copy_partial(b, &to, &from, bytes, valid);
    ir_block_start(b, join);
}

void ir_build_cp(struct ir_build *b)
{
    if (ir_mod(b, PTX_MOD_bulk) || !ir_mod(b, PTX_MOD_async) || ir_mod(b, PTX_MOD_reduce)) {
        ir_fail(b, "instruction 'cp.async.bulk' is not compiled by this version");
    }
    if (ir_mod(b, PTX_MOD_commit_group) || ir_mod(b, PTX_MOD_wait_group) ||
        ir_mod(b, PTX_MOD_wait_all)) {
        return; // every copy is done already
    }
    if (ir_mod(b, PTX_MOD_mbarrier)) {
        ir_mod(b, PTX_MOD_arrive);
        if (!ir_mod(b, PTX_MOD_noinc)) {
            return; // one more pending arrival and this arrival
        }
        struct ir_address address = ir_address(b, ir_operand_at(b, 0), PTX_SPACE_SHARED);
        struct ir_operand state =
            ir_op2(b, IR_sub, IR_I64, 0, load_state(b, &address), ir_constant(1));
        store_state(b, &address, complete(b, state));
        return;
    }
    build_copy(b);
}
