// SPDX-License-Identifier: Apache-2.0
//
// Functions of the driver API as programs get them from the runtime (cudaGetDriverEntryPoint):
// which names and versions are found, and that what is found works: contexts, modules, launches,
// memory.
#include "driver_functions.h"

TestSuite(driver, .timeout = 60, .data = NEEDS("driver"));

static const char text[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".visible .global .align 4 .u32 counter = 41;\n"
                           ".visible .entry add(.param .u64 p, .param .u32 n) {\n"
                           "  .reg .u64 %rd<2>; .reg .u32 %r<4>;\n"
                           "  ld.param.u64 %rd0, [p]; ld.param.u32 %r0, [n];\n"
                           "  atom.global.add.u32 %r1, [%rd0], %r0; ret; }\n";

Test(driver, names_that_are_not_there)
{
    cudaError_t error;
    void *function = NULL;
    cr_assert(find("cuFrobnicate", &error) == NULL && !error);
    cr_assert(find("", &error) == NULL && !error);
    cr_assert(find("cuMemAlloc_v2", &error) == NULL && !error, "names have no suffix");
#if CUDART_VERSION >= 12000
    EXPECT(cudaErrorInvalidValue, cudaGetDriverEntryPoint(NULL, &function, 0, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGetDriverEntryPoint("cuInit", NULL, 0, NULL));
    EXPECT(cudaErrorInvalidValue, cudaGetDriverEntryPoint("cuInit", &function, 77, NULL));
    OK(cudaGetDriverEntryPoint("cuInit", &function, cudaEnableLegacyStream, NULL));
    cr_assert(function != NULL);
#else
    EXPECT(cudaErrorInvalidValue, cudaGetDriverEntryPoint(NULL, &function, 0));
    EXPECT(cudaErrorInvalidValue, cudaGetDriverEntryPoint("cuInit", NULL, 0));
    EXPECT(cudaErrorSymbolNotFound, cudaGetDriverEntryPoint("cuFrobnicate", &function, 0));
#endif
}

#if CUDART_VERSION >= 12050
Test(driver, versions)
{
    enum cudaDriverEntryPointQueryResult result;
    void *function = NULL, *other = NULL;
    OK(cudaGetDriverEntryPointByVersion("cuMemCreate", &function, 10020, 0, &result));
    cr_assert(function && result == cudaDriverEntryPointSuccess);
    OK(cudaGetDriverEntryPointByVersion("cuMemCreate", &function, 10010, 0, &result));
    cr_assert(!function && result == cudaDriverEntryPointVersionNotSufficent);
    OK(cudaGetDriverEntryPointByVersion("cuMemFrobnicate", &function, 12000, 0, &result));
    cr_assert(!function && result == cudaDriverEntryPointSymbolNotFound);
    // The two forms of one name are different functions.
    OK(cudaGetDriverEntryPointByVersion("cuCtxGetDevice", &function, 12000, 0, NULL));
    OK(cudaGetDriverEntryPointByVersion("cuCtxGetDevice", &other, 13000, 0, NULL));
    cr_assert(function && other && function != other);
    // … and so are the twins with another default stream.
    OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &function, 12000,
                                        cudaEnablePerThreadDefaultStream, NULL));
    OK(cudaGetDriverEntryPointByVersion("cuLaunchKernel", &other, 12000, cudaEnableLegacyStream,
                                        NULL));
    cr_assert(function && other && function != other);
    OK(cudaGetDriverEntryPointByVersion("cuInit", &other, 12000, cudaEnablePerThreadDefaultStream,
                                        NULL));
    cr_assert(other != NULL, "what has no twin is found as it is");
    EXPECT(cudaErrorInvalidValue,
           cudaGetDriverEntryPointByVersion("cuInit", &function, 99000, 0, &result));
}

cudaError_t cudaGetDriverEntryPointByVersion_ptsz(const char *, void **, unsigned,
                                                  unsigned long long,
                                                  enum cudaDriverEntryPointQueryResult *);

