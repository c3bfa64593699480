// SPDX-License-Identifier: Apache-2.0
//
// Choosing and unpacking device code. What comes without a size is followed only as far as memory
// can be read.
#include "shim/core/code.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/util/log.h"

// Says why there is no code: on the log and, when the caller wants it, in its buffer.
static cudaError_t refuse(const struct irt_code_origin *origin, cudaError_t error,
                          const char *format, ...) __attribute__((format(printf, 3, 4)));

static cudaError_t refuse(const struct irt_code_origin *origin, cudaError_t error,
                          const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    irt_log("module", IRT_LOG_ERROR, "%s: %s", origin->name, text);
    if (origin->why && origin->why_size) {
        snprintf(origin->why, origin->why_size, "%s: %s", origin->name, text);
    }
    return error;
}

// ---- units ----

// Takes over `text`. `label` says which image it was.
static cudaError_t add_text(struct irt_code *code, const struct irt_code_origin *origin, char *text,
                            size_t size, const char *label)
{
    struct irtb_code_unit *grown = realloc(code->units, (code->count + 1) * sizeof *grown);
    char *name = NULL;
    if (grown) {
        code->units = grown;
        if (asprintf(&name, "%s, module %u, unit %zu%s", origin->name, origin->number, code->count,
                     label) < 0) {
            name = NULL;
        }
    }
    if (!name) {
        free(text);
        return cudaErrorMemoryAllocation;
    }
    code->units[code->count++] = (struct irtb_code_unit){.text = text, .size = size, .name = name};
    return cudaSuccess;
}

static cudaError_t add_entry(struct irt_code *code, const struct irt_code_origin *origin,
                             const struct irt_fatbin_entry *entry)
{
    char *text;
    char label[48];
    size_t size;
    enum irt_fatbin_result result = irt_fatbin_text(entry, &text, &size);
    if (result == IRT_FATBIN_NO_MEMORY) {
        return cudaErrorMemoryAllocation;
    }
    if (result != IRT_FATBIN_OK) {
        return refuse(origin, cudaErrorInvalidKernelImage, "PTX for compute_%u: %s", entry->arch,
                      irt_fatbin_result_text(result));
    }
    snprintf(label, sizeof label, " (compute_%u%.*s)", entry->arch, entry->variant != 0,
             &entry->variant);
    return add_text(code, origin, text, size, label);
}

static cudaError_t no_ptx(const struct irt_code_origin *origin, const char *inside)
{
    return refuse(origin, cudaErrorNoKernelImageForDevice,
                  "no PTX that could be compiled here, only: %s; rebuild it with PTX, for example "
                  "nvcc -gencode arch=compute_%u,code=compute_%u",
                  inside, origin->arch, origin->arch);
}

static cudaError_t malformed(const struct irt_code_origin *origin, enum irt_fatbin_result result)
{
    return refuse(origin, cudaErrorInvalidKernelImage, "fat binary: %s",
                  irt_fatbin_result_text(result));
}

// The best entry of an opened fat binary. `optional`: one that is empty adds nothing.
static cudaError_t add_chosen(struct irt_code *code, const struct irt_code_origin *origin,
                              const struct irt_fatbin *fatbin, bool optional)
{
    struct irt_fatbin_entry entry;
    if (optional && fatbin->next == fatbin->end) {
        return cudaSuccess;
    }
    enum irt_fatbin_result result = irt_fatbin_choose(fatbin, origin->arch, &entry);
    if (result == IRT_FATBIN_NO_PTX) {
        char inside[512];
        irt_fatbin_describe(fatbin, inside, sizeof inside);
        return no_ptx(origin, inside);
    }
    return result == IRT_FATBIN_OK ? add_entry(code, origin, &entry) : malformed(origin, result);
}

