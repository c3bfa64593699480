// SPDX-License-Identifier: Apache-2.0
//
// Unit -> LLVM module: functions, control flow, phis, and the two entry points. The entry becomes
// an always-inlined body(ctx, thread, linear, tid.x, tid.y, tid.z, fields of ctx…) that "thread"
// calls once and "block" (when nothing suspends) calls for every thread of the block. One lane per
// thread.
#include "emit.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/DebugInfo.h>

static bool (*const families[])(struct emit *, const struct ir_inst *) = {
    emit_memory,  emit_integer, emit_bits,   emit_float, emit_approx,
    emit_compare, emit_convert, emit_atomic, emit_sreg,  emit_call,
    emit_texture, emit_cluster,
};

// Fields of exec_ctx that a body gets as arguments, so that "block" reads them (and what they point
// to) before its loops.
static const struct {
    size_t offset;
    bool pointer;
} body_fields[EMIT_BODY_FIELDS] = {
    {offsetof(struct exec_ctx, params), true},      {offsetof(struct exec_ctx, shared), true},
    {offsetof(struct exec_ctx, symbols), true},     {offsetof(struct exec_ctx, rt), true},
    {offsetof(struct exec_ctx, ctaid), false},      {offsetof(struct exec_ctx, ctaid) + 4, false},
    {offsetof(struct exec_ctx, ctaid) + 8, false},  {offsetof(struct exec_ctx, nctaid), false},
    {offsetof(struct exec_ctx, nctaid) + 4, false}, {offsetof(struct exec_ctx, nctaid) + 8, false},
    {offsetof(struct exec_ctx, ntid), false},       {offsetof(struct exec_ctx, ntid) + 4, false},
    {offsetof(struct exec_ctx, ntid) + 8, false},
};

static LLVMTypeRef field_type(const struct emit *e, unsigned i)
{
    return body_fields[i].pointer ? e->ptr : e->i32;
}

// ---------------------------------------------------------------- floating-point phis

// The type of a value that is computed as a number, IR_VOID otherwise.
static enum ir_type number_type(const struct emit *e, const struct ir_operand *operand)
{
    const struct ir_inst *def =
        operand->kind == IR_VALUE ? e->fn->values[operand->value].def : NULL;
    if (def == NULL) {
        return IR_VOID;
    }
    switch (def->op) {
    case IR_phi:
        return e->values[operand->value].phi_type;
    case IR_add:
    case IR_sub:
    case IR_mul:
    case IR_div:
    case IR_abs:
    case IR_neg:
    case IR_min:
    case IR_max:
    case IR_fma:
    case IR_cvt:
    case IR_rcp:
    case IR_sqrt:
    case IR_rsqrt:
    case IR_sin:
    case IR_cos:
    case IR_lg2:
    case IR_ex2:
    case IR_tanh:
        return def->type == IR_F32 || def->type == IR_F64 ? def->type : IR_VOID;
    default:
        return IR_VOID;
    }
}

static bool neutral(const struct emit *e, const struct ir_operand *operand)
{
    if (operand->kind != IR_VALUE) {
        return true;
    }
    const struct ir_inst *def = e->fn->values[operand->value].def;
    return def != NULL && (def->op == IR_ld || def->op == IR_mov || def->op == IR_select);
}

// Chooses the phis that are kept as numbers: grows the set from those with a computed operand, then
// drops every phi with an operand that is an integer.
static void type_phis(struct emit *e)
{
    for (unsigned pass = 0; pass < 2; pass++) {
        bool changed = true;
        while (changed) {
            changed = false;
            for (const struct ir_block *b = e->fn->blocks; b != NULL; b = b->next) {
                for (const struct ir_inst *i = b->first; i != NULL && i->op == IR_phi;
                     i = i->next) {
                    struct emit_value *v = &e->values[i->dst[0]];
                    enum ir_type type = v->phi_type;
                    for (uint32_t k = 0; k < b->pred_count; k++) {
                        enum ir_type t = number_type(e, &i->phi[k]);
                        if (pass == 0 && type == IR_VOID && t != IR_VOID &&
                            ir_storage(t) == e->fn->values[i->dst[0]].type) {
                            type = t;
                        } else if (pass == 1 && t != type && !neutral(e, &i->phi[k])) {
                            type = IR_VOID;
                        }
                    }
                    changed = changed || type != v->phi_type;
                    v->phi_type = type;
                }
            }
        }
    }
}

