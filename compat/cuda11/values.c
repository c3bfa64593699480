// SPDX-License-Identifier: Apache-2.0
//
// CUDA 11's answers that depend on its release: the version and the names and texts of the errors
// that it knows. Called by the generated wrappers only.
#include "error_text.h"
#include "irt_compat11.h"

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
