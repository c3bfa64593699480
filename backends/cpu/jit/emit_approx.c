// SPDX-License-Identifier: Apache-2.0
//
// The approximate functions (PTX ISA 9.7.3 and 9.7.4): sin, cos, lg2, ex2, tanh, rsqrt, and the f64
// forms of rcp and rsqrt that read only the upper word. All compute in double with a few terms, so
// the error stays far below the documented bounds and exact cases (powers of two, zeros) are exact.
#include "emit.h"

#include <math.h>

static LLVMValueRef mul(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFMul(e->b, a, b, "");
}

static LLVMValueRef add(struct emit *e, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFAdd(e->b, a, b, "");
}

// Horner's rule: c[0] + x * (c[1] + x * (…)).
static LLVMValueRef polynomial(struct emit *e, LLVMValueRef x, const double *c, unsigned count)
{
    LLVMValueRef r = emit_f64(e, c[count - 1]);
    for (unsigned i = count - 1; i-- > 0;) {
        r = add(e, mul(e, r, x), emit_f64(e, c[i]));
    }
    return r;
}

static LLVMValueRef test(struct emit *e, LLVMRealPredicate p, LLVMValueRef a, double b)
{
    return LLVMBuildFCmp(e->b, p, a, LLVMConstReal(LLVMTypeOf(a), b), "");
}

static LLVMValueRef absolute(struct emit *e, LLVMValueRef v)
{
    return emit_intrinsic(e, "llvm.fabs", LLVMTypeOf(v), v, NULL, NULL);
}

// 2^d for any double d; subnormal and infinite floats come out of the final conversion.
static LLVMValueRef exp2_double(struct emit *e, LLVMValueRef d)
{
    static const double c[] = {1.0,
                               0.69314718055994530942,
                               0.24022650695910071233,
                               0.055504108664821579953,
                               0.0096181291076284771619,
                               0.0013333558146428443423,
                               0.00015403530393381609954,
                               1.5252733804059840280e-05,
                               1.3215486790144309489e-06,
                               1.0178086009239699728e-07};
    LLVMValueRef clamped = emit_select(e, test(e, LLVMRealOGT, d, 300), emit_f64(e, 300), d);
    clamped = emit_select(e, test(e, LLVMRealOLT, d, -300), emit_f64(e, -300), clamped);
    LLVMValueRef whole = emit_intrinsic(e, "llvm.rint", e->f64, clamped, NULL, NULL);
    LLVMValueRef part = LLVMBuildFSub(e->b, clamped, whole, "");
    LLVMValueRef p = polynomial(e, part, c, sizeof(c) / sizeof(c[0]));
    // NaN has no integer; use 0 so that the conversion is defined, p is NaN then.
    LLVMValueRef number = emit_select(e, test(e, LLVMRealORD, whole, 0), whole, emit_f64(e, 0));
    LLVMValueRef n = LLVMBuildFPToSI(e->b, number, e->i64, "");
    n = LLVMBuildShl(e->b, LLVMBuildAdd(e->b, n, emit_int(e, 64, 1023), ""), emit_int(e, 64, 52),
                     "");
    return mul(e, p, LLVMBuildBitCast(e->b, n, e->f64, ""));
}

static LLVMValueRef log2_double(struct emit *e, LLVMValueRef d)
{
    // log2(m) = 2 / ln 2 * atanh(s), s = (m - 1) / (m + 1), m in [sqrt(1/2), sqrt(2))
    static const double c[] = {2.8853900817779268,  0.96179669392597560, 0.57707801635558536,
                               0.41219858311113240, 0.32059889797532520, 0.26230818925253880,
                               0.22195308321368668};
    LLVMValueRef bits = LLVMBuildBitCast(e->b, d, e->i64, "");
    LLVMValueRef up =
        LLVMBuildAdd(e->b, bits, emit_int(e, 64, 0x3ff0000000000000u - 0x3fe6a09e667f3bcdu), "");
    LLVMValueRef n = LLVMBuildSub(e->b, LLVMBuildAShr(e->b, up, emit_int(e, 64, 52), ""),
                                  emit_int(e, 64, 1023), "");
    LLVMValueRef m = LLVMBuildSub(e->b, bits, LLVMBuildShl(e->b, n, emit_int(e, 64, 52), ""), "");
    m = LLVMBuildBitCast(e->b, m, e->f64, "");
    LLVMValueRef s = LLVMBuildFDiv(e->b, add(e, m, emit_f64(e, -1)), add(e, m, emit_f64(e, 1)), "");
    LLVMValueRef p = polynomial(e, mul(e, s, s), c, sizeof(c) / sizeof(c[0]));
    LLVMValueRef r = add(e, mul(e, s, p), LLVMBuildSIToFP(e->b, n, e->f64, ""));
    r = emit_select(e, test(e, LLVMRealOEQ, d, INFINITY), d, r);
    r = emit_select(e, test(e, LLVMRealUGE, d, 0), r, emit_f64(e, NAN));
    r = emit_select(e, test(e, LLVMRealUNO, d, 0), d, r);
    return emit_select(e, test(e, LLVMRealOEQ, d, 0), emit_f64(e, -INFINITY), r);
}

