// SPDX-License-Identifier: Apache-2.0
//
// Grids and blocks: order, barriers with counts and exited threads, progress of spinning threads,
// warps and blocks, deadlocks, faults. Kernels are thread functions written by hand.
#include <criterion/criterion.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "exec_test.h"

TestSuite(block, .timeout = 20);

// ---------------------------------------------------------------- simple kernels

static void add_indices(struct exec_ctx *ctx)
{
    _Atomic uint64_t *sums = TEST_DATA(_Atomic uint64_t, ctx);
    for (uint32_t t = 0; t < ctx->block_threads; t++) {
        uint64_t global = (uint64_t)ctx->ctaid[0] * ctx->ntid[0] + t;
        atomic_fetch_add(&sums[0], global);
        atomic_fetch_add(&sums[1], 1);
    }
}

Test(block, every_block_runs_once)
{
    struct exec_device *device = test_device(2);
    struct exec_kernel kernel = {.name = "add", .block = add_indices};
    _Atomic uint64_t sums[2] = {0};
    for (int round = 0; round < 20; round++) {
        atomic_store(&sums[0], 0);
        atomic_store(&sums[1], 0);
        cr_assert_eq(test_launch(device, &kernel, 3001, 32, sums), cudaSuccess);
        uint64_t n = 3001 * 32;
        cr_assert_eq(sums[1], n);
        cr_assert_eq(sums[0], n * (n - 1) / 2);
    }
}

static void check_indices(struct exec_ctx *ctx)
{
    _Atomic uint8_t *seen = TEST_DATA(_Atomic uint8_t, ctx);
    uint32_t i = ctx->ctaid[0] + 3 * (ctx->ctaid[1] + 4 * ctx->ctaid[2]);
    atomic_fetch_add(&seen[i], ctx->nctaid[0] == 3 && ctx->nctaid[1] == 4 && ctx->nctaid[2] == 5);
}

Test(block, three_dimensions_are_all_visited)
{
    struct exec_device *device = test_device(2);
    struct exec_kernel kernel = {.name = "3d", .block = check_indices};
    _Atomic uint8_t seen[60] = {0};
    struct exec_launch launch = {
        .kernel = &kernel, .grid = {3, 4, 5}, .block = {1, 1, 1}, .resident = 4};
    struct test_params params = {seen};
    cr_assert_eq(exec_grid_run(device, NULL, &launch, &params), cudaSuccess);
    for (int i = 0; i < 60; i++) {
        cr_expect_eq(seen[i], 1, "block %d", i);
    }
}

// ---------------------------------------------------------------- barriers

// shared[tid] = tid; barrier; data[global] = shared[n - 1 - tid]
static int reverse(struct exec_ctx *ctx, struct exec_thread *thread)
{
    uint32_t *shared = (uint32_t *)ctx->shared;
    switch (thread->state) {
    case 0:
        shared[thread->linear] = thread->linear;
        return test_suspend(thread, 1, (struct exec_request){.kind = EXEC_REQ_BARRIER});
    default:
        TEST_DATA(uint32_t, ctx)
        [ctx->ctaid[0] * ctx->ntid[0] + thread->linear] = shared[ctx->ntid[0] - 1 - thread->linear];
        return EXEC_EXIT;
    }
}

Test(block, barrier_waits_for_all)
{
    struct exec_device *device = test_device(2);
    struct exec_kernel kernel = {.name = "reverse", .thread = reverse, .static_shared = 4096};
    static const uint32_t sizes[] = {1, 2, 31, 32, 33, 100, 256, 1000, 1024};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        uint32_t n = sizes[s], *data = calloc(7 * n, sizeof *data);
        cr_assert_eq(test_launch(device, &kernel, 7, n, data), cudaSuccess);
        for (uint32_t i = 0; i < 7 * n; i++) {
            cr_assert_eq(data[i], n - 1 - i % n, "size %u, thread %u", n, i);
        }
        free(data);
    }
}

