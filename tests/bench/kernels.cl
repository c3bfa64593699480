/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The benchmark kernels in OpenCL C, for the comparison with PoCL. Same algorithms and work sizes
 * as kernels.cuh; reduce and block_scan use shared memory only, since OpenCL 1.2 has no shuffles.
 * opencl.c builds the text; build option -I names this folder for sizes.h.
 */
#include "sizes.h"

__kernel void saxpy(__global const float *x, __global const float *y, __global float *out)
{
    int i = get_global_id(0);
    if (i < SAXPY_N) {
        out[i] = 2.5f * x[i] + y[i];
    }
}

__kernel void gemm_naive(__global const float *a, __global const float *b, __global float *c)
{
    int column = get_global_id(0), row = get_global_id(1);
    float sum = 0;
    for (int k = 0; k < GEMM_N; k++) {
        sum += a[row * GEMM_N + k] * b[k * GEMM_N + column];
    }
    c[row * GEMM_N + column] = sum;
}

#define GEMM_TILED(TILE)                                                                           \
    __kernel void gemm_tiled_##TILE(__global const float *a, __global const float *b,              \
                                    __global float *c)                                             \
    {                                                                                              \
        __local float tile_a[TILE][TILE], tile_b[TILE][TILE];                                      \
        int tx = get_local_id(0), ty = get_local_id(1);                                            \
        int column = get_global_id(0), row = get_global_id(1);                                     \
        float sum = 0;                                                                             \
        for (int k0 = 0; k0 < GEMM_N; k0 += TILE) {                                                \
            tile_a[ty][tx] = a[row * GEMM_N + k0 + tx];                                            \
            tile_b[ty][tx] = b[(k0 + ty) * GEMM_N + column];                                       \
            barrier(CLK_LOCAL_MEM_FENCE);                                                          \
            for (int k = 0; k < TILE; k++) {                                                       \
                sum += tile_a[ty][k] * tile_b[k][tx];                                              \
            }                                                                                      \
            barrier(CLK_LOCAL_MEM_FENCE);                                                          \
        }                                                                                          \
        c[row * GEMM_N + column] = sum;                                                            \
    }
GEMM_TILED(32)
GEMM_TILED(16)