static LLVMValueRef sine_double(struct emit *e, LLVMValueRef d, bool cosine)
{
    static const double s[] = {1.0,          -1.0 / 6,        1.0 / 120,       -1.0 / 5040,
                               1.0 / 362880, -1.0 / 39916800, 1.0 / 6227020800};
    static const double c[] = {1.0,         -0.5,           1.0 / 24,       -1.0 / 720,
                               1.0 / 40320, -1.0 / 3628800, 1.0 / 479001600};
    LLVMValueRef k = emit_intrinsic(e, "llvm.rint", e->f64,
                                    mul(e, d, emit_f64(e, 0.63661977236758134308)), NULL, NULL);
    LLVMValueRef r = LLVMBuildFSub(e->b, d, mul(e, k, emit_f64(e, 0x1.921fb54400000p+0)), "");
    r = LLVMBuildFSub(e->b, r, mul(e, k, emit_f64(e, 0x1.0b4611a626331p-34)), "");
    // Arguments too large to reduce give some value in range, not noise.
    r = emit_select(e, test(e, LLVMRealOGT, absolute(e, r), 1), emit_f64(e, 0), r);
    LLVMValueRef x2 = mul(e, r, r);
    LLVMValueRef sin_r = mul(e, r, polynomial(e, x2, s, 7));
    LLVMValueRef cos_r = polynomial(e, x2, c, 7);
    // Quadrant: k modulo 4, exact in double.
    LLVMValueRef quarter =
        emit_intrinsic(e, "llvm.floor", e->f64, mul(e, k, emit_f64(e, 0.25)), NULL, NULL);
    LLVMValueRef mod = LLVMBuildFSub(e->b, k, mul(e, quarter, emit_f64(e, 4)), "");
    mod = emit_select(e, test(e, LLVMRealORD, mod, 0), mod, emit_f64(e, 0));
    LLVMValueRef q = LLVMBuildFPToSI(e->b, mod, e->i32, "");
    if (cosine) {
        q = LLVMBuildAdd(e->b, q, emit_int(e, 32, 1), "");
    }
    LLVMValueRef one = emit_int(e, 32, 1), two = emit_int(e, 32, 2), zero = emit_int(e, 32, 0);
    LLVMValueRef swap = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildAnd(e->b, q, one, ""), zero, "");
    LLVMValueRef minus = LLVMBuildICmp(e->b, LLVMIntNE, LLVMBuildAnd(e->b, q, two, ""), zero, "");
    LLVMValueRef v = emit_select(e, swap, cos_r, sin_r);
    v = emit_select(e, minus, LLVMBuildFNeg(e->b, v, ""), v);
    return cosine ? v : emit_select(e, test(e, LLVMRealOEQ, d, 0), d, v);
}

static LLVMValueRef tanh_double(struct emit *e, LLVMValueRef d)
{
    LLVMValueRef a = absolute(e, d);
    LLVMValueRef t = emit_select(e, test(e, LLVMRealOGT, a, 20), emit_f64(e, 20), a);
    LLVMValueRef u = exp2_double(e, mul(e, t, emit_f64(e, 2.8853900817779268)));
    LLVMValueRef big =
        LLVMBuildFDiv(e->b, add(e, u, emit_f64(e, -1)), add(e, u, emit_f64(e, 1)), "");
    LLVMValueRef cube = mul(e, mul(e, t, t), mul(e, t, emit_f64(e, -1.0 / 3)));
    LLVMValueRef r = emit_select(e, test(e, LLVMRealOLT, t, 0x1p-8), add(e, t, cube), big);
    return emit_intrinsic(e, "llvm.copysign", e->f64, r, d, NULL);
}

