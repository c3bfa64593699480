// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects: creation from every kind of resource, resource views, getters,
// limits, alignment, destruction, and every documented error. What kernels read through them is in
// test_texture_kernels.c.
#include "textures.h"

TestSuite(textures, .timeout = 60, .data = NEEDS("textures"));

// The object must not be made; the place for it stays untouched.
static void refuse(cudaError_t expected, const struct cudaResourceDesc *resource,
                   const struct cudaTextureDesc *texture, const struct cudaResourceViewDesc *view,
                   int line)
{
    cudaTextureObject_t object = 77;
    cudaError_t got = cudaCreateTextureObject(&object, resource, texture, view);
    cr_assert(got == expected, "line %d: %d, expected %d", line, (int)got, (int)expected);
    cr_assert(object == 77, "line %d", line);
}
#define REFUSE(expected, resource, texture, view) \
    refuse(expected, resource, texture, view, __LINE__)

// The object can be made and destroyed once.
static void accept(const struct cudaResourceDesc *resource, const struct cudaTextureDesc *texture,
                   const struct cudaResourceViewDesc *view, int line)
{
    cudaTextureObject_t object = 0;
    cudaError_t got = cudaCreateTextureObject(&object, resource, texture, view);
    cr_assert(got == cudaSuccess && object != 0, "line %d: %d", line, (int)got);
    OK(cudaDestroyTextureObject(object));
    EXPECT(cudaErrorInvalidValue, cudaDestroyTextureObject(object));
}
#define ACCEPT(resource, texture, view) accept(resource, texture, view, __LINE__)

// Of structs that were cleared before their members were set.
static bool same_bytes(const void *a, const void *b, size_t size)
{
    return memcmp(a, b, size) == 0;
}

// ---- objects ----

Test(textures, descriptors_come_back)
{
    cudaArray_t array = make(&f32, extent3(8, 4, 0), 0);
    struct cudaResourceDesc resource = array_resource(array), got_resource;
    struct cudaTextureDesc texture, got_texture;
    struct cudaResourceViewDesc view, got_view;
    cudaTextureObject_t object = 0, plain = 0;
    memset(&texture, 0, sizeof texture);
    memset(&view, 0, sizeof view);
    texture.addressMode[0] = cudaAddressModeMirror;
    texture.addressMode[1] = cudaAddressModeBorder;
    texture.filterMode = cudaFilterModeLinear;
    texture.borderColor[2] = 0.25f;
    texture.normalizedCoords = 1;
    texture.maxAnisotropy = 99;
    texture.mipmapLevelBias = 0.5f;
    view.format = cudaResViewFormatUnsignedInt1;
    view.width = 8;
    view.height = 4;
    texture.filterMode = cudaFilterModePoint;
    OK(cudaCreateTextureObject(&object, &resource, &texture, &view));
    OK(cudaCreateTextureObject(&plain, &resource, &texture, NULL));
    cr_assert(object && plain && object != plain);
    memset(&got_resource, 0xEE, sizeof got_resource);
    memset(&got_texture, 0xEE, sizeof got_texture);
    memset(&got_view, 0xEE, sizeof got_view);
    OK(cudaGetTextureObjectResourceDesc(&got_resource, object));
    OK(cudaGetTextureObjectTextureDesc(&got_texture, object));
    OK(cudaGetTextureObjectResourceViewDesc(&got_view, object));
    cr_assert(got_resource.resType == cudaResourceTypeArray &&
              got_resource.res.array.array == array);
    cr_assert(same_bytes(&got_texture, &texture, sizeof texture));
    cr_assert(same_bytes(&got_view, &view, sizeof view));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectResourceViewDesc(&got_view, plain));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectResourceDesc(NULL, object));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectTextureDesc(NULL, object));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectResourceViewDesc(NULL, object));
    OK(cudaDestroyTextureObject(object));
    OK(cudaDestroyTextureObject(plain));
    EXPECT(cudaErrorInvalidValue, cudaDestroyTextureObject(object));
    EXPECT(cudaErrorInvalidValue, cudaDestroyTextureObject(0));
    EXPECT(cudaErrorInvalidValue, cudaDestroyTextureObject((uintptr_t)&view));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectResourceDesc(&got_resource, object));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectTextureDesc(&got_texture, 12345));
    EXPECT(cudaErrorInvalidValue, cudaCreateTextureObject(NULL, &resource, &texture, NULL));
    REFUSE(cudaErrorInvalidValue, NULL, &texture, NULL);
    REFUSE(cudaErrorInvalidValue, &resource, NULL, NULL);
    OK(cudaFreeArray(array));
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL); // the array is gone
    resource = array_resource(NULL);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    resource.resType = (enum cudaResourceType)9;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
}

