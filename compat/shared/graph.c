// SPDX-License-Identifier: Apache-2.0
//
// Graph functions with CUDA 11 and 12's arguments, which say nothing about the data of edges.
// Called by the generated wrappers only.
#include "irt_core.h"
#include "major.h"

cudaError_t COMPAT(cudaGraphAddDependencies)(cudaGraph_t graph, const cudaGraphNode_t *from,
                                             const cudaGraphNode_t *to, size_t numDependencies)
{
    return irt_core_cudaGraphAddDependencies(graph, from, to, NULL, numDependencies);
}

cudaError_t COMPAT(cudaGraphRemoveDependencies)(cudaGraph_t graph, const cudaGraphNode_t *from,
                                                const cudaGraphNode_t *to, size_t numDependencies)
{
    return irt_core_cudaGraphRemoveDependencies(graph, from, to, NULL, numDependencies);
}

cudaError_t COMPAT(cudaGraphGetEdges)(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                      size_t *numEdges)
{
    return irt_core_cudaGraphGetEdges(graph, from, to, NULL, numEdges);
}

cudaError_t COMPAT(cudaGraphNodeGetDependencies)(cudaGraphNode_t node,
                                                 cudaGraphNode_t *pDependencies,
                                                 size_t *pNumDependencies)
{
    return irt_core_cudaGraphNodeGetDependencies(node, pDependencies, NULL, pNumDependencies);
}

cudaError_t COMPAT(cudaGraphNodeGetDependentNodes)(cudaGraphNode_t node,
                                                   cudaGraphNode_t *pDependentNodes,
                                                   size_t *pNumDependentNodes)
{
    return irt_core_cudaGraphNodeGetDependentNodes(node, pDependentNodes, NULL, pNumDependentNodes);
}
