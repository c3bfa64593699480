// SPDX-License-Identifier: Apache-2.0
//
// The cache on disk: one file per kernel, found again, damaged and foreign files ignored, a folder
// that others can write to refused. Each Test is a process of its own, so the folder is chosen
// anew.
#include <criterion/criterion.h>

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness.h"

TestSuite(jit_cache, .timeout = 60);

static char folder[64];

static void make_folder(mode_t mode)
{
    strcpy(folder, "/tmp/infinirt-cache-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    cr_assert(chmod(folder, mode) == 0);
    setenv("INFINIRT_CACHE_DIR", folder, 1);
}

// Files in the folder; the last name and size.
static int list(char *ret_name, size_t size, off_t *ret_size)
{
    DIR *dir = opendir(folder);
    int count = 0;
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0) {
            struct stat st;
            snprintf(ret_name, size, "%s/%s", folder, d->d_name);
            stat(ret_name, &st);
            *ret_size = st.st_size;
            count++;
        }
    }
    closedir(dir);
    return count;
}

static void run_kernel(const char *body, float want)
{
    struct harness_op op = {"b32", "b32", NULL, "b32", NULL, body};
    float a = 3, b = 4, d = 0;
    cr_assert(harness_map(&op, 1, &a, &b, NULL, &d, NULL) == 0, "%s", harness_message());
    cr_assert(d == want, "%s: %g", body, (double)d);
}

static void remove_all(void)
{
    char name[512];
    off_t size;
    while (list(name, sizeof(name), &size) > 0) {
        unlink(name);
    }
    rmdir(folder);
}

Test(jit_cache, kernels_are_kept_and_found)
{
    make_folder(0700);
    char name[512];
    off_t size = 0, again = 0;
    run_kernel("add.f32 d, a, b;", 7);
    cr_assert(list(name, sizeof(name), &size) == 1);
    run_kernel("add.f32 d, a, b;", 7);
    cr_assert(list(name, sizeof(name), &again) == 1 && again == size);
    run_kernel("mul.f32 d, a, b;", 12);
    cr_assert(list(name, sizeof(name), &again) == 2);
    remove_all();
}

Test(jit_cache, damaged_files_are_made_again)
{
    make_folder(0700);
    char name[512];
    off_t size = 0, again = 0;
    run_kernel("add.f32 d, a, b;", 7);
    cr_assert(list(name, sizeof(name), &size) == 1);
    // A changed byte, a short file, an empty file, nonsense.
    for (int kind = 0; kind < 4; kind++) {
        int fd = open(name, O_WRONLY);
        cr_assert(fd >= 0);
        if (kind == 0) {
            cr_assert(pwrite(fd, "\xff\x00\xff", 3, size / 2) == 3);
        } else {
            cr_assert(ftruncate(fd, kind == 1 ? size / 2 : 0) == 0);
        }
        if (kind == 3) {
            cr_assert(pwrite(fd, "nonsense", 8, 0) == 8);
        }
        close(fd);
        run_kernel("add.f32 d, a, b;", 7);
        cr_assert(list(name, sizeof(name), &again) == 1 && again == size, "kind %d", kind);
    }
    remove_all();
}

Test(jit_cache, open_folders_are_refused)
{
    make_folder(0777);
    char name[512];
    off_t size = 0;
    run_kernel("add.f32 d, a, b;", 7);
    cr_assert(list(name, sizeof(name), &size) == 0);
    remove_all();
}
