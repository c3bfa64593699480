// SPDX-License-Identifier: Apache-2.0
//
// Something to embed; the names are looked for in the PTX.
extern "C" __global__ void first(int *p)
{
    p[threadIdx.x] = 1;
}

extern "C" __global__ void second(float *p, float a)
{
    p[threadIdx.x] *= a;
}
