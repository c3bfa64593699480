// SPDX-License-Identifier: Apache-2.0
//
// Warp form: masked vector accesses of memory. Where the processor has them they are LLVM's
// intrinsics. Elsewhere LLVM would write every access out as a branch for each lane, which makes
// huge code that takes long to generate: there each kind of access is one function of the module,
// with a loop over the lanes of the mask.
#include "emit.h"

#include <stdio.h>
#include <string.h>

// The same as llvm.masked.KIND of element type and count, without the operands that do not vary.
struct kind {
    const char *name;
    bool load, pointers; // pointers: an address for each lane, else one for the first
    LLVMTypeRef vector, element;
    unsigned count, align;
};

static LLVMValueRef element_at(struct emit *e, LLVMBuilderRef b, const struct kind *k,
                               LLVMValueRef base, LLVMValueRef index)
{
    return LLVMBuildGEP2(b, k->element, base, &index, 1, "");
}

// Emits the body: for each lane whose bit of the mask is set, one access.
static void body(struct emit *e, const struct kind *k, LLVMValueRef fn)
{
    struct emit_types *one = &e->modes[0];
    LLVMBuilderRef b = LLVMCreateBuilderInContext(e->cx);
    LLVMTypeRef bits_type = LLVMIntTypeInContext(e->cx, k->count);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->cx, fn, ""),
                      head = LLVMAppendBasicBlockInContext(e->cx, fn, "head"),
                      lane = LLVMAppendBasicBlockInContext(e->cx, fn, "lane"),
                      done = LLVMAppendBasicBlockInContext(e->cx, fn, "done");
    LLVMPositionBuilderAtEnd(b, entry);
    LLVMValueRef at = LLVMGetParam(fn, 0), zero = LLVMConstNull(bits_type);
    LLVMValueRef bits = LLVMBuildBitCast(b, LLVMGetParam(fn, 1), bits_type, "");
    LLVMValueRef addresses = NULL, values = LLVMBuildAlloca(b, k->vector, "");
    if (k->pointers) {
        addresses = LLVMBuildAlloca(b, LLVMTypeOf(at), "");
        LLVMBuildStore(b, at, addresses);
    }
    LLVMBuildStore(b, k->load ? LLVMConstNull(k->vector) : LLVMGetParam(fn, 2), values);
    LLVMBuildBr(b, head);
    LLVMPositionBuilderAtEnd(b, head);
    LLVMValueRef rest = LLVMBuildPhi(b, bits_type, "");
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntEQ, rest, zero, ""), done, lane);
    LLVMPositionBuilderAtEnd(b, lane);
    unsigned id = LLVMLookupIntrinsicID("llvm.cttz", 9);
    LLVMValueRef zeros = LLVMGetIntrinsicDeclaration(e->module, id, &bits_type, 1);
    LLVMValueRef args[2] = {rest, LLVMConstInt(one->i1, 1, false)};
    LLVMValueRef index =
        LLVMBuildCall2(b, LLVMIntrinsicGetType(e->cx, id, &bits_type, 1), zeros, args, 2, "");
    index = k->count < 64 ? LLVMBuildZExt(b, index, one->i64, "")
                          : LLVMBuildTrunc(b, index, one->i64, "");
    LLVMValueRef from =
        k->pointers
            ? LLVMBuildLoad2(b, e->ptr, LLVMBuildGEP2(b, e->ptr, addresses, &index, 1, ""), "")
            : element_at(e, b, k, at, index);
    LLVMValueRef slot = element_at(e, b, k, values, index);
    LLVMValueRef load = LLVMBuildLoad2(b, k->element, k->load ? from : slot, "");
    LLVMValueRef store = LLVMBuildStore(b, load, k->load ? slot : from);
    LLVMSetAlignment(k->load ? load : store, k->align);
    LLVMValueRef next =
        LLVMBuildAnd(b, rest, LLVMBuildSub(b, rest, LLVMConstInt(bits_type, 1, false), ""), "");
    LLVMBuildBr(b, head);
    LLVMAddIncoming(rest, (LLVMValueRef[]){bits, next}, (LLVMBasicBlockRef[]){entry, lane}, 2);
    LLVMPositionBuilderAtEnd(b, done);
    if (k->load) {
        LLVMBuildRet(b, LLVMBuildLoad2(b, k->vector, values, ""));
    } else {
        LLVMBuildRetVoid(b);
    }
    LLVMDisposeBuilder(b);
}