static LLVMValueRef reciprocal_root(struct emit *e, LLVMValueRef v)
{
    LLVMTypeRef type = LLVMTypeOf(v);
    LLVMValueRef root = emit_intrinsic(e, "llvm.sqrt", type, v, NULL, NULL);
    return LLVMBuildFDiv(e->b, LLVMConstReal(type, 1), root, "");
}

// rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64: bits 31:0 of the operand are ignored and those of
// the result are zero; subnormals are flushed, NaN is canonical.
static LLVMValueRef upper_word(struct emit *e, const struct ir_inst *inst)
{
    uint64_t upper = UINT64_C(0xffffffff00000000);
    LLVMValueRef sign_mask = emit_int(e, 64, UINT64_C(1) << 63);
    LLVMValueRef in =
        LLVMBuildAnd(e->b, emit_get(e, &inst->src[0], 64), emit_int(e, 64, upper), "");
    LLVMValueRef out = in;
    for (unsigned pass = 0; pass < 2; pass++) {
        LLVMValueRef exponent =
            LLVMBuildAnd(e->b, out, emit_int(e, 64, UINT64_C(0x7ff0000000000000)), "");
        LLVMValueRef tiny = LLVMBuildICmp(e->b, LLVMIntEQ, exponent, emit_int(e, 64, 0), "");
        out = emit_select(e, tiny, LLVMBuildAnd(e->b, out, sign_mask, ""), out);
        if (pass == 0) {
            LLVMValueRef v = LLVMBuildBitCast(e->b, out, e->f64, "");
            v = inst->op == IR_rcp ? LLVMBuildFDiv(e->b, emit_f64(e, 1), v, "")
                                   : reciprocal_root(e, v);
            LLVMValueRef nan = test(e, LLVMRealUNO, v, 0);
            out = LLVMBuildAnd(e->b, LLVMBuildBitCast(e->b, v, e->i64, ""), emit_int(e, 64, upper),
                               "");
            out = emit_select(e, nan, emit_int(e, 64, UINT64_C(0x7fffffff00000000)), out);
        }
    }
    return out;
}

static LLVMValueRef function(struct emit *e, const struct ir_inst *inst, LLVMValueRef d)
{
    switch (inst->op) {
    case IR_sin:
        return sine_double(e, d, false);
    case IR_cos:
        return sine_double(e, d, true);
    case IR_lg2:
        return log2_double(e, d);
    case IR_ex2:
        return exp2_double(e, d);
    case IR_tanh:
        return tanh_double(e, d);
    default:
        return reciprocal_root(e, d);
    }
}

// `v` and the result are floats that stand for values of `type`.
static LLVMValueRef one_element(struct emit *e, const struct ir_inst *inst, enum ir_type type,
                                LLVMValueRef v)
{
    // ex2.ftz.bf16 has no flag bit of its own in PTX arithmetic but flushes all the same.
    bool ftz = (inst->flags & IR_FLAG_FTZ) != 0;
    if (ftz) {
        v = emit_flush(e, v);
    }
    LLVMValueRef r = function(e, inst, LLVMBuildFPExt(e->b, v, e->f64, ""));
    r = type == IR_F32 ? LLVMBuildFPTrunc(e->b, r, e->f32, "") : emit_round_odd(e, r);
    return ftz ? emit_flush(e, r) : r;
}

bool emit_approx(struct emit *e, const struct ir_inst *inst)
{
    switch (inst->op) {
    case IR_rcp:
        if (inst->type != IR_F64) {
            return false;
        }
        break;
    case IR_sin:
    case IR_cos:
    case IR_lg2:
    case IR_ex2:
    case IR_tanh:
    case IR_rsqrt:
        break;
    default:
        return false;
    }
    switch (inst->type) {
    case IR_F64:
        if (inst->op != IR_rcp && inst->op != IR_rsqrt) {
            emit_fail(e, inst, "there is no f64 form");
            return true;
        }
        if (inst->flags & IR_FLAG_FTZ) {
            emit_set(e, inst, 0, upper_word(e, inst));
        } else {
            emit_set_float(e, inst, reciprocal_root(e, emit_get_float(e, &inst->src[0], IR_F64)),
                           IR_F64);
        }
        return true;
    case IR_F32:
    case IR_F16:
    case IR_BF16:
        emit_set_float(
            e, inst, one_element(e, inst, inst->type, emit_get_float(e, &inst->src[0], inst->type)),
            inst->type);
        return true;
    default:
        emit_fail(e, inst, "type is not one of this function");
        return true;
    }
}
