// SPDX-License-Identifier: Apache-2.0
//
// Atomic operations on 16, 64 and 128 bits and on vectors: every thread of 100 applies the
// operation to one cell, in global and in shared memory. test_memory.c holds those on 32 bits.
#include "run.h"

TestSuite(atomics, .timeout = 60);

// Applies `code` (its address operand is [%l0]) with %l1 = id + 1, %r1 = id + 1 to a 64-bit cell in
// the space; returns the final contents.
static uint64_t final_value(const char *code, bool shared, uint64_t start)
{
    char body[800];
    uint32_t out[2] = {(uint32_t)start, (uint32_t)(start >> 32)};
    snprintf(body, sizeof body,
             " add.u32 %%r1, %%id, 1; cvt.u64.u32 %%l1, %%r1; setp.ne.u32 %%p0, %%id, 0;\n"
             " mov.u64 %%l0, %s; ld.global.u64 %%l2, [%%out]; bar.sync 0;\n"
             " @!%%p0 st.shared.u64 [cell], %%l2; bar.sync 0; %s; bar.sync 0; @%%p0 ret;\n"
             " %s ld.shared.u64 %%l3, [cell]; %s st.global.u64 [%%out], %%l3;\n",
             shared ? "cell" : "%out", code, shared ? "" : "//", shared ? "" : "//");
    struct run run = {.directives = ".shared .align 16 .b64 cell;\n",
                      .body = body,
                      .grid = 1,
                      .block = 100,
                      .out = out,
                      .out_count = 2};
    OK(run_kernel(&run));
    return (uint64_t)out[1] << 32 | out[0];
}

Test(atomics, on_64_bits)
{
    static const struct {
        const char *operation, *operand;
        uint64_t start, want;
    } rows[] = {
        {"add.u64", "%l1", 1ull << 32, (1ull << 32) + 5050},
        {"min.s64", "%l1", 1000, 1},
        {"min.s64", "%l1", UINT64_MAX, UINT64_MAX},
        {"min.u64", "%l1", UINT64_MAX, 1},
        {"max.s64", "%l1", UINT64_MAX, 100},
        {"max.u64", "%l1", 1ull << 63, 1ull << 63},
        {"and.b64", "%l1", UINT64_MAX, 0},
        {"or.b64", "%l1", 1ull << 40, 1ull << 40 | 127},
        {"xor.b64", "%l1", 1ull << 50, 1ull << 50 | 100},
    };
    for (size_t i = 0; i < LENGTH(rows); i++) {
        for (int form = 0; form < 4; form++) {
            bool shared = form & 1, reduction = form & 2;
            char code[200];
            snprintf(code, sizeof code, "%s.%s.%s %s[%%l0], %s", reduction ? "red" : "atom",
                     shared ? "shared" : "global", rows[i].operation, reduction ? "" : "%l9, ",
                     rows[i].operand);
            uint64_t got = final_value(code, shared, rows[i].start);
            cr_expect(got == rows[i].want, "%s of %llx: %llx, expected %llx", code,
                      (unsigned long long)rows[i].start, (unsigned long long)got,
                      (unsigned long long)rows[i].want);
        }
    }
}

// Ordering and scope words do not change what one operation does.
Test(atomics, ordering_words)
{
    static const char *const words[] = {"",
                                        ".relaxed",
                                        ".acquire",
                                        ".release",
                                        ".acq_rel",
                                        ".relaxed.cta",
                                        ".acq_rel.gpu",
                                        ".release.sys",
                                        ".acquire.cluster"};
    for (size_t i = 0; i < LENGTH(words); i++) {
        char code[200];
        snprintf(code, sizeof code, "atom%s.global.add.u64 %%l9, [%%l0], %%l1", words[i]);
        cr_expect(final_value(code, false, 5) == 5055, "%s", code);
    }
}

