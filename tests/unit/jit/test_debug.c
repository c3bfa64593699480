// SPDX-License-Identifier: Apache-2.0
//
// Line tables: an object of a kernel with .loc tells file and line of its code (read as fault
// messages read it), and its code is that of the kernel without .loc.
#include <criterion/criterion.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/exec/code_map.h"
#include "backends/cpu/exec/line_table.h"
#include "backends/cpu/jit/engine.h"

TestSuite(jit_debug, .timeout = 60);

static const char text[] =
    ".version 8.7\n.target sm_80\n.address_size 64\n"
    ".func (.param .b32 r) twice(.param .b32 x)\n{\n.reg .b32 %r<4>;\n"
    ".loc 2 40 3\nld.param.u32 %r1, [x];\n.loc 2 41 3\nmul.lo.u32 %r2, %r1, %r1;\n"
    "st.param.b32 [r], %r2;\nret;\n}\n"
    ".visible .entry _Z4stepPjj(.param .u64 p, .param .u32 n)\n{\n"
    ".reg .b32 %r<16>;\n.reg .b64 %x<8>;\n.reg .pred %p<4>;\n"
    ".loc 1 10 0\nld.param.u64 %x1, [p];\nld.param.u32 %r1, [n];\n"
    ".loc 1 11 5\nmov.u32 %r2, %tid.x;\nmul.wide.u32 %x2, %r2, 4;\nadd.s64 %x3, %x1, %x2;\n"
    ".loc 1 12 5\nld.global.u32 %r3, [%x3];\nmov.u32 %r4, 0;\n"
    "LOOP:\n.loc 1 13 5\nsetp.ge.u32 %p1, %r4, %r1;\n@%p1 bra DONE;\n"
    ".loc 1 14 9\n.loc 1 30 7, function_name $name, inlined_at 1 14 9\n"
    "mad.lo.u32 %r3, %r3, 5, %r4;\nxor.b32 %r3, %r3, %r2;\n"
    ".loc 1 13 5\nadd.u32 %r4, %r4, 1;\nbra LOOP;\n"
    "DONE:\n.loc 1 15 5\n{\n.param .b32 a;\n.param .b32 b;\nst.param.b32 [a], %r3;\n"
    "call (b), twice, (a);\nld.param.b32 %r5, [b];\n}\n"
    ".loc 1 16 5\n{SYNC}\n.loc 1 17 5\nst.global.u32 [%x3], %r5;\n.loc 1 18 1\nret;\n}\n"
    ".file 1 \"/src/step.cu\"\n.file 2 \"/src/twice.h\"\n"
    ".section .debug_str\n{\n$name:\n.b8 95,90,51,109,105,120,106,0\n}\n";

// The text with or without barrier, and with or without its .loc lines.
static char *variant(bool barrier, bool lines)
{
    const char *hole = strstr(text, "{SYNC}");
    char *out = malloc(sizeof(text) + 64), *at = out;
    sprintf(out, "%.*s%s%s", (int)(hole - text), text, barrier ? "bar.sync 0;" : "", hole + 6);
    for (const char *from = out; !lines && *from != '\0';) {
        size_t length = strcspn(from, "\n") + 1;
        const char *loc = memmem(from, length, ".loc", 4);
        if (loc == NULL) {
            memmove(at, from, length);
            at += length;
        } else if (loc != from) { // a label before it
            cr_assert_fail("unexpected: %.20s", from);
        }
        from += length;
    }
    if (!lines) {
        *at = '\0';
    }
    return out;
}

struct compiled {
    struct jit_program *program;
    struct jit_kernel *kernel;
};

static struct compiled compile(const char *ptx, unsigned lanes, bool keep)
{
    struct compiled c = {NULL, NULL};
    struct jit_source source = {.text = ptx, .size = strlen(ptx), .name = "test"};
    char message[512] = "";
    int r = jit_engine_table.program_create(&source, 1, &c.program, message, sizeof(message));
    cr_assert(r == 0, "%s", message);
    size_t count;
    const struct jit_function *functions = jit_engine_table.functions(c.program, &count);
    uint32_t entry = 0;
    while (entry < count && !functions[entry].is_entry) {
        entry++;
    }
    struct jit_options options = {.lanes = lanes, .debug = keep};
    r = jit_engine_table.compile(c.program, entry, &options, &c.kernel, message, sizeof(message));
    cr_assert(r == 0, "%s", message);
    return c;
}

static void release(struct compiled *c)
{
    jit_engine_table.kernel_unref(c->kernel);
    jit_engine_table.program_destroy(c->program);
}

static const Elf64_Shdr *code_of(const struct jit_kernel *kernel, struct exec_object *o)
{
    cr_assert(kernel->object != NULL);
    cr_assert(exec_object_open(kernel->object, kernel->object_size, o));
    return &o->sections[o->text];
}

// The same bytes in the same number. Their order is the same, too, where LLVM does not schedule
// behind the allocation of registers (as it does for AArch64 and AMD's processors): directives about
// the frame, which come with line tables, are in the way of moving its set-up.
static void same_code(const unsigned char *a, const unsigned char *b, size_t size)
{
    size_t balance[256] = {0};
    for (size_t i = 0; i < size; i++) {
        balance[a[i]]++;
        balance[b[i]]--;
    }
    for (unsigned byte = 0; byte < 256; byte++) {
        cr_assert(balance[byte] == 0, "byte %02x", byte);
    }
#if defined(__x86_64__)
    cr_assert(!__builtin_cpu_is("intel") || memcmp(a, b, size) == 0);
#endif
}

