// SPDX-License-Identifier: Apache-2.0
//
// Every atomic function on global and shared memory, their old values, a compare-and-swap loop on
// double, system and block scopes.
#include "e2e.h"

struct Results {
    int add, sub, low, high, exchange_seen, bits_and, bits_or, bits_xor;
    unsigned increment, decrement;
    unsigned long long big, big_max;
    float real;
    double precise, by_cas;
    unsigned short small;
};

__device__ double cas_add(double *address, double value)
{
    unsigned long long *word = (unsigned long long *)address, old = *word, assumed;
    do {
        assumed = old;
        old = atomicCAS(word, assumed,
                        (unsigned long long)__double_as_longlong(
                            value + __longlong_as_double((long long)assumed)));
    } while (assumed != old);
    return __longlong_as_double((long long)old);
}

__device__ void all(Results *r, int i, int *order)
{
    int old = atomicAdd(&r->add, 2);
    order[old / 2] = 1; // each old value exactly once
    atomicSub(&r->sub, i);
    atomicMin(&r->low, 50 - i);
    atomicMax(&r->high, i - 50);
    atomicOr(&r->bits_or, 1 << (i % 31));
    atomicAnd(&r->bits_and, ~(1 << (i % 7)));
    atomicXor(&r->bits_xor, i);
    atomicInc(&r->increment, 9);
    atomicDec(&r->decrement, 9);
    atomicAdd(&r->big, 1ull << 33);
    atomicMax(&r->big_max, (unsigned long long)i << 40);
    atomicAdd(&r->real, 0.5f);
    atomicAdd_system(&r->precise, 0.25);
    cas_add(&r->by_cas, 1.5);
    unsigned short seen = atomicCAS(&r->small, (unsigned short)0, (unsigned short)(i + 1));
    if (seen == 0) {
        atomicExch(&r->exchange_seen, i + 1);
    }
}

__global__ void on_global(Results *r, int *order)
{
    all(r, threadIdx.x, order);
}

__global__ void on_shared(Results *out, int *order)
{
    __shared__ Results r;
    if (threadIdx.x == 0) {
        r = *out;
    }
    __syncthreads();
    all(&r, threadIdx.x, order);
    __syncthreads();
    if (threadIdx.x == 0) {
        *out = r;
    }
}

int main()
{
    const int n = 96;
    for (int shared = 0; shared < 2; shared++) {
        std::vector<Results> start(1);
        memset((void *)start.data(), 0, sizeof(Results));
        start[0].bits_and = 0xff;
        start[0].low = 1000;
        start[0].high = -1000;
        Device<Results> d(start);
        Device<int> order(n);
        order.fill(0);
        if (shared) {
            on_shared<<<1, n>>>(d, order);
        } else {
            on_global<<<1, n>>>(d, order);
        }
        CHECK_LAUNCH();
        Results r = d.get()[0];
        int sum = 0, bits = 0, all_or = 0;
        unsigned inc = 0, dec = 0;
        for (int i = 0; i < n; i++) {
            sum += i;
            bits ^= i;
            all_or |= 1 << (i % 31);
            inc = inc >= 9 ? 0 : inc + 1;
            dec = dec == 0 || dec > 9 ? 9 : dec - 1;
        }
        EXPECT(r.add == 2 * n && r.sub == -sum && r.low == 50 - (n - 1) && r.high == n - 1 - 50);
        EXPECT(r.bits_or == all_or && r.bits_and == 0x80 && r.bits_xor == bits);
        EXPECT(r.increment == inc && r.decrement == dec);
        EXPECT(r.big == (unsigned long long)n << 33);
        EXPECT(r.big_max == (unsigned long long)(n - 1) << 40);
        EXPECT(r.real == 0.5f * n && r.precise == 0.25 * n && r.by_cas == 1.5 * n);
        EXPECT(r.small >= 1 && r.small <= n && r.exchange_seen == r.small);
        expect_equal(order.get(), std::vector<int>(n, 1));
    }
    return pass();
}
