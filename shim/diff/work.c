// SPDX-License-Identifier: Apache-2.0
//
// See work.h. Every operation is done by A and waited for, then by B and waited for, then compared.
#include "shim/diff/work.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim/diff/inside.h"
#include "shim/util/log.h"

#define A irt_diff_state.side[DIFF_A].backend
#define B irt_diff_state.side[DIFF_B].backend

static cudaError_t wait_a(const struct irtb_stream *stream)
{
    return A->stream_synchronize(stream->side[DIFF_A]);
}

static cudaError_t wait_b(const struct irtb_stream *stream)
{
    return B->stream_synchronize(stream->side[DIFF_B]);
}

// Compares the results, and when they agree the memory. `only`: NULL for all of it.
static void judge(const struct irt_diff_call *call, cudaError_t a, cudaError_t b,
                  const struct irt_diff_memory *only)
{
    const struct irt_diff_memory *memory;
    size_t offset;
    if (a != b) {
        irt_diff_report_result(call, a, b);
    } else if (a) {
        irt_diff_state.over = true; // both failed alike: the device is lost
    } else if (irt_diff_compare(only, &memory, &offset)) {
        irt_diff_report(call, memory, offset);
    }
}

// Bytes from the first to the last of a box.
static size_t span(const struct irtb_copy *copy, size_t pitch, size_t slice)
{
    size_t size = copy->width;
    if (copy->depth > 1) {
        size += (copy->depth - 1) * slice;
    }
    return copy->height > 1 ? size + (copy->height - 1) * pitch : size;
}

static void compare_boxes(const struct irt_diff_call *call, const struct irtb_copy *copy,
                          const char *b)
{
    const char *a = copy->dst;
    for (size_t z = 0; z < copy->depth; z++) {
        for (size_t y = 0; y < copy->height; y++) {
            size_t at = (copy->depth > 1 ? z * copy->dst_slice : 0) +
                        (copy->height > 1 || copy->depth > 1 ? y * copy->dst_pitch : 0);
            bool same = memcmp(a + at, b + at, copy->width) == 0;
            for (size_t x = 0; x < copy->width && !same; x++) {
                void *word_a, *word_b; // pointers that mean the same are equal
                size_t word = x / 8 * 8;
                if (a[at + x] == b[at + x]) {
                    continue;
                }
                if (word + 8 <= copy->width) {
                    memcpy(&word_a, a + at + word, 8);
                    memcpy(&word_b, b + at + word, 8);
                    if (irt_diff_same_pointer(word_a, word_b)) {
                        x = word + 7;
                        continue;
                    }
                }
                irt_diff_report_bytes(call, a + at + x, b + at + x, copy->width - x, at + x);
                return;
            }
        }
    }
}

cudaError_t irt_diff_copy(struct irtb_stream *stream, const struct irtb_copy *copy)
{
    pthread_mutex_lock(&irt_diff_lock);
    irt_diff_state.calls++;
    if (irt_diff_state.over) {
        cudaError_t e = A->copy(stream->side[DIFF_A], copy);
        pthread_mutex_unlock(&irt_diff_lock);
        return e;
    }
    char what[128];
    snprintf(what, sizeof what, "copy of %zu x %zu x %zu bytes", copy->width, copy->height,
             copy->depth);
    const struct irt_diff_call call = {.what = what};
    const struct irt_diff_memory *to = irt_diff_find(copy->dst), *from = irt_diff_find(copy->src);
    struct irtb_copy own = *copy;
    char *back = NULL;
    if (from && !from->host) {
        own.src = irt_diff_translate(copy->src);
    }
    if (to && !to->host) {
        own.dst = irt_diff_translate(copy->dst);
    } else {
        back = malloc(span(copy, copy->dst_pitch, copy->dst_slice));
        own.dst = back;
    }
    // B first reads what A's copy might overwrite.
    cudaError_t before = wait_a(stream), b = cudaErrorMemoryAllocation;
    if (own.dst && !before) {
        b = B->copy(stream->side[DIFF_B], &own);
        b = b ? b : wait_b(stream);
    }
    cudaError_t a = A->copy(stream->side[DIFF_A], copy), waited = a ? a : wait_a(stream);
    if (own.dst && !before) {
        judge(&call, waited, b, to && !to->host ? to : NULL);
        if (back && !waited && !b && !irt_diff_state.over) {
            compare_boxes(&call, copy, back);
        }
    }
    free(back);
    pthread_mutex_unlock(&irt_diff_lock);
    return a;
}

