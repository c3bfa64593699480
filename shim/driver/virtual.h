// SPDX-License-Identifier: Apache-2.0
//
// Virtual memory management (cuMem…): physical memory behind handles, reserved addresses, and what
// is mapped where with which access. Mappings are in the map of memory.h as IRT_MEMORY_VIRTUAL, so
// that copies and pointer attributes know them.
#pragma once

#include <cuda.h>

#include <stdbool.h>
#include <stddef.h>

#include "shim/core/device.h"

struct irt_virtual_info {
    void *reserved; // the reservation that holds the address
    size_t reserved_size;
    unsigned long long handle_types; // of the memory mapped there, 0 when nothing is
};

// What is reserved at the address. False: nothing. Any thread.
bool irt_virtual_find(CUdeviceptr address, struct irt_virtual_info *ret_info);

// The access that `device` has at the address: CUmemAccess_flags.
unsigned irt_virtual_access(CUdeviceptr address, const struct irt_device *device);
