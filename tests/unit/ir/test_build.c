// SPDX-License-Identifier: Apache-2.0
//
// Instructions -> operations: which operation with which type, flags and operands each family
// becomes. A row's texts must all be found in the printed unit; the unit passes ir_verify.
#include "ir_test.h"

TestSuite(build, .timeout = 60);

struct row {
    const char *body;
    const char *wanted[6];
};

static void check_rows(const struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        struct built built = build_kernel(".global .align 16 .b8 out[64];\n.shared .b64 bar;\n"
                                          ".shared .align 16 .b8 sh[64];\n",
                                          rows[i].body);
        char *text = printed(&built);
        for (size_t n = 0; n < 6 && rows[i].wanted[n] != NULL; n++) {
            cr_expect(strstr(text, rows[i].wanted[n]) != NULL, "%s\nlacks: %s\nin:\n%s",
                      rows[i].body, rows[i].wanted[n], text);
        }
        free(text);
        drop(&built);
    }
}
#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))
#define ST32 "st.global.u32 [out], %r9;"
#define ST64 "st.global.u64 [out], %rd9;"
#define LD "ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [n]; ld.global.u32 %r2, [%rd1];"           \
           "ld.global.u64 %rd2, [%rd1]; ld.global.u32 %r3, [%rd1+8]; ld.global.u16 %h1, [%rd1];" \
           "ld.global.f32 %f1, [%rd1]; ld.global.f32 %f2, [%rd1+4]; ld.global.f64 %d1, [%rd1];"   \
           "setp.eq.s32 %p1, %r1, 7;"

Test(build, integers)
{
    static const struct row rows[] = {
        { LD "add.s32 %r9, %r1, %r2;" ST32, { "add.i32.s v" } },
        { LD "add.sat.s32 %r9, %r1, %r2;" ST32, { "add.i32.s.sat" } },
        { LD "add.sat.u16x2 %r9, %r1, %r2;" ST32, { "unpack.i32", "not.i16", "min.i16 v" } },
        { LD "sub.sat.s8x4 %r9, %r1, %r2;" ST32, { "sub.i8.s.sat" } },
        { LD "add.cc.u32 %r4, %r1, %r2; addc.u32 %r9, %r3, 0;" ST32,
          { "add.i32.cc_out", "add.i32.cc_in" } },
        { LD "sub.cc.u32 %r4, %r1, %r2; subc.cc.u32 %r5, %r3, 0; subc.u32 %r9, %r4, %r5;" ST32,
          { "sub.i32.cc_out", "sub.i32.cc_out.cc_in" } },
        { LD "mad.lo.cc.u32 %r4, %r1, %r2, %r3; madc.hi.u32 %r9, %r1, %r2, %r4;" ST32,
          { "add.i32.cc_out", "mul.i32.hi", "add.i32.cc_in" } },
        { LD "mul.wide.s32 %rd9, %r1, %r2;" ST64, { "mul_wide.i32.s v" } },
        { LD "mul.hi.u64 %rd9, %rd1, %rd2;" ST64, { "mul.i64.hi" } },
        { LD "mad.wide.u16 %r9, %h1, %h1, %r1;" ST32, { "mul_wide.i16 v", "add.i32 v" } },
        { LD "mad.hi.sat.s32 %r9, %r1, %r2, %r3;" ST32, { "mul.i32.s.hi", "add.i32.s.sat" } },
        { LD "mul24.hi.s32 %r9, %r1, %r2;" ST32, { "shl.i32", "shr.i32.s", "shr.i64.s" } },
        { LD "sad.u32 %r9, %r1, %r2, %r3;" ST32, { "max.i32", "min.i32", "sub.i32", "add.i32" } },
        { LD "div.s32 %r9, %r1, %r2;" ST32, { "div.i32.s" } },
        { LD "rem.u64 %rd9, %rd1, %rd2;" ST64, { "rem.i64" } },
        { LD "min.s16x2 %r9, %r1, %r2;" ST32, { "unpack.i32", "min.i16.s", "pack.i32" } },
        { LD "max.relu.s32 %r9, %r1, %r2;" ST32, { "max.i32.s v", ", 0x0" } },
        { LD "dp4a.u32.s32 %r9, %r1, %r2, %r3;" ST32, { "dp4a.i32.ss" } },
        { LD "dp2a.hi.s32.u32 %r9, %r1, %r2, %r3;" ST32, { "dp2a.i32.s.hi" } },
        { LD "bfe.s64 %rd9, %rd1, %r1, 8;" ST64, { "bfe.i64.s", "0x8" } },
        { LD "bfi.b32 %r9, %r1, %r2, 4, 5;" ST32, { "bfi.i32", "0x4, 0x5" } },
        { LD "bfind.shiftamt.s32 %r9, %r1;" ST32, { "bfind.i32.s.shiftamt" } },
        { LD "popc.b64 %r9, %rd2;" ST32, { "popc.i64" } },
        { LD "shf.r.wrap.b32 %r9, %r1, %r2, %r3;" ST32, { "shf_r.i32.wrap" } },
        { LD "prmt.b32.b4e %r9, %r1, %r2, %r3;" ST32, { "prmt.i32.2" } },
        { LD "lop3.b32 %r9, %r1, %r2, %r3, 0x96;" ST32, { "lop3.i32", "+150" } },
        { LD "lop3.or.b32 %r9|%p2, %r1, %r2, %r3, 0x96, %p1; selp.b32 %r9, %r9, 1, %p2;" ST32,
          { "lop3.i32", "setp.i32.ne", "or.i1" } },
        { LD "cnot.b32 %r9, %r1;" ST32, { "setp.i32.eq", "cvt.i32.i1" } },
        { LD "shr.s64 %rd9, %rd2, %r1;" ST64, { "shr.i64.s" } },
        { LD "szext.wrap.s32 %r9, %r1, %r2; bmsk.clamp.b32 %r9, %r9, %r2;" ST32,
          { "szext.i32.s.wrap", "bmsk.i32 v" } },
        { LD "fns.b32 %r9, %r1, %r2, %r3;" ST32, { "fns.i32" } },
    };
    CHECK(rows);
}

