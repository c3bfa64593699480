// SPDX-License-Identifier: Apache-2.0
//
// CUDA arrays and mipmapped arrays: every format and shape, limits, all copies with arrays on
// either side, queries, freeing, memory accounting, and their errors.
#include "conformance.h"

TestSuite(arrays, .timeout = 60, .data = NEEDS("arrays"));

static const struct cudaChannelFormatDesc u8 = {8, 0, 0, 0, cudaChannelFormatKindUnsigned};
static const struct cudaChannelFormatDesc f32 = {32, 0, 0, 0, cudaChannelFormatKindFloat};
static const struct cudaChannelFormatDesc f32x4 = {32, 32, 32, 32, cudaChannelFormatKindFloat};

static struct cudaExtent extent3(size_t width, size_t height, size_t depth)
{
    return (struct cudaExtent){.width = width, .height = height, .depth = depth};
}

// Bytes that differ from each other in a way that shows misplaced rows.
static unsigned char *pattern(size_t size)
{
    unsigned char *bytes = malloc(size);
    cr_assert(bytes);
    for (size_t i = 0; i < size; i++) {
        bytes[i] = (unsigned char)(i * 131 + (i >> 8) * 29 + 7);
    }
    return bytes;
}

static cudaArray_t make(const struct cudaChannelFormatDesc *desc, size_t width, size_t height)
{
    cudaArray_t array = NULL;
    OK(cudaMallocArray(&array, desc, width, height, 0));
    cr_assert(array != NULL);
    return array;
}

// ---- formats and shapes ----

Test(arrays, plain_formats_round_trip)
{
    static const int bits[] = {8, 16, 32};
    static const enum cudaChannelFormatKind kinds[] = {
        cudaChannelFormatKindSigned, cudaChannelFormatKindUnsigned, cudaChannelFormatKindFloat};
    unsigned char *source = pattern(37 * 16 * 11), *back = malloc(37 * 16 * 11);
    for (size_t k = 0; k < LENGTH(kinds); k++) {
        for (size_t b = 0; b < LENGTH(bits); b++) {
            for (int channels = 1; channels <= 4; channels++) {
                int x = bits[b];
                struct cudaChannelFormatDesc desc = {x, channels > 1 ? x : 0, channels > 2 ? x : 0,
                                                     channels > 3 ? x : 0, kinds[k]};
                cudaArray_t array = NULL;
                bool bad = channels == 3 || (kinds[k] == cudaChannelFormatKindFloat && x == 8);
                if (bad) {
                    EXPECT(cudaErrorInvalidChannelDescriptor,
                           cudaMallocArray(&array, &desc, 37, 11, 0));
                    cr_assert(array == NULL);
                    continue;
                }
                OK(cudaMallocArray(&array, &desc, 37, 11, 0));
                size_t row = (size_t)(37 * channels * x / 8);
                OK(cudaMemcpy2DToArray(array, 0, 0, source, row, row, 11, cudaMemcpyHostToDevice));
                memset(back, 0, row * 11);
                OK(cudaMemcpy2DFromArray(back, row, array, 0, 0, row, 11, cudaMemcpyDeviceToHost));
                cr_assert(memcmp(source, back, row * 11) == 0);
                struct cudaChannelFormatDesc got;
                OK(cudaGetChannelDesc(&got, array));
                cr_assert(memcmp(&got, &desc, sizeof got) == 0);
                OK(cudaFreeArray(array));
            }
        }
    }
    free(source);
    free(back);
}

