// SPDX-License-Identifier: Apache-2.0
//
// Initialisers of .samplerref variables.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Value (image_ops.h, EXEC_SAMPLER) of "{ addr_mode_0 = wrap, filter_mode = nearest, … }"; NULL:
// no initialiser, all defaults (wrap, nearest, normalised). 0, or -1 with one line in message.
// Source: PTX ISA 9.0, "Texture Sampler and Surface Types".
int jit_sampler_value(const char *text, uint64_t *ret_value, char *message, size_t size);
