// SPDX-License-Identifier: Apache-2.0
//
// The passes: SSA form, folding, promotion of slots, loops that can spin, frames.
#include "ir_test.h"

TestSuite(passes, .timeout = 120);

static const char loop_text[] =
    "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, 0;\n"
    "L: ld.global.u32 %r3, [%rd1];\nadd.s32 %r2, %r2, %r3;\nsub.s32 %r1, %r1, 1;\n"
    "setp.ne.s32 %p1, %r1, 0;\n@%p1 bra L;\nst.global.u32 [%rd1], %r2;\nret;";

Test(passes, printed_form)
{
    struct built built = build_kernel("", loop_text);
    char *text = printed(&built);
    // Numbers of values are no contract; the shape is.
    cr_expect(strstr(text, "  b1: ; from b0, b1\n") != NULL, "%s", text);
    cr_expect_eq(count_ops(built.unit->functions[0], IR_phi), 2);
    cr_expect_eq(count_ops(built.unit->functions[0], IR_mov), 0);
    cr_expect(built.unit->functions[0]->ssa);
    cr_expect_not(built.unit->can_spin);
    free(text);
    drop(&built);
}

Test(passes, constants_and_branches_fold)
{
    struct built built = build_kernel(
        "", "mov.u32 %r1, 4;\nadd.s32 %r2, %r1, 3;\nsetp.eq.s32 %p1, %r2, 7;\n@%p1 bra A;\ntrap;\n"
            "A: ld.param.u64 %rd1, [p];\nst.global.u32 [%rd1], %r2;\nret;");
    char *text = printed(&built);
    cr_expect(strstr(text, ", 0x7") != NULL, "%s", text);
    cr_expect_eq(count_ops(built.unit->functions[0], IR_trap), 0);
    cr_expect_eq(count_ops(built.unit->functions[0], IR_cbr), 0);
    free(text);
    drop(&built);
}

// -G code keeps variables in a local depot; accesses at constant offsets become values.
Test(passes, local_depot_is_promoted)
{
    struct built built = build_kernel(
        "", ".local .align 8 .b8 depot[16];\nmov.u64 %rd1, depot;\ncvta.local.u64 %rd2, %rd1;\n"
            "ld.param.u32 %r1, [n];\nst.u32 [%rd2+4], %r1;\nld.u32 %r2, [%rd2+4];\n"
            "ld.param.u64 %rd3, [p];\nst.global.u32 [%rd3], %r2;\nret;");
    cr_assert_not_null(built.unit, "%s", built.error.message);
    cr_expect_eq(built.unit->functions[0]->slots_size, 0);
    cr_expect_eq(count_ops(built.unit->functions[0], IR_st), 1);
    drop(&built);
}

Test(passes, indexed_local_array_stays)
{
    struct built built = build_kernel(
        "", ".local .align 4 .b8 a[64];\nmov.u64 %rd1, a;\nld.param.u32 %r1, [n];\n"
            "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.local.u32 [%rd3], %r1;\n"
            "ld.local.u32 %r2, [%rd1];\nld.param.u64 %rd4, [p];\nst.global.u32 [%rd4], %r2;\nret;");
    cr_assert_not_null(built.unit, "%s", built.error.message);
    cr_expect_eq(built.unit->functions[0]->slots_size, 64);
    drop(&built);
}

struct spin_row {
    const char *name, *body;
    bool spins;
};

