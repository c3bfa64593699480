// SPDX-License-Identifier: Apache-2.0
//
// External semaphore nodes: the arrays that GetParams gives back, and the operation that a launch
// performs. Source: CUDA Runtime API, cudaGraphAddExternalSemaphoresSignalNode.
#include "shim/graph/node_semaphore.h"

#include <stdlib.h>
#include <string.h>

#include "shim/core/external.h"

// The structures of signals and waits have one size, and the fence's value first.
enum { VALUE_SIZE = sizeof(struct cudaExternalSemaphoreSignalParams) };
_Static_assert(VALUE_SIZE == sizeof(struct cudaExternalSemaphoreWaitParams), "the same size");

cudaError_t irt_fence_params_make(bool signal, const cudaExternalSemaphore_t *semaphores,
                                  const struct irt_semaphore_params *values, unsigned count,
                                  struct irt_fence_params *params)
{
    cudaError_t e =
        irt_semaphore_operation_make(signal, semaphores, *values, count, &params->operation);
    if (e) {
        return e;
    }
    params->semaphores = calloc(count, sizeof(cudaExternalSemaphore_t));
    params->values = calloc(count, VALUE_SIZE);
    if (!params->semaphores || !params->values) {
        return cudaErrorMemoryAllocation;
    }
    params->count = count;
    memcpy(params->semaphores, semaphores, count * sizeof(cudaExternalSemaphore_t));
    for (unsigned i = 0; i < count; i++) {
        // Older structures end behind the same members.
        memcpy((char *)params->values + (size_t)i * VALUE_SIZE,
               (const char *)values->first + i * values->stride, values->flags_offset);
    }
    return cudaSuccess;
}

cudaError_t irt_fence_params_copy(const struct irt_fence_params *params,
                                  struct irt_fence_params *ret_copy)
{
    irt_semaphore_operation_ref(params->operation);
    *ret_copy = (struct irt_fence_params){.operation = params->operation};
    ret_copy->semaphores = calloc(params->count, sizeof(cudaExternalSemaphore_t));
    ret_copy->values = calloc(params->count, VALUE_SIZE);
    if (!ret_copy->semaphores || !ret_copy->values) {
        return cudaErrorMemoryAllocation;
    }
    ret_copy->count = params->count;
    memcpy(ret_copy->semaphores, params->semaphores,
           params->count * sizeof(cudaExternalSemaphore_t));
    memcpy(ret_copy->values, params->values, (size_t)params->count * VALUE_SIZE);
    return cudaSuccess;
}

void irt_fence_params_release(struct irt_fence_params *params)
{
    if (params->operation) {
        irt_semaphore_operation_unref(params->operation);
    }
    free(params->semaphores);
    free(params->values);
}

cudaError_t irt_params_from_semaphores(struct irt_device *device, bool signal,
                                       const cudaExternalSemaphore_t *semaphores,
                                       const struct irt_semaphore_params *values, unsigned count,
                                       struct irt_params *ret_params)
{
    struct irt_params made = {.type = signal ? cudaGraphNodeTypeExtSemaphoreSignal
                                             : cudaGraphNodeTypeExtSemaphoreWait,
                              .device = device};
    cudaError_t e = irt_fence_params_make(signal, semaphores, values, count, &made.fence);
    if (e) {
        irt_fence_params_release(&made.fence);
    } else {
        *ret_params = made;
    }
    return e;
}
