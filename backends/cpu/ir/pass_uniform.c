// SPDX-License-Identifier: Apache-2.0
//
// What the 32 lanes of a warp have in common (execution.md 4): kinds of values (uniform, affine,
// varying), branches at which lanes part, thread frontiers, and which definitions have to keep the
// lanes that are pending elsewhere. The four depend on each other, so they are found together, from
// the optimistic side: all start as uniform and only grow.
//
// Affine is modulo the width of the value, so additions and multiplications by constants are always
// exact. Extension of a 32-bit value is not: it is affine as far as no lane wraps, which code can
// test; the value keeps its origin (`root`) for the other case.
//
// Holds for blocks in which lanes of a warp differ in tid.x only, by one from lane to lane, and
// tid.x of lane 0 is a multiple of 32.
#include "pass_warp.h"

#include <string.h>

enum { MAX_SET_BYTES = 64 << 20, MAX_BLOCKS = 2000, MAX_LOCAL = 8192, MAX_STRIDE = 1 << 20 };

struct fact {
    enum ir_kind kind;
    int64_t stride;
    uint32_t root;
    int32_t multiple;
    bool root_signed;
};

struct uniform {
    struct ir_build *b;
    struct ir_function *fn;
    struct ir_divergence *d;
    uint64_t *out;     // scratch set of values
    uint32_t *home;    // value -> block
    bool changed;
};

static const struct fact same = {.kind = IR_UNIFORM}, any = {.kind = IR_VARYING},
                         unknown = {.kind = IR_KIND_UNKNOWN};

uint64_t ir_lane_local(const struct ir_function *fn)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < fn->slot_count; i++) {
        uint64_t align = fn->slots[i].align > 1 ? fn->slots[i].align : 1;
        size = (size + align - 1) / align * align + fn->slots[i].size;
    }
    return (size + 15) / 16 * 16;
}

// ---------------------------------------------------------------- what is supported

static bool supported_op(const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_ld:
    case IR_st:
        return inst->space != IR_ARGUMENT && inst->space != IR_RETURN;
    case IR_atom:
        return inst->space != IR_ARGUMENT && inst->space != IR_RETURN && inst->space != IR_SLOT;
    case IR_isspacep:
        return inst->space == IR_SHARED || inst->space == IR_CONST ||
               inst->space == IR_PARAM_ENTRY;
    case IR_redux:
        return !ir_is_float(inst->type) && inst->sub < 8;
    case IR_sreg:
    case IR_symbol:
    case IR_slot:
    case IR_function:
    case IR_param_address:
    case IR_fence:
    case IR_malloc:
    case IR_free:
    case IR_trap:
    case IR_assertfail:
    case IR_phi:
    case IR_br:
    case IR_cbr:
    case IR_brx:
    case IR_ret:
    case IR_exit:
    case IR_unreachable:
    case IR_shfl:
    case IR_vote:
    case IR_match:
    case IR_elect:
    case IR_activemask:
    case IR_shfl_old:
    case IR_vote_old:
    case IR_warp_sync:
    case IR_barrier:
        return true;
    case IR_mapa:
    case IR_ctarank:
        return false;
    default:
        return (ir_op_properties(inst->op) & IR_PURE) != 0;
    }
}

static void refuse(struct uniform *u, const struct ir_inst *inst, const char *why)
{
    ir_fail(u->b, "warp form: %s (%s, line %u)", why, ir_op_name(inst->op), inst->line);
}

static void check_supported(struct uniform *u)
{
    for (uint32_t i = 0; i < u->fn->value_count; i++) {
        if (u->fn->values[i].type == IR_I128) {
            ir_fail(u->b, "warp form: 128-bit values");
        }
    }
    for (const struct ir_block *block = u->fn->blocks; block != NULL; block = block->next) {
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            if (!supported_op(inst)) {
                refuse(u, inst, "operation");
            }
        }
    }
    if (ir_lane_local(u->fn) > MAX_LOCAL) {
        ir_fail(u->b, "warp form: much local memory");
    }
}

