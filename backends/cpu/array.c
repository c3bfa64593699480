// SPDX-License-Identifier: Apache-2.0
//
// Storage of CUDA arrays and mipmapped arrays in the device's memory, and the table of formats.
// Called through backend.h by the shim, which has checked the sizes against the device's limits.
#include "array.h"

#include <stdlib.h>

#include "cpu.h"
#include "share.h"

// Rows start at multiples of a vector, levels at multiples of a cache line.
enum { ROW_ALIGNMENT = 32, LEVEL_ALIGNMENT = 64 };

// ---- formats ----

struct row {
    int id; // enum cudaChannelFormatKind or cudaResourceViewFormat
    struct cpu_format format;
};

// Kinds that say everything by themselves. Sources: driver_types.h, channel_descriptor.h.
static const struct row kinds[] = {
    {cudaChannelFormatKindUnsignedNormalized8X1, {EXEC_CHANNEL_UNORM8, 1, 1, 1, false}},
    {cudaChannelFormatKindUnsignedNormalized8X2, {EXEC_CHANNEL_UNORM8, 2, 2, 1, false}},
    {cudaChannelFormatKindUnsignedNormalized8X4, {EXEC_CHANNEL_UNORM8, 4, 4, 1, false}},
    {cudaChannelFormatKindUnsignedNormalized16X1, {EXEC_CHANNEL_UNORM16, 1, 2, 1, false}},
    {cudaChannelFormatKindUnsignedNormalized16X2, {EXEC_CHANNEL_UNORM16, 2, 4, 1, false}},
    {cudaChannelFormatKindUnsignedNormalized16X4, {EXEC_CHANNEL_UNORM16, 4, 8, 1, false}},
    {cudaChannelFormatKindSignedNormalized8X1, {EXEC_CHANNEL_SNORM8, 1, 1, 1, false}},
    {cudaChannelFormatKindSignedNormalized8X2, {EXEC_CHANNEL_SNORM8, 2, 2, 1, false}},
    {cudaChannelFormatKindSignedNormalized8X4, {EXEC_CHANNEL_SNORM8, 4, 4, 1, false}},
    {cudaChannelFormatKindSignedNormalized16X1, {EXEC_CHANNEL_SNORM16, 1, 2, 1, false}},
    {cudaChannelFormatKindSignedNormalized16X2, {EXEC_CHANNEL_SNORM16, 2, 4, 1, false}},
    {cudaChannelFormatKindSignedNormalized16X4, {EXEC_CHANNEL_SNORM16, 4, 8, 1, false}},
    {cudaChannelFormatKindUnsignedBlockCompressed1, {EXEC_CHANNEL_BC1, 4, 8, 4, false}},
    {cudaChannelFormatKindUnsignedBlockCompressed1SRGB, {EXEC_CHANNEL_BC1, 4, 8, 4, true}},
    {cudaChannelFormatKindUnsignedBlockCompressed2, {EXEC_CHANNEL_BC2, 4, 16, 4, false}},
    {cudaChannelFormatKindUnsignedBlockCompressed2SRGB, {EXEC_CHANNEL_BC2, 4, 16, 4, true}},
    {cudaChannelFormatKindUnsignedBlockCompressed3, {EXEC_CHANNEL_BC3, 4, 16, 4, false}},
    {cudaChannelFormatKindUnsignedBlockCompressed3SRGB, {EXEC_CHANNEL_BC3, 4, 16, 4, true}},
    {cudaChannelFormatKindUnsignedBlockCompressed4, {EXEC_CHANNEL_BC4_U, 1, 8, 4, false}},
    {cudaChannelFormatKindSignedBlockCompressed4, {EXEC_CHANNEL_BC4_S, 1, 8, 4, false}},
    {cudaChannelFormatKindUnsignedBlockCompressed5, {EXEC_CHANNEL_BC5_U, 2, 16, 4, false}},
    {cudaChannelFormatKindSignedBlockCompressed5, {EXEC_CHANNEL_BC5_S, 2, 16, 4, false}},
    {cudaChannelFormatKindUnsignedBlockCompressed6H, {EXEC_CHANNEL_BC6H_U, 4, 16, 4, false}},
    {cudaChannelFormatKindSignedBlockCompressed6H, {EXEC_CHANNEL_BC6H_S, 4, 16, 4, false}},
    {cudaChannelFormatKindUnsignedBlockCompressed7, {EXEC_CHANNEL_BC7, 4, 16, 4, false}},
    {cudaChannelFormatKindUnsignedBlockCompressed7SRGB, {EXEC_CHANNEL_BC7, 4, 16, 4, true}},
    {cudaChannelFormatKindUnsignedNormalized1010102,
     {EXEC_CHANNEL_UNORM10_10_10_2, 4, 4, 1, false}},
};

