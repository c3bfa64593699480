// SPDX-License-Identifier: Apache-2.0
//
// Copies to, from and between CUDA arrays: the 2D functions and the deprecated linear ones, whose
// bytes run on from row to row. Everything becomes boxes for copy.c; the 3D functions are in box.c.
#include "irt_core.h"
#include "shim/image/array.h"
#include "shim/core/copy.h"

enum side { FROM_ARRAY, TO_ARRAY };

// Kinds whose array side is the device. Source: as for symbols, an array is never on the host.
static cudaError_t check_kind(enum cudaMemcpyKind kind, enum side side)
{
    enum cudaMemcpyKind host = side == TO_ARRAY ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    return kind == host || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault
               ? cudaSuccess
               : cudaErrorInvalidMemcpyDirection;
}

// A region that is given in bytes and rows of the first slice. Offset and width must be whole
// elements.
static cudaError_t region_2d(cudaArray_const_t array, size_t w_offset, size_t h_offset,
                             size_t width, size_t height, struct irt_array_region *ret_region)
{
    static const struct cudaPos origin;
    static const struct cudaExtent nothing;
    struct irt_array_region whole;
    cudaError_t error = irt_array_region(array, &origin, &nothing, &whole);
    if (error) {
        return error;
    }
    if (w_offset % whole.element_size || width % whole.element_size) {
        return cudaErrorInvalidValue;
    }
    const struct cudaPos pos = {.x = w_offset / whole.element_size, .y = h_offset};
    const struct cudaExtent extent = {
        .width = width / whole.element_size, .height = height, .depth = 1};
    return irt_array_region(array, &pos, &extent, ret_region);
}

// ---- two dimensions ----

static cudaError_t copy_2d(cudaArray_const_t array, size_t w_offset, size_t h_offset, void *dst,
                           const void *src, size_t pitch, size_t width, size_t height,
                           enum cudaMemcpyKind kind, cudaStream_t stream, enum irt_copy_mode mode)
{
    enum side side = src ? TO_ARRAY : FROM_ARRAY;
    cudaError_t error = check_kind(kind, side);
    if (error) {
        return error;
    }
    if (pitch == 0 && height <= 1) { // one row needs none: volumeRender of cuda-samples has none
        pitch = width;
    }
    if (width > pitch || pitch > irt_device_current()->info.prop.memPitch) {
        return cudaErrorInvalidPitchValue;
    }
    struct irt_array_region region;
    error = region_2d(array, w_offset, h_offset, width, height, &region);
    if (error) {
        return error;
    }
    struct irtb_copy box = {.dst = side == TO_ARRAY ? region.start : dst,
                            .src = side == TO_ARRAY ? src : region.start,
                            .width = width,
                            .height = height,
                            .depth = 1,
                            .dst_pitch = side == TO_ARRAY ? region.pitch : pitch,
                            .src_pitch = side == TO_ARRAY ? pitch : region.pitch};
    return irt_copy_run(&box, kind, stream, mode);
}

static cudaError_t to_array_2d(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                               size_t spitch, size_t width, size_t height, enum cudaMemcpyKind kind,
                               cudaStream_t stream, enum irt_copy_mode mode)
{
    return src ? copy_2d(dst, wOffset, hOffset, NULL, src, spitch, width, height, kind, stream,
                         mode)
               : cudaErrorInvalidValue;
}

