// SPDX-License-Identifier: Apache-2.0
//
// Which driver functions CUDA 13 finds. Called by the generated wrappers only.
#include "irt_compat13.h"
#include "shim/driver/entry_point.h"

cudaError_t irt_compat13_cudaGetDriverEntryPoint(const char *symbol, void **funcPtr,
                                                 unsigned long long flags,
                                                 enum cudaDriverEntryPointQueryResult *driverStatus,
                                                 cudaStream_t default_stream)
{
    return irt_driver_entry_point(symbol, funcPtr, IRT_COMPAT13_VERSION, flags,
                                  default_stream == cudaStreamPerThread, driverStatus);
}
