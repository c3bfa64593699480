// SPDX-License-Identifier: Apache-2.0
//
// The functions that only turn their arguments into a value: error names and texts, and channel
// descriptions. They know no device, thread or stream and never fail.
#include <stddef.h>

#include "error_text.h"
#include "irt_core.h"

static const struct irt_error_row *find(int code, int release)
{
    unsigned low = 0;
    unsigned high = irt_error_row_count;
    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (irt_error_rows[middle].code < code) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (; low < irt_error_row_count && irt_error_rows[low].code == code; low++) {
        if (irt_error_rows[low].since <= release && release <= irt_error_rows[low].until) {
            return &irt_error_rows[low];
        }
    }
    return NULL;
}

const char *irt_error_name(int code, int release)
{
    const struct irt_error_row *row = find(code, release);
    return row ? row->name : "unrecognized error code";
}

const char *irt_error_text(int code, int release)
{
    const struct irt_error_row *row = find(code, release);
    return row ? row->text : "unrecognized error code";
}

struct cudaChannelFormatDesc irt_core_cudaCreateChannelDesc(int x, int y, int z, int w,
                                                            enum cudaChannelFormatKind f)
{
    return (struct cudaChannelFormatDesc){.x = x, .y = y, .z = z, .w = w, .f = f};
}
