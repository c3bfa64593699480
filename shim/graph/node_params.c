// SPDX-License-Identifier: Apache-2.0
//
// Parameters of graph nodes (graph.h): from what the application gives to what is kept, back to
// what GetParams answers, copying and releasing. Kernels are in node_kernel.c. Source: CUDA Runtime
// API, "Graph Management" and cudaGraphNodeParams of CUDA 13.5.
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/image/array.h"
#include "shim/core/context.h"
#include "shim/core/copy.h"
#include "shim/core/external.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_memory.h"
#include "shim/graph/node_kernel.h"
#include "shim/graph/node_semaphore.h"

// ---- the tagged union ----

// Where members are that the headers of CUDA 13.0 do not have, in bytes from the start of the
// union.
enum {
    MEMCPY_CONTEXT = 8,
    MEMSET_CONTEXT = 40,
    HOST_SYNC_MODE = 16,
    HOST_CONTEXT = 24,
    RECORD_CONTEXT = 8,
    SEMAPHORE_CONTEXT = 24,
    CONDITIONAL_CONTEXT = 24,
};

enum { UNION_OFFSET = offsetof(struct cudaGraphNodeParams, kernel) };

// Bytes of the union that a node type uses in the newest release; all others must be zero.
static size_t used_bytes(enum cudaGraphNodeType type)
{
    switch ((int)type) {
    case cudaGraphNodeTypeKernel:
        return IRT_KERNEL_PARAMS_SIZE;
    case cudaGraphNodeTypeMemcpy:
        return sizeof(struct cudaMemcpyNodeParams);
    case cudaGraphNodeTypeMemset:
        return MEMSET_CONTEXT + sizeof(void *);
    case cudaGraphNodeTypeHost:
        return HOST_CONTEXT + sizeof(void *);
    case cudaGraphNodeTypeGraph:
        return 2 * sizeof(void *); // `ownership` since CUDA 12.9
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeMemFree:
        return sizeof(void *);
    case cudaGraphNodeTypeEventRecord:
        return RECORD_CONTEXT + sizeof(void *);
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        return SEMAPHORE_CONTEXT + sizeof(void *);
    case cudaGraphNodeTypeMemAlloc:
        return sizeof(struct cudaMemAllocNodeParamsV2);
    case cudaGraphNodeTypeConditional:
        return CONDITIONAL_CONTEXT + sizeof(void *);
    default:
        return 0;
    }
}

static bool all_zero(const void *bytes, size_t size)
{
    const char *at = bytes;
    for (size_t i = 0; i < size; i++) {
        if (at[i]) {
            return false;
        }
    }
    return true;
}

static bool unused_is_zero(const struct cudaGraphNodeParams *given)
{
    size_t start = UNION_OFFSET + used_bytes(given->type);
    return all_zero(given->reserved0, sizeof(given->reserved0)) &&
           all_zero((const char *)given + start, sizeof(*given) - start);
}

static void *pointer_at(const struct cudaGraphNodeParams *given, size_t offset)
{
    void *pointer;
    memcpy(&pointer, (const char *)given + UNION_OFFSET + offset, sizeof(pointer));
    return pointer;
}

// Where the execution context stands in the union (CUDA 13.1); 0: the type has none.
static size_t context_offset(enum cudaGraphNodeType type)
{
    switch ((int)type) {
    case cudaGraphNodeTypeKernel:
        return IRT_KERNEL_CONTEXT;
    case cudaGraphNodeTypeMemcpy:
        return MEMCPY_CONTEXT;
    case cudaGraphNodeTypeMemset:
        return MEMSET_CONTEXT;
    case cudaGraphNodeTypeHost:
        return HOST_CONTEXT;
    case cudaGraphNodeTypeEventRecord:
        return RECORD_CONTEXT;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        return SEMAPHORE_CONTEXT;
    case cudaGraphNodeTypeConditional:
        return CONDITIONAL_CONTEXT;
    default:
        return 0;
    }
}

cudaError_t irt_params_context(cudaExecutionContext_t handle, struct irt_device **ret_device)
{
    if (!handle) {
        *ret_device = irt_device_current();
        return cudaSuccess;
    }
    struct irt_context *context = irt_context_get(handle);
    if (!context) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e =
        context->green ? irt_unsupported("a graph node in a green context") : cudaSuccess;
    *ret_device = context->device;
    irt_context_put(context);
    return e;
}

// ---- copies ----