static LLVMValueRef outlined(struct emit *e, const struct kind *k, LLVMTypeRef at,
                             LLVMValueRef mask, LLVMValueRef *args)
{
    char name[64];
    char *element = LLVMPrintTypeToString(k->element);
    snprintf(name, sizeof name, "%s.%u.%s.%u", k->name, k->count, element, k->align);
    LLVMDisposeMessage(element);
    LLVMTypeRef params[3] = {at, LLVMTypeOf(mask), k->vector};
    LLVMTypeRef type =
        LLVMFunctionType(k->load ? k->vector : e->void_type, params, k->load ? 2 : 3, false);
    LLVMValueRef fn = LLVMGetNamedFunction(e->module, name);
    if (fn == NULL) {
        fn = LLVMAddFunction(e->module, name, type);
        LLVMSetLinkage(fn, LLVMInternalLinkage);
        emit_set_attribute(e, fn, LLVMAttributeFunctionIndex, "noinline", 0);
        emit_set_attribute(e, fn, LLVMAttributeFunctionIndex, "nounwind", 0);
        body(e, k, fn);
    }
    return LLVMBuildCall2(e->b, type, fn, args, k->load ? 2 : 3, "");
}

static LLVMValueRef intrinsic(struct emit *e, const char *name, LLVMTypeRef vector, LLVMTypeRef at,
                              LLVMValueRef *args)
{
    LLVMTypeRef types[2] = {vector, at};
    char full[32];
    snprintf(full, sizeof full, "llvm.masked.%s", name);
    unsigned id = LLVMLookupIntrinsicID(full, strlen(full));
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->module, id, types, 2);
    return LLVMBuildCall2(e->b, LLVMIntrinsicGetType(e->cx, id, types, 2), fn, args, 4, "");
}

static struct kind describe(const char *name, LLVMTypeRef vector, unsigned align)
{
    return (struct kind){.name = name,
                         .vector = vector,
                         .element = LLVMGetElementType(vector),
                         .count = LLVMGetVectorSize(vector),
                         .align = align};
}

LLVMValueRef warp_masked_load(struct emit *e, LLVMTypeRef vector, LLVMValueRef at, unsigned align,
                              LLVMValueRef mask)
{
    struct kind k = describe("load", vector, align);
    k.pointers = LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVectorTypeKind;
    k.load = true;
    if (e->outline_masked) {
        k.name = k.pointers ? "gather" : "load";
        return outlined(e, &k, LLVMTypeOf(at), mask, (LLVMValueRef[]){at, mask});
    }
    LLVMValueRef args[4] = {at, LLVMConstInt(e->modes[0].i32, align, false), mask,
                            LLVMConstNull(vector)};
    return intrinsic(e, k.pointers ? "gather" : "load", vector, LLVMTypeOf(at), args);
}

void warp_masked_store(struct emit *e, LLVMValueRef value, LLVMValueRef at, unsigned align,
                       LLVMValueRef mask)
{
    struct kind k = describe("store", LLVMTypeOf(value), align);
    k.pointers = LLVMGetTypeKind(LLVMTypeOf(at)) == LLVMVectorTypeKind;
    if (e->outline_masked) {
        k.name = k.pointers ? "scatter" : "store";
        (void)outlined(e, &k, LLVMTypeOf(at), mask, (LLVMValueRef[]){at, mask, value});
        return;
    }
    LLVMValueRef args[4] = {value, at, LLVMConstInt(e->modes[0].i32, align, false), mask};
    (void)intrinsic(e, k.pointers ? "scatter" : "store", LLVMTypeOf(value), LLVMTypeOf(at), args);
}
