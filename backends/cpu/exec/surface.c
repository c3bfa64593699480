// SPDX-License-Identifier: Apache-2.0
//
// Surface instructions: loads, stores, formatted stores and reductions, with the three ways to
// treat accesses out of bounds. The first coordinate counts bytes (.b) or samples (.p). Source:
// PTX ISA 9.0, "Surface Instructions".
#include "texture.h"

#include "fault.h"

enum { MAX_ACCESS = 16 };

// Number of coordinates and of slices that an operation of this geometry may have.
struct bounds {
    uint64_t row_bytes; // of the surface
    uint32_t height, slices;
};

static struct bounds bounds_of(const struct exec_surface *s, unsigned geometry)
{
    static const char *const names[] = {"1d", "2d", "3d", "a1d", "a2d"};
    bool cube = s->kind == EXEC_IMAGE_CUBE || s->kind == EXEC_IMAGE_CUBE_LAYERED;
    bool fits = geometry == EXEC_GEOMETRY_1D ? s->kind == EXEC_IMAGE_1D || s->kind == EXEC_IMAGE_2D
                : geometry == EXEC_GEOMETRY_2D
                    ? s->kind == EXEC_IMAGE_1D || s->kind == EXEC_IMAGE_2D
                : geometry == EXEC_GEOMETRY_3D ? s->kind == EXEC_IMAGE_3D
                : geometry == EXEC_GEOMETRY_A1D
                    ? s->kind == EXEC_IMAGE_1D_LAYERED || s->kind == EXEC_IMAGE_1D
                    : s->kind == EXEC_IMAGE_2D_LAYERED || s->kind == EXEC_IMAGE_2D || cube;
    if (geometry > EXEC_GEOMETRY_A2D || !fits) {
        exec_fault_leave(
            cudaErrorIllegalAddress, "a %s surface is accessed by an instruction for .%s",
            exec_image_kind_name(s->kind), geometry <= EXEC_GEOMETRY_A2D ? names[geometry] : "?");
    }
    return (struct bounds){(uint64_t)s->level.width * s->element_size, s->level.height,
                           s->level.depth};
}

static int64_t clamp(int64_t value, int64_t last)
{
    return value < 0 ? 0 : value > last ? last : value;
}

// Address of the access, or NULL when it is out of bounds and to be ignored.
static unsigned char *locate(const struct exec_surface *s, const uint32_t *words, uint32_t op,
                             uint64_t size, uint64_t unit)
{
    unsigned geometry = op & 7;
    struct bounds b = bounds_of(s, geometry);
    int64_t x = (int64_t)(int32_t)words[EXEC_WORD_X] * (int64_t)unit, y = 0, slice = 0;
    if (geometry != EXEC_GEOMETRY_1D && geometry != EXEC_GEOMETRY_A1D) {
        y = (int32_t)words[EXEC_WORD_Y];
    }
    if (geometry == EXEC_GEOMETRY_3D) {
        slice = (int32_t)words[EXEC_WORD_Z];
    } else if (geometry >= EXEC_GEOMETRY_A1D) {
        slice = words[EXEC_WORD_LAYER];
    }
    bool inside = x >= 0 && (uint64_t)x + size <= b.row_bytes && y >= 0 && y < b.height &&
                  slice >= 0 && slice < b.slices;
    if (!inside) {
        switch (op >> EXEC_SURFACE_BOUNDS_SHIFT & 3) {
        case EXEC_BOUNDS_ZERO:
            return NULL;
        case EXEC_BOUNDS_CLAMP:
            if (size > b.row_bytes) {
                exec_fault_leave(cudaErrorIllegalAddress,
                                 "surface access of %llu bytes to rows of %llu",
                                 (unsigned long long)size, (unsigned long long)b.row_bytes);
            }
            x = clamp(x, (int64_t)(b.row_bytes - size));
            y = clamp(y, (int64_t)b.height - 1);
            slice = clamp(slice, (int64_t)b.slices - 1);
            break;
        default:
            exec_fault_leave(cudaErrorIllegalAddress,
                             "surface access out of bounds: byte %lld, row %lld, slice %lld",
                             (long long)x, (long long)y, (long long)slice);
        }
    }
    unsigned char *at = s->level.base + (uint64_t)slice * s->level.slice_pitch +
                        (uint64_t)y * s->level.row_pitch + (uint64_t)x;
    if ((uintptr_t)at % (size > MAX_ACCESS ? MAX_ACCESS : size) != 0) {
        exec_fault_leave(cudaErrorMisalignedAddress,
                         "surface access of %llu bytes at byte %lld of a row",
                         (unsigned long long)size, (long long)x);
    }
    return at;
}

// ---------------------------------------------------------------- reductions

