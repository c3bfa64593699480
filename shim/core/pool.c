// SPDX-License-Identifier: Apache-2.0
//
// The mechanism of memory pools: bins of free blocks, the order that a free and the next use need,
// and giving memory back. Blocks are not split or joined: size classes are close enough (an
// eighth).
#include "shim/core/pool.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HASH_FUNCTION HASH_FNV // for sizes as good as the default, and without fall-through
#include <uthash.h>

#include "shim/core/memory.h"
#include "shim/dispatch/backend.h"
#include "shim/util/handle.h"
#include "shim/util/log.h"

enum { GRANULE = 512, PAGE = 4096 };

// The free blocks of one size class, the most recently freed first.
struct irt_pool_bin {
    size_t size;
    struct irt_pool_block *first;
    UT_hash_handle hh;
};

// Default and current pool of one place; each holds a reference. `current` NULL: the default one.
struct seat {
    struct irt_pool_place place;
    struct irt_pool *standard, *current;
    struct seat *next;
};

static struct irt_mutex pools_lock = IRT_MUTEX_INIT(IRT_RANK_DEVICE);
static struct seat *seats; // guarded by pools_lock; the one asked for last comes first

// Destroyed pools with pending frees.
static struct irt_mutex orphans_lock = IRT_MUTEX_INIT(IRT_RANK_EVENT);
static struct irt_pool *orphans;

static void destroy_pool(void *object);
static struct irt_handle_table table = IRT_HANDLE_TABLE(IRT_HANDLE_POOL, destroy_pool);

// ---- blocks ----

// Multiples of 512 up to 4 KiB, above that an eighth of the power of two below the size; 0 when
// the size is beyond all memory.
static size_t size_class(size_t size)
{
    if (size > PTRDIFF_MAX) {
        return 0;
    }
    size_t step = GRANULE;
    while (step * 16 <= size) {
        step *= 2;
    }
    return (size + step - 1) / step * step;
}

static struct irt_pool_bin *bin_of(struct irt_pool *pool, size_t size)
{
    struct irt_pool_bin *bin = pool->recent;
    if (!bin || bin->size != size) {
        HASH_FIND(hh, pool->bins, &size, sizeof size, bin);
        pool->recent = bin;
    }
    return bin;
}

static void take_locked(struct irt_pool_bin *bin, struct irt_pool_block *block)
{
    if (block->previous) {
        block->previous->next = block->next;
    } else {
        bin->first = block->next;
    }
    if (block->next) {
        block->next->previous = block->previous;
    }
    block->previous = NULL;
    block->next = NULL;
}

// False only without memory for a new bin.
static bool insert_locked(struct irt_pool *pool, struct irt_pool_block *block)
{
    struct irt_pool_bin *bin = bin_of(pool, block->size);
    if (!bin) {
        bin = calloc(1, sizeof *bin);
        if (!bin) {
            return false;
        }
        bin->size = block->size;
        HASH_ADD(hh, pool->bins, size, sizeof bin->size, bin);
    }
    block->previous = NULL;
    block->next = bin->first;
    if (bin->first) {
        bin->first->previous = block;
    }
    bin->first = block;
    return true;
}

// Whether the free of the block has been reached; remembers it.
static bool is_complete(struct irt_pool_block *block)
{
    if (block->pending && irt_backend()->event_query(block->event) != cudaErrorNotReady) {
        block->pending = false;
    }
    return !block->pending;
}

// Gives a block that is in no bin back to the backend. Pool's lock held.
static void release_locked(struct irt_pool *pool, struct irt_pool_block *block)
{
    const struct irtb_backend *backend = irt_backend();
    int device = pool->device->id;
    cudaError_t error = pool->fd < 0
                            ? backend->memory_free(device, pool->place.kind, block->start)
                            : backend->shared_unmap(device, block->start, block->size, true);
    if (error) {
        IRT_LOG("pool", IRT_LOG_WARN, "device %d: giving %zu bytes back: error %d",
                pool->device->ordinal, block->size, (int)error);
    }
    if (block->event) {
        irt_backend()->event_destroy(block->event);
    }
    pool->reserved -= block->size;
    free(block);
}

