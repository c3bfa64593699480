// SPDX-License-Identifier: Apache-2.0
//
// Memory, copies and fills of the driver API: the runtime's, by the addresses as numbers. Source:
// CUDA Driver API, "Memory Management", "Unified Addressing", "Stream Ordered Memory Allocator".
#include <stdint.h>
#include <string.h>

#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/core/copy.h"
#include "shim/core/memory.h"
#include "shim/core/pool.h"
#include "shim/dispatch/backend.h"
#include "shim/driver/array.h"
#include "shim/driver/driver.h"
#include "shim/driver/virtual.h"

static void *pointer(CUdeviceptr address)
{
    return (void *)(uintptr_t)address;
}

// ---- allocating ----

cudaError_t irt_driver_cuMemGetInfo_v2(size_t *free, size_t *total)
{
    return free && total ? irt_core_cudaMemGetInfo(free, total) : cudaErrorInvalidValue;
}

// "If bytesize is 0, cuMemAlloc() returns CUDA_ERROR_INVALID_VALUE."
cudaError_t irt_driver_cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize)
{
    return bytesize ? irt_core_cudaMalloc((void **)dptr, bytesize) : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuMemAllocPitch_v2(CUdeviceptr *dptr, size_t *pPitch, size_t WidthInBytes,
                                          size_t Height, unsigned int ElementSizeBytes)
{
    if ((ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16) ||
        !WidthInBytes || !Height) {
        return cudaErrorInvalidValue;
    }
    return irt_core_cudaMallocPitch((void **)dptr, pPitch, WidthInBytes, Height);
}

cudaError_t irt_driver_cuMemGetAddressRange_v2(CUdeviceptr *pbase, size_t *psize, CUdeviceptr dptr)
{
    struct irt_memory memory;
    if (!irt_memory_find(pointer(dptr), &memory)) {
        return cudaErrorSymbolNotFound;
    }
    if (pbase) {
        *pbase = (uintptr_t)memory.device_start;
    }
    if (psize) {
        *psize = memory.size;
    }
    return cudaSuccess;
}

cudaError_t irt_driver_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return bytesize ? irt_core_cudaMallocHost(pp, bytesize) : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuMemFreeHost(void *p)
{
    return p ? irt_core_cudaFreeHost(p) : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuMemHostAlloc(void **pp, size_t bytesize, unsigned int Flags)
{
    return bytesize ? irt_core_cudaHostAlloc(pp, bytesize, Flags) : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuMemAllocAsync(CUdeviceptr *dptr, size_t bytesize, CUstream hStream)
{
    return bytesize ? irt_core_cudaMallocAsync((void **)dptr, bytesize, hStream)
                    : cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuMemAllocFromPoolAsync(CUdeviceptr *dptr, size_t bytesize,
                                               CUmemoryPool pool, CUstream hStream)
{
    return bytesize ? irt_core_cudaMallocFromPoolAsync((void **)dptr, bytesize, pool, hStream)
                    : cudaErrorInvalidValue;
}

// ---- what an address is ----

static CUmemorytype memory_type(const struct irt_memory *memory)
{
    switch (memory->type) {
    case IRT_MEMORY_HOST:
    case IRT_MEMORY_REGISTERED:
        return CU_MEMORYTYPE_HOST;
    default:
        return CU_MEMORYTYPE_DEVICE; // managed memory is "device" with IS_MANAGED
    }
}

static bool managed(const struct irt_memory *memory)
{
    return memory->type == IRT_MEMORY_MANAGED || memory->type == IRT_MEMORY_MANAGED_VARIABLE;
}

// Writes a value of the attribute's type to `data`. Those that are unknown to a piece of memory are
// errors here and zero in cuPointerGetAttributes.
static cudaError_t write_attribute(void *data, CUpointer_attribute attribute, CUdeviceptr ptr,
                                   const struct irt_memory *memory)
{
    bool host_side = ptr - (uintptr_t)memory->start < memory->size;
    size_t offset = ptr - (uintptr_t)(host_side ? memory->start : memory->device_start);
    struct irt_virtual_info place;
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        *(CUcontext *)data = irt_context_of(memory->device);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)data = memory_type(memory);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)data = (uintptr_t)memory->device_start + offset;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (irt_memory_on_device(memory)) {
            return cudaErrorInvalidValue;
        }
        *(void **)data = (char *)memory->start + offset;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)data = irt_device_sync_memops(memory->device);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)data = memory->id;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)data = managed(memory);
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)data = memory->device->ordinal;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
        *(int *)data = memory->type == IRT_MEMORY_DEVICE && irt_backend()->memory_export;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(void **)data = irt_virtual_find(ptr, &place) ? place.reserved : memory->start;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = irt_virtual_find(ptr, &place) ? place.reserved_size : memory->size;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)data = 1;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)data = irt_virtual_find(ptr, &place) ? place.handle_types : 0;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(int *)data = 0;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)data = irt_virtual_find(ptr, &place)
                                ? irt_virtual_access(ptr, irt_device_current())
                                : CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)data = memory->block ? memory->block->pool->handle : NULL;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)data = memory->size;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(void **)data = memory->start;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return cudaErrorNotSupported;
    }
    return cudaErrorInvalidValue;
}

