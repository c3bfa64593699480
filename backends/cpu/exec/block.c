// SPDX-License-Identifier: Apache-2.0
//
// The block driver: memory of blocks, the round-robin over threads and warps, barriers, and the
// report when nothing can go on. Runs inside the fault frame that exec_block_run sets.
#include "block.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cluster.h"
#include "exec_util.h"
#include "fault.h"
#include "graph.h"
#include "pool.h"
#include "runtime.h"
#include "stream.h"

enum {
    SERVES_PER_PASS = 64, // warp operations in a row before other warps have their turn
    SLICE_NS = 10000000,  // a block that can spin is put aside after so long
    CACHED_BLOCKS = 4,    // kept per OS thread
    CACHED_BYTES = 64 << 20,
    WINDOW_STRIDE = 1 << 24, // more than the shared memory of a block
};

// ---------------------------------------------------------------- memory

struct cache {
    struct exec_block *free;
    unsigned count;
};

static pthread_once_t cache_once = PTHREAD_ONCE_INIT;
static pthread_key_t cache_key;

static void block_destroy(struct exec_block *block)
{
    if (block) {
        if (block->mapping) {
            munmap(block->mapping, block->mapping_size);
        }
        free(block);
    }
}

static void cache_destroy(void *argument)
{
    struct cache *cache = argument;
    while (cache->free) {
        struct exec_block *block = cache->free;
        cache->free = block->next;
        block_destroy(block);
    }
    free(cache);
}

static void cache_make_key(void)
{
    pthread_key_create(&cache_key, cache_destroy);
}

static struct cache *cache_get(void)
{
    static _Thread_local struct cache *mine;
    if (!mine) {
        pthread_once(&cache_once, cache_make_key);
        mine = calloc(1, sizeof *mine);
        if (mine && pthread_setspecific(cache_key, mine)) {
            free(mine);
            mine = NULL;
        }
    }
    return mine;
}

// Room for the shared window between guards, then the threads with their frames and local memory.
static bool block_map(struct exec_block *block, size_t shared, size_t threads)
{
    if (block->mapping && block->shared_room >= shared && block->thread_room >= threads) {
        return true;
    }
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    shared = exec_align(shared ? shared : 1, page);
    threads = exec_align(threads ? threads : 1, page);
    if (block->mapping) {
        munmap(block->mapping, block->mapping_size);
        block->mapping = NULL;
    }
    size_t size = page + shared + page + threads + page;
    unsigned char *base =
        mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) {
        return false;
    }
    block->mapping = base;
    block->mapping_size = size;
    block->shared_room = shared;
    block->thread_room = threads;
    block->layout_frame = UINT32_MAX; // thread structures must be made anew
    block->window = base + page;
    block->threads = base + page + shared + page;
    return mprotect(block->window, shared, PROT_READ | PROT_WRITE) == 0 &&
           mprotect(block->threads, threads, PROT_READ | PROT_WRITE) == 0;
}

// Threads for each thread structure: those that run in step in the warp form.
static uint32_t step_of(const struct exec_kernel *kernel)
{
    return kernel->lanes > 1 ? kernel->lanes : 1;
}

// Writes what never changes while the shape stays: indices, frame and local pointers.
static void block_layout(struct exec_block *block, const struct exec_launch *launch)
{
    const struct exec_kernel *kernel = launch->kernel;
    block->count = launch->block[0] * launch->block[1] * launch->block[2];
    block->warp_count = (block->count + EXEC_WARP_SIZE - 1) / EXEC_WARP_SIZE;
    uint32_t step = step_of(kernel), made = 0;
    block->stride = exec_align(sizeof(struct exec_thread), 16) + exec_align(kernel->frame_size, 16);
    size_t local = exec_align(kernel->local_size, 16);
    if (block->layout_frame == kernel->frame_size && block->layout_local == kernel->local_size &&
        block->layout_step == step &&
        memcmp(block->layout_dim, launch->block, sizeof block->layout_dim) == 0) {
        return;
    }
    unsigned char *locals =
        block->threads + exec_align((block->count + step - 1) / step * block->stride, 64);
    uint32_t index = 0;
    for (uint32_t z = 0; z < launch->block[2]; z++) {
        for (uint32_t y = 0; y < launch->block[1]; y++) {
            for (uint32_t x = 0; x < launch->block[0]; x++, index++) {
                if (index % step != 0) {
                    continue;
                }
                struct exec_thread *thread = exec_block_thread(block, made);
                thread->tid[0] = x;
                thread->tid[1] = y;
                thread->tid[2] = z;
                thread->linear = index;
                thread->local = locals + made++ * local;
                thread->frame = (unsigned char *)thread + exec_align(sizeof *thread, 16);
            }
        }
    }
    block->layout_frame = kernel->frame_size;
    block->layout_step = step;
    block->layout_local = kernel->local_size;
    memcpy(block->layout_dim, launch->block, sizeof block->layout_dim);
}