Test(build, floats)
{
    static const struct row rows[] = {
        { LD "add.rz.ftz.sat.f32 %f3, %f1, %f2; st.global.f32 [out], %f3;",
          { "add.f32.rz.ftz.sat" } },
        { LD "fma.rp.f64 %d2, %d1, %d1, 0d3FF0000000000000; st.global.f64 [out], %d2;",
          { "fma.f64.rp", "0x3ff0000000000000" } },
        { LD "mad.rn.f32 %f3, %f1, %f2, 0f3F800000; st.global.f32 [out], %f3;",
          { "fma.f32", "0x3f800000" } },
        { LD "fma.rn.relu.f16x2 %r9, %r1, %r2, %r3;" ST32, { "unpack.i32", "fma.f16.relu" } },
        { LD "add.rn.bf16x2 %r9, %r1, %r2;" ST32, { "add.bf16" } },
        { LD "add.rn.f32x2 %rd9, %rd2, %rd1;" ST64, { "unpack.i64", "add.f32", "pack.i64" } },
        { LD "min.ftz.NaN.xorsign.abs.f32 %f3, %f1, %f2; st.global.f32 [out], %f3;",
          { "min.f32.ftz.NaN.xorsign.abs" } },
        { LD "max.f32 %f3, %f1, %f2, 0f00000000; st.global.f32 [out], %f3;",
          { "max.f32 v", ", 0x0" } },
        { LD "div.full.ftz.f32 %f3, %f1, %f2; st.global.f32 [out], %f3;", { "div.f32.ftz.full" } },
        { LD "div.rn.f64 %d2, %d1, 2.0; st.global.f64 [out], %d2;",
          { "div.f64", "0x4000000000000000" } },
        { LD "rsqrt.approx.ftz.f64 %d2, %d1; st.global.f64 [out], %d2;",
          { "rsqrt.f64.ftz.approx" } },
        { LD "ex2.approx.ftz.bf16x2 %r9, %r1;" ST32, { "ex2.bf16.ftz.approx" } },
        { LD "tanh.approx.f16 %h2, %h1; st.global.u16 [out], %h2;", { "tanh.f16.approx" } },
        { LD "copysign.f32 %f3, %f1, %f2; st.global.f32 [out], %f3;",
          { "and.i32", "0x80000000", "0x7fffffff", "or.i32" } },
        { LD "testp.subnormal.f64 %p2, %d1; selp.b32 %r9, 1, 0, %p2;" ST32, { "testp.f64.5" } },
        { LD "abs.ftz.f32 %f3, %f1; neg.f32 %f3, %f3; st.global.f32 [out], %f3;",
          { "abs.f32.ftz", "neg.f32" } },
    };
    CHECK(rows);
}

