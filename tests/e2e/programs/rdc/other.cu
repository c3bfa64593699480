// SPDX-License-Identifier: Apache-2.0
//
// Second unit of the -rdc program: defines what main.cu uses, and has a kernel and a static
// function whose names exist in main.cu's unit too or could.
#include "shared.h"
#include "../e2e.h"

__device__ int counter = 100;
__constant__ int coefficients[4];

static __device__ __noinline__ int negate(int x)
{
    return -x;
}

static __device__ __noinline__ int plus_seven(int x)
{
    return x + 7;
}

__device__ int other_unit(int i)
{
    return i * 10 + table[i % 8];
}

__device__ Operation get_operation(int i)
{
    return i % 2 ? negate : plus_seven;
}

static __global__ void own(int *out, int n)
{
    int i = threadIdx.x;
    if (i < n) {
        out[i] = counter + negate(i) + 5;
    }
}

void set_coefficients(const int *values)
{
    CHECK(cudaMemcpyToSymbol(coefficients, values, sizeof(coefficients)));
}

void launch_in_other_unit(int *out, int n)
{
    own<<<1, 64>>>(out, n);
}
