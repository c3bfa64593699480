// SPDX-License-Identifier: Apache-2.0
//
// Addresses in the shared memory of the blocks of a cluster. The windows of all blocks lie in one
// mapping, `shared_stride` bytes from one to the next; with such instructions in a kernel the
// shared address space is that mapping (exec_ctx.shared is its start) and the block's own window
// begins at `shared_origin`.
#include "emit.h"

#include <stddef.h>

static LLVMValueRef stride(struct emit *e, unsigned bits)
{
    return emit_resize(e, emit_ctx(e, offsetof(struct exec_ctx, shared_stride), e->i32), bits,
                       false);
}

LLVMValueRef emit_shared_origin(struct emit *e, unsigned bits)
{
    return emit_resize(e, emit_ctx(e, offsetof(struct exec_ctx, shared_origin), e->i32), bits,
                       false);
}

bool emit_cluster(struct emit *e, const struct ir_inst *inst)
{
    if (inst->op != IR_mapa && inst->op != IR_ctarank) {
        return false;
    }
    unsigned bits = ir_bits(inst->type);
    LLVMValueRef address = emit_get(e, &inst->src[0], bits);
    LLVMValueRef base = NULL;
    if (inst->space != IR_SHARED) { // generic: 64 bits
        LLVMValueRef start = emit_ctx(e, offsetof(struct exec_ctx, shared), e->ptr);
        base = LLVMBuildPtrToInt(e->b, start, e->i64, "");
        address = LLVMBuildSub(e->b, address, base, "");
    }
    LLVMValueRef step = stride(e, bits);
    if (inst->op == IR_ctarank) {
        LLVMValueRef rank = LLVMBuildUDiv(e->b, address, step, "");
        emit_set(e, inst, 0, emit_resize(e, rank, 32, false));
        return true;
    }
    LLVMValueRef rank = emit_resize(e, emit_get(e, &inst->src[1], 32), bits, false);
    LLVMValueRef inside = LLVMBuildURem(e->b, address, step, "");
    LLVMValueRef mapped = LLVMBuildAdd(e->b, inside, LLVMBuildMul(e->b, rank, step, ""), "");
    emit_set(e, inst, 0, base ? LLVMBuildAdd(e->b, mapped, base, "") : mapped);
    return true;
}
