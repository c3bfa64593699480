// SPDX-License-Identifier: Apache-2.0
//
// External memory and semaphores on file descriptors, with plain system calls, with a second
// process and with every wrong argument.
#include "conformance.h"
#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

TestSuite(external, .timeout = 120, .init = kernels_register, .data = NEEDS("external"));

enum { SIZE = 256 << 10 };

static void sleep_ms(long ms)
{
    struct timespec time = {.tv_nsec = ms * 1000000};
    nanosleep(&time, NULL);
}

static int make_memory(size_t size)
{
    int fd = memfd_create("external test", MFD_CLOEXEC);
    cr_assert(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
    return fd;
}

static struct cudaExternalMemoryHandleDesc memory_desc(int fd, size_t size)
{
    struct cudaExternalMemoryHandleDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.type = cudaExternalMemoryHandleTypeOpaqueFd;
    desc.handle.fd = fd;
    desc.size = size;
    return desc;
}

static struct cudaExternalMemoryBufferDesc buffer_desc(size_t offset, size_t size)
{
    struct cudaExternalMemoryBufferDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.offset = offset;
    desc.size = size;
    return desc;
}

KERNEL_TEST(external, memory_is_the_files)
{
    int fd = make_memory(SIZE);
    unsigned char *host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert(host != MAP_FAILED);
    memset(host, 1, SIZE);
    struct cudaExternalMemoryHandleDesc desc = memory_desc(fd, SIZE);
    cudaExternalMemory_t memory = NULL;
    OK(cudaImportExternalMemory(&memory, &desc));
    // The whole, and a part at an offset that is no multiple of a page.
    int *whole = NULL, *part = NULL;
    struct cudaExternalMemoryBufferDesc all = buffer_desc(0, SIZE), some = buffer_desc(5120, 4096);
    OK(cudaExternalMemoryGetMappedBuffer((void **)&whole, memory, &all));
    OK(cudaExternalMemoryGetMappedBuffer((void **)&part, memory, &some));
    OK(cudaDestroyExternalMemory(memory)); // mapped buffers stay
    struct cudaPointerAttributes attributes;
    OK(cudaPointerGetAttributes(&attributes, part));
    cr_assert(attributes.type == cudaMemoryTypeDevice && attributes.devicePointer == part);
    int n = SIZE / 4, value = 0;
    void *arguments[] = {&whole, &n};
    OK(kernel_launch(KERNEL_ADD_ONE, SIZE / 4 / 256, 256, arguments, 0, NULL));
    OK(cudaMemcpy(&value, part, sizeof value, cudaMemcpyDeviceToHost));
    cr_assert(value == 0x01010102);
    OK(cudaMemset(part, 9, 4096));
    OK(cudaDeviceSynchronize());
    cr_assert(host[0] == 2 && host[5119] == 1 && host[5120] == 9 && host[5120 + 4095] == 9 &&
              host[5120 + 4096] == 2);
    EXPECT(cudaErrorInvalidValue, cudaMemset((char *)part + 4090, 1, 16)); // behind the end
    EXPECT(cudaErrorInvalidValue, cudaFreeAsync(part, NULL));
    cudaIpcMemHandle_t handle;
    EXPECT(cudaErrorInvalidValue, cudaIpcGetMemHandle(&handle, whole));
    OK(cudaFree(part));
    OK(cudaFree(whole));
    EXPECT(cudaErrorInvalidValue, cudaFree(whole));
    cr_assert(fcntl(fd, F_GETFD) == -1 && errno == EBADF, "the descriptor was taken over");
    munmap(host, SIZE);
}

Test(external, memory_errors)
{
    cudaExternalMemory_t memory = NULL, kept = NULL;
    int fd = make_memory(SIZE), reading = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), pipes[2];
    cr_assert(pipe(pipes) == 0);
    struct cudaExternalMemoryHandleDesc good = memory_desc(fd, SIZE), desc = good;
    EXPECT(cudaErrorInvalidValue, cudaImportExternalMemory(NULL, &good));
    EXPECT(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, NULL));
    desc.size = 0;
    EXPECT(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    desc.size = SIZE + 1;
    EXPECT(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    desc = good;
    desc.flags = 2;
    EXPECT(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    desc = memory_desc(-1, SIZE);
    EXPECT(cudaErrorInvalidResourceHandle, cudaImportExternalMemory(&memory, &desc));
    desc = memory_desc(pipes[0], SIZE);
    EXPECT(cudaErrorInvalidResourceHandle, cudaImportExternalMemory(&memory, &desc));
    desc = memory_desc(reading, 4096);
    EXPECT(cudaErrorOperatingSystem, cudaImportExternalMemory(&memory, &desc)); // cannot be written
    for (int type = 2; type <= 8; type++) {
        desc = good;
        desc.type = (enum cudaExternalMemoryHandleType)type;
        EXPECT(cudaErrorNotSupported, cudaImportExternalMemory(&memory, &desc));
    }
    desc.type = (enum cudaExternalMemoryHandleType)0;
    EXPECT(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    desc.type = (enum cudaExternalMemoryHandleType)99;
    EXPECT(cudaErrorInvalidValue, cudaImportExternalMemory(&memory, &desc));
    cr_assert(memory == NULL && fcntl(fd, F_GETFD) >= 0, "what fails takes nothing");

    desc = good;
    desc.flags = cudaExternalMemoryDedicated;
    desc.size = SIZE - 4096;
    OK(cudaImportExternalMemory(&memory, &desc));
    void *mapped = NULL;
    static const size_t wrong[][2] = {
        {0, 0},       {0, SIZE}, {SIZE - 4096, 1}, {1, SIZE - 4096}, {SIZE_MAX - 100, 200},
        {0, SIZE_MAX}};
    for (size_t i = 0; i < LENGTH(wrong); i++) {
        struct cudaExternalMemoryBufferDesc buffer = buffer_desc(wrong[i][0], wrong[i][1]);
        EXPECT(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer(&mapped, memory, &buffer));
    }
    struct cudaExternalMemoryBufferDesc buffer = buffer_desc(0, 4096);
    EXPECT(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer(NULL, memory, &buffer));
    EXPECT(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer(&mapped, memory, NULL));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaExternalMemoryGetMappedBuffer(&mapped, NULL, &buffer));
    buffer.flags = 1;
    EXPECT(cudaErrorInvalidValue, cudaExternalMemoryGetMappedBuffer(&mapped, memory, &buffer));
    buffer.flags = 0;
    kept = memory;
    OK(cudaDestroyExternalMemory(memory));
    EXPECT(cudaErrorInvalidResourceHandle, cudaDestroyExternalMemory(kept));
    EXPECT(cudaErrorInvalidResourceHandle, cudaDestroyExternalMemory(NULL));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaExternalMemoryGetMappedBuffer(&mapped, kept, &buffer));
    close(reading);
    close(pipes[0]);
    close(pipes[1]);
}

Test(external, mipmapped_arrays_lie_in_the_memory)
{
    enum { WIDTH = 40, HEIGHT = 16 };
    int fd = make_memory(SIZE);
    unsigned char *host = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert(host != MAP_FAILED);
    struct cudaExternalMemoryHandleDesc desc = memory_desc(fd, SIZE);
    cudaExternalMemory_t memory = NULL;
    OK(cudaImportExternalMemory(&memory, &desc));
    struct cudaExternalMemoryMipmappedArrayDesc wanted, wrong;
    memset(&wanted, 0, sizeof wanted);
    wanted.offset = 4096;
    wanted.formatDesc = cudaCreateChannelDesc(32, 0, 0, 0, cudaChannelFormatKindFloat);
    wanted.extent.width = WIDTH;
    wanted.extent.height = HEIGHT;
    wanted.numLevels = 3;
    cudaMipmappedArray_t mipmap = NULL;
    OK(cudaExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &wanted));
    float in[HEIGHT][WIDTH], out[HEIGHT][WIDTH];
    for (unsigned level = 0; level < 3; level++) {
        size_t width = WIDTH >> level, height = HEIGHT >> level;
        cudaArray_t array = NULL;
        OK(cudaGetMipmappedArrayLevel(&array, mipmap, level));
        for (size_t i = 0; i < (size_t)HEIGHT * WIDTH; i++) {
            in[i / WIDTH][i % WIDTH] = (float)(1000 * level + i);
        }
        OK(cudaMemcpy2DToArray(array, 0, 0, in, sizeof in[0], width * sizeof(float), height,
                               cudaMemcpyHostToDevice));
        memset(out, 0, sizeof out);
        OK(cudaMemcpy2DFromArray(out, sizeof out[0], array, 0, 0, width * sizeof(float), height,
                                 cudaMemcpyDeviceToHost));
        for (size_t y = 0; y < height; y++) {
            cr_assert(memcmp(in[y], out[y], width * sizeof(float)) == 0);
        }
    }
    OK(cudaDeviceSynchronize());
    float first = -1, second = -1; // of level 0
    memcpy(&first, host + 4096, sizeof first);
    memcpy(&second, host + 4096 + sizeof first, sizeof second);
    cr_assert(first == 0 && second == 1, "%g, %g", first, second);
    OK(cudaDestroyExternalMemory(memory));
    OK(cudaFreeMipmappedArray(mipmap));

    fd = make_memory(8192);
    desc = memory_desc(fd, 8192);
    OK(cudaImportExternalMemory(&memory, &desc));
    EXPECT(cudaErrorInvalidValue, cudaExternalMemoryGetMappedMipmappedArray(NULL, memory, &wanted));
    EXPECT(cudaErrorInvalidValue, cudaExternalMemoryGetMappedMipmappedArray(&mipmap, memory, NULL));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaExternalMemoryGetMappedMipmappedArray(&mipmap, NULL, &wanted));
    wrong = wanted;
    wrong.extent.height = 400; // does not fit
    EXPECT(cudaErrorInvalidValue,
           cudaExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &wrong));
    wrong = wanted;
    wrong.offset = 8192;
    EXPECT(cudaErrorInvalidValue,
           cudaExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &wrong));
    wrong = wanted;
    wrong.offset = 3;
    EXPECT(cudaErrorInvalidValue,
           cudaExternalMemoryGetMappedMipmappedArray(&mipmap, memory, &wrong));
    OK(cudaDestroyExternalMemory(memory));
    munmap(host, SIZE);
}

