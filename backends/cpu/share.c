// SPDX-License-Identifier: Apache-2.0
//
// Objects of shared memory: making them, finding those of other processes, mapping parts of them.
#include "share.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/stream.h"

_Static_assert(sizeof(struct cpu_share) == sizeof(struct irtb_share), "a share is all it carries");

static uint64_t random_number(void)
{
    uint64_t number = 0;
    // The kernel never lacks these few bytes once it has started.
    return getrandom(&number, sizeof number, 0) == sizeof number ? number : 0;
}

static void object_name(char *ret_name, size_t size, uint64_t nonce)
{
    snprintf(ret_name, size, "infinirt-%016llx", (unsigned long long)nonce);
}

int cpu_object_create(size_t size, struct cpu_share *ret_share)
{
    uint64_t nonce = random_number();
    char name[32];
    object_name(name, sizeof name, nonce);
    int fd = memfd_create(name, MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, (off_t)size)) {
        int error = errno;
        close(fd);
        errno = error;
        fd = -1;
    }
    if (fd >= 0) {
        *ret_share = (struct cpu_share){.pid = (uint32_t)getpid(), .fd = fd, .nonce = nonce};
    }
    return fd;
}

// Whether the link at `path` is that of the object.
static bool is_object(const char *path, uint64_t nonce)
{
    char name[32], wanted[64], link[64];
    object_name(name, sizeof name, nonce);
    int length = snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
    ssize_t size = readlink(path, link, sizeof link);
    return size == length && memcmp(link, wanted, (size_t)length) == 0;
}

int cpu_object_open(const struct cpu_share *share)
{
    char path[64];
    if (share->fd < 0 || share->pid == 0 || share->pid > INT32_MAX) {
        return -1;
    }
    snprintf(path, sizeof path, "/proc/%u/fd/%d", share->pid, share->fd);
    // Looked at before, because opening may do something, and after, because it may have changed.
    errno = 0;
    int fd = is_object(path, share->nonce) ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0) {
        if (errno == EACCES || errno == EPERM) {
            EXEC_LOG(1, "memory of process %u cannot be shared: %s (both must be of the same user)",
                     share->pid, strerror(errno));
        }
        return -1;
    }
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!is_object(path, share->nonce)) {
        close(fd);
        return -1;
    }
    return fd;
}

static size_t page_size(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

void *cpu_shared_place(int fd, uint64_t offset, size_t size)
{
    size_t before = (size_t)(offset & (page_size() - 1));
    if (size == 0 || offset > INT64_MAX - size || size > SIZE_MAX / 2) {
        errno = EINVAL;
        return NULL;
    }
    char *base =
        mmap(NULL, size + before, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)(offset - before));
    if (base == MAP_FAILED) {
        return NULL;
    }
    // A fork child must not write into memory of its parent; CUDA does not work there anyway.
    madvise(base, size + before, MADV_DONTFORK);
    return base + before;
}

void cpu_shared_remove(void *ptr, size_t size, bool discard)
{
    size_t page = page_size(), before = (uintptr_t)ptr & (page - 1);
    char *base = (char *)ptr - before;
    size_t whole = (size + before + page - 1) & ~(page - 1);
    if (discard) {
        madvise(base, whole, MADV_REMOVE);
    }
    munmap(base, whole);
}

// Whether the allocation that the share names is still there.
static bool is_alive(int fd, const struct cpu_share *share)
{
    uint32_t mark = 0;
    if (share->slot >= CPU_OBJECT_DATA / sizeof mark) {
        return false;
    }
    ssize_t size = pread(fd, &mark, sizeof mark, (off_t)(share->slot * sizeof mark));
    return size == sizeof mark && mark != 0 && mark == share->mark;
}

cudaError_t cpu_memory_import(int device, const struct irtb_share *bytes, void **ret_ptr,
                              size_t *ret_size)
{
    (void)device;
    struct cpu_share share;
    memcpy(&share, bytes, sizeof share);
    if (share.size == 0 || share.offset < CPU_OBJECT_DATA || share.mark == 0) {
        return cudaErrorInvalidValue;
    }
    if (share.pid == (uint32_t)getpid()) {
        return cudaErrorDeviceUninitialized;
    }
    int fd = cpu_object_open(&share);
    if (fd < 0) {
        return cudaErrorMapBufferObjectFailed;
    }
    struct stat status;
    void *ptr = NULL;
    if (fstat(fd, &status) == 0 && share.size <= (uint64_t)status.st_size &&
        share.offset <= (uint64_t)status.st_size - share.size && is_alive(fd, &share)) {
        ptr = cpu_shared_place(fd, share.offset, share.size);
    }
    close(fd);
    if (!ptr) {
        return cudaErrorMapBufferObjectFailed;
    }
    *ret_ptr = ptr;
    *ret_size = share.size;
    return cudaSuccess;
}

cudaError_t cpu_shared_create(int device, int *ret_fd)
{
    (void)device;
    struct cpu_share share;
    int fd = cpu_object_create(0, &share);
    if (fd < 0) {
        return errno == EMFILE || errno == ENFILE ? cudaErrorMapBufferObjectFailed
                                                  : cudaErrorMemoryAllocation;
    }
    *ret_fd = fd;
    return cudaSuccess;
}
