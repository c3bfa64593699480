// SPDX-License-Identifier: Apache-2.0
//
// CUDA arrays: what a cudaArray_t or cudaMipmappedArray_t names, the channel formats, and the
// regions of arrays that copies work on. array.c owns both kinds of objects, array_check.c the
// limits, array_copy.c the copies with arrays, texture.c what reads them. The memory of each array
// is in the map of memory.h as IRT_MEMORY_ARRAY.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/backend.h"
#include "shim/core/copy.h"
#include "shim/core/device.h"

enum irt_format_class {
    IRT_FORMAT_INVALID,
    IRT_FORMAT_INTEGER, // Signed, Unsigned
    IRT_FORMAT_FLOAT,
    IRT_FORMAT_NORMALIZED, // integers that read as floats, 1010102
    IRT_FORMAT_COMPRESSED, // BC1 … BC7
    IRT_FORMAT_PLANAR,     // NV12
};

// What a channel description is: IRT_FORMAT_INVALID unless the bits are right for the kind (1, 2 or
// 4 equal channels for the plain kinds, what cudaCreateChannelDesc<kind>() gives for the others).
enum irt_format_class irt_format_class(const struct cudaChannelFormatDesc *desc);

// Bytes of one element of a format that is neither compressed nor planar.
size_t irt_format_size(const struct cudaChannelFormatDesc *desc);

enum irt_array_shape {
    IRT_SHAPE_1D,
    IRT_SHAPE_2D,
    IRT_SHAPE_3D,
    IRT_SHAPE_1D_LAYERED,
    IRT_SHAPE_2D_LAYERED,
    IRT_SHAPE_CUBEMAP,
    IRT_SHAPE_CUBEMAP_LAYERED,
};

// Whether there can be such an array on the current device, and its shape.
// cudaErrorInvalidChannelDescriptor (20) for a format that is none, cudaErrorInvalidValue for sizes
// or flags that fit no shape or are over a limit, 801 with a name for what is not supported.
cudaError_t irt_array_check(const struct cudaChannelFormatDesc *desc,
                            const struct cudaExtent *extent, unsigned flags, bool mipmapped,
                            enum irt_array_shape *ret_shape);

// Constant once made. A level of a mipmapped array and a plane of a planar one are arrays, too;
// their storage is the owner's.
struct irt_array {
    struct irt_device *device;
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent; // elements, as asked for: 0 for a dimension that there is not
    unsigned flags;
    enum irt_array_shape shape;
    struct irtb_array *storage;  // NULL: planar
    unsigned level;              // of the storage
    struct irtb_array_view view; // all 0: planar
    bool part;                   // the storage is another object's
    cudaArray_t planes[2];       // of a planar array
};

struct irt_mipmap {
    struct irt_device *device;
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent;
    unsigned flags;
    enum irt_array_shape shape;
    struct irtb_array *storage;
    unsigned level_count;
    cudaArray_t levels[32];
};

// The object with a reference, which the put drops. cudaErrorInvalidResourceHandle (400) for a
// handle that is none or was freed. Any thread.
cudaError_t irt_array_get(cudaArray_const_t handle, struct irt_array **ret_array);
void irt_array_put(cudaArray_const_t handle);
cudaError_t irt_mipmap_get(cudaMipmappedArray_const_t handle, struct irt_mipmap **ret_mipmap);
void irt_mipmap_put(cudaMipmappedArray_const_t handle);

// A mipmapped array on external memory: like cudaMallocMipmappedArray with the storage that
// `memory` describes (its members `external` to `fd_size`). The descriptor stays the caller's.
cudaError_t irt_mipmap_create_on(const struct irtb_array_desc *memory,
                                 const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                                 unsigned levels, unsigned flags, cudaMipmappedArray_t *ret_mipmap);

// One region of an array for a copy.
struct irt_array_region {
    char *start;
    size_t element_size, pitch, slice; // bytes
};

// The region of `extent` elements (blocks of a compressed format) at `pos`; cudaErrorInvalidValue
// when it is not inside or the array is planar, else as irt_array_get. The address stays good while
// the array lives.
cudaError_t irt_array_region(cudaArray_const_t handle, const struct cudaPos *pos,
                             const struct cudaExtent *extent, struct irt_array_region *ret_region);

// The array that the memory at `address` belongs to and the element there, for who sees only the
// address that irt_array_region gave. False when it is no array's. Slow. Any thread.
bool irt_array_at(const void *address, cudaArray_t *ret_array, struct cudaPos *ret_pos);

// Frees all arrays of the device (for cudaDeviceReset, after its textures and all its work).
void irt_array_reset_device(struct irt_device *device);
