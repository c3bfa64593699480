// SPDX-License-Identifier: Apache-2.0
//
// What the files of this folder share: the state behind wrap.h.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "backends/backend.h"
#include "shim/provide/provider.h"
#include "shim/provide/ptx_scan.h"

enum { IRT_PROVIDE_DEVICES = 64 }; // whose failures are kept apart

struct irt_provide {
    const struct irtb_backend *inner;
    const struct irtb_host *host;
    bool kernels; // there are providers
    struct irtb_backend table;
    _Atomic bool any_failed;
    _Atomic int failed[IRT_PROVIDE_DEVICES]; // cudaError_t of the first host kernel that failed
};
extern struct irt_provide irt_provided; // final before the backend is used

struct irtb_module {
    struct irtb_module *inner; // NULL: the backend has none, or could not load it
    cudaError_t error;         // why it could not
    int device;
    struct irt_ptx_contents contents;
    void **storage; // of each variable, NULL until it is asked for; only without `inner`
    struct irtb_function *functions;
    pthread_mutex_t lock; // of `storage` and `functions`
};

struct irtb_function {
    struct irtb_function *next;
    struct irtb_module *module;
    struct irtb_function *inner; // NULL: provided, or not there at all
    char *name;
    bool provided;
    struct infinirt_kernel entry;
    unsigned parameter_count;
    struct irtb_parameter *parameters;
    size_t packed_size;
    uint32_t required_block[3], max_block[3];
    _Atomic int dynamic_shared_max; // set by the application, or 0
};

// As irtb_backend.module_variable.
cudaError_t irt_provide_variable(struct irtb_module *module, const char *name, void **ret_ptr,
                                 size_t *ret_size, bool *ret_managed);

// Device of a stream that the table made.
cudaError_t irt_provide_device_of(const struct irtb_stream *stream, int *ret_device);

// As irtb_backend.launch (launch.c).
cudaError_t irt_provide_launch(struct irtb_stream *stream, const struct irtb_launch *launch);

// A launch with copies of all that it needs, for the provider's host function; free() it.
struct irt_provide_call;
struct irt_provide_call *irt_provide_call_make(const struct irtb_launch *launch);
// Runs it; keeps it.
void irt_provide_call_run(void *call);

// Replaces the operations of graphs (graph.c).
void irt_provide_put_graphs(struct irtb_backend *table);