#if CUDART_VERSION == 11080
// CUDA 11.8 has two versions of the struct; the first ends before seamlessCubemap.
Test(textures, second_version_of_cuda_11)
{
    cudaArray_t array = make(&f32, extent3(8, 8, 6), cudaArrayCubemap);
    struct cudaResourceDesc resource = array_resource(array);
    struct cudaTextureDesc_v2 texture, got;
    struct {
        struct cudaTextureDesc desc;
        int behind;
    } first = {.behind = 4711};
    cudaTextureObject_t object = 0;
    memset(&texture, 0, sizeof texture);
    texture.filterMode = cudaFilterModeLinear;
    texture.seamlessCubemap = 1;
    OK(cudaCreateTextureObject_v2(&object, &resource, &texture, NULL));
    OK(cudaGetTextureObjectTextureDesc_v2(&got, object));
    cr_assert(same_bytes(&got, &texture, sizeof got));
    OK(cudaGetTextureObjectTextureDesc(&first.desc, object));
    cr_assert(first.behind == 4711 && first.desc.filterMode == cudaFilterModeLinear);
    OK(cudaDestroyTextureObject(object));
    EXPECT(cudaErrorInvalidValue, cudaCreateTextureObject_v2(&object, &resource, NULL, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectTextureDesc_v2(NULL, object));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectTextureDesc_v2(&got, object));
    OK(cudaFreeArray(array));
}
#endif

Test(textures, sampling_rules)
{
    cudaArray_t floats = make(&f32, extent3(8, 4, 0), 0), bytes = make(&u8, extent3(8, 4, 0), 0);
    cudaArray_t words = make(&s32, extent3(8, 4, 0), 0);
    cudaArray_t cube = make(&f32, extent3(8, 8, 6), cudaArrayCubemap);
    cudaMipmappedArray_t mipmap = NULL;
    struct cudaResourceDesc resource = array_resource(floats);
    struct cudaTextureDesc texture;
    OK(cudaMallocMipmappedArray(&mipmap, &f32, extent3(8, 4, 0), 4, 0));
    memset(&texture, 0, sizeof texture);
    ACCEPT(&resource, &texture, NULL);
    for (int i = 0; i < 3; i++) {
        texture.addressMode[i] = (enum cudaTextureAddressMode)4;
        REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
        texture.addressMode[i] = cudaAddressModeWrap;
    }
    texture.filterMode = (enum cudaTextureFilterMode)2;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    texture.filterMode = cudaFilterModePoint;
    texture.mipmapFilterMode = (enum cudaTextureFilterMode)7;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    texture.mipmapFilterMode = cudaFilterModePoint;
    texture.readMode = (enum cudaTextureReadMode)2;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    texture.readMode = cudaReadModeElementType;

    // Filtering needs floats.
    texture.filterMode = cudaFilterModeLinear;
    ACCEPT(&resource, &texture, NULL);
    resource = array_resource(bytes);
    REFUSE(cudaErrorInvalidFilterSetting, &resource, &texture, NULL);
    texture.readMode = cudaReadModeNormalizedFloat;
    ACCEPT(&resource, &texture, NULL);
    resource = array_resource(words);
    REFUSE(cudaErrorInvalidFilterSetting, &resource, &texture, NULL);
    texture.filterMode = cudaFilterModePoint;
    ACCEPT(&resource, &texture, NULL); // "would not be promoted"
    texture.readMode = cudaReadModeElementType;

    // Mipmapped arrays need normalised coordinates.
    resource = mipmap_resource(mipmap);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    texture.normalizedCoords = 1;
    texture.mipmapFilterMode = cudaFilterModeLinear;
    ACCEPT(&resource, &texture, NULL);
    resource = mipmap_resource((cudaMipmappedArray_t)floats);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    resource = array_resource((cudaArray_t)mipmap);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
#if CUDART_VERSION >= 12000
    // Seamless filtering is of cubemaps.
    texture.seamlessCubemap = 1;
    resource = array_resource(cube);
    ACCEPT(&resource, &texture, NULL);
    resource = array_resource(floats);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
#endif
    OK(cudaFreeMipmappedArray(mipmap));
    OK(cudaFreeArray(cube));
    OK(cudaFreeArray(words));
    OK(cudaFreeArray(bytes));
    OK(cudaFreeArray(floats));
}

