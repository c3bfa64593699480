// SPDX-License-Identifier: Apache-2.0
//
// BC6H and BC7 blocks. Tables and arithmetic: Khronos Data Format Specification 1.3, "BPTC
// Compressed Texture Image Formats". A texel is decoded by itself: its subset's two endpoints are
// read, interpolated by its index.
#include "texel_bptc.h"

// ---------------------------------------------------------------- what both have in common

// Subset of each texel, two bits a texel, by number of subsets (2, 3) and partition.
static const uint32_t partitions[2][64] = {
    {0x50505050, 0x40404040, 0x54545454, 0x54505040, 0x50404000, 0x55545450, 0x55545040,
     0x54504000, 0x50400000, 0x55555450, 0x55544000, 0x54400000, 0x55555440, 0x55550000,
     0x55555500, 0x55000000, 0x55150100, 0x00004054, 0x15010000, 0x00405054, 0x00004050,
     0x15050100, 0x05010000, 0x40505054, 0x00404050, 0x05010100, 0x14141414, 0x05141450,
     0x01155440, 0x00555500, 0x15014054, 0x05414150, 0x44444444, 0x55005500, 0x11441144,
     0x05055050, 0x05500550, 0x11114444, 0x41144114, 0x44111144, 0x15055054, 0x01055040,
     0x05041050, 0x05455150, 0x14414114, 0x50050550, 0x41411414, 0x00141400, 0x00041504,
     0x00105410, 0x10541000, 0x04150400, 0x50410514, 0x41051450, 0x05415014, 0x14054150,
     0x41050514, 0x41505014, 0x40011554, 0x54150140, 0x50505500, 0x00555050, 0x15151010,
     0x54540404},
    {0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0,
     0x5a5a5050, 0xaa550000, 0xaa555500, 0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4,
     0xa9a59450, 0x2a0a4250, 0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0, 0xa8a85454,
     0x6a6a4040, 0xa4a45000, 0x1a1a0500, 0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400,
     0xa08585a0, 0xaa821414, 0x50a4a450, 0x6a5a0200, 0xa9a58000, 0x5090a0a8, 0xa8a09050,
     0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50, 0x500aa550, 0xaaaa4444,
     0x66660000, 0xa5a0a5a0, 0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600, 0xaa444444,
     0x54a854a8, 0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414, 0x96960000,
     0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000, 0x40804080, 0xa9a8a9a8, 0xaaaaaa44,
     0x2a4a5254},
};

// Texels whose index has one bit less, besides texel 0: second subset of two; second and third of
// three.
static const uint8_t anchors[3][64] = {
    {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2,  8, 2, 2, 8,
     8,  15, 2,  8,  2,  2,  8,  8,  2,  2,  15, 15, 6,  8,  2,  8,  15, 15, 2, 8, 2, 2,
     2,  15, 15, 6,  6,  2,  6,  8,  15, 15, 2,  2,  15, 15, 15, 15, 15, 2,  2, 15},
    {3,  3,  15, 15, 8, 3,  15, 15, 8,  8,  6, 6,  6, 5,  3, 3,  3,  3,  8,  15, 3,  3,
     6,  10, 5,  8,  8, 6,  8,  5,  15, 15, 8, 15, 3, 5,  6, 10, 8,  15, 15, 3,  15, 5,
     15, 15, 15, 15, 3, 15, 5,  5,  5,  8,  5, 10, 5, 10, 8, 13, 15, 12, 3,  3},
    {15, 8, 8, 3,  15, 15, 3,  8,  15, 15, 15, 15, 15, 15, 15, 8,  15, 8,  15, 3,  15, 8,
     15, 8, 3, 15, 6,  10, 15, 15, 10, 8,  15, 3,  15, 10, 10, 8,  9,  10, 6,  15, 8,  15,
     3,  6, 6, 8,  15, 3,  15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3,  15, 15, 8},
};

static const uint8_t weights[5][16] = {
    [2] = {0, 21, 43, 64},
    [3] = {0, 9, 18, 27, 37, 46, 55, 64},
    [4] = {0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64},
};

// Bits start … start + count - 1 of the block, count <= 16.
static uint32_t bits_at(const unsigned char *block, unsigned start, unsigned count)
{
    uint32_t bits = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned at = start + i;
        bits |= (uint32_t)(block[at / 8] >> at % 8 & 1) << i;
    }
    return bits;
}

