// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects: the checks of cudaCreateTextureObject and cudaCreateSurfaceObject,
// the table of live objects with what they were made from, and the getters. How a descriptor looks
// that kernels read is the backend's.
#include "shim/image/texture.h"

#include <stdlib.h>

#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/image/array.h"
#include "shim/core/memory.h"
#include "shim/dispatch/backend.h"

struct object {
    uint64_t value; // what the application and kernels have
    bool surface;
    bool has_view;
    struct irt_device *device;
    struct cudaResourceDesc resource;
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
    UT_hash_handle hh;
};

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_HANDLE); // guards the table
static struct object *objects;

// ---- resources ----

// What a resource is, beyond what the backend needs.
struct source {
    struct irtb_image image;
    enum irt_format_class class;
    int bits; // of a channel of the plain formats
    enum irt_array_shape shape;
    struct cudaExtent extent;
    unsigned flags;
    unsigned level_count;
};

static cudaError_t describe_array(const struct cudaResourceDesc *resource, struct source *source)
{
    struct irt_array *array;
    cudaArray_t handle = resource->res.array.array;
    if (irt_array_get(handle, &array)) {
        return cudaErrorInvalidResourceHandle;
    }
    *source = (struct source){.image = {.type = cudaResourceTypeArray,
                                        .array = array->storage,
                                        .level = array->level,
                                        .format = array->desc},
                              .class = irt_format_class(&array->desc),
                              .bits = array->desc.x,
                              .shape = array->shape,
                              .extent = array->extent,
                              .flags = array->flags,
                              .level_count = 1};
    bool usable = array->storage && array->device == irt_device_current();
    irt_array_put(handle);
    return usable ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t describe_mipmap(const struct cudaResourceDesc *resource, struct source *source)
{
    struct irt_mipmap *mipmap;
    cudaMipmappedArray_t handle = resource->res.mipmap.mipmap;
    if (irt_mipmap_get(handle, &mipmap)) {
        return cudaErrorInvalidResourceHandle;
    }
    *source = (struct source){.image = {.type = cudaResourceTypeMipmappedArray,
                                        .array = mipmap->storage,
                                        .format = mipmap->desc},
                              .class = irt_format_class(&mipmap->desc),
                              .bits = mipmap->desc.x,
                              .shape = mipmap->shape,
                              .extent = mipmap->extent,
                              .flags = mipmap->flags,
                              .level_count = mipmap->level_count};
    bool usable = mipmap->device == irt_device_current();
    irt_mipmap_put(handle);
    return usable ? cudaSuccess : cudaErrorInvalidValue;
}

// Bytes from `ptr` to the end of its allocation; 0 when kernels cannot use it.
static size_t room_at(const void *ptr)
{
    struct irt_memory memory;
    if (!ptr || !irt_memory_find(ptr, &memory) || memory.type == IRT_MEMORY_ARRAY) {
        return 0;
    }
    uintptr_t offset = (uintptr_t)ptr - (uintptr_t)memory.device_start;
    return offset < memory.size ? memory.size - offset : 0;
}

// The format and address of linear memory.
static cudaError_t check_memory(const void *ptr, const struct cudaChannelFormatDesc *desc,
                                struct source *source)
{
    const struct cudaDeviceProp *prop = &irt_device_current()->info.prop;
    source->class = irt_format_class(desc);
    source->bits = desc->x;
    if (source->class == IRT_FORMAT_INVALID || source->class == IRT_FORMAT_COMPRESSED ||
        source->class == IRT_FORMAT_PLANAR) {
        return cudaErrorInvalidChannelDescriptor;
    }
    return (uintptr_t)ptr % prop->textureAlignment || !room_at(ptr) ? cudaErrorInvalidValue
                                                                    : cudaSuccess;
}

static cudaError_t describe_linear(const struct cudaResourceDesc *resource, struct source *source)
{
    const struct cudaChannelFormatDesc *desc = &resource->res.linear.desc;
    void *ptr = resource->res.linear.devPtr;
    size_t bytes = resource->res.linear.sizeInBytes;
    *source = (struct source){.level_count = 1};
    cudaError_t error = check_memory(ptr, desc, source);
    if (error) {
        return error;
    }
    // A size that runs out of the allocation is no documented error; what is behind reads as any
    // element out of range.
    size_t room = room_at(ptr);
    size_t width = (bytes < room ? bytes : room) / irt_format_size(desc);
    size_t most;
    error =
        irt_core_cudaDeviceGetTexture1DLinearMaxWidth(&most, desc, irt_device_current()->ordinal);
    if (error) {
        return error;
    }
    if (width == 0 || width > most) {
        return cudaErrorInvalidValue;
    }
    source->image = (struct irtb_image){.type = cudaResourceTypeLinear,
                                        .ptr = ptr,
                                        .format = *desc,
                                        .width = width,
                                        .height = 1,
                                        .pitch = width * irt_format_size(desc)};
    return cudaSuccess;
}

static cudaError_t describe_pitched(const struct cudaResourceDesc *resource, struct source *source)
{
    const struct cudaDeviceProp *prop = &irt_device_current()->info.prop;
    const struct cudaChannelFormatDesc *desc = &resource->res.pitch2D.desc;
    size_t width = resource->res.pitch2D.width;
    size_t height = resource->res.pitch2D.height;
    size_t pitch = resource->res.pitch2D.pitchInBytes;
    void *ptr = resource->res.pitch2D.devPtr;
    *source = (struct source){.level_count = 1};
    cudaError_t error = check_memory(ptr, desc, source);
    if (error) {
        return error;
    }
    if (width == 0 || height == 0 || width > (size_t)prop->maxTexture2DLinear[0] ||
        height > (size_t)prop->maxTexture2DLinear[1] ||
        pitch > (size_t)prop->maxTexture2DLinear[2] || pitch % prop->texturePitchAlignment ||
        width * irt_format_size(desc) > pitch ||
        (height - 1) * pitch + width * irt_format_size(desc) > room_at(ptr)) {
        return cudaErrorInvalidValue;
    }
    source->image = (struct irtb_image){.type = cudaResourceTypePitch2D,
                                        .ptr = ptr,
                                        .format = *desc,
                                        .width = width,
                                        .height = height,
                                        .pitch = pitch};
    return cudaSuccess;
}

static cudaError_t describe(const struct cudaResourceDesc *resource, struct source *source)
{
    switch (resource->resType) {
    case cudaResourceTypeArray:
        return describe_array(resource, source);
    case cudaResourceTypeMipmappedArray:
        return describe_mipmap(resource, source);
    case cudaResourceTypeLinear:
        return describe_linear(resource, source);
    case cudaResourceTypePitch2D:
        return describe_pitched(resource, source);
    default:
        return cudaErrorInvalidValue;
    }
}

// ---- views ----

// Bytes of an element of a format that is not compressed; 0 otherwise.
static size_t view_size(enum cudaResourceViewFormat format)
{
    static const unsigned char channels[] = {1, 2, 4};
    int group = ((int)format - cudaResViewFormatUnsignedChar1) / 3; // Char, Short, Int, Half, Float
    static const unsigned char bytes[] = {1, 1, 2, 2, 4, 4, 2, 4};
    if (format < cudaResViewFormatUnsignedChar1 || format > cudaResViewFormatFloat4) {
        return 0;
    }
    return (size_t)bytes[group] * channels[((int)format - cudaResViewFormatUnsignedChar1) % 3];
}

// "If the resource view format is a block compressed format, then the underlying CUDA array … has
// to have a 32-bit unsigned integer format with 2 or 4 channels": 2 for BC1 and BC4.
static bool holds_blocks(const struct cudaChannelFormatDesc *desc,
                         enum cudaResourceViewFormat format)
{
    bool half = format == cudaResViewFormatUnsignedBlockCompressed1 ||
                format == cudaResViewFormatUnsignedBlockCompressed4 ||
                format == cudaResViewFormatSignedBlockCompressed4;
    return desc->f == cudaChannelFormatKindUnsigned && desc->x == 32 &&
           irt_format_size(desc) == (half ? 8u : 16u);
}

static enum irt_format_class view_class(enum cudaResourceViewFormat format)
{
    return format >= cudaResViewFormatUnsignedBlockCompressed1 ? IRT_FORMAT_COMPRESSED
           : format >= cudaResViewFormatHalf1                  ? IRT_FORMAT_FLOAT
                                                               : IRT_FORMAT_INTEGER;
}

static unsigned layers_of(const struct source *source)
{
    switch (source->shape) {
    case IRT_SHAPE_1D_LAYERED:
    case IRT_SHAPE_2D_LAYERED:
        return (unsigned)source->extent.depth;
    case IRT_SHAPE_CUBEMAP_LAYERED:
        return (unsigned)source->extent.depth / 6;
    default:
        return 1;
    }
}

// A dimension that an array has not may be given as 0 or 1.
static bool same_size(size_t view, size_t original)
{
    return view == original || (original == 0 && view == 1);
}

static cudaError_t check_view(const struct cudaResourceViewDesc *view, struct source *source)
{
    if (!source->image.array || source->class == IRT_FORMAT_COMPRESSED ||
        (unsigned)view->format > cudaResViewFormatUnsignedBlockCompressed7) {
        return cudaErrorInvalidValue;
    }
    size_t scale = 1;
    if (view->format >= cudaResViewFormatUnsignedBlockCompressed1) {
        scale = 4;
        if (!holds_blocks(&source->image.format, view->format)) {
            return cudaErrorInvalidValue;
        }
    } else if (view->format != cudaResViewFormatNone &&
               view_size(view->format) != irt_format_size(&source->image.format)) {
        return cudaErrorInvalidValue;
    }
    if (!same_size(view->width, source->extent.width * scale) ||
        !same_size(view->height, source->extent.height * scale) ||
        !same_size(view->depth, source->extent.depth) ||
        view->firstMipmapLevel > view->lastMipmapLevel ||
        view->lastMipmapLevel >= source->level_count || view->firstLayer > view->lastLayer ||
        view->lastLayer >= layers_of(source)) {
        return cudaErrorInvalidValue;
    }
    if (view->format != cudaResViewFormatNone) {
        source->class = view_class(view->format);
        source->bits = view->format <= cudaResViewFormatSignedChar4    ? 8
                       : view->format <= cudaResViewFormatSignedShort4 ? 16
                                                                       : 32;
    }
    return cudaSuccess;
}

// ---- creation ----

static cudaError_t check_sampling(const struct cudaTextureDesc *texture,
                                  const struct source *source)
{
    enum cudaResourceType type = source->image.type;
    for (int i = 0; i < 3; i++) {
        if ((unsigned)texture->addressMode[i] > cudaAddressModeBorder) {
            return cudaErrorInvalidValue;
        }
    }
    if ((unsigned)texture->filterMode > cudaFilterModeLinear ||
        (unsigned)texture->mipmapFilterMode > cudaFilterModeLinear ||
        (unsigned)texture->readMode > cudaReadModeNormalizedFloat) {
        return cudaErrorInvalidValue;
    }
    if (type == cudaResourceTypeMipmappedArray && !texture->normalizedCoords) {
        return cudaErrorInvalidValue;
    }
    // "can only be specified if the underlying resource … was created with the flag
    // cudaArrayCubemap"
    if (texture->seamlessCubemap && !(source->flags & cudaArrayCubemap)) {
        return cudaErrorInvalidValue;
    }
    bool floats = source->class != IRT_FORMAT_INTEGER ||
                  (texture->readMode == cudaReadModeNormalizedFloat && source->bits <= 16);
    bool filters = texture->filterMode == cudaFilterModeLinear ||
                   (type == cudaResourceTypeMipmappedArray &&
                    texture->mipmapFilterMode == cudaFilterModeLinear);
    return filters && !floats && type != cudaResourceTypeLinear ? cudaErrorInvalidFilterSetting
                                                                : cudaSuccess;
}

cudaError_t irt_texture_create(const struct cudaResourceDesc *resource,
                               const struct cudaTextureDesc *texture,
                               const struct cudaResourceViewDesc *view, uint64_t *ret_object)
{
    struct source source;
    if (!irt_backend()->texture_create) {
        return irt_unsupported("textures");
    }
    // "Flags (must be zero)"
    cudaError_t error = resource->flags ? cudaErrorInvalidValue : describe(resource, &source);
    if (error) {
        // cudaErrorInvalidResourceHandle is documented for surfaces only.
        return error == cudaErrorInvalidResourceHandle ? cudaErrorInvalidValue : error;
    }
    if (view) {
        error = check_view(view, &source);
    }
    if (!error) {
        error = check_sampling(texture, &source);
    }
    return error ? error
                 : irt_backend()->texture_create(irt_device_current()->id, &source.image, texture,
                                                 view, ret_object);
}

cudaError_t irt_surface_create(const struct cudaResourceDesc *resource, uint64_t *ret_object)
{
    struct source source;
    if (!irt_backend()->surface_create) {
        return irt_unsupported("surfaces");
    }
    if (resource->resType != cudaResourceTypeArray || resource->flags) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = describe_array(resource, &source);
    if (error) {
        return error;
    }
    // Objects work on arrays without cudaArraySurfaceLoadStore, too (cuda-samples,
    // bindlessTexture).
    if (source.class == IRT_FORMAT_COMPRESSED) {
        return cudaErrorInvalidChannelDescriptor;
    }
    return irt_backend()->surface_create(irt_device_current()->id, &source.image, ret_object);
}

static void destroy(uint64_t value, bool surface)
{
    if (surface) {
        irt_backend()->surface_destroy(value);
    } else {
        irt_backend()->texture_destroy(value);
    }
}

// Lists the object, whose value is in `model`; destroys it when there is no memory to.
static cudaError_t enlist(const struct object *model)
{
    struct object *object = malloc(sizeof(*object));
    if (object) {
        *object = *model;
        irt_mutex_lock(&lock);
        HASH_ADD(hh, objects, value, sizeof(object->value), object);
        bool added = object->hh.tbl != NULL;
        irt_mutex_unlock(&lock);
        if (added) {
            return cudaSuccess;
        }
        free(object);
    }
    destroy(model->value, model->surface);
    return cudaErrorMemoryAllocation;
}

cudaError_t irt_core_cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
                                             const struct cudaResourceDesc *pResDesc,
                                             const struct cudaTextureDesc *pTexDesc,
                                             const struct cudaResourceViewDesc *pResViewDesc)
{
    if (!pTexObject || !pResDesc || !pTexDesc) {
        return cudaErrorInvalidValue;
    }
    struct object object = {
        .device = irt_device_current(), .resource = *pResDesc, .texture = *pTexDesc};
    if (pResViewDesc) {
        object.view = *pResViewDesc;
        object.has_view = true;
    }
    cudaError_t error = irt_texture_create(pResDesc, pTexDesc, pResViewDesc, &object.value);
    if (!error) {
        error = enlist(&object);
    }
    if (!error) {
        *pTexObject = object.value;
    }
    return error;
}

