// SPDX-License-Identifier: Apache-2.0
//
// Memory operations of PTX: widths and extensions, vectors, every state space, generic addresses,
// atomics of every kind, calls and their parameters, control flow of odd shapes.
#include <math.h>

#include "run.h"

TestSuite(spaces, .timeout = 60);
TestSuite(atomics, .timeout = 60);
TestSuite(control, .timeout = 60);

Test(spaces, widths_and_extensions)
{
    uint32_t in[4] = {0x8090a0f0, 0x12345678, 0xdeadbeef, 0xcafebabe}, out[16];
    memset(out, 0, sizeof out);
    struct run run = {
        .body = " ld.global.u8 %r0, [%in]; ld.global.s8 %r1, [%in]; ld.global.u16 %r2, [%in];\n"
                " ld.global.s16 %r3, [%in+2]; ld.global.b8 %h0, [%in+1]; cvt.u32.u16 %r4, %h0;\n"
                " ld.global.s8 %l0, [%in+3]; st.global.u64 [%out+24], %l0;\n"
                " ld.global.u64 %l1, [%in+8]; st.global.u64 [%out+32], %l1;\n"
                " ld.global.s16 %h1, [%in]; cvt.s32.s16 %r5, %h1;\n"
                " st.global.u32 [%out], %r0; st.global.u32 [%out+4], %r1; st.global.u32 [%out+8], "
                "%r2;\n"
                " st.global.u32 [%out+12], %r3; st.global.u32 [%out+16], %r4; st.global.u32 "
                "[%out+20], %r5;\n"
                " st.global.u8 [%out+40], %r3; st.global.u16 [%out+44], %r1;\n"
                " ld.global.v2.u16 {%h2, %h3}, [%in+4]; st.global.v2.u16 [%out+48], {%h3, %h2};\n"
                " ld.global.v4.u8 {%h4, %h5, %h6, %h7}, [%in+4];\n"
                " st.global.v4.u8 [%out+52], {%h7, %h6, %h5, %h4};\n",
        .grid = 1,
        .block = 1,
        .in = in,
        .in_count = 4,
        .out = out,
        .out_count = 16};
    OK(run_kernel(&run));
    const uint32_t want[14] = {0xf0,       0xfffffff0, 0xa0f0,     0xffff8090, 0xa0,
                               0xffffa0f0, 0xffffff80, 0xffffffff, 0xdeadbeef, 0xcafebabe,
                               0x90,       0xfff0,     0x56781234, 0x78563412};
    for (int i = 0; i < 14; i++) {
        cr_assert(out[i] == want[i], "%d: %x, expected %x", i, out[i], want[i]);
    }
}

