// SPDX-License-Identifier: Apache-2.0
//
// The rules between allocation nodes and free nodes of all graphs (the memory itself is in
// graph_memory.h): an address is freed at most once by nodes of the graph that allocates it, or by
// nodes of other graphs, but not by both. Source: CUDA Runtime API, cudaGraphAddMemAllocNode and
// cudaGraphAddMemFreeNode.
#include <uthash.h>
#include <stdlib.h>

#include "shim/graph/graph.h"
#include "shim/core/memory.h"

struct allocation {
    void *ptr;                    // key
    const struct irt_graph *home; // that has its allocation node; NULL: none any more
    bool freed_at_home;
    unsigned freed_elsewhere; // free nodes in other graphs
    UT_hash_handle hh;
};

static struct allocation *allocations; // guarded by irt_graph_lock

// The graph that a child whose ownership was moved became a part of.
static const struct irt_graph *whole(const struct irt_graph *graph)
{
    while (graph->owner) {
        graph = graph->owner->graph;
    }
    return graph;
}

static struct allocation *find(const void *ptr)
{
    struct allocation *at;
    HASH_FIND_PTR(allocations, &ptr, at);
    return at;
}

static void drop(struct allocation *at)
{
    HASH_DEL(allocations, at);
    free(at);
}

static cudaError_t note_alloc(const struct irt_graph *graph, void *ptr)
{
    struct allocation *at = find(ptr);
    if (!at) {
        at = calloc(1, sizeof(*at));
        if (!at) {
            return cudaErrorMemoryAllocation;
        }
        at->ptr = ptr;
        HASH_ADD_PTR(allocations, ptr, at);
    }
    at->home = graph;
    at->freed_at_home = false;
    at->freed_elsewhere = 0;
    return cudaSuccess;
}

static bool frees(const struct irt_graph *graph, const void *ptr)
{
    for (const struct irt_node *n = graph->first; n; n = n->next) {
        if ((n->params.type == cudaGraphNodeTypeMemFree && n->params.free == ptr) ||
            (n->params.type == cudaGraphNodeTypeGraph && frees(n->params.child, ptr))) {
            return true;
        }
    }
    return false;
}

static cudaError_t note_free(const struct irt_graph *graph, void *ptr)
{
    struct irt_memory memory;
    struct allocation *at = find(ptr);
    if (at && (!irt_memory_find(ptr, &memory) || memory.start != ptr)) {
        drop(at); // its graph is gone and so is the memory
        at = NULL;
    }
    if (!at || frees(whole(graph), ptr)) {
        return cudaErrorInvalidValue;
    }
    if (at->home && whole(at->home) == whole(graph)) {
        if (at->freed_elsewhere) {
            return cudaErrorInvalidValue;
        }
        at->freed_at_home = true;
        return cudaSuccess;
    }
    if (at->freed_at_home) {
        return cudaErrorInvalidValue;
    }
    at->freed_elsewhere++;
    return cudaSuccess;
}

cudaError_t irt_graph_note_memory_locked(const struct irt_graph *graph,
                                         const struct irt_params *params)
{
    return params->type == cudaGraphNodeTypeMemAlloc ? note_alloc(graph, params->alloc.given.dptr)
                                                     : note_free(graph, params->free);
}

void irt_graph_forget_memory_locked(const struct irt_graph *graph, const struct irt_params *params)
{
    bool alloc = params->type == cudaGraphNodeTypeMemAlloc;
    struct allocation *at = find(alloc ? params->alloc.given.dptr : params->free);
    if (!at) {
        return;
    }
    if (alloc) {
        at->home = NULL;
    } else if (at->home && whole(at->home) == whole(graph)) {
        at->freed_at_home = false;
    } else if (at->freed_elsewhere) {
        at->freed_elsewhere--;
    }
    if (!at->home && !at->freed_elsewhere) {
        struct irt_memory memory;
        if (!irt_memory_find(at->ptr, &memory) || memory.start != at->ptr) {
            drop(at);
        }
    }
}
