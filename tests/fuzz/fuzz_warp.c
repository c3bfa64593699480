// SPDX-License-Identifier: Apache-2.0
//
// Random kernels in the one-lane form and in the warp form: everything they write must be equal bit
// for bit. Control flow of any shape (structured, and blocks that branch anywhere with a limit on
// steps), loops with uniform, affine and different counts, early exits, barriers, warp operations,
// shared and local memory, contiguous, strided, wrapped and scattered accesses, integer and
// floating-point arithmetic, atomics whose result does not depend on the order.
//
//   fuzz_warp SECONDS [FIRST_SEED [COUNT]]      fuzz_warp print SEED
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "harness.h"

enum {
    INPUTS = 4096,  // words of input
    SLOTS = 24,     // words of output of a thread
    BODY_SLOTS = 7, // of them for stores in the middle and for the hash
    CELLS = 64,     // words for atomics
    MAX_THREADS = 256,
    MAX_BLOCKS = 3,
    R = 10,
    X = 4,
    F = 5,
    P = 4, // registers of each kind that hold data
};

struct text {
    char data[1 << 18];
    size_t used;
    uint64_t random;
    unsigned labels, depth, budget, loops, lanes;
    bool barriers, local, uniform_only;
    bool converged; // all live threads are here in the same round
};

static uint32_t pick(struct text *t, uint32_t n)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return (uint32_t)((t->random >> 32) % n);
}

static bool chance(struct text *t, unsigned percent)
{
    return pick(t, 100) < percent;
}

static void put(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct text *t, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    int n = vsnprintf(t->data + t->used, sizeof t->data - t->used, format, ap);
    va_end(ap);
    t->used += n > 0 ? (size_t)n : 0;
    if (t->used >= sizeof t->data) {
        abort();
    }
}

// ---------------------------------------------------------------- straight code

// A 32-bit source: data, thread index, lane, block index, uniform parameter or constant.
static const char *source(struct text *t, char *out)
{
    static const char *const special[] = {"%tx", "%gid", "%lane", "%cta", "%un",
                                          "%nt", "%ty",  "%tl",   "%wid"};
    if (chance(t, 55)) {
        sprintf(out, "%%r%u", pick(t, R));
    } else if (chance(t, 65)) {
        strcpy(out, special[pick(t, sizeof special / sizeof *special)]);
    } else {
        sprintf(out, "%d", (int)pick(t, 64) - 16);
    }
    return out;
}

static void integer(struct text *t)
{
    static const char *const two[] = {
        "add.s32",    "sub.s32", "mul.lo.s32", "and.b32", "or.b32",  "xor.b32",     "min.s32",
        "max.u32",    "min.u32", "max.s32",    "shl.b32", "shr.u32", "shr.s32",     "mul.hi.u32",
        "mul.hi.s32", "div.u32", "rem.s32",    "rem.u32", "div.s32", "add.sat.s32", "mul24.lo.u32"};
    char a[32], b[32], c[32];
    unsigned d = pick(t, R);
    source(t, a);
    source(t, b);
    source(t, c);
    switch (pick(t, 11)) {
    case 0:
        put(t, "mad.lo.s32 %%r%u, %s, %s, %s;\n", d, a, b, c);
        break;
    case 1:
        put(t, "lop3.b32 %%r%u, %s, %s, %s, %u;\n", d, a, b, c, pick(t, 256));
        break;
    case 2:
        put(t, "%s.b32 %%r%u, %s;\n",
            (const char *const[]){"popc", "clz", "brev", "not"}[pick(t, 4)], d, a);
        break;
    case 3:
        put(t, "bfe.%c32 %%r%u, %s, %s, %s;\n", chance(t, 50) ? 'u' : 's', d, a, b, c);
        break;
    case 4:
        put(t, "prmt.b32 %%r%u, %s, %s, %s;\n", d, a, b, c);
        break;
    case 5:
        put(t, "shf.%c.%s.b32 %%r%u, %s, %s, %s;\n", chance(t, 50) ? 'l' : 'r',
            chance(t, 50) ? "wrap" : "clamp", d, a, b, c);
        break;
    case 6:
        put(t, "selp.b32 %%r%u, %s, %s, %%p%u;\n", d, a, b, pick(t, P));
        break;
    case 7:
        put(t, "add.cc.u32 %%r%u, %s, %s;\naddc.u32 %%r%u, %s, %s;\n", d, a, b, pick(t, R), a, c);
        break;
    case 8:
        put(t, "mul.lo.s32 %%r%u, %s, %u;\n", d, a, pick(t, 9));
        break;
    default:
        put(t, "%s %%r%u, %s, %s;\n", two[pick(t, sizeof two / sizeof *two)], d, a, b);
        break;
    }
}

