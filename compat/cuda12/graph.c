// SPDX-License-Identifier: Apache-2.0
//
// Adding a node of any type without data of edges. Called by the generated wrappers only.
#include "irt_compat12.h"
#include "irt_core.h"

cudaError_t irt_compat12_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                          const cudaGraphNode_t *pDependencies,
                                          size_t numDependencies,
                                          struct cudaGraphNodeParams *nodeParams)
{
    return irt_core_cudaGraphAddNode(pGraphNode, graph, pDependencies, NULL, numDependencies,
                                     nodeParams);
}
