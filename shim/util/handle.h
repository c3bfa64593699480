// SPDX-License-Identifier: Apache-2.0
//
// Handles that the application holds for our objects: numbers that look like pointers and name a
// slot, a generation and a type. Whatever the application passes, looking it up never touches
// memory that is not ours, and a handle that was closed stays invalid when its slot is used again.
// Objects are counted in their slot; getting and putting take no lock. The values 0, 1 and 2 (the
// special streams) are never produced. One static table per type of object.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "shim/util/lock.h"

enum irt_handle_type {
    IRT_HANDLE_STREAM = 1,
    IRT_HANDLE_EVENT,
    IRT_HANDLE_KERNEL,
    IRT_HANDLE_FUNCTION,
    IRT_HANDLE_MODULE,
    IRT_HANDLE_POOL,
    IRT_HANDLE_GRAPH,
    IRT_HANDLE_NODE,
    IRT_HANDLE_EXEC,
    IRT_HANDLE_USER_OBJECT,
    IRT_HANDLE_LIBRARY,
    IRT_HANDLE_PRIMARY_CONTEXT,
    IRT_HANDLE_PHYSICAL,
    IRT_HANDLE_LINK,
    IRT_HANDLE_ARRAY,
    IRT_HANDLE_MIPMAP,
    IRT_HANDLE_CALLBACK,
    IRT_HANDLE_CONTEXT,
    IRT_HANDLE_RESOURCES,
    IRT_HANDLE_LOG,
    IRT_HANDLE_EXTERNAL_MEMORY,
    IRT_HANDLE_EXTERNAL_SEMAPHORE,
};

enum { IRT_HANDLE_CHUNK = 256, IRT_HANDLE_CHUNKS = 4096 };

struct irt_handle_slot;

struct irt_handle_table {
    enum irt_handle_type type;
    void (*destroy)(void *object); // called by the put or close that drops the last reference
    struct irt_mutex lock;         // guards growth and the free list
    struct irt_handle_slot *_Atomic chunks[IRT_HANDLE_CHUNKS];
    uint32_t count;     // slots ever used
    uint32_t free_head; // slot number + 1; 0: none
};

#define IRT_HANDLE_TABLE(type_, destroy_)                                               \
    {                                                                                   \
        .type = (type_), .destroy = (destroy_), .lock = IRT_MUTEX_INIT(IRT_RANK_HANDLE) \
    }

// A new handle for `object`, which the handle owns from now on (one reference). NULL when memory or
// slots (about a million) are exhausted; the object is still the caller's then.
void *irt_handle_open(struct irt_handle_table *table, void *object);

// The object behind a live handle with one more reference, or NULL for anything else.
void *irt_handle_get(struct irt_handle_table *table, const void *handle);

// One more reference for a handle that the caller already holds one of (closed or not).
void irt_handle_ref(struct irt_handle_table *table, const void *handle);

// Drops a reference that irt_handle_get or irt_handle_ref gave.
void irt_handle_put(struct irt_handle_table *table, const void *handle);

// Makes the handle invalid and drops the reference of irt_handle_open. False when it was not valid
// (then nothing happens): of two threads that close one handle exactly one gets true.
bool irt_handle_close(struct irt_handle_table *table, const void *handle);

// Calls `visit` with every live handle, each with a reference held during the call. Handles that
// are opened meanwhile may be missed. `visit` may close handles and take locks.
void irt_handle_each(struct irt_handle_table *table,
                     void (*visit)(void *handle, void *object, void *context), void *context);
