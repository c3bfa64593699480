// SPDX-License-Identifier: Apache-2.0
//
// Virtual memory management and values as signals of the driver API.
#include "driver_functions.h"

#include <fcntl.h>
#include <unistd.h>

TestSuite(driver_virtual, .timeout = 60, .data = NEEDS("driver virtual_memory"));

static CUmemAllocationProp on_device(int device, CUmemAllocationHandleType handle)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    prop.requestedHandleTypes = handle;
    return prop;
}

static CUmemAccessDesc access_of(int device, CUmemAccess_flags flags)
{
    CUmemAccessDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.location.id = device;
    desc.flags = flags;
    return desc;
}

Test(driver_virtual, memory_is_mapped_twice)
{
    CUmemGenericAllocationHandle memory = 0;
    CUmemAllocationProp prop = on_device(0, 0), got;
    CUmemAccessDesc all = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr range = 0;
    size_t unit = 0, free_before = 0, free_now = 0, total = 0;
    unsigned long long flags = 99;
    struct cudaPointerAttributes attributes;
    OK(cudaMemGetInfo(&free_before, &total));
    CU_OK(get_cuMemGetAllocationGranularity()(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    cr_assert(unit > 0 && (unit & (unit - 1)) == 0);
    CU_OK(get_cuMemAddressReserve()(&range, 4 * unit, 0, 0, 0));
    cr_assert(range % unit == 0);
    CU_OK(get_cuMemCreate()(&memory, 2 * unit, &prop, 0));
    OK(cudaMemGetInfo(&free_now, &total));
    cr_assert(free_now == free_before - 2 * unit);
    CU_OK(get_cuMemMap()(range, 2 * unit, 0, memory, 0));
    CU_OK(get_cuMemMap()(range + 2 * unit, 2 * unit, 0, memory, 0));
    CU_OK(get_cuMemSetAccess()(range, 4 * unit, &all, 1));
    CU_OK(get_cuMemGetAccess()(&flags, &all.location, range + 3 * unit));
    cr_assert(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cudaMemset((void *)(uintptr_t)range, 0, 4 * unit)); // over both mappings
    CU_OK(get_cuMemsetD32()(range + 16, 77, 1));
    cr_assert(read_back(range + 2 * unit + 16) == 77, "the same memory");
    OK(cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)(range + 5)));
    cr_assert(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    EXPECT(cudaErrorInvalidValue, cudaMemset((void *)(uintptr_t)(range + 1), 0, 4 * unit));
    EXPECT(cudaErrorInvalidValue, cudaFree((void *)(uintptr_t)range));
    CU_OK(get_cuMemGetAllocationPropertiesFromHandle()(&got, memory));
    cr_assert(got.location.id == 0 && got.type == CU_MEM_ALLOCATION_TYPE_PINNED);
    CU_OK(get_cuMemRelease()(memory)); // the mappings keep it
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemRelease()(memory));
    cr_assert(read_back(range + 16) == 77);
    CU_OK(get_cuMemRetainAllocationHandle()(&memory, (void *)(uintptr_t)(range + unit)));
    CU_OK(get_cuMemUnmap()(range, 2 * unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressFree()(range, 4 * unit));
    CU_OK(get_cuMemMap()(range, unit, unit, memory, 0)); // its second half
    CU_OK(get_cuMemSetAccess()(range, unit, &all, 1));
    CU_OK(get_cuMemsetD32()(range, 5, 1));
    cr_assert(read_back(range + 3 * unit) == 5);
    CU_OK(get_cuMemUnmap()(range, unit));
    CU_OK(get_cuMemUnmap()(range + 2 * unit, 2 * unit));
    CU_OK(get_cuMemRelease()(memory));
    CU_OK(get_cuMemAddressFree()(range, 4 * unit));
    OK(cudaMemGetInfo(&free_now, &total));
    cr_assert(free_now == free_before, "all memory is back");
    OK(cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)range));
    cr_assert(attributes.type == cudaMemoryTypeUnregistered);
}

