// SPDX-License-Identifier: Apache-2.0
//
// __clz(0) is 32, __ffs(0) is 0, and their 64-bit forms, on values that the compiler cannot see.
#include "e2e.h"

__global__ void bits(const unsigned long long *in, int *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned long long v = in[i];
    int *o = out + i * 8;
    o[0] = __clz((int)v);
    o[1] = __ffs((int)v);
    o[2] = __clzll((long long)v);
    o[3] = __ffsll((long long)v);
    o[4] = __popc((unsigned)v);
    o[5] = __popcll(v);
    o[6] = (int)__brev((unsigned)v);
    o[7] = 31 - __clz((int)v & -(int)v); // index of the lowest bit; -1 for zero
}

int main()
{
    std::vector<unsigned long long> in{0,
                                       1,
                                       2,
                                       3,
                                       0x80000000ull,
                                       0xffffffffull,
                                       0x100000000ull,
                                       0x8000000000000000ull,
                                       ~0ull,
                                       0x00f0000000000000ull};
    Random random(21);
    for (int i = 0; i < 50; i++) {
        in.push_back(random.next() >> random.below(64));
    }
    int n = (int)in.size();
    Device<unsigned long long> din(in);
    Device<int> dout(n * 8);
    bits<<<2, 64>>>(din, dout, n);
    CHECK_LAUNCH();
    std::vector<int> got = dout.get();
    for (int i = 0; i < n; i++) {
        unsigned long long v = in[i];
        unsigned low = (unsigned)v, reversed = 0;
        int clz = 32, ffs = 0, clzll = 64, ffsll = 0, popc = 0, popcll = 0;
        for (int b = 0; b < 64; b++) {
            if (v >> b & 1) {
                clzll = 63 - b;
                ffsll = ffsll ? ffsll : b + 1;
                popcll++;
                if (b < 32) {
                    clz = 31 - b;
                    ffs = ffs ? ffs : b + 1;
                    popc++;
                    reversed |= 1u << (31 - b);
                }
            }
        }
        const int want[8] = {clz,  ffs,    clzll,         ffsll,
                             popc, popcll, (int)reversed, low ? ffs - 1 : -1};
        for (int j = 0; j < 8; j++) {
            if (got[i * 8 + j] != want[j]) {
                FAIL("%#llx, function %d: got %d, want %d", v, j, got[i * 8 + j], want[j]);
            }
        }
    }
    return pass();
}
