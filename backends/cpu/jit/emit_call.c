// SPDX-License-Identifier: Apache-2.0
//
// Calls and suspension. A called function is
//   i32 f(ctx, thread, linear, tid.x, tid.y, tid.z, args, rets, frame, local, stack_base)
// and returns EMIT_RETURNED, EMIT_SUSPENDED (make the same call again after the request is served)
// or EMIT_EXITED (the CUDA thread is gone). frame and local are the function's own parts of
// thread->frame and thread->local; they are undefined where it does not suspend. Recursion is
// bounded on the host stack (stack_base) and in both memories; running out is a trap.
#include "emit.h"

#include <stddef.h>

#define REQUEST(field) \
    (offsetof(struct exec_thread, request) + offsetof(struct exec_request, field))

// Branches to a trap when `bad` holds and goes on in a new block.
static void trap_if(struct emit *e, LLVMValueRef bad, const char *reason)
{
    LLVMBasicBlockRef trap = emit_block(e, "trap"), go = emit_block(e, "go");
    LLVMBuildCondBr(e->b, bad, trap, go);
    LLVMPositionBuilderAtEnd(e->b, trap);
    emit_trap(e, reason);
    LLVMPositionBuilderAtEnd(e->b, go);
}

static LLVMValueRef slot_or_null(struct emit *e, uint32_t slot)
{
    return slot == UINT32_MAX ? LLVMConstNull(e->ptr) : e->slots[slot];
}

static LLVMValueRef callee_frame(struct emit *e)
{
    return e->frame == NULL ? LLVMConstNull(e->ptr) : emit_gep(e, e->frame, e->fn->frame_size);
}

static LLVMValueRef callee_local(struct emit *e)
{
    return e->local == NULL ? LLVMConstNull(e->ptr) : emit_gep(e, e->local, e->fn->slots_size);
}

// The largest of the functions that the call may reach.
static const struct ir_function *largest(struct emit *e, const struct ir_inst *inst,
                                         uint64_t *ret_slots, uint32_t *ret_frame, bool *ret_deep)
{
    const struct ir_function *first = NULL;
    *ret_slots = 0;
    *ret_frame = 0;
    *ret_deep = false;
    uint32_t count = inst->op == IR_call ? 1 : inst->call->target_count;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t position = inst->op == IR_call ? inst->index : inst->call->targets[i];
        const struct ir_function *f = e->unit->functions[position];
        first = first == NULL ? f : first;
        *ret_slots = f->slots_size > *ret_slots ? f->slots_size : *ret_slots;
        *ret_frame = f->frame_size > *ret_frame ? f->frame_size : *ret_frame;
        *ret_deep = *ret_deep || f->recursive;
    }
    return first;
}

static LLVMValueRef distance(struct emit *e, LLVMValueRef pointer, size_t base_offset)
{
    LLVMValueRef base = emit_load(e, e->ptr, e->thread, base_offset, 8);
    return LLVMBuildSub(e->b, LLVMBuildPtrToInt(e->b, pointer, e->i64, ""),
                        LLVMBuildPtrToInt(e->b, base, e->i64, ""), "");
}

static void check_depth(struct emit *e, const struct ir_inst *inst)
{
    uint64_t slots;
    uint32_t frame;
    bool deep;
    largest(e, inst, &slots, &frame, &deep);
    if (!deep) {
        return;
    }
    static const char reason[] = "stack overflow";
    LLVMValueRef used = emit_stack_used(e);
    uint64_t room = slots + 4096 < EMIT_STACK_LIMIT ? EMIT_STACK_LIMIT - slots - 4096 : 0;
    // Signed: the stack grows down, and a base that lies below is no depth at all.
    trap_if(e, LLVMBuildICmp(e->b, LLVMIntSGT, used, emit_int(e, 64, room), ""), reason);
    if (inst->call->suspends) {
        LLVMValueRef f = distance(e, callee_frame(e), offsetof(struct exec_thread, frame));
        LLVMValueRef l = distance(e, callee_local(e), offsetof(struct exec_thread, local));
        LLVMValueRef frame_end = LLVMBuildAdd(e->b, f, emit_int(e, 64, frame), "");
        LLVMValueRef local_end = LLVMBuildAdd(e->b, l, emit_int(e, 64, slots), "");
        LLVMValueRef bad =
            LLVMBuildICmp(e->b, LLVMIntUGT, frame_end, emit_int(e, 64, e->frame_total), "");
        bad = LLVMBuildOr(
            e->b, bad,
            LLVMBuildICmp(e->b, LLVMIntUGT, local_end, emit_int(e, 64, e->local_total), ""), "");
        trap_if(e, bad, reason);
    }
}

