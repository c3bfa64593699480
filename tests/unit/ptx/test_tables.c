// SPDX-License-Identifier: Apache-2.0
//
// The .def tables agree with each other: every word of a form is known, every modifier is used,
// names are unique and lead back to their number, sizes of types.
#include "ptx_test.h"

TestSuite(tables, .timeout = 30);

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct form {
    const char *name, *modifiers, *operands;
};

#define PTX_FLAG_TERMINATOR 0
#define F(modifiers, operands) {NULL, modifiers, operands},
#define PTX_OP(id, text, flags, ...) {text, NULL, NULL}, __VA_ARGS__
static const struct form forms[] = {
#include "ptx_ops.def"
};
#undef PTX_OP
#undef F

static unsigned uses[PTX_MOD_COUNT];

static bool is_one_of(const char *word, const char *const *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(word, list[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_type(const char *word)
{
    for (unsigned i = PTX_TYPE_NONE + 1; i <= PTX_UE4M3; i++) {
        if (strcmp(word, ptx_type_name((enum ptx_type)i)) == 0) {
            return true;
        }
    }
    return false;
}

static void check_word(const char *word, const char *modifiers)
{
    static const char *const others[] = {
        "const",  "global", "local", "param", "param::entry", "param::func",
        "shared", "v2",     "v4",    "v8",    "shared::cta",  "shared::cluster",
    };
    for (unsigned i = PTX_MOD_INVALID + 1; i < PTX_MOD_COUNT; i++) {
        if (strcmp(word, ptx_modifier_name((enum ptx_modifier)i)) == 0) {
            uses[i]++;
            return;
        }
    }
    cr_expect(is_type(word) || is_one_of(word, others, COUNT(others)), "'%s' in '%s'", word,
              modifiers);
}

Test(tables, words_of_forms)
{
    for (size_t i = 0; i < COUNT(forms); i++) {
        if (forms[i].modifiers == NULL) {
            continue;
        }
        char *copy = strdup(forms[i].modifiers), *save = NULL;
        for (char *word = strtok_r(copy, " []{}|", &save); word != NULL;
             word = strtok_r(NULL, " []{}|", &save)) {
            check_word(word, forms[i].modifiers);
        }
        free(copy);
        cr_expect(strspn(forms[i].operands, "rRqapAmtl?*") == strlen(forms[i].operands), "%s",
                  forms[i].operands);
        cr_expect_leq(strlen(forms[i].operands), PTX_MAX_OPERANDS + 6);
    }
    for (unsigned i = PTX_MOD_INVALID + 1; i < PTX_MOD_COUNT; i++) {
        const char *name = ptx_modifier_name((enum ptx_modifier)i);
        cr_expect(uses[i] > 0 || strcmp(name, "unified") == 0, "unused modifier '%s'", name);
    }
}

// No name twice, and none empty.
static void check_names(const char *(*name)(unsigned), unsigned from, unsigned to)
{
    for (unsigned i = from; i < to; i++) {
        cr_expect(name(i) != NULL && name(i)[0] != '\0' && name(i)[0] != '?', "%u", i);
        for (unsigned j = from; j < i; j++) {
            cr_expect(strcmp(name(i), name(j)) != 0, "'%s' twice", name(i));
        }
    }
}

static const char *opcode(unsigned i)
{
    return ptx_opcode_name((enum ptx_opcode)i);
}

static const char *modifier(unsigned i)
{
    return ptx_modifier_name((enum ptx_modifier)i);
}

static const char *sreg(unsigned i)
{
    return ptx_sreg_name((enum ptx_sreg)i);
}

static const char *type(unsigned i)
{
    return ptx_type_name((enum ptx_type)i);
}

Test(tables, names)
{
    check_names(opcode, PTX_OP_INVALID + 1, PTX_OP_COUNT);
    check_names(modifier, PTX_MOD_INVALID + 1, PTX_MOD_COUNT);
    check_names(sreg, PTX_SREG_INVALID + 1, PTX_SREG_COUNT);
    check_names(type, PTX_TYPE_NONE + 1, PTX_UE4M3 + 1);
    cr_expect_str_eq(ptx_opcode_name(PTX_OP_INVALID), "?");
    cr_expect_str_eq(ptx_modifier_name((enum ptx_modifier)PTX_MOD_COUNT), "?");
    cr_expect_str_eq(ptx_sreg_name((enum ptx_sreg)PTX_SREG_COUNT), "?");
    cr_expect_eq(PTX_SREG_envreg31, PTX_SREG_envreg0 + 31);
    cr_expect_eq(PTX_SREG_pm7_64, PTX_SREG_pm0_64 + 7);
}

Test(tables, type_sizes)
{
    static const struct {
        enum ptx_type type;
        unsigned size;
    } rows[] = {
        {PTX_S8, 1},    {PTX_U16, 2},    {PTX_B32, 4},       {PTX_F64, 8},   {PTX_B128, 16},
        {PTX_F16X2, 4}, {PTX_BF16, 2},   {PTX_E4M3X2, 2},    {PTX_PRED, 0},  {PTX_B1, 0},
        {PTX_S4, 0},    {PTX_TEXREF, 0}, {PTX_TYPE_NONE, 0}, {PTX_F32X2, 8},
    };
    for (size_t i = 0; i < COUNT(rows); i++) {
        cr_expect_eq(ptx_type_size(rows[i].type), rows[i].size, "%s", ptx_type_name(rows[i].type));
    }
    cr_expect_eq(ptx_type_size((enum ptx_type)1000), 0);
}