cudaError_t irt_driver_cuPointerGetAttribute(void *data, CUpointer_attribute attribute,
                                             CUdeviceptr ptr)
{
    struct irt_memory memory;
    if (!data) {
        return cudaErrorInvalidValue;
    }
    if (irt_memory_find(pointer(ptr), &memory)) {
        return write_attribute(data, attribute, ptr, &memory);
    }
    struct irt_virtual_info place;
    if (!irt_virtual_find(ptr, &place)) {
        return cudaErrorInvalidValue;
    }
    // Reserved, but nothing is mapped there.
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(int *)data = 0;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
        *(void **)data = place.reserved;
        return cudaSuccess;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
        *(size_t *)data = place.reserved_size;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

static size_t attribute_size(CUpointer_attribute attribute)
{
    switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        return 4;
    default:
        return 8;
    }
}

// "Unlike cuPointerGetAttribute, this function will not return an error when the ptr encountered is
// not a valid CUDA pointer. Instead, the attributes are assigned default NULL values".
cudaError_t irt_driver_cuPointerGetAttributes(unsigned int numAttributes,
                                              CUpointer_attribute *attributes, void **data,
                                              CUdeviceptr ptr)
{
    if (!numAttributes || !attributes || !data) {
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < numAttributes; i++) {
        if ((unsigned)attributes[i] < CU_POINTER_ATTRIBUTE_CONTEXT ||
            (unsigned)attributes[i] > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE ||
            attributes[i] == CU_POINTER_ATTRIBUTE_P2P_TOKENS || !data[i]) {
            return cudaErrorInvalidValue;
        }
    }
    for (unsigned i = 0; i < numAttributes; i++) {
        if (irt_driver_cuPointerGetAttribute(data[i], attributes[i], ptr)) {
            memset(data[i], 0, attribute_size(attributes[i]));
            if (attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) {
                *(int *)data[i] = CU_DEVICE_INVALID;
            }
        }
    }
    return cudaSuccess;
}

// Only SYNC_MEMOPS can be set: a boolean that has to hold for one allocation, where the runtime
// here has it per device only (cudaDeviceSyncMemops).
cudaError_t irt_driver_cuPointerSetAttribute(const void *value, CUpointer_attribute attribute,
                                             CUdeviceptr ptr)
{
    struct irt_memory memory;
    if (!value || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS) {
        return cudaErrorInvalidValue;
    }
    if (!irt_memory_find(pointer(ptr), &memory)) {
        return cudaErrorInvalidDevice;
    }
    if (*(const unsigned *)value) {
        atomic_fetch_or(&memory.device->flags, cudaDeviceSyncMemops); // more than was asked for
    }
    return cudaSuccess;
}

// ---- copies ----

cudaError_t irt_driver_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
                                cudaStream_t default_stream)
{
    return irt_core_cudaMemcpy(pointer(dst), pointer(src), ByteCount, cudaMemcpyDefault,
                               default_stream);
}

