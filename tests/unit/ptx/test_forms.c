// SPDX-License-Identifier: Apache-2.0
//
// The instruction table: every form of the corpus parses and prints back to itself, further forms
// of the ISA are accepted, modifiers that the table does not list are refused.
#include "ptx_test.h"

#include "corpus_forms.h"

TestSuite(forms, .timeout = 50);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

// The frame with the external functions of the corpus.
static char *corpus_text(const char *form)
{
    size_t capacity = 16384;
    char *text = malloc(capacity);
    size_t size = (size_t)snprintf(text, capacity, "%s", FRAME);
    for (size_t i = 0; i < COUNT(corpus_functions); i++) {
        size +=
            (size_t)snprintf(text + size, capacity - size,
                             ".extern .func (.param .b32 r) %s (.param .b64 a, .param .b64 b);\n",
                             corpus_functions[i]);
    }
    snprintf(text + size, capacity - size, "%s%s\ndone:\nret;\n}\n", BODY, form);
    return text;
}

Test(forms, corpus)
{
    for (size_t i = 0; i < COUNT(corpus_forms); i++) {
        char *text = corpus_text(corpus_forms[i]);
        struct ptx_module *module = parse_text(text, corpus_forms[i]);
        const struct ptx_instruction *instruction = first_instruction(module);
        size_t size = strcspn(corpus_forms[i], " ;");
        cr_expect(strncmp(instruction->text, corpus_forms[i], size) == 0 &&
                      instruction->text[size] == '\0',
                  "'%s' became '%s'", corpus_forms[i], instruction->text);
        char *once = print_text(module);
        struct ptx_module *again = parse_text(once, corpus_forms[i]);
        char *twice = print_text(again);
        cr_expect_str_eq(once, twice, "%s", corpus_forms[i]);
        ptx_module_destroy(module);
        ptx_module_destroy(again);
        free(once);
        free(twice);
        free(text);
    }
}

