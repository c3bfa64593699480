// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics: line, column, text of the line, several of them in one run, errors outside of
// bodies, and that the parser goes on behind each error.
#include "ptx_test.h"

TestSuite(errors, .timeout = 30);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct ptx_diagnostics parse_bad(const char *text)
{
    struct ptx_module *module = NULL;
    struct ptx_diagnostics diagnostics;
    int r = ptx_parse(text, strlen(text), "test", &module, &diagnostics);
    cr_assert(r == -1 && module == NULL, "accepted:\n%s", text);
    cr_assert(diagnostics.count > 0);
    return diagnostics;
}

Test(errors, position_and_text)
{
    struct ptx_diagnostics d = parse_bad(HEADER ".entry k()\n"
                                                "{\n"
                                                "\t.reg .b32 %r<3>;\n"
                                                "\tadd.s32 \t%r1, %r2, 1; // fine\r\n"
                                                "  @%r1 add.s32 %r1, %r2, 1;\n"
                                                "\tmov.u32 %r1, %what;   \n"
                                                "}\n");
    cr_expect_eq(d.total, 2);
    cr_expect_eq(d.items[0].line, 8);
    cr_expect_eq(d.items[0].column, 4);
    cr_expect_str_eq(d.items[0].message, "'%r1' is no predicate register");
    cr_expect_str_eq(d.items[0].text, "@%r1 add.s32 %r1, %r2, 1;");
    cr_expect_eq(d.items[1].line, 9);
    cr_expect_eq(d.items[1].column, 15);
    cr_expect_str_eq(d.items[1].message, "unknown name '%what'");
    cr_expect_str_eq(d.items[1].text, "mov.u32 %r1, %what;");
}

// A statement that spans lines, comments with line ends, a line longer than the text field.
Test(errors, lines)
{
    char text[2000];
    int size = snprintf(text, sizeof(text),
                        HEADER ".entry k()\n{ /* a\nb\n*/ .reg .b32 %%r<3>;\n"
                               "add.s32 %%r1,\n\t%%r2, %%no;\n");
    memset(text + size, ' ', 500);
    snprintf(text + size + 500, sizeof(text) - (size_t)size - 500, "mov.u32 %%r1, %%bad; }\n");
    struct ptx_diagnostics d = parse_bad(text);
    cr_expect_eq(d.total, 2);
    cr_expect_eq(d.items[0].line, 9);
    cr_expect_str_eq(d.items[0].text, "%r2, %no;");
    cr_expect_eq(d.items[1].line, 10);
    cr_expect_eq(d.items[1].column, 514);
    cr_expect_str_eq(d.items[1].text, "mov.u32 %r1, %bad; }");
    memset(text + size, ';', 500);
    d = parse_bad(text);
    cr_expect(strstr(d.items[1].text, "%bad") != NULL, "%s", d.items[1].text);
}

Test(errors, many)
{
    char *text = malloc(1 << 16);
    size_t size = (size_t)sprintf(text, HEADER ".entry k()\n{\n");
    for (unsigned i = 0; i < 100; i++) {
        size += (size_t)sprintf(text + size, "wrong%u;\n", i);
    }
    sprintf(text + size, "}\n");
    struct ptx_diagnostics d = parse_bad(text);
    cr_expect_eq(d.count, PTX_MAX_DIAGNOSTICS);
    cr_expect_eq(d.total, 100);
    cr_expect_eq(d.items[19].line, 25);
    free(text);
}

