// SPDX-License-Identifier: Apache-2.0
//
// What the API functions on graphs share: handles and structures of the application in, graph.h
// behind. All take irt_graph_lock themselves unless they end in `_locked`; hold no lock.
#pragma once

#include "shim/graph/graph.h"
#include "shim/graph/node_kernel.h"

// The nodes of a list of handles, to be freed; NULL for an empty list. cudaErrorInvalidValue,
// cudaErrorMemoryAllocation.
cudaError_t irt_nodes_read_locked(const cudaGraphNode_t *handles, size_t count,
                                  struct irt_node ***ret_nodes);

// Adds a node; `params` is gone afterwards in any case. Errors: irt_graph_add_locked's.
cudaError_t irt_graph_add_params(cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                 const cudaGraphEdgeData *data, size_t count,
                                 struct irt_params *params, cudaGraphNode_t *ret_node);

// cudaGraphAddNode, for all functions that add; what the call tells is written to `given`.
cudaError_t irt_graph_add_given(cudaGraph_t graph, const cudaGraphNode_t *dependencies,
                                const cudaGraphEdgeData *data, size_t count,
                                struct cudaGraphNodeParams *given, cudaGraphNode_t *ret_node);

// The parameters of a node of that type, or of any if it is negative. cudaErrorInvalidValue.
cudaError_t irt_node_get_given(cudaGraphNode_t handle, int type, struct cudaGraphNodeParams *ret);

// Sets them. cudaErrorInvalidValue when the node has another type, irt_params_make's errors, 801
// for types whose parameters cannot be set.
cudaError_t irt_node_set_given(cudaGraphNode_t handle, const struct cudaGraphNodeParams *given);

// The same for what has been made already; `params` is gone afterwards in any case.
cudaError_t irt_node_set_params(cudaGraphNode_t handle, struct irt_params *params);