static cudaError_t add_registered(struct irt_code *code, const struct irt_code_origin *origin,
                                  const void *data, bool optional)
{
    struct irt_fatbin fatbin;
    enum irt_fatbin_result result = irt_fatbin_open_registered(data, &fatbin);
    return result == IRT_FATBIN_OK ? add_chosen(code, origin, &fatbin, optional)
                                   : malformed(origin, result);
}

// Code linked from several translation units (-rdc): a whole text if there is one, else the units.
static cudaError_t add_linked(struct irt_code *code, const struct irt_code_origin *origin,
                              const struct irt_fatbin_wrapper *wrapper)
{
    struct irt_fatbin whole;
    struct irt_fatbin_entry entry;
    if (irt_fatbin_open_registered(wrapper->data, &whole) == IRT_FATBIN_OK &&
        irt_fatbin_choose(&whole, origin->arch, &entry) == IRT_FATBIN_OK) {
        return add_entry(code, origin, &entry);
    }
    for (size_t i = 0; wrapper->linked[i]; i++) {
        cudaError_t e = add_registered(code, origin, wrapper->linked[i], true);
        if (e) {
            return e;
        }
    }
    return code->count ? cudaSuccess : add_registered(code, origin, wrapper->data, false);
}

// Hands the units over, or drops them when something failed.
static cudaError_t finish(struct irt_code *code, cudaError_t error, struct irt_code *ret_code)
{
    if (error) {
        irt_code_free(code);
    }
    *ret_code = *code;
    return error;
}

cudaError_t irt_code_from_wrapper(const struct irt_fatbin_wrapper *wrapper,
                                  const struct irt_code_origin *origin, struct irt_code *ret_code)
{
    struct irt_code code = {NULL, 0};
    cudaError_t e;
    if (!wrapper || wrapper->magic != IRT_FATBIN_WRAPPER_MAGIC ||
        (wrapper->version != 1 && wrapper->version != 2)) {
        e = refuse(origin, cudaErrorInvalidKernelImage, "module %u is no fat binary",
                   origin->number);
    } else if (wrapper->version == 2 && wrapper->linked) {
        e = add_linked(&code, origin, wrapper);
    } else {
        e = add_registered(&code, origin, wrapper->data, false);
    }
    return finish(&code, e, ret_code);
}

// ---- code loaded by hand ----

enum form { FORM_FATBIN, FORM_WRAPPER, FORM_JOINED, FORM_MACHINE_CODE, FORM_TEXT, FORM_UNKNOWN };

// What irt_code_join makes: this head, then the texts with their NULs.
#define JOINED_MAGIC UINT32_C(0x8A4C5249)

struct joined {
    uint32_t magic, count;
    uint64_t size; // of everything
};

void *irt_code_join(char *const *texts, size_t count, size_t *ret_size)
{
    struct joined head = {JOINED_MAGIC, (uint32_t)count, sizeof head};
    for (size_t i = 0; i < count; i++) {
        head.size += strlen(texts[i]) + 1;
    }
    char *image = malloc(head.size);
    if (!image) {
        return NULL;
    }
    memcpy(image, &head, sizeof head);
    char *at = image + sizeof head;
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, texts[i]) + 1;
    }
    *ret_size = head.size;
    return image;
}

// What a first byte of PTX may be: white space, a comment or a directive, and no control character.
static bool text_byte(unsigned char c)
{
    return c >= 0x20 ? c != 0x7f : isspace(c) != 0;
}

// Whether the data begins with these bytes. Reads no further than the first that differs, because
// a text may be shorter.
static bool begins(const unsigned char *data, size_t size, const void *bytes, size_t count)
{
    size_t i = 0;
    while (i < count && i < size && data[i] == ((const unsigned char *)bytes)[i]) {
        i++;
    }
    return i == count;
}

