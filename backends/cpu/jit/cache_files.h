// SPDX-License-Identifier: Apache-2.0
//
// The folder of the cache on disk: opened once, kept below its limit by removing the files that
// were used longest ago. Any number of processes share it without locks: files appear by rename and
// are gone by unlink, both at once. Any thread.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// File descriptor of the folder, made at the first call; -1 when nothing is kept: switched off, or
// not a folder that only this user can write to (one line says so, unless nobody asked for it).
int cache_files_folder(void);
// Whether a file of that size may be kept at all.
bool cache_files_fits(size_t size);
// A file of that size was added.
void cache_files_added(size_t size);
