// SPDX-License-Identifier: Apache-2.0
//
// Reads the object of a compiled kernel (a relocatable ELF file that our compiler made, DWARF 4):
// functions of its section of code, and which source line each piece of it is of. Nothing is
// allocated; what is damaged ends the reading. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <elf.h>

struct exec_object {
    const unsigned char *data;
    size_t size;
    const Elf64_Shdr *sections;
    unsigned count, text; // text: number of the section with the code (.text, .ltext)
};

// False when it is no such object. The data stays the caller's, 8-byte aligned.
bool exec_object_open(const void *data, size_t size, struct exec_object *ret_object);
const Elf64_Shdr *exec_object_section(const struct exec_object *object,
                                      const char *name); // or NULL

struct exec_object_function {
    const char *name;
    uint64_t start, size; // in the section of code
};
// Function number `n` of the code, or false behind the last.
bool exec_object_function(const struct exec_object *object, size_t n,
                          struct exec_object_function *ret_function);

// A piece of code from `start` to the start of the next row.
struct exec_line {
    uint64_t start;
    // The path of the file is folder, a slash if the folder is not "", and file ("?": not known).
    const char *folder, *file;
    uint32_t line; // 0: of no line
    bool end;      // behind the last piece
};
// Calls row(data, …) for each row in order, until it returns false. False without a line table.
bool exec_object_lines(const struct exec_object *object,
                       bool (*row)(void *data, const struct exec_line *line), void *data);