// ---------------------------------------------------------------- order of blocks

struct ordering {
    uint64_t *bodies; // by head: set of blocks, of heads only
    bool *head;
    bool *placed;
};

static void loop_body(struct uniform *u, uint64_t *body, uint32_t head, uint32_t latch,
                      uint32_t *work)
{
    uint32_t todo = 0;
    ir_set_add(body, head);
    if (!ir_set_has(body, latch)) {
        ir_set_add(body, latch);
        work[todo++] = latch;
    }
    while (todo > 0) {
        const struct ir_block *block = u->d->blocks[work[--todo]];
        for (uint32_t i = 0; i < block->pred_count; i++) {
            uint32_t pred = block->preds[i]->number;
            if (pred > head && !ir_set_has(body, pred)) { // numbers are a reverse post-order
                ir_set_add(body, pred);
                work[todo++] = pred;
            }
        }
    }
}

static bool is_ready(const struct ordering *o, const struct ir_block *block)
{
    for (uint32_t i = 0; i < block->pred_count; i++) {
        if (block->preds[i]->number < block->number && !o->placed[block->preds[i]->number]) {
            return false;
        }
    }
    return true;
}

// The next block: ready, in the innermost loop that is not complete.
static uint32_t next_block(struct uniform *u, const struct ordering *o, const uint64_t *inside)
{
    uint32_t fallback = UINT32_MAX;
    for (uint32_t n = 0; n < u->d->block_count; n++) {
        if (o->placed[n] || (inside != NULL && !ir_set_has(inside, n))) {
            continue;
        }
        if (is_ready(o, u->d->blocks[n])) {
            return n;
        }
        fallback = fallback == UINT32_MAX ? n : fallback;
    }
    return fallback;
}

// Topological, the blocks of a loop together, so that lanes that leave a loop wait for the others.
static void order_blocks(struct uniform *u)
{
    struct ir_divergence *d = u->d;
    uint32_t count = d->block_count;
    struct ordering o = {0};
    o.bodies = ir_new_scratch(u->b, (size_t)count * d->words * sizeof *o.bodies);
    o.head = ir_new_scratch(u->b, count * sizeof *o.head);
    o.placed = ir_new_scratch(u->b, count * sizeof *o.placed);
    uint32_t *work = ir_new_scratch(u->b, (count + 1) * sizeof *work);
    uint32_t *open = ir_new_scratch(u->b, (count + 1) * sizeof *open), depth = 0;
    for (uint32_t n = 0; n < count; n++) {
        for (uint32_t i = 0; i < d->blocks[n]->succ_count; i++) {
            uint32_t to = d->blocks[n]->succs[i]->number;
            if (to <= n) {
                o.head[to] = true;
                loop_body(u, o.bodies + (size_t)to * d->words, to, n, work);
            }
        }
    }
    for (uint32_t at = 0; at < count; at++) {
        uint32_t n = UINT32_MAX;
        while (depth > 0) {
            n = next_block(u, &o, o.bodies + (size_t)open[depth - 1] * d->words);
            if (n != UINT32_MAX) {
                break;
            }
            depth--;
        }
        n = n == UINT32_MAX ? next_block(u, &o, NULL) : n;
        o.placed[n] = true;
        d->priority[n] = at;
        d->order[at] = n;
        if (o.head[n]) {
            open[depth++] = n;
        }
    }
}

// ---------------------------------------------------------------- thread frontiers

// `candidates` may be pending when a block has ended; `last` is the highest position that can be
// chosen. True when a frontier grew.
static bool spread_frontier(struct ir_divergence *d, const uint64_t *candidates, uint32_t last)
{
    bool grew = false;
    for (uint32_t at = 0; at <= last; at++) {
        uint32_t n = d->order[at];
        if (!ir_set_has(candidates, n)) {
            continue;
        }
        uint64_t *to = d->frontier + (size_t)n * d->words;
        for (uint32_t i = 0; i < d->words; i++) {
            for (uint64_t left = candidates[i] & ~to[i]; left != 0; left &= left - 1) {
                uint32_t x = i * 64 + (uint32_t)__builtin_ctzll(left);
                if (d->priority[x] > at) {
                    ir_set_add(to, x);
                    grew = true;
                }
            }
        }
    }
    return grew;
}

