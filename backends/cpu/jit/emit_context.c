// SPDX-License-Identifier: Apache-2.0
//
// What compiled code reads of the running thread and block: fields of exec_ctx, special registers,
// calls into the runtime and its helpers.
#include "emit.h"

#include <stddef.h>
#include <string.h>

#include "../ptx/ptx.h"

void emit_set_attribute(struct emit *e, LLVMValueRef fn, unsigned index, const char *name,
                        uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
    LLVMAddAttributeAtIndex(fn, index, LLVMCreateEnumAttribute(e->cx, kind, value));
}

void emit_set_string_attribute(struct emit *e, LLVMValueRef fn, const char *name, const char *value)
{
    LLVMAttributeRef a = LLVMCreateStringAttribute(e->cx, name, (unsigned)strlen(name), value,
                                                   (unsigned)strlen(value));
    LLVMAddAttributeAtIndex(fn, LLVMAttributeFunctionIndex, a);
}

LLVMValueRef emit_gep(struct emit *e, LLVMValueRef base, uint64_t offset)
{
    if (offset == 0) {
        return base;
    }
    LLVMValueRef index = emit_int(e, 64, offset);
    return LLVMBuildGEP2(e->b, e->i8, base, &index, 1, "");
}

LLVMValueRef emit_load(struct emit *e, LLVMTypeRef type, LLVMValueRef base, uint64_t offset,
                       unsigned align)
{
    LLVMValueRef v = LLVMBuildLoad2(e->b, type, emit_gep(e, base, offset), "");
    LLVMSetAlignment(v, align);
    return v;
}

LLVMValueRef emit_store(struct emit *e, LLVMValueRef value, LLVMValueRef base, uint64_t offset,
                        unsigned align)
{
    LLVMValueRef v = LLVMBuildStore(e->b, value, emit_gep(e, base, offset));
    LLVMSetAlignment(v, align);
    return v;
}

static void mark_invariant(struct emit *e, LLVMValueRef load)
{
    LLVMMetadataRef empty = LLVMMDNodeInContext2(e->cx, NULL, 0);
    LLVMSetMetadata(load, e->md_invariant, LLVMMetadataAsValue(e->cx, empty));
}

static void mark_range(struct emit *e, LLVMValueRef load, uint64_t low, uint64_t high)
{
    LLVMMetadataRef bounds[2] = {LLVMValueAsMetadata(emit_int(e, 32, low)),
                                 LLVMValueAsMetadata(emit_int(e, 32, high))};
    LLVMMetadataRef node = LLVMMDNodeInContext2(e->cx, bounds, 2);
    LLVMSetMetadata(load, e->md_range, LLVMMetadataAsValue(e->cx, node));
}

// Says how many bytes a loaded pointer has behind it, so that loads through it may be hoisted.
static void mark_dereferenceable(struct emit *e, LLVMValueRef load, uint64_t bytes, uint64_t align)
{
    const struct {
        const char *name;
        uint64_t value;
    } facts[] = {{"dereferenceable", bytes}, {"align", align}};
    for (unsigned i = 0; i < 2; i++) {
        unsigned kind =
            LLVMGetMDKindIDInContext(e->cx, facts[i].name, (unsigned)strlen(facts[i].name));
        LLVMMetadataRef number = LLVMValueAsMetadata(emit_int(e, 64, facts[i].value));
        LLVMSetMetadata(load, kind,
                        LLVMMetadataAsValue(e->cx, LLVMMDNodeInContext2(e->cx, &number, 1)));
    }
}

static void mark_pointer(struct emit *e, LLVMValueRef load, size_t offset)
{
    if (offset == offsetof(struct exec_ctx, params) && e->unit->functions[0]->params_size > 0) {
        mark_dereferenceable(e, load, e->unit->functions[0]->params_size, 1);
    } else if (offset == offsetof(struct exec_ctx, symbols) &&
               e->unit->program->variable_count > 0) {
        mark_dereferenceable(e, load, 8ull * e->unit->program->variable_count, 8);
    } else if (offset == offsetof(struct exec_ctx, rt)) {
        mark_dereferenceable(e, load, sizeof(struct exec_runtime), 8);
    }
}