// One row: a module that has exactly these errors (line and message), the parser going on.
static const struct {
    const char *text;
    struct {
        unsigned line;
        const char *message;
    } errors[3];
} modules[] = {
    {"", {{1, "no .version or no .target"}}},
    {"garbage", {{1, "expected a directive before 'garbage'"}, {1, "no .version or no .target"}}},
    {".version 8\n",
     {{1, "expected a version like 8.5 before '8'"}, {2, "no .version or no .target"}}},
    {".version 8.0\n.target sm_80\n.address_size 48\n", {{3, "expected 32 or 64 before '48'"}}},
    {".global .u32 a;\n.version 8.0\n.target sm_80\n",
     {{1, "expected .version and .target first"}}},
    {HEADER ".global .u32 a, a;\n.global .u32 b;", {{4, "'a' is declared twice"}}},
    {HEADER ".global .u32 a\n.global .u32 b;", {{5, "expected ';' before '.global'"}}},
    {HEADER ".global .align 3 .u32 a;", {{4, "alignment must be a power of two"}}},
    {HEADER ".global .u32 a[0];", {{4, "bad array size"}}},
    {HEADER ".global .u32 a[99999999999999999];", {{4, "bad array size"}}},
    {HEADER ".global .u32 a[1000000][1000000];", {{4, "'a' is too large"}}},
    {HEADER ".global .u32 a[2] = {1,2,3};", {{4, "more elements than 'a' has"}}},
    {HEADER ".global .u32 a[2] = {{1},2};", {{4, "more braces than 'a' has dimensions"}}},
    {HEADER ".global .u32 a[2] = {1,2;", {{4, "expected ',' or '}' before ';'"}}},
    {HEADER ".global .u64 a = nothing;", {{4, "'nothing' is no variable or function"}}},
    {HEADER ".global .b8 b; .global .b8 a = b;", {{4, "address in an element of 1 bytes"}}},
    {HEADER ".global .b8 b; .global .b8 a = 0xF0(b);",
     {{4, "mask of an address must select one byte for a .b8 or .u8 element"}}},
    {HEADER ".global .u32 a = 1.5;", {{4, "floating-point constant for a .u32 element"}}},
    {HEADER ".reg .u32 %r;", {{4, "expected a directive before '.reg'"}}},
    {HEADER ".param .u32 a;", {{4, ".param outside a function"}}},
    {HEADER ".visible .extern .global .u32 a;", {{4, "second linkage '.extern'"}}},
    {HEADER ".entry k {\nret;\n", {{6, "expected '}' before the end of the text"}}},
    {HEADER ".entry k(.u32 a) {}\n.entry l() { ret; }", {{4, "expected .param before '.u32'"}}},
    {HEADER ".entry k(.param .u32 a, .param .u32 a) {}", {{4, "'a' is declared twice"}}},
    {HEADER ".entry k() { ret; }\n.entry k() { ret; }", {{5, "'k' is defined twice"}}},
    {HEADER ".func f(.param .u32 a);\n.func f(.param .u64 a) { ret; }",
     {{5, "'f' was declared with other parameters"}}},
    {HEADER ".entry k() .wrong 5 { ret; }\n.entry l() { wrong; }",
     {{4, "expected '{' or ';' before '.wrong'"}, {5, "unknown instruction 'wrong'"}}},
    {HEADER ".entry k()\n{\nL: ret;\nL: ret;\n}", {{7, "'L' is declared twice"}}},
    {HEADER ".entry k()\n{\n{ L: ret; }\nbra L;\n}", {{7, "unknown label 'L'"}}},
    {HEADER ".entry k()\n{\n.reg .b32 %r<4>, %r3;\n}", {{6, "'%r3' is declared twice"}}},
    {HEADER ".entry k()\n{\n.reg .b32 %r<4>; { .reg .b32 %x; } mov.u32 %r1, %x;\n}",
     {{6, "unknown name '%x'"}}},
    {HEADER ".alias a, b;", {{4, "'a' is no function"}}},
    {HEADER "/* no end", {{4, "comment without end: '/* no end'"}}},
    {HEADER ".file 1 \"no end\n", {{4, "string without end: '\"no end'"}}},
    {HEADER ".section .debug_info { .b8 1", {{4, "expected '}' before the end of the text"}}},
    {HEADER ".target sm_80, map_f64_to_f32\n", {{4, "target map_f64_to_f32 is not supported"}}},
    {HEADER ".global . u32 a;", {{4, "expected a word after '.': '.'"}}},
    {HEADER "#define X\n", {{4, "unexpected character: '#'"}}},
};

Test(errors, modules)
{
    for (size_t i = 0; i < COUNT(modules); i++) {
        struct ptx_diagnostics d = parse_bad(modules[i].text);
        size_t count = 0;
        for (; count < 3 && modules[i].errors[count].message != NULL; count++) {
            cr_expect(count < d.count && d.items[count].line == modules[i].errors[count].line &&
                          strcmp(d.items[count].message, modules[i].errors[count].message) == 0,
                      "row %zu: line %u: %s", i, d.items[count].line, d.items[count].message);
        }
        cr_expect(d.total == count, "row %zu: %zu errors, second: %u: %s", i, d.total,
                  d.items[1].line, d.items[1].message);
    }
}
