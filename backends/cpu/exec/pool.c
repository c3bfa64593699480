// SPDX-License-Identifier: Apache-2.0
//
// Workers, ready lists, jobs and the threads for host functions. See pool.h for the idea. Lock
// order: stream lock, then the pool lock; the pool lock is a leaf and held for a few instructions.
#include "pool.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

#include "exec_util.h"
#include "partition.h"
#include "stream.h"

enum {
    SPIN_NS = 20000, // an idle worker looks without pause
    NAP_NS = 100000, // … then the sentinel looks this often
    NAPS = 30,       // … and sleeps after so many naps without any work
    MAX_EXTRA = 32,  // additional workers while others only spin
    STACK_SIZE = 16 << 20,
};

static struct {
    pthread_mutex_t lock;
    struct irtb_stream *head[EXEC_PRIORITIES], *tail[EXEC_PRIORITIES];
    struct exec_job *jobs;
    _Atomic unsigned size; // configured workers; 0 before set-up
    unsigned started;      // worker threads that exist
    _Atomic uint32_t ready_mask;
    _Atomic uint32_t job_count;
    _Atomic uint32_t epoch; // futex of sleeping workers
    _Atomic uint32_t sleepers;
    _Atomic uint32_t sentinel;
    _Atomic uint32_t busy; // workers inside work
    _Atomic uint32_t spinning;
    _Atomic uint32_t activity; // counts pieces of work, so that the sentinel sees what others do
    _Atomic bool stop;
    bool fork_watched;
    _Atomic bool forked;
} pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

static void in_fork_child(void)
{
    atomic_store(&pool.forked, true);
}

void exec_pool_setup(unsigned threads)
{
    pthread_mutex_lock(&pool.lock);
    if (!pool.size) {
        if (!threads) {
            cpu_set_t set;
            threads = sched_getaffinity(0, sizeof set, &set) == 0 ? (unsigned)CPU_COUNT(&set) : 1;
        }
        pool.size = threads ? threads : 1;
    }
    if (!pool.fork_watched) {
        pool.fork_watched = true;
        pthread_atfork(NULL, NULL, in_fork_child);
    }
    pthread_mutex_unlock(&pool.lock);
}

unsigned exec_pool_size(void)
{
    if (!pool.size) {
        exec_pool_setup(0);
    }
    return pool.size;
}

bool exec_pool_stopping(void)
{
    return atomic_load_explicit(&pool.stop, memory_order_relaxed);
}

void exec_pool_stop(unsigned wait_ms)
{
    if (atomic_load(&pool.forked)) {
        return;
    }
    atomic_store(&pool.stop, true);
    atomic_fetch_add(&pool.epoch, 1);
    exec_futex_wake(&pool.epoch, INT_MAX);
    uint64_t end = exec_now() + (uint64_t)wait_ms * 1000000u;
    while (atomic_load(&pool.busy) && exec_now() < end) {
        struct timespec pause = {0, 200000};
        nanosleep(&pause, NULL);
    }
}

// ---------------------------------------------------------------- threads

struct thread_start {
    void *(*function)(void *);
    void *argument;
    char name[16];
};

// A thread names itself: nobody else may use its handle, for it is detached and may end at once.
static void *thread_main(void *argument)
{
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    pthread_setname_np(pthread_self(), start.name);
    return start.function(start.argument);
}

int exec_thread_start(void *(*function)(void *), void *argument, const char *name)
{
    struct thread_start *start = malloc(sizeof *start);
    if (!start) {
        return ENOMEM;
    }
    start->function = function;
    start->argument = argument;
    snprintf(start->name, sizeof start->name, "%s", name);
    // Workers leave every asynchronous signal to the application's threads.
    sigset_t block, old;
    sigfillset(&block);
    sigdelset(&block, SIGSEGV);
    sigdelset(&block, SIGBUS);
    sigdelset(&block, SIGFPE);
    sigdelset(&block, SIGILL);
    sigdelset(&block, SIGTRAP);
    sigdelset(&block, SIGABRT);
    pthread_attr_t attributes;
    int r = pthread_attr_init(&attributes);
    if (r) {
        free(start);
        return r;
    }
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_SIZE);
    pthread_sigmask(SIG_BLOCK, &block, &old);
    pthread_t thread;
    r = pthread_create(&thread, &attributes, thread_main, start);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&attributes);
    if (r) {
        free(start);
    }
    return r;
}

static void wake_workers(unsigned count);

static bool work_visible(void)
{
    return atomic_load(&pool.ready_mask) || atomic_load(&pool.job_count);
}

static void unlist_locked(struct exec_job *job)
{
    if (!job->listed) {
        return;
    }
    job->listed = false;
    *(job->prev ? &job->prev->next : &pool.jobs) = job->next;
    if (job->next) {
        job->next->prev = job->prev;
    }
    atomic_fetch_sub(&pool.job_count, 1);
}

