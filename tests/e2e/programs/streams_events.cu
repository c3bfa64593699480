// SPDX-License-Identifier: Apache-2.0
//
// Several streams with pinned buffers: copies and kernels in order within a stream, events across
// streams, elapsed time, queries, the legacy default stream against blocking and other streams.
#include "e2e.h"

__global__ void add(int *data, int n, int value)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        data[i] += value;
    }
}

__global__ void wait_for(volatile int *flag, int *done)
{
    while (*flag == 0) {
    }
    *done = 1;
}

int main()
{
    const int streams = 4, n = 5000;
    cudaStream_t stream[streams];
    int *host[streams], *device[streams];
    for (int s = 0; s < streams; s++) {
        CHECK(cudaStreamCreate(&stream[s]));
        CHECK(cudaMallocHost((void **)&host[s], n * sizeof(int)));
        CHECK(cudaMalloc((void **)&device[s], n * sizeof(int)));
        for (int i = 0; i < n; i++) {
            host[s][i] = s * n + i;
        }
    }
    cudaEvent_t start, stop, ready;
    CHECK(cudaEventCreate(&start));
    CHECK(cudaEventCreate(&stop));
    CHECK(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming));
    CHECK(cudaEventRecord(start, stream[0]));
    for (int s = 0; s < streams; s++) {
        CHECK(cudaMemcpyAsync(device[s], host[s], n * sizeof(int), cudaMemcpyHostToDevice,
                              stream[s]));
        for (int round = 0; round < 5; round++) {
            add<<<4, 128, 0, stream[s]>>>(device[s], n, 1 + s);
        }
        CHECK(cudaMemcpyAsync(host[s], device[s], n * sizeof(int), cudaMemcpyDeviceToHost,
                              stream[s]));
    }
    CHECK(cudaEventRecord(stop, stream[0]));
    CHECK(cudaEventSynchronize(stop));
    EXPECT(cudaEventQuery(stop) == cudaSuccess);
    float milliseconds = -1;
    CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
    EXPECT(milliseconds >= 0 && milliseconds < 60000);
    for (int s = 0; s < streams; s++) {
        CHECK(cudaStreamSynchronize(stream[s]));
        EXPECT(cudaStreamQuery(stream[s]) == cudaSuccess);
        for (int i = 0; i < n; i++) {
            EXPECT(host[s][i] == s * n + i + 5 * (1 + s));
        }
    }

    // A chain through all streams by one event, recorded again and again.
    CHECK(cudaMemsetAsync(device[0], 0, n * sizeof(int), stream[0]));
    for (int round = 0; round < 8; round++) {
        cudaStream_t from = stream[round % streams], to = stream[(round + 1) % streams];
        add<<<2, 64, 0, from>>>(device[0], n, 1 << round);
        CHECK(cudaEventRecord(ready, from));
        CHECK(cudaStreamWaitEvent(to, ready, 0));
    }
    CHECK(cudaMemcpyAsync(host[0], device[0], n * sizeof(int), cudaMemcpyDeviceToHost, stream[0]));
    CHECK(cudaStreamSynchronize(stream[0]));
    for (int i = 0; i < n; i++) {
        EXPECT(host[0][i] == 255);
    }
    EXPECT_ERROR(cudaEventElapsedTime(&milliseconds, start, ready), cudaErrorInvalidResourceHandle);
    (void)cudaGetLastError();

    // Streams are asynchronous: a kernel that waits for the host blocks its own stream only.
    cudaStream_t loose;
    CHECK(cudaStreamCreateWithFlags(&loose, cudaStreamNonBlocking));
    int *flag;
    CHECK(cudaHostAlloc((void **)&flag, 2 * sizeof(int), cudaHostAllocMapped));
    flag[0] = flag[1] = 0;
    wait_for<<<1, 1, 0, loose>>>(flag, flag + 1);
    EXPECT(cudaStreamQuery(loose) == cudaErrorNotReady);
    CHECK(cudaGetLastError()); // "not ready" is no error
    add<<<1, 64, 0, stream[1]>>>(device[1], n, 3);
    CHECK(cudaStreamSynchronize(stream[1]));
    add<<<1, 64>>>(device[1], n, 3); // the legacy stream does not wait for a non-blocking stream
    CHECK(cudaStreamSynchronize(0));
    EXPECT(cudaStreamQuery(loose) == cudaErrorNotReady);
    *(volatile int *)flag = 1;
    CHECK(cudaStreamSynchronize(loose));
    EXPECT(flag[1] == 1);

    // ... but it does wait for blocking streams, and they for it.
    CHECK(cudaMemset(device[2], 0, n * sizeof(int)));
    for (int round = 0; round < 10; round++) {
        add<<<2, 64, 0, stream[round % streams]>>>(device[2], n, 1);
        add<<<2, 64>>>(device[2], n, 100);
    }
    CHECK(cudaMemcpy(host[2], device[2], n * sizeof(int), cudaMemcpyDeviceToHost));
    for (int i = 0; i < n; i++) {
        EXPECT(host[2][i] == 1010);
    }
    for (int s = 0; s < streams; s++) {
        CHECK(cudaStreamDestroy(stream[s]));
        CHECK(cudaFreeHost(host[s]));
        CHECK(cudaFree(device[s]));
    }
    CHECK(cudaStreamDestroy(loose));
    CHECK(cudaFreeHost(flag));
    CHECK(cudaEventDestroy(start));
    CHECK(cudaEventDestroy(stop));
    CHECK(cudaEventDestroy(ready));
    return pass();
}
