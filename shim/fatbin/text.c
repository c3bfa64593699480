// SPDX-License-Identifier: Apache-2.0
//
// Unpacks the text of one PTX entry with liblz4 and libzstd. What the entry claims is compared with
// what the compressed data can hold before memory is taken, so that a small lie costs nothing.
#include "fatbin.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <lz4.h>
#include <zstd.h>

// An LZ4 block cannot expand to more than 255 bytes for each byte of input.
enum { LZ4_RATIO_MAX = 255 };

static enum irt_fatbin_result unpack_lz4(const struct irt_fatbin_entry *entry, char *text)
{
    if (entry->payload_size > INT_MAX || entry->text_size > INT_MAX) {
        return IRT_FATBIN_TOO_LARGE;
    }
    int n = LZ4_decompress_safe((const char *)entry->payload, text, (int)entry->payload_size,
                                (int)entry->text_size);
    return n >= 0 && (size_t)n == entry->text_size ? IRT_FATBIN_OK : IRT_FATBIN_CORRUPT;
}

static enum irt_fatbin_result unpack_zstd(const struct irt_fatbin_entry *entry, char *text)
{
    size_t n = ZSTD_decompress(text, entry->text_size, entry->payload, entry->payload_size);
    return !ZSTD_isError(n) && n == entry->text_size ? IRT_FATBIN_OK : IRT_FATBIN_CORRUPT;
}

// Could the stored bytes decode to entry->text_size at all?
static bool claim_is_possible(const struct irt_fatbin_entry *entry)
{
    if (entry->flags & IRT_FATBIN_FLAG_ZSTD) {
        return ZSTD_getFrameContentSize(entry->payload, entry->payload_size) == entry->text_size;
    }
    return entry->text_size / LZ4_RATIO_MAX <= entry->payload_size;
}

enum irt_fatbin_result irt_fatbin_unpack(const struct irt_fatbin_entry *entry, char **ret_bytes,
                                         size_t *ret_size)
{
    bool packed = (entry->flags & (IRT_FATBIN_FLAG_LZ4 | IRT_FATBIN_FLAG_ZSTD)) != 0;
    if (entry->flags & IRT_FATBIN_FLAG_SCRAMBLED) {
        return IRT_FATBIN_CORRUPT;
    }
    size_t size = packed ? entry->text_size : entry->payload_size;
    if (size > IRT_FATBIN_TEXT_MAX) {
        return IRT_FATBIN_TOO_LARGE;
    }
    if (packed && !claim_is_possible(entry)) {
        return IRT_FATBIN_CORRUPT;
    }
    if (!packed && entry->kind == IRT_FATBIN_PTX) {
        const void *nul = memchr(entry->payload, '\0', size);
        size = nul ? (size_t)((const unsigned char *)nul - entry->payload) : size;
    }
    char *bytes = malloc(size + 1);
    if (!bytes) {
        return IRT_FATBIN_NO_MEMORY;
    }
    enum irt_fatbin_result result = IRT_FATBIN_OK;
    if (!packed) {
        memcpy(bytes, entry->payload, size);
    } else if (entry->flags & IRT_FATBIN_FLAG_ZSTD) {
        result = unpack_zstd(entry, bytes);
    } else {
        result = unpack_lz4(entry, bytes);
    }
    if (result != IRT_FATBIN_OK) {
        free(bytes);
        return result;
    }
    bytes[size] = '\0';
    *ret_bytes = bytes;
    *ret_size = size;
    return IRT_FATBIN_OK;
}

enum irt_fatbin_result irt_fatbin_text(const struct irt_fatbin_entry *entry, char **ret_text,
                                       size_t *ret_size)
{
    if (entry->kind != IRT_FATBIN_PTX) {
        return IRT_FATBIN_NO_PTX;
    }
    enum irt_fatbin_result result = irt_fatbin_unpack(entry, ret_text, ret_size);
    if (result == IRT_FATBIN_OK) {
        *ret_size = strlen(*ret_text);
    }
    return result;
}
