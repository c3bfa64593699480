// SPDX-License-Identifier: Apache-2.0
//
// See engine.h. The only file of the command that knows the compiler's interface.
#include "engine.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "layout.h"
#include "backends/cpu/jit/engine.h"

const struct engine *engine_open(char *ret_why, size_t why_size)
{
    char folder[PATH_MAX - 64];
    char path[PATH_MAX];
    if (!layout_library_folder(folder, sizeof folder)) {
        snprintf(ret_why, why_size, "the libraries were not found");
        return NULL;
    }
    const char *set = getenv("INFINIRT_BACKEND_PATH");
    if (set && set[0] != '\0') {
        snprintf(path, sizeof path, "%s/" JIT_ENGINE_MODULE, set);
    } else {
        snprintf(path, sizeof path, "%s/backends/" JIT_ENGINE_MODULE, folder);
    }
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const struct jit_engine *table = module ? dlsym(module, JIT_ENGINE_SYMBOL) : NULL;
    if (!table) {
        const char *why = dlerror();
        snprintf(ret_why, why_size, "%s", why ? why : "no compiler in this build");
    } else if (table->abi != JIT_ENGINE_ABI) {
        snprintf(ret_why, why_size, "%s is of another build", path);
        table = NULL;
    }
    return (const struct engine *)table; // the module stays open
}

const char *engine_description(const struct engine *engine)
{
    return ((const struct jit_engine *)engine)->description();
}

bool engine_check(const struct engine *engine, const char *const *texts, const size_t *sizes,
                  size_t count, const char *name, bool compile,
                  void (*report)(void *user, const char *kernel, const char *message), void *user,
                  char *ret_message, size_t message_size)
{
    const struct jit_engine *jit = (const struct jit_engine *)engine;
    struct jit_source *sources = calloc(count, sizeof *sources);
    struct jit_program *program;
    if (!sources) {
        snprintf(ret_message, message_size, "out of memory");
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        sources[i] = (struct jit_source){texts[i], sizes[i], name};
    }
    int error = jit->program_create(sources, count, &program, ret_message, message_size);
    free(sources);
    if (error) {
        return false;
    }
    size_t functions;
    const struct jit_function *list = jit->functions(program, &functions);
    const struct jit_options options = {.lanes = 1};
    for (size_t i = 0; i < functions; i++) {
        struct jit_kernel *kernel = NULL;
        char message[512];
        if (!list[i].is_entry) {
            continue;
        }
        int failed =
            compile ? jit->compile(program, (uint32_t)i, &options, &kernel, message, sizeof message)
                    : 0;
        report(user, list[i].name, failed ? message : NULL);
        if (!failed && kernel) {
            jit->kernel_unref(kernel);
        }
    }
    jit->program_destroy(program);
    return true;
}
