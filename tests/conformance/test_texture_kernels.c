// SPDX-License-Identifier: Apache-2.0
//
// What kernels read and write through texture and surface objects, one fetch a launch, and through
// the references of CUDA 11, whose functions are tested here as well. Filtering is tested to the
// last bit by the backend.
#include <math.h>

#include "ptx_module.h"
#include "textures.h"

TestSuite(texture_kernels, .timeout = 60, .data = NEEDS("ptx textures"));

// ---- objects ----

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

Test(texture_kernels, fetches_from_every_resource)
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

Test(texture_kernels, cubemaps)
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

Test(texture_kernels, mipmapped_levels_and_views)
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

Test(texture_kernels, sampling_settings_reach_kernels)
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
Test(texture_kernels, compressed_blocks)
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

Test(texture_kernels, surfaces_are_written_and_read)
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
Test(texture_kernels, destroyed_behind_a_launch)
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
Test(texture_kernels, destruction_does_not_wait)
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
Test(texture_kernels, stale_objects_fault)
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

Test(texture_kernels, references)
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
