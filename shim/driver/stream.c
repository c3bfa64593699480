// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of the driver API: the runtime's handles are the driver's. Values in memory as
// signals between streams. Source: CUDA Driver API, "Stream Management", "Event Management",
// "Stream Memory Operations".
#include <stdint.h>

#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/core/memory.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/driver/driver.h"

cudaError_t irt_driver_cuStreamGetCtx(CUstream hStream, CUcontext *pctx)
{
    struct irt_stream *stream;
    if (!pctx) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_stream_get(hStream, &stream);
    if (!e) {
        *pctx = irt_context_of(stream->device);
        irt_stream_put(stream);
    }
    return e;
}

// Callbacks of both APIs get the stream, a number that means the same, and the pointer.
cudaError_t irt_driver_cuStreamAddCallback(CUstream hStream, CUstreamCallback callback,
                                           void *userData, unsigned int flags)
{
    return irt_core_cudaStreamAddCallback(hStream, (cudaStreamCallback_t)(void *)callback, userData,
                                          flags);
}

// ---- events ----

// ---- values in memory ----

// A number that the device may use, inside one allocation. A device address of host memory is
// turned into the host's.
static cudaError_t locate(CUdeviceptr address, unsigned size, void **ret_place)
{
    struct irt_memory memory;
    void *place = (void *)(uintptr_t)address;
    if (address % size || !irt_memory_find(place, &memory)) {
        return cudaErrorInvalidValue;
    }
    *ret_place = place;
    return cudaSuccess;
}

static cudaError_t check_write(const struct irtb_value *value, unsigned flags)
{
    // Writes are never reordered here, so the permission to do so changes nothing.
    (void)value;
    return flags & ~(unsigned)CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER ? cudaErrorInvalidValue
                                                                      : cudaSuccess;
}

// The flush of remote writes: other devices' writes are in the same memory and visible at once.
static cudaError_t check_wait(struct irtb_value *value, unsigned flags)
{
    flags &= ~(unsigned)CU_STREAM_WAIT_VALUE_FLUSH;
    if (flags > CU_STREAM_WAIT_VALUE_NOR) {
        return cudaErrorInvalidValue;
    }
    value->condition = (enum irtb_condition)flags;
    return cudaSuccess;
}

// One operation on a value, checked. `write` or wait.
struct operation {
    struct irtb_value value;
    bool write;
};

static cudaError_t prepare(struct operation *op, CUdeviceptr address, uint64_t value, unsigned size,
                           unsigned flags, bool write)
{
    *op = (struct operation){.value = {.value = value, .size = size}, .write = write};
    cudaError_t e = locate(address, size, &op->value.address);
    if (e) {
        return e;
    }
    return write ? check_write(&op->value, flags) : check_wait(&op->value, flags);
}

static cudaError_t enqueue(struct irt_stream *stream, const struct operation *op)
{
    const struct irtb_backend *backend = irt_backend();
    if (!backend->stream_write_value || !backend->stream_wait_value) {
        return irt_unsupported("a value in memory as a signal of a stream (cuStreamWaitValue)");
    }
    return op->write ? backend->stream_write_value(stream->backend, &op->value)
                     : backend->stream_wait_value(stream->backend, &op->value);
}

static cudaError_t run(CUstream handle, CUdeviceptr address, uint64_t value, unsigned size,
                       unsigned flags, bool write)
{
    struct irt_stream *stream;
    struct operation op;
    cudaError_t e = prepare(&op, address, value, size, flags, write);
    if (!e) {
        e = irt_stream_enter(handle, &stream);
    }
    return e ? e : irt_stream_leave(stream, enqueue(stream, &op));
}

cudaError_t irt_driver_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                               unsigned int flags)
{
    return run(stream, addr, value, 4, flags, true);
}

cudaError_t irt_driver_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                               unsigned int flags)
{
    return run(stream, addr, value, 8, flags, true);
}

cudaError_t irt_driver_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                              unsigned int flags)
{
    return run(stream, addr, value, 4, flags, false);
}

cudaError_t irt_driver_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                              unsigned int flags)
{
    return run(stream, addr, value, 8, flags, false);
}

cudaError_t irt_driver_cuStreamWriteValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                            unsigned int flags)
{
    return run(stream, addr, value, 4, flags, true);
}

cudaError_t irt_driver_cuStreamWriteValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                            unsigned int flags)
{
    return run(stream, addr, value, 8, flags, true);
}

cudaError_t irt_driver_cuStreamWaitValue32(CUstream stream, CUdeviceptr addr, cuuint32_t value,
                                           unsigned int flags)
{
    return run(stream, addr, value, 4, flags, false);
}

cudaError_t irt_driver_cuStreamWaitValue64(CUstream stream, CUdeviceptr addr, cuuint64_t value,
                                           unsigned int flags)
{
    return run(stream, addr, value, 8, flags, false);
}

enum { BATCH_MAX = 256 }; // "count must be less than 256"

// Reads one operation of a batch. `ret_nothing`: barriers and flushes, which order what is in order
// anyway.
static cudaError_t read_batch(const CUstreamBatchMemOpParams *p, bool barriers,
                              struct operation *ret_op, bool *ret_nothing)
{
    *ret_nothing = false;
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return prepare(ret_op, p->waitValue.address, p->waitValue.value, 4, p->waitValue.flags,
                       false);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return prepare(ret_op, p->waitValue.address, p->waitValue.value64, 8, p->waitValue.flags,
                       false);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return prepare(ret_op, p->writeValue.address, p->writeValue.value, 4, p->writeValue.flags,
                       true);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return prepare(ret_op, p->writeValue.address, p->writeValue.value64, 8, p->writeValue.flags,
                       true);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
        *ret_nothing = true;
        return p->flushRemoteWrites.flags ? cudaErrorInvalidValue : cudaSuccess;
    case CU_STREAM_MEM_OP_BARRIER:
        *ret_nothing = true;
        return barriers && p->memoryBarrier.flags <= CU_STREAM_MEMORY_BARRIER_TYPE_GPU
                   ? cudaSuccess
                   : cudaErrorInvalidValue;
    }
    return cudaErrorInvalidValue;
}

static cudaError_t run_batch(CUstream handle, unsigned count,
                             const CUstreamBatchMemOpParams *params, unsigned flags, bool barriers)
{
    struct irt_stream *stream;
    struct operation ops[BATCH_MAX];
    unsigned used = 0;
    if (!count || count >= BATCH_MAX || !params || flags) {
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < count; i++) {
        bool nothing;
        cudaError_t e = read_batch(&params[i], barriers, &ops[used], &nothing);
        if (e) {
            return e;
        }
        used += !nothing;
    }
    cudaError_t e = irt_stream_enter(handle, &stream);
    if (e) {
        return e;
    }
    for (unsigned i = 0; i < used && !e; i++) {
        e = enqueue(stream, &ops[i]);
    }
    return irt_stream_leave(stream, e);
}

cudaError_t irt_driver_cuStreamBatchMemOp_v2(CUstream stream, unsigned int count,
                                             CUstreamBatchMemOpParams *paramArray,
                                             unsigned int flags)
{
    return run_batch(stream, count, paramArray, flags, true);
}

cudaError_t irt_driver_cuStreamBatchMemOp(CUstream stream, unsigned int count,
                                          CUstreamBatchMemOpParams *paramArray, unsigned int flags)
{
    return run_batch(stream, count, paramArray, flags, false);
}
