// SPDX-License-Identifier: Apache-2.0
//
// The functions that set the parameters of one node of an instantiated graph, one per node type;
// each is cudaGraphExecNodeSetParams in other words. Source: CUDA Runtime API, "Graph Management".
#include "irt_core.h"
#include "shim/graph/graph_exec.h"
#include "shim/graph/node_given.h"

static cudaError_t set(cudaGraphExec_t exec, cudaGraphNode_t node, cudaError_t error,
                       const struct cudaGraphNodeParams *given)
{
    return error ? error : irt_exec_set_given(exec, node, given);
}

cudaError_t
irt_core_cudaGraphExecKernelNodeSetParams(cudaGraphExec_t hGraphExec, cudaGraphNode_t node,
                                          const struct cudaKernelNodeParams *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, node, irt_given_kernel(pNodeParams, &given), &given);
}

cudaError_t irt_core_cudaGraphExecMemcpyNodeSetParams(cudaGraphExec_t hGraphExec,
                                                      cudaGraphNode_t node,
                                                      const struct cudaMemcpy3DParms *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, node, irt_given_copy(pNodeParams, &given), &given);
}

cudaError_t irt_core_cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t hGraphExec,
                                                        cudaGraphNode_t node, void *dst,
                                                        const void *src, size_t count,
                                                        enum cudaMemcpyKind kind)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, node, irt_given_copy_1d(dst, src, count, kind, &given), &given);
}

cudaError_t irt_core_cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t hGraphExec,
                                                                cudaGraphNode_t node, void *dst,
                                                                const void *symbol, size_t count,
                                                                size_t offset,
                                                                enum cudaMemcpyKind kind)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, node,
               irt_given_copy_from_symbol(dst, symbol, count, offset, kind, &given), &given);
}

cudaError_t irt_core_cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t hGraphExec,
                                                              cudaGraphNode_t node,
                                                              const void *symbol, const void *src,
                                                              size_t count, size_t offset,
                                                              enum cudaMemcpyKind kind)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, node, irt_given_copy_to_symbol(symbol, src, count, offset, kind, &given),
               &given);
}

cudaError_t irt_core_cudaGraphExecMemsetNodeSetParams(cudaGraphExec_t hGraphExec,
                                                      cudaGraphNode_t node,
                                                      const struct cudaMemsetParams *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, node, irt_given_fill(pNodeParams, &given), &given);
}

cudaError_t irt_core_cudaGraphExecHostNodeSetParams(cudaGraphExec_t hGraphExec,
                                                    cudaGraphNode_t node,
                                                    const struct cudaHostNodeParams *pNodeParams)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, node, irt_given_host(pNodeParams, &given), &given);
}

cudaError_t irt_core_cudaGraphExecEventRecordNodeSetEvent(cudaGraphExec_t hGraphExec,
                                                          cudaGraphNode_t hNode, cudaEvent_t event)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, hNode, irt_given_event(true, event, &given), &given);
}

cudaError_t irt_core_cudaGraphExecEventWaitNodeSetEvent(cudaGraphExec_t hGraphExec,
                                                        cudaGraphNode_t hNode, cudaEvent_t event)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, hNode, irt_given_event(false, event, &given), &given);
}

cudaError_t irt_core_cudaGraphExecChildGraphNodeSetParams(cudaGraphExec_t hGraphExec,
                                                          cudaGraphNode_t node,
                                                          cudaGraph_t childGraph)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, node, irt_given_child(childGraph, &given), &given);
}

cudaError_t irt_core_cudaGraphExecExternalSemaphoresSignalNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const struct cudaExternalSemaphoreSignalNodeParams *nodeParams)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, hNode, irt_given_signal(nodeParams, &given), &given);
}

cudaError_t irt_core_cudaGraphExecExternalSemaphoresWaitNodeSetParams(
    cudaGraphExec_t hGraphExec, cudaGraphNode_t hNode,
    const struct cudaExternalSemaphoreWaitNodeParams *nodeParams)
{
    struct cudaGraphNodeParams given;
    return set(hGraphExec, hNode, irt_given_wait(nodeParams, &given), &given);
}
