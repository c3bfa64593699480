// SPDX-License-Identifier: Apache-2.0
//
// Warp operations of suspended lanes (PTX ISA, "Parallel Synchronization and Communication
// Instructions"): an operation is performed when every live lane of its member mask has arrived at
// the same operation with the same mask. Exited lanes are not waited for. Lanes may arrive from
// different places of the code; only for activemask and the old forms without .sync the place
// counts.
#include <string.h>

#include "block.h"
#include "fault.h"

struct members {
    struct exec_request *request[32]; // of the lanes in mask
    uint32_t mask;
};

// Loops over the lanes of a mask, lowest first.
// NOLINTBEGIN(bugprone-macro-parentheses): `lane` is declared
#define EACH_LANE(lane, mask_)                                                             \
    for (uint32_t lane##_left = (mask_), lane = first_lane(lane##_left); lane##_left != 0; \
         lane##_left &= lane##_left - 1, lane = first_lane(lane##_left))
// NOLINTEND(bugprone-macro-parentheses)

static uint32_t first_lane(uint32_t mask)
{
    return mask ? (uint32_t)__builtin_ctz(mask) : 0;
}

const char *exec_request_name(const struct exec_request *request)
{
    static const char *const names[] = {
        [EXEC_REQ_NONE] = "nothing",
        [EXEC_REQ_BARRIER] = "barrier",
        [EXEC_REQ_WARP_SYNC] = "bar.warp.sync",
        [EXEC_REQ_SHFL] = "shfl.sync",
        [EXEC_REQ_VOTE] = "vote.sync",
        [EXEC_REQ_MATCH] = "match.sync",
        [EXEC_REQ_REDUX] = "redux.sync",
        [EXEC_REQ_ELECT] = "elect.sync",
        [EXEC_REQ_ACTIVEMASK] = "activemask",
        [EXEC_REQ_CONVERGED] = "warp operation without .sync",
        [EXEC_REQ_YIELD] = "spinning",
        [EXEC_REQ_NANOSLEEP] = "nanosleep",
        [EXEC_REQ_CALL_DEPTH] = "call stack",
        [EXEC_REQ_WARP_OP] = "warp-wide operation",
    };
    uint32_t kind = request->kind;
    return kind < sizeof names / sizeof *names && names[kind] ? names[kind] : "unknown request";
}

// PTX ISA, shfl.sync: the source lane, and whether it is in range (p).
static inline __attribute__((always_inline)) void shfl_all(const struct members *m, uint32_t op)
{
    EACH_LANE(lane, m->mask)
    {
        struct exec_request *r = m->request[lane];
        int delta = (int)(r->b & 0x1fu), clamp = (int)(r->c & 0x1fu);
        int segment = (int)((r->c >> 8) & 0x1fu), own = (int)lane;
        int max_lane = (own & segment) | (clamp & ~segment & 0x1f);
        int from = op == EXEC_SHFL_UP     ? own - delta
                   : op == EXEC_SHFL_DOWN ? own + delta
                   : op == EXEC_SHFL_BFLY ? own ^ delta
                                          : (own & segment) | (delta & ~segment & 0x1f);
        bool in_range = op == EXEC_SHFL_UP ? from >= max_lane : from <= max_lane;
        from = in_range ? from : own;
        // A source that does not take part gives an undefined value: the lane keeps its own.
        bool there = (m->mask >> from) & 1u;
        r->result = (uint32_t)m->request[there ? from : own]->a;
        r->result_pred = in_range;
    }
}

static void do_shfl(const struct members *m)
{
    switch (m->request[first_lane(m->mask)]->op) {
    case EXEC_SHFL_UP:
        shfl_all(m, EXEC_SHFL_UP);
        break;
    case EXEC_SHFL_DOWN:
        shfl_all(m, EXEC_SHFL_DOWN);
        break;
    case EXEC_SHFL_BFLY:
        shfl_all(m, EXEC_SHFL_BFLY);
        break;
    default:
        shfl_all(m, EXEC_SHFL_IDX);
        break;
    }
}

static void do_vote(const struct members *m)
{
    uint32_t votes = 0;
    EACH_LANE(lane, m->mask)
    {
        votes |= (uint32_t)(m->request[lane]->a != 0) << lane;
    }
    EACH_LANE(lane, m->mask)
    {
        struct exec_request *r = m->request[lane];
        switch (r->op) {
        case EXEC_VOTE_ALL:
            r->result = votes == m->mask;
            break;
        case EXEC_VOTE_ANY:
            r->result = votes != 0;
            break;
        case EXEC_VOTE_UNI:
            r->result = votes == m->mask || votes == 0;
            break;
        default:
            r->result = votes;
            break;
        }
        r->result_pred = r->result != 0;
    }
}

static void do_match(const struct members *m)
{
    bool all = true;
    uint32_t first = (uint32_t)__builtin_ctz(m->mask);
    uint64_t bits = m->request[first]->b == 64 ? UINT64_MAX : UINT32_MAX;
    EACH_LANE(lane, m->mask)
    {
        struct exec_request *r = m->request[lane];
        uint32_t same = 0;
        EACH_LANE(other, m->mask)
        {
            same |= (uint32_t)(((m->request[other]->a ^ r->a) & bits) == 0) << other;
        }
        all = all && same == m->mask;
        r->result = same;
        r->result_pred = 1;
    }
    if (m->request[first]->op == 1) {
        EACH_LANE(lane, m->mask)
        {
            m->request[lane]->result = all ? m->mask : 0;
            m->request[lane]->result_pred = all;
        }
    }
}

static float as_float(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

// One step of a float minimum or maximum: NaN loses, or wins with .NaN; -0 is below +0.
static uint32_t float_step(uint32_t x, uint32_t y, bool maximum, bool nan_wins)
{
    enum { CANONICAL_NAN = 0x7fffffff };
    float a = as_float(x), b = as_float(y);
    bool a_nan = a != a, b_nan = b != b;
    if (a_nan || b_nan) {
        return nan_wins || (a_nan && b_nan) ? CANONICAL_NAN : a_nan ? y : x;
    }
    if (a == b) { // equal values or zeros of different sign
        return maximum ? (x & y) : (x | y);
    }
    return (a < b) != maximum ? x : y;
}

static void do_redux(const struct members *m)
{
    uint32_t first = (uint32_t)__builtin_ctz(m->mask), op = m->request[first]->op;
    bool absolute = op >= EXEC_REDUX_MIN_F_ABS && op <= EXEC_REDUX_MAX_F_ABS_NAN;
    bool started = false;
    uint32_t total = 0;
    EACH_LANE(lane, m->mask)
    {
        uint32_t value = (uint32_t)m->request[lane]->a;
        value = absolute ? value & 0x7fffffffu : value;
        if (!started) {
            started = true;
            // A lone NaN becomes the canonical one.
            total = op >= EXEC_REDUX_MIN_F ? float_step(value, value, false, true) : value;
            continue;
        }
        switch (op) {
        case EXEC_REDUX_ADD:
            total += value;
            break;
        case EXEC_REDUX_MIN_S:
            total = (int32_t)value < (int32_t)total ? value : total;
            break;
        case EXEC_REDUX_MAX_S:
            total = (int32_t)value > (int32_t)total ? value : total;
            break;
        case EXEC_REDUX_MIN_U:
            total = value < total ? value : total;
            break;
        case EXEC_REDUX_MAX_U:
            total = value > total ? value : total;
            break;
        case EXEC_REDUX_AND:
            total &= value;
            break;
        case EXEC_REDUX_OR:
            total |= value;
            break;
        case EXEC_REDUX_XOR:
            total ^= value;
            break;
        default: {
            bool maximum = op == EXEC_REDUX_MAX_F || op == EXEC_REDUX_MAX_F_NAN ||
                           op == EXEC_REDUX_MAX_F_ABS || op == EXEC_REDUX_MAX_F_ABS_NAN;
            bool nan_wins = op == EXEC_REDUX_MIN_F_NAN || op == EXEC_REDUX_MAX_F_NAN ||
                            op == EXEC_REDUX_MIN_F_ABS_NAN || op == EXEC_REDUX_MAX_F_ABS_NAN;
            total = float_step(total, value, maximum, nan_wins);
            break;
        }
        }
    }
    EACH_LANE(lane, m->mask)
    {
        m->request[lane]->result = total;
    }
}

static void perform(uint32_t kind, const struct members *m)
{
    switch (kind) {
    case EXEC_REQ_WARP_SYNC:
        break;
    case EXEC_REQ_SHFL:
        do_shfl(m);
        break;
    case EXEC_REQ_VOTE:
        do_vote(m);
        break;
    case EXEC_REQ_MATCH:
        do_match(m);
        break;
    case EXEC_REQ_REDUX:
        do_redux(m);
        break;
    case EXEC_REQ_ELECT: {
        uint32_t leader = (uint32_t)__builtin_ctz(m->mask);
        EACH_LANE(lane, m->mask)
        {
            m->request[lane]->result = leader;
            m->request[lane]->result_pred = lane == leader;
        }
        break;
    }
    case EXEC_REQ_ACTIVEMASK:
        EACH_LANE(lane, m->mask)
        {
            m->request[lane]->result = m->mask;
        }
        break;
    default:
        exec_fault_leave(cudaErrorLaunchFailure,
                         "a warp-wide operation (kind %u, operation %u) is not executed by this "
                         "version",
                         kind, m->request[__builtin_ctz(m->mask)]->op);
    }
}

static void collect(struct exec_block *block, unsigned warp, uint32_t mask, struct members *ret)
{
    ret->mask = mask;
    EACH_LANE(lane, mask)
    {
        ret->request[lane] = &exec_block_thread(block, warp * EXEC_WARP_SIZE + lane)->request;
    }
}

static void release(struct exec_warp *warp, uint32_t mask)
{
    warp->warp_wait &= ~mask;
    warp->runnable |= mask;
    warp->spinning &= ~mask;
}

static bool needs_all(uint32_t kind)
{
    return kind != EXEC_REQ_ACTIVEMASK && kind != EXEC_REQ_CONVERGED;
}

bool exec_warp_alike(struct exec_block *block, unsigned index, uint32_t ran)
{
    struct members members;
    collect(block, index, ran, &members);
    const struct exec_request *first =
        &exec_block_thread(block, index * EXEC_WARP_SIZE + first_lane(ran))->request;
    if (first->kind < EXEC_REQ_WARP_SYNC || first->kind > EXEC_REQ_ELECT ||
        (first->mask & ran) != ran) {
        return false;
    }
    EACH_LANE(lane, ran)
    {
        const struct exec_request *r = members.request[lane];
        if (r->kind != first->kind || r->op != first->op || r->mask != first->mask) {
            return false;
        }
    }
    perform(first->kind, &members);
    return true;
}

bool exec_warp_serve(struct exec_block *block, unsigned index)
{
    struct exec_warp *warp = &block->warp[index];
    bool served = false;
    uint32_t todo = warp->warp_wait;
    while (todo) {
        uint32_t lane = (uint32_t)__builtin_ctz(todo), bit = 1u << lane;
        struct exec_request *request =
            &exec_block_thread(block, index * EXEC_WARP_SIZE + lane)->request;
        todo &= ~bit;
        if (!needs_all(request->kind)) {
            continue;
        }
        uint32_t need = request->mask & warp->live;
        if (!(need & bit)) {
            block->ctx.current = index * EXEC_WARP_SIZE + lane;
            exec_fault_leave(cudaErrorLaunchFailure,
                             "%s with member mask 0x%08x, which does not name the lane (%u) itself",
                             exec_request_name(request), request->mask, lane);
        }
        if (need & ~warp->warp_wait) {
            continue; // somebody is still on the way
        }
        struct members members;
        collect(block, index, need, &members);
        bool same = true;
        EACH_LANE(member, need)
        {
            const struct exec_request *r = members.request[member];
            same = same && r->kind == request->kind && r->op == request->op &&
                   r->mask == request->mask;
        }
        if (!same) {
            continue;
        }
        perform(request->kind, &members);
        release(warp, need);
        todo &= ~need;
        served = true;
    }
    return served;
}

bool exec_warp_serve_converged(struct exec_block *block, unsigned index)
{
    struct exec_warp *warp = &block->warp[index];
    bool served = false;
    uint32_t todo = warp->warp_wait;
    while (todo) {
        uint32_t lane = (uint32_t)__builtin_ctz(todo);
        const struct exec_request *request =
            &exec_block_thread(block, index * EXEC_WARP_SIZE + lane)->request;
        todo &= todo - 1;
        if (needs_all(request->kind)) {
            continue;
        }
        uint32_t group = 1u << lane;
        EACH_LANE(other, todo)
        {
            const struct exec_request *r =
                &exec_block_thread(block, index * EXEC_WARP_SIZE + other)->request;
            if (r->kind == request->kind && r->site == request->site) {
                group |= 1u << other;
            }
        }
        struct members members;
        collect(block, index, group, &members);
        perform(request->kind == EXEC_REQ_CONVERGED ? request->inner : request->kind, &members);
        release(warp, group);
        todo &= ~group;
        served = true;
    }
    return served;
}
