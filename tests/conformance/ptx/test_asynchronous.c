// SPDX-License-Identifier: Apache-2.0
//
// Asynchronous copies and mbarrier objects, PTX ISA "Data Movement: Asynchronous copy" and
// "Parallel Synchronization: mbarrier".
#include "run.h"

TestSuite(asynchronous, .timeout = 60);

static const uint32_t numbers[64] = {
    100, 101, 102, 103, 104, 105, 106, 107, 108, 109, 110, 111, 112, 113, 114, 115,
    116, 117, 118, 119, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129, 130, 131,
    132, 133, 134, 135, 136, 137, 138, 139, 140, 141, 142, 143, 144, 145, 146, 147,
    148, 149, 150, 151, 152, 153, 154, 155, 156, 157, 158, 159, 160, 161, 162, 163};
#define BUFFER ".shared .align 16 .b8 buffer[1024];\n.shared .align 8 .b64 barrier;\n"

// Every size; what `src-size` leaves out becomes zero; groups complete in order.
Test(asynchronous, copies_of_every_size)
{
    uint32_t out[32];
    memset(out, 0xee, sizeof out);
    struct run run = {
        .directives = BUFFER,
        .body =
            " mov.u32 %r0, buffer; cvt.u64.u32 %l0, %r0;\n"
            " mov.u32 %r1, 0xffffffff; mov.u32 %r2, 0;\n"
            "CLEAR:\n add.u32 %r3, %r0, %r2; st.shared.u32 [%r3], %r1; add.u32 %r2, %r2, 4;\n"
            " setp.lt.u32 %p0, %r2, 128; @%p0 bra CLEAR;\n"
            " cp.async.ca.shared.global [%r0], [%in], 4;\n"
            " cp.async.ca.shared.global [%r0+8], [%in+8], 8; cp.async.commit_group;\n"
            " cp.async.cg.shared.global [%r0+16], [%in+16], 16;\n"
            " cp.async.cg.shared.global [buffer+32], [%in+32], 16, 8;\n"
            " cp.async.ca.shared.global [%r0+48], [%in+48], 4, 0;\n"
            " cp.async.cg.shared.global.L2::128B [%r0+64], [%in+64], 16; cp.async.commit_group;\n"
            " setp.eq.u32 %p1, %r2, 128;\n"
            " cp.async.ca.shared.global [%r0+80], [%in+80], 4, %p1;\n" // ignore-src: zeros
            " cp.async.wait_group 1; cp.async.wait_group 0; cp.async.wait_all;\n"
            " mov.u32 %r2, 0;\n"
            "STORE:\n add.u32 %r3, %r0, %r2; ld.shared.u32 %r4, [%r3]; cvt.u64.u32 %l1, %r2;\n"
            " add.u64 %l1, %l1, %out; st.global.u32 [%l1], %r4; add.u32 %r2, %r2, 4;\n"
            " setp.lt.u32 %p0, %r2, 128; @%p0 bra STORE;\n",
        .grid = 1,
        .block = 1,
        .in = numbers,
        .in_count = LENGTH(numbers),
        .out = out,
        .out_count = 32};
    OK(run_kernel(&run));
    uint32_t want[32];
    memset(want, 0xff, sizeof want);
    want[0] = 100;
    memcpy(&want[2], &numbers[2], 8);
    memcpy(&want[4], &numbers[4], 16);
    memcpy(&want[8], &numbers[8], 8);
    want[10] = want[11] = want[12] = 0;
    memcpy(&want[16], &numbers[16], 16);
    want[20] = 0;
    for (int i = 0; i < 32; i++) {
        cr_expect(out[i] == want[i], "word %d: %x, expected %x", i, out[i], want[i]);
    }
}

// Each of 64 threads copies one word; cp.async.mbarrier.arrive makes the barrier wait for them.
Test(asynchronous, barrier_waits_for_copies)
{
    uint32_t out[64];
    memset(out, 0, sizeof out);
    struct run run = {
        .directives = BUFFER,
        .body = " mov.u32 %r0, buffer; mov.u32 %r1, barrier; setp.ne.u32 %p0, %id, 0;\n"
                " @!%p0 mbarrier.init.shared.b64 [%r1], 64; bar.sync 0;\n"
                " mad.lo.u32 %r2, %id, 4, %r0; mad.wide.u32 %in, %id, 4, %in;\n"
                " cp.async.ca.shared.global [%r2], [%in], 4;\n"
                " cp.async.mbarrier.arrive.noinc.shared.b64 [%r1];\n"
                "WAIT:\n mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; @!%p1 bra WAIT;\n"
                " xor.b32 %r3, %id, 63; mad.lo.u32 %r3, %r3, 4, %r0; ld.shared.u32 %r4, "
                "[%r3];\n" OUT_ADDRESS " st.global.u32 [%out], %r4;\n",
        .grid = 1,
        .block = 64,
        .in = numbers,
        .in_count = 64,
        .out = out,
        .out_count = 64};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 64; i++) {
        cr_assert(out[i] == 100 + (i ^ 63), "thread %u: %u", i, out[i]);
    }
}

