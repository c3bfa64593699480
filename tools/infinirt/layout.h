// SPDX-License-Identifier: Apache-2.0
//
// Where the files of this installation lie, seen from the running executable, so that the whole
// prefix can be moved. Used by every verb.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// The CUDA majors that have a front end, newest first; ends with 0.
extern const int layout_majors[];

// "libcudart.so.13"; NULL for a major without a front end.
const char *layout_soname(int major);

// The major of a file or SONAME such as "libcudart.so.11.0"; 0 when it is none of ours.
int layout_major(const char *soname);

// Folder of the libraries, <prefix>/lib/infinirt. False (and a complaint) when it cannot be found.
bool layout_library_folder(char *ret_path, size_t size);
