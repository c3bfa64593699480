// SPDX-License-Identifier: Apache-2.0
//
// Kernel launches: both launch interfaces, every limit, attributes, occupancy, shared memory,
// registration and its end.
#include "conformance.h"
#include "ptx_module.h"

TestSuite(launches, .timeout = 60);

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, struct CUstream_st *s);
cudaError_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *stream);

KERNEL_TEST(launches, runs_and_passes_arguments)
{
    enum { N = 1000 };
    int *data = NULL, host[N], n = N, value = 17;
    kernels_register();
    OK(cudaMalloc((void **)&data, sizeof host));
    void *fill[] = {&data, &value, &n};
    OK(kernel_launch(KERNEL_FILL, 8, 128, fill, 0, 0));
    value = 99; // arguments are read before the call is back
    void *add[] = {&data, &n};
    OK(kernel_launch(KERNEL_ADD_ONE, 8, 128, add, 0, 0));
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        cr_assert(host[i] == 18, "%d: %d", i, host[i]);
    }
}

KERNEL_TEST(launches, geometry)
{
    unsigned *out = NULL, host[24];
    kernels_register();
    OK(cudaMalloc((void **)&out, sizeof host));
    void *arguments[] = {&out};
    OK(cudaLaunchKernel(kernel_stub(KERNEL_GEOMETRY), dim(4, 3, 2), dim(8, 2, 2), arguments, 0, 0));
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < 24; i++) {
        cr_assert(host[i] == (8u | 4u << 16), "block %d: 0x%x", i, host[i]);
    }
}

KERNEL_TEST(launches, limits)
{
    struct cudaDeviceProp p;
    int value = 0;
    void *none[1] = {NULL};
    kernels_register();
    const void *empty = kernel_stub(KERNEL_EMPTY);
    OK(cudaGetDeviceProperties(&p, 0));
    EXPECT(cudaErrorInvalidConfiguration,
           cudaLaunchKernel(empty, dim(0, 1, 1), dim(1, 1, 1), none, 0, 0));
    EXPECT(cudaErrorInvalidConfiguration,
           cudaLaunchKernel(empty, dim(1, 1, 1), dim(1, 0, 1), none, 0, 0));
    EXPECT(cudaErrorInvalidConfiguration,
           cudaLaunchKernel(empty, dim(1, 1, 1), dim((unsigned)p.maxThreadsPerBlock + 1, 1, 1),
                            none, 0, 0));
    EXPECT(cudaErrorInvalidConfiguration,
           cudaLaunchKernel(empty, dim(1, 1, 1), dim(1, 1, (unsigned)p.maxThreadsDim[2] + 1), none,
                            0, 0));
    EXPECT(cudaErrorInvalidConfiguration,
           cudaLaunchKernel(empty, dim(1, (unsigned)p.maxGridSize[1] + 1, 1), dim(1, 1, 1), none, 0,
                            0));
    EXPECT(cudaErrorInvalidValue,
           cudaLaunchKernel(empty, dim(1, 1, 1), dim(1, 1, 1), none, p.sharedMemPerBlock + 1, 0));
    EXPECT(cudaErrorInvalidDeviceFunction,
           cudaLaunchKernel(&value, dim(1, 1, 1), dim(1, 1, 1), none, 0, 0));
    EXPECT(cudaErrorInvalidResourceHandle, cudaLaunchKernel(empty, dim(1, 1, 1), dim(1, 1, 1), none,
                                                            0, (cudaStream_t)(uintptr_t)0x1234567));
    OK(cudaLaunchKernel(empty, dim(1, 1, 1), dim((unsigned)p.maxThreadsPerBlock, 1, 1), none, 0,
                        0));
    OK(cudaDeviceSynchronize());
}

Test(launches, launch_bounds_hold, .data = NEEDS("ptx"))
{
    kernels_register();
    OK(kernel_launch(KERNEL_LIMITED, 1, 64, NULL, 0, 0));
    cudaError_t error = kernel_launch(KERNEL_LIMITED, 1, 65, NULL, 0, 0);
    cr_assert(error == cudaErrorInvalidValue || error == cudaErrorLaunchOutOfResources, "%s",
              cudaGetErrorName(error));
    struct cudaFuncAttributes a;
    OK(cudaFuncGetAttributes(&a, kernel_stub(KERNEL_LIMITED)));
    cr_assert(a.maxThreadsPerBlock == 64);
    OK(cudaDeviceSynchronize());
}