Test(jit_debug, lines_do_not_change_the_code)
{
    for (unsigned n = 0; n < 4; n++) {
        bool barrier = n % 2 != 0;
        unsigned lanes = n / 2 != 0 ? 32 : 1;
        char *with = variant(barrier, true), *without = variant(barrier, false);
        struct compiled a = compile(with, lanes, false), b = compile(without, lanes, true);
        struct exec_object oa, ob;
        const Elf64_Shdr *ca = code_of(a.kernel, &oa), *cb = code_of(b.kernel, &ob);
        cr_expect(exec_object_section(&oa, ".debug_line") != NULL);
        cr_expect(exec_object_section(&ob, ".debug_line") == NULL);
        cr_assert_eq(ca->sh_size, cb->sh_size);
        same_code(oa.data + ca->sh_offset, ob.data + cb->sh_offset, ca->sh_size);
        release(&a);
        release(&b);
        free(with);
        free(without);
    }
}

Test(jit_debug, nothing_is_kept_without_lines)
{
    char *ptx = variant(false, false);
    struct compiled c = compile(ptx, 1, false);
    cr_expect(c.kernel->object == NULL && c.kernel->object_size == 0);
    release(&c);
    free(ptx);
}

struct seen {
    unsigned step[64], twice[64]; // rows by line
    uint64_t last;
    unsigned ends;
};

static bool see(void *data, const struct exec_line *row)
{
    struct seen *s = data;
    cr_expect(row->start >= s->last || row->end);
    s->last = row->end ? 0 : row->start;
    s->ends += row->end;
    if (!row->end && row->line != 0) {
        cr_assert(row->line < 64);
        bool step = strcmp(row->file, "step.cu") == 0;
        cr_expect_str_eq(row->folder, "/src");
        cr_expect(step || strcmp(row->file, "twice.h") == 0, "%s", row->file);
        (step ? s->step : s->twice)[row->line]++;
    }
    return true;
}

Test(jit_debug, the_table_has_the_lines)
{
    char *ptx = variant(true, true);
    struct compiled c = compile(ptx, 1, false);
    struct exec_object o;
    code_of(c.kernel, &o);
    struct seen seen = {.ends = 0};
    cr_assert(exec_object_lines(&o, see, &seen));
    cr_expect_eq(seen.ends, 1);
    static const unsigned wanted[] = {12, 13, 17, 30};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        cr_expect(seen.step[wanted[i]] > 0, "line %u", wanted[i]);
    }
    cr_expect(seen.twice[41] > 0);
    release(&c);
    free(ptx);
}

Test(jit_debug, addresses_become_lines)
{
    char *ptx = variant(false, true);
    struct compiled c = compile(ptx, 1, false);
    struct exec_object o;
    code_of(c.kernel, &o);
    uintptr_t start = 0;
    struct exec_object_function f;
    for (size_t n = 0; exec_object_function(&o, n, &f); n++) {
        start = strcmp(f.name, "thread") == 0 ? (uintptr_t)c.kernel->thread - f.start : start;
    }
    cr_assert(start != 0);
    char place[64];
    cr_expect(!exec_code_any());
    cr_expect(!exec_code_line((uintptr_t)c.kernel->thread, place, sizeof(place)));
    struct exec_code *code = exec_code_add(c.kernel->object, c.kernel->object_size, start);
    cr_assert(code != NULL && exec_code_any());
    cr_expect(exec_code_line((uintptr_t)c.kernel->thread, place, sizeof(place)));
    cr_expect(strncmp(place, "/src/step.cu:", 13) == 0, "%s", place);
    cr_expect(!exec_code_line(start + o.sections[o.text].sh_size, place, sizeof(place)));
    cr_expect(!exec_code_line(start - 1, place, sizeof(place)));
    cr_expect(exec_code_remove(code) == NULL);
    cr_expect(!exec_code_any() && !exec_code_line(start, place, sizeof(place)));
    release(&c);
    free(ptx);
}

static bool count_rows(void *data, const struct exec_line *row)
{
    (void)(strlen(row->folder) + strlen(row->file));
    return ++*(unsigned *)data < 100000;
}

// Every object with one damaged byte is read to some end, within its bounds (ASan looks).
Test(jit_debug, damaged_objects_are_read_within_bounds)
{
    char *ptx = variant(false, true);
    struct compiled c = compile(ptx, 1, false);
    size_t size = c.kernel->object_size;
    for (size_t i = 0; i < size; i += 3) {
        static const unsigned char values[] = {0x00, 0xff, 0x80};
        unsigned char *copy = malloc(size);
        memcpy(copy, c.kernel->object, size);
        copy[i] = copy[i] == values[i / 3 % 3] ? 0x7f : values[i / 3 % 3];
        struct exec_object o;
        struct exec_object_function f;
        unsigned rows = 0;
        if (exec_object_open(copy, size, &o)) {
            for (size_t n = 0; exec_object_function(&o, n, &f); n++) {
                (void)strlen(f.name);
            }
            exec_object_lines(&o, count_rows, &rows);
        }
        free(copy);
    }
    release(&c);
    free(ptx);
}
