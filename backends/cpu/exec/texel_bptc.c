// SPDX-License-Identifier: Apache-2.0
//
// BC6H and BC7 blocks: not decoded yet, a fault of the kernel that names the format.
#include "texel_bptc.h"

#include "fault.h"

texel_float exec_bc7_decode(const unsigned char *block, unsigned index)
{
    exec_fault_leave(cudaErrorNotSupported, "BC7 texel %u at %p: not supported", index,
                     (const void *)block);
}

texel_float exec_bc6h_decode(const unsigned char *block, unsigned index, bool is_signed)
{
    exec_fault_leave(cudaErrorNotSupported, "BC6H texel %u at %p (%d): not supported", index,
                     (const void *)block, is_signed);
}