Test(textures, linear_memory)
{
    struct cudaDeviceProp prop;
    struct cudaTextureDesc texture;
    char *device = NULL;
    size_t width = 0;
    enum { SIZE = 1 << 20 };
    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cudaMalloc((void **)&device, SIZE));
    memset(&texture, 0, sizeof texture);
    struct cudaResourceDesc resource = linear_resource(device, &f32, SIZE);
    ACCEPT(&resource, &texture, NULL);
    texture.filterMode = cudaFilterModeLinear; // "ignored if … cudaResourceTypeLinear"
    resource = linear_resource(device, &u8, SIZE);
    ACCEPT(&resource, &texture, NULL);
    texture.filterMode = cudaFilterModePoint;
    resource = linear_resource(device + prop.textureAlignment, &f32, 512);
    ACCEPT(&resource, &texture, NULL);
    resource = linear_resource(device + 4, &f32, 512);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    resource = linear_resource(device, &f32, 0);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    resource = linear_resource(device, &f32, 3); // not one element
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    resource = linear_resource(NULL, &f32, 512);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    resource = linear_resource((void *)4096, &f32, 512); // no memory of the device
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    resource = linear_resource(device, &f32x3, 512);
    REFUSE(cudaErrorInvalidChannelDescriptor, &resource, &texture, NULL);
    struct cudaResourceViewDesc view;
    memset(&view, 0, sizeof view);
    resource = linear_resource(device, &f32, 512);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view); // views are of arrays
    OK(cudaDeviceGetTexture1DLinearMaxWidth(&width, &f32, 0));
    cr_assert(width >= 1u << 27);
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetTexture1DLinearMaxWidth(NULL, &f32, 0));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetTexture1DLinearMaxWidth(&width, NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetTexture1DLinearMaxWidth(&width, &f32x3, 0));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetTexture1DLinearMaxWidth(&width, &f32, 99));
    OK(cudaFree(device));
    resource = linear_resource(device, &f32, 512);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
}

Test(textures, pitched_memory)
{
    struct cudaDeviceProp prop;
    struct cudaTextureDesc texture;
    char *device = NULL;
    size_t pitch = 0;
    OK(cudaGetDeviceProperties(&prop, 0));
    OK(cudaMallocPitch((void **)&device, &pitch, 100 * sizeof(float), 50));
    memset(&texture, 0, sizeof texture);
    texture.filterMode = cudaFilterModeLinear;
    const struct {
        cudaError_t expected;
        size_t offset, width, height, pitch;
    } rows[] = {
        {cudaSuccess, 0, 100, 50, pitch},
        {cudaSuccess, 0, pitch / 4, 50, pitch},
        {cudaSuccess, pitch * 2, 100, 48, pitch},
        {cudaErrorInvalidValue, 0, 0, 50, pitch},
        {cudaErrorInvalidValue, 0, 100, 0, pitch},
        {cudaErrorInvalidValue, 0, pitch / 4 + 1, 50, pitch},
        {cudaErrorInvalidValue, 0, 100, 51, pitch},
        {cudaErrorInvalidValue, 0, 100, 50, 404},
        {cudaErrorInvalidValue, 0, 100, 50, 0},
        {cudaErrorInvalidValue, 4, 90, 40, pitch},
        {cudaErrorInvalidValue, 0, (size_t)prop.maxTexture2DLinear[0] + 1, 1, pitch},
        {cudaErrorInvalidValue, 0, 1, (size_t)prop.maxTexture2DLinear[1] + 1, pitch},
        {cudaErrorInvalidValue, 0, 1, 1, (size_t)prop.maxTexture2DLinear[2] + 32},
        {cudaErrorInvalidValue, 0, SIZE_MAX, SIZE_MAX, SIZE_MAX - 31},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        struct cudaResourceDesc resource = pitch_resource(
            device + rows[i].offset, &f32, rows[i].width, rows[i].height, rows[i].pitch);
        cudaTextureObject_t object = 0;
        cudaError_t got = cudaCreateTextureObject(&object, &resource, &texture, NULL);
        cr_assert(got == rows[i].expected, "row %zu: %d", i, (int)got);
        if (!got) {
            OK(cudaDestroyTextureObject(object));
        }
    }
    OK(cudaFree(device));
}

