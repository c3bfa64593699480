// SPDX-License-Identifier: Apache-2.0
//
// The warp form: kinds of values, what parts lanes, what is refused. That it computes the same as
// the one-lane form is what tests/fuzz/fuzz_warp.c shows.
#include "ir_test.h"

#define INDEX                                                             \
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n" \
    "mad.lo.s32 %r4, %r1, %r2, %r3; ld.param.u64 %rd1, [p]; ld.param.u32 %r5, [n];\n"

struct warp {
    struct ptx_module *module;
    struct ir_program *program;
    struct ir_unit *unit;
    struct ir_error error;
};

static struct warp warp_kernel(const char *before, const char *body)
{
    struct warp w = {.module = parse(kernel_text(before, body))};
    const struct ptx_module *modules[1] = {w.module};
    cr_assert_eq(ir_program_create(modules, 1, &w.program, &w.error), 0, "%s", w.error.message);
    uint32_t entry = ir_program_find_function(w.program, "k");
    if (ir_unit_create_warp(w.program, entry, 32, &w.unit, &w.error) == 0) {
        struct ir_error error;
        cr_assert_eq(ir_verify(w.unit, &error), 0, "%s", error.message);
        cr_assert_eq(w.unit->functions[0]->lanes, 32);
    }
    return w;
}

static void drop_warp(struct warp *w)
{
    ir_unit_destroy(w->unit);
    ir_program_destroy(w->program);
    ptx_module_destroy(w->module);
}

// Accesses of global memory by the kind of their address.
struct accesses {
    unsigned uniform, affine, varying;
    int64_t stride; // of the last affine one
};

static struct accesses count_accesses(const struct warp *w, enum ir_op op)
{
    struct accesses a = {0};
    cr_assert_not_null(w->unit, "%s", w->error.message);
    const struct ir_function *fn = w->unit->functions[0];
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            if (inst->op != op || inst->space == IR_PARAM_ENTRY) {
                continue;
            }
            const struct ir_value *v = &fn->values[inst->src[0].value];
            a.uniform += v->kind == IR_UNIFORM;
            a.affine += v->kind == IR_AFFINE;
            a.varying += v->kind == IR_VARYING;
            a.stride = v->kind == IR_AFFINE ? v->stride : a.stride;
        }
    }
    return a;
}

static void refused(const char *before, const char *body, const char *why)
{
    struct warp w = warp_kernel(before, body);
    cr_assert_null(w.unit, "not refused: %s", why);
    cr_assert(strstr(w.error.message, "warp form:") != NULL, "%s", w.error.message);
    cr_assert(strstr(w.error.message, why) != NULL, "%s, not %s", w.error.message, why);
    drop_warp(&w);
}

Test(ir_warp, neighbouring_and_uniform_and_scattered_addresses)
{
    struct warp w = warp_kernel("", INDEX "mul.wide.s32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;\n"
                                          "ld.global.u32 %r6, [%rd3];\n" // neighbours
                                          "mul.wide.u32 %rd4, %r1, 4; add.s64 %rd5, %rd1, %rd4;\n"
                                          "ld.global.u32 %r7, [%rd5];\n" // uniform
                                          "mul.wide.u32 %rd6, %r6, 4; add.s64 %rd7, %rd1, %rd6;\n"
                                          "ld.global.u32 %r8, [%rd7];\n" // scattered
                                          "add.u32 %r8, %r8, %r7; st.global.u32 [%rd3], %r8; ret;");
    struct accesses ld = count_accesses(&w, IR_ld), st = count_accesses(&w, IR_st);
    // Each block is there twice: for all lanes and for some.
    cr_assert(ld.affine == 2 && ld.uniform == 2 && ld.varying == 2);
    cr_assert(ld.stride == 4 && st.affine == 2);
    drop_warp(&w);
}

Test(ir_warp, strides_of_arithmetic)
{
    static const struct {
        const char *body;
        int64_t stride; // 0: uniform, 1000: varying
    } cases[] = {
        {"shl.b32 %r6, %r3, 2; cvt.u64.u32 %rd2, %r6;", 4},
        {"neg.s32 %r6, %r3; mul.wide.s32 %rd2, %r6, 8;", -8},
        {"not.b32 %r6, %r3; cvt.s64.s32 %rd2, %r6;", -1},
        {"mul.lo.u32 %r6, %r3, 12; sub.u32 %r6, %r5, %r6; cvt.u64.u32 %rd2, %r6;", -12},
        {"sub.u32 %r6, %r4, %r3; cvt.u64.u32 %rd2, %r6;", 0},
        {"mul.lo.u32 %r6, %r3, %r5; cvt.u64.u32 %rd2, %r6;", 1000},
        {"and.b32 %r6, %r3, 31; cvt.u64.u32 %rd2, %r6;", 1},
        {"and.b32 %r6, %r3, 15; cvt.u64.u32 %rd2, %r6;", 1000},
        {"shr.u32 %r6, %r3, 5; cvt.u64.u32 %rd2, %r6;", 0},
        {"shr.u32 %r6, %r3, 4; cvt.u64.u32 %rd2, %r6;", 1000},
        {"mov.u32 %r6, %tid.y; cvt.u64.u32 %rd2, %r6;", 0},
        {"mov.u32 %r6, %laneid; cvt.u64.u32 %rd2, %r6; shl.b64 %rd2, %rd2, 3;", 8},
        {"cvt.u64.u32 %rd2, %r3; cvt.u32.u64 %r6, %rd2; mul.wide.u32 %rd2, %r6, 2;", 2},
        {"cvt.u64.u32 %rd2, %r3; cvt.u64.u32 %rd4, %r4; add.s64 %rd2, %rd2, %rd4;", 1000},
        {"vote.sync.ballot.b32 %r6, %p1, -1; cvt.u64.u32 %rd2, %r6;", 0},
        {"shfl.sync.idx.b32 %r6, %r5, 0, 31, -1; cvt.u64.u32 %rd2, %r6;", 1000},
    };
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *body;
        cr_assert(asprintf(&body,
                           "%s setp.eq.u32 %%p1, %%r3, %%r5; %s\nadd.s64 %%rd3, %%rd1, %%rd2; "
                           "ld.global.u8 %%r7, [%%rd3]; st.global.u32 [%%rd1], %%r7; ret;",
                           INDEX, cases[i].body) > 0);
        struct warp w = warp_kernel("", body);
        struct accesses ld = count_accesses(&w, IR_ld);
        bool right = cases[i].stride == 0      ? ld.uniform == 2
                     : cases[i].stride == 1000 ? ld.varying == 2
                                               : ld.affine == 2 && ld.stride == cases[i].stride;
        cr_assert(right, "%s: %u uniform, %u affine (%d), %u varying", cases[i].body, ld.uniform,
                  ld.affine, (int)ld.stride, ld.varying);
        drop_warp(&w);
        free(body);
    }
}

