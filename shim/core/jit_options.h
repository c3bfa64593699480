// SPDX-License-Identifier: Apache-2.0
//
// The options that code loaded by hand comes with (cudaJitOption and, with the same numbers,
// CUjit_option): reading and checking them, and writing back what the application asks to hear.
// Callers: library.c and the driver functions of shim/driver.
#pragma once

#include "shim/core/module.h"

// What the options ask for. The buffers are the application's, valid during the loading call.
struct irt_jit_options {
    struct irt_module_limits limits;
    char *info, *error; // NULL: not asked for
    size_t info_size, error_size;
    // Where results go: places in the array of values, or NULL.
    void **info_filled, **error_filled, **wall_time, **threads;
};

// Reads `count` options. Those that steer NVIDIA's code generation have no counterpart here and are
// accepted as the hints they are, after their values were checked. cudaErrorInvalidValue for an
// unknown number, a value out of range or a missing array; 801, named on stderr, for an option that
// changes what the code means (symbols given by the application).
cudaError_t irt_jit_options_read(unsigned count, const enum cudaJitOption *options, void **values,
                                 struct irt_jit_options *ret_options);

// Writes the logs, their sizes and the time in milliseconds. The texts are cut at the sizes of the
// buffers; "" is a log with nothing in it.
void irt_jit_options_answer(const struct irt_jit_options *options, const char *info,
                            const char *error, float milliseconds);
