// SPDX-License-Identifier: Apache-2.0
//
// The shared part of events: a table of pending records behind a robust mutex, so that a process
// that is killed at any instruction leaves something the others can go on with.
#include "shared_event.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec_util.h"

enum {
    PENDING_MAX = 1024,
    LOOK_NS = 50000000, // how often a waiter looks whether the recording process still lives
    STATE_MAGIC = 0x69727465,
};

struct pending {
    uint64_t number;
    uint64_t started; // when the process was started, in clock ticks: tells recycled numbers apart
    uint32_t pid;
};

// In the object. The layout is that of one build of this library on one machine.
struct state {
    uint32_t magic, size;
    pthread_mutex_t lock;  // robust, shared by processes
    _Atomic uint32_t wake; // futex: changes whenever a record ends
    uint32_t count;        // lock
    uint64_t newest;       // lock
    struct pending pending[PENDING_MAX];
};

struct exec_shared {
    _Atomic uint32_t refs;
    struct cpu_share name;
    int fd; // -1: of another process
    struct state *state;
};

// The state letter and the start time of a process; false when there is no such process.
static bool process_of(uint32_t pid, char *ret_state, uint64_t *ret_started)
{
    char path[48], text[1024];
    // Of its first thread: qemu-user puts other numbers into /proc/PID/stat of the process itself.
    snprintf(path, sizeof path, "/proc/%u/task/%u/stat", pid, pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return false;
    }
    ssize_t size = read(fd, text, sizeof text - 1);
    close(fd);
    text[size > 0 ? size : 0] = '\0';
    // The name in parentheses may hold anything; what follows the last one are fields 3 and on.
    const char *at = strrchr(text, ')');
    if (!at || at[1] != ' ') {
        return false;
    }
    *ret_state = at[2];
    at += 2;
    for (int field = 3; field < 22 && at; field++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    if (!at) {
        return false;
    }
    *ret_started = strtoull(at, NULL, 10);
    return true;
}

static bool is_alive(const struct pending *pending)
{
    char state;
    uint64_t started;
    return process_of(pending->pid, &state, &started) && state != 'Z' && state != 'X' &&
           started == pending->started;
}

static uint64_t own_start(void)
{
    static _Atomic uint64_t known;
    uint64_t started = atomic_load(&known);
    if (!started) {
        char state;
        started = process_of((uint32_t)getpid(), &state, &started) ? started : 0;
        atomic_store(&known, started);
    }
    return started;
}

static void lock(struct state *state)
{
    if (pthread_mutex_lock(&state->lock) == EOWNERDEAD) {
        // Whatever the dead process was doing, the table holds only whole entries below `count`;
        // one may be there twice.
        pthread_mutex_consistent(&state->lock);
    }
}

static void unlock(struct state *state)
{
    pthread_mutex_unlock(&state->lock);
}

// Lets every process look again.
static void wake_all(struct state *state)
{
    atomic_fetch_add(&state->wake, 1);
    syscall(SYS_futex, (void *)&state->wake, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

static bool init_lock(struct state *state)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes)) {
        return false;
    }
    bool made = !pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED) &&
                !pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST) &&
                !pthread_mutex_init(&state->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    return made;
}

struct exec_shared *exec_shared_create(void)
{
    struct exec_shared *shared = calloc(1, sizeof *shared);
    if (!shared) {
        return NULL;
    }
    shared->fd = cpu_object_create(sizeof *shared->state, &shared->name);
    shared->state = shared->fd < 0 ? NULL : cpu_shared_place(shared->fd, 0, sizeof *shared->state);
    if (!shared->state || !init_lock(shared->state)) {
        if (shared->state) {
            cpu_shared_remove(shared->state, sizeof *shared->state, false);
        }
        if (shared->fd >= 0) {
            close(shared->fd);
        }
        free(shared);
        return NULL;
    }
    shared->state->magic = STATE_MAGIC;
    shared->state->size = sizeof *shared->state;
    atomic_store(&shared->refs, 1);
    return shared;
}

void exec_shared_name(const struct exec_shared *shared, struct cpu_share *ret_share)
{
    *ret_share = shared->name;
}

