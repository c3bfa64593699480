// SPDX-License-Identifier: Apache-2.0
//
// Hostile input: texts cut at every byte, single bytes replaced, nesting without end, huge numbers,
// text without NUL. The parser must answer, never crash; what it accepts must print and parse
// again.
#include "ptx_test.h"

#include "sample.h"

TestSuite(robust, .timeout = 100);

// Parses exactly `size` bytes, copied to the end of a heap block so that ASan sees reads behind.
static void parse_any(const char *text, size_t size)
{
    char *copy = malloc(size + 1);
    struct ptx_module *module = NULL;
    struct ptx_diagnostics diagnostics;
    memcpy(copy, text, size);
    copy[size] = '\0';
    int r = ptx_parse(copy, size, "test", &module, &diagnostics);
    cr_expect((r == 0) == (module != NULL) && (r == 0) == (diagnostics.total == 0));
    if (r == 0) {
        char *printed = print_text(module);
        struct ptx_module *again = parse_text(printed, printed);
        ptx_module_destroy(again);
        free(printed);
    }
    ptx_module_destroy(module);
    free(copy);
}

Test(robust, sample_is_good)
{
    struct ptx_module *module = parse_text(sample, "sample");
    char *once = print_text(module);
    struct ptx_module *again = parse_text(once, "printed");
    char *twice = print_text(again);
    cr_expect_str_eq(once, twice);
    ptx_module_destroy(module);
    ptx_module_destroy(again);
    free(once);
    free(twice);
}

Test(robust, truncated)
{
    for (size_t size = 0; size < strlen(sample); size++) {
        parse_any(sample, size);
    }
}

Test(robust, replaced)
{
    static const char bytes[] = "\0{}()[];,.:%@!0x/\"*<>=-\n\x80";
    size_t size = strlen(sample);
    char *copy = malloc(size);
    for (size_t i = 0; i < size; i++) {
        memcpy(copy, sample, size);
        copy[i] = bytes[i * 7 % sizeof(bytes)];
        parse_any(copy, size);
    }
    free(copy);
}

// `count` times `part` between two texts.
static void parse_repeated(const char *before, const char *part, const char *after, size_t count)
{
    size_t size = strlen(before) + strlen(part) * count + strlen(after);
    char *text = malloc(size + 1), *at = text;
    at = stpcpy(at, before);
    for (size_t i = 0; i < count; i++) {
        at = stpcpy(at, part);
    }
    stpcpy(at, after);
    parse_any(text, size);
    free(text);
}

Test(robust, nesting)
{
    static const struct {
        const char *before, *part, *after;
    } rows[] = {
        {HEADER ".entry k() { .reg .b32 r; mov.b32 r, ", "(", ""},
        {HEADER ".entry k() { .reg .b32 r; mov.b32 r, ", "-", "1; }"},
        {HEADER ".entry k() { .reg .b32 r; mov.b32 r, ", "1?", "1; }"},
        {HEADER ".entry k() { .reg .b32 r; mov.b32 r, ", "1+", "1; }"},
        {HEADER ".entry k() { .reg .b32 r; mov.b32 r, ", "(.u64)", "1; }"},
        {HEADER ".entry k() ", "{", ""},
        {HEADER ".entry k() { ", "L: {", "}"},
        {HEADER ".entry k() {", "{bra L; }", "}"},
        {HEADER ".global .u32 a[1] = ", "{", "};"},
        {HEADER ".global .u32 a[] = {", "1,", "1};"},
        {HEADER ".global .u32 a", "[2]", ";"},
        {HEADER ".entry k() { .reg .b32 r; mov.b32 {", "r,", "r}, r; }"},
        {HEADER ".entry k() { .reg .b32 r; add.s32 ", "r,", "r; }"},
        {HEADER ".entry k() { add", ".s32", " ; }"},
        {HEADER ".entry k() { add", " .s32", " ; }"},
        {HEADER ".entry k() { .reg .b32 ", "%r<9>,", "x; }"},
        {HEADER ".entry k() { .reg .b32 ", "r,", "x; }"},
        {HEADER ".entry k(", ".param .u32 a,", ".param .u32 b) { }"},
        {HEADER ".entry k() { .reg .b32 %r<9>; mov.b32 %r", "1", ", 1; }"},
        {HEADER ".entry k() { .reg .f64 r; mov.f64 r, 1", "0", ".0; }"},
        {HEADER ".section .x { ", ".b8 1 ", "}"},
        {HEADER, ".func f();", ""},
        {HEADER, ".file 1 \"\" ", ""},
        {HEADER, "/", ""},
        {HEADER, "/*", ""},
        {HEADER, "# 1\n", ""},
        {HEADER, "@", ""},
        {HEADER ".entry k() {", "x ", "}"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        parse_repeated(rows[i].before, rows[i].part, rows[i].after, 50);
        parse_repeated(rows[i].before, rows[i].part, rows[i].after, 20000);
    }
}

Test(robust, large_numbers)
{
    static const char *const codes[] = {
        ".reg .b32 %q<4294967295>; mov.b32 %q4294967294, 1;",
        ".reg .b32 %q<4294967296>;",
        ".reg .b32 %q<0>; mov.b32 %q0, 1;",
        ".reg .b32 q<12>, q1<5>; mov.b32 q14, q11;",
        "mov.u64 %rd1, -9223372036854775808 / -1;",
        "mov.u64 %rd1, -9223372036854775808 % -1;",
        "mov.u64 %rd1, 1 << 64;",
        "mov.u64 %rd1, -1 >> 100;",
        "mov.u64 %rd1, 1 << -1;",
        "ld.u32 %r1, [%rd1+9223372036854775807+9223372036854775807];",
        "ld.u32 %r1, [gvar[9223372036854775807]];",
        ".local .b8 big[1099511627776];",
        ".local .b8 big[1099511627777];",
        ".local .align 1073741824 .b8 big[1];",
        ".local .align 2147483648 .b8 big[1];",
        ".loc 99999999999 1 1\nmov.u32 %r1, 1;",
        "mov.f64 %fd1, 1e999;",
        "mov.f64 %fd1, 1e-999;",
    };
    for (size_t i = 0; i < sizeof(codes) / sizeof(codes[0]); i++) {
        char *text = frame_text(codes[i]);
        parse_any(text, strlen(text));
        free(text);
    }
}

// The text ends at its size even when more follows, and at a NUL before it.
Test(robust, ends)
{
    static const char text[] = HEADER ".entry k() { ret; }garbage";
    struct ptx_module *module = NULL;
    struct ptx_diagnostics diagnostics;
    size_t size = strlen(text) - strlen("garbage");
    cr_expect_eq(ptx_parse(text, size, "t", &module, &diagnostics), 0);
    module = ptx_module_destroy(module);
    cr_expect_eq(ptx_parse(text, size + 3, "t", &module, &diagnostics), -1);
    char nul[] = HEADER ".entry k() { ret; }\0garbage";
    cr_expect_eq(ptx_parse(nul, sizeof(nul) - 1, "t", &module, &diagnostics), 0);
    module = ptx_module_destroy(module);
    cr_expect_null(module);
}
