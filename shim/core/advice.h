// SPDX-License-Identifier: Apache-2.0
//
// What the application advised about ranges of managed memory (cudaMemAdvise) and where it wanted
// them prefetched. On backends with one memory for host and devices the advice changes nothing that
// can be measured, but it is checked, kept and reported like CUDA's. Functions in advice.c.
#pragma once

#include <stddef.h>

// Forgets what was advised about [start, start+size), because the memory is going away.
void irt_advice_forget(const void *start, size_t size);
