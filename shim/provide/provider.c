// SPDX-License-Identifier: Apache-2.0
//
// See provider.h. Matching of names: the mangled name, or its qualified name without parameters and
// template arguments, read from the mangled form (Itanium C++ ABI, 5.1).
#include "shim/provide/provider.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/util/log.h"

enum { PROVIDERS_MAX = 16, NAME_SIZE = 1024, DEPTH_MAX = 64 };

static const struct infinirt_provider *providers[PROVIDERS_MAX];
static size_t provider_count;

// ---- names ----

struct reader {
    const char *at;
    int depth;
};

static bool skip_until_end(struct reader *r);

// <source-name>: digits and so many characters.
static bool source_name(struct reader *r, const char **ret_text, size_t *ret_length)
{
    size_t length = 0;
    while (isdigit((unsigned char)*r->at)) {
        length = length * 10 + (size_t)(*r->at++ - '0');
        if (length > NAME_SIZE) {
            return false;
        }
    }
    if (!length || strnlen(r->at, length) < length) {
        return false;
    }
    *ret_text = r->at;
    *ret_length = length;
    r->at += length;
    return true;
}

// <literal>: behind the L. The type is not needed: names and nested names are skipped, all else is
// characters up to the E.
static bool skip_literal(struct reader *r)
{
    const char *text;
    size_t length;
    if (strncmp(r->at, "_Z", 2) == 0) {
        r->at += 2;
        return skip_until_end(r);
    }
    if (*r->at == 'N') {
        r->at++;
        if (!skip_until_end(r)) {
            return false;
        }
    } else if (isdigit((unsigned char)*r->at) && !source_name(r, &text, &length)) {
        return false;
    }
    while (*r->at && *r->at != 'E') {
        r->at++;
    }
    return *r->at++ == 'E';
}

// Everything up to and with the E that ends what has begun.
static bool skip_until_end(struct reader *r)
{
    const char *text;
    size_t length;
    bool good = ++r->depth < DEPTH_MAX;
    while (good && *r->at && *r->at != 'E') {
        char c = *r->at;
        if (isdigit((unsigned char)c)) {
            good = source_name(r, &text, &length);
        } else if (c == 'S' || c == 'T') { // substitution, template parameter
            r->at++;
            if (c == 'S' && islower((unsigned char)*r->at)) {
                r->at++;
            } else {
                while (isdigit((unsigned char)*r->at) || isupper((unsigned char)*r->at)) {
                    r->at++;
                }
                good = *r->at++ == '_';
            }
        } else {
            r->at++;
            if (c == 'L') {
                good = skip_literal(r);
            } else if (c == 'N' || c == 'I' || c == 'J' || c == 'X' || c == 'F') {
                good = skip_until_end(r);
            }
        }
    }
    r->depth--;
    return good && *r->at++ == 'E';
}

// Puts the qualified name of a mangled function into `ret`; false when it is not understood.
static bool qualified_name(const char *mangled, char *ret, size_t size)
{
    if (strncmp(mangled, "_Z", 2) != 0) {
        return false;
    }
    struct reader r = {.at = mangled + 2};
    bool nested = *r.at == 'N';
    size_t used = 0;
    r.at += nested;
    while (nested && (*r.at == 'K' || *r.at == 'V' || *r.at == 'r')) {
        r.at++;
    }
    r.at += *r.at == 'L'; // internal linkage
    do {
        const char *text;
        size_t length;
        if (!source_name(&r, &text, &length)) {
            return false;
        }
        if (length >= 11 && strncmp(text, "_GLOBAL__N_", 11) == 0) {
            text = "(anonymous namespace)";
            length = strlen(text);
        }
        int got = snprintf(ret + used, size - used, "%s%.*s", used ? "::" : "", (int)length, text);
        if (got < 0 || (size_t)got >= size - used) {
            return false;
        }
        used += (size_t)got;
        if (*r.at == 'I') {
            r.at++;
            if (!skip_until_end(&r)) {
                return false;
            }
        }
        r.at += nested && *r.at == 'L';
    } while (nested && *r.at != 'E');
    return true;
}

bool irt_provider_matches(const char *name, const char *mangled)
{
    char qualified[NAME_SIZE];
    return strcmp(name, mangled) == 0 ||
           (qualified_name(mangled, qualified, sizeof qualified) && strcmp(name, qualified) == 0);
}

