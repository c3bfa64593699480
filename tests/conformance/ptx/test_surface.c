// SPDX-License-Identifier: Apache-2.0
//
// Surface instructions of PTX: every geometry, size and vector, byte and sample coordinates, bounds
// modes, formatted stores, reductions, queries, faults.
#include "run.h"

TestSuite(ptx_surface, .timeout = 120);

struct target {
    cudaArray_t array;
    cudaSurfaceObject_t object;
    size_t row; // bytes
    unsigned height, depth;
};

static struct target make(struct cudaChannelFormatDesc format, unsigned width, unsigned height,
                          unsigned depth, unsigned flags)
{
    struct target t = {.row = (size_t)width *
                              (unsigned)(format.x + format.y + format.z + format.w) / 8,
                       .height = height ? height : 1,
                       .depth = depth ? depth : 1};
    OK(cudaMalloc3DArray(&t.array, &format,
                         (struct cudaExtent){.width = width, .height = height, .depth = depth},
                         flags | cudaArraySurfaceLoadStore));
    struct cudaResourceDesc resource;
    memset(&resource, 0, sizeof resource);
    resource.resType = cudaResourceTypeArray;
    resource.res.array.array = t.array;
    OK(cudaCreateSurfaceObject(&t.object, &resource));
    return t;
}

static void transfer(const struct target *t, void *memory, enum cudaMemcpyKind kind)
{
    struct cudaChannelFormatDesc format;
    OK(cudaArrayGetInfo(&format, NULL, NULL, t->array));
    unsigned element = (unsigned)(format.x + format.y + format.z + format.w) / 8;
    struct cudaMemcpy3DParms copy;
    memset(&copy, 0, sizeof copy);
    struct cudaPitchedPtr host = {
        .ptr = memory, .pitch = t->row, .xsize = t->row, .ysize = t->height};
    if (kind == cudaMemcpyHostToDevice) {
        copy.srcPtr = host;
        copy.dstArray = t->array;
    } else {
        copy.srcArray = t->array;
        copy.dstPtr = host;
    }
    copy.extent =
        (struct cudaExtent){.width = t->row / element, .height = t->height, .depth = t->depth};
    copy.kind = kind;
    OK(cudaMemcpy3D(&copy));
}

// The body sees the object in %l1; %r10..%r19 are 0 to 9 and %r20..%r27 are what the caller gives.
// It leaves %r0..%r3.
static cudaError_t run_body(const char *body, uint64_t object, const uint32_t given[8],
                            uint32_t out[4])
{
    char text[4000];
    int n = snprintf(text, sizeof text, " ld.global.u64 %%l1, [%%in];\n");
    for (int i = 0; i < 10; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, " mov.u32 %%r%d, %d;", 10 + i, i);
    }
    for (int i = 0; i < 8; i++) {
        n += snprintf(text + n, sizeof text - (size_t)n, " ld.global.u32 %%r%d, [%%in+%d];", 20 + i,
                      8 + 4 * i);
    }
    n += snprintf(text + n, sizeof text - (size_t)n,
                  " mov.b32 %%r0, 0; mov.b32 %%r1, 0; mov.b32 %%r2, 0; mov.b32 %%r3, 0;\n %s\n"
                  " st.global.b32 [%%out], %%r0; st.global.b32 [%%out+4], %%r1;\n"
                  " st.global.b32 [%%out+8], %%r2; st.global.b32 [%%out+12], %%r3;\n",
                  body);
    cr_assert(n < (int)sizeof text);
    uint32_t in[10] = {(uint32_t)object, (uint32_t)(object >> 32)};
    if (given) {
        memcpy(in + 2, given, 8 * sizeof *given);
    }
    struct run run = {
        .body = text, .grid = 1, .block = 1, .in = in, .in_count = 10, .out = out, .out_count = 4};
    return run_kernel(&run);
}

static const struct cudaChannelFormatDesc word4 = {32, 32, 32, 32, cudaChannelFormatKindUnsigned};
static const struct cudaChannelFormatDesc word1 = {32, 0, 0, 0, cudaChannelFormatKindUnsigned};

