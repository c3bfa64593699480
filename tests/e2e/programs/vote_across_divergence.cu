// SPDX-License-Identifier: Apache-2.0
//
// Full-mask votes and shuffles called from both sides of a branch: the lanes meet by mask, not by
// place in the code.
#include "e2e.h"

__global__ void votes(int *all, int *any, unsigned *ballot, int *shuffled)
{
    int lane = threadIdx.x;
    int a = lane < 16 ? 0 : 1;
    const unsigned full = 0xffffffffu;
    if (lane < 16) {
        all[lane] = __all_sync(full, a);
        any[lane] = __any_sync(full, a);
        ballot[lane] = __ballot_sync(full, a);
        shuffled[lane] = __shfl_xor_sync(full, lane * 3, 16);
    } else {
        all[lane] = __all_sync(full, a);
        any[lane] = __any_sync(full, a);
        ballot[lane] = __ballot_sync(full, a);
        shuffled[lane] = __shfl_xor_sync(full, lane * 3, 16);
    }
}

__global__ void halves(int *out)
{
    int lane = threadIdx.x, value = lane + 1;
    unsigned mask = lane % 2 ? 0xaaaaaaaau : 0x55555555u;
    if (lane % 2) {
        for (int step = 16; step > 1; step /= 2) {
            value += __shfl_xor_sync(mask, value, step);
        }
    } else {
        for (int step = 16; step > 1; step /= 2) {
            value = max(value, __shfl_xor_sync(mask, value, step));
        }
        __syncwarp(mask);
    }
    out[lane] = value;
}

int main()
{
    Device<int> all(32), any(32), shuffled(32), out(32);
    Device<unsigned> ballot(32);
    votes<<<1, 32>>>(all, any, ballot, shuffled);
    halves<<<1, 32>>>(out);
    CHECK_LAUNCH();
    expect_equal(all.get(), std::vector<int>(32, 0));
    expect_equal(any.get(), std::vector<int>(32, 1));
    expect_equal(ballot.get(), std::vector<unsigned>(32, 0xffff0000u));
    std::vector<int> s = shuffled.get(), o = out.get();
    for (int i = 0; i < 32; i++) {
        EXPECT(s[i] == (i ^ 16) * 3);
        EXPECT(o[i] ==
               (i % 2 ? 2 + 4 + 6 + 8 + 10 + 12 + 14 + 16 + 18 + 20 + 22 + 24 + 26 + 28 + 30 + 32
                      : 31));
    }
    return pass();
}
