// SPDX-License-Identifier: Apache-2.0
//
// The functions on nodes of one type: cudaGraphAdd…Node, …GetParams, …SetParams, attributes of
// kernel nodes. All go through struct cudaGraphNodeParams (node_given.h). Source: CUDA Runtime API,
// "Graph Management".
#include <string.h>

#include "irt_core.h"
#include "shim/graph/graph_api.h"
#include "shim/graph/node_given.h"

// ---- adding ----

// Adds a node if the parameters could be read (`e`).
static cudaError_t add(cudaError_t e, cudaGraphNode_t *ret_node, cudaGraph_t graph,
                       const cudaGraphNode_t *dependencies, size_t count,
                       struct cudaGraphNodeParams *given)
{
    return e ? e : irt_graph_add_given(graph, dependencies, NULL, count, given, ret_node);
}

cudaError_t irt_core_cudaGraphAddKernelNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                            const cudaGraphNode_t *pDependencies,
                                            size_t numDependencies,
                                            const struct cudaKernelNodeParams *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_kernel(pNodeParams, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddMemcpyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                            const cudaGraphNode_t *pDependencies,
                                            size_t numDependencies,
                                            const struct cudaMemcpy3DParms *pCopyParams)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_copy(pCopyParams, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddMemcpyNode1D(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                              const cudaGraphNode_t *pDependencies,
                                              size_t numDependencies, void *dst, const void *src,
                                              size_t count, enum cudaMemcpyKind kind)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_copy_1d(dst, src, count, kind, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                    const cudaGraphNode_t *pDependencies,
                                                    size_t numDependencies, const void *symbol,
                                                    const void *src, size_t count, size_t offset,
                                                    enum cudaMemcpyKind kind)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_copy_to_symbol(symbol, src, count, offset, kind, &given), pGraphNode,
               graph, pDependencies, numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t *pGraphNode,
                                                      cudaGraph_t graph,
                                                      const cudaGraphNode_t *pDependencies,
                                                      size_t numDependencies, void *dst,
                                                      const void *symbol, size_t count,
                                                      size_t offset, enum cudaMemcpyKind kind)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_copy_from_symbol(dst, symbol, count, offset, kind, &given), pGraphNode,
               graph, pDependencies, numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddMemsetNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                            const cudaGraphNode_t *pDependencies,
                                            size_t numDependencies,
                                            const struct cudaMemsetParams *pMemsetParams)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_fill(pMemsetParams, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddHostNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                          const cudaGraphNode_t *pDependencies,
                                          size_t numDependencies,
                                          const struct cudaHostNodeParams *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_host(pNodeParams, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddChildGraphNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                const cudaGraphNode_t *pDependencies,
                                                size_t numDependencies, cudaGraph_t childGraph)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_child(childGraph, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddEmptyNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                           const cudaGraphNode_t *pDependencies,
                                           size_t numDependencies)
{
    struct cudaGraphNodeParams given;
    memset(&given, 0, sizeof(given));
    given.type = cudaGraphNodeTypeEmpty;
    return add(cudaSuccess, pGraphNode, graph, pDependencies, numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddEventRecordNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                                 const cudaGraphNode_t *pDependencies,
                                                 size_t numDependencies, cudaEvent_t event)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_event(true, event, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddEventWaitNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                               const cudaGraphNode_t *pDependencies,
                                               size_t numDependencies, cudaEvent_t event)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_event(false, event, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddExternalSemaphoresSignalNode(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
    size_t numDependencies, const struct cudaExternalSemaphoreSignalNodeParams *nodeParams)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_signal(nodeParams, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddExternalSemaphoresWaitNode(
    cudaGraphNode_t *pGraphNode, cudaGraph_t graph, const cudaGraphNode_t *pDependencies,
    size_t numDependencies, const struct cudaExternalSemaphoreWaitNodeParams *nodeParams)
{
    struct cudaGraphNodeParams given;
    return add(irt_given_wait(nodeParams, &given), pGraphNode, graph, pDependencies,
               numDependencies, &given);
}

cudaError_t irt_core_cudaGraphAddMemAllocNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                              const cudaGraphNode_t *pDependencies,
                                              size_t numDependencies,
                                              struct cudaMemAllocNodeParams *nodeParams)
{
    struct cudaGraphNodeParams given;
    if (!nodeParams) {
        return cudaErrorInvalidValue;
    }
    memset(&given, 0, sizeof(given));
    given.type = cudaGraphNodeTypeMemAlloc;
    memcpy(&given.alloc, nodeParams, sizeof(*nodeParams));
    cudaError_t e = add(cudaSuccess, pGraphNode, graph, pDependencies, numDependencies, &given);
    if (!e) {
        nodeParams->dptr = given.alloc.dptr;
    }
    return e;
}

cudaError_t irt_core_cudaGraphAddMemFreeNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                             const cudaGraphNode_t *pDependencies,
                                             size_t numDependencies, void *dptr)
{
    struct cudaGraphNodeParams given;
    memset(&given, 0, sizeof(given));
    given.type = cudaGraphNodeTypeMemFree;
    given.free.dptr = dptr;
    return add(cudaSuccess, pGraphNode, graph, pDependencies, numDependencies, &given);
}

// ---- asking ----

cudaError_t irt_core_cudaGraphKernelNodeGetParams(cudaGraphNode_t node,
                                                  struct cudaKernelNodeParams *pNodeParams)
{
    struct cudaGraphNodeParams given;
    if (!pNodeParams) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_node_get_given(node, cudaGraphNodeTypeKernel, &given);
    if (!e) {
        *pNodeParams = (struct cudaKernelNodeParams){.func = given.kernel.func,
                                                     .gridDim = given.kernel.gridDim,
                                                     .blockDim = given.kernel.blockDim,
                                                     .sharedMemBytes = given.kernel.sharedMemBytes,
                                                     .kernelParams = given.kernel.kernelParams,
                                                     .extra = given.kernel.extra};
    }
    return e;
}

// `size` bytes of the union's member of that type.
static cudaError_t get(cudaGraphNode_t node, enum cudaGraphNodeType type, void *ret, size_t size)
{
    struct cudaGraphNodeParams given;
    if (!ret) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_node_get_given(node, (int)type, &given);
    if (!e) {
        const void *from = type == cudaGraphNodeTypeMemcpy ? (void *)&given.memcpy.copyParams
                                                           : (void *)&given.kernel;
        memcpy(ret, from, size);
    }
    return e;
}

cudaError_t irt_core_cudaGraphMemcpyNodeGetParams(cudaGraphNode_t node,
                                                  struct cudaMemcpy3DParms *pNodeParams)
{
    return get(node, cudaGraphNodeTypeMemcpy, pNodeParams, sizeof(*pNodeParams));
}

cudaError_t irt_core_cudaGraphMemsetNodeGetParams(cudaGraphNode_t node,
                                                  struct cudaMemsetParams *pNodeParams)
{
    return get(node, cudaGraphNodeTypeMemset, pNodeParams, sizeof(*pNodeParams));
}

cudaError_t irt_core_cudaGraphHostNodeGetParams(cudaGraphNode_t node,
                                                struct cudaHostNodeParams *pNodeParams)
{
    return get(node, cudaGraphNodeTypeHost, pNodeParams, sizeof(*pNodeParams));
}

cudaError_t irt_core_cudaGraphChildGraphNodeGetGraph(cudaGraphNode_t node, cudaGraph_t *pGraph)
{
    return get(node, cudaGraphNodeTypeGraph, pGraph, sizeof(cudaGraph_t));
}

cudaError_t irt_core_cudaGraphEventRecordNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    return get(node, cudaGraphNodeTypeEventRecord, event_out, sizeof(cudaEvent_t));
}

cudaError_t irt_core_cudaGraphEventWaitNodeGetEvent(cudaGraphNode_t node, cudaEvent_t *event_out)
{
    return get(node, cudaGraphNodeTypeWaitEvent, event_out, sizeof(cudaEvent_t));
}

cudaError_t irt_core_cudaGraphExternalSemaphoresSignalNodeGetParams(
    cudaGraphNode_t hNode, struct cudaExternalSemaphoreSignalNodeParams *params_out)
{
    return get(hNode, cudaGraphNodeTypeExtSemaphoreSignal, params_out, sizeof(*params_out));
}

cudaError_t irt_core_cudaGraphExternalSemaphoresWaitNodeGetParams(
    cudaGraphNode_t hNode, struct cudaExternalSemaphoreWaitNodeParams *params_out)
{
    return get(hNode, cudaGraphNodeTypeExtSemaphoreWait, params_out, sizeof(*params_out));
}

cudaError_t irt_core_cudaGraphMemAllocNodeGetParams(cudaGraphNode_t node,
                                                    struct cudaMemAllocNodeParams *params_out)
{
    return get(node, cudaGraphNodeTypeMemAlloc, params_out, sizeof(*params_out));
}

cudaError_t irt_core_cudaGraphMemFreeNodeGetParams(cudaGraphNode_t node, void *dptr_out)
{
    return get(node, cudaGraphNodeTypeMemFree, dptr_out, sizeof(void *));
}

// ---- changing ----

static cudaError_t set(cudaError_t e, cudaGraphNode_t node, const struct cudaGraphNodeParams *given)
{
    return e ? e : irt_node_set_given(node, given);
}

cudaError_t irt_core_cudaGraphKernelNodeSetParams(cudaGraphNode_t node,
                                                  const struct cudaKernelNodeParams *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_kernel(pNodeParams, &given), node, &given);
}

