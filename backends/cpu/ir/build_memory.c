// SPDX-License-Identifier: Apache-2.0
//
// Addresses, loads, stores, atomics and fences. Variables become symbols of the program, slots of
// the function, or offsets in a parameter block.
#include "ir_internal.h"

#include "ir_program.h"

// ---------------------------------------------------------------- addresses

enum ir_space ir_space_of(struct ir_build *b, enum ptx_space space)
{
    switch (space) {
    case PTX_SPACE_NONE:
        return IR_GENERIC;
    case PTX_SPACE_GLOBAL:
        return IR_GLOBAL;
    case PTX_SPACE_CONST:
        return IR_CONST;
    case PTX_SPACE_LOCAL:
        return IR_LOCAL;
    case PTX_SPACE_SHARED:
    case PTX_SPACE_SHARED_CTA:
    case PTX_SPACE_SHARED_CLUSTER:
        return IR_SHARED; // clusters have one block
    case PTX_SPACE_PARAM:
    case PTX_SPACE_PARAM_ENTRY:
    case PTX_SPACE_PARAM_FUNC:
        return IR_GENERIC; // a register holds a host address
    default:
        ir_fail(b, "this state space is not compiled by this version");
    }
}

static struct ir_operand program_symbol(struct ir_build *b, uint32_t index, enum ir_type type,
                                        int64_t offset)
{
    const struct ir_variable *variable = &b->program->variables[index];
    if (!ir_program_variable_defined(b->program, index) &&
        !(variable->space == IR_SHARED && variable->ptx->unsized)) {
        ir_fail(b, "variable %s is declared extern and defined nowhere", variable->name);
    }
    if (variable->space == IR_SHARED) {
        ir_map_put(b, &b->shared, variable, index);
    }
    struct ir_inst *inst = ir_append(b, IR_symbol, type, 1, 0);
    inst->index = index;
    inst->offset = offset;
    inst->space = variable->space;
    return ir_use(ir_result(b, inst, 0));
}

static struct ir_operand place_address(struct ir_build *b, const struct ir_place *place,
                                       int64_t offset)
{
    struct ir_inst *inst;
    if (place->space == IR_SLOT) {
        inst = ir_append(b, IR_slot, IR_I64, 1, 0);
        inst->index = place->index;
    } else {
        inst = ir_append(b, IR_param_address, IR_I64, 1, 0);
        inst->space = place->space;
    }
    inst->offset = (int64_t)place->offset + offset;
    return ir_use(ir_result(b, inst, 0));
}

struct ir_operand ir_symbol_address(struct ir_build *b, const struct ptx_symbol *symbol,
                                    int64_t offset)
{
    if (symbol->kind == PTX_SYMBOL_FUNCTION) {
        struct ir_inst *inst = ir_append(b, IR_function, IR_I64, 1, 0);
        inst->index = ir_program_function_of(b->program, symbol->function);
        struct ir_operand address = ir_use(ir_result(b, inst, 0));
        return offset == 0 ? address
                           : ir_op2(b, IR_add, IR_I64, 0, address, ir_constant((uint64_t)offset));
    }
    if (symbol->kind != PTX_SYMBOL_VARIABLE && symbol->kind != PTX_SYMBOL_PARAMETER) {
        ir_fail(b, "%s has no address", symbol->name);
    }
    if (ir_is_opaque(symbol->type) && offset == 0) {
        return ir_image_object(b, symbol); // its value stands for the object
    }
    struct ir_place place;
    if (ir_place_find(b->scope, symbol->variable, &place)) {
        return place_address(b, &place, offset);
    }
    uint32_t index = ir_program_variable_of(b->program, symbol->variable);
    if (index == UINT32_MAX) {
        ir_fail(b, "variable %s of this state space is not compiled by this version", symbol->name);
    }
    return program_symbol(b, index, IR_I64, offset);
}

