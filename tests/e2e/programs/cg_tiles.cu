// SPDX-License-Identifier: Apache-2.0
//
// Cooperative groups: thread blocks, tiles of several sizes, reductions, scans by shuffle, ballots.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>

#include "e2e.h"

namespace cg = cooperative_groups;

template <int size> __global__ void tiles(const int *in, int *sums, int *prefix, unsigned *votes)
{
    cg::thread_block block = cg::this_thread_block();
    cg::thread_block_tile<size> tile = cg::tiled_partition<size>(block);
    int value = in[block.group_index().x * block.size() + block.thread_rank()];
    int total = cg::reduce(tile, value, cg::plus<int>());
    int scan = value;
    for (unsigned step = 1; step < tile.size(); step *= 2) {
        int other = tile.shfl_up(scan, step);
        if (tile.thread_rank() >= step) {
            scan += other;
        }
    }
    unsigned odd = tile.ballot(value & 1);
    int i = block.group_index().x * block.size() + block.thread_rank();
    prefix[i] = scan;
    votes[i] = odd;
    if (tile.thread_rank() == 0) {
        sums[i / size] = total;
    }
    block.sync();
}

template <int size> void test()
{
    const int n = 256;
    Random random(size);
    std::vector<int> in(n), sums(n / size), prefix(n);
    std::vector<unsigned> votes(n);
    for (int i = 0; i < n; i++) {
        in[i] = random.below(1000);
    }
    for (int t = 0; t < n / size; t++) {
        int sum = 0;
        unsigned vote = 0;
        for (int i = 0; i < size; i++) {
            prefix[t * size + i] = sum += in[t * size + i];
            vote |= (unsigned)(in[t * size + i] & 1) << i;
        }
        sums[t] = sum;
        for (int i = 0; i < size; i++) {
            votes[t * size + i] = vote;
        }
    }
    Device<int> din(in), dsums(n / size), dprefix(n);
    Device<unsigned> dvotes(n);
    tiles<size><<<2, n / 2>>>(din, dsums, dprefix, dvotes);
    CHECK_LAUNCH();
    expect_equal(dsums.get(), sums);
    expect_equal(dprefix.get(), prefix);
    expect_equal(dvotes.get(), votes);
}

int main()
{
    test<32>();
    test<16>();
    test<8>();
    test<4>();
    test<2>();
    return pass();
}
