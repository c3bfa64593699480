// SPDX-License-Identifier: Apache-2.0
//
// What the executor's tests share: a device without a backend around it, and launching kernels that
// are thread functions written by hand in C (resumable state machines, as jit/ makes them).
#pragma once

#include <stdint.h>
#include <string.h>

#include "backends/cpu/exec/grid.h"
#include "backends/cpu/exec/heap.h"
#include "backends/cpu/exec/pool.h"
#include "backends/cpu/exec/print.h"
#include "backends/cpu/exec/stream.h"

static inline struct exec_device *test_device(unsigned threads)
{
    static struct exec_device device;
    exec_pool_setup(threads);
    exec_device_init(&device, 0);
    device.printf = exec_printf_create(1 << 20);
    device.heap = exec_heap_create(1 << 20);
    return &device;
}

// Parameters of the hand-written kernels: one pointer.
struct test_params {
    void *data;
};

static inline cudaError_t test_launch(struct exec_device *device, struct exec_kernel *kernel,
                                      uint32_t blocks, uint32_t threads, void *data)
{
    struct exec_launch launch = {
        .kernel = kernel, .grid = {blocks, 1, 1}, .block = {threads, 1, 1}, .resident = 1024};
    struct test_params params = {data};
    return exec_grid_run(device, NULL, &launch, &params);
}

#define TEST_DATA(type, ctx) ((type *)((const struct test_params *)(ctx)->params)->data)

// Suspends with a request; the thread function returns its value.
static inline int test_suspend(struct exec_thread *thread, uint32_t state,
                               struct exec_request request)
{
    thread->state = state;
    thread->request = request;
    return EXEC_SUSPEND;
}