static void trim_locked(struct irt_pool *pool, uint64_t keep)
{
    for (struct irt_pool_bin *bin = pool->bins; bin && pool->reserved > keep; bin = bin->hh.next) {
        struct irt_pool_block *next;
        for (struct irt_pool_block *b = bin->first; b && pool->reserved > keep; b = next) {
            next = b->next;
            if (pool->reserved - b->size >= keep && is_complete(b)) {
                take_locked(bin, b);
                release_locked(pool, b);
            }
        }
    }
}

void irt_pool_trim(struct irt_pool *pool, uint64_t keep)
{
    irt_mutex_lock(&pool->lock);
    trim_locked(pool, keep);
    irt_mutex_unlock(&pool->lock);
}

// ---- pools ----

struct irt_pool_place irt_pool_device_place(struct irt_device *device)
{
    return (struct irt_pool_place){
        .kind = IRTB_MEMORY_DEVICE,
        .location = {.type = cudaMemLocationTypeDevice, .id = device->ordinal},
        .device = device};
}

struct irt_pool *irt_pool_create(const struct irt_pool_place *place, size_t max_size, int fd)
{
    struct irt_pool *pool = calloc(1, sizeof *pool);
    if (!pool) {
        return NULL;
    }
    pool->place = *place;
    pool->device = place->device;
    pool->max_size = max_size;
    pool->fd = fd;
    pool->next_offset = IRT_POOL_OBJECT_DATA;
    pool->follow_events = 1;
    pool->opportunistic = 1;
    pool->internal_dependencies = 1;
    for (int i = 0; i < irt_device_count(); i++) {
        if (place->kind == IRTB_MEMORY_MANAGED ||
            (place->kind == IRTB_MEMORY_DEVICE && i == place->device->ordinal)) {
            pool->access[i] = cudaMemAccessFlagsProtReadWrite;
        }
    }
    irt_mutex_init(&pool->lock, IRT_RANK_EVENT);
    pool->handle = irt_handle_open(&table, pool);
    if (!pool->handle) {
        irt_mutex_destroy(&pool->lock);
        free(pool);
        return NULL;
    }
    return pool;
}

// Gives back what is free; true when that was all and the pool is gone.
static bool dissolve(struct irt_pool *pool)
{
    irt_mutex_lock(&pool->lock);
    trim_locked(pool, 0);
    bool empty = pool->reserved == 0;
    irt_mutex_unlock(&pool->lock);
    if (!empty) {
        return false;
    }
    struct irt_pool_bin *bin = pool->bins;
    HASH_CLEAR(hh, pool->bins);
    while (bin) {
        struct irt_pool_bin *next = bin->hh.next;
        free(bin);
        bin = next;
    }
    if (pool->fd >= 0) {
        close(pool->fd);
    }
    irt_mutex_destroy(&pool->lock);
    free(pool);
    return true;
}

// No handle, no block in use, no reference is left. Frees may still be pending, and this may be
// called where nobody may wait: such a pool is looked at again later.
static void destroy_pool(void *object)
{
    struct irt_pool *pool = object;
    if (!dissolve(pool)) {
        irt_mutex_lock(&orphans_lock);
        pool->next_orphan = orphans;
        orphans = pool;
        irt_mutex_unlock(&orphans_lock);
    }
}

static void dissolve_orphans(void)
{
    irt_mutex_lock(&orphans_lock);
    struct irt_pool *pool = orphans;
    orphans = NULL;
    irt_mutex_unlock(&orphans_lock);
    while (pool) {
        struct irt_pool *next = pool->next_orphan;
        destroy_pool(pool);
        pool = next;
    }
}

struct irt_pool *irt_pool_get(cudaMemPool_t handle)
{
    return irt_handle_get(&table, handle);
}

void irt_pool_put(struct irt_pool *pool)
{
    irt_handle_put(&table, pool->handle);
}

static struct irt_pool *referenced(struct irt_pool *pool)
{
    if (pool) {
        irt_handle_ref(&table, pool->handle);
    }
    return pool;
}

