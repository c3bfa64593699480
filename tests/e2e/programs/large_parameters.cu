// SPDX-License-Identifier: Apache-2.0
//
// Kernel parameters: structs by value of many sizes and alignments, 4,096 bytes in all.
#include "e2e.h"

struct Small {
    char c;
    double d;
    short s;
};
struct alignas(16) Aligned {
    float4 v;
    int n;
};
struct Big {
    int values[900];
    char tail[3];
};

__global__ void read(char a, Small small, short b, Aligned aligned, Big big, long long last,
                     int *out)
{
    int i = threadIdx.x;
    if (i == 0) {
        out[0] = a + small.c + small.s + b;
        out[1] = (int)(small.d * 4);
        out[2] = (int)(aligned.v.x + aligned.v.y * 10 + aligned.v.z * 100 + aligned.v.w * 1000);
        out[3] = aligned.n + (int)(last >> 40);
        out[4] = big.tail[0] + big.tail[1] + big.tail[2];
    }
    int sum = 0; // indexed by lane: the parameter block itself is addressed
    for (int j = i; j < 900; j += 32) {
        sum += big.values[j] * (j % 3);
    }
    out[8 + i] = sum;
}

struct Most {
    unsigned char bytes[4096 - 8];
};

__global__ void checksum(Most most, unsigned *out)
{
    unsigned sum = 0;
    for (int i = threadIdx.x; i < (int)sizeof(most.bytes); i += blockDim.x) {
        sum += most.bytes[i] * (i + 1);
    }
    atomicAdd(out, sum);
}

int main()
{
    Big big;
    for (int i = 0; i < 900; i++) {
        big.values[i] = i * 7 - 1000;
    }
    memcpy(big.tail, "\1\2\4", 3);
    Aligned aligned{make_float4(1, 2, 3, 4), 77};
    Device<int> out(40);
    read<<<1, 32>>>(1, Small{2, 1.25, 3}, 4, aligned, big, 5ll << 40, out);
    CHECK_LAUNCH();
    std::vector<int> got = out.get();
    EXPECT(got[0] == 10 && got[1] == 5 && got[2] == 4321 && got[3] == 82 && got[4] == 7);
    for (int i = 0; i < 32; i++) {
        int sum = 0;
        for (int j = i; j < 900; j += 32) {
            sum += big.values[j] * (j % 3);
        }
        EXPECT(got[8 + i] == sum);
    }

    Most most;
    unsigned want = 0;
    for (int i = 0; i < (int)sizeof(most.bytes); i++) {
        most.bytes[i] = (unsigned char)(i * 31 + 7);
        want += most.bytes[i] * (unsigned)(i + 1);
    }
    Device<unsigned> sum(1);
    sum.fill(0);
    checksum<<<1, 128>>>(most, sum);
    CHECK_LAUNCH();
    EXPECT(sum.get()[0] == want);
    return pass();
}
