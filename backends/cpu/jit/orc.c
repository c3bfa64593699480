// SPDX-License-Identifier: Apache-2.0
//
// The only file that knows LLVM beyond its IR builder: target machine, pass pipelines, object
// emission, and ORC LLJIT to link an object into memory. One LLJIT per kernel, so that unloading
// a kernel frees all of its memory.
#include "orc.h"

#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <llvm-c/Error.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

// Instructions up to which the whole -O2 pipeline runs, then a short one, then hardly any. The time
// is mostly linear, but an -O2 of a kernel with 45,000 instructions takes twice its code
// generation.
enum { FULL_EFFORT = 2000, SHORT_EFFORT = 12000 };

// Inlining first: it is one function from the beginning.
static const char full_pipeline[] = "always-inline,default<O2>";
static const char short_pipeline[] =
    "always-inline,function(sroa,early-cse,simplifycfg,early-cse<memssa>,"
    "instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,"
    "instcombine<no-verify-fixpoint>,simplifycfg,dce)";
static const char light_pipeline[] =
    "always-inline,function(sroa,simplifycfg,early-cse<memssa>,instcombine<no-verify-fixpoint>,"
    "loop-mssa(licm),simplifycfg,dce)";
static const char least_pipeline[] = "always-inline,function(sroa,simplifycfg,early-cse,dce)";

