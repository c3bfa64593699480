// SPDX-License-Identifier: Apache-2.0
//
// Warp form: values of 32 (16, 8) lanes. A uniform value is a scalar, an affine one the scalar of
// lane 0, a varying one a vector. The families of operations are those of one lane: in vector mode
// the types they use are vectors and emit_get spreads what is scalar. What has no vector form is
// done lane by lane (warp_serial). Memory is in warp_memory.c, warp operations in warp_ops.c.
#include "emit.h"

#include <stddef.h>
#include <string.h>

// ---------------------------------------------------------------- modes

void warp_init_types(struct emit *e)
{
    e->modes[0] =
        (struct emit_types){e->i1, e->i8, e->i16, e->i32, e->i64, e->i128, e->f16, e->f32, e->f64};
    LLVMTypeRef *scalar = (LLVMTypeRef *)&e->modes[0], *vector = (LLVMTypeRef *)&e->modes[1];
    for (size_t i = 0; i < sizeof(struct emit_types) / sizeof(LLVMTypeRef); i++) {
        vector[i] = LLVMVectorType(scalar[i], e->lanes != 0 ? e->lanes : 1);
    }
}

bool warp_mode(struct emit *e, bool vector)
{
    bool old = e->vector;
    const struct emit_types *t = &e->modes[vector];
    e->vector = vector;
    e->i1 = t->i1;
    e->i8 = t->i8;
    e->i16 = t->i16;
    e->i32 = t->i32;
    e->i64 = t->i64;
    e->i128 = t->i128;
    e->f16 = t->f16;
    e->f32 = t->f32;
    e->f64 = t->f64;
    return old;
}

bool warp_is_varying(const struct emit *e, const struct ir_operand *operand)
{
    return operand->kind == IR_VALUE && e->fn->values[operand->value].kind == IR_VARYING;
}

// ---------------------------------------------------------------- between lanes and scalars

LLVMValueRef warp_splat(struct emit *e, LLVMValueRef scalar)
{
    LLVMTypeRef type = LLVMVectorType(LLVMTypeOf(scalar), e->lanes);
    LLVMTypeRef index = e->modes[0].i32;
    LLVMValueRef one = LLVMBuildInsertElement(e->b, LLVMGetPoison(type), scalar,
                                              LLVMConstInt(index, 0, false), "");
    return LLVMBuildShuffleVector(e->b, one, LLVMGetPoison(type),
                                  LLVMConstNull(LLVMVectorType(index, e->lanes)), "");
}

LLVMValueRef warp_steps(struct emit *e, unsigned bits, int64_t stride)
{
    bool old = warp_mode(e, false);
    LLVMValueRef all[EMIT_LANES];
    for (unsigned i = 0; i < e->lanes; i++) {
        all[i] = emit_int(e, bits, (uint64_t)stride * i);
    }
    warp_mode(e, old);
    return LLVMConstVector(all, e->lanes);
}

LLVMValueRef warp_spread(struct emit *e, uint32_t value)
{
    const struct ir_value *v = &e->fn->values[value];
    bool old = warp_mode(e, false);
    LLVMValueRef splat = warp_splat(e, emit_value_bits(e, value));
    if (v->kind == IR_AFFINE) {
        splat = LLVMBuildAdd(e->b, splat, warp_steps(e, ir_bits(v->type), v->stride), "");
    }
    warp_mode(e, old);
    return splat;
}

LLVMValueRef warp_mask_bits(struct emit *e, LLVMValueRef predicates)
{
    LLVMTypeRef bits = LLVMIntTypeInContext(e->cx, e->lanes);
    return LLVMBuildZExt(e->b, LLVMBuildBitCast(e->b, predicates, bits, ""), e->modes[0].i32, "");
}

LLVMValueRef warp_mask_lanes(struct emit *e, LLVMValueRef bits)
{
    LLVMTypeRef narrow = LLVMIntTypeInContext(e->cx, e->lanes);
    return LLVMBuildBitCast(e->b, LLVMBuildTrunc(e->b, bits, narrow, ""), e->modes[1].i1, "");
}

static uint32_t full_mask(const struct emit *e)
{
    return UINT32_MAX >> (32 - e->lanes);
}