// Threads above 10 leave; the others pass a barrier (B8).
static int leave_early(struct exec_ctx *ctx, struct exec_thread *thread)
{
    if (thread->state == 0 && thread->linear > 10) {
        return EXEC_EXIT;
    }
    if (thread->state < 3) {
        return test_suspend(thread, thread->state + 1,
                            (struct exec_request){.kind = EXEC_REQ_BARRIER});
    }
    TEST_DATA(uint32_t, ctx)[thread->linear] = 1;
    return EXEC_EXIT;
}

Test(block, exited_threads_do_not_block_barriers)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "leave", .thread = leave_early};
    uint32_t data[100] = {0};
    cr_assert_eq(test_launch(device, &kernel, 1, 100, data), cudaSuccess);
    for (int i = 0; i < 100; i++) {
        cr_expect_eq(data[i], i <= 10);
    }
}

// Warp 0 produces and arrives at barrier 1, warp 1 waits there (64 threads). Warp 1 has only 20
// lanes, which count as a whole warp.
static int produce_consume(struct exec_ctx *ctx, struct exec_thread *thread)
{
    uint32_t *shared = (uint32_t *)ctx->shared;
    if (thread->linear < 32) {
        shared[thread->linear] = 100 + thread->linear;
        ctx->rt->barrier_arrive(ctx, 1, 64);
        return EXEC_EXIT;
    }
    if (thread->state == 0) {
        return test_suspend(thread, 1,
                            (struct exec_request){.kind = EXEC_REQ_BARRIER, .a = 1, .b = 64});
    }
    TEST_DATA(uint32_t, ctx)[thread->linear - 32] = shared[thread->linear - 32];
    return EXEC_EXIT;
}

Test(block, named_barrier_counts_arrivals_and_whole_warps)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "pc", .thread = produce_consume, .static_shared = 128};
    uint32_t data[20] = {0};
    cr_assert_eq(test_launch(device, &kernel, 1, 52, data), cudaSuccess);
    for (uint32_t i = 0; i < 20; i++) {
        cr_expect_eq(data[i], 100 + i);
    }
}

// Two barriers at once: warps 0 and 1 use 2, warps 2 and 3 use 3, many times.
static int two_barriers(struct exec_ctx *ctx, struct exec_thread *thread)
{
    _Atomic uint32_t *counts = TEST_DATA(_Atomic uint32_t, ctx);
    uint32_t pair = thread->linear / 64;
    if (thread->state) {
        // Between two barriers nobody of the pair may be a round ahead.
        uint32_t seen = atomic_load(&counts[pair]);
        if (seen < 64 * thread->state || seen > 64 * (thread->state + 1)) {
            atomic_fetch_add(&counts[2], 1);
        }
    }
    if (thread->state == 50) {
        return EXEC_EXIT;
    }
    atomic_fetch_add(&counts[pair], 1);
    return test_suspend(thread, thread->state + 1,
                        (struct exec_request){.kind = EXEC_REQ_BARRIER, .a = 2 + pair, .b = 64});
}

Test(block, named_barriers_are_independent)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "two", .thread = two_barriers};
    _Atomic uint32_t counts[3] = {0};
    cr_assert_eq(test_launch(device, &kernel, 1, 128, counts), cudaSuccess);
    cr_expect_eq(counts[0], 64 * 50);
    cr_expect_eq(counts[1], 64 * 50);
    cr_expect_eq(counts[2], 0);
}

// .red: data[state] per operation; predicate = lane is even, or what the parameter says.
static int reduce_barrier(struct exec_ctx *ctx, struct exec_thread *thread)
{
    static const uint32_t ops[] = {EXEC_BAR_RED_POPC, EXEC_BAR_RED_AND, EXEC_BAR_RED_OR,
                                   EXEC_BAR_RED_AND, EXEC_BAR_RED_OR};
    uint32_t *data = TEST_DATA(uint32_t, ctx);
    uint32_t state = thread->state;
    if (state) {
        data[(state - 1) * 50 + thread->linear] = (uint32_t)thread->request.result;
    }
    if (state == 5) {
        return EXEC_EXIT;
    }
    uint32_t predicate = state == 3 ? 1 : state == 4 ? 0 : thread->linear % 2 == 0;
    return test_suspend(
        thread, state + 1,
        (struct exec_request){.kind = EXEC_REQ_BARRIER, .op = ops[state], .c = predicate});
}

