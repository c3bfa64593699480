// SPDX-License-Identifier: Apache-2.0
//
// The table that exec/ reaches the compiler through (engine.h): parses and links PTX, lists
// functions and variables, fills variables, compiles entries. The only exported symbol of the
// compiler's module.
#include "engine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../ir/ir.h"
#include "../ptx/ptx.h"
#include "sampler.h"

struct jit_program {
    char **texts, **names;
    struct ptx_module **modules;
    size_t count;
    struct ir_program *ir;
    struct jit_function *functions;
    struct jit_variable *variables;
};

static struct jit_program *program_destroy(struct jit_program *p)
{
    if (p == NULL) {
        return NULL;
    }
    if (p->ir != NULL) {
        for (uint32_t i = 0; p->functions != NULL && i < p->ir->function_count; i++) {
            free((void *)p->functions[i].params);
        }
        ir_program_destroy(p->ir);
    }
    for (size_t i = 0; i < p->count; i++) {
        if (p->modules != NULL) {
            ptx_module_destroy(p->modules[i]);
        }
        if (p->texts != NULL) {
            free(p->texts[i]);
        }
        if (p->names != NULL) {
            free(p->names[i]);
        }
    }
    free(p->functions);
    free(p->variables);
    free(p->modules);
    free(p->texts);
    free(p->names);
    free(p);
    return NULL;
}

static void ir_message(const struct jit_program *p, const struct ir_error *error, char *message,
                       size_t size)
{
    const char *name = error->unit < p->count ? p->names[error->unit] : "ptx";
    if (error->line != 0) {
        snprintf(message, size, "%s:%u: %s%s%s", name, error->line, error->message,
                 error->text[0] != '\0' ? ": " : "", error->text);
    } else {
        snprintf(message, size, "%s: %s", name, error->message);
    }
}

static int parse(struct jit_program *p, const struct jit_source *sources, char *message,
                 size_t size)
{
    for (size_t i = 0; i < p->count; i++) {
        p->texts[i] = malloc(sources[i].size + 1);
        p->names[i] = strdup(sources[i].name != NULL ? sources[i].name : "ptx");
        if (p->texts[i] == NULL || p->names[i] == NULL) {
            snprintf(message, size, "out of memory");
            return -1;
        }
        memcpy(p->texts[i], sources[i].text, sources[i].size);
        p->texts[i][sources[i].size] = '\0';
        struct ptx_diagnostics *d = calloc(1, sizeof(*d));
        if (d == NULL ||
            ptx_parse(p->texts[i], sources[i].size, p->names[i], &p->modules[i], d) != 0) {
            if (d != NULL && d->count > 0) {
                snprintf(message, size, "%s:%u:%u: %s: %s", p->names[i], d->items[0].line,
                         d->items[0].column, d->items[0].message, d->items[0].text);
            } else {
                snprintf(message, size, "%s: cannot be parsed", p->names[i]);
            }
            free(d);
            return -1;
        }
        free(d);
    }
    return 0;
}

static int list_functions(struct jit_program *p)
{
    p->functions = calloc(p->ir->function_count + 1u, sizeof(*p->functions));
    if (p->functions == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < p->ir->function_count; i++) {
        const struct ptx_function *f = p->ir->functions[i].ptx;
        struct jit_function *out = &p->functions[i];
        out->name = p->ir->functions[i].name;
        out->is_entry = f->is_entry && f->has_body;
        out->target = p->ir->modules[p->ir->functions[i].unit]->sm;
        out->address = IR_FUNCTION_ADDRESS(i);
        memcpy(out->maxntid, f->maxntid, sizeof(out->maxntid));
        memcpy(out->reqntid, f->reqntid, sizeof(out->reqntid));
        memcpy(out->cluster, f->reqnctapercluster, sizeof(out->cluster));
        out->max_cluster_rank = f->maxclusterrank;
        out->explicit_cluster = f->explicit_cluster;
        if (!out->is_entry) {
            continue;
        }
        struct ir_param *params = NULL;
        if (ir_entry_params(p->ir, i, &params, &out->param_count, &out->params_size) != 0) {
            return -1;
        }
        struct jit_param *copy = calloc(out->param_count + 1u, sizeof(*copy));
        for (uint32_t k = 0; copy != NULL && k < out->param_count; k++) {
            copy[k] = (struct jit_param){params[k].offset, params[k].size, params[k].align};
        }
        out->params = copy;
        free(params);
        if (copy == NULL) {
            return -1;
        }
    }
    return 0;
}

static int list_variables(struct jit_program *p)
{
    p->variables = calloc(p->ir->variable_count + 1u, sizeof(*p->variables));
    if (p->variables == NULL) {
        return -1;
    }
    for (uint32_t i = 0; i < p->ir->variable_count; i++) {
        const struct ir_variable *v = &p->ir->variables[i];
        bool shared = v->space == IR_SHARED;
        p->variables[i] = (struct jit_variable){
            .name = v->name,
            .size = shared ? 0 : v->ptx->size,
            .align = v->ptx->align,
            .is_const = v->space == IR_CONST,
            .is_shared = shared,
            .is_managed = v->ptx->managed,
            .has_init = v->ptx->init_count != 0 || v->ptx->opaque_init != NULL ||
                        v->ptx->type == PTX_SAMPLERREF,
        };
    }
    return 0;
}