static void find_frontiers(struct uniform *u)
{
    struct ir_divergence *d = u->d;
    uint64_t *set = ir_new_scratch(u->b, d->words * sizeof *set);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t at = 0; at < d->block_count; at++) {
            uint32_t n = d->order[at];
            const struct ir_block *block = d->blocks[n];
            const uint64_t *tf = ir_frontier(d, n);
            memcpy(set, tf, d->words * sizeof *set);
            if (block->succ_count == 0) {
                changed |= spread_frontier(d, set, d->block_count - 1);
            }
            uint32_t last = 0;
            for (uint32_t i = 0; i < block->succ_count; i++) {
                uint32_t to = block->succs[i]->number, reach = d->priority[to];
                if (d->leaves[to]) {
                    reach = d->block_count - 1; // then any other may be the next
                } else {
                    ir_set_add(set, to);
                }
                if (d->divergent[n]) {
                    last = reach > last ? reach : last;
                } else {
                    changed |= spread_frontier(d, set, reach);
                    memcpy(set, tf, d->words * sizeof *set);
                }
            }
            if (d->divergent[n]) {
                changed |= spread_frontier(d, set, last);
            }
        }
    }
}

// ---------------------------------------------------------------- liveness

// The value itself and what its extension came from.
static void need(const struct uniform *u, uint64_t *set, uint32_t value)
{
    ir_set_add(set, value);
    const struct ir_value *v = &u->fn->values[value];
    if (v->kind == IR_AFFINE && v->root != 0) {
        ir_set_add(set, v->root - 1);
    }
}

static void live_out(struct uniform *u, const struct ir_block *block, uint64_t *set)
{
    struct ir_divergence *d = u->d;
    memset(set, 0, d->value_words * sizeof *set);
    for (uint32_t i = 0; i < block->succ_count; i++) {
        const struct ir_block *to = block->succs[i];
        const uint64_t *in = d->live_in + (size_t)to->number * d->value_words;
        for (uint32_t w = 0; w < d->value_words; w++) {
            set[w] |= in[w];
        }
    }
    for (uint32_t i = 0; i < block->succ_count; i++) {
        const struct ir_block *to = block->succs[i];
        for (const struct ir_inst *phi = to->first; phi != NULL && phi->op == IR_phi;
             phi = phi->next) {
            bool elsewhere = false; // needed at another successor, not only set on this edge
            for (uint32_t k = 0; k < block->succ_count; k++) {
                elsewhere |= block->succs[k] != to &&
                             ir_set_has(d->live_in + (size_t)block->succs[k]->number *
                                                         d->value_words,
                                        phi->dst[0]);
            }
            if (!elsewhere) {
                set[phi->dst[0] / 64] &= ~(UINT64_C(1) << (phi->dst[0] % 64));
            }
        }
    }
    for (uint32_t i = 0; i < block->succ_count; i++) {
        const struct ir_block *to = block->succs[i];
        for (const struct ir_inst *phi = to->first; phi != NULL && phi->op == IR_phi;
             phi = phi->next) {
            for (uint32_t k = 0; k < to->pred_count; k++) {
                if (to->preds[k] == block && phi->phi[k].kind == IR_VALUE) {
                    need(u, set, phi->phi[k].value);
                }
            }
        }
    }
}