Test(textures, resource_views)
{
    cudaArray_t array = make(&u32x2, extent3(8, 4, 0), 0);
    cudaArray_t layered = make(&f32, extent3(8, 4, 5), cudaArrayLayered);
    cudaArray_t cubes = make(&f32, extent3(8, 8, 12), cudaArrayLayered | cudaArrayCubemap);
    cudaMipmappedArray_t mipmap = NULL;
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
    OK(cudaMallocMipmappedArray(&mipmap, &f32, extent3(8, 4, 0), 4, 0));
    memset(&texture, 0, sizeof texture);
    memset(&view, 0, sizeof view);
    struct cudaResourceDesc resource = array_resource(array);
    view.width = 8, view.height = 4;
    ACCEPT(&resource, &texture, &view);
    view.depth = 1;
    ACCEPT(&resource, &texture, &view);
    view.depth = 0;
    view.format = cudaResViewFormatFloat2;
    ACCEPT(&resource, &texture, &view);
    view.format = cudaResViewFormatUnsignedShort4;
    ACCEPT(&resource, &texture, &view);
    // What the view reads decides whether it can be filtered.
    texture.filterMode = cudaFilterModeLinear;
    REFUSE(cudaErrorInvalidFilterSetting, &resource, &texture, &view);
    texture.readMode = cudaReadModeNormalizedFloat;
    ACCEPT(&resource, &texture, &view);
    view.format = cudaResViewFormatSignedInt2;
    REFUSE(cudaErrorInvalidFilterSetting, &resource, &texture, &view);
    view.format = cudaResViewFormatHalf4;
    ACCEPT(&resource, &texture, &view);
    texture.filterMode = cudaFilterModePoint;
    texture.readMode = cudaReadModeElementType;
    view.format = cudaResViewFormatFloat1; // another size
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);
    view.format = (enum cudaResourceViewFormat)0x23;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);
    view.format = cudaResViewFormatNone;
    view.width = 7;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);
    // Blocks of 4 x 4 texels.
    view.format = cudaResViewFormatUnsignedBlockCompressed1;
    view.width = 32, view.height = 16;
    ACCEPT(&resource, &texture, &view);
    view.format = cudaResViewFormatUnsignedBlockCompressed7; // needs four channels
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);
    view.format = cudaResViewFormatUnsignedBlockCompressed1;
    view.width = 8;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);
    view.format = cudaResViewFormatNone;
    view.height = 4;
    view.lastMipmapLevel = 1;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);
    view.lastMipmapLevel = 0;
    view.lastLayer = 1;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);

    resource = array_resource(layered);
    view.depth = 5;
    view.firstLayer = 1, view.lastLayer = 4;
    ACCEPT(&resource, &texture, &view);
    view.lastLayer = 5;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);
    view.firstLayer = 3, view.lastLayer = 2;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);

    resource = array_resource(cubes);
    view.height = 8, view.depth = 12;
    view.firstLayer = 1, view.lastLayer = 1;
    ACCEPT(&resource, &texture, &view);
    view.lastLayer = 2;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);

    resource = mipmap_resource(mipmap);
    texture.normalizedCoords = 1;
    view.height = 4, view.depth = 0;
    view.firstLayer = view.lastLayer = 0;
    view.firstMipmapLevel = 1, view.lastMipmapLevel = 3;
    ACCEPT(&resource, &texture, &view);
    view.lastMipmapLevel = 4;
    REFUSE(cudaErrorInvalidValue, &resource, &texture, &view);
    OK(cudaFreeMipmappedArray(mipmap));
    OK(cudaFreeArray(cubes));
    OK(cudaFreeArray(layered));
    OK(cudaFreeArray(array));
}

