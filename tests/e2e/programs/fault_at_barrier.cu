// SPDX-License-Identifier: Apache-2.0
//
// One thread writes out of bounds while the others wait at a barrier: the launch ends with 700,
// the error sticks, and the process lives and can leave in an orderly way.
#include "e2e.h"

__global__ void fault(int *p, int *bad)
{
    if (threadIdx.x == 5) {
        *bad = 1;
    }
    __syncthreads();
    p[threadIdx.x] = threadIdx.x;
}

int main()
{
    Device<int> d(32);
    fault<<<1, 32>>>(d, (int *)0x1000); // no allocation lies there
    EXPECT_ERROR(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    void *p;
    EXPECT_ERROR(cudaMalloc(&p, 4), cudaErrorIllegalAddress);
    EXPECT(cudaPeekAtLastError() == cudaErrorIllegalAddress);
    EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
    return pass();
}
