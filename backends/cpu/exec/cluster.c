// SPDX-License-Identifier: Apache-2.0
//
// Clusters of blocks; see cluster.h.
#include "cluster.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exec_util.h"
#include "fault.h"
#include "runtime.h"

uint32_t exec_cluster_size(const struct exec_launch *launch)
{
    const uint32_t *c = launch->cluster;
    return c[0] ? c[0] * c[1] * c[2] : 1;
}

// ---------------------------------------------------------------- the barrier

// All threads have arrived: lets the waiting ones go on and begins the next phase.
static void complete(struct exec_cluster *cluster)
{
    cluster->phase++;
    cluster->pending = 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        struct exec_block *block = cluster->blocks[i];
        cluster->pending += block->live;
        for (uint32_t w = 0; w < block->warp_count; w++) {
            block->warp[w].runnable |= block->cluster_waiting[w];
            block->warp[w].spinning &= ~block->cluster_waiting[w];
            block->cluster_waiting[w] = block->cluster_arrived[w] = 0;
        }
    }
}

void exec_cluster_enter(struct exec_block *block)
{
    struct exec_cluster *cluster = block->cluster;
    memset(block->cluster_arrived, 0, sizeof block->cluster_arrived);
    memset(block->cluster_waiting, 0, sizeof block->cluster_waiting);
    // A thread that waits without having arrived waits for the phase before, which is over.
    memset(block->cluster_odd, cluster->phase & 1 ? 0 : 0xff, sizeof block->cluster_odd);
    if (cluster->count == 1) {
        cluster->pending = 0;
    }
    cluster->pending += block->live;
}

static void count_in(struct exec_cluster *cluster)
{
    if (--cluster->pending == 0) {
        complete(cluster);
    }
}

void exec_cluster_arrive(struct exec_block *block, uint32_t thread)
{
    uint32_t w = thread / EXEC_WARP_SIZE, bit = 1u << (thread % EXEC_WARP_SIZE);
    if (block->cluster_arrived[w] & bit) {
        exec_fault_leave(cudaErrorLaunchFailure,
                         "a thread arrives twice at barrier.cluster without waiting");
    }
    block->cluster_arrived[w] |= bit;
    block->cluster_odd[w] = (block->cluster_odd[w] & ~bit) | (block->cluster->phase & 1 ? bit : 0);
    count_in(block->cluster);
}

bool exec_cluster_wait(struct exec_block *block, uint32_t thread)
{
    uint32_t w = thread / EXEC_WARP_SIZE, bit = 1u << (thread % EXEC_WARP_SIZE);
    bool odd = block->cluster_odd[w] & bit;
    if (odd != (block->cluster->phase & 1)) {
        return true; // the phase it arrived in is over
    }
    block->cluster_waiting[w] |= bit;
    return false;
}

void exec_cluster_exit(struct exec_block *block, uint32_t thread)
{
    uint32_t w = thread / EXEC_WARP_SIZE, bit = 1u << (thread % EXEC_WARP_SIZE);
    if (block->cluster_arrived[w] & bit) {
        return; // it is counted in already
    }
    count_in(block->cluster);
}

void exec_cluster_exit_all(struct exec_block *block)
{
    struct exec_cluster *cluster = block->cluster;
    uint32_t missing = 0;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        uint32_t absent = block->warp[w].live & ~block->cluster_arrived[w];
        missing += (uint32_t)__builtin_popcount(absent);
    }
    block->live = 0;
    if (missing) {
        cluster->pending -= missing - 1;
        count_in(cluster);
    }
}

bool exec_cluster_waits(const struct exec_block *block)
{
    uint32_t waiting = 0;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        waiting |= block->cluster_waiting[w];
    }
    return waiting != 0;
}

// ---------------------------------------------------------------- memory

// Windows for all blocks with a guard behind each.
static bool map_windows(struct exec_cluster *cluster, size_t shared)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t room = exec_align(shared ? shared : 1, page);
    if (cluster->mapping && cluster->room >= room && cluster->mapped == cluster->count) {
        return true;
    }
    if (cluster->mapping) {
        munmap(cluster->mapping, cluster->mapping_size);
        cluster->mapping = NULL;
    }
    size_t step = room + page;
    size_t size = page + step * cluster->count;
    unsigned char *base =
        mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return false;
    }
    cluster->mapping = base;
    cluster->mapping_size = size;
    cluster->room = room;
    cluster->step = step;
    cluster->mapped = cluster->count;
    for (uint32_t i = 0; i < cluster->count; i++) {
        if (mprotect(base + page + i * step, room, PROT_READ | PROT_WRITE) != 0) {
            return false;
        }
    }
    cluster->windows = base + page;
    return true;
}

