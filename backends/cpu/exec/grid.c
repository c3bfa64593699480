// SPDX-License-Identifier: Apache-2.0
//
// Running a grid: blocks are taken in increasing order from one counter, in chunks, by the thread
// that owns the stream and by whoever joins. Blocks that only spin are put aside and taken up again
// in turn, so that grid-wide barriers and look-back work with any number of threads.
#include "grid.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "device_launch.h"
#include "exec_util.h"
#include "fault.h"
#include "partition.h"
#include "runtime.h"
#include "stream.h"

enum {
    WORTH_WAKING_NS = 50000, // work that is left, for waking other threads
    MAX_CHUNK = 64,
    MIN_STACK = 1 << 20,    // for running kernels on a caller's thread
    PATIENCE_ALONE = 3,     // passes of pure spinning before a block is put aside
    PATIENCE_SHARED = 100,  // … while other threads work on the grid
    SPIN_PAUSE_NS = 20000,  // pure spinning: first without giving the processor away
    SPIN_YIELD_NS = 200000, // … then with; after that, sleeping in between
};

bool exec_grid_may_run_here(void)
{
    return exec_stack_left() >= MIN_STACK;
}

// A number for this thread's virtual multiprocessor.
static uint32_t multiprocessor(void)
{
    static _Atomic uint32_t counter;
    static _Thread_local uint32_t mine; // 0: none yet
    if (!mine) {
        mine = atomic_fetch_add(&counter, 1) % exec_pool_size() + 1;
    }
    return mine - 1;
}

static bool failed(const struct exec_grid *grid)
{
    return atomic_load_explicit(&grid->error, memory_order_relaxed) != cudaSuccess;
}

static bool wanted(const struct exec_job *job)
{
    const struct exec_grid *grid = (const struct exec_grid *)job; // its first member
    return atomic_load_explicit(&grid->next, memory_order_relaxed) < grid->total && !failed(grid);
}

static bool take(struct exec_grid *grid, uint32_t chunk, uint64_t *ret_first, uint64_t *ret_end)
{
    if (failed(grid) || exec_pool_stopping()) {
        return false;
    }
    if (atomic_load_explicit(&grid->next, memory_order_relaxed) >= grid->total) {
        return false;
    }
    uint64_t first = atomic_fetch_add(&grid->next, chunk);
    if (first >= grid->total) {
        return false;
    }
    *ret_first = first;
    *ret_end = first + chunk < grid->total ? first + chunk : grid->total;
    return true;
}

static void out_of_memory(struct exec_grid *grid)
{
    struct exec_ctx nowhere = {.ntid = {1, 1, 1}};
    exec_grid_fail(grid, &nowhere, cudaErrorLaunchOutOfResources,
                   "no memory for frames and shared memory of a block");
}

// Lets others join once it is clear that the rest is worth waking them; true when it has done so.
static bool consider_publishing(struct exec_grid *grid, uint64_t done, uint64_t spent)
{
    uint64_t next = atomic_load_explicit(&grid->next, memory_order_relaxed);
    if (next >= grid->total || exec_pool_size() < 2) {
        return false;
    }
    uint64_t left = grid->total - next;
    uint64_t per_block = done ? spent / done : atomic_load(&grid->launch->kernel->block_ns);
    if (left * per_block < WORTH_WAKING_NS) {
        return false;
    }
    uint64_t helpers = exec_pool_size() - 1;
    exec_pool_publish(&grid->job, (unsigned)(left < helpers ? left : helpers));
    exec_stream_nudge(grid->job.stream);
    return true;
}

