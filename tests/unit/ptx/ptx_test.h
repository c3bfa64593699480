// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the PTX front end's tests: texts made of a fixed frame around snippets, parsing with a
// readable failure, printing into memory. Header only; each test program includes it once.
#pragma once

#include "ptx.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define HEADER ".version 8.0\n.target sm_80\n.address_size 64\n"

// Names that the snippets may use. The body starts on line FRAME_LINES + 1.
#define FRAME                                                       \
    HEADER ".visible .global .align 4 .u32 gvar[16];\n"             \
           ".const .align 4 .f32 cvar[4] = {1.0, 2.0, 3.0, 4.0};\n" \
           ".extern .shared .align 16 .b8 dyn[];\n"                 \
           ".global .texref tex0;\n"                                \
           ".extern .func (.param .b32 ret) callee (.param .b64 a, .param .b64 b);\n"
#define BODY                                                                                    \
    ".visible .entry k(.param .u64 p0, .param .align 8 .b8 p1[24])\n{\n"                        \
    ".reg .pred %p<9>; .reg .b16 %rs<40>; .reg .b32 %r<40>; .reg .b64 %rd<40>;\n"               \
    ".reg .b128 %rq<9>; .reg .v4 .f32 vec; .reg .f32 %f<9>; .reg .f64 %fd<9>;\n"                \
    ".local .align 8 .b8 depot[64]; .shared .f32 sh[32]; .param .b64 pa, pb; .param .b32 rv;\n" \
    "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .b64 _);\n"
enum { FRAME_LINES = 14 };

// Parses; fails the test with the first message when that does not work.
static inline struct ptx_module *parse_text(const char *text, const char *what)
{
    struct ptx_module *module = NULL;
    struct ptx_diagnostics diagnostics;
    int r = ptx_parse(text, strlen(text), "test", &module, &diagnostics);
    cr_assert(r == 0, "%s: line %u: %s: %s", what, diagnostics.items[0].line,
              diagnostics.items[0].message, diagnostics.items[0].text);
    return module;
}

// The frame with `code` as its body. Caller frees.
static inline char *frame_text(const char *code)
{
    char *text = NULL;
    size_t size = strlen(FRAME) + strlen(BODY) + strlen(code) + 32;
    text = malloc(size);
    cr_assert(text != NULL);
    snprintf(text, size, "%s%s%s\ndone:\nret;\n}\n", FRAME, BODY, code);
    return text;
}

static inline char *print_text(const struct ptx_module *module)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    cr_assert(file != NULL);
    ptx_print(file, module);
    fclose(file);
    return text;
}

// First instruction of function k.
static inline const struct ptx_instruction *first_instruction(const struct ptx_module *module)
{
    const struct ptx_function *function = ptx_find_function(module, "k");
    cr_assert(function != NULL);
    for (const struct ptx_statement *at = function->body; at != NULL; at = at->next) {
        if (at->kind == PTX_STMT_INSTRUCTION) {
            return at->instruction;
        }
    }
    cr_assert_fail("no instruction");
    return NULL;
}
