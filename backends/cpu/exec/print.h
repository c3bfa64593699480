// SPDX-License-Identifier: Apache-2.0
//
// Output of kernels: formatting with CUDA's conversions into a FIFO per device, which is written to
// the process's stdout when the host synchronises (CUDA programming guide, "Formatted Output").
// Formatting reads memory of the kernel and may fault; it holds no lock while it does.
#pragma once

#include <stddef.h>
#include <stdint.h>

struct exec_printf;

// `limit`: bytes of output (as CUDA counts: formats and arguments) kept between two flushes; when
// more is printed, the oldest is lost, as in CUDA, with one warning.
struct exec_printf *exec_printf_create(size_t limit);
struct exec_printf *exec_printf_destroy(struct exec_printf *fifo);
void exec_printf_set_limit(struct exec_printf *fifo, size_t limit);

// Formats and appends. `arguments`: as nvcc packs them for vprintf, each at its natural alignment.
// Returns the number of arguments, or -1 without memory.
int32_t exec_printf_append(struct exec_printf *fifo, const char *format, const void *arguments);
// Writes what is there to stdout, in order. Any thread.
void exec_printf_flush(struct exec_printf *fifo);

// Formatting alone, for tests: writes at most size bytes with a NUL, returns the length that the
// text has; *ret_count is the number of arguments used.
size_t exec_printf_format(char *ret_text, size_t size, const char *format, const void *arguments,
                          int32_t *ret_count);
