// SPDX-License-Identifier: Apache-2.0
//
// A provider (infinirt.h) with the kernels of the suite (kernels.c) in C, for platforms that cannot
// run PTX but whose memory the host can address, and to test providers themselves on cpu.
#include "include/infinirt.h"

#include <sched.h>
#include <stdlib.h>

#define POINTER(launch, index) (*(int *const *)(launch)->parameters[index].value)
#define NUMBER(launch, index) (*(const int *)(launch)->parameters[index].value)

static size_t threads(const struct infinirt_launch *l)
{
    return (size_t)l->grid[0] * l->block[0];
}

static size_t least(size_t a, int b)
{
    return b < 0 ? 0 : a < (size_t)b ? a : (size_t)b;
}

static int empty(const struct infinirt_launch *l)
{
#ifdef WRONG // for tests of comparing
    return 719;
#else
    return 0;
#endif
}

static int add_one(const struct infinirt_launch *l)
{
    int *data = POINTER(l, 0);
    for (size_t i = 0, n = least(threads(l), NUMBER(l, 1)); i < n; i++) {
        data[i]++;
    }
    return 0;
}

static int fill(const struct infinirt_launch *l)
{
    int *data = POINTER(l, 0);
    for (size_t i = 0, n = least(threads(l), NUMBER(l, 2)); i < n; i++) {
        data[i] = NUMBER(l, 1);
    }
    return 0;
}

static int copy(const struct infinirt_launch *l)
{
    int *to = POINTER(l, 0);
    const int *from = POINTER(l, 1);
    for (size_t i = 0, n = least(threads(l), NUMBER(l, 2)); i < n; i++) {
        to[i] = from[i];
    }
#ifdef WRONG
    if (threads(l) > 70) {
        to[70] ^= 2;
    }
#endif
    return 0;
}

static int spin_copy(const struct infinirt_launch *l)
{
    const volatile int *from = POINTER(l, 1);
    for (size_t i = 0, n = least(threads(l), NUMBER(l, 2)); i < n; i++) {
        for (int round = 0; round < NUMBER(l, 3); round++) {
            (void)from[i];
        }
    }
    return copy(l);
}

static int geometry(const struct infinirt_launch *l)
{
    unsigned *out = (unsigned *)POINTER(l, 0);
    for (size_t i = 0; i < (size_t)l->grid[0] * l->grid[1] * l->grid[2]; i++) {
        out[i] = l->block[0] | l->grid[0] << 16;
    }
    return 0;
}

static int dynamic(const struct infinirt_launch *l)
{
    unsigned n = l->block[0];
    int *out = POINTER(l, 0);
    for (unsigned i = 0; i < n; i++) {
        out[i] = (int)(n * (n - 1) / 2);
    }
    return 0;
}

static int variables(const struct infinirt_launch *l)
{
    void *value, *constant;
    size_t size;
    int e = l->variable(l, "device_value", &value, &size);
    if (!e) {
        e = l->variable(l, "constant_value", &constant, &size);
    }
    if (!e) {
        POINTER(l, 0)[0] = *(int *)value;
        POINTER(l, 0)[1] = *(int *)constant;
        ++*(int *)value;
    }
    return e;
}

static int fault(const struct infinirt_launch *l)
{
    return 700; // cudaErrorIllegalAddress
}

static int trap(const struct infinirt_launch *l)
{
    return 719; // cudaErrorLaunchFailure
}

static int wait_flag(const struct infinirt_launch *l)
{
    const volatile int *flag = POINTER(l, 0);
    while (!*flag) {
        sched_yield();
    }
    POINTER(l, 1)[0] = *flag;
    return 0;
}

#define HOST(name_)                                                   \
    {                                                                 \
        .name = "k_" #name_, .kind = INFINIRT_HOST, .function = name_ \
    }
static const struct infinirt_kernel kernels[] = {
    HOST(empty),   HOST(add_one),   HOST(fill),
    HOST(copy),    HOST(spin_copy), HOST(geometry),
    HOST(dynamic), HOST(variables), HOST(fault),
    HOST(trap),    HOST(wait_flag), {.name = "k_limited", .kind = INFINIRT_HOST, .function = empty},
};

static const struct infinirt_provider provider = {
    .version = INFINIRT_PROVIDER_VERSION,
    .size = sizeof provider,
    .name = "conformance",
    .kernels = kernels,
    .kernel_count = sizeof kernels / sizeof *kernels,
};

const struct infinirt_provider *infinirt_provider(void)
{
    return &provider;
}