struct exec_block *exec_block_get(struct exec_grid *grid, const struct exec_launch *launch)
{
    const struct exec_kernel *kernel = launch->kernel;
    struct cache *cache = cache_get();
    struct exec_block *block = cache ? cache->free : NULL;
    if (block) {
        cache->free = block->next;
        cache->count--;
    } else {
        block = calloc(1, sizeof *block);
        if (!block) {
            return NULL;
        }
    }
    size_t dynamic_end = (size_t)kernel->dynamic_shared_offset + launch->dynamic_shared;
    size_t shared = launch->dynamic_shared ? dynamic_end : kernel->static_shared;
    shared = shared > kernel->static_shared ? shared : kernel->static_shared;
    size_t threads = 0;
    // Block functions keep their registers and local memory on the stack.
    if (!kernel->block) {
        size_t count = (size_t)launch->block[0] * launch->block[1] * launch->block[2];
        count = (count + step_of(kernel) - 1) / step_of(kernel);
        size_t stride =
            exec_align(sizeof(struct exec_thread), 16) + exec_align(kernel->frame_size, 16);
        threads = exec_align(count * stride, 64) + count * exec_align(kernel->local_size, 16);
    }
    if (!block_map(block, shared, threads)) {
        block_destroy(block);
        return NULL;
    }
    block->grid = grid;
    if (!kernel->block) {
        block_layout(block, launch);
    }
    block->cluster = &block->alone;
    block->alone.count = 1;
    block->alone.blocks[0] = block;
    struct exec_ctx *ctx = &block->ctx;
    ctx->params = grid->params;
    ctx->shared = block->window;
    ctx->shared_origin = 0;
    ctx->shared_stride = WINDOW_STRIDE;
    ctx->shared_size = (uint32_t)shared;
    ctx->static_shared = kernel->static_shared;
    ctx->symbols = launch->symbols;
    ctx->rt = &grid->runtime;
    memcpy(ctx->nctaid, launch->grid, sizeof ctx->nctaid);
    memcpy(ctx->ntid, launch->block, sizeof ctx->ntid);
    memcpy(ctx->cluster_ctaid, (uint32_t[3]){0, 0, 0}, sizeof ctx->cluster_ctaid);
    memcpy(ctx->cluster_nctaid, launch->cluster[0] ? launch->cluster : (const uint32_t[3]){1, 1, 1},
           sizeof ctx->cluster_nctaid);
    ctx->dynamic_shared_size = launch->dynamic_shared;
    ctx->block_threads = launch->block[0] * launch->block[1] * launch->block[2];
    ctx->gridid = grid->id;
    ctx->graph_exec = exec_graph_published(launch->graph);
    memset(ctx->envreg, 0, sizeof ctx->envreg);
    if (launch->cooperative) {
        uint64_t address = (uint64_t)(uintptr_t)grid->workspace;
        ctx->envreg[1] = address >> 32;
        ctx->envreg[2] = address & UINT32_MAX;
    }
    ctx->block = block;
    return block;
}

void exec_block_put(struct exec_block *block)
{
    struct cache *cache = cache_get();
    if (!cache || cache->count >= CACHED_BLOCKS || block->mapping_size > CACHED_BYTES) {
        block_destroy(block);
        return;
    }
    block->next = cache->free;
    cache->free = block;
    cache->count++;
}

