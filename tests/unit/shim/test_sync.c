// SPDX-License-Identifier: Apache-2.0
//
// What each call leaves undone and what it has waited for (CUDA Runtime API, "API synchronization
// behavior"), on the deferred backend, where nothing happens before somebody waits. Also what the
// shim must never hand to a backend: the fake counts violations of its contract.
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) cr_assert((call) == cudaSuccess, "%s", #call)
#define EXPECT(code, call)                                             \
    do {                                                               \
        cudaError_t got_ = (call);                                     \
        cr_assert(got_ == (code), "%s answered %d", #call, (int)got_); \
    } while (0)

enum { SIZE = 100000 };

static char *device_a, *device_b, *pinned_a, *pinned_b, *managed;
static char heap_a[SIZE], heap_b[SIZE];
static cudaStream_t stream; // non-blocking
static unsigned (*violations)(void);
static unsigned (*allocations)(void);
static void (*fail_next_copy)(cudaError_t);

static void prepare(void)
{
    OK(cudaMalloc((void **)&device_a, SIZE));
    OK(cudaMalloc((void **)&device_b, SIZE));
    OK(cudaMallocHost((void **)&pinned_a, SIZE));
    OK(cudaMallocHost((void **)&pinned_b, SIZE));
    OK(cudaMallocManaged((void **)&managed, SIZE, cudaMemAttachGlobal));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    char path[1024];
    snprintf(path, sizeof path, "%s/libirt-cpu.so", getenv("INFINIRT_BACKEND_PATH"));
    void *fake = dlopen(path, RTLD_NOW | RTLD_NOLOAD);
    cr_assert(fake != NULL, "%s", dlerror());
    *(void **)&violations = dlsym(fake, "deferred_violations");
    *(void **)&allocations = dlsym(fake, "deferred_allocations");
    *(void **)&fail_next_copy = dlsym(fake, "deferred_fail_next_copy");
    cr_assert(violations && allocations && fail_next_copy);
}

static void check(void)
{
    cr_assert(violations() == 0, "the backend saw %u violations", violations());
}

TestSuite(sync, .timeout = 20, .init = prepare, .fini = check);

// The fake keeps all memory in the process, so that a test may look at device memory directly.
static bool is_done(const char *dst)
{
    return dst[0] == 0x11 && dst[SIZE - 1] == 0x11;
}

enum waits { DONE, PENDING };

struct copy_row {
    char **dst, **src;
    enum cudaMemcpyKind kind;
    enum waits blocking, async;
};

static char *heap_a_pointer = heap_a, *heap_b_pointer = heap_b;

static const struct copy_row copy_rows[] = {
    {&device_a, &heap_a_pointer, cudaMemcpyHostToDevice, DONE, PENDING},
    {&device_a, &pinned_a, cudaMemcpyHostToDevice, DONE, PENDING},
    {&heap_a_pointer, &device_a, cudaMemcpyDeviceToHost, DONE, DONE},
    {&pinned_a, &device_a, cudaMemcpyDeviceToHost, DONE, PENDING},
    {&device_a, &device_b, cudaMemcpyDeviceToDevice, PENDING, PENDING},
    {&heap_a_pointer, &heap_b_pointer, cudaMemcpyHostToHost, DONE, DONE},
    {&pinned_a, &pinned_b, cudaMemcpyHostToHost, DONE, DONE},
    {&pinned_a, &heap_a_pointer, cudaMemcpyHostToHost, DONE, DONE},
    {&managed, &device_a, cudaMemcpyDeviceToDevice, DONE, PENDING},
    {&managed, &pinned_a, cudaMemcpyHostToDevice, DONE, PENDING},
    {&managed, &heap_a_pointer, cudaMemcpyDefault, DONE, PENDING},
};

Test(sync, copies)
{
    for (size_t i = 0; i < sizeof copy_rows / sizeof *copy_rows; i++) {
        for (int use_default = 0; use_default < 2; use_default++) {
            const struct copy_row *row = &copy_rows[i];
            enum cudaMemcpyKind kind = use_default ? cudaMemcpyDefault : row->kind;
            OK(cudaDeviceSynchronize());
            memset(*row->dst, 0x22, SIZE);
            memset(*row->src, 0x11, SIZE);
            OK(cudaMemcpy(*row->dst, *row->src, SIZE, kind));
            cr_assert(is_done(*row->dst) == (row->blocking == DONE), "row %zu blocking", i);
            OK(cudaDeviceSynchronize());
            cr_assert(is_done(*row->dst), "row %zu", i);

            // The stream must be busy: with an idle one, copying at once is allowed.
            memset(*row->dst, 0x22, SIZE);
            OK(cudaMemsetAsync(device_b + SIZE - 1, 0x11, 1, stream));
            OK(cudaMemcpyAsync(*row->dst, *row->src, SIZE, kind, stream));
            cr_assert(is_done(*row->dst) == (row->async == DONE), "row %zu async", i);
            OK(cudaStreamSynchronize(stream));
            cr_assert(is_done(*row->dst), "row %zu", i);
        }
    }
}

Test(sync, pageable_source_is_copied_aside)
{
    for (size_t size = 1; size <= SIZE; size = size * 7 + 1) {
        memset(heap_a, 0x11, size);
        OK(cudaMemsetAsync(device_a, 0x22, SIZE, stream));
        OK(cudaMemcpyAsync(device_a, heap_a, size, cudaMemcpyHostToDevice, stream));
        memset(heap_a, 0x33, size);
        OK(cudaStreamSynchronize(stream));
        cr_assert(device_a[0] == 0x11 && device_a[size - 1] == 0x11, "%zu bytes", size);
        cr_assert(size == SIZE || device_a[size] == 0x22, "%zu bytes", size);
    }
    enum { W = 10, H = 20, PITCH = 16 };
    memset(heap_a, 0x11, PITCH * H);
    OK(cudaMemsetAsync(device_a, 0x22, SIZE, stream));
    OK(cudaMemcpy2DAsync(device_a, 32, heap_a, PITCH, W, H, cudaMemcpyHostToDevice, stream));
    memset(heap_a, 0x33, PITCH * H);
    OK(cudaStreamSynchronize(stream));
    cr_assert(device_a[19 * 32 + W - 1] == 0x11 && device_a[19 * 32 + W] == 0x22);
}

Test(sync, fills)
{
    char *targets[] = {device_a, pinned_a, managed};
    for (size_t i = 0; i < 3; i++) {
        memset(targets[i], 0x22, SIZE);
        OK(cudaMemset(targets[i], 0x11, SIZE));
        cr_assert(is_done(targets[i]) == (i > 0), "target %zu", i);
        OK(cudaDeviceSynchronize());
        cr_assert(is_done(targets[i]));
        memset(targets[i], 0x22, SIZE);
        OK(cudaMemsetAsync(targets[i], 0x11, SIZE, stream));
        cr_assert(!is_done(targets[i]), "target %zu", i);
        OK(cudaStreamSynchronize(stream));
        cr_assert(is_done(targets[i]));
    }
}

Test(sync, sync_memops_makes_blocking_calls_wait)
{
    OK(cudaSetDeviceFlags(cudaDeviceSyncMemops));
    memset(device_b, 0x11, SIZE);
    OK(cudaMemcpy(device_a, device_b, SIZE, cudaMemcpyDeviceToDevice));
    cr_assert(is_done(device_a));
    memset(device_a, 0x22, SIZE);
    OK(cudaMemset(device_a, 0x11, SIZE));
    cr_assert(is_done(device_a));
}

Test(sync, free_waits_for_the_device)
{
    OK(cudaMemsetAsync(device_a, 0x11, SIZE, stream));
    OK(cudaMemcpyAsync(pinned_a, device_a, SIZE, cudaMemcpyDeviceToHost, stream));
    OK(cudaFree(device_a));
    cr_assert(is_done(pinned_a));
    OK(cudaMemcpyAsync(pinned_a, device_b, SIZE, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeHost(pinned_a)); // the fake would write into freed memory later
    OK(cudaDeviceSynchronize());
}

Test(sync, stream_ordered_free)
{
    char *p = NULL;
    unsigned before = allocations();
    OK(cudaMallocAsync((void **)&p, SIZE, stream));
    OK(cudaMemsetAsync(p, 0x11, SIZE, stream));
    OK(cudaMemcpyAsync(pinned_a, p, SIZE, cudaMemcpyDeviceToHost, stream));
    OK(cudaFreeAsync(p, stream));
    cr_assert(!is_done(pinned_a) && allocations() == before + 1, "nothing was waited for");
    EXPECT(cudaErrorInvalidValue, cudaFreeAsync(p, stream));
    EXPECT(cudaErrorInvalidValue, cudaFree(p));
    OK(cudaStreamSynchronize(stream));
    size_t free_bytes, total;
    OK(cudaMemGetInfo(&free_bytes, &total)); // shows what is no longer needed as free
    cr_assert(is_done(pinned_a) && allocations() == before);
    EXPECT(cudaErrorInvalidValue, cudaFreeAsync(NULL, stream));
}

Test(sync, peers)
{
    char *other = NULL;
    OK(cudaSetDevice(1));
    OK(cudaMalloc((void **)&other, SIZE));
    OK(cudaSetDevice(0));
    OK(cudaMemsetAsync(device_a, 0x11, SIZE, stream));
    OK(cudaMemcpyPeer(other, 1, device_a, 0, SIZE));
    cr_assert(is_done(other));
    OK(cudaMemset(other, 0x22, SIZE));
    OK(cudaMemcpyPeerAsync(device_a, 0, other, 1, SIZE, stream));
    cr_assert(is_done(device_a));
    OK(cudaStreamSynchronize(stream));
    EXPECT(cudaErrorInvalidDevice, cudaMemcpyPeer(other, 2, device_a, 0, SIZE));
    EXPECT(cudaErrorInvalidValue, cudaMemcpyPeer(other, 1, (void *)128, 0, SIZE));
    EXPECT(cudaErrorInvalidDevice, cudaMemcpyPeerAsync(other, 1, device_a, -1, SIZE, stream));
}

Test(sync, ranges)
{
    static const enum cudaMemcpyKind to = cudaMemcpyHostToDevice, from = cudaMemcpyDeviceToHost;
    static const enum cudaMemcpyKind within = cudaMemcpyDeviceToDevice;
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(device_a + 1, heap_a, SIZE, to));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(heap_a, device_a + SIZE - 4, 5, from));
    OK(cudaMemcpy(heap_a, device_a + SIZE - 4, 4, from));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(device_a, heap_a, SIZE_MAX, to));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(heap_b, heap_a, 16, to));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(device_a, device_b, 16, to));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(heap_a, device_b, 16, within));
    OK(cudaMemcpy(device_a, pinned_a, 16, within)); // mapped: device code may use it as well
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device_a, heap_a, 16, 5));
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(device_a, heap_a, 0, 5));
    OK(cudaMemcpy(NULL, NULL, 0, to));
    EXPECT(cudaErrorInvalidValue, cudaMemset(heap_a, 0, 16));
    EXPECT(cudaErrorInvalidValue, cudaMemset2D(device_a, 1000, 0, 1000, SIZE / 1000 + 1));
    EXPECT(cudaErrorInvalidValue, cudaMemset2D(device_a, SIZE_MAX / 2, 0, 8, 8));
    OK(cudaMemset2D(device_a, 1000, 0, 1000, SIZE / 1000));
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpy2D(device_a, 1000, heap_a, 1000, 1000, SIZE / 1000 + 1, to));
    EXPECT(cudaErrorInvalidPitchValue,
           cudaMemcpy2D(device_a, (size_t)1 << 31, heap_a, 10, 10, 1, to));
    OK(cudaHostRegister(heap_a, 100, 0));
    OK(cudaMemcpy(device_a, heap_a, SIZE, to)); // a part of the array is registered
    OK(cudaHostUnregister(heap_a));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(pinned_a + 1, device_a, SIZE, from));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaMemcpyAsync(device_a, heap_a, 16, to, (cudaStream_t)heap_b));
}