cudaError_t irt_driver_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t ByteCount,
                                     CUstream hStream)
{
    return irt_core_cudaMemcpyAsync(pointer(dst), pointer(src), ByteCount, cudaMemcpyDefault,
                                    hStream);
}

static cudaError_t peers(CUcontext dst, CUcontext src, struct irt_device **ret_dst,
                         struct irt_device **ret_src)
{
    *ret_dst = irt_context_device(dst);
    *ret_src = irt_context_device(src);
    return *ret_dst && *ret_src ? cudaSuccess : cudaErrorDeviceUninitialized;
}

cudaError_t irt_driver_cuMemcpyPeer(CUdeviceptr dstDevice, CUcontext dstContext,
                                    CUdeviceptr srcDevice, CUcontext srcContext, size_t ByteCount,
                                    cudaStream_t default_stream)
{
    struct irt_device *dst;
    struct irt_device *src;
    (void)default_stream; // the copy is ordered after everything on both devices
    cudaError_t e = peers(dstContext, srcContext, &dst, &src);
    return e ? e
             : irt_core_cudaMemcpyPeer(pointer(dstDevice), dst->ordinal, pointer(srcDevice),
                                       src->ordinal, ByteCount);
}

cudaError_t irt_driver_cuMemcpyPeerAsync(CUdeviceptr dstDevice, CUcontext dstContext,
                                         CUdeviceptr srcDevice, CUcontext srcContext,
                                         size_t ByteCount, CUstream hStream)
{
    struct irt_device *dst;
    struct irt_device *src;
    cudaError_t e = peers(dstContext, srcContext, &dst, &src);
    return e ? e
             : irt_core_cudaMemcpyPeerAsync(pointer(dstDevice), dst->ordinal, pointer(srcDevice),
                                            src->ordinal, ByteCount, hStream);
}

cudaError_t irt_driver_cuMemcpyHtoD_v2(CUdeviceptr dstDevice, const void *srcHost, size_t ByteCount,
                                       cudaStream_t default_stream)
{
    return irt_core_cudaMemcpy(pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice,
                               default_stream);
}

cudaError_t irt_driver_cuMemcpyDtoH_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                       cudaStream_t default_stream)
{
    return irt_core_cudaMemcpy(dstHost, pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost,
                               default_stream);
}

cudaError_t irt_driver_cuMemcpyDtoD_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                       size_t ByteCount, cudaStream_t default_stream)
{
    return irt_core_cudaMemcpy(pointer(dstDevice), pointer(srcDevice), ByteCount,
                               cudaMemcpyDeviceToDevice, default_stream);
}

cudaError_t irt_driver_cuMemcpyHtoDAsync_v2(CUdeviceptr dstDevice, const void *srcHost,
                                            size_t ByteCount, CUstream hStream)
{
    return irt_core_cudaMemcpyAsync(pointer(dstDevice), srcHost, ByteCount, cudaMemcpyHostToDevice,
                                    hStream);
}

cudaError_t irt_driver_cuMemcpyDtoHAsync_v2(void *dstHost, CUdeviceptr srcDevice, size_t ByteCount,
                                            CUstream hStream)
{
    return irt_core_cudaMemcpyAsync(dstHost, pointer(srcDevice), ByteCount, cudaMemcpyDeviceToHost,
                                    hStream);
}

cudaError_t irt_driver_cuMemcpyDtoDAsync_v2(CUdeviceptr dstDevice, CUdeviceptr srcDevice,
                                            size_t ByteCount, CUstream hStream)
{
    return irt_core_cudaMemcpyAsync(pointer(dstDevice), pointer(srcDevice), ByteCount,
                                    cudaMemcpyDeviceToDevice, hStream);
}