// ---- semaphores ----

static struct cudaExternalSemaphoreHandleDesc
semaphore_desc(enum cudaExternalSemaphoreHandleType type, int fd)
{
    struct cudaExternalSemaphoreHandleDesc desc;
    memset(&desc, 0, sizeof desc);
    desc.type = type;
    desc.handle.fd = fd;
    return desc;
}

static cudaExternalSemaphore_t import(enum cudaExternalSemaphoreHandleType type, int fd)
{
    struct cudaExternalSemaphoreHandleDesc desc = semaphore_desc(type, fd);
    cudaExternalSemaphore_t semaphore = NULL;
    OK(cudaImportExternalSemaphore(&semaphore, &desc));
    return semaphore;
}

static cudaError_t signal_value(cudaExternalSemaphore_t semaphore, unsigned long long value,
                                cudaStream_t stream)
{
    struct cudaExternalSemaphoreSignalParams params;
    memset(&params, 0, sizeof params);
    params.params.fence.value = value;
    return cudaSignalExternalSemaphoresAsync(&semaphore, &params, 1, stream);
}

static cudaError_t wait_value(cudaExternalSemaphore_t semaphore, unsigned long long value,
                              cudaStream_t stream)
{
    struct cudaExternalSemaphoreWaitParams params;
    memset(&params, 0, sizeof params);
    params.params.fence.value = value;
    return cudaWaitExternalSemaphoresAsync(&semaphore, &params, 1, stream);
}