cudaError_t irt_diff_fill(struct irtb_stream *stream, const struct irtb_fill *fill)
{
    pthread_mutex_lock(&irt_diff_lock);
    irt_diff_state.calls++;
    cudaError_t a = A->fill(stream->side[DIFF_A], fill);
    const struct irt_diff_memory *to = irt_diff_find(fill->dst);
    if (!irt_diff_state.over && to && !to->host) {
        struct irtb_fill own = *fill;
        own.dst = irt_diff_translate(fill->dst);
        cudaError_t waited = a ? a : wait_a(stream), b = B->fill(stream->side[DIFF_B], &own);
        b = b ? b : wait_b(stream);
        judge(&(struct irt_diff_call){.what = "fill"}, waited, b, to);
    }
    pthread_mutex_unlock(&irt_diff_lock);
    return a;
}

// Runs once, in A's order; whatever comes behind it in the stream waits for it.
cudaError_t irt_diff_host_func(struct irtb_stream *stream, void (*function)(void *), void *argument,
                               bool always)
{
    return A->host_func(stream->side[DIFF_A], function, argument, always);
}

// ---- launches ----

// The arguments with B's addresses: an array of pointers and what they point to, one block.
static void **translate_arguments(const struct irtb_launch *launch)
{
    struct irtb_parameter p;
    unsigned count = 0;
    size_t size = 0;
    while (irt_diff_parameter(launch, count, &p)) {
        size += (p.size + 15) / 16 * 16;
        count++;
    }
    void **list = malloc((count + 2) * sizeof *list + size + 16);
    if (!list) {
        return NULL;
    }
    char *at = (char *)(((uintptr_t)(list + count + 1) + 15) / 16 * 16);
    for (unsigned i = 0; irt_diff_parameter(launch, i, &p); i++) {
        list[i] = at;
        memcpy(at, launch->arguments[i], p.size);
        for (size_t word = (8 - p.offset % 8) % 8; word + 8 <= p.size; word += 8) {
            void *pointer;
            memcpy(&pointer, at + word, 8);
            pointer = irt_diff_translate(pointer);
            memcpy(at + word, &pointer, 8);
        }
        at += (p.size + 15) / 16 * 16;
    }
    return list;
}

static cudaError_t launch_b(struct irtb_stream *stream, const struct irtb_launch *launch)
{
    struct irtb_launch own = *launch;
    own.function = launch->function->side[DIFF_B];
    void **arguments = translate_arguments(launch);
    if (!arguments) {
        return cudaErrorMemoryAllocation;
    }
    own.arguments = arguments;
    cudaError_t e = B->launch(stream->side[DIFF_B], &own);
    e = e ? e : wait_b(stream);
    free(arguments);
    return e;
}

// Whether B has the kernel; says once that it has not.
static bool possible(struct irtb_function *f)
{
    cudaError_t e = !f->side[DIFF_B]      ? cudaErrorInvalidDeviceFunction
                    : B->function_compile ? B->function_compile(f->side[DIFF_B])
                                          : cudaSuccess;
    if (e && !f->told) {
        f->told = true;
        irt_notice("diff: kernel %s is not compared: %s answers %d", f->name,
                   irt_diff_state.side[DIFF_B].name, (int)e);
    }
    return !e;
}

cudaError_t irt_diff_launch(struct irtb_stream *stream, const struct irtb_launch *launch)
{
    struct irtb_launch own = *launch;
    own.function = launch->function->side[DIFF_A];
    pthread_mutex_lock(&irt_diff_lock);
    irt_diff_state.calls++;
    if (irt_diff_state.over || wait_a(stream)) {
        cudaError_t e = A->launch(stream->side[DIFF_A], &own);
        pthread_mutex_unlock(&irt_diff_lock);
        return e;
    }
    bool both = possible(launch->function);
    struct irt_diff_before *before = both ? irt_diff_keep(launch) : NULL;
    if (both) {
        irt_diff_sync_host();
    }
    cudaError_t a = A->launch(stream->side[DIFF_A], &own), waited = a ? a : wait_a(stream);
    if (both) {
        cudaError_t b = launch_b(stream, launch);
        judge(&(struct irt_diff_call){.launch = launch, .before = before}, waited, b, NULL);
    } else if (!waited) {
        irt_diff_take_over();
    }
    irt_diff_drop(before);
    pthread_mutex_unlock(&irt_diff_lock);
    return a;
}
