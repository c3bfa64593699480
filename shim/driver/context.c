// SPDX-License-Identifier: Apache-2.0
//
// Contexts: the primary context of each device (there are no others) and what is current in a
// thread. The current context is the current device of the runtime, so that both APIs agree; a
// thread may have none after cuCtxSetCurrent(NULL) or before its device was ever used. Source: CUDA
// Driver API, "Primary Context Management", "Context Management".
#include <stdlib.h>

#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/core/stream.h"
#include "shim/dispatch/entry.h"
#include "shim/driver/driver.h"
#include "shim/util/handle.h"
#include "shim/util/lock.h"

enum { DEVICES_MAX = 64, STACK_MAX = 1024 };

// What the driver API keeps per device; by ordinal.
static struct {
    CUcontext context; // opened when first asked for
    unsigned retained; // cuDevicePrimaryCtxRetain minus Release
} primaries[DEVICES_MAX];

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_DEVICE); // guards primaries
static struct irt_handle_table handles = IRT_HANDLE_TABLE(IRT_HANDLE_PRIMARY_CONTEXT, NULL);

// Contexts that cuCtxPushCurrent covered, oldest first; -1: there was none.
static _Thread_local struct {
    bool detached; // cuCtxSetCurrent(NULL): nothing is current
    int depth;
    signed char below[STACK_MAX];
} thread;

CUcontext irt_context_of(struct irt_device *device)
{
    irt_mutex_lock(&lock);
    CUcontext *context = &primaries[device->ordinal].context;
    if (!*context) {
        *context = irt_handle_open(&handles, device);
    }
    CUcontext found = *context;
    irt_mutex_unlock(&lock);
    return found;
}

struct irt_device *irt_context_device(CUcontext context)
{
    struct irt_device *device = irt_handle_get(&handles, context);
    if (device) {
        irt_handle_put(&handles, context); // never closed
    }
    return device;
}

// ---- primary contexts ----

cudaError_t irt_driver_cuDevicePrimaryCtxRetain(CUcontext *pctx, CUdevice dev)
{
    struct irt_device *device;
    if (!pctx) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(dev, &device);
    if (e) {
        return e;
    }
    CUcontext context = irt_context_of(device);
    if (!context) {
        return cudaErrorMemoryAllocation;
    }
    irt_mutex_lock(&lock);
    primaries[dev].retained++;
    irt_mutex_unlock(&lock);
    irt_device_activate(device);
    *pctx = context;
    return cudaSuccess;
}

cudaError_t irt_driver_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    struct irt_device *device;
    cudaError_t e = irt_driver_device(dev, &device);
    if (e) {
        return e;
    }
    // What the runtime made on the device lives on: it holds the context, too.
    irt_mutex_lock(&lock);
    bool held = primaries[dev].retained > 0;
    primaries[dev].retained -= held;
    irt_mutex_unlock(&lock);
    return held ? cudaSuccess : cudaErrorDeviceUninitialized;
}

cudaError_t irt_driver_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    struct irt_device *device;
    cudaError_t e = irt_driver_device(dev, &device);
    return e ? e : IRT_ON_DEVICE(device, irt_core_cudaDeviceReset());
}

cudaError_t irt_driver_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned int *flags, int *active)
{
    struct irt_device *device;
    if (!flags || !active) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_driver_device(dev, &device);
    if (!e) {
        *active = irt_device_active(device);
        e = IRT_ON_DEVICE(device, irt_core_cudaGetDeviceFlags(flags));
    }
    return e;
}

cudaError_t irt_driver_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned int flags)
{
    struct irt_device *device;
    cudaError_t e = irt_driver_device(dev, &device);
    return e ? e : IRT_ON_DEVICE(device, irt_core_cudaSetDeviceFlags(flags));
}

// ---- current ----

static struct irt_device *current_device(void)
{
    struct irt_device *device = irt_device_current();
    return thread.detached || !irt_device_active(device) ? NULL : device;
}

// Functions that act on "the current context" need one.
static cudaError_t need_current(void)
{
    return current_device() ? cudaSuccess : cudaErrorDeviceUninitialized;
}

static void make_current(struct irt_device *device)
{
    thread.detached = !device;
    if (device) {
        irt_device_make_current(device);
    }
}

cudaError_t irt_driver_cuCtxGetCurrent(CUcontext *pctx)
{
    if (!pctx) {
        return cudaErrorInvalidValue;
    }
    struct irt_device *device = current_device();
    *pctx = device ? irt_context_of(device) : NULL;
    return cudaSuccess;
}

cudaError_t irt_driver_cuCtxSetCurrent(CUcontext ctx)
{
    struct irt_device *device = ctx ? irt_context_device(ctx) : NULL;
    if (ctx && !device) {
        return cudaErrorDeviceUninitialized;
    }
    make_current(device);
    return cudaSuccess;
}

