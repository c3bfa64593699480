// SPDX-License-Identifier: Apache-2.0
//
// Signals in memory: access with faults caught, and the thread that looks for streams that wait.
#include "value.h"

#include <time.h>

#include "fault.h"
#include "host.h"
#include "pool.h"

enum { SPINS = 64, NAP_NS = 20000, NAP_MAX_NS = 1000000 };

static struct {
    pthread_mutex_t lock;        // below the locks of streams
    struct irtb_stream *waiting; // through wait_next
    bool watched;                // the thread runs
} values = {.lock = PTHREAD_MUTEX_INITIALIZER};

static uint64_t load(const struct irtb_value *value)
{
    return value->size == 4 ? __atomic_load_n((uint32_t *)value->address, __ATOMIC_ACQUIRE)
                            : __atomic_load_n((uint64_t *)value->address, __ATOMIC_ACQUIRE);
}

static bool satisfied(const struct irtb_value *value)
{
    const uint64_t mask = value->size == 4 ? UINT32_MAX : UINT64_MAX;
    const uint64_t now = load(value);
    switch (value->condition) {
    case IRTB_VALUE_GEQ:
        return value->size == 4 ? (int32_t)(uint32_t)(now - value->value) >= 0
                                : (int64_t)(now - value->value) >= 0;
    case IRTB_VALUE_EQ:
        return now == (value->value & mask);
    case IRTB_VALUE_AND:
        return (now & value->value & mask) != 0;
    case IRTB_VALUE_NOR:
        return (~(now | value->value) & mask) != 0;
    }
    return true;
}

// Runs `access`; a fault inside fails the device, and is answered like success.
static bool guarded(struct exec_device *device, const struct irtb_value *value,
                    bool (*access)(const struct irtb_value *))
{
    volatile bool result = true;
    exec_fault_install();
    exec_fault_thread();
    struct exec_fault_frame frame;
    exec_fault_push(&frame);
    if (sigsetjmp(frame.jump, 0) == 0) {
        result = access(value);
        exec_fault_pop(&frame);
        return result;
    }
    exec_fault_pop(&frame);
    exec_device_fail(device, frame.error);
    return true;
}

static bool store(const struct irtb_value *value)
{
    if (value->size == 4) {
        __atomic_store_n((uint32_t *)value->address, (uint32_t)value->value, __ATOMIC_SEQ_CST);
    } else {
        __atomic_store_n((uint64_t *)value->address, value->value, __ATOMIC_SEQ_CST);
    }
    return true;
}

void exec_value_write(struct exec_device *device, const struct irtb_value *value)
{
    guarded(device, value, store);
}

bool exec_value_holds(struct exec_device *device, const struct irtb_value *value)
{
    return atomic_load_explicit(&device->error, memory_order_acquire) != cudaSuccess ||
           guarded(device, value, satisfied);
}

// Takes the streams that can go on off the list, through wait_next.
static struct irtb_stream *take_ready(void)
{
    struct irtb_stream *ready = NULL;
    pthread_mutex_lock(&values.lock);
    for (struct irtb_stream **at = &values.waiting; *at;) {
        struct irtb_stream *stream = *at;
        if (exec_value_holds(stream->device, stream->value)) {
            *at = stream->wait_next;
            stream->wait_next = ready;
            ready = stream;
        } else {
            at = &stream->wait_next;
        }
    }
    pthread_mutex_unlock(&values.lock);
    return ready;
}

// True when nothing waits any more: the thread is over.
static bool finished(void)
{
    pthread_mutex_lock(&values.lock);
    bool over = !values.waiting || exec_pool_stopping();
    if (over) {
        values.watched = false;
    }
    pthread_mutex_unlock(&values.lock);
    return over;
}

static void watch(void *argument)
{
    (void)argument;
    unsigned idle = 0;
    while (!finished()) {
        struct irtb_stream *ready = take_ready();
        idle = ready ? 0 : idle + 1;
        while (ready) {
            struct irtb_stream *next = ready->wait_next;
            exec_stream_unblock(ready);
            ready = next;
        }
        if (idle > SPINS) { // the longer nothing happens, the more seldom it looks
            long nap = (long)NAP_NS * (idle / SPINS);
            struct timespec pause = {0, nap < NAP_MAX_NS ? nap : NAP_MAX_NS};
            nanosleep(&pause, NULL);
        }
    }
}

void exec_value_block(struct irtb_stream *stream, const struct irtb_value *value)
{
    stream->value = value;
    pthread_mutex_lock(&values.lock);
    stream->wait_next = values.waiting;
    values.waiting = stream;
    bool start = !values.watched;
    values.watched = true;
    pthread_mutex_unlock(&values.lock);
    if (start && exec_host_call(watch, NULL)) {
        // No thread to be had: the next stream that blocks tries again.
        pthread_mutex_lock(&values.lock);
        values.watched = false;
        pthread_mutex_unlock(&values.lock);
        EXEC_LOG(0, "no thread to look for values that streams wait for");
    }
}
