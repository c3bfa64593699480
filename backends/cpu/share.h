// SPDX-License-Identifier: Apache-2.0
//
// Memory that several processes see. An object is an unnamed file in memory (memfd): it has no name
// in any file system, so nothing is left when the processes that use it are gone, however they
// ended. Another process reaches it through /proc/<pid>/fd/<number> of the process that made it
// (same user; attaching a debugger need not be allowed) and checks the 64-bit random number that
// the object carries as its name, so that a recycled process or descriptor number is noticed.
//
// The first CPU_OBJECT_DATA bytes of an object that holds allocations are a table of 32-bit marks,
// one per allocation that was exported: zero once it was freed. The file is sparse.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"

enum { CPU_OBJECT_DATA = 2 << 20 };

// What struct irtb_share holds.
struct cpu_share {
    uint32_t pid;
    int32_t fd;
    uint64_t nonce;  // of the object
    uint64_t offset; // of the bytes in the object
    uint64_t size;   // bytes; 0: not memory
    uint32_t slot;   // of the allocation's mark
    uint32_t mark;
};

// Makes an object of `size` bytes, all zero; the descriptor is not inherited by programs that this
// process starts. Fills pid, fd and nonce. Returns the descriptor, or -1 (errno says why).
int cpu_object_create(size_t size, struct cpu_share *ret_share);

// A descriptor (the caller's) of the object that the share names; -1 when there is none.
int cpu_object_open(const struct cpu_share *share);

// ---- operations of backend.h ----
cudaError_t cpu_memory_import(int device, const struct irtb_share *share, void **ret_ptr,
                              size_t *ret_size);
cudaError_t cpu_shared_create(int device, int *ret_fd);

// Maps [offset, offset+size) of the file for reading and writing, any offset; not inherited by
// fork. NULL: errno says why.
void *cpu_shared_place(int fd, uint64_t offset, size_t size);
// Undoes it; with `discard` the file's pages inside the range are given up.
void cpu_shared_remove(void *ptr, size_t size, bool discard);
