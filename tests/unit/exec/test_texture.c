// SPDX-License-Identifier: Apache-2.0
//
// The sampler against the oracle in double precision: formats, filters, address modes, dimensions,
// layers, mipmap levels, cubes, gather, coordinates that are no numbers, objects that are none.
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "texture_oracle.h"

TestSuite(texture, .timeout = 60);

static const struct format {
    uint8_t channel, channels, element_size;
    bool normalized_read;
} formats[] = {
    {EXEC_CHANNEL_F32, 1, 4, false},
    {EXEC_CHANNEL_F32, 2, 8, false},
    {EXEC_CHANNEL_F32, 4, 16, false},
    {EXEC_CHANNEL_F16, 1, 2, false},
    {EXEC_CHANNEL_F16, 4, 8, false},
    {EXEC_CHANNEL_U8, 1, 1, true},
    {EXEC_CHANNEL_U8, 2, 2, true},
    {EXEC_CHANNEL_U8, 4, 4, true},
    {EXEC_CHANNEL_S8, 4, 4, true},
    {EXEC_CHANNEL_U16, 1, 2, true},
    {EXEC_CHANNEL_S16, 2, 4, true},
    {EXEC_CHANNEL_U8, 4, 4, false},
    {EXEC_CHANNEL_S8, 1, 1, false},
    {EXEC_CHANNEL_S16, 4, 8, false},
    {EXEC_CHANNEL_U32, 1, 4, false},
    {EXEC_CHANNEL_S32, 4, 16, false},
    {EXEC_CHANNEL_UNORM8, 4, 4, false},
    {EXEC_CHANNEL_SNORM16, 1, 2, false},
    {EXEC_CHANNEL_UNORM10_10_10_2, 4, 4, false},
};
enum { FORMATS = sizeof formats / sizeof formats[0] };

static bool is_float(const struct exec_texture *t)
{
    return exec_channel_is_float(t->channel, t->normalized_read);
}

struct image {
    struct exec_texture texture;
    struct exec_image_level levels[8];
    size_t sizes[8];
};

static void fill(const struct exec_texture *t, unsigned char *at, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        at[i] = (unsigned char)oracle_random();
    }
    for (size_t i = 0; t->channel == EXEC_CHANNEL_F32 && i + 4 <= size; i += 4) {
        float v = (float)(int32_t)oracle_random() / 0x1p31f;
        memcpy(at + i, &v, sizeof v);
    }
    for (size_t i = 0; t->channel == EXEC_CHANNEL_F16 && i + 2 <= size; i += 2) {
        at[i + 1] = (unsigned char)(at[i + 1] & 0xbf); // finite, below 2
    }
}

static void make(struct image *image, const struct format *f, unsigned kind, uint32_t width,
                 uint32_t height, uint32_t depth, unsigned level_count)
{
    memset(image, 0, sizeof *image);
    struct exec_texture *t = &image->texture;
    *t = (struct exec_texture){
        .magic = EXEC_TEXTURE_MAGIC,
        .kind = (uint8_t)kind,
        .channel = f->channel,
        .channels = f->channels,
        .element_size = f->element_size,
        .normalized_read = f->normalized_read,
        .border = {0.25f, 0.5f, -0.75f, 2},
        .level_count = level_count,
        .levels = image->levels,
        .max_clamp = 100,
    };
    for (unsigned i = 0; i < level_count; i++) {
        struct exec_image_level *l = &image->levels[i];
        l->width = width >> i ? width >> i : 1;
        l->height = height >> i ? height >> i : 1;
        l->depth = kind == EXEC_IMAGE_3D && i > 0 ? (depth >> i ? depth >> i : 1) : depth;
        l->row_pitch = (uint64_t)l->width * f->element_size;
        l->slice_pitch = l->row_pitch * l->height;
        image->sizes[i] = l->slice_pitch * l->depth;
        l->base = oracle_guarded(image->sizes[i]);
        fill(t, l->base, image->sizes[i]);
    }
}

