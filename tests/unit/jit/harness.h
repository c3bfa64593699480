// SPDX-License-Identifier: Apache-2.0
//
// Runs PTX snippets end to end (ptx -> ir -> jit) on arrays, for tests that compare with an oracle
// in C. No executor: the harness plays one, with blocks one after the other and a plain scheduler
// for kernels that suspend (barriers, warp operations on the lanes that named themselves).
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backends/cpu/jit/engine.h"

struct harness; // one compiled kernel

// Compiles the entry `name` (NULL: the first one). NULL on failure: see harness_message().
struct harness *harness_compile(const char *ptx, const char *name);
const char *harness_message(void); // why the last compile or run failed
// The same, and in the warp form too: blocks that it can run are run by it. NULL also when the
// kernel has no warp form. With HARNESS_LANES=32 in the environment harness_compile does this where
// there is one.
struct harness *harness_compile_warp(const char *ptx, const char *name);
void harness_warp_lanes(unsigned lanes); // of the warp forms compiled from now on: 32, 16 or 8
void harness_quick(bool quick); // compile with hardly any optimisation from now on
// Which form runs from now on: 1 or 32 lanes.
void harness_choose(struct harness *h, unsigned lanes);
void harness_free(struct harness *h);
const struct jit_kernel *harness_kernel(const struct harness *h);
// Memory of a .global/.const variable, initialised; NULL when there is none of that name.
void *harness_variable(struct harness *h, const char *name);

struct harness_launch {
    uint32_t grid[3], block[3]; // 0 counts as 1
    uint32_t dynamic_shared;    // bytes
};
// Runs all blocks. 0; -1 when the kernel trapped, asserted or deadlocked (harness_message()).
int harness_run(struct harness *h, const struct harness_launch *launch, const void *params);
// Text that the kernel printed with vprintf format strings (arguments are not expanded).
const char *harness_printed(const struct harness *h);

// One operation on `count` elements. The body is PTX that reads registers a, b, c and writes d (and
// e): types are PTX bit types ("b16", "b32", "b64", "pred" for d and e only; b8 arrays are loaded
// into b16 registers). NULL: register not there. Registers that the body may use: %p<8> .pred,
// %h<16> .b16, %r<16> .b32, %x<16> .b64. Returns 0, or -1 with harness_message().
struct harness_op {
    const char *a, *b, *c, *d, *e;
    const char *body;
};
int harness_map(const struct harness_op *op, size_t count, const void *a, const void *b,
                const void *c, void *d, void *e);
