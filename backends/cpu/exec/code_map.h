// SPDX-License-Identifier: Apache-2.0
//
// The machine code of kernels that tell their source lines, by address: for messages about faults.
// Any thread, but not a signal handler.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct exec_code;

// The code of the object lies at `text`. The object stays readable until it is removed.
// NULL without memory, or when it tells no lines: then messages have none.
struct exec_code *exec_code_add(const void *object, size_t size, uintptr_t text);
struct exec_code *exec_code_remove(struct exec_code *code); // NULL ok; returns NULL

// Whether there is any such code. Also in a signal handler.
bool exec_code_any(void);

// "file.cu:12" for the instruction at `pc`, or false.
bool exec_code_line(uintptr_t pc, char *ret_text, size_t size);
