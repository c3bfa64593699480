// SPDX-License-Identifier: Apache-2.0
//
// Clusters as CUDA C++ has them: __cluster_dims__, cudaLaunchKernelEx, cooperative groups, a
// histogram over the shared memory of a whole cluster.
// e2e-env: INFINIRT_CPU_ARCH=9.0
// e2e-forms: lane warp
#include <cooperative_groups.h>

#include <utility>

#include "e2e.h"

namespace cg = cooperative_groups;

enum { BINS = 512, SIZE = 4, THREADS = 128, COUNT = 40000 };

// Bins are spread over the blocks of the cluster.
__global__ void histogram(unsigned *bins, const unsigned *values, int count)
{
    extern __shared__ unsigned mine[];
    cg::cluster_group cluster = cg::this_cluster();
    const unsigned per_block = BINS / cluster.num_blocks();
    for (unsigned i = threadIdx.x; i < per_block; i += blockDim.x) {
        mine[i] = 0;
    }
    cluster.sync();
    for (int i = (int)cg::this_grid().thread_rank(); i < count; i += (int)cg::this_grid().size()) {
        unsigned bin = values[i] % BINS;
        unsigned *there = cluster.map_shared_rank(mine, bin / per_block);
        atomicAdd(there + bin % per_block, 1u);
    }
    cluster.sync();
    for (unsigned i = threadIdx.x; i < per_block; i += blockDim.x) {
        atomicAdd(&bins[cluster.block_rank() * per_block + i], mine[i]);
    }
}

__global__ void __cluster_dims__(2, 2, 1) fixed(unsigned *out)
{
    __shared__ unsigned word;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) {
        word = 100 + cluster.block_rank();
    }
    auto token = cluster.barrier_arrive();
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    cluster.barrier_wait(std::move(token));
    unsigned *there = cluster.map_shared_rank(&word, next);
    unsigned seen = *there;
    bool right = cluster.query_shared_rank(there) == next && cluster.dim_blocks().x == 2 &&
                 cluster.block_index().y == blockIdx.y % 2;
    if (threadIdx.x == 0) {
        out[blockIdx.y * gridDim.x + blockIdx.x] = right ? seen : 0;
    }
    cluster.sync();
}

int main()
{
    unsigned *values, *bins, *out;
    CHECK(cudaMallocManaged(&values, COUNT * sizeof *values));
    CHECK(cudaMallocManaged(&bins, BINS * sizeof *bins));
    CHECK(cudaMallocManaged(&out, 16 * sizeof *out));
    unsigned want[BINS] = {};
    for (int i = 0; i < COUNT; i++) {
        values[i] = (unsigned)i * 2654435761u >> 7;
        want[values[i] % BINS]++;
    }
    cudaLaunchAttribute attribute;
    attribute.id = cudaLaunchAttributeClusterDimension;
    attribute.val.clusterDim.x = SIZE;
    attribute.val.clusterDim.y = attribute.val.clusterDim.z = 1;
    cudaLaunchConfig_t config = {};
    config.gridDim = 8 * SIZE;
    config.blockDim = THREADS;
    config.dynamicSmemBytes = BINS / SIZE * sizeof(unsigned);
    config.attrs = &attribute;
    config.numAttrs = 1;
    int clusters = 0;
    CHECK(cudaOccupancyMaxActiveClusters(&clusters, histogram, &config));
    EXPECT(clusters > 0);
    CHECK(cudaLaunchKernelEx(&config, histogram, bins, (const unsigned *)values, (int)COUNT));
    CHECK(cudaDeviceSynchronize());
    for (int i = 0; i < BINS; i++) {
        EXPECT(bins[i] == want[i]);
    }

    fixed<<<dim3(4, 4), 64>>>(out);
    CHECK(cudaDeviceSynchronize());
    for (unsigned y = 0; y < 4; y++) {
        for (unsigned x = 0; x < 4; x++) {
            unsigned rank = x % 2 + 2 * (y % 2);
            EXPECT(out[y * 4 + x] == 100 + (rank + 1) % 4);
        }
    }
    fixed<<<dim3(3, 4), 64>>>(out); // the cluster does not divide the grid
    EXPECT(cudaGetLastError() == cudaErrorInvalidClusterSize);
    return pass();
}