// A stream to run or a job to join, by priority; the stream wins a tie so that streams overlap.
static bool take_work(struct irtb_stream **ret_stream, struct exec_job **ret_job)
{
    if (!atomic_load_explicit(&pool.ready_mask, memory_order_seq_cst) &&
        !atomic_load_explicit(&pool.job_count, memory_order_seq_cst)) {
        return false;
    }
    struct irtb_stream *stream = NULL;
    struct exec_job *job = NULL;
    pthread_mutex_lock(&pool.lock);
    uint32_t mask = atomic_load(&pool.ready_mask);
    int bucket = mask ? __builtin_ctz(mask) : EXEC_PRIORITIES;
    for (struct exec_job *j = pool.jobs, *next; j; j = next) {
        next = j->next;
        if (!j->wanted(j)) {
            unlist_locked(j); // exhausted for good: idle workers need not see it any more
        } else if (j->bucket < (job ? job->bucket : bucket) && exec_partition_enter(j->partition)) {
            if (job) {
                exec_partition_leave(job->partition);
            }
            job = j;
        }
    }
    if (job) {
        atomic_fetch_add(&job->users, 1);
    } else if (mask) {
        stream = pool.head[bucket];
        exec_ready_unlink(stream, &pool.head[bucket], &pool.tail[bucket]);
        if (!pool.head[bucket]) {
            atomic_fetch_and(&pool.ready_mask, ~(1u << bucket));
        }
    }
    pthread_mutex_unlock(&pool.lock);
    *ret_stream = stream;
    *ret_job = job;
    return stream || job;
}

// The owner may free the job as soon as users is 0; waking a stale futex address does no harm.
static void leave_job(struct exec_job *job)
{
    exec_partition_leave(job->partition);
    if (atomic_fetch_sub(&job->users, 1) == 1) {
        exec_futex_wake(&job->users, INT_MAX);
    }
}

static bool work_once(void)
{
    struct irtb_stream *stream;
    struct exec_job *job;
    if (!take_work(&stream, &job)) {
        return false;
    }
    atomic_fetch_add(&pool.activity, 1);
    atomic_fetch_add(&pool.busy, 1);
    // Whoever published found a sentinel and woke nobody: pass on what is left.
    if (work_visible() && !atomic_load(&pool.sentinel)) {
        wake_workers(1);
    }
    if (stream) {
        exec_stream_run_picked(stream);
    } else {
        job->help(job);
        leave_job(job);
    }
    atomic_fetch_sub(&pool.busy, 1);
    return true;
}

// Looks every NAP_NS; true when there is work, false when it is time to sleep for good.
static bool nap(void)
{
    uint32_t activity = atomic_load(&pool.activity);
    for (int i = 0; i < NAPS; i++) {
        uint32_t epoch = atomic_load(&pool.epoch);
        if (work_visible() || exec_pool_stopping()) {
            return true;
        }
        exec_futex_wait(&pool.epoch, epoch, NAP_NS);
        uint32_t now = atomic_load(&pool.activity);
        if (now != activity) {
            activity = now;
            i = 0;
        }
    }
    return false;
}

