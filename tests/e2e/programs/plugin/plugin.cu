// SPDX-License-Identifier: Apache-2.0
//
// A shared object with kernels and variables of its own, loaded and unloaded by host.cu.
#include <cuda_runtime.h>

__device__ int calls = 7;
__constant__ int factor = 3;

static __global__ void scale(int *data, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] *= factor;
    }
    if (i == 0) {
        calls++;
    }
}

extern "C" int plugin_run(int *data, int n)
{
    scale<<<(n + 63) / 64, 64>>>(data, n);
    if (cudaGetLastError() != cudaSuccess || cudaDeviceSynchronize() != cudaSuccess) {
        return -1;
    }
    int value = -1;
    if (cudaMemcpyFromSymbol(&value, calls, sizeof(value)) != cudaSuccess) {
        return -2;
    }
    return value;
}