cudaError_t irt_core_cudaGraphMemcpyNodeSetParams(cudaGraphNode_t node,
                                                  const struct cudaMemcpy3DParms *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_copy(pNodeParams, &given), node, &given);
}

cudaError_t irt_core_cudaGraphMemcpyNodeSetParams1D(cudaGraphNode_t node, void *dst,
                                                    const void *src, size_t count,
                                                    enum cudaMemcpyKind kind)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_copy_1d(dst, src, count, kind, &given), node, &given);
}

cudaError_t irt_core_cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const void *symbol,
                                                          const void *src, size_t count,
                                                          size_t offset, enum cudaMemcpyKind kind)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_copy_to_symbol(symbol, src, count, offset, kind, &given), node, &given);
}

cudaError_t irt_core_cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void *dst,
                                                            const void *symbol, size_t count,
                                                            size_t offset, enum cudaMemcpyKind kind)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_copy_from_symbol(dst, symbol, count, offset, kind, &given), node, &given);
}

cudaError_t irt_core_cudaGraphMemsetNodeSetParams(cudaGraphNode_t node,
                                                  const struct cudaMemsetParams *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_fill(pNodeParams, &given), node, &given);
}

cudaError_t irt_core_cudaGraphHostNodeSetParams(cudaGraphNode_t node,
                                                const struct cudaHostNodeParams *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_host(pNodeParams, &given), node, &given);
}