static int program_create(const struct jit_source *sources, size_t count,
                          struct jit_program **ret_program, char *message, size_t size)
{
    struct jit_program *p = calloc(1, sizeof(*p));
    if (p == NULL || count == 0) {
        snprintf(message, size, p == NULL ? "out of memory" : "no PTX");
        free(p);
        return -1;
    }
    p->count = count;
    p->texts = calloc(count, sizeof(*p->texts));
    p->names = calloc(count, sizeof(*p->names));
    p->modules = calloc(count, sizeof(struct ptx_module *));
    struct ir_error error = {0};
    if (p->texts == NULL || p->names == NULL || p->modules == NULL) {
        snprintf(message, size, "out of memory");
    } else if (parse(p, sources, message, size) != 0) {
        // the message is there
    } else if (ir_program_create((const struct ptx_module *const *)p->modules, count, &p->ir,
                                 &error) != 0) {
        ir_message(p, &error, message, size);
    } else if (list_functions(p) != 0 || list_variables(p) != 0) {
        snprintf(message, size, "out of memory");
    } else {
        *ret_program = p;
        return 0;
    }
    program_destroy(p);
    return -1;
}

static const struct jit_function *functions(const struct jit_program *p, size_t *ret_count)
{
    *ret_count = p->ir->function_count;
    return p->functions;
}

static const struct jit_variable *variables(const struct jit_program *p, size_t *ret_count)
{
    *ret_count = p->ir->variable_count;
    return p->variables;
}

static int symbol_address(const struct jit_program *p, const struct ptx_symbol *symbol,
                          void *const *symbols, uint64_t *ret_address)
{
    if (symbol->kind == PTX_SYMBOL_FUNCTION) {
        uint32_t f = ir_program_find_function(p->ir, symbol->name);
        *ret_address = IR_FUNCTION_ADDRESS(f);
        return f == UINT32_MAX ? -1 : 0;
    }
    uint32_t v = ir_program_find_variable(p->ir, symbol->name);
    if (v == UINT32_MAX || p->variables[v].is_shared) {
        return -1;
    }
    *ret_address = (uint64_t)(uintptr_t)symbols[v];
    return 0;
}

static int variable_init(const struct jit_program *p, uint32_t index, void *const *symbols,
                         void *image, char *message, size_t size)
{
    if (index >= p->ir->variable_count) {
        snprintf(message, size, "no variable %u", index);
        return -1;
    }
    const struct ptx_variable *v = p->ir->variables[index].ptx;
    memset(image, 0, p->variables[index].size);
    if (v->type == PTX_SAMPLERREF && !v->is_array) {
        uint64_t value;
        if (jit_sampler_value(v->opaque_init, &value, message, size) != 0) {
            return -1;
        }
        memcpy(image, &value, sizeof(value));
    } else if (v->opaque_init != NULL) {
        snprintf(message, size, "initialiser of .%s variable '%s' is not supported",
                 ptx_type_name(v->type), p->variables[index].name);
        return -1;
    }
    for (size_t i = 0; i < v->init_count; i++) {
        const struct ptx_init *element = &v->init[i];
        uint64_t value = element->value;
        if (element->symbol != NULL) {
            uint64_t address = 0;
            if (symbol_address(p, element->symbol, symbols, &address) != 0) {
                snprintf(message, size, "initialiser of '%s': '%s' has no address",
                         p->variables[index].name, element->symbol->name);
                return -1;
            }
            value += address;
        }
        if (element->masked) {
            value = value >> (8u * element->mask_shift) & 0xff;
        }
        uint64_t room = p->variables[index].size;
        if (element->size > sizeof(value) || element->offset > room ||
            element->size > room - element->offset) {
            snprintf(message, size, "initialiser of '%s' is larger than the variable",
                     p->variables[index].name);
            return -1;
        }
        memcpy((unsigned char *)image + element->offset, &value, element->size);
    }
    return 0;
}

static int compile(const struct jit_program *p, uint32_t function,
                   const struct jit_options *options, struct jit_kernel **ret_kernel, char *message,
                   size_t size)
{
    if (function >= p->ir->function_count || !p->functions[function].is_entry) {
        snprintf(message, size, "function %u is no kernel", function);
        return -1;
    }
    struct ir_unit *unit = NULL;
    struct ir_error error = {0};
    int made = options->lanes == 1
                   ? ir_unit_create(p->ir, function, &unit, &error)
                   : ir_unit_create_warp(p->ir, function, options->lanes, &unit, &error);
    if (made != 0) {
        ir_message(p, &error, message, size);
        return -1;
    }
    int r = jit_compile(unit, options, ret_kernel, message, size);
    ir_unit_destroy(unit);
    return r;
}

__attribute__((visibility("default"))) const struct jit_engine jit_engine_table = {
    .abi = JIT_ENGINE_ABI,
    .description = jit_description,
    .helpers = jit_helpers,
    .program_create = program_create,
    .program_destroy = program_destroy,
    .functions = functions,
    .variables = variables,
    .variable_init = variable_init,
    .compile = compile,
    .kernel_unref = jit_kernel_unref,
};