Test(driver, per_thread_default_stream)
{
    void *function = NULL, *twin = NULL, *same = NULL;
    OK(cudaGetDriverEntryPointByVersion("cuMemcpyHtoD", &function, 12000, cudaEnableDefault, NULL));
    OK(cudaGetDriverEntryPointByVersion_ptsz("cuMemcpyHtoD", &twin, 12000, cudaEnableDefault,
                                             NULL));
    OK(cudaGetDriverEntryPointByVersion("cuMemcpyHtoD", &same, 12000,
                                        cudaEnablePerThreadDefaultStream, NULL));
    cr_assert(twin == same && twin != function);
    OK(cudaGetDriverEntryPointByVersion_ptsz("cuMemcpyHtoD", &same, 12000, cudaEnableLegacyStream,
                                             NULL));
    cr_assert(same == function);
}

// What PyTorch, NCCL and CUTLASS ask for.
Test(driver, what_clients_ask_for)
{
    static const struct {
        const char *name;
        unsigned version;
    } rows[] = {
        {"cuDeviceGet", 2000},
        {"cuDeviceGetAttribute", 2000},
        {"cuGetErrorString", 6000},
        {"cuGetErrorName", 6000},
        {"cuMemGetAddressRange", 3020},
        {"cuCtxGetCurrent", 4000},
        {"cuCtxSetCurrent", 4000},
        {"cuCtxGetDevice", 2000},
        {"cuPointerGetAttribute", 4000},
        {"cuLaunchKernel", 4000},
        {"cuLaunchKernelEx", 11060},
        {"cuMemAddressReserve", 10020},
        {"cuMemAddressFree", 10020},
        {"cuMemCreate", 10020},
        {"cuMemGetAllocationGranularity", 10020},
        {"cuMemExportToShareableHandle", 10020},
        {"cuMemImportFromShareableHandle", 10020},
        {"cuMemMap", 10020},
        {"cuMemRelease", 10020},
        {"cuMemRetainAllocationHandle", 11000},
        {"cuMemSetAccess", 10020},
        {"cuMemUnmap", 10020},
        {"cuMemGetAllocationPropertiesFromHandle", 10020},
        {"cuMemsetD32Async", 3020},
        {"cuStreamWriteValue32", 8000},
        {"cuTensorMapEncodeTiled", 12000},
        {"cuTensorMapEncodeIm2col", 12000},
        {"cuMulticastCreate", 12010},
        {"cuGetProcAddress", 11030},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        enum cudaDriverEntryPointQueryResult result;
        void *function = NULL;
        OK(cudaGetDriverEntryPointByVersion(rows[i].name, &function, rows[i].version,
                                            cudaEnableDefault, &result));
        cr_assert(function && result == cudaDriverEntryPointSuccess, "%s", rows[i].name);
    }
}

Test(driver, not_supported_says_so)
{
    size_t granularity;
    CUmulticastObjectProp prop = {0};
    void *function = NULL;
    OK(cudaGetDriverEntryPointByVersion("cuMulticastGetGranularity", &function, 12010, 0, NULL));
    CU_EXPECT(CUDA_ERROR_NOT_SUPPORTED,
              ((PFN_cuMulticastGetGranularity_v12010)function)(&granularity, &prop, 0));
}
#endif

Test(driver, export_tables_are_unknown)
{
    const void *table = &table;
    cudaUUID_t id = {{1, 2, 3}};
    cr_assert(cudaGetExportTable(&table, &id) != cudaSuccess && table == NULL);
    EXPECT(cudaErrorInvalidValue, cudaGetExportTable(NULL, &id));
    EXPECT(cudaErrorInvalidValue, cudaGetExportTable(&table, NULL));
}