Test(arrays, formats_that_say_their_channels)
{
#if CUDART_VERSION >= 11050
    static const struct cudaChannelFormatDesc good[] = {
        {8, 0, 0, 0, cudaChannelFormatKindUnsignedNormalized8X1},
        {8, 8, 8, 8, cudaChannelFormatKindSignedNormalized8X4},
        {16, 16, 0, 0, cudaChannelFormatKindUnsignedNormalized16X2},
        {8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed1},
        {8, 0, 0, 0, cudaChannelFormatKindSignedBlockCompressed4},
        {16, 16, 16, 0, cudaChannelFormatKindUnsignedBlockCompressed6H},
        {8, 8, 8, 8, cudaChannelFormatKindUnsignedBlockCompressed7SRGB},
#if CUDART_VERSION >= 13000
        {10, 10, 10, 2, cudaChannelFormatKindUnsignedNormalized1010102},
#endif
    };
    static const struct cudaChannelFormatDesc bad[] = {
        {8, 8, 0, 0, cudaChannelFormatKindUnsignedNormalized8X1},
        {16, 0, 0, 0, cudaChannelFormatKindSignedNormalized8X1},
        {32, 0, 0, 0, cudaChannelFormatKindUnsignedBlockCompressed4},
        {8, 8, 8, 8, (enum cudaChannelFormatKind)99},
        {8, 8, 8, 8, cudaChannelFormatKindNone},
        {0, 0, 0, 0, cudaChannelFormatKindUnsigned},
        {8, 16, 0, 0, cudaChannelFormatKindUnsigned},
        {8, 0, 8, 0, cudaChannelFormatKindUnsigned},
        {64, 0, 0, 0, cudaChannelFormatKindUnsigned},
        {-8, 0, 0, 0, cudaChannelFormatKindUnsigned},
    };
    cudaArray_t array = NULL;
    for (size_t i = 0; i < LENGTH(good); i++) {
        struct cudaChannelFormatDesc got;
        OK(cudaMallocArray(&array, &good[i], 16, 8, 0));
        OK(cudaArrayGetInfo(&got, NULL, NULL, array));
        cr_assert(memcmp(&got, &good[i], sizeof got) == 0, "format %zu", i);
        OK(cudaFreeArray(array));
    }
    array = NULL;
    for (size_t i = 0; i < LENGTH(bad); i++) {
        EXPECT(cudaErrorInvalidChannelDescriptor, cudaMallocArray(&array, &bad[i], 16, 8, 0));
        cr_assert(array == NULL);
    }
    // A compressed element is a block of 4 x 4 texels: 16 x 8 texels are 4 x 2 blocks of 8 bytes.
    unsigned char *source = pattern(64), back[64];
    OK(cudaMallocArray(&array, &good[3], 16, 8, 0));
    OK(cudaMemcpy2DToArray(array, 0, 0, source, 32, 32, 2, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(back, 32, array, 0, 0, 32, 2, cudaMemcpyDeviceToHost));
    cr_assert(memcmp(source, back, 64) == 0);
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpy2DToArray(array, 0, 0, source, 32, 32, 3, cudaMemcpyHostToDevice));
    OK(cudaFreeArray(array));
    EXPECT(cudaErrorInvalidValue, cudaMallocArray(&array, &good[3], 16, 0, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaMallocArray(&array, &good[3], 16, 8, cudaArraySurfaceLoadStore));
    free(source);
#endif
}

Test(arrays, shapes_and_limits)
{
    struct cudaDeviceProp prop;
    OK(cudaGetDeviceProperties(&prop, 0));
    const size_t w1 = (size_t)prop.maxTexture1D, w2 = (size_t)prop.maxTexture2D[0];
    const struct {
        struct cudaExtent extent;
        unsigned flags;
        cudaError_t expected;
    } rows[] = {
        {{16, 0, 0}, 0, cudaSuccess},
        {{16, 9, 0}, 0, cudaSuccess},
        {{16, 9, 3}, 0, cudaSuccess},
        {{16, 0, 3}, cudaArrayLayered, cudaSuccess},
        {{16, 9, 3}, cudaArrayLayered, cudaSuccess},
        {{16, 16, 6}, cudaArrayCubemap, cudaSuccess},
        {{16, 16, 12}, cudaArrayCubemap | cudaArrayLayered, cudaSuccess},
        {{16, 9, 0}, cudaArraySurfaceLoadStore, cudaSuccess},
        {{16, 9, 0}, cudaArrayTextureGather, cudaSuccess},
        {{16, 16, 6}, cudaArrayCubemap | cudaArraySurfaceLoadStore, cudaSuccess},
        {{w1, 0, 0}, 0, cudaSuccess},
        {{w2, 2, 0}, 0, cudaSuccess},
        {{0, 0, 0}, 0, cudaErrorInvalidValue},
        {{0, 5, 0}, 0, cudaErrorInvalidValue},
        {{16, 0, 3}, 0, cudaErrorInvalidValue},
        {{16, 9, 0}, cudaArrayLayered, cudaErrorInvalidValue},
        {{16, 0, 0}, cudaArrayLayered, cudaErrorInvalidValue},
        {{16, 9, 6}, cudaArrayCubemap, cudaErrorInvalidValue},
        {{16, 16, 5}, cudaArrayCubemap, cudaErrorInvalidValue},
        {{16, 16, 12}, cudaArrayCubemap, cudaErrorInvalidValue},
        {{16, 16, 13}, cudaArrayCubemap | cudaArrayLayered, cudaErrorInvalidValue},
        {{w1 + 1, 0, 0}, 0, cudaErrorInvalidValue},
        {{w2 + 1, 2, 0}, 0, cudaErrorInvalidValue},
        {{SIZE_MAX, 1, 0}, 0, cudaErrorInvalidValue},
        {{16, SIZE_MAX, 0}, 0, cudaErrorInvalidValue},
        {{16, 16, SIZE_MAX}, 0, cudaErrorInvalidValue},
        {{(size_t)prop.maxSurface1D + 1, 0, 0}, cudaArraySurfaceLoadStore, cudaErrorInvalidValue},
        {{(size_t)prop.maxTexture2DGather[0] + 1, 1, 0},
         cudaArrayTextureGather,
         cudaErrorInvalidValue},
        {{16, 16, 2}, cudaArrayTextureGather, cudaErrorInvalidValue},
        {{4, 4, (size_t)prop.maxTexture2DLayered[2] + 1}, cudaArrayLayered, cudaErrorInvalidValue},
        {{16, 9, 0}, 0x100, cudaErrorInvalidValue},
        {{16, 9, 0}, 0x10, cudaErrorInvalidValue},
        {{16, 9, 0}, cudaArraySparse, cudaErrorNotSupported},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        cudaArray_t array = NULL;
        cudaError_t got = cudaMalloc3DArray(&array, &f32, rows[i].extent, rows[i].flags);
        cr_assert(got == rows[i].expected, "row %zu: %d", i, (int)got);
        cr_assert((array != NULL) == (got == cudaSuccess));
        if (got) {
            continue;
        }
        struct cudaExtent extent;
        unsigned flags;
        OK(cudaArrayGetInfo(NULL, &extent, &flags, array));
        cr_assert(memcmp(&extent, &rows[i].extent, sizeof extent) == 0 && flags == rows[i].flags,
                  "row %zu", i);
        OK(cudaFreeArray(array));
    }
    cudaArray_t array = NULL;
    EXPECT(cudaErrorInvalidValue, cudaMallocArray(NULL, &f32, 4, 4, 0));
    EXPECT(cudaErrorInvalidValue, cudaMallocArray(&array, NULL, 4, 4, 0));
    EXPECT(cudaErrorInvalidValue, cudaMallocArray(&array, &f32, 4, 4, cudaArrayLayered));
    EXPECT(cudaErrorInvalidValue, cudaMallocArray(&array, &f32, 4, 4, cudaArrayCubemap));
    EXPECT(cudaErrorInvalidValue, cudaMalloc3DArray(NULL, &f32, extent3(4, 4, 4), 0));
    EXPECT(cudaErrorInvalidValue, cudaMalloc3DArray(&array, NULL, extent3(4, 4, 4), 0));
    cudaGetLastError();
}

// ---- two dimensions ----

Test(arrays, copies_of_parts)
{
    enum { W = 20, H = 12 };
    float source[H][W], back[H][W], expected[H][W];
    cudaArray_t array = make(&f32, W, H);
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < W; x++) {
            source[y][x] = (float)(y * 100 + x);
            expected[y][x] = -1.0f;
        }
    }
    OK(cudaMemcpy2DToArray(array, 0, 0, expected, sizeof source[0], sizeof source[0], H,
                           cudaMemcpyDefault));
    // Rows 2 to 4, columns 3 to 9 of the source go to row 5, column 4.
    OK(cudaMemcpy2DToArray(array, 4 * sizeof(float), 5, &source[2][3], sizeof source[0],
                           7 * sizeof(float), 3, cudaMemcpyHostToDevice));
    for (int y = 0; y < 3; y++) {
        for (int x = 0; x < 7; x++) {
            expected[5 + y][4 + x] = source[2 + y][3 + x];
        }
    }
    OK(cudaMemcpy2DFromArray(back, sizeof back[0], array, 0, 0, sizeof back[0], H,
                             cudaMemcpyDeviceToHost));
    cr_assert(memcmp(back, expected, sizeof back) == 0);
    // The same region into another array, by way of the device and directly.
    cudaArray_t other = make(&f32, 9, 4);
    void *device = NULL;
    size_t pitch = 0;
    float part[3][7];
    OK(cudaMemcpy2DArrayToArray(other, 2 * sizeof(float), 1, array, 4 * sizeof(float), 5,
                                7 * sizeof(float), 3, cudaMemcpyDeviceToDevice));
    OK(cudaMallocPitch(&device, &pitch, 7 * sizeof(float), 3));
    OK(cudaMemcpy2DFromArrayAsync(device, pitch, other, 2 * sizeof(float), 1, 7 * sizeof(float), 3,
                                  cudaMemcpyDeviceToDevice, 0));
    OK(cudaMemcpy2D(part, sizeof part[0], device, pitch, sizeof part[0], 3,
                    cudaMemcpyDeviceToHost));
    for (int y = 0; y < 3; y++) {
        cr_assert(memcmp(part[y], &source[2 + y][3], sizeof part[y]) == 0, "row %d", y);
    }
    OK(cudaFree(device));
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(other));
}

