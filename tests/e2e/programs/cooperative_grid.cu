// SPDX-License-Identifier: Apache-2.0
//
// Cooperative launch with grid.sync(): neighbours' writes are seen; one block too many is refused.
// e2e-forms: lane warp
#include <cooperative_groups.h>

#include "e2e.h"

namespace cg = cooperative_groups;

__global__ void neighbours(int *a, int *difference, int w, int h)
{
    cg::grid_group grid = cg::this_grid();
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    for (int round = 1; round <= 5; round++) {
        a[y * w + x] = round * 100 + y * w + x;
        grid.sync();
        int nx = (x + 1) % w, ny = (y + 1) % h;
        difference[y * w + x] |= a[ny * w + nx] - (round * 100 + ny * w + nx);
        grid.sync();
    }
}

__global__ void sum(int *data, int n)
{
    cg::grid_group grid = cg::this_grid();
    for (int half = n / 2; half > 0; half /= 2) {
        for (int i = (int)grid.thread_rank(); i < half; i += (int)grid.size()) {
            data[i] += data[i + half];
        }
        grid.sync();
    }
}

int main()
{
    int supported = 0, sms = 0, per_sm = 0;
    CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, 0));
    EXPECT(supported == 1);
    int w = 4, h = 2; // 2 x 1 blocks of 2 x 2 threads
    Device<int> a(w * h), difference(w * h);
    difference.fill(0);
    int *pa = a, *pd = difference;
    void *arguments[] = {&pa, &pd, &w, &h};
    CHECK(cudaLaunchCooperativeKernel((const void *)neighbours, dim3(2, 1), dim3(2, 2), arguments,
                                      0, 0));
    CHECK_LAUNCH();
    expect_equal(difference.get(), std::vector<int>(w * h, 0));

    int n = 1024, want = 0;
    std::vector<int> data(n);
    for (int i = 0; i < n; i++) {
        want += data[i] = i * 3 - 7;
    }
    Device<int> d(data);
    pd = d;
    void *more[] = {&pd, &n};
    CHECK(cudaLaunchCooperativeKernel((const void *)sum, dim3(4), dim3(64), more, 0, 0));
    CHECK_LAUNCH();
    EXPECT(d.get()[0] == want);

    CHECK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, sum, 64, 0));
    EXPECT_ERROR(cudaLaunchCooperativeKernel((const void *)sum, dim3(sms * per_sm + 1), dim3(64),
                                             more, 0, 0),
                 cudaErrorCooperativeLaunchTooLarge);
    EXPECT(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
    return pass();
}
