// SPDX-License-Identifier: Apache-2.0
//
// What the files of the nvidia backend share. The backend forwards: the slots of a front end hold
// the addresses of NVIDIA's own functions of the same major, or of a vendor's library that has
// CUDA's names and types.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/backend.h"

enum { NVIDIA_PATH_MAX = 4096 };

// File name of the runtime of a CUDA major (11, 12, 13); also its SONAME.
const char *nvidia_soname(int major);

// ---- find.c
// Opens the real runtime of a major. `setting`: INFINIRT_NVIDIA_CUDART or NULL. A library that is
// one of ours, or of another major, or that lacks the basic functions is left out. NULL: none, and
// ret_why says in one line where it was looked for and why what was there did not do. The handle is
// never closed: the runtime may own threads. One thread at a time.
void *nvidia_open(int major, const char *setting, char *ret_path, char *ret_why, size_t why_size);

// ---- driver.c
// Sees to it that the real runtime does not find our libcuda.so.1, which stands in for the driver
// on the cpu backend: where ours is the first on the loader's path, the next one is loaded, so that
// the name is taken. False: there is no other, and ret_why says so.
bool nvidia_guard_driver(char *ret_why, size_t why_size);
// Number of devices as the driver sees them (CUDA_VISIBLE_DEVICES is its matter). An error when
// there is no driver; ret_why says why.
cudaError_t nvidia_driver_devices(int *ret_count, char *ret_why, size_t why_size);

// ---- folders.c
// Calls `visit` with each folder in which the loader would look for a library that the program
// needs: its own RUNPATH, LD_LIBRARY_PATH, the system's. Ends early, and returns true, when `visit`
// does.
bool nvidia_loader_folders(bool (*visit)(const char *folder, void *user), void *user);
// True when the loaded library behind a handle of dlopen needs our core: it is one of ours.
bool nvidia_is_ours(void *handle);
// DT_SONAME of the library behind a handle, or "".
const char *nvidia_soname_of(void *handle);
