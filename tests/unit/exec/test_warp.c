// SPDX-License-Identifier: Apache-2.0
//
// Warp operations with exact member masks, against plain formulas of the PTX ISA.
#include <criterion/criterion.h>
#include <stdlib.h>

#include "exec_test.h"

TestSuite(warp, .timeout = 20);

// One request per thread, given by the test; results are read back from the requests.
struct script {
    struct exec_request in[64], out[64];
    uint32_t exit_mask; // lanes (of the first warp) that leave at once
};

static int play(struct exec_ctx *ctx, struct exec_thread *thread)
{
    struct script *script = TEST_DATA(struct script, ctx);
    if (thread->state == 0) {
        if (thread->linear < 32 && (script->exit_mask >> thread->linear & 1u)) {
            return EXEC_EXIT;
        }
        return test_suspend(thread, 1, script->in[thread->linear]);
    }
    script->out[thread->linear] = thread->request;
    return EXEC_EXIT;
}

static cudaError_t run(struct script *script, uint32_t threads)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "warp", .thread = play};
    return test_launch(device, &kernel, 1, threads, script);
}

static void fill(struct script *script, struct exec_request request)
{
    memset(script, 0, sizeof *script);
    for (int i = 0; i < 64; i++) {
        script->in[i] = request;
        script->in[i].a = 1000u + (unsigned)i;
    }
}

Test(warp, shuffle_deltas_are_masked_to_five_bits) // P1
{
    static const struct {
        uint32_t op, delta;
        int (*from)(int lane);
    } rows[] = {{EXEC_SHFL_BFLY, 32, NULL}, {EXEC_SHFL_BFLY, 33, NULL}, {EXEC_SHFL_BFLY, 63, NULL}};
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        struct script script;
        fill(&script, (struct exec_request){.kind = EXEC_REQ_SHFL,
                                            .op = rows[r].op,
                                            .b = rows[r].delta,
                                            .c = 31,
                                            .mask = UINT32_MAX});
        cr_assert_eq(run(&script, 64), cudaSuccess);
        for (int i = 0; i < 64; i++) {
            int lane = i % 32, from = lane ^ (int)(rows[r].delta % 32);
            cr_expect_eq(script.out[i].result, 1000u + (unsigned)(i - lane + from));
            cr_expect_eq(script.out[i].result_pred, 1);
        }
    }
    struct script script;
    fill(&script,
         (struct exec_request){
             .kind = EXEC_REQ_SHFL, .op = EXEC_SHFL_UP, .b = 33, .c = 0, .mask = UINT32_MAX});
    cr_assert_eq(run(&script, 32), cudaSuccess);
    cr_expect_eq(script.out[0].result, 1000);
    cr_expect_eq(script.out[0].result_pred, 0);
    cr_expect_eq(script.out[5].result, 1004);
    cr_expect_eq(script.out[5].result_pred, 1);
}

Test(warp, shuffles_in_segments)
{
    // Width 8 as CUDA encodes it: segment mask 0x18, clamp 7 (up: 0).
    for (uint32_t op = EXEC_SHFL_UP; op <= EXEC_SHFL_IDX; op++) {
        for (uint32_t delta = 0; delta < 32; delta++) {
            struct script script;
            uint32_t c = 0x1800u | (op == EXEC_SHFL_UP ? 0u : 7u);
            fill(&script,
                 (struct exec_request){
                     .kind = EXEC_REQ_SHFL, .op = op, .b = delta, .c = c, .mask = UINT32_MAX});
            cr_assert_eq(run(&script, 32), cudaSuccess);
            for (int lane = 0; lane < 32; lane++) {
                int base = lane / 8 * 8, from = lane;
                bool ok = false;
                switch (op) {
                case EXEC_SHFL_UP:
                    from = lane - (int)delta;
                    ok = from >= base;
                    break;
                case EXEC_SHFL_DOWN:
                    from = lane + (int)delta;
                    ok = from < base + 8;
                    break;
                case EXEC_SHFL_BFLY:
                    from = lane ^ (int)delta;
                    ok = from < base + 8; // lower segments are in range, as the ISA says
                    break;
                default:
                    from = base + (int)(delta % 8);
                    ok = true;
                    break;
                }
                from = ok ? from : lane;
                cr_expect_eq(script.out[lane].result, 1000u + (unsigned)from,
                             "op %u delta %u lane %d", op, delta, lane);
                cr_expect_eq(script.out[lane].result_pred, ok);
            }
        }
    }
}

Test(warp, groups_of_different_masks_are_served_apart)
{
    struct script script;
    fill(&script, (struct exec_request){.kind = EXEC_REQ_VOTE, .op = EXEC_VOTE_BALLOT});
    for (uint32_t i = 0; i < 32; i++) {
        script.in[i].mask = i % 3 == 0 ? 0x49249249u : 0xb6db6db6u;
        script.in[i].a = i < 16;
    }
    cr_assert_eq(run(&script, 32), cudaSuccess);
    for (uint32_t i = 0; i < 32; i++) {
        cr_expect_eq(script.out[i].result, script.in[i].mask & 0xffffu, "lane %u", i);
    }
}

