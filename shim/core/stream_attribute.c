// SPDX-License-Identifier: Apache-2.0
//
// Attributes of streams: kept and given back as CUDA does. All of them are hints that change no
// result; only the priority reaches the backend. Only the member of the value
// that the attribute names is touched, since the union grew over the CUDA majors.
// Source: CUDA Runtime API, cudaStreamSetAttribute and cudaLaunchAttributeID.
#include <stdbool.h>

#include "api_rules.h"
#include "irt_core.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_EVENT); // guards the hints of all streams

bool irt_access_window_is_valid(const struct cudaAccessPolicyWindow *window,
                                const struct cudaDeviceProp *prop)
{
    return window->num_bytes <= (size_t)prop->accessPolicyMaxWindowSize &&
           window->hitRatio >= 0.0f && window->hitRatio <= 1.0f &&
           (unsigned)window->hitProp <= cudaAccessPropertyPersisting &&
           (unsigned)window->missProp <= cudaAccessPropertyStreaming;
}

static cudaError_t set_priority(struct irt_stream *stream, int priority)
{
    if (priority != stream->priority) {
        if (!irt_backend()->stream_set_priority) {
            return irt_unsupported("changing the priority of a stream");
        }
        irt_backend()->stream_set_priority(stream->backend, priority);
        stream->priority = priority;
    }
    return cudaSuccess;
}

static cudaError_t set(struct irt_stream *stream, int attribute,
                       const cudaLaunchAttributeValue *value)
{
    struct irt_stream_hints *hints = &stream->hints;
    switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow:
        if (!irt_access_window_is_valid(&value->accessPolicyWindow,
                                        &stream->device->info.prop)) {
            return cudaErrorInvalidValue;
        }
        hints->window = value->accessPolicyWindow;
        return cudaSuccess;
    case cudaLaunchAttributeSynchronizationPolicy:
        if (value->syncPolicy < cudaSyncPolicyAuto ||
            value->syncPolicy > cudaSyncPolicyBlockingSync) {
            return cudaErrorInvalidValue;
        }
        hints->policy = value->syncPolicy;
        return cudaSuccess;
    case cudaLaunchAttributePriority:
        if (value->priority > IRT_PRIORITY_LEAST || value->priority < IRT_PRIORITY_GREATEST) {
            return cudaErrorInvalidValue;
        }
        return set_priority(stream, value->priority);
    case cudaLaunchAttributeMemSyncDomainMap:
        hints->map = value->memSyncDomainMap;
        return cudaSuccess;
    case cudaLaunchAttributeMemSyncDomain:
        if ((unsigned)value->memSyncDomain > cudaLaunchMemSyncDomainRemote) {
            return cudaErrorInvalidValue;
        }
        hints->domain = value->memSyncDomain;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

static cudaError_t get(const struct irt_stream *stream, int attribute,
                       cudaLaunchAttributeValue *value)
{
    const struct irt_stream_hints *hints = &stream->hints;
    switch (attribute) {
    case cudaLaunchAttributeAccessPolicyWindow:
        value->accessPolicyWindow = hints->window;
        return cudaSuccess;
    case cudaLaunchAttributeSynchronizationPolicy:
        value->syncPolicy = hints->policy ? hints->policy : cudaSyncPolicyAuto;
        return cudaSuccess;
    case cudaLaunchAttributePriority:
        value->priority = stream->priority;
        return cudaSuccess;
    case cudaLaunchAttributeMemSyncDomainMap:
        value->memSyncDomainMap = hints->map;
        return cudaSuccess;
    case cudaLaunchAttributeMemSyncDomain:
        value->memSyncDomain = hints->domain;
        return cudaSuccess;
    default:
        return cudaErrorInvalidValue;
    }
}

cudaError_t irt_core_cudaStreamSetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                            const cudaLaunchAttributeValue *value)
{
    struct irt_stream *stream;
    if (!value) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_stream_get(hStream, &stream);
    if (!e) {
        irt_mutex_lock(&lock);
        e = set(stream, (int)attr, value);
        irt_mutex_unlock(&lock);
        irt_stream_put(stream);
    }
    return e;
}

cudaError_t irt_core_cudaStreamGetAttribute(cudaStream_t hStream, cudaLaunchAttributeID attr,
                                            cudaLaunchAttributeValue *value_out)
{
    struct irt_stream *stream;
    if (!value_out) {
        return cudaErrorInvalidValue;
    }
    cudaError_t e = irt_stream_get(hStream, &stream);
    if (!e) {
        irt_mutex_lock(&lock);
        e = get(stream, (int)attr, value_out);
        irt_mutex_unlock(&lock);
        irt_stream_put(stream);
    }
    return e;
}

cudaError_t irt_core_cudaStreamCopyAttributes(cudaStream_t dst, cudaStream_t src)
{
    struct irt_stream *to, *from;
    cudaError_t e = irt_stream_get(dst, &to);
    if (e) {
        return e;
    }
    e = irt_stream_get(src, &from);
    if (!e) {
        if (to->device != from->device) {
            e = cudaErrorInvalidValue;
        } else {
            irt_mutex_lock(&lock);
            e = set_priority(to, from->priority);
            if (!e) {
                to->hints = from->hints;
            }
            irt_mutex_unlock(&lock);
        }
        irt_stream_put(from);
    }
    irt_stream_put(to);
    return e;
}
