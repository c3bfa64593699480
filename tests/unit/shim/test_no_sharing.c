// SPDX-License-Identifier: Apache-2.0
//
// Memory and events of several processes on a backend that shares nothing: attributes tell it, the
// checks still answer, everything else is 801, and what needs no backend works.
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cuda_runtime_api.h>

#define EXPECT(code, call) cr_assert((call) == (code), "%s is not %d", #call, (int)(code))

TestSuite(no_sharing, .timeout = 60);

Test(no_sharing, attributes)
{
    int value = 7;
    EXPECT(cudaSuccess, cudaDeviceGetAttribute(&value, cudaDevAttrIpcEventSupport, 0));
    cr_assert(value == 0);
    EXPECT(cudaSuccess,
           cudaDeviceGetAttribute(&value, cudaDevAttrMemoryPoolSupportedHandleTypes, 0));
    cr_assert(value == cudaMemHandleTypeNone);
}

Test(no_sharing, handles)
{
    cudaIpcMemHandle_t memory_handle;
    cudaIpcEventHandle_t event_handle;
    cudaEvent_t event = NULL, opened = NULL;
    void *memory = NULL;
    memset(&memory_handle, 1, sizeof memory_handle);
    memset(&event_handle, 1, sizeof event_handle);
    EXPECT(cudaSuccess, cudaMalloc(&memory, 1024));
    EXPECT(cudaSuccess,
           cudaEventCreateWithFlags(&event, cudaEventInterprocess | cudaEventDisableTiming));
    EXPECT(cudaErrorNotSupported, cudaIpcGetMemHandle(&memory_handle, memory));
    EXPECT(cudaErrorNotSupported, cudaIpcGetEventHandle(&event_handle, event));
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&memory_handle, &memory));
    EXPECT(cudaErrorInvalidValue, cudaIpcOpenMemHandle(&memory, memory_handle, 1));
    EXPECT(cudaErrorInvalidValue, cudaIpcOpenEventHandle(&opened, event_handle));
    EXPECT(cudaErrorInvalidValue, cudaIpcCloseMemHandle(memory));
    EXPECT(cudaSuccess, cudaEventDestroy(event));
    EXPECT(cudaSuccess, cudaFree(memory));
}

Test(no_sharing, pools_and_external_memory)
{
    struct cudaMemPoolProps props;
    struct cudaExternalMemoryHandleDesc desc;
    cudaMemPool_t pool = NULL;
    cudaExternalMemory_t external = NULL;
    int fd = memfd_create("test", MFD_CLOEXEC);
    cr_assert(fd >= 0 && ftruncate(fd, 4096) == 0);
    memset(&props, 0, sizeof props);
    memset(&desc, 0, sizeof desc);
    props.allocType = cudaMemAllocationTypePinned;
    props.location.type = cudaMemLocationTypeDevice;
    props.handleTypes = cudaMemHandleTypePosixFileDescriptor;
    EXPECT(cudaErrorNotSupported, cudaMemPoolCreate(&pool, &props));
    EXPECT(cudaErrorNotSupported,
           cudaMemPoolImportFromShareableHandle(&pool, (void *)(uintptr_t)fd,
                                                cudaMemHandleTypePosixFileDescriptor, 0));
    desc.type = cudaExternalMemoryHandleTypeOpaqueFd;
    desc.handle.fd = fd;
    desc.size = 4096;
    EXPECT(cudaErrorNotSupported, cudaImportExternalMemory(&external, &desc));
    cr_assert(!pool && !external && fcntl(fd, F_GETFD) >= 0);
    close(fd);
}

// Semaphores are the shim's own.
Test(no_sharing, semaphores_work)
{
    struct cudaExternalSemaphoreHandleDesc desc;
    struct cudaExternalSemaphoreSignalParams signal;
    struct cudaExternalSemaphoreWaitParams wait;
    cudaExternalSemaphore_t semaphore = NULL;
    cudaStream_t stream;
    memset(&desc, 0, sizeof desc);
    memset(&signal, 0, sizeof signal);
    memset(&wait, 0, sizeof wait);
    desc.type = cudaExternalSemaphoreHandleTypeOpaqueFd;
    desc.handle.fd = eventfd(0, EFD_CLOEXEC);
    EXPECT(cudaSuccess, cudaImportExternalSemaphore(&semaphore, &desc));
    EXPECT(cudaSuccess, cudaStreamCreate(&stream));
    EXPECT(cudaSuccess, cudaSignalExternalSemaphoresAsync(&semaphore, &signal, 1, stream));
    EXPECT(cudaSuccess, cudaWaitExternalSemaphoresAsync(&semaphore, &wait, 1, stream));
    EXPECT(cudaSuccess, cudaStreamSynchronize(stream));
    EXPECT(cudaSuccess, cudaDestroyExternalSemaphore(semaphore));
    EXPECT(cudaSuccess, cudaStreamDestroy(stream));
}
