// SPDX-License-Identifier: Apache-2.0
//
// Warp form: warp operations (PTX ISA 9.7.9, 9.7.13) on lanes that are together, as vector code.
// The last source is the mask of the lanes here; all live lanes of the warp are (pass_uniform.c
// refuses others), so a membermask names lanes that are here or have exited. A lane that its own
// membermask does not name is a fault. Results are those of exec/warp.c.
#include "emit.h"

#include <stddef.h>

struct group {
    LLVMValueRef active;  // scalar i32: lanes here
    bool all;             // … all 32
    bool varying;         // membermasks differ
    bool whole;           // the membermask is known to be all ones
    LLVMValueRef members; // i32, or <32 x i32> when varying: membermask & active
};

static LLVMValueRef scalar_int(struct emit *e, uint64_t value)
{
    return LLVMConstInt(e->modes[0].i32, value, false);
}

static LLVMValueRef lane_bits(struct emit *e)
{
    LLVMValueRef all[EMIT_LANES];
    for (unsigned i = 0; i < e->lanes; i++) {
        all[i] = scalar_int(e, UINT32_C(1) << i);
    }
    return LLVMConstVector(all, e->lanes);
}

static LLVMValueRef vector_of(struct emit *e, const struct ir_operand *operand, unsigned bits)
{
    warp_mode(e, true);
    LLVMValueRef v = emit_get(e, operand, bits);
    warp_mode(e, false);
    return v;
}

static void trap_if(struct emit *e, LLVMValueRef bad, const char *reason)
{
    LLVMBasicBlockRef trap = emit_block(e, "trap"), go = emit_block(e, "go");
    LLVMBuildCondBr(e->b, bad, trap, go);
    LLVMPositionBuilderAtEnd(e->b, trap);
    emit_trap(e, reason);
    LLVMPositionBuilderAtEnd(e->b, go);
}

// `operand` is the membermask; NULL: the lanes that are here.
static struct group group_of(struct emit *e, const struct ir_inst *inst,
                             const struct ir_operand *operand)
{
    static const char reason[] = "warp operation whose member mask does not name the lane itself";
    struct group g = {0};
    g.active = warp_mask(e, inst, &g.all);
    g.members = g.active;
    g.whole =
        operand == NULL || (operand->kind == IR_CONSTANT && (uint32_t)operand->bits == UINT32_MAX);
    if (g.whole) {
        return g;
    }
    g.varying = operand->kind == IR_VALUE && e->fn->values[operand->value].kind != IR_UNIFORM;
    LLVMValueRef unnamed;
    if (!g.varying) {
        LLVMValueRef mask = emit_get(e, operand, 32);
        g.members = LLVMBuildAnd(e->b, mask, g.active, "");
        unnamed = LLVMBuildAnd(e->b, g.active, LLVMBuildNot(e->b, mask, ""), "");
    } else {
        LLVMValueRef mask = vector_of(e, operand, 32);
        LLVMValueRef own = LLVMBuildAnd(e->b, mask, lane_bits(e), "");
        own = LLVMBuildICmp(e->b, LLVMIntEQ, own, LLVMConstNull(LLVMTypeOf(own)), "");
        own = LLVMBuildSelect(e->b, warp_mask_lanes(e, g.active), own,
                              LLVMConstNull(LLVMTypeOf(own)), "");
        unnamed = warp_mask_bits(e, own);
        g.members = LLVMBuildAnd(e->b, mask, warp_splat(e, g.active), "");
    }
    trap_if(e, LLVMBuildICmp(e->b, LLVMIntNE, unnamed, emit_int(e, 32, 0), ""), reason);
    return g;
}

static void set_bits(struct emit *e, const struct ir_inst *inst, unsigned n, LLVMValueRef v)
{
    if (n >= inst->dst_count) {
        return;
    }
    bool wide = e->fn->values[inst->dst[n]].kind == IR_VARYING;
    if (wide && LLVMGetTypeKind(LLVMTypeOf(v)) != LLVMVectorTypeKind) {
        v = warp_splat(e, v);
    }
    e->values[inst->dst[n]] = (struct emit_value){.bits = v};
}

// ---------------------------------------------------------------- shfl

struct source_lanes {
    LLVMValueRef from, in_range; // <32 x i32>, <32 x i1>
    bool constant;
    uint32_t lanes[EMIT_LANES]; // when constant
};

