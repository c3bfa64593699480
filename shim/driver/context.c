// SPDX-License-Identifier: Apache-2.0
//
// Contexts and what is current in a thread. Each device has one state, that of its primary context;
// contexts that a program creates are further names for it, so that everything can be used under
// each of them, and destroying one frees nothing but the name. The current context is on the
// current device of the runtime, so that both APIs agree; a thread may have none after
// cuCtxSetCurrent(NULL) or before its device was ever used. Source: CUDA Driver API, "Primary
// Context Management", "Context Management".
#include <pthread.h>
#include <stdlib.h>

#include "irt_core.h"
#include "irt_driver.h"
#include "shim/core/api_rules.h"
#include "shim/core/stream.h"
#include "shim/dispatch/entry.h"
#include "shim/driver/driver.h"
#include "shim/util/handle.h"
#include "shim/util/lock.h"
#include "shim/util/log.h"

enum { DEVICES_MAX = 64, STACK_MAX = 256 };

struct context {
    struct irt_device *device;
    unsigned long long id; // 0: the primary context
};

// What the driver API keeps per device; by ordinal.
static struct {
    struct context primary;
    CUcontext handle;  // of the primary context, opened when first asked for
    unsigned retained; // cuDevicePrimaryCtxRetain minus Release
} primaries[DEVICES_MAX];

static void destroy(void *object)
{
    free(object); // primary contexts are never closed
}

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_DEVICE); // guards primaries
static struct irt_handle_table handles = IRT_HANDLE_TABLE(IRT_HANDLE_PRIMARY_CONTEXT, destroy);
static _Atomic unsigned long long last_id;

// What a thread has; malloc'ed at its first push, freed with the thread.
struct stack {
    int depth;
    CUcontext below[STACK_MAX]; // that cuCtxPushCurrent covered, oldest first; NULL: none was
};

static pthread_once_t stack_once = PTHREAD_ONCE_INIT;
static pthread_key_t stack_key;
static bool stack_possible;

// What was made current; counts only while its device is current, too.
static _Thread_local CUcontext chosen;

static void make_stack_key(void)
{
    stack_possible = pthread_key_create(&stack_key, free) == 0;
}

// The calling thread's stack; NULL when it has none, and `make` was not asked for or failed.
static struct stack *stack_of_thread(bool make)
{
    pthread_once(&stack_once, make_stack_key);
    struct stack *stack = stack_possible ? pthread_getspecific(stack_key) : NULL;
    if (!stack && make && stack_possible) {
        stack = calloc(1, sizeof *stack);
        if (stack && pthread_setspecific(stack_key, stack)) {
            free(stack);
            stack = NULL;
        }
    }
    return stack;
}

CUcontext irt_context_of(struct irt_device *device)
{
    irt_mutex_lock(&lock);
    CUcontext *context = &primaries[device->ordinal].handle;
    if (!*context) {
        primaries[device->ordinal].primary.device = device;
        *context = irt_handle_open(&handles, &primaries[device->ordinal].primary);
    }
    CUcontext found = *context;
    irt_mutex_unlock(&lock);
    return found;
}

// Device and id of a context. False when it is none.
static bool look_up(CUcontext handle, struct context *ret_context)
{
    const struct context *context = irt_handle_get(&handles, handle);
    if (context) {
        *ret_context = *context;
        irt_handle_put(&handles, handle);
    }
    return context != NULL;
}

