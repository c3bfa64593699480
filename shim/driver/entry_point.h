// SPDX-License-Identifier: Apache-2.0
//
// cudaGetDriverEntryPoint for the front ends (compat/cudaNN), whose releases decide which version
// of a driver function a program gets.
#pragma once

#include <stdbool.h>

#include <driver_types.h>

// Looks `symbol` up for a program of CUDA `version`. `per_thread` is what cudaEnableDefault means.
// cudaErrorInvalidValue for a missing argument, an unknown flag or a version that is newer than
// ours; else success, and ret_function is NULL and ret_result (may be NULL) says why when there is
// no such function.
cudaError_t irt_driver_entry_point(const char *symbol, void **ret_function, int version,
                                   unsigned long long flags, bool per_thread,
                                   enum cudaDriverEntryPointQueryResult *ret_result);
