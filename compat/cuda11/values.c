// SPDX-License-Identifier: Apache-2.0
//
// Which driver functions CUDA 11 finds. Called by the generated wrappers only.
#include "irt_compat11.h"
#include "shim/driver/entry_point.h"

cudaError_t irt_compat11_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                                                 unsigned long long flags,
                                                 cudaStream_t default_stream)
{
    enum cudaDriverEntryPointQueryResult result;
    cudaError_t e = irt_driver_entry_point(symbol, funcPtr, IRT_COMPAT11_VERSION, flags,
                                           default_stream == cudaStreamPerThread, &result);
    // CUDA 11 has no place for the result.
    return e || result == cudaDriverEntryPointSuccess ? e : cudaErrorSymbolNotFound;
}
