// SPDX-License-Identifier: Apache-2.0
//
// Tensor maps: checking what a program says about a tensor and writing it down in the form that
// backends read (struct irtb_tensor_map in backends/backend.h). Nothing is looked up and no device
// is needed. Source: CUDA Driver API, "Tensor Map Object Management".
#include <stdint.h>
#include <string.h>

#include "irt_driver.h"
#include "backends/backend.h"
#include "shim/driver/driver.h"

_Static_assert(sizeof(struct irtb_tensor_map) == sizeof(CUtensorMap), "tensor map");

enum { RANK_MAX = 5, BOX_MAX = 256, STEP_MAX = 8, COLUMN_MAX = 1024 };

// What both forms of a tensor map say about the tensor itself.
struct tensor {
    CUtensorMapDataType type;
    unsigned rank;
    void *address;
    const cuuint64_t *dim, *strides;
    const cuuint32_t *steps;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

// Bits of an element as the dimensions count them.
static unsigned element_bits(CUtensorMapDataType type)
{
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_UINT8:
        return 8;
    case CU_TENSOR_MAP_DATA_TYPE_UINT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
        return 16;
    case CU_TENSOR_MAP_DATA_TYPE_UINT32:
    case CU_TENSOR_MAP_DATA_TYPE_INT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
        return 32;
    case CU_TENSOR_MAP_DATA_TYPE_UINT64:
    case CU_TENSOR_MAP_DATA_TYPE_INT64:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
        return 64;
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B:
    case CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B:
        return 4;
    case CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B:
        return 6;
    }
    return 0;
}

static bool is_float(CUtensorMapDataType type)
{
    switch (type) {
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT64:
    case CU_TENSOR_MAP_DATA_TYPE_BFLOAT16:
    case CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32:
    case CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ:
        return true;
    default:
        return false;
    }
}

// Types whose elements are spread to 16-byte units in shared memory.
static bool is_spread(CUtensorMapDataType type)
{
    return type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN16B ||
           type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B;
}

static bool modes_are_valid(const struct tensor *t)
{
    if (!element_bits(t->type) || (unsigned)t->interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        (unsigned)t->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
        (unsigned)t->promotion > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        (unsigned)t->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA) {
        return false;
    }
    if (t->fill && !is_float(t->type)) {
        return false;
    }
    if (t->interleave == CU_TENSOR_MAP_INTERLEAVE_32B && t->swizzle != CU_TENSOR_MAP_SWIZZLE_32B) {
        return false;
    }
    if (t->type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B && t->interleave) {
        return false;
    }
    if (!is_spread(t->type)) {
        return true;
    }
    bool store_only = t->type == CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B &&
                      t->swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B;
    return store_only || t->swizzle == CU_TENSOR_MAP_SWIZZLE_NONE ||
           t->swizzle == CU_TENSOR_MAP_SWIZZLE_128B ||
           t->swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B;
}

static bool tensor_is_valid(const struct tensor *t)
{
    bool wide = t->interleave == CU_TENSOR_MAP_INTERLEAVE_32B || is_spread(t->type);
    const uint64_t unit = wide ? 32 : 16;
    if (!t->dim || !t->steps || !t->address || (uintptr_t)t->address % unit) {
        return false;
    }
    for (unsigned i = 0; i < t->rank; i++) {
        bool ignored = i == 0 && t->interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
        if (!t->dim[i] || t->dim[i] > (uint64_t)1 << 32 ||
            (!ignored && (!t->steps[i] || t->steps[i] > STEP_MAX))) {
            return false;
        }
    }
    if ((is_spread(t->type) && t->dim[0] % 128) ||
        (t->type == CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B && t->dim[0] % 2)) {
        return false;
    }
    if (t->rank > 1 && !t->strides) {
        return false;
    }
    for (unsigned i = 0; i + 1 < t->rank; i++) {
        if (t->strides[i] % unit || t->strides[i] >= (uint64_t)1 << 40) {
            return false;
        }
    }
    return true;
}

// Whether `count` elements of the innermost dimension suit the swizzle and the units of a copy.
static bool inner_is_valid(const struct tensor *t, unsigned count)
{
    static const unsigned char spans[] = {0, 32, 64, 128, 128, 128, 128};
    unsigned bytes = count * element_bits(t->type) / 8;
    if (is_spread(t->type)) {
        return count == 128;
    }
    if (t->interleave) {
        return true;
    }
    return bytes % 16 == 0 && (!t->swizzle || bytes <= spans[t->swizzle]);
}

static void write_tensor(struct irtb_tensor_map *map, const struct tensor *t)
{
    memset(map, 0, sizeof *map);
    map->magic = IRTB_TENSOR_MAP_MAGIC;
    map->address = (uintptr_t)t->address;
    map->type = (uint8_t)t->type;
    map->rank = (uint8_t)t->rank;
    map->interleave = (uint8_t)t->interleave;
    map->swizzle = (uint8_t)t->swizzle;
    map->fill_nan = (uint8_t)t->fill;
    for (unsigned i = 0; i < t->rank; i++) {
        map->last[i] = (uint32_t)(t->dim[i] - 1);
        bool ignored = i == 0 && t->interleave == CU_TENSOR_MAP_INTERLEAVE_NONE;
        map->step[i] = ignored ? 1 : (uint8_t)t->steps[i];
    }
    for (unsigned i = 0; i + 1 < t->rank; i++) {
        map->stride[i] = t->strides[i];
    }
}