static void find_liveness(struct uniform *u)
{
    struct ir_divergence *d = u->d;
    memset(d->live_in, 0, (size_t)d->block_count * d->value_words * sizeof *d->live_in);
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t n = d->block_count; n-- > 0;) {
            const struct ir_block *block = d->blocks[n];
            live_out(u, block, u->out);
            for (const struct ir_inst *inst = block->last; inst != NULL; inst = inst->prev) {
                for (unsigned i = 0; i < inst->dst_count; i++) {
                    u->out[inst->dst[i] / 64] &= ~(UINT64_C(1) << (inst->dst[i] % 64));
                }
                for (unsigned i = 0; i < inst->src_count; i++) {
                    if (inst->src[i].kind == IR_VALUE) {
                        need(u, u->out, inst->src[i].value);
                    }
                }
            }
            for (const struct ir_inst *phi = block->first; phi != NULL && phi->op == IR_phi;
                 phi = phi->next) {
                need(u, u->out, phi->dst[0]);
            }
            uint64_t *in = d->live_in + (size_t)n * d->value_words;
            for (uint32_t w = 0; w < d->value_words; w++) {
                changed |= (u->out[w] & ~in[w]) != 0;
                in[w] |= u->out[w];
            }
        }
    }
}

static void find_kept(struct uniform *u)
{
    struct ir_divergence *d = u->d;
    memset(d->kept, 0, (size_t)d->block_count * d->value_words * sizeof *d->kept);
    for (uint32_t n = 0; n < d->block_count; n++) {
        uint64_t *kept = d->kept + (size_t)n * d->value_words;
        for (uint32_t x = 0; x < d->block_count; x++) {
            if (!ir_set_has(ir_frontier(d, n), x)) {
                continue;
            }
            const uint64_t *in = d->live_in + (size_t)x * d->value_words;
            for (uint32_t w = 0; w < d->value_words; w++) {
                kept[w] |= in[w];
            }
        }
    }
}

bool ir_edge_keeps(const struct ir_divergence *d, const struct ir_block *from,
                   const struct ir_block *to, uint32_t value)
{
    if (ir_set_has(d->kept + (size_t)from->number * d->value_words, value)) {
        return true;
    }
    for (uint32_t i = 0; d->divergent[from->number] && i < from->succ_count; i++) {
        const struct ir_block *other = from->succs[i];
        if (other != to &&
            ir_set_has(d->live_in + (size_t)other->number * d->value_words, value)) {
            return true;
        }
    }
    return false;
}

// ---------------------------------------------------------------- kinds

static struct fact fact_of(const struct uniform *u, const struct ir_operand *operand)
{
    if (operand->kind != IR_VALUE) {
        return same;
    }
    const struct ir_value *v = &u->fn->values[operand->value];
    return (struct fact){v->kind, v->stride, v->root, v->multiple, v->root_signed};
}

static int64_t extend(int64_t value, enum ir_type storage)
{
    unsigned shift = 64 - ir_bits(storage);
    return (int64_t)((uint64_t)value << shift) >> shift;
}

static struct fact affine(int64_t stride, enum ir_type storage, struct fact origin)
{
    origin.stride = extend(stride, storage);
    origin.kind = IR_AFFINE;
    if (origin.root == 0 || origin.multiple == 0) {
        origin.root = 0;
        origin.multiple = 0;
        origin.root_signed = false;
        if (origin.stride == 0) {
            return same;
        }
    }
    return origin.stride > MAX_STRIDE || origin.stride < -MAX_STRIDE ? any : origin;
}

static bool equal(struct fact a, struct fact b)
{
    return a.kind == b.kind && a.stride == b.stride && a.root == b.root &&
           a.multiple == b.multiple && a.root_signed == b.root_signed;
}

static struct fact join(struct fact a, struct fact b)
{
    return a.kind == IR_KIND_UNKNOWN   ? b
           : b.kind == IR_KIND_UNKNOWN ? a
           : equal(a, b)               ? a
                                       : any;
}

