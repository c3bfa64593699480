// SPDX-License-Identifier: Apache-2.0
//
// Known answers of PTX instructions, from the PTX ISA, from public reports about comparable systems,
// and worked out by hand. Rows with the same body run as one kernel.
#include <criterion/criterion.h>
#include <criterion/new/assert.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness.h"

struct row {
    const char *body, *a, *b, *c, *d, *e; // types as harness_op
    uint64_t in[3], out[2];
};

#define U32_1(body, x, d)                 \
    {                                     \
        body, "b32", 0, 0, "b32", 0, {x}, \
        {                                 \
            d                             \
        }                                 \
    }
#define U32_2(body, x, y, d)                     \
    {                                            \
        body, "b32", "b32", 0, "b32", 0, {x, y}, \
        {                                        \
            d                                    \
        }                                        \
    }
#define U32_3(body, x, y, z, d)                         \
    {                                                   \
        body, "b32", "b32", "b32", "b32", 0, {x, y, z}, \
        {                                               \
            d                                           \
        }                                               \
    }
#define U64_1(body, x, d)                 \
    {                                     \
        body, "b64", 0, 0, "b64", 0, {x}, \
        {                                 \
            d                             \
        }                                 \
    }
#define U64_2(body, x, y, d)                     \
    {                                            \
        body, "b64", "b64", 0, "b64", 0, {x, y}, \
        {                                        \
            d                                    \
        }                                        \
    }
#define U64_3(body, x, y, z, d)                         \
    {                                                   \
        body, "b64", "b64", "b64", "b64", 0, {x, y, z}, \
        {                                               \
            d                                           \
        }                                               \
    }
#define U16_1(body, x, d)                 \
    {                                     \
        body, "b16", 0, 0, "b16", 0, {x}, \
        {                                 \
            d                             \
        }                                 \
    }
#define U16_2(body, x, y, d)                     \
    {                                            \
        body, "b16", "b16", 0, "b16", 0, {x, y}, \
        {                                        \
            d                                    \
        }                                        \
    }
#define U16_3(body, x, y, z, d)                         \
    {                                                   \
        body, "b16", "b16", "b16", "b16", 0, {x, y, z}, \
        {                                               \
            d                                           \
        }                                               \
    }
#define M1 UINT64_C(0xffffffff)
#define M64 UINT64_MAX

