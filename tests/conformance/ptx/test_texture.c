// SPDX-License-Identifier: Apache-2.0
//
// Texture instructions of PTX in every form: geometries, coordinate and result types, levels,
// gradients, offsets, gather, queries, both texturing modes, residency; what is refused, and what
// is a fault. Textures hold numbers that say where they are: x + 10 y + 100 z (or layer, face).
#include <math.h>

#include "run.h"

TestSuite(ptx_texture, .timeout = 120);

enum object {
    ONE,
    TWO,
    THREE,
    ONE_LAYERED,
    TWO_LAYERED,
    CUBE,
    CUBE_LAYERED,
    MIPMAP,
    INTEGERS,
    BYTES,
    LINEAR,
    SMOOTH,
    OBJECTS
};

static uint64_t objects[OBJECTS];

static uint64_t make_texture(const struct cudaResourceDesc *resource, unsigned filter,
                             bool normalized, enum cudaTextureReadMode mode)
{
    struct cudaTextureDesc desc;
    memset(&desc, 0, sizeof desc);
    for (int i = 0; i < 3; i++) {
        desc.addressMode[i] = cudaAddressModeClamp;
    }
    desc.filterMode = desc.mipmapFilterMode = filter;
    desc.normalizedCoords = normalized;
    desc.readMode = mode;
    desc.maxMipmapLevelClamp = 9;
    cudaTextureObject_t object;
    OK(cudaCreateTextureObject(&object, resource, &desc, NULL));
    return object;
}

static cudaArray_t make_array(unsigned width, unsigned height, unsigned depth, unsigned flags)
{
    static float data[4 * 4 * 12 + 64];
    unsigned h = height ? height : 1, d = depth ? depth : 1;
    for (unsigned i = 0; i < width * h * d; i++) {
        data[i] = (float)(i % width + 10 * (i / width % h) + 100 * (i / width / h));
    }
    struct cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    cudaArray_t array;
    OK(cudaMalloc3DArray(&array, &format,
                         (struct cudaExtent){.width = width, .height = height, .depth = depth},
                         flags));
    struct cudaMemcpy3DParms copy;
    memset(&copy, 0, sizeof copy);
    copy.srcPtr = (struct cudaPitchedPtr){
        .ptr = data, .pitch = width * sizeof(float), .xsize = width, .ysize = h};
    copy.dstArray = array;
    copy.extent = (struct cudaExtent){.width = width, .height = h, .depth = d};
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    return array;
}

static struct cudaResourceDesc of_array(cudaArray_t array)
{
    struct cudaResourceDesc resource;
    memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = array;
    return resource;
}

static void make_floats(enum object which, unsigned width, unsigned height, unsigned depth,
                        unsigned flags, unsigned filter, bool normalized)
{
    struct cudaResourceDesc resource = of_array(make_array(width, height, depth, flags));
    objects[which] = make_texture(&resource, filter, normalized, cudaReadModeElementType);
}

static void make_mipmap(void)
{
    struct cudaChannelFormatDesc format = {32, 0, 0, 0, cudaChannelFormatKindFloat};
    struct cudaResourceDesc resource;
    memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeMipmappedArray;
    OK(cudaMallocMipmappedArray(&resource.res.mipmap.mipmap, &format,
                                (struct cudaExtent){.width = 8, .height = 8, .depth = 0}, 4, 0));
    for (unsigned level = 0; level < 4; level++) { // level + 1 everywhere
        cudaArray_t array;
        float data[64];
        size_t row = (8u >> level) * sizeof data[0];
        OK(cudaGetMipmappedArrayLevel(&array, resource.res.mipmap.mipmap, level));
        for (unsigned i = 0; i < 64; i++) {
            data[i] = (float)(level + 1);
        }
        OK(cudaMemcpy2DToArray(array, 0, 0, data, row, row, 8u >> level, cudaMemcpyHostToDevice));
    }
    objects[MIPMAP] = make_texture(&resource, cudaFilterModeLinear, true, cudaReadModeElementType);
}

