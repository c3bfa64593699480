// SPDX-License-Identifier: Apache-2.0
//
// SHA-256 of many short messages, one per thread; the first against the published digest of "abc".
#include "e2e.h"

__constant__ uint32_t round_keys[64];

__host__ __device__ inline uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

__host__ __device__ void sha256_block(const uint32_t *k, const uint32_t *block, uint32_t *h)
{
    uint32_t w[64], s[8];
    for (int i = 0; i < 16; i++) {
        w[i] = block[i];
    }
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) + w[i - 7] +
               (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
    }
    for (int i = 0; i < 8; i++) {
        s[i] = h[i];
    }
    for (int i = 0; i < 64; i++) {
        uint32_t t1 = s[7] + (rotr(s[4], 6) ^ rotr(s[4], 11) ^ rotr(s[4], 25)) +
                      ((s[4] & s[5]) ^ (~s[4] & s[6])) + k[i] + w[i];
        uint32_t t2 = (rotr(s[0], 2) ^ rotr(s[0], 13) ^ rotr(s[0], 22)) +
                      ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
        for (int j = 7; j > 0; j--) {
            s[j] = s[j - 1];
        }
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) {
        h[i] += s[i];
    }
}

__host__ __device__ void message(int number, uint32_t *block)
{
    for (int i = 0; i < 16; i++) {
        block[i] = 0;
    }
    if (number == 0) { // "abc", padded
        block[0] = 0x61626380u;
        block[15] = 24;
    } else {
        block[0] = (uint32_t)number;
        block[1] = 0x80000000u;
        block[15] = 32;
    }
}

__host__ __device__ void start(uint32_t *h)
{
    const uint32_t init[8] = {0x6a09e667u, 0xbb67ae85u, 0x3c6ef372u, 0xa54ff53au,
                              0x510e527fu, 0x9b05688cu, 0x1f83d9abu, 0x5be0cd19u};
    for (int i = 0; i < 8; i++) {
        h[i] = init[i];
    }
}

__global__ void hash(uint32_t *digests, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) {
        uint32_t block[16], h[8];
        message(i, block);
        start(h);
        sha256_block(round_keys, block, h);
        for (int j = 0; j < 8; j++) {
            digests[i * 8 + j] = h[j];
        }
    }
}

int main()
{
    const int n = 300;
    // The round keys are the first 32 fractional bits of the cube roots of the first 64 primes.
    std::vector<uint32_t> k;
    for (int p = 2; k.size() < 64; p++) {
        bool prime = true;
        for (int q = 2; q * q <= p; q++) {
            prime = prime && p % q != 0;
        }
        if (prime) {
            long double root = cbrtl((long double)p);
            k.push_back((uint32_t)((root - floorl(root)) * 4294967296.0L));
        }
    }
    EXPECT(k[0] == 0x428a2f98u && k[63] == 0xc67178f2u);
    CHECK(cudaMemcpyToSymbol(round_keys, k.data(), sizeof(round_keys)));
    Device<uint32_t> d(n * 8);
    hash<<<(n + 63) / 64, 64>>>(d, n);
    CHECK_LAUNCH();
    std::vector<uint32_t> got = d.get();
    const uint32_t abc[8] = {0xba7816bfu, 0x8f01cfeau, 0x414140deu, 0x5dae2223u,
                             0xb00361a3u, 0x96177a9cu, 0xb410ff61u, 0xf20015adu};
    EXPECT(memcmp(got.data(), abc, sizeof(abc)) == 0);
    for (int i = 0; i < n; i++) {
        uint32_t block[16], h[8];
        message(i, block);
        start(h);
        sha256_block(k.data(), block, h);
        EXPECT(memcmp(&got[i * 8], h, sizeof(h)) == 0);
    }
    return pass();
}
