// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects and, for CUDA 11, references: creation from every kind of resource,
// resource views, getters, limits, alignment, destruction, and every documented error; and what
// kernels read through them, one fetch a launch. Filtering is tested to the last bit by the
// backend.
#include <math.h>

#include "conformance.h"
#include "ptx_module.h"

TestSuite(textures, .timeout = 60);

static const struct cudaChannelFormatDesc u8 = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
static const struct cudaChannelFormatDesc s32 = {32, 0, 0, 0, cudaChannelFormatKindSigned};
static const struct cudaChannelFormatDesc f32 = {32, 0, 0, 0, cudaChannelFormatKindFloat};
static const struct cudaChannelFormatDesc u32x2 = {32, 32, 0, 0, cudaChannelFormatKindUnsigned};
static const struct cudaChannelFormatDesc f32x3 = {32, 32, 32, 0, cudaChannelFormatKindFloat};

static struct cudaExtent extent3(size_t width, size_t height, size_t depth)
{
    return (struct cudaExtent){.width = width, .height = height, .depth = depth};
}

static struct cudaResourceDesc array_resource(cudaArray_t array)
{
    struct cudaResourceDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.resType = cudaResourceTypeArray;
    desc.res.array.array = array;
    return desc;
}

static struct cudaResourceDesc mipmap_resource(cudaMipmappedArray_t mipmap)
{
    struct cudaResourceDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.resType = cudaResourceTypeMipmappedArray;
    desc.res.mipmap.mipmap = mipmap;
    return desc;
}

static struct cudaResourceDesc
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