static const struct row views[] = {
    {cudaResViewFormatUnsignedChar1, {EXEC_CHANNEL_U8, 1, 1, 1, false}},
    {cudaResViewFormatUnsignedChar2, {EXEC_CHANNEL_U8, 2, 2, 1, false}},
    {cudaResViewFormatUnsignedChar4, {EXEC_CHANNEL_U8, 4, 4, 1, false}},
    {cudaResViewFormatSignedChar1, {EXEC_CHANNEL_S8, 1, 1, 1, false}},
    {cudaResViewFormatSignedChar2, {EXEC_CHANNEL_S8, 2, 2, 1, false}},
    {cudaResViewFormatSignedChar4, {EXEC_CHANNEL_S8, 4, 4, 1, false}},
    {cudaResViewFormatUnsignedShort1, {EXEC_CHANNEL_U16, 1, 2, 1, false}},
    {cudaResViewFormatUnsignedShort2, {EXEC_CHANNEL_U16, 2, 4, 1, false}},
    {cudaResViewFormatUnsignedShort4, {EXEC_CHANNEL_U16, 4, 8, 1, false}},
    {cudaResViewFormatSignedShort1, {EXEC_CHANNEL_S16, 1, 2, 1, false}},
    {cudaResViewFormatSignedShort2, {EXEC_CHANNEL_S16, 2, 4, 1, false}},
    {cudaResViewFormatSignedShort4, {EXEC_CHANNEL_S16, 4, 8, 1, false}},
    {cudaResViewFormatUnsignedInt1, {EXEC_CHANNEL_U32, 1, 4, 1, false}},
    {cudaResViewFormatUnsignedInt2, {EXEC_CHANNEL_U32, 2, 8, 1, false}},
    {cudaResViewFormatUnsignedInt4, {EXEC_CHANNEL_U32, 4, 16, 1, false}},
    {cudaResViewFormatSignedInt1, {EXEC_CHANNEL_S32, 1, 4, 1, false}},
    {cudaResViewFormatSignedInt2, {EXEC_CHANNEL_S32, 2, 8, 1, false}},
    {cudaResViewFormatSignedInt4, {EXEC_CHANNEL_S32, 4, 16, 1, false}},
    {cudaResViewFormatHalf1, {EXEC_CHANNEL_F16, 1, 2, 1, false}},
    {cudaResViewFormatHalf2, {EXEC_CHANNEL_F16, 2, 4, 1, false}},
    {cudaResViewFormatHalf4, {EXEC_CHANNEL_F16, 4, 8, 1, false}},
    {cudaResViewFormatFloat1, {EXEC_CHANNEL_F32, 1, 4, 1, false}},
    {cudaResViewFormatFloat2, {EXEC_CHANNEL_F32, 2, 8, 1, false}},
    {cudaResViewFormatFloat4, {EXEC_CHANNEL_F32, 4, 16, 1, false}},
    {cudaResViewFormatUnsignedBlockCompressed1, {EXEC_CHANNEL_BC1, 4, 8, 4, false}},
    {cudaResViewFormatUnsignedBlockCompressed2, {EXEC_CHANNEL_BC2, 4, 16, 4, false}},
    {cudaResViewFormatUnsignedBlockCompressed3, {EXEC_CHANNEL_BC3, 4, 16, 4, false}},
    {cudaResViewFormatUnsignedBlockCompressed4, {EXEC_CHANNEL_BC4_U, 1, 8, 4, false}},
    {cudaResViewFormatSignedBlockCompressed4, {EXEC_CHANNEL_BC4_S, 1, 8, 4, false}},
    {cudaResViewFormatUnsignedBlockCompressed5, {EXEC_CHANNEL_BC5_U, 2, 16, 4, false}},
    {cudaResViewFormatSignedBlockCompressed5, {EXEC_CHANNEL_BC5_S, 2, 16, 4, false}},
    {cudaResViewFormatUnsignedBlockCompressed6H, {EXEC_CHANNEL_BC6H_U, 4, 16, 4, false}},
    {cudaResViewFormatSignedBlockCompressed6H, {EXEC_CHANNEL_BC6H_S, 4, 16, 4, false}},
    {cudaResViewFormatUnsignedBlockCompressed7, {EXEC_CHANNEL_BC7, 4, 16, 4, false}},
};