Test(arrays, errors_of_2d_copies)
{
    char host[4096] = {0};
    cudaArray_t array = make(&f32, 8, 4), bytes = make(&u8, 32, 4), gone = make(&f32, 8, 4);
    OK(cudaFreeArray(gone));
    const struct {
        cudaError_t expected;
        cudaArray_t array;
        size_t w, h;
        const void *src;
        size_t pitch, width, height;
        int kind;
    } rows[] = {
        {cudaSuccess, array, 0, 0, host, 32, 32, 4, cudaMemcpyHostToDevice},
        {cudaSuccess, array, 0, 0, host, 32, 0, 4, cudaMemcpyHostToDevice},
        {cudaSuccess, array, 28, 3, host, 32, 4, 1, cudaMemcpyHostToDevice},
        {cudaSuccess, array, 0, 0, host, 0, 32, 1, cudaMemcpyHostToDevice}, // one row: no pitch
        {cudaErrorInvalidPitchValue, array, 0, 0, host, 0, 32, 2, cudaMemcpyHostToDevice},
        {cudaErrorInvalidValue, array, 32, 0, host, 32, 4, 1, cudaMemcpyHostToDevice},
        {cudaErrorInvalidValue, array, 4, 0, host, 32, 32, 1, cudaMemcpyHostToDevice},
        {cudaErrorInvalidValue, array, 0, 1, host, 32, 32, 4, cudaMemcpyHostToDevice},
        {cudaErrorInvalidValue, array, 0, SIZE_MAX, host, 32, 32, 4, cudaMemcpyHostToDevice},
        {cudaErrorInvalidValue, array, SIZE_MAX - 3, 0, host, 32, 32, 4, cudaMemcpyHostToDevice},
        {cudaErrorInvalidValue, array, 2, 0, host, 32, 4, 1, cudaMemcpyHostToDevice},
        {cudaErrorInvalidValue, array, 0, 0, host, 32, 6, 1, cudaMemcpyHostToDevice},
        {cudaErrorInvalidValue, array, 0, 0, NULL, 32, 32, 4, cudaMemcpyHostToDevice},
        {cudaErrorInvalidValue, array, 0, 0, host, 32, 32, 4, cudaMemcpyDeviceToDevice},
        {cudaErrorInvalidPitchValue, array, 0, 0, host, 16, 32, 1, cudaMemcpyHostToDevice},
        {cudaErrorInvalidPitchValue, array, 0, 0, host, SIZE_MAX, 32, 1, cudaMemcpyHostToDevice},
        {cudaErrorInvalidMemcpyDirection, array, 0, 0, host, 32, 32, 4, cudaMemcpyDeviceToHost},
        {cudaErrorInvalidMemcpyDirection, array, 0, 0, host, 32, 32, 4, 17},
        {cudaErrorInvalidResourceHandle, NULL, 0, 0, host, 32, 32, 4, cudaMemcpyHostToDevice},
        {cudaErrorInvalidResourceHandle, gone, 0, 0, host, 32, 32, 4, cudaMemcpyHostToDevice},
        {cudaErrorInvalidResourceHandle, (cudaArray_t)host, 0, 0, host, 32, 32, 4,
         cudaMemcpyHostToDevice},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        cudaError_t got =
            cudaMemcpy2DToArray(rows[i].array, rows[i].w, rows[i].h, rows[i].src, rows[i].pitch,
                                rows[i].width, rows[i].height, (enum cudaMemcpyKind)rows[i].kind);
        cr_assert(got == rows[i].expected, "row %zu: %d", i, (int)got);
        got = cudaMemcpy2DToArrayAsync(rows[i].array, rows[i].w, rows[i].h, rows[i].src,
                                       rows[i].pitch, rows[i].width, rows[i].height,
                                       (enum cudaMemcpyKind)rows[i].kind, 0);
        cr_assert(got == rows[i].expected, "row %zu, asynchronous: %d", i, (int)got);
    }
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpy2DFromArray(NULL, 32, array, 0, 0, 32, 4, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidMemcpyDirection,
           cudaMemcpy2DFromArray(host, 32, array, 0, 0, 32, 4, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpy2DFromArray(host, 32, array, 0, 0, 32, 5, cudaMemcpyDeviceToHost));
    // Different elements.
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpy2DArrayToArray(array, 0, 0, bytes, 0, 0, 32, 4, cudaMemcpyDeviceToDevice));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaMemcpy2DArrayToArray(array, 0, 0, gone, 0, 0, 32, 4, cudaMemcpyDeviceToDevice));
    EXPECT(cudaErrorInvalidMemcpyDirection,
           cudaMemcpy2DArrayToArray(array, 0, 0, array, 0, 0, 4, 1, (enum cudaMemcpyKind)9));
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(bytes));
}