Test(passes, loops_that_can_spin)
{
    static const struct spin_row rows[] = {
        {"counted loop with an atomic whose result is not used",
         "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 9;\nL: red.global.add.u32 [%rd1], 1;\n"
         "sub.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 0;\n@%p1 bra L;\nret;",
         false},
        {"counted loop that stores what an atomic returned",
         "ld.param.u64 %rd1, [p];\nmov.u32 %r1, 9;\nL: atom.global.add.u32 %r2, [%rd1], 1;\n"
         "st.global.u32 [%rd1+8], %r2;\nsub.s32 %r1, %r1, 1;\nsetp.ne.s32 %p1, %r1, 0;\n"
         "@%p1 bra L;\nret;",
         false},
        {"lock by compare and swap",
         "ld.param.u64 %rd1, [p];\nL: atom.global.cas.b32 %r2, [%rd1], 0, 1;\n"
         "setp.ne.s32 %p1, %r2, 0;\n@%p1 bra L;\nret;",
         true},
        {"volatile flag",
         "ld.param.u64 %rd1, [p];\nL: ld.volatile.global.u32 %r2, [%rd1];\n"
         "setp.eq.s32 %p1, %r2, 0;\n@%p1 bra L;\nret;",
         true},
        {"lock taken in a branch, `done` set there",
         "ld.param.u64 %rd1, [p];\nmov.u32 %r3, 0;\nL: atom.global.exch.b32 %r2, [%rd1], 1;\n"
         "setp.ne.s32 %p1, %r2, 0;\n@%p1 bra N;\nmov.u32 %r3, 1;\n"
         "st.global.u32 [%rd1], 0;\nN: setp.eq.s32 %p2, %r3, 0;\n@%p2 bra L;\nret;",
         true},
        {"plain load behind a fence",
         "ld.param.u64 %rd1, [p];\nL: membar.gl;\nld.global.u32 %r2, [%rd1];\n"
         "setp.eq.s32 %p1, %r2, 0;\n@%p1 bra L;\nret;",
         true},
        {"plain loop over memory",
         "ld.param.u64 %rd1, [p];\nL: ld.global.u32 %r2, [%rd1];\nadd.s64 %rd1, %rd1, 4;\n"
         "setp.ne.s32 %p1, %r2, 0;\n@%p1 bra L;\nret;",
         false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct built built = build_kernel("", rows[i].body);
        cr_assert_not_null(built.unit, "%s: %s", rows[i].name, built.error.message);
        cr_expect_eq(built.unit->can_spin, rows[i].spins, "%s", rows[i].name);
        cr_expect_eq(built.unit->functions[0]->suspends, rows[i].spins, "%s", rows[i].name);
        drop(&built);
    }
}

Test(passes, frames_hold_what_is_live)
{
    struct built built = build_kernel(
        "", "ld.param.u64 %rd1, [p];\nmov.u32 %r9, %tid.x;\nld.global.u32 %r1, [%rd1];\n"
            "ld.global.u64 %rd2, [%rd1+8];\nsetp.eq.s32 %p1, %r1, 3;\nmul.lo.s32 %r4, %r1, %r1;\n"
            "bar.sync 0;\nselp.b32 %r5, %r1, %r9, %p1;\nst.global.u32 [%rd1], %r5;\n"
            "st.global.u64 [%rd1], %rd2;\nret;");
    cr_assert_not_null(built.unit, "%s", built.error.message);
    const struct ir_function *fn = built.unit->functions[0];
    // Saved: %rd2, %r1 and %p1; made again: the parameter and %tid; dead: %r4.
    cr_expect_eq(count_ops(fn, IR_frame_save), 3);
    cr_expect_eq(count_ops(fn, IR_frame_load), 3);
    cr_expect_eq(count_ops(fn, IR_sreg), 1);
    cr_expect_eq(fn->frame_size, 16);
    cr_expect_eq(fn->resume_count, 1);
    drop(&built);
}

Test(passes, suspension_in_every_shape)
{
    struct built built =
        build_kernel("", "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\nmov.u32 %r2, 1;\n"
                         "L: @%p2 bra M;\nshfl.sync.up.b32 %r2|%p2, %r2, 1, 0, -1;\nbra N;\n"
                         "M: bar.red.or.pred %p2, 0, %p2;\nN: add.s32 %r1, %r1, -1;\n"
                         "setp.gt.s32 %p1, %r1, 0;\n@%p1 bra L;\n@!%p2 bar.sync 1;\n"
                         "st.global.u32 [%rd1], %r2;\nret;");
    cr_assert_not_null(built.unit, "%s", built.error.message);
    cr_expect_eq(built.unit->functions[0]->resume_count, 3);
    drop(&built);
}

Test(passes, brx_idx)
{
    struct built built = build_kernel(
        "", "ld.param.u64 %rd1, [p];\nld.param.u32 %r1, [n];\n"
            "ts: .branchtargets A, B, A;\nbrx.idx %r1, ts;\nA: st.global.u32 [%rd1], 1;\nret;\n"
            "B: st.global.u32 [%rd1], 2;\nret;");
    cr_assert_not_null(built.unit, "%s", built.error.message);
    cr_expect_eq(count_ops(built.unit->functions[0], IR_brx), 1);
    for (const struct ir_block *b = built.unit->functions[0]->blocks; b != NULL; b = b->next) {
        for (uint32_t i = 0; i < b->succ_count; i++) {
            for (uint32_t n = i + 1; n < b->succ_count; n++) {
                cr_expect_neq(b->succs[i], b->succs[n], "edges are unique");
            }
        }
    }
    drop(&built);
}

// Cost grows with the text: tens of thousands of instructions, branches and barriers.
Test(passes, large_kernel)
{
    enum { REGISTERS = 100, STEPS = 20000 };
    size_t size = 0;
    char *body = NULL;
    FILE *file = open_memstream(&body, &size);
    fprintf(file, ".reg .b32 %%x<%d>;\nld.param.u64 %%rd1, [p];\n", REGISTERS);
    for (int i = 0; i < REGISTERS; i++) {
        fprintf(file, "ld.global.u32 %%x%d, [%%rd1+%d];\n", i, 4 * i);
    }
    unsigned state = 1;
    for (int i = 0; i < STEPS; i++) {
        unsigned n[3];
        for (int k = 0; k < 3; k++) {
            state = state * 1103515245u + 12345u;
            n[k] = state >> 16 & 0xffff;
        }
        fprintf(file, "add.s32 %%x%u, %%x%u, %%x%u;\n", n[0] % REGISTERS, n[1] % REGISTERS,
                n[2] % REGISTERS);
        if (i % 10 == 0) {
            fprintf(file,
                    "setp.eq.s32 %%p1, %%x%u, 0;\n@%%p1 bra L%d;\nxor.b32 %%x%u, %%x%u, 1;\n"
                    "L%d:\n",
                    n[1] % REGISTERS, i, n[2] % REGISTERS, n[0] % REGISTERS, i);
        }
        if (i % 200 == 0) {
            fputs("bar.sync 0;\n", file);
        }
    }
    for (int i = 0; i < REGISTERS; i++) {
        fprintf(file, "st.global.u32 [%%rd1+%d], %%x%d;\n", 4 * i, i);
    }
    fputs("ret;\n", file);
    fclose(file);
    struct built built = build_kernel("", body);
    cr_assert_not_null(built.unit, "%s", built.error.message);
    cr_expect_eq(built.unit->functions[0]->resume_count, STEPS / 200);
    cr_expect_leq(built.unit->functions[0]->frame_size, 4 * REGISTERS + 16 + 768);
    drop(&built);
    free(body);
}
