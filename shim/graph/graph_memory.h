// SPDX-License-Identifier: Apache-2.0
//
// Memory of allocation nodes. Its address is there from the creation of the node on, and in the map
// of memory.h as IRT_MEMORY_GRAPH; the nodes (clones too) hold references on it. A launch allocates
// it and a free node, cudaFree or cudaFreeAsync gives it back, which here means: it may be
// allocated again. It goes when no node has it and it is not allocated. Also the statistics per
// device. Source: CUDA C++ Programming Guide, "Graph Memory Nodes".
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shim/core/device.h"

struct irt_memory;
struct irt_stream;

// New memory with one reference. cudaErrorMemoryAllocation. No lock above IRT_RANK_GRAPH held.
cudaError_t irt_graph_memory_reserve(struct irt_device *device, size_t size, void **ret_ptr);
void irt_graph_memory_retain(void *ptr);
// The last one gives the memory back, unless it is allocated. No lock above IRT_RANK_GRAPH held.
void irt_graph_memory_release(void *ptr);

// One step of a launch, in its order.
struct irt_graph_memory_step {
    void *ptr;
    bool alloc; // else free
};

// Does the steps of one launch by `exec` around the enqueueing of it: all or nothing.
// cudaErrorInvalidValue when memory that the exec allocated in an earlier launch is still allocated
// (unless `auto_free`) or a free node meets memory that is not; else what `enqueue` answers.
cudaError_t irt_graph_memory_launch(const void *exec, bool auto_free,
                                    const struct irt_graph_memory_step *steps, size_t count,
                                    cudaError_t (*enqueue)(void *), void *context);

// cudaFree, cudaFreeAsync. False: this is no memory of graphs. *ret_error: 1 when it is not
// allocated. *ret_gone: no node has it any more; it is out of the map, and the caller releases it
// with irt_memory_release when its work has ended.
bool irt_graph_memory_free(void *ptr, cudaError_t *ret_error, bool *ret_gone,
                           struct irt_memory *ret_memory);

// The map has lost it (cudaDeviceReset).
void irt_graph_memory_forget(const void *ptr);
