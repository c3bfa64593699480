// SPDX-License-Identifier: Apache-2.0
//
// CUDA 13's answers that depend on its release: the version and the names and texts of the errors
// that it knows, and which driver functions it finds. Called by the generated wrappers only.
#include "error_text.h"
#include "irt_compat13.h"
#include "shim/driver/entry_point.h"

cudaError_t irt_compat13_cudaRuntimeGetVersion(int *runtimeVersion)
{
    if (!runtimeVersion) {
        return cudaErrorInvalidValue;
    }
    *runtimeVersion = IRT_COMPAT13_VERSION;
    return cudaSuccess;
}

const char *irt_compat13_cudaGetErrorName(cudaError_t error)
{
    return irt_error_name((int)error, IRT_COMPAT13_VERSION);
}

const char *irt_compat13_cudaGetErrorString(cudaError_t error)
{
    return irt_error_text((int)error, IRT_COMPAT13_VERSION);
}

cudaError_t irt_compat13_cudaGetDriverEntryPoint(
    const char *symbol, void **funcPtr, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus, cudaStream_t default_stream)
{
    return irt_driver_entry_point(symbol, funcPtr, IRT_COMPAT13_VERSION, flags,
                                  default_stream == cudaStreamPerThread, driverStatus);
}
