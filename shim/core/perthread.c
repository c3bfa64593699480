// SPDX-License-Identifier: Apache-2.0
//
// Owns the thread-local state of perthread.h and its destructor. A pthread key and not a C++-like
// TLS destructor, because keys work in every thread that uses us, also in foreign ones.
#include "shim/core/perthread.h"

#include <pthread.h>
#include <stdlib.h>

#include "shim/util/process.h"

static _Thread_local struct irt_thread state;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static bool have_key;

struct irt_thread *irt_thread(void)
{
    return &state;
}

static void end(void *pointer)
{
    struct irt_thread *thread = pointer;
    if (irt_process_state() == IRT_PROCESS_RUNNING) {
        irt_stream_thread_end(thread);
    }
    free(thread->streams);
    free(thread->calls);
    *thread = (struct irt_thread){.streams = NULL};
}

static void make_key(void)
{
    have_key = pthread_key_create(&key, end) == 0;
}

void irt_thread_watch(struct irt_thread *thread)
{
    if (!thread->watched) {
        pthread_once(&once, make_key);
        thread->watched = have_key && pthread_setspecific(key, thread) == 0;
    }
}