cudaError_t irt_core_cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                             const struct cudaResourceDesc *pResDesc)
{
    if (!pSurfObject || !pResDesc) {
        return cudaErrorInvalidValue;
    }
    struct object object = {.surface = true, .device = irt_device_current(), .resource = *pResDesc};
    cudaError_t error = irt_surface_create(pResDesc, &object.value);
    if (!error) {
        error = enlist(&object);
    }
    if (!error) {
        *pSurfObject = object.value;
    }
    return error;
}

// ---- look-up and destruction ----

static struct object *find_locked(uint64_t value, bool surface)
{
    struct object *object = NULL;
    HASH_FIND(hh, objects, &value, sizeof(value), object);
    return object && object->surface == surface ? object : NULL;
}

// A copy of what is known about a live object. cudaErrorInvalidValue.
static cudaError_t find(uint64_t value, bool surface, struct object *ret_object)
{
    irt_mutex_lock(&lock);
    const struct object *object = find_locked(value, surface);
    if (object) {
        *ret_object = *object;
    }
    irt_mutex_unlock(&lock);
    return object ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t remove_object(uint64_t value, bool surface)
{
    irt_mutex_lock(&lock);
    struct object *object = find_locked(value, surface);
    if (object) {
        HASH_DEL(objects, object);
    }
    irt_mutex_unlock(&lock);
    if (!object) {
        return cudaErrorInvalidValue;
    }
    destroy(value, surface);
    free(object);
    return cudaSuccess;
}

cudaError_t irt_core_cudaDestroyTextureObject(cudaTextureObject_t texObject)
{
    return remove_object(texObject, false);
}

cudaError_t irt_core_cudaDestroySurfaceObject(cudaSurfaceObject_t surfObject)
{
    return remove_object(surfObject, true);
}

void irt_texture_reset_device(struct irt_device *device)
{
    struct object *object;
    struct object *next;
    struct object *gone = NULL;
    irt_mutex_lock(&lock);
    HASH_ITER(hh, objects, object, next)
    {
        if (object->device == device) {
            HASH_DEL(objects, object);
            object->hh.next = gone;
            gone = object;
        }
    }
    irt_mutex_unlock(&lock);
    while (gone) {
        object = gone;
        gone = object->hh.next;
        destroy(object->value, object->surface);
        free(object);
    }
}

// ---- queries ----

cudaError_t irt_core_cudaGetTextureObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                      cudaTextureObject_t texObject)
{
    struct object object;
    cudaError_t error = pResDesc ? find(texObject, false, &object) : cudaErrorInvalidValue;
    if (!error) {
        *pResDesc = object.resource;
    }
    return error;
}

