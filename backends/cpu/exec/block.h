// SPDX-License-Identifier: Apache-2.0
//
// One block in flight: its threads, frames, shared memory, barriers and warps, and the driver that
// runs it until it ends or only spins. A block is run by one OS thread at a time, but a suspended
// one is only memory and may be put aside. Called by grid.c; warp.c serves the warp operations.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "grid.h"
#include "../kernel_abi.h"

struct exec_device;
struct exec_grid;

struct exec_warp {
    uint32_t exists;    // lanes that the block has in this warp
    uint32_t live;      // … that have not exited
    uint32_t runnable;  // … that do not wait for anything
    uint32_t yielded;   // runnable lanes that yielded in this pass
    uint32_t spinning;  // lanes whose last suspension was a yield
    uint32_t warp_wait; // lanes that wait in a warp operation
};

struct exec_barrier {
    uint32_t expected; // threads; 0: all live ones
    uint32_t arrived;  // waiting threads and those of bar.arrive
    uint32_t waiting;
    uint32_t warps;      // bit per warp with an arrival
    uint32_t predicates; // of .red: how many were true
    uint32_t lanes[32];  // per warp, with `expected`: lanes that have arrived (and may have exited)
};

enum exec_block_result {
    EXEC_BLOCK_DONE,
    EXEC_BLOCK_SPINS,  // every thread waits for something outside the block, or its time is up
    EXEC_BLOCK_FAILED, // the grid has been told
    EXEC_BLOCK_WAITS,  // every thread waits for other blocks of the cluster
};

enum { EXEC_CLUSTER_MAX = 16 }; // blocks
enum { EXEC_UNITS = 128 };      // of 8 threads that run in step, in a block

// See cluster.h. One OS thread at a time.
struct exec_cluster {
    uint32_t count;
    uint32_t pending; // threads that have neither arrived in this phase nor exited
    uint32_t phase;   // of barrier.cluster
    struct exec_block *blocks[EXEC_CLUSTER_MAX];
    // Windows of shared memory; none of a block without a cluster.
    void *mapping;
    unsigned char *windows;
    size_t mapping_size, room, step;
    uint32_t mapped;
};

struct exec_block {
    struct exec_ctx ctx;
    struct exec_grid *grid;
    struct exec_block *next;
    unsigned char *threads;
    size_t stride; // bytes from thread to thread
    uint32_t count, warp_count, live;
    struct exec_cluster *cluster; // `alone` without one
    struct exec_cluster alone;
    uint32_t cluster_arrived[32], cluster_waiting[32]; // per warp: lanes, in this phase
    uint32_t cluster_odd[32];                          // … parity of the phase of their arrival
    bool ended;                                        // in a cluster whose other blocks go on
    bool recheck;                                      // threads exited since barriers were checked
    bool progressed;                                   // in the last run
    struct exec_warp warp[32];
    struct exec_barrier barrier[EXEC_BARRIERS];
    // Memory: what the mapping has room for, and what it was laid out for.
    void *mapping;
    unsigned char *window; // of shared memory
    size_t mapping_size, shared_room, thread_room;
    uint32_t layout_dim[3], layout_frame, layout_step;
    // Warp form: per thread structure, its live threads (0: ended) and whether it waits.
    uint32_t unit_live[EXEC_UNITS];
    bool unit_waits[EXEC_UNITS];
    uint64_t layout_local;
};

static inline struct exec_thread *exec_block_thread(const struct exec_block *block, uint32_t index)
{
    return (struct exec_thread *)(block->threads + (size_t)index * block->stride);
}

// A block with memory for a launch, or NULL without memory; blocks are cached per OS thread.
struct exec_block *exec_block_get(struct exec_grid *grid, const struct exec_launch *launch);
void exec_block_put(struct exec_block *block);

// Puts the block at the start of block `linear` of the grid.
void exec_block_start(struct exec_block *block, const struct exec_launch *launch, uint64_t linear);

// Runs thread functions until the block ends or only spins; `patience`: passes in which nothing but
// spinning happens before it gives up.
enum exec_block_result exec_block_run(struct exec_block *block, unsigned patience);

// Whether enough threads have come for those that wait to go on.
bool exec_barrier_complete(const struct exec_block *block, const struct exec_barrier *barrier);

// ---- warp_block.c: kernels in the warp form. A unit is what runs in step, kernel->lanes threads;
// exec_block_thread(block, n) is that of unit n ----
void exec_block_start_units(struct exec_block *block);
enum exec_block_result exec_block_drive_units(struct exec_block *block);

// ---- warp.c ----
// Performs every warp operation whose lanes have all arrived; true when lanes were released. An
// operation that is wrong in itself leaves through exec_fault_leave.
bool exec_warp_serve(struct exec_block *block, unsigned warp);
// All live lanes of a warp, `ran`, have just suspended, and nothing is written down about it:
// performs their operation if it is one for all of them. False: it is not.
bool exec_warp_alike(struct exec_block *block, unsigned warp, uint32_t ran);
// Performs operations on the lanes that happen to be converged; when nothing else can run.
bool exec_warp_serve_converged(struct exec_block *block, unsigned warp);
// "shfl.sync", … for messages.
const char *exec_request_name(const struct exec_request *request);
