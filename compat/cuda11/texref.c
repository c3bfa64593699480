// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface references, which CUDA 12 dropped: the program's structs turned into the
// descriptors of texture objects when something is bound. Called by the generated wrappers only.
// Source: CUDA Runtime API 11.8, "Texture Reference Management [DEPRECATED]".
#include <limits.h>
#include <stdint.h>

#include "irt_compat11.h"
#include "irt_core.h"
#include "shim/core/memory.h"
#include "shim/image/array.h"
#include "shim/image/texref.h"

// NOLINTBEGIN(readability-non-const-parameter): the prototypes are NVIDIA's

// nvcc's stubs pass the name in the device code where the prototype says address, and the C++ name
// ("::ns::tex") as the name. Source: crt/host_runtime.h of 11.8.
static const char *code_name(const void **deviceAddress, const char *deviceName)
{
    return deviceAddress ? (const char *)deviceAddress : deviceName;
}

void irt_compat11___cudaRegisterTexture(void **fatCubinHandle,
                                        const struct irt11_textureReference *hostVar,
                                        const void **deviceAddress, const char *deviceName, int dim,
                                        int norm, int ext)
{
    // The dimensions are those of what is bound.
    (void)dim, (void)ext;
    irt_texref_register(fatCubinHandle, hostVar, code_name(deviceAddress, deviceName),
                        IRT_REFERENCE_TEXTURE, norm != 0);
}

void irt_compat11___cudaRegisterSurface(void **fatCubinHandle,
                                        const struct irt11_surfaceReference *hostVar,
                                        const void **deviceAddress, const char *deviceName, int dim,
                                        int ext)
{
    (void)dim, (void)ext;
    irt_texref_register(fatCubinHandle, hostVar, code_name(deviceAddress, deviceName),
                        IRT_REFERENCE_SURFACE, false);
}

// NOLINTEND(readability-non-const-parameter)

// How the reference samples now. cudaErrorInvalidTexture.
static cudaError_t sampling(const struct irt11_textureReference *texref,
                            struct cudaTextureDesc *ret_desc)
{
    bool normalized_read;
    cudaError_t error = irt_texref_check(texref, IRT_REFERENCE_TEXTURE, &normalized_read);
    if (error) {
        return error;
    }
    *ret_desc = (struct cudaTextureDesc){
        .addressMode = {texref->addressMode[0], texref->addressMode[1], texref->addressMode[2]},
        .filterMode = texref->filterMode,
        .readMode = normalized_read ? cudaReadModeNormalizedFloat : cudaReadModeElementType,
        .sRGB = texref->sRGB,
        .normalizedCoords = texref->normalized,
        .maxAnisotropy = texref->maxAnisotropy,
        .mipmapFilterMode = texref->mipmapFilterMode,
        .mipmapLevelBias = texref->mipmapLevelBias,
        .minMipmapLevelClamp = texref->minMipmapLevelClamp,
        .maxMipmapLevelClamp = texref->maxMipmapLevelClamp,
        .disableTrilinearOptimization = texref->disableTrilinearOptimization,
    };
    return cudaSuccess;
}

