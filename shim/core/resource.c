// SPDX-License-Identifier: Apache-2.0
//
// Splitting multiprocessors into groups and descriptors of resources. Groups are runs of numbers,
// cut off the input from its start; what is left over is the remainder.
#include "shim/core/resource.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "irt_core.h"
#include "shim/core/context.h"
#include "shim/util/handle.h"

enum {
    GRANULARITY = 2, // multiprocessors that are given away together, unless there is but one
    LARGEST_GROUP = 32,
    MARK = 0x52495254,
};

// What the padding of a cudaDevResource holds.
struct mark {
    uint32_t mark;
    int device;
    unsigned first, count;
    unsigned split; // which call of a split made it, 0: none; results are not split again
};

_Static_assert(sizeof(struct mark) <= sizeof(((cudaDevResource *)0)->_internal_padding), "room");

static struct irt_handle_table descs = IRT_HANDLE_TABLE(IRT_HANDLE_RESOURCES, free);
static _Atomic unsigned next_split = 1;

static unsigned granularity_of(int device)
{
    int count = irt_device_at(device)->info.prop.multiProcessorCount;
    return count < GRANULARITY ? 1 : GRANULARITY;
}

static struct mark mark_of(const cudaDevResource *resource)
{
    struct mark mark;
    memcpy(&mark, resource->_internal_padding, sizeof mark);
    return mark;
}

// Whether it is a resource of multiprocessors as we made it.
static cudaError_t check_sm(const cudaDevResource *resource, struct mark *ret_mark)
{
    if (!resource) {
        return cudaErrorInvalidValue;
    }
    if (resource->type != cudaDevResourceTypeSm) {
        return cudaErrorInvalidResourceType;
    }
    *ret_mark = mark_of(resource);
    return ret_mark->mark == MARK && resource->sm.smCount == ret_mark->count &&
                   irt_device_at(ret_mark->device)
               ? cudaSuccess
               : cudaErrorInvalidValue;
}

static void describe_sm(struct mark mark, unsigned alignment, unsigned flags,
                        cudaDevResource *ret_resource)
{
    memset(ret_resource, 0, sizeof *ret_resource);
    mark.mark = MARK;
    memcpy(ret_resource->_internal_padding, &mark, sizeof mark);
    if (mark.count == 0) {
        return; // of no type: there is nothing
    }
    ret_resource->type = cudaDevResourceTypeSm;
    ret_resource->sm.smCount = mark.count;
    ret_resource->sm.minSmPartitionSize = granularity_of(mark.device);
    ret_resource->sm.smCoscheduledAlignment = alignment;
    ret_resource->sm.flags = flags;
}

cudaError_t irt_resource_describe(const struct irt_resources *resources,
                                  enum cudaDevResourceType type, cudaDevResource *ret_resource)
{
    struct mark mark = {.mark = MARK,
                        .device = resources->device,
                        .first = resources->first,
                        .count = resources->count};
    switch (type) {
    case cudaDevResourceTypeSm:
        describe_sm(mark, granularity_of(resources->device), 0, ret_resource);
        return cudaSuccess;
    case cudaDevResourceTypeWorkqueueConfig:
        describe_sm(mark, 1, 0, ret_resource);
        memset(ret_resource->_oversize, 0, sizeof ret_resource->_oversize);
        ret_resource->type = type;
        ret_resource->wqConfig.device = resources->device;
        ret_resource->wqConfig.wqConcurrencyLimit = resources->queues;
        ret_resource->wqConfig.sharingScope = resources->scope;
        return cudaSuccess;
    case cudaDevResourceTypeWorkqueue:
        describe_sm(mark, 1, 0, ret_resource);
        memset(ret_resource->_oversize, 0, sizeof ret_resource->_oversize);
        ret_resource->type = type;
        return cudaSuccess;
    default:
        return cudaErrorInvalidResourceType;
    }
}

// ---- splitting ----