Test(driver_virtual, kernels_use_mapped_memory, .data = NEEDS("ptx"))
{
    CUmemGenericAllocationHandle memory[3];
    CUmemAllocationProp prop = on_device(0, 0);
    CUmemAccessDesc all = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr range = 0;
    int n, value = 6;
    kernels_register();
    CU_OK(get_cuMemAddressReserve()(&range, 64 * MIB, 0, 0, 0));
    for (int i = 0; i < 3; i++) { // grows piece by piece, as PyTorch's expandable segments
        CU_OK(get_cuMemCreate()(&memory[i], 2 * MIB, &prop, 0));
        CU_OK(get_cuMemMap()(range + (size_t)i * 2 * MIB, 2 * MIB, 0, memory[i], 0));
        CU_OK(get_cuMemSetAccess()(range + (size_t)i * 2 * MIB, 2 * MIB, &all, 1));
    }
    n = (int)(6 * MIB / sizeof(int));
    int *data = (int *)(uintptr_t)range;
    void *fill[] = {&data, &value, &n};
    OK(kernel_launch(KERNEL_FILL, (unsigned)n / 256, 256, fill, 0, 0));
    cr_assert(read_back(range) == 6 && read_back(range + 6 * MIB - 4) == 6);
    static unsigned host[3 * 1024 * 1024 / 2];
    OK(cudaMemcpy(host, data, 6 * MIB, cudaMemcpyDeviceToHost));
    cr_assert(host[MIB / 2] == 6 && host[LENGTH(host) - 1] == 6);
    CU_OK(get_cuMemUnmap()(range, 6 * MIB)); // all at once
    for (int i = 0; i < 3; i++) {
        CU_OK(get_cuMemRelease()(memory[i]));
    }
    CU_OK(get_cuMemAddressFree()(range, 64 * MIB));
}

