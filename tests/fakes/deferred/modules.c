// SPDX-License-Identifier: Apache-2.0
//
// Modules and launches of the deferred backend: entries and variables are names in a unit's text.
#include "modules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "queue.h"

enum { VARIABLES = 8 };

struct irtb_module {
    char *text;
    int device;
    struct variable {
        char name[64];
        int storage;
        void *bound;
        bool managed;
    } variables[VARIABLES];
};

struct irtb_function {
    char name[64];
};

static size_t module_count, launch_count;
static const char *last_launched = "", *last_unit = "";

size_t deferred_modules(void)
{
    return module_count;
}

size_t deferred_launches(void)
{
    return launch_count;
}

const char *deferred_last_kernel(void)
{
    return last_launched;
}

const char *deferred_last_text(void)
{
    return last_unit;
}

static void run_nothing(void *argument)
{
    (void)argument;
}

cudaError_t deferred_launch(struct irtb_stream *stream, const struct irtb_launch *l)
{
    launch_count++;
    last_launched = l->function->name;
    return deferred_enqueue(stream, run_nothing, calloc(1, sizeof(void *)));
}

cudaError_t deferred_module_load(int device, const struct irtb_code_unit *units, size_t count,
                                 struct irtb_module **ret_module)
{
    struct irtb_module *module = calloc(1, sizeof(*module));
    module->device = device;
    size_t size = 1;
    for (size_t i = 0; i < count; i++) {
        size += units[i].size;
    }
    module->text = calloc(1, size);
    for (size_t i = 0; i < count; i++) {
        strcat(module->text, units[i].text);
    }
    last_unit = strdup(module->text);
    size_t n = 0;
    for (const char *p = module->text; n < VARIABLES && (p = strstr(p, ".global ")); n++) {
        p += strlen(".global ");
        struct variable *v = &module->variables[n];
        v->managed = strncmp(p, "managed ", 8) == 0;
        sscanf(p + (v->managed ? 8 : 0), "%63[a-z_0-9] = %d", v->name, &v->storage);
        v->bound = &v->storage;
    }
    module_count++;
    *ret_module = module;
    return cudaSuccess;
}

void deferred_module_unload(struct irtb_module *module)
{
    (void)module;
    module_count--;
}

cudaError_t deferred_module_function(struct irtb_module *module, const char *name,
                                     struct irtb_function **ret_function)
{
    char entry[96];
    snprintf(entry, sizeof(entry), ".entry %s(", name);
    if (!strstr(module->text, entry)) {
        return cudaErrorInvalidDeviceFunction;
    }
    struct irtb_function *function = calloc(1, sizeof(*function));
    snprintf(function->name, sizeof(function->name), "%s", name);
    *ret_function = function;
    return cudaSuccess;
}

static struct variable *find_variable(struct irtb_module *module, const char *name)
{
    for (size_t i = 0; i < VARIABLES; i++) {
        if (strcmp(module->variables[i].name, name) == 0) {
            return &module->variables[i];
        }
    }
    return NULL;
}

cudaError_t deferred_module_variable(struct irtb_module *module, const char *name, void **ret_ptr,
                                     size_t *ret_size, bool *ret_managed)
{
    struct variable *v = find_variable(module, name);
    if (!v) {
        return cudaErrorSymbolNotFound;
    }
    *ret_ptr = v->bound;
    *ret_size = sizeof(v->storage);
    *ret_managed = v->managed;
    return cudaSuccess;
}

cudaError_t deferred_module_bind_variable(struct irtb_module *module, const char *name, void *ptr)
{
    struct variable *v = find_variable(module, name);
    if (!v) {
        return cudaErrorSymbolNotFound;
    }
    v->bound = ptr;
    return cudaSuccess;
}

cudaError_t deferred_function_info(struct irtb_function *function, struct irtb_function_info *ret)
{
    (void)function;
    *ret = (struct irtb_function_info){
        .attributes = {.maxThreadsPerBlock = 1024, .maxDynamicSharedSizeBytes = 48 << 10}};
    return cudaSuccess;
}

cudaError_t deferred_function_set_attribute(struct irtb_function *function,
                                            enum cudaFuncAttribute attribute, int value)
{
    (void)function, (void)attribute, (void)value;
    return cudaSuccess;
}

// 16 blocks at most, 100 KiB of shared memory.
cudaError_t deferred_function_occupancy(struct irtb_function *function, int block_size,
                                        size_t dynamic_shared, int *ret_blocks)
{
    (void)function;
    int by_threads = 2048 / block_size, by_shared = 16;
    if (dynamic_shared) {
        by_shared = (int)((100 << 10) / dynamic_shared);
    }
    int blocks = by_threads < by_shared ? by_threads : by_shared;
    *ret_blocks = blocks < 16 ? blocks : 16;
    return cudaSuccess;
}
