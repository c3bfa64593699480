// SPDX-License-Identifier: Apache-2.0
//
// Kernel nodes: arguments in either form copied into one block, attributes, the checks of a launch
// at the time the node is made. Source: CUDA Runtime API, cudaGraphAddKernelNode,
// cudaGraphKernelNodeSetAttribute, cudaLaunchAttributeID.
#include "shim/graph/node_kernel.h"

#include <stdlib.h>
#include <string.h>

#include "shim/core/api_rules.h"
#include "shim/core/stream.h"
#include "shim/dispatch/backend.h"

// ---- arguments ----

// CU_LAUNCH_PARAM_… of cuda.h
#define EXTRA_END ((void *)0)
#define EXTRA_POINTER ((void *)1)
#define EXTRA_SIZE ((void *)2)

enum { EXTRA_ENTRIES_MAX = 16 };

struct extra {
    const char *buffer;
    size_t size;
};

static cudaError_t read_extra(void *const *list, struct extra *ret)
{
    *ret = (struct extra){0};
    for (int i = 0; i < EXTRA_ENTRIES_MAX; i += 2) {
        if (list[i] == EXTRA_END) {
            return cudaSuccess;
        }
        if (list[i] == EXTRA_POINTER) {
            ret->buffer = list[i + 1];
        } else if (list[i] == EXTRA_SIZE && list[i + 1]) {
            ret->size = *(const size_t *)list[i + 1];
        } else {
            return cudaErrorInvalidValue;
        }
    }
    return cudaErrorInvalidValue;
}

// Copies the arguments from one pointer each, or from a packed buffer, into the node's own block.
static cudaError_t pack(const struct irt_loaded *loaded, void *const *arguments,
                        const struct extra *extra, struct irt_kernel_params *to)
{
    unsigned count = loaded->info.parameter_count;
    if (!count) {
        return cudaSuccess;
    }
    struct irtb_parameter last;
    cudaError_t e = irt_backend()->function_parameter(loaded->function, count - 1, &last);
    if (e) {
        return e;
    }
    size_t size = last.offset + last.size;
    if (arguments == NULL && (!extra->buffer || extra->size < size)) {
        return cudaErrorInvalidValue;
    }
    to->packed = calloc(1, size ? size : 1);
    to->arguments = calloc(count, sizeof(*to->arguments));
    if (!to->packed || !to->arguments) {
        return cudaErrorMemoryAllocation;
    }
    to->argument_count = count;
    to->packed_size = size;
    for (unsigned i = 0; i < count; i++) {
        struct irtb_parameter p;
        e = irt_backend()->function_parameter(loaded->function, i, &p);
        if (e) {
            return e;
        }
        const void *from = arguments ? arguments[i] : extra->buffer + p.offset;
        if (!from) {
            return cudaErrorInvalidValue;
        }
        to->arguments[i] = (char *)to->packed + p.offset;
        memcpy(to->arguments[i], from, p.size);
    }
    return cudaSuccess;
}

// ---- attributes ----

enum { // newer than CUDA 13.0
    PORTABLE_CLUSTER_SIZE_MODE = 17,
    PORTABLE_MODES = 3,
    SHARED_MEMORY_MODE = 18,
};

struct attribute_row {
    int id;
    size_t size; // bytes of its member of the union
};

// Attributes that kernel nodes have (the cudaKernelNodeAttribute… names and their successors).
static const struct attribute_row rows[] = {
    {cudaLaunchAttributeAccessPolicyWindow, sizeof(struct cudaAccessPolicyWindow)},
    {cudaLaunchAttributeCooperative, sizeof(int)},
    {cudaLaunchAttributeClusterDimension, 3 * sizeof(unsigned)},
    {cudaLaunchAttributeClusterSchedulingPolicyPreference,
     sizeof(enum cudaClusterSchedulingPolicy)},
    {cudaLaunchAttributePriority, sizeof(int)},
    {cudaLaunchAttributeMemSyncDomainMap, sizeof(cudaLaunchMemSyncDomainMap)},
    {cudaLaunchAttributeMemSyncDomain, sizeof(cudaLaunchMemSyncDomain)},
    {cudaLaunchAttributePreferredClusterDimension, 3 * sizeof(unsigned)},
    {cudaLaunchAttributeDeviceUpdatableKernelNode, 2 * sizeof(void *)},
    {cudaLaunchAttributePreferredSharedMemoryCarveout, sizeof(unsigned)},
    {cudaLaunchAttributeNvlinkUtilCentricScheduling, sizeof(unsigned)},
    {PORTABLE_CLUSTER_SIZE_MODE, sizeof(int)},
    {SHARED_MEMORY_MODE, sizeof(int)},
};

