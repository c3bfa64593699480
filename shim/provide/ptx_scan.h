// SPDX-License-Identifier: Apache-2.0
//
// What the shim itself reads in PTX, for backends that cannot run it: kernels with the layout of
// their parameters and their limits, and variables with their initial values. No instruction is
// looked at.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct irt_ptx_parameter {
    size_t offset, size, align;
};

struct irt_ptx_kernel {
    char *name;
    struct irt_ptx_parameter *parameters;
    unsigned parameter_count;
    uint32_t required_block[3], max_block[3]; // zeros without
};

struct irt_ptx_variable {
    char *name;
    size_t size, align;
    unsigned char *value; // `size` bytes
    bool managed;
    bool known; // false: the initial value is not one that this reader understands
};

struct irt_ptx_contents {
    struct irt_ptx_kernel *kernels;
    size_t kernel_count;
    struct irt_ptx_variable *variables;
    size_t variable_count;
};

// Adds what is in `text` (NUL-terminated). False without memory or when a declaration is cut off.
bool irt_ptx_scan(const char *text, struct irt_ptx_contents *contents);
void irt_ptx_free(struct irt_ptx_contents *contents);
