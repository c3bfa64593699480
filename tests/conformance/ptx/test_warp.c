// SPDX-License-Identifier: Apache-2.0
//
// Warp operations with exact masks, and block barriers: PTX ISA shfl, vote, match, redux, elect,
// activemask, bar/barrier. Divergence, exited threads and spinning threads included.
#include "run.h"

TestSuite(warps, .timeout = 60);
TestSuite(barriers, .timeout = 60);

enum shuffle { UP, DOWN, BFLY, IDX };

// The pseudo code of the PTX ISA: source lane and predicate.
static bool shuffle_source(enum shuffle mode, unsigned lane, unsigned b, unsigned c,
                           unsigned *source)
{
    unsigned bval = b & 31, cval = c & 31, segment = c >> 8 & 31;
    unsigned max_lane = (lane & segment) | (cval & ~segment);
    unsigned min_lane = lane & segment;
    int j = 0;
    bool valid = false;
    switch (mode) {
    case UP:
        j = (int)lane - (int)bval;
        valid = j >= (int)max_lane;
        break;
    case DOWN:
        j = (int)(lane + bval);
        valid = j <= (int)max_lane;
        break;
    case BFLY:
        j = (int)(lane ^ bval);
        valid = j <= (int)max_lane;
        break;
    case IDX:
        j = (int)(min_lane | (bval & ~segment));
        valid = j <= (int)max_lane;
        break;
    }
    *source = valid ? (unsigned)j : lane;
    return valid;
}

static void check_shuffle(enum shuffle mode, const char *name)
{
    static const unsigned bs[] = {0, 1, 2, 5, 16, 31, 32, 33, 63};
    static const unsigned cs[] = {31, 0, 0x1f1f, 0x181f, 0x100f, 0x1e1f, 0x1800, 0x1c03};
    enum { CASES = LENGTH(bs) * LENGTH(cs), THREADS = 64 };
    uint32_t in[2 * CASES], *out = calloc(2 * CASES * THREADS, 4);
    char body[1200];
    for (size_t i = 0; i < CASES; i++) {
        in[2 * i] = bs[i % LENGTH(bs)];
        in[2 * i + 1] = cs[i / LENGTH(bs)];
    }
    snprintf(body, sizeof body,
             " mov.u32 %%r0, 0; mad.wide.u32 %%out, %%id, 8, %%out;\n"
             "LOOP:\n mad.wide.u32 %%l0, %%r0, 8, %%in; ld.global.v2.u32 {%%r1, %%r2}, [%%l0];\n"
             " add.u32 %%r3, %%id, 1000;\n"
             " shfl.sync.%s.b32 %%r4|%%p0, %%r3, %%r1, %%r2, 0xffffffff;\n"
             " selp.u32 %%r5, 1, 0, %%p0; st.global.v2.u32 [%%out], {%%r4, %%r5};\n"
             " add.u64 %%out, %%out, %d; add.u32 %%r0, %%r0, 1; setp.lt.u32 %%p1, %%r0, %d;\n"
             " @%%p1 bra LOOP;\n",
             name, 8 * THREADS, (int)CASES);
    struct run run = {.body = body,
                      .grid = 1,
                      .block = THREADS,
                      .in = in,
                      .in_count = 2 * CASES,
                      .out = out,
                      .out_count = 2 * CASES * THREADS};
    OK(run_kernel(&run));
    for (unsigned i = 0; i < CASES; i++) {
        for (unsigned t = 0; t < THREADS; t++) {
            unsigned source;
            bool valid = shuffle_source(mode, t % 32, in[2 * i], in[2 * i + 1], &source);
            uint32_t want = 1000 + t / 32 * 32 + source;
            uint32_t *got = &out[2 * (i * THREADS + t)];
            cr_assert(got[0] == want && got[1] == valid,
                      "%s b=%u c=0x%x thread %u: got %u/%u, expected %u/%d", name, in[2 * i],
                      in[2 * i + 1], t, got[0], got[1], want, valid);
        }
    }
    free(out);
}

Test(warps, shuffle_up)
{
    check_shuffle(UP, "up");
}

Test(warps, shuffle_down)
{
    check_shuffle(DOWN, "down");
}