static void wide(struct text *t)
{
    char a[32], b[32];
    unsigned d = pick(t, X);
    source(t, a);
    source(t, b);
    switch (pick(t, 8)) {
    case 0:
        put(t, "mul.wide.%c32 %%x%u, %s, %s;\n", chance(t, 50) ? 'u' : 's', d, a, b);
        break;
    case 1:
        put(t, "cvt.%c64.%c32 %%x%u, %s;\n", chance(t, 50) ? 'u' : 's', chance(t, 50) ? 'u' : 's',
            d,
            chance(t, 50) ? "%gid"
            : a[0] == '%' ? a
                          : "%tx");
        break;
    case 2:
        put(t, "add.s64 %%x%u, %%x%u, %%x%u;\n", d, pick(t, X), pick(t, X));
        break;
    case 3:
        put(t, "mul.lo.s64 %%x%u, %%x%u, %d;\n", d, pick(t, X), (int)pick(t, 17) - 8);
        break;
    case 4:
        put(t, "cvt.u32.u64 %%r%u, %%x%u;\n", pick(t, R), pick(t, X));
        break;
    case 5:
        put(t, "shr.u64 %%x%u, %%x%u, %u;\n", d, pick(t, X), pick(t, 64));
        break;
    case 6:
        put(t, "mul.wide.%c32 %%x%u, %s, %d;\n", chance(t, 50) ? 'u' : 's', d,
            chance(t, 50) ? "%gid" : a, chance(t, 50) ? 4 : (int)pick(t, 40));
        break;
    default:
        put(t, "sub.s64 %%x%u, %%x%u, %%x%u;\n", d, pick(t, X), pick(t, X));
        break;
    }
}

static void number(struct text *t)
{
    static const char *const two[] = {"add.f32",     "sub.f32",   "mul.f32",     "div.rn.f32",
                                      "min.f32",     "max.f32",   "add.ftz.f32", "mul.ftz.f32",
                                      "max.NaN.f32", "add.rz.f32"};
    static const char *const one[] = {"neg.f32",        "abs.f32",          "sqrt.rn.f32",
                                      "rcp.rn.f32",     "ex2.approx.f32",   "lg2.approx.f32",
                                      "sin.approx.f32", "rsqrt.approx.f32", "cvt.rzi.f32.f32"};
    unsigned d = pick(t, F), a = pick(t, F), b = pick(t, F);
    char s[32];
    switch (pick(t, 8)) {
    case 0:
        put(t, "fma.rn.f32 %%f%u, %%f%u, %%f%u, %%f%u;\n", d, a, b, pick(t, F));
        break;
    case 1:
        put(t, "%s %%f%u, %%f%u;\n", one[pick(t, sizeof one / sizeof *one)], d, a);
        break;
    case 2:
        source(t, s);
        put(t, "cvt.rn.f32.%c32 %%f%u, %s;\n", chance(t, 50) ? 's' : 'u', d,
            s[0] == '%' ? s : "%gid");
        break;
    case 3:
        put(t, "cvt.rzi.s32.f32 %%r%u, %%f%u;\n", pick(t, R), a);
        break;
    case 4:
        put(t, "mov.b32 %%r%u, %%f%u;\n", pick(t, R), a);
        break;
    case 5:
        put(t, "selp.f32 %%f%u, %%f%u, %%f%u, %%p%u;\n", d, a, b, pick(t, P));
        break;
    default:
        put(t, "%s %%f%u, %%f%u, %%f%u;\n", two[pick(t, sizeof two / sizeof *two)], d, a, b);
        break;
    }
}

