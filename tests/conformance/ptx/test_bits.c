// SPDX-License-Identifier: Apache-2.0
//
// Logic, shift, bit-field and permute instructions of PTX against C.
#include "semantics.h"
#include "../conformance.h"

TestSuite(bits, .timeout = 240);

__extension__ typedef unsigned __int128 u128;

static uint64_t lop3(uint32_t a, uint32_t b, uint32_t c, unsigned table)
{
    uint32_t result = 0;
    for (int i = 0; i < 32; i++) {
        unsigned index = (a >> i & 1) << 2 | (b >> i & 1) << 1 | (c >> i & 1);
        result |= (uint32_t)(table >> index & 1) << i;
    }
    return result;
}

static uint64_t shift_left(uint64_t v, uint64_t amount, unsigned bits)
{
    uint32_t n = U32(amount);
    return n >= bits ? 0 : (v << n) & (bits == 64 ? UINT64_MAX : (1ull << bits) - 1);
}

static uint64_t shift_right(uint64_t v, uint64_t amount, unsigned bits, bool is_signed)
{
    uint32_t n = U32(amount);
    uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
    int64_t extended = (int64_t)(v << (64 - bits)) >> (64 - bits);
    if (is_signed) {
        return (uint64_t)(extended >> (n >= bits ? bits - 1 : n)) & mask;
    }
    return n >= bits ? 0 : (v & mask) >> n;
}

static uint64_t prmt(uint64_t a, uint64_t b, uint64_t selector)
{
    uint64_t both = U32(a) | b << 32, result = 0;
    for (int i = 0; i < 4; i++) {
        unsigned s = selector >> 4 * i & 15;
        uint64_t byte = both >> 8 * (s & 7) & 0xff;
        if (s & 8) {
            byte = byte & 0x80 ? 0xff : 0;
        }
        result |= byte << 8 * i;
    }
    return result;
}

enum { F4E, B4E, RC8, ECL, ECR, RC16 };

static uint64_t prmt_mode(uint64_t a, uint64_t b, uint64_t c, int mode)
{
    unsigned n = c & 3, selector = 0;
    static const unsigned tables[6][4] = {
        {0x3210, 0x4321, 0x5432, 0x6543}, {0x5670, 0x6701, 0x7012, 0x0123},
        {0x0000, 0x1111, 0x2222, 0x3333}, {0x3210, 0x3211, 0x3222, 0x3333},
        {0x0000, 0x1110, 0x2210, 0x3210}, {0x1010, 0x3232, 0x1010, 0x3232},
    };
    selector = tables[mode][n];
    return prmt(a, b, selector);
}

static uint64_t bfe(uint64_t v, uint64_t position, uint64_t length, unsigned bits, bool is_signed)
{
    unsigned pos = position & 0xff, len = length & 0xff, msb = bits - 1;
    uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1, sign = 0, result = 0;
    v &= mask;
    if (is_signed && len != 0) {
        unsigned at = pos + len - 1 < msb ? pos + len - 1 : msb;
        sign = v >> at & 1;
    }
    for (unsigned i = 0; i <= msb; i++) {
        uint64_t bit = i < len && pos + i <= msb ? v >> (pos + i) & 1 : sign;
        result |= bit << i;
    }
    return result;
}

static uint64_t bfi(uint64_t a, uint64_t b, uint64_t position, uint64_t length, unsigned bits)
{
    unsigned pos = position & 0xff, len = length & 0xff, msb = bits - 1;
    uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1, result = b & mask;
    for (unsigned i = 0; i < len && pos + i <= msb; i++) {
        result &= ~(1ull << (pos + i));
        result |= (a >> i & 1) << (pos + i);
    }
    return result;
}

static uint64_t bfind(uint64_t v, unsigned bits, bool is_signed, bool amount)
{
    v <<= 64 - bits;
    if (is_signed && v >> 63) {
        v = ~v & (UINT64_MAX << (64 - bits));
    }
    if (v == 0) {
        return 0xffffffff;
    }
    unsigned from_top = (unsigned)__builtin_clzll(v);
    return amount ? from_top : bits - 1 - from_top;
}

static uint64_t bmsk(uint64_t a, uint64_t b, bool wrap)
{
    uint32_t start = U32(a), width = U32(b);
    if (wrap) {
        start &= 31;
        width &= 31;
    }
    if (start >= 32 || width == 0) {
        return 0;
    }
    uint64_t ones = width >= 32 ? 0xffffffff : (1ull << width) - 1;
    return U32(ones << start);
}