Test(external, eventfd_semaphores)
{
    for (int kind = 0; kind < 3; kind++) {
        static const int flags[] = {0, EFD_NONBLOCK, EFD_SEMAPHORE};
        int fd = eventfd(0, flags[kind]), other = dup(fd);
        cudaExternalSemaphore_t semaphore = import(cudaExternalSemaphoreHandleTypeOpaqueFd, fd);
        cudaStream_t stream;
        int *host = NULL;
        OK(cudaStreamCreate(&stream));
        OK(cudaMallocHost((void **)&host, sizeof *host));
        // The program signals, the stream waits.
        *host = 0;
        OK(wait_value(semaphore, 0, stream));
        OK(cudaMemsetAsync(host, 3, sizeof *host, stream));
        sleep_ms(20);
        EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
        cr_assert(*(volatile int *)host == 0);
        uint64_t number = 1;
        cr_assert(write(other, &number, sizeof number) == sizeof number);
        OK(cudaStreamSynchronize(stream));
        cr_assert(*host == 0x03030303);
        struct pollfd look = {.fd = other, .events = POLLIN};
        cr_assert(poll(&look, 1, 0) == 0, "the wait resets it");
        // The stream signals, the program waits.
        OK(cudaMemsetAsync(host, 4, sizeof *host, stream));
        OK(signal_value(semaphore, 0, stream));
        cr_assert(poll(&look, 1, 10000) == 1);
        cr_assert(*(volatile int *)host == 0x04040404);
        cr_assert(read(other, &number, sizeof number) == sizeof number && number == 1);
        // A stream signals another; the semaphore may be destroyed meanwhile.
        cudaStream_t second;
        OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
        OK(wait_value(semaphore, 0, second));
        OK(signal_value(semaphore, 0, stream));
        OK(cudaDestroyExternalSemaphore(semaphore));
        OK(cudaStreamSynchronize(second));
        OK(cudaStreamSynchronize(stream));
        OK(cudaStreamDestroy(second));
        OK(cudaStreamDestroy(stream));
        OK(cudaFreeHost(host));
        close(other);
    }
}

