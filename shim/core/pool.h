// SPDX-License-Identifier: Apache-2.0
//
// Memory pools: memory that is handed out and taken back in stream order. A freed block stays in
// its pool and serves the next allocation of its size class as soon as the order of streams allows,
// so that a steady program neither waits nor asks the backend. pool.c is the mechanism, pool_api.c
// the functions of the API.
//
// Cached memory above the release threshold goes back when somebody could notice it (memory info,
// pool attributes, trimming, memory running out), not at every synchronisation.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shim/core/device.h"
#include "shim/core/stream.h"
#include "shim/util/lock.h"

struct irt_pool_bin;

// One piece of the backend's memory. In the map of memory.h while it is handed out, in a bin of its
// pool while it is free.
struct irt_pool_block {
    void *start;
    size_t size; // of its size class
    struct irt_pool *pool;
    unsigned long long stream; // id of the stream that freed it
    struct irtb_event *event;  // recorded by the free; kept for the next one
    int event_device;
    bool pending; // the free may not have been reached yet
    struct irt_pool_block *previous, *next;
};

struct irt_pool {
    void *handle; // in the table of pools
    struct irt_device *device;
    bool is_default;
    struct irt_mutex lock;        // rank EVENT: below the order of streams; guards what follows
    bool closed;                  // cudaMemPoolDestroy was called
    struct irt_pool_bin *bins;    // hash table by size
    struct irt_pool *next_orphan; // of pools without users that still have pending blocks
    size_t max_size;              // 0: no limit of its own
    int follow_events, opportunistic, internal_dependencies;
    uint64_t threshold, reserved, reserved_high, used, used_high;
    unsigned char access[64]; // enum cudaMemAccessFlags by ordinal of the accessing device
};

// A pool of device memory behind a new handle (in pool->handle, one reference). NULL: no memory.
struct irt_pool *irt_pool_create(struct irt_device *device, size_t max_size, bool is_default);

// The pool of a live handle with one more reference, or NULL; and giving the reference back.
struct irt_pool *irt_pool_get(cudaMemPool_t handle);
void irt_pool_put(struct irt_pool *pool);

// cudaMemPoolDestroy: the handle is dead, memory goes back as it becomes free. False: not a handle.
bool irt_pool_close(cudaMemPool_t handle);

// The default and the current pool of a device, created when first asked for, with one more
// reference. NULL: no memory.
struct irt_pool *irt_pool_default(struct irt_device *device);
struct irt_pool *irt_pool_current(struct irt_device *device);

// Makes `pool` current for its device.
void irt_pool_set_current(struct irt_pool *pool);

// Memory for work that is enqueued in `stream` from now on; entered in the map. size > 0.
cudaError_t irt_pool_alloc(struct irt_pool *pool, struct irt_stream *stream, size_t size,
                           void **ret_ptr);

// Takes the block back in the order of `stream`, entered by irt_stream_enter (the caller leaves
// it). The block is out of the map already. On error it still belongs to the application.
cudaError_t irt_pool_free(struct irt_pool_block *block, struct irt_stream *stream);

// Takes the block back at once: the caller promises that no work uses it.
void irt_pool_free_now(struct irt_pool_block *block);

// Gives free memory back until at most `keep` bytes are reserved or nothing more is free.
void irt_pool_trim(struct irt_pool *pool, uint64_t keep);

// For every pool of the device: down to its threshold, or everything that is free with `all`.
void irt_pool_trim_device(struct irt_device *device, bool all);

// cudaDeviceReset: all pools of the device lose their memory; the default one is current again.
void irt_pool_reset_device(struct irt_device *device);