// Loads of every size from bytes 0, 1, 2 …, whose results are known.
Test(ptx_surface, loads)
{
    static const struct {
        const char *body;
        uint32_t want[4];
    } rows[] = {
        {"suld.b.2d.b8.trap {%h0}, [%l1, {%r15, %r10}]; cvt.u32.u16 %r0, %h0;", {5}},
        {"suld.b.2d.v2.b8.trap {%h0, %h1}, [%l1, {%r14, %r10}]; cvt.u32.u16 %r0, %h0;"
         " cvt.u32.u16 %r1, %h1;",
         {4, 5}},
        {"suld.b.2d.v4.b8.trap {%h0, %h1, %h2, %h3}, [%l1, {%r14, %r10}]; cvt.u32.u16 %r0, %h0;"
         " cvt.u32.u16 %r1, %h1; cvt.u32.u16 %r2, %h2; cvt.u32.u16 %r3, %h3;",
         {4, 5, 6, 7}},
        {"suld.b.2d.b16.trap {%h0}, [%l1, {%r16, %r11}]; cvt.u32.u16 %r0, %h0;", {0x4746}},
        {"suld.b.2d.v4.b16.clamp {%h0, %h1, %h2, %h3}, [%l1, {%r18, %r10}]; cvt.u32.u16 %r0, %h0;"
         " cvt.u32.u16 %r3, %h3;",
         {0x0908, 0, 0, 0x0f0e}},
        {"suld.b.2d.cg.b32.trap %r0, [%l1, {%r14, %r10}];", {0x07060504}},
        {"suld.b.2d.v2.b32.zero {%r0, %r1}, [%l1, {%r18, %r10}];", {0x0b0a0908, 0x0f0e0d0c}},
        {"suld.b.2d.v4.b32.trap {%r0, %r1, %r2, %r3}, [%l1, {%r10, %r11}];",
         {0x43424140, 0x47464544, 0x4b4a4948, 0x4f4e4d4c}},
        {"suld.b.2d.b64.trap {%l2}, [%l1, {%r18, %r10}]; mov.b64 {%r0, %r1}, %l2;",
         {0x0b0a0908, 0x0f0e0d0c}},
        {"suld.b.2d.v2.b64.trap {%l2, %l3}, [%l1, {%r10, %r11}]; mov.b64 {%r0, %r1}, %l2;"
         " mov.b64 {%r2, %r3}, %l3;",
         {0x43424140, 0x47464544, 0x4b4a4948, 0x4f4e4d4c}},
        // out of bounds: row 9 is row 3 or nothing; byte -4
        {"suld.b.2d.b32.clamp %r0, [%l1, {%r14, %r19}];", {0xc7c6c5c4}},
        {"suld.b.2d.b32.zero %r0, [%l1, {%r14, %r19}];", {0}},
        {"neg.s32 %r9, %r14; suld.b.2d.b32.clamp %r0, [%l1, {%r9, %r10}];", {0x03020100}},
        {"neg.s32 %r9, %r14; suld.b.2d.b32.zero %r0, [%l1, {%r9, %r10}];", {0}},
        {"suq.width.b32 %r0, [%l1]; suq.height.b32 %r1, [%l1]; suq.array_size.b32 %r2, [%l1];"
         " suq.depth.b32 %r3, [%l1];",
         {4, 4, 0, 1}},
        {"suq.memory_layout.b32 %r0, [%l1]; istypep.surfref %p1, %l1; selp.u32 %r1, 1, 0, %p1;"
         " istypep.texref %p1, %l1; selp.u32 %r2, 1, 0, %p1;",
         {0, 1, 0}},
    };
    struct target t = make(word4, 4, 4, 0, 0);
    unsigned char bytes[256];
    for (unsigned i = 0; i < sizeof bytes; i++) {
        bytes[i] = (unsigned char)i;
    }
    transfer(&t, bytes, cudaMemcpyHostToDevice);
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        uint32_t out[4] = {7, 7, 7, 7};
        cr_assert(run_body(rows[i].body, t.object, NULL, out) == cudaSuccess, "%s", rows[i].body);
        cr_assert(memcmp(out, rows[i].want, sizeof out) == 0, "%s: %x %x %x %x", rows[i].body,
                  out[0], out[1], out[2], out[3]);
    }
}