static LLVMValueRef call_function(struct emit *e, const struct ir_inst *inst, uint32_t position)
{
    LLVMValueRef args[EMIT_FUNC_PARAMS] = {
        e->ctx,
        e->thread,
        e->linear,
        e->tid[0],
        e->tid[1],
        e->tid[2],
        slot_or_null(e, inst->call->argument_slot),
        slot_or_null(e, inst->call->return_slot),
        callee_frame(e),
        callee_local(e),
        e->stack_base,
    };
    return LLVMBuildCall2(e->b, e->func_type, e->functions[position], args, EMIT_FUNC_PARAMS, "");
}

// Picks the function by its PTX address; addresses are no code addresses (IR_FUNCTION_ADDRESS).
static LLVMValueRef call_by_address(struct emit *e, const struct ir_inst *inst)
{
    const struct ir_call *call = inst->call;
    LLVMValueRef address = emit_get(e, &inst->src[0], 64);
    LLVMBasicBlockRef bad = emit_block(e, "bad"), done = emit_block(e, "called");
    LLVMValueRef pick = LLVMBuildSwitch(e->b, address, bad, call->target_count);
    LLVMPositionBuilderAtEnd(e->b, bad);
    emit_trap(e, "invalid function pointer");
    LLVMPositionBuilderAtEnd(e->b, done);
    LLVMValueRef status = LLVMBuildPhi(e->b, e->i32, "");
    for (uint32_t i = 0; i < call->target_count; i++) {
        const struct ir_function *f = e->unit->functions[call->targets[i]];
        LLVMBasicBlockRef block = emit_block(e, "target");
        LLVMAddCase(pick, emit_int(e, 64, IR_FUNCTION_ADDRESS(f->program_index)), block);
        LLVMPositionBuilderAtEnd(e->b, block);
        LLVMValueRef r = call_function(e, inst, call->targets[i]);
        LLVMBuildBr(e->b, done);
        LLVMAddIncoming(status, &r, &block, 1);
    }
    LLVMPositionBuilderAtEnd(e->b, done);
    if (call->target_count == 0) {
        LLVMReplaceAllUsesWith(status, emit_int(e, 32, 0));
        LLVMInstructionEraseFromParent(status);
        return emit_int(e, 32, 0);
    }
    return status;
}

static void call(struct emit *e, const struct ir_inst *inst)
{
    if (!inst->call->suspends) {
        check_depth(e, inst); // else call_prepare did
    }
    LLVMValueRef status =
        inst->op == IR_call ? call_function(e, inst, inst->index) : call_by_address(e, inst);
    LLVMBasicBlockRef go = emit_block(e, "returned"), leave = emit_block(e, "leave");
    LLVMValueRef fine = LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_int(e, 32, EMIT_RETURNED), "");
    LLVMBuildCondBr(e->b, fine, go, leave);
    LLVMPositionBuilderAtEnd(e->b, leave);
    if (e->fn->is_entry) {
        LLVMValueRef suspended =
            LLVMBuildICmp(e->b, LLVMIntEQ, status, emit_int(e, 32, EMIT_SUSPENDED), "");
        LLVMBuildRet(e->b, emit_select(e, suspended, emit_int(e, 32, EXEC_SUSPEND),
                                       emit_int(e, 32, EXEC_EXIT)));
    } else {
        LLVMBuildRet(e->b, status);
    }
    LLVMPositionBuilderAtEnd(e->b, go);
}

