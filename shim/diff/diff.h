// SPDX-License-Identifier: Apache-2.0
//
// Two backends in one run (INFINIRT_BACKEND=diff:A,B): a table of operations that does everything
// with both and compares. The application sees A; B has a shadow of every allocation, stream, event
// and module. Work is done at once, A first, so that after every copy, fill and launch the bytes of
// all allocations can be compared. The first difference is reported on stderr and a reproducer is
// written; from then on B rests. What cannot be compared is not there (801): arrays, textures,
// memory shared between processes, virtual memory, values that streams wait for, native graphs.
// Consequences: a launch waits for its kernel, so that a kernel that waits for a later call never
// ends. Callers: shim/dispatch.
#pragma once

#include "backends/backend.h"

struct irt_diff_side {
    const struct irtb_backend *backend; // with its providers in front
    const char *name;                   // as the user wrote it
};

// The table. Once per process.
const struct irtb_backend *irt_diff(const struct irt_diff_side *a, const struct irt_diff_side *b);
