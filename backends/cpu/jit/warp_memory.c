// SPDX-License-Identifier: Apache-2.0
//
// Warp form: loads, stores and fences. Addresses that are the same in all lanes give one access,
// neighbouring ones a vector access (masked where lanes are missing), others a gather or scatter.
// An affine address that came from a 32-bit value that may have wrapped is tested where it is used:
// lanes that wrap make it a gather. Ordered accesses go lane by lane.
#include "emit.h"

#include <stddef.h>
#include <string.h>

struct access {
    const struct ir_inst *inst;
    const struct ir_operand *operand; // address, or NULL
    unsigned count, bytes, first;     // elements, bytes of each, first value of a store
    int64_t stride;                   // from lane to lane, when affine
    enum ir_kind kind;
    LLVMValueRef mask; // scalar
    bool all;          // known to be all lanes
};

static struct access describe(struct emit *e, const struct ir_inst *inst)
{
    struct access a = {.inst = inst, .kind = IR_UNIFORM};
    unsigned extra = ((inst->flags & IR_FLAG_MASKED) != 0) + ((inst->flags & IR_FLAG_ROOTED) != 0);
    unsigned sources = inst->src_count - extra;
    a.count = inst->vector > 1 ? inst->vector : 1;
    a.bytes = ir_bits(inst->type) / 8;
    a.first = inst->op == IR_st ? sources - a.count : 0;
    bool address = inst->op == IR_st ? a.first > 0 : sources > 0;
    a.operand = address ? &inst->src[0] : NULL;
    if (address && inst->src[0].kind == IR_VALUE) {
        const struct ir_value *v = &e->fn->values[inst->src[0].value];
        a.kind = v->kind;
        a.stride = v->kind == IR_AFFINE ? v->stride : 0;
    }
    if (inst->space == IR_SLOT && a.kind != IR_VARYING) {
        a.kind = IR_AFFINE;
        a.stride += (int64_t)e->fn->slots_size;
    }
    a.mask = warp_mask(e, inst, &a.all);
    return a;
}

// ---------------------------------------------------------------- addresses

// i1: no lane wraps where the address is an affine 32-bit value or made from one; NULL: it cannot.
static LLVMValueRef unwrapped(struct emit *e, const struct access *a)
{
    const struct ir_inst *inst = a->inst;
    const struct ir_operand *source = NULL;
    bool sign = false;
    if (a->operand != NULL && a->operand->kind == IR_VALUE &&
        e->fn->values[a->operand->value].kind == IR_AFFINE &&
        e->fn->values[a->operand->value].type == IR_I32) {
        source = a->operand;
    } else if (inst->flags & IR_FLAG_ROOTED) {
        source = &inst->src[inst->src_count - 1 - ((inst->flags & IR_FLAG_MASKED) != 0)];
        sign = (inst->flags & IR_FLAG_SRC_SIGNED) != 0;
    }
    if (source == NULL) {
        return NULL;
    }
    int64_t stride = e->fn->values[source->value].stride;
    LLVMValueRef base = emit_get(e, source, 32);
    if (source == a->operand && inst->offset != 0) {
        base = LLVMBuildAdd(e->b, base, emit_int(e, 32, (uint64_t)inst->offset), "");
    }
    uint64_t reach = (uint64_t)(stride < 0 ? -stride : stride) * (e->lanes - 1);
    const char *name = stride < 0 ? (sign ? "llvm.ssub.with.overflow" : "llvm.usub.with.overflow")
                                  : (sign ? "llvm.sadd.with.overflow" : "llvm.uadd.with.overflow");
    LLVMValueRef pair = emit_intrinsic(e, name, e->i32, base, emit_int(e, 32, reach), NULL);
    return LLVMBuildNot(e->b, LLVMBuildExtractValue(e->b, pair, 1, ""), "");
}

