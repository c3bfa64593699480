// SPDX-License-Identifier: Apache-2.0
//
// Aggregation by hand: __activemask, __match_any_sync, one atomic per distinct bucket of a warp.
#include "e2e.h"

__global__ void count(const int *keys, unsigned *buckets, unsigned *atomics, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) {
        return;
    }
    unsigned active = __activemask();
    unsigned same = __match_any_sync(active, keys[i]);
    int lane = threadIdx.x % 32, leader = __ffs(same) - 1;
    if (lane == leader) {
        atomicAdd(&buckets[keys[i]], __popc(same));
        atomicAdd(atomics, 1);
    }
}

int main()
{
    const int n = 1000, buckets = 10;
    Random random(18);
    std::vector<int> keys(n);
    std::vector<unsigned> want(buckets);
    for (auto &k : keys) {
        k = random.below(buckets);
        want[k]++;
    }
    Device<int> dk(keys);
    Device<unsigned> db(buckets), atomics(1);
    db.fill(0);
    atomics.fill(0);
    count<<<(n + 127) / 128, 128>>>(dk, db, atomics, n);
    CHECK_LAUNCH();
    expect_equal(db.get(), want);
    unsigned a = atomics.get()[0];
    EXPECT(a >= 1 && a <= (unsigned)n);
    return pass();
}