Test(block, barrier_reductions)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "red", .thread = reduce_barrier};
    uint32_t data[5 * 50];
    cr_assert_eq(test_launch(device, &kernel, 1, 50, data), cudaSuccess);
    static const uint32_t want[] = {25, 0, 1, 1, 0};
    for (int i = 0; i < 250; i++) {
        cr_expect_eq(data[i], want[i / 50], "round %d, thread %d", i / 50, i % 50);
    }
}

// ---------------------------------------------------------------- progress

static int yield(struct exec_thread *thread, uint32_t state)
{
    return test_suspend(thread, state, (struct exec_request){.kind = EXEC_REQ_YIELD});
}

// Every lane takes a lock, adds, and releases it, with the holder parked inside for a while.
static int spin_lock(struct exec_ctx *ctx, struct exec_thread *thread)
{
    uint32_t *data = TEST_DATA(uint32_t, ctx); // lock, sum
    if (thread->state == 0) {
        if (data[0]) {
            return yield(thread, 0);
        }
        data[0] = 1;
        return yield(thread, 1);
    }
    if (thread->state < 4) {
        return yield(thread, thread->state + 1);
    }
    data[1] += thread->linear;
    data[0] = 0;
    return EXEC_EXIT;
}

Test(block, lanes_that_spin_on_a_lock_make_progress)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "lock", .thread = spin_lock, .can_spin = true};
    uint32_t data[2] = {0};
    cr_assert_eq(test_launch(device, &kernel, 1, 96, data), cudaSuccess);
    cr_expect_eq(data[1], 96 * 95 / 2);
}

// A barrier over the whole grid, written by hand: arrive, then spin until all have.
static int grid_barrier(struct exec_ctx *ctx, struct exec_thread *thread)
{
    _Atomic uint32_t *data = TEST_DATA(_Atomic uint32_t, ctx);
    uint32_t rounds = thread->state;
    if (rounds == 0) {
        atomic_fetch_add(&data[0], 1);
        thread->state = rounds = 1;
    }
    for (;;) {
        if (atomic_load(&data[0]) < rounds * ctx->nctaid[0] * ctx->block_threads) {
            return yield(thread, rounds);
        }
        if (rounds == 5) {
            return EXEC_EXIT;
        }
        atomic_fetch_add(&data[0], 1);
        thread->state = ++rounds;
    }
}

Test(block, grid_barrier_works_with_any_number_of_workers)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "grid", .thread = grid_barrier, .can_spin = true};
    _Atomic uint32_t data[1] = {0};
    cr_assert_eq(test_launch(device, &kernel, 60, 33, data), cudaSuccess);
    cr_expect_eq(data[0], 60 * 33 * 5);
}

Test(block, grid_barrier_on_two_workers)
{
    struct exec_device *device = test_device(2);
    struct exec_kernel kernel = {
        .name = "grid", .thread = grid_barrier, .can_spin = true, .block_ns = 1000000};
    for (int i = 0; i < 20; i++) {
        _Atomic uint32_t data[1] = {0};
        cr_assert_eq(test_launch(device, &kernel, 60, 4, data), cudaSuccess);
        cr_expect_eq(data[0], 60 * 4 * 5);
    }
}

// Look-back: a block needs the result of the one before it; more blocks than may be resident.
static int look_back(struct exec_ctx *ctx, struct exec_thread *thread)
{
    _Atomic uint32_t *data = TEST_DATA(_Atomic uint32_t, ctx);
    uint32_t block = ctx->ctaid[0];
    uint32_t before = block ? atomic_load(&data[block - 1]) : 1;
    if (!before) {
        return yield(thread, 1);
    }
    atomic_store(&data[block], before + 1);
    return EXEC_EXIT;
}

