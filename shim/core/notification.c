// SPDX-License-Identifier: Apache-2.0
//
// Callbacks for asynchronous notifications of a device. The only kind there is tells that a process
// uses more memory than its budget; no backend of ours gives more than the budget, so that a
// registered callback is kept, checked and never called.
// Source: CUDA Runtime API, cudaDeviceRegisterAsyncNotification.
#include <stdlib.h>

#include "irt_core.h"
#include "shim/core/device.h"
#include "shim/util/handle.h"

struct callback {
    const struct irt_device *device;
    cudaAsyncCallback function;
    void *user_data;
};

static struct irt_handle_table callbacks = IRT_HANDLE_TABLE(IRT_HANDLE_CALLBACK, free);

cudaError_t irt_core_cudaDeviceRegisterAsyncNotification(int device, cudaAsyncCallback callbackFunc,
                                                         void *userData,
                                                         cudaAsyncCallbackHandle_t *callback)
{
    const struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    if (!callbackFunc || !callback) {
        return cudaErrorInvalidValue;
    }
    struct callback *own = malloc(sizeof *own);
    if (!own) {
        return cudaErrorMemoryAllocation;
    }
    *own = (struct callback){found, callbackFunc, userData};
    void *handle = irt_handle_open(&callbacks, own);
    if (!handle) {
        free(own);
        return cudaErrorMemoryAllocation;
    }
    *callback = handle;
    return cudaSuccess;
}

cudaError_t irt_core_cudaDeviceUnregisterAsyncNotification(int device,
                                                           cudaAsyncCallbackHandle_t callback)
{
    const struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    struct callback *own = irt_handle_get(&callbacks, callback);
    if (!own) {
        return cudaErrorInvalidValue;
    }
    bool closed = own->device == found && irt_handle_close(&callbacks, callback);
    irt_handle_put(&callbacks, callback);
    return closed ? cudaSuccess : cudaErrorInvalidValue;
}
