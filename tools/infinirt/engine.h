// SPDX-License-Identifier: Apache-2.0
//
// The cpu backend's compiler, opened where it is installed: to say what it is and whether a kernel
// compiles. Absent in builds without kernels; everything then says so.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct engine;

// NULL with a reason when the module is not there or does not load.
const struct engine *engine_open(char *ret_why, size_t why_size);

// "LLVM 19.1.7, host cpu …"
const char *engine_description(const struct engine *engine);

// Parses and links the texts of one module and compiles each kernel in it. `report` is called per
// kernel with NULL, or the message of the first thing in it that does not compile. False when the
// texts do not even parse or link; ret_message then says why.
bool engine_check(const struct engine *engine, const char *const *texts, const size_t *sizes,
                  size_t count, const char *name, bool compile,
                  void (*report)(void *user, const char *kernel, const char *message), void *user,
                  char *ret_message, size_t message_size);
