/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The native versions of the benchmark's problems (native.c) and the OpenCL runner (opencl.c), for
 * bench.cu. Every native function takes the problem's buffers in the order of the kernel's
 * parameters and runs on the calling thread.
 */
#pragma once

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

void native_saxpy(void *const *buffers);
void native_gemm(void *const *buffers);
void native_reduce(void *const *buffers);
void native_stencil(void *const *buffers);
void native_histogram(void *const *buffers);
void native_mandelbrot(void *const *buffers);
void native_nbody(void *const *buffers);
void native_transpose(void *const *buffers);
void native_block_scan(void *const *buffers);
void native_branchy(void *const *buffers);
void native_black_scholes(void *const *buffers);
void native_spmv(void *const *buffers);
void native_mix(void *const *buffers);

/* Loads the OpenCL library and builds `source` (kernels.cl) for the first CPU device.
 * 0, or -1 with a reason: the column is then left out. */
int opencl_open(const char *source_path, char *ret_why, size_t why_size);
/* Prepares `kernel` on copies of the buffers; 0 or -1. */
int opencl_prepare(const char *kernel, void *const *buffers, const size_t *sizes, int count);
/* One run of the prepared kernel, waited for. 0 or -1. */
int opencl_run(const size_t global[2], const size_t local[2]);
void opencl_finish(void);

#ifdef __cplusplus
}
#endif
