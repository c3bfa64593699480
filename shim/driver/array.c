// SPDX-License-Identifier: Apache-2.0
//
// CUDA arrays, copies with them, texture and surface objects of the driver API. The objects are the
// runtime's (shim/image/array.h, texture.h); here its structures are turned into them. Formats that
// only decoders and compressed textures use are answered with 801. Source: CUDA Driver API, "Memory
// Management", "Texture Object Management", "Surface Object Management".
#include "shim/driver/array.h"

#include <stdint.h>
#include <string.h>

#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/image/array.h"
#include "shim/driver/driver.h"

// ---- formats ----

static const struct {
    CUarray_format format;
    int bits; // of a channel
    enum cudaChannelFormatKind kind;
    unsigned channels; // 0: 1, 2 or 4
} formats[] = {
    {CU_AD_FORMAT_UNSIGNED_INT8, 8, cudaChannelFormatKindUnsigned, 0},
    {CU_AD_FORMAT_UNSIGNED_INT16, 16, cudaChannelFormatKindUnsigned, 0},
    {CU_AD_FORMAT_UNSIGNED_INT32, 32, cudaChannelFormatKindUnsigned, 0},
    {CU_AD_FORMAT_SIGNED_INT8, 8, cudaChannelFormatKindSigned, 0},
    {CU_AD_FORMAT_SIGNED_INT16, 16, cudaChannelFormatKindSigned, 0},
    {CU_AD_FORMAT_SIGNED_INT32, 32, cudaChannelFormatKindSigned, 0},
    {CU_AD_FORMAT_HALF, 16, cudaChannelFormatKindFloat, 0},
    {CU_AD_FORMAT_FLOAT, 32, cudaChannelFormatKindFloat, 0},
    {CU_AD_FORMAT_UNORM_INT8X1, 8, cudaChannelFormatKindUnsignedNormalized8X1, 1},
    {CU_AD_FORMAT_UNORM_INT8X2, 8, cudaChannelFormatKindUnsignedNormalized8X2, 2},
    {CU_AD_FORMAT_UNORM_INT8X4, 8, cudaChannelFormatKindUnsignedNormalized8X4, 4},
    {CU_AD_FORMAT_UNORM_INT16X1, 16, cudaChannelFormatKindUnsignedNormalized16X1, 1},
    {CU_AD_FORMAT_UNORM_INT16X2, 16, cudaChannelFormatKindUnsignedNormalized16X2, 2},
    {CU_AD_FORMAT_UNORM_INT16X4, 16, cudaChannelFormatKindUnsignedNormalized16X4, 4},
    {CU_AD_FORMAT_SNORM_INT8X1, 8, cudaChannelFormatKindSignedNormalized8X1, 1},
    {CU_AD_FORMAT_SNORM_INT8X2, 8, cudaChannelFormatKindSignedNormalized8X2, 2},
    {CU_AD_FORMAT_SNORM_INT8X4, 8, cudaChannelFormatKindSignedNormalized8X4, 4},
    {CU_AD_FORMAT_SNORM_INT16X1, 16, cudaChannelFormatKindSignedNormalized16X1, 1},
    {CU_AD_FORMAT_SNORM_INT16X2, 16, cudaChannelFormatKindSignedNormalized16X2, 2},
    {CU_AD_FORMAT_SNORM_INT16X4, 16, cudaChannelFormatKindSignedNormalized16X4, 4},
};

enum { FORMATS = sizeof formats / sizeof *formats };

static cudaError_t channel_desc(CUarray_format format, unsigned channels,
                                struct cudaChannelFormatDesc *ret_desc)
{
    for (unsigned i = 0; i < FORMATS; i++) {
        if (formats[i].format != format) {
            continue;
        }
        if (formats[i].channels ? channels != formats[i].channels
                                : channels != 1 && channels != 2 && channels != 4) {
            return cudaErrorInvalidValue;
        }
        int bits = formats[i].bits;
        *ret_desc =
            (struct cudaChannelFormatDesc){bits, channels > 1 ? bits : 0, channels > 2 ? bits : 0,
                                           channels > 3 ? bits : 0, formats[i].kind};
        return cudaSuccess;
    }
    return (unsigned)format > 0 && (unsigned)format <= 0xff
               ? irt_unsupported("an array of a compressed, planar or packed format")
               : cudaErrorInvalidValue;
}

