// SPDX-License-Identifier: Apache-2.0
//
// Vector sum with a partial last block.
#include "e2e.h"

__global__ void add(const float *a, const float *b, float *c, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        c[i] = a[i] + b[i];
    }
}

int main()
{
    const int n = 10007;
    Random random;
    std::vector<float> a(n), b(n), want(n);
    for (int i = 0; i < n; i++) {
        a[i] = random.uniform(-1, 1);
        b[i] = random.uniform(-1, 1);
        want[i] = a[i] + b[i];
    }
    Device<float> da(a), db(b), dc(n);
    add<<<(n + 255) / 256, 256>>>(da, db, dc, n);
    CHECK_LAUNCH();
    expect_equal(dc.get(), want);
    return pass();
}
