// SPDX-License-Identifier: Apache-2.0
//
// What threads do together: barriers, shuffles, votes, match, redux, elect, activemask; and the
// operations that wait or manage the stack.
#include "ir_internal.h"

#include "../kernel_abi.h"

static struct ir_inst *with_sources(struct ir_build *b, enum ir_op op, enum ir_type type,
                                    unsigned dst_count, unsigned src_count,
                                    const struct ir_operand *sources)
{
    struct ir_inst *inst = ir_append(b, op, type, dst_count, src_count);
    for (unsigned i = 0; i < src_count; i++) {
        inst->src[i] = sources[i];
    }
    return inst;
}

static const struct ptx_operand *pair(const struct ptx_operand *operand, unsigned n)
{
    static const struct ptx_operand none = {.kind = PTX_OPERAND_NONE};
    if (operand->kind != PTX_OPERAND_PAIR) {
        return n == 0 ? operand : &none;
    }
    return n < operand->count ? &operand->elements[n] : &none;
}

// Value and predicate destinations; the predicate first, so that it is still the last operation.
static void write_pair(struct ir_build *b, struct ir_inst *inst, enum ptx_type type)
{
    const struct ptx_operand *destination = ir_operand_at(b, 0);
    struct ir_operand value = ir_use(inst->dst[0]);
    struct ir_operand predicate = inst->dst_count > 1 ? ir_use(inst->dst[1]) : ir_none();
    ir_write(b, pair(destination, 0), type, value);
    if (inst->dst_count > 1) {
        ir_write(b, pair(destination, 1), PTX_PRED, predicate);
    }
}

// ---------------------------------------------------------------- barriers

void ir_build_bar(struct ir_build *b)
{
    ir_mod(b, PTX_MOD_cta);
    ir_mod(b, PTX_MOD_aligned);
    if (ir_mod(b, PTX_MOD_cluster)) {
        ir_build_cluster_barrier(b);
        return;
    }
    if (ir_mod(b, PTX_MOD_warp)) {
        struct ir_operand mask = ir_src(b, 0, PTX_B32);
        with_sources(b, IR_warp_sync, IR_I32, 0, 1, &mask);
        return;
    }
    bool red = ir_mod(b, PTX_MOD_red);
    unsigned at = red ? 1 : 0;
    struct ir_operand sources[3] = {ir_src(b, at, PTX_U32), ir_constant(0), ir_none()};
    // bar.red d, a {, b}, p: the optional count may be left out or be missing in between.
    bool counted = red ? ir_operand_at(b, 3)->kind != PTX_OPERAND_NONE &&
                             ir_operand_at(b, 2)->kind != PTX_OPERAND_NONE
                       : ir_operand_at(b, at + 1)->kind != PTX_OPERAND_NONE;
    if (counted) {
        sources[1] = ir_src(b, at + 1, PTX_U32);
    }
    if (ir_mod(b, PTX_MOD_arrive)) {
        with_sources(b, IR_barrier_arrive, IR_I32, 0, 2, sources);
        return;
    }
    if (!red) {
        with_sources(b, IR_barrier, IR_I32, 0, 2, sources)->sub = EXEC_BAR_SYNC;
        return;
    }
    sources[2] = ir_src(b, ir_operand_at(b, 3)->kind != PTX_OPERAND_NONE ? 3 : 2, PTX_PRED);
    unsigned op = ir_mod(b, PTX_MOD_and)  ? EXEC_BAR_RED_AND
                  : ir_mod(b, PTX_MOD_or) ? EXEC_BAR_RED_OR
                                          : (ir_mod(b, PTX_MOD_popc), EXEC_BAR_RED_POPC);
    bool popc = op == EXEC_BAR_RED_POPC;
    struct ir_inst *inst = with_sources(b, IR_barrier, popc ? IR_I32 : IR_I1, 1, 3, sources);
    inst->sub = (uint8_t)op;
    ir_dst(b, 0, popc ? PTX_U32 : PTX_PRED, ir_use(ir_result(b, inst, 0)));
}

// ---------------------------------------------------------------- warp operations

void ir_build_shfl(struct ir_build *b)
{
    bool sync = ir_mod(b, PTX_MOD_sync);
    unsigned op = ir_mod(b, PTX_MOD_up)     ? EXEC_SHFL_UP
                  : ir_mod(b, PTX_MOD_down) ? EXEC_SHFL_DOWN
                  : ir_mod(b, PTX_MOD_bfly) ? EXEC_SHFL_BFLY
                                            : (ir_mod(b, PTX_MOD_idx), EXEC_SHFL_IDX);
    struct ir_operand sources[4] = {ir_src(b, 1, PTX_B32), ir_src(b, 2, PTX_B32),
                                    ir_src(b, 3, PTX_B32),
                                    sync ? ir_src(b, 4, PTX_B32) : ir_none()};
    bool predicate = !ir_is_sink(pair(ir_operand_at(b, 0), 1));
    struct ir_inst *inst = with_sources(b, sync ? IR_shfl : IR_shfl_old, IR_I32, predicate ? 2 : 1,
                                        sync ? 4 : 3, sources);
    inst->sub = (uint8_t)op;
    for (unsigned i = 0; i < inst->dst_count; i++) {
        ir_result(b, inst, i);
    }
    write_pair(b, inst, PTX_B32);
}