static void set_state(struct emit *e, uint32_t state)
{
    if (e->fn->is_entry) {
        emit_store(e, emit_int(e, 32, state), e->thread, offsetof(struct exec_thread, state), 4);
    } else {
        emit_store(e, emit_int(e, 32, state), e->frame, 0, 4);
    }
}

// The call that follows tells what has to fit.
static const struct ir_inst *prepared_call(const struct ir_inst *inst)
{
    const struct ir_inst *next = inst->next;
    while (next != NULL && next->op != IR_br) {
        next = next->next;
    }
    if (next == NULL || next->target[0] == NULL) {
        return NULL;
    }
    for (next = next->target[0]->first; next != NULL; next = next->next) {
        if (next->op == IR_call || next->op == IR_call_indirect) {
            return next;
        }
    }
    return NULL;
}

static void prepare(struct emit *e, const struct ir_inst *inst)
{
    const struct ir_inst *next = prepared_call(inst);
    if (next == NULL) {
        emit_fail(e, inst, "no call follows");
        return;
    }
    check_depth(e, next);
    set_state(e, inst->index);
    emit_store(e, emit_int(e, 32, 0), callee_frame(e), 0, 4);
}

// ---------------------------------------------------------------- runtime calls

static LLVMValueRef runtime_call(struct emit *e, size_t offset, LLVMTypeRef result,
                                 LLVMValueRef *args, unsigned count)
{
    LLVMTypeRef params[6];
    for (unsigned i = 0; i < count; i++) {
        params[i] = LLVMTypeOf(args[i]);
    }
    LLVMTypeRef type = LLVMFunctionType(result, params, count, false);
    return LLVMBuildCall2(e->b, type, emit_runtime(e, offset), args, count, "");
}

// Host addresses travel as integers: the calling convention is the same.
static void call_runtime(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef args[6] = {e->ctx};
    switch (inst->op) {
    case IR_vprintf:
        args[1] = emit_get(e, &inst->src[0], 64);
        args[2] = emit_get(e, &inst->src[1], 64);
        emit_set(e, inst, 0,
                 runtime_call(e, offsetof(struct exec_runtime, vprintf), e->i32, args, 3));
        break;
    case IR_malloc:
        args[1] = emit_get(e, &inst->src[0], 64);
        emit_set(e, inst, 0,
                 runtime_call(e, offsetof(struct exec_runtime, device_malloc), e->i64, args, 2));
        break;
    case IR_free:
        args[1] = emit_get(e, &inst->src[0], 64);
        runtime_call(e, offsetof(struct exec_runtime, device_free), e->void_type, args, 2);
        break;
    case IR_assertfail:
        args[1] = emit_get(e, &inst->src[0], 64);
        args[2] = emit_get(e, &inst->src[1], 64);
        args[3] = emit_get(e, &inst->src[2], 32);
        args[4] = emit_get(e, &inst->src[3], 64);
        runtime_call(e, offsetof(struct exec_runtime, assert_fail), e->void_type, args, 5);
        break;
    case IR_device_call:
        args[1] = emit_int(e, 32, inst->index);
        args[2] = slot_or_null(e, inst->call->argument_slot);
        args[3] = slot_or_null(e, inst->call->return_slot);
        runtime_call(e, offsetof(struct exec_runtime, device_call), e->void_type, args, 4);
        break;
    case IR_barrier_arrive:
        args[1] = emit_get(e, &inst->src[0], 32);
        args[2] = emit_get(e, &inst->src[1], 32);
        runtime_call(e, offsetof(struct exec_runtime, barrier_arrive), e->void_type, args, 3);
        break;
    default: // trap
        args[1] = emit_global_text(e, inst->text != NULL ? inst->text : "trap instruction");
        runtime_call(e, offsetof(struct exec_runtime, trap), e->void_type, args, 2);
        break;
    }
}

