// SPDX-License-Identifier: Apache-2.0
//
// The operations of virtual memory management; their contracts are in backend.h.
#pragma once

#include "backends/backend.h"

cudaError_t cpu_physical_create(int device, size_t size, int *ret_fd);
void cpu_physical_release(int device, size_t size);
cudaError_t cpu_physical_import(int fd, int *ret_device, size_t *ret_size);
cudaError_t cpu_virtual_reserve(void *wanted, size_t size, size_t alignment, void **ret_ptr);
void cpu_virtual_free(void *ptr, size_t size);
cudaError_t cpu_virtual_map(void *ptr, size_t size, int fd, uint64_t offset);
cudaError_t cpu_virtual_unmap(void *ptr, size_t size);
cudaError_t cpu_virtual_protect(void *ptr, size_t size, bool read, bool write);
