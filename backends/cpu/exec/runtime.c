// SPDX-License-Identifier: Apache-2.0
//
// The functions behind struct exec_runtime: printf, malloc, assert, trap, clocks. They run on the
// thread of the block, inside its fault frame.
#include "runtime.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "block.h"
#include "device_api.h"
#include "exec_util.h"
#include "fault.h"
#include "heap.h"
#include "print.h"
#include "stream.h"
#include "texture.h"

static void thread_index(const struct exec_ctx *ctx, uint32_t ret_tid[3])
{
    uint32_t x = ctx->ntid[0] ? ctx->ntid[0] : 1, y = ctx->ntid[1] ? ctx->ntid[1] : 1;
    ret_tid[0] = ctx->current % x;
    ret_tid[1] = ctx->current / x % y;
    ret_tid[2] = ctx->current / x / y;
}

static int32_t rt_vprintf(struct exec_ctx *ctx, const char *format, const void *arguments)
{
    return exec_printf_append(ctx->block->grid->device->printf, format, arguments);
}

static void *rt_malloc(struct exec_ctx *ctx, uint64_t size)
{
    return exec_heap_alloc(ctx->block->grid->device->heap, size);
}

static void rt_free(struct exec_ctx *ctx, void *ptr)
{
    if (!exec_heap_free(ctx->block->grid->device->heap, ptr)) {
        exec_fault_leave(cudaErrorLaunchFailure, "free(%p) of something that malloc did not return",
                         ptr);
    }
}

static __attribute__((noreturn)) void rt_assert(struct exec_ctx *ctx, const char *message,
                                                const char *file, uint32_t line,
                                                const char *function)
{
    uint32_t tid[3];
    thread_index(ctx, tid);
    char text[1024];
    int n = snprintf(text, sizeof text,
                     "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
                     file ? file : "?", line, function ? function : "?", ctx->ctaid[0],
                     ctx->ctaid[1], ctx->ctaid[2], tid[0], tid[1], tid[2], message ? message : "?");
    size_t length = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    ssize_t written = write(STDERR_FILENO, text, length);
    (void)written; // nowhere to say it otherwise; the error code remains
    exec_fault_leave(cudaErrorAssert, "assertion failed");
}

static __attribute__((noreturn)) void rt_trap(struct exec_ctx *ctx, const char *reason)
{
    (void)ctx;
    exec_fault_leave(cudaErrorLaunchFailure, "%s", reason && *reason ? reason : "trap");
}

static void rt_arrive(struct exec_ctx *ctx, uint32_t id, uint32_t count)
{
    exec_block_arrive(ctx->block, ctx->current, id, count);
}

static uint64_t rt_globaltimer(struct exec_ctx *ctx)
{
    (void)ctx;
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static uint64_t rt_clock64(struct exec_ctx *ctx)
{
    (void)ctx;
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#else
    return exec_now();
#endif
}

void exec_runtime_fill(struct exec_runtime *runtime, void *const *helpers)
{
    *runtime = (struct exec_runtime){
        .vprintf = rt_vprintf,
        .device_malloc = rt_malloc,
        .device_free = rt_free,
        .assert_fail = rt_assert,
        .trap = rt_trap,
        .barrier_arrive = rt_arrive,
        .device_call = exec_device_call,
        .globaltimer = rt_globaltimer,
        .clock64 = rt_clock64,
        .images = &exec_image_functions,
        .helpers = helpers,
    };
}

void exec_grid_fail(struct exec_grid *grid, const struct exec_ctx *ctx, cudaError_t error,
                    const char *what)
{
    int none = cudaSuccess;
    if (!atomic_compare_exchange_strong(&grid->error, &none, (int)error)) {
        return;
    }
    uint32_t tid[3];
    thread_index(ctx, tid);
    EXEC_LOG(0, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u): %s (error %d)",
             grid->launch->kernel->name, ctx->ctaid[0], ctx->ctaid[1], ctx->ctaid[2], tid[0],
             tid[1], tid[2], what, (int)error);
}
