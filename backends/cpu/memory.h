// SPDX-License-Identifier: Apache-2.0
//
// Memory of the virtual devices: budget, allocation, free. Private anonymous mappings, because only
// those get huge pages everywhere; an export to another process replaces the pages of an allocation
// by a shared mapping at the same address, which works because every allocation is made of whole
// pages (large) or lies in a slab that is (small). Device, pinned and managed memory use the same
// heaps: device memory counts against its device, the others against the host heap.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include <driver_types.h>

struct cpu_allocation;
struct cpu_share;
struct cpu_slab;

enum { CPU_SIZE_CLASSES = 40 };

struct cpu_heap {
    pthread_mutex_t lock;
    size_t budget, used;                      // bytes; lock
    struct cpu_allocation *allocations;       // hash by address; lock
    struct cpu_slab *slabs[CPU_SIZE_CLASSES]; // slabs with a free piece, by class; lock
};

void cpu_heap_init(struct cpu_heap *heap, size_t budget);
// 512-byte aligned. cudaErrorMemoryAllocation when the budget or the
// machine has no more. An access far behind the end of a large allocation faults.
cudaError_t cpu_heap_alloc(struct cpu_heap *heap, size_t size, void **ret_ptr);
// cudaErrorInvalidValue when ptr is not the start of an allocation of this heap.
cudaError_t cpu_heap_free(struct cpu_heap *heap, void *ptr);
// Lets other processes see `size` bytes of the allocation that starts at `ptr`, with what lies in
// the same slab. Threads that write to it meanwhile are held up for a moment. Says where the bytes
// are in *ret_share. cudaErrorInvalidValue when it is no such allocation,
// cudaErrorMapBufferObjectFailed without shared memory or descriptors.
cudaError_t cpu_heap_export(struct cpu_heap *heap, void *ptr, size_t size,
                            struct cpu_share *ret_share);
// Counts memory that lies elsewhere against the budget. False: the budget does not allow it.
bool cpu_heap_charge(struct cpu_heap *heap, size_t size);
void cpu_heap_uncharge(struct cpu_heap *heap, size_t size);
void cpu_heap_info(struct cpu_heap *heap, size_t *ret_free, size_t *ret_total);
// Frees everything that is left.
void cpu_heap_clear(struct cpu_heap *heap);
// Bytes of RAM that the process may use (the smaller of the machine's and the control group's).
size_t cpu_machine_memory(void);
// The whole number that a file of /proc or /sys begins with; 0 when there is none.
size_t cpu_number_in(const char *path);
// True when every page of the range is mapped.
bool cpu_range_mapped(const void *ptr, size_t size);
