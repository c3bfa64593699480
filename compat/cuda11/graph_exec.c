// SPDX-License-Identifier: Apache-2.0
//
// Functions on instantiated graphs whose signature of CUDA 11 later majors have changed.
#include "irt_compat11.h"
#include "irt_core.h"

// The log of CUDA 11 names what stands in the way of an instantiation; here stderr does.
cudaError_t irt_compat11_cudaGraphInstantiate(cudaGraphExec_t *pGraphExec, cudaGraph_t graph,
                                              cudaGraphNode_t *pErrorNode, char *pLogBuffer,
                                              size_t bufferSize)
{
    if (pErrorNode) {
        *pErrorNode = NULL;
    }
    if (pLogBuffer && bufferSize) {
        pLogBuffer[0] = '\0';
    }
    return irt_core_cudaGraphInstantiate(pGraphExec, graph, 0);
}

cudaError_t irt_compat11_cudaGraphExecUpdate(cudaGraphExec_t hGraphExec, cudaGraph_t hGraph,
                                             cudaGraphNode_t *hErrorNode_out,
                                             enum cudaGraphExecUpdateResult *updateResult_out)
{
    cudaGraphExecUpdateResultInfo info;
    if (!updateResult_out || !hErrorNode_out) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_core_cudaGraphExecUpdate(hGraphExec, hGraph, &info);
    *hErrorNode_out = info.errorNode;
    *updateResult_out = info.result;
    return error;
}
