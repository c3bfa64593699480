// SPDX-License-Identifier: Apache-2.0
//
// The runner of semantics.h: makes PTX of the rows, the input values of each kind, launches and
// compares. One failing row reports its first wrong inputs and how many there are.
#include "semantics.h"

#include <stdio.h>
#include <stdlib.h>

#include "../conformance.h"
#include "../ptx_module.h"

enum { RANDOM_VALUES = 4096, BLOCK = 128 };

static bool any_result;

void op_any(void)
{
    any_result = true;
}

static uint64_t random_state = 88172645463325252ull;

static uint64_t random_bits(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state * 0x2545f4914f6cdd1dull;
}

#define EDGES(name, ...) static const uint64_t name[] = {__VA_ARGS__}
EDGES(edges_h, 0, 1, 2, 3, 7, 0x10, 0xff, 0x100, 0x7ffe, 0x7fff, 0x8000, 0x8001, 0xaaaa, 0xfffe,
      0xffff);
EDGES(edges_r, 0, 1, 2, 3, 5, 0x1f, 0x20, 0x7f, 0x80, 0xff, 0xffff, 0x10000, 0x12345678, 0x7fffff,
      0x7ffffffe, 0x7fffffff, 0x80000000, 0x80000001, 0xaaaaaaaa, 0xdeadbeef, 0xfffffffe,
      0xffffffff);
EDGES(edges_l, 0, 1, 2, 3, 0x3f, 0x40, 0xff, 0xffffffff, 0x100000000, 0x123456789abcdef0,
      0x7ffffffffffffffe, 0x7fffffffffffffff, 0x8000000000000000, 0x8000000000000001,
      0xaaaaaaaaaaaaaaaa, 0xfffffffffffffffe, 0xffffffffffffffff);
EDGES(edges_s, 0, 1, 2, 7, 8, 15, 16, 17, 30, 31, 32, 33, 47, 63, 64, 65, 127, 128, 255, 256,
      0x7fffffff, 0x80000000, 0xffffffff);
EDGES(edges_p, 0, 1);
EDGES(edges_y, 0, 1, 2, 3, 8, 16, 31, 32, 33, 63, 64, 127, 128, 200, 255);
EDGES(edges_x, 0, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x3555, 0x3800, 0x3bff, 0x3c00, 0x3c01,
      0x4000, 0x4248, 0x7bff, 0xfbff, 0xbc00, 0xc000, 0x7c00, 0xfc00, 0x7e00, 0xfe01, 0x7d01);
EDGES(edges_b, 0, 0x8000, 0x0001, 0x8001, 0x007f, 0x0080, 0x3f00, 0x3f7f, 0x3f80, 0x3f81, 0x4000,
      0x4049, 0x7f7f, 0xff7f, 0xbf80, 0x7f80, 0xff80, 0x7fc0, 0xffc1);
EDGES(edges_f, 0, 0x80000000, 1, 0x80000001, 0x007fffff, 0x00800000, 0x00800001, 0x33800000,
      0x3effffff, 0x3f000000, 0x3f7fffff, 0x3f800000, 0x3f800001, 0x3fc00000, 0x40000000,
      0x40490fdb, 0x4b000000, 0x4b7fffff, 0x4effffff, 0x4f000000, 0x4f800000, 0x5f000000,
      0x7f7fffff, 0xff7fffff, 0xbf800000, 0xbf000000, 0xc0200000, 0xcf000000, 0x7f800000,
      0xff800000, 0x7fc00000, 0xffc00001, 0x7f800001);
EDGES(edges_d, 0, 0x8000000000000000, 1, 0x8000000000000001, 0x000fffffffffffff, 0x0010000000000000,
      0x3fdfffffffffffff, 0x3fe0000000000000, 0x3fefffffffffffff, 0x3ff0000000000000,
      0x3ff0000000000001, 0x3ff8000000000000, 0x4000000000000000, 0x400921fb54442d18,
      0x41dfffffffc00000, 0x41efffffffe00000, 0x4330000000000000, 0x43e0000000000000,
      0x43f0000000000000, 0x47efffffe0000000, 0x47effffff0000000, 0x36a0000000000000,
      0x380fffffffffffff, 0x7fefffffffffffff, 0xffefffffffffffff, 0xbff0000000000000,
      0xc004000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000,
      0xfff8000000000001, 0x7ff0000000000001);
