// SPDX-License-Identifier: Apache-2.0
//
// A cooperative launch on several devices at once, as CUDA 11 and 12 have it. Every device gets an
// ordinary cooperative launch; events keep the order between the streams.
// Source: CUDA Runtime API 12, cudaLaunchCooperativeKernelMultiDevice.
#include "irt_core.h"
#include "shim/core/launch.h"
#include "shim/core/stream.h"

enum { NO_PRE_SYNC = 1, NO_POST_SYNC = 2, DEVICES = 64 };

static bool same(dim3 a, dim3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

// The device of each launch, all different.
static cudaError_t find_devices(const struct irt_launch_params *list, unsigned count,
                                int *ret_devices)
{
    for (unsigned i = 0; i < count; i++) {
        struct irt_stream *stream;
        if (list[i].stream == NULL || list[i].stream == cudaStreamLegacy ||
            list[i].stream == cudaStreamPerThread) {
            return cudaErrorInvalidValue;
        }
        cudaError_t e = irt_stream_get(list[i].stream, &stream);
        if (e) {
            return e;
        }
        ret_devices[i] = stream->device->ordinal;
        irt_stream_put(stream);
        for (unsigned j = 0; j < i; j++) {
            if (ret_devices[j] == ret_devices[i]) {
                return cudaErrorInvalidDevice;
            }
        }
        if (list[i].func != list[0].func || list[i].shared != list[0].shared ||
            !same(list[i].grid, list[0].grid) || !same(list[i].block, list[0].block)) {
            return cudaErrorInvalidValue;
        }
    }
    return cudaSuccess;
}

// Lets each stream wait for what all others hold now.
static cudaError_t join(const struct irt_launch_params *list, const int *devices, unsigned count)
{
    cudaEvent_t events[DEVICES];
    unsigned made = 0;
    cudaError_t e = cudaSuccess;
    while (made < count && !e) {
        irt_device_make_current(irt_device_at(devices[made]));
        e = irt_core_cudaEventCreateWithFlags(&events[made], cudaEventDisableTiming);
        if (!e) {
            e = irt_core_cudaEventRecord(events[made], list[made].stream);
            made++;
        }
    }
    for (unsigned i = 0; i < count && !e; i++) {
        for (unsigned j = 0; j < count && !e; j++) {
            e = i == j ? cudaSuccess : irt_core_cudaStreamWaitEvent(list[i].stream, events[j], 0);
        }
    }
    for (unsigned i = 0; i < made; i++) {
        irt_core_cudaEventDestroy(events[i]);
    }
    return e;
}

cudaError_t irt_launch_multi_device(const struct irt_launch_params *list, unsigned count,
                                    unsigned flags)
{
    int devices[DEVICES];
    if (!list || count == 0 || count > DEVICES || (flags & ~(NO_PRE_SYNC | NO_POST_SYNC))) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = find_devices(list, count, devices);
    if (e) {
        return e;
    }
    struct irt_device *before = irt_device_current();
    if (!(flags & NO_PRE_SYNC)) {
        e = join(list, devices, count);
    }
    for (unsigned i = 0; i < count && !e; i++) {
        irt_device_make_current(irt_device_at(devices[i]));
        e = irt_core_cudaLaunchCooperativeKernel(list[i].func, list[i].grid, list[i].block,
                                                 list[i].arguments, list[i].shared, list[i].stream);
    }
    if (!e && !(flags & NO_POST_SYNC)) {
        e = join(list, devices, count);
    }
    irt_device_make_current(before);
    return e;
}
