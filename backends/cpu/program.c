// SPDX-License-Identifier: Apache-2.0
//
// Opening the engine, the list of programs, and compiling kernels once.
#include "program.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cpu.h"

enum { MESSAGE_SIZE = 1024 };

static struct {
    pthread_mutex_t lock; // list; not held while parsing
    struct cpu_program *list;
} programs = {.lock = PTHREAD_MUTEX_INITIALIZER};

// The text of the calling thread's last failure, malloc'ed; not thread-local storage, of which
// there is little for a library that is opened late.
static pthread_once_t failure_once = PTHREAD_ONCE_INIT;
static pthread_key_t failure_key;

static void make_failure_key(void)
{
    pthread_key_create(&failure_key, free); // without one there are no texts
}

// NULL: there was no failure.
static void set_failure(const char *message)
{
    pthread_once(&failure_once, make_failure_key);
    char *old = pthread_getspecific(failure_key);
    if (old || message) {
        pthread_setspecific(failure_key, message ? strdup(message) : NULL);
        free(old);
    }
}

const char *cpu_program_failure(void)
{
    pthread_once(&failure_once, make_failure_key);
    const char *text = pthread_getspecific(failure_key);
    return text ? text : "";
}

static pthread_once_t engine_once = PTHREAD_ONCE_INIT;
static const struct jit_engine *engine;

// LLVM's destructors run at exit, before anybody tells this backend; no thread may be inside then.
static struct {
    _Atomic bool exiting;
    _Atomic int inside; // threads that use the engine
} engine_use;
static _Thread_local bool this_thread_inside;

enum { EXIT_WAIT_MS = 10000 };

static bool engine_enter(void)
{
    atomic_fetch_add(&engine_use.inside, 1);
    if (atomic_load(&engine_use.exiting)) {
        atomic_fetch_sub(&engine_use.inside, 1);
        return false;
    }
    this_thread_inside = true;
    return true;
}

static void engine_leave(void)
{
    this_thread_inside = false;
    atomic_fetch_sub(&engine_use.inside, 1);
}

static void engine_at_exit(void)
{
    atomic_store(&engine_use.exiting, true);
    for (int ms = 0; !this_thread_inside && ms < EXIT_WAIT_MS; ms++) {
        if (!atomic_load(&engine_use.inside)) {
            break;
        }
        struct timespec pause = {0, 1000000};
        nanosleep(&pause, NULL);
    }
}

// Shared by compilations, exclusive at exit. The compiler's own destructors run at exit: none may
// be in progress then, and none may begin afterwards.
static pthread_rwlock_t compile_gate = PTHREAD_RWLOCK_INITIALIZER;
static bool compile_gate_closed;

static void close_compile_gate(void)
{
    pthread_rwlock_wrlock(&compile_gate);
    compile_gate_closed = true;
    pthread_rwlock_unlock(&compile_gate);
}

static const struct jit_engine *open_engine(const char *folder, int length, const char *sub,
                                            char *ret_why, size_t why_size)
{
    char path[4096];
    snprintf(path, sizeof path, "%.*s/%s%s", length, folder, sub, JIT_ENGINE_MODULE);
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!module) {
        snprintf(ret_why, why_size, "%s", dlerror());
        return NULL;
    }
    const struct jit_engine *table = dlsym(module, JIT_ENGINE_SYMBOL);
    if (!table || table->abi != JIT_ENGINE_ABI) {
        snprintf(ret_why, why_size, "%.900s does not fit this version", path);
        dlclose(module);
        return NULL;
    }
    return table; // never closed: compiled code lives in it
}

