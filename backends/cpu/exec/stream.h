// SPDX-License-Identifier: Apache-2.0
//
// Streams (FIFO queues of operations of one device), the records behind events, and waiting. An
// operation is queued under the stream's lock and run by whichever thread owns the stream at that
// moment: a worker, or a caller that waits. The cpu backend's irtb_stream and irtb_event are these.
//
// Lock order: device lock (list of streams) < stream lock < record lock < pool lock.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"

struct exec_job;
struct exec_launch;
struct exec_shared;

struct exec_param {
    uint32_t offset, size, align; // bytes, in the packed parameter block
};

// What the executor needs to know of a device. Embedded in the cpu backend's device.
struct exec_device {
    int ordinal;
    pthread_mutex_t lock; // list of streams
    struct irtb_stream *streams;
    _Atomic int error; // cudaError_t of the first fault; later work is discarded
    // Told once about the first fault, before the work counts as complete. May be NULL.
    void (*lost)(struct exec_device *device, cudaError_t error);
    struct exec_printf *printf; // output of kernels (print.h)
    struct exec_heap *heap;     // device-side malloc (heap.h); may be NULL
};

enum exec_op_kind {
    EXEC_OP_COPY,
    EXEC_OP_FILL,
    EXEC_OP_HOST,
    EXEC_OP_RECORD,
    EXEC_OP_WAIT,
    EXEC_OP_LAUNCH,
    EXEC_OP_GRAPH,
    EXEC_OP_WRITE_VALUE,
    EXEC_OP_WAIT_VALUE
};

enum exec_stream_state {
    EXEC_STREAM_IDLE,    // nothing queued
    EXEC_STREAM_READY,   // in the pool's list (or just picked from it)
    EXEC_STREAM_RUNNING, // a thread owns it
    EXEC_STREAM_BLOCKED, // its first operation waits for a record, a value, or for its turn with a
                         // graph
    EXEC_STREAM_HOST,    // a host function of it runs or is about to
};

struct irtb_stream {
    pthread_mutex_t lock;
    struct exec_device *device;
    struct irtb_partition *partition; // whose streams are run by few threads; or NULL
    _Atomic int bucket;               // of the pool's ready lists; written under the lock
    enum exec_stream_state state;     // lock
    struct exec_op *head, **tail;     // lock
    struct exec_op *free;             // lock
    struct exec_record *blocked_on; // lock; valid while BLOCKED (the operation holds a reference);
                                    // NULL: its turn
    _Atomic uint64_t enqueued;      // operations queued so far; written under the lock
    _Atomic uint64_t completed;     // … and completed, in order
    _Atomic uint64_t recorded;      // `completed` after the newest record that is completing
    _Atomic uint32_t wake;          // futex of waiters
    _Atomic uint32_t waiters;
    _Atomic uint32_t refs;                       // handle, queued work, records
    bool in_ready;                               // pool lock
    const struct irtb_value *value;              // what it waits for: value.c's
    struct irtb_stream *ready_prev, *ready_next; // pool lock
    struct irtb_stream *wait_next;             // record lock, turn lock of a graph, lock of value.c
    struct irtb_stream *list_prev, *list_next; // device lock
};

// One recording of an event. Reference counted, recycled.
struct exec_record {
    pthread_mutex_t lock;
    _Atomic uint32_t refs;
    _Atomic uint32_t done;       // futex: 0 pending, 1 complete
    _Atomic uint32_t waiters;    // threads that sleep on `done`
    uint64_t time;               // exec_now() at completion; valid when done
    struct irtb_stream *stream;  // lock; where it was recorded, referenced; NULL when done
    uint64_t target;             // value of stream->completed at which it is done
    struct irtb_stream *blocked; // lock; streams that wait, through wait_next
    struct exec_shared *shared;  // lock; told at completion (shared_event.h), referenced; or NULL
    uint64_t number;             // of the record there; 0: of no other process's concern
    struct exec_record *free_next;
};

struct irtb_event {
    pthread_mutex_t lock;
    struct exec_record *record;         // lock; NULL while never recorded
    struct exec_shared *_Atomic shared; // set under the lock, once; NULL: only this process's
    bool timing, blocking;
};