static bool find(const struct row *rows, size_t count, int id, struct cpu_format *ret_format)
{
    for (size_t i = 0; i < count; i++) {
        if (rows[i].id == id) {
            *ret_format = rows[i].format;
            return true;
        }
    }
    return false;
}

// Signed, Unsigned and Float with the bits of each channel.
static bool plain_channel(const struct cudaChannelFormatDesc *desc, uint8_t *ret_channel)
{
    static const struct {
        enum cudaChannelFormatKind kind;
        int bits;
        uint8_t channel;
    } rows[] = {
        {cudaChannelFormatKindUnsigned, 8, EXEC_CHANNEL_U8},
        {cudaChannelFormatKindUnsigned, 16, EXEC_CHANNEL_U16},
        {cudaChannelFormatKindUnsigned, 32, EXEC_CHANNEL_U32},
        {cudaChannelFormatKindSigned, 8, EXEC_CHANNEL_S8},
        {cudaChannelFormatKindSigned, 16, EXEC_CHANNEL_S16},
        {cudaChannelFormatKindSigned, 32, EXEC_CHANNEL_S32},
        {cudaChannelFormatKindFloat, 16, EXEC_CHANNEL_F16},
        {cudaChannelFormatKindFloat, 32, EXEC_CHANNEL_F32},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].kind == desc->f && rows[i].bits == desc->x) {
            *ret_channel = rows[i].channel;
            return true;
        }
    }
    return false;
}

bool cpu_format_of(const struct cudaChannelFormatDesc *desc, struct cpu_format *ret_format)
{
    if (find(kinds, sizeof kinds / sizeof kinds[0], (int)desc->f, ret_format)) {
        return true;
    }
    uint8_t channel;
    if (!plain_channel(desc, &channel)) {
        return false;
    }
    uint8_t channels = (uint8_t)(1 + (desc->y != 0) + (desc->z != 0) + (desc->w != 0));
    *ret_format =
        (struct cpu_format){channel, channels, (uint8_t)(channels * desc->x / 8), 1, false};
    return true;
}

bool cpu_format_of_view(enum cudaResourceViewFormat view, struct cpu_format *ret_format)
{
    return find(views, sizeof views / sizeof views[0], (int)view, ret_format);
}

// ---- storage ----

static uint8_t kind_of(const struct irtb_array_desc *desc)
{
    bool layered = desc->flags & cudaArrayLayered;
    if (desc->flags & cudaArrayCubemap) {
        return layered ? EXEC_IMAGE_CUBE_LAYERED : EXEC_IMAGE_CUBE;
    }
    if (desc->extent.height == 0) {
        return layered ? EXEC_IMAGE_1D_LAYERED : EXEC_IMAGE_1D;
    }
    if (desc->extent.depth == 0) {
        return EXEC_IMAGE_2D;
    }
    return layered ? EXEC_IMAGE_2D_LAYERED : EXEC_IMAGE_3D;
}

