// SPDX-License-Identifier: Apache-2.0
//
// What the two suites about textures share: channel formats, arrays and resource descriptions.
#pragma once

#include "conformance.h"

#define FORMAT const __attribute__((unused)) struct cudaChannelFormatDesc
static FORMAT u8 = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
static FORMAT s32 = {32, 0, 0, 0, cudaChannelFormatKindSigned};
static FORMAT f32 = {32, 0, 0, 0, cudaChannelFormatKindFloat};
static FORMAT u32x2 = {32, 32, 0, 0, cudaChannelFormatKindUnsigned};
static FORMAT f32x3 = {32, 32, 32, 0, cudaChannelFormatKindFloat};

static inline struct cudaExtent extent3(size_t width, size_t height, size_t depth)
{
    return (struct cudaExtent){.width = width, .height = height, .depth = depth};
}

static inline struct cudaResourceDesc array_resource(cudaArray_t array)
{
    struct cudaResourceDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.resType = cudaResourceTypeArray;
    desc.res.array.array = array;
    return desc;
}

static inline struct cudaResourceDesc mipmap_resource(cudaMipmappedArray_t mipmap)
{
    struct cudaResourceDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.resType = cudaResourceTypeMipmappedArray;
    desc.res.mipmap.mipmap = mipmap;
    return desc;
}

static inline struct cudaResourceDesc
linear_resource(void *ptr, const struct cudaChannelFormatDesc *format, size_t size)
{
    struct cudaResourceDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.resType = cudaResourceTypeLinear;
    desc.res.linear.devPtr = ptr;
    desc.res.linear.desc = *format;
    desc.res.linear.sizeInBytes = size;
    return desc;
}

static inline struct cudaResourceDesc pitch_resource(void *ptr,
                                                     const struct cudaChannelFormatDesc *format,
                                                     size_t width, size_t height, size_t pitch)
{
    struct cudaResourceDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.resType = cudaResourceTypePitch2D;
    desc.res.pitch2D.devPtr = ptr;
    desc.res.pitch2D.desc = *format;
    desc.res.pitch2D.width = width;
    desc.res.pitch2D.height = height;
    desc.res.pitch2D.pitchInBytes = pitch;
    return desc;
}

static inline cudaArray_t make(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                               unsigned flags)
{
    cudaArray_t array = NULL;
    OK(cudaMalloc3DArray(&array, desc, extent, flags));
    return array;
}
