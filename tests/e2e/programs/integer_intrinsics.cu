// SPDX-License-Identifier: Apache-2.0
//
// Integer intrinsics against plain C: funnel shifts, byte permutation, dot products, high products,
// saturation, sums of differences, SIMD in a word, rotates, 64-bit division.
#include "e2e.h"

constexpr int functions = 20;

__global__ void evaluate(const unsigned *in, unsigned *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned a = in[i * 3], b = in[i * 3 + 1], c = in[i * 3 + 2], *o = out + i * functions;
    o[0] = __funnelshift_l(a, b, c);
    o[1] = __funnelshift_r(a, b, c);
    o[2] = __funnelshift_lc(a, b, c & 63);
    o[3] = __byte_perm(a, b, c);
    o[4] = (unsigned)__dp4a((int)a, (int)b, (int)c);
    o[5] = __dp4a(a, b, c);
    o[6] = (unsigned)__mulhi((int)a, (int)b);
    o[7] = __umulhi(a, b);
    o[8] = (unsigned)__mul24((int)a, (int)b);
    o[9] = __sad((int)a, (int)b, c);
    o[10] = __usad(a, b, c);
    o[11] = (unsigned)__hadd((int)a, (int)b);
    o[12] = __uhadd(a, b);
    o[13] = (unsigned)__rhadd((int)a, (int)b);
    o[14] = __vadd4(a, b);
    o[15] = __vmaxu4(a, b);
    o[16] = __vabsdiffu4(a, b);
    o[17] = __vcmpgtu2(a, b);
    unsigned long long wide = (unsigned long long)a << 32 | b, d = (unsigned long long)c | 1;
    o[18] = (unsigned)(wide / d) ^ (unsigned)(wide % d);
    o[19] = (unsigned)((long long)wide / -(long long)d) + (unsigned)(__umul64hi(wide, wide) >> 32);
}

int main()
{
    const int n = 700;
    Random random(25);
    std::vector<unsigned> in(n * 3);
    for (auto &x : in) {
        x = (unsigned)random.next() >> (random.below(4) * 8);
    }
    Device<unsigned> din(in), dout(n * functions);
    evaluate<<<(n + 63) / 64, 64>>>(din, dout, n);
    CHECK_LAUNCH();
    std::vector<unsigned> got = dout.get();
    for (int i = 0; i < n; i++) {
        unsigned a = in[i * 3], b = in[i * 3 + 1], c = in[i * 3 + 2];
        uint64_t both = (uint64_t)b << 32 | a;
        unsigned want[functions];
        want[0] = (unsigned)((both << (c & 31)) >> 32);
        want[1] = (unsigned)(both >> (c & 31));
        unsigned clamped = (c & 63) > 32 ? 32 : c & 63;
        want[2] = clamped == 32 ? a : (unsigned)((both << clamped) >> 32);
        want[3] = 0;
        int dot = (int)c;
        unsigned udot = c;
        unsigned add4 = 0, max4 = 0, diff4 = 0, gt2 = 0;
        for (int j = 0; j < 4; j++) {
            unsigned selector = c >> (4 * j) & 7, byte = (unsigned)(both >> (8 * selector)) & 255;
            want[3] |= byte << (8 * j);
            unsigned x = a >> (8 * j) & 255, y = b >> (8 * j) & 255;
            dot += (int8_t)x * (int8_t)y;
            udot += x * y;
            add4 |= ((x + y) & 255) << (8 * j);
            max4 |= (x > y ? x : y) << (8 * j);
            diff4 |= (x > y ? x - y : y - x) << (8 * j);
        }
        for (int j = 0; j < 2; j++) {
            gt2 |= (a >> (16 * j) & 0xffff) > (b >> (16 * j) & 0xffff) ? 0xffffu << (16 * j) : 0;
        }
        want[4] = (unsigned)dot;
        want[5] = udot;
        want[6] = (unsigned)((int64_t)(int)a * (int)b >> 32);
        want[7] = (unsigned)((uint64_t)a * b >> 32);
        int64_t a24 = (int)(a << 8) >> 8, b24 = (int)(b << 8) >> 8;
        want[8] = (unsigned)(a24 * b24);
        want[9] = c + ((int)a > (int)b ? a - b : b - a);
        want[10] = c + (a > b ? a - b : b - a);
        want[11] = (unsigned)(((int64_t)(int)a + (int)b) >> 1);
        want[12] = (unsigned)(((uint64_t)a + b) >> 1);
        want[13] = (unsigned)(((int64_t)(int)a + (int)b + 1) >> 1);
        want[14] = add4;
        want[15] = max4;
        want[16] = diff4;
        want[17] = gt2;
        uint64_t wide = (uint64_t)a << 32 | b, d = (uint64_t)c | 1;
        want[18] = (unsigned)(wide / d) ^ (unsigned)(wide % d);
        want[19] = (unsigned)((int64_t)wide / -(int64_t)d) +
                   (unsigned)((unsigned __int128)wide * wide >> 96);
        for (int j = 0; j < functions; j++) {
            if (got[i * functions + j] != want[j]) {
                FAIL("function %d of %#x, %#x, %#x: got %#x, want %#x", j, a, b, c,
                     got[i * functions + j], want[j]);
            }
        }
    }
    return pass();
}