Test(block, look_back_over_many_blocks)
{
    struct exec_device *device = test_device(2);
    struct exec_kernel kernel = {
        .name = "look", .thread = look_back, .can_spin = true, .block_ns = 1000000};
    static _Atomic uint32_t data[5000];
    struct exec_launch launch = {
        .kernel = &kernel, .grid = {5000, 1, 1}, .block = {1, 1, 1}, .resident = 8};
    struct test_params params = {data};
    cr_assert_eq(exec_grid_run(device, NULL, &launch, &params), cudaSuccess);
    cr_expect_eq(data[4999], 5001);
}

// Two kernels of different streams wait for each other, with one worker.
static int ping(struct exec_ctx *ctx, struct exec_thread *thread)
{
    _Atomic uint32_t *data = TEST_DATA(_Atomic uint32_t, ctx);
    if (thread->state == 0) {
        atomic_fetch_add(&data[0], 1);
    }
    return atomic_load(&data[0]) < 2 ? yield(thread, 1) : EXEC_EXIT;
}

Test(block, kernels_of_two_streams_may_wait_for_each_other)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "ping", .thread = ping, .can_spin = true};
    struct irtb_stream *streams[2];
    _Atomic uint32_t data[1] = {0};
    void *pointer = data, *arguments[] = {&pointer};
    struct exec_param param = {0, 8, 8};
    struct exec_launch launch = {
        .kernel = &kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}, .resident = 8};
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(exec_stream_create(device, 0, &streams[i]), cudaSuccess);
        cr_assert_eq(exec_stream_launch(streams[i], &launch, &param, 1, 8, arguments), cudaSuccess);
    }
    cr_assert_eq(exec_device_synchronize(device), cudaSuccess);
    cr_expect_eq(data[0], 2);
}

// Cooperative groups' workspace: envreg 1 and 2 give its address; a barrier word follows its size.
static int cooperative(struct exec_ctx *ctx, struct exec_thread *thread)
{
    uint64_t address = ctx->envreg[1] << 32 | ctx->envreg[2];
    _Atomic uint32_t *barrier = (_Atomic uint32_t *)(uintptr_t)(address + 4);
    uint32_t expected = ctx->nctaid[0];
    uint32_t *data = TEST_DATA(uint32_t, ctx);
    uint32_t old;
    if (thread->state == 0) {
        data[ctx->ctaid[0]] = ctx->ctaid[0] + 1;
        old = atomic_fetch_add(barrier, ctx->ctaid[0] == 0 ? 0x80000000u - (expected - 1) : 1u);
        memcpy(thread->frame, &old, sizeof old);
    }
    memcpy(&old, thread->frame, sizeof old);
    if (!((old ^ atomic_load(barrier)) & 0x80000000u)) {
        return yield(thread, 1);
    }
    data[expected + ctx->ctaid[0]] = data[(ctx->ctaid[0] + 1) % expected];
    return EXEC_EXIT;
}

Test(block, cooperative_launch_has_a_workspace)
{
    struct exec_device *device = test_device(2);
    struct exec_kernel kernel = {
        .name = "coop", .thread = cooperative, .can_spin = true, .frame_size = 16};
    uint32_t data[32] = {0};
    struct exec_launch launch = {.kernel = &kernel,
                                 .grid = {16, 1, 1},
                                 .block = {1, 1, 1},
                                 .resident = 16,
                                 .cooperative = true};
    struct test_params params = {data};
    cr_assert_eq(exec_grid_run(device, NULL, &launch, &params), cudaSuccess);
    for (uint32_t i = 0; i < 16; i++) {
        cr_expect_eq(data[16 + i], (i + 1) % 16 + 1);
    }
}

// ---------------------------------------------------------------- what goes wrong

static char logged[512];

static void log_line(const char *subsystem, int level, const char *format, ...)
{
    (void)subsystem;
    (void)level;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(logged, sizeof logged, format, arguments);
    va_end(arguments);
}

// Half of a warp waits at a barrier, the other half in a warp operation with a full mask.
static int deadlock(struct exec_ctx *ctx, struct exec_thread *thread)
{
    (void)ctx;
    if (thread->linear % 2) {
        return test_suspend(thread, 1, (struct exec_request){.kind = EXEC_REQ_BARRIER});
    }
    return test_suspend(
        thread, 1, (struct exec_request){.kind = EXEC_REQ_SHFL, .mask = UINT32_MAX, .site = 7});
}

