// SPDX-License-Identifier: Apache-2.0
//
// A lock that the lanes of one warp contend for: needs progress of every lane (independent thread
// scheduling). Both loop shapes in use: try-lock inside the loop, and spin outside.
// e2e-forms: lane warp
#include "e2e.h"

__device__ int lock_word, second_lock;

__global__ void try_lock_loop(volatile int *shared_value)
{
    for (bool done = false; !done;) {
        if (atomicCAS(&lock_word, 0, 1) == 0) {
            __threadfence();
            *shared_value = *shared_value + 1;
            __threadfence();
            atomicExch(&lock_word, 0);
            done = true;
        }
    }
}

__global__ void spin_then_work(volatile int *shared_value)
{
    while (atomicCAS(&second_lock, 0, 1) != 0) {
        __nanosleep(10);
    }
    __threadfence();
    *shared_value = *shared_value + 2;
    __threadfence();
    atomicExch(&second_lock, 0);
}

int main()
{
    Device<int> value(1);
    value.fill(0);
    try_lock_loop<<<2, 64>>>(value);
    CHECK_LAUNCH();
    EXPECT(value.get()[0] == 128);
    value.fill(0);
    spin_then_work<<<2, 64>>>(value);
    CHECK_LAUNCH();
    EXPECT(value.get()[0] == 256);
    return pass();
}
