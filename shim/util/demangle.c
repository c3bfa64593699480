// SPDX-License-Identifier: Apache-2.0
//
// See demangle.h.
#include "shim/util/demangle.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef char *(*demangle_fn)(const char *name, char *buffer, size_t *length, int *status);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static demangle_fn demangle;

static void find(void)
{
    void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD); // kept
    void *function = dlsym(library != NULL ? library : RTLD_DEFAULT, "__cxa_demangle");
    memcpy(&demangle, &function, sizeof(demangle));
}

void irt_demangle(const char *name, char *ret_text, size_t size)
{
    pthread_once(&once, find);
    int status = -1;
    char *text = NULL;
    if (demangle != NULL && strncmp(name, "_Z", 2) == 0) {
        text = demangle(name, NULL, NULL, &status);
    }
    snprintf(ret_text, size, "%s", text != NULL && status == 0 ? text : name);
    free(text);
}

// Where the bracket that ends at `end` (its last character) begins, or NULL.
static char *opening(char *text, char *end)
{
    unsigned depth = 0;
    for (char *at = end; at >= text; at--) {
        depth += *at == ')';
        depth -= *at == '(';
        if (depth == 0) {
            return at;
        }
    }
    return NULL;
}

// Behind the last blank outside of brackets: a result type is before it.
static char *behind_result(char *text)
{
    int depth = 0;
    char *start = text;
    for (char *at = text; *at != '\0'; at++) {
        depth += *at == '<' || *at == '(';
        depth -= *at == '>' || *at == ')';
        if (*at == ' ' && depth == 0) {
            start = at + 1;
        }
    }
    return start;
}

void irt_demangle_short(const char *name, char *ret_text, size_t size)
{
    irt_demangle(name, ret_text, size);
    if (size == 0 || strncmp(name, "_Z", 2) != 0 || strstr(ret_text, "operator") != NULL) {
        return;
    }
    char *end = strrchr(ret_text, ')');
    char *parameters = end != NULL ? opening(ret_text, end) : NULL;
    if (parameters == NULL || parameters == ret_text) {
        return;
    }
    *parameters = '\0';
    const char *start = behind_result(ret_text);
    memmove(ret_text, start, strlen(start) + 1);
}
