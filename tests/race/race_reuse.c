// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a pool wander between streams that are ordered by events and by the legacy stream, with
// every combination of the reuse policies, while other allocations are exported to (no) other
// processes and events are. Each block is filled with a value of its own and looked at before it is
// freed: a block that was handed on too early shows. A plain program, like race_memory.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 1500, LIVE = 6, LOOKS = ROUNDS * LIVE };

static cudaStream_t streams[THREADS];
static cudaEvent_t events[THREADS];
static _Atomic int wrong;

#define CHECK(call)                                                  \
    do {                                                             \
        cudaError_t error_ = (call);                                 \
        if (error_) {                                                \
            fprintf(stderr, "%s answered %d\n", #call, (int)error_); \
            exit(1);                                                 \
        }                                                            \
    } while (0)

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

struct block {
    char *start;
    size_t size;
    unsigned char value;
};

struct look {
    unsigned char *seen; // page-locked
    unsigned char wanted[LOOKS];
    int count;
};

static void take(struct block *block, cudaStream_t stream, unsigned *state)
{
    block->size = (next(state) % 5 + 1) * 3000;
    block->value = (unsigned char)(next(state) % 255 + 1);
    CHECK(cudaMallocAsync((void **)&block->start, block->size, stream));
    CHECK(cudaMemsetAsync(block->start, block->value, block->size, stream));
}

static void give(struct block *block, cudaStream_t stream, struct look *look, unsigned *state)
{
    size_t at = next(state) % block->size;
    CHECK(cudaMemcpyAsync(look->seen + look->count, block->start + at, 1, cudaMemcpyDeviceToHost,
                          stream));
    look->wanted[look->count++] = block->value;
    CHECK(cudaFreeAsync(block->start, stream));
    block->start = NULL;
}

static void *wander(void *argument)
{
    size_t id = (size_t)argument;
    unsigned state = 77 * (unsigned)id + 1;
    cudaStream_t stream = streams[id];
    struct block blocks[LIVE];
    struct look *look = calloc(1, sizeof *look);
    memset(blocks, 0, sizeof blocks);
    CHECK(cudaMallocHost((void **)&look->seen, LOOKS));
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < LIVE; i++) {
            if (!blocks[i].start) {
                take(&blocks[i], stream, &state);
            } else if (next(&state) % 2) {
                give(&blocks[i], stream, look, &state);
            }
        }
        if (next(&state) % 3 == 0) {
            CHECK(cudaEventRecord(events[id], stream));
        }
        if (next(&state) % 3 == 0) {
            CHECK(cudaStreamWaitEvent(stream, events[next(&state) % THREADS], 0));
        }
        if (id % 2 == 0 && blocks[0].start && next(&state) % 16 == 0) { // a blocking stream
            CHECK(cudaMemsetAsync(blocks[0].start, blocks[0].value, blocks[0].size, NULL));
            CHECK(cudaStreamSynchronize(NULL));
        }
    }
    for (int i = 0; i < LIVE; i++) {
        if (blocks[i].start) {
            CHECK(cudaFreeAsync(blocks[i].start, stream));
        }
    }
    CHECK(cudaStreamSynchronize(stream));
    for (int i = 0; i < look->count; i++) {
        wrong += look->seen[i] != look->wanted[i];
    }
    CHECK(cudaFreeHost(look->seen));
    free(look);
    return NULL;
}

// Exports memory that is being written, and events that are being recorded.
static void *export(void *argument)
{
    _Atomic int *stop = argument;
    unsigned state = 5;
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    while (!atomic_load(stop)) {
        size_t size = next(&state) % 2 ? 4096 : 400000;
        char *memory;
        cudaEvent_t event;
        cudaIpcMemHandle_t handle;
        cudaIpcEventHandle_t event_handle;
        unsigned char last = 0;
        CHECK(cudaMalloc((void **)&memory, size));
        CHECK(cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
        for (int i = 1; i <= 20; i++) {
            CHECK(cudaMemsetAsync(memory, i, size, stream));
        }
        CHECK(cudaEventRecord(event, stream));
        CHECK(cudaIpcGetMemHandle(&handle, memory));
        CHECK(cudaIpcGetEventHandle(&event_handle, event));
        CHECK(cudaEventSynchronize(event));
        CHECK(cudaMemcpy(&last, memory + size - 1, 1, cudaMemcpyDeviceToHost));
        wrong += last != 20;
        CHECK(cudaEventDestroy(event));
        CHECK(cudaFree(memory));
    }
    CHECK(cudaStreamDestroy(stream));
    return NULL;
}

int main(void)
{
    for (int policy = 0; policy < 4; policy++) {
        cudaMemPool_t pool;
        int follow = policy & 1, opportunistic = policy >> 1;
        unsigned long long keep = ~0ull, used = 0;
        CHECK(cudaDeviceGetDefaultMemPool(&pool, 0));
        CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
        CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseFollowEventDependencies, &follow));
        CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolReuseAllowOpportunistic, &opportunistic));
        for (int i = 0; i < THREADS; i++) {
            CHECK(cudaStreamCreateWithFlags(&streams[i],
                                            i % 2 ? cudaStreamNonBlocking : cudaStreamDefault));
            CHECK(cudaEventCreateWithFlags(&events[i], cudaEventDisableTiming));
        }
        pthread_t threads[THREADS], exporter;
        _Atomic int stop = 0;
        if (pthread_create(&exporter, NULL, export, &stop)) {
            return 1;
        }
        for (size_t i = 0; i < THREADS; i++) {
            if (pthread_create(&threads[i], NULL, wander, (void *)i)) {
                return 1;
            }
        }
        for (int i = 0; i < THREADS; i++) {
            pthread_join(threads[i], NULL);
        }
        atomic_store(&stop, 1);
        pthread_join(exporter, NULL);
        for (int i = 0; i < THREADS; i++) {
            CHECK(cudaStreamDestroy(streams[i]));
            CHECK(cudaEventDestroy(events[i]));
        }
        CHECK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
        if (used || wrong) {
            fprintf(stderr, "policy %d: %d values wrong, %llu bytes still in use\n", policy,
                    (int)wrong, used);
            return 1;
        }
    }
    return 0;
}
