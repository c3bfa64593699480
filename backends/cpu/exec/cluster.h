// SPDX-License-Identifier: Apache-2.0
//
// Clusters of blocks: their shared memory in one mapping, their barrier, and running them. All
// blocks of a cluster are in flight together and are run in turn by one OS thread, so that nothing
// in a cluster needs a lock and plain accesses to each other's shared memory are atomic. A block
// that was launched without a cluster is a cluster of its own. Called by grid.c and block.c.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "block.h"

// Blocks of a launch's clusters: 1 without.
uint32_t exec_cluster_size(const struct exec_launch *launch);

// A cluster with memory for the launch, as its first block; NULL without memory. All blocks are got
// and put together.
struct exec_block *exec_cluster_get(struct exec_grid *grid, const struct exec_launch *launch);
void exec_cluster_put(struct exec_block *leader);

// Puts the blocks at the start of cluster `linear` of the grid.
void exec_cluster_start(struct exec_block *leader, const struct exec_launch *launch,
                        uint64_t linear);

// Runs the blocks in turn until all have ended or all only wait or spin; sets leader->progressed.
enum exec_block_result exec_cluster_run(struct exec_block *leader, unsigned patience);

// ---- for block.c, inside the fault frame of the block that runs ----

// Makes a block that starts a member with all threads yet to arrive.
void exec_cluster_enter(struct exec_block *block);

// barrier.cluster.arrive and .wait of a thread. The latter returns false when the thread must wait;
// it is made runnable when the barrier completes.
void exec_cluster_arrive(struct exec_block *block, uint32_t thread);
bool exec_cluster_wait(struct exec_block *block, uint32_t thread);

// Threads that exited count as arrived: one, or all that the block has left.
void exec_cluster_exit(struct exec_block *block, uint32_t thread);
void exec_cluster_exit_all(struct exec_block *block);

// Whether threads of the block wait for other blocks of the cluster.
bool exec_cluster_waits(const struct exec_block *block);
