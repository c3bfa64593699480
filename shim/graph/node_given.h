// SPDX-License-Identifier: Apache-2.0
//
// The older functions on nodes have a structure or arguments per type; here they become the one
// form that everything else takes, struct cudaGraphNodeParams. For node_api.c and the updates of
// execs. Each answers cudaErrorInvalidValue for NULL; hold no lock.
#pragma once

#include <stdbool.h>

#include <driver_types.h>

cudaError_t irt_given_kernel(const struct cudaKernelNodeParams *params,
                             struct cudaGraphNodeParams *ret);
cudaError_t irt_given_copy(const struct cudaMemcpy3DParms *params, struct cudaGraphNodeParams *ret);
cudaError_t irt_given_copy_1d(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                              struct cudaGraphNodeParams *ret);
// The address of the symbol on the current device. Errors: 13, 21, 1.
cudaError_t irt_given_copy_to_symbol(const void *symbol, const void *src, size_t count,
                                     size_t offset, enum cudaMemcpyKind kind,
                                     struct cudaGraphNodeParams *ret);
cudaError_t irt_given_copy_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                                       enum cudaMemcpyKind kind, struct cudaGraphNodeParams *ret);
cudaError_t irt_given_fill(const struct cudaMemsetParams *params, struct cudaGraphNodeParams *ret);
cudaError_t irt_given_host(const struct cudaHostNodeParams *params,
                           struct cudaGraphNodeParams *ret);
cudaError_t irt_given_event(bool record, cudaEvent_t event, struct cudaGraphNodeParams *ret);
cudaError_t irt_given_child(cudaGraph_t child, struct cudaGraphNodeParams *ret);
cudaError_t irt_given_signal(const struct cudaExternalSemaphoreSignalNodeParams *params,
                             struct cudaGraphNodeParams *ret);
cudaError_t irt_given_wait(const struct cudaExternalSemaphoreWaitNodeParams *params,
                           struct cudaGraphNodeParams *ret);
