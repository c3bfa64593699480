// SPDX-License-Identifier: Apache-2.0
//
// The shadows of allocations: finding, translating addresses, reading and comparing. Caller holds
// the lock of diff.c.
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "shim/diff/inside.h"
#include "shim/util/log.h"

enum { CHUNK = 1 << 20, STREAMS_MAX = 64 };

struct irt_diff_memory *irt_diff_memories;
static struct irt_interval_set intervals;
static unsigned char chunk[2][CHUNK];
static struct irtb_stream *streams[2][STREAMS_MAX]; // of this file's own

bool irt_diff_remember(const struct irt_diff_memory *memory)
{
    struct irt_diff_memory *m = malloc(sizeof *m);
    if (!m) {
        return false;
    }
    *m = *memory;
    m->interval = (struct irt_interval){.start = (uintptr_t)m->a, .size = m->size};
    if (!irt_interval_insert(&intervals, &m->interval)) {
        free(m);
        return false;
    }
    m->next = irt_diff_memories;
    irt_diff_memories = m;
    return true;
}

static void drop(struct irt_diff_memory **place)
{
    struct irt_diff_memory *m = *place;
    *place = m->next;
    irt_interval_remove(&intervals, &m->interval);
    free(m);
}

void irt_diff_forget(const void *a)
{
    for (struct irt_diff_memory **p = &irt_diff_memories; *p; p = &(*p)->next) {
        if ((*p)->a == a) {
            drop(p);
            return;
        }
    }
}

void irt_diff_forget_owner(const void *owner)
{
    for (struct irt_diff_memory **p = &irt_diff_memories; *p;) {
        if ((*p)->owner == owner) {
            drop(p);
        } else {
            p = &(*p)->next;
        }
    }
}

struct irt_diff_memory *irt_diff_find(const void *a)
{
    struct irt_interval *found = irt_interval_find(&intervals, (uintptr_t)a);
    if (!found && a) {
        found = irt_interval_find(&intervals, (uintptr_t)a - 1);
    }
    return found ? (struct irt_diff_memory *)(void *)((char *)found -
                                                      offsetof(struct irt_diff_memory, interval))
                 : NULL;
}

void *irt_diff_translate(const void *a)
{
    const struct irt_diff_memory *m = irt_diff_find(a);
    return m ? m->b + ((const char *)a - m->a) : (void *)(uintptr_t)a;
}

// A stream of this file's own, per side and device.
static struct irtb_stream *stream_of(int side, int device)
{
    if (device < 0 || device >= STREAMS_MAX) {
        return NULL;
    }
    if (!streams[side][device]) {
        irt_diff_state.side[side].backend->stream_create(device, 0, &streams[side][device]);
    }
    return streams[side][device];
}

static cudaError_t move(int side, int device, const struct irtb_copy *copy)
{
    const struct irtb_backend *backend = irt_diff_state.side[side].backend;
    struct irtb_stream *stream = stream_of(side, device);
    if (!stream) {
        return cudaErrorMemoryAllocation;
    }
    cudaError_t e = backend->copy(stream, copy);
    return e ? e : backend->stream_synchronize(stream);
}

cudaError_t irt_diff_read(int side, const struct irt_diff_memory *memory, size_t offset,
                          size_t size, void *into)
{
    const char *start = (side == DIFF_A ? memory->a : memory->b) + offset;
    if (memory->host) {
        memcpy(into, start, size);
        return cudaSuccess;
    }
    return move(side, memory->device,
                &(struct irtb_copy){.dst = into,
                                    .src = start,
                                    .width = size,
                                    .height = 1,
                                    .depth = 1,
                                    .dst_device = -1,
                                    .src_device = memory->device,
                                    .kind = cudaMemcpyDeviceToHost});
}

