// SPDX-License-Identifier: Apache-2.0
//
// The rules that every exported function obeys, in one place: which calls are answered before the
// function runs (fork, exit, no backend, sticky error) and what becomes the last error afterwards.
// The generated wrappers (shim/api/generate.py) are the callers:
//
//     cudaError_t e = irt_api_enter(IRT_FN_cudaMalloc);
//     if (!e) {
//         e = irt_core_cudaMalloc(devPtr, size);
//     }
//     return irt_api_leave(IRT_FN_cudaMalloc, e);
//
// Functions marked `raw` in runtime.tsv (error getters, hidden registration, functions without a
// cudaError_t result) are called without enter and leave. The bodies are in shim/core.
#pragma once

#include <driver_types.h>

#include "irt_fn.h" // generated: enum irt_fn, irt_fn_names

// Before the function. cudaSuccess: go on. Anything else is the answer of the call:
//   - cudaErrorCudartUnloading (4) once process exit has begun to take the backend down;
//   - cudaErrorInitializationError (3) in a fork child, and for a call that re-enters while this
//     very thread chooses the backend;
//   - why no backend could be had (cudaErrorInsufficientDriver, cudaErrorNoDevice, …);
//   - the sticky error of the thread's current device.
// Any thread, no lock held by the caller; holds none on return.
cudaError_t irt_api_enter(enum irt_fn fn);

// The same for functions that need no backend (rule `noinit`): only the exit and fork answers.
cudaError_t irt_api_enter_noinit(enum irt_fn fn);

// After the function, also when enter refused: makes `error` this thread's last error when it is
// one (CUDA's exceptions, such as cudaErrorNotReady, are decided here and nowhere else) and returns
// what the application gets.
cudaError_t irt_api_leave(enum irt_fn fn, cudaError_t error);

// Names a missing function or feature once per process on stderr ("cudaGraphCreate is not
// supported by the cpu backend") and returns cudaErrorNotSupported (801). `name` has static
// storage; the last error is not touched (leave does that). Any thread.
cudaError_t irt_unsupported(const char *name);