LLVMValueRef warp_mask(struct emit *e, const struct ir_inst *inst, bool *ret_all)
{
    bool old = warp_mode(e, false);
    LLVMValueRef mask = emit_int(e, 32, full_mask(e));
    *ret_all = true;
    if (inst->flags & IR_FLAG_MASKED) {
        const struct ir_operand *operand = &inst->src[inst->src_count - 1];
        *ret_all = operand->kind == IR_CONSTANT && (uint32_t)operand->bits == full_mask(e);
        mask = emit_get(e, operand, 32);
    }
    warp_mode(e, old);
    return mask;
}

// ---------------------------------------------------------------- lane by lane

LLVMValueRef warp_helper(struct emit *e, LLVMValueRef fn, LLVMValueRef *args)
{
    bool old = warp_mode(e, false);
    LLVMTypeRef type = LLVMTypeOf(args[0]);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = emit_block(e, "lane");
    LLVMBasicBlockRef done = emit_block(e, "lanes.done");
    LLVMBuildBr(e->b, loop);
    LLVMPositionBuilderAtEnd(e->b, loop);
    LLVMValueRef lane = LLVMBuildPhi(e->b, e->i32, ""), sum = LLVMBuildPhi(e->b, type, "");
    LLVMValueRef scalars[4];
    for (unsigned i = 0; i < 4; i++) {
        scalars[i] = LLVMBuildExtractElement(e->b, args[i], lane, "");
    }
    LLVMValueRef r = emit_helper_call(e, fn, scalars);
    LLVMValueRef next_sum = LLVMBuildInsertElement(e->b, sum, r, lane, "");
    LLVMValueRef next = LLVMBuildAdd(e->b, lane, emit_int(e, 32, 1), "");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntULT, next, emit_int(e, 32, e->lanes), ""),
                    loop, done);
    LLVMValueRef zero = emit_int(e, 32, 0), none = LLVMConstNull(type);
    LLVMAddIncoming(lane, (LLVMValueRef[]){zero, next}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMAddIncoming(sum, (LLVMValueRef[]){none, next_sum}, (LLVMBasicBlockRef[]){before, loop}, 2);
    LLVMPositionBuilderAtEnd(e->b, done);
    warp_mode(e, old);
    return next_sum;
}

struct saved {
    uint32_t value;
    struct emit_value old;
};

struct lane_state {
    LLVMValueRef linear, tid;
    struct saved saved[IR_MAX_SRC + IR_MAX_DST];
    unsigned count;
};

static bool is_saved(const struct lane_state *s, uint32_t value)
{
    for (unsigned i = 0; i < s->count; i++) {
        if (s->saved[i].value == value) {
            return true;
        }
    }
    return false;
}

// From here to leave_lane the operands of inst are those of one lane. `vectors` holds, by source,
// what was made before the lane was known.
static void enter_lane(struct emit *e, const struct ir_inst *inst, LLVMValueRef lane,
                       LLVMValueRef *vectors, struct lane_state *s)
{
    s->count = 0;
    s->linear = e->linear;
    s->tid = e->tid[0];
    for (unsigned i = 0; i < inst->src_count; i++) {
        if (vectors[i] == NULL || is_saved(s, inst->src[i].value)) {
            continue;
        }
        struct emit_value *v = &e->values[inst->src[i].value];
        s->saved[s->count++] = (struct saved){inst->src[i].value, *v};
        *v = (struct emit_value){.bits = LLVMBuildExtractElement(e->b, vectors[i], lane, "")};
    }
    e->linear = LLVMBuildAdd(e->b, e->linear, lane, "");
    e->tid[0] = LLVMBuildAdd(e->b, e->tid[0], lane, "");
    LLVMSetVolatile(emit_store(e, e->linear, e->ctx, offsetof(struct exec_ctx, current), 4), true);
    e->serial = true;
}

static void leave_lane(struct emit *e, struct lane_state *s)
{
    e->serial = false;
    e->linear = s->linear;
    e->tid[0] = s->tid;
    for (unsigned i = 0; i < s->count; i++) {
        e->values[s->saved[i].value] = s->saved[i].old;
    }
}

