// SPDX-License-Identifier: Apache-2.0
//
// Running the operations of streams in order by whoever owns the stream, waiting for them and
// helping while waiting. What an operation does is elsewhere (copy.c, grid.c, event.c).
#include "stream_op.h"

#include <stdlib.h>

#include "copy.h"
#include "exec_util.h"
#include "fault.h"
#include "host.h"
#include "pool.h"
#include "value.h"

enum {
    SPIN_NS = 30000, // a waiting caller looks this long before it sleeps
    HELP_DEPTH = 8,  // chains of event waits that are followed
};

static void complete_one(struct irtb_stream *stream)
{
    atomic_fetch_add(&stream->completed, 1);
    if (atomic_load(&stream->waiters)) {
        atomic_fetch_add(&stream->wake, 1);
        exec_futex_wake(&stream->wake, INT_MAX);
    }
}

void exec_stream_nudge(struct irtb_stream *stream)
{
    if (stream && atomic_load(&stream->waiters)) {
        atomic_fetch_add(&stream->wake, 1);
        exec_futex_wake(&stream->wake, INT_MAX);
    }
}

// Takes the first operation, which has ended, off the stream, whose lock is held.
static void op_done(struct irtb_stream *stream, struct exec_op *op)
{
    stream->head = op->next;
    if (!stream->head) {
        stream->tail = &stream->head;
    }
    op->next = stream->free;
    stream->free = op;
    complete_one(stream);
}

static bool needs_stack(const struct exec_op *op)
{
    return op->kind == EXEC_OP_LAUNCH || op->kind == EXEC_OP_GRAPH;
}

// Copies and fills touch addresses that the application chose: a fault there is the device's.
static void move_bytes(struct exec_device *device, const struct exec_op *op)
{
    exec_fault_install();
    exec_fault_thread();
    struct exec_fault_frame frame;
    exec_fault_push(&frame);
    if (sigsetjmp(frame.jump, 0) == 0) {
        if (op->kind == EXEC_OP_COPY) {
            exec_copy_box(&op->copy);
        } else {
            exec_fill_box(&op->fill);
        }
        exec_fault_pop(&frame);
        return;
    }
    exec_fault_pop(&frame);
    exec_device_fail(device, frame.error);
}

static void run_op(struct irtb_stream *stream, struct exec_op *op)
{
    struct exec_device *device = stream->device;
    bool lost = exec_device_error(device) != cudaSuccess;
    switch (op->kind) {
    case EXEC_OP_COPY:
    case EXEC_OP_FILL:
        if (!lost) {
            move_bytes(device, op);
        }
        break;
    case EXEC_OP_LAUNCH:
        if (!lost) {
            cudaError_t error =
                exec_grid_run(device, stream, &op->launch, op->big ? op->big_params : op->params);
            if (error) {
                exec_device_fail(device, error);
            }
        }
        break;
    case EXEC_OP_RECORD:
        atomic_store(&stream->recorded, op->record->target);
        exec_record_complete(op->record);
        exec_record_unref(op->record);
        break;
    case EXEC_OP_WAIT: // passed only when the record is complete
        exec_record_unref(op->record);
        break;
    case EXEC_OP_WRITE_VALUE:
        if (!lost) {
            exec_value_write(device, &op->value);
        }
        break;
    case EXEC_OP_WAIT_VALUE: // passed only when it holds
    case EXEC_OP_HOST:       // see host_op
    case EXEC_OP_GRAPH:      // see run_graph
        break;
    }
}

// A host node of a graph; the launch goes on afterwards.
static void host_node(struct irtb_stream *stream, struct exec_op *op)
{
    exec_graph_host(&op->graph);
    pthread_mutex_lock(&stream->lock);
    stream->state = EXEC_STREAM_READY;
    exec_pool_push(stream, stream->bucket);
    exec_stream_nudge(stream);
    pthread_mutex_unlock(&stream->lock);
    exec_pool_notify(true);
}

