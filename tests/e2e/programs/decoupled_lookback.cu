// SPDX-License-Identifier: Apache-2.0
//
// Single-pass scan with decoupled look-back: blocks wait for what earlier blocks publish.
// e2e-forms: lane warp
#include "e2e.h"

constexpr int block = 128;
constexpr unsigned long long flag_sum = 1ull << 62, flag_prefix = 2ull << 62, flags = 3ull << 62;

__device__ unsigned ticket;

__global__ void scan(const unsigned *in, unsigned *out, volatile unsigned long long *state, int n)
{
    __shared__ unsigned values[block];
    __shared__ unsigned tile, exclusive;
    if (threadIdx.x == 0) {
        tile = atomicAdd(&ticket, 1); // tiles in the order in which blocks start
    }
    __syncthreads();
    int i = tile * block + threadIdx.x;
    unsigned value = i < n ? in[i] : 0;
    values[threadIdx.x] = value;
    __syncthreads();
    for (int step = 1; step < block; step *= 2) {
        unsigned add = (int)threadIdx.x >= step ? values[threadIdx.x - step] : 0;
        __syncthreads();
        values[threadIdx.x] += add;
        __syncthreads();
    }
    if (threadIdx.x == block - 1) {
        unsigned sum = values[block - 1], before = 0;
        if (tile == 0) {
            state[0] = flag_prefix | sum;
        } else {
            state[tile] = flag_sum | sum;
            __threadfence();
            for (int look = (int)tile - 1; look >= 0;) {
                unsigned long long s = state[look];
                if ((s & flags) == 0) {
                    continue; // not published yet
                }
                before += (unsigned)s;
                if ((s & flags) == flag_prefix) {
                    break;
                }
                look--;
            }
            state[tile] = flag_prefix | (unsigned)(before + sum);
        }
        __threadfence();
        exclusive = before;
    }
    __syncthreads();
    if (i < n) {
        out[i] = exclusive + values[threadIdx.x];
    }
}

int main()
{
    const int n = block * 60 + 5, tiles = (n + block - 1) / block;
    Random random(19);
    std::vector<unsigned> in(n), want(n);
    unsigned sum = 0;
    for (int i = 0; i < n; i++) {
        in[i] = (unsigned)random.next();
        want[i] = sum += in[i];
    }
    Device<unsigned> din(in), dout(n);
    Device<unsigned long long> state(tiles);
    state.fill(0);
    scan<<<tiles, block>>>(din, dout, state, n);
    CHECK_LAUNCH();
    expect_equal(dout.get(), want);
    return pass();
}