// One store each; all other words stay.
Test(ptx_surface, stores)
{
    static const struct {
        const char *body;
        unsigned width, height, depth, flags;
        unsigned at, words; // in 32-bit words from the start; 0 words: nothing is stored
    } rows[] = {
        {"sust.b.1d.b32.trap [%l1, {%r18}], {%r20};", 8, 0, 0, 0, 2, 1},
        {"sust.b.1d.b32.trap [%l1, %r18], %r20;", 8, 0, 0, 0, 2, 1},
        {"sust.b.2d.v2.b32.trap [%l1, {%r18, %r11}], {%r20, %r21};", 4, 4, 0, 0, 6, 2},
        {"sust.b.2d.wb.v4.b32.trap [%l1, {%r10, %r12}], {%r20, %r21, %r22, %r23};", 4, 4, 0, 0, 8,
         4},
        {"mov.b64 %l2, {%r20, %r21}; sust.b.2d.b64.trap [%l1, {%r18, %r12}], %l2;", 4, 4, 0, 0, 10,
         2},
        {"sust.b.3d.b32.trap [%l1, {%r14, %r11, %r12, %r10}], {%r20};", 4, 2, 3, 0, 21, 1},
        {".reg .v2 .b32 %v; mov.b32 %v.x, %r20; mov.b32 %v.y, %r21;"
         " sust.b.2d.v2.b32.trap [%l1, {%r18, %r11}], %v;",
         4, 4, 0, 0, 6, 2},
        {"sust.b.a1d.b32.trap [%l1, {%r12, %r14}], {%r20};", 4, 0, 3, cudaArrayLayered, 9, 1},
        {"sust.b.a2d.b32.trap [%l1, {%r11, %r14, %r12, %r10}], {%r20};", 4, 4, 2, cudaArrayLayered,
         25, 1},
        {"sust.b.a2d.b32.trap [%l1, {%r15, %r14, %r11, %r10}], {%r20};", 4, 4, 6, cudaArrayCubemap,
         85, 1},
        {"sust.b.2d.b32.zero [%l1, {%r14, %r19}], {%r20};", 4, 4, 0, 0, 0, 0},
        {"sust.b.2d.b32.clamp [%l1, {%r14, %r19}], {%r20};", 4, 4, 0, 0, 13, 1},
        {"sust.b.a1d.b32.clamp [%l1, {%r19, %r14}], {%r20};", 4, 0, 3, cudaArrayLayered, 9, 1},
        {"sust.b.a1d.b32.zero [%l1, {%r19, %r14}], {%r20};", 4, 0, 3, cudaArrayLayered, 0, 0},
        {"sust.p.2d.b32.trap [%l1, {%r13, %r11}], {%r20};", 4, 4, 0, 0, 7, 1},
        {"sust.p.1d.v4.b32.trap [%l1, {%r13}], {%r20, %r21, %r22, %r23};", 4, 0, 0, 0, 3, 1},
        {"sust.p.3d.b32.clamp [%l1, {%r19, %r19, %r19, %r10}], {%r20};", 4, 2, 3, 0, 23, 1},
        {"setp.eq.u32 %p1, %r10, 1; @%p1 sust.b.2d.b32.trap [%l1, {%r14, %r19}], {%r20};", 4, 4, 0,
         0, 0, 0},
    };
    static const uint32_t given[8] = {0xabcd0001, 0xabcd0002, 0xabcd0003, 0xabcd0004};
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct target t = make(word1, rows[i].width, rows[i].height, rows[i].depth, rows[i].flags);
        size_t count = t.row / 4 * t.height * t.depth;
        uint32_t words[128], out[4], want[128];
        for (unsigned k = 0; k < 128; k++) {
            words[k] = want[k] = 1000 + k;
        }
        memcpy(&want[rows[i].at], given, rows[i].words * sizeof given[0]);
        transfer(&t, words, cudaMemcpyHostToDevice);
        cr_assert(run_body(rows[i].body, t.object, given, out) == cudaSuccess, "%s", rows[i].body);
        transfer(&t, words, cudaMemcpyDeviceToHost);
        for (unsigned k = 0; k < count; k++) {
            cr_assert(words[k] == want[k], "%s: word %u", rows[i].body, k);
        }
    }
}