struct orc_code {
    LLVMOrcLLJITRef jit;
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *host_triple, *host_cpu, *host_features;
static LLVMTargetRef host_target;
static char init_error[160];

static _Thread_local jmp_buf *guard;
static _Thread_local char *guard_message;
static _Thread_local size_t guard_message_size;

static void on_fatal(const char *reason)
{
    if (guard != NULL) {
        snprintf(guard_message, guard_message_size, "LLVM: %s", reason);
        longjmp(*guard, 1);
    }
}

static void start(void)
{
    LLVMInstallFatalErrorHandler(on_fatal);
    if (LLVMInitializeNativeTarget() || LLVMInitializeNativeAsmPrinter()) {
        snprintf(init_error, sizeof(init_error), "LLVM has no code generator for this processor");
        return;
    }
    host_triple = LLVMGetDefaultTargetTriple();
    host_cpu = LLVMGetHostCPUName();
    host_features = LLVMGetHostCPUFeatures();
    char *error = NULL;
    if (LLVMGetTargetFromTriple(host_triple, &host_target, &error)) {
        snprintf(init_error, sizeof(init_error), "LLVM: %s", error);
        LLVMDisposeMessage(error);
    }
}

static int ready(char *message, size_t message_size)
{
    pthread_once(&once, start);
    if (init_error[0] != '\0') {
        snprintf(message, message_size, "%s", init_error);
        return -1;
    }
    return 0;
}

const char *orc_cpu(void)
{
    pthread_once(&once, start);
    return host_cpu != NULL ? host_cpu : "unknown";
}

const char *orc_features(void)
{
    pthread_once(&once, start);
    return host_features != NULL ? host_features : "";
}

bool orc_has_feature(const char *name)
{
    char word[32];
    int length = snprintf(word, sizeof(word), "+%s", name);
    for (const char *at = strstr(orc_features(), word); at != NULL; at = strstr(at + 1, word)) {
        if (at[length] == ',' || at[length] == '\0') {
            return true;
        }
    }
    return false;
}

int orc_guard(int (*work)(void *data), void *data, char *message, size_t message_size)
{
    jmp_buf here;
    jmp_buf *outer = guard;
    char *outer_message = guard_message;
    size_t outer_size = guard_message_size;
    guard = &here;
    guard_message = message;
    guard_message_size = message_size;
    int r = setjmp(here) == 0 ? work(data) : -1;
    guard = outer;
    guard_message = outer_message;
    guard_message_size = outer_size;
    return r;
}

const char *orc_recipe(size_t instructions)
{
    return instructions <= FULL_EFFORT         ? full_pipeline
           : instructions <= SHORT_EFFORT      ? short_pipeline
           : instructions <= 10 * SHORT_EFFORT ? light_pipeline
                                               : least_pipeline;
}

// SIZE_MAX: as fast as it goes, whatever comes out (struct jit_options.quick).
static LLVMTargetMachineRef make_machine(size_t instructions)
{
    LLVMCodeGenOptLevel level = instructions == SIZE_MAX           ? LLVMCodeGenLevelNone
                                : instructions > 10 * SHORT_EFFORT ? LLVMCodeGenLevelLess
                                                                   : LLVMCodeGenLevelDefault;
    return LLVMCreateTargetMachine(host_target, host_triple, host_cpu, host_features, level,
                                   LLVMRelocPIC, LLVMCodeModelJITDefault);
}

static int take_error(LLVMErrorRef error, const char *what, char *message, size_t message_size)
{
    if (error == LLVMErrorSuccess) {
        return 0;
    }
    char *text = LLVMGetErrorMessage(error);
    snprintf(message, message_size, "%s: %s", what, text);
    LLVMDisposeErrorMessage(text);
    return -1;
}

int orc_generate(LLVMModuleRef module, size_t instructions, LLVMMemoryBufferRef *ret_object,
                 char *message, size_t message_size)
{
    if (ready(message, message_size) != 0) {
        return -1;
    }
    LLVMTargetMachineRef machine = make_machine(instructions);
    if (machine == NULL) {
        snprintf(message, message_size, "LLVM has no target machine for %s", host_cpu);
        return -1;
    }
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(machine);
    LLVMSetModuleDataLayout(module, layout);
    LLVMDisposeTargetData(layout);
    LLVMSetTarget(module, host_triple);
    LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
    int r = take_error(LLVMRunPasses(module, orc_recipe(instructions), machine, options),
                       "optimisation", message, message_size);
    LLVMDisposePassBuilderOptions(options);
    if (r == 0) {
        char *error = NULL;
        if (LLVMTargetMachineEmitToMemoryBuffer(machine, module, LLVMObjectFile, &error,
                                                ret_object)) {
            snprintf(message, message_size, "code generation: %s", error);
            LLVMDisposeMessage(error);
            r = -1;
        }
    }
    LLVMDisposeTargetMachine(machine);
    return r;
}

// What LLVM calls where the processor has no instruction (old processors, large copies).
static LLVMErrorRef add_library(LLVMOrcLLJITRef jit, LLVMOrcJITDylibRef dylib)
{
    static const struct {
        const char *name;
        void *address;
    } functions[] = {
        {"memcpy", (void *)memcpy},
        {"memmove", (void *)memmove},
        {"memset", (void *)memset},
        {"fma", (void *)fma},
        {"fmaf", (void *)fmaf},
        {"floor", (void *)floor},
        {"floorf", (void *)floorf},
        {"ceil", (void *)ceil},
        {"ceilf", (void *)ceilf},
        {"trunc", (void *)trunc},
        {"truncf", (void *)truncf},
        {"rint", (void *)rint},
        {"rintf", (void *)rintf},
        {"nearbyint", (void *)nearbyint},
        {"nearbyintf", (void *)nearbyintf},
        {"roundeven", (void *)roundeven},
        {"roundevenf", (void *)roundevenf},
    };
    enum { COUNT = sizeof(functions) / sizeof(functions[0]) };
    LLVMOrcCSymbolMapPair pairs[COUNT];
    for (unsigned i = 0; i < COUNT; i++) {
        pairs[i].Name = LLVMOrcLLJITMangleAndIntern(jit, functions[i].name);
        pairs[i].Sym.Address = (LLVMOrcExecutorAddress)(uintptr_t)functions[i].address;
        pairs[i].Sym.Flags = (LLVMJITSymbolFlags){
            LLVMJITSymbolGenericFlagsExported | LLVMJITSymbolGenericFlagsCallable, 0};
    }
    return LLVMOrcJITDylibDefine(dylib, LLVMOrcAbsoluteSymbols(pairs, COUNT));
}

int orc_load(LLVMMemoryBufferRef object, struct orc_code **ret_code, char *message,
             size_t message_size)
{
    struct orc_code *code = calloc(1, sizeof(*code));
    if (code == NULL || ready(message, message_size) != 0) {
        LLVMDisposeMemoryBuffer(object);
        free(code);
        return -1;
    }
    LLVMOrcLLJITBuilderRef builder = LLVMOrcCreateLLJITBuilder();
    LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
        builder, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(make_machine(0)));
    if (take_error(LLVMOrcCreateLLJIT(&code->jit, builder), "ORC", message, message_size) != 0) {
        LLVMDisposeMemoryBuffer(object);
        free(code);
        return -1;
    }
    LLVMOrcJITDylibRef dylib = LLVMOrcLLJITGetMainJITDylib(code->jit);
    int r = take_error(add_library(code->jit, dylib), "ORC", message, message_size);
    if (r == 0) {
        r = take_error(LLVMOrcLLJITAddObjectFile(code->jit, dylib, object), "ORC", message,
                       message_size);
    } else {
        LLVMDisposeMemoryBuffer(object);
    }
    if (r != 0) {
        orc_unload(code);
        return -1;
    }
    *ret_code = code;
    return 0;
}

void *orc_find(struct orc_code *code, const char *name)
{
    LLVMOrcExecutorAddress address = 0;
    LLVMErrorRef error = LLVMOrcLLJITLookup(code->jit, &address, name);
    if (error != LLVMErrorSuccess) {
        LLVMConsumeError(error);
        return NULL;
    }
    return (void *)(uintptr_t)address;
}

struct orc_code *orc_unload(struct orc_code *code)
{
    if (code != NULL) {
        LLVMErrorRef error = LLVMOrcDisposeLLJIT(code->jit);
        if (error != LLVMErrorSuccess) {
            LLVMConsumeError(error);
        }
        free(code);
    }
    return NULL;
}
