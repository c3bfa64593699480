// SPDX-License-Identifier: Apache-2.0
//
// The last error of each thread, as cudaGetLastError and cudaPeekAtLastError see it. Set by
// irt_api_leave; the functions here are for code that runs application callbacks on borrowed
// threads and must leave no trace. Sticky errors are kept per device (device.h).
#pragma once

#include <driver_types.h>

// The calling thread's last error, without clearing it and without the sticky error.
cudaError_t irt_error_peek(void);

// Replaces it.
void irt_error_set_last(cudaError_t error);