cudaError_t irt_core_cudaGetTextureObjectTextureDesc(struct cudaTextureDesc *pTexDesc,
                                                     cudaTextureObject_t texObject)
{
    struct object object;
    cudaError_t error = pTexDesc ? find(texObject, false, &object) : cudaErrorInvalidValue;
    if (!error) {
        *pTexDesc = object.texture;
    }
    return error;
}

cudaError_t irt_core_cudaGetTextureObjectResourceViewDesc(struct cudaResourceViewDesc *pResViewDesc,
                                                          cudaTextureObject_t texObject)
{
    struct object object;
    cudaError_t error = pResViewDesc ? find(texObject, false, &object) : cudaErrorInvalidValue;
    // "If no resource view was specified, cudaErrorInvalidValue is returned."
    if (!error && !object.has_view) {
        error = cudaErrorInvalidValue;
    }
    if (!error) {
        *pResViewDesc = object.view;
    }
    return error;
}

cudaError_t irt_core_cudaGetSurfaceObjectResourceDesc(struct cudaResourceDesc *pResDesc,
                                                      cudaSurfaceObject_t surfObject)
{
    struct object object;
    cudaError_t error = pResDesc ? find(surfObject, true, &object) : cudaErrorInvalidValue;
    if (!error) {
        *pResDesc = object.resource;
    }
    return error;
}

cudaError_t irt_core_cudaDeviceGetTexture1DLinearMaxWidth(size_t *maxWidthInElements,
                                                          const struct cudaChannelFormatDesc *desc,
                                                          int device)
{
    int width;
    if (!maxWidthInElements || !desc) {
        return cudaErrorInvalidValue;
    }
    enum irt_format_class class = irt_format_class(desc);
    if (class == IRT_FORMAT_INVALID || class == IRT_FORMAT_COMPRESSED ||
        class == IRT_FORMAT_PLANAR) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error =
        irt_core_cudaDeviceGetAttribute(&width, cudaDevAttrMaxTexture1DLinearWidth, device);
    if (!error) {
        *maxWidthInElements = (size_t)width;
    }
    return error;
}
