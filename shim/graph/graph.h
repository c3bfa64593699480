// SPDX-License-Identifier: Apache-2.0
//
// CUDA graphs as data: nodes with resolved parameters, edges, child and body graphs, conditional
// handles, references on user objects. Nothing here runs anything. graph.c keeps graphs and edges,
// graph_api.c and graph_query.c the functions on them, node_*.c the nodes; capture.c builds graphs
// from streams and exec files compile private clones of them.
//
// One lock, irt_graph_lock, guards every graph, node and edge of the process. What `_locked`
// functions return is good while the lock is held. Parameters are made, copied and released without
// the lock, since that may load code, destroy events or call the application:
//
//     e = irt_params_make(&given, &params);                  // checks; no lock
//     irt_mutex_lock(&irt_graph_lock);
//     e = irt_graph_find_locked(handle, &graph);
//     e = irt_graph_add_locked(graph, deps, NULL, n, &params, &node);  // takes params on success
//     irt_mutex_unlock(&irt_graph_lock);
//     irt_params_release(&params);                           // nothing left in it on success
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "shim/core/device.h"
#include "shim/core/event.h"
#include "shim/core/launch.h"
#include "shim/core/module.h"
#include "shim/util/lock.h"

extern struct irt_mutex irt_graph_lock; // IRT_RANK_GRAPH

struct irt_graph;
struct irt_node;
struct irt_user_object;
struct irt_semaphore_operation;
struct irt_semaphore_params;

// ---- parameters of a node, resolved and owned ----

struct irt_kernel_params {
    struct irt_kernel *kernel; // a reference
    const void *func;          // as the application gave it
    unsigned function_type;    // enum cudaKernelFunctionType of CUDA 13.2, 0: not said
    struct irt_loaded *loaded; // on params.device; not after a reset of the device
    dim3 grid, block;
    dim3 cluster;    // 1,1,1 without; what the launch gets, also from the code
    unsigned shared; // bytes of dynamic shared memory
    bool cooperative;
    int priority; // clamped; 0 unless the attribute is set
    unsigned argument_count;
    void **arguments;   // owned, one pointer each into `packed`; NULL without parameters
    void *packed;       // owned
    size_t packed_size; // bytes
    void *extra[5];     // the CU_LAUNCH_PARAM form of the same bytes
    bool as_extra;      // which form the application gave
    cudaLaunchAttribute *attributes; // owned; those that were set, one per id
    unsigned attribute_count;
};

struct irt_copy_params {
    struct cudaMemcpy3DParms given; // what GetParams answers
    struct irtb_copy box;           // resolved; width 0: nothing is copied
    cudaArray_t arrays[2];          // referenced arrays of destination and source, or NULL
    bool linear;                    // made by a 1D or symbol form
};

struct irt_fill_params {
    struct cudaMemsetParams given;
    struct irtb_fill box;
};

struct irt_host_params {
    cudaHostFn_t function;
    void *argument;
    unsigned sync_mode; // enum cudaHostTaskSyncMode of CUDA 13.2
};

struct irt_fence_params {
    cudaExternalSemaphore_t *semaphores; // owned array
    void *values;                        // owned array of cudaExternalSemaphore{Signal,Wait}Params
    unsigned count;
    struct irt_semaphore_operation *operation; // a reference (external.h)
};

struct irt_alloc_params {
    struct cudaMemAllocNodeParams given; // accessDescs is an owned array; dptr is the address
};

struct irt_conditional_params {
    cudaGraphConditionalHandle handle;
    enum cudaGraphConditionalNodeType type;
    unsigned count;            // body graphs
    struct irt_graph **bodies; // owned array of owned graphs
    cudaGraph_t *handles;      // owned: what phGraph_out points to
};

struct irt_params {
    enum cudaGraphNodeType type; // cudaGraphNodeTypeEmpty: owns nothing
    struct irt_device *device;   // that it runs on: the current one when it was made
    void *context;               // execution context as given, NULL: none
    union {
        struct irt_kernel_params kernel;
        struct irt_copy_params copy;
        struct irt_fill_params fill;
        struct irt_host_params host;
        struct irt_graph *child; // owned; its owner is this node
        struct irt_event *event; // WaitEvent, EventRecord: a reference
        struct irt_fence_params fence;
        struct irt_alloc_params alloc; // holds a reference on its memory (graph_memory.h)
        void *free;
        struct irt_conditional_params conditional;
    };
};

// Checks what the application gave and makes parameters of it, for the current device: a child
// becomes a clone of the given graph, a conditional node gets its empty bodies. ret_params is
// written on success only. No lock. Errors: those of the Add function of that type; 1 for an
// unknown type, bytes that must be zero, a child that is to be moved (graph_api.c does that); 801
// by name.
cudaError_t irt_params_make(const struct cudaGraphNodeParams *given,
                            const struct irt_kernel_params *like, struct irt_params *ret_params);

