// SPDX-License-Identifier: Apache-2.0
//
// Launching functions that CUDA 13 dropped. Called by the generated wrappers only.
#include "shim/core/launch.h"
#include "irt_compat12.h"

_Static_assert(sizeof(struct irt_launch_params) == sizeof(struct irt12_cudaLaunchParams) &&
                   offsetof(struct irt_launch_params, stream) ==
                       offsetof(struct irt12_cudaLaunchParams, stream),
               "the same struct");

cudaError_t
irt_compat12_cudaLaunchCooperativeKernelMultiDevice(struct irt12_cudaLaunchParams *launchParamsList,
                                                    unsigned int numDevices, unsigned int flags)
{
    return irt_launch_multi_device((const struct irt_launch_params *)(const void *)launchParamsList,
                                   numDevices, flags);
}
