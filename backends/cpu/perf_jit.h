// SPDX-License-Identifier: Apache-2.0
//
// What perf reads of JIT code: /tmp/perf-PID.map (names only), or /tmp/jit-PID.dump (code and line
// tables, for `perf inject --jit`). Written by one thread at a time (the caller's lock).
#pragma once

#include <stdint.h>

#include "debugger.h"
#include "exec/line_table.h"

void cpu_perf_write(enum cpu_perf mode, const char *name, const struct exec_object *object,
                    uintptr_t text);
