// SPDX-License-Identifier: Apache-2.0
//
// The door between exec/ and the compiler stages. ptx/, ir/ and jit/ are one module file of their
// own (libirt-cpu-jit.so), because loading LLVM costs 60-75 ms: exec/ opens it (RTLD_LOCAL) when
// the first module is loaded, looks up JIT_ENGINE_SYMBOL and reaches everything through this table.
// exec/ links none of the three stages. Every function may be called from any thread; objects are
// immutable after creation, so they may be shared.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "jit.h"

#define JIT_ENGINE_ABI 2u
#define JIT_ENGINE_SYMBOL "jit_engine_table" // const struct jit_engine jit_engine_table
#define JIT_ENGINE_MODULE "libirt-cpu-jit.so"

// PTX of one translation unit.
struct jit_source {
    const char *text; // copied; need not be NUL-terminated
    size_t size;
    const char *name; // for messages ("vecadd.cu:sm_80"); copied
};

struct jit_param {
    uint32_t offset, size, align; // bytes in the packed parameter block
};

struct jit_function {
    const char *name;
    bool is_entry;
    uint32_t target;                   // the .target of its PTX unit: 80 for sm_80
    uint32_t param_count, params_size; // entries only
    const struct jit_param *params;
    uint32_t maxntid[3], reqntid[3], cluster[3]; // 0 when not given
    uint32_t max_cluster_rank;
    bool explicit_cluster;
    uint64_t address; // the value of its function pointer (IR_FUNCTION_ADDRESS)
};

// A .global or .const variable. Its index here is its index in exec_ctx.symbols. Shared variables
// keep their index too, with size 0 and is_shared set: exec gives them no memory.
struct jit_variable {
    const char *name;
    uint64_t size;
    uint32_t align;
    bool is_const, is_shared, is_managed, has_init;
};

struct jit_program; // linked PTX units; opaque

struct jit_engine {
    uint32_t abi;                     // JIT_ENGINE_ABI
    const char *(*description)(void); // jit_description()
    void *const *(*helpers)(void);    // jit_helpers()
    // Parses and links. 0, or -1 with one line (file, line, text) in ret_message.
    int (*program_create)(const struct jit_source *sources, size_t count,
                          struct jit_program **ret_program, char *ret_message, size_t message_size);
    struct jit_program *(*program_destroy)(struct jit_program *program); // NULL ok; returns NULL
    const struct jit_function *(*functions)(const struct jit_program *program, size_t *ret_count);
    const struct jit_variable *(*variables)(const struct jit_program *program, size_t *ret_count);
    // Writes the initial bytes of variable `index` into image (size bytes, all of them written).
    // `symbols` holds the device address of every variable (for pointers in initialisers).
    // 0, or -1 with a message.
    int (*variable_init)(const struct jit_program *program, uint32_t index, void *const *symbols,
                         void *image, char *ret_message, size_t message_size);
    // Compiles entry `function` (index into functions). See jit_compile.
    int (*compile)(const struct jit_program *program, uint32_t function,
                   const struct jit_options *options, struct jit_kernel **ret_kernel,
                   char *ret_message, size_t message_size);
    struct jit_kernel *(*kernel_unref)(struct jit_kernel *kernel);
};

extern const struct jit_engine jit_engine_table;
