// SPDX-License-Identifier: Apache-2.0
//
// Many threads make arrays, mipmapped arrays, textures and surfaces, copy, ask and destroy at once,
// on two devices; some try the handles of others, which may be gone. A plain program, as
// race_memory.c: exit code 0 is good.
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 6, ROUNDS = 120, WIDTH = 33, HEIGHT = 17 };

static pthread_barrier_t start;
static _Atomic(cudaArray_t) last_array;
static _Atomic(cudaTextureObject_t) last_texture;

#define CHECK(call)                                                  \
    do {                                                             \
        cudaError_t error_ = (call);                                 \
        if (error_) {                                                \
            fprintf(stderr, "%s answered %d\n", #call, (int)error_); \
            return (void *)1;                                        \
        }                                                            \
    } while (0)

static const struct cudaChannelFormatDesc format = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};

// Another thread may free it meanwhile: success or the documented error, and the process lives.
static int ask_about_others(void)
{
    struct cudaChannelFormatDesc desc;
    struct cudaResourceDesc resource;
    cudaError_t error = cudaGetChannelDesc(&desc, atomic_load(&last_array));
    if (error != cudaSuccess && error != cudaErrorInvalidResourceHandle) {
        return 0;
    }
    error = cudaGetTextureObjectResourceDesc(&resource, atomic_load(&last_texture));
    return error == cudaSuccess || error == cudaErrorInvalidValue;
}

static void *run(void *argument)
{
    int number = *(int *)argument;
    int devices = 0;
    unsigned char in[WIDTH * HEIGHT], out[WIDTH * HEIGHT];
    cudaStream_t stream;
    pthread_barrier_wait(&start);
    CHECK(cudaGetDeviceCount(&devices));
    CHECK(cudaSetDevice(number % devices));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < ROUNDS; i++) {
        cudaArray_t array, level;
        cudaMipmappedArray_t mipmap;
        cudaTextureObject_t texture;
        cudaSurfaceObject_t surface;
        struct cudaResourceDesc resource;
        struct cudaTextureDesc sampling;
        memset(in, number * 37 + i, sizeof in);
        CHECK(cudaMallocArray(&array, &format, WIDTH, HEIGHT, cudaArraySurfaceLoadStore));
        CHECK(cudaMallocMipmappedArray(
            &mipmap, &format, (struct cudaExtent){.width = WIDTH, .height = HEIGHT}, 3, 0));
        CHECK(cudaGetMipmappedArrayLevel(&level, mipmap, 0));
        CHECK(cudaMemcpy2DToArrayAsync(array, 0, 0, in, WIDTH, WIDTH, HEIGHT,
                                       cudaMemcpyHostToDevice, stream));
        struct cudaMemcpy3DParms p = {0};
        p.srcArray = array;
        p.dstArray = level;
        p.extent = (struct cudaExtent){.width = WIDTH, .height = HEIGHT, .depth = 1};
        p.kind = cudaMemcpyDeviceToDevice;
        CHECK(cudaMemcpy3DAsync(&p, stream));
        CHECK(cudaMemcpy2DFromArrayAsync(out, WIDTH, level, 0, 0, WIDTH, HEIGHT,
                                         cudaMemcpyDeviceToHost, stream));
        memset(&resource, 0, sizeof resource);
        memset(&sampling, 0, sizeof sampling);
        resource.resType = cudaResourceTypeArray;
        resource.res.array.array = array;
        CHECK(cudaCreateTextureObject(&texture, &resource, &sampling, NULL));
        CHECK(cudaCreateSurfaceObject(&surface, &resource));
        atomic_store(&last_array, i % 2 ? array : level);
        atomic_store(&last_texture, texture);
        CHECK(cudaStreamSynchronize(stream));
        if (memcmp(in, out, sizeof in) != 0 || !ask_about_others()) {
            fprintf(stderr, "wrong in thread %d, round %d\n", number, i);
            return (void *)1;
        }
        CHECK(cudaDestroySurfaceObject(surface));
        CHECK(cudaDestroyTextureObject(texture));
        CHECK(cudaFreeMipmappedArray(mipmap));
        CHECK(cudaFreeArray(array));
    }
    CHECK(cudaStreamDestroy(stream));
    return NULL;
}

int main(void)
{
    pthread_t threads[THREADS];
    int numbers[THREADS];
    int failed = 0;
    if (pthread_barrier_init(&start, NULL, THREADS)) {
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