// Parameters of work that has been checked already, as stream capture meets it. The arguments and
// events are copied or referenced. No lock. cudaErrorMemoryAllocation.
cudaError_t irt_params_from_launch(struct irt_kernel *kernel, struct irt_loaded *loaded,
                                   struct irt_device *device,
                                   const struct irt_launch_request *request,
                                   struct irt_params *ret_params);
cudaError_t irt_params_from_copy(struct irt_device *device, const struct irtb_copy *box,
                                 struct irt_params *ret_params);
cudaError_t irt_params_from_fill(struct irt_device *device, const struct irtb_fill *box,
                                 struct irt_params *ret_params);
cudaError_t irt_params_from_host(struct irt_device *device, cudaHostFn_t function, void *argument,
                                 unsigned sync_mode, struct irt_params *ret_params);
cudaError_t irt_params_from_event(struct irt_device *device, bool record, struct irt_event *event,
                                  struct irt_params *ret_params);
// Signals of external semaphores, or waits for them. Checks them: errors of external.h.
cudaError_t irt_params_from_semaphores(struct irt_device *device, bool signal,
                                       const cudaExternalSemaphore_t *semaphores,
                                       const struct irt_semaphore_params *values, unsigned count,
                                       struct irt_params *ret_params);
// An allocation of `size` bytes on the device; ret_params->alloc.given.dptr is its address.
cudaError_t irt_params_from_alloc(struct irt_device *device, const struct cudaMemPoolProps *props,
                                  size_t size, struct irt_params *ret_params);
// A child: a visible copy (irt_graph_copy_locked) that nobody owns yet.
cudaError_t irt_params_from_child(struct irt_device *device, struct irt_graph *child,
                                  struct irt_params *ret_params);
cudaError_t irt_params_from_free(struct irt_device *device, void *ptr,
                                 struct irt_params *ret_params);

// Gives back what the parameters own and makes them empty. No lock: may destroy events and graphs,
// unload code and call destructors of user objects.
void irt_params_release(struct irt_params *params);

// A copy, for clones. Holding the lock is allowed. On error `ret_copy` is to be released all the
// same.
cudaError_t irt_params_copy(const struct irt_params *params, bool visible,
                            struct irt_params *ret_copy);

// ---- nodes ----

struct irt_edge {
    struct irt_node *node; // the other end
    cudaGraphEdgeData data;
};

struct irt_edges {
    struct irt_edge *list; // in the order of their adding
    size_t count, capacity;
};

struct irt_node {
    cudaGraphNode_t handle; // NULL in private clones
    struct irt_graph *graph;
    struct irt_node *next, *previous; // in the graph, in order of creation
    uint64_t id;                      // unique in the process
    uint64_t origin;                  // id of the node that it is a clone of, 0: none
    unsigned local_id;                // unique in the graph; the same in clones
    struct irt_edges in, out;
    size_t mark;         // scratch of whoever holds the lock
    uint64_t visit;      // scratch of graph.c
    struct irt_node *up; // likewise
    size_t step;         // likewise
    struct irt_params params;
};

// ---- graphs ----

struct irt_condition {
    cudaGraphConditionalHandle handle; // the same in clones
    unsigned value;                    // at the start of a launch, if `assign`
    bool assign;                       // cudaGraphCondAssignDefault
    bool used;                         // there is a node with it
};

struct irt_object_reference {
    struct irt_user_object *object;
    unsigned count;
};

struct irt_graph {
    cudaGraph_t handle; // NULL for private clones
    unsigned id;        // unique in the process
    uint64_t origin;    // id of the graph that it is a clone of, 0: none
    struct irt_node *first, *last;
    size_t node_count;
    unsigned next_local_id;
    struct irt_node *owner; // node that it is the child or a body of, NULL: the application's
    bool moved;             // a child whose ownership was moved to the parent
    void *capture;          // capture that builds it (capture.c), NULL: none
    unsigned exec_count;    // living execs of a graph with allocation nodes (its exec counts it)
    struct irt_condition *conditions;
    size_t condition_count;
    struct irt_object_reference *objects;
    size_t object_count;
    struct irt_graph *next_closed; // scratch of irt_graph_reset_device
};

// A new empty graph; with a handle if `visible`. cudaErrorMemoryAllocation. Lock: not needed.
cudaError_t irt_graph_new(bool visible, struct irt_graph **ret_graph);

