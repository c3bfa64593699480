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

cudaError_t irt_compat12_cudaCreateSurfaceObject(cudaSurfaceObject_t *pSurfObject,
                                                 const struct irt12_cudaResourceDesc *pResDesc)
{
    struct cudaResourceDesc resource;
    if (!pResDesc) {
        return cudaErrorInvalidValue;
    }
    irt12_cudaResourceDesc_to_13(&resource, pResDesc);
    return irt_core_cudaCreateSurfaceObject(pSurfObject, &resource);
}

cudaError_t irt_compat12_cudaGetTextureObjectResourceDesc(struct irt12_cudaResourceDesc *pResDesc,
                                                          cudaTextureObject_t texObject)
{
    struct cudaResourceDesc core;
    if (!pResDesc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_core_cudaGetTextureObjectResourceDesc(&core, texObject);
    if (!error) {
        irt12_cudaResourceDesc_from_13(pResDesc, &core);
    }
    return error;
}

cudaError_t
irt_compat12_cudaGetTextureObjectResourceViewDesc(struct irt12_cudaResourceViewDesc *pResViewDesc,
                                                  cudaTextureObject_t texObject)
{
    struct cudaResourceViewDesc core;
    if (!pResViewDesc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_core_cudaGetTextureObjectResourceViewDesc(&core, texObject);
    if (!error) {
        irt12_cudaResourceViewDesc_from_13(pResViewDesc, &core);
    }
    return error;
}

cudaError_t irt_compat12_cudaGetSurfaceObjectResourceDesc(struct irt12_cudaResourceDesc *pResDesc,
                                                          cudaSurfaceObject_t surfObject)
{
    struct cudaResourceDesc core;
    if (!pResDesc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_core_cudaGetSurfaceObjectResourceDesc(&core, surfObject);
    if (!error) {
        irt12_cudaResourceDesc_from_13(pResDesc, &core);
    }
    return error;
}
