// SPDX-License-Identifier: Apache-2.0
//
// What the attributes of cudaLaunchKernelExC mean here, by a table. A hint may be dropped, since
// CUDA promises nothing for it; whatever changes results is honoured or refused by name.
// Source: CUDA Runtime API, cudaLaunchAttributeID.
#include "api_rules.h"
#include "shim/core/launch.h"

typedef cudaError_t (*read_attribute)(const cudaLaunchAttributeValue *value,
                                      struct irt_launch_request *request);

static cudaError_t hint(const cudaLaunchAttributeValue *value, struct irt_launch_request *request)
{
    (void)value, (void)request;
    return cudaSuccess;
}

// Valid for streams or graph nodes, not for a launch outside of a capture.
static cudaError_t refused(const cudaLaunchAttributeValue *value,
                           struct irt_launch_request *request)
{
    (void)value, (void)request;
    return cudaErrorInvalidValue;
}

static cudaError_t cooperative(const cudaLaunchAttributeValue *value,
                               struct irt_launch_request *request)
{
    request->cooperative = value->cooperative != 0;
    return cudaSuccess;
}

static cudaError_t cluster(const cudaLaunchAttributeValue *value,
                           struct irt_launch_request *request)
{
    request->cluster = (dim3){value->clusterDim.x, value->clusterDim.y, value->clusterDim.z};
    return request->cluster.x && request->cluster.y && request->cluster.z
               ? cudaSuccess
               : cudaErrorInvalidClusterSize;
}

// An event that may fire at the latest when the kernel ends: it is recorded behind the kernel.
static cudaError_t add_event(cudaEvent_t event, int flags, struct irt_launch_request *request)
{
    if (flags != cudaEventRecordDefault || request->event_count == IRT_LAUNCH_EVENTS) {
        return cudaErrorInvalidValue;
    }
    request->events[request->event_count++] = event;
    return cudaSuccess;
}

static cudaError_t programmatic_event(const cudaLaunchAttributeValue *value,
                                      struct irt_launch_request *request)
{
    return add_event(value->programmaticEvent.event, value->programmaticEvent.flags, request);
}

static cudaError_t completion_event(const cudaLaunchAttributeValue *value,
                                    struct irt_launch_request *request)
{
    return add_event(value->launchCompletionEvent.event, value->launchCompletionEvent.flags,
                     request);
}

// cudaLaunchAttributePortableClusterSizeMode of CUDA 13.2.
enum { PORTABLE_CLUSTER_SIZE_MODE = 17, PORTABLE_DEFAULT = 0, PORTABLE_ALLOWED_NOT = 2 };

static cudaError_t portable_cluster(const cudaLaunchAttributeValue *value,
                                    struct irt_launch_request *request)
{
    int mode = value->cooperative; // the member is an int at the start of the union, too
    request->cluster_portability = mode;
    return mode >= PORTABLE_DEFAULT && mode <= PORTABLE_ALLOWED_NOT ? cudaSuccess
                                                                    : cudaErrorInvalidValue;
}

static const struct {
    int id;
    read_attribute read;
} rows[] = {
    {cudaLaunchAttributeIgnore, hint},
    {cudaLaunchAttributeAccessPolicyWindow, hint},
    {cudaLaunchAttributeCooperative, cooperative},
    {cudaLaunchAttributeSynchronizationPolicy, refused},
    {cudaLaunchAttributeClusterDimension, cluster},
    {cudaLaunchAttributeClusterSchedulingPolicyPreference, hint},
    // Allows an overlap with the kernel before, which a kernel cannot rely on.
    {cudaLaunchAttributeProgrammaticStreamSerialization, hint},
    {cudaLaunchAttributeProgrammaticEvent, programmatic_event},
    {cudaLaunchAttributePriority, hint},
    {cudaLaunchAttributeMemSyncDomainMap, hint},
    {cudaLaunchAttributeMemSyncDomain, hint},
    {cudaLaunchAttributePreferredClusterDimension, hint},
    {cudaLaunchAttributeLaunchCompletionEvent, completion_event},
    {cudaLaunchAttributeDeviceUpdatableKernelNode, refused},
    {cudaLaunchAttributePreferredSharedMemoryCarveout, hint},
    {cudaLaunchAttributeNvlinkUtilCentricScheduling, hint},
    {PORTABLE_CLUSTER_SIZE_MODE, portable_cluster},
};

static cudaError_t read_one(const cudaLaunchAttribute *attribute,
                            struct irt_launch_request *request)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].id == (int)attribute->id) {
            return rows[i].read(&attribute->val, request);
        }
    }
    return irt_unsupported("a launch attribute newer than CUDA 13.0");
}

cudaError_t irt_launch_attributes(const cudaLaunchConfig_t *config,
                                  struct irt_launch_request *request)
{
    if (config->numAttrs && !config->attrs) {
        return cudaErrorInvalidValue;
    }
    for (unsigned i = 0; i < config->numAttrs; i++) {
        cudaError_t e = read_one(&config->attrs[i], request);
        if (e) {
            return e;
        }
    }
    return cudaSuccess;
}
