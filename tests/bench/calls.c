// SPDX-License-Identifier: Apache-2.0
//
// What a call costs through the nvidia backend, over calling the same function of the library behind
// it (INFINIRT_NVIDIA_CUDART) directly. Both in one run, taking turns; the smallest of many rounds.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 40, CALLS = 500000 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double measure(cudaError_t (*function)(int *))
{
    int value;
    double start = now();
    for (int i = 0; i < CALLS; i++) {
        function(&value);
    }
    return (now() - start) / CALLS;
}

int main(void)
{
    const char *path = getenv("INFINIRT_NVIDIA_CUDART");
    void *real = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!real) {
        fprintf(stderr, "INFINIRT_NVIDIA_CUDART must name one library: %s\n",
                path ? dlerror() : "it is not set");
        return 2;
    }
    cudaError_t (*direct)(int *);
    *(void **)&direct = dlsym(real, "cudaGetDevice");
    double through = 1e30, straight = 1e30;
    for (int i = 0; i < ROUNDS; i++) {
        double a = measure(cudaGetDevice), b = measure(direct);
        through = a < through ? a : through;
        straight = b < straight ? b : straight;
    }
    printf("cudaGetDevice through nvidia %.2f ns, directly %.2f ns, difference %.2f ns\n", through,
           straight, through - straight);
    return 0;
}
