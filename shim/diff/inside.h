// SPDX-License-Identifier: Apache-2.0
//
// What the files of this folder share: the two sides, the shadows of allocations (shadow.c), and
// the report (report.c). One lock guards all work and all lists: operations run one after the
// other.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "shim/diff/diff.h"
#include "shim/util/interval.h"

enum { DIFF_A, DIFF_B };

extern struct irt_diff_state {
    struct irt_diff_side side[2];
    bool over;                // a difference was found: B rests
    unsigned long long calls; // operations so far
} irt_diff_state;

// Memory of A with its shadow. `host`: the host may write it at any time.
struct irt_diff_memory {
    struct irt_interval interval; // of A's addresses
    char *a, *b;
    size_t size;
    int device;
    bool host;
    enum irtb_memory_kind kind;
    void *owner; // module of a variable, or NULL
    struct irt_diff_memory *next;
};

struct irtb_stream {
    struct irtb_stream *side[2];
    int device;
};

struct irtb_module {
    struct irtb_module *side[2]; // B: NULL when it could not load it
    const struct irtb_code_unit *units;
    size_t count;
    int device;
    struct irtb_function *functions;
};

struct irtb_function {
    struct irtb_function *side[2]; // B: NULL when it lacks the kernel
    struct irtb_module *module;
    struct irtb_function *next;
    bool told; // that B cannot run it
    char name[];
};

// ---- shadow.c ----

extern struct irt_diff_memory *irt_diff_memories;
// Takes over `b`. False without memory.
bool irt_diff_remember(const struct irt_diff_memory *memory);
void irt_diff_forget(const void *a);
void irt_diff_forget_owner(const void *owner);
struct irt_diff_memory *irt_diff_find(const void *a); // also for the address behind the end
// B's address for A's; `a` itself when it is none of ours.
void *irt_diff_translate(const void *a);
// Bytes [offset, offset+size) of one side's memory, into `into`.
cudaError_t irt_diff_read(int side, const struct irt_diff_memory *memory, size_t offset,
                          size_t size, void *into);
cudaError_t irt_diff_write(int side, const struct irt_diff_memory *memory, size_t offset,
                           size_t size, const void *from);
// Whether two different words are A's and B's pointer to the same place.
bool irt_diff_same_pointer(const void *a, const void *b);
// Gives B what the host may have written into A's memory.
void irt_diff_sync_host(void);
// Gives B all of A's memory.
void irt_diff_take_over(void);
// Makes the contents of new memory the same: zeros.
cudaError_t irt_diff_clear(const struct irt_diff_memory *memory);
void irt_diff_drop_streams(int device); // before the device is reset
// The first byte that differs in any memory, or in `only`; pointers that mean the same are equal.
bool irt_diff_compare(const struct irt_diff_memory *only, const struct irt_diff_memory **ret_memory,
                      size_t *ret_offset);

// ---- report.c ----

// B answered `e` to something that A did and that nothing compares: says so unless it succeeded.
void irt_diff_tell(const char *what, cudaError_t e);
// Parameter `index` of the kernel; false past the last one.
bool irt_diff_parameter(const struct irtb_launch *launch, unsigned index,
                        struct irtb_parameter *ret_parameter);

// What was done, for the report: a line like "cudaMemcpy of 16 bytes".
struct irt_diff_call {
    const char *what;
    const struct irtb_launch *launch; // or NULL; its function is the pair's
    struct irt_diff_before *before;   // memory before the launch, or NULL
};
struct irt_diff_before *irt_diff_keep(const struct irtb_launch *launch);
void irt_diff_drop(struct irt_diff_before *before);
// Tells of the first difference and ends the comparison.
void irt_diff_report(const struct irt_diff_call *call, const struct irt_diff_memory *memory,
                     size_t offset);
void irt_diff_report_result(const struct irt_diff_call *call, cudaError_t a, cudaError_t b);
void irt_diff_report_bytes(const struct irt_diff_call *call, const void *a, const void *b,
                           size_t size, size_t offset);
