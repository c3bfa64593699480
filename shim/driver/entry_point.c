// SPDX-License-Identifier: Apache-2.0
//
// Initialisation, errors and versions of the driver API; finding its functions by name, for the
// driver's cuGetProcAddress and for the runtime's cudaGetDriverEntryPoint. Sources: CUDA Driver
// API, "Driver Entry Point Access"; CUDA Runtime API, "Driver Entry Point Access".
#include "shim/driver/entry_point.h"

#include <string.h>

#include "error_text.h"
#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/dispatch/backend.h"
#include "shim/dispatch/entry.h"
#include "shim/driver/driver.h"
#include "shim/util/log.h"

static int newest_version(void)
{
    return irt_fronts[IRT_FRONT_COUNT - 1].version;
}

// ---- errors ----

CUresult irt_driver_result(cudaError_t error)
{
    // Below 100 the runtime has errors of its own; the driver has one number for many of them.
    static const struct {
        cudaError_t error;
        CUresult result;
    } rows[] = {
        {cudaErrorInvalidConfiguration, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInvalidPitchValue, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInvalidSymbol, CUDA_ERROR_NOT_FOUND},
        {cudaErrorInvalidHostPointer, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInvalidDevicePointer, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInvalidTexture, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInvalidTextureBinding, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInvalidChannelDescriptor, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInvalidMemcpyDirection, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInvalidFilterSetting, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInvalidNormSetting, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorInsufficientDriver, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH},
        {cudaErrorInvalidSurface, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorMissingConfiguration, CUDA_ERROR_INVALID_VALUE},
        {cudaErrorLaunchMaxDepthExceeded, CUDA_ERROR_LAUNCH_FAILED},
        {cudaErrorLaunchPendingCountExceeded, CUDA_ERROR_LAUNCH_FAILED},
        {cudaErrorInvalidDeviceFunction, CUDA_ERROR_INVALID_HANDLE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (rows[i].error == error) {
            return rows[i].result;
        }
    }
    return (CUresult)error;
}

static const struct {
    CUresult result;
    const char *name;
} results[] = {
#define IRT_RESULT(name_) {name_, #name_},
#include "shim/driver/results.def"
#undef IRT_RESULT
};

static const char *result_name(CUresult result)
{
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        if (results[i].result == result) {
            return results[i].name;
        }
    }
    return NULL;
}

cudaError_t irt_driver_cuGetErrorName(CUresult error, const char **pStr)
{
    if (!pStr) {
        return cudaErrorInvalidValue;
    }
    *pStr = result_name(error);
    return *pStr ? cudaSuccess : cudaErrorInvalidValue;
}

// The numbers mean the same in both APIs, so that the texts are the runtime's.
cudaError_t irt_driver_cuGetErrorString(CUresult error, const char **pStr)
{
    const char *name = result_name(error);
    if (!pStr) {
        return cudaErrorInvalidValue;
    }
    *pStr = NULL;
    if (!name) {
        return cudaErrorInvalidValue;
    }
    const char *text = irt_error_text((int)error, newest_version());
    *pStr = strcmp(text, irt_error_text(-1, newest_version())) == 0 ? name : text;
    return cudaSuccess;
}

// ---- initialisation ----

cudaError_t irt_driver_cuInit(unsigned int Flags)
{
    cudaError_t e = irt_api_enter_noinit(IRT_FN_cudaGetDevice);
    if (!e && Flags != 0) {
        e = cudaErrorInvalidValue;
    }
    return e ? e : irt_backend_require();
}

cudaError_t irt_driver_cuDriverGetVersion(int *driverVersion)
{
    return irt_core_cudaDriverGetVersion(driverVersion);
}

cudaError_t irt_driver_enter(enum irt_fn fn, bool needs_context)
{
    if (!irt_backend_ready()) {
        cudaError_t e = irt_api_enter_noinit(IRT_FN_cudaGetDevice);
        return e ? e : cudaErrorInitializationError;
    }
    cudaError_t e = irt_api_enter(fn);
    return !e && needs_context && irt_device_detached() ? cudaErrorDeviceUninitialized : e;
}

// ---- looking up ----