// Instruction as written (blanks apart) must print as the second text, or as itself.
static const struct {
    const char *source, *printed;
} accepted[] = {
    {"add.s32 %r1, %r2, -5;", NULL},
    {"add.u32 %r1, %r2, 7U;", NULL},
    {"add .s32 %r1 , %r2,%r3 ;", "add.s32 %r1, %r2, %r3;"},
    {"add.u32 %r1, %r2+1, %r3+-1;", NULL},
    {"add.cc.u32 %r1, %r2, %r3;", NULL},
    {"add.rn.ftz.sat.f32 %f1, %f2, 0f3F800000;", NULL},
    {"add.f32 %f1, %f2, 1.5;", "add.f32 %f1, %f2, 0d3FF8000000000000;"},
    {"add.f64 %fd1, %fd2, 0dBFF0000000000000;", NULL},
    {"add.rn.f32x2 %rd1, %rd2, %rd3;", NULL},
    {"mad.hi.sat.s32 %r1, %r2, %r3, %r4;", NULL},
    {"mad24.lo.u32 %r1, %r2, %r3, %r4;", NULL},
    {"fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4;", NULL},
    {"min.ftz.NaN.xorsign.abs.f32 %f1, %f2, %f3;", NULL},
    {"max.f32 %f1, %f2, %f3, %f4;", NULL},
    {"fns.b32 %r1, %r2, 0, 1;", NULL},
    {"szext.wrap.s32 %r1, %r2, 5;", NULL},
    {"bfe.u32 %r1, %r2, %r3, 8;", NULL},
    {"dp2a.lo.s32.u32 %r1, %r2, %r3, %r4;", NULL},
    {"testp.notanumber.f64 %p1, %fd1;", NULL},
    {"tanh.approx.bf16x2 %r1, %r2;", NULL},
    {"set.lt.ftz.f32.f32 %f1, %f2, %f3;", NULL},
    {"set.eq.and.u32.f64 %r1, %fd1, %fd2, !%p1;", NULL},
    {"setp.lt.and.f32 %p1|%p2, %f1, %f2, !%p3;", NULL},
    {"setp.eq.u32 _|%p2, %r1, %r2;", NULL},
    {"setp.ls.u32 %p1, %r1, %r2;", NULL},
    {"slct.ftz.f64.f32 %fd1, %fd2, %fd3, %f1;", NULL},
    {"lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 128, %p2;", NULL},
    {"prmt.b32.f4e %r1, %r2, %r3, %r4;", NULL},
    {"shf.r.clamp.b32 %r1, %r2, %r3, 8;", NULL},
    {"mov.u32 %r1, %tid.x;", NULL},
    {"mov.u32 %r1, %envreg31;", NULL},
    {"mov.u64 %rd1, %clock64;", NULL},
    {"mov.u32 %r1, WARP_SZ;", "mov.u32 %r1, 32;"},
    {"mov.u64 %rd1, gvar;", NULL},
    {"mov.u64 %rd1, gvar+8;", NULL},
    {"mov.u64 %rd1, gvar[2];", "mov.u64 %rd1, gvar+8;"},
    {"mov.u64 %rd1, gvar+8-4;", "mov.u64 %rd1, gvar+4;"},
    {"mov.u64 %rd1, callee;", NULL},
    {"mov.b64 {%r1, %r2}, %rd1;", NULL},
    {"mov.b64 %rd1, {%r1, 0};", NULL},
    {"mov.b64 {%r1, _}, %rd1;", NULL},
    {"mov.b32 %r1, {%r2};", "mov.b32 %r1, %r2;"},
    {"mov.f32 %f1, vec.x;", NULL},
    {"mov.f32 vec.a, %f1;", "mov.f32 vec.w, %f1;"},
    {"mov.b128 %rq1, {%rd1, %rd2};", NULL},
    {"mov.u32 %r1, 0x10;", "mov.u32 %r1, 16;"},
    {"mov.u32 %r1, 017;", "mov.u32 %r1, 15;"},
    {"mov.u32 %r1, 0b101;", "mov.u32 %r1, 5;"},
    {"mov.u32 %r1, (3+4)*2;", "mov.u32 %r1, 14;"},
    {"mov.u32 %r1, (1 > 0) ? 7 : 8;", "mov.u32 %r1, 7;"},
    {"mov.u64 %rd1, (.u64) -1 >> 60;", "mov.u64 %rd1, 15U;"},
    {"mov.s64 %rd1, -1 >> 60;", "mov.s64 %rd1, -1;"},
    {"mov.s64 %rd1, -9223372036854775808;", NULL},
    {"mov.u64 %rd1, 18446744073709551615;", "mov.u64 %rd1, 18446744073709551615U;"},
    {"mov.u32 %r1, ~0 & 0xFF ^ 1 | 256;", "mov.u32 %r1, 510;"},
    {"mov.u32 %r1, 7 % 4 + 100 / 7 - !0;", "mov.u32 %r1, 16;"},
    {"mov.f32 %f1, -0f3F800000;", "mov.f32 %f1, 0fBF800000;"},
    {"mov.f64 %fd1, 1e3;", "mov.f64 %fd1, 0d408F400000000000;"},
    {"mov.f64 %fd1, 1.0 + 0.5;", "mov.f64 %fd1, 0d3FF8000000000000;"},
    {"ld.u32 %r1, [%rd1];", NULL},
    {"ld.volatile.v4.f32 {%f1, %f2, %f3, %f4}, [%rd1];", NULL},
    {"ld.v4.f32 vec, [%rd1+-16];", NULL},
    {"ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];", NULL},
    {"ld.global.L2::cache_hint.u32 %r1, [%rd1], %rd2;", NULL},
    {"ld.relaxed.sys.global.u32 %r1, [gvar+4];", NULL},
    {"ld.acquire.gpu.u32 %r1, [%rd1-8];", "ld.acquire.gpu.u32 %r1, [%rd1+-8];"},
    {"ld.global.u32 %r1, [gvar[3]];", "ld.global.u32 %r1, [gvar+12];"},
    {"ld.shared.u32 %r1, [16];", NULL},
    {"ld.shared::cta.u32 %r1, [sh];", NULL},
    {"ld.param.b64 %rd1, [p1+8];", NULL},
    {"ld.global.u32 %r1, [%rd1].unified;", NULL},
    {"ld.f32 {%f1}, [%rd1];", "ld.f32 %f1, [%rd1];"},
    {"ld.global.v8.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [%rd1];", NULL},
    {"ld.mmio.relaxed.sys.global.u32 %r1, [%rd1];", NULL},
    {"st.v2.b64 [%rd1], {%rd2, 0};", NULL},
    {"st.global.f32 [%rd1+4], 0f00000000;", NULL},
    {"st.release.cluster.shared::cluster.u32 [%r1], %r2;", NULL},
    {"prefetch.global.L2::evict_last [%rd1];", NULL},
    {"createpolicy.fractional.L2::evict_last.b64 %rd1, 0f3F800000;", NULL},
    {"isspacep.shared %p1, %rd1;", NULL},
    {"cvta.shared::cta.u64 %rd1, %rd2;", NULL},
    {"cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, %f2;", NULL},
    {"cvt.rn.f16x2.e5m2x2 %r1, %rs1;", NULL},
    {"cvt.rna.tf32.f32 %r1, %f1;", NULL},
    {"cvt.pack.sat.u8.s32.b32 %r1, %r2, %r3, %r4;", NULL},
    {"mapa.shared::cluster.u32 %r1, %r2, %r3;", NULL},
    {"cp.async.ca.shared.global [%r1], [%rd1], 4, %r2;", NULL},
    {"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], %r2, [%r3];",
     NULL},
    {"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%r1], "
     "[%rd1, {%r2, %r3}], [%r4];",
     NULL},
    {"cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%rd1, {%r1, %r2, %r3}], [%r4];", NULL},
    {"mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [%r1], %r2, %r3;", NULL},
    {"mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%r1], 128;", NULL},
    {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex0, {%f5, %f6}];", NULL},
    {"tex.1d.v4.s32.f32 {%r1, %r2, %r3, %r4}|%p1, [%rd1, {%f5}];", NULL},
    {"tex.grad.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1, %f2}], {%f3, %f4}, {%f5, %f6};",
     NULL},
    {"tld4.r.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [tex0, {%f5, %f6}];", NULL},
    {"txq.width.b32 %r1, [tex0];", NULL},
    {"sured.b.add.2d.u32.trap [%rd1, {%r1, %r2}], %r3;", NULL},
    {"@%p1 bra.uni done;", NULL},
    {"@!%p1 exit;", NULL},
    {"call (rv), callee, (pa, 5);", NULL},
    {"call.uni (_), %rd1, (pa, pb), proto;", NULL},
    {"bar.sync 1, 64;", NULL},
    {"bar.arrive %r1, 64;", NULL},
    {"barrier.red.popc.aligned.u32 %r1, 0, 64, !%p1;", NULL},
    {"bar.red.and.pred %p1, 0, %p2;", NULL},
    {"barrier.cluster.arrive.relaxed.aligned;", NULL},
    {"fence.proxy.async.shared::cta;", NULL},
    {"fence.acq_rel.gpu;", NULL},
    {"atom.global.add.noftz.bf16x2 %r1, [%rd1], %r2;", NULL},
    {"atom.global.v4.f32.add {%f1, %f2, %f3, %f4}, [%rd1], {%f5, %f6, %f7, %f8};", NULL},
    {"atom.cas.b128 %rq1, [%rd1], %rq2, %rq3;", NULL},
    {"atom.shared::cluster.inc.u32 _, [%r1], 5;", NULL},
    {"red.relaxed.gpu.global.add.f64 [%rd1], %fd1;", NULL},
    {"vote.sync.uni.pred %p1, !%p2, -1;", NULL},
    {"match.all.sync.b32 %r1|%p1, %r2, %r3;", NULL},
    {"shfl.idx.b32 %r1, %r2, 0, 31;", NULL},
    {"elect.sync _|%p1, -1;", NULL},
    {"redux.sync.min.abs.NaN.f32 %f1, %f2, -1;", NULL},
    {"griddepcontrol.wait;", NULL},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, "
     "%r4}, "
     "{%r5, %r6}, {%f1, %f2, %f3, %f4};",
     NULL},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1, %r2, %r3, %r4}, [%r5];", NULL},
    {"movmatrix.sync.aligned.m8n8.trans.b16 %r1, %r2;", NULL},
    {"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, "
     "1, "
     "0, 0;",
     NULL},
    {"tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, {%r3, %r4, %r5, %r6}, %p1;", NULL},
    {"tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r1, %r2}, [%r3];", NULL},
    {"vadd.s32.u32.s32.sat %r1.h0, %r2.b3, -%r3, %r4;", NULL},
    {"vmad.s32.s32.s32.shr15 %r1, %r2.h1, -%r3.h0, %r4;", NULL},
    {"vadd4.u32.s32.s32.sat %r1.b30, %r2.b7610, %r3.b3210, %r4;", NULL},
    {"vset2.u32.s32.lt.add %r1.h10, %r2.h32, %r3, %r4;", NULL},
    {"nanosleep.u32 100;", NULL},
    {"pmevent.mask 7;", NULL},
    {"setmaxnreg.inc.sync.aligned.u32 240;", NULL},
    {"alloca.u64 %rd1, %rd2, 8;", NULL},
};

