// SPDX-License-Identifier: Apache-2.0
//
// Moves, addresses, loads, stores and fences (PTX ISA 9.7.9, 9.7.13). GENERIC, GLOBAL, CONST and
// LOCAL addresses are host addresses; SHARED ones are offsets in the block's window. Addresses that
// come from a known object are built as GEPs on it, so that LLVM sees the object.
#include "emit.h"

#include <stddef.h>

enum { POINTER_DEPTH = 8 };

static LLVMValueRef pointer_of(struct emit *e, const struct ir_operand *operand, unsigned depth);

LLVMValueRef emit_shared_pointer(struct emit *e, LLVMValueRef offset)
{
    LLVMValueRef base = emit_ctx(e, offsetof(struct exec_ctx, shared), e->ptr);
    offset = emit_resize(e, offset, 64, false);
    return LLVMBuildGEP2(e->b, e->i8, base, &offset, 1, "");
}

static LLVMValueRef slot_pointer(struct emit *e, uint32_t slot)
{
    return e->slots[slot];
}

// Address of program variable `index` on this device.
static LLVMValueRef variable_pointer(struct emit *e, uint32_t index)
{
    LLVMValueRef table = emit_ctx(e, offsetof(struct exec_ctx, symbols), e->ptr);
    return emit_invariant_load(e, e->ptr, emit_gep(e, table, 8ull * index), 8);
}

static bool shared_offset(struct emit *e, const struct ir_inst *inst, uint64_t *ret_offset)
{
    const struct ir_unit *unit = e->unit;
    for (uint32_t i = 0; i < unit->shared_count; i++) {
        if (unit->shared[i].variable == inst->index) {
            *ret_offset = unit->shared[i].offset + (uint64_t)inst->offset;
            return true;
        }
    }
    emit_fail(e, inst, "shared variable has no place in the unit");
    return false;
}

LLVMValueRef emit_block_pointer(struct emit *e, enum ir_space space)
{
    switch (space) {
    case IR_PARAM_ENTRY:
        return emit_ctx(e, offsetof(struct exec_ctx, params), e->ptr);
    case IR_ARGUMENT:
        return e->args;
    default:
        return e->rets;
    }
}

// Is the value an address inside one known object (so that it may be a GEP on it)?
static bool rooted(struct emit *e, const struct ir_operand *operand, unsigned depth)
{
    if (operand->kind != IR_VALUE || depth == 0 || e->serial) {
        return false;
    }
    const struct ir_inst *def = e->fn->values[operand->value].def;
    if (def == NULL) {
        return false;
    }
    switch (def->op) {
    case IR_slot:
    case IR_param_address:
        return true;
    case IR_symbol:
        return def->space != IR_SHARED;
    case IR_ld:
        return def->space == IR_PARAM_ENTRY && def->type == IR_I64 && def->vector == 1;
    case IR_mov:
        return def->type == IR_I64 && rooted(e, &def->src[0], depth - 1);
    case IR_cvta:
        return def->type == IR_I64 &&
               (def->space == IR_SHARED || rooted(e, &def->src[0], depth - 1));
    case IR_cvta_to:
        return def->type == IR_I64 && def->space != IR_SHARED && rooted(e, &def->src[0], depth - 1);
    case IR_add:
        return def->type == IR_I64 && def->dst_count == 1 && def->src_count == 2 &&
               (rooted(e, &def->src[0], depth - 1) || rooted(e, &def->src[1], depth - 1));
    default:
        return false;
    }
}

