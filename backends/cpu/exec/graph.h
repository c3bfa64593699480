// SPDX-License-Identifier: Apache-2.0
//
// Executable graphs: a graph compiled into a linear plan of steps with jumps for the bodies of
// conditional nodes. A launch is one operation of a stream (stream.c owns the queue); whoever owns
// the stream runs the steps in order, so that a launch allocates nothing and a step costs what its
// work costs. Grids of many blocks spread over the workers as always.
//
// A plan is not changed while a launch uses it: an update of a graph in flight makes a copy. The
// launches of one graph run one after the other, in the order in which they were enqueued.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "grid.h"
#include "backends/backend.h"

struct exec_device;
struct exec_param;
struct exec_plan;
struct exec_record;

// What graph.c needs to know of the cpu backend.
struct exec_graph_hooks {
    // The executor's part of a device number.
    struct exec_device *(*device)(int device);
    // Everything about a launch but its arguments, as for a launch in a stream.
    cudaError_t (*launch)(const struct irtb_launch *launch, struct exec_launch *ret_launch,
                          const struct exec_param **ret_params, uint32_t *ret_param_count,
                          uint32_t *ret_params_size);
};

// The state of one launch; embedded in the stream's operation.
struct exec_graph_run {
    struct irtb_graph *graph;   // referenced
    struct exec_plan *plan;     // referenced
    struct exec_record **slots; // per event node: its record in this launch, referenced, or NULL
    uint64_t ticket;
    uint32_t position; // the next step
    bool started, aborted;
};

enum exec_graph_result {
    EXEC_GRAPH_DONE,
    EXEC_GRAPH_YIELDED, // something more urgent is ready: call again
    EXEC_GRAPH_HOST,    // call exec_graph_host on a thread for host functions, then go on
    EXEC_GRAPH_RECORD,  // waits for exec_graph_waits_for(run)
};

// As irtb_backend.graph_create … graph_destroy. The hooks are kept.
cudaError_t exec_graph_create(const struct irtb_graph_desc *desc,
                              const struct exec_graph_hooks *hooks, struct irtb_graph **ret_graph);
cudaError_t exec_graph_update(struct irtb_graph *graph, size_t index,
                              const struct irtb_graph_node *node);
cudaError_t exec_graph_set_default(struct irtb_graph *graph, size_t index,
                                   const struct irtb_graph_condition *condition);
cudaError_t exec_graph_launch(struct irtb_graph *graph, struct irtb_stream *stream);
cudaError_t exec_graph_publish(struct irtb_graph *graph, uint64_t handle);
void exec_graph_notify(struct irtb_graph *graph, struct irtb_notice *notice);
void exec_graph_destroy(struct irtb_graph *graph);

// Sets a condition of the graph that a kernel belongs to. False when the graph has none of that
// handle. Any thread.
bool exec_graph_set_condition(struct irtb_graph *graph, uint64_t handle, uint32_t value);

// ---- launches by kernels ----
// The number of a published graph; 0 for others and NULL.
uint64_t exec_graph_published(const struct irtb_graph *graph);
// cudaGraphLaunch of a kernel in `from`, which is running: what is launched runs when the steps of
// `from` have ended (fire and forget, in the order of the calls) or after those (tail launches), and
// belongs to the launch of `from`. cudaErrorInvalidValue for a graph or stream that is none, and
// for a graph that is running or enqueued; its own graph may be launched as the tail, once.
cudaError_t exec_graph_device_launch(struct irtb_graph *from, uint64_t handle, uint64_t stream);

// ---- for stream.c ----
// Fills in the run of a launch that is being enqueued as operation number `target` of the stream,
// whose lock is held; `slots` has room for exec_graph_slots. Cannot fail once it has begun; on an
// error nothing has happened.
uint32_t exec_graph_slots(const struct irtb_graph *graph);
cudaError_t exec_graph_begin(struct irtb_graph *graph, struct irtb_stream *stream, uint64_t target,
                             struct exec_record **slots, struct exec_graph_run *ret_run);
// True when it is the launch's turn. Otherwise the stream is on a list and will be unblocked; its
// lock is held.
bool exec_graph_turn(struct exec_graph_run *run, struct irtb_stream *stream);
// Runs steps until one of the results; only a worker yields. No lock held. After DONE the run holds
// nothing any more.
enum exec_graph_result exec_graph_run(struct exec_graph_run *run, struct irtb_stream *stream,
                                      bool worker);
void exec_graph_host(struct exec_graph_run *run);
struct exec_record *exec_graph_waits_for(const struct exec_graph_run *run);
