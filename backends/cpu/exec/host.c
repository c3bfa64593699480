// SPDX-License-Identifier: Apache-2.0
//
// Threads that run host functions. A thread without work looks for some for a moment, so that a
// stream of short functions does not pay for going to sleep and waking up each time, then sleeps.
#include "host.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#include "exec_util.h"
#include "pool.h"

enum {
    MAX_THREADS = 64,
    SPIN_NS = 20000,
    IDLE_MS = 500, // then all but one thread end
};

struct host_call {
    struct host_call *next;
    void (*function)(void *);
    void *argument;
};

// Guarded by the lock; `waiting` is read without it by threads that spin.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    struct host_call *head, **tail, *free;
    _Atomic unsigned waiting;          // calls on the list
    unsigned threads, asleep, looking; // all, in pthread_cond_timedwait, spinning
} host = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .cond = PTHREAD_COND_INITIALIZER,
};

// Puts the call back among the free ones.
static void forget_first(void)
{
    struct host_call *call = host.head;
    host.head = call->next;
    if (!host.head) {
        host.tail = &host.head;
    }
    atomic_fetch_sub(&host.waiting, 1);
    call->next = host.free;
    host.free = call;
}

// Unlocks, looks for a call for SPIN_NS and locks again.
static void look(void)
{
    host.looking++;
    pthread_mutex_unlock(&host.lock);
    uint64_t end = exec_now() + SPIN_NS;
    while (!atomic_load_explicit(&host.waiting, memory_order_relaxed) && exec_now() < end) {
        for (int i = 0; i < 8; i++) {
            exec_pause();
        }
    }
    pthread_mutex_lock(&host.lock);
    host.looking--;
}

// Sleeps until there is a call. False: there was none for IDLE_MS.
static bool sleep_for_call(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_nsec += IDLE_MS * 1000000L;
    end.tv_sec += end.tv_nsec / 1000000000L;
    end.tv_nsec %= 1000000000L;
    host.asleep++;
    int r = pthread_cond_timedwait(&host.cond, &host.lock, &end);
    host.asleep--;
    return r != ETIMEDOUT;
}

static void *host_main(void *argument)
{
    (void)argument;
    bool fresh = false; // has run something since it looked last
    pthread_mutex_lock(&host.lock);
    for (;;) {
        if (host.head) {
            void (*function)(void *) = host.head->function;
            void *value = host.head->argument;
            forget_first();
            pthread_mutex_unlock(&host.lock);
            function(value);
            pthread_mutex_lock(&host.lock);
            fresh = true;
        } else if (exec_pool_stopping()) {
            break;
        } else if (fresh) {
            fresh = false;
            look();
        } else if (!sleep_for_call() && !host.head && host.threads > 1) {
            break;
        }
    }
    host.threads--;
    pthread_mutex_unlock(&host.lock);
    return NULL;
}

int exec_host_call(void (*function)(void *), void *argument)
{
    pthread_mutex_lock(&host.lock);
    struct host_call *call = host.free;
    if (call) {
        host.free = call->next;
    } else {
        call = malloc(sizeof(*call));
        if (!call) {
            pthread_mutex_unlock(&host.lock);
            return ENOMEM;
        }
    }
    *call = (struct host_call){.function = function, .argument = argument};
    if (!host.tail) {
        host.tail = &host.head;
    }
    *host.tail = call;
    host.tail = &call->next;
    // One thread per waiting call as long as the limit allows: a host function may block.
    unsigned waiting = atomic_fetch_add(&host.waiting, 1) + 1;
    bool start = waiting > host.asleep + host.looking && host.threads < MAX_THREADS;
    host.threads += start;
    if (waiting > host.looking) {
        pthread_cond_signal(&host.cond);
    }
    pthread_mutex_unlock(&host.lock);
    int r = start ? exec_thread_start(host_main, NULL, "irt-host") : 0;
    if (r) {
        pthread_mutex_lock(&host.lock);
        host.threads--;
        if (!host.threads && host.head == call) {
            forget_first(); // nobody will come for it; with others before it there is a thread
        } else {
            r = 0;
        }
        pthread_mutex_unlock(&host.lock);
    }
    return r;
}
