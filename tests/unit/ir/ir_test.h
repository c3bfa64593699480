// SPDX-License-Identifier: Apache-2.0
//
// Helpers of the ir tests: PTX text -> program -> unit, printed form as a string. A body is wrapped
// into a kernel with registers of every kind and a few parameters.
#pragma once

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cpu/ir/ir.h"

struct built {
    struct ptx_module *modules[4];
    struct ir_program *program;
    struct ir_unit *unit;
    struct ir_error error;
};

static inline struct ptx_module *parse(const char *text)
{
    struct ptx_diagnostics diagnostics = {0};
    struct ptx_module *module = NULL;
    if (ptx_parse(text, strlen(text), "test", &module, &diagnostics) != 0) {
        cr_assert_fail("line %u: %s: %s", diagnostics.items[0].line, diagnostics.items[0].message,
                       diagnostics.items[0].text);
    }
    return module;
}

static inline char *kernel_text(const char *before, const char *body)
{
    char *text = NULL;
    cr_assert(asprintf(&text,
                       ".version 8.8\n.target sm_100a\n.address_size 64\n%s\n"
                       ".visible .entry k(.param .u64 p, .param .u32 n, .param .align 8 .b8 s[24])"
                       "\n{\n.reg .pred %%p<10>;\n.reg .b16 %%h<10>;\n.reg .b32 %%r<20>;\n"
                       ".reg .f32 %%f<10>;\n.reg .f64 %%d<10>;\n.reg .b64 %%rd<10>;\n"
                       ".reg .b128 %%q<4>;\n%s\n}\n",
                       before, body) > 0);
    return text;
}

static inline struct built build_texts(const char *const *texts, size_t count, const char *kernel)
{
    struct built built = {0};
    for (size_t i = 0; i < count; i++) {
        built.modules[i] = parse(texts[i]);
    }
    if (ir_program_create((const struct ptx_module *const *)built.modules, count, &built.program,
                          &built.error) == 0 &&
        kernel != NULL) {
        uint32_t entry = ir_program_find_function(built.program, kernel);
        cr_assert_neq(entry, UINT32_MAX);
        if (ir_unit_create(built.program, entry, &built.unit, &built.error) == 0) {
            struct ir_error error;
            cr_assert_eq(ir_verify(built.unit, &error), 0, "%s", error.message);
        }
    }
    return built;
}

static inline struct built build_kernel(const char *before, const char *body)
{
    char *text = kernel_text(before, body); // kept: the module borrows it
    return build_texts((const char *const[]){text}, 1, "k");
}

static inline void drop(struct built *built)
{
    ir_unit_destroy(built->unit);
    ir_program_destroy(built->program);
    for (unsigned i = 0; i < 4; i++) {
        if (built->modules[i] != NULL) {
            ptx_module_destroy(built->modules[i]);
        }
    }
}

static inline char *printed(const struct built *built)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);
    cr_assert_not_null(file);
    cr_assert_not_null(built->unit, "%u: %s: %s", built->error.line, built->error.message,
                       built->error.text);
    ir_print(file, built->unit);
    fclose(file);
    return text;
}

// Number of operations of a kind in a function of the unit.
static inline unsigned count_ops(const struct ir_function *fn, enum ir_op op)
{
    unsigned count = 0;
    for (const struct ir_block *block = fn->blocks; block != NULL; block = block->next) {
        for (const struct ir_inst *inst = block->first; inst != NULL; inst = inst->next) {
            count += inst->op == op;
        }
    }
    return count;
}