static LLVMValueRef pointer_of(struct emit *e, const struct ir_operand *operand, unsigned depth)
{
    if (rooted(e, operand, depth)) {
        const struct ir_inst *def = e->fn->values[operand->value].def;
        switch (def->op) {
        case IR_slot:
            return emit_gep(e, slot_pointer(e, def->index), (uint64_t)def->offset);
        case IR_param_address:
            return emit_gep(e, emit_block_pointer(e, def->space), (uint64_t)def->offset);
        case IR_symbol:
            return emit_gep(e, variable_pointer(e, def->index), (uint64_t)def->offset);
        case IR_mov:
        case IR_cvta_to:
            return pointer_of(e, &def->src[0], depth - 1);
        case IR_cvta:
            return def->space == IR_SHARED ? emit_shared_pointer(e, emit_get(e, &def->src[0], 64))
                                           : pointer_of(e, &def->src[0], depth - 1);
        case IR_add: {
            unsigned base = rooted(e, &def->src[0], depth - 1) ? 0 : 1;
            LLVMValueRef at = pointer_of(e, &def->src[base], depth - 1);
            LLVMValueRef offset = emit_get(e, &def->src[1 - base], 64);
            return LLVMBuildGEP2(e->b, e->i8, at, &offset, 1, "");
        }
        default:
            break; // ld: the parameter's value
        }
    }
    LLVMValueRef address;
    if (operand->kind == IR_VALUE) {
        LLVMValueRef bits = emit_value_bits(e, operand->value);
        address = emit_resize(e, bits, 64, false);
    } else {
        address = emit_get(e, operand, 64);
    }
    return LLVMBuildIntToPtr(e->b, address, e->ptr, "");
}

// Register plus displacement is a sum of the register's width: with a 32-bit address it wraps, and
// compilers count on it (a register below the window, a displacement that leads back into it).
static LLVMValueRef shared_address(struct emit *e, const struct ir_inst *inst,
                                   const struct ir_operand *operand)
{
    if (operand == NULL) {
        return emit_shared_pointer(e, emit_int(e, 64, (uint64_t)inst->offset));
    }
    LLVMValueRef at =
        operand->kind == IR_VALUE ? emit_value_bits(e, operand->value) : emit_get(e, operand, 32);
    if (inst->offset != 0) {
        unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(at));
        at = LLVMBuildAdd(e->b, at, emit_int(e, bits, (uint64_t)inst->offset), "");
    }
    return emit_shared_pointer(e, at);
}

LLVMValueRef emit_address(struct emit *e, const struct ir_inst *inst,
                          const struct ir_operand *operand)
{
    LLVMValueRef base;
    switch (inst->space) {
    case IR_SHARED:
        return shared_address(e, inst, operand);
    case IR_PARAM_ENTRY:
    case IR_ARGUMENT:
    case IR_RETURN:
    case IR_SLOT:
        base =
            inst->space == IR_SLOT ? slot_pointer(e, inst->index) : emit_block_pointer(e, inst->space);
        if (operand != NULL) {
            LLVMValueRef offset =
                operand->kind == IR_VALUE
                    ? emit_resize(e, emit_value_bits(e, operand->value), 64, false)
                    : emit_get(e, operand, 64);
            base = LLVMBuildGEP2(e->b, e->i8, base, &offset, 1, "");
        }
        return emit_gep(e, base, (uint64_t)inst->offset);
    default:
        if (operand == NULL) {
            return LLVMBuildIntToPtr(e->b, emit_int(e, 64, (uint64_t)inst->offset), e->ptr, "");
        }
        return emit_gep(e, pointer_of(e, operand, POINTER_DEPTH), (uint64_t)inst->offset);
    }
}

// ---------------------------------------------------------------- loads and stores

LLVMTypeRef emit_element_type(struct emit *e, enum ir_type type)
{
    return type == IR_F32 ? e->f32 : type == IR_F64 ? e->f64 : emit_int_type(e, ir_bits(type));
}

unsigned emit_element_align(const struct ir_inst *inst)
{
    // Blocks of parameters are packed by size, wherever they start.
    bool packed =
        inst->space == IR_PARAM_ENTRY || inst->space == IR_ARGUMENT || inst->space == IR_RETURN;
    unsigned bytes = ir_bits(inst->type) / 8;
    return packed ? 1 : bytes == 0 ? 1 : bytes;
}

