// SPDX-License-Identifier: Apache-2.0
//
// Mutexes with a rank. A thread may take a lock only if its rank is greater than that of every lock
// it holds (equal ranks: only in order of increasing address); debug builds check this per thread
// and log the two ranks. No lock is held over an application callback, dlopen or a compilation.
#pragma once

#include <pthread.h>
#include <stdbool.h>

enum irt_rank {
    IRT_RANK_DISPATCH, // choice of the backend
    IRT_RANK_REGISTRY, // registered modules
    IRT_RANK_DEVICE,   // state of one device
    IRT_RANK_MODULE,   // one module
    IRT_RANK_EXEC,     // one instantiated graph
    IRT_RANK_GRAPH,    // structure of graphs
    IRT_RANK_STREAM,   // order of work: held around enqueueing operations of the backend
    IRT_RANK_EVENT,
    IRT_RANK_MEMORY, // map of allocations
    IRT_RANK_HANDLE, // slots of handle tables
    IRT_RANK_LOG,
};

struct irt_mutex {
    pthread_mutex_t mutex;
    enum irt_rank rank;
};

#define IRT_MUTEX_INIT(rank_)                               \
    {                                                       \
        .mutex = PTHREAD_MUTEX_INITIALIZER, .rank = (rank_) \
    }

void irt_mutex_init(struct irt_mutex *mutex, enum irt_rank rank);
void irt_mutex_destroy(struct irt_mutex *mutex);
void irt_mutex_lock(struct irt_mutex *mutex);
void irt_mutex_unlock(struct irt_mutex *mutex);

// Whether the calling thread holds no ranked lock; for assertions before callbacks. Always true in
// builds with NDEBUG.
bool irt_lock_none_held(void);

// The number of rank violations seen so far in this process (always 0 with NDEBUG); for tests.
unsigned irt_lock_violations(void);