// The first byte of one side of a 2D copy that has no array.
static cudaError_t side_2d(CUmemorytype type, const void *host, CUdeviceptr device, size_t x,
                           size_t y, size_t pitch, void **ret_start, bool *ret_host)
{
    size_t offset;
    if (__builtin_mul_overflow(y, pitch, &offset) || __builtin_add_overflow(offset, x, &offset)) {
        return cudaErrorInvalidValue;
    }
    *ret_host = type == CU_MEMORYTYPE_HOST;
    switch (type) {
    case CU_MEMORYTYPE_HOST:
        *ret_start = (char *)(uintptr_t)host + offset;
        return cudaSuccess;
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED:
        *ret_start = (char *)pointer(device) + offset;
        return cudaSuccess;
    case CU_MEMORYTYPE_ARRAY:
        break;
    }
    return cudaErrorInvalidValue;
}

static cudaError_t copy_with_array(const CUDA_MEMCPY2D *copy, cudaStream_t stream,
                                   enum irt_copy_mode mode)
{
    const CUDA_MEMCPY3D whole = {
        .srcXInBytes = copy->srcXInBytes,
        .srcY = copy->srcY,
        .srcMemoryType = copy->srcMemoryType,
        .srcHost = copy->srcHost,
        .srcDevice = copy->srcDevice,
        .srcArray = copy->srcArray,
        .srcPitch = copy->srcPitch,
        .dstXInBytes = copy->dstXInBytes,
        .dstY = copy->dstY,
        .dstMemoryType = copy->dstMemoryType,
        .dstHost = copy->dstHost,
        .dstDevice = copy->dstDevice,
        .dstArray = copy->dstArray,
        .dstPitch = copy->dstPitch,
        .WidthInBytes = copy->WidthInBytes,
        .Height = copy->Height,
        .Depth = 1,
    };
    return irt_driver_copy_3d(&whole, stream, mode);
}

static cudaError_t copy_2d(const CUDA_MEMCPY2D *copy, cudaStream_t stream, enum irt_copy_mode mode)
{
    void *dst = NULL;
    void *src = NULL;
    bool dst_host = false;
    bool src_host = false;
    if (!copy) {
        return cudaErrorInvalidValue;
    }
    if (copy->dstMemoryType == CU_MEMORYTYPE_ARRAY || copy->srcMemoryType == CU_MEMORYTYPE_ARRAY) {
        return copy_with_array(copy, stream, mode);
    }
    // "If specified": a pitch of 0 stands for rows without gaps.
    size_t dst_pitch = copy->dstPitch ? copy->dstPitch : copy->WidthInBytes + copy->dstXInBytes;
    size_t src_pitch = copy->srcPitch ? copy->srcPitch : copy->WidthInBytes + copy->srcXInBytes;
    if (copy->WidthInBytes + copy->dstXInBytes > dst_pitch ||
        copy->WidthInBytes + copy->srcXInBytes > src_pitch) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = side_2d(copy->dstMemoryType, copy->dstHost, copy->dstDevice, copy->dstXInBytes,
                            copy->dstY, dst_pitch, &dst, &dst_host);
    if (!e) {
        e = side_2d(copy->srcMemoryType, copy->srcHost, copy->srcDevice, copy->srcXInBytes,
                    copy->srcY, src_pitch, &src, &src_host);
    }
    if (e) {
        return e;
    }
    const struct irtb_copy box = {.dst = dst,
                                  .src = src,
                                  .width = copy->WidthInBytes,
                                  .height = copy->Height,
                                  .depth = 1,
                                  .dst_pitch = dst_pitch,
                                  .src_pitch = src_pitch};
    bool unified = copy->dstMemoryType == CU_MEMORYTYPE_UNIFIED ||
                   copy->srcMemoryType == CU_MEMORYTYPE_UNIFIED;
    enum cudaMemcpyKind kind = unified ? cudaMemcpyDefault
                               : dst_host
                                   ? (src_host ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost)
                               : src_host ? cudaMemcpyHostToDevice
                                          : cudaMemcpyDeviceToDevice;
    return irt_copy_run(&box, kind, stream, mode);
}

