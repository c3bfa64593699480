// SPDX-License-Identifier: Apache-2.0
//
// What every exported function obeys before and after its body, the last error of each thread, and
// the two functions that read it.
#include "shim/core/api_rules.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "irt_core.h"
#include "shim/graph/capture.h"
#include "shim/core/device.h"
#include "shim/core/error.h"
#include "shim/core/error_log.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/util/log.h"
#include "shim/util/process.h"
#include "shim/util/tls.h"

static IRT_TLS_HOT cudaError_t last_error;

cudaError_t irt_error_peek(void)
{
    return last_error;
}

void irt_error_set_last(cudaError_t error)
{
    last_error = error;
}

static cudaError_t process_error(void)
{
    switch (irt_process_state()) {
    case IRT_PROCESS_RUNNING:
        return cudaSuccess;
    case IRT_PROCESS_FORKED:
        return cudaErrorInitializationError;
    case IRT_PROCESS_EXITING:
        return cudaErrorCudartUnloading;
    }
    return cudaErrorCudartUnloading;
}

// Functions that only look at or select devices: the fault of the current device does not stop
// them, so that a program can go on with another one.
static bool works_on_lost_device(enum irt_fn fn)
{
    switch (fn) {
    case IRT_FN_cudaGetDevice:
    case IRT_FN_cudaSetDevice:
    case IRT_FN_cudaGetDeviceCount:
    case IRT_FN_cudaGetDeviceProperties:
    case IRT_FN_cudaDeviceGetAttribute:
    case IRT_FN_cudaDeviceGetPCIBusId:
    case IRT_FN_cudaDeviceGetByPCIBusId:
        return true;
    default:
        return false;
    }
}

cudaError_t irt_api_enter(enum irt_fn fn)
{
    cudaError_t error = process_error();
    if (error) {
        return error;
    }
    error = irt_backend_require();
    if (error) {
        return error;
    }
    if (irt_stream_in_host_function()) {
        return cudaErrorNotPermitted;
    }
    error = irt_device_error(irt_device_current());
    if (error && !works_on_lost_device(fn)) {
        return error;
    }
    return irt_capture_check_call(fn);
}

cudaError_t irt_api_enter_noinit(enum irt_fn fn)
{
    (void)fn;
    return process_error();
}

cudaError_t irt_api_leave(enum irt_fn fn, cudaError_t error)
{
    // "Not ready" is an answer, not an error: the getters do not report it (CUDA C++ Programming
    // Guide, "Error Checking").
    if (error != cudaSuccess && error != cudaErrorNotReady) {
        last_error = error;
        irt_error_log_call(irt_fn_names[fn], error);
    } else if (atomic_load_explicit(&irt_error_log_pending, memory_order_relaxed)) {
        irt_error_log_deliver();
    }
    return error;
}

// The error that the getters answer whatever the thread did: no backend, a lost device.
static cudaError_t standing_error(void)
{
    cudaError_t error = process_error();
    if (!error) {
        error = irt_backend_require();
    }
    return error ? error : irt_device_error(irt_device_current());
}

cudaError_t irt_core_cudaGetLastError(void)
{
    cudaError_t error = standing_error();
    if (!error) {
        error = last_error;
        last_error = cudaSuccess;
    }
    return error;
}

cudaError_t irt_core_cudaPeekAtLastError(void)
{
    cudaError_t error = standing_error();
    return error ? error : last_error;
}

cudaError_t irt_unsupported(const char *name)
{
    // Open addressing over the text; names are never removed. Full: names may repeat on stderr.
    static const char *_Atomic seen[1024];
    enum { SLOTS = sizeof seen / sizeof *seen };
    uint32_t hash = 2166136261u;
    for (const char *c = name; *c != '\0'; c++) {
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    }
    for (unsigned i = 0; i < SLOTS; i++) {
        const char *_Atomic *slot = &seen[(hash + i) % SLOTS];
        const char *found = NULL;
        if (atomic_compare_exchange_strong(slot, &found, name)) {
            break;
        }
        if (strcmp(found, name) == 0) {
            return cudaErrorNotSupported;
        }
    }
    const char *backend = irt_backend() ? irt_backend()->name : "chosen";
    irt_notice("%s is not supported by the %s backend", name, backend);
    return cudaErrorNotSupported;
}
