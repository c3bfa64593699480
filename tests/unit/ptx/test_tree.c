// SPDX-License-Identifier: Apache-2.0
//
// What the syntax tree says: scopes and shadowed names, register ranges, variables with their
// sizes and initialisers, functions and their merging, prototypes, labels, positions, names that
// clash when printed.
#include "ptx_test.h"

TestSuite(tree, .timeout = 30);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct ptx_module *parse_body(const char *code)
{
    char *text = malloc(strlen(code) + 200);
    sprintf(text, HEADER ".global .u32 g;\n.entry k(.param .u64 p)\n{\n%s\n}\n", code);
    struct ptx_module *module = parse_text(text, code);
    // The tree borrows nothing of the text but module->text.
    memset(text, 'x', strlen(text));
    free(text);
    return module;
}

// n-th instruction of k, from 0.
static const struct ptx_instruction *instruction(const struct ptx_module *module, unsigned n)
{
    const struct ptx_statement *at = ptx_find_function(module, "k")->body;
    for (; at != NULL; at = at->next) {
        if (at->kind == PTX_STMT_INSTRUCTION && n-- == 0) {
            return at->instruction;
        }
    }
    cr_assert_fail("too few instructions");
    return NULL;
}

Test(tree, scopes)
{
    struct ptx_module *module =
        parse_body(".reg .b32 a, %r<9>;\n"
                   "mov.b32 a, 0; mov.b32 %r1, 0;\n"
                   "{ .reg .b64 a; .reg .f32 %r<3>; mov.b64 a, 0;\n"
                   "  mov.f32 %r1, 0f00000000; mov.b32 %r5, 0;\n"
                   "  { .reg .b16 %r1; mov.b16 %r1, 0; } }\n"
                   "mov.b32 a, 1; mov.b32 %r1, 1;\n"
                   "{ .reg .u32 g; mov.u32 g, 0; } { ld.global.u32 a, [g]; mov.b32 %r5, a; }");
    static const enum ptx_type types[] = {PTX_B32, PTX_B32, PTX_B64, PTX_F32, PTX_B32,
                                          PTX_B16, PTX_B32, PTX_B32, PTX_U32};
    for (unsigned i = 0; i < COUNT(types); i++) {
        cr_expect_eq(instruction(module, i)->operands[0].symbol->type, types[i], "%u", i);
    }
    cr_expect_eq(instruction(module, 0)->operands[0].symbol,
                 instruction(module, 6)->operands[0].symbol);
    cr_expect_eq(instruction(module, 4)->operands[0].symbol,
                 instruction(module, 10)->operands[0].symbol);
    cr_expect_eq(instruction(module, 9)->operands[1].symbol->kind, PTX_SYMBOL_VARIABLE);
    ptx_module_destroy(module);
}

Test(tree, ranges_across)
{
    struct ptx_module *module = parse_body(
        ".reg .b32 q<12>, q1<5>; .reg .v2 .f32 %v<2>;\n"
        "mov.b32 q11, q3; mov.b32 q14, q0; mov.f32 %v1.y, 0f00000000; mov.b32 q11, q14;");
    const struct ptx_function *k = ptx_find_function(module, "k");
    cr_expect_eq(k->register_count, 5); // q11 q3 q14 q0 %v1: only what is used
    for (uint32_t i = 0; i < k->register_count; i++) {
        cr_expect_eq(k->registers[i]->index, i);
    }
    cr_expect_str_eq(k->registers[4]->name, "%v1");
    cr_expect_eq(k->registers[4]->vector, 2);
    cr_expect_eq(instruction(module, 0)->operands[0].symbol,
                 instruction(module, 3)->operands[0].symbol);
    cr_expect_eq(instruction(module, 2)->operands[0].component, 1);
    ptx_module_destroy(module);
}

// Labels: forward, hidden by an inner one, of an outer scope, the same name in two scopes.
Test(tree, labels)
{
    struct ptx_module *module =
        parse_body("bra A;\n{ bra A; A: bra B; }\nA: { A: ; } { bra A; }\nB:");
    const struct ptx_symbol *outer = instruction(module, 0)->operands[0].symbol;
    const struct ptx_symbol *inner = instruction(module, 1)->operands[0].symbol;
    cr_expect(outer != inner && outer->kind == PTX_SYMBOL_LABEL);
    cr_expect_eq(instruction(module, 3)->operands[0].symbol, outer);
    cr_expect_str_eq(instruction(module, 2)->operands[0].symbol->name, "B");
    cr_expect_eq(ptx_find_function(module, "k")->label_count, 4);
    cr_expect(outer->label->kind == PTX_STMT_LABEL && outer->label->label == outer);
    ptx_module_destroy(module);
}