static void spread_sources(struct emit *e, const struct ir_inst *inst, LLVMValueRef *vectors)
{
    bool old = warp_mode(e, true);
    for (unsigned i = 0; i < inst->src_count; i++) {
        bool scalar =
            inst->src[i].kind != IR_VALUE || e->fn->values[inst->src[i].value].kind == IR_UNIFORM;
        vectors[i] = scalar ? NULL : emit_value_bits(e, inst->src[i].value);
    }
    warp_mode(e, old);
}

// Without the sources that only the warp form has.
static struct ir_inst plain(const struct ir_inst *inst)
{
    struct ir_inst copy = *inst;
    copy.src_count -= (copy.flags & IR_FLAG_MASKED) != 0;
    copy.src_count -= (copy.flags & IR_FLAG_ROOTED) != 0;
    copy.flags &= ~(uint32_t)(IR_FLAG_MASKED | IR_FLAG_ROOTED);
    return copy;
}

static LLVMValueRef first_lane(struct emit *e, LLVMValueRef mask)
{
    return emit_intrinsic(e, "llvm.cttz", e->i32, mask, emit_int(e, 1, 1), NULL);
}

void warp_serial(struct emit *e, const struct ir_inst *inst, LLVMValueRef mask)
{
    struct ir_inst one = plain(inst);
    LLVMValueRef vectors[IR_MAX_SRC], sums[IR_MAX_DST], next_sums[IR_MAX_DST];
    spread_sources(e, &one, vectors);
    bool old = warp_mode(e, false);
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = emit_block(e, "lane");
    LLVMBasicBlockRef done = emit_block(e, "lanes.done");
    LLVMBuildBr(e->b, loop);
    LLVMPositionBuilderAtEnd(e->b, loop);
    LLVMValueRef left = LLVMBuildPhi(e->b, e->i32, "");
    for (unsigned i = 0; i < one.dst_count; i++) {
        LLVMTypeRef type = emit_int_type(e, ir_bits(e->fn->values[one.dst[i]].type));
        sums[i] = LLVMBuildPhi(e->b, LLVMVectorType(type, e->lanes), "");
    }
    LLVMValueRef lane = first_lane(e, left);
    struct lane_state s;
    enter_lane(e, &one, lane, vectors, &s);
    emit_one(e, &one);
    for (unsigned i = 0; i < one.dst_count; i++) {
        LLVMValueRef r = emit_value_bits(e, one.dst[i]);
        next_sums[i] = LLVMBuildInsertElement(e->b, sums[i], r, lane, "");
    }
    leave_lane(e, &s);
    LLVMValueRef rest =
        LLVMBuildAnd(e->b, left, LLVMBuildSub(e->b, left, emit_int(e, 32, 1), ""), "");
    LLVMValueRef more = LLVMBuildICmp(e->b, LLVMIntNE, rest, emit_int(e, 32, 0), "");
    LLVMBasicBlockRef end = LLVMGetInsertBlock(e->b);
    LLVMBuildCondBr(e->b, more, loop, done);
    LLVMBasicBlockRef from[2] = {before, end};
    LLVMAddIncoming(left, (LLVMValueRef[]){mask, rest}, from, 2);
    for (unsigned i = 0; i < one.dst_count; i++) {
        LLVMValueRef none = LLVMConstNull(LLVMTypeOf(sums[i]));
        LLVMAddIncoming(sums[i], (LLVMValueRef[]){none, next_sums[i]}, from, 2);
    }
    LLVMPositionBuilderAtEnd(e->b, done);
    for (unsigned i = 0; i < one.dst_count; i++) {
        e->values[one.dst[i]] = (struct emit_value){.bits = next_sums[i]};
    }
    warp_mode(e, old);
}

void warp_last_lane(struct emit *e, const struct ir_inst *inst, LLVMValueRef mask)
{
    struct ir_inst one = plain(inst);
    LLVMValueRef vectors[IR_MAX_SRC];
    spread_sources(e, &one, vectors);
    bool old = warp_mode(e, false);
    LLVMValueRef zeros = emit_intrinsic(e, "llvm.ctlz", e->i32, mask, emit_int(e, 1, 1), NULL);
    LLVMValueRef lane = LLVMBuildSub(e->b, emit_int(e, 32, 31), zeros, "");
    struct lane_state s;
    enter_lane(e, &one, lane, vectors, &s);
    emit_one(e, &one);
    leave_lane(e, &s);
    warp_mode(e, old);
}