Test(textures, surfaces)
{
    cudaArray_t array = make(&f32, extent3(8, 4, 0), cudaArraySurfaceLoadStore);
    cudaArray_t plain = make(&f32, extent3(8, 4, 0), 0), level = NULL;
    cudaMipmappedArray_t mipmap = NULL;
    cudaSurfaceObject_t object = 0, other = 5;
    struct cudaResourceDesc resource = array_resource(array), got;
    memset(&got, 0xEE, sizeof got);
    OK(cudaCreateSurfaceObject(&object, &resource));
    cr_assert(object != 0);
    OK(cudaGetSurfaceObjectResourceDesc(&got, object));
    cr_assert(got.resType == cudaResourceTypeArray && got.res.array.array == array);
    EXPECT(cudaErrorInvalidValue, cudaGetSurfaceObjectResourceDesc(NULL, object));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureObjectResourceDesc(&got, object));
    EXPECT(cudaErrorInvalidValue, cudaDestroyTextureObject(object));
    OK(cudaDestroySurfaceObject(object));
    EXPECT(cudaErrorInvalidValue, cudaDestroySurfaceObject(object));
    EXPECT(cudaErrorInvalidValue, cudaDestroySurfaceObject(0));
    EXPECT(cudaErrorInvalidValue, cudaGetSurfaceObjectResourceDesc(&got, object));
    EXPECT(cudaErrorInvalidValue, cudaCreateSurfaceObject(NULL, &resource));
    EXPECT(cudaErrorInvalidValue, cudaCreateSurfaceObject(&other, NULL));
    resource = array_resource(plain); // works without cudaArraySurfaceLoadStore, too
    OK(cudaCreateSurfaceObject(&object, &resource));
    OK(cudaDestroySurfaceObject(object));
#if CUDART_VERSION >= 13000
    resource.flags = 1; // "must be zero"
    EXPECT(cudaErrorInvalidValue, cudaCreateSurfaceObject(&other, &resource));
    struct cudaTextureDesc texture;
    memset(&texture, 0, sizeof texture);
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
#endif
#if CUDART_VERSION >= 11050
    const struct cudaChannelFormatDesc bc1 = {8, 8, 8, 8,
                                              cudaChannelFormatKindUnsignedBlockCompressed1};
    cudaArray_t blocks = make(&bc1, extent3(8, 8, 0), 0);
    resource = array_resource(blocks);
    EXPECT(cudaErrorInvalidChannelDescriptor, cudaCreateSurfaceObject(&other, &resource));
    OK(cudaFreeArray(blocks));
#endif
    resource = array_resource((cudaArray_t)&got);
    EXPECT(cudaErrorInvalidResourceHandle, cudaCreateSurfaceObject(&other, &resource));
    OK(cudaMallocMipmappedArray(&mipmap, &f32, extent3(8, 4, 0), 4, cudaArraySurfaceLoadStore));
    resource = mipmap_resource(mipmap);
    EXPECT(cudaErrorInvalidValue, cudaCreateSurfaceObject(&other, &resource));
    cr_assert(other == 5);
    OK(cudaGetMipmappedArrayLevel(&level, mipmap, 1));
    resource = array_resource(level);
    OK(cudaCreateSurfaceObject(&object, &resource));
    OK(cudaDestroySurfaceObject(object));
    OK(cudaFreeMipmappedArray(mipmap));
    OK(cudaFreeArray(plain));
    OK(cudaFreeArray(array));
}