Test(tree, instruction)
{
    struct ptx_module *module = parse_body(".reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;\n"
                                           "\t@!%p1 ld.global.nc.v2.u32 {%r1, %r2}, [%rd1+8];\n"
                                           "atom.relaxed.gpu.global.add.u32 %r1, [g], %r2;\n"
                                           "cp.async.cg.shared.global [%r1], [%rd1], 16;\n"
                                           "bar.red.popc.u32 %r1, 0, %p1;\nret;");
    const struct ptx_instruction *ld = instruction(module, 0);
    cr_expect(ld->opcode == PTX_OP_ld && ld->guard_negated && ld->vector == 2);
    cr_expect_str_eq(ld->guard->name, "%p1");
    cr_expect(ld->space == PTX_SPACE_GLOBAL && ld->space2 == PTX_SPACE_NONE);
    cr_expect(ld->type_count == 1 && ld->types[0] == PTX_U32 && ld->types[1] == PTX_TYPE_NONE);
    cr_expect(ld->modifier_count == 1 && ld->modifiers[0] == PTX_MOD_nc);
    cr_expect_eq(ld->operand_count, 2);
    cr_expect_eq(ld->operands[2].kind, PTX_OPERAND_NONE); // optional cache policy
    cr_expect_str_eq(ld->text, "ld.global.nc.v2.u32");
    const struct ptx_instruction *atom = instruction(module, 1);
    cr_expect(ptx_has(atom, PTX_MOD_relaxed) && ptx_has(atom, PTX_MOD_add));
    cr_expect(!ptx_has(atom, PTX_MOD_min));
    cr_expect_str_eq(atom->operands[1].symbol->name, "g");
    const struct ptx_instruction *cp = instruction(module, 2);
    cr_expect(cp->space == PTX_SPACE_SHARED && cp->space2 == PTX_SPACE_GLOBAL);
    cr_expect(ptx_has(cp, PTX_MOD_async) && ptx_has(cp, PTX_MOD_cg));
    const struct ptx_instruction *bar = instruction(module, 3);
    cr_expect_eq(bar->operand_count, 3);
    cr_expect_str_eq(bar->operands[2].symbol->name, "%p1");
    cr_expect_eq(instruction(module, 4)->operand_count, 0);
    const struct ptx_statement *first = ptx_find_function(module, "k")->body;
    cr_expect(first->line == 8 && first->column == 2);
    ptx_module_destroy(module);
}

Test(tree, calls)
{
    struct ptx_module *module = parse_text(
        HEADER ".func (.param .b32 r) f (.param .b64 a, .param .align 8 .b8 s[12]);\n"
               ".func h () .noreturn;\n"
               ".entry k()\n{ .reg .b64 %rd<4>; .reg .b32 %r<4>; .param .b32 x; .param .b64 y;\n"
               " .param .align 8 .b8 z[12]; mov.u64 %rd1, f;\n"
               " P: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 _[12]) "
               ".noreturn;\n"
               " T: .calltargets f;\n B: .branchtargets L1, L2;\n"
               " call.uni (x), f, (y, z);\n call h;\n call (x), %rd1, (y, z), P;\n"
               " call (x), %rd1, (y, z), T;\n L1: brx.idx %r1, B; L2: ret; }\n"
               ".func (.param .b32 r) f (.param .b64 a, .param .align 8 .b8 s[12]) { ret; }\n",
        "calls");
    const struct ptx_instruction *direct = instruction(module, 1);
    cr_expect(direct->operand_count == 4 && direct->operands[0].kind == PTX_OPERAND_LIST);
    cr_expect_eq(direct->operands[1].symbol->function, ptx_find_function(module, "f"));
    cr_expect_eq(direct->operands[2].count, 2);
    cr_expect_eq(direct->operands[3].kind, PTX_OPERAND_NONE);
    cr_expect(ptx_find_function(module, "f")->has_body);
    cr_expect_eq(ptx_find_function(module, "f")->return_count, 1);
    cr_expect(ptx_find_function(module, "h")->noreturn);
    const struct ptx_instruction *plain = instruction(module, 2);
    cr_expect(plain->operands[0].kind == PTX_OPERAND_NONE &&
              plain->operands[2].kind == PTX_OPERAND_NONE);
    const struct ptx_prototype *p = instruction(module, 3)->operands[3].symbol->prototype;
    cr_expect(p->kind == PTX_PROTO_CALL && p->noreturn && p->params->next->size == 12);
    const struct ptx_prototype *t = instruction(module, 4)->operands[3].symbol->prototype;
    cr_expect(t->kind == PTX_PROTO_CALLTARGETS && t->target_count == 1);
    cr_expect_str_eq(t->targets[0]->name, "f");
    const struct ptx_prototype *b = instruction(module, 5)->operands[1].symbol->prototype;
    cr_expect(b->kind == PTX_PROTO_BRANCHTARGETS && b->target_count == 2);
    cr_expect_str_eq(b->targets[1]->name, "L2");
    ptx_module_destroy(module);
}