Test(warps, shuffle_butterfly)
{
    check_shuffle(BFLY, "bfly");
}

Test(warps, shuffle_index)
{
    check_shuffle(IDX, "idx");
}

// Each half of the warp votes with its own mask, from different places in the code.
Test(warps, votes_in_two_branches)
{
    uint32_t in[32], out[32 * 4];
    memset(out, 0xff, sizeof out);
    for (int i = 0; i < 32; i++) {
        in[i] = (uint32_t)(i * 2654435761u >> 13 & 1);
    }
    in[20] = in[21] = 1;
    struct run run = {
        .body =
            " mad.wide.u32 %l0, %lane, 4, %in; ld.global.u32 %r0, [%l0];\n"
            " setp.ne.u32 %p0, %r0, 0; setp.lt.u32 %p1, %lane, 20; @%p1 bra LOW;\n"
            " vote.sync.ballot.b32 %r1, %p0, 0xfff00000; vote.sync.all.pred %p2, %p0, 0xfff00000;\n"
            " vote.sync.any.pred %p3, %p0, 0xfff00000; vote.sync.uni.pred %p4, %p0, 0xfff00000;\n"
            " bra STORE;\n"
            "LOW:\n"
            " vote.sync.ballot.b32 %r1, !%p0, 0x000fffff; vote.sync.all.pred %p2, !%p0, "
            "0x000fffff;\n"
            " vote.sync.any.pred %p3, !%p0, 0x000fffff; vote.sync.uni.pred %p4, !%p0, 0x000fffff;\n"
            "STORE:\n"
            " selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3; selp.u32 %r4, 1, 0, %p4;\n"
            " mad.wide.u32 %out, %lane, 16, %out; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};\n",
        .grid = 1,
        .block = 32,
        .in = in,
        .in_count = 32,
        .out = out,
        .out_count = 128};
    OK(run_kernel(&run));
    for (int high = 0; high < 2; high++) {
        uint32_t ballot = 0;
        int first = high ? 20 : 0, last = high ? 31 : 19, ones = 0;
        for (int i = first; i <= last; i++) {
            uint32_t vote = high ? in[i] : !in[i];
            ballot |= vote << i;
            ones += (int)vote;
        }
        int lanes = last - first + 1;
        for (int i = first; i <= last; i++) {
            uint32_t *got = &out[4 * i];
            cr_assert(got[0] == ballot && got[1] == (ones == lanes) && got[2] == (ones > 0) &&
                          got[3] == (ones == lanes || ones == 0),
                      "lane %d: %x %u %u %u", i, got[0], got[1], got[2], got[3]);
        }
    }
}

// all.sync called from both sides of a branch with the full mask: one vote.
Test(warps, one_vote_from_both_sides_of_a_branch)
{
    uint32_t out[32];
    memset(out, 0xff, sizeof out);
    struct run run = {
        .body = " setp.lt.u32 %p0, %lane, 16; setp.ge.u32 %p1, %lane, 16;\n"
                " @%p0 bra LOW;\n vote.sync.all.pred %p2, %p1, 0xffffffff; bra STORE;\n"
                "LOW:\n vote.sync.all.pred %p2, %p1, 0xffffffff;\n"
                "STORE:\n selp.u32 %r0, 1, 0, %p2;\n" OUT_ADDRESS " st.global.u32 [%out], %r0;\n",
        .grid = 1,
        .block = 32,
        .out = out,
        .out_count = 32};
    OK(run_kernel(&run));
    for (int i = 0; i < 32; i++) {
        cr_assert(out[i] == 0, "lane %d", i);
    }
}