static struct cudaResourceDesc pitch_resource(void *ptr, const struct cudaChannelFormatDesc *format,
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

static cudaArray_t make(const struct cudaChannelFormatDesc *desc, struct cudaExtent extent,
                        unsigned flags)
{
    cudaArray_t array = NULL;
    OK(cudaMalloc3DArray(&array, desc, extent, flags));
    return array;
}

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

// ---- what kernels read ----

#define FETCH(name, instruction)                                                                \
    ".visible .entry " name "(.param .u64 p0, .param .u64 p1, .param .f32 p2, .param .f32 p3, " \
    ".param .f32 p4, .param .f32 p5)\n{\n"                                                      \
    " .reg .f32 %f<9>; .reg .b32 %r<9>; .reg .b64 %rd<3>;\n"                                    \
    " ld.param.u64 %rd1, [p0]; ld.param.u64 %rd2, [p1]; ld.param.f32 %f1, [p2];\n"              \
    " ld.param.f32 %f2, [p3]; ld.param.f32 %f3, [p4]; ld.param.f32 %f4, [p5];\n"                \
    " cvt.rzi.s32.f32 %r1, %f1; cvt.rzi.s32.f32 %r2, %f2;\n " instruction "\n"                  \
    " st.global.v4.f32 [%rd1], {%f5, %f6, %f7, %f8};\n ret;\n}\n"
#define WORDS " mov.b32 %f5, %r5; mov.b32 %f6, %r6; mov.b32 %f7, %r7; mov.b32 %f8, %r8;"

static const char fetches[] = ".version 7.0\n.target sm_80\n.address_size 64\n" FETCH(
    "f_fetch", "tex.1d.v4.f32.s32 {%f5, %f6, %f7, %f8}, [%rd2, {%r1}];")
    FETCH("f_1d", "tex.1d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%f1}];")
        FETCH("f_2d", "tex.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%f1, %f2}];") FETCH(
            "f_2d_u32", "tex.2d.v4.u32.f32 {%r5, %r6, %r7, %r8}, [%rd2, {%f1, %f2}];" WORDS)
            FETCH("f_3d", "tex.3d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%f1, %f2, %f3, %f3}];")
                FETCH("f_a2d",
                      "tex.a2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%r1, %f2, %f3, %f3}];")
                    FETCH("f_cube",
                          "tex.cube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%f1, %f2, %f3, %f3}];")
                        FETCH("f_acube",
                              "tex.acube.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%r1, %f2, %f3, "
                              "%f4}];") FETCH("f_level", "tex.level.2d.v4.f32.f32 {%f5, %f6, %f7, "
                                                         "%f8}, [%rd2, {%f1, %f2}], %f3;")
                            FETCH("f_gather",
                                  "tld4.r.2d.v4.f32.f32 {%f5, %f6, %f7, %f8}, [%rd2, {%f1, %f2}];")
                                FETCH("f_surface", "suld.b.2d.v4.b32.trap {%r5, %r6, %r7, %r8}, "
                                                   "[%rd2, {%r1, %r2}];" WORDS)
                                    FETCH("f_store", "mov.b32 %r5, %f3; sust.b.2d.b32.trap [%rd2, "
                                                     "{%r1, %r2}], {%r5};" WORDS);

enum fetch {
    FETCH_LINEAR,
    FETCH_1D,
    FETCH_2D,
    FETCH_2D_U32,
    FETCH_3D,
    FETCH_A2D,
    FETCH_CUBE,
    FETCH_ACUBE,
    FETCH_LEVEL,
    FETCH_GATHER,
    FETCH_SURFACE, // x in bytes
    FETCH_STORE,   // the value c to (a, b), x in bytes
};

static struct ptx_module *fetch_module;
static float *fetched; // on the device

static void fetches_register(void)
{
    static const char *const names[] = {"f_fetch", "f_1d",     "f_2d",      "f_2d_u32",
                                        "f_3d",    "f_a2d",    "f_cube",    "f_acube",
                                        "f_level", "f_gather", "f_surface", "f_store"};
    fetch_module = ptx_module_register(fetches, names, LENGTH(names));
    cr_assert(fetch_module);
    ptx_module_end(fetch_module);
    OK(cudaMalloc((void **)&fetched, 16));
}

struct texel {
    float v[4];
};

static struct texel fetch(enum fetch kind, unsigned long long object, float a, float b, float c,
                          float d)
{
    struct texel texel;
    void *arguments[] = {&fetched, &object, &a, &b, &c, &d};
    OK(cudaLaunchKernel(ptx_module_stub(fetch_module, kind), dim(1, 1, 1), dim(1, 1, 1), arguments,
                        0, 0));
    OK(cudaMemcpy(&texel, fetched, sizeof texel, cudaMemcpyDeviceToHost));
    return texel;
}

static cudaTextureObject_t texture_on(const struct cudaResourceDesc *resource,
                                      const struct cudaTextureDesc *texture,
                                      const struct cudaResourceViewDesc *view)
{
    cudaTextureObject_t object = 0;
    OK(cudaCreateTextureObject(&object, resource, texture, view));
    return object;
}

#define NEAR(a, b) cr_assert(fabsf((a) - (b)) < 1e-3f, "%g is not %g", (double)(a), (double)(b))

KERNEL_TEST(textures, fetches_from_every_resource)
{
    enum { W = 8, H = 4, D = 3 };
    float host[W * H * D];
    struct cudaTextureDesc texture;
    fetches_register();
    for (int i = 0; i < W * H * D; i++) {
        host[i] = (float)(i + 1);
    }
    memset(&texture, 0, sizeof texture);
    for (int i = 0; i < 3; i++) {
        texture.addressMode[i] = cudaAddressModeClamp;
    }
    // Linear and pitched memory.
    float *linear = NULL, *pitched = NULL;
    size_t pitch = 0;
    OK(cudaMalloc((void **)&linear, sizeof host));
    OK(cudaMemcpy(linear, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaMallocPitch((void **)&pitched, &pitch, W * sizeof(float), H));
    OK(cudaMemcpy2D(pitched, pitch, host, W * sizeof(float), W * sizeof(float), H,
                    cudaMemcpyHostToDevice));
    struct cudaResourceDesc resource = linear_resource(linear, &f32, sizeof host);
    cudaTextureObject_t object = texture_on(&resource, &texture, NULL);
    NEAR(fetch(FETCH_LINEAR, object, 5, 0, 0, 0).v[0], 6.0f);
    NEAR(fetch(FETCH_LINEAR, object, W * H * D, 0, 0, 0).v[0], 0.0f); // out of range
    NEAR(fetch(FETCH_LINEAR, object, -1, 0, 0, 0).v[0], 0.0f);
    OK(cudaDestroyTextureObject(object));
    resource = pitch_resource(pitched, &f32, W, H, pitch);
    texture.filterMode = cudaFilterModeLinear;
    object = texture_on(&resource, &texture, NULL);
    NEAR(fetch(FETCH_2D, object, 2.5f, 1.5f, 0, 0).v[0], host[W + 2]);
    NEAR(fetch(FETCH_2D, object, 3.0f, 2.0f, 0, 0).v[0],
         (host[W + 2] + host[W + 3] + host[2 * W + 2] + host[2 * W + 3]) / 4);
    NEAR(fetch(FETCH_2D, object, 100.0f, -3.0f, 0, 0).v[0], host[W - 1]);
    OK(cudaDestroyTextureObject(object));
    // Arrays of each shape, the same bytes in all.
    static const struct {
        size_t height, depth;
        unsigned flags;
        enum fetch kind;
        float a, b, c;
        int index;
    } rows[] = {
        {0, 0, 0, FETCH_1D, 3.5f, 0, 0, 3},
        {H, 0, 0, FETCH_2D, 3.5f, 2.5f, 0, 2 * W + 3},
        {H, D, 0, FETCH_3D, 3.5f, 2.5f, 1.5f, (H + 2) * W + 3},
        {H, D, cudaArrayLayered, FETCH_A2D, 2, 3.5f, 1.5f, (2 * H + 1) * W + 3},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        cudaArray_t array = make(&f32, extent3(W, rows[i].height, rows[i].depth), rows[i].flags);
        struct cudaMemcpy3DParms p = {0};
        p.srcPtr = (struct cudaPitchedPtr){host, W * sizeof(float), W, H};
        p.dstArray = array;
        p.extent = extent3(W, rows[i].height ? H : 1, rows[i].depth ? D : 1);
        p.kind = cudaMemcpyHostToDevice;
        OK(cudaMemcpy3D(&p));
        resource = array_resource(array);
        object = texture_on(&resource, &texture, NULL);
        NEAR(fetch(rows[i].kind, object, rows[i].a, rows[i].b, rows[i].c, 0).v[0],
             host[rows[i].index]);
        OK(cudaDestroyTextureObject(object));
        OK(cudaFreeArray(array));
    }
    OK(cudaFree(linear));
    OK(cudaFree(pitched));
}

KERNEL_TEST(textures, cubemaps)
{
    enum { W = 4, CUBES = 2, FACES = 6 * CUBES };
    float host[CUBES][6][W * W];
    struct cudaTextureDesc texture;
    fetches_register();
    for (int cube = 0; cube < CUBES; cube++) {
        for (int face = 0; face < 6; face++) {
            for (int i = 0; i < W * W; i++) {
                host[cube][face][i] = (float)(cube * 10 + face);
            }
        }
    }
    memset(&texture, 0, sizeof texture);
    texture.normalizedCoords = 1;
    cudaArray_t one = make(&f32, extent3(W, W, 6), cudaArrayCubemap);
    cudaArray_t many = make(&f32, extent3(W, W, FACES), cudaArrayCubemap | cudaArrayLayered);
    struct cudaMemcpy3DParms p = {0};
    p.srcPtr = (struct cudaPitchedPtr){host, W * sizeof(float), W, W};
    p.dstArray = many;
    p.extent = extent3(W, W, FACES);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&p));
    p.dstArray = one;
    p.extent.depth = 6;
    OK(cudaMemcpy3D(&p));
    struct cudaResourceDesc resource = array_resource(one);
    cudaTextureObject_t cube = texture_on(&resource, &texture, NULL);
    resource = array_resource(many);
    cudaTextureObject_t cubes = texture_on(&resource, &texture, NULL);
    struct cudaResourceViewDesc view;
    memset(&view, 0, sizeof view);
    view.width = view.height = W;
    view.depth = FACES;
    view.firstLayer = view.lastLayer = 1;
    cudaTextureObject_t second = texture_on(&resource, &texture, &view);
    static const float directions[6][3] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
                                           {0, -1, 0}, {0, 0, 1},  {0, 0, -1}};
    for (int face = 0; face < 6; face++) { // in the order of enum cudaGraphicsCubeFace
        const float *d = directions[face];
        NEAR(fetch(FETCH_CUBE, cube, d[0], d[1], d[2], 0).v[0], (float)face);
        NEAR(fetch(FETCH_ACUBE, cubes, 1, d[0], d[1], d[2]).v[0], (float)(10 + face));
        NEAR(fetch(FETCH_ACUBE, second, 0, d[0], d[1], d[2]).v[0], (float)(10 + face));
    }
    OK(cudaDestroyTextureObject(cube));
    OK(cudaDestroyTextureObject(cubes));
    OK(cudaDestroyTextureObject(second));
    OK(cudaFreeArray(one));
    OK(cudaFreeArray(many));
}

