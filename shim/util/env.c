// SPDX-License-Identifier: Apache-2.0
//
// Environment variables: the table of env.def and the values read so far.
#include "shim/util/env.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "shim/util/log.h"

static const struct irt_env_variable variables[] = {
#define IRT_ENV(name_, standard_, help_) \
    {.name = (name_), .standard = (standard_), .help = (help_)},
#include "shim/api/env.def"
#undef IRT_ENV
};

enum { VARIABLE_COUNT = sizeof variables / sizeof *variables };

// NULL: not asked yet; `absent`: asked, neither set nor with a default.
static const char *_Atomic values[VARIABLE_COUNT];
static const char absent[1];

const struct irt_env_variable *irt_env_list(size_t *ret_count)
{
    *ret_count = VARIABLE_COUNT;
    return variables;
}

// Copies the value, so that a later setenv or putenv cannot change or free it.
static const char *read_value(size_t index)
{
    const char *found = secure_getenv(variables[index].name);
    const char *value = found ? strdup(found) : NULL;
    if (!value) {
        value = variables[index].standard ? variables[index].standard : absent;
    }
    const char *expected = NULL;
    if (!atomic_compare_exchange_strong(&values[index], &expected, value)) {
        if (found && value != variables[index].standard && value != absent) {
            free((void *)value);
        }
        value = expected;
    }
    return value;
}

const char *irt_env(const char *name)
{
    for (size_t i = 0; i < VARIABLE_COUNT; i++) {
        if (strcmp(variables[i].name, name) == 0) {
            const char *value = atomic_load_explicit(&values[i], memory_order_acquire);
            if (!value) {
                value = read_value(i);
            }
            return value == absent ? NULL : value;
        }
    }
    return NULL;
}

bool irt_parse_number(const char *text, long long low, long long high, long long *ret_value)
{
    if (text[0] == '\0' || strspn(text, " \t\n\v\f\r") > 0) {
        return false;
    }
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 0);
    if (errno || *end != '\0' || value < low || value > high) {
        return false;
    }
    *ret_value = value;
    return true;
}

long long irt_env_number(const char *name, long long low, long long high, long long fallback)
{
    const char *text = irt_env(name);
    if (!text || text[0] == '\0') {
        return fallback;
    }
    long long value;
    if (!irt_parse_number(text, low, high, &value)) {
        irt_log("env", IRT_LOG_WARN, "%s=\"%s\" is not a number from %lld to %lld, using %lld",
                name, text, low, high, fallback);
        return fallback;
    }
    return value;
}

bool irt_env_flag(const char *name)
{
    static const char *const yes[] = {"1", "true", "yes", "on"};
    static const char *const no[] = {"0", "false", "no", "off", ""};
    const char *text = irt_env(name);
    if (!text) {
        return false;
    }
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++) {
        if (strcasecmp(text, yes[i]) == 0) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        if (strcasecmp(text, no[i]) == 0) {
            return false;
        }
    }
    irt_log("env", IRT_LOG_WARN, "%s=\"%s\" is neither 1 nor 0, using 0", name, text);
    return false;
}
