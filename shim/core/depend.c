// SPDX-License-Identifier: Apache-2.0
//
// The views of depend.h. One lock for all of them: held for a few comparisons, and only in programs
// that free memory in stream order.
#include "shim/core/depend.h"

#include <stdatomic.h>

#include "shim/core/stream.h"
#include "shim/util/lock.h"

static struct irt_mutex lock = IRT_MUTEX_INIT(IRT_RANK_LOG); // a leaf: nothing is called under it
static _Atomic uint64_t newest;                              // free

uint64_t irt_depend_next(void)
{
    return atomic_fetch_add(&newest, 1) + 1;
}

// Adds one entry; a full view forgets its oldest.
static void add_locked(struct irt_view *view, unsigned long long stream, uint64_t number)
{
    unsigned oldest = 0;
    for (unsigned i = 0; i < IRT_VIEW_ENTRIES; i++) {
        if (view->entries[i].stream == stream) {
            if (view->entries[i].number < number) {
                view->entries[i].number = number;
            }
            return;
        }
        if (view->entries[i].number < view->entries[oldest].number) {
            oldest = i;
        }
    }
    if (view->entries[oldest].number < number) {
        view->entries[oldest].stream = stream;
        view->entries[oldest].number = number;
    }
}

static void merge_locked(struct irt_view *view, const struct irt_view *other)
{
    for (unsigned i = 0; i < IRT_VIEW_ENTRIES; i++) {
        if (other->entries[i].stream) {
            add_locked(view, other->entries[i].stream, other->entries[i].number);
        }
    }
}

static void point_locked(const struct irt_stream *stream, uint64_t number,
                         struct irt_view *ret_view)
{
    *ret_view = stream->view;
    add_locked(ret_view, stream->id, number);
}

void irt_depend_point(struct irt_stream *stream, struct irt_view *ret_view)
{
    uint64_t number = atomic_load(&newest);
    if (number == 0) {
        return; // the view is still empty
    }
    irt_mutex_lock(&lock);
    point_locked(stream, number, ret_view);
    irt_mutex_unlock(&lock);
}

void irt_depend_wait(struct irt_stream *stream, const struct irt_view *point)
{
    if (atomic_load_explicit(&newest, memory_order_relaxed) == 0) {
        return;
    }
    irt_mutex_lock(&lock);
    merge_locked(&stream->view, point);
    irt_mutex_unlock(&lock);
}

void irt_depend_join(struct irt_stream *stream, struct irt_stream *other)
{
    uint64_t number = atomic_load(&newest);
    if (number == 0) {
        return;
    }
    struct irt_view view;
    irt_mutex_lock(&lock);
    point_locked(other, number, &view);
    merge_locked(&stream->view, &view);
    irt_mutex_unlock(&lock);
}

bool irt_depend_after(struct irt_stream *stream, unsigned long long id, uint64_t number)
{
    bool after = false;
    irt_mutex_lock(&lock);
    for (unsigned i = 0; i < IRT_VIEW_ENTRIES; i++) {
        after |= stream->view.entries[i].stream == id && stream->view.entries[i].number >= number;
    }
    irt_mutex_unlock(&lock);
    return after;
}
