// SPDX-License-Identifier: Apache-2.0
//
// See cache.h. A file is <64 hex digits of the key>.o: checksum of key and object, then the object.
// The folder (cache_files.h) belongs to the user alone, because what lies in it is run.
#include "cache.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <llvm-c/BitWriter.h>
#include <llvm-c/blake3.h>

#include "cache_files.h"
#include "orc.h"
#include "../kernel_abi.h"

enum { MOST = 256 << 20, HASH = 32 };

static void add(llvm_blake3_hasher *hasher, const void *data, size_t size)
{
    uint64_t length = size; // so that neighbours cannot run into each other
    llvm_blake3_hasher_update(hasher, &length, sizeof(length));
    llvm_blake3_hasher_update(hasher, data, size);
}

static void add_text(llvm_blake3_hasher *hasher, const char *text)
{
    add(hasher, text, strlen(text));
}

bool cache_make_key(LLVMModuleRef module, const char *recipe, struct cache_key *ret_key)
{
    if (cache_files_folder() < 0) {
        return false;
    }
    struct {
        uint32_t format, abi, major, minor, patch;
    } versions = {1, EXEC_KERNEL_ABI, 0, 0, 0};
    LLVMGetVersion(&versions.major, &versions.minor, &versions.patch);
    LLVMMemoryBufferRef bitcode = LLVMWriteBitcodeToMemoryBuffer(module);
    llvm_blake3_hasher hasher;
    llvm_blake3_hasher_init(&hasher);
    add(&hasher, &versions, sizeof(versions));
    add_text(&hasher, orc_cpu());
    add_text(&hasher, orc_features());
    add_text(&hasher, recipe);
    add(&hasher, LLVMGetBufferStart(bitcode), LLVMGetBufferSize(bitcode));
    llvm_blake3_hasher_finalize(&hasher, ret_key->hash, HASH);
    LLVMDisposeMemoryBuffer(bitcode);
    return true;
}

static void file_name(const struct cache_key *key, char *ret_name, size_t size)
{
    size_t used = 0;
    for (unsigned i = 0; i < HASH; i++) {
        used += (size_t)snprintf(ret_name + used, size - used, "%02x", key->hash[i]);
    }
    snprintf(ret_name + used, size - used, ".o");
}

static void checksum(const struct cache_key *key, const void *object, size_t size, uint8_t *ret)
{
    llvm_blake3_hasher hasher;
    llvm_blake3_hasher_init(&hasher);
    add(&hasher, key->hash, HASH);
    add(&hasher, object, size);
    llvm_blake3_hasher_finalize(&hasher, ret, HASH);
}

static bool read_all(int fd, unsigned char *data, size_t size)
{
    size_t done = 0;
    while (done < size) {
        ssize_t n = read(fd, data + done, size - done);
        if (n <= 0 && !(n < 0 && errno == EINTR)) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

bool cache_read(const struct cache_key *key, LLVMMemoryBufferRef *ret_object)
{
    char name[HASH * 2 + 3];
    file_name(key, name, sizeof(name));
    int fd = openat(cache_files_folder(), name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    struct stat st;
    if (fd < 0) {
        return false;
    }
    bool good = false;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > HASH && st.st_size < MOST) {
        size_t size = (size_t)st.st_size;
        unsigned char *data = malloc(size);
        uint8_t sum[HASH];
        if (data != NULL && read_all(fd, data, size)) {
            checksum(key, data + HASH, size - HASH, sum);
            good = memcmp(sum, data, HASH) == 0;
            if (good) {
                (void)futimens(fd, NULL); // used now; of a read-only folder not
                *ret_object = LLVMCreateMemoryBufferWithMemoryRangeCopy((char *)data + HASH,
                                                                        size - HASH, "cached");
            }
        }
        free(data);
    }
    close(fd);
    return good;
}

static bool write_all(int fd, const void *data, size_t size)
{
    const char *at = data;
    while (size > 0) {
        ssize_t n = write(fd, at, size);
        if (n < 0 && errno != EINTR) {
            return false;
        }
        at += n > 0 ? n : 0;
        size -= n > 0 ? (size_t)n : 0;
    }
    return true;
}

void cache_write(const struct cache_key *key, LLVMMemoryBufferRef object)
{
    static atomic_uint counter;
    char name[HASH * 2 + 3], temporary[64];
    uint8_t sum[HASH];
    int folder = cache_files_folder();
    size_t size = LLVMGetBufferSize(object);
    if (!cache_files_fits(size + HASH)) {
        return;
    }
    file_name(key, name, sizeof(name));
    snprintf(temporary, sizeof(temporary), ".%ld-%u.tmp", (long)getpid(),
             atomic_fetch_add(&counter, 1));
    int fd = openat(cache_files_folder(), temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) {
        return;
    }
    checksum(key, LLVMGetBufferStart(object), size, sum);
    bool good = write_all(fd, sum, HASH) && write_all(fd, LLVMGetBufferStart(object), size);
    good = close(fd) == 0 && good;
    if (!good || renameat(folder, temporary, folder, name) != 0) {
        unlinkat(folder, temporary, 0);
        return;
    }
    cache_files_added(size + HASH);
}
