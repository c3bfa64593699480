// SPDX-License-Identifier: Apache-2.0
//
// Two devices: current device per thread, memory and streams of each, peer copies and access,
// waits across devices, symbols that exist once per device.
// e2e-env: INFINIRT_CPU_DEVICES=2
#include <thread>

#include "e2e.h"

__device__ int where = -1;

__global__ void mark(int *data, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        data[i] += value;
    }
    if (i == 0) {
        where = value;
    }
}

int main()
{
    int count = 0;
    CHECK(cudaGetDeviceCount(&count));
    EXPECT(count == 2);
    EXPECT_ERROR(cudaSetDevice(2), cudaErrorInvalidDevice);
    (void)cudaGetLastError();
    const int n = 1000;
    const size_t bytes = n * sizeof(int);
    int *data[2];
    cudaStream_t stream[2];
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaMalloc((void **)&data[d], bytes));
        CHECK(cudaMemset(data[d], 0, bytes));
        CHECK(cudaStreamCreate(&stream[d]));
        cudaPointerAttributes attributes;
        CHECK(cudaPointerGetAttributes(&attributes, data[d]));
        EXPECT(attributes.device == d && attributes.type == cudaMemoryTypeDevice);
    }
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        mark<<<(n + 127) / 128, 128, 0, stream[d]>>>(data[d], n, 10 + d);
        CHECK(cudaGetLastError());
    }
    for (int d = 0; d < 2; d++) {
        CHECK(cudaSetDevice(d));
        CHECK(cudaDeviceSynchronize());
        int w = 0;
        CHECK(cudaMemcpyFromSymbol(&w, where, sizeof(w)));
        EXPECT(w == 10 + d);
    }

    // A new thread starts on device 0, whatever this one uses.
    int seen = -1;
    std::thread([&] { cudaGetDevice(&seen); }).join();
    EXPECT(seen == 0);
    int current = -1;
    CHECK(cudaGetDevice(&current));
    EXPECT(current == 1);

    int can = 0;
    CHECK(cudaDeviceCanAccessPeer(&can, 0, 1));
    EXPECT(can == 1);
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceEnablePeerAccess(1, 0));
    EXPECT_ERROR(cudaDeviceEnablePeerAccess(1, 0), cudaErrorPeerAccessAlreadyEnabled);
    (void)cudaGetLastError();
    mark<<<(n + 127) / 128, 128>>>(data[1], n, 100); // a kernel of device 0 on memory of device 1
    CHECK_LAUNCH();

    // device 1 waits for device 0, then its data come back
    cudaEvent_t event;
    CHECK(cudaEventCreate(&event));
    mark<<<(n + 127) / 128, 128, 0, stream[0]>>>(data[0], n, 1000);
    CHECK(cudaEventRecord(event, stream[0]));
    CHECK(cudaSetDevice(1));
    CHECK(cudaStreamWaitEvent(stream[1], event, 0));
    int *copy;
    CHECK(cudaMalloc((void **)&copy, bytes));
    CHECK(cudaMemcpyPeerAsync(copy, 1, data[0], 0, bytes, stream[1]));
    CHECK(cudaStreamSynchronize(stream[1]));
    std::vector<int> a(n), b(n);
    CHECK(cudaMemcpy(a.data(), copy, bytes, cudaMemcpyDefault));
    CHECK(cudaMemcpy(b.data(), data[1], bytes, cudaMemcpyDefault));
    for (int i = 0; i < n; i++) {
        EXPECT(a[i] == 1010 && b[i] == 111);
    }
    CHECK(cudaSetDevice(0));
    CHECK(cudaDeviceDisablePeerAccess(1));
    EXPECT_ERROR(cudaDeviceDisablePeerAccess(1), cudaErrorPeerAccessNotEnabled);
    return pass();
}
