// SPDX-License-Identifier: Apache-2.0
//
// See queue.h. Operations, records, streams and events are kept until the process ends, so that
// mistakes of the shim cannot hide behind reuse and the order can be asked for afterwards.
#include "queue.h"

#include <stdlib.h>

struct record {
    bool done;
    struct op *op; // where it was queued
    struct irtb_stream *stream;
    struct record *next; // all of them
};

struct op {
    void (*function)(void *);
    void *argument;
    struct record *record; // recorded here
    struct record *wait;   // waited for here
    struct op *next;
    struct op *before; // the one before in the stream, also when that has run
    struct op *all;
    bool done;
    unsigned mark;
};

struct irtb_stream {
    int device;
    bool dead;
    struct op *first, *last;
    struct op *latest; // the last one ever queued
    struct irtb_stream *next;
};

struct irtb_event {
    struct record *record;
    bool timing;
    struct irtb_event *next;
};

pthread_mutex_t deferred_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static struct irtb_stream *streams;
static struct record *records;
static struct op *ops;
static struct irtb_event *destroyed;
static size_t queued;
static unsigned mark;

static cudaError_t append(struct irtb_stream *stream, struct op op)
{
    struct op *own = malloc(sizeof *own);
    if (!own) {
        return cudaErrorMemoryAllocation;
    }
    *own = op;
    pthread_mutex_lock(&deferred_lock);
    if (stream->dead) {
        deferred_violation("work for a destroyed stream");
    }
    own->all = ops;
    ops = own;
    own->before = stream->latest;
    stream->latest = own;
    if (own->record) {
        own->record->op = own;
        own->record->stream = stream;
    }
    *(stream->last ? &stream->last->next : &stream->first) = own;
    stream->last = own;
    queued++;
    pthread_mutex_unlock(&deferred_lock);
    return cudaSuccess;
}

cudaError_t deferred_enqueue(struct irtb_stream *stream, void (*function)(void *), void *argument)
{
    return append(stream, (struct op){.function = function, .argument = argument});
}

int deferred_stream_device(const struct irtb_stream *stream)
{
    return stream->device;
}

static bool can_run(const struct irtb_stream *stream)
{
    return stream->first && !(stream->first->wait && !stream->first->wait->done);
}

// Does the first operation of a stream that can run.
static void step(struct irtb_stream *stream)
{
    struct op *op = stream->first;
    stream->first = op->next;
    stream->last = stream->first ? stream->last : NULL;
    if (op->function) {
        op->function(op->argument);
        free(op->argument);
    }
    op->done = true;
    if (op->record) {
        op->record->done = true;
    }
    queued--;
}

// Does what stands before the record, following what the stream waits for.
static void run_until(const struct record *record)
{
    while (!record->done && record->stream->first) {
        struct irtb_stream *stream = record->stream;
        if (!can_run(stream)) {
            run_until(stream->first->wait);
        }
        step(stream);
    }
}

static void run_all(struct irtb_stream *stream)
{
    while (stream->first) {
        if (!can_run(stream)) {
            run_until(stream->first->wait);
        }
        step(stream);
    }
}

// ---- for tests ----

bool deferred_run_one(unsigned choice)
{
    pthread_mutex_lock(&deferred_lock);
    unsigned free_to_run = 0;
    for (struct irtb_stream *s = streams; s; s = s->next) {
        free_to_run += can_run(s);
    }
    if (free_to_run) {
        unsigned skip = choice % free_to_run;
        struct irtb_stream *s = streams;
        while (!can_run(s) || skip-- > 0) {
            s = s->next;
        }
        step(s);
    }
    pthread_mutex_unlock(&deferred_lock);
    return free_to_run > 0;
}

size_t deferred_pending(void)
{
    return queued;
}

// Whether `target` is reached from `op` backwards over queues and waits.
static bool reaches(struct op *op, const struct op *target)
{
    while (op && op != target && op->mark != mark) {
        op->mark = mark;
        if (op->wait && op->wait->op && reaches(op->wait->op, target)) {
            return true;
        }
        op = op->before;
    }
    return op == target;
}