// ---------------------------------------------------------------- suspension

static LLVMTypeRef saved_type(struct emit *e, enum ir_type type)
{
    return type == IR_I1 ? e->i8 : emit_int_type(e, ir_bits(type));
}

static unsigned saved_align(enum ir_type type)
{
    unsigned bytes = ir_bits(type) / 8;
    return bytes == 0 ? 1 : bytes > 8 ? 8 : bytes;
}

static void write_request(struct emit *e, const struct ir_inst *inst)
{
    static const struct {
        size_t offset;
        unsigned bits;
    } operands[4] = {{REQUEST(a), 64}, {REQUEST(b), 32}, {REQUEST(c), 32}, {REQUEST(mask), 32}};
    emit_store(e, emit_int(e, 32, inst->sub), e->thread, REQUEST(kind), 4);
    emit_store(e, emit_int(e, 32, inst->index), e->thread, REQUEST(op), 4);
    emit_store(e, emit_int(e, 32, inst->vector), e->thread, REQUEST(inner), 4);
    emit_store(e, emit_int(e, 32, inst->site), e->thread, REQUEST(site), 4);
    for (unsigned i = 0; i < 4 && i < inst->src_count; i++) {
        if (inst->src[i].kind == IR_NONE) {
            continue;
        }
        unsigned bits = i == 0 ? ir_bits(inst->type) : 32;
        LLVMValueRef v = emit_get(e, &inst->src[i], bits);
        v = emit_resize(e, v, operands[i].bits, false);
        emit_store(e, v, e->thread, operands[i].offset, operands[i].bits / 8);
    }
}

static void read_result(struct emit *e, const struct ir_inst *inst)
{
    if (inst->dst_count > 0) {
        LLVMValueRef v = emit_load(e, e->i64, e->thread, REQUEST(result), 8);
        unsigned bits = ir_bits(e->fn->values[inst->dst[0]].type);
        v = bits == 1 ? LLVMBuildICmp(e->b, LLVMIntNE, v, emit_int(e, 64, 0), "")
                      : emit_resize(e, v, bits, false);
        emit_set(e, inst, 0, v);
    }
    if (inst->dst_count > 1) {
        LLVMValueRef p = emit_load(e, e->i32, e->thread, REQUEST(result_pred), 4);
        emit_set(e, inst, 1, LLVMBuildICmp(e->b, LLVMIntNE, p, emit_int(e, 32, 0), ""));
    }
}

bool emit_call(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef v;
    switch (inst->op) {
    case IR_call:
    case IR_call_indirect:
        call(e, inst);
        return true;
    case IR_call_prepare:
        prepare(e, inst);
        return true;
    case IR_vprintf:
    case IR_malloc:
    case IR_free:
    case IR_assertfail:
    case IR_device_call:
    case IR_barrier_arrive:
    case IR_trap:
        call_runtime(e, inst);
        return true;
    case IR_frame_save:
        v = emit_get(e, &inst->src[0], ir_bits(inst->type));
        v = inst->type == IR_I1 ? emit_resize(e, v, 8, false) : v;
        emit_store(e, v, e->frame, (uint64_t)inst->offset, saved_align(inst->type));
        return true;
    case IR_frame_load:
        v = emit_load(e, saved_type(e, inst->type), e->frame, (uint64_t)inst->offset,
                      saved_align(inst->type));
        v = inst->type == IR_I1 ? emit_resize(e, v, 1, false) : v;
        emit_set(e, inst, 0, v);
        return true;
    case IR_request:
        write_request(e, inst);
        return true;
    case IR_request_result:
        read_result(e, inst);
        return true;
    case IR_suspend:
        set_state(e, inst->index);
        LLVMBuildRet(e->b, emit_int(e, 32, EXEC_SUSPEND));
        return true;
    default:
        return false;
    }
}