void exec_cluster_put(struct exec_block *leader)
{
    struct exec_cluster *cluster = leader->cluster;
    if (cluster == &leader->alone) {
        exec_block_put(leader);
        return;
    }
    for (uint32_t i = 0; i < cluster->count; i++) {
        cluster->blocks[i]->cluster = &cluster->blocks[i]->alone;
        exec_block_put(cluster->blocks[i]);
    }
    if (cluster->mapping) {
        munmap(cluster->mapping, cluster->mapping_size);
    }
    free(cluster);
}

struct exec_block *exec_cluster_get(struct exec_grid *grid, const struct exec_launch *launch)
{
    uint32_t count = exec_cluster_size(launch);
    struct exec_block *leader = exec_block_get(grid, launch);
    if (!leader || count == 1) {
        return leader;
    }
    struct exec_cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster) {
        exec_block_put(leader);
        return NULL;
    }
    leader->cluster = cluster;
    cluster->blocks[0] = leader;
    for (cluster->count = 1; cluster->count < count; cluster->count++) {
        struct exec_block *block = exec_block_get(grid, launch);
        if (!block) {
            exec_cluster_put(leader);
            return NULL;
        }
        block->cluster = cluster;
        cluster->blocks[cluster->count] = block;
    }
    if (!map_windows(cluster, leader->ctx.shared_size)) {
        exec_cluster_put(leader);
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct exec_ctx *ctx = &cluster->blocks[i]->ctx;
        unsigned char *window = cluster->windows + i * cluster->step;
        ctx->smid = leader->ctx.smid;
        ctx->nsmid = leader->ctx.nsmid;
        ctx->shared = window;
        if (launch->kernel->uses_cluster) {
            ctx->shared = cluster->windows;
            ctx->shared_origin = (uint32_t)(i * cluster->step);
            ctx->shared_stride = (uint32_t)cluster->step;
        }
    }
    return leader;
}

// ---------------------------------------------------------------- running

void exec_cluster_start(struct exec_block *leader, const struct exec_launch *launch,
                        uint64_t linear)
{
    struct exec_cluster *cluster = leader->cluster;
    if (cluster->count == 1) {
        exec_block_start(leader, launch, linear);
        return;
    }
    const uint32_t *size = launch->cluster, *grid = launch->grid;
    uint32_t wide = grid[0] / size[0], high = grid[1] / size[1];
    uint64_t x = linear % wide * size[0], y = linear / wide % high * size[1],
             z = linear / wide / high * size[2];
    cluster->pending = cluster->phase = 0;
    for (uint32_t i = 0; i < cluster->count; i++) {
        struct exec_block *block = cluster->blocks[i];
        uint64_t bx = x + i % size[0], by = y + i / size[0] % size[1],
                 bz = z + i / size[0] / size[1];
        block->ctx.smid = leader->ctx.smid;
        block->ctx.nsmid = leader->ctx.nsmid;
        block->ended = false;
        exec_block_start(block, launch, bx + grid[0] * (by + grid[1] * bz));
    }
}

enum exec_block_result exec_cluster_run(struct exec_block *leader, unsigned patience)
{
    struct exec_cluster *cluster = leader->cluster;
    if (cluster->count == 1) {
        return exec_block_run(leader, patience);
    }
    bool any = false;
    for (;;) {
        bool progressed = false;
        uint32_t left = 0, waiting = 0;
        for (uint32_t i = 0; i < cluster->count; i++) {
            struct exec_block *block = cluster->blocks[i];
            if (block->ended) {
                continue;
            }
            uint32_t phase = cluster->phase;
            enum exec_block_result result = exec_block_run(block, 1);
            if (result == EXEC_BLOCK_FAILED) {
                return result;
            }
            block->ended = result == EXEC_BLOCK_DONE;
            progressed |= block->ended || block->progressed || cluster->phase != phase;
            left += !block->ended;
            waiting += result == EXEC_BLOCK_WAITS;
        }
        any |= progressed;
        if (!left) {
            leader->progressed = true;
            return EXEC_BLOCK_DONE;
        }
        if (!progressed && waiting == left) {
            exec_grid_fail(leader->grid, &leader->ctx, cudaErrorLaunchFailure,
                           "deadlock, all blocks of a cluster wait at barrier.cluster");
            return EXEC_BLOCK_FAILED;
        }
        if (!progressed && patience-- <= 1) {
            leader->progressed = any;
            return EXEC_BLOCK_SPINS;
        }
    }
}