static bool in_vectors(const struct emit *e, uint32_t value)
{
    return e->fn->lanes != 0 && e->fn->values[value].kind == IR_VARYING;
}

static void begin_phi(struct emit *e, const struct ir_inst *inst)
{
    struct emit_value *v = &e->values[inst->dst[0]];
    warp_mode(e, in_vectors(e, inst->dst[0]));
    if (v->phi_type != IR_VOID) {
        v->raw = LLVMBuildPhi(e->b, v->phi_type == IR_F64 ? e->f64 : e->f32, "");
        v->dirty = v->phi_type == IR_F32;
    } else {
        v->bits =
            LLVMBuildPhi(e->b, emit_int_type(e, ir_bits(e->fn->values[inst->dst[0]].type)), "");
    }
    warp_mode(e, false);
}

// One LLVM operand for each edge from the predecessor (a switch may have several).
static unsigned count_edges(LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LLVMValueRef terminator = LLVMGetBasicBlockTerminator(from);
    unsigned edges = 0;
    for (unsigned i = 0; terminator != NULL && i < LLVMGetNumSuccessors(terminator); i++) {
        edges += LLVMGetSuccessor(terminator, i) == to;
    }
    return edges;
}

static bool seen_before(const struct ir_block *block, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++) {
        if (block->preds[i] == block->preds[k]) {
            return true;
        }
    }
    return false;
}

static void finish_phi(struct emit *e, const struct ir_block *block, const struct ir_inst *inst)
{
    enum ir_type type = e->values[inst->dst[0]].phi_type;
    LLVMValueRef phi = type != IR_VOID ? e->values[inst->dst[0]].raw : e->values[inst->dst[0]].bits;
    unsigned bits = ir_bits(e->fn->values[inst->dst[0]].type);
    warp_mode(e, in_vectors(e, inst->dst[0]));
    for (uint32_t k = 0; k < block->pred_count; k++) {
        LLVMBasicBlockRef from = e->block_ends[block->preds[k]->number];
        unsigned edges = count_edges(from, e->blocks[block->number]);
        if (edges == 0 || seen_before(block, k)) {
            continue;
        }
        LLVMPositionBuilderBefore(e->b, LLVMGetBasicBlockTerminator(from));
        LLVMValueRef v = type != IR_VOID ? emit_get_float(e, &inst->phi[k], type)
                                         : emit_get(e, &inst->phi[k], bits);
        for (unsigned n = 0; n < edges; n++) {
            LLVMAddIncoming(phi, &v, &from, 1);
        }
    }
    warp_mode(e, false);
}

// ---------------------------------------------------------------- control flow

static void leave(struct emit *e, bool exits)
{
    int status = e->fn->is_entry ? EXEC_EXIT : exits ? EMIT_EXITED : EMIT_RETURNED;
    LLVMBuildRet(e->b, emit_int(e, 32, (uint64_t)status));
}

static void branch_table(struct emit *e, const struct ir_inst *inst)
{
    LLVMBasicBlockRef bad = emit_block(e, "brx.bad");
    LLVMValueRef pick =
        LLVMBuildSwitch(e->b, emit_get(e, &inst->src[0], 32), bad, inst->target_count);
    for (uint32_t i = 0; i < inst->target_count; i++) {
        LLVMAddCase(pick, emit_int(e, 32, i), e->blocks[inst->targets[i]->number]);
    }
    LLVMPositionBuilderAtEnd(e->b, bad);
    emit_trap(e, "branch index out of range");
}

