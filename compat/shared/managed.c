// SPDX-License-Identifier: Apache-2.0
//
// Advice and prefetching of managed memory with CUDA 11 and 12's arguments: the place is a device
// number, the host being cudaCpuDeviceId. Called by the generated wrappers only.
#include "irt_core.h"
#include "major.h"

static struct cudaMemLocation location_of(int device)
{
    return (struct cudaMemLocation){.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost
                                                                      : cudaMemLocationTypeDevice,
                                    .id = device};
}

cudaError_t COMPAT(cudaMemAdvise)(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                                  int device)
{
    return irt_core_cudaMemAdvise(devPtr, count, advice, location_of(device));
}

cudaError_t COMPAT(cudaMemPrefetchAsync)(const void *devPtr, size_t count, int dstDevice,
                                         cudaStream_t stream)
{
    return irt_core_cudaMemPrefetchAsync(devPtr, count, location_of(dstDevice), 0, stream);
}