static uint64_t szext(uint64_t a, uint64_t b, bool is_signed, bool wrap)
{
    uint32_t n = U32(b);
    if (wrap) {
        n &= 31;
    }
    if (n >= 32) {
        return U32(a);
    }
    if (n == 0) {
        return 0;
    }
    uint32_t shifted = U32(a) << (32 - n);
    return is_signed ? U32(S32(shifted) >> (32 - n)) : shifted >> (32 - n);
}

static uint64_t reverse(uint64_t v, unsigned bits)
{
    uint64_t result = 0;
    for (unsigned i = 0; i < bits; i++) {
        result |= (v >> i & 1) << (bits - 1 - i);
    }
    return result;
}

static uint64_t fns(uint64_t a, uint64_t b, uint64_t c)
{
    uint32_t mask = U32(a), base = U32(b);
    int32_t offset = S32(c);
    if (base > 31) {
        op_any();
        return 0;
    }
    if (offset == 0) {
        return mask >> base & 1 ? base : 0xffffffff;
    }
    int64_t left = offset > 0 ? offset : -(int64_t)offset;
    for (int64_t i = base; i >= 0 && i<32; i += offset> 0 ? 1 : -1) {
        if (mask >> i & 1 && --left == 0) {
            return (uint64_t)i;
        }
    }
    return 0xffffffff;
}

static uint64_t funnel(uint64_t a, uint64_t b, uint64_t c, bool left, bool wrap)
{
    unsigned n = wrap ? U32(c) & 31 : (U32(c) > 32 ? 32 : U32(c));
    uint64_t both = U32(a) | b << 32;
    return left ? U32((u128)both << n >> 32) : U32(both >> n);
}

