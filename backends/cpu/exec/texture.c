// SPDX-License-Identifier: Apache-2.0
//
// Entries of texture instructions (image_ops.h): check the object, find the layer, the face and
// the mipmap levels, call the filters of texture_filter.c, and put the result into registers'
// form; queries. Source: CUDA Programming Guide, "Texture Memory" and "Texture Fetching"; PTX ISA
// 9.0 tex, tld4, txq, suq, istypep.
#include "texture.h"

#include <math.h>

#include "fault.h"

// ---------------------------------------------------------------- objects

const char *exec_image_kind_name(unsigned kind)
{
    static const char *const names[] = {"linear",     "1D", "1D layered", "2D",
                                        "2D layered", "3D", "cubemap",    "cubemap layered"};
    return kind < sizeof names / sizeof names[0] ? names[kind] : "unknown";
}

static _Noreturn __attribute__((cold)) void bad_object(const char *what, uint64_t object)
{
    exec_fault_leave(cudaErrorIllegalAddress, "0x%llx is no %s object", (unsigned long long)object,
                     what);
}

EXEC_INLINE const void *pointer_of(uint64_t object)
{
    return (const void *)(uintptr_t)object; // NOLINT(performance-no-int-to-ptr): it is an address
}

// A wild value may point anywhere; what cannot be read is a fault of the kernel like any other.
EXEC_INLINE const struct exec_texture *check(uint64_t object)
{
    const struct exec_texture *texture = pointer_of(object);
    if (object == 0 || object % 8 != 0 || texture->magic != EXEC_TEXTURE_MAGIC) {
        bad_object("texture", object);
    }
    return texture;
}

const struct exec_texture *exec_texture_check(uint64_t object)
{
    return check(object);
}

const struct exec_surface *exec_surface_check(uint64_t object)
{
    const struct exec_surface *surface = pointer_of(object);
    if (object == 0 || object % 8 != 0 || surface->magic != EXEC_SURFACE_MAGIC) {
        bad_object("surface", object);
    }
    return surface;
}

// Which kinds an instruction of each geometry may read: a bit for each enum exec_image_kind.
// Arrays with a height of 1 are often read as 1D, and an array is a layered one with one layer.
#define KIND(kind) (1u << EXEC_IMAGE_##kind)
static const uint16_t allowed[] = {
    [EXEC_GEOMETRY_1D] = KIND(LINEAR) | KIND(1D) | KIND(2D),
    [EXEC_GEOMETRY_2D] = KIND(1D) | KIND(2D),
    [EXEC_GEOMETRY_3D] = KIND(3D),
    [EXEC_GEOMETRY_A1D] = KIND(1D_LAYERED) | KIND(1D),
    [EXEC_GEOMETRY_A2D] = KIND(2D_LAYERED) | KIND(2D) | KIND(CUBE) | KIND(CUBE_LAYERED),
    [EXEC_GEOMETRY_CUBE] = KIND(CUBE),
    [EXEC_GEOMETRY_ACUBE] = KIND(CUBE_LAYERED) | KIND(CUBE),
};

static void check_geometry(const struct exec_texture *t, unsigned geometry)
{
    static const char *const names[] = {"1d", "2d", "3d", "a1d", "a2d", "cube", "acube"};
    if (geometry > EXEC_GEOMETRY_ACUBE || (allowed[geometry] >> t->kind & 1) == 0) {
        exec_fault_leave(cudaErrorIllegalAddress, "a %s texture is read by tex.%s",
                         exec_image_kind_name(t->kind),
                         geometry <= EXEC_GEOMETRY_ACUBE ? names[geometry] : "?");
    }
}

static float word_float(uint32_t word)
{
    float number;
    memcpy(&number, &word, sizeof number);
    return number;
}

EXEC_INLINE struct exec_words words_of(texel_bits texel)
{
    struct exec_words words;
    memcpy(&words, &texel, sizeof words);
    return words;
}

static struct exec_words halves_of(texel_bits texel)
{
    uint64_t low = 0;
    for (unsigned i = 0; i < 4; i++) {
        low |= (uint64_t)exec_float_to_half(word_float(texel[i])) << 16 * i;
    }
    return (struct exec_words){low, 0};
}

// ---------------------------------------------------------------- mipmap levels