static void make_small(enum object which, enum cudaChannelFormatKind kind, int bits,
                       const void *data, size_t row, enum cudaTextureReadMode mode)
{
    struct cudaChannelFormatDesc format = {bits, bits, bits, bits, kind};
    cudaArray_t array;
    OK(cudaMallocArray(&array, &format, 2, 1, cudaArrayTextureGather));
    OK(cudaMemcpy2DToArray(array, 0, 0, data, row, row, 1, cudaMemcpyHostToDevice));
    struct cudaResourceDesc resource = of_array(array);
    objects[which] = make_texture(&resource, cudaFilterModePoint, false, mode);
}

static void make_all(void)
{
    make_floats(ONE, 8, 0, 0, 0, cudaFilterModePoint, false);
    make_floats(TWO, 8, 4, 0, cudaArrayTextureGather, cudaFilterModePoint, false);
    make_floats(SMOOTH, 8, 4, 0, 0, cudaFilterModeLinear, false);
    make_floats(THREE, 4, 4, 4, 0, cudaFilterModeLinear, false);
    make_floats(ONE_LAYERED, 8, 0, 3, cudaArrayLayered, cudaFilterModePoint, false);
    make_floats(TWO_LAYERED, 4, 4, 3, cudaArrayLayered, cudaFilterModePoint, false);
    make_floats(CUBE, 4, 4, 6, cudaArrayCubemap, cudaFilterModePoint, true);
    make_floats(CUBE_LAYERED, 4, 4, 12, cudaArrayCubemap | cudaArrayLayered, cudaFilterModePoint,
                true);
    make_mipmap();
    static const int32_t integers[8] = {1, -2, 3, -4, 5, -6, 7, -8};
    static const unsigned char bytes[8] = {0, 51, 102, 255, 1, 2, 3, 4};
    static const uint32_t words[5] = {10, 20, 30, 40, 50};
    make_small(INTEGERS, cudaChannelFormatKindSigned, 32, integers, 32, cudaReadModeElementType);
    make_small(BYTES, cudaChannelFormatKindUnsigned, 8, bytes, 8, cudaReadModeNormalizedFloat);
    struct cudaResourceDesc linear;
    memset(&linear, 0, sizeof linear);
    linear.resType = cudaResourceTypeLinear;
    OK(cudaMalloc(&linear.res.linear.devPtr, sizeof words));
    OK(cudaMemcpy(linear.res.linear.devPtr, words, sizeof words, cudaMemcpyHostToDevice));
    linear.res.linear.desc =
        (struct cudaChannelFormatDesc){32, 0, 0, 0, cudaChannelFormatKindUnsigned};
    linear.res.linear.sizeInBytes = sizeof words;
    objects[LINEAR] = make_texture(&linear, cudaFilterModePoint, false, cudaReadModeElementType);
}

// The body sees the object in %l1 and the numbers 0 to 9 and their halves as floats: %r10..%r19
// are 0.0 to 9.0, %r20..%r29 0.5 to 9.5, %r30..%r37 the integers 0 to 7. It leaves %r0..%r3.
static cudaError_t run_body(const char *directives, const char *body, uint64_t object,
                            uint32_t out[4])
{
    char text[4000];
    int n = snprintf(text, sizeof text, " ld.global.u64 %%l1, [%%in];\n");
    for (int i = 0; i < 10; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n,
                      " mov.f32 %%r%d, %d.0; mov.f32 %%r%d, %d.5;", 10 + i, i, 20 + i, i);
    }
    for (int i = 0; i < 8; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, " mov.u32 %%r%d, %d;", 30 + i, i);
    }
    n += snprintf(text + n, sizeof text - (size_t)n,
                  " mov.b32 %%r0, 0; mov.b32 %%r1, 0; mov.b32 %%r2, 0; mov.b32 %%r3, 0;\n %s\n"
                  " st.global.b32 [%%out], %%r0; st.global.b32 [%%out+4], %%r1;\n"
                  " st.global.b32 [%%out+8], %%r2; st.global.b32 [%%out+12], %%r3;\n",
                  body);
    cr_assert(n < (int)sizeof text);
    uint32_t in[2] = {(uint32_t)object, (uint32_t)(object >> 32)};
    struct run run = {.directives = directives,
                      .body = text,
                      .grid = 1,
                      .block = 1,
                      .in = in,
                      .in_count = 2,
                      .out = out,
                      .out_count = 4};
    return run_kernel(&run);
}

