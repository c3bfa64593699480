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
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"
#include "shim/util/cache_folder.h"

TestSuite(jit_cache, .timeout = 60);

static char folder[64];

static void make_folder(mode_t mode)
{
    strcpy(folder, "/tmp/infinirt-cache-XXXXXX");
    cr_assert(mkdtemp(folder) != NULL);
    cr_assert(chmod(folder, mode) == 0);
    setenv("INFINIRT_CACHE_DIR", folder, 1);
    unsetenv("CUDA_CACHE_DISABLE");
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

// Runs kernels in a process of its own, which reads the environment anew. A NULL limit: CUDA's.
static pid_t start_child(const char *limit, const char *const *bodies, const float *results)
{
    pid_t child = fork();
    if (child == 0) {
        if (limit != NULL) {
            setenv("CUDA_CACHE_MAXSIZE", limit, 1);
        }
        for (; *bodies != NULL; bodies++, results++) {
            struct harness_op op = {"b32", "b32", NULL, "b32", NULL, *bodies};
            float a = 3, b = 4, d = 0;
            if (harness_map(&op, 1, &a, &b, NULL, &d, NULL) != 0 || d != *results) {
                _exit(1);
            }
        }
        _exit(0);
    }
    return child;
}

static void wait_child(pid_t child)
{
    int status;
    cr_assert(waitpid(child, &status, 0) == child && status == 0);
}

static const char *const add_only[] = {"add.f32 d, a, b;", NULL};
static const char *const others[] = {"mul.f32 d, a, b;", "sub.f32 d, a, b;", "div.rn.f32 d, a, b;",
                                     NULL};
static const float sum[] = {7}, other_results[] = {12, -1, 0.75f};

Test(jit_cache, what_was_used_longest_ago_goes_first)
{
    make_folder(0700);
    char first[512], name[512], limit[32];
    off_t size = 0;
    wait_child(start_child(NULL, add_only, sum));
    cr_assert(list(first, sizeof(first), &size) == 1);
    // Room for this one and two more of about its size, but not for three.
    snprintf(limit, sizeof(limit), "%lld", (long long)size * 7 / 2);
    wait_child(start_child(limit, others, other_results));
    struct stat st;
    cr_assert(stat(first, &st) != 0, "the oldest is there");
    int left = list(name, sizeof(name), &size);
    cr_assert(left >= 1 && left <= 3, "%d files", left);
    remove_all();
}

Test(jit_cache, larger_than_the_limit)
{
    make_folder(0700);
    char name[512];
    off_t size = 0;
    wait_child(start_child("100", add_only, sum));
    cr_assert(list(name, sizeof(name), &size) == 0);
    remove_all();
}

Test(jit_cache, cuda_variables_count)
{
    make_folder(0700);
    unsetenv("INFINIRT_CACHE_DIR");
    struct irt_cache_folder f;
    setenv("CUDA_CACHE_PATH", folder, 1);
    cr_assert(irt_cache_folder(&f) && f.limit == IRT_CACHE_DEFAULT && f.variable != NULL);
    cr_assert(strncmp(f.path, folder, strlen(folder)) == 0 &&
              strcmp(f.path + strlen(folder), "/infinirt") == 0);
    setenv("CUDA_CACHE_MAXSIZE", "12345", 1);
    cr_assert(irt_cache_folder(&f) && f.limit == 12345 && !f.bad_limit);
    setenv("CUDA_CACHE_MAXSIZE", "99999999999999", 1);
    cr_assert(irt_cache_folder(&f) && f.limit == IRT_CACHE_MOST);
    setenv("CUDA_CACHE_MAXSIZE", "much", 1);
    cr_assert(irt_cache_folder(&f) && f.limit == IRT_CACHE_DEFAULT && f.bad_limit);
    setenv("CUDA_CACHE_MAXSIZE", "0", 1);
    cr_assert(!irt_cache_folder(&f));
    unsetenv("CUDA_CACHE_MAXSIZE");
    setenv("CUDA_CACHE_DISABLE", "1", 1);
    cr_assert(!irt_cache_folder(&f));
    setenv("CUDA_CACHE_DISABLE", "0", 1);
    unsetenv("CUDA_CACHE_PATH");
    unsetenv("XDG_CACHE_HOME");
    setenv("HOME", "/nowhere", 1);
    cr_assert(irt_cache_folder(&f) && f.variable == NULL &&
              strcmp(f.path, "/nowhere/.cache/infinirt") == 0);
    setenv("XDG_CACHE_HOME", "relative", 1);
    cr_assert(irt_cache_folder(&f) && strcmp(f.path, "/nowhere/.cache/infinirt") == 0);
    unsetenv("HOME");
    cr_assert(!irt_cache_folder(&f));
    remove_all();
}

Test(jit_cache, folders_that_cannot_be_had_do_no_harm)
{
    setenv("INFINIRT_CACHE_DIR", "/proc/no/such/folder", 1);
    unsetenv("CUDA_CACHE_DISABLE");
    run_kernel("add.f32 d, a, b;", 7);
}

Test(jit_cache, many_processes_at_once)
{
    make_folder(0700);
    pid_t children[6];
    for (int i = 0; i < 6; i++) {
        children[i] = start_child("20000", others, other_results);
    }
    for (int i = 0; i < 6; i++) {
        wait_child(children[i]);
    }
    remove_all();
}
