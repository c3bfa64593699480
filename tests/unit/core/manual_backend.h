// SPDX-License-Identifier: Apache-2.0
//
// A backend for tests that runs nothing by itself: work stays queued until the test, or a waiting
// call, lets it run, one operation at a time and in any order that the queues and events allow. It
// records which operations precede which, so that a test can ask for exactly the order that CUDA
// promises. A "kernel" is a name after ".entry " in the text of a unit; launching it logs the name.
// Proves what shim/core asks of a backend, nothing about a real one.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Found with dlsym as `manual_control` in the loaded module.
struct manual_control {
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
