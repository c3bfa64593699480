// SPDX-License-Identifier: Apache-2.0
//
// Tells debuggers and profilers of compiled kernels: gdb's JIT interface for those with line
// tables, perf's map or dump of JIT code when INFINIRT_PERF asks for it, and the code map that
// messages about faults read. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cpu_perf { CPU_PERF_OFF, CPU_PERF_MAP, CPU_PERF_DUMP };

struct cpu_debug;

// The code of kernel `name` (mangled) was linked from the object, which stays readable until it is
// removed; the object's function `thread` is at `thread`. NULL when there is nothing to tell.
struct cpu_debug *cpu_debug_add(const char *name, const void *object, size_t size,
                                uintptr_t thread);
struct cpu_debug *cpu_debug_remove(struct cpu_debug *debug); // NULL ok; returns NULL