static void predicate(struct text *t, unsigned p)
{
    static const char *const compare[] = {"eq", "ne", "lt", "le", "gt", "ge"};
    char a[32], b[32];
    source(t, a);
    source(t, b);
    switch (pick(t, 6)) {
    case 0:
        put(t, "setp.%s.f32 %%p%u, %%f%u, %%f%u;\n", compare[pick(t, 6)], p, pick(t, F),
            pick(t, F));
        break;
    case 1:
        put(t, "and.b32 %%t0, %s, %u;\nsetp.%s.s32 %%p%u, %%t0, %u;\n", a, 1u << pick(t, 5),
            chance(t, 50) ? "eq" : "ne", p, 0u);
        break;
    case 2:
        put(t, "setp.%s.%c32 %%p%u, %s, %u;\n", compare[pick(t, 6)], chance(t, 70) ? 'u' : 's', p,
            chance(t, 60) ? "%tx" : "%tl", 8 * pick(t, 17) - (chance(t, 30) ? 1u : 0u));
        break;
    case 3:
        put(t, "setp.%s.s64 %%p%u, %%x%u, %%x%u;\n", compare[pick(t, 6)], p, pick(t, X),
            pick(t, X));
        break;
    case 4:
        put(t, "setp.%s.u32 %%p%u, %%lane, %u;\n", compare[pick(t, 6)], p, pick(t, 33));
        break;
    default:
        put(t, "setp.%s.%c32 %%p%u, %s, %s;\n", compare[pick(t, 6)], chance(t, 50) ? 's' : 'u', p,
            a, b);
        break;
    }
}

static void memory(struct text *t)
{
    char a[32];
    unsigned d = pick(t, R);
    source(t, a);
    unsigned what = pick(t, 12);
    switch (what == 8 && !t->local ? 9 : what) {
    case 0: // anywhere
        put(t,
            "and.b32 %%t0, %s, %u;\nmul.wide.u32 %%y0, %%t0, 4;\nadd.s64 %%y0, %%in, %%y0;\n"
            "ld.global.u32 %%r%u, [%%y0];\n",
            a, INPUTS - 1, d);
        break;
    case 1: // neighbours
        put(t,
            "mul.wide.u32 %%y0, %%gid, 4;\nadd.s64 %%y0, %%in, %%y0;\n"
            "ld.global.u32 %%r%u, [%%y0+%u];\n",
            d, 4 * pick(t, 64));
        break;
    case 2: // below the start: wraps in lanes that do not load
        put(t,
            "sub.s32 %%t0, %%tx, %u;\nsetp.lt.s32 %%q0, %%t0, 0;\n"
            "mul.wide.%c32 %%y0, %%t0, 4;\nadd.s64 %%y0, %%in, %%y0;\n"
            "@!%%q0 ld.global.u32 %%r%u, [%%y0];\n",
            pick(t, 40), chance(t, 50) ? 'u' : 's', d);
        break;
    case 3: // wraps and is used by all
        put(t,
            "sub.s32 %%t0, %%tx, %u;\nand.b32 %%t0, %%t0, 1023;\ncvt.u64.u32 %%y0, %%t0;\n"
            "shl.b64 %%y0, %%y0, 2;\nadd.s64 %%y0, %%in, %%y0;\nld.global.u32 %%r%u, [%%y0];\n",
            pick(t, 40), d);
        break;
    case 4: // vector
        put(t, "mul.wide.u32 %%y0, %%gid, %u;\nadd.s64 %%y0, %%in, %%y0;\n",
            chance(t, 70) ? 8 : 16);
        put(t, "ld.global.v2.u32 {%%r%u, %%r%u}, [%%y0+%u];\n", d, (d + 1) % R, 8 * pick(t, 8));
        break;
    case 5: // bytes
        put(t,
            "mul.wide.u32 %%y0, %%gid, %u;\nadd.s64 %%y0, %%in, %%y0;\n"
            "ld.global.%s %%r%u, [%%y0+%u];\n",
            chance(t, 60) ? 1u : 2u, chance(t, 50) ? "u8" : "s8", d, pick(t, 64));
        break;
    case 6: // uniform
        put(t,
            "mul.wide.u32 %%y0, %%cta, 4;\nadd.s64 %%y0, %%in, %%y0;\n"
            "ld.global.u32 %%r%u, [%%y0+%u];\n",
            d, 4 * pick(t, 64));
        break;
    case 7: // own output
        put(t, "st.global.u32 [%%out+%u], %%r%u;\nld.global.u32 %%r%u, [%%out+%u];\n",
            4 * pick(t, 4), pick(t, R), d, 4 * pick(t, 4));
        break;
    case 8: // local
        put(t,
            "and.b32 %%t0, %s, 7;\nshl.b32 %%t0, %%t0, 2;\ncvt.u64.u32 %%y0, %%t0;\n"
            "add.s64 %%y0, %%loc, %%y0;\n",
            a);
        if (chance(t, 50)) {
            put(t, "st.local.u32 [%%y0], %%r%u;\n", pick(t, R));
        } else {
            put(t, "ld.local.u32 %%r%u, [%%y0];\n", d);
        }
        break;
    case 9:
        put(t,
            "and.b32 %%t0, %s, %u;\nmul.wide.u32 %%y0, %%t0, 4;\nadd.s64 %%y0, %%cells, %%y0;\n"
            "red.global.%s.u32 [%%y0], %%r%u;\n",
            a, CELLS / 4 - 1, "add", pick(t, R));
        break;
    case 10: {
        unsigned kind = pick(t, 3);
        put(t,
            "and.b32 %%t0, %s, %u;\nmul.wide.u32 %%y0, %%t0, 4;\nadd.s64 %%y0, %%cells, %%y0;\n"
            "red.global.%s [%%y0+%u], %%r%u;\n",
            a, CELLS / 4 - 1, (const char *const[]){"xor.b32", "max.s32", "min.u32"}[kind],
            (kind + 1) * CELLS, pick(t, R));
        break;
    }
    default:
        put(t, "st.global.v2.u32 [%%out+16], {%%r%u, %%r%u};\n", pick(t, R), pick(t, R));
        break;
    }
}

