// SPDX-License-Identifier: Apache-2.0
//
// Reads the properties of a sampler as PTX writes them.
#include "sampler.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "../image.h"
#include "../image_ops.h"

static size_t skip(const char **at, const char *characters)
{
    size_t length = strspn(*at, characters);
    *at += length;
    return length;
}

// The next word, copied; empty when there is none.
static void word(const char **at, char *out, size_t size)
{
    skip(at, " \t\r\n");
    size_t length = strcspn(*at, " \t\r\n=,{}");
    size_t kept = length < size ? length : size - 1;
    memcpy(out, *at, kept);
    out[kept] = '\0';
    *at += length;
    skip(at, " \t\r\n");
}

static int address_mode(const char *text)
{
    // clamp_ogl blends with the border colour, which a sampler of PTX does not have.
    return strcmp(text, "wrap") == 0              ? EXEC_ADDRESS_WRAP
           : strcmp(text, "mirror") == 0          ? EXEC_ADDRESS_MIRROR
           : strcmp(text, "clamp_to_edge") == 0   ? EXEC_ADDRESS_CLAMP
           : strcmp(text, "clamp_to_border") == 0 ? EXEC_ADDRESS_BORDER
                                                  : -1;
}

static int property(const char *name, const char *value, uint64_t *word_value)
{
    if (strncmp(name, "addr_mode_", 10) == 0 && name[10] >= '0' && name[10] <= '2' &&
        name[11] == '\0') {
        int mode = address_mode(value);
        unsigned shift = EXEC_SAMPLER_ADDRESS + 2u * (unsigned)(name[10] - '0');
        *word_value |= (uint64_t)(mode & 3) << shift;
        return mode < 0 ? -1 : 0;
    }
    bool linear = strcmp(value, "linear") == 0;
    if (strcmp(name, "filter_mode") == 0 && (linear || strcmp(value, "nearest") == 0)) {
        *word_value |= (uint64_t)linear << EXEC_SAMPLER_FILTER;
        return 0;
    }
    bool one = strcmp(value, "1") == 0;
    if (strcmp(name, "force_unnormalized_coords") == 0 && (one || strcmp(value, "0") == 0)) {
        *word_value |= (uint64_t)one << EXEC_SAMPLER_UNNORMALIZED;
        return 0;
    }
    return -1;
}

int jit_sampler_value(const char *text, uint64_t *ret_value, char *message, size_t size)
{
    uint64_t value = EXEC_SAMPLER;
    const char *at = text != NULL ? text : "{}";
    skip(&at, " \t\r\n{");
    while (*at != '\0' && *at != '}') {
        char name[40], setting[40];
        word(&at, name, sizeof name);
        bool equals = skip(&at, "=") == 1;
        word(&at, setting, sizeof setting);
        if (!equals || property(name, setting, &value) != 0) {
            snprintf(message, size, "sampler property '%s = %s' is not supported", name, setting);
            return -1;
        }
        skip(&at, ", \t\r\n");
    }
    *ret_value = value;
    return 0;
}
