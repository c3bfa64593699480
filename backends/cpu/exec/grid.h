// SPDX-License-Identifier: Apache-2.0
//
// Launches: what is needed to run one grid, and running it over the pool. Called by stream.c (and
// by tests); hands single blocks to block.c.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "../kernel_abi.h"
#include "backends/backend.h"

// A compiled kernel as the executor sees it; lives as long as its module. Only `block_ns` changes.
struct exec_kernel {
    const char *name;
    exec_thread_fn thread;
    exec_block_fn block; // NULL when the kernel can suspend
    uint32_t lanes;      // as in struct jit_kernel; 0 counts as 1
    uint32_t frame_size;
    uint64_t local_size;
    uint32_t static_shared, dynamic_shared_offset;
    bool can_spin, recursive;
    bool uses_cluster; // as in struct jit_kernel
    void *const *helpers;
    _Atomic uint64_t block_ns; // running estimate of the time of a block; 0 unknown
};

struct exec_module;

struct exec_launch {
    struct exec_kernel *kernel;
    struct exec_module *module; // where the kernel is from (device_launch.h); NULL in tests
    void *const *symbols;
    uint32_t grid[3], block[3];
    uint32_t cluster[3]; // blocks, divides the grid; zeros: none
    uint32_t dynamic_shared;
    uint32_t resident; // blocks of this launch that the device holds at once
    bool cooperative;
    struct irtb_graph *graph; // that it is a node of (graph.h), or NULL
};

struct exec_device;

// Runs all blocks and returns when they have ended. The fault of a block marks the device as lost.
// `stream` may be NULL (tests). Parameters are 16-byte aligned. Any thread with enough stack.
cudaError_t exec_grid_run(struct exec_device *device, struct irtb_stream *stream,
                          const struct exec_launch *launch, const void *params);

// The same for a grid that `parent` has started, at the given depth of such launches. Its own tail
// launches are left in *ret_tails. Called by device_launch.c.
struct exec_grid;
struct exec_child_list;
cudaError_t exec_grid_run_nested(struct exec_grid *parent, const struct exec_launch *launch,
                                 const void *params, uint32_t depth,
                                 struct exec_child_list *ret_tails);

// Whether this thread has the stack to run kernels (callers that wait may be tiny threads).
bool exec_grid_may_run_here(void);