// The levels to read and the weight of the second: bias, clamps, filter between levels.
struct levels {
    uint32_t low, high;
    float weight;
};

static struct levels choose_levels(const struct exec_texture *t, float lod)
{
    struct levels levels = {0, 0, 0};
    lod += t->mip_bias;
    lod = lod > t->min_clamp ? lod : t->min_clamp; // also NaN
    lod = lod < t->max_clamp ? lod : t->max_clamp;
    float last = (float)(t->level_count - 1);
    lod = lod > 0 ? lod : 0;
    lod = lod < last ? lod : last;
    if (t->mip_filter == EXEC_FILTER_POINT ||
        !exec_channel_is_float(t->channel, t->normalized_read != 0)) {
        levels.low = levels.high = (uint32_t)(lod + 0.5f);
        return levels;
    }
    uint32_t fixed = (uint32_t)(lod * 256 + 0.5f); // as the weights between texels
    levels.low = fixed >> 8;
    levels.high = levels.low + 1 < t->level_count ? levels.low + 1 : levels.low;
    levels.weight = (float)(fixed & 255) / 256;
    return levels;
}

static float length3(const float v[3])
{
    return sqrtf(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
}

// Level of detail of .grad: log2 of the longer derivative in texels of level 0. Isotropic.
static float lod_of_gradient(const struct exec_texture *t, const uint32_t *words,
                             unsigned dimensions)
{
    const struct exec_image_level *base = t->levels;
    float size[3] = {(float)base->width, (float)base->height, (float)base->depth};
    float rho = 0;
    for (unsigned i = 0; i < 2; i++) {
        float d[3] = {0, 0, 0};
        for (unsigned k = 0; k < dimensions && k < 3; k++) {
            d[k] = word_float(words[EXEC_WORD_GRADIENT + 3 * i + k]) *
                   (t->normalized_coords ? size[k] : 1);
        }
        rho = fmaxf(rho, length3(d));
    }
    return log2f(rho);
}

// The same for cubes: derivatives of the direction, projected onto the face (quotient rule).
static float lod_of_cube_gradient(const struct exec_texture *t, const uint32_t *words,
                                  const float at[3])
{
    float place[2], major, rho = 0;
    unsigned face = exec_cube_face(at, place, &major);
    unsigned axis = face / 2;
    float direction = face % 2 ? -1 : 1;
    for (unsigned i = 0; i < 2; i++) {
        float d[3], moved[3], d_place[2];
        for (unsigned k = 0; k < 3; k++) {
            d[k] = word_float(words[EXEC_WORD_GRADIENT + 3 * i + k]);
            moved[k] = d[k];
        }
        // How s and t change with the direction is how they depend on it, for this face.
        static const struct {
            unsigned char s, t;
            signed char s_sign, t_sign;
        } face_axes[6] = {{2, 1, -1, -1}, {2, 1, 1, -1}, {0, 2, 1, 1},
                          {0, 2, 1, -1},  {0, 1, 1, -1}, {0, 1, -1, -1}};
        d_place[0] = moved[face_axes[face].s] * (float)face_axes[face].s_sign;
        d_place[1] = moved[face_axes[face].t] * (float)face_axes[face].t_sign;
        float d_major = d[axis] * direction, n = (float)t->levels->width;
        float ds = 0.5f * n * (d_place[0] * major - place[0] * d_major) / (major * major);
        float dt = 0.5f * n * (d_place[1] * major - place[1] * d_major) / (major * major);
        rho = fmaxf(rho, sqrtf(ds * ds + dt * dt));
    }
    return log2f(rho);
}

// ---------------------------------------------------------------- the general operation

// The sampler of independent mode in place of the texture's own.
static const struct exec_texture *with_sampler(const struct exec_texture *t, uint64_t sampler,
                                               struct exec_texture *ret_copy)
{
    if ((sampler & EXEC_SAMPLER_MASK) != EXEC_SAMPLER) {
        bad_object("sampler", sampler);
    }
    *ret_copy = *t;
    for (unsigned i = 0; i < 3; i++) {
        ret_copy->address[i] = sampler >> (EXEC_SAMPLER_ADDRESS + 2 * i) & 3;
    }
    ret_copy->filter = sampler >> EXEC_SAMPLER_FILTER & 1;
    ret_copy->normalized_coords = (sampler >> EXEC_SAMPLER_UNNORMALIZED & 1) == 0;
    return ret_copy;
}

static unsigned dimensions_of(unsigned geometry)
{
    return geometry == EXEC_GEOMETRY_3D                                    ? 3
           : geometry == EXEC_GEOMETRY_1D || geometry == EXEC_GEOMETRY_A1D ? 1
                                                                           : 2;
}

static uint32_t layer_of(const struct exec_image_level *level, unsigned geometry, uint32_t layer)
{
    if (geometry != EXEC_GEOMETRY_A1D && geometry != EXEC_GEOMETRY_A2D) {
        return 0;
    }
    return layer < level->depth ? layer : level->depth - 1;
}

struct operation {
    const struct exec_texture *texture;
    const uint32_t *words;
    uint32_t op;
    unsigned geometry, dimensions;
    struct exec_sample sample;
    bool cube;
};

static texel_bits read_level(struct operation *o, uint32_t number)
{
    const struct exec_texture *t = o->texture;
    const struct exec_image_level *level = &t->levels[number];
    if (o->op & EXEC_TEXTURE_INTEGER) {
        int32_t at[3];
        for (unsigned i = 0; i < 3; i++) {
            at[i] = (int32_t)o->words[EXEC_WORD_X + i];
            if (o->op & EXEC_TEXTURE_OFFSET) {
                int64_t moved = (int64_t)at[i] + (int32_t)o->words[EXEC_WORD_OFFSET + i];
                at[i] = moved < INT32_MIN   ? INT32_MIN
                        : moved > INT32_MAX ? INT32_MAX
                                            : (int32_t)moved;
            }
        }
        return exec_fetch_level(t, level, at, o->sample.layer, o->dimensions);
    }
    if (o->op & EXEC_TEXTURE_GATHER) {
        return exec_gather_level(t, level, &o->sample, o->op >> EXEC_TEXTURE_COMPONENT_SHIFT & 3,
                                 o->cube);
    }
    return o->cube ? exec_sample_face(t, level, &o->sample)
                   : exec_sample_level(t, level, &o->sample);
}

static texel_bits read_levels(struct operation *o, float lod)
{
    const struct exec_texture *t = o->texture;
    if (t->level_count <= 1) {
        return read_level(o, 0);
    }
    struct levels levels = choose_levels(t, lod);
    texel_bits low = read_level(o, levels.low);
    if (levels.weight == 0 || levels.high == levels.low) {
        return low;
    }
    texel_bits high = read_level(o, levels.high);
    texel_float a, b;
    memcpy(&a, &low, sizeof a);
    memcpy(&b, &high, sizeof b);
    a = (1 - levels.weight) * a + levels.weight * b;
    memcpy(&low, &a, sizeof low);
    return low;
}

static float lod_of(const struct operation *o, const float direction[3])
{
    if (o->op & EXEC_TEXTURE_LEVEL) {
        uint32_t word = o->words[EXEC_WORD_LEVEL];
        return o->op & EXEC_TEXTURE_INTEGER ? (float)(int32_t)word : word_float(word);
    }
    if (o->op & EXEC_TEXTURE_GRADIENT && o->texture->level_count > 1) {
        return o->cube ? lod_of_cube_gradient(o->texture, o->words, direction)
                       : lod_of_gradient(o->texture, o->words, o->dimensions);
    }
    return 0;
}

static struct exec_words texture(uint64_t object, uint64_t sampler, const uint32_t *words,
                                 uint32_t op)
{
    struct exec_texture copy;
    const struct exec_texture *t = check(object);
    unsigned geometry = op & EXEC_TEXTURE_GEOMETRY;
    check_geometry(t, geometry);
    if (op & EXEC_TEXTURE_SAMPLER) {
        t = with_sampler(t, sampler, &copy);
    }
    struct operation o = {
        .texture = t,
        .words = words,
        .op = op,
        .geometry = geometry,
        .dimensions = dimensions_of(geometry),
        .cube = geometry == EXEC_GEOMETRY_CUBE || geometry == EXEC_GEOMETRY_ACUBE,
    };
    float direction[3] = {word_float(words[EXEC_WORD_X]), word_float(words[EXEC_WORD_Y]),
                          word_float(words[EXEC_WORD_Z])};
    o.sample.dimensions = o.dimensions;
    o.sample.layer = layer_of(t->levels, geometry, words[EXEC_WORD_LAYER]);
    memcpy(o.sample.at, direction, sizeof direction);
    if (op & EXEC_TEXTURE_OFFSET) {
        o.sample.offset = (const int32_t *)&words[EXEC_WORD_OFFSET];
    }
    if (o.cube) {
        float place[2], major;
        uint32_t cubes = t->levels->depth / 6, cube = words[EXEC_WORD_LAYER];
        cube = geometry == EXEC_GEOMETRY_CUBE ? 0 : cube < cubes ? cube : cubes - 1;
        o.sample.layer = 6 * cube + exec_cube_face(direction, place, &major);
        o.sample.at[0] = (place[0] / major + 1) / 2;
        o.sample.at[1] = (place[1] / major + 1) / 2;
    }
    texel_bits texel = read_levels(&o, lod_of(&o, direction));
    return op & EXEC_TEXTURE_HALF ? halves_of(texel) : words_of(texel);
}

// ---------------------------------------------------------------- usual operations

static __attribute__((noinline)) struct exec_words general(uint64_t object, float x, float y,
                                                           float z, uint32_t op)
{
    float at[3] = {x, y, z};
    uint32_t words[EXEC_WORD_COUNT] = {0};
    memcpy(&words[EXEC_WORD_X], at, sizeof at);
    return texture(object, 0, words, op);
}

static struct exec_words texture_1d(uint64_t object, float x)
{
    const struct exec_texture *t = check(object);
    if (t->kind == EXEC_IMAGE_1D && t->level_count == 1) {
        return words_of(exec_sample_1d(t, x));
    }
    return general(object, x, 0, 0, EXEC_GEOMETRY_1D);
}

static struct exec_words texture_2d(uint64_t object, float x, float y)
{
    const struct exec_texture *t = check(object);
    if (t->kind == EXEC_IMAGE_2D && t->level_count == 1) {
        return words_of(exec_sample_2d(t, x, y));
    }
    return general(object, x, y, 0, EXEC_GEOMETRY_2D);
}

static struct exec_words texture_3d(uint64_t object, float x, float y, float z)
{
    const struct exec_texture *t = check(object);
    if (t->kind == EXEC_IMAGE_3D && t->level_count == 1) {
        return words_of(exec_sample_3d(t, x, y, z));
    }
    return general(object, x, y, z, EXEC_GEOMETRY_3D);
}

static struct exec_words texture_fetch(uint64_t object, int32_t x)
{
    const struct exec_texture *t = check(object);
    if (t->kind != EXEC_IMAGE_LINEAR) {
        uint32_t words[EXEC_WORD_COUNT] = {[EXEC_WORD_X] = (uint32_t)x};
        return texture(object, 0, words, EXEC_GEOMETRY_1D | EXEC_TEXTURE_INTEGER);
    }
    if ((uint32_t)x >= t->levels->width) {
        return (struct exec_words){0, 0};
    }
    const unsigned char *at = t->levels->base + (uint64_t)(uint32_t)x * t->element_size;
    switch (t->channel << 4 | t->channels << 1 | (t->normalized_read != 0)) {
#define CASE(channel, channels, read)                   \
    case EXEC_CHANNEL_##channel << 4 | (channels) << 1: \
        return words_of((texel_bits)read(EXEC_CHANNEL_##channel, channels, at));
        CASE(F32, 1, exec_texel_number)
        CASE(F32, 2, exec_texel_number)
        CASE(F32, 4, exec_texel_number)
        CASE(U32, 1, exec_texel_integer)
        CASE(S32, 1, exec_texel_integer)
        CASE(U8, 1, exec_texel_integer)
#undef CASE
    default: {
        const int32_t index[3] = {x, 0, 0};
        return words_of(exec_fetch_level(t, t->levels, index, 0, 1));
    }
    }
}

// ---------------------------------------------------------------- queries

// Numbers of PTX for enum exec_address: wrap, mirror, clamp_ogl, clamp_to_edge, clamp_to_border.
static uint32_t address_number(unsigned mode)
{
    return mode == EXEC_ADDRESS_WRAP     ? 0
           : mode == EXEC_ADDRESS_MIRROR ? 1
           : mode == EXEC_ADDRESS_CLAMP  ? 3
                                         : 4;
}

static uint32_t level_query(unsigned kind, const struct exec_image_level *level, uint32_t what)
{
    switch (what) {
    case EXEC_QUERY_WIDTH:
        return level->width;
    case EXEC_QUERY_HEIGHT:
        return level->height;
    case EXEC_QUERY_DEPTH:
        return kind == EXEC_IMAGE_3D ? level->depth : 1;
    default: // array size: 0 when it is none
        return kind == EXEC_IMAGE_1D_LAYERED || kind == EXEC_IMAGE_2D_LAYERED ? level->depth
               : kind == EXEC_IMAGE_CUBE_LAYERED                              ? level->depth / 6
                                                                              : 0;
    }
}

static uint32_t sampler_query(uint64_t sampler, uint32_t what)
{
    switch (what) {
    case EXEC_QUERY_FILTER:
        return sampler >> EXEC_SAMPLER_FILTER & 1;
    case EXEC_QUERY_UNNORMALIZED:
        return sampler >> EXEC_SAMPLER_UNNORMALIZED & 1;
    case EXEC_QUERY_ADDRESS_0:
    case EXEC_QUERY_ADDRESS_1:
    case EXEC_QUERY_ADDRESS_2:
        return address_number(
            sampler >> (EXEC_SAMPLER_ADDRESS + 2 * (what - EXEC_QUERY_ADDRESS_0)) & 3);
    default:
        exec_fault_leave(cudaErrorIllegalAddress, "a texture attribute of a sampler is queried");
    }
}

// istypep: the value must be one that a texture, sampler or surface could have.
static uint32_t type_query(uint64_t object, uint32_t what)
{
    if (what == EXEC_QUERY_IS_SAMPLER) {
        return (object & EXEC_SAMPLER_MASK) == EXEC_SAMPLER;
    }
    if (object == 0 || object % 8 != 0 || (object & EXEC_SAMPLER_MASK) == EXEC_SAMPLER) {
        return 0;
    }
    const uint32_t *first = pointer_of(object); // the magic number of both
    uint32_t magic = *first;
    return magic == (what == EXEC_QUERY_IS_TEXTURE ? EXEC_TEXTURE_MAGIC : EXEC_SURFACE_MAGIC);
}

uint32_t exec_image_query(uint64_t object, uint32_t what, uint32_t level)
{
    if (what >= EXEC_QUERY_IS_TEXTURE && what <= EXEC_QUERY_IS_SURFACE) {
        return type_query(object, what);
    }
    if (what & EXEC_QUERY_SURFACE) {
        const struct exec_surface *s = exec_surface_check(object);
        what &= ~(uint32_t)EXEC_QUERY_SURFACE;
        // Surfaces are made of arrays only, which do not count as linear memory.
        return what == EXEC_QUERY_MEMORY_LAYOUT ? 0 : level_query(s->kind, &s->level, what);
    }
    if ((object & EXEC_SAMPLER_MASK) == EXEC_SAMPLER) {
        return sampler_query(object, what);
    }
    const struct exec_texture *t = check(object);
    switch (what) {
    case EXEC_QUERY_LEVELS:
        return t->level_count;
    case EXEC_QUERY_SAMPLES:
        return 1;
    case EXEC_QUERY_NORMALIZED:
        return t->normalized_coords != 0;
    case EXEC_QUERY_UNNORMALIZED:
        return t->normalized_coords == 0;
    case EXEC_QUERY_FILTER:
        return t->filter;
    case EXEC_QUERY_ADDRESS_0:
    case EXEC_QUERY_ADDRESS_1:
    case EXEC_QUERY_ADDRESS_2:
        return address_number(t->address[what - EXEC_QUERY_ADDRESS_0]);
    default:
        // A level that does not exist has no size.
        return level < t->level_count ? level_query(t->kind, &t->levels[level], what) : 0;
    }
}

const struct exec_image_functions exec_image_functions = {
    .texture = texture,
    .texture_1d = texture_1d,
    .texture_2d = texture_2d,
    .texture_3d = texture_3d,
    .texture_fetch = texture_fetch,
    .query = exec_image_query,
    .surface = exec_surface_operation,
};
