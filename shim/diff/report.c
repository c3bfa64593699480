// SPDX-License-Identifier: Apache-2.0
//
// The report of the first difference and the reproducer: a file that holds the launch, the code and
// the memory that its parameters point to, as it was before. Format: lines of words; "code N",
// "parameter N" and "memory N" are followed by N raw bytes and a newline.
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "shim/diff/inside.h"
#include "shim/util/env.h"
#include "shim/util/log.h"

enum { POINTERS_MAX = 128, SHOWN = 16 };
static const size_t KEPT_MAX = (size_t)1 << 30; // bytes of memory that a reproducer holds

struct irt_diff_before {
    struct {
        const struct irt_diff_memory *memory;
        unsigned char *bytes;
    } memories[POINTERS_MAX];
    size_t memory_count;
    struct {
        unsigned parameter;
        size_t offset; // in the parameter
        size_t memory, target;
    } pointers[POINTERS_MAX];
    size_t pointer_count;
    bool complete;
};

void irt_diff_tell(const char *what, cudaError_t e)
{
    if (e) {
        irt_notice("diff: %s answers %d to %s: what depends on it may differ",
                   irt_diff_state.side[DIFF_B].name, (int)e, what);
    }
}

bool irt_diff_parameter(const struct irtb_launch *launch, unsigned index,
                        struct irtb_parameter *ret_parameter)
{
    return irt_diff_state.side[DIFF_A].backend->function_parameter(
               launch->function->side[DIFF_A], index, ret_parameter) == cudaSuccess;
}

static void keep_pointer(struct irt_diff_before *before, unsigned index, size_t offset,
                         const void *pointer, size_t *used)
{
    const struct irt_diff_memory *m = irt_diff_find(pointer);
    size_t i = 0;
    if (!m) {
        return;
    }
    while (i < before->memory_count && before->memories[i].memory != m) {
        i++;
    }
    if (i == POINTERS_MAX || before->pointer_count == POINTERS_MAX ||
        (i == before->memory_count && m->size > KEPT_MAX - *used)) {
        before->complete = false;
        return;
    }
    if (i == before->memory_count) {
        unsigned char *bytes = malloc(m->size);
        if (!bytes || irt_diff_read(DIFF_A, m, 0, m->size, bytes)) {
            free(bytes);
            before->complete = false;
            return;
        }
        *used += m->size;
        before->memories[i].memory = m;
        before->memories[i].bytes = bytes;
        before->memory_count++;
    }
    before->pointers[before->pointer_count].parameter = index;
    before->pointers[before->pointer_count].offset = offset;
    before->pointers[before->pointer_count].memory = i;
    before->pointers[before->pointer_count].target = (size_t)((const char *)pointer - m->a);
    before->pointer_count++;
}

struct irt_diff_before *irt_diff_keep(const struct irtb_launch *launch)
{
    struct irt_diff_before *before = calloc(1, sizeof *before);
    struct irtb_parameter p;
    size_t used = 0;
    if (!before) {
        return NULL;
    }
    before->complete = true;
    for (unsigned i = 0; irt_diff_parameter(launch, i, &p); i++) {
        for (size_t at = (8 - p.offset % 8) % 8; at + 8 <= p.size; at += 8) {
            void *pointer;
            memcpy(&pointer, (const char *)launch->arguments[i] + at, 8);
            keep_pointer(before, i, at, pointer, &used);
        }
    }
    return before;
}

void irt_diff_drop(struct irt_diff_before *before)
{
    for (size_t i = 0; before && i < before->memory_count; i++) {
        free(before->memories[i].bytes);
    }
    free(before);
}

static void put_bytes(FILE *f, const char *what, const void *bytes, size_t size)
{
    fprintf(f, "%s %zu\n", what, size);
    fwrite(bytes, 1, size, f);
    fputc('\n', f);
}

