// SPDX-License-Identifier: Apache-2.0
//
// A backend for tests of the shim: no operation is done before somebody waits for it, on the thread
// that waits, or before the test lets it run, one operation at a time and in any order that the
// queues and events allow. So what a call leaves undone shows without any timing. It checks the
// rules of backends/backend.h as it goes, and records which operations precede which. A "kernel" is
// a name after ".entry " in the text of a unit; launching it logs the name. Two devices of 64 MiB.
// Proves what the shim asks of a backend, nothing about a real one.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include <driver_types.h>

// Found with dlsym as `deferred_control` in the loaded module. Any thread.
struct deferred_control {
    // Runs one operation that is free to run, chosen by `choice` among them. False: none is.
    bool (*run_one)(unsigned choice);
    // Operations that are queued.
    size_t (*pending)(void);
    // Whether host function `before` (by its argument) must have run before `after` can, as things
    // are queued. Both are queued.
    bool (*precedes)(const void *before, const void *after);
    // Modules that are loaded, launches so far, name of the last kernel that was launched.
    size_t (*modules)(void);
    size_t (*launches)(void);
    const char *(*last_kernel)(void);
    // Text of the first unit of the module that was loaded last.
    const char *(*last_text)(void);
};

// Also found by their names: broken rules so far, allocations that live, and the error that the
// next copy ends with (for tests of sticky errors).
unsigned deferred_violations(void);
unsigned deferred_allocations(void);
void deferred_fail_next_copy(cudaError_t error);
