// SPDX-License-Identifier: Apache-2.0
//
// Modules that come and go while other threads look their kernels up: registration, look-up by host
// address and by handle, and unregistration race on addresses of one's own and on a shared one. A
// plain program (for TSan): exit code 0 when every answer was a possible one.
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

enum { THREADS = 4, KERNELS = 8 };

void **__cudaRegisterFatBinary(void *wrapper);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaUnregisterFatBinary(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
                            int threads, uint3 *tid, uint3 *bid, dim3 *block, dim3 *grid, int *w);

static char hosts[THREADS][KERNELS], shared;
static _Atomic int failures;
static int rounds = 2000;

static void expect(int right, const char *what)
{
    if (!right) {
        fprintf(stderr, "%s\n", what);
        atomic_fetch_add(&failures, 1);
    }
}

static void register_kernel(void **module, const char *host)
{
    static const char name[] = "kernel";
    __cudaRegisterFunction(module, host, (char *)(uintptr_t)name, name, -1, NULL, NULL, NULL, NULL,
                           NULL);
}

static void *work(void *number)
{
    const char *own = hosts[(uintptr_t)number];
    for (int i = 0; i < rounds; i++) {
        void **module = __cudaRegisterFatBinary(NULL);
        for (int k = 0; k < KERNELS; k++) {
            register_kernel(module, &own[k]);
        }
        register_kernel(module, &shared);
        __cudaRegisterFatBinaryEnd(module);
        cudaKernel_t kernel, same;
        const char *name;
        for (int k = 0; k < KERNELS; k++) {
            expect(cudaGetKernel(&kernel, &own[k]) == cudaSuccess, "own kernel not found");
            expect(cudaGetKernel(&same, (const void *)kernel) == cudaSuccess && same == kernel,
                   "a handle is not its own handle");
            expect(cudaFuncGetName(&name, &own[k]) == cudaSuccess && name[0] == 'k', "name");
        }
        expect(cudaGetKernel(&same, &shared) == cudaSuccess, "a live shared address is unknown");
        __cudaUnregisterFatBinary(module);
        expect(cudaGetKernel(&same, &own[0]) == cudaErrorInvalidDeviceFunction,
               "an address outlives its module");
        expect(cudaFuncGetName(&name, (const void *)kernel) == cudaErrorInvalidDeviceFunction,
               "a handle outlives its module");
        cudaError_t e = cudaGetKernel(&same, &shared);
        expect(e == cudaSuccess || e == cudaErrorInvalidDeviceFunction, "shared address");
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[THREADS];
    if (argc > 1) {
        rounds = atoi(argv[1]);
    }
    for (uintptr_t i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, (void *)i);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
    }
    cudaKernel_t kernel;
    expect(cudaGetKernel(&kernel, &shared) == cudaErrorInvalidDeviceFunction, "left behind");
    printf("%d failures\n", failures);
    return failures != 0;
}
