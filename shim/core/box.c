// SPDX-License-Identifier: Apache-2.0
//
// Pitched copies and fills: the 2D and 3D functions, turned into boxes after their checks. The
// functions with an array in their name are in array_copy.c.
#include <stdint.h>

#include "irt_core.h"
#include "shim/image/array.h"
#include "shim/core/copy.h"
#include "shim/core/device.h"

static size_t max_pitch(void)
{
    return irt_device_current()->info.prop.memPitch;
}

// ---- two dimensions ----

static cudaError_t copy_2d(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                           size_t height, enum cudaMemcpyKind kind, cudaStream_t stream,
                           enum irt_copy_mode mode)
{
    cudaError_t error = irt_copy_check_kind(kind);
    if (error) {
        return error;
    }
    if (width > dpitch || width > spitch || dpitch > max_pitch() || spitch > max_pitch()) {
        return cudaErrorInvalidPitchValue;
    }
    struct irtb_copy box = {.dst = dst,
                            .src = src,
                            .width = width,
                            .height = height,
                            .depth = 1,
                            .dst_pitch = dpitch,
                            .src_pitch = spitch};
    return irt_copy_run(&box, kind, stream, mode);
}

cudaError_t irt_core_cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch,
                                  size_t width, size_t height, enum cudaMemcpyKind kind,
                                  cudaStream_t default_stream)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, default_stream,
                   IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                                       size_t width, size_t height, enum cudaMemcpyKind kind,
                                       cudaStream_t stream)
{
    return copy_2d(dst, dpitch, src, spitch, width, height, kind, stream, IRT_COPY_ASYNC);
}

static cudaError_t fill_2d(void *devPtr, size_t pitch, int value, size_t width, size_t height,
                           cudaStream_t stream, enum irt_copy_mode mode)
{
    if (height > 1 && (width > pitch || pitch > max_pitch())) {
        return cudaErrorInvalidValue;
    }
    struct irtb_fill fill = {.dst = devPtr,
                             .value = (unsigned char)value,
                             .element_size = 1,
                             .width = width,
                             .height = height,
                             .depth = 1,
                             .pitch = pitch};
    return irt_fill_run(&fill, stream, mode);
}