// Bytes from the last address that a texture may start at; an offset is only allowed when the
// caller wants to know it.
static cudaError_t align(const void *ptr, const size_t *ret_offset, size_t *offset)
{
    *offset = (uintptr_t)ptr % irt_device_current()->info.prop.textureAlignment;
    return *offset && !ret_offset ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t irt_compat11_cudaBindTexture(size_t *offset,
                                         const struct irt11_textureReference *texref,
                                         const void *devPtr,
                                         const struct cudaChannelFormatDesc *desc, size_t size)
{
    struct cudaTextureDesc texture;
    size_t skipped;
    if (!desc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = sampling(texref, &texture);
    if (!error) {
        error = align(devPtr, offset, &skipped);
    }
    if (error) {
        return error;
    }
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeLinear};
    resource.res.linear.devPtr = (char *)devPtr - skipped;
    resource.res.linear.desc = *desc;
    resource.res.linear.sizeInBytes = size > SIZE_MAX - skipped ? SIZE_MAX : size + skipped;
    error = irt_texref_bind(texref, &resource, &texture, skipped);
    if (!error && offset) {
        *offset = skipped;
    }
    return error;
}

cudaError_t irt_compat11_cudaBindTexture2D(size_t *offset,
                                           const struct irt11_textureReference *texref,
                                           const void *devPtr,
                                           const struct cudaChannelFormatDesc *desc, size_t width,
                                           size_t height, size_t pitch)
{
    struct cudaTextureDesc texture;
    size_t skipped;
    if (!desc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = sampling(texref, &texture);
    if (!error) {
        error = align(devPtr, offset, &skipped);
    }
    if (!error && irt_format_class(desc) == IRT_FORMAT_INVALID) {
        error = cudaErrorInvalidChannelDescriptor;
    }
    if (error) {
        return error;
    }
    // Fetches add the offset to x.
    struct cudaResourceDesc resource = {.resType = cudaResourceTypePitch2D};
    resource.res.pitch2D.devPtr = (char *)devPtr - skipped;
    resource.res.pitch2D.desc = *desc;
    resource.res.pitch2D.width = width + skipped / irt_format_size(desc);
    resource.res.pitch2D.height = height;
    resource.res.pitch2D.pitchInBytes = pitch;
    error = irt_texref_bind(texref, &resource, &texture, skipped);
    if (!error && offset) {
        *offset = skipped;
    }
    return error;
}

static bool same_format(const struct cudaChannelFormatDesc *a,
                        const struct cudaChannelFormatDesc *b)
{
    return a->x == b->x && a->y == b->y && a->z == b->z && a->w == b->w && a->f == b->f;
}

cudaError_t irt_compat11_cudaBindTextureToArray(const struct irt11_textureReference *texref,
                                                cudaArray_const_t array,
                                                const struct cudaChannelFormatDesc *desc)
{
    struct cudaTextureDesc texture;
    struct cudaChannelFormatDesc own;
    cudaError_t error = desc ? sampling(texref, &texture) : cudaErrorInvalidValue;
    if (!error && irt_core_cudaGetChannelDesc(&own, array)) {
        error = cudaErrorInvalidValue;
    }
    if (!error && !same_format(&own, desc)) {
        error = cudaErrorInvalidChannelDescriptor;
    }
    if (error) {
        return error;
    }
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    resource.res.array.array = (cudaArray_t)array;
    return irt_texref_bind(texref, &resource, &texture, 0);
}

cudaError_t
irt_compat11_cudaBindTextureToMipmappedArray(const struct irt11_textureReference *texref,
                                             cudaMipmappedArray_const_t mipmappedArray,
                                             const struct cudaChannelFormatDesc *desc)
{
    struct cudaTextureDesc texture;
    struct cudaChannelFormatDesc own;
    cudaArray_t level;
    cudaError_t error = desc ? sampling(texref, &texture) : cudaErrorInvalidValue;
    if (!error && (irt_core_cudaGetMipmappedArrayLevel(&level, mipmappedArray, 0) ||
                   irt_core_cudaGetChannelDesc(&own, level))) {
        error = cudaErrorInvalidValue;
    }
    if (!error && !same_format(&own, desc)) {
        error = cudaErrorInvalidChannelDescriptor;
    }
    if (error) {
        return error;
    }
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeMipmappedArray};
    resource.res.mipmap.mipmap = (cudaMipmappedArray_t)mipmappedArray;
    return irt_texref_bind(texref, &resource, &texture, 0);
}

cudaError_t irt_compat11_cudaUnbindTexture(const struct irt11_textureReference *texref)
{
    return irt_texref_unbind(texref);
}

cudaError_t irt_compat11_cudaGetTextureAlignmentOffset(size_t *offset,
                                                       const struct irt11_textureReference *texref)
{
    return offset ? irt_texref_offset(texref, offset) : cudaErrorInvalidValue;
}

// The symbol of a reference is the reference.
cudaError_t irt_compat11_cudaGetTextureReference(const struct irt11_textureReference **texref,
                                                 const void *symbol)
{
    if (!texref) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_texref_check(symbol, IRT_REFERENCE_TEXTURE, NULL);
    if (!error) {
        *texref = symbol;
    }
    return error;
}

cudaError_t irt_compat11_cudaBindSurfaceToArray(const struct irt11_surfaceReference *surfref,
                                                cudaArray_const_t array,
                                                const struct cudaChannelFormatDesc *desc)
{
    struct cudaChannelFormatDesc own;
    unsigned flags = 0;
    cudaError_t error =
        desc ? irt_texref_check(surfref, IRT_REFERENCE_SURFACE, NULL) : cudaErrorInvalidValue;
    if (!error && irt_core_cudaArrayGetInfo(&own, NULL, &flags, (cudaArray_t)array)) {
        error = cudaErrorInvalidValue;
    }
    if (!error && !same_format(&own, desc)) {
        error = cudaErrorInvalidChannelDescriptor;
    }
    // "must be set in order to bind surfaces to the CUDA array" (driver_types.h)
    if (!error && !(flags & cudaArraySurfaceLoadStore)) {
        error = cudaErrorInvalidValue;
    }
    if (error) {
        return error;
    }
    struct cudaResourceDesc resource = {.resType = cudaResourceTypeArray};
    resource.res.array.array = (cudaArray_t)array;
    return irt_texref_bind_surface(surfref, &resource);
}

cudaError_t irt_compat11_cudaGetSurfaceReference(const struct irt11_surfaceReference **surfref,
                                                 const void *symbol)
{
    if (!surfref) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_texref_check(symbol, IRT_REFERENCE_SURFACE, NULL);
    if (!error) {
        *surfref = symbol;
    }
    return error;
}