Test(driver, errors_have_names)
{
    const char *string = NULL;
    CU_OK(get_cuGetErrorName()(CUDA_ERROR_OUT_OF_MEMORY, &string));
    cr_assert(strcmp(string, "CUDA_ERROR_OUT_OF_MEMORY") == 0);
    CU_OK(get_cuGetErrorString()(CUDA_ERROR_OUT_OF_MEMORY, &string));
    cr_assert(strcmp(string, "out of memory") == 0);
    CU_OK(get_cuGetErrorString()(CUDA_SUCCESS, &string));
    cr_assert(strcmp(string, "no error") == 0);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuGetErrorString()((CUresult)12345, &string));
    cr_assert(string == NULL);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuGetErrorName()(CUDA_SUCCESS, NULL));
}

Test(driver, failures_are_no_runtime_errors)
{
    CUdeviceptr ptr;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAlloc()(&ptr, 0));
    OK(cudaPeekAtLastError());
}

Test(driver, devices)
{
    int count = 0, version = 0, value = 0;
    char name[256], id[32];
    size_t total = 0;
    CUdevice device = -1;
    struct cudaDeviceProp prop;
    CU_OK(get_cuInit()(0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuInit()(1));
    CU_OK(get_cuDriverGetVersion()(&version));
    cr_assert(version >= CUDART_VERSION);
    CU_OK(get_cuDeviceGetCount()(&count));
    cr_assert(count == device_count());
    CU_OK(get_cuDeviceGet()(&device, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_DEVICE, get_cuDeviceGet()(&device, count));
    OK(cudaGetDeviceProperties(&prop, 0));
    CU_OK(get_cuDeviceGetName()(name, sizeof name, device));
    cr_assert(strcmp(name, prop.name) == 0);
    CU_OK(get_cuDeviceGetName()(name, 4, device));
    cr_assert(strlen(name) == 3);
    CU_OK(get_cuDeviceTotalMem()(&total, device));
    cr_assert(total == prop.totalGlobalMem);
    CU_OK(get_cuDeviceGetPCIBusId()(id, sizeof id, device));
    CU_OK(get_cuDeviceGetAttribute()(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device));
    cr_assert(value == 32);
    CU_OK(get_cuDeviceGetAttribute()(
        &value, CU_DEVICE_ATTRIBUTE_VIRTUAL_ADDRESS_MANAGEMENT_SUPPORTED, device));
    cr_assert(value == 1);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuDeviceGetAttribute()(&value, (CUdevice_attribute)9999, device));
    CU_EXPECT(CUDA_ERROR_INVALID_DEVICE,
              get_cuDeviceGetAttribute()(&value, CU_DEVICE_ATTRIBUTE_WARP_SIZE, count));
}

Test(driver, contexts)
{
    CUcontext context = NULL, same = NULL, current = NULL;
    CUdeviceptr ptr;
    unsigned flags = 0;
    int active = -1, device = -1;
    CU_OK(get_cuInit()(0));
    CU_OK(get_cuCtxGetCurrent()(&current));
    cr_assert(current == NULL, "nothing was done on the device yet");
    CU_OK(get_cuDevicePrimaryCtxGetState()(0, &flags, &active));
    cr_assert(active == 0);
    CU_OK(get_cuDevicePrimaryCtxRetain()(&context, 0));
    CU_OK(get_cuDevicePrimaryCtxRetain()(&same, 0));
    cr_assert(context && context == same);
    CU_OK(get_cuDevicePrimaryCtxGetState()(0, &flags, &active));
    cr_assert(active == 1);
    CU_OK(get_cuCtxSetCurrent()(context));
    CU_OK(get_cuCtxGetCurrent()(&current));
    cr_assert(current == context);
    CU_OK(get_cuCtxSetCurrent()(NULL));
    CU_OK(get_cuCtxGetCurrent()(&current));
    cr_assert(current == NULL);
    CU_EXPECT(CUDA_ERROR_INVALID_CONTEXT, get_cuCtxPopCurrent()(&current));
    CU_EXPECT(CUDA_ERROR_INVALID_CONTEXT, get_cuMemAlloc()(&ptr, 16));
    CU_OK(get_cuCtxPushCurrent()(context));
    if (device_count() > 1) {
        CUcontext second = NULL;
        CU_OK(get_cuDevicePrimaryCtxRetain()(&second, 1));
        cr_assert(second != context);
        CU_OK(get_cuCtxPushCurrent()(second));
        OK(cudaGetDevice(&device));
        cr_assert(device == 1, "both APIs agree");
        CU_OK(get_cuCtxPopCurrent()(&current));
        cr_assert(current == second);
        OK(cudaSetDevice(1));
        CU_OK(get_cuCtxGetCurrent()(&current));
        cr_assert(current == second);
        CU_OK(get_cuCtxSetCurrent()(context));
        CU_OK(get_cuDevicePrimaryCtxRelease()(1));
    }
    OK(cudaGetDevice(&device));
    cr_assert(device == 0);
    CU_EXPECT(CUDA_ERROR_INVALID_CONTEXT, get_cuCtxSetCurrent()((CUcontext)(uintptr_t)0x1230));
    CU_OK(get_cuDevicePrimaryCtxRelease()(0));
    CU_OK(get_cuDevicePrimaryCtxRelease()(0));
    CU_EXPECT(CUDA_ERROR_INVALID_CONTEXT, get_cuDevicePrimaryCtxRelease()(0));
    CU_EXPECT(CUDA_ERROR_INVALID_DEVICE, get_cuDevicePrimaryCtxRetain()(&context, 99));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuDevicePrimaryCtxRetain()(NULL, 0));
}