static LLVMAtomicOrdering ordering(enum ir_order order)
{
    switch (order) {
    case IR_RELAXED:
        return LLVMAtomicOrderingMonotonic;
    case IR_ACQUIRE:
        return LLVMAtomicOrderingAcquire;
    case IR_RELEASE:
        return LLVMAtomicOrderingRelease;
    case IR_ACQ_REL:
        return LLVMAtomicOrderingAcquireRelease;
    case IR_SEQ_CST:
        return LLVMAtomicOrderingSequentiallyConsistent;
    default:
        return LLVMAtomicOrderingNotAtomic;
    }
}

// Marks a scalar access volatile or atomic. Shared memory belongs to one OS thread, so ordered
// accesses to it only have to stay in place.
static void set_order(const struct ir_inst *inst, LLVMValueRef access)
{
    if (inst->order == IR_WEAK) {
        return;
    }
    unsigned bits = ir_bits(inst->type);
    if (inst->order == IR_VOLATILE || inst->space == IR_SHARED || bits > 64 || bits < 8) {
        LLVMSetVolatile(access, true);
    } else {
        LLVMSetOrdering(access, ordering(inst->order));
    }
}

static void set_element(struct emit *e, const struct ir_inst *inst, unsigned i, LLVMValueRef v)
{
    if (inst->type == IR_F32 || inst->type == IR_F64) {
        emit_set_raw(e, inst->dst[i], v, false);
    } else {
        emit_set(e, inst, i, v);
    }
}

static void load(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef at = emit_address(e, inst, inst->src_count > 0 ? &inst->src[0] : NULL);
    unsigned count = inst->vector > 1 ? inst->vector : 1;
    unsigned bytes = ir_bits(inst->type) / 8;
    LLVMTypeRef type = emit_element_type(e, inst->type);
    if (inst->space == IR_PARAM_ENTRY || inst->space == IR_CONST) {
        for (unsigned i = 0; i < count; i++) {
            set_element(e, inst, i,
                        emit_invariant_load(e, type, emit_gep(e, at, (uint64_t)i * bytes),
                                            emit_element_align(inst)));
        }
        return;
    }
    if (count > 1 && inst->order == IR_WEAK) {
        LLVMValueRef v = emit_load(e, LLVMVectorType(type, count), at, 0, emit_element_align(inst));
        for (unsigned i = 0; i < count; i++) {
            set_element(e, inst, i, LLVMBuildExtractElement(e->b, v, emit_int(e, 32, i), ""));
        }
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        if (ordering(inst->order) != LLVMAtomicOrderingNotAtomic) {
            // Atomic accesses are of integers.
            LLVMValueRef v =
                emit_load(e, emit_int_type(e, 8 * bytes), at, (uint64_t)i * bytes, bytes);
            set_order(inst, v);
            emit_set(e, inst, i, v);
        } else {
            LLVMValueRef v = emit_load(e, type, at, (uint64_t)i * bytes, emit_element_align(inst));
            set_order(inst, v);
            set_element(e, inst, i, v);
        }
    }
}

static void store(struct emit *e, const struct ir_inst *inst)
{
    unsigned count = inst->vector > 1 ? inst->vector : 1;
    unsigned first = inst->src_count - count;
    LLVMValueRef at = emit_address(e, inst, first > 0 ? &inst->src[0] : NULL);
    unsigned bits = ir_bits(inst->type), bytes = bits / 8;
    LLVMTypeRef type = emit_int_type(e, bits);
    if (count > 1 && inst->order == IR_WEAK) {
        LLVMValueRef v = LLVMGetUndef(LLVMVectorType(type, count));
        for (unsigned i = 0; i < count; i++) {
            v = LLVMBuildInsertElement(e->b, v, emit_get(e, &inst->src[first + i], bits),
                                       emit_int(e, 32, i), "");
        }
        emit_store(e, v, at, 0, emit_element_align(inst));
        return;
    }
    for (unsigned i = 0; i < count; i++) {
        set_order(inst, emit_store(e, emit_get(e, &inst->src[first + i], bits), at,
                                   (uint64_t)i * bytes, emit_element_align(inst)));
    }
}

