// SPDX-License-Identifier: Apache-2.0
//
// Linking of several modules, parameter layout, calls of every kind, shared memory layout.
#include "ir_test.h"

TestSuite(program, .timeout = 60);

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

Test(program, links_modules)
{
    static const char a[] = HEAD ".extern .global .u32 x;\n.weak .global .u32 w = 1;\n"
                                 ".global .u32 own = 1;\n"
                                 ".extern .func (.param .b32 r) f(.param .b32 a);\n"
                                 ".visible .entry k(.param .u64 p)\n{ .reg .b32 %r<4>;\n"
                                 ".param .b32 a0; .param .b32 r0;\nld.global.u32 %r1, [x];\n"
                                 "st.param.b32 [a0], %r1;\ncall (r0), f, (a0);\n"
                                 "ld.param.b32 %r2, [r0];\nst.global.u32 [own], %r2;\nret; }\n";
    static const char b[] =
        HEAD ".visible .global .u32 x = 5;\n.weak .global .u32 w = 2;\n"
             ".global .u32 own = 2;\n"
             ".visible .func (.param .b32 r) f(.param .b32 a)\n"
             "{ .reg .b32 %r<4>;\nld.param.u32 %r1, [a];\nadd.u32 %r1, %r1, 1;\n"
             "st.param.b32 [r], %r1;\nret; }\n";
    struct built built = build_texts((const char *const[]){a, b}, 2, "k");
    cr_assert_not_null(built.unit, "%s", built.error.message);
    uint32_t x = ir_program_find_variable(built.program, "x");
    cr_assert_neq(x, UINT32_MAX);
    cr_expect_eq(built.program->variables[x].ptx->linkage, PTX_LINK_VISIBLE);
    cr_expect_eq(built.program->variables[x].unit, 1);
    cr_expect_eq(built.program->variable_count, 4, "x, w and one `own` of each module");
    uint32_t w = ir_program_find_variable(built.program, "w");
    cr_expect_eq(built.program->variables[w].unit, 0, "the first weak definition stays");
    // The call is inlined and its parameters are values: no slot, no call.
    cr_expect_eq(built.unit->function_count, 1);
    cr_expect_eq(count_ops(built.unit->functions[0], IR_call), 0);
    cr_expect_eq(built.unit->functions[0]->slots_size, 0);
    drop(&built);
}

Test(program, parameters)
{
    static const char text[] = HEAD ".visible .entry k(.param .u8 a, .param .u64 b, .param .u16 c,"
                                    " .param .align 16 .b8 d[20], .param .f32 e) { ret; }\n";
    struct built built = build_texts((const char *const[]){text}, 1, "k");
    struct ir_param *params;
    uint32_t count, size;
    cr_assert_eq(ir_entry_params(built.program, ir_program_find_function(built.program, "k"),
                                 &params, &count, &size),
                 0);
    static const struct ir_param wanted[] = {
        {0, 1, 1}, {8, 8, 8}, {16, 2, 2}, {32, 20, 16}, {52, 4, 4}};
    cr_assert_eq(count, 5);
    for (unsigned i = 0; i < 5; i++) {
        cr_expect(memcmp(&params[i], &wanted[i], sizeof wanted[i]) == 0, "parameter %u at %u", i,
                  params[i].offset);
    }
    cr_expect_eq(size, 56);
    free(params);
    drop(&built);
}

Test(program, shared_layout)
{
    struct built built = build_kernel(
        ".shared .b8 a[3];\n.shared .align 8 .b64 b;\n.shared .b32 unused[100];\n"
        ".extern .shared .align 32 .b8 dyn[];\n",
        "st.shared.u8 [a], %r1; st.shared.u64 [b], %rd1; st.shared.u32 [dyn+4], %r1; ret;");
    char *text = printed(&built);
    cr_expect_eq(built.unit->static_shared, 16);
    cr_expect_eq(built.unit->dynamic_shared_offset, 32);
    cr_expect_eq(built.unit->dynamic_shared_align, 32);
    cr_expect(built.unit->uses_dynamic_shared);
    cr_expect(strstr(text, "st.i32.shared 0x20") != NULL, "%s", text);
    free(text);
    drop(&built);
}

static const char functions[] =
    ".visible .func (.param .b32 r) one(.param .b32 a)\n{ .reg .b32 %r<2>;\n"
    "ld.param.u32 %r1, [a]; st.param.b32 [r], %r1; ret; }\n"
    ".visible .func (.param .b32 r) two(.param .b32 a)\n{ .reg .b32 %r<2>;\n"
    "bar.sync 0; ld.param.u32 %r1, [a]; st.param.b32 [r], %r1; ret; }\n"
    ".visible .func other(.param .b64 a) { ret; }\n"
    ".global .u64 more = other;\n"
    ".visible .func (.param .b32 r) self(.param .b32 a)\n{ .reg .b32 %r<3>; .reg .pred %p<2>;\n"
    ".param .b32 a0; .param .b32 r0;\nld.param.u32 %r1, [a];\nsetp.eq.s32 %p1, %r1, 0;\n"
    "@%p1 bra E;\nsub.s32 %r2, %r1, 1;\nst.param.b32 [a0], %r2;\ncall (r0), self, (a0);\n"
    "ld.param.b32 %r1, [r0];\nE: st.param.b32 [r], %r1; ret; }\n"
    ".global .u64 table[2] = { one, two };\n";