// Whether the operation is a host function that is to be called. Source: CUDA Runtime API,
// cudaLaunchHostFunc: "not called in case of an error"; cudaStreamAddCallback's are.
static bool runs_on_host(const struct irtb_stream *stream, const struct exec_op *op)
{
    return op->kind == EXEC_OP_HOST &&
           (op->always || exec_device_error(stream->device) == cudaSuccess);
}

// Host functions on a thread of their own; the stream is in state HOST.
static void host_op(void *argument)
{
    struct irtb_stream *stream = argument;
    pthread_mutex_lock(&stream->lock);
    struct exec_op *op = stream->head;
    pthread_mutex_unlock(&stream->lock);
    if (op->kind == EXEC_OP_GRAPH) {
        host_node(stream, op);
        return;
    }
    for (;;) {
        op->host.function(op->host.argument);
        pthread_mutex_lock(&stream->lock);
        stream->state = EXEC_STREAM_READY;
        op_done(stream, op);
        op = stream->head;
        // One after the other on this thread, without a detour through the workers.
        if (!op || !runs_on_host(stream, op) || exec_pool_stopping()) {
            break;
        }
        stream->state = EXEC_STREAM_HOST;
        pthread_mutex_unlock(&stream->lock);
    }
    if (op) {
        exec_pool_push(stream, stream->bucket);
    } else {
        stream->state = EXEC_STREAM_IDLE;
    }
    pthread_mutex_unlock(&stream->lock);
    if (op) {
        exec_pool_notify(true);
    } else {
        exec_stream_unref(stream);
    }
}

enum graph_progress {
    GRAPH_ENDED,   // the operation is done; the stream is locked
    GRAPH_AGAIN,   // look at the stream again; locked
    GRAPH_STOPPED, // the stream is blocked; locked
    GRAPH_GONE,    // its host node runs elsewhere; not locked
};

static enum graph_progress block_on(struct irtb_stream *stream, struct exec_record *record)
{
    stream->state = EXEC_STREAM_BLOCKED;
    stream->blocked_on = record;
    if (exec_record_block(record, stream)) {
        return GRAPH_STOPPED;
    }
    stream->state = EXEC_STREAM_RUNNING;
    return GRAPH_AGAIN;
}

// The launch of a graph at the head of a stream that this thread owns and has locked.
static enum graph_progress run_graph(struct irtb_stream *stream, struct exec_op *op, bool worker)
{
    if (!op->graph.started) {
        stream->state = EXEC_STREAM_BLOCKED;
        stream->blocked_on = NULL;
        if (!exec_graph_turn(&op->graph, stream)) {
            return GRAPH_STOPPED;
        }
        stream->state = EXEC_STREAM_RUNNING;
    }
    pthread_mutex_unlock(&stream->lock);
    enum exec_graph_result result = exec_graph_run(&op->graph, stream, worker);
    if (result == EXEC_GRAPH_HOST) {
        pthread_mutex_lock(&stream->lock);
        stream->state = EXEC_STREAM_HOST;
        pthread_mutex_unlock(&stream->lock);
        if (exec_host_call(host_op, stream)) {
            host_op(stream);
        }
        return GRAPH_GONE;
    }
    pthread_mutex_lock(&stream->lock);
    if (result == EXEC_GRAPH_RECORD) {
        return block_on(stream, exec_graph_waits_for(&op->graph));
    }
    return result == EXEC_GRAPH_DONE ? GRAPH_ENDED : GRAPH_AGAIN;
}

// Blocks the stream, whose lock is held, unless the value is there. False: it is.
static bool wait_value(struct irtb_stream *stream, struct exec_op *op)
{
    pthread_mutex_unlock(&stream->lock);
    bool holds = exec_value_holds(stream->device, &op->value);
    pthread_mutex_lock(&stream->lock);
    if (!holds) {
        stream->state = EXEC_STREAM_BLOCKED;
        stream->blocked_on = NULL;
        exec_value_block(stream, &op->value);
    }
    return !holds;
}