#define D "{%r0, %r1, %r2, %r3}"

static const struct row {
    const char *body;
    enum object object;
    char kind; // f: floats, i: integers, h: halves in %h0..%h3
    double want[4];
} rows[] = {
    {"tex.1d.v4.f32.f32 " D ", [%l1, {%r22}];", ONE, 'f', {2, 0, 0, 1}},
    {"tex.1d.v4.f32.f32 " D ", [%l1, %r22];", ONE, 'f', {2, 0, 0, 1}},
    {"tex.1d.v4.f32.s32 " D ", [%l1, {%r35}];", ONE, 'f', {5, 0, 0, 1}},
    {"tex.1d.v4.u32.s32 " D ", [%l1, {%r33}];", LINEAR, 'i', {40, 0, 0, 1}},
    {"tex.1d.v4.u32.s32 " D ", [%l1, {%r35}];", LINEAR, 'i', {0, 0, 0, 0}},
    {"tex.2d.v4.f32.f32 " D ", [%l1, {%r23, %r21}];", TWO, 'f', {13, 0, 0, 1}},
    {"tex.2d.v4.f32.f32 " D ", [%l1, {%r13, %r12}];", SMOOTH, 'f', {17.5, 0, 0, 1}},
    {"tex.2d.v4.f32.s32 " D ", [%l1, {%r37, %r37}];", TWO, 'f', {37, 0, 0, 1}},
    {"tex.2d.v4.s32.f32 " D ", [%l1, {%r21, %r20}];", INTEGERS, 'i', {5, -6, 7, -8}},
    {"tex.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}];", BYTES, 'f', {0, 0.2, 0.4, 1}},
    {"tex.2d.v4.f32.f32 {%r0, _, _, %r3}, [%l1, {%r20, %r20}];", BYTES, 'f', {0, 0, 0, 1}},
    {"tex.3d.v4.f32.f32 " D ", [%l1, {%r21, %r22, %r20, %r10}];", THREE, 'f', {21, 0, 0, 1}},
    {"tex.3d.v4.f32.f32 " D ", [%l1, {%r12, %r12, %r12, %r12}];", THREE, 'f', {166.5, 0, 0, 1}},
    {"tex.3d.v4.f32.s32 " D ", [%l1, {%r31, %r32, %r33, %r30}];", THREE, 'f', {321, 0, 0, 1}},
    {"tex.a1d.v4.f32.f32 " D ", [%l1, {%r31, %r23}];", ONE_LAYERED, 'f', {103, 0, 0, 1}},
    {"tex.a1d.v4.f32.s32 " D ", [%l1, {%r37, %r33}];", ONE_LAYERED, 'f', {203, 0, 0, 1}},
    {"tex.a2d.v4.f32.f32 " D ", [%l1, {%r32, %r21, %r23, %r10}];",
     TWO_LAYERED,
     'f',
     {231, 0, 0, 1}},
    {"tex.a2d.v4.f32.s32 " D ", [%l1, {%r31, %r31, %r33, %r30}];",
     TWO_LAYERED,
     'f',
     {131, 0, 0, 1}},
    // +y (face 2): s = x = 0.5 of 9.5, t = z
    {"tex.cube.v4.f32.f32 " D ", [%l1, {%r20, %r29, %r25, %r10}];", CUBE, 'f', {232, 0, 0, 1}},
    {"neg.f32 %r9, %r29; tex.cube.v4.f32.f32 " D ", [%l1, {%r9, %r20, %r25, %r10}];",
     CUBE,
     'f',
     {113, 0, 0, 1}},
    {"tex.acube.v4.f32.f32 " D ", [%l1, {%r31, %r20, %r25, %r29}];",
     CUBE_LAYERED,
     'f',
     {1002, 0, 0, 1}},
    {"tex.base.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}];", MIPMAP, 'f', {1, 0, 0, 1}},
    {"tex.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}];", MIPMAP, 'f', {1, 0, 0, 1}},
    {"tex.level.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}], %r12;", MIPMAP, 'f', {3, 0, 0, 1}},
    {"tex.level.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}], %r21;", MIPMAP, 'f', {2.5, 0, 0, 1}},
    {"tex.level.2d.v4.f32.s32 " D ", [%l1, {%r30, %r30}], %r33;", MIPMAP, 'f', {4, 0, 0, 1}},
    {"tex.level.1d.v4.f32.f32 " D ", [%l1, {%r23}], %r19;", ONE, 'f', {3, 0, 0, 1}},
    {"tex.grad.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}], {%r20, %r10}, {%r10, %r10};",
     MIPMAP,
     'f',
     {3, 0, 0, 1}}, // 4 texels
    {"tex.grad.1d.v4.f32.f32 " D ", [%l1, {%r23}], {%r20}, {%r20};", ONE, 'f', {3, 0, 0, 1}},
    {"tex.grad.a2d.v4.f32.f32 " D ", [%l1, {%r32, %r21, %r23, %r10}], {%r20, %r20}, {%r20, %r20};",
     TWO_LAYERED,
     'f',
     {231, 0, 0, 1}},
    {"tex.grad.3d.v4.f32.f32 " D ", [%l1, {%r21, %r22, %r20, %r10}], {%r20, %r20, %r20, %r20}, "
     "{%r20, %r20, %r20, %r20};",
     THREE,
     'f',
     {21, 0, 0, 1}},
    {"tex.grad.cube.v4.f32.f32 " D ", [%l1, {%r20, %r29, %r25, %r10}], {%r20, %r20, %r20, %r20}, "
     "{%r20, %r20, %r20, %r20};",
     CUBE,
     'f',
     {232, 0, 0, 1}},
    // offsets are in texels
    {"tex.1d.v4.f32.f32 " D ", [%l1, {%r22}], {%r33};", ONE, 'f', {5, 0, 0, 1}},
    {"mov.s32 %r9, -2; tex.2d.v4.f32.f32 " D ", [%l1, {%r23, %r21}], {%r9, %r31};",
     TWO,
     'f',
     {21, 0, 0, 1}},
    {"tex.2d.v4.f32.s32 " D ", [%l1, {%r33, %r31}], {%r32, %r31};", TWO, 'f', {25, 0, 0, 1}},
    {"tex.level.a2d.v4.f32.f32 " D ", [%l1, {%r31, %r20, %r20, %r10}], %r10, {%r31, %r32};",
     TWO_LAYERED,
     'f',
     {121, 0, 0, 1}},
    {"tex.grad.3d.v4.f32.f32 " D ", [%l1, {%r20, %r20, %r20, %r10}], {%r20, %r20, %r20, %r20}, "
     "{%r20, %r20, %r20, %r20}, {%r31, %r32, %r33, %r33};",
     THREE,
     'f',
     {321, 0, 0, 1}},
    // halves
    {"tex.2d.v4.f16.f32 {%h0, %h1, %h2, %h3}, [%l1, {%r20, %r20}];", BYTES, 'h', {0, 0.2, 0.4, 1}},
    {"tex.2d.v2.f16x2.f32 {%r8, %r9}, [%l1, {%r20, %r20}]; mov.b32 {%h0, %h1}, %r8; "
     "mov.b32 {%h2, %h3}, %r9;",
     BYTES,
     'h',
     {0, 0.2, 0.4, 1}},
    // vector registers for coordinates and results
    {".reg .v4 .f32 %d; .reg .v2 .f32 %c; mov.f32 %c.x, %r23; mov.f32 %c.y, %r21; "
     "tex.2d.v4.f32.f32 %d, [%l1, %c]; mov.b32 %r0, %d.x; mov.b32 %r3, %d.w;",
     TWO,
     'f',
     {13, 0, 0, 1}},
    // residency
    {"setp.eq.u32 %p1, %r30, 1; tex.2d.v4.f32.f32 {%r0, %r7, %r8, %r9}|%p1, [%l1, {%r23, %r21}]; "
     "selp.f32 %r1, 1.0, 0.0, %p1;",
     TWO,
     'f',
     {13, 1, 0, 0}},
    // guards
    {"setp.eq.u32 %p1, %r30, 1; @%p1 tex.2d.v4.f32.f32 " D ", [%l1, {%r23, %r21}];",
     TWO,
     'f',
     {0, 0, 0, 0}},
    {"setp.eq.u32 %p1, %r30, 1; @!%p1 tex.2d.v4.f32.f32 " D ", [%l1, {%r23, %r21}];",
     TWO,
     'f',
     {13, 0, 0, 1}},
    // gather: (2,1) (3,1) (3,0) (2,0)
    {"tld4.r.2d.v4.f32.f32 " D ", [%l1, {%r13, %r11}];", TWO, 'f', {12, 13, 3, 2}},
    {"tld4.r.2d.v4.f32.f32 " D ", [%l1, {%r13, %r11}], {%r31, %r31};", TWO, 'f', {23, 24, 14, 13}},
    {"tld4.a.2d.v4.f32.f32 " D ", [%l1, {%r13, %r11}];", TWO, 'f', {1, 1, 1, 1}},
    {"tld4.g.2d.v4.s32.f32 " D ", [%l1, {%r11, %r20}];", INTEGERS, 'i', {-2, -6, -6, -2}},
    {"tld4.b.2d.v4.s32.f32 " D ", [%l1, {%r11, %r20}];", INTEGERS, 'i', {3, 7, 7, 3}},
    {"tld4.r.a2d.v4.f32.f32 " D ", [%l1, {%r31, %r12, %r11, %r10}];",
     TWO_LAYERED,
     'f',
     {111, 112, 102, 101}},
    {"mov.f32 %r9, 0.25; tld4.r.cube.v4.f32.f32 " D ", [%l1, {%r9, %r11, %r9, %r10}];",
     CUBE,
     'f',
     {232, 233, 223, 222}}, // place 2.5, 2.5 on +y
    // queries
    {"txq.width.b32 %r0, [%l1]; txq.height.b32 %r1, [%l1]; txq.depth.b32 %r2, [%l1]; "
     "txq.array_size.b32 %r3, [%l1];",
     TWO,
     'i',
     {8, 4, 1, 0}},
    {"txq.width.b32 %r0, [%l1]; txq.height.b32 %r1, [%l1]; txq.depth.b32 %r2, [%l1]; "
     "txq.num_mipmap_levels.b32 %r3, [%l1];",
     THREE,
     'i',
     {4, 4, 4, 1}},
    {"txq.array_size.b32 %r0, [%l1]; txq.num_samples.b32 %r1, [%l1]; "
     "txq.normalized_coords.b32 %r2, [%l1]; txq.filter_mode.b32 %r3, [%l1];",
     TWO_LAYERED,
     'i',
     {3, 1, 0, 0}},
    {"txq.num_mipmap_levels.b32 %r0, [%l1]; txq.level.width.b32 %r1, [%l1], %r32; "
     "txq.normalized_coords.b32 %r2, [%l1]; txq.addr_mode_0.b32 %r3, [%l1];",
     MIPMAP,
     'i',
     {4, 2, 1, 3}},
    {"txq.filter_mode.b32 %r0, [%l1]; txq.addr_mode_1.b32 %r1, [%l1]; "
     "txq.addr_mode_2.b32 %r2, [%l1]; txq.level.height.b32 %r3, [%l1], %r30;",
     SMOOTH,
     'i',
     {1, 3, 3, 4}},
    {"istypep.texref %p1, %l1; selp.u32 %r0, 1, 0, %p1; istypep.surfref %p2, %l1; "
     "selp.u32 %r1, 1, 0, %p2; istypep.samplerref %p3, %l1; selp.u32 %r2, 1, 0, %p3; "
     "mov.u64 %l2, 0; istypep.texref %p3, %l2; selp.u32 %r3, 1, 0, %p3;",
     TWO,
     'i',
     {1, 0, 0, 0}},
};

