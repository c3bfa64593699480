// SPDX-License-Identifier: Apache-2.0
//
// What every end-to-end program shares: checks that end the program, a device buffer, random
// numbers. The programs know nothing of this project: they are ordinary CUDA C++, checked on the
// host, print PASS and exit with 0, or say what is wrong and exit with 1. Lines of the form
// `// e2e-env: NAME=VALUE` in a program tell the runner (run.py) which environment it wants, and
// `// e2e-forms: lane warp` in which forms its kernels are to run, too.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <cuda_runtime.h>

#define FAIL(...)                                            \
    do {                                                     \
        std::fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
        std::fprintf(stderr, __VA_ARGS__);                   \
        std::fprintf(stderr, "\n");                          \
        std::exit(1);                                        \
    } while (0)

#define EXPECT(condition)                     \
    do {                                      \
        if (!(condition)) {                   \
            FAIL("not true: %s", #condition); \
        }                                     \
    } while (0)

#define EXPECT_ERROR(call, expected)                                                       \
    do {                                                                                   \
        cudaError_t error_ = (call);                                                       \
        if (error_ != (expected)) {                                                        \
            FAIL("%s: got %d (%s), want %d", #call, (int)error_, cudaGetErrorName(error_), \
                 (int)(expected));                                                         \
        }                                                                                  \
    } while (0)

#define CHECK(call) EXPECT_ERROR(call, cudaSuccess)

// After a launch: its own error, then that of the work.
#define CHECK_LAUNCH()                  \
    do {                                \
        CHECK(cudaGetLastError());      \
        CHECK(cudaDeviceSynchronize()); \
    } while (0)

template <typename T> struct Device {
    T *p = nullptr;
    size_t n;

    explicit Device(size_t count) : n(count)
    {
        CHECK(cudaMalloc((void **)&p, n * sizeof(T)));
    }
    explicit Device(const std::vector<T> &host) : Device(host.size())
    {
        put(host);
    }
    Device(const Device &) = delete;
    Device &operator=(const Device &) = delete;
    ~Device()
    {
        cudaFree(p);
    }
    void put(const std::vector<T> &host)
    {
        CHECK(cudaMemcpy(p, host.data(), n * sizeof(T), cudaMemcpyHostToDevice));
    }
    std::vector<T> get() const
    {
        std::vector<T> host(n);
        CHECK(cudaMemcpy(host.data(), p, n * sizeof(T), cudaMemcpyDeviceToHost));
        return host;
    }
    void fill(int byte)
    {
        CHECK(cudaMemset(p, byte, n * sizeof(T)));
    }
    operator T *() const
    {
        return p;
    }
};

struct Random { // splitmix64
    uint64_t state;

    explicit Random(uint64_t seed = 1) : state(seed)
    {
    }
    uint64_t next()
    {
        uint64_t z = (state += 0x9e3779b97f4a7c15ull);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
        return z ^ (z >> 31);
    }
    float uniform(float low = 0.0f, float high = 1.0f)
    {
        return low + (high - low) * (float)((double)(next() >> 11) * 0x1p-53);
    }
    int below(int n)
    {
        return (int)(next() % (uint64_t)n);
    }
};

inline bool near(double got, double want, double tolerance)
{
    return std::fabs(got - want) <= tolerance * (1.0 + std::fabs(want));
}

template <typename T>
void expect_near(const std::vector<T> &got, const std::vector<T> &want, double tolerance)
{
    EXPECT(got.size() == want.size());
    for (size_t i = 0; i < got.size(); i++) {
        if (!near((double)got[i], (double)want[i], tolerance)) {
            FAIL("[%zu]: got %.9g, want %.9g", i, (double)got[i], (double)want[i]);
        }
    }
}

template <typename T> void expect_equal(const std::vector<T> &got, const std::vector<T> &want)
{
    EXPECT(got.size() == want.size());
    for (size_t i = 0; i < got.size(); i++) {
        if (!(got[i] == want[i])) {
            FAIL("[%zu]: got %.17g, want %.17g", i, (double)got[i], (double)want[i]);
        }
    }
}

inline int pass()
{
    std::printf("PASS\n");
    return 0;
}
