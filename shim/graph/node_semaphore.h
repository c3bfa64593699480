// SPDX-License-Identifier: Apache-2.0
//
// Nodes that signal external semaphores or wait for them, for node_params.c (graph.h has the
// structure).
#pragma once

#include "shim/graph/graph.h"

// Copies what the application gives. On error what was made stays, to be released.
// cudaErrorInvalidValue, cudaErrorInvalidResourceHandle, cudaErrorMemoryAllocation.
cudaError_t irt_fence_params_make(bool signal, const cudaExternalSemaphore_t *semaphores,
                                  const struct irt_semaphore_params *values, unsigned count,
                                  struct irt_fence_params *params);
cudaError_t irt_fence_params_copy(const struct irt_fence_params *params,
                                  struct irt_fence_params *ret_copy);
void irt_fence_params_release(struct irt_fence_params *params);