static double value_of(const struct row *row, uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return row->kind == 'i' ? (double)(int32_t)bits : (double)number;
}

Test(ptx_texture, forms)
{
    make_all();
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct row *row = &rows[i];
        char body[1200];
        snprintf(body, sizeof body, "%s%s", row->body,
                 row->kind != 'h' ? ""
                                  : " cvt.f32.f16 %r0, %h0; cvt.f32.f16 %r1, %h1;"
                                    " cvt.f32.f16 %r2, %h2; cvt.f32.f16 %r3, %h3;");
        uint32_t out[4] = {77, 77, 77, 77};
        cr_assert(run_body(NULL, body, objects[row->object], out) == cudaSuccess, "%s", row->body);
        for (unsigned c = 0; c < 4; c++) {
            double got = value_of(row, out[c]), tolerance = row->kind == 'h' ? 1e-3 : 1e-5;
            double off = got - row->want[c];
            cr_assert(off <= tolerance * (1 + row->want[c] * row->want[c]) &&
                          off >= -tolerance * (1 + row->want[c] * row->want[c]),
                      "%s: component %u is %g, not %g", row->body, c, got, row->want[c]);
        }
    }
}

// Compressed blocks through a resource view: an array of words that are blocks. One BC1 block with
// colours red and blue, rows of codes 0, 1, 2, 3 (a third, two thirds); one BC4 block per corner.
Test(ptx_texture, block_compressed)
{
    static const struct {
        enum cudaResourceViewFormat view;
        int words;
        uint32_t block[4];
        float want[4][2]; // components r and b of texels (0, 0) (1, 1) (2, 2) (3, 3)
    } blocks[] = {
        {cudaResViewFormatUnsignedBlockCompressed1,
         2,
         {0x001ff800, 0xffaa5500},
         {{1, 0}, {0, 1}, {2 / 3.0f, 1 / 3.0f}, {1 / 3.0f, 2 / 3.0f}}},
        {cudaResViewFormatUnsignedBlockCompressed4,
         2,
         {0x000000ff, 0},
         {{1, 0}, {1, 0}, {1, 0}, {1, 0}}},
        {cudaResViewFormatUnsignedBlockCompressed3,
         4,
         {0x000000ff, 0, 0x001ff800, 0xffaa5500},
         {{1, 0}, {0, 1}, {2 / 3.0f, 1 / 3.0f}, {1 / 3.0f, 2 / 3.0f}}},
        // mode 6: red 127 + 1, green 0 + 1, blue 64 + 1 of 255 in both endpoints
        {cudaResViewFormatUnsignedBlockCompressed7,
         4,
         {0x40u | 0x7fu << 7 | 0x7fu << 14, 0x00000000u | 0x40u << 3 | 0x40u << 10, 0, 0},
         {{254 / 255.0f, 128 / 255.0f},
          {254 / 255.0f, 128 / 255.0f},
          {254 / 255.0f, 128 / 255.0f},
          {254 / 255.0f, 128 / 255.0f}}},
    };
    for (unsigned i = 0; i < sizeof blocks / sizeof blocks[0]; i++) {
        int second = 32, rest = blocks[i].words == 4 ? 32 : 0;
        struct cudaChannelFormatDesc format = {32, second, rest, rest,
                                               cudaChannelFormatKindUnsigned};
        size_t bytes = 4 * (size_t)blocks[i].words;
        cudaArray_t array;
        OK(cudaMallocArray(&array, &format, 1, 1, 0));
        OK(cudaMemcpy2DToArray(array, 0, 0, blocks[i].block, bytes, bytes, 1,
                               cudaMemcpyHostToDevice));
        struct cudaResourceDesc resource = of_array(array);
        struct cudaResourceViewDesc view;
        memset(&view, 0, sizeof view);
        view.format = blocks[i].view;
        view.width = view.height = 4;
        struct cudaTextureDesc desc;
        memset(&desc, 0, sizeof desc);
        desc.readMode = cudaReadModeNormalizedFloat;
        if (i != 0) {
            desc.readMode = cudaReadModeElementType;
        }
        cudaTextureObject_t object;
        OK(cudaCreateTextureObject(&object, &resource, &desc, &view));
        for (unsigned k = 0; k < 4; k++) {
            char body[200];
            uint32_t out[4];
            float got[4];
            snprintf(body, sizeof body, "tex.2d.v4.f32.f32 %s, [%%l1, {%%r%u, %%r%u}];", D, 20 + k,
                     20 + k);
            OK(run_body(NULL, body, object, out));
            memcpy(got, out, sizeof got);
            cr_assert(fabsf(got[0] - blocks[i].want[k][0]) < 1e-6f &&
                          fabsf(got[2] - blocks[i].want[k][1]) < 1e-6f,
                      "block %u texel %u: %g %g", i, k, (double)got[0], (double)got[2]);
        }
        OK(cudaDestroyTextureObject(object));
        OK(cudaFreeArray(array));
    }
}

