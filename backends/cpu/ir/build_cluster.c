// SPDX-License-Identifier: Apache-2.0
//
// Clusters of blocks: the barrier of a cluster, and addresses in the shared memory of another block
// of it (PTX ISA 9.7.9.23 mapa, 9.7.9.24 getctarank, 9.7.13.4 barrier.cluster). The barrier is one
// of the block's with a number of its own, so that it needs no operation of the IR.
#include "ir_internal.h"

#include "../kernel_abi.h"

void ir_build_cluster_barrier(struct ir_build *b)
{
    // The block driver runs all blocks of a cluster on one OS thread: every order is the strongest.
    ir_mod(b, PTX_MOD_release);
    ir_mod(b, PTX_MOD_relaxed);
    ir_mod(b, PTX_MOD_acquire);
    bool arrive = ir_mod(b, PTX_MOD_arrive);
    if (!arrive) {
        ir_mod(b, PTX_MOD_wait);
    }
    struct ir_inst *inst = ir_append(b, arrive ? IR_barrier_arrive : IR_barrier, IR_I32, 0, 2);
    inst->src[0] = ir_constant(EXEC_CLUSTER_BARRIER);
    inst->src[1] = ir_constant(0);
    inst->sub = EXEC_BAR_SYNC;
}

// The address is in the shared window or, without a space, generic.
static struct ir_inst *with_address(struct ir_build *b, enum ir_op op, unsigned sources)
{
    enum ptx_type type = ir_type_at(b, 0);
    bool generic = b->in->space != PTX_SPACE_SHARED_CLUSTER;
    if (generic && ptx_type_size(type) < 8) {
        ir_fail(b, "generic addresses of 32 bits are not compiled");
    }
    struct ir_operand address = ir_src(b, 1, type);
    struct ir_operand rank = sources > 1 ? ir_src(b, 2, PTX_U32) : ir_none();
    struct ir_inst *inst = ir_append(b, op, ir_reading(b, type).storage, 1, sources);
    inst->space = generic ? IR_GENERIC : IR_SHARED;
    inst->src[0] = address;
    if (sources > 1) {
        inst->src[1] = rank;
    }
    b->unit->uses_cluster = true;
    return inst;
}

void ir_build_mapa(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    struct ir_inst *inst = with_address(b, IR_mapa, 2);
    ir_dst(b, 0, type, ir_use(ir_result(b, inst, 0)));
}

void ir_build_getctarank(struct ir_build *b)
{
    struct ir_inst *inst = with_address(b, IR_ctarank, 1);
    ir_dst(b, 0, PTX_U32, ir_use(ir_result(b, inst, 0)));
}