void exec_block_start(struct exec_block *block, const struct exec_launch *launch, uint64_t linear)
{
    struct exec_ctx *ctx = &block->ctx;
    uint64_t row = linear / launch->grid[0];
    ctx->ctaid[0] = (uint32_t)(linear % launch->grid[0]);
    ctx->ctaid[1] = (uint32_t)(row % launch->grid[1]);
    ctx->ctaid[2] = (uint32_t)(row / launch->grid[1]);
    for (int i = 0; launch->cluster[0] && i < 3; i++) {
        ctx->cluster_ctaid[i] = ctx->ctaid[i] % launch->cluster[i];
    }
    ctx->current = 0;
    if (launch->kernel->block) {
        return;
    }
    for (uint32_t i = 0; i * step_of(launch->kernel) < block->count; i++) {
        struct exec_thread *thread = exec_block_thread(block, i);
        thread->state = 0;
        thread->depth = 0;
        thread->request.kind = EXEC_REQ_NONE;
    }
    for (uint32_t w = 0; w < block->warp_count; w++) {
        uint32_t lanes = block->count - w * EXEC_WARP_SIZE;
        uint32_t mask = lanes >= EXEC_WARP_SIZE ? UINT32_MAX : (1u << lanes) - 1;
        block->warp[w] = (struct exec_warp){.exists = mask, .live = mask, .runnable = mask};
    }
    memset(block->barrier, 0, sizeof block->barrier);
    if (launch->kernel->lanes > 1) {
        exec_block_start_units(block);
    }
    block->live = block->count;
    block->recheck = false;
    exec_cluster_enter(block);
}

// ---------------------------------------------------------------- barriers

// Threads that count as arrived besides those that arrived: exited (or missing) lanes of warps that
// take part, because the hardware counts whole warps.
static uint32_t absent_lanes(const struct exec_block *block, const struct exec_barrier *barrier)
{
    uint32_t absent = 0;
    for (uint32_t warps = barrier->warps; warps; warps &= warps - 1) {
        uint32_t w = (uint32_t)__builtin_ctz(warps);
        absent += (uint32_t)__builtin_popcount(~(block->warp[w].live | barrier->lanes[w]));
    }
    return absent;
}

bool exec_barrier_complete(const struct exec_block *block, const struct exec_barrier *barrier)
{
    if (!barrier->arrived) {
        return false;
    }
    if (!barrier->expected) {
        return barrier->arrived >= block->live;
    }
    return barrier->arrived >= barrier->expected ||
           barrier->arrived + absent_lanes(block, barrier) >= barrier->expected;
}

static void barrier_release(struct exec_block *block, uint32_t id)
{
    struct exec_barrier *barrier = &block->barrier[id];
    uint32_t predicates = barrier->predicates, waiting = barrier->waiting;
    bool all = predicates == waiting;
    if (barrier->expected) {
        memset(barrier->lanes, 0, sizeof barrier->lanes);
    }
    barrier->expected = barrier->arrived = barrier->waiting = 0;
    barrier->warps = barrier->predicates = 0;
    for (uint32_t w = 0; waiting && w < block->warp_count; w++) {
        struct exec_warp *warp = &block->warp[w];
        uint32_t parked = warp->live & ~warp->runnable & ~warp->warp_wait;
        for (; parked; parked &= parked - 1) {
            uint32_t lane = (uint32_t)__builtin_ctz(parked);
            struct exec_request *r = &exec_block_thread(block, w * EXEC_WARP_SIZE + lane)->request;
            if (r->kind != EXEC_REQ_BARRIER || (uint32_t)r->a != id) {
                continue;
            }
            switch (r->op) {
            case EXEC_BAR_RED_POPC:
                r->result = predicates;
                break;
            case EXEC_BAR_RED_AND:
                r->result = all;
                break;
            case EXEC_BAR_RED_OR:
                r->result = predicates != 0;
                break;
            default:
                r->result = 0;
                break;
            }
            r->result_pred = r->result != 0;
            warp->runnable |= 1u << lane;
            warp->spinning &= ~(1u << lane);
            waiting--;
        }
    }
}

static struct exec_barrier *barrier_enter(struct exec_block *block, uint32_t thread, uint64_t id,
                                          uint32_t count)
{
    if (id >= EXEC_BARRIERS) {
        exec_fault_leave(cudaErrorLaunchFailure, "barrier %llu does not exist",
                         (unsigned long long)id);
    }
    struct exec_barrier *barrier = &block->barrier[id];
    if (barrier->arrived && barrier->expected != count) {
        exec_fault_leave(cudaErrorLaunchFailure,
                         "barrier %llu is used with thread counts %u and %u at once",
                         (unsigned long long)id, barrier->expected, count);
    }
    barrier->expected = count;
    barrier->arrived++;
    barrier->warps |= 1u << (thread / EXEC_WARP_SIZE);
    if (count) {
        barrier->lanes[thread / EXEC_WARP_SIZE] |= 1u << (thread % EXEC_WARP_SIZE);
    }
    return barrier;
}