static size_t at_level(size_t size, unsigned level)
{
    size_t reduced = size >> level;
    return reduced ? reduced : 1;
}

static size_t round_up(size_t size, size_t alignment)
{
    return (size + alignment - 1) & ~(alignment - 1);
}

// Fills in the levels but for their addresses, which are at `ret_offsets` from the start; returns
// the bytes of all. The limits of a device keep every product far below 2^64.
static size_t lay_out(struct irtb_array *array, const struct irtb_array_desc *desc,
                      size_t ret_offsets[CPU_ARRAY_LEVELS])
{
    size_t offset = 0;
    size_t block = array->format.block;
    for (unsigned i = 0; i < array->level_count; i++) {
        struct exec_image_level *level = &array->levels[i];
        level->width = (uint32_t)at_level(desc->extent.width, i);
        level->height = (uint32_t)at_level(desc->extent.height, i);
        level->depth = (uint32_t)(array->kind == EXEC_IMAGE_3D ? at_level(desc->extent.depth, i)
                                  : desc->extent.depth         ? desc->extent.depth
                                                               : 1);
        level->row_pitch = round_up((level->width + block - 1) / block * array->format.element_size,
                                    ROW_ALIGNMENT);
        level->slice_pitch = level->row_pitch * ((level->height + block - 1) / block);
        ret_offsets[i] = offset;
        offset = round_up(offset + level->slice_pitch * level->depth, LEVEL_ALIGNMENT);
    }
    return offset;
}

// Puts the storage into external memory.
static cudaError_t place(struct irtb_array *array, const struct irtb_array_desc *desc, size_t size)
{
    if (desc->fd_offset % LEVEL_ALIGNMENT != 0 || size > desc->fd_size) {
        return cudaErrorInvalidValue;
    }
    array->external = size;
    array->memory = cpu_shared_place(desc->fd, desc->fd_offset, size);
    return array->memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t cpu_array_create(int device, const struct irtb_array_desc *desc,
                             struct irtb_array **ret_array)
{
    struct irtb_array *array = calloc(1, sizeof *array);
    if (!array) {
        return cudaErrorMemoryAllocation;
    }
    array->device = device;
    array->level_count = desc->levels;
    array->kind = kind_of(desc);
    if (desc->levels > CPU_ARRAY_LEVELS || !cpu_format_of(&desc->format, &array->format)) {
        free(array);
        return cudaErrorNotSupported;
    }
    size_t offsets[CPU_ARRAY_LEVELS] = {0};
    size_t size = lay_out(array, desc, offsets);
    cudaError_t error = desc->external
                            ? place(array, desc, size)
                            : cpu_heap_alloc(&cpu.devices[device].memory, size, &array->memory);
    if (error) {
        free(array);
        return error;
    }
    for (unsigned i = 0; i < array->level_count; i++) {
        array->levels[i].base = (unsigned char *)array->memory + offsets[i];
    }
    *ret_array = array;
    return cudaSuccess;
}

void cpu_array_destroy(struct irtb_array *array)
{
    if (array && array->external) {
        cpu_shared_remove(array->memory, array->external, false);
        free(array);
    } else if (array) {
        cpu_heap_free(&cpu.devices[array->device].memory, array->memory);
        free(array);
    }
}

void cpu_array_level(const struct irtb_array *array, unsigned level,
                     struct irtb_array_view *ret_view)
{
    const struct exec_image_level *from = &array->levels[level];
    size_t block = array->format.block;
    *ret_view = (struct irtb_array_view){
        .base = from->base,
        .width = (from->width + block - 1) / block,
        .height = (from->height + block - 1) / block,
        .depth = from->depth,
        .element_size = array->format.element_size,
        .row_pitch = from->row_pitch,
        .slice_pitch = from->slice_pitch,
    };
}
