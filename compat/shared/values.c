// SPDX-License-Identifier: Apache-2.0
//
// Answers that depend on the release: the version and the names and texts of the errors that it
// knows. Called by the generated wrappers only.
#include "error_text.h"
#include "major.h"

cudaError_t COMPAT(cudaRuntimeGetVersion)(int *runtimeVersion)
{
    if (!runtimeVersion) {
        return cudaErrorInvalidValue;
    }
    *runtimeVersion = IRT_MAJOR_VERSION;
    return cudaSuccess;
}

const char *COMPAT(cudaGetErrorName)(cudaError_t error)
{
    return irt_error_name((int)error, IRT_MAJOR_VERSION);
}

const char *COMPAT(cudaGetErrorString)(cudaError_t error)
{
    return irt_error_text((int)error, IRT_MAJOR_VERSION);
}