cudaError_t irt_core_cudaMemset2D(void *devPtr, size_t pitch, int value, size_t width,
                                  size_t height, cudaStream_t default_stream)
{
    return fill_2d(devPtr, pitch, value, width, height, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemset2DAsync(void *devPtr, size_t pitch, int value, size_t width,
                                       size_t height, cudaStream_t stream)
{
    return fill_2d(devPtr, pitch, value, width, height, stream, IRT_COPY_ASYNC);
}

// ---- three dimensions ----

// One side of a 3D copy: the address of the first byte and the distance of slices. The object must
// contain the region; the pitch counts only when there is more than one row.
static cudaError_t locate(const struct cudaPitchedPtr *object, const struct cudaPos *pos,
                          const struct cudaExtent *extent, char **ret_start, size_t *ret_slice)
{
    bool rows = extent->height > 1 || extent->depth > 1 || pos->y > 0 || pos->z > 0;
    bool slices = extent->depth > 1 || pos->z > 0;
    size_t end;
    size_t slice = 0;
    size_t offset_y = 0;
    size_t offset_z = 0;
    if (__builtin_add_overflow(pos->x, extent->width, &end) ||
        (rows && (end > object->pitch || object->pitch > max_pitch()))) {
        return cudaErrorInvalidPitchValue;
    }
    if (slices && (pos->y > object->ysize || extent->height > object->ysize - pos->y)) {
        return cudaErrorInvalidValue;
    }
    if (rows && __builtin_mul_overflow(pos->y, object->pitch, &offset_y)) {
        return cudaErrorInvalidValue;
    }
    if (slices && (__builtin_mul_overflow(object->pitch, object->ysize, &slice) ||
                   __builtin_mul_overflow(pos->z, slice, &offset_z))) {
        return cudaErrorInvalidValue;
    }
    size_t offset;
    if (__builtin_add_overflow(offset_y, offset_z, &offset) ||
        __builtin_add_overflow(offset, pos->x, &offset) || offset > PTRDIFF_MAX ||
        offset > UINTPTR_MAX - (uintptr_t)object->ptr) {
        return cudaErrorInvalidValue;
    }
    *ret_start = (char *)object->ptr + offset;
    *ret_slice = slice;
    return cudaSuccess;
}

// "If the kind implies cudaArray type to be present on the host, cudaMemcpy3D() will disregard that
// implication and silently correct the kind".
static enum cudaMemcpyKind kind_with_arrays(const struct cudaMemcpy3DParms *p)
{
    bool from_host = p->kind == cudaMemcpyHostToHost || p->kind == cudaMemcpyHostToDevice;
    bool to_host = p->kind == cudaMemcpyHostToHost || p->kind == cudaMemcpyDeviceToHost;
    if (p->kind == cudaMemcpyDefault) {
        return p->kind;
    }
    from_host = from_host && !p->srcArray;
    to_host = to_host && !p->dstArray;
    return from_host ? to_host ? cudaMemcpyHostToHost : cudaMemcpyHostToDevice
           : to_host ? cudaMemcpyDeviceToHost
                     : cudaMemcpyDeviceToDevice;
}

// The source and destination of a copy with at least one array; box->width becomes bytes.
static cudaError_t locate_arrays(const struct cudaMemcpy3DParms *p, struct irtb_copy *box)
{
    struct irt_array_region dst = {0};
    struct irt_array_region src = {0};
    cudaError_t error = cudaSuccess;
    if (p->dstArray) {
        error = irt_array_region(p->dstArray, &p->dstPos, &p->extent, &dst);
    }
    if (!error && p->srcArray) {
        error = irt_array_region(p->srcArray, &p->srcPos, &p->extent, &src);
    }
    if (error) {
        return error;
    }
    size_t element_size = dst.start ? dst.element_size : src.element_size;
    if (src.start && src.element_size != element_size) {
        return cudaErrorInvalidValue;
    }
    // "If a CUDA array is participating in the copy, the extent is defined in terms of that array's
    // elements"; positions in linear memory stay bytes.
    struct cudaExtent bytes = p->extent;
    bytes.width *= element_size;
    if (!dst.start) {
        error = locate(&p->dstPtr, &p->dstPos, &bytes, &dst.start, &dst.slice);
        dst.pitch = p->dstPtr.pitch;
    } else if (!src.start) {
        error = locate(&p->srcPtr, &p->srcPos, &bytes, &src.start, &src.slice);
        src.pitch = p->srcPtr.pitch;
    }
    *box = (struct irtb_copy){.dst = dst.start,
                              .src = src.start,
                              .width = bytes.width,
                              .height = bytes.height,
                              .depth = bytes.depth,
                              .dst_pitch = dst.pitch,
                              .src_pitch = src.pitch,
                              .dst_slice = dst.slice,
                              .src_slice = src.slice};
    return error;
}

static cudaError_t locate_memory(const struct cudaMemcpy3DParms *p, struct irtb_copy *box)
{
    char *dst;
    char *src;
    size_t dst_slice;
    size_t src_slice;
    cudaError_t error = locate(&p->dstPtr, &p->dstPos, &p->extent, &dst, &dst_slice);
    if (!error) {
        error = locate(&p->srcPtr, &p->srcPos, &p->extent, &src, &src_slice);
    }
    if (error) {
        return error;
    }
    *box = (struct irtb_copy){.dst = dst,
                              .src = src,
                              .width = p->extent.width,
                              .height = p->extent.height,
                              .depth = p->extent.depth,
                              .dst_pitch = p->dstPtr.pitch,
                              .src_pitch = p->srcPtr.pitch,
                              .dst_slice = dst_slice,
                              .src_slice = src_slice};
    return cudaSuccess;
}

cudaError_t irt_copy_describe_3d(const struct cudaMemcpy3DParms *p, struct irtb_copy *ret_box,
                                 enum cudaMemcpyKind *ret_kind)
{
    struct irtb_copy box = {0};
    if (!p) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_copy_check_kind(p->kind);
    if (error) {
        return error;
    }
    if ((p->srcArray && p->srcPtr.ptr) || (p->dstArray && p->dstPtr.ptr)) {
        return cudaErrorInvalidValue;
    }
    const struct cudaExtent *extent = &p->extent;
    bool empty = extent->width == 0 || extent->height == 0 || extent->depth == 0;
    if (!empty && ((!p->srcArray && !p->srcPtr.ptr) || (!p->dstArray && !p->dstPtr.ptr))) {
        return cudaErrorInvalidValue;
    }
    if (!empty) {
        error = p->srcArray || p->dstArray ? locate_arrays(p, &box) : locate_memory(p, &box);
    }
    if (!error) {
        *ret_box = box;
        *ret_kind = p->srcArray || p->dstArray ? kind_with_arrays(p) : p->kind;
    }
    return error;
}

cudaError_t irt_copy_run_3d(const struct cudaMemcpy3DParms *p, cudaStream_t stream,
                            enum irt_copy_mode mode)
{
    struct irtb_copy box;
    enum cudaMemcpyKind kind;
    cudaError_t error = irt_copy_describe_3d(p, &box, &kind);
    return error ? error : irt_copy_run(&box, kind, stream, mode);
}

cudaError_t irt_core_cudaMemcpy3D(const struct cudaMemcpy3DParms *p, cudaStream_t default_stream)
{
    return irt_copy_run_3d(p, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemcpy3DAsync(const struct cudaMemcpy3DParms *p, cudaStream_t stream)
{
    return irt_copy_run_3d(p, stream, IRT_COPY_ASYNC);
}

static struct cudaMemcpy3DParms without_devices(const struct cudaMemcpy3DPeerParms *p)
{
    return (struct cudaMemcpy3DParms){.srcArray = p->srcArray,
                                      .srcPos = p->srcPos,
                                      .srcPtr = p->srcPtr,
                                      .dstArray = p->dstArray,
                                      .dstPos = p->dstPos,
                                      .dstPtr = p->dstPtr,
                                      .extent = p->extent,
                                      .kind = cudaMemcpyDefault};
}

cudaError_t irt_core_cudaMemcpy3DPeer(const struct cudaMemcpy3DPeerParms *p,
                                      cudaStream_t default_stream)
{
    if (!p) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_copy_drain_peers(p->dstDevice, p->srcDevice);
    if (error) {
        return error;
    }
    struct cudaMemcpy3DParms parms = without_devices(p);
    error = irt_copy_run_3d(&parms, default_stream, IRT_COPY_BLOCKING);
    return error ? error : irt_copy_finish(default_stream);
}

cudaError_t irt_core_cudaMemcpy3DPeerAsync(const struct cudaMemcpy3DPeerParms *p,
                                           cudaStream_t stream)
{
    if (!p) {
        return cudaErrorInvalidValue;
    }
    if (!irt_device_at(p->dstDevice) || !irt_device_at(p->srcDevice)) {
        return cudaErrorInvalidDevice;
    }
    struct cudaMemcpy3DParms parms = without_devices(p);
    return irt_copy_run_3d(&parms, stream, IRT_COPY_ASYNC);
}

static cudaError_t fill_3d(const struct cudaPitchedPtr *object, int value,
                           const struct cudaExtent *extent, cudaStream_t stream,
                           enum irt_copy_mode mode)
{
    static const struct cudaPos origin;
    char *start;
    size_t slice;
    if (extent->width == 0 || extent->height == 0 || extent->depth == 0) {
        return cudaSuccess;
    }
    cudaError_t error = locate(object, &origin, extent, &start, &slice);
    if (error) {
        return cudaErrorInvalidValue;
    }
    struct irtb_fill fill = {.dst = start,
                             .value = (unsigned char)value,
                             .element_size = 1,
                             .width = extent->width,
                             .height = extent->height,
                             .depth = extent->depth,
                             .pitch = object->pitch,
                             .slice = slice};
    return irt_fill_run(&fill, stream, mode);
}

cudaError_t irt_core_cudaMemset3D(struct cudaPitchedPtr pitchedDevPtr, int value,
                                  struct cudaExtent extent, cudaStream_t default_stream)
{
    return fill_3d(&pitchedDevPtr, value, &extent, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemset3DAsync(struct cudaPitchedPtr pitchedDevPtr, int value,
                                       struct cudaExtent extent, cudaStream_t stream)
{
    return fill_3d(&pitchedDevPtr, value, &extent, stream, IRT_COPY_ASYNC);
}
