// SPDX-License-Identifier: Apache-2.0
//
// What is not compiled fails with its place and text; so do links that do not fit and programs that
// make no sense. Nothing is ignored silently.
#include "ir_test.h"

TestSuite(errors, .timeout = 60);

static void expect_error(const char *before, const char *body, const char *message,
                         const char *line_text)
{
    struct built built = build_kernel(before, body);
    cr_assert_null(built.unit, "%s builds", body);
    cr_expect(strstr(built.error.message, message) != NULL, "%s: '%s' lacks '%s'", body,
              built.error.message, message);
    if (line_text != NULL) {
        cr_expect(strstr(built.error.text, line_text) != NULL, "text '%s'", built.error.text);
        cr_expect(built.error.line > 0);
    }
    drop(&built);
}

Test(errors, instructions_that_are_only_parsed)
{
    expect_error("", "wgmma.fence.sync.aligned;", "'wgmma' is not compiled", "wgmma.fence");
    expect_error("", "cp.async.bulk.commit_group;", "'cp.async.bulk' is not compiled",
                 "cp.async.bulk");
    expect_error("", "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", "'movmatrix'", "movmatrix");
    expect_error("", "tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}], %f3;",
                 "depth compare", "tex.2d");
}

Test(errors, place_of_the_line)
{
    struct built built = build_kernel("", "mov.u32 %r1, 1;\n\n   movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2; // x");
    cr_assert_null(built.unit);
    cr_expect_eq(built.error.line, 16, "line %u", built.error.line);
    cr_expect_str_eq(built.error.text, "movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2; // x");
    drop(&built);
}

Test(errors, operands)
{
    expect_error("", "add.s32 %r1, %p1, %r2;", "of type .pred", "add.s32");
    expect_error("", "ld.global.u32 %r1, [%r2];", "addresses of 32 bits", "ld.global");
    expect_error("", "mov.b64 %rd1, {%r1, %r2, %r3};", "3 registers", "mov.b64");
    expect_error(".extern .global .u32 gone;", "ld.global.u32 %r1, [gone];",
                 "gone is declared extern", "gone");
    expect_error(".extern .func nobody();", "call.uni nobody, ();", "nobody is called and defined",
                 "nobody");
}

Test(errors, duplicate_definitions)
{
    static const char one[] = ".version 8.0\n.target sm_80\n.address_size 64\n"
                              ".visible .global .u32 x = 1;\n";
    struct built built = build_texts((const char *const[]){one, one}, 2, NULL);
    cr_assert_null(built.program);
    cr_expect(strstr(built.error.message, "more than one definition of variable x") != NULL);
    cr_expect_eq(built.error.unit, 1);
    drop(&built);
}

Test(errors, address_size)
{
    static const char text[] = ".version 3.0\n.target sm_20\n.address_size 32\n"
                               ".entry k() { ret; }\n";
    struct built built = build_texts((const char *const[]){text}, 1, NULL);
    cr_assert_null(built.program);
    cr_expect(strstr(built.error.message, "address_size") != NULL);
    drop(&built);
}