Test(spaces, every_space_and_generic)
{
    uint32_t out[12];
    memset(out, 0, sizeof out);
    struct run run = {
        .directives =
            ".global .align 4 .u32 number = 5;\n.const .align 4 .b32 table[3] = {7, 8, 9};\n"
            ".global .align 8 .u64 pointer = number;\n"
            ".global .align 8 .u64 generic_pointer = generic(number);\n"
            ".shared .align 4 .b8 scratch[64];\n"
            ".global .align 4 .f32 floats[2] = {0f3F800000, 0f40000000};\n",
        .body =
            " .local .align 8 .b8 depot[16];\n"
            " mov.u64 %l0, depot; cvta.local.u64 %l1, %l0; mov.u32 %r0, 11;\n"
            " st.local.u32 [depot+4], %r0; ld.u32 %r1, [%l1+4]; st.global.u32 [%out], %r1;\n"
            " mov.u32 %r2, scratch; cvt.u64.u32 %l2, %r2; cvta.shared.u64 %l3, %l2; mov.u32 %r3, "
            "12;\n"
            " st.u32 [%l3+8], %r3; ld.shared.u32 %r4, [scratch+8]; st.global.u32 [%out+4], %r4;\n"
            " cvta.to.shared.u64 %l4, %l3; cvt.u32.u64 %r5, %l4; ld.shared.u32 %r6, [%r5+8];\n"
            " st.global.u32 [%out+8], %r6; ld.const.u32 %r7, [table+8]; st.global.u32 [%out+12], "
            "%r7;\n"
            " mov.u64 %l5, table; cvta.const.u64 %l6, %l5; ld.u32 %r8, [%l6+4];\n"
            " st.global.u32 [%out+16], %r8; ld.global.u64 %l7, [pointer]; ld.global.u32 %r9, "
            "[%l7];\n"
            " st.global.u32 [%out+20], %r9; ld.global.u64 %l8, [generic_pointer]; ld.u32 %r10, "
            "[%l8];\n"
            " st.global.u32 [%out+24], %r10; isspacep.shared %p0, %l3; isspacep.global %p1, %l8;\n"
            " isspacep.local %p2, %l1; isspacep.shared %p3, %l1; isspacep.local %p4, %l8;\n"
            " selp.u32 %r11, 1, 0, %p0; selp.u32 %r12, 2, 0, %p1; selp.u32 %r13, 4, 0, %p2;\n"
            " selp.u32 %r14, 8, 0, %p3; selp.u32 %r15, 16, 0, %p4; or.b32 %r11, %r11, %r12;\n"
            " or.b32 %r11, %r11, %r13; or.b32 %r11, %r11, %r14; or.b32 %r11, %r11, %r15;\n"
            " st.global.u32 [%out+28], %r11; ld.global.f32 %r16, [floats+4]; st.global.u32 "
            "[%out+32], %r16;\n"
            " bar.sync 0;\n",
        .grid = 1,
        .block = 1,
        .out = out,
        .out_count = 12};
    OK(run_kernel(&run));
    const uint32_t want[9] = {11, 12, 12, 9, 8, 5, 5, 7, 0x40000000};
    for (int i = 0; i < 9; i++) {
        cr_assert(out[i] == want[i], "%d: %x, expected %x", i, out[i], want[i]);
    }
}

// Local memory belongs to the thread, also across barriers.
// A 32-bit address may lie below the window; the displacement leads back into it, modulo 2^32.
Test(spaces, shared_addresses_wrap)
{
    uint32_t out[8];
    memset(out, 0, sizeof out);
    struct run run = {
        .directives = ".shared .align 16 .b8 words[64];\n",
        .body =
            " mov.u32 %r0, words; mov.u32 %r1, 11; mov.u32 %r2, 22; mov.u32 %r3, 33;\n"
            " sub.u32 %r4, %r0, 64; add.u32 %r5, %r0, 4096;\n"
            " st.shared.u32 [%r4+72], %r1; ld.shared.u32 %r6, [words+8]; st.global.u32 [%out], "
            "%r6;\n"
            " st.shared.v2.u32 [%r4+80], {%r2, %r3}; ld.shared.v2.u32 {%r7, %r8}, [%r5+-4080];\n"
            " st.global.u32 [%out+4], %r7; st.global.u32 [%out+8], %r8;\n"
            " atom.shared.add.u32 %r9, [%r4+72], 5; atom.shared.add.u32 %r10, [%r5+-4088], 7;\n"
            " st.global.u32 [%out+12], %r9; st.global.u32 [%out+16], %r10;\n"
            " ld.shared.u32 %r11, [%r4+72]; st.global.u32 [%out+20], %r11;\n",
        .grid = 1,
        .block = 1,
        .out = out,
        .out_count = 8};
    OK(run_kernel(&run));
    const uint32_t want[6] = {11, 22, 33, 11, 16, 23};
    for (int i = 0; i < 6; i++) {
        cr_assert(out[i] == want[i], "%d: %u, expected %u", i, out[i], want[i]);
    }
}

Test(spaces, local_memory_survives_barriers)
{
    uint32_t out[64];
    memset(out, 0, sizeof out);
    struct run run = {
        .body =
            " .local .align 4 .b8 mine[32];\n"
            " st.local.u32 [mine+8], %id; bar.sync 0; mov.u64 %l0, mine;\n"
            " ld.local.u32 %r0, [%l0+8]; add.u32 %r0, %r0, 3; st.local.u32 [%l0], %r0;\n"
            " bar.sync 0; ld.local.u32 %r1, [mine];\n" OUT_ADDRESS " st.global.u32 [%out], %r1;\n",
        .grid = 1,
        .block = 64,
        .out = out,
        .out_count = 64};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 64; i++) {
        cr_assert(out[i] == i + 3);
    }
}

