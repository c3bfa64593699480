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

// What the newest record of an event is ordered after. Records and waits of several threads may
// cross: the view counts only for a wait during which no record began or ended.
struct irt_point {
    struct irt_view view;
    uint64_t generation; // grows with every record
    unsigned writers;    // records that are being enqueued
    bool mixed;          // several were at the same time: nobody knows which is the newest
};

// A record or wait that is being enqueued.
struct irt_crossing {
    struct irt_view view;
    uint64_t generation;
    bool known;
};

struct irt_stream;

// The number of a free that happens now. Any thread.
uint64_t irt_depend_next(void);

// Around the enqueueing of a record of the point's event at the end of the stream.
struct irt_crossing irt_depend_record_begin(struct irt_point *point, struct irt_stream *stream);
void irt_depend_record_end(struct irt_point *point, const struct irt_crossing *crossing);

// The event was recorded in a way that nothing is known about.
void irt_depend_forget(struct irt_point *point);

// Around the enqueueing of a wait for the point's event; the end only if that succeeded.
struct irt_crossing irt_depend_wait_begin(struct irt_point *point);
void irt_depend_wait_end(struct irt_point *point, const struct irt_crossing *crossing,
                         struct irt_stream *stream);

// The stream's later work waits for everything in another stream. Nothing is enqueued in either
// meanwhile (the order lock).
void irt_depend_join(struct irt_stream *stream, struct irt_stream *other);

// Whether work enqueued now in `stream` comes after free `number` of the stream with that id.
bool irt_depend_after(struct irt_stream *stream, unsigned long long id, uint64_t number);
