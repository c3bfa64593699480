// SPDX-License-Identifier: Apache-2.0
//
// `infinirt cache`: where compiled kernels are kept, how many, and how to be rid of them.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "verb.h"
#include "shim/util/cache_folder.h"

static void help(void)
{
    fputs(
        "usage: infinirt cache [--clear]\n"
        "Shows the folder of compiled kernels, what is in it and what limits it. The variables\n"
        "INFINIRT_CACHE_DIR, CUDA_CACHE_PATH, CUDA_CACHE_DISABLE and CUDA_CACHE_MAXSIZE count.\n\n"
        "  --clear            remove what is kept; running programs are not disturbed\n"
        "  --help             this text\n\n"
        "Exit code: 0; 1 when something could not be removed, 2: wrong options.\n",
        stdout);
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), tail = strlen(end);
    return length > tail && strcmp(name + length - tail, end) == 0;
}

// Only what the cache writes: <64 hex digits>.o and .<process>-<n>.tmp
static bool is_kernel(const char *name)
{
    return ends_with(name, ".o") && strspn(name, "0123456789abcdef") == 64 && strlen(name) == 66;
}

int verb_cache(int argc, char **argv)
{
    static const struct option options[] = {
        {"clear", no_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'}, {NULL, 0, NULL, 0}};
    bool clear = false;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'h') {
            help();
            return 0;
        }
        if (option != 'c') {
            return EXIT_USAGE;
        }
        clear = true;
    }
    if (optind < argc) {
        complain("cache: unexpected argument \"%s\"", argv[optind]);
        return EXIT_USAGE;
    }
    static struct irt_cache_folder folder;
    if (!irt_cache_folder(&folder)) {
        puts("no kernels are kept (CUDA_CACHE_DISABLE or CUDA_CACHE_MAXSIZE is set so, or there is "
             "no home folder)");
        return 0;
    }
    DIR *dir = opendir(folder.path);
    if (!dir && errno != ENOENT) {
        complain("%s: %s", folder.path, strerror(errno));
        return 1;
    }
    uint64_t bytes = 0;
    unsigned long kernels = 0, failed = 0;
    for (struct dirent *d; dir && (d = readdir(dir)) != NULL;) {
        struct stat st;
        bool kernel = is_kernel(d->d_name);
        if ((!kernel && !(clear && d->d_name[0] == '.' && ends_with(d->d_name, ".tmp"))) ||
            fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0) {
            continue;
        }
        if (clear && unlinkat(dirfd(dir), d->d_name, 0) != 0 && errno != ENOENT) {
            failed++;
            continue;
        }
        kernels += kernel;
        bytes += (uint64_t)st.st_size;
    }
    if (dir) {
        closedir(dir);
    }
    printf("folder   %s%s%s\nlimit    %llu bytes\n%s %lu kernels, %llu bytes\n", folder.path,
           folder.variable ? ", by " : "", folder.variable ? folder.variable : "",
           (unsigned long long)folder.limit, clear ? "removed " : "kept    ", kernels,
           (unsigned long long)bytes);
    if (failed) {
        complain("%lu files could not be removed", failed);
    }
    return failed ? 1 : 0;
}