// Vector of what wrapping adds to a rooted address.
static LLVMValueRef wrap_correction(struct emit *e, const struct ir_inst *inst)
{
    const struct ir_operand *source =
        &inst->src[inst->src_count - 1 - ((inst->flags & IR_FLAG_MASKED) != 0)];
    const struct ir_value *root = &e->fn->values[source->value];
    bool sign = (inst->flags & IR_FLAG_SRC_SIGNED) != 0;
    LLVMValueRef base = emit_resize(e, emit_get(e, source, 32), 64, sign);
    warp_mode(e, true);
    LLVMValueRef exact = emit_resize(e, emit_get(e, source, 32), 64, sign);
    LLVMValueRef line =
        LLVMBuildAdd(e->b, warp_splat(e, base), warp_steps(e, 64, root->stride), "");
    LLVMValueRef r = LLVMBuildMul(e->b, LLVMBuildSub(e->b, exact, line, ""),
                                  emit_int(e, 64, (uint64_t)(int64_t)(int32_t)inst->site), "");
    warp_mode(e, false);
    return r;
}

// <32 x ptr>, exact.
static LLVMValueRef pointers(struct emit *e, const struct access *a)
{
    const struct ir_inst *inst = a->inst;
    LLVMValueRef base = NULL; // scalar pointer below the address
    switch (inst->space) {
    case IR_SHARED:
        base = emit_ctx(e, offsetof(struct exec_ctx, shared), e->ptr);
        break;
    case IR_PARAM_ENTRY:
        base = emit_block_pointer(e, inst->space);
        break;
    case IR_SLOT:
        base = e->slots[inst->index];
        break;
    default:
        break;
    }
    unsigned width = a->operand != NULL && a->operand->kind == IR_VALUE
                         ? ir_bits(e->fn->values[a->operand->value].type)
                         : 64;
    LLVMValueRef low =
        base != NULL ? warp_splat(e, LLVMBuildPtrToInt(e->b, base, e->i64, "")) : NULL;
    warp_mode(e, true);
    LLVMValueRef v = a->operand != NULL ? emit_get(e, a->operand, width) : emit_int(e, width, 0);
    v = LLVMBuildAdd(e->b, v, emit_int(e, width, (uint64_t)inst->offset), "");
    v = emit_resize(e, v, 64, false);
    if (inst->space == IR_SLOT) {
        v = LLVMBuildAdd(e->b, v, warp_steps(e, 64, (int64_t)e->fn->slots_size), "");
    }
    v = low != NULL ? LLVMBuildAdd(e->b, v, low, "") : v;
    warp_mode(e, false);
    if (inst->flags & IR_FLAG_ROOTED) {
        v = LLVMBuildAdd(e->b, v, wrap_correction(e, inst), "");
    }
    return LLVMBuildIntToPtr(e->b, v, LLVMVectorType(e->ptr, e->lanes), "");
}

static LLVMValueRef shuffle(struct emit *e, LLVMValueRef a, LLVMValueRef b, const uint32_t *order,
                            unsigned count)
{
    LLVMValueRef indices[EMIT_LANES * 16];
    for (unsigned i = 0; i < count; i++) {
        indices[i] = LLVMConstInt(e->modes[0].i32, order[i], false);
    }
    return LLVMBuildShuffleVector(e->b, a, b, LLVMConstVector(indices, count), "");
}

// The predicates of the lanes, each `count` times.
static LLVMValueRef element_mask(struct emit *e, const struct access *a)
{
    LLVMValueRef lanes = warp_mask_lanes(e, a->mask);
    if (a->count == 1) {
        return lanes;
    }
    uint32_t order[EMIT_LANES * 16];
    for (unsigned i = 0; i < e->lanes * a->count; i++) {
        order[i] = i / a->count;
    }
    return shuffle(e, lanes, LLVMGetPoison(LLVMTypeOf(lanes)), order, e->lanes * a->count);
}

// ---------------------------------------------------------------- loads

static void load_row(struct emit *e, const struct access *a, LLVMValueRef *ret)
{
    LLVMTypeRef element = emit_element_type(e, a->inst->type);
    LLVMTypeRef type = LLVMVectorType(element, e->lanes * a->count);
    LLVMValueRef at = emit_address(e, a->inst, a->operand), v;
    unsigned align = emit_element_align(a->inst);
    if (a->all) {
        v = emit_load(e, type, at, 0, align);
    } else {
        v = warp_masked_load(e, type, at, align, element_mask(e, a));
    }
    for (unsigned k = 0; k < a->count; k++) {
        uint32_t order[EMIT_LANES];
        for (unsigned i = 0; i < e->lanes; i++) {
            order[i] = i * a->count + k;
        }
        ret[k] = a->count == 1 ? v : shuffle(e, v, LLVMGetPoison(type), order, e->lanes);
    }
}

