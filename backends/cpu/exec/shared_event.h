// SPDX-License-Identifier: Apache-2.0
//
// The part of an event that several processes see: which records of it are pending. It lies in an
// object of shared memory (share.h) of the process that exported the event. Every record has a
// number; the event is complete when its newest record is pending no more. The records of a process
// that has ended count as complete, because its work has ended too.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../share.h"

struct exec_shared; // counted

// A new object with no records; the caller holds one reference. NULL: no memory or descriptor.
struct exec_shared *exec_shared_create(void);
// How other processes find it. Only for what this process created.
void exec_shared_name(const struct exec_shared *shared, struct cpu_share *ret_share);
// Opens what another process created. cudaErrorMapBufferObjectFailed when it is gone,
// cudaErrorDeviceUninitialized when it is this process's own.
cudaError_t exec_shared_open(const struct cpu_share *share, struct exec_shared **ret_shared);
struct exec_shared *exec_shared_ref(struct exec_shared *shared);
void exec_shared_unref(struct exec_shared *shared); // NULL: nothing

// Whether exec_shared_name is allowed.
bool exec_shared_is_own(const struct exec_shared *shared);

// Begins a record of this process. False when too many are pending.
bool exec_shared_begin(struct exec_shared *shared, uint64_t *ret_number);
// Ends it and wakes who waits, in every process.
void exec_shared_end(struct exec_shared *shared, uint64_t number);
// The number of the newest record of any process; 0: there was none.
uint64_t exec_shared_newest(struct exec_shared *shared);
bool exec_shared_pending(struct exec_shared *shared, uint64_t number);
// Blocks until the record is complete.
void exec_shared_wait(struct exec_shared *shared, uint64_t number);