struct ir_address ir_address(struct ir_build *b, const struct ptx_operand *operand,
                             enum ptx_space space)
{
    struct ir_address address = {.space = ir_space_of(b, space),
                                 .offset = (int64_t)operand->integer};
    if (operand->kind != PTX_OPERAND_ADDRESS) {
        ir_fail(b, "an address in brackets is missing");
    }
    const struct ptx_symbol *symbol = operand->symbol;
    if (symbol == NULL) { // absolute
        address.has_base = true;
        address.base = ir_constant((uint64_t)address.offset);
        address.base_type = address.space == IR_SHARED ? IR_I32 : IR_I64;
        address.base.bits &= ir_mask(address.base_type);
        address.offset = 0;
        return address;
    }
    if (symbol->kind == PTX_SYMBOL_REGISTER) {
        address.has_base = true;
        uint32_t value = ir_register(b, symbol, operand->component < 4 ? operand->component : 0);
        address.base_type = b->fn->values[value].type;
        if (address.base_type != IR_I64 &&
            !(address.base_type == IR_I32 && address.space == IR_SHARED)) {
            ir_fail(b, "addresses of %u bits are not compiled", ir_bits(address.base_type));
        }
        address.base = ir_use(value);
        return address;
    }
    if (symbol->kind != PTX_SYMBOL_VARIABLE && symbol->kind != PTX_SYMBOL_PARAMETER) {
        ir_fail(b, "%s has no address", symbol->name);
    }
    struct ir_place place;
    if (ir_place_find(b->scope, symbol->variable, &place)) {
        address.space = place.space;
        address.index = place.index;
        address.offset += place.offset;
        return address;
    }
    uint32_t index = ir_program_variable_of(b->program, symbol->variable);
    if (index == UINT32_MAX) {
        ir_fail(b, "variable %s of this state space is not compiled by this version", symbol->name);
    }
    enum ir_space own = b->program->variables[index].space;
    if (space != PTX_SPACE_NONE && own != address.space &&
        !(own == IR_CONST && address.space == IR_GLOBAL)) {
        ir_fail(b, "variable %s is in another state space", symbol->name);
    }
    address.space = own;
    address.has_base = true;
    address.base_type = own == IR_SHARED ? IR_I32 : IR_I64;
    address.base = program_symbol(b, index, address.base_type, 0);
    return address;
}

static void set_address(struct ir_inst *inst, const struct ir_address *address)
{
    inst->space = address->space;
    inst->index = address->index;
    inst->offset = address->offset;
    if (address->has_base) {
        inst->src[0] = address->base;
    }
}

struct ir_inst *ir_load(struct ir_build *b, const struct ir_address *address, enum ir_type type,
                        unsigned vector)
{
    struct ir_inst *inst = ir_append(b, IR_ld, type, vector, address->has_base);
    inst->vector = (uint8_t)vector;
    set_address(inst, address);
    for (unsigned i = 0; i < vector; i++) {
        ir_result(b, inst, i);
    }
    return inst;
}

struct ir_inst *ir_store(struct ir_build *b, const struct ir_address *address, enum ir_type type,
                         unsigned vector, const struct ir_operand *values)
{
    unsigned first = address->has_base;
    struct ir_inst *inst = ir_append(b, IR_st, type, 0, vector + first);
    inst->vector = (uint8_t)vector;
    set_address(inst, address);
    for (unsigned i = 0; i < vector; i++) {
        inst->src[first + i] = values[i];
    }
    return inst;
}

// ---------------------------------------------------------------- order and scope

static enum ir_scope scope_of(struct ir_build *b)
{
    return ir_mod(b, PTX_MOD_sys) || ir_mod(b, PTX_MOD_mmio) ? IR_SCOPE_SYS
           : ir_mod(b, PTX_MOD_cluster)                      ? IR_SCOPE_CLUSTER
           : ir_mod(b, PTX_MOD_cta)                          ? IR_SCOPE_CTA
                                    : (ir_mod(b, PTX_MOD_gpu), IR_SCOPE_GPU);
}

