// SPDX-License-Identifier: Apache-2.0
//
// See device_code.h.
#include "device_code.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "binary.h"
#include "engine.h"
#include "shim/fatbin/fatbin.h"

#include <uthash.h>

struct entry {
    struct kernel kernel;
    UT_hash_handle hh;
};

struct device_code {
    const struct engine *engine;
    struct entry *kernels; // hash by name, in order of insertion
    struct device_code_summary summary;
};

// Texts that are linked together: one of a plain module, all units of an -rdc program.
struct texts {
    char **text;
    size_t *size;
    size_t count;
};

struct device_code *device_code_create(const struct engine *engine)
{
    struct device_code *code = calloc(1, sizeof *code);
    if (code) {
        code->engine = engine;
    }
    return code;
}

void device_code_destroy(struct device_code *code)
{
    if (!code) {
        return;
    }
    struct entry *entry = code->kernels;
    HASH_CLEAR(hh, code->kernels);
    while (entry) {
        struct entry *next = entry->hh.next;
        free(entry->kernel.name);
        free(entry->kernel.error);
        free(entry);
        entry = next;
    }
    free(code);
}

static struct kernel *kernel_named(struct device_code *code, const char *name)
{
    struct entry *entry;
    HASH_FIND_STR(code->kernels, name, entry);
    if (entry) {
        return &entry->kernel;
    }
    entry = calloc(1, sizeof *entry);
    if (!entry || !(entry->kernel.name = strdup(name))) {
        free(entry);
        return NULL;
    }
    HASH_ADD_KEYPTR(hh, code->kernels, entry->kernel.name, strlen(entry->kernel.name), entry);
    return &entry->kernel;
}

static void damaged(struct device_code *code, const char *what, const char *why)
{
    if (code->summary.damaged[0] == '\0') {
        snprintf(code->summary.damaged, sizeof code->summary.damaged, "%s: %.200s", what, why);
    }
}

static void note_machine_kernel(void *user, const char *name)
{
    kernel_named(user, name);
}

static void note_ptx_kernel(void *user, const char *name, const char *message)
{
    struct kernel *kernel = kernel_named(user, name);
    if (!kernel) {
        return;
    }
    kernel->has_ptx = true;
    if (message && !kernel->error) {
        kernel->error = strdup(message);
    }
}

// Without a compiler: the names that follow ".entry" in a text.
static void scan_entries(struct device_code *code, const char *text)
{
    static const char word[] = ".entry";
    for (const char *at = strstr(text, word); at; at = strstr(at, word)) {
        at += sizeof word - 1;
        at += strspn(at, " \t\r\n");
        size_t length = strcspn(at, " \t\r\n({");
        char *name = strndup(at, length);
        if (name && length > 0) {
            note_ptx_kernel(code, name, NULL);
        }
        free(name);
    }
}

static bool texts_add(struct texts *texts, char *text, size_t size)
{
    char **more_text = realloc(texts->text, (texts->count + 1) * sizeof *more_text);
    if (more_text) {
        texts->text = more_text;
    }
    size_t *more_size = realloc(texts->size, (texts->count + 1) * sizeof *more_size);
    if (more_size) {
        texts->size = more_size;
    }
    if (!more_text || !more_size) {
        free(text);
        return false;
    }
    texts->text[texts->count] = text;
    texts->size[texts->count++] = size;
    return true;
}

static void texts_check(struct device_code *code, struct texts *texts, const char *name)
{
    char why[512];
    if (texts->count > 0) {
        for (size_t i = 0; i < texts->count; i++) {
            scan_entries(code, texts->text[i]); // the names, whatever the compiler makes of it
        }
        if (code->engine &&
            !engine_check(code->engine, (const char *const *)texts->text, texts->size, texts->count,
                          name, true, note_ptx_kernel, code, why, sizeof why)) {
            damaged(code, "PTX that is not understood", why);
        }
    }
    for (size_t i = 0; i < texts->count; i++) {
        free(texts->text[i]);
    }
    free(texts->text);
    free(texts->size);
    *texts = (struct texts){0};
}

