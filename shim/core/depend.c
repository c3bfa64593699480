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

struct irt_crossing irt_depend_record_begin(struct irt_point *point, struct irt_stream *stream)
{
    struct irt_crossing crossing = {.known = false};
    uint64_t number = atomic_load(&newest);
    if (number != 0) {
        irt_mutex_lock(&lock);
        point->mixed |= point->writers > 0;
        point->writers++;
        point_locked(stream, number, &crossing.view);
        irt_mutex_unlock(&lock);
        crossing.known = true;
    }
    return crossing;
}

void irt_depend_record_end(struct irt_point *point, const struct irt_crossing *crossing)
{
    static const struct irt_view nothing;
    if (!crossing->known) {
        if (atomic_load(&newest) != 0) { // the first free came meanwhile
            irt_depend_forget(point);
        }
        return;
    }
    irt_mutex_lock(&lock);
    point->writers--;
    point->generation++;
    point->view = point->mixed ? nothing : crossing->view;
    point->mixed &= point->writers > 0;
    irt_mutex_unlock(&lock);
}

void irt_depend_forget(struct irt_point *point)
{
    static const struct irt_view nothing;
    irt_mutex_lock(&lock);
    point->generation++;
    point->view = nothing;
    point->mixed |= point->writers > 0;
    irt_mutex_unlock(&lock);
}

struct irt_crossing irt_depend_wait_begin(struct irt_point *point)
{
    struct irt_crossing crossing = {.known = false};
    if (atomic_load(&newest) != 0) {
        irt_mutex_lock(&lock);
        crossing.known = point->writers == 0;
        crossing.generation = point->generation;
        crossing.view = point->view;
        irt_mutex_unlock(&lock);
    }
    return crossing;
}

void irt_depend_wait_end(struct irt_point *point, const struct irt_crossing *crossing,
                         struct irt_stream *stream)
{
    if (crossing->known) {
        irt_mutex_lock(&lock);
        if (point->writers == 0 && point->generation == crossing->generation) {
            merge_locked(&stream->view, &crossing->view);
        }
        irt_mutex_unlock(&lock);
    }
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