static void straight(struct text *t)
{
    switch (pick(t, 8)) {
    case 0:
    case 1:
    case 2:
        integer(t);
        break;
    case 3:
        wide(t);
        break;
    case 4:
        number(t);
        break;
    case 5:
        predicate(t, pick(t, P));
        break;
    default:
        memory(t);
        break;
    }
}

// ---------------------------------------------------------------- where all threads are together

static void together(struct text *t)
{
    static const char *const shuffles[] = {"up", "down", "bfly", "idx"};
    static const char *const votes[] = {"all", "any", "uni"};
    static const char *const reductions[] = {"add.u32", "min.s32", "max.u32", "and.b32", "xor.b32"};
    unsigned d = pick(t, R), a = pick(t, R), kind = pick(t, 4);
    char s[32];
    if (t->lanes < 32 && !t->barriers) {
        return;
    }
    switch (t->lanes < 32 ? 8 + pick(t, 4) : pick(t, t->barriers ? 12 : 8)) {
    case 0:
    case 1:
        put(t, "shfl.sync.%s.b32 %%r%u|%%p%u, %%r%u, %u, %u, -1;\n", shuffles[kind], d, pick(t, P),
            a, pick(t, 32),
            kind == 0       ? pick(t, 2) << 12
            : chance(t, 70) ? 31
                            : 0x100f | pick(t, 16));
        break;
    case 2:
        source(t, s);
        put(t, "shfl.sync.%s.b32 %%r%u, %%r%u, %s, %u, -1;\n", shuffles[kind], d, a, s,
            kind == 0 ? 0 : 31);
        break;
    case 3:
        put(t, "vote.sync.ballot.b32 %%r%u, %%p%u, -1;\n", d, pick(t, P));
        break;
    case 4:
        put(t, "vote.sync.%s.pred %%p%u, %%p%u, -1;\n", votes[pick(t, 3)], pick(t, P), pick(t, P));
        break;
    case 5:
        put(t, "and.b32 %%t0, %%r%u, %u;\nmatch.any.sync.b32 %%r%u, %%t0, -1;\n", a, pick(t, 16),
            d);
        break;
    case 6:
        put(t, "redux.sync.%s %%r%u, %%r%u, -1;\n", reductions[pick(t, 5)], d, a);
        break;
    case 7: // halves of the warp with masks of their own
        put(t,
            "and.b32 %%t0, %%lane, 16;\nshl.b32 %%t0, 65535, %%t0;\n"
            "shfl.sync.bfly.b32 %%r%u, %%r%u, %u, 0x101f, %%t0;\n"
            "vote.sync.ballot.b32 %%r%u, %%p%u, %%t0;\n",
            d, a, pick(t, 16), pick(t, R), pick(t, P));
        break;
    case 8:
        put(t, "bar.red.popc.u32 %%r%u, 0, %%p%u;\n", d, pick(t, P));
        break;
    case 9:
        put(t, "bar.red.%s.pred %%p%u, 0, %%p%u;\n", chance(t, 50) ? "and" : "or", pick(t, P),
            pick(t, P));
        break;
    default: // exchange through shared memory
        put(t, "bar.sync 0;\nst.shared.u32 [%%sh], %%r%u;\nbar.sync 0;\n", a);
        if (chance(t, 50)) {
            put(t, "ld.shared.u32 %%r%u, [%%sh+%d];\n", d, 4 * ((int)pick(t, 16)));
        } else {
            source(t, s);
            put(t,
                "and.b32 %%t0, %s, %u;\nshl.b32 %%t0, %%t0, 2;\nadd.u32 %%t0, %%t0, %%shb;\n"
                "ld.shared.u32 %%r%u, [%%t0];\n",
                s, MAX_THREADS - 1, d);
        }
        put(t, "bar.sync 0;\n");
        break;
    }
}

