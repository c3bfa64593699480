// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills of every linear shape and direction, default kinds, symbols, and their errors.
#include "conformance.h"

TestSuite(copies, .timeout = 60);

Test(copies, round_trip_of_every_kind)
{
    enum { SIZE = 100000 };
    unsigned char *host = malloc(SIZE), *back = malloc(SIZE);
    void *a = NULL, *b = NULL;
    OK(cudaMalloc(&a, SIZE));
    OK(cudaMalloc(&b, SIZE));
    for (int i = 0; i < SIZE; i++) {
        host[i] = (unsigned char)(i * 7 + 3);
    }
    for (int explicit_kind = 0; explicit_kind < 2; explicit_kind++) {
        memset(back, 0, SIZE);
        OK(cudaMemset(b, 0, SIZE));
        OK(cudaMemcpy(a, host, SIZE, explicit_kind ? cudaMemcpyHostToDevice : cudaMemcpyDefault));
        OK(cudaMemcpy(b, a, SIZE, explicit_kind ? cudaMemcpyDeviceToDevice : cudaMemcpyDefault));
        OK(cudaMemcpy(back, b, SIZE, explicit_kind ? cudaMemcpyDeviceToHost : cudaMemcpyDefault));
        cr_assert(memcmp(host, back, SIZE) == 0);
    }
    memset(back, 0, SIZE);
    OK(cudaMemcpy(back, host, SIZE, cudaMemcpyHostToHost));
    cr_assert(memcmp(host, back, SIZE) == 0);
    OK(cudaMemcpy(NULL, NULL, 0, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidMemcpyDirection, cudaMemcpy(a, host, 4, (enum cudaMemcpyKind)9));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(NULL, host, 4, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(a, NULL, 4, cudaMemcpyHostToDevice));
    // A destination known to be too small, and an address that was never device memory.
    EXPECT(cudaErrorInvalidValue, cudaMemcpy(a, host, SIZE * 1000u, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidValue, cudaMemcpy((void *)64, host, 4, cudaMemcpyHostToDevice));
    OK(cudaFree(a));
    OK(cudaFree(b));
    free(host);
    free(back);
}

// The source of a pageable copy may change as soon as the call is back, also while the stream is
// held by earlier work.
KERNEL_TEST(copies, pageable_source_is_taken_at_once)
{
    cudaStream_t stream;
    int *flag = NULL, *device = NULL, *sink = NULL, back = 0, source = 1234;
    kernels_register();
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMalloc((void **)&device, sizeof *device));
    OK(cudaMalloc((void **)&sink, sizeof *sink));
    *(volatile int *)flag = 0;
    void *arguments[] = {&flag, &sink};
    OK(kernel_launch(KERNEL_WAIT_FLAG, 1, 1, arguments, 0, stream));
    OK(cudaMemcpyAsync(device, &source, sizeof source, cudaMemcpyHostToDevice, stream));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    source = 0;
    *(volatile int *)flag = 1;
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(&back, device, sizeof back, cudaMemcpyDeviceToHost));
    cr_assert(back == 1234, "%d", back);
}

