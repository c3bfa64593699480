// SPDX-License-Identifier: Apache-2.0
//
// Walks fat binaries and chooses among their entries; unpacking is in text.c. All fields are read
// with memcpy from a range that was checked first, so alignment and lies in the data do no harm.
#include "fatbin.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// Offsets of the fat binary header (16 bytes at least) and of an entry header (64 at least).
enum {
    HEADER_MAGIC = 0,
    HEADER_SIZE = 6,
    HEADER_BODY = 8,
    HEADER_MIN = 16,

    ENTRY_KIND = 0,
    ENTRY_HEADER = 4,
    ENTRY_PADDED = 8,
    ENTRY_COMPRESSED = 16,
    ENTRY_OPTIONS = 20,
    ENTRY_MINOR = 24,
    ENTRY_MAJOR = 26,
    ENTRY_ARCH = 28,
    ENTRY_IDENT = 32,
    ENTRY_IDENT_SIZE = 36,
    ENTRY_FLAGS = 40,
    ENTRY_TEXT_SIZE = 56,
    ENTRY_MIN = 64,
};

static uint16_t read16(const unsigned char *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static uint32_t read32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static uint64_t read64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

enum irt_fatbin_result irt_fatbin_open(const void *data, size_t size, struct irt_fatbin *ret_fatbin,
                                       size_t *ret_total)
{
    const unsigned char *p = data;
    if (!p || size < HEADER_MIN || read32(p + HEADER_MAGIC) != IRT_FATBIN_MAGIC) {
        return IRT_FATBIN_MALFORMED;
    }
    size_t header = read16(p + HEADER_SIZE);
    uint64_t body = read64(p + HEADER_BODY);
    if (header < HEADER_MIN || header > size || body > size - header) {
        return IRT_FATBIN_MALFORMED;
    }
    ret_fatbin->next = p + header;
    ret_fatbin->end = p + header + body;
    if (ret_total) {
        *ret_total = header + (size_t)body;
    }
    return IRT_FATBIN_OK;
}

enum irt_fatbin_result irt_fatbin_open_registered(const void *data, struct irt_fatbin *ret_fatbin)
{
    if (!data) {
        *ret_fatbin = (struct irt_fatbin){NULL, NULL};
        return IRT_FATBIN_OK;
    }
    // The largest range that ends inside the address space; open() narrows it to the size field.
    return irt_fatbin_open(data, UINTPTR_MAX - (uintptr_t)data, ret_fatbin, NULL);
}

// [offset, offset + length) of an entry header as a string, or NULL when it is not all inside.
static const char *header_string(const unsigned char *entry, size_t header, uint32_t offset,
                                 uint32_t length)
{
    if (!length || offset < ENTRY_MIN || offset > header || length > header - offset) {
        return NULL;
    }
    return (const char *)entry + offset;
}

static char variant_of(uint64_t flags)
{
    if (flags & IRT_FATBIN_FLAG_ARCH_A) {
        return 'a';
    }
    return flags & IRT_FATBIN_FLAG_ARCH_F ? 'f' : '\0';
}

enum irt_fatbin_result irt_fatbin_next(struct irt_fatbin *fatbin,
                                       struct irt_fatbin_entry *ret_entry)
{
    const unsigned char *p = fatbin->next;
    size_t left = p ? (size_t)(fatbin->end - p) : 0;
    if (!left) {
        return IRT_FATBIN_END;
    }
    fatbin->next = fatbin->end; // a malformed entry ends the walk
    if (left < ENTRY_MIN) {
        return IRT_FATBIN_MALFORMED;
    }
    uint32_t header = read32(p + ENTRY_HEADER);
    uint64_t padded = read64(p + ENTRY_PADDED);
    if (header < ENTRY_MIN || header > left || padded > left - header) {
        return IRT_FATBIN_MALFORMED;
    }
    uint64_t flags = read64(p + ENTRY_FLAGS);
    uint32_t compressed = read32(p + ENTRY_COMPRESSED);
    bool packed = (flags & (IRT_FATBIN_FLAG_LZ4 | IRT_FATBIN_FLAG_ZSTD)) != 0;
    if (packed && compressed > padded) {
        return IRT_FATBIN_MALFORMED;
    }

    struct irt_fatbin_entry e = {
        .kind = read16(p + ENTRY_KIND),
        .arch = read32(p + ENTRY_ARCH),
        .variant = variant_of(flags),
        .version_major = read16(p + ENTRY_MAJOR),
        .version_minor = read16(p + ENTRY_MINOR),
        .flags = flags,
        .payload = p + header,
        .payload_size = packed ? compressed : (size_t)padded,
        .text_size = packed ? (size_t)read64(p + ENTRY_TEXT_SIZE) : 0,
    };
    uint32_t ident_size = read32(p + ENTRY_IDENT_SIZE);
    e.ident = header_string(p, header, read32(p + ENTRY_IDENT), ident_size);
    e.ident_size = e.ident ? ident_size : 0;
    // Only PTX entries hold text there; machine code of sm_100 and later holds binary records.
    uint32_t options = read32(p + ENTRY_OPTIONS);
    if (e.kind == IRT_FATBIN_PTX && options >= ENTRY_MIN && options <= header - 8) {
        uint32_t size = read32(p + options + 4);
        e.options = header_string(p, header, read32(p + options), size);
        e.options_size = e.options ? size : 0;
    }
    fatbin->next = p + header + padded;
    *ret_entry = e;
    return IRT_FATBIN_OK;
}

// Rank of a PTX entry for a device of `arch`; higher is better, 0 is never returned.
static uint64_t entry_rank(const struct irt_fatbin_entry *entry, unsigned arch)
{
    uint64_t rank = 1;
    if (!arch || entry->arch <= arch) {
        rank += UINT64_C(1) << 33 | entry->arch;
    } else {
        rank += UINT32_MAX - entry->arch;
    }
    return entry->variant ? rank : rank + (UINT64_C(1) << 34);
}

enum irt_fatbin_result irt_fatbin_choose(const struct irt_fatbin *fatbin, unsigned arch,
                                         struct irt_fatbin_entry *ret_entry)
{
    struct irt_fatbin walk = *fatbin;
    struct irt_fatbin_entry entry;
    uint64_t best = 0;
    enum irt_fatbin_result result;
    while ((result = irt_fatbin_next(&walk, &entry)) == IRT_FATBIN_OK) {
        if (entry.kind != IRT_FATBIN_PTX) {
            continue;
        }
        uint64_t rank = entry_rank(&entry, arch);
        if (rank > best) {
            best = rank;
            *ret_entry = entry;
        }
    }
    if (best) {
        return IRT_FATBIN_OK;
    }
    return result == IRT_FATBIN_END ? IRT_FATBIN_NO_PTX : result;
}

// A string that is cut at its capacity but counts on, as snprintf does.
struct sink {
    char *text;
    size_t size, length;
};

static void put(struct sink *sink, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct sink *sink, const char *format, ...)
{
    size_t used = sink->length < sink->size ? sink->length : sink->size;
    va_list args;
    va_start(args, format);
    int n = vsnprintf(sink->size ? sink->text + used : NULL, sink->size - used, format, args);
    va_end(args);
    if (n > 0) {
        sink->length += (size_t)n;
    }
}

size_t irt_fatbin_describe(const struct irt_fatbin *fatbin, char *text, size_t size)
{
    static const struct {
        unsigned kind;
        const char *title, *prefix;
    } groups[] = {
        {IRT_FATBIN_CUBIN, "machine code for ", "sm_"},
        {IRT_FATBIN_PTX, "PTX for ", "compute_"},
        {IRT_FATBIN_LTO_IR, "LTO code for ", "lto_"},
    };
    struct sink sink = {text, size, 0};
    if (size) {
        text[0] = '\0';
    }
    for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
        struct irt_fatbin walk = *fatbin;
        struct irt_fatbin_entry entry;
        bool first = true;
        while (irt_fatbin_next(&walk, &entry) == IRT_FATBIN_OK) {
            if (entry.kind != groups[g].kind) {
                continue;
            }
            if (first) {
                put(&sink, "%s%s", sink.length ? "; " : "", groups[g].title);
            }
            put(&sink, "%s%s%u", first ? "" : ", ", groups[g].prefix, entry.arch);
            if (entry.variant) {
                put(&sink, "%c", entry.variant);
            }
            first = false;
        }
    }
    if (!sink.length) {
        put(&sink, "nothing");
    }
    return sink.length;
}

const char *irt_fatbin_result_text(enum irt_fatbin_result result)
{
    switch (result) {
    case IRT_FATBIN_OK:
    case IRT_FATBIN_END:
        return "well formed";
    case IRT_FATBIN_MALFORMED:
        return "malformed";
    case IRT_FATBIN_CORRUPT:
        return "compressed text is damaged";
    case IRT_FATBIN_TOO_LARGE:
        return "text is too large";
    case IRT_FATBIN_NO_MEMORY:
        return "out of memory";
    case IRT_FATBIN_NO_PTX:
        return "no PTX inside";
    }
    return "unknown";
}