static void drop(struct image *image)
{
    for (unsigned i = 0; i < image->texture.level_count; i++) {
        oracle_unguard(image->levels[i].base, image->sizes[i]);
    }
}

// A result as numbers: floats, or integers as the format says.
static void numbers(const struct exec_texture *t, struct exec_words words, double ret[4])
{
    uint32_t bits[4];
    memcpy(bits, &words, sizeof bits);
    for (unsigned i = 0; i < 4; i++) {
        float f;
        memcpy(&f, &bits[i], sizeof f);
        bool is_signed = t->channel == EXEC_CHANNEL_S8 || t->channel == EXEC_CHANNEL_S16 ||
                         t->channel == EXEC_CHANNEL_S32;
        ret[i] = is_float(t) ? (double)f : is_signed ? (double)(int32_t)bits[i] : (double)bits[i];
    }
}

static struct exec_words call(const struct exec_texture *t, unsigned geometry, const float at[3],
                              uint32_t layer, uint32_t flags, const uint32_t *more, unsigned count)
{
    uint32_t words[EXEC_WORD_COUNT] = {layer};
    memcpy(&words[EXEC_WORD_X], at, 3 * sizeof at[0]);
    if (count) {
        memcpy(&words[EXEC_WORD_OFFSET], more, count * sizeof *more);
    }
    struct oracle_call c = {
        .object = (uint64_t)(uintptr_t)t, .words = words, .op = geometry | flags};
    memcpy(c.at, at, sizeof c.at);
    // The short forms where there is one.
    c.what = c.op == EXEC_GEOMETRY_1D   ? ORACLE_1D
             : c.op == EXEC_GEOMETRY_2D ? ORACLE_2D
             : c.op == EXEC_GEOMETRY_3D ? ORACLE_3D
                                        : ORACLE_TEXTURE;
    cr_assert(eq(int, oracle_perform(&c), cudaSuccess));
    return c.result;
}

static float coordinate(void)
{
    static const float edges[] = {0, 1, -1, 0.5f, -0.5f, 1.5f, 2, 1e-7f, -1e-7f, 0.999999f, 3, -3};
    uint32_t r = oracle_random();
    if (r % 4 == 0) {
        return edges[r / 4 % (sizeof edges / sizeof edges[0])];
    }
    return (float)(int32_t)oracle_random() / 0x1p31f * 2.5f;
}

static const struct shape {
    unsigned kind, geometry, dimensions;
    uint32_t width, height, depth;
} shapes[] = {
    {EXEC_IMAGE_1D, EXEC_GEOMETRY_1D, 1, 13, 1, 1},
    {EXEC_IMAGE_2D, EXEC_GEOMETRY_1D, 1, 8, 1, 1},
    {EXEC_IMAGE_2D, EXEC_GEOMETRY_2D, 2, 8, 5, 1},
    {EXEC_IMAGE_2D, EXEC_GEOMETRY_2D, 2, 1, 1, 1},
    {EXEC_IMAGE_3D, EXEC_GEOMETRY_3D, 3, 4, 7, 3},
    {EXEC_IMAGE_1D_LAYERED, EXEC_GEOMETRY_A1D, 1, 6, 1, 4},
    {EXEC_IMAGE_2D_LAYERED, EXEC_GEOMETRY_A2D, 2, 6, 3, 4},
};

