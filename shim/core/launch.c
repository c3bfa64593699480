// SPDX-License-Identifier: Apache-2.0
//
// Kernel launches: the stack of call configurations behind <<<>>>, the checks, and the functions
// that launch. Sources: facts/launch.md 3; CUDA Runtime API, "Execution Control"; CUDA C++
// Programming Guide, compute capabilities (limits).
#include "shim/core/launch.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "api_rules.h"
#include "irt_core.h"
#include "shim/core/event.h"
#include "shim/core/perthread.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/util/env.h"
#include "shim/util/log.h"

enum { CALL_DEPTH_MAX = 1 << 16 }; // pushes without a pop; a real program nests a handful

// ---- call configurations ----

unsigned int irt_core___cudaPushCallConfiguration(dim3 gridDim, dim3 blockDim, size_t sharedMem,
                                                  struct CUstream_st *stream)
{
    struct irt_thread *thread = irt_thread();
    if (thread->call_count == thread->call_capacity) {
        size_t capacity = thread->call_capacity ? thread->call_capacity * 2 : 8;
        struct irt_call_configuration *calls =
            capacity <= CALL_DEPTH_MAX ? realloc(thread->calls, capacity * sizeof(*calls)) : NULL;
        if (!calls) {
            return cudaErrorMemoryAllocation;
        }
        thread->calls = calls;
        thread->call_capacity = capacity;
        irt_thread_watch(thread);
    }
    thread->calls[thread->call_count++] =
        (struct irt_call_configuration){gridDim, blockDim, sharedMem, stream};
    return 0;
}

cudaError_t irt_core___cudaPopCallConfiguration(dim3 *gridDim, dim3 *blockDim, size_t *sharedMem,
                                                void *stream)
{
    struct irt_thread *thread = irt_thread();
    if (!thread->call_count) {
        return cudaErrorMissingConfiguration;
    }
    const struct irt_call_configuration *call = &thread->calls[--thread->call_count];
    if (gridDim) {
        *gridDim = call->grid;
    }
    if (blockDim) {
        *blockDim = call->block;
    }
    if (sharedMem) {
        *sharedMem = call->shared;
    }
    if (stream) {
        *(cudaStream_t *)stream = call->stream;
    }
    return cudaSuccess;
}

// ---- checks ----

static unsigned long long volume(dim3 d)
{
    return (unsigned long long)d.x * d.y * d.z;
}

static bool within(dim3 d, const int *max)
{
    return d.x && d.y && d.z && d.x <= (unsigned)max[0] && d.y <= (unsigned)max[1] &&
           d.z <= (unsigned)max[2];
}

// A block can be large enough for all three limits and still have too many threads, so that the
// product is taken in 64 bits: three 32-bit numbers within their limits do not overflow it.
static cudaError_t check_shape(const struct irt_launch_request *request,
                               const struct cudaDeviceProp *prop)
{
    if (!within(request->grid, prop->maxGridSize) || !within(request->block, prop->maxThreadsDim) ||
        volume(request->block) > (unsigned long long)prop->maxThreadsPerBlock) {
        return cudaErrorInvalidConfiguration;
    }
    return cudaSuccess;
}

static cudaError_t check_kernel(const struct irt_launch_request *request,
                                const struct irt_loaded *loaded)
{
    const struct irtb_function_info *info = &loaded->info;
    dim3 block = request->block;
    const uint32_t *need = info->required_block;
    if (need[0] && (block.x != need[0] || block.y != (need[1] ? need[1] : 1) ||
                    block.z != (need[2] ? need[2] : 1))) {
        return cudaErrorInvalidValue;
    }
    unsigned long long threads = volume(block);
    const uint32_t *max = info->max_block;
    if (max[0] &&
        threads > (unsigned long long)max[0] * (max[1] ? max[1] : 1) * (max[2] ? max[2] : 1)) {
        return cudaErrorInvalidValue; // __launch_bounds__
    }
    if (threads > (unsigned long long)info->attributes.maxThreadsPerBlock) {
        return cudaErrorLaunchOutOfResources;
    }
    int shared_max = atomic_load_explicit(&loaded->dynamic_shared_max, memory_order_relaxed);
    if (request->shared > (size_t)(shared_max > 0 ? shared_max : 0)) {
        return cudaErrorInvalidValue;
    }
    if (info->parameter_count && !request->arguments) {
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < info->parameter_count; i++) {
        if (!request->arguments[i]) {
            return cudaErrorInvalidValue;
        }
    }
    return cudaSuccess;
}

enum { CLUSTER_PORTABLE = 8, CLUSTER_LARGEST = 16 }; // blocks of a cluster

unsigned irt_launch_cluster_max(const struct irt_loaded *loaded, const struct cudaDeviceProp *prop)
{
    struct irtb_function_info info; // asked anew: attributes can be set
    if (!prop->clusterLaunch) {
        return 1;
    }
    return irt_backend()->function_info(loaded->function, &info) == cudaSuccess &&
                   info.attributes.nonPortableClusterSizeAllowed
               ? CLUSTER_LARGEST
               : CLUSTER_PORTABLE;
}

