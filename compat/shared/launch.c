// SPDX-License-Identifier: Apache-2.0
//
// Launching functions that CUDA 13 dropped. Called by the generated wrappers only.
#include "shim/core/launch.h"
#include "major.h"

_Static_assert(sizeof(struct irt_launch_params) == sizeof(struct OLD(cudaLaunchParams)) &&
                   offsetof(struct irt_launch_params, stream) ==
                       offsetof(struct OLD(cudaLaunchParams), stream),
               "the same struct");

cudaError_t
COMPAT(cudaLaunchCooperativeKernelMultiDevice)(struct OLD(cudaLaunchParams) * launchParamsList,
                                               unsigned int numDevices, unsigned int flags)
{
    return irt_launch_multi_device((const struct irt_launch_params *)(const void *)launchParamsList,
                                   numDevices, flags);
}
