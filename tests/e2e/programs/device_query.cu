// SPDX-License-Identifier: Apache-2.0
//
// Properties and attributes of every device agree with each other and with what a launch accepts.
#include "e2e.h"

static int attribute(cudaDeviceAttr a, int device)
{
    int value = -1;
    CHECK(cudaDeviceGetAttribute(&value, a, device));
    return value;
}

__global__ void nothing()
{
}

int main()
{
    int count = 0, driver = 0, runtime = 0;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count >= 1);
    CHECK(cudaDriverGetVersion(&driver));
    CHECK(cudaRuntimeGetVersion(&runtime));
    EXPECT(runtime >= 11000 && driver >= runtime / 1000 * 1000);
    EXPECT(runtime / 1000 == CUDART_VERSION / 1000);
    for (int d = 0; d < count; d++) {
        cudaDeviceProp p;
        CHECK(cudaGetDeviceProperties(&p, d));
        EXPECT(p.name[0] != 0 && p.totalGlobalMem > 0 && p.warpSize == 32);
        EXPECT(p.major == attribute(cudaDevAttrComputeCapabilityMajor, d));
        EXPECT(p.minor == attribute(cudaDevAttrComputeCapabilityMinor, d));
        EXPECT(p.multiProcessorCount == attribute(cudaDevAttrMultiProcessorCount, d));
        EXPECT(p.multiProcessorCount > 0);
        EXPECT(p.maxThreadsPerBlock == attribute(cudaDevAttrMaxThreadsPerBlock, d));
        EXPECT(p.maxThreadsPerBlock == 1024);
        EXPECT((int)p.sharedMemPerBlock == attribute(cudaDevAttrMaxSharedMemoryPerBlock, d));
        EXPECT((int)p.sharedMemPerBlockOptin ==
               attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, d));
        EXPECT(p.maxGridSize[0] == attribute(cudaDevAttrMaxGridDimX, d));
        EXPECT(p.maxThreadsDim[2] == attribute(cudaDevAttrMaxBlockDimZ, d));
        EXPECT(p.regsPerBlock == attribute(cudaDevAttrMaxRegistersPerBlock, d));
        EXPECT(p.maxThreadsPerMultiProcessor ==
               attribute(cudaDevAttrMaxThreadsPerMultiProcessor, d));
        EXPECT(p.unifiedAddressing == 1 &&
               p.managedMemory == attribute(cudaDevAttrManagedMemory, d));
        EXPECT(p.pciBusID == attribute(cudaDevAttrPciBusId, d));
        char bus[32];
        int found = -1;
        CHECK(cudaDeviceGetPCIBusId(bus, sizeof(bus), d));
        CHECK(cudaDeviceGetByPCIBusId(&found, bus));
        EXPECT(found == d);
    }
    EXPECT_ERROR(cudaGetDevice(nullptr), cudaErrorInvalidValue);
    int blocks = 0, grid = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, nothing, 1024, 0));
    EXPECT(blocks >= 1);
    CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &blocks, nothing, 0, 0));
    EXPECT(grid >= 1 && blocks >= 32 && blocks <= 1024);
    cudaFuncAttributes a;
    CHECK(cudaFuncGetAttributes(&a, nothing));
    EXPECT(a.maxThreadsPerBlock >= 32 && a.ptxVersion >= 50);
    return pass();
}
