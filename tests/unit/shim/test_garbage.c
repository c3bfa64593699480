// SPDX-License-Identifier: Apache-2.0
//
// Random calls of the memory functions with good and bad addresses, sizes, kinds, flags and
// handles: each must answer with one of the errors that can be meant, nothing may crash, and the
// backend must never be handed a range that leaves an allocation (the deferred backend runs in this
// process, so a sanitizer build sees every stray byte).
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OBJECTS = 10, CALLS = 15000 };

static uint64_t state;
static char *objects[OBJECTS];
static size_t sizes[OBJECTS];
static cudaStream_t streams[4];

static unsigned next(void)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (unsigned)(state >> 33);
}

static size_t any_size(void)
{
    static const size_t all[] = {0,      1,       3,         511,       512,      4096,
                                 100000, 1 << 20, 1ul << 31, 1ul << 40, SIZE_MAX, SIZE_MAX / 2};
    return next() % 3 == 0 ? next() % 3000 : all[next() % (sizeof all / sizeof *all)];
}

// Inside an object, or an address that is nobody's.
static void *any_address(void)
{
    unsigned i = next() % OBJECTS;
    if (!objects[i]) {
        return (void *)(uintptr_t)(next() % 2 ? 0 : 128);
    }
    return objects[i] + (next() % 2 ? 0 : next() % sizes[i]);
}

static cudaStream_t any_stream(void)
{
    return next() % 20 == 0 ? (cudaStream_t)(uintptr_t)(next() + 16) : streams[next() % 4];
}

static cudaError_t allocate(unsigned i)
{
    sizes[i] = 1 + next() % 200000;
    void **where = (void **)&objects[i];
    cudaError_t error;
    switch (next() % 4) {
    case 0:
        error = cudaMalloc(where, sizes[i]);
        break;
    case 1:
        error = cudaHostAlloc(where, sizes[i], next() % 9);
        break;
    case 2:
        error = cudaMallocManaged(where, sizes[i], next() % 4);
        break;
    default:
        error = cudaMallocAsync(where, sizes[i], any_stream());
        break;
    }
    return error;
}

static cudaError_t release(unsigned i)
{
    cudaError_t error = cudaDeviceSynchronize();
    if (!error && next() % 2) {
        error = cudaFreeAsync(objects[i], any_stream());
    }
    if (error || cudaFree(objects[i]) == cudaSuccess || cudaFreeHost(objects[i]) == cudaSuccess) {
        error = error == cudaErrorInvalidResourceHandle ? error : cudaSuccess;
    }
    struct cudaPointerAttributes attributes;
    if (cudaPointerGetAttributes(&attributes, objects[i]) == cudaSuccess &&
        attributes.type == cudaMemoryTypeUnregistered) {
        objects[i] = NULL;
    }
    return error;
}

static cudaError_t copy_box(void)
{
    struct cudaMemcpy3DParms p;
    memset(&p, 0, sizeof p);
    p.srcPtr = (struct cudaPitchedPtr){any_address(), any_size(), any_size(), any_size()};
    p.dstPtr = (struct cudaPitchedPtr){any_address(), any_size(), any_size(), any_size()};
    p.srcPos.x = next() % 4 ? 0 : any_size();
    p.dstPos.y = next() % 4 ? 0 : any_size();
    p.dstPos.z = next() % 4 ? 0 : any_size();
    p.extent = (struct cudaExtent){any_size(), any_size(), any_size()};
    p.kind = cudaMemcpyDeviceToDevice;
    return cudaMemcpy3DAsync(&p, any_stream());
}

