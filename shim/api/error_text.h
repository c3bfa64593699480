// SPDX-License-Identifier: Apache-2.0
//
// Names and texts of error codes, as each release knows them. The rows are generated from
// errors.tsv; the callers are the front ends (compat/cudaNN) and messages of shim/core.
#pragma once

// One code, as known from release `since` to release `until` (CUDART_VERSION).
struct irt_error_row {
    int code, since, until;
    const char *name, *text;
};

extern const struct irt_error_row irt_error_rows[]; // generated; sorted by code, then since
extern const unsigned irt_error_row_count;

// Name ("cudaErrorInvalidValue") or text ("invalid argument") of `code` in `release`. Static
// storage, never NULL: codes that the release does not know give "unrecognized error code".
const char *irt_error_name(int code, int release);
const char *irt_error_text(int code, int release);
