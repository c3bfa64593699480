// SPDX-License-Identifier: Apache-2.0
//
// Mandelbrot set: divergent loop counts. Additions and products are kept apart from each other
// with the _rn intrinsics, so that the host computes the very same iteration counts.
#include "e2e.h"

__global__ void mandelbrot(int *out, int w, int h, int limit)
{
    int px = blockIdx.x * blockDim.x + threadIdx.x, py = blockIdx.y * blockDim.y + threadIdx.y;
    if (px >= w || py >= h) {
        return;
    }
    double cx = __dadd_rn(__dmul_rn(px, 3.0 / 64), -2.0),
           cy = __dadd_rn(__dmul_rn(py, 2.0 / 64), -1.0);
    double x = 0, y = 0;
    int i = 0;
    for (; i < limit; i++) {
        double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y);
        if (__dadd_rn(xx, yy) > 4.0) {
            break;
        }
        y = __dadd_rn(__dmul_rn(__dadd_rn(x, x), y), cy);
        x = __dadd_rn(__dadd_rn(xx, -yy), cx);
    }
    out[py * w + px] = i;
}

int main()
{
    const int w = 64, h = 64, limit = 300;
    std::vector<int> want(w * h);
    for (int py = 0; py < h; py++) {
        for (int px = 0; px < w; px++) {
            volatile double cx = px * (3.0 / 64), cy = py * (2.0 / 64);
            double x = 0, y = 0, kx = cx - 2.0, ky = cy - 1.0;
            int i = 0;
            for (; i < limit; i++) {
                volatile double xx = x * x, yy = y * y, xy = (x + x) * y;
                if (xx + yy > 4.0) {
                    break;
                }
                y = xy + ky;
                x = (xx - yy) + kx;
            }
            want[py * w + px] = i;
        }
    }
    Device<int> d(w * h);
    mandelbrot<<<dim3(w / 16, h / 16), dim3(16, 16)>>>(d, w, h, limit);
    CHECK_LAUNCH();
    expect_equal(d.get(), want);
    return pass();
}