Test(warp, places_of_the_code_do_not_matter_for_sync) // B10
{
    struct script script;
    fill(&script,
         (struct exec_request){.kind = EXEC_REQ_VOTE, .op = EXEC_VOTE_ALL, .mask = UINT32_MAX});
    for (uint32_t i = 0; i < 32; i++) {
        script.in[i].site = i < 16;
        script.in[i].a = i >= 16;
    }
    cr_assert_eq(run(&script, 32), cudaSuccess);
    for (uint32_t i = 0; i < 32; i++) {
        cr_expect_eq(script.out[i].result, 0);
    }
}

Test(warp, exited_and_missing_lanes_are_not_waited_for)
{
    struct script script;
    fill(&script,
         (struct exec_request){.kind = EXEC_REQ_VOTE, .op = EXEC_VOTE_BALLOT, .mask = UINT32_MAX});
    script.exit_mask = 0xff00u;
    cr_assert_eq(run(&script, 50), cudaSuccess);
    cr_expect_eq(script.out[0].result, 0xffff00ffu);
    cr_expect_eq(script.out[49].result, 0x3ffffu);
}

Test(warp, votes)
{
    static const uint32_t patterns[] = {0, UINT32_MAX, 1, 0x80000000u, 0x00ff00ffu};
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++) {
        for (uint32_t op = EXEC_VOTE_ALL; op <= EXEC_VOTE_BALLOT; op++) {
            struct script script;
            fill(&script,
                 (struct exec_request){.kind = EXEC_REQ_VOTE, .op = op, .mask = UINT32_MAX});
            for (int i = 0; i < 32; i++) {
                script.in[i].a = patterns[p] >> i & 1u;
            }
            cr_assert_eq(run(&script, 32), cudaSuccess);
            uint32_t bits = patterns[p];
            uint32_t want = op == EXEC_VOTE_ALL   ? bits == UINT32_MAX
                            : op == EXEC_VOTE_ANY ? bits != 0
                            : op == EXEC_VOTE_UNI ? bits == 0 || bits == UINT32_MAX
                                                  : bits;
            cr_expect_eq(script.out[17].result, want, "op %u pattern %zu", op, p);
        }
    }
}

Test(warp, match_any_and_all)
{
    struct script script;
    fill(&script, (struct exec_request){.kind = EXEC_REQ_MATCH, .b = 32, .mask = UINT32_MAX});
    for (uint32_t i = 0; i < 32; i++) {
        script.in[i].a = (uint64_t)i << 32 | i % 4; // the upper half does not count
    }
    cr_assert_eq(run(&script, 32), cudaSuccess);
    for (uint32_t i = 0; i < 32; i++) {
        cr_expect_eq(script.out[i].result, 0x11111111u << i % 4);
    }
    fill(&script, (struct exec_request){.kind = EXEC_REQ_MATCH, .op = 1, .b = 64, .mask = 0xff});
    for (uint32_t i = 0; i < 32; i++) {
        script.in[i].a = 77;
        script.in[i].mask = i < 8 ? 0xffu : 0xffffff00u;
    }
    script.in[20].a = 78;
    cr_assert_eq(run(&script, 32), cudaSuccess);
    cr_expect_eq(script.out[3].result, 0xff);
    cr_expect_eq(script.out[3].result_pred, 1);
    cr_expect_eq(script.out[9].result, 0);
    cr_expect_eq(script.out[9].result_pred, 0);
}