EDGES(edges_X, 0, 0x80008000, 0x3c003c00, 0xbc003c00, 0x7bff0001, 0x00017bff, 0x7c00fc00,
      0x7e003c00, 0x3c007e00, 0x35553555, 0x03ff0400, 0xc2484248);
EDGES(edges_B, 0, 0x80008000, 0x3f803f80, 0xbf803f80, 0x7f7f0001, 0x00017f7f, 0x7f80ff80,
      0x7fc03f80, 0x3f807fc0, 0x3eab3eab, 0x007f0080);
EDGES(edges_g, 0x3f800000, 0xbf800000, 0x3f000000, 0x40490fdb, 0x41200000, 0xc1200000, 0x3dcccccd,
      0x42c80000);
EDGES(edges_t, 0, 0x80000000, 0x3f800000, 0xbf800000, 0x3fc90fdb, 0x40490fdb, 0xc0490fdb,
      0x40c90fda, 0xc0c90fda, 0x3f490fdb, 0x38d1b717);

struct kind {
    char letter;
    const uint64_t *edges;
    size_t count;
    unsigned bits;
};
#define KIND(letter, name, bits)         \
    {                                    \
        letter, name, LENGTH(name), bits \
    }
static const struct kind kinds[] = {
    KIND('h', edges_h, 16), KIND('r', edges_r, 32), KIND('l', edges_l, 64), KIND('s', edges_s, 32),
    KIND('p', edges_p, 1),  KIND('y', edges_y, 8),  KIND('x', edges_x, 16), KIND('b', edges_b, 16),
    KIND('f', edges_f, 32), KIND('d', edges_d, 64), KIND('X', edges_X, 32), KIND('B', edges_B, 32),
    KIND('g', edges_g, 32), KIND('t', edges_t, 32),
};

static const struct kind *kind_of(char letter)
{
    for (size_t i = 0; i < LENGTH(kinds); i++) {
        if (kinds[i].letter == letter) {
            return &kinds[i];
        }
    }
    cr_assert_fail("no kind '%c'", letter);
    return NULL;
}

static uint64_t random_value(const struct kind *kind)
{
    uint64_t bits = random_bits();
    double unit = (double)(bits >> 11) / 9007199254740992.0;
    switch (kind->letter) {
    case 's':
        return bits & 0x40000000 ? bits & 0x7f : bits >> 32;
    case 'g':
        return f32_bits((float)((unit - 0.5) * 200));
    case 't':
        return f32_bits((float)((unit - 0.5) * 4 * 3.14159265));
    default:
        // A part of the integers is small, so that comparisons and quotients are interesting.
        if (strchr("hrl", kind->letter) && (bits >> 60) < 4) {
            return (uint64_t)(int64_t)((int)(bits & 0xff) - 128) &
                   (kind->bits == 64 ? UINT64_MAX : (1ull << kind->bits) - 1);
        }
        return kind->bits == 64 ? bits : bits & ((1ull << kind->bits) - 1);
    }
}

// Every combination of edge values, then random ones; 16-bit single inputs are exhaustive.
static size_t make_inputs(const char *letters, uint64_t *values[3], size_t capacity)
{
    size_t arity = strlen(letters), count = 0, total = 1;
    const struct kind *of[3] = {kind_of(letters[0]), arity > 1 ? kind_of(letters[1]) : NULL,
                                arity > 2 ? kind_of(letters[2]) : NULL};
    if (arity == 1 && of[0]->bits <= 16) {
        for (; count < 1u << of[0]->bits; count++) {
            values[0][count] = count;
            values[1][count] = values[2][count] = 0;
        }
        return count;
    }
    for (size_t i = 0; i < arity; i++) {
        total *= of[i]->count;
    }
    for (; count < total && count < capacity - RANDOM_VALUES; count++) {
        size_t rest = count;
        for (size_t i = 0; i < 3; i++) {
            values[i][count] = i < arity ? of[i]->edges[rest % of[i]->count] : 0;
            rest /= i < arity ? of[i]->count : 1;
        }
    }
    for (size_t end = count + RANDOM_VALUES; count < end; count++) {
        for (size_t i = 0; i < 3; i++) {
            values[i][count] = i < arity ? random_value(of[i]) : 0;
        }
        if (arity > 1 && (count & 15) == 0) {
            values[1][count] = values[0][count]; // equal operands
        }
    }
    return count;
}

