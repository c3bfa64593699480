// SPDX-License-Identifier: Apache-2.0
//
// The set is a treap: a search tree by start, a heap by pseudo-random priority, which keeps it
// shallow whatever the order of insertions.
#include "shim/util/interval.h"

static uint64_t next_priority(struct irt_interval_set *set)
{
    // xorshift64*; quality hardly matters, only that sequences of addresses do not degenerate.
    uint64_t x = set->seed ? set->seed : UINT64_C(0x9e3779b97f4a7c15);
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    set->seed = x;
    return x * UINT64_C(0x2545f4914f6cdd1d);
}

struct irt_interval *irt_interval_find(const struct irt_interval_set *set, uintptr_t address)
{
    struct irt_interval *node = set->root;
    while (node) {
        if (address < node->start) {
            node = node->left;
        } else if (address - node->start >= node->size) {
            node = node->right;
        } else {
            return node;
        }
    }
    return NULL;
}

struct irt_interval *irt_interval_from(const struct irt_interval_set *set, uintptr_t start)
{
    struct irt_interval *best = NULL;
    struct irt_interval *node = set->root;
    while (node) {
        if (node->start >= start) {
            best = node;
            node = node->left;
        } else {
            node = node->right;
        }
    }
    return best;
}

struct irt_interval *irt_interval_overlap(const struct irt_interval_set *set, uintptr_t start,
                                          size_t size)
{
    if (size == 0) {
        return NULL;
    }
    struct irt_interval *node = irt_interval_find(set, start);
    if (!node) {
        node = irt_interval_from(set, start);
        if (node && node->start - start >= size) {
            node = NULL;
        }
    }
    return node;
}

// Splits the tree into starts below and not below `start`.
static void split(struct irt_interval *node, uintptr_t start, struct irt_interval **low,
                  struct irt_interval **high)
{
    while (node) {
        if (node->start < start) {
            *low = node;
            low = &node->right;
            node = node->right;
        } else {
            *high = node;
            high = &node->left;
            node = node->left;
        }
    }
    *low = NULL;
    *high = NULL;
}

bool irt_interval_insert(struct irt_interval_set *set, struct irt_interval *node)
{
    if (node->size == 0 || node->size - 1 > UINTPTR_MAX - node->start ||
        irt_interval_overlap(set, node->start, node->size)) {
        return false;
    }
    node->priority = next_priority(set);
    struct irt_interval **link = &set->root;
    while (*link && (*link)->priority >= node->priority) {
        link = node->start < (*link)->start ? &(*link)->left : &(*link)->right;
    }
    split(*link, node->start, &node->left, &node->right);
    *link = node;
    set->count++;
    return true;
}

void irt_interval_remove(struct irt_interval_set *set, struct irt_interval *node)
{
    struct irt_interval **link = &set->root;
    while (*link != node) {
        link = node->start < (*link)->start ? &(*link)->left : &(*link)->right;
    }
    struct irt_interval *low = node->left;
    struct irt_interval *high = node->right;
    while (low && high) {
        if (low->priority >= high->priority) {
            *link = low;
            link = &low->right;
            low = low->right;
        } else {
            *link = high;
            link = &high->left;
            high = high->left;
        }
    }
    *link = low ? low : high;
    node->left = NULL;
    node->right = NULL;
    set->count--;
}
