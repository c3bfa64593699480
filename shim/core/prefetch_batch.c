// SPDX-License-Identifier: Apache-2.0
//
// Batches of prefetches and discards of managed memory, and where memory is. Host and devices of a
// backend with concurrent managed access share the memory, so a prefetch only notes the place and a
// discard only forgets it: the contents, which CUDA leaves indeterminate, stay. A batch is checked
// as a whole before the first operation. Source: CUDA Runtime API 13, "Memory Management".
#include <stdint.h>
#include <sys/mman.h>

#include "irt_core.h"
#include "shim/core/advice.h"
#include "shim/core/batch.h"
#include "shim/graph/capture.h"
#include "shim/core/memory.h"
#include "shim/core/stream.h"

enum { PAGE = 4096, DEFAULT_SAMPLING = 2 << 20 };

static bool all_devices_are_concurrent(void)
{
    for (int i = 0; i < irt_device_count(); i++) {
        if (!irt_device_at(i)->info.prop.concurrentManagedAccess) {
            return false;
        }
    }
    return true;
}

// What the three functions have in common. The legacy stream takes no batch.
static cudaError_t check_batch(void *const *ptrs, const size_t *sizes, size_t count,
                               unsigned long long flags, cudaStream_t handle)
{
    struct irt_stream *stream;
    if (!ptrs || !sizes || count == 0 || flags != 0 || handle == cudaStreamLegacy) {
        return cudaErrorInvalidValue;
    }
    cudaError_t error = irt_stream_get(handle, &stream);
    if (error) {
        return error;
    }
    error = irt_capture_check_stream(stream);
    irt_stream_put(stream);
    if (error) {
        return error;
    }
    return all_devices_are_concurrent() ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t irt_core_cudaMemPrefetchBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                               struct cudaMemLocation *prefetchLocs,
                                               size_t *prefetchLocIdxs, size_t numPrefetchLocs,
                                               unsigned long long flags, cudaStream_t stream)
{
    cudaError_t error = check_batch(dptrs, sizes, count, flags, stream);
    if (error) {
        return error;
    }
    if (!prefetchLocs || !prefetchLocIdxs ||
        !irt_batch_indices_are_valid(prefetchLocIdxs, numPrefetchLocs, count)) {
        return cudaErrorInvalidValue;
    }
    for (int run = 0; run < 2; run++) { // first only checking
        for (size_t i = 0, entry = 0; i < count && !error; i++) {
            entry += entry + 1 < numPrefetchLocs && prefetchLocIdxs[entry + 1] == i;
            const struct cudaMemLocation *to = &prefetchLocs[entry];
            error = run ? irt_advice_prefetch(dptrs[i], sizes[i], to)
                        : irt_advice_check(dptrs[i], sizes[i], to);
        }
    }
    return error;
}

cudaError_t irt_core_cudaMemDiscardBatchAsync(void **dptrs, size_t *sizes, size_t count,
                                              unsigned long long flags, cudaStream_t stream)
{
    static const struct cudaMemLocation host = {.type = cudaMemLocationTypeHost};
    cudaError_t error = check_batch(dptrs, sizes, count, flags, stream);
    for (int run = 0; run < 2; run++) { // first only checking
        for (size_t i = 0; i < count && !error; i++) {
            error = run ? irt_advice_prefetch(dptrs[i], sizes[i], NULL)
                        : irt_advice_check(dptrs[i], sizes[i], &host);
        }
    }
    return error;
}

cudaError_t irt_core_cudaMemDiscardAndPrefetchBatchAsync(
    void **dptrs, size_t *sizes, size_t count, struct cudaMemLocation *prefetchLocs,
    size_t *prefetchLocIdxs, size_t numPrefetchLocs, unsigned long long flags, cudaStream_t stream)
{
    // What a discard would forget, the prefetch notes anew.
    return irt_core_cudaMemPrefetchBatchAsync(dptrs, sizes, count, prefetchLocs, prefetchLocIdxs,
                                              numPrefetchLocs, flags, stream);
}

// ---- where memory is ----

// The place of the page that holds `at`. False when it is not mapped in this process.
static bool locate_page(uintptr_t at, struct cudaMemLocation *ret_location)
{
    unsigned char resident = 0;
    // NOLINTNEXTLINE(performance-no-int-to-ptr): a page of the range that the caller gave
    void *page = (void *)(at & ~(uintptr_t)(PAGE - 1));
    if (mincore(page, PAGE, &resident) != 0) {
        return false;
    }
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    *ret_location = irt_advice_prefetched((const void *)at);
    if (ret_location->type == cudaMemLocationTypeInvalid) {
        ret_location->type = resident & 1 ? cudaMemLocationTypeHost : cudaMemLocationTypeNone;
        ret_location->id = 0;
    }
    return true;
}

// The most frequent place among samples of [start, end); the first one wins a tie. Places are the
// host, its nodes and the devices: few, so votes are counted in a list.
static bool summarise(uintptr_t start, uintptr_t end, size_t step,
                      struct cudaMemLocation *ret_location)
{
    enum { PLACES = 80 };
    struct {
        struct cudaMemLocation location;
        size_t votes;
    } places[PLACES];
    size_t known = 0;
    size_t best = 0;
    for (uintptr_t at = start; at<end; at = end - at> step ? at + step : end) {
        struct cudaMemLocation here;
        if (!locate_page(at, &here)) {
            return false;
        }
        size_t i = 0;
        while (i < known &&
               (places[i].location.type != here.type || places[i].location.id != here.id)) {
            i++;
        }
        if (i == known) {
            if (known == PLACES) {
                continue;
            }
            places[known].location = here;
            places[known++].votes = 0;
        }
        places[i].votes++;
        best = places[i].votes > places[best].votes ? i : best;
    }
    *ret_location = places[best].location;
    return true;
}

cudaError_t irt_core_cudaMemGetLocationInfo(void *devPtr, size_t size, size_t summaryGranularity,
                                            size_t samplingGranularity,
                                            struct cudaMemLocation *location_out)
{
    uintptr_t start = (uintptr_t)devPtr;
    struct irt_memory memory;
    if (!all_devices_are_concurrent()) {
        return cudaErrorNotSupported;
    }
    if (!devPtr || !location_out || size == 0 || size > UINTPTR_MAX - PAGE - start ||
        summaryGranularity == 0 || summaryGranularity > size ||
        samplingGranularity > summaryGranularity) {
        return cudaErrorInvalidValue;
    }
    if (irt_memory_find(devPtr, &memory)) {
        bool managed =
            memory.type == IRT_MEMORY_MANAGED || memory.type == IRT_MEMORY_MANAGED_VARIABLE;
        if (!managed || size > memory.size - (start - (uintptr_t)memory.start)) {
            return cudaErrorInvalidValue;
        }
    } else if (!irt_device_current()->info.prop.pageableMemoryAccess) {
        return cudaErrorInvalidValue;
    }
    size_t step = samplingGranularity ? samplingGranularity : DEFAULT_SAMPLING;
    for (size_t offset = 0, i = 0; offset < size; i++) {
        size_t part = size - offset < summaryGranularity ? size - offset : summaryGranularity;
        if (!summarise(start + offset, start + offset + part, step, &location_out[i])) {
            return cudaErrorInvalidValue;
        }
        offset += part;
    }
    return cudaSuccess;
}