static const struct attribute_row *find_row(cudaLaunchAttributeID id)
{
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        if (rows[i].id == (int)id) {
            return &rows[i];
        }
    }
    return NULL;
}

static cudaLaunchAttribute *find(const struct irt_kernel_params *params, cudaLaunchAttributeID id)
{
    for (unsigned i = 0; i < params->attribute_count; i++) {
        if (params->attributes[i].id == id) {
            return &params->attributes[i];
        }
    }
    return NULL;
}

static cudaError_t check_value(cudaLaunchAttributeID id, const cudaLaunchAttributeValue *value,
                               const struct cudaDeviceProp *prop)
{
    bool good = true;
    switch ((int)id) {
    case cudaLaunchAttributeAccessPolicyWindow:
        good = irt_access_window_is_valid(&value->accessPolicyWindow, prop);
        break;
    case cudaLaunchAttributeCooperative:
        good = value->cooperative == 0 || value->cooperative == 1;
        break;
    case cudaLaunchAttributeClusterSchedulingPolicyPreference:
        good = (unsigned)value->clusterSchedulingPolicyPreference <=
               cudaClusterSchedulingPolicyLoadBalancing;
        break;
    case cudaLaunchAttributePriority:
        good = value->priority <= IRT_PRIORITY_LEAST && value->priority >= IRT_PRIORITY_GREATEST;
        break;
    case cudaLaunchAttributeMemSyncDomain:
        good = (unsigned)value->memSyncDomain <= cudaLaunchMemSyncDomainRemote;
        break;
    case cudaLaunchAttributeDeviceUpdatableKernelNode:
        if (value->deviceUpdatableKernelNode.deviceUpdatable) {
            return irt_unsupported("a kernel node that device code updates");
        }
        break;
    case cudaLaunchAttributePreferredSharedMemoryCarveout:
        good = (int)value->sharedMemCarveout >= -1 && (int)value->sharedMemCarveout <= 100;
        break;
    case PORTABLE_CLUSTER_SIZE_MODE:
        good = *(const unsigned *)value < PORTABLE_MODES;
        break;
    case SHARED_MEMORY_MODE:
        return irt_unsupported("the shared memory mode of a kernel node");
    default:
        break;
    }
    return good ? cudaSuccess : cudaErrorInvalidValue;
}

// Keeps the value; only the bytes of its member are read.
static cudaError_t store(struct irt_kernel_params *params, const struct attribute_row *row,
                         const void *value)
{
    cudaLaunchAttribute *at = find(params, (cudaLaunchAttributeID)row->id);
    if (!at) {
        cudaLaunchAttribute *list =
            realloc(params->attributes, (params->attribute_count + 1) * sizeof(*list));
        if (!list) {
            return cudaErrorMemoryAllocation;
        }
        params->attributes = list;
        at = &list[params->attribute_count++];
        memset(at, 0, sizeof(*at));
        at->id = (cudaLaunchAttributeID)row->id;
    }
    memcpy(&at->val, value, row->size);
    return cudaSuccess;
}

static cudaError_t copy_attributes(const struct irt_kernel_params *from,
                                   struct irt_kernel_params *to)
{
    if (!from->attribute_count) {
        return cudaSuccess;
    }
    size_t size = from->attribute_count * sizeof(*from->attributes);
    to->attributes = malloc(size);
    if (!to->attributes) {
        return cudaErrorMemoryAllocation;
    }
    memcpy(to->attributes, from->attributes, size);
    to->attribute_count = from->attribute_count;
    return cudaSuccess;
}

cudaError_t irt_kernel_attribute_get(const struct irt_kernel_params *params,
                                     cudaLaunchAttributeID id, cudaLaunchAttributeValue *ret_value)
{
    const struct attribute_row *row = find_row(id);
    if (!row) {
        return cudaErrorInvalidValue;
    }
    const cudaLaunchAttribute *at = find(params, id);
    cudaLaunchAttributeValue value;
    memset(&value, 0, sizeof(value));
    if (at) {
        value = at->val;
    } else if (id == cudaLaunchAttributeClusterDimension) {
        dim3 required = irt_launch_required_cluster(params->loaded);
        value.clusterDim.x = required.x;
        value.clusterDim.y = required.y;
        value.clusterDim.z = required.z;
    } else if (id == cudaLaunchAttributeMemSyncDomainMap) {
        value.memSyncDomainMap.remote = 1; // "Default value is {0, 1}"
    } else if (id == cudaLaunchAttributePreferredSharedMemoryCarveout) {
        value.sharedMemCarveout = (unsigned)cudaSharedmemCarveoutDefault;
    }
    memcpy(ret_value, &value, row->size);
    return cudaSuccess;
}