// ---------------------------------------------------------------- control flow

static void statements(struct text *t, unsigned count);

// Blocks that branch anywhere; a thread leaves after some steps.
static void soup(struct text *t)
{
    unsigned base = t->labels, count = 2 + pick(t, 6), out = base + count, fuel = t->loops++ % 6;
    t->labels += count + 1;
    put(t, "mov.u32 %%k%u, %u;\n", fuel, 3 + pick(t, 12));
    for (unsigned i = 0; i < count; i++) {
        put(t, "L%u:\n", base + i);
        put(t, "sub.u32 %%k%u, %%k%u, 1;\nsetp.eq.u32 %%q1, %%k%u, 0;\n@%%q1 bra L%u;\n", fuel,
            fuel, fuel, out);
        for (unsigned n = pick(t, 4); n > 0; n--) {
            straight(t);
        }
        if (chance(t, 80)) {
            predicate(t, pick(t, P));
            put(t, "@%s%%p%u bra L%u;\n", chance(t, 50) ? "!" : "", pick(t, P),
                base + pick(t, count + 1));
        }
        if (chance(t, 25)) {
            put(t, "bra L%u;\n", base + pick(t, count + 1));
        }
    }
    put(t, "L%u:\n", out);
}

static void loop(struct text *t)
{
    unsigned label = t->labels, k = t->loops++ % 6;
    t->labels += 2;
    bool converged = t->converged, leave = chance(t, 30);
    switch (pick(t, 4)) {
    case 0: // the same number of rounds for all
        put(t, "mov.u32 %%k%u, %u;\nL%u:\n", k, 1 + pick(t, 5), label);
        break;
    case 1:
        put(t, "and.b32 %%k%u, %%un, 3;\nadd.u32 %%k%u, %%k%u, 1;\nL%u:\n", k, k, k, label);
        break;
    case 2:
        put(t, "and.b32 %%k%u, %%r%u, 7;\nadd.u32 %%k%u, %%k%u, 1;\nL%u:\n", k, pick(t, R), k, k,
            label);
        t->converged = false;
        break;
    default: { // grid-stride: index and pointer go on together
        unsigned d = pick(t, R);
        put(t,
            "add.u32 %%k%u, %%tx, %u;\nmul.wide.u32 %%y1, %%k%u, 4;\nadd.s64 %%y1, %%in, %%y1;\n"
            "L%u:\nsetp.ge.u32 %%q1, %%k%u, %u;\n@%%q1 bra L%u;\n"
            "ld.global.u32 %%t1, [%%y1];\nadd.u32 %%r%u, %%r%u, %%t1;\n",
            k, pick(t, 50), k, label, k, 100 + pick(t, 600), label + 1, d, d);
        straight(t);
        put(t,
            "add.u32 %%k%u, %%k%u, %%nt;\nmul.wide.u32 %%y2, %%nt, 4;\nadd.s64 %%y1, %%y1, %%y2;\n"
            "bra L%u;\nL%u:\n",
            k, k, label, label + 1);
        return;
    }
    }
    t->converged = t->converged && !leave;
    statements(t, 1 + pick(t, 4));
    if (leave) {
        predicate(t, 0);
        put(t, "@%%p0 bra L%u;\n", label + 1);
        statements(t, 1 + pick(t, 2));
    }
    put(t, "sub.u32 %%k%u, %%k%u, 1;\nsetp.ne.u32 %%q1, %%k%u, 0;\n@%%q1 bra L%u;\nL%u:\n", k, k, k,
        label, label + 1);
    t->converged = converged;
}

