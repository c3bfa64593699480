// SPDX-License-Identifier: Apache-2.0
//
// Whole kernels: loops, memory spaces, calls, suspension, runtime calls and faults, each compared
// with the same computation in C.
#include <criterion/criterion.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"

#define HEAD ".version 8.8\n.target sm_90\n.address_size 64\n"
#define INDEX                                                             \
    "mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x; mov.u32 %r3, %tid.x;\n" \
    "mad.lo.s32 %r4, %r1, %r2, %r3;\n"
#define REGS                                                                                     \
    ".reg .pred %p<8>; .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %x<32>; .reg .f32 %f<16>;\n" \
    ".reg .f64 %d<8>;\n"

TestSuite(jit_kernels, .timeout = 60);

static struct harness *must_compile(const char *ptx)
{
    struct harness *h = harness_compile(ptx, NULL);
    cr_assert(h != NULL, "%s", harness_message());
    return h;
}

Test(jit_kernels, saxpy_with_grid_stride_loop)
{
    struct harness *h = must_compile(
        HEAD
        ".visible .entry k(.param .u64 x, .param .u64 y, .param .f32 a, .param .u32 n)\n{\n" REGS
        "ld.param.u64 %x1, [x]; ld.param.u64 %x2, [y]; ld.param.f32 %f1, [a];\n"
        "ld.param.u32 %r5, [n]; cvta.to.global.u64 %x1, %x1; cvta.to.global.u64 %x2, %x2;\n" INDEX
        "mov.u32 %r6, %nctaid.x; mul.lo.s32 %r6, %r6, %r2;\n"
        "setp.ge.u32 %p1, %r4, %r5; @%p1 bra DONE;\n"
        "LOOP:\n"
        "mul.wide.s32 %x3, %r4, 4; add.s64 %x4, %x1, %x3; add.s64 %x5, %x2, %x3;\n"
        "ld.global.f32 %f2, [%x4]; ld.global.f32 %f3, [%x5];\n"
        "fma.rn.f32 %f4, %f1, %f2, %f3; st.global.f32 [%x5], %f4;\n"
        "add.s32 %r4, %r4, %r6; setp.lt.u32 %p2, %r4, %r5; @%p2 bra LOOP;\n"
        "DONE: ret;\n}\n");
    enum { N = 1000 };
    static float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    struct {
        float *x, *y;
        float a;
        uint32_t n;
    } params = {x, y, 0.5f, N};
    struct harness_launch launch = {{3}, {64}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0);
    for (int i = 0; i < N; i++) {
        cr_assert(y[i] == 0.5f * (float)i + 1, "%d: %g", i, (double)y[i]);
    }
    cr_assert(harness_kernel(h)->block != NULL, "a kernel without barriers has a block function");
    harness_free(h);
}

Test(jit_kernels, shared_memory_reversal_with_barrier)
{
    struct harness *h = must_compile(
        HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS ".shared .align 4 .b8 tile[512];\n"
             "ld.param.u64 %x1, [p];\n" INDEX
             "mov.u32 %r5, tile; shl.b32 %r6, %r3, 2; add.s32 %r7, %r5, %r6;\n"
             "mul.wide.u32 %x2, %r4, 4; add.s64 %x3, %x1, %x2; ld.global.u32 %r8, [%x3];\n"
             "st.shared.u32 [%r7], %r8; bar.sync 0;\n"
             "sub.s32 %r9, %r2, %r3; sub.s32 %r9, %r9, 1; shl.b32 %r9, %r9, 2;\n"
             "add.s32 %r9, %r5, %r9; ld.shared.u32 %r10, [%r9]; bar.sync 0;\n"
             "add.u32 %r10, %r10, %r8; st.global.u32 [%x3], %r10; ret;\n}\n");
    uint32_t data[256];
    for (uint32_t i = 0; i < 256; i++) {
        data[i] = i * i;
    }
    const uint32_t *params = data;
    struct harness_launch launch = {{2}, {128}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0, "%s", harness_message());
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t j = i / 128 * 128 + 127 - i % 128;
        cr_assert(data[i] == i * i + j * j, "%u: %u", i, data[i]);
    }
    cr_assert(harness_kernel(h)->block == NULL);
    harness_free(h);
}