// Where the executor's messages go (irtb_host.log's levels); nowhere while it is not set.
extern void (*exec_log_hook)(const char *subsystem, int level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
#define EXEC_LOG(level, ...)                             \
    do {                                                 \
        if (exec_log_hook) {                             \
            exec_log_hook("exec", (level), __VA_ARGS__); \
        }                                                \
    } while (0)

void exec_device_init(struct exec_device *device, int ordinal);
// Marks the device as lost by `error` (first fault wins) and tells `lost`. Any thread, no lock
// held.
void exec_device_fail(struct exec_device *device, cudaError_t error);
// The error that lost the device, or cudaSuccess. Any thread.
static inline cudaError_t exec_device_error(const struct exec_device *device)
{
    return (cudaError_t)atomic_load_explicit(&device->error, memory_order_acquire);
}
// Waits for everything queued so far on all streams; returns the device's fault or success.
cudaError_t exec_device_synchronize(struct exec_device *device);
// Whether nothing is enqueued on the device that has not completed. Any thread.
bool exec_device_is_idle(struct exec_device *device);

// Priority as in CUDA: 0 default, negative is more urgent (to -5).
cudaError_t exec_stream_create(struct exec_device *device, int priority,
                               struct irtb_stream **ret_stream);
void exec_stream_destroy(struct irtb_stream *stream);
// For work that is not running yet.
void exec_stream_set_priority(struct irtb_stream *stream, int priority);
cudaError_t exec_stream_query(struct irtb_stream *stream);
cudaError_t exec_stream_synchronize(struct irtb_stream *stream);

// Enqueueing; all return the device's fault if it is lost, cudaErrorMemoryAllocation without
// memory.
cudaError_t exec_stream_copy(struct irtb_stream *stream, const struct irtb_copy *copy);
cudaError_t exec_stream_fill(struct irtb_stream *stream, const struct irtb_fill *fill);
cudaError_t exec_stream_host(struct irtb_stream *stream, void (*function)(void *), void *argument,
                             bool always);
// Copies *launch, and parameter i from arguments[i] to params[i].offset of the packed block.
cudaError_t exec_stream_launch(struct irtb_stream *stream, const struct exec_launch *launch,
                               const struct exec_param *params, uint32_t param_count,
                               uint32_t params_size, void *const *arguments);
cudaError_t exec_stream_write_value(struct irtb_stream *stream, const struct irtb_value *value);
cudaError_t exec_stream_wait_value(struct irtb_stream *stream, const struct irtb_value *value);
cudaError_t exec_stream_wait_event(struct irtb_stream *stream, struct irtb_event *event);
// Called by graph.c, which holds the graph's lock.
cudaError_t exec_stream_graph(struct irtb_stream *stream, struct irtb_graph *graph);

cudaError_t exec_event_create(bool timing, bool blocking, struct irtb_event **ret_event);
void exec_event_destroy(struct irtb_event *event);
cudaError_t exec_event_record(struct irtb_event *event, struct irtb_stream *stream);
cudaError_t exec_event_query(struct irtb_event *event);
cudaError_t exec_event_synchronize(struct irtb_event *event);
cudaError_t exec_event_elapsed(struct irtb_event *start, struct irtb_event *end, double *ret_ms);

// The event of several processes, as irtb_backend.event_export and event_import.
cudaError_t exec_event_export(struct irtb_event *event, struct irtb_share *ret_share);
cudaError_t exec_event_import(const struct irtb_share *share, struct irtb_event **ret_event);

// ---- records (event.c), for stream.c ----
void exec_record_unref(struct exec_record *record);
// Puts the stream on the list of those to be made ready; false when the record is already done.
bool exec_record_block(struct exec_record *record, struct irtb_stream *stream);
void exec_record_complete(struct exec_record *record);

// ---- events of graphs (event.c), for graph.c ----
// The event gets a record that somebody else will complete while operation number `target` of the
// stream runs; the caller gets one reference.
cudaError_t exec_event_promise(struct irtb_event *event, struct irtb_stream *stream,
                               uint64_t target, struct exec_record **ret_record);
// The newest record of this process, referenced; NULL when there is none.
struct exec_record *exec_event_current(struct irtb_event *event);
// Lets the stream wait if the newest record is another process's; else does nothing.
cudaError_t exec_event_wait_foreign(struct irtb_event *event, struct irtb_stream *stream);

// ---- for event.c ----
// Queues the record; the caller passes one reference.
cudaError_t exec_stream_record(struct irtb_stream *stream, struct exec_record *record);
cudaError_t exec_stream_wait_record(struct irtb_stream *stream, struct exec_record *record);
// A blocked stream goes on. No lock held.
void exec_stream_unblock(struct irtb_stream *stream);
void exec_stream_unref(struct irtb_stream *stream);
// Does some of the work that stands before `target` of the stream, following what it waits for.
// False when there is nothing that this thread may do now.
bool exec_stream_help(struct irtb_stream *stream, uint64_t target, int depth);

// ---- for pool.c ----
void exec_ready_append(struct irtb_stream *stream, struct irtb_stream **head,
                       struct irtb_stream **tail);
void exec_ready_unlink(struct irtb_stream *stream, struct irtb_stream **head,
                       struct irtb_stream **tail);
// Runs a stream that was taken off the ready list.
void exec_stream_run_picked(struct irtb_stream *stream);
// Wakes threads that wait for the stream, so that they can join its job.
void exec_stream_nudge(struct irtb_stream *stream);