static void fence(struct emit *e, const struct ir_inst *inst)
{
    // A block runs on one OS thread: within it a fence only has to stop the compiler.
    LLVMAtomicOrdering o = ordering(inst->order);
    if (o == LLVMAtomicOrderingNotAtomic || o == LLVMAtomicOrderingMonotonic) {
        o = LLVMAtomicOrderingSequentiallyConsistent;
    }
    LLVMBuildFence(e->b, o, inst->scope == IR_SCOPE_CTA, "");
}

// ---------------------------------------------------------------- address operations

static LLVMValueRef frame_address(struct emit *e)
{
    LLVMTypeRef type = e->ptr;
    unsigned id = LLVMLookupIntrinsicID("llvm.frameaddress", 17);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, &type, 1);
    LLVMValueRef level = emit_int(e, 32, 0);
    LLVMValueRef p =
        LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->cx, id, &type, 1), fn, &level, 1, "");
    return LLVMBuildPtrToInt(e->b, p, e->i64, "");
}

LLVMValueRef emit_stack_used(struct emit *e)
{
    return LLVMBuildSub(e->b, e->stack_base, frame_address(e), "");
}

// low <= address < low + size
static LLVMValueRef within(struct emit *e, LLVMValueRef address, LLVMValueRef low,
                           LLVMValueRef size)
{
    return LLVMBuildICmp(e->b, LLVMIntULT, LLVMBuildSub(e->b, address, low, ""),
                         emit_resize(e, size, 64, false), "");
}

static LLVMValueRef as_integer(struct emit *e, LLVMValueRef pointer)
{
    return LLVMBuildPtrToInt(e->b, pointer, e->i64, "");
}

static LLVMValueRef in_space(struct emit *e, LLVMValueRef address, enum ir_space space)
{
    switch (space) {
    case IR_SHARED: {
        LLVMValueRef base = as_integer(e, emit_ctx(e, offsetof(struct exec_ctx, shared), e->ptr));
        if (e->unit->uses_cluster) {
            base = LLVMBuildAdd(e->b, base, emit_shared_origin(e, 64), "");
        }
        return within(e, address, base,
                      emit_ctx(e, offsetof(struct exec_ctx, shared_size), e->i32));
    }
    case IR_PARAM_ENTRY:
        return within(e, address,
                      as_integer(e, emit_ctx(e, offsetof(struct exec_ctx, params), e->ptr)),
                      emit_int(e, 64, e->unit->functions[0]->params_size));
    case IR_CONST: {
        LLVMValueRef r = emit_int(e, 1, 0);
        const struct ir_program *program = e->unit->program;
        for (uint32_t i = 0; i < program->variable_count; i++) {
            if (program->variables[i].space == IR_CONST) {
                LLVMValueRef is = within(e, address, as_integer(e, variable_pointer(e, i)),
                                         emit_int(e, 64, program->variables[i].ptx->size));
                r = LLVMBuildOr(e->b, r, is, "");
            }
        }
        return r;
    }
    case IR_LOCAL: {
        // Stack objects of this thread's functions, and the local memory of suspending ones.
        LLVMValueRef fa = frame_address(e);
        LLVMValueRef room = emit_int(e, 64, e->fn->slots_size + 4096);
        LLVMValueRef low = LLVMBuildSub(e->b, fa, room, "");
        LLVMValueRef size = LLVMBuildSub(e->b, e->stack_base, low, "");
        LLVMValueRef r = within(e, address, low, size);
        if (e->unit->functions[0]->suspends) {
            LLVMValueRef local =
                emit_load(e, e->ptr, e->thread, offsetof(struct exec_thread, local), 8);
            r = LLVMBuildOr(
                e->b, r, within(e, address, as_integer(e, local), emit_int(e, 64, e->local_total)),
                "");
        }
        return r;
    }
    default: {
        LLVMValueRef other =
            LLVMBuildOr(e->b, in_space(e, address, IR_SHARED), in_space(e, address, IR_LOCAL), "");
        other = LLVMBuildOr(e->b, other, in_space(e, address, IR_PARAM_ENTRY), "");
        other = LLVMBuildOr(e->b, other, in_space(e, address, IR_CONST), "");
        return LLVMBuildNot(e->b, other, "");
    }
    }
}

