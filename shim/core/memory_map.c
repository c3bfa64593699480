// SPDX-License-Identifier: Apache-2.0
//
// The map behind memory.h: one interval set for the whole process, because there is one address
// space. Host memory that kernels see at another address is entered twice.
#include <stdlib.h>
#include <string.h>

#include "shim/core/advice.h"
#include "shim/graph/graph_memory.h"
#include "shim/core/ipc.h"
#include "shim/core/memory.h"
#include "shim/core/pool.h"
#include "shim/dispatch/backend.h"
#include "shim/util/interval.h"
#include "shim/util/lock.h"
#include "shim/util/log.h"

struct record {
    struct irt_interval interval; // first: an interval is its record
    struct irt_memory memory;
    struct record *alias; // the entry of the device addresses, or of the host addresses
    bool primary;
};

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_MEMORY);
static struct irt_interval_set map; // guarded by lock
static uint64_t last_id;            // guarded by lock

// Records to be used again, through `alias`, so that stream-ordered allocation calls no malloc.
enum { SPARES_MAX = 64 };
static struct record *spares; // guarded by lock
static unsigned spare_count;  // guarded by lock

static struct record *record_at(const void *address)
{
    return (struct record *)irt_interval_find(&map, (uintptr_t)address);
}

// A record for `start`; the lock is given up for a moment when there is no spare one. NULL without
// memory.
static struct record *new_record_locked(const struct irt_memory *memory, void *start)
{
    struct record *record = spares;
    if (record) {
        spares = record->alias;
        spare_count--;
        memset(record, 0, sizeof *record);
    } else {
        irt_mutex_unlock(&lock);
        record = calloc(1, sizeof *record);
        irt_mutex_lock(&lock);
    }
    if (record) {
        record->interval.start = (uintptr_t)start;
        record->interval.size = memory->size;
        record->memory = *memory;
    }
    return record;
}

// Keeps the record for later; false when there are enough.
static bool spare_locked(struct record *record)
{
    if (spare_count == SPARES_MAX) {
        return false;
    }
    record->alias = spares;
    spares = record;
    spare_count++;
    return true;
}

cudaError_t irt_memory_add(const struct irt_memory *memory)
{
    bool twice = memory->device_start != memory->start;
    irt_mutex_lock(&lock);
    struct record *record = new_record_locked(memory, memory->start);
    struct record *alias = twice ? new_record_locked(memory, memory->device_start) : NULL;
    cudaError_t error = !record || (twice && !alias) ? cudaErrorMemoryAllocation : cudaSuccess;
    if (!error && !irt_interval_insert(&map, &record->interval)) {
        error = cudaErrorInvalidValue;
    }
    if (!error && twice && !irt_interval_insert(&map, &alias->interval)) {
        irt_interval_remove(&map, &record->interval);
        error = cudaErrorInvalidValue;
    }
    if (!error) {
        record->primary = true;
        record->memory.id = ++last_id;
        record->alias = alias;
        if (alias) {
            alias->memory.id = last_id;
            alias->alias = record;
        }
    }
    irt_mutex_unlock(&lock);
    if (error) {
        free(record);
        free(alias);
    }
    return error;
}

static void unlink_locked(struct record *record)
{
    irt_interval_remove(&map, &record->interval);
    if (record->alias) {
        irt_interval_remove(&map, &record->alias->interval);
    }
}

static bool has_advice(const struct irt_memory *memory)
{
    return memory->type == IRT_MEMORY_MANAGED || memory->type == IRT_MEMORY_MANAGED_VARIABLE;
}

static void free_record(struct record *record)
{
    if (has_advice(&record->memory)) {
        irt_advice_forget(record->memory.start, record->memory.size);
    }
    free(record->alias);
    free(record);
}

bool irt_memory_take(const void *start, bool (*wanted)(const struct irt_memory *memory),
                     struct irt_memory *ret_memory)
{
    irt_mutex_lock(&lock);
    struct record *record = record_at(start);
    bool found = record && record->primary && record->memory.start == start &&
                 (!wanted || wanted(&record->memory));
    bool kept = false;
    if (found) {
        unlink_locked(record);
        if (ret_memory) {
            *ret_memory = record->memory;
        }
        kept = !record->alias && !has_advice(&record->memory) && spare_locked(record);
    }
    irt_mutex_unlock(&lock);
    if (found && !kept) {
        free_record(record);
    }
    return found;
}

bool irt_memory_remove(const void *start, struct irt_memory *ret_memory)
{
    return irt_memory_take(start, NULL, ret_memory);
}