bool exec_shared_is_own(const struct exec_shared *shared)
{
    return shared->fd >= 0;
}

cudaError_t exec_shared_open(const struct cpu_share *share, struct exec_shared **ret_shared)
{
    if (share->pid == (uint32_t)getpid()) {
        return cudaErrorDeviceUninitialized;
    }
    int fd = cpu_object_open(share);
    if (fd < 0) {
        return cudaErrorMapBufferObjectFailed;
    }
    struct exec_shared *shared = calloc(1, sizeof *shared);
    struct stat status;
    struct state *state = NULL;
    if (fstat(fd, &status) == 0 && (size_t)status.st_size == sizeof *state) {
        state = cpu_shared_place(fd, 0, sizeof *state);
    }
    close(fd);
    if (!shared || !state || state->magic != STATE_MAGIC || state->size != sizeof *state) {
        if (state) {
            cpu_shared_remove(state, sizeof *state, false);
        }
        cudaError_t error = shared ? cudaErrorMapBufferObjectFailed : cudaErrorMemoryAllocation;
        free(shared);
        return error;
    }
    shared->fd = -1;
    shared->state = state;
    atomic_store(&shared->refs, 1);
    *ret_shared = shared;
    return cudaSuccess;
}

struct exec_shared *exec_shared_ref(struct exec_shared *shared)
{
    if (shared) {
        atomic_fetch_add(&shared->refs, 1);
    }
    return shared;
}

void exec_shared_unref(struct exec_shared *shared)
{
    if (shared && atomic_fetch_sub(&shared->refs, 1) == 1) {
        cpu_shared_remove(shared->state, sizeof *shared->state, false);
        if (shared->fd >= 0) {
            close(shared->fd);
        }
        free(shared);
    }
}

static void remove_locked(struct state *state, uint32_t index)
{
    state->pending[index] = state->pending[state->count - 1];
    state->count--;
}

// Forgets the records of processes that have ended.
static bool bury_locked(struct state *state)
{
    bool found = false;
    for (uint32_t i = state->count; i-- > 0;) {
        if (!is_alive(&state->pending[i])) {
            remove_locked(state, i);
            found = true;
        }
    }
    return found;
}

bool exec_shared_begin(struct exec_shared *shared, uint64_t *ret_number)
{
    struct state *state = shared->state;
    uint64_t started = own_start();
    lock(state);
    bool room = state->count < PENDING_MAX || bury_locked(state);
    if (room) {
        *ret_number = ++state->newest;
        state->pending[state->count] = (struct pending){
            .number = state->newest, .started = started, .pid = (uint32_t)getpid()};
        state->count++;
    }
    unlock(state);
    return room;
}

void exec_shared_end(struct exec_shared *shared, uint64_t number)
{
    struct state *state = shared->state;
    lock(state);
    for (uint32_t i = state->count; i-- > 0;) {
        if (state->pending[i].number == number) {
            remove_locked(state, i);
        }
    }
    unlock(state);
    wake_all(state);
}

uint64_t exec_shared_newest(struct exec_shared *shared)
{
    lock(shared->state);
    uint64_t newest = shared->state->newest;
    unlock(shared->state);
    return newest;
}

bool exec_shared_pending(struct exec_shared *shared, uint64_t number)
{
    struct state *state = shared->state;
    bool found = false;
    lock(state);
    for (uint32_t i = 0; i < state->count && !found; i++) {
        if (state->pending[i].number == number) {
            found = true;
            if (!is_alive(&state->pending[i])) {
                found = false;
                bury_locked(state);
            }
        }
    }
    unlock(state);
    return found;
}

void exec_shared_wait(struct exec_shared *shared, uint64_t number)
{
    for (;;) {
        uint32_t wake = atomic_load(&shared->state->wake);
        if (!exec_shared_pending(shared, number)) {
            return;
        }
        struct timespec limit = {.tv_nsec = LOOK_NS};
        syscall(SYS_futex, (void *)&shared->state->wake, FUTEX_WAIT, wake, &limit, NULL, 0);
    }
}