cudaError_t irt_core_cudaDevSmResourceSplitByCount(cudaDevResource *result, unsigned int *nbGroups,
                                                   const cudaDevResource *input,
                                                   cudaDevResource *remaining, unsigned int flags,
                                                   unsigned int minCount)
{
    const unsigned known =
        cudaDevSmResourceSplitIgnoreSmCoscheduling | cudaDevSmResourceSplitMaxPotentialClusterSize;
    struct mark mark;
    if (!nbGroups || (flags & ~known) || (result && *nbGroups == 0)) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = check_sm(input, &mark);
    if (error) {
        return error;
    }
    if (mark.split || minCount > mark.count) {
        return cudaErrorInvalidResourceConfiguration;
    }
    unsigned unit =
        flags & cudaDevSmResourceSplitIgnoreSmCoscheduling ? 1 : granularity_of(mark.device);
    unsigned size = minCount < unit ? unit : (minCount + unit - 1) / unit * unit;
    unsigned groups = mark.count / size;
    if (groups == 0) {
        return cudaErrorInvalidResourceConfiguration;
    }
    if (result && *nbGroups < groups) {
        groups = *nbGroups;
    }
    unsigned split = atomic_fetch_add(&next_split, 1);
    struct mark part = {.device = mark.device, .first = mark.first, .count = size, .split = split};
    for (unsigned i = 0; i < groups; i++, part.first += size) {
        if (result) {
            describe_sm(part, unit, 0, &result[i]);
        }
    }
    part.count = mark.count - groups * size;
    if (remaining) {
        describe_sm(part, unit, 0, remaining);
    }
    *nbGroups = groups;
    return cudaSuccess;
}

// How many multiprocessors of `left` the group gets. 0: none.
static cudaError_t size_of_group(const cudaDevSmResourceGroupParams *group, unsigned left,
                                 unsigned total, unsigned unit, unsigned *ret_size)
{
    bool backfill = group->flags & cudaDevSmResourceGroupBackfill;
    unsigned together = group->coscheduledSmCount ? group->coscheduledSmCount : unit;
    if (group->flags & ~(unsigned)cudaDevSmResourceGroupBackfill) {
        return cudaErrorInvalidResourceConfiguration; // there is one locality domain, unnumbered
    }
    if (together % unit || together > LARGEST_GROUP || group->preferredCoscheduledSmCount % unit) {
        return cudaErrorInvalidValue;
    }
    if (group->smCount == 0) { // as many as there are
        *ret_size = backfill ? left : left / together * together;
        return cudaSuccess;
    }
    if (group->smCount < unit || group->smCount > total || group->smCount % unit ||
        (!backfill && group->smCount % together)) {
        return cudaErrorInvalidValue;
    }
    *ret_size = group->smCount;
    return group->smCount > left ? cudaErrorInvalidResourceConfiguration : cudaSuccess;
}

