// SPDX-License-Identifier: Apache-2.0
//
// See settings.h.
#include "settings.h"

#include <stdlib.h>
#include <string.h>

#include "verb.h"

static bool any_text(const char *text)
{
    return text[0] != '\0';
}

static bool positive_number(const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && value > 0;
}

static bool memory_size(const char *text)
{
    char *end;
    unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || value == 0) {
        return false;
    }
    return *end == '\0' || (strchr("KMGTkmgt", *end) && end[1] == '\0');
}

// "8.0"
static bool capability(const char *text)
{
    const char *dot = strchr(text, '.');
    return dot && dot > text && strspn(text, "0123456789") == (size_t)(dot - text) &&
           strlen(dot + 1) == 1 && dot[1] >= '0' && dot[1] <= '9';
}

static const struct setting {
    const char *option, *variable, *argument, *help;
    bool (*valid)(const char *text);
} settings[] = {
    {"backend", "INFINIRT_BACKEND", "NAME", "cpu, nvidia or diff:A,B", any_text},
    {"devices", "INFINIRT_CPU_DEVICES", "N", "number of virtual devices (cpu)", positive_number},
    {"memory", "INFINIRT_CPU_MEMORY", "SIZE", "memory of each, such as 4G (cpu)", memory_size},
    {"threads", "INFINIRT_CPU_THREADS", "N", "worker threads (cpu)", positive_number},
    {"arch", "INFINIRT_CPU_ARCH", "X.Y", "compute capability to report (cpu)", capability},
    {"cache", "INFINIRT_CACHE_DIR", "DIR", "keep compiled kernels there between runs (cpu)",
     any_text},
    {"log", "INFINIRT_LOG", "LEVELS", "error, warn, info, debug, or subsystem:level,…", any_text},
};

#define SETTINGS ((int)(sizeof settings / sizeof settings[0]))
_Static_assert(SETTINGS <= (int)SETTINGS_MAX, "settings_options would overrun its callers' arrays");

int settings_options(struct option *out)
{
    for (int i = 0; i < SETTINGS; i++) {
        out[i] = (struct option){settings[i].option, required_argument, NULL, SETTING_FIRST + i};
    }
    return SETTINGS;
}

bool settings_apply(int option, const char *value, bool *ret_bad_value)
{
    *ret_bad_value = false;
    int i = option - SETTING_FIRST;
    if (i < 0 || i >= SETTINGS) {
        return false;
    }
    if (!settings[i].valid(value)) {
        complain("--%s: \"%s\" is not a value for %s", settings[i].option, value,
                 settings[i].argument);
        *ret_bad_value = true;
        return false;
    }
    if (setenv(settings[i].variable, value, 1) != 0) {
        complain("out of memory");
        *ret_bad_value = true;
        return false;
    }
    return true;
}

void settings_help(FILE *out)
{
    for (int i = 0; i < SETTINGS; i++) {
        char left[40];
        snprintf(left, sizeof left, "--%s %s", settings[i].option, settings[i].argument);
        fprintf(out, "  %-18s %s\n", left, settings[i].help);
    }
}