// ---- libraries ----

// Why the kernel cannot be used, or NULL.
static const char *kernel_fault(const struct infinirt_kernel *kernel)
{
    switch (kernel->kind) {
    case INFINIRT_HOST:
    case INFINIRT_ENQUEUE:
        if (!kernel->function) {
            return "its function is NULL";
        }
        break;
    case INFINIRT_PACKED:
    case INFINIRT_ARRAY:
    case INFINIRT_SIMT:
        if (!kernel->handle) {
            return "its handle is NULL";
        }
        break;
    default:
        return "its kind is unknown";
    }
    return kernel->parameter_count && !kernel->parameter_sizes ? "it has parameters without sizes"
                                                               : NULL;
}

static bool check_provider(const char *path, const struct infinirt_provider *provider,
                           char *ret_why, size_t why_size)
{
    if (!provider) {
        snprintf(ret_why, why_size, "%s: infinirt_provider() returned NULL", path);
        return false;
    }
    if (provider->version != INFINIRT_PROVIDER_VERSION) {
        snprintf(ret_why, why_size, "%s: made for version %u of infinirt.h, this library has %u",
                 path, provider->version, INFINIRT_PROVIDER_VERSION);
        return false;
    }
    if (provider->size < sizeof *provider || (provider->kernel_count && !provider->kernels)) {
        snprintf(ret_why, why_size, "%s: its struct infinirt_provider is damaged", path);
        return false;
    }
    for (size_t i = 0; i < provider->kernel_count; i++) {
        const struct infinirt_kernel *kernel = &provider->kernels[i];
        const char *fault = kernel->name ? kernel_fault(kernel) : "it has no name";
        if (fault) {
            snprintf(ret_why, why_size, "%s: kernel %zu (%s): %s", path, i,
                     kernel->name ? kernel->name : "?", fault);
            return false;
        }
    }
    return true;
}

static bool open_one(const char *path, char *ret_why, size_t why_size)
{
    if (provider_count == PROVIDERS_MAX) {
        snprintf(ret_why, why_size, "more than %d libraries", PROVIDERS_MAX);
        return false;
    }
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        snprintf(ret_why, why_size, "%s", why ? why : path);
        return false;
    }
    const struct infinirt_provider *(*entry)(void);
    *(void **)&entry = dlsym(library, "infinirt_provider");
    if (!entry) {
        snprintf(ret_why, why_size, "%s: exports no infinirt_provider", path);
        return false;
    }
    const struct infinirt_provider *provider = entry();
    if (!check_provider(path, provider, ret_why, why_size)) {
        return false;
    }
    providers[provider_count++] = provider;
    IRT_LOG("provide", IRT_LOG_INFO, "%s: provider %s, %zu kernels", path,
            provider->name ? provider->name : "?", provider->kernel_count);
    return true;
}

bool irt_providers_open(const char *list, char *ret_why, size_t why_size)
{
    static bool opened; // and usable
    if (opened) {
        return true;
    }
    char *copy = strdup(list), *rest = copy, *path;
    bool good = copy != NULL;
    if (!good) {
        snprintf(ret_why, why_size, "out of memory");
    }
    while (good && (path = strsep(&rest, ":")) != NULL) {
        good = !path[0] || open_one(path, ret_why, why_size);
    }
    free(copy);
    if (!good) {
        provider_count = 0;
    }
    opened = good;
    return good;
}

bool irt_provider_find(const char *kernel, const char *backend, int device,
                       struct infinirt_kernel *ret_kernel)
{
    for (size_t p = 0; p < provider_count; p++) {
        const struct infinirt_provider *provider = providers[p];
        for (size_t i = 0; i < provider->kernel_count; i++) {
            if (irt_provider_matches(provider->kernels[i].name, kernel)) {
                *ret_kernel = provider->kernels[i];
                return true;
            }
        }
        struct infinirt_kernel found = {.name = kernel};
        if (provider->find && provider->find(kernel, backend, device, &found)) {
            const char *fault = kernel_fault(&found);
            if (!fault) {
                *ret_kernel = found;
                return true;
            }
            irt_notice("provider %s: what it found for kernel %s cannot be used: %s",
                       provider->name ? provider->name : "?", kernel, fault);
        }
    }
    return false;
}