dim3 irt_launch_required_cluster(const struct irt_loaded *loaded)
{
    unsigned size[3];
    bool any = false;
    for (int i = 0; i < 3; i++) {
        int set = atomic_load_explicit(&loaded->cluster[i], memory_order_relaxed);
        size[i] =
            loaded->info.required_cluster[0] ? loaded->info.required_cluster[i] : (unsigned)set;
        any |= size[i] != 0;
    }
    for (int i = 0; any && i < 3; i++) {
        size[i] = size[i] ? size[i] : 1;
    }
    return (dim3){size[0], size[1], size[2]};
}

static cudaError_t check_cluster(const struct irt_launch_request *request,
                                 const struct irt_loaded *loaded, const struct cudaDeviceProp *prop,
                                 dim3 *ret_cluster)
{
    dim3 cluster = request->cluster;
    dim3 required = irt_launch_required_cluster(loaded);
    if (required.x) {
        if (volume(cluster) > 1 &&
            (cluster.x != required.x || cluster.y != required.y || cluster.z != required.z)) {
            return cudaErrorInvalidClusterSize;
        }
        cluster = required;
    }
    if (volume(cluster) > 1 && !prop->clusterLaunch) {
        return irt_unsupported("a launch with thread block clusters");
    }
    enum { REQUIRE_PORTABLE = 1, ALLOW_NON_PORTABLE = 2 };
    unsigned most = request->cluster_portability == REQUIRE_PORTABLE     ? CLUSTER_PORTABLE
                    : request->cluster_portability == ALLOW_NON_PORTABLE ? CLUSTER_LARGEST
                    : volume(cluster) > 1 ? irt_launch_cluster_max(loaded, prop)
                                          : 1;
    if (volume(cluster) > most) {
        return cudaErrorInvalidClusterSize;
    }
    if (request->grid.x % cluster.x || request->grid.y % cluster.y || request->grid.z % cluster.z) {
        return cudaErrorInvalidClusterSize;
    }
    *ret_cluster = cluster;
    return cudaSuccess;
}

static cudaError_t check_cooperative(const struct irt_launch_request *request,
                                     const struct irt_loaded *loaded,
                                     const struct cudaDeviceProp *prop)
{
    if (!prop->cooperativeLaunch) {
        return irt_unsupported("a cooperative launch");
    }
    int per_processor;
    cudaError_t e = irt_backend()->function_occupancy(loaded->function, (int)volume(request->block),
                                                      request->shared, &per_processor);
    if (e) {
        return e;
    }
    unsigned long long most =
        (unsigned long long)per_processor * (unsigned)prop->multiProcessorCount;
    unsigned long long blocks = (unsigned long long)request->grid.x * request->grid.y;
    // x · y fits 64 bits; the third factor is compared by division, for it might not.
    return blocks > most || request->grid.z > most / blocks ? cudaErrorCooperativeLaunchTooLarge
                                                            : cudaSuccess;
}

// ---- launch ----

static bool launch_blocking(void)
{
    static _Atomic int known; // 0: not yet asked, 1: no, 2: yes
    int value = atomic_load_explicit(&known, memory_order_relaxed);
    if (!value) {
        value = irt_env_flag("CUDA_LAUNCH_BLOCKING") ? 2 : 1;
        atomic_store_explicit(&known, value, memory_order_relaxed);
    }
    return value == 2;
}

// Records the events of launch attributes. Called between irt_stream_begin and irt_stream_end.
static cudaError_t record_events(const struct irt_launch_request *request,
                                 struct irt_event *const *events, struct irt_stream *stream)
{
    for (int i = 0; i < request->event_count; i++) {
        cudaError_t e = irt_event_record(events[i], stream);
        if (e) {
            return e;
        }
    }
    return cudaSuccess;
}

// Puts the launch and the records of its events into the stream.
static cudaError_t run(struct irt_stream *stream, const struct irt_launch_request *request,
                       const struct irtb_launch *launch, struct irt_event *const *events)
{
    cudaError_t e = irt_stream_begin(stream);
    if (!e) {
        e = irt_backend()->launch(stream->backend, launch);
        if (!e) {
            e = record_events(request, events, stream);
        }
        irt_stream_end(stream);
    }
    return !e && launch_blocking() ? irt_stream_wait(stream) : e;
}

static cudaError_t enqueue(struct irt_stream *stream, const struct irt_launch_request *request,
                           const struct irtb_launch *launch, struct irt_kernel *kernel,
                           struct irt_loaded *loaded)
{
    struct irt_event *events[IRT_LAUNCH_EVENTS];
    int held = 0;
    cudaError_t e = cudaSuccess;
    while (held < request->event_count && !e) {
        e = irt_event_get(request->events[held], &events[held]);
        if (!e) {
            const unsigned flags = events[held]->flags;
            held++;
            if (!(flags & cudaEventDisableTiming) || (flags & cudaEventInterprocess)) {
                e = cudaErrorInvalidValue;
            } else if (events[held - 1]->device != stream->device) {
                e = cudaErrorInvalidResourceHandle;
            }
        }
    }
    if (!e && atomic_load_explicit(&stream->capture.capture, memory_order_acquire)) {
        e = irt_capture_launch(stream, kernel, loaded, request, events);
    } else if (!e) {
        e = run(stream, request, launch, events);
    }
    while (held > 0) {
        irt_event_put(events[--held]);
    }
    return e;
}