Test(build, comparison)
{
    static const struct row rows[] = {
        { LD "setp.lo.u32 %p2, %r1, %r2; selp.b32 %r9, 1, 2, %p2;" ST32,
          { "setp.i32.lt v", "select.i32 0x1, 0x2" } },
        { LD "setp.gtu.ftz.f32 %p2, %f1, %f2; selp.b32 %r9, 1, 2, %p2;" ST32,
          { "setp.f32.gtu.ftz" } },
        { LD "setp.lt.and.s32 %p2|%p3, %r1, %r2, !%p1; selp.b32 %r8, 1, 2, %p2;"
             "selp.b32 %r9, %r8, 4, %p3;" ST32,
          { "setp.i32.lt.s", "not.i1", "and.i1" } },
        { LD "set.lt.f32.s32 %f3, %r1, %r2; st.global.f32 [out], %f3;",
          { "select.i32 0x3f800000, 0x0" } },
        { LD "set.eq.xor.u32.f32 %r9, %f1, %f2, %p1;" ST32,
          { "setp.f32.eq", "xor.i1", "0xffffffff" } },
        { LD "set.gt.f16x2.f16x2 %r9, %r1, %r2;" ST32, { "setp.f16.gt", "0x3c00", "pack.i32" } },
        { LD "slct.ftz.u32.f32 %r9, %r1, %r2, %f1;" ST32, { "setp.f32.ge.ftz" } },
        { LD "setp.ne.f16x2 %p2|%p3, %r1, %r2; selp.b32 %r8, 1, 2, %p2;"
             "selp.b32 %r9, %r8, 4, %p3;" ST32,
          { "unpack.i32", "setp.f16.ne" } },
    };
    CHECK(rows);
}

Test(build, conversion)
{
    static const struct row rows[] = {
        { LD "cvt.s32.s8 %r9, %r1;" ST32, { "cvt.i8.i32", "cvt.i32.i8.s.ss" } },
        { LD "cvt.u8.u32 %r9, %r1;" ST32, { "cvt.i8.i32", "cvt.i32.i8 v" } },
        { LD "cvt.s8.s32 %r9, %r1;" ST32, { "cvt.i32.i8.s.ss" } },
        { LD "cvt.sat.u8.s32 %r9, %r1;" ST32, { "cvt.i8.i32.ss.sat" } },
        { LD "cvt.rzi.s32.f32 %r9, %f1;" ST32, { "cvt.i32.f32.rzi.s" } },
        { LD "cvt.rn.f16.f32 %h2, %f1; st.global.u16 [out], %h2;", { "cvt.f16.f32" } },
        { LD "cvt.rn.relu.bf16x2.f32 %r9, %f1, %f2;" ST32, { "cvt.bf16.f32.relu", "pack.i32" } },
        { LD "cvt.rn.satfinite.e4m3x2.f32 %h2, %f1, %f2; st.global.u16 [out], %h2;",
          { "cvt.e4m3.f32.satfinite", "pack.i16" } },
        { LD "cvt.rn.f16x2.e5m2x2 %r9, %h1;" ST32, { "unpack.i16", "cvt.f16.e5m2" } },
        { LD "cvt.rna.tf32.f32 %r9, %f1;" ST32, { "cvt.tf32.f32.rna" } },
        { LD "cvt.pack.sat.u8.s32.b32 %r9, %r1, %r2, %r3;" ST32, { "max.i32.s", "0xff", "0x10" } },
        { LD "cvt.rni.ftz.f32.f32 %f3, %f1; st.global.f32 [out], %f3;",
          { "cvt.f32.f32.rni.ftz" } },
        { LD "mov.b64 {%r4, %r5}, %rd2; mov.b64 %rd9, {%r5, %r4};" ST64,
          { "unpack.i64", "pack.i64" } },
        { LD "mov.b128 %q1, {%rd1, %rd2}; mov.b128 {%rd3, %rd9}, %q1;" ST64, { "st.i64.global" } },
        { LD "mov.u32 %r9, %tid.y;" ST32, { "sreg.i32.1 %tid" } },
        { LD "mov.b32 %r9, %lanemask_lt;" ST32, { "%lanemask_lt" } },
    };
    CHECK(rows);
}