static struct fact sum(struct fact a, struct fact b, bool minus, enum ir_type storage)
{
    if (a.kind == IR_VARYING || b.kind == IR_VARYING) {
        return any;
    }
    if (a.kind == IR_UNIFORM && b.kind == IR_UNIFORM) {
        return same;
    }
    struct fact r = a.root != 0 ? a : b;
    if (a.root != 0 && b.root != 0 && (a.root != b.root || a.root_signed != b.root_signed)) {
        return any;
    }
    int64_t multiple = (int64_t)a.multiple + (minus ? -(int64_t)b.multiple : b.multiple);
    if (multiple > INT32_MAX || multiple < -INT32_MAX) {
        return any;
    }
    r.multiple = (int32_t)multiple;
    return affine(minus ? a.stride - b.stride : a.stride + b.stride, storage, r);
}

static struct fact times(struct fact a, int64_t factor, enum ir_type storage)
{
    if (a.kind != IR_AFFINE) {
        return a;
    }
    int64_t multiple, stride;
    if (__builtin_mul_overflow((int64_t)a.multiple, factor, &multiple) || multiple > INT32_MAX ||
        multiple < -INT32_MAX || __builtin_mul_overflow(a.stride, factor, &stride)) {
        return any;
    }
    a.multiple = (int32_t)multiple;
    return affine(stride, storage, a);
}

// I32 to I64.
static struct fact extended(const struct ir_operand *source, struct fact a, bool sign)
{
    if (a.kind != IR_AFFINE) {
        return a;
    }
    a.root = source->value + 1;
    a.root_signed = sign;
    a.multiple = 1;
    return a;
}

static struct fact mixed(const struct uniform *u, const struct ir_inst *inst)
{
    struct fact r = same;
    for (unsigned i = 0; i < inst->src_count; i++) {
        struct fact f = fact_of(u, &inst->src[i]);
        if (f.kind == IR_KIND_UNKNOWN) {
            return unknown;
        }
        r = f.kind == IR_UNIFORM ? r : any;
    }
    return r;
}

static bool constant_of(const struct ir_inst *inst, unsigned n, bool sign, enum ir_type storage,
                        int64_t *ret)
{
    if (inst->src[n].kind != IR_CONSTANT) {
        return false;
    }
    uint64_t bits = inst->src[n].bits & ir_mask(storage);
    *ret = sign ? extend((int64_t)bits, storage) : (int64_t)bits;
    return *ret <= INT32_MAX && *ret >= -INT32_MAX;
}

// tid.x itself: its first lane has a multiple of 32.
static bool is_tid_x(const struct uniform *u, const struct ir_operand *operand)
{
    while (operand->kind == IR_VALUE) {
        const struct ir_inst *def = u->fn->values[operand->value].def;
        if (def->op == IR_sreg) {
            return def->index == PTX_SREG_tid && def->sub == 0 && def->type == IR_I32;
        }
        if (def->op != IR_mov) {
            return false;
        }
        operand = &def->src[0];
    }
    return false;
}

static struct fact special_register(const struct ir_inst *inst)
{
    switch (inst->index) {
    case PTX_SREG_tid:
        return inst->sub == 0 ? affine(1, inst->type, same) : same;
    case PTX_SREG_laneid:
        return affine(1, inst->type, same);
    case PTX_SREG_lanemask_eq:
    case PTX_SREG_lanemask_lt:
    case PTX_SREG_lanemask_le:
    case PTX_SREG_lanemask_gt:
    case PTX_SREG_lanemask_ge:
        return any;
    default:
        return same;
    }
}

