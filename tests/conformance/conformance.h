// SPDX-License-Identifier: Apache-2.0
//
// What every conformance test shares: checked calls, small helpers, and the suite's kernels, given
// as PTX text (ptx_module.h) so that it needs neither nvcc nor any knowledge of the backend. Only
// the public API is used; the suite runs unchanged on every backend and is built once for each CUDA
// major.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include <criterion/criterion.h>

#include "capabilities.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

// A test that launches kernels. What else it needs is named by Test(…, .data = NEEDS("kernels …")).
#define KERNEL_TEST(suite, name, ...) Test(suite, name, .data = NEEDS("kernels"), ##__VA_ARGS__)

// The call must answer `code`.
#define EXPECT(code, call)                                                               \
    do {                                                                                 \
        cudaError_t expect_got_ = (call);                                                \
        cr_assert(expect_got_ == (code), "%s answered %d (%s), expected %d (%s)", #call, \
                  (int)expect_got_, cudaGetErrorName(expect_got_), (int)(code),          \
                  cudaGetErrorName(code));                                               \
    } while (0)
#define OK(call) EXPECT(cudaSuccess, call)

// Kernels of `ptx_kernels` (kernels.c), each with the key that stands for its host stub.
enum kernel {
    KERNEL_EMPTY,     // ()
    KERNEL_ADD_ONE,   // (int *data, int n): data[i] += 1
    KERNEL_FILL,      // (int *data, int value, int n)
    KERNEL_COPY,      // (int *dst, const int *src, int n)
    KERNEL_SPIN_COPY, // (int *dst, const int *src, int n, int rounds): like COPY after busy rounds
    KERNEL_GEOMETRY,  // (unsigned *out): [ctaid linear] = ntid.x | nctaid.x << 16
    KERNEL_DYNAMIC,   // (int *out): dynamic shared memory: out[tid] = sum over the block of tid
    KERNEL_VARIABLES, // (int *out): out[0] = device_value, out[1] = constant_value; device_value +=
                      // 1
    KERNEL_LIMITED,   // .maxntid 64
    KERNEL_FAULT,     // stores to address 16
    KERNEL_TRAP,
    KERNEL_WAIT_FLAG, // (volatile int *flag, int *out): spins until *flag != 0, then *out = *flag
    KERNEL_SMID,      // (unsigned *out, int unused): out[ctaid.x] = %smid
    KERNEL_COUNT
};
const void *kernel_stub(enum kernel kernel);
extern int device_value_key;   // __device__ int device_value = 41
extern int constant_value_key; // __constant__ int constant_value = 7

// Registers the module; call it once per test process, before the first launch.
void kernels_register(void);
void kernels_unregister(void);

// cudaLaunchKernel with `grid` x `block` threads on a stream.
cudaError_t kernel_launch(enum kernel kernel, unsigned grid, unsigned block, void **arguments,
                          size_t shared, cudaStream_t stream);

static inline dim3 dim(unsigned x, unsigned y, unsigned z)
{
    dim3 result = {x, y, z};
    return result;
}

static inline int device_count(void)
{
    int count = 0;
    OK(cudaGetDeviceCount(&count));
    return count;
}
