// SPDX-License-Identifier: Apache-2.0
//
// Shared by the files that perform texture and surface instructions: checked objects, the texels
// of one level, faces of cubes. texture.c has the entries that compiled code calls (image_ops.h),
// texture_filter.c the filters, surface.c the surfaces.
#pragma once

#include "texel.h"
#include "../image_ops.h"

extern const struct exec_image_functions exec_image_functions;

// The descriptor behind an object; leaves the kernel with cudaErrorIllegalAddress when there is
// none (null, garbage, destroyed, of the other kind).
const struct exec_texture *exec_texture_check(uint64_t object);
const struct exec_surface *exec_surface_check(uint64_t object);

// Names of enum exec_image_kind, for messages.
const char *exec_image_kind_name(unsigned kind);

struct exec_words exec_surface_operation(uint64_t surface, const uint32_t *words, uint32_t op);
uint32_t exec_image_query(uint64_t object, uint32_t what, uint32_t level);

// ---- texture_filter.c

// Where to sample: coordinates in texels or normalised as the texture says; `layer` is the slice
// of one- and two-dimensional images (layer, or 6 · cube + face). offset: of operand e.
struct exec_sample {
    float at[3];
    uint32_t layer;
    unsigned dimensions;   // 1, 2, 3
    const int32_t *offset; // or NULL
};

// One level, filtered as the texture says: patterns of four registers.
texel_bits exec_sample_level(const struct exec_texture *texture,
                             const struct exec_image_level *level,
                             const struct exec_sample *sample);
// The same for a face of a cube; at[] are s and t in 0..1, layer is 6 · cube + face.
texel_bits exec_sample_face(const struct exec_texture *texture,
                            const struct exec_image_level *level, const struct exec_sample *sample);
// One component of the four texels that a linear filter would use, in PTX order (counter-clockwise
// from the lower left). cube: as exec_sample_face.
texel_bits exec_gather_level(const struct exec_texture *texture,
                             const struct exec_image_level *level, const struct exec_sample *sample,
                             unsigned component, bool cube);
// Texel at integer coordinates. Outside: 0 in linear memory, else as the address mode says (wrap
// and mirror are clamp here).
texel_bits exec_fetch_level(const struct exec_texture *texture,
                            const struct exec_image_level *level, const int32_t at[3],
                            uint32_t layer, unsigned dimensions);
// Face of a direction and the place on it, which is to be divided by the magnitude of the largest
// coordinate (*ret_major); ties: z before y before x. Faces in order +x -x +y -y +z -z; Programming
// Guide, "Cubemap Textures".
unsigned exec_cube_face(const float at[3], float ret_place[2], float *ret_major);
// Level 0, fast for the usual formats.
texel_bits exec_sample_1d(const struct exec_texture *texture, float x);
texel_bits exec_sample_2d(const struct exec_texture *texture, float x, float y);
texel_bits exec_sample_3d(const struct exec_texture *texture, float x, float y, float z);
