// SPDX-License-Identifier: Apache-2.0
//
// Driver API functions over shim/core: what the generated functions around the bodies need, looking
// a function up by name and version, and what the bodies share. driver.tsv is the list of
// functions; a body is irt_driver_<symbol> and answers a cudaError_t, which the generated function
// turns into a CUresult. Failures of driver functions never become a thread's last error.
#pragma once

#include <cuda.h>

#include <stdbool.h>

#include "irt_fn.h" // generated
#include "shim/core/device.h"

typedef void (*irt_driver_function)(void);

// A version of a function. Rows of one name stand together, oldest first.
struct irt_driver_row {
    const char *name;
    int since;       // CUDA version from which a request gets this one
    bool per_thread; // its default stream is the calling thread's
    irt_driver_function function;
};

extern const struct irt_driver_row irt_driver_rows[]; // generated
extern const unsigned irt_driver_row_count;

// What the exported entries of libcuda.so.1 jump to, in the order of driver.tsv; generated.
__attribute__((visibility("default"))) extern const irt_driver_function irt_slots_driver[];

// Finds the newest version of `name` that a program of CUDA `version` may get. `per_thread`: the
// twin with the calling thread's default stream where there is one. ret_function is NULL unless
// the result is success. Any thread.
CUdriverProcAddressQueryResult irt_driver_find(const char *name, int version, bool per_thread,
                                               void **ret_function);

// Before a body: cudaErrorInitializationError before cuInit (unless the runtime runs already), then
// what irt_api_enter answers for `fn`, a function of the runtime that obeys the same rules, and
// cudaErrorDeviceUninitialized (201) when the function needs a context and the thread has given its
// own up.
cudaError_t irt_driver_enter(enum irt_fn fn, bool needs_context);

// The driver's number for an error. Numbers from 100 on are the same.
CUresult irt_driver_result(cudaError_t error);

// The primary context of a device: one handle for the life of the process.
CUcontext irt_context_of(struct irt_device *device);

// The device of a context, primary or created; NULL for anything that is no context.
struct irt_device *irt_context_device(CUcontext context);

// The device of a number, cudaErrorInvalidDevice when there is none.
cudaError_t irt_driver_device(CUdevice number, struct irt_device **ret_device);

// Runs `expression` with another device current and restores the thread's own.
#define IRT_ON_DEVICE(device_, expression_)                   \
    ({                                                        \
        struct irt_device *on_before_ = irt_device_current(); \
        bool on_detached_ = irt_device_detached();            \
        irt_device_make_current(device_);                     \
        cudaError_t on_error_ = (expression_);                \
        irt_device_make_current(on_before_);                  \
        if (on_detached_) {                                   \
            irt_device_detach();                              \
        }                                                     \
        on_error_;                                            \
    })
