// SPDX-License-Identifier: Apache-2.0
//
// The devices as the application numbers them: the backend's devices filtered and ordered by
// CUDA_VISIBLE_DEVICES, with the state that CUDA keeps per device and the current device of each
// thread. Created once, right after the backend was chosen; never freed.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>

#include "backends/backend.h"
#include "shim/util/lock.h"

struct irt_device {
    int ordinal;                  // the application's number
    int id;                       // the backend's number: what the operations take
    _Atomic int lost;             // cudaError_t that every call answers, or 0
    _Atomic bool active;          // something was made on it: its primary context exists
    _Atomic unsigned generation;  // grows with each cudaDeviceReset
    _Atomic unsigned flags;       // cudaDeviceSchedule…, MapHost, LmemResizeToMax, SyncMemops
    struct irt_mutex lock;        // guards what follows
    struct irtb_device_info info; // constant
    enum cudaFuncCache cache_config;
    unsigned long long peers; // bit per ordinal: peer access enabled from this device
};

// Asks the backend for its devices and applies CUDA_VISIBLE_DEVICES. Called once, by the choice of
// the backend. cudaErrorNoDevice when none is left.
cudaError_t irt_device_setup(const struct irtb_backend *backend);

int irt_device_count(void);

// The device with that number, or NULL (the caller answers cudaErrorInvalidDevice).
struct irt_device *irt_device_at(int ordinal);

// The device of the backend's number, or NULL when it is not visible.
struct irt_device *irt_device_of_backend(int id);

// The calling thread's current device; device 0 in a thread that never chose one. Not NULL behind
// irt_api_enter.
struct irt_device *irt_device_current(void);

// Makes it current for the calling thread.
void irt_device_make_current(struct irt_device *device);

// The calling thread has no context until a device is made current again (cuCtxSetCurrent(NULL)).
// The runtime goes on with the device that was current; functions of the driver API fail.
void irt_device_detach(void);
bool irt_device_detached(void);

// Its compute capability as the architecture number of code: 80 for 8.0.
unsigned irt_device_arch(const struct irt_device *device);

// Notes that the primary context of the device exists now (until cudaDeviceReset), and asks whether
// it does. For the driver functions that report contexts.
void irt_device_activate(struct irt_device *device);
bool irt_device_active(const struct irt_device *device);

// The fault that made the device unusable, or cudaSuccess. One relaxed load. Functions that waited
// for work of the device return this, so that a fault surfaces where CUDA surfaces it.
cudaError_t irt_device_error(const struct irt_device *device);

// cudaDeviceSyncMemops: blocking copies and fills always wait.
bool irt_device_sync_memops(const struct irt_device *device);

// Waits for all work of the device, all streams; returns its fault. Blocks; hold no lock.
cudaError_t irt_device_drain(struct irt_device *device);

// irtb_host.device_lost.
void irt_device_lost(int id, cudaError_t error);