static void branch(struct text *t)
{
    unsigned label = t->labels;
    t->labels += 2;
    bool converged = t->converged, uniform = chance(t, 30), both = chance(t, 50);
    if (uniform) {
        put(t, "and.b32 %%t0, %s, 1;\nsetp.eq.u32 %%p0, %%t0, 0;\n",
            chance(t, 50) ? "%un" : "%cta");
    } else {
        predicate(t, 0);
    }
    t->converged = converged && uniform;
    put(t, "@%%p0 bra L%u;\n", label);
    statements(t, 1 + pick(t, 4));
    if (both) {
        put(t, "bra L%u;\n", label + 1);
    }
    put(t, "L%u:\n", label);
    if (both) {
        statements(t, 1 + pick(t, 4));
        put(t, "L%u:\n", label + 1);
    }
    t->converged = converged;
}

static void statements(struct text *t, unsigned count)
{
    t->depth++;
    for (unsigned i = 0; i < count; i++) {
        if (t->budget == 0) {
            straight(t);
            continue;
        }
        t->budget--;
        unsigned what = pick(t, 100);
        if (what < 12 && t->depth < 5 && t->loops < 6) {
            loop(t);
        } else if (what < 30 && t->depth < 6) {
            branch(t);
        } else if (what < 36 && t->loops < 6) {
            soup(t);
        } else if (what < 55 && t->converged) {
            together(t);
        } else if (what < 57 && t->depth > 1) {
            predicate(t, 1);
            if (t->converged) { // the others go on together
                put(t, "@%%p1 bra GONE;\n");
            } else {
                put(t, "@%%p1 bra %s;\n", chance(t, 50) ? "END" : "GONE");
            }
        } else {
            straight(t);
        }
    }
    t->depth--;
}

// How many threads run in step; with less than a warp there are no warp operations, but the rules
// of control flow and of memory are the same, and code of few lanes compiles much faster.
static unsigned lanes_of(uint64_t seed)
{
    return seed % 8 < 2 ? 32 : seed % 8 < 4 ? 16 : 8;
}

