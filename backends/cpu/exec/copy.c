// SPDX-License-Identifier: Apache-2.0
//
// Box copies and fills. Rows that lie next to each other are merged, so that the common cases are
// one memmove or one memset.
#include "copy.h"

#include <string.h>

void exec_copy_box(const struct irtb_copy *copy)
{
    size_t width = copy->width, height = copy->height, depth = copy->depth;
    size_t dst_pitch = copy->dst_pitch, src_pitch = copy->src_pitch;
    size_t dst_slice = copy->dst_slice, src_slice = copy->src_slice;
    if (height > 1 && dst_pitch == width && src_pitch == width) {
        width *= height; // the rows of a slice are one row
        height = 1;
    }
    if (height == 1 && depth > 1) {
        if (dst_slice == width && src_slice == width) {
            width *= depth;
        } else {
            height = depth; // the slices are rows
            dst_pitch = dst_slice;
            src_pitch = src_slice;
        }
        depth = 1;
    }
    for (size_t z = 0; z < depth; z++) {
        unsigned char *dst = (unsigned char *)copy->dst + z * dst_slice;
        const unsigned char *src = (const unsigned char *)copy->src + z * src_slice;
        for (size_t y = 0; y < height; y++) {
            memmove(dst + y * dst_pitch, src + y * src_pitch, width);
        }
    }
}

static void fill_row(unsigned char *row, uint32_t value, unsigned element_size, size_t count)
{
    uint32_t byte = value & 0xffu;
    bool uniform = element_size == 1 ||
                   (element_size == 2 && (value & 0xffffu) == byte * 0x0101u) ||
                   (element_size == 4 && value == byte * 0x01010101u);
    if (uniform) {
        memset(row, (int)byte, count * element_size);
    } else if (element_size == 2) {
        uint16_t half = (uint16_t)value;
        for (size_t i = 0; i < count; i++) {
            memcpy(row + 2 * i, &half, sizeof half);
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            memcpy(row + 4 * i, &value, sizeof value);
        }
    }
}

void exec_fill_box(const struct irtb_fill *fill)
{
    size_t width = fill->width, height = fill->height;
    if (height > 1 && fill->pitch == width * fill->element_size) {
        width *= height;
        height = 1;
    }
    for (size_t z = 0; z < fill->depth; z++) {
        for (size_t y = 0; y < height; y++) {
            fill_row((unsigned char *)fill->dst + z * fill->slice + y * fill->pitch, fill->value,
                     fill->element_size, width);
        }
    }
}
