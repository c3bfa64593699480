// SPDX-License-Identifier: Apache-2.0
//
// Names of C++ functions for people. The C++ library is used when the process has it already: it is
// not loaded for this.
#pragma once

#include <stddef.h>

// "void scale<float>(float*, int)" of "_Z5scaleIfEvPT_i", else the name itself. Cut to `size`.
void irt_demangle(const char *name, char *ret_text, size_t size);
// The same without result type and parameters: "scale<float>".
void irt_demangle_short(const char *name, char *ret_text, size_t size);
