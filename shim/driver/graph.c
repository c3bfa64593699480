// SPDX-License-Identifier: Apache-2.0
//
// Graphs of the driver API where its structures differ from the runtime's: kernel and fill
// nodes, conditional handles. The handles are the runtime's; the rest
// of the functions is the runtime's, too (driver.tsv). Source: CUDA Driver API, "Graph Management".
#include <stdint.h>

#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/driver/driver.h"
#include "shim/driver/module.h"

// ---- kernel nodes ----

// The runtime's description. Arguments as one packed buffer are not taken apart here.
static cudaError_t kernel_params(const CUDA_KERNEL_NODE_PARAMS *p,
                                 struct cudaKernelNodeParams *ret_params)
{
    struct irt_kernel *kernel;
    if (!p) {
        return cudaErrorInvalidValue;
    }
    const void *function = p->func ? (const void *)p->func : (const void *)p->kern;
    if (p->extra) {
        return irt_unsupported("a kernel node with packed arguments (extra)");
    }
    cudaError_t e = irt_driver_kernel(function, &kernel);
    if (e) {
        return e;
    }
    irt_kernel_put(kernel);
    *ret_params = (struct cudaKernelNodeParams){
        .func = (void *)(uintptr_t)function,
        .gridDim = {p->gridDimX, p->gridDimY, p->gridDimZ},
        .blockDim = {p->blockDimX, p->blockDimY, p->blockDimZ},
        .sharedMemBytes = p->sharedMemBytes,
        .kernelParams = p->kernelParams,
    };
    return cudaSuccess;
}

cudaError_t irt_driver_cuGraphAddKernelNode_v2(CUgraphNode *phGraphNode, CUgraph hGraph,
                                               const CUgraphNode *dependencies,
                                               size_t numDependencies,
                                               const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct cudaKernelNodeParams params;
    cudaError_t e = kernel_params(nodeParams, &params);
    return e ? e
             : irt_core_cudaGraphAddKernelNode(phGraphNode, hGraph, dependencies, numDependencies,
                                               &params);
}

cudaError_t irt_driver_cuGraphKernelNodeSetParams_v2(CUgraphNode hNode,
                                                     const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct cudaKernelNodeParams params;
    cudaError_t e = kernel_params(nodeParams, &params);
    return e ? e : irt_core_cudaGraphKernelNodeSetParams(hNode, &params);
}

cudaError_t irt_driver_cuGraphExecKernelNodeSetParams_v2(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                         const CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct cudaKernelNodeParams params;
    cudaError_t e = kernel_params(nodeParams, &params);
    return e ? e : irt_core_cudaGraphExecKernelNodeSetParams(hGraphExec, hNode, &params);
}

cudaError_t irt_driver_cuGraphKernelNodeGetParams_v2(CUgraphNode hNode,
                                                     CUDA_KERNEL_NODE_PARAMS *nodeParams)
{
    struct cudaKernelNodeParams params;
    cudaKernel_t kernel;
    if (!nodeParams) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_core_cudaGraphKernelNodeGetParams(hNode, &params);
    if (!e) {
        e = irt_core_cudaGetKernel(&kernel, params.func); // a function of the program has one, too
    }
    if (!e) {
        *nodeParams = (CUDA_KERNEL_NODE_PARAMS){
            .func = (CUfunction)(void *)kernel,
            .gridDimX = params.gridDim.x,
            .gridDimY = params.gridDim.y,
            .gridDimZ = params.gridDim.z,
            .blockDimX = params.blockDim.x,
            .blockDimY = params.blockDim.y,
            .blockDimZ = params.blockDim.z,
            .sharedMemBytes = params.sharedMemBytes,
            .kernelParams = params.kernelParams,
            .kern = kernel,
        };
    }
    return e;
}

// ---- fill nodes ----

// The context says where the node runs: the device that is current while it is added.
static cudaError_t node_device(CUcontext context, struct irt_device **ret_device)
{
    struct irt_device *device = context ? irt_context_device(context) : irt_device_current();
    if (!device) {
        return cudaErrorDeviceUninitialized;
    }
    *ret_device = device;
    return cudaSuccess;
}

static struct cudaMemsetParams memset_params(const CUDA_MEMSET_NODE_PARAMS *p)
{
    return (struct cudaMemsetParams){
        .dst = (void *)(uintptr_t)p->dst,
        .pitch = p->pitch,
        .value = p->value,
        .elementSize = p->elementSize,
        .width = p->width,
        .height = p->height,
    };
}

cudaError_t irt_driver_cuGraphAddMemsetNode(CUgraphNode *phGraphNode, CUgraph hGraph,
                                            const CUgraphNode *dependencies, size_t numDependencies,
                                            const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                                            CUcontext ctx)
{
    struct irt_device *device;
    if (!memsetParams) {
        return cudaErrorInvalidValue;
    }
    const struct cudaMemsetParams params = memset_params(memsetParams);
    cudaError_t e = node_device(ctx, &device);
    return e ? e
             : IRT_ON_DEVICE(device,
                             irt_core_cudaGraphAddMemsetNode(phGraphNode, hGraph, dependencies,
                                                             numDependencies, &params));
}

cudaError_t irt_driver_cuGraphMemsetNodeSetParams(CUgraphNode hNode,
                                                  const CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    if (!nodeParams) {
        return cudaErrorInvalidValue;
    }
    const struct cudaMemsetParams params = memset_params(nodeParams);
    return irt_core_cudaGraphMemsetNodeSetParams(hNode, &params);
}

cudaError_t irt_driver_cuGraphExecMemsetNodeSetParams(CUgraphExec hGraphExec, CUgraphNode hNode,
                                                      const CUDA_MEMSET_NODE_PARAMS *memsetParams,
                                                      CUcontext ctx)
{
    struct irt_device *device;
    if (!memsetParams) {
        return cudaErrorInvalidValue;
    }
    const struct cudaMemsetParams params = memset_params(memsetParams);
    cudaError_t e = node_device(ctx, &device);
    return e ? e
             : IRT_ON_DEVICE(device,
                             irt_core_cudaGraphExecMemsetNodeSetParams(hGraphExec, hNode, &params));
}

cudaError_t irt_driver_cuGraphMemsetNodeGetParams(CUgraphNode hNode,
                                                  CUDA_MEMSET_NODE_PARAMS *nodeParams)
{
    struct cudaMemsetParams params;
    if (!nodeParams) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_core_cudaGraphMemsetNodeGetParams(hNode, &params);
    if (!e) {
        *nodeParams = (CUDA_MEMSET_NODE_PARAMS){
            .dst = (uintptr_t)params.dst,
            .pitch = params.pitch,
            .value = params.value,
            .elementSize = params.elementSize,
            .width = params.width,
            .height = params.height,
        };
    }
    return e;
}

// ---- conditional handles ----

cudaError_t irt_driver_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *pHandle_out,
                                                      CUgraph hGraph, CUcontext ctx,
                                                      unsigned int defaultLaunchValue,
                                                      unsigned int flags)
{
    struct irt_device *device;
    cudaError_t e = node_device(ctx, &device);
    return e ? e
             : IRT_ON_DEVICE(device, irt_core_cudaGraphConditionalHandleCreate(
                                         (cudaGraphConditionalHandle *)pHandle_out, hGraph,
                                         defaultLaunchValue, flags));
}
