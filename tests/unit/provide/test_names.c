// SPDX-License-Identifier: Apache-2.0
//
// Which kernels the name in a provider means, and what is read in PTX.
#include <stdlib.h>
#include <string.h>

#include <criterion/criterion.h>

#include "shim/provide/provider.h"
#include "shim/provide/ptx_scan.h"

Test(names, qualified)
{
    static const struct {
        const char *name, *mangled;
        bool matches;
    } rows[] = {
        {"_Z3addPf", "_Z3addPf", true},
        {"add", "_Z3addPf", true},
        {"add", "add", true},
        {"ad", "_Z3addPf", false},
        {"addPf", "_Z3addPf", false},
        {"scale", "_Z5scaleIfEvPT_S0_i", true},
        {"ns::fails", "_ZN2ns5failsEv", true},
        {"ns::inner::k", "_ZN2ns5inner1kIiLi3EEEvPT_", true},
        {"ns::Box::k", "_ZN2ns3BoxIfLb1EE1kIdEEvT_", true},
        {"ns::Box::k", "_ZN2ns3BoxINS_5OtherIiEELNS_1EE2EE1kEv", true},
        {"(anonymous namespace)::k",
         "_ZN55_GLOBAL__N__0123456789012345678901234567890123456789012"
         "341kEv",
         false}, // a length that is wrong
        {"(anonymous namespace)::k", "_ZN12_GLOBAL__N_11kEv", true},
        {"k", "_ZL1kPi", true},
        {"k", "_Z9k", false},
        {"k", "_Z", false},
        {"k", "_ZN1k", false},
        {"k", "_Z1kI", false},
        {"", "_Z99999999999999999999k", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cr_assert(irt_provider_matches(rows[i].name, rows[i].mangled) == rows[i].matches, "%s: %s",
                  rows[i].name, rows[i].mangled);
    }
}

Test(ptx, kernels_and_variables)
{
    static const char text[] =
        ".version 8.0\n.target sm_90\n"
        ".extern .shared .align 16 .b8 dynamic[];\n"
        ".extern .global .u32 elsewhere;\n"
        ".extern .func (.param .b32 r) f(.param .b32 a);\n"
        ".visible .global .align 16 .b8 blob[5];\n"
        ".global .attribute(.managed) .u32 shared_value = 5;\n"
        ".const .v2 .f32 pair = {0f3F800000, 0f40000000};\n"
        ".func g() { .reg .u32 r; { ret; } }\n"
        ".visible .entry a(.param .u8 p0, .param .align 16 .b8 p1[24], .param .u64 p2)\n"
        ".reqntid 8, 4\n.minnctapersm 1\n{ { } ret; }\n"
        ".entry b\n{ ret; }\n";
    struct irt_ptx_contents c = {0};
    cr_assert(irt_ptx_scan(text, &c));
    cr_assert(c.kernel_count == 2 && c.variable_count == 3);
    const struct irt_ptx_kernel *a = &c.kernels[0];
    cr_assert(strcmp(a->name, "a") == 0 && a->parameter_count == 3);
    cr_assert(a->parameters[1].offset == 16 && a->parameters[1].size == 24);
    cr_assert(a->parameters[2].offset == 40);
    cr_assert(a->required_block[0] == 8 && a->required_block[1] == 4 && !a->required_block[2]);
    cr_assert(c.kernels[1].parameter_count == 0 && !c.kernels[1].required_block[0]);
    cr_assert(c.variables[0].size == 5 && c.variables[0].align == 16 && c.variables[0].known);
    cr_assert(c.variables[1].managed);
    float pair[2];
    cr_assert(c.variables[2].size == 8 && c.variables[2].known);
    memcpy(pair, c.variables[2].value, 8);
    cr_assert(pair[0] == 1 && pair[1] == 2);
    irt_ptx_free(&c);
}

// Every prefix of a text is read without a fault.
Test(ptx, cut_off)
{
    static const char text[] =
        ".global .align 4 .b32 n[3] = {1, -2};\n/* c */ .visible .entry "
        "k(.param .align 8 .b8 p[16], .param .u64 q)\n.maxntid 4, 4, 4\n{}\n";
    for (size_t n = 0; n < sizeof text; n++) {
        struct irt_ptx_contents c = {0};
        char *copy = strndup(text, n);
        irt_ptx_scan(copy, &c);
        irt_ptx_free(&c);
        free(copy);
    }
}