Test(jit_kernels, loops_with_barriers_keep_registers)
{
    // Tree reduction in dynamic shared memory through generic addresses.
    struct harness *h = must_compile(
        HEAD ".extern .shared .align 16 .b8 dyn[];\n"
             ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n" REGS
             "ld.param.u64 %x1, [in]; ld.param.u64 %x2, [out];\n" INDEX
             "mul.wide.u32 %x3, %r4, 4; add.s64 %x3, %x1, %x3; ld.global.f32 %f1, [%x3];\n"
             "mov.u64 %x4, dyn; cvta.shared.u64 %x5, %x4; mul.wide.u32 %x6, %r3, 4;\n"
             "add.s64 %x7, %x5, %x6; st.f32 [%x7], %f1; shr.u32 %r5, %r2, 1;\n"
             "LOOP: bar.sync 0; setp.ge.u32 %p1, %r3, %r5; @%p1 bra NEXT;\n"
             "mul.wide.u32 %x8, %r5, 4; add.s64 %x9, %x7, %x8; ld.f32 %f2, [%x9];\n"
             "ld.f32 %f3, [%x7]; add.f32 %f3, %f3, %f2; st.f32 [%x7], %f3;\n"
             "NEXT: shr.u32 %r5, %r5, 1; setp.ne.u32 %p2, %r5, 0; @%p2 bra LOOP;\n"
             "setp.ne.u32 %p3, %r3, 0; @%p3 bra DONE; mul.wide.u32 %x10, %r1, 4;\n"
             "add.s64 %x10, %x2, %x10; ld.shared.f32 %f4, [%x4]; st.global.f32 [%x10], %f4;\n"
             "DONE: ret;\n}\n");
    float in[256], out[2] = {0, 0};
    for (int i = 0; i < 256; i++) {
        in[i] = (float)i;
    }
    struct {
        float *in, *out;
    } params = {in, out};
    struct harness_launch launch = {{2}, {128}, 512};
    cr_assert(harness_run(h, &launch, &params) == 0, "%s", harness_message());
    cr_assert(out[0] == 127 * 64 && out[1] == 24512, "%g %g", (double)out[0], (double)out[1]);
    harness_free(h);
}

Test(jit_kernels, recursion_and_depth_limit)
{
    static const char ptx[] =
        HEAD ".func (.param .b32 r) fib(.param .b32 n);\n"
             ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n" REGS
             "ld.param.u64 %x1, [p]; ld.param.u32 %r5, [n];\n"
             "{ .param .b32 a0; st.param.b32 [a0+0], %r5; .param .b32 r0;\n"
             "call.uni (r0), fib, (a0); ld.param.b32 %r6, [r0+0]; }\n"
             "st.global.u32 [%x1], %r6; ret;\n}\n"
             ".func (.param .b32 r) fib(.param .b32 n)\n{\n" REGS
             "ld.param.u32 %r1, [n]; mov.u32 %r2, %r1; setp.lt.s32 %p1, %r1, 2; @%p1 bra DONE;\n"
             "sub.s32 %r3, %r1, 1;\n"
             "{ .param .b32 a; st.param.b32 [a+0], %r3; .param .b32 b; call.uni (b), fib, (a);\n"
             "ld.param.b32 %r4, [b+0]; }\n"
             "sub.s32 %r5, %r1, 2;\n"
             "{ .param .b32 a; st.param.b32 [a+0], %r5; .param .b32 b; call.uni (b), fib, (a);\n"
             "ld.param.b32 %r6, [b+0]; }\n"
             "add.s32 %r2, %r4, %r6;\n"
             "DONE: st.param.b32 [r+0], %r2; ret;\n}\n";
    struct harness *h = must_compile(ptx);
    uint32_t out = 0;
    struct {
        uint32_t *p;
        uint32_t n;
    } params = {&out, 15};
    struct harness_launch launch = {{1}, {1}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0, "%s", harness_message());
    cr_assert(out == 610, "%u", out);
    params.n = 1000000;
    cr_assert(harness_run(h, &launch, &params) == -1);
    cr_assert(strstr(harness_message(), "stack overflow") != NULL, "%s", harness_message());
    harness_free(h);
}

