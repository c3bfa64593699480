// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects with CUDA 12's descriptors, which are shorter than those of CUDA 13.
// Called by the generated wrappers only.
#include "irt_compat12.h"
#include "irt_core.h"

cudaError_t irt_compat12_cudaCreateTextureObject(
    cudaTextureObject_t *pTexObject, const struct irt12_cudaResourceDesc *pResDesc,
    const struct cudaTextureDesc *pTexDesc, const struct irt12_cudaResourceViewDesc *pResViewDesc)
{
    struct cudaResourceDesc resource;
    struct cudaResourceViewDesc view;
    if (!pResDesc) {
        return cudaErrorInvalidValue;
    }
    irt12_cudaResourceDesc_to_13(&resource, pResDesc);
    if (pResViewDesc) {
        irt12_cudaResourceViewDesc_to_13(&view, pResViewDesc);
    }
    return irt_core_cudaCreateTextureObject(pTexObject, &resource, pTexDesc,
                                            pResViewDesc ? &view : NULL);
}