Test(block, deadlock_is_a_launch_failure_with_names)
{
    struct exec_device *device = test_device(1);
    exec_log_hook = log_line;
    struct exec_kernel kernel = {.name = "stuck", .thread = deadlock};
    cr_expect_eq(test_launch(device, &kernel, 1, 32, NULL), cudaErrorLaunchFailure);
    cr_expect(strstr(logged, "stuck") && strstr(logged, "block (0,0,0)") &&
                  strstr(logged, "thread (0,0,0)") && strstr(logged, "deadlock") &&
                  strstr(logged, "barrier 0") && strstr(logged, "site 7"),
              "%s", logged);
}

// Thread 5 of block 2 writes to nowhere while the others wait at a barrier (B15).
static int fault(struct exec_ctx *ctx, struct exec_thread *thread)
{
    if (ctx->ctaid[0] == 2 && thread->linear == 5 && thread->state == 0) {
        **TEST_DATA(int *volatile, ctx) = 1;
    }
    if (thread->state == 0) {
        return test_suspend(thread, 1, (struct exec_request){.kind = EXEC_REQ_BARRIER});
    }
    return EXEC_EXIT;
}

Test(block, fault_is_an_illegal_address_with_names)
{
    struct exec_device *device = test_device(2);
    exec_log_hook = log_line;
    struct exec_kernel kernel = {.name = "wild", .thread = fault};
    void *nowhere = (void *)0x40;
    cr_expect_eq(test_launch(device, &kernel, 4, 32, &nowhere), cudaErrorIllegalAddress);
    cr_expect(strstr(logged, "wild") && strstr(logged, "block (2,0,0)") &&
                  strstr(logged, "thread (5,0,0)") && strstr(logged, "0x40"),
              "%s", logged);
    // The thread and the process go on.
    uint32_t data[64];
    struct exec_kernel good = {.name = "reverse", .thread = reverse, .static_shared = 256};
    cr_expect_eq(test_launch(device, &good, 1, 64, data), cudaSuccess);
    cr_expect_eq(data[0], 63);
}

// The sanitizers would catch what these do on purpose.
#define ON_PURPOSE __attribute__((no_sanitize("address", "undefined")))

ON_PURPOSE static void fault_in_block(struct exec_ctx *ctx)
{
    ctx->current = 3;
    **TEST_DATA(int *volatile, ctx) = 1;
}

static void trap_in_block(struct exec_ctx *ctx)
{
    ctx->rt->trap(ctx, "trap instruction");
}

static void assert_in_block(struct exec_ctx *ctx)
{
    ctx->rt->assert_fail(ctx, "x == 1", "file.cu", 12, "kernel(int)");
}

#if defined(__x86_64__) // elsewhere a division by zero is no fault
ON_PURPOSE static void divide_in_block(struct exec_ctx *ctx)
{
    volatile int zero = 0, dividend = 100;
    *TEST_DATA(volatile int, ctx) = dividend / zero;
}
#endif

ON_PURPOSE static int recurse(volatile int *go_on, int depth)
{
    volatile char local[4096];
    local[depth % 4096] = (char)depth;
    return *go_on ? recurse(go_on, depth + 1) + local[(depth * 7) % 4096] : 0;
}

static void overflow_in_block(struct exec_ctx *ctx)
{
    recurse(TEST_DATA(volatile int, ctx), 0);
}

static void free_garbage(struct exec_ctx *ctx)
{
    ctx->rt->device_free(ctx, (void *)0x1234);
}

