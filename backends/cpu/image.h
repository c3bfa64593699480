// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects of the cpu backend as compiled kernels see them: the 64-bit value of
// a cudaTextureObject_t or cudaSurfaceObject_t is the address of one of these descriptors; a
// .texref, .samplerref or .surfref variable of a module is an 8-byte slot that holds such a value
// (0: unbound). texture.c makes descriptors, exec/texture*.c samples through them. Descriptors are
// constant while a kernel may use them. Everything is in host memory and linear: arrays are stored
// row by row, slice by slice.
// Source: CUDA Programming Guide, "Texture and Surface Memory" and "Texture Fetching".
#pragma once

#include <stdint.h>

#define EXEC_TEXTURE_MAGIC 0x54584554u // "TEXT"
#define EXEC_SURFACE_MAGIC 0x46525553u // "SURF"

enum exec_image_kind {
    EXEC_IMAGE_LINEAR,    // cudaResourceTypeLinear: width elements, tex1Dfetch only
    EXEC_IMAGE_1D,
    EXEC_IMAGE_1D_LAYERED,
    EXEC_IMAGE_2D,        // an array or pitched memory
    EXEC_IMAGE_2D_LAYERED,
    EXEC_IMAGE_3D,
    EXEC_IMAGE_CUBE,      // six faces as slices
    EXEC_IMAGE_CUBE_LAYERED,
};

// Type of one channel in memory. Normalised formats of resource views and cudaChannelFormatKind
// read as floats whatever read mode was asked for; BC blocks are decoded by the sampler.
enum exec_channel {
    EXEC_CHANNEL_U8, EXEC_CHANNEL_S8, EXEC_CHANNEL_U16, EXEC_CHANNEL_S16, EXEC_CHANNEL_U32,
    EXEC_CHANNEL_S32, EXEC_CHANNEL_F16, EXEC_CHANNEL_F32,
    EXEC_CHANNEL_UNORM8, EXEC_CHANNEL_SNORM8, EXEC_CHANNEL_UNORM16, EXEC_CHANNEL_SNORM16,
    EXEC_CHANNEL_UNORM10_10_10_2, EXEC_CHANNEL_U10_10_10_2, // one 32-bit word per element
    EXEC_CHANNEL_BC1, EXEC_CHANNEL_BC2, EXEC_CHANNEL_BC3, EXEC_CHANNEL_BC4_U, EXEC_CHANNEL_BC4_S,
    EXEC_CHANNEL_BC5_U, EXEC_CHANNEL_BC5_S, EXEC_CHANNEL_BC6H_U, EXEC_CHANNEL_BC6H_S,
    EXEC_CHANNEL_BC7,
};

// Values as enum cudaTextureAddressMode and cudaTextureFilterMode.
enum exec_address { EXEC_ADDRESS_WRAP, EXEC_ADDRESS_CLAMP, EXEC_ADDRESS_MIRROR,
                    EXEC_ADDRESS_BORDER };
enum exec_filter { EXEC_FILTER_POINT, EXEC_FILTER_LINEAR };

// One mipmap level. Sizes in elements (texels; 4x4 blocks count as 16 texels for BC formats).
struct exec_image_level {
    unsigned char *base;
    uint32_t width, height; // 1 where the kind has no such dimension
    uint32_t depth;         // slices of 3D, layers of layered kinds, 6 · layers of cubes; else 1
    uint64_t row_pitch;     // bytes from row to row (of blocks for BC)
    uint64_t slice_pitch;   // bytes from slice or layer to the next
};

struct exec_texture {
    uint32_t magic;               // EXEC_TEXTURE_MAGIC; 0 once destroyed
    uint8_t kind;                 // enum exec_image_kind
    uint8_t channel;              // enum exec_channel
    uint8_t channels;             // 1, 2 or 4
    uint8_t element_size;         // bytes of one texel (of one block for BC)
    uint8_t normalized_read;      // cudaReadModeNormalizedFloat of an 8- or 16-bit format
    uint8_t normalized_coords;
    uint8_t srgb;                 // convert sRGB to linear on reads (8-bit formats)
    uint8_t filter, mip_filter;   // enum exec_filter
    uint8_t address[3];           // enum exec_address
    uint8_t seamless_cube;        // filter across the edges of faces
    uint8_t trilinear_off;        // disableTrilinearOptimization: a hint
    uint32_t max_anisotropy;      // a hint
    float mip_bias, min_clamp, max_clamp;
    float border[4];
    uint32_t level_count;         // >= 1
    const struct exec_image_level *levels;
};

struct exec_surface {
    uint32_t magic;               // EXEC_SURFACE_MAGIC; 0 once destroyed
    uint8_t kind;
    uint8_t channel, channels, element_size;
    struct exec_image_level level;
};
