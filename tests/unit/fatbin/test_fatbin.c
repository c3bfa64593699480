// SPDX-License-Identifier: Apache-2.0
//
// The reader of fat binaries on ones made here, whole and damaged. Damaged ones lie in a heap block
// of exactly their size, so that a build with AddressSanitizer sees every step too far.
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <lz4.h>
#include <zstd.h>
#include <stdio.h>
#include <stdlib.h>

#include "build_fatbin.h"
#include "shim/fatbin/fatbin.h"

TestSuite(fatbin, .timeout = 20);

static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n"
                           ".visible .entry first(){ret;}\n.visible .entry second(){ret;}\n";

static struct build image;

static struct irt_fatbin open_image(void)
{
    struct irt_fatbin fatbin;
    cr_assert(eq(int, irt_fatbin_open(image.bytes, image.size, &fatbin, NULL), IRT_FATBIN_OK));
    return fatbin;
}

static void expect_text(const struct irt_fatbin_entry *entry, const char *expected)
{
    char *got;
    size_t size;
    cr_assert(eq(int, irt_fatbin_text(entry, &got, &size), IRT_FATBIN_OK));
    cr_assert(eq(str, got, (char *)(uintptr_t)expected));
    cr_assert(eq(sz, size, strlen(expected)));
    free(got);
}

Test(fatbin, empty_one_is_legal)
{
    build_begin(&image);
    struct irt_fatbin fatbin = open_image();
    struct irt_fatbin_entry entry;
    cr_assert(eq(int, irt_fatbin_next(&fatbin, &entry), IRT_FATBIN_END));
    cr_assert(eq(int, irt_fatbin_choose(&fatbin, 80, &entry), IRT_FATBIN_NO_PTX));
    char said[32];
    irt_fatbin_describe(&fatbin, said, sizeof(said));
    cr_assert(eq(str, said, (char *)"nothing"));
    cr_assert(eq(int, irt_fatbin_open_registered(NULL, &fatbin), IRT_FATBIN_OK));
    cr_assert(eq(int, irt_fatbin_next(&fatbin, &entry), IRT_FATBIN_END));
}

Test(fatbin, plain_text_with_and_without_nul)
{
    // 16 bytes fill their padding exactly and have no NUL.
    static const char *const texts[] = {"0123456789abcdef", "\n\n.version 1.0", ""};
    for (size_t i = 0; i < 3; i++) {
        build_begin(&image);
        build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_PTX,
                                                .arch = 75,
                                                .payload = texts[i],
                                                .payload_size = strlen(texts[i])});
        struct irt_fatbin fatbin = open_image();
        struct irt_fatbin_entry entry;
        cr_assert(eq(int, irt_fatbin_choose(&fatbin, 80, &entry), IRT_FATBIN_OK));
        cr_assert(eq(uint, entry.version_major, 9));
        expect_text(&entry, texts[i]);
    }
}

Test(fatbin, compressed_texts)
{
    char packed[2][512];
    int lz4 = LZ4_compress_default(text, packed[0], sizeof(text), sizeof(packed[0]));
    size_t zstd = ZSTD_compress(packed[1], sizeof(packed[1]), text, sizeof(text), 3);
    cr_assert(lz4 > 0 && !ZSTD_isError(zstd));
    build_begin(&image);
    build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_PTX,
                                            .arch = 75,
                                            .flags = IRT_FATBIN_FLAG_LZ4,
                                            .payload = packed[0],
                                            .payload_size = (size_t)lz4,
                                            .text_size = sizeof(text)});
    build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_PTX,
                                            .arch = 80,
                                            .flags = IRT_FATBIN_FLAG_ZSTD,
                                            .payload = packed[1],
                                            .payload_size = zstd,
                                            .text_size = sizeof(text)});
    struct irt_fatbin fatbin = open_image();
    struct irt_fatbin_entry entry;
    for (int i = 0; i < 2; i++) {
        cr_assert(eq(int, irt_fatbin_next(&fatbin, &entry), IRT_FATBIN_OK));
        expect_text(&entry, text);
    }
}