// References on the arrays, so that they outlive the node.
static cudaError_t hold_arrays(struct irt_copy_params *copy)
{
    const cudaArray_t arrays[2] = {copy->given.dstArray, copy->given.srcArray};
    for (int i = 0; i < 2; i++) {
        struct irt_array *array;
        if (!arrays[i]) {
            continue;
        }
        cudaError_t e = irt_array_get(arrays[i], &array);
        if (e) {
            return e;
        }
        copy->arrays[i] = arrays[i];
    }
    return cudaSuccess;
}

static void put_arrays(struct irt_copy_params *copy)
{
    for (int i = 0; i < 2; i++) {
        if (copy->arrays[i]) {
            irt_array_put(copy->arrays[i]);
        }
    }
}

static cudaError_t make_copy(const struct cudaMemcpy3DParms *given, struct irt_copy_params *ret)
{
    struct irtb_copy box;
    enum cudaMemcpyKind kind;
    cudaError_t e = irt_copy_describe_3d(given, &box, &kind);
    if (!e) {
        e = irt_copy_resolve(&box, kind, &ret->box);
    }
    if (e) {
        return e;
    }
    ret->given = *given;
    e = hold_arrays(ret);
    if (e) {
        put_arrays(ret);
    }
    return e;
}

// One side of a box as cudaMemcpy3DParms says it.
static void describe_side(const void *address, const struct irtb_copy *box, size_t pitch,
                          size_t slice, cudaArray_t *ret_array, struct cudaPos *ret_pos,
                          struct cudaPitchedPtr *ret_ptr)
{
    if (irt_array_at(address, ret_array, ret_pos)) {
        return;
    }
    size_t row = pitch ? pitch : box->width;
    *ret_ptr = (struct cudaPitchedPtr){.ptr = (void *)address,
                                       .pitch = row,
                                       .xsize = box->width,
                                       .ysize = slice && row ? slice / row : box->height};
}

cudaError_t irt_params_from_copy(struct irt_device *device, const struct irtb_copy *box,
                                 struct irt_params *ret_params)
{
    struct irt_params made = {.type = cudaGraphNodeTypeMemcpy, .device = device};
    struct cudaMemcpy3DParms *given = &made.copy.given;
    made.copy.box = *box;
    given->kind = box->kind;
    given->extent = (struct cudaExtent){box->width, box->height, box->depth};
    if (box->width) {
        describe_side(box->dst, box, box->dst_pitch, box->dst_slice, &given->dstArray,
                      &given->dstPos, &given->dstPtr);
        describe_side(box->src, box, box->src_pitch, box->src_slice, &given->srcArray,
                      &given->srcPos, &given->srcPtr);
    }
    cudaError_t e = hold_arrays(&made.copy);
    if (e) {
        put_arrays(&made.copy);
        return e;
    }
    if (given->dstArray || given->srcArray) { // the extent counts elements then
        struct irt_array_region region;
        static const struct cudaPos origin;
        static const struct cudaExtent nothing;
        e = irt_array_region(given->dstArray ? given->dstArray : given->srcArray, &origin, &nothing,
                             &region);
        if (e) {
            put_arrays(&made.copy);
            return e;
        }
        given->extent.width = box->width / region.element_size;
    }
    made.copy.linear = box->height == 1 && box->depth == 1;
    *ret_params = made;
    return cudaSuccess;
}

// ---- fills ----

static cudaError_t make_fill(const struct cudaMemsetParamsV2 *given, struct irt_fill_params *ret)
{
    unsigned size = given->elementSize;
    bool rows = given->height > 1;
    if ((size != 1 && size != 2 && size != 4) || (uintptr_t)given->dst % size ||
        (size < 4 && given->value >> (8 * size)) || !given->width || !given->height) {
        return cudaErrorInvalidValue;
    }
    size_t row;
    if (__builtin_mul_overflow(given->width, size, &row) ||
        (rows && (given->pitch < row || given->pitch % size))) {
        return cudaErrorInvalidValue;
    }
    ret->given = (struct cudaMemsetParams){.dst = given->dst,
                                           .pitch = given->pitch,
                                           .value = given->value,
                                           .elementSize = size,
                                           .width = given->width,
                                           .height = given->height};
    ret->box = (struct irtb_fill){.dst = given->dst,
                                  .value = given->value,
                                  .element_size = size,
                                  .width = given->width,
                                  .height = given->height,
                                  .depth = 1,
                                  .pitch = rows ? given->pitch : row};
    return irt_fill_check(&ret->box);
}

