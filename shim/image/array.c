// SPDX-License-Identifier: Apache-2.0
//
// CUDA arrays and mipmapped arrays: allocation, freeing, queries, regions for copies. Which arrays
// there can be is said in array_check.c; how they lie in memory is the backend's.
#include "shim/image/array.h"

#include <stdint.h>
#include <stdlib.h>

#include "irt_core.h"
#include "shim/core/memory.h"
#include "shim/core/pool.h"
#include "shim/dispatch/backend.h"
#include "shim/util/handle.h"

static void destroy_array(void *object);
static void destroy_mipmap(void *object);

static struct irt_handle_table arrays = IRT_HANDLE_TABLE(IRT_HANDLE_ARRAY, destroy_array);
static struct irt_handle_table mipmaps = IRT_HANDLE_TABLE(IRT_HANDLE_MIPMAP, destroy_mipmap);

// ---- objects ----

cudaError_t irt_array_get(cudaArray_const_t handle, struct irt_array **ret_array)
{
    struct irt_array *array = irt_handle_get(&arrays, handle);
    if (!array) {
        return cudaErrorInvalidResourceHandle;
    }
    *ret_array = array;
    return cudaSuccess;
}

void irt_array_put(cudaArray_const_t handle)
{
    irt_handle_put(&arrays, handle);
}

cudaError_t irt_mipmap_get(cudaMipmappedArray_const_t handle, struct irt_mipmap **ret_mipmap)
{
    struct irt_mipmap *mipmap = irt_handle_get(&mipmaps, handle);
    if (!mipmap) {
        return cudaErrorInvalidResourceHandle;
    }
    *ret_mipmap = mipmap;
    return cudaSuccess;
}

void irt_mipmap_put(cudaMipmappedArray_const_t handle)
{
    irt_handle_put(&mipmaps, handle);
}

static void destroy_array(void *object)
{
    struct irt_array *array = object;
    if (array->view.base) {
        irt_memory_remove(array->view.base, NULL);
    }
    for (int i = 0; i < 2; i++) {
        if (array->planes[i]) {
            irt_handle_close(&arrays, array->planes[i]);
        }
    }
    if (array->storage && !array->part) {
        irt_backend()->array_destroy(array->storage);
    }
    free(array);
}

static void destroy_mipmap(void *object)
{
    struct irt_mipmap *mipmap = object;
    for (unsigned i = 0; i < mipmap->level_count; i++) {
        if (mipmap->levels[i]) {
            irt_handle_close(&arrays, mipmap->levels[i]);
        }
    }
    if (mipmap->storage) {
        irt_backend()->array_destroy(mipmap->storage);
    }
    free(mipmap);
}

static cudaError_t create_storage(struct irt_device *device, const struct irtb_array_desc *desc,
                                  struct irtb_array **ret_storage)
{
    cudaError_t error = irt_backend()->array_create(device->id, desc, ret_storage);
    if (error == cudaErrorMemoryAllocation) {
        irt_pool_trim_device(device, true); // what pools keep may be enough
        error = irt_backend()->array_create(device->id, desc, ret_storage);
    }
    return error;
}

// A handle for a copy of `model` with the memory of its level in the map. On failure the storage
// is still the caller's.
static cudaError_t open_array(const struct irt_array *model, cudaArray_t *ret_handle)
{
    struct irt_array *array = malloc(sizeof(*array));
    if (!array) {
        return cudaErrorMemoryAllocation;
    }
    *array = *model;
    if (array->storage) {
        irt_backend()->array_level(array->storage, array->level, &array->view);
        cudaError_t error = irt_memory_add(&(struct irt_memory){
            .start = array->view.base,
            .size = array->view.slice_pitch * array->view.depth,
            .type = IRT_MEMORY_ARRAY,
            .device = array->device,
            .device_start = array->view.base,
        });
        if (error) {
            free(array);
            return error;
        }
    }
    cudaArray_t handle = irt_handle_open(&arrays, array);
    if (!handle) {
        if (array->view.base) {
            irt_memory_remove(array->view.base, NULL);
        }
        free(array);
        return cudaErrorMemoryAllocation;
    }
    *ret_handle = handle;
    return cudaSuccess;
}

static cudaError_t create_single(const struct irt_array *model, cudaArray_t *ret_handle)
{
    struct irt_array with_storage = *model;
    const struct irtb_array_desc desc = {
        .format = model->desc, .extent = model->extent, .levels = 1, .flags = model->flags};
    cudaError_t error = create_storage(model->device, &desc, &with_storage.storage);
    if (error) {
        return error;
    }
    error = open_array(&with_storage, ret_handle);
    if (error) {
        irt_backend()->array_destroy(with_storage.storage);
    }
    return error;
}

