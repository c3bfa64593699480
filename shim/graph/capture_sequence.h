// SPDX-License-Identifier: Apache-2.0
//
// Inside of stream capture: what capture.c offers to capture_api.c and capture_call.c only.
// `_locked`: irt_graph_lock is held.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shim/api/foreign.h"
#include "shim/graph/capture.h"

struct irt_graph;

struct irt_capture {
    struct irt_capture *next; // of all sequences
    uint64_t id;              // unique in the process
    struct irt_graph *graph;
    bool own_graph; // made for the sequence: goes with it when it fails
    enum cudaStreamCaptureMode mode;
    unsigned thread;                     // that began it
    struct irt_stream *origin, *streams; // all that take part, through capture.next
    struct irt_capture_set left;         // what streams that were destroyed would have depended on
    bool invalidated;
    bool replay;              // the nodes are there already (capture_replay.c)
    cudaGraphNode_t expected; // … and this one comes next, NULL: none
    cudaGraphRecaptureCallback_t callback;
    void *callback_data;
};

// A number for the calling thread, never used again.
unsigned irt_capture_thread(void);

// Sets the calling thread's mode and returns the one before.
enum cudaStreamCaptureMode irt_capture_exchange_mode(enum cudaStreamCaptureMode mode);

// Enters a sequence whose graph, mode and origin are set. The origin's set is the caller's.
void irt_capture_begin_locked(struct irt_capture *capture);
// Takes all streams out of it; the sequence is the caller's again. irt_capture_discard gives it
// back with the graph that was made for it (no lock held).
void irt_capture_end_locked(struct irt_capture *capture);
void irt_capture_discard(struct irt_capture *capture);
// What ending it now answers: 901, 904 or success.
cudaError_t irt_capture_check_end_locked(struct irt_capture *capture);

// The stream of a call that begins a sequence, referenced: 1 for a wrong mode, 900 for a legacy
// one.
cudaError_t irt_capture_origin(cudaStream_t handle, enum cudaStreamCaptureMode mode,
                               struct irt_stream **ret_stream);

// The next operation of a replay; `params` becomes what is to be released. May give up the lock in
// between to call the application. The caller invalidates the sequence on an error.
cudaError_t irt_capture_replay_locked(struct irt_stream *stream, struct irt_params *params);

struct irt_capture *irt_capture_of_locked(const struct irt_stream *stream);
void irt_capture_join_locked(struct irt_capture *capture, struct irt_stream *stream);

// Sets of nodes: the union (`edges` NULL: plain ones), a copy, freeing. False: no memory.
bool irt_capture_set_add(struct irt_capture_set *set, const cudaGraphNode_t *nodes,
                         const cudaGraphEdgeData *edges, size_t count);
bool irt_capture_set_assign(struct irt_capture_set *set, const struct irt_capture_set *from);
void irt_capture_set_clear(struct irt_capture_set *set);

// Whether a capturing blocking stream makes the legacy stream of the device unusable.
bool irt_capture_blocks_legacy_of(const struct irt_device *device);
// Invalidates every sequence with a stream of the device; true when there is one.
bool irt_capture_forbid_device(const struct irt_device *device);
// Invalidates every sequence for which an unsafe call of this thread is forbidden.
bool irt_capture_forbid_unsafe(void);
