// SPDX-License-Identifier: Apache-2.0
//
// Diagnostics of the PTX parser: position, message and the source line as text. Keeps the first
// PTX_MAX_DIAGNOSTICS and counts the others; prints nothing.
#include "ptx_internal.h"

#include <stdarg.h>
#include <string.h>

// The line around the token, without leading and trailing blanks. Long lines are cut so that the
// token stays in the text.
static void copy_line(char *out, size_t capacity, const char *end, const struct ptx_token *token)
{
    const char *from = token->line_start;
    const char *stop = memchr(token->start, '\n', (size_t)(end - token->start));
    if (stop == NULL) {
        stop = end;
    }
    while (from < stop && (*from == ' ' || *from == '\t')) {
        from++;
    }
    while (stop > from && (unsigned char)stop[-1] <= ' ') {
        stop--;
    }
    if ((size_t)(stop - from) >= capacity && token->start > from &&
        (size_t)(token->start - from) > capacity / 2) {
        from = token->start - capacity / 2;
    }
    size_t size = (size_t)(stop - from);
    if (size > capacity - 1) {
        size = capacity - 1;
    }
    for (size_t i = 0; i < size; i++) {
        unsigned char c = (unsigned char)from[i];
        out[i] = (char)(c < ' ' ? ' ' : c >= 0x7f ? '?' : c);
    }
    out[size] = '\0';
}

void ptx_diag_add(struct ptx_diagnostics *diagnostics, const char *end,
                  const struct ptx_token *token, const char *format, ...)
{
    diagnostics->total++;
    if (diagnostics->count == PTX_MAX_DIAGNOSTICS) {
        return;
    }
    struct ptx_diagnostic *item = &diagnostics->items[diagnostics->count++];
    item->line = token->line;
    item->column = (uint32_t)(token->start - token->line_start) + 1;
    va_list arguments;
    va_start(arguments, format);
    // NOLINTNEXTLINE(clang-analyzer-valist.Uninitialized): started in the line before
    vsnprintf(item->message, sizeof(item->message), format, arguments);
    va_end(arguments);
    copy_line(item->text, sizeof(item->text), end, token);
}
