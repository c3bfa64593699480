// SPDX-License-Identifier: Apache-2.0
#include "shim/util/cache_folder.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *set(const char *name)
{
    const char *value = secure_getenv(name);
    return value && value[0] != '\0' ? value : NULL;
}

static bool is_off(const char *value)
{
    return !value || strcmp(value, "0") == 0;
}

static void read_limit(struct irt_cache_folder *ret)
{
    const char *text = set("CUDA_CACHE_MAXSIZE");
    ret->limit = IRT_CACHE_DEFAULT;
    ret->bad_limit = false;
    if (text) {
        char *end;
        errno = 0;
        unsigned long long value = strtoull(text, &end, 10);
        ret->bad_limit = !isdigit((unsigned char)text[0]) || *end != '\0' || errno != 0;
        if (!ret->bad_limit) {
            ret->limit = value < IRT_CACHE_MOST ? value : IRT_CACHE_MOST;
        }
    }
}

bool irt_cache_folder(struct irt_cache_folder *ret_folder)
{
    // In order: variable, what is appended to its value.
    static const struct {
        const char *variable, *below;
        bool own; // not the user's wish for this cache
    } places[] = {{"INFINIRT_CACHE_DIR", "", false},
                  {"CUDA_CACHE_PATH", "/infinirt", false},
                  {"XDG_CACHE_HOME", "/infinirt", true},
                  {"HOME", "/.cache/infinirt", true}};
    read_limit(ret_folder);
    if (!is_off(set("CUDA_CACHE_DISABLE")) || ret_folder->limit == 0) {
        return false;
    }
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const char *value = set(places[i].variable);
        // A relative path would mean another folder for each working directory.
        if (!value || (places[i].own && value[0] != '/')) {
            continue;
        }
        ret_folder->variable = places[i].own ? NULL : places[i].variable;
        return (size_t)snprintf(ret_folder->path, sizeof ret_folder->path, "%s%s", value,
                                places[i].below) < sizeof ret_folder->path;
    }
    return false;
}
