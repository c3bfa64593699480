// SPDX-License-Identifier: Apache-2.0
//
// CUDA arrays of the cpu backend: linear memory, row by row, slice by slice, level by level, and
// what a channel format means there. array.c owns the storage; texture.c makes descriptors of it.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "image.h"
#include "backends/backend.h"

// 131072 texels, the widest array that a device reports, have 18 levels.
enum { CPU_ARRAY_LEVELS = 18 };

struct cpu_format {
    uint8_t channel;      // enum exec_channel
    uint8_t channels;     // 1, 2 or 4
    uint8_t element_size; // bytes of a texel, or of a block
    uint8_t block;        // texels per side of a block; 1 for formats without blocks
    bool srgb;            // the values are sRGB whatever the texture says
};

struct irtb_array {
    int device;
    struct cpu_format format;
    uint8_t kind; // enum exec_image_kind
    unsigned level_count;
    void *memory;
    size_t external; // bytes of `memory` when it is a mapping of external memory, else 0
    struct exec_image_level levels[CPU_ARRAY_LEVELS];
};

// Formats of cudaChannelFormatDesc that fit one of enum exec_channel. False for any other.
bool cpu_format_of(const struct cudaChannelFormatDesc *desc, struct cpu_format *ret_format);

// The format of a resource view; not for cudaResViewFormatNone. False for an unknown one.
bool cpu_format_of_view(enum cudaResourceViewFormat view, struct cpu_format *ret_format);
