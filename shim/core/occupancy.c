// SPDX-License-Identifier: Apache-2.0
//
// How many blocks of a kernel fit a multiprocessor, and what follows from that. The backend counts;
// here are CUDA's checks and the questions asked the other way round.
// Source: CUDA Runtime API, "Occupancy".
#include "irt_core.h"
#include "shim/core/launch.h"
#include "shim/core/module.h"
#include "shim/dispatch/backend.h"

// Blocks per multiprocessor on the current device; 0 for what cannot be launched at all.
static cudaError_t active_blocks(const struct irt_loaded *loaded, int block_size, size_t shared,
                                 int *ret_blocks)
{
    const struct cudaFuncAttributes *attributes = &loaded->info.attributes;
    size_t optin = irt_device_current()->info.prop.sharedMemPerBlockOptin;
    if (block_size > attributes->maxThreadsPerBlock || shared > optin ||
        shared + attributes->sharedSizeBytes > optin) {
        *ret_blocks = 0;
        return cudaSuccess;
    }
    return irt_backend()->function_occupancy(loaded->function, block_size, shared, ret_blocks);
}

cudaError_t irt_core_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *numBlocks, const void *func, int blockSize, size_t dynamicSMemSize, unsigned int flags)
{
    if (!numBlocks || blockSize <= 0 || (flags & ~(unsigned)cudaOccupancyDisableCachingOverride)) {
        return cudaErrorInvalidValue;
    }
    struct irt_kernel *kernel;
    struct irt_loaded *loaded;
    cudaError_t e = irt_kernel_get_loaded(func, &kernel, &loaded);
    if (e) {
        return e;
    }
    int blocks;
    e = active_blocks(loaded, blockSize, dynamicSMemSize, &blocks);
    if (!e) {
        *numBlocks = blocks;
    }
    irt_kernel_put(kernel);
    return e;
}

cudaError_t irt_core_cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *numBlocks, const void *func,
                                                                   int blockSize,
                                                                   size_t dynamicSMemSize)
{
    return irt_core_cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks, func, blockSize, dynamicSMemSize, cudaOccupancyDefault);
}

// The most dynamic shared memory with which `wanted` blocks still fit: bisection, since occupancy
// never grows with shared memory.
static cudaError_t available_shared(const struct irt_loaded *loaded, int wanted, int block_size,
                                    size_t *ret_size)
{
    size_t low = 0;
    size_t high = irt_device_current()->info.prop.sharedMemPerBlockOptin;
    int blocks;
    cudaError_t e = active_blocks(loaded, block_size, 0, &blocks);
    if (e || blocks < wanted) {
        return e ? e : cudaErrorInvalidValue;
    }
    while (low < high) {
        size_t middle = low + (high - low + 1) / 2;
        e = active_blocks(loaded, block_size, middle, &blocks);
        if (e) {
            return e;
        }
        if (blocks >= wanted) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    *ret_size = low;
    return cudaSuccess;
}

cudaError_t irt_core_cudaOccupancyAvailableDynamicSMemPerBlock(size_t *dynamicSmemSize,
                                                               const void *func, int numBlocks,
                                                               int blockSize)
{
    if (!dynamicSmemSize || numBlocks <= 0 || blockSize <= 0) {
        return cudaErrorInvalidValue;
    }
    struct irt_kernel *kernel;
    struct irt_loaded *loaded;
    cudaError_t e = irt_kernel_get_loaded(func, &kernel, &loaded);
    if (!e) {
        e = available_shared(loaded, numBlocks, blockSize, dynamicSmemSize);
        irt_kernel_put(kernel);
    }
    return e;
}

// ---- clusters ----

static unsigned volume(dim3 d)
{
    return d.x * d.y * d.z;
}

// The configuration as a launch would read it, with a cluster of 0 blocks when it names none.
static cudaError_t read_config(const cudaLaunchConfig_t *config, struct irt_launch_request *request)
{
    if (!config) {
        return cudaErrorInvalidValue;
    }
    *request = (struct irt_launch_request){
        .grid = config->gridDim, .block = config->blockDim, .shared = config->dynamicSmemBytes};
    unsigned long long threads =
        (unsigned long long)request->block.x * request->block.y * request->block.z;
    return threads && threads <= 1024 ? irt_launch_attributes(config, request)
                                      : cudaErrorInvalidValue;
}

static cudaError_t active_clusters(const struct irt_loaded *loaded,
                                   const struct irt_launch_request *request, int *ret_clusters)
{
    const struct cudaDeviceProp *prop = &irt_device_current()->info.prop;
    dim3 required = irt_launch_required_cluster(loaded);
    dim3 cluster = volume(request->cluster) ? request->cluster : required;
    if (!volume(cluster) ||
        (volume(required) &&
         (cluster.x != required.x || cluster.y != required.y || cluster.z != required.z)) ||
        volume(cluster) > irt_launch_cluster_max(loaded, prop)) {
        return cudaErrorInvalidClusterSize;
    }
    int blocks;
    cudaError_t e = active_blocks(loaded, (int)volume(request->block), request->shared, &blocks);
    if (!e) {
        *ret_clusters = blocks * prop->multiProcessorCount / (int)volume(cluster);
    }
    return e;
}

cudaError_t irt_core_cudaOccupancyMaxActiveClusters(int *numClusters, const void *func,
                                                    const cudaLaunchConfig_t *launchConfig)
{
    struct irt_launch_request request;
    cudaError_t e = numClusters ? read_config(launchConfig, &request) : cudaErrorInvalidValue;
    struct irt_kernel *kernel;
    struct irt_loaded *loaded;
    if (!e) {
        e = irt_kernel_get_loaded(func, &kernel, &loaded);
    }
    if (!e) {
        e = active_clusters(loaded, &request, numClusters);
        irt_kernel_put(kernel);
    }
    return e;
}

cudaError_t irt_core_cudaOccupancyMaxPotentialClusterSize(int *clusterSize, const void *func,
                                                          const cudaLaunchConfig_t *launchConfig)
{
    struct irt_launch_request request;
    cudaError_t e = clusterSize ? read_config(launchConfig, &request) : cudaErrorInvalidValue;
    struct irt_kernel *kernel;
    struct irt_loaded *loaded;
    if (!e) {
        e = irt_kernel_get_loaded(func, &kernel, &loaded);
    }
    if (!e) {
        unsigned required = volume(irt_launch_required_cluster(loaded));
        *clusterSize =
            (int)(required ? required
                           : irt_launch_cluster_max(loaded, &irt_device_current()->info.prop));
        irt_kernel_put(kernel);
    }
    return e;
}
