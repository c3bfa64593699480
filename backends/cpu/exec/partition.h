// SPDX-License-Identifier: Apache-2.0
//
// Partitions of a device: streams whose kernels are run by a limited number of threads at once. The
// thread that owns a stream always runs its kernels, so that they progress; others join only while
// the partition has room.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "backends/backend.h"

struct irtb_partition {
    _Atomic uint32_t refs;   // of the shim and of each stream
    _Atomic uint32_t active; // threads inside kernels of its streams
    uint32_t most;           // of them, > 0
};

// A partition with one reference. cudaErrorMemoryAllocation. Any thread, like all of these.
cudaError_t exec_partition_create(unsigned processors, struct irtb_partition **ret_partition);

// Drops a reference; NULL: nothing.
void exec_partition_unref(struct irtb_partition *partition);

// Puts a stream without work into the partition, with a reference that the stream drops.
void exec_partition_join(struct irtb_stream *stream, struct irtb_partition *partition);

// Counts the calling thread in; false when there is no room. NULL: no limit.
bool exec_partition_enter(struct irtb_partition *partition);

// The same for the owner of a stream, which needs no room.
void exec_partition_enter_owner(struct irtb_partition *partition);

void exec_partition_leave(struct irtb_partition *partition);
