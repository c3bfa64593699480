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

#include "backends/backend.h"
#include "shim/core/device.h"
#include "shim/core/stream.h"
#include "shim/util/lock.h"

struct irt_pool_bin;

// One piece of the backend's memory. In the map of memory.h while it is handed out, in a bin of its
// pool while it is free.
struct irt_pool_block {
    void *start;
    size_t size;     // of its size class
    uint64_t offset; // in the object of a pool that can be shared
    struct irt_pool *pool;
    unsigned long long stream; // id of the stream that freed it; 0: free for everybody
    uint64_t number;           // of the free (depend.h)
    struct irtb_event *event;  // recorded by the free; kept for the next one
    int event_device;
    bool pending; // the free may not have been reached yet
    struct irt_pool_block *previous, *next;
};

// What a pool is made of: its allocations all lie at one place.
struct irt_pool_place {
    enum irtb_memory_kind kind;
    struct cudaMemLocation location; // id 0 where it means nothing
    struct irt_device *device;       // of the location; for other places device 0
};

struct irt_pool {
    void *handle; // in the table of pools
    struct irt_pool_place place;
    struct irt_device *device; // = place.device
    bool is_default;
    bool imported; // of another process: allocates nothing
    int fd;        // of the object that the memory of a pool that can be shared lies in; or -1
    uint64_t nonce, next_offset;  // of that object; next_offset: lock
    struct irt_mutex lock;        // rank EVENT: below the order of streams; guards what follows
    bool closed;                  // cudaMemPoolDestroy was called
    struct irt_pool_bin *bins;    // hash table by size
    struct irt_pool_bin *recent;  // the one used last
    struct irt_pool *next_orphan; // of pools without users that still have pending blocks
    size_t max_size;              // 0: no limit of its own
    int follow_events, opportunistic, internal_dependencies;
    uint64_t threshold, reserved, reserved_high, used, used_high;
    unsigned char access[64]; // enum cudaMemAccessFlags by ordinal of the accessing device
};

// A pool behind a new handle (in pool->handle, one reference). With `fd` >= 0, which the pool takes
// over, its memory lies in that object from IRT_POOL_OBJECT_DATA on. NULL: no memory (the fd is
// still the caller's).
struct irt_pool *irt_pool_create(const struct irt_pool_place *place, size_t max_size, int fd);

enum { IRT_POOL_OBJECT_DATA = 2 << 20 };

// The pool of a live handle with one more reference, or NULL; and giving the reference back.
struct irt_pool *irt_pool_get(cudaMemPool_t handle);
void irt_pool_put(struct irt_pool *pool);

// cudaMemPoolDestroy: the handle is dead, memory goes back as it becomes free. False: not a handle.
bool irt_pool_close(cudaMemPool_t handle);

// The default and the current pool of a place, created when first asked for, with one more
// reference. NULL: no memory.
struct irt_pool *irt_pool_default(const struct irt_pool_place *place);
struct irt_pool *irt_pool_current(const struct irt_pool_place *place);

// Makes `pool` current for its place. False: no memory.
bool irt_pool_set_current(struct irt_pool *pool);

// Device memory of the device.
struct irt_pool_place irt_pool_device_place(struct irt_device *device);

// A pool whose memory other processes can map (pool_share.c).
cudaError_t irt_pool_create_shared(const struct irt_pool_place *place, size_t max_size,
                                   cudaMemPool_t *ret_pool);

// Memory for work that is enqueued in `stream` from now on; entered in the map. size > 0. On
// success the caller's reference of the pool passes to the block.
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