// "passing in 0 for planeIdx returns a CUDA array of the same size as hArray but with one 8-bit
// channel and cudaChannelFormatKindUnsigned …; 1: half the height and width … with two 8-bit
// channels".
static cudaError_t create_planar(const struct irt_array *model, cudaArray_t *ret_handle)
{
    struct irt_array planar = *model;
    cudaError_t error = cudaSuccess;
    for (int i = 0; i < 2 && !error; i++) {
        struct irt_array plane = *model;
        plane.desc = (struct cudaChannelFormatDesc){
            .x = 8, .y = i ? 8 : 0, .f = cudaChannelFormatKindUnsigned};
        plane.extent.width >>= i;
        plane.extent.height >>= i;
        error = create_single(&plane, &planar.planes[i]);
    }
    if (!error) {
        error = open_array(&planar, ret_handle);
    }
    for (int i = 0; i < 2 && error; i++) {
        if (planar.planes[i]) {
            irt_handle_close(&arrays, planar.planes[i]);
        }
    }
    return error;
}

static cudaError_t allocate(const struct cudaChannelFormatDesc *desc,
                            const struct cudaExtent *extent, unsigned flags,
                            cudaArray_t *ret_handle)
{
    struct irt_array model = {
        .device = irt_device_current(), .desc = *desc, .extent = *extent, .flags = flags};
    cudaError_t error = irt_array_check(desc, extent, flags, false, &model.shape);
    if (error) {
        return error;
    }
    return irt_format_class(desc) == IRT_FORMAT_PLANAR ? create_planar(&model, ret_handle)
                                                       : create_single(&model, ret_handle);
}

cudaError_t irt_core_cudaMallocArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                     size_t width, size_t height, unsigned int flags)
{
    const struct cudaExtent extent = {.width = width, .height = height};
    if (!array || !desc || (flags & (cudaArrayLayered | cudaArrayCubemap))) {
        return cudaErrorInvalidValue;
    }
    return allocate(desc, &extent, flags, array);
}

cudaError_t irt_core_cudaMalloc3DArray(cudaArray_t *array, const struct cudaChannelFormatDesc *desc,
                                       struct cudaExtent extent, unsigned int flags)
{
    return array && desc ? allocate(desc, &extent, flags, array) : cudaErrorInvalidValue;
}

// ---- mipmapped arrays ----

static size_t at_level(size_t size, unsigned level)
{
    size_t reduced = size >> level;
    return size && !reduced ? 1 : reduced;
}

// "clamped to the range [1, 1 + floor(log2(max(width, height, depth)))]"; layers do not count.
static unsigned clamp_levels(unsigned asked, const struct cudaExtent *extent,
                             enum irt_array_shape shape)
{
    size_t longest = extent->width > extent->height ? extent->width : extent->height;
    if (shape == IRT_SHAPE_3D && extent->depth > longest) {
        longest = extent->depth;
    }
    unsigned most = 1;
    while (longest >> most) {
        most++;
    }
    return asked < 1 ? 1 : asked > most ? most : asked;
}

static cudaError_t open_levels(struct irt_mipmap *mipmap)
{
    for (unsigned i = 0; i < mipmap->level_count; i++) {
        struct irt_array level = {.device = mipmap->device,
                                  .desc = mipmap->desc,
                                  .extent = mipmap->extent,
                                  .flags = mipmap->flags,
                                  .shape = mipmap->shape,
                                  .storage = mipmap->storage,
                                  .level = i,
                                  .part = true};
        level.extent.width = at_level(level.extent.width, i);
        level.extent.height = at_level(level.extent.height, i);
        if (mipmap->shape == IRT_SHAPE_3D) {
            level.extent.depth = at_level(level.extent.depth, i);
        }
        cudaError_t error = open_array(&level, &mipmap->levels[i]);
        if (error) {
            return error;
        }
    }
    return cudaSuccess;
}

cudaError_t irt_mipmap_create_on(const struct irtb_array_desc *memory,
                                 const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                 unsigned levels, unsigned flags, cudaMipmappedArray_t *ret_mipmap)
{
    enum irt_array_shape shape;
    cudaError_t error = irt_array_check(desc, &extent, flags, true, &shape);
    if (error) {
        return error;
    }
    struct irt_mipmap *mipmap = calloc(1, sizeof(*mipmap));
    if (!mipmap) {
        return cudaErrorMemoryAllocation;
    }
    *mipmap = (struct irt_mipmap){.device = irt_device_current(),
                                  .desc = *desc,
                                  .extent = extent,
                                  .flags = flags,
                                  .shape = shape,
                                  .level_count = clamp_levels(levels, &extent, shape)};
    struct irtb_array_desc storage = *memory;
    storage.format = *desc;
    storage.extent = extent;
    storage.levels = mipmap->level_count;
    storage.flags = flags;
    error = create_storage(mipmap->device, &storage, &mipmap->storage);
    if (!error) {
        error = open_levels(mipmap);
    }
    if (!error) {
        cudaMipmappedArray_t handle = irt_handle_open(&mipmaps, mipmap);
        if (handle) {
            *ret_mipmap = handle;
            return cudaSuccess;
        }
        error = cudaErrorMemoryAllocation;
    }
    destroy_mipmap(mipmap);
    return error;
}

