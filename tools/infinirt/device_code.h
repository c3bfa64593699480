// SPDX-License-Identifier: Apache-2.0
//
// The device code of a program and its libraries: which kernels there are, whether they exist as
// PTX, and whether the PTX compiles. Used by `infinirt doctor` only.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct binary;
struct engine;
struct device_code;

struct kernel {
    char *name; // mangled, as in the PTX
    bool has_ptx;
    char *error; // why it does not compile, or NULL
};

struct device_code_summary {
    size_t modules;                       // fat binaries that hold anything
    size_t with_ptx, without_ptx, failed; // kernels
    char machine_code[256];               // of fat binaries without PTX: "machine code for sm_90"
    char damaged[256];                    // first fat binary or PTX text that cannot be read
};

// `engine` may be NULL: then PTX is not compiled and its kernels' names are taken from the text.
struct device_code *device_code_create(const struct engine *engine);
void device_code_destroy(struct device_code *code); // NULL ok

// Adds the device code in `binary`; returns the number of fat binaries with something inside.
size_t device_code_add(struct device_code *code, const struct binary *binary);

// Each kernel once, in the order in which they were found.
void device_code_kernels(const struct device_code *code,
                         void (*visit)(void *user, const struct kernel *kernel), void *user);
const struct device_code_summary *device_code_summary(struct device_code *code);