cudaError_t irt_core_cudaGraphEventRecordNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_event(true, event, &given), node, &given);
}

cudaError_t irt_core_cudaGraphEventWaitNodeSetEvent(cudaGraphNode_t node, cudaEvent_t event)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_event(false, event, &given), node, &given);
}

cudaError_t irt_core_cudaGraphExternalSemaphoresSignalNodeSetParams(
    cudaGraphNode_t hNode, const struct cudaExternalSemaphoreSignalNodeParams *nodeParams)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_signal(nodeParams, &given), hNode, &given);
}

cudaError_t irt_core_cudaGraphExternalSemaphoresWaitNodeSetParams(
    cudaGraphNode_t hNode, const struct cudaExternalSemaphoreWaitNodeParams *nodeParams)
{
    struct cudaGraphNodeParams given;
    return set(irt_given_wait(nodeParams, &given), hNode, &given);
}

// ---- attributes of kernel nodes ----

static cudaError_t find_kernel_locked(cudaGraphNode_t handle, struct irt_node **ret_node)
{
    cudaError_t e = irt_node_find_locked(handle, ret_node);
    return !e && (*ret_node)->params.type != cudaGraphNodeTypeKernel ? cudaErrorInvalidValue : e;
}

// A copy of a kernel node's parameters, to be released also on error.
static cudaError_t copy_kernel(cudaGraphNode_t handle, struct irt_params *ret_params)
{
    struct irt_node *node;
    *ret_params = (struct irt_params){.type = cudaGraphNodeTypeEmpty};
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = find_kernel_locked(handle, &node);
    if (!e) {
        e = irt_params_copy(&node->params, false, ret_params);
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaGraphKernelNodeGetAttribute(cudaGraphNode_t hNode,
                                                     cudaLaunchAttributeID attr,
                                                     cudaLaunchAttributeValue *value_out)
{
    struct irt_node *node;
    if (!value_out) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = find_kernel_locked(hNode, &node);
    if (!e) {
        e = irt_kernel_attribute_get(&node->params.kernel, attr, value_out);
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaGraphKernelNodeSetAttribute(cudaGraphNode_t hNode,
                                                     cudaLaunchAttributeID attr,
                                                     const cudaLaunchAttributeValue *value)
{
    struct irt_params params;
    if (!value) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = copy_kernel(hNode, &params);
    if (!e) {
        e = irt_kernel_attribute_set(&params, attr, value);
    }
    if (!e) {
        return irt_node_set_params(hNode, &params);
    }
    irt_params_release(&params);
    return e;
}

// The destination comes first in every release: the headers of CUDA 11 and 12 name the parameters
// the other way round, as the documentation of the driver function never did (facts/abi.md 10).
cudaError_t irt_core_cudaGraphKernelNodeCopyAttributes(cudaGraphNode_t hDst, cudaGraphNode_t hSrc)
{
    struct irt_params to;
    struct irt_params from = {.type = cudaGraphNodeTypeEmpty};
    cudaError_t e = copy_kernel(hDst, &to);
    if (!e) {
        e = copy_kernel(hSrc, &from);
    }
    if (!e && to.device != from.device) {
        e = cudaErrorDeviceUninitialized; // 201, the invalid context of the documentation
    }
    if (!e) {
        e = irt_kernel_attributes_take(&to, &from.kernel);
    }
    irt_params_release(&from);
    if (!e) {
        return irt_node_set_params(hDst, &to);
    }
    irt_params_release(&to);
    return e;
}
