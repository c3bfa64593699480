// SPDX-License-Identifier: Apache-2.0
//
// Advice about managed memory: what is reported of ranges that were advised in pieces, and the
// errors, on the deferred backend.
#include <criterion/criterion.h>
#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define OK(call) EXPECT(cudaSuccess, call)
#define EXPECT(code, call)                                             \
    do {                                                               \
        cudaError_t got_ = (call);                                     \
        cr_assert(got_ == (code), "%s answered %d", #call, (int)got_); \
    } while (0)

enum { PAGE = 4096, PAGES = 16, SIZE = PAGE * PAGES };

static char *managed, *device;
static const struct cudaMemLocation first = {.type = cudaMemLocationTypeDevice, .id = 0};
static const struct cudaMemLocation second = {.type = cudaMemLocationTypeDevice, .id = 1};
static const struct cudaMemLocation host = {.type = cudaMemLocationTypeHost, .id = 99};
static const struct cudaMemLocation invalid = {.type = cudaMemLocationTypeInvalid, .id = 0};

static void prepare(void)
{
    OK(cudaMallocManaged((void **)&managed, SIZE, cudaMemAttachGlobal));
    OK(cudaMalloc((void **)&device, SIZE));
}

TestSuite(advice, .timeout = 10, .init = prepare);

static int get(enum cudaMemRangeAttribute attribute, size_t page, size_t pages)
{
    int value = 77;
    OK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, managed + page * PAGE,
                                pages * PAGE));
    return value;
}

Test(advice, pieces)
{
    cr_assert(get(cudaMemRangeAttributeReadMostly, 0, PAGES) == 0);
    OK(cudaMemAdvise(managed + 4 * PAGE, 4 * PAGE, cudaMemAdviseSetReadMostly, invalid));
    cr_assert(get(cudaMemRangeAttributeReadMostly, 4, 4) == 1);
    cr_assert(get(cudaMemRangeAttributeReadMostly, 5, 1) == 1);
    cr_assert(get(cudaMemRangeAttributeReadMostly, 3, 2) == 0);
    cr_assert(get(cudaMemRangeAttributeReadMostly, 7, 2) == 0);
    OK(cudaMemAdvise(managed + 5 * PAGE + 1, 1, cudaMemAdviseUnsetReadMostly, invalid));
    cr_assert(get(cudaMemRangeAttributeReadMostly, 4, 1) == 1);
    cr_assert(get(cudaMemRangeAttributeReadMostly, 5, 1) == 0);
    cr_assert(get(cudaMemRangeAttributeReadMostly, 6, 2) == 1);
    OK(cudaMemAdvise(managed, SIZE, cudaMemAdviseSetReadMostly, invalid));
    cr_assert(get(cudaMemRangeAttributeReadMostly, 0, PAGES) == 1);
}

Test(advice, preferred_location)
{
    cr_assert(get(cudaMemRangeAttributePreferredLocation, 0, PAGES) == cudaInvalidDeviceId);
    OK(cudaMemAdvise(managed, SIZE, cudaMemAdviseSetPreferredLocation, second));
    cr_assert(get(cudaMemRangeAttributePreferredLocation, 0, PAGES) == 1);
    cr_assert(get(cudaMemRangeAttributePreferredLocationType, 0, PAGES) ==
              cudaMemLocationTypeDevice);
    OK(cudaMemAdvise(managed, PAGE, cudaMemAdviseSetPreferredLocation, host));
    cr_assert(get(cudaMemRangeAttributePreferredLocation, 0, 1) == cudaCpuDeviceId);
    cr_assert(get(cudaMemRangeAttributePreferredLocation, 0, 2) == cudaInvalidDeviceId);
    cr_assert(get(cudaMemRangeAttributePreferredLocationType, 0, 2) == cudaMemLocationTypeInvalid);
    OK(cudaMemAdvise(managed, SIZE, cudaMemAdviseUnsetPreferredLocation, invalid));
    cr_assert(get(cudaMemRangeAttributePreferredLocation, 3, 1) == cudaInvalidDeviceId);
}

