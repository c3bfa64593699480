/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA kernels of the benchmark: what a CUDA programmer writes without thinking of a CPU.
 */
#include "sizes.h"

__global__ void saxpy(const float *x, const float *y, float *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < SAXPY_N) {
        out[i] = 2.5f * x[i] + y[i];
    }
}

__global__ void gemm_naive(const float *a, const float *b, float *c)
{
    int column = blockIdx.x * blockDim.x + threadIdx.x;
    int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < GEMM_N; k++) {
        sum += a[row * GEMM_N + k] * b[k * GEMM_N + column];
    }
    c[row * GEMM_N + column] = sum;
}

template <int TILE> __global__ void gemm_tiled(const float *a, const float *b, float *c)
{
    __shared__ float tile_a[TILE][TILE], tile_b[TILE][TILE];
    int column = blockIdx.x * TILE + threadIdx.x, row = blockIdx.y * TILE + threadIdx.y;
    float sum = 0;
    for (int k0 = 0; k0 < GEMM_N; k0 += TILE) {
        tile_a[threadIdx.y][threadIdx.x] = a[row * GEMM_N + k0 + threadIdx.x];
        tile_b[threadIdx.y][threadIdx.x] = b[(k0 + threadIdx.y) * GEMM_N + column];
        __syncthreads();
        for (int k = 0; k < TILE; k++) {
            sum += tile_a[threadIdx.y][k] * tile_b[k][threadIdx.x];
        }
        __syncthreads();
    }
    c[row * GEMM_N + column] = sum;
}

__global__ void reduce(const float *in, float *out)
{
    __shared__ float warps[8];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < REDUCE_N; i += gridDim.x * blockDim.x) {
        sum += in[i];
    }
    for (int delta = 16; delta > 0; delta /= 2) {
        sum += __shfl_down_sync(0xffffffffu, sum, delta);
    }
    if (threadIdx.x % 32 == 0) {
        warps[threadIdx.x / 32] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int i = 1; i < 8; i++) {
            sum += warps[i];
        }
        out[blockIdx.x] = sum;
    }
}

__global__ void stencil(const float *in, float *out)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x > 0 && y > 0 && x < STENCIL_N - 1 && y < STENCIL_N - 1) {
        const float *p = in + y * STENCIL_N + x;
        out[y * STENCIL_N + x] =
            0.5f * p[0] + 0.125f * (p[-1] + p[1] + p[-STENCIL_N] + p[STENCIL_N]);
    }
}

__global__ void histogram(const unsigned char *in, unsigned *bins)
{
    __shared__ unsigned local[256];
    local[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < HISTOGRAM_BYTES;
         i += gridDim.x * blockDim.x) {
        atomicAdd(&local[in[i]], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

__global__ void mandelbrot(int *out)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
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

__global__ void nbody(const float4 *bodies, float4 *acceleration)
{
    __shared__ float4 tile[128];
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 self = bodies[i];
    float ax = 0, ay = 0, az = 0;
    for (int start = 0; start < NBODY_N; start += 128) {
        tile[threadIdx.x] = bodies[start + threadIdx.x];
        __syncthreads();
        for (int j = 0; j < 128; j++) {
            float dx = tile[j].x - self.x, dy = tile[j].y - self.y, dz = tile[j].z - self.z;
            float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = tile[j].w * inverse * inverse * inverse;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        __syncthreads();
    }
    acceleration[i] = make_float4(ax, ay, az, 0);
}

__global__ void transpose(const float *in, float *out)
{
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        tile[threadIdx.y + j][threadIdx.x] = in[(y + j) * TRANSPOSE_N + x];
    }
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8) {
        out[(y + j) * TRANSPOSE_N + x] = tile[threadIdx.x][threadIdx.y + j];
    }
}

__global__ void block_scan(const int *in, int *out)
{
    __shared__ int warps[SCAN_BLOCK / 32];
    int i = blockIdx.x * SCAN_BLOCK + threadIdx.x, lane = threadIdx.x % 32;
    int value = in[i];
    for (int delta = 1; delta < 32; delta *= 2) {
        int other = __shfl_up_sync(0xffffffffu, value, delta);
        value += lane >= delta ? other : 0;
    }
    if (lane == 31) {
        warps[threadIdx.x / 32] = value;
    }
    __syncthreads();
    for (unsigned w = 0; w < threadIdx.x / 32; w++) {
        value += warps[w];
    }
    out[i] = value;
}

__global__ void branchy(const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned v = in[i], steps = 0;
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

__device__ float cumulative(float x)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    float tail = 0.39894228f * expf(-0.5f * x * x) *
                 (k * (0.31938153f +
                       k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return x > 0 ? 1.0f - tail : tail;
}

__global__ void black_scholes(const float *price, const float *strike, float *call)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float rate = 0.02f, volatility = 0.3f, years = 1.5f;
    float root = volatility * sqrtf(years);
    float d1 = (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years) / root;
    call[i] = price[i] * cumulative(d1) - strike[i] * expf(-rate * years) * cumulative(d1 - root);
}

__global__ void spmv(const int *starts, const int *columns, const float *values, const float *x,
                     float *y)
{
    int row = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int i = starts[row]; i < starts[row + 1]; i++) {
        sum += values[i] * x[columns[i]];
    }
    y[row] = sum;
}

__global__ void mix(const unsigned *in, unsigned *out)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = in[i], b = 0xbb67ae85u, c = 0x3c6ef372u, d = 0xa54ff53au;
#pragma unroll
    for (int r = 0; r < MIX_ROUNDS; r++) {
        unsigned s0 = (a >> 2 | a << 30) ^ (a >> 13 | a << 19) ^ (a >> 22 | a << 10);
        unsigned s1 = (d >> 6 | d << 26) ^ (d >> 11 | d << 21) ^ (d >> 25 | d << 7);
        unsigned t = s1 + ((d & b) ^ (~d & c)) + 0x428a2f98u * (r + 1);
        c = b;
        b = a;
        a = s0 + t + ((a & b) ^ (a & c) ^ (b & c));
        d += t;
    }
    out[i] = a ^ b ^ c ^ d;
}
