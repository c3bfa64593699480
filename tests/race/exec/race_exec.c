// SPDX-License-Identifier: Apache-2.0
//
// Hammers the executor itself: streams with copies, launches, host functions, events and waits in
// between, fed and waited for by several threads at once, with streams and events that come and go.
// Built with the executor (no backend), so that ThreadSanitizer sees all of it. A plain program:
// exit code 0 when every result was right. Argument: rounds per thread.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/exec/grid.h"
#include "backends/cpu/exec/heap.h"
#include "backends/cpu/exec/pool.h"
#include "backends/cpu/exec/print.h"
#include "backends/cpu/exec/stream.h"

enum { THREADS = 6, CELLS = 64 };

static struct exec_device devices[2];
static _Atomic int failures;
static int rounds = 300;

static void check(int good, const char *what)
{
    if (!good) {
        fprintf(stderr, "wrong: %s\n", what);
        atomic_fetch_add(&failures, 1);
    }
}

// Adds 1 to every cell, one block per cell; threads of a block meet at a barrier first.
static int add_one(struct exec_ctx *ctx, struct exec_thread *thread)
{
    if (thread->state == 0) {
        thread->state = 1;
        thread->request = (struct exec_request){.kind = EXEC_REQ_BARRIER};
        return EXEC_SUSPEND;
    }
    if (thread->linear == 0) {
        (*(uint32_t *const *)(const void *)ctx->params)[ctx->ctaid[0]]++;
    }
    return EXEC_EXIT;
}

static void add_one_block(struct exec_ctx *ctx)
{
    (*(uint32_t *const *)(const void *)ctx->params)[ctx->ctaid[0]]++;
}

// All blocks meet, twice.
static int meet(struct exec_ctx *ctx, struct exec_thread *thread)
{
    _Atomic uint32_t *count = *(_Atomic uint32_t *const *)(const void *)ctx->params;
    if (thread->state == 0) {
        atomic_fetch_add(count, 1);
    }
    if (thread->state <= 1 && atomic_load(count) >= ctx->nctaid[0]) {
        atomic_fetch_add(count, 1);
        thread->state = 2;
    }
    if (thread->state == 2 && atomic_load(count) >= 2 * ctx->nctaid[0]) {
        return EXEC_EXIT;
    }
    thread->state = thread->state == 2 ? 2 : 1;
    thread->request = (struct exec_request){.kind = EXEC_REQ_YIELD};
    return EXEC_SUSPEND;
}

static struct exec_kernel kernels[] = {
    {.name = "add", .thread = add_one, .block_ns = 100000},
    {.name = "add_block", .block = add_one_block, .block_ns = 100000},
    {.name = "meet", .thread = meet, .can_spin = true, .block_ns = 100000},
};

static void launch(struct irtb_stream *stream, int which, uint32_t blocks, void *data)
{
    static const struct exec_param param = {0, 8, 8};
    struct exec_launch run = {.kernel = &kernels[which],
                              .grid = {blocks, 1, 1},
                              .block = {which == 0 ? 40 : 1, 1, 1},
                              .resident = 4096};
    void *arguments[] = {&data};
    check(exec_stream_launch(stream, &run, &param, 1, 8, arguments) == cudaSuccess, "launch");
}

static void host_add(void *argument)
{
    uint32_t *cells = argument;
    for (int i = 0; i < CELLS; i++) {
        cells[i]++;
    }
}

static void *work(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument * 7919u + 13u;
    struct exec_device *device = &devices[(uintptr_t)argument % 2];
    // The value travels between two buffers on two streams, ordered by events only.
    uint32_t *cells = calloc(CELLS, sizeof *cells), *other = calloc(CELLS, sizeof *other);
    struct irtb_stream *streams[2];
    struct irtb_event *event;
    uint32_t want = 0;
    exec_stream_create(device, 0, &streams[0]);
    exec_stream_create(device, -1, &streams[1]);
    exec_event_create(true, false, &event);
    int now = 0;
    for (int i = 0; i < rounds; i++) {
        seed = seed * 1103515245u + 12345u;
        struct irtb_copy out = {
            .dst = other, .src = cells, .width = CELLS * 4, .height = 1, .depth = 1};
        struct irtb_copy back = out;
        back.dst = cells;
        back.src = other;
        switch (seed >> 16 & 7) {
        case 0:
            launch(streams[now], 0, CELLS, cells);
            want++;
            break;
        case 1:
            launch(streams[now], 1, CELLS, cells);
            want++;
            break;
        case 2:
            exec_stream_host(streams[now], host_add, cells, false);
            want++;
            break;
        case 3:
            exec_stream_copy(streams[now], &out);
            exec_stream_copy(streams[now], &back);
            break;
        case 4: // go on in the other stream
            exec_event_record(event, streams[now]);
            now = !now;
            exec_stream_wait_event(streams[now], event);
            break;
        case 5:
            exec_event_record(event, streams[now]);
            exec_event_synchronize(event);
            check(cells[seed >> 8 & 63] == want, "value after an event");
            break;
        case 6:
            exec_stream_synchronize(streams[now]);
            check(cells[seed >> 8 & 63] == want, "value after a stream");
            break;
        default: // a stream and an event that come and go with work in flight
            exec_event_record(event, streams[now]);
            exec_stream_destroy(streams[now]);
            exec_stream_create(device, -(int)(seed >> 20 & 3), &streams[now]);
            exec_stream_wait_event(streams[now], event);
            exec_event_destroy(event);
            exec_event_create(true, false, &event);
            break;
        }
        if (i % 64 == 63) {
            _Atomic uint32_t count = 0;
            launch(streams[now], 2, 5, &count);
            exec_stream_synchronize(streams[now]);
            check(count == 10, "meeting blocks");
        }
    }
    exec_stream_synchronize(streams[now]);
    exec_device_synchronize(device);
    for (int i = 0; i < CELLS; i++) {
        check(cells[i] == want, "value at the end");
    }
    exec_stream_destroy(streams[0]);
    exec_stream_destroy(streams[1]);
    exec_event_destroy(event);
    free(cells);
    free(other);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc > 1) {
        rounds = atoi(argv[1]);
    }
    exec_pool_setup(3);
    for (int i = 0; i < 2; i++) {
        exec_device_init(&devices[i], i);
        devices[i].printf = exec_printf_create(1 << 20);
        devices[i].heap = exec_heap_create(1 << 20);
    }
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    exec_pool_stop(1000);
    return failures != 0;
}