// Kernels without suspension points: a loop over block functions.
static void run_simple(struct exec_grid *grid, bool owner)
{
    const struct exec_launch *launch = grid->launch;
    struct exec_block *block = exec_block_get(grid, launch);
    if (!block) {
        out_of_memory(grid);
        return;
    }
    block->ctx.smid = multiprocessor();
    block->ctx.nsmid = exec_pool_size();
    bool may_publish = owner && grid->total > 1;
    volatile uint64_t done = 0;
    bool timed = grid->total > 1; // the estimate serves to decide about helpers
    uint64_t start = timed ? exec_now() : 0;
    struct exec_fault_frame frame;
    exec_fault_push(&frame);
    if (sigsetjmp(frame.jump, 0) == 0) {
        if (may_publish && atomic_load(&launch->kernel->block_ns)) {
            may_publish = !consider_publishing(grid, 0, 0);
        }
        uint64_t first, end;
        while (take(grid, may_publish && !done ? 1 : grid->chunk, &first, &end)) {
            for (uint64_t i = first; i < end; i++) {
                exec_block_start(block, launch, i);
                launch->kernel->block(&block->ctx);
            }
            done += end - first;
            if (may_publish) {
                may_publish = !consider_publishing(grid, done, exec_now() - start);
            }
        }
    } else {
        char what[512];
        exec_fault_describe(&frame, what, sizeof what);
        exec_grid_fail(grid, &block->ctx, frame.error, what);
    }
    exec_fault_pop(&frame);
    if (timed && done) {
        uint64_t mean = (exec_now() - start) / done + 1;
        uint64_t old = atomic_load_explicit(&launch->kernel->block_ns, memory_order_relaxed);
        atomic_store_explicit(&launch->kernel->block_ns, old ? (3 * old + mean) / 4 : mean,
                              memory_order_relaxed);
    }
    exec_block_put(block);
}

// The time since every block of this thread only spins.
struct idle {
    uint64_t since; // 0: something happened in the last round
    bool told;      // exec_pool_spin_begin was called
};

// Rests after a round of pure spinning: first briefly, then so that the processor is free for the
// threads that are waited for.
static void rest(struct idle *idle)
{
    uint64_t now = exec_now();
    if (!idle->since) {
        idle->since = now;
    }
    uint64_t spent = now - idle->since;
    if (spent < SPIN_PAUSE_NS) {
        exec_pause();
    } else if (spent < SPIN_YIELD_NS) {
        sched_yield();
    } else {
        if (!idle->told) {
            idle->told = true;
            exec_pool_spin_begin();
        }
        struct timespec pause = {0, spent < (uint64_t)SPIN_YIELD_NS * 100 ? 20000 : 100000};
        nanosleep(&pause, NULL);
    }
}

static void end_rest(struct idle *idle)
{
    idle->since = 0;
    if (idle->told) {
        idle->told = false;
        exec_pool_spin_end();
    }
}

// Kernels that can suspend: a ring of blocks (or of clusters, by their first block) in flight.
static void run_resumable(struct exec_grid *grid, bool owner)
{
    const struct exec_launch *launch = grid->launch;
    struct exec_block *head = NULL, **tail = &head, *spare = NULL;
    const uint32_t size = exec_cluster_size(launch);
    uint32_t held = 0, spun = 0; // blocks put aside; consecutive ones that only spun
    struct idle idle = {0, false};
    bool may_publish = owner && grid->total > 1;
    uint64_t done = 0, start = exec_now();
    if (may_publish && (launch->cooperative || atomic_load(&launch->kernel->block_ns))) {
        may_publish = !consider_publishing(grid, launch->cooperative, WORTH_WAKING_NS);
    }
    while (!failed(grid) && !exec_pool_stopping()) {
        struct exec_block *block = NULL;
        uint64_t first, end;
        bool room = !held || atomic_load(&grid->resident) < launch->resident;
        if (room && take(grid, 1, &first, &end)) {
            block = spare ? spare : exec_cluster_get(grid, launch);
            spare = NULL;
            if (!block) {
                out_of_memory(grid);
                break;
            }
            block->ctx.smid = multiprocessor();
            block->ctx.nsmid = exec_pool_size();
            exec_cluster_start(block, launch, first);
            atomic_fetch_add(&grid->resident, size);
            spun = 0;
        } else if (head) {
            block = head;
            head = block->next;
            tail = head ? tail : &head;
            held--;
        } else {
            break;
        }
        bool shared = atomic_load(&grid->job.users) > (owner ? 0u : 1u);
        enum exec_block_result result =
            exec_cluster_run(block, shared && !held ? PATIENCE_SHARED : PATIENCE_ALONE);
        if (result == EXEC_BLOCK_SPINS) {
            block->next = NULL;
            *tail = block;
            tail = &block->next;
            held++;
            spun = block->progressed ? 0 : spun + 1;
            if (block->progressed) {
                end_rest(&idle);
            }
            if (spun >= held) {
                spun = 0;
                rest(&idle);
            }
            continue;
        }
        atomic_fetch_sub(&grid->resident, size);
        if (size > 1 && !spare) {
            spare = block; // its mapping serves the next cluster
        } else {
            exec_cluster_put(block);
        }
        spun = 0;
        end_rest(&idle);
        done++;
        if (may_publish) {
            may_publish = !consider_publishing(grid, done, exec_now() - start);
        }
    }
    while (head) {
        struct exec_block *block = head;
        head = block->next;
        atomic_fetch_sub(&grid->resident, size);
        exec_cluster_put(block);
    }
    if (spare) {
        exec_cluster_put(spare);
    }
    end_rest(&idle);
    if (done) {
        uint64_t mean = (exec_now() - start) / done + 1;
        atomic_store_explicit(&launch->kernel->block_ns, mean, memory_order_relaxed);
    }
}

