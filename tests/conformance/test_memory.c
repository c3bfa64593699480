// SPDX-License-Identifier: Apache-2.0
//
// Allocation of every kind, budgets, registration, pointer attributes, and the errors of each.
#include "conformance.h"

TestSuite(memory, .timeout = 60);

Test(memory, malloc_and_free)
{
    void *p = NULL;
    OK(cudaMalloc(&p, 16));
    cr_assert(p != NULL && (uintptr_t)p % 256 == 0);
    OK(cudaFree(p));
    EXPECT(cudaErrorInvalidValue, cudaFree(p));
    OK(cudaFree(NULL));
    EXPECT(cudaErrorInvalidValue, cudaMalloc(NULL, 16));
    int on_stack;
    EXPECT(cudaErrorInvalidValue, cudaFree(&on_stack));
    p = (void *)1;
    OK(cudaMalloc(&p, 0));
    cr_assert(p == NULL, "a zero size gives a null pointer");
}

Test(memory, free_takes_only_the_start)
{
    char *p = NULL;
    OK(cudaMalloc((void **)&p, 4096));
    EXPECT(cudaErrorInvalidValue, cudaFree(p + 256));
    OK(cudaFree(p));
}

Test(memory, budget_is_real, .data = NEEDS("memory_limit"))
{
    size_t before = 0, during = 0, after = 0, total = 0;
    void *p = NULL, *q = &p;
    OK(cudaMemGetInfo(&before, &total));
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&q, total + 1));
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&q, SIZE_MAX));
    EXPECT(cudaErrorMemoryAllocation, cudaMalloc(&q, SIZE_MAX - 4095));
    cr_assert(q == &p, "a failing call writes nothing");
    EXPECT(cudaErrorMemoryAllocation, cudaGetLastError());
    OK(cudaMalloc(&p, 32u << 20));
    OK(cudaMemGetInfo(&during, &total));
    cr_assert(during + (32u << 20) <= before);
    OK(cudaFree(p));
    OK(cudaMemGetInfo(&after, &total));
    cr_assert(after == before, "before %zu, after %zu", before, after);
    // Until it is full, then everything again.
    void *blocks[64];
    size_t count = 0;
    cudaError_t error = cudaSuccess;
    while (count < LENGTH(blocks) && error == cudaSuccess) {
        error = cudaMalloc(&blocks[count], total / 16);
        count += error == cudaSuccess;
    }
    EXPECT(cudaErrorMemoryAllocation, error);
    cr_assert(count >= 12 && count <= 16, "%zu sixteenths fit", count);
    while (count > 0) {
        OK(cudaFree(blocks[--count]));
    }
    OK(cudaMemGetInfo(&after, &total));
    cr_assert(after == before);
    OK(cudaMemGetInfo(NULL, &total));
    OK(cudaMemGetInfo(&after, NULL));
}

Test(memory, pitch_and_3d)
{
    void *p = NULL;
    size_t pitch = 0;
    OK(cudaMallocPitch(&p, &pitch, 100, 10));
    cr_assert(pitch >= 100 && pitch % 32 == 0);
    OK(cudaFree(p));
    struct cudaPitchedPtr box;
    struct cudaExtent extent = {100, 10, 4};
    OK(cudaMalloc3D(&box, extent));
    cr_assert(box.ptr && box.pitch >= 100 && box.xsize == 100 && box.ysize == 10);
    OK(cudaFree(box.ptr));
    EXPECT(cudaErrorInvalidValue, cudaMallocPitch(NULL, &pitch, 100, 10));
    EXPECT(cudaErrorInvalidValue, cudaMallocPitch(&p, NULL, 100, 10));
    EXPECT(cudaErrorInvalidValue, cudaMalloc3D(NULL, extent));
}

Test(memory, host_alloc)
{
    int *p = NULL, *device = NULL;
    unsigned flags = 77;
    OK(cudaHostAlloc((void **)&p, 4096, cudaHostAllocMapped | cudaHostAllocPortable));
    p[1023] = 5;
    OK(cudaHostGetDevicePointer((void **)&device, p, 0));
    cr_assert(device != NULL);
    OK(cudaHostGetFlags(&flags, p));
    cr_assert((flags & cudaHostAllocPortable) && (flags & cudaHostAllocMapped), "flags 0x%x",
              flags);
    EXPECT(cudaErrorInvalidValue, cudaHostGetDevicePointer((void **)&device, p, 1));
    OK(cudaFreeHost(p));
    EXPECT(cudaErrorInvalidValue, cudaFreeHost(p));
    OK(cudaFreeHost(NULL));
    EXPECT(cudaErrorInvalidValue, cudaHostAlloc((void **)&p, 16, 0x4000));
    EXPECT(cudaErrorInvalidValue, cudaMallocHost(NULL, 16));
    int on_stack;
    EXPECT(cudaErrorInvalidValue, cudaHostGetFlags(&flags, &on_stack));
}

