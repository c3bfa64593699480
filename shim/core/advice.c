// SPDX-License-Identifier: Apache-2.0
//
// cudaMemAdvise, cudaMemPrefetchAsync and the attributes of ranges. Advice is kept per range in an
// interval set; a range without an entry has the default settings.
#include "shim/core/advice.h"

#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "irt_core.h"
#include "shim/graph/capture.h"
#include "shim/core/memory.h"
#include "shim/core/stream.h"
#include "shim/util/interval.h"
#include "shim/util/lock.h"

enum { PAGE = 4096 };

struct settings {
    bool read_mostly;
    bool by_host;                                 // cudaMemAdviseSetAccessedBy for the host
    uint64_t by_devices;                          // the same, bit per ordinal
    struct cudaMemLocation preferred, prefetched; // type invalid: none
};

struct range {
    struct irt_interval interval; // first: an interval is its range
    struct settings settings;
};

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_MEMORY);
static struct irt_interval_set ranges; // guarded by lock

// ---- ranges ----

static struct range *new_range_locked(uintptr_t start, uintptr_t end,
                                      const struct settings *settings)
{
    struct range *range = calloc(1, sizeof *range);
    if (range) {
        range->interval.start = start;
        range->interval.size = end - start;
        range->settings = *settings;
        irt_interval_insert(&ranges, &range->interval);
    }
    return range;
}

// Makes a range end at `at`, if one goes across. False without memory.
static bool cut_locked(uintptr_t at)
{
    struct range *range = (struct range *)irt_interval_find(&ranges, at);
    if (!range || range->interval.start == at) {
        return true;
    }
    uintptr_t end = range->interval.start + range->interval.size;
    range->interval.size = at - range->interval.start; // keeps its place in the set
    if (!new_range_locked(at, end, &range->settings)) {
        range->interval.size = end - range->interval.start;
        return false;
    }
    return true;
}

// Makes ranges cover [start, end) exactly. False without memory; settings are unchanged either way.
static bool cover_locked(uintptr_t start, uintptr_t end)
{
    static const struct settings none;
    if (!cut_locked(start) || !cut_locked(end)) {
        return false;
    }
    while (start < end) {
        struct irt_interval *next = irt_interval_from(&ranges, start);
        uintptr_t until = next && next->start < end ? next->start : end;
        if (until > start && !new_range_locked(start, until, &none)) {
            return false;
        }
        start = next && next->start < end ? next->start + next->size : end;
    }
    return true;
}

void irt_advice_forget(const void *start, size_t size)
{
    uintptr_t first = (uintptr_t)start;
    irt_mutex_lock(&lock);
    struct irt_interval *next;
    while ((next = irt_interval_overlap(&ranges, first, size)) != NULL) {
        irt_interval_remove(&ranges, next); // ranges never leave their allocation
        free(next);
    }
    irt_mutex_unlock(&lock);
}

// ---- arguments ----

// Whether every page of the range, which begins on a page, is mapped in this process.
static bool is_mapped(char *start, size_t size)
{
    enum { CHUNK = 64 };
    unsigned char resident[CHUNK];
    while (size > 0) {
        size_t part = size < CHUNK * PAGE ? size : CHUNK * PAGE;
        if (mincore(start, part, resident) != 0) {
            return false;
        }
        start += part;
        size -= part;
    }
    return true;
}

