// SPDX-License-Identifier: Apache-2.0
//
// Memory and semaphores that come as file descriptors from outside CUDA (other APIs, other
// processes). What a descriptor has to be:
//
//   cudaExternalMemoryHandleTypeOpaqueFd: anything that can be mapped shared for reading and
//   writing and tells its size to lseek: a memfd, a file in /dev/shm, a dma-buf.
//
//   A mipmapped array on it lies there row by row, slice by slice, level by level. On the cpu
//   backend rows begin at multiples of 32 bytes and levels (and the offset given) at multiples of
//   64; block-compressed formats are rows of blocks.
//
//   cudaExternalSemaphoreHandleTypeOpaqueFd: an eventfd. A signal adds 1, a wait takes place when
//   the count is not 0 and reads it (which clears the count, or takes 1 with EFD_SEMAPHORE). So
//   write() of 1 and read() of any program, poll and epoll do the other side.
//
//   cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd: memory as above, of at least 16 bytes, that
//   holds struct irt_timeline. Who does not use CUDA maps it, reads `value` and, to signal, stores
//   `value`, adds 1 to `changes` and calls futex(&changes, FUTEX_WAKE, INT_MAX). A waiting stream
//   looks at least every 2 ms, so that storing the value alone works as well. A fresh, zeroed memfd
//   is a semaphore of value 0.
//
// Handles of other systems (Win32, Direct3D, NvSci) answer 801 by name.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime_api.h>

struct irt_timeline {
    _Atomic uint64_t value;
    _Atomic uint32_t changes;
    uint32_t unused;
};

// Arrays of cudaExternalSemaphoreSignalParams or …WaitParams of whichever release: all begin with
// the value of a fence.
struct irt_semaphore_params {
    const void *first;
    size_t stride;       // bytes from one to the next
    size_t flags_offset; // of the member `flags`, an unsigned int that must be 0
};

// Signals of several semaphores, or waits for them, that graphs perform at their launches: with
// references on the semaphores and counted itself. Errors as below.
// run() may block. Any thread.
struct irt_semaphore_operation;
cudaError_t irt_semaphore_operation_make(bool signal, const cudaExternalSemaphore_t *semaphores,
                                         struct irt_semaphore_params params, unsigned count,
                                         struct irt_semaphore_operation **ret_operation);
void irt_semaphore_operation_ref(struct irt_semaphore_operation *operation);
void irt_semaphore_operation_unref(struct irt_semaphore_operation *operation);
void irt_semaphore_operation_run(void *operation);

// cudaSignalExternalSemaphoresAsync and cudaWaitExternalSemaphoresAsync. cudaErrorInvalidValue for
// NULL and flags, cudaErrorInvalidResourceHandle for what is no semaphore; nothing is enqueued
// then.
cudaError_t irt_semaphores_signal(const cudaExternalSemaphore_t *semaphores,
                                  struct irt_semaphore_params params, unsigned count,
                                  cudaStream_t stream);
cudaError_t irt_semaphores_wait(const cudaExternalSemaphore_t *semaphores,
                                struct irt_semaphore_params params, unsigned count,
                                cudaStream_t stream);
