// SPDX-License-Identifier: Apache-2.0
//
// Streams: their life and queueing of operations. Running them is stream_run.c.
#include "stream_op.h"

#include <stdlib.h>
#include <string.h>

#include "exec_util.h"
#include "partition.h"
#include "pool.h"

void (*exec_log_hook)(const char *subsystem, int level, const char *format, ...);

// ---------------------------------------------------------------- devices

void exec_device_init(struct exec_device *device, int ordinal)
{
    memset(device, 0, sizeof *device);
    device->ordinal = ordinal;
    pthread_mutex_init(&device->lock, NULL);
}

void exec_device_fail(struct exec_device *device, cudaError_t error)
{
    int none = cudaSuccess;
    if (atomic_compare_exchange_strong(&device->error, &none, (int)error) && device->lost) {
        device->lost(device, error);
    }
}

// ---------------------------------------------------------------- life

static int bucket_of(int priority)
{
    int bucket = EXEC_PRIORITIES - 1 + (priority < 0 ? priority : 0);
    return bucket < 0 ? 0 : bucket;
}

cudaError_t exec_stream_create(struct exec_device *device, int priority,
                               struct irtb_stream **ret_stream)
{
    struct irtb_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        return cudaErrorMemoryAllocation;
    }
    pthread_mutex_init(&stream->lock, NULL);
    stream->device = device;
    stream->bucket = bucket_of(priority);
    stream->tail = &stream->head;
    atomic_store(&stream->refs, 1);
    pthread_mutex_lock(&device->lock);
    stream->list_next = device->streams;
    if (device->streams) {
        device->streams->list_prev = stream;
    }
    device->streams = stream;
    pthread_mutex_unlock(&device->lock);
    *ret_stream = stream;
    return cudaSuccess;
}

void exec_stream_unref(struct irtb_stream *stream)
{
    struct exec_device *device = stream->device;
    // The device lock makes "last reference" and "off the list" one step for device_synchronize.
    uint32_t refs = atomic_load(&stream->refs);
    while (refs > 1) {
        if (atomic_compare_exchange_weak(&stream->refs, &refs, refs - 1)) {
            return;
        }
    }
    pthread_mutex_lock(&device->lock);
    if (atomic_fetch_sub(&stream->refs, 1) != 1) {
        pthread_mutex_unlock(&device->lock);
        return;
    }
    *(stream->list_prev ? &stream->list_prev->list_next : &device->streams) = stream->list_next;
    if (stream->list_next) {
        stream->list_next->list_prev = stream->list_prev;
    }
    pthread_mutex_unlock(&device->lock);
    while (stream->free) {
        struct exec_op *op = stream->free;
        stream->free = op->next;
        free(op->big_params);
        free(op);
    }
    pthread_mutex_destroy(&stream->lock);
    exec_partition_unref(stream->partition);
    free(stream);
}

void exec_stream_destroy(struct irtb_stream *stream)
{
    if (stream) {
        exec_stream_unref(stream);
    }
}

void exec_stream_set_priority(struct irtb_stream *stream, int priority)
{
    pthread_mutex_lock(&stream->lock);
    bool listed = stream->state == EXEC_STREAM_READY && exec_pool_claim(stream);
    stream->bucket = bucket_of(priority);
    if (listed) {
        exec_pool_push(stream, stream->bucket);
    }
    pthread_mutex_unlock(&stream->lock);
    if (listed) {
        exec_pool_notify(false);
    }
}

void exec_ready_append(struct irtb_stream *stream, struct irtb_stream **head,
                       struct irtb_stream **tail)
{
    stream->in_ready = true;
    stream->ready_next = NULL;
    stream->ready_prev = *tail;
    *(*tail ? &(*tail)->ready_next : head) = stream;
    *tail = stream;
}

void exec_ready_unlink(struct irtb_stream *stream, struct irtb_stream **head,
                       struct irtb_stream **tail)
{
    stream->in_ready = false;
    *(stream->ready_prev ? &stream->ready_prev->ready_next : head) = stream->ready_next;
    *(stream->ready_next ? &stream->ready_next->ready_prev : tail) = stream->ready_prev;
    stream->ready_prev = stream->ready_next = NULL;
}

// ---------------------------------------------------------------- queueing

// Locks the stream and returns an operation to fill in; *ret_error says why there is none (then
// the stream is not locked).
static struct exec_op *op_begin(struct irtb_stream *stream, bool even_if_lost,
                                cudaError_t *ret_error)
{
    cudaError_t error = exec_device_error(stream->device);
    if (error && !even_if_lost) {
        *ret_error = error;
        return NULL;
    }
    pthread_mutex_lock(&stream->lock);
    struct exec_op *op = stream->free;
    if (op) {
        stream->free = op->next;
    } else {
        op = aligned_alloc(16, exec_align(sizeof *op, 16));
        if (!op) {
            pthread_mutex_unlock(&stream->lock);
            *ret_error = cudaErrorMemoryAllocation;
            return NULL;
        }
        op->big_params = NULL;
        op->big_size = 0;
    }
    op->next = NULL;
    op->always = false;
    return op;
}

// Appends the operation, unlocks the stream and makes it ready if it was idle.
static void op_commit(struct irtb_stream *stream, struct exec_op *op)
{
    *stream->tail = op;
    stream->tail = &op->next;
    atomic_store_explicit(&stream->enqueued,
                          atomic_load_explicit(&stream->enqueued, memory_order_relaxed) + 1,
                          memory_order_release);
    bool ready = stream->state == EXEC_STREAM_IDLE;
    if (ready) {
        stream->state = EXEC_STREAM_READY;
        atomic_fetch_add(&stream->refs, 1); // queued work keeps the stream
        exec_pool_push(stream, stream->bucket);
    }
    pthread_mutex_unlock(&stream->lock);
    if (ready) {
        exec_pool_notify(false);
    }
}

