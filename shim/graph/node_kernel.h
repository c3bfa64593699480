// SPDX-License-Identifier: Apache-2.0
//
// Kernel nodes: their parameters and attributes, for node_params.c and node_api.c (graph.h has the
// structure).
#pragma once

#include "foreign.h"
#include "shim/graph/graph.h"

// struct cudaKernelNodeParamsV2 in CUDA 13.2 and later: 56 bytes, `ctx`, `functionType`.
enum { IRT_KERNEL_CONTEXT = 56, IRT_KERNEL_PARAMS_SIZE = 72 };

// A kernel node as the application describes it, for params->device, with the attributes of `like`
// if there is one. On error what was made stays, to be released. No lock. Errors:
// irt_launch_check's, 1 for parameters in both forms or a malformed list of extras, 98 for what is
// no kernel.
cudaError_t irt_kernel_params_make(const struct cudaKernelNodeParamsV2 *given,
                                   const struct irt_kernel_params *like, struct irt_params *params);

// Copies; on error `ret_copy` is to be released all the same. Any lock.
cudaError_t irt_kernel_params_copy(const struct irt_kernel_params *params,
                                   struct irt_kernel_params *ret_copy);

// Gives back what the parameters own. No lock: may unload code.
void irt_kernel_params_release(struct irt_kernel_params *params);

// What GetParams answers; the arrays stay the node's.
void irt_kernel_params_describe(struct irt_kernel_params *params,
                                struct cudaKernelNodeParamsV2 *ret_given);

// The value of an attribute, or its default. cudaErrorInvalidValue for what is no attribute of a
// kernel node. Writes only the bytes of that attribute, since callers of CUDA 11.7 and older have a
// smaller union.
cudaError_t irt_kernel_attribute_get(const struct irt_kernel_params *params,
                                     cudaLaunchAttributeID id, cudaLaunchAttributeValue *ret_value);

// Sets an attribute of parameters that are no node's yet (a copy): checks the value and the launch
// that results. No lock. cudaErrorInvalidValue, 801 by name, irt_launch_check's errors.
cudaError_t irt_kernel_attribute_set(struct irt_params *params, cudaLaunchAttributeID id,
                                     const cudaLaunchAttributeValue *value);

// Replaces all attributes by those of `like`; the same errors.
cudaError_t irt_kernel_attributes_take(struct irt_params *params,
                                       const struct irt_kernel_params *like);

// The device of an execution context that a node or a conditional handle is for; NULL is the
// current device. cudaErrorInvalidValue for what is none; 801 for green contexts.
cudaError_t irt_params_context(cudaExecutionContext_t handle, struct irt_device **ret_device);
