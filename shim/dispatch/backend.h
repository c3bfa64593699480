// SPDX-License-Identifier: Apache-2.0
//
// The chosen backend. Chosen once per process, at the first call that needs one: INFINIRT_BACKEND,
// or the first of nvidia, ascend, metax that has a device, else cpu. Never silently another one:
// what was asked for and cannot be had is an error of every call. shim/core asks here for the
// operations; nobody else opens backends.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/backend.h"

// Chooses the backend if that has not happened, waits if another thread is choosing. cudaSuccess:
// irt_backend() may be used. Otherwise the answer that every API call gives: cudaErrorNoDevice when
// there is none, cudaErrorInitializationError when this very thread is choosing (re-entry).
cudaError_t irt_backend_require(void);

// True once a backend is in use; one acquire load. Does not choose.
bool irt_backend_ready(void);

// The operations; only after irt_backend_require or inside a function behind irt_api_enter.
const struct irtb_backend *irt_backend(void);

// What is known about one backend, for `infinirt info`.
struct irt_info_backend {
    const char *name;
    bool chosen;    // this process would use (or uses) it
    bool available; // it has at least one device
    int devices;
    char path[512];   // of the module, empty when it was not found
    char reason[256]; // why it is not available, else empty
};

// Looks at backend `index` (0, 1, …): opens its module and asks for its devices; it does not become
// the chosen one by that. False past the last one. Not from several threads at once. Exported by
// the core library under a version node of its own; for the `infinirt` command, not for
// applications.
__attribute__((visibility("default"))) bool irt_info_backend(size_t index,
                                                             struct irt_info_backend *ret_info);

// Properties of device `device` of the chosen backend as the application sees them (after
// CUDA_VISIBLE_DEVICES); cudaErrorInvalidDevice past the last one. Exported likewise.
__attribute__((visibility("default"))) cudaError_t
irt_info_device(int device, struct irtb_device_info *ret_info, size_t *ret_free, size_t *ret_total);

// The documented environment variables with their values in this process: entry `index`; false past
// the last one. Exported likewise.
__attribute__((visibility("default"))) bool irt_info_variable(size_t index, const char **ret_name,
                                                              const char **ret_value,
                                                              const char **ret_help);