static void generate(struct text *t, uint64_t seed)
{
    memset(t, 0, sizeof *t);
    t->random = seed * UINT64_C(0x9E3779B97F4A7C15) + 88172645463325252u;
    for (int i = 0; i < 8; i++) {
        pick(t, 2);
    }
    t->barriers = chance(t, 50);
    t->local = chance(t, 20);
    t->lanes = lanes_of(seed);
    // Small kernels find as much as large ones, and compile many times as fast.
    bool large = seed % 64 == 0;
    t->budget = large ? 6 + pick(t, 30) : 2 + pick(t, 7);
    t->converged = true;
    put(t,
        ".version 8.8\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out, .param .u64 cells, .param .u32 un)\n{\n"
        ".reg .pred %%p<%u>, %%q<4>; .reg .b32 %%r<%u>, %%k<6>, %%t<4>; .reg .b64 %%x<%u>, "
        "%%y<4>;\n"
        ".reg .f32 %%f<%u>; .reg .b32 %%tx, %%ty, %%gid, %%lane, %%cta, %%un, %%nt, %%sh, %%shb, "
        "%%n2;\n"
        ".reg .b64 %%in, %%out, %%cells, %%loc; .reg .b32 %%tl, %%wid, %%ln;\n"
        ".local .align 4 .b8 array[32];\n.shared .align 4 .b8 window[%u];\n",
        P, R, X, F, MAX_THREADS * 4 + 256);
    put(t,
        "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out]; ld.param.u64 %%cells, [cells];\n"
        "ld.param.u32 %%un, [un]; mov.u32 %%tx, %%tid.x; mov.u32 %%ty, %%tid.y;\n"
        "mov.u32 %%cta, %%ctaid.x; mov.u32 %%nt, %%ntid.x; mov.u32 %%n2, %%ntid.y;\n"
        "mov.u32 %%lane, %%laneid; mul.lo.u32 %%n2, %%n2, %%nt;\n"
        "mad.lo.u32 %%sh, %%ty, %%nt, %%tx; mov.u32 %%tl, %%sh;\n"
        "shr.u32 %%wid, %%tl, %u; and.b32 %%ln, %%tl, %u; mad.lo.u32 %%gid, %%cta, %%n2, %%sh;\n"
        "mul.wide.u32 %%y0, %%gid, %u; add.s64 %%out, %%out, %%y0;\n"
        "mov.u32 %%shb, window; mad.lo.u32 %%sh, %%sh, 4, %%shb; mov.u64 %%loc, array;\n",
        3 + pick(t, 4), (1u << (3 + pick(t, 3))) - 1, SLOTS * 4);
    for (unsigned i = 0; i < 32 && t->local; i += 4) {
        put(t, "st.local.u32 [%%loc+%u], %u;\n", i, i * 7);
    }
    if (t->barriers) {
        put(t, "mov.u32 %%t0, 0;\nst.shared.u32 [%%sh], %%t0;\nst.shared.u32 [%%sh+256], %%t0;\n");
    }
    for (unsigned i = 0; i < R; i++) {
        static const char *const start[] = {"%tx", "%gid", "%cta", "%lane", "%un"};
        put(t, "add.u32 %%r%u, %s, %u;\n", i, start[pick(t, 5)], pick(t, 100));
    }
    put(t, "mul.wide.u32 %%y0, %%gid, 4;\nadd.s64 %%y0, %%in, %%y0;\n");
    for (unsigned i = 0; i < F; i++) {
        put(t, "ld.global.f32 %%f%u, [%%y0+%u];\n", i, 64 * i);
    }
    for (unsigned i = 0; i < X; i++) {
        put(t, "cvt.s64.s32 %%x%u, %%r%u;\n", i, i);
    }
    for (unsigned i = 0; i < P; i++) {
        put(t, "setp.lt.u32 %%p%u, %%r%u, %u;\n", i, i, pick(t, 200));
    }
    if (t->barriers) {
        put(t, "bar.sync 0;\n");
    }
    if (chance(t, 25)) {
        put(t, "setp.ge.u32 %%p0, %%gid, %u;\n@%%p0 bra GONE;\n", pick(t, 300));
    }
    statements(t, large ? 4 + pick(t, 12) : 2 + pick(t, 5));
    put(t, "END:\n");
    if (large) { // a row of results for each thread
        for (unsigned i = 0; i < R; i++) {
            put(t, "st.global.u32 [%%out+%u], %%r%u;\n", 4 * (BODY_SLOTS + i), i);
        }
        for (unsigned i = 0; i < F; i++) {
            put(t, "st.global.f32 [%%out+%u], %%f%u;\n", 4 * (BODY_SLOTS + R + i), i);
        }
        put(t,
            "xor.b64 %%x0, %%x0, %%x1; xor.b64 %%x2, %%x2, %%x3; xor.b64 %%x0, %%x0, %%x2;\n"
            "st.global.u64 [%%out+%u], %%x0;\n",
            4 * (BODY_SLOTS + R + F));
    } else { // a hash of them, which compiles faster
        put(t, "xor.b64 %%x0, %%x0, %%x1; xor.b64 %%x2, %%x2, %%x3; add.s64 %%x0, %%x0, %%x2;\n"
               "mov.b64 {%%t0, %%t1}, %%x0;\nmad.lo.u32 %%t0, %%t0, 16777619, %%t1;\n");
        for (unsigned i = 0; i < R; i++) {
            put(t, "mad.lo.u32 %%t0, %%t0, 16777619, %%r%u;\n", i);
        }
        for (unsigned i = 0; i < F; i++) {
            put(t, "mov.b32 %%t1, %%f%u;\nmad.lo.u32 %%t0, %%t0, 16777619, %%t1;\n", i);
        }
        put(t, "st.global.u32 [%%out+%u], %%t0;\n", 4 * (BODY_SLOTS - 1));
    }
    put(t, "GONE:\nret;\n}\n");
}

// ---------------------------------------------------------------- running

struct outputs {
    uint32_t out[MAX_THREADS * MAX_BLOCKS * SLOTS];
    uint32_t cells[CELLS];
};

static uint32_t inputs[INPUTS * 2];
static struct text text;
static struct outputs results[2];

