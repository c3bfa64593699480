// SPDX-License-Identifier: Apache-2.0
//
// Copies that may have an array on a side, for memory.c.
#pragma once

#include <cuda.h>

#include "shim/core/copy.h"

// Copies as `copy` describes it. cudaErrorInvalidValue for what is out of range or does not fit the
// elements of an array; else as irt_copy_run_3d.
cudaError_t irt_driver_copy_3d(const CUDA_MEMCPY3D *copy, cudaStream_t stream,
                               enum irt_copy_mode mode);
