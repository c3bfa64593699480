// SPDX-License-Identifier: Apache-2.0
//
// A set of disjoint, non-empty address ranges, found by any address inside them in logarithmic
// time. The node is embedded in the caller's object, so the set allocates nothing. Not thread-safe:
// the caller holds its own lock.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct irt_interval {
    uintptr_t start;
    size_t size; // > 0, start + size does not wrap around
    struct irt_interval *left, *right;
    uint64_t priority;
};

struct irt_interval_set {
    struct irt_interval *root;
    uint64_t seed;
    size_t count;
};

// Adds the node, whose start and size the caller has set. False, with nothing changed, when the
// range is empty, wraps around or overlaps one in the set.
bool irt_interval_insert(struct irt_interval_set *set, struct irt_interval *node);

// Takes the node out; it must be in the set.
void irt_interval_remove(struct irt_interval_set *set, struct irt_interval *node);

// The node that holds the byte at `address`, or NULL.
struct irt_interval *irt_interval_find(const struct irt_interval_set *set, uintptr_t address);

// The lowest node that shares a byte with [start, start+size), or NULL; `size` 0 means NULL.
struct irt_interval *irt_interval_overlap(const struct irt_interval_set *set, uintptr_t start,
                                          size_t size);

// The lowest node with a start >= `start`, or NULL; for walks.
struct irt_interval *irt_interval_from(const struct irt_interval_set *set, uintptr_t start);