static LLVMValueRef convert_address(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    LLVMValueRef v = emit_get(e, &inst->src[0], bits);
    if (inst->space != IR_SHARED) {
        return v;
    }
    LLVMValueRef base = as_integer(e, emit_ctx(e, offsetof(struct exec_ctx, shared), e->ptr));
    base = emit_resize(e, base, bits, false);
    return inst->op == IR_cvta ? LLVMBuildAdd(e->b, v, base, "") : LLVMBuildSub(e->b, v, base, "");
}

static LLVMValueRef symbol_address(struct emit *e, const struct ir_inst *inst)
{
    uint64_t offset = 0;
    if (e->unit->program->variables[inst->index].space == IR_SHARED) {
        shared_offset(e, inst, &offset);
        LLVMValueRef address = emit_int(e, ir_bits(inst->type), offset);
        return e->unit->uses_cluster
                   ? LLVMBuildAdd(e->b, address, emit_shared_origin(e, ir_bits(inst->type)), "")
                   : address;
    }
    return as_integer(e, emit_gep(e, variable_pointer(e, inst->index), (uint64_t)inst->offset));
}

static void copy_slot(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef to = emit_gep(e, slot_pointer(e, inst->index), (uint64_t)inst->offset);
    LLVMValueRef from = slot_pointer(e, inst->site);
    LLVMBuildMemCpy(e->b, to, 1, from, 1, emit_int(e, 64, inst->target_count));
}

static void dynamic_stack(struct emit *e, const struct ir_inst *inst)
{
    if (e->fn->suspends) {
        emit_fail(e, inst,
                  "dynamic stack memory together with barriers or warp operations in "
                  "one function is not compiled by this version");
        return;
    }
    LLVMTypeRef pointer = e->ptr;
    if (inst->op == IR_alloca) {
        LLVMValueRef size = emit_get(e, &inst->src[0], ir_bits(inst->type));
        LLVMValueRef p = LLVMBuildArrayAlloca(e->b, e->i8, size, "");
        LLVMSetAlignment(p, inst->offset > 16 ? (unsigned)inst->offset : 16);
        emit_set(e, inst, 0, as_integer(e, p));
        return;
    }
    const char *name = inst->op == IR_stacksave ? "llvm.stacksave" : "llvm.stackrestore";
    LLVMValueRef p = NULL;
    if (inst->op == IR_stackrestore) {
        p = LLVMBuildIntToPtr(e->b, emit_get(e, &inst->src[0], 64), e->ptr, "");
    }
    LLVMValueRef r = emit_intrinsic(e, name, pointer, p, NULL, NULL);
    if (inst->op == IR_stacksave) {
        emit_set(e, inst, 0, as_integer(e, r));
    }
}

static void pack(struct emit *e, const struct ir_inst *inst)
{
    unsigned whole = ir_bits(inst->type), part = whole / inst->src_count;
    LLVMValueRef r = emit_int(e, whole, 0);
    for (unsigned i = 0; i < inst->src_count; i++) {
        LLVMValueRef v = emit_resize(e, emit_get(e, &inst->src[i], part), whole, false);
        v = LLVMBuildShl(e->b, v, emit_int(e, whole, (uint64_t)i * part), "");
        r = LLVMBuildOr(e->b, r, v, "");
    }
    emit_set(e, inst, 0, r);
}