// Three phases by token: nobody passes before all have arrived, the phase flips each time.
Test(asynchronous, barrier_phases)
{
    uint32_t out[96];
    memset(out, 0, sizeof out);
    struct run run = {
        .directives = BUFFER,
        .body = " mov.u32 %r0, buffer; mov.u32 %r1, barrier; setp.ne.u32 %p0, %id, 0;\n"
                " @!%p0 mbarrier.init.shared::cta.b64 [%r1], 96; @!%p0 st.shared.u32 [%r0], 0;\n"
                " bar.sync 0; mov.u32 %r2, 0; mov.u32 %r3, 1;\n"
                "PHASE:\n atom.shared.add.u32 %r4, [%r0], 1;\n"
                " mbarrier.arrive.shared.b64 %l0, [%r1];\n"
                "WAIT:\n mbarrier.try_wait.shared.b64 %p1, [%r1], %l0; @!%p1 bra WAIT;\n"
                " ld.shared.u32 %r5, [%r0]; add.u32 %r2, %r2, 1; mul.lo.u32 %r6, %r2, 96;\n"
                " setp.lt.u32 %p2, %r5, %r6; @%p2 mov.u32 %r3, 0;\n"
                " setp.lt.u32 %p3, %r2, 3; @%p3 bra PHASE;\n"
                " mbarrier.test_wait.shared.b64 %p4, [%r1], %l0; selp.u32 %r7, 2, 0, %p4;\n"
                " or.b32 %r3, %r3, %r7;\n" OUT_ADDRESS " st.global.u32 [%out], %r3;\n",
        .grid = 1,
        .block = 96,
        .out = out,
        .out_count = 96};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 96; i++) {
        cr_assert(out[i] == 3, "thread %u: %u", i, out[i]);
    }
}

// arrive.noComplete, arrive_drop and pending_count; parity waits; inval and a second init.
Test(asynchronous, barrier_counts)
{
    uint32_t out[8] = {0};
    struct run run = {
        .directives = BUFFER,
        .body =
            " mov.u32 %r1, barrier; mbarrier.init.shared.b64 [%r1], 5;\n"
            " mbarrier.arrive.noComplete.shared.b64 %l0, [%r1], 2;\n"
            " mbarrier.pending_count.b64 %r2, %l0; st.global.u32 [%out], %r2;\n" // before: 5
            " mbarrier.arrive.shared.b64 %l1, [%r1];\n"
            " mbarrier.pending_count.b64 %r3, %l1; st.global.u32 [%out+4], %r3;\n" // 3
            " mbarrier.test_wait.parity.shared.b64 %p0, [%r1], 0; selp.u32 %r4, 1, 0, %p0;\n"
            " st.global.u32 [%out+8], %r4;\n" // the phase is not over
            " mbarrier.arrive_drop.shared.b64 %l2, [%r1]; mbarrier.arrive.shared.b64 %l3, [%r1];\n"
            " mbarrier.test_wait.parity.shared.b64 %p1, [%r1], 0; selp.u32 %r5, 1, 0, %p1;\n"
            " st.global.u32 [%out+12], %r5;\n" // it is
            " mbarrier.arrive.shared.b64 %l4, [%r1]; mbarrier.pending_count.b64 %r6, %l4;\n"
            " st.global.u32 [%out+16], %r6;\n" // one of five dropped out: 4
            " mbarrier.inval.shared.b64 [%r1]; mbarrier.init.shared.b64 [%r1], 1;\n"
            " mbarrier.arrive.shared.b64 %l5, [%r1];\n"
            " mbarrier.test_wait.shared.b64 %p2, [%r1], %l5; selp.u32 %r7, 1, 0, %p2;\n"
            " st.global.u32 [%out+20], %r7;\n",
        .grid = 1,
        .block = 1,
        .out = out,
        .out_count = 8};
    OK(run_kernel(&run));
    const uint32_t want[6] = {5, 3, 0, 1, 4, 1};
    for (int i = 0; i < 6; i++) {
        cr_expect(out[i] == want[i], "%d: %u, expected %u", i, out[i], want[i]);
    }
}

// A barrier may expect bytes; the phase ends when both arrivals and bytes are in.
Test(asynchronous, barrier_expects_bytes)
{
    uint32_t out[4] = {0};
    struct run run = {
        .directives = BUFFER,
        .body = " mov.u32 %r1, barrier; mbarrier.init.shared.b64 [%r1], 1;\n"
                " mbarrier.arrive.expect_tx.shared.b64 %l0, [%r1], 64;\n"
                " mbarrier.test_wait.shared.b64 %p0, [%r1], %l0; selp.u32 %r2, 1, 0, %p0;\n"
                " mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 40;\n"
                " mbarrier.test_wait.shared.b64 %p0, [%r1], %l0; selp.u32 %r3, 1, 0, %p0;\n"
                " mbarrier.complete_tx.relaxed.cta.shared.b64 [%r1], 24;\n"
                " mbarrier.test_wait.shared.b64 %p0, [%r1], %l0; selp.u32 %r4, 1, 0, %p0;\n"
                " st.global.u32 [%out], %r2; st.global.u32 [%out+4], %r3;\n"
                " st.global.u32 [%out+8], %r4;\n",
        .grid = 1,
        .block = 1,
        .out = out,
        .out_count = 4};
    OK(run_kernel(&run));
    cr_assert(out[0] == 0 && out[1] == 0 && out[2] == 1, "%u %u %u", out[0], out[1], out[2]);
}
