// SPDX-License-Identifier: Apache-2.0
//
// Static objects whose constructors launch kernels before main and whose destructors free memory
// after it; a kernel launched as an argument of another launch (nested call configuration).
#include "e2e.h"

__global__ void fill(int *p, int n, int value)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        p[i] = value;
    }
}

struct Table {
    int *p = nullptr;
    int n;
    explicit Table(int count, int value) : n(count)
    {
        CHECK(cudaMalloc((void **)&p, n * sizeof(int)));
        fill<<<(n + 31) / 32, 32>>>(p, n, value);
        CHECK(cudaGetLastError());
    }
    ~Table()
    {
        cudaError_t error = cudaFree(p); // the runtime may be unloading already
        if (error != cudaSuccess && error != cudaErrorCudartUnloading) {
            fprintf(stderr, "free in a destructor: %d\n", (int)error);
            _Exit(1);
        }
    }
};

static Table first(100, 17);
static Table second(50, -3);

static int *launch_inside(int *p)
{
    fill<<<1, 32>>>(p, 10, 5); // between Push and Pop of the outer launch
    return p;
}

int main()
{
    std::vector<int> a(100), b(50);
    CHECK(cudaMemcpy(a.data(), first.p, 400, cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(b.data(), second.p, 200, cudaMemcpyDeviceToHost));
    expect_equal(a, std::vector<int>(100, 17));
    expect_equal(b, std::vector<int>(50, -3));
    fill<<<2, 32>>>(launch_inside(first.p) + 10, 40, 6);
    CHECK_LAUNCH();
    CHECK(cudaMemcpy(a.data(), first.p, 400, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 100; i++) {
        EXPECT(a[i] == (i < 10 ? 5 : i < 50 ? 6 : 17));
    }
    return pass();
}