Test(warps, match)
{
    uint32_t in[32], out[32 * 4];
    for (unsigned i = 0; i < 32; i++) {
        in[i] = i * 7 % 5;
    }
    memset(out, 0xff, sizeof out);
    struct run run = {
        .body =
            " mad.wide.u32 %l0, %lane, 4, %in; ld.global.u32 %r0, [%l0];\n"
            " match.any.sync.b32 %r1, %r0, 0xffffffff;\n"
            " cvt.u64.u32 %l1, %r0; shl.b64 %l1, %l1, 40; match.any.sync.b64 %r2, %l1, "
            "0xffffffff;\n"
            " match.all.sync.b32 %r3|%p0, %r0, 0xffffffff; selp.u32 %r4, 1, 0, %p0;\n"
            " shl.b32 %r4, %r4, 8; mov.u32 %r5, 9; match.all.sync.b32 %r6|%p1, %r5, 0xffffffff;\n"
            " selp.u32 %r7, 1, 0, %p1; or.b32 %r4, %r4, %r7; and.b32 %r3, %r3, %r6;\n"
            " mad.wide.u32 %out, %lane, 16, %out; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};\n",
        .grid = 1,
        .block = 32,
        .in = in,
        .in_count = 32,
        .out = out,
        .out_count = 128};
    OK(run_kernel(&run));
    for (int i = 0; i < 32; i++) {
        uint32_t same = 0;
        for (int j = 0; j < 32; j++) {
            same |= (uint32_t)(in[i] == in[j]) << j;
        }
        uint32_t *got = &out[4 * i];
        cr_assert(got[0] == same && got[1] == same && got[2] == 0 && got[3] == 1,
                  "lane %d: %x %x %x %x, expected %x", i, got[0], got[1], got[2], got[3], same);
    }
}

Test(warps, redux)
{
    uint32_t in[32], out[32 * 8];
    uint32_t sum = 0, all_and = UINT32_MAX, all_or = 0, all_xor = 0, umin = UINT32_MAX, umax = 0;
    int32_t smin = INT32_MAX, smax = INT32_MIN;
    for (int i = 0; i < 32; i++) {
        in[i] = (uint32_t)i * 2654435761u ^ 0x5bd1e995u;
        if (i % 2 == 0) { // only even lanes take part
            sum += in[i];
            all_and &= in[i];
            all_or |= in[i];
            all_xor ^= in[i];
            umin = in[i] < umin ? in[i] : umin;
            umax = in[i] > umax ? in[i] : umax;
            smin = (int32_t)in[i] < smin ? (int32_t)in[i] : smin;
            smax = (int32_t)in[i] > smax ? (int32_t)in[i] : smax;
        }
    }
    memset(out, 0, sizeof out);
    struct run run = {
        .body =
            " and.b32 %r9, %lane, 1; setp.ne.u32 %p0, %r9, 0; @%p0 ret;\n"
            " mad.wide.u32 %l0, %lane, 4, %in; ld.global.u32 %r0, [%l0];\n"
            " redux.sync.add.s32 %r1, %r0, 0x55555555; redux.sync.and.b32 %r2, %r0, 0x55555555;\n"
            " redux.sync.or.b32 %r3, %r0, 0x55555555; redux.sync.xor.b32 %r4, %r0, 0x55555555;\n"
            " redux.sync.min.u32 %r5, %r0, 0x55555555; redux.sync.max.u32 %r6, %r0, 0x55555555;\n"
            " redux.sync.min.s32 %r7, %r0, 0x55555555; redux.sync.max.s32 %r8, %r0, 0x55555555;\n"
            " mad.wide.u32 %out, %lane, 32, %out; st.global.v4.u32 [%out], {%r1, %r2, %r3, %r4};\n"
            " st.global.v4.u32 [%out+16], {%r5, %r6, %r7, %r8};\n",
        .grid = 1,
        .block = 32,
        .in = in,
        .in_count = 32,
        .out = out,
        .out_count = 256};
    OK(run_kernel(&run));
    const uint32_t want[8] = {sum,  all_and, all_or,         all_xor,
                              umin, umax,    (uint32_t)smin, (uint32_t)smax};
    for (int i = 0; i < 32; i += 2) {
        for (int j = 0; j < 8; j++) {
            cr_assert(out[8 * i + j] == want[j], "lane %d, result %d: %x, expected %x", i, j,
                      out[8 * i + j], want[j]);
        }
    }
}