// 16-bit compare and swap as a lock-free sum: the neighbouring half stays.
Test(atomics, compare_and_swap_of_16_bits)
{
    uint32_t out[2] = {0xabcd0000, 0};
    struct run run = {.body = " ld.global.u16 %h0, [%out];\n"
                              "AGAIN:\n add.u16 %h1, %h0, 3; mov.b16 %h3, %h0;\n"
                              " atom.global.cas.b16 %h2, [%out], %h0, %h1; mov.b16 %h0, %h2;\n"
                              " setp.ne.u16 %p0, %h2, %h3; @%p0 bra AGAIN;\n",
                      .grid = 2,
                      .block = 64,
                      .out = out,
                      .out_count = 2};
    OK(run_kernel(&run));
    cr_assert(out[0] == (0xabcd0000 | 128 * 3) && out[1] == 0, "%x %x", out[0], out[1]);
}

Test(atomics, on_128_bits)
{
    uint32_t out[16] = {1, 0, 2, 0, 5, 0, 6, 0};
    struct run run = {.body =
                          " .reg .b128 %q<4>;\n"
                          " mov.b128 %q0, {1, 2}; mov.b128 %q1, {10, 20};\n"
                          " atom.global.cas.b128 %q2, [%out], %q0, %q1; mov.b128 {%l0, %l1}, %q2;\n"
                          " st.global.v2.u64 [%out+32], {%l0, %l1};\n" // matched: old 1, 2
                          " atom.global.cas.b128 %q2, [%out], %q0, %q0; mov.b128 {%l0, %l1}, %q2;\n"
                          " st.global.v2.u64 [%out+48], {%l0, %l1};\n" // did not: 10, 20
                          " atom.global.exch.b128 %q3, [%out+16], %q1; mov.b128 {%l0, %l1}, %q3;\n"
                          " add.u64 %l2, %l0, %l1; ld.global.u64 %l3, [%out+24];\n"
                          " mad.lo.u64 %l2, %l2, 100, %l3; st.global.u64 [%out+16], %l2;\n",
                      .grid = 1,
                      .block = 1,
                      .out = out,
                      .out_count = 16};
    OK(run_kernel(&run));
    const uint32_t want[16] = {10, 0, 20, 0, 1120, 0, 20, 0, 1, 0, 2, 0, 10, 0, 20, 0};
    for (int i = 0; i < 16; i++) {
        cr_expect(out[i] == want[i], "%d: %u, expected %u", i, out[i], want[i]);
    }
}

Test(atomics, on_vectors)
{
    uint32_t out[16] = {0};
    struct run run = {
        .body = " mov.b32 %r0, 0f3F800000; mov.b32 %r1, 0f40000000; mov.b32 %r2, 0f3F000000;\n"
                " mov.b32 %r3, 0fBF800000;\n"
                " atom.global.v2.f32.add {%r4, %r5}, [%out], {%r0, %r1};\n"
                " red.global.v4.f32.add [%out+16], {%r0, %r1, %r2, %r3};\n"
                " mov.b16 %h0, 0x3c00; mov.b16 %h1, 0xbc00;\n" // 1, -1 in f16
                " atom.global.v2.f16.add.noftz {%h2, %h3}, [%out+32], {%h0, %h1};\n"
                " mov.b32 %r6, 0x3c004000; mov.b32 %r7, 0xc0003c00;\n"
                " red.global.v2.f16x2.max.noftz [%out+40], {%r6, %r7};\n"
                " mov.b16 %h4, 0x3f80; mov.b16 %h5, 0xbf80;\n" // 1, -1 in bf16
                " red.global.v4.bf16.min.noftz [%out+48], {%h4, %h5, %h5, %h4};\n",
        .grid = 2,
        .block = 50,
        .out = out,
        .out_count = 16};
    OK(run_kernel(&run));
    const float floats[] = {100, 200};
    const float four[] = {100, 200, 50, -100};
    cr_expect(memcmp(out, floats, sizeof floats) == 0, "v2.f32: %x %x", out[0], out[1]);
    cr_expect(memcmp(&out[4], four, sizeof four) == 0, "v4.f32: %x %x %x %x", out[4], out[5],
              out[6], out[7]);
    cr_expect(out[8] == 0xd6405640, "v2.f16: %x", out[8]); // 100, -100
    cr_expect(out[10] == 0x3c004000 && out[11] == 0x00003c00, "v2.f16x2: %x %x", out[10], out[11]);
    cr_expect(out[12] == 0xbf800000 && out[13] == 0x0000bf80, "v4.bf16: %x %x", out[12], out[13]);
}