static void barrier_wait(struct exec_block *block, uint32_t thread,
                         const struct exec_request *request)
{
    if (request->a == EXEC_CLUSTER_BARRIER) {
        if (exec_cluster_wait(block, thread)) {
            block->warp[thread / EXEC_WARP_SIZE].runnable |= 1u << (thread % EXEC_WARP_SIZE);
        }
        return;
    }
    struct exec_barrier *barrier = barrier_enter(block, thread, request->a, request->b);
    barrier->waiting++;
    barrier->predicates += request->c != 0;
    if (exec_barrier_complete(block, barrier)) {
        barrier_release(block, (uint32_t)request->a);
    }
}

void exec_block_arrive(struct exec_block *block, uint32_t thread, uint32_t id, uint32_t count)
{
    if (id == EXEC_CLUSTER_BARRIER) {
        exec_cluster_arrive(block, thread);
        return;
    }
    struct exec_barrier *barrier = barrier_enter(block, thread, id, count);
    if (exec_barrier_complete(block, barrier)) {
        barrier_release(block, id);
    }
}

// Exits may have made barriers complete.
static bool check_barriers(struct exec_block *block)
{
    bool released = false;
    block->recheck = false;
    for (uint32_t id = 0; id < EXEC_BARRIERS; id++) {
        if (exec_barrier_complete(block, &block->barrier[id])) {
            barrier_release(block, id);
            released = true;
        }
    }
    return released;
}

// ---------------------------------------------------------------- threads

// What a thread that has just run makes of the block; true when it made progress (did not only
// yield).
static bool after_thread(struct exec_block *block, uint32_t index, int status)
{
    struct exec_thread *thread = exec_block_thread(block, index);
    struct exec_warp *warp = &block->warp[index / EXEC_WARP_SIZE];
    uint32_t bit = 1u << (index % EXEC_WARP_SIZE);
    if (status == EXEC_EXIT) {
        warp->live &= ~bit;
        warp->runnable &= ~bit;
        warp->spinning &= ~bit;
        block->live--;
        block->recheck = true;
        exec_cluster_exit(block, index);
        return true;
    }
    switch (thread->request.kind) {
    case EXEC_REQ_YIELD:
    case EXEC_REQ_NANOSLEEP:
        warp->yielded |= bit;
        if (warp->spinning & bit) {
            return false;
        }
        warp->spinning |= bit;
        return true;
    case EXEC_REQ_BARRIER:
        warp->runnable &= ~bit;
        warp->spinning &= ~bit;
        barrier_wait(block, index, &thread->request);
        return true;
    case EXEC_REQ_CALL_DEPTH:
        exec_fault_leave(cudaErrorLaunchFailure, "call stack overflow");
    case EXEC_REQ_NONE:
        exec_fault_leave(cudaErrorLaunchFailure, "suspended without a request");
    default:
        warp->runnable &= ~bit;
        warp->warp_wait |= bit;
        return true;
    }
}

static bool run_thread(struct exec_block *block, uint32_t index)
{
    block->ctx.current = index;
    int status = block->grid->launch->kernel->thread(&block->ctx, exec_block_thread(block, index));
    return after_thread(block, index, status);
}

// Whether every live thread can run and nobody waits at barrier 0.
static bool all_ready(const struct exec_block *block)
{
    uint32_t different = block->barrier[0].arrived;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        different |= block->warp[w].live ^ block->warp[w].runnable;
    }
    return !different;
}

enum outcome { OUTCOME_BARRIER, OUTCOME_EXIT, OUTCOME_OTHER };

static enum outcome outcome_of(int status, const struct exec_thread *thread)
{
    const struct exec_request *r = &thread->request;
    if (status == EXEC_EXIT) {
        return OUTCOME_EXIT;
    }
    bool plain = r->kind == EXEC_REQ_BARRIER && r->op == EXEC_BAR_SYNC && !r->a && !r->b;
    return plain ? OUTCOME_BARRIER : OUTCOME_OTHER;
}