static void check_samples(struct image *image, const struct shape *shape, unsigned count)
{
    struct exec_texture *t = &image->texture;
    const struct exec_image_level *l = t->levels;
    const uint32_t size[3] = {l->width, l->height, l->depth};
    bool linear = t->filter == EXEC_FILTER_LINEAR && is_float(t);
    for (unsigned n = 0; n < count; n++) {
        float at[3] = {0, 0, 0};
        double u[3] = {0, 0, 0}, got[4];
        for (unsigned d = 0; d < shape->dimensions; d++) {
            at[d] = coordinate() * (t->normalized_coords ? 1 : (float)size[d]);
            u[d] = (double)at[d] * (t->normalized_coords ? size[d] : 1);
        }
        uint32_t layer = oracle_random() % 6, want_layer = 0;
        if (shape->kind == EXEC_IMAGE_1D_LAYERED || shape->kind == EXEC_IMAGE_2D_LAYERED) {
            want_layer = layer < shape->depth ? layer : shape->depth - 1;
        }
        numbers(t, call(t, shape->geometry, at, layer, 0, NULL, 0), got);
        bool border = t->address[0] == EXEC_ADDRESS_BORDER;
        for (unsigned c = 0; c < 4; c++) {
            if (!is_float(t) && border && (c == 2 || c >= t->channels)) {
                continue; // borders of integers: see their own test
            }
            struct exec_texture as_read = *t;
            for (unsigned i = 0; i < 4 && !is_float(t); i++) {
                as_read.border[i] = truncf(t->border[i]);
            }
            cr_assert(
                oracle_agrees(&as_read, l, shape->dimensions, u, want_layer, c, linear, got[c]),
                "channel type %u x%u, shape %u, filter %u, mode %u, normalised %u: "
                "(%.9g, %.9g, %.9g) layer %u component %u: %.9g, not %.9g",
                t->channel, t->channels, shape->kind, t->filter, t->address[0],
                t->normalized_coords, (double)at[0], (double)at[1], (double)at[2], want_layer, c,
                got[c], oracle_sample(t, l, shape->dimensions, u, want_layer, c, linear));
        }
    }
}

Test(texture, samples)
{
    for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        for (unsigned f = 0; f < FORMATS; f++) {
            struct image image;
            make(&image, &formats[f], shapes[s].kind, shapes[s].width, shapes[s].height,
                 shapes[s].depth, 1);
            for (unsigned mode = 0; mode < 16; mode++) {
                image.texture.filter = mode & 1;
                image.texture.normalized_coords = mode >> 1 & 1;
                memset(image.texture.address, (int)(mode >> 2), 3);
                check_samples(&image, &shapes[s], 60);
            }
            drop(&image);
        }
    }
}

Test(texture, integer_border_is_its_value)
{
    struct image image;
    make(&image, &(struct format){EXEC_CHANNEL_S32, 4, 16, false}, EXEC_IMAGE_2D, 4, 4, 1, 1);
    memset(image.texture.address, EXEC_ADDRESS_BORDER, 3);
    const float border[4] = {-3, 7.9f, 1e20f, -1e20f};
    memcpy(image.texture.border, border, sizeof border);
    double got[4];
    numbers(&image.texture,
            call(&image.texture, EXEC_GEOMETRY_2D, (float[3]){-1, 1, 0}, 0, 0, NULL, 0), got);
    cr_assert(eq(dbl, got[0], -3));
    cr_assert(eq(dbl, got[1], 7));
    cr_assert(eq(dbl, got[2], -1)); // 0xffffffff
    cr_assert(eq(dbl, got[3], INT32_MIN));
    drop(&image);
}

Test(texture, odd_coordinates_stay_inside)
{
    static const float odd[] = {NAN,         INFINITY,      -INFINITY,      1e30f,
                                -1e30f,      2147483648.0f, -2147483648.0f, 4294967296.0f,
                                16777217.0f, -0.0f,         1e-45f};
    enum { ODD = sizeof odd / sizeof odd[0] };
    for (unsigned s = 0; s < sizeof shapes / sizeof shapes[0]; s++) {
        struct image image;
        make(&image, &formats[s], shapes[s].kind, shapes[s].width, shapes[s].height,
             shapes[s].depth, 1);
        for (unsigned mode = 0; mode < 16; mode++) {
            image.texture.filter = mode & 1;
            image.texture.normalized_coords = mode >> 1 & 1;
            memset(image.texture.address, (int)(mode >> 2), 3);
            for (unsigned n = 0; n < ODD * ODD * ODD; n++) {
                float at[3] = {odd[n % ODD], odd[n / ODD % ODD], odd[n / ODD / ODD]};
                call(&image.texture, shapes[s].geometry, at, UINT32_MAX - n, 0, NULL, 0);
                const uint32_t offset[3] = {7, (uint32_t)-8, 3};
                call(&image.texture, shapes[s].geometry, at, n, EXEC_TEXTURE_OFFSET, offset, 3);
                call(&image.texture, shapes[s].geometry, at, n, EXEC_TEXTURE_INTEGER, NULL, 0);
            }
        }
        drop(&image);
    }
}