static const struct row integers[] = {
    U32_2("add.s32 d, a, b;", 0xffffffff, 2, 1),
    U32_2("add.sat.s32 d, a, b;", 0x80000000, 0xffffffff, 0x80000000),
    U32_2("add.sat.s32 d, a, b;", 0x7fffffff, 1, 0x7fffffff),
    U32_2("sub.sat.s32 d, a, b;", 0x80000000, 1, 0x80000000),
    U16_2("add.u16 d, a, b;", 0xffff, 3, 2),
    U64_2("sub.u64 d, a, b;", 0, 1, M64),
    U32_2("mul.lo.u32 d, a, b;", 0x10001, 0x10001, 0x20001),
    U32_2("mul.hi.u32 d, a, b;", M1, M1, 0xfffffffe),
    U32_2("mul.hi.s32 d, a, b;", M1, M1, 0),
    U64_2("mul.hi.u64 d, a, b;", M64, M64, 0xfffffffffffffffe),
    U64_2("mul.hi.s64 d, a, b;", M64, 2, M64),
    {"mul.wide.s32 d, a, b;", "b32", "b32", 0, "b64", 0, {M1, 2}, {0xfffffffffffffffe}},
    {"mul.wide.u16 d, a, b;", "b16", "b16", 0, "b32", 0, {0xffff, 0xffff}, {0xfffe0001}},
    {"mad.wide.s32 d, a, b, c;",
     "b32",
     "b32",
     "b64",
     "b64",
     0,
     {M1, 3, 0x500000004},
     {21474836481}},
    U32_3("mad.lo.s32 d, a, b, c;", 3, M1, 10, 7),
    U32_3("mad.hi.u32 d, a, b, c;", 0x80000000, 4, 5, 7),
    U32_3("mad.hi.sat.s32 d, a, b, c;", 0x40000000, 0x40000000, 0x7fffffff, 0x7fffffff),
    U32_2("mul24.lo.u32 d, a, b;", 0xff000002, 0xff000003, 6),
    U32_2("mul24.hi.s32 d, a, b;", 0x00ffffff, 0x00000002, 0xffffffff),
    U32_3("mad24.lo.s32 d, a, b, c;", 0x00ffffff, 2, 5, 3),
    U32_2("div.u32 d, a, b;", 7, 0, M1),
    U32_2("div.s32 d, a, b;", 0x80000000, M1, 0x80000000),
    U32_2("div.s32 d, a, b;", (uint32_t)-7, 2, (uint32_t)-3),
    U32_2("div.s32 d, a, b;", 5, 0, M1),
    U64_2("div.s64 d, a, b;", UINT64_C(1) << 63, M64, UINT64_C(1) << 63),
    U64_2("rem.u64 d, a, b;", 17, 5, 2),
    U32_2("rem.s32 d, a, b;", (uint32_t)-7, 2, M1),
    U32_2("rem.s32 d, a, b;", 0x80000000, M1, 0),
    U32_1("abs.s32 d, a;", 0x80000000, 0x80000000),
    U32_1("abs.s32 d, a;", M1, 1),
    U16_1("neg.s16 d, a;", 1, 0xffff),
    U32_2("min.s32 d, a, b;", M1, 1, M1),
    U32_2("min.u32 d, a, b;", M1, 1, 1),
    U64_2("max.s64 d, a, b;", M64, 1, 1),
    U32_2("max.s16x2 d, a, b;", 0x0001ffff, 0xffff0002, 0x00010002),
    U32_2("add.u16x2 d, a, b;", 0xffff0001, 0x00020003, 0x00010004),
    U32_3("sad.s32 d, a, b, c;", 12, (uint32_t)-38, 915, 965),
    U32_3("sad.u32 d, a, b, c;", 1, 0xffffffff, 2, 0),
    U32_3("dp4a.s32.s32 d, a, b, c;", 0xff020304, 0x01010101, 10, 18),
    U32_3("dp4a.u32.u32 d, a, b, c;", 0xff020304, 0x01010101, 10, 274),
    U32_3("dp2a.lo.s32.s32 d, a, b, c;", 0xffff0002, 0x00000305, 1, 8),
    U32_3("dp2a.hi.u32.u32 d, a, b, c;", 0x00010002, 0x03050000, 1, 14),
    // carry chains (P4)
    {"add.cc.u32 d, a, b; addc.u32 e, 0, 0;",
     "b32",
     "b32",
     0,
     "b32",
     "b32",
     {0x62D0B1FD, 0xB632D4DF},
     {0x190386DC, 1}},
    {"add.cc.u32 %r1, 0xffffffff, 1; addc.cc.s32 d, a, b; addc.u32 e, 0, 0;",
     "b32",
     "b32",
     0,
     "b32",
     "b32",
     {0x62D0B1FD, 0xB632D4DF},
     {0x190386DD, 1}},
    {"sub.cc.u32 d, a, b; subc.u32 e, 5, 0;", "b32", "b32", 0, "b32", "b32", {1, 2}, {M1, 4}},
    {"mad.lo.cc.u32 d, a, b, c; madc.hi.u32 e, a, b, 0;",
     "b32",
     "b32",
     "b32",
     "b32",
     "b32",
     {M1, M1, M1},
     {0, 0xffffffff}},
    {"add.cc.u64 d, a, b; addc.u64 e, 0, 0;", "b64", "b64", 0, "b64", "b64", {M64, 1}, {0, 1}},
};