static bool emit_control(struct emit *e, const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_phi:
        begin_phi(e, inst);
        return true;
    case IR_br:
        LLVMBuildBr(e->b, e->blocks[inst->target[0]->number]);
        return true;
    case IR_cbr: {
        LLVMBasicBlockRef yes = e->blocks[inst->target[0]->number];
        LLVMBasicBlockRef no = e->blocks[inst->target[1]->number];
        if (yes == no) {
            LLVMBuildBr(e->b, yes);
        } else {
            LLVMBuildCondBr(e->b, emit_get(e, &inst->src[0], 1), yes, no);
        }
        return true;
    }
    case IR_brx:
        branch_table(e, inst);
        return true;
    case IR_ret:
        leave(e, false);
        return true;
    case IR_exit:
        leave(e, true);
        return true;
    case IR_unreachable:
        LLVMBuildUnreachable(e->b);
        return true;
    default:
        return false;
    }
}

void emit_one(struct emit *e, const struct ir_inst *inst)
{
    for (size_t i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
        if (families[i](e, inst)) {
            return;
        }
    }
    emit_fail(e, inst, "operation is not compiled by this version");
}

static void emit_instruction(struct emit *e, const struct ir_inst *inst)
{
    if (emit_control(e, inst)) {
        return;
    }
    if (e->fn->lanes != 0) {
        warp_instruction(e, inst);
    } else {
        emit_one(e, inst);
    }
}

static void emit_blocks(struct emit *e)
{
    for (const struct ir_block *b = e->fn->blocks; b != NULL && !e->failed; b = b->next) {
        LLVMPositionBuilderAtEnd(e->b, e->blocks[b->number]);
        for (const struct ir_inst *i = b->first; i != NULL && !e->failed; i = i->next) {
            LLVMBasicBlockRef open = LLVMGetInsertBlock(e->b);
            e->block_ends[b->number] = open;
            emit_debug_at(e, i);
            emit_instruction(e, i);
        }
    }
    for (const struct ir_block *b = e->fn->blocks; b != NULL && !e->failed; b = b->next) {
        for (const struct ir_inst *i = b->first; i != NULL && i->op == IR_phi; i = i->next) {
            finish_phi(e, b, i);
        }
    }
}

// Ends the prologue: straight to the first block, or by the state of a resumed thread.
static void dispatch(struct emit *e)
{
    const struct ir_function *fn = e->fn;
    LLVMBasicBlockRef first = e->blocks[fn->blocks->number];
    LLVMPositionBuilderAtEnd(e->b, LLVMGetInsertBlock(e->pb));
    if (fn->resume_count == 0) {
        LLVMBuildBr(e->b, first);
        return;
    }
    LLVMValueRef state =
        fn->is_entry ? emit_load(e, e->i32, e->thread, offsetof(struct exec_thread, state), 4)
                     : emit_load(e, e->i32, e->frame, 0, 4);
    LLVMBasicBlockRef bad = emit_block(e, "bad.state");
    LLVMValueRef pick = LLVMBuildSwitch(e->b, state, bad, fn->resume_count + 1);
    LLVMAddCase(pick, emit_int(e, 32, 0), first);
    for (const struct ir_block *b = fn->blocks; b != NULL; b = b->next) {
        if (b->resume != 0) {
            LLVMAddCase(pick, emit_int(e, 32, b->resume), e->blocks[b->number]);
        }
    }
    LLVMPositionBuilderAtEnd(e->b, bad);
    LLVMBuildUnreachable(e->b);
}

// Warp form: one object for the slots of all lanes, lane after lane.
static LLVMValueRef lane_memory(struct emit *e)
{
    if (e->local == NULL) {
        LLVMTypeRef type = LLVMArrayType2(e->i8, e->lanes * e->fn->slots_size);
        e->local = LLVMBuildAlloca(e->pb, type, "local");
        LLVMSetAlignment(e->local, 64);
    }
    return e->local;
}

