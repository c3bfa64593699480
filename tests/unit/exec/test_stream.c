// SPDX-License-Identifier: Apache-2.0
//
// Streams and events: order, waits, queries, host functions, lost devices.
#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "exec_test.h"

TestSuite(stream, .timeout = 20);

static struct irtb_stream *make_stream(struct exec_device *device, int priority)
{
    struct irtb_stream *stream;
    cr_assert_eq(exec_stream_create(device, priority, &stream), cudaSuccess);
    return stream;
}

static void copy_bytes(struct irtb_stream *stream, void *dst, const void *src, size_t size)
{
    struct irtb_copy copy = {.dst = dst, .src = src, .width = size, .height = 1, .depth = 1};
    cr_assert_eq(exec_stream_copy(stream, &copy), cudaSuccess);
}

struct gate {
    _Atomic int open, entered;
};

static void wait_at_gate(void *argument)
{
    struct gate *gate = argument;
    atomic_store(&gate->entered, 1);
    while (!atomic_load(&gate->open)) {
        struct timespec pause = {0, 100000};
        nanosleep(&pause, NULL);
    }
}

static void append(void *argument)
{
    int **at = argument;
    int *next = *at;
    *next = next[-1] + 1;
    *at = next + 1;
}

Test(stream, runs_work_in_order)
{
    struct exec_device *device = test_device(2);
    struct irtb_stream *stream = make_stream(device, 0);
    unsigned char a[64], b[64], c[64];
    struct irtb_fill fill = {
        .dst = a, .value = 0x5a, .element_size = 1, .width = 64, .height = 1, .depth = 1};
    cr_assert_eq(exec_stream_fill(stream, &fill), cudaSuccess);
    copy_bytes(stream, b, a, 64);
    fill.value = 0x11;
    cr_assert_eq(exec_stream_fill(stream, &fill), cudaSuccess);
    copy_bytes(stream, c, a, 64);
    cr_assert_eq(exec_stream_synchronize(stream), cudaSuccess);
    cr_expect_eq(b[0], 0x5a);
    cr_expect_eq(b[63], 0x5a);
    cr_expect_eq(c[31], 0x11);
    cr_expect_eq(exec_stream_query(stream), cudaSuccess);
    exec_stream_destroy(stream);
}

Test(stream, host_functions_keep_order_and_block_only_their_stream)
{
    struct exec_device *device = test_device(1);
    struct irtb_stream *a = make_stream(device, 0), *b = make_stream(device, 0);
    struct gate gate = {0};
    int log[101] = {0}, *at = log + 1;
    cr_assert_eq(exec_stream_host(a, wait_at_gate, &gate, false), cudaSuccess);
    for (int i = 0; i < 100; i++) {
        cr_assert_eq(exec_stream_host(a, append, &at, false), cudaSuccess);
    }
    int x = 7, y = 0;
    copy_bytes(b, &y, &x, sizeof x);
    cr_assert_eq(exec_stream_synchronize(b), cudaSuccess);
    cr_expect_eq(y, 7);
    cr_expect_eq(exec_stream_query(a), cudaErrorNotReady);
    // Work that nobody waits for runs as well.
    y = 0;
    x = 9;
    copy_bytes(b, &y, &x, sizeof x);
    while (exec_stream_query(b) == cudaErrorNotReady) {
    }
    cr_expect_eq(y, 9);
    atomic_store(&gate.open, 1);
    cr_assert_eq(exec_stream_synchronize(a), cudaSuccess);
    cr_expect_eq(at, log + 101);
    cr_expect_eq(log[100], 100);
    exec_stream_destroy(a);
    exec_stream_destroy(b);
}

Test(stream, many_blocking_host_functions_do_not_stop_each_other)
{
    struct exec_device *device = test_device(1);
    enum { N = 12 };
    struct irtb_stream *streams[N];
    struct gate gates[N];
    memset(gates, 0, sizeof gates);
    for (int i = 0; i < N; i++) {
        streams[i] = make_stream(device, 0);
        cr_assert_eq(exec_stream_host(streams[i], wait_at_gate, &gates[i], false), cudaSuccess);
    }
    for (int i = N - 1; i >= 0; i--) { // opened in the wrong order
        atomic_store(&gates[i].open, 1);
        cr_assert_eq(exec_stream_synchronize(streams[i]), cudaSuccess);
        exec_stream_destroy(streams[i]);
    }
}