// False for a format that has no name here.
static bool array_format(const struct cudaChannelFormatDesc *desc, CUarray_format *ret_format,
                         unsigned *ret_channels)
{
    unsigned channels = (desc->x > 0) + (desc->y > 0) + (desc->z > 0) + (desc->w > 0);
    for (unsigned i = 0; i < FORMATS; i++) {
        if (formats[i].kind == desc->f && formats[i].bits == desc->x &&
            (!formats[i].channels || formats[i].channels == channels)) {
            *ret_format = formats[i].format;
            *ret_channels = channels;
            return true;
        }
    }
    return false;
}

// ---- arrays ----

cudaError_t irt_driver_cuArray3DCreate_v2(CUarray *pHandle,
                                          const CUDA_ARRAY3D_DESCRIPTOR *pAllocateArray)
{
    struct cudaChannelFormatDesc desc;
    const unsigned known = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                           CUDA_ARRAY3D_TEXTURE_GATHER;
    if (!pHandle || !pAllocateArray) {
        return cudaErrorInvalidValue;
    }
    if (pAllocateArray->Flags & ~known) {
        return irt_unsupported("an array for graphics, video or with sparse storage");
    }
    cudaError_t e = channel_desc(pAllocateArray->Format, pAllocateArray->NumChannels, &desc);
    // The flags have the same bits in both APIs.
    const struct cudaExtent extent = {pAllocateArray->Width, pAllocateArray->Height,
                                      pAllocateArray->Depth};
    return e ? e
             : irt_core_cudaMalloc3DArray((cudaArray_t *)pHandle, &desc, extent,
                                          pAllocateArray->Flags);
}

cudaError_t irt_driver_cuArrayCreate_v2(CUarray *pHandle,
                                        const CUDA_ARRAY_DESCRIPTOR *pAllocateArray)
{
    if (!pAllocateArray) {
        return cudaErrorInvalidValue;
    }
    const CUDA_ARRAY3D_DESCRIPTOR whole = {.Width = pAllocateArray->Width,
                                           .Height = pAllocateArray->Height,
                                           .Format = pAllocateArray->Format,
                                           .NumChannels = pAllocateArray->NumChannels};
    return irt_driver_cuArray3DCreate_v2(pHandle, &whole);
}

cudaError_t irt_driver_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *pArrayDescriptor,
                                                 CUarray hArray)
{
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent;
    unsigned flags;
    CUDA_ARRAY3D_DESCRIPTOR got;
    if (!pArrayDescriptor) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_core_cudaArrayGetInfo(&desc, &extent, &flags, (cudaArray_t)hArray);
    if (e) {
        return e;
    }
    if (!array_format(&desc, &got.Format, &got.NumChannels)) {
        return irt_unsupported("the description of an array of a compressed or planar format");
    }
    got.Width = extent.width;
    got.Height = extent.height;
    got.Depth = extent.depth;
    got.Flags = flags;
    *pArrayDescriptor = got;
    return cudaSuccess;
}

cudaError_t irt_driver_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *pArrayDescriptor,
                                               CUarray hArray)
{
    CUDA_ARRAY3D_DESCRIPTOR whole;
    if (!pArrayDescriptor) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_cuArray3DGetDescriptor_v2(&whole, hArray);
    if (!e) {
        *pArrayDescriptor = (CUDA_ARRAY_DESCRIPTOR){.Width = whole.Width,
                                                    .Height = whole.Height,
                                                    .Format = whole.Format,
                                                    .NumChannels = whole.NumChannels};
    }
    return e;
}