// Slots are in thread->local while the function may suspend, else on the host stack.
static void make_slots(struct emit *e)
{
    for (uint32_t i = 0; i < e->fn->slot_count; i++) {
        const struct ir_slot *slot = &e->fn->slots[i];
        if (e->fn->suspends) {
            LLVMValueRef offset = emit_int(e, 64, slot->offset);
            e->slots[i] = LLVMBuildGEP2(e->pb, e->i8, e->local, &offset, 1, "slot");
        } else {
            uint64_t size = slot->size != 0 ? slot->size : 1;
            if (e->fn->lanes != 0) {
                LLVMValueRef offset = emit_int(e, 64, slot->offset);
                e->slots[i] = LLVMBuildGEP2(e->pb, e->i8, lane_memory(e), &offset, 1, "slot");
                continue;
            }
            LLVMTypeRef type = LLVMArrayType2(e->i8, size);
            e->slots[i] = LLVMBuildAlloca(e->pb, type, "slot");
            LLVMSetAlignment(e->slots[i], slot->align > 16 ? slot->align : 16);
        }
    }
}

static LLVMValueRef thread_field(struct emit *e, size_t offset, LLVMTypeRef type)
{
    LLVMValueRef index = emit_int(e, 64, offset);
    LLVMValueRef at = LLVMBuildGEP2(e->pb, e->i8, e->thread, &index, 1, "");
    return LLVMBuildLoad2(e->pb, type, at, "");
}

static void read_parameters(struct emit *e)
{
    LLVMValueRef f = e->llvm_fn;
    e->ctx = LLVMGetParam(f, 0);
    e->thread = LLVMGetParam(f, 1);
    e->linear = LLVMGetParam(f, 2);
    for (unsigned i = 0; i < 3; i++) {
        e->tid[i] = LLVMGetParam(f, 3 + i);
    }
    e->frame = e->local = e->args = e->rets = NULL;
    if (e->fn->is_entry) {
        for (unsigned i = 0; i < EMIT_BODY_FIELDS; i++) {
            e->fields[i] = LLVMGetParam(f, EMIT_THREAD_PARAMS + i);
            e->field_offsets[i] = (uint32_t)body_fields[i].offset;
        }
        e->field_count = EMIT_BODY_FIELDS;
        unsigned id = LLVMLookupIntrinsicID("llvm.frameaddress", 17);
        LLVMValueRef address = LLVMGetIntrinsicDeclaration(e->module, id, &e->ptr, 1);
        LLVMTypeRef type = LLVMIntrinsicGetType(e->cx, id, &e->ptr, 1);
        LLVMValueRef level = emit_int(e, 32, 0);
        // Used by recursion and isspacep only; removed otherwise.
        e->stack_base = LLVMBuildPtrToInt(
            e->pb, LLVMBuildCall2(e->pb, type, address, &level, 1, ""), e->i64, "");
        if (e->fn->suspends) {
            e->frame = thread_field(e, offsetof(struct exec_thread, frame), e->ptr);
            e->local = thread_field(e, offsetof(struct exec_thread, local), e->ptr);
        }
        return;
    }
    e->args = LLVMGetParam(f, 6);
    e->rets = LLVMGetParam(f, 7);
    if (e->fn->suspends) {
        e->frame = LLVMGetParam(f, 8);
        e->local = LLVMGetParam(f, 9);
    }
    e->stack_base = LLVMGetParam(f, 10);
}

static int emit_function(struct emit *e, uint32_t position)
{
    const struct ir_function *fn = e->unit->functions[position];
    e->fn = fn;
    e->llvm_fn = e->functions[position];
    e->field_count = 0;
    LLVMPositionBuilderAtEnd(e->pb, emit_block(e, "prologue"));
    emit_debug_function(e, e->llvm_fn, fn, fn->name);
    read_parameters(e);
    if (fn->unbuildable != NULL) {
        LLVMPositionBuilderAtEnd(e->b, LLVMGetInsertBlock(e->pb));
        LLVMBasicBlockRef body = emit_block(e, "body");
        LLVMPositionBuilderAtEnd(e->b, body);
        emit_trap(e, fn->unbuildable);
        LLVMBuildBr(e->pb, body);
        return 0;
    }
    e->values = calloc(fn->value_count + 1u, sizeof(*e->values));
    e->slots = calloc(fn->slot_count + 1u, sizeof(*e->slots));
    e->blocks = calloc(2u * (fn->block_count + 1u), sizeof(*e->blocks));
    if (e->values == NULL || e->slots == NULL || e->blocks == NULL) {
        emit_fail(e, NULL, "out of memory");
    } else {
        e->block_ends = e->blocks + fn->block_count + 1;
        make_slots(e);
        for (const struct ir_block *b = fn->blocks; b != NULL; b = b->next) {
            e->blocks[b->number] = emit_block(e, "");
        }
        type_phis(e);
        emit_blocks(e);
        if (!e->failed) {
            emit_debug_at(e, NULL);
            dispatch(e);
        }
    }
    free(e->values);
    free(e->slots);
    free(e->blocks);
    e->values = NULL;
    e->slots = NULL;
    e->blocks = NULL;
    return e->failed ? -1 : 0;
}

