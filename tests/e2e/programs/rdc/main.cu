// SPDX-License-Identifier: Apache-2.0
//
// Several translation units with -rdc=true: a kernel here calls device functions and reads
// variables that another unit defines, directly and by pointer; that unit launches its own kernel.
#include "shared.h"
#include "../e2e.h"

__device__ int table[8];

__global__ void use_other_unit(int *out)
{
    int i = threadIdx.x;
    out[i] = other_unit(i) + coefficients[i % 4] + get_operation(i)(i);
    atomicAdd(&counter, 1);
}

int main()
{
    const int n = 64;
    Device<int> out(n);
    const int c[4] = {1000, 2000, 3000, 4000};
    set_coefficients(c);
    int t[8];
    for (int i = 0; i < 8; i++) {
        t[i] = i * i;
    }
    CHECK(cudaMemcpyToSymbol(table, t, sizeof(t)));
    use_other_unit<<<1, n>>>(out);
    CHECK_LAUNCH();
    std::vector<int> got = out.get();
    for (int i = 0; i < n; i++) {
        int want = i * 10 + t[i % 8] + c[i % 4] + (i % 2 ? -i : i + 7);
        EXPECT(got[i] == want);
    }
    int value = 0;
    CHECK(cudaMemcpyFromSymbol(&value, counter, sizeof(value)));
    EXPECT(value == 100 + n);
    launch_in_other_unit(out, n);
    CHECK_LAUNCH();
    got = out.get();
    for (int i = 0; i < n; i++) {
        EXPECT(got[i] == 100 + n - i + 5);
    }
    return pass();
}
