// SPDX-License-Identifier: Apache-2.0
//
// Providers for test_providers.c: a good one, and with -DBAD=n one that has a fault.
#include <stdlib.h>
#include <string.h>

#include "backends/backend.h"
#include "include/infinirt.h"

#ifndef BAD
#define BAD 0
#endif

// scale<float>(float *data, float by, int n)
static int scale(const struct infinirt_launch *l)
{
    float *data = *(float *const *)l->parameters[0].value;
    float by = *(const float *)l->parameters[1].value;
    int n = *(const int *)l->parameters[2].value;
    if (l->parameter_count != 3 || l->parameters[2].offset != 12 || l->packed_size != 16 ||
        memcmp((const char *)l->packed + 8, &by, 4) != 0) {
        return 1;
    }
    for (int i = 0; i < n; i++) {
        data[i] *= by;
    }
    return 0;
}

static int fails(const struct infinirt_launch *l)
{
    return 719;
}

// Enqueues by the vendor's own function: in nocode.c a stream handle is the stream.
static int enqueue(const struct infinirt_launch *l)
{
    int *out = *(int *const *)l->parameters[0].value;
    if (!l->stream || l->grid[1] != 2) {
        return 1;
    }
    *out = 3; // the fake's memory is the host's, and nothing is queued
    return 0;
}

static void packed(const struct irtb_vendor_launch *launch)
{
    int *out;
    memcpy(&out, launch->packed, sizeof out);
    *out =
        launch->form == IRTB_VENDOR_PACKED && launch->packed_size == 8 ? (int)launch->grid[0] : -1;
}

static void array(const struct irtb_vendor_launch *launch)
{
    int *out = *(int **)launch->arguments[0];
    *out = launch->form == IRTB_VENDOR_ARRAY ? 100 + (int)launch->grid[0] : -1;
}

static void simt(const struct irtb_vendor_launch *launch)
{
    int *out = *(int **)launch->arguments[0];
    *out = (int)(launch->grid[1] * 1000 + launch->block[0]);
}

static const struct infinirt_kernel kernels[] = {
#if BAD == 2
    {.name = "scale", .kind = INFINIRT_HOST, .function = NULL},
#elif BAD == 3
    {.name = "scale", .kind = (enum infinirt_kind)9, .function = scale},
#endif
    {.name = "scale", .kind = INFINIRT_HOST, .function = scale},
    {.name = "ns::fails", .kind = INFINIRT_HOST, .function = fails},
};

static int find(const char *kernel, const char *backend, int device, struct infinirt_kernel *ret)
{
    static const struct {
        const char *name;
        enum infinirt_kind kind;
        void (*function)(const struct irtb_vendor_launch *);
    } list[] = {{"k_packed", INFINIRT_PACKED, packed},
                {"k_array", INFINIRT_ARRAY, array},
                {"k_simt", INFINIRT_SIMT, simt}};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        if (strcmp(kernel, list[i].name) == 0) {
            ret->kind = list[i].kind;
            ret->handle = *(void **)(void *)&list[i].function;
            return 1;
        }
    }
    if (strcmp(kernel, "k_enqueue") == 0) {
        ret->kind = INFINIRT_ENQUEUE;
        ret->function = enqueue;
        return 1;
    }
    return 0;
}

static const struct infinirt_provider provider = {
    .version = INFINIRT_PROVIDER_VERSION + (BAD == 1),
    .size = sizeof provider,
    .name = "sample",
    .kernels = kernels,
    .kernel_count = sizeof kernels / sizeof *kernels,
    .find = find,
};

const struct infinirt_provider *infinirt_provider(void)
{
    return BAD == 4 ? NULL : &provider;
}
