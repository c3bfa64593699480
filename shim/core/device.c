// SPDX-License-Identifier: Apache-2.0
//
// Devices: which ones the application sees (CUDA_VISIBLE_DEVICES), the current device of each
// thread, flags, limits, cache preferences, synchronising and resetting. Properties and attributes
// are in properties.c, access between devices in peer.c.
#include "shim/core/device.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/context.h"
#include "shim/core/api_rules.h"
#include "shim/image/array.h"
#include "shim/core/event.h"
#include "shim/graph/graph.h"
#include "shim/graph/graph_exec.h"
#include "shim/core/memory.h"
#include "shim/core/module.h"
#include "shim/core/pool.h"
#include "shim/core/stream.h"
#include "shim/image/texref.h"
#include "shim/image/texture.h"
#include "shim/dispatch/backend.h"
#include "shim/dispatch/entry.h"
#include "shim/util/env.h"
#include "shim/util/log.h"
#include "shim/util/tls.h"

enum { DEVICE_MAX = 64 }; // as many as irt_device.peers has bits

static struct irt_device *devices; // `device_count` of them, in the application's order
static int device_count;

// Number of the current device, plus one; 0: this thread never chose one.
static IRT_TLS_HOT int current;
static _Thread_local bool detached;

// Devices that cudaSetValidDevices named, in order; guarded by valid_lock. A thread that never
// called cudaSetDevice uses the first one.
static struct irt_mutex valid_lock = IRT_MUTEX_INIT(IRT_RANK_DEVICE);
static _Atomic int default_device;

// ---- which devices are visible ----

