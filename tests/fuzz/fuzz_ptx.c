// SPDX-License-Identifier: Apache-2.0
//
// Fuzzer of the PTX front end: any text is answered without a crash, and what is accepted prints as
// PTX that is accepted again and prints the same. With clang's -fsanitize=fuzzer libFuzzer drives
// LLVMFuzzerTestOneInput; compiled plainly it has its own main: deterministic mutations of the
// sample module, of the corpus forms and of files, best under AddressSanitizer.
//     fuzz_ptx [SECONDS [FILE…]]
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx.h"
#include "tests/unit/ptx/corpus_forms.h"
#include "tests/unit/ptx/sample.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

// A few bytes of text can stand for a table of a terabyte, which is no fault but cannot be printed.
static bool printable(const struct ptx_module *module)
{
    for (const struct ptx_variable *at = module->variables; at != NULL; at = at->next) {
        if (at->init_count > 0 && at->size > 1 << 16) {
            return false;
        }
    }
    return true;
}

static char *print_text(const struct ptx_module *module, size_t *ret_size)
{
    char *text = NULL;
    FILE *file = open_memstream(&text, ret_size);
    if (file == NULL) {
        abort();
    }
    ptx_print(file, module);
    fclose(file);
    return text;
}

static void check_print(const struct ptx_module *module)
{
    struct ptx_module *again;
    struct ptx_diagnostics diagnostics;
    size_t size, size_again;
    char *text = print_text(module, &size);
    if (ptx_parse(text, size, "printed", &again, &diagnostics) != 0) {
        fprintf(stderr, "%s\nline %u: %s\n", text, diagnostics.items[0].line,
                diagnostics.items[0].message);
        abort();
    }
    char *text_again = print_text(again, &size_again);
    if (size != size_again || memcmp(text, text_again, size) != 0) {
        fprintf(stderr, "%s\n----\n%s\n", text, text_again);
        abort();
    }
    free(text_again);
    free(text);
    ptx_module_destroy(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptx_module *module = NULL;
    struct ptx_diagnostics diagnostics;
    char *text = malloc(size + 1); // exact: reads behind the end are seen
    if (text == NULL) {
        return 0;
    }
    memcpy(text, data, size);
    text[size] = '\0';
    int r = ptx_parse(text, size, "fuzz", &module, &diagnostics);
    if ((r == 0) != (diagnostics.total == 0) || (r == 0) != (module != NULL)) {
        abort();
    }
    if (r == 0 && printable(module)) {
        check_print(module);
    }
    ptx_module_destroy(module);
    free(text);
    return 0;
}

#ifndef FUZZ_LIBFUZZER

enum { MAX_SEEDS = 2000, MAX_SIZE = 1 << 16 };

static struct {
    char *text;
    size_t size;
} seeds[MAX_SEEDS];
static size_t seed_count;
static uint64_t state = 88172645463325252u;

static uint64_t next_random(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void add_seed(const char *text, size_t size)
{
    if (seed_count < MAX_SEEDS && size > 0) {
        char *copy = malloc(size + 1);
        memcpy(copy, text, size);
        copy[size] = '\0';
        seeds[seed_count].text = copy;
        seeds[seed_count++].size = size < MAX_SIZE ? size : MAX_SIZE;
    }
}

static void make_seeds(void)
{
    for (unsigned i = 0; i < 20; i++) { // most of the time
        add_seed(sample, strlen(sample));
    }
    for (size_t i = 0; i < sizeof(corpus_forms) / sizeof(corpus_forms[0]); i += 20) {
        char text[4096];
        int size =
            snprintf(text, sizeof(text),
                     ".version 8.0\n.target sm_80\n.address_size 64\n.entry k(.param .u64 p0)"
                     "{\n.reg .pred %%p<4>; .reg .b16 %%rs<40>; .reg .b32 %%r<40>; "
                     ".reg .b64 %%rd<40>;\n");
        for (size_t j = i; j < i + 20 && j < sizeof(corpus_forms) / sizeof(corpus_forms[0]); j++) {
            if (strncmp(corpus_forms[j], "call", 4) != 0 && strlen(corpus_forms[j]) < 150) {
                size += snprintf(text + size, sizeof(text) - (size_t)size, "%s\n", corpus_forms[j]);
            }
        }
        size += snprintf(text + size, sizeof(text) - (size_t)size,
                         "done:\nst.param.b32 [pa], %%r1;\n}\n");
        add_seed(text, (size_t)size);
    }
}

static int add_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    char *text = malloc(MAX_SIZE);
    if (file == NULL) {
        perror(path);
        free(text);
        return 1;
    }
    add_seed(text, fread(text, 1, MAX_SIZE, file));
    fclose(file);
    free(text);
    return 0;
}

// A word of the language, with what stands before it.
static size_t random_word(char word[80])
{
    static const char *const others[] = {
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ";",
        ",",
        ":",
        "<",
        ">",
        "=",
        "+",
        "-",
        "|",
        "!",
        "@",
        "_",
        "%r",
        "%p1",
        "x",
        "0",
        "1",
        "0x7fffffffffffffff",
        "0f00000000",
        "4294967295",
        "1e9",
        "\n",
        "generic(",
        "0xFF(",
        ".reg .b32 ",
        ".global ",
        ".param ",
        ".entry ",
        ".func ",
        ".align 8",
        ".extern ",
        "L1:",
        ".loc 1 1 1",
        ".section .x {",
        "/*",
        "*/",
        "//",
        "\"",
        ".v4",
        "<<",
        "?",
        ".callprototype ",
        ".branchtargets ",
        ".calltargets ",
        ".alias ",
        ".pragma ",
        ".unified",
    };
    uint64_t pick = next_random();
    switch (pick % 8) {
    case 0:
        pick = PTX_OP_INVALID + 1 + next_random() % (PTX_OP_COUNT - 1);
        return (size_t)snprintf(word, 80, "%s", ptx_opcode_name((enum ptx_opcode)pick));
    case 1:
        pick = PTX_MOD_INVALID + 1 + next_random() % (PTX_MOD_COUNT - 1);
        return (size_t)snprintf(word, 80, ".%s", ptx_modifier_name((enum ptx_modifier)pick));
    case 2:
        return (size_t)snprintf(word, 80, ".%s",
                                ptx_type_name((enum ptx_type)(1 + next_random() % PTX_UE4M3)));
    case 3:
        pick = PTX_SREG_INVALID + 1 + next_random() % (PTX_SREG_COUNT - 1);
        return (size_t)snprintf(word, 80, "%%%s", ptx_sreg_name((enum ptx_sreg)pick));
    default:
        pick = next_random() % (sizeof(others) / sizeof(others[0]));
        return (size_t)snprintf(word, 80, "%s", others[pick]);
    }
}

// Replaces `cut` bytes at `at` by `size` bytes of `text`.
static void splice(char **bytes, size_t *count, size_t at, size_t cut, const char *text,
                   size_t size)
{
    size_t total = *count - cut + size;
    char *changed = malloc(total + 1);
    memcpy(changed, *bytes, at);
    memcpy(changed + at, text, size);
    memcpy(changed + at + size, *bytes + at + cut, *count - at - cut);
    free(*bytes);
    *bytes = changed;
    *count = total;
}

static size_t word_size(const char *bytes, size_t at, size_t count)
{
    size_t size = strcspn(bytes + at, " \t\n,;.()[]{}");
    return size == 0 ? (at < count) : at + size > count ? count - at : size;
}

static void mutate(char **bytes, size_t *count)
{
    char word[80], piece[200];
    size_t at = next_random() % (*count + 1);
    size_t here = word_size(*bytes, at, *count);
    size_t from, size;
    switch (next_random() % 7) {
    case 0: // a word in place of a word
        size = random_word(word);
        splice(bytes, count, at, here, word, size);
        break;
    case 1: // one more word
        size = random_word(word);
        splice(bytes, count, at, 0, word, size);
        break;
    case 2: // one word less
        splice(bytes, count, at, here, "", 0);
        break;
    case 3: // a word from elsewhere
        from = next_random() % (*count + 1);
        size = word_size(*bytes, from, *count);
        size = size < sizeof(piece) ? size : sizeof(piece);
        memcpy(piece, *bytes + from, size);
        splice(bytes, count, at, here, piece, size);
        break;
    case 4: // a piece of another seed
        from = next_random() % seed_count;
        size = next_random() % sizeof(piece);
        if (size < seeds[from].size) {
            size_t start = next_random() % (seeds[from].size - size);
            splice(bytes, count, at, 0, seeds[from].text + start, size);
        }
        break;
    case 5: // the rest is missing
        splice(bytes, count, at, (*count - at) / (1 + next_random() % 8), "", 0);
        break;
    default:
        word[0] = (char)next_random();
        splice(bytes, count, at, at < *count, word, 1);
        break;
    }
    (*bytes)[*count] = '\0';
}

int main(int argc, char **argv)
{
    long seconds = argc > 1 ? strtol(argv[1], NULL, 10) : 1;
    make_seeds();
    for (int i = 2; i < argc; i++) {
        if (add_file(argv[i]) != 0) {
            return 1;
        }
    }
    for (size_t i = 0; i < seed_count; i++) {
        LLVMFuzzerTestOneInput((const uint8_t *)seeds[i].text, seeds[i].size);
    }
    time_t end = time(NULL) + seconds;
    unsigned long runs = 0;
    do {
        for (int i = 0; i < 100; i++, runs++) {
            size_t pick = next_random() % seed_count, count = seeds[pick].size;
            char *bytes = malloc(count + 1);
            memcpy(bytes, seeds[pick].text, count);
            bytes[count] = '\0';
            for (uint64_t n = 1 + next_random() % 4; n > 0; n--) {
                mutate(&bytes, &count);
            }
            LLVMFuzzerTestOneInput((const uint8_t *)bytes, count);
            free(bytes);
        }
    } while (time(NULL) < end);
    printf("%lu inputs from %zu seeds\n", runs, seed_count);
    return 0;
}

#endif
