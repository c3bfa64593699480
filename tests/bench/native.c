// SPDX-License-Identifier: Apache-2.0
//
// The benchmark's problems as a C programmer writes them, one thread, compiled with
// -O3 -march=native: the yardstick that kernels are compared with. Called by bench.cu through
// native.h; buffers have the sizes of sizes.h and do not overlap.
#include "native.h"

#include <math.h>
#include <string.h>

#include "sizes.h"

void native_saxpy(void *const *b)
{
    const float *restrict x = b[0], *restrict y = b[1];
    float *restrict out = b[2];
    for (int i = 0; i < SAXPY_N; i++) {
        out[i] = 2.5f * x[i] + y[i];
    }
}

void native_gemm(void *const *b)
{
    const float *restrict a = b[0], *restrict m = b[1];
    float *restrict c = b[2];
    memset(c, 0, sizeof(float) * GEMM_N * GEMM_N);
    for (int i = 0; i < GEMM_N; i++) {
        for (int k = 0; k < GEMM_N; k++) {
            float v = a[i * GEMM_N + k];
            for (int j = 0; j < GEMM_N; j++) {
                c[i * GEMM_N + j] += v * m[k * GEMM_N + j];
            }
        }
    }
}

void native_reduce(void *const *b)
{
    const float *in = b[0];
    float *out = b[1];
    for (int block = 0; block < REDUCE_BLOCKS; block++) {
        float lanes[16] = {0}, sum = 0;
        const float *part = in + block * (REDUCE_N / REDUCE_BLOCKS);
        for (int i = 0; i < REDUCE_N / REDUCE_BLOCKS; i += 16) {
            for (int j = 0; j < 16; j++) {
                lanes[j] += part[i + j];
            }
        }
        for (int j = 0; j < 16; j++) {
            sum += lanes[j];
        }
        out[block] = sum;
    }
}

void native_stencil(void *const *b)
{
    const float *restrict in = b[0];
    float *restrict out = b[1];
    for (int y = 1; y < STENCIL_N - 1; y++) {
        for (int x = 1; x < STENCIL_N - 1; x++) {
            const float *p = in + y * STENCIL_N + x;
            out[y * STENCIL_N + x] =
                0.5f * p[0] + 0.125f * (p[-1] + p[1] + p[-STENCIL_N] + p[STENCIL_N]);
        }
    }
}

void native_histogram(void *const *b)
{
    const unsigned char *in = b[0];
    unsigned *bins = b[1];
    memset(bins, 0, 256 * sizeof *bins);
    for (int i = 0; i < HISTOGRAM_BYTES; i++) {
        bins[in[i]]++;
    }
}

void native_mandelbrot(void *const *b)
{
    int *out = b[0];
    for (int py = 0; py < MANDELBROT_N; py++) {
        for (int px = 0; px < MANDELBROT_N; px++) {
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
    }
}

void native_nbody(void *const *b)
{
    const float *restrict bodies = b[0];
    float *restrict out = b[1];
    for (int i = 0; i < NBODY_N; i++) {
        float ax = 0, ay = 0, az = 0;
        for (int j = 0; j < NBODY_N; j++) {
            float dx = bodies[4 * j] - bodies[4 * i], dy = bodies[4 * j + 1] - bodies[4 * i + 1];
            float dz = bodies[4 * j + 2] - bodies[4 * i + 2];
            float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = bodies[4 * j + 3] * inverse * inverse * inverse;
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        out[4 * i] = ax;
        out[4 * i + 1] = ay;
        out[4 * i + 2] = az;
        out[4 * i + 3] = 0;
    }
}

void native_transpose(void *const *b)
{
    const float *restrict in = b[0];
    float *restrict out = b[1];
    for (int y = 0; y < TRANSPOSE_N; y++) {
        for (int x = 0; x < TRANSPOSE_N; x++) {
            out[x * TRANSPOSE_N + y] = in[y * TRANSPOSE_N + x];
        }
    }
}

void native_block_scan(void *const *b)
{
    const int *in = b[0];
    int *out = b[1];
    for (int block = 0; block < SCAN_N; block += SCAN_BLOCK) {
        int sum = 0;
        for (int i = 0; i < SCAN_BLOCK; i++) {
            sum += in[block + i];
            out[block + i] = sum;
        }
    }
}

void native_branchy(void *const *b)
{
    const unsigned *in = b[0];
    unsigned *out = b[1];
    for (int i = 0; i < BRANCHY_N; i++) {
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
}

static float cumulative(float x)
{
    float k = 1.0f / (1.0f + 0.2316419f * fabsf(x));
    float tail =
        0.39894228f * expf(-0.5f * x * x) *
        (k * (0.31938153f +
              k * (-0.356563782f + k * (1.781477937f + k * (-1.821255978f + k * 1.330274429f)))));
    return x > 0 ? 1.0f - tail : tail;
}

void native_black_scholes(void *const *b)
{
    const float *price = b[0], *strike = b[1];
    float *call = b[2];
    const float rate = 0.02f, volatility = 0.3f, years = 1.5f;
    float root = volatility * sqrtf(years);
    for (int i = 0; i < OPTIONS_N; i++) {
        float d1 =
            (logf(price[i] / strike[i]) + (rate + 0.5f * volatility * volatility) * years) / root;
        call[i] =
            price[i] * cumulative(d1) - strike[i] * expf(-rate * years) * cumulative(d1 - root);
    }
}

void native_spmv(void *const *b)
{
    const int *starts = b[0], *columns = b[1];
    const float *values = b[2], *x = b[3];
    float *y = b[4];
    for (int row = 0; row < SPMV_ROWS; row++) {
        float sum = 0;
        for (int i = starts[row]; i < starts[row + 1]; i++) {
            sum += values[i] * x[columns[i]];
        }
        y[row] = sum;
    }
}

void native_mix(void *const *buffers)
{
    const unsigned *in = buffers[0];
    unsigned *out = buffers[1];
    for (int i = 0; i < MIX_N; i++) {
        unsigned a = in[i], b = 0xbb67ae85u, c = 0x3c6ef372u, d = 0xa54ff53au;
        for (unsigned r = 0; r < MIX_ROUNDS; r++) {
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
}
