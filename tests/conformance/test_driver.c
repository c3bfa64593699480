// SPDX-License-Identifier: Apache-2.0
//
// Functions of the driver API as programs get them from the runtime (cudaGetDriverEntryPoint):
// which names and versions are found, and that what is found works: contexts, modules, launches,
// memory, virtual memory management, values as signals, tensor maps.
#include "conformance.h"

#include <cuda.h>
#include <cudaTypedefs.h>
#include <fcntl.h>
#include <unistd.h>

TestSuite(driver, .timeout = 60);

#define MIB ((size_t)1 << 20)

static const char text[] = ".version 7.0\n.target sm_80\n.address_size 64\n"
                           ".visible .global .align 4 .u32 counter = 41;\n"
                           ".visible .entry add(.param .u64 p, .param .u32 n) {\n"
                           "  .reg .u64 %rd<2>; .reg .u32 %r<4>;\n"
                           "  ld.param.u64 %rd0, [p]; ld.param.u32 %r0, [n];\n"
                           "  atom.global.add.u32 %r1, [%rd0], %r0; ret; }\n";

static void *find(const char *name, cudaError_t *ret_error)
{
    void *function = &function;
#if CUDART_VERSION >= 12000
    enum cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSuccess;
    *ret_error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &result);
    cr_assert(*ret_error || (function != NULL) == (result == cudaDriverEntryPointSuccess));
#else
    *ret_error = cudaGetDriverEntryPoint(name, &function, cudaEnableDefault);
    if (*ret_error == cudaErrorSymbolNotFound) {
        *ret_error = cudaSuccess;
        cr_assert(function == NULL);
    }
#endif
    return *ret_error ? NULL : function;
}