Test(warps, elect_one_leader)
{
    uint32_t out[64];
    memset(out, 0, sizeof out);
    struct run run = {
        .body = " setp.lt.u32 %p1, %lane, 4; @%p1 ret;\n"
                " elect.sync %r0|%p0, 0xfffffff0; selp.u32 %r1, 1, 0, %p0;\n"
                " mad.wide.u32 %out, %lane, 8, %out; st.global.v2.u32 [%out], {%r0, %r1};\n",
        .grid = 1,
        .block = 32,
        .out = out,
        .out_count = 64};
    OK(run_kernel(&run));
    uint32_t leader = out[2 * 4], leaders = 0;
    cr_assert(leader >= 4 && leader < 32);
    for (uint32_t i = 4; i < 32; i++) {
        cr_assert(out[2 * i] == leader);
        leaders += out[2 * i + 1];
        cr_assert(out[2 * i + 1] == (i == leader));
    }
    cr_assert(leaders == 1);
}

// activemask names only lanes that are there, and itself; a vote among them is complete.
Test(warps, activemask_in_a_branch)
{
    uint32_t out[64];
    memset(out, 0, sizeof out);
    struct run run = {
        .body = " and.b32 %r0, %lane, 3; setp.ne.u32 %p0, %r0, 1; @%p0 bra OTHER;\n"
                " activemask.b32 %r1; vote.sync.ballot.b32 %r2, 1, %r1;\n"
                " mad.wide.u32 %out, %lane, 8, %out; st.global.v2.u32 [%out], {%r1, %r2};\n"
                "OTHER:\n",
        .grid = 1,
        .block = 32,
        .out = out,
        .out_count = 64};
    OK(run_kernel(&run));
    for (int i = 1; i < 32; i += 4) {
        cr_assert((out[2 * i] & ~0x22222222u) == 0 && (out[2 * i] >> i & 1), "lane %d: %x", i,
                  out[2 * i]);
        cr_assert(out[2 * i] == out[2 * i + 1]);
    }
}

// A block whose last warp is partial: only living lanes count.
Test(warps, partial_warp)
{
    uint32_t out[40];
    memset(out, 0, sizeof out);
    struct run run = {.body =
                          " setp.ge.u32 %p0, %id, 32; @!%p0 ret;\n"
                          " vote.sync.ballot.b32 %r0, 1, 0xff; bar.warp.sync 0xff;\n" OUT_ADDRESS
                          " st.global.u32 [%out], %r0;\n",
                      .grid = 1,
                      .block = 40,
                      .out = out,
                      .out_count = 40};
    OK(run_kernel(&run));
    for (int i = 32; i < 40; i++) {
        cr_assert(out[i] == 0xff);
    }
}

// A lock taken lane by lane inside one warp: every lane must get through.
Test(warps, spin_lock_inside_a_warp)
{
    uint32_t out[2] = {0, 0};
    struct run run = {
        .body = "AGAIN:\n atom.global.cas.b32 %r0, [%out], 0, 1; setp.ne.u32 %p0, %r0, 0;\n"
                " @%p0 bra AGAIN;\n"
                " ld.volatile.global.u32 %r1, [%out+4]; add.u32 %r1, %r1, 1;\n"
                " st.volatile.global.u32 [%out+4], %r1; membar.gl;\n"
                " atom.global.exch.b32 %r2, [%out], 0;\n",
        .grid = 3,
        .block = 64,
        .out = out,
        .out_count = 2};
    OK(run_kernel(&run));
    cr_assert(out[1] == 192 && out[0] == 0, "%u", out[1]);
}

// A lane waits for a lane with a higher number, and that one for a later warp.
Test(warps, waiting_for_later_lanes)
{
    uint32_t out[96];
    memset(out, 0, sizeof out);
    struct run run = {
        .body = " mad.wide.u32 %l0, %id, 4, %out; setp.eq.u32 %p0, %id, 95; @%p0 bra SET;\n"
                "WAIT:\n ld.volatile.global.u32 %r0, [%l0+4]; setp.eq.u32 %p1, %r0, 0;\n"
                " @%p1 bra WAIT;\n add.u32 %r1, %r0, 1; bra STORE;\n"
                "SET:\n mov.u32 %r1, 1;\nSTORE:\n st.volatile.global.u32 [%l0], %r1;\n",
        .grid = 1,
        .block = 96,
        .out = out,
        .out_count = 96};
    OK(run_kernel(&run));
    cr_assert(out[0] == 96 && out[95] == 1);
}