static struct source_lanes source_lanes(struct emit *e, const struct ir_inst *inst)
{
    struct source_lanes s = {0};
    LLVMBuilderRef x = e->b;
    LLVMValueRef b = vector_of(e, &inst->src[1], 32), c = vector_of(e, &inst->src[2], 32);
    warp_mode(e, true);
    LLVMValueRef own = warp_steps(e, 32, 1), five = emit_int(e, 32, 31);
    LLVMValueRef delta = LLVMBuildAnd(x, b, five, ""), clamp = LLVMBuildAnd(x, c, five, "");
    LLVMValueRef segment = LLVMBuildAnd(x, LLVMBuildLShr(x, c, emit_int(e, 32, 8), ""), five, "");
    LLVMValueRef outside = LLVMBuildAnd(x, LLVMBuildNot(x, segment, ""), five, "");
    LLVMValueRef start = LLVMBuildAnd(x, own, segment, "");
    LLVMValueRef limit = LLVMBuildOr(x, start, LLVMBuildAnd(x, clamp, outside, ""), "");
    LLVMValueRef from;
    switch (inst->sub) {
    case EXEC_SHFL_UP:
        from = LLVMBuildSub(x, own, delta, "");
        break;
    case EXEC_SHFL_DOWN:
        from = LLVMBuildAdd(x, own, delta, "");
        break;
    case EXEC_SHFL_BFLY:
        from = LLVMBuildXor(x, own, delta, "");
        break;
    default:
        from = LLVMBuildOr(x, start, LLVMBuildAnd(x, delta, outside, ""), "");
        break;
    }
    s.in_range =
        LLVMBuildICmp(x, inst->sub == EXEC_SHFL_UP ? LLVMIntSGE : LLVMIntSLE, from, limit, "");
    s.from = LLVMBuildSelect(x, s.in_range, from, own, "");
    warp_mode(e, false);
    s.constant = inst->src[1].kind == IR_CONSTANT && inst->src[2].kind == IR_CONSTANT;
    for (unsigned lane = 0; s.constant && lane < e->lanes; lane++) {
        int d = (int)(inst->src[1].bits & 31), k = (int)(inst->src[2].bits & 31), l = (int)lane;
        int g = (int)(inst->src[2].bits >> 8 & 31), max = (l & g) | (k & ~g & 31);
        int f = inst->sub == EXEC_SHFL_UP     ? l - d
                : inst->sub == EXEC_SHFL_DOWN ? l + d
                : inst->sub == EXEC_SHFL_BFLY ? l ^ d
                                              : (l & g) | (d & ~g & 31);
        bool fits = inst->sub == EXEC_SHFL_UP ? f >= max : f <= max;
        s.lanes[lane] = (uint32_t)(fits ? f : l);
    }
    return s;
}

// Memory of one vector in the frame of the function.
static LLVMValueRef scratch(struct emit *e, LLVMTypeRef type)
{
    LLVMValueRef memory = LLVMBuildAlloca(e->pb, type, "lanes");
    LLVMSetAlignment(memory, 64);
    return memory;
}

// v[from[lane]] for each lane.
static LLVMValueRef permute(struct emit *e, LLVMValueRef v, const struct source_lanes *s)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    if (s->constant) {
        LLVMValueRef order[EMIT_LANES];
        for (unsigned i = 0; i < e->lanes; i++) {
            order[i] = scalar_int(e, s->lanes[i]);
        }
        return LLVMBuildShuffleVector(e->b, v, LLVMGetPoison(type),
                                      LLVMConstVector(order, e->lanes), "");
    }
    // Through memory; LLVM has no shuffle by a variable vector.
    LLVMValueRef memory = scratch(e, type), r = LLVMGetPoison(type);
    LLVMSetAlignment(LLVMBuildStore(e->b, v, memory), 64);
    for (unsigned i = 0; i < e->lanes; i++) {
        LLVMValueRef from = LLVMBuildExtractElement(e->b, s->from, scalar_int(e, i), "");
        LLVMValueRef at = LLVMBuildGEP2(e->b, LLVMGetElementType(type), memory, &from, 1, "");
        LLVMValueRef one = LLVMBuildLoad2(e->b, LLVMGetElementType(type), at, "");
        r = LLVMBuildInsertElement(e->b, r, one, scalar_int(e, i), "");
    }
    return r;
}

