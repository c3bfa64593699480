// SPDX-License-Identifier: Apache-2.0
//
// The three front ends in one process, on the cpu backend: each writes exactly the structs of its
// major (canaries behind them), all answer the same facts, and they share one state. The libraries
// are opened like plug-ins, so that this test is linked to none of them. tests/abi/meson.build sets
// IRT_FRONT_11, _12, _13 and the backend.
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "irt_compat11.h"
#include "irt_compat12.h"
#include "majors.h"

TestSuite(majors, .timeout = 60);

enum { BUFFER = 4096 };

struct getter {
    int major;
    const char *name;
    size_t size;
};

static int fill_properties(void *buffer, void *context)
{
    const struct getter *getter = context;
    return CALL(getter->major, getter->name, (void *, int), buffer, 0);
}

Test(majors, properties_have_the_size_of_their_major)
{
    struct getter getters[] = {
        {11, "cudaGetDeviceProperties", 728},
        {12, "cudaGetDeviceProperties", 728},
        {12, "cudaGetDeviceProperties_v2", 1032},
        {13, "cudaGetDeviceProperties", 1008},
    };
    for (size_t i = 0; i < sizeof(getters) / sizeof(getters[0]); i++) {
        char what[64];
        snprintf(what, sizeof(what), "%s of %d", getters[i].name, getters[i].major);
        expect_written(fill_properties, &getters[i], getters[i].size, what);
    }
}

static int fill_pointer(void *buffer, void *context)
{
    static int host;
    return CALL(*(int *)context, "cudaPointerGetAttributes", (void *, const void *), buffer, &host);
}

Test(majors, pointer_attributes_have_the_size_of_their_major)
{
    int major = 11;
    expect_written(fill_pointer, &major, 24, "cudaPointerGetAttributes of 11");
    major = 12;
    expect_written(fill_pointer, &major, 24, "cudaPointerGetAttributes of 12");
    major = 13;
    expect_written(fill_pointer, &major, 88, "cudaPointerGetAttributes of 13");
}

Test(majors, a_failing_getter_writes_nothing)
{
    for (int major = 11; major <= 13; major++) {
        unsigned char buffer[BUFFER];
        memset(buffer, 0xa5, sizeof(buffer));
        cr_expect(CALL(major, "cudaGetDeviceProperties", (void *, int), buffer, 99) ==
                  cudaErrorInvalidDevice);
        cr_expect(CALL(major, "cudaFuncGetAttributes", (void *, const void *), buffer,
                       (const void *)&fill_pointer) == cudaErrorInvalidDeviceFunction);
        for (size_t i = 0; i < sizeof(buffer); i++) {
            if (buffer[i] != 0xa5) {
                cr_assert_fail("%d wrote byte %zu", major, i);
            }
        }
    }
}

Test(majors, null_outputs_are_refused)
{
    for (int major = 11; major <= 13; major++) {
        cr_expect(CALL(major, "cudaGetDeviceProperties", (void *, int), NULL, 0) ==
                      cudaErrorInvalidValue,
                  "%d", major);
        cr_expect(CALL(major, "cudaRuntimeGetVersion", (int *), NULL) == cudaErrorInvalidValue,
                  "%d", major);
        cr_expect(CALL(major, "cudaPointerGetAttributes", (void *, const void *), NULL, NULL) ==
                      cudaErrorInvalidValue,
                  "%d", major);
    }
}

