// SPDX-License-Identifier: Apache-2.0
//
// The order between the legacy default stream and the others, against the rule written down as a
// plain double loop: random programs on a backend that runs nothing by itself must queue exactly
// the dependencies that CUDA demands, no fewer and no more, and every schedule must obey them.
#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "tests/fakes/deferred/deferred.h"

TestSuite(order, .timeout = 60);

enum { STREAMS = 6, OPS = 40, LEGACY = 0, PER_THREAD = 1, FIRST_NON_BLOCKING = 4 };

static const struct deferred_control *control;
static cudaStream_t streams[STREAMS];
static unsigned long long random_state;

// An operation: its stream, and when it ran.
static struct op {
    int stream;
    int incarnation; // a stream that was replaced is another one
    int ran;         // 1, 2, …; 0: not yet
} ops[OPS];
static int op_count, ran_count;
static int incarnations[STREAMS];

static unsigned next_random(unsigned below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33) % below;
}

static void create(int i)
{
    unsigned flags = i >= FIRST_NON_BLOCKING ? cudaStreamNonBlocking : cudaStreamDefault;
    cr_assert(cudaStreamCreateWithFlags(&streams[i], flags) == cudaSuccess);
    incarnations[i]++;
}

static void start(unsigned seed)
{
    if (!control) {
        int count;
        cr_assert(cudaGetDeviceCount(&count) == cudaSuccess);
        char path[4096];
        snprintf(path, sizeof(path), "%s/libirt-cpu.so", getenv("INFINIRT_BACKEND_PATH"));
        void *module = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
        cr_assert(module != NULL);
        control = dlsym(module, "deferred_control");
        cr_assert(control != NULL);
        streams[LEGACY] = cudaStreamLegacy;
        streams[PER_THREAD] = cudaStreamPerThread;
        for (int i = 2; i < STREAMS; i++) {
            create(i);
        }
    }
    random_state = seed * 2654435761u + 1;
    op_count = ran_count = 0;
}

static void ran(void *argument)
{
    struct op *op = argument;
    op->ran = ++ran_count;
}

static void add(int stream)
{
    struct op *op = &ops[op_count++];
    *op = (struct op){.stream = stream, .incarnation = incarnations[stream]};
    cr_assert(cudaLaunchHostFunc(streams[stream], ran, op) == cudaSuccess);
}

// The rule: must `a`, issued first, end before `b` starts?
static bool directly_ordered(const struct op *a, const struct op *b)
{
    if (a->stream == b->stream && a->incarnation == b->incarnation) {
        return true;
    }
    bool legacy = (a->stream == LEGACY) != (b->stream == LEGACY);
    return legacy && a->stream < FIRST_NON_BLOCKING && b->stream < FIRST_NON_BLOCKING;
}

static void expect_exact_order(unsigned seed)
{
    static bool before[OPS][OPS];
    for (int b = 0; b < op_count; b++) {
        for (int a = b - 1; a >= 0; a--) {
            before[a][b] = directly_ordered(&ops[a], &ops[b]);
            for (int m = a + 1; m < b && !before[a][b]; m++) {
                before[a][b] = before[a][m] && before[m][b];
            }
        }
    }
    for (int b = 0; b < op_count; b++) {
        for (int a = 0; a < b; a++) {
            cr_assert(control->precedes(&ops[a], &ops[b]) == before[a][b],
                      "seed %u: operation %d (stream %d) %s precede %d (stream %d)", seed, a,
                      ops[a].stream, before[a][b] ? "must" : "must not", b, ops[b].stream);
        }
    }
}

static void expect_obeyed(unsigned seed)
{
    for (int b = 0; b < op_count; b++) {
        cr_assert(ops[b].ran != 0);
        for (int a = 0; a < b; a++) {
            cr_assert(!directly_ordered(&ops[a], &ops[b]) || ops[a].ran < ops[b].ran,
                      "seed %u: %d ran after %d", seed, a, b);
        }
    }
}

static void run_all(void)
{
    while (control->run_one(next_random(1000))) {
    }
    cr_assert(control->pending() == 0, "nothing can run any more: a cycle");
}

// Everything is queued before anything runs: the queues hold exactly the rule.
Test(order, queued_programs_hold_exactly_the_rule)
{
    for (unsigned seed = 0; seed < 150; seed++) {
        start(seed);
        unsigned spread = 1 + next_random(STREAMS);
        int count = 2 + (int)next_random(OPS - 2);
        for (int i = 0; i < count; i++) {
            add((int)next_random(spread));
        }
        expect_exact_order(seed);
        run_all();
        expect_obeyed(seed);
    }
}

// Streams that are destroyed while they have work still count.
Test(order, destroyed_streams_stay_ordered)
{
    for (unsigned seed = 0; seed < 150; seed++) {
        start(seed);
        int count = 2 + (int)next_random(OPS - 2);
        for (int i = 0; i < count; i++) {
            add((int)next_random(STREAMS));
            if (next_random(4) == 0) {
                int victim = 2 + (int)next_random(STREAMS - 2);
                cr_assert(cudaStreamDestroy(streams[victim]) == cudaSuccess);
                create(victim);
            }
        }
        expect_exact_order(seed);
        run_all();
        expect_obeyed(seed);
    }
}

// Work runs while more is queued, with queries and waits in between.
Test(order, running_programs_obey_the_rule)
{
    for (unsigned seed = 0; seed < 1000; seed++) {
        start(seed);
        for (int i = 0; i < OPS; i++) {
            add((int)next_random(STREAMS));
            for (unsigned n = next_random(3); n > 0; n--) {
                control->run_one(next_random(1000));
            }
            int stream = (int)next_random(STREAMS);
            switch (next_random(12)) {
            case 0:
                cudaStreamQuery(streams[stream]);
                break;
            case 1:
                cr_assert(cudaStreamSynchronize(streams[stream]) == cudaSuccess);
                break;
            default:
                break;
            }
        }
        run_all();
        expect_obeyed(seed);
    }
}

// Waiting for the legacy stream waits for the blocking streams, and says so when asked.
Test(order, legacy_stream_answers_for_the_blocking_ones)
{
    start(1);
    add(2);
    add(FIRST_NON_BLOCKING);
    cr_assert(cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady);
    cr_assert(cudaStreamSynchronize(cudaStreamLegacy) == cudaSuccess);
    cr_assert(ops[0].ran);
    cr_assert(cudaStreamQuery(streams[2]) == cudaSuccess);
    run_all();
    cr_assert(cudaStreamQuery(cudaStreamLegacy) == cudaSuccess);
    add(FIRST_NON_BLOCKING);
    cr_assert(cudaStreamQuery(cudaStreamLegacy) == cudaSuccess);
    run_all();
}

// A wait of the host for the legacy stream orders nothing between other streams.
Test(order, a_host_wait_is_no_operation)
{
    start(1);
    add(LEGACY);
    add(2);
    control->run_one(0);
    cr_assert(ops[0].ran);
    cr_assert(cudaStreamQuery(cudaStreamLegacy) == cudaErrorNotReady);
    add(3);
    cr_assert(!control->precedes(&ops[1], &ops[2]));
    run_all();
}

// Devices do not know each other's default streams.
Test(order, other_devices_are_independent)
{
    start(1);
    add(LEGACY);
    cr_assert(cudaSetDevice(1) == cudaSuccess);
    add(LEGACY);
    cr_assert(cudaSetDevice(0) == cudaSuccess);
    cr_assert(!control->precedes(&ops[0], &ops[1]));
    run_all();
}