Test(texture, offsets_move_in_texels)
{
    struct image image;
    make(&image, &formats[0], EXEC_IMAGE_2D, 7, 5, 1, 1);
    struct exec_texture *t = &image.texture;
    for (unsigned mode = 0; mode < 16; mode++) {
        t->filter = mode & 1;
        t->normalized_coords = mode >> 1 & 1;
        memset(t->address, (int)(mode >> 2), 3);
        for (unsigned n = 0; n < 300; n++) {
            int32_t offset[3] = {(int32_t)(oracle_random() % 16) - 8,
                                 (int32_t)(oracle_random() % 16) - 8, 0};
            float at[3] = {coordinate(), coordinate(), 0};
            double u[3] = {(double)at[0] * (t->normalized_coords ? 7 : 1) + offset[0],
                           (double)at[1] * (t->normalized_coords ? 5 : 1) + offset[1], 0};
            double got[4];
            uint32_t words[3];
            memcpy(words, offset, sizeof words);
            numbers(t, call(t, EXEC_GEOMETRY_2D, at, 0, EXEC_TEXTURE_OFFSET, words, 3), got);
            cr_assert(oracle_agrees(t, t->levels, 2, u, 0, 0, mode & 1, got[0]),
                      "mode %u: (%g, %g) + (%d, %d)", mode, (double)at[0], (double)at[1], offset[0],
                      offset[1]);
        }
    }
    drop(&image);
}

Test(texture, fetch)
{
    for (unsigned f = 0; f < FORMATS; f++) {
        struct image image;
        make(&image, &formats[f], EXEC_IMAGE_LINEAR, 37, 1, 1, 1);
        for (int32_t x = -3; x < 42; x++) {
            int32_t at = x == -3 ? INT32_MIN : x == 41 ? INT32_MAX : x;
            struct oracle_call call_ = {
                .what = ORACLE_FETCH, .object = (uint64_t)(uintptr_t)&image.texture, .x = at};
            cr_assert(eq(int, oracle_perform(&call_), cudaSuccess));
            double got[4];
            numbers(&image.texture, call_.result, got);
            for (unsigned c = 0; c < 4; c++) {
                double want = at < 0 || at >= 37
                                  ? 0
                                  : oracle_texel(&image.texture, image.levels, at, 0, 0, c);
                cr_assert(fabs(got[c] - want) <= 1e-7 * (1 + fabs(want)), "format %u at %d", f, at);
            }
        }
        drop(&image);
    }
}

