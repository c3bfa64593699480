// SPDX-License-Identifier: Apache-2.0
//
// Surface operations: every size and vector, bounds in every way, formatted stores, reductions.
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include "texture_oracle.h"

TestSuite(surface, .timeout = 60);

static struct exec_surface make(unsigned kind, unsigned channel, unsigned channels,
                                unsigned element_size, uint32_t width, uint32_t height,
                                uint32_t depth)
{
    struct exec_surface s = {
        .magic = EXEC_SURFACE_MAGIC,
        .kind = (uint8_t)kind,
        .channel = (uint8_t)channel,
        .channels = (uint8_t)channels,
        .element_size = (uint8_t)element_size,
        .level = {.width = width,
                  .height = height,
                  .depth = depth,
                  .row_pitch = (uint64_t)width * element_size,
                  .slice_pitch = (uint64_t)width * element_size * height},
    };
    size_t size = (size_t)s.level.slice_pitch * depth;
    s.level.base = oracle_guarded(size);
    for (size_t i = 0; i < size; i++) {
        s.level.base[i] = (unsigned char)oracle_random();
    }
    return s;
}

static size_t bytes(const struct exec_surface *s)
{
    return (size_t)s->level.slice_pitch * s->level.depth;
}

struct access {
    int32_t x, y, z;
    uint32_t layer;
    const void *data;
    size_t size;
};

static cudaError_t perform(const struct exec_surface *s, const struct access *a, uint32_t op,
                           struct exec_words *ret)
{
    _Alignas(16) uint32_t words[EXEC_WORD_COUNT + 3] = {a->layer, (uint32_t)a->x, (uint32_t)a->y,
                                                        (uint32_t)a->z};
    if (a->data) {
        memcpy(&words[EXEC_WORD_DATA], a->data, a->size);
    }
    struct oracle_call call = {
        .what = ORACLE_SURFACE, .object = (uint64_t)(uintptr_t)s, .words = words, .op = op};
    cudaError_t error = oracle_perform(&call);
    *ret = call.result;
    return error;
}

static uint32_t operation(unsigned geometry, unsigned kind, unsigned bounds, unsigned log_size,
                          unsigned log_vector)
{
    return geometry | kind << EXEC_SURFACE_KIND_SHIFT | bounds << EXEC_SURFACE_BOUNDS_SHIFT |
           log_size << EXEC_SURFACE_SIZE_SHIFT | log_vector << EXEC_SURFACE_VECTOR_SHIFT;
}

static const struct {
    unsigned kind, geometry;
    uint32_t width, height, depth;
} shapes[] = {
    {EXEC_IMAGE_1D, EXEC_GEOMETRY_1D, 24, 1, 1},
    {EXEC_IMAGE_2D, EXEC_GEOMETRY_2D, 8, 5, 1},
    {EXEC_IMAGE_3D, EXEC_GEOMETRY_3D, 8, 3, 4},
    {EXEC_IMAGE_1D_LAYERED, EXEC_GEOMETRY_A1D, 8, 1, 3},
    {EXEC_IMAGE_2D_LAYERED, EXEC_GEOMETRY_A2D, 8, 2, 3},
    {EXEC_IMAGE_CUBE, EXEC_GEOMETRY_A2D, 4, 4, 6},
};

static int64_t nearest(int64_t x, int64_t last)
{
    return x < 0 ? 0 : x > last ? last : x;
}