// Blocks that wait for each other (a hand-made grid barrier), all resident.
Test(barriers, hand_made_grid_barrier)
{
    enum { BLOCKS = 6 };
    uint32_t out[BLOCKS + 1];
    memset(out, 0, sizeof out);
    struct run run = {.body =
                          " setp.ne.u32 %p0, %id, 0; @%p0 bra JOIN;\n"
                          " atom.global.add.u32 %r0, [%out], 1;\n"
                          "WAIT:\n ld.volatile.global.u32 %r1, [%out]; setp.lt.u32 %p1, %r1, 6;\n"
                          " @%p1 bra WAIT;\n mad.wide.u32 %l0, %block, 4, %out;\n"
                          " st.global.u32 [%l0+4], %r1;\nJOIN:\n bar.sync 0;\n",
                      .grid = BLOCKS,
                      .block = 64,
                      .out = out,
                      .out_count = BLOCKS + 1,
                      .cooperative = true};
    OK(run_kernel(&run));
    for (int i = 0; i <= BLOCKS; i++) {
        cr_assert(out[i] == BLOCKS, "%d: %u", i, out[i]);
    }
}

// Two of four threads fill shared memory; behind the barrier all four read both values.
Test(barriers, some_fill_and_all_read)
{
    uint32_t out[4];
    memset(out, 0, sizeof out);
    struct run run = {.directives = ".shared .align 8 .b32 pair[2];\n",
                      .body = " mov.u32 %r0, pair; setp.gt.u32 %p0, %id, 1; @%p0 bra FILLED;\n"
                              " mad.lo.u32 %r1, %id, 4, %r0; add.u32 %r2, %id, 1;\n"
                              " st.shared.u32 [%r1], %r2;\n"
                              "FILLED:\n bar.sync 0; ld.shared.v2.u32 {%r3, %r4}, [%r0];\n"
                              " mad.lo.u32 %r5, %r4, 16, %r3;\n" OUT_ADDRESS
                              " st.global.u32 [%out], %r5;\n",
                      .grid = 1,
                      .block = 4,
                      .out = out,
                      .out_count = 4};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 4; i++) {
        cr_assert(out[i] == 0x21, "thread %u: %x", i, out[i]);
    }
}

Test(barriers, exited_threads_do_not_hold)
{
    uint32_t out[100];
    memset(out, 0, sizeof out);
    struct run run = {
        .directives = ".shared .align 4 .b8 cell[400];\n",
        .body = " setp.gt.u32 %p0, %id, 10; @%p0 ret;\n"
                " mov.u32 %r0, cell; mad.lo.u32 %r1, %id, 4, %r0; st.shared.u32 [%r1], %id;\n"
                " bar.sync 0; mov.u32 %r2, 10; sub.u32 %r2, %r2, %id;\n"
                " mad.lo.u32 %r3, %r2, 4, %r0; ld.shared.u32 %r4, [%r3];\n" OUT_ADDRESS
                " st.global.u32 [%out], %r4;\n",
        .grid = 1,
        .block = 100,
        .out = out,
        .out_count = 100};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i <= 10; i++) {
        cr_assert(out[i] == 10 - i);
    }
    cr_assert(out[11] == 0);
}

Test(barriers, reductions)
{
    uint32_t out[96 * 3];
    memset(out, 0, sizeof out);
    struct run run = {.body =
                          " rem.u32 %r0, %id, 3; setp.eq.u32 %p0, %r0, 0;\n"
                          " barrier.red.popc.u32 %r1, 0, %p0; barrier.red.and.pred %p1, 1, %p0;\n"
                          " barrier.red.or.pred %p2, 2, 96, !%p0;\n"
                          " selp.u32 %r2, 1, 0, %p1; selp.u32 %r3, 1, 0, %p2;\n"
                          " mad.wide.u32 %out, %id, 12, %out; st.global.u32 [%out], %r1;\n"
                          " st.global.u32 [%out+4], %r2; st.global.u32 [%out+8], %r3;\n",
                      .grid = 1,
                      .block = 96,
                      .out = out,
                      .out_count = 288};
    OK(run_kernel(&run));
    for (int i = 0; i < 96; i++) {
        cr_assert(out[3 * i] == 32 && out[3 * i + 1] == 0 && out[3 * i + 2] == 1,
                  "thread %d: %u %u %u", i, out[3 * i], out[3 * i + 1], out[3 * i + 2]);
    }
}

