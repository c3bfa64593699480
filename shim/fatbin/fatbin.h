// SPDX-License-Identifier: Apache-2.0
//
// Reader of NVIDIA fat binaries: walks the entries, tells what each holds, unpacks PTX text and
// chooses among several. A pure reader: no globals, no locks, no logging, no CUDA calls; every read
// is bounded by the buffer that the caller gives and nothing inside it is trusted. Callers:
// shim/core/module.c (registered wrappers) and `infinirt doctor` (the sections of a file).
// Layout: facts/fatbin.md; the format has no public specification.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What a step of the reader found. IRT_FATBIN_END ends a walk and is no error.
enum irt_fatbin_result {
    IRT_FATBIN_OK,
    IRT_FATBIN_END,       // no further entry
    IRT_FATBIN_MALFORMED, // wrong magic, or a size or offset points outside its container
    IRT_FATBIN_CORRUPT,   // compressed text does not decode to the length it claims
    IRT_FATBIN_TOO_LARGE, // text longer than IRT_FATBIN_TEXT_MAX
    IRT_FATBIN_NO_MEMORY,
    IRT_FATBIN_NO_PTX, // well formed, but without a PTX entry
};

enum irt_fatbin_kind {
    IRT_FATBIN_PTX = 1,
    IRT_FATBIN_CUBIN = 2, // machine code (ELF)
    IRT_FATBIN_LTO_IR = 8,
};

// Bits of irt_fatbin_entry.flags that the reader looks at; all others are reported unchanged.
#define IRT_FATBIN_FLAG_LZ4 UINT64_C(0x2000)
#define IRT_FATBIN_FLAG_ZSTD UINT64_C(0x8000)
#define IRT_FATBIN_FLAG_SCRAMBLED UINT64_C(0x10000)
#define IRT_FATBIN_FLAG_ARCH_A UINT64_C(0x100000)
#define IRT_FATBIN_FLAG_ARCH_F UINT64_C(0x200000)

#define IRT_FATBIN_MAGIC UINT32_C(0xBA55ED50)
#define IRT_FATBIN_WRAPPER_MAGIC UINT32_C(0x466243B1)

// A text above this is refused before anything is allocated. The largest seen is 24 MB.
#define IRT_FATBIN_TEXT_MAX ((size_t)512 << 20)

// What __cudaRegisterFatBinary is given.
struct irt_fatbin_wrapper {
    uint32_t magic;            // IRT_FATBIN_WRAPPER_MAGIC
    uint32_t version;          // 1; 2 = -rdc device link
    const void *data;          // the fat binary; of version 2 the linked machine code, or empty
    const void *const *linked; // version 2: NULL-terminated, one fat binary per translation unit
};

// A walk over one fat binary. Plain data, to be copied freely; owns nothing.
struct irt_fatbin {
    const unsigned char *next, *end; // not yet visited entries
};

// One entry. The pointers point into the buffer, the strings are not NUL-terminated.
struct irt_fatbin_entry {
    unsigned kind;                         // enum irt_fatbin_kind or a number not known here
    unsigned arch;                         // 80 for sm_80 or compute_80
    char variant;                          // 'a', 'f' or 0: the letter after the number
    unsigned version_major, version_minor; // PTX: version of the instruction set
    uint64_t flags;
    const unsigned char *payload;
    size_t payload_size; // stored bytes: compressed size, or with padding when plain
    size_t text_size;    // claimed size when compressed (includes a NUL), else 0
    const char *ident;   // source file name (-lineinfo, -G), or NULL
    size_t ident_size;
    const char *options; // ptxas command line of a PTX entry, or NULL
    size_t options_size;
};

// Starts a walk over the fat binary at the beginning of [data, data + size). ret_total (may be
// NULL) gets its length with header, so that a section of several can be stepped through (they are
// 8-aligned). An empty fat binary is legal. Errors: IRT_FATBIN_MALFORMED.
enum irt_fatbin_result irt_fatbin_open(const void *data, size_t size, struct irt_fatbin *ret_fatbin,
                                       size_t *ret_total);

// The same for a fat binary in memory whose end is not known otherwise: believes its size field.
// Only for what a program registered itself. NULL is an empty fat binary.
enum irt_fatbin_result irt_fatbin_open_registered(const void *data, struct irt_fatbin *ret_fatbin);

// The next entry, of any kind. IRT_FATBIN_END after the last; IRT_FATBIN_MALFORMED ends it too.
enum irt_fatbin_result irt_fatbin_next(struct irt_fatbin *fatbin,
                                       struct irt_fatbin_entry *ret_entry);

// The PTX entry for a device of compute capability `arch` (80 for 8.0; 0: the highest). Order of
// preference: plain texts up to arch, highest first; plain texts above, lowest first; then the `a`
// and `f` variants in the same order. Does not advance `fatbin`. IRT_FATBIN_NO_PTX when there is
// none; IRT_FATBIN_MALFORMED only when nothing usable precedes the damage.
enum irt_fatbin_result irt_fatbin_choose(const struct irt_fatbin *fatbin, unsigned arch,
                                         struct irt_fatbin_entry *ret_entry);

// The contents of an entry of any kind, unpacked: malloc'd, NUL-terminated (size excludes the NUL).
// IRT_FATBIN_CORRUPT, _TOO_LARGE, _NO_MEMORY.
enum irt_fatbin_result irt_fatbin_unpack(const struct irt_fatbin_entry *entry, char **ret_bytes,
                                         size_t *ret_size);

// Unpacks a PTX entry. ret_text is malloc'ed and NUL-terminated, ret_size excludes the NUL and
// whatever follows the first one.
enum irt_fatbin_result irt_fatbin_text(const struct irt_fatbin_entry *entry, char **ret_text,
                                       size_t *ret_size);

// Writes what is inside into [text, text + size), as snprintf does: "machine code for sm_75, sm_80;
// PTX for compute_80". "nothing" for an empty one. Returns the untruncated length.
size_t irt_fatbin_describe(const struct irt_fatbin *fatbin, char *text, size_t size);

// English, static: "well formed", "malformed", …
const char *irt_fatbin_result_text(enum irt_fatbin_result result);