// ---------------------------------------------------------------- operations

static bool any_varying(const struct emit *e, const struct ir_inst *inst)
{
    for (unsigned i = 0; i < inst->dst_count; i++) {
        if (e->fn->values[inst->dst[i]].kind == IR_VARYING) {
            return true;
        }
    }
    return false;
}

static void lane_predicates(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef mask = emit_get(e, &inst->src[1], 32);
    warp_mode(e, true);
    LLVMValueRef p = emit_get(e, &inst->src[0], 1);
    warp_mode(e, false);
    if (inst->src[1].kind != IR_CONSTANT) {
        // Not `and`: what other lanes hold must not count, whatever it is.
        p = LLVMBuildSelect(e->b, warp_mask_lanes(e, mask), p, LLVMConstNull(LLVMTypeOf(p)), "");
    }
    emit_set(e, inst, 0, warp_mask_bits(e, p));
}

static void start_mask(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef threads = emit_ctx(e, offsetof(struct exec_ctx, block_threads), e->i32);
    LLVMValueRef lanes = LLVMBuildSub(e->b, threads, e->linear, "");
    LLVMValueRef full = LLVMBuildICmp(e->b, LLVMIntUGE, lanes, emit_int(e, 32, e->lanes), "");
    LLVMValueRef safe = LLVMBuildAnd(e->b, lanes, emit_int(e, 32, e->lanes - 1), "");
    LLVMValueRef some =
        LLVMBuildNot(e->b, LLVMBuildShl(e->b, emit_int(e, 32, UINT32_MAX), safe, ""), "");
    emit_set(e, inst, 0, emit_select(e, full, emit_int(e, 32, full_mask(e)), some));
}

static void spread_rooted(struct emit *e, const struct ir_inst *inst)
{
    const struct ir_value *root = &e->fn->values[inst->src[1].value];
    bool sign = (inst->flags & IR_FLAG_SRC_SIGNED) != 0;
    LLVMValueRef base = emit_resize(e, emit_get(e, &inst->src[1], 32), 64, sign);
    warp_mode(e, true);
    LLVMValueRef r = emit_get(e, &inst->src[0], 64);
    LLVMValueRef exact = emit_resize(e, emit_get(e, &inst->src[1], 32), 64, sign);
    LLVMValueRef line =
        LLVMBuildAdd(e->b, warp_splat(e, base), warp_steps(e, 64, root->stride), "");
    LLVMValueRef wraps = LLVMBuildSub(e->b, exact, line, "");
    LLVMValueRef factor = emit_int(e, 64, (uint64_t)(int64_t)(int32_t)inst->site);
    r = LLVMBuildAdd(e->b, r, LLVMBuildMul(e->b, wraps, factor, ""), "");
    warp_mode(e, false);
    emit_set(e, inst, 0, r);
}

static void lane_register(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef all[EMIT_LANES];
    for (unsigned lane = 0; lane < e->lanes; lane++) {
        uint32_t eq = UINT32_C(1) << lane, lt = eq - 1;
        uint32_t mask = inst->index == PTX_SREG_lanemask_eq   ? eq
                        : inst->index == PTX_SREG_lanemask_lt ? lt
                        : inst->index == PTX_SREG_lanemask_le ? lt | eq
                        : inst->index == PTX_SREG_lanemask_ge ? ~lt
                                                              : ~(lt | eq);
        all[lane] = emit_int(e, ir_bits(inst->type), mask);
    }
    emit_set(e, inst, 0, LLVMConstVector(all, e->lanes));
}

// An operation whose operands are scalars, for a result that is kept as a vector.
static void scalar_result(struct emit *e, const struct ir_inst *inst, int64_t stride)
{
    emit_one(e, inst);
    for (unsigned i = 0; i < inst->dst_count; i++) {
        uint32_t value = inst->dst[i];
        if (e->fn->values[value].kind == IR_VARYING) {
            LLVMValueRef r = warp_splat(e, emit_value_bits(e, value));
            r = stride == 0 ? r : LLVMBuildAdd(e->b, r, warp_steps(e, emit_width(r), stride), "");
            e->values[value] = (struct emit_value){.bits = r};
        }
    }
}