static void *worker_main(void *argument)
{
    unsigned number = (unsigned)(uintptr_t)argument;
    while (!exec_pool_stopping()) {
        if (work_once()) {
            continue;
        }
        if (number >= pool.size + atomic_load(&pool.spinning)) {
            break; // an additional worker that is no longer needed
        }
        uint64_t end = exec_now() + SPIN_NS;
        bool found = false;
        while (!found && exec_now() < end) {
            for (int i = 0; i < 32 && !found; i++) {
                exec_pause();
                found = work_visible();
            }
        }
        if (found) {
            continue;
        }
        uint32_t none = 0;
        if (atomic_compare_exchange_strong(&pool.sentinel, &none, 1)) {
            bool work = nap();
            atomic_store(&pool.sentinel, 0);
            if (work) {
                continue;
            }
        }
        atomic_fetch_add(&pool.sleepers, 1);
        uint32_t epoch = atomic_load(&pool.epoch);
        if (!work_visible() && !exec_pool_stopping()) {
            exec_futex_wait(&pool.epoch, epoch, 0);
        }
        atomic_fetch_sub(&pool.sleepers, 1);
    }
    pthread_mutex_lock(&pool.lock);
    pool.started--;
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

// Wakes `count` sleepers, or starts workers when there are fewer.
static void wake_workers(unsigned count)
{
    uint32_t sleepers = atomic_load(&pool.sleepers);
    if (sleepers || atomic_load(&pool.sentinel)) {
        atomic_fetch_add(&pool.epoch, 1);
        exec_futex_wake(&pool.epoch, (int)count);
    }
    if (sleepers >= count) {
        return;
    }
    count -= sleepers;
    while (count--) {
        pthread_mutex_lock(&pool.lock);
        if (!pool.size) {
            pthread_mutex_unlock(&pool.lock);
            exec_pool_setup(0);
            pthread_mutex_lock(&pool.lock);
        }
        unsigned limit = pool.size + atomic_load(&pool.spinning);
        bool start = pool.started < limit && !exec_pool_stopping();
        unsigned number = pool.started;
        pool.started += start;
        pthread_mutex_unlock(&pool.lock);
        if (!start) {
            return;
        }
        char name[16];
        snprintf(name, sizeof name, "irt-cpu-%u", number);
        // NOLINTNEXTLINE(performance-no-int-to-ptr): a number for the thread, never followed
        if (exec_thread_start(worker_main, (void *)(uintptr_t)number, name)) {
            pthread_mutex_lock(&pool.lock);
            pool.started--;
            pthread_mutex_unlock(&pool.lock);
            return; // waiting callers still do the work
        }
    }
}

// ---------------------------------------------------------------- ready streams

void exec_pool_push(struct irtb_stream *stream, int bucket)
{
    pthread_mutex_lock(&pool.lock);
    exec_ready_append(stream, &pool.head[bucket], &pool.tail[bucket]);
    atomic_fetch_or(&pool.ready_mask, 1u << bucket);
    pthread_mutex_unlock(&pool.lock);
}

bool exec_pool_claim(struct irtb_stream *stream)
{
    int bucket = stream->bucket;
    pthread_mutex_lock(&pool.lock);
    bool claimed = stream->in_ready;
    if (claimed) {
        exec_ready_unlink(stream, &pool.head[bucket], &pool.tail[bucket]);
        if (!pool.head[bucket]) {
            atomic_fetch_and(&pool.ready_mask, ~(1u << bucket));
        }
    }
    pthread_mutex_unlock(&pool.lock);
    atomic_fetch_add_explicit(&pool.activity, claimed, memory_order_relaxed);
    return claimed;
}

bool exec_pool_better_ready(int bucket)
{
    uint32_t mask = atomic_load_explicit(&pool.ready_mask, memory_order_relaxed);
    return (mask & ((1u << bucket) - 1)) != 0;
}

void exec_pool_notify(bool urgent)
{
    if (!urgent && atomic_load(&pool.sentinel)) {
        return;
    }
    wake_workers(1);
}

// ---------------------------------------------------------------- jobs

void exec_pool_publish(struct exec_job *job, unsigned helpers)
{
    pthread_mutex_lock(&pool.lock);
    job->prev = NULL;
    job->next = pool.jobs;
    if (pool.jobs) {
        pool.jobs->prev = job;
    }
    pool.jobs = job;
    job->listed = true;
    atomic_fetch_add(&pool.job_count, 1);
    pthread_mutex_unlock(&pool.lock);
    if (helpers) {
        wake_workers(helpers < pool.size ? helpers : pool.size);
    }
}

void exec_pool_retire(struct exec_job *job)
{
    pthread_mutex_lock(&pool.lock);
    unlist_locked(job);
    pthread_mutex_unlock(&pool.lock);
    for (unsigned i = 0;; i++) {
        uint32_t users = atomic_load(&job->users);
        if (!users) {
            break;
        }
        if (i < 2000) {
            exec_pause();
        } else {
            exec_futex_wait(&job->users, users, 0);
        }
    }
}

bool exec_pool_join(const struct irtb_stream *stream)
{
    if (!atomic_load_explicit(&pool.job_count, memory_order_relaxed)) {
        return false;
    }
    struct exec_job *job;
    pthread_mutex_lock(&pool.lock);
    for (job = pool.jobs; job; job = job->next) {
        // With the owner and as many helpers as there are processors a caller would only get in the
        // way of the workers.
        if (job->stream == stream && atomic_load(&job->users) + 1 < pool.size && job->wanted(job) &&
            exec_partition_enter(job->partition)) {
            atomic_fetch_add(&job->users, 1);
            break;
        }
    }
    pthread_mutex_unlock(&pool.lock);
    if (!job) {
        return false;
    }
    job->help(job);
    leave_job(job);
    return true;
}

void exec_pool_spin_begin(void)
{
    if (atomic_load(&pool.spinning) < MAX_EXTRA) {
        atomic_fetch_add(&pool.spinning, 1);
        if (work_visible()) {
            wake_workers(1);
        }
    } else {
        atomic_fetch_add(&pool.spinning, 1);
    }
}

void exec_pool_spin_end(void)
{
    atomic_fetch_sub(&pool.spinning, 1);
}
