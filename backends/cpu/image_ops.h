// SPDX-License-Identifier: Apache-2.0
//
// The contract of texture and surface instructions between compiled code (ir/ and jit/ choose
// the operation) and exec/ (which performs it): words that describe an operation, the layout of
// its operands, and the table of functions that compiled code calls through exec_runtime.images.
// The objects themselves: image.h. Source: PTX ISA 9.0, "Texture Instructions", "Surface
// Instructions".
#pragma once

#include <stdint.h>

// .1d .2d … of an instruction.
enum exec_geometry {
    EXEC_GEOMETRY_1D, EXEC_GEOMETRY_2D, EXEC_GEOMETRY_3D, EXEC_GEOMETRY_A1D, EXEC_GEOMETRY_A2D,
    EXEC_GEOMETRY_CUBE, EXEC_GEOMETRY_ACUBE,
};

// Word of a texture operation: the geometry (3 bits) and these.
enum {
    EXEC_TEXTURE_GEOMETRY = 7,
    EXEC_TEXTURE_INTEGER = 1 << 3,  // coordinates and level are s32 (texel fetch), else f32
    EXEC_TEXTURE_LEVEL = 1 << 4,    // .level
    EXEC_TEXTURE_GRADIENT = 1 << 5, // .grad
    EXEC_TEXTURE_OFFSET = 1 << 6,   // with operand e
    EXEC_TEXTURE_GATHER = 1 << 7,   // tld4; the component is in the next two bits
    EXEC_TEXTURE_COMPONENT_SHIFT = 8,
    EXEC_TEXTURE_HALF = 1 << 10,    // the results are four halves in the low 64 bits
    EXEC_TEXTURE_SAMPLER = 1 << 11, // independent mode: operand b decides how to sample
};

// Operands of a texture operation, 32-bit words (patterns). Only what the operation says is read.
enum {
    EXEC_WORD_LAYER, EXEC_WORD_X, EXEC_WORD_Y, EXEC_WORD_Z,
    EXEC_WORD_OFFSET,                            // three s32
    EXEC_WORD_LEVEL = EXEC_WORD_OFFSET + 3,
    EXEC_WORD_GRADIENT = EXEC_WORD_OFFSET + 3,   // dPdx (three), dPdy (three)
    EXEC_WORD_COUNT = EXEC_WORD_GRADIENT + 6,
    EXEC_WORD_DATA = EXEC_WORD_Z + 1,            // surfaces: up to 16 bytes to store
};

// A sampler of independent mode is a value, not an address: EXEC_SAMPLER and these fields.
#define EXEC_SAMPLER UINT64_C(0x53414d5000000000) // "SAMP"
#define EXEC_SAMPLER_MASK UINT64_C(0xffffffff00000000)
enum {
    EXEC_SAMPLER_ADDRESS = 0, // two bits for each dimension: enum exec_address
    EXEC_SAMPLER_FILTER = 6,  // one bit: enum exec_filter
    EXEC_SAMPLER_UNNORMALIZED = 7,
};

// Attributes of txq, suq and istypep.
enum exec_query {
    EXEC_QUERY_WIDTH, EXEC_QUERY_HEIGHT, EXEC_QUERY_DEPTH, EXEC_QUERY_ARRAY_SIZE,
    EXEC_QUERY_LEVELS, EXEC_QUERY_SAMPLES, EXEC_QUERY_NORMALIZED, EXEC_QUERY_UNNORMALIZED,
    EXEC_QUERY_FILTER,
    EXEC_QUERY_ADDRESS_0, EXEC_QUERY_ADDRESS_1, EXEC_QUERY_ADDRESS_2,
    EXEC_QUERY_MEMORY_LAYOUT,
    EXEC_QUERY_IS_TEXTURE, EXEC_QUERY_IS_SAMPLER, EXEC_QUERY_IS_SURFACE,
    EXEC_QUERY_SURFACE = 1 << 8, // the object is a surface
};

// Word of a surface operation: the geometry (3 bits) and these fields.
enum exec_surface_kind {
    EXEC_SURFACE_LOAD, EXEC_SURFACE_STORE, EXEC_SURFACE_STORE_FORMATTED, EXEC_SURFACE_REDUCE,
    EXEC_SURFACE_REDUCE_FORMATTED,
};
enum exec_surface_bounds { EXEC_BOUNDS_TRAP, EXEC_BOUNDS_CLAMP, EXEC_BOUNDS_ZERO };
enum exec_surface_reduction {
    EXEC_REDUCE_ADD, EXEC_REDUCE_MIN, EXEC_REDUCE_MAX, EXEC_REDUCE_AND, EXEC_REDUCE_OR,
};
enum {
    EXEC_SURFACE_KIND_SHIFT = 3,    // 3 bits: enum exec_surface_kind
    EXEC_SURFACE_BOUNDS_SHIFT = 6,  // 2 bits: enum exec_surface_bounds
    EXEC_SURFACE_SIZE_SHIFT = 8,    // 2 bits: log2 of the bytes of an element
    EXEC_SURFACE_VECTOR_SHIFT = 10, // 2 bits: log2 of the number of elements
    EXEC_SURFACE_REDUCE_SHIFT = 12, // 3 bits: enum exec_surface_reduction
    EXEC_SURFACE_SIGNED = 1 << 15,  // of .min and .max
};

// Results: memory order, little-endian; four 32-bit patterns, or what a surface load reads.
struct exec_words {
    uint64_t low, high;
};

// Called by compiled code inside the fault frame of its block: a wrong object or an access out of
// bounds leaves the kernel through exec_fault_leave, so none may be called elsewhere. Any thread;
// no locks. Coordinates may be anything, also NaN.
struct exec_image_functions {
    struct exec_words (*texture)(uint64_t texture, uint64_t sampler, const uint32_t *words,
                                 uint32_t op);
    // tex.1d, .2d, .3d with .f32 coordinates and nothing else; tex.1d with an .s32 coordinate.
    struct exec_words (*texture_1d)(uint64_t texture, float x);
    struct exec_words (*texture_2d)(uint64_t texture, float x, float y);
    struct exec_words (*texture_3d)(uint64_t texture, float x, float y, float z);
    struct exec_words (*texture_fetch)(uint64_t texture, int32_t x);
    // `what`: enum exec_query; level: of txq.level, else 0.
    uint32_t (*query)(uint64_t object, uint32_t what, uint32_t level);
    // Words: layer, x, y, z, then the data, 8-byte aligned.
    struct exec_words (*surface)(uint64_t surface, const uint32_t *words, uint32_t op);
};
