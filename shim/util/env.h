// SPDX-License-Identifier: Apache-2.0
//
// The environment variables that the project reads: one line each in shim/api/env.def (name,
// default, help). Values are read once, at the first question, with secure_getenv, and kept: later
// setenv calls of the application change nothing and cannot race with us.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct irt_env_variable {
    const char *name;
    const char *standard; // value that counts when it is not set; NULL: none
    const char *help;
};

// All variables, in the order of env.def, for `infinirt info` and the documentation.
const struct irt_env_variable *irt_env_list(size_t *ret_count);

// The variable's value (the default when it is not set; NULL when there is neither). NULL for a
// name that env.def does not hold. The string lives for ever. Any thread, no locks.
const char *irt_env(const char *name);

// The same as a whole number, decimal or 0x…; `fallback` when it is not set, not a number or not
// in [low, high] (one warning line for the latter two).
long long irt_env_number(const char *name, long long low, long long high, long long fallback);

// True for 1, true, yes, on; false for 0, false, no, off and for none; one warning line otherwise.
bool irt_env_flag(const char *name);

// Parses a whole number with nothing behind it. False when it is none or out of range.
bool irt_parse_number(const char *text, long long low, long long high, long long *ret_value);