#define LOGIC(X)                                                                                \
    X(and_b16, "hh", 'h', 0, "and.b16 %hd, %ha, %hb;", U16(a &b))                               \
    X(and_b32, "rr", 'r', 0, "and.b32 %rd, %ra, %rb;", U32(a &b))                               \
    X(or_b64, "ll", 'l', 0, "or.b64 %ld, %la, %lb;", a | b)                                     \
    X(xor_b32, "rr", 'r', 0, "xor.b32 %rd, %ra, %rb;", U32(a ^ b))                              \
    X(not_b16, "h", 'h', 0, "not.b16 %hd, %ha;", U16(~a))                                       \
    X(not_b64, "l", 'l', 0, "not.b64 %ld, %la;", ~a)                                            \
    X(cnot_b16, "h", 'h', 0, "cnot.b16 %hd, %ha;", U16(a) == 0)                                 \
    X(cnot_b32, "r", 'r', 0, "cnot.b32 %rd, %ra;", U32(a) == 0)                                 \
    X(cnot_b64, "l", 'l', 0, "cnot.b64 %ld, %la;", a == 0)                                      \
    X(lop3_96, "rrr", 'r', 0, "lop3.b32 %rd, %ra, %rb, %rc, 0x96;",                             \
      lop3(U32(a), U32(b), U32(c), 0x96))                                                       \
    X(lop3_e8, "rrr", 'r', 0, "lop3.b32 %rd, %ra, %rb, %rc, 0xe8;",                             \
      lop3(U32(a), U32(b), U32(c), 0xe8))                                                       \
    X(lop3_1a, "rrr", 'r', 0, "lop3.b32 %rd, %ra, %rb, %rc, 0x1a;",                             \
      lop3(U32(a), U32(b), U32(c), 0x1a))                                                       \
    X(lop3_c5, "rrr", 'r', 0, "lop3.b32 %rd, %ra, %rb, %rc, 0xc5;",                             \
      lop3(U32(a), U32(b), U32(c), 0xc5))                                                       \
    X(lop3_00, "rrr", 'r', 0, "lop3.b32 %rd, %ra, %rb, %rc, 0;", 0)                             \
    X(lop3_or, "rrr", 'p', 0,                                                                   \
      "setp.eq.u32 %p0, %ra, 7; lop3.or.b32 %rd|%pd, %ra, %rb, %rc, 0x80, %p0;",                \
      (U32(a) & U32(b) & U32(c)) != 0 || U32(a) == 7)                                           \
    X(shl_b16, "hs", 'h', 0, "shl.b16 %hd, %ha, %rb;", shift_left(a, b, 16))                    \
    X(shl_b32, "rs", 'r', 0, "shl.b32 %rd, %ra, %rb;", shift_left(a, b, 32))                    \
    X(shl_b64, "ls", 'l', 0, "shl.b64 %ld, %la, %rb;", shift_left(a, b, 64))                    \
    X(shr_u16, "hs", 'h', 0, "shr.u16 %hd, %ha, %rb;", shift_right(a, b, 16, 0))                \
    X(shr_s16, "hs", 'h', 0, "shr.s16 %hd, %ha, %rb;", shift_right(a, b, 16, 1))                \
    X(shr_u32, "rs", 'r', 0, "shr.u32 %rd, %ra, %rb;", shift_right(a, b, 32, 0))                \
    X(shr_s32, "rs", 'r', 0, "shr.s32 %rd, %ra, %rb;", shift_right(a, b, 32, 1))                \
    X(shr_b32, "rs", 'r', 0, "shr.b32 %rd, %ra, %rb;", shift_right(a, b, 32, 0))                \
    X(shr_u64, "ls", 'l', 0, "shr.u64 %ld, %la, %rb;", shift_right(a, b, 64, 0))                \
    X(shr_s64, "ls", 'l', 0, "shr.s64 %ld, %la, %rb;", shift_right(a, b, 64, 1))                \
    X(shf_l_wrap, "rrs", 'r', 0, "shf.l.wrap.b32 %rd, %ra, %rb, %rc;", funnel(a, b, c, 1, 1))   \
    X(shf_l_clamp, "rrs", 'r', 0, "shf.l.clamp.b32 %rd, %ra, %rb, %rc;", funnel(a, b, c, 1, 0)) \
    X(shf_r_wrap, "rrs", 'r', 0, "shf.r.wrap.b32 %rd, %ra, %rb, %rc;", funnel(a, b, c, 0, 1))   \
    X(shf_r_clamp, "rrs", 'r', 0, "shf.r.clamp.b32 %rd, %ra, %rb, %rc;", funnel(a, b, c, 0, 0)) \
    X(rotate, "r", 'r', 0, "shf.l.wrap.b32 %rd, %ra, %ra, 16;", U32(a << 16 | U32(a) >> 16))    \
    X(prmt_default, "rrr", 'r', 0, "prmt.b32 %rd, %ra, %rb, %rc;", prmt(a, b, c))               \
    X(prmt_f4e, "rrr", 'r', 0, "prmt.b32.f4e %rd, %ra, %rb, %rc;", prmt_mode(a, b, c, F4E))     \
    X(prmt_b4e, "rrr", 'r', 0, "prmt.b32.b4e %rd, %ra, %rb, %rc;", prmt_mode(a, b, c, B4E))     \
    X(prmt_rc8, "rrr", 'r', 0, "prmt.b32.rc8 %rd, %ra, %rb, %rc;", prmt_mode(a, b, c, RC8))     \
    X(prmt_ecl, "rrr", 'r', 0, "prmt.b32.ecl %rd, %ra, %rb, %rc;", prmt_mode(a, b, c, ECL))     \
    X(prmt_ecr, "rrr", 'r', 0, "prmt.b32.ecr %rd, %ra, %rb, %rc;", prmt_mode(a, b, c, ECR))     \
    X(prmt_rc16, "rrr", 'r', 0, "prmt.b32.rc16 %rd, %ra, %rb, %rc;", prmt_mode(a, b, c, RC16))

LOGIC(OP_ORACLE)
static const struct op logic[] = {LOGIC(OP_ROW)};

Test(bits, logic_and_shifts)
{
    run_ops(logic, LENGTH(logic));
}