static void shuffle(struct emit *e, const struct ir_inst *inst, const struct ir_operand *mask)
{
    struct group g = group_of(e, inst, mask);
    LLVMValueRef v = vector_of(e, &inst->src[0], ir_bits(inst->type));
    struct source_lanes s = source_lanes(e, inst);
    LLVMValueRef r = permute(e, v, &s);
    if (!g.all || !g.whole) {
        // A source that does not take part gives an undefined value: the lane keeps its own.
        LLVMValueRef members = g.varying ? g.members : warp_splat(e, g.members);
        LLVMValueRef one = warp_splat(e, scalar_int(e, 1));
        LLVMValueRef there = LLVMBuildAnd(e->b, LLVMBuildLShr(e->b, members, s.from, ""), one, "");
        there = LLVMBuildICmp(e->b, LLVMIntNE, there, LLVMConstNull(LLVMTypeOf(there)), "");
        r = LLVMBuildSelect(e->b, there, r, v, "");
    }
    set_bits(e, inst, 0, r);
    set_bits(e, inst, 1, s.in_range);
}

// ---------------------------------------------------------------- vote, match, redux, elect

static LLVMValueRef bits_of(struct emit *e, LLVMValueRef predicates, LLVMValueRef active)
{
    LLVMValueRef none = LLVMConstNull(LLVMTypeOf(predicates));
    return warp_mask_bits(e,
                          LLVMBuildSelect(e->b, warp_mask_lanes(e, active), predicates, none, ""));
}

static void vote(struct emit *e, const struct ir_inst *inst, const struct ir_operand *mask)
{
    struct group g = group_of(e, inst, mask);
    LLVMValueRef votes = bits_of(e, vector_of(e, &inst->src[0], 1), g.active);
    votes = g.varying ? LLVMBuildAnd(e->b, warp_splat(e, votes), g.members, "") : votes;
    LLVMValueRef none = LLVMConstNull(LLVMTypeOf(votes));
    LLVMValueRef all = LLVMBuildICmp(e->b, LLVMIntEQ, votes, g.members, "");
    switch (inst->sub) {
    case EXEC_VOTE_ALL:
        set_bits(e, inst, 0, all);
        break;
    case EXEC_VOTE_ANY:
        set_bits(e, inst, 0, LLVMBuildICmp(e->b, LLVMIntNE, votes, none, ""));
        break;
    case EXEC_VOTE_UNI:
        set_bits(e, inst, 0,
                 LLVMBuildOr(e->b, all, LLVMBuildICmp(e->b, LLVMIntEQ, votes, none, ""), ""));
        break;
    default:
        set_bits(e, inst, 0, votes);
        break;
    }
}

static void match_all(struct emit *e, const struct ir_inst *inst, const struct group *g,
                      LLVMValueRef v)
{
    LLVMValueRef lane = emit_intrinsic(e, "llvm.cttz", e->i32, g->members, emit_int(e, 1, 1), NULL);
    LLVMValueRef first = LLVMBuildExtractElement(e->b, v, lane, "");
    LLVMValueRef same = LLVMBuildICmp(e->b, LLVMIntEQ, v, warp_splat(e, first), "");
    LLVMValueRef bits = bits_of(e, same, g->members);
    LLVMValueRef all = LLVMBuildICmp(e->b, LLVMIntEQ, bits, g->members, "");
    set_bits(e, inst, 0, emit_select(e, all, g->members, emit_int(e, 32, 0)));
    set_bits(e, inst, 1, all);
}

