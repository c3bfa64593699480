// SPDX-License-Identifier: Apache-2.0
//
// Batches of copies with CUDA 12's arguments: they also say which copy failed. Called by the
// generated wrappers only.
#include "shim/core/batch.h"
#include "irt_compat12.h"

cudaError_t irt_compat12_cudaMemcpyBatchAsync(void **dsts, void **srcs, size_t *sizes, size_t count,
                                              struct cudaMemcpyAttributes *attrs, size_t *attrsIdxs,
                                              size_t numAttrs, size_t *failIdx, cudaStream_t stream)
{
    return irt_batch_copy(dsts, (const void *const *)srcs, sizes, count, attrs, attrsIdxs, numAttrs,
                          failIdx, stream);
}

cudaError_t irt_compat12_cudaMemcpy3DBatchAsync(size_t numOps, struct cudaMemcpy3DBatchOp *opList,
                                                size_t *failIdx, unsigned long long flags,
                                                cudaStream_t stream)
{
    return irt_batch_copy_3d(numOps, opList, failIdx, flags, stream);
}
