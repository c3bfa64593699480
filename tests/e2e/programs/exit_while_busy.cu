// SPDX-License-Identifier: Apache-2.0
//
// main returns while streams still have work and detached threads still copy: the exit code is 0
// and nothing hangs.
#include <atomic>
#include <chrono>
#include <thread>

#include "e2e.h"

__global__ void work(int *p, int n, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
            p[i] += r;
        }
    }
}

int main()
{
    static std::atomic<int> started{0};
    const int n = 1 << 14;
    for (int s = 0; s < 3; s++) {
        cudaStream_t stream;
        cudaEvent_t event;
        int *p;
        CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        CHECK(cudaEventCreate(&event));
        CHECK(cudaMalloc((void **)&p, n * sizeof(int)));
        for (int i = 0; i < 20; i++) {
            work<<<8, 64, 0, stream>>>(p, n, 20);
        }
        CHECK(cudaEventRecord(event, stream));
    }
    for (int t = 0; t < 2; t++) {
        std::thread([] {
            int *p;
            static char host[1 << 16];
            if (cudaMalloc((void **)&p, sizeof(host)) != cudaSuccess) {
                return;
            }
            started++;
            while (cudaMemcpy(p, host, sizeof(host), cudaMemcpyHostToDevice) == cudaSuccess) {
            }
            for (;;) {
                std::this_thread::sleep_for(std::chrono::seconds(1));
            }
        }).detach();
    }
    while (started < 2) {
        std::this_thread::yield();
    }
    return pass();
}