// Independent mode: the sampler comes from a variable with an initialiser.
Test(ptx_texture, samplers)
{
    make_all();
    static const char directives[] =
        ".global .samplerref s = { addr_mode_0 = clamp_to_edge, addr_mode_1 = wrap, "
        "filter_mode = linear, force_unnormalized_coords = 1 };\n"
        ".global .samplerref plain;\n";
    uint32_t out[4];
    OK(run_body(directives, "tex.2d.v4.f32.f32 " D ", [%l1, s, {%r13, %r12}];", objects[TWO], out));
    float first;
    memcpy(&first, out, sizeof first);
    cr_assert(first == 17.5f);
    OK(run_body(directives,
                "mov.u64 %l2, plain; mov.f32 %r9, 0.5625;"
                " tex.2d.v4.f32.f32 " D ", [%l1, %l2, {%r9, %r9}];",
                objects[TWO], out)); // normalised, nearest: texel (4, 2)
    memcpy(&first, out, sizeof first);
    cr_assert(first == 24);
    OK(run_body(directives,
                "txq.addr_mode_0.b32 %r0, [s]; txq.addr_mode_1.b32 %r1, [s];"
                " txq.filter_mode.b32 %r2, [s]; txq.force_unnormalized_coords.b32 %r3, [s];",
                0, out));
    static const uint32_t want[4] = {3, 0, 1, 1};
    cr_assert(memcmp(out, want, sizeof want) == 0);
    OK(run_body(directives,
                "mov.u64 %l2, s; istypep.samplerref %p1, %l2; selp.u32 %r0, 1, 0, %p1;"
                " istypep.texref %p2, %l2; selp.u32 %r1, 1, 0, %p2;",
                0, out));
    cr_assert(out[0] == 1);
    cr_assert(out[1] == 0);
}

