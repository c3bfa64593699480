// SPDX-License-Identifier: Apache-2.0
//
// What the builder asks of a linked program (program.c), beyond ir.h.
#pragma once

#include "ir_internal.h"

// Index of the definition (or sole declaration) that a module's symbol means; UINT32_MAX for
// variables without storage in the program (.local, textures).
uint32_t ir_program_function_of(const struct ir_program *program,
                                const struct ptx_function *function);
uint32_t ir_program_variable_of(const struct ir_program *program,
                                const struct ptx_variable *variable);
// Is the address of the function taken anywhere in the program?
bool ir_program_address_taken(const struct ir_program *program, uint32_t function);
// Is there more than extern declarations of the variable?
bool ir_program_variable_defined(const struct ir_program *program, uint32_t variable);