Test(stream, event_orders_two_streams)
{
    struct exec_device *device = test_device(2);
    struct irtb_stream *a = make_stream(device, 0), *b = make_stream(device, -1);
    struct irtb_event *event;
    cr_assert_eq(exec_event_create(true, false, &event), cudaSuccess);
    cr_expect_eq(exec_event_query(event), cudaSuccess); // never recorded
    struct gate gate = {0};
    int x = 1, y = 0, z = 0;
    cr_assert_eq(exec_stream_host(a, wait_at_gate, &gate, false), cudaSuccess);
    copy_bytes(a, &y, &x, sizeof x);
    cr_assert_eq(exec_event_record(event, a), cudaSuccess);
    cr_assert_eq(exec_stream_wait_event(b, event), cudaSuccess);
    copy_bytes(b, &z, &y, sizeof y);
    cr_expect_eq(exec_event_query(event), cudaErrorNotReady);
    cr_expect_eq(exec_stream_query(b), cudaErrorNotReady);
    // Destroying does not undo the wait, nor does the stream's handle matter to its work.
    exec_event_destroy(event);
    atomic_store(&gate.open, 1);
    exec_stream_destroy(a);
    cr_assert_eq(exec_stream_synchronize(b), cudaSuccess);
    cr_expect_eq(z, 1);
    exec_stream_destroy(b);
}

Test(stream, wait_keeps_the_record_of_its_time)
{
    struct exec_device *device = test_device(2);
    struct irtb_stream *a = make_stream(device, 0), *b = make_stream(device, 0),
                       *c = make_stream(device, 0);
    struct irtb_event *event;
    cr_assert_eq(exec_event_create(false, true, &event), cudaSuccess);
    struct gate first = {0}, second = {0};
    cr_assert_eq(exec_stream_host(a, wait_at_gate, &first, false), cudaSuccess);
    cr_assert_eq(exec_event_record(event, a), cudaSuccess);
    cr_assert_eq(exec_stream_wait_event(c, event), cudaSuccess);
    cr_assert_eq(exec_stream_host(b, wait_at_gate, &second, false), cudaSuccess);
    cr_assert_eq(exec_event_record(event, b), cudaSuccess);
    atomic_store(&first.open, 1);
    cr_assert_eq(exec_stream_synchronize(c), cudaSuccess); // the second record does not matter
    cr_expect_eq(exec_event_query(event), cudaErrorNotReady);
    atomic_store(&second.open, 1);
    cr_assert_eq(exec_event_synchronize(event), cudaSuccess);
    cr_assert_eq(exec_device_synchronize(device), cudaSuccess);
    exec_event_destroy(event);
}

Test(stream, elapsed_time_needs_two_timed_complete_events)
{
    struct exec_device *device = test_device(1);
    struct irtb_stream *stream = make_stream(device, 0);
    struct irtb_event *a, *b, *untimed;
    exec_event_create(true, false, &a);
    exec_event_create(true, false, &b);
    exec_event_create(false, false, &untimed);
    double ms = -1;
    cr_expect_eq(exec_event_elapsed(a, b, &ms), cudaErrorInvalidResourceHandle);
    struct gate gate = {.open = 0};
    cr_assert_eq(exec_event_record(a, stream), cudaSuccess);
    exec_stream_host(stream, wait_at_gate, &gate, false);
    cr_assert_eq(exec_event_record(b, stream), cudaSuccess);
    cr_expect_eq(exec_event_elapsed(a, b, &ms), cudaErrorNotReady);
    cr_expect_eq(exec_event_elapsed(a, untimed, &ms), cudaErrorInvalidResourceHandle);
    while (!atomic_load(&gate.entered)) {
    }
    struct timespec pause = {0, 3000000};
    nanosleep(&pause, NULL);
    atomic_store(&gate.open, 1);
    cr_assert_eq(exec_event_synchronize(b), cudaSuccess);
    cr_assert_eq(exec_event_elapsed(a, b, &ms), cudaSuccess);
    cr_expect_geq(ms, 3.0);
}

