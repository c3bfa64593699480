// SPDX-License-Identifier: Apache-2.0
//
// Makes fat binaries in memory for tests and the fuzzer: the layout of facts/fatbin.md written down
// a second time, independently of the reader. Not for anything else: lengths are not checked, the
// buffer is large enough for what tests put in.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { BUILD_MAX = 1 << 16 };

struct build {
    _Alignas(8) unsigned char bytes[BUILD_MAX];
    size_t size;
};

// How an entry departs from the plain one; zeros mean "as nvcc does it".
struct build_entry {
    uint16_t kind;
    uint32_t arch;
    uint64_t flags;
    const void *payload;
    size_t payload_size;   // stored bytes, before padding
    uint64_t text_size;    // of compressed payload
    uint32_t extra_header; // bytes more than the 64 of the fixed part, a multiple of 8
    const char *ident, *options;
};

static inline void build_put(struct build *build, size_t at, uint64_t value, size_t size)
{
    memcpy(build->bytes + at, &value, size); // little-endian hosts only, as CUDA's are
}

static inline void build_begin(struct build *build)
{
    memset(build, 0, sizeof(*build));
    build_put(build, 0, 0xBA55ED50, 4);
    build_put(build, 4, 1, 2);
    build_put(build, 6, 16, 2);
    build->size = 16;
}

static inline size_t build_align(size_t n)
{
    return (n + 7) & ~(size_t)7;
}

// Appends an entry; returns its offset.
static inline size_t build_add(struct build *build, const struct build_entry *entry)
{
    size_t at = build->size;
    size_t header = 64;
    size_t ident = 0, options = 0;
    if (entry->ident) {
        ident = header;
        header += build_align(strlen(entry->ident) + 1);
    }
    if (entry->options) {
        options = header;
        header += 8 + build_align(strlen(entry->options) + 1);
    }
    header += entry->extra_header;
    size_t padded = build_align(entry->payload_size);
    build_put(build, at, entry->kind, 2);
    build_put(build, at + 2, 0x0101, 2);
    build_put(build, at + 4, header, 4);
    build_put(build, at + 8, padded, 8);
    build_put(build, at + 16, entry->text_size ? entry->payload_size : 0, 4);
    build_put(build, at + 26, 9, 2);
    build_put(build, at + 28, entry->arch, 4);
    build_put(build, at + 40, 0x11 | entry->flags, 8);
    build_put(build, at + 56, entry->text_size, 8);
    if (ident) {
        build_put(build, at + 32, ident, 4);
        build_put(build, at + 36, strlen(entry->ident), 4);
        memcpy(build->bytes + at + ident, entry->ident, strlen(entry->ident));
    }
    if (options) {
        build_put(build, at + 20, options, 4);
        build_put(build, at + options, options + 8, 4);
        build_put(build, at + options + 4, strlen(entry->options), 4);
        memcpy(build->bytes + at + options + 8, entry->options, strlen(entry->options));
    }
    memcpy(build->bytes + at + header, entry->payload, entry->payload_size);
    build->size = at + header + padded;
    build_put(build, 8, build->size - 16, 8);
    return at;
}
