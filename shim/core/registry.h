// SPDX-License-Identifier: Apache-2.0
//
// The records behind module.h, shared by registry.c (who registered what, look-up, lifetime) and
// module.c (code on devices). Nobody else includes this.
#pragma once

#include <stdatomic.h>

// A failed insertion must not end the process.
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "shim/core/code.h"
#include "shim/core/module.h"
#include "shim/fatbin/fatbin.h"
#include "shim/util/lock.h"

// Kernels and variables are freed with their module, not before.
struct irt_kernel {
    struct irt_module *module;
    const void *host;         // NULL: of a library
    void *handle;             // opened at the first look-up and then constant; counts the module
    struct irt_kernel *older; // same host address, registered earlier and still live
    struct irt_kernel *next;  // of the module
    UT_hash_handle hh;        // only the newest of a host address is in the table
    // By device ordinal; made under the module's lock, read without it.
    struct irt_loaded *_Atomic *_Atomic loaded;
    char name[];
};

struct irt_variable {
    struct irt_module *module;
    const void *host; // host shadow, or address of the host pointer of a managed variable; NULL: of
                      // a library
    bool managed;
    void *managed_storage; // shared by all devices; guarded by the module's lock
    size_t size;
    struct irt_variable *older, *next;
    UT_hash_handle hh;
    char name[];
};

// A module on one device.
struct irt_module_device {
    struct irtb_module *code;
    cudaError_t error; // why it cannot be loaded; asked once
};

struct irt_module {
    _Atomic unsigned references; // of the registration, of each kernel's handle, of each use
    unsigned number;             // for messages
    const struct irt_fatbin_wrapper *wrapper; // valid while registered; NULL: a library
    struct irt_module_limits limits;
    struct irt_kernel *kernels;
    struct irt_variable *variables;
    const void *self; // key: so that a handle is checked without touching it
    UT_hash_handle hh;

    struct irt_mutex lock;             // guards what follows
    struct irt_module_device *devices; // by ordinal, NULL before the first load
    bool chosen;                       // code and choice_error are valid
    cudaError_t choice_error;
    struct irt_code code;
    struct irt_device *managed_owner; // whose code holds the storage of the managed variables
};

// registry.c: references of a module. The last one to go unloads and frees it.
void irt_module_ref(struct irt_module *module);
void irt_module_unref(struct irt_module *module);

// registry.c: calls `visit` with every registered module, a reference held and no lock.
void irt_module_each(void (*visit)(struct irt_module *module, void *context), void *context);

// module.c: loads the module on the device when that has not happened. Caller holds a reference.
cudaError_t irt_module_load(struct irt_module *module, struct irt_device *device,
                            struct irtb_module **ret_code);

// module.c: what a managed variable's host pointer shall show, loading the module when needed.
// Called by __cudaInitModule; on failure the pointers get zeroed storage and the reason is logged.
cudaError_t irt_module_init_managed(struct irt_module *module, struct irt_device *device);

// module.c: lists what is in code that was loaded on `device`, for modules that nobody registered.
// Caller owns the module alone. cudaErrorNotSupported, cudaErrorMemoryAllocation.
cudaError_t irt_module_list(struct irt_module *module, struct irt_device *device,
                            struct irtb_module *code);

// module.c: unloads from all devices and frees what loading made. The last reference is gone.
void irt_module_discard(struct irt_module *module);