static bool same_place(const struct irt_pool_place *a, const struct irt_pool_place *b)
{
    return a->kind == b->kind && a->location.type == b->location.type &&
           a->location.id == b->location.id;
}

// The seat of a place, made when there is none; NULL without memory.
static struct seat *seat_locked(const struct irt_pool_place *place)
{
    struct seat **link = &seats;
    while (*link && !same_place(&(*link)->place, place)) {
        link = &(*link)->next;
    }
    struct seat *seat = *link;
    if (seat) {
        *link = seat->next;
    } else {
        seat = calloc(1, sizeof *seat);
        if (!seat) {
            return NULL;
        }
        seat->place = *place;
    }
    seat->next = seats;
    seats = seat;
    return seat;
}

static struct irt_pool *default_locked(struct seat *seat)
{
    if (seat && !seat->standard) {
        seat->standard = irt_pool_create(&seat->place, 0, -1);
        if (seat->standard) {
            seat->standard->is_default = true;
        }
    }
    return seat ? seat->standard : NULL;
}

struct irt_pool *irt_pool_default(const struct irt_pool_place *place)
{
    irt_mutex_lock(&pools_lock);
    struct irt_pool *pool = referenced(default_locked(seat_locked(place)));
    irt_mutex_unlock(&pools_lock);
    return pool;
}

struct irt_pool *irt_pool_current(const struct irt_pool_place *place)
{
    irt_mutex_lock(&pools_lock);
    struct seat *seat = seat_locked(place);
    struct irt_pool *pool = seat ? seat->current : NULL;
    pool = referenced(pool ? pool : default_locked(seat));
    irt_mutex_unlock(&pools_lock);
    return pool;
}

// Replaces the current pool of a place, NULL being the default one; only if it is `only`, unless
// that is NULL.
static bool set_current(const struct irt_pool_place *place, struct irt_pool *pool,
                        const struct irt_pool *only)
{
    irt_mutex_lock(&pools_lock);
    struct seat *seat = seat_locked(place);
    struct irt_pool *old = NULL;
    if (seat && (!only || seat->current == only)) {
        old = seat->current;
        seat->current = referenced(pool);
    }
    irt_mutex_unlock(&pools_lock);
    if (old) {
        irt_pool_put(old);
    }
    return seat != NULL;
}

bool irt_pool_set_current(struct irt_pool *pool)
{
    return set_current(&pool->place, pool->is_default ? NULL : pool, NULL);
}

bool irt_pool_close(cudaMemPool_t handle)
{
    struct irt_pool *pool = irt_pool_get(handle);
    if (!pool) {
        return false;
    }
    bool closed = irt_handle_close(&table, handle);
    if (closed) {
        irt_mutex_lock(&pool->lock);
        pool->closed = true;
        trim_locked(pool, 0);
        irt_mutex_unlock(&pool->lock);
        set_current(&pool->place, NULL, pool);
    }
    irt_pool_put(pool);
    return closed;
}

// ---- allocating ----

// A free block of the class that `stream` may use from now on without any wait: its own first, then
// one it is ordered after, then one whose free has been reached.
static struct irt_pool_block *
find_ready_locked(struct irt_pool_bin *bin, const struct irt_pool *pool, struct irt_stream *stream)
{
    struct irt_pool_block *after = NULL;
    struct irt_pool_block *complete = NULL;
    for (struct irt_pool_block *b = bin->first; b; b = b->next) {
        if (b->stream == stream->id) {
            return b;
        }
        if (!after && (b->stream == 0 ||
                       (pool->follow_events && irt_depend_after(stream, b->stream, b->number)))) {
            after = b;
        }
        if (!after && !complete && pool->opportunistic && is_complete(b)) {
            complete = b;
        }
    }
    return after ? after : complete;
}

// New memory for the block, which has its size.
static cudaError_t fetch_locked(struct irt_pool *pool, struct irt_pool_block *block)
{
    const struct irtb_backend *backend = irt_backend();
    int device = pool->device->id;
    if (pool->fd < 0) {
        return backend->memory_alloc(device, pool->place.kind, block->size, 0, &block->start);
    }
    // Every block lies in pages of its own, at an offset that is never used again.
    block->offset = pool->next_offset;
    cudaError_t error =
        backend->shared_map(device, pool->fd, block->offset, block->size, true, &block->start);
    if (!error) {
        pool->next_offset += block->size;
    }
    return error;
}

