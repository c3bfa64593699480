// SPDX-License-Identifier: Apache-2.0
//
// Heaps of device memory. Small pieces come from slabs of one size class each; large ones have a
// mapping of their own with inaccessible guards around it.
#include "memory.h"

#include "share.h"
#include "exec/fault.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HASH_FUNCTION HASH_FNV // for pointers as good as the default, and without fall-through
#include <uthash.h>

enum {
    GRANULE = 512,
    SMALL = 128 << 10, // up to here: slabs
    SLAB_SIZE = 2 << 20,
    GUARD = 1 << 20, // inaccessible bytes before and after a mapping
    HUGE = 2 << 20,
    SHARE_STEP = 32 << 20, // bytes that are copied at a time when memory is exported
    COLOUR = 9 * GRANULE,  // step and range of the offsets at which large allocations start
    COLOURS_END = 64 << 10,
};

// The pages of a mapping after it was exported: part of an object of share.h.
struct shared_pages {
    struct cpu_share share; // of the object
    int fd;
    uint32_t *marks; // the object's table
    char *base;      // the pages, and their number of bytes
    size_t size;
};

struct cpu_slab {
    struct shared_pages *shared;  // NULL: private
    struct cpu_slab *next, *prev; // among slabs with a free piece
    char *base;
    size_t piece;
    unsigned size_class, count, used, fresh; // fresh: pieces never handed out start here
    uint16_t *links;                         // per piece: next free piece + 1
    unsigned free_head;                      // piece + 1, 0 none
    bool listed;
};

struct cpu_allocation {
    void *ptr;
    size_t size;           // charged
    struct cpu_slab *slab; // NULL: own mapping
    void *mapping;
    size_t mapping_size;
    char *base; // of what the mapping has between its guards, and its bytes
    size_t usable;
    struct shared_pages *shared; // of the mapping; NULL: private
    UT_hash_handle hh;
};

void cpu_heap_init(struct cpu_heap *heap, size_t budget)
{
    memset(heap, 0, sizeof *heap);
    pthread_mutex_init(&heap->lock, NULL);
    heap->budget = budget;
}

// Classes 512, 1024, then steps of a quarter of the power of two below.
static size_t class_size(unsigned index)
{
    if (index < 4) {
        return (index + 1) * (size_t)GRANULE;
    }
    unsigned power = (index - 4) / 4, step = (index - 4) % 4;
    return ((size_t)GRANULE * 4 << power) + (step + 1) * ((size_t)GRANULE << power);
}

static unsigned class_of(size_t size)
{
    unsigned index = 0;
    while (class_size(index) < size) {
        index++;
    }
    return index;
}

static void drop_shared(struct shared_pages *shared)
{
    if (shared) {
        munmap(shared->marks, CPU_OBJECT_DATA);
        close(shared->fd);
        free(shared);
    }
}

// Maps `size` usable bytes between guards, aligned to `alignment`.
static char *map_guarded(size_t size, size_t alignment, void **ret_mapping, size_t *ret_size)
{
    if (size > SIZE_MAX / 2) {
        return NULL;
    }
    size_t whole = size + 2 * (size_t)GUARD + alignment;
    char *mapping =
        mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) {
        return NULL;
    }
    char *base = mapping + GUARD;
    base += -(uintptr_t)base & (alignment - 1);
    if (mprotect(base, size, PROT_READ | PROT_WRITE)) {
        munmap(mapping, whole);
        return NULL;
    }
    if (size >= HUGE) {
        madvise(base, size, MADV_HUGEPAGE);
    }
    *ret_mapping = mapping;
    *ret_size = whole;
    return base;
}

// Large allocations start at different offsets from a page, in turn. Kernels walk several arrays in
// step: if all began at the same offset, each load would seem to depend on the store before it (the
// processor compares 12 address bits) and all would compete for the same cache sets.
static size_t next_colour(void)
{
    static _Atomic unsigned count;
    return atomic_fetch_add_explicit(&count, 1, memory_order_relaxed) * (size_t)COLOUR %
           COLOURS_END;
}

static void slab_list(struct cpu_heap *heap, struct cpu_slab *slab)
{
    struct cpu_slab **head = &heap->slabs[slab->size_class];
    slab->prev = NULL;
    slab->next = *head;
    if (*head) {
        (*head)->prev = slab;
    }
    *head = slab;
    slab->listed = true;
}

