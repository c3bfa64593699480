// SPDX-License-Identifier: Apache-2.0
//
// Keeps the legacy default stream in order with the blocking streams of its device. Each operation
// of the legacy stream has a serial number; a blocking stream remembers the number that it is
// ordered after, and stands in the list of dirty streams while it has work that the legacy stream
// is not ordered after. Waits are enqueued only where a number or a list says so, and not for work
// that has ended already.
#include "shim/core/order.h"

#include <stdlib.h>

#include "shim/dispatch/backend.h"

enum { DEVICE_MAX = 64 }; // as many as the bits of irt_device.peers

// The marker of a stream that was destroyed with work in its queue.
struct orphan {
    struct irtb_event *marker;
    struct orphan *next;
};

static struct order {
    struct irt_mutex lock;
    struct irt_stream *legacy; // NULL until its first operation
    struct irt_stream *dirty;
    struct orphan *orphans; // oldest first
    struct orphan **orphans_end;
    struct irtb_event *marker; // recorded in the legacy stream after operation `recorded`
    uint64_t serial, recorded;
} orders[DEVICE_MAX] = {[0 ... DEVICE_MAX - 1] = {.lock = IRT_MUTEX_INIT(IRT_RANK_STREAM)}};

static struct order *order_of(const struct irt_stream *stream)
{
    return &orders[stream->device->ordinal];
}

static bool busy(const struct irt_stream *stream)
{
    return irt_backend()->stream_query(stream->backend) == cudaErrorNotReady;
}

// Records `*marker`, created when there is none, behind what the stream holds now.
static cudaError_t record(struct irt_stream *stream, struct irtb_event **marker)
{
    if (!*marker) {
        cudaError_t e = irt_backend()->event_create(stream->device->id, false, false, marker);
        if (e) {
            return e;
        }
    }
    return irt_backend()->event_record(*marker, stream->backend);
}

static void set_dirty(struct order *order, struct irt_stream *stream)
{
    if (!stream->dirty) {
        stream->dirty = true;
        stream->dirty_previous = NULL;
        stream->dirty_next = order->dirty;
        if (order->dirty) {
            order->dirty->dirty_previous = stream;
        }
        order->dirty = stream;
    }
}

static void set_clean(struct order *order, struct irt_stream *stream)
{
    if (!stream->dirty) {
        return;
    }
    stream->dirty = false;
    if (stream->dirty_previous) {
        stream->dirty_previous->dirty_next = stream->dirty_next;
    } else {
        order->dirty = stream->dirty_next;
    }
    if (stream->dirty_next) {
        stream->dirty_next->dirty_previous = stream->dirty_previous;
    }
}

static void drop_first_orphan(struct order *order)
{
    struct orphan *orphan = order->orphans;
    order->orphans = orphan->next;
    irt_backend()->event_destroy(orphan->marker);
    free(orphan);
}

// Lets the legacy stream wait for all work of the blocking streams.
static cudaError_t wait_for_blocking(struct order *order, struct irt_stream *legacy)
{
    while (order->orphans) {
        cudaError_t e = irt_backend()->stream_wait_event(legacy->backend, order->orphans->marker);
        if (e) {
            return e;
        }
        drop_first_orphan(order);
    }
    while (order->dirty) {
        struct irt_stream *stream = order->dirty;
        if (busy(stream)) {
            cudaError_t e = record(stream, &stream->marker);
            if (!e) {
                e = irt_backend()->stream_wait_event(legacy->backend, stream->marker);
            }
            if (e) {
                return e;
            }
        }
        irt_depend_join(legacy, stream);
        set_clean(order, stream);
    }
    return cudaSuccess;
}

// Records the marker behind the last operation of the legacy stream, once for each.
static cudaError_t record_legacy(struct order *order)
{
    if (order->recorded == order->serial) {
        return cudaSuccess;
    }
    cudaError_t e = order->legacy ? record(order->legacy, &order->marker) : cudaSuccess;
    if (!e) {
        order->recorded = order->serial;
    }
    return e;
}

