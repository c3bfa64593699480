// SPDX-License-Identifier: Apache-2.0
//
// The device runtime: one C function per row of device_api.def, over device_launch.c and the module
// of the running kernel. Arguments come as PTX lays them out, which is how C lays out a structure
// of the same members. Errors of a call are also the calling thread's last device-side error.
// Source: CUDA Programming Guide, "CUDA Dynamic Parallelism", and cuda_device_runtime_api.h.
#include "device_api.h"

#include <stdatomic.h>
#include <string.h>

#include <driver_types.h>

#include "block.h"
#include "device_launch.h"
#include "fault.h"
#include "graph.h"
#include "heap.h"
#include "runtime.h"
#include "stream.h"

enum { RUNTIME_VERSION = 13000 }; // of the device runtime that these functions are modelled on

typedef void (*device_function)(struct exec_ctx *ctx, const void *arguments, void *results);

static struct exec_module *module_of(const struct exec_ctx *ctx)
{
    struct exec_module *module = ctx->block->grid->launch->module;
    if (!module) {
        exec_fault_leave(cudaErrorNotSupported, "the device runtime is not there");
    }
    return module;
}

static void give(struct exec_ctx *ctx, void *results, cudaError_t error)
{
    int32_t value = (int32_t)exec_children_note(ctx, error);
    memcpy(results, &value, sizeof value);
}

static struct exec_launch shape(const uint32_t grid[3], const uint32_t block[3], uint32_t shared)
{
    struct exec_launch launch = {.dynamic_shared = shared};
    memcpy(launch.grid, grid, sizeof launch.grid);
    memcpy(launch.block, block, sizeof launch.block);
    return launch;
}

// ---------------------------------------------------------------- launches

static void do_GetParameterBuffer(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        uint64_t alignment, size;
    } *a = arguments;
    void *buffer = NULL;
    if (a->alignment > 64 || a->size > 32764) {
        exec_children_note(ctx, cudaErrorInvalidValue);
    } else {
        buffer = exec_children_buffer(ctx, 0, NULL, (uint32_t)a->size);
    }
    memcpy(results, &buffer, sizeof buffer);
}

static void do_GetParameterBufferV2(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        uint64_t function;
        uint32_t grid[3], block[3], shared;
    } *a = arguments;
    struct exec_launch launch = shape(a->grid, a->block, a->shared);
    void *buffer = exec_children_buffer(ctx, a->function ? a->function : 1, &launch, 0);
    memcpy(results, &buffer, sizeof buffer);
}

static void do_LaunchDevice(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        uint64_t function;
        void *buffer;
        uint32_t grid[3], block[3], shared;
        uint64_t stream;
    } *a = arguments;
    struct exec_launch launch = shape(a->grid, a->block, a->shared);
    give(ctx, results,
         exec_children_launch_as(ctx, a->buffer, a->function ? a->function : 1, &launch,
                                 a->stream));
}

static void do_LaunchDeviceV2(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        void *buffer;
        uint64_t stream;
    } *a = arguments;
    give(ctx, results, exec_children_launch(ctx, a->buffer, a->stream));
}

static void do_DeviceSynchronize(struct exec_ctx *ctx, const void *arguments, void *results)
{
    (void)arguments;
    give(ctx, results, exec_children_synchronize(ctx));
}

// ---------------------------------------------------------------- errors and queries

static void do_GetLastError(struct exec_ctx *ctx, const void *arguments, void *results)
{
    (void)arguments;
    int32_t error = (int32_t)exec_children_error(ctx, true);
    memcpy(results, &error, sizeof error);
}

static void do_PeekAtLastError(struct exec_ctx *ctx, const void *arguments, void *results)
{
    (void)arguments;
    int32_t error = (int32_t)exec_children_error(ctx, false);
    memcpy(results, &error, sizeof error);
}

static void give_text(struct exec_ctx *ctx, const void *arguments, void *results, bool name)
{
    int32_t error;
    memcpy(&error, arguments, sizeof error);
    const char *text = module_of(ctx)->error_text((cudaError_t)error, name);
    memcpy(results, &text, sizeof text);
}