static void write_reproducer(const struct irt_diff_call *call)
{
    const struct irtb_launch *l = call->launch;
    const struct irt_diff_before *before = call->before;
    char path[512];
    const char *folder = irt_env("INFINIRT_DIFF_DIR");
    snprintf(path, sizeof path, "%s/infinirt-diff-%d.repro", folder ? folder : ".", (int)getpid());
    FILE *f = before && before->complete ? fopen(path, "wb") : NULL;
    if (!f) {
        irt_notice("diff: no reproducer is written: %s",
                   before && before->complete ? strerror(errno) : "its memory is too large");
        return;
    }
    fprintf(f, "infinirt-reproducer 1\nsides %s,%s\ncall %llu\nkernel %s\n",
            irt_diff_state.side[DIFF_A].name, irt_diff_state.side[DIFF_B].name,
            irt_diff_state.calls, l->function->name);
    fprintf(f, "grid %u %u %u\nblock %u %u %u\ncluster %u %u %u\nshared %u\ncooperative %d\n",
            l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2],
            l->cluster[0], l->cluster[1], l->cluster[2], l->dynamic_shared, l->cooperative);
    for (size_t i = 0; i < l->function->module->count; i++) {
        put_bytes(f, "code", l->function->module->units[i].text,
                  l->function->module->units[i].size);
    }
    struct irtb_parameter p;
    for (unsigned i = 0; irt_diff_parameter(l, i, &p); i++) {
        put_bytes(f, "parameter", l->arguments[i], p.size);
    }
    for (size_t i = 0; i < before->memory_count; i++) {
        put_bytes(f, "memory", before->memories[i].bytes, before->memories[i].memory->size);
    }
    for (size_t i = 0; i < before->pointer_count; i++) {
        fprintf(f, "pointer %u %zu %zu %zu\n", before->pointers[i].parameter,
                before->pointers[i].offset, before->pointers[i].memory, before->pointers[i].target);
    }
    fprintf(f, "end\n");
    bool good = !ferror(f);
    if (fclose(f) != 0 || !good) {
        irt_notice("diff: writing the reproducer %s failed", path);
    } else {
        irt_notice("diff: the launch and its memory are in %s", path);
    }
}

static void head(const struct irt_diff_call *call, char *ret, size_t size)
{
    const struct irtb_launch *l = call->launch;
    if (l) {
        snprintf(ret, size, "call %llu, kernel %s, grid %u,%u,%u, block %u,%u,%u",
                 irt_diff_state.calls, l->function->name, l->grid[0], l->grid[1], l->grid[2],
                 l->block[0], l->block[1], l->block[2]);
    } else {
        snprintf(ret, size, "call %llu, %s", irt_diff_state.calls, call->what);
    }
}

static void hex(const unsigned char *bytes, size_t count, char *ret)
{
    for (size_t i = 0; i < count; i++) {
        sprintf(ret + 3 * i, "%02x ", bytes[i]);
    }
    ret[count ? 3 * count - 1 : 0] = '\0';
}

static void show(const unsigned char *a, const unsigned char *b, size_t count)
{
    char text[2][3 * SHOWN + 1];
    hex(a, count, text[0]);
    hex(b, count, text[1]);
    irt_notice("diff: %s has %s, %s has %s", irt_diff_state.side[DIFF_A].name, text[0],
               irt_diff_state.side[DIFF_B].name, text[1]);
}

static void finish(const struct irt_diff_call *call)
{
    if (call->launch) {
        write_reproducer(call);
    }
    irt_notice("diff: nothing more is compared; the program goes on with %s",
               irt_diff_state.side[DIFF_A].name);
    irt_diff_state.over = true;
}

static void show_parameters(const struct irt_diff_call *call, const struct irt_diff_memory *memory)
{
    struct irtb_parameter p;
    for (unsigned i = 0; call->launch && irt_diff_parameter(call->launch, i, &p); i++) {
        const unsigned char *value = call->launch->arguments[i];
        char text[3 * SHOWN + 1];
        hex(value, p.size < SHOWN ? p.size : SHOWN, text);
        const char *mark = "";
        for (size_t k = 0; call->before && k < call->before->pointer_count; k++) {
            size_t m = call->before->pointers[k].memory;
            if (call->before->pointers[k].parameter == i &&
                call->before->memories[m].memory == memory) {
                mark = " (points to the memory that differs)";
            }
        }
        irt_notice("diff: parameter %u, %zu bytes: %s%s", i, p.size, text, mark);
    }
}

void irt_diff_report(const struct irt_diff_call *call, const struct irt_diff_memory *memory,
                     size_t offset)
{
    char what[512];
    unsigned char bytes[2][SHOWN];
    size_t count = memory->size - offset < SHOWN ? memory->size - offset : SHOWN;
    head(call, what, sizeof what);
    irt_notice("diff: first difference: %s: memory %p of %zu bytes differs at offset %zu", what,
               (void *)memory->a, memory->size, offset);
    if (!irt_diff_read(DIFF_A, memory, offset, count, bytes[0]) &&
        !irt_diff_read(DIFF_B, memory, offset, count, bytes[1])) {
        show(bytes[0], bytes[1], count);
    }
    show_parameters(call, memory);
    finish(call);
}

void irt_diff_report_result(const struct irt_diff_call *call, cudaError_t a, cudaError_t b)
{
    char what[512];
    head(call, what, sizeof what);
    irt_notice("diff: first difference: %s: %s answers %d, %s answers %d", what,
               irt_diff_state.side[DIFF_A].name, (int)a, irt_diff_state.side[DIFF_B].name, (int)b);
    finish(call);
}

void irt_diff_report_bytes(const struct irt_diff_call *call, const void *a, const void *b,
                           size_t size, size_t offset)
{
    char what[512];
    head(call, what, sizeof what);
    irt_notice("diff: first difference: %s: the copy differs at byte %zu", what, offset);
    show(a, b, size < SHOWN ? size : SHOWN);
    finish(call);
}
