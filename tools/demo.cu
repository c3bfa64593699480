// SPDX-License-Identifier: Apache-2.0
//
// The program of demo.sh: an n-body simulation in shared-memory tiles, its energy by a reduction
// with warp shuffles, and the same energy computed on the host. An ordinary CUDA program: it knows
// nothing of this project. usage: demo [BODIES [STEPS]]
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include <cuda_runtime.h>

#define CHECK(call)                                                              \
    do {                                                                         \
        cudaError_t error_ = (call);                                             \
        if (error_ != cudaSuccess) {                                             \
            std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error_)); \
            std::exit(1);                                                        \
        }                                                                        \
    } while (0)

constexpr int block = 128;
constexpr float softening = 0.05f, step = 0.001f;

__global__ void advance(const float4 *position, float4 *next, float4 *velocity, int n)
{
    __shared__ float4 tile[block];
    int i = blockIdx.x * block + threadIdx.x;
    float4 me = position[i], v = velocity[i];
    float3 a = make_float3(0, 0, 0);
    for (int start = 0; start < n; start += block) {
        tile[threadIdx.x] = position[start + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < block; j++) {
            float4 other = tile[j];
            float dx = other.x - me.x, dy = other.y - me.y, dz = other.z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            float s = other.w * inv * inv * inv;
            a.x += dx * s;
            a.y += dy * s;
            a.z += dz * s;
        }
        __syncthreads();
    }
    v.x += a.x * step;
    v.y += a.y * step;
    v.z += a.z * step;
    velocity[i] = v;
    next[i] = make_float4(me.x + v.x * step, me.y + v.y * step, me.z + v.z * step, me.w);
}

__global__ void energy(const float4 *position, const float4 *velocity, double *sum, int n)
{
    __shared__ double warp_sums[block / 32];
    int i = blockIdx.x * block + threadIdx.x;
    float4 me = position[i], v = velocity[i];
    double e = 0.5 * me.w * ((double)v.x * v.x + (double)v.y * v.y + (double)v.z * v.z);
    for (int j = 0; j < n; j++) {
        if (j != i) {
            float dx = position[j].x - me.x, dy = position[j].y - me.y, dz = position[j].z - me.z;
            e -= 0.5 * me.w * position[j].w *
                 rsqrt((double)(dx * dx + dy * dy + dz * dz + softening));
        }
    }
    for (int distance = 16; distance > 0; distance /= 2) {
        e += __shfl_down_sync(0xffffffffu, e, distance);
    }
    if (threadIdx.x % 32 == 0) {
        warp_sums[threadIdx.x / 32] = e;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        for (int w = 1; w < block / 32; w++) {
            e += warp_sums[w];
        }
        atomicAdd(sum, e);
    }
}

static double host_energy(const std::vector<float4> &p, const std::vector<float4> &v)
{
    double e = 0;
    for (size_t i = 0; i < p.size(); i++) {
        e += 0.5 * p[i].w *
             ((double)v[i].x * v[i].x + (double)v[i].y * v[i].y + (double)v[i].z * v[i].z);
        for (size_t j = 0; j < i; j++) {
            double dx = p[j].x - p[i].x, dy = p[j].y - p[i].y, dz = p[j].z - p[i].z;
            e -= (double)p[i].w * p[j].w / std::sqrt(dx * dx + dy * dy + dz * dz + softening);
        }
    }
    return e;
}

static double device_energy(const float4 *p, const float4 *v, int n)
{
    double *sum, e;
    CHECK(cudaMalloc(&sum, sizeof(double)));
    CHECK(cudaMemset(sum, 0, sizeof(double)));
    energy<<<n / block, block>>>(p, v, sum, n);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpy(&e, sum, sizeof(e), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(sum));
    return e;
}

int main(int argc, char **argv)
{
    int n = argc > 1 ? std::atoi(argv[1]) : 2048, steps = argc > 2 ? std::atoi(argv[2]) : 20;
    if (n <= 0 || steps <= 0) {
        std::fprintf(stderr, "usage: demo [BODIES [STEPS]]\n");
        return 2;
    }
    n = (n + block - 1) / block * block;
    cudaDeviceProp properties;
    CHECK(cudaGetDeviceProperties(&properties, 0));
    std::printf("device    %s, compute capability %d.%d\n", properties.name, properties.major,
                properties.minor);

    std::vector<float4> p(n), v(n, make_float4(0, 0, 0, 0));
    unsigned seed = 1;
    auto random = [&] { return (seed = seed * 1664525u + 1013904223u) / 4294967296.0f - 0.5f; };
    for (float4 &body : p) {
        body.x = random();
        body.y = random();
        body.z = random();
        body.w = 1.0f / n;
    }
    float4 *from, *to, *velocity;
    CHECK(cudaMalloc(&from, n * sizeof(float4)));
    CHECK(cudaMalloc(&to, n * sizeof(float4)));
    CHECK(cudaMalloc(&velocity, n * sizeof(float4)));
    CHECK(cudaMemcpy(from, p.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
    CHECK(cudaMemcpy(velocity, v.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
    double before = device_energy(from, velocity, n);

    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < steps; i++) {
        advance<<<n / block, block>>>(from, to, velocity, n);
        std::swap(from, to);
    }
    CHECK(cudaGetLastError());
    CHECK(cudaDeviceSynchronize());
    double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

    double after = device_energy(from, velocity, n);
    CHECK(cudaMemcpy(p.data(), from, n * sizeof(float4), cudaMemcpyDeviceToHost));
    CHECK(cudaMemcpy(v.data(), velocity, n * sizeof(float4), cudaMemcpyDeviceToHost));
    double want = host_energy(p, v);
    std::printf("bodies    %d, %d steps\n", n, steps);
    std::printf("energy    %.9f at the start, %.9f at the end (host: %.9f)\n", before, after, want);
    std::printf("time      %.3f s, %.1f million interactions per second\n", seconds,
                1e-6 * n * n * steps / seconds);
    bool good = std::fabs(after - want) < 1e-6 * std::fabs(want) &&
                std::fabs(after - before) < 1e-2 * std::fabs(before);
    std::printf("%s\n", good ? "PASS" : "FAIL");
    return good ? 0 : 1;
}
