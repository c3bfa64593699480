// SPDX-License-Identifier: Apache-2.0
//
// Blocks of a cluster that wait for each other: on words in distributed shared memory, on locks
// there, at cluster barriers in loops, with more clusters than can run at once.
// e2e-env: INFINIRT_CPU_ARCH=9.0
// e2e-forms: lane warp
#include <cooperative_groups.h>

#include <utility>

#include "e2e.h"

namespace cg = cooperative_groups;

// A token goes round the ring of blocks, some times; each block waits on its own shared memory.
__global__ void __cluster_dims__(4, 1, 1) ring(int *out, int laps)
{
    __shared__ volatile int box;
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank(), size = cluster.num_blocks();
    if (threadIdx.x == 0) {
        box = 0;
    }
    cluster.sync();
    if (threadIdx.x == 0) {
        volatile int *next = cluster.map_shared_rank((int *)&box, (rank + 1) % size);
        for (int lap = 0; lap < laps; lap++) {
            int token = 1 + lap * size;
            if (rank != 0 || lap != 0) {
                while (box != lap * size + rank) {
                }
                token = box + 1;
            }
            __threadfence();
            *next = token;
        }
        if (rank == 0) {
            while (box != laps * size) {
            }
        }
        out[blockIdx.x] = box;
    }
    cluster.sync();
}

// All threads of the cluster want a lock in the shared memory of its first block.
__global__ void __cluster_dims__(2, 1, 1) one_lock(int *out)
{
    __shared__ int lock, count;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        lock = count = 0;
    }
    cluster.sync();
    int *there = cluster.map_shared_rank(&lock, 0);
    volatile int *sum = cluster.map_shared_rank(&count, 0);
    for (bool done = false; !done;) {
        if (atomicCAS(there, 0, 1) == 0) {
            __threadfence();
            *sum = *sum + 1;
            __threadfence();
            atomicExch(there, 0);
            done = true;
        }
    }
    cluster.sync();
    if (cluster.thread_rank() == 0) {
        out[blockIdx.x / 2] = count;
    }
}

// Barriers in a loop whose length differs between clusters; work between arrival and waiting.
__global__ void __cluster_dims__(4, 1, 1) pass_on(int *out)
{
    __shared__ int words[2][64];
    cg::cluster_group cluster = cg::this_cluster();
    int rank = cluster.block_rank(), i = threadIdx.x, turns = 2 + (blockIdx.x / 4) % 3;
    words[0][i] = rank * 100 + i;
    for (int turn = 0; turn < turns; turn++) {
        auto token = cluster.barrier_arrive();
        int own = i * turn;
        cluster.barrier_wait(std::move(token));
        const int *there = cluster.map_shared_rank(words[turn % 2], (rank + 1) % 4);
        words[(turn + 1) % 2][i] = there[(i + 1) % 64] + own;
    }
    cluster.sync();
    out[blockIdx.x * 64 + i] = words[turns % 2][i];
}

int main()
{
    const int blocks = 4 * 12;
    Device<int> out(blocks * 64);
    ring<<<blocks, 64>>>(out, 3);
    CHECK_LAUNCH();
    std::vector<int> got = out.get();
    for (int i = 0; i < blocks; i++) {
        EXPECT(got[i] == (i % 4 == 0 ? 12 : 8 + i % 4));
    }
    one_lock<<<blocks, 48>>>(out);
    CHECK_LAUNCH();
    got = out.get();
    for (int i = 0; i < blocks / 2; i++) {
        EXPECT(got[i] == 96);
    }
    pass_on<<<blocks, 64>>>(out);
    CHECK_LAUNCH();
    got = out.get();
    for (int block = 0; block < blocks; block++) {
        int turns = 2 + block / 4 % 3, now[4][64], then[4][64];
        for (int r = 0; r < 4; r++) {
            for (int i = 0; i < 64; i++) {
                now[r][i] = r * 100 + i;
            }
        }
        for (int turn = 0; turn < turns; turn++) {
            for (int r = 0; r < 4; r++) {
                for (int i = 0; i < 64; i++) {
                    then[r][i] = now[(r + 1) % 4][(i + 1) % 64] + i * turn;
                }
            }
            memcpy(now, then, sizeof now);
        }
        for (int i = 0; i < 64; i++) {
            EXPECT(got[block * 64 + i] == now[block % 4][i]);
        }
    }
    return pass();
}
