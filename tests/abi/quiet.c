// SPDX-License-Identifier: Apache-2.0
//
// Merely loading the front ends, and registering a module as a compiled program does before main,
// starts no thread and opens no file. Counted twice: in /proc/self, and by standing in front of the
// C library's functions (this program is searched first). Arguments: the libraries.
// Exit code 0 if nothing happened; a plain program because Criterion's workers have threads.
// Both open and open64 are defined here: the first must not be renamed to the second.
#undef _FILE_OFFSET_BITS
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static unsigned opened, started;

// Prototypes come from the headers above; the forms with 64 are what the libraries may call.
int open64(const char *path, int flags, ...);
FILE *fopen64(const char *path, const char *mode);

#define NEXT(type, name) ((type)next(#name))

static void *next(const char *name)
{
    return dlsym(RTLD_NEXT, name);
}

static mode_t mode_of(int flags, va_list arguments)
{
    return flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    opened++;
    return NEXT(int (*)(const char *, int, ...), open)(path, flags, mode);
}

int open64(const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    opened++;
    return NEXT(int (*)(const char *, int, ...), open64)(path, flags, mode);
}

FILE *fopen(const char *path, const char *mode)
{
    opened++;
    return NEXT(FILE * (*)(const char *, const char *), fopen)(path, mode);
}

FILE *fopen64(const char *path, const char *mode)
{
    opened++;
    return NEXT(FILE * (*)(const char *, const char *), fopen64)(path, mode);
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *argument)
{
    started++;
    return NEXT(int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *),
                pthread_create)(thread, attributes, start, argument);
}

static unsigned entries(const char *folder)
{
    unsigned count = 0;
    DIR *dir = opendir(folder);
    while (dir && readdir(dir)) {
        count++;
    }
    if (dir) {
        closedir(dir);
    }
    return count;
}

// Lines of /proc/self/maps with a backend module in them.
static unsigned backends(void)
{
    char line[4096];
    unsigned count = 0;
    unsigned before = opened;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof(line), maps)) {
        count += strstr(line, "libirt-") != NULL;
    }
    if (maps) {
        fclose(maps);
    }
    opened = before;
    return count;
}

static int failures;

static void check(const char *when, unsigned threads, unsigned files)
{
    unsigned now_threads = entries("/proc/self/task");
    unsigned now_files = entries("/proc/self/fd");
    if (now_threads != threads || now_files != files || opened || started || backends()) {
        fprintf(stderr,
                "%s: threads %u -> %u, descriptors %u -> %u, %u opened, %u started, %u lines "
                "of backends\n",
                when, threads, now_threads, files, now_files, opened, started, backends());
        failures++;
    }
}

static void *symbol(void *handle, const char *name)
{
    void *found = dlsym(handle, name);
    if (!found) {
        fprintf(stderr, "%s is missing\n", name);
        failures++;
    }
    return found;
}

int main(int argc, char **argv)
{
    static const int wrapper[6] = {0x466243b1, 1};
    unsigned threads = entries("/proc/self/task");
    unsigned files = entries("/proc/self/fd");
    opened = started = 0;
    for (int i = 1; i < argc; i++) {
        void *handle = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
        if (!handle) {
            fprintf(stderr, "%s\n", dlerror());
            return 1;
        }
        check(argv[i], threads, files);

        void **(*begin)(const void *) =
            (void **(*)(const void *))symbol(handle, "__cudaRegisterFatBinary");
        void (*end)(void **) = (void (*)(void **))symbol(handle, "__cudaRegisterFatBinaryEnd");
        void (*drop)(void **) = (void (*)(void **))symbol(handle, "__cudaUnregisterFatBinary");
        if (begin && end && drop) {
            void **module = begin(wrapper);
            end(module);
            check("registration", threads, files);
            drop(module);
            check("unregistration", threads, files);
        }
    }
    return failures || argc < 2;
}