static void special_register(struct emit *e, const struct ir_inst *inst)
{
    bool lane_mask = inst->index == PTX_SREG_lanemask_eq || inst->index == PTX_SREG_lanemask_lt ||
                     inst->index == PTX_SREG_lanemask_le || inst->index == PTX_SREG_lanemask_ge ||
                     inst->index == PTX_SREG_lanemask_gt;
    bool steps = inst->index == PTX_SREG_laneid || (inst->index == PTX_SREG_tid && inst->sub == 0);
    if (lane_mask) {
        lane_register(e, inst);
    } else {
        scalar_result(e, inst, steps ? 1 : 0);
    }
}

static void convert_address(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    warp_mode(e, true);
    LLVMValueRef v = emit_get(e, &inst->src[0], bits);
    warp_mode(e, false);
    if (inst->space == IR_SHARED) {
        LLVMValueRef base = emit_ctx(e, offsetof(struct exec_ctx, shared), e->ptr);
        base = emit_resize(e, LLVMBuildPtrToInt(e->b, base, e->i64, ""), bits, false);
        base = warp_splat(e, base);
        v = inst->op == IR_cvta ? LLVMBuildAdd(e->b, v, base, "") : LLVMBuildSub(e->b, v, base, "");
    }
    emit_set(e, inst, 0, v);
}

// Saved and loaded registers of 32 lanes; predicates as a mask.
static bool frame_vector(struct emit *e, const struct ir_inst *inst)
{
    bool save = inst->op == IR_frame_save;
    LLVMValueRef v;
    if (save ? !warp_is_varying(e, &inst->src[0]) : !any_varying(e, inst)) {
        return false;
    }
    if (save) {
        warp_mode(e, true);
        v = emit_get(e, &inst->src[0], ir_bits(inst->type));
        warp_mode(e, false);
        v = inst->type == IR_I1 ? warp_mask_bits(e, v) : v;
        emit_store(e, v, e->frame, (uint64_t)inst->offset, 4);
        return true;
    }
    warp_mode(e, true);
    LLVMTypeRef type = emit_int_type(e, ir_bits(inst->type));
    warp_mode(e, false);
    v = emit_load(e, inst->type == IR_I1 ? e->i32 : type, e->frame, (uint64_t)inst->offset, 4);
    e->values[inst->dst[0]] =
        (struct emit_value){.bits = inst->type == IR_I1 ? warp_mask_lanes(e, v) : v};
    return true;
}

void warp_instruction(struct emit *e, const struct ir_inst *inst)
{
    bool all;
    if (warp_memory(e, inst) || warp_operation(e, inst)) {
        return;
    }
    switch (inst->op) {
    case IR_lanes:
        lane_predicates(e, inst);
        return;
    case IR_in_lanes:
        emit_set(e, inst, 0, warp_mask_lanes(e, emit_get(e, &inst->src[0], 32)));
        return;
    case IR_start_mask:
        start_mask(e, inst);
        return;
    case IR_spread:
        spread_rooted(e, inst);
        return;
    case IR_sreg:
        special_register(e, inst);
        return;
    case IR_slot:
        scalar_result(e, inst, (int64_t)e->fn->slots_size);
        return;
    case IR_symbol:
    case IR_function:
    case IR_param_address:
        scalar_result(e, inst, 0);
        return;
    case IR_frame_save:
    case IR_frame_load:
        if (frame_vector(e, inst)) {
            return;
        }
        break;
    case IR_atom:
    case IR_malloc:
    case IR_free:
    case IR_trap:
    case IR_assertfail:
        warp_serial(e, inst, warp_mask(e, inst, &all));
        return;
    case IR_cvta:
    case IR_cvta_to:
        if (any_varying(e, inst)) {
            convert_address(e, inst);
            return;
        }
        break;
    case IR_isspacep:
        if (any_varying(e, inst)) {
            warp_serial(e, inst, emit_int(e, 32, full_mask(e)));
            return;
        }
        break;
    default:
        break;
    }
    warp_mode(e, any_varying(e, inst) && (ir_op_properties(inst->op) & IR_PURE) != 0);
    emit_one(e, inst);
    warp_mode(e, false);
}