Test(build, memory)
{
    static const struct row rows[] = {
        { LD "ld.global.s8 %r9, [%rd1+3];" ST32, { "ld.i8.global v", "+3", "cvt.i32.i8.s.ss" } },
        { LD "ld.global.nc.L1::no_allocate.v4.u32 {%r4, %r5, %r6, %r9}, [%rd1];" ST32,
          { " = ld.i32.global" } },
        { LD "ld.volatile.shared.u32 %r9, [sh+8];" ST32, { "ld.i32.shared.volatile 0x0 +8" } },
        { LD "ld.acquire.sys.global.u32 %r9, [%rd1];" ST32, { "ld.i32.global.acquire" } },
        { LD "mov.u64 %rd3, sh; cvta.shared.u64 %rd9, %rd3;" ST64, { "cvta.i64.shared 0x0" } },
        { LD "ld.param.v2.u32 {%r4, %r9}, [s+8];" ST32, { "ld.i32.param +24" } },
        { LD "mov.b64 %rd3, s; cvta.param.u64 %rd4, %rd3; ld.param.u32 %r9, [%rd3+4];" ST32,
          { "param_address.i64.param +16" } },
        { LD "atom.global.add.u32 %r9, [%rd1], %r1;" ST32, { "atom.i32.add.global.relaxed" } },
        { LD "atom.acq_rel.gpu.global.cas.b16 %h2, [%rd1], %h1, 7; st.global.u16 [out], %h2;",
          { "atom.i16.cas.global.acq_rel" } },
        { LD "red.global.add.noftz.f16x2 [%rd1], %r1;", { "    atom.f16x2.add.global" } },
        { LD "atom.global.v2.f32.add {%f3, %f4}, [%rd1], {%f1, %f2}; st.global.f32 [out], %f4;",
          { "atom.f32.add.global", "+4" } },
        { LD "atom.global.b128.exch %q1, [%rd1], %q2; mov.b128 {%rd3, %rd9}, %q1;" ST64,
          { "atom.i128.exch" } },
        { LD "membar.gl; fence.acq_rel.sys;", { "fence.generic.sc", "fence.generic.acq_rel" } },
        { LD "prefetch.global.L2 [%rd1]; discard.global.L2 [%rd1], 128;", { "ret" } },
        { LD "cp.async.cg.shared.global [sh], [%rd1], 16; cp.async.wait_all;",
          { "ld.i64.global", "st.i64.shared" } },
        { LD "cp.async.ca.shared.global [sh], [%rd1], 4, %r1;",
          { "ld.i8.global", "st.i32.shared" } },
        { LD "mbarrier.init.shared.b64 [bar], %r1; mbarrier.arrive.shared.b64 %rd3, [bar];"
             "W: mbarrier.test_wait.shared.b64 %p2, [bar], %rd3; @!%p2 bra W;",
          { "st.i64.shared.volatile", "spin", "suspend" } },
        { LD "isspacep.shared %p2, %rd1; selp.b32 %r9, 1, 0, %p2;" ST32,
          { "isspacep.i64.shared" } },
    };
    CHECK(rows);
}

