// SPDX-License-Identifier: Apache-2.0
//
// What the verbs want to know about an ELF file, read with libelf: what it needs, what it imports
// from libcudart, its device code sections; and what the dynamic loader would load with it. Knows
// nothing of fat binaries and of CUDA's API.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct binary; // an open ELF file

// Opens a regular file. NULL with a reason when it cannot be read; a file that is not ELF is opened
// too (binary_is_elf says so), because scripts can be run.
struct binary *binary_open(const char *path, char *ret_why, size_t why_size);
struct binary *binary_close(struct binary *binary); // NULL ok; returns NULL

bool binary_is_elf(const struct binary *binary);
// 64-bit x86, the only machine that the front ends are built for here.
bool binary_is_native(const struct binary *binary);
// Path of the dynamic loader, or NULL: not a dynamic executable (a shared object, or all static).
const char *binary_interpreter(const struct binary *binary);
bool binary_is_dynamic(const struct binary *binary);

// Contents of the section of that name, in the order of the file; index 0 is the first. False when
// there is no (further) one. The bytes belong to `binary`.
bool binary_section(const struct binary *binary, const char *name, size_t index,
                    const void **ret_data, size_t *ret_size);

// Calls `visit` for each undefined dynamic symbol that is bound to a library whose name begins
// with `library` ("libcudart.so."), or that has no version and begins with "cuda" or "__cuda";
// `from` is the library, or NULL.
void binary_imports(const struct binary *binary, const char *library,
                    void (*visit)(void *user, const char *name, const char *from), void *user);

// Calls `visit` for every library that the dynamic loader would load with `path`, dependencies of
// dependencies included; `file` is NULL when it was not found. Runs the loader, never the program.
// False when the loader could not be run.
bool binary_loaded(const char *path, const char *interpreter,
                   void (*visit)(void *user, const char *name, const char *file), void *user);

// Names of the kernels in an ELF image of device code in memory (".nv.constant0.NAME" sections).
void binary_device_kernels(const void *image, size_t size,
                           void (*visit)(void *user, const char *name), void *user);
