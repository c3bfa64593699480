// SPDX-License-Identifier: Apache-2.0
//
// What arrays there can be: channel formats, shapes, and the limits of a device, as
// cudaMalloc3DArray and cudaMallocMipmappedArray list them. Called by array.c and texture.c.
#include "shim/core/api_rules.h"
#include "shim/image/array.h"
#include "shim/dispatch/backend.h"

// ---- formats ----

static bool bits_are(const struct cudaChannelFormatDesc *desc, int x, int y, int z, int w)
{
    return desc->x == x && desc->y == y && desc->z == z && desc->w == w;
}

// 1, 2 or 4 equal channels of one of the widths.
static bool bits_are_plain(const struct cudaChannelFormatDesc *desc, bool floating)
{
    int x = desc->x;
    return ((x == 8 && !floating) || x == 16 || x == 32) &&
           (bits_are(desc, x, 0, 0, 0) || bits_are(desc, x, x, 0, 0) || bits_are(desc, x, x, x, x));
}

enum irt_format_class irt_format_class(const struct cudaChannelFormatDesc *desc)
{
    // Kinds that say the channels, with what channel_descriptor.h gives for them.
    static const struct {
        enum cudaChannelFormatKind kind;
        unsigned char bits[4];
        enum irt_format_class class;
    } rows[] = {
        {cudaChannelFormatKindNV12, {8, 8, 8, 0}, IRT_FORMAT_PLANAR},
        {cudaChannelFormatKindUnsignedNormalized8X1, {8, 0, 0, 0}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindUnsignedNormalized8X2, {8, 8, 0, 0}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindUnsignedNormalized8X4, {8, 8, 8, 8}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindUnsignedNormalized16X1, {16, 0, 0, 0}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindUnsignedNormalized16X2, {16, 16, 0, 0}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindUnsignedNormalized16X4, {16, 16, 16, 16}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindSignedNormalized8X1, {8, 0, 0, 0}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindSignedNormalized8X2, {8, 8, 0, 0}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindSignedNormalized8X4, {8, 8, 8, 8}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindSignedNormalized16X1, {16, 0, 0, 0}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindSignedNormalized16X2, {16, 16, 0, 0}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindSignedNormalized16X4, {16, 16, 16, 16}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindUnsignedNormalized1010102, {10, 10, 10, 2}, IRT_FORMAT_NORMALIZED},
        {cudaChannelFormatKindUnsignedBlockCompressed1, {8, 8, 8, 8}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed1SRGB, {8, 8, 8, 8}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed2, {8, 8, 8, 8}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed2SRGB, {8, 8, 8, 8}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed3, {8, 8, 8, 8}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed3SRGB, {8, 8, 8, 8}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed4, {8, 0, 0, 0}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindSignedBlockCompressed4, {8, 0, 0, 0}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed5, {8, 8, 0, 0}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindSignedBlockCompressed5, {8, 8, 0, 0}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed6H, {16, 16, 16, 0}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindSignedBlockCompressed6H, {16, 16, 16, 0}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed7, {8, 8, 8, 8}, IRT_FORMAT_COMPRESSED},
        {cudaChannelFormatKindUnsignedBlockCompressed7SRGB, {8, 8, 8, 8}, IRT_FORMAT_COMPRESSED},
    };
    if (desc->f == cudaChannelFormatKindSigned || desc->f == cudaChannelFormatKindUnsigned) {
        return bits_are_plain(desc, false) ? IRT_FORMAT_INTEGER : IRT_FORMAT_INVALID;
    }
    if (desc->f == cudaChannelFormatKindFloat) {
        return bits_are_plain(desc, true) ? IRT_FORMAT_FLOAT : IRT_FORMAT_INVALID;
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].kind == desc->f) {
            const unsigned char *bits = rows[i].bits;
            return bits_are(desc, bits[0], bits[1], bits[2], bits[3]) ? rows[i].class
                                                                      : IRT_FORMAT_INVALID;
        }
    }
    return IRT_FORMAT_INVALID;
}

size_t irt_format_size(const struct cudaChannelFormatDesc *desc)
{
    return (size_t)(desc->x + desc->y + desc->z + desc->w) / 8;
}

// ---- shapes and limits ----

// What the extents and flags ask for. False when they fit no shape.
static bool shape_of(const struct cudaExtent *extent, unsigned flags, enum irt_array_shape *ret)
{
    bool layered = flags & cudaArrayLayered;
    bool cubemap = flags & cudaArrayCubemap;
    bool tall = extent->height > 0;
    bool deep = extent->depth > 0;
    if (extent->width == 0) {
        return false;
    }
    if (cubemap) {
        *ret = layered ? IRT_SHAPE_CUBEMAP_LAYERED : IRT_SHAPE_CUBEMAP;
        return tall && deep && extent->width == extent->height &&
               (layered ? extent->depth % 6 == 0 : extent->depth == 6);
    }
    if (layered) {
        *ret = tall ? IRT_SHAPE_2D_LAYERED : IRT_SHAPE_1D_LAYERED;
        return deep;
    }
    *ret = deep ? IRT_SHAPE_3D : tall ? IRT_SHAPE_2D : IRT_SHAPE_1D;
    return tall || !deep;
}

static bool fits(const struct cudaExtent *extent, int width, int height, int depth)
{
    return extent->width <= (size_t)width && extent->height <= (size_t)height &&
           extent->depth <= (size_t)depth;
}

