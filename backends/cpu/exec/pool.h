// SPDX-License-Identifier: Apache-2.0
//
// The worker pool: threads that are started when there is work for them, the list of streams that
// can run (by priority) and the list of parallel jobs (grids) that idle threads may join. Knows
// nothing of CUDA. Streams are owned by stream.c, jobs by who publishes them.
//
// Waiting callers work too, so a pool needs no thread for a launch that is waited for at once: an
// idle worker first spins, then naps (one of them, the sentinel, looks for work every 100 us), and
// sleeps only when nothing has happened for a while. While a sentinel is there, publishing work
// costs no system call.
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct irtb_stream;

// Bucket 0 runs first. CUDA priorities 0 (least) to -5 (greatest) map to 5 … 0.
enum { EXEC_PRIORITIES = 6 };

// Parallel work of one stream that several threads may do. Embedded by its owner.
struct exec_job {
    struct exec_job *next, *prev; // pool lock
    bool listed;                  // pool lock
    int bucket;
    struct irtb_stream *stream; // whose waiters may join; may be NULL
    struct irtb_partition *partition; // that limits who joins; or NULL
    _Atomic uint32_t users;     // threads inside help(), counted under the pool lock
    // Whether another thread would find something to do; once false, false for ever. Any thread,
    // called with the pool lock held.
    bool (*wanted)(const struct exec_job *job);
    // Takes part until nothing is left to take. Any thread, no lock held.
    void (*help)(struct exec_job *job);
};

// Chooses the number of workers (0: one per processor of the affinity mask). Before the first use;
// starts no thread. Later calls change nothing.
void exec_pool_setup(unsigned threads);
unsigned exec_pool_size(void);

// Stops the workers: no new work is begun; returns when running pieces of work have noticed or
// after `wait_ms`. Threads are not joined. Safe in a fork child (returns at once).
void exec_pool_stop(unsigned wait_ms);
bool exec_pool_stopping(void);

// ---- ready streams (called by stream.c, with the stream's lock held) ----
void exec_pool_push(struct irtb_stream *stream, int bucket);
// Takes a READY stream back out of the list; false when a worker has already picked it.
bool exec_pool_claim(struct irtb_stream *stream);
// Whether a stream of a better bucket is ready.
bool exec_pool_better_ready(int bucket);
// Lets somebody know that work was pushed. `urgent`: wake a worker even if a sentinel will look.
void exec_pool_notify(bool urgent);

// ---- jobs ----
// Puts the job on the list and wakes up to `helpers` threads.
void exec_pool_publish(struct exec_job *job, unsigned helpers);
// Takes it off the list and waits until no other thread is inside help().
void exec_pool_retire(struct exec_job *job);
// Joins the published job of `stream`, if it wants help. False: there was none.
bool exec_pool_join(const struct irtb_stream *stream);

// A thread that executes work that only spins (waits for other work) says so, and the pool may run
// one more thread, so that the work that is waited for is not stuck behind it.
void exec_pool_spin_begin(void);
void exec_pool_spin_end(void);

// ---- threads ----
// Starts a detached thread with a name and all asynchronous signals blocked; 0 or an errno.
int exec_thread_start(void *(*function)(void *), void *argument, const char *name);