static bool half_is_nan(uint64_t bits)
{
    return (bits & 0x7c00) == 0x7c00 && (bits & 0x3ff);
}

static bool bfloat_is_nan(uint64_t bits)
{
    return (bits & 0x7f80) == 0x7f80 && (bits & 0x7f);
}

static double half_value(uint64_t bits)
{
    double magnitude = (bits >> 10 & 31) == 0
                           ? ldexp((double)(bits & 0x3ff), -24)
                           : ldexp((double)((bits & 0x3ff) | 0x400), (int)(bits >> 10 & 31) - 25);
    return bits & 0x8000 ? -magnitude : magnitude;
}

static bool near(const struct op *op, double got, double want)
{
    if (isinf(want) || isinf(got)) {
        return got == want;
    }
    double margin = fmax(fabs(want) * op->relative, op->absolute);
    return fabs(got - want) <= margin;
}

static bool same(const struct op *op, uint64_t got, uint64_t want)
{
    bool tolerant = op->relative > 0 || op->absolute > 0;
    switch (op->compare) {
    case 'f':
        if (isnan(as_f32(got)) || isnan(as_f32(want))) {
            return isnan(as_f32(got)) && isnan(as_f32(want));
        }
        return got == want || (tolerant && near(op, as_f32(got), as_f32(want)));
    case 'd':
        if (isnan(as_f64(got)) || isnan(as_f64(want))) {
            return isnan(as_f64(got)) && isnan(as_f64(want));
        }
        return got == want || (tolerant && near(op, as_f64(got), as_f64(want)));
    case 'x':
        if (half_is_nan(got) || half_is_nan(want)) {
            return half_is_nan(got) && half_is_nan(want);
        }
        return got == want || (tolerant && near(op, half_value(got), half_value(want)));
    case 'b':
        if (bfloat_is_nan(got) || bfloat_is_nan(want)) {
            return bfloat_is_nan(got) && bfloat_is_nan(want);
        }
        return got == want || (tolerant && near(op, as_f32(got << 16), as_f32(want << 16)));
    case 'X':
        for (int shift = 0; shift < 32; shift += 16) {
            uint64_t g = got >> shift & 0xffff, w = want >> shift & 0xffff;
            if (g != w && !(half_is_nan(g) && half_is_nan(w))) {
                return false;
            }
        }
        return true;
    case 'B':
        for (int shift = 0; shift < 32; shift += 16) {
            uint64_t g = got >> shift & 0xffff, w = want >> shift & 0xffff;
            if (g != w && !(bfloat_is_nan(g) && bfloat_is_nan(w))) {
                return false;
            }
        }
        return true;
    default:
        return got == want;
    }
}

static void append_kernel(FILE *text, const struct op *op)
{
    fprintf(text,
            ".visible .entry k_%s(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd,\n"
            " .param .u32 pn)\n{\n"
            " .reg .pred %%p<10>, %%pa, %%pb, %%pc, %%pd, %%guard;\n"
            " .reg .b16 %%h<10>, %%ha, %%hb, %%hc, %%hd;\n"
            " .reg .b32 %%r<10>, %%ra, %%rb, %%rc, %%rd, %%index, %%n, %%t;\n"
            " .reg .b64 %%l<10>, %%la, %%lb, %%lc, %%ld, %%address, %%offset;\n"
            " mov.u32 %%index, %%ctaid.x; mov.u32 %%n, %%ntid.x; mov.u32 %%t, %%tid.x;\n"
            " mad.lo.u32 %%index, %%index, %%n, %%t; ld.param.u32 %%n, [pn];\n"
            " setp.ge.u32 %%guard, %%index, %%n; @%%guard ret;\n"
            " mul.wide.u32 %%offset, %%index, 8;\n",
            op->name);
    for (const char *operand = "abc"; *operand; operand++) {
        fprintf(text,
                " ld.param.u64 %%address, [p%1$c]; add.u64 %%address, %%address, %%offset;\n"
                " ld.global.u64 %%l%1$c, [%%address]; cvt.u32.u64 %%r%1$c, %%l%1$c;\n"
                " cvt.u16.u64 %%h%1$c, %%l%1$c; and.b32 %%t, %%r%1$c, 1;\n"
                " setp.ne.u32 %%p%1$c, %%t, 0;\n",
                *operand);
    }
    fprintf(text, " %s\n", op->code);
    switch (op->result) {
    case 'h':
        fputs(" cvt.u64.u16 %ld, %hd;\n", text);
        break;
    case 'r':
        fputs(" cvt.u64.u32 %ld, %rd;\n", text);
        break;
    case 'p':
        fputs(" selp.u64 %ld, 1, 0, %pd;\n", text);
        break;
    default:
        break;
    }
    fputs(" ld.param.u64 %address, [pd]; add.u64 %address, %address, %offset;\n"
          " st.global.u64 [%address], %ld;\n ret;\n}\n",
          text);
}