// ---------------------------------------------------------------- entry points

static void set_common_attributes(struct emit *e, LLVMValueRef fn)
{
    // No library calls may be made up from loops: the object has no external symbols.
    emit_set_string_attribute(e, fn, "no-builtins", "");
    emit_set_attribute(e, fn, LLVMAttributeFunctionIndex, "nounwind", 0);
    emit_set_attribute(e, fn, 1, "nonnull", 0);
    emit_set_attribute(e, fn, 1, "noundef", 0);
    emit_set_attribute(e, fn, 1, "align", _Alignof(struct exec_ctx));
    emit_set_attribute(e, fn, 1, "dereferenceable", sizeof(struct exec_ctx));
}

static void store_current(struct emit *e, LLVMValueRef ctx, LLVMValueRef linear)
{
    // Read by the fault handler at any time.
    LLVMSetVolatile(emit_store(e, linear, ctx, offsetof(struct exec_ctx, current), 4), true);
}

// Starts a function with external linkage: prologue (e->pb) and builder at its end.
static LLVMValueRef begin_entry_point(struct emit *e, const char *name, LLVMTypeRef type)
{
    LLVMValueRef fn = LLVMAddFunction(e->module, name, type);
    set_common_attributes(e, fn);
    e->llvm_fn = fn;
    e->field_count = 0;
    e->ctx = LLVMGetParam(fn, 0);
    LLVMPositionBuilderAtEnd(e->pb, emit_block(e, ""));
    emit_debug_function(e, fn, e->unit->functions[0], name);
    return fn;
}

static LLVMValueRef call_body(struct emit *e, LLVMValueRef thread, LLVMValueRef linear,
                              const LLVMValueRef *id)
{
    LLVMValueRef args[EMIT_BODY_PARAMS] = {e->ctx, thread, linear, id[0], id[1], id[2]};
    for (unsigned i = 0; i < EMIT_BODY_FIELDS; i++) {
        args[EMIT_THREAD_PARAMS + i] = emit_ctx(e, body_fields[i].offset, field_type(e, i));
    }
    return LLVMBuildCall2(e->b, e->body_type, e->functions[0], args, EMIT_BODY_PARAMS, "");
}

static void make_thread_function(struct emit *e)
{
    LLVMTypeRef params[2] = {e->ptr, e->ptr};
    LLVMTypeRef type = LLVMFunctionType(e->i32, params, 2, false);
    LLVMValueRef thread = LLVMGetParam(begin_entry_point(e, "thread", type), 1);
    LLVMBasicBlockRef run = emit_block(e, "run");
    LLVMPositionBuilderAtEnd(e->b, run);
    LLVMValueRef id[3];
    LLVMValueRef linear = emit_load(e, e->i32, thread, offsetof(struct exec_thread, linear), 4);
    for (unsigned i = 0; i < 3; i++) {
        id[i] = emit_load(e, e->i32, thread, offsetof(struct exec_thread, tid) + 4u * i, 4);
    }
    store_current(e, e->ctx, linear);
    LLVMBuildRet(e->b, call_body(e, thread, linear, id));
    LLVMBuildBr(e->pb, run);
}

