// SPDX-License-Identifier: Apache-2.0
//
// Copies with attributes, one or many in a call: cudaMemcpyBatchAsync, cudaMemcpy3DBatchAsync and
// cudaMemcpy[3D]WithAttributesAsync. Each becomes an ordinary copy of copy.h after all have been
// checked; a stream runs them one after the other, which is one of the orders that CUDA allows.
// Hints of locations and of overlap change no result and are not used.
#include "shim/core/batch.h"

#include <stdbool.h>
#include <stdint.h>

#include "irt_core.h"
#include "shim/image/array.h"
#include "shim/core/copy.h"

static struct irtb_copy line(void *dst, const void *src, size_t size)
{
    return (struct irtb_copy){.dst = dst,
                              .src = src,
                              .width = size,
                              .height = 1,
                              .depth = 1,
                              .dst_pitch = size,
                              .src_pitch = size,
                              .dst_slice = size,
                              .src_slice = size};
}

static bool order_is_valid(enum cudaMemcpySrcAccessOrder order, unsigned flags)
{
    return order >= cudaMemcpySrcAccessOrderStream && order <= cudaMemcpySrcAccessOrderAny &&
           !(flags & ~(unsigned)cudaMemcpyFlagPreferOverlapWithCompute);
}

static enum irt_copy_mode mode_of(enum cudaMemcpySrcAccessOrder order)
{
    return order == cudaMemcpySrcAccessOrderDuringApiCall ? IRT_COPY_TAKEN : IRT_COPY_ORDERED;
}

// The legacy stream takes no batch; any other handle must be a live stream.
static cudaError_t check_stream(cudaStream_t stream)
{
    struct irtb_copy nothing = line(NULL, NULL, 0);
    return stream == cudaStreamLegacy
               ? cudaErrorInvalidValue
               : irt_copy_run(&nothing, cudaMemcpyDefault, stream, IRT_COPY_ORDERED);
}

bool irt_batch_indices_are_valid(const size_t *indices, size_t entries, size_t count)
{
    if (entries == 0 || entries > count || indices[0] != 0) {
        return false;
    }
    for (size_t i = 1; i < entries; i++) {
        if (indices[i] <= indices[i - 1] || indices[i] >= count) {
            return false;
        }
    }
    return true;
}

