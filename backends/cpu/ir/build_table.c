// SPDX-License-Identifier: Apache-2.0
//
// Which builder compiles which PTX opcode, with which operation, and whether a guard becomes
// control flow. An opcode without a row is parsed but not compiled: a loud error.
#include "ir_internal.h"

#define PURE(opcode, builder, op) [PTX_OP_##opcode] = { ir_build_##builder, IR_##op, false }
#define EFFECT(opcode, builder) [PTX_OP_##opcode] = { ir_build_##builder, IR_OP_INVALID, true }

static const struct ir_rule rules[PTX_OP_COUNT] = {
    PURE(add, addsub, add), PURE(addc, addsub, add), PURE(sub, addsub, sub),
    PURE(subc, addsub, sub), PURE(mul, mul, mul), PURE(mad, mad, mul), PURE(madc, mad, mul),
    PURE(mul24, mul24, mul), PURE(mad24, mul24, mul), PURE(sad, sad, sub),
    PURE(div, arith, div), PURE(rem, arith, rem), PURE(abs, arith, abs), PURE(neg, arith, neg),
    PURE(min, minmax, min), PURE(max, minmax, max), PURE(fma, fma, fma),
    PURE(dp4a, dp, dp4a), PURE(dp2a, dp, dp2a),
    PURE(popc, bits, popc), PURE(clz, bits, clz), PURE(brev, bits, brev),
    PURE(bfind, bfind, bfind), PURE(fns, fns, fns), PURE(bfe, bfe_bfi, bfe),
    PURE(bfi, bfe_bfi, bfi), PURE(bmsk, mask_op, bmsk), PURE(szext, mask_op, szext),
    PURE(and, logic, and), PURE(or, logic, or), PURE(xor, logic, xor), PURE(not, logic, not),
    PURE(cnot, cnot, OP_INVALID), PURE(lop3, lop3, lop3), PURE(shl, shift, shl),
    PURE(shr, shift, shr), PURE(shf, shf, shf_l), PURE(prmt, prmt, prmt),
    PURE(testp, testp, testp), PURE(copysign, copysign, OP_INVALID),
    PURE(rcp, approx, rcp), PURE(sqrt, approx, sqrt), PURE(rsqrt, approx, rsqrt),
    PURE(sin, approx, sin), PURE(cos, approx, cos), PURE(lg2, approx, lg2),
    PURE(ex2, approx, ex2), PURE(tanh, approx, tanh),
    PURE(set, set, setp), PURE(setp, setp, setp), PURE(selp, selp, select),
    PURE(slct, slct, select), PURE(cvt, cvt, cvt), PURE(mov, mov, mov), PURE(cvta, cvta, cvta),
    PURE(isspacep, isspacep, isspacep),
    EFFECT(ld, ld), EFFECT(ldu, ld), EFFECT(st, st), EFFECT(atom, atom), EFFECT(red, atom),
    EFFECT(membar, fence), EFFECT(fence, fence), EFFECT(cp, cp), EFFECT(mbarrier, mbarrier),
    EFFECT(prefetch, nothing), EFFECT(prefetchu, nothing), EFFECT(discard, nothing),
    EFFECT(applypriority, nothing), EFFECT(pmevent, nothing), EFFECT(griddepcontrol, nothing),
    EFFECT(setmaxnreg, nothing), PURE(createpolicy, createpolicy, OP_INVALID),
    EFFECT(bra, bra), EFFECT(brx, brx), EFFECT(call, call), EFFECT(ret, ret), EFFECT(exit, exit),
    EFFECT(trap, trap), EFFECT(brkpt, trap),
    PURE(mapa, mapa, mapa), PURE(getctarank, getctarank, ctarank),
    EFFECT(bar, bar), EFFECT(barrier, bar), EFFECT(shfl, shfl), EFFECT(vote, vote),
    EFFECT(match, match), EFFECT(redux, redux), EFFECT(elect, elect),
    EFFECT(activemask, activemask), EFFECT(nanosleep, nanosleep),
    EFFECT(tex, tex), EFFECT(tld4, tld4), EFFECT(txq, image_query), EFFECT(suq, image_query),
    EFFECT(istypep, istypep), EFFECT(suld, suld), EFFECT(sust, sust), EFFECT(sured, sured),
    EFFECT(stacksave, stack), EFFECT(stackrestore, stack), EFFECT(alloca, stack),
    PURE(vadd, video, add), PURE(vsub, video, sub), PURE(vabsdiff, video, abs),
    PURE(vmin, video, min), PURE(vmax, video, max), PURE(vshl, video, shl),
    PURE(vshr, video, shr), PURE(vmad, video, mul), PURE(vset, video, setp),
    PURE(vadd2, video_simd, add), PURE(vsub2, video_simd, sub), PURE(vavrg2, video_simd, shr),
    PURE(vabsdiff2, video_simd, abs), PURE(vmin2, video_simd, min), PURE(vmax2, video_simd, max),
    PURE(vset2, video_simd, setp), PURE(vadd4, video_simd, add), PURE(vsub4, video_simd, sub),
    PURE(vavrg4, video_simd, shr), PURE(vabsdiff4, video_simd, abs),
    PURE(vmin4, video_simd, min), PURE(vmax4, video_simd, max), PURE(vset4, video_simd, setp),
};

const struct ir_rule *ir_rule(enum ptx_opcode opcode)
{
    return &rules[opcode < PTX_OP_COUNT ? opcode : PTX_OP_INVALID];
}