// Cache operators, eviction hints, orderings, prefetches and policies change no value.
Test(spaces, hints_and_orderings)
{
    static const char *const loads[] = {"ld.global.ca",
                                        "ld.global.cg",
                                        "ld.global.cs",
                                        "ld.global.lu",
                                        "ld.global.cv",
                                        "ld.global.nc",
                                        "ld.global.L1::no_allocate",
                                        "ld.global.nc.L1::evict_last.L2::128B",
                                        "ld.global.L1::evict_first",
                                        "ld.global.L2::64B",
                                        "ld.relaxed.gpu.global",
                                        "ld.acquire.sys.global",
                                        "ld.volatile.global",
                                        "ld.mmio.relaxed.sys.global",
                                        "ld.mmio.relaxed.sys",
                                        "ld.weak.global",
                                        "ldu.global",
                                        "ld",
                                        "ld.relaxed.cta",
                                        "ld.acquire.cluster.global"};
    static const char *const stores[] = {"st.global.wb",
                                         "st.global.cg",
                                         "st.global.cs",
                                         "st.global.wt",
                                         "st.global.L1::evict_last",
                                         "st.relaxed.gpu.global",
                                         "st.release.sys.global",
                                         "st.volatile.global",
                                         "st.mmio.relaxed.sys.global",
                                         "st.mmio.relaxed.sys",
                                         "st.weak.global",
                                         "st",
                                         "st.release.cta"};
    static const char *const between[] = {
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "fence.acq_rel.cta",
        "fence.acq_rel.gpu",
        "fence.sc.sys",
        "fence.sc.cluster",
        "fence.acquire.gpu",
        "fence.release.cta",
        "fence.proxy.alias",
        "fence.proxy.async",
        "prefetch.global.L1 [%in]",
        "prefetch.global.L2 [%in]",
        "prefetch.L1 [%in]",
        "prefetchu.L1 [%in]",
        "prefetch.global.L2::evict_last [%in]",
        "applypriority.global.L2::evict_normal [%in], 128",
        "nanosleep.u32 100",
        "pmevent 1",
        "griddepcontrol.wait",
        "griddepcontrol.launch_dependents",
        "createpolicy.fractional.L2::evict_first.b64 %l5, 0.5",
        "createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64 %l5"};
    enum { LOADS = LENGTH(loads), STORES = LENGTH(stores) };
    uint32_t in[LOADS], out[LOADS + STORES];
    memset(out, 0, sizeof out);
    char *body = NULL;
    size_t size = 0;
    FILE *text = open_memstream(&body, &size);
    cr_assert(text != NULL);
    for (unsigned i = 0; i < LOADS; i++) {
        in[i] = 1000 + i;
        fprintf(text, " %s.u32 %%r0, [%%in+%u]; st.global.u32 [%%out+%u], %%r0;\n", loads[i], 4 * i,
                4 * i);
    }
    for (unsigned i = 0; i < LENGTH(between); i++) {
        fprintf(text, " %s;\n", between[i]);
    }
    for (unsigned i = 0; i < STORES; i++) {
        fprintf(text, " mov.u32 %%r1, %u; %s.u32 [%%out+%u], %%r1;\n", 2000 + i, stores[i],
                4 * (LOADS + i));
    }
    fputs(" createpolicy.fractional.L2::evict_first.b64 %l6, 1.0;\n"
          " ld.global.L2::cache_hint.u32 %r2, [%in], %l6;\n"
          " st.global.L2::cache_hint.u32 [%out], %r2, %l6;\n",
          text);
    fclose(text);
    struct run run = {.body = body,
                      .grid = 1,
                      .block = 1,
                      .in = in,
                      .in_count = LOADS,
                      .out = out,
                      .out_count = LOADS + STORES};
    OK(run_kernel(&run));
    for (unsigned i = 0; i < LOADS; i++) {
        cr_expect(out[i] == 1000 + i, "%s: %u", loads[i], out[i]);
    }
    for (unsigned i = 0; i < STORES; i++) {
        cr_expect(out[LOADS + i] == 2000 + i, "%s: %u", stores[i], out[LOADS + i]);
    }
    free(body);
}