cudaError_t irt_diff_write(int side, const struct irt_diff_memory *memory, size_t offset,
                           size_t size, const void *from)
{
    char *start = (side == DIFF_A ? memory->a : memory->b) + offset;
    if (memory->host) {
        memcpy(start, from, size);
        return cudaSuccess;
    }
    return move(side, memory->device,
                &(struct irtb_copy){.dst = start,
                                    .src = from,
                                    .width = size,
                                    .height = 1,
                                    .depth = 1,
                                    .dst_device = memory->device,
                                    .src_device = -1,
                                    .kind = cudaMemcpyHostToDevice});
}

cudaError_t irt_diff_clear(const struct irt_diff_memory *memory)
{
    cudaError_t e = cudaSuccess;
    for (int side = DIFF_A; side <= DIFF_B && !e; side++) {
        char *start = side == DIFF_A ? memory->a : memory->b;
        if (memory->host) {
            memset(start, 0, memory->size);
            continue;
        }
        const struct irtb_backend *backend = irt_diff_state.side[side].backend;
        struct irtb_stream *stream = stream_of(side, memory->device);
        const struct irtb_fill fill = {
            .dst = start, .element_size = 1, .width = memory->size, .height = 1, .depth = 1};
        e = stream ? backend->fill(stream, &fill) : cudaErrorMemoryAllocation;
        e = e ? e : backend->stream_synchronize(stream);
    }
    return e;
}

void irt_diff_drop_streams(int device)
{
    for (int side = DIFF_A; side <= DIFF_B && device < STREAMS_MAX; side++) {
        if (streams[side][device]) {
            irt_diff_state.side[side].backend->stream_destroy(streams[side][device]);
            streams[side][device] = NULL;
        }
    }
}

void irt_diff_sync_host(void)
{
    for (struct irt_diff_memory *m = irt_diff_memories; m; m = m->next) {
        if (m->host) {
            memcpy(m->b, m->a, m->size);
        }
    }
}

void irt_diff_take_over(void)
{
    for (struct irt_diff_memory *m = irt_diff_memories; m; m = m->next) {
        for (size_t at = 0; at < m->size; at += CHUNK) {
            size_t n = m->size - at < CHUNK ? m->size - at : CHUNK;
            cudaError_t e = irt_diff_read(DIFF_A, m, at, n, chunk[0]);
            irt_diff_tell("a copy of the other side's memory",
                          e ? e : irt_diff_write(DIFF_B, m, at, n, chunk[0]));
        }
    }
}

bool irt_diff_same_pointer(const void *a, const void *b)
{
    return irt_diff_find(a) && irt_diff_translate(a) == b;
}

// The same of the 8 bytes around a difference.
static bool same_word(size_t n, size_t at)
{
    size_t word = at / 8 * 8;
    void *a, *b;
    if (word + 8 > n) {
        return false;
    }
    memcpy(&a, chunk[0] + word, 8);
    memcpy(&b, chunk[1] + word, 8);
    return irt_diff_same_pointer(a, b);
}

bool irt_diff_compare(const struct irt_diff_memory *only, const struct irt_diff_memory **ret_memory,
                      size_t *ret_offset)
{
    for (struct irt_diff_memory *m = irt_diff_memories; m; m = m->next) {
        for (size_t at = 0; at < m->size && (!only || only == m); at += CHUNK) {
            size_t n = m->size - at < CHUNK ? m->size - at : CHUNK;
            cudaError_t e = irt_diff_read(DIFF_A, m, at, n, chunk[0]);
            e = e ? e : irt_diff_read(DIFF_B, m, at, n, chunk[1]);
            if (e) {
                irt_notice("diff: %zu bytes of memory %p are not compared: reading them answers %d",
                           n, (void *)(m->a + at), (int)e);
                continue;
            }
            if (memcmp(chunk[0], chunk[1], n) == 0) {
                continue;
            }
            for (size_t i = 0; i < n; i++) {
                if (chunk[0][i] == chunk[1][i]) {
                    continue;
                }
                if (same_word(n, i)) {
                    i = i / 8 * 8 + 7;
                    continue;
                }
                *ret_memory = m;
                *ret_offset = at + i;
                return true;
            }
        }
    }
    return false;
}
