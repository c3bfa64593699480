// SPDX-License-Identifier: Apache-2.0
//
// Fuzzer of fat-binary intake. With clang's -fsanitize=fuzzer the entry LLVMFuzzerTestOneInput is
// driven by libFuzzer; compiled plainly it has its own main: deterministic mutations of seeds made
// here (and of files given as arguments) for a number of seconds, best under AddressSanitizer.
//     fuzz_fatbin [SECONDS [FILE…]]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <lz4.h>
#include <zstd.h>

#include "shim/fatbin/fatbin.h"
#include "tests/unit/fatbin/build_fatbin.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// Everything a caller does with a fat binary; reads each byte that the reader hands out.
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static volatile unsigned sum;
    struct irt_fatbin fatbin;
    size_t total;
    if (irt_fatbin_open(data, size, &fatbin, &total) != IRT_FATBIN_OK) {
        return 0;
    }
    if (total > size) {
        abort();
    }
    char said[64];
    irt_fatbin_describe(&fatbin, said, sizeof(said));
    struct irt_fatbin_entry entry;
    for (unsigned arch = 0; arch <= 160; arch += 80) {
        irt_fatbin_choose(&fatbin, arch, &entry);
    }
    while (irt_fatbin_next(&fatbin, &entry) == IRT_FATBIN_OK) {
        for (size_t i = 0; i < entry.payload_size; i++) {
            sum += entry.payload[i];
        }
        for (size_t i = 0; i < entry.ident_size; i++) {
            sum += (unsigned char)entry.ident[i];
        }
        for (size_t i = 0; i < entry.options_size; i++) {
            sum += (unsigned char)entry.options[i];
        }
        char *text;
        size_t length;
        if (irt_fatbin_text(&entry, &text, &length) == IRT_FATBIN_OK) {
            if (strlen(text) != length) {
                abort();
            }
            free(text);
        }
    }
    return 0;
}

#ifndef FUZZ_LIBFUZZER

static uint64_t random_state = 88172645463325252u;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

struct seed {
    unsigned char *bytes;
    size_t size;
};

static struct seed seeds[64];
static size_t seed_count;

static void add_seed(const void *bytes, size_t size)
{
    if (seed_count < sizeof(seeds) / sizeof(seeds[0])) {
        seeds[seed_count].bytes = malloc(size ? size : 1);
        memcpy(seeds[seed_count].bytes, bytes, size);
        seeds[seed_count++].size = size;
    }
}

static void make_seeds(void)
{
    static const char text[] = ".version 9.0\n.target sm_80\n.address_size 64\n"
                               ".visible .entry k(.param .u64 p){ret;}\n";
    static struct build image;
    char packed[2][256];
    int lz4 = LZ4_compress_default(text, packed[0], sizeof(text), sizeof(packed[0]));
    size_t zstd = ZSTD_compress(packed[1], sizeof(packed[1]), text, sizeof(text), 3);
    const struct build_entry entries[] = {
        {.kind = IRT_FATBIN_CUBIN, .arch = 80, .payload = "elf", .payload_size = 3},
        {.kind = IRT_FATBIN_PTX, .arch = 80, .payload = text, .payload_size = sizeof(text)},
        {.kind = IRT_FATBIN_PTX,
         .arch = 75,
         .flags = IRT_FATBIN_FLAG_LZ4,
         .payload = packed[0],
         .payload_size = (size_t)lz4,
         .text_size = sizeof(text)},
        {.kind = IRT_FATBIN_PTX,
         .arch = 90,
         .flags = IRT_FATBIN_FLAG_ZSTD,
         .payload = packed[1],
         .payload_size = zstd,
         .text_size = sizeof(text),
         .ident = "a.cu",
         .options = "-g"},
    };
    const size_t count = sizeof(entries) / sizeof(entries[0]);
    build_begin(&image);
    add_seed(image.bytes, image.size);
    for (size_t i = 0; i < count; i++) {
        build_begin(&image);
        build_add(&image, &entries[i]);
        add_seed(image.bytes, image.size);
    }
    build_begin(&image);
    for (size_t i = 0; i < count; i++) {
        build_add(&image, &entries[i]);
    }
    add_seed(image.bytes, image.size);
}

static int add_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        return -1;
    }
    static unsigned char bytes[1 << 20];
    add_seed(bytes, fread(bytes, 1, sizeof(bytes), file));
    fclose(file);
    return 0;
}

// One change: a bit, a byte, a field of 2, 4 or 8 bytes with a value at an edge, or a moved run.
static void mutate(unsigned char *bytes, size_t size)
{
    static const uint64_t edges[] = {
        0,       1,          7,          8,      16,         63,         64,
        65,      0x7fffffff, 0x80000000, 0xffff, 0xfffffff8, UINT64_MAX, UINT64_MAX - 7,
        1u << 29};
    uint64_t pick = next_random();
    size_t at = (size_t)(next_random() % size);
    size_t width = (size_t)1 << (pick >> 8 & 3);
    if (width > size - at) {
        width = 1;
    }
    uint64_t value = next_random();
    switch (pick % 5) {
    case 0:
        bytes[at] ^= (unsigned char)(1u << (value & 7));
        break;
    case 1:
        bytes[at] = (unsigned char)value;
        break;
    case 2:
        value = edges[value % (sizeof(edges) / sizeof(edges[0]))];
        memcpy(bytes + at, &value, width);
        break;
    case 3:
        value = size - at + value % 17 - 8; // lengths around the true end
        memcpy(bytes + at, &value, width);
        break;
    default:
        memmove(bytes + at, bytes + (size_t)(value % (size - width + 1)), width);
        break;
    }
}

int main(int argc, char **argv)
{
    long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    make_seeds();
    for (int i = 2; i < argc; i++) {
        if (add_file(argv[i])) {
            return 1;
        }
    }
    for (size_t i = 0; i < seed_count; i++) {
        LLVMFuzzerTestOneInput(seeds[i].bytes, seeds[i].size);
    }
    time_t end = time(NULL) + seconds;
    unsigned long runs = 0;
    do {
        for (int i = 0; i < 1000; i++, runs++) {
            const struct seed *seed = &seeds[next_random() % seed_count];
            size_t size = seed->size;
            if (size && next_random() % 4 == 0) {
                size -= (size_t)(next_random() % size);
            }
            unsigned char *copy = malloc(size ? size : 1); // exact: overruns are seen
            memcpy(copy, seed->bytes, size);
            for (uint64_t n = next_random() % 6; size && n > 0; n--) {
                mutate(copy, size);
            }
            if (size >= 16 && next_random() % 2) {
                uint64_t body = size - 16; // let the size field fit, to get behind the first check
                memcpy(copy + 8, &body, sizeof(body));
            }
            LLVMFuzzerTestOneInput(copy, size);
            free(copy);
        }
    } while (time(NULL) < end);
    printf("%lu inputs from %zu seeds\n", runs, seed_count);
    return 0;
}

#endif
