// SPDX-License-Identifier: Apache-2.0
//
// Compiled code that devices share: the engine (ptx, ir, jit; its own module file, opened at the
// first use), linked PTX programs and their kernels. A program is found again by the texts it was
// made from, so that every device's module of a fat binary uses one.
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "backends/backend.h"
#include "exec/grid.h"
#include "exec/stream.h"
#include "jit/engine.h"

enum { CPU_FORMS = 3 }; // 16 and 8 lanes in step, 1 lane

// One entry. Compiled once, by the thread that needs it first; the others wait.
struct cpu_kernel {
    const struct jit_function *function;
    uint32_t index; // in the program's functions
    struct exec_param *params;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    enum { CPU_KERNEL_NEW, CPU_KERNEL_COMPILING, CPU_KERNEL_READY, CPU_KERNEL_BAD } state; // lock
    _Atomic bool ready;      // state is READY, without the lock
    cudaError_t error;       // BAD
    struct jit_kernel *code; // READY
    struct exec_kernel exec; // READY
    struct cpu_debug *debug; // READY: what debuggers know of it, or NULL
    // The same kernel compiled for blocks of other shapes, at most CPU_FORMS; made when this is.
    struct cpu_kernel *others[CPU_FORMS];
    unsigned lanes; // of others: what it is compiled for
};

struct cpu_program {
    struct cpu_program *next; // list of all programs
    unsigned refs;
    size_t unit_count;
    struct irtb_code_unit *units; // the key: addresses and sizes
    struct jit_program *program;
    const struct jit_function *functions;
    size_t function_count;
    const struct jit_variable *variables;
    size_t variable_count;
    struct cpu_kernel *kernels; // one per function; only entries are used
    size_t const_bytes;         // of all .const variables
};

// The engine, or NULL with one line on the log (this build has none, or it cannot be opened).
const struct jit_engine *cpu_engine(void);

// The program of the units, made or found. cudaErrorInvalidPtx with a message, 801 without engine.
cudaError_t cpu_program_get(const struct irtb_code_unit *units, size_t count,
                            struct cpu_program **ret_program);
void cpu_program_put(struct cpu_program *program);

// Why the calling thread's last cpu_program_get or cpu_kernel_compile failed, "" when it did not.
// Valid until its next one.
const char *cpu_program_failure(void);

// Compiles the kernel unless it is, in the form that INFINIRT_CPU_FORM asks for if it has that.
// cudaErrorNotSupported with a message when it cannot be.
cudaError_t cpu_kernel_compile(struct cpu_program *program, struct cpu_kernel *kernel);

// The compiled kernel to use for blocks of a shape: `kernel`, or another form of it, which is
// compiled now unless it is.
cudaError_t cpu_kernel_for(struct cpu_program *program, struct cpu_kernel *kernel,
                           const uint32_t block[3], bool cluster, struct cpu_kernel **ret_kernel);