Test(sync, reset_leaves_nothing)
{
    OK(cudaMemcpyAsync(pinned_a, device_a, SIZE, cudaMemcpyDeviceToHost, stream));
    OK(cudaDeviceReset());
    cr_assert(allocations() == 0, "%u left", allocations());
    EXPECT(cudaErrorInvalidValue, cudaFree(device_a));
    EXPECT(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
    OK(cudaMalloc((void **)&device_a, 16));
}

Test(sync, faults_stick)
{
    int device = -1;
    fail_next_copy(cudaErrorIllegalAddress);
    OK(cudaMemcpyAsync(pinned_a, device_a, SIZE, cudaMemcpyDeviceToHost, stream));
    OK(cudaGetLastError());
    EXPECT(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT(cudaErrorIllegalAddress, cudaMalloc((void **)&device_a, 16));
    EXPECT(cudaErrorIllegalAddress, cudaDeviceReset());
    OK(cudaSetDevice(1)); // the other device still works
    OK(cudaGetLastError() == cudaErrorIllegalAddress ? cudaSuccess : cudaErrorUnknown);
    OK(cudaMalloc((void **)&device_a, 16));
    OK(cudaGetDevice(&device));
    cr_assert(device == 1);
    EXPECT(cudaErrorIllegalAddress, cudaSetDevice(0));
}
