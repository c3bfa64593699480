// SPDX-License-Identifier: Apache-2.0
//
// Handle tables. A handle is a positive 64-bit number that no pointer of the machine can equal:
//     bits 56..62 type | bits 28..55 generation | bits 4..27 slot + 1 | bits 0..3 zero
// One atomic word per slot holds generation, "open" and the number of references, so that a look-up
// is one compare-and-swap on it; the object cannot go away while the count is above zero.
#include "shim/util/handle.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

#define GENERATION_BITS 28
#define GENERATION_MASK ((UINT64_C(1) << GENERATION_BITS) - 1)
#define SLOT_BITS 24
#define SLOT_MASK ((UINT64_C(1) << SLOT_BITS) - 1)
#define REFERENCE_MASK UINT64_C(0x7fffffff)
#define OPEN (UINT64_C(1) << 31)
#define GENERATION_SHIFT 32

struct irt_handle_slot {
    _Atomic uint64_t state; // generation << 32 | open << 31 | references
    void *object;           // valid while references > 0
    uint32_t next_free;     // guarded by the table's lock
};

static void *encode(const struct irt_handle_table *table, uint32_t number, uint64_t generation)
{
    uint64_t value = (uint64_t)table->type << 56 | generation << 28 | (uint64_t)(number + 1) << 4;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a handle is a number that looks like a pointer
    return (void *)(uintptr_t)value;
}

static struct irt_handle_slot *slot_at(struct irt_handle_table *table, uint64_t number)
{
    if (number / IRT_HANDLE_CHUNK >= IRT_HANDLE_CHUNKS) {
        return NULL;
    }
    struct irt_handle_slot *chunk =
        atomic_load_explicit(&table->chunks[number / IRT_HANDLE_CHUNK], memory_order_acquire);
    return chunk ? &chunk[number % IRT_HANDLE_CHUNK] : NULL;
}

// The slot that the number names, with the generation it asks for; NULL when it cannot be one.
static struct irt_handle_slot *decode(struct irt_handle_table *table, const void *handle,
                                      uint64_t *ret_generation)
{
    uint64_t value = (uint64_t)(uintptr_t)handle;
    uint64_t number = value >> 4 & SLOT_MASK;
    if (value >> 56 != (uint64_t)table->type || (value & 15) != 0 || number == 0) {
        return NULL;
    }
    *ret_generation = value >> 28 & GENERATION_MASK;
    return slot_at(table, number - 1);
}

// Takes a free slot or makes one. Caller holds the lock. False: no memory or no slots left.
static bool take_slot_locked(struct irt_handle_table *table, uint32_t *ret_number)
{
    if (table->free_head != 0) {
        *ret_number = table->free_head - 1;
        table->free_head = slot_at(table, *ret_number)->next_free;
        return true;
    }
    uint32_t chunk_number = table->count / IRT_HANDLE_CHUNK;
    if (chunk_number >= IRT_HANDLE_CHUNKS) {
        return false;
    }
    if (!atomic_load_explicit(&table->chunks[chunk_number], memory_order_relaxed)) {
        struct irt_handle_slot *chunk = calloc(IRT_HANDLE_CHUNK, sizeof *chunk);
        if (!chunk) {
            return false;
        }
        atomic_store_explicit(&table->chunks[chunk_number], chunk, memory_order_release);
    }
    *ret_number = table->count++;
    return true;
}

void *irt_handle_open(struct irt_handle_table *table, void *object)
{
    uint32_t number;
    irt_mutex_lock(&table->lock);
    bool taken = take_slot_locked(table, &number);
    irt_mutex_unlock(&table->lock);
    if (!taken) {
        return NULL;
    }
    struct irt_handle_slot *slot = slot_at(table, number);
    uint64_t generation =
        atomic_load_explicit(&slot->state, memory_order_relaxed) >> GENERATION_SHIFT;
    slot->object = object;
    atomic_store_explicit(&slot->state, generation << GENERATION_SHIFT | OPEN | 1,
                          memory_order_release);
    return encode(table, number, generation);
}

void *irt_handle_get(struct irt_handle_table *table, const void *handle)
{
    uint64_t generation;
    struct irt_handle_slot *slot = decode(table, handle, &generation);
    if (!slot) {
        return NULL;
    }
    uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
    do {
        if (state >> GENERATION_SHIFT != generation || !(state & OPEN)) {
            return NULL;
        }
    } while (!atomic_compare_exchange_weak_explicit(&slot->state, &state, state + 1,
                                                    memory_order_acquire, memory_order_acquire));
    return slot->object;
}

void irt_handle_ref(struct irt_handle_table *table, const void *handle)
{
    uint64_t generation;
    struct irt_handle_slot *slot = decode(table, handle, &generation);
    if (slot) {
        atomic_fetch_add_explicit(&slot->state, 1, memory_order_relaxed);
    }
}

// The last reference went: the object is destroyed and the slot gets its next generation.
static void release_slot(struct irt_handle_table *table, struct irt_handle_slot *slot,
                         uint64_t generation, const void *handle)
{
    void *object = slot->object;
    slot->object = NULL;
    if (table->destroy) {
        table->destroy(object);
    }
    uint64_t next = (generation + 1) & GENERATION_MASK;
    uint32_t number = (uint32_t)((uint64_t)(uintptr_t)handle >> 4 & SLOT_MASK) - 1;
    irt_mutex_lock(&table->lock);
    atomic_store_explicit(&slot->state, next << GENERATION_SHIFT, memory_order_release);
    slot->next_free = table->free_head;
    table->free_head = number + 1;
    irt_mutex_unlock(&table->lock);
}

void irt_handle_put(struct irt_handle_table *table, const void *handle)
{
    uint64_t generation;
    struct irt_handle_slot *slot = decode(table, handle, &generation);
    if (!slot) {
        return;
    }
    uint64_t before = atomic_fetch_sub_explicit(&slot->state, 1, memory_order_acq_rel);
    if ((before & REFERENCE_MASK) == 1) {
        release_slot(table, slot, generation, handle);
    }
}

bool irt_handle_close(struct irt_handle_table *table, const void *handle)
{
    uint64_t generation;
    struct irt_handle_slot *slot = decode(table, handle, &generation);
    if (!slot) {
        return false;
    }
    uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
    do {
        if (state >> GENERATION_SHIFT != generation || !(state & OPEN)) {
            return false;
        }
    } while (!atomic_compare_exchange_weak_explicit(&slot->state, &state, state & ~OPEN,
                                                    memory_order_acq_rel, memory_order_acquire));
    irt_handle_put(table, handle);
    return true;
}

void irt_handle_each(struct irt_handle_table *table,
                     void (*visit)(void *handle, void *object, void *context), void *context)
{
    irt_mutex_lock(&table->lock);
    uint32_t count = table->count;
    irt_mutex_unlock(&table->lock);
    for (uint32_t number = 0; number < count; number++) {
        struct irt_handle_slot *slot = slot_at(table, number);
        uint64_t state = atomic_load_explicit(&slot->state, memory_order_acquire);
        if (!(state & OPEN)) {
            continue;
        }
        void *handle = encode(table, number, state >> GENERATION_SHIFT);
        void *object = irt_handle_get(table, handle);
        if (object) {
            visit(handle, object, context);
            irt_handle_put(table, handle);
        }
    }
}