Test(block, failures_have_their_codes)
{
    struct exec_device *device = test_device(1);
    exec_log_hook = log_line;
    static const struct {
        exec_block_fn function;
        cudaError_t want;
        const char *text;
    } rows[] = {
        {fault_in_block, cudaErrorIllegalAddress, "0x48"},
        {trap_in_block, cudaErrorLaunchFailure, "trap instruction"},
        {assert_in_block, cudaErrorAssert, "assertion"},
#if defined(__x86_64__)
        {divide_in_block, cudaErrorLaunchFailure, "arithmetic"},
#endif
        {overflow_in_block, cudaErrorIllegalAddress, "illegal address"},
        {free_garbage, cudaErrorLaunchFailure, "free"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct exec_kernel kernel = {.name = "bad", .block = rows[i].function};
        void *data = (void *)0x48;
        cr_expect_eq(test_launch(device, &kernel, 3, 32, &data), rows[i].want, "row %zu", i);
        cr_expect(strstr(logged, rows[i].text), "row %zu: %s", i, logged);
    }
}

static volatile sig_atomic_t own_handler_ran;

static void own_handler(int number, siginfo_t *info, void *context)
{
    (void)number;
    (void)context;
    own_handler_ran = 1;
    // Make the page that was missing accessible by leaving: the test ends here.
    _exit(info->si_addr == (void *)0x88 ? 0 : 1);
}

Test(block, faults_of_the_application_go_to_its_own_handler, .exit_code = 0)
{
    struct sigaction action = {.sa_sigaction = own_handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "bad", .block = fault_in_block};
    void *data = (void *)0x48;
    cr_assert_eq(test_launch(device, &kernel, 1, 32, &data), cudaErrorIllegalAddress);
    cr_assert_eq(own_handler_ran, 0);
    volatile uintptr_t nowhere = 0x88;
    *(volatile int *)nowhere = 1;
    cr_assert(own_handler_ran, "the handler did not run");
}

static int wrong_barrier(struct exec_ctx *ctx, struct exec_thread *thread)
{
    (void)ctx;
    return test_suspend(thread, 1, (struct exec_request){.kind = EXEC_REQ_BARRIER, .a = 16});
}

static int unknown_request(struct exec_ctx *ctx, struct exec_thread *thread)
{
    (void)ctx;
    return test_suspend(
        thread, 1, (struct exec_request){.kind = EXEC_REQ_WARP_OP, .op = 3, .mask = UINT32_MAX});
}

Test(block, unknown_requests_are_loud)
{
    struct exec_device *device = test_device(1);
    exec_log_hook = log_line;
    struct exec_kernel barrier = {.name = "b", .thread = wrong_barrier};
    cr_expect_eq(test_launch(device, &barrier, 1, 32, NULL), cudaErrorLaunchFailure);
    cr_expect(strstr(logged, "barrier 16"), "%s", logged);
    struct exec_kernel warp = {.name = "w", .thread = unknown_request};
    cr_expect_eq(test_launch(device, &warp, 1, 32, NULL), cudaErrorLaunchFailure);
    cr_expect(strstr(logged, "operation 3"), "%s", logged);
}

// ---------------------------------------------------------------- runtime calls

static int print_and_allocate(struct exec_ctx *ctx, struct exec_thread *thread)
{
    struct {
        int32_t block, thread;
    } arguments = {(int32_t)ctx->ctaid[0], (int32_t)thread->linear};
    int32_t count = ctx->rt->vprintf(ctx, "block %d thread %d\n", &arguments);
    void *p = ctx->rt->device_malloc(ctx, 100);
    memset(p, 0xee, 100);
    void *huge = ctx->rt->device_malloc(ctx, 1u << 30);
    ctx->rt->device_free(ctx, p);
    ctx->rt->device_free(ctx, NULL);
    uint64_t a = ctx->rt->clock64(ctx), b = ctx->rt->clock64(ctx);
    TEST_DATA(uint32_t, ctx)
    [thread->linear] = count == 2 && !huge && b >= a && ctx->rt->globaltimer(ctx) > 1000000000u;
    return EXEC_EXIT;
}

Test(block, runtime_calls)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "rt", .thread = print_and_allocate};
    uint32_t data[4] = {0};
    cr_assert_eq(test_launch(device, &kernel, 1, 4, data), cudaSuccess);
    for (int i = 0; i < 4; i++) {
        cr_expect_eq(data[i], 1, "thread %d", i);
    }
}