static struct irt_pool_block *new_block_locked(struct irt_pool *pool, size_t size,
                                               cudaError_t *ret_error)
{
    struct irt_pool_block *block = NULL;
    *ret_error = cudaErrorMemoryAllocation;
    if (pool->max_size == 0 || pool->reserved + size <= pool->max_size) {
        block = calloc(1, sizeof *block);
    }
    if (!block) {
        return NULL;
    }
    block->size = size;
    block->pool = pool;
    *ret_error = fetch_locked(pool, block);
    if (*ret_error) {
        free(block);
        return NULL;
    }
    pool->reserved += size;
    pool->reserved_high =
        pool->reserved > pool->reserved_high ? pool->reserved : pool->reserved_high;
    return block;
}

// Memory is short: a block of the right class whose free another stream has yet to reach.
static struct irt_pool_block *take_pending_locked(struct irt_pool *pool, size_t size)
{
    struct irt_pool_bin *bin = pool->internal_dependencies ? bin_of(pool, size) : NULL;
    struct irt_pool_block *block = bin ? bin->first : NULL;
    if (block) {
        take_locked(bin, block);
    }
    return block;
}

// Waits for one pending free and gives the block back. False when no free is pending.
static bool wait_for_one_locked(struct irt_pool *pool)
{
    for (struct irt_pool_bin *bin = pool->bins; bin; bin = bin->hh.next) {
        struct irt_pool_block *block = bin->first;
        if (block) {
            take_locked(bin, block);
            struct irtb_event *event = block->pending ? block->event : NULL;
            irt_mutex_unlock(&pool->lock);
            if (event) {
                irt_backend()->event_synchronize(event);
            }
            irt_mutex_lock(&pool->lock);
            release_locked(pool, block);
            return true;
        }
    }
    return false;
}

// Finds or makes a block. `ret_wait`: the stream must first wait for the block's event.
static struct irt_pool_block *obtain(struct irt_pool *pool, struct irt_stream *stream, size_t size,
                                     bool *ret_wait, cudaError_t *ret_error)
{
    struct irt_pool_block *block = NULL;
    *ret_wait = false;
    irt_mutex_lock(&pool->lock);
    struct irt_pool_bin *bin = bin_of(pool, size);
    block = bin ? find_ready_locked(bin, pool, stream) : NULL;
    if (block) {
        take_locked(bin, block);
    } else {
        block = new_block_locked(pool, size, ret_error);
    }
    if (!block && *ret_error == cudaErrorMemoryAllocation) {
        trim_locked(pool, 0);
        block = new_block_locked(pool, size, ret_error);
    }
    if (!block && *ret_error == cudaErrorMemoryAllocation) {
        block = take_pending_locked(pool, size);
        *ret_wait = block && block->pending && block->stream != stream->id;
    }
    while (!block && *ret_error == cudaErrorMemoryAllocation && wait_for_one_locked(pool)) {
        block = new_block_locked(pool, size, ret_error);
    }
    if (block) {
        pool->used += size;
        pool->used_high = pool->used > pool->used_high ? pool->used : pool->used_high;
    }
    irt_mutex_unlock(&pool->lock);
    return block;
}

// Undoes obtain: the block is free again, as it was.
static void put_back(struct irt_pool_block *block)
{
    struct irt_pool *pool = block->pool;
    irt_mutex_lock(&pool->lock);
    pool->used -= block->size;
    if (!insert_locked(pool, block)) {
        // Without memory for a bin the block is lost until the device is reset; say so.
        IRT_LOG("pool", IRT_LOG_WARN, "no memory to keep a free block of %zu bytes", block->size);
    }
    if (pool->closed) {
        trim_locked(pool, 0);
    }
    irt_mutex_unlock(&pool->lock);
}