// sust.p converts to the type of the samples.
Test(ptx_surface, formatted)
{
    static const struct {
        struct cudaChannelFormatDesc format;
        uint32_t given[4];
        unsigned char want[8];
        unsigned bytes;
    } rows[] = {
        {{8, 8, 8, 8, cudaChannelFormatKindUnsigned},
         {1, 255, 256, 0xffffffff},
         {1, 255, 255, 255},
         4},
        {{8, 8, 0, 0, cudaChannelFormatKindSigned}, {(uint32_t)-1000, 1000}, {0x80, 0x7f}, 2},
        {{16, 0, 0, 0, cudaChannelFormatKindUnsigned}, {65537}, {0xff, 0xff}, 2},
        {{16, 16, 0, 0, cudaChannelFormatKindFloat},
         {0x3f800000, 0xc0000000},
         {0x00, 0x3c, 0x00, 0xc0},
         4},
        {{32, 0, 0, 0, cudaChannelFormatKindFloat}, {0x3f800000}, {0, 0, 0x80, 0x3f}, 4},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct target t = make(rows[i].format, 2, 2, 0, 0);
        uint32_t given[8] = {0}, out[4];
        memcpy(given, rows[i].given, sizeof rows[i].given);
        unsigned char bytes[64] = {0};
        transfer(&t, bytes, cudaMemcpyHostToDevice);
        OK(run_body("sust.p.2d.v4.b32.trap [%l1, {%r11, %r11}], {%r20, %r21, %r22, %r23};",
                    t.object, given, out));
        transfer(&t, bytes, cudaMemcpyDeviceToHost);
        cr_assert(memcmp(bytes + t.row + t.row / 2, rows[i].want, rows[i].bytes) == 0, "row %u", i);
        for (size_t k = 0; k < t.row + t.row / 2; k++) {
            cr_assert(bytes[k] == 0);
        }
    }
}

Test(ptx_surface, reductions)
{
    static const struct {
        const char *body;
        uint32_t old, operand, want;
        bool is_signed;
    } rows[] = {
        {"sured.b.add.2d.u32.trap [%l1, {%r14, %r11}], %r20;", 7, 5, 12, false},
        {"sured.b.add.2d.s32.trap [%l1, {%r14, %r11}], %r20;", 7, (uint32_t)-9, (uint32_t)-2,
         false},
        {"sured.b.min.2d.u32.trap [%l1, {%r14, %r11}], %r20;", 0xfffffff0, 5, 5, false},
        {"sured.b.min.2d.s32.trap [%l1, {%r14, %r11}], %r20;", 0xfffffff0, 5, 0xfffffff0, false},
        {"sured.b.max.2d.u32.trap [%l1, {%r14, %r11}], %r20;", 0xfffffff0, 5, 0xfffffff0, false},
        {"sured.b.max.2d.s32.trap [%l1, {%r14, %r11}], %r20;", 0xfffffff0, 5, 5, false},
        {"sured.b.and.2d.b32.trap [%l1, {%r14, %r11}], %r20;", 0xff00, 0x0ff0, 0x0f00, false},
        {"sured.b.or.2d.b32.trap [%l1, {%r14, %r11}], %r20;", 0xff00, 0x0ff0, 0xfff0, false},
        {"sured.p.add.2d.b32.trap [%l1, {%r11, %r11}], %r20;", 7, 5, 12, false},
        {"sured.p.min.2d.b32.trap [%l1, {%r11, %r11}], %r20;", 0xfffffff0, 5, 5, false},
        {"sured.p.min.2d.b32.trap [%l1, {%r11, %r11}], %r20;", 0xfffffff0, 5, 0xfffffff0, true},
        {"sured.p.max.2d.b32.clamp [%l1, {%r11, %r11}], %r20;", 0xfffffff0, 5, 5, true},
        {"sured.b.add.2d.u32.zero [%l1, {%r14, %r19}], %r20;", 7, 5, 7, false},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct cudaChannelFormatDesc format = word1;
        format.f = rows[i].is_signed ? cudaChannelFormatKindSigned : cudaChannelFormatKindUnsigned;
        struct target t = make(format, 4, 2, 0, 0);
        uint32_t words[8] = {0}, given[8] = {rows[i].operand}, out[4];
        words[5] = rows[i].old;
        transfer(&t, words, cudaMemcpyHostToDevice);
        cr_assert(run_body(rows[i].body, t.object, given, out) == cudaSuccess, "%s", rows[i].body);
        transfer(&t, words, cudaMemcpyDeviceToHost);
        cr_assert(words[5] == rows[i].want, "%s", rows[i].body);
    }
    struct target t =
        make((struct cudaChannelFormatDesc){32, 32, 0, 0, cudaChannelFormatKindSigned}, 4, 1, 0, 0);
    uint64_t words[4] = {5, 5, 5, 5};
    uint32_t given[8] = {0xffffffff, 0xffffffff}, out[4];
    transfer(&t, words, cudaMemcpyHostToDevice);
    OK(run_body("mov.b64 %l2, {%r20, %r21}; sured.b.add.1d.u64.trap [%l1, {%r10}], %l2;"
                " sured.b.max.1d.u64.trap [%l1, {%r18}], %l2;"
                " mov.u32 %r9, 16; sured.b.max.1d.s64.trap [%l1, {%r9}], %l2;"
                " sured.p.min.1d.b64.trap [%l1, {%r13}], %l2;",
                t.object, given, out));
    transfer(&t, words, cudaMemcpyDeviceToHost);
    cr_assert(words[0] == 4);
    cr_assert(words[1] == UINT64_MAX);
    cr_assert(words[2] == 5);
    cr_assert(words[3] == UINT64_MAX); // -1 of signed samples
}