CUdriverProcAddressQueryResult irt_driver_find(const char *name, int version, bool per_thread,
                                               void **ret_function)
{
    const struct irt_driver_row *best = NULL;
    bool known = false;
    for (unsigned i = 0; i < irt_driver_row_count; i++) {
        const struct irt_driver_row *row = &irt_driver_rows[i];
        if (strcmp(row->name, name) != 0) {
            continue;
        }
        known = true;
        // A twin counts as a form of the version that stands before it.
        if (row->since <= version && (!row->per_thread || per_thread)) {
            best = row;
        }
    }
    *ret_function = best ? (void *)best->function : NULL;
    if (best) {
        return CU_GET_PROC_ADDRESS_SUCCESS;
    }
    IRT_LOG("driver", IRT_LOG_INFO, "%s (of CUDA %d.%d) was asked for: %s", name, version / 1000,
            version % 1000 / 10, known ? "only newer ones are there" : "not there");
    return known ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
}

enum {
    FLAGS_LEGACY = CU_GET_PROC_ADDRESS_LEGACY_STREAM,
    FLAGS_PER_THREAD = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
};

cudaError_t irt_driver_cuGetProcAddress_v2(const char *symbol, void **pfn, int driverVersion,
                                           cuuint64_t flags,
                                           CUdriverProcAddressQueryResult *symbolFound)
{
    if (!symbol || !pfn || (flags & ~(cuuint64_t)(FLAGS_LEGACY | FLAGS_PER_THREAD)) ||
        flags == (FLAGS_LEGACY | FLAGS_PER_THREAD) || driverVersion > newest_version()) {
        return cudaErrorInvalidValue;
    }
    CUdriverProcAddressQueryResult result =
        irt_driver_find(symbol, driverVersion, (flags & FLAGS_PER_THREAD) != 0, pfn);
    if (symbolFound) {
        *symbolFound = result;
        return cudaSuccess;
    }
    return result == CU_GET_PROC_ADDRESS_SUCCESS ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t irt_driver_cuGetProcAddress(const char *symbol, void **pfn, int driverVersion,
                                        cuuint64_t flags)
{
    return irt_driver_cuGetProcAddress_v2(symbol, pfn, driverVersion, flags, NULL);
}

// The private tables behind the UUIDs are in no public source: none is known here.
cudaError_t irt_driver_cuGetExportTable(const void **ppExportTable, const CUuuid *pExportTableId)
{
    if (!ppExportTable || !pExportTableId) {
        return cudaErrorInvalidValue;
    }
    *ppExportTable = NULL;
    irt_unsupported("a private table (cuGetExportTable)");
    return cudaErrorInvalidValue;
}

// ---- for the runtime ----

cudaError_t irt_driver_entry_point(const char *symbol, void **ret_function, int version,
                                   unsigned long long flags, bool per_thread,
                                   enum cudaDriverEntryPointQueryResult *ret_result)
{
    if (!symbol || !ret_function || flags > cudaEnablePerThreadDefaultStream ||
        version > newest_version()) {
        return cudaErrorInvalidValue;
    }
    if (flags != cudaEnableDefault) {
        per_thread = flags == cudaEnablePerThreadDefaultStream;
    }
    CUdriverProcAddressQueryResult result =
        irt_driver_find(symbol, version, per_thread, ret_function);
    if (ret_result) {
        *ret_result = result == CU_GET_PROC_ADDRESS_SUCCESS ? cudaDriverEntryPointSuccess
                      : result == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
                          ? cudaDriverEntryPointVersionNotSufficent
                          : cudaDriverEntryPointSymbolNotFound;
    }
    return cudaSuccess;
}

cudaError_t irt_core_cudaGetDriverEntryPointByVersion(
    const char *symbol, void **funcPtr, unsigned int cudaVersion, unsigned long long flags,
    enum cudaDriverEntryPointQueryResult *driverStatus, cudaStream_t default_stream)
{
    return irt_driver_entry_point(symbol, funcPtr,
                                  cudaVersion > INT32_MAX ? INT32_MAX : (int)cudaVersion, flags,
                                  default_stream == cudaStreamPerThread, driverStatus);
}

cudaError_t irt_core_cudaGetExportTable(const void **ppExportTable,
                                        const cudaUUID_t *pExportTableId)
{
    return irt_driver_cuGetExportTable(ppExportTable, (const CUuuid *)pExportTableId);
}
