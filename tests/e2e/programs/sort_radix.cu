// SPDX-License-Identifier: Apache-2.0
//
// Stable radix sort of key/value pairs, four bits a pass: histogram, scan, ranked scatter by
// ballot.
#include <algorithm>

#include "e2e.h"

constexpr int radix = 16, block = 128, warps = block / 32;

__global__ void count(const unsigned *keys, int n, int shift, unsigned *table)
{
    __shared__ unsigned bins[radix];
    if (threadIdx.x < radix) {
        bins[threadIdx.x] = 0;
    }
    __syncthreads();
    int i = blockIdx.x * block + threadIdx.x;
    if (i < n) {
        atomicAdd(&bins[keys[i] >> shift & (radix - 1)], 1u);
    }
    __syncthreads();
    if (threadIdx.x < radix) {
        table[threadIdx.x * gridDim.x + blockIdx.x] = bins[threadIdx.x];
    }
}

__global__ void exclusive_scan(unsigned *table, int n)
{
    unsigned sum = 0; // one thread: the table is small
    for (int i = 0; i < n; i++) {
        unsigned value = table[i];
        table[i] = sum;
        sum += value;
    }
}

__global__ void scatter(const unsigned *keys, const unsigned *values, int n, int shift,
                        const unsigned *table, unsigned *keys_out, unsigned *values_out)
{
    __shared__ unsigned warp_counts[warps][radix];
    int i = blockIdx.x * block + threadIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    bool valid = i < n;
    unsigned key = valid ? keys[i] : 0, digit = key >> shift & (radix - 1), rank = 0;
    for (unsigned d = 0; d < radix; d++) {
        unsigned mask = __ballot_sync(0xffffffffu, valid && digit == d);
        if (digit == d) {
            rank = __popc(mask & ((1u << lane) - 1));
        }
        if (lane == 0) {
            warp_counts[warp][d] = __popc(mask);
        }
    }
    __syncthreads();
    if (!valid) {
        return;
    }
    unsigned position = table[digit * gridDim.x + blockIdx.x] + rank;
    for (int w = 0; w < warp; w++) {
        position += warp_counts[w][digit];
    }
    keys_out[position] = key;
    values_out[position] = values[i];
}

int main()
{
    const int n = 2000, blocks = (n + block - 1) / block;
    Random random(9);
    std::vector<unsigned> keys(n), values(n);
    std::vector<std::pair<unsigned, unsigned>> want(n);
    for (int i = 0; i < n; i++) {
        keys[i] = (unsigned)random.next() % 5000 * 77777u; // duplicates show instability
        values[i] = (unsigned)i;
        want[i] = {keys[i], values[i]};
    }
    Device<unsigned> ka(keys), va(values), kb(n), vb(n), table(radix * blocks);
    unsigned *k = ka, *v = va, *k2 = kb, *v2 = vb;
    for (int shift = 0; shift < 32; shift += 4) {
        count<<<blocks, block>>>(k, n, shift, table);
        exclusive_scan<<<1, 1>>>(table, radix * blocks);
        scatter<<<blocks, block>>>(k, v, n, shift, table, k2, v2);
        std::swap(k, k2);
        std::swap(v, v2);
    }
    CHECK_LAUNCH();
    std::stable_sort(want.begin(), want.end(),
                     [](const auto &a, const auto &b) { return a.first < b.first; });
    keys = ka.get(); // eight passes: the result is back in the first pair of arrays
    values = va.get();
    for (int i = 0; i < n; i++) {
        EXPECT(keys[i] == want[i].first && values[i] == want[i].second);
    }
    return pass();
}