// Producer warps arrive, consumer warps wait: named barriers with a thread count.
Test(barriers, arrive_and_named_barriers)
{
    uint32_t out[64];
    memset(out, 0, sizeof out);
    struct run run = {.directives = ".shared .align 4 .b8 cell[128];\n",
                      .body = " mov.u32 %r0, cell; mad.lo.u32 %r1, %lane, 4, %r0;\n"
                              " setp.lt.u32 %p0, %id, 32; @!%p0 bra PRODUCE;\n"
                              " barrier.sync 3, 64; ld.shared.u32 %r2, [%r1];\n" OUT_ADDRESS
                              " st.global.u32 [%out], %r2; bra DONE;\n"
                              "PRODUCE:\n mul.lo.u32 %r3, %lane, 11; st.shared.u32 [%r1], %r3;\n"
                              " membar.cta; barrier.arrive 3, 64;\nDONE:\n",
                      .grid = 1,
                      .block = 64,
                      .out = out,
                      .out_count = 64};
    OK(run_kernel(&run));
    for (uint32_t i = 0; i < 32; i++) {
        cr_assert(out[i] == 11 * i);
    }
}

// Barriers in a loop whose trip count differs by block, around shared memory.
Test(barriers, in_loops)
{
    uint32_t out[4 * 64];
    memset(out, 0, sizeof out);
    struct run run = {
        .directives = ".shared .align 4 .b8 cell[256];\n",
        .body = " mov.u32 %r0, cell; mad.lo.u32 %r1, %id, 4, %r0; st.shared.u32 [%r1], %id;\n"
                " add.u32 %r2, %block, 1; mov.u32 %r3, 0;\n"
                "LOOP:\n bar.sync 0; add.u32 %r4, %id, 1; and.b32 %r4, %r4, 63;\n"
                " mad.lo.u32 %r5, %r4, 4, %r0; ld.shared.u32 %r6, [%r5]; bar.sync 0;\n"
                " st.shared.u32 [%r1], %r6; add.u32 %r3, %r3, 1; setp.lt.u32 %p0, %r3, %r2;\n"
                " @%p0 bra LOOP;\n" OUT_ADDRESS " st.global.u32 [%out], %r6;\n",
        .grid = 4,
        .block = 64,
        .out = out,
        .out_count = 256};
    OK(run_kernel(&run));
    for (uint32_t b = 0; b < 4; b++) {
        for (uint32_t t = 0; t < 64; t++) {
            cr_assert(out[b * 64 + t] == (t + b + 1) % 64);
        }
    }
}

// Threads that wait at a barrier which the rest never reaches: an error, never a hang.
Test(barriers, deadlock_is_a_failure)
{
    uint32_t out[64];
    memset(out, 0, sizeof out);
    struct run run = {.body =
                          " setp.lt.u32 %p0, %id, 32; @%p0 bra A;\n barrier.sync 1, 64; bra B;\n"
                          "A:\n barrier.sync 2, 64;\nB:\n",
                      .grid = 1,
                      .block = 64,
                      .out = out,
                      .out_count = 64};
    EXPECT(cudaErrorLaunchFailure, run_kernel(&run));
}

// One thread faults while the others wait at a barrier.
Test(barriers, fault_while_others_wait)
{
    uint32_t out[64];
    memset(out, 0, sizeof out);
    struct run run = {.body = " setp.ne.u32 %p0, %id, 40; @%p0 bra WAIT;\n mov.u64 %l0, 8;\n"
                              " st.global.u32 [%l0], %id;\nWAIT:\n bar.sync 0;\n",
                      .grid = 1,
                      .block = 64,
                      .out = out,
                      .out_count = 64};
    EXPECT(cudaErrorIllegalAddress, run_kernel(&run));
}
