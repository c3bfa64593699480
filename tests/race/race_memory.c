// SPDX-License-Identifier: Apache-2.0
//
// Many threads allocate, copy, fill, register, look up and free at once, on shared and own streams;
// every copy is checked. A plain program (ThreadSanitizer cannot start Criterion): exit code 0 is
// good, and the sanitizer, where it is built in, makes it non-zero by itself.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 6, ROUNDS = 150, SIZE = 10000 };

static cudaStream_t shared_stream;
static pthread_barrier_t start;

#define CHECK(call)                                                  \
    do {                                                             \
        cudaError_t error_ = (call);                                 \
        if (error_) {                                                \
            fprintf(stderr, "%s answered %d\n", #call, (int)error_); \
            return (void *)1;                                        \
        }                                                            \
    } while (0)

static int all_are(const unsigned char *bytes, unsigned char value)
{
    for (int i = 0; i < SIZE; i++) {
        if (bytes[i] != value) {
            return 0;
        }
    }
    return 1;
}

static void *run(void *argument)
{
    int number = *(int *)argument;
    int devices = 0;
    cudaStream_t own;
    unsigned char *in = malloc(SIZE);
    unsigned char *out = malloc(SIZE);
    if (!in || !out) {
        return (void *)1;
    }
    pthread_barrier_wait(&start);
    CHECK(cudaGetDeviceCount(&devices));
    CHECK(cudaSetDevice(number % devices));
    CHECK(cudaStreamCreateWithFlags(&own, number % 2 ? cudaStreamNonBlocking : 0));
    for (int i = 0; i < ROUNDS; i++) {
        unsigned char value = (unsigned char)(number * 37 + i);
        cudaStream_t stream = i % 3 == 0 && number % devices == 0 ? shared_stream : own;
        struct cudaPointerAttributes attributes;
        void *a;
        void *b;
        void *pinned;
        memset(in, value, SIZE);
        CHECK(cudaMalloc(&a, SIZE));
        CHECK(cudaMallocAsync(&b, SIZE, stream));
        CHECK(cudaMallocHost(&pinned, SIZE));
        CHECK(cudaMemcpyAsync(a, in, SIZE, cudaMemcpyHostToDevice, stream));
        memset(in, ~value, SIZE);
        CHECK(cudaMemcpyAsync(b, a, SIZE, cudaMemcpyDefault, stream));
        CHECK(cudaMemcpyAsync(pinned, b, SIZE, cudaMemcpyDefault, stream));
        CHECK(cudaFreeAsync(b, stream));
        CHECK(cudaPointerGetAttributes(&attributes, (char *)a + i));
        CHECK(cudaStreamSynchronize(stream));
        CHECK(cudaMemcpy(out, a, SIZE, cudaMemcpyDeviceToHost));
        if (!all_are(pinned, value) || !all_are(out, value) ||
            attributes.type != cudaMemoryTypeDevice || attributes.device != number % devices) {
            fprintf(stderr, "wrong data in thread %d, round %d\n", number, i);
            return (void *)1;
        }
        CHECK(cudaHostRegister(in, SIZE, 0));
        CHECK(cudaMemset(a, 0, SIZE));
        CHECK(cudaHostUnregister(in));
        CHECK(cudaFreeHost(pinned));
        CHECK(cudaFree(a));
    }
    CHECK(cudaStreamDestroy(own));
    free(in);
    free(out);
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    int failed = 0;
    if (cudaStreamCreate(&shared_stream) || pthread_barrier_init(&start, NULL, THREADS)) {
        return 2;
    }
    for (int i = 0; i < THREADS; i++) {
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
    return failed;
}
