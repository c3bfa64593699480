// SPDX-License-Identifier: Apache-2.0
//
// The blocks behind allocation nodes, and the functions that report and trim graph memory. A block
// has memory of its own for the life of its nodes: graphs do not share it, since the addresses of
// all must stay valid and the processor has no cheap way to map memory anew at each launch. The
// statistics say what CUDA's do: memory stays with the graphs that had it, also when it is freed,
// until a trim; so they report the most that was allocated at once since the last trim.
#include "shim/graph/graph_memory.h"

#include <stdint.h>
#include <stdlib.h>

#include <uthash.h>

#include "irt_core.h"
#include "shim/core/memory.h"
#include "shim/core/pool.h"
#include "shim/dispatch/backend.h"

enum { DEVICE_MAX = 64 };

struct block {
    void *start;
    size_t size;
    struct irt_device *device;
    size_t nodes;      // references
    const void *owner; // exec that allocated it; meaningful while allocated
    bool allocated;
    bool before; // allocated before the launch that is being checked
    UT_hash_handle hh;
};

// By ordinal.
struct statistics {
    uint64_t live; // allocated now
    uint64_t held; // the most since the last trim: used and reserved memory alike
    uint64_t used_high, reserved_high;
};

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_EVENT);
static struct block *blocks; // by start
static struct statistics statistics[DEVICE_MAX];

static struct block *find_locked(const void *ptr)
{
    struct block *block = NULL;
    HASH_FIND_PTR(blocks, &ptr, block);
    return block;
}

static struct statistics *of(const struct block *block)
{
    return &statistics[block->device->ordinal];
}

static void note_live_locked(const struct block *block, bool more)
{
    struct statistics *s = of(block);
    s->live = more ? s->live + block->size : s->live - block->size;
    s->held = s->live > s->held ? s->live : s->held;
    s->used_high = s->held > s->used_high ? s->held : s->used_high;
    s->reserved_high = s->held > s->reserved_high ? s->held : s->reserved_high;
}

cudaError_t irt_graph_memory_reserve(struct irt_device *device, size_t size, void **ret_ptr)
{
    struct block *block = calloc(1, sizeof *block);
    if (!block || size > PTRDIFF_MAX) {
        free(block);
        return cudaErrorMemoryAllocation;
    }
    const struct irtb_backend *backend = irt_backend();
    cudaError_t error =
        backend->memory_alloc(device->id, IRTB_MEMORY_DEVICE, size, 0, &block->start);
    if (error == cudaErrorMemoryAllocation) {
        irt_pool_trim_device(device, true); // what pools keep may be enough
        error = backend->memory_alloc(device->id, IRTB_MEMORY_DEVICE, size, 0, &block->start);
    }
    if (error) {
        free(block);
        return error;
    }
    block->size = size;
    block->device = device;
    block->nodes = 1;
    struct irt_memory memory = {.start = block->start,
                                .size = size,
                                .type = IRT_MEMORY_GRAPH,
                                .device = device,
                                .device_start = block->start};
    error = irt_memory_add(&memory);
    if (error) {
        backend->memory_free(device->id, IRTB_MEMORY_DEVICE, block->start);
        free(block);
        return error;
    }
    void *ptr = block->start;
    irt_mutex_lock(&lock);
    HASH_ADD_PTR(blocks, start, block);
    irt_mutex_unlock(&lock);
    *ret_ptr = ptr;
    return cudaSuccess;
}

void irt_graph_memory_retain(void *ptr)
{
    irt_mutex_lock(&lock);
    struct block *block = find_locked(ptr);
    if (block) { // else the device was reset
        block->nodes++;
    }
    irt_mutex_unlock(&lock);
}

// Takes a block that nobody needs any more out of the table.
static void drop_locked(struct block *block)
{
    if (block->allocated) {
        note_live_locked(block, false);
    }
    HASH_DEL(blocks, block);
    free(block);
}

void irt_graph_memory_release(void *ptr)
{
    bool gone = false;
    irt_mutex_lock(&lock);
    struct block *block = find_locked(ptr);
    if (block && --block->nodes == 0 && !block->allocated) {
        drop_locked(block);
        gone = true;
    }
    irt_mutex_unlock(&lock);
    struct irt_memory memory;
    if (gone && irt_memory_remove(ptr, &memory)) {
        irt_memory_release(&memory);
    }
}

// ---- launching ----

