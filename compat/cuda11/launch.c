// SPDX-License-Identifier: Apache-2.0
//
// Launching functions that CUDA 13 dropped. Called by the generated wrappers only.
#include "shim/core/launch.h"
#include "irt_compat11.h"

_Static_assert(sizeof(struct irt_launch_params) == sizeof(struct irt11_cudaLaunchParams) &&
                   offsetof(struct irt_launch_params, stream) ==
                       offsetof(struct irt11_cudaLaunchParams, stream),
               "the same struct");

cudaError_t
irt_compat11_cudaLaunchCooperativeKernelMultiDevice(struct irt11_cudaLaunchParams *launchParamsList,
                                                    unsigned int numDevices, unsigned int flags)
{
    return irt_launch_multi_device((const struct irt_launch_params *)(const void *)launchParamsList,
                                   numDevices, flags);
}

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