Test(texture, levels)
{
    struct image image;
    make(&image, &formats[0], EXEC_IMAGE_2D, 32, 16, 1, 6);
    struct exec_texture *t = &image.texture;
    t->normalized_coords = 1;
    memset(t->address, EXEC_ADDRESS_CLAMP, 3);
    for (unsigned n = 0; n < 4000; n++) {
        t->filter = n & 1;
        t->mip_filter = n >> 1 & 1;
        t->mip_bias = n & 4 ? 0.75f : 0;
        t->min_clamp = n & 8 ? 1.25f : 0;
        t->max_clamp = n & 16 ? 3.5f : 99;
        float lod = (float)(int32_t)oracle_random() / 0x1p31f * 8;
        lod = n % 31 == 0 ? INFINITY : n % 37 == 0 ? -INFINITY : roundf(lod * 64) / 64;
        float at[3] = {coordinate() / 2, coordinate() / 2, 0};
        uint32_t more[4] = {0};
        memcpy(&more[3], &lod, sizeof lod);
        double got[4];
        numbers(t, call(t, EXEC_GEOMETRY_2D, at, 0, EXEC_TEXTURE_LEVEL, more, 4), got);
        double want =
            fmin(fmax((double)(lod + t->mip_bias), (double)t->min_clamp), (double)t->max_clamp);
        want = fmin(fmax(want, 0), 5);
        unsigned low = (unsigned)floor(want), high = low < 5 ? low + 1 : 5;
        double weight = want - low;
        if (t->mip_filter == EXEC_FILTER_POINT) {
            low = high = (unsigned)floor(want + 0.5);
            weight = 0;
        }
        double part[2];
        for (unsigned k = 0; k < 2; k++) {
            const struct exec_image_level *l = &t->levels[k ? high : low];
            double u[3] = {(double)(at[0] * (float)l->width), (double)(at[1] * (float)l->height)};
            part[k] = oracle_sample(t, l, 2, u, 0, 0, n & 1);
        }
        cr_assert(fabs((1 - weight) * part[0] + weight * part[1] - got[0]) < 2e-6,
                  "n %u lod %g: %g", n, (double)lod, got[0]);
    }
    drop(&image);
}

Test(texture, gradient_chooses_the_level)
{
    struct image image;
    make(&image, &formats[0], EXEC_IMAGE_2D, 64, 64, 1, 7);
    struct exec_texture *t = &image.texture;
    t->normalized_coords = 1;
    for (unsigned level = 0; level < 7; level++) { // 2^level texels from pixel to pixel
        float d = (float)(1u << level) / 64, gradient[6] = {d, 0, 0, 0, d / 2, 0};
        uint32_t more[9] = {0};
        memcpy(&more[3], gradient, sizeof gradient);
        double got[4];
        numbers(
            t,
            call(t, EXEC_GEOMETRY_2D, (float[3]){0.4f, 0.7f, 0}, 0, EXEC_TEXTURE_GRADIENT, more, 9),
            got);
        const struct exec_image_level *l = &t->levels[level];
        double u[3] = {(double)(0.4f * (float)l->width), (double)(0.7f * (float)l->height)};
        cr_assert(oracle_agrees(t, l, 2, u, 0, 0, false, got[0]), "level %u", level);
    }
    drop(&image);
}

Test(texture, gather)
{
    static const int dx[4] = {0, 1, 1, 0}, dy[4] = {1, 1, 0, 0};
    static const unsigned kinds[] = {2, 11, 15}; // float4, uchar4 and int4 as they are
    for (unsigned k = 0; k < 3; k++) {
        struct image image;
        make(&image, &formats[kinds[k]], EXEC_IMAGE_2D, 9, 6, 1, 1);
        struct exec_texture *t = &image.texture;
        memset(t->address, EXEC_ADDRESS_CLAMP, 3);
        for (int y = 0; y <= 6; y++) {
            for (int x = 0; x <= 9; x++) {
                for (unsigned c = 0; c < 4; c++) {
                    double got[4];
                    numbers(t,
                            call(t, EXEC_GEOMETRY_2D, (float[3]){(float)x, (float)y, 0}, 0,
                                 EXEC_TEXTURE_GATHER | c << EXEC_TEXTURE_COMPONENT_SHIFT, NULL, 0),
                            got);
                    for (unsigned i = 0; i < 4; i++) {
                        int64_t tx = oracle_index(x - 1 + dx[i], 9, EXEC_ADDRESS_CLAMP, false);
                        int64_t ty = oracle_index(y - 1 + dy[i], 6, EXEC_ADDRESS_CLAMP, false);
                        double want = oracle_texel(t, t->levels, tx, ty, 0, c);
                        cr_assert(fabs(got[i] - want) < 1e-6 * (1 + fabs(want)),
                                  "(%d, %d) component %u of texel %u", x, y, c, i);
                    }
                }
            }
        }
        drop(&image);
    }
}