Test(stream, chain_of_events_over_many_streams)
{
    struct exec_device *device = test_device(2);
    enum { N = 40 };
    int values[N + 1] = {5};
    struct irtb_stream *streams[N];
    struct irtb_event *events[N];
    for (int i = 0; i < N; i++) {
        streams[i] = make_stream(device, -(i % 6));
        exec_event_create(false, false, &events[i]);
        if (i) {
            cr_assert_eq(exec_stream_wait_event(streams[i], events[i - 1]), cudaSuccess);
        }
        copy_bytes(streams[i], &values[i + 1], &values[i], sizeof(int));
        cr_assert_eq(exec_event_record(events[i], streams[i]), cudaSuccess);
    }
    cr_assert_eq(exec_event_synchronize(events[N - 1]), cudaSuccess);
    cr_expect_eq(values[N], 5);
}

static _Atomic int lost_error;

static void lost(struct exec_device *device, cudaError_t error)
{
    (void)device;
    atomic_store(&lost_error, (int)error);
}

static void count_up(void *argument)
{
    atomic_fetch_add((_Atomic int *)argument, 1);
}

Test(stream, fault_of_a_copy_loses_the_device)
{
    struct exec_device *device = test_device(2);
    device->lost = lost;
    struct irtb_stream *stream = make_stream(device, 0);
    struct gate gate = {0};
    _Atomic int always = 0, sometimes = 0;
    int x = 1, y = 0;
    exec_stream_host(stream, wait_at_gate, &gate, false);
    copy_bytes(stream, (void *)16, &x, sizeof x);
    copy_bytes(stream, &y, &x, sizeof x);
    exec_stream_host(stream, count_up, &always, true);
    exec_stream_host(stream, count_up, &sometimes, false);
    struct irtb_event *event;
    exec_event_create(false, false, &event);
    cr_assert_eq(exec_event_record(event, stream), cudaSuccess);
    atomic_store(&gate.open, 1);
    cr_expect_eq(exec_stream_synchronize(stream), cudaErrorIllegalAddress);
    cr_expect_eq(lost_error, cudaErrorIllegalAddress);
    cr_expect_eq(y, 0);
    cr_expect_eq(always, 1);
    cr_expect_eq(sometimes, 0);
    cr_expect_eq(exec_event_query(event), cudaSuccess);
    struct irtb_copy copy = {.dst = &y, .src = &x, .width = 4, .height = 1, .depth = 1};
    cr_expect_eq(exec_stream_copy(stream, &copy), cudaErrorIllegalAddress);
    cr_expect_eq(exec_device_synchronize(device), cudaErrorIllegalAddress);
}

Test(stream, boxes_copy_and_fill)
{
    struct exec_device *device = test_device(1);
    struct irtb_stream *stream = make_stream(device, 0);
    uint32_t src[4][6][8], dst[4][6][8];
    for (int i = 0; i < 4 * 6 * 8; i++) {
        (&src[0][0][0])[i] = (uint32_t)i;
    }
    memset(dst, 0, sizeof dst);
    struct irtb_copy copy = {.dst = &dst[1][1][2],
                             .src = &src[0][2][1],
                             .width = 12,
                             .height = 3,
                             .depth = 2,
                             .dst_pitch = 32,
                             .src_pitch = 32,
                             .dst_slice = sizeof dst[0],
                             .src_slice = sizeof src[0]};
    cr_assert_eq(exec_stream_copy(stream, &copy), cudaSuccess);
    struct irtb_fill fill = {.dst = &dst[3][0][1],
                             .value = 0x01020304,
                             .element_size = 4,
                             .width = 5,
                             .height = 2,
                             .depth = 1,
                             .pitch = 32};
    cr_assert_eq(exec_stream_fill(stream, &fill), cudaSuccess);
    cr_assert_eq(exec_stream_synchronize(stream), cudaSuccess);
    for (int z = 0; z < 4; z++) {
        for (int y = 0; y < 6; y++) {
            for (int x = 0; x < 8; x++) {
                uint32_t want = 0;
                if (z >= 1 && z < 3 && y >= 1 && y < 4 && x >= 2 && x < 5) {
                    want = src[z - 1][y + 1][x - 1];
                } else if (z == 3 && y < 2 && x >= 1 && x < 6) {
                    want = 0x01020304;
                }
                cr_expect_eq(dst[z][y][x], want, "at %d %d %d", z, y, x);
            }
        }
    }
}

