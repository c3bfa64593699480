// SPDX-License-Identifier: Apache-2.0
//
// The reader on what nvcc writes: Meson compiles two_kernels.cu with the options of each row
// (meson.build) into a folder that FATBIN_DIR names.
#include <criterion/criterion.h>
#include <criterion/new/assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/fatbin/fatbin.h"

TestSuite(nvcc, .timeout = 20);

static unsigned char *read_file(const char *name, size_t *ret_size)
{
    char path[4096];
    snprintf(path, sizeof(path), "%s/%s.fatbin", getenv("FATBIN_DIR"), name);
    FILE *file = fopen(path, "rb");
    cr_assert(file != NULL, "%s", path);
    fseek(file, 0, SEEK_END);
    *ret_size = (size_t)ftell(file);
    rewind(file);
    unsigned char *data = malloc(*ret_size);
    cr_assert(eq(sz, fread(data, 1, *ret_size, file), *ret_size));
    fclose(file);
    return data;
}

Test(nvcc, every_way_to_embed)
{
    static const struct {
        const char *name, *inside, *target; // target: of the PTX for a device of 8.0
    } rows[] = {
        {"default", "machine code for sm_75; PTX for compute_75", ".target sm_75"},
        {"both", "machine code for sm_80; PTX for compute_80", ".target sm_80"},
        {"speed", "machine code for sm_80; PTX for compute_80", ".target sm_80"},
        {"plain", "machine code for sm_80; PTX for compute_80", ".target sm_80"},
        {"debug", "machine code for sm_80; PTX for compute_80", ".target sm_80"},
        {"lines", "machine code for sm_80; PTX for compute_80", ".target sm_80"},
        {"several", "machine code for sm_75, sm_80; PTX for compute_80, compute_90",
         ".target sm_80"},
        {"variant", "machine code for sm_90a; PTX for compute_90, compute_90a", ".target sm_90\n"},
        {"machine", "machine code for sm_80", NULL},
        {"relocatable", "machine code for sm_80; PTX for compute_80", ".target sm_80"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t size;
        unsigned char *data = read_file(rows[i].name, &size);
        struct irt_fatbin fatbin;
        struct irt_fatbin_entry entry;
        char said[256];
        cr_assert(eq(int, irt_fatbin_open(data, size, &fatbin, NULL), IRT_FATBIN_OK));
        irt_fatbin_describe(&fatbin, said, sizeof(said));
        cr_expect(eq(str, said, (char *)(uintptr_t)rows[i].inside), "%s", rows[i].name);
        enum irt_fatbin_result found = irt_fatbin_choose(&fatbin, 80, &entry);
        if (!rows[i].target) {
            cr_expect(eq(int, found, IRT_FATBIN_NO_PTX), "%s", rows[i].name);
        } else {
            char *text;
            size_t length;
            cr_assert(eq(int, irt_fatbin_text(&entry, &text, &length), IRT_FATBIN_OK));
            cr_expect(strstr(text, rows[i].target) != NULL, "%s", rows[i].name);
            cr_expect(strstr(text, ".entry first(") != NULL, "%s", rows[i].name);
            cr_expect(strstr(text, ".entry second(") != NULL, "%s", rows[i].name);
            cr_expect(eq(sz, strlen(text), length), "%s", rows[i].name);
            free(text);
        }
        free(data);
    }
}

// One source, three ways to store the text: the same text.
Test(nvcc, compression_does_not_matter)
{
    static const char *const names[] = {"both", "speed", "plain"};
    char *texts[3];
    for (size_t i = 0; i < 3; i++) {
        size_t size;
        unsigned char *data = read_file(names[i], &size);
        struct irt_fatbin fatbin;
        struct irt_fatbin_entry entry;
        cr_assert(eq(int, irt_fatbin_open(data, size, &fatbin, NULL), IRT_FATBIN_OK));
        cr_assert(eq(int, irt_fatbin_choose(&fatbin, 80, &entry), IRT_FATBIN_OK));
        static const uint64_t packed[] = {IRT_FATBIN_FLAG_ZSTD, IRT_FATBIN_FLAG_LZ4, 0};
        cr_expect(eq(u64, entry.flags & (IRT_FATBIN_FLAG_ZSTD | IRT_FATBIN_FLAG_LZ4), packed[i]),
                  "%s", names[i]);
        cr_assert(eq(int, irt_fatbin_text(&entry, &texts[i], &size), IRT_FATBIN_OK));
        free(data);
    }
    cr_expect(eq(str, texts[0], texts[1]));
    cr_expect(eq(str, texts[0], texts[2]));
    for (size_t i = 0; i < 3; i++) {
        free(texts[i]);
    }
}
