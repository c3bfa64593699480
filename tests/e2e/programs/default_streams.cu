// SPDX-License-Identifier: Apache-2.0
//
// The default stream of each host thread (nvcc --default-stream per-thread): two threads' default
// streams do not wait for each other, one thread's work stays in order. Without that option the
// same program checks the explicit handle cudaStreamPerThread.
#include <atomic>
#include <thread>

#include "e2e.h"

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define MINE 0
#else
#define MINE cudaStreamPerThread
#endif

__global__ void wait_for(volatile int *flag)
{
    while (*flag == 0) {
    }
}

__global__ void add(int *p, int value)
{
    p[threadIdx.x] = p[threadIdx.x] * 2 + value;
}

int main()
{
    int *flag;
    CHECK(cudaHostAlloc((void **)&flag, sizeof(int), cudaHostAllocMapped));
    *flag = 0;
    int *p;
    CHECK(cudaMalloc((void **)&p, 64 * sizeof(int)));
    wait_for<<<1, 1, 0, MINE>>>(flag);
    CHECK(cudaGetLastError());
    EXPECT(cudaStreamQuery(MINE) == cudaErrorNotReady);
    std::atomic<int> errors{0};
    std::thread([&] {
        errors += cudaMemsetAsync(p, 0, 64 * sizeof(int), MINE) != cudaSuccess;
        add<<<1, 64, 0, MINE>>>(p, 1);
        add<<<1, 64, 0, MINE>>>(p, 5);
        std::vector<int> host(64);
        errors += cudaMemcpyAsync(host.data(), p, 64 * sizeof(int), cudaMemcpyDeviceToHost, MINE) !=
                  cudaSuccess;
        errors += cudaStreamSynchronize(MINE) != cudaSuccess; // although the other thread's waits
        for (int x : host) {
            errors += x != 7;
        }
    }).join();
    EXPECT(errors == 0);
    EXPECT(cudaStreamQuery(MINE) == cudaErrorNotReady);
    *(volatile int *)flag = 1;
    CHECK(cudaStreamSynchronize(MINE));
    CHECK(cudaFree(p));
    CHECK(cudaFreeHost(flag));
    return pass();
}