Test(fatbin, large_compressed_text_with_a_window)
{
    size_t size = 3 << 20;
    char *large = malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        large[i] = "add.s32 %r1, %r2;\n"[(i * 7 + (i >> 9)) % 18];
    }
    large[size] = '\0';
    size_t room = ZSTD_compressBound(size);
    char *packed = malloc(room);
    size_t stored = ZSTD_compress(packed, room, large, size + 1, 1);
    cr_assert(stored < BUILD_MAX - 128);
    build_begin(&image);
    build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_PTX,
                                            .arch = 80,
                                            .flags = IRT_FATBIN_FLAG_ZSTD,
                                            .payload = packed,
                                            .payload_size = stored,
                                            .text_size = size + 1});
    struct irt_fatbin fatbin = open_image();
    struct irt_fatbin_entry entry;
    cr_assert(eq(int, irt_fatbin_next(&fatbin, &entry), IRT_FATBIN_OK));
    char *got;
    size_t length;
    cr_assert(eq(int, irt_fatbin_text(&entry, &got, &length), IRT_FATBIN_OK));
    cr_assert(eq(sz, length, size));
    cr_assert(memcmp(got, large, size) == 0);
    free(got);
    free(packed);
    free(large);
}

Test(fatbin, headers_of_any_size_and_unknown_kinds)
{
    build_begin(&image);
    build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_CUBIN,
                                            .arch = 90,
                                            .payload = "elf",
                                            .payload_size = 3,
                                            .extra_header = 24});
    build_add(&image,
              &(struct build_entry){
                  .kind = 77, .arch = 99, .payload = "?", .payload_size = 1, .extra_header = 4096});
    build_add(&image,
              &(struct build_entry){
                  .kind = IRT_FATBIN_LTO_IR, .arch = 80, .payload = "x", .payload_size = 1});
    build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_PTX,
                                            .arch = 80,
                                            .payload = text,
                                            .payload_size = sizeof(text),
                                            .ident = "file.cu",
                                            .options = " -g --dont-merge-basicblocks "});
    struct irt_fatbin fatbin = open_image();
    struct irt_fatbin_entry entry;
    cr_assert(eq(int, irt_fatbin_choose(&fatbin, 0, &entry), IRT_FATBIN_OK));
    expect_text(&entry, text);
    cr_assert(eq(sz, entry.ident_size, 7));
    cr_assert(memcmp(entry.ident, "file.cu", 7) == 0);
    cr_assert(eq(sz, entry.options_size, 29));
    cr_assert(memcmp(entry.options, " -g --dont-merge-basicblocks ", 29) == 0);
    char said[128];
    irt_fatbin_describe(&fatbin, said, sizeof(said));
    cr_assert(
        eq(str, said, (char *)"machine code for sm_90; PTX for compute_80; LTO code for lto_80"));
    char cut[12];
    size_t whole = irt_fatbin_describe(&fatbin, cut, sizeof(cut));
    cr_assert(eq(sz, whole, strlen(said)));
    cr_assert(eq(str, cut, (char *)"machine cod"));
    cr_assert(eq(sz, irt_fatbin_describe(&fatbin, NULL, 0), strlen(said)));
}

