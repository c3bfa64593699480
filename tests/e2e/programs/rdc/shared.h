// SPDX-License-Identifier: Apache-2.0
//
// What the two units of the -rdc program share.
#pragma once

typedef int (*Operation)(int);

extern __device__ int counter;
extern __device__ int table[8];
extern __constant__ int coefficients[4];

__device__ int other_unit(int i);
__device__ Operation get_operation(int i);
void set_coefficients(const int *values);
void launch_in_other_unit(int *out, int n);