static void slab_unlist(struct cpu_heap *heap, struct cpu_slab *slab)
{
    *(slab->prev ? &slab->prev->next : &heap->slabs[slab->size_class]) = slab->next;
    if (slab->next) {
        slab->next->prev = slab->prev;
    }
    slab->listed = false;
}

static void slab_destroy(struct cpu_slab *slab)
{
    if (slab) {
        drop_shared(slab->shared);
        if (slab->base) {
            exec_fault_hold_forget(slab->base);
            munmap(slab->base - GUARD, SLAB_SIZE + 2 * (size_t)GUARD);
        }
        free(slab->links);
        free(slab);
    }
}

static struct cpu_slab *slab_create(unsigned size_class)
{
    struct cpu_slab *slab = calloc(1, sizeof *slab);
    if (!slab) {
        return NULL;
    }
    slab->size_class = size_class;
    slab->piece = class_size(size_class);
    slab->count = (unsigned)(SLAB_SIZE / slab->piece);
    slab->links = calloc(slab->count, sizeof *slab->links);
    size_t whole = SLAB_SIZE + 2 * (size_t)GUARD;
    char *mapping =
        mmap(NULL, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED || !slab->links) {
        if (mapping != MAP_FAILED) {
            munmap(mapping, whole);
        }
        slab_destroy(slab);
        return NULL;
    }
    slab->base = mapping + GUARD;
    if (mprotect(slab->base, SLAB_SIZE, PROT_READ | PROT_WRITE)) {
        slab_destroy(slab);
        return NULL;
    }
    return slab;
}

static void *slab_take(struct cpu_heap *heap, size_t size, struct cpu_slab **ret_slab)
{
    unsigned index = class_of(size);
    struct cpu_slab *slab = heap->slabs[index];
    if (!slab) {
        slab = slab_create(index);
        if (!slab) {
            return NULL;
        }
        slab_list(heap, slab);
    }
    unsigned piece;
    if (slab->free_head) {
        piece = slab->free_head - 1;
        slab->free_head = slab->links[piece];
    } else {
        piece = slab->fresh++;
    }
    if (++slab->used == slab->count) {
        slab_unlist(heap, slab);
    }
    *ret_slab = slab;
    return slab->base + piece * slab->piece;
}

static void slab_give(struct cpu_heap *heap, struct cpu_slab *slab, void *ptr)
{
    unsigned piece = (unsigned)((size_t)((char *)ptr - slab->base) / slab->piece);
    if (slab->shared) {
        slab->shared->marks[piece] = 0;
    }
    slab->links[piece] = (uint16_t)slab->free_head;
    slab->free_head = piece + 1;
    slab->used--;
    if (!slab->listed) {
        slab_list(heap, slab);
    }
    // Keep one empty slab of a class, so that malloc/free in a loop does not map and unmap.
    if (!slab->used && (slab->next || slab->prev)) {
        slab_unlist(heap, slab);
        slab_destroy(slab);
    }
}

cudaError_t cpu_heap_alloc(struct cpu_heap *heap, size_t size, void **ret_ptr)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    bool small = size <= SMALL;
    size_t charged = small ? class_size(class_of(size)) : (size + page - 1) & ~(page - 1);
    struct cpu_allocation *allocation = calloc(1, sizeof *allocation);
    if (!allocation || charged < size) {
        free(allocation);
        return cudaErrorMemoryAllocation;
    }
    allocation->size = charged;
    pthread_mutex_lock(&heap->lock);
    if (charged > heap->budget - heap->used) {
        pthread_mutex_unlock(&heap->lock);
        free(allocation);
        return cudaErrorMemoryAllocation;
    }
    heap->used += charged;
    if (small) {
        allocation->ptr = slab_take(heap, size, &allocation->slab);
    } else {
        pthread_mutex_unlock(&heap->lock); // mapping takes long
        size_t colour = next_colour(), mapped = (colour + charged + page - 1) & ~(page - 1);
        char *base = mapped < charged
                         ? NULL
                         : map_guarded(mapped, charged >= HUGE ? HUGE : page, &allocation->mapping,
                                       &allocation->mapping_size);
        allocation->ptr = base ? base + colour : NULL;
        allocation->base = base;
        allocation->usable = mapped;
        pthread_mutex_lock(&heap->lock);
    }
    if (allocation->ptr) {
        HASH_ADD_PTR(heap->allocations, ptr, allocation);
    } else {
        heap->used -= charged;
    }
    pthread_mutex_unlock(&heap->lock);
    if (!allocation->ptr) {
        free(allocation);
        return cudaErrorMemoryAllocation;
    }
    *ret_ptr = allocation->ptr;
    return cudaSuccess;
}