Test(driver_virtual, access_faults, .data = NEEDS("ptx faults"))
{
    CUmemGenericAllocationHandle memory = 0;
    CUmemAllocationProp prop = on_device(0, 0);
    CUmemAccessDesc read = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CUdeviceptr range = 0;
    int n = 1, value = 6;
    kernels_register();
    CU_OK(get_cuMemAddressReserve()(&range, 2 * MIB, 0, 0, 0));
    CU_OK(get_cuMemCreate()(&memory, 2 * MIB, &prop, 0));
    CU_OK(get_cuMemMap()(range, 2 * MIB, 0, memory, 0));
    CU_OK(get_cuMemSetAccess()(range, 2 * MIB, &read, 1));
    cr_assert(read_back(range) == 0);
    int *data = (int *)(uintptr_t)range;
    void *fill[] = {&data, &value, &n};
    OK(kernel_launch(KERNEL_FILL, 1, 1, fill, 0, 0));
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

Test(driver_virtual, virtual_memory_is_checked)
{
    CUmemGenericAllocationHandle memory = 0, other = 0;
    CUmemAllocationProp prop = on_device(0, 0), bad;
    CUmemAccessDesc all = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), wrong = all;
    CUdeviceptr range = 0, second = 0;
    size_t unit = 2 * MIB;
    unsigned long long flags;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, 4096, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, 0, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, unit, NULL, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(NULL, unit, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, unit, &prop, 1));
    CU_EXPECT(CUDA_ERROR_OUT_OF_MEMORY, get_cuMemCreate()(&memory, (size_t)1 << 40, &prop, 0));
    bad = on_device(99, 0);
    CU_EXPECT(CUDA_ERROR_INVALID_DEVICE, get_cuMemCreate()(&memory, unit, &bad, 0));
    bad = on_device(0, CU_MEM_HANDLE_TYPE_WIN32);
    CU_EXPECT(CUDA_ERROR_NOT_SUPPORTED, get_cuMemCreate()(&memory, unit, &bad, 0));
    bad = prop;
    bad.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, unit, &bad, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressReserve()(&range, 4096, 0, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressReserve()(&range, unit, 3, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressReserve()(NULL, unit, 0, 0, 0));
    CU_OK(get_cuMemAddressReserve()(&range, 2 * unit, 64 * MIB, 0, 0));
    cr_assert(range % (64 * MIB) == 0);
    CU_OK(get_cuMemAddressReserve()(&second, unit, 0, range, 0)); // the wish cannot be granted
    cr_assert(second != range);
    CU_OK(get_cuMemCreate()(&memory, unit, &prop, 0));
    CU_OK(get_cuMemCreate()(&other, 4 * unit, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range, 2 * unit, 0, memory, 0)); // too long
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range + unit, 2 * unit, 0, other, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range, unit, 4 * unit, other, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range + 512, unit, 0, memory, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range, unit, 0, 12345, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()((CUdeviceptr)unit, unit, 0, memory, 0));
    CU_OK(get_cuMemMap()(range, unit, 0, memory, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range, unit, 0, memory, 0)); // taken
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemSetAccess()(range, 2 * unit, &all, 1));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemSetAccess()(range, unit, NULL, 1));
    wrong.flags = (CUmemAccess_flags)2;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemSetAccess()(range, unit, &wrong, 1));
    wrong = access_of(99, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CU_EXPECT(CUDA_ERROR_INVALID_DEVICE, get_cuMemSetAccess()(range, unit, &wrong, 1));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemGetAccess()(&flags, &all.location, range + unit));
    CU_OK(get_cuMemGetAccess()(&flags, &all.location, range));
    cr_assert(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemUnmap()(range, 2 * unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemUnmap()(range, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressFree()(range, unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemRelease()(0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemRetainAllocationHandle()(&memory, &flags));
    CU_OK(get_cuMemUnmap()(range, unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemUnmap()(range, unit));
    CU_OK(get_cuMemAddressFree()(range, 2 * unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressFree()(range, 2 * unit));
}

Test(driver_virtual, memory_travels_by_descriptor)
{
    CUmemGenericAllocationHandle memory = 0, imported = 0;
    CUmemAllocationProp prop = on_device(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemAccessDesc all = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr range = 0;
    int fd = -1, null = open("/dev/null", O_RDWR);
    CU_OK(get_cuMemCreate()(&memory, 2 * MIB, &prop, 0));
    CU_OK(get_cuMemExportToShareableHandle()(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                             0));
    cr_assert(fd >= 0);
    CU_OK(get_cuMemImportFromShareableHandle()(&imported, (void *)(uintptr_t)fd,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CU_OK(get_cuMemAddressReserve()(&range, 4 * MIB, 0, 0, 0));
    CU_OK(get_cuMemMap()(range, 2 * MIB, 0, memory, 0));
    CU_OK(get_cuMemMap()(range + 2 * MIB, 2 * MIB, 0, imported, 0));
    CU_OK(get_cuMemSetAccess()(range, 4 * MIB, &all, 1));
    CU_OK(get_cuMemsetD32()(range, 123, 1));
    cr_assert(read_back(range + 2 * MIB) == 123);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuMemImportFromShareableHandle()(&imported, (void *)(uintptr_t)null,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuMemImportFromShareableHandle()(&imported, (void *)(intptr_t)-1,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CU_OK(get_cuMemUnmap()(range, 4 * MIB));
    CU_OK(get_cuMemRelease()(imported));
    CU_OK(get_cuMemRelease()(memory));
    prop = on_device(0, 0);
    CU_OK(get_cuMemCreate()(&memory, 2 * MIB, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuMemExportToShareableHandle()(&fd, memory,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CU_OK(get_cuMemRelease()(memory));
    close(null);
}

// ---- values as signals ----

Test(driver_virtual, a_stream_waits_for_a_value, .data = NEEDS("stream_values"))
{
    cudaStream_t waiting, writing;
    unsigned *flag = NULL, *out = NULL;
    OK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&writing, cudaStreamNonBlocking));
    OK(cudaHostAlloc((void **)&flag, 64, cudaHostAllocDefault));
    OK(cudaMalloc((void **)&out, 8));
    OK(cudaMemset(out, 0, 8));
    OK(cudaDeviceSynchronize()); // neither stream is ordered behind the memset
    *flag = 0;
    CUdeviceptr address = (uintptr_t)flag;
    CU_OK(get_cuStreamWaitValue32()(waiting, address, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cudaMemsetAsync(out, 1, 4, waiting));
    cr_assert(cudaStreamQuery(waiting) == cudaErrorNotReady);
    CU_OK(get_cuStreamWriteValue32()(writing, address, 6, 0));
    OK(cudaStreamSynchronize(writing));
    cr_assert(*flag == 6 && cudaStreamQuery(waiting) == cudaErrorNotReady);
    CU_OK(get_cuStreamWriteValue32()(writing, address, 7, 0));
    OK(cudaStreamSynchronize(waiting));
    cr_assert(read_back((uintptr_t)out) == 0x01010101);
    // The host may be the one that writes.
    CU_OK(get_cuStreamWaitValue32()(waiting, address, 100, CU_STREAM_WAIT_VALUE_GEQ));
    cr_assert(cudaStreamQuery(waiting) == cudaErrorNotReady);
    __atomic_store_n(flag, 1000, __ATOMIC_SEQ_CST);
    OK(cudaStreamSynchronize(waiting));
    // 64 bits, and values that are there already.
    CU_OK(get_cuStreamWriteValue64()(writing, address, 0x100000000ull, 0));
    CU_OK(get_cuStreamWaitValue64()(writing, address, 0x100000000ull, CU_STREAM_WAIT_VALUE_AND));
    CU_OK(get_cuStreamWaitValue64()(writing, address, 1, CU_STREAM_WAIT_VALUE_NOR));
    OK(cudaStreamSynchronize(writing));
    cr_assert(flag[0] == 0 && flag[1] == 1);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWaitValue32()(waiting, address + 2, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWaitValue64()(waiting, address + 4, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWaitValue32()(waiting, 64, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWaitValue32()(waiting, address, 0, 4));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWriteValue32()(waiting, address, 0, 2));
    CU_EXPECT(CUDA_ERROR_INVALID_HANDLE,
              get_cuStreamWriteValue32()((CUstream)(uintptr_t)0x1234560, address, 0, 0));
}

// More streams wait than there are workers; each is released by the next.
Test(driver_virtual, many_streams_wait, .data = NEEDS("stream_values"))
{
    enum { STREAMS = 40 };
    cudaStream_t streams[STREAMS];
    unsigned *flags = NULL;
    OK(cudaHostAlloc((void **)&flags, (STREAMS + 1) * sizeof *flags, cudaHostAllocDefault));
    memset(flags, 0, (STREAMS + 1) * sizeof *flags);
    for (int i = 0; i < STREAMS; i++) {
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CU_OK(get_cuStreamWaitValue32()(streams[i], (uintptr_t)&flags[i], 1,
                                        CU_STREAM_WAIT_VALUE_EQ));
        CU_OK(get_cuStreamWriteValue32()(streams[i], (uintptr_t)&flags[i + 1], 1, 0));
    }
    cr_assert(flags[STREAMS] == 0);
    __atomic_store_n(&flags[0], 1, __ATOMIC_SEQ_CST);
    OK(cudaDeviceSynchronize());
    cr_assert(flags[STREAMS] == 1);
}

Test(driver_virtual, batches_of_values, .data = NEEDS("stream_values"))
{
    cudaStream_t stream;
    unsigned *flag = NULL;
    CUstreamBatchMemOpParams params[4];
    memset(params, 0, sizeof params);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaHostAlloc((void **)&flag, 64, cudaHostAllocDefault));
    memset(flag, 0, 64);
    params[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    params[0].writeValue.address = (uintptr_t)flag;
    params[0].writeValue.value = 3;
    params[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    params[1].waitValue.address = (uintptr_t)flag;
    params[1].waitValue.value = 3;
    params[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    params[2].operation = CU_STREAM_MEM_OP_BARRIER;
    params[3].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    params[3].writeValue.address = (uintptr_t)(flag + 2);
    params[3].writeValue.value64 = 0x500000004ull;
    CU_OK(get_cuStreamBatchMemOp()(stream, 4, params, 0));
    OK(cudaStreamSynchronize(stream));
    cr_assert(flag[0] == 3 && flag[2] == 4 && flag[3] == 5);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamBatchMemOp()(stream, 0, params, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamBatchMemOp()(stream, 256, params, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamBatchMemOp()(stream, 1, NULL, 0));
    params[3].operation = (CUstreamBatchMemOpType)42;
    flag[0] = 0;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamBatchMemOp()(stream, 4, params, 0));
    OK(cudaStreamSynchronize(stream));
    cr_assert(flag[0] == 0, "nothing of a wrong batch runs");
}
