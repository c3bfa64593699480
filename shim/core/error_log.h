// SPDX-License-Identifier: Apache-2.0
//
// CUDA's error log: one line for each call that failed and for each of our own errors and warnings,
// kept in a buffer, written to CUDA_LOG_FILE and told to callbacks of the application.
// Source: CUDA Programming Guide, "Error Log Management"; CUDA Runtime API, cudaLogs….
#pragma once

#include <stdatomic.h>

#include <driver_types.h>

// True while lines wait for the application's callbacks; read before irt_error_log_deliver.
extern _Atomic _Bool irt_error_log_pending;

// Adds "Returning <code> (<name>) from <function>" and calls the callbacks. Any thread, no ranked
// lock held. Called by irt_api_leave.
void irt_error_log_call(const char *function, cudaError_t error);

// Calls the callbacks for lines that were logged where no callback may be called. No lock held.
void irt_error_log_deliver(void);

// Lets errors and warnings of shim/util/log.h flow into the log too. Once, by the choice of the
// backend.
void irt_error_log_setup(void);