cudaError_t irt_launch_check(struct irt_kernel *kernel, struct irt_device *device,
                             const struct irt_launch_request *request,
                             struct irt_loaded **ret_loaded, dim3 *ret_cluster)
{
    const struct cudaDeviceProp *prop = &device->info.prop;
    struct irt_loaded *loaded;
    dim3 cluster = {1, 1, 1};
    cudaError_t e = irt_kernel_load(kernel, device, &loaded);
    if (!e) {
        e = check_shape(request, prop);
    }
    if (!e) {
        e = check_kernel(request, loaded);
    }
    if (!e) {
        e = check_cluster(request, loaded, prop, &cluster);
    }
    if (!e && request->cooperative) {
        e = check_cooperative(request, loaded, prop);
    }
    if (!e) {
        e = irt_kernel_compile(loaded);
    }
    if (!e) {
        *ret_loaded = loaded;
        *ret_cluster = cluster;
    }
    return e;
}

static cudaError_t launch_in(struct irt_stream *stream, struct irt_kernel *kernel,
                             const struct irt_launch_request *request)
{
    if (stream->device != irt_device_current()) {
        return cudaErrorInvalidResourceHandle;
    }
    struct irt_loaded *loaded;
    dim3 cluster;
    cudaError_t e = irt_launch_check(kernel, stream->device, request, &loaded, &cluster);
    if (e) {
        return e;
    }
    return enqueue(stream, request,
                   &(struct irtb_launch){
                       .function = loaded->function,
                       .grid = {request->grid.x, request->grid.y, request->grid.z},
                       .block = {request->block.x, request->block.y, request->block.z},
                       .cluster = {cluster.x, cluster.y, cluster.z},
                       .dynamic_shared = (uint32_t)request->shared,
                       .cooperative = request->cooperative,
                       .arguments = request->arguments,
                   },
                   kernel, loaded);
}

cudaError_t irt_launch(struct irt_kernel *kernel, const struct irt_launch_request *request)
{
    struct irt_stream *stream;
    cudaError_t e = irt_stream_get(request->stream, &stream);
    if (!e) {
        e = launch_in(stream, kernel, request);
        irt_stream_put(stream);
    }
    if (e) {
        IRT_LOG("launch", IRT_LOG_DEBUG,
                "kernel %s, grid %u,%u,%u, block %u,%u,%u, %zu bytes shared: error %d",
                irt_kernel_name(kernel), request->grid.x, request->grid.y, request->grid.z,
                request->block.x, request->block.y, request->block.z, request->shared, (int)e);
    }
    return e;
}

static cudaError_t launch_func(const void *func, const struct irt_launch_request *request)
{
    struct irt_kernel *kernel;
    cudaError_t e = irt_kernel_get(func, &kernel);
    if (!e) {
        e = irt_launch(kernel, request);
        irt_kernel_put(kernel);
    }
    return e;
}

// ---- API ----

cudaError_t irt_core_cudaLaunchKernel(const void *func, dim3 gridDim, dim3 blockDim, void **args,
                                      size_t sharedMem, cudaStream_t stream)
{
    return launch_func(func, &(struct irt_launch_request){.grid = gridDim,
                                                          .block = blockDim,
                                                          .cluster = {1, 1, 1},
                                                          .shared = sharedMem,
                                                          .arguments = args,
                                                          .stream = stream});
}

// The stub passes a null handle for ever when its one __cudaGetKernel failed.
cudaError_t irt_core___cudaLaunchKernel(cudaKernel_t kernel, dim3 gridDim, dim3 blockDim,
                                        void **args, size_t sharedMem, cudaStream_t stream)
{
    if (!kernel) {
        return cudaErrorInvalidResourceHandle;
    }
    return irt_core_cudaLaunchKernel((const void *)kernel, gridDim, blockDim, args, sharedMem,
                                     stream);
}

cudaError_t irt_core_cudaLaunchCooperativeKernel(const void *func, dim3 gridDim, dim3 blockDim,
                                                 void **args, size_t sharedMem, cudaStream_t stream)
{
    return launch_func(func, &(struct irt_launch_request){.grid = gridDim,
                                                          .block = blockDim,
                                                          .cluster = {1, 1, 1},
                                                          .shared = sharedMem,
                                                          .arguments = args,
                                                          .stream = stream,
                                                          .cooperative = true});
}

cudaError_t irt_core_cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func,
                                         void **args, cudaStream_t default_stream)
{
    if (!config) {
        return cudaErrorInvalidValue;
    }
    struct irt_launch_request request = {
        .grid = config->gridDim,
        .block = config->blockDim,
        .cluster = {1, 1, 1},
        .shared = config->dynamicSmemBytes,
        .arguments = args,
        .stream = config->stream ? config->stream : default_stream,
    };
    cudaError_t e = irt_launch_attributes(config, &request);
    return e ? e : launch_func(func, &request);
}