Test(build, threads)
{
    static const struct row rows[] = {
        { LD "bar.sync 0;", { "request.i32.1 0x0, 0x0, -, -", "suspend 1", "resume 1" } },
        { LD "barrier.sync 3, 64;", { "request.i32.1 0x3, 0x40, -, -" } },
        { LD "bar.red.popc.u32 %r9, 1, %p1;" ST32, { "request.i32.1 0x1, 0x0, v" } },
        { LD "bar.red.and.pred %p2, 1, 64, !%p1; selp.b32 %r9, 1, 0, %p2;" ST32,
          { "request.i32.1 0x1, 0x40, v", "request_result.i1" } },
        { LD "bar.arrive 2, 64;", { "barrier_arrive.i32 0x2, 0x40" } },
        { LD "bar.warp.sync 0xff;", { "request.i32.2 -, -, -, 0xff" } },
        { LD "shfl.sync.bfly.b32 %r9|%p2, %r1, 4, 31, -1; @%p2 add.s32 %r9, %r9, 1;" ST32,
          { "request.i32.3 v", "0x4, 0x1f, 0xffffffff", "request_result.i32" } },
        { LD "vote.sync.ballot.b32 %r9, %p1, -1;" ST32, { "request.i1.4" } },
        { LD "vote.all.pred %p2, %p1; selp.b32 %r9, 1, 0, %p2;" ST32, { "request.i1.9" } },
        { LD "match.all.sync.b64 %r9|%p2, %rd2, -1; @!%p2 mov.u32 %r9, 0;" ST32,
          { "request.i64.5", "0x40, -, 0xffffffff" } },
        { LD "redux.sync.min.s32 %r9, %r1, -1;" ST32, { "request.i32.6" } },
        { LD "elect.sync _|%p2, -1; selp.b32 %r9, 1, 0, %p2;" ST32, { "request.i32.7" } },
        { LD "activemask.b32 %r9;" ST32, { "request.i32.8" } },
        { LD "nanosleep.u32 100;", { "request.i32.11 0x64" } },
        { LD "trap;", { "trap \"trap\"", "unreachable" } },
        { LD "@%p1 exit; st.global.u32 [out], %r1;", { "exit" } },
    };
    CHECK(rows);
}

Test(build, video)
{
    static const struct row rows[] = {
        { LD "vadd.s32.u32.s32.sat %r9, %r1.b1, %r2.h1;" ST32, { "add.i64.s", "min.i64.s" } },
        { LD "vabsdiff4.u32.u32.u32.add %r9, %r1, %r2, %r3;" ST32, { "max.i64.s", "sub.i64" } },
        { LD "vmad.s32.s32.u32.sat.shr7 %r9, %r1.h0, -%r2.b0, %r3;" ST32,
          { "mul.i64", "neg.i64" } },
        { LD "vset.u32.s32.lt %r9, %r1, %r2;" ST32, { "setp.i64.lt.s" } },
        { LD "vsub2.s32.s32.s32 %r9.h1, %r1.h32, %r2, %r3;" ST32, { "sub.i64" } },
        { LD "vshl.u32.u32.u32.wrap %r9, %r1, %r2;" ST32, { "0x1f", "shl.i64" } },
    };
    CHECK(rows);
}

// A guard of an operation without effects is a selection, of any other a branch.
Test(build, guards)
{
    static const struct row rows[] = {
        { LD "mov.u32 %r9, 5; @%p1 add.s32 %r9, %r1, %r2;" ST32, { "select.i32 v" } },
        { LD "mov.u32 %r9, 5; @!%p1 ld.global.u32 %r9, [%rd1+16];" ST32, { "cbr", "phi.i32" } },
        { LD "@%p1 setp.eq.s32 %p1, %r1, %r2; selp.b32 %r9, 1, 0, %p1;" ST32, { "select.i1" } },
    };
    CHECK(rows);
}

Test(build, widths)
{
    static const struct row rows[] = {
        // A wider register is truncated, a narrower one is extended with zeros.
        { LD "add.u16 %h2, %r1, %h1; cvt.u32.u16 %r9, %h2;" ST32, { "cvt.i16.i32", "add.i16" } },
        { LD "ld.global.u8 %r9, [%rd1];" ST32, { "cvt.i32.i8 v" } },
        { LD "st.global.u8 [%rd1], %r1;", { "cvt.i8.i32", "st.i8.global" } },
    };
    CHECK(rows);
}
