// SPDX-License-Identifier: Apache-2.0
//
// A program that mixes both APIs as frameworks do: driver functions found through the runtime,
// memory that grows in place (virtual memory management), a kernel of the program launched by
// cuLaunchKernel, code loaded from text, a stream that waits for a number in memory.
#include <cuda.h>
#include <cudaTypedefs.h>

#include "e2e.h"

__global__ void fill(int *data, int value, size_t n)
{
    for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
         i += (size_t)gridDim.x * blockDim.x) {
        data[i] = value + (int)(i % 7);
    }
}

static const char text[] =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry triple(.param .u64 p) {\n"
    "  .reg .u64 %rd<3>; .reg .u32 %r<3>;\n"
    "  ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x; mul.wide.u32 %rd1, %r0, 4;\n"
    "  add.u64 %rd1, %rd0, %rd1; ld.global.u32 %r1, [%rd1]; mul.lo.u32 %r1, %r1, 3;\n"
    "  st.global.u32 [%rd1], %r1; ret; }\n";

template <typename F> static F find(const char *name, unsigned version)
{
    void *function = nullptr;
    cudaDriverEntryPointQueryResult result;
    CHECK(cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &result));
    if (!function || result != cudaDriverEntryPointSuccess) {
        FAIL("%s was not found", name);
    }
    return (F)function;
}

#define FIND(name_, version_) auto name_##_ = find<PFN_##name_##_v##version_>(#name_, version_)
#define CU(call_)                                    \
    do {                                             \
        CUresult r_ = (call_);                       \
        if (r_ != CUDA_SUCCESS) {                    \
            FAIL("%s answered %d", #call_, (int)r_); \
        }                                            \
    } while (0)

int main()
{
    FIND(cuMemAddressReserve, 10020);
    FIND(cuMemCreate, 10020);
    FIND(cuMemMap, 10020);
    FIND(cuMemSetAccess, 10020);
    FIND(cuMemUnmap, 10020);
    FIND(cuMemRelease, 10020);
    FIND(cuMemAddressFree, 10020);
    FIND(cuMemGetAllocationGranularity, 10020);
    FIND(cuLaunchKernel, 4000);
    FIND(cuModuleLoadData, 2000);
    FIND(cuModuleGetFunction, 2000);
    FIND(cuModuleUnload, 2000);
    FIND(cuStreamWaitValue32, 11070);
    FIND(cuStreamWriteValue32, 11070);
    CHECK(cudaSetDevice(0));

    // A buffer that grows in place, twice.
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    size_t unit = 0;
    CU(cuMemGetAllocationGranularity_(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    CUdeviceptr range = 0;
    CU(cuMemAddressReserve_(&range, 16 * unit, 0, 0, 0));
    CUmemAccessDesc access;
    access.location = prop.location;
    access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    size_t size = 0;
    for (int step = 0; step < 2; step++) {
        CUmemGenericAllocationHandle memory;
        CU(cuMemCreate_(&memory, unit, &prop, 0));
        CU(cuMemMap_(range + size, unit, 0, memory, 0));
        CU(cuMemRelease_(memory));
        CU(cuMemSetAccess_(range + size, unit, &access, 1));
        size += unit;
        fill<<<16, 256>>>((int *)range, step * 100, size / sizeof(int));
        CHECK(cudaGetLastError());
    }
    std::vector<int> host(size / sizeof(int));
    CHECK(cudaMemcpy(host.data(), (void *)range, size, cudaMemcpyDefault));
    for (size_t i = 0; i < host.size(); i++) {
        if (host[i] != 100 + (int)(i % 7)) {
            FAIL("element %zu is %d", i, host[i]);
        }
    }

    // Code from text, and a kernel of this program by its handle.
    CUmodule module;
    CUfunction triple;
    CU(cuModuleLoadData_(&module, text));
    CU(cuModuleGetFunction_(&triple, module, "triple"));
    void *arguments[] = {&range};
    CU(cuLaunchKernel_(triple, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    cudaFunction_t own;
    CHECK(cudaGetFuncBySymbol(&own, (const void *)fill));
    int value = 5;
    size_t n = 3;
    void *more[] = {&range, &value, &n};
    CU(cuLaunchKernel_((CUfunction)own, 1, 1, 1, 32, 1, 1, 0, nullptr, more, nullptr));
    CHECK(cudaMemcpy(host.data(), (void *)range, 33 * sizeof(int), cudaMemcpyDefault));
    if (host[0] != 5 || host[2] != 7 || host[3] != 309 || host[31] != 309 || host[32] != 104) {
        FAIL("%d %d %d %d %d", host[0], host[2], host[3], host[31], host[32]);
    }
    CU(cuModuleUnload_(module));

    // One stream waits for a number that another one writes.
    cudaStream_t first, second;
    CHECK(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    CHECK(cudaMemset((void *)range, 0, 64));
    CHECK(cudaDeviceSynchronize()); // streams that do not block are not ordered behind it
    CU(cuStreamWaitValue32_(first, range, 7, CU_STREAM_WAIT_VALUE_EQ));
    fill<<<1, 32, 0, first>>>((int *)range + 1, 40, 1);
    if (cudaStreamQuery(first) != cudaErrorNotReady) {
        FAIL("the first stream did not wait");
    }
    CU(cuStreamWriteValue32_(second, range, 7, 0));
    CHECK(cudaStreamSynchronize(first));
    CHECK(cudaMemcpy(host.data(), (void *)range, 8, cudaMemcpyDefault));
    if (host[0] != 7 || host[1] != 40) {
        FAIL("%d %d", host[0], host[1]);
    }
    CU(cuMemUnmap_(range, size));
    CU(cuMemAddressFree_(range, 16 * unit));
    return pass();
}