// ---------------------------------------------------------------- cubes

// Table of the Programming Guide: face, m, s, t.
static unsigned face_of(const float v[3], double ret[2])
{
    double x = (double)v[0], y = (double)v[1], z = (double)v[2], m, s, t;
    unsigned face;
    if (fabs(x) > fabs(y) && fabs(x) > fabs(z)) {
        face = x < 0;
        m = x < 0 ? -x : x;
        s = x < 0 ? z : -z;
        t = -y;
    } else if (fabs(y) > fabs(x) && fabs(y) > fabs(z)) {
        face = 2 + (y < 0);
        m = y < 0 ? -y : y;
        s = x;
        t = y < 0 ? -z : z;
    } else {
        face = 4 + (z < 0);
        m = z < 0 ? -z : z;
        s = z < 0 ? -x : x;
        t = -y;
    }
    ret[0] = (s / m + 1) / 2;
    ret[1] = (t / m + 1) / 2;
    return face;
}

static double sample_cube(const struct exec_texture *t, const float v[3], uint32_t cube)
{
    double got[4];
    unsigned geometry = t->kind == EXEC_IMAGE_CUBE ? EXEC_GEOMETRY_CUBE : EXEC_GEOMETRY_ACUBE;
    numbers(t, call(t, geometry, v, cube, 0, NULL, 0), got);
    return got[0];
}

Test(texture, cube_faces)
{
    struct image image;
    make(&image, &formats[0], EXEC_IMAGE_CUBE_LAYERED, 8, 8, 18, 1);
    struct exec_texture *t = &image.texture;
    t->normalized_coords = 1;
    memset(t->address, EXEC_ADDRESS_CLAMP, 3);
    for (unsigned n = 0; n < 5000; n++) {
        float v[3];
        double place[2];
        for (unsigned i = 0; i < 3; i++) {
            v[i] = (float)(int32_t)oracle_random() / 0x1p31f;
        }
        t->filter = n & 1;
        uint32_t cube = n % 5, used = cube < 3 ? cube : 2;
        unsigned face = face_of(v, place);
        double u[3] = {place[0] * 8, place[1] * 8, 0};
        bool inner = u[0] > 0.6 && u[0] < 7.4 && u[1] > 0.6 && u[1] < 7.4;
        if ((n & 1) == 0 || inner) {
            cr_assert(oracle_agrees(t, t->levels, 2, u, 6 * used + face, 0, n & 1,
                                    sample_cube(t, v, cube)),
                      "(%g, %g, %g)", (double)v[0], (double)v[1], (double)v[2]);
        }
    }
    drop(&image);
}

Test(texture, cube_edges_are_seamless)
{
    struct image image;
    make(&image, &formats[0], EXEC_IMAGE_CUBE, 4, 4, 6, 1);
    struct exec_texture *t = &image.texture;
    t->normalized_coords = t->seamless_cube = 1;
    t->filter = EXEC_FILTER_LINEAR;
    unsigned differ = 0;
    for (unsigned n = 0; n < 4000; n++) { // an edge or a corner, from both sides
        float v[3], w[3];
        unsigned axis = n % 3, other = (axis + 1 + n / 3 % 2) % 3, third = 3 - axis - other;
        float e = 1e-6f;
        v[axis] = w[axis] = n & 8 ? 1 : -1;
        v[other] = (n & 16 ? 1 : -1) * (1 - e);
        w[other] = (n & 16 ? 1 : -1) * (1 + e);
        v[third] = w[third] =
            n % 7 == 0 ? 1 - 2e-6f : (float)(int32_t)oracle_random() / 0x1p31f * 0.99f;
        double a = sample_cube(t, v, 0), b = sample_cube(t, w, 0);
        // The projections of the third coordinate round differently: one step of a weight.
        cr_assert(fabs(a - b) < 0.02, "(%g, %g, %g): %g and %g", (double)v[0], (double)v[1],
                  (double)v[2], a, b);
        t->seamless_cube = 0;
        differ += fabs(sample_cube(t, v, 0) - sample_cube(t, w, 0)) > 0.1;
        t->seamless_cube = 1;
    }
    cr_assert(gt(uint, differ, 1000)); // and they are not without the flag
    drop(&image);
}

