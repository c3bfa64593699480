// SPDX-License-Identifier: Apache-2.0
//
// Execution contexts (CUDA 13.1): the one of each device, and green contexts, which own some of the
// device's multiprocessors. A stream that was created in a green context belongs to it until the
// context is destroyed, and is detached then. Device resources are in resource.h.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"
#include "shim/core/device.h"
#include "shim/core/resource.h"

struct irt_context {
    void *handle;
    struct irt_device *device;
    bool green;            // false: the context of the device itself
    unsigned long long id; // unique for the life of the process
    struct irt_resources resources;
    struct irtb_partition *partition; // of a green context; NULL where the backend has none
    // A stream that waits for the events that the context was told to wait for, so that later
    // streams can wait behind it. Created when first needed (context_event.c).
    void *_Atomic gate;
};

// The context of a handle with one more reference, or NULL.
struct irt_context *irt_context_get(cudaExecutionContext_t handle);
void irt_context_ref(struct irt_context *context);
void irt_context_put(struct irt_context *context);

// The context of the device itself, without a reference (it lives for ever); NULL while nobody has
// asked for it.
struct irt_context *irt_context_of_device(const struct irt_device *device);

// What a device has, as its context's resources.
struct irt_resources irt_device_resources(const struct irt_device *device);

// cudaDeviceReset: destroys the green contexts of the device. All work has ended.
void irt_context_reset_device(struct irt_device *device);

// Lets a new stream wait for the events that its context and the device's were told to wait for.
// Called by stream.c for each stream that is created. One load where nothing waits.
struct irt_stream;
cudaError_t irt_context_gate(struct irt_device *device, struct irt_stream *stream);