Test(jit_kernels, recursion_with_barrier_inside)
{
    // down(n): sums 1..n of every thread, with a barrier at each depth.
    static const char ptx[] =
        HEAD ".func (.param .b32 r) down(.param .b32 n);\n"
             ".visible .entry k(.param .u64 p)\n{\n" REGS "ld.param.u64 %x1, [p];\n" INDEX
             "{ .param .b32 a0; st.param.b32 [a0+0], 5; .param .b32 r0;\n"
             "call.uni (r0), down, (a0); ld.param.b32 %r6, [r0+0]; }\n"
             "add.u32 %r6, %r6, %r4; mul.wide.u32 %x2, %r4, 4; add.s64 %x1, %x1, %x2;\n"
             "st.global.u32 [%x1], %r6; ret;\n}\n"
             ".func (.param .b32 r) down(.param .b32 n)\n{\n" REGS ".local .align 4 .b8 keep[4];\n"
             "ld.param.u32 %r1, [n]; st.local.u32 [keep], %r1; mov.u32 %r2, 0;\n"
             "setp.eq.s32 %p1, %r1, 0; @%p1 bra DONE; bar.sync 0;\n"
             "sub.s32 %r3, %r1, 1;\n"
             "{ .param .b32 a; st.param.b32 [a+0], %r3; .param .b32 b; call.uni (b), down, (a);\n"
             "ld.param.b32 %r4, [b+0]; }\n"
             "ld.local.u32 %r5, [keep]; add.s32 %r2, %r4, %r5; bar.sync 0;\n"
             "DONE: st.param.b32 [r+0], %r2; ret;\n}\n";
    struct harness *h = must_compile(ptx);
    uint32_t out[32] = {0};
    uint32_t *params = out;
    struct harness_launch launch = {{1}, {32}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0, "%s", harness_message());
    for (uint32_t i = 0; i < 32; i++) {
        cr_assert(out[i] == 15 + i, "%u: %u", i, out[i]);
    }
    harness_free(h);
}

Test(jit_kernels, function_pointers)
{
    static const char ptx[] =
        HEAD ".func (.param .b32 r) twice(.param .b32 n)\n{\n" REGS
             "ld.param.u32 %r1, [n]; shl.b32 %r1, %r1, 1; st.param.b32 [r+0], %r1; ret;\n}\n"
             ".func (.param .b32 r) square(.param .b32 n)\n{\n" REGS
             "ld.param.u32 %r1, [n]; mul.lo.s32 %r1, %r1, %r1; st.param.b32 [r+0], %r1; ret;\n}\n"
             ".global .align 8 .u64 table[2] = {twice, square};\n"
             ".visible .entry k(.param .u64 p, .param .u64 bad)\n{\n" REGS
             "ld.param.u64 %x1, [p]; ld.param.u64 %x9, [bad];\n" INDEX
             "and.b32 %r5, %r4, 1; mul.wide.u32 %x2, %r5, 8; mov.u64 %x3, table;\n"
             "add.s64 %x3, %x3, %x2; ld.global.u64 %x4, [%x3]; add.s64 %x4, %x4, %x9;\n"
             "{ .param .b32 a0; st.param.b32 [a0+0], %r4; .param .b32 r0;\n"
             "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
             "call (r0), %x4, (a0), proto; ld.param.b32 %r6, [r0+0]; }\n"
             "mul.wide.u32 %x5, %r4, 4; add.s64 %x5, %x1, %x5; st.global.u32 [%x5], %r6; ret;\n}\n";
    struct harness *h = must_compile(ptx);
    uint32_t out[8] = {0};
    struct {
        uint32_t *p;
        uint64_t bad;
    } params = {out, 0};
    struct harness_launch launch = {{1}, {8}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0, "%s", harness_message());
    for (uint32_t i = 0; i < 8; i++) {
        cr_assert(out[i] == (i % 2 ? i * i : 2 * i), "%u: %u", i, out[i]);
    }
    params.bad = 3;
    cr_assert(harness_run(h, &launch, &params) == -1);
    cr_assert(strstr(harness_message(), "invalid function pointer") != NULL, "%s",
              harness_message());
    harness_free(h);
}

