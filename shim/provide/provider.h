// SPDX-License-Identifier: Apache-2.0
//
// Provider libraries (include/infinirt.h): opening those that INFINIRT_KERNELS names, and finding
// the kernel that stands for a CUDA kernel. Callers: wrap.c.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "include/infinirt.h"

// Opens all providers of a list separated by colons, once per process. False with one line of
// reason when one of them cannot be used; then none is.
bool irt_providers_open(const char *list, char *ret_why, size_t why_size);

// The first provider's kernel for the mangled name. False: there is none. What a provider answers
// is checked; an answer that cannot be used is logged and counts as none.
bool irt_provider_find(const char *kernel, const char *backend, int device,
                       struct infinirt_kernel *ret_kernel);

// Whether `name` of a struct infinirt_kernel means the kernel with that mangled name.
bool irt_provider_matches(const char *name, const char *mangled);
