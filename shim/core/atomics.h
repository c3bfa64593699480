// SPDX-License-Identifier: Apache-2.0
//
// What atomic operations over a link can do, for links to the host and between devices.
#pragma once

#include <driver_types.h>

// Writes for each of the `count` operations the mask of enum cudaAtomicOperationCapability that the
// link performs natively: what PTX `atom` and `red` have on a scalar, or nothing when the link has
// no native atomics. cudaErrorInvalidValue for NULL, 0 operations and unknown ones; nothing is
// written then. Any thread. Source: CUDA Runtime API 13, cudaDeviceGetHostAtomicCapabilities; PTX
// ISA, atom.
cudaError_t irt_atomic_capabilities(unsigned int *ret_capabilities,
                                    const enum cudaAtomicOperation *operations, unsigned int count,
                                    int native);
