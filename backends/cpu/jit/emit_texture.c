// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface operations: calls of the functions in exec_runtime.images (image_ops.h).
// The usual fetches pass their coordinates in registers, all others in an array of words on the
// stack.
#include "emit.h"

#include <stddef.h>
#include <string.h>

#include "../image_ops.h"

// Marks a call that reads memory only; it may still leave the kernel.
static void reads_only(struct emit *e, LLVMValueRef call)
{
    static const struct {
        const char *name;
        uint64_t value;
    } attributes[] = {{"nounwind", 0}, {"memory", 1 | 1 << 2 | 1 << 4}}; // reads of every kind
    for (unsigned i = 0; i < 2; i++) {
        unsigned kind =
            LLVMGetEnumAttributeKindForName(attributes[i].name, strlen(attributes[i].name));
        LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex,
                                 LLVMCreateEnumAttribute(e->cx, kind, attributes[i].value));
    }
}

// Calls images->`offset`; the result type of texture and surface functions is struct exec_words,
// which both x86-64 and AArch64 return in two registers.
static LLVMValueRef call_images(struct emit *e, size_t offset, LLVMTypeRef result,
                                LLVMValueRef *args, unsigned count)
{
    LLVMTypeRef params[5];
    for (unsigned i = 0; i < count; i++) {
        params[i] = LLVMTypeOf(args[i]);
    }
    LLVMTypeRef type = LLVMFunctionType(result, params, count, false);
    LLVMValueRef images = emit_runtime(e, offsetof(struct exec_runtime, images));
    LLVMValueRef fn = emit_invariant_load(e, e->ptr, emit_gep(e, images, offset), 8);
    LLVMValueRef call = LLVMBuildCall2(e->b, type, fn, args, count, "");
    if (offset != offsetof(struct exec_image_functions, surface)) {
        reads_only(e, call);
    }
    return call;
}

static LLVMTypeRef words_type(struct emit *e)
{
    LLVMTypeRef halves[2] = {e->i64, e->i64};
    return LLVMStructTypeInContext(e->cx, halves, 2, false);
}

// Cuts struct exec_words into the results of the operation.
static void set_results(struct emit *e, const struct ir_inst *inst, LLVMValueRef words)
{
    unsigned bits = ir_bits(inst->type);
    for (unsigned i = 0; i < inst->dst_count; i++) {
        LLVMValueRef half = LLVMBuildExtractValue(e->b, words, i * bits / 64, "");
        LLVMValueRef part = LLVMBuildLShr(e->b, half, emit_int(e, 64, (uint64_t)i * bits % 64), "");
        emit_set(e, inst, i, emit_resize(e, part, bits, false));
    }
}

static LLVMValueRef words_on_stack(struct emit *e)
{
    LLVMTypeRef type = LLVMArrayType2(e->i32, EXEC_WORD_COUNT + 3);
    LLVMValueRef words = LLVMBuildAlloca(e->pb, type, "words");
    LLVMSetAlignment(words, 16);
    return words;
}

// The function for a fetch with coordinates in registers; 0: none.
static size_t short_form(uint32_t op, unsigned *ret_coordinates)
{
    switch (op) {
    case EXEC_GEOMETRY_1D:
        *ret_coordinates = 1;
        return offsetof(struct exec_image_functions, texture_1d);
    case EXEC_GEOMETRY_2D:
        *ret_coordinates = 2;
        return offsetof(struct exec_image_functions, texture_2d);
    case EXEC_GEOMETRY_3D:
        *ret_coordinates = 3;
        return offsetof(struct exec_image_functions, texture_3d);
    case EXEC_GEOMETRY_1D | EXEC_TEXTURE_INTEGER:
        *ret_coordinates = 1;
        return offsetof(struct exec_image_functions, texture_fetch);
    default:
        return 0;
    }
}

static void texture(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef args[4] = {emit_get(e, &inst->src[0], 64)};
    const struct ir_operand *words = &inst->src[2];
    unsigned count = 0;
    size_t offset = short_form(inst->index, &count);
    if (offset != 0) {
        for (unsigned i = 0; i < count; i++) {
            const struct ir_operand *coordinate = &words[EXEC_WORD_X + i];
            args[1 + i] = inst->index & EXEC_TEXTURE_INTEGER
                              ? emit_get(e, coordinate, 32)
                              : emit_get_float(e, coordinate, IR_F32);
        }
        set_results(e, inst, call_images(e, offset, words_type(e), args, 1 + count));
        return;
    }
    args[1] = emit_get(e, &inst->src[1], 64);
    args[2] = words_on_stack(e);
    args[3] = emit_int(e, 32, inst->index);
    for (unsigned i = 0; i + 2 < inst->src_count; i++) {
        emit_store(e, emit_get(e, &words[i], 32), args[2], UINT64_C(4) * i, 4);
    }
    offset = offsetof(struct exec_image_functions, texture);
    set_results(e, inst, call_images(e, offset, words_type(e), args, 4));
}

static void surface(struct emit *e, const struct ir_inst *inst)
{
    LLVMValueRef args[3] = {emit_get(e, &inst->src[0], 64), words_on_stack(e),
                            emit_int(e, 32, inst->index)};
    for (unsigned i = 0; i < 4; i++) {
        emit_store(e, emit_get(e, &inst->src[1 + i], 32), args[1], UINT64_C(4) * i, 4);
    }
    unsigned bytes = ir_bits(inst->type) / 8;
    for (unsigned i = 5; i < inst->src_count; i++) {
        emit_store(e, emit_get(e, &inst->src[i], 8 * bytes), args[1],
                   4u * EXEC_WORD_DATA + bytes * (i - 5), bytes);
    }
    size_t offset = offsetof(struct exec_image_functions, surface);
    set_results(e, inst, call_images(e, offset, words_type(e), args, 3));
}

bool emit_texture(struct emit *e, const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_texture:
        texture(e, inst);
        return true;
    case IR_surface:
        surface(e, inst);
        return true;
    case IR_image_query: {
        LLVMValueRef args[3] = {emit_get(e, &inst->src[0], 64), emit_int(e, 32, inst->index),
                                emit_get(e, &inst->src[1], 32)};
        size_t offset = offsetof(struct exec_image_functions, query);
        emit_set(e, inst, 0, call_images(e, offset, e->i32, args, 3));
        return true;
    }
    default:
        return false;
    }
}
