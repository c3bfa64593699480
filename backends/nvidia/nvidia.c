// SPDX-License-Identifier: Apache-2.0
//
// The nvidia backend: NVIDIA's runtime of the caller's major, function by function. What it lacks
// is answered by shim/dispatch. Only the choice of a backend and `infinirt info` ask anything else.
#include "nvidia.h"

#include <dlfcn.h>
#include <glob.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

enum { FIRST_MAJOR = 11, MAJORS = 3 };

static const struct irtb_host *host;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool driver_guarded;
static struct {
    bool tried;
    void *handle;
    char path[NVIDIA_PATH_MAX];
} runtimes[MAJORS]; // written under the lock

static cudaError_t init(const struct irtb_host *given, char *ret_why, size_t why_size)
{
    (void)ret_why;
    (void)why_size;
    host = given;
    return cudaSuccess;
}

static bool probe(void)
{
    // The device files of the driver on a PC or server, under WSL, on Tegra.
    static const char *const files[] = {"/dev/nvidia[0-9]*", "/dev/dxg", "/dev/nvhost-gpu"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        glob_t matches;
        if (glob(files[i], 0, NULL, &matches) == 0) {
            bool any = matches.gl_pathc > 0;
            globfree(&matches);
            if (any) {
                return true;
            }
        }
    }
    return false;
}

static cudaError_t open_locked(int major, char *ret_why, size_t why_size)
{
    if (!driver_guarded) {
        if (!nvidia_guard_driver(ret_why, why_size)) {
            return cudaErrorInsufficientDriver;
        }
        driver_guarded = true;
    }
    typeof(runtimes[0]) *r = &runtimes[major - FIRST_MAJOR];
    if (!r->handle) {
        r->handle =
            nvidia_open(major, host->env("INFINIRT_NVIDIA_CUDART"), r->path, ret_why, why_size);
        if (!r->handle) {
            return cudaErrorNoDevice;
        }
        host->log("nvidia", 2, "CUDA %d is %s", major, r->path);
    }
    return cudaSuccess;
}

static cudaError_t api_open(int major, char *ret_why, size_t why_size)
{
    pthread_mutex_lock(&lock);
    cudaError_t error = open_locked(major, ret_why, why_size);
    pthread_mutex_unlock(&lock);
    return error;
}

static void *api_override(int major, const char *name)
{
    return dlsym(runtimes[major - FIRST_MAJOR].handle, name);
}

// The newest runtime that can be had: for the questions of this file any will do.
static void *any_runtime(char *ret_why, size_t why_size)
{
    for (int major = FIRST_MAJOR + MAJORS; major-- > FIRST_MAJOR;) {
        if (api_open(major, ret_why, why_size) == cudaSuccess) {
            return runtimes[major - FIRST_MAJOR].handle;
        }
    }
    return NULL;
}

static cudaError_t device_count(int *ret_count)
{
    char why[1024] = "";
    int count = 0;
    cudaError_t error =
        probe() ? nvidia_driver_devices(&count, why, sizeof why) : cudaErrorNoDevice;
    if (!error && count > 0 && !any_runtime(why, sizeof why)) {
        error = cudaErrorNoDevice;
        host->log("nvidia", 1, "there are %d devices, but %s", count, why);
    } else if (error && why[0] != '\0') {
        host->log("nvidia", 2, "%s", why);
    }
    if (!error) {
        *ret_count = count;
    }
    return error;
}

// For `infinirt info`. The properties have a layout for each major; only what all of them begin
// with is read from them, the rest is asked for by attribute.
static cudaError_t device_info(int device, struct irtb_device_info *ret_info)
{
    char why[1024];
    void *runtime = any_runtime(why, sizeof why);
    if (!runtime) {
        return cudaErrorNoDevice;
    }
    cudaError_t (*properties)(void *, int), (*attribute)(int *, int, int);
    *(void **)&properties = dlsym(runtime, "cudaGetDeviceProperties_v2");
    if (!properties) {
        *(void **)&properties = dlsym(runtime, "cudaGetDeviceProperties");
    }
    *(void **)&attribute = dlsym(runtime, "cudaDeviceGetAttribute");
    union {
        struct cudaDeviceProp prop;
        char room[4096]; // more than any major's
    } given;
    memset(&given, 0, sizeof given);
    cudaError_t error = properties && attribute ? properties(&given, device) : cudaErrorUnknown;
    if (error) {
        return error;
    }
    memset(ret_info, 0, sizeof *ret_info);
    struct cudaDeviceProp *p = &ret_info->prop;
    snprintf(p->name, sizeof p->name, "%.255s", given.room);
    int shared = 0, optin = 0;
    const struct {
        enum cudaDeviceAttr attribute;
        int *to;
    } numbers[] = {{cudaDevAttrComputeCapabilityMajor, &p->major},
                   {cudaDevAttrComputeCapabilityMinor, &p->minor},
                   {cudaDevAttrMultiProcessorCount, &p->multiProcessorCount},
                   {cudaDevAttrWarpSize, &p->warpSize},
                   {cudaDevAttrMaxThreadsPerBlock, &p->maxThreadsPerBlock},
                   {cudaDevAttrMaxThreadsPerMultiProcessor, &p->maxThreadsPerMultiProcessor},
                   {cudaDevAttrMaxRegistersPerBlock, &p->regsPerBlock},
                   {cudaDevAttrL2CacheSize, &p->l2CacheSize},
                   {cudaDevAttrCooperativeLaunch, &p->cooperativeLaunch},
                   {cudaDevAttrManagedMemory, &p->managedMemory},
                   {cudaDevAttrClockRate, &ret_info->clock_rate_khz},
                   {cudaDevAttrMaxSharedMemoryPerBlock, &shared},
                   {cudaDevAttrMaxSharedMemoryPerBlockOptin, &optin}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        attribute(numbers[i].to, numbers[i].attribute, device); // what is not known stays 0
    }
    p->sharedMemPerBlock = (size_t)shared;
    p->sharedMemPerBlockOptin = (size_t)optin;
    return cudaSuccess;
}

static const struct irtb_backend nvidia_backend = {.abi_version = IRTB_ABI_VERSION,
                                                   .struct_size = sizeof(struct irtb_backend),
                                                   .name = "nvidia",
                                                   .init = init,
                                                   .api_override = api_override,
                                                   .api_open = api_open,
                                                   .probe = probe,
                                                   .device_count = device_count,
                                                   .device_info = device_info};

EXPORT const struct irtb_backend *irtb_backend_entry(void)
{
    return &nvidia_backend;
}