static enum form form_of(const unsigned char *data, size_t size)
{
    static const struct {
        uint32_t magic;
        enum form form;
    } rows[] = {
        {IRT_FATBIN_MAGIC, FORM_FATBIN},
        {IRT_FATBIN_WRAPPER_MAGIC, FORM_WRAPPER},
        {JOINED_MAGIC, FORM_JOINED},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (begins(data, size, &rows[i].magic, sizeof rows[i].magic)) {
            return rows[i].form;
        }
    }
    if (begins(data, size, "\177ELF", 4)) {
        return FORM_MACHINE_CODE;
    }
    return size && text_byte(data[0]) && data[0] < 0x80 ? FORM_TEXT : FORM_UNKNOWN;
}

static cudaError_t add_plain_text(struct irt_code *code, const struct irt_code_origin *origin,
                                  const char *data, size_t size)
{
    size = strnlen(data, size);
    for (size_t i = 0; i < size; i++) {
        if (!text_byte((unsigned char)data[i])) {
            return refuse(origin, cudaErrorInvalidPtx, "byte %zu is no text", i);
        }
    }
    if (size > IRT_FATBIN_TEXT_MAX) {
        return refuse(origin, cudaErrorInvalidPtx, "the text is too large");
    }
    char *text = malloc(size + 1);
    if (!text) {
        return cudaErrorMemoryAllocation;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    return add_text(code, origin, text, size, "");
}

static cudaError_t add_joined(struct irt_code *code, const struct irt_code_origin *origin,
                              const char *data, size_t size)
{
    struct joined head;
    if (size < sizeof head) {
        return malformed(origin, IRT_FATBIN_MALFORMED);
    }
    memcpy(&head, data, sizeof head);
    size_t at = sizeof head;
    for (uint32_t i = 0; i < head.count; i++) {
        size_t length = at < size ? strnlen(data + at, size - at) : 0;
        if (at + length >= size) {
            return malformed(origin, IRT_FATBIN_MALFORMED);
        }
        cudaError_t e = add_plain_text(code, origin, data + at, length);
        if (e) {
            return e;
        }
        at += length + 1;
    }
    return code->count ? cudaSuccess : malformed(origin, IRT_FATBIN_MALFORMED);
}

cudaError_t irt_code_from_bytes(const void *data, size_t size, const struct irt_code_origin *origin,
                                struct irt_code *ret_code)
{
    struct irt_code code = {NULL, 0};
    struct irt_fatbin fatbin;
    enum irt_fatbin_result result;
    cudaError_t e;
    switch (form_of(data, size)) {
    case FORM_FATBIN:
        result = irt_fatbin_open(data, size, &fatbin, NULL);
        e = result == IRT_FATBIN_OK ? add_chosen(&code, origin, &fatbin, false)
                                    : malformed(origin, result);
        break;
    case FORM_JOINED:
        e = add_joined(&code, origin, data, size);
        break;
    case FORM_MACHINE_CODE:
        e = no_ptx(origin, "machine code");
        break;
    case FORM_TEXT:
        e = add_plain_text(&code, origin, data, size);
        break;
    default:
        e = refuse(origin, cudaErrorInvalidKernelImage,
                   "neither a fat binary nor machine code nor PTX text");
        break;
    }
    return finish(&code, e, ret_code);
}

// Bytes from `data` on that may be read, as the system says; 0 when none. Where it does not say,
// the application's word has to do.
static size_t readable(const void *data)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    if (!maps) {
        return SIZE_MAX - (uintptr_t)data;
    }
    char line[512];
    uintptr_t at = (uintptr_t)data;
    bool whole_line = true; // names of files may be longer than a line
    while (fgets(line, sizeof line, maps)) {
        bool begins_here = whole_line;
        whole_line = strchr(line, '\n') != NULL;
        char *next; // "first-end rwxp …"
        uintptr_t first = strtoul(line, &next, 16);
        uintptr_t end = *next == '-' ? strtoul(next + 1, &next, 16) : 0;
        if (!begins_here || end <= at) {
            continue;
        }
        if (first > at || next[0] != ' ' || next[1] != 'r') {
            break;
        }
        at = end;
    }
    fclose(maps);
    return at - (uintptr_t)data;
}