static void do_GetErrorString(struct exec_ctx *ctx, const void *arguments, void *results)
{
    give_text(ctx, arguments, results, false);
}

static void do_GetErrorName(struct exec_ctx *ctx, const void *arguments, void *results)
{
    give_text(ctx, arguments, results, true);
}

// The pointer that most queries have as their only argument.
static void *pointer(const void *arguments)
{
    void *p;
    memcpy(&p, arguments, sizeof p);
    return p;
}

static void give_int(struct exec_ctx *ctx, const void *arguments, void *results, int value)
{
    int *to = pointer(arguments);
    if (to) {
        *to = value;
    }
    give(ctx, results, to ? cudaSuccess : cudaErrorInvalidValue);
}

static void do_GetDeviceCount(struct exec_ctx *ctx, const void *arguments, void *results)
{
    give_int(ctx, arguments, results, module_of(ctx)->device_count());
}

static void do_GetDevice(struct exec_ctx *ctx, const void *arguments, void *results)
{
    give_int(ctx, arguments, results, ctx->block->grid->device->ordinal);
}

static void do_DeviceGetCacheConfig(struct exec_ctx *ctx, const void *arguments, void *results)
{
    give_int(ctx, arguments, results, cudaFuncCachePreferNone);
}

static void do_DeviceGetSharedMemConfig(struct exec_ctx *ctx, const void *arguments, void *results)
{
    give_int(ctx, arguments, results, cudaSharedMemBankSizeFourByte);
}

static void do_RuntimeGetVersion(struct exec_ctx *ctx, const void *arguments, void *results)
{
    give_int(ctx, arguments, results, RUNTIME_VERSION);
}

static void do_DeviceGetAttribute(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        int *value;
        int32_t attribute, device;
    } *a = arguments;
    int value = 0;
    cudaError_t error =
        a->value ? module_of(ctx)->device_attribute(a->device, a->attribute, &value)
                 : cudaErrorInvalidValue;
    if (!error) {
        *a->value = value;
    }
    give(ctx, results, error);
}

static void do_DeviceGetLimit(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        size_t *value;
        int32_t limit;
    } *a = arguments;
    size_t value = 0;
    cudaError_t error = a->value ? module_of(ctx)->device_limit(ctx->block->grid->device->ordinal,
                                                                a->limit, &value)
                                 : cudaErrorInvalidValue;
    if (!error) {
        *a->value = value;
    }
    give(ctx, results, error);
}

static void do_FuncGetAttributes(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        struct cudaFuncAttributes *attributes;
        uint64_t function;
    } *a = arguments;
    struct exec_module *module = module_of(ctx);
    give(ctx, results,
         a->attributes ? module->attributes(module, a->function, a->attributes)
                       : cudaErrorInvalidValue);
}

struct occupancy {
    int *blocks;
    uint64_t function;
    int32_t block_size;
    uint64_t shared;
    uint32_t flags;
};

static void occupancy(struct exec_ctx *ctx, const struct occupancy *a, uint32_t flags,
                      void *results)
{
    struct exec_module *module = module_of(ctx);
    cudaError_t error = cudaErrorInvalidValue;
    if (a->blocks && a->block_size > 0 && flags <= 1) {
        error = module->occupancy(module, a->function, a->block_size, a->shared, a->blocks);
    }
    give(ctx, results, error);
}

static void do_OccupancyMaxActiveBlocksPerMultiprocessor(struct exec_ctx *ctx,
                                                         const void *arguments, void *results)
{
    occupancy(ctx, arguments, 0, results);
}

static void do_OccupancyMaxActiveBlocksPerMultiprocessorWithFlags(struct exec_ctx *ctx,
                                                                  const void *arguments,
                                                                  void *results)
{
    const struct occupancy *a = arguments;
    occupancy(ctx, a, a->flags, results);
}

// ---------------------------------------------------------------- streams and events

// A number for an object without state: see device_launch.h for why streams and events need none.
static void *token(void)
{
    static _Atomic uintptr_t next = 0x1000;
    return (void *)atomic_fetch_add(&next, 16);
}

