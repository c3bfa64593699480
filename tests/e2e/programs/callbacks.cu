// SPDX-License-Identifier: Apache-2.0
//
// Host functions and stream callbacks: order within each stream, their data, many streams at once.
#include <atomic>

#include "e2e.h"

__global__ void set(int *p, int value)
{
    *p = value;
}

struct Step {
    int *device_visible;
    int want;
    std::atomic<int> *order;
    std::atomic<int> *errors;
    int position;
};

static void CUDART_CB host_function(void *data)
{
    Step *s = (Step *)data;
    if (*(volatile int *)s->device_visible != s->want || (*s->order)++ != s->position) {
        (*s->errors)++;
    }
}

static void CUDART_CB callback(cudaStream_t stream, cudaError_t status, void *data)
{
    Step *s = (Step *)data;
    if (status != cudaSuccess || stream == nullptr) {
        (*s->errors)++;
    }
    host_function(data);
}

int main()
{
    const int streams = 6, steps = 20;
    std::atomic<int> errors{0};
    std::vector<std::atomic<int>> order(streams);
    std::vector<Step> data(streams * steps);
    std::vector<cudaStream_t> stream(streams);
    int *mapped;
    CHECK(cudaHostAlloc((void **)&mapped, streams * sizeof(int), cudaHostAllocMapped));
    for (int s = 0; s < streams; s++) {
        order[s] = 0;
        CHECK(cudaStreamCreate(&stream[s]));
    }
    for (int i = 0; i < steps; i++) {
        for (int s = 0; s < streams; s++) {
            Step &step = data[s * steps + i];
            step.device_visible = mapped + s;
            step.want = s * 1000 + i;
            step.order = &order[s];
            step.errors = &errors;
            step.position = i;
            set<<<1, 1, 0, stream[s]>>>(mapped + s, step.want);
            if (i % 2 == 0) {
                CHECK(cudaLaunchHostFunc(stream[s], host_function, &step));
            } else {
                CHECK(cudaStreamAddCallback(stream[s], callback, &step, 0));
            }
        }
    }
    CHECK(cudaDeviceSynchronize());
    EXPECT(errors == 0);
    for (int s = 0; s < streams; s++) {
        EXPECT(order[s] == steps);
        CHECK(cudaStreamDestroy(stream[s]));
    }
    EXPECT_ERROR(cudaLaunchHostFunc(0, nullptr, nullptr), cudaErrorInvalidValue);
    CHECK(cudaFreeHost(mapped));
    return pass();
}
