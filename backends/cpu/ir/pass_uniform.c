// SPDX-License-Identifier: Apache-2.0
//
// What the lanes that run in step (32, or 16 or 8 of a warp) have in common (execution.md 4): kinds
// of values (uniform, affine, varying), branches at which lanes part, thread frontiers, and which
// definitions have to keep the lanes that are pending elsewhere. The four depend on each other, so
// they are found together, from the optimistic side: all start as uniform and only grow.
//
// Affine is modulo the width of the value, so additions and multiplications by constants are always
// exact. Extension of a 32-bit value is not: it is affine as far as no lane wraps, which code can
// test; the value keeps its origin (`root`) for the other case.
//
// Holds for blocks in which these lanes differ in tid.x only, by one from lane to lane: of one row,
// or with rows of a multiple of the lanes.
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
    uint32_t *home; // value -> block
    bool changed;
};

static struct fact special_register(const struct ir_inst *inst);

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
        return inst->space == IR_SHARED || inst->space == IR_CONST || inst->space == IR_PARAM_ENTRY;
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
    for (const struct ir_block *block = u->fn->blocks; u->fn->lanes < 32 && block != NULL;
         block = block->next) {
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            bool mask = inst->op == IR_sreg && special_register(inst).kind == IR_VARYING;
            bool warp = (ir_op_properties(inst->op) & IR_SUSPENDS) && inst->op != IR_barrier;
            if (mask || warp) {
                refuse(u, inst, "operation of a whole warp");
            }
        }
    }
    if (ir_lane_local(u->fn) > MAX_LOCAL) {
        ir_fail(u->b, "warp form: much local memory");
    }
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
    return a.kind == IR_KIND_UNKNOWN ? b : b.kind == IR_KIND_UNKNOWN ? a : equal(a, b) ? a : any;
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

// Whether the value is 0 in blocks of one row.
static bool is_row(const struct uniform *u, const struct ir_operand *operand, unsigned depth)
{
    if (operand->kind != IR_VALUE) {
        return operand->kind == IR_CONSTANT && operand->bits == 0;
    }
    const struct ir_inst *def = u->fn->values[operand->value].def;
    if (def == NULL || def->type != IR_I32 || depth == 0) {
        return false;
    }
    switch (def->op) {
    case IR_sreg:
        return def->index == PTX_SREG_tid && def->sub != 0;
    case IR_mov:
        return is_row(u, &def->src[0], depth - 1);
    case IR_add:
        return def->src_count == 2 && def->dst_count == 1 && is_row(u, &def->src[0], depth - 1) &&
               is_row(u, &def->src[1], depth - 1);
    case IR_mul:
        return !(def->flags & IR_FLAG_HI) &&
               (is_row(u, &def->src[0], depth - 1) || is_row(u, &def->src[1], depth - 1));
    default:
        return false;
    }
}

static bool is_width(const struct uniform *u, const struct ir_operand *operand)
{
    const struct ir_inst *def =
        operand->kind == IR_VALUE ? u->fn->values[operand->value].def : NULL;
    return def != NULL && def->op == IR_sreg && def->index == PTX_SREG_ntid && def->sub == 0;
}

// Whether the first lane has a multiple of the lanes: rows start there, tid.x does in it.
static bool is_aligned(const struct uniform *u, const struct ir_operand *operand, unsigned depth)
{
    if (operand->kind != IR_VALUE) {
        return operand->kind == IR_CONSTANT && operand->bits % u->fn->lanes == 0;
    }
    const struct ir_inst *def = u->fn->values[operand->value].def;
    if (def == NULL || def->type != IR_I32 || depth == 0) {
        return false;
    }
    switch (def->op) {
    case IR_sreg:
        return (def->index == PTX_SREG_tid && def->sub == 0) || def->index == PTX_SREG_laneid;
    case IR_mov:
        return is_aligned(u, &def->src[0], depth - 1);
    case IR_add:
        return def->src_count == 2 && def->dst_count == 1 &&
               is_aligned(u, &def->src[0], depth - 1) && is_aligned(u, &def->src[1], depth - 1);
    case IR_mul:
        return !(def->flags & IR_FLAG_HI) &&
               ((is_row(u, &def->src[0], depth - 1) && is_width(u, &def->src[1])) ||
                (is_row(u, &def->src[1], depth - 1) && is_width(u, &def->src[0])));
    default:
        return false;
    }
}

// The lanes have base, base + 1, … with the base a multiple of the lanes.
static bool is_index(const struct uniform *u, const struct ir_operand *operand)
{
    struct fact f = fact_of(u, operand);
    return f.kind == IR_AFFINE && f.stride == 1 && is_aligned(u, operand, 8);
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
    const uint32_t lanes = u->fn->lanes;
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
        return constant_of(inst, 1, false, IR_I32, &c) && c < 32 && c >= __builtin_ctz(lanes) &&
                       is_index(u, &inst->src[0])
                   ? same
                   : any;
    case IR_and: {
        uint64_t low = inst->src[1].bits & (lanes - 1);
        if (inst->src[1].kind != IR_CONSTANT || !is_index(u, &inst->src[0])) {
            return any;
        }
        return low == 0 ? same : low == lanes - 1 ? affine(1, storage, same) : any;
    }
    case IR_setp: {
        bool below = inst->compare == IR_LT || inst->compare == IR_GE;
        bool above = inst->compare == IR_GT || inst->compare == IR_LE;
        if (inst->type != IR_I32 || inst->src[1].kind != IR_CONSTANT || !(below || above) ||
            !is_index(u, &inst->src[0])) {
            return any;
        }
        return (inst->src[1].bits + above) % lanes == 0 ? same : any;
    }
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
                   ? (all.kind == IR_UNIFORM ? same
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
    d->scratch = ir_new_scratch(b, (d->value_words + 1) * sizeof *d->scratch);
    u.home = ir_new_scratch(b, (values + 1) * sizeof *u.home);
    struct ir_dominators dom;
    if (ir_dominators(fn, b->scratch, &dom) != 0) {
        ir_fail(b, "out of memory");
    }
    number_values(&u);
    check_supported(&u);
    ir_order_blocks(b, d);
    for (bool grew = true; grew;) {
        grew = false;
        ir_find_frontiers(b, d);
        ir_find_liveness(b, d);
        ir_find_kept(b, d);
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
            ir_find_liveness(b, d);
            ir_find_kept(b, d);
            for (uint32_t i = 0; i < size; i++) {
                grew |= (d->kept[i] & ~before[i]) != 0;
            }
        }
    }
    check_sync(&u);
}
