// SPDX-License-Identifier: Apache-2.0
//
// The map of all memory that CUDA knows about: device, page-locked host, registered host, managed
// memory and module variables, found by any address inside. Everything that must know what an
// address is (free, pointer attributes, default copy kinds, range checks) asks here. The functions
// that allocate are in memory.c, hostmem.c and pool.c; the copies in copy.c.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/backend.h"
#include "shim/core/device.h"

struct irt_pool_block;

enum irt_memory_type {
    IRT_MEMORY_DEVICE,     // cudaMalloc…
    IRT_MEMORY_POOL,       // cudaMallocAsync
    IRT_MEMORY_HOST,       // cudaHostAlloc, cudaMallocHost
    IRT_MEMORY_REGISTERED, // cudaHostRegister
    IRT_MEMORY_MANAGED,    // cudaMallocManaged
    IRT_MEMORY_VARIABLE,   // __device__ or __constant__ variable of a loaded module
    IRT_MEMORY_MANAGED_VARIABLE,
    IRT_MEMORY_ARRAY,  // one level of a CUDA array; no address of it is the application's
    IRT_MEMORY_VIRTUAL, // mapped by cuMemMap (shim/driver/virtual.c)
    IRT_MEMORY_GRAPH,  // of an allocation node (graph_memory.h)
    IRT_MEMORY_SHARED, // device memory that somebody else made; `flags` is an irt_shared_origin
};

// How memory of others came here, and so how it is given back.
enum irt_shared_origin {
    IRT_SHARED_IPC,      // cudaIpcOpenMemHandle: cudaIpcCloseMemHandle only
    IRT_SHARED_POOL,     // cudaMemPoolImportPointer: cudaFree, cudaFreeAsync
    IRT_SHARED_EXTERNAL, // cudaExternalMemoryGetMappedBuffer: cudaFree
};

// One allocation; copied out of the map, so that it may be used without a lock.
struct irt_memory {
    void *start; // first byte, as the host (or, for device memory, the device) sees it
    size_t size; // bytes, > 0
    enum irt_memory_type type;
    struct irt_device *device;    // owner; for host memory the device that was current
    unsigned flags;               // as given to cudaHostAlloc, cudaHostRegister, cudaMallocManaged
    void *device_start;           // what kernels use for `start`
    uint64_t id;                  // unique for the life of the process
    struct irt_pool_block *block; // of IRT_MEMORY_POOL
};

// Adds an allocation. cudaErrorMemoryAllocation, or cudaErrorInvalidValue if it overlaps another
// one. `memory->id` is ignored; a new one is given. Any thread.
cudaError_t irt_memory_add(const struct irt_memory *memory);

// Takes the allocation that starts at `start` out of the map (the memory itself is untouched).
// False when there is none. `ret_memory` may be NULL.
bool irt_memory_remove(const void *start, struct irt_memory *ret_memory);

// The same in one step with a question: only if `wanted` says yes (under the map's lock, so it must
// not call anything). For functions that free.
bool irt_memory_take(const void *start, bool (*wanted)(const struct irt_memory *memory),
                     struct irt_memory *ret_memory);

// The allocation that holds the byte at `address`. False when none does. Any thread.
bool irt_memory_find(const void *address, struct irt_memory *ret_memory);

// Any allocation that overlaps [start, start+size). False when none does.
bool irt_memory_overlap(const void *start, size_t size, struct irt_memory *ret_memory);

// Whether [ptr, ptr+size) lies in mappings of virtual memory that follow each other without a gap.
bool irt_memory_mapped(const void *ptr, size_t size);

// True for types that device code and the "device" side of a copy may use.
bool irt_memory_on_device(const struct irt_memory *memory);

// Allocates `size` > 0 bytes of `kind` on the current device and adds them as `type`. When the
// device has no more, what its pools keep is given up first. cudaErrorMemoryAllocation; others from
// the backend. ret_ptr is written only on success. Any thread; hold no lock.
cudaError_t irt_memory_allocate(enum irt_memory_type type, enum irtb_memory_kind kind, size_t size,
                                unsigned flags, void **ret_ptr);

// Gives the memory itself back to the backend, after irt_memory_remove. Nothing for variables,
// which are their module's.
cudaError_t irt_memory_release(const struct irt_memory *memory);

// Waits for all work that may use the memory: its device's and that of devices with peer access to
// it, or every device's for host and managed memory. Returns the first fault. Blocks; hold no lock.
cudaError_t irt_memory_drain(const struct irt_memory *memory);

// Frees everything that belongs to the device (for cudaDeviceReset, after all work has ended).
void irt_memory_reset_device(struct irt_device *device);