static void create(struct exec_ctx *ctx, const void *arguments, void *results, uint32_t wanted)
{
    const struct {
        void **object;
        uint32_t flags;
    } *a = arguments;
    bool fine = a->object && a->flags == wanted;
    if (fine) {
        *a->object = token();
    }
    give(ctx, results, fine ? cudaSuccess : cudaErrorInvalidValue);
}

static void do_StreamCreateWithFlags(struct exec_ctx *ctx, const void *arguments, void *results)
{
    create(ctx, arguments, results, cudaStreamNonBlocking);
}

static void do_EventCreateWithFlags(struct exec_ctx *ctx, const void *arguments, void *results)
{
    create(ctx, arguments, results, cudaEventDisableTiming);
}

static void need(struct exec_ctx *ctx, const void *arguments, void *results)
{
    give(ctx, results, pointer(arguments) ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

static void do_StreamDestroy(struct exec_ctx *ctx, const void *arguments, void *results)
{
    need(ctx, arguments, results);
}

static void do_EventDestroy(struct exec_ctx *ctx, const void *arguments, void *results)
{
    need(ctx, arguments, results);
}

static void do_EventRecord(struct exec_ctx *ctx, const void *arguments, void *results)
{
    need(ctx, arguments, results);
}

static void do_EventRecordWithFlags(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        uint64_t event, stream;
        uint32_t flags;
    } *a = arguments;
    give(ctx, results,
         a->flags ? cudaErrorInvalidValue
                  : a->event ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

static void do_StreamWaitEvent(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        uint64_t stream, event;
        uint32_t flags;
    } *a = arguments;
    give(ctx, results,
         a->flags ? cudaErrorInvalidValue
                  : a->event ? cudaSuccess : cudaErrorInvalidResourceHandle);
}

// ---------------------------------------------------------------- memory

static void do_Malloc(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        void **pointer;
        uint64_t size;
    } *a = arguments;
    void *made = a->pointer ? ctx->rt->device_malloc(ctx, a->size) : NULL;
    if (made) {
        *a->pointer = made;
    }
    give(ctx, results,
         made ? cudaSuccess : a->pointer ? cudaErrorMemoryAllocation : cudaErrorInvalidValue);
}

static void do_Free(struct exec_ctx *ctx, const void *arguments, void *results)
{
    bool fine = exec_heap_free(ctx->block->grid->device->heap, pointer(arguments));
    give(ctx, results, fine ? cudaSuccess : cudaErrorInvalidValue);
}

static void copy(struct exec_ctx *ctx, const struct irtb_copy *box, int32_t kind, uint64_t stream,
                 void *results)
{
    cudaError_t error = cudaSuccess;
    if (kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
        error = cudaErrorInvalidMemcpyDirection; // kernels copy on the device only
    } else if (box->height > 1 && (box->width > box->dst_pitch || box->width > box->src_pitch)) {
        error = cudaErrorInvalidPitchValue;
    } else if (box->width && box->height && box->depth) {
        error = exec_children_copy(ctx, box, stream);
    }
    give(ctx, results, error);
}

static void do_MemcpyAsync(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        void *dst;
        const void *src;
        size_t count;
        int32_t kind;
        uint64_t stream;
    } *a = arguments;
    const struct irtb_copy box = {.dst = a->dst,
                                  .src = a->src,
                                  .width = a->count,
                                  .height = 1,
                                  .depth = 1,
                                  .kind = cudaMemcpyDeviceToDevice};
    copy(ctx, &box, a->kind, a->stream, results);
}

static void do_Memcpy2DAsync(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        void *dst;
        size_t dst_pitch;
        const void *src;
        size_t src_pitch, width, height;
        int32_t kind;
        uint64_t stream;
    } *a = arguments;
    const struct irtb_copy box = {.dst = a->dst,
                                  .src = a->src,
                                  .width = a->width,
                                  .height = a->height,
                                  .depth = 1,
                                  .dst_pitch = a->dst_pitch,
                                  .src_pitch = a->src_pitch,
                                  .kind = cudaMemcpyDeviceToDevice};
    copy(ctx, &box, a->kind, a->stream, results);
}