static void work(struct exec_grid *grid, bool owner)
{
    exec_fault_thread();
#if defined(__x86_64__)
    // Kernels round to nearest and flush nothing, whatever the application set for its threads.
    unsigned control = __builtin_ia32_stmxcsr();
    __builtin_ia32_ldmxcsr(0x1f80);
#endif
    if (grid->launch->kernel->block) {
        run_simple(grid, owner);
    } else {
        run_resumable(grid, owner);
    }
#if defined(__x86_64__)
    __builtin_ia32_ldmxcsr(control);
#endif
}

static void help(struct exec_job *job)
{
    work((struct exec_grid *)job, false);
}

static cudaError_t run(struct exec_device *device, struct irtb_stream *stream,
                       const struct exec_launch *launch, const void *params, uint32_t depth,
                       struct exec_child_list *tails)
{
    static _Atomic uint64_t ids;
    exec_fault_install();
    struct exec_grid grid;
    memset(&grid, 0, sizeof grid);
    grid.device = device;
    grid.launch = launch;
    grid.params = params;
    grid.depth = depth;
    grid.tails = tails;
    grid.total = (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
    if (!launch->kernel->block) {
        grid.total /= exec_cluster_size(launch); // clusters are taken whole
    }
    grid.id = atomic_fetch_add_explicit(&ids, 1, memory_order_relaxed) + 1;
    grid.workspace[0] = sizeof grid.workspace;
    uint64_t share = grid.total / ((uint64_t)exec_pool_size() * 16);
    grid.chunk = (uint32_t)(share < 1 ? 1 : share > MAX_CHUNK ? MAX_CHUNK : share);
    grid.job.wanted = wanted;
    grid.job.help = help;
    grid.job.stream = stream;
    grid.job.bucket = stream ? stream->bucket : EXEC_PRIORITIES - 1;
    exec_runtime_fill(&grid.runtime, launch->kernel->helpers);
    grid.job.partition = stream ? stream->partition : NULL;
    exec_partition_enter_owner(grid.job.partition);
    work(&grid, true);
    exec_partition_leave(grid.job.partition);
    if (grid.total > 1) {
        exec_pool_retire(&grid.job);
    }
    cudaError_t error = (cudaError_t)atomic_load(&grid.error);
    if (atomic_load_explicit(&grid.children, memory_order_acquire)) {
        cudaError_t later = exec_children_finish(&grid, error || exec_pool_stopping());
        error = error ? error : later;
    }
    return error;
}

cudaError_t exec_grid_run(struct exec_device *device, struct irtb_stream *stream,
                          const struct exec_launch *launch, const void *params)
{
    return run(device, stream, launch, params, 0, NULL);
}

cudaError_t exec_grid_run_nested(struct exec_grid *parent, const struct exec_launch *launch,
                                 const void *params, uint32_t depth,
                                 struct exec_child_list *ret_tails)
{
    return run(parent->device, parent->job.stream, launch, params, depth, ret_tails);
}
