// SPDX-License-Identifier: Apache-2.0
//
// What the application advised about ranges of managed memory (cudaMemAdvise) and where it wanted
// them prefetched. On backends with one memory for host and devices the advice changes nothing that
// can be measured, but it is checked, kept and reported like CUDA's. Functions in advice.c.
#pragma once

#include <stddef.h>

#include <driver_types.h>

// Forgets what was advised about [start, start+size), because the memory is going away.
void irt_advice_forget(const void *start, size_t size);

// Whether [ptr, ptr+size) may be prefetched to that place. size > 0. cudaErrorInvalidValue for
// memory that is neither managed nor pageable memory of the application, or a place that there is
// not; cudaErrorInvalidDevice for a device that is none. Any thread.
cudaError_t irt_advice_check(const void *ptr, size_t size, const struct cudaMemLocation *location);

// Notes that the range was prefetched to `to`, NULL: that it is nowhere any more (a discard). Same
// errors, and cudaErrorMemoryAllocation.
cudaError_t irt_advice_prefetch(const void *ptr, size_t size, const struct cudaMemLocation *to);

// Where that byte of managed memory was prefetched to last; type 0 if nowhere.
struct cudaMemLocation irt_advice_prefetched(const void *page);
