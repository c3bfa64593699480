// SPDX-License-Identifier: Apache-2.0
//
// Events and their records. Each cudaEventRecord makes a record of its own, so a wait that was
// queued for an earlier recording keeps its meaning when the event is recorded again or destroyed.
#include <stdlib.h>
#include <string.h>

#include "exec_util.h"
#include "pool.h"
#include "shared_event.h"
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
    record->shared = NULL;
    record->number = 0;
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
    struct exec_shared *shared = record->shared;
    record->blocked = NULL;
    record->stream = NULL;
    record->shared = NULL;
    atomic_store(&record->done, 1);
    pthread_mutex_unlock(&record->lock);
    if (shared) {
        exec_shared_end(shared, record->number);
        exec_shared_unref(shared);
    }
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
        exec_shared_unref(event->shared);
        pthread_mutex_destroy(&event->lock);
        free(event);
    }
}

static struct exec_shared *shared_of(struct irtb_event *event)
{
    return exec_shared_ref(atomic_load_explicit(&event->shared, memory_order_acquire));
}

// Whether the newest record is one of another process; then the shared part, referenced, and the
// record's number.
static bool is_foreign(struct irtb_event *event, struct exec_shared **ret_shared,
                       uint64_t *ret_number)
{
    struct exec_shared *shared = atomic_load_explicit(&event->shared, memory_order_acquire);
    if (!shared) {
        return false;
    }
    pthread_mutex_lock(&event->lock);
    uint64_t newest = exec_shared_newest(shared);
    bool foreign = newest != 0 && !(event->record && event->record->number == newest);
    if (foreign) {
        *ret_shared = exec_shared_ref(shared);
        *ret_number = newest;
    }
    pthread_mutex_unlock(&event->lock);
    return foreign;
}

// A reference to the newest record of this process, or NULL.
struct exec_record *exec_event_current(struct irtb_event *event)
{
    pthread_mutex_lock(&event->lock);
    struct exec_record *record = event->record;
    if (record) {
        atomic_fetch_add(&record->refs, 1);
    }
    pthread_mutex_unlock(&event->lock);
    return record;
}

// A record that the other processes of a shared event know of already.
static struct exec_record *record_begin(struct irtb_event *event)
{
    struct exec_record *record = record_create();
    if (!record) {
        return NULL;
    }
    struct exec_shared *shared = shared_of(event);
    if (shared && !exec_shared_begin(shared, &record->number)) {
        exec_shared_unref(shared);
        exec_record_unref(record);
        return NULL;
    }
    record->shared = shared; // until it is complete
    return record;
}

static void set_newest(struct irtb_event *event, struct exec_record *record)
{
    pthread_mutex_lock(&event->lock);
    struct exec_record *old = event->record;
    event->record = record;
    pthread_mutex_unlock(&event->lock);
    exec_record_unref(old);
}

cudaError_t exec_event_promise(struct irtb_event *event, struct irtb_stream *stream,
                               uint64_t target, struct exec_record **ret_record)
{
    struct exec_record *record = record_begin(event);
    if (!record) {
        return cudaErrorMemoryAllocation;
    }
    atomic_fetch_add(&record->refs, 1); // one for the graph, one for the event
    atomic_fetch_add(&stream->refs, 1);
    record->stream = stream;
    record->target = target;
    set_newest(event, record);
    *ret_record = record;
    return cudaSuccess;
}

cudaError_t exec_event_record(struct irtb_event *event, struct irtb_stream *stream)
{
    struct exec_record *record = record_begin(event);
    if (!record) {
        return cudaErrorMemoryAllocation;
    }
    struct exec_shared *shared = record->shared;
    uint64_t number = record->number;
    exec_shared_ref(shared);
    atomic_fetch_add(&record->refs, 1); // one for the queue, one for the event
    cudaError_t error = exec_stream_record(stream, record);
    if (error && shared) {
        record->shared = NULL;
        exec_shared_end(shared, number);
        exec_shared_unref(shared);
    }
    exec_shared_unref(shared);
    if (error) {
        exec_record_unref(record);
        exec_record_unref(record);
        return error;
    }
    set_newest(event, record);
    return cudaSuccess;
}

