// SPDX-License-Identifier: Apache-2.0
//
// See majors.h.
#include "majors.h"

#include <criterion/criterion.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *front(int major)
{
    char variable[16];
    snprintf(variable, sizeof(variable), "IRT_FRONT_%d", major);
    const char *path = getenv(variable);
    void *handle = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (!handle) {
        cr_assert_fail("%s: %s", variable, path ? dlerror() : "not set");
    }
    return handle;
}

void *front_function(int major, const char *name)
{
    void *found = dlsym(front(major), name);
    if (!found) {
        cr_assert_fail("no %s in %d", name, major);
    }
    return found;
}

enum { BUFFER = 4096 };

void expect_written(filler fill, void *context, size_t size, const char *what)
{
    static unsigned char a[BUFFER], b[BUFFER];
    memset(a, 0xa5, sizeof(a));
    memset(b, 0x5a, sizeof(b));
    int ra = fill(a, context);
    int rb = fill(b, context);
    cr_expect(ra == 0 && rb == 0, "%s answered %d, %d", what, ra, rb);
    size_t unwritten = 0;
    for (size_t i = 0; i < size; i++) {
        unwritten += a[i] != b[i];
    }
    cr_expect(unwritten == 0, "%s left %zu of its %zu bytes as they were", what, unwritten, size);
    for (size_t i = size; i < BUFFER; i++) {
        if (a[i] != 0xa5 || b[i] != 0x5a) {
            cr_expect_fail("%s wrote byte %zu behind its %zu bytes", what, i, size);
            break;
        }
    }
}