static void run_op(const struct op *op, const void *stub, uint64_t *values[3], uint64_t *host_out,
                   void *device[4], size_t capacity)
{
    size_t count = make_inputs(op->inputs, values, capacity), wrong = 0;
    for (size_t i = 0; i < 3; i++) {
        OK(cudaMemcpy(device[i], values[i], count * 8, cudaMemcpyHostToDevice));
    }
    OK(cudaMemset(device[3], 0x5a, count * 8));
    unsigned n = (unsigned)count;
    void *arguments[] = {&device[0], &device[1], &device[2], &device[3], &n};
    cudaError_t error = cudaLaunchKernel(stub, dim((n + BLOCK - 1) / BLOCK, 1, 1), dim(BLOCK, 1, 1),
                                         arguments, 0, 0);
    cr_expect(error == cudaSuccess, "%s does not launch: %s", op->name, cudaGetErrorName(error));
    if (error != cudaSuccess) {
        (void)cudaGetLastError();
        return;
    }
    OK(cudaMemcpy(host_out, device[3], count * 8, cudaMemcpyDeviceToHost));
    char first[200] = "";
    for (size_t i = 0; i < count; i++) {
        any_result = false;
        uint64_t want = op->oracle(values[0][i], values[1][i], values[2][i]);
        if (!any_result && !same(op, host_out[i], want) && wrong++ == 0) {
            snprintf(first, sizeof first, "a=%llx b=%llx c=%llx: got %llx, expected %llx",
                     (unsigned long long)values[0][i], (unsigned long long)values[1][i],
                     (unsigned long long)values[2][i], (unsigned long long)host_out[i],
                     (unsigned long long)want);
        }
    }
    cr_expect(wrong == 0, "%s (%s): %zu of %zu wrong; %s", op->name, op->code, wrong, count, first);
}

void run_ops(const struct op *ops, size_t count)
{
    enum { CAPACITY = 65536 };
    uint64_t *values[3], *host_out = malloc(CAPACITY * 8);
    void *device[4];
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    const char **names = calloc(count, sizeof *names);
    char *name_text = calloc(count, 64);
    cr_assert(stream && names && name_text && host_out);
    fputs(".version 8.8\n.target sm_100\n.address_size 64\n", stream);
    for (size_t i = 0; i < count; i++) {
        append_kernel(stream, &ops[i]);
        snprintf(name_text + 64 * i, 64, "k_%s", ops[i].name);
        names[i] = name_text + 64 * i;
    }
    fclose(stream);
    const char *dump = getenv("CONFORMANCE_DUMP_PTX"); // to have another assembler read the rows
    if (dump) {
        FILE *file = fopen(dump, "w");
        cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
    }
    struct ptx_module *module = ptx_module_register(text, names, count);
    cr_assert(module != NULL);
    ptx_module_end(module);
    for (size_t i = 0; i < 3; i++) {
        values[i] = calloc(CAPACITY, 8);
        cr_assert(values[i] != NULL);
    }
    for (size_t i = 0; i < 4; i++) {
        OK(cudaMalloc(&device[i], CAPACITY * 8));
    }
    for (size_t i = 0; i < count; i++) {
        run_op(&ops[i], ptx_module_stub(module, i), values, host_out, device, CAPACITY);
    }
    for (size_t i = 0; i < 3; i++) {
        free(values[i]);
    }
    free(host_out);
    free(names);
    free(name_text);
    free(text);
}