// The part of managed memory that the call means, rounded to pages inside its allocation.
// `ret_managed` is false for the application's own memory, which advice may name as well.
static cudaError_t check_range(const void *ptr, size_t count, uintptr_t *ret_start,
                               uintptr_t *ret_end, bool *ret_managed)
{
    struct irt_memory memory;
    uintptr_t start = (uintptr_t)ptr;
    if (!ptr || count == 0 || count > UINTPTR_MAX - start - PAGE) {
        return cudaErrorInvalidValue;
    }
    uintptr_t low = start & ~(uintptr_t)(PAGE - 1);
    uintptr_t high = (start + count + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    *ret_managed = irt_memory_find(ptr, &memory);
    if (!*ret_managed) {
        if (!irt_device_current()->info.prop.pageableMemoryAccess ||
            !is_mapped((char *)ptr - (start - low), high - low)) {
            return cudaErrorInvalidValue;
        }
        *ret_start = low;
        *ret_end = high;
        return cudaSuccess;
    }
    uintptr_t first = (uintptr_t)memory.start;
    if ((memory.type != IRT_MEMORY_MANAGED && memory.type != IRT_MEMORY_MANAGED_VARIABLE) ||
        count > memory.size - (start - first)) {
        return cudaErrorInvalidValue;
    }
    *ret_start = low > first ? low : first;
    *ret_end = high < first + memory.size ? high : first + memory.size;
    return cudaSuccess;
}

static bool numa_node_exists(int node)
{
    char path[64];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d", node);
    return node == 0 || (node > 0 && access(path, F_OK) == 0);
}

// Checks a location and turns "the node of this thread" into its number.
static cudaError_t check_location(struct cudaMemLocation *location)
{
    switch (location->type) {
    case cudaMemLocationTypeDevice: {
        const struct irt_device *device = irt_device_at(location->id);
        return device && device->info.prop.concurrentManagedAccess ? cudaSuccess
                                                                   : cudaErrorInvalidDevice;
    }
    case cudaMemLocationTypeHost:
        location->id = 0;
        return cudaSuccess;
    case cudaMemLocationTypeHostNuma:
        return numa_node_exists(location->id) ? cudaSuccess : cudaErrorInvalidValue;
    case cudaMemLocationTypeHostNumaCurrent: {
        unsigned cpu;
        unsigned node;
        location->id = getcpu(&cpu, &node) == 0 ? (int)node : 0;
        location->type = cudaMemLocationTypeHostNuma;
        return cudaSuccess;
    }
    default: // none, or a type that came later
        return cudaErrorInvalidValue;
    }
}

// ---- advising and prefetching ----

static void apply(struct settings *settings, enum cudaMemoryAdvise advice,
                  const struct cudaMemLocation *location)
{
    static const struct cudaMemLocation nowhere;
    bool host = location->type == cudaMemLocationTypeHost;
    uint64_t bit = host ? 0 : UINT64_C(1) << (location->id & 63);
    switch (advice) {
    case cudaMemAdviseSetReadMostly:
    case cudaMemAdviseUnsetReadMostly:
        settings->read_mostly = advice == cudaMemAdviseSetReadMostly;
        break;
    case cudaMemAdviseSetPreferredLocation:
        settings->preferred = *location;
        break;
    case cudaMemAdviseUnsetPreferredLocation:
        settings->preferred = nowhere;
        break;
    case cudaMemAdviseSetAccessedBy:
        settings->by_host |= host;
        settings->by_devices |= bit;
        break;
    case cudaMemAdviseUnsetAccessedBy:
        settings->by_host &= !host;
        settings->by_devices &= ~bit;
        break;
    }
}

cudaError_t irt_core_cudaMemAdvise(const void *devPtr, size_t count, enum cudaMemoryAdvise advice,
                                   struct cudaMemLocation location)
{
    uintptr_t start;
    uintptr_t end;
    bool managed;
    if (advice < cudaMemAdviseSetReadMostly || advice > cudaMemAdviseUnsetAccessedBy) {
        return cudaErrorInvalidValue;
    }
    bool accessed_by =
        advice == cudaMemAdviseSetAccessedBy || advice == cudaMemAdviseUnsetAccessedBy;
    if (accessed_by && location.type != cudaMemLocationTypeDevice &&
        location.type != cudaMemLocationTypeHost) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = cudaSuccess;
    if (accessed_by || advice == cudaMemAdviseSetPreferredLocation) {
        error = check_location(&location);
    }
    if (!error) {
        error = check_range(devPtr, count, &start, &end, &managed);
    }
    if (error || !managed) {
        return error;
    }
    irt_mutex_lock(&lock);
    bool covered = cover_locked(start, end);
    for (uintptr_t at = start; covered && at < end;) {
        struct range *range = (struct range *)irt_interval_from(&ranges, at);
        apply(&range->settings, advice, &location);
        at = range->interval.start + range->interval.size;
    }
    irt_mutex_unlock(&lock);
    return covered ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t irt_advice_check(const void *ptr, size_t size, const struct cudaMemLocation *location)
{
    uintptr_t start;
    uintptr_t end;
    bool managed;
    struct cudaMemLocation place = *location;
    cudaError_t error = check_location(&place);
    return error ? error : check_range(ptr, size, &start, &end, &managed);
}

cudaError_t irt_advice_prefetch(const void *ptr, size_t size, const struct cudaMemLocation *to)
{
    struct cudaMemLocation location = {.type = cudaMemLocationTypeInvalid};
    uintptr_t start;
    uintptr_t end;
    bool managed;
    cudaError_t error = cudaSuccess;
    if (to) {
        location = *to;
        error = check_location(&location);
    }
    if (!error) {
        error = check_range(ptr, size, &start, &end, &managed);
    }
    if (error || !managed) {
        return error;
    }
    irt_mutex_lock(&lock);
    bool covered = cover_locked(start, end);
    for (uintptr_t at = start; covered && at < end;) {
        struct range *range = (struct range *)irt_interval_from(&ranges, at);
        range->settings.prefetched = location;
        at = range->interval.start + range->interval.size;
    }
    irt_mutex_unlock(&lock);
    return covered ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t irt_core_cudaMemPrefetchAsync(const void *devPtr, size_t count,
                                          struct cudaMemLocation location, unsigned int flags,
                                          cudaStream_t stream)
{
    struct irt_stream *found;
    if (flags != 0) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_stream_get(stream, &found);
    if (error) {
        return error;
    }
    bool can = found->device->info.prop.concurrentManagedAccess;
    error = irt_capture_check_stream(found);
    irt_stream_put(found);
    if (error) {
        return error;
    }
    // All processors share the memory: it already is where it was wanted.
    return can ? irt_advice_prefetch(devPtr, count, &location) : cudaErrorInvalidDevice;
}

// ---- attributes ----

static bool same_location(const struct cudaMemLocation *a, const struct cudaMemLocation *b)
{
    return a->type == b->type && a->id == b->id;
}

// What all of [start, end) has in common; gaps count as "nothing advised".
static struct settings common(uintptr_t start, uintptr_t end)
{
    static const struct settings none;
    struct settings all = none;
    bool first = true;
    irt_mutex_lock(&lock);
    while (start < end) {
        const struct range *range = (const struct range *)irt_interval_find(&ranges, start);
        const struct irt_interval *next = irt_interval_from(&ranges, start);
        const struct settings *here = range ? &range->settings : &none;
        if (first) {
            all = *here;
        }
        first = false;
        all.read_mostly &= here->read_mostly;
        all.by_host &= here->by_host;
        all.by_devices &= here->by_devices;
        if (!same_location(&all.preferred, &here->preferred)) {
            all.preferred = none.preferred;
        }
        if (!same_location(&all.prefetched, &here->prefetched)) {
            all.prefetched = none.prefetched;
        }
        if (range) {
            start = range->interval.start + range->interval.size;
        } else {
            start = next && next->start < end ? next->start : end;
        }
    }
    irt_mutex_unlock(&lock);
    return all;
}

struct cudaMemLocation irt_advice_prefetched(const void *page)
{
    struct cudaMemLocation none = {.type = cudaMemLocationTypeInvalid};
    irt_mutex_lock(&lock);
    const struct range *range = (const struct range *)irt_interval_find(&ranges, (uintptr_t)page);
    struct cudaMemLocation location = range ? range->settings.prefetched : none;
    irt_mutex_unlock(&lock);
    return location;
}

static int device_number(const struct cudaMemLocation *location)
{
    switch (location->type) {
    case cudaMemLocationTypeDevice:
        return location->id;
    case cudaMemLocationTypeHost:
        return cudaCpuDeviceId;
    default:
        return cudaInvalidDeviceId;
    }
}

static void list_accessors(const struct settings *settings, int *ret_list, size_t count)
{
    size_t used = 0;
    for (int i = 0; i < irt_device_count() && used < count; i++) {
        if (settings->by_devices >> i & 1) {
            ret_list[used++] = i;
        }
    }
    if (settings->by_host && used < count) {
        ret_list[used++] = cudaCpuDeviceId;
    }
    while (used < count) {
        ret_list[used++] = cudaInvalidDeviceId;
    }
}

cudaError_t irt_core_cudaMemRangeGetAttribute(void *data, size_t dataSize,
                                              enum cudaMemRangeAttribute attribute,
                                              const void *devPtr, size_t count)
{
    uintptr_t start;
    uintptr_t end;
    bool managed;
    bool list = attribute == cudaMemRangeAttributeAccessedBy;
    if (!data || attribute < cudaMemRangeAttributeReadMostly ||
        attribute > cudaMemRangeAttributeLastPrefetchLocationId ||
        (list ? dataSize == 0 || dataSize % sizeof(int) != 0 : dataSize != sizeof(int))) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = check_range(devPtr, count, &start, &end, &managed);
    if (error || !managed) {
        return error ? error : cudaErrorInvalidValue;
    }
    struct settings all = common(start, end);
    int value = 0;
    switch (attribute) {
    case cudaMemRangeAttributeReadMostly:
        value = all.read_mostly;
        break;
    case cudaMemRangeAttributePreferredLocation:
        value = device_number(&all.preferred);
        break;
    case cudaMemRangeAttributeLastPrefetchLocation:
        value = device_number(&all.prefetched);
        break;
    case cudaMemRangeAttributePreferredLocationType:
        value = (int)all.preferred.type;
        break;
    case cudaMemRangeAttributePreferredLocationId:
        value = all.preferred.id;
        break;
    case cudaMemRangeAttributeLastPrefetchLocationType:
        value = (int)all.prefetched.type;
        break;
    case cudaMemRangeAttributeLastPrefetchLocationId:
        value = all.prefetched.id;
        break;
    case cudaMemRangeAttributeAccessedBy:
        list_accessors(&all, data, dataSize / sizeof(int));
        return cudaSuccess;
    }
    memcpy(data, &value, sizeof value);
    return cudaSuccess;
}

cudaError_t irt_core_cudaMemRangeGetAttributes(void **data, size_t *dataSizes,
                                               enum cudaMemRangeAttribute *attributes,
                                               size_t numAttributes, const void *devPtr,
                                               size_t count)
{
    if (!data || !dataSizes || !attributes || numAttributes == 0) {
        return cudaErrorInvalidValue;
    }
    for (size_t i = 0; i < numAttributes; i++) {
        cudaError_t error =
            irt_core_cudaMemRangeGetAttribute(data[i], dataSizes[i], attributes[i], devPtr, count);
        if (error) {
            return error;
        }
    }
    return cudaSuccess;
}