KERNEL_TEST(textures, mipmapped_levels_and_views)
{
    cudaMipmappedArray_t mipmap = NULL;
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
    fetches_register();
    OK(cudaMallocMipmappedArray(&mipmap, &f32, extent3(8, 8, 0), 4, 0));
    for (unsigned i = 0; i < 4; i++) {
        float values[64];
        cudaArray_t level = NULL;
        for (int j = 0; j < 64; j++) {
            values[j] = (float)(i * 10);
        }
        OK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
        OK(cudaMemcpyToArray(level, 0, 0, values, (size_t)(64 >> 2 * i) * sizeof(float),
                             cudaMemcpyHostToDevice));
    }
    memset(&texture, 0, sizeof texture);
    memset(&view, 0, sizeof view);
    texture.normalizedCoords = 1;
    texture.filterMode = texture.mipmapFilterMode = cudaFilterModeLinear;
    texture.maxMipmapLevelClamp = 99;
    view.width = view.height = 8;
    view.firstMipmapLevel = 1;
    view.lastMipmapLevel = 2;
    struct cudaResourceDesc resource = mipmap_resource(mipmap);
    cudaTextureObject_t whole = texture_on(&resource, &texture, NULL);
    cudaTextureObject_t part = texture_on(&resource, &texture, &view);
    texture.minMipmapLevelClamp = 1.5f;
    texture.maxMipmapLevelClamp = 2.0f;
    cudaTextureObject_t clamped = texture_on(&resource, &texture, NULL);
    for (int level = 0; level < 4; level++) {
        NEAR(fetch(FETCH_LEVEL, whole, 0.3f, 0.7f, (float)level, 0).v[0], (float)(level * 10));
    }
    NEAR(fetch(FETCH_LEVEL, whole, 0.3f, 0.7f, 1.25f, 0).v[0], 12.5f);
    NEAR(fetch(FETCH_LEVEL, whole, 0.3f, 0.7f, 50.0f, 0).v[0], 30.0f);
    NEAR(fetch(FETCH_LEVEL, part, 0.3f, 0.7f, 0, 0).v[0], 10.0f);
    NEAR(fetch(FETCH_LEVEL, part, 0.3f, 0.7f, 9.0f, 0).v[0], 20.0f);
    NEAR(fetch(FETCH_LEVEL, clamped, 0.3f, 0.7f, 0, 0).v[0], 15.0f);
    NEAR(fetch(FETCH_LEVEL, clamped, 0.3f, 0.7f, 3.0f, 0).v[0], 20.0f);
    OK(cudaDestroyTextureObject(whole));
    OK(cudaDestroyTextureObject(part));
    OK(cudaDestroyTextureObject(clamped));
    OK(cudaFreeMipmappedArray(mipmap));
}

