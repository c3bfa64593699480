// SPDX-License-Identifier: Apache-2.0
//
// See code_map.h. A list: it is searched only when a kernel has failed.
#include "code_map.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "line_table.h"

struct exec_code {
    struct exec_object object;
    uintptr_t text, end;
    struct exec_code *next;
};

static struct {
    pthread_mutex_t lock;
    struct exec_code *list;
    atomic_uint count;
} codes = {.lock = PTHREAD_MUTEX_INITIALIZER};

struct exec_code *exec_code_add(const void *object, size_t size, uintptr_t text)
{
    struct exec_object o;
    if (!exec_object_open(object, size, &o) || exec_object_section(&o, ".debug_line") == NULL) {
        return NULL;
    }
    struct exec_code *code = calloc(1, sizeof *code);
    if (code == NULL) {
        return NULL;
    }
    code->object = o;
    code->text = text;
    code->end = text + o.sections[o.text].sh_size;
    pthread_mutex_lock(&codes.lock);
    code->next = codes.list;
    codes.list = code;
    atomic_fetch_add(&codes.count, 1);
    pthread_mutex_unlock(&codes.lock);
    return code;
}

struct exec_code *exec_code_remove(struct exec_code *code)
{
    pthread_mutex_lock(&codes.lock);
    for (struct exec_code **at = &codes.list; code != NULL && *at != NULL; at = &(*at)->next) {
        if (*at == code) {
            *at = code->next;
            atomic_fetch_sub(&codes.count, 1);
            break;
        }
    }
    pthread_mutex_unlock(&codes.lock);
    free(code);
    return NULL;
}

struct search {
    uint64_t offset;
    const char *folder, *file; // of the last row that has a line and begins at or before the offset
    uint32_t line;
    bool found;
};

static bool look(void *data, const struct exec_line *row)
{
    struct search *s = data;
    if (row->start > s->offset) {
        s->found = s->file != NULL;
        return !s->found;
    }
    if (row->end) {
        s->file = NULL;
    } else if (row->line != 0) {
        s->folder = row->folder;
        s->file = row->file;
        s->line = row->line;
    }
    return true;
}

bool exec_code_any(void)
{
    return atomic_load(&codes.count) != 0;
}

bool exec_code_line(uintptr_t pc, char *ret_text, size_t size)
{
    struct search s = {.file = NULL};
    pthread_mutex_lock(&codes.lock);
    for (const struct exec_code *code = codes.list; code != NULL; code = code->next) {
        if (pc >= code->text && pc < code->end) {
            s.offset = pc - code->text;
            exec_object_lines(&code->object, look, &s);
            break;
        }
    }
    if (s.found) {
        snprintf(ret_text, size, "%s%s%s:%u", s.folder, *s.folder != '\0' ? "/" : "", s.file,
                 s.line);
    }
    pthread_mutex_unlock(&codes.lock);
    return s.found;
}
