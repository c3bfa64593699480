// SPDX-License-Identifier: Apache-2.0
//
// Sampling of one mipmap level: coordinates to texel indices, point and linear filters, gather,
// cube faces with seamless edges, texel fetch. Source: CUDA Programming Guide, "Texture Fetching":
// point filtering reads T[floor(x)]; linear filtering reads around xB = x - 0.5 with weights of
// 8 fractional bits (rounded to nearest, so that 1.0 occurs). Wrap and mirror work on normalised
// coordinates only and are clamp otherwise. No coordinate, NaN and infinities included, leads
// outside the image.
#include "texture.h"

#include <math.h>

// ---------------------------------------------------------------- coordinates

// floorf without a call; floats from 2^23 on are integers.
EXEC_INLINE float floor_float(float x)
{
    if (!(fabsf(x) < 8388608.0f)) {
        return x;
    }
    float whole = (float)(int32_t)x;
    return whole > x ? whole - 1 : whole;
}

// floor to an integer within low..high; NaN is low.
EXEC_INLINE int32_t floor_index(double x, int32_t low, int32_t high)
{
    x = x > (double)low ? x : (double)low;
    x = x < (double)high ? x : (double)high;
    int32_t whole = (int32_t)x;
    return (double)whole > x ? whole - 1 : whole;
}

// Coordinate in texels; wrap and mirror bring it into 0..size.
EXEC_INLINE float to_texels(float x, uint32_t size, unsigned mode, bool normalized)
{
    if (!normalized) {
        return x;
    }
    if (mode == EXEC_ADDRESS_WRAP) {
        x -= floor_float(x);
    } else if (mode == EXEC_ADDRESS_MIRROR) {
        float whole = floor_float(x);
        x -= whole;
        x = whole - 2 * floor_float(whole * 0.5f) != 0 ? 1 - x : x;
    }
    return x * (float)size;
}

// Index of a texel that may lie one outside: -1 means the border colour.
EXEC_INLINE int32_t to_index(int32_t i, uint32_t size, unsigned mode, bool normalized)
{
    if ((uint32_t)i < size) {
        return i;
    }
    if (mode == EXEC_ADDRESS_BORDER) {
        return -1;
    }
    if (mode == EXEC_ADDRESS_WRAP && normalized) {
        return i < 0 ? (int32_t)size - 1 : 0;
    }
    return i < 0 ? 0 : (int32_t)size - 1;
}

// The two texels of a linear filter along one dimension and the weight of the second.
struct axis {
    int32_t low, high;
    float weight;
};

EXEC_INLINE struct axis axis_linear(float x, uint32_t size, unsigned mode, bool normalized)
{
    float u = to_texels(x, size, mode, normalized);
    int32_t limit = (int32_t)(size < (1u << 22) ? size : 1u << 22);
    // xB in 1/256, rounded to nearest.
    int32_t fixed = floor_index(((double)u - 0.5) * 256 + 0.5, -512, 256 * (limit + 1));
    int32_t i = fixed >> 8;
    return (struct axis){to_index(i, size, mode, normalized),
                         to_index(i + 1, size, mode, normalized), (float)(fixed & 255) / 256};
}

EXEC_INLINE int32_t axis_point(float x, uint32_t size, unsigned mode, bool normalized)
{
    float u = to_texels(x, size, mode, normalized);
    int32_t limit = (int32_t)(size < (1u << 30) ? size : 1u << 30);
    return to_index(floor_index((double)u, -1, limit), size, mode, normalized);
}

// With offsets (operand e) an index may be far outside: general arithmetic. The offset moves in
// texels, so a mirrored coordinate is not folded before it.
static int32_t offset_index(int64_t i, uint32_t size, unsigned mode, bool normalized)
{
    int64_t n = size;
    if (i >= 0 && i < n) {
        return (int32_t)i;
    }
    if (mode == EXEC_ADDRESS_BORDER) {
        return -1;
    }
    if (normalized && mode == EXEC_ADDRESS_WRAP) {
        return (int32_t)((i % n + n) % n);
    }
    if (normalized && mode == EXEC_ADDRESS_MIRROR) {
        int64_t k = (i % (2 * n) + 2 * n) % (2 * n);
        return (int32_t)(k < n ? k : 2 * n - 1 - k);
    }
    return i < 0 ? 0 : (int32_t)(n - 1);
}

