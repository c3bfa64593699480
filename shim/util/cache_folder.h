// SPDX-License-Identifier: Apache-2.0
//
// Where compiled kernels are kept between runs and how much of them. CUDA's own variables count:
// CUDA_CACHE_DISABLE, CUDA_CACHE_PATH, CUDA_CACHE_MAXSIZE (CUDA C++ Programming Guide, "CUDA
// Environment Variables"); INFINIRT_CACHE_DIR names the folder itself and comes before them.
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { IRT_CACHE_PATH_MAX = 4096 };

// What NVIDIA's driver keeps at most, by default and whatever is asked for.
#define IRT_CACHE_DEFAULT ((uint64_t)1 << 30)
#define IRT_CACHE_MOST ((uint64_t)4 << 30)

struct irt_cache_folder {
    char path[IRT_CACHE_PATH_MAX];
    const char *variable; // that names it, or NULL: the user's own cache folder
    uint64_t limit;       // bytes of all files
    bool bad_limit;       // CUDA_CACHE_MAXSIZE is not a number of bytes: the default counts
};

// Reads the environment; nothing is created. False: nothing is kept (asked for, or there is no
// home, or the path is too long). In a set-user-ID program the variables do not count. Any thread.
bool irt_cache_folder(struct irt_cache_folder *ret_folder);