bool irt_memory_find(const void *address, struct irt_memory *ret_memory)
{
    irt_mutex_lock(&lock);
    const struct record *record = record_at(address);
    if (record) {
        *ret_memory = record->memory;
    }
    irt_mutex_unlock(&lock);
    return record != NULL;
}

bool irt_memory_overlap(const void *start, size_t size, struct irt_memory *ret_memory)
{
    irt_mutex_lock(&lock);
    const struct record *record =
        (const struct record *)irt_interval_overlap(&map, (uintptr_t)start, size);
    if (record) {
        *ret_memory = record->memory;
    }
    irt_mutex_unlock(&lock);
    return record != NULL;
}

bool irt_memory_mapped(const void *ptr, size_t size)
{
    uintptr_t at = (uintptr_t)ptr;
    const uintptr_t end = at + size;
    irt_mutex_lock(&lock);
    while (at < end) {
        const struct record *record = record_at((const void *)at);
        if (!record || record->memory.type != IRT_MEMORY_VIRTUAL) {
            break;
        }
        at = record->interval.start + record->interval.size;
    }
    irt_mutex_unlock(&lock);
    return at >= end;
}

bool irt_memory_on_device(const struct irt_memory *memory)
{
    switch (memory->type) {
    case IRT_MEMORY_DEVICE:
    case IRT_MEMORY_POOL:
    case IRT_MEMORY_VARIABLE:
    case IRT_MEMORY_ARRAY:
    case IRT_MEMORY_VIRTUAL:
    case IRT_MEMORY_GRAPH:
    case IRT_MEMORY_SHARED:
        return true;
    case IRT_MEMORY_HOST:
    case IRT_MEMORY_REGISTERED:
    case IRT_MEMORY_MANAGED:
    case IRT_MEMORY_MANAGED_VARIABLE:
        return false;
    }
    return false;
}

// Gives the memory itself back to the backend.
cudaError_t irt_memory_release(const struct irt_memory *memory)
{
    const struct irtb_backend *backend = irt_backend();
    if (memory->block) {
        irt_pool_free_now(memory->block);
        return cudaSuccess;
    }
    switch (memory->type) {
    case IRT_MEMORY_GRAPH:
        irt_graph_memory_forget(memory->start); // still known after cudaDeviceReset only
        return backend->memory_free(memory->device->id, IRTB_MEMORY_DEVICE, memory->start);
    case IRT_MEMORY_DEVICE:
        return backend->memory_free(memory->device->id, IRTB_MEMORY_DEVICE, memory->start);
    case IRT_MEMORY_HOST:
        return backend->memory_free(memory->device->id, IRTB_MEMORY_HOST, memory->start);
    case IRT_MEMORY_MANAGED:
        return backend->memory_free(memory->device->id, IRTB_MEMORY_MANAGED, memory->start);
    case IRT_MEMORY_REGISTERED:
        return backend->host_unregister(memory->device->id, memory->start);
    case IRT_MEMORY_POOL: // always has a block
    case IRT_MEMORY_VARIABLE:
    case IRT_MEMORY_MANAGED_VARIABLE:
    case IRT_MEMORY_ARRAY:
    case IRT_MEMORY_VIRTUAL:
        return cudaSuccess; // belongs to its module, array or mapping
    case IRT_MEMORY_SHARED:
        irt_ipc_forget(memory->start);
        return backend->shared_unmap(memory->device->id, memory->start, memory->size, false);
    }
    return cudaSuccess;
}

// The first allocation of the device at or after `from` that is not a module's, taken out.
static struct record *take_next(const struct irt_device *device, uintptr_t from)
{
    irt_mutex_lock(&lock);
    struct record *record = (struct record *)irt_interval_from(&map, from);
    while (record) {
        bool variable = record->memory.type == IRT_MEMORY_VARIABLE ||
                        record->memory.type == IRT_MEMORY_MANAGED_VARIABLE;
        bool stays = variable || record->memory.type == IRT_MEMORY_VIRTUAL;
        if (record->memory.device == device && record->primary && !stays) {
            unlink_locked(record);
            break;
        }
        record = (struct record *)irt_interval_from(&map, record->interval.start + 1);
    }
    irt_mutex_unlock(&lock);
    return record;
}

void irt_memory_reset_device(struct irt_device *device)
{
    uintptr_t from = 0;
    for (struct record *record; (record = take_next(device, from)) != NULL;) {
        from = record->interval.start;
        cudaError_t error = irt_memory_release(&record->memory);
        if (error) {
            IRT_LOG("memory", IRT_LOG_WARN, "device %d: freeing %zu bytes at reset: error %d",
                    device->ordinal, record->memory.size, (int)error);
        }
        free_record(record);
    }
}
