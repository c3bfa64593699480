// SPDX-License-Identifier: Apache-2.0
//
// k-means clustering: shared partial sums with float atomics, several iterations on the host's
// word; integer coordinates keep every sum exact.
#include "e2e.h"

constexpr int clusters = 5;

__global__ void assign(const int2 *points, int n, const float2 *centres, int *label, int *sums)
{
    __shared__ int local[clusters * 3];
    for (int i = threadIdx.x; i < clusters * 3; i += blockDim.x) {
        local[i] = 0;
    }
    __syncthreads();
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        float best = 3.4e38f;
        int which = 0;
        for (int c = 0; c < clusters; c++) {
            float dx = __fadd_rn(points[i].x, -centres[c].x),
                  dy = __fadd_rn(points[i].y, -centres[c].y);
            float d = __fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy));
            if (d < best) {
                best = d;
                which = c;
            }
        }
        label[i] = which;
        atomicAdd(&local[which * 3], points[i].x);
        atomicAdd(&local[which * 3 + 1], points[i].y);
        atomicAdd(&local[which * 3 + 2], 1);
    }
    __syncthreads();
    for (int j = threadIdx.x; j < clusters * 3; j += blockDim.x) {
        atomicAdd(&sums[j], local[j]);
    }
}

int main()
{
    const int n = 2000;
    Random random(31);
    std::vector<int2> points(n);
    for (auto &p : points) {
        p = make_int2(random.below(1000), random.below(1000));
    }
    std::vector<float2> centres(clusters);
    for (int c = 0; c < clusters; c++) {
        centres[c] = make_float2((float)points[c].x, (float)points[c].y);
    }
    Device<int2> dp(points);
    Device<float2> dc(clusters);
    Device<int> label(n), sums(clusters * 3);
    for (int round = 0; round < 6; round++) {
        dc.put(centres);
        sums.fill(0);
        assign<<<(n + 127) / 128, 128>>>(dp, n, dc, label, sums);
        CHECK_LAUNCH();
        std::vector<int> got = label.get(), s = sums.get(), want(clusters * 3);
        for (int i = 0; i < n; i++) {
            float best = 3.4e38f;
            int which = 0;
            for (int c = 0; c < clusters; c++) {
                volatile float dx = points[i].x - centres[c].x, dy = points[i].y - centres[c].y;
                volatile float xx = dx * dx, yy = dy * dy;
                float d = xx + yy;
                if (d < best) {
                    best = d;
                    which = c;
                }
            }
            EXPECT(got[i] == which);
            want[which * 3] += points[i].x;
            want[which * 3 + 1] += points[i].y;
            want[which * 3 + 2]++;
        }
        expect_equal(s, want);
        for (int c = 0; c < clusters; c++) {
            centres[c] =
                make_float2((float)s[c * 3] / s[c * 3 + 2], (float)s[c * 3 + 1] / s[c * 3 + 2]);
        }
    }
    return pass();
}