static enum ir_order order_of(struct ir_build *b, enum ir_order otherwise)
{
    if (ir_mod(b, PTX_MOD_mmio)) { // relaxed, and every access happens once
        ir_mod(b, PTX_MOD_relaxed);
        return IR_VOLATILE;
    }
    return ir_mod(b, PTX_MOD_volatile)  ? IR_VOLATILE
           : ir_mod(b, PTX_MOD_relaxed) ? IR_RELAXED
           : ir_mod(b, PTX_MOD_acquire) ? IR_ACQUIRE
           : ir_mod(b, PTX_MOD_release) ? IR_RELEASE
           : ir_mod(b, PTX_MOD_acq_rel) ? IR_ACQ_REL
           : ir_mod(b, PTX_MOD_sc)      ? IR_SEQ_CST
                                        : otherwise;
}

// Registers of a ld or st: elements of { … }, or the operand itself.
static const struct ptx_operand *element(struct ir_build *b, const struct ptx_operand *operand,
                                         unsigned n, struct ptx_operand *space)
{
    if (operand->kind == PTX_OPERAND_VECTOR) {
        if (operand->count != b->in->vector) {
            ir_fail(b, "%u registers for a vector of %u", operand->count, b->in->vector);
        }
        return &operand->elements[n];
    }
    if (b->in->vector <= 1) {
        return operand;
    }
    if (operand->kind == PTX_OPERAND_SINK) {
        return operand;
    }
    if (operand->kind != PTX_OPERAND_SYMBOL || operand->symbol->vector != b->in->vector) {
        ir_fail(b, "the operand is no vector of %u", b->in->vector);
    }
    *space = *operand;
    space->kind = PTX_OPERAND_COMPONENT;
    space->component = (uint8_t)n;
    return space;
}

static unsigned vector_of(struct ir_build *b)
{
    return b->in->vector > 1 ? b->in->vector : 1;
}

void ir_build_ld(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    struct ir_reading reading = ir_reading(b, type);
    unsigned vector = vector_of(b);
    struct ir_address address = ir_address(b, ir_operand_at(b, 1), b->in->space);
    enum ir_order order = order_of(b, IR_WEAK);
    struct ir_inst *inst = ir_load(b, &address, reading.storage, vector);
    inst->order = order;
    inst->scope = scope_of(b);
    struct ptx_operand space;
    for (unsigned i = 0; i < vector; i++) {
        ir_write(b, element(b, ir_operand_at(b, 0), i, &space), type, ir_use(inst->dst[i]));
    }
}

void ir_build_st(struct ir_build *b)
{
    enum ptx_type type = ir_type_at(b, 0);
    if (ir_mod(b, PTX_MOD_async)) {
        ir_fail(b, "instruction 'st.async' is not compiled by this version");
    }
    struct ir_reading reading = ir_reading(b, type);
    unsigned vector = vector_of(b);
    struct ir_operand values[16];
    struct ptx_operand space;
    for (unsigned i = 0; i < vector; i++) {
        values[i] = ir_read(b, element(b, ir_operand_at(b, 1), i, &space), type);
    }
    struct ir_address address = ir_address(b, ir_operand_at(b, 0), b->in->space);
    struct ir_inst *inst = ir_store(b, &address, reading.storage, vector, values);
    inst->order = order_of(b, IR_WEAK);
    inst->scope = scope_of(b);
}

// ---------------------------------------------------------------- atomics

static enum ir_atomic atomic_of(struct ir_build *b)
{
    static const struct {
        enum ptx_modifier modifier;
        enum ir_atomic atomic;
    } table[] = {
        {PTX_MOD_add, IR_ATOM_ADD}, {PTX_MOD_min, IR_ATOM_MIN},   {PTX_MOD_max, IR_ATOM_MAX},
        {PTX_MOD_and, IR_ATOM_AND}, {PTX_MOD_or, IR_ATOM_OR},     {PTX_MOD_xor, IR_ATOM_XOR},
        {PTX_MOD_cas, IR_ATOM_CAS}, {PTX_MOD_exch, IR_ATOM_EXCH}, {PTX_MOD_inc, IR_ATOM_INC},
        {PTX_MOD_dec, IR_ATOM_DEC},
    };
    for (unsigned i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (ir_mod(b, table[i].modifier)) {
            return table[i].atomic;
        }
    }
    ir_fail(b, "this atomic operation is not compiled by this version");
}

