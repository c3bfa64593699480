// SPDX-License-Identifier: Apache-2.0
//
// Events and their records. Each cudaEventRecord makes a record of its own, so a wait that was
// queued for an earlier recording keeps its meaning when the event is recorded again or destroyed.
#include <stdlib.h>

#include "exec_util.h"
#include "pool.h"
#include "stream.h"

enum { SPIN_NS = 30000 };

static struct {
    pthread_mutex_t lock;
    struct exec_record *free;
} records = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct exec_record *record_create(void)
{
    pthread_mutex_lock(&records.lock);
    struct exec_record *record = records.free;
    if (record) {
        records.free = record->free_next;
    }
    pthread_mutex_unlock(&records.lock);
    if (!record) {
        record = calloc(1, sizeof *record);
        if (!record) {
            return NULL;
        }
        pthread_mutex_init(&record->lock, NULL);
    }
    record->stream = NULL;
    record->blocked = NULL;
    atomic_store(&record->waiters, 0);
    atomic_store(&record->done, 0);
    atomic_store(&record->refs, 1);
    return record;
}

void exec_record_unref(struct exec_record *record)
{
    if (record && atomic_fetch_sub(&record->refs, 1) == 1) {
        pthread_mutex_lock(&records.lock);
        record->free_next = records.free;
        records.free = record;
        pthread_mutex_unlock(&records.lock);
    }
}

bool exec_record_block(struct exec_record *record, struct irtb_stream *stream)
{
    pthread_mutex_lock(&record->lock);
    bool pending = !atomic_load(&record->done);
    if (pending) {
        stream->wait_next = record->blocked;
        record->blocked = stream;
    }
    pthread_mutex_unlock(&record->lock);
    return pending;
}

void exec_record_complete(struct exec_record *record)
{
    record->time = exec_now();
    pthread_mutex_lock(&record->lock);
    struct irtb_stream *blocked = record->blocked, *stream = record->stream;
    record->blocked = NULL;
    record->stream = NULL;
    atomic_store(&record->done, 1);
    pthread_mutex_unlock(&record->lock);
    if (atomic_load(&record->waiters)) {
        exec_futex_wake(&record->done, INT_MAX);
    }
    while (blocked) {
        struct irtb_stream *next = blocked->wait_next;
        exec_stream_unblock(blocked);
        blocked = next;
    }
    if (stream) {
        exec_stream_unref(stream);
    }
}

cudaError_t exec_event_create(bool timing, bool blocking, struct irtb_event **ret_event)
{
    struct irtb_event *event = calloc(1, sizeof *event);
    if (!event) {
        return cudaErrorMemoryAllocation;
    }
    pthread_mutex_init(&event->lock, NULL);
    event->timing = timing;
    event->blocking = blocking;
    *ret_event = event;
    return cudaSuccess;
}

void exec_event_destroy(struct irtb_event *event)
{
    if (event) {
        exec_record_unref(event->record);
        pthread_mutex_destroy(&event->lock);
        free(event);
    }
}

// A reference to the newest record, or NULL.
static struct exec_record *current(struct irtb_event *event)
{
    pthread_mutex_lock(&event->lock);
    struct exec_record *record = event->record;
    if (record) {
        atomic_fetch_add(&record->refs, 1);
    }
    pthread_mutex_unlock(&event->lock);
    return record;
}

cudaError_t exec_event_record(struct irtb_event *event, struct irtb_stream *stream)
{
    struct exec_record *record = record_create();
    if (!record) {
        return cudaErrorMemoryAllocation;
    }
    atomic_fetch_add(&record->refs, 1); // one for the queue, one for the event
    cudaError_t error = exec_stream_record(stream, record);
    if (error) {
        exec_record_unref(record);
        exec_record_unref(record);
        return error;
    }
    pthread_mutex_lock(&event->lock);
    struct exec_record *old = event->record;
    event->record = record;
    pthread_mutex_unlock(&event->lock);
    exec_record_unref(old);
    return cudaSuccess;
}

cudaError_t exec_event_query(struct irtb_event *event)
{
    struct exec_record *record = current(event);
    if (!record) {
        return cudaSuccess;
    }
    bool done = atomic_load(&record->done);
    exec_record_unref(record);
    return done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t exec_event_synchronize(struct irtb_event *event)
{
    struct exec_record *record = current(event);
    if (!record) {
        return cudaSuccess;
    }
    uint64_t spin_end = event->blocking ? 0 : exec_now() + SPIN_NS;
    while (!atomic_load(&record->done)) {
        pthread_mutex_lock(&record->lock);
        struct irtb_stream *stream = record->stream;
        uint64_t target = record->target;
        if (stream) {
            atomic_fetch_add(&stream->refs, 1);
        }
        pthread_mutex_unlock(&record->lock);
        bool helped = stream && exec_stream_help(stream, target, 0);
        if (stream) {
            exec_stream_unref(stream);
        }
        if (helped || atomic_load(&record->done)) {
            continue;
        }
        if (spin_end && exec_now() < spin_end) {
            for (int i = 0; i < 64; i++) {
                exec_pause();
            }
            continue;
        }
        // Bounded, because the work may become something this thread can help with.
        atomic_fetch_add(&record->waiters, 1);
        if (!atomic_load(&record->done)) {
            exec_futex_wait(&record->done, 0, 1000000);
        }
        atomic_fetch_sub(&record->waiters, 1);
    }
    exec_record_unref(record);
    return cudaSuccess;
}

cudaError_t exec_event_elapsed(struct irtb_event *start, struct irtb_event *end, double *ret_ms)
{
    if (!start->timing || !end->timing) {
        return cudaErrorInvalidResourceHandle;
    }
    struct exec_record *a = current(start), *b = current(end);
    cudaError_t error = cudaErrorInvalidResourceHandle;
    if (a && b) {
        error = cudaErrorNotReady;
        if (atomic_load(&a->done) && atomic_load(&b->done)) {
            *ret_ms = (double)(int64_t)(b->time - a->time) / 1e6;
            error = cudaSuccess;
        }
    }
    exec_record_unref(a);
    exec_record_unref(b);
    return error;
}

cudaError_t exec_stream_wait_event(struct irtb_stream *stream, struct irtb_event *event)
{
    struct exec_record *record = current(event);
    if (!record) {
        return cudaSuccess;
    }
    if (atomic_load(&record->done)) {
        exec_record_unref(record);
        return cudaSuccess;
    }
    cudaError_t error = exec_stream_wait_record(stream, record);
    if (error) {
        exec_record_unref(record);
    }
    return error;
}
