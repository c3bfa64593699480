// SPDX-License-Identifier: Apache-2.0
//
// Launches of kernels that are a provider's (wrap.h).
#include <stdlib.h>
#include <string.h>

#include "shim/provide/inside.h"
#include "shim/util/log.h"

struct irt_provide_call {
    struct infinirt_launch launch;
    struct irtb_function *function;
    // behind it: the parameters, the pointers to them, the packed block
};

static int find_variable(const struct infinirt_launch *launch, const char *name, void **ret_ptr,
                         size_t *ret_size)
{
    const struct irt_provide_call *call = launch->internal;
    bool managed;
    return (int)irt_provide_variable(call->function->module, name, ret_ptr, ret_size, &managed);
}

// Bytes in front of the packed block, which is aligned as any parameter may ask.
static size_t head_size(const struct irtb_function *f)
{
    size_t size = sizeof(struct irt_provide_call) +
                  f->parameter_count * (sizeof(struct infinirt_parameter) + sizeof(void *));
    return (size + 63) / 64 * 64;
}

struct irt_provide_call *irt_provide_call_make(const struct irtb_launch *launch)
{
    struct irtb_function *f = launch->function;
    size_t head = head_size(f), size = (head + f->packed_size + 63) / 64 * 64;
    struct irt_provide_call *call = aligned_alloc(64, size);
    if (!call) {
        return NULL;
    }
    memset(call, 0, size);
    struct infinirt_parameter *parameters = (struct infinirt_parameter *)(call + 1);
    unsigned char *packed = (unsigned char *)call + head;
    call->function = f;
    call->launch = (struct infinirt_launch){
        .size = sizeof call->launch,
        .kernel = f->name,
        .backend = irt_provided.inner->name,
        .context = f->entry.context,
        .device = f->module->device,
        .cooperative = launch->cooperative,
        .grid = {launch->grid[0], launch->grid[1], launch->grid[2]},
        .block = {launch->block[0], launch->block[1], launch->block[2]},
        .cluster = {launch->cluster[0], launch->cluster[1], launch->cluster[2]},
        .dynamic_shared = launch->dynamic_shared,
        .parameter_count = f->parameter_count,
        .parameters = parameters,
        .packed = packed,
        .packed_size = f->packed_size,
        .variable = find_variable,
        .internal = call,
    };
    for (unsigned i = 0; i < f->parameter_count; i++) {
        const struct irtb_parameter *p = &f->parameters[i];
        memcpy(packed + p->offset, launch->arguments[i], p->size);
        parameters[i] = (struct infinirt_parameter){packed + p->offset, p->size, p->offset};
    }
    return call;
}

void irt_provide_call_run(void *argument)
{
    struct irt_provide_call *call = argument;
    const struct irtb_function *f = call->function;
    int device = f->module->device, none = 0;
    bool kept = device >= 0 && device < IRT_PROVIDE_DEVICES;
    if (kept && atomic_load_explicit(&irt_provided.failed[device], memory_order_acquire)) {
        return; // the device is lost
    }
    int result = f->entry.function(&call->launch);
    if (!result) {
        return;
    }
    irt_log("provide", IRT_LOG_ERROR, "kernel %s: its provider answered %d", f->name, result);
    if (kept) {
        atomic_compare_exchange_strong(&irt_provided.failed[device], &none, result);
        atomic_store_explicit(&irt_provided.any_failed, true, memory_order_release);
    }
    irt_provided.host->device_lost(device, (cudaError_t)result);
}

static void run_once(void *argument)
{
    irt_provide_call_run(argument);
    free(argument);
}

static cudaError_t launch_vendor(struct irtb_stream *stream, struct irt_provide_call *call)
{
    const struct irtb_function *f = call->function;
    const struct infinirt_launch *l = &call->launch;
    struct irtb_vendor_launch vendor = {.form =
                                            f->entry.kind == INFINIRT_PACKED  ? IRTB_VENDOR_PACKED
                                            : f->entry.kind == INFINIRT_ARRAY ? IRTB_VENDOR_ARRAY
                                                                              : IRTB_VENDOR_SIMT,
                                        .handle = f->entry.handle,
                                        .dynamic_shared = l->dynamic_shared,
                                        .packed = l->packed,
                                        .packed_size = l->packed_size};
    memcpy(vendor.grid, l->grid, sizeof vendor.grid);
    memcpy(vendor.block, l->block, sizeof vendor.block);
    if (vendor.form != IRTB_VENDOR_SIMT) {
        uint64_t blocks = (uint64_t)l->grid[0] * l->grid[1];
        if (blocks > UINT32_MAX || blocks * l->grid[2] > UINT32_MAX) {
            return cudaErrorInvalidConfiguration;
        }
        vendor.grid[0] = (uint32_t)blocks * l->grid[2];
        vendor.grid[1] = vendor.grid[2] = 1;
    }
    vendor.arguments = (void **)(l->parameters + l->parameter_count);
    for (unsigned i = 0; i < l->parameter_count; i++) {
        vendor.arguments[i] = (void *)(uintptr_t)l->parameters[i].value;
    }
    return irt_provided.inner->vendor_launch(stream, &vendor);
}

cudaError_t irt_provide_launch(struct irtb_stream *stream, const struct irtb_launch *launch)
{
    const struct irtb_backend *inner = irt_provided.inner;
    struct irtb_function *f = launch->function;
    if (f->inner) {
        struct irtb_launch own = *launch;
        own.function = f->inner;
        return inner->launch(stream, &own);
    }
    if (!f->provided) {
        return cudaErrorNoKernelImageForDevice; // function_compile has said so
    }
    struct irt_provide_call *call = irt_provide_call_make(launch);
    if (!call) {
        return cudaErrorMemoryAllocation;
    }
    cudaError_t e;
    if (f->entry.kind == INFINIRT_HOST) {
        e = inner->host_func(stream, run_once, call, true);
        if (e) {
            free(call);
        }
        return e;
    }
    if (f->entry.kind == INFINIRT_ENQUEUE) {
        call->launch.stream = inner->stream_native(stream);
        e = call->launch.stream ? (cudaError_t)f->entry.function(&call->launch)
                                : cudaErrorInvalidResourceHandle;
    } else {
        e = launch_vendor(stream, call);
    }
    if (e) {
        irt_log("provide", IRT_LOG_ERROR, "kernel %s: its launch answered %d", f->name, (int)e);
    }
    free(call);
    return e;
}
