// SPDX-License-Identifier: Apache-2.0
//
// Arena: memory for the nodes of one module, freed as a whole. Blocks double up to a limit, so that
// many small nodes cost few calls of malloc; a node larger than a block gets its own.
#include "ptx.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 16 << 10, LAST_BLOCK = 4 << 20, ALIGNMENT = 16 };

struct block {
    struct block *next;
    size_t size;
    _Alignas(ALIGNMENT) unsigned char bytes[];
};

struct ptx_arena {
    struct block *blocks;
    unsigned char *at, *end;
    size_t next_size;
};

struct ptx_arena *ptx_arena_create(void)
{
    struct ptx_arena *arena = calloc(1, sizeof(*arena));
    if (arena != NULL) {
        arena->next_size = FIRST_BLOCK;
    }
    return arena;
}

static struct block *block_new(struct ptx_arena *arena, size_t size)
{
    // calloc: large blocks come from the system as zero pages.
    struct block *block = calloc(1, sizeof(struct block) + size);
    if (block == NULL) {
        return NULL;
    }
    block->size = size;
    block->next = arena->blocks;
    arena->blocks = block;
    return block;
}

void *ptx_arena_alloc(struct ptx_arena *arena, size_t size)
{
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (size > (size_t)(arena->end - arena->at)) {
        if (size > arena->next_size / 4) {
            struct block *own = block_new(arena, size);
            return own == NULL ? NULL : own->bytes;
        }
        struct block *block = block_new(arena, arena->next_size);
        if (block == NULL) {
            return NULL;
        }
        arena->at = block->bytes;
        arena->end = block->bytes + block->size;
        if (arena->next_size < LAST_BLOCK) {
            arena->next_size *= 2;
        }
    }
    void *memory = arena->at;
    arena->at += size;
    return memory;
}

char *ptx_arena_strndup(struct ptx_arena *arena, const char *text, size_t size)
{
    if (size == SIZE_MAX) {
        return NULL;
    }
    char *copy = ptx_arena_alloc(arena, size + 1);
    if (copy != NULL) {
        memcpy(copy, text, size);
    }
    return copy;
}

struct ptx_arena *ptx_arena_destroy(struct ptx_arena *arena)
{
    if (arena == NULL) {
        return NULL;
    }
    while (arena->blocks != NULL) {
        struct block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
    free(arena);
    return NULL;
}
