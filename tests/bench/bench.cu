// SPDX-License-Identifier: Apache-2.0
//
// The benchmark: the 15 kernels of kernels.cuh against natural C on one thread and against PoCL,
// then the cost of calls, launches and copies, all interleaved in one process. Prints ratios; it
// checks that results agree and asserts no time. Run it through `infinirt run` (tools/bench.sh).
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "kernels.cuh"
#include "native.h"

static void check(cudaError_t error, const char *what)
{
    if (error != cudaSuccess) {
        std::fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}
#define CHECK(call) check(call, #call)

static double now_ms()
{
    using namespace std::chrono;
    return duration<double, std::milli>(steady_clock::now().time_since_epoch()).count();
}

static double median(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

enum fill { ZERO, UNIT, POSITIVE, BITS, STARTS, COLUMNS };

struct buffer {
    size_t count;
    fill how;
};

struct problem {
    const char *name, *opencl;
    std::vector<buffer> buffers; // the last one is the output
    void (*native)(void *const *);
    void (*launch)(void *const *);
    size_t global[2], local[2];
    double tolerance; // relative, of the elements that are compared as float; 0: bit patterns
    size_t allowed;   // elements that may differ (floating-point contraction moves borders)
};

#define P(type, i) (static_cast<type *>(b[i]))

static const std::vector<problem> problems = {
    {"saxpy", "saxpy", {{SAXPY_N, UNIT}, {SAXPY_N, UNIT}, {SAXPY_N, ZERO}}, native_saxpy,
     [](void *const *b) { saxpy<<<SAXPY_N / 256, 256>>>(P(float, 0), P(float, 1), P(float, 2)); },
     {SAXPY_N, 1}, {256, 1}, 1e-5, 0},
    {"sgemm naive", "gemm_naive",
     {{GEMM_N * GEMM_N, UNIT}, {GEMM_N * GEMM_N, UNIT}, {GEMM_N * GEMM_N, ZERO}}, native_gemm,
     [](void *const *b) {
         gemm_naive<<<dim3(GEMM_N / 32, GEMM_N / 8), dim3(32, 8)>>>(P(float, 0), P(float, 1), P(float, 2));
     },
     {GEMM_N, GEMM_N}, {32, 8}, 1e-3, 0},
    {"sgemm tiled 32", "gemm_tiled_32",
     {{GEMM_N * GEMM_N, UNIT}, {GEMM_N * GEMM_N, UNIT}, {GEMM_N * GEMM_N, ZERO}}, native_gemm,
     [](void *const *b) {
         gemm_tiled<32><<<dim3(GEMM_N / 32, GEMM_N / 32), dim3(32, 32)>>>(P(float, 0), P(float, 1), P(float, 2));
     },
     {GEMM_N, GEMM_N}, {32, 32}, 1e-3, 0},
    {"sgemm tiled 16", "gemm_tiled_16",
     {{GEMM_N * GEMM_N, UNIT}, {GEMM_N * GEMM_N, UNIT}, {GEMM_N * GEMM_N, ZERO}}, native_gemm,
     [](void *const *b) {
         gemm_tiled<16><<<dim3(GEMM_N / 16, GEMM_N / 16), dim3(16, 16)>>>(P(float, 0), P(float, 1), P(float, 2));
     },
     {GEMM_N, GEMM_N}, {16, 16}, 1e-3, 0},
    {"reduce", "reduce", {{REDUCE_N, UNIT}, {REDUCE_BLOCKS, ZERO}}, native_reduce,
     [](void *const *b) { reduce<<<REDUCE_BLOCKS, 256>>>(P(float, 0), P(float, 1)); },
     {REDUCE_BLOCKS * 256, 1}, {256, 1}, -1, 0}, // parts differ; the sum is compared
    {"stencil", "stencil", {{STENCIL_N * STENCIL_N, UNIT}, {STENCIL_N * STENCIL_N, ZERO}}, native_stencil,
     [](void *const *b) {
         stencil<<<dim3(STENCIL_N / 32, STENCIL_N / 8), dim3(32, 8)>>>(P(float, 0), P(float, 1));
     },
     {STENCIL_N, STENCIL_N}, {32, 8}, 1e-5, 0},
    {"histogram", "histogram", {{HISTOGRAM_BYTES / 4, BITS}, {256, ZERO}}, native_histogram,
     [](void *const *b) {
         cudaMemsetAsync(b[1], 0, 1024);
         histogram<<<HISTOGRAM_BLOCKS, 256>>>(P(unsigned char, 0), P(unsigned, 1));
     },
     {HISTOGRAM_BLOCKS * 256, 1}, {256, 1}, 0, 0},
    {"mandelbrot", "mandelbrot", {{MANDELBROT_N * MANDELBROT_N, ZERO}}, native_mandelbrot,
     [](void *const *b) {
         mandelbrot<<<dim3(MANDELBROT_N / 32, MANDELBROT_N / 8), dim3(32, 8)>>>(P(int, 0));
     },
     {MANDELBROT_N, MANDELBROT_N}, {32, 8}, 0, MANDELBROT_N * MANDELBROT_N / 100},
    {"n-body", "nbody", {{NBODY_N * 4, UNIT}, {NBODY_N * 4, ZERO}}, native_nbody,
     [](void *const *b) { nbody<<<NBODY_N / 128, 128>>>(P(float4, 0), P(float4, 1)); },
     {NBODY_N, 1}, {128, 1}, 1e-2, NBODY_N / 50},
    {"transpose", "transpose", {{TRANSPOSE_N * TRANSPOSE_N, BITS}, {TRANSPOSE_N * TRANSPOSE_N, ZERO}},
     native_transpose,
     [](void *const *b) {
         transpose<<<dim3(TRANSPOSE_N / 32, TRANSPOSE_N / 32), dim3(32, 8)>>>(P(float, 0), P(float, 1));
     },
     {TRANSPOSE_N, TRANSPOSE_N / 4}, {32, 8}, 0, 0},
    {"block scan", "block_scan", {{SCAN_N, BITS}, {SCAN_N, ZERO}}, native_block_scan,
     [](void *const *b) { block_scan<<<SCAN_N / SCAN_BLOCK, SCAN_BLOCK>>>(P(int, 0), P(int, 1)); },
     {SCAN_N, 1}, {SCAN_BLOCK, 1}, 0, 0},
    {"branchy", "branchy", {{BRANCHY_N, BITS}, {BRANCHY_N, ZERO}}, native_branchy,
     [](void *const *b) { branchy<<<BRANCHY_N / 256, 256>>>(P(unsigned, 0), P(unsigned, 1)); },
     {BRANCHY_N, 1}, {256, 1}, 0, 0},
    {"Black-Scholes", "black_scholes", {{OPTIONS_N, POSITIVE}, {OPTIONS_N, POSITIVE}, {OPTIONS_N, ZERO}},
     native_black_scholes,
     [](void *const *b) {
         black_scholes<<<OPTIONS_N / 256, 256>>>(P(float, 0), P(float, 1), P(float, 2));
     },
     {OPTIONS_N, 1}, {256, 1}, 1e-2, OPTIONS_N / 1000},
    {"SpMV", "spmv",
     {{SPMV_ROWS + 1, STARTS}, {SPMV_ROWS * SPMV_PER_ROW, COLUMNS}, {SPMV_ROWS * SPMV_PER_ROW, UNIT},
      {SPMV_ROWS, UNIT}, {SPMV_ROWS, ZERO}},
     native_spmv,
     [](void *const *b) {
         spmv<<<SPMV_ROWS / 256, 256>>>(P(int, 0), P(int, 1), P(float, 2), P(float, 3), P(float, 4));
     },
     {SPMV_ROWS, 1}, {256, 1}, 1e-3, SPMV_ROWS / 100},
    {"SHA-like mix", "mix", {{MIX_N, BITS}, {MIX_N, ZERO}}, native_mix,
     [](void *const *b) { mix<<<MIX_N / 256, 256>>>(P(unsigned, 0), P(unsigned, 1)); },
     {MIX_N, 1}, {256, 1}, 0, 0},
};

static unsigned random_bits()
{
    static unsigned long long state = 0x9e3779b97f4a7c15ull;
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<unsigned>(state >> 32);
}

static void fill_buffer(std::vector<unsigned> &data, fill how)
{
    for (size_t i = 0; i < data.size(); i++) {
        float value = static_cast<float>(random_bits() >> 8) / (1u << 24);
        switch (how) {
        case ZERO: data[i] = 0; break;
        case UNIT: std::memcpy(&data[i], &value, 4); break;
        case POSITIVE:
            value = 20.0f + 80.0f * value;
            std::memcpy(&data[i], &value, 4);
            break;
        case BITS: data[i] = random_bits(); break;
        case STARTS: data[i] = static_cast<unsigned>(i * SPMV_PER_ROW); break;
        case COLUMNS: data[i] = random_bits() % SPMV_ROWS; break;
        }
    }
}

static size_t differences(const problem &p, const std::vector<unsigned> &a, const std::vector<unsigned> &b)
{
    size_t count = 0;
    double sum_a = 0, sum_b = 0;
    for (size_t i = 0; i < a.size(); i++) {
        float x, y;
        std::memcpy(&x, &a[i], 4);
        std::memcpy(&y, &b[i], 4);
        sum_a += x;
        sum_b += y;
        if (p.tolerance == 0) {
            count += a[i] != b[i];
        } else if (p.tolerance > 0) {
            count += !(std::fabs(x - y) <= p.tolerance * (std::fabs(x) + 1e-2));
        }
    }
    return p.tolerance < 0 ? std::fabs(sum_a - sum_b) > 1e-4 * std::fabs(sum_a) : count;
}

static double time_of(const std::vector<double> &times) { return median(times); }

// Runs one problem in every way, interleaved; returns false when results disagree.
static bool run_problem(const problem &p, bool opencl, int rounds, double *ret_native, double *ret_pocl)
{
    std::vector<std::vector<unsigned>> host;
    std::vector<void *> host_pointers, device;
    std::vector<size_t> sizes;
    for (const buffer &b : p.buffers) {
        host.emplace_back(b.count);
        fill_buffer(host.back(), b.how);
        sizes.push_back(b.count * 4);
        void *pointer = nullptr;
        CHECK(cudaMalloc(&pointer, b.count * 4));
        CHECK(cudaMemcpy(pointer, host.back().data(), b.count * 4, cudaMemcpyHostToDevice));
        device.push_back(pointer);
    }
    for (auto &h : host) {
        host_pointers.push_back(h.data());
    }
    bool pocl = opencl && opencl_prepare(p.opencl, host_pointers.data(), sizes.data(),
                                         static_cast<int>(sizes.size())) == 0;
    std::vector<double> ours, native, theirs;
    double first = 0;
    for (int round = 0; round <= rounds; round++) {
        double t = now_ms();
        p.launch(device.data());
        CHECK(cudaDeviceSynchronize());
        double t1 = now_ms();
        p.native(host_pointers.data());
        double t2 = now_ms();
        if (pocl && opencl_run(p.global, p.local) != 0) {
            pocl = false;
        }
        double t3 = now_ms();
        if (round == 0) {
            first = t1 - t; // compiles
            continue;
        }
        ours.push_back(t1 - t);
        native.push_back(t2 - t1);
        theirs.push_back(t3 - t2);
    }
    std::vector<unsigned> result(host.back().size());
    CHECK(cudaMemcpy(result.data(), device.back(), result.size() * 4, cudaMemcpyDeviceToHost));
    size_t wrong = differences(p, host.back(), result);
    for (void *pointer : device) {
        CHECK(cudaFree(pointer));
    }
    opencl_finish();
    double mine = time_of(ours), c = time_of(native), other = time_of(theirs);
    *ret_native = c / mine;
    *ret_pocl = pocl ? other / mine : 0;
    std::printf("%-16s %9.3f %9.3f %8.2f", p.name, mine, c, c / mine);
    if (pocl) {
        std::printf(" %9.3f %8.2f", other, other / mine);
    } else {
        std::printf(" %9s %8s", "-", "-");
    }
    std::printf(" %9.1f", first);
    std::printf(wrong > p.allowed ? "  WRONG (%zu differ)\n" : "\n", wrong);
    std::fflush(stdout);
    return wrong <= p.allowed;
}

__global__ void empty() {}

static __attribute__((noinline)) int direct_call(int *out)
{
    *out = 0;
    __asm__ volatile("" ::: "memory");
    return 0;
}

static void run_api()
{
    const int calls = 1000000;
    int device = 0;
    double t0 = now_ms();
    for (int i = 0; i < calls; i++) {
        direct_call(&device);
    }
    double t1 = now_ms();
    for (int i = 0; i < calls; i++) {
        cudaGetDevice(&device);
    }
    double t2 = now_ms();
    std::printf("\ncudaGetDevice               %8.1f ns   direct call %.1f ns\n", (t2 - t1) * 1e6 / calls,
                (t1 - t0) * 1e6 / calls);

    const int launches = 20000;
    empty<<<1, 1>>>();
    CHECK(cudaDeviceSynchronize());
    t0 = now_ms();
    for (int i = 0; i < launches; i++) {
        empty<<<1, 1>>>();
        cudaDeviceSynchronize();
    }
    t1 = now_ms();
    for (int i = 0; i < launches; i++) {
        empty<<<1, 1>>>();
    }
    CHECK(cudaDeviceSynchronize());
    t2 = now_ms();
    std::printf("empty launch + synchronise  %8.3f us\n", (t1 - t0) * 1e3 / launches);
    std::printf("empty launch, in a row      %8.3f us\n", (t2 - t1) * 1e3 / launches);

    const size_t size = 64u << 20;
    std::vector<char> from(size, 1), to(size, 2);
    void *memory = nullptr;
    CHECK(cudaMalloc(&memory, size));
    std::vector<double> plain, in, out;
    for (int i = 0; i < 9; i++) {
        t0 = now_ms();
        std::memcpy(to.data(), from.data(), size);
        t1 = now_ms();
        CHECK(cudaMemcpy(memory, from.data(), size, cudaMemcpyHostToDevice));
        t2 = now_ms();
        CHECK(cudaMemcpy(to.data(), memory, size, cudaMemcpyDeviceToHost));
        double t3 = now_ms();
        plain.push_back(t1 - t0);
        in.push_back(t2 - t1);
        out.push_back(t3 - t2);
    }
    std::printf("cudaMemcpy 64 MiB           %8.2f of memcpy in, %.2f out\n", median(plain) / median(in),
                median(plain) / median(out));
    std::vector<char> small(4096);
    t0 = now_ms();
    for (int i = 0; i < launches; i++) {
        cudaMemcpy(memory, small.data(), small.size(), cudaMemcpyHostToDevice);
    }
    t1 = now_ms();
    std::printf("cudaMemcpy 4 KiB            %8.3f us\n", (t1 - t0) * 1e3 / launches);
    CHECK(cudaFree(memory));
}

// Memory in stream order, in the steady state: one block at a time, and 16 of different sizes that
// come and go in another order.
static void run_pools()
{
    enum { CALLS = 200000, LIVE = 16 };
    cudaStream_t stream;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    double best[4] = {1e9, 1e9, 1e9, 1e9};
    for (int round = 0; round < 5; round++) {
        void *block[LIVE];
        double t[5];
        t[0] = now_ms();
        for (int i = 0; i < CALLS; i++) {
            cudaMallocAsync(&block[0], 64 << 10, stream);
            cudaFreeAsync(block[0], stream);
        }
        t[1] = now_ms();
        for (int i = 0; i < CALLS; i++) {
            block[0] = std::malloc(64 << 10);
            __asm__ volatile("" : : "r"(block[0]) : "memory");
            std::free(block[0]);
        }
        t[2] = now_ms();
        for (int i = 0; i < CALLS / LIVE; i++) {
            for (int k = 0; k < LIVE; k++) {
                cudaMallocAsync(&block[k], (k + 1) * 3000, stream);
            }
            for (int k = 0; k < LIVE; k++) {
                cudaFreeAsync(block[k * 7 % LIVE], stream);
            }
        }
        t[3] = now_ms();
        for (int i = 0; i < CALLS / LIVE; i++) {
            for (int k = 0; k < LIVE; k++) {
                block[k] = std::malloc((k + 1) * 3000);
                __asm__ volatile("" : : "r"(block[k]) : "memory");
            }
            for (int k = 0; k < LIVE; k++) {
                std::free(block[k * 7 % LIVE]);
            }
        }
        t[4] = now_ms();
        for (int k = 0; k < 4; k++) {
            best[k] = std::min(best[k], (t[k + 1] - t[k]) * 1e6 / CALLS);
        }
    }
    std::printf("cudaMallocAsync + FreeAsync %8.1f ns   malloc + free %.1f ns\n", best[0], best[1]);
    std::printf("the same, 16 sizes          %8.1f ns   malloc + free %.1f ns\n", best[2], best[3]);
    CHECK(cudaStreamDestroy(stream));
}

int main(int argc, char **argv)
{
    const char *source = argc > 1 ? argv[1] : "kernels.cl";
    int rounds = argc > 2 ? std::atoi(argv[2]) : 7;
    char why[200] = "";
    bool opencl = opencl_open(source, why, sizeof why) == 0, right = true;
    if (!opencl) {
        std::printf("no comparison with PoCL: %s\n", why);
    }
    std::printf("%-16s %9s %9s %8s %9s %8s %9s\n", "kernel", "ours ms", "C ms", "vs C", "PoCL ms",
                "vs PoCL", "first ms");
    double log_native = 0, log_pocl = 0;
    int count_pocl = 0;
    for (const problem &p : problems) {
        double native, pocl;
        right &= run_problem(p, opencl, rounds, &native, &pocl);
        log_native += std::log(native);
        if (pocl > 0) {
            log_pocl += std::log(pocl);
            count_pocl++;
        }
    }
    std::printf("geometric mean: %.2f times C", std::exp(log_native / problems.size()));
    if (count_pocl) {
        std::printf(", %.2f times PoCL", std::exp(log_pocl / count_pocl));
    }
    std::printf("\n");
    run_api();
    run_pools();
    return right ? 0 : 1;
}