static void engine_init(void)
{
    Dl_info self;
    char why[1024] = "the place of this module is unknown", second[1024] = "";
    // Beside this module, or (build tree) in its jit/ folder.
    if (dladdr((void *)&programs, &self) && self.dli_fname) {
        const char *slash = strrchr(self.dli_fname, '/');
        const char *folder = slash ? self.dli_fname : ".";
        int length = slash ? (int)(slash - self.dli_fname) : 1;
        engine = open_engine(folder, length, "", why, sizeof why);
        if (!engine) {
            engine = open_engine(folder, length, "jit/", second, sizeof second);
        }
        // Registered after LLVM's own handlers, so it runs before them.
        if (engine && atexit(engine_at_exit)) {
            engine = NULL;
            snprintf(why, sizeof why, "no memory for an exit handler");
        }
    }
    if (!engine) {
        CPU_LOG("cpu", CPU_ERROR,
                "kernels cannot run: the compiler module " JIT_ENGINE_MODULE
                " cannot be opened (built with -Dkernels=disabled?): %s; %s",
                why, second);
        return;
    }
    atexit(close_compile_gate); // after the compiler's destructors, hence called before them
}

const struct jit_engine *cpu_engine(void)
{
    pthread_once(&engine_once, engine_init);
    return engine;
}

static bool same_units(const struct cpu_program *program, const struct irtb_code_unit *units,
                       size_t count)
{
    if (program->unit_count != count) {
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        if (program->units[i].text != units[i].text || program->units[i].size != units[i].size) {
            return false;
        }
    }
    return true;
}

static struct cpu_program *find_locked(const struct irtb_code_unit *units, size_t count)
{
    for (struct cpu_program *p = programs.list; p; p = p->next) {
        if (same_units(p, units, count)) {
            p->refs++;
            return p;
        }
    }
    return NULL;
}

static void kernel_close(struct cpu_kernel *kernel)
{
    kernel->debug = cpu_debug_remove(kernel->debug);
    if (kernel->code && engine_enter()) { // at exit the code is left where it is
        cpu_engine()->kernel_unref(kernel->code);
        engine_leave();
    }
    pthread_mutex_destroy(&kernel->lock);
    pthread_cond_destroy(&kernel->changed);
}

static void program_destroy(struct cpu_program *program)
{
    for (size_t i = 0; program->kernels && i < program->function_count; i++) {
        struct cpu_kernel *kernel = &program->kernels[i];
        for (unsigned n = 0; n < CPU_FORMS && kernel->others[n]; n++) {
            kernel_close(kernel->others[n]);
            free(kernel->others[n]);
        }
        kernel_close(kernel);
        free(kernel->params);
    }
    if (program->program) {
        cpu_engine()->program_destroy(program->program);
    }
    free(program->kernels);
    free(program->units);
    free(program);
}

static int make_kernels(struct cpu_program *program)
{
    program->kernels =
        calloc(program->function_count ? program->function_count : 1, sizeof *program->kernels);
    if (!program->kernels) {
        return -1;
    }
    int r = 0;
    for (size_t i = 0; i < program->function_count; i++) {
        struct cpu_kernel *kernel = &program->kernels[i];
        const struct jit_function *function = &program->functions[i];
        pthread_mutex_init(&kernel->lock, NULL);
        pthread_cond_init(&kernel->changed, NULL);
        kernel->function = function;
        kernel->index = (uint32_t)i;
        if (!function->is_entry || !function->param_count) {
            continue;
        }
        kernel->params = calloc(function->param_count, sizeof *kernel->params);
        if (!kernel->params) {
            r = -1;
            continue;
        }
        for (uint32_t k = 0; k < function->param_count; k++) {
            kernel->params[k] = (struct exec_param){
                function->params[k].offset, function->params[k].size, function->params[k].align};
        }
    }
    return r;
}

