// SPDX-License-Identifier: Apache-2.0
//
// Where code comes from: .file, .loc, and the names of inlined functions, which .loc gives as
// labels of the section .debug_str that follows the functions. All other debug sections are only
// checked for their structure.
#include "ptx_internal.h"

#include <stdlib.h>
#include <string.h>

// What `inlined_at` of a later .loc refers to.
struct ptx_position {
    uint32_t at[3]; // file, line, column
    bool oom;
    const struct ptx_loc *loc;
    UT_hash_handle hh;
};

// A .loc whose function_name is known at the end of the module.
struct ptx_loc_name {
    struct ptx_loc *loc;
    const char *label;
    size_t length;
    uint64_t offset;
    struct ptx_loc_name *next;
};

struct ptx_debug_label {
    const char *name;
    size_t offset; // in `strings`
    bool oom;
    UT_hash_handle hh;
};

// .file number "name" [, time, size]
bool ptx_parse_file(struct ptx_parser *p)
{
    uint64_t number, ignored;
    if (!ptx_expression_integer(p, &number)) {
        return false;
    }
    if (p->token.kind != PTX_TOK_STRING) {
        return ptx_expected(p, "a file name");
    }
    p->files = ptx_grow(p, p->files, &p->file_capacity, p->file_count + 1, sizeof(*p->files));
    p->files[p->file_count++] = (struct ptx_file){
        .index = number <= UINT32_MAX ? (uint32_t)number : 0,
        .name = ptx_new_text(p, p->token.start, p->token.length),
    };
    ptx_next(p);
    while (ptx_accept(p, ',')) {
        if (!ptx_expression_integer(p, &ignored)) {
            return false;
        }
    }
    return true;
}

// ---------------------------------------------------------------- sections

// The current token is a label of .debug_str unless something else than ':' follows it.
static void take_label(struct ptx_parser *p)
{
    const struct ptx_token token = p->token;
    ptx_next(p);
    if (!ptx_is_punct(p, ':')) {
        return;
    }
    struct ptx_debug_label *label;
    HASH_FIND(hh, p->labels, token.start, token.length, label);
    if (label != NULL) {
        return;
    }
    label = ptx_new(p, sizeof(*label));
    label->name = ptx_new_text(p, token.start, token.length);
    label->offset = p->string_count;
    HASH_ADD_KEYPTR(hh, p->labels, label->name, token.length, label);
    if (label->oom) {
        longjmp(p->fatal, 1);
    }
}

static void take_byte(struct ptx_parser *p)
{
    p->strings = ptx_grow(p, p->strings, &p->string_capacity, p->string_count + 1, 1);
    p->strings[p->string_count++] = (char)p->token.value;
    ptx_next(p);
}

// .section .name { data and labels }: words, numbers and punctuation up to the closing brace.
bool ptx_parse_section(struct ptx_parser *p)
{
    bool strings = ptx_is_dot(p, "debug_str");
    while (!ptx_is_punct(p, '{')) {
        bool name = p->token.kind == PTX_TOK_DOT || p->token.kind == PTX_TOK_IDENT ||
                    p->token.kind == PTX_TOK_STRING || ptx_is_punct(p, ',');
        if (!name) {
            return ptx_expected(p, "'{'");
        }
        ptx_next(p);
    }
    while (!ptx_is_punct(p, '}')) {
        if (p->token.kind == PTX_TOK_END || p->token.kind == PTX_TOK_BAD) {
            return ptx_expected(p, "'}'");
        }
        if (strings && p->token.kind == PTX_TOK_IDENT) {
            take_label(p);
        } else if (strings && p->token.kind == PTX_TOK_INT) {
            take_byte(p);
        } else {
            ptx_next(p);
        }
    }
    ptx_next(p);
    return true;
}

// ---------------------------------------------------------------- .loc

static bool position(struct ptx_parser *p, uint32_t at[3])
{
    for (unsigned i = 0; i < 3; i++) {
        if (p->token.kind != PTX_TOK_INT) {
            return ptx_expected(p, "a number");
        }
        at[i] = p->token.value <= UINT32_MAX ? (uint32_t)p->token.value : 0;
        ptx_next(p);
    }
    return true;
}