static struct fact integer_fact(const struct uniform *u, const struct ir_inst *inst)
{
    enum ir_type storage = ir_storage(inst->type);
    bool sign = (inst->flags & IR_FLAG_SIGNED) != 0;
    struct fact a = fact_of(u, &inst->src[0]);
    struct fact b = inst->src_count > 1 ? fact_of(u, &inst->src[1]) : same;
    int64_t c;
    if (a.kind == IR_KIND_UNKNOWN || b.kind == IR_KIND_UNKNOWN) {
        return unknown;
    }
    switch (inst->op) {
    case IR_add:
    case IR_sub:
        return inst->dst_count == 1 && inst->src_count == 2 && !(inst->flags & IR_FLAG_SAT)
                   ? sum(a, b, inst->op == IR_sub, storage)
                   : any;
    case IR_mul:
        if (inst->flags & IR_FLAG_HI) {
            return any;
        }
        return constant_of(inst, 1, true, storage, &c)   ? times(a, c, storage)
               : constant_of(inst, 0, true, storage, &c) ? times(b, c, storage)
                                                         : any;
    case IR_shl:
        return constant_of(inst, 1, false, IR_I32, &c) && c < 31 && (unsigned)c < ir_bits(storage)
                   ? times(a, INT64_C(1) << c, storage)
                   : any;
    case IR_mul_wide:
        if (storage != IR_I32) {
            return any;
        }
        return constant_of(inst, 1, sign, storage, &c)
                   ? times(extended(&inst->src[0], a, sign), c, IR_I64)
               : constant_of(inst, 0, sign, storage, &c)
                   ? times(extended(&inst->src[1], b, sign), c, IR_I64)
                   : any;
    case IR_neg:
    case IR_not:
        return times(a, -1, storage);
    case IR_shr:
        return constant_of(inst, 1, false, IR_I32, &c) && c >= 5 && is_tid_x(u, &inst->src[0])
                   ? same
                   : any;
    case IR_and:
        return constant_of(inst, 1, false, storage, &c) && c == 31 && is_tid_x(u, &inst->src[0])
                   ? affine(1, storage, same)
                   : any;
    case IR_setp:
        return (inst->compare == IR_LT || inst->compare == IR_GE) && inst->type == IR_I32 &&
                       constant_of(inst, 1, true, storage, &c) && c % 32 == 0 &&
                       is_tid_x(u, &inst->src[0])
                   ? same
                   : any;
    default:
        return any;
    }
}

static struct fact convert_fact(const struct uniform *u, const struct ir_inst *inst)
{
    enum ir_type to = inst->type, from = inst->type2;
    struct fact a = fact_of(u, &inst->src[0]);
    bool integers = to <= IR_I64 && from <= IR_I64;
    if (a.kind != IR_AFFINE) {
        return a;
    }
    if (!integers || (inst->flags & (IR_FLAG_SAT | IR_FLAG_RELU)) || to == IR_I1) {
        return any;
    }
    if (ir_bits(to) > ir_bits(from)) {
        return from == IR_I32 ? extended(&inst->src[0], a, inst->flags & IR_FLAG_SRC_SIGNED) : any;
    }
    if (ir_bits(to) < ir_bits(from)) { // what wrapping adds is a multiple of 2^32
        a.root = 0;
        a.multiple = 0;
        return affine(a.stride, to, a);
    }
    return a;
}

// Fact of destination `n` of inst, as if all lanes executed it.
static struct fact result_fact(const struct uniform *u, const struct ir_inst *inst, unsigned n)
{
    struct fact all = mixed(u, inst);
    if (all.kind == IR_KIND_UNKNOWN) {
        return all;
    }
    switch (inst->op) {
    case IR_mov:
    case IR_cvta:
    case IR_cvta_to:
        return fact_of(u, &inst->src[0]);
    case IR_select:
        return fact_of(u, &inst->src[2]).kind == IR_UNIFORM ||
                       equal(fact_of(u, &inst->src[0]), same)
                   ? (all.kind == IR_UNIFORM
                          ? same
                      : fact_of(u, &inst->src[2]).kind == IR_UNIFORM
                          ? join(fact_of(u, &inst->src[0]), fact_of(u, &inst->src[1]))
                          : any)
                   : any;
    case IR_sreg:
        return special_register(inst);
    case IR_slot:
        return affine((int64_t)ir_lane_local(u->fn), IR_I64, same);
    case IR_ld:
        return inst->space == IR_SLOT ? any : all;
    case IR_atom:
    case IR_malloc:
    case IR_shfl:
    case IR_shfl_old:
        return any;
    case IR_vote:
        return fact_of(u, &inst->src[1]);
    case IR_redux:
    case IR_barrier:
    case IR_activemask:
    case IR_vote_old:
        return same;
    case IR_match:
        return inst->sub == 0 ? any : same;
    case IR_elect:
        return n == 0 ? same : any;
    case IR_cvt:
        return all.kind == IR_UNIFORM ? same : convert_fact(u, inst);
    default:
        return all.kind == IR_UNIFORM || ir_is_float(inst->type) ? all : integer_fact(u, inst);
    }
}

