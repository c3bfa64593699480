// SPDX-License-Identifier: Apache-2.0
//
// What the driver functions about code share.
#pragma once

#include "shim/core/module.h"

// The kernel of a CUkernel or CUfunction with one more reference (irt_kernel_put). Host functions,
// which the runtime accepts in that place, are none. cudaErrorInvalidResourceHandle.
cudaError_t irt_driver_kernel(const void *handle, struct irt_kernel **ret_kernel);
