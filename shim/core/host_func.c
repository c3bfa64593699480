// SPDX-License-Identifier: Apache-2.0
//
// Host functions and callbacks in streams. They run on whatever thread executes the stream, also on
// one that only waits for it: while one runs, that thread's CUDA calls are refused, and its last
// error is not touched. Source: CUDA Runtime API, cudaLaunchHostFunc and cudaStreamAddCallback.
#include <stdlib.h>

#include "irt_core.h"
#include "shim/core/error.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/util/tls.h"

// One queued call; freed when it has run.
struct host_call {
    struct irt_device *device;
    cudaHostFn_t function;         // cudaLaunchHostFunc, or NULL
    cudaStreamCallback_t callback; // cudaStreamAddCallback, or NULL
    cudaStream_t stream;           // what the callback is told
    void *user_data;
};

// How many host functions the thread is in; asked by every API call.
static IRT_TLS_HOT unsigned depth;

bool irt_stream_in_host_function(void)
{
    return depth > 0;
}

void irt_run_host_function(void (*function)(void *), void *argument)
{
    cudaError_t last = irt_error_peek();
    depth++;
    function(argument);
    depth--;
    irt_error_set_last(last);
}

static void run(void *argument)
{
    struct host_call call = *(struct host_call *)argument;
    free(argument);
    cudaError_t last = irt_error_peek();
    depth++;
    cudaError_t status = irt_device_error(call.device);
    if (call.callback) {
        call.callback(call.stream, status, call.user_data);
    } else if (!status) { // after a fault only callbacks are called
        call.function(call.user_data);
    }
    depth--;
    irt_error_set_last(last);
}

static cudaError_t enqueue(cudaStream_t stream, const struct host_call *call)
{
    struct host_call *own = malloc(sizeof(*own));
    if (!own) {
        return cudaErrorMemoryAllocation;
    }
    *own = *call;
    struct irt_stream *s;
    cudaError_t e = irt_stream_enter(stream, &s);
    if (!e) {
        own->device = s->device;
        // `always`, because run() must free; it knows itself when not to call.
        e = irt_backend()->host_func(s->backend, run, own, true);
        e = irt_stream_leave(s, e);
    }
    if (e) {
        free(own);
    }
    return e;
}

cudaError_t irt_core_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t fn, void *userData)
{
    struct irt_stream *s;
    if (!fn) {
        return cudaErrorInvalidValue;
    }
    if (irt_capture_enter(stream, &s)) {
        return irt_capture_host(s, fn, userData, 0);
    }
    return enqueue(stream, &(struct host_call){.function = fn, .user_data = userData});
}

// How the thread that runs the function waits for earlier work (blocking or spinning) is a hint.
cudaError_t irt_core_cudaLaunchHostFunc_v2(cudaStream_t stream, cudaHostFn_t fn, void *userData,
                                           unsigned int syncMode)
{
    enum { BLOCKING = 0, SPIN_WAIT = 1 }; // enum cudaHostTaskSyncMode of CUDA 13.2
    if (syncMode != BLOCKING && syncMode != SPIN_WAIT) {
        return cudaErrorInvalidValue;
    }
    return irt_core_cudaLaunchHostFunc(stream, fn, userData);
}

cudaError_t irt_core_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t callback,
                                           void *userData, unsigned int flags)
{
    if (!callback || flags != 0) {
        return cudaErrorInvalidValue;
    }
    // Programs pass 0 for the legacy stream and compare with that.
    cudaStream_t told = stream == cudaStreamLegacy ? NULL : stream;
    return enqueue(
        stream, &(struct host_call){.callback = callback, .stream = told, .user_data = userData});
}
