// SPDX-License-Identifier: Apache-2.0
#include "cache_files.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "shim/util/cache_folder.h"

enum { NAME_SIZE = 72, STALE_SECONDS = 3600 };

struct file {
    char name[NAME_SIZE];
    uint64_t size;
    struct timespec used;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int folder = -1;
static uint64_t limit;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t total; // of the files, as far as this process knows; under the lock
static bool counted;   // under the lock

static void complain(const struct irt_cache_folder *f, const char *what)
{
    if (f->variable != NULL) { // somebody asked for it
        fprintf(stderr, "infinirt: %s: %s %s; no kernels are kept\n", f->variable, f->path, what);
    }
}

// Makes the folder and those above it.
static bool make_folders(char *path)
{
    for (char *at = strchr(path + 1, '/'); at != NULL; at = strchr(at + 1, '/')) {
        *at = '\0';
        int r = mkdir(path, 0700);
        *at = '/';
        if (r != 0 && errno != EEXIST) {
            return false;
        }
    }
    return mkdir(path, 0700) == 0 || errno == EEXIST;
}

static void open_folder(void)
{
    static struct irt_cache_folder f;
    if (!irt_cache_folder(&f)) {
        return;
    }
    if (f.bad_limit) {
        fprintf(stderr, "infinirt: CUDA_CACHE_MAXSIZE is not a number of bytes; %llu count\n",
                (unsigned long long)f.limit);
    }
    int fd = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT && make_folders(f.path)) {
        fd = open(f.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    }
    struct stat st;
    if (fd < 0) {
        complain(&f, strerror(errno));
        return;
    }
    if (fstat(fd, &st) != 0 || st.st_uid != geteuid() || (st.st_mode & 022) != 0) {
        complain(&f, "is no folder that only this user can write to");
        close(fd);
        return;
    }
    limit = f.limit;
    folder = fd;
}

int cache_files_folder(void)
{
    pthread_once(&once, open_folder);
    return folder;
}

bool cache_files_fits(size_t size)
{
    return size <= limit;
}

static int by_use(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    return x->used.tv_sec != y->used.tv_sec     ? (x->used.tv_sec < y->used.tv_sec ? -1 : 1)
           : x->used.tv_nsec != y->used.tv_nsec ? (x->used.tv_nsec < y->used.tv_nsec ? -1 : 1)
                                                : 0;
}

// All kept files; what a killed process left half written goes. NULL: none or no memory.
static struct file *list_files(size_t *ret_count, uint64_t *ret_total)
{
    struct file *list = NULL;
    size_t count = 0, room = 0;
    int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
    *ret_count = 0;
    *ret_total = 0;
    if (dir == NULL) {
        if (fd >= 0) {
            close(fd);
        }
        return NULL;
    }
    time_t now = time(NULL);
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        size_t length = strlen(d->d_name);
        struct stat st;
        bool kept = length > 2 && strcmp(d->d_name + length - 2, ".o") == 0;
        bool half = length > 4 && strcmp(d->d_name + length - 4, ".tmp") == 0;
        if ((!kept && !half) || length >= NAME_SIZE ||
            fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode)) {
            continue;
        }
        if (half) {
            if (now - st.st_mtime > STALE_SECONDS) {
                unlinkat(folder, d->d_name, 0);
            }
            continue;
        }
        if (count == room) {
            struct file *more = realloc(list, (room * 2 + 64) * sizeof *list);
            if (more == NULL) {
                break;
            }
            list = more;
            room = room * 2 + 64;
        }
        memcpy(list[count].name, d->d_name, length + 1);
        list[count].size = (uint64_t)st.st_size;
        list[count++].used = st.st_mtim;
        *ret_total += (uint64_t)st.st_size;
    }
    closedir(dir);
    *ret_count = count;
    return list;
}

void cache_files_added(size_t size)
{
    pthread_mutex_lock(&lock);
    total += size;
    if (!counted || total > limit) {
        size_t count;
        struct file *list = list_files(&count, &total);
        counted = true;
        if (total > limit) {
            qsort(list, count, sizeof *list, by_use);
            // A tenth more than must be, so that not every addition comes here.
            for (size_t i = 0; i < count && total > limit - limit / 10; i++) {
                if (unlinkat(folder, list[i].name, 0) == 0 || errno == ENOENT) {
                    total -= list[i].size;
                }
            }
        }
        free(list);
    }
    pthread_mutex_unlock(&lock);
}