static char *corner(const struct cudaPitchedPtr *object, const struct cudaPos *pos)
{
    return (char *)object->ptr + (pos->z * object->ysize + pos->y) * object->pitch + pos->x;
}

static void do_Memcpy3DAsync(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        const struct cudaMemcpy3DParms *parms;
        uint64_t stream;
    } *a = arguments;
    const struct cudaMemcpy3DParms *p = a->parms;
    if (!p || p->srcArray || p->dstArray) { // device code has no arrays to copy
        give(ctx, results, cudaErrorInvalidValue);
        return;
    }
    const struct irtb_copy box = {.dst = corner(&p->dstPtr, &p->dstPos),
                                  .src = corner(&p->srcPtr, &p->srcPos),
                                  .width = p->extent.width,
                                  .height = p->extent.height,
                                  .depth = p->extent.depth,
                                  .dst_pitch = p->dstPtr.pitch,
                                  .src_pitch = p->srcPtr.pitch,
                                  .dst_slice = p->dstPtr.pitch * p->dstPtr.ysize,
                                  .src_slice = p->srcPtr.pitch * p->srcPtr.ysize,
                                  .kind = cudaMemcpyDeviceToDevice};
    copy(ctx, &box, p->kind, a->stream, results);
}

static void fill(struct exec_ctx *ctx, const struct irtb_fill *box, uint64_t stream, void *results)
{
    cudaError_t error = cudaSuccess;
    if (box->width && box->height && box->depth) {
        error = exec_children_fill(ctx, box, stream);
    }
    give(ctx, results, error);
}

static void do_MemsetAsync(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        void *dst;
        int32_t value;
        size_t count;
        uint64_t stream;
    } *a = arguments;
    const struct irtb_fill box = {.dst = a->dst,
                                  .value = (uint8_t)a->value,
                                  .element_size = 1,
                                  .width = a->count,
                                  .height = 1,
                                  .depth = 1};
    fill(ctx, &box, a->stream, results);
}

static void do_Memset2DAsync(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        void *dst;
        size_t pitch;
        int32_t value;
        size_t width, height;
        uint64_t stream;
    } *a = arguments;
    const struct irtb_fill box = {.dst = a->dst,
                                  .value = (uint8_t)a->value,
                                  .element_size = 1,
                                  .width = a->width,
                                  .height = a->height,
                                  .depth = 1,
                                  .pitch = a->pitch};
    fill(ctx, &box, a->stream, results);
}

static void do_Memset3DAsync(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        struct cudaPitchedPtr object;
        int32_t value;
        struct cudaExtent extent;
        uint64_t stream;
    } *a = arguments;
    const struct irtb_fill box = {.dst = a->object.ptr,
                                  .value = (uint8_t)a->value,
                                  .element_size = 1,
                                  .width = a->extent.width,
                                  .height = a->extent.height,
                                  .depth = a->extent.depth,
                                  .pitch = a->object.pitch,
                                  .slice = a->object.pitch * a->object.ysize};
    fill(ctx, &box, a->stream, results);
}

// ---------------------------------------------------------------- graphs

static void do_GraphSetConditional(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        uint64_t handle;
        uint32_t value;
    } *a = arguments;
    (void)results; // there is none
    if (!exec_graph_set_condition(ctx->block->grid->launch->graph, a->handle, a->value)) {
        exec_fault_leave(cudaErrorLaunchFailure,
                         "cudaGraphSetConditional: %#llx is no handle of the running graph",
                         (unsigned long long)a->handle);
    }
}

static void do_GraphLaunch(struct exec_ctx *ctx, const void *arguments, void *results)
{
    const struct {
        uint64_t graph, stream;
    } *a = arguments;
    give(ctx, results, exec_graph_device_launch(ctx->block->grid->launch->graph, a->graph,
                                                a->stream));
}

void exec_device_call(struct exec_ctx *ctx, uint32_t function, const void *arguments, void *results)
{
    static const device_function functions[EXEC_DEVICE_API_COUNT] = {
#define DEVICE_API(name) do_##name,
#include "../device_api.def"
#undef DEVICE_API
    };
    functions[function](ctx, arguments, results);
}