static cudaError_t program_create(const struct irtb_code_unit *units, size_t count,
                                  struct cpu_program **ret_program)
{
    const struct jit_engine *e = cpu_engine();
    if (!e) {
        return cudaErrorNotSupported;
    }
    struct cpu_program *program = calloc(1, sizeof *program);
    struct jit_source *sources = calloc(count, sizeof *sources);
    struct irtb_code_unit *key = calloc(count, sizeof *key);
    if (!program || !sources || !key) {
        free(program);
        free(sources);
        free(key);
        return cudaErrorMemoryAllocation;
    }
    memcpy(key, units, count * sizeof *key);
    program->refs = 1;
    program->unit_count = count;
    program->units = key;
    for (size_t i = 0; i < count; i++) {
        sources[i] = (struct jit_source){units[i].text, units[i].size, units[i].name};
    }
    char message[MESSAGE_SIZE] = "";
    if (!engine_enter()) {
        free(sources);
        program_destroy(program);
        return cudaErrorCudartUnloading;
    }
    int r = e->program_create(sources, count, &program->program, message, sizeof message);
    engine_leave();
    free(sources);
    if (r) {
        CPU_LOG("cpu", CPU_ERROR, "PTX cannot be loaded: %s", message);
        set_failure(message);
        program->program = NULL;
        program_destroy(program);
        return cudaErrorInvalidPtx;
    }
    program->functions = e->functions(program->program, &program->function_count);
    program->variables = e->variables(program->program, &program->variable_count);
    for (size_t i = 0; i < program->variable_count; i++) {
        program->const_bytes += program->variables[i].is_const ? program->variables[i].size : 0;
    }
    if (make_kernels(program)) {
        program_destroy(program);
        return cudaErrorMemoryAllocation;
    }
    *ret_program = program;
    return cudaSuccess;
}

cudaError_t cpu_program_get(const struct irtb_code_unit *units, size_t count,
                            struct cpu_program **ret_program)
{
    set_failure(NULL);
    pthread_mutex_lock(&programs.lock);
    struct cpu_program *program = find_locked(units, count);
    pthread_mutex_unlock(&programs.lock);
    if (!program) {
        cudaError_t error = program_create(units, count, &program);
        if (error) {
            return error;
        }
        // Another thread may have made the same one meanwhile; the first in the list is used.
        pthread_mutex_lock(&programs.lock);
        struct cpu_program *other = find_locked(units, count);
        if (!other) {
            program->next = programs.list;
            programs.list = program;
        }
        pthread_mutex_unlock(&programs.lock);
        if (other) {
            program_destroy(program);
            program = other;
        }
    }
    *ret_program = program;
    return cudaSuccess;
}

void cpu_program_put(struct cpu_program *program)
{
    pthread_mutex_lock(&programs.lock);
    bool last = --program->refs == 0;
    for (struct cpu_program **p = &programs.list; last && *p; p = &(*p)->next) {
        if (*p == program) {
            *p = program->next;
            break;
        }
    }
    pthread_mutex_unlock(&programs.lock);
    if (last) {
        program_destroy(program);
    }
}

static const unsigned other_lanes[CPU_FORMS] = {16, 8, 1};

// In the wanted form if the kernel has it, else in the one-lane form.
static int compile_form(const struct cpu_program *program, const struct cpu_kernel *kernel,
                        struct jit_kernel **ret_code, char *message, size_t size)
{
    const struct jit_engine *e = cpu_engine();
    struct jit_options options = {
        .lanes = kernel->lanes ? kernel->lanes : cpu.warp_form ? 32 : 1,
        .debug = cpu.perf != CPU_PERF_OFF,
    };
    if (options.lanes > 1) {
        if (e->compile(program->program, kernel->index, &options, ret_code, message, size) == 0) {
            return 0;
        }
        CPU_LOG("cpu", CPU_DEBUG, "kernel %s: one-lane form: %s", kernel->function->name, message);
        message[0] = '\0';
    }
    options.lanes = 1;
    return e->compile(program->program, kernel->index, &options, ret_code, message, size);
}

static cudaError_t make_others(struct cpu_kernel *kernel)
{
    for (unsigned n = 0; n < CPU_FORMS; n++) {
        struct cpu_kernel *other = calloc(1, sizeof *other);
        if (!other) {
            return cudaErrorMemoryAllocation;
        }
        other->function = kernel->function;
        other->index = kernel->index;
        other->params = kernel->params;
        other->lanes = other_lanes[n];
        pthread_mutex_init(&other->lock, NULL);
        pthread_cond_init(&other->changed, NULL);
        kernel->others[n] = other;
    }
    return cudaSuccess;
}

