// SPDX-License-Identifier: Apache-2.0
//
// A kernel that the engine parses but does not compile, beside one that it does: its launch fails
// by name with 801 (cudaErrorNotSupported), the other one still runs. When `mma` is compiled one
// day, another instruction that is not belongs here and in test_command.py.
#include "e2e.h"

__global__ void good(int *p)
{
    *p = 7;
}

__global__ void uncompiled(int *p)
{
    int a = 1, b = 2, c = 3, d = 4;
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+r"(a), "+r"(b)
                 : "r"(c), "r"(d));
    *p = a + b;
}

int main()
{
    Device<int> d(1);
    for (int i = 0; i < 2; i++) {
        uncompiled<<<1, 32>>>(d);
        EXPECT(cudaGetLastError() == cudaErrorNotSupported);
        CHECK(cudaDeviceSynchronize());
        good<<<1, 1>>>(d);
        CHECK_LAUNCH();
        EXPECT(d.get()[0] == 7);
    }
    return pass();
}