static const struct row bits[] = {
    U32_2("shl.b32 d, a, b;", 1, 31, 0x80000000),
    U32_2("shl.b32 d, a, b;", 1, 32, 0),
    U32_2("shr.s32 d, a, b;", 0x80000000, 40, M1),
    U32_2("shr.u32 d, a, b;", 0x80000000, 33, 0),
    {"shr.s64 d, a, b;", "b64", "b32", 0, "b64", 0, {UINT64_C(1) << 63, 64}, {M64}},
    {"shl.b16 d, a, b;", "b16", "b32", 0, "b16", 0, {1, 16}, {0}},
    U32_3("shf.l.wrap.b32 d, a, b, c;", 0x12345678, 0x12345678, 16, 0x56781234),
    U32_3("shf.l.clamp.b32 d, a, b, c;", 0x12345678, 0x9abcdef0, 40, 0x12345678),
    U32_3("shf.r.clamp.b32 d, a, b, c;", 0x12345678, 0x9abcdef0, 32, 0x9abcdef0),
    U32_3("shf.r.wrap.b32 d, a, b, c;", 0x12345678, 0x9abcdef0, 36, 0x01234567),
    U32_3("lop3.b32 d, a, b, c, 0x96;", 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x96969696),
    U32_3("lop3.b32 d, a, b, c, 0xe8;", 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0xe8e8e8e8),
    U32_3("lop3.b32 d, a, b, c, 0x1b;", 0xf0f0f0f0, 0xcccccccc, 0xaaaaaaaa, 0x1b1b1b1b),
    U32_3("prmt.b32 d, a, b, c;", 0x70c507d6, 0x6fbd4b5c, 0x7654, 0x6fbd4b5c),
    U32_3("prmt.b32 d, a, b, c;", 0x80c507d6, 0x6fbd4b5c, 0x000b, 0xd6d6d6ff),
    U32_3("prmt.b32.f4e d, a, b, c;", 0x33221100, 0x77665544, 1, 0x44332211),
    U32_3("prmt.b32.rc8 d, a, b, c;", 0x33221100, 0, 2, 0x22222222),
    U32_3("prmt.b32.rc16 d, a, b, c;", 0x33221100, 0, 1, 0x33223322),
    U32_3("bfe.u32 d, a, b, c;", 0x12345678, 8, 8, 0x56),
    U32_3("bfe.s32 d, a, b, c;", 0x1234a678, 8, 8, 0xffffffa6),
    U32_3("bfe.s32 d, a, b, c;", 0x80000000, 28, 8, 0xfffffff8),
    U32_3("bfe.s32 d, a, b, c;", 0x80000000, 40, 8, M1),
    U32_3("bfe.u32 d, a, b, c;", M1, 4, 0, 0),
    U32_3("bfe.s32 d, a, b, c;", M1, 4, 0, 0),
    {"bfe.u64 d, a, b, c;", "b64", "b32", "b32", "b64", 0, {M64, 60, 64}, {15}},
    U32_3("bfi.b32 d, a, b, c, 8;", 0xab, 0x12345678, 8, 0x1234ab78),
    U32_3("bfi.b32 d, a, b, c, 8;", 0xab, 0x12345678, 28, 0xb2345678),
    U32_3("bfi.b32 d, a, b, c, 0;", 0xab, 0x12345678, 8, 0x12345678),
    U32_1("bfind.u32 d, a;", 0, M1),
    U32_1("bfind.u32 d, a;", 0x00010000, 16),
    U32_1("bfind.s32 d, a;", M1, M1),
    U32_1("bfind.s32 d, a;", 0xfffffffe, 0),
    U32_1("bfind.shiftamt.u32 d, a;", 0, M1),
    U32_1("bfind.shiftamt.u32 d, a;", M1, 0),
    U32_1("bfind.shiftamt.u32 d, a;", 0x2cd1a4c1, 2),
    U32_2("bmsk.clamp.b32 d, a, b;", 24, 12, 0xff000000),
    U32_2("bmsk.wrap.b32 d, a, b;", 33, 3, 14),
    U32_2("bmsk.clamp.b32 d, a, b;", 0, 40, M1),
    U32_2("szext.clamp.s32 d, a, b;", 0x000000f8, 4, 0xfffffff8),
    U32_2("szext.wrap.u32 d, a, b;", 0xffffffff, 33, 1),
    U32_1("brev.b32 d, a;", 1, 0x80000000),
    U64_1("brev.b64 d, a;", 1, UINT64_C(1) << 63),
    U32_1("clz.b32 d, a;", 0, 32),
    {"clz.b64 d, a;", "b64", 0, 0, "b32", 0, {0}, {64}},
    {"popc.b64 d, a;", "b64", 0, 0, "b32", 0, {M64}, {64}},
    U32_3("fns.b32 d, a, b, c;", 0xaaaaaaaa, 3, 1, 3),
    U32_3("fns.b32 d, a, b, c;", 0xaaaaaaaa, 3, (uint32_t)-1, 3),
    U32_3("fns.b32 d, a, b, c;", 0xaaaaaaaa, 3, 2, 5),
    U32_3("fns.b32 d, a, b, c;", 0xaaaaaaaa, 2, 0, M1),
    U32_1("cnot.b32 d, a;", 0, 1),
    U32_1("cnot.b32 d, a;", 7, 0),
    U32_1("not.b32 d, a;", 7, ~7u),
    U32_2("and.b32 d, a, b;", 12, 10, 8),
    U64_2("xor.b64 d, a, b;", M64, 1, M64 - 1),
    U16_2("or.b16 d, a, b;", 12, 10, 14),
};