struct feeder {
    struct irtb_stream *stream;
    int from, *values;
};

static void *feed(void *argument)
{
    struct feeder *f = argument;
    for (int i = 0; i < 2000; i++) {
        struct irtb_copy copy = {
            .dst = &f->values[i + 1], .src = &f->values[i], .width = 4, .height = 1, .depth = 1};
        exec_stream_copy(f->stream, &copy);
        if (i % 50 == 0) {
            exec_stream_synchronize(f->stream);
        }
    }
    exec_stream_synchronize(f->stream);
    return NULL;
}

Test(stream, four_threads_feed_their_streams)
{
    struct exec_device *device = test_device(2);
    struct feeder feeders[4];
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        feeders[i] = (struct feeder){make_stream(device, 0), i + 1, calloc(2001, sizeof(int))};
        feeders[i].values[0] = i + 1;
        pthread_create(&threads[i], NULL, feed, &feeders[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        cr_expect_eq(feeders[i].values[2000], i + 1);
        free(feeders[i].values);
    }
    cr_expect_eq(exec_device_synchronize(device), cudaSuccess);
}

// A kernel that holds its worker until the gate is open, and one that notes when it ran.
static int hold_worker(struct exec_ctx *ctx, struct exec_thread *thread)
{
    (void)thread;
    wait_at_gate(TEST_DATA(struct gate, ctx));
    return EXEC_EXIT;
}

struct place {
    _Atomic int *next;
    _Atomic int number;
};

static int take_place(struct exec_ctx *ctx, struct exec_thread *thread)
{
    (void)thread;
    struct place *place = TEST_DATA(struct place, ctx);
    atomic_store(&place->number, atomic_fetch_add(place->next, 1) + 1);
    return EXEC_EXIT;
}

static void launch_in(struct irtb_stream *stream, exec_thread_fn function, void *data)
{
    static struct exec_kernel kernels[2];
    struct exec_kernel *kernel = &kernels[function == take_place];
    kernel->name = "by hand";
    kernel->thread = function;
    struct exec_launch launch = {
        .kernel = kernel, .grid = {1, 1, 1}, .block = {1, 1, 1}, .resident = 1};
    struct exec_param param = {0, sizeof(void *), sizeof(void *)};
    void *arguments[] = {&data};
    cr_assert_eq(exec_stream_launch(stream, &launch, &param, 1, sizeof(void *), arguments),
                 cudaSuccess);
}

// With one worker, what became ready meanwhile runs by priority, also by a changed one.
Test(stream, the_most_urgent_stream_runs_first)
{
    enum { COUNT = 8 };
    static const int priorities[COUNT] = {0, -1, -5, 0, -3, -2, -4, 0};
    static const int expected[COUNT] = {6, 5, 1, 7, 4, 2, 3, 8};
    struct exec_device *device = test_device(1);
    struct irtb_stream *busy = make_stream(device, 0), *streams[COUNT];
    struct gate gate = {0};
    _Atomic int next = 0;
    struct place places[COUNT];
    launch_in(busy, hold_worker, &gate);
    while (!atomic_load(&gate.entered)) {
    }
    for (int i = 0; i < COUNT; i++) {
        streams[i] = make_stream(device, priorities[i]);
        places[i].next = &next;
        atomic_store(&places[i].number, 0);
        launch_in(streams[i], take_place, &places[i]);
    }
    exec_stream_set_priority(streams[5], -5); // behind the other one that has it
    cr_expect_eq(atomic_load(&next), 0);
    atomic_store(&gate.open, 1);
    while (atomic_load(&next) < COUNT) { // nobody helps
    }
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(exec_stream_synchronize(streams[i]), cudaSuccess);
        cr_expect_eq(atomic_load(&places[i].number), expected[i], "stream %d ran as number %d", i,
                     atomic_load(&places[i].number));
        exec_stream_destroy(streams[i]);
    }
    cr_assert_eq(exec_stream_synchronize(busy), cudaSuccess);
    exec_stream_destroy(busy);
}
