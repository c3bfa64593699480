// SPDX-License-Identifier: Apache-2.0
//
// Functions of stream capture whose signature of CUDA 11 CUDA 13 has changed.
#include "irt_compat11.h"
#include "irt_core.h"

cudaError_t irt_compat11_cudaStreamGetCaptureInfo(cudaStream_t stream,
                                                  enum cudaStreamCaptureStatus *pCaptureStatus,
                                                  unsigned long long *pId)
{
    return irt_core_cudaStreamGetCaptureInfo(stream, pCaptureStatus, pId, NULL, NULL, NULL, NULL);
}

cudaError_t irt_compat11_cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                             cudaGraphNode_t *dependencies,
                                                             size_t numDependencies,
                                                             unsigned int flags)
{
    return irt_core_cudaStreamUpdateCaptureDependencies(stream, dependencies, NULL, numDependencies,
                                                        flags);
}

cudaError_t irt_compat11_cudaStreamGetCaptureInfo_v2(
    cudaStream_t stream, enum cudaStreamCaptureStatus *captureStatus_out,
    unsigned long long *id_out, cudaGraph_t *graph_out, const cudaGraphNode_t **dependencies_out,
    size_t *numDependencies_out)
{
    return irt_core_cudaStreamGetCaptureInfo(stream, captureStatus_out, id_out, graph_out,
                                             dependencies_out, NULL, numDependencies_out);
}