Test(forms, accepted)
{
    for (size_t i = 0; i < COUNT(accepted); i++) {
        char *text = frame_text(accepted[i].source);
        struct ptx_module *module = parse_text(text, accepted[i].source);
        char *printed = NULL;
        size_t size = 0;
        FILE *file = open_memstream(&printed, &size);
        ptx_print_instruction(file, first_instruction(module));
        fclose(file);
        cr_expect_str_eq(printed,
                         accepted[i].printed != NULL ? accepted[i].printed : accepted[i].source);
        free(printed);
        char *once = print_text(module);
        ptx_module_destroy(parse_text(once, accepted[i].source));
        ptx_module_destroy(module);
        free(once);
        free(text);
    }
}

// Refused by ptxas, too.
static const struct {
    const char *source, *message;
} refused[] = {
    {"add.foo.s32 %r1, %r2, %r3;", "unknown modifier '.foo' of 'add'"},
    {"add.wide.s32 %r1, %r2, %r3;", "unknown modifier '.wide' of 'add'"},
    {"addd.s32 %r1, %r2, %r3;", "unknown instruction 'addd'"},
    {"add.sat.u64 %rd1, %rd2, %rd3;", "no form of 'add' has the modifiers 'add.sat.u64'"},
    {"add.ftz.f64 %fd1, %fd2, %fd3;", "no form of 'add' has the modifiers 'add.ftz.f64'"},
    {"add %r1, %r2, %r3;", "no form of 'add' has the modifiers 'add'"},
    {"add.s32.s32 %r1, %r2, %r3;", "no form of 'add' has the modifiers 'add.s32.s32'"},
    {"sub.sat.sat.s32 %r1, %r2, %r3;", "no form of 'sub' has the modifiers 'sub.sat.sat.s32'"},
    {"mul.u32 %r1, %r2, %r3;", "no form of 'mul' has the modifiers 'mul.u32'"},
    {"mul.lo.cc.u32 %r1, %r2, %r3;", "unknown modifier '.cc' of 'mul'"},
    {"fma.f32 %f1, %f2, %f3, %f4;", "no form of 'fma' has the modifiers 'fma.f32'"},
    {"setp.lt.b32 %p1, %r1, %r2;", "no form of 'setp' has the modifiers 'setp.lt.b32'"},
    {"setp.lo.s32 %p1, %r1, %r2;", "no form of 'setp' has the modifiers 'setp.lo.s32'"},
    {"cvt.rn.u32.f32 %r1, %f1;", "no form of 'cvt' has the modifiers 'cvt.rn.u32.f32'"},
    {"cvt.f16.f32 %rs1, %f1;", "no form of 'cvt' has the modifiers 'cvt.f16.f32'"},
    {"st.relaxed.global.u32 [%rd1], %r1;",
     "no form of 'st' has the modifiers 'st.relaxed.global.u32'"},
    {"ld.volatile.local.u32 %r1, [depot];",
     "no form of 'ld' has the modifiers 'ld.volatile.local.u32'"},
    {"ld.global.nc.shared.u32 %r1, [%rd1];",
     "no form of 'ld' has the modifiers 'ld.global.nc.shared.u32'"},
    {"atom.global.cas.s32 %r1, [%rd1], %r2, %r3;",
     "no form of 'atom' has the modifiers 'atom.global.cas.s32'"},
    {"bar.sync.aligned 0;", "unknown modifier '.aligned' of 'bar'"},
    {"ret.s32;", "unknown modifier '.s32' of 'ret'"},
    {"add.s32 %r1, %r2;", "'add' takes 3 operands, not 2"},
    {"add.s32 %r1, %r2, %r3, %r4;", "'add' takes 3 operands, not 4"},
    {"ret %r1;", "'ret' takes 0 operands, not 1"},
    {"bar.sync 0, 32, 5;", "'bar' takes 1 to 2 operands, not 3"},
    {"add.s32 5, %r2, %r3;", "operand 1 of 'add' must be a destination register"},
    {"add.s32 %r1, [%rd1], %r3;", "operand 2 of 'add' must be a register or constant"},
    {"add.s32 %r1, !%p1, %r3;", "operand 2 of 'add' must be a register or constant"},
    {"add.s32 %r1, {%r1, %r2}, %r3;", "operand 2 of 'add' must be a register or constant"},
    {"ld.u32 %r1, %rd1;", "operand 2 of 'ld' must be an address in [ ]"},
    {"ld.v4.u32 {%r1, %r2}, [%rd1];", "'ld.v4.u32' takes 4 values, not 2"},
    {"ld.u32 {%r1, %r2}, [%rd1];", "'ld.u32' takes 1 value, not 2"},
    {"ld.v4.u32 %r1, [%rd1];", "'ld.v4.u32' takes 4 values, not 1"},
    {"ld.v8.u8 {%rs1, %rs1, %rs1, %rs1, %rs1, %rs1, %rs1, %rs1}, [%rd1];",
     "'ld.v8.u8': no such vector in memory"},
    {"mov.u32 %r1, %nothing;", "unknown name '%nothing'"},
    {"mov.u32 %r1, %r40;", "unknown name '%r40'"},
    {"mov.u32 %r1, %r01;", "unknown name '%r01'"},
    {"mov.u32 %r1, %tid.q;", "expected .x, .y, .z or .w before '.q'"},
    {"mov.u32 %r1, %laneid.x;", "expected ',' before '.x'"},
    {"mov.u32 %r1, %r2.x;", "expected ',' before '.x'"},
    {"mov.u32 %r1, 1 / 0;", "constant expression has no value"},
    {"mov.u32 %r1, 0f123;", "bad number: '0f123'"},
    {"mov.u32 %r1, 99999999999999999999;", "bad number: '99999999999999999999'"},
    {"mov.u32 %r1, 089;", "bad number: '089'"},
    {"mov.u32 %r1, 12abc;", "bad number: '12abc'"},
    {"mov.u64 %rd1, {};", "empty vector"},
    {"bra nowhere;", "unknown label 'nowhere'"},
    {"bra %r1;", "unknown label '%r1'"},
    {"@%r1 ret;", "'%r1' is no predicate register"},
    {"call nofunc;", "unknown name 'nofunc'"},
    {"call %rd1, (pa);", "indirect call without a prototype"},
    {"ld.u32 %r1, [callee];", "not an address"},
    {"add.s32 %r1, %r2, %r3", "expected ',' or ';' before 'done'"},
    {".reg .b32 %r3;", "'%r3' is declared twice"},
    {".reg .b99 x;", "unexpected '.b99' in a declaration"},
    {".reg .f16 8x;", "bad number: '8x'"},
    {".shared .u32 s[];", "'s' has no size"},
    {".shared .u32 s = 1;", "initialiser of a .shared variable"},
    {".maxntid 5;", "expected a statement before '.maxntid'"},
    {"\"text\";", "expected a statement before 'text'"},
    {"`;", "unexpected character: '`'"},
};