// ---- checks ----

// Brings what the attributes say into the members and checks the launch.
static cudaError_t settle(struct irt_params *params)
{
    struct irt_kernel_params *k = &params->kernel;
    const cudaLaunchAttribute *cluster = find(k, cudaLaunchAttributeClusterDimension);
    const cudaLaunchAttribute *cooperative = find(k, cudaLaunchAttributeCooperative);
    const cudaLaunchAttribute *priority = find(k, cudaLaunchAttributePriority);
    const cudaLaunchAttribute *mode = find(k, (cudaLaunchAttributeID)PORTABLE_CLUSTER_SIZE_MODE);
    dim3 shape = {1, 1, 1};
    if (cluster && (cluster->val.clusterDim.x | cluster->val.clusterDim.y |
                    cluster->val.clusterDim.z)) { // all zero: none
        shape =
            (dim3){cluster->val.clusterDim.x, cluster->val.clusterDim.y, cluster->val.clusterDim.z};
        if (!shape.x || !shape.y || !shape.z) {
            return cudaErrorInvalidClusterSize;
        }
    }
    int portable = mode ? *(const int *)&mode->val : 0;
    k->cooperative = cooperative && cooperative->val.cooperative;
    k->priority = priority ? priority->val.priority : 0;
    const struct irt_launch_request request = {.grid = k->grid,
                                               .block = k->block,
                                               .cluster = shape,
                                               .shared = k->shared,
                                               .arguments = k->arguments,
                                               .cooperative = k->cooperative,
                                               .cluster_portability = portable};
    return irt_launch_check(k->kernel, params->device, &request, &k->loaded, &k->cluster);
}

cudaError_t irt_kernel_attribute_set(struct irt_params *params, cudaLaunchAttributeID id,
                                     const cudaLaunchAttributeValue *value)
{
    const struct attribute_row *row = find_row(id);
    cudaError_t e =
        row ? check_value(id, value, &params->device->info.prop) : cudaErrorInvalidValue;
    if (!e) {
        e = store(&params->kernel, row, value);
    }
    return e ? e : settle(params);
}

cudaError_t irt_kernel_attributes_take(struct irt_params *params,
                                       const struct irt_kernel_params *like)
{
    free(params->kernel.attributes);
    params->kernel.attributes = NULL;
    params->kernel.attribute_count = 0;
    cudaError_t e = copy_attributes(like, &params->kernel);
    return e ? e : settle(params);
}

// ---- parameters ----

enum { // enum cudaKernelFunctionType of CUDA 13.2
    FUNCTION_UNSPECIFIED,
    FUNCTION_DEVICE_ENTRY,
    FUNCTION_KERNEL,
    FUNCTION_FUNCTION,
};

static cudaError_t check_function_type(unsigned type, const void *func)
{
    if (type > FUNCTION_FUNCTION ||
        (type != FUNCTION_UNSPECIFIED &&
         irt_kernel_is_host_function(func) != (type == FUNCTION_DEVICE_ENTRY))) {
        return type > FUNCTION_FUNCTION ? cudaErrorInvalidValue : cudaErrorInvalidDeviceFunction;
    }
    return cudaSuccess;
}

cudaError_t irt_kernel_params_make(const struct cudaKernelNodeParamsV2 *given,
                                   const struct irt_kernel_params *like, struct irt_params *params)
{
    struct irt_kernel_params *k = &params->kernel;
    struct extra extra = {0};
    memcpy(&k->function_type, (const char *)given + IRT_KERNEL_CONTEXT + 8,
           sizeof(k->function_type));
    k->func = given->func;
    k->grid = (dim3){given->gridDim.x, given->gridDim.y, given->gridDim.z};
    k->block = (dim3){given->blockDim.x, given->blockDim.y, given->blockDim.z};
    k->shared = given->sharedMemBytes;
    k->as_extra = given->extra != NULL;
    cudaError_t e = given->kernelParams && given->extra ? cudaErrorInvalidValue : cudaSuccess;
    if (!e && given->extra) {
        e = read_extra(given->extra, &extra);
    }
    if (!e) {
        e = check_function_type(k->function_type, k->func);
    }
    if (!e) {
        e = irt_kernel_get(k->func, &k->kernel);
    }
    if (!e) {
        e = irt_kernel_load(k->kernel, params->device, &k->loaded);
    }
    if (!e) {
        e = pack(k->loaded, given->kernelParams, &extra, k);
    }
    if (!e && like) {
        e = copy_attributes(like, k);
    }
    return e ? e : settle(params);
}