// Declaration and what the variable then is.
static const struct {
    const char *text;
    uint64_t size;
    uint32_t align;
    size_t init_count;
    uint64_t offset, value; // of the first element
} variables[] = {
    {".global .u32 v;", 4, 4, 0, 0, 0},
    {".global .align 16 .b8 v[10];", 10, 16, 0, 0, 0},
    {".global .v4 .f32 v[3];", 48, 16, 0, 0, 0},
    {".const .f64 v = 2;", 8, 8, 1, 0, 0x4000000000000000},
    {".const .f32 v = 0d3FF0000000000000;", 4, 4, 1, 0, 0x3F800000},
    {".global .b32 v = 0f3F800000;", 4, 4, 1, 0, 0x3F800000},
    {".global .b64 v = 0.5;", 8, 8, 1, 0, 0x3FE0000000000000},
    {".global .s8 v[4] = {1, -1, 2};", 4, 1, 1, 0, 0x02FF01},
    {".global .u16 v[] = {0, 0, 7};", 6, 2, 1, 4, 7},
    {".global .u32 v[2][3] = {{1}, {0, 5}};", 24, 4, 2, 0, 1},
    {".global .u32 v[][2] = {{1, 2}, {3}};", 16, 4, 2, 0, 0x200000001},
    {".global .u32 v[2][2] = {0, 0, 0, 9};", 16, 4, 1, 12, 9},
    {".global .u32 v = {3};", 4, 4, 1, 0, 3},
    {".global .u8 v[12] = {1,2,3,4,5,6,7,8,9,10,11,12};", 12, 1, 2, 0, 0x0807060504030201},
    {".global .u64 v[2] = {a+4, a};", 16, 8, 2, 0, 4},
    {".global .b8 v[3] = {0, 0xFF00(a), 0xFF(generic(a)+8)};", 3, 1, 2, 1, 0},
    {".extern .shared .align 16 .b8 v[];", 0, 16, 0, 0, 0},
    {".extern .global .u32 v[4]; .visible .global .u32 v[4] = {1};", 16, 4, 1, 0, 1},
    {".global .texref v;", 8, 8, 0, 0, 0},
};

Test(tree, variables)
{
    for (size_t i = 0; i < COUNT(variables); i++) {
        char text[400];
        snprintf(text, sizeof(text), HEADER ".global .u32 a[4];\n%s\n", variables[i].text);
        struct ptx_module *module = parse_text(text, variables[i].text);
        const struct ptx_variable *v = ptx_find_variable(module, "v");
        cr_assert(v != NULL);
        cr_expect(v->size == variables[i].size && v->align == variables[i].align, "%s: %llu, %u",
                  variables[i].text, (unsigned long long)v->size, v->align);
        cr_expect(v->init_count == variables[i].init_count, "%s: %zu", variables[i].text,
                  v->init_count);
        if (v->init_count > 0) {
            cr_expect(v->init[0].offset == variables[i].offset &&
                          v->init[0].value == variables[i].value,
                      "%s: %llx at %llu", variables[i].text, (unsigned long long)v->init[0].value,
                      (unsigned long long)v->init[0].offset);
        }
        char *once = print_text(module);
        struct ptx_module *again = parse_text(once, once);
        const struct ptx_variable *w = ptx_find_variable(again, "v");
        cr_expect(w->size == v->size && w->align == v->align && w->init_count == v->init_count &&
                      w->linkage == v->linkage,
                  "%s", once);
        free(once);
        ptx_module_destroy(again);
        ptx_module_destroy(module);
    }
}