// The function under its name of the test, found once.
#define DRIVER(name_, version_)                                                      \
    static PFN_##name_##_v##version_ get_##name_(void)                               \
    {                                                                                \
        cudaError_t error_;                                                          \
        void *function_ = find(#name_, &error_);                                     \
        cr_assert(function_ && !error_, "%s: %s", #name_, cudaGetErrorName(error_)); \
        return (PFN_##name_##_v##version_)function_;                                 \
    }
DRIVER(cuGetErrorName, 6000)
DRIVER(cuGetErrorString, 6000)
DRIVER(cuInit, 2000)
DRIVER(cuDriverGetVersion, 2020)
DRIVER(cuDeviceGet, 2000)
DRIVER(cuDeviceGetCount, 2000)
DRIVER(cuDeviceGetName, 2000)
DRIVER(cuDeviceGetAttribute, 2000)
DRIVER(cuDeviceTotalMem, 3020)
DRIVER(cuDeviceGetPCIBusId, 4010)
DRIVER(cuDevicePrimaryCtxRetain, 7000)
DRIVER(cuDevicePrimaryCtxRelease, 11000)
DRIVER(cuDevicePrimaryCtxGetState, 7000)
DRIVER(cuCtxGetCurrent, 4000)
DRIVER(cuCtxSetCurrent, 4000)
DRIVER(cuCtxPushCurrent, 4000)
DRIVER(cuCtxPopCurrent, 4000)
DRIVER(cuModuleLoadData, 2000)
DRIVER(cuModuleLoadDataEx, 2010)
DRIVER(cuModuleUnload, 2000)
DRIVER(cuModuleGetFunction, 2000)
DRIVER(cuModuleGetGlobal, 3020)
DRIVER(cuFuncGetAttribute, 2020)
DRIVER(cuFuncSetAttribute, 9000)
DRIVER(cuLaunchKernel, 4000)
DRIVER(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050)
DRIVER(cuMemAlloc, 3020)
DRIVER(cuMemFree, 3020)
DRIVER(cuMemGetAddressRange, 3020)
DRIVER(cuMemcpyHtoD, 3020)
DRIVER(cuMemcpyDtoH, 3020)
DRIVER(cuMemcpy2D, 3020)
DRIVER(cuMemsetD32, 3020)
DRIVER(cuMemsetD16, 3020)
DRIVER(cuMemsetD32Async, 3020)
DRIVER(cuPointerGetAttribute, 4000)
DRIVER(cuPointerGetAttributes, 7000)
DRIVER(cuMemGetAllocationGranularity, 10020)
DRIVER(cuMemAddressReserve, 10020)
DRIVER(cuMemAddressFree, 10020)
DRIVER(cuMemCreate, 10020)
DRIVER(cuMemRelease, 10020)
DRIVER(cuMemMap, 10020)
DRIVER(cuMemUnmap, 10020)
DRIVER(cuMemSetAccess, 10020)
DRIVER(cuMemGetAccess, 10020)
DRIVER(cuMemExportToShareableHandle, 10020)
DRIVER(cuMemImportFromShareableHandle, 10020)
DRIVER(cuMemGetAllocationPropertiesFromHandle, 10020)
DRIVER(cuMemRetainAllocationHandle, 11000)
DRIVER(cuStreamWriteValue32, 11070)
DRIVER(cuStreamWriteValue64, 11070)
DRIVER(cuStreamWaitValue32, 11070)
DRIVER(cuStreamWaitValue64, 11070)
DRIVER(cuStreamBatchMemOp, 11070)
DRIVER(cuLinkCreate, 6050)
DRIVER(cuLinkAddData, 6050)
DRIVER(cuLinkComplete, 5050)
DRIVER(cuLinkDestroy, 5050)

static void expect(CUresult wanted, CUresult got, const char *call)
{
    const char *name = "?";
    get_cuGetErrorName()(got, &name);
    cr_assert(got == wanted, "%s answered %d (%s), expected %d", call, (int)got, name, (int)wanted);
}
#define CU_EXPECT(code_, call_) expect(code_, call_, #call_)
#define CU_OK(call_) expect(CUDA_SUCCESS, call_, #call_)

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

static unsigned read_back(CUdeviceptr ptr)
{
    unsigned value = 0;
    CU_OK(get_cuMemcpyDtoH()(&value, ptr, sizeof value));
    return value;
}

KERNEL_TEST(driver, modules_and_launches)
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

KERNEL_TEST(driver, linker)
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

// ---- virtual memory management ----

static CUmemAllocationProp on_device(int device, CUmemAllocationHandleType handle)
{
    CUmemAllocationProp prop;
    memset(&prop, 0, sizeof prop);
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    prop.location.id = device;
    prop.requestedHandleTypes = handle;
    return prop;
}

static CUmemAccessDesc access_of(int device, CUmemAccess_flags flags)
{
    CUmemAccessDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    desc.location.id = device;
    desc.flags = flags;
    return desc;
}

Test(driver, memory_is_mapped_twice)
{
    CUmemGenericAllocationHandle memory = 0;
    CUmemAllocationProp prop = on_device(0, 0), got;
    CUmemAccessDesc all = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr range = 0;
    size_t unit = 0, free_before = 0, free_now = 0, total = 0;
    unsigned long long flags = 99;
    struct cudaPointerAttributes attributes;
    OK(cudaMemGetInfo(&free_before, &total));
    CU_OK(get_cuMemGetAllocationGranularity()(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    cr_assert(unit > 0 && (unit & (unit - 1)) == 0);
    CU_OK(get_cuMemAddressReserve()(&range, 4 * unit, 0, 0, 0));
    cr_assert(range % unit == 0);
    CU_OK(get_cuMemCreate()(&memory, 2 * unit, &prop, 0));
    OK(cudaMemGetInfo(&free_now, &total));
    cr_assert(free_now == free_before - 2 * unit);
    CU_OK(get_cuMemMap()(range, 2 * unit, 0, memory, 0));
    CU_OK(get_cuMemMap()(range + 2 * unit, 2 * unit, 0, memory, 0));
    CU_OK(get_cuMemSetAccess()(range, 4 * unit, &all, 1));
    CU_OK(get_cuMemGetAccess()(&flags, &all.location, range + 3 * unit));
    cr_assert(flags == CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    OK(cudaMemset((void *)(uintptr_t)range, 0, 4 * unit)); // over both mappings
    CU_OK(get_cuMemsetD32()(range + 16, 77, 1));
    cr_assert(read_back(range + 2 * unit + 16) == 77, "the same memory");
    OK(cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)(range + 5)));
    cr_assert(attributes.type == cudaMemoryTypeDevice && attributes.device == 0);
    EXPECT(cudaErrorInvalidValue, cudaMemset((void *)(uintptr_t)(range + 1), 0, 4 * unit));
    EXPECT(cudaErrorInvalidValue, cudaFree((void *)(uintptr_t)range));
    CU_OK(get_cuMemGetAllocationPropertiesFromHandle()(&got, memory));
    cr_assert(got.location.id == 0 && got.type == CU_MEM_ALLOCATION_TYPE_PINNED);
    CU_OK(get_cuMemRelease()(memory)); // the mappings keep it
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemRelease()(memory));
    cr_assert(read_back(range + 16) == 77);
    CU_OK(get_cuMemRetainAllocationHandle()(&memory, (void *)(uintptr_t)(range + unit)));
    CU_OK(get_cuMemUnmap()(range, 2 * unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressFree()(range, 4 * unit));
    CU_OK(get_cuMemMap()(range, unit, unit, memory, 0)); // its second half
    CU_OK(get_cuMemSetAccess()(range, unit, &all, 1));
    CU_OK(get_cuMemsetD32()(range, 5, 1));
    cr_assert(read_back(range + 3 * unit) == 5);
    CU_OK(get_cuMemUnmap()(range, unit));
    CU_OK(get_cuMemUnmap()(range + 2 * unit, 2 * unit));
    CU_OK(get_cuMemRelease()(memory));
    CU_OK(get_cuMemAddressFree()(range, 4 * unit));
    OK(cudaMemGetInfo(&free_now, &total));
    cr_assert(free_now == free_before, "all memory is back");
    OK(cudaPointerGetAttributes(&attributes, (void *)(uintptr_t)range));
    cr_assert(attributes.type == cudaMemoryTypeUnregistered);
}

KERNEL_TEST(driver, kernels_use_mapped_memory)
{
    CUmemGenericAllocationHandle memory[3];
    CUmemAllocationProp prop = on_device(0, 0);
    CUmemAccessDesc all = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr range = 0;
    int n, value = 6;
    kernels_register();
    CU_OK(get_cuMemAddressReserve()(&range, 64 * MIB, 0, 0, 0));
    for (int i = 0; i < 3; i++) { // grows piece by piece, as PyTorch's expandable segments
        CU_OK(get_cuMemCreate()(&memory[i], 2 * MIB, &prop, 0));
        CU_OK(get_cuMemMap()(range + (size_t)i * 2 * MIB, 2 * MIB, 0, memory[i], 0));
        CU_OK(get_cuMemSetAccess()(range + (size_t)i * 2 * MIB, 2 * MIB, &all, 1));
    }
    n = (int)(6 * MIB / sizeof(int));
    int *data = (int *)(uintptr_t)range;
    void *fill[] = {&data, &value, &n};
    OK(kernel_launch(KERNEL_FILL, (unsigned)n / 256, 256, fill, 0, 0));
    cr_assert(read_back(range) == 6 && read_back(range + 6 * MIB - 4) == 6);
    static unsigned host[3 * 1024 * 1024 / 2];
    OK(cudaMemcpy(host, data, 6 * MIB, cudaMemcpyDeviceToHost));
    cr_assert(host[MIB / 2] == 6 && host[LENGTH(host) - 1] == 6);
    CU_OK(get_cuMemUnmap()(range, 6 * MIB)); // all at once
    for (int i = 0; i < 3; i++) {
        CU_OK(get_cuMemRelease()(memory[i]));
    }
    CU_OK(get_cuMemAddressFree()(range, 64 * MIB));
}

KERNEL_TEST(driver, access_faults)
{
    CUmemGenericAllocationHandle memory = 0;
    CUmemAllocationProp prop = on_device(0, 0);
    CUmemAccessDesc read = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CUdeviceptr range = 0;
    int n = 1, value = 6;
    kernels_register();
    CU_OK(get_cuMemAddressReserve()(&range, 2 * MIB, 0, 0, 0));
    CU_OK(get_cuMemCreate()(&memory, 2 * MIB, &prop, 0));
    CU_OK(get_cuMemMap()(range, 2 * MIB, 0, memory, 0));
    CU_OK(get_cuMemSetAccess()(range, 2 * MIB, &read, 1));
    cr_assert(read_back(range) == 0);
    int *data = (int *)(uintptr_t)range;
    void *fill[] = {&data, &value, &n};
    OK(kernel_launch(KERNEL_FILL, 1, 1, fill, 0, 0));
    EXPECT(cudaErrorIllegalAddress, cudaDeviceSynchronize());
}

Test(driver, virtual_memory_is_checked)
{
    CUmemGenericAllocationHandle memory = 0, other = 0;
    CUmemAllocationProp prop = on_device(0, 0), bad;
    CUmemAccessDesc all = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), wrong = all;
    CUdeviceptr range = 0, second = 0;
    size_t unit = 2 * MIB;
    unsigned long long flags;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, 4096, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, 0, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, unit, NULL, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(NULL, unit, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, unit, &prop, 1));
    CU_EXPECT(CUDA_ERROR_OUT_OF_MEMORY, get_cuMemCreate()(&memory, (size_t)1 << 40, &prop, 0));
    bad = on_device(99, 0);
    CU_EXPECT(CUDA_ERROR_INVALID_DEVICE, get_cuMemCreate()(&memory, unit, &bad, 0));
    bad = on_device(0, CU_MEM_HANDLE_TYPE_WIN32);
    CU_EXPECT(CUDA_ERROR_NOT_SUPPORTED, get_cuMemCreate()(&memory, unit, &bad, 0));
    bad = prop;
    bad.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemCreate()(&memory, unit, &bad, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressReserve()(&range, 4096, 0, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressReserve()(&range, unit, 3, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressReserve()(NULL, unit, 0, 0, 0));
    CU_OK(get_cuMemAddressReserve()(&range, 2 * unit, 64 * MIB, 0, 0));
    cr_assert(range % (64 * MIB) == 0);
    CU_OK(get_cuMemAddressReserve()(&second, unit, 0, range, 0)); // the wish cannot be granted
    cr_assert(second != range);
    CU_OK(get_cuMemCreate()(&memory, unit, &prop, 0));
    CU_OK(get_cuMemCreate()(&other, 4 * unit, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range, 2 * unit, 0, memory, 0)); // too long
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range + unit, 2 * unit, 0, other, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range, unit, 4 * unit, other, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range + 512, unit, 0, memory, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range, unit, 0, 12345, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()((CUdeviceptr)unit, unit, 0, memory, 0));
    CU_OK(get_cuMemMap()(range, unit, 0, memory, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemMap()(range, unit, 0, memory, 0)); // taken
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemSetAccess()(range, 2 * unit, &all, 1));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemSetAccess()(range, unit, NULL, 1));
    wrong.flags = (CUmemAccess_flags)2;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemSetAccess()(range, unit, &wrong, 1));
    wrong = access_of(99, CU_MEM_ACCESS_FLAGS_PROT_READ);
    CU_EXPECT(CUDA_ERROR_INVALID_DEVICE, get_cuMemSetAccess()(range, unit, &wrong, 1));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemGetAccess()(&flags, &all.location, range + unit));
    CU_OK(get_cuMemGetAccess()(&flags, &all.location, range));
    cr_assert(flags == CU_MEM_ACCESS_FLAGS_PROT_NONE);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemUnmap()(range, 2 * unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemUnmap()(range, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressFree()(range, unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemRelease()(0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemRetainAllocationHandle()(&memory, &flags));
    CU_OK(get_cuMemUnmap()(range, unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemUnmap()(range, unit));
    CU_OK(get_cuMemAddressFree()(range, 2 * unit));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemAddressFree()(range, 2 * unit));
}

Test(driver, memory_travels_by_descriptor)
{
    CUmemGenericAllocationHandle memory = 0, imported = 0;
    CUmemAllocationProp prop = on_device(0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    CUmemAccessDesc all = access_of(0, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    CUdeviceptr range = 0;
    int fd = -1, null = open("/dev/null", O_RDWR);
    CU_OK(get_cuMemCreate()(&memory, 2 * MIB, &prop, 0));
    CU_OK(get_cuMemExportToShareableHandle()(&fd, memory, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                             0));
    cr_assert(fd >= 0);
    CU_OK(get_cuMemImportFromShareableHandle()(&imported, (void *)(uintptr_t)fd,
                                               CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    close(fd);
    CU_OK(get_cuMemAddressReserve()(&range, 4 * MIB, 0, 0, 0));
    CU_OK(get_cuMemMap()(range, 2 * MIB, 0, memory, 0));
    CU_OK(get_cuMemMap()(range + 2 * MIB, 2 * MIB, 0, imported, 0));
    CU_OK(get_cuMemSetAccess()(range, 4 * MIB, &all, 1));
    CU_OK(get_cuMemsetD32()(range, 123, 1));
    cr_assert(read_back(range + 2 * MIB) == 123);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuMemImportFromShareableHandle()(&imported, (void *)(uintptr_t)null,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuMemImportFromShareableHandle()(&imported, (void *)(intptr_t)-1,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
    CU_OK(get_cuMemUnmap()(range, 4 * MIB));
    CU_OK(get_cuMemRelease()(imported));
    CU_OK(get_cuMemRelease()(memory));
    prop = on_device(0, 0);
    CU_OK(get_cuMemCreate()(&memory, 2 * MIB, &prop, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuMemExportToShareableHandle()(&fd, memory,
                                                 CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    CU_OK(get_cuMemRelease()(memory));
    close(null);
}

// ---- values as signals ----

Test(driver, a_stream_waits_for_a_value)
{
    cudaStream_t waiting, writing;
    unsigned *flag = NULL, *out = NULL;
    OK(cudaStreamCreateWithFlags(&waiting, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&writing, cudaStreamNonBlocking));
    OK(cudaHostAlloc((void **)&flag, 64, cudaHostAllocDefault));
    OK(cudaMalloc((void **)&out, 8));
    OK(cudaMemset(out, 0, 8));
    OK(cudaDeviceSynchronize()); // neither stream is ordered behind the memset
    *flag = 0;
    CUdeviceptr address = (uintptr_t)flag;
    CU_OK(get_cuStreamWaitValue32()(waiting, address, 7, CU_STREAM_WAIT_VALUE_EQ));
    OK(cudaMemsetAsync(out, 1, 4, waiting));
    cr_assert(cudaStreamQuery(waiting) == cudaErrorNotReady);
    CU_OK(get_cuStreamWriteValue32()(writing, address, 6, 0));
    OK(cudaStreamSynchronize(writing));
    cr_assert(*flag == 6 && cudaStreamQuery(waiting) == cudaErrorNotReady);
    CU_OK(get_cuStreamWriteValue32()(writing, address, 7, 0));
    OK(cudaStreamSynchronize(waiting));
    cr_assert(read_back((uintptr_t)out) == 0x01010101);
    // The host may be the one that writes.
    CU_OK(get_cuStreamWaitValue32()(waiting, address, 100, CU_STREAM_WAIT_VALUE_GEQ));
    cr_assert(cudaStreamQuery(waiting) == cudaErrorNotReady);
    __atomic_store_n(flag, 1000, __ATOMIC_SEQ_CST);
    OK(cudaStreamSynchronize(waiting));
    // 64 bits, and values that are there already.
    CU_OK(get_cuStreamWriteValue64()(writing, address, 0x100000000ull, 0));
    CU_OK(get_cuStreamWaitValue64()(writing, address, 0x100000000ull, CU_STREAM_WAIT_VALUE_AND));
    CU_OK(get_cuStreamWaitValue64()(writing, address, 1, CU_STREAM_WAIT_VALUE_NOR));
    OK(cudaStreamSynchronize(writing));
    cr_assert(flag[0] == 0 && flag[1] == 1);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWaitValue32()(waiting, address + 2, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWaitValue64()(waiting, address + 4, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWaitValue32()(waiting, 64, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWaitValue32()(waiting, address, 0, 4));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamWriteValue32()(waiting, address, 0, 2));
    CU_EXPECT(CUDA_ERROR_INVALID_HANDLE,
              get_cuStreamWriteValue32()((CUstream)(uintptr_t)0x1234560, address, 0, 0));
}

// More streams wait than there are workers; each is released by the next.
Test(driver, many_streams_wait)
{
    enum { STREAMS = 40 };
    cudaStream_t streams[STREAMS];
    unsigned *flags = NULL;
    OK(cudaHostAlloc((void **)&flags, (STREAMS + 1) * sizeof *flags, cudaHostAllocDefault));
    memset(flags, 0, (STREAMS + 1) * sizeof *flags);
    for (int i = 0; i < STREAMS; i++) {
        OK(cudaStreamCreateWithFlags(&streams[i], cudaStreamNonBlocking));
        CU_OK(get_cuStreamWaitValue32()(streams[i], (uintptr_t)&flags[i], 1,
                                        CU_STREAM_WAIT_VALUE_EQ));
        CU_OK(get_cuStreamWriteValue32()(streams[i], (uintptr_t)&flags[i + 1], 1, 0));
    }
    cr_assert(flags[STREAMS] == 0);
    __atomic_store_n(&flags[0], 1, __ATOMIC_SEQ_CST);
    OK(cudaDeviceSynchronize());
    cr_assert(flags[STREAMS] == 1);
}

Test(driver, batches_of_values)
{
    cudaStream_t stream;
    unsigned *flag = NULL;
    CUstreamBatchMemOpParams params[4];
    memset(params, 0, sizeof params);
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaHostAlloc((void **)&flag, 64, cudaHostAllocDefault));
    memset(flag, 0, 64);
    params[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    params[0].writeValue.address = (uintptr_t)flag;
    params[0].writeValue.value = 3;
    params[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    params[1].waitValue.address = (uintptr_t)flag;
    params[1].waitValue.value = 3;
    params[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    params[2].operation = CU_STREAM_MEM_OP_BARRIER;
    params[3].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    params[3].writeValue.address = (uintptr_t)(flag + 2);
    params[3].writeValue.value64 = 0x500000004ull;
    CU_OK(get_cuStreamBatchMemOp()(stream, 4, params, 0));
    OK(cudaStreamSynchronize(stream));
    cr_assert(flag[0] == 3 && flag[2] == 4 && flag[3] == 5);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamBatchMemOp()(stream, 0, params, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamBatchMemOp()(stream, 256, params, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamBatchMemOp()(stream, 1, NULL, 0));
    params[3].operation = (CUstreamBatchMemOpType)42;
    flag[0] = 0;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuStreamBatchMemOp()(stream, 4, params, 0));
    OK(cudaStreamSynchronize(stream));
    cr_assert(flag[0] == 0, "nothing of a wrong batch runs");
}

#if CUDART_VERSION >= 12000
// ---- tensor maps ----

DRIVER(cuTensorMapEncodeTiled, 12000)
DRIVER(cuTensorMapEncodeIm2col, 12000)
DRIVER(cuTensorMapReplaceAddress, 12000)

// A valid description, of which a test changes one thing.
struct tiled {
    CUtensorMapDataType type;
    cuuint32_t rank;
    void *address;
    cuuint64_t dim[5], strides[4];
    cuuint32_t box[5], steps[5];
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion promotion;
    CUtensorMapFloatOOBfill fill;
};

static const struct tiled good = {
    .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
    .rank = 2,
    .address = (void *)(uintptr_t)0x10000,
    .dim = {128, 64, 4, 4, 4},
    .strides = {512, 512 * 64, 512 * 64 * 4, 512 * 64 * 16},
    .box = {32, 32, 1, 1, 1},
    .steps = {1, 1, 1, 1, 1},
};

static CUresult encode(CUtensorMap *map, const struct tiled *t)
{
    return get_cuTensorMapEncodeTiled()(map, t->type, t->rank, t->address, t->dim, t->strides,
                                        t->box, t->steps, t->interleave, t->swizzle, t->promotion,
                                        t->fill);
}

Test(driver, tensor_maps)
{
    _Alignas(128) unsigned char room[2 * sizeof(CUtensorMap)];
    CUtensorMap *map = (CUtensorMap *)room;
    struct tiled t = good;
    CU_OK(encode(map, &t));
    for (cuuint32_t rank = 1; rank <= 5; rank++) {
        t.rank = rank;
        CU_OK(encode(map, &t));
    }
    CU_OK(get_cuTensorMapReplaceAddress()(map, (void *)(uintptr_t)0x20000));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuTensorMapReplaceAddress()(map, (void *)(uintptr_t)0x20004));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, encode(NULL, &good));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, encode((CUtensorMap *)(room + 8), &good));
#define WRONG(change_)                                               \
    do {                                                             \
        t = good;                                                    \
        change_;                                                     \
        expect(CUDA_ERROR_INVALID_VALUE, encode(map, &t), #change_); \
    } while (0)
    WRONG(t.rank = 0);
    WRONG(t.rank = 6);
    WRONG(t.type = (CUtensorMapDataType)77);
    WRONG(t.address = (void *)(uintptr_t)0x10008);
    WRONG(t.address = NULL);
    WRONG(t.dim[1] = 0);
    WRONG(t.dim[0] = ((cuuint64_t)1 << 32) + 1);
    WRONG(t.strides[0] = 500);
    WRONG(t.strides[0] = (cuuint64_t)1 << 40);
    WRONG(t.box[0] = 0);
    WRONG(t.box[1] = 257);
    WRONG(t.box[0] = 3); // 12 bytes
    WRONG(t.steps[1] = 0);
    WRONG(t.steps[1] = 9);
    WRONG(t.interleave = CU_TENSOR_MAP_INTERLEAVE_16B); // rank 2
    WRONG(t.interleave = (CUtensorMapInterleave)3);
    WRONG(t.swizzle = CU_TENSOR_MAP_SWIZZLE_64B); // the box is 128 bytes wide
    WRONG(t.swizzle = (CUtensorMapSwizzle)70);
    WRONG(t.promotion = (CUtensorMapL2promotion)4);
    WRONG(t.fill = (CUtensorMapFloatOOBfill)2);
    WRONG((t.type = CU_TENSOR_MAP_DATA_TYPE_INT32,
           t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA));
    t = good;
    t.swizzle = CU_TENSOR_MAP_SWIZZLE_128B;
    t.fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA;
    CU_OK(encode(map, &t));
}

Test(driver, tensor_maps_of_columns)
{
    _Alignas(128) CUtensorMap map;
    int lower[] = {-1, -1}, upper[] = {-1, -1};
    CU_OK(get_cuTensorMapEncodeIm2col()(&map, good.type, 4, good.address, good.dim, good.strides,
                                        lower, upper, 32, 64, good.steps, 0, 0, 0, 0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuTensorMapEncodeIm2col()(&map, good.type, 2, good.address, good.dim,
                                            good.strides, lower, upper, 32, 64, good.steps, 0, 0, 0,
                                            0));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuTensorMapEncodeIm2col()(&map, good.type, 4, good.address, good.dim,
                                            good.strides, lower, upper, 32, 1025, good.steps, 0, 0,
                                            0, 0));
    lower[0] = -129;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE,
              get_cuTensorMapEncodeIm2col()(&map, good.type, 4, good.address, good.dim,
                                            good.strides, lower, upper, 32, 64, good.steps, 0, 0, 0,
                                            0));
}
#endif

// ---- graphs ----

DRIVER(cuStreamIsCapturing, 10000)
DRIVER(cuStreamEndCapture, 10000)
DRIVER(cuStreamBeginCapture, 10010)
DRIVER(cuGraphInstantiateWithFlags, 11040)
DRIVER(cuGraphLaunch, 10000)
DRIVER(cuGraphExecDestroy, 10000)
DRIVER(cuGraphDestroy, 10000)
DRIVER(cuGraphGetNodes, 10000)
DRIVER(cuGraphCreate, 10000)
DRIVER(cuGraphAddMemsetNode, 10000)

Test(driver, captured_and_built_graphs)
{
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_INVALIDATED;
    CUgraph graph = NULL;
    CUgraphExec exec = NULL;
    CUgraphNode node = NULL;
    CUdeviceptr ptr = 0;
    cudaStream_t stream;
    size_t count = 0;
    OK(cudaStreamCreate(&stream));
    CU_OK(get_cuMemAlloc()(&ptr, 64));
    CU_OK(get_cuStreamBeginCapture()(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CU_OK(get_cuStreamIsCapturing()(stream, &status));
    cr_assert(status == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CU_OK(get_cuMemsetD32Async()(ptr, 5, 1, stream));
    CU_OK(get_cuStreamEndCapture()(stream, &graph));
    CU_OK(get_cuGraphGetNodes()(graph, NULL, &count));
    cr_assert(count == 1);
    CU_OK(get_cuGraphInstantiateWithFlags()(&exec, graph, 0));
    CU_OK(get_cuMemsetD32()(ptr, 0, 1));
    CU_OK(get_cuGraphLaunch()(exec, stream));
    OK(cudaStreamSynchronize(stream));
    cr_assert(read_back(ptr) == 5);
    CU_OK(get_cuGraphExecDestroy()(exec));
    CU_OK(get_cuGraphDestroy()(graph));
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuGraphDestroy()(graph));
    CUDA_MEMSET_NODE_PARAMS params = {
        .dst = ptr, .value = 9, .elementSize = 4, .width = 1, .height = 1};
    CU_OK(get_cuGraphCreate()(&graph, 0));
    CU_OK(get_cuGraphAddMemsetNode()(&node, graph, NULL, 0, &params, NULL));
    CU_OK(get_cuGraphInstantiateWithFlags()(&exec, graph, 0));
    CU_OK(get_cuGraphLaunch()(exec, stream));
    OK(cudaStreamSynchronize(stream));
    cr_assert(read_back(ptr) == 9);
    // Values as signals are not captured; asking for it ends the capture.
    CU_OK(get_cuStreamBeginCapture()(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
    CU_EXPECT(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, get_cuStreamWriteValue32()(stream, ptr, 1, 0));
    CU_EXPECT(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, get_cuStreamEndCapture()(stream, &graph));
}

Test(driver, pools)
{
    CUdeviceptr ptr = 0;
    CUmemoryPool pool = NULL;
    cudaError_t error;
    void *alloc = find("cuMemAllocAsync", &error), *take = find("cuMemFreeAsync", &error);
    void *get = find("cuDeviceGetDefaultMemPool", &error);
    CU_OK(((PFN_cuDeviceGetDefaultMemPool_v11020)get)(&pool, 0));
    CU_OK(((PFN_cuMemAllocAsync_v11020)alloc)(&ptr, 256, NULL));
    CUmemoryPool of = NULL;
    CU_OK(get_cuPointerGetAttribute()(&of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, ptr));
    cr_assert(of == pool);
    CU_OK(((PFN_cuMemFreeAsync_v11020)take)(ptr, NULL));
    OK(cudaDeviceSynchronize());
}

// ---- arrays and textures ----

DRIVER(cuArrayCreate, 3020)
DRIVER(cuArray3DCreate, 3020)
DRIVER(cuArray3DGetDescriptor, 3020)
DRIVER(cuArrayDestroy, 2000)
DRIVER(cuMemcpy3D, 3020)
DRIVER(cuMemcpyHtoA, 3020)
DRIVER(cuMemcpyAtoH, 3020)
DRIVER(cuTexObjectCreate, 5000)
DRIVER(cuTexObjectDestroy, 5000)

static const char reader[] =
    ".version 7.0\n.target sm_80\n.address_size 64\n"
    ".visible .entry read(.param .u64 t, .param .u64 p) {\n"
    "  .reg .u64 %rd<2>; .reg .f32 %f<8>;\n"
    "  ld.param.u64 %rd0, [t]; ld.param.u64 %rd1, [p];\n"
    "  mov.f32 %f4, 0f3FC00000; mov.f32 %f5, 0f40200000;\n" // (1.5, 2.5): column 1, row 2
    "  tex.2d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd0, {%f4, %f5}];\n"
    "  st.global.f32 [%rd1], %f0; ret; }\n";

KERNEL_TEST(driver, arrays_and_textures)
{
    enum { W = 8, H = 4 };
    CUarray array = NULL;
    CUDA_ARRAY_DESCRIPTOR flat = {
        .Width = W, .Height = H, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
    CUDA_ARRAY3D_DESCRIPTOR got;
    CUtexObject texture = 0;
    CUmodule module = NULL;
    CUfunction read = NULL;
    CUdeviceptr out = 0;
    float host[H][W], back[H][W], value = 0;
    for (int i = 0; i < W * H; i++) {
        host[i / W][i % W] = (float)i;
    }
    OK(cudaFree(NULL));
    CU_OK(get_cuArrayCreate()(&array, &flat));
    CU_OK(get_cuArray3DGetDescriptor()(&got, array));
    cr_assert(got.Width == W && got.Height == H && got.Depth == 0 &&
              got.Format == CU_AD_FORMAT_FLOAT && got.NumChannels == 1);
    CUDA_MEMCPY2D in = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                        .srcHost = host,
                        .srcPitch = sizeof host[0],
                        .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                        .dstArray = array,
                        .WidthInBytes = sizeof host[0],
                        .Height = H};
    CU_OK(get_cuMemcpy2D()(&in));
    in.dstXInBytes = 2; // not a whole element
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemcpy2D()(&in));
    memset(back, 0, sizeof back);
    CUDA_MEMCPY3D part = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = array,
                          .srcXInBytes = 4,
                          .srcY = 1,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = back,
                          .dstPitch = sizeof back[0],
                          .WidthInBytes = 8,
                          .Height = 2,
                          .Depth = 1};
    CU_OK(get_cuMemcpy3D()(&part));
    cr_assert(back[0][0] == 9 && back[0][1] == 10 && back[1][0] == 17 && back[2][0] == 0);
    CUDA_RESOURCE_DESC resource = {.resType = CU_RESOURCE_TYPE_ARRAY};
    resource.res.array.hArray = array;
    CUDA_TEXTURE_DESC desc = {.filterMode = CU_TR_FILTER_MODE_POINT};
    CU_OK(get_cuTexObjectCreate()(&texture, &resource, &desc, NULL));
    CU_OK(get_cuModuleLoadData()(&module, reader));
    CU_OK(get_cuModuleGetFunction()(&read, module, "read"));
    CU_OK(get_cuMemAlloc()(&out, 4));
    void *params[] = {&texture, &out};
    CU_OK(get_cuLaunchKernel()(read, 1, 1, 1, 1, 1, 1, 0, NULL, params, NULL));
    CU_OK(get_cuMemcpyDtoH()(&value, out, 4));
    cr_assert(value == 2 * W + 1, "%g", (double)value);
    CU_OK(get_cuTexObjectDestroy()(texture));
    CU_OK(get_cuArrayDestroy()(array));
    CU_EXPECT(CUDA_ERROR_INVALID_HANDLE, get_cuArrayDestroy()(array));
    flat.Height = 0; // one row
    CU_OK(get_cuArrayCreate()(&array, &flat));
    CU_OK(get_cuMemcpyHtoA()(array, 8, host, 8));
    CU_OK(get_cuMemcpyAtoH()(back, array, 12, 4));
    cr_assert(back[0][0] == 1);
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuMemcpyAtoH()(back, array, 8, sizeof host[0]));
    CU_OK(get_cuArrayDestroy()(array));
    flat.NumChannels = 3;
    CU_EXPECT(CUDA_ERROR_INVALID_VALUE, get_cuArrayCreate()(&array, &flat));
    CUDA_ARRAY3D_DESCRIPTOR deep = {.Width = 4,
                                    .Height = 4,
                                    .Format = CU_AD_FORMAT_FLOAT,
                                    .NumChannels = 1,
                                    .Flags = CUDA_ARRAY3D_DEPTH_TEXTURE};
    CU_EXPECT(CUDA_ERROR_NOT_SUPPORTED, get_cuArray3DCreate()(&array, &deep));
}
