// SPDX-License-Identifier: Apache-2.0
//
// What streams and launches keep per thread, in one place with one destructor: the per-thread
// default streams, the stack of call configurations and the cache of kernels. Never touches the
// backend of a process that is exiting.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <driver_types.h>
#include <vector_types.h>

// One level of __cudaPushCallConfiguration.
struct irt_call_configuration {
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream;
};

// A kernel found before, by host function address; valid while `version` is the registry's.
struct irt_kernel_cache_line {
    const void *host;
    void *handle;
};

enum { IRT_KERNEL_CACHE_LINES = 32 };

struct irt_thread {
    void **streams; // handle of the per-thread stream by device ordinal, or NULL
    struct irt_call_configuration *calls;
    size_t call_count, call_capacity;
    uint64_t cache_version;
    struct irt_kernel_cache_line cache[IRT_KERNEL_CACHE_LINES];
    bool watched; // the destructor is armed
};

// The calling thread's state. Never NULL.
struct irt_thread *irt_thread(void);

// Arms the destructor that frees the state and closes the streams when the thread ends.
void irt_thread_watch(struct irt_thread *thread);

// stream.c: closes the streams of a thread that ends.
void irt_stream_thread_end(struct irt_thread *thread);
