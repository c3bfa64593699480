// SPDX-License-Identifier: Apache-2.0
//
// __device__ and __constant__ variables by their symbol: address, size, copies. Finding a symbol,
// which may load its module, is module.c's.
#include "irt_core.h"
#include "shim/core/copy.h"
#include "shim/core/module.h"

cudaError_t irt_core_cudaGetSymbolAddress(void **devPtr, const void *symbol)
{
    void *ptr;
    size_t size;
    if (!devPtr) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_symbol_find(symbol, irt_device_current(), &ptr, &size);
    if (!error) {
        *devPtr = ptr;
    }
    return error;
}

cudaError_t irt_core_cudaGetSymbolSize(size_t *size, const void *symbol)
{
    void *ptr;
    size_t bytes;
    if (!size) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_symbol_find(symbol, irt_device_current(), &ptr, &bytes);
    if (!error) {
        *size = bytes;
    }
    return error;
}

cudaError_t irt_symbol_check_kind(enum cudaMemcpyKind kind, bool to_symbol)
{
    enum cudaMemcpyKind host = to_symbol ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
    return kind == host || kind == cudaMemcpyDeviceToDevice || kind == cudaMemcpyDefault
               ? cudaSuccess
               : cudaErrorInvalidMemcpyDirection;
}

cudaError_t irt_symbol_range(const void *symbol, size_t count, size_t offset, char **ret_start)
{
    void *ptr;
    size_t size;
    cudaError_t error = irt_symbol_find(symbol, irt_device_current(), &ptr, &size);
    if (error) {
        return error;
    }
    if (offset > size || count > size - offset) {
        return cudaErrorInvalidValue;
    }
    *ret_start = (char *)ptr + offset;
    return cudaSuccess;
}

static cudaError_t copy(void *dst, const void *src, size_t count, enum cudaMemcpyKind kind,
                        cudaStream_t stream, enum irt_copy_mode mode)
{
    struct irtb_copy box = {.dst = dst,
                            .src = src,
                            .width = count,
                            .height = 1,
                            .depth = 1,
                            .dst_pitch = count,
                            .src_pitch = count};
    return irt_copy_run(&box, kind, stream, mode);
}

static cudaError_t to_symbol(const void *symbol, const void *src, size_t count, size_t offset,
                             enum cudaMemcpyKind kind, cudaStream_t stream, enum irt_copy_mode mode)
{
    char *start;
    cudaError_t error = irt_symbol_check_kind(kind, true);
    if (!error) {
        error = irt_symbol_range(symbol, count, offset, &start);
    }
    return error ? error : copy(start, src, count, kind, stream, mode);
}

static cudaError_t from_symbol(void *dst, const void *symbol, size_t count, size_t offset,
                               enum cudaMemcpyKind kind, cudaStream_t stream,
                               enum irt_copy_mode mode)
{
    char *start;
    cudaError_t error = irt_symbol_check_kind(kind, false);
    if (!error) {
        error = irt_symbol_range(symbol, count, offset, &start);
    }
    return error ? error : copy(dst, start, count, kind, stream, mode);
}

cudaError_t irt_core_cudaMemcpyToSymbol(const void *symbol, const void *src, size_t count,
                                        size_t offset, enum cudaMemcpyKind kind,
                                        cudaStream_t default_stream)
{
    return to_symbol(symbol, src, count, offset, kind, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemcpyToSymbolAsync(const void *symbol, const void *src, size_t count,
                                             size_t offset, enum cudaMemcpyKind kind,
                                             cudaStream_t stream)
{
    return to_symbol(symbol, src, count, offset, kind, stream, IRT_COPY_ASYNC);
}

cudaError_t irt_core_cudaMemcpyFromSymbol(void *dst, const void *symbol, size_t count,
                                          size_t offset, enum cudaMemcpyKind kind,
                                          cudaStream_t default_stream)
{
    return from_symbol(dst, symbol, count, offset, kind, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_core_cudaMemcpyFromSymbolAsync(void *dst, const void *symbol, size_t count,
                                               size_t offset, enum cudaMemcpyKind kind,
                                               cudaStream_t stream)
{
    return from_symbol(dst, symbol, count, offset, kind, stream, IRT_COPY_ASYNC);
}