static enum irt_memory_type memory_type(enum irtb_memory_kind kind)
{
    switch (kind) {
    case IRTB_MEMORY_DEVICE:
        return IRT_MEMORY_POOL;
    case IRTB_MEMORY_HOST:
        return IRT_MEMORY_HOST;
    case IRTB_MEMORY_MANAGED:
        return IRT_MEMORY_MANAGED;
    }
    return IRT_MEMORY_POOL;
}

cudaError_t irt_pool_alloc(struct irt_pool *pool, struct irt_stream *stream, size_t size,
                           void **ret_ptr)
{
    size_t rounded = size_class(size);
    if (pool->fd >= 0) {
        rounded = (rounded + PAGE - 1) / PAGE * PAGE;
    }
    cudaError_t error = cudaErrorMemoryAllocation;
    bool wait;
    struct irt_pool_block *block =
        rounded > 0 ? obtain(pool, stream, rounded, &wait, &error) : NULL;
    if (!block) {
        return error;
    }
    error = cudaSuccess;
    if (wait) {
        error = irt_stream_begin(stream);
        if (!error) {
            error = irt_backend()->stream_wait_event(stream->backend, block->event);
            irt_stream_end(stream);
        }
    }
    struct irt_memory memory = {
        .start = block->start,
        .size = size,
        .type = memory_type(pool->place.kind),
        .flags = pool->place.kind == IRTB_MEMORY_MANAGED ? (unsigned)cudaMemAttachGlobal : 0,
        .device = pool->device,
        .device_start = block->start,
        .block = block};
    if (!error) {
        error = irt_memory_add(&memory);
    }
    if (error) {
        put_back(block);
        return error;
    }
    block->pending = false;
    *ret_ptr = block->start;
    return cudaSuccess;
}

// ---- freeing ----

void irt_pool_free_now(struct irt_pool_block *block)
{
    struct irt_pool *pool = block->pool;
    block->pending = false;
    block->stream = 0;
    put_back(block);
    irt_pool_put(pool);
}

// Marks the end of the stream's work with the block's event, made anew when it is another device's.
static cudaError_t mark(struct irt_pool_block *block, struct irt_stream *stream)
{
    const struct irtb_backend *backend = irt_backend();
    int device = stream->device->id;
    if (block->event && block->event_device != device) {
        backend->event_destroy(block->event);
        block->event = NULL;
    }
    if (!block->event) {
        cudaError_t error = backend->event_create(device, false, false, &block->event);
        if (error) {
            return error;
        }
        block->event_device = device;
    }
    return backend->event_record(block->event, stream->backend);
}

cudaError_t irt_pool_free(struct irt_pool_block *block, struct irt_stream *stream)
{
    struct irt_pool *pool = block->pool;
    cudaError_t error = irt_backend()->stream_query(stream->backend);
    bool busy = error == cudaErrorNotReady;
    if (busy) {
        error = mark(block, stream);
    }
    if (error) {
        return error;
    }
    block->pending = busy;
    block->stream = stream->id;
    block->number = irt_depend_next();
    put_back(block);
    irt_pool_put(pool);
    return cudaSuccess;
}

// ---- all pools of a device ----

struct visit {
    struct irt_device *device;
    bool all;
};

static void trim_one(void *handle, void *object, void *context)
{
    struct irt_pool *pool = object;
    const struct visit *visit = context;
    (void)handle;
    if (pool->device == visit->device) {
        irt_mutex_lock(&pool->lock);
        trim_locked(pool, visit->all ? 0 : pool->threshold);
        irt_mutex_unlock(&pool->lock);
    }
}

void irt_pool_trim_device(struct irt_device *device, bool all)
{
    struct visit visit = {.device = device, .all = all};
    dissolve_orphans();
    irt_handle_each(&table, trim_one, &visit);
}

void irt_pool_reset_device(struct irt_device *device)
{
    struct irt_pool_place place = irt_pool_device_place(device);
    set_current(&place, NULL, NULL);
    irt_pool_trim_device(device, true);
    irt_mutex_lock(&pools_lock);
    struct seat *seat = seat_locked(&place);
    struct irt_pool *pool = seat ? seat->standard : NULL;
    if (seat) {
        seat->standard = NULL;
    }
    irt_mutex_unlock(&pools_lock);
    if (pool) {
        irt_pool_close(pool->handle);
    }
}
