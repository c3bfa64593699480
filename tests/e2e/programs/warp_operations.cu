// SPDX-License-Identifier: Apache-2.0
//
// Shuffles of all four kinds with widths and out-of-range sources, votes, match, reductions, the
// active mask, lane registers, in partial warps too.
#include "e2e.h"

constexpr int slots = 20;

__global__ void operations(int *out, int distance)
{
    int lane = threadIdx.x % 32;
    const unsigned full = 0xffffffffu;
    int *o = out + threadIdx.x * slots;
    int v = lane * lane + 7;
    o[0] = __shfl_sync(full, v, distance);
    o[1] = __shfl_sync(full, v, lane + distance, 8);
    o[2] = __shfl_up_sync(full, v, 3);
    o[3] = __shfl_up_sync(full, v, 5, 16);
    o[4] = __shfl_down_sync(full, v, 3);
    o[5] = __shfl_down_sync(full, v, 5, 16);
    o[6] = __shfl_xor_sync(full, v, 9);
    o[7] = __shfl_xor_sync(full, v, 9, 8);
    o[8] = __popc(__ballot_sync(full, v % 3 == 0));
    o[9] = __any_sync(full, lane == 31) + 2 * __all_sync(full, lane < 31);
    o[10] = (int)__match_any_sync(full, lane / 5);
    int same = 0;
    o[11] = (int)__match_all_sync(full, 42, &same);
    o[11] += same;
    int different = 1;
    o[12] = (int)__match_all_sync(full, lane, &different);
    o[12] += different;
    o[13] = __reduce_min_sync(full, (v * 37) % 101 - 50);
    o[14] = (int)__reduce_or_sync(full, 1u << (lane / 2));
    double d = __shfl_down_sync(full, lane * 1.5, 1);
    o[15] = (int)(d * 2);
    unsigned mask = 0, lanemask_lt, lane_id;
    if (lane % 3 == 0) {
        mask = __activemask();
    }
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lanemask_lt));
    asm("mov.u32 %0, %%laneid;" : "=r"(lane_id));
    o[16] = (mask >> lane & 1) == (lane % 3 == 0) && (mask & ~0x49249249u) == 0;
    o[17] = (int)(lanemask_lt + lane_id);
    long long w = __shfl_up_sync(full, (long long)lane << 33, 1);
    o[18] = (int)(w >> 33);
    o[19] = __reduce_add_sync(lane < 16 ? 0xffffu : 0xffff0000u, lane);
}

__global__ void partial(int *out)
{
    int t = threadIdx.x; // 40 threads: the second warp has 8 lanes
    unsigned mask = t < 32 ? 0xffffffffu : 0xffu;
    int sum = t;
    for (int step = 4; step > 0; step /= 2) {
        sum += __shfl_xor_sync(mask, sum, step);
    }
    out[t] = sum + (int)__popc(__ballot_sync(mask, 1)) * 1000;
}

static int value(int lane)
{
    return lane * lane + 7;
}

int main()
{
    Device<int> out(64 * slots), small(40);
    operations<<<1, 64>>>(out, 3);
    partial<<<1, 40>>>(small);
    CHECK_LAUNCH();
    std::vector<int> got = out.get(), s = small.get();
    int thirds = 0, low = 1000;
    for (int i = 0; i < 32; i++) {
        thirds += value(i) % 3 == 0;
        int r = (value(i) * 37) % 101 - 50;
        low = r < low ? r : low;
    }
    for (int t = 0; t < 64; t++) {
        int i = t % 32;
        unsigned match = 0;
        for (int j = 0; j < 32; j++) {
            match |= j / 5 == i / 5 ? 1u << j : 0;
        }
        const int want[slots] = {
            value(3), value(i / 8 * 8 + (i + 3) % 8), value(i < 3 ? i : i - 3),
            value(i % 16 < 5 ? i : i - 5), value(i + 3 > 31 ? i : i + 3),
            value(i % 16 + 5 > 15 ? i : i + 5), value(i ^ 9),
            // with width 8 the source of an exclusive or may lie in an earlier segment, not a later
            value((i ^ 9) <= (i | 7) ? i ^ 9 : i), thirds, 1, (int)match, (int)0xffffffffu + 1, 0,
            low, (int)0xffffu, (int)((i + 1 > 31 ? i : i + 1) * 1.5 * 2), 1,
            (int)(((1u << i) - 1) + (unsigned)i), i == 0 ? 0 : i - 1, i < 16 ? 120 : 376};
        for (int j = 0; j < slots; j++) {
            if (got[t * slots + j] != want[j]) {
                FAIL("thread %d, slot %d: got %d, want %d", t, j, got[t * slots + j], want[j]);
            }
        }
    }
    for (int t = 0; t < 40; t++) {
        int base = t / 8 * 8, sum = 0;
        for (int j = 0; j < 8; j++) {
            sum += base + j;
        }
        EXPECT(s[t] == sum + (t < 32 ? 32000 : 8000));
    }
    return pass();
}
