// SPDX-License-Identifier: Apache-2.0
//
// External semaphores with the parameters that CUDA 11 and 12's unversioned functions take (its
// headers call them _v1): the same members without room for more. Called by the generated wrappers
// only.
#include "shim/core/external.h"
#include "irt_core.h"
#include "major.h"

struct OLD(cudaExternalSemaphoreSignalParams_v1) {
    struct {
        unsigned long long fence_value, sync, mutex_key;
    } params;
    unsigned int flags;
};
_Static_assert(sizeof(struct OLD(cudaExternalSemaphoreSignalParams_v1)) == 32,
               "as in CUDA 11 and 12");

struct OLD(cudaExternalSemaphoreWaitParams_v1) {
    struct {
        unsigned long long fence_value, sync, mutex_key;
        unsigned int mutex_timeout;
    } params;
    unsigned int flags;
};
_Static_assert(sizeof(struct OLD(cudaExternalSemaphoreWaitParams_v1)) == 40,
               "as in CUDA 11 and 12");

cudaError_t COMPAT(cudaSignalExternalSemaphoresAsync)(
    const cudaExternalSemaphore_t *extSemArray,
    const struct OLD(cudaExternalSemaphoreSignalParams_v1) * paramsArray, unsigned int numExtSems,
    cudaStream_t stream)
{
    struct irt_semaphore_params params = {
        .first = paramsArray,
        .stride = sizeof *paramsArray,
        .flags_offset = offsetof(struct OLD(cudaExternalSemaphoreSignalParams_v1), flags)};
    return irt_semaphores_signal(extSemArray, params, numExtSems, stream);
}

cudaError_t COMPAT(cudaWaitExternalSemaphoresAsync)(
    const cudaExternalSemaphore_t *extSemArray,
    const struct OLD(cudaExternalSemaphoreWaitParams_v1) * paramsArray, unsigned int numExtSems,
    cudaStream_t stream)
{
    struct irt_semaphore_params params = {
        .first = paramsArray,
        .stride = sizeof *paramsArray,
        .flags_offset = offsetof(struct OLD(cudaExternalSemaphoreWaitParams_v1), flags)};
    return irt_semaphores_wait(extSemArray, params, numExtSems, stream);
}

cudaError_t COMPAT(cudaSignalExternalSemaphoresAsync_v2)(
    const cudaExternalSemaphore_t *extSemArray,
    const struct cudaExternalSemaphoreSignalParams *paramsArray, unsigned int numExtSems,
    cudaStream_t stream)
{
    return irt_core_cudaSignalExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems, stream);
}

cudaError_t COMPAT(cudaWaitExternalSemaphoresAsync_v2)(
    const cudaExternalSemaphore_t *extSemArray,
    const struct cudaExternalSemaphoreWaitParams *paramsArray, unsigned int numExtSems,
    cudaStream_t stream)
{
    return irt_core_cudaWaitExternalSemaphoresAsync(extSemArray, paramsArray, numExtSems, stream);
}