Test(advice, accessed_by)
{
    int list[4];
    OK(cudaMemAdvise(managed, SIZE, cudaMemAdviseSetAccessedBy, second));
    OK(cudaMemAdvise(managed, PAGE, cudaMemAdviseSetAccessedBy, host));
    OK(cudaMemRangeGetAttribute(list, sizeof list, cudaMemRangeAttributeAccessedBy, managed, PAGE));
    cr_assert(list[0] == 1 && list[1] == cudaCpuDeviceId && list[2] == cudaInvalidDeviceId &&
              list[3] == cudaInvalidDeviceId);
    OK(cudaMemRangeGetAttribute(list, sizeof list, cudaMemRangeAttributeAccessedBy, managed, SIZE));
    cr_assert(list[0] == 1 && list[1] == cudaInvalidDeviceId);
    OK(cudaMemAdvise(managed, SIZE, cudaMemAdviseUnsetAccessedBy, second));
    OK(cudaMemRangeGetAttribute(list, sizeof list, cudaMemRangeAttributeAccessedBy, managed, PAGE));
    cr_assert(list[0] == cudaCpuDeviceId && list[1] == cudaInvalidDeviceId);
}

Test(advice, prefetch)
{
    enum cudaMemRangeAttribute both[] = {cudaMemRangeAttributeLastPrefetchLocation,
                                         cudaMemRangeAttributeReadMostly};
    int location = 77, mostly = 77;
    void *data[] = {&location, &mostly};
    size_t sizes[] = {sizeof location, sizeof mostly};
    cr_assert(get(cudaMemRangeAttributeLastPrefetchLocation, 0, PAGES) == cudaInvalidDeviceId);
    OK(cudaMemPrefetchAsync(managed, SIZE, first, 0, 0));
    OK(cudaMemRangeGetAttributes(data, sizes, both, 2, managed, SIZE));
    cr_assert(location == 0 && mostly == 0);
    OK(cudaMemPrefetchAsync(managed, SIZE / 2, host, 0, 0));
    cr_assert(get(cudaMemRangeAttributeLastPrefetchLocation, 0, 1) == cudaCpuDeviceId);
    cr_assert(get(cudaMemRangeAttributeLastPrefetchLocation, 0, PAGES) == cudaInvalidDeviceId);
    EXPECT(cudaErrorInvalidValue, cudaMemPrefetchAsync(managed, SIZE, first, 1, 0));
    EXPECT(cudaErrorInvalidResourceHandle,
           cudaMemPrefetchAsync(managed, SIZE, first, 0, (cudaStream_t)managed));
}

Test(advice, freed_memory_is_forgotten)
{
    char *p = NULL;
    OK(cudaMemAdvise(managed, SIZE, cudaMemAdviseSetReadMostly, invalid));
    OK(cudaFree(managed));
    OK(cudaMallocManaged((void **)&p, SIZE, cudaMemAttachGlobal));
    managed = p; // probably the same address
    cr_assert(get(cudaMemRangeAttributeReadMostly, 0, PAGES) == 0);
}

Test(advice, errors)
{
    static const struct cudaMemLocation nowhere = {.type = cudaMemLocationTypeDevice, .id = 7};
    int value;
    const enum cudaMemoryAdvise mostly = cudaMemAdviseSetReadMostly;
    EXPECT(cudaErrorInvalidValue, cudaMemAdvise(NULL, SIZE, mostly, first));
    EXPECT(cudaErrorInvalidValue, cudaMemAdvise(managed, 0, mostly, first));
    EXPECT(cudaErrorInvalidValue, cudaMemAdvise(managed, SIZE + 1, mostly, first));
    EXPECT(cudaErrorInvalidValue, cudaMemAdvise(managed, SIZE_MAX, mostly, first));
    EXPECT(cudaErrorInvalidValue, cudaMemAdvise(device, SIZE, mostly, first));
    EXPECT(cudaErrorInvalidValue, cudaMemAdvise(managed, SIZE, 0, first));
    EXPECT(cudaErrorInvalidValue, cudaMemAdvise(managed, SIZE, 7, first));
    EXPECT(cudaErrorInvalidDevice,
           cudaMemAdvise(managed, SIZE, cudaMemAdviseSetPreferredLocation, nowhere));
    EXPECT(cudaErrorInvalidValue,
           cudaMemAdvise(managed, SIZE, cudaMemAdviseSetAccessedBy, invalid));
    EXPECT(cudaErrorInvalidValue,
           cudaMemRangeGetAttribute(&value, 8, cudaMemRangeAttributeReadMostly, managed, SIZE));
    EXPECT(cudaErrorInvalidValue, cudaMemRangeGetAttribute(&value, 4, 0, managed, SIZE));
    // The application's own memory may be advised, but must exist.
    void *own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    cr_assert(own != MAP_FAILED);
    OK(cudaMemAdvise(own, SIZE, mostly, first));
    OK(cudaMemPrefetchAsync(own, SIZE, first, 0, 0));
    munmap(own, SIZE);
    EXPECT(cudaErrorInvalidValue, cudaMemAdvise(own, SIZE, mostly, first));
}