static LLVMValueRef pointers_at(struct emit *e, LLVMValueRef at, uint64_t offset)
{
    if (offset == 0) {
        return at;
    }
    LLVMValueRef index = emit_int(e, 64, offset);
    return LLVMBuildGEP2(e->b, e->i8, at, &index, 1, "");
}

static void gather(struct emit *e, const struct access *a, LLVMValueRef *ret)
{
    LLVMTypeRef type = LLVMVectorType(emit_element_type(e, a->inst->type), e->lanes);
    LLVMValueRef at = pointers(e, a), lanes = warp_mask_lanes(e, a->mask);
    for (unsigned k = 0; k < a->count; k++) {
        ret[k] = warp_masked_load(e, type, pointers_at(e, at, (uint64_t)k * a->bytes),
                                  emit_element_align(a->inst), lanes);
    }
}

static void set_results(struct emit *e, const struct access *a, LLVMValueRef *v)
{
    bool number = a->inst->type == IR_F32 || a->inst->type == IR_F64;
    warp_mode(e, true);
    for (unsigned k = 0; k < a->count; k++) {
        if (number) {
            emit_set_raw(e, a->inst->dst[k], v[k], false);
        } else {
            emit_set(e, a->inst, k, v[k]);
        }
    }
    warp_mode(e, false);
}

static struct ir_inst plain(const struct ir_inst *inst)
{
    struct ir_inst copy = *inst;
    copy.src_count -= (copy.flags & IR_FLAG_MASKED) != 0;
    copy.src_count -= (copy.flags & IR_FLAG_ROOTED) != 0;
    copy.flags &= ~(uint32_t)(IR_FLAG_MASKED | IR_FLAG_ROOTED);
    return copy;
}

static bool neighbours(const struct access *a)
{
    return a->kind == IR_AFFINE && a->stride == (int64_t)(a->count * a->bytes);
}

// One load for all lanes; results that are kept as vectors are spread.
static void load_once(struct emit *e, const struct ir_inst *inst)
{
    struct ir_inst one = plain(inst);
    emit_one(e, &one);
    for (unsigned i = 0; i < one.dst_count; i++) {
        uint32_t value = one.dst[i];
        struct emit_value *v = &e->values[value];
        if (e->fn->values[value].kind == IR_VARYING) {
            *v = v->raw != NULL
                     ? (struct emit_value){.raw = warp_splat(e, v->raw), .dirty = v->dirty}
                     : (struct emit_value){.bits = warp_splat(e, v->bits)};
        }
    }
}

static void load(struct emit *e, const struct ir_inst *inst)
{
    struct access a = describe(e, inst);
    LLVMValueRef row[16], wild[16];
    if (a.kind == IR_UNIFORM) {
        load_once(e, inst);
        return;
    }
    if (inst->order != IR_WEAK) {
        warp_serial(e, inst, a.mask);
        return;
    }
    if (!neighbours(&a)) {
        gather(e, &a, row);
        set_results(e, &a, row);
        return;
    }
    LLVMValueRef fine = unwrapped(e, &a);
    if (fine == NULL) {
        load_row(e, &a, row);
        set_results(e, &a, row);
        return;
    }
    LLVMBasicBlockRef blocks[2] = {emit_block(e, "row"), emit_block(e, "wrapped")};
    LLVMBasicBlockRef done = emit_block(e, "loaded");
    LLVMBuildCondBr(e->b, fine, blocks[0], blocks[1]);
    LLVMPositionBuilderAtEnd(e->b, blocks[0]);
    load_row(e, &a, row);
    blocks[0] = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, blocks[1]);
    gather(e, &a, wild);
    blocks[1] = LLVMGetInsertBlock(e->b);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, done);
    for (unsigned k = 0; k < a.count; k++) {
        LLVMValueRef phi = LLVMBuildPhi(e->b, LLVMTypeOf(row[k]), "");
        LLVMAddIncoming(phi, (LLVMValueRef[]){row[k], wild[k]}, blocks, 2);
        row[k] = phi;
    }
    set_results(e, &a, row);
}

