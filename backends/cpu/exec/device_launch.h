// SPDX-License-Identifier: Apache-2.0
//
// Grids, copies and fills that kernels start (CUDA Dynamic Parallelism). Work that a grid starts is
// kept with it and run by the thread that owns the grid, after its blocks have ended and before it
// counts as complete: first what went to the streams of the grid (and fire-and-forget launches), in
// the order in which it was started, then the tail launches. CUDA promises neither that children
// run beside their parent nor that they wait for each other across streams, so one order serves all
// streams, and events between them are always complete when they are waited for.
// Source: CUDA Programming Guide, "CUDA Dynamic Parallelism", CDP2.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "grid.h"
#include "backends/backend.h"

struct exec_device;
struct exec_grid;
struct exec_children; // what one grid has started and not yet run
struct exec_child;    // one piece of it

struct exec_child_list {
    struct exec_child *first, **end; // end: valid when there is a first
};

// The module of a running kernel, and what the device runtime asks of it and of its device.
// Implemented by the cpu backend (module.c); the functions are called while kernels run, from any
// thread, and block only to compile.
struct exec_module {
    // Fills *ret_launch for the entry whose function pointer is `address` (grid and block are set
    // and checked already) and tells the size of its parameters. Errors as cudaLaunchKernel.
    cudaError_t (*launch)(struct exec_module *module, uint64_t address,
                          struct exec_launch *launch, uint32_t *ret_params_size);
    cudaError_t (*attributes)(struct exec_module *module, uint64_t address,
                              struct cudaFuncAttributes *ret_attributes);
    cudaError_t (*occupancy)(struct exec_module *module, uint64_t address, int block_size,
                             size_t dynamic_shared, int *ret_blocks);
    cudaError_t (*device_attribute)(int device, int attribute, int *ret_value);
    cudaError_t (*device_limit)(int device, int limit, size_t *ret_value);
    int (*device_count)(void);
    // Name (else description) of an error.
    const char *(*error_text)(cudaError_t error, bool name);
};

// Where the work goes: cudaStreamTailLaunch, or anything else.
bool exec_stream_is_tail(uint64_t stream);

// A buffer for the parameters of a launch that will be made with exec_children_launch; 16-byte
// aligned. NULL when the launch is wrong (the thread's device-side error says why). `address` may
// be 0: then only `size` bytes are reserved and the launch names the kernel.
void *exec_children_buffer(struct exec_ctx *ctx, uint64_t address, const struct exec_launch *shape,
                           uint32_t size);
cudaError_t exec_children_launch(struct exec_ctx *ctx, void *buffer, uint64_t stream);
// For buffers without a kernel.
cudaError_t exec_children_launch_as(struct exec_ctx *ctx, void *buffer, uint64_t address,
                                    const struct exec_launch *shape, uint64_t stream);
cudaError_t exec_children_copy(struct exec_ctx *ctx, const struct irtb_copy *copy, uint64_t stream);
cudaError_t exec_children_fill(struct exec_ctx *ctx, const struct irtb_fill *fill, uint64_t stream);

// cudaDeviceSynchronize of CUDA 11: runs what the grid has started so far (not the tail launches).
cudaError_t exec_children_synchronize(struct exec_ctx *ctx);

// Keeps `error` as the last one of the calling CUDA thread; and reads it (resetting it or not).
cudaError_t exec_children_note(struct exec_ctx *ctx, cudaError_t error);
cudaError_t exec_children_error(struct exec_ctx *ctx, bool reset);

// Runs everything that the grid has started and frees it. Called once, by the owner, after the
// blocks have ended; `failed` grids only free. Returns the first failure.
cudaError_t exec_children_finish(struct exec_grid *grid, bool failed);