__kernel void reduce(__global const float *in, __global float *out)
{
    __local float part[256];
    int t = get_local_id(0);
    float sum = 0;
    for (int i = get_global_id(0); i < REDUCE_N; i += get_global_size(0)) {
        sum += in[i];
    }
    part[t] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int half_size = 128; half_size > 0; half_size /= 2) {
        if (t < half_size) {
            part[t] += part[t + half_size];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (t == 0) {
        out[get_group_id(0)] = part[0];
    }
}

__kernel void stencil(__global const float *in, __global float *out)
{
    int x = get_global_id(0), y = get_global_id(1);
    if (x > 0 && y > 0 && x < STENCIL_N - 1 && y < STENCIL_N - 1) {
        __global const float *p = in + y * STENCIL_N + x;
        out[y * STENCIL_N + x] =
            0.5f * p[0] + 0.125f * (p[-1] + p[1] + p[-STENCIL_N] + p[STENCIL_N]);
    }
}

__kernel void histogram(__global const uchar *in, __global uint *bins)
{
    __local uint local_bins[256];
    int t = get_local_id(0);
    local_bins[t] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = get_global_id(0); i < HISTOGRAM_BYTES; i += get_global_size(0)) {
        atomic_inc(&local_bins[in[i]]);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    atomic_add(&bins[t], local_bins[t]);
}

__kernel void mandelbrot(__global int *out)
{
    int px = get_global_id(0), py = get_global_id(1);
    float cx = -2.0f + 3.0f * px / MANDELBROT_N, cy = -1.5f + 3.0f * py / MANDELBROT_N;
    float x = 0, y = 0;
    int n = 0;
    while (n < MANDELBROT_LIMIT && x * x + y * y < 4.0f) {
        float t = x * x - y * y + cx;
        y = 2.0f * x * y + cy;
        x = t;
        n++;
    }
    out[py * MANDELBROT_N + px] = n;
}

__kernel void nbody(__global const float4 *bodies, __global float4 *acceleration)
{
    __local float4 tile[128];
    int i = get_global_id(0), t = get_local_id(0);
    float4 self = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (int start = 0; start < NBODY_N; start += 128) {
        tile[t] = bodies[start + t];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int j = 0; j < 128; j++) {
            float dx = tile[j].x - self.x, dy = tile[j].y - self.y, dz = tile[j].z - self.z;
            float inverse = rsqrt(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = tile[j].w * inverse * inverse * inverse;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    acceleration[i] = (float4)(ax, ay, az, 0);
}

__kernel void transpose(__global const float *in, __global float *out)
{
    __local float tile[32][33];
    int tx = get_local_id(0), ty = get_local_id(1);
    int x = get_group_id(0) * 32 + tx, y = get_group_id(1) * 32 + ty;
    for (int j = 0; j < 32; j += 8) {
        tile[ty + j][tx] = in[(y + j) * TRANSPOSE_N + x];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    x = get_group_id(1) * 32 + tx;
    y = get_group_id(0) * 32 + ty;
    for (int j = 0; j < 32; j += 8) {
        out[(y + j) * TRANSPOSE_N + x] = tile[tx][ty + j];
    }
}

__kernel void block_scan(__global const int *in, __global int *out)
{
    __local int part[SCAN_BLOCK];
    int i = get_global_id(0), t = get_local_id(0), value = in[i];
    part[t] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int delta = 1; delta < SCAN_BLOCK; delta *= 2) {
        int other = t >= delta ? part[t - delta] : 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        value += other;
        part[t] = value;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    out[i] = value;
}

__kernel void branchy(__global const uint *in, __global uint *out)
{
    int i = get_global_id(0);
    uint v = in[i], steps = 0;
    while (v > 1 && steps < 64) {
        if (v & 1) {
            v = (v & 0xffff) * 3 + 1;
        } else if (v & 2) {
            v = v / 2 + (steps & 1);
        } else {
            v >>= 2;
        }
        steps++;
    }
    out[i] = steps ^ v;
}

float cumulative(float x)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabs(x));
    float tail =
        0.39894228f * exp(-0.5f * x * x) *
        (k * (0.31938153f +
              k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return x > 0 ? 1.0f - tail : tail;
}

__kernel void black_scholes(__global const float *price, __global const float *strike,
                            __global float *call)
{
    int i = get_global_id(0);
    const float rate = 0.02f, volatility = 0.3f, years = 1.5f;
    float root = volatility * sqrt(years);
    float d1 = (log(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years) / root;
    call[i] = price[i] * cumulative(d1) - strike[i] * exp(-rate * years) * cumulative(d1 - root);
}

__kernel void spmv(__global const int *starts, __global const int *columns,
                   __global const float *values, __global const float *x, __global float *y)
{
    int row = get_global_id(0);
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; i++) {
        sum += values[i] * x[columns[i]];
    }
    y[row] = sum;
}

__kernel void mix(__global const uint *in, __global uint *out)
{
    int i = get_global_id(0);
    uint a = in[i], b = 0xbb67ae85u, c = 0x3c6ef372u, d = 0xa54ff53au;
#pragma unroll
    for (int r = 0; r < MIX_ROUNDS; r++) {
        uint s0 = (a >> 2 | a << 30) ^ (a >> 13 | a << 19) ^ (a >> 22 | a << 10);
        uint s1 = (d >> 6 | d << 26) ^ (d >> 11 | d << 21) ^ (d >> 25 | d << 7);
        uint t = s1 + ((d & b) ^ (~d & c)) + 0x428a2f98u * (r + 1);
        c = b;
        b = a;
        a = s0 + t + ((a & b) ^ (a & c) ^ (b & c));
        d += t;
    }
    out[i] = a ^ b ^ c ^ d;
}