cudaError_t cpu_heap_free(struct cpu_heap *heap, void *ptr)
{
    struct cpu_allocation *allocation;
    pthread_mutex_lock(&heap->lock);
    HASH_FIND_PTR(heap->allocations, &ptr, allocation);
    if (!allocation) {
        pthread_mutex_unlock(&heap->lock);
        return cudaErrorInvalidValue;
    }
    HASH_DEL(heap->allocations, allocation);
    heap->used -= allocation->size;
    if (allocation->slab) {
        slab_give(heap, allocation->slab, ptr);
    }
    pthread_mutex_unlock(&heap->lock);
    if (!allocation->slab) {
        drop_shared(allocation->shared);
        exec_fault_hold_forget(allocation->base);
        munmap(allocation->mapping, allocation->mapping_size);
    }
    free(allocation);
    return cudaSuccess;
}

// ---- other processes ----

// The pages are read-only, and who tried to write waits: there is no race, but ThreadSanitizer
// cannot know it. For the same reason the pages are written and replaced by bare system calls.
__attribute__((no_sanitize("thread"))) static bool is_zero(const char *bytes, size_t size)
{
    const uint64_t *words = (const uint64_t *)bytes;
    uint64_t any = 0;
    for (size_t i = 0; i < size / sizeof *words; i++) {
        any |= words[i];
    }
    return any == 0;
}

// Writes the pages of [base, base+size) into the object; pages of zeros stay holes.
static bool save_pages(const char *base, size_t size, int fd, size_t offset)
{
    enum { PIECE = 64 << 10 };
    for (size_t at = 0; at < size; at += PIECE) {
        size_t part = size - at < PIECE ? size - at : PIECE;
        if (!is_zero(base + at, part) &&
            syscall(SYS_pwrite64, fd, base + at, part, offset + at) != (long)part) {
            return false;
        }
    }
    return true;
}

// Replaces pages by those of the object at `offset`, with the same contents at the same place. A
// thread that writes between the copy and the replacement meets a read-only page and is held by the
// handler of faults until the new pages are there. On failure the memory is as it was.
static bool replace_pages(char *base, size_t size, int fd, size_t offset)
{
    long at = -1;
    if (mprotect(base, size, PROT_READ) == 0 && save_pages(base, size, fd, offset)) {
        at = syscall(SYS_mmap, base, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                     offset);
    }
    if (at != (long)(intptr_t)base) {
        mprotect(base, size, PROT_READ | PROT_WRITE);
        return false;
    }
    madvise(base, size, MADV_DONTFORK);
    return true;
}

// Makes private pages part of a new object, step by step, so that little memory is needed twice.
// When that fails midway, the pages that were replaced already are as good as the others: nobody
// else knows of them, and the next attempt replaces them like those.
static struct shared_pages *share_pages(char *base, size_t size)
{
    struct shared_pages *shared = calloc(1, sizeof *shared);
    if (!shared) {
        return NULL;
    }
    shared->base = base;
    shared->size = size;
    shared->fd = cpu_object_create(CPU_OBJECT_DATA + size, &shared->share);
    if (shared->fd < 0) {
        free(shared);
        return NULL;
    }
    shared->marks = mmap(NULL, CPU_OBJECT_DATA, PROT_READ | PROT_WRITE, MAP_SHARED, shared->fd, 0);
    bool done = false;
    if (shared->marks != MAP_FAILED) {
        madvise(shared->marks, CPU_OBJECT_DATA, MADV_DONTFORK);
        exec_fault_hold_begin(base, size);
        done = true;
        for (size_t at = 0; at < size && done; at += SHARE_STEP) {
            size_t part = size - at < SHARE_STEP ? size - at : SHARE_STEP;
            done = replace_pages(base + at, part, shared->fd, CPU_OBJECT_DATA + at);
        }
        exec_fault_hold_end();
    }
    if (!done) {
        if (shared->marks != MAP_FAILED) {
            munmap(shared->marks, CPU_OBJECT_DATA);
        }
        close(shared->fd);
        free(shared);
        return NULL;
    }
    return shared;
}