// Length of the string at `data` without its NUL, of `room` readable bytes. False when it is not
// ended there. Stops at what is no text (one that was not ended would lead through all of memory).
static bool text_length(const char *data, size_t room, size_t *ret_size)
{
    for (size_t size = 0; size < room && size <= IRT_FATBIN_TEXT_MAX; size++) {
        if (data[size] == '\0') {
            *ret_size = size;
            return true;
        }
        if (!text_byte((unsigned char)data[size])) {
            *ret_size = size + 1; // the reader names the byte
            return true;
        }
    }
    return false;
}

// Length of a fat binary with its header, or 0: it leads outside of what can be read.
static size_t fatbin_length(const void *data)
{
    struct irt_fatbin fatbin;
    size_t total;
    return irt_fatbin_open(data, readable(data), &fatbin, &total) == IRT_FATBIN_OK ? total : 0;
}

static size_t joined_length(const void *data)
{
    struct joined head;
    size_t room = readable(data);
    if (room < sizeof head) {
        return 0;
    }
    memcpy(&head, data, sizeof head);
    return head.size <= room ? head.size : 0;
}

// Whether everything that a wrapper points to is there.
static bool wrapper_is_sound(const struct irt_fatbin_wrapper *wrapper)
{
    if (readable(wrapper) < sizeof *wrapper || (wrapper->data && !fatbin_length(wrapper->data))) {
        return false;
    }
    if (wrapper->version != 2 || !wrapper->linked) {
        return wrapper->data != NULL;
    }
    size_t room = readable(wrapper->linked) / sizeof *wrapper->linked;
    for (size_t i = 0; i < room; i++) {
        if (!wrapper->linked[i]) {
            return true;
        }
        if (!fatbin_length(wrapper->linked[i])) {
            return false;
        }
    }
    return false;
}

cudaError_t irt_code_from_memory(const void *data, const struct irt_code_origin *origin,
                                 struct irt_code *ret_code)
{
    const size_t room = readable(data);
    size_t size = room < sizeof(uint32_t) ? room : sizeof(uint32_t);
    bool sound = true;
    *ret_code = (struct irt_code){NULL, 0};
    if (!room) {
        return refuse(origin, cudaErrorInvalidValue, "the code is not in memory");
    }
    switch (form_of(data, size)) {
    case FORM_FATBIN:
        size = fatbin_length(data);
        sound = size != 0;
        break;
    case FORM_WRAPPER:
        if (wrapper_is_sound(data)) {
            return irt_code_from_wrapper(data, origin, ret_code);
        }
        sound = false;
        break;
    case FORM_JOINED:
        size = joined_length(data);
        sound = size != 0;
        break;
    case FORM_TEXT:
        sound = text_length(data, room, &size);
        break;
    case FORM_MACHINE_CODE:
    case FORM_UNKNOWN:
        break;
    }
    if (!sound) {
        return refuse(origin, cudaErrorInvalidKernelImage,
                      "the code is damaged: it leads outside of readable memory");
    }
    return irt_code_from_bytes(data, size, origin, ret_code);
}

// ---- the rest ----

unsigned irt_code_ptx_version(const struct irt_code *code)
{
    unsigned newest = 0;
    for (size_t i = 0; i < code->count; i++) {
        static const char directive[] = ".version";
        const char *at = strstr(code->units[i].text, directive);
        if (!at) {
            continue;
        }
        char *next;
        unsigned long major = strtoul(at + sizeof directive - 1, &next, 10);
        unsigned long minor = *next == '.' ? strtoul(next + 1, NULL, 10) : 0;
        if (major < 1000 && minor < 10 && major * 10 + minor > newest) {
            newest = (unsigned)(major * 10 + minor);
        }
    }
    return newest;
}

void irt_code_free(struct irt_code *code)
{
    for (size_t i = 0; i < code->count; i++) {
        free((void *)code->units[i].text);
        free((void *)code->units[i].name);
    }
    free(code->units);
    *code = (struct irt_code){NULL, 0};
}