static cudaError_t from_array_2d(void *dst, size_t dpitch, cudaArray_const_t src, size_t wOffset,
                                 size_t hOffset, size_t width, size_t height,
                                 enum cudaMemcpyKind kind, cudaStream_t stream,
                                 enum irt_copy_mode mode)
{
    return dst ? copy_2d(src, wOffset, hOffset, dst, NULL, dpitch, width, height, kind, stream,
                         mode)
               : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaMemcpy2DToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                         const void *src, size_t spitch, size_t width,
                                         size_t height, enum cudaMemcpyKind kind,
                                         cudaStream_t default_stream)
{
    return to_array_2d(dst, wOffset, hOffset, src, spitch, width, height, kind, default_stream,
                       IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                              const void *src, size_t spitch, size_t width,
                                              size_t height, enum cudaMemcpyKind kind,
                                              cudaStream_t stream)
{
    return to_array_2d(dst, wOffset, hOffset, src, spitch, width, height, kind, stream,
                       IRT_COPY_ASYNC);
}

cudaError_t irt_core_cudaMemcpy2DFromArray(void *dst, size_t dpitch, cudaArray_const_t src,
                                           size_t wOffset, size_t hOffset, size_t width,
                                           size_t height, enum cudaMemcpyKind kind,
                                           cudaStream_t default_stream)
{
    return from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height, kind, default_stream,
                         IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemcpy2DFromArrayAsync(void *dst, size_t dpitch, cudaArray_const_t src,
                                                size_t wOffset, size_t hOffset, size_t width,
                                                size_t height, enum cudaMemcpyKind kind,
                                                cudaStream_t stream)
{
    return from_array_2d(dst, dpitch, src, wOffset, hOffset, width, height, kind, stream,
                         IRT_COPY_ASYNC);
}

// Both sides are on the device whatever the kind says; it must only be one.
cudaError_t irt_core_cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                              cudaArray_const_t src, size_t wOffsetSrc,
                                              size_t hOffsetSrc, size_t width, size_t height,
                                              enum cudaMemcpyKind kind, cudaStream_t default_stream)
{
    struct irt_array_region to;
    struct irt_array_region from;
    cudaError_t error = irt_copy_check_kind(kind);
    if (!error) {
        error = region_2d(dst, wOffsetDst, hOffsetDst, width, height, &to);
    }
    if (!error) {
        error = region_2d(src, wOffsetSrc, hOffsetSrc, width, height, &from);
    }
    if (!error && to.element_size != from.element_size) {
        error = cudaErrorInvalidValue;
    }
    if (error) {
        return error;
    }
    struct irtb_copy box = {.dst = to.start,
                            .src = from.start,
                            .width = width,
                            .height = height,
                            .depth = 1,
                            .dst_pitch = to.pitch,
                            .src_pitch = from.pitch};
    return irt_copy_run(&box, cudaMemcpyDeviceToDevice, default_stream, IRT_COPY_BLOCKING);
}

// ---- bytes that run on from row to row (deprecated) ----

// The bytes of an array's first slice in order: where the next one is.
struct cursor {
    char *rows; // start of row 0; of a side that is no array the next byte
    size_t pitch;
    size_t width; // bytes of a row; 0: no array
    size_t x, y;  // bytes, rows
};

static struct cursor linear(const void *ptr)
{
    return (struct cursor){.rows = (char *)ptr};
}

// `count` bytes from the offsets on; they may run over several rows, but not over the last one.
static cudaError_t cursor_in(cudaArray_const_t handle, size_t w_offset, size_t h_offset,
                             size_t count, struct cursor *ret_cursor)
{
    struct irt_array *array;
    cudaError_t error = irt_array_get(handle, &array);
    if (error) {
        return error;
    }
    const struct irtb_array_view *v = &array->view;
    size_t width = v->width * v->element_size;
    if (!v->base || w_offset % v->element_size || count % v->element_size || w_offset > width ||
        h_offset > v->height || (h_offset == v->height && (count || w_offset)) ||
        count > (v->height - h_offset) * width - w_offset) {
        error = cudaErrorInvalidValue;
    } else {
        *ret_cursor = (struct cursor){
            .rows = v->base, .pitch = v->row_pitch, .width = width, .x = w_offset, .y = h_offset};
    }
    irt_array_put(handle);
    return error;
}

// Bytes that lie in one piece at the cursor.
static size_t run_of(struct cursor *c, size_t left)
{
    if (c->width && c->x == c->width) {
        c->x = 0;
        c->y++;
    }
    size_t run = c->width ? c->width - c->x : left;
    return run < left ? run : left;
}

static char *at(const struct cursor *c)
{
    return c->width ? c->rows + c->y * c->pitch + c->x : c->rows;
}

static void advance(struct cursor *c, size_t bytes)
{
    if (c->width) {
        c->x += bytes % c->width;
        c->y += bytes / c->width;
    } else {
        c->rows += bytes;
    }
}

static size_t pitch_of(const struct cursor *c, size_t width)
{
    return c->width ? c->pitch : width;
}

// As many whole rows at once as both sides have, else the piece that lies together in both.
static size_t next_box(struct cursor *dst, struct cursor *src, size_t left, struct irtb_copy *box)
{
    size_t dst_run = run_of(dst, left);
    size_t src_run = run_of(src, left);
    size_t width = dst_run < src_run ? dst_run : src_run;
    size_t rows = 1;
    if ((!dst->width || width == dst->width) && (!src->width || width == src->width)) {
        rows = left / width;
    }
    *box = (struct irtb_copy){.dst = at(dst),
                              .src = at(src),
                              .width = width,
                              .height = rows,
                              .depth = 1,
                              .dst_pitch = pitch_of(dst, width),
                              .src_pitch = pitch_of(src, width)};
    return width * rows;
}

// Checks every piece before the first one is enqueued.
static cudaError_t copy_run(struct cursor dst, struct cursor src, size_t count,
                            enum cudaMemcpyKind kind, cudaStream_t stream, enum irt_copy_mode mode)
{
    const enum irt_copy_mode passes[] = {IRT_COPY_CHECK, mode};
    cudaError_t error = cudaSuccess;
    for (int pass = 0; pass < 2 && !error; pass++) {
        struct cursor to = dst;
        struct cursor from = src;
        for (size_t left = count; left && !error;) {
            struct irtb_copy box;
            size_t bytes = next_box(&to, &from, left, &box);
            error = irt_copy_run(&box, kind, stream, passes[pass]);
            advance(&to, bytes);
            advance(&from, bytes);
            left -= bytes;
        }
    }
    if (!error && !count) { // still answers for a stream that does not exist
        static const struct irtb_copy nothing;
        error = irt_copy_run(&nothing, kind, stream, mode);
    }
    return error;
}

static cudaError_t to_array(cudaArray_t dst, size_t wOffset, size_t hOffset, const void *src,
                            size_t count, enum cudaMemcpyKind kind, cudaStream_t stream,
                            enum irt_copy_mode mode)
{
    struct cursor to;
    cudaError_t error = check_kind(kind, TO_ARRAY);
    if (!error) {
        error = src ? cursor_in(dst, wOffset, hOffset, count, &to) : cudaErrorInvalidValue;
    }
    return error ? error : copy_run(to, linear(src), count, kind, stream, mode);
}

static cudaError_t from_array(void *dst, cudaArray_const_t src, size_t wOffset, size_t hOffset,
                              size_t count, enum cudaMemcpyKind kind, cudaStream_t stream,
                              enum irt_copy_mode mode)
{
    struct cursor from;
    cudaError_t error = check_kind(kind, FROM_ARRAY);
    if (!error) {
        error = dst ? cursor_in(src, wOffset, hOffset, count, &from) : cudaErrorInvalidValue;
    }
    return error ? error : copy_run(linear(dst), from, count, kind, stream, mode);
}

cudaError_t irt_core_cudaMemcpyToArray(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                       const void *src, size_t count, enum cudaMemcpyKind kind,
                                       cudaStream_t default_stream)
{
    return to_array(dst, wOffset, hOffset, src, count, kind, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemcpyToArrayAsync(cudaArray_t dst, size_t wOffset, size_t hOffset,
                                            const void *src, size_t count, enum cudaMemcpyKind kind,
                                            cudaStream_t stream)
{
    return to_array(dst, wOffset, hOffset, src, count, kind, stream, IRT_COPY_ASYNC);
}

cudaError_t irt_core_cudaMemcpyFromArray(void *dst, cudaArray_const_t src, size_t wOffset,
                                         size_t hOffset, size_t count, enum cudaMemcpyKind kind,
                                         cudaStream_t default_stream)
{
    return from_array(dst, src, wOffset, hOffset, count, kind, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemcpyFromArrayAsync(void *dst, cudaArray_const_t src, size_t wOffset,
                                              size_t hOffset, size_t count,
                                              enum cudaMemcpyKind kind, cudaStream_t stream)
{
    return from_array(dst, src, wOffset, hOffset, count, kind, stream, IRT_COPY_ASYNC);
}

cudaError_t irt_core_cudaMemcpyArrayToArray(cudaArray_t dst, size_t wOffsetDst, size_t hOffsetDst,
                                            cudaArray_const_t src, size_t wOffsetSrc,
                                            size_t hOffsetSrc, size_t count,
                                            enum cudaMemcpyKind kind, cudaStream_t default_stream)
{
    struct cursor to;
    struct cursor from;
    cudaError_t error = irt_copy_check_kind(kind);
    if (!error) {
        error = cursor_in(dst, wOffsetDst, hOffsetDst, count, &to);
    }
    if (!error) {
        error = cursor_in(src, wOffsetSrc, hOffsetSrc, count, &from);
    }
    return error ? error
                 : copy_run(to, from, count, cudaMemcpyDeviceToDevice, default_stream,
                            IRT_COPY_BLOCKING);
}
