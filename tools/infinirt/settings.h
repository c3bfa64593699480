// SPDX-License-Identifier: Apache-2.0
//
// Options that several verbs share and that are nothing but environment variables of the library
// (shim/api/env.def): one table row each.
#pragma once

#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>

enum { SETTING_FIRST = 256 }; // values of the options in struct option.val start here

// Writes the shared options into [out, …), which has room for SETTINGS_MAX, and returns how many.
enum { SETTINGS_MAX = 8 };
int settings_options(struct option *out);

// Handles one option that getopt_long returned. True when it was one of the shared ones and its
// value is good; false with *ret_bad_value set accordingly otherwise.
bool settings_apply(int option, const char *value, bool *ret_bad_value);

void settings_help(FILE *out);