Test(external, timeline_semaphores)
{
    int fd = make_memory(16), other = dup(fd);
    struct timeline {
        _Atomic uint64_t value;
        _Atomic uint32_t changes;
    } *timeline = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    cr_assert(timeline != MAP_FAILED);
    cudaExternalSemaphore_t semaphore =
        import(cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd, fd);
    cudaStream_t stream;
    OK(cudaStreamCreate(&stream));
    OK(wait_value(semaphore, 0, stream)); // reached already
    OK(cudaStreamSynchronize(stream));
    OK(wait_value(semaphore, 5, stream));
    atomic_store(&timeline->value, 4);
    sleep_ms(20);
    EXPECT(cudaErrorNotReady, cudaStreamQuery(stream));
    atomic_store(&timeline->value, 6); // without telling anybody
    OK(cudaStreamSynchronize(stream));
    OK(signal_value(semaphore, 10, stream));
    OK(cudaStreamSynchronize(stream));
    cr_assert(atomic_load(&timeline->value) == 10 && atomic_load(&timeline->changes) == 1);
    OK(wait_value(semaphore, 7, stream));
    OK(wait_value(semaphore, 10, stream)); // waiting takes nothing away
    OK(cudaStreamSynchronize(stream));
    OK(cudaDestroyExternalSemaphore(semaphore));
    OK(cudaStreamDestroy(stream));
    munmap(timeline, 16);
    close(other);
}