// ---------------------------------------------------------------- objects, queries, other formats

static cudaError_t fetch_error(uint64_t object, uint32_t op)
{
    const uint32_t words[EXEC_WORD_COUNT] = {0};
    struct oracle_call c = {.what = ORACLE_TEXTURE, .object = object, .words = words, .op = op};
    return oracle_perform(&c);
}

Test(texture, wrong_objects_are_faults)
{
    struct image image;
    make(&image, &formats[0], EXEC_IMAGE_2D, 4, 4, 1, 1);
    uint64_t object = (uint64_t)(uintptr_t)&image.texture;
    static const uint64_t garbage[] = {0, 1, 0x1000, 0xdeadbeefdeadbeef, UINT64_MAX, 1ull << 63};
    for (unsigned i = 0; i < sizeof garbage / sizeof garbage[0]; i++) {
        cr_assert(eq(int, fetch_error(garbage[i], EXEC_GEOMETRY_2D), cudaErrorIllegalAddress));
        for (int what = ORACLE_1D; what <= ORACLE_QUERY; what++) {
            struct oracle_call c = {.what = what, .object = garbage[i]};
            cr_assert(eq(int, oracle_perform(&c), cudaErrorIllegalAddress));
        }
    }
    cr_assert(eq(int, fetch_error(object, EXEC_GEOMETRY_2D), cudaSuccess));
    cr_assert(eq(int, fetch_error(object, EXEC_GEOMETRY_3D), cudaErrorIllegalAddress));
    cr_assert(eq(int, fetch_error(object, EXEC_GEOMETRY_CUBE), cudaErrorIllegalAddress));
    cr_assert(eq(int, fetch_error(object, EXEC_GEOMETRY_2D | EXEC_TEXTURE_SAMPLER),
                 cudaErrorIllegalAddress));
    image.texture.magic = 0; // destroyed
    cr_assert(eq(int, fetch_error(object, EXEC_GEOMETRY_2D), cudaErrorIllegalAddress));
    drop(&image);
}

Test(texture, sampler_of_independent_mode)
{
    struct image image;
    make(&image, &formats[0], EXEC_IMAGE_2D, 8, 8, 1, 1);
    uint64_t sampler = EXEC_SAMPLER | (uint64_t)EXEC_ADDRESS_WRAP << EXEC_SAMPLER_ADDRESS |
                       (uint64_t)EXEC_ADDRESS_MIRROR << (EXEC_SAMPLER_ADDRESS + 2) |
                       (uint64_t)EXEC_FILTER_LINEAR << EXEC_SAMPLER_FILTER;
    struct exec_texture same = image.texture;
    same.filter = EXEC_FILTER_LINEAR;
    same.normalized_coords = 1;
    same.address[0] = EXEC_ADDRESS_WRAP;
    same.address[1] = EXEC_ADDRESS_MIRROR;
    for (unsigned n = 0; n < 200; n++) {
        float at[3] = {coordinate(), coordinate(), 0};
        uint32_t words[EXEC_WORD_COUNT] = {0};
        memcpy(&words[EXEC_WORD_X], at, sizeof at);
        struct oracle_call c = {.what = ORACLE_TEXTURE,
                                .object = (uint64_t)(uintptr_t)&image.texture,
                                .sampler = sampler,
                                .words = words,
                                .op = EXEC_GEOMETRY_2D | EXEC_TEXTURE_SAMPLER};
        cr_assert(eq(int, oracle_perform(&c), cudaSuccess));
        cr_assert(eq(u64, c.result.low, call(&same, EXEC_GEOMETRY_2D, at, 0, 0, NULL, 0).low));
    }
    drop(&image);
}