// ---- bytes that run on from row to row ----

Test(arrays, linear_copies_wrap_at_rows)
{
    enum { W = 7, H = 9 };
    unsigned char *source = pattern(W * H), back[W * H], expected[W * H];
    cudaArray_t array = make(&u8, W, H), same = make(&u8, W, H), wide = make(&u8, 10, 7);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    for (size_t start = 0; start < W * H; start += 5) {
        for (size_t count = 0; start + count <= W * H; count += 3) {
            memset(expected, 0xEE, sizeof expected);
            OK(cudaMemcpyToArray(array, 0, 0, expected, sizeof expected, cudaMemcpyHostToDevice));
            memcpy(expected + start, source, count);
            OK(cudaMemcpyToArrayAsync(array, start % W, start / W, source, count,
                                      cudaMemcpyHostToDevice, stream));
            OK(cudaStreamSynchronize(stream));
            OK(cudaMemcpyFromArray(back, array, 0, 0, sizeof back, cudaMemcpyDeviceToHost));
            cr_assert(memcmp(back, expected, sizeof back) == 0, "%zu bytes at %zu", count, start);
            memset(back, 0, sizeof back);
            OK(cudaMemcpyFromArrayAsync(back, array, start % W, start / W, count,
                                        cudaMemcpyDeviceToHost, stream));
            OK(cudaStreamSynchronize(stream));
            cr_assert(memcmp(back, source, count) == 0, "%zu bytes from %zu", count, start);
        }
    }
    OK(cudaMemcpyToArray(array, 0, 0, source, W * H, cudaMemcpyDefault));
    OK(cudaMemcpyArrayToArray(same, 0, 0, array, 0, 0, W * H, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(back, same, 0, 0, W * H, cudaMemcpyDefault));
    cr_assert(memcmp(back, source, W * H) == 0);
    // Rows of different lengths: the bytes stay in order.
    OK(cudaMemcpyArrayToArray(wide, 3, 1, array, 2, 1, 50, cudaMemcpyDeviceToDevice));
    OK(cudaMemcpyFromArray(back, wide, 3, 1, 50, cudaMemcpyDeviceToHost));
    cr_assert(memcmp(back, source + W + 2, 50) == 0);
    // To the last byte, and not further.
    OK(cudaMemcpyToArray(array, W, H - 1, source, 0, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpyToArray(array, 0, 0, source, W * H + 1, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpyToArray(array, 1, 0, source, W * H, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpyToArray(array, W + 1, 0, source, 1, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpyToArray(array, 0, H, source, 1, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpyToArray(array, 0, 0, NULL, 1, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpyFromArray(NULL, array, 0, 0, 1, cudaMemcpyDeviceToHost));
    EXPECT(cudaErrorInvalidMemcpyDirection,
           cudaMemcpyFromArray(back, array, 0, 0, 1, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaMemcpyFromArray(back, NULL, 0, 0, 1, cudaMemcpyDeviceToHost));
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(same));
    OK(cudaFreeArray(wide));
    free(source);
}

// ---- three dimensions ----

Test(arrays, copies_in_three_dimensions)
{
    enum { W = 6, H = 5, D = 4, E = 16, SIZE = W * H * D * E };
    unsigned char *source = pattern(SIZE), *back = malloc(SIZE);
    cudaArray_t array = NULL, layered = NULL;
    OK(cudaMalloc3DArray(&array, &f32x4, extent3(W, H, D), 0));
    OK(cudaMalloc3DArray(&layered, &f32x4, extent3(W, H, D), cudaArrayLayered));
    // The extent counts elements of the array; a wrong host side in the kind is put right.
    static const enum cudaMemcpyKind in[] = {cudaMemcpyHostToDevice, cudaMemcpyHostToHost,
                                             cudaMemcpyDefault};
    static const enum cudaMemcpyKind out[] = {cudaMemcpyDeviceToHost, cudaMemcpyHostToHost,
                                              cudaMemcpyDefault};
    for (size_t k = 0; k < LENGTH(in); k++) {
        struct cudaMemcpy3DParms p = {0};
        p.srcPtr = (struct cudaPitchedPtr){source, W * E, W, H};
        p.dstArray = array;
        p.extent = extent3(W, H, D);
        p.kind = in[k];
        OK(cudaMemcpy3D(&p));
        p = (struct cudaMemcpy3DParms){0};
        p.srcArray = array;
        p.dstArray = layered;
        p.extent = extent3(W, H, D);
        p.kind = cudaMemcpyDeviceToDevice;
        OK(cudaMemcpy3DAsync(&p, 0));
        memset(back, 0, SIZE);
        p = (struct cudaMemcpy3DParms){0};
        p.srcArray = layered;
        p.dstPtr = (struct cudaPitchedPtr){back, W * E, W, H};
        p.extent = extent3(W, H, D);
        p.kind = out[k];
        OK(cudaMemcpy3D(&p));
        cr_assert(memcmp(source, back, SIZE) == 0, "kinds %zu", k);
    }
    // A part: positions are elements in arrays and bytes in memory.
    struct cudaMemcpy3DParms p = {0};
    unsigned char part[2 * 3 * 2 * E];
    p.srcArray = array;
    p.srcPos.x = 1, p.srcPos.y = 2, p.srcPos.z = 1;
    p.dstPtr = (struct cudaPitchedPtr){part, 2 * E, 2, 3};
    p.extent = extent3(2, 3, 2);
    p.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3D(&p));
    for (size_t z = 0; z < 2; z++) {
        for (size_t y = 0; y < 3; y++) {
            cr_assert(memcmp(part + (z * 3 + y) * 2 * E,
                             source + (((z + 1) * H + y + 2) * W + 1) * E, 2 * E) == 0);
        }
    }
    p.srcPos.x = 5;
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    p.srcPos.x = SIZE_MAX;
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    p.srcPos.x = 0;
    p.srcPos.z = 3;
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    p.srcPos.z = 0;
    p.dstPtr.pitch = E; // narrower than the rows
    EXPECT(cudaErrorInvalidPitchValue, cudaMemcpy3D(&p));
    p.dstPtr.pitch = 2 * E;
    p.srcPtr.ptr = source; // two sources
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    p.srcPtr.ptr = NULL;
    p.srcArray = NULL; // none
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    p.srcArray = (cudaArray_t)source;
    EXPECT(cudaErrorInvalidResourceHandle, cudaMemcpy3D(&p));
    p.srcArray = array;
    p.extent.width = 0;
    OK(cudaMemcpy3D(&p));
    cudaArray_t bytes = NULL;
    OK(cudaMalloc3DArray(&bytes, &u8, extent3(W, H, D), 0));
    p = (struct cudaMemcpy3DParms){0};
    p.srcArray = array;
    p.dstArray = bytes;
    p.extent = extent3(1, 1, 1);
    p.kind = cudaMemcpyDeviceToDevice;
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(&p));
    OK(cudaFreeArray(bytes));
    OK(cudaFreeArray(array));
    OK(cudaFreeArray(layered));
    free(source);
    free(back);
}

Test(arrays, copies_between_devices, .data = NEEDS("peers"))
{
    if (device_count() < 2) {
        cr_skip_test("needs two devices");
    }
    unsigned char *source = pattern(64), back[64] = {0};
    cudaArray_t first = make(&u8, 16, 4), second = NULL;
    OK(cudaMemcpyToArray(first, 0, 0, source, 64, cudaMemcpyHostToDevice));
    OK(cudaSetDevice(1));
    second = make(&u8, 16, 4);
    struct cudaMemcpy3DPeerParms p = {0};
    p.srcArray = first, p.srcDevice = 0;
    p.dstArray = second, p.dstDevice = 1;
    p.extent = extent3(16, 4, 1);
    OK(cudaMemcpy3DPeer(&p));
    OK(cudaMemcpyFromArray(back, second, 0, 0, 64, cudaMemcpyDeviceToHost));
    cr_assert(memcmp(source, back, 64) == 0);
    OK(cudaMemcpy3DPeerAsync(&p, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaFreeArray(first)); // from another device
    OK(cudaFreeArray(second));
    free(source);
}

// ---- mipmapped arrays and planes ----

Test(arrays, mipmapped_levels)
{
    cudaMipmappedArray_t mipmap = NULL;
    cudaArray_t level = NULL, again = NULL;
    OK(cudaMallocMipmappedArray(&mipmap, &f32, extent3(20, 9, 0), 100, 0));
    static const struct {
        size_t width, height;
    } sizes[] = {{20, 9}, {10, 4}, {5, 2}, {2, 1}, {1, 1}};
    for (unsigned i = 0; i < LENGTH(sizes); i++) {
        struct cudaExtent extent;
        OK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
        OK(cudaGetMipmappedArrayLevel(&again, mipmap, i));
        cr_assert(level == again);
        OK(cudaArrayGetInfo(NULL, &extent, NULL, level));
        cr_assert(extent.width == sizes[i].width && extent.height == sizes[i].height &&
                  extent.depth == 0);
        size_t row = extent.width * sizeof(float);
        unsigned char *bytes = pattern(row * extent.height);
        bytes[0] = (unsigned char)i;
        OK(cudaMemcpy2DToArray(level, 0, 0, bytes, row, row, extent.height,
                               cudaMemcpyHostToDevice));
        free(bytes);
    }
    for (unsigned i = 0; i < LENGTH(sizes); i++) { // no level overlaps another
        unsigned char first[4];
        OK(cudaGetMipmappedArrayLevel(&level, mipmap, i));
        OK(cudaMemcpy2DFromArray(first, 4, level, 0, 0, 4, 1, cudaMemcpyDeviceToHost));
        cr_assert(first[0] == i);
    }
    EXPECT(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&level, mipmap, 5));
    EXPECT(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(NULL, mipmap, 0));
    EXPECT(cudaErrorInvalidResourceHandle, cudaGetMipmappedArrayLevel(&level, NULL, 0));
    EXPECT(cudaErrorInvalidValue, cudaFreeArray(level)); // not what cudaMallocArray returned
    EXPECT(cudaErrorInvalidResourceHandle, cudaFreeMipmappedArray((cudaMipmappedArray_t)level));
    OK(cudaFreeMipmappedArray(mipmap));
    EXPECT(cudaErrorInvalidResourceHandle, cudaArrayGetInfo(NULL, NULL, NULL, level));
    EXPECT(cudaErrorInvalidResourceHandle, cudaFreeMipmappedArray(mipmap));
    OK(cudaFreeMipmappedArray(NULL));

    struct cudaExtent extent;
    OK(cudaMallocMipmappedArray(&mipmap, &u8, extent3(8, 8, 32), 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaGetMipmappedArrayLevel(&level, mipmap, 1));
    OK(cudaFreeMipmappedArray(mipmap));
    OK(cudaMallocMipmappedArray(&mipmap, &u8, extent3(8, 8, 32), 3, 0));
    OK(cudaGetMipmappedArrayLevel(&level, mipmap, 2));
    OK(cudaArrayGetInfo(NULL, &extent, NULL, level));
    cr_assert(extent.width == 2 && extent.height == 2 && extent.depth == 8);
    OK(cudaFreeMipmappedArray(mipmap));
    OK(cudaMallocMipmappedArray(&mipmap, &u8, extent3(8, 8, 32), 3, cudaArrayLayered));
    OK(cudaGetMipmappedArrayLevel(&level, mipmap, 2));
    OK(cudaArrayGetInfo(NULL, &extent, NULL, level));
    cr_assert(extent.width == 2 && extent.height == 2 && extent.depth == 32);
    OK(cudaFreeMipmappedArray(mipmap));
    EXPECT(cudaErrorInvalidValue, cudaMallocMipmappedArray(NULL, &u8, extent3(8, 8, 0), 1, 0));
    EXPECT(cudaErrorInvalidValue, cudaMallocMipmappedArray(&mipmap, NULL, extent3(8, 8, 0), 1, 0));
    EXPECT(cudaErrorInvalidValue, cudaMallocMipmappedArray(&mipmap, &u8, extent3(0, 8, 0), 1, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaMallocMipmappedArray(&mipmap, &u8, extent3(100000, 0, 0), 1, 0));
}

Test(arrays, planes)
{
    const struct cudaChannelFormatDesc nv12 = {8, 8, 8, 0, cudaChannelFormatKindNV12};
    struct cudaChannelFormatDesc desc;
    struct cudaExtent extent;
    cudaArray_t array = NULL, luma = NULL, chroma = NULL, none = NULL;
    unsigned char bytes[64] = {1, 2, 3}, back[64] = {0};
    OK(cudaMallocArray(&array, &nv12, 8, 8, 0));
    OK(cudaArrayGetPlane(&luma, array, 0));
    OK(cudaArrayGetPlane(&chroma, array, 1));
    OK(cudaArrayGetInfo(&desc, &extent, NULL, luma));
    cr_assert(desc.x == 8 && desc.y == 0 && extent.width == 8 && extent.height == 8);
    OK(cudaArrayGetInfo(&desc, &extent, NULL, chroma));
    cr_assert(desc.x == 8 && desc.y == 8 && desc.z == 0 && extent.width == 4 &&
              extent.height == 4 && desc.f == cudaChannelFormatKindUnsigned);
    OK(cudaMemcpy2DToArray(luma, 0, 0, bytes, 8, 8, 8, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2DFromArray(back, 8, luma, 0, 0, 8, 8, cudaMemcpyDeviceToHost));
    cr_assert(memcmp(bytes, back, 64) == 0);
    EXPECT(cudaErrorInvalidValue, cudaArrayGetPlane(&none, array, 2));
    EXPECT(cudaErrorInvalidValue, cudaArrayGetPlane(&none, luma, 0));
    EXPECT(cudaErrorInvalidValue, cudaArrayGetPlane(NULL, array, 0));
    EXPECT(cudaErrorInvalidResourceHandle, cudaArrayGetPlane(&none, NULL, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpy2DToArray(array, 0, 0, bytes, 8, 8, 8, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMallocArray(&none, &nv12, 7, 8, 0));
    OK(cudaFreeArray(array));
    EXPECT(cudaErrorInvalidResourceHandle, cudaArrayGetInfo(NULL, NULL, NULL, luma));
}

// ---- queries, freeing, accounting ----

Test(arrays, queries_and_stale_handles)
{
    struct cudaChannelFormatDesc desc;
    struct cudaArraySparseProperties sparse;
    cudaMipmappedArray_t mipmap = NULL;
    cudaArray_t array = make(&f32, 4, 4);
    OK(cudaArrayGetInfo(NULL, NULL, NULL, array));
    EXPECT(cudaErrorInvalidValue, cudaGetChannelDesc(NULL, array));
    EXPECT(cudaErrorInvalidResourceHandle, cudaGetChannelDesc(&desc, NULL));
    // Neither sparse nor mapped later.
    EXPECT(cudaErrorInvalidValue, cudaArrayGetSparseProperties(&sparse, array));
    EXPECT(cudaErrorInvalidValue, cudaArrayGetSparseProperties(NULL, array));
    OK(cudaMallocMipmappedArray(&mipmap, &f32, extent3(4, 4, 0), 1, 0));
    EXPECT(cudaErrorInvalidValue, cudaMipmappedArrayGetSparseProperties(&sparse, mipmap));
#if CUDART_VERSION >= 11060
    struct cudaArrayMemoryRequirements requirements;
    EXPECT(cudaErrorInvalidValue, cudaArrayGetMemoryRequirements(&requirements, array, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaMipmappedArrayGetMemoryRequirements(&requirements, mipmap, 0));
    EXPECT(cudaErrorInvalidDevice, cudaArrayGetMemoryRequirements(&requirements, array, 99));
#endif
    OK(cudaFreeMipmappedArray(mipmap));
    OK(cudaFreeArray(NULL));
    OK(cudaFreeArray(array));
    EXPECT(cudaErrorInvalidResourceHandle, cudaFreeArray(array));
    EXPECT(cudaErrorInvalidResourceHandle, cudaArrayGetInfo(&desc, NULL, NULL, array));
    EXPECT(cudaErrorInvalidResourceHandle, cudaFreeArray((cudaArray_t)&desc));
    EXPECT(cudaErrorInvalidValue, cudaFree(array)); // no pointer
    cudaArray_t other = make(&f32, 4, 4);
    cr_assert(other != array);
    OK(cudaDeviceReset());
    EXPECT(cudaErrorInvalidResourceHandle, cudaFreeArray(other));
}

Test(arrays, memory_is_accounted)
{
    size_t before, during, after, total;
    cudaArray_t array = NULL;
    cudaMipmappedArray_t mipmap = NULL;
    OK(cudaMemGetInfo(&before, &total));
    array = make(&f32x4, 1024, 1024);
    OK(cudaMallocMipmappedArray(&mipmap, &f32, extent3(1024, 1024, 0), 11, 0));
    OK(cudaMemGetInfo(&during, &total));
    cr_assert(before - during >= (16u << 20) + (4u << 20) * 4 / 3);
    OK(cudaFreeArray(array));
    OK(cudaFreeMipmappedArray(mipmap));
    OK(cudaMemGetInfo(&after, &total));
    cr_assert(after == before);
    array = NULL;
    EXPECT(cudaErrorMemoryAllocation,
           cudaMalloc3DArray(&array, &f32x4, extent3(16384, 16384, 16384), 0));
    cr_assert(array == NULL);
    OK(cudaMemGetInfo(&after, &total));
    cr_assert(after == before);
    cudaGetLastError();
}

// ---- in graphs ----

// Copies with arrays are captured like any other and read their memory when the graph runs.
Test(arrays, captured_copies)
{
    enum { W = 6, H = 5 };
    float source[H][W], back[H][W];
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    size_t count = 0;
    float *device = NULL;
    cudaArray_t first = make(&f32, W, H), second = make(&f32, W, H);
    OK(cudaMalloc((void **)&device, sizeof source));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    OK(cudaMemcpy2DToArrayAsync(first, 0, 0, device, sizeof source[0], sizeof source[0], H,
                                cudaMemcpyDeviceToDevice, stream));
    struct cudaMemcpy3DParms p = {0};
    p.srcArray = first;
    p.dstArray = second;
    p.srcPos.y = 1;
    p.extent = extent3(W, H - 1, 1);
    p.kind = cudaMemcpyDeviceToDevice;
    OK(cudaMemcpy3DAsync(&p, stream));
    OK(cudaStreamEndCapture(stream, &graph));
    OK(cudaGraphGetNodes(graph, NULL, &count));
    cr_assert(count == 2);
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (int round = 0; round < 3; round++) {
        for (int y = 0; y < H; y++) {
            for (int x = 0; x < W; x++) {
                source[y][x] = (float)(round * 100 + y * 10 + x);
            }
        }
        OK(cudaMemcpy(device, source, sizeof source, cudaMemcpyHostToDevice));
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaStreamSynchronize(stream));
        OK(cudaMemcpyFromArray(back, second, 0, 0, sizeof back[0] * (H - 1),
                               cudaMemcpyDeviceToHost));
        cr_assert(memcmp(back, source[1], sizeof back[0] * (H - 1)) == 0, "round %d", round);
    }
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeArray(first));
    OK(cudaFreeArray(second));
    OK(cudaFree(device));
}

Test(arrays, copy_nodes)
{
    enum { W = 6, H = 5 };
    float source[H][W], back[H][W];
    cudaStream_t stream;
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    cudaGraphNode_t in = NULL, out = NULL;
    cudaArray_t array = make(&f32, W, H);
    for (int i = 0; i < W * H; i++) {
        source[i / W][i % W] = (float)i;
    }
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaGraphCreate(&graph, 0));
    struct cudaMemcpy3DParms p = {0}, got;
    p.srcPtr = (struct cudaPitchedPtr){source, sizeof source[0], W, H};
    p.dstArray = array;
    p.extent = extent3(W, H, 1);
    p.kind = cudaMemcpyHostToDevice;
    OK(cudaGraphAddMemcpyNode(&in, graph, NULL, 0, &p));
    OK(cudaGraphMemcpyNodeGetParams(in, &got));
    cr_assert(got.dstArray == array && got.srcArray == NULL && got.srcPtr.ptr == source &&
              got.extent.width == W && got.extent.height == H);
    p = (struct cudaMemcpy3DParms){0};
    p.srcArray = array;
    p.dstPtr = (struct cudaPitchedPtr){back, sizeof back[0], W, H};
    p.extent = extent3(W, H, 1);
    p.kind = cudaMemcpyDeviceToHost;
    OK(cudaGraphAddMemcpyNode(&out, graph, &in, 1, &p));
    OK(cudaGraphInstantiateWithFlags(&exec, graph, 0));
    for (int round = 0; round < 2; round++) {
        memset(back, 0, sizeof back);
        source[2][3] += 0.5f;
        OK(cudaGraphLaunch(exec, stream));
        OK(cudaStreamSynchronize(stream));
        cr_assert(memcmp(source, back, sizeof back) == 0);
    }
    p.extent.width = W + 1;
    EXPECT(cudaErrorInvalidValue, cudaGraphAddMemcpyNode(&out, graph, &in, 1, &p));
    OK(cudaGraphExecDestroy(exec));
    OK(cudaGraphDestroy(graph));
    OK(cudaStreamDestroy(stream));
    OK(cudaFreeArray(array));
}

static void *churn(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    unsigned char source[256], back[256];
    for (int i = 0; i < 300; i++) {
        cudaArray_t array = NULL;
        size_t width = 1 + (seed = seed * 1103515245 + 12345) / 65536 % 16;
        memset(source, (int)(seed >> 8), sizeof source);
        if (cudaMallocArray(&array, &u8, width, 16, 0) ||
            cudaMemcpyToArray(array, 0, 0, source, width * 16, cudaMemcpyHostToDevice) ||
            cudaMemcpyFromArray(back, array, 0, 0, width * 16, cudaMemcpyDeviceToHost) ||
            memcmp(source, back, width * 16) != 0 || cudaFreeArray(array)) {
            return argument;
        }
    }
    return NULL;
}

Test(arrays, many_threads)
{
    pthread_t threads[4];
    for (uintptr_t i = 0; i < LENGTH(threads); i++) {
        cr_assert(pthread_create(&threads[i], NULL, churn, (void *)(i + 1)) == 0);
    }
    for (size_t i = 0; i < LENGTH(threads); i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        cr_assert(failed == NULL);
    }
}