LLVMValueRef emit_ctx(struct emit *e, size_t offset, LLVMTypeRef type)
{
    for (unsigned i = 0; i < e->field_count; i++) {
        if (e->field_offsets[i] == offset && LLVMTypeOf(e->fields[i]) == type) {
            return e->fields[i];
        }
    }
    LLVMValueRef index = emit_int(e, 64, offset);
    LLVMValueRef at = LLVMBuildGEP2(e->pb, e->i8, e->ctx, &index, 1, "");
    LLVMValueRef v = LLVMBuildLoad2(e->pb, type, at, "");
    mark_invariant(e, v);
    mark_pointer(e, v, offset);
    if (offset == offsetof(struct exec_ctx, ntid) ||
        offset == offsetof(struct exec_ctx, ntid) + 4 ||
        offset == offsetof(struct exec_ctx, ntid) + 8) {
        mark_range(e, v, 1, 1025);
    }
    if (e->field_count < EMIT_CTX_FIELDS) {
        e->fields[e->field_count] = v;
        e->field_offsets[e->field_count++] = (uint32_t)offset;
    }
    return v;
}

LLVMValueRef emit_invariant_load(struct emit *e, LLVMTypeRef type, LLVMValueRef at, unsigned align)
{
    LLVMValueRef v = LLVMBuildLoad2(e->b, type, at, "");
    LLVMSetAlignment(v, align);
    mark_invariant(e, v);
    return v;
}

LLVMValueRef emit_runtime(struct emit *e, size_t offset)
{
    LLVMValueRef rt = emit_ctx(e, offsetof(struct exec_ctx, rt), e->ptr);
    return emit_invariant_load(e, e->ptr, emit_gep(e, rt, offset), 8);
}

LLVMValueRef emit_helper(struct emit *e, unsigned index, LLVMValueRef a, LLVMValueRef b,
                         LLVMValueRef c, uint64_t mode)
{
    bool vector = warp_mode(e, false);
    LLVMValueRef table = emit_runtime(e, offsetof(struct exec_runtime, helpers));
    LLVMValueRef fn = emit_invariant_load(e, e->ptr, emit_gep(e, table, 8u * index), 8);
    warp_mode(e, vector);
    LLVMValueRef args[4] = {a, b, c, emit_int(e, 64, mode)};
    for (unsigned i = 0; i < 3; i++) {
        args[i] = args[i] == NULL ? emit_int(e, 64, 0) : emit_resize(e, args[i], 64, false);
    }
    return e->vector ? warp_helper(e, fn, args) : emit_helper_call(e, fn, args);
}

LLVMValueRef emit_helper_call(struct emit *e, LLVMValueRef fn, LLVMValueRef *args)
{
    LLVMValueRef call = LLVMBuildCall2(e->b, e->helper_type, fn, args, 4, "");
    // Pure: reads and writes no memory, returns.
    static const char *const attributes[] = {"nounwind", "willreturn", "memory"};
    for (unsigned i = 0; i < 3; i++) {
        unsigned kind = LLVMGetEnumAttributeKindForName(attributes[i], strlen(attributes[i]));
        LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                                 LLVMCreateEnumAttribute(e->cx, kind, 0));
    }
    return call;
}

LLVMValueRef emit_global_text(struct emit *e, const char *text)
{
    return LLVMBuildGlobalStringPtr(e->b, text, "text");
}