Test(jit_kernels, shuffles_votes_and_masks)
{
    struct harness *h = must_compile(
        HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS "ld.param.u64 %x1, [p];\n" INDEX
             "mul.lo.s32 %r5, %r4, 10; shfl.sync.down.b32 %r6|%p1, %r5, 1, 31, -1;\n"
             "shfl.sync.bfly.b32 %r7, %r5, 33, 31, -1;\n"
             "and.b32 %r8, %r4, 1; setp.ne.u32 %p2, %r8, 0;\n"
             "vote.sync.ballot.b32 %r9, %p2, -1; vote.sync.any.pred %p3, %p2, -1;\n"
             "mov.u32 %r10, %laneid; mov.u32 %r11, %lanemask_lt;\n"
             "selp.u32 %r12, 1, 0, %p1; selp.u32 %r13, 1, 0, %p3;\n"
             "mul.wide.u32 %x2, %r4, 32; add.s64 %x3, %x1, %x2;\n"
             "st.global.v4.u32 [%x3], {%r6, %r7, %r9, %r10};\n"
             "st.global.v4.u32 [%x3+16], {%r11, %r12, %r13, %r4}; ret;\n}\n");
    static uint32_t out[64][8];
    uint32_t(*params)[8] = out;
    struct harness_launch launch = {{1}, {64}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0, "%s", harness_message());
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t lane = i % 32, want[8] = {lane == 31 ? i * 10 : (i + 1) * 10,
                                           (i ^ 1) * 10,
                                           0xaaaaaaaa,
                                           lane,
                                           (1u << lane) - 1,
                                           lane != 31,
                                           1,
                                           i};
        cr_assert(memcmp(out[i], want, sizeof(want)) == 0, "thread %u: %u %u %x %u %x %u %u %u", i,
                  out[i][0], out[i][1], out[i][2], out[i][3], out[i][4], out[i][5], out[i][6],
                  out[i][7]);
    }
    harness_free(h);
}

Test(jit_kernels, atomics)
{
    struct harness *h = must_compile(
        HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS ".shared .align 8 .b8 s[16];\n"
             "ld.param.u64 %x1, [p];\n" INDEX
             "atom.global.add.u32 %r5, [%x1], 1; red.global.add.f32 [%x1+4], 0f3F000000;\n"
             "atom.global.inc.u32 %r6, [%x1+8], 9; atom.global.dec.u32 %r6, [%x1+12], 9;\n"
             "atom.global.max.s32 %r6, [%x1+16], %r4; atom.global.min.u32 %r6, [%x1+20], %r4;\n"
             "atom.global.or.b32 %r6, [%x1+24], %r4; atom.global.xor.b32 %r6, [%x1+28], %r4;\n"
             "atom.global.and.b32 %r6, [%x1+32], -2; atom.global.exch.b32 %r6, [%x1+36], 7;\n"
             "atom.global.cas.b32 %r6, [%x1+40], 91, 100; cvt.u64.u32 %x2, %r4;\n"
             "red.global.add.u64 [%x1+48], %x2; red.global.add.f64 [%x1+56], 0d3FF0000000000000;\n"
             "mov.b32 %r8, 0x3c003800; red.global.add.noftz.f16x2 [%x1+64], %r8;\n"
             "mov.b16 %h1, 0x3f80; red.global.add.noftz.bf16 [%x1+68], %h1;\n"
             "atom.shared.add.u32 %r7, [s], 1; setp.ne.u32 %p1, %r4, 0;\n"
             "@%p1 bra DONE; st.global.u32 [%x1+72], %r7; DONE: ret;\n}\n");
    _Alignas(8) unsigned char m[80] = {0};
    uint32_t *w = (uint32_t *)(void *)m;
    w[3] = 3;
    w[4] = (uint32_t)-5;
    w[5] = 50;
    w[8] = 0xff;
    w[10] = 91;
    void *params = m;
    struct harness_launch launch = {{1}, {25}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0, "%s", harness_message());
    float f;
    double d;
    uint64_t q;
    memcpy(&f, m + 4, 4);
    memcpy(&q, m + 48, 8);
    memcpy(&d, m + 56, 8);
    cr_expect(w[0] == 25 && f == 12.5f);
    cr_expect(w[2] == 25 % 10, "inc %u", w[2]);
    cr_expect(w[3] == 8, "dec %u", w[3]); // 3 2 1 0 9 8 … : 25 steps from 3, modulo 10
    cr_expect(w[4] == 24 && w[5] == 0 && w[6] == 31 && w[7] == 24, "%u %u %u %u", w[4], w[5], w[6],
              w[7]);
    cr_expect(w[8] == 0xfe && w[9] == 7 && w[10] == 100);
    cr_expect(q == 300 && d == 25);
    cr_expect(w[16] == 0x4e404a40, "f16x2 %08x", w[16]); // 25.0 and 12.5
    cr_expect((w[17] & 0xffff) == 0x41c8, "bf16 %08x", w[17]);
    harness_free(h);
}