Test(launches, dynamic_shared_memory, .data = NEEDS("ptx"))
{
    enum { N = 96 };
    int *out = NULL, host[N];
    kernels_register();
    OK(cudaMalloc((void **)&out, sizeof host));
    void *arguments[] = {&out};
    OK(kernel_launch(KERNEL_DYNAMIC, 1, N, arguments, N * sizeof(int), 0));
    OK(cudaMemcpy(host, out, sizeof host, cudaMemcpyDeviceToHost));
    for (int i = 0; i < N; i++) {
        cr_assert(host[i] == N * (N - 1) / 2, "%d: %d", i, host[i]);
    }
    struct cudaDeviceProp p;
    OK(cudaGetDeviceProperties(&p, 0));
    if (p.sharedMemPerBlockOptin > p.sharedMemPerBlock) {
        OK(cudaFuncSetAttribute(kernel_stub(KERNEL_DYNAMIC),
                                cudaFuncAttributeMaxDynamicSharedMemorySize,
                                (int)p.sharedMemPerBlockOptin));
        OK(kernel_launch(KERNEL_DYNAMIC, 1, N, arguments, p.sharedMemPerBlockOptin, 0));
        OK(cudaDeviceSynchronize());
    }
    EXPECT(cudaErrorInvalidValue, cudaFuncSetAttribute(kernel_stub(KERNEL_DYNAMIC),
                                                       cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                       (int)p.sharedMemPerBlockOptin + 1));
}

Test(launches, function_attributes, .data = NEEDS("ptx attributes"))
{
    struct cudaFuncAttributes a;
    int value;
    kernels_register();
    memset(&a, 0x5a, sizeof a);
    OK(cudaFuncGetAttributes(&a, kernel_stub(KERNEL_ADD_ONE)));
    cr_assert(a.maxThreadsPerBlock == 1024 && a.sharedSizeBytes == 0 && a.numRegs > 0);
    cr_assert(a.ptxVersion == 80, "the .target of the PTX, got %d", a.ptxVersion);
    EXPECT(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&a, &value));
    EXPECT(cudaErrorInvalidValue, cudaFuncGetAttributes(NULL, kernel_stub(KERNEL_ADD_ONE)));
    OK(cudaFuncSetCacheConfig(kernel_stub(KERNEL_ADD_ONE), cudaFuncCachePreferShared));
    EXPECT(cudaErrorInvalidValue,
           cudaFuncSetAttribute(kernel_stub(KERNEL_ADD_ONE), (enum cudaFuncAttribute)77, 1));
}

// ptxVersion is that of the code, binaryVersion that of the device.
Test(launches, versions_of_a_function, .data = NEEDS("ptx"))
{
    static const char text[] = ".version 7.0\n.target sm_75\n.address_size 64\n"
                               ".visible .entry old() { ret; }\n";
    static const char *const names[] = {"old"};
    struct cudaFuncAttributes a;
    int major = 0, minor = 0;
    struct ptx_module *module = ptx_module_register(text, names, 1);
    cr_assert(module != NULL);
    ptx_module_end(module);
    OK(cudaFuncGetAttributes(&a, ptx_module_stub(module, 0)));
    OK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    OK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, 0));
    cr_assert(a.ptxVersion == 75, "ptxVersion %d", a.ptxVersion);
    cr_assert(a.binaryVersion == 10 * major + minor, "binaryVersion %d", a.binaryVersion);
}