// alloca gives each thread memory of its own, aligned; stackrestore gives it back.
Test(spaces, stack_memory)
{
    uint32_t out[64];
    memset(out, 0, sizeof out);
    struct run run = {
        .body = " mov.u32 %r9, 0; mov.u32 %r8, 0;\n"
                "AGAIN:\n stacksave.u64 %l0; add.u32 %r0, %id, 1; mul.lo.u32 %r0, %r0, 16;\n"
                " cvt.u64.u32 %l7, %r0; alloca.u64 %l1, %l7, 32; and.b64 %l2, %l1, 31;\n"
                " cvta.local.u64 %l3, %l1; st.local.u32 [%l1+12], %id;\n"
                " ld.u32 %r1, [%l3+12]; add.u32 %r8, %r8, %r1; cvt.u32.u64 %r2, %l2;\n"
                " add.u32 %r8, %r8, %r2; stackrestore.u64 %l0; add.u32 %r9, %r9, 1;\n"
                " setp.lt.u32 %p0, %r9, 10000; @%p0 bra AGAIN;\n" OUT_ADDRESS
                " st.global.u32 [%out], %r8;\n",
        .grid = 1,
        .block = 64,
        .out = out,
        .out_count = 64};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 64; i++) {
        cr_assert(out[i] == 10000 * i, "thread %u: %u", i, out[i]);
    }
}

// Every thread applies the operation to the same cell; some are order dependent and only the final
// value is compared.
static uint32_t atomic_final(const char *code, const char *space, uint32_t start,
                             uint32_t *ret_old_sum)
{
    char body[800];
    uint32_t out[2] = {start, 0};
    snprintf(body, sizeof body,
             " add.u32 %%r1, %%id, 1; mov.u32 %%r7, cell; setp.ne.u32 %%p0, %%id, 0;\n"
             " @!%%p0 st.shared.u32 [cell], %u; bar.sync 0; mov.u64 %%l1, %%out;\n"
             " atom.%s.%s; bar.sync 0; red.global.add.u32 [%%out+4], %%r0; @%%p0 ret;\n"
             " ld.shared.u32 %%r2, [cell]; @%s st.global.u32 [%%out], %%r2;\n",
             start, space, code, strcmp(space, "shared") == 0 ? "!%p0" : "%p0");
    struct run run = {.directives = ".shared .align 8 .b32 cell;\n",
                      .body = body,
                      .grid = 1,
                      .block = 100,
                      .out = out,
                      .out_count = 2};
    OK(run_kernel(&run));
    *ret_old_sum = out[1];
    return out[0];
}

Test(atomics, integer_operations)
{
    static const struct {
        const char *global, *shared;
        uint32_t start, want;
    } rows[] = {
        {"add.u32 %r0, [%out], %r1", "add.u32 %r0, [%r7], %r1", 7, 7 + 5050},
        {"min.u32 %r0, [%out], %r1", "min.u32 %r0, [%r7], %r1", 50, 1},
        {"max.s32 %r0, [%out], %r1", "max.s32 %r0, [%r7], %r1", 0x80000000, 100},
        {"max.u32 %r0, [%out], %r1", "max.u32 %r0, [%r7], %r1", 0x80000000, 0x80000000},
        {"or.b32 %r0, [%out], %r1", "or.b32 %r0, [%r7], %r1", 0x100, 0x17f},
        {"and.b32 %r0, [%out], %r1", "and.b32 %r0, [%r7], %r1", 0xff, 0},
        {"xor.b32 %r0, [%out], %r1", "xor.b32 %r0, [%r7], %r1", 0, 100},
        {"inc.u32 %r0, [%out], 1000", "inc.u32 %r0, [%r7], 1000", 5, 105},
        {"inc.u32 %r0, [%out], 9", "inc.u32 %r0, [%r7], 9", 0, 0},
        {"dec.u32 %r0, [%out], 1000", "dec.u32 %r0, [%r7], 1000", 500, 400},
        {"dec.u32 %r0, [%out], 9", "dec.u32 %r0, [%r7], 9", 100, 0},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        uint32_t sum;
        uint32_t got = atomic_final(rows[i].global, "global", rows[i].start, &sum);
        cr_expect(got == rows[i].want, "global %s: %u, expected %u", rows[i].global, got,
                  rows[i].want);
        got = atomic_final(rows[i].shared, "shared", rows[i].start, &sum);
        cr_expect(got == rows[i].want, "shared %s: %u, expected %u", rows[i].shared, got,
                  rows[i].want);
    }
}