static void fill_inputs(void)
{
    uint64_t x = 1;
    for (unsigned i = 0; i < INPUTS * 2; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407u;
        float f = (float)(int32_t)(x >> 40) / 4096.0f - 1000.0f;
        memcpy(&inputs[i], &f, 4);
        if (i % 7 == 0) {
            inputs[i] = (uint32_t)(x >> 32) >> (x >> 20 & 31);
        }
    }
}

static int run(struct harness *h, unsigned lanes, const struct harness_launch *launch, uint32_t un,
               struct outputs *o)
{
    memset(o, 0x55, sizeof *o);
    const struct {
        const void *in;
        void *out, *cells;
        uint32_t un;
    } params = {inputs, o->out, o->cells, un};
    harness_choose(h, lanes);
    return harness_run(h, launch, &params);
}

static int compare(struct harness *h, uint64_t seed)
{
    static const uint32_t shapes[][2] = {{32, 1}, {64, 1}, {1, 1},   {31, 1}, {33, 1},  {128, 1},
                                         {32, 4}, {64, 2}, {100, 1}, {7, 1},  {256, 1}, {96, 2}};
    static const uint32_t narrow[][2] = {{16, 16}, {8, 8}, {48, 2}, {16, 3}, {24, 2}, {8, 5}};
    for (unsigned i = 0; i < 3; i++) {
        text.random = seed * 77 + i + 5;
        pick(&text, 9);
        const uint32_t *shape = shapes[pick(&text, sizeof shapes / sizeof *shapes)];
        if (lanes_of(seed) < 32 && i != 0) {
            shape = narrow[pick(&text, sizeof narrow / sizeof *narrow)];
        }
        struct harness_launch launch = {{1 + pick(&text, MAX_BLOCKS)}, {shape[0], shape[1]}, 0};
        uint32_t un = pick(&text, 50);
        int a = run(h, 1, &launch, un, &results[0]);
        if (a != 0) {
            printf("seed %llu: the one-lane form fails: %s\n", (unsigned long long)seed,
                   harness_message());
            return -1;
        }
        int b = run(h, 32, &launch, un, &results[1]);
        if (b != 0 || memcmp(&results[0], &results[1], sizeof results[0]) != 0) {
            printf("seed %llu: difference (block %u x %u, %u blocks, un %u)%s%s\n",
                   (unsigned long long)seed, shape[0], shape[1], launch.grid[0], un,
                   b != 0 ? ": " : "", b != 0 ? harness_message() : "");
            unsigned shown = 0;
            for (unsigned n = 0; n < MAX_THREADS * MAX_BLOCKS * SLOTS && shown < 8; n++) {
                if (results[0].out[n] != results[1].out[n]) {
                    printf("  word %u: %08x, in the warp form %08x\n", n, results[0].out[n],
                           results[1].out[n]);
                    shown++;
                }
            }
            for (unsigned n = 0; n < CELLS && shown < 10; n++) {
                if (results[0].cells[n] != results[1].cells[n]) {
                    printf("  cell %u: %08x, in the warp form %08x\n", n, results[0].cells[n],
                           results[1].cells[n]);
                    shown++;
                }
            }
            return -1;
        }
    }
    return 0;
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
    if (argc > 2 && strcmp(argv[1], "print") == 0) {
        generate(&text, strtoull(argv[2], NULL, 0));
        fputs(text.data, stdout);
        return 0;
    }
    double limit = argc > 1 ? atof(argv[1]) : 2, start = seconds();
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    uint64_t count = argc > 3 ? strtoull(argv[3], NULL, 0) : UINT64_MAX;
    unsigned same = 0, refused = 0, different = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    fill_inputs();
    for (uint64_t n = 0; n < count && seconds() - start < limit; n++, seed++) {
        generate(&text, seed);
        harness_quick(seed % 64 != 1); // the whole pipeline takes 20 times as long
        harness_warp_lanes(lanes_of(seed));
        struct harness *h = harness_compile_warp(text.data, NULL);
        if (h == NULL) {
            if (strstr(harness_message(), "warp form:") == NULL) {
                printf("seed %llu: %s\n", (unsigned long long)seed, harness_message());
                different++;
            }
            refused++;
            continue;
        }
        if (compare(h, seed) != 0) {
            different++;
        } else {
            same++;
        }
        harness_free(h);
    }
    printf("%u kernels equal, %u without a warp form, %u wrong; next seed %llu\n", same, refused,
           different, (unsigned long long)seed);
    return different != 0 || same == 0;
}