static void check_access(struct exec_surface *s, unsigned geometry, unsigned log_size,
                         unsigned log_vector, unsigned bounds, bool store)
{
    unsigned size = 1u << (log_size + log_vector);
    int64_t row = (int64_t)s->level.row_pitch;
    struct access a = {.x = (int32_t)(oracle_random() % (uint32_t)(row / size + 4) - 2) * (int)size,
                       .y = (int32_t)(oracle_random() % (s->level.height + 2)) - 1,
                       .z = (int32_t)(oracle_random() % (s->level.depth + 2)) - 1,
                       .layer = oracle_random() % (s->level.depth + 1)};
    bool flat = geometry == EXEC_GEOMETRY_1D || geometry == EXEC_GEOMETRY_A1D;
    int64_t y = flat ? 0 : a.y;
    int64_t z = geometry == EXEC_GEOMETRY_3D    ? a.z
                : geometry >= EXEC_GEOMETRY_A1D ? (int64_t)a.layer
                                                : 0;
    bool inside = a.x >= 0 && a.x + (int64_t)size <= row && y >= 0 && y < s->level.height &&
                  z >= 0 && z < s->level.depth;
    uint32_t data[4];
    for (unsigned i = 0; i < 4; i++) {
        data[i] = oracle_random();
    }
    unsigned char *before = malloc(bytes(s));
    memcpy(before, s->level.base, bytes(s));
    struct exec_words got = {1, 1};
    a.data = data;
    a.size = size;
    cudaError_t error = perform(s, &a,
                                operation(geometry, store ? EXEC_SURFACE_STORE : EXEC_SURFACE_LOAD,
                                          bounds, log_size, log_vector),
                                &got);
    if (!inside && bounds == EXEC_BOUNDS_TRAP) {
        cr_assert(eq(int, error, cudaErrorIllegalAddress));
    } else {
        cr_assert(eq(int, error, cudaSuccess));
    }
    size_t at = (size_t)(nearest(z, s->level.depth - 1) * (int64_t)s->level.slice_pitch +
                         nearest(y, s->level.height - 1) * row + nearest(a.x, row - size));
    bool done = inside || bounds == EXEC_BOUNDS_CLAMP;
    if (store) {
        if (done) {
            memcpy(before + at, data, size);
        }
    } else if (error == cudaSuccess) {
        unsigned char want[16] = {0};
        if (done) {
            memcpy(want, before + at, size);
        }
        cr_assert(memcmp(want, &got, 16) == 0, "load of %u bytes", size);
    }
    cr_assert(memcmp(before, s->level.base, bytes(s)) == 0, "store of %u bytes", size);
    free(before);
}

Test(surface, loads_and_stores)
{
    for (unsigned k = 0; k < sizeof shapes / sizeof shapes[0]; k++) {
        struct exec_surface s = make(shapes[k].kind, EXEC_CHANNEL_F32, 4, 16, shapes[k].width,
                                     shapes[k].height, shapes[k].depth);
        for (unsigned n = 0; n < 3000; n++) {
            unsigned log_size = n % 4, log_vector = n / 4 % 3;
            if (log_size + log_vector <= 4) {
                check_access(&s, shapes[k].geometry, log_size, log_vector, n / 12 % 3, n / 36 % 2);
            }
        }
        oracle_unguard(s.level.base, bytes(&s));
    }
}

Test(surface, misaligned_and_mismatched)
{
    struct exec_surface s = make(EXEC_IMAGE_2D, EXEC_CHANNEL_F32, 1, 4, 8, 4, 1);
    struct exec_words got;
    struct access a = {.x = 2};
    uint32_t load = operation(EXEC_GEOMETRY_2D, EXEC_SURFACE_LOAD, EXEC_BOUNDS_TRAP, 2, 0);
    cr_assert(eq(int, perform(&s, &a, load, &got), cudaErrorMisalignedAddress));
    a.x = 4;
    cr_assert(eq(int, perform(&s, &a, load, &got), cudaSuccess));
    load = operation(EXEC_GEOMETRY_3D, EXEC_SURFACE_LOAD, EXEC_BOUNDS_TRAP, 2, 0);
    cr_assert(eq(int, perform(&s, &a, load, &got), cudaErrorIllegalAddress));
    s.magic = 0;
    load = operation(EXEC_GEOMETRY_2D, EXEC_SURFACE_LOAD, EXEC_BOUNDS_TRAP, 2, 0);
    cr_assert(eq(int, perform(&s, &a, load, &got), cudaErrorIllegalAddress));
    cr_assert(eq(int, perform(NULL, &a, load, &got), cudaErrorIllegalAddress));
    oracle_unguard(s.level.base, bytes(&s));
}

