// SPDX-License-Identifier: Apache-2.0
//
// The functions of the CUDA device runtime that compiled code calls (exec_runtime.device_call).
#pragma once

#include "../kernel_abi.h"

// Runs `function`; the blocks are laid out as those of the PTX function. Inside a kernel only.
void exec_device_call(struct exec_ctx *ctx, uint32_t function, const void *arguments,
                      void *results);
