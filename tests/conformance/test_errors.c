// SPDX-License-Identifier: Apache-2.0
//
// Versions, error names and texts, the last error of a thread, sticky errors after a fault.
#include "conformance.h"

TestSuite(errors, .timeout = 30);

Test(errors, versions)
{
    int runtime = 0, driver = 0;
    OK(cudaRuntimeGetVersion(&runtime));
    OK(cudaDriverGetVersion(&driver));
    cr_assert(runtime / 1000 == CUDART_VERSION / 1000, "runtime version %d", runtime);
    cr_assert(driver >= runtime, "driver %d, runtime %d", driver, runtime);
    EXPECT(cudaErrorInvalidValue, cudaRuntimeGetVersion(NULL));
    EXPECT(cudaErrorInvalidValue, cudaDriverGetVersion(NULL));
}

Test(errors, names_and_texts)
{
    static const struct {
        cudaError_t code;
        const char *name, *text;
    } rows[] = {
        {cudaSuccess, "cudaSuccess", "no error"},
        {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
        {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
        {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
         "invalid configuration argument"},
        {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
        {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
        {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
        {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
         "an illegal memory access was encountered"},
        {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
        {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        cr_assert(strcmp(cudaGetErrorName(rows[i].code), rows[i].name) == 0, "%s", rows[i].name);
        cr_assert(strcmp(cudaGetErrorString(rows[i].code), rows[i].text) == 0, "%s: %s",
                  rows[i].name, cudaGetErrorString(rows[i].code));
    }
    static const int unknown[] = {-1, 12345, 998, 10001};
    for (size_t i = 0; i < LENGTH(unknown); i++) {
        cr_assert(strcmp(cudaGetErrorName((cudaError_t)unknown[i]), "unrecognized error code") ==
                  0);
        cr_assert(strcmp(cudaGetErrorString((cudaError_t)unknown[i]), "unrecognized error code") ==
                  0);
    }
}

Test(errors, last_error_is_kept_until_read)
{
    void *p = NULL;
    OK(cudaGetLastError());
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(-1));
    OK(cudaMalloc(&p, 16)); // success does not clear it
    OK(cudaFree(p));
    EXPECT(cudaErrorInvalidDevice, cudaPeekAtLastError());
    EXPECT(cudaErrorInvalidDevice, cudaGetLastError());
    OK(cudaGetLastError());
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(10000));
    EXPECT(cudaErrorInvalidValue, cudaGetDeviceCount(NULL));
    EXPECT(cudaErrorInvalidValue, cudaGetLastError()); // the newer one replaces it
}

static void *other_thread(void *result)
{
    *(cudaError_t *)result = cudaGetLastError();
    return NULL;
}

Test(errors, last_error_belongs_to_the_thread)
{
    pthread_t thread;
    cudaError_t seen = cudaErrorUnknown;
    EXPECT(cudaErrorInvalidDevice, cudaSetDevice(-1));
    cr_assert(pthread_create(&thread, NULL, other_thread, &seen) == 0);
    cr_assert(pthread_join(thread, NULL) == 0);
    OK(seen);
    EXPECT(cudaErrorInvalidDevice, cudaGetLastError());
}

// NotReady is a state, not a failure: it does not become the last error.
KERNEL_TEST(errors, not_ready_is_no_last_error)
{
    cudaStream_t stream;
    kernels_register();
    int *flag, *out;
    OK(cudaMallocHost((void **)&flag, sizeof *flag));
    OK(cudaMalloc((void **)&out, sizeof *out));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    *(volatile int *)flag = 0;
    void *arguments[] = {&flag, &out};
    OK(kernel_launch(KERNEL_WAIT_FLAG, 1, 1, arguments, 0, stream));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    OK(cudaGetLastError());
    *(volatile int *)flag = 5;
    OK(cudaStreamSynchronize(stream));
    int result = 0;
    OK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
    cr_assert(result == 5);
}

Test(errors, fault_is_sticky, .data = NEEDS("ptx faults"))
{
    void *p = NULL;
    kernels_register();
    OK(kernel_launch(KERNEL_FAULT, 1, 1, NULL, 0, 0));
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT(cudaErrorIllegalAddress, cudaMalloc(&p, 16));
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    EXPECT(cudaErrorIllegalAddress, cudaGetLastError());
    cr_assert(strcmp(cudaGetErrorName(cudaErrorIllegalAddress), "cudaErrorIllegalAddress") == 0);
}

Test(errors, trap_is_a_launch_failure, .data = NEEDS("ptx faults"))
{
    kernels_register();
    OK(kernel_launch(KERNEL_TRAP, 1, 1, NULL, 0, 0));
    EXPECT(cudaErrorLaunchFailure, cudaDeviceSynchronize());
    EXPECT(cudaErrorLaunchFailure, cudaDeviceSynchronize());
}

Test(errors, channel_description)
{
    struct cudaChannelFormatDesc d =
        cudaCreateChannelDesc(32, 16, 8, 4, cudaChannelFormatKindFloat);
    cr_assert(d.x == 32 && d.y == 16 && d.z == 8 && d.w == 4 && d.f == cudaChannelFormatKindFloat);
}