Test(atomics, old_values)
{
    uint32_t sum;
    // add of 1: the old values are 0..99 in some order
    atomic_final("add.u32 %r0, [%out], 1", "global", 0, &sum);
    cr_assert(sum == 99 * 100 / 2);
    // inc with bound 9: ten rounds of 0..9
    atomic_final("inc.u32 %r0, [%out], 9", "global", 0, &sum);
    cr_assert(sum == 450);
}

Test(atomics, compare_and_swap_and_exchange)
{
    uint32_t out[8] = {91, 7, 0, 0, 5, 6, 0, 0};
    struct run run = {
        .body =
            " atom.global.cas.b32 %r0, [%out], 91, 100; st.global.u32 [%out+8], %r0;\n"
            " atom.global.cas.b32 %r1, [%out], 91, 200; st.global.u32 [%out+12], %r1;\n"
            " atom.global.exch.b32 %r2, [%out+4], 8; add.u32 %r2, %r2, 1000;\n"
            " mov.u64 %l0, 0x600000005; mov.u64 %l1, 0x900000008;\n"
            " atom.global.cas.b64 %l2, [%out+16], %l0, %l1;\n"
            " cvt.u32.u64 %r3, %l2; st.global.u32 [%out+24], %r3; st.global.u32 [%out+28], %r2;\n",
        .grid = 1,
        .block = 1,
        .out = out,
        .out_count = 8};
    OK(run_kernel(&run));
    const uint32_t want[8] = {100, 8, 91, 100, 8, 9, 5, 1007};
    for (int i = 0; i < 8; i++) {
        cr_assert(out[i] == want[i], "%d: %u, expected %u", i, out[i], want[i]);
    }
}

Test(atomics, floating_point)
{
    uint32_t out[8] = {0};
    struct run run = {
        .body = " atom.global.add.f32 %r0, [%out], 0f3F000000;\n"           // 0.5 x 128
                " atom.global.add.f64 %l0, [%out+8], 0d3FD0000000000000;\n" // 0.25
                " red.global.add.f32 [%out+4], 0f3F800000;\n"
                " mov.b32 %r1, 0x3c003800; atom.global.add.noftz.f16x2 %r2, [%out+16], %r1;\n"
                " mov.b16 %h0, 0x3c00; atom.global.add.noftz.f16 %h1, [%out+20], %h0;\n"
                " atom.global.add.u64 %l1, [%out+24], 0x100000001;\n",
        .grid = 2,
        .block = 64,
        .out = out,
        .out_count = 8};
    OK(run_kernel(&run));
    float f;
    double d;
    memcpy(&f, &out[0], 4);
    cr_assert(f == 64.0f, "%g", (double)f);
    memcpy(&f, &out[1], 4);
    cr_assert(f == 128.0f);
    memcpy(&d, &out[2], 8);
    cr_assert(d == 32.0);
    cr_assert(out[4] == 0x58005400, "%x", out[4]); // 128.0, 64.0
    cr_assert((out[5] & 0xffff) == 0x5800);
    cr_assert(out[6] == 128 && out[7] == 128);
}

