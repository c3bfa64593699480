// SPDX-License-Identifier: Apache-2.0
//
// What compiled code may call (struct exec_runtime), and how a grid hears of failures.
#pragma once

#include "grid.h"
#include "pool.h"
#include "../kernel_abi.h"

struct exec_device;
struct exec_children;
struct exec_child_list;

// A grid in flight. Made and owned by exec_grid_run.
struct exec_grid {
    struct exec_job job; // what other threads join
    struct exec_device *device;
    const struct exec_launch *launch;
    const void *params;
    struct exec_runtime runtime;
    uint64_t total, id;
    uint32_t chunk;
    _Atomic uint64_t next;     // first block that nobody has taken
    _Atomic uint32_t resident; // suspended and running blocks
    struct exec_children *_Atomic children; // what kernels have started; NULL: nothing yet
    struct exec_child_list *tails;          // where its tail launches go; NULL: it runs them
    uint32_t depth;                         // of launches by kernels; 0: launched by the host
    _Atomic int error;         // cudaError_t of the first failure; nobody starts blocks then
    // Workspace of cooperative groups, as their headers read it through %envreg1 and %envreg2:
    // its size, then the barrier's counter.
    _Alignas(16) uint32_t workspace[16];
};

// Fills the table; helpers are the kernel's.
void exec_runtime_fill(struct exec_runtime *runtime, void *const *helpers);

// Records the first failure of the grid and logs it with kernel, block and thread.
void exec_grid_fail(struct exec_grid *grid, const struct exec_ctx *ctx, cudaError_t error,
                    const char *what);

// Counts a thread in at a barrier without waiting (block.c).
void exec_block_arrive(struct exec_block *block, uint32_t thread, uint32_t id, uint32_t count);
