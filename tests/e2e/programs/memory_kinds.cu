// SPDX-License-Identifier: Apache-2.0
//
// What kind of memory a pointer is, registered and mapped host memory, linked structures in mapped
// memory, refused sizes, use of a pointer that was never allocated.
#include "e2e.h"

struct Inner {
    int value;
};
struct Outer {
    Inner *inner;
    int tag;
};

__global__ void follow(Outer *o)
{
    if (o->tag == 23) {
        o->inner->value = 23;
        o->tag = 0;
    }
}

static cudaMemoryType type_of(const void *p)
{
    cudaPointerAttributes a;
    CHECK(cudaPointerGetAttributes(&a, p));
    return a.type;
}

int main()
{
    int on_stack = 0;
    void *heap = malloc(4096), *device, *pinned, *managed;
    CHECK(cudaMalloc(&device, 1000));
    CHECK(cudaMallocHost(&pinned, 1000));
    CHECK(cudaMallocManaged(&managed, 1000));
    EXPECT(type_of(&on_stack) == cudaMemoryTypeUnregistered);
    EXPECT(type_of(heap) == cudaMemoryTypeUnregistered);
    EXPECT(type_of(device) == cudaMemoryTypeDevice);
    EXPECT(type_of((char *)device + 999) == cudaMemoryTypeDevice);
    EXPECT(type_of(pinned) == cudaMemoryTypeHost);
    EXPECT(type_of(managed) == cudaMemoryTypeManaged);
    CHECK(cudaHostRegister(heap, 4096, cudaHostRegisterMapped));
    EXPECT(type_of(heap) == cudaMemoryTypeHost);
    void *mapped;
    CHECK(cudaHostGetDevicePointer(&mapped, heap, 0));
    CHECK(cudaMemset(mapped, 0x5a, 100));
    CHECK(cudaDeviceSynchronize());
    EXPECT(((unsigned char *)heap)[99] == 0x5a);
    CHECK(cudaHostUnregister(heap));
    EXPECT(type_of(heap) == cudaMemoryTypeUnregistered);
    unsigned flags = 0;
    EXPECT_ERROR(cudaHostGetFlags(&flags, heap), cudaErrorInvalidValue);
    (void)cudaGetLastError();

    Outer *outer;
    Inner *inner;
    CHECK(cudaHostAlloc((void **)&outer, sizeof(*outer), cudaHostAllocMapped));
    CHECK(cudaHostAlloc((void **)&inner, sizeof(*inner), cudaHostAllocMapped));
    inner->value = 0;
    outer->tag = 23;
    CHECK(cudaHostGetDevicePointer((void **)&outer->inner, inner, 0));
    Outer *seen;
    CHECK(cudaHostGetDevicePointer((void **)&seen, outer, 0));
    follow<<<1, 1>>>(seen);
    CHECK_LAUNCH();
    EXPECT(inner->value == 23 && outer->tag == 0);

    size_t free_bytes = 0, total = 0;
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    EXPECT(free_bytes > 0 && free_bytes <= total);
    void *huge = nullptr;
    EXPECT_ERROR(cudaMalloc(&huge, total * 4), cudaErrorMemoryAllocation);
    EXPECT(huge == nullptr && cudaGetLastError() == cudaErrorMemoryAllocation);
    // what a program does that did not look at the error
    EXPECT_ERROR(cudaMemcpy(huge, heap, 64, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemcpy((void *)0x1240, heap, 64, cudaMemcpyHostToDevice),
                 cudaErrorInvalidValue);
    EXPECT_ERROR(cudaMemset((void *)0x1240, 0, 64), cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    EXPECT_ERROR(cudaFree((char *)device + 8), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    CHECK(cudaFree(nullptr));
    CHECK(cudaFree(device));
    EXPECT_ERROR(cudaFree(device), cudaErrorInvalidValue);
    (void)cudaGetLastError();
    CHECK(cudaFreeHost(pinned));
    CHECK(cudaFree(managed));
    CHECK(cudaFreeHost(outer));
    CHECK(cudaFreeHost(inner));
    free(heap);
    return pass();
}
