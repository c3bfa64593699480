// SPDX-License-Identifier: Apache-2.0
//
// Functions of stream capture whose signature CUDA 13 changed.
#include "irt_core.h"
#include "major.h"

cudaError_t COMPAT(cudaStreamGetCaptureInfo)(cudaStream_t stream,
                                             enum cudaStreamCaptureStatus *pCaptureStatus,
                                             unsigned long long *pId)
{
    return irt_core_cudaStreamGetCaptureInfo(stream, pCaptureStatus, pId, NULL, NULL, NULL, NULL);
}

cudaError_t COMPAT(cudaStreamUpdateCaptureDependencies)(cudaStream_t stream,
                                                        cudaGraphNode_t *dependencies,
                                                        size_t numDependencies, unsigned int flags)
{
    return irt_core_cudaStreamUpdateCaptureDependencies(stream, dependencies, NULL, numDependencies,
                                                        flags);
}

cudaError_t COMPAT(cudaStreamGetCaptureInfo_v2)(cudaStream_t stream,
                                                enum cudaStreamCaptureStatus *captureStatus_out,
                                                unsigned long long *id_out, cudaGraph_t *graph_out,
                                                const cudaGraphNode_t **dependencies_out,
                                                size_t *numDependencies_out)
{
    return irt_core_cudaStreamGetCaptureInfo(stream, captureStatus_out, id_out, graph_out,
                                             dependencies_out, NULL, numDependencies_out);
}
