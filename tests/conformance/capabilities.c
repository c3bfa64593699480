// SPDX-License-Identifier: Apache-2.0
//
// Skips the tests that need what the platform lacks, before any of them runs. Linked whole into
// every program of the suite. CONFORMANCE_CAPABILITIES names the file, see its head for the format.
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>
#include <criterion/hooks.h>
#include <criterion/internal/ordered-set.h>

enum { ROWS_MAX = 512, LINE_SIZE = 1024 };

// Row of the file: the platform "*" declares a capability, any other one lacks it for a reason.
struct row {
    char *capability, *platform, *text;
};

static struct row rows[ROWS_MAX];
static size_t row_count;

static void fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("Bail out! ");
    vprintf(format, arguments);
    printf("\n");
    va_end(arguments);
    fflush(NULL);
    _Exit(99);
}

static void read_rows(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f) {
        fail("%s: %s", path, strerror(errno));
    }
    char line[LINE_SIZE];
    for (unsigned number = 1; fgets(line, sizeof line, f); number++) {
        line[strcspn(line, "\n")] = '\0';
        if (line[0] == '#' || line[0] == '\0') {
            continue;
        }
        char *rest = strdup(line);
        char *capability = strsep(&rest, "\t"), *platform = strsep(&rest, "\t");
        if (!platform || !rest || !rest[0] || row_count == ROWS_MAX) {
            fail("%s:%u: not a capability, a platform and a text", path, number);
        }
        rows[row_count++] = (struct row){capability, platform, rest};
    }
    fclose(f);
}

// Why the platform cannot run a test that needs `capability`, or NULL.
static const char *lacks(const char *capability, const char *platform)
{
    const char *why = NULL;
    bool declared = false;
    for (size_t i = 0; i < row_count; i++) {
        if (strcmp(rows[i].capability, capability) == 0) {
            declared |= strcmp(rows[i].platform, "*") == 0;
            if (strcmp(rows[i].platform, platform) == 0) {
                why = rows[i].text;
            }
        }
    }
    if (!declared) {
        fail("capabilities.tsv does not declare %s", capability);
    }
    return why;
}

// Disables the test when one of the needs is not met.
static void judge(struct criterion_test *test, const char *needs, const char *platform)
{
    char *copy = strdup(needs ? needs : ""), *rest = copy, *one;
    while (copy && (one = strsep(&rest, " ")) != NULL && !test->data->disabled) {
        const char *why = one[0] ? lacks(one, platform) : NULL;
        char *text;
        if (why && asprintf(&text, "lacks %s: %s", one, why) > 0) {
            test->data->disabled = true;
            test->data->description = text;
        }
    }
    free(copy);
}

ReportHook(PRE_ALL)(struct criterion_test_set *set)
{
    const char *platform = getenv("CONFORMANCE_PLATFORM");
    const char *path = getenv("CONFORMANCE_CAPABILITIES");
    if (!platform || !path) {
        return;
    }
    read_rows(path);
    FOREACH_SET(struct criterion_suite_set * suite, set->suites)
    {
        const char *all = suite->suite.data ? suite->suite.data->data : NULL;
        if (!suite->tests) {
            continue; // a suite without tests for this major
        }
        FOREACH_SET(struct criterion_test * test, suite->tests)
        {
            judge(test, all, platform);
            judge(test, test->data->data, platform);
        }
    }
}
