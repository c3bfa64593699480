// SPDX-License-Identifier: Apache-2.0
//
// The queues of the deferred backend: streams, events, and running what is in them. One recursive
// lock guards the whole backend and is held while an operation runs.
#pragma once

#include <pthread.h>

#include "backends/backend.h"

extern pthread_mutex_t deferred_lock;

// The test's rule book (deferred.c).
void deferred_violation(const char *what);

// Queues `function(argument)`; the argument begins with a pointer that `precedes` compares with
// what a test asks for (NULL: nothing), is malloc'ed, and is freed when it has run.
cudaError_t deferred_enqueue(struct irtb_stream *stream, void (*function)(void *), void *argument);

int deferred_stream_device(const struct irtb_stream *stream);

cudaError_t deferred_device_synchronize(int device);
cudaError_t deferred_stream_create(int device, int priority, struct irtb_stream **ret_stream);
void deferred_stream_destroy(struct irtb_stream *stream);
cudaError_t deferred_stream_query(struct irtb_stream *stream);
cudaError_t deferred_stream_synchronize(struct irtb_stream *stream);
cudaError_t deferred_event_create(int device, bool timing, bool blocking, struct irtb_event **ret);
void deferred_event_destroy(struct irtb_event *event);
cudaError_t deferred_event_record(struct irtb_event *event, struct irtb_stream *stream);
cudaError_t deferred_event_query(struct irtb_event *event);
cudaError_t deferred_event_synchronize(struct irtb_event *event);
cudaError_t deferred_event_elapsed(struct irtb_event *start, struct irtb_event *end,
                                   double *ret_ms);
cudaError_t deferred_stream_wait_event(struct irtb_stream *stream, struct irtb_event *event);

// For the control of tests.
bool deferred_run_one(unsigned choice);
size_t deferred_pending(void);
bool deferred_precedes(const void *before, const void *after);
