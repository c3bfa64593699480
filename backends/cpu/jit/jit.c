// SPDX-License-Identifier: Apache-2.0
//
// jit_compile: unit -> LLVM module (emit.c) -> object -> code in memory (orc.c), and the life of a
// compiled kernel. Dumps the module for INFINIRT_DUMP=llvm and its assembly is left to debuggers.
#include "jit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>

#include "cache.h"
#include "emit.h"
#include "orc.h"
#include "../ir/ir.h"

struct kernel {
    struct jit_kernel public; // first: what the caller holds
    struct orc_code *code;
    void *object; // public.object
};

struct work {
    const struct ir_unit *unit;
    const struct jit_options *options;
    struct jit_kernel **ret_kernel;
    char *message;
    size_t message_size;
    LLVMContextRef cx;
    LLVMModuleRef module;
};

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *data)
{
    struct work *w = data;
    if (LLVMGetDiagInfoSeverity(info) == LLVMDSError && w->message[0] == '\0') {
        char *text = LLVMGetDiagInfoDescription(info);
        snprintf(w->message, w->message_size, "LLVM: %s", text);
        LLVMDisposeMessage(text);
    }
}

static bool dump_wanted(const char *what)
{
    const char *list = secure_getenv("INFINIRT_DUMP");
    size_t length = strlen(what);
    while (list != NULL && *list != '\0') {
        if (strncmp(list, what, length) == 0 && (list[length] == ',' || list[length] == '\0')) {
            return true;
        }
        list = strchr(list, ',');
        list = list == NULL ? NULL : list + 1;
    }
    return false;
}

static void dump_module(LLVMModuleRef module)
{
    char *text = LLVMPrintModuleToString(module);
    fputs(text, stderr);
    LLVMDisposeMessage(text);
}

static int verify(struct work *w)
{
#ifndef NDEBUG
    char *error = NULL;
    if (LLVMVerifyModule(w->module, LLVMReturnStatusAction, &error)) {
        snprintf(w->message, w->message_size, "the emitted module is wrong: %s", error);
        LLVMDisposeMessage(error);
        return -1;
    }
    LLVMDisposeMessage(error);
#endif
    return 0;
}

static int load(struct work *w, LLVMMemoryBufferRef object, const struct emit_result *made)
{
    struct kernel *k = calloc(1, sizeof(*k));
    if (k == NULL) {
        LLVMDisposeMemoryBuffer(object);
        snprintf(w->message, w->message_size, "out of memory");
        return -1;
    }
    k->public.code_size = LLVMGetBufferSize(object);
    if (w->options->debug || w->unit->functions[0]->loc != NULL) {
        k->object = malloc(k->public.code_size);
        if (k->object != NULL) {
            memcpy(k->object, LLVMGetBufferStart(object), k->public.code_size);
            k->public.object = k->object;
            k->public.object_size = k->public.code_size;
        }
    }
    if (orc_load(object, &k->code, w->message, w->message_size) != 0) {
        free(k->object);
        free(k);
        return -1;
    }
    void *thread = orc_find(k->code, "thread");
    void *block = made->has_block ? orc_find(k->code, "block") : NULL;
    if (thread == NULL || (made->has_block && block == NULL)) {
        snprintf(w->message, w->message_size, "compiled code does not link");
        orc_unload(k->code);
        free(k->object);
        free(k);
        return -1;
    }
    memcpy(&k->public.thread, &thread, sizeof(thread));
    memcpy(&k->public.block, &block, sizeof(block));
    const struct ir_unit *unit = w->unit;
    k->public.frame_size = made->frame_size;
    k->public.local_size = made->local_size;
    k->public.static_shared = unit->static_shared;
    k->public.dynamic_shared_offset = unit->dynamic_shared_offset;
    k->public.uses_printf = unit->uses_printf;
    k->public.uses_malloc = unit->uses_malloc;
    k->public.can_spin = unit->can_spin;
    k->public.recursive = unit->recursive;
    k->public.uses_cluster = unit->uses_cluster;
    k->public.lanes = unit->functions[0]->lanes != 0 ? unit->functions[0]->lanes : 1;
    *w->ret_kernel = &k->public;
    return 0;
}

static int compile_module(struct work *w)
{
    struct emit_options options = {.f16c = orc_has_feature("f16c"),
                                   .outline_masked = w->options->quick};
    struct emit_result made;
    if (emit_unit(w->unit, &options, w->cx, w->module, &made, w->message, w->message_size) != 0) {
        return -1;
    }
    made.instructions = w->options->quick ? SIZE_MAX : made.instructions;
    if (dump_wanted("llvm")) {
        dump_module(w->module);
    }
    if (verify(w) != 0) {
        return -1;
    }
    LLVMMemoryBufferRef object;
    struct cache_key key;
    bool cached = cache_make_key(w->module, orc_recipe(made.instructions), &key);
    if (cached && cache_read(&key, &object) && load(w, object, &made) == 0) {
        return 0;
    }
    if (orc_generate(w->module, made.instructions, &object, w->message, w->message_size) != 0) {
        return -1;
    }
    if (cached) {
        cache_write(&key, object);
    }
    if (dump_wanted("llvm-opt")) {
        dump_module(w->module);
    }
    return load(w, object, &made);
}