static uint32_t bits_of(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static uint64_t reduce(uint32_t op, const uint32_t *values)
{
    struct script script;
    fill(&script, (struct exec_request){.kind = EXEC_REQ_REDUX, .op = op, .mask = UINT32_MAX});
    for (int i = 0; i < 32; i++) {
        script.in[i].a = values[i];
    }
    cr_assert_eq(run(&script, 32), cudaSuccess);
    for (int i = 1; i < 32; i++) {
        cr_assert_eq(script.out[i].result, script.out[0].result);
    }
    return script.out[0].result;
}

Test(warp, redux)
{
    uint32_t ints[32], floats[32];
    for (int i = 0; i < 32; i++) {
        ints[i] = (uint32_t)(i * 3 - 40);
        floats[i] = bits_of((float)(i - 20));
    }
    uint32_t sum = 0, and = UINT32_MAX, or = 0, xor = 0;
    for (int i = 0; i < 32; i++) {
        sum += ints[i];
        and &= ints[i];
        or |= ints[i];
        xor ^= ints[i];
    }
    cr_expect_eq(reduce(EXEC_REDUX_ADD, ints), sum);
    cr_expect_eq(reduce(EXEC_REDUX_MIN_S, ints), (uint32_t)-40);
    cr_expect_eq(reduce(EXEC_REDUX_MAX_S, ints), 53);
    cr_expect_eq(reduce(EXEC_REDUX_MIN_U, ints), 2);
    cr_expect_eq(reduce(EXEC_REDUX_MAX_U, ints), UINT32_MAX);
    cr_expect_eq(reduce(EXEC_REDUX_AND, ints), and);
    cr_expect_eq(reduce(EXEC_REDUX_OR, ints), or);
    cr_expect_eq(reduce(EXEC_REDUX_XOR, ints), xor);
    cr_expect_eq(reduce(EXEC_REDUX_MIN_F, floats), bits_of(-20.0f));
    cr_expect_eq(reduce(EXEC_REDUX_MAX_F, floats), bits_of(11.0f));
    cr_expect_eq(reduce(EXEC_REDUX_MIN_F_ABS, floats), bits_of(0.0f));
    cr_expect_eq(reduce(EXEC_REDUX_MAX_F_ABS, floats), bits_of(20.0f));
    floats[9] = 0xffc00001u; // NaN
    cr_expect_eq(reduce(EXEC_REDUX_MIN_F, floats), bits_of(-20.0f));
    cr_expect_eq(reduce(EXEC_REDUX_MAX_F_NAN, floats), 0x7fffffff);
    for (int i = 0; i < 32; i++) {
        floats[i] = i % 2 ? 0x80000000u : 0;
    }
    cr_expect_eq(reduce(EXEC_REDUX_MIN_F, floats), 0x80000000u);
    cr_expect_eq(reduce(EXEC_REDUX_MAX_F, floats), 0);
    for (int i = 0; i < 32; i++) {
        floats[i] = 0xffc00000u;
    }
    cr_expect_eq(reduce(EXEC_REDUX_MAX_F, floats), 0x7fffffff);
}

Test(warp, elect_names_one_leader)
{
    struct script script;
    fill(&script, (struct exec_request){.kind = EXEC_REQ_ELECT, .mask = 0xfff0fff0u});
    script.exit_mask = 0x000f001fu; // lane 4 has left, too
    cr_assert_eq(run(&script, 32), cudaSuccess);
    for (uint32_t i = 5; i < 16; i++) {
        cr_expect_eq(script.out[i].result, 5);
        cr_expect_eq(script.out[i].result_pred, i == 5);
    }
}

Test(warp, mask_without_the_lane_itself_is_a_failure)
{
    struct script script;
    fill(&script, (struct exec_request){.kind = EXEC_REQ_WARP_SYNC, .mask = 0xfffffffeu});
    cr_expect_eq(run(&script, 32), cudaErrorLaunchFailure);
}

Test(warp, different_operations_do_not_meet)
{
    struct script script;
    fill(&script,
         (struct exec_request){.kind = EXEC_REQ_VOTE, .op = EXEC_VOTE_ANY, .mask = UINT32_MAX});
    script.in[3].kind = EXEC_REQ_WARP_SYNC;
    cr_expect_eq(run(&script, 32), cudaErrorLaunchFailure); // a deadlock, reported
}

// Lanes below 8 first pass a vote of their own, then meet the others at activemask; one lane takes
// another way and calls activemask somewhere else.
static int converge(struct exec_ctx *ctx, struct exec_thread *thread)
{
    uint32_t lane = thread->linear;
    switch (thread->state) {
    case 0:
        if (lane < 8) {
            return test_suspend(thread, 1,
                                (struct exec_request){.kind = EXEC_REQ_WARP_SYNC, .mask = 0xff});
        }
        // fall through
    case 1:
        return test_suspend(
            thread, 2,
            (struct exec_request){.kind = EXEC_REQ_ACTIVEMASK, .site = lane == 31 ? 2 : 1});
    case 2:
        TEST_DATA(uint32_t, ctx)[lane] = (uint32_t)thread->request.result;
        return test_suspend(thread, 3,
                            (struct exec_request){.kind = EXEC_REQ_CONVERGED,
                                                  .inner = EXEC_REQ_VOTE,
                                                  .op = EXEC_VOTE_BALLOT,
                                                  .site = 3,
                                                  .a = lane % 2});
    default:
        TEST_DATA(uint32_t, ctx)[32 + lane] = (uint32_t)thread->request.result;
        return EXEC_EXIT;
    }
}

Test(warp, activemask_waits_until_nobody_else_can_come)
{
    struct exec_device *device = test_device(1);
    struct exec_kernel kernel = {.name = "converge", .thread = converge};
    uint32_t data[64];
    cr_assert_eq(test_launch(device, &kernel, 1, 32, data), cudaSuccess);
    for (uint32_t i = 0; i < 32; i++) {
        cr_expect_eq(data[i], i == 31 ? 0x80000000u : 0x7fffffffu, "lane %u", i);
        cr_expect_eq(data[32 + i], 0xaaaaaaaau);
    }
}