static void unpack(struct emit *e, const struct ir_inst *inst)
{
    unsigned whole = ir_bits(inst->type), part = whole / inst->dst_count;
    LLVMValueRef v = emit_get(e, &inst->src[0], whole);
    for (unsigned i = 0; i < inst->dst_count; i++) {
        LLVMValueRef w = LLVMBuildLShr(e->b, v, emit_int(e, whole, (uint64_t)i * part), "");
        emit_set(e, inst, i, emit_resize(e, w, part, false));
    }
}

// mov and select keep a number in its floating-point form when all operands have one.
static bool raw_operand(struct emit *e, const struct ir_operand *operand)
{
    return operand->kind == IR_VALUE && e->values[operand->value].raw != NULL &&
           (!e->vector || warp_is_varying(e, operand));
}

static void move(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    if (raw_operand(e, &inst->src[0])) {
        const struct emit_value *v = &e->values[inst->src[0].value];
        emit_set_raw(e, inst->dst[0], v->raw, v->dirty);
        return;
    }
    emit_set(e, inst, 0, emit_get(e, &inst->src[0], bits));
}

static void choose(struct emit *e, const struct ir_inst *inst)
{
    unsigned bits = ir_bits(inst->type);
    LLVMValueRef c = emit_get(e, &inst->src[2], 1);
    if (raw_operand(e, &inst->src[0]) && raw_operand(e, &inst->src[1])) {
        const struct emit_value *a = &e->values[inst->src[0].value];
        const struct emit_value *b = &e->values[inst->src[1].value];
        if (LLVMTypeOf(a->raw) == LLVMTypeOf(b->raw)) {
            emit_set_raw(e, inst->dst[0], emit_select(e, c, a->raw, b->raw), a->dirty || b->dirty);
            return;
        }
    }
    emit_set(e, inst, 0,
             emit_select(e, c, emit_get(e, &inst->src[0], bits), emit_get(e, &inst->src[1], bits)));
}

bool emit_memory(struct emit *e, const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_mov:
        move(e, inst);
        return true;
    case IR_select:
        choose(e, inst);
        return true;
    case IR_pack:
        pack(e, inst);
        return true;
    case IR_unpack:
        unpack(e, inst);
        return true;
    case IR_symbol:
        emit_set(e, inst, 0, symbol_address(e, inst));
        return true;
    case IR_slot:
        emit_set(e, inst, 0,
                 as_integer(e, emit_gep(e, slot_pointer(e, inst->index), (uint64_t)inst->offset)));
        return true;
    case IR_param_address:
        emit_set(e, inst, 0,
                 as_integer(e, emit_gep(e, emit_block_pointer(e, inst->space), (uint64_t)inst->offset)));
        return true;
    case IR_function:
        emit_set(e, inst, 0, emit_int(e, 64, IR_FUNCTION_ADDRESS(inst->index)));
        return true;
    case IR_cvta:
    case IR_cvta_to:
        emit_set(e, inst, 0, convert_address(e, inst));
        return true;
    case IR_isspacep: {
        LLVMValueRef address = emit_get(e, &inst->src[0], ir_bits(inst->type));
        emit_set(e, inst, 0, in_space(e, emit_resize(e, address, 64, false), inst->space));
        return true;
    }
    case IR_ld:
        load(e, inst);
        return true;
    case IR_st:
        store(e, inst);
        return true;
    case IR_fence:
        fence(e, inst);
        return true;
    case IR_slot_copy:
        copy_slot(e, inst);
        return true;
    case IR_alloca:
    case IR_stacksave:
    case IR_stackrestore:
        dynamic_stack(e, inst);
        return true;
    default:
        return false;
    }
}