struct irt_device *irt_context_device(CUcontext handle)
{
    struct context context;
    return look_up(handle, &context) ? context.device : NULL;
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

// The context that is current in the calling thread, NULL when there is none.
static CUcontext current_context(void)
{
    struct irt_device *device = irt_device_current();
    if (irt_device_detached()) {
        return NULL;
    }
    if (chosen && irt_context_device(chosen) == device) {
        return chosen;
    }
    return irt_device_active(device) ? irt_context_of(device) : NULL;
}

static struct irt_device *current_device(void)
{
    CUcontext context = current_context();
    return context ? irt_context_device(context) : NULL;
}

// Functions that act on "the current context" need one.
static cudaError_t need_current(void)
{
    return current_context() ? cudaSuccess : cudaErrorDeviceUninitialized;
}

// `context` is live, or NULL for none.
static void make_current(CUcontext context)
{
    struct irt_device *device = context ? irt_context_device(context) : NULL;
    chosen = device ? context : NULL;
    if (device) {
        irt_device_make_current(device);
    } else {
        irt_device_detach();
    }
}

static cudaError_t push(CUcontext context)
{
    struct stack *stack = stack_of_thread(true);
    if (!stack || stack->depth == STACK_MAX) {
        return cudaErrorMemoryAllocation;
    }
    stack->below[stack->depth++] = current_context();
    make_current(context);
    return cudaSuccess;
}

static void pop(void)
{
    struct stack *stack = stack_of_thread(false);
    make_current(stack && stack->depth > 0 ? stack->below[--stack->depth] : NULL);
}

cudaError_t irt_driver_cuCtxGetCurrent(CUcontext *pctx)
{
    if (!pctx) {
        return cudaErrorInvalidValue;
    }
    *pctx = current_context();
    return cudaSuccess;
}

cudaError_t irt_driver_cuCtxSetCurrent(CUcontext ctx)
{
    if (ctx && !irt_context_device(ctx)) {
        return cudaErrorDeviceUninitialized;
    }
    make_current(ctx);
    return cudaSuccess;
}

cudaError_t irt_driver_cuCtxPushCurrent_v2(CUcontext ctx)
{
    return irt_context_device(ctx) ? push(ctx) : cudaErrorDeviceUninitialized;
}

cudaError_t irt_driver_cuCtxPopCurrent_v2(CUcontext *pctx)
{
    CUcontext context = current_context();
    if (!context) {
        return cudaErrorDeviceUninitialized;
    }
    if (pctx) {
        *pctx = context;
    }
    pop();
    return cudaSuccess;
}

// ---- created contexts ----

static cudaError_t create(CUcontext *ret_context, unsigned flags, CUdevice number)
{
    struct irt_device *device;
    const unsigned core_dumps = CU_CTX_COREDUMP_ENABLE | CU_CTX_USER_COREDUMP_ENABLE;
    if (!ret_context || (flags & ~(unsigned)CU_CTX_FLAGS_MASK)) {
        return cudaErrorInvalidValue;
    }
    if (flags & core_dumps) {
        return irt_unsupported("a core dump of a context");
    }
    cudaError_t e = irt_driver_device(number, &device);
    if (!e) {
        e = IRT_ON_DEVICE(device, irt_core_cudaSetDeviceFlags(flags));
    }
    if (e) {
        return e;
    }
    struct context *context = malloc(sizeof *context);
    CUcontext handle = NULL;
    if (context) {
        *context = (struct context){device, atomic_fetch_add(&last_id, 1) + 1};
        handle = irt_handle_open(&handles, context);
    }
    e = handle ? push(handle) : cudaErrorMemoryAllocation;
    if (e) {
        if (handle) {
            irt_handle_close(&handles, handle);
        } else {
            free(context);
        }
        return e;
    }
    irt_device_activate(device);
    *ret_context = handle;
    return cudaSuccess;
}

cudaError_t irt_driver_cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev)
{
    return create(pctx, flags, dev);
}

cudaError_t irt_driver_cuCtxCreate_v3(CUcontext *pctx, CUexecAffinityParam *paramsArray,
                                      int numParams, unsigned int flags, CUdevice dev)
{
    (void)paramsArray;
    // As cuDeviceGetExecAffinitySupport says.
    return numParams ? irt_unsupported("a context on a part of a device")
                     : create(pctx, flags, dev);
}

cudaError_t irt_driver_cuCtxCreate_v4(CUcontext *pctx, CUctxCreateParams *ctxCreateParams,
                                      unsigned int flags, CUdevice dev)
{
    if (ctxCreateParams && (ctxCreateParams->numExecAffinityParams || ctxCreateParams->cigParams)) {
        return irt_unsupported("a context on a part of a device, or for graphics");
    }
    return create(pctx, flags, dev);
}

cudaError_t irt_driver_cuCtxDestroy_v2(CUcontext ctx)
{
    struct context context;
    if (!look_up(ctx, &context) || !context.id) {
        return cudaErrorDeviceUninitialized;
    }
    cudaError_t e = irt_device_drain(context.device);
    bool current = current_context() == ctx;
    if (!irt_handle_close(&handles, ctx)) {
        return cudaErrorDeviceUninitialized;
    }
    if (current) {
        pop();
    }
    IRT_LOG("driver", IRT_LOG_INFO,
            "what was made in the destroyed context of device %d lives until it is freed itself",
            context.device->ordinal);
    return e;
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

// A primary context that was reset is another one, though its handle is the same.
cudaError_t irt_driver_cuCtxGetId(CUcontext ctx, unsigned long long *ctxId)
{
    struct context context;
    if (!ctxId) {
        return cudaErrorInvalidValue;
    }
    if (!look_up(ctx ? ctx : current_context(), &context)) {
        return cudaErrorContextIsDestroyed;
    }
    *ctxId = context.id ? context.id << 32
                        : (unsigned long long)atomic_load(&context.device->generation) << 8 |
                              ((unsigned)context.device->ordinal + 1);
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