static struct axis axis_offset(float x, uint32_t size, unsigned mode, bool normalized,
                               int32_t offset, bool linear)
{
    double u = normalized ? (double)(x * (float)size) : (double)x;
    u = u > -0x1p40 ? u : -0x1p40; // also NaN
    u = u < 0x1p40 ? u : 0x1p40;
    int64_t fixed = linear ? (int64_t)floor((u - 0.5) * 256 + 0.5) : (int64_t)floor(u) * 256;
    // >> of a negative number keeps the sign with the compilers that this project supports.
    int64_t i = (fixed >> 8) + offset;
    return (struct axis){offset_index(i, size, mode, normalized),
                         offset_index(i + 1, size, mode, normalized), (float)(fixed & 255) / 256};
}

// ---------------------------------------------------------------- texels

EXEC_INLINE bool reads_floats(const struct exec_texture *t)
{
    return exec_channel_is_float(t->channel, t->normalized_read != 0);
}

static texel_bits bits_of(texel_float number)
{
    texel_bits bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static texel_float border_number(const struct exec_texture *t)
{
    return (texel_float){t->border[0], t->border[1], t->border[2], t->border[3]};
}

// The border colour of a texture that reads as integers: its values, saturated.
static texel_bits border_integer(const struct exec_texture *t)
{
    texel_bits texel = {0, 0, 0, 0};
    for (unsigned i = 0; i < 4; i++) {
        double value = (double)t->border[i];
        texel[i] = value >= 0x1p32    ? UINT32_MAX
                   : value > 0        ? (uint32_t)value
                   : value > -0x1p31  ? (uint32_t)(int32_t)value
                   : value <= -0x1p31 ? UINT32_C(0x80000000)
                                      : 0;
    }
    return texel;
}

static float srgb_number(float s)
{
    return s <= 0.04045f ? s / 12.92f : powf((s + 0.055f) / 1.055f, 2.4f);
}

static const unsigned char *row_of(const struct exec_image_level *level, uint32_t y, uint32_t z)
{
    return level->base + (uint64_t)z * level->slice_pitch + (uint64_t)y * level->row_pitch;
}

static texel_float number_at(const struct exec_texture *t, const struct exec_image_level *level,
                             uint32_t x, uint32_t y, uint32_t z)
{
    texel_float texel;
    if (t->channel >= EXEC_CHANNEL_BC1) {
        const unsigned char *block = row_of(level, y / 4, z) + (uint64_t)(x / 4) * t->element_size;
        texel = exec_block_decode((enum exec_channel)t->channel, block, x % 4, y % 4);
        for (unsigned i = 0; t->srgb && i < 3; i++) {
            texel[i] = srgb_number(texel[i]);
        }
        return texel;
    }
    const unsigned char *at = row_of(level, y, z) + (uint64_t)x * t->element_size;
    texel = exec_texel_number(t->channel, t->channels, at);
    if (t->srgb && (t->channel == EXEC_CHANNEL_U8 || t->channel == EXEC_CHANNEL_UNORM8)) {
        for (unsigned i = 0; i < 3 && i < t->channels; i++) {
            texel[i] = exec_srgb_to_linear(at[i]);
        }
    }
    return texel;
}

static texel_float number_or_border(const struct exec_texture *t,
                                    const struct exec_image_level *level, int32_t x, int32_t y,
                                    int32_t z)
{
    if (x < 0 || y < 0 || z < 0) {
        return border_number(t);
    }
    return number_at(t, level, (uint32_t)x, (uint32_t)y, (uint32_t)z);
}

// Patterns of one texel, or of the border.
static texel_bits texel_at(const struct exec_texture *t, const struct exec_image_level *level,
                           int32_t x, int32_t y, int32_t z)
{
    if (reads_floats(t)) {
        return bits_of(number_or_border(t, level, x, y, z));
    }
    if (x < 0 || y < 0 || z < 0) {
        return border_integer(t);
    }
    const unsigned char *at =
        row_of(level, (uint32_t)y, (uint32_t)z) + (uint64_t)(uint32_t)x * t->element_size;
    return exec_texel_integer(t->channel, t->channels, at);
}

// ---------------------------------------------------------------- filters

EXEC_INLINE texel_float mix(texel_float a, texel_float b, float weight)
{
    return (1 - weight) * a + weight * b;
}

static uint32_t extent(const struct exec_image_level *level, unsigned dimension)
{
    return dimension == 0 ? level->width : dimension == 1 ? level->height : level->depth;
}

// Axes of a sample; dimensions that the image does not have stay at index 0, the third of a
// layered image at the layer.
static void find_axes(const struct exec_texture *t, const struct exec_image_level *level,
                      const struct exec_sample *sample, bool linear, struct axis axes[3])
{
    bool normalized = t->normalized_coords != 0;
    for (unsigned d = 0; d < 3; d++) {
        uint32_t size = extent(level, d);
        unsigned mode = t->address[d];
        if (d >= sample->dimensions) {
            int32_t fixed = d == 2 ? (int32_t)sample->layer : 0;
            axes[d] = (struct axis){fixed, fixed, 0};
        } else if (sample->offset != NULL) {
            axes[d] = axis_offset(sample->at[d], size, mode, normalized, sample->offset[d], linear);
        } else if (linear) {
            axes[d] = axis_linear(sample->at[d], size, mode, normalized);
        } else {
            axes[d].low = axis_point(sample->at[d], size, mode, normalized);
        }
    }
}

static __attribute__((noinline)) texel_bits sample_any(const struct exec_texture *t,
                                                       const struct exec_image_level *level,
                                                       const struct exec_sample *sample)
{
    struct axis a[3];
    bool linear = t->filter == EXEC_FILTER_LINEAR && reads_floats(t);
    find_axes(t, level, sample, linear, a);
    if (!linear) {
        return texel_at(t, level, a[0].low, a[1].low, a[2].low);
    }
    texel_float plane[2], row[2];
    for (unsigned k = 0; k < (sample->dimensions > 2 ? 2 : 1); k++) {
        int32_t z = k == 0 ? a[2].low : a[2].high;
        for (unsigned j = 0; j < (sample->dimensions > 1 ? 2 : 1); j++) {
            int32_t y = j == 0 ? a[1].low : a[1].high;
            row[j] = mix(number_or_border(t, level, a[0].low, y, z),
                         number_or_border(t, level, a[0].high, y, z), a[0].weight);
        }
        plane[k] = sample->dimensions > 1 ? mix(row[0], row[1], a[1].weight) : row[0];
    }
    return bits_of(sample->dimensions > 2 ? mix(plane[0], plane[1], a[2].weight) : plane[0]);
}

// ---------------------------------------------------------------- usual formats

// Addresses of the texels that a filter reads: 1, 2 or 4 rows (y before z), two texels each (one
// when the filter is point), and the weights of the second ones.
struct taps {
    const unsigned char *row[4];
    size_t low, high;
    float weight[3];
};

// False: a texel is the border.
EXEC_INLINE bool find_taps(const struct exec_texture *t, const struct exec_image_level *level,
                           const float at[3], unsigned dimensions, uint32_t layer, bool linear,
                           struct taps *ret)
{
    bool normalized = t->normalized_coords != 0;
    size_t size = t->element_size;
    if (!linear) {
        int32_t i = axis_point(at[0], level->width, t->address[0], normalized), j = 0;
        int32_t k = (int32_t)layer;
        if (dimensions > 1) {
            j = axis_point(at[1], level->height, t->address[1], normalized);
        }
        if (dimensions > 2) {
            k = axis_point(at[2], level->depth, t->address[2], normalized);
        }
        ret->row[0] = row_of(level, (uint32_t)j, (uint32_t)k) + (uint64_t)(uint32_t)i * size;
        return (i | j | k) >= 0;
    }
    struct axis a = axis_linear(at[0], level->width, t->address[0], normalized);
    struct axis b = {0, 0, 0}, c = {(int32_t)layer, (int32_t)layer, 0};
    if (dimensions > 1) {
        b = axis_linear(at[1], level->height, t->address[1], normalized);
    }
    if (dimensions > 2) {
        c = axis_linear(at[2], level->depth, t->address[2], normalized);
    }
    ret->low = (size_t)(uint32_t)a.low * size;
    ret->high = (size_t)(uint32_t)a.high * size;
    ret->row[0] = row_of(level, (uint32_t)b.low, (uint32_t)c.low);
    ret->row[1] = row_of(level, (uint32_t)b.high, (uint32_t)c.low);
    ret->row[2] = row_of(level, (uint32_t)b.low, (uint32_t)c.high);
    ret->row[3] = row_of(level, (uint32_t)b.high, (uint32_t)c.high);
    ret->weight[0] = a.weight;
    ret->weight[1] = b.weight;
    ret->weight[2] = c.weight;
    return (a.low | a.high | b.low | b.high | c.low | c.high) >= 0;
}

// Numbers of a texel before the division of unsigned normalised formats.
EXEC_INLINE float load_one(unsigned channel, const unsigned char *at)
{
    return channel == EXEC_CHANNEL_U8 ? (float)*at : exec_channel_number(channel, at, 0);
}

EXEC_INLINE texel_float load_all(unsigned channel, unsigned channels, const unsigned char *at)
{
    if (channels == 4 && channel == EXEC_CHANNEL_U8) {
        return exec_bytes_to_float(at);
    }
    if (channels == 4 && channel == EXEC_CHANNEL_F16) {
        return exec_halves_to_float(at);
    }
    return exec_texel_number(channel, channels, at);
}

// Both forms of the filter, for one channel as a scalar and for all as a vector.
#define ROW(i, LOAD)                                          \
    ((1 - taps->weight[0]) * LOAD(taps->row[i] + taps->low) + \
     taps->weight[0] * LOAD(taps->row[i] + taps->high))
#define PLANE(i, LOAD) ((1 - taps->weight[1]) * ROW(i, LOAD) + taps->weight[1] * ROW((i) + 1, LOAD))
#define FILTER(LOAD)                        \
    (!linear           ? LOAD(taps->row[0]) \
     : dimensions == 1 ? ROW(0, LOAD)       \
     : dimensions == 2                      \
         ? PLANE(0, LOAD)                   \
         : (1 - taps->weight[2]) * PLANE(0, LOAD) + taps->weight[2] * PLANE(2, LOAD))
#define LOAD_ONE(at) load_one(channel, (at))
#define LOAD_ALL(at) load_all(channel, channels, (at))

EXEC_INLINE texel_bits filter_as(const struct taps *taps, unsigned dimensions, bool linear,
                                 unsigned channel, unsigned channels)
{
    float scale = channel == EXEC_CHANNEL_U8 ? 255.0f : 1.0f;
    if (channels == 1) {
        float value = FILTER(LOAD_ONE);
        return bits_of((texel_float){value / scale, 0, 0, 1});
    }
    texel_float value = FILTER(LOAD_ALL);
    return bits_of(scale == 1 ? value : value / scale);
}

// The filter with the format known to the compiler. False: not one of the usual formats.
EXEC_INLINE bool filter_taps(const struct exec_texture *t, const struct taps *taps,
                             unsigned dimensions, bool linear, texel_bits *ret)
{
    switch (t->channel << 4 | t->channels << 1 | (t->normalized_read != 0)) {
#define CASE(channel, channels, normalized)                                           \
    case EXEC_CHANNEL_##channel << 4 | (channels) << 1 | (normalized):                \
        *ret = filter_as(taps, dimensions, linear, EXEC_CHANNEL_##channel, channels); \
        return true;
        CASE(F32, 1, 0)
        CASE(F32, 2, 0)
        CASE(F32, 4, 0)
        CASE(F16, 1, 0)
        CASE(F16, 4, 0)
        CASE(U8, 1, 1)
        CASE(U8, 4, 1)
#undef CASE
    default:
        return false;
    }
}

// False: the format is not usual, or the border is read.
EXEC_INLINE bool sample_usual(const struct exec_texture *t, const struct exec_image_level *level,
                              const float at[3], unsigned dimensions, uint32_t layer,
                              texel_bits *ret)
{
    struct taps taps;
    if (t->srgb) {
        return false;
    }
    if (t->filter == EXEC_FILTER_POINT) {
        return find_taps(t, level, at, dimensions, layer, false, &taps) &&
               filter_taps(t, &taps, dimensions, false, ret);
    }
    return find_taps(t, level, at, dimensions, layer, true, &taps) &&
           filter_taps(t, &taps, dimensions, true, ret);
}

texel_bits exec_sample_level(const struct exec_texture *t, const struct exec_image_level *level,
                             const struct exec_sample *sample)
{
    texel_bits result;
    bool done = false;
    if (sample->offset == NULL) {
        switch (sample->dimensions) {
        case 1:
            done = sample_usual(t, level, sample->at, 1, sample->layer, &result);
            break;
        case 2:
            done = sample_usual(t, level, sample->at, 2, sample->layer, &result);
            break;
        default:
            done = sample_usual(t, level, sample->at, 3, 0, &result);
            break;
        }
    }
    return done ? result : sample_any(t, level, sample);
}

EXEC_INLINE texel_bits sample_base(const struct exec_texture *t, const float at[3],
                                   unsigned dimensions)
{
    texel_bits result;
    if (sample_usual(t, t->levels, at, dimensions, 0, &result)) {
        return result;
    }
    struct exec_sample sample = {.at = {at[0], at[1], at[2]}, .dimensions = dimensions};
    return sample_any(t, t->levels, &sample);
}

texel_bits exec_sample_1d(const struct exec_texture *t, float x)
{
    return sample_base(t, (const float[3]){x, 0, 0}, 1);
}

texel_bits exec_sample_2d(const struct exec_texture *t, float x, float y)
{
    return sample_base(t, (const float[3]){x, y, 0}, 2);
}

texel_bits exec_sample_3d(const struct exec_texture *t, float x, float y, float z)
{
    return sample_base(t, (const float[3]){x, y, z}, 3);
}

texel_bits exec_fetch_level(const struct exec_texture *t, const struct exec_image_level *level,
                            const int32_t at[3], uint32_t layer, unsigned dimensions)
{
    int32_t index[3] = {0, 0, (int32_t)layer};
    for (unsigned d = 0; d < dimensions; d++) {
        uint32_t size = extent(level, d);
        if (t->kind == EXEC_IMAGE_LINEAR && (uint32_t)at[d] >= size) {
            return (texel_bits){0, 0, 0, 0};
        }
        index[d] = to_index(at[d], size, t->address[d], false);
    }
    return texel_at(t, level, index[0], index[1], index[2]);
}

// ---------------------------------------------------------------- cubes

unsigned exec_cube_face(const float at[3], float ret_place[2], float *ret_major)
{
    float x = at[0], y = at[1], z = at[2];
    float ax = fabsf(x), ay = fabsf(y), az = fabsf(z);
    unsigned face;
    if (az >= ax && az >= ay) {
        face = z < 0 ? 5 : 4;
        ret_place[0] = z < 0 ? -x : x;
        ret_place[1] = -y;
        *ret_major = az;
    } else if (ay >= ax) {
        face = y < 0 ? 3 : 2;
        ret_place[0] = x;
        ret_place[1] = y < 0 ? -z : z;
        *ret_major = ay;
    } else {
        face = x < 0 ? 1 : 0;
        ret_place[0] = x < 0 ? z : -z;
        ret_place[1] = -y;
        *ret_major = ax;
    }
    return face;
}

// The direction of a place on a face (s and t may be beyond -1..1).
static void cube_direction(unsigned face, float s, float t, float ret_at[3])
{
    const float table[6][3] = {{1, -t, -s}, {-1, -t, s}, {s, 1, t},
                               {s, -1, -t}, {s, -t, 1},  {-s, -t, -1}};
    memcpy(ret_at, table[face], sizeof table[face]);
}

// The texel of a neighbouring face that lies where x, y is outside of this one along one edge: the
// direction of its centre, projected again.
static uint32_t cross_edge(const struct exec_image_level *level, uint32_t layer, int32_t *x,
                           int32_t *y)
{
    float n = (float)level->width, at[3], place[2], major;
    cube_direction(layer % 6, (2 * (float)*x + 1) / n - 1, (2 * (float)*y + 1) / n - 1, at);
    uint32_t face = exec_cube_face(at, place, &major);
    int32_t last = (int32_t)level->width - 1;
    *x = floor_index((double)((place[0] / major + 1) / 2 * n), 0, last);
    *y = floor_index((double)((place[1] / major + 1) / 2 * n), 0, last);
    return layer - layer % 6 + face;
}

static texel_float cube_texel(const struct exec_texture *t, const struct exec_image_level *level,
                              uint32_t layer, int32_t x, int32_t y)
{
    int32_t last = (int32_t)level->width - 1;
    bool outside_x = x < 0 || x > last, outside_y = y < 0 || y > last;
    int32_t inside_x = x < 0 ? 0 : x > last ? last : x, inside_y = y < 0 ? 0 : y > last ? last : y;
    if (!t->seamless_cube || (!outside_x && !outside_y)) {
        return number_at(t, level, (uint32_t)inside_x, (uint32_t)inside_y, layer);
    }
    if (outside_x && outside_y) { // a corner has three texels: the fourth is their mean
        return (cube_texel(t, level, layer, x, inside_y) +
                cube_texel(t, level, layer, inside_x, y) +
                cube_texel(t, level, layer, inside_x, inside_y)) /
               3;
    }
    layer = cross_edge(level, layer, &x, &y);
    return number_at(t, level, (uint32_t)x, (uint32_t)y, layer);
}

// Fixed-point place of a linear filter on a face: lower index and weight.
static int32_t face_axis(float s, uint32_t size, float *ret_weight)
{
    int32_t fixed =
        floor_index(((double)(s * (float)size) - 0.5) * 256 + 0.5, -128, 256 * (int32_t)size);
    *ret_weight = (float)(fixed & 255) / 256;
    return fixed >> 8;
}

texel_bits exec_sample_face(const struct exec_texture *t, const struct exec_image_level *level,
                            const struct exec_sample *sample)
{
    uint32_t n = level->width;
    if (t->filter != EXEC_FILTER_LINEAR || !reads_floats(t)) {
        int32_t last = (int32_t)n - 1;
        return texel_at(t, level, floor_index((double)(sample->at[0] * (float)n), 0, last),
                        floor_index((double)(sample->at[1] * (float)n), 0, last),
                        (int32_t)sample->layer);
    }
    float wx, wy;
    int32_t x = face_axis(sample->at[0], n, &wx), y = face_axis(sample->at[1], n, &wy);
    texel_bits result;
    if (x >= 0 && y >= 0 && x + 1 < (int32_t)n && y + 1 < (int32_t)n && !t->srgb) {
        struct taps taps = {.row = {row_of(level, (uint32_t)y, sample->layer),
                                    row_of(level, (uint32_t)y + 1, sample->layer)},
                            .low = (size_t)(uint32_t)x * t->element_size,
                            .weight = {wx, wy}};
        taps.high = taps.low + t->element_size;
        if (filter_taps(t, &taps, 2, true, &result)) {
            return result;
        }
    }
    texel_float row[2];
    for (int32_t j = 0; j < 2; j++) {
        row[j] = mix(cube_texel(t, level, sample->layer, x, y + j),
                     cube_texel(t, level, sample->layer, x + 1, y + j), wx);
    }
    return bits_of(mix(row[0], row[1], wy));
}

// ---------------------------------------------------------------- gather

static uint32_t component_of(texel_bits texel, unsigned component)
{
    return texel[component];
}

texel_bits exec_gather_level(const struct exec_texture *t, const struct exec_image_level *level,
                             const struct exec_sample *sample, unsigned component, bool cube)
{
    // Columns and rows of the four texels: (i0,j1) (i1,j1) (i1,j0) (i0,j0).
    static const unsigned char column[4] = {0, 1, 1, 0}, row[4] = {1, 1, 0, 0};
    texel_bits result;
    if (cube) {
        float weight;
        int32_t x = face_axis(sample->at[0], level->width, &weight);
        int32_t y = face_axis(sample->at[1], level->width, &weight);
        int32_t last = (int32_t)level->width - 1;
        for (unsigned i = 0; i < 4; i++) {
            int32_t tx = x + column[i], ty = y + row[i];
            if (reads_floats(t)) {
                result[i] =
                    component_of(bits_of(cube_texel(t, level, sample->layer, tx, ty)), component);
            } else {
                tx = tx < 0 ? 0 : tx > last ? last : tx;
                ty = ty < 0 ? 0 : ty > last ? last : ty;
                result[i] =
                    component_of(texel_at(t, level, tx, ty, (int32_t)sample->layer), component);
            }
        }
        return result;
    }
    struct axis a[3];
    find_axes(t, level, sample, true, a);
    for (unsigned i = 0; i < 4; i++) {
        result[i] = component_of(texel_at(t, level, column[i] ? a[0].high : a[0].low,
                                          row[i] ? a[1].high : a[1].low, a[2].low),
                                 component);
    }
    return result;
}
