// SPDX-License-Identifier: Apache-2.0
//
// Which functions disturb stream capture: calls that a sequence cannot observe although what it
// captures may depend on them, and calls about all work of a device.
// Source: CUDA Runtime API, cudaThreadExchangeStreamCaptureMode; CUDA C++ Programming Guide,
// "Prohibited and Unhandled Operations".
#include "irt_core.h"
#include "shim/graph/capture_sequence.h"
#include "shim/core/device.h"

// Synchronous copies and fills, which use the legacy stream.
static bool uses_legacy(enum irt_fn fn)
{
    switch (fn) {
    case IRT_FN_cudaMemcpy:
    case IRT_FN_cudaMemcpy2D:
    case IRT_FN_cudaMemcpy2DArrayToArray:
    case IRT_FN_cudaMemcpy2DFromArray:
    case IRT_FN_cudaMemcpy2DToArray:
    case IRT_FN_cudaMemcpy3D:
    case IRT_FN_cudaMemcpy3DPeer:
    case IRT_FN_cudaMemcpyArrayToArray:
    case IRT_FN_cudaMemcpyFromArray:
    case IRT_FN_cudaMemcpyFromSymbol:
    case IRT_FN_cudaMemcpyPeer:
    case IRT_FN_cudaMemcpyToArray:
    case IRT_FN_cudaMemcpyToSymbol:
    case IRT_FN_cudaMemset:
    case IRT_FN_cudaMemset2D:
    case IRT_FN_cudaMemset3D:
        return true;
    default:
        return false;
    }
}

// Outside of any stream, or waiting behind the scenes.
static bool is_unsafe(enum irt_fn fn)
{
    switch (fn) {
    case IRT_FN_cudaMalloc:
    case IRT_FN_cudaMalloc3D:
    case IRT_FN_cudaMalloc3DArray:
    case IRT_FN_cudaMallocArray:
    case IRT_FN_cudaMallocHost:
    case IRT_FN_cudaMallocManaged:
    case IRT_FN_cudaMallocMipmappedArray:
    case IRT_FN_cudaMallocPitch:
    case IRT_FN_cudaHostAlloc:
    case IRT_FN_cudaHostRegister:
    case IRT_FN_cudaHostUnregister:
    case IRT_FN_cudaFree:
    case IRT_FN_cudaFreeArray:
    case IRT_FN_cudaFreeHost:
    case IRT_FN_cudaFreeMipmappedArray:
    case IRT_FN_cudaIpcCloseMemHandle:
    case IRT_FN_cudaIpcOpenMemHandle:
    case IRT_FN_cudaEventQuery:
    case IRT_FN_cudaStreamQuery:
        return true;
    default:
        return false;
    }
}

static bool is_device_wide(enum irt_fn fn)
{
    return fn == IRT_FN_cudaDeviceSynchronize || fn == IRT_FN_cudaDeviceReset ||
           fn == IRT_FN_cudaExecutionCtxSynchronize || fn == IRT_FN_cudaExecutionCtxRecordEvent ||
           fn == IRT_FN_cudaExecutionCtxWaitEvent;
}

cudaError_t irt_capture_forbid_call(enum irt_fn fn)
{
    struct irt_device *device = irt_device_current();
    if (is_device_wide(fn)) {
        return irt_capture_forbid_device(device) ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
    }
    bool legacy = uses_legacy(fn);
    if ((!legacy && !is_unsafe(fn)) || !irt_capture_forbid_unsafe()) {
        return cudaSuccess;
    }
    return legacy && irt_capture_blocks_legacy_of(device) ? cudaErrorStreamCaptureImplicit
                                                          : cudaErrorStreamCaptureUnsupported;
}
