// SPDX-License-Identifier: Apache-2.0
//
// Texture and surface objects with CUDA 11's descriptors, which are shorter than those of CUDA 13.
// Called by the generated wrappers only.
#include "irt_compat11.h"
#include "irt_core.h"

static cudaError_t create(cudaTextureObject_t *pTexObject,
                          const struct irt11_cudaResourceDesc *pResDesc,
                          const struct cudaTextureDesc *pTexDesc,
                          const struct irt11_cudaResourceViewDesc *pResViewDesc)
{
    struct cudaResourceDesc resource;
    struct cudaResourceViewDesc view;
    if (!pResDesc) {
        return cudaErrorInvalidValue;
    }
    irt11_cudaResourceDesc_to_13(&resource, pResDesc);
    if (pResViewDesc) {
        irt11_cudaResourceViewDesc_to_13(&view, pResViewDesc);
    }
    return irt_core_cudaCreateTextureObject(pTexObject, &resource, pTexDesc,
                                            pResViewDesc ? &view : NULL);
}

cudaError_t
irt_compat11_cudaCreateTextureObject(cudaTextureObject_t *pTexObject,
                                     const struct irt11_cudaResourceDesc *pResDesc,
                                     const struct irt11_cudaTextureDesc *pTexDesc,
                                     const struct irt11_cudaResourceViewDesc *pResViewDesc)
{
    struct cudaTextureDesc texture;
    if (!pTexDesc) {
        return cudaErrorInvalidValue;
    }
    irt11_cudaTextureDesc_to_13(&texture, pTexDesc);
    return create(pTexObject, pResDesc, &texture, pResViewDesc);
}

// CUDA 11's second version of the struct is the one of CUDA 12 and 13.
_Static_assert(sizeof(struct irt11_cudaTextureDesc_v2) == sizeof(struct cudaTextureDesc),
               "cudaTextureDesc_v2");

cudaError_t
irt_compat11_cudaCreateTextureObject_v2(cudaTextureObject_t *pTexObject,
                                        const struct irt11_cudaResourceDesc *pResDesc,
                                        const struct irt11_cudaTextureDesc_v2 *pTexDesc,
                                        const struct irt11_cudaResourceViewDesc *pResViewDesc)
{
    struct cudaTextureDesc texture;
    if (!pTexDesc) {
        return cudaErrorInvalidValue;
    }
    memcpy(&texture, pTexDesc, sizeof(texture));
    return create(pTexObject, pResDesc, &texture, pResViewDesc);
}

cudaError_t irt_compat11_cudaGetTextureObjectTextureDesc(struct irt11_cudaTextureDesc *pTexDesc,
                                                         cudaTextureObject_t texObject)
{
    struct cudaTextureDesc core;
    if (!pTexDesc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_core_cudaGetTextureObjectTextureDesc(&core, texObject);
    if (!error) {
        irt11_cudaTextureDesc_from_13(pTexDesc, &core);
    }
    return error;
}

cudaError_t
irt_compat11_cudaGetTextureObjectTextureDesc_v2(struct irt11_cudaTextureDesc_v2 *pTexDesc,
                                                cudaTextureObject_t texObject)
{
    struct cudaTextureDesc core;
    if (!pTexDesc) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_core_cudaGetTextureObjectTextureDesc(&core, texObject);
    if (!error) {
        memcpy(pTexDesc, &core, sizeof(core));
    }
    return error;
}