static unsigned subset_of(unsigned subsets, unsigned partition, unsigned index)
{
    return subsets == 1 ? 0 : partitions[subsets - 2][partition] >> 2 * index & 3;
}

static bool is_anchor(unsigned subsets, unsigned partition, unsigned index)
{
    return index == 0 || (subsets == 2 && index == anchors[0][partition]) ||
           (subsets == 3 && (index == anchors[1][partition] || index == anchors[2][partition]));
}

// Index of a texel in a list of indices of `width` bits that begins at bit `start`.
static unsigned index_of(const unsigned char *block, unsigned start, unsigned width,
                         unsigned subsets, unsigned partition, unsigned index)
{
    for (unsigned i = 0; i < index; i++) {
        start += width - (is_anchor(subsets, partition, i) ? 1 : 0);
    }
    return bits_at(block, start, width - (is_anchor(subsets, partition, index) ? 1 : 0));
}

// ---------------------------------------------------------------- BC7

struct bc7_mode {
    uint8_t subsets, partition_bits, rotation_bits, selection_bits, color_bits, alpha_bits;
    uint8_t endpoint_p, shared_p, index_bits, second_bits;
};

static const struct bc7_mode bc7_modes[8] = {
    {3, 4, 0, 0, 4, 0, 1, 0, 3, 0}, {2, 6, 0, 0, 6, 0, 0, 1, 3, 0}, {3, 6, 0, 0, 5, 0, 0, 0, 2, 0},
    {2, 6, 0, 0, 7, 0, 1, 0, 2, 0}, {1, 0, 2, 1, 5, 6, 0, 0, 2, 3}, {1, 0, 2, 0, 7, 8, 0, 0, 2, 2},
    {1, 0, 0, 0, 7, 7, 1, 0, 4, 0}, {2, 6, 0, 0, 5, 5, 1, 0, 2, 0},
};

// Widens a value of `width` bits to eight.
static uint32_t widen(uint32_t value, unsigned width)
{
    value <<= 8 - width;
    return value | value >> width;
}

texel_float exec_bc7_decode(const unsigned char *block, unsigned index)
{
    unsigned number = 0;
    while (number < 8 && bits_at(block, number, 1) == 0) {
        number++;
    }
    if (number == 8) {
        return (texel_float){0, 0, 0, 0};
    }
    const struct bc7_mode *m = &bc7_modes[number];
    unsigned at = number + 1;
    unsigned partition = bits_at(block, at, m->partition_bits);
    at += m->partition_bits;
    unsigned rotation = bits_at(block, at, m->rotation_bits);
    at += m->rotation_bits;
    unsigned selection = bits_at(block, at, m->selection_bits);
    at += m->selection_bits;
    unsigned subset = subset_of(m->subsets, partition, index), first = 2 * subset;
    unsigned endpoints = 2u * m->subsets;
    uint32_t ends[2][4];
    for (unsigned c = 0; c < 4; c++) {
        unsigned width = c < 3 ? m->color_bits : m->alpha_bits;
        for (unsigned e = 0; e < 2; e++) {
            ends[e][c] = bits_at(block, at + width * (first + e), width);
        }
        at += width * endpoints;
    }
    bool p_bits = m->endpoint_p || m->shared_p;
    for (unsigned e = 0; e < 2; e++) {
        uint32_t p = p_bits ? bits_at(block, at + (m->shared_p ? subset : first + e), 1) : 0;
        for (unsigned c = 0; c < 4; c++) {
            unsigned width = c < 3 ? m->color_bits : m->alpha_bits;
            if (width == 0) {
                ends[e][c] = 255;
            } else if (p_bits) {
                ends[e][c] = widen(ends[e][c] << 1 | p, width + 1);
            } else {
                ends[e][c] = widen(ends[e][c], width);
            }
        }
    }
    at += m->endpoint_p ? endpoints : m->shared_p ? m->subsets : 0;
    unsigned width[2] = {m->index_bits, m->second_bits ? m->second_bits : m->index_bits};
    unsigned place[2];
    place[0] = place[1] = index_of(block, at, width[0], m->subsets, partition, index);
    if (m->second_bits) {
        at += 16u * width[0] - m->subsets;
        place[1] = index_of(block, at, width[1], m->subsets, partition, index);
    }
    uint32_t values[4];
    for (unsigned c = 0; c < 4; c++) {
        unsigned list = (c == 3) != (selection == 1); // the second list is alpha's, or colour's
        uint32_t w = weights[width[list]][place[list]];
        values[c] = ((64 - w) * ends[0][c] + w * ends[1][c] + 32) >> 6;
    }
    if (rotation > 0) { // alpha changed places with r, g or b
        uint32_t alpha = values[3];
        values[3] = values[rotation - 1];
        values[rotation - 1] = alpha;
    }
    texel_float texel;
    for (unsigned c = 0; c < 4; c++) {
        texel[c] = (float)values[c] / 255.0f;
    }
    return texel;
}