cudaError_t irt_batch_copy(void *const *dsts, const void *const *srcs, const size_t *sizes,
                           size_t count, const struct cudaMemcpyAttributes *attributes,
                           const size_t *indices, size_t attribute_count, size_t *ret_fail,
                           cudaStream_t stream)
{
    size_t ignored;
    size_t *fail = ret_fail ? ret_fail : &ignored;
    *fail = SIZE_MAX;
    if (!dsts || !srcs || !sizes || !attributes || !indices || count == 0 ||
        !irt_batch_indices_are_valid(indices, attribute_count, count)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = check_stream(stream);
    if (error) {
        return error;
    }
    for (size_t i = 0, entry = 0; i < count; i++) {
        entry += entry + 1 < attribute_count && indices[entry + 1] == i;
        struct irtb_copy box = line(dsts[i], srcs[i], sizes[i]);
        if (!order_is_valid(attributes[entry].srcAccessOrder, attributes[entry].flags) ||
            irt_copy_run(&box, cudaMemcpyDefault, stream, IRT_COPY_CHECK) != cudaSuccess) {
            *fail = i;
            return cudaErrorInvalidValue;
        }
    }
    for (size_t i = 0, entry = 0; i < count && !error; i++) {
        entry += entry + 1 < attribute_count && indices[entry + 1] == i;
        struct irtb_copy box = line(dsts[i], srcs[i], sizes[i]);
        error = irt_copy_run(&box, cudaMemcpyDefault, stream,
                             mode_of(attributes[entry].srcAccessOrder));
        *fail = error ? i : SIZE_MAX;
    }
    return error;
}

cudaError_t irt_core_cudaMemcpyBatchAsync(void *const *dsts, const void *const *srcs,
                                          const size_t *sizes, size_t count,
                                          struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                          size_t numAttrs, cudaStream_t stream)
{
    return irt_batch_copy(dsts, srcs, sizes, count, attrs, attrsIdxs, numAttrs, NULL, stream);
}

cudaError_t irt_core_cudaMemcpyWithAttributesAsync(void *dst, const void *src, size_t size,
                                                   struct cudaMemcpyAttributes *attr,
                                                   cudaStream_t stream)
{
    if (!attr || !order_is_valid(attr->srcAccessOrder, attr->flags)) {
        return cudaErrorInvalidValue;
    }
    struct irtb_copy box = line(dst, src, size);
    return irt_copy_run(&box, cudaMemcpyDefault, stream, mode_of(attr->srcAccessOrder));
}

// ---- three dimensions ----

// Bytes of one element of the arrays of an operation; 1 between pointers. cudaErrorInvalidValue
// when there is no such array or two do not agree.
static cudaError_t element_size(const struct cudaMemcpy3DBatchOp *op, size_t *ret_size)
{
    static const struct cudaPos origin;
    static const struct cudaExtent one = {1, 1, 1};
    const struct cudaMemcpy3DOperand *operands[] = {&op->src, &op->dst};
    size_t size = 0;
    for (int i = 0; i < 2; i++) {
        if (operands[i]->type != cudaMemcpyOperandTypeArray) {
            continue;
        }
        struct irt_array_region region;
        cudaError_t error = irt_array_region(operands[i]->op.array.array, &origin, &one, &region);
        if (error || (size && size != region.element_size)) {
            return cudaErrorInvalidValue;
        }
        size = region.element_size;
    }
    *ret_size = size ? size : 1;
    return cudaSuccess;
}

// One operand as cudaMemcpy3D has it.
static cudaError_t operand(const struct cudaMemcpy3DOperand *operand,
                           const struct cudaExtent *extent, size_t element, cudaArray_t *ret_array,
                           struct cudaPos *ret_pos, struct cudaPitchedPtr *ret_ptr)
{
    if (operand->type == cudaMemcpyOperandTypeArray) {
        *ret_array = operand->op.array.array;
        *ret_pos = (struct cudaPos){.x = operand->op.array.offset.x,
                                    .y = operand->op.array.offset.y,
                                    .z = operand->op.array.offset.z};
        return *ret_array ? cudaSuccess : cudaErrorInvalidValue;
    }
    if (operand->type != cudaMemcpyOperandTypePointer || !operand->op.ptr.ptr) {
        return cudaErrorInvalidValue;
    }
    size_t row = operand->op.ptr.rowLength ? operand->op.ptr.rowLength : extent->width;
    size_t rows = operand->op.ptr.layerHeight ? operand->op.ptr.layerHeight : extent->height;
    size_t pitch;
    if (row < extent->width || rows < extent->height ||
        __builtin_mul_overflow(row, element, &pitch)) {
        return cudaErrorInvalidValue;
    }
    *ret_ptr = (struct cudaPitchedPtr){
        .ptr = operand->op.ptr.ptr, .pitch = pitch, .xsize = row, .ysize = rows};
    return cudaSuccess;
}

static cudaError_t run_3d(const struct cudaMemcpy3DBatchOp *op, cudaStream_t stream, bool check)
{
    if (!order_is_valid(op->srcAccessOrder, op->flags) || op->extent.width == 0 ||
        op->extent.height == 0 || op->extent.depth == 0) {
        return cudaErrorInvalidValue;
    }
    struct cudaMemcpy3DParms parms = {.extent = op->extent, .kind = cudaMemcpyDefault};
    size_t element;
    cudaError_t error = element_size(op, &element);
    if (!error) {
        error =
            operand(&op->src, &op->extent, element, &parms.srcArray, &parms.srcPos, &parms.srcPtr);
    }
    if (!error) {
        error =
            operand(&op->dst, &op->extent, element, &parms.dstArray, &parms.dstPos, &parms.dstPtr);
    }
    return error ? error
                 : irt_copy_run_3d(&parms, stream,
                                   check ? IRT_COPY_CHECK : mode_of(op->srcAccessOrder));
}

cudaError_t irt_batch_copy_3d(size_t count, const struct cudaMemcpy3DBatchOp *ops, size_t *ret_fail,
                              unsigned long long flags, cudaStream_t stream)
{
    size_t ignored;
    size_t *fail = ret_fail ? ret_fail : &ignored;
    *fail = SIZE_MAX;
    if (count == 0 || !ops || flags != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = check_stream(stream);
    for (size_t i = 0; i < count && !error; i++) {
        error = run_3d(&ops[i], stream, true);
        if (error) {
            *fail = i;
            return error == cudaErrorNotSupported ? error : cudaErrorInvalidValue;
        }
    }
    for (size_t i = 0; i < count && !error; i++) {
        error = run_3d(&ops[i], stream, false);
        *fail = error ? i : SIZE_MAX;
    }
    return error;
}

cudaError_t irt_core_cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                            unsigned long long flags, cudaStream_t stream)
{
    return irt_batch_copy_3d(numOps, opList, NULL, flags, stream);
}

cudaError_t irt_core_cudaMemcpy3DWithAttributesAsync(struct cudaMemcpy3DBatchOp *op,
                                                     unsigned long long flags, cudaStream_t stream)
{
    if (!op || flags != 0) {
        return cudaErrorInvalidValue;
    }
    return run_3d(op, stream, false);
}
