// SPDX-License-Identifier: Apache-2.0
//
// The largest parameter block that CUDA 12.1 and later allow: 32,764 bytes.
#include "e2e.h"

struct Huge {
    unsigned words[(32764 - 12) / 4]; // one pointer, aligned to 8, and one int follow
};

__global__ void checksum(Huge huge, unsigned *out, int scale)
{
    unsigned sum = 0;
    for (unsigned i = threadIdx.x; i < sizeof(huge.words) / 4; i += blockDim.x) {
        sum += huge.words[i] * (i | 1);
    }
    atomicAdd(out, sum * scale);
}

int main()
{
    static_assert(sizeof(Huge) % 8 == 0, "no padding before the pointer");
    static Huge huge;
    Random random(16);
    unsigned want = 0;
    for (unsigned i = 0; i < sizeof(huge.words) / 4; i++) {
        huge.words[i] = (unsigned)random.next();
        want += huge.words[i] * (i | 1) * 3;
    }
    Device<unsigned> out(1);
    out.fill(0);
    checksum<<<1, 96>>>(huge, out, 3);
    CHECK_LAUNCH();
    EXPECT(out.get()[0] == want);
    return pass();
}
