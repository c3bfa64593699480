// SPDX-License-Identifier: Apache-2.0
//
// Facts about types and operations: sizes, names, properties, and the storage type that an
// operation has at each operand (the one place that says so; verify.c and the builder ask it).
#include "ir_internal.h"

static const struct {
    const char *name;
    uint8_t destinations, sources;
    unsigned properties;
} op_table[IR_OP_COUNT] = {
#define IR_OP(id, text, destinations, sources, properties)                                         \
    [IR_##id] = { text, destinations, sources, properties },
#include "ir_ops.def"
#undef IR_OP
};

const char *ir_op_name(enum ir_op op)
{
    return op > IR_OP_INVALID && op < IR_OP_COUNT ? op_table[op].name : "invalid";
}

unsigned ir_op_properties(enum ir_op op)
{
    return op > IR_OP_INVALID && op < IR_OP_COUNT ? op_table[op].properties : 0;
}

unsigned ir_op_destinations(enum ir_op op)
{
    return op_table[op].destinations;
}

unsigned ir_op_sources(enum ir_op op)
{
    return op_table[op].sources;
}

static const struct {
    uint8_t bits;
    uint8_t storage;
} type_table[IR_TYPE_COUNT] = {
    [IR_I1] = { 1, IR_I1 },        [IR_I8] = { 8, IR_I8 },       [IR_I16] = { 16, IR_I16 },
    [IR_I32] = { 32, IR_I32 },     [IR_I64] = { 64, IR_I64 },    [IR_I128] = { 128, IR_I128 },
    [IR_F16] = { 16, IR_I16 },     [IR_BF16] = { 16, IR_I16 },   [IR_F32] = { 32, IR_I32 },
    [IR_F64] = { 64, IR_I64 },     [IR_F16X2] = { 32, IR_I32 },  [IR_BF16X2] = { 32, IR_I32 },
    [IR_TF32] = { 32, IR_I32 },    [IR_E4M3] = { 8, IR_I8 },     [IR_E5M2] = { 8, IR_I8 },
    [IR_E2M1] = { 8, IR_I8 },      [IR_E2M3] = { 8, IR_I8 },     [IR_E3M2] = { 8, IR_I8 },
    [IR_UE8M0] = { 8, IR_I8 },
};

enum ir_type ir_storage(enum ir_type type)
{
    return type < IR_TYPE_COUNT ? (enum ir_type)type_table[type].storage : IR_VOID;
}

unsigned ir_bits(enum ir_type type)
{
    return type < IR_TYPE_COUNT ? type_table[type].bits : 0;
}

enum ir_type ir_int(unsigned bits)
{
    switch (bits) {
    case 1: return IR_I1;
    case 8: return IR_I8;
    case 16: return IR_I16;
    case 32: return IR_I32;
    case 64: return IR_I64;
    case 128: return IR_I128;
    default: return IR_VOID;
    }
}

uint64_t ir_mask(enum ir_type storage)
{
    unsigned bits = ir_bits(storage);
    return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

bool ir_is_float(enum ir_type type)
{
    return type == IR_F16 || type == IR_BF16 || type == IR_F32 || type == IR_F64;
}

bool ir_removable(const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_sreg:
    case IR_frame_load:
        return true;
    case IR_ld:
        return inst->order == IR_WEAK;
    default:
        return (ir_op_properties(inst->op) & IR_PURE) != 0;
    }
}

static enum ir_type twice(enum ir_type storage)
{
    return ir_int(2 * ir_bits(storage));
}

enum ir_type ir_op_source_type(const struct ir_inst *inst, unsigned n)
{
    enum ir_type type = ir_storage(inst->type);
    switch (inst->op) {
    case IR_pack:
        return inst->src_count == 0 ? IR_VOID : ir_int(ir_bits(type) / inst->src_count);
    case IR_select:
        return n == 2 ? IR_I1 : type;
    case IR_add:
    case IR_sub:
        return n == 2 ? IR_I1 : type;
    case IR_shl:
    case IR_shr:
        return n == 1 ? IR_I32 : type;
    case IR_bfe:
        return n >= 1 ? IR_I32 : type;
    case IR_bfi:
        return n >= 2 ? IR_I32 : type;
    case IR_cvt:
        return ir_storage(inst->type2);
    case IR_texture:
        return n < 2 ? IR_I64 : IR_I32;
    case IR_surface:
        return n == 0 ? IR_I64 : n < 5 ? IR_I32 : type;
    case IR_image_query:
        return n == 0 ? IR_I64 : IR_I32;
    case IR_ld:
        return IR_VOID;
    case IR_st:
        return n == 0 && inst->src_count > inst->vector ? IR_VOID : type;
    case IR_atom:
        return n == 0 && inst->space != IR_SLOT ? IR_VOID : type;
    case IR_call_indirect:
    case IR_malloc:
    case IR_free:
    case IR_vprintf:
        return IR_I64;
    case IR_assertfail:
        return n == 2 ? IR_I32 : IR_I64;
    case IR_barrier:
        return n == 2 ? IR_I1 : IR_I32;
    case IR_lanes:
        return n == 0 ? IR_I1 : IR_I32;
    case IR_in_lanes:
        return IR_I32;
    case IR_spread:
        return n == 0 ? IR_I64 : IR_I32;
    case IR_shfl:
    case IR_shfl_old:
    case IR_mapa:
        return n == 0 ? type : IR_I32;
    case IR_vote:
    case IR_vote_old:
        return n == 0 ? IR_I1 : IR_I32;
    case IR_match:
    case IR_redux:
    case IR_request:
        return n == 0 ? type : IR_I32;
    case IR_barrier_arrive:
    case IR_warp_sync:
    case IR_elect:
    case IR_nanosleep:
    case IR_brx:
        return IR_I32;
    case IR_cbr:
        return IR_I1;
    default:
        return type;
    }
}

enum ir_type ir_op_destination_type(const struct ir_inst *inst, unsigned n)
{
    enum ir_type type = ir_storage(inst->type);
    switch (inst->op) {
    case IR_unpack:
        return inst->dst_count == 0 ? IR_VOID : ir_int(ir_bits(type) / inst->dst_count);
    case IR_add:
    case IR_sub:
        return n == 1 ? IR_I1 : type;
    case IR_mul_wide:
        return twice(type);
    case IR_isspacep:
    case IR_setp:
    case IR_testp:
    case IR_in_lanes:
        return IR_I1;
    case IR_lanes:
    case IR_start_mask:
        return IR_I32;
    case IR_bfind:
    case IR_clz:
    case IR_popc:
    case IR_ctarank:
        return IR_I32;
    case IR_malloc:
        return IR_I64;
    case IR_vprintf:
    case IR_activemask:
        return IR_I32;
    case IR_match:
    case IR_elect:
        return n == 1 ? IR_I1 : IR_I32;
    case IR_shfl:
    case IR_shfl_old:
        return n == 1 ? IR_I1 : type;
    case IR_request_result:
        return n == 1 ? IR_I1 : type;
    default:
        return type;
    }
}