KERNEL_TEST(textures, sampling_settings_reach_kernels)
{
    const float host[4] = {10, 20, 30, 40};
    struct cudaTextureDesc texture;
    fetches_register();
    cudaArray_t array = make(&f32, extent3(4, 1, 0), cudaArrayTextureGather);
    OK(cudaMemcpyToArray(array, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    struct cudaResourceDesc resource = array_resource(array);
    static const struct {
        enum cudaTextureAddressMode mode;
        int normalized;
        float x, expected;
    } rows[] = {
        {cudaAddressModeClamp, 0, 5.5f, 40},  {cudaAddressModeClamp, 0, -1.0f, 10},
        {cudaAddressModeBorder, 0, 5.5f, 7},  {cudaAddressModeBorder, 1, 1.2f, 7},
        {cudaAddressModeWrap, 1, 1.3f, 20},   {cudaAddressModeWrap, 1, -0.1f, 40},
        {cudaAddressModeMirror, 1, 1.1f, 40}, {cudaAddressModeMirror, 1, -0.3f, 20},
        {cudaAddressModeWrap, 0, 5.5f, 40}, // "will be switched to cudaAddressModeClamp"
        {cudaAddressModeMirror, 0, 5.5f, 40},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        memset(&texture, 0, sizeof texture);
        texture.addressMode[0] = rows[i].mode;
        texture.addressMode[1] = cudaAddressModeClamp;
        texture.normalizedCoords = rows[i].normalized;
        texture.borderColor[0] = 7.0f;
        cudaTextureObject_t object = texture_on(&resource, &texture, NULL);
        float got = fetch(FETCH_2D, object, rows[i].x, 0, 0, 0).v[0];
        cr_assert(got == rows[i].expected, "row %zu: %g", i, (double)got);
        OK(cudaDestroyTextureObject(object));
    }
    memset(&texture, 0, sizeof texture);
    texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
    cudaTextureObject_t object = texture_on(&resource, &texture, NULL);
    struct texel four = fetch(FETCH_GATHER, object, 2.0f, 0.5f, 0, 0);
    NEAR(four.v[2], 30.0f); // the upper right of the four
    NEAR(four.v[3], 20.0f);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeArray(array));

    // Reads of bytes as they are, as floats, and through another format.
    const unsigned char bytes[4] = {0, 51, 255, 102};
    const struct cudaChannelFormatDesc u8x4 = {8, 8, 8, 8, cudaChannelFormatKindUnsigned};
    array = make(&u8x4, extent3(1, 1, 0), 0);
    OK(cudaMemcpyToArray(array, 0, 0, bytes, 4, cudaMemcpyHostToDevice));
    resource = array_resource(array);
    object = texture_on(&resource, &texture, NULL);
    struct texel texel = fetch(FETCH_2D_U32, object, 0.5f, 0.5f, 0, 0);
    for (int i = 0; i < 4; i++) {
        unsigned value;
        memcpy(&value, &texel.v[i], sizeof value);
        cr_assert(value == bytes[i]);
    }
    OK(cudaDestroyTextureObject(object));
    texture.readMode = cudaReadModeNormalizedFloat;
    object = texture_on(&resource, &texture, NULL);
    texel = fetch(FETCH_2D, object, 0.5f, 0.5f, 0, 0);
    for (int i = 0; i < 4; i++) {
        NEAR(texel.v[i], (float)bytes[i] / 255.0f);
    }
    OK(cudaDestroyTextureObject(object));
    struct cudaResourceViewDesc view;
    memset(&view, 0, sizeof view);
    view.format = cudaResViewFormatUnsignedInt1;
    view.width = view.height = 1;
    object = texture_on(&resource, &texture, &view);
    texel = fetch(FETCH_2D_U32, object, 0.5f, 0.5f, 0, 0);
    cr_assert(memcmp(&texel.v[0], bytes, 4) == 0);
    OK(cudaDestroyTextureObject(object));
    OK(cudaFreeArray(array));
}

// One BC1 block: two colours, each texel one of four mixtures of them.
KERNEL_TEST(textures, compressed_blocks)
{
    struct cudaTextureDesc texture;
    struct cudaResourceViewDesc view;
    fetches_register();
    // Red and blue; the rows take index 0, 1, 2, 3.
    const unsigned char block[8] = {0x00, 0xF8, 0x1F, 0x00, 0x00, 0x55, 0xAA, 0xFF};
    static const float red[4] = {1.0f, 0.0f, 2.0f / 3, 1.0f / 3};
    memset(&texture, 0, sizeof texture);
    memset(&view, 0, sizeof view);
    texture.addressMode[0] = texture.addressMode[1] = cudaAddressModeClamp;
    cudaArray_t words = make(&u32x2, extent3(1, 1, 0), 0);
    OK(cudaMemcpyToArray(words, 0, 0, block, 8, cudaMemcpyHostToDevice));
    view.format = cudaResViewFormatUnsignedBlockCompressed1;
    view.width = view.height = 4;
    struct cudaResourceDesc resource = array_resource(words);
    cudaTextureObject_t objects[2] = {texture_on(&resource, &texture, &view), 0};
    int count = 1;
#if CUDART_VERSION >= 11050
    const struct cudaChannelFormatDesc bc1 = {8, 8, 8, 8,
                                              cudaChannelFormatKindUnsignedBlockCompressed1};
    cudaArray_t blocks = make(&bc1, extent3(4, 4, 0), 0);
    OK(cudaMemcpy2DToArray(blocks, 0, 0, block, 8, 8, 1, cudaMemcpyHostToDevice));
    resource = array_resource(blocks);
    objects[count++] = texture_on(&resource, &texture, NULL);
#endif
    for (int i = 0; i < count; i++) {
        for (int y = 0; y < 4; y++) {
            struct texel texel = fetch(FETCH_2D, objects[i], 2.5f, (float)y + 0.5f, 0, 0);
            cr_assert(fabsf(texel.v[0] - red[y]) < 0.01f && texel.v[1] < 0.01f &&
                          fabsf(texel.v[2] - (1 - red[y])) < 0.01f && texel.v[3] == 1.0f,
                      "object %d, row %d: %g %g %g %g", i, y, (double)texel.v[0],
                      (double)texel.v[1], (double)texel.v[2], (double)texel.v[3]);
        }
        OK(cudaDestroyTextureObject(objects[i]));
    }
}

KERNEL_TEST(textures, surfaces_are_written_and_read)
{
    const struct cudaChannelFormatDesc u32x4 = {32, 32, 32, 32, cudaChannelFormatKindUnsigned};
    const unsigned host[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    float back[12] = {0};
    cudaSurfaceObject_t object = 0;
    fetches_register();
    cudaArray_t array = make(&f32, extent3(4, 3, 0), cudaArraySurfaceLoadStore);
    struct cudaResourceDesc resource = array_resource(array);
    OK(cudaCreateSurfaceObject(&object, &resource));
    for (int i = 0; i < 12; i++) {
        fetch(FETCH_STORE, object, (float)(i % 4 * 4), (float)(i / 4), (float)i * 1.5f, 0);
    }
    OK(cudaMemcpyFromArray(back, array, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 12; i++) {
        cr_assert(back[i] == (float)i * 1.5f);
    }
    OK(cudaDestroySurfaceObject(object));
    OK(cudaFreeArray(array));
    array = make(&u32x4, extent3(2, 1, 0), cudaArraySurfaceLoadStore);
    OK(cudaMemcpyToArray(array, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    resource = array_resource(array);
    OK(cudaCreateSurfaceObject(&object, &resource));
    struct texel texel = fetch(FETCH_SURFACE, object, 16, 0, 0, 0);
    cr_assert(memcmp(&texel, host + 4, 16) == 0);
    OK(cudaDestroySurfaceObject(object));
    OK(cudaFreeArray(array));
}

// An object may be destroyed right behind the launch that uses it.
KERNEL_TEST(textures, destroyed_behind_a_launch)
{
    const float host[4] = {10, 20, 30, 40};
    struct cudaTextureDesc texture;
    cudaStream_t stream;
    int *flag = NULL, *sink = NULL;
    struct texel texel;
    kernels_register();
    fetches_register();
    memset(&texture, 0, sizeof texture);
    OK(cudaStreamCreate(&stream));
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMalloc((void **)&sink, sizeof *sink));
    cudaArray_t array = make(&f32, extent3(4, 0, 0), 0);
    OK(cudaMemcpyToArray(array, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    struct cudaResourceDesc resource = array_resource(array);
    for (int i = 0; i < 20; i++) {
        cudaTextureObject_t object = texture_on(&resource, &texture, NULL);
        float x = 2.5f, none = 0;
        void *spin[] = {&sink, &sink, &(int){1}, &(int){20000}};
        void *arguments[] = {&fetched, &object, &x, &none, &none, &none};
        OK(cudaMemset(sink, 0, sizeof *sink));
        OK(kernel_launch(KERNEL_SPIN_COPY, 1, 1, spin, 0, stream));
        OK(cudaLaunchKernel(ptx_module_stub(fetch_module, FETCH_1D), dim(1, 1, 1), dim(1, 1, 1),
                            arguments, 0, stream));
        OK(cudaDestroyTextureObject(object));
        OK(cudaStreamSynchronize(stream));
        OK(cudaMemcpy(&texel, fetched, sizeof texel, cudaMemcpyDeviceToHost));
        cr_assert(texel.v[0] == 30.0f);
    }
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeArray(array));
}

// … and that call does not wait for the launch.
KERNEL_TEST(textures, destruction_does_not_wait)
{
    const float host[4] = {10, 20, 30, 40};
    struct cudaTextureDesc texture;
    cudaStream_t stream;
    int *flag = NULL, *sink = NULL;
    struct texel texel;
    kernels_register();
    fetches_register();
    memset(&texture, 0, sizeof texture);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMalloc((void **)&sink, sizeof *sink));
    cudaArray_t array = make(&f32, extent3(4, 0, 0), 0);
    OK(cudaMemcpyToArray(array, 0, 0, host, sizeof host, cudaMemcpyHostToDevice));
    struct cudaResourceDesc resource = array_resource(array);
    cudaTextureObject_t object = texture_on(&resource, &texture, NULL);
    float x = 2.5f, none = 0;
    void *wait[] = {&flag, &sink};
    void *arguments[] = {&fetched, &object, &x, &none, &none, &none};
    *(volatile int *)flag = 0;
    OK(kernel_launch(KERNEL_WAIT_FLAG, 1, 1, wait, 0, stream));
    OK(cudaLaunchKernel(ptx_module_stub(fetch_module, FETCH_1D), dim(1, 1, 1), dim(1, 1, 1),
                        arguments, 0, stream));
    OK(cudaDestroyTextureObject(object));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    for (int i = 0; i < 3000; i++) { // its place is not taken
        cudaTextureObject_t other = texture_on(&resource, &texture, NULL);
        cr_assert(other != object);
        OK(cudaDestroyTextureObject(other));
    }
    *(volatile int *)flag = 1;
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&texel, fetched, sizeof texel, cudaMemcpyDeviceToHost));
    cr_assert(texel.v[0] == 30.0f);
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeArray(array));
}

// A stale or made-up object is a fault of the kernel, not of the process.
KERNEL_TEST(textures, stale_objects_fault)
{
    struct cudaTextureDesc texture;
    fetches_register();
    memset(&texture, 0, sizeof texture);
    cudaArray_t array = make(&f32, extent3(4, 0, 0), 0);
    struct cudaResourceDesc resource = array_resource(array);
    cudaTextureObject_t object = texture_on(&resource, &texture, NULL);
    OK(cudaDestroyTextureObject(object));
    float none = 0;
    void *arguments[] = {&fetched, &object, &none, &none, &none, &none};
    OK(cudaLaunchKernel(ptx_module_stub(fetch_module, FETCH_1D), dim(1, 1, 1), dim(1, 1, 1),
                        arguments, 0, 0));
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

#if CUDART_VERSION < 12000
// ---- references of CUDA 11 ----

void __cudaRegisterTexture(void **fatCubinHandle, const struct textureReference *hostVar,
                           const void **deviceAddress, const char *deviceName, int dim, int norm,
                           int ext);
void __cudaRegisterSurface(void **fatCubinHandle, const struct surfaceReference *hostVar,
                           const void **deviceAddress, const char *deviceName, int dim, int ext);

static const char reference_kernels[] =
    ".version 7.0\n.target sm_70\n.address_size 64\n"
    ".visible .global .texref linear;\n.visible .global .texref flat;\n"
    ".visible .global .surfref target;\n"
    ".visible .entry r_linear(.param .u64 p0, .param .u32 p1)\n{\n"
    " .reg .f32 %f<5>; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    " ld.param.u64 %rd1, [p0]; ld.param.u32 %r1, [p1];\n"
    " tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [linear, {%r1}];\n"
    " st.global.f32 [%rd1], %f1;\n ret;\n}\n"
    ".visible .entry r_flat(.param .u64 p0, .param .u32 p1)\n{\n"
    " .reg .f32 %f<6>; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"
    " ld.param.u64 %rd1, [p0]; ld.param.u32 %r1, [p1]; cvt.rn.f32.s32 %f5, %r1;\n"
    " tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [flat, {%f5, %f5}];\n"
    " st.global.f32 [%rd1], %f1;\n ret;\n}\n"
    ".visible .entry r_store(.param .u64 p0, .param .u32 p1)\n{\n"
    " .reg .b32 %r<3>;\n"
    " ld.param.u32 %r1, [p1]; mov.u32 %r2, 0;\n"
    " sust.b.2d.b32.trap [target, {%r2, %r2}], {%r1};\n ret;\n}\n";

static struct textureReference linear_reference, flat_reference, unknown_reference;
static struct surfaceReference surface_reference, unknown_surface;
static struct ptx_module *reference_module;

static void references_register(void)
{
    static const char *const names[] = {"r_linear", "r_flat", "r_store"};
    reference_module = ptx_module_register(reference_kernels, names, LENGTH(names));
    void **handle = ptx_module_handle(reference_module);
    // As nvcc's stubs do: the name in the code comes as the address.
    __cudaRegisterTexture(handle, &linear_reference, (const void **)"linear", "::linear", 1, 0, 0);
    __cudaRegisterTexture(handle, &flat_reference, (const void **)"flat", "::flat", 2, 0, 0);
    __cudaRegisterSurface(handle, &surface_reference, (const void **)"target", "::target", 2, 0);
    ptx_module_end(reference_module);
    linear_reference.channelDesc = flat_reference.channelDesc = f32;
    OK(cudaMalloc((void **)&fetched, 16));
}

static float reference_fetch(size_t kernel, int index)
{
    float value;
    void *arguments[] = {&fetched, &index};
    OK(cudaLaunchKernel(ptx_module_stub(reference_module, kernel), dim(1, 1, 1), dim(1, 1, 1),
                        arguments, 0, 0));
    OK(cudaMemcpy(&value, fetched, sizeof value, cudaMemcpyDeviceToHost));
    return value;
}

KERNEL_TEST(textures, references)
{
    float host[300], *device = NULL;
    size_t offset = 99;
    const struct textureReference *texture = NULL;
    const struct surfaceReference *surface = NULL;
    references_register();
    for (int i = 0; i < 300; i++) {
        host[i] = (float)i;
    }
    OK(cudaMalloc((void **)&device, sizeof host));
    OK(cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice));
    OK(cudaGetTextureReference(&texture, &linear_reference));
    cr_assert(texture == &linear_reference);
    OK(cudaGetSurfaceReference(&surface, &surface_reference));
    cr_assert(surface == &surface_reference);
    EXPECT(cudaErrorInvalidTexture, cudaGetTextureReference(&texture, &unknown_reference));
    EXPECT(cudaErrorInvalidTexture, cudaGetTextureReference(&texture, &surface_reference));
    EXPECT(cudaErrorInvalidTexture, cudaGetTextureReference(&texture, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureReference(NULL, &linear_reference));
    EXPECT(cudaErrorInvalidSurface, cudaGetSurfaceReference(&surface, &linear_reference));
    EXPECT(cudaErrorInvalidSurface, cudaGetSurfaceReference(&surface, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGetSurfaceReference(NULL, &surface_reference));
    EXPECT(cudaErrorInvalidTextureBinding,
           cudaGetTextureAlignmentOffset(&offset, &linear_reference));
    OK(cudaUnbindTexture(&linear_reference)); // "If texref is not currently bound, no operation"
    EXPECT(cudaErrorInvalidTexture, cudaUnbindTexture(&unknown_reference));

    // Linear memory: the size may be left open; an unaligned start gives an offset.
    OK(cudaBindTexture(&offset, &linear_reference, device, &f32, UINT32_MAX));
    cr_assert(offset == 0);
    cr_assert(reference_fetch(0, 7) == 7.0f);
    EXPECT(cudaErrorInvalidValue, cudaBindTexture(NULL, &linear_reference, device + 3, &f32, 400));
    OK(cudaBindTexture(&offset, &linear_reference, device + 3, &f32, 400));
    cr_assert(offset == 12);
    offset = 0;
    OK(cudaGetTextureAlignmentOffset(&offset, &linear_reference));
    cr_assert(offset == 12);
    cr_assert(reference_fetch(0, (int)(offset / 4) + 7) == 10.0f);
    EXPECT(cudaErrorInvalidTexture,
           cudaBindTexture(&offset, &unknown_reference, device, &f32, 400));
    EXPECT(cudaErrorInvalidValue, cudaBindTexture(&offset, &linear_reference, NULL, &f32, 400));
    EXPECT(cudaErrorInvalidValue, cudaBindTexture(&offset, &linear_reference, device, NULL, 400));
    EXPECT(cudaErrorInvalidChannelDescriptor,
           cudaBindTexture(&offset, &linear_reference, device, &f32x3, 400));
    EXPECT(cudaErrorInvalidValue, cudaGetTextureAlignmentOffset(NULL, &linear_reference));
    cr_assert(reference_fetch(0, 10) == 10.0f); // still bound as before

    // Pitched memory and arrays, rebound between launches.
    OK(cudaBindTexture2D(&offset, &flat_reference, device, &f32, 16, 4, 64));
    cr_assert(offset == 0 && reference_fetch(1, 2) == 34.0f);
    EXPECT(cudaErrorInvalidValue,
           cudaBindTexture2D(&offset, &flat_reference, device, &f32, 16, 4, 68));
    EXPECT(cudaErrorInvalidValue,
           cudaBindTexture2D(&offset, &flat_reference, device, NULL, 16, 4, 64));
    cudaArray_t array = make(&f32, extent3(10, 10, 0), cudaArraySurfaceLoadStore);
    cudaArray_t words = make(&s32, extent3(10, 10, 0), 0);
    OK(cudaMemcpyToArray(array, 0, 0, host, 400, cudaMemcpyHostToDevice));
    OK(cudaBindTextureToArray(&flat_reference, array, &f32));
    cr_assert(reference_fetch(1, 3) == 33.0f);
    flat_reference.addressMode[0] = flat_reference.addressMode[1] = cudaAddressModeBorder;
    cr_assert(reference_fetch(1, 30) == 99.0f); // clamped: read when it was bound
    OK(cudaBindTextureToArray(&flat_reference, array, &f32));
    cr_assert(reference_fetch(1, 30) == 0.0f);
    EXPECT(cudaErrorInvalidChannelDescriptor, cudaBindTextureToArray(&flat_reference, words, &f32));
    EXPECT(cudaErrorInvalidValue, cudaBindTextureToArray(&flat_reference, NULL, &f32));
    EXPECT(cudaErrorInvalidValue, cudaBindTextureToArray(&flat_reference, array, NULL));
    EXPECT(cudaErrorInvalidTexture, cudaBindTextureToArray(&unknown_reference, array, &f32));
    cudaMipmappedArray_t mipmap = NULL;
    OK(cudaMallocMipmappedArray(&mipmap, &f32, extent3(4, 4, 0), 2, 0));
    flat_reference.normalized = 1;
    OK(cudaBindTextureToMipmappedArray(&flat_reference, mipmap, &f32));
    flat_reference.normalized = 0;
    EXPECT(cudaErrorInvalidValue, cudaBindTextureToMipmappedArray(&flat_reference, mipmap, &f32));
    EXPECT(cudaErrorInvalidValue, cudaBindTextureToMipmappedArray(&flat_reference, NULL, &f32));

    // Surfaces.
    OK(cudaBindSurfaceToArray(&surface_reference, array, &f32));
    int stored = 0;
    void *arguments[] = {&fetched, &(int){0x40490fdb}};
    OK(cudaLaunchKernel(ptx_module_stub(reference_module, 2), dim(1, 1, 1), dim(1, 1, 1), arguments,
                        0, 0));
    OK(cudaMemcpyFromArray(&stored, array, 0, 0, sizeof stored, cudaMemcpyDeviceToHost));
    cr_assert(stored == 0x40490fdb);
    EXPECT(cudaErrorInvalidValue,
           cudaBindSurfaceToArray(&surface_reference, words, &s32)); // no flag
    EXPECT(cudaErrorInvalidValue, cudaBindSurfaceToArray(&surface_reference, NULL, &f32));
    EXPECT(cudaErrorInvalidSurface, cudaBindSurfaceToArray(&unknown_surface, array, &f32));

    OK(cudaUnbindTexture(&linear_reference));
    EXPECT(cudaErrorInvalidTextureBinding,
           cudaGetTextureAlignmentOffset(&offset, &linear_reference));
    OK(cudaDeviceReset());
    EXPECT(cudaErrorInvalidTextureBinding, cudaGetTextureAlignmentOffset(&offset, &flat_reference));
    // A module that goes away takes its references along.
    ptx_module_unregister(reference_module);
    EXPECT(cudaErrorInvalidTexture, cudaGetTextureReference(&texture, &linear_reference));
}
#endif