Test(launches, occupancy, .data = NEEDS("ptx"))
{
    struct cudaDeviceProp p;
    int blocks = 0, fewer = 0;
    kernels_register();
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_stub(KERNEL_EMPTY), 128, 0));
    cr_assert(blocks >= 1 && blocks * 128 <= p.maxThreadsPerMultiProcessor);
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&fewer, kernel_stub(KERNEL_EMPTY), 128,
                                                     p.sharedMemPerBlock));
    cr_assert(fewer >= 1 && fewer <= blocks);
    cr_assert((size_t)fewer * p.sharedMemPerBlock <= p.sharedMemPerMultiprocessor);
    EXPECT(cudaErrorInvalidValue,
           cudaOccupancyMaxActiveBlocksPerMultiprocessor(NULL, kernel_stub(KERNEL_EMPTY), 128, 0));
    EXPECT(cudaErrorInvalidValue,
           cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_stub(KERNEL_EMPTY), 0, 0));
    EXPECT(cudaErrorInvalidDeviceFunction,
           cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, &blocks, 128, 0));
}

Test(launches, cooperative_limit, .data = NEEDS("ptx cooperative"))
{
    struct cudaDeviceProp p;
    int blocks = 0;
    void *none[1] = {NULL};
    kernels_register();
    OK(cudaGetDeviceProperties(&p, 0));
    OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel_stub(KERNEL_EMPTY), 256, 0));
    unsigned fits = (unsigned)(blocks * p.multiProcessorCount);
    OK(cudaLaunchCooperativeKernel(kernel_stub(KERNEL_EMPTY), dim(fits, 1, 1), dim(256, 1, 1), none,
                                   0, 0));
    EXPECT(cudaErrorCooperativeLaunchTooLarge,
           cudaLaunchCooperativeKernel(kernel_stub(KERNEL_EMPTY), dim(fits + 1, 1, 1),
                                       dim(256, 1, 1), none, 0, 0));
    OK(cudaDeviceSynchronize());
}

Test(launches, configuration_stack)
{
    dim3 grid, block;
    size_t shared;
    cudaStream_t stream = NULL;
    EXPECT(cudaErrorMissingConfiguration,
           __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    cr_assert(__cudaPushCallConfiguration(dim(1, 2, 3), dim(4, 5, 6), 7, NULL) == 0);
    cr_assert(__cudaPushCallConfiguration(dim(10, 20, 30), dim(40, 50, 60), 70,
                                          cudaStreamPerThread) == 0);
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    cr_assert(grid.x == 10 && block.z == 60 && shared == 70 && stream == cudaStreamPerThread);
    OK(__cudaPopCallConfiguration(&grid, &block, &shared, &stream));
    cr_assert(grid.x == 1 && grid.y == 2 && grid.z == 3 && block.x == 4 && block.y == 5 &&
              block.z == 6 && shared == 7 && stream == NULL);
    EXPECT(cudaErrorMissingConfiguration,
           __cudaPopCallConfiguration(&grid, &block, &shared, &stream));
}

#if CUDART_VERSION >= 11080
KERNEL_TEST(launches, extended_launch)
{
    enum { N = 100 };
    int *data = NULL, host[N], n = N;
    kernels_register();
    OK(cudaMalloc((void **)&data, sizeof host));
    OK(cudaMemset(data, 0, sizeof host));
    cudaLaunchConfig_t config;
    memset(&config, 0, sizeof config);
    config.gridDim = dim(1, 1, 1);
    config.blockDim = dim(128, 1, 1);
    void *arguments[] = {&data, &n};
    OK(cudaLaunchKernelExC(&config, kernel_stub(KERNEL_ADD_ONE), arguments));
    cudaLaunchAttribute attribute;
    memset(&attribute, 0, sizeof attribute);
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
    config.attrs = &attribute;
    config.numAttrs = 1;
    OK(cudaLaunchKernelExC(&config, kernel_stub(KERNEL_ADD_ONE), arguments));
    OK(cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost));
    cr_assert(host[0] == 2 && host[N - 1] == 2);
    EXPECT(cudaErrorInvalidValue,
           cudaLaunchKernelExC(NULL, kernel_stub(KERNEL_ADD_ONE), arguments));
}
#endif

#if CUDART_VERSION >= 12000
cudaError_t __cudaGetKernel(cudaKernel_t *out, const void *host_function);
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void **arguments,
                               size_t shared, cudaStream_t stream);

