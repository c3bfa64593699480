// SPDX-License-Identifier: Apache-2.0
//
// Threads that wait for others by spinning: lanes of a warp, warps of a block, blocks of a grid that
// are all resident. Each kernel hangs unless all of its threads make progress.
// e2e-forms: lane warp
#include <cooperative_groups.h>

#include "e2e.h"

namespace cg = cooperative_groups;

// Lane by lane, from the last to the first: each waits for its neighbour.
__global__ void chain_of_lanes(int *out)
{
    __shared__ volatile int done[129];
    done[threadIdx.x] = 0;
    if (threadIdx.x == 0) {
        done[blockDim.x] = 1;
    }
    __syncthreads();
    while (done[threadIdx.x + 1] == 0) {
    }
    __threadfence_block();
    done[threadIdx.x] = done[threadIdx.x + 1] + 1;
    out[blockIdx.x * blockDim.x + threadIdx.x] = done[threadIdx.x];
}

// Each thread draws a number and waits for its turn.
__device__ int next_ticket, serving, in_turn;

__global__ void tickets(int *order)
{
    int mine = atomicAdd(&next_ticket, 1);
    while (atomicAdd(&serving, 0) != mine) {
    }
    __threadfence();
    order[in_turn] = mine;
    in_turn = in_turn + 1;
    __threadfence();
    atomicExch(&serving, mine + 1);
}

// Lists with a lock each; the lanes of a warp often want the same one.
struct Node {
    int value;
    int next;
};

__global__ void insert(Node *nodes, int *heads, int *locks, int buckets)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    int bucket = nodes[i].value % buckets;
    bool waiting = true;
    do {
        if (atomicCAS(&locks[bucket], 0, 1) == 0) {
            __threadfence();
            nodes[i].next = *(volatile int *)&heads[bucket];
            *(volatile int *)&heads[bucket] = i;
            __threadfence();
            atomicExch(&locks[bucket], 0);
            waiting = false;
        }
    } while (waiting);
}

// Warp by warp, from the last to the first; the lanes of each go on together.
__global__ void chain_of_warps(int *out)
{
    __shared__ volatile int ready[9];
    int warp = threadIdx.x / 32, lane = threadIdx.x % 32, warps = blockDim.x / 32;
    if (threadIdx.x <= warps) {
        ready[threadIdx.x] = threadIdx.x == warps ? 1 : 0;
    }
    __syncthreads();
    if (lane == 0) {
        while (ready[warp + 1] == 0) {
            __nanosleep(20);
        }
    }
    __syncwarp();
    int sum = __reduce_add_sync(0xffffffffu, ready[warp + 1] + lane);
    if (lane == 31) {
        out[blockIdx.x * warps + warp] = sum;
        __threadfence_block();
        ready[warp] = ready[warp + 1] + 1;
    }
}

// Block by block, from the last to the first: only a cooperative launch promises that this ends.
__global__ void chain_of_blocks(volatile int *done)
{
    if (threadIdx.x == 0) {
        while (done[blockIdx.x + 1] == 0) {
        }
        __threadfence();
    }
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
        done[blockIdx.x] = done[blockIdx.x + 1] + 1;
    }
}

// Barriers of cooperative groups and hand-made ones by turns, on all blocks that fit.
__device__ unsigned arrived;
__device__ volatile unsigned generation;

__device__ void grid_wait()
{
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned now = generation;
        __threadfence();
        if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
            arrived = 0;
            __threadfence();
            generation = now + 1;
        } else {
            while (generation == now) {
            }
        }
        __threadfence();
    }
    __syncthreads();
}

__global__ void rounds(volatile int *a, volatile int *b, int turns, bool by_hand)
{
    int n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int turn = 0; turn < turns; turn++) {
        volatile int *from = turn % 2 ? b : a, *to = turn % 2 ? a : b;
        to[i] = from[(i + 37) % n] + 1;
        if (by_hand) {
            grid_wait();
        } else {
            cg::this_grid().sync();
        }
    }
}

// Look-back by whole warps, as CUB does it: 32 predecessors at a time.
constexpr unsigned long long flag_sum = 1ull << 62, flag_prefix = 2ull << 62, flags = 3ull << 62;
__device__ unsigned tile_ticket;