// Device functions: direct, recursive, by pointer; structures by value.
Test(control, calls)
{
    uint32_t out[8] = {0};
    struct run run = {
        .directives =
            ".func (.param .b32 r) twice(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x];\n"
            " add.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }\n"
            ".func (.param .b32 r) square(.param .b32 x) { .reg .b32 %a; ld.param.b32 %a, [x];\n"
            " mul.lo.u32 %a, %a, %a; st.param.b32 [r], %a; ret; }\n"
            ".func (.param .b32 r) factorial(.param .b32 n) { .reg .b32 %a, %b; .reg .pred %p;\n"
            " ld.param.b32 %a, [n]; setp.gt.u32 %p, %a, 1; @%p bra MORE; mov.u32 %b, 1;\n"
            " st.param.b32 [r], %b; ret;\nMORE:\n sub.u32 %b, %a, 1;\n"
            " { .param .b32 p; st.param.b32 [p], %b; .param .b32 q; call.uni (q), factorial, (p);\n"
            " ld.param.b32 %b, [q]; }\n mul.lo.u32 %a, %a, %b; st.param.b32 [r], %a; ret; }\n"
            ".func (.param .align 8 .b8 r[16]) swap(.param .align 8 .b8 s[16]) { .reg .b64 %a, "
            "%b;\n"
            " ld.param.b64 %a, [s]; ld.param.b64 %b, [s+8]; st.param.b64 [r], %b;\n"
            " st.param.b64 [r+8], %a; ret; }\n"
            ".global .align 8 .u64 functions[2] = {twice, square};\n",
        .body =
            " mov.u32 %r0, 5;\n"
            " { .param .b32 p; .param .b32 q; st.param.b32 [p], %r0; call.uni (q), twice, (p);\n"
            " ld.param.b32 %r1, [q]; } st.global.u32 [%out], %r1;\n"
            " { .param .b32 p; .param .b32 q; st.param.b32 [p], %r0; call.uni (q), factorial, "
            "(p);\n"
            " ld.param.b32 %r2, [q]; } st.global.u32 [%out+4], %r2;\n"
            " ld.global.u64 %l0, [functions+8];\n"
            " { .param .b32 p; .param .b32 q; st.param.b32 [p], %r0;\n"
            " proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
            " call (q), %l0, (p), proto; ld.param.b32 %r3, [q]; } st.global.u32 [%out+8], %r3;\n"
            " mov.u64 %l1, twice;\n"
            " { .param .b32 p; .param .b32 q; st.param.b32 [p], 21;\n"
            " proto2: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
            " call (q), %l1, (p), proto2; ld.param.b32 %r4, [q]; } st.global.u32 [%out+12], %r4;\n"
            " { .param .align 8 .b8 p[16]; .param .align 8 .b8 q[16]; st.param.b64 [p], 100;\n"
            " st.param.b64 [p+8], 200; call.uni (q), swap, (p); ld.param.b64 %l2, [q];\n"
            " ld.param.b64 %l3, [q+8]; } cvt.u32.u64 %r5, %l2; cvt.u32.u64 %r6, %l3;\n"
            " st.global.u32 [%out+16], %r5; st.global.u32 [%out+20], %r6;\n",
        .grid = 1,
        .block = 1,
        .out = out,
        .out_count = 8};
    OK(run_kernel(&run));
    const uint32_t want[6] = {10, 120, 25, 42, 200, 100};
    for (int i = 0; i < 6; i++) {
        cr_assert(out[i] == want[i], "%d: %u, expected %u", i, out[i], want[i]);
    }
}

// A barrier and a shuffle inside a recursive function.
Test(control, suspension_inside_recursion)
{
    uint32_t out[64];
    memset(out, 0, sizeof out);
    struct run run = {
        .directives =
            ".func (.param .b32 r) down(.param .b32 n, .param .b32 v) { .reg .b32 %a, %b, %c, %d;\n"
            " .reg .pred %p; ld.param.b32 %a, [n]; ld.param.b32 %b, [v]; setp.ne.u32 %p, %a, 0;\n"
            " @%p bra MORE; st.param.b32 [r], %b; ret;\nMORE:\n bar.sync 0;\n"
            " shfl.sync.bfly.b32 %c, %b, 1, 31, 0xffffffff; add.u32 %c, %c, %b; sub.u32 %d, %a, "
            "1;\n"
            " { .param .b32 p; .param .b32 q; .param .b32 s; st.param.b32 [p], %d;\n"
            " st.param.b32 [q], %c; call (s), down, (p, q); ld.param.b32 %c, [s]; }\n"
            " add.u32 %c, %c, %a; st.param.b32 [r], %c; ret; }\n",
        .body =
            " { .param .b32 p; .param .b32 q; .param .b32 s; st.param.b32 [p], 4;\n"
            " st.param.b32 [q], %id; call (s), down, (p, q); ld.param.b32 %r0, [s]; }\n" OUT_ADDRESS
            " st.global.u32 [%out], %r0;\n",
        .grid = 1,
        .block = 64,
        .out = out,
        .out_count = 64};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t pair = (i & ~1u) + (i | 1u);
        cr_assert(out[i] == pair * 8 + 10, "thread %u: %u, expected %u", i, out[i], pair * 8 + 10);
    }
}

