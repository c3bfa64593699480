// SPDX-License-Identifier: Apache-2.0
//
// Texels in memory and as four numbers: decoding of every channel type, encoding for formatted
// surface stores. The decoders are inline so that texture.c can specialise them for the usual
// formats; blocks (BC1 to BC7) are decoded in texel_block.c. Used by texture.c and surface.c.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../image.h"

// Four channels in order r, g, b, a: as numbers, or as the 32-bit patterns that registers get.
typedef float texel_float __attribute__((vector_size(16)));
typedef uint32_t texel_bits __attribute__((vector_size(16)));
typedef int32_t texel_int __attribute__((vector_size(16)));

#define EXEC_INLINE static inline __attribute__((always_inline))

// The channels that a format lacks read as 0, alpha as 1.

EXEC_INLINE float exec_half_to_float(uint16_t half)
{
    uint32_t magnitude = half & 0x7fffu, bits = magnitude << 13;
    float number;
    memcpy(&number, &bits, sizeof number);
    number *= 0x1p112f;
    memcpy(&bits, &number, sizeof bits);
    bits |= magnitude >= 0x7c00u ? 0x7f800000u : 0;
    bits |= (uint32_t)(half & 0x8000u) << 16;
    memcpy(&number, &bits, sizeof number);
    return number;
}

// Four bytes as numbers 0 to 255; four halves.
EXEC_INLINE texel_float exec_bytes_to_float(const unsigned char *at)
{
    typedef uint8_t bytes __attribute__((vector_size(16)));
    typedef uint16_t shorts __attribute__((vector_size(16)));
    uint32_t word;
    memcpy(&word, at, sizeof word);
    bytes b = (bytes)(texel_bits){word, 0, 0, 0};
    const shorts zero = {0};
    shorts wide = (shorts)__builtin_shufflevector(b, (bytes)zero, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20,
                                                  5, 21, 6, 22, 7, 23);
    return __builtin_convertvector(
        (texel_int)__builtin_shufflevector(wide, zero, 0, 8, 1, 9, 2, 10, 3, 11), texel_float);
}

EXEC_INLINE texel_float exec_halves_to_float(const unsigned char *at)
{
    typedef uint16_t shorts __attribute__((vector_size(16)));
    typedef uint64_t longs __attribute__((vector_size(16)));
    uint64_t word;
    memcpy(&word, at, sizeof word);
    shorts h = (shorts)(longs){word, 0};
    const shorts zero = {0};
    texel_bits bits = (texel_bits)__builtin_shufflevector(h, zero, 0, 8, 1, 9, 2, 10, 3, 11);
    texel_bits magnitude = bits & 0x7fff;
    texel_bits number = (texel_bits)((texel_float)(magnitude << 13) * 0x1p112f);
    number |= (texel_bits)(magnitude >= 0x7c00) & 0x7f800000u;
    return (texel_float)(number | (bits & 0x8000) << 16);
}

// Rounds to nearest even; NaN becomes the canonical 0x7fff.
uint16_t exec_float_to_half(float number);

// Linear value of an sRGB byte, 0 to 1 (IEC 61966-2-1).
float exec_srgb_to_linear(uint8_t value);

// Number of texel x, y (0 to 3 each) of a BC block; sRGB is not applied.
texel_float exec_block_decode(enum exec_channel channel, const unsigned char *block, unsigned x,
                              unsigned y);

// Stores four register patterns as a texel (sust.p): floats, unsigned or signed integers as the
// channel type asks; integers saturate. Blocks have no such store: false.
bool exec_texel_store(enum exec_channel channel, unsigned channels, unsigned char *at,
                      const uint32_t *values);

// Does a texture of this format read as floating point?
EXEC_INLINE bool exec_channel_is_float(unsigned channel, bool normalized)
{
    return channel == EXEC_CHANNEL_F32 || channel == EXEC_CHANNEL_F16 || normalized ||
           (channel >= EXEC_CHANNEL_UNORM8 && channel != EXEC_CHANNEL_U10_10_10_2);
}

