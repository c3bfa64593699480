// SPDX-License-Identifier: Apache-2.0
//
// What a compute capability promises: the limits of the CUDA C++ Programming Guide's table
// "Technical Specifications per Compute Capability", and the occupancy that follows from them.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cpu_arch {
    int major, minor;
    int threads_per_sm;
    int blocks_per_sm;
    int shared_per_sm;      // bytes
    int shared_per_block;   // bytes, with opt-in
    int shared_reserved;    // bytes per block taken by the system
    int shared_granularity; // bytes
    int l2_kb;              // of a typical chip
};

enum {
    CPU_THREADS_PER_BLOCK = 1024,
    CPU_SHARED_PER_BLOCK = 48 << 10, // without opt-in
    CPU_REGISTERS_PER_SM = 65536,
    CPU_REGISTERS_PER_THREAD = 255,
};

// Accepts "8.0", "80", "sm_80", "compute_80" (an architecture suffix letter is ignored); NULL when
// it is not a compute capability that the table knows.
const struct cpu_arch *cpu_arch_find(const char *text);
// All known ones, as "5.0, 5.2, …", for messages.
const char *cpu_arch_list(void);

// Blocks of that shape that fit one multiprocessor at once; 0 when not even one does.
int cpu_arch_occupancy(const struct cpu_arch *arch, int block_size, int registers,
                       size_t static_shared, size_t dynamic_shared);