__global__ void look_back(const unsigned *in, unsigned *out, volatile unsigned long long *state)
{
    __shared__ unsigned tile, before;
    if (threadIdx.x == 0) {
        tile = atomicAdd(&tile_ticket, 1);
    }
    __syncthreads();
    int mine = tile, lane = threadIdx.x % 32;
    unsigned value = in[mine * 32 + lane], sum = value;
    if (threadIdx.x < 32) {
        for (int step = 1; step < 32; step *= 2) {
            unsigned add = __shfl_up_sync(0xffffffffu, sum, step);
            sum += lane >= step ? add : 0;
        }
        unsigned all = __shfl_sync(0xffffffffu, sum, 31);
        if (lane == 0) {
            state[mine] = (mine == 0 ? flag_prefix : flag_sum) | all;
            __threadfence();
        }
        unsigned exclusive = 0;
        for (int last = mine - 1; last >= 0; last -= 32) {
            int look = last - lane;
            unsigned long long s;
            do {
                s = look >= 0 ? state[look] : +flag_prefix;
            } while (__any_sync(0xffffffffu, (s & flags) == 0));
            unsigned found = __ballot_sync(0xffffffffu, (s & flags) == flag_prefix);
            int stop = found ? __ffs(found) - 1 : 31;
            exclusive += __reduce_add_sync(0xffffffffu, lane <= stop ? (unsigned)s : 0u);
            if (found) {
                break;
            }
        }
        if (lane == 0) {
            state[mine] = flag_prefix | (unsigned)(exclusive + all);
            before = exclusive;
        }
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        out[mine * 32 + lane] = before + sum;
    }
}

static void test_block()
{
    Device<int> out(3 * 128);
    chain_of_lanes<<<3, 128>>>(out);
    CHECK_LAUNCH();
    std::vector<int> got = out.get();
    for (int i = 0; i < 3 * 128; i++) {
        EXPECT(got[i] == 129 - i % 128);
    }
    Device<int> order(4 * 50);
    tickets<<<4, 50>>>(order);
    CHECK_LAUNCH();
    got = order.get();
    for (int i = 0; i < 4 * 50; i++) {
        EXPECT(got[i] == i);
    }
    chain_of_warps<<<3, 256>>>(out);
    CHECK_LAUNCH();
    got = out.get();
    for (int i = 0; i < 3 * 8; i++) {
        EXPECT(got[i] == 32 * (8 - i % 8) + 496);
    }
}

static void test_lists()
{
    const int n = 6 * 96, buckets = 5;
    std::vector<Node> nodes(n);
    for (int i = 0; i < n; i++) {
        nodes[i] = {i * 7, -2};
    }
    Device<Node> device_nodes(nodes);
    Device<int> heads(buckets), locks(buckets);
    heads.fill(0xff);
    locks.fill(0);
    insert<<<6, 96>>>(device_nodes, heads, locks, buckets);
    CHECK_LAUNCH();
    nodes = device_nodes.get();
    int found = 0;
    for (int bucket = 0; bucket < buckets; bucket++) {
        for (int at = heads.get()[bucket]; at != -1; at = nodes[at].next) {
            EXPECT(at >= 0 && at < n && nodes[at].value % buckets == bucket && ++found <= n);
        }
    }
    EXPECT(found == n);
}

template <typename F> static int resident(F kernel, int threads)
{
    int per_sm = 0, sms = 0;
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, kernel, threads, 0));
    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    EXPECT(per_sm >= 1 && sms >= 1);
    return per_sm * sms;
}

static void test_grid()
{
    int blocks = resident(chain_of_blocks, 40);
    std::vector<int> host(blocks + 1);
    host[blocks] = 1;
    Device<int> done(host);
    int *pointer = done;
    void *arguments[] = {&pointer};
    CHECK(cudaLaunchCooperativeKernel((void *)chain_of_blocks, blocks, 40, arguments, 0, nullptr));
    CHECK_LAUNCH();
    host = done.get();
    for (int i = 0; i <= blocks; i++) {
        EXPECT(host[i] == blocks + 1 - i);
    }
    const int threads = 96, turns = 5;
    blocks = resident(rounds, threads);
    for (int by_hand = 0; by_hand < 2; by_hand++) {
        const int n = blocks * threads;
        std::vector<int> a(n), want(n);
        for (int i = 0; i < n; i++) {
            a[i] = i * 3;
        }
        for (int i = 0; i < n; i++) {
            want[i] = a[(i + 37ll * turns) % n] + turns;
        }
        Device<int> da(a), db(n);
        int *pa = da, *pb = db, count = turns;
        bool hand = by_hand;
        void *parameters[] = {&pa, &pb, &count, &hand};
        if (by_hand) {
            rounds<<<blocks, threads>>>(da, db, turns, true);
        } else {
            CHECK(cudaLaunchCooperativeKernel((void *)rounds, blocks, threads, parameters, 0,
                                              nullptr));
        }
        CHECK_LAUNCH();
        expect_equal(db.get(), want);
    }
}

static void test_look_back()
{
    const int tiles = 150;
    std::vector<unsigned> in(tiles * 32), want(tiles * 32);
    unsigned sum = 0;
    Random random(5);
    for (size_t i = 0; i < in.size(); i++) {
        in[i] = (unsigned)random.next();
        want[i] = sum += in[i];
    }
    Device<unsigned> din(in), dout(in.size());
    Device<unsigned long long> state(tiles);
    state.fill(0);
    look_back<<<tiles, 64>>>(din, dout, state);
    CHECK_LAUNCH();
    expect_equal(dout.get(), want);
}

int main()
{
    test_block();
    test_lists();
    test_grid();
    test_look_back();
    return pass();
}
