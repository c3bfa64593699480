// SPDX-License-Identifier: Apache-2.0
//
// From an IR unit to machine code. The only room that includes LLVM headers. A compiled kernel is
// immutable and shared by all devices and threads; it is freed with jit_kernel_unref.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../kernel_abi.h"

struct ir_unit;

struct jit_kernel {
    exec_thread_fn thread;  // always there; warp form: of a warp, see `lanes`
    exec_block_fn block;    // NULL when the kernel has suspension points
    uint32_t lanes;         // 1; or 32, 16, 8: `thread` runs so many threads in step, whose struct
                            // exec_thread is that of the first. Only for blocks of one row, or
                            // with rows of a multiple of the lanes
    uint32_t frame_size;    // bytes per thread of struct exec_thread.frame (with call depth)
    uint64_t local_size;    // bytes per thread of struct exec_thread.local
    uint32_t static_shared; // bytes
    uint32_t dynamic_shared_offset; // where dynamic shared memory starts in the window
    bool uses_printf, uses_malloc, can_spin, recursive;
    bool uses_cluster; // of shared memory: see exec_ctx.shared_origin
    size_t code_size; // bytes of machine code
    // For debuggers: the object (ELF, relocatable) that the code was linked from, when it has line
    // tables or options.debug asked for it, else NULL. `thread` is its symbol of this name.
    const void *object;
    size_t object_size;
};

// How the code is generated. lanes: 1, or 32, 16, 8 for the warp form (an error that contains "warp
// form:" where it is not possible).
struct jit_options {
    unsigned lanes;
    bool debug; // keep the object
    bool quick; // hardly any optimisation (tests that compile a lot)
};

// Compiles the unit for the processor this runs on. 0, or -1 with one line in ret_message (which
// instruction, which line, what is missing). Any thread; compilations may run in parallel.
int jit_compile(const struct ir_unit *unit, const struct jit_options *options,
                struct jit_kernel **ret_kernel, char *ret_message, size_t message_size);
// NULL ok; returns NULL. Once the process exits nothing is freed any more, and compiling is
// refused.
struct jit_kernel *jit_kernel_unref(struct jit_kernel *kernel);

// Table for exec_runtime.helpers, valid after the first jit_compile; the same for every kernel.
void *const *jit_helpers(void);
// "LLVM 19.1.7, host cpu sapphirerapids, +avx512f…" for `infinirt info`.
const char *jit_description(void);
