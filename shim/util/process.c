// SPDX-License-Identifier: Apache-2.0
//
// The flags that fork and exit set.
#include "shim/util/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>

static _Atomic int state = IRT_PROCESS_RUNNING;
static void (*_Atomic exit_function)(void);
static pthread_once_t once = PTHREAD_ONCE_INIT;

enum irt_process_state irt_process_state(void)
{
    return (enum irt_process_state)atomic_load_explicit(&state, memory_order_relaxed);
}

static void after_fork_in_child(void)
{
    atomic_store_explicit(&state, IRT_PROCESS_FORKED, memory_order_relaxed);
}

static void on_exit_begun(void)
{
    int expected = IRT_PROCESS_RUNNING;
    if (atomic_compare_exchange_strong(&state, &expected, IRT_PROCESS_EXITING)) {
        void (*function)(void) = atomic_load(&exit_function);
        if (function) {
            function();
        }
    }
}

static void register_handlers(void)
{
    pthread_atfork(NULL, NULL, after_fork_in_child);
    atexit(on_exit_begun);
}

void irt_process_watch(void (*at_exit)(void))
{
    if (at_exit) {
        atomic_store(&exit_function, at_exit);
    }
    pthread_once(&once, register_handlers);
}