Test(copies, unpinned_stack_array_on_the_null_stream)
{
    char in[8] = "infinir", out[8] = "";
    void *p = NULL;
    OK(cudaMalloc(&p, sizeof in));
    OK(cudaMemcpyAsync(p, in, sizeof in, cudaMemcpyHostToDevice, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(out, p, sizeof out, cudaMemcpyDeviceToHost));
    cr_assert(memcmp(in, out, sizeof in) == 0);
}

Test(copies, memset_is_seen_by_a_copy)
{
    unsigned char out[16];
    void *p = NULL;
    cudaStream_t stream;
    OK(cudaMalloc(&p, sizeof out));
    OK(cudaMemset(p, 0x5a, sizeof out));
    OK(cudaMemcpy(out, p, sizeof out, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < sizeof out; i++) {
        cr_assert(out[i] == 0x5a);
    }
    OK(cudaStreamCreate(&stream));
    OK(cudaMemsetAsync(p, 0xa5, sizeof out, stream));
    OK(cudaStreamSynchronize(stream));
    OK(cudaMemcpy(out, p, sizeof out, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < sizeof out; i++) {
        cr_assert(out[i] == 0xa5);
    }
    OK(cudaMemset(p, 0x1ff, 1)); // only the low byte counts
    OK(cudaMemset(NULL, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaMemset(NULL, 0, 4));
    EXPECT(cudaErrorInvalidValue, cudaMemset(p, 0, 1u << 30));
    OK(cudaStreamDestroy(stream));
}

Test(copies, two_dimensions)
{
    enum { W = 37, H = 11, HOST_PITCH = 50 };
    unsigned char host[H * HOST_PITCH], back[H * HOST_PITCH];
    void *p = NULL;
    size_t pitch = 0;
    OK(cudaMallocPitch(&p, &pitch, W, H));
    for (size_t i = 0; i < sizeof host; i++) {
        host[i] = (unsigned char)(i * 13);
    }
    memset(back, 0xee, sizeof back);
    OK(cudaMemset2D(p, pitch, 0x11, W, H));
    OK(cudaMemcpy2D(p, pitch, host, HOST_PITCH, W, H, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(back, HOST_PITCH, p, pitch, W, H, cudaMemcpyDefault));
    for (int y = 0; y < H; y++) {
        for (int x = 0; x < HOST_PITCH; x++) {
            unsigned char want = x < W ? host[y * HOST_PITCH + x] : 0xee;
            cr_assert(back[y * HOST_PITCH + x] == want, "(%d, %d)", x, y);
        }
    }
    EXPECT(cudaErrorInvalidPitchValue,
           cudaMemcpy2D(p, pitch, host, W - 1, W, H, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidPitchValue,
           cudaMemcpy2D(p, W - 1, host, HOST_PITCH, W, H, cudaMemcpyHostToDevice));
    OK(cudaMemcpy2D(p, pitch, host, HOST_PITCH, 0, H, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidMemcpyDirection,
           cudaMemcpy2D(p, pitch, host, HOST_PITCH, W, H, (enum cudaMemcpyKind)17));
    OK(cudaMemset2DAsync(p, pitch, 0x42, W, H, 0));
    OK(cudaMemcpy2DAsync(back, HOST_PITCH, p, pitch, W, H, cudaMemcpyDeviceToHost, 0));
    OK(cudaDeviceSynchronize());
    cr_assert(back[0] == 0x42 && back[W - 1] == 0x42 && back[W] == 0xee);
    OK(cudaFree(p));
}

Test(copies, three_dimensions)
{
    enum { W = 20, H = 5, D = 3 };
    unsigned char host[D * H * W], back[D * H * W];
    struct cudaPitchedPtr box;
    struct cudaExtent extent = {W, H, D};
    for (size_t i = 0; i < sizeof host; i++) {
        host[i] = (unsigned char)(i + 1);
    }
    memset(back, 0, sizeof back);
    OK(cudaMalloc3D(&box, extent));
    struct cudaMemcpy3DParms copy;
    memset(&copy, 0, sizeof copy);
    copy.srcPtr.ptr = host;
    copy.srcPtr.pitch = W;
    copy.srcPtr.xsize = W;
    copy.srcPtr.ysize = H;
    copy.dstPtr = box;
    copy.extent = extent;
    copy.kind = cudaMemcpyHostToDevice;
    OK(cudaMemcpy3D(&copy));
    // Back, one byte and one row and one slice in.
    memset(&copy, 0, sizeof copy);
    copy.srcPtr = box;
    copy.srcPos.x = 1;
    copy.srcPos.y = 1;
    copy.srcPos.z = 1;
    copy.dstPtr.ptr = back;
    copy.dstPtr.pitch = W;
    copy.dstPtr.xsize = W;
    copy.dstPtr.ysize = H;
    copy.extent.width = W - 1;
    copy.extent.height = H - 1;
    copy.extent.depth = D - 1;
    copy.kind = cudaMemcpyDeviceToHost;
    OK(cudaMemcpy3DAsync(&copy, 0));
    OK(cudaDeviceSynchronize());
    for (int z = 0; z < D - 1; z++) {
        for (int y = 0; y < H - 1; y++) {
            for (int x = 0; x < W - 1; x++) {
                cr_assert(back[(z * H + y) * W + x] == host[((z + 1) * H + y + 1) * W + x + 1],
                          "(%d, %d, %d)", x, y, z);
            }
        }
    }
    OK(cudaMemset3D(box, 9, extent));
    unsigned char one = 0;
    OK(cudaMemcpy(&one, (char *)box.ptr + (2 * H + 4) * box.pitch + W - 1, 1,
                  cudaMemcpyDeviceToHost));
    cr_assert(one == 9);
    EXPECT(cudaErrorInvalidValue, cudaMemcpy3D(NULL));
    OK(cudaFree(box.ptr));
}

Test(copies, peers, .data = NEEDS("peers"))
{
    int last = device_count() - 1, value = 77, back = 0;
    void *a = NULL, *b = NULL;
    OK(cudaSetDevice(0));
    OK(cudaMalloc(&a, sizeof value));
    OK(cudaSetDevice(last));
    OK(cudaMalloc(&b, sizeof value));
    OK(cudaMemcpy(a, &value, sizeof value, cudaMemcpyHostToDevice));
    OK(cudaMemcpyPeer(b, last, a, 0, sizeof value));
    OK(cudaMemcpy(&back, b, sizeof back, cudaMemcpyDefault));
    cr_assert(back == 77);
    OK(cudaMemset(b, 0, sizeof value));
    OK(cudaMemcpyPeerAsync(b, last, a, 0, sizeof value, 0));
    OK(cudaDeviceSynchronize());
    OK(cudaMemcpy(&back, b, sizeof back, cudaMemcpyDefault));
    cr_assert(back == 77);
    EXPECT(cudaErrorInvalidDevice, cudaMemcpyPeer(b, 99, a, 0, sizeof value));
}

Test(copies, symbols, .data = NEEDS("ptx"))
{
    int value = 0;
    void *address = NULL;
    size_t size = 0;
    kernels_register();
    OK(cudaMemcpyFromSymbol(&value, &device_value_key, sizeof value, 0, cudaMemcpyDeviceToHost));
    cr_assert(value == 41, "the initial value of the PTX, got %d", value);
    OK(cudaMemcpyFromSymbol(&value, &constant_value_key, sizeof value, 0, cudaMemcpyDefault));
    cr_assert(value == 7);
    value = 100;
    OK(cudaMemcpyToSymbol(&constant_value_key, &value, sizeof value, 0, cudaMemcpyHostToDevice));
    OK(cudaGetSymbolAddress(&address, &device_value_key));
    OK(cudaGetSymbolSize(&size, &device_value_key));
    cr_assert(address != NULL && size == sizeof(int));
    value = 60;
    OK(cudaMemcpy(address, &value, sizeof value, cudaMemcpyHostToDevice));
    int *out = NULL, result[2] = {0, 0};
    OK(cudaMalloc((void **)&out, sizeof result));
    void *arguments[] = {&out};
    OK(kernel_launch(KERNEL_VARIABLES, 1, 1, arguments, 0, 0));
    OK(cudaMemcpy(result, out, sizeof result, cudaMemcpyDeviceToHost));
    cr_assert(result[0] == 60 && result[1] == 100, "%d %d", result[0], result[1]);
    OK(cudaMemcpyFromSymbolAsync(&value, &device_value_key, sizeof value, 0, cudaMemcpyDeviceToHost,
                                 0));
    OK(cudaDeviceSynchronize());
    cr_assert(value == 61);
    EXPECT(cudaErrorInvalidValue,
           cudaMemcpyToSymbol(&device_value_key, &value, sizeof value, 2, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidSymbol,
           cudaMemcpyToSymbol(&value, &value, sizeof value, 0, cudaMemcpyHostToDevice));
    EXPECT(cudaErrorInvalidSymbol, cudaGetSymbolAddress(&address, &value));
    EXPECT(cudaErrorInvalidMemcpyDirection,
           cudaMemcpyToSymbol(&device_value_key, &value, sizeof value, 0, cudaMemcpyDeviceToHost));
}

// Every device has its own copy of a __device__ variable.
Test(copies, symbols_are_per_device, .data = NEEDS("ptx"))
{
    int count = device_count(), value;
    kernels_register();
    for (int i = 0; i < count; i++) {
        value = 1000 + i;
        OK(cudaSetDevice(i));
        OK(cudaMemcpyToSymbol(&device_value_key, &value, sizeof value, 0, cudaMemcpyHostToDevice));
    }
    for (int i = 0; i < count; i++) {
        OK(cudaSetDevice(i));
        OK(cudaMemcpyFromSymbol(&value, &device_value_key, sizeof value, 0,
                                cudaMemcpyDeviceToHost));
        cr_assert(value == 1000 + i, "device %d: %d", i, value);
    }
}
