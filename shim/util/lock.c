// SPDX-License-Identifier: Apache-2.0
//
// Ranked mutexes and, in debug builds, the list of ranks that each thread holds.
#include "shim/util/lock.h"

#include <stdatomic.h>
#include <stddef.h>

#include "shim/util/log.h"
#include "shim/util/tls.h"

static _Atomic unsigned violations;

#ifndef NDEBUG
enum { HELD_MAX = 12 }; // more than any thread ever holds

static IRT_TLS_HOT struct {
    const struct irt_mutex *mutexes[HELD_MAX];
    unsigned count;
} held;

static void held_push(const struct irt_mutex *mutex)
{
    for (unsigned i = 0; i < held.count; i++) {
        const struct irt_mutex *other = held.mutexes[i];
        if (other->rank > mutex->rank || (other->rank == mutex->rank && other >= mutex)) {
            atomic_fetch_add_explicit(&violations, 1, memory_order_relaxed);
            if (mutex->rank != IRT_RANK_LOG) {
                irt_log("lock", IRT_LOG_ERROR, "lock of rank %d taken while holding rank %d",
                        (int)mutex->rank, (int)other->rank);
            }
            break;
        }
    }
    if (held.count < HELD_MAX) {
        held.mutexes[held.count++] = mutex;
    }
}

static void held_pop(const struct irt_mutex *mutex)
{
    for (unsigned i = held.count; i-- > 0;) {
        if (held.mutexes[i] == mutex) {
            held.count--;
            for (unsigned j = i; j < held.count; j++) {
                held.mutexes[j] = held.mutexes[j + 1];
            }
            return;
        }
    }
}
#endif

void irt_mutex_init(struct irt_mutex *mutex, enum irt_rank rank)
{
    pthread_mutex_init(&mutex->mutex, NULL);
    mutex->rank = rank;
}

void irt_mutex_destroy(struct irt_mutex *mutex)
{
    pthread_mutex_destroy(&mutex->mutex);
}

void irt_mutex_lock(struct irt_mutex *mutex)
{
#ifndef NDEBUG
    held_push(mutex);
#endif
    pthread_mutex_lock(&mutex->mutex);
}

void irt_mutex_unlock(struct irt_mutex *mutex)
{
    pthread_mutex_unlock(&mutex->mutex);
#ifndef NDEBUG
    held_pop(mutex);
#endif
}

bool irt_lock_none_held(void)
{
#ifndef NDEBUG
    return held.count == 0;
#else
    return true;
#endif
}

unsigned irt_lock_violations(void)
{
    return atomic_load_explicit(&violations, memory_order_relaxed);
}