Test(majors, properties_agree)
{
    struct irt11_cudaDeviceProp p11;
    struct irt12_cudaDeviceProp p12;
    struct cudaDeviceProp p13;
    cr_assert(CALL(11, "cudaGetDeviceProperties", (void *, int), &p11, 0) == 0);
    cr_assert(CALL(12, "cudaGetDeviceProperties_v2", (void *, int), &p12, 0) == 0);
    cr_assert(CALL(13, "cudaGetDeviceProperties", (void *, int), &p13, 0) == 0);
    // The getters clear the padding.
    // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c)
    cr_expect(memcmp(&p11, &p12, sizeof(p11)) == 0, "12's struct does not begin with 11's");
    cr_expect_str_eq(p12.name, p13.name);
    cr_expect(memcmp(&p12.uuid, &p13.uuid, sizeof(p13.uuid)) == 0);
#define SAME(field) cr_expect(p12.field == p13.field, #field)
    SAME(totalGlobalMem);
    SAME(sharedMemPerBlock);
    SAME(warpSize);
    SAME(major);
    SAME(minor);
    SAME(multiProcessorCount);
    SAME(maxThreadsPerMultiProcessor);
    SAME(sharedMemPerBlockOptin);
    SAME(reservedSharedMemPerBlock);
    SAME(memoryPoolsSupported);
    SAME(unifiedFunctionPointers);
#undef SAME
    const struct {
        enum cudaDeviceAttr attribute;
        int value;
    } removed[] = {
        {cudaDevAttrClockRate, p12.clockRate},
        {cudaDevAttrComputeMode, p12.computeMode},
        {cudaDevAttrMemoryClockRate, p12.memoryClockRate},
        {cudaDevAttrGpuOverlap, p12.deviceOverlap},
    };
    for (size_t i = 0; i < sizeof(removed) / sizeof(removed[0]); i++) {
        int value = -1;
        cr_assert(CALL(13, "cudaDeviceGetAttribute", (int *, int, int), &value,
                       removed[i].attribute, 0) == 0);
        cr_expect(value == removed[i].value, "attribute %d", removed[i].attribute);
    }
    int chosen = -1;
    cr_expect(CALL(11, "cudaChooseDevice", (int *, const void *), &chosen, &p11) == 0 &&
              chosen == 0);
    chosen = -1;
    cr_expect(CALL(12, "cudaChooseDevice", (int *, const void *), &chosen, &p12) == 0 &&
              chosen == 0);
}

Test(majors, versions)
{
    const int want[] = {11080, 12090, 13050};
    for (int major = 11; major <= 13; major++) {
        int version = 0;
        cr_expect(CALL(major, "cudaRuntimeGetVersion", (int *), &version) == 0);
        cr_expect(version == want[major - 11], "%d answered %d", major, version);
    }
}

Test(majors, one_state_behind_all)
{
    int device = -1;
    cr_assert(CALL(11, "cudaSetDevice", (int), 1) == 0);
    cr_assert(CALL(12, "cudaGetDevice", (int *), &device) == 0);
    cr_expect(device == 1);

    void *memory = NULL;
    struct cudaPointerAttributes attributes;
    cr_assert(CALL(11, "cudaMalloc", (void **, size_t), &memory, 1000) == 0);
    cr_assert(CALL(13, "cudaPointerGetAttributes", (void *, const void *), &attributes, memory) ==
              0);
    cr_expect(attributes.type == cudaMemoryTypeDevice && attributes.device == 1);
    cr_expect(CALL(12, "cudaFree", (void *), memory) == 0);

    cr_expect(CALL(13, "cudaSetDevice", (int), 99) == cudaErrorInvalidDevice);
    cr_expect(CALL(11, "cudaPeekAtLastError", (void), ) == cudaErrorInvalidDevice);
    cr_expect(CALL(12, "cudaGetLastError", (void), ) == cudaErrorInvalidDevice);
    cr_expect(CALL(13, "cudaGetLastError", (void), ) == 0);
}

Test(majors, deprecated_names_still_work)
{
    for (int major = 11; major <= 12; major++) {
        double value = 1.5;
        size_t old = 0;
        size_t new = 1;
        cr_expect(CALL(major, "cudaThreadSynchronize", (void), ) == 0);
        cr_expect(CALL(major, "cudaThreadGetLimit", (size_t *, int), &old, 0) == 0);
        cr_expect(CALL(major, "cudaDeviceGetLimit", (size_t *, int), &new, 0) == 0);
        cr_expect(old == new);
        cr_expect(CALL(major, "cudaSetDoubleForDevice", (double *), &value) == 0 && value == 1.5);
        cr_expect(CALL(major, "cudaThreadExit", (void), ) == 0);
    }
}

