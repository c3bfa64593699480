// SPDX-License-Identifier: Apache-2.0
//
// Device-side malloc: size classes over one region, taken from its end or from freed pieces.
#include "heap.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HASH_FUNCTION HASH_FNV // for pointers as good as the default, and without fall-through
#include <uthash.h>

enum { CLASSES = 56, STEP = 16 };

struct piece {
    void *ptr;
    unsigned size_class;
    struct piece *next; // while free
    UT_hash_handle hh;  // while allocated
};

struct exec_heap {
    pthread_mutex_t lock;
    size_t limit;
    char *base; // NULL before the first allocation
    size_t top; // bytes handed out from the region so far
    struct piece *allocated;
    struct piece *free[CLASSES];
};

// 16, 32, 48, 64, then four steps for each power of two.
static size_t class_size(unsigned index)
{
    if (index < 4) {
        return (index + 1) * (size_t)STEP;
    }
    unsigned power = (index - 4) / 4, step = (index - 4) % 4;
    return ((size_t)STEP * 4 << power) + (step + 1) * ((size_t)STEP << power);
}

struct exec_heap *exec_heap_create(size_t limit)
{
    struct exec_heap *heap = calloc(1, sizeof *heap);
    if (heap) {
        pthread_mutex_init(&heap->lock, NULL);
        heap->limit = limit;
    }
    return heap;
}

static void clear_locked(struct exec_heap *heap)
{
    struct piece *piece = heap->allocated, *next;
    HASH_CLEAR(hh, heap->allocated); // the table; the pieces stay linked
    for (; piece; piece = next) {
        next = piece->hh.next;
        free(piece);
    }
    for (unsigned i = 0; i < CLASSES; i++) {
        for (piece = heap->free[i]; piece; piece = next) {
            next = piece->next;
            free(piece);
        }
        heap->free[i] = NULL;
    }
    if (heap->base) {
        munmap(heap->base, heap->limit);
    }
    heap->base = NULL;
    heap->top = 0;
}

struct exec_heap *exec_heap_destroy(struct exec_heap *heap)
{
    if (heap) {
        clear_locked(heap);
        pthread_mutex_destroy(&heap->lock);
        free(heap);
    }
    return NULL;
}

bool exec_heap_reset(struct exec_heap *heap, size_t limit)
{
    if (limit > SIZE_MAX / 2) {
        return false;
    }
    pthread_mutex_lock(&heap->lock);
    clear_locked(heap);
    heap->limit = (limit + 4095) & ~(size_t)4095;
    pthread_mutex_unlock(&heap->lock);
    return true;
}

static struct piece *take_locked(struct exec_heap *heap, unsigned index)
{
    struct piece *piece = heap->free[index];
    if (piece) {
        heap->free[index] = piece->next;
        return piece;
    }
    size_t size = class_size(index);
    if (size <= heap->limit - heap->top) {
        piece = malloc(sizeof *piece);
        if (piece) {
            piece->ptr = heap->base + heap->top;
            piece->size_class = index;
            heap->top += size;
        }
        return piece;
    }
    for (unsigned i = index + 1; i < CLASSES; i++) { // a larger freed piece, whole
        piece = heap->free[i];
        if (piece) {
            heap->free[i] = piece->next;
            return piece;
        }
    }
    return NULL;
}

void *exec_heap_alloc(struct exec_heap *heap, size_t size)
{
    if (!size || !heap || size > heap->limit) {
        return NULL;
    }
    unsigned index = 0;
    while (index < CLASSES && class_size(index) < size) {
        index++;
    }
    if (index == CLASSES) {
        return NULL;
    }
    void *ptr = NULL;
    pthread_mutex_lock(&heap->lock);
    if (!heap->base) {
        char *base = mmap(NULL, heap->limit, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        heap->base = base == MAP_FAILED ? NULL : base;
    }
    struct piece *piece = heap->base ? take_locked(heap, index) : NULL;
    if (piece) {
        ptr = piece->ptr;
        HASH_ADD_PTR(heap->allocated, ptr, piece);
    }
    pthread_mutex_unlock(&heap->lock);
    return ptr;
}

bool exec_heap_free(struct exec_heap *heap, void *ptr)
{
    if (!ptr) {
        return true;
    }
    struct piece *piece = NULL;
    pthread_mutex_lock(&heap->lock);
    HASH_FIND_PTR(heap->allocated, &ptr, piece);
    if (piece) {
        HASH_DEL(heap->allocated, piece);
        piece->next = heap->free[piece->size_class];
        heap->free[piece->size_class] = piece;
    }
    pthread_mutex_unlock(&heap->lock);
    return piece != NULL;
}