cudaError_t irt_driver_cuMipmappedArrayCreate(CUmipmappedArray *pHandle,
                                              const CUDA_ARRAY3D_DESCRIPTOR *pMipmappedArrayDesc,
                                              unsigned int numMipmapLevels)
{
    struct cudaChannelFormatDesc desc;
    if (!pHandle || !pMipmappedArrayDesc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e =
        channel_desc(pMipmappedArrayDesc->Format, pMipmappedArrayDesc->NumChannels, &desc);
    const struct cudaExtent extent = {pMipmappedArrayDesc->Width, pMipmappedArrayDesc->Height,
                                      pMipmappedArrayDesc->Depth};
    return e ? e
             : irt_core_cudaMallocMipmappedArray((cudaMipmappedArray_t *)pHandle, &desc, extent,
                                                 numMipmapLevels, pMipmappedArrayDesc->Flags);
}

// ---- copies ----

// One side of a copy, as both sides are described.
struct side {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, lod, pitch, height; // x and pitch in bytes
};

struct placed {
    struct cudaPitchedPtr ptr;
    cudaArray_t array;
    struct cudaPos pos;
};

// Bytes of an element of the array of a side; 1 without an array.
static cudaError_t element_of(const struct side *side, size_t *ret_size)
{
    struct cudaChannelFormatDesc desc;
    *ret_size = 1;
    if (side->type != CU_MEMORYTYPE_ARRAY) {
        return cudaSuccess;
    }
    cudaError_t e = irt_core_cudaArrayGetInfo(&desc, NULL, NULL, (cudaArray_t)side->array);
    if (e) {
        return e;
    }
    *ret_size = irt_format_size(&desc);
    return *ret_size ? cudaSuccess : irt_unsupported("a copy of a compressed or planar array");
}

static cudaError_t place(const struct side *side, size_t width, size_t height,
                         struct placed *ret_placed)
{
    size_t element;
    size_t pitch = side->pitch ? side->pitch : width + side->x;
    size_t rows = side->height ? side->height : height + side->y;
    cudaError_t e = element_of(side, &element);
    if (e) {
        return e;
    }
    memset(ret_placed, 0, sizeof *ret_placed);
    if (side->lod || side->x % element || width % element) {
        return cudaErrorInvalidValue;
    }
    ret_placed->pos = (struct cudaPos){side->x / element, side->y, side->z};
    switch (side->type) {
    case CU_MEMORYTYPE_ARRAY:
        ret_placed->array = (cudaArray_t)side->array;
        return cudaSuccess;
    case CU_MEMORYTYPE_HOST:
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        if (width + side->x > pitch || height + side->y > rows) {
            return cudaErrorInvalidValue;
        }
        ret_placed->ptr = (struct cudaPitchedPtr){
            .ptr = side->type == CU_MEMORYTYPE_HOST ? (void *)(uintptr_t)side->host
                                                    : (void *)(uintptr_t)side->device,
            .pitch = pitch,
            .xsize = pitch,
            .ysize = rows,
        };
        return cudaSuccess;
    }
    return cudaErrorInvalidValue;
}

static enum cudaMemcpyKind kind_of(CUmemorytype dst, CUmemorytype src)
{
    if (dst == CU_MEMORYTYPE_UNIFIED || src == CU_MEMORYTYPE_UNIFIED) {
        return cudaMemcpyDefault;
    }
    if (dst == CU_MEMORYTYPE_HOST) {
        return src == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
    }
    return src == CU_MEMORYTYPE_HOST ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToDevice;
}

cudaError_t irt_driver_copy_3d(const CUDA_MEMCPY3D *copy, cudaStream_t stream,
                               enum irt_copy_mode mode)
{
    struct placed dst;
    struct placed src;
    size_t dst_element;
    size_t src_element;
    if (!copy) {
        return cudaErrorInvalidValue;
    }
    const struct side to = {copy->dstMemoryType, copy->dstHost,  copy->dstDevice, copy->dstArray,
                            copy->dstXInBytes,   copy->dstY,     copy->dstZ,      copy->dstLOD,
                            copy->dstPitch,      copy->dstHeight};
    const struct side from = {copy->srcMemoryType, copy->srcHost,  copy->srcDevice, copy->srcArray,
                              copy->srcXInBytes,   copy->srcY,     copy->srcZ,      copy->srcLOD,
                              copy->srcPitch,      copy->srcHeight};
    cudaError_t e = place(&to, copy->WidthInBytes, copy->Height, &dst);
    if (!e) {
        e = place(&from, copy->WidthInBytes, copy->Height, &src);
    }
    if (!e) {
        e = element_of(&to, &dst_element);
    }
    if (!e) {
        e = element_of(&from, &src_element);
    }
    if (e) {
        return e;
    }
    // The width counts in elements of the array where there is one.
    const size_t element = dst.array ? dst_element : src_element;
    const struct cudaMemcpy3DParms params = {
        .srcArray = src.array,
        .srcPos = src.pos,
        .srcPtr = src.ptr,
        .dstArray = dst.array,
        .dstPos = dst.pos,
        .dstPtr = dst.ptr,
        .extent = {copy->WidthInBytes / element, copy->Height, copy->Depth},
        .kind = kind_of(copy->dstMemoryType, copy->srcMemoryType),
    };
    return irt_copy_run_3d(&params, stream, mode);
}

cudaError_t irt_driver_cuMemcpy3D_v2(const CUDA_MEMCPY3D *pCopy, cudaStream_t default_stream)
{
    return irt_driver_copy_3d(pCopy, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *pCopy, CUstream hStream)
{
    return irt_driver_copy_3d(pCopy, hStream, IRT_COPY_ASYNC);
}

// A part of a row of an array, from or to somewhere else.
static cudaError_t copy_row(CUDA_MEMCPY3D copy, size_t count, cudaStream_t stream,
                            enum irt_copy_mode mode)
{
    copy.WidthInBytes = count;
    copy.Height = copy.Depth = 1;
    return irt_driver_copy_3d(&copy, stream, mode);
}

#define TO_ARRAY(array_, offset_) \
    .dstMemoryType = CU_MEMORYTYPE_ARRAY, .dstArray = (array_), .dstXInBytes = (offset_)
#define FROM_ARRAY(array_, offset_) \
    .srcMemoryType = CU_MEMORYTYPE_ARRAY, .srcArray = (array_), .srcXInBytes = (offset_)
#define TO_HOST(host_) .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = (host_)
#define FROM_HOST(host_) .srcMemoryType = CU_MEMORYTYPE_HOST, .srcHost = (host_)
#define TO_DEVICE(device_) .dstMemoryType = CU_MEMORYTYPE_DEVICE, .dstDevice = (device_)
#define FROM_DEVICE(device_) .srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = (device_)

cudaError_t irt_driver_cuMemcpyHtoA_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                       size_t ByteCount, cudaStream_t default_stream)
{
    return copy_row((CUDA_MEMCPY3D){TO_ARRAY(dstArray, dstOffset), FROM_HOST(srcHost)}, ByteCount,
                    default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemcpyAtoH_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                       size_t ByteCount, cudaStream_t default_stream)
{
    return copy_row((CUDA_MEMCPY3D){TO_HOST(dstHost), FROM_ARRAY(srcArray, srcOffset)}, ByteCount,
                    default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemcpyDtoA_v2(CUarray dstArray, size_t dstOffset, CUdeviceptr srcDevice,
                                       size_t ByteCount, cudaStream_t default_stream)
{
    return copy_row((CUDA_MEMCPY3D){TO_ARRAY(dstArray, dstOffset), FROM_DEVICE(srcDevice)},
                    ByteCount, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemcpyAtoD_v2(CUdeviceptr dstDevice, CUarray srcArray, size_t srcOffset,
                                       size_t ByteCount, cudaStream_t default_stream)
{
    return copy_row((CUDA_MEMCPY3D){TO_DEVICE(dstDevice), FROM_ARRAY(srcArray, srcOffset)},
                    ByteCount, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemcpyAtoA_v2(CUarray dstArray, size_t dstOffset, CUarray srcArray,
                                       size_t srcOffset, size_t ByteCount,
                                       cudaStream_t default_stream)
{
    return copy_row((CUDA_MEMCPY3D){TO_ARRAY(dstArray, dstOffset), FROM_ARRAY(srcArray, srcOffset)},
                    ByteCount, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemcpyHtoAAsync_v2(CUarray dstArray, size_t dstOffset, const void *srcHost,
                                            size_t ByteCount, CUstream hStream)
{
    return copy_row((CUDA_MEMCPY3D){TO_ARRAY(dstArray, dstOffset), FROM_HOST(srcHost)}, ByteCount,
                    hStream, IRT_COPY_ASYNC);
}

cudaError_t irt_driver_cuMemcpyAtoHAsync_v2(void *dstHost, CUarray srcArray, size_t srcOffset,
                                            size_t ByteCount, CUstream hStream)
{
    return copy_row((CUDA_MEMCPY3D){TO_HOST(dstHost), FROM_ARRAY(srcArray, srcOffset)}, ByteCount,
                    hStream, IRT_COPY_ASYNC);
}

// ---- textures and surfaces ----

static cudaError_t resource_desc(const CUDA_RESOURCE_DESC *in, struct cudaResourceDesc *out)
{
    cudaError_t e = cudaSuccess;
    if (!in || in->flags) {
        return cudaErrorInvalidValue;
    }
    memset(out, 0, sizeof *out);
    switch (in->resType) {
    case CU_RESOURCE_TYPE_ARRAY:
        out->resType = cudaResourceTypeArray;
        out->res.array.array = (cudaArray_t)in->res.array.hArray;
        return cudaSuccess;
    case CU_RESOURCE_TYPE_MIPMAPPED_ARRAY:
        out->resType = cudaResourceTypeMipmappedArray;
        out->res.mipmap.mipmap = (cudaMipmappedArray_t)in->res.mipmap.hMipmappedArray;
        return cudaSuccess;
    case CU_RESOURCE_TYPE_LINEAR:
        out->resType = cudaResourceTypeLinear;
        out->res.linear.devPtr = (void *)(uintptr_t)in->res.linear.devPtr;
        out->res.linear.sizeInBytes = in->res.linear.sizeInBytes;
        return channel_desc(in->res.linear.format, in->res.linear.numChannels,
                            &out->res.linear.desc);
    case CU_RESOURCE_TYPE_PITCH2D:
        out->resType = cudaResourceTypePitch2D;
        out->res.pitch2D.devPtr = (void *)(uintptr_t)in->res.pitch2D.devPtr;
        out->res.pitch2D.width = in->res.pitch2D.width;
        out->res.pitch2D.height = in->res.pitch2D.height;
        out->res.pitch2D.pitchInBytes = in->res.pitch2D.pitchInBytes;
        e = channel_desc(in->res.pitch2D.format, in->res.pitch2D.numChannels,
                         &out->res.pitch2D.desc);
        return e;
    }
    return cudaErrorInvalidValue;
}

// The channels of what a texture reads.
static cudaError_t resource_channels(const struct cudaResourceDesc *resource,
                                     struct cudaChannelFormatDesc *ret_desc)
{
    cudaArray_t level;
    cudaError_t e;
    switch (resource->resType) {
    case cudaResourceTypeArray:
        return irt_core_cudaArrayGetInfo(ret_desc, NULL, NULL, resource->res.array.array);
    case cudaResourceTypeMipmappedArray:
        e = irt_core_cudaGetMipmappedArrayLevel(&level, resource->res.mipmap.mipmap, 0);
        return e ? e : irt_core_cudaArrayGetInfo(ret_desc, NULL, NULL, level);
    case cudaResourceTypeLinear:
        *ret_desc = resource->res.linear.desc;
        return cudaSuccess;
    default:
        *ret_desc = resource->res.pitch2D.desc;
        return cudaSuccess;
    }
}

static cudaError_t texture_desc(const CUDA_TEXTURE_DESC *in,
                                const struct cudaResourceDesc *resource,
                                struct cudaTextureDesc *out)
{
    struct cudaChannelFormatDesc channels;
    const unsigned known = CU_TRSF_READ_AS_INTEGER | CU_TRSF_NORMALIZED_COORDINATES | CU_TRSF_SRGB |
                           CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION | CU_TRSF_SEAMLESS_CUBEMAP;
    if (!in || (in->flags & ~known)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = resource_channels(resource, &channels);
    if (e) {
        return e;
    }
    // Without READ_AS_INTEGER, integers of up to 16 bits are read as fractions; others as they are.
    bool small = (channels.f == cudaChannelFormatKindSigned ||
                  channels.f == cudaChannelFormatKindUnsigned) &&
                 channels.x <= 16;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < 3; i++) {
        out->addressMode[i] = (enum cudaTextureAddressMode)in->addressMode[i];
    }
    out->filterMode = (enum cudaTextureFilterMode)in->filterMode;
    out->readMode = small && !(in->flags & CU_TRSF_READ_AS_INTEGER) ? cudaReadModeNormalizedFloat
                                                                    : cudaReadModeElementType;
    out->sRGB = (in->flags & CU_TRSF_SRGB) != 0;
    memcpy(out->borderColor, in->borderColor, sizeof out->borderColor);
    out->normalizedCoords = (in->flags & CU_TRSF_NORMALIZED_COORDINATES) != 0;
    out->maxAnisotropy = in->maxAnisotropy;
    out->mipmapFilterMode = (enum cudaTextureFilterMode)in->mipmapFilterMode;
    out->mipmapLevelBias = in->mipmapLevelBias;
    out->minMipmapLevelClamp = in->minMipmapLevelClamp;
    out->maxMipmapLevelClamp = in->maxMipmapLevelClamp;
    out->disableTrilinearOptimization = (in->flags & CU_TRSF_DISABLE_TRILINEAR_OPTIMIZATION) != 0;
    out->seamlessCubemap = (in->flags & CU_TRSF_SEAMLESS_CUBEMAP) != 0;
    return cudaSuccess;
}

cudaError_t irt_driver_cuTexObjectCreate(CUtexObject *pTexObject,
                                         const CUDA_RESOURCE_DESC *pResDesc,
                                         const CUDA_TEXTURE_DESC *pTexDesc,
                                         const CUDA_RESOURCE_VIEW_DESC *pResViewDesc)
{
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
    if (!pTexObject) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = resource_desc(pResDesc, &resource);
    if (!e) {
        e = texture_desc(pTexDesc, &resource, &texture);
    }
    if (e) {
        return e;
    }
    if (pResViewDesc) {
        memset(&view, 0, sizeof view);
        view.format = (enum cudaResourceViewFormat)pResViewDesc->format;
        view.width = pResViewDesc->width;
        view.height = pResViewDesc->height;
        view.depth = pResViewDesc->depth;
        view.firstMipmapLevel = pResViewDesc->firstMipmapLevel;
        view.lastMipmapLevel = pResViewDesc->lastMipmapLevel;
        view.firstLayer = pResViewDesc->firstLayer;
        view.lastLayer = pResViewDesc->lastLayer;
    }
    cudaTextureObject_t object;
    e = irt_core_cudaCreateTextureObject(&object, &resource, &texture, pResViewDesc ? &view : NULL);
    if (!e) {
        *pTexObject = object;
    }
    return e;
}

cudaError_t irt_driver_cuSurfObjectCreate(CUsurfObject *pSurfObject,
                                          const CUDA_RESOURCE_DESC *pResDesc)
{
    struct cudaResourceDesc resource;
    cudaSurfaceObject_t object;
    if (!pSurfObject) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = resource_desc(pResDesc, &resource);
    if (!e) {
        e = irt_core_cudaCreateSurfaceObject(&object, &resource);
    }
    if (!e) {
        *pSurfObject = object;
    }
    return e;
}
