// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills: classification of addresses, staging of pageable sources, waiting; and the
// linear functions cudaMemcpy, cudaMemset and their asynchronous and peer forms.
#include "shim/core/copy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/memory.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"

// Staging below this size happens with the order lock of the stream held.
enum { STAGE_LOCKED_MAX = 16384 };

enum side {
    SIDE_PAGEABLE, // host memory that CUDA does not know
    SIDE_PINNED,
    SIDE_DEVICE,
    SIDE_MANAGED,
};

enum wanted { WANT_HOST, WANT_DEVICE, WANT_ANY };

struct endpoint {
    enum side side;
    int device; // of the memory, as the backend numbers it; -1: host memory
};

// ---- what an address is ----

// Bytes from the first to behind the last one of a box; false on overflow.
static bool box_extent(size_t width, size_t height, size_t depth, size_t pitch, size_t slice,
                       size_t *ret_size)
{
    size_t rows;
    size_t slices;
    return !__builtin_mul_overflow(height - 1, pitch, &rows) &&
           !__builtin_mul_overflow(depth - 1, slice, &slices) &&
           !__builtin_add_overflow(rows, slices, &rows) &&
           !__builtin_add_overflow(rows, width, ret_size);
}

// Says what [ptr, ptr+extent) is. cudaErrorInvalidValue when it is not what the kind of the copy
// wants or leaves the allocation it begins in.
static cudaError_t classify(const void *ptr, size_t extent, enum wanted wanted,
                            struct endpoint *ret_endpoint)
{
    struct irt_memory memory;
    *ret_endpoint = (struct endpoint){.side = SIDE_PAGEABLE, .device = -1};
    if (!ptr || extent - 1 > UINTPTR_MAX - (uintptr_t)ptr) {
        return cudaErrorInvalidValue;
    }
    bool known = irt_memory_find(ptr, &memory);
    if (known) {
        bool host_side = (uintptr_t)ptr - (uintptr_t)memory.start < memory.size;
        const void *start = host_side ? memory.start : memory.device_start;
        bool inside = extent <= memory.size - ((uintptr_t)ptr - (uintptr_t)start);
        inside = inside || (memory.type == IRT_MEMORY_VIRTUAL && irt_memory_mapped(ptr, extent));
        // Only a part of an application's own array may be registered.
        known = inside || memory.type != IRT_MEMORY_REGISTERED;
        if (known && !inside) {
            return cudaErrorInvalidValue;
        }
    }
    if (!known) {
        return wanted == WANT_DEVICE ? cudaErrorInvalidValue : cudaSuccess;
    }
    switch (memory.type) {
    case IRT_MEMORY_DEVICE:
    case IRT_MEMORY_POOL:
    case IRT_MEMORY_VARIABLE:
    case IRT_MEMORY_ARRAY:
    case IRT_MEMORY_VIRTUAL:
    case IRT_MEMORY_GRAPH:
    case IRT_MEMORY_SHARED:
        *ret_endpoint = (struct endpoint){.side = SIDE_DEVICE, .device = memory.device->id};
        return wanted == WANT_HOST ? cudaErrorInvalidValue : cudaSuccess;
    case IRT_MEMORY_MANAGED:
    case IRT_MEMORY_MANAGED_VARIABLE:
        *ret_endpoint = (struct endpoint){.side = SIDE_MANAGED,
                                          .device = wanted == WANT_HOST ? -1 : memory.device->id};
        return cudaSuccess;
    case IRT_MEMORY_HOST:
    case IRT_MEMORY_REGISTERED:
        *ret_endpoint = (struct endpoint){.side = SIDE_PINNED, .device = -1};
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}

cudaError_t irt_copy_check_kind(enum cudaMemcpyKind kind)
{
    return (unsigned)kind > cudaMemcpyDefault ? cudaErrorInvalidMemcpyDirection : cudaSuccess;
}

static enum wanted wanted_of(enum cudaMemcpyKind kind, bool source)
{
    switch (kind) {
    case cudaMemcpyHostToHost:
        return WANT_HOST;
    case cudaMemcpyHostToDevice:
        return source ? WANT_HOST : WANT_DEVICE;
    case cudaMemcpyDeviceToHost:
        return source ? WANT_DEVICE : WANT_HOST;
    case cudaMemcpyDeviceToDevice:
        return WANT_DEVICE;
    case cudaMemcpyDefault:
        return WANT_ANY;
    }
    return WANT_ANY;
}

static enum cudaMemcpyKind kind_of(const struct irtb_copy *box)
{
    if (box->src_device < 0) {
        return box->dst_device < 0 ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice;
    }
    return box->dst_device < 0 ? cudaMemcpyDeviceToHost : cudaMemcpyDeviceToDevice;
}

// ---- staging ----

// A packed copy of the source of `box`, which is changed to read from it. NULL without memory.
static void *stage(struct irtb_copy *box)
{
    size_t row_size = box->width;
    size_t rows = box->height * box->depth;
    char *buffer = malloc(row_size * rows);
    if (!buffer) {
        return NULL;
    }
    char *to = buffer;
    for (size_t z = 0; z < box->depth; z++) {
        const char *from = (const char *)box->src + z * box->src_slice;
        for (size_t y = 0; y < box->height; y++) {
            memcpy(to, from + y * box->src_pitch, row_size);
            to += row_size;
        }
    }
    box->src = buffer;
    box->src_pitch = row_size;
    box->src_slice = row_size * box->height;
    return buffer;
}

// ---- running ----

// A call with nothing to copy still answers for a stream that does not exist.
static cudaError_t check_stream(cudaStream_t handle)
{
    struct irt_stream *stream;
    cudaError_t error = irt_stream_get(handle, &stream);
    if (!error) {
        irt_stream_put(stream);
    }
    return error;
}

cudaError_t irt_copy_finish(cudaStream_t handle)
{
    struct irt_stream *stream;
    cudaError_t error = irt_stream_get(handle, &stream);
    if (!error) {
        error = irt_stream_wait(stream);
        irt_stream_put(stream);
    }
    return error;
}

// A source that the application may change as soon as the call returns: when the stream is busy it
// is copied aside now; when it is idle the copy itself is done now, by waiting.
static cudaError_t copy_pageable_source(struct irtb_copy *box, cudaStream_t handle)
{
    const struct irtb_backend *backend = irt_backend();
    struct irt_stream *stream;
    cudaError_t error = irt_stream_enter(handle, &stream);
    if (error) {
        return error;
    }
    error = backend->stream_query(stream->backend);
    if (error != cudaErrorNotReady) {
        if (!error) {
            error = backend->copy(stream->backend, box);
        }
        return irt_stream_leave_wait(stream, error);
    }
    void *buffer;
    if (box->width * box->height * box->depth <= STAGE_LOCKED_MAX) {
        buffer = stage(box);
    } else {
        irt_stream_end(stream);
        buffer = stage(box);
        error = irt_stream_begin(stream);
        if (error) {
            free(buffer);
            irt_stream_put(stream);
            return error;
        }
    }
    error = backend->copy(stream->backend, box);
    if (!error && buffer) {
        error = backend->host_func(stream->backend, free, buffer, true);
        if (!error) {
            return irt_stream_leave(stream, cudaSuccess);
        }
    }
    // No staging buffer, or nobody to free it: wait for what is enqueued.
    error = irt_stream_leave_wait(stream, error);
    free(buffer);
    return error;
}

static cudaError_t copy_box(struct irtb_copy *box, const struct endpoint *dst,
                            const struct endpoint *src, cudaStream_t handle,
                            enum irt_copy_mode mode)
{
    struct irt_stream *stream;
    if ((mode == IRT_COPY_ASYNC || mode == IRT_COPY_ORDERED) &&
        irt_capture_enter(handle, &stream)) {
        return irt_capture_copy(stream, box);
    }
    bool to_host = dst->side == SIDE_PAGEABLE || dst->side == SIDE_PINNED;
    bool from_host = src->side == SIDE_PAGEABLE || src->side == SIDE_PINNED;
    bool wait;
    switch (mode) {
    case IRT_COPY_ASYNC:
        if (src->side == SIDE_PAGEABLE && !to_host) {
            return copy_pageable_source(box, handle);
        }
        wait = dst->side == SIDE_PAGEABLE || (to_host && from_host);
        break;
    case IRT_COPY_ORDERED:
        wait = dst->side == SIDE_PAGEABLE;
        break;
    case IRT_COPY_TAKEN:
        if (from_host && !to_host) {
            return copy_pageable_source(box, handle);
        }
        wait = true;
        break;
    default:
        wait = dst->side != SIDE_DEVICE || src->side != SIDE_DEVICE;
        break;
    }
    cudaError_t error = irt_stream_enter(handle, &stream);
    if (error) {
        return error;
    }
    if (mode == IRT_COPY_BLOCKING && irt_device_sync_memops(stream->device)) {
        wait = true;
    }
    error = irt_backend()->copy(stream->backend, box);
    return wait ? irt_stream_leave_wait(stream, error) : irt_stream_leave(stream, error);
}

// The checks of a copy that is not empty; `copy` is the box with devices and kind.
static cudaError_t resolve(const struct irtb_copy *box, enum cudaMemcpyKind kind,
                           struct irtb_copy *copy, struct endpoint *dst, struct endpoint *src)
{
    size_t dst_extent;
    size_t src_extent;
    if (!box_extent(box->width, box->height, box->depth, box->dst_pitch, box->dst_slice,
                    &dst_extent) ||
        !box_extent(box->width, box->height, box->depth, box->src_pitch, box->src_slice,
                    &src_extent)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = classify(box->dst, dst_extent, wanted_of(kind, false), dst);
    if (!error) {
        error = classify(box->src, src_extent, wanted_of(kind, true), src);
    }
    if (!error) {
        *copy = *box;
        copy->dst_device = dst->device;
        copy->src_device = src->device;
        copy->kind = kind_of(copy);
    }
    return error;
}

cudaError_t irt_copy_resolve(const struct irtb_copy *box, enum cudaMemcpyKind kind,
                             struct irtb_copy *ret_box)
{
    struct endpoint dst;
    struct endpoint src;
    cudaError_t error = irt_copy_check_kind(kind);
    if (error) {
        return error;
    }
    if (box->width == 0 || box->height == 0 || box->depth == 0) {
        *ret_box = (struct irtb_copy){.kind = kind};
        return cudaSuccess;
    }
    return resolve(box, kind, ret_box, &dst, &src);
}

cudaError_t irt_copy_run(const struct irtb_copy *box, enum cudaMemcpyKind kind, cudaStream_t stream,
                         enum irt_copy_mode mode)
{
    cudaError_t error = irt_copy_check_kind(kind);
    if (error) {
        return error;
    }
    if (box->width == 0 || box->height == 0 || box->depth == 0) {
        return mode == IRT_COPY_CHECK ? cudaSuccess : check_stream(stream);
    }
    struct irtb_copy copy;
    struct endpoint dst;
    struct endpoint src;
    error = resolve(box, kind, &copy, &dst, &src);
    if (error || mode == IRT_COPY_CHECK) {
        return error;
    }
    return copy_box(&copy, &dst, &src, stream, mode);
}

static cudaError_t fill_target(const struct irtb_fill *fill, struct endpoint *ret_dst)
{
    size_t extent;
    size_t width;
    if (__builtin_mul_overflow(fill->width, fill->element_size, &width) ||
        !box_extent(width, fill->height, fill->depth, fill->pitch, fill->slice, &extent)) {
        return cudaErrorInvalidValue;
    }
    return classify(fill->dst, extent, WANT_DEVICE, ret_dst);
}

cudaError_t irt_fill_check(const struct irtb_fill *fill)
{
    struct endpoint dst;
    bool empty = fill->width == 0 || fill->height == 0 || fill->depth == 0;
    return empty ? cudaSuccess : fill_target(fill, &dst);
}

cudaError_t irt_fill_run(const struct irtb_fill *fill, cudaStream_t handle, enum irt_copy_mode mode)
{
    if (fill->width == 0 || fill->height == 0 || fill->depth == 0) {
        return check_stream(handle);
    }
    struct endpoint dst;
    cudaError_t error = fill_target(fill, &dst);
    struct irt_stream *stream;
    if (!error && mode == IRT_COPY_ASYNC && irt_capture_enter(handle, &stream)) {
        return irt_capture_fill(stream, fill);
    }
    if (!error) {
        error = irt_stream_enter(handle, &stream);
    }
    if (error) {
        return error;
    }
    bool wait = mode == IRT_COPY_BLOCKING &&
                (dst.side != SIDE_DEVICE || irt_device_sync_memops(stream->device));
    error = irt_backend()->fill(stream->backend, fill);
    return wait ? irt_stream_leave_wait(stream, error) : irt_stream_leave(stream, error);
}

// ---- linear functions ----

static struct irtb_copy line(void *dst, const void *src, size_t count)
{
    return (struct irtb_copy){.dst = dst,
                              .src = src,
                              .width = count,
                              .height = 1,
                              .depth = 1,
                              .dst_pitch = count,
                              .src_pitch = count,
                              .dst_slice = count,
                              .src_slice = count};
}

cudaError_t irt_core_cudaMemcpy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                                cudaStream_t default_stream)
{
    struct irtb_copy box = line(dst, src, count);
    return irt_copy_run(&box, kind, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemcpyAsync(void *dst, const void *src, size_t count,
                                     enum cudaMemcpyKind kind, cudaStream_t stream)
{
    struct irtb_copy box = line(dst, src, count);
    return irt_copy_run(&box, kind, stream, IRT_COPY_ASYNC);
}

static struct irtb_fill fill_line(void *dst, int value, size_t count)
{
    return (struct irtb_fill){.dst = dst,
                              .value = (unsigned char)value,
                              .element_size = 1,
                              .width = count,
                              .height = 1,
                              .depth = 1,
                              .pitch = count,
                              .slice = count};
}

cudaError_t irt_core_cudaMemset(void *devPtr, int value, size_t count, cudaStream_t default_stream)
{
    struct irtb_fill fill = fill_line(devPtr, value, count);
    return irt_fill_run(&fill, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemsetAsync(void *devPtr, int value, size_t count, cudaStream_t stream)
{
    struct irtb_fill fill = fill_line(devPtr, value, count);
    return irt_fill_run(&fill, stream, IRT_COPY_ASYNC);
}

// ---- between devices ----

cudaError_t irt_copy_drain_peers(int first, int second)
{
    struct irt_device *one = irt_device_at(first);
    struct irt_device *other = irt_device_at(second);
    if (!one || !other) {
        return cudaErrorInvalidDevice;
    }
    cudaError_t error = irt_device_drain(one);
    return error || one == other ? error : irt_device_drain(other);
}

cudaError_t irt_core_cudaMemcpyPeer(void *dst, int dstDevice, const void *src, int srcDevice,
                                    size_t count)
{
    // "Serialized with respect to all pending and future asynchronous work" of three devices: the
    // two others are waited for before and the copy is waited for itself.
    cudaError_t error = irt_copy_drain_peers(dstDevice, srcDevice);
    if (error) {
        return error;
    }
    struct irtb_copy box = line(dst, src, count);
    error = irt_copy_run(&box, cudaMemcpyDeviceToDevice, cudaStreamLegacy, IRT_COPY_BLOCKING);
    return error ? error : irt_copy_finish(cudaStreamLegacy);
}

cudaError_t irt_core_cudaMemcpyPeerAsync(void *dst, int dstDevice, const void *src, int srcDevice,
                                         size_t count, cudaStream_t stream)
{
    if (!irt_device_at(dstDevice) || !irt_device_at(srcDevice)) {
        return cudaErrorInvalidDevice;
    }
    struct irtb_copy box = line(dst, src, count);
    return irt_copy_run(&box, cudaMemcpyDeviceToDevice, stream, IRT_COPY_ASYNC);
}
