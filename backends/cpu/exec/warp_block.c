// SPDX-License-Identifier: Apache-2.0
//
// The driver of blocks in the warp form: the thread function runs a warp to its end or to a barrier
// at which all its live lanes have come. A request then has the lanes in `mask` and, of .red, their
// predicates in `c`. Runs inside the fault frame that exec_block_run sets.
#include "block.h"

#include <string.h>

#include "fault.h"
#include "runtime.h"

static uint32_t lanes_in(uint32_t mask)
{
    return (uint32_t)__builtin_popcount(mask);
}

static bool waits_at(const struct exec_block *block, uint32_t w, uint32_t id)
{
    const struct exec_warp *warp = &block->warp[w];
    const struct exec_request *r = &exec_block_thread(block, w)->request;
    return warp->live && !warp->runnable && (uint32_t)r->a == id;
}

static void release(struct exec_block *block, uint32_t id)
{
    struct exec_barrier *barrier = &block->barrier[id];
    uint32_t predicates = barrier->predicates;
    bool all = predicates == barrier->waiting;
    memset(barrier, 0, sizeof *barrier);
    for (uint32_t w = 0; w < block->warp_count; w++) {
        if (!waits_at(block, w, id)) {
            continue;
        }
        struct exec_request *r = &exec_block_thread(block, w)->request;
        r->result = r->op == EXEC_BAR_RED_POPC  ? predicates
                    : r->op == EXEC_BAR_RED_AND ? all
                    : r->op == EXEC_BAR_RED_OR  ? predicates != 0
                                                : 0;
        r->result_pred = r->result != 0;
        block->warp[w].runnable = block->warp[w].live;
    }
}

static void wait(struct exec_block *block, uint32_t w, const struct exec_request *request)
{
    struct exec_warp *warp = &block->warp[w];
    if (request->kind != EXEC_REQ_BARRIER) {
        exec_fault_leave(cudaErrorLaunchFailure, "a warp suspended for something else than a barrier");
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
    if (warp->live != request->mask) { // some have exited on the way
        block->live -= lanes_in(warp->live & ~request->mask);
        block->recheck = true;
        warp->live = request->mask;
    }
    warp->runnable = 0;
    barrier->expected = request->b;
    barrier->arrived += lanes_in(request->mask);
    barrier->waiting += lanes_in(request->mask);
    barrier->warps |= UINT32_C(1) << w;
    if (request->b) {
        barrier->lanes[w] |= request->mask;
    }
    barrier->predicates +=
        request->op == EXEC_BAR_SYNC ? 0 : lanes_in(request->c & request->mask);
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
    uint32_t w = 0;
    while (!block->warp[w].live) {
        w++;
    }
    const struct exec_thread *thread = exec_block_thread(block, w);
    block->ctx.current = thread->linear;
    exec_fault_leave(cudaErrorLaunchFailure, "deadlock, %u threads wait: warp %u: barrier %u",
                     block->live, w, (unsigned)thread->request.a);
}

enum exec_block_result exec_block_drive_warps(struct exec_block *block)
{
    exec_thread_fn function = block->grid->launch->kernel->thread;
    for (;;) {
        bool progress = false;
        for (uint32_t w = 0; w < block->warp_count; w++) {
            struct exec_warp *warp = &block->warp[w];
            if (!warp->runnable) {
                continue;
            }
            struct exec_thread *thread = exec_block_thread(block, w);
            progress = true;
            if (function(&block->ctx, thread) == EXEC_EXIT) {
                block->live -= lanes_in(warp->live);
                block->recheck = true;
                warp->live = warp->runnable = 0;
            } else {
                wait(block, w, &thread->request);
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