void emit_trap(struct emit *e, const char *reason)
{
    LLVMTypeRef params[2] = {e->ptr, e->ptr};
    LLVMTypeRef type = LLVMFunctionType(e->void_type, params, 2, false);
    LLVMValueRef fn = emit_runtime(e, offsetof(struct exec_runtime, trap));
    LLVMValueRef args[2] = {e->ctx, emit_global_text(e, reason)};
    LLVMBuildCall2(e->b, type, fn, args, 2, "");
    LLVMBuildUnreachable(e->b);
}

// ---------------------------------------------------------------- special registers

static LLVMValueRef triple(struct emit *e, size_t offset, unsigned component)
{
    return component > 2 ? emit_int(e, 32, 0) : emit_ctx(e, offset + 4 * component, e->i32);
}

static LLVMValueRef lane(struct emit *e)
{
    return LLVMBuildAnd(e->b, e->linear, emit_int(e, 32, 31), "");
}

static LLVMValueRef lane_mask(struct emit *e, unsigned sreg)
{
    LLVMValueRef eq = LLVMBuildShl(e->b, emit_int(e, 32, 1), lane(e), "");
    LLVMValueRef lt = LLVMBuildSub(e->b, eq, emit_int(e, 32, 1), "");
    switch (sreg) {
    case PTX_SREG_lanemask_eq:
        return eq;
    case PTX_SREG_lanemask_lt:
        return lt;
    case PTX_SREG_lanemask_le:
        return LLVMBuildOr(e->b, lt, eq, "");
    case PTX_SREG_lanemask_ge:
        return LLVMBuildNot(e->b, lt, "");
    default:
        return LLVMBuildNot(e->b, LLVMBuildOr(e->b, lt, eq, ""), "");
    }
}

static LLVMValueRef runtime_clock(struct emit *e, size_t offset)
{
    LLVMTypeRef type = LLVMFunctionType(e->i64, &e->ptr, 1, false);
    return LLVMBuildCall2(e->b, type, emit_runtime(e, offset), &e->ctx, 1, "");
}

static LLVMValueRef upper_half(struct emit *e, LLVMValueRef v)
{
    return LLVMBuildLShr(e->b, v, emit_int(e, 64, 32), "");
}

static LLVMValueRef cluster_product(struct emit *e)
{
    size_t n = offsetof(struct exec_ctx, cluster_nctaid);
    return LLVMBuildMul(e->b, LLVMBuildMul(e->b, triple(e, n, 0), triple(e, n, 1), ""),
                        triple(e, n, 2), "");
}

static LLVMValueRef cluster_register(struct emit *e, unsigned sreg, unsigned component)
{
    size_t id = offsetof(struct exec_ctx, cluster_ctaid);
    size_t n = offsetof(struct exec_ctx, cluster_nctaid);
    switch (sreg) {
    case PTX_SREG_cluster_ctaid:
        return triple(e, id, component);
    case PTX_SREG_cluster_nctaid:
        return triple(e, n, component);
    case PTX_SREG_cluster_nctarank:
        return cluster_product(e);
    case PTX_SREG_is_explicit_cluster:
        return LLVMBuildICmp(e->b, LLVMIntUGT, cluster_product(e), emit_int(e, 32, 1), "");
    case PTX_SREG_cluster_ctarank: {
        LLVMValueRef r = LLVMBuildMul(e->b, triple(e, id, 2), triple(e, n, 1), "");
        r = LLVMBuildMul(e->b, LLVMBuildAdd(e->b, r, triple(e, id, 1), ""), triple(e, n, 0), "");
        return LLVMBuildAdd(e->b, r, triple(e, id, 0), "");
    }
    default: {
        if (component > 2) {
            return emit_int(e, 32, 0);
        }
        size_t base = sreg == PTX_SREG_clusterid ? offsetof(struct exec_ctx, ctaid)
                                                 : offsetof(struct exec_ctx, nctaid);
        // The executor always fills the cluster shape; guard against 0 all the same.
        LLVMValueRef d = emit_intrinsic(e, "llvm.umax", e->i32, triple(e, n, component),
                                        emit_int(e, 32, 1), NULL);
        return LLVMBuildUDiv(e->b, triple(e, base, component), d, "");
    }
    }
}

