// SPDX-License-Identifier: Apache-2.0
//
// Batches of copies for the bodies of all majors: CUDA 12 also reports which copy failed.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <driver_types.h>

// cudaMemcpyBatchAsync. Every copy is checked before the first is enqueued, so a batch runs whole
// or not at all. `ret_fail` (may be NULL): the copy that an error is about, else SIZE_MAX; also
// written on success. cudaErrorInvalidValue, cudaErrorInvalidResourceHandle, faults. Any thread,
// no lock held. Source: CUDA Runtime API, cudaMemcpyBatchAsync of 12.8 and 13.0.
cudaError_t irt_batch_copy(void *const *dsts, const void *const *srcs, const size_t *sizes,
                           size_t count, const struct cudaMemcpyAttributes *attributes,
                           const size_t *indices, size_t attribute_count, size_t *ret_fail,
                           cudaStream_t stream);

// cudaMemcpy3DBatchAsync, likewise.
cudaError_t irt_batch_copy_3d(size_t count, const struct cudaMemcpy3DBatchOp *ops, size_t *ret_fail,
                              unsigned long long flags, cudaStream_t stream);

// Whether `indices` say for `count` operations which of `entries` entries each has: the first is 0,
// they grow, the last is below `count`. Shared with batches of prefetches.
bool irt_batch_indices_are_valid(const size_t *indices, size_t entries, size_t count);