cudaError_t irt_core_cudaMallocMipmappedArray(cudaMipmappedArray_t *mipmappedArray,
                                              const struct cudaChannelFormatDesc *desc,
                                              struct cudaExtent extent, unsigned int numLevels,
                                              unsigned int flags)
{
    static const struct irtb_array_desc own;
    if (!mipmappedArray || !desc) {
        return cudaErrorInvalidValue;
    }
    return irt_mipmap_create_on(&own, desc, extent, numLevels, flags, mipmappedArray);
}

cudaError_t irt_core_cudaGetMipmappedArrayLevel(cudaArray_t *levelArray,
                                                cudaMipmappedArray_const_t mipmappedArray,
                                                unsigned int level)
{
    struct irt_mipmap *mipmap;
    if (!levelArray) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_mipmap_get(mipmappedArray, &mipmap);
    if (error) {
        return error;
    }
    if (level < mipmap->level_count) {
        *levelArray = mipmap->levels[level];
    } else {
        error = cudaErrorInvalidValue;
    }
    irt_mipmap_put(mipmappedArray);
    return error;
}

// ---- freeing ----

// Waits for work that may use the device's memory, as cudaFree does.
static cudaError_t drain(struct irt_device *device)
{
    return irt_memory_drain(&(struct irt_memory){.type = IRT_MEMORY_ARRAY, .device = device});
}

cudaError_t irt_core_cudaFreeArray(cudaArray_t array)
{
    struct irt_array *found;
    if (!array) {
        return cudaSuccess;
    }
    cudaError_t error = irt_array_get(array, &found);
    if (error) {
        return error;
    }
    // Levels and planes "must have been returned by a previous call to cudaMallocArray".
    if (found->part) {
        error = cudaErrorInvalidValue;
    } else if (irt_handle_close(&arrays, array)) {
        error = drain(found->device);
    } else {
        error = cudaErrorInvalidResourceHandle; // another thread was faster
    }
    irt_array_put(array);
    return error;
}

cudaError_t irt_core_cudaFreeMipmappedArray(cudaMipmappedArray_t mipmappedArray)
{
    struct irt_mipmap *found;
    if (!mipmappedArray) {
        return cudaSuccess;
    }
    cudaError_t error = irt_mipmap_get(mipmappedArray, &found);
    if (error) {
        return error;
    }
    error = irt_handle_close(&mipmaps, mipmappedArray) ? drain(found->device)
                                                       : cudaErrorInvalidResourceHandle;
    irt_mipmap_put(mipmappedArray);
    return error;
}

static void reset_mipmap(void *handle, void *object, void *context)
{
    const struct irt_mipmap *mipmap = object;
    if (mipmap->device == context) {
        irt_handle_close(&mipmaps, handle);
    }
}

static void reset_array(void *handle, void *object, void *context)
{
    const struct irt_array *array = object;
    if (array->device == context && !array->part) {
        irt_handle_close(&arrays, handle);
    }
}

void irt_array_reset_device(struct irt_device *device)
{
    irt_handle_each(&mipmaps, reset_mipmap, device);
    irt_handle_each(&arrays, reset_array, device);
}

// ---- queries ----

cudaError_t irt_core_cudaArrayGetInfo(struct cudaChannelFormatDesc *desc, struct cudaExtent *extent,
                                      unsigned int *flags, cudaArray_t array)
{
    struct irt_array *found;
    cudaError_t error = irt_array_get(array, &found);
    if (error) {
        return error;
    }
    if (desc) {
        *desc = found->desc;
    }
    if (extent) {
        *extent = found->extent;
    }
    if (flags) {
        *flags = found->flags;
    }
    irt_array_put(array);
    return cudaSuccess;
}

cudaError_t irt_core_cudaGetChannelDesc(struct cudaChannelFormatDesc *desc, cudaArray_const_t array)
{
    return desc ? irt_core_cudaArrayGetInfo(desc, NULL, NULL, (cudaArray_t)array)
                : cudaErrorInvalidValue;
}

