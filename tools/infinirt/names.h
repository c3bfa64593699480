// SPDX-License-Identifier: Apache-2.0
//
// What each front end exports and whether there is an implementation behind it; generated from the
// API table by names.py.
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct api_name {
    int major;
    const char *name;
    bool works; // false: a stub that answers cudaErrorNotSupported
};

extern const struct api_name api_names[];
extern const size_t api_names_count;
