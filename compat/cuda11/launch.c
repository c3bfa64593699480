// SPDX-License-Identifier: Apache-2.0
//
// The profiler call that CUDA 12 dropped. Called by the generated wrappers only.
#include "irt_compat11.h"

// The profiler that this configured was removed with CUDA 11's tools. Source: CUDA Runtime
// API 11.8, cudaProfilerInitialize: cudaErrorInvalidValue, cudaErrorProfilerDisabled.
cudaError_t irt_compat11_cudaProfilerInitialize(const char *configFile, const char *outputFile,
                                                cudaOutputMode_t outputMode)
{
    if (!configFile || !outputFile || (outputMode != cudaKeyValuePair && outputMode != cudaCSV)) {
        return cudaErrorInvalidValue;
    }
    return cudaErrorProfilerDisabled;
}
