// SPDX-License-Identifier: Apache-2.0
//
// Monte Carlo estimate of pi with an xorshift generator per thread: the host repeats every number.
#include "e2e.h"

__host__ __device__ inline unsigned next(unsigned &s)
{
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return s;
}

__host__ __device__ int throw_darts(unsigned seed, int darts)
{
    unsigned s = seed * 2654435761u + 1;
    int hits = 0;
    for (int i = 0; i < darts; i++) {
        unsigned x = next(s) >> 17, y = next(s) >> 17;
        hits += x * x + y * y < 32768u * 32768u;
    }
    return hits;
}

__global__ void estimate(unsigned long long *hits, int darts)
{
    int mine = throw_darts(blockIdx.x * blockDim.x + threadIdx.x, darts);
    mine = __reduce_add_sync(0xffffffffu, mine);
    if (threadIdx.x % 32 == 0) {
        atomicAdd(hits, (unsigned long long)mine);
    }
}

int main()
{
    const int blocks = 8, threads = 128, darts = 100;
    Device<unsigned long long> hits(1);
    hits.fill(0);
    estimate<<<blocks, threads>>>(hits, darts);
    CHECK_LAUNCH();
    unsigned long long want = 0;
    for (int i = 0; i < blocks * threads; i++) {
        want += throw_darts(i, darts);
    }
    EXPECT(hits.get()[0] == want);
    EXPECT(near(4.0 * want / (blocks * threads * darts), 3.14159, 0.01));
    return pass();
}