Test(fatbin, choice_among_several)
{
    static const struct {
        const char *inside, *said; // "80 90a": PTX entries; what is taken
        unsigned arch;
    } rows[] = {
        {"75", "75", 80},     {"75 80 90", "80", 80}, {"75 80 90", "90", 0},
        {"90 75", "75", 80},  {"120 90", "90", 80},   {"90a 90", "90", 80},
        {"90 90a", "90", 90}, {"90a", "90a", 80},     {"100f 90a", "90a", 90},
        {"80a 90", "90", 80}, {"75 80", "80", 121},   {"100f 103a", "103a", 0},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        build_begin(&image);
        for (const char *p = rows[i].inside; *p;) {
            char *end;
            uint32_t arch = (uint32_t)strtoul(p, &end, 10);
            uint64_t flags = *end == 'a'   ? IRT_FATBIN_FLAG_ARCH_A
                             : *end == 'f' ? IRT_FATBIN_FLAG_ARCH_F
                                           : 0;
            build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_PTX,
                                                    .arch = arch,
                                                    .flags = flags,
                                                    .payload = text,
                                                    .payload_size = sizeof(text)});
            p = end + (flags != 0);
            p += *p == ' ';
        }
        struct irt_fatbin fatbin = open_image();
        struct irt_fatbin_entry entry;
        cr_assert(eq(int, irt_fatbin_choose(&fatbin, rows[i].arch, &entry), IRT_FATBIN_OK));
        char got[16];
        snprintf(got, sizeof(got), "%u%.*s", entry.arch, entry.variant != 0, &entry.variant);
        cr_expect(eq(str, got, (char *)(uintptr_t)rows[i].said), "from %s for %u", rows[i].inside,
                  rows[i].arch);
    }
}

Test(fatbin, lies_in_the_header)
{
    struct irt_fatbin fatbin;
    size_t total;
    build_begin(&image);
    build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_PTX,
                                            .arch = 80,
                                            .payload = text,
                                            .payload_size = sizeof(text)});
    cr_assert(eq(int, irt_fatbin_open(image.bytes, image.size, &fatbin, &total), IRT_FATBIN_OK));
    cr_assert(eq(sz, total, image.size));
    cr_assert(
        eq(int, irt_fatbin_open(image.bytes, image.size - 1, &fatbin, NULL), IRT_FATBIN_MALFORMED));
    cr_assert(eq(int, irt_fatbin_open(NULL, 100, &fatbin, NULL), IRT_FATBIN_MALFORMED));
    static const struct {
        size_t at;
        uint64_t value;
        size_t size;
    } lies[] = {
        {0, 0xBA55ED51, 4}, {6, 15, 2}, {6, 0xffff, 2}, {8, UINT64_MAX, 8}, {8, UINT64_MAX - 15, 8},
    };
    for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
        struct build copy = image;
        build_put(&copy, lies[i].at, lies[i].value, lies[i].size);
        cr_expect(
            eq(int, irt_fatbin_open(copy.bytes, copy.size, &fatbin, NULL), IRT_FATBIN_MALFORMED),
            "lie %zu", i);
    }
}