cudaError_t exec_stream_copy(struct irtb_stream *stream, const struct irtb_copy *copy)
{
    cudaError_t error = cudaSuccess;
    struct exec_op *op = op_begin(stream, false, &error);
    if (op) {
        op->kind = EXEC_OP_COPY;
        op->copy = *copy;
        op_commit(stream, op);
    }
    return error;
}

cudaError_t exec_stream_fill(struct irtb_stream *stream, const struct irtb_fill *fill)
{
    cudaError_t error = cudaSuccess;
    struct exec_op *op = op_begin(stream, false, &error);
    if (op) {
        op->kind = EXEC_OP_FILL;
        op->fill = *fill;
        op_commit(stream, op);
    }
    return error;
}

cudaError_t exec_stream_host(struct irtb_stream *stream, void (*function)(void *), void *argument,
                             bool always)
{
    cudaError_t error = cudaSuccess;
    struct exec_op *op = op_begin(stream, always, &error);
    if (op) {
        op->kind = EXEC_OP_HOST;
        op->always = always;
        op->host.function = function;
        op->host.argument = argument;
        op_commit(stream, op);
    }
    return error;
}

// Gives the operation back unused, and unlocks the stream.
static void op_cancel(struct irtb_stream *stream, struct exec_op *op)
{
    op->next = stream->free;
    stream->free = op;
    pthread_mutex_unlock(&stream->lock);
}

// Room for `size` bytes that live as long as the operation. NULL: no memory.
static void *op_room(struct exec_op *op, size_t size)
{
    if (size <= INLINE_PARAMS) {
        return op->params;
    }
    if (op->big_size < size) {
        free(op->big_params);
        op->big_size = exec_align(size, 4096);
        op->big_params = aligned_alloc(16, op->big_size);
        op->big_size = op->big_params ? op->big_size : 0;
    }
    return op->big_params;
}

cudaError_t exec_stream_launch(struct irtb_stream *stream, const struct exec_launch *launch,
                               const struct exec_param *params, uint32_t param_count,
                               uint32_t params_size, void *const *arguments)
{
    cudaError_t error = cudaSuccess;
    struct exec_op *op = op_begin(stream, false, &error);
    if (!op) {
        return error;
    }
    unsigned char *to = op_room(op, params_size);
    if (!to) {
        op_cancel(stream, op);
        return cudaErrorMemoryAllocation;
    }
    for (uint32_t i = 0; i < param_count; i++) {
        memcpy(to + params[i].offset, arguments[i], params[i].size);
    }
    op->kind = EXEC_OP_LAUNCH;
    op->launch = *launch;
    op->big = params_size > INLINE_PARAMS;
    op_commit(stream, op);
    return cudaSuccess;
}

cudaError_t exec_stream_record(struct irtb_stream *stream, struct exec_record *record)
{
    cudaError_t error = cudaSuccess;
    struct exec_op *op = op_begin(stream, false, &error);
    if (!op) {
        return error;
    }
    if (stream->state == EXEC_STREAM_IDLE) {
        // Nothing stands before it: complete now, without anybody's help.
        op_cancel(stream, op);
        exec_record_complete(record);
        exec_record_unref(record);
        return cudaSuccess;
    }
    op->kind = EXEC_OP_RECORD;
    op->record = record;
    atomic_fetch_add(&stream->refs, 1);
    record->target = atomic_load(&stream->enqueued) + 1;
    record->stream = stream;
    op_commit(stream, op);
    return cudaSuccess;
}

cudaError_t exec_stream_wait_record(struct irtb_stream *stream, struct exec_record *record)
{
    cudaError_t error = cudaSuccess;
    struct exec_op *op = op_begin(stream, false, &error);
    if (op) {
        op->kind = EXEC_OP_WAIT;
        op->record = record;
        op_commit(stream, op);
    }
    return error;
}

cudaError_t exec_stream_graph(struct irtb_stream *stream, struct irtb_graph *graph)
{
    cudaError_t error = cudaSuccess;
    struct exec_op *op = op_begin(stream, false, &error);
    if (!op) {
        return error;
    }
    struct exec_record **slots = op_room(op, exec_graph_slots(graph) * sizeof *slots);
    error = slots ? exec_graph_begin(graph, stream, atomic_load(&stream->enqueued) + 1, slots,
                                     &op->graph)
                  : cudaErrorMemoryAllocation;
    if (error) {
        op_cancel(stream, op);
        return error;
    }
    op->kind = EXEC_OP_GRAPH;
    op_commit(stream, op);
    return cudaSuccess;
}

static cudaError_t enqueue_value(struct irtb_stream *stream, enum exec_op_kind kind,
                                 const struct irtb_value *value)
{
    cudaError_t error = cudaSuccess;
    struct exec_op *op = op_begin(stream, false, &error);
    if (op) {
        op->kind = kind;
        op->value = *value;
        op_commit(stream, op);
    }
    return error;
}

cudaError_t exec_stream_write_value(struct irtb_stream *stream, const struct irtb_value *value)
{
    return enqueue_value(stream, EXEC_OP_WRITE_VALUE, value);
}

cudaError_t exec_stream_wait_value(struct irtb_stream *stream, const struct irtb_value *value)
{
    return enqueue_value(stream, EXEC_OP_WAIT_VALUE, value);
}
