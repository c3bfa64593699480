// SPDX-License-Identifier: Apache-2.0
//
// From the structures and arguments of one node type to struct cudaGraphNodeParams (node_given.h).
#include "shim/graph/node_given.h"

#include <string.h>

#include "shim/core/copy.h"
#include "shim/core/module.h"

static struct cudaGraphNodeParams *begin(struct cudaGraphNodeParams *ret,
                                         enum cudaGraphNodeType type)
{
    memset(ret, 0, sizeof(*ret));
    ret->type = type;
    return ret;
}

cudaError_t irt_given_kernel(const struct cudaKernelNodeParams *params,
                             struct cudaGraphNodeParams *ret)
{
    if (!params) {
        return cudaErrorInvalidValue;
    }
    struct cudaKernelNodeParamsV2 *to = &begin(ret, cudaGraphNodeTypeKernel)->kernel;
    to->func = params->func;
    to->gridDim = params->gridDim;
    to->blockDim = params->blockDim;
    to->sharedMemBytes = params->sharedMemBytes;
    to->kernelParams = params->kernelParams;
    to->extra = params->extra;
    return cudaSuccess;
}

cudaError_t irt_given_copy(const struct cudaMemcpy3DParms *params, struct cudaGraphNodeParams *ret)
{
    if (!params) {
        return cudaErrorInvalidValue;
    }
    begin(ret, cudaGraphNodeTypeMemcpy)->memcpy.copyParams = *params;
    return cudaSuccess;
}

cudaError_t irt_given_copy_1d(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                              struct cudaGraphNodeParams *ret)
{
    cudaError_t e = irt_copy_check_kind(kind);
    if (e) {
        return e;
    }
    begin(ret, cudaGraphNodeTypeMemcpy)->memcpy.copyParams = (struct cudaMemcpy3DParms){
        .dstPtr = {.ptr = dst, .pitch = count, .xsize = count, .ysize = 1},
        .srcPtr = {.ptr = (void *)src, .pitch = count, .xsize = count, .ysize = 1},
        .extent = {.width = count, .height = 1, .depth = 1},
        .kind = kind};
    return cudaSuccess;
}

cudaError_t irt_given_copy_to_symbol(const void *symbol, const void *src, size_t count,
                                     size_t offset, enum cudaMemcpyKind kind,
                                     struct cudaGraphNodeParams *ret)
{
    char *start;
    cudaError_t e = irt_symbol_check_kind(kind, true);
    if (!e) {
        e = irt_symbol_range(symbol, count, offset, &start);
    }
    return e ? e : irt_given_copy_1d(start, src, count, kind, ret);
}

cudaError_t irt_given_copy_from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                                       enum cudaMemcpyKind kind, struct cudaGraphNodeParams *ret)
{
    char *start;
    cudaError_t e = irt_symbol_check_kind(kind, false);
    if (!e) {
        e = irt_symbol_range(symbol, count, offset, &start);
    }
    return e ? e : irt_given_copy_1d(dst, start, count, kind, ret);
}

cudaError_t irt_given_fill(const struct cudaMemsetParams *params, struct cudaGraphNodeParams *ret)
{
    if (!params) {
        return cudaErrorInvalidValue;
    }
    struct cudaMemsetParamsV2 *to = &begin(ret, cudaGraphNodeTypeMemset)->memset;
    to->dst = params->dst;
    to->pitch = params->pitch;
    to->value = params->value;
    to->elementSize = params->elementSize;
    to->width = params->width;
    to->height = params->height;
    return cudaSuccess;
}

cudaError_t irt_given_host(const struct cudaHostNodeParams *params, struct cudaGraphNodeParams *ret)
{
    if (!params) {
        return cudaErrorInvalidValue;
    }
    begin(ret, cudaGraphNodeTypeHost);
    ret->host.fn = params->fn;
    ret->host.userData = params->userData;
    return cudaSuccess;
}

cudaError_t irt_given_event(bool record, cudaEvent_t event, struct cudaGraphNodeParams *ret)
{
    if (record) {
        begin(ret, cudaGraphNodeTypeEventRecord)->eventRecord.event = event;
    } else {
        begin(ret, cudaGraphNodeTypeWaitEvent)->eventWait.event = event;
    }
    return cudaSuccess;
}

cudaError_t irt_given_child(cudaGraph_t child, struct cudaGraphNodeParams *ret)
{
    begin(ret, cudaGraphNodeTypeGraph)->graph.graph = child;
    return cudaSuccess;
}

cudaError_t irt_given_signal(const struct cudaExternalSemaphoreSignalNodeParams *params,
                             struct cudaGraphNodeParams *ret)
{
    if (!params) {
        return cudaErrorInvalidValue;
    }
    memcpy(&begin(ret, cudaGraphNodeTypeExtSemaphoreSignal)->extSemSignal, params, sizeof(*params));
    return cudaSuccess;
}

cudaError_t irt_given_wait(const struct cudaExternalSemaphoreWaitNodeParams *params,
                           struct cudaGraphNodeParams *ret)
{
    if (!params) {
        return cudaErrorInvalidValue;
    }
    memcpy(&begin(ret, cudaGraphNodeTypeExtSemaphoreWait)->extSemWait, params, sizeof(*params));
    return cudaSuccess;
}
