// SPDX-License-Identifier: Apache-2.0
//
// Where the real libcudart.so.N is: INFINIRT_NVIDIA_CUDART alone where it is set; else where the
// loader would look for the program's libraries, CUDA_HOME and CUDA_PATH, NVIDIA's Python packages,
// and the places of toolkits and distributions. The plain name is never asked for: the loader would
// answer with the front end that is loaded under it, which is ours.
#include <dlfcn.h>
#include <glob.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "nvidia.h"

struct search {
    int major;
    const char *soname;
    bool any_name; // a file that the user names may have another SONAME
    void *found;
    char path[NVIDIA_PATH_MAX];
    char *why;
    size_t size, used, begin;
    char last[NVIDIA_PATH_MAX]; // folder noted last
};

static void note(struct search *s, const char *text, const char *reason)
{
    if (s->used + 1 >= s->size) {
        return;
    }
    int n =
        snprintf(s->why + s->used, s->size - s->used, "%s%s%s%s%s", s->used > s->begin ? ", " : "",
                 text, reason ? " (" : "", reason ? reason : "", reason ? ")" : "");
    s->used += n > 0 ? (size_t)n : 0;
    if (s->used >= s->size) { // cut: say so
        s->used = s->size - 1;
        memcpy(s->why + s->size - 4, "...", 4);
    }
}

const char *nvidia_soname(int major)
{
    return major == 11 ? "libcudart.so.11.0" : major == 12 ? "libcudart.so.12" : "libcudart.so.13";
}

// Why a library that could be opened will not do, or NULL.
static const char *unfit(const struct search *s, void *handle)
{
    static const char *const basic[] = {"cudaGetDeviceCount", "cudaMalloc", "cudaMemcpy",
                                        "cudaLaunchKernel", "__cudaRegisterFatBinary"};
    static const int majors[] = {11, 12, 13};
    if (nvidia_is_ours(handle)) {
        return "this is InfiniRT itself";
    }
    const char *soname = nvidia_soname_of(handle);
    if (strcmp(soname, s->soname) != 0) {
        for (size_t i = 0; i < sizeof majors / sizeof *majors; i++) {
            if (strcmp(soname, nvidia_soname(majors[i])) == 0) {
                return "another major";
            }
        }
        if (!s->any_name) {
            return "its SONAME is another one";
        }
    }
    for (size_t i = 0; i < sizeof basic / sizeof *basic; i++) {
        if (!dlsym(handle, basic[i])) {
            return "not a CUDA runtime";
        }
    }
    return NULL;
}

static bool try_file(struct search *s, const char *path)
{
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
        const char *error = dlerror();
        // The text begins with the path in most cases.
        size_t length = strlen(path);
        if (error && strncmp(error, path, length) == 0 && error[length] == ':') {
            error += length + 1 + (error[length + 1] == ' ');
        }
        note(s, path, error ? error : "cannot be opened");
        return false;
    }
    const char *reason = unfit(s, handle);
    if (reason) {
        note(s, path, reason);
        dlclose(handle);
        return false;
    }
    s->found = handle;
    snprintf(s->path, sizeof s->path, "%s", path);
    return true;
}

static bool try_folder(const char *folder, void *user)
{
    struct search *s = user;
    char path[NVIDIA_PATH_MAX];
    if (folder[0] == '\0' ||
        (size_t)snprintf(path, sizeof path, "%s/%s", folder, s->soname) >= sizeof path) {
        return false;
    }
    if (access(path, F_OK) != 0) {
        if (strcmp(folder, s->last) != 0) {
            note(s, folder, NULL);
            snprintf(s->last, sizeof s->last, "%s", folder);
        }
        return false;
    }
    return try_file(s, path);
}

static bool try_pattern(struct search *s, const char *pattern)
{
    glob_t matches;
    if (glob(pattern, 0, NULL, &matches) != 0) {
        return false;
    }
    bool found = false;
    for (size_t i = matches.gl_pathc; i-- > 0 && !found;) { // the newest first
        found = try_folder(matches.gl_pathv[i], s);
    }
    globfree(&matches);
    return found;
}

// The folders of NVIDIA's packages below one of Python's.
static bool try_packages(struct search *s, const char *site)
{
    char own[16], folder[NVIDIA_PATH_MAX];
    snprintf(own, sizeof own, "cu%d", s->major);
    const char *const parts[] = {"cuda_runtime", own};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if ((size_t)snprintf(folder, sizeof folder, "%s/nvidia/%s/lib", site, parts[i]) <
                sizeof folder &&
            access(folder, F_OK) == 0 && try_folder(folder, s)) {
            return true;
        }
    }
    return false;
}

