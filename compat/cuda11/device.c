// SPDX-License-Identifier: Apache-2.0
//
// Kernel attributes in CUDA 11's struct. Called by the generated wrappers only.
#include "irt_compat11.h"
#include "irt_core.h"

cudaError_t irt_compat11_cudaFuncGetAttributes(struct irt11_cudaFuncAttributes *attr,
                                               const void *func)
{
    struct cudaFuncAttributes core;
    if (!attr) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_core_cudaFuncGetAttributes(&core, func);
    if (!e) {
        irt11_cudaFuncAttributes_from_13(attr, &core);
    }
    return e;
}
