// SPDX-License-Identifier: Apache-2.0
//
// Five-point stencil with a shared halo, repeated, two buffers swapped by the host.
#include "e2e.h"

constexpr int tile = 16;

__global__ void step(const float *in, float *out, int w, int h)
{
    __shared__ float s[tile + 2][tile + 2];
    int x = blockIdx.x * tile + threadIdx.x, y = blockIdx.y * tile + threadIdx.y;
    int cx = min(x, w - 1), cy = min(y, h - 1);
    int sx = threadIdx.x + 1, sy = threadIdx.y + 1;
    s[sy][sx] = in[cy * w + cx];
    if (threadIdx.x == 0) {
        s[sy][0] = in[cy * w + max(cx - 1, 0)];
    }
    if (threadIdx.x == tile - 1) {
        s[sy][tile + 1] = in[cy * w + min(cx + 1, w - 1)];
    }
    if (threadIdx.y == 0) {
        s[0][sx] = in[max(cy - 1, 0) * w + cx];
    }
    if (threadIdx.y == tile - 1) {
        s[tile + 1][sx] = in[min(cy + 1, h - 1) * w + cx];
    }
    __syncthreads();
    if (x > 0 && y > 0 && x < w - 1 && y < h - 1) {
        out[y * w + x] =
            0.2f * (s[sy][sx] + s[sy - 1][sx] + s[sy + 1][sx] + s[sy][sx - 1] + s[sy][sx + 1]);
    } else if (x < w && y < h) {
        out[y * w + x] = s[sy][sx];
    }
}

int main()
{
    const int w = 50, h = 39;
    Random random(11);
    std::vector<float> a(w * h), b(w * h);
    for (auto &x : a) {
        x = random.uniform();
    }
    Device<float> da(a), db(w * h);
    float *from = da, *to = db;
    for (int i = 0; i < 10; i++) {
        step<<<dim3((w + tile - 1) / tile, (h + tile - 1) / tile), dim3(tile, tile)>>>(from, to, w,
                                                                                       h);
        std::swap(from, to);
        b = a;
        for (int y = 1; y < h - 1; y++) {
            for (int x = 1; x < w - 1; x++) {
                const float *p = &a[y * w + x];
                b[y * w + x] = 0.2f * (p[0] + p[-w] + p[w] + p[-1] + p[1]);
            }
        }
        a.swap(b);
    }
    CHECK_LAUNCH();
    expect_near(da.get(), a, 1e-5);
    return pass();
}
