// SPDX-License-Identifier: Apache-2.0
//
// Arrays, textures and surfaces on a backend that has none: the checks still answer, everything
// else is 801, and nothing is left behind.
#include <criterion/criterion.h>
#include <string.h>

#include <cuda_runtime_api.h>

#define EXPECT(code, call) cr_assert((call) == (code), "%s is not %d", #call, (int)(code))

TestSuite(no_arrays, .timeout = 60);

Test(no_arrays, every_maker_says_so)
{
    const struct cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    const struct cudaChannelFormatDesc wrong = {31, 0, 0, 0, cudaChannelFormatKindFloat};
    const struct cudaExtent extent = {.width = 8, .height = 8};
    cudaArray_t array = NULL;
    cudaMipmappedArray_t mipmap = NULL;
    cudaTextureObject_t texture = 5;
    cudaSurfaceObject_t surface = 5;
    struct cudaResourceDesc resource;
    struct cudaTextureDesc sampling;
    void *memory = NULL;
    EXPECT(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&array, &wrong, 8, 8, 0));
    EXPECT(cudaErrorNotSupported, cudaMallocArray(&array, &format, 8, 8, 0));
    EXPECT(cudaErrorNotSupported, cudaMalloc3DArray(&array, &format, extent, 0));
    EXPECT(cudaErrorNotSupported, cudaMallocMipmappedArray(&mipmap, &format, extent, 2, 0));
    EXPECT(cudaSuccess, cudaMalloc(&memory, 1024));
    memset(&resource, 0, sizeof resource);
    memset(&sampling, 0, sizeof sampling);
    resource.resType = cudaResourceTypeLinear;
    resource.res.linear.devPtr = memory;
    resource.res.linear.desc = format;
    resource.res.linear.sizeInBytes = 1024;
    EXPECT(cudaErrorNotSupported, cudaCreateTextureObject(&texture, &resource, &sampling, NULL));
    EXPECT(cudaErrorNotSupported, cudaCreateSurfaceObject(&surface, &resource));
    cr_assert(!array && !mipmap && texture == 5 && surface == 5);
    EXPECT(cudaErrorInvalidResourceHandle, cudaFreeArray((cudaArray_t)memory));
    EXPECT(cudaErrorInvalidValue, cudaDestroyTextureObject(texture));
    EXPECT(cudaErrorInvalidValue, cudaDestroySurfaceObject(surface));
    EXPECT(cudaSuccess, cudaFree(memory));
    EXPECT(cudaSuccess, cudaDeviceReset());
}