#define REDUCE(name, type, combine)                                                     \
    static void name(unsigned char *at, type operand, unsigned reduction)               \
    {                                                                                   \
        __typeof__(operand) *word = (void *)at;                                         \
        type old = __atomic_load_n(word, __ATOMIC_RELAXED), next;                       \
        do {                                                                            \
            next = combine(old, operand, reduction);                                    \
        } while (!__atomic_compare_exchange_n(word, &old, next, true, __ATOMIC_RELAXED, \
                                              __ATOMIC_RELAXED));                       \
    }

#define COMBINE(name, type)                              \
    static type name(type a, type b, unsigned reduction) \
    {                                                    \
        switch (reduction) {                             \
        case EXEC_REDUCE_ADD:                            \
            return (type)((uint64_t)a + (uint64_t)b);    \
        case EXEC_REDUCE_MIN:                            \
            return a < b ? a : b;                        \
        case EXEC_REDUCE_MAX:                            \
            return a > b ? a : b;                        \
        case EXEC_REDUCE_AND:                            \
            return (type)(a & b);                        \
        default:                                         \
            return (type)(a | b);                        \
        }                                                \
    }

COMBINE(combine_u32, uint32_t)
COMBINE(combine_s32, int32_t)
COMBINE(combine_u64, uint64_t)
COMBINE(combine_s64, int64_t)
REDUCE(reduce_u32, uint32_t, combine_u32)
REDUCE(reduce_s32, int32_t, combine_s32)
REDUCE(reduce_u64, uint64_t, combine_u64)
REDUCE(reduce_s64, int64_t, combine_s64)

static void reduce(const struct exec_surface *s, const uint32_t *words, uint32_t op)
{
    bool formatted = (op >> EXEC_SURFACE_KIND_SHIFT & 7) == EXEC_SURFACE_REDUCE_FORMATTED;
    bool is_signed = (op & EXEC_SURFACE_SIGNED) != 0;
    unsigned size = 1u << (op >> EXEC_SURFACE_SIZE_SHIFT & 3);
    uint64_t unit = 1;
    if (formatted) {
        // A sample of 64 bits is one of two 32-bit channels: there is no other type for it.
        bool fits = (s->channel == EXEC_CHANNEL_U32 || s->channel == EXEC_CHANNEL_S32) &&
                    s->element_size == size;
        if (!fits) {
            exec_fault_leave(cudaErrorIllegalAddress,
                             "sured.p on a surface without %u-bit integer samples", 8 * size);
        }
        is_signed = s->channel == EXEC_CHANNEL_S32;
        unit = s->element_size;
    }
    unsigned char *at = locate(s, words, op, size, unit);
    if (at == NULL) {
        return;
    }
    unsigned reduction = op >> EXEC_SURFACE_REDUCE_SHIFT & 7;
    uint64_t operand;
    memcpy(&operand, &words[EXEC_WORD_DATA], sizeof operand);
    if (size == 4) {
        if (is_signed) {
            reduce_s32(at, (int32_t)(uint32_t)operand, reduction);
        } else {
            reduce_u32(at, (uint32_t)operand, reduction);
        }
    } else if (is_signed) {
        reduce_s64(at, (int64_t)operand, reduction);
    } else {
        reduce_u64(at, operand, reduction);
    }
}

// ---------------------------------------------------------------- loads and stores

static void store_formatted(const struct exec_surface *s, const uint32_t *words, uint32_t op)
{
    unsigned char *at = locate(s, words, op, s->element_size, s->element_size);
    unsigned count = 1u << (op >> EXEC_SURFACE_VECTOR_SHIFT & 3);
    uint32_t values[4] = {0}; // what the vector does not have is unpredictable in PTX, 0 here
    memcpy(values, &words[EXEC_WORD_DATA], count * sizeof values[0]);
    if (at != NULL && !exec_texel_store((enum exec_channel)s->channel, s->channels, at, values)) {
        exec_fault_leave(cudaErrorIllegalAddress, "sust.p on a surface of compressed blocks");
    }
}

struct exec_words exec_surface_operation(uint64_t surface, const uint32_t *words, uint32_t op)
{
    const struct exec_surface *s = exec_surface_check(surface);
    struct exec_words result = {0, 0};
    unsigned size =
        1u << ((op >> EXEC_SURFACE_SIZE_SHIFT & 3) + (op >> EXEC_SURFACE_VECTOR_SHIFT & 3));
    switch (op >> EXEC_SURFACE_KIND_SHIFT & 7) {
    case EXEC_SURFACE_LOAD: {
        const unsigned char *at = locate(s, words, op, size, 1);
        if (at != NULL) {
            memcpy(&result, at, size);
        }
        return result;
    }
    case EXEC_SURFACE_STORE: {
        unsigned char *at = locate(s, words, op, size, 1);
        if (at != NULL) {
            memcpy(at, &words[EXEC_WORD_DATA], size);
        }
        return result;
    }
    case EXEC_SURFACE_STORE_FORMATTED:
        store_formatted(s, words, op);
        return result;
    default:
        reduce(s, words, op);
        return result;
    }
}
