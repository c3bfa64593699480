// SPDX-License-Identifier: Apache-2.0
//
// The operations of the deferred backend on modules, functions and launches, and what tests ask
// about them (deferred.h).
#pragma once

#include "backends/backend.h"

size_t deferred_modules(void);
size_t deferred_launches(void);
const char *deferred_last_kernel(void);
const char *deferred_last_text(void);

cudaError_t deferred_launch(struct irtb_stream *stream, const struct irtb_launch *l);
cudaError_t deferred_module_load(int device, const struct irtb_code_unit *units, size_t count,
                                 struct irtb_module **ret_module);
void deferred_module_unload(struct irtb_module *module);
cudaError_t deferred_module_function(struct irtb_module *module, const char *name,
                                     struct irtb_function **ret_function);
cudaError_t deferred_module_variable(struct irtb_module *module, const char *name, void **ret_ptr,
                                     size_t *ret_size, bool *ret_managed);
cudaError_t deferred_module_bind_variable(struct irtb_module *module, const char *name, void *ptr);
cudaError_t deferred_function_info(struct irtb_function *function, struct irtb_function_info *ret);
cudaError_t deferred_function_set_attribute(struct irtb_function *function,
                                            enum cudaFuncAttribute attribute, int value);
cudaError_t deferred_function_occupancy(struct irtb_function *function, int block_size,
                                        size_t dynamic_shared, int *ret_blocks);
