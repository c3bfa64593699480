// SPDX-License-Identifier: Apache-2.0
//
// User objects: counted references on something of the application's, owned by the application and
// by graphs, their clones and execs. The last one to go calls the destructor, once, with no lock
// held, as a host function: it may not call CUDA. Source: CUDA Runtime API, cudaUserObjectCreate;
// CUDA C++ Programming Guide, "CUDA User Objects".
#include <limits.h>
#include <stdlib.h>

#include "irt_core.h"
#include "shim/graph/graph.h"
#include "shim/core/stream.h"
#include "shim/util/handle.h"

struct irt_user_object {
    void *handle;
    cudaHostFn_t destroy;
    void *argument;
    // Guarded by irt_graph_lock.
    unsigned long long references; // all
    unsigned long long own;        // those of the application
};

// The object lives until its last reference goes, which closes the handle.
static struct irt_handle_table objects = IRT_HANDLE_TABLE(IRT_HANDLE_USER_OBJECT, NULL);

static struct irt_user_object *find_locked(cudaUserObject_t handle)
{
    struct irt_user_object *object = irt_handle_get(&objects, handle);
    if (object) {
        irt_handle_put(&objects, handle);
    }
    return object;
}

void irt_user_object_ref_locked(struct irt_user_object *object, unsigned count)
{
    object->references += count;
}

// True when this was the last one: the caller calls finish() without the lock.
static bool drop_locked(struct irt_user_object *object, unsigned count)
{
    object->references -= count;
    if (object->references) {
        return false;
    }
    irt_handle_close(&objects, object->handle);
    return true;
}

static void finish(struct irt_user_object *object)
{
    irt_run_host_function(object->destroy, object->argument);
    free(object);
}

void irt_user_object_unref(struct irt_user_object *object, unsigned count)
{
    irt_mutex_lock(&irt_graph_lock);
    bool last = drop_locked(object, count);
    irt_mutex_unlock(&irt_graph_lock);
    if (last) {
        finish(object);
    }
}

static bool count_is_valid(unsigned count)
{
    return count > 0 && count <= INT_MAX;
}

cudaError_t irt_core_cudaUserObjectCreate(cudaUserObject_t *object_out, void *ptr,
                                          cudaHostFn_t destroy, unsigned int initialRefcount,
                                          unsigned int flags)
{
    if (!object_out || !destroy || !count_is_valid(initialRefcount) ||
        flags != cudaUserObjectNoDestructorSync) {
        return cudaErrorInvalidValue;
    }
    struct irt_user_object *object = calloc(1, sizeof(*object));
    if (!object) {
        return cudaErrorMemoryAllocation;
    }
    object->destroy = destroy;
    object->argument = ptr;
    object->references = object->own = initialRefcount;
    object->handle = irt_handle_open(&objects, object);
    if (!object->handle) {
        free(object);
        return cudaErrorMemoryAllocation;
    }
    *object_out = object->handle;
    return cudaSuccess;
}

cudaError_t irt_core_cudaUserObjectRetain(cudaUserObject_t handle, unsigned int count)
{
    cudaError_t e = cudaErrorInvalidValue;
    irt_mutex_lock(&irt_graph_lock);
    struct irt_user_object *object = find_locked(handle);
    if (object && count_is_valid(count)) {
        object->references += count;
        object->own += count;
        e = cudaSuccess;
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaUserObjectRelease(cudaUserObject_t handle, unsigned int count)
{
    cudaError_t e = cudaErrorInvalidValue;
    bool last = false;
    irt_mutex_lock(&irt_graph_lock);
    struct irt_user_object *object = find_locked(handle);
    if (object && count_is_valid(count) && count <= object->own) {
        object->own -= count;
        last = drop_locked(object, count);
        e = cudaSuccess;
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (last) {
        finish(object);
    }
    return e;
}

// The references that the graph has on the object; NULL without.
static struct irt_object_reference *reference_in(struct irt_graph *graph,
                                                 const struct irt_user_object *object)
{
    for (size_t i = 0; i < graph->object_count; i++) {
        if (graph->objects[i].object == object) {
            return &graph->objects[i];
        }
    }
    return NULL;
}

static cudaError_t retain_locked(struct irt_graph *graph, struct irt_user_object *object,
                                 unsigned count, bool move)
{
    if (move && object->own < count) {
        return cudaErrorInvalidValue;
    }
    struct irt_object_reference *at = reference_in(graph, object);
    if (at && count > UINT_MAX - at->count) {
        return cudaErrorInvalidValue;
    }
    if (!at) {
        struct irt_object_reference *list =
            realloc(graph->objects, (graph->object_count + 1) * sizeof(*list));
        if (!list) {
            return cudaErrorMemoryAllocation;
        }
        graph->objects = list;
        at = &list[graph->object_count++];
        *at = (struct irt_object_reference){.object = object};
    }
    at->count += count;
    if (move) {
        object->own -= count;
    } else {
        object->references += count;
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                               unsigned int count, unsigned int flags)
{
    struct irt_graph *g;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(graph, &g);
    struct irt_user_object *o = find_locked(object);
    if (!o || !count_is_valid(count) || (flags & ~(unsigned)cudaGraphUserObjectMove)) {
        e = cudaErrorInvalidValue;
    }
    if (!e) {
        e = retain_locked(g, o, count, flags == cudaGraphUserObjectMove);
    }
    irt_mutex_unlock(&irt_graph_lock);
    return e;
}

cudaError_t irt_core_cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object,
                                                unsigned int count)
{
    struct irt_graph *g;
    bool last = false;
    irt_mutex_lock(&irt_graph_lock);
    cudaError_t e = irt_graph_find_locked(graph, &g);
    struct irt_user_object *o = find_locked(object);
    struct irt_object_reference *at = !e && o ? reference_in(g, o) : NULL;
    if (!at || !count_is_valid(count) || count > at->count) {
        e = cudaErrorInvalidValue;
    } else {
        at->count -= count;
        if (!at->count) {
            *at = g->objects[--g->object_count];
        }
        last = drop_locked(o, count);
    }
    irt_mutex_unlock(&irt_graph_lock);
    if (last) {
        finish(o);
    }
    return e;
}