// The usual case, __syncthreads() for everybody: runs each live thread once without any
// book-keeping as long as all of them do the same, come to barrier 0 or exit. True when they all
// did. When one does something else, what the ones before it did is written down and the slow path
// takes over.
static bool run_alike(struct exec_block *block, bool *progress)
{
    exec_thread_fn function = block->grid->launch->kernel->thread;
    enum outcome first = OUTCOME_OTHER;
    uint32_t ran = 0;
    for (uint32_t w = 0; w < block->warp_count; w++) {
        for (uint32_t lanes = block->warp[w].live; lanes; lanes &= lanes - 1, ran++) {
            uint32_t index = w * EXEC_WARP_SIZE + (uint32_t)__builtin_ctz(lanes);
            struct exec_thread *thread = exec_block_thread(block, index);
            block->ctx.current = index;
            int status = function(&block->ctx, thread);
            enum outcome outcome = outcome_of(status, thread);
            first = ran ? first : outcome;
            if (outcome == first && outcome != OUTCOME_OTHER) {
                continue;
            }
            for (uint32_t v = 0; v <= w; v++) {
                uint32_t mask = block->warp[v].live;
                mask = v < w ? mask : mask & (lanes ^ (lanes - 1)) >> 1;
                for (; mask; mask &= mask - 1) {
                    uint32_t before = v * EXEC_WARP_SIZE + (uint32_t)__builtin_ctz(mask);
                    *progress |= after_thread(block, before,
                                              first == OUTCOME_EXIT ? EXEC_EXIT : EXEC_SUSPEND);
                }
            }
            *progress |= after_thread(block, index, status);
            return false;
        }
    }
    if (first == OUTCOME_EXIT) {
        exec_cluster_exit_all(block);
    }
    return true;
}

// The usual case of a warp: all its lanes come to the same warp operation. True when they did, it
// is performed and all can go on; else what they did is written down.
static bool run_warp_alike(struct exec_block *block, unsigned index, bool *progress)
{
    struct exec_warp *warp = &block->warp[index];
    exec_thread_fn function = block->grid->launch->kernel->thread;
    uint32_t ran = warp->live, exited = 0, base = index * EXEC_WARP_SIZE;
    for (uint32_t lanes = ran; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        block->ctx.current = base + lane;
        int status = function(&block->ctx, exec_block_thread(block, base + lane));
        exited |= (uint32_t)(status == EXEC_EXIT) << lane;
    }
    if (!exited && exec_warp_alike(block, index, ran)) {
        warp->spinning = 0;
        *progress = true;
        return true;
    }
    for (uint32_t lanes = ran; lanes; lanes &= lanes - 1) {
        uint32_t lane = (uint32_t)__builtin_ctz(lanes);
        *progress |=
            after_thread(block, base + lane, exited >> lane & 1u ? EXEC_EXIT : EXEC_SUSPEND);
    }
    return false;
}

static bool run_warp(struct exec_block *block, unsigned index)
{
    struct exec_warp *warp = &block->warp[index];
    bool progress = false;
    for (int i = 0; i < SERVES_PER_PASS; i++) {
        if (warp->live && warp->runnable == warp->live && !warp->yielded) {
            if (run_warp_alike(block, index, &progress)) {
                continue;
            }
            if (!warp->warp_wait) {
                break;
            }
        }
        uint32_t lanes;
        while ((lanes = warp->runnable & ~warp->yielded) != 0) {
            // Lanes in order; those that a barrier releases meanwhile come in the next round.
            for (; lanes; lanes &= lanes - 1) {
                uint32_t lane = (uint32_t)__builtin_ctz(lanes);
                progress |= run_thread(block, index * EXEC_WARP_SIZE + lane);
            }
            if (block->warp_count > 1) {
                break;
            }
        }
        if (!warp->warp_wait) {
            break;
        }
        if (exec_warp_serve(block, index)) {
            progress = true;
            continue;
        }
        // Only spinning lanes could still join the converged ones: do not wait for them for ever.
        if ((warp->runnable & ~warp->spinning) || !exec_warp_serve_converged(block, index)) {
            break;
        }
        progress = true;
    }
    return progress;
}