static uint32_t pattern(float number)
{
    uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

Test(surface, formatted_stores)
{
    static const struct {
        unsigned channel, size;
        uint32_t value, want;
    } rows[] = {
        {EXEC_CHANNEL_U8, 1, 300, 255},
        {EXEC_CHANNEL_U8, 1, 7, 7},
        {EXEC_CHANNEL_S8, 1, (uint32_t)-200, 0x80},
        {EXEC_CHANNEL_S8, 1, 200, 0x7f},
        {EXEC_CHANNEL_S8, 1, (uint32_t)-5, 0xfb},
        {EXEC_CHANNEL_U16, 2, 70000, 65535},
        {EXEC_CHANNEL_S16, 2, (uint32_t)-70000, 0x8000},
        {EXEC_CHANNEL_U32, 4, 0xfffffff0, 0xfffffff0},
        {EXEC_CHANNEL_F32, 4, 0x3fc00000, 0x3fc00000},
        {EXEC_CHANNEL_F16, 2, 0x3fc00000, 0x3e00},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct exec_surface s = make(EXEC_IMAGE_1D, rows[i].channel, 4, 4 * rows[i].size, 3, 1, 1);
        uint32_t values[4] = {rows[i].value, 0, 0, rows[i].value}, stored[2] = {0, 0};
        struct access a = {.x = 1, .data = values, .size = sizeof values};
        struct exec_words got;
        cr_assert(eq(int,
                     perform(&s, &a,
                             operation(EXEC_GEOMETRY_1D, EXEC_SURFACE_STORE_FORMATTED,
                                       EXEC_BOUNDS_TRAP, 2, 2),
                             &got),
                     cudaSuccess));
        for (unsigned c = 0; c < 2; c++) {
            memcpy(&stored[c], s.level.base + s.element_size + 3 * c * rows[i].size, rows[i].size);
            cr_assert(eq(uint, stored[c], rows[i].want), "row %u", i);
        }
        a.x = 3; // a sample, not a byte
        cr_assert(eq(int,
                     perform(&s, &a,
                             operation(EXEC_GEOMETRY_1D, EXEC_SURFACE_STORE_FORMATTED,
                                       EXEC_BOUNDS_TRAP, 2, 2),
                             &got),
                     cudaErrorIllegalAddress));
        oracle_unguard(s.level.base, bytes(&s));
    }
    struct exec_surface s = make(EXEC_IMAGE_1D, EXEC_CHANNEL_UNORM8, 4, 4, 1, 1, 1);
    uint32_t values[4] = {pattern(0.5f), pattern(2), pattern(-1), pattern(NAN)};
    struct access a = {.data = values, .size = sizeof values};
    struct exec_words got;
    perform(&s, &a,
            operation(EXEC_GEOMETRY_1D, EXEC_SURFACE_STORE_FORMATTED, EXEC_BOUNDS_TRAP, 2, 2),
            &got);
    static const unsigned char want[4] = {128, 255, 0, 0};
    cr_assert(memcmp(s.level.base, want, 4) == 0);
    oracle_unguard(s.level.base, bytes(&s));
}

Test(surface, reductions)
{
    static const struct {
        unsigned reduction, log_size;
        bool is_signed, formatted;
        uint64_t old, operand, want;
    } rows[] = {
        {EXEC_REDUCE_ADD, 2, false, false, 0xfffffffe, 5, 3},
        {EXEC_REDUCE_ADD, 3, false, false, UINT64_MAX, 5, 4},
        {EXEC_REDUCE_MIN, 2, false, false, 0xfffffffe, 5, 5},
        {EXEC_REDUCE_MIN, 2, true, false, 0xfffffffe, 5, 0xfffffffe},
        {EXEC_REDUCE_MAX, 2, true, false, 0xfffffffe, 5, 5},
        {EXEC_REDUCE_MAX, 3, false, false, UINT64_MAX, 5, UINT64_MAX},
        {EXEC_REDUCE_MAX, 3, true, false, UINT64_MAX, 5, 5},
        {EXEC_REDUCE_AND, 2, false, false, 0xf0f0, 0xff00, 0xf000},
        {EXEC_REDUCE_OR, 2, false, false, 0xf0f0, 0x0f00, 0xfff0},
        {EXEC_REDUCE_MIN, 2, false, true, 0xfffffffe, 5, 0xfffffffe}, // S32 samples
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        unsigned size = 1u << rows[i].log_size;
        struct exec_surface s = make(EXEC_IMAGE_2D, EXEC_CHANNEL_S32, size / 4, size, 4, 2, 1);
        unsigned char *at = s.level.base + s.level.row_pitch + 2 * size;
        memcpy(at, &rows[i].old, size);
        struct access a = {.x = rows[i].formatted ? 2 : (int)(2 * size), .y = 1};
        a.data = &rows[i].operand;
        a.size = 8;
        uint32_t op =
            operation(EXEC_GEOMETRY_2D,
                      rows[i].formatted ? EXEC_SURFACE_REDUCE_FORMATTED : EXEC_SURFACE_REDUCE,
                      EXEC_BOUNDS_TRAP, rows[i].log_size, 0) |
            rows[i].reduction << EXEC_SURFACE_REDUCE_SHIFT |
            (rows[i].is_signed ? (uint32_t)EXEC_SURFACE_SIGNED : 0);
        struct exec_words got;
        cr_assert(eq(int, perform(&s, &a, op, &got), cudaSuccess));
        uint64_t now = 0;
        memcpy(&now, at, size);
        cr_assert(eq(u64, now, rows[i].want), "row %u", i);
        a.y = 2;
        cr_assert(eq(int, perform(&s, &a, op, &got), cudaErrorIllegalAddress));
        oracle_unguard(s.level.base, bytes(&s));
    }
}