Test(ir_warp, a_grid_stride_loop_keeps_its_counter_and_pointer_affine)
{
    struct warp w = warp_kernel(
        "", INDEX "mov.u32 %r6, 0; mul.wide.u32 %rd2, %r4, 4; add.s64 %rd3, %rd1, %rd2;\n"
                  "setp.ge.u32 %p1, %r4, %r5; @%p1 bra DONE;\n"
                  "LOOP: ld.global.u32 %r7, [%rd3]; add.u32 %r6, %r6, %r7;\n"
                  "mul.wide.u32 %rd4, %r2, 4; add.s64 %rd3, %rd3, %rd4;\n"
                  "add.u32 %r4, %r4, %r2; setp.lt.u32 %p1, %r4, %r5; @%p1 bra LOOP;\n"
                  "DONE: st.global.u32 [%rd1], %r6; ret;");
    struct accesses ld = count_accesses(&w, IR_ld);
    cr_assert(ld.affine == 2 && ld.varying == 0 && ld.stride == 4);
    drop_warp(&w);
}

Test(ir_warp, a_counter_that_lanes_leave_with_is_varying)
{
    // %r6 is needed behind the loop by lanes that left it in different rounds.
    struct warp w =
        warp_kernel("", INDEX "mov.u32 %r6, 0;\n"
                              "LOOP: add.u32 %r6, %r6, 1; setp.lt.u32 %p1, %r6, %r3;\n"
                              "@%p1 bra LOOP;\n"
                              "mul.wide.u32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2;\n"
                              "ld.global.u32 %r7, [%rd3]; st.global.u32 [%rd1], %r7; ret;");
    struct accesses ld = count_accesses(&w, IR_ld);
    cr_assert(ld.varying == 2);
    drop_warp(&w);
}

Test(ir_warp, lanes_that_returned_do_not_count_as_parted)
{
    struct warp w = warp_kernel("", INDEX "setp.ge.u32 %p1, %r4, %r5; @%p1 bra DONE;\n"
                                          "shfl.sync.bfly.b32 %r6, %r4, 1, 31, -1; bar.sync 0;\n"
                                          "st.global.u32 [%rd1], %r6; DONE: ret;");
    cr_assert_not_null(w.unit, "%s", w.error.message);
    cr_assert(count_ops(w.unit->functions[0], IR_shfl) == 2);
    cr_assert(count_ops(w.unit->functions[0], IR_suspend) == 2);
    drop_warp(&w);
}

Test(ir_warp, whole_warps_do_not_part)
{
    struct warp w = warp_kernel("", INDEX "setp.ge.u32 %p1, %r3, 64; @%p1 bra OVER;\n"
                                          "shfl.sync.bfly.b32 %r4, %r4, 1, 31, -1;\n"
                                          "OVER: st.global.u32 [%rd1], %r4; ret;");
    cr_assert_not_null(w.unit, "%s", w.error.message);
    drop_warp(&w);
}

Test(ir_warp, what_is_refused)
{
    refused("",
            INDEX "setp.ge.u32 %p1, %r3, 5; @%p1 bra OVER;\n"
                  "shfl.sync.bfly.b32 %r4, %r4, 1, 31, -1;\n"
                  "OVER: st.global.u32 [%rd1], %r4; ret;",
            "may have parted");
    refused("",
            INDEX "WAIT: ld.volatile.global.u32 %r6, [%rd1]; setp.eq.u32 %p1, %r6, 0;\n"
                  "@%p1 bra WAIT; ret;",
            "spin");
    refused("", INDEX "bar.sync %r3, 32; ret;", "different barriers");
    refused("",
            "mov.b128 %q1, {%rd1, %rd1}; mov.b128 {%rd1, %rd2}, %q1; st.global.u64 [%rd2], %rd1; "
            "ret;",
            "128-bit");
    refused("", "nanosleep.u32 20; ret;", "nanosleep");
    refused("",
            INDEX "ts: .branchtargets A, B; setp.eq.u32 %p1, %r3, 0; selp.b32 %r6, 0, 1, %p1;\n"
                  "brx.idx %r6, ts; A: st.global.u32 [%rd1], %r3; B: ret;",
            "table");
}
