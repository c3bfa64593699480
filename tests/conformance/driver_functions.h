// SPDX-License-Identifier: Apache-2.0
//
// The functions of the driver API that the tests call, found as programs find them
// (cudaGetDriverEntryPoint), and what checks their answers.
#pragma once

#include "conformance.h"

#include <cuda.h>
#include <cudaTypedefs.h>

#define MIB ((size_t)1 << 20)

// Address of the function that programs built for this major get for `name`; NULL: there is none.
// *ret_error: what cudaGetDriverEntryPoint answers, "not found" being no error.
static inline void *find(const char *name, cudaError_t *ret_error)
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
    static inline PFN_##name_##_v##version_ get_##name_(void)                        \
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

static inline void expect(CUresult wanted, CUresult got, const char *call)
{
    const char *name = "?";
    get_cuGetErrorName()(got, &name);
    cr_assert(got == wanted, "%s answered %d (%s), expected %d", call, (int)got, name, (int)wanted);
}
#define CU_EXPECT(code_, call_) expect(code_, call_, #call_)
#define CU_OK(call_) expect(CUDA_SUCCESS, call_, #call_)

static inline unsigned read_back(CUdeviceptr ptr)
{
    unsigned value = 0;
    CU_OK(get_cuMemcpyDtoH()(&value, ptr, sizeof value));
    return value;
}