cudaError_t irt_core_cudaArrayGetPlane(cudaArray_t *pPlaneArray, cudaArray_t hArray,
                                       unsigned int planeIdx)
{
    struct irt_array *found;
    if (!pPlaneArray) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_array_get(hArray, &found);
    if (error) {
        return error;
    }
    if (planeIdx < 2 && found->planes[planeIdx]) {
        *pPlaneArray = found->planes[planeIdx];
    } else {
        error = cudaErrorInvalidValue;
    }
    irt_array_put(hArray);
    return error;
}

// No array is allocated with cudaArrayDeferredMapping or cudaArraySparse, so that the answers below
// are the documented ones for an array without the flag.
static cudaError_t no_such_array(const void *result, cudaArray_t array)
{
    struct irt_array *found;
    cudaError_t error = irt_array_get(array, &found);
    if (error) {
        return result ? error : cudaErrorInvalidValue;
    }
    irt_array_put(array);
    return cudaErrorInvalidValue;
}

static cudaError_t no_such_mipmap(const void *result, cudaMipmappedArray_t mipmap)
{
    struct irt_mipmap *found;
    cudaError_t error = irt_mipmap_get(mipmap, &found);
    if (error) {
        return result ? error : cudaErrorInvalidValue;
    }
    irt_mipmap_put(mipmap);
    return cudaErrorInvalidValue;
}

// NOLINTBEGIN(readability-non-const-parameter): the prototypes are NVIDIA's

cudaError_t
irt_core_cudaArrayGetMemoryRequirements(struct cudaArrayMemoryRequirements *memoryRequirements,
                                        cudaArray_t array, int device)
{
    return irt_device_at(device) ? no_such_array(memoryRequirements, array)
                                 : cudaErrorInvalidDevice;
}

cudaError_t irt_core_cudaMipmappedArrayGetMemoryRequirements(
    struct cudaArrayMemoryRequirements *memoryRequirements, cudaMipmappedArray_t mipmap, int device)
{
    return irt_device_at(device) ? no_such_mipmap(memoryRequirements, mipmap)
                                 : cudaErrorInvalidDevice;
}

cudaError_t
irt_core_cudaArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
                                      cudaArray_t array)
{
    return no_such_array(sparseProperties, array);
}

cudaError_t
irt_core_cudaMipmappedArrayGetSparseProperties(struct cudaArraySparseProperties *sparseProperties,
                                               cudaMipmappedArray_t mipmap)
{
    return no_such_mipmap(sparseProperties, mipmap);
}

// NOLINTEND(readability-non-const-parameter)

// ---- regions ----

static bool inside(size_t pos, size_t extent, size_t size)
{
    return pos <= size && extent <= size - pos;
}

cudaError_t irt_array_region(cudaArray_const_t handle, const struct cudaPos *pos,
                             const struct cudaExtent *extent, struct irt_array_region *ret_region)
{
    struct irt_array *array;
    cudaError_t error = irt_array_get(handle, &array);
    if (error) {
        return error;
    }
    const struct irtb_array_view *v = &array->view;
    if (v->base && inside(pos->x, extent->width, v->width) &&
        inside(pos->y, extent->height, v->height) && inside(pos->z, extent->depth, v->depth)) {
        *ret_region =
            (struct irt_array_region){.start = (char *)v->base + pos->x * v->element_size +
                                               pos->y * v->row_pitch + pos->z * v->slice_pitch,
                                      .element_size = v->element_size,
                                      .pitch = v->row_pitch,
                                      .slice = v->slice_pitch};
    } else {
        error = cudaErrorInvalidValue;
    }
    irt_array_put(handle);
    return error;
}

struct search {
    const char *address;
    cudaArray_t handle;
    struct cudaPos pos;
};

static void look(void *handle, void *object, void *context)
{
    struct search *search = context;
    const struct irtb_array_view *v = &((const struct irt_array *)object)->view;
    size_t offset = (size_t)((uintptr_t)search->address - (uintptr_t)v->base);
    if (v->base && offset < v->slice_pitch * v->depth) {
        search->handle = handle;
        search->pos.z = offset / v->slice_pitch;
        search->pos.y = offset % v->slice_pitch / v->row_pitch;
        search->pos.x = offset % v->slice_pitch % v->row_pitch / v->element_size;
    }
}

bool irt_array_at(const void *address, cudaArray_t *ret_array, struct cudaPos *ret_pos)
{
    struct irt_memory memory;
    if (!irt_memory_find(address, &memory) || memory.type != IRT_MEMORY_ARRAY) {
        return false;
    }
    struct search search = {.address = address};
    irt_handle_each(&arrays, look, &search);
    if (search.handle) {
        *ret_array = search.handle;
        *ret_pos = search.pos;
    }
    return search.handle != NULL;
}
