// SPDX-License-Identifier: Apache-2.0
//
// N-body step with float4 bodies in shared memory and rsqrtf.
#include "e2e.h"

constexpr int block = 64;

__global__ void accelerate(const float4 *bodies, float3 *result, int n)
{
    __shared__ float4 tile[block];
    int i = blockIdx.x * block + threadIdx.x;
    float4 me = bodies[i];
    float3 a = make_float3(0, 0, 0);
    for (int t = 0; t < n; t += block) {
        tile[threadIdx.x] = bodies[t + threadIdx.x];
        __syncthreads();
#pragma unroll 4
        for (int j = 0; j < block; j++) {
            float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
            float inv = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
            float s = tile[j].w * inv * inv * inv;
            a.x += dx * s;
            a.y += dy * s;
            a.z += dz * s;
        }
        __syncthreads();
    }
    result[i] = a;
}

int main()
{
    const int n = 256;
    Random random(12);
    std::vector<float4> bodies(n);
    for (auto &b : bodies) {
        b = make_float4(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1),
                        random.uniform(0.1f, 1));
    }
    Device<float4> d(bodies);
    Device<float3> result(n);
    accelerate<<<n / block, block>>>(d, result, n);
    CHECK_LAUNCH();
    std::vector<float3> got = result.get();
    for (int i = 0; i < n; i++) {
        double ax = 0, ay = 0, az = 0;
        for (int j = 0; j < n; j++) {
            double dx = (double)bodies[j].x - bodies[i].x, dy = (double)bodies[j].y - bodies[i].y,
                   dz = (double)bodies[j].z - bodies[i].z;
            double r2 = dx * dx + dy * dy + dz * dz + 0.01;
            double s = bodies[j].w / (r2 * std::sqrt(r2));
            ax += dx * s;
            ay += dy * s;
            az += dz * s;
        }
        EXPECT(near(got[i].x, ax, 2e-3) && near(got[i].y, ay, 2e-3) && near(got[i].z, az, 2e-3));
    }
    return pass();
}