EXEC_INLINE int32_t exec_channel_raw(unsigned channel, const unsigned char *at, unsigned index)
{
    switch (channel) {
    case EXEC_CHANNEL_U8:
    case EXEC_CHANNEL_UNORM8:
        return at[index];
    case EXEC_CHANNEL_S8:
    case EXEC_CHANNEL_SNORM8:
        return (int8_t)at[index];
    case EXEC_CHANNEL_S16:
    case EXEC_CHANNEL_SNORM16: {
        int16_t value;
        memcpy(&value, at + (size_t)2 * index, sizeof value);
        return value;
    }
    case EXEC_CHANNEL_U32:
    case EXEC_CHANNEL_S32: {
        int32_t value;
        memcpy(&value, at + (size_t)4 * index, sizeof value);
        return value;
    }
    case EXEC_CHANNEL_UNORM10_10_10_2:
    case EXEC_CHANNEL_U10_10_10_2: {
        uint32_t word;
        memcpy(&word, at, sizeof word);
        return (int32_t)(word >> 10 * index & (index == 3 ? 3u : 1023u));
    }
    default: { // U16, UNORM16, F16
        uint16_t value;
        memcpy(&value, at + (size_t)2 * index, sizeof value);
        return value;
    }
    }
}

// What a raw unsigned normalised channel is divided by; 0 for signed and other types.
EXEC_INLINE float exec_channel_scale(unsigned channel, unsigned index)
{
    switch (channel) {
    case EXEC_CHANNEL_U8:
    case EXEC_CHANNEL_UNORM8:
        return 255.0f;
    case EXEC_CHANNEL_U16:
    case EXEC_CHANNEL_UNORM16:
        return 65535.0f;
    case EXEC_CHANNEL_UNORM10_10_10_2:
    case EXEC_CHANNEL_U10_10_10_2:
        return index == 3 ? 3.0f : 1023.0f;
    default:
        return 0;
    }
}

EXEC_INLINE float exec_channel_number(unsigned channel, const unsigned char *at, unsigned index)
{
    if (channel == EXEC_CHANNEL_F32) {
        float number;
        memcpy(&number, at + (size_t)4 * index, sizeof number);
        return number;
    }
    int32_t raw = exec_channel_raw(channel, at, index);
    if (channel == EXEC_CHANNEL_F16) {
        return exec_half_to_float((uint16_t)raw);
    }
    if (channel == EXEC_CHANNEL_S8 || channel == EXEC_CHANNEL_SNORM8) {
        return raw < -127 ? -1.0f : (float)raw / 127.0f;
    }
    if (channel == EXEC_CHANNEL_S16 || channel == EXEC_CHANNEL_SNORM16) {
        return raw < -32767 ? -1.0f : (float)raw / 32767.0f;
    }
    return (float)raw / exec_channel_scale(channel, index);
}

// Texel of a format that reads as floats (no blocks, no sRGB).
EXEC_INLINE texel_float exec_texel_number(unsigned channel, unsigned channels,
                                          const unsigned char *at)
{
    if (channel == EXEC_CHANNEL_F32 && channels == 4) {
        texel_float texel;
        memcpy(&texel, at, sizeof texel);
        return texel;
    }
    texel_float texel = {0, 0, 0, 1};
    for (unsigned i = 0; i < channels; i++) {
        texel[i] = exec_channel_number(channel, at, i);
    }
    return texel;
}

// Texel of a format that reads as integers.
EXEC_INLINE texel_bits exec_texel_integer(unsigned channel, unsigned channels,
                                          const unsigned char *at)
{
    texel_bits texel = {0, 0, 0, 1};
    for (unsigned i = 0; i < channels; i++) {
        texel[i] = (uint32_t)exec_channel_raw(channel, at, i);
    }
    return texel;
}