KERNEL_TEST(launches, by_kernel_handle)
{
    cudaKernel_t kernel = NULL;
    int *data = NULL, n = 1, host = 0, wrong;
    kernels_register();
    OK(cudaMalloc((void **)&data, sizeof host));
    OK(cudaMemset(data, 0, sizeof host));
    OK(__cudaGetKernel(&kernel, kernel_stub(KERNEL_ADD_ONE)));
    void *arguments[] = {&data, &n};
    OK(__cudaLaunchKernel(kernel, dim(1, 1, 1), dim(1, 1, 1), arguments, 0, 0));
    OK(cudaLaunchKernel((const void *)kernel, dim(1, 1, 1), dim(1, 1, 1), arguments, 0, 0));
    OK(cudaMemcpy(&host, data, sizeof host, cudaMemcpyDeviceToHost));
    cr_assert(host == 2);
    EXPECT(cudaErrorInvalidDeviceFunction, __cudaGetKernel(&kernel, &wrong));
    cr_assert(__cudaLaunchKernel(NULL, dim(1, 1, 1), dim(1, 1, 1), arguments, 0, 0) != cudaSuccess);
}
#endif

KERNEL_TEST(launches, unregistered_kernels_are_gone)
{
    kernels_register();
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, 0));
    OK(cudaDeviceSynchronize());
    const void *gone = kernel_stub(KERNEL_EMPTY);
    void *none[1] = {NULL};
    kernels_unregister();
    EXPECT(cudaErrorInvalidDeviceFunction,
           cudaLaunchKernel(gone, dim(1, 1, 1), dim(1, 1, 1), none, 0, 0));
    void *p = NULL;
    OK(cudaMalloc(&p, 16)); // calls after an unregistration go on working
    OK(cudaFree(p));
    kernels_register();
    OK(kernel_launch(KERNEL_EMPTY, 1, 1, NULL, 0, 0));
    OK(cudaDeviceSynchronize());
}

static void *launches(void *result)
{
    int *data = NULL, n = 64, host[64];
    void *arguments[] = {&data, &n};
    *(int *)result = 0;
    if (cudaMalloc((void **)&data, sizeof host) || cudaMemset(data, 0, sizeof host)) {
        return NULL;
    }
    for (int i = 0; i < 200; i++) {
        if (kernel_launch(KERNEL_ADD_ONE, 1, 64, arguments, 0, cudaStreamPerThread)) {
            return NULL;
        }
    }
    if (cudaStreamSynchronize(cudaStreamPerThread) ||
        cudaMemcpy(host, data, sizeof host, cudaMemcpyDeviceToHost)) {
        return NULL;
    }
    *(int *)result = host[0] == 200 && host[63] == 200;
    return NULL;
}

KERNEL_TEST(launches, from_many_threads)
{
    pthread_t threads[8];
    int right[8];
    kernels_register();
    for (int i = 0; i < 8; i++) {
        cr_assert(pthread_create(&threads[i], NULL, launches, &right[i]) == 0);
    }
    for (int i = 0; i < 8; i++) {
        cr_assert(pthread_join(threads[i], NULL) == 0);
    }
    for (int i = 0; i < 8; i++) {
        cr_assert(right[i] == 1, "thread %d", i);
    }
}

#if CUDART_VERSION < 13000
static void CUDART_CB hold(void *flag)
{
    while (__atomic_load_n((int *)flag, __ATOMIC_ACQUIRE) == 0) {
    }
}

static void multi(struct cudaLaunchParams *list, void **arguments, cudaStream_t *streams)
{
    for (int i = 0; i < 2; i++) {
        list[i] = (struct cudaLaunchParams){.func = (void *)kernel_stub(KERNEL_ADD_ONE),
                                            .gridDim = dim(1, 1, 1),
                                            .blockDim = dim(32, 1, 1),
                                            .args = arguments + 2 * i,
                                            .stream = streams[i]};
    }
}

