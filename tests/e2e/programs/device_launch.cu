// SPDX-License-Identifier: Apache-2.0
//
// Kernels that start kernels: nested launches, streams of a grid, tail and fire-and-forget launches,
// copies and fills on the device, recursion by launches, errors of wrong launches.
#include <algorithm>

#include "e2e.h"

__global__ void add(int *data, int value)
{
    atomicAdd(&data[threadIdx.x], value);
}

__global__ void parent(int *data, int *errors)
{
    if (threadIdx.x == 0) {
        cudaStream_t stream;
        errors[0] = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
        add<<<1, 32>>>(data, 1);
        add<<<1, 32, 0, stream>>>(data, 10);
        add<<<1, 32, 0, cudaStreamFireAndForget>>>(data, 100);
        errors[1] = cudaGetLastError();
        add<<<1, 5000>>>(data, 1000); // too many threads: not started
        errors[2] = cudaGetLastError();
        errors[3] = cudaGetLastError(); // reset by the call before
        add<<<0, 32>>>(data, 1000);
        errors[4] = cudaPeekAtLastError();
        errors[5] = cudaGetLastError();
        errors[6] = cudaStreamDestroy(stream);
    }
}

// Every thread starts a grid.
__global__ void spread(int *count, int depth)
{
    atomicAdd(count, 1);
    if (depth > 0) {
        spread<<<2, 2>>>(count, depth - 1);
    }
}

// Tail launches run after everything that their grid has started, in order.
__global__ void append(int *list, int value)
{
    list[1 + list[0]++] = value;
}

__global__ void tails(int *list, int rounds)
{
    append<<<1, 1, 0, cudaStreamTailLaunch>>>(list, 2 * rounds);
    append<<<1, 1>>>(list, 1000 + rounds);
    if (rounds > 1) {
        tails<<<1, 1, 0, cudaStreamTailLaunch>>>(list, rounds - 1);
    }
}

// A large chain of tail launches must not nest.
__global__ void chain(int *count, int left)
{
    ++*count;
    if (left > 0) {
        chain<<<1, 1, 0, cudaStreamTailLaunch>>>(count, left - 1);
    }
}

__global__ void memory(int *to, int *from, int n, int *errors)
{
    errors[0] = cudaMemsetAsync(to, 0x11, n * sizeof(int), 0);
    errors[1] = cudaMemcpyAsync(to + n / 2, from, n / 2 * sizeof(int), cudaMemcpyDeviceToDevice, 0);
    add<<<1, 32>>>(to, 1);
    errors[2] = cudaMemcpyAsync(to, from, 4, cudaMemcpyHostToDevice, 0);
    cudaGetLastError();
}

__global__ void queries(int *out)
{
    out[0] = out[1] = out[2] = -1;
    out[6] = cudaGetDevice(&out[0]);
    out[6] |= cudaGetDeviceCount(&out[1]);
    out[6] |= cudaDeviceGetAttribute(&out[2], cudaDevAttrMultiProcessorCount, 0);
    size_t heap = 0;
    out[6] |= cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize);
    out[3] = (int)(heap >> 10);
    cudaFuncAttributes attributes;
    out[6] |= cudaFuncGetAttributes(&attributes, add);
    out[4] = attributes.maxThreadsPerBlock;
    out[6] |= cudaOccupancyMaxActiveBlocksPerMultiprocessor(&out[5], add, 128, 0);
    const char *name = cudaGetErrorName(cudaErrorInvalidValue);
    out[7] = name[0] == 'c' && name[9] == 'I';
    int *p = nullptr;
    out[6] |= cudaMalloc((void **)&p, 64);
    p[3] = 5;
    out[8] = p[3];
    out[6] |= cudaFree(p);
}