Test(fatbin, lies_in_an_entry)
{
    static const struct {
        size_t at; // in the entry
        uint64_t value;
        size_t size;
        enum irt_fatbin_result next, unpacked;
    } lies[] = {
        {4, 0, 4, IRT_FATBIN_MALFORMED, 0},
        {4, 63, 4, IRT_FATBIN_MALFORMED, 0},
        {4, 0xffffffff, 4, IRT_FATBIN_MALFORMED, 0},
        {8, UINT64_MAX, 8, IRT_FATBIN_MALFORMED, 0},
        {8, UINT64_MAX - 63, 8, IRT_FATBIN_MALFORMED, 0},
        {16, 0xffffffff, 4, IRT_FATBIN_MALFORMED, 0},
        {20, 0xffffffff, 4, IRT_FATBIN_OK, IRT_FATBIN_OK}, // options
        {20, 60, 4, IRT_FATBIN_OK, IRT_FATBIN_OK},
        {32, 0xfffffff0, 4, IRT_FATBIN_OK, IRT_FATBIN_OK}, // ident
        {36, 0xffffffff, 4, IRT_FATBIN_OK, IRT_FATBIN_OK},
        {56, UINT64_MAX, 8, IRT_FATBIN_OK, IRT_FATBIN_TOO_LARGE},
        {56, (uint64_t)IRT_FATBIN_TEXT_MAX + 1, 8, IRT_FATBIN_OK, IRT_FATBIN_TOO_LARGE},
        {56, 1 << 28, 8, IRT_FATBIN_OK, IRT_FATBIN_CORRUPT}, // a bomb that is none
        {56, 1, 8, IRT_FATBIN_OK, IRT_FATBIN_CORRUPT},
        {40, 0x18011, 8, IRT_FATBIN_OK, IRT_FATBIN_CORRUPT}, // scrambled
    };
    char packed[2][512];
    int lz4 = LZ4_compress_default(text, packed[0], sizeof(text), sizeof(packed[0]));
    size_t zstd = ZSTD_compress(packed[1], sizeof(packed[1]), text, sizeof(text), 3);
    for (int form = 0; form < 2; form++) {
        build_begin(&image);
        size_t at =
            build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_PTX,
                                                    .arch = 80,
                                                    .flags = form ? IRT_FATBIN_FLAG_ZSTD
                                                                  : IRT_FATBIN_FLAG_LZ4,
                                                    .payload = packed[form],
                                                    .payload_size = form ? zstd : (size_t)lz4,
                                                    .text_size = sizeof(text),
                                                    .ident = "file.cu",
                                                    .options = "-x"});
        for (size_t i = 0; i < sizeof(lies) / sizeof(lies[0]); i++) {
            struct build copy = image;
            build_put(&copy, at + lies[i].at, lies[i].value, lies[i].size);
            unsigned char *exact = malloc(copy.size);
            memcpy(exact, copy.bytes, copy.size);
            struct irt_fatbin fatbin;
            struct irt_fatbin_entry entry;
            cr_assert(eq(int, irt_fatbin_open(exact, copy.size, &fatbin, NULL), IRT_FATBIN_OK));
            enum irt_fatbin_result next = irt_fatbin_next(&fatbin, &entry);
            cr_expect(eq(int, next, lies[i].next), "form %d, lie %zu", form, i);
            if (next == IRT_FATBIN_OK) {
                char *got = NULL;
                size_t size;
                enum irt_fatbin_result unpacked = irt_fatbin_text(&entry, &got, &size);
                cr_expect(eq(int, unpacked, lies[i].unpacked), "form %d, lie %zu", form, i);
                free(got);
            } else {
                cr_expect(eq(int, irt_fatbin_next(&fatbin, &entry), IRT_FATBIN_END));
            }
            free(exact);
        }
    }
}

// Every truncation of a fat binary, with the size field as it was and with one that fits.
Test(fatbin, truncation_at_every_byte)
{
    char packed[512];
    size_t zstd = ZSTD_compress(packed, sizeof(packed), text, sizeof(text), 3);
    build_begin(&image);
    build_add(&image,
              &(struct build_entry){
                  .kind = IRT_FATBIN_CUBIN, .arch = 80, .payload = "elf", .payload_size = 3});
    build_add(&image, &(struct build_entry){.kind = IRT_FATBIN_PTX,
                                            .arch = 80,
                                            .flags = IRT_FATBIN_FLAG_ZSTD,
                                            .payload = packed,
                                            .payload_size = zstd,
                                            .text_size = sizeof(text),
                                            .ident = "i",
                                            .options = "o"});
    for (size_t size = 0; size < image.size; size++) {
        unsigned char *exact = malloc(size ? size : 1);
        memcpy(exact, image.bytes, size);
        struct irt_fatbin fatbin;
        struct irt_fatbin_entry entry;
        cr_assert(eq(int, irt_fatbin_open(exact, size, &fatbin, NULL), IRT_FATBIN_MALFORMED));
        if (size >= 16) {
            uint64_t body = size - 16;
            memcpy(exact + 8, &body, 8);
            cr_assert(eq(int, irt_fatbin_open(exact, size, &fatbin, NULL), IRT_FATBIN_OK));
            cr_assert(ne(int, irt_fatbin_choose(&fatbin, 80, &entry), IRT_FATBIN_OK));
        }
        free(exact);
    }
}