// The table of cudaMalloc3DArray and cudaMallocMipmappedArray.
static bool fits_texture(const struct cudaDeviceProp *p, const struct cudaExtent *e,
                         enum irt_array_shape shape, bool mipmapped)
{
    switch (shape) {
    case IRT_SHAPE_1D:
        return fits(e, mipmapped ? p->maxTexture1DMipmap : p->maxTexture1D, 0, 0);
    case IRT_SHAPE_2D:
        return mipmapped ? fits(e, p->maxTexture2DMipmap[0], p->maxTexture2DMipmap[1], 0)
                         : fits(e, p->maxTexture2D[0], p->maxTexture2D[1], 0);
    case IRT_SHAPE_3D:
        return fits(e, p->maxTexture3D[0], p->maxTexture3D[1], p->maxTexture3D[2]) ||
               fits(e, p->maxTexture3DAlt[0], p->maxTexture3DAlt[1], p->maxTexture3DAlt[2]);
    case IRT_SHAPE_1D_LAYERED:
        return fits(e, p->maxTexture1DLayered[0], 0, p->maxTexture1DLayered[1]);
    case IRT_SHAPE_2D_LAYERED:
        return fits(e, p->maxTexture2DLayered[0], p->maxTexture2DLayered[1],
                    p->maxTexture2DLayered[2]);
    case IRT_SHAPE_CUBEMAP:
        return fits(e, p->maxTextureCubemap, p->maxTextureCubemap, 6);
    case IRT_SHAPE_CUBEMAP_LAYERED:
        return fits(e, p->maxTextureCubemapLayered[0], p->maxTextureCubemapLayered[0],
                    p->maxTextureCubemapLayered[1]);
    }
    return false;
}

static bool fits_surface(const struct cudaDeviceProp *p, const struct cudaExtent *e,
                         enum irt_array_shape shape)
{
    switch (shape) {
    case IRT_SHAPE_1D:
        return fits(e, p->maxSurface1D, 0, 0);
    case IRT_SHAPE_2D:
        return fits(e, p->maxSurface2D[0], p->maxSurface2D[1], 0);
    case IRT_SHAPE_3D:
        return fits(e, p->maxSurface3D[0], p->maxSurface3D[1], p->maxSurface3D[2]);
    case IRT_SHAPE_1D_LAYERED:
        return fits(e, p->maxSurface1DLayered[0], 0, p->maxSurface1DLayered[1]);
    case IRT_SHAPE_2D_LAYERED:
        return fits(e, p->maxSurface2DLayered[0], p->maxSurface2DLayered[1],
                    p->maxSurface2DLayered[2]);
    case IRT_SHAPE_CUBEMAP:
        return fits(e, p->maxSurfaceCubemap, p->maxSurfaceCubemap, 6);
    case IRT_SHAPE_CUBEMAP_LAYERED:
        return fits(e, p->maxSurfaceCubemapLayered[0], p->maxSurfaceCubemapLayered[0],
                    p->maxSurfaceCubemapLayered[1]);
    }
    return false;
}

// Flags that an allocation may have; ColorAttachment only says how a graphics API uses the array.
enum {
    ARRAY_FLAGS = cudaArrayLayered | cudaArrayCubemap | cudaArraySurfaceLoadStore |
                  cudaArrayTextureGather | cudaArrayColorAttachment | cudaArraySparse |
                  cudaArrayDeferredMapping
};

cudaError_t irt_array_check(const struct cudaChannelFormatDesc *desc,
                            const struct cudaExtent *extent, unsigned flags, bool mipmapped,
                            enum irt_array_shape *ret_shape)
{
    const struct cudaDeviceProp *p = &irt_device_current()->info.prop;
    enum irt_format_class class = irt_format_class(desc);
    if (class == IRT_FORMAT_INVALID) {
        return cudaErrorInvalidChannelDescriptor;
    }
    if ((flags & ~(unsigned)ARRAY_FLAGS) || !shape_of(extent, flags, ret_shape)) {
        return cudaErrorInvalidValue;
    }
    if (!irt_backend()->array_create) {
        return irt_unsupported("CUDA arrays");
    }
    enum irt_array_shape shape = *ret_shape;
    bool surface = flags & cudaArraySurfaceLoadStore;
    bool gather = flags & cudaArrayTextureGather;
    if (!fits_texture(p, extent, shape, mipmapped) ||
        (surface && !fits_surface(p, extent, shape))) {
        return cudaErrorInvalidValue;
    }
    // "Texture gather can only be performed on 2D CUDA arrays."
    if (gather && (shape != IRT_SHAPE_2D ||
                   !fits(extent, p->maxTexture2DGather[0], p->maxTexture2DGather[1], 0))) {
        return cudaErrorInvalidValue;
    }
    bool flat = shape == IRT_SHAPE_1D || shape == IRT_SHAPE_1D_LAYERED;
    if (class == IRT_FORMAT_COMPRESSED && (flat || surface)) {
        return cudaErrorInvalidValue;
    }
    // The second plane is half as wide and as high.
    if (class == IRT_FORMAT_PLANAR &&
        (shape != IRT_SHAPE_2D || mipmapped || extent->width % 2 || extent->height % 2)) {
        return cudaErrorInvalidValue;
    }
    if (flags & cudaArraySparse) {
        return irt_unsupported("cudaArraySparse");
    }
    if (flags & cudaArrayDeferredMapping) {
        return irt_unsupported("cudaArrayDeferredMapping");
    }
    return cudaSuccess;
}