cudaError_t irt_params_from_fill(struct irt_device *device, const struct irtb_fill *box,
                                 struct irt_params *ret_params)
{
    *ret_params = (struct irt_params){
        .type = cudaGraphNodeTypeMemset,
        .device = device,
        .fill = {.box = *box,
                 .given = {.dst = box->dst,
                           .pitch = box->pitch,
                           .value = box->value,
                           .elementSize = box->element_size,
                           .width = box->width,
                           .height = box->height * box->depth}},
    };
    return cudaSuccess;
}

// ---- host functions, events ----

cudaError_t irt_params_from_host(struct irt_device *device, cudaHostFn_t function, void *argument,
                                 unsigned sync_mode, struct irt_params *ret_params)
{
    *ret_params = (struct irt_params){
        .type = cudaGraphNodeTypeHost, .device = device, .host = {function, argument, sync_mode}};
    return cudaSuccess;
}

static cudaError_t make_host(const struct cudaGraphNodeParams *given, struct irt_params *made)
{
    enum { SYNC_MODES = 2 }; // cudaHostTaskBlocking, cudaHostTaskSpinWait
    unsigned sync_mode;
    memcpy(&sync_mode, (const char *)given + UNION_OFFSET + HOST_SYNC_MODE, sizeof(sync_mode));
    if (!given->host.fn || sync_mode >= SYNC_MODES) {
        return cudaErrorInvalidValue;
    }
    return irt_params_from_host(made->device, given->host.fn, given->host.userData, sync_mode,
                                made);
}

cudaError_t irt_params_from_event(struct irt_device *device, bool record, struct irt_event *event,
                                  struct irt_params *ret_params)
{
    irt_event_ref(event);
    *ret_params = (struct irt_params){.type = record ? cudaGraphNodeTypeEventRecord
                                                     : cudaGraphNodeTypeWaitEvent,
                                      .device = device,
                                      .event = event};
    return cudaSuccess;
}

static cudaError_t make_event(cudaEvent_t handle, struct irt_params *made)
{
    return irt_event_get(handle, &made->event) ? cudaErrorInvalidValue : cudaSuccess;
}

// ---- external semaphores ----

static cudaError_t make_fence(const struct cudaGraphNodeParams *given, struct irt_params *made)
{
    bool signal = given->type == cudaGraphNodeTypeExtSemaphoreSignal;
    const struct irt_semaphore_params values = {
        .first = signal ? (const void *)given->extSemSignal.paramsArray
                        : (const void *)given->extSemWait.paramsArray,
        .stride = signal ? sizeof(*given->extSemSignal.paramsArray)
                         : sizeof(*given->extSemWait.paramsArray),
        .flags_offset = signal ? offsetof(struct cudaExternalSemaphoreSignalParams, flags)
                               : offsetof(struct cudaExternalSemaphoreWaitParams, flags)};
    return signal ? irt_fence_params_make(true, given->extSemSignal.extSemArray, &values,
                                          given->extSemSignal.numExtSems, &made->fence)
                  : irt_fence_params_make(false, given->extSemWait.extSemArray, &values,
                                          given->extSemWait.numExtSems, &made->fence);
}

// ---- allocations ----

cudaError_t irt_params_from_alloc(struct irt_device *device, const struct cudaMemPoolProps *props,
                                  size_t size, struct irt_params *ret_params)
{
    struct irt_params made = {.type = cudaGraphNodeTypeMemAlloc, .device = device};
    made.alloc.given.poolProps = *props;
    made.alloc.given.bytesize = size;
    cudaError_t e = irt_graph_memory_reserve(device, size, &made.alloc.given.dptr);
    if (!e) {
        *ret_params = made;
    }
    return e;
}

cudaError_t irt_params_from_free(struct irt_device *device, void *ptr,
                                 struct irt_params *ret_params)
{
    *ret_params =
        (struct irt_params){.type = cudaGraphNodeTypeMemFree, .device = device, .free = ptr};
    return cudaSuccess;
}

static cudaError_t check_access(const struct cudaMemAllocNodeParamsV2 *given)
{
    if (given->accessDescCount > (size_t)irt_device_count() ||
        (given->accessDescCount && !given->accessDescs)) {
        return cudaErrorInvalidValue;
    }
    for (size_t i = 0; i < given->accessDescCount; i++) {
        const struct cudaMemAccessDesc *desc = &given->accessDescs[i];
        if (desc->location.type != cudaMemLocationTypeDevice || !irt_device_at(desc->location.id) ||
            desc->flags != cudaMemAccessFlagsProtReadWrite) {
            return cudaErrorInvalidValue;
        }
    }
    return cudaSuccess;
}