Test(texture, queries)
{
    struct image image;
    make(&image, &formats[0], EXEC_IMAGE_2D_LAYERED, 32, 16, 5, 3);
    image.texture.filter = EXEC_FILTER_LINEAR;
    image.texture.address[1] = EXEC_ADDRESS_BORDER;
    uint64_t object = (uint64_t)(uintptr_t)&image.texture;
    static const struct {
        uint32_t what, level, want;
    } rows[] = {
        {EXEC_QUERY_WIDTH, 0, 32},     {EXEC_QUERY_WIDTH, 2, 8},      {EXEC_QUERY_HEIGHT, 1, 8},
        {EXEC_QUERY_WIDTH, 3, 0},      {EXEC_QUERY_DEPTH, 0, 1},      {EXEC_QUERY_ARRAY_SIZE, 0, 5},
        {EXEC_QUERY_LEVELS, 0, 3},     {EXEC_QUERY_SAMPLES, 0, 1},    {EXEC_QUERY_NORMALIZED, 0, 0},
        {EXEC_QUERY_FILTER, 0, 1},     {EXEC_QUERY_ADDRESS_0, 0, 0},  {EXEC_QUERY_ADDRESS_1, 0, 4},
        {EXEC_QUERY_IS_TEXTURE, 0, 1}, {EXEC_QUERY_IS_SURFACE, 0, 0}, {EXEC_QUERY_IS_SAMPLER, 0, 0},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct oracle_call c = {.what = ORACLE_QUERY,
                                .object = object,
                                .op = rows[i].what,
                                .x = (int32_t)rows[i].level,
                                .answer = 77};
        cr_assert(eq(int, oracle_perform(&c), cudaSuccess));
        cr_assert(eq(uint, c.answer, rows[i].want), "row %u", i);
    }
    drop(&image);
}

Test(texture, srgb)
{
    struct image image;
    make(&image, &(struct format){EXEC_CHANNEL_U8, 4, 4, true}, EXEC_IMAGE_2D, 16, 16, 1, 1);
    image.texture.srgb = 1;
    for (unsigned i = 0; i < 256; i++) {
        double got[4];
        numbers(&image.texture,
                call(&image.texture, EXEC_GEOMETRY_2D,
                     (float[3]){(float)(i % 16) + 0.5f, (float)(i / 16) + 0.5f, 0}, 0, 0, NULL, 0),
                got);
        for (unsigned c = 0; c < 4; c++) {
            double s = image.levels[0].base[4 * i + c] / 255.0;
            double want = c == 3 ? s : s <= 0.04045 ? s / 12.92 : pow((s + 0.055) / 1.055, 2.4);
            cr_assert(fabs(got[c] - want) < 1e-6);
        }
    }
    drop(&image);
}

Test(texture, halves)
{
    for (uint32_t i = 0; i < 65536; i++) {
        double want = oracle_half((uint16_t)i), got = (double)exec_half_to_float((uint16_t)i);
        cr_assert(isnan(want) ? isnan(got) : got == want && signbit(got) == signbit(want), "%x", i);
        if (!isnan(want)) {
            cr_assert(eq(uint, exec_float_to_half((float)want), i));
        }
        // Halfway to the next half and a little beside: to even, down, up.
        if (i < 0x7bff) {
            double next = oracle_half((uint16_t)(i + 1)), middle = (want + next) / 2;
            cr_assert(eq(uint, exec_float_to_half((float)middle), i + (i & 1)), "%x", i);
            cr_assert(eq(uint, exec_float_to_half(nextafterf((float)middle, 0)), i));
            cr_assert(eq(uint, exec_float_to_half(nextafterf((float)middle, 1e9f)), i + 1));
        }
    }
    cr_assert(eq(uint, exec_float_to_half(65520), 0x7c00));
    cr_assert(eq(uint, exec_float_to_half(65519), 0x7bff));
    cr_assert(eq(uint, exec_float_to_half(-1e30f), 0xfc00));
    cr_assert(eq(uint, exec_float_to_half(NAN), 0x7fff));
}
