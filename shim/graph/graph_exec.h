// SPDX-License-Identifier: Apache-2.0
//
// Instantiated graphs: a private clone of the graph, written out into one list of the backend's
// nodes, and the backend's executable graph made of it (a backend without graphs gets the nodes one
// by one at each launch). Whatever happens to the graph afterwards, the exec goes on with its own.
// graph_exec.c has the life of an exec and its launches, graph_compile.c the list of nodes,
// graph_exec_update.c changes of an exec.
//
// Lock order: irt_exec.lock (IRT_RANK_EXEC) < irt_graph_lock < order of streams < graph memory.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_memory.h"
#include "shim/util/lock.h"

// One node of the exec, in the order of the list of the backend's nodes.
struct irt_exec_node {
    struct irt_node *node; // of the clone
    uint64_t origin;       // id of the application's node
    uint64_t updated;      // id of its counterpart in the graph of the last update, or 0
    uint32_t index;        // in the list
    bool disabled;
};

// What one clone is written out to.
struct irt_exec_list {
    struct irtb_graph_node *nodes;
    struct irt_exec_node *owners; // of each; a child graph is not in the list
    size_t count;
    struct irtb_graph_condition *conditions;
    size_t condition_count;
    struct irt_graph_memory_step *memory;
    size_t memory_count;
    uint32_t *records; // indices of event record nodes
    size_t record_count;
    uint32_t *sorted; // indices by origin
};

struct irt_exec {
    void *handle;
    unsigned id;
    unsigned long long flags;
    struct irt_mutex lock; // guards what follows
    struct irt_graph *clone;
    struct irt_exec_list list;
    cudaGraph_t counted;       // graph whose exec_count it counts in, or NULL
    struct irtb_graph *native; // NULL: the backend has no graphs
    struct irtb_event *marker; // without native: behind the last launch
    unsigned long long last;   // … on the stream with this id
    struct irtb_notice notice; // at the end of its life
};

// ---- graph_compile.c ----
// Writes a clone out. irt_graph_lock is held. cudaErrorMemoryAllocation; cudaErrorNotSupported by
// name for nodes that cannot run. On error nothing is left.
cudaError_t irt_exec_list_make_locked(struct irt_graph *clone, struct irt_exec_list *ret_list);
void irt_exec_list_free(struct irt_exec_list *list);
// Puts `sorted` in order after a change of origins.
void irt_exec_list_sort(struct irt_exec_list *list);
// The node that comes from the application's node `id` (also of the graph of the last update);
// NULL.
struct irt_exec_node *irt_exec_list_find(const struct irt_exec_list *list, uint64_t id);
// One node of the backend again, after the parameters of `owner` have changed. `ret_node` points
// into them.
cudaError_t irt_exec_node_compile(const struct irt_exec_node *owner,
                                  struct irtb_graph_node *ret_node);

// ---- graph_exec_check.c ----
// Whether an exec may get `new` for `old`, of the same type: the result code, success if so.
enum cudaGraphExecUpdateResult irt_exec_check_params(const struct irt_params *old,
                                                     const struct irt_params *new,
                                                     unsigned long long flags);
// The same for two whole graphs; the nodes of *ret_info are of `new` (NULL: none). Locked.
struct irt_exec_mismatch {
    enum cudaGraphExecUpdateResult result;
    const struct irt_node *node, *from;
};
bool irt_exec_check_graphs_locked(struct irt_graph *old, struct irt_graph *new,
                                  unsigned long long flags, struct irt_exec_mismatch *ret_mismatch);
// Gives the nodes of `new` the origins of their counterparts in `old`, which match. Locked.
void irt_exec_adopt_locked(struct irt_graph *old, struct irt_graph *new);

// ---- graph_exec.c ----
struct irt_exec *irt_exec_get(cudaGraphExec_t handle); // NULL: not a live exec
void irt_exec_put(struct irt_exec *exec);
// Tells the backend about a changed node of the list. exec->lock is held.
cudaError_t irt_exec_refresh(struct irt_exec *exec, size_t index);
// cudaGraphExecNodeSetParams. Errors: 1 for what is no exec or no node of it, another type or a
// change that an exec may not have; irt_params_make's; 801 for types that cannot be changed.
cudaError_t irt_exec_set_given(cudaGraphExec_t handle, cudaGraphNode_t node,
                               const struct cudaGraphNodeParams *given);
// cudaDeviceReset: makes every exec with a node on the device invalid. All work has ended.
void irt_exec_reset_device(struct irt_device *device);
// Gives a closed graph back when all launches that are enqueued now have ended. exec->lock is held.
void irt_exec_retire(struct irt_exec *exec, struct irt_graph *closed);