static cudaError_t make_alloc(const struct cudaMemAllocNodeParamsV2 *given, struct irt_params *made)
{
    const struct cudaMemPoolProps *props = &given->poolProps;
    if (props->allocType != cudaMemAllocationTypePinned ||
        props->handleTypes != cudaMemHandleTypeNone || props->win32SecurityAttributes ||
        !all_zero(props->reserved, sizeof(props->reserved)) || !given->bytesize) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = check_access(given);
    if (e) {
        return e;
    }
    switch ((int)props->location.type) {
    case cudaMemLocationTypeDevice:
        break;
    case cudaMemLocationTypeHost:
    case cudaMemLocationTypeHostNuma:
    case cudaMemLocationTypeHostNumaCurrent:
        return irt_unsupported("an allocation node in host memory");
    default:
        return cudaErrorInvalidValue;
    }
    struct irt_device *device = irt_device_at(props->location.id);
    struct cudaMemAccessDesc *access = NULL;
    if (!device) {
        return cudaErrorInvalidValue;
    }
    if (given->accessDescCount) {
        access = malloc(given->accessDescCount * sizeof(*access));
        if (!access) {
            return cudaErrorMemoryAllocation;
        }
        memcpy(access, given->accessDescs, given->accessDescCount * sizeof(*access));
    }
    e = irt_params_from_alloc(device, props, given->bytesize, made);
    if (e) {
        free(access);
        return e;
    }
    made->alloc.given.accessDescs = access;
    made->alloc.given.accessDescCount = given->accessDescCount;
    return cudaSuccess;
}

// ---- graphs inside ----

static cudaError_t make_child(const struct cudaGraphNodeParams *given, struct irt_params *made)
{
    int ownership; // enum cudaGraphChildGraphNodeOwnership; Clone = 0
    memcpy(&ownership, (const char *)given + UNION_OFFSET + sizeof(void *), sizeof(ownership));
    return ownership ? cudaErrorInvalidValue
                     : irt_graph_clone(given->graph.graph, true, &made->child);
}

cudaError_t irt_params_from_child(struct irt_device *device, struct irt_graph *child,
                                  struct irt_params *ret_params)
{
    *ret_params =
        (struct irt_params){.type = cudaGraphNodeTypeGraph, .device = device, .child = child};
    return cudaSuccess;
}

static cudaError_t make_conditional(const struct cudaGraphNodeParams *given,
                                    struct irt_params *made)
{
    enum { BODIES_MAX = 1 << 16 }; // more than any program switches between
    const struct cudaConditionalNodeParams *c = &given->conditional;
    unsigned most = c->type == cudaGraphCondTypeIf      ? 2
                    : c->type == cudaGraphCondTypeWhile ? 1
                                                        : BODIES_MAX;
    if (!c->handle || (unsigned)c->type > cudaGraphCondTypeSwitch || !c->size || c->size > most) {
        return cudaErrorInvalidValue;
    }
    struct irt_conditional_params *to = &made->conditional;
    to->handle = c->handle;
    to->type = c->type;
    to->bodies = calloc(c->size, sizeof(struct irt_graph *));
    to->handles = calloc(c->size, sizeof(cudaGraph_t));
    to->count = to->bodies && to->handles ? c->size : 0;
    cudaError_t e = to->count ? cudaSuccess : cudaErrorMemoryAllocation;
    for (unsigned i = 0; i < to->count && !e; i++) {
        e = irt_graph_new(true, &to->bodies[i]);
        to->handles[i] = e ? NULL : to->bodies[i]->handle;
    }
    return e;
}

// ---- all types ----