Test(forms, refused)
{
    for (size_t i = 0; i < COUNT(refused); i++) {
        char *text = frame_text(refused[i].source);
        struct ptx_module *module = NULL;
        struct ptx_diagnostics diagnostics;
        int r = ptx_parse(text, strlen(text), "test", &module, &diagnostics);
        cr_expect(r == -1 && module == NULL, "'%s' was accepted", refused[i].source);
        if (r == -1) {
            cr_expect_str_eq(diagnostics.items[0].message, refused[i].message, "'%s': '%s'",
                             refused[i].source, diagnostics.items[0].message);
        }
        ptx_module_destroy(module);
        free(text);
    }
}

static bool is_vector_sreg(const char *name)
{
    static const char *const vectors[] = {"tid",           "ntid",          "ctaid",
                                          "nctaid",        "clusterid",     "nclusterid",
                                          "cluster_ctaid", "cluster_nctaid"};
    for (size_t i = 0; i < COUNT(vectors); i++) {
        if (strcmp(vectors[i], name) == 0) {
            return true;
        }
    }
    return false;
}

// Every special register, alone and with each of its components.
Test(forms, special_registers)
{
    for (unsigned i = PTX_SREG_INVALID + 1; i < PTX_SREG_COUNT; i++) {
        const char *type = ptx_type_name(ptx_sreg_type((enum ptx_sreg)i));
        char code[100];
        for (unsigned c = 0; c < 5; c++) {
            const char *suffix = c < 4 ? (const char *[]){".x", ".y", ".z", ".w"}[c] : "";
            snprintf(code, sizeof(code), "mov.%s x, %%%s%s;", type, ptx_sreg_name((enum ptx_sreg)i),
                     suffix);
            char declared[160];
            snprintf(declared, sizeof(declared), ".reg .%s x; %s", type, code);
            char *text = frame_text(declared);
            struct ptx_module *module = NULL;
            struct ptx_diagnostics diagnostics;
            bool vector = is_vector_sreg(ptx_sreg_name((enum ptx_sreg)i));
            int r = ptx_parse(text, strlen(text), "test", &module, &diagnostics);
            if (c == 4 || vector) {
                cr_expect(r == 0, "%s: %s", code, diagnostics.items[0].message);
            } else {
                cr_expect(r == -1, "%s", code);
            }
            if (r == 0) {
                const struct ptx_operand *operand = &first_instruction(module)->operands[1];
                cr_expect(operand->kind == PTX_OPERAND_SREG && operand->sreg == i);
                cr_expect_eq(operand->component, c < 4 ? c : vector ? PTX_COMPONENT_ALL : 0);
            }
            ptx_module_destroy(module);
            free(text);
        }
    }
}
