// SPDX-License-Identifier: Apache-2.0
//
// CUDA 11's answers that depend on its release: the version and the names and texts of the errors
// that it knows, and which driver functions it finds. Called by the generated wrappers only.
#include "error_text.h"
#include "irt_compat11.h"
#include "shim/driver/entry_point.h"

cudaError_t irt_compat11_cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (!runtimeVersion) {
        return cudaErrorInvalidValue;
    }
    *runtimeVersion = IRT_COMPAT11_VERSION;
    return cudaSuccess;
}

const char *irt_compat11_cudaGetErrorName(cudaError_t error)
{
    return irt_error_name((int)error, IRT_COMPAT11_VERSION);
}

const char *irt_compat11_cudaGetErrorString(cudaError_t error)
{
    return irt_error_text((int)error, IRT_COMPAT11_VERSION);
}

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