// ---------------------------------------------------------------- BC6H

// Fields of endpoints: 3 · endpoint + component.
enum { R0, G0, B0, R1, G1, B1, R2, G2, B2, R3, G3, B3 };

struct bc6h_mode {
    uint8_t number, endpoint_bits, delta_bits[3];
    bool transformed;
    uint8_t regions;
    struct {
        uint8_t field, offset;
        int8_t count; // bits; negative: the highest first; 0: the end
    } parts[25];
};

// The places of all bits behind the mode, in order.
static const struct bc6h_mode bc6h_modes[] = {
    {0x00,
     10,
     {5, 5, 5},
     true,
     2,
     {{G2, 4, 1},
      {B2, 4, 1},
      {B3, 4, 1},
      {R0, 0, 10},
      {G0, 0, 10},
      {B0, 0, 10},
      {R1, 0, 5},
      {G3, 4, 1},
      {G2, 0, 4},
      {G1, 0, 5},
      {B3, 0, 1},
      {G3, 0, 4},
      {B1, 0, 5},
      {B3, 1, 1},
      {B2, 0, 4},
      {R2, 0, 5},
      {B3, 2, 1},
      {R3, 0, 5},
      {B3, 3, 1}}},
    {0x01, 7, {6, 6, 6}, true, 2, {{G2, 5, 1}, {G3, 4, 1}, {G3, 5, 1}, {R0, 0, 7}, {B3, 0, 1},
                                   {B3, 1, 1}, {B2, 4, 1}, {G0, 0, 7}, {B2, 5, 1}, {B3, 2, 1},
                                   {G2, 4, 1}, {B0, 0, 7}, {B3, 3, 1}, {B3, 5, 1}, {B3, 4, 1},
                                   {R1, 0, 6}, {G2, 0, 4}, {G1, 0, 6}, {G3, 0, 4}, {B1, 0, 6},
                                   {B2, 0, 4}, {R2, 0, 6}, {R3, 0, 6}}},
    {0x02,
     11,
     {5, 4, 4},
     true,
     2,
     {{R0, 0, 10},
      {G0, 0, 10},
      {B0, 0, 10},
      {R1, 0, 5},
      {R0, 10, 1},
      {G2, 0, 4},
      {G1, 0, 4},
      {G0, 10, 1},
      {B3, 0, 1},
      {G3, 0, 4},
      {B1, 0, 4},
      {B0, 10, 1},
      {B3, 1, 1},
      {B2, 0, 4},
      {R2, 0, 5},
      {B3, 2, 1},
      {R3, 0, 5},
      {B3, 3, 1}}},
    {0x06, 11, {4, 5, 4}, true, 2, {{R0, 0, 10}, {G0, 0, 10}, {B0, 0, 10}, {R1, 0, 4},
                                    {R0, 10, 1}, {G3, 4, 1},  {G2, 0, 4},  {G1, 0, 5},
                                    {G0, 10, 1}, {G3, 0, 4},  {B1, 0, 4},  {B0, 10, 1},
                                    {B3, 1, 1},  {B2, 0, 4},  {R2, 0, 4},  {B3, 0, 1},
                                    {B3, 2, 1},  {R3, 0, 4},  {G2, 4, 1},  {B3, 3, 1}}},
    {0x0a, 11, {4, 4, 5}, true, 2, {{R0, 0, 10}, {G0, 0, 10}, {B0, 0, 10}, {R1, 0, 4},
                                    {R0, 10, 1}, {B2, 4, 1},  {G2, 0, 4},  {G1, 0, 4},
                                    {G0, 10, 1}, {B3, 0, 1},  {G3, 0, 4},  {B1, 0, 5},
                                    {B0, 10, 1}, {B2, 0, 4},  {R2, 0, 4},  {B3, 1, 1},
                                    {B3, 2, 1},  {R3, 0, 4},  {B3, 4, 1},  {B3, 3, 1}}},
    {0x0e,
     9,
     {5, 5, 5},
     true,
     2,
     {{R0, 0, 9},
      {B2, 4, 1},
      {G0, 0, 9},
      {G2, 4, 1},
      {B0, 0, 9},
      {B3, 4, 1},
      {R1, 0, 5},
      {G3, 4, 1},
      {G2, 0, 4},
      {G1, 0, 5},
      {B3, 0, 1},
      {G3, 0, 4},
      {B1, 0, 5},
      {B3, 1, 1},
      {B2, 0, 4},
      {R2, 0, 5},
      {B3, 2, 1},
      {R3, 0, 5},
      {B3, 3, 1}}},
    {0x12,
     8,
     {6, 5, 5},
     true,
     2,
     {{R0, 0, 8},
      {G3, 4, 1},
      {B2, 4, 1},
      {G0, 0, 8},
      {B3, 2, 1},
      {G2, 4, 1},
      {B0, 0, 8},
      {B3, 3, 1},
      {B3, 4, 1},
      {R1, 0, 6},
      {G2, 0, 4},
      {G1, 0, 5},
      {B3, 0, 1},
      {G3, 0, 4},
      {B1, 0, 5},
      {B3, 1, 1},
      {B2, 0, 4},
      {R2, 0, 6},
      {R3, 0, 6}}},
    {0x16, 8, {5, 6, 5}, true, 2, {{R0, 0, 8}, {B3, 0, 1}, {B2, 4, 1}, {G0, 0, 8}, {G2, 5, 1},
                                   {G2, 4, 1}, {B0, 0, 8}, {G3, 5, 1}, {B3, 4, 1}, {R1, 0, 5},
                                   {G3, 4, 1}, {G2, 0, 4}, {G1, 0, 6}, {G3, 0, 4}, {B1, 0, 5},
                                   {B3, 1, 1}, {B2, 0, 4}, {R2, 0, 5}, {B3, 2, 1}, {R3, 0, 5},
                                   {B3, 3, 1}}},
    {0x1a, 8, {5, 5, 6}, true, 2, {{R0, 0, 8}, {B3, 1, 1}, {B2, 4, 1}, {G0, 0, 8}, {B2, 5, 1},
                                   {G2, 4, 1}, {B0, 0, 8}, {B3, 5, 1}, {B3, 4, 1}, {R1, 0, 5},
                                   {G3, 4, 1}, {G2, 0, 4}, {G1, 0, 5}, {B3, 0, 1}, {G3, 0, 4},
                                   {B1, 0, 6}, {B2, 0, 4}, {R2, 0, 5}, {B3, 2, 1}, {R3, 0, 5},
                                   {B3, 3, 1}}},
    {0x1e, 6, {6, 6, 6}, false, 2, {{R0, 0, 6}, {G3, 4, 1}, {B3, 0, 1}, {B3, 1, 1}, {B2, 4, 1},
                                    {G0, 0, 6}, {G2, 5, 1}, {B2, 5, 1}, {B3, 2, 1}, {G2, 4, 1},
                                    {B0, 0, 6}, {G3, 5, 1}, {B3, 3, 1}, {B3, 5, 1}, {B3, 4, 1},
                                    {R1, 0, 6}, {G2, 0, 4}, {G1, 0, 6}, {G3, 0, 4}, {B1, 0, 6},
                                    {B2, 0, 4}, {R2, 0, 6}, {R3, 0, 6}}},
    {0x03,
     10,
     {10, 10, 10},
     false,
     1,
     {{R0, 0, 10}, {G0, 0, 10}, {B0, 0, 10}, {R1, 0, 10}, {G1, 0, 10}, {B1, 0, 10}}},
    {0x07,
     11,
     {9, 9, 9},
     true,
     1,
     {{R0, 0, 10},
      {G0, 0, 10},
      {B0, 0, 10},
      {R1, 0, 9},
      {R0, 10, 1},
      {G1, 0, 9},
      {G0, 10, 1},
      {B1, 0, 9},
      {B0, 10, 1}}},
    {0x0b,
     12,
     {8, 8, 8},
     true,
     1,
     {{R0, 0, 10},
      {G0, 0, 10},
      {B0, 0, 10},
      {R1, 0, 8},
      {R0, 10, -2},
      {G1, 0, 8},
      {G0, 10, -2},
      {B1, 0, 8},
      {B0, 10, -2}}},
    {0x0f,
     16,
     {4, 4, 4},
     true,
     1,
     {{R0, 0, 10},
      {G0, 0, 10},
      {B0, 0, 10},
      {R1, 0, 4},
      {R0, 10, -6},
      {G1, 0, 4},
      {G0, 10, -6},
      {B1, 0, 4},
      {B0, 10, -6}}},
};