// Reductions are atomic: many threads add to one word.
Test(ptx_surface, reductions_are_atomic)
{
    struct target t = make(word1, 4, 2, 0, 0);
    uint32_t words[8] = {0}, out[1] = {0};
    transfer(&t, words, cudaMemcpyHostToDevice);
    uint32_t in[2] = {(uint32_t)t.object, (uint32_t)(t.object >> 32)};
    struct run run = {.body = " ld.global.u64 %l1, [%in]; mov.u32 %r1, 4; mov.u32 %r2, 1;"
                              " sured.b.add.2d.u32.trap [%l1, {%r1, %r2}], %r2;",
                      .grid = 500,
                      .block = 64,
                      .in = in,
                      .in_count = 2,
                      .out = out,
                      .out_count = 1};
    OK(run_kernel(&run));
    transfer(&t, words, cudaMemcpyDeviceToHost);
    cr_assert(words[5] == 32000);
}

static void expect_fault(const char *body, uint64_t object, cudaError_t want)
{
    uint32_t out[4];
    cr_assert(run_body(body, object, NULL, out) == want);
}

Test(ptx_surface, trap_of_a_load)
{
    expect_fault("suld.b.2d.b32.trap %r0, [%l1, {%r14, %r14}];", make(word1, 4, 4, 0, 0).object,
                 cudaErrorIllegalAddress);
}

Test(ptx_surface, trap_of_a_store)
{
    expect_fault("mov.u32 %r9, 16; sust.b.2d.b32.trap [%l1, {%r9, %r10}], %r10;",
                 make(word1, 4, 4, 0, 0).object, cudaErrorIllegalAddress);
}

Test(ptx_surface, misaligned)
{
    expect_fault("suld.b.2d.b32.trap %r0, [%l1, {%r12, %r10}];", make(word1, 4, 4, 0, 0).object,
                 cudaErrorMisalignedAddress);
}

Test(ptx_surface, null_object)
{
    expect_fault("sust.b.2d.b32.zero [%l1, {%r10, %r10}], %r10;", 0, cudaErrorIllegalAddress);
}

Test(ptx_surface, destroyed_object)
{
    struct target t = make(word1, 4, 4, 0, 0);
    OK(cudaDestroySurfaceObject(t.object));
    expect_fault("suld.b.2d.b32.trap %r0, [%l1, {%r10, %r10}];", t.object, cudaErrorIllegalAddress);
}

Test(ptx_surface, refused)
{
    uint32_t out[4];
    cr_assert(run_body("suq.channel_order.b32 %r0, [%l1];", 0, NULL, out) == cudaErrorNotSupported);
}
