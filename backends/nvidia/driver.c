// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's driver library, as far as the choice of a backend needs it: is it there, is it not ours,
// how many devices has it.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "nvidia.h"

// Ours is small; NVIDIA's has tens of megabytes and is not read.
enum { OURS_AT_MOST = 4 << 20 };

static bool file_is_ours(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0 || status.st_size > OURS_AT_MOST) {
        return false;
    }
    FILE *file = fopen(path, "rb");
    char *text = file ? malloc((size_t)status.st_size) : NULL;
    static const char mark[] = "libinfinirt_core.so";
    bool ours = text && fread(text, 1, (size_t)status.st_size, file) == (size_t)status.st_size &&
                memmem(text, (size_t)status.st_size, mark, sizeof mark - 1) != NULL;
    free(text);
    if (file) {
        fclose(file);
    }
    return ours;
}

struct look {
    bool ours_first;
    char path[NVIDIA_PATH_MAX]; // the first that is not ours
};

static bool look_in(const char *folder, void *user)
{
    struct look *look = user;
    char path[NVIDIA_PATH_MAX];
    if ((size_t)snprintf(path, sizeof path, "%s/libcuda.so.1", folder) >= sizeof path ||
        access(path, R_OK) != 0) {
        return false;
    }
    if (file_is_ours(path)) {
        look->ours_first = true;
        return false;
    }
    snprintf(look->path, sizeof look->path, "%s", path);
    return true;
}

bool nvidia_guard_driver(char *ret_why, size_t why_size)
{
    static const char *const more[] = {"/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu",
                                       "/usr/lib64", "/usr/lib/wsl/lib"};
    struct look look = {.ours_first = false};
    void *loaded = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL | RTLD_NOLOAD);
    if (loaded) {
        bool ours = nvidia_is_ours(loaded);
        dlclose(loaded);
        if (ours) {
            snprintf(ret_why, why_size,
                     "InfiniRT's libcuda.so.1, which is for the cpu backend, is loaded");
        }
        return !ours;
    }
    bool found = nvidia_loader_folders(look_in, &look);
    if (!look.ours_first) {
        return true; // whatever the runtime finds is not ours
    }
    for (size_t i = 0; i < sizeof more / sizeof *more && !found; i++) {
        found = look_in(more[i], &look);
    }
    // Kept: from now on the name stands for this one.
    if (found && dlopen(look.path, RTLD_LAZY | RTLD_LOCAL)) {
        return true;
    }
    snprintf(ret_why, why_size,
             "InfiniRT's libcuda.so.1, which is for the cpu backend, is on the library path and "
             "there is no other");
    return false;
}

cudaError_t nvidia_driver_devices(int *ret_count, char *ret_why, size_t why_size)
{
    void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL); // kept: it may own threads
    if (!driver) {
        const char *error = dlerror();
        snprintf(ret_why, why_size, "no driver: %s", error ? error : "libcuda.so.1");
        return cudaErrorInsufficientDriver;
    }
    int (*init)(unsigned) = NULL, (*count)(int *) = NULL;
    *(void **)&init = dlsym(driver, "cuInit");
    *(void **)&count = dlsym(driver, "cuDeviceGetCount");
    int error = init && count ? init(0) : 999;
    if (!error) {
        error = count(ret_count);
    }
    if (error) {
        snprintf(ret_why, why_size, "the driver answers %d", error);
        return error == 100 ? cudaErrorNoDevice : cudaErrorInsufficientDriver;
    }
    return cudaSuccess;
}