static const struct row floats[] = {
    U32_2("add.f32 d, a, b;", 0x3f800000, 0x40000000, 0x40400000),
    U32_2("add.f32 d, a, b;", 0x7f800000, 0xff800000, 0x7fffffff),
    U32_2("add.rz.f32 d, a, b;", 0x3f800000, 0x33ffffff, 0x3f800000),
    U32_2("add.rp.f32 d, a, b;", 0x3f800000, 0x33000000, 0x3f800001),
    U32_2("sub.rm.f32 d, a, b;", 0x3f800000, 0x3f800000, 0x80000000),
    U32_2("add.sat.f32 d, a, b;", 0x3f800000, 0x40000000, 0x3f800000),
    U32_2("add.sat.f32 d, a, b;", 0x7fc00000, 0x40000000, 0),
    U32_2("add.ftz.f32 d, a, b;", 0x00000001, 0x80000001, 0),
    U32_2("mul.ftz.f32 d, a, b;", 0x80800000, 0x3f000000, 0x80000000),
    U32_2("mul.f32 d, a, b;", 0x80800000, 0x3f000000, 0x80400000),
    U32_3("fma.rn.f32 d, a, b, c;", 0x3f800001, 0x3f800001, 0xbf800002, 0x28800000),
    U32_3("fma.rp.f32 d, a, b, c;", 0x3f800000, 0x3f800000, 0x00000001, 0x3f800001),
    U32_2("div.rn.f32 d, a, b;", 0x3f800000, 0x40400000, 0x3eaaaaab),
    U32_2("div.rz.f32 d, a, b;", 0x3f800000, 0x40400000, 0x3eaaaaaa),
    U32_2("div.approx.f32 d, a, b;", 0x3f800000, 0x7e800000, 0x00800000),
    U32_2("div.approx.f32 d, a, b;", 0x3f800000, 0x7f000000, 0),
    U32_2("div.approx.f32 d, a, b;", 0x7f800000, 0x7f000000, 0x7fffffff),
    U32_1("rcp.rn.f32 d, a;", 0x80000000, 0xff800000),
    U32_1("sqrt.rn.f32 d, a;", 0x40000000, 0x3fb504f3),
    U32_1("sqrt.rp.f32 d, a;", 0x40000000, 0x3fb504f4),
    U32_1("sqrt.rn.ftz.f32 d, a;", 1, 0),
    U32_1("sqrt.rn.f32 d, a;", 0xbf800000, 0x7fffffff),
    U32_1("rsqrt.approx.f32 d, a;", 0x40800000, 0x3f000000),
    U32_1("rsqrt.approx.ftz.f32 d, a;", 0x80000001, 0xff800000),
    U32_2("min.f32 d, a, b;", 0x7fc00001, 0x3f800000, 0x3f800000),
    U32_2("min.f32 d, a, b;", 0x80000000, 0, 0x80000000),
    U32_2("max.f32 d, a, b;", 0x80000000, 0, 0),
    U32_2("max.f32 d, a, b;", 0x7fc00001, 0xffc00000, 0x7fffffff),
    U32_2("max.NaN.f32 d, a, b;", 0x7fc00001, 0x3f800000, 0x7fffffff),
    U32_2("min.xorsign.abs.f32 d, a, b;", 0xc0000000, 0x3f800000, 0xbf800000),
    U32_1("abs.f32 d, a;", 0xbf800000, 0x3f800000),
    U32_1("neg.ftz.f32 d, a;", 1, 0x80000000),
    U32_2("copysign.f32 d, a, b;", 0x80000000, 0x3f800000, 0xbf800000),
    U64_2("add.rm.f64 d, a, b;", 0x3ff0000000000000, 0xbff0000000000000, UINT64_C(1) << 63),
    U64_2("add.rp.f64 d, a, b;", 0x3ff0000000000000, 1, 0x3ff0000000000001),
    U64_2("div.rm.f64 d, a, b;", 0x3ff0000000000000, 0x4008000000000000, 0x3fd5555555555555),
    U64_3("fma.rz.f64 d, a, b, c;", 0x3ff0000000000001, 0x3ff0000000000001, 0, 0x3ff0000000000002),
    U64_1("sqrt.rn.f64 d, a;", 0x4000000000000000, 0x3ff6a09e667f3bcd),
    U64_1("rcp.approx.ftz.f64 d, a;", 0x4000000012345678, 0x3fe0000000000000),
    U64_1("rcp.approx.ftz.f64 d, a;", 0x8000000000000001, 0xfff0000000000000),
    U64_1("rsqrt.approx.ftz.f64 d, a;", 0x0000000000000001, 0x7ff0000000000000),
    U64_1("rsqrt.approx.ftz.f64 d, a;", 0x8000100000000000, 0xfff0000000000000),
    U64_1("rsqrt.approx.ftz.f64 d, a;", 0x4010000000000000, 0x3fe0000000000000),
    U64_1("rsqrt.approx.ftz.f64 d, a;", 0xc010000000000000, 0x7fffffff00000000),
    U32_1("ex2.approx.f32 d, a;", 0x40400000, 0x41000000),
    U32_1("ex2.approx.f32 d, a;", 0xff800000, 0),
    U32_1("ex2.approx.f32 d, a;", 0xc3150000, 1),
    U32_1("ex2.approx.ftz.f32 d, a;", 0xc3150000, 0),
    U32_1("lg2.approx.f32 d, a;", 0x41000000, 0x40400000),
    U32_1("lg2.approx.f32 d, a;", 0x80000000, 0xff800000),
    U32_1("lg2.approx.f32 d, a;", 0xbf800000, 0x7fffffff),
    U32_1("lg2.approx.f32 d, a;", 0x00000001, 0xc3150000),
    U32_1("sin.approx.f32 d, a;", 0x80000000, 0x80000000),
    U32_1("cos.approx.f32 d, a;", 0, 0x3f800000),
    U32_1("sin.approx.f32 d, a;", 0x7f800000, 0x7fffffff),
    U32_1("tanh.approx.f32 d, a;", 0xff800000, 0xbf800000),
    // half precision
    U16_2("add.f16 d, a, b;", 0x3c00, 0x4000, 0x4200),
    U16_2("max.f16 d, a, b;", 0, 0x7e00, 0),
    U16_2("min.NaN.f16 d, a, b;", 0, 0x7e00, 0x7fff),
    U16_2("mul.ftz.f16 d, a, b;", 0x8400, 0x3800, 0x8000),
    U16_2("mul.f16 d, a, b;", 0x8400, 0x3800, 0x8200),
    U16_3("fma.rn.f16 d, a, b, c;", 0x3c01, 0x3c01, 0xbc02, 0x0010),
    U16_3("fma.rn.relu.f16 d, a, b, c;", 0x3c00, 0xbc00, 0, 0),
    U16_3("fma.rn.bf16 d, a, b, c;", 0x3f81, 0x3f81, 0xbf82, 0x3880),
    // A tie of the product is decided by the tiny addend (one rounding only).
    U16_3("fma.rn.bf16 d, a, b, c;", 0x3f90, 0x3f84, 0x0080, 0x3f95),
    U32_2("add.f16x2 d, a, b;", 0x3c004000, 0x3c003c00, 0x40004200),
    U32_1("neg.f16x2 d, a;", 0x3c004000, 0xbc00c000),
    U16_1("ex2.approx.f16 d, a;", 0x4200, 0x4800),
    U16_1("abs.bf16 d, a;", 0xbf80, 0x3f80),
    U16_1("neg.bf16 d, a;", 0x3f80, 0xbf80),
};