Test(control, indexed_branch)
{
    uint32_t out[6];
    memset(out, 0, sizeof out);
    struct run run = {
        .body = " table: .branchtargets L0, L1, L2;\n"
                " rem.u32 %r0, %id, 3; brx.idx %r0, table;\n"
                "L0:\n mov.u32 %r1, 100; bra JOIN;\nL1:\n mov.u32 %r1, 200; bra JOIN;\n"
                "L2:\n mov.u32 %r1, 300;\nJOIN:\n" OUT_ADDRESS " st.global.u32 [%out], %r1;\n",
        .grid = 1,
        .block = 6,
        .out = out,
        .out_count = 6};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 6; i++) {
        cr_assert(out[i] == 100 * (i % 3 + 1));
    }
}

// A loop entered in two places (irreducible), with a barrier-free divergent exit.
Test(control, irreducible_loop)
{
    uint32_t out[32];
    memset(out, 0, sizeof out);
    struct run run = {.body =
                          " mov.u32 %r0, 0; mov.u32 %r1, %id; and.b32 %r2, %id, 1;\n"
                          " setp.ne.u32 %p0, %r2, 0; @%p0 bra MIDDLE;\n"
                          "TOP:\n add.u32 %r0, %r0, 2;\nMIDDLE:\n add.u32 %r0, %r0, 1;\n"
                          " setp.eq.u32 %p1, %r1, 0; @%p1 bra DONE; sub.u32 %r1, %r1, 1; bra TOP;\n"
                          "DONE:\n" OUT_ADDRESS " st.global.u32 [%out], %r0;\n",
                      .grid = 1,
                      .block = 32,
                      .out = out,
                      .out_count = 32};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 32; i++) {
        uint32_t want = 3 * i + (i & 1 ? 1 : 3);
        cr_assert(out[i] == want, "%u: %u, expected %u", i, out[i], want);
    }
}

Test(control, special_registers)
{
    uint32_t out[3 * 70 * 4];
    memset(out, 0, sizeof out);
    struct run run = {
        .body =
            " mov.u32 %r0, %warpid; mov.u32 %r1, %lanemask_lt; mov.u32 %r2, %nctaid.x;\n"
            " mov.u32 %r3, %lanemask_ge; popc.b32 %r3, %r3; shl.b32 %r2, %r2, 8;\n"
            " or.b32 %r2, %r2, %r3; mov.u32 %r4, %clock; mov.u64 %l0, %clock64;\n"
            " mov.u64 %l1, %globaltimer; mov.u32 %r5, %nwarpid; mov.u32 %r6, %smid;\n"
            " mov.u32 %r7, %nsmid; setp.lt.u32 %p0, %r6, %r7; selp.u32 %r8, 1, 0, %p0;\n"
            " mov.u32 %r9, %ntid.x; mad.lo.u32 %r9, %block, %r9, %id;\n"
            " mad.wide.u32 %out, %r9, 16, %out; st.global.v4.u32 [%out], {%r0, %r1, %r2, %r8};\n",
        .grid = 3,
        .block = 70,
        .out = out,
        .out_count = LENGTH(out)};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 210; i++) {
        uint32_t t = i % 70, lane = t % 32, *got = &out[4 * i];
        cr_assert(got[0] == t / 32 && got[1] == (1u << lane) - 1 &&
                      got[2] == (3 << 8 | (32 - lane)) && got[3] == 1,
                  "thread %u: %u %x %x %u", i, got[0], got[1], got[2], got[3]);
    }
}