static int compile(void *data)
{
    struct work *w = data;
    w->cx = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(w->cx, on_diagnostic, w);
    w->module = LLVMModuleCreateWithNameInContext(w->unit->functions[0]->name, w->cx);
    int r = compile_module(w);
    // After a fatal error (orc_guard) this is not reached: a half-changed module is not touched.
    LLVMDisposeModule(w->module);
    LLVMContextDispose(w->cx);
    return r;
}

// ---------------------------------------------------------------- process exit

// LLVM's exit handlers destroy what a compilation uses, also things that it makes when it first
// generates code. So code is generated once (warm_up), then our handler is registered: it runs
// before LLVM's, waits for other threads' use of LLVM and refuses more.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t idle;
    unsigned running, finished;
    bool exiting;
} gate = {.lock = PTHREAD_MUTEX_INITIALIZER, .idle = PTHREAD_COND_INITIALIZER};
static pthread_once_t warm = PTHREAD_ONCE_INIT;
static _Thread_local bool inside;

static void on_exit_wait(void)
{
    pthread_mutex_lock(&gate.lock);
    gate.exiting = true;
    while (gate.running > (inside ? 1u : 0u)) {
        pthread_cond_wait(&gate.idle, &gate.lock);
    }
    pthread_mutex_unlock(&gate.lock);
}

// void f(ptr p, i32 n) { if (n > 0) { p[n] = p[0] + n; } }
static void build_sample(LLVMContextRef cx, LLVMModuleRef module)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(cx);
    LLVMTypeRef params[2] = {LLVMPointerTypeInContext(cx, 0), i32};
    LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(cx), params, 2, false);
    LLVMValueRef fn = LLVMAddFunction(module, "f", type);
    LLVMBasicBlockRef first = LLVMAppendBasicBlockInContext(cx, fn, "");
    LLVMBasicBlockRef then = LLVMAppendBasicBlockInContext(cx, fn, "");
    LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(cx, fn, "");
    LLVMBuilderRef b = LLVMCreateBuilderInContext(cx);
    LLVMValueRef p = LLVMGetParam(fn, 0), n = LLVMGetParam(fn, 1);
    LLVMPositionBuilderAtEnd(b, first);
    LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntSGT, n, LLVMConstInt(i32, 0, false), ""), then,
                    done);
    LLVMPositionBuilderAtEnd(b, then);
    LLVMValueRef sum = LLVMBuildAdd(b, LLVMBuildLoad2(b, i32, p, ""), n, "");
    LLVMBuildStore(b, sum, LLVMBuildGEP2(b, i32, p, &n, 1, ""));
    LLVMBuildBr(b, done);
    LLVMPositionBuilderAtEnd(b, done);
    LLVMBuildRetVoid(b);
    LLVMDisposeBuilder(b);
}

static int generate_sample(void *data)
{
    LLVMContextRef cx = LLVMContextCreate();
    LLVMModuleRef module = LLVMModuleCreateWithNameInContext("sample", cx);
    build_sample(cx, module);
    LLVMMemoryBufferRef object;
    if (orc_generate(module, 0, &object, data, 256) == 0) {
        LLVMDisposeMemoryBuffer(object);
    }
    LLVMDisposeModule(module);
    LLVMContextDispose(cx);
    return 0;
}

static void warm_up(void)
{
    char message[256]; // a failure shows again, with its message, in the real compilation
    orc_guard(generate_sample, message, message, sizeof(message));
    atexit(on_exit_wait);
}

static bool enter(void)
{
    pthread_once(&warm, warm_up);
    pthread_mutex_lock(&gate.lock);
    bool open = !gate.exiting;
    gate.running += open;
    pthread_mutex_unlock(&gate.lock);
    inside = open;
    return open;
}

static void leave(void)
{
    inside = false;
    pthread_mutex_lock(&gate.lock);
    // Once more behind what the first real compilation made.
    bool again = gate.finished++ == 0 && !gate.exiting;
    if (--gate.running == 0) {
        pthread_cond_broadcast(&gate.idle);
    }
    pthread_mutex_unlock(&gate.lock);
    if (again) {
        atexit(on_exit_wait);
    }
}

int jit_compile(const struct ir_unit *unit, const struct jit_options *options,
                struct jit_kernel **ret_kernel, char *ret_message, size_t message_size)
{
    struct work w = {.unit = unit,
                     .options = options,
                     .ret_kernel = ret_kernel,
                     .message = ret_message,
                     .message_size = message_size};
    if (message_size > 0) {
        ret_message[0] = '\0';
    }
    if (!enter()) {
        snprintf(ret_message, message_size, "the process is exiting");
        return -1;
    }
    int r = orc_guard(compile, &w, ret_message, message_size);
    leave();
    return r;
}

struct jit_kernel *jit_kernel_unref(struct jit_kernel *kernel)
{
    if (kernel != NULL && enter()) {
        struct kernel *k = (struct kernel *)kernel;
        orc_unload(k->code);
        free(k->object);
        free(k);
        leave();
    }
    return NULL;
}

static char description[1024];
static pthread_once_t description_once = PTHREAD_ONCE_INIT;

static void describe(void)
{
    unsigned major = 0, minor = 0, patch = 0;
    LLVMGetVersion(&major, &minor, &patch);
    snprintf(description, sizeof(description), "LLVM %u.%u.%u, host cpu %s, %s", major, minor,
             patch, orc_cpu(), orc_features());
}

const char *jit_description(void)
{
    pthread_once(&description_once, describe);
    return description;
}
