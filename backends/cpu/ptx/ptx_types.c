// SPDX-License-Identifier: Apache-2.0
//
// The tables behind the words of PTX: opcodes with their forms, modifiers, types, state spaces and
// special registers, and look-up in both directions. Only data and searches; ptx_forms.c interprets
// the forms. Searches are linear or binary over constant tables: no state, any thread.
#include "ptx_internal.h"

#include <stdlib.h>
#include <string.h>

#define F(modifiers, operands) {modifiers, operands},
#define PTX_OP(id, text, flags, ...) static const struct ptx_form forms_##id[] = {__VA_ARGS__};
#include "ptx_ops.def"
#undef PTX_OP
#undef F

static const struct ptx_op_row op_rows[PTX_OP_COUNT] = {
#define PTX_OP(id, text, flags, ...) \
    [PTX_OP_##id] = {(text), (flags), forms_##id, sizeof(forms_##id) / sizeof(forms_##id[0])},
#include "ptx_ops.def"
#undef PTX_OP
};

static const char *const modifier_names[PTX_MOD_COUNT] = {
#define PTX_MOD(id, text) [PTX_MOD_##id] = (text),
#include "ptx_mods.def"
#undef PTX_MOD
};

static const struct {
    const char *name;
    enum ptx_type type;
    uint8_t components;
} sreg_rows[PTX_SREG_COUNT] = {
#define PTX_SREG(id, text, type, components) [PTX_SREG_##id] = {text, type, components},
#include "ptx_sregs.def"
#undef PTX_SREG
};

static const struct {
    const char *name;
    uint8_t size;
} type_rows[] = {
    [PTX_TYPE_NONE] = {"", 0},      [PTX_S8] = {"s8", 1},
    [PTX_S16] = {"s16", 2},         [PTX_S32] = {"s32", 4},
    [PTX_S64] = {"s64", 8},         [PTX_U8] = {"u8", 1},
    [PTX_U16] = {"u16", 2},         [PTX_U32] = {"u32", 4},
    [PTX_U64] = {"u64", 8},         [PTX_B8] = {"b8", 1},
    [PTX_B16] = {"b16", 2},         [PTX_B32] = {"b32", 4},
    [PTX_B64] = {"b64", 8},         [PTX_B128] = {"b128", 16},
    [PTX_B1] = {"b1", 0},           [PTX_F16] = {"f16", 2},
    [PTX_F16X2] = {"f16x2", 4},     [PTX_BF16] = {"bf16", 2},
    [PTX_BF16X2] = {"bf16x2", 4},   [PTX_F32] = {"f32", 4},
    [PTX_F64] = {"f64", 8},         [PTX_F32X2] = {"f32x2", 8},
    [PTX_TF32] = {"tf32", 4},       [PTX_E4M3] = {"e4m3", 1},
    [PTX_E5M2] = {"e5m2", 1},       [PTX_E4M3X2] = {"e4m3x2", 2},
    [PTX_E5M2X2] = {"e5m2x2", 2},   [PTX_E2M1X2] = {"e2m1x2", 1},
    [PTX_E2M3X2] = {"e2m3x2", 2},   [PTX_E3M2X2] = {"e3m2x2", 2},
    [PTX_UE8M0X2] = {"ue8m0x2", 2}, [PTX_PRED] = {"pred", 0},
    [PTX_S4] = {"s4", 0},           [PTX_U4] = {"u4", 0},
    [PTX_S16X2] = {"s16x2", 4},     [PTX_U16X2] = {"u16x2", 4},
    [PTX_U8X4] = {"u8x4", 4},       [PTX_S8X4] = {"s8x4", 4},
    [PTX_TEXREF] = {"texref", 0},   [PTX_SAMPLERREF] = {"samplerref", 0},
    [PTX_SURFREF] = {"surfref", 0}, [PTX_S2] = {"s2", 0},
    [PTX_U2] = {"u2", 0},           [PTX_E4M3X4] = {"e4m3x4", 4},
    [PTX_E5M2X4] = {"e5m2x4", 4},   [PTX_E2M1X4] = {"e2m1x4", 2},
    [PTX_E2M3X4] = {"e2m3x4", 4},   [PTX_E3M2X4] = {"e3m2x4", 4},
    [PTX_E2M1] = {"e2m1", 0},       [PTX_E2M3] = {"e2m3", 0},
    [PTX_E3M2] = {"e3m2", 0},       [PTX_UE8M0] = {"ue8m0", 1},
    [PTX_UE4M3] = {"ue4m3", 1},
};

static const char *const space_names[] = {
    [PTX_SPACE_NONE] = "",
    [PTX_SPACE_REG] = "reg",
    [PTX_SPACE_SREG] = "sreg",
    [PTX_SPACE_CONST] = "const",
    [PTX_SPACE_GLOBAL] = "global",
    [PTX_SPACE_LOCAL] = "local",
    [PTX_SPACE_PARAM] = "param",
    [PTX_SPACE_PARAM_ENTRY] = "param::entry",
    [PTX_SPACE_PARAM_FUNC] = "param::func",
    [PTX_SPACE_SHARED] = "shared",
    [PTX_SPACE_SHARED_CTA] = "shared::cta",
    [PTX_SPACE_SHARED_CLUSTER] = "shared::cluster",
    [PTX_SPACE_TEX] = "tex",
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static bool same(const char *name, const char *word, size_t size)
{
    return name != NULL && strncmp(name, word, size) == 0 && name[size] == '\0';
}

const struct ptx_op_row *ptx_op_row(enum ptx_opcode opcode)
{
    return &op_rows[opcode];
}

const char *ptx_opcode_name(enum ptx_opcode opcode)
{
    bool valid = opcode > PTX_OP_INVALID && opcode < PTX_OP_COUNT;
    return valid ? op_rows[opcode].name : "?";
}

const char *ptx_modifier_name(enum ptx_modifier modifier)
{
    bool valid = modifier > PTX_MOD_INVALID && modifier < PTX_MOD_COUNT;
    return valid ? modifier_names[modifier] : "?";
}

const char *ptx_sreg_name(enum ptx_sreg sreg)
{
    bool valid = sreg > PTX_SREG_INVALID && sreg < PTX_SREG_COUNT;
    return valid ? sreg_rows[sreg].name : "?";
}

enum ptx_type ptx_sreg_type(enum ptx_sreg sreg)
{
    bool valid = sreg > PTX_SREG_INVALID && sreg < PTX_SREG_COUNT;
    return valid ? sreg_rows[sreg].type : PTX_TYPE_NONE;
}

unsigned ptx_sreg_components(enum ptx_sreg sreg)
{
    bool valid = sreg > PTX_SREG_INVALID && sreg < PTX_SREG_COUNT;
    return valid ? sreg_rows[sreg].components : 0;
}

unsigned ptx_type_size(enum ptx_type type)
{
    return (size_t)type < COUNT(type_rows) ? type_rows[type].size : 0;
}

const char *ptx_type_name(enum ptx_type type)
{
    return (size_t)type < COUNT(type_rows) ? type_rows[type].name : "?";
}

const char *ptx_space_name(enum ptx_space space)
{
    return (size_t)space < COUNT(space_names) ? space_names[space] : "?";
}

enum ptx_opcode ptx_opcode_find(const char *word, size_t size)
{
    for (unsigned i = PTX_OP_INVALID + 1; i < PTX_OP_COUNT; i++) {
        if (same(op_rows[i].name, word, size)) {
            return (enum ptx_opcode)i;
        }
    }
    return PTX_OP_INVALID;
}

enum ptx_modifier ptx_modifier_find(const char *word, size_t size)
{
    for (unsigned i = PTX_MOD_INVALID + 1; i < PTX_MOD_COUNT; i++) {
        if (same(modifier_names[i], word, size)) {
            return (enum ptx_modifier)i;
        }
    }
    return PTX_MOD_INVALID;
}

enum ptx_type ptx_type_find(const char *word, size_t size)
{
    for (unsigned i = PTX_TYPE_NONE + 1; i < COUNT(type_rows); i++) {
        if (same(type_rows[i].name, word, size)) {
            return (enum ptx_type)i;
        }
    }
    return PTX_TYPE_NONE;
}

enum ptx_space ptx_space_find(const char *word, size_t size)
{
    for (unsigned i = PTX_SPACE_NONE + 1; i < COUNT(space_names); i++) {
        if (same(space_names[i], word, size)) {
            return (enum ptx_space)i;
        }
    }
    return PTX_SPACE_NONE;
}

unsigned ptx_vector_find(const char *word, size_t size)
{
    bool vector = size == 2 && word[0] == 'v';
    return vector && (word[1] == '2' || word[1] == '4' || word[1] == '8') ? word[1] - '0' : 0;
}

enum ptx_sreg ptx_sreg_find(const char *word, size_t size)
{
    for (unsigned i = PTX_SREG_INVALID + 1; i < PTX_SREG_COUNT; i++) {
        if (same(sreg_rows[i].name, word, size)) {
            return (enum ptx_sreg)i;
        }
    }
    return PTX_SREG_INVALID;
}