Test(jit_kernels, runtime_calls)
{
    static const char ptx[] =
        HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
             ".extern .func (.param .b64 r) malloc(.param .b64 n);\n"
             ".extern .func free(.param .b64 p);\n"
             ".global .align 1 .b8 text[4] = {104, 105, 10};\n"
             ".visible .entry k(.param .u64 p)\n{\n" REGS
             "ld.param.u64 %x1, [p]; mov.u64 %x2, text; cvta.global.u64 %x2, %x2;\n"
             "{ .param .b64 a; st.param.b64 [a+0], %x2; .param .b64 b; st.param.b64 [b+0], 0;\n"
             ".param .b32 r; call.uni (r), vprintf, (a, b); ld.param.b32 %r1, [r+0]; }\n"
             "{ .param .b64 a; st.param.b64 [a+0], 16; .param .b64 r; call.uni (r), malloc, (a);\n"
             "ld.param.b64 %x3, [r+0]; }\n"
             "mov.u32 %r2, 77; st.u32 [%x3], %r2; ld.u32 %r3, [%x3];\n"
             "{ .param .b64 a; st.param.b64 [a+0], %x3; call.uni free, (a); }\n"
             "st.global.u32 [%x1], %r3; ret;\n}\n";
    struct harness *h = must_compile(ptx);
    uint32_t out = 0, *params = &out;
    struct harness_launch launch = {{1}, {2}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0, "%s", harness_message());
    cr_expect(out == 77);
    cr_expect(strcmp(harness_printed(h), "hi\nhi\n") == 0, "%s", harness_printed(h));
    cr_expect(harness_kernel(h)->uses_printf && harness_kernel(h)->uses_malloc);
    harness_free(h);
}

Test(jit_kernels, trap_names_the_thread)
{
    struct harness *h = must_compile(HEAD ".visible .entry k()\n{\n" REGS INDEX
                                          "setp.ne.u32 %p1, %r3, 5; @%p1 ret; trap; ret;\n}\n");
    struct harness_launch launch = {{1}, {8}, 0};
    cr_assert(harness_run(h, &launch, NULL) == -1);
    cr_assert(strstr(harness_message(), "thread 5") != NULL, "%s", harness_message());
    harness_free(h);
}