static struct op *find(const void *argument)
{
    for (struct irtb_stream *s = streams; s; s = s->next) {
        for (struct op *op = s->first; op; op = op->next) {
            if (op->function && *(void *const *)op->argument == argument) {
                return op;
            }
        }
    }
    return NULL;
}

bool deferred_precedes(const void *before, const void *after)
{
    pthread_mutex_lock(&deferred_lock);
    struct op *first = find(before), *second = find(after);
    mark++;
    bool result = first && second && first != second && reaches(second, first);
    pthread_mutex_unlock(&deferred_lock);
    return result;
}

// ---- the backend's operations ----

cudaError_t deferred_device_synchronize(int device)
{
    pthread_mutex_lock(&deferred_lock);
    for (struct irtb_stream *s = streams; s; s = s->next) {
        if (s->device == device) {
            run_all(s);
        }
    }
    pthread_mutex_unlock(&deferred_lock);
    return cudaSuccess;
}

cudaError_t deferred_stream_create(int device, int priority, struct irtb_stream **ret_stream)
{
    (void)priority;
    struct irtb_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        return cudaErrorMemoryAllocation;
    }
    stream->device = device;
    pthread_mutex_lock(&deferred_lock);
    stream->next = streams;
    streams = stream;
    pthread_mutex_unlock(&deferred_lock);
    *ret_stream = stream;
    return cudaSuccess;
}

void deferred_stream_destroy(struct irtb_stream *stream)
{
    stream->dead = true; // its work is still done when the device is waited for
}

cudaError_t deferred_stream_query(struct irtb_stream *stream)
{
    pthread_mutex_lock(&deferred_lock);
    bool busy = stream->first != NULL;
    pthread_mutex_unlock(&deferred_lock);
    return busy ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t deferred_stream_synchronize(struct irtb_stream *stream)
{
    pthread_mutex_lock(&deferred_lock);
    run_all(stream);
    pthread_mutex_unlock(&deferred_lock);
    return cudaSuccess;
}

cudaError_t deferred_event_create(int device, bool timing, bool blocking, struct irtb_event **ret)
{
    (void)device, (void)blocking;
    struct irtb_event *event = calloc(1, sizeof *event);
    if (!event) {
        return cudaErrorMemoryAllocation;
    }
    event->timing = timing;
    *ret = event;
    return cudaSuccess;
}

void deferred_event_destroy(struct irtb_event *event)
{
    pthread_mutex_lock(&deferred_lock);
    event->next = destroyed;
    destroyed = event;
    pthread_mutex_unlock(&deferred_lock);
}

cudaError_t deferred_event_record(struct irtb_event *event, struct irtb_stream *stream)
{
    struct record *record = calloc(1, sizeof *record);
    if (!record) {
        return cudaErrorMemoryAllocation;
    }
    pthread_mutex_lock(&deferred_lock);
    record->next = records;
    records = record;
    event->record = record;
    pthread_mutex_unlock(&deferred_lock);
    return append(stream, (struct op){.record = record});
}

cudaError_t deferred_event_query(struct irtb_event *event)
{
    pthread_mutex_lock(&deferred_lock);
    bool pending = event->record && !event->record->done;
    pthread_mutex_unlock(&deferred_lock);
    return pending ? cudaErrorNotReady : cudaSuccess;
}

cudaError_t deferred_event_synchronize(struct irtb_event *event)
{
    pthread_mutex_lock(&deferred_lock);
    if (event->record) {
        run_until(event->record);
    }
    pthread_mutex_unlock(&deferred_lock);
    return cudaSuccess;
}

cudaError_t deferred_event_elapsed(struct irtb_event *start, struct irtb_event *end, double *ret_ms)
{
    *ret_ms = start->timing && end->timing ? 1 : 0;
    return cudaSuccess;
}

cudaError_t deferred_stream_wait_event(struct irtb_stream *stream, struct irtb_event *event)
{
    return event->record && !event->record->done
               ? append(stream, (struct op){.wait = event->record})
               : cudaSuccess;
}