// Unrolling threads only makes the code larger.
static void keep_rolled(struct emit *e, LLVMValueRef branch)
{
    static const char text[] = "llvm.loop.unroll.disable";
    LLVMMetadataRef word = LLVMMDStringInContext2(e->cx, text, sizeof(text) - 1);
    LLVMMetadataRef parts[2] = {LLVMTemporaryMDNode(e->cx, NULL, 0),
                                LLVMMDNodeInContext2(e->cx, &word, 1)};
    LLVMMetadataRef loop = LLVMMDNodeInContext2(e->cx, parts, 2);
    LLVMMetadataReplaceAllUsesWith(parts[0], loop);
    LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(e->cx, "llvm.loop", 9),
                    LLVMMetadataAsValue(e->cx, loop));
}

// for z, y, x: body. Each level is a rotated loop, since a block has at least one thread. In the
// warp form x goes in steps of a warp (its blocks have one row, or whole warps in each).
static void make_block_function(struct emit *e)
{
    LLVMTypeRef type = LLVMFunctionType(e->void_type, &e->ptr, 1, false);
    begin_entry_point(e, "block", type);
    LLVMBasicBlockRef head[3], from = LLVMGetInsertBlock(e->pb);
    LLVMValueRef id[3], linear[3], ntid[3], zero = emit_int(e, 32, 0), one = emit_int(e, 32, 1);
    for (unsigned i = 0; i < 3; i++) {
        ntid[i] = emit_ctx(e, offsetof(struct exec_ctx, ntid) + 4u * i, e->i32);
        head[i] = emit_block(e, i == 0 ? "x" : i == 1 ? "y" : "z");
    }
    for (unsigned k = 3; k-- > 0;) {
        LLVMPositionBuilderAtEnd(e->b, head[k]);
        id[k] = LLVMBuildPhi(e->b, e->i32, "");
        linear[k] = LLVMBuildPhi(e->b, e->i32, "");
        LLVMAddIncoming(id[k], &zero, &from, 1);
        LLVMAddIncoming(linear[k], k == 2 ? &zero : &linear[k + 1], &from, 1);
        if (k > 0) {
            LLVMBuildBr(e->b, head[k - 1]);
        }
        from = head[k];
    }
    store_current(e, e->ctx, linear[0]);
    call_body(e, LLVMConstNull(e->ptr), linear[0], id);
    LLVMValueRef step = emit_int(e, 32, e->unit->functions[0]->lanes != 0 ? e->lanes : 1);
    LLVMValueRef next = LLVMBuildNUWAdd(e->b, linear[0], step, "");
    for (unsigned k = 0; k < 3; k++) {
        LLVMBasicBlockRef latch = LLVMGetInsertBlock(e->b);
        LLVMBasicBlockRef done = emit_block(e, "");
        LLVMValueRef after = LLVMBuildNUWAdd(e->b, id[k], k == 0 ? step : one, "");
        LLVMValueRef more = LLVMBuildICmp(e->b, LLVMIntULT, after, ntid[k], "");
        keep_rolled(e, LLVMBuildCondBr(e->b, more, head[k], done));
        LLVMAddIncoming(id[k], &after, &latch, 1);
        LLVMAddIncoming(linear[k], &next, &latch, 1);
        LLVMPositionBuilderAtEnd(e->b, done);
    }
    LLVMBuildRetVoid(e->b);
    LLVMBuildBr(e->pb, head[2]);
}

static void declare_functions(struct emit *e)
{
    LLVMTypeRef p[EMIT_FUNC_PARAMS] = {e->ptr, e->ptr, e->i32, e->i32, e->i32, e->i32,
                                       e->ptr, e->ptr, e->ptr, e->ptr, e->i64};
    e->func_type = LLVMFunctionType(e->i32, p, EMIT_FUNC_PARAMS, false);
    LLVMTypeRef body[EMIT_BODY_PARAMS] = {e->ptr, e->ptr, e->i32, e->i32, e->i32, e->i32};
    for (unsigned i = 0; i < EMIT_BODY_FIELDS; i++) {
        body[EMIT_THREAD_PARAMS + i] = field_type(e, i);
    }
    e->body_type = LLVMFunctionType(e->i32, body, EMIT_BODY_PARAMS, false);
    for (uint32_t i = 0; i < e->unit->function_count; i++) {
        e->functions[i] = LLVMAddFunction(e->module, i == 0 ? "body" : "func",
                                          i == 0 ? e->body_type : e->func_type);
        LLVMSetLinkage(e->functions[i], LLVMInternalLinkage);
        set_common_attributes(e, e->functions[i]);
        if (i == 0) {
            emit_set_attribute(e, e->functions[i], LLVMAttributeFunctionIndex, "alwaysinline", 0);
        }
    }
}