static void set_fact(struct uniform *u, uint32_t value, struct fact f)
{
    struct ir_value *v = &u->fn->values[value];
    struct fact old = {v->kind, v->stride, v->root, v->multiple, v->root_signed};
    f = join(old, f);
    if (v->type == IR_I1 && f.kind == IR_AFFINE) {
        f = any;
    }
    if (!equal(old, f)) {
        v->kind = (uint8_t)f.kind;
        v->stride = f.stride;
        v->root = f.root;
        v->multiple = f.multiple;
        v->root_signed = f.root_signed;
        u->changed = true;
    }
}

void ir_result_kind(struct ir_function *fn, const struct ir_inst *inst, unsigned n, uint32_t value)
{
    struct uniform u = {.fn = fn};
    set_fact(&u, value, result_fact(&u, inst, n));
}

// A phi with a root: what it came from must be the same for all rounds of its loop, which it is
// when it is computed before.
static bool root_reaches(struct uniform *u, const struct ir_dominators *dom, uint32_t root,
                         const struct ir_block *block)
{
    uint32_t home = u->home[root - 1];
    return home != block->number && ir_dominates(dom, home, block->number);
}

static void phi_fact(struct uniform *u, const struct ir_dominators *dom,
                     const struct ir_block *block, const struct ir_inst *phi)
{
    struct fact f = unknown;
    for (uint32_t i = 0; i < block->pred_count; i++) {
        f = join(f, fact_of(u, &phi->phi[i]));
        if (ir_edge_keeps(u->d, block->preds[i], block, phi->dst[0])) {
            u->d->blended[phi->dst[0]] = true;
        }
    }
    if (u->d->blended[phi->dst[0]]) {
        f = any;
    }
    if (f.kind == IR_AFFINE && f.root != 0 && !root_reaches(u, dom, f.root, block)) {
        f = any;
    }
    set_fact(u, phi->dst[0], f);
}

static void find_kinds(struct uniform *u, const struct ir_dominators *dom)
{
    struct ir_divergence *d = u->d;
    do {
        u->changed = false;
        for (const struct ir_block *block = u->fn->blocks; block != NULL; block = block->next) {
            const uint64_t *kept = d->kept + (size_t)block->number * d->value_words;
            for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
                if (inst->op == IR_phi) {
                    phi_fact(u, dom, block, inst);
                    continue;
                }
                for (unsigned i = 0; i < inst->dst_count; i++) {
                    bool blended = ir_set_has(kept, inst->dst[i]);
                    d->blended[inst->dst[i]] |= blended;
                    set_fact(u, inst->dst[i],
                             d->blended[inst->dst[i]] ? any : result_fact(u, inst, i));
                }
            }
        }
    } while (u->changed);
}

// ---------------------------------------------------------------- together

static void check_sync(struct uniform *u)
{
    for (const struct ir_block *block = u->fn->blocks; block != NULL; block = block->next) {
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            unsigned mask = 0;
            switch (inst->op) {
            case IR_barrier:
                for (unsigned i = 0; i < 2; i++) {
                    if (fact_of(u, &inst->src[i]).kind != IR_UNIFORM) {
                        refuse(u, inst, "different barriers in one warp");
                    }
                }
                break;
            case IR_shfl:
            case IR_vote:
            case IR_warp_sync:
                break;
            case IR_match:
            case IR_redux:
                mask = 1;
                __attribute__((fallthrough));
            case IR_elect:
                if (fact_of(u, &inst->src[mask]).kind != IR_UNIFORM) {
                    refuse(u, inst, "different member masks in one warp");
                }
                break;
            case IR_brx:
                if (fact_of(u, &inst->src[0]).kind != IR_UNIFORM) {
                    refuse(u, inst, "a table of branches at which lanes part");
                }
                continue;
            default:
                continue;
            }
            if (!ir_converged(u->d, block->number)) {
                refuse(u, inst, "synchronisation where lanes may have parted");
            }
        }
    }
}