// One round for each value that occurs: the lanes that have it get their mask.
static void match_any(struct emit *e, const struct ir_inst *inst, const struct group *g,
                      LLVMValueRef v)
{
    LLVMTypeRef masks = e->modes[1].i32;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(e->b), loop = emit_block(e, "match");
    LLVMBasicBlockRef done = emit_block(e, "matched");
    LLVMBuildBr(e->b, loop);
    LLVMPositionBuilderAtEnd(e->b, loop);
    LLVMValueRef left = LLVMBuildPhi(e->b, e->i32, ""), sum = LLVMBuildPhi(e->b, masks, "");
    LLVMValueRef lane = emit_intrinsic(e, "llvm.cttz", e->i32, left, emit_int(e, 1, 1), NULL);
    LLVMValueRef first = LLVMBuildExtractElement(e->b, v, lane, "");
    LLVMValueRef same = LLVMBuildICmp(e->b, LLVMIntEQ, v, warp_splat(e, first), "");
    LLVMValueRef bits = bits_of(e, same, g->members);
    LLVMValueRef next = LLVMBuildSelect(e->b, same, warp_splat(e, bits), sum, "");
    LLVMValueRef rest = LLVMBuildAnd(e->b, left, LLVMBuildNot(e->b, bits, ""), "");
    LLVMBuildCondBr(e->b, LLVMBuildICmp(e->b, LLVMIntNE, rest, emit_int(e, 32, 0), ""), loop, done);
    LLVMBasicBlockRef from[2] = {before, loop};
    LLVMAddIncoming(left, (LLVMValueRef[]){g->members, rest}, from, 2);
    LLVMAddIncoming(sum, (LLVMValueRef[]){LLVMConstNull(masks), next}, from, 2);
    LLVMPositionBuilderAtEnd(e->b, done);
    set_bits(e, inst, 0, next);
    set_bits(e, inst, 1, emit_int(e, 1, 1));
}

static void reduce(struct emit *e, const struct ir_inst *inst)
{
    static const struct {
        const char *name;
        uint32_t neutral;
    } operations[] = {
        [EXEC_REDUX_ADD] = {"llvm.vector.reduce.add", 0},
        [EXEC_REDUX_MIN_S] = {"llvm.vector.reduce.smin", 0x7fffffffu},
        [EXEC_REDUX_MAX_S] = {"llvm.vector.reduce.smax", 0x80000000u},
        [EXEC_REDUX_MIN_U] = {"llvm.vector.reduce.umin", UINT32_MAX},
        [EXEC_REDUX_MAX_U] = {"llvm.vector.reduce.umax", 0},
        [EXEC_REDUX_AND] = {"llvm.vector.reduce.and", UINT32_MAX},
        [EXEC_REDUX_OR] = {"llvm.vector.reduce.or", 0},
        [EXEC_REDUX_XOR] = {"llvm.vector.reduce.xor", 0},
    };
    struct group g = group_of(e, inst, &inst->src[1]);
    LLVMValueRef v = vector_of(e, &inst->src[0], 32);
    LLVMValueRef neutral = warp_splat(e, scalar_int(e, operations[inst->sub].neutral));
    v = LLVMBuildSelect(e->b, warp_mask_lanes(e, g.members), v, neutral, "");
    set_bits(e, inst, 0,
             emit_intrinsic(e, operations[inst->sub].name, LLVMTypeOf(v), v, NULL, NULL));
}

static void elect(struct emit *e, const struct ir_inst *inst)
{
    struct group g = group_of(e, inst, &inst->src[0]);
    LLVMValueRef leader =
        emit_intrinsic(e, "llvm.cttz", e->i32, g.members, emit_int(e, 1, 1), NULL);
    set_bits(e, inst, 0, leader);
    set_bits(e, inst, 1,
             LLVMBuildICmp(e->b, LLVMIntEQ, warp_steps(e, 32, 1), warp_splat(e, leader), ""));
}

bool warp_operation(struct emit *e, const struct ir_inst *inst)
{
    struct group g;
    switch (inst->op) {
    case IR_shfl:
        shuffle(e, inst, &inst->src[3]);
        return true;
    case IR_shfl_old:
        shuffle(e, inst, NULL);
        return true;
    case IR_vote:
        vote(e, inst, &inst->src[1]);
        return true;
    case IR_vote_old:
        vote(e, inst, NULL);
        return true;
    case IR_match:
        g = group_of(e, inst, &inst->src[1]);
        (inst->sub == 0 ? match_any : match_all)(e, inst, &g,
                                                 vector_of(e, &inst->src[0], ir_bits(inst->type)));
        return true;
    case IR_redux:
        reduce(e, inst);
        return true;
    case IR_elect:
        elect(e, inst);
        return true;
    case IR_activemask:
        g = group_of(e, inst, NULL);
        set_bits(e, inst, 0, g.active);
        return true;
    case IR_warp_sync:
        group_of(e, inst, &inst->src[0]);
        return true;
    default:
        return false;
    }
}