static const struct row conversions[] = {
    {"cvt.s8.s32 %h1, a; cvt.s32.s8 d, %h1;", "b32", 0, 0, "b32", 0, {0x180}, {0xffffff80}},
    {"cvt.sat.s8.s32 %r1, a; mov.b32 d, %r1;", "b32", 0, 0, "b32", 0, {0x180}, {0x7f}},
    {"cvt.sat.u8.s32 %r1, a; mov.b32 d, %r1;", "b32", 0, 0, "b32", 0, {M1}, {0}},
    {"cvt.sat.u32.s64 d, a;", "b64", 0, 0, "b32", 0, {UINT64_C(1) << 40}, {M1}},
    {"cvt.s64.s32 d, a;", "b32", 0, 0, "b64", 0, {M1}, {M64}},
    {"cvt.u64.u32 d, a;", "b32", 0, 0, "b64", 0, {M1}, {M1}},
    U32_1("cvt.rzi.s32.f32 d, a;", 0xc0200000, (uint32_t)-2),
    U32_1("cvt.rni.s32.f32 d, a;", 0x40200000, 2),
    U32_1("cvt.rpi.s32.f32 d, a;", 0x40200000, 3),
    U32_1("cvt.rmi.s32.f32 d, a;", 0xc0200000, (uint32_t)-3),
    U32_1("cvt.rzi.s32.f32 d, a;", 0x7fc00000, 0),
    U32_1("cvt.rzi.s32.f32 d, a;", 0x7f800000, 0x7fffffff),
    U32_1("cvt.rzi.u32.f32 d, a;", 0xbf800000, 0),
    {"cvt.rzi.s64.f32 d, a;", "b32", 0, 0, "b64", 0, {0x7fc00000}, {UINT64_C(1) << 63}},
    {"cvt.rzi.s32.f64 d, a;", "b64", 0, 0, "b32", 0, {0x7ff8000000000000}, {0x80000000}},
    {"cvt.rzi.u16.f32 d, a;", "b32", 0, 0, "b16", 0, {0x49742400}, {0xffff}},
    U32_1("cvt.rn.f32.s32 d, a;", 0x01000001, 0x4b800000),
    U32_1("cvt.rp.f32.s32 d, a;", 0x01000001, 0x4b800001),
    U32_1("cvt.rz.f32.u32 d, a;", M1, 0x4f7fffff),
    {"cvt.rn.f32.u64 d, a;", "b64", 0, 0, "b32", 0, {M64}, {0x5f800000}},
    {"cvt.rm.f64.u64 d, a;", "b64", 0, 0, "b64", 0, {M64}, {0x43efffffffffffff}},
    {"cvt.rn.f16.s32 d, a;", "b32", 0, 0, "b16", 0, {2049}, {0x6800}},
    {"cvt.rn.f16.u64 d, a;", "b64", 0, 0, "b16", 0, {M64}, {0x7c00}},
    U32_1("cvt.rni.f32.f32 d, a;", 0x40600000, 0x40800000),
    U32_1("cvt.rmi.f32.f32 d, a;", 0xbf000000, 0xbf800000),
    U32_1("cvt.sat.f32.f32 d, a;", 0x40600000, 0x3f800000),
    U32_1("cvt.ftz.f32.f32 d, a;", 0x80000001, 0x80000000),
    {"cvt.f64.f32 d, a;", "b32", 0, 0, "b64", 0, {0x3f800000}, {0x3ff0000000000000}},
    {"cvt.rn.f32.f64 d, a;", "b64", 0, 0, "b32", 0, {0x3ff0000010000000}, {0x3f800000}},
    {"cvt.rp.f32.f64 d, a;", "b64", 0, 0, "b32", 0, {0x3ff0000010000000}, {0x3f800001}},
    {"cvt.rn.f16.f32 d, a;", "b32", 0, 0, "b16", 0, {0x477ff000}, {0x7c00}},
    {"cvt.rz.f16.f32 d, a;", "b32", 0, 0, "b16", 0, {0x477ff000}, {0x7bff}},
    {"cvt.rn.f16.f32 d, a;", "b32", 0, 0, "b16", 0, {0x7fc12345}, {0x7fff}},
    {"cvt.rn.f16.f64 d, a;", "b64", 0, 0, "b16", 0, {0x3ff0020000000001}, {0x3c01}},
    {"cvt.f32.f16 d, a;", "b16", 0, 0, "b32", 0, {0x8001}, {0xb3800000}},
    {"cvt.rn.bf16.f32 d, a;", "b32", 0, 0, "b16", 0, {0x3f808000}, {0x3f80}},
    {"cvt.rn.bf16.f32 d, a;", "b32", 0, 0, "b16", 0, {0x3f818000}, {0x3f82}},
    {"cvt.rn.relu.bf16.f32 d, a;", "b32", 0, 0, "b16", 0, {0xbf818000}, {0}},
    {"cvt.f32.bf16 d, a;", "b16", 0, 0, "b32", 0, {0x3f80}, {0x3f800000}},
    U32_1("cvt.rna.tf32.f32 d, a;", 0x3f801000, 0x3f802000),
    // fp8 (P9)
    {"cvt.rn.satfinite.e4m3x2.f32 d, a, b;",
     "b32",
     "b32",
     0,
     "b16",
     0,
     {0x3ed00000, 0x414e6666},
     {0x2d55}},
    {"cvt.rn.satfinite.e5m2x2.f32 d, a, b;",
     "b32",
     "b32",
     0,
     "b16",
     0,
     {0x3ec00000, 0xc5a444cd},
     {0x36ed}},
    {"cvt.rn.f16x2.e4m3x2 d, a;", "b16", 0, 0, "b32", 0, {0x2d55}, {0x36804a80}},
    {"cvt.rn.bf16x2.f32 d, a, b;",
     "b32",
     "b32",
     0,
     "b32",
     0,
     {0x3ed00000, 0x414e6666},
     {0x3ed0414e}},
};

