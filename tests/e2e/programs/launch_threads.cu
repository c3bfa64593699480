// SPDX-License-Identifier: Apache-2.0
//
// Eight host threads, each with its own stream, 1,000 launches each; first launches race too.
#include <atomic>
#include <thread>

#include "e2e.h"

__global__ void count(unsigned *mine, unsigned *all)
{
    atomicAdd(mine, threadIdx.x + 1);
    if (threadIdx.x == 0) {
        atomicAdd(all, 1);
    }
}

template <int which> __global__ void variant(unsigned *mine)
{
    atomicAdd(mine, which);
}

int main()
{
    const int threads = 8, launches = 1000;
    Device<unsigned> counters(threads), all(1);
    counters.fill(0);
    all.fill(0);
    CHECK(cudaDeviceSynchronize());
    std::atomic<int> errors{0};
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; t++) {
        pool.emplace_back([&, t] {
            cudaStream_t s;
            errors += cudaStreamCreate(&s) != cudaSuccess;
            unsigned *mine = counters + t;
            for (int i = 0; i < launches; i++) {
                count<<<1, 4, 0, s>>>(mine, all);
                if (i % 250 == 0) {
                    variant<100><<<1, 1, 0, s>>>(mine);
                    variant<10000><<<1, 2, 0, s>>>(mine);
                    errors += cudaStreamSynchronize(s) != cudaSuccess;
                }
                errors += cudaGetLastError() != cudaSuccess;
            }
            errors += cudaStreamSynchronize(s) != cudaSuccess;
            errors += cudaStreamDestroy(s) != cudaSuccess;
        });
    }
    for (auto &t : pool) {
        t.join();
    }
    EXPECT(errors == 0);
    CHECK(cudaDeviceSynchronize());
    expect_equal(counters.get(), std::vector<unsigned>(threads, launches * 10 + 4 * (100 + 20000)));
    EXPECT(all.get()[0] == (unsigned)(threads * launches));
    return pass();
}
