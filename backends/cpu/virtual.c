// SPDX-License-Identifier: Apache-2.0
//
// Virtual memory management: memory without an address (unnamed files in memory, so that the same
// bytes can be mapped at several places and in several processes), ranges of addresses with nothing
// behind them, and mapping one into the other. Sizes and addresses are multiples of
// IRTB_VIRTUAL_GRANULARITY; the shim has checked them. Callers: the table in cpu.c.
#include "virtual.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cpu.h"

#define OBJECT_NAME "infinirt-physical-" // and the number of the device

cudaError_t cpu_physical_create(int device, size_t size, int *ret_fd)
{
    char name[64];
    struct cpu_heap *heap = &cpu.devices[device].memory;
    if (!cpu_heap_charge(heap, size)) {
        return cudaErrorMemoryAllocation;
    }
    snprintf(name, sizeof name, OBJECT_NAME "%d", device);
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)size)) {
        CPU_LOG("memory", CPU_ERROR, "no memory object of %zu bytes: %s", size, strerror(errno));
        if (fd >= 0) {
            close(fd);
        }
        cpu_heap_uncharge(heap, size);
        return cudaErrorMemoryAllocation;
    }
    *ret_fd = fd;
    return cudaSuccess;
}

void cpu_physical_release(int device, size_t size)
{
    cpu_heap_uncharge(&cpu.devices[device].memory, size);
}

cudaError_t cpu_physical_import(int fd, int *ret_device, size_t *ret_size)
{
    char path[64];
    char name[128];
    struct stat status;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, name, sizeof name - 1);
    static const char prefix[] = "/memfd:" OBJECT_NAME;
    if (length < (ssize_t)sizeof prefix || fstat(fd, &status)) {
        return cudaErrorInvalidValue;
    }
    name[length] = '\0';
    if (strncmp(name, prefix, sizeof prefix - 1) != 0 || status.st_size <= 0 ||
        status.st_size % IRTB_VIRTUAL_GRANULARITY) {
        return cudaErrorInvalidValue;
    }
    long device = strtol(name + sizeof prefix - 1, NULL, 10);
    if (device < 0 || device >= cpu.device_count) {
        return cudaErrorInvalidDevice; // of a process that sees more of them
    }
    *ret_device = (int)device;
    *ret_size = (size_t)status.st_size;
    return cudaSuccess;
}

cudaError_t cpu_virtual_reserve(void *wanted, size_t size, size_t alignment, void **ret_ptr)
{
    if (size > SIZE_MAX / 2 || alignment > SIZE_MAX / 4) {
        return cudaErrorMemoryAllocation;
    }
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    char *start = mmap(wanted, size, PROT_NONE, flags, -1, 0);
    if (start != MAP_FAILED && (uintptr_t)start % alignment == 0) {
        *ret_ptr = start;
        return cudaSuccess;
    }
    if (start != MAP_FAILED) {
        munmap(start, size);
    }
    start = mmap(NULL, size + alignment, PROT_NONE, flags, -1, 0);
    if (start == MAP_FAILED) {
        return cudaErrorMemoryAllocation;
    }
    size_t before = -(uintptr_t)start & (alignment - 1);
    if (before) {
        munmap(start, before);
    }
    munmap(start + before + size, alignment - before);
    *ret_ptr = start + before;
    return cudaSuccess;
}

void cpu_virtual_free(void *ptr, size_t size)
{
    munmap(ptr, size);
}

cudaError_t cpu_virtual_map(void *ptr, size_t size, int fd, uint64_t offset)
{
    void *at = mmap(ptr, size, PROT_NONE, MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
    return at == MAP_FAILED ? cudaErrorMemoryAllocation : cudaSuccess;
}

// Mapping something else in its place cannot lose the addresses to another thread's mmap.
cudaError_t cpu_virtual_unmap(void *ptr, size_t size)
{
    void *at =
        mmap(ptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    return at == MAP_FAILED ? cudaErrorUnmapBufferObjectFailed : cudaSuccess;
}

cudaError_t cpu_virtual_protect(void *ptr, size_t size, bool read, bool write)
{
    int protection = (read ? PROT_READ : 0) | (write ? PROT_READ | PROT_WRITE : 0);
    return mprotect(ptr, size, protection) ? cudaErrorMemoryAllocation : cudaSuccess;
}