// What CUDA cannot make is refused when the kernel is launched, and says so.
Test(ptx_texture, refused)
{
    static const char *const bodies[] = {
        "tex.2dms.v4.f32.s32 " D ", [%l1, {%r30, %r31, %r32, %r33}];",
        "tex.a2dms.v4.f32.s32 " D ", [%l1, {%r30, %r31, %r32, %r33}];",
        "tex.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}], %r10;",
        "tex.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}], {%r30, %r31}, %r10;",
        "tld4.r.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}], %r10;",
        "txq.channel_order.b32 %r0, [%l1];",
        "txq.channel_data_type.b32 %r0, [%l1];",
    };
    for (unsigned i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        uint32_t out[4] = {0};
        cr_assert(run_body(NULL, bodies[i], 0, out) == cudaErrorNotSupported, "%s", bodies[i]);
        cr_assert(cudaGetLastError() == cudaErrorNotSupported);
    }
}

// Each in a process of its own: the error sticks.
static void expect_fault(const char *directives, const char *body, uint64_t object)
{
    uint32_t out[4] = {0};
    cr_assert(run_body(directives, body, object, out) == cudaErrorIllegalAddress);
}

Test(ptx_texture, null_object)
{
    expect_fault(NULL, "tex.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}];", 0);
}

Test(ptx_texture, wild_object)
{
    expect_fault(NULL, "tex.level.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}], %r10;",
                 UINT64_C(0x123456789abcdef0));
}