static cudaError_t make(const struct cudaGraphNodeParams *given,
                        const struct irt_kernel_params *like, struct irt_params *made)
{
    switch ((int)given->type) {
    case cudaGraphNodeTypeKernel:
        return irt_kernel_params_make(&given->kernel, like, made);
    case cudaGraphNodeTypeMemcpy:
        return all_zero(&given->memcpy, MEMCPY_CONTEXT)
                   ? make_copy(&given->memcpy.copyParams, &made->copy)
                   : cudaErrorInvalidValue;
    case cudaGraphNodeTypeMemset:
        return make_fill(&given->memset, &made->fill);
    case cudaGraphNodeTypeHost:
        return make_host(given, made);
    case cudaGraphNodeTypeGraph:
        return make_child(given, made);
    case cudaGraphNodeTypeEmpty:
        return cudaSuccess;
    case cudaGraphNodeTypeWaitEvent:
        return make_event(given->eventWait.event, made);
    case cudaGraphNodeTypeEventRecord:
        return make_event(given->eventRecord.event, made);
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        return make_fence(given, made);
    case cudaGraphNodeTypeMemAlloc:
        return make_alloc(&given->alloc, made);
    case cudaGraphNodeTypeMemFree:
        return given->free.dptr ? irt_params_from_free(made->device, given->free.dptr, made)
                                : cudaErrorInvalidValue;
    case cudaGraphNodeTypeConditional:
        return make_conditional(given, made);
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t irt_params_make(const struct cudaGraphNodeParams *given,
                            const struct irt_kernel_params *like, struct irt_params *ret_params)
{
    enum { MEMCPY_BATCH = 0x0e }; // CUDA 13.5
    if ((int)given->type == MEMCPY_BATCH) {
        return irt_unsupported("a graph node that copies a batch");
    }
    if (!unused_is_zero(given)) {
        return cudaErrorInvalidValue;
    }
    struct irt_params made = {.type = given->type};
    size_t offset = context_offset(given->type);
    cudaExecutionContext_t context = offset ? pointer_at(given, offset) : NULL;
    cudaError_t e = irt_params_context(context, &made.device);
    if (e) {
        return e;
    }
    e = make(given, like, &made);
    made.context = context;
    if (e) {
        irt_params_release(&made);
    } else {
        *ret_params = made;
    }
    return e;
}

static void release_graph(struct irt_graph *graph)
{
    if (graph) {
        irt_mutex_lock(&irt_graph_lock);
        irt_graph_close_locked(graph);
        irt_mutex_unlock(&irt_graph_lock);
        irt_graph_release(graph);
    }
}

void irt_params_release(struct irt_params *params)
{
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        irt_kernel_params_release(&params->kernel);
        break;
    case cudaGraphNodeTypeMemcpy:
        put_arrays(&params->copy);
        break;
    case cudaGraphNodeTypeGraph:
        release_graph(params->child);
        break;
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        if (params->event) {
            irt_event_put(params->event);
        }
        break;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        irt_fence_params_release(&params->fence);
        break;
    case cudaGraphNodeTypeMemAlloc:
        if (params->alloc.given.dptr) {
            irt_graph_memory_release(params->alloc.given.dptr);
        }
        free((void *)params->alloc.given.accessDescs);
        break;
    case cudaGraphNodeTypeConditional:
        for (unsigned i = 0; i < params->conditional.count; i++) {
            release_graph(params->conditional.bodies[i]);
        }
        free(params->conditional.bodies);
        free(params->conditional.handles);
        break;
    default:
        break;
    }
    *params = (struct irt_params){.type = cudaGraphNodeTypeEmpty};
}

// ---- copies of parameters ----

static cudaError_t copy_alloc(const struct irt_params *from, struct irt_params *copy)
{
    size_t size = from->alloc.given.accessDescCount * sizeof(struct cudaMemAccessDesc);
    struct cudaMemAccessDesc *access = size ? malloc(size) : NULL;
    if (size && !access) {
        return cudaErrorMemoryAllocation;
    }
    if (size) {
        memcpy(access, from->alloc.given.accessDescs, size);
    }
    copy->alloc.given = from->alloc.given;
    copy->alloc.given.accessDescs = access;
    irt_graph_memory_retain(copy->alloc.given.dptr);
    return cudaSuccess;
}

static cudaError_t copy_conditional(const struct irt_conditional_params *from, bool visible,
                                    struct irt_conditional_params *copy)
{
    copy->handle = from->handle;
    copy->type = from->type;
    copy->bodies = calloc(from->count, sizeof(struct irt_graph *));
    copy->handles = calloc(from->count, sizeof(cudaGraph_t));
    copy->count = copy->bodies && copy->handles ? from->count : 0;
    cudaError_t e = copy->count ? cudaSuccess : cudaErrorMemoryAllocation;
    for (unsigned i = 0; i < copy->count && !e; i++) {
        e = irt_graph_copy_locked(from->bodies[i], visible, &copy->bodies[i]);
        copy->handles[i] = e ? NULL : copy->bodies[i]->handle;
    }
    return e;
}

cudaError_t irt_params_copy(const struct irt_params *params, bool visible,
                            struct irt_params *ret_copy)
{
    *ret_copy = (struct irt_params){
        .type = params->type, .device = params->device, .context = params->context};
    switch ((int)params->type) {
    case cudaGraphNodeTypeKernel:
        return irt_kernel_params_copy(&params->kernel, &ret_copy->kernel);
    case cudaGraphNodeTypeMemcpy:
        ret_copy->copy = params->copy;
        memset(ret_copy->copy.arrays, 0, sizeof(ret_copy->copy.arrays));
        return hold_arrays(&ret_copy->copy);
    case cudaGraphNodeTypeGraph:
        return irt_graph_copy_locked(params->child, visible, &ret_copy->child);
    case cudaGraphNodeTypeWaitEvent:
    case cudaGraphNodeTypeEventRecord:
        irt_event_ref(params->event);
        ret_copy->event = params->event;
        return cudaSuccess;
    case cudaGraphNodeTypeExtSemaphoreSignal:
    case cudaGraphNodeTypeExtSemaphoreWait:
        return irt_fence_params_copy(&params->fence, &ret_copy->fence);
    case cudaGraphNodeTypeMemAlloc:
        return copy_alloc(params, ret_copy);
    case cudaGraphNodeTypeConditional:
        return copy_conditional(&params->conditional, visible, &ret_copy->conditional);
    default: // own nothing
        *ret_copy = *params;
        return cudaSuccess;
    }
}

// ---- answers ----

void irt_node_describe_locked(struct irt_node *node, struct cudaGraphNodeParams *ret_given)
{
    struct irt_params *p = &node->params;
    struct cudaGraphNodeParams given;
    memset(&given, 0, sizeof(given));
    given.type = p->type;
    char *bytes = (char *)&given + UNION_OFFSET;
    switch ((int)p->type) {
    case cudaGraphNodeTypeKernel:
        irt_kernel_params_describe(&p->kernel, &given.kernel);
        break;
    case cudaGraphNodeTypeMemcpy:
        given.memcpy.copyParams = p->copy.given;
        break;
    case cudaGraphNodeTypeMemset:
        memcpy(&given.memset, &p->fill.given, sizeof(p->fill.given));
        break;
    case cudaGraphNodeTypeHost:
        given.host.fn = p->host.function;
        given.host.userData = p->host.argument;
        memcpy(bytes + HOST_SYNC_MODE, &p->host.sync_mode, sizeof(p->host.sync_mode));
        break;
    case cudaGraphNodeTypeGraph: {
        const int invalid = -1; // cudaGraphChildGraphOwnershipInvalid
        given.graph.graph = p->child->handle;
        memcpy(bytes + sizeof(void *), &invalid, sizeof(invalid));
        break;
    }
    case cudaGraphNodeTypeWaitEvent:
        given.eventWait.event = p->event->handle;
        break;
    case cudaGraphNodeTypeEventRecord:
        given.eventRecord.event = p->event->handle;
        break;
    case cudaGraphNodeTypeExtSemaphoreSignal:
        given.extSemSignal.extSemArray = p->fence.semaphores;
        given.extSemSignal.paramsArray = p->fence.values;
        given.extSemSignal.numExtSems = p->fence.count;
        break;
    case cudaGraphNodeTypeExtSemaphoreWait:
        given.extSemWait.extSemArray = p->fence.semaphores;
        given.extSemWait.paramsArray = p->fence.values;
        given.extSemWait.numExtSems = p->fence.count;
        break;
    case cudaGraphNodeTypeMemAlloc:
        memcpy(&given.alloc, &p->alloc.given, sizeof(p->alloc.given));
        break;
    case cudaGraphNodeTypeMemFree:
        given.free.dptr = p->free;
        break;
    case cudaGraphNodeTypeConditional:
        given.conditional.handle = p->conditional.handle;
        given.conditional.type = p->conditional.type;
        given.conditional.size = p->conditional.count;
        given.conditional.phGraph_out = p->conditional.handles;
        break;
    default:
        break;
    }
    size_t offset = context_offset(p->type);
    if (offset) {
        memcpy(bytes + offset, &p->context, sizeof(p->context));
    }
    *ret_given = given;
}
_Static_assert(sizeof(struct cudaMemAllocNodeParams) == sizeof(struct cudaMemAllocNodeParamsV2) &&
                   offsetof(struct cudaMemsetParams, height) ==
                       offsetof(struct cudaMemsetParamsV2, height),
               "the same members at the same places");
