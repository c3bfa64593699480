// SPDX-License-Identifier: Apache-2.0
//
// Device resources (CUDA 13.1): multiprocessors, which can be split, and work queues, which cannot.
// A cudaDevResource is a value that the application copies about, so it carries what it stands for
// in its padding, with a mark that only we write. Source: CUDA Runtime API 13.1,
// cudaDevSmResource….
#pragma once

#include <stdbool.h>

#include "foreign.h"
#include "shim/core/device.h"

// Multiprocessors `first` … `first + count - 1` of a device.
struct irt_resources {
    int device; // ordinal
    unsigned first, count;
    unsigned queues; // concurrent streams that the application expects (wqConcurrencyLimit)
    enum cudaDevWorkqueueConfigScope scope;
};

// Fills in a resource of that type. cudaErrorInvalidResourceType for types that there are not.
cudaError_t irt_resource_describe(const struct irt_resources *resources,
                                  enum cudaDevResourceType type, cudaDevResource *ret_resource);

// The resources behind a descriptor of cudaDevResourceGenerateDesc. False when it is none.
bool irt_resource_of_desc(cudaDevResourceDesc_t desc, struct irt_resources *ret_resources);