static const struct row predicates[] = {
    {"setp.lt.f32 d|e, a, b;", "b32", "b32", 0, "pred", "pred", {0x7fc00000, 0}, {0, 1}},
    {"setp.ltu.f32 d, a, b;", "b32", "b32", 0, "pred", 0, {0x7fc00000, 0}, {1}},
    {"setp.ne.f32 d, a, b;", "b32", "b32", 0, "pred", 0, {0x7fc00000, 0}, {0}},
    {"setp.neu.f32 d, a, b;", "b32", "b32", 0, "pred", 0, {0x7fc00000, 0}, {1}},
    {"setp.nan.f64 d, a, b;", "b64", "b64", 0, "pred", 0, {0x7ff8000000000000, 0}, {1}},
    {"setp.eq.ftz.f32 d, a, b;", "b32", "b32", 0, "pred", 0, {1, 0x80000000}, {1}},
    {"setp.gt.s32 d, a, b;", "b32", "b32", 0, "pred", 0, {1, M1}, {1}},
    {"setp.hi.u32 d, a, b;", "b32", "b32", 0, "pred", 0, {1, M1}, {0}},
    {"setp.eq.s32 %p1, a, a; setp.lt.and.s32 d|e, a, b, !%p1;",
     "b32",
     "b32",
     0,
     "pred",
     "pred",
     {1, 2},
     {0, 0}},
    {"testp.subnormal.f32 d, a;", "b32", 0, 0, "pred", 0, {1}, {1}},
    {"testp.normal.f32 d, a;", "b32", 0, 0, "pred", 0, {0}, {1}},
    {"testp.infinite.f64 d, a;", "b64", 0, 0, "pred", 0, {0xfff0000000000000}, {1}},
    U32_2("set.lt.u32.s32 d, a, b;", M1, 0, M1),
    U32_2("set.lt.f32.s32 d, a, b;", M1, 0, 0x3f800000),
    U32_3("slct.s32.s32 d, a, b, c;", 1, 2, M1, 2),
    U32_3("slct.f32.f32 d, a, b, c;", 1, 2, 0x80000000, 1),
    U32_3("vabsdiff4.u32.u32.u32.add d, a, b, c;", 0x01020304, 0x04030201, 10, 18),
};