// Handles of destroyed objects are not handed out again at once.
Test(textures, many_objects)
{
    enum { COUNT = 5000 };
    cudaArray_t array = make(&f32, extent3(8, 4, 0), 0);
    struct cudaResourceDesc resource = array_resource(array);
    struct cudaTextureDesc texture;
    cudaTextureObject_t first = 0, object = 0, last = 0;
    memset(&texture, 0, sizeof texture);
    OK(cudaCreateTextureObject(&first, &resource, &texture, NULL));
    OK(cudaDestroyTextureObject(first));
    for (int i = 0; i < COUNT; i++) {
        OK(cudaCreateTextureObject(&object, &resource, &texture, NULL));
        cr_assert(object != last && (object != first || i > 500));
        last = object;
        OK(cudaDestroyTextureObject(object));
    }
    OK(cudaCreateTextureObject(&object, &resource, &texture, NULL));
    OK(cudaDeviceReset());
    EXPECT(cudaErrorInvalidValue, cudaDestroyTextureObject(object));
    EXPECT(cudaErrorInvalidResourceHandle, cudaFreeArray(array));
}

Test(textures, of_another_device)
{
    if (device_count() < 2) {
        cr_skip_test("needs two devices");
    }
    cudaArray_t array = make(&f32, extent3(8, 4, 0), 0);
    struct cudaResourceDesc resource = array_resource(array);
    struct cudaTextureDesc texture;
    memset(&texture, 0, sizeof texture);
    OK(cudaSetDevice(1));
    REFUSE(cudaErrorInvalidValue, &resource, &texture, NULL);
    OK(cudaSetDevice(0));
    ACCEPT(&resource, &texture, NULL);
    OK(cudaFreeArray(array));
}

Test(textures, limits_are_those_of_the_device)
{
    static const struct {
        enum cudaDeviceAttr attribute;
        int value; // Programming Guide, "Technical Specifications per Compute Capability", 8.0
    } rows[] = {
        {cudaDevAttrMaxTexture1DWidth, 131072},
        {cudaDevAttrMaxTexture1DLinearWidth, 268435456},
        {cudaDevAttrMaxTexture1DMipmappedWidth, 32768},
        {cudaDevAttrMaxTexture1DLayeredWidth, 32768},
        {cudaDevAttrMaxTexture1DLayeredLayers, 2048},
        {cudaDevAttrMaxTexture2DWidth, 131072},
        {cudaDevAttrMaxTexture2DHeight, 65536},
        {cudaDevAttrMaxTexture2DLinearWidth, 131072},
        {cudaDevAttrMaxTexture2DLinearHeight, 65000},
        {cudaDevAttrMaxTexture2DLinearPitch, 2097120},
        {cudaDevAttrMaxTexture2DMipmappedWidth, 32768},
        {cudaDevAttrMaxTexture2DMipmappedHeight, 32768},
        {cudaDevAttrMaxTexture2DGatherWidth, 32768},
        {cudaDevAttrMaxTexture2DGatherHeight, 32768},
        {cudaDevAttrMaxTexture2DLayeredWidth, 32768},
        {cudaDevAttrMaxTexture2DLayeredLayers, 2048},
        {cudaDevAttrMaxTexture3DWidth, 16384},
        {cudaDevAttrMaxTextureCubemapWidth, 32768},
        {cudaDevAttrMaxTextureCubemapLayeredLayers, 2046},
        {cudaDevAttrMaxSurface1DWidth, 32768},
        {cudaDevAttrMaxSurface2DWidth, 131072},
        {cudaDevAttrMaxSurface2DHeight, 65536},
        {cudaDevAttrMaxSurface3DWidth, 16384},
        {cudaDevAttrMaxSurface2DLayeredLayers, 2048},
        {cudaDevAttrTextureAlignment, 512},
        {cudaDevAttrTexturePitchAlignment, 32},
        {cudaDevAttrSurfaceAlignment, 512},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        int value = -1;
        OK(cudaDeviceGetAttribute(&value, rows[i].attribute, 0));
        cr_assert(value == rows[i].value, "attribute %d: %d", (int)rows[i].attribute, value);
    }
}