static cudaError_t compile_open(struct cpu_program *program, struct cpu_kernel *kernel)
{
    char message[MESSAGE_SIZE] = "";
    struct jit_kernel *code;
    if (!engine_enter()) {
        return cudaErrorCudartUnloading;
    }
    int r = compile_form(program, kernel, &code, message, sizeof message);
    engine_leave();
    if (r) {
        CPU_LOG("cpu", CPU_ERROR, "kernel %s cannot be compiled: %s", kernel->function->name,
                message);
        set_failure(message);
        return cudaErrorNotSupported;
    }
    kernel->code = code;
    kernel->debug = cpu_debug_add(kernel->function->name, code->object, code->object_size,
                                  (uintptr_t)code->thread);
    if (code->lanes > 1 && !kernel->lanes && make_others(kernel)) {
        return cudaErrorMemoryAllocation;
    }
    kernel->exec = (struct exec_kernel){
        .name = kernel->function->name,
        .lanes = code->lanes,
        .thread = code->thread,
        .block = code->block,
        .frame_size = code->frame_size,
        .local_size = code->local_size,
        .static_shared = code->static_shared,
        .dynamic_shared_offset = code->dynamic_shared_offset,
        .can_spin = code->can_spin,
        .uses_cluster = code->uses_cluster,
        .helpers = cpu_engine()->helpers(),
    };
    return cudaSuccess;
}

static cudaError_t compile(struct cpu_program *program, struct cpu_kernel *kernel)
{
    pthread_rwlock_rdlock(&compile_gate);
    cudaError_t error =
        compile_gate_closed ? cudaErrorCudartUnloading : compile_open(program, kernel);
    pthread_rwlock_unlock(&compile_gate);
    return error;
}

cudaError_t cpu_kernel_compile(struct cpu_program *program, struct cpu_kernel *kernel)
{
    if (atomic_load_explicit(&kernel->ready, memory_order_acquire)) {
        return cudaSuccess;
    }
    set_failure(NULL);
    pthread_mutex_lock(&kernel->lock);
    while (kernel->state == CPU_KERNEL_COMPILING) {
        pthread_cond_wait(&kernel->changed, &kernel->lock);
    }
    if (kernel->state == CPU_KERNEL_NEW) {
        kernel->state = CPU_KERNEL_COMPILING;
        pthread_mutex_unlock(&kernel->lock);
        cudaError_t error = compile(program, kernel);
        pthread_mutex_lock(&kernel->lock);
        kernel->error = error;
        kernel->state = error ? CPU_KERNEL_BAD : CPU_KERNEL_READY;
        atomic_store_explicit(&kernel->ready, !error, memory_order_release);
        pthread_cond_broadcast(&kernel->changed);
    }
    cudaError_t error = kernel->state == CPU_KERNEL_BAD ? kernel->error : cudaSuccess;
    pthread_mutex_unlock(&kernel->lock);
    return error;
}

// Threads in step are of one row.
static bool fits(const uint32_t block[3], unsigned lanes)
{
    return block[0] % lanes == 0 || block[1] * block[2] == 1;
}

cudaError_t cpu_kernel_for(struct cpu_program *program, struct cpu_kernel *kernel,
                           const uint32_t block[3], bool cluster, struct cpu_kernel **ret_kernel)
{
    *ret_kernel = kernel;
    if (kernel->exec.lanes == 1 || (fits(block, kernel->exec.lanes) && !cluster)) {
        return cudaSuccess;
    }
    for (unsigned n = 0; n < CPU_FORMS; n++) {
        struct cpu_kernel *other = kernel->others[n];
        if (other->lanes == 1 || (fits(block, other->lanes) && !cluster)) {
            *ret_kernel = other;
            return cpu_kernel_compile(program, other);
        }
    }
    return cudaErrorUnknown; // not reached: one lane fits all
}