static uint64_t get(const unsigned char *array, size_t i, unsigned bytes)
{
    uint64_t v = 0;
    memcpy(&v, array + i * bytes, bytes);
    return v;
}

static unsigned bytes_of(const char *type)
{
    return type == NULL ? 8 : strcmp(type, "pred") == 0 ? 1 : (unsigned)atoi(type + 1) / 8;
}

static void check_rows(const struct row *rows, size_t count)
{
    enum { MOST = 16 };
    for (size_t first = 0, n; first < count; first += n) {
        const struct row *r = &rows[first];
        for (n = 1; first + n < count && n < MOST && strcmp(r[n].body, r->body) == 0; n++) {
        }
        const char *types[5] = {r->a, r->b, r->c, r->d, r->e};
        static unsigned char data[5][MOST * 8];
        for (size_t i = 0; i < n; i++) {
            for (unsigned k = 0; k < 3; k++) {
                memcpy(data[k] + i * bytes_of(types[k]), &r[i].in[k], bytes_of(types[k]));
            }
        }
        struct harness_op op = {r->a, r->b, r->c, r->d, r->e, r->body};
        int result = harness_map(&op, n, data[0], data[1], data[2], data[3], data[4]);
        cr_expect(result == 0, "%s: %s", r->body, harness_message());
        for (size_t i = 0; result == 0 && i < n; i++) {
            for (unsigned k = 0; k < 2 && types[3 + k] != NULL; k++) {
                uint64_t got = get(data[3 + k], i, bytes_of(types[3 + k]));
                cr_expect(got == r[i].out[k],
                          "%s  a=%" PRIx64 " b=%" PRIx64 " c=%" PRIx64 ": got %" PRIx64
                          ", want %" PRIx64,
                          r->body, r[i].in[0], r[i].in[1], r[i].in[2], got, r[i].out[k]);
            }
        }
    }
}

#define CHECK(table) check_rows(table, sizeof(table) / sizeof(table[0]))

TestSuite(jit_values, .timeout = 150);

Test(jit_values, integers)
{
    CHECK(integers);
}

Test(jit_values, bits)
{
    CHECK(bits);
}

Test(jit_values, floats)
{
    CHECK(floats);
}

Test(jit_values, conversions)
{
    CHECK(conversions);
}

Test(jit_values, predicates)
{
    CHECK(predicates);
}
