// SPDX-License-Identifier: Apache-2.0
//
// The driver of blocks in the warp form: the thread function runs a unit (a warp, or 16 or 8
// threads of one) to its end or to a barrier at which all its live threads have come. A request
// then has these threads in `mask` and, of .red, their predicates in `c`. Barriers count threads by
// the warps they are of, as the hardware does. Runs inside the fault frame that exec_block_run
// sets.
#include "block.h"

#include <string.h>

#include "fault.h"
#include "runtime.h"

static uint32_t lanes_in(uint32_t mask)
{
    return (uint32_t)__builtin_popcount(mask);
}

static uint32_t lanes_of(const struct exec_block *block)
{
    return block->grid->launch->kernel->lanes;
}

static uint32_t unit_count(const struct exec_block *block)
{
    return (block->count + lanes_of(block) - 1) / lanes_of(block);
}

// The threads of a unit as lanes of their warp.
static uint32_t in_warp(const struct exec_block *block, uint32_t unit, uint32_t mask)
{
    return mask << (unit * lanes_of(block) % EXEC_WARP_SIZE);
}

static struct exec_warp *warp_of(struct exec_block *block, uint32_t unit)
{
    return &block->warp[unit * lanes_of(block) / EXEC_WARP_SIZE];
}

void exec_block_start_units(struct exec_block *block)
{
    uint32_t lanes = lanes_of(block);
    for (uint32_t n = 0; n < unit_count(block); n++) {
        uint32_t threads = block->count - n * lanes;
        threads = threads < lanes ? threads : lanes;
        block->unit_live[n] = UINT32_MAX >> (32 - threads);
        block->unit_waits[n] = false;
    }
}

static void leave(struct exec_block *block, uint32_t unit, uint32_t gone)
{
    block->live -= lanes_in(gone);
    block->unit_live[unit] &= ~gone;
    warp_of(block, unit)->live &= ~in_warp(block, unit, gone);
    block->recheck = true;
}

static void release(struct exec_block *block, uint32_t id)
{
    struct exec_barrier *barrier = &block->barrier[id];
    uint32_t predicates = barrier->predicates;
    bool all = predicates == barrier->waiting;
    memset(barrier, 0, sizeof *barrier);
    for (uint32_t n = 0; n < unit_count(block); n++) {
        struct exec_request *r = &exec_block_thread(block, n)->request;
        if (!block->unit_waits[n] || (uint32_t)r->a != id) {
            continue;
        }
        r->result = r->op == EXEC_BAR_RED_POPC  ? predicates
                    : r->op == EXEC_BAR_RED_AND ? all
                    : r->op == EXEC_BAR_RED_OR  ? predicates != 0
                                                : 0;
        r->result_pred = r->result != 0;
        block->unit_waits[n] = false;
    }
}

static void wait(struct exec_block *block, uint32_t unit, const struct exec_request *request)
{
    if (request->kind != EXEC_REQ_BARRIER) {
        exec_fault_leave(cudaErrorLaunchFailure,
                         "threads in step suspended for something else than a barrier");
    }
    if (request->a >= EXEC_BARRIERS) {
        exec_fault_leave(cudaErrorLaunchFailure, "barrier %llu does not exist",
                         (unsigned long long)request->a);
    }
    struct exec_barrier *barrier = &block->barrier[request->a];
    if (barrier->arrived && barrier->expected != request->b) {
        exec_fault_leave(cudaErrorLaunchFailure,
                         "barrier %llu is used with thread counts %u and %u at once",
                         (unsigned long long)request->a, barrier->expected, request->b);
    }
    if (block->unit_live[unit] != request->mask) { // some have exited on the way
        leave(block, unit, block->unit_live[unit] & ~request->mask);
    }
    uint32_t w = unit * lanes_of(block) / EXEC_WARP_SIZE;
    block->unit_waits[unit] = true;
    barrier->expected = request->b;
    barrier->arrived += lanes_in(request->mask);
    barrier->waiting += lanes_in(request->mask);
    barrier->warps |= UINT32_C(1) << w;
    if (request->b) {
        barrier->lanes[w] |= in_warp(block, unit, request->mask);
    }
    barrier->predicates += request->op == EXEC_BAR_SYNC ? 0 : lanes_in(request->c & request->mask);
    if (exec_barrier_complete(block, barrier)) {
        release(block, (uint32_t)request->a);
    }
}

static bool recheck(struct exec_block *block)
{
    bool released = false;
    block->recheck = false;
    for (uint32_t id = 0; id < EXEC_BARRIERS; id++) {
        if (exec_barrier_complete(block, &block->barrier[id])) {
            release(block, id);
            released = true;
        }
    }
    return released;
}

static _Noreturn void report_deadlock(struct exec_block *block)
{
    uint32_t n = 0;
    while (!block->unit_live[n]) {
        n++;
    }
    const struct exec_thread *thread = exec_block_thread(block, n);
    block->ctx.current = thread->linear;
    exec_fault_leave(cudaErrorLaunchFailure,
                     "deadlock, %u threads wait: thread (%u,%u,%u): barrier %u", block->live,
                     thread->tid[0], thread->tid[1], thread->tid[2], (unsigned)thread->request.a);
}

enum exec_block_result exec_block_drive_units(struct exec_block *block)
{
    exec_thread_fn function = block->grid->launch->kernel->thread;
    uint32_t units = unit_count(block);
    for (;;) {
        bool progress = false;
        for (uint32_t n = 0; n < units; n++) {
            if (!block->unit_live[n] || block->unit_waits[n]) {
                continue;
            }
            struct exec_thread *thread = exec_block_thread(block, n);
            progress = true;
            if (function(&block->ctx, thread) == EXEC_EXIT) {
                leave(block, n, block->unit_live[n]);
            } else {
                wait(block, n, &thread->request);
            }
        }
        if (!block->live) {
            return EXEC_BLOCK_DONE;
        }
        progress |= block->recheck && recheck(block);
        if (!progress) {
            report_deadlock(block);
        }
        if (atomic_load_explicit(&block->grid->error, memory_order_relaxed)) {
            return EXEC_BLOCK_FAILED;
        }
    }
}