// The very first call goes through the thunk, which must hand over every argument: seven here, one
// of them on the stack.
Test(majors, the_first_call_keeps_its_arguments)
{
    static const char from[] = "abcdefghijkl";
    char to[] = "............";
    cr_expect(CALL(13, "cudaMemcpy2D_ptds",
                   (void *, size_t, const void *, size_t, size_t, size_t, int), to, 4, from, 3, 2,
                   3, cudaMemcpyHostToHost) == 0);
    cr_expect_str_eq(to, "ab..de..gh..");
}

Test(majors, stream_zero_depends_on_the_twin)
{
    typedef unsigned long long id;
    id legacy = 0, per_thread = 0, plain = 0, twin = 0;
    cr_assert(CALL(13, "cudaStreamGetId", (size_t, id *), 1, &legacy) == 0);
    cr_assert(CALL(13, "cudaStreamGetId", (size_t, id *), 2, &per_thread) == 0);
    cr_assert(CALL(13, "cudaStreamGetId", (size_t, id *), 0, &plain) == 0);
    cr_assert(CALL(13, "cudaStreamGetId_ptsz", (size_t, id *), 0, &twin) == 0);
    cr_expect(legacy != per_thread);
    cr_expect(plain == legacy);
    cr_expect(twin == per_thread);
}

// Programs built for 11.0 to 11.7 have 32 bytes for a value of which later ones have 64: only the
// member that was asked for may be written.
Test(majors, attribute_getters_write_one_member)
{
    const struct {
        int attribute;
        size_t size;
    } rows[] = {
        {cudaLaunchAttributeAccessPolicyWindow, sizeof(struct cudaAccessPolicyWindow)},
        {cudaLaunchAttributeSynchronizationPolicy, sizeof(int)},
        {cudaLaunchAttributePriority, sizeof(int)},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        unsigned char value[256];
        memset(value, 0xa5, sizeof(value));
        int e = CALL(11, "cudaStreamGetAttribute", (void *, int, void *), NULL, rows[i].attribute,
                     value);
        cr_assert(e == 0 || e == cudaErrorNotSupported || e == cudaErrorInvalidValue, "%d", e);
        for (size_t k = e ? 0 : rows[i].size; k < sizeof(value); k++) {
            if (value[k] != 0xa5) {
                cr_expect_fail("attribute %d: byte %zu was written", rows[i].attribute, k);
                break;
            }
        }
    }
}

Test(majors, a_missing_function_names_itself_once)
{
    int ends[2];
    char text[4096] = "";
    cr_assert(pipe(ends) == 0);
    int saved = dup(STDERR_FILENO);
    dup2(ends[1], STDERR_FILENO);
    int first = CALL(12, "cudaVDPAUSetVDPAUDevice", (int, int, void *), 0, 0, ends);
    int again = CALL(13, "cudaVDPAUSetVDPAUDevice", (int, int, void *), 0, 0, ends);
    dup2(saved, STDERR_FILENO);
    close(ends[1]);
    for (size_t used = 0; used < sizeof(text) - 1;) {
        ssize_t got = read(ends[0], text + used, sizeof(text) - 1 - used);
        if (got <= 0) {
            break;
        }
        used += (size_t)got;
    }
    // There is no VDPAU device here, and CUDA has no better code for that.
    cr_expect(first == cudaErrorUnknown && again == cudaErrorUnknown);
    cr_expect(CALL(11, "cudaGetLastError", (void), ) == cudaErrorUnknown);
    const char *named = strstr(text, "cudaVDPAUSetVDPAUDevice");
    cr_expect(named != NULL, "stderr: %s", text);
    cr_expect(!named || !strstr(named + 1, "cudaVDPAUSetVDPAUDevice"), "twice: %s", text);
}