static cudaError_t wait_for_legacy(struct order *order, struct irt_stream *stream)
{
    if (order->legacy && busy(order->legacy)) {
        cudaError_t e = record_legacy(order);
        if (!e) {
            e = irt_backend()->stream_wait_event(stream->backend, order->marker);
        }
        if (e) {
            return e;
        }
    }
    if (order->legacy) {
        irt_depend_join(stream, order->legacy);
    }
    stream->seen = order->serial;
    return cudaSuccess;
}

// Keeps the order of work that a stream leaves behind: its marker stays until the legacy stream
// waits for it or it has happened.
static void leave_orphan(struct order *order, struct irt_stream *stream)
{
    for (int i = 0; i < 2 && order->orphans; i++) { // so that the list cannot grow for ever
        if (irt_backend()->event_query(order->orphans->marker) == cudaErrorNotReady) {
            break;
        }
        drop_first_orphan(order);
    }
    struct orphan *orphan = malloc(sizeof(*orphan));
    if (!orphan || record(stream, &stream->marker) != cudaSuccess) {
        free(orphan);
        return;
    }
    *orphan = (struct orphan){.marker = stream->marker};
    stream->marker = NULL;
    if (!order->orphans) {
        order->orphans_end = &order->orphans;
    }
    *order->orphans_end = orphan;
    order->orphans_end = &orphan->next;
}

void irt_order_remove(struct irt_stream *stream)
{
    struct order *order = order_of(stream);
    irt_mutex_lock(&order->lock);
    if (stream->dirty) {
        set_clean(order, stream);
        if (busy(stream)) {
            leave_orphan(order, stream);
        }
    }
    if (order->legacy == stream) {
        order->legacy = NULL;
    }
    irt_mutex_unlock(&order->lock);
    if (stream->marker) {
        irt_backend()->event_destroy(stream->marker);
        stream->marker = NULL;
    }
}

cudaError_t irt_order_begin(struct irt_stream *stream)
{
    if (!stream->ordered) {
        return cudaSuccess;
    }
    struct order *order = order_of(stream);
    irt_mutex_lock(&order->lock);
    cudaError_t e = cudaSuccess;
    if (stream->kind == IRT_STREAM_LEGACY) {
        order->legacy = stream;
        e = wait_for_blocking(order, stream);
    } else if (stream->seen != order->serial) {
        e = wait_for_legacy(order, stream);
    }
    if (e) {
        irt_mutex_unlock(&order->lock);
    }
    return e;
}

void irt_order_end(struct irt_stream *stream)
{
    if (!stream->ordered) {
        return;
    }
    struct order *order = order_of(stream);
    if (stream->kind == IRT_STREAM_LEGACY) {
        order->serial++;
    } else {
        set_dirty(order, stream);
    }
    irt_mutex_unlock(&order->lock);
}

cudaError_t irt_order_join(struct irt_stream *legacy)
{
    struct order *order = order_of(legacy);
    cudaError_t e = cudaSuccess;
    irt_mutex_lock(&order->lock);
    if (order->dirty || order->orphans) {
        // The marker first: what is only waited for here is nothing others must wait for.
        e = record_legacy(order);
        if (!e) {
            e = wait_for_blocking(order, legacy);
        }
    }
    irt_mutex_unlock(&order->lock);
    return e;
}

cudaError_t irt_order_poll(struct irt_stream *legacy)
{
    struct order *order = order_of(legacy);
    cudaError_t e = cudaSuccess;
    irt_mutex_lock(&order->lock);
    while (order->orphans &&
           irt_backend()->event_query(order->orphans->marker) != cudaErrorNotReady) {
        drop_first_orphan(order);
    }
    while (order->dirty && !busy(order->dirty)) {
        set_clean(order, order->dirty);
    }
    if (order->dirty || order->orphans) {
        e = cudaErrorNotReady;
    }
    irt_mutex_unlock(&order->lock);
    return e;
}

void irt_order_reset(struct irt_device *device)
{
    struct order *order = &orders[device->ordinal];
    irt_mutex_lock(&order->lock);
    while (order->orphans) {
        drop_first_orphan(order);
    }
    struct irtb_event *marker = order->marker;
    order->marker = NULL;
    order->recorded = order->serial;
    irt_mutex_unlock(&order->lock);
    if (marker) {
        irt_backend()->event_destroy(marker);
    }
}