// Quicksort, a grid for each half, until the nesting of launches (24 at most) gets deep.
__global__ void quicksort(int *data, int low, int high, int depth)
{
    if (depth > 16 || high - low < 16) {
        for (int a = low + 1; a <= high; a++) {
            for (int b = a; b > low && data[b - 1] > data[b]; b--) {
                int swap = data[b];
                data[b] = data[b - 1];
                data[b - 1] = swap;
            }
        }
        return;
    }
    int i = low, j = high, pivot = data[low + (high - low) / 2];
    while (i <= j) {
        while (data[i] < pivot) {
            i++;
        }
        while (data[j] > pivot) {
            j--;
        }
        if (i <= j) {
            int swap = data[i];
            data[i++] = data[j];
            data[j--] = swap;
        }
    }
    if (low < j) {
        quicksort<<<1, 1>>>(data, low, j, depth + 1);
    }
    if (i < high) {
        quicksort<<<1, 1, 0, cudaStreamFireAndForget>>>(data, i, high, depth + 1);
    }
}

// Nesting deeper than 24 is refused.
__global__ void nest(int *deepest, int depth)
{
    *deepest = depth;
    nest<<<1, 1>>>(deepest, depth + 1);
    if (cudaGetLastError() != cudaSuccess) {
        deepest[1] = depth;
    }
}

int main()
{
    int *data, *errors;
    CHECK(cudaMallocManaged((void **)&data, 4096 * sizeof(int)));
    CHECK(cudaMallocManaged((void **)&errors, 64 * sizeof(int)));
    CHECK(cudaMemset(data, 0, 4096 * sizeof(int)));

    parent<<<1, 64>>>(data, errors);
    CHECK_LAUNCH();
    for (int i = 0; i < 32; i++) {
        EXPECT(data[i] == 111);
    }
    EXPECT(errors[0] == cudaSuccess && errors[1] == cudaSuccess);
    EXPECT(errors[2] == cudaErrorInvalidConfiguration && errors[3] == cudaSuccess);
    EXPECT(errors[4] == cudaErrorInvalidConfiguration);
    EXPECT(errors[5] == cudaErrorInvalidConfiguration && errors[6] == cudaSuccess);

    data[0] = 0;
    spread<<<2, 2>>>(data, 4);
    CHECK_LAUNCH();
    EXPECT(data[0] == 4 + 16 + 64 + 256 + 1024);

    data[0] = 0;
    tails<<<1, 1>>>(data, 3);
    CHECK_LAUNCH();
    const int order[] = {6, 1003, 6, 1002, 4, 1001, 2};
    for (int i = 0; i < 7; i++) {
        EXPECT(data[i] == order[i]);
    }

    data[0] = 0;
    chain<<<1, 1>>>(data, 20000);
    CHECK_LAUNCH();
    EXPECT(data[0] == 20001);

    for (int i = 0; i < 64; i++) {
        data[64 + i] = i;
    }
    memory<<<1, 1>>>(data, data + 64, 64, errors);
    CHECK_LAUNCH();
    EXPECT(errors[0] == cudaSuccess && errors[1] == cudaSuccess && errors[2] != cudaSuccess);
    EXPECT(data[0] == 0x11111112 && data[31] == 0x11111112 && data[32] == 0 && data[63] == 31);

    queries<<<1, 1>>>(data);
    CHECK_LAUNCH();
    int count, processors, current;
    size_t heap;
    CHECK(cudaGetDeviceCount(&count));
    CHECK(cudaGetDevice(&current));
    CHECK(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaDeviceGetLimit(&heap, cudaLimitMallocHeapSize));
    EXPECT(data[0] == current && data[1] == count && data[2] == processors);
    EXPECT(data[3] == (int)(heap >> 10) && data[4] > 0 && data[5] > 0);
    EXPECT(data[6] == 0 && data[7] == 1 && data[8] == 5);

    std::vector<int> wanted(4096);
    unsigned state = 1;
    for (int &v : wanted) {
        state = state * 1664525u + 1013904223u;
        v = (int)(state >> 8);
    }
    std::copy(wanted.begin(), wanted.end(), data);
    quicksort<<<1, 1>>>(data, 0, 4095, 0);
    CHECK_LAUNCH();
    std::sort(wanted.begin(), wanted.end());
    EXPECT(std::equal(wanted.begin(), wanted.end(), data));

    data[0] = data[1] = -1;
    nest<<<1, 1>>>(data, 0);
    CHECK_LAUNCH();
    EXPECT(data[0] == 23 && data[1] == 23);
    std::printf("PASS\n");
    return 0;
}
