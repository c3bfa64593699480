// SPDX-License-Identifier: Apache-2.0
//
// What the tests of graphs share: one name for functions whose arguments changed over the releases.
#pragma once

#include "conformance.h"

// Edge data exists since CUDA 12.3; before, the tests that need it are left out.
#define EDGE_DATA (CUDART_VERSION >= 12030)

#if !EDGE_DATA
typedef struct {
    unsigned char from_port, to_port, type, reserved[5];
} cudaGraphEdgeData;
#endif

static inline cudaError_t add_edges(cudaGraph_t graph, const cudaGraphNode_t *from,
                                    const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                    size_t count)
{
#if CUDART_VERSION >= 13000
    return cudaGraphAddDependencies(graph, from, to, data, count);
#elif EDGE_DATA
    return data ? cudaGraphAddDependencies_v2(graph, from, to, data, count)
                : cudaGraphAddDependencies(graph, from, to, count);
#else
    (void)data;
    return cudaGraphAddDependencies(graph, from, to, count);
#endif
}

static inline cudaError_t remove_edges(cudaGraph_t graph, const cudaGraphNode_t *from,
                                       const cudaGraphNode_t *to, const cudaGraphEdgeData *data,
                                       size_t count)
{
#if CUDART_VERSION >= 13000
    return cudaGraphRemoveDependencies(graph, from, to, data, count);
#elif EDGE_DATA
    return data ? cudaGraphRemoveDependencies_v2(graph, from, to, data, count)
                : cudaGraphRemoveDependencies(graph, from, to, count);
#else
    (void)data;
    return cudaGraphRemoveDependencies(graph, from, to, count);
#endif
}

static inline cudaError_t get_edges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to,
                                    cudaGraphEdgeData *data, size_t *count)
{
#if CUDART_VERSION >= 13000
    return cudaGraphGetEdges(graph, from, to, data, count);
#elif EDGE_DATA
    return data ? cudaGraphGetEdges_v2(graph, from, to, data, count)
                : cudaGraphGetEdges(graph, from, to, count);
#else
    (void)data;
    return cudaGraphGetEdges(graph, from, to, count);
#endif
}

static inline cudaError_t get_dependencies(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                           cudaGraphEdgeData *data, size_t *count)
{
#if CUDART_VERSION >= 13000
    return cudaGraphNodeGetDependencies(node, nodes, data, count);
#elif EDGE_DATA
    return data ? cudaGraphNodeGetDependencies_v2(node, nodes, data, count)
                : cudaGraphNodeGetDependencies(node, nodes, count);
#else
    (void)data;
    return cudaGraphNodeGetDependencies(node, nodes, count);
#endif
}

static inline cudaError_t get_dependents(cudaGraphNode_t node, cudaGraphNode_t *nodes,
                                         cudaGraphEdgeData *data, size_t *count)
{
#if CUDART_VERSION >= 13000
    return cudaGraphNodeGetDependentNodes(node, nodes, data, count);
#elif EDGE_DATA
    return data ? cudaGraphNodeGetDependentNodes_v2(node, nodes, data, count)
                : cudaGraphNodeGetDependentNodes(node, nodes, count);
#else
    (void)data;
    return cudaGraphNodeGetDependentNodes(node, nodes, count);
#endif
}

#if CUDART_VERSION >= 12020
static inline cudaError_t add_node(cudaGraphNode_t *node, cudaGraph_t graph,
                                   const cudaGraphNode_t *dependencies,
                                   const cudaGraphEdgeData *data, size_t count,
                                   struct cudaGraphNodeParams *params)
{
#if CUDART_VERSION >= 13000
    return cudaGraphAddNode(node, graph, dependencies, data, count, params);
#else
    return data ? cudaGraphAddNode_v2(node, graph, dependencies, data, count, params)
                : cudaGraphAddNode(node, graph, dependencies, count, params);
#endif
}
#endif

static inline cudaGraph_t new_graph(void)
{
    cudaGraph_t graph;
    OK(cudaGraphCreate(&graph, 0));
    return graph;
}

// An empty node behind the nodes of a list.
static inline cudaGraphNode_t empty_node(cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                         size_t count)
{
    cudaGraphNode_t node;
    OK(cudaGraphAddEmptyNode(&node, graph, dependencies, count));
    return node;
}

static inline size_t node_count(cudaGraph_t graph)
{
    size_t count = 0;
    OK(cudaGraphGetNodes(graph, NULL, &count));
    return count;
}