// A library that is loaded from Python's packages says where these are.
static int visit_object(struct dl_phdr_info *info, size_t size, void *user)
{
    static const char *const marks[] = {"/site-packages/", "/dist-packages/"};
    (void)size;
    char *ret_site = user;
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const char *at = info->dlpi_name ? strstr(info->dlpi_name, marks[i]) : NULL;
        if (at) {
            size_t length = (size_t)(at - info->dlpi_name) + strlen(marks[i]) - 1;
            if (length < NVIDIA_PATH_MAX) {
                memcpy(ret_site, info->dlpi_name, length);
                ret_site[length] = '\0';
                return 1;
            }
        }
    }
    return 0;
}

static bool try_python(struct search *s)
{
    char site[NVIDIA_PATH_MAX] = "", pattern[NVIDIA_PATH_MAX];
    dl_iterate_phdr(visit_object, site); // only copies: opening a library in there would block
    if (site[0] != '\0' && try_packages(s, site)) {
        return true;
    }
    const char *environment = getenv("VIRTUAL_ENV");
    if (!environment || (size_t)snprintf(pattern, sizeof pattern, "%s/lib/python3*/site-packages",
                                         environment) >= sizeof pattern) {
        return false;
    }
    glob_t matches;
    bool found = false;
    if (glob(pattern, 0, NULL, &matches) == 0) {
        for (size_t i = 0; i < matches.gl_pathc && !found; i++) {
            found = try_packages(s, matches.gl_pathv[i]);
        }
        globfree(&matches);
    }
    return found;
}

static bool try_variable(struct search *s, const char *name, const char *const *parts)
{
    const char *top = getenv(name);
    for (; top && top[0] != '\0' && *parts; parts++) {
        char folder[NVIDIA_PATH_MAX];
        if ((size_t)snprintf(folder, sizeof folder, "%s/%s", top, *parts) < sizeof folder &&
            try_folder(folder, s)) {
            return true;
        }
    }
    return false;
}

static bool try_setting(struct search *s, const char *setting)
{
    for (const char *at = setting; at;) {
        const char *end = strchr(at, ':');
        size_t length = end ? (size_t)(end - at) : strlen(at);
        char path[NVIDIA_PATH_MAX], inside[NVIDIA_PATH_MAX];
        if (length > 0 && length < sizeof path - 2) {
            memcpy(path, at, length);
            path[length] = '\0';
            // "path/." exists for folders only.
            snprintf(inside, sizeof inside, "%.*s/.", (int)sizeof inside - 3, path);
            s->any_name = access(inside, F_OK) != 0;
            if (s->any_name ? try_file(s, path) : try_folder(path, s)) {
                return true;
            }
        }
        at = end ? end + 1 : NULL;
    }
    return false;
}

static bool try_everywhere(struct search *s)
{
    static const char *const toolkit[] = {"lib64", "lib", "targets/x86_64-linux/lib", NULL};
    static const char *const conda[] = {"lib", NULL};
    static const char *const places[] = {"/usr/local/cuda/lib64",
                                         "/usr/local/cuda/targets/x86_64-linux/lib",
                                         "/opt/cuda/lib64",
                                         "/usr/lib/x86_64-linux-gnu",
                                         "/usr/lib/aarch64-linux-gnu",
                                         "/usr/lib64",
                                         "/usr/lib"};
    char pattern[64];
    if (nvidia_loader_folders(try_folder, s) || try_variable(s, "CUDA_HOME", toolkit) ||
        try_variable(s, "CUDA_PATH", toolkit) || try_python(s) ||
        try_variable(s, "CONDA_PREFIX", conda)) {
        return true;
    }
    snprintf(pattern, sizeof pattern, "/usr/local/cuda-%d*/lib64", s->major);
    if (try_pattern(s, pattern)) {
        return true;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (access(places[i], F_OK) == 0 && try_folder(places[i], s)) {
            return true;
        }
    }
    return false;
}

void *nvidia_open(int major, const char *setting, char *ret_path, char *ret_why, size_t why_size)
{
    struct search *s = calloc(1, sizeof *s);
    if (!s) {
        snprintf(ret_why, why_size, "out of memory");
        return NULL;
    }
    s->major = major;
    s->soname = nvidia_soname(major);
    s->why = ret_why;
    s->size = why_size;
    int n = snprintf(ret_why, why_size, "no %s of NVIDIA; looked in ", s->soname);
    s->used = n > 0 && (size_t)n < why_size ? (size_t)n : 0;
    s->begin = s->used;
    bool found = setting && setting[0] != '\0' ? try_setting(s, setting) : try_everywhere(s);
    void *handle = found ? s->found : NULL;
    if (handle) {
        snprintf(ret_path, NVIDIA_PATH_MAX, "%s", s->path);
        ret_why[0] = '\0';
    } else if (s->used == s->begin) {
        note(s, "no folder", NULL);
    }
    free(s);
    return handle;
}