// Plays the steps through; the state of the blocks is that after them.
static cudaError_t play_locked(const void *exec, bool auto_free,
                               const struct irt_graph_memory_step *steps, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct block *block = find_locked(steps[i].ptr);
        if (!block) {
            return cudaErrorInvalidValue;
        }
        if (!steps[i].alloc) {
            if (!block->allocated) {
                return cudaErrorInvalidValue;
            }
            block->allocated = false;
            note_live_locked(block, false);
            continue;
        }
        if (block->allocated && !(auto_free && block->owner == exec)) {
            return cudaErrorInvalidValue;
        }
        if (!block->allocated) {
            note_live_locked(block, true);
        }
        block->allocated = true;
        block->owner = exec;
    }
    return cudaSuccess;
}

cudaError_t irt_graph_memory_launch(const void *exec, bool auto_free,
                                    const struct irt_graph_memory_step *steps, size_t count,
                                    cudaError_t (*enqueue)(void *), void *context)
{
    irt_mutex_lock(&lock);
    for (size_t i = 0; i < count; i++) {
        struct block *block = find_locked(steps[i].ptr);
        if (block) {
            block->before = block->allocated;
        }
    }
    cudaError_t error = play_locked(exec, auto_free, steps, count);
    if (!error) {
        error = enqueue(context);
    }
    for (size_t i = 0; i < count && error; i++) {
        struct block *block = find_locked(steps[i].ptr);
        if (block && block->allocated != block->before) {
            note_live_locked(block, block->before);
            block->allocated = block->before;
        }
    }
    irt_mutex_unlock(&lock);
    return error;
}

bool irt_graph_memory_free(void *ptr, cudaError_t *ret_error, bool *ret_gone,
                           struct irt_memory *ret_memory)
{
    bool gone = false;
    irt_mutex_lock(&lock);
    struct block *block = find_locked(ptr);
    bool found = block != NULL;
    if (found) {
        *ret_error = block->allocated ? cudaSuccess : cudaErrorInvalidValue;
        if (block->allocated) {
            block->allocated = false;
            note_live_locked(block, false);
            if (!block->nodes) {
                drop_locked(block);
                gone = true;
            }
        }
    }
    irt_mutex_unlock(&lock);
    *ret_gone = gone && irt_memory_remove(ptr, ret_memory);
    return found;
}

void irt_graph_memory_forget(const void *ptr)
{
    irt_mutex_lock(&lock);
    struct block *block = find_locked(ptr);
    if (block) {
        drop_locked(block);
    }
    irt_mutex_unlock(&lock);
}

// ---- API ----

// The memory itself belongs to nodes and goes with them, so there is none to give back here.
cudaError_t irt_core_cudaDeviceGraphMemTrim(int device)
{
    const struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    irt_mutex_lock(&lock);
    struct statistics *s = &statistics[found->ordinal];
    s->held = s->live;
    irt_mutex_unlock(&lock);
    return cudaSuccess;
}

cudaError_t irt_core_cudaDeviceGetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                    void *value)
{
    const struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    if (!value) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = cudaSuccess;
    irt_mutex_lock(&lock);
    const struct statistics *s = &statistics[found->ordinal];
    switch (attr) {
    case cudaGraphMemAttrUsedMemCurrent:
    case cudaGraphMemAttrReservedMemCurrent:
        *(uint64_t *)value = s->held;
        break;
    case cudaGraphMemAttrUsedMemHigh:
        *(uint64_t *)value = s->used_high;
        break;
    case cudaGraphMemAttrReservedMemHigh:
        *(uint64_t *)value = s->reserved_high;
        break;
    default:
        error = cudaErrorInvalidValue;
    }
    irt_mutex_unlock(&lock);
    return error;
}

// Only the high-water marks can be set, and only to zero: they start anew from what is.
cudaError_t irt_core_cudaDeviceSetGraphMemAttribute(int device, enum cudaGraphMemAttributeType attr,
                                                    void *value)
{
    const struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    if (!value || *(const uint64_t *)value != 0 ||
        (attr != cudaGraphMemAttrUsedMemHigh && attr != cudaGraphMemAttrReservedMemHigh)) {
        return cudaErrorInvalidValue;
    }
    irt_mutex_lock(&lock);
    struct statistics *s = &statistics[found->ordinal];
    if (attr == cudaGraphMemAttrUsedMemHigh) {
        s->used_high = s->held;
    } else {
        s->reserved_high = s->held;
    }
    irt_mutex_unlock(&lock);
    return cudaSuccess;
}