Test(memory, host_register)
{
    char *p = aligned_alloc(4096, 16384), *device = NULL;
    cr_assert(p != NULL);
    OK(cudaHostRegister(p, 16384, cudaHostRegisterMapped | cudaHostRegisterPortable));
    EXPECT(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(p, 16384, 0));
    OK(cudaHostGetDevicePointer((void **)&device, p, 0));
    OK(cudaMemset(device, 0x21, 16384));
    OK(cudaDeviceSynchronize());
    cr_assert(p[0] == 0x21 && p[16383] == 0x21);
    OK(cudaHostUnregister(p));
    EXPECT(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(p));
    EXPECT(cudaErrorInvalidValue, cudaHostRegister(NULL, 16, 0));
    EXPECT(cudaErrorInvalidValue, cudaHostRegister(p, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaHostRegister(p, 16, 0x4000));
    free(p);
}

Test(memory, managed, .data = NEEDS("kernels managed"))
{
    int *p = NULL;
    OK(cudaMallocManaged((void **)&p, 4096, cudaMemAttachGlobal));
    for (int i = 0; i < 1024; i++) {
        p[i] = i;
    }
    kernels_register();
    int n = 1024;
    void *arguments[] = {&p, &n};
    OK(kernel_launch(KERNEL_ADD_ONE, 8, 128, arguments, 0, 0));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 1024; i++) {
        cr_assert(p[i] == i + 1, "%d: %d", i, p[i]);
    }
    OK(cudaFree(p));
    EXPECT(cudaErrorInvalidValue, cudaMallocManaged((void **)&p, 16, 0));
    EXPECT(cudaErrorInvalidValue, cudaMallocManaged((void **)&p, 16, 0x40));
    EXPECT(cudaErrorInvalidValue, cudaMallocManaged(NULL, 16, cudaMemAttachGlobal));
    EXPECT(cudaErrorInvalidValue, cudaMallocManaged((void **)&p, 0, cudaMemAttachGlobal));
}

Test(memory, pointer_attributes)
{
    struct cudaPointerAttributes a;
    char *device = NULL, *host = NULL, *managed = NULL;
    int on_stack;
    void *heap = malloc(64);
    OK(cudaSetDevice(device_count() - 1));
    OK(cudaMalloc((void **)&device, 4096));
    OK(cudaMallocHost((void **)&host, 4096));
    OK(cudaMallocManaged((void **)&managed, 4096, cudaMemAttachGlobal));

    OK(cudaPointerGetAttributes(&a, device + 100)); // inside the allocation
    cr_assert(a.type == cudaMemoryTypeDevice && a.device == device_count() - 1);
    cr_assert(a.devicePointer == device + 100 && a.hostPointer == NULL);
    OK(cudaPointerGetAttributes(&a, host));
    cr_assert(a.type == cudaMemoryTypeHost && a.hostPointer == host && a.devicePointer != NULL);
    OK(cudaPointerGetAttributes(&a, managed));
    cr_assert(a.type == cudaMemoryTypeManaged && a.hostPointer == managed &&
              a.devicePointer == managed);
    OK(cudaPointerGetAttributes(&a, &on_stack));
    cr_assert(a.type == cudaMemoryTypeUnregistered);
    OK(cudaPointerGetAttributes(&a, heap));
    cr_assert(a.type == cudaMemoryTypeUnregistered && a.devicePointer == NULL);
    OK(cudaFree(device));
    OK(cudaPointerGetAttributes(&a, device));
    cr_assert(a.type == cudaMemoryTypeUnregistered, "freed memory is known no more");
    EXPECT(cudaErrorInvalidValue, cudaPointerGetAttributes(NULL, host));
    OK(cudaFreeHost(host));
    OK(cudaFree(managed));
    free(heap);
}

// A structure in mapped host memory that points to other mapped memory.
Test(memory, mapped_memory_holds_pointers, .data = NEEDS("kernels mapped_memory"))
{
    int **outer = NULL, *inner = NULL, *device_out = NULL, out = 0, n = 1;
    OK(cudaHostAlloc((void **)&outer, sizeof *outer, cudaHostAllocMapped));
    OK(cudaHostAlloc((void **)&inner, sizeof *inner, cudaHostAllocMapped));
    OK(cudaMalloc((void **)&device_out, sizeof *device_out));
    *inner = 23;
    *outer = inner;
    kernels_register();
    void *arguments[] = {&device_out, outer, &n}; // the kernel reads through the inner pointer
    OK(kernel_launch(KERNEL_COPY, 1, 1, arguments, 0, 0));
    OK(cudaMemcpy(&out, device_out, sizeof out, cudaMemcpyDeviceToHost));
    cr_assert(out == 23);
}