Test(driver, modules_and_launches, .data = NEEDS("ptx"))
{
    CUmodule module = NULL;
    CUfunction add = NULL;
    CUdeviceptr out = 0, counter = 0;
    size_t size = 0;
    unsigned n = 3;
    int value = 0;
    OK(cudaFree(NULL));
    CU_OK(get_cuModuleLoadData()(&module, text));
    CU_OK(get_cuModuleGetFunction()(&add, module, "add"));
    CU_OK(get_cuModuleGetGlobal()(&counter, &size, module, "counter"));
    cr_assert(size == 4 && read_back(counter) == 41);
    CU_EXPECT(CUDA_ERROR_NOT_FOUND, get_cuModuleGetFunction()(&add, module, "sub"));
    CU_EXPECT(CUDA_ERROR_NOT_FOUND, get_cuModuleGetGlobal()(&counter, &size, module, "add"));
    CU_OK(get_cuMemAlloc()(&out, 4));
    CU_OK(get_cuMemsetD32()(out, 100, 1));
    void *params[] = {&out, &n};
    CU_OK(get_cuLaunchKernel()(add, 2, 1, 1, 8, 1, 1, 0, NULL, params, NULL));
    cr_assert(read_back(out) == 148);
    struct {
        CUdeviceptr p;
        unsigned n;
    } packed = {out, 5};
    size = 12;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CU_OK(get_cuLaunchKernel()(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    cr_assert(read_back(out) == 153);
    size = 8; // one argument is missing
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuLaunchKernel()(add, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuLaunchKernel()(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, extra));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuLaunchKernel()(add, 0, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CU_EXPECT(CUDA_ERROR_INVALID_HANDLE, get_cuLaunchKernel()((CUfunction)(uintptr_t)64, 1, 1, 1, 1,
                                                              1, 1, 0, NULL, params, NULL));
    CU_OK(get_cuFuncGetAttribute()(&value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, add));
    cr_assert(value == 1024);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuFuncGetAttribute()(&value, (CUfunction_attribute)99, add));
    CU_OK(get_cuFuncSetAttribute()(add, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1024));
    CU_OK(get_cuOccupancyMaxActiveBlocksPerMultiprocessor()(&value, add, 128, 0));
    cr_assert(value > 0);
    CU_OK(get_cuModuleUnload()(module));
    CU_EXPECT(CUDA_ERROR_INVALID_HANDLE, get_cuModuleUnload()(module));
    CU_EXPECT(CUDA_ERROR_INVALID_HANDLE,
              get_cuLaunchKernel()(add, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CU_OK(get_cuMemFree()(out));
    CU_EXPECT(CUDA_ERROR_INVALID_PTX, get_cuModuleLoadData()(&module, "nonsense"));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuModuleLoadData()(NULL, text));
}

Test(driver, linker, .data = NEEDS("ptx"))
{
    CUlinkState state = NULL;
    CUmodule module = NULL;
    void *image = NULL;
    size_t size = 0;
    char log[256] = "";
    CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *values[] = {log, (void *)(uintptr_t)sizeof log};
    OK(cudaFree(NULL));
    CU_OK(get_cuLinkCreate()(2, options, values, &state));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuLinkComplete()(state, &image, &size));
    CU_OK(get_cuLinkAddData()(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)text, sizeof text, "add",
                              0, NULL, NULL));
    CU_OK(get_cuLinkComplete()(state, &image, &size));
    cr_assert(image && size > 0);
    CU_OK(get_cuModuleLoadDataEx()(&module, image, 0, NULL, NULL));
    CU_OK(get_cuLinkDestroy()(state));
    CU_EXPECT(CUDA_ERROR_INVALID_HANDLE, get_cuLinkDestroy()(state));
    CU_OK(get_cuModuleUnload()(module));
    // Two texts, one of which calls what the other defines.
    static const char caller[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                 ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
                                 ".visible .entry k(.param .u64 p) {\n"
                                 "  .reg .u64 %rd0; .reg .u32 %r<2>;\n"
                                 "  ld.param.u64 %rd0, [p]; mov.u32 %r0, 21;\n"
                                 "  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r0;\n"
                                 "    call (b), twice, (a); ld.param.b32 %r1, [b]; }\n"
                                 "  st.global.u32 [%rd0], %r1; ret; }\n";
    static const char callee[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                                 ".visible .func (.param .b32 r) twice(.param .b32 x) {\n"
                                 "  .reg .u32 %r0; ld.param.u32 %r0, [x]; add.u32 %r0, %r0, %r0;\n"
                                 "  st.param.b32 [r], %r0; ret; }\n";
    CUfunction k = NULL;
    CUdeviceptr out = 0;
    CU_OK(get_cuMemAlloc()(&out, 4));
    values[1] = (void *)(uintptr_t)sizeof log;
    CU_OK(get_cuLinkCreate()(2, options, values, &state));
    CU_OK(get_cuLinkAddData()(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)caller, sizeof caller,
                              "caller", 0, NULL, NULL));
    CU_OK(get_cuLinkAddData()(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t)callee, sizeof callee,
                              "callee", 0, NULL, NULL));
    CU_EXPECT(CUDA_ERROR_NO_BINARY_FOR_GPU,
              get_cuLinkAddData()(state, CU_JIT_INPUT_CUBIN, (void *)(uintptr_t)callee, 8, "cubin",
                                  0, NULL, NULL));
    CU_OK(get_cuLinkComplete()(state, &image, &size));
    CU_OK(get_cuModuleLoadData()(&module, image));
    CU_OK(get_cuLinkDestroy()(state));
    CU_OK(get_cuModuleGetFunction()(&k, module, "k"));
    void *params[] = {&out};
    CU_OK(get_cuLaunchKernel()(k, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    cr_assert(read_back(out) == 42);
    CU_OK(get_cuModuleUnload()(module));
    values[1] = (void *)(uintptr_t)sizeof log;
    CU_OK(get_cuLinkCreate()(2, options, values, &state));
    CU_OK(get_cuLinkAddData()(state, CU_JIT_INPUT_PTX, (void *)(uintptr_t) "wrong", 6, "wrong", 0,
                              NULL, NULL));
    CU_EXPECT(CUDA_ERROR_INVALID_PTX, get_cuLinkComplete()(state, &image, &size));
    cr_assert(strlen(log) > 0);
    CU_OK(get_cuLinkDestroy()(state));
}

Test(driver, memory)
{
    CUdeviceptr ptr = 0, base = 0;
    size_t size = 0;
    unsigned host[16];
    unsigned short halves[8];
    OK(cudaFree(NULL));
    CU_OK(get_cuMemAlloc()(&ptr, 1000));
    CU_OK(get_cuMemGetAddressRange()(&base, &size, ptr + 999));
    cr_assert(base == ptr && size == 1000);
    CU_EXPECT(CUDA_ERROR_NOT_FOUND, get_cuMemGetAddressRange()(&base, &size, (CUdeviceptr)64));
    CU_OK(get_cuMemsetD32()(ptr, 0x01020304, 16));
    CU_OK(get_cuMemcpyDtoH()(host, ptr, sizeof host));
    cr_assert(host[0] == 0x01020304 && host[15] == 0x01020304);
    CU_OK(get_cuMemsetD16()(ptr + 2, 0x0506, 1));
    CU_OK(get_cuMemcpyDtoH()(halves, ptr, sizeof halves));
    cr_assert(halves[0] == 0x0304 && halves[1] == 0x0506 && halves[2] == 0x0304);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemsetD32()(ptr + 2, 0, 1));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemsetD32()(ptr, 0, 251));
    CU_OK(get_cuMemsetD32()(ptr, 0, 250));
    CU_OK(get_cuMemsetD32Async()(ptr, 9, 2, NULL));
    OK(cudaDeviceSynchronize());
    for (int i = 0; i < 16; i++) {
        host[i] = (unsigned)i;
    }
    CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                          .srcHost = host,
                          .srcPitch = 16,
                          .srcXInBytes = 4,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                          .dstDevice = ptr,
                          .dstPitch = 32,
                          .WidthInBytes = 8,
                          .Height = 2};
    CU_OK(get_cuMemcpy2D()(&copy));
    cr_assert(read_back(ptr) == 5 && read_back(ptr + 4) == 6 && read_back(ptr + 32) == 9);
    copy.srcPitch = 8; // narrower than x and width
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemcpy2D()(&copy));
    CU_OK(get_cuMemcpyHtoD()(ptr + 8, host, 8));
    cr_assert(read_back(ptr + 12) == 1);
    CU_OK(get_cuCtxSetCurrent()(NULL));
    CU_EXPECT(CUDA_ERROR_INVALID_CONTEXT, get_cuMemsetD32()(ptr, 0, 1));
    CU_OK(get_cuMemFree()(ptr)); // giving back needs no context
    OK(cudaSetDevice(0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemFree()(ptr));
}

