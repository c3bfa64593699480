// SPDX-License-Identifier: Apache-2.0
//
// Device code on its way from what a program hands over (a registered wrapper, a fat binary, PTX
// text, the content of a file) to the units that a backend loads: which image is chosen, unpacked
// copies of its text, and what is said when there is nothing usable. Knows no devices, no handles
// and no registration; holds no state. Callers: module.c (registered code), library.c (code that
// the program loads by hand).
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "backends/backend.h"
#include "shim/fatbin/fatbin.h"

// Where the code comes from, for messages, and for which device it is chosen.
struct irt_code_origin {
    const char *name; // "a.out", "kernels.fatbin"
    unsigned number;  // of the module
    unsigned arch;    // 80 for compute capability 8.0
    char *why;        // where the reason of a failure is written too, or NULL
    size_t why_size;
};

// Units for irtb_backend.module_load; owned by the holder, freed by irt_code_free.
struct irt_code {
    struct irtb_code_unit *units; // text and name are malloc'ed
    size_t count;
};

// The units of a registered wrapper. Its pointers are believed. On failure `ret_code` is empty.
// Errors, each with one line on the log: cudaErrorInvalidKernelImage (200: no fat binary, damaged),
// cudaErrorNoKernelImageForDevice (209: no PTX inside), cudaErrorMemoryAllocation.
cudaError_t irt_code_from_wrapper(const struct irt_fatbin_wrapper *wrapper,
                                  const struct irt_code_origin *origin, struct irt_code *ret_code);

// The units of whatever [data, data + size) is: a fat binary, machine code (always 209) or PTX text
// (which needs no NUL). A wrapper is not accepted: it holds pointers. Errors as above, and
// cudaErrorInvalidPtx (218) for bytes that are no text.
cudaError_t irt_code_from_bytes(const void *data, size_t size, const struct irt_code_origin *origin,
                                struct irt_code *ret_code);

// The same for code in memory without a known size, as cudaLibraryLoadData gets it: the size is
// taken from the headers inside or from the first NUL, and the memory must be readable that far. A
// wrapper is accepted. cudaErrorInvalidKernelImage when the headers lead outside.
cudaError_t irt_code_from_memory(const void *data, const struct irt_code_origin *origin,
                                 struct irt_code *ret_code);

// Several PTX texts as one image, malloc'ed, that the two functions above take as so many units to be
// linked: what the linker of the driver API gives out. Texts are NUL-terminated. NULL: no memory.
void *irt_code_join(char *const *texts, size_t count, size_t *ret_size);

// The highest .version among the units, 90 for 9.0; 0 when there is none.
unsigned irt_code_ptx_version(const struct irt_code *code);

// Frees the units and empties the struct; an empty one is fine.
void irt_code_free(struct irt_code *code);