// ---------------------------------------------------------------- stores

static void store_row(struct emit *e, const struct access *a, LLVMValueRef *values)
{
    LLVMValueRef v = values[0], at = emit_address(e, a->inst, a->operand);
    uint32_t order[EMIT_LANES * 16];
    for (unsigned width = 1; width < a->count; width *= 2) { // pairs, then pairs of pairs …
        unsigned size = 2 * width * e->lanes;
        for (unsigned i = 0; i < size; i++) {
            order[i] = i;
        }
        for (unsigned k = 0; k < a->count; k += 2 * width) {
            values[k] = shuffle(e, values[k], values[k + width], order, size);
        }
    }
    if (a->count > 1) {
        for (unsigned i = 0; i < e->lanes * a->count; i++) {
            order[i] = i % a->count * e->lanes + i / a->count;
        }
        v = shuffle(e, values[0], LLVMGetPoison(LLVMTypeOf(values[0])), order, e->lanes * a->count);
    }
    unsigned align = emit_element_align(a->inst);
    if (a->all) {
        emit_store(e, v, at, 0, align);
        return;
    }
    warp_masked_store(e, v, at, align, element_mask(e, a));
}

static void scatter(struct emit *e, const struct access *a, LLVMValueRef *values)
{
    LLVMValueRef at = pointers(e, a), lanes = warp_mask_lanes(e, a->mask);
    for (unsigned k = 0; k < a->count; k++) {
        warp_masked_store(e, values[k], pointers_at(e, at, (uint64_t)k * a->bytes),
                          emit_element_align(a->inst), lanes);
    }
}

static void store_once(struct emit *e, const struct access *a)
{
    bool varying = false;
    for (unsigned k = 0; k < a->count; k++) {
        const struct ir_operand *v = &a->inst->src[a->first + k];
        varying |= v->kind == IR_VALUE && e->fn->values[v->value].kind != IR_UNIFORM;
    }
    if (varying) {
        warp_last_lane(e, a->inst, a->mask);
    } else {
        struct ir_inst one = plain(a->inst);
        emit_one(e, &one);
    }
}

static void store(struct emit *e, const struct ir_inst *inst)
{
    struct access a = describe(e, inst);
    if (a.kind == IR_UNIFORM) {
        store_once(e, &a);
        return;
    }
    // Elements of lanes that overlap are stored lane after lane.
    bool overlap = a.count > 1 && !neighbours(&a);
    if (inst->order != IR_WEAK || (overlap && inst->space != IR_SLOT)) {
        warp_serial(e, inst, a.mask);
        return;
    }
    LLVMValueRef values[16], copies[16];
    warp_mode(e, true);
    for (unsigned k = 0; k < a.count; k++) {
        values[k] = emit_get(e, &inst->src[a.first + k], ir_bits(inst->type));
        copies[k] = values[k];
    }
    warp_mode(e, false);
    if (!neighbours(&a)) {
        scatter(e, &a, values);
        return;
    }
    LLVMValueRef fine = unwrapped(e, &a);
    if (fine == NULL) {
        store_row(e, &a, values);
        return;
    }
    LLVMBasicBlockRef row = emit_block(e, "row"), wild = emit_block(e, "wrapped");
    LLVMBasicBlockRef done = emit_block(e, "stored");
    LLVMBuildCondBr(e->b, fine, row, wild);
    LLVMPositionBuilderAtEnd(e->b, row);
    store_row(e, &a, values);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, wild);
    scatter(e, &a, copies);
    LLVMBuildBr(e->b, done);
    LLVMPositionBuilderAtEnd(e->b, done);
}

bool warp_memory(struct emit *e, const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_ld:
        load(e, inst);
        return true;
    case IR_st:
        store(e, inst);
        return true;
    case IR_fence:
        emit_one(e, inst);
        return true;
    default:
        return false;
    }
}
