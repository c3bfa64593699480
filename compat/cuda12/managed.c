// SPDX-License-Identifier: Apache-2.0
//
// Advice and prefetching of managed memory under the names that CUDA 12 gave to what CUDA 13 calls
// by the plain ones. Called by the generated wrappers only.
#include "irt_compat12.h"
#include "irt_core.h"

cudaError_t irt_compat12_cudaMemAdvise_v2(const void *devPtr, size_t count,
                                          enum cudaMemoryAdvise advice,
                                          struct cudaMemLocation location)
{
    return irt_core_cudaMemAdvise(devPtr, count, advice, location);
}

cudaError_t irt_compat12_cudaMemPrefetchAsync_v2(const void *devPtr, size_t count,
                                                 struct cudaMemLocation location,
                                                 unsigned int flags, cudaStream_t stream)
{
    return irt_core_cudaMemPrefetchAsync(devPtr, count, location, flags, stream);
}
