// SPDX-License-Identifier: Apache-2.0
//
// External semaphores (external.h): importing them, and operations of streams that signal them and
// wait for them. The operations run as host functions of the backend, which may block.
// Source: CUDA Runtime API, "External Resource Interoperability".
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "irt_core.h"
#include "shim/core/api_rules.h"
#include "shim/core/external.h"
#include "shim/graph/graph.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"
#include "shim/util/handle.h"
#include "shim/util/log.h"

enum { LOOK_NS = 2000000 }; // how often a waiter looks without being told

struct semaphore {
    int fd;
    struct irt_timeline *timeline; // NULL: an eventfd
};

static void destroy(void *object)
{
    struct semaphore *semaphore = object;
    if (semaphore->timeline) {
        munmap(semaphore->timeline, sizeof *semaphore->timeline);
    }
    close(semaphore->fd);
    free(semaphore);
}

static struct irt_handle_table semaphores =
    IRT_HANDLE_TABLE(IRT_HANDLE_EXTERNAL_SEMAPHORE, destroy);

static cudaError_t check_type(enum cudaExternalSemaphoreHandleType type)
{
    switch (type) {
    case cudaExternalSemaphoreHandleTypeOpaqueFd:
    case cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd:
        return cudaSuccess;
    case cudaExternalSemaphoreHandleTypeOpaqueWin32:
    case cudaExternalSemaphoreHandleTypeOpaqueWin32Kmt:
    case cudaExternalSemaphoreHandleTypeTimelineSemaphoreWin32:
        return irt_unsupported("cudaImportExternalSemaphore of a Win32 handle");
    case cudaExternalSemaphoreHandleTypeD3D12Fence:
    case cudaExternalSemaphoreHandleTypeD3D11Fence:
    case cudaExternalSemaphoreHandleTypeKeyedMutex:
    case cudaExternalSemaphoreHandleTypeKeyedMutexKmt:
        return irt_unsupported("cudaImportExternalSemaphore of a Direct3D handle");
    case cudaExternalSemaphoreHandleTypeNvSciSync:
        return irt_unsupported("cudaImportExternalSemaphore of an NvSciSync object");
    }
    return cudaErrorInvalidValue;
}