Test(jit_kernels, local_arrays_constants_and_tables)
{
    struct harness *h = must_compile(
        HEAD
        ".const .align 4 .u32 weights[4] = {1, 10, 100, 1000};\n"
        ".visible .entry k(.param .u64 p)\n{\n" REGS
        ".local .align 16 .b8 depot[16]; .reg .b64 %SP, %SPL;\n"
        "mov.u64 %SPL, depot; cvta.local.u64 %SP, %SPL; ld.param.u64 %x1, [p];\n" INDEX
        "and.b32 %r5, %r4, 3; mul.wide.u32 %x2, %r5, 4; mov.u64 %x3, weights;\n"
        "add.s64 %x3, %x3, %x2; ld.const.u32 %r6, [%x3]; st.u32 [%SP+8], %r6;\n"
        "add.s64 %x4, %SPL, 8; ld.local.u32 %r7, [%x4]; mov.u32 %r8, 0;\n"
        "ts: .branchtargets A, B, C;\n"
        "rem.u32 %r9, %r4, 3; brx.idx %r9, ts;\n"
        "A: add.u32 %r8, %r7, 1; bra.uni END;\nB: add.u32 %r8, %r7, 2; bra.uni END;\n"
        "C: add.u32 %r8, %r7, 3;\n"
        "END: isspacep.local %p1, %SP; isspacep.global %p2, %x1; isspacep.global %p3, %SP;\n"
        "selp.u32 %r10, 10000, 0, %p1; add.u32 %r8, %r8, %r10;\n"
        "selp.u32 %r10, 20000, 0, %p2; add.u32 %r8, %r8, %r10;\n"
        "selp.u32 %r10, 40000, 0, %p3; add.u32 %r8, %r8, %r10;\n"
        "mul.wide.u32 %x5, %r4, 4; add.s64 %x5, %x1, %x5; st.global.u32 [%x5], %r8; ret;\n}\n");
    static const uint32_t weights[4] = {1, 10, 100, 1000};
    uint32_t *out = calloc(16, 4), *params = out;
    struct harness_launch launch = {{2}, {8}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0, "%s", harness_message());
    for (uint32_t i = 0; i < 16; i++) {
        cr_expect(out[i] == weights[i % 4] + i % 3 + 1 + 30000, "%u: %u", i, out[i]);
    }
    free(out);
    harness_free(h);
}

Test(jit_kernels, three_dimensional_thread_ids)
{
    struct harness *h = must_compile(
        HEAD
        ".visible .entry k(.param .u64 p)\n{\n" REGS
        "ld.param.u64 %x1, [p]; mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; mov.u32 %r3, %tid.z;\n"
        "mov.u32 %r4, %ntid.x; mov.u32 %r5, %ntid.y; mad.lo.u32 %r6, %r3, %r5, %r2;\n"
        "mad.lo.u32 %r6, %r6, %r4, %r1; mul.lo.u32 %r7, %r2, 100; add.u32 %r7, %r7, %r1;\n"
        "mad.lo.u32 %r7, %r3, 10000, %r7; mul.wide.u32 %x2, %r6, 4; add.s64 %x2, %x1, %x2;\n"
        "st.global.u32 [%x2], %r7; ret;\n}\n");
    uint32_t out[24], *params = out;
    struct harness_launch launch = {{1}, {4, 3, 2}, 0};
    cr_assert(harness_run(h, &launch, &params) == 0);
    for (uint32_t i = 0; i < 24; i++) {
        cr_expect(out[i] == i / 12 * 10000 + i / 4 % 3 * 100 + i % 4, "%u: %u", i, out[i]);
    }
    harness_free(h);
}

Test(jit_kernels, messages_name_the_line)
{
    struct harness *h = harness_compile(HEAD ".visible .entry k()\n{\n .reg .b32 %r<4>;\n"
                                             " add.foo.s32 %r1, %r2, %r3;\n ret;\n}\n",
                                        NULL);
    cr_assert(h == NULL);
    cr_assert(strstr(harness_message(), "test.ptx:7") != NULL, "%s", harness_message());
}

static void *compile_many(void *result)
{
    for (int i = 0; i < 4; i++) {
        struct harness_op op = {"b32", "b32", NULL, "b32", NULL, "fma.rn.f32 d, a, b, a;"};
        float a[8], b[8], d[8];
        for (int k = 0; k < 8; k++) {
            a[k] = (float)k;
            b[k] = (float)i;
        }
        if (harness_map(&op, 8, a, b, NULL, d, NULL) != 0) {
            return result;
        }
        for (int k = 0; k < 8; k++) {
            *(int *)result += d[k] == a[k] * b[k] + a[k];
        }
    }
    return result;
}

Test(jit_kernels, threads_compile_in_parallel)
{
    pthread_t threads[4];
    int right[4] = {0};
    for (int i = 0; i < 4; i++) {
        pthread_create(&threads[i], NULL, compile_many, &right[i]);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(threads[i], NULL);
        cr_expect(right[i] == 32, "%d", right[i]);
    }
}
