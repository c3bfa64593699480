/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problem sizes of the benchmark kernels, shared by the CUDA, C and OpenCL versions. Buffers are
 * arrays of 4-byte elements except where the name says bytes.
 */
#define SAXPY_N (4 * 1024 * 1024)
#define GEMM_N 512
#define REDUCE_N (4 * 1024 * 1024)
#define REDUCE_BLOCKS 64
#define STENCIL_N 2048
#define HISTOGRAM_BYTES (8 * 1024 * 1024)
#define HISTOGRAM_BLOCKS 64
#define MANDELBROT_N 512
#define MANDELBROT_LIMIT 256
#define NBODY_N 4096
#define TRANSPOSE_N 2048
#define SCAN_N (1024 * 1024)
#define SCAN_BLOCK 256
#define BRANCHY_N (1024 * 1024)
#define OPTIONS_N (1024 * 1024)
#define SPMV_ROWS 65536
#define SPMV_PER_ROW 16
#define MIX_N 65536
#define MIX_ROUNDS 64
