// SPDX-License-Identifier: Apache-2.0
//
// Implicit synchronisation from many threads: work of the legacy stream never overlaps with work of
// a blocking stream of its device, whoever enqueues it, while streams and events come and go. A
// plain program (for TSan): exit code 0 when nothing overlapped. Argument: rounds per thread.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

enum { THREADS = 4 };

static _Atomic int legacy_running, blocking_running, overlaps, failures, calls;
static int rounds = 200;

static void check(cudaError_t error, const char *what)
{
    if (error) {
        fprintf(stderr, "%s: %s\n", what, cudaGetErrorName(error));
        atomic_fetch_add(&failures, 1);
    }
}

static void in_legacy(void *unused)
{
    if (atomic_fetch_add(&legacy_running, 1) != 0 || atomic_load(&blocking_running) != 0) {
        atomic_fetch_add(&overlaps, 1);
    }
    for (volatile int i = 0; i < 200; i++) {
    }
    if (atomic_load(&blocking_running) != 0) {
        atomic_fetch_add(&overlaps, 1);
    }
    atomic_fetch_sub(&legacy_running, 1);
    atomic_fetch_add(&calls, 1);
}

static void in_blocking(void *unused)
{
    atomic_fetch_add(&blocking_running, 1);
    if (atomic_load(&legacy_running) != 0) {
        atomic_fetch_add(&overlaps, 1);
    }
    for (volatile int i = 0; i < 200; i++) {
    }
    if (atomic_load(&legacy_running) != 0) {
        atomic_fetch_add(&overlaps, 1);
    }
    atomic_fetch_sub(&blocking_running, 1);
    atomic_fetch_add(&calls, 1);
}

static void *work(void *number)
{
    unsigned state = (unsigned)(uintptr_t)number * 7919u + 1;
    cudaStream_t stream;
    cudaEvent_t event;
    check(cudaStreamCreate(&stream), "create");
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "event");
    for (int i = 0; i < rounds; i++) {
        state = state * 1103515245u + 12345u;
        switch (state >> 16 & 15) {
        case 0:
        case 1:
        case 2:
            check(cudaLaunchHostFunc(cudaStreamLegacy, in_legacy, NULL), "legacy");
            break;
        case 3:
            check(cudaLaunchHostFunc(cudaStreamPerThread, in_blocking, NULL), "per thread");
            break;
        case 4:
            check(cudaStreamDestroy(stream), "destroy");
            check(cudaStreamCreate(&stream), "create");
            break;
        case 5:
            check(cudaStreamSynchronize(cudaStreamLegacy), "wait for legacy");
            break;
        case 6:
            check(cudaStreamSynchronize(stream), "wait");
            break;
        case 7:
            check(cudaEventRecord(event, stream), "record");
            check(cudaStreamWaitEvent(cudaStreamPerThread, event, 0), "wait for event");
            break;
        default:
            check(cudaLaunchHostFunc(stream, in_blocking, NULL), "blocking");
            break;
        }
    }
    check(cudaStreamDestroy(stream), "destroy");
    check(cudaEventDestroy(event), "destroy event");
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc > 1) {
        rounds = atoi(argv[1]);
    }
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)(i + 1));
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    check(cudaDeviceSynchronize(), "synchronise");
    printf("%d host functions, %d overlaps, %d failures\n", calls, overlaps, failures);
    return overlaps != 0 || failures != 0;
}
