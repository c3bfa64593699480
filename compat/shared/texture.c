// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects with CUDA 11 and 12's descriptors, which are shorter than those of
// CUDA 13. Called by the generated wrappers only.
#include "irt_core.h"
#include "major.h"

cudaError_t COMPAT(cudaCreateSurfaceObject)(cudaSurfaceObject_t *pSurfObject,
                                            const struct OLD(cudaResourceDesc) * pResDesc)
{
    struct cudaResourceDesc resource;
    if (!pResDesc) {
        return cudaErrorInvalidValue;
    }
    CONVERT(cudaResourceDesc, to_13)(&resource, pResDesc);
    return irt_core_cudaCreateSurfaceObject(pSurfObject, &resource);
}

cudaError_t COMPAT(cudaGetTextureObjectResourceDesc)(struct OLD(cudaResourceDesc) * pResDesc,
                                                     cudaTextureObject_t texObject)
{
    struct cudaResourceDesc core;
    if (!pResDesc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_core_cudaGetTextureObjectResourceDesc(&core, texObject);
    if (!error) {
        CONVERT(cudaResourceDesc, from_13)(pResDesc, &core);
    }
    return error;
}

cudaError_t COMPAT(cudaGetTextureObjectResourceViewDesc)(struct OLD(cudaResourceViewDesc) *
                                                             pResViewDesc,
                                                         cudaTextureObject_t texObject)
{
    struct cudaResourceViewDesc core;
    if (!pResViewDesc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_core_cudaGetTextureObjectResourceViewDesc(&core, texObject);
    if (!error) {
        CONVERT(cudaResourceViewDesc, from_13)(pResViewDesc, &core);
    }
    return error;
}

cudaError_t COMPAT(cudaGetSurfaceObjectResourceDesc)(struct OLD(cudaResourceDesc) * pResDesc,
                                                     cudaSurfaceObject_t surfObject)
{
    struct cudaResourceDesc core;
    if (!pResDesc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_core_cudaGetSurfaceObjectResourceDesc(&core, surfObject);
    if (!error) {
        CONVERT(cudaResourceDesc, from_13)(pResDesc, &core);
    }
    return error;
}