Test(program, indirect_call)
{
    struct built built = build_kernel(
        functions, "ld.global.u64 %rd1, [table+8];\n.param .b32 a0; .param .b32 r0;\n"
                   "st.param.b32 [a0], 3;\nproto: .callprototype (.param .b32 _) _ (.param .b32 _);"
                   "\ncall (r0), %rd1, (a0), proto;\nld.param.b32 %r1, [r0];\n"
                   "st.global.u32 [table], %r1; ret;");
    cr_assert_not_null(built.unit, "%s", built.error.message);
    cr_expect_eq(built.unit->function_count, 3, "the entry and the two that fit the prototype");
    const struct ir_function *entry = built.unit->functions[0];
    cr_expect_eq(count_ops(entry, IR_call_indirect), 1);
    cr_expect_eq(count_ops(entry, IR_call_prepare), 1, "a target has a barrier");
    cr_expect(entry->suspends);
    unsigned suspending = 0;
    for (unsigned i = 1; i < 3; i++) {
        suspending += built.unit->functions[i]->suspends;
        cr_expect(built.unit->functions[i]->address_taken);
        cr_expect_eq(built.unit->functions[i]->params_size, 4);
    }
    cr_expect_eq(suspending, 1);
    cr_expect_gt(built.unit->local_size, 0);
    cr_expect_geq(built.unit->frame_size, entry->frame_size + 16);
    drop(&built);
}

Test(program, recursion_stays_a_call)
{
    struct built built =
        build_kernel(functions, ".param .b32 a0; .param .b32 r0;\nst.param.b32 [a0], 3;\n"
                                "call (r0), self, (a0);\nld.param.b32 %r1, [r0];\n"
                                "st.global.u32 [table], %r1; ret;");
    cr_assert_not_null(built.unit, "%s", built.error.message);
    cr_expect_eq(built.unit->function_count, 2);
    cr_expect(built.unit->recursive && built.unit->functions[1]->recursive);
    cr_expect_eq(count_ops(built.unit->functions[0], IR_call), 1);
    cr_expect_eq(count_ops(built.unit->functions[1], IR_call), 1);
    cr_expect_not(built.unit->functions[0]->suspends);
    drop(&built);
}

Test(program, function_addresses)
{
    struct built built = build_kernel(functions, "mov.u64 %rd1, two; st.global.u64 [table], %rd1;");
    char *text = printed(&built);
    cr_expect(strstr(text, "function.i64 two") != NULL, "%s", text);
    free(text);
    drop(&built);
}

// Formal parameters in registers, results in registers, constants as arguments.
Test(program, register_parameters)
{
    struct built built = build_kernel(
        ".func (.reg .u32 r) sum(.reg .u32 a, .reg .u32 b)\n{ add.u32 r, a, b; ret; }\n"
        ".global .u32 out;\n",
        "ld.param.u32 %r1, [n];\ncall (%r2), sum, (%r1, 5);\nst.global.u32 [out], %r2; ret;");
    char *text = printed(&built);
    cr_expect(strstr(text, ", 0x5") != NULL, "%s", text);
    cr_expect_eq(built.unit->functions[0]->slots_size, 0);
    cr_expect_eq(count_ops(built.unit->functions[0], IR_add), 1);
    free(text);
    drop(&built);
}

Test(program, runtime_functions)
{
    struct built built = build_kernel(
        ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
        ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
        ".extern .func free(.param .b64 p);\n.global .u32 out;\n"
        ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d,"
        " .param .b64 e);\n",
        ".param .b64 a; .param .b64 b; .param .b32 r; .param .b64 m; .param .b32 l;\n"
        "st.param.b64 [a], 64; call.uni (m), malloc, (a); ld.param.b64 %rd1, [m];\n"
        "st.param.b64 [a], %rd1; st.param.b64 [b], %rd1; call.uni (r), vprintf, (a, b);\n"
        "ld.param.b32 %r1, [r]; st.global.u32 [out], %r1; call.uni free, (a);\n"
        "st.param.b32 [l], 3; call.uni __assertfail, (a, a, l, a, a);");
    char *text = printed(&built);
    static const char *const wanted[] = {"malloc", "vprintf.i32", "free", "assertfail",
                                         "unreachable"};
    for (unsigned i = 0; i < 5; i++) {
        cr_expect(strstr(text, wanted[i]) != NULL, "no %s in %s", wanted[i], text);
    }
    cr_expect(built.unit->uses_printf && built.unit->uses_malloc);
    free(text);
    drop(&built);
}

// A function that only a pointer reaches and that is not compilable is a trap, no failed kernel.
Test(program, unbuildable_target)
{
    struct built built =
        build_kernel(".visible .func bad(.param .b32 a) { wgmma.fence.sync.aligned; ret; }\n"
                     ".global .u64 table[1] = { bad };\n",
                     "ld.global.u64 %rd1, [table];\n.param .b32 a0;\nst.param.b32 [a0], 3;\n"
                     "proto: .callprototype _ (.param .b32 _);\ncall %rd1, (a0), proto; ret;");
    cr_assert_not_null(built.unit, "%s", built.error.message);
    cr_assert_eq(built.unit->function_count, 2);
    cr_expect_not_null(built.unit->functions[1]->unbuildable);
    cr_expect_eq(count_ops(built.unit->functions[1], IR_trap), 1);
    drop(&built);
}
