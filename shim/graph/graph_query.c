// SPDX-License-Identifier: Apache-2.0
//
// What is in a graph: lists of nodes and edges, types and numbers. Every list function has the same
// protocol: without an array it tells the count; with one it fills in at most `*count` entries,
// sets the rest to NULL and tells how many there are. Source: CUDA Runtime API, "Graph Management".
#include <string.h>

#include "irt_core.h"
#include "shim/graph/graph.h"

// ---- nodes ----

static void list_nodes(const struct irt_graph *graph, bool roots, cudaGraphNode_t *nodes,
                       size_t *count)
{
    size_t found = 0;
    for (const struct irt_node *n = graph->first; n; n = n->next) {
        if (roots && n->in.count) {
            continue;
        }
        if (nodes && found == *count) {
            return;
        }
        if (nodes) {
            nodes[found] = n->handle;
        }
        found++;
    }
    for (size_t i = found; nodes && i < *count; i++) {
        nodes[i] = NULL;
    }
    *count = found;
}

static cudaError_t get_nodes(cudaGraph_t handle, bool roots, cudaGraphNode_t *nodes, size_t *count)
{
    struct irt_graph *graph;
    if (!count) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(handle, &graph);
    if (!e) {
        list_nodes(graph, roots, nodes, count);
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *numNodes)
{
    return get_nodes(graph, false, nodes, numNodes);
}

cudaError_t irt_core_cudaGraphGetRootNodes(cudaGraph_t graph, cudaGraphNode_t *pRootNodes,
                                           size_t *pNumRootNodes)
{
    return get_nodes(graph, true, pRootNodes, pNumRootNodes);
}

// ---- edges ----

// Where a list of edges goes; arrays may be NULL.
struct edge_list {
    cudaGraphNode_t *from, *to;
    cudaGraphEdgeData *data;
    size_t capacity, count;
};

static bool is_plain(const cudaGraphEdgeData *data)
{
    static const cudaGraphEdgeData plain;
    return memcmp(data, &plain, sizeof(plain)) == 0;
}

// False when data would be lost.
static bool list_edge(struct edge_list *list, const struct irt_node *from,
                      const struct irt_node *to, const cudaGraphEdgeData *data)
{
    bool filling = list->from || list->to;
    if (filling && !list->data && !is_plain(data)) {
        return false;
    }
    if (filling && list->count == list->capacity) {
        return true;
    }
    if (list->from) {
        list->from[list->count] = from->handle;
    }
    if (list->to) {
        list->to[list->count] = to->handle;
    }
    if (list->data) {
        list->data[list->count] = *data;
    }
    list->count++;
    return true;
}

static void pad(const struct edge_list *list)
{
    for (size_t i = list->count; (list->from || list->to) && i < list->capacity; i++) {
        if (list->from) {
            list->from[i] = NULL;
        }
        if (list->to) {
            list->to[i] = NULL;
        }
        if (list->data) {
            list->data[i] = (cudaGraphEdgeData){0};
        }
    }
}

cudaError_t irt_core_cudaGraphGetEdges(cudaGraph_t handle, cudaGraphNode_t *from,
                                       cudaGraphNode_t *to, cudaGraphEdgeData *edgeData,
                                       size_t *numEdges)
{
    struct irt_graph *graph;
    if (!numEdges || !from != !to || (edgeData && !from)) {
        return cudaErrorInvalidValue;
    }
    struct edge_list list = {.from = from, .to = to, .data = edgeData, .capacity = *numEdges};
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(handle, &graph);
    for (const struct irt_node *n = e ? NULL : graph->first; n && !e; n = n->next) {
        for (size_t i = 0; i < n->out.count && !e; i++) {
            if (!list_edge(&list, n, n->out.list[i].node, &n->out.list[i].data)) {
                e = cudaErrorLossyQuery;
            }
        }
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (!e) {
        pad(&list);
        *numEdges = list.count;
    }
    return e;
}

static cudaError_t get_neighbours(cudaGraphNode_t handle, bool dependencies, cudaGraphNode_t *nodes,
                                  cudaGraphEdgeData *data, size_t *count)
{
    struct irt_node *node;
    if (!count || (data && !nodes)) {
        return cudaErrorInvalidValue;
    }
    struct edge_list list = {.from = nodes, .data = data, .capacity = *count};
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_node_find_locked(handle, &node);
    const struct irt_edges *edges = e ? NULL : dependencies ? &node->in : &node->out;
    for (size_t i = 0; !e && i < edges->count; i++) {
        if (!list_edge(&list, edges->list[i].node, node, &edges->list[i].data)) {
            e = cudaErrorLossyQuery;
        }
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (!e) {
        pad(&list);
        *count = list.count;
    }
    return e;
}

cudaError_t irt_core_cudaGraphNodeGetDependencies(cudaGraphNode_t node,
                                                  cudaGraphNode_t *pDependencies,
                                                  cudaGraphEdgeData *edgeData,
                                                  size_t *pNumDependencies)
{
    return get_neighbours(node, true, pDependencies, edgeData, pNumDependencies);
}

cudaError_t irt_core_cudaGraphNodeGetDependentNodes(cudaGraphNode_t node,
                                                    cudaGraphNode_t *pDependentNodes,
                                                    cudaGraphEdgeData *edgeData,
                                                    size_t *pNumDependentNodes)
{
    return get_neighbours(node, false, pDependentNodes, edgeData, pNumDependentNodes);
}

// ---- types and numbers ----

cudaError_t irt_core_cudaGraphNodeGetType(cudaGraphNode_t handle, enum cudaGraphNodeType *pType)
{
    struct irt_node *node;
    if (!pType) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_node_find_locked(handle, &node);
    if (!e) {
        *pType = node->params.type;
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaGraphNodeGetLocalId(cudaGraphNode_t handle, unsigned int *nodeId)
{
    struct irt_node *node;
    if (!nodeId) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_node_find_locked(handle, &node);
    if (!e) {
        *nodeId = node->local_id;
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaGraphNodeGetToolsId(cudaGraphNode_t handle,
                                             unsigned long long *toolsNodeId)
{
    struct irt_node *node;
    if (!toolsNodeId) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_node_find_locked(handle, &node);
    if (!e) {
        *toolsNodeId = (unsigned long long)node->graph->id << 32 | node->local_id;
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaGraphNodeGetContainingGraph(cudaGraphNode_t handle, cudaGraph_t *phGraph)
{
    struct irt_node *node;
    if (!phGraph) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_node_find_locked(handle, &node);
    if (!e) {
        *phGraph = node->graph->handle;
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaGraphGetId(cudaGraph_t handle, unsigned int *graphID)
{
    struct irt_graph *graph;
    if (!graphID) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(handle, &graph);
    if (!e) {
        *graphID = graph->id;
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}
