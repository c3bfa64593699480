// SPDX-License-Identifier: Apache-2.0
//
// Graph functions with CUDA 12's arguments, which say nothing about the data of edges. Called by
// the generated wrappers only.
#include "irt_compat12.h"
#include "irt_core.h"

cudaError_t irt_compat12_cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                  const cudaGraphNode_t *to, size_t numDependencies)
{
    return irt_core_cudaGraphAddDependencies(graph, from, to, NULL, numDependencies);
}

cudaError_t irt_compat12_cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                     const cudaGraphNode_t *to,
                                                     size_t numDependencies)
{
    return irt_core_cudaGraphRemoveDependencies(graph, from, to, NULL, numDependencies);
}

cudaError_t irt_compat12_cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from,
                                           cudaGraphNode_t *to, size_t *numEdges)
{
    return irt_core_cudaGraphGetEdges(graph, from, to, NULL, numEdges);
}

cudaError_t irt_compat12_cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                                      cudaGraphNode_t *pDependencies,
                                                      size_t *pNumDependencies)
{
    return irt_core_cudaGraphNodeGetDependencies(node, pDependencies, NULL, pNumDependencies);
}

cudaError_t irt_compat12_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                                        cudaGraphNode_t *pDependentNodes,
                                                        size_t *pNumDependentNodes)
{
    return irt_core_cudaGraphNodeGetDependentNodes(node, pDependentNodes, NULL, pNumDependentNodes);
}

cudaError_t irt_compat12_cudaGraphAddNode(cudaGraphNode_t *pGraphNode, cudaGraph_t graph,
                                          const cudaGraphNode_t *pDependencies,
                                          size_t numDependencies,
                                          struct cudaGraphNodeParams *nodeParams)
{
    return irt_core_cudaGraphAddNode(pGraphNode, graph, pDependencies, NULL, numDependencies,
                                     nodeParams);
}