static bool accept_word(struct ptx_parser *p, const char *word)
{
    size_t size = strlen(word);
    bool same = p->token.kind == PTX_TOK_IDENT && p->token.length == size &&
                memcmp(p->token.start, word, size) == 0;
    if (same) {
        ptx_next(p);
    }
    return same;
}

// label [+ offset]
static bool function_name(struct ptx_parser *p, struct ptx_loc_name *ret_name)
{
    if (p->token.kind != PTX_TOK_IDENT) {
        return ptx_expected(p, "a label of a debug section");
    }
    ret_name->label = p->token.start;
    ret_name->length = p->token.length;
    ptx_next(p);
    return ptx_expression_offset(p, &ret_name->offset);
}

// The last .loc of the position: code that was inlined into inlined code names it as the place.
static const struct ptx_loc *find_position(struct ptx_parser *p, const uint32_t at[3])
{
    struct ptx_position *known;
    HASH_FIND(hh, p->positions, at, sizeof(known->at), known);
    if (known != NULL) {
        return known->loc;
    }
    struct ptx_loc *loc = ptx_new(p, sizeof(*loc));
    *loc = (struct ptx_loc){.file = at[0], .line = at[1], .column = at[2]};
    return loc;
}

static void set_position(struct ptx_parser *p, const struct ptx_loc *loc)
{
    uint32_t at[3] = {loc->file, loc->line, loc->column};
    struct ptx_position *known;
    HASH_FIND(hh, p->positions, at, sizeof(at), known);
    if (known == NULL) {
        known = ptx_new(p, sizeof(*known));
        memcpy(known->at, at, sizeof(at));
        HASH_ADD(hh, p->positions, at, sizeof(at), known);
        if (known->oom) {
            longjmp(p->fatal, 1);
        }
    }
    known->loc = loc;
}

// file line column [, function_name label [+ offset]] [, inlined_at file line column]
bool ptx_parse_loc(struct ptx_parser *p)
{
    uint32_t at[3] = {0}, outer[3];
    struct ptx_loc_name name = {.label = NULL};
    bool inlined = false;
    if (!position(p, at)) {
        return false;
    }
    while (ptx_accept(p, ',')) {
        if (accept_word(p, "inlined_at")) {
            inlined = true;
            if (!position(p, outer)) {
                return false;
            }
        } else if (!accept_word(p, "function_name")) {
            return ptx_expected(p, "function_name or inlined_at");
        } else if (!function_name(p, &name)) {
            return false;
        }
    }
    struct ptx_loc *loc = ptx_new(p, sizeof(*loc));
    *loc = (struct ptx_loc){.file = at[0], .line = at[1], .column = at[2]};
    if (inlined) {
        loc->inlined_at = find_position(p, outer);
    }
    if (inlined && name.label != NULL) {
        struct ptx_loc_name *kept = ptx_new(p, sizeof(*kept));
        *kept = name;
        kept->loc = loc;
        kept->next = p->loc_names;
        p->loc_names = kept;
    }
    if (p->function != NULL) {
        set_position(p, loc);
        p->loc = loc;
    }
    return true;
}

void ptx_loc_leave(struct ptx_parser *p)
{
    p->loc = NULL;
    HASH_CLEAR(hh, p->positions);
}

void ptx_loc_finish(struct ptx_parser *p)
{
    if (p->file_count > 0) {
        size_t size = p->file_count * sizeof(*p->files);
        p->module->files = ptx_new(p, size);
        memcpy(p->module->files, p->files, size);
        p->module->file_count = p->file_count;
    }
    // One copy, so that equal labels give the same pointer.
    const char *strings = ptx_new_text(p, p->strings != NULL ? p->strings : "", p->string_count);
    for (struct ptx_loc_name *at = p->loc_names; at != NULL; at = at->next) {
        struct ptx_debug_label *label;
        HASH_FIND(hh, p->labels, at->label, at->length, label);
        if (label != NULL && at->offset < p->string_count - label->offset &&
            strings[label->offset + at->offset] != '\0') {
            at->loc->function = strings + label->offset + at->offset;
        }
    }
}

void ptx_loc_free(struct ptx_parser *p)
{
    HASH_CLEAR(hh, p->positions);
    HASH_CLEAR(hh, p->labels);
    free(p->files);
    free(p->strings);
}