// Nothing can run: says who waits where.
static _Noreturn void report_deadlock(struct exec_block *block)
{
    char text[128] = "";
    size_t used = 0;
    unsigned named = 0;
    uint32_t first = UINT32_MAX;
    for (uint32_t i = 0; i < block->count && named < 3; i++) {
        const struct exec_warp *warp = &block->warp[i / EXEC_WARP_SIZE];
        if (!((warp->live >> (i % EXEC_WARP_SIZE)) & 1u)) {
            continue;
        }
        const struct exec_thread *thread = exec_block_thread(block, i);
        const struct exec_request *r = &thread->request;
        first = first == UINT32_MAX ? i : first;
        int n;
        if (r->kind == EXEC_REQ_BARRIER) {
            n = snprintf(text + used, sizeof text - used, "%sthread (%u,%u,%u): barrier %u",
                         named ? ", " : "", thread->tid[0], thread->tid[1], thread->tid[2],
                         (unsigned)r->a);
        } else {
            n = snprintf(text + used, sizeof text - used, "%sthread (%u,%u,%u): %s site %u",
                         named ? ", " : "", thread->tid[0], thread->tid[1], thread->tid[2],
                         exec_request_name(r), r->site);
        }
        used += n > 0 ? (size_t)n : 0;
        if (used >= sizeof text) {
            break;
        }
        named++;
    }
    block->ctx.current = first;
    exec_fault_leave(cudaErrorLaunchFailure, "deadlock, %u threads wait: %s", block->live, text);
}

static enum exec_block_result drive(struct exec_block *block, unsigned patience)
{
    bool can_spin = block->grid->launch->kernel->can_spin;
    uint64_t slice_end = can_spin ? exec_now() + SLICE_NS : 0;
    unsigned spins = 0;
    block->progressed = false;
    for (;;) {
        bool progress = false;
        while (all_ready(block) && run_alike(block, &progress)) {
            if (!block->live) {
                return EXEC_BLOCK_DONE;
            }
            spins = 0;
            block->progressed = true;
            for (uint32_t w = 0; can_spin && w < block->warp_count; w++) {
                block->warp[w].spinning = 0;
            }
            if (atomic_load_explicit(&block->grid->error, memory_order_relaxed)) {
                return EXEC_BLOCK_FAILED;
            }
        }
        for (uint32_t w = 0; w < block->warp_count; w++) {
            if (block->warp[w].live) {
                progress |= run_warp(block, w);
            }
        }
        if (!block->live) {
            return EXEC_BLOCK_DONE;
        }
        if (block->recheck && check_barriers(block)) {
            progress = true;
        }
        bool runnable = false, yielded = false;
        for (uint32_t w = 0; w < block->warp_count; w++) {
            runnable |= block->warp[w].runnable != 0;
            yielded |= block->warp[w].yielded != 0;
            block->warp[w].yielded = 0;
        }
        block->progressed |= progress;
        if (!runnable && block->cluster->count > 1 && exec_cluster_waits(block)) {
            return EXEC_BLOCK_WAITS;
        }
        if (!runnable && !progress) {
            report_deadlock(block);
        }
        if (atomic_load_explicit(&block->grid->error, memory_order_relaxed)) {
            return EXEC_BLOCK_FAILED;
        }
        if (progress) {
            spins = 0;
        } else if (++spins >= patience) {
            return EXEC_BLOCK_SPINS;
        }
        if (yielded && (exec_pool_stopping() || (slice_end && exec_now() > slice_end))) {
            return EXEC_BLOCK_SPINS;
        }
        if (yielded && !progress) {
            exec_pause();
        }
    }
}

enum exec_block_result exec_block_run(struct exec_block *block, unsigned patience)
{
    struct exec_fault_frame frame;
    enum exec_block_result result;
    exec_fault_push(&frame);
    if (sigsetjmp(frame.jump, 0) == 0) {
        result = block->grid->launch->kernel->lanes > 1 ? exec_block_drive_units(block)
                                                        : drive(block, patience);
    } else {
        char what[512];
        exec_fault_describe(&frame, what, sizeof what);
        exec_grid_fail(block->grid, &block->ctx, frame.error, what);
        result = EXEC_BLOCK_FAILED;
    }
    exec_fault_pop(&frame);
    return result;
}
