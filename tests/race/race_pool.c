// SPDX-License-Identifier: Apache-2.0
//
// Many threads allocate and free in stream order on shared streams, trim the default pool and make
// and destroy pools of their own that still have work pending. Each block is filled by its owner
// and checked before it is freed: memory given to two owners shows. A plain program, like
// race_memory.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 400, BLOCKS = 12, STREAMS = 3 };

static cudaStream_t streams[STREAMS];

#define CHECK(call)                                                  \
    do {                                                             \
        cudaError_t error_ = (call);                                 \
        if (error_) {                                                \
            fprintf(stderr, "%s answered %d\n", #call, (int)error_); \
            return 0;                                                \
        }                                                            \
    } while (0)

struct block {
    void *start;
    size_t size;
    unsigned char value;
    cudaStream_t stream;
};

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static int allocate(struct block *block, unsigned *state)
{
    block->size = 512 + next(state) % 20000;
    block->value = (unsigned char)next(state);
    block->stream = streams[next(state) % STREAMS];
    CHECK(cudaMallocAsync(&block->start, block->size, block->stream));
    CHECK(cudaMemsetAsync(block->start, block->value, block->size, block->stream));
    return 1;
}

static int check_and_free(struct block *block, unsigned *state)
{
    unsigned char first = 0;
    unsigned char last = 0;
    char *end = (char *)block->start + block->size - 1;
    CHECK(cudaMemcpyAsync(&first, block->start, 1, cudaMemcpyDeviceToHost, block->stream));
    CHECK(cudaMemcpyAsync(&last, end, 1, cudaMemcpyDeviceToHost, block->stream));
    if (first != block->value || last != block->value) {
        fprintf(stderr, "the block belongs to somebody else\n");
        return 0;
    }
    if (next(state) % 4 == 0) {
        CHECK(cudaStreamSynchronize(block->stream));
        CHECK(cudaFree(block->start));
    } else {
        CHECK(cudaFreeAsync(block->start, block->stream));
    }
    block->start = NULL;
    return 1;
}

static int use_own_pool(unsigned *state)
{
    struct cudaMemPoolProps props;
    cudaMemPool_t common;
    cudaMemPool_t own;
    cudaStream_t stream = streams[next(state) % STREAMS];
    void *start;
    size_t free_bytes;
    size_t total;
    memset(&props, 0, sizeof props);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    CHECK(cudaMemPoolCreate(&own, &props));
    CHECK(cudaMallocFromPoolAsync(&start, 4000, own, stream));
    CHECK(cudaMemsetAsync(start, 1, 4000, stream));
    CHECK(cudaMemPoolDestroy(own));
    CHECK(cudaFreeAsync(start, stream));
    CHECK(cudaDeviceGetDefaultMemPool(&common, 0));
    CHECK(cudaMemPoolTrimTo(common, next(state) % 50000));
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    return 1;
}

static void *run(void *argument)
{
    unsigned state = *(unsigned *)argument * 77u + 1u;
    struct block blocks[BLOCKS];
    int good = 1;
    memset(blocks, 0, sizeof blocks);
    for (int i = 0; i < ROUNDS && good; i++) {
        struct block *block = &blocks[next(&state) % BLOCKS];
        good = block->start ? check_and_free(block, &state) : allocate(block, &state);
        if (good && i % 40 == 0) {
            good = use_own_pool(&state);
        }
    }
    for (int i = 0; i < BLOCKS && good; i++) {
        good = !blocks[i].start || check_and_free(&blocks[i], &state);
    }
    return good ? NULL : (void *)1;
}

int main(void)
{
    pthread_t threads[THREADS];
    unsigned numbers[THREADS];
    int failed = 0;
    for (int i = 0; i < STREAMS; i++) {
        if (cudaStreamCreateWithFlags(&streams[i], i > 0 ? cudaStreamNonBlocking : 0)) {
            return 2;
        }
    }
    for (unsigned i = 0; i < THREADS; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, run, &numbers[i])) {
            return 2;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;
        pthread_join(threads[i], &result);
        failed |= result != NULL;
    }
    cudaMemPool_t pool;
    unsigned long long used = 1;
    if (cudaDeviceSynchronize() || cudaDeviceGetDefaultMemPool(&pool, 0) ||
        cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used) || used != 0) {
        fprintf(stderr, "%llu bytes still in use\n", used);
        failed = 1;
    }
    return failed;
}
