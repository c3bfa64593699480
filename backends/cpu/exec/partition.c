// SPDX-License-Identifier: Apache-2.0
//
// The counted objects behind partition.h.
#include "partition.h"

#include <stdlib.h>

#include "stream.h"

cudaError_t exec_partition_create(unsigned processors, struct irtb_partition **ret_partition)
{
    struct irtb_partition *partition = calloc(1, sizeof *partition);
    if (!partition) {
        return cudaErrorMemoryAllocation;
    }
    atomic_store(&partition->refs, 1);
    partition->most = processors;
    *ret_partition = partition;
    return cudaSuccess;
}

void exec_partition_unref(struct irtb_partition *partition)
{
    if (partition && atomic_fetch_sub(&partition->refs, 1) == 1) {
        free(partition);
    }
}

void exec_partition_join(struct irtb_stream *stream, struct irtb_partition *partition)
{
    atomic_fetch_add(&partition->refs, 1);
    stream->partition = partition;
}

bool exec_partition_enter(struct irtb_partition *partition)
{
    if (!partition) {
        return true;
    }
    uint32_t active = atomic_load(&partition->active);
    while (active < partition->most) {
        if (atomic_compare_exchange_weak(&partition->active, &active, active + 1)) {
            return true;
        }
    }
    return false;
}

void exec_partition_enter_owner(struct irtb_partition *partition)
{
    if (partition) {
        atomic_fetch_add(&partition->active, 1);
    }
}

void exec_partition_leave(struct irtb_partition *partition)
{
    if (partition) {
        atomic_fetch_sub(&partition->active, 1);
    }
}