static cudaError_t any_call(void)
{
    unsigned i = next() % OBJECTS;
    const enum cudaMemcpyKind within = cudaMemcpyDeviceToDevice;
    static char host[4096];
    struct cudaMemLocation place = {.type = (enum cudaMemLocationType)(next() % 6),
                                    .id = (int)(next() % 3) - 1};
    struct cudaPointerAttributes attributes;
    int values[4];
    void *address = NULL;
    switch (next() % 18) {
    case 0:
    case 1:
        return objects[i] ? release(i) : allocate(i);
    case 2:
        return cudaMemset(any_address(), (int)next(), any_size());
    case 3:
        return cudaMemsetAsync(any_address(), (int)next(), any_size(), any_stream());
    case 4:
        return cudaMemset2D(any_address(), any_size(), 1, any_size(), any_size());
    case 5:
        return cudaMemcpyAsync(any_address(), any_address(), any_size(),
                               next() % 8 ? within : (enum cudaMemcpyKind)9, any_stream());
    case 6:
        return cudaMemcpy(any_address(), host, next() % sizeof host, cudaMemcpyHostToDevice);
    case 7:
        return cudaMemcpyAsync(host, any_address(), next() % sizeof host, cudaMemcpyDeviceToHost,
                               any_stream());
    case 8:
        return cudaMemcpyAsync(any_address(), host, next() % sizeof host, cudaMemcpyHostToDevice,
                               any_stream());
    case 9:
        return cudaMemcpy2DAsync(any_address(), any_size(), any_address(), any_size(), any_size(),
                                 any_size(), within, any_stream());
    case 10:
        return copy_box();
    case 11:
        return cudaPointerGetAttributes(&attributes, any_address());
    case 12:
        return cudaFree((void *)((uintptr_t)any_address() + 1));
    case 13:
        return next() % 2 ? cudaHostRegister(host, 1 + next() % sizeof host, next() % 20)
                          : cudaHostUnregister(host);
    case 14:
        return cudaHostGetDevicePointer(&address, any_address(), next() % 2);
    case 15:
        return cudaMemAdvise(any_address(), any_size(), (enum cudaMemoryAdvise)(next() % 8), place);
    case 16:
        return cudaMemRangeGetAttribute(values, next() % 17,
                                        (enum cudaMemRangeAttribute)(next() % 10), any_address(),
                                        any_size());
    default:
        return cudaMemcpyPeerAsync(any_address(), (int)(next() % 4) - 1, any_address(),
                                   (int)(next() % 3), next() % 3000, any_stream());
    }
}

static bool is_expected(cudaError_t error)
{
    static const cudaError_t expected[] = {
        cudaSuccess,
        cudaErrorInvalidValue,
        cudaErrorMemoryAllocation,
        cudaErrorInvalidPitchValue,
        cudaErrorInvalidMemcpyDirection,
        cudaErrorInvalidDevice,
        cudaErrorInvalidResourceHandle,
        cudaErrorHostMemoryAlreadyRegistered,
        cudaErrorHostMemoryNotRegistered,
        cudaErrorNotSupported,
    };
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        if (error == expected[i]) {
            return true;
        }
    }
    return false;
}

Test(garbage, random_calls, .timeout = 50)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/libirt-cpu.so", getenv("INFINIRT_BACKEND_PATH"));
    streams[1] = cudaStreamLegacy;
    streams[2] = cudaStreamPerThread;
    cr_assert(cudaStreamCreateWithFlags(&streams[3], cudaStreamNonBlocking) == cudaSuccess);
    for (unsigned seed = 1; seed <= 3; seed++) {
        state = seed;
        unsigned good = 0;
        for (int i = 0; i < CALLS; i++) {
            cudaError_t error = any_call();
            good += error == cudaSuccess;
            cr_assert(is_expected(error), "seed %u, call %d: %d", seed, i, (int)error);
        }
        cr_assert(good > CALLS / 5 && good < CALLS, "%u of %d calls succeeded", good, CALLS);
        cr_assert(cudaDeviceSynchronize() == cudaSuccess);
    }
    void *fake = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    unsigned (*violations)(void);
    cr_assert(fake != NULL);
    *(void **)&violations = dlsym(fake, "deferred_violations");
    cr_assert(violations && violations() == 0);
}