#define FIELDS(X)                                                                               \
    X(bfe_u32, "ryy", 'r', 0, "bfe.u32 %rd, %ra, %rb, %rc;", bfe(a, b, c, 32, 0))               \
    X(bfe_s32, "ryy", 'r', 0, "bfe.s32 %rd, %ra, %rb, %rc;", bfe(a, b, c, 32, 1))               \
    X(bfe_u64, "lyy", 'l', 0, "bfe.u64 %ld, %la, %rb, %rc;", bfe(a, b, c, 64, 0))               \
    X(bfe_s64, "lyy", 'l', 0, "bfe.s64 %ld, %la, %rb, %rc;", bfe(a, b, c, 64, 1))               \
    X(bfe_wide_operands, "rrr", 'r', 0, "bfe.u32 %rd, %ra, %rb, %rc;", bfe(a, b, c, 32, 0))     \
    X(bfi_b32, "rry", 'r', 0, "bfi.b32 %rd, %ra, %rb, %rc, 5;", bfi(a, b, c, 5, 32))            \
    X(bfi_b32_length, "rry", 'r', 0, "bfi.b32 %rd, %ra, %rb, 3, %rc;", bfi(a, b, 3, c, 32))     \
    X(bfi_b64, "lly", 'l', 0, "bfi.b64 %ld, %la, %lb, %rc, 40;", bfi(a, b, c, 40, 64))          \
    X(bfind_u32, "r", 'r', 0, "bfind.u32 %rd, %ra;", bfind(a, 32, 0, 0))                        \
    X(bfind_s32, "r", 'r', 0, "bfind.s32 %rd, %ra;", bfind(a, 32, 1, 0))                        \
    X(bfind_u64, "l", 'r', 0, "bfind.u64 %rd, %la;", bfind(a, 64, 0, 0))                        \
    X(bfind_s64, "l", 'r', 0, "bfind.s64 %rd, %la;", bfind(a, 64, 1, 0))                        \
    X(bfind_shift_u32, "r", 'r', 0, "bfind.shiftamt.u32 %rd, %ra;", bfind(a, 32, 0, 1))         \
    X(bfind_shift_s32, "r", 'r', 0, "bfind.shiftamt.s32 %rd, %ra;", bfind(a, 32, 1, 1))         \
    X(bfind_shift_u64, "l", 'r', 0, "bfind.shiftamt.u64 %rd, %la;", bfind(a, 64, 0, 1))         \
    X(bmsk_clamp, "ss", 'r', 0, "bmsk.clamp.b32 %rd, %ra, %rb;", bmsk(a, b, 0))                 \
    X(bmsk_wrap, "ss", 'r', 0, "bmsk.wrap.b32 %rd, %ra, %rb;", bmsk(a, b, 1))                   \
    X(szext_clamp_s, "rs", 'r', 0, "szext.clamp.s32 %rd, %ra, %rb;", szext(a, b, 1, 0))         \
    X(szext_clamp_u, "rs", 'r', 0, "szext.clamp.u32 %rd, %ra, %rb;", szext(a, b, 0, 0))         \
    X(szext_wrap_s, "rs", 'r', 0, "szext.wrap.s32 %rd, %ra, %rb;", szext(a, b, 1, 1))           \
    X(brev_b32, "r", 'r', 0, "brev.b32 %rd, %ra;", reverse(a, 32))                              \
    X(brev_b64, "l", 'l', 0, "brev.b64 %ld, %la;", reverse(a, 64))                              \
    X(clz_b32, "r", 'r', 0, "clz.b32 %rd, %ra;", U32(a) ? (unsigned)__builtin_clz(U32(a)) : 32) \
    X(clz_b64, "l", 'r', 0, "clz.b64 %rd, %la;", a ? (unsigned)__builtin_clzll(a) : 64)         \
    X(popc_b32, "r", 'r', 0, "popc.b32 %rd, %ra;", (unsigned)__builtin_popcount(U32(a)))        \
    X(popc_b64, "l", 'r', 0, "popc.b64 %rd, %la;", (unsigned)__builtin_popcountll(a))           \
    X(fns_b32, "rsr", 'r', 0, "fns.b32 %rd, %ra, %rb, %rc;", fns(a, b, c))                      \
    X(pack_unpack, "l", 'l', 0,                                                                 \
      "mov.b64 {%h0, %h1, %h2, %h3}, %la; mov.b64 %ld, {%h3, %h2, %h1, %h0};",                  \
      (a >> 48) | (a >> 16 & 0xffff0000) | (a << 16 & 0xffff00000000) | a << 48)                \
    X(mov_halves, "r", 'r', 0, "mov.b32 {%h0, %h1}, %ra; mov.b32 %rd, {%h1, %h0};",             \
      U32(U32(a) >> 16 | a << 16))

FIELDS(OP_ORACLE)
static const struct op fields[] = {FIELDS(OP_ROW)};

Test(bits, fields)
{
    run_ops(fields, LENGTH(fields));
}