static int32_t sign_extend(uint32_t value, unsigned width)
{
    uint32_t sign = UINT32_C(1) << (width - 1);
    return (int32_t)((value ^ sign) - sign);
}

static void read_fields(const unsigned char *block, const struct bc6h_mode *m, unsigned at,
                        uint32_t fields[12])
{
    for (unsigned i = 0; i < 12; i++) {
        fields[i] = 0;
    }
    for (unsigned i = 0; i < 25 && m->parts[i].count != 0; i++) {
        unsigned count = (unsigned)(m->parts[i].count < 0 ? -m->parts[i].count : m->parts[i].count);
        for (unsigned k = 0; k < count; k++) {
            unsigned to = m->parts[i].count < 0 ? count - 1 - k : k;
            fields[m->parts[i].field] |= bits_at(block, at++, 1) << (m->parts[i].offset + to);
        }
    }
}

static int32_t unquantize(int32_t value, unsigned width, bool is_signed)
{
    if (is_signed) {
        if (width >= 16) {
            return value;
        }
        int32_t magnitude = value < 0 ? -value : value, limit = (1 << (width - 1)) - 1;
        magnitude = magnitude == 0       ? 0
                    : magnitude >= limit ? 0x7fff
                                         : ((magnitude << 15) + 0x4000) >> (width - 1);
        return value < 0 ? -magnitude : magnitude;
    }
    if (width >= 15 || value == 0) {
        return value;
    }
    return value == (1 << width) - 1 ? 0xffff : ((value << 15) + 0x4000) >> (width - 1);
}