cudaError_t irt_core_cudaDevSmResourceSplit(cudaDevResource *result, unsigned int nbGroups,
                                            const cudaDevResource *input,
                                            cudaDevResource *remainder, unsigned int flags,
                                            cudaDevSmResourceGroupParams *groupParams)
{
    struct mark mark;
    if (nbGroups == 0 || !groupParams || flags != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = check_sm(input, &mark);
    if (error) {
        return error;
    }
    if (mark.split) {
        return cudaErrorInvalidResourceConfiguration;
    }
    unsigned unit = granularity_of(mark.device);
    // First only looking, so that nothing is written when a later group is refused.
    for (int run = 0; run < 2; run++) {
        struct mark part = {
            .device = mark.device, .first = mark.first, .split = run ? next_split++ : 0};
        unsigned left = mark.count;
        for (unsigned i = 0; i < nbGroups; i++) {
            cudaDevSmResourceGroupParams *group = &groupParams[i];
            error = size_of_group(group, left, mark.count, unit, &part.count);
            if (!error && result && part.count == 0) {
                error = cudaErrorInvalidResourceConfiguration;
            }
            if (error) {
                return error;
            }
            unsigned together = group->coscheduledSmCount ? group->coscheduledSmCount : unit;
            if (run) {
                group->smCount = part.count;
                group->coscheduledSmCount = together;
                if (!group->preferredCoscheduledSmCount) {
                    group->preferredCoscheduledSmCount = together;
                }
            }
            if (run && result) {
                describe_sm(part, together, group->flags, &result[i]);
            }
            part.first += part.count;
            left -= part.count;
        }
        if (run && remainder) {
            part.count = left;
            describe_sm(part, 1, 0, remainder);
        }
    }
    return cudaSuccess;
}

// ---- descriptors ----

// Adds one resource to what the descriptor holds. Multiprocessors of one descriptor come from one
// split; `ret_sm` is the first such resource.
static cudaError_t add(struct irt_resources *all, const cudaDevResource *resource,
                       const cudaDevResource **ret_sm)
{
    struct mark mark = mark_of(resource);
    if (resource->type == cudaDevResourceTypeInvalid ||
        (resource->type != cudaDevResourceTypeSm &&
         resource->type != cudaDevResourceTypeWorkqueueConfig &&
         resource->type != cudaDevResourceTypeWorkqueue)) {
        return cudaErrorInvalidResourceType;
    }
    if (mark.mark != MARK) {
        return cudaErrorInvalidValue;
    }
    if (all->device >= 0 && all->device != mark.device) {
        return cudaErrorInvalidResourceConfiguration;
    }
    all->device = mark.device;
    if (resource->type == cudaDevResourceTypeWorkqueueConfig) {
        if (resource->wqConfig.device != mark.device ||
            resource->wqConfig.wqConcurrencyLimit == 0 ||
            (unsigned)resource->wqConfig.sharingScope >
                cudaDevWorkqueueConfigScopeGreenCtxBalanced) {
            return cudaErrorInvalidValue;
        }
        all->queues = resource->wqConfig.wqConcurrencyLimit;
        all->scope = resource->wqConfig.sharingScope;
    }
    if (resource->type != cudaDevResourceTypeSm) {
        return cudaSuccess;
    }
    if (*ret_sm) {
        struct mark before = mark_of(*ret_sm);
        if (!mark.split || mark.split != before.split ||
            resource->sm.smCoscheduledAlignment != (*ret_sm)->sm.smCoscheduledAlignment) {
            return cudaErrorInvalidResourceConfiguration;
        }
    }
    if (!*ret_sm || mark.first < all->first) {
        all->first = mark.first;
    }
    *ret_sm = resource;
    all->count += mark.count;
    return cudaSuccess;
}

cudaError_t irt_core_cudaDevResourceGenerateDesc(cudaDevResourceDesc_t *phDesc,
                                                 cudaDevResource *resources,
                                                 unsigned int nbResources)
{
    if (!phDesc || !resources || nbResources == 0) {
        return cudaErrorInvalidValue;
    }
    struct irt_resources all = {.device = -1};
    const cudaDevResource *sm = NULL;
    for (unsigned i = 0; i < nbResources; i++) {
        cudaError_t error = add(&all, &resources[i], &sm);
        if (error) {
            return error;
        }
        for (unsigned j = 0; j < i; j++) { // twice the same
            if (resources[i].type == resources[j].type &&
                (resources[i].type != cudaDevResourceTypeSm ||
                 mark_of(&resources[i]).first == mark_of(&resources[j]).first)) {
                return cudaErrorInvalidResourceConfiguration;
            }
        }
    }
    struct irt_resources whole = irt_device_resources(irt_device_at(all.device));
    if (!sm) { // only queues: all multiprocessors
        all.first = whole.first;
        all.count = whole.count;
    }
    if (!all.queues) {
        all.queues = whole.queues;
    }
    struct irt_resources *own = malloc(sizeof *own);
    if (!own) {
        return cudaErrorMemoryAllocation;
    }
    *own = all;
    void *handle = irt_handle_open(&descs, own);
    if (!handle) {
        free(own);
        return cudaErrorMemoryAllocation;
    }
    *phDesc = handle;
    return cudaSuccess;
}

bool irt_resource_of_desc(cudaDevResourceDesc_t desc, struct irt_resources *ret_resources)
{
    const struct irt_resources *own = irt_handle_get(&descs, desc);
    if (!own) {
        return false;
    }
    *ret_resources = *own;
    irt_handle_put(&descs, desc);
    return true;
}