Test(driver, pointer_attributes)
{
    CUdeviceptr ptr = 0;
    unsigned type = 0, managed = 9;
    int device = -1;
    CUcontext context = NULL, primary = NULL;
    void *host = NULL, *start = NULL;
    size_t size = 0;
    int stack = 0;
    CU_OK(get_cuMemAlloc()(&ptr, 4096));
    CU_OK(get_cuDevicePrimaryCtxRetain()(&primary, 0));
    CU_OK(get_cuPointerGetAttribute()(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, ptr + 5));
    cr_assert(type == CU_MEMORYTYPE_DEVICE);
    CU_OK(get_cuPointerGetAttribute()(&context, CU_POINTER_ATTRIBUTE_CONTEXT, ptr));
    cr_assert(context == primary);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuPointerGetAttribute()(&host, CU_POINTER_ATTRIBUTE_HOST_POINTER, ptr));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuPointerGetAttribute()(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                          (CUdeviceptr)(uintptr_t)&stack));
    CUpointer_attribute attributes[] = {
        CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
        CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR,
        CU_POINTER_ATTRIBUTE_RANGE_SIZE};
    void *data[] = {&type, &managed, &device, &start, &size};
    CU_OK(get_cuPointerGetAttributes()(5, attributes, data, ptr + 100));
    cr_assert(type == CU_MEMORYTYPE_DEVICE && managed == 0 && device == 0 &&
              start == (void *)(uintptr_t)ptr && size == 4096);
    CU_OK(get_cuPointerGetAttributes()(5, attributes, data, (CUdeviceptr)(uintptr_t)&stack));
    cr_assert(type == 0 && start == NULL && size == 0, "nothing is known of it");
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuPointerGetAttributes()(0, attributes, data, ptr));
    CU_OK(get_cuMemFree()(ptr));
}