cudaError_t irt_driver_cuCtxPushCurrent_v2(CUcontext ctx)
{
    struct irt_device *device = irt_context_device(ctx);
    if (!device) {
        return cudaErrorDeviceUninitialized;
    }
    if (thread.depth == STACK_MAX) {
        return cudaErrorMemoryAllocation;
    }
    struct irt_device *below = current_device();
    thread.below[thread.depth++] = (signed char)(below ? below->ordinal : -1);
    make_current(device);
    return cudaSuccess;
}

cudaError_t irt_driver_cuCtxPopCurrent_v2(CUcontext *pctx)
{
    struct irt_device *device = current_device();
    if (!device) {
        return cudaErrorDeviceUninitialized;
    }
    if (pctx) {
        *pctx = irt_context_of(device);
    }
    int below = thread.depth > 0 ? thread.below[--thread.depth] : -1;
    make_current(below >= 0 ? irt_device_at(below) : NULL);
    return cudaSuccess;
}

// ---- questions ----

cudaError_t irt_driver_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    struct irt_device *found = ctx ? irt_context_device(ctx) : current_device();
    if (!device) {
        return cudaErrorInvalidValue;
    }
    if (!found) {
        return cudaErrorDeviceUninitialized;
    }
    *device = found->ordinal;
    return cudaSuccess;
}

cudaError_t irt_driver_cuCtxGetDevice(CUdevice *device)
{
    return irt_driver_cuCtxGetDevice_v2(device, NULL);
}

cudaError_t irt_driver_cuCtxGetFlags(unsigned int *flags)
{
    if (!flags) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaGetDeviceFlags(flags);
}

cudaError_t irt_driver_cuCtxSetFlags(unsigned int flags)
{
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaSetDeviceFlags(flags);
}

// A context that was reset is another one, though its handle is the same.
cudaError_t irt_driver_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct irt_device *device = ctx ? irt_context_device(ctx) : current_device();
    if (!ctxId) {
        return cudaErrorInvalidValue;
    }
    if (!device) {
        return cudaErrorContextIsDestroyed;
    }
    *ctxId =
        (unsigned long long)atomic_load(&device->generation) << 8 | ((unsigned)device->ordinal + 1);
    return cudaSuccess;
}

cudaError_t irt_driver_cuCtxGetApiVersion(CUcontext ctx, unsigned int *version)
{
    if (!version) {
        return cudaErrorInvalidValue;
    }
    if (!(ctx ? irt_context_device(ctx) : current_device())) {
        return cudaErrorDeviceUninitialized;
    }
    *version = 3020; // what drivers have answered ever since
    return cudaSuccess;
}

cudaError_t irt_driver_cuCtxSynchronize_v2(CUcontext ctx)
{
    struct irt_device *device = ctx ? irt_context_device(ctx) : current_device();
    return device ? irt_device_drain(device) : cudaErrorDeviceUninitialized;
}

cudaError_t irt_driver_cuCtxSynchronize(void)
{
    return irt_driver_cuCtxSynchronize_v2(NULL);
}

cudaError_t irt_driver_cuCtxGetLimit(size_t *pvalue, CUlimit limit)
{
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaDeviceGetLimit(pvalue, (enum cudaLimit)limit);
}

cudaError_t irt_driver_cuCtxSetLimit(CUlimit limit, size_t value)
{
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaDeviceSetLimit((enum cudaLimit)limit, value);
}

cudaError_t irt_driver_cuCtxGetCacheConfig(CUfunc_cache *pconfig)
{
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaDeviceGetCacheConfig((enum cudaFuncCache *)pconfig);
}

cudaError_t irt_driver_cuCtxSetCacheConfig(CUfunc_cache config)
{
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaDeviceSetCacheConfig((enum cudaFuncCache)config);
}

cudaError_t irt_driver_cuCtxGetSharedMemConfig(CUsharedconfig *pConfig)
{
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaDeviceGetSharedMemConfig((enum cudaSharedMemConfig *)pConfig);
}

cudaError_t irt_driver_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaDeviceSetSharedMemConfig((enum cudaSharedMemConfig)config);
}

cudaError_t irt_driver_cuCtxGetStreamPriorityRange(int *leastPriority, int *greatestPriority)
{
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaDeviceGetStreamPriorityRange(leastPriority, greatestPriority);
}

cudaError_t irt_driver_cuCtxResetPersistingL2Cache(void)
{
    cudaError_t e = need_current();
    return e ? e : irt_core_cudaCtxResetPersistingL2Cache();
}

cudaError_t irt_driver_cuCtxEnablePeerAccess(CUcontext peerContext, unsigned int Flags)
{
    struct irt_device *peer = irt_context_device(peerContext);
    return peer ? irt_core_cudaDeviceEnablePeerAccess(peer->ordinal, Flags)
                : cudaErrorDeviceUninitialized;
}

cudaError_t irt_driver_cuCtxDisablePeerAccess(CUcontext peerContext)
{
    struct irt_device *peer = irt_context_device(peerContext);
    return peer ? irt_core_cudaDeviceDisablePeerAccess(peer->ordinal)
                : cudaErrorDeviceUninitialized;
}