static int hex_digit(char c)
{
    return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

// Whether `text` (length bytes) is "GPU-" and a beginning of the UUID, hyphens allowed anywhere.
static bool uuid_matches(const char *text, size_t length, const cudaUUID_t *uuid)
{
    if (length <= 4 || strncmp(text, "GPU-", 4) != 0) {
        return false;
    }
    unsigned digits = 0;
    for (size_t i = 4; i < length; i++) {
        if (text[i] == '-') {
            continue;
        }
        if (!isxdigit((unsigned char)text[i]) || digits >= 32) {
            return false;
        }
        unsigned char byte = (unsigned char)uuid->bytes[digits / 2];
        int wanted = digits % 2 == 0 ? byte >> 4 : byte & 15;
        if (hex_digit(text[i]) != wanted) {
            return false;
        }
        digits++;
    }
    return digits > 0;
}

// The backend's device that one word of CUDA_VISIBLE_DEVICES names; -1: none (or not unique).
static int find_visible(const char *word, size_t length, const struct irtb_device_info *infos,
                        int count)
{
    if (length > 0 && (isdigit((unsigned char)word[0]) || word[0] == '+')) {
        char *end;
        long number = strtol(word, &end, 10);
        return end == word + length && number >= 0 && number < count ? (int)number : -1;
    }
    int found = -1;
    for (int i = 0; i < count; i++) {
        if (uuid_matches(word, length, &infos[i].prop.uuid)) {
            if (found >= 0) {
                return -1;
            }
            found = i;
        }
    }
    return found;
}

// Fills `ids` with the visible devices in order; the list ends at the first word that names none.
// A device named twice makes the whole list invalid, as with CUDA.
static int select_visible(const char *list, const struct irtb_device_info *infos, int count,
                          int ids[DEVICE_MAX])
{
    int visible = 0;
    if (!list) {
        for (; visible < count && visible < DEVICE_MAX; visible++) {
            ids[visible] = visible;
        }
        return visible;
    }
    while (*list != '\0' && visible < DEVICE_MAX) {
        size_t length = strcspn(list, ",");
        const char *word = list;
        size_t size = length;
        while (size > 0 && isspace((unsigned char)word[0])) {
            word++;
            size--;
        }
        while (size > 0 && isspace((unsigned char)word[size - 1])) {
            size--;
        }
        int id = find_visible(word, size, infos, count);
        if (id < 0) {
            return visible;
        }
        for (int i = 0; i < visible; i++) {
            if (ids[i] == id) {
                return 0;
            }
        }
        ids[visible++] = id;
        list += length + (list[length] == ',');
    }
    return visible;
}

cudaError_t irt_device_setup(const struct irtb_backend *backend)
{
    int count;
    cudaError_t error = backend->device_count(&count);
    if (error) {
        return error;
    }
    struct irtb_device_info *infos = calloc((size_t)count + 1, sizeof *infos);
    if (!infos) {
        return cudaErrorMemoryAllocation;
    }
    for (int i = 0; i < count && !error; i++) {
        error = backend->device_info(i, &infos[i]);
    }
    int ids[DEVICE_MAX];
    int visible = error ? 0 : select_visible(irt_env("CUDA_VISIBLE_DEVICES"), infos, count, ids);
    if (!error && visible == 0) {
        error = cudaErrorNoDevice;
    }
    devices = error ? NULL : calloc((size_t)visible, sizeof *devices);
    if (!error && !devices) {
        error = cudaErrorMemoryAllocation;
    }
    for (int i = 0; !error && i < visible; i++) {
        struct irt_device *device = &devices[i];
        device->ordinal = i;
        device->id = ids[i];
        device->info = infos[ids[i]];
        struct cudaDeviceProp *prop = &device->info.prop;
        prop->memoryPoolsSupported = 1; // ours, for every backend
        prop->timelineSemaphoreInteropSupported = 1;
        prop->ipcEventSupported = backend->event_export != NULL;
        prop->memoryPoolSupportedHandleTypes =
            backend->shared_create ? cudaMemHandleTypePosixFileDescriptor : 0;
        device->flags = cudaDeviceMapHost;
        irt_mutex_init(&device->lock, IRT_RANK_DEVICE);
    }
    device_count = error ? 0 : visible;
    free(infos);
    return error;
}

// ---- for the other files ----

int irt_device_count(void)
{
    return device_count;
}

struct irt_device *irt_device_at(int ordinal)
{
    return ordinal >= 0 && ordinal < device_count ? &devices[ordinal] : NULL;
}

struct irt_device *irt_device_of_backend(int id)
{
    for (int i = 0; i < device_count; i++) {
        if (devices[i].id == id) {
            return &devices[i];
        }
    }
    return NULL;
}

struct irt_device *irt_device_current(void)
{
    return irt_device_at(current > 0 ? current - 1
                                     : atomic_load_explicit(&default_device, memory_order_relaxed));
}

void irt_device_make_current(struct irt_device *device)
{
    current = device->ordinal + 1;
    detached = false;
}

void irt_device_detach(void)
{
    detached = true;
}

bool irt_device_detached(void)
{
    return detached;
}

unsigned irt_device_arch(const struct irt_device *device)
{
    return (unsigned)(device->info.prop.major * 10 + device->info.prop.minor);
}

void irt_device_activate(struct irt_device *device)
{
    if (!atomic_load_explicit(&device->active, memory_order_relaxed)) {
        atomic_store_explicit(&device->active, true, memory_order_relaxed);
    }
}

bool irt_device_active(const struct irt_device *device)
{
    return atomic_load_explicit(&device->active, memory_order_relaxed);
}

cudaError_t irt_device_error(const struct irt_device *device)
{
    return (cudaError_t)atomic_load_explicit(&device->lost, memory_order_relaxed);
}

bool irt_device_sync_memops(const struct irt_device *device)
{
    return atomic_load_explicit(&device->flags, memory_order_relaxed) & cudaDeviceSyncMemops;
}

cudaError_t irt_device_drain(struct irt_device *device)
{
    cudaError_t error = irt_backend()->device_synchronize(device->id);
    cudaError_t fault = irt_device_error(device);
    return fault ? fault : error;
}

void irt_device_lost(int id, cudaError_t error)
{
    struct irt_device *device = irt_device_of_backend(id);
    int expected = cudaSuccess;
    if (device && atomic_compare_exchange_strong(&device->lost, &expected, (int)error)) {
        IRT_LOG("device", IRT_LOG_INFO, "device %d is unusable from now on: error %d",
                device->ordinal, (int)error);
    }
}

// ---- the functions ----

cudaError_t irt_core_cudaDriverGetVersion(int *driverVersion)
{
    if (!driverVersion) {
        return cudaErrorInvalidValue;
    }
    // There is no driver apart from us: the version is the newest front end's.
    *driverVersion = irt_fronts[IRT_FRONT_COUNT - 1].version;
    return cudaSuccess;
}

cudaError_t irt_core_cudaGetDeviceCount(int *count)
{
    if (!count) {
        return cudaErrorInvalidValue;
    }
    *count = device_count;
    return cudaSuccess;
}

cudaError_t irt_core_cudaGetDevice(int *device)
{
    if (!device) {
        return cudaErrorInvalidValue;
    }
    *device = irt_device_current()->ordinal;
    return cudaSuccess;
}

cudaError_t irt_core_cudaSetDevice(int device)
{
    struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    irt_device_make_current(found);
    irt_device_activate(found);
    return irt_device_error(found);
}

cudaError_t irt_core_cudaSetValidDevices(int *device_arr, int len)
{
    if (len < 0 || len > device_count || (len > 0 && !device_arr)) {
        return cudaErrorInvalidValue;
    }
    for (int i = 0; i < len; i++) {
        if (!irt_device_at(device_arr[i])) {
            return cudaErrorInvalidDevice;
        }
    }
    // Every device works, so the first of the list is the one that threads without a choice get.
    irt_mutex_lock(&valid_lock);
    atomic_store_explicit(&default_device, len > 0 ? device_arr[0] : 0, memory_order_relaxed);
    irt_mutex_unlock(&valid_lock);
    return cudaSuccess;
}

static bool flags_are_valid(unsigned flags)
{
    unsigned schedule = flags & cudaDeviceScheduleMask;
    bool one = (schedule & (schedule - 1)) == 0;
    unsigned known = cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax |
                     cudaDeviceSyncMemops;
    return one && (flags & ~known) == 0;
}

static void set_flags(struct irt_device *device, unsigned flags)
{
    atomic_store_explicit(&device->flags, flags | cudaDeviceMapHost, memory_order_relaxed);
}

cudaError_t irt_core_cudaSetDeviceFlags(unsigned int flags)
{
    if (!flags_are_valid(flags)) {
        return cudaErrorInvalidValue;
    }
    set_flags(irt_device_current(), flags);
    return cudaSuccess;
}

cudaError_t irt_core_cudaGetDeviceFlags(unsigned int *flags)
{
    if (!flags) {
        return cudaErrorInvalidValue;
    }
    *flags = atomic_load_explicit(&irt_device_current()->flags, memory_order_relaxed);
    return cudaSuccess;
}

cudaError_t irt_core_cudaInitDevice(int device, unsigned int deviceFlags, unsigned int flags)
{
    struct irt_device *found = irt_device_at(device);
    if (!found) {
        return cudaErrorInvalidDevice;
    }
    if (flags & ~(unsigned)cudaInitDeviceFlagsAreValid) {
        return cudaErrorInvalidValue;
    }
    if (flags & cudaInitDeviceFlagsAreValid) {
        if (!flags_are_valid(deviceFlags)) {
            return cudaErrorInvalidValue;
        }
        set_flags(found, deviceFlags);
    }
    irt_device_activate(found);
    return irt_device_error(found);
}

cudaError_t irt_core_cudaDeviceSynchronize(void)
{
    return irt_device_drain(irt_device_current());
}

cudaError_t irt_core_cudaDeviceReset(void)
{
    struct irt_device *device = irt_device_current();
    cudaError_t error = irt_device_drain(device);
    if (error) {
        return error;
    }
    irt_exec_reset_device(device);
    irt_graph_reset_device(device);
    irt_texref_reset_device(device);
    irt_texture_reset_device(device);
    irt_array_reset_device(device);
    irt_module_reset_device(device);
    irt_event_reset_device(device);
    irt_context_reset_device(device);
    irt_stream_reset_device(device);
    irt_memory_reset_device(device);
    irt_pool_reset_device(device);
    set_flags(device, 0);
    irt_mutex_lock(&device->lock);
    device->cache_config = cudaFuncCachePreferNone;
    device->peers = 0;
    irt_mutex_unlock(&device->lock);
    for (int i = 0; i < device_count; i++) {
        irt_mutex_lock(&devices[i].lock);
        devices[i].peers &= ~(1ull << device->ordinal);
        irt_mutex_unlock(&devices[i].lock);
    }
    atomic_fetch_add(&device->generation, 1);
    atomic_store(&device->active, false);
    error = irt_backend()->device_reset(device->id);
    if (!error) {
        irt_module_restore_managed(device);
    }
    return error;
}

static bool limit_is_valid(enum cudaLimit limit)
{
    return (unsigned)limit <= cudaLimitPersistingL2CacheSize;
}

cudaError_t irt_core_cudaDeviceGetLimit(size_t *pValue, enum cudaLimit limit)
{
    if (!pValue) {
        return cudaErrorInvalidValue;
    }
    if (!limit_is_valid(limit)) {
        return cudaErrorUnsupportedLimit;
    }
    return irt_backend()->device_get_limit(irt_device_current()->id, limit, pValue);
}

cudaError_t irt_core_cudaDeviceSetLimit(enum cudaLimit limit, size_t value)
{
    if (!limit_is_valid(limit)) {
        return cudaErrorUnsupportedLimit;
    }
    return irt_backend()->device_set_limit(irt_device_current()->id, limit, value);
}

cudaError_t irt_core_cudaDeviceGetCacheConfig(enum cudaFuncCache *pCacheConfig)
{
    if (!pCacheConfig) {
        return cudaErrorInvalidValue;
    }
    struct irt_device *device = irt_device_current();
    irt_mutex_lock(&device->lock);
    *pCacheConfig = device->cache_config;
    irt_mutex_unlock(&device->lock);
    return cudaSuccess;
}

cudaError_t irt_core_cudaDeviceSetCacheConfig(enum cudaFuncCache cacheConfig)
{
    if ((unsigned)cacheConfig > cudaFuncCachePreferEqual) {
        return cudaErrorInvalidValue;
    }
    struct irt_device *device = irt_device_current();
    irt_mutex_lock(&device->lock);
    device->cache_config = cacheConfig; // a preference; nothing follows from it on our devices
    irt_mutex_unlock(&device->lock);
    return cudaSuccess;
}

cudaError_t irt_core_cudaDeviceGetSharedMemConfig(enum cudaSharedMemConfig *pConfig)
{
    if (!pConfig) {
        return cudaErrorInvalidValue;
    }
    *pConfig = cudaSharedMemBankSizeFourByte; // fixed since compute capability 5.0
    return cudaSuccess;
}

cudaError_t irt_core_cudaDeviceSetSharedMemConfig(enum cudaSharedMemConfig config)
{
    // "This function will do nothing on devices with fixed shared memory bank size."
    return (unsigned)config > cudaSharedMemBankSizeEightByte ? cudaErrorInvalidValue : cudaSuccess;
}

cudaError_t irt_core_cudaProfilerStart(void)
{
    // Marks a range for an attached profiler; without one CUDA, too, only answers success.
    return cudaSuccess;
}

cudaError_t irt_core_cudaProfilerStop(void)
{
    return cudaSuccess;
}