Test(tree, symbol_initialisers)
{
    struct ptx_module *module = parse_text(
        HEADER ".func f(); .global .u32 a[4]; .visible .global .attribute(.managed) .u32 m;\n"
               ".global .u64 v[3] = {generic(a)+4, f, 7};\n"
               ".global .b8 b[2] = {0xFF(a), 0xFF000000(a+1)};\n",
        "initialisers");
    const struct ptx_variable *v = ptx_find_variable(module, "v"),
                              *b = ptx_find_variable(module, "b");
    cr_expect(v->init[0].generic && v->init[0].symbol->variable == ptx_find_variable(module, "a"));
    cr_expect(v->init[1].symbol->kind == PTX_SYMBOL_FUNCTION && v->init[1].size == 8);
    cr_expect(v->init[2].symbol == NULL && v->init[2].value == 7 && v->init[2].offset == 16);
    cr_expect(b->init[0].masked && b->init[0].mask_shift == 0 && b->init[0].size == 1);
    cr_expect(b->init[1].masked && b->init[1].mask_shift == 3 && b->init[1].value == 1);
    cr_expect(ptx_find_variable(module, "m")->managed);
    cr_expect_eq(ptx_find_variable(module, "m")->linkage, PTX_LINK_VISIBLE);
    ptx_module_destroy(module);
}

Test(tree, functions)
{
    struct ptx_module *module = parse_text(
        HEADER ".visible .entry k(.param .align 16 .b8 s[32], .param .f64 d)\n"
               ".reqntid 8, 4, 2\n.maxnreg 32\n.minnctapersm 3\n.maxclusterrank 8\n"
               ".reqnctapercluster 2, 1\n.explicitcluster\n.pragma \"nounroll\";\n"
               "{ .loc 3 7 1\n ret; }\n"
               ".weak .func (.reg .b32 o) old (.reg .b32 i, .reg .pred p) { mov.b32 o, i; ret; }\n"
               ".func twin (); .func body () { ret; }\n.alias twin, body;\n",
        "functions");
    const struct ptx_function *k = ptx_find_function(module, "k");
    cr_expect(k->is_entry && k->linkage == PTX_LINK_VISIBLE && k->param_count == 2);
    cr_expect(k->reqntid[0] == 8 && k->reqntid[1] == 4 && k->reqntid[2] == 2 && k->maxntid[0] == 0);
    cr_expect(k->maxnreg == 32 && k->minnctapersm == 3 && k->maxclusterrank == 8);
    cr_expect(k->reqnctapercluster[0] == 2 && k->reqnctapercluster[2] == 1 && k->explicit_cluster);
    cr_expect(k->params->align == 16 && k->params->size == 32 && k->params->is_array);
    cr_expect(k->params->next->symbol->kind == PTX_SYMBOL_PARAMETER);
    cr_expect_eq(k->params->next->symbol->index, 1);
    cr_expect(k->body->loc->file == 3 && k->body->loc->line == 7);
    const struct ptx_function *old = ptx_find_function(module, "old");
    cr_expect(old->register_count == 3 && old->linkage == PTX_LINK_WEAK);
    cr_expect_eq(old->params->symbol->kind, PTX_SYMBOL_REGISTER);
    cr_expect_eq(old->params->symbol->variable, old->params);
    cr_expect_eq(old->body->instruction->operands[1].symbol, old->params->symbol);
    cr_expect_eq(ptx_find_function(module, "twin")->alias, ptx_find_function(module, "body"));
    ptx_module_destroy(module);
}

// Flat bodies need other names where scopes had the same.
Test(tree, print_renames)
{
    struct ptx_module *module = parse_body(
        ".reg .b32 a; { .reg .b64 a; mov.b64 a, 0; { .reg .b16 a; mov.b16 a, 0; } }\n"
        "{ .reg .u32 g; mov.u32 g, 1; L: bra L; } L: mov.u32 a, 2; bra L;\n"
        "{ .param .b32 x; st.param.b32 [x], a; } { .param .b32 x; st.param.b32 [x], a; }");
    char *text = print_text(module);
    struct ptx_module *again = parse_text(text, text);
    static const enum ptx_type types[] = {PTX_B64, PTX_B16, PTX_U32};
    for (unsigned i = 0; i < COUNT(types); i++) {
        cr_expect_eq(instruction(again, i)->operands[0].symbol->type, types[i]);
    }
    cr_expect_neq(instruction(again, 3)->operands[0].symbol,
                  instruction(again, 5)->operands[0].symbol);
    cr_expect_neq(instruction(again, 6)->operands[0].symbol,
                  instruction(again, 7)->operands[0].symbol);
    free(text);
    ptx_module_destroy(again);
    ptx_module_destroy(module);
}
