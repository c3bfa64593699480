// SPDX-License-Identifier: Apache-2.0
//
// Launches that CUDA refuses, each with its error; the device stays usable.
#include "e2e.h"

__device__ void count(int *p)
{
    if (threadIdx.x == 0 && blockIdx.x == 0) {
        atomicAdd(p, 1);
    }
}

__global__ void plain(int *p)
{
    count(p);
}

__global__ void __launch_bounds__(64) bounded(int *p)
{
    count(p);
}

static void refused(cudaError_t want)
{
    EXPECT_ERROR(cudaPeekAtLastError(), want);
    EXPECT_ERROR(cudaGetLastError(), want);
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
}

int main()
{
    Device<int> d(1);
    d.fill(0);
    plain<<<1, 1025>>>(d);
    refused(cudaErrorInvalidConfiguration);
    plain<<<0, 32>>>(d);
    refused(cudaErrorInvalidConfiguration);
    plain<<<1, 0>>>(d);
    refused(cudaErrorInvalidConfiguration);
    plain<<<dim3(1, 65536), 32>>>(d);
    refused(cudaErrorInvalidConfiguration);
    plain<<<1, dim3(1, 1, 65)>>>(d);
    refused(cudaErrorInvalidConfiguration);
    plain<<<1, 32, 1 << 30>>>(d);
    refused(cudaErrorInvalidValue);
    bounded<<<1, 65>>>(d); // which error this is, no document says
    EXPECT(cudaGetLastError() != cudaSuccess);
    CHECK(cudaDeviceSynchronize());
    void *arguments[] = {nullptr};
    EXPECT_ERROR(cudaLaunchKernel((const void *)&d, dim3(1), dim3(1), arguments, 0, 0),
                 cudaErrorInvalidDeviceFunction);
    refused(cudaErrorInvalidDeviceFunction);
    bounded<<<1, 64>>>(d);
    plain<<<1, 1024>>>(d);
    plain<<<dim3(1, 2, 3), dim3(4, 2, 64)>>>(d);
    CHECK_LAUNCH();
    // the last grid: blockIdx.x is 0 in all 6 blocks, threadIdx.x in 2 * 64 threads of each
    EXPECT(d.get()[0] == 2 + 6 * 2 * 64);
    int *p = d;
    cudaLaunchConfig_t config = {};
    config.gridDim = dim3(3);
    config.blockDim = dim3(32);
    d.fill(0);
    CHECK(cudaLaunchKernelEx(&config, plain, p));
    CHECK_LAUNCH();
    EXPECT(d.get()[0] == 1);
    return pass();
}