Test(external, several_semaphores_in_one_call)
{
    cudaExternalSemaphore_t all[3];
    int others[3];
    for (int i = 0; i < 3; i++) {
        int fd = i == 1 ? make_memory(4096) : eventfd(0, 0);
        others[i] = dup(fd);
        all[i] = import(i == 1 ? cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd
                               : cudaExternalSemaphoreHandleTypeOpaqueFd,
                        fd);
    }
    cudaStream_t stream, second;
    OK(cudaStreamCreate(&stream));
    OK(cudaStreamCreate(&second));
    struct cudaExternalSemaphoreSignalParams signals[3];
    struct cudaExternalSemaphoreWaitParams waits[3];
    memset(signals, 0, sizeof signals);
    memset(waits, 0, sizeof waits);
    signals[1].params.fence.value = waits[1].params.fence.value = 42;
    OK(cudaWaitExternalSemaphoresAsync(all, waits, 3, second));
    sleep_ms(10);
    EXPECT(cudaErrorNotReady, cudaStreamQuery(second));
    OK(cudaSignalExternalSemaphoresAsync(all, signals, 3, stream));
    OK(cudaStreamSynchronize(second));
    // Nothing of a call is done when one of its parameters is wrong.
    cudaExternalSemaphore_t wrong[3] = {all[0], all[1], NULL};
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaSignalExternalSemaphoresAsync(wrong, signals, 3, stream));
    signals[2].flags = 1;
    EXPECT(cudaErrorInvalidValue, cudaSignalExternalSemaphoresAsync(all, signals, 3, stream));
    waits[1].flags = 1;
    EXPECT(cudaErrorInvalidValue, cudaWaitExternalSemaphoresAsync(all, waits, 3, stream));
    EXPECT(cudaErrorInvalidValue, cudaSignalExternalSemaphoresAsync(NULL, signals, 3, stream));
    EXPECT(cudaErrorInvalidValue, cudaSignalExternalSemaphoresAsync(all, NULL, 3, stream));
    EXPECT(cudaErrorInvalidValue, cudaWaitExternalSemaphoresAsync(NULL, waits, 1, stream));
    EXPECT(cudaErrorInvalidValue, cudaWaitExternalSemaphoresAsync(all, NULL, 1, stream));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaSignalExternalSemaphoresAsync(all, signals, 2, (cudaStream_t)0x1234560));
    OK(cudaStreamSynchronize(stream));
    struct pollfd look = {.fd = others[0], .events = POLLIN};
    cr_assert(poll(&look, 1, 0) == 0);
    for (int i = 0; i < 3; i++) {
        OK(cudaDestroyExternalSemaphore(all[i]));
        EXPECT(cudaErrorInvalidResourceHandle, cudaDestroyExternalSemaphore(all[i]));
        close(others[i]);
    }
    EXPECT(cudaErrorInvalidResourceHandle, cudaDestroyExternalSemaphore(NULL));
    OK(cudaStreamDestroy(stream));
    OK(cudaStreamDestroy(second));
}

Test(external, semaphore_import_errors)
{
    cudaExternalSemaphore_t semaphore = NULL;
    int event = eventfd(0, 0), memory = make_memory(16), small = make_memory(8);
    struct cudaExternalSemaphoreHandleDesc good = semaphore_desc(
                                               cudaExternalSemaphoreHandleTypeOpaqueFd, event),
                                           desc = good;
    EXPECT(cudaErrorInvalidValue, cudaImportExternalSemaphore(NULL, &good));
    EXPECT(cudaErrorInvalidValue, cudaImportExternalSemaphore(&semaphore, NULL));
    desc.flags = 1;
    EXPECT(cudaErrorInvalidValue, cudaImportExternalSemaphore(&semaphore, &desc));
    desc = semaphore_desc(cudaExternalSemaphoreHandleTypeOpaqueFd, memory);
    EXPECT(cudaErrorInvalidResourceHandle, cudaImportExternalSemaphore(&semaphore, &desc));
    desc = semaphore_desc(cudaExternalSemaphoreHandleTypeOpaqueFd, -1);
    EXPECT(cudaErrorInvalidResourceHandle, cudaImportExternalSemaphore(&semaphore, &desc));
    desc = semaphore_desc(cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd, event);
    EXPECT(cudaErrorInvalidResourceHandle, cudaImportExternalSemaphore(&semaphore, &desc));
    desc = semaphore_desc(cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd, small);
    EXPECT(cudaErrorInvalidResourceHandle, cudaImportExternalSemaphore(&semaphore, &desc));
    for (int type = 2; type <= 10; type++) {
        if (type == cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd) {
            continue;
        }
        desc = semaphore_desc((enum cudaExternalSemaphoreHandleType)type, event);
        EXPECT(cudaErrorNotSupported, cudaImportExternalSemaphore(&semaphore, &desc));
    }
    desc = semaphore_desc((enum cudaExternalSemaphoreHandleType)0, event);
    EXPECT(cudaErrorInvalidValue, cudaImportExternalSemaphore(&semaphore, &desc));
    cr_assert(semaphore == NULL && fcntl(event, F_GETFD) >= 0);
    close(event);
    close(memory);
    close(small);
    int list = 0;
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetNvSciSyncAttributes(NULL, 0, 1));
    EXPECT(cudaErrorInvalidValue, cudaDeviceGetNvSciSyncAttributes(&list, 0, 0));
    EXPECT(cudaErrorInvalidDevice, cudaDeviceGetNvSciSyncAttributes(&list, 99, 1));
    EXPECT(cudaErrorNotSupported, cudaDeviceGetNvSciSyncAttributes(&list, 0, 1));
}

