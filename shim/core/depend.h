// SPDX-License-Identifier: Apache-2.0
//
// Which frees of stream-ordered memory a stream is ordered after, so that a pool may hand a block
// on to another stream without asking whether the free has been reached
// (cudaMemPoolReuseFollowEventDependencies). Every free gets a number that grows for the whole
// process. A view says for some streams up to which number their frees lie before this point; what
// is missing in it only costs an opportunity. Nothing is kept before the first free.
//
//     free in A: number 7 · record event in A: event knows {A: 7} · B waits for the event: B knows
//     {A: 7} · allocation in B may use the block of free 7
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { IRT_VIEW_ENTRIES = 6 };

struct irt_view {
    struct {
        unsigned long long stream; // id; 0: unused
        uint64_t number;
    } entries[IRT_VIEW_ENTRIES]; // guarded by the lock of depend.c
};

struct irt_stream;

// The number of a free that happens now. Any thread.
uint64_t irt_depend_next(void);

// `ret_view` becomes what a point at the end of the stream is ordered after. To be called before
// the record that marks the point is enqueued.
void irt_depend_point(struct irt_stream *stream, struct irt_view *ret_view);

// The stream's later work waits for a point.
void irt_depend_wait(struct irt_stream *stream, const struct irt_view *point);

// The same for a point at the end of another stream.
void irt_depend_join(struct irt_stream *stream, struct irt_stream *other);

// Whether work enqueued now in `stream` comes after free `number` of the stream with that id.
bool irt_depend_after(struct irt_stream *stream, unsigned long long id, uint64_t number);