cudaError_t irt_driver_cuMemcpy2D_v2(const CUDA_MEMCPY2D *pCopy, cudaStream_t default_stream)
{
    return copy_2d(pCopy, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *pCopy,
                                              cudaStream_t default_stream)
{
    return copy_2d(pCopy, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *pCopy, CUstream hStream)
{
    return copy_2d(pCopy, hStream, IRT_COPY_ASYNC);
}

// ---- fills ----

static cudaError_t fill(CUdeviceptr dst, size_t pitch, uint32_t value, unsigned size, size_t width,
                        size_t height, cudaStream_t stream, enum irt_copy_mode mode)
{
    if (dst % size || (height > 1 && pitch % size)) {
        return cudaErrorInvalidValue;
    }
    const struct irtb_fill box = {.dst = pointer(dst),
                                  .value = value,
                                  .element_size = size,
                                  .width = width,
                                  .height = height,
                                  .depth = 1,
                                  .pitch = pitch};
    return irt_fill_run(&box, stream, mode);
}

cudaError_t irt_driver_cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                     cudaStream_t default_stream)
{
    return fill(dstDevice, 0, uc, 1, N, 1, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                      cudaStream_t default_stream)
{
    return fill(dstDevice, 0, us, 2, N, 1, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                      cudaStream_t default_stream)
{
    return fill(dstDevice, 0, ui, 4, N, 1, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                       size_t Width, size_t Height, cudaStream_t default_stream)
{
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                        size_t Width, size_t Height, cudaStream_t default_stream)
{
    return fill(dstDevice, dstPitch, us, 2, Width, Height, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                        size_t Width, size_t Height, cudaStream_t default_stream)
{
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, default_stream, IRT_COPY_BLOCKING);
}

cudaError_t irt_driver_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                       CUstream hStream)
{
    return fill(dstDevice, 0, uc, 1, N, 1, hStream, IRT_COPY_ASYNC);
}

cudaError_t irt_driver_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                        CUstream hStream)
{
    return fill(dstDevice, 0, us, 2, N, 1, hStream, IRT_COPY_ASYNC);
}

cudaError_t irt_driver_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned int ui, size_t N,
                                        CUstream hStream)
{
    return fill(dstDevice, 0, ui, 4, N, 1, hStream, IRT_COPY_ASYNC);
}

cudaError_t irt_driver_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                         size_t Width, size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, uc, 1, Width, Height, hStream, IRT_COPY_ASYNC);
}

cudaError_t irt_driver_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                          size_t Width, size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, us, 2, Width, Height, hStream, IRT_COPY_ASYNC);
}

cudaError_t irt_driver_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned int ui,
                                          size_t Width, size_t Height, CUstream hStream)
{
    return fill(dstDevice, dstPitch, ui, 4, Width, Height, hStream, IRT_COPY_ASYNC);
}

// ---- managed memory and other processes: structures by value ----

static struct cudaMemLocation location_of(CUmemLocation location)
{
    return (struct cudaMemLocation){.type = (enum cudaMemLocationType)location.type,
                                    .id = location.id};
}

cudaError_t irt_driver_cuMemAdvise_v2(CUdeviceptr devPtr, size_t count, CUmem_advise advice,
                                      CUmemLocation location)
{
    return irt_core_cudaMemAdvise(pointer(devPtr), count, (enum cudaMemoryAdvise)advice,
                                  location_of(location));
}

cudaError_t irt_driver_cuMemPrefetchAsync_v2(CUdeviceptr devPtr, size_t count,
                                             CUmemLocation location, unsigned int flags,
                                             CUstream hStream)
{
    return irt_core_cudaMemPrefetchAsync(pointer(devPtr), count, location_of(location), flags,
                                         hStream);
}

cudaError_t irt_driver_cuIpcOpenEventHandle(CUevent *phEvent, CUipcEventHandle handle)
{
    cudaIpcEventHandle_t same;
    memcpy(&same, &handle, sizeof same);
    return irt_core_cudaIpcOpenEventHandle(phEvent, same);
}

cudaError_t irt_driver_cuIpcOpenMemHandle_v2(CUdeviceptr *pdptr, CUipcMemHandle handle,
                                             unsigned int Flags)
{
    cudaIpcMemHandle_t same;
    memcpy(&same, &handle, sizeof same);
    return irt_core_cudaIpcOpenMemHandle((void **)pdptr, same, Flags);
}