cudaError_t exec_event_query(struct irtb_event *event)
{
    struct exec_shared *shared;
    uint64_t number;
    if (is_foreign(event, &shared, &number)) {
        bool pending = exec_shared_pending(shared, number);
        exec_shared_unref(shared);
        return pending ? cudaErrorNotReady : cudaSuccess;
    }
    struct exec_record *record = exec_event_current(event);
    if (!record) {
        return cudaSuccess;
    }
    bool done = atomic_load(&record->done);
    exec_record_unref(record);
    return done ? cudaSuccess : cudaErrorNotReady;
}

cudaError_t exec_event_synchronize(struct irtb_event *event)
{
    struct exec_shared *shared;
    uint64_t number;
    if (is_foreign(event, &shared, &number)) {
        exec_shared_wait(shared, number);
        exec_shared_unref(shared);
        return cudaSuccess;
    }
    struct exec_record *record = exec_event_current(event);
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
    struct exec_record *a = exec_event_current(start), *b = exec_event_current(end);
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

// ---------------------------------------------------------------- several processes

struct foreign_wait {
    struct exec_shared *shared;
    uint64_t number;
};

// On a thread for host functions, which may block.
static void wait_foreign(void *argument)
{
    struct foreign_wait *wait = argument;
    exec_shared_wait(wait->shared, wait->number);
    exec_shared_unref(wait->shared);
    free(wait);
}

// Takes the reference to `shared`.
static cudaError_t stream_wait_foreign(struct irtb_stream *stream, struct exec_shared *shared,
                                       uint64_t number)
{
    if (!exec_shared_pending(shared, number)) {
        exec_shared_unref(shared);
        return cudaSuccess;
    }
    struct foreign_wait *wait = malloc(sizeof *wait);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (wait) {
        *wait = (struct foreign_wait){.shared = shared, .number = number};
        error = exec_stream_host(stream, wait_foreign, wait, true);
    }
    if (error) {
        free(wait);
        exec_shared_unref(shared);
    }
    return error;
}

cudaError_t exec_event_wait_foreign(struct irtb_event *event, struct irtb_stream *stream)
{
    struct exec_shared *shared;
    uint64_t number;
    return is_foreign(event, &shared, &number) ? stream_wait_foreign(stream, shared, number)
                                               : cudaSuccess;
}

cudaError_t exec_event_export(struct irtb_event *event, struct irtb_share *ret_share)
{
    cudaError_t error = cudaSuccess;
    pthread_mutex_lock(&event->lock);
    struct exec_shared *shared = atomic_load(&event->shared);
    if (!shared) {
        shared = exec_shared_create();
        error = shared ? cudaSuccess : cudaErrorMapBufferObjectFailed;
        struct exec_record *record = event->record;
        if (record && shared) { // recorded already: other processes wait for that, too
            pthread_mutex_lock(&record->lock);
            if (!atomic_load(&record->done) && exec_shared_begin(shared, &record->number)) {
                record->shared = exec_shared_ref(shared);
            }
            pthread_mutex_unlock(&record->lock);
        }
        atomic_store_explicit(&event->shared, shared, memory_order_release);
    } else if (!exec_shared_is_own(shared)) {
        error = cudaErrorInvalidResourceHandle;
    }
    if (!error) {
        struct cpu_share share;
        exec_shared_name(shared, &share);
        memcpy(ret_share, &share, sizeof share);
    }
    pthread_mutex_unlock(&event->lock);
    return error;
}

cudaError_t exec_event_import(const struct irtb_share *share, struct irtb_event **ret_event)
{
    struct cpu_share name;
    struct exec_shared *shared;
    memcpy(&name, share, sizeof name);
    if (name.size != 0) { // that is memory
        return cudaErrorInvalidValue;
    }
    cudaError_t error = exec_shared_open(&name, &shared);
    if (error) {
        return error;
    }
    error = exec_event_create(false, false, ret_event);
    if (error) {
        exec_shared_unref(shared);
        return error;
    }
    atomic_store(&(*ret_event)->shared, shared);
    return cudaSuccess;
}

cudaError_t exec_stream_wait_event(struct irtb_stream *stream, struct irtb_event *event)
{
    struct exec_shared *shared;
    uint64_t number;
    if (is_foreign(event, &shared, &number)) {
        return stream_wait_foreign(stream, shared, number);
    }
    struct exec_record *record = exec_event_current(event);
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
