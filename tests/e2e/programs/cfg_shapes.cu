// SPDX-License-Identifier: Apache-2.0
//
// Shapes of control flow around barriers: a barrier between loops, nested loops whose trip counts
// differ by block, a barrier before return, a barrier in a loop with break and continue, a value
// defined in one arm only, a large private array, a goto into shared code.
#include "e2e.h"

constexpr int block = 64;

__global__ void between_loops(int *out)
{
    __shared__ int s[block];
    int t = threadIdx.x, sum = 0;
    for (int i = 0; i <= t; i++) {
        sum += i;
    }
    s[t] = sum;
    __syncthreads();
    for (int i = 0; i < block - t; i++) {
        sum += s[i] & 3;
    }
    out[blockIdx.x * block + t] = sum;
}

__global__ void nested(int *out)
{
    __shared__ int s[block];
    int t = threadIdx.x;
    s[t] = t;
    __syncthreads();
    for (int i = 0; i < (int)blockIdx.x + 1; i++) {
        for (int j = 0; j < (i + (int)blockIdx.x) % 3; j++) {
            int next = s[(t + 1) % block];
            __syncthreads();
            s[t] = next + j;
            __syncthreads();
            if (j == 1) {
                break;
            }
        }
        if (i % 2 == 0) {
            continue;
        }
        __syncthreads();
    }
    out[blockIdx.x * block + t] = s[t];
    __syncthreads();
}

__global__ void one_arm(int *out, int never)
{
    __shared__ int s[block];
    int t = threadIdx.x, value;
    if (t % 3 == 0) {
        value = t * 2;
        s[t] = value;
    } else {
        s[t] = -1;
    }
    __syncthreads();
    int array[200];
    for (int i = 0; i < 200; i++) {
        array[i] = s[(i + t) % block];
    }
    __syncthreads();
    if (t % 3 == 0) {
        out[blockIdx.x * block + t] = value + array[never + t];
    } else {
        out[blockIdx.x * block + t] = array[199 - t];
    }
    while (never) { // a barrier followed by a loop that never ends, never entered
        __syncthreads();
    }
}

__global__ void jumps(const int *in, int *out)
{
    int t = threadIdx.x, value = in[t], steps = 0;
    if (value % 2) {
        goto odd;
    }
even:
    value /= 2;
    steps++;
    if (value == 0) {
        goto done;
    }
    if (value % 2 == 0) {
        goto even;
    }
odd:
    if (value == 1) {
        goto done;
    }
    value = 3 * value + 1;
    steps++;
    if (steps < 200) {
        goto even;
    }
done:
    out[t] = steps;
}

int main()
{
    const int blocks = 4, n = blocks * block;
    Device<int> d(n);
    between_loops<<<blocks, block>>>(d);
    CHECK_LAUNCH();
    std::vector<int> got = d.get();
    for (int i = 0; i < n; i++) {
        int t = i % block, sum = t * (t + 1) / 2;
        for (int j = 0; j < block - t; j++) {
            sum += (j * (j + 1) / 2) & 3;
        }
        EXPECT(got[i] == sum);
    }
    nested<<<blocks, block>>>(d);
    CHECK_LAUNCH();
    got = d.get();
    for (int b = 0; b < blocks; b++) {
        std::vector<int> s(block), next(block);
        for (int t = 0; t < block; t++) {
            s[t] = t;
        }
        for (int i = 0; i < b + 1; i++) {
            for (int j = 0; j < (i + b) % 3; j++) {
                for (int t = 0; t < block; t++) {
                    next[t] = s[(t + 1) % block] + j;
                }
                s = next;
                if (j == 1) {
                    break;
                }
            }
        }
        for (int t = 0; t < block; t++) {
            EXPECT(got[b * block + t] == s[t]);
        }
    }
    one_arm<<<blocks, block>>>(d, 0);
    CHECK_LAUNCH();
    got = d.get();
    auto shared = [](int i) { return i % block % 3 == 0 ? i % block * 2 : -1; };
    for (int i = 0; i < n; i++) {
        int t = i % block;
        EXPECT(got[i] == (t % 3 == 0 ? t * 2 + shared(t + t) : shared(199 - t + t)));
    }
    std::vector<int> in(block);
    for (int i = 0; i < block; i++) {
        in[i] = i;
    }
    Device<int> din(in), dout(block);
    jumps<<<1, block>>>(din, dout);
    CHECK_LAUNCH();
    got = dout.get();
    for (int i = 0; i < block; i++) {
        int value = i, steps = 0;
        if (value == 0) {
            steps = 1;
        }
        while (value > 1 && steps < 200) {
            value = value % 2 ? 3 * value + 1 : value / 2;
            steps++;
        }
        EXPECT(got[i] == steps);
    }
    return pass();
}