static bool is_eventfd(int fd)
{
    static const char wanted[] = "anon_inode:[eventfd]";
    char path[40];
    char link[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(path, link, sizeof link);
    return size == (ssize_t)strlen(wanted) && memcmp(link, wanted, (size_t)size) == 0;
}

// Maps the value of a timeline; NULL when the descriptor is no such memory.
static struct irt_timeline *map_timeline(int fd)
{
    if (lseek(fd, 0, SEEK_END) < (off_t)sizeof(struct irt_timeline)) {
        return NULL;
    }
    void *mapped =
        mmap(NULL, sizeof(struct irt_timeline), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

cudaError_t irt_core_cudaImportExternalSemaphore(cudaExternalSemaphore_t *extSem,
                                                 const struct cudaExternalSemaphoreHandleDesc *desc)
{
    if (!extSem || !desc || desc->flags != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = check_type(desc->type);
    if (error) {
        return error;
    }
    struct irt_timeline *timeline = NULL;
    if (desc->type == cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd) {
        timeline = map_timeline(desc->handle.fd);
    }
    if (!timeline &&
        (desc->type != cudaExternalSemaphoreHandleTypeOpaqueFd || !is_eventfd(desc->handle.fd))) {
        return cudaErrorInvalidResourceHandle;
    }
    struct semaphore *semaphore = calloc(1, sizeof *semaphore);
    void *handle = NULL;
    if (semaphore) {
        *semaphore = (struct semaphore){.fd = desc->handle.fd, .timeline = timeline};
        handle = irt_handle_open(&semaphores, semaphore);
    }
    if (!handle) {
        free(semaphore); // the descriptor is still the caller's
        if (timeline) {
            munmap(timeline, sizeof *timeline);
        }
        return cudaErrorMemoryAllocation;
    }
    *extSem = handle;
    return cudaSuccess;
}

cudaError_t irt_core_cudaDestroyExternalSemaphore(cudaExternalSemaphore_t extSem)
{
    // Operations that are enqueued keep it.
    return irt_handle_close(&semaphores, extSem) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

// ---- in the order of a stream ----

static void signal_one(const struct semaphore *semaphore, uint64_t value)
{
    if (semaphore->timeline) {
        atomic_store(&semaphore->timeline->value, value);
        atomic_fetch_add(&semaphore->timeline->changes, 1);
        syscall(SYS_futex, (void *)&semaphore->timeline->changes, FUTEX_WAKE, INT_MAX, NULL, NULL,
                0);
        return;
    }
    uint64_t one = 1;
    ssize_t written;
    do {
        written = write(semaphore->fd, &one, sizeof one);
    } while (written < 0 && errno == EINTR);
    if (written < 0 && errno != EAGAIN) { // EAGAIN: as full as it can be, which is signaled
        irt_log("semaphore", IRT_LOG_ERROR, "an eventfd cannot be signaled: %s", strerror(errno));
    }
}

static void wait_one(const struct semaphore *semaphore, uint64_t value)
{
    struct irt_timeline *timeline = semaphore->timeline;
    if (timeline) {
        for (;;) {
            uint32_t changes = atomic_load(&timeline->changes);
            if (atomic_load(&timeline->value) >= value) {
                return;
            }
            struct timespec limit = {.tv_nsec = LOOK_NS};
            syscall(SYS_futex, (void *)&timeline->changes, FUTEX_WAIT, changes, &limit, NULL, 0);
        }
    }
    for (;;) {
        struct pollfd wanted = {.fd = semaphore->fd, .events = POLLIN};
        uint64_t count;
        if (poll(&wanted, 1, -1) < 0 && errno != EINTR) {
            break;
        }
        if (wanted.revents & POLLIN) {
            if (read(semaphore->fd, &count, sizeof count) == sizeof count) {
                return;
            }
            if (errno != EAGAIN && errno != EINTR) { // else somebody else was faster
                break;
            }
        }
    }
    irt_log("semaphore", IRT_LOG_ERROR, "an eventfd cannot be waited for: %s", strerror(errno));
}

struct irt_semaphore_operation {
    _Atomic unsigned references;
    bool signal;
    struct irt_device *device; // whose stream it is in; NULL: a graph's
    unsigned count;
    struct {
        cudaExternalSemaphore_t handle; // with a reference
        const struct semaphore *semaphore;
        uint64_t value;
    } items[];
};

void irt_semaphore_operation_ref(struct irt_semaphore_operation *operation)
{
    atomic_fetch_add_explicit(&operation->references, 1, memory_order_relaxed);
}

void irt_semaphore_operation_unref(struct irt_semaphore_operation *operation)
{
    if (atomic_fetch_sub_explicit(&operation->references, 1, memory_order_acq_rel) > 1) {
        return;
    }
    for (unsigned i = 0; i < operation->count; i++) {
        irt_handle_put(&semaphores, operation->items[i].handle);
    }
    free(operation);
}

void irt_semaphore_operation_run(void *argument)
{
    struct irt_semaphore_operation *operation = argument;
    struct irt_device *device = operation->device;
    // What is left of the work of a lost device is discarded.
    for (unsigned i = 0; i < operation->count && !(device && irt_device_error(device)); i++) {
        (operation->signal ? signal_one : wait_one)(operation->items[i].semaphore,
                                                    operation->items[i].value);
    }
}

static void run_once(void *argument)
{
    irt_semaphore_operation_run(argument);
    irt_semaphore_operation_unref(argument);
}

static cudaError_t add_items(struct irt_semaphore_operation *operation,
                             const cudaExternalSemaphore_t *handles,
                             const struct irt_semaphore_params *params, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const char *one = (const char *)params->first + i * params->stride;
        unsigned flags;
        uint64_t value;
        memcpy(&flags, one + params->flags_offset, sizeof flags);
        memcpy(&value, one, sizeof value);
        if (flags != 0) {
            return cudaErrorInvalidValue;
        }
        const struct semaphore *semaphore = irt_handle_get(&semaphores, handles[i]);
        if (!semaphore) {
            return cudaErrorInvalidResourceHandle;
        }
        operation->items[i].handle = handles[i];
        operation->items[i].semaphore = semaphore;
        operation->items[i].value = value;
        operation->count++;
    }
    return cudaSuccess;
}

cudaError_t irt_semaphore_operation_make(bool signal, const cudaExternalSemaphore_t *handles,
                                         struct irt_semaphore_params params, unsigned count,
                                         struct irt_semaphore_operation **ret_operation)
{
    if (!handles || !params.first || count == 0) {
        return cudaErrorInvalidValue;
    }
    struct irt_semaphore_operation *operation =
        calloc(1, sizeof *operation + count * sizeof operation->items[0]);
    if (!operation) {
        return cudaErrorMemoryAllocation;
    }
    operation->references = 1;
    operation->signal = signal;
    cudaError_t error = add_items(operation, handles, &params, count);
    if (error) {
        irt_semaphore_operation_unref(operation);
        return error;
    }
    *ret_operation = operation;
    return cudaSuccess;
}

static cudaError_t capture(struct irt_stream *stream, bool signal,
                           const cudaExternalSemaphore_t *handles,
                           const struct irt_semaphore_params *values, unsigned count)
{
    struct irt_params params;
    cudaError_t error =
        irt_params_from_semaphores(stream->device, signal, handles, values, count, &params);
    if (error) {
        irt_stream_put(stream);
        return error;
    }
    return irt_capture_params(stream, &params);
}

static cudaError_t enqueue(bool signal, const cudaExternalSemaphore_t *handles,
                           struct irt_semaphore_params params, unsigned count,
                           cudaStream_t stream_handle)
{
    struct irt_semaphore_operation *operation;
    cudaError_t error = irt_semaphore_operation_make(signal, handles, params, count, &operation);
    if (error) {
        return error;
    }
    struct irt_stream *stream;
    if (irt_capture_enter(stream_handle, &stream)) {
        irt_semaphore_operation_unref(operation);
        return capture(stream, signal, handles, &params, count);
    }
    error = irt_stream_enter(stream_handle, &stream);
    if (error) {
        irt_semaphore_operation_unref(operation);
        return error;
    }
    operation->device = stream->device;
    error = irt_backend()->host_func(stream->backend, run_once, operation, true);
    if (error) {
        irt_semaphore_operation_unref(operation);
    }
    return irt_stream_leave(stream, error);
}

cudaError_t irt_semaphores_signal(const cudaExternalSemaphore_t *handles,
                                  struct irt_semaphore_params params, unsigned count,
                                  cudaStream_t stream)
{
    return enqueue(true, handles, params, count, stream);
}

cudaError_t irt_semaphores_wait(const cudaExternalSemaphore_t *handles,
                                struct irt_semaphore_params params, unsigned count,
                                cudaStream_t stream)
{
    return enqueue(false, handles, params, count, stream);
}

cudaError_t irt_core_cudaSignalExternalSemaphoresAsync(
    const cudaExternalSemaphore_t *extSemArray,
    const struct cudaExternalSemaphoreSignalParams *paramsArray, unsigned int numExtSems,
    cudaStream_t stream)
{
    struct irt_semaphore_params params = {
        .first = paramsArray,
        .stride = sizeof *paramsArray,
        .flags_offset = offsetof(struct cudaExternalSemaphoreSignalParams, flags)};
    return irt_semaphores_signal(extSemArray, params, numExtSems, stream);
}

cudaError_t
irt_core_cudaWaitExternalSemaphoresAsync(const cudaExternalSemaphore_t *extSemArray,
                                         const struct cudaExternalSemaphoreWaitParams *paramsArray,
                                         unsigned int numExtSems, cudaStream_t stream)
{
    struct irt_semaphore_params params = {
        .first = paramsArray,
        .stride = sizeof *paramsArray,
        .flags_offset = offsetof(struct cudaExternalSemaphoreWaitParams, flags)};
    return irt_semaphores_wait(extSemArray, params, numExtSems, stream);
}