// The kernels of a cubin, packed or not.
static void add_machine_code(struct device_code *code, const struct irt_fatbin_entry *entry)
{
    char *bytes;
    size_t size;
    enum irt_fatbin_result result = irt_fatbin_unpack(entry, &bytes, &size);
    if (result != IRT_FATBIN_OK) {
        damaged(code, "machine code", irt_fatbin_result_text(result));
        return;
    }
    binary_device_kernels(bytes, size, note_machine_kernel, code);
    free(bytes);
}

// Kernels of one fat binary. Its PTX text goes to `texts`. False when it holds nothing.
static bool add_fatbin(struct device_code *code, const struct irt_fatbin *fatbin,
                       struct texts *texts)
{
    struct irt_fatbin walk = *fatbin;
    struct irt_fatbin_entry entry;
    struct irt_fatbin_entry machine; // one cubin: those for other processors hold the same kernels
    enum irt_fatbin_result result;
    bool anything = false;
    bool has_machine = false;
    while ((result = irt_fatbin_next(&walk, &entry)) == IRT_FATBIN_OK) {
        anything = true;
        if (entry.kind == IRT_FATBIN_CUBIN && !has_machine) {
            machine = entry;
            has_machine = true;
        }
    }
    if (result != IRT_FATBIN_END) {
        damaged(code, "a fat binary", irt_fatbin_result_text(result));
    }
    if (has_machine) {
        add_machine_code(code, &machine);
    }
    char *text;
    size_t size;
    if (irt_fatbin_choose(fatbin, 80, &entry) == IRT_FATBIN_OK) {
        result = irt_fatbin_text(&entry, &text, &size);
        if (result != IRT_FATBIN_OK) {
            damaged(code, "a PTX text", irt_fatbin_result_text(result));
        } else if (!texts_add(texts, text, size)) {
            damaged(code, "a PTX text", "out of memory");
        }
    } else if (anything && code->summary.machine_code[0] == '\0') {
        irt_fatbin_describe(fatbin, code->summary.machine_code, sizeof code->summary.machine_code);
    }
    return anything;
}

// All fat binaries of a section: they lie back to back, 8-aligned. With `linked` their texts are
// the units of one program, else each is a module of its own.
static size_t add_section(struct device_code *code, const struct binary *binary, const char *name,
                          bool linked)
{
    const void *data;
    size_t size;
    size_t found = 0;
    struct texts texts = {0};
    for (size_t index = 0; binary_section(binary, name, index, &data, &size); index++) {
        for (size_t at = 0; at + 16 <= size;) {
            struct irt_fatbin fatbin;
            size_t total;
            enum irt_fatbin_result result =
                irt_fatbin_open((const char *)data + at, size - at, &fatbin, &total);
            if (result != IRT_FATBIN_OK) {
                damaged(code, "a fat binary", irt_fatbin_result_text(result));
                break;
            }
            found += add_fatbin(code, &fatbin, &texts);
            if (!linked) {
                texts_check(code, &texts, "module");
            }
            at += (total + 7) & ~(size_t)7;
        }
    }
    texts_check(code, &texts, "linked module");
    return found;
}

size_t device_code_add(struct device_code *code, const struct binary *binary)
{
    size_t found = add_section(code, binary, ".nv_fatbin", false) +
                   add_section(code, binary, "__nv_relfatbin", true);
    code->summary.modules += found;
    return found;
}

void device_code_kernels(const struct device_code *code,
                         void (*visit)(void *user, const struct kernel *kernel), void *user)
{
    struct entry *entry;
    struct entry *next;
    HASH_ITER(hh, code->kernels, entry, next)
    {
        visit(user, &entry->kernel);
    }
}

const struct device_code_summary *device_code_summary(struct device_code *code)
{
    struct device_code_summary *s = &code->summary;
    struct entry *entry;
    struct entry *next;
    s->with_ptx = s->without_ptx = s->failed = 0;
    HASH_ITER(hh, code->kernels, entry, next)
    {
        s->with_ptx += entry->kernel.has_ptx;
        s->without_ptx += !entry->kernel.has_ptx;
        s->failed += entry->kernel.error != NULL;
    }
    return s;
}
