// SPDX-License-Identifier: Apache-2.0
//
// Heap of device-side malloc and free: one region per device of the size of
// cudaLimitMallocHeapSize, reserved at the first allocation. Its bookkeeping is outside the region,
// so that a kernel that writes past its allocation cannot break it. Allocations live until freed or
// the device is reset.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct exec_heap;

struct exec_heap *exec_heap_create(size_t limit);
struct exec_heap *exec_heap_destroy(struct exec_heap *heap);
// Forgets all allocations and sets the size; false without memory.
bool exec_heap_reset(struct exec_heap *heap, size_t limit);
// 16-byte aligned; NULL when the heap is exhausted (size 0: NULL).
void *exec_heap_alloc(struct exec_heap *heap, size_t size);
// False when ptr is not an allocation of this heap. NULL is fine.
bool exec_heap_free(struct exec_heap *heap, void *ptr);
