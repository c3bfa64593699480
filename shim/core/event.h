// SPDX-License-Identifier: Apache-2.0
//
// Events: counted objects behind handles on top of the backend's events, with what the backend does
// not know: the flags, the device and whether the event was ever recorded.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "shim/graph/capture.h"
#include "shim/core/depend.h"
#include "shim/core/device.h"

struct irt_event {
    void *handle;
    struct irt_device *device;
    struct irtb_event *backend;
    unsigned flags; // as given to cudaEventCreateWithFlags
    _Atomic bool recorded;
    struct irt_point point; // depend.h; unused when other processes may record the event
    struct irt_event_capture capture; // capture.h
};

// The event of a handle with one more reference; cudaErrorInvalidResourceHandle when it is none.
cudaError_t irt_event_get(cudaEvent_t handle, struct irt_event **ret_event);
void irt_event_put(struct irt_event *event);
void irt_event_ref(struct irt_event *event); // one more, for who holds one

// A new handle for an event of the backend, which is destroyed when that fails.
cudaError_t irt_event_adopt(struct irt_device *device, unsigned flags, struct irtb_event *backend,
                            cudaEvent_t *ret_event);

// Records the event in a stream between irt_stream_begin and irt_stream_end. The caller has checked
// that both belong to one device.
struct irt_stream;
cudaError_t irt_event_record(struct irt_event *event, struct irt_stream *stream);

// What is to be noted before a record that the backend makes by itself, in a graph's launch.
void irt_event_note_record(struct irt_event *event, struct irt_stream *stream);

// cudaDeviceReset: makes every event of the device invalid.
void irt_event_reset_device(struct irt_device *device);