// What the CU_LAUNCH_PARAM form of the packed arguments is.
static void set_extra(struct irt_kernel_params *params)
{
    params->extra[0] = EXTRA_POINTER;
    params->extra[1] = params->packed;
    params->extra[2] = EXTRA_SIZE;
    params->extra[3] = &params->packed_size;
    params->extra[4] = EXTRA_END;
}

cudaError_t irt_params_from_launch(struct irt_kernel *kernel, struct irt_loaded *loaded,
                                   struct irt_device *device,
                                   const struct irt_launch_request *request,
                                   struct irt_params *ret_params)
{
    struct irt_params made = {.type = cudaGraphNodeTypeKernel, .device = device};
    struct irt_kernel_params *k = &made.kernel;
    dim3 required = irt_launch_required_cluster(loaded);
    irt_kernel_ref(kernel);
    k->kernel = kernel;
    k->func = irt_kernel_function(kernel);
    k->loaded = loaded;
    k->grid = request->grid;
    k->block = request->block;
    k->cluster = required.x ? required : request->cluster;
    k->shared = (unsigned)request->shared;
    k->cooperative = request->cooperative;
    cudaError_t e = pack(loaded, request->arguments, &(struct extra){0}, k);
    if (!e && request->cooperative) {
        const int yes = 1;
        e = store(k, find_row(cudaLaunchAttributeCooperative), &yes);
    }
    if (!e && (k->cluster.x > 1 || k->cluster.y > 1 || k->cluster.z > 1)) {
        const unsigned shape[3] = {k->cluster.x, k->cluster.y, k->cluster.z};
        e = store(k, find_row(cudaLaunchAttributeClusterDimension), shape);
    }
    if (e) {
        irt_kernel_params_release(k);
    } else {
        *ret_params = made;
    }
    return e;
}

cudaError_t irt_kernel_params_copy(const struct irt_kernel_params *params,
                                   struct irt_kernel_params *ret_copy)
{
    *ret_copy = *params;
    ret_copy->arguments = NULL;
    ret_copy->packed = NULL;
    ret_copy->attributes = NULL;
    ret_copy->attribute_count = 0;
    irt_kernel_ref(params->kernel);
    if (params->argument_count) {
        ret_copy->packed = malloc(params->packed_size ? params->packed_size : 1);
        ret_copy->arguments = calloc(params->argument_count, sizeof(*ret_copy->arguments));
        if (!ret_copy->packed || !ret_copy->arguments) {
            return cudaErrorMemoryAllocation;
        }
        memcpy(ret_copy->packed, params->packed, params->packed_size);
        for (unsigned i = 0; i < params->argument_count; i++) {
            ret_copy->arguments[i] =
                (char *)ret_copy->packed + ((char *)params->arguments[i] - (char *)params->packed);
        }
    }
    return copy_attributes(params, ret_copy);
}

void irt_kernel_params_release(struct irt_kernel_params *params)
{
    if (params->kernel) {
        irt_kernel_put(params->kernel);
    }
    free(params->arguments);
    free(params->packed);
    free(params->attributes);
}

void irt_kernel_params_describe(struct irt_kernel_params *params,
                                struct cudaKernelNodeParamsV2 *ret_given)
{
    ret_given->func = (void *)params->func;
    ret_given->gridDim = params->grid;
    ret_given->blockDim = params->block;
    ret_given->sharedMemBytes = params->shared;
    if (params->as_extra) {
        set_extra(params); // the node may have moved since
        ret_given->extra = params->extra;
    } else {
        ret_given->kernelParams = params->arguments;
    }
    memcpy((char *)ret_given + IRT_KERNEL_CONTEXT + 8, &params->function_type,
           sizeof(params->function_type));
}
_Static_assert(offsetof(struct cudaKernelNodeParamsV2, extra) + 8 == IRT_KERNEL_CONTEXT &&
                   IRT_KERNEL_CONTEXT + 16 == IRT_KERNEL_PARAMS_SIZE,
               "ctx and functionType stand behind extra");