// A tensor map may lie anywhere that is aligned.
static struct irtb_tensor_map *place(CUtensorMap *map)
{
    return (uintptr_t)map % 64 ? NULL : (struct irtb_tensor_map *)map; // NULL stays NULL
}

cudaError_t irt_driver_cuTensorMapEncodeTiled(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const cuuint32_t *boxDim, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    const struct tensor t = {tensorDataType, tensorRank, globalAddress, globalDim,   globalStrides,
                             elementStrides, interleave, swizzle,       l2Promotion, oobFill};
    struct irtb_tensor_map *map = place(tensorMap);
    if (!map || !tensorRank || tensorRank > RANK_MAX || (interleave && tensorRank < 3) || !boxDim ||
        !modes_are_valid(&t) || !tensor_is_valid(&t)) {
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < tensorRank; i++) {
        if (!boxDim[i] || boxDim[i] > BOX_MAX) {
            return cudaErrorInvalidValue;
        }
    }
    if (!inner_is_valid(&t, boxDim[0])) {
        return cudaErrorInvalidValue;
    }
    write_tensor(map, &t);
    map->form = IRTB_TENSOR_TILED;
    for (unsigned i = 0; i < tensorRank; i++) {
        map->box[i] = (uint16_t)boxDim[i];
    }
    return cudaSuccess;
}

// Offsets of the corners {D, H, W} fit the bits that the rank leaves, and the box is not empty.
static bool corners_are_valid(const struct tensor *t, const int *lower, const int *upper)
{
    static const int limits[] = {32768, 128, 16}; // by rank - 3
    const int limit = limits[t->rank - 3];
    for (unsigned i = 0; i < t->rank - 2; i++) {
        if (lower[i] < -limit || lower[i] >= limit || upper[i] < -limit || upper[i] >= limit) {
            return false;
        }
        // Corner i is that of dimension rank - 2 - i of {C, W, H, D, N}.
        int64_t size = (int64_t)t->dim[t->rank - 2 - i] + upper[i] - lower[i];
        if (size <= 0) {
            return false;
        }
    }
    return true;
}

cudaError_t irt_driver_cuTensorMapEncodeIm2col(
    CUtensorMap *tensorMap, CUtensorMapDataType tensorDataType, cuuint32_t tensorRank,
    void *globalAddress, const cuuint64_t *globalDim, const cuuint64_t *globalStrides,
    const int *pixelBoxLowerCorner, const int *pixelBoxUpperCorner, cuuint32_t channelsPerPixel,
    cuuint32_t pixelsPerColumn, const cuuint32_t *elementStrides, CUtensorMapInterleave interleave,
    CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2Promotion, CUtensorMapFloatOOBfill oobFill)
{
    const struct tensor t = {tensorDataType, tensorRank, globalAddress, globalDim,   globalStrides,
                             elementStrides, interleave, swizzle,       l2Promotion, oobFill};
    struct irtb_tensor_map *map = place(tensorMap);
    if (!map || tensorRank < 3 || tensorRank > RANK_MAX || !pixelBoxLowerCorner ||
        !pixelBoxUpperCorner || !channelsPerPixel || channelsPerPixel > BOX_MAX ||
        !pixelsPerColumn || pixelsPerColumn > COLUMN_MAX || !modes_are_valid(&t) ||
        !tensor_is_valid(&t) || !inner_is_valid(&t, channelsPerPixel) ||
        !corners_are_valid(&t, pixelBoxLowerCorner, pixelBoxUpperCorner)) {
        return cudaErrorInvalidValue;
    }
    write_tensor(map, &t);
    map->form = IRTB_TENSOR_IM2COL;
    map->channels = (uint16_t)channelsPerPixel;
    map->pixels = (uint16_t)pixelsPerColumn;
    for (unsigned i = 0; i < tensorRank - 2; i++) {
        map->lower[i] = (int16_t)pixelBoxLowerCorner[i];
        map->upper[i] = (int16_t)pixelBoxUpperCorner[i];
    }
    return cudaSuccess;
}

cudaError_t irt_driver_cuTensorMapReplaceAddress(CUtensorMap *tensorMap, void *globalAddress)
{
    struct irtb_tensor_map *map = place(tensorMap);
    if (!map || map->magic != IRTB_TENSOR_MAP_MAGIC || !globalAddress) {
        return cudaErrorInvalidValue;
    }
    bool wide = map->interleave == CU_TENSOR_MAP_INTERLEAVE_32B ||
                is_spread((CUtensorMapDataType)map->type);
    if ((uintptr_t)globalAddress % (wide ? 32 : 16)) {
        return cudaErrorInvalidValue;
    }
    map->address = (uintptr_t)globalAddress;
    return cudaSuccess;
}