static void init(struct emit *e, LLVMContextRef cx)
{
    e->cx = cx;
    e->b = LLVMCreateBuilderInContext(cx);
    e->pb = LLVMCreateBuilderInContext(cx);
    e->i1 = LLVMInt1TypeInContext(cx);
    e->i8 = LLVMInt8TypeInContext(cx);
    e->i16 = LLVMInt16TypeInContext(cx);
    e->i32 = LLVMInt32TypeInContext(cx);
    e->i64 = LLVMInt64TypeInContext(cx);
    e->i128 = LLVMInt128TypeInContext(cx);
    e->f16 = LLVMHalfTypeInContext(cx);
    e->f32 = LLVMFloatTypeInContext(cx);
    e->f64 = LLVMDoubleTypeInContext(cx);
    e->ptr = LLVMPointerTypeInContext(cx, 0);
    e->void_type = LLVMVoidTypeInContext(cx);
    warp_init_types(e);
    LLVMTypeRef helper[4] = {e->i64, e->i64, e->i64, e->i64};
    e->helper_type = LLVMFunctionType(e->i64, helper, 4, false);
    e->md_invariant = LLVMGetMDKindIDInContext(cx, "invariant.load", 14);
    e->md_range = LLVMGetMDKindIDInContext(cx, "range", 5);
}

static size_t count_instructions(LLVMModuleRef module)
{
    size_t count = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(module); f != NULL; f = LLVMGetNextFunction(f)) {
        for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b != NULL;
             b = LLVMGetNextBasicBlock(b)) {
            for (LLVMValueRef i = LLVMGetFirstInstruction(b); i != NULL;
                 i = LLVMGetNextInstruction(i)) {
                count++;
            }
        }
    }
    return count;
}

int emit_unit(const struct ir_unit *unit, const struct emit_options *options, LLVMContextRef cx,
              LLVMModuleRef module, struct emit_result *ret_result, char *message,
              size_t message_size)
{
    struct emit e = {.unit = unit,
                     .lanes = unit->functions[0]->lanes,
                     .f16c_host = options->f16c,
                     .outline_masked = options->outline_masked,
                     .module = module,
                     .message = message,
                     .message_size = message_size};
    const struct ir_function *entry = unit->functions[0];
    init(&e, cx);
    uint64_t extra = unit->recursive && entry->suspends ? EMIT_RECURSION : 0;
    e.frame_total = unit->frame_size + extra;
    e.local_total = unit->local_size + extra;
    e.functions = calloc(unit->function_count, sizeof(*e.functions));
    if (e.functions == NULL) {
        emit_fail(&e, NULL, "out of memory");
    } else {
        declare_functions(&e);
        emit_debug_begin(&e);
    }
    for (uint32_t i = 0; i < unit->function_count && !e.failed; i++) {
        emit_function(&e, i);
    }
    if (!e.failed) {
        make_thread_function(&e);
        if (!entry->suspends) {
            make_block_function(&e);
        }
        *ret_result = (struct emit_result){.has_block = !entry->suspends,
                                           .frame_size = (uint32_t)e.frame_total,
                                           .local_size = e.local_total,
                                           .instructions = count_instructions(module)};
    }
    emit_debug_end(&e);
    free(e.functions);
    LLVMDisposeBuilder(e.b);
    LLVMDisposeBuilder(e.pb);
    return e.failed ? -1 : 0;
}
