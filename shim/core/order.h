// SPDX-License-Identifier: Apache-2.0
//
// The order between the legacy default stream of a device and its blocking streams: an operation of
// the legacy stream starts after all earlier work of the blocking streams, and their later work
// starts after it. Kept with events of the backend, lazily: a program that uses one stream only
// pays for an uncontended lock and two comparisons. Called by stream.c only.
// Source: CUDA Runtime API, "Stream synchronization behavior".
#pragma once

#include "shim/core/stream.h"

// Forgets a stream that is about to be destroyed. Work of it that is still queued stays ordered
// before later legacy operations.
void irt_order_remove(struct irt_stream *stream);

// Takes the order lock of the stream's device (no lock for non-blocking streams) and enqueues the
// waits that an operation enqueued now needs. On error the lock is not held.
cudaError_t irt_order_begin(struct irt_stream *stream);

// Notes that work was enqueued, and releases the lock.
void irt_order_end(struct irt_stream *stream);

// For the legacy stream: lets it wait for the work of all blocking streams, without that becoming
// an operation that they must wait for.
cudaError_t irt_order_join(struct irt_stream *legacy);

// For the legacy stream: cudaErrorNotReady while a blocking stream has work, else cudaSuccess.
cudaError_t irt_order_poll(struct irt_stream *legacy);

// Destroys the markers of the device. No stream of it is left.
void irt_order_reset(struct irt_device *device);