void ir_build_vote(struct ir_build *b)
{
    bool sync = ir_mod(b, PTX_MOD_sync);
    unsigned op = ir_mod(b, PTX_MOD_all)   ? EXEC_VOTE_ALL
                  : ir_mod(b, PTX_MOD_any) ? EXEC_VOTE_ANY
                  : ir_mod(b, PTX_MOD_uni) ? EXEC_VOTE_UNI
                                           : (ir_mod(b, PTX_MOD_ballot), EXEC_VOTE_BALLOT);
    struct ir_operand sources[2] = {ir_src(b, 1, PTX_PRED),
                                    sync ? ir_src(b, 2, PTX_B32) : ir_none()};
    bool ballot = op == EXEC_VOTE_BALLOT;
    struct ir_inst *inst = with_sources(b, sync ? IR_vote : IR_vote_old, ballot ? IR_I32 : IR_I1, 1,
                                        sync ? 2 : 1, sources);
    inst->sub = (uint8_t)op;
    ir_dst(b, 0, ballot ? PTX_B32 : PTX_PRED, ir_use(ir_result(b, inst, 0)));
}

void ir_build_match(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    ir_mod(b, PTX_MOD_sync);
    bool all = ir_mod(b, PTX_MOD_all);
    ir_mod(b, PTX_MOD_any);
    struct ir_operand sources[2] = {ir_src(b, 1, type), ir_src(b, 2, PTX_B32)};
    bool predicate = all && !ir_is_sink(pair(ir_operand_at(b, 0), 1));
    struct ir_inst *inst =
        with_sources(b, IR_match, ir_reading(b, type).storage, predicate ? 2 : 1, 2, sources);
    inst->sub = all;
    for (unsigned i = 0; i < inst->dst_count; i++) {
        ir_result(b, inst, i);
    }
    write_pair(b, inst, PTX_B32);
}

void ir_build_redux(struct ir_build *b)
{
    static const struct {
        enum ptx_modifier modifier;
        uint8_t is_unsigned, is_signed;
    } table[] = {
        {PTX_MOD_add, EXEC_REDUX_ADD, EXEC_REDUX_ADD},
        {PTX_MOD_min, EXEC_REDUX_MIN_U, EXEC_REDUX_MIN_S},
        {PTX_MOD_max, EXEC_REDUX_MAX_U, EXEC_REDUX_MAX_S},
        {PTX_MOD_and, EXEC_REDUX_AND, EXEC_REDUX_AND},
        {PTX_MOD_or, EXEC_REDUX_OR, EXEC_REDUX_OR},
        {PTX_MOD_xor, EXEC_REDUX_XOR, EXEC_REDUX_XOR},
    };
    enum ptx_type type = ir_type_at(b, 0);
    ir_mod(b, PTX_MOD_sync);
    unsigned op = 0;
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (ir_mod(b, table[i].modifier)) {
            op = type == PTX_S32 ? table[i].is_signed : table[i].is_unsigned;
        }
    }
    if (type == PTX_F32) {
        bool max = op == EXEC_REDUX_MAX_U;
        op = max ? EXEC_REDUX_MAX_F : EXEC_REDUX_MIN_F;
        op += ir_mod(b, PTX_MOD_abs) ? EXEC_REDUX_MIN_F_ABS - EXEC_REDUX_MIN_F : 0;
        op += ir_mod(b, PTX_MOD_NaN) ? EXEC_REDUX_MIN_F_NAN - EXEC_REDUX_MIN_F : 0;
    }
    struct ir_operand sources[2] = {ir_src(b, 1, type), ir_src(b, 2, PTX_B32)};
    struct ir_inst *inst = with_sources(b, IR_redux, IR_I32, 1, 2, sources);
    inst->sub = (uint8_t)op;
    ir_dst(b, 0, type, ir_use(ir_result(b, inst, 0)));
}

void ir_build_elect(struct ir_build *b)
{
    ir_mod(b, PTX_MOD_sync);
    struct ir_operand mask = ir_src(b, 1, PTX_B32);
    struct ir_inst *inst = with_sources(b, IR_elect, IR_I32, 2, 1, &mask);
    ir_result(b, inst, 0);
    ir_result(b, inst, 1);
    write_pair(b, inst, PTX_B32);
}

void ir_build_activemask(struct ir_build *b)
{
    struct ir_inst *inst = ir_append(b, IR_activemask, IR_I32, 1, 0);
    ir_dst(b, 0, PTX_B32, ir_use(ir_result(b, inst, 0)));
}

// ---------------------------------------------------------------- waiting, stack

void ir_build_nanosleep(struct ir_build *b)
{
    struct ir_operand time = ir_src(b, 0, PTX_U32);
    with_sources(b, IR_nanosleep, IR_I32, 0, 1, &time);
}

void ir_build_stack(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    if (type != PTX_U64) {
        ir_fail(b, "stack addresses of 32 bits are not compiled");
    }
    if (b->in->opcode == PTX_OP_stacksave) {
        struct ir_inst *inst = ir_append(b, IR_stacksave, IR_I64, 1, 0);
        ir_dst(b, 0, type, ir_use(ir_result(b, inst, 0)));
    } else if (b->in->opcode == PTX_OP_stackrestore) {
        struct ir_operand x = ir_src(b, 0, type);
        with_sources(b, IR_stackrestore, IR_I64, 0, 1, &x);
    } else {
        const struct ptx_operand *align = ir_operand_at(b, 2);
        struct ir_operand x = ir_op1(b, IR_alloca, IR_I64, 0, ir_src(b, 1, type));
        b->block->last->offset = align->kind == PTX_OPERAND_IMM_INT ? (int64_t)align->integer : 8;
        ir_dst(b, 0, type, x);
    }
}
