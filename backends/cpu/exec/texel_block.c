// SPDX-License-Identifier: Apache-2.0
//
// Block-compressed formats, one texel at a time. BC1 to BC5 are here, BC6H and BC7 in
// texel_bptc.c. Source: Khronos Data Format Specification 1.3, chapters "S3TC" and "RGTC".
#include "texel_bptc.h"

static uint64_t load_bits(const unsigned char *at, unsigned bytes)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < bytes; i++) {
        bits |= (uint64_t)at[i] << 8 * i;
    }
    return bits;
}

static texel_float color565(uint32_t bits)
{
    return (texel_float){(float)(bits >> 11 & 31) / 31.0f, (float)(bits >> 5 & 63) / 63.0f,
                         (float)(bits & 31) / 31.0f, 1};
}

// Colour part: 8 bytes. `punch`: BC1, whose blocks with color0 <= color1 have three colours and
// transparent black.
static texel_float color_block(const unsigned char *block, unsigned index, bool punch)
{
    uint32_t first = (uint32_t)load_bits(block, 2), second = (uint32_t)load_bits(block + 2, 2);
    texel_float a = color565(first), b = color565(second);
    bool three = punch && first <= second;
    switch (load_bits(block + 4, 4) >> 2 * index & 3) {
    case 0:
        return a;
    case 1:
        return b;
    case 2:
        return three ? (a + b) / 2 : (2 * a + b) / 3;
    default:
        return three ? (texel_float){0, 0, 0, 0} : (a + 2 * b) / 3;
    }
}

// One channel of BC3 alpha, BC4, BC5: 8 bytes.
static float channel_block(const unsigned char *block, unsigned index, bool is_signed)
{
    int a = is_signed ? (int8_t)block[0] : block[0], b = is_signed ? (int8_t)block[1] : block[1];
    bool eight = a > b;
    a = is_signed && a == -128 ? -127 : a;
    b = is_signed && b == -128 ? -127 : b;
    float scale = is_signed ? 127.0f : 255.0f;
    float x = (float)a / scale, y = (float)b / scale;
    unsigned code = (unsigned)(load_bits(block + 2, 6) >> 3 * index & 7);
    if (code < 2) {
        return code == 0 ? x : y;
    }
    if (eight) {
        return ((float)(8 - code) * x + (float)(code - 1) * y) / 7.0f;
    }
    if (code >= 6) {
        return code == 7 ? 1.0f : is_signed ? -1.0f : 0.0f;
    }
    return ((float)(6 - code) * x + (float)(code - 1) * y) / 5.0f;
}

texel_float exec_block_decode(enum exec_channel channel, const unsigned char *block, unsigned x,
                              unsigned y)
{
    unsigned index = 4 * y + x;
    texel_float texel = {0, 0, 0, 1};
    switch ((unsigned)channel) {
    case EXEC_CHANNEL_BC1:
        return color_block(block, index, true);
    case EXEC_CHANNEL_BC2:
        texel = color_block(block + 8, index, false);
        texel[3] = (float)(load_bits(block, 8) >> 4 * index & 15) / 15.0f;
        return texel;
    case EXEC_CHANNEL_BC3:
        texel = color_block(block + 8, index, false);
        texel[3] = channel_block(block, index, false);
        return texel;
    case EXEC_CHANNEL_BC4_U:
    case EXEC_CHANNEL_BC4_S:
        texel[0] = channel_block(block, index, channel == EXEC_CHANNEL_BC4_S);
        return texel;
    case EXEC_CHANNEL_BC5_U:
    case EXEC_CHANNEL_BC5_S:
        texel[0] = channel_block(block, index, channel == EXEC_CHANNEL_BC5_S);
        texel[1] = channel_block(block + 8, index, channel == EXEC_CHANNEL_BC5_S);
        return texel;
    case EXEC_CHANNEL_BC6H_U:
    case EXEC_CHANNEL_BC6H_S:
        return exec_bc6h_decode(block, index, channel == EXEC_CHANNEL_BC6H_S);
    default:
        return exec_bc7_decode(block, index);
    }
}