cudaError_t cpu_heap_export(struct cpu_heap *heap, void *ptr, size_t size,
                            struct cpu_share *ret_share)
{
    static pthread_mutex_t exports = PTHREAD_MUTEX_INITIALIZER; // one hold at a time
    static uint32_t last_mark;                                  // guarded by it
    struct cpu_allocation *allocation;
    cudaError_t error = cudaErrorInvalidValue;
    pthread_mutex_lock(&exports);
    pthread_mutex_lock(&heap->lock);
    HASH_FIND_PTR(heap->allocations, &ptr, allocation);
    if (allocation && size <= allocation->size) {
        struct cpu_slab *slab = allocation->slab;
        char *base = slab ? slab->base : allocation->base;
        struct shared_pages **place = slab ? &slab->shared : &allocation->shared;
        if (!*place) {
            *place = share_pages(base, slab ? (size_t)SLAB_SIZE : allocation->usable);
        }
        error = cudaErrorMapBufferObjectFailed;
        if (*place) {
            struct shared_pages *shared = *place;
            size_t offset = (size_t)((char *)ptr - base);
            size_t slot = slab ? offset / slab->piece : 0;
            if (!shared->marks[slot]) {
                last_mark += last_mark == UINT32_MAX ? 2 : 1; // never 0
                shared->marks[slot] = last_mark;
            }
            *ret_share = shared->share;
            ret_share->offset = CPU_OBJECT_DATA + offset;
            ret_share->size = size;
            ret_share->slot = (uint32_t)slot;
            ret_share->mark = shared->marks[slot];
            error = cudaSuccess;
        }
    }
    pthread_mutex_unlock(&heap->lock);
    pthread_mutex_unlock(&exports);
    return error;
}

bool cpu_heap_charge(struct cpu_heap *heap, size_t size)
{
    pthread_mutex_lock(&heap->lock);
    bool fits = size <= heap->budget - heap->used;
    heap->used += fits ? size : 0;
    pthread_mutex_unlock(&heap->lock);
    return fits;
}

void cpu_heap_uncharge(struct cpu_heap *heap, size_t size)
{
    pthread_mutex_lock(&heap->lock);
    heap->used -= size;
    pthread_mutex_unlock(&heap->lock);
}

void cpu_heap_info(struct cpu_heap *heap, size_t *ret_free, size_t *ret_total)
{
    pthread_mutex_lock(&heap->lock);
    *ret_free = heap->budget - heap->used;
    *ret_total = heap->budget;
    pthread_mutex_unlock(&heap->lock);
}

void cpu_heap_clear(struct cpu_heap *heap)
{
    for (;;) {
        pthread_mutex_lock(&heap->lock);
        void *ptr = heap->allocations ? heap->allocations->ptr : NULL;
        pthread_mutex_unlock(&heap->lock);
        if (!ptr) {
            return;
        }
        cpu_heap_free(heap, ptr);
    }
}

size_t cpu_number_in(const char *path)
{
    char line[64] = "";
    FILE *file = fopen(path, "re");
    if (!file) {
        return 0;
    }
    if (!fgets(line, sizeof line, file)) {
        line[0] = '\0';
    }
    fclose(file);
    errno = 0;
    unsigned long long value = strtoull(line, NULL, 10); // words like "max" give 0
    return errno ? 0 : (size_t)value;
}

size_t cpu_machine_memory(void)
{
    static const char *const limits[] = {
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    };
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t memory = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : (size_t)1 << 30;
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        size_t limit = cpu_number_in(limits[i]);
        memory = limit && limit < memory ? limit : memory;
    }
    return memory;
}

bool cpu_range_mapped(const void *ptr, size_t size)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t before = (uintptr_t)ptr & (page - 1);
    if ((uintptr_t)ptr + size < (uintptr_t)ptr) {
        return false;
    }
    // msync reports an unmapped page in the range without touching anything.
    return msync((char *)ptr - before, size + before, MS_ASYNC) == 0;
}