// Runs operations of a stream that this thread owns (state READY, off the list) until nothing is
// left, it blocks, `until` operations are complete, or (workers) something better is ready.
static void stream_run(struct irtb_stream *stream, uint64_t until, bool worker)
{
    bool idle = false, notify = false;
    pthread_mutex_lock(&stream->lock);
    stream->state = EXEC_STREAM_RUNNING;
    for (;;) {
        struct exec_op *op = stream->head;
        if (!op) {
            stream->state = EXEC_STREAM_IDLE;
            idle = true;
            break;
        }
        bool enough = atomic_load_explicit(&stream->completed, memory_order_relaxed) >= until ||
                      (worker && exec_pool_stopping());
        bool small = !worker && needs_stack(op) && !exec_grid_may_run_here();
        if (enough || small || (worker && exec_pool_better_ready(stream->bucket))) {
            stream->state = EXEC_STREAM_READY;
            exec_pool_push(stream, stream->bucket);
            notify = true;
            break;
        }
        if (op->kind == EXEC_OP_WAIT && !atomic_load(&op->record->done) &&
            block_on(stream, op->record) == GRAPH_STOPPED) {
            break;
        }
        if (op->kind == EXEC_OP_WAIT_VALUE && wait_value(stream, op)) {
            break;
        }
        if (op->kind == EXEC_OP_GRAPH) {
            enum graph_progress progress = run_graph(stream, op, worker);
            if (progress == GRAPH_GONE) {
                return;
            }
            if (progress == GRAPH_STOPPED) {
                break;
            }
            if (progress == GRAPH_ENDED) {
                op_done(stream, op);
            }
            continue;
        }
        if (runs_on_host(stream, op)) {
            stream->state = EXEC_STREAM_HOST;
            pthread_mutex_unlock(&stream->lock);
            if (exec_host_call(host_op, stream)) {
                host_op(stream); // no thread to be had: here, late rather than never
            }
            return;
        }
        pthread_mutex_unlock(&stream->lock);
        run_op(stream, op);
        pthread_mutex_lock(&stream->lock);
        op_done(stream, op);
    }
    pthread_mutex_unlock(&stream->lock);
    if (notify) {
        exec_pool_notify(false);
    }
    if (idle) {
        exec_stream_unref(stream);
    }
}

void exec_stream_run_picked(struct irtb_stream *stream)
{
    stream_run(stream, UINT64_MAX, true);
}

void exec_stream_unblock(struct irtb_stream *stream)
{
    pthread_mutex_lock(&stream->lock);
    stream->state = EXEC_STREAM_READY;
    stream->blocked_on = NULL;
    exec_pool_push(stream, stream->bucket);
    exec_stream_nudge(stream); // under the lock: without it the stream may be gone already
    pthread_mutex_unlock(&stream->lock);
    exec_pool_notify(false);
}

// ---- waiting ----
// NOLINTBEGIN(clang-analyzer-unix.Malloc): it does not follow the counted references

bool exec_stream_help(struct irtb_stream *stream, uint64_t target, int depth)
{
    if (atomic_load(&stream->completed) >= target) {
        return true;
    }
    struct irtb_stream *other = NULL;
    uint64_t other_target = 0;
    bool claimed = false;
    pthread_mutex_lock(&stream->lock);
    if (stream->state == EXEC_STREAM_READY) {
        bool small = stream->head && needs_stack(stream->head) && !exec_grid_may_run_here();
        claimed = !small && exec_pool_claim(stream);
    } else if (stream->state == EXEC_STREAM_BLOCKED && stream->blocked_on && depth < HELP_DEPTH) {
        struct exec_record *record = stream->blocked_on;
        pthread_mutex_lock(&record->lock);
        other = record->stream;
        other_target = record->target;
        if (other) {
            atomic_fetch_add(&other->refs, 1);
        }
        pthread_mutex_unlock(&record->lock);
    }
    pthread_mutex_unlock(&stream->lock);
    if (claimed) {
        stream_run(stream, target, false);
        return true;
    }
    if (other) {
        bool helped = exec_stream_help(other, other_target, depth + 1);
        exec_stream_unref(other);
        return helped;
    }
    return exec_grid_may_run_here() && exec_pool_join(stream);
}