Test(launches, cooperative_on_several_devices, .data = NEEDS("ptx cooperative"))
{
    int *data[2], n = 32, value = 0, can = 0, flag = 0;
    cudaStream_t streams[2], second;
    struct cudaLaunchParams list[2], bad[2];
    kernels_register();
    OK(cudaDeviceGetAttribute(&can, cudaDevAttrCooperativeMultiDeviceLaunch, 0));
    cr_assert(can == 1);
    for (int i = 0; i < 2; i++) {
        OK(cudaSetDevice(i));
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        OK(cudaMalloc((void **)&data[i], sizeof(int) * 32));
        OK(cudaMemset(data[i], 0, sizeof(int) * 32));
        OK(cudaDeviceSynchronize());
    }
    OK(cudaStreamCreate(&second));
    OK(cudaSetDevice(0));
    void *arguments[] = {&data[0], &n, &data[1], &n};
    multi(list, arguments, streams);

    // The kernel of device 1 waits for what stands before that of device 0, unless told not to.
    OK(cudaLaunchHostFunc(streams[0], hold, &flag));
    OK(cudaLaunchCooperativeKernelMultiDevice(list, 2, 0));
    EXPECT(cudaErrorNotReady, cudaStreamQuery(streams[1]));
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    OK(cudaStreamSynchronize(streams[1]));
    OK(cudaMemcpy(&value, data[0] + 31, sizeof value, cudaMemcpyDeviceToHost));
    cr_assert(value == 1, "after the wait both kernels have run");
    flag = 0;
    OK(cudaLaunchHostFunc(streams[0], hold, &flag));
    OK(cudaLaunchCooperativeKernelMultiDevice(list, 2,
                                              cudaCooperativeLaunchMultiDeviceNoPreSync |
                                                  cudaCooperativeLaunchMultiDeviceNoPostSync));
    OK(cudaStreamSynchronize(streams[1]));
    OK(cudaMemcpy(&value, data[1] + 31, sizeof value, cudaMemcpyDeviceToHost));
    cr_assert(value == 2);
    __atomic_store_n(&flag, 1, __ATOMIC_RELEASE);
    OK(cudaStreamSynchronize(streams[0]));
    int device = -1;
    OK(cudaGetDevice(&device));
    cr_assert(device == 0);

    EXPECT(cudaErrorInvalidValue, cudaLaunchCooperativeKernelMultiDevice(NULL, 2, 0));
    EXPECT(cudaErrorInvalidValue, cudaLaunchCooperativeKernelMultiDevice(list, 0, 0));
    EXPECT(cudaErrorInvalidValue, cudaLaunchCooperativeKernelMultiDevice(list, 2, 4));
    memcpy(bad, list, sizeof bad);
    bad[1].stream = 0;
    EXPECT(cudaErrorInvalidValue, cudaLaunchCooperativeKernelMultiDevice(bad, 2, 0));
    bad[1].stream = (cudaStream_t)(void *)0x1234;
    EXPECT(cudaErrorInvalidResourceHandle, cudaLaunchCooperativeKernelMultiDevice(bad, 2, 0));
    bad[0].stream = second; // two on one device
    bad[1].stream = streams[1];
    EXPECT(cudaErrorInvalidDevice, cudaLaunchCooperativeKernelMultiDevice(bad, 2, 0));
    memcpy(bad, list, sizeof bad);
    bad[1].blockDim = dim(16, 1, 1);
    EXPECT(cudaErrorInvalidValue, cudaLaunchCooperativeKernelMultiDevice(bad, 2, 0));
    bad[0].gridDim = bad[1].gridDim = dim(1u << 30, 1, 1);
    bad[0].blockDim = bad[1].blockDim;
    EXPECT(cudaErrorCooperativeLaunchTooLarge, cudaLaunchCooperativeKernelMultiDevice(bad, 2, 0));
}
#endif

#if CUDART_VERSION < 12000
cudaError_t cudaProfilerInitialize(const char *config, const char *output, cudaOutputMode_t mode);

Test(launches, profiler_is_not_there)
{
    EXPECT(cudaErrorProfilerDisabled, cudaProfilerInitialize("c", "o", cudaCSV));
    EXPECT(cudaErrorInvalidValue, cudaProfilerInitialize(NULL, "o", cudaCSV));
    EXPECT(cudaErrorInvalidValue, cudaProfilerInitialize("c", NULL, cudaCSV));
    EXPECT(cudaErrorInvalidValue, cudaProfilerInitialize("c", "o", (cudaOutputMode_t)2));
}
#endif