static LLVMValueRef sreg_value(struct emit *e, const struct ir_inst *inst)
{
    unsigned sreg = inst->index, component = inst->sub;
    switch (sreg) {
    case PTX_SREG_tid:
        return component > 2 ? emit_int(e, 32, 0) : e->tid[component];
    case PTX_SREG_ntid:
        return triple(e, offsetof(struct exec_ctx, ntid), component);
    case PTX_SREG_ctaid:
        return triple(e, offsetof(struct exec_ctx, ctaid), component);
    case PTX_SREG_nctaid:
        return triple(e, offsetof(struct exec_ctx, nctaid), component);
    case PTX_SREG_laneid:
        return lane(e);
    case PTX_SREG_warpid:
        return LLVMBuildLShr(e->b, e->linear, emit_int(e, 32, 5), "");
    case PTX_SREG_nwarpid:
        return emit_int(e, 32, 64);
    case PTX_SREG_smid:
        return emit_ctx(e, offsetof(struct exec_ctx, smid), e->i32);
    case PTX_SREG_nsmid:
        return emit_ctx(e, offsetof(struct exec_ctx, nsmid), e->i32);
    case PTX_SREG_current_graph_exec:
        return emit_ctx(e, offsetof(struct exec_ctx, graph_exec), e->i64);
    case PTX_SREG_gridid:
        return emit_ctx(e, offsetof(struct exec_ctx, gridid), e->i64);
    case PTX_SREG_lanemask_eq:
    case PTX_SREG_lanemask_le:
    case PTX_SREG_lanemask_lt:
    case PTX_SREG_lanemask_ge:
    case PTX_SREG_lanemask_gt:
        return lane_mask(e, sreg);
    case PTX_SREG_clock:
    case PTX_SREG_clock64:
        return runtime_clock(e, offsetof(struct exec_runtime, clock64));
    case PTX_SREG_clock_hi:
        return upper_half(e, runtime_clock(e, offsetof(struct exec_runtime, clock64)));
    case PTX_SREG_globaltimer:
    case PTX_SREG_globaltimer_lo:
        return runtime_clock(e, offsetof(struct exec_runtime, globaltimer));
    case PTX_SREG_globaltimer_hi:
        return upper_half(e, runtime_clock(e, offsetof(struct exec_runtime, globaltimer)));
    case PTX_SREG_dynamic_smem_size:
        return emit_ctx(e, offsetof(struct exec_ctx, dynamic_shared_size), e->i32);
    case PTX_SREG_total_smem_size:
    case PTX_SREG_aggr_smem_size:
        return emit_ctx(e, offsetof(struct exec_ctx, shared_size), e->i32);
    case PTX_SREG_is_explicit_cluster:
    case PTX_SREG_clusterid:
    case PTX_SREG_nclusterid:
    case PTX_SREG_cluster_ctaid:
    case PTX_SREG_cluster_nctaid:
    case PTX_SREG_cluster_ctarank:
    case PTX_SREG_cluster_nctarank:
        return cluster_register(e, sreg, component);
    default:
        break;
    }
    if (sreg >= PTX_SREG_envreg0 && sreg < PTX_SREG_envreg0 + 4u) {
        size_t offset = offsetof(struct exec_ctx, envreg) + 8u * (sreg - PTX_SREG_envreg0);
        return emit_ctx(e, offset, e->i64);
    }
    // Other environment registers, performance counters, reserved shared memory, graph handle:
    // nothing is set up, so they read as zero (PTX ISA 10).
    return emit_int(e, 64, 0);
}

bool emit_sreg(struct emit *e, const struct ir_inst *inst)
{
    if (inst->op != IR_sreg) {
        return false;
    }
    emit_set(e, inst, 0, sreg_value(e, inst));
    return true;
}
