// SPDX-License-Identifier: Apache-2.0
//
// CUDA 13's answers that depend on its release: the version and the names and texts of the errors
// that it knows. Called by the generated wrappers only.
#include "error_text.h"
#include "irt_compat13.h"

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