// Memory and a timeline of the other process: waits for 1, doubles, signals 2.
ROLE(partner)
{
    struct message m = process_receive(), t = process_receive();
    CHECK(m.fd >= 0 && t.fd >= 0);
    cudaExternalMemory_t memory;
    cudaExternalSemaphore_t semaphore;
    struct cudaExternalMemoryHandleDesc desc = memory_desc(m.fd, SIZE);
    struct cudaExternalSemaphoreHandleDesc timeline =
        semaphore_desc(cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd, t.fd);
    CHECK_OK(cudaImportExternalMemory(&memory, &desc));
    CHECK_OK(cudaImportExternalSemaphore(&semaphore, &timeline));
    int *data = NULL, n = SIZE / 4;
    struct cudaExternalMemoryBufferDesc buffer = buffer_desc(0, SIZE);
    CHECK_OK(cudaExternalMemoryGetMappedBuffer((void **)&data, memory, &buffer));
    kernels_register();
    void *arguments[] = {&data, &n};
    CHECK_OK(wait_value(semaphore, 1, NULL));
    CHECK_OK(kernel_launch(KERNEL_ADD_ONE, SIZE / 4 / 256, 256, arguments, 0, NULL));
    CHECK_OK(signal_value(semaphore, 2, NULL));
    process_answer("enqueued", 8);
    CHECK_OK(cudaDeviceSynchronize());
    CHECK_OK(cudaDestroyExternalSemaphore(semaphore));
    CHECK_OK(cudaDestroyExternalMemory(memory));
    CHECK_OK(cudaFree(data));
}

KERNEL_TEST(external, two_processes_take_turns)
{
    int memory_fd = make_memory(SIZE), timeline_fd = make_memory(16);
    struct process child = process_start("partner");
    process_send(&child, "memory", 6, memory_fd);
    process_send(&child, "timeline", 8, timeline_fd);
    process_hear(&child);
    cudaExternalMemory_t memory;
    struct cudaExternalMemoryHandleDesc desc = memory_desc(memory_fd, SIZE);
    OK(cudaImportExternalMemory(&memory, &desc));
    cudaExternalSemaphore_t semaphore =
        import(cudaExternalSemaphoreHandleTypeTimelineSemaphoreFd, timeline_fd);
    int *data = NULL, value = 70, n = SIZE / 4, host = 0;
    struct cudaExternalMemoryBufferDesc buffer = buffer_desc(0, SIZE);
    OK(cudaExternalMemoryGetMappedBuffer((void **)&data, memory, &buffer));
    void *arguments[] = {&data, &value, &n};
    OK(kernel_launch(KERNEL_FILL, SIZE / 4 / 256, 256, arguments, 0, NULL));
    OK(signal_value(semaphore, 1, NULL));
    OK(wait_value(semaphore, 2, NULL));
    OK(cudaMemcpy(&host, data + n - 1, sizeof host, cudaMemcpyDeviceToHost));
    cr_assert(host == 71, "%d", host);
    process_finish(&child);
    OK(cudaFree(data));
    OK(cudaDestroyExternalSemaphore(semaphore));
    OK(cudaDestroyExternalMemory(memory));
}

PLAY_ROLES()