static void number_values(struct uniform *u)
{
    for (struct ir_block *block = u->fn->blocks; block != NULL; block = block->next) {
        u->d->blocks[block->number] = block;
        u->d->leaves[block->number] = block->first->op == IR_ret || block->first->op == IR_exit;
        for (struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            for (unsigned i = 0; i < inst->dst_count; i++) {
                u->fn->values[inst->dst[i]].def = inst;
                u->home[inst->dst[i]] = block->number;
            }
        }
    }
}

void ir_uniformity(struct ir_build *b, struct ir_divergence *d)
{
    struct ir_function *fn = b->fn;
    struct uniform u = {.b = b, .fn = fn, .d = d};
    uint32_t blocks = fn->block_count, values = fn->value_count;
    memset(d, 0, sizeof *d);
    d->block_count = blocks;
    d->words = (blocks + 63) / 64;
    d->value_words = (values + 63) / 64;
    if (blocks > MAX_BLOCKS || (uint64_t)blocks * d->value_words * 16 > MAX_SET_BYTES) {
        ir_fail(b, "warp form: too large");
    }
    d->blocks = ir_new_scratch(b, blocks * sizeof(struct ir_block *));
    d->priority = ir_new_scratch(b, blocks * sizeof *d->priority);
    d->order = ir_new_scratch(b, blocks * sizeof *d->order);
    d->frontier = ir_new_scratch(b, (size_t)blocks * d->words * sizeof *d->frontier);
    d->divergent = ir_new_scratch(b, blocks * sizeof *d->divergent);
    d->leaves = ir_new_scratch(b, blocks * sizeof *d->leaves);
    d->live_in = ir_new_scratch(b, ((size_t)blocks * d->value_words + 1) * sizeof *d->live_in);
    d->kept = ir_new_scratch(b, ((size_t)blocks * d->value_words + 1) * sizeof *d->kept);
    d->blended = ir_new_scratch(b, (values + 1) * sizeof *d->blended);
    u.out = ir_new_scratch(b, (d->value_words + 1) * sizeof *u.out);
    u.home = ir_new_scratch(b, (values + 1) * sizeof *u.home);
    struct ir_dominators dom;
    if (ir_dominators(fn, b->scratch, &dom) != 0) {
        ir_fail(b, "out of memory");
    }
    number_values(&u);
    check_supported(&u);
    order_blocks(&u);
    for (bool grew = true; grew;) {
        grew = false;
        find_frontiers(&u);
        find_liveness(&u);
        find_kept(&u);
        find_kinds(&u, &dom);
        for (uint32_t n = 0; n < blocks; n++) {
            const struct ir_inst *last = d->blocks[n]->last;
            if (!d->divergent[n] && last->op == IR_cbr &&
                fact_of(&u, &last->src[0]).kind == IR_VARYING) {
                d->divergent[n] = true;
                grew = true;
            }
        }
        // Kinds follow from the last frontiers only when nothing grew; kept sets can also grow by
        // roots that kinds have gained.
        if (!grew) {
            uint32_t size = blocks * d->value_words;
            uint64_t *before = ir_new_scratch(b, ((size_t)size + 1) * sizeof *before);
            memcpy(before, d->kept, size * sizeof *before);
            find_liveness(&u);
            find_kept(&u);
            for (uint32_t i = 0; i < size; i++) {
                grew |= (d->kept[i] & ~before[i]) != 0;
            }
        }
    }
    check_sync(&u);
}
