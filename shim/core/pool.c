// SPDX-License-Identifier: Apache-2.0
//
// Stream-ordered allocation, the plain form: memory is taken at once (fresh memory is in nobody's
// use, so no order is needed) and given back when the stream reaches the free. Pools as objects,
// reuse and thresholds are not there yet; their functions answer 801.
#include <stdint.h>
#include <stdlib.h>

#include "irt_core.h"
#include "shim/core/memory.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/util/log.h"

cudaError_t irt_core_cudaMallocAsync(void **devPtr, size_t size, cudaStream_t hStream)
{
    if (!devPtr) {
        return cudaErrorInvalidValue;
    }
    struct irt_stream *stream;
    cudaError_t error = irt_stream_get(hStream, &stream);
    if (error) {
        return error;
    }
    struct irt_device *device = stream->device;
    irt_stream_put(stream);
    if (size == 0) {
        *devPtr = NULL;
        return cudaSuccess;
    }
    if (size > PTRDIFF_MAX) {
        return cudaErrorMemoryAllocation;
    }
    void *ptr;
    error = irt_backend()->memory_alloc(device->id, IRTB_MEMORY_DEVICE, size, 0, &ptr);
    if (error) {
        return error;
    }
    struct irt_memory memory = {
        .start = ptr, .size = size, .type = IRT_MEMORY_POOL, .device = device, .device_start = ptr};
    error = irt_memory_add(&memory);
    if (error) {
        irt_memory_release(&memory);
        return error;
    }
    *devPtr = ptr;
    return cudaSuccess;
}

static void release_in_stream(void *argument)
{
    struct irt_memory *memory = argument;
    cudaError_t error = irt_memory_release(memory);
    if (error) {
        IRT_LOG("pool", IRT_LOG_WARN, "freeing %zu bytes in stream order: error %d", memory->size,
                (int)error);
    }
    free(memory);
}

cudaError_t irt_core_cudaFreeAsync(void *devPtr, cudaStream_t hStream)
{
    struct irt_memory found;
    if (!devPtr) {
        return cudaErrorInvalidValue;
    }
    struct irt_stream *stream;
    cudaError_t error = irt_stream_enter(hStream, &stream);
    if (error) {
        return error;
    }
    struct irt_memory *memory = malloc(sizeof *memory);
    if (!memory) {
        error = cudaErrorMemoryAllocation;
    } else if (!irt_memory_find(devPtr, &found) || found.start != devPtr ||
               (found.type != IRT_MEMORY_POOL && found.type != IRT_MEMORY_DEVICE) ||
               !irt_memory_remove(devPtr, memory)) {
        error = cudaErrorInvalidValue;
    } else {
        error = irt_backend()->host_func(stream->backend, release_in_stream, memory, true);
        if (!error) {
            return irt_stream_leave(stream, cudaSuccess);
        }
        irt_memory_add(memory); // nothing happened: the application still owns it
    }
    free(memory);
    return irt_stream_leave(stream, error);
}