static float finish(int32_t value, bool is_signed)
{
    if (!is_signed) {
        return exec_half_to_float((uint16_t)((value * 31) >> 6));
    }
    int32_t magnitude = ((value < 0 ? -value : value) * 31) >> 5;
    return exec_half_to_float((uint16_t)(magnitude | (value < 0 ? 0x8000 : 0)));
}

texel_float exec_bc6h_decode(const unsigned char *block, unsigned index, bool is_signed)
{
    unsigned at = bits_at(block, 0, 2) < 2 ? 2 : 5, number = bits_at(block, 0, at);
    const struct bc6h_mode *m = NULL;
    for (unsigned i = 0; i < sizeof bc6h_modes / sizeof bc6h_modes[0]; i++) {
        m = bc6h_modes[i].number == number ? &bc6h_modes[i] : m;
    }
    if (m == NULL) {
        return (texel_float){0, 0, 0, 1};
    }
    uint32_t fields[12];
    read_fields(block, m, at, fields);
    unsigned partition = m->regions == 2 ? bits_at(block, 77, 5) : 0;
    unsigned start = m->regions == 2 ? 82 : 65, width = m->regions == 2 ? 3 : 4;
    uint32_t w = weights[width][index_of(block, start, width, m->regions, partition, index)];
    unsigned first = 2 * subset_of(m->regions, partition, index);
    texel_float texel = {0, 0, 0, 1};
    for (unsigned c = 0; c < 3; c++) {
        int32_t ends[2];
        for (unsigned e = 0; e < 2; e++) {
            uint32_t value = fields[3 * (first + e) + c];
            if (m->transformed && first + e > 0) {
                value = (uint32_t)sign_extend(value, m->delta_bits[c]) + fields[c];
                value &= (UINT32_C(1) << m->endpoint_bits) - 1;
            }
            ends[e] = is_signed ? sign_extend(value, m->endpoint_bits) : (int32_t)value;
            ends[e] = unquantize(ends[e], m->endpoint_bits, is_signed);
        }
        int32_t value = ((64 - (int32_t)w) * ends[0] + (int32_t)w * ends[1] + 32) >> 6;
        texel[c] = finish(value, is_signed);
    }
    return texel;
}