static void wait_for(struct irtb_stream *stream, uint64_t target)
{
    uint64_t spin_end = 0;
    while (atomic_load(&stream->completed) < target) {
        if (exec_stream_help(stream, target, 0)) {
            spin_end = 0;
            continue;
        }
        uint64_t now = exec_now();
        if (!spin_end) {
            spin_end = now + SPIN_NS;
        }
        if (now < spin_end) {
            for (int i = 0; i < 64 && atomic_load(&stream->completed) < target; i++) {
                exec_pause();
            }
            continue;
        }
        atomic_fetch_add(&stream->waiters, 1);
        uint32_t wake = atomic_load(&stream->wake);
        // Bounded while it waits for another stream, whose work may become ours to help with.
        if (atomic_load(&stream->completed) < target) {
            exec_futex_wait(&stream->wake, wake, 2000000);
        }
        atomic_fetch_sub(&stream->waiters, 1);
    }
}

cudaError_t exec_stream_query(struct irtb_stream *stream)
{
    cudaError_t error = exec_device_error(stream->device);
    if (error) {
        return error;
    }
    uint64_t enqueued = atomic_load(&stream->enqueued);
    // Who saw the last event complete must not find the stream busy: the count follows at once.
    while (atomic_load(&stream->completed) < enqueued) {
        if (atomic_load(&stream->recorded) < enqueued) {
            return cudaErrorNotReady;
        }
        sched_yield();
    }
    return cudaSuccess;
}

cudaError_t exec_stream_synchronize(struct irtb_stream *stream)
{
    wait_for(stream, atomic_load(&stream->enqueued));
    return exec_device_error(stream->device);
}

bool exec_device_is_idle(struct exec_device *device)
{
    bool idle = true;
    pthread_mutex_lock(&device->lock);
    for (struct irtb_stream *s = device->streams; s && idle; s = s->list_next) {
        uint64_t enqueued = atomic_load(&s->enqueued);
        idle = atomic_load(&s->completed) >= enqueued;
    }
    pthread_mutex_unlock(&device->lock);
    return idle;
}

cudaError_t exec_device_synchronize(struct exec_device *device)
{
    struct target {
        struct irtb_stream *stream;
        uint64_t count;
    } few[32], *targets = few, *many = NULL;
    size_t capacity = sizeof few / sizeof *few;
    for (;;) {
        size_t count = 0, pending = 0;
        pthread_mutex_lock(&device->lock);
        for (struct irtb_stream *s = device->streams; s; s = s->list_next) {
            uint64_t enqueued = atomic_load(&s->enqueued);
            if (atomic_load(&s->completed) >= enqueued) {
                continue;
            }
            pending++;
            if (count < capacity) {
                atomic_fetch_add(&s->refs, 1);
                targets[count++] = (struct target){s, enqueued};
            }
        }
        pthread_mutex_unlock(&device->lock);
        for (size_t i = 0; i < count; i++) {
            wait_for(targets[i].stream, targets[i].count);
            exec_stream_unref(targets[i].stream);
        }
        if (count == pending) {
            break;
        }
        // Room for all at once, so that streams that are fed meanwhile cannot keep this going.
        free(many);
        many = malloc((2 * pending) * sizeof *many);
        targets = many ? many : few;
        capacity = many ? 2 * pending : sizeof few / sizeof *few;
    }
    free(many);
    return exec_device_error(device);
}
// NOLINTEND(clang-analyzer-unix.Malloc)