// Takes a graph (of the application or private) out of everything, its handles and those of all its
// nodes becoming invalid; irt_graph_release then gives it back, without the lock. Closing twice is
// allowed.
void irt_graph_close_locked(struct irt_graph *graph);
void irt_graph_release(struct irt_graph *graph);

// cudaDeviceReset, before code and memory go: destroys every graph that has nodes of the device (any
// but empty and host nodes). All work has ended. No lock.
void irt_graph_reset_device(struct irt_device *device);

// The graph of a handle; cudaErrorInvalidValue for anything else.
cudaError_t irt_graph_find_locked(cudaGraph_t handle, struct irt_graph **ret_graph);
cudaError_t irt_node_find_locked(cudaGraphNode_t handle, struct irt_node **ret_node);

// A copy with the same order, local ids, conditions and user objects; `origin` of every node and
// graph, also inside children and bodies, names the source. `visible`: with handles. A private copy
// may be made of a graph with allocation or conditional nodes. No lock: takes it itself.
// cudaErrorInvalidValue when the handle is none or the graph cannot be copied visibly,
// cudaErrorMemoryAllocation.
cudaError_t irt_graph_clone(cudaGraph_t graph, bool visible, struct irt_graph **ret_graph);

// Adds a node behind `count` nodes of the same graph; `data` NULL: plain edges. Takes over `params`
// on success and leaves it empty. cudaErrorInvalidValue for doubled or foreign dependencies or edge
// data that the nodes cannot have, for a node type that the graph may not hold (bodies of
// conditional nodes); cudaErrorMemoryAllocation.
cudaError_t irt_graph_add_locked(struct irt_graph *graph, struct irt_node *const *dependencies,
                                 const cudaGraphEdgeData *data, size_t count,
                                 struct irt_params *params, struct irt_node **ret_node);

// Edges. cudaErrorInvalidValue when one is there already, joins two graphs, closes a circle, or
// (remove) is not there. All or nothing.
cudaError_t irt_graph_connect_locked(struct irt_graph *graph, struct irt_node *const *from,
                                     struct irt_node *const *to, const cudaGraphEdgeData *data,
                                     size_t count);
cudaError_t irt_graph_disconnect_locked(struct irt_graph *graph, struct irt_node *const *from,
                                        struct irt_node *const *to, const cudaGraphEdgeData *data,
                                        size_t count);

// Takes the node out of its graph; its parameters move to ret_params, to be released.
void irt_node_remove_locked(struct irt_node *node, struct irt_params *ret_params);

// Exchanges the node's parameters with `params` of the same type, for any graph, private clones
// too: what it had comes back in `params`, to be released. Attributes of a kernel node stay. Checks
// what concerns the node's place (graph of a child, body rules), not what irt_params_make checked.
cudaError_t irt_node_exchange_locked(struct irt_node *node, struct irt_params *params);

// What cudaGraphNodeGetParams answers; what it points to is the node's.
void irt_node_describe_locked(struct irt_node *node, struct cudaGraphNodeParams *ret_given);

// The nodes in an order that respects the edges, of those possible the one closest to the order of
// creation; mark = index. ret_order has graph->node_count elements.
void irt_graph_sort_locked(struct irt_graph *graph, struct irt_node **ret_order);

// Whether there are allocation or free nodes, or nodes of that type, in the graph, its children and
// bodies.
bool irt_graph_has_memory_locked(const struct irt_graph *graph);
bool irt_graph_has_type_locked(const struct irt_graph *graph, enum cudaGraphNodeType type);

// Calls `visit` with every node of the graph and of its children and bodies, outer ones first.
void irt_graph_each_locked(struct irt_graph *graph, void (*visit)(struct irt_node *, void *),
                           void *context);

// A copy of a graph like irt_graph_clone's, for the copy of a child node. On error what there is
// has to be closed and released all the same, if it is not NULL.
cudaError_t irt_graph_copy_locked(struct irt_graph *graph, bool visible,
                                  struct irt_graph **ret_copy);

// ---- allocation and free nodes (node_memory.c) ----

// Whether such a node may be added to the graph, and remembers it: an address is freed once by the
// nodes of its own graph, or by those of others. cudaErrorInvalidValue, cudaErrorMemoryAllocation.
cudaError_t irt_graph_note_memory_locked(const struct irt_graph *graph,
                                         const struct irt_params *params);
void irt_graph_forget_memory_locked(const struct irt_graph *graph, const struct irt_params *params);

// ---- user objects (user_object.c) ----

// References of a graph. The last one of all calls the destructor; only the first needs the lock.
void irt_user_object_ref_locked(struct irt_user_object *object, unsigned count);
void irt_user_object_unref(struct irt_user_object *object, unsigned count);