Test(ptx_texture, destroyed_object)
{
    make_all();
    OK(cudaDestroyTextureObject(objects[TWO]));
    expect_fault(NULL, "tex.2d.v4.f32.f32 " D ", [%l1, {%r20, %r20}];", objects[TWO]);
}

Test(ptx_texture, unbound_reference)
{
    expect_fault(".global .texref t;", "tex.2d.v4.f32.f32 " D ", [t, {%r20, %r20}];", 0);
}

Test(ptx_texture, unbound_reference_by_address)
{
    expect_fault(".global .texref t;",
                 "mov.u64 %l2, t; tex.2d.v4.f32.f32 " D ", [%l2, {%r20, %r20}];", 0);
}

Test(ptx_texture, other_dimension)
{
    make_all();
    expect_fault(NULL, "tex.3d.v4.f32.f32 " D ", [%l1, {%r20, %r20, %r20, %r20}];", objects[TWO]);
}

// A parameter of an opaque type is the object itself.
Test(ptx_texture, parameter)
{
    make_all();
    static const char *const names[] = {"k"};
    static const char text[] =
        ".version 8.6\n.target sm_100\n.address_size 64\n"
        ".visible .entry k(.param .texref t, .param .u64 pout)\n{\n"
        " .reg .b32 %r<8>; .reg .b64 %l<4>; ld.param.u64 %l1, [pout]; mov.f32 %r4, 3.5;\n"
        " tex.2d.v4.f32.f32 {%r0, %r1, %r2, %r3}, [t, {%r4, %r4}];\n"
        " st.global.b32 [%l1], %r0; txq.width.b32 %r5, [t]; st.global.b32 [%l1+4], %r5; ret;\n}\n";
    struct ptx_module *module = ptx_module_register(text, names, 1);
    cr_assert(module != NULL);
    ptx_module_end(module);
    void *out = NULL;
    OK(cudaMalloc(&out, 8));
    void *arguments[] = {&objects[TWO], &out};
    OK(cudaLaunchKernel(ptx_module_stub(module, 0), dim(1, 1, 1), dim(1, 1, 1), arguments, 0, 0));
    struct {
        float number;
        uint32_t width;
    } got;
    OK(cudaMemcpy(&got, out, sizeof got, cudaMemcpyDeviceToHost));
    cr_assert(got.number == 33);
    cr_assert(got.width == 8);
}