static enum ir_type atomic_type(struct ir_build *b, enum ptx_type type)
{
    switch (type) {
    case PTX_F16X2:
        return IR_F16X2;
    case PTX_BF16X2:
        return IR_BF16X2;
    default:
        return ir_reading(b, type).type;
    }
}

void ir_build_atom(struct ir_build *b)
{
    bool red = b->in->opcode == PTX_OP_red;
    if (ir_mod(b, PTX_MOD_async)) {
        ir_fail(b, "instruction 'red.async' is not compiled by this version");
    }
    enum ptx_type type = ir_type_at(b, 0);
    enum ir_type own = atomic_type(b, type);
    enum ir_atomic atomic = atomic_of(b);
    ir_mod(b, PTX_MOD_noftz);
    unsigned vector = vector_of(b), at = red ? 0 : 1;
    bool bits = atomic == IR_ATOM_EXCH || atomic == IR_ATOM_CAS;
    struct ir_address address = ir_address(b, ir_operand_at(b, at), b->in->space);
    enum ir_order order = order_of(b, IR_RELAXED);
    enum ir_scope scope = scope_of(b);
    struct ir_operand values[8], results[8], third = ir_none();
    struct ptx_operand space;
    for (unsigned i = 0; i < vector; i++) {
        values[i] = ir_read(b, element(b, ir_operand_at(b, at + 1), i, &space), type);
    }
    if (atomic == IR_ATOM_CAS) {
        third = ir_src(b, at + 2, type);
    }
    for (unsigned i = 0; i < vector; i++) { // every element is atomic by itself
        bool used = !red && !ir_is_sink(element(b, ir_operand_at(b, 0), i, &space));
        unsigned base = address.has_base, sources = base + (atomic == IR_ATOM_CAS ? 2 : 1);
        struct ir_inst *inst =
            ir_append(b, IR_atom, bits ? ir_storage(own) : own, used ? 1 : 0, sources);
        set_address(inst, &address);
        inst->offset += (int64_t)(i * ir_bits(own) / 8);
        inst->src[base] = values[i];
        if (atomic == IR_ATOM_CAS) {
            inst->src[base + 1] = third;
        }
        inst->sub = (uint8_t)atomic;
        inst->order = order;
        inst->scope = scope;
        inst->flags = ir_reading(b, type).sign ? IR_FLAG_SIGNED : 0;
        results[i] = used ? ir_use(ir_result(b, inst, 0)) : ir_none();
    }
    for (unsigned i = 0; i < vector; i++) {
        if (results[i].kind != IR_NONE) {
            ir_write(b, element(b, ir_operand_at(b, 0), i, &space), type, results[i]);
        }
    }
}

void ir_build_fence(struct ir_build *b)
{
    struct ir_inst *inst = ir_append(b, IR_fence, IR_VOID, 0, 0);
    bool membar = b->in->opcode == PTX_OP_membar;
    inst->scope = ir_mod(b, PTX_MOD_gl) ? IR_SCOPE_GPU : scope_of(b);
    inst->order = order_of(b, membar ? IR_SEQ_CST : IR_ACQ_REL);
    if (ir_mod(b, PTX_MOD_proxy) || ir_mod(b, PTX_MOD_mbarrier_init)) {
        // All proxies are ordinary memory here, so any of these fences is an ordinary one.
        inst->order = IR_SEQ_CST;
        b->used = UINT32_MAX;
    }
    if (ir_mod(b, PTX_MOD_sync_restrict_shared_cluster) ||
        ir_mod(b, PTX_MOD_sync_restrict_shared_cta)) {
        b->used = UINT32_MAX; // a weaker fence: the full one does
    }
}

void ir_build_nothing(struct ir_build *b)
{
    b->used = UINT32_MAX; // hints: no effect on results
}

void ir_build_createpolicy(struct ir_build *b)
{
    b->used = UINT32_MAX;
    ir_dst(b, 0, PTX_B64, ir_constant(0)); // opaque; the hints that take it have no effect
}
